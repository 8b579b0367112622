/* SPDX-License-Identifier: Apache-2.0 */
/* test_cloud.c: documents by age, one reader for each question, lists that answer for one thing
 * (providers/aws/cloud/aws_cloud.h). */
#include "tests/unit/aws/cloud_kit.h"

#include "common/base/file.h"
#include "tests/support/clock_fake.h"
#include "tests/support/clock_mover.h"
#include "tests/support/http_ignore_sent.h"
#include "tests/support/unit.h"

#include <pthread.h>

#define NLB(n)                                                                                     \
    "<member><LoadBalancerArn>arn-" n "</LoadBalancerArn><LoadBalancerName>" n                     \
    "</LoadBalancerName><Type>network</Type></member>"
#define TARGET_GROUP(n, of)                                                                        \
    "<member><TargetGroupArn>arn-" n "</TargetGroupArn><TargetGroupName>" n "</TargetGroupName>"   \
    "<LoadBalancerArns><member>" of "</member></LoadBalancerArns></member>"
#define GROUP(n)                                                                                   \
    "<item><groupId>" n                                                                            \
    "</groupId><vpcId>vpc-1</vpcId><tagSet><item><key>kubernetes.io/cluster/c1"                    \
    "</key></item></tagSet></item>"
#define NLBS(items)          CLOUD_ELB("LoadBalancers", "LoadBalancers", items)
#define TARGET_GROUPS(items) CLOUD_ELB("TargetGroups", "TargetGroups", items)
#define GROUPS(items)        CLOUD_EC2("SecurityGroups", "securityGroupInfo", items)
#define ZONES                                                                                      \
    CLOUD_EC2("AvailabilityZones", "availabilityZoneInfo", "<item><zoneName>z</zoneName></item>")

static int read_needs(struct cloud_kit *kit, struct aws_need *needs, size_t n, struct err *err)
{
    unsigned reads = 0;
    return aws_cloud_read(kit->cloud, kit->http, NULL, needs, n, &reads, err);
}

/* Ids of the items, joined; of all kinds that are used here the first member is the id. */
static const char *read_ids(struct cloud_kit *kit, enum aws_doc_kind kind, const char *key,
                            int64_t not_older_ms, size_t size)
{
    struct err err = ERR_INIT;
    struct aws_need need = {.kind = kind, .key = key, .not_older_ms = not_older_ms};
    if (read_needs(kit, &need, 1, &err) != ERR_OK) {
        return arena_printf(kit->k->a, "%s: %s", err_code_name(err.code), err.message);
    }
    const char *text = "";
    for (size_t i = 0; i < need.doc->n; i++) {
        const char *id = *(const char *const *)((const char *)need.doc->items + i * size);
        text = arena_printf(kit->k->a, "%s%s%s", text, i > 0 ? " " : "", id);
    }
    aws_doc_unref(need.doc);
    return text;
}

#define IDS(kit, kind, key, age, type) read_ids(kit, kind, key, age, sizeof(struct type))

static int64_t now(struct cloud_kit *kit)
{
    return clock_now_ms(kit->k->clock);
}

/* ---- ages ------------------------------------------------------------------------------------ */

static void read__young_enough__not_asked_again(void **state)
{
    struct cloud_kit *kit = *state;
    struct cloud_row rows[] = {{"DescribeAvailabilityZones", 200, ZONES, 0}, {0}};
    kit->rows = rows;
    int64_t begin = now(kit);
    same_text("first", IDS(kit, AWS_DOC_ZONES, NULL, begin, aws_zone), "z");
    same_text("asked", cloud_kit_asked(kit), "DescribeAvailabilityZones\n");
    clock_fake_advance(kit->k->clock, 5000);
    same_text("young", IDS(kit, AWS_DOC_ZONES, "", begin, aws_zone), "z");
    same_text("not asked", cloud_kit_asked(kit), "");
    same_text("old", IDS(kit, AWS_DOC_ZONES, "", begin + 1, aws_zone), "z");
    same_text("asked", cloud_kit_asked(kit), "DescribeAvailabilityZones\n");
    same_text("anew", IDS(kit, AWS_DOC_ZONES, "", INT64_MAX, aws_zone), "z");
    same_text("asked", cloud_kit_asked(kit), "DescribeAvailabilityZones\n");
    aws_cloud_drop(kit->cloud, AWS_DOC_ZONES, NULL);
    same_text("dropped", IDS(kit, AWS_DOC_ZONES, "", begin, aws_zone), "z");
    same_text("asked", cloud_kit_asked(kit), "DescribeAvailabilityZones\n");
}

