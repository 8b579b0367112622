/* SPDX-License-Identifier: Apache-2.0 */
/* test_instances.c: instances by id, kept by age and state (docs/spec/aws.md 6.3); and a saved
 * state in place of the cloud. */
#include "tests/unit/aws/cloud_kit.h"

#include "common/base/file.h"
#include "tests/support/clock_fake.h"
#include "tests/support/unit.h"

#define TAG "<tagSet><item><key>kubernetes.io/cluster/c1</key></item></tagSet>"
#define OF(id, state, tag)                                                                         \
    "<item><instancesSet><item><instanceId>" id "</instanceId><instanceState><name>" state         \
    "</name></instanceState><groupSet><item><groupId>sg-1</groupId><groupName>n</groupName></"     \
    "item>"                                                                                        \
    "</groupSet>" tag "</item></instancesSet></item>"
#define INSTANCES(items) CLOUD_EC2("Instances", "reservationSet", items)

/* "i-1 running, i-2 stopped; instance i-3 is terminated": what is used, and what is left out. */
static const char *ask_ids(struct cloud_kit *kit, struct aws_texts ids, bool fresh)
{
    struct arena *a = kit->k->a;
    struct aws_instances_need need = {.ids = ids, .fresh = fresh};
    struct err err = ERR_INIT;
    unsigned reads = 0;
    const char *text = "";
    if (aws_cloud_instances(kit->cloud, kit->http, NULL, a, &need, &reads, &err) != ERR_OK) {
        return arena_printf(a, "%s: %s", err_code_name(err.code), err.message);
    }
    for (size_t i = 0; i < need.n; i++) {
        text = arena_printf(a, "%s%s%s %s", text, i > 0 ? ", " : "", need.items[i].id,
                            need.items[i].state);
    }
    for (size_t i = 0; i < need.left_out.n; i++) {
        text = arena_printf(a, "%s; %s", text, need.left_out.items[i]);
    }
    return text;
}

static const char *ask(struct cloud_kit *kit, const char *ids, bool fresh)
{
    size_t n;
    char **items = str_split(kit->k->a, ids, ' ', &n);
    return ask_ids(kit, (struct aws_texts){(const char *const *)items, n}, fresh);
}

static void instances__states_and_tags(void **state)
{
    struct cloud_kit *kit = *state;
    struct cloud_row rows[] = {
        {"DescribeInstances", 200,
         INSTANCES(OF("i-1", "running", TAG) OF("i-2", "stopped", TAG) OF("i-3", "terminated", TAG)
                       OF("i-4", "shutting-down", TAG) OF("i-5", "running", "")),
         0},
        {0},
    };
    kit->rows = rows;
    same_text(
        "answer", ask(kit, "i-2 i-1 i-2 i-3 i-4 i-5 i-6", false),
        "i-2 stopped, i-1 running; instance i-3 is terminated; instance i-4 is shutting-down; "
        "instance i-5 lacks the tag kubernetes.io/cluster/c1; instance i-6 is not there, or "
        "lacks the tag kubernetes.io/cluster/c1");
    same_text(
        "asked", cloud_kit_asked(kit),
        "DescribeInstances&Filter.1.Name=instance-id&Filter.1.Value.1=i-1&Filter.1.Value.2=i-2"
        "&Filter.1.Value.3=i-3&Filter.1.Value.4=i-4&Filter.1.Value.5=i-5"
        "&Filter.1.Value.6=i-6\n");
    same_text("nobody", ask_ids(kit, (struct aws_texts){0}, true), "");
    same_text("nothing", cloud_kit_asked(kit), "");
}