/* Thousands of targets of a thousand groups: each sync reads its own. */
static void read__long_list_of_one_thing__not_kept(void **state)
{
    struct cloud_kit *kit = *state;
    struct str_buf b = STR_BUF_INIT;
    for (int i = 0; i < 300; i++) {
        str_appendf(&b, "<member><Target><Id>i-%017d</Id><Port>80</Port></Target></member>", i);
    }
    const char *many = arena_printf(kit->k->a,
                                    "<DescribeTargetHealthResponse><DescribeTargetHealthResult>"
                                    "<TargetHealthDescriptions>%s</TargetHealthDescriptions>"
                                    "</DescribeTargetHealthResult></DescribeTargetHealthResponse>",
                                    str_buf_text(&b));
    struct cloud_row rows[] = {
        {"TargetGroupArn=many", 200, many, 0},
        {"TargetGroupArn=few", 200, CLOUD_ELB("TargetHealth", "TargetHealthDescriptions", ""), 0},
        {0}};
    kit->rows = rows;
    int64_t begin = now(kit);
    const char *first = IDS(kit, AWS_DOC_TARGETS, "many", begin, aws_target);
    (void)IDS(kit, AWS_DOC_TARGETS, "few", begin, aws_target);
    (void)cloud_kit_asked(kit);
    same_text("again", IDS(kit, AWS_DOC_TARGETS, "many", begin, aws_target), first);
    (void)IDS(kit, AWS_DOC_TARGETS, "few", begin, aws_target);
    same_text("asked", cloud_kit_asked(kit), "DescribeTargetHealth&TargetGroupArn=many\n");
    str_buf_done(&b);
}

/* The second page breaks off: its items are not there twice, those of the first are. */
static void read__answer_that_breaks_off__items_once(void **state)
{
    struct cloud_kit *kit = *state;
    struct cloud_row rows[] = {
        {"Marker=m", 200,
         "<DescribeLoadBalancersResponse><DescribeLoadBalancersResult>"
         "<LoadBalancers>" NLB("n2"),
         1},
        {"Marker=m", 200, NLBS(NLB("n2") NLB("n3")), 0},
        {"PageSize", 200,
         "<DescribeLoadBalancersResponse><DescribeLoadBalancersResult>"
         "<LoadBalancers>" NLB(
             "n1") "</LoadBalancers><NextMarker>m</NextMarker>"
                   "</DescribeLoadBalancersResult></DescribeLoadBalancersResponse>",
         0},
        {0}};
    kit->rows = rows;
    struct clock_mover *mover = clock_mover_start(kit->k->clock);
    same_text("all", IDS(kit, AWS_DOC_NLBS, NULL, INT64_MAX, aws_nlb), "arn-n1 arn-n2 arn-n3");
    (void)clock_mover_stop(mover);
    same_text("asked", cloud_kit_asked(kit),
              "DescribeLoadBalancers&PageSize=400\nDescribeLoadBalancers&PageSize=400&Marker=m\n"
              "DescribeLoadBalancers&PageSize=400&Marker=m\n");
}

static void read__questions__ask_as_the_specification_says(void **state)
{
    static const struct {
        enum aws_doc_kind kind;
        const char *key;
        const char *asks;
    } rows[] = {
        {AWS_DOC_SUBNETS, "", "DescribeSubnets&Filter.1.Name=vpc-id&Filter.1.Value.1=vpc-1\n"},
        {AWS_DOC_ROUTE_TABLES, "",
         "DescribeRouteTables&Filter.1.Name=vpc-id&Filter.1.Value.1=vpc-1\n"},
        {AWS_DOC_TAGGED_GROUPS, "",
         "DescribeSecurityGroups&Filter.1.Name=vpc-id&Filter.1.Value.1=vpc-1&Filter.2.Name=tag-key"
         "&Filter.2.Value.1=kubernetes.io/cluster/c1&Filter.2.Value.2=KubernetesCluster\n"},
        {AWS_DOC_GROUPS, "sg-1,sg-2",
         "DescribeSecurityGroups&Filter.1.Name=group-id&Filter.1.Value.1=sg-1&Filter.1.Value.2=sg-"
         "2\n"},
        {AWS_DOC_GROUPS_REFERRING, "sg-1",
         "DescribeSecurityGroups&Filter.1.Name=ip-permission.group-id&Filter.1.Value.1=sg-1\n"},
        {AWS_DOC_CLASSICS, "", "DescribeLoadBalancers&PageSize=100\n"},
        {AWS_DOC_CLASSIC, "a1", "DescribeLoadBalancers&LoadBalancerNames.member.1=a1\n"},
        {AWS_DOC_CLASSIC_ATTRIBUTES, "a1", "DescribeLoadBalancerAttributes&LoadBalancerName=a1\n"},
        {AWS_DOC_NLBS, "", "DescribeLoadBalancers&PageSize=400\n"},
        {AWS_DOC_NLB, "a1", "DescribeLoadBalancers&Names.member.1=a1\n"},
        {AWS_DOC_NLB_ATTRIBUTES, "arn", "DescribeLoadBalancerAttributes&LoadBalancerArn=arn\n"},
        {AWS_DOC_LISTENERS, "arn", "DescribeListeners&LoadBalancerArn=arn\n"},
        {AWS_DOC_TARGET_GROUPS, "", "DescribeTargetGroups&PageSize=400\n"},
        {AWS_DOC_TARGET_GROUPS_OF, "arn", "DescribeTargetGroups&LoadBalancerArn=arn\n"},
        {AWS_DOC_TARGET_GROUPS_BY, "a,b",
         "DescribeTargetGroups&TargetGroupArns.member.1=a&TargetGroupArns.member.2=b\n"},
        {AWS_DOC_TARGET_GROUPS_NAMED, "a", "DescribeTargetGroups&Names.member.1=a\n"},
        {AWS_DOC_TARGET_GROUP_ATTRIBUTES, "arn",
         "DescribeTargetGroupAttributes&TargetGroupArn=arn\n"},
        {AWS_DOC_TARGETS, "arn", "DescribeTargetHealth&TargetGroupArn=arn\n"},
        {AWS_DOC_TAGS, "a,b", "DescribeTags&ResourceArns.member.1=a&ResourceArns.member.2=b\n"},
        {AWS_DOC_CLASSIC_TAGS, "a1", "DescribeTags&LoadBalancerNames.member.1=a1\n"},
    };
    struct cloud_kit *kit = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        (void)read_ids(kit, rows[i].kind, rows[i].key, INT64_MAX, 0);
        same_text(rows[i].asks, cloud_kit_asked(kit), rows[i].asks);
    }
}

static void read__several__side_by_side_and_each_by_itself(void **state)
{
    struct cloud_kit *kit = *state;
    struct cloud_row rows[] = {
        {"DescribeAvailabilityZones", 200, ZONES, 0},
        {"DescribeSubnets", 403, CLOUD_REFUSAL("UnauthorizedOperation"), 0},
        {"LoadBalancerNames", 400, CLOUD_REFUSAL("LoadBalancerNotFound"), 0},
        {0},
    };
    kit->rows = rows;
    struct err err = ERR_INIT;
    struct aws_need needs[] = {{.kind = AWS_DOC_ZONES, .not_older_ms = INT64_MAX},
                               {.kind = AWS_DOC_SUBNETS, .not_older_ms = INT64_MAX},
                               {.kind = AWS_DOC_CLASSIC, .key = "a1", .not_older_ms = INT64_MAX},
                               {.kind = AWS_DOC_ZONES, .not_older_ms = INT64_MAX}};
    unsigned reads = 1;
    assert_int_equal(
        aws_cloud_read(kit->cloud, kit->http, NULL, needs, ARRAY_LEN(needs), &reads, &err),
        ERR_FORBIDDEN);
    same_text("error", err.message,
              "DescribeSubnets: UnauthorizedOperation: the controller lacks the permission "
              "ec2:DescribeSubnets");
    assert_int_equal(reads, 4); /* the zones once */
    assert_int_equal(needs[0].doc->n, 1);
    assert_null(needs[1].doc);
    assert_int_equal(needs[1].err.code, ERR_FORBIDDEN);
    assert_int_equal(needs[2].doc->n, 0); /* what is not there is none */
    assert_ptr_equal(needs[3].doc, needs[0].doc);
    for (size_t i = 0; i < ARRAY_LEN(needs); i++) {
        aws_doc_unref(needs[i].doc);
    }
}

/* ---- lists that answer for one thing --------------------------------------------------------- */