static void instances__ages__by_state(void **state)
{
    struct cloud_kit *kit = *state;
    struct cloud_row rows[] = {{"i-1", 200, INSTANCES(OF("i-1", "running", TAG)), 0},
                               {"i-2", 200, INSTANCES(OF("i-2", "pending", TAG)), 0},
                               {"i-3", 200, INSTANCES(""), 0},
                               {0}};
    kit->rows = rows;
    (void)ask(kit, "i-1", false);
    (void)ask(kit, "i-2", false);
    (void)ask(kit, "i-3", false);
    assert_int_equal(test_server_requests(kit->server), 3);
    clock_fake_advance(kit->k->clock, 60000);
    (void)ask(kit, "i-1 i-2 i-3", false);
    assert_int_equal(test_server_requests(kit->server), 3);
    (void)cloud_kit_asked(kit);
    (void)ask(kit, "i-1 i-2 i-3", true);
    same_text("fresh", cloud_kit_asked(kit),
              "DescribeInstances&Filter.1.Name=instance-id&Filter.1.Value.1=i-3\n");
    clock_fake_advance(kit->k->clock, 1);
    (void)ask(kit, "i-1 i-2 i-3", false);
    same_text("one that changes", cloud_kit_asked(kit),
              "DescribeInstances&Filter.1.Name=instance-id&Filter.1.Value.1=i-2\n");
    clock_fake_advance(kit->k->clock, 540000);
    (void)ask(kit, "i-1", false);
    same_text("a running one", cloud_kit_asked(kit),
              "DescribeInstances&Filter.1.Name=instance-id&Filter.1.Value.1=i-1\n");
}

static void instances__more_than_200__are_listed(void **state)
{
    struct cloud_kit *kit = *state;
    struct cloud_row rows[] = {
        {"NextToken", 200, INSTANCES(OF("i-8", "running", TAG)), 0},
        {"tag-key", 200,
         "<DescribeInstancesResponse><reservationSet>" OF("i-7", "running", TAG)
             OF("i-900", "running", TAG) "</reservationSet><nextToken>t</nextToken>"
                                         "</DescribeInstancesResponse>",
         0},
        {0},
    };
    const char *ids[201];
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        ids[i] = arena_printf(kit->k->a, "i-%zu", i);
    }
    kit->rows = rows;
    const char *text = ask_ids(kit, (struct aws_texts){ids, ARRAY_LEN(ids)}, false);
    assert_true(str_has_prefix(text, "i-7 running, i-8 running; instance i-0 is not there"));
    same_text("asked", cloud_kit_asked(kit),
              "DescribeInstances&Filter.1.Name=tag-key&Filter.1.Value.1=kubernetes.io/cluster/c1"
              "&Filter.1.Value.2=KubernetesCluster&MaxResults=1000\n"
              "DescribeInstances&Filter.1.Name=tag-key&Filter.1.Value.1=kubernetes.io/cluster/c1"
              "&Filter.1.Value.2=KubernetesCluster&MaxResults=1000&NextToken=t\n");
    same_text("what it brought besides", ask(kit, "i-900", false), "i-900 running");
    same_text("is known", cloud_kit_asked(kit), "");
}

static void instances__refused__is_an_error_and_asked_again(void **state)
{
    struct cloud_kit *kit = *state;
    struct cloud_row rows[] = {
        {"DescribeInstances", 403, CLOUD_REFUSAL("UnauthorizedOperation"), 1},
        {"DescribeInstances", 200, INSTANCES(OF("i-1", "running", TAG)), 0},
        {0}};
    kit->rows = rows;
    same_text("refused", ask(kit, "i-1", false),
              "forbidden: DescribeInstances: UnauthorizedOperation: the controller lacks the "
              "permission ec2:DescribeInstances");
    same_text("then there", ask(kit, "i-1", false), "i-1 running");
}

/* ---- a saved state --------------------------------------------------------------------------- */