static void read__list_is_young__answers_for_its_things(void **state)
{
    struct cloud_kit *kit = *state;
    struct cloud_row rows[] = {
        {"DescribeLoadBalancers&PageSize", 200, NLBS(NLB("n1") NLB("n2")), 0},
        {"DescribeLoadBalancers&Names", 200, NLBS(NLB("n2")), 0},
        {"DescribeTargetGroups&PageSize", 200,
         TARGET_GROUPS(TARGET_GROUP("t2", "arn-n1") TARGET_GROUP("t1", "arn-n1")
                           TARGET_GROUP("t3", "arn-n2")),
         0},
        {"DescribeSecurityGroups&Filter.1.Name=vpc-id", 200, GROUPS(GROUP("sg-2") GROUP("sg-1")),
         0},
        {"group-id", 200, GROUPS(GROUP("sg-1") GROUP("sg-9")), 0},
        {0},
    };
    kit->rows = rows;
    int64_t begin = now(kit);
    same_text("list", IDS(kit, AWS_DOC_NLBS, "", begin, aws_nlb), "arn-n1 arn-n2");
    same_text("list", IDS(kit, AWS_DOC_TARGET_GROUPS, "", begin, aws_target_group),
              "arn-t2 arn-t1 arn-t3");
    same_text("list", IDS(kit, AWS_DOC_TAGGED_GROUPS, "", begin, aws_group), "sg-1 sg-2");
    (void)cloud_kit_asked(kit);
    same_text("one", IDS(kit, AWS_DOC_NLB, "n2", begin, aws_nlb), "arn-n2");
    same_text("none", IDS(kit, AWS_DOC_NLB, "n3", begin, aws_nlb), "");
    same_text("of", IDS(kit, AWS_DOC_TARGET_GROUPS_OF, "arn-n1", begin, aws_target_group),
              "arn-t2 arn-t1");
    same_text("by",
              IDS(kit, AWS_DOC_TARGET_GROUPS_BY, "arn-t1,arn-t3,arn-t4", begin, aws_target_group),
              "arn-t1 arn-t3");
    same_text("named", IDS(kit, AWS_DOC_TARGET_GROUPS_NAMED, "t2", begin, aws_target_group),
              "arn-t2");
    same_text("groups", IDS(kit, AWS_DOC_GROUPS, "sg-1,sg-2", begin, aws_group), "sg-1 sg-2");
    same_text("nothing was asked", cloud_kit_asked(kit), "");
    same_text("a group without tag", IDS(kit, AWS_DOC_GROUPS, "sg-1,sg-9", begin, aws_group),
              "sg-1 sg-9");
    aws_cloud_drop(kit->cloud, AWS_DOC_NLB, "n2");
    same_text("dropped", IDS(kit, AWS_DOC_NLB, "n2", begin, aws_nlb), "arn-n2");
    same_text("asked", cloud_kit_asked(kit),
              "DescribeSecurityGroups&Filter.1.Name=group-id&Filter.1.Value.1=sg-1&Filter.1.Value."
              "2=sg-9\n"
              "DescribeLoadBalancers&Names.member.1=n2\n");
    same_text("its list is old", IDS(kit, AWS_DOC_NLB, "n1", begin + 1, aws_nlb), "arn-n2");
    same_text("asked", cloud_kit_asked(kit), "DescribeLoadBalancers&Names.member.1=n1\n");
}

static void read__some_are_gone__others_are_asked_for_singly(void **state)
{
    struct cloud_kit *kit = *state;
    struct cloud_row rows[] = {
        {"TargetGroupArns.member.2", 400, CLOUD_REFUSAL("TargetGroupNotFound"), 0},
        {"TargetGroupArns.member.1=b", 400, CLOUD_REFUSAL("TargetGroupNotFound"), 0},
        {"TargetGroupArns.member.1=c", 200, TARGET_GROUPS(TARGET_GROUP("c", "x")), 0},
        {"TargetGroupArns.member.1=a", 200, TARGET_GROUPS(TARGET_GROUP("a", "x")), 0},
        {0},
    };
    kit->rows = rows;
    same_text("by", IDS(kit, AWS_DOC_TARGET_GROUPS_BY, "a,b,c", INT64_MAX, aws_target_group),
              "arn-a arn-c");
}

static void read__many_keys__in_parts(void **state)
{
    struct cloud_kit *kit = *state;
    struct cloud_row rows[] = {
        {"DescribeTags", 200,
         CLOUD_ELB("Tags", "TagDescriptions", "<member><ResourceArn>x</ResourceArn></member>"), 0},
        {0},
    };
    kit->rows = rows;
    const char *key = "a1";
    for (int i = 2; i <= 41; i++) {
        key = arena_printf(kit->k->a, "%s,a%d", key, i);
    }
    same_text("tags", IDS(kit, AWS_DOC_TAGS, key, INT64_MAX, aws_arn_tags), "x x x");
    assert_int_equal(test_server_requests(kit->server), 3);
}