static void load_world(struct cloud_kit *kit)
{
    char *text;
    size_t n;
    struct err err = ERR_INIT;
    const char *path = arena_printf(kit->k->a, "%s/aws/world.json", getenv("TRIMTAB_TEST_DATA"));
    const struct aws_cloud_config cfg = {.clock = kit->k->clock, .naming = &kit->naming};
    aws_cloud_free(kit->cloud);
    kit->naming.vpc = "vpc-c3f8576e598373f9b";
    kit->cloud = aws_cloud_new(&cfg);
    assert_int_equal(file_read(kit->k->a, path, 1 << 20, &text, &n, &err), ERR_OK);
    if (aws_cloud_load(kit->cloud, text, n, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
}

static const struct aws_doc *read_one(struct cloud_kit *kit, enum aws_doc_kind kind,
                                      const char *key)
{
    struct err err = ERR_INIT;
    unsigned reads = 0;
    struct aws_need need = {.kind = kind, .key = key, .not_older_ms = INT64_MAX};
    if (aws_cloud_read(kit->cloud, NULL, NULL, &need, 1, &reads, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
    assert_int_equal(reads, 0);
    return need.doc;
}

#define ELB "arn:aws:elasticloadbalancing:us-east-1:123456789012:"
#define NLB ELB "loadbalancer/net/aac38a41b51774156a521883cd38f69f/956a71c8b8eed52f"
#define TG1 ELB "targetgroup/k8s-default-nlb1-2af91ded5b/f5c5efadb0114bc1"
#define TG2 ELB "targetgroup/k8s-default-nlb1-7484986079/4147c94dd74608ed"

static void state__recorded_world__answers_every_question(void **state)
{
    static const struct {
        enum aws_doc_kind kind;
        const char *key;
        size_t n;
    } rows[] = {
        {AWS_DOC_SUBNETS, "", 3},
        {AWS_DOC_ROUTE_TABLES, "", 1},
        {AWS_DOC_ZONES, "", 3},
        {AWS_DOC_TAGGED_GROUPS, "", 3},
        {AWS_DOC_GROUPS, "sg-ac8a5344a9ebab7a3,sg-de57ff5f1891b5612,sg-nothing", 2},
        {AWS_DOC_GROUPS_REFERRING, "sg-209c96bbc3c7b4e23", 1},
        {AWS_DOC_GROUPS_REFERRING, "sg-nothing", 0},
        {AWS_DOC_CLASSICS, "", 2},
        {AWS_DOC_CLASSIC, "a9f09016abc6f4ccdabfb4a6a4522c9f", 1},
        {AWS_DOC_CLASSIC, "nothing", 0},
        {AWS_DOC_CLASSIC_ATTRIBUTES, "a9f09016abc6f4ccdabfb4a6a4522c9f", 1},
        {AWS_DOC_CLASSIC_ATTRIBUTES, "nothing", 0},
        {AWS_DOC_NLBS, "", 3},
        {AWS_DOC_NLB, "aac38a41b51774156a521883cd38f69f", 1},
        {AWS_DOC_NLB, "nothing", 0},
        {AWS_DOC_NLB_ATTRIBUTES, NLB, 5},
        {AWS_DOC_LISTENERS, NLB, 2},
        {AWS_DOC_LISTENERS, "nothing", 0},
        {AWS_DOC_TARGET_GROUPS, "", 4},
        {AWS_DOC_TARGET_GROUPS_OF, NLB, 2},
        {AWS_DOC_TARGET_GROUPS_OF, "nothing", 0},
        {AWS_DOC_TARGET_GROUPS_BY, TG1 "," TG2 ",nothing", 2},
        {AWS_DOC_TARGET_GROUPS_NAMED, "k8s-default-nlb1-2af91ded5b", 1},
        {AWS_DOC_TARGET_GROUP_ATTRIBUTES, TG1, 0},
        {AWS_DOC_TARGETS, TG1, 6},
        {AWS_DOC_TAGS, NLB "," TG1, 2},
        {AWS_DOC_CLASSIC_TAGS, "a9f09016abc6f4ccdabfb4a6a4522c9f", 1},
    };
    struct cloud_kit *kit = *state;
    load_world(kit);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct aws_doc *doc = read_one(kit, rows[i].kind, rows[i].key);
        if (doc->n != rows[i].n) {
            fail_msg("kind %d, \"%s\": %zu items, want %zu", (int)rows[i].kind, rows[i].key, doc->n,
                     rows[i].n);
        }
        aws_doc_unref(doc);
    }
    same_text("instances", ask(kit, "i-6d7c54809f4be5b50 i-nothing", false),
              "i-6d7c54809f4be5b50 running; instance i-nothing is not there, or lacks the tag "
              "kubernetes.io/cluster/c1");
}

static void state__recorded_world__is_decoded_as_answers_are(void **state)
{
    struct cloud_kit *kit = *state;
    load_world(kit);
    const struct aws_doc *doc = read_one(kit, AWS_DOC_TAGGED_GROUPS, "");
    const struct aws_group *nodes = &((const struct aws_group *)doc->items)[2];
    same_text("group", nodes->name, "nodes");
    same_text("group", nodes->description, "n");
    assert_int_equal(nodes->rules.n, 16);
    same_text("rule", nodes->rules.items[0].protocol, "-1");
    assert_int_equal(nodes->rules.items[0].from, AWS_NO_PORT);
    assert_int_equal(nodes->rules.items[0].peer, AWS_PEER_GROUP);
    aws_doc_unref(doc);
    doc = read_one(kit, AWS_DOC_ROUTE_TABLES, "");
    const struct aws_route_table *table = doc->items;
    assert_true(table->main && table->to_internet);
    aws_doc_unref(doc);
    doc = read_one(kit, AWS_DOC_CLASSIC, "a9f09016abc6f4ccdabfb4a6a4522c9f");
    const struct aws_classic *classic = doc->items;
    same_text("health", classic->health.target, "TCP:31127");
    assert_int_equal(classic->instances.n, 6);
    assert_int_equal(classic->listeners[0].instance_port, 31127);
    aws_doc_unref(doc);
}

static void state__strange_worlds__are_refused_or_empty(void **state)
{
    static const struct {
        const char *text;
        int code;
    } rows[] = {
        {"{}", ERR_OK},
        {"[]", ERR_OK},
        {"{\"aws\":7}", ERR_OK},
        {"{\"aws\":{\"ec2\":{\"Subnets\":{},\"Reservations\":[7,{\"Instances\":{}}]},"
         "\"elbv2\":{\"Attributes\":[],\"TargetHealth\":{\"a\":null},\"LoadBalancers\":7}}}",
         ERR_OK},
        {"{\"aws\":{\"ec2\":{\"Reservations\":[{\"Instances\":[{}]}]}}}", ERR_INVALID},
        {"{\"aws\":{\"elbv2\":{\"TargetHealth\":{\"b\":[[[]]]}}}}", ERR_INVALID},
        {"{\"aws\":{\"elbv2\":{\"LoadBalancers\":[{\"LoadBalancerArn\":{}}]}}}", ERR_INVALID},
        {"{", ERR_INVALID},
        {"", ERR_INVALID},
    };
    struct cloud_kit *kit = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = ERR_INIT;
        int rc = aws_cloud_load(kit->cloud, rows[i].text, strlen(rows[i].text), &err);
        if (rc != rows[i].code) {
            fail_msg("%s: %d %s", rows[i].text, rc, err.message);
        }
    }
}

UNIT_MAIN(instances)
{
    const struct CMUnitTest tests[] = {
        CLOUD_TEST(instances__states_and_tags),
        CLOUD_TEST(instances__ages__by_state),
        CLOUD_TEST(instances__more_than_200__are_listed),
        CLOUD_TEST(instances__refused__is_an_error_and_asked_again),
        CLOUD_TEST(state__recorded_world__answers_every_question),
        CLOUD_TEST(state__recorded_world__is_decoded_as_answers_are),
        CLOUD_TEST(state__strange_worlds__are_refused_or_empty),
    };
    struct err err = ERR_INIT;
    if (http_global_init(&err) != ERR_OK) {
        return 1;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    http_global_done();
    return failed;
}