/* ---- several workers ------------------------------------------------------------------------- */

struct worker {
    struct cloud_kit *kit;
    struct http *http;
    struct cancel *cancel;
    enum aws_doc_kind kind;
    const char *key;
    pthread_t thread;
    struct aws_need need;
    struct err err;
    unsigned reads;
};

static void *work(void *arg)
{
    struct worker *w = arg;
    w->need =
        (struct aws_need){.kind = w->kind, .key = w->key, .not_older_ms = KIT_WALL_S / 1000000};
    (void)aws_cloud_read(w->kit->cloud, w->http, w->cancel, &w->need, 1, &w->reads, &w->err);
    return NULL;
}

static void start(struct worker *w, struct cloud_kit *kit, enum aws_doc_kind kind, const char *key)
{
    *w = (struct worker){.kit = kit, .kind = kind, .key = key};
    w->http = http_new(&(struct http_config){
        .observe = http_ignore_sent, .clock = kit->k->clock, .proxy_url = ""});
    w->cancel = cancel_new(NULL);
    assert_int_equal(pthread_create(&w->thread, NULL, work, w), 0);
}

static void join(struct worker *w)
{
    (void)pthread_join(w->thread, NULL);
    http_free(w->http);
    cancel_free(w->cancel);
}

static void wait_for_waiters(struct cloud_kit *kit, size_t n)
{
    while (clock_fake_waiting(kit->k->clock) < n) {
        (void)sched_yield();
    }
}

static void read__another_reads_it__waits_for_him(void **state)
{
    struct cloud_kit *kit = *state;
    struct cloud_row rows[] = {{"DescribeAvailabilityZones", 200, ZONES, 0}, {0}};
    struct worker w[3];
    kit->rows = rows;
    atomic_store(&kit->held, true);
    start(&w[0], kit, AWS_DOC_ZONES, NULL);
    test_server_wait_requests(kit->server, 1);
    start(&w[1], kit, AWS_DOC_ZONES, NULL);
    start(&w[2], kit, AWS_DOC_ZONES, NULL);
    wait_for_waiters(kit, 2);
    atomic_store(&kit->held, false);
    for (size_t i = 0; i < 3; i++) {
        join(&w[i]);
        assert_int_equal(w[i].err.code, ERR_OK);
        assert_int_equal(w[i].reads, i == 0);
        assert_ptr_equal(w[i].need.doc, w[0].need.doc);
    }
    for (size_t i = 0; i < 3; i++) {
        aws_doc_unref(w[i].need.doc);
    }
    assert_int_equal(test_server_requests(kit->server), 1);
}

static void read__the_list_is_being_read__waits_for_it(void **state)
{
    struct cloud_kit *kit = *state;
    struct cloud_row rows[] = {{"PageSize", 200, NLBS(NLB("n1")), 0}, {0}};
    struct worker list;
    struct worker one;
    kit->rows = rows;
    atomic_store(&kit->held, true);
    start(&list, kit, AWS_DOC_NLBS, NULL);
    test_server_wait_requests(kit->server, 1);
    start(&one, kit, AWS_DOC_NLB, "n1");
    wait_for_waiters(kit, 1);
    atomic_store(&kit->held, false);
    join(&list);
    join(&one);
    assert_int_equal(one.need.doc->n, 1);
    assert_int_equal(one.reads, 0);
    aws_doc_unref(list.need.doc);
    aws_doc_unref(one.need.doc);
}

static void read__the_other_fails__reads_by_himself(void **state)
{
    struct cloud_kit *kit = *state;
    struct cloud_row rows[] = {
        {"DescribeAvailabilityZones", 403, CLOUD_REFUSAL("UnauthorizedOperation"), 1},
        {"DescribeAvailabilityZones", 200, ZONES, 0},
        {0}};
    struct worker w[2];
    kit->rows = rows;
    atomic_store(&kit->held, true);
    start(&w[0], kit, AWS_DOC_ZONES, NULL);
    test_server_wait_requests(kit->server, 1);
    start(&w[1], kit, AWS_DOC_ZONES, NULL);
    wait_for_waiters(kit, 1);
    atomic_store(&kit->held, false);
    join(&w[0]);
    join(&w[1]);
    assert_int_equal(w[0].err.code, ERR_FORBIDDEN);
    assert_int_equal(w[1].err.code, ERR_OK);
    assert_int_equal(w[1].need.doc->n, 1);
    aws_doc_unref(w[1].need.doc);
}

static void read__cancelled_while_waiting__returns(void **state)
{
    struct cloud_kit *kit = *state;
    struct cloud_row rows[] = {{"DescribeAvailabilityZones", 200, ZONES, 0}, {0}};
    struct worker w[2];
    kit->rows = rows;
    atomic_store(&kit->held, true);
    start(&w[0], kit, AWS_DOC_ZONES, NULL);
    test_server_wait_requests(kit->server, 1);
    start(&w[1], kit, AWS_DOC_ZONES, NULL);
    wait_for_waiters(kit, 1);
    cancel_fire(w[1].cancel);
    join(&w[1]);
    assert_int_equal(w[1].err.code, ERR_CANCELLED);
    cancel_fire(w[0].cancel);
    join(&w[0]);
    assert_int_equal(w[0].err.code, ERR_CANCELLED);
    atomic_store(&kit->held, false);
    same_text("nobody reads it any more", IDS(kit, AWS_DOC_ZONES, "", now(kit), aws_zone), "z");
}

static void drop_zones(struct cloud_kit *kit)
{
    aws_cloud_drop(kit->cloud, AWS_DOC_ZONES, NULL);
}

static void read__dropped_meanwhile__is_not_kept(void **state)
{
    struct cloud_kit *kit = *state;
    struct cloud_row rows[] = {{"DescribeAvailabilityZones", 200, ZONES, 0}, {0}};
    kit->rows = rows;
    kit->before = drop_zones;
    int64_t begin = now(kit);
    same_text("the reader has it", IDS(kit, AWS_DOC_ZONES, "", begin, aws_zone), "z");
    same_text("the next one reads", IDS(kit, AWS_DOC_ZONES, "", begin, aws_zone), "z");
    assert_int_equal(test_server_requests(kit->server), 2);
}

static void read__things_get_old__they_are_forgotten(void **state)
{
    struct cloud_kit *kit = *state;
    struct cloud_row rows[] = {{"DescribeAvailabilityZones", 200, ZONES, 0},
                               {"DescribeLoadBalancers", 200, NLBS(NLB("n1")), 0},
                               {0}};
    struct err err = ERR_INIT;
    struct aws_need held = {.kind = AWS_DOC_NLB, .key = "n1"};
    kit->rows = rows;
    assert_int_equal(read_needs(kit, &held, 1, &err), ERR_OK);
    clock_fake_advance(kit->k->clock, 121000);
    (void)IDS(kit, AWS_DOC_ZONES, "", INT64_MAX, aws_zone); /* which sweeps */
    (void)IDS(kit, AWS_DOC_NLB, "n1", 0, aws_nlb);
    assert_int_equal(test_server_requests(kit->server), 3);
    same_text("who holds it keeps it", ((const struct aws_nlb *)held.doc->items)->arn, "arn-n1");
    aws_doc_unref(held.doc);
}

UNIT_MAIN(cloud)
{
    const struct CMUnitTest tests[] = {
        CLOUD_TEST(read__young_enough__not_asked_again),
        CLOUD_TEST(read__long_list_of_one_thing__not_kept),
        CLOUD_TEST(read__answer_that_breaks_off__items_once),
        CLOUD_TEST(read__questions__ask_as_the_specification_says),
        CLOUD_TEST(read__several__side_by_side_and_each_by_itself),
        CLOUD_TEST(read__list_is_young__answers_for_its_things),
        CLOUD_TEST(read__some_are_gone__others_are_asked_for_singly),
        CLOUD_TEST(read__many_keys__in_parts),
        CLOUD_TEST(read__another_reads_it__waits_for_him),
        CLOUD_TEST(read__the_list_is_being_read__waits_for_it),
        CLOUD_TEST(read__the_other_fails__reads_by_himself),
        CLOUD_TEST(read__cancelled_while_waiting__returns),
        CLOUD_TEST(read__dropped_meanwhile__is_not_kept),
        CLOUD_TEST(read__things_get_old__they_are_forgotten),
    };
    struct err err = ERR_INIT;
    if (http_global_init(&err) != ERR_OK) {
        return 1;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    http_global_done();
    return failed;
}
