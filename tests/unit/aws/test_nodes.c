/* SPDX-License-Identifier: Apache-2.0 */
/* test_nodes.c: nodes as targets: ids, labels, groups of instances, differences of targets; rows
 * 112 to 122, 130 to 135, 240 to 242, 245 to 249. */
#include "common/lb/service_rules.h"
#include "tests/support/unit.h"
#include "tests/unit/aws/aws_test.h"

static void instance_id__112_to_122(void **state)
{
    static const struct {
        const char *row, *text, *want; /* NULL: left out */
    } rows[] = {
        {"112", "aws:///us-east-1a/i-12345678", "i-12345678"},
        {"113", "aws:////i-12345678", "i-12345678"},
        {"114", "i-12345678abcdef01", "i-12345678abcdef01"},
        {"115", "aws:///us-east-1a/i-12345678abcdef01", "i-12345678abcdef01"},
        {"116", "vol-123456789", NULL},
        {"117", "aws:///us-east-1a/vol-12345678abcdef01", NULL},
        {"118", "aws://accountid/us-east-1a/vol-12345678abcdef01", NULL},
        {"119", "aws:///us-east-1a/vol-12345678abcdef01/suffix", NULL},
        {"120", "", NULL},
        {"121", "aws:///us-west-2c/1abc-2def/fargate-ip-192-168-164-88.internal",
         "fargate-ip-192-168-164-88.internal"},
        {"122", "aws:///us-west-2c/1abc-2def/fargate-192.168.164.88", "fargate-192.168.164.88"},
        {"6.1", "aws:///us-east-1a/i-9/", "i-9"},
        {"6.1", "aws://123456789012/us-east-1a/i-9", "i-9"},
        {"6.1", "aws://host:80/us-east-1a/i-9", "i-9"},
        {"6.1", "aws://a:b/us-east-1a/i-9", NULL},
        {"6.1", "aws:///us east/i-7", "i-7"},
        {"6.1", "aws://i-7", NULL},
        {"6.1", "aws:///us-east-1a/i-9/extra", NULL},
        {"6.1", "aws:///", NULL},
        {"15.4", "gce:///a/b/i-1", NULL},
        {"15.4", "AWS:///us-east-1a/i-4", NULL},
        {"15.4", "aws:/us-east-1a/i-3", NULL},
        {"15.4", "us-east-1a/i-10", NULL},
        {"15.4", "i-", NULL},
        {"15.4", "i-abc",
         "i-abc"}, /* digits of ids are hexadecimal: one in 2500 short ids has letters only */
        {"15.4", "aws:///us-east-1a/i-FEED", "i-FEED"},
        {"15.4", "i-xyz", NULL},
        {"15.4", "i-1_2", NULL},
        {"6.1", "aws://user@host:80/z/i-9", "i-9"},
        {"6.1", "aws://us er@host/z/i-9", NULL},
        {"6.1", "aws://h ost/z/i-9", NULL},
        {"6.1", "aws://a:1:2/z/i-9", NULL},
        {"6.1", "aws://[::1]:80/z/i-9", "i-9"},
        {"6.1", "aws://[::1/z/i-9", NULL},
        {"6.1", "aws://[::1]:x/z/i-9", NULL},
        {"15.4", "aws:///a/i-%311", NULL},
        {"6.1", "fargate-f/", "fargate-f"},
        {"6.1", "fargate-99/.", NULL},
        {"15.4", "a/fargate-f", NULL},
        {"6.1", "i-4/", "i-4"},
        {"15.4", "aws:///%zz/i-8", NULL},
        {"15.4", "aws:///a/i-5?x=y", NULL},
        {"15.4", "aws:///a/i-6#f", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = ERR_INIT;
        const char *id = NULL;
        int rc = aws_instance_id(*state, rows[i].text, &id, &err);
        assert_int_equal(rc, rows[i].want == NULL ? ERR_INVALID : ERR_OK);
        assert_int_equal(err.message[0] != '\0', rc != ERR_OK);
        same_text(arena_printf(*state, "%s %s", rows[i].row, rows[i].text), id, rows[i].want);
    }
}

static const struct tt_node *node(struct arena *a, const char *name, const char *labels,
                                  const char *id)
{
    return test_node_text(a, arena_printf(a,
                                          "{\"metadata\":{\"name\":\"%s\",\"labels\":{%s}},"
                                          "\"spec\":{\"providerID\":\"%s\"}}",
                                          name, labels, id));
}

static void labels__130_to_135(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *labels, *annotation;
        bool targeted;
    } rows[] = {
        {"130", "\"k1\":\"v1\"", NULL, true},
        {"131", "\"k1\":\"v1\",\"k2\":\"v2\"", "k1=v1,k2=v2", true},
        {"132", "\"k1\":\"v1\",\"k2\":\"v2\"", "k1,k2", true},
        {"133", "\"k1\":\"v1\"", "k1=v1,k2", false},
        {"134", "\"k1\":\"v1\",\"k2\":\"v2\"", "k3=v3", false},
        {"135", "", "k1", false},
        {"6.2", "\"k1\":\"v1\"", "k1=v2", false},
        {"6.2", "\"k1\":\"\"", "k1=", true},
        {"6.2", "", " , ", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct tt_node *n = node(a, "n1", rows[i].labels, "aws:///a/i-1");
        struct aws_tags labels = aws_pairs_read(a, rows[i].annotation);
        struct aws_texts ids = aws_node_instances(a, &n, 1, &labels, NULL);
        same_text(rows[i].row, aws_test_joined(a, ids), rows[i].targeted ? "i-1" : "");
    }
}

/* Equal digests: the targets of a Service with these labels are the same nodes. */
static void nodes_digest__labels_that_are_asked_for(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *wish, *first, *then; /* labels of the second node */
        bool same;
    } rows[] = {
        {"k=v", "", "\"other\":\"x\"", true},
        {"k=v", "", "\"k\":\"v\"", false},
        {"k=v", "\"k\":\"v\"", "\"k\":\"w\"", false},
        {"k=", "\"k\":\"v\"", "\"k\":\"w\"", true},
        {"k=v", "\"k\":\"v\"", "\"k\":\"v\",\"" LB_EXCLUDE_LABEL "\":\"\"", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct aws_tags wish = aws_pairs_read(a, rows[i].wish);
        const struct tt_node *one = node(a, "n1", "\"k\":\"v\"", "aws:///a/i-1");
        const struct tt_node *first = node(a, "n2", rows[i].first, "aws:///a/i-2");
        const struct tt_node *then = node(a, "n2", rows[i].then, "aws:///a/i-2");
        const struct tt_node *before[] = {one, first}, *after[] = {then, one};
        uint64_t was = aws_nodes_digest(&wish, before, 2);
        assert_int_not_equal(0, was);
        assert_int_not_equal(aws_node_labels_digest(first), aws_node_labels_digest(then));
        if ((was == aws_nodes_digest(&wish, after, 2)) != rows[i].same) {
            fail_msg("row %zu", i);
        }
        /* Another wish that the same nodes fulfil: what was refused is not what was accepted. */
        const struct aws_tags other = aws_pairs_read(a, "k=v,z=");
        assert_int_not_equal(was, aws_nodes_digest(&other, before, 2));
    }
}

static void bad_ids__are_told__6_1(void **state)
{
    struct arena *a = *state;
    const struct tt_node *nodes[] = {node(a, "n3", "", "aws:///a/i-3"), node(a, "n1", "", ""),
                                     node(a, "n2", "", "gce:///p/z/n"),
                                     node(a, "n4", "", "aws:///a/i-3")};
    const struct aws_tags none = {0};
    struct aws_texts left_out;
    struct aws_texts ids = aws_node_instances(a, nodes, ARRAY_LEN(nodes), &none, &left_out);
    same_text("ids", aws_test_joined(a, ids), "i-3 i-3");
    assert_int_equal(left_out.n, 2);
    same_text("n1", left_out.items[0], "node n1 is left out: it has no spec.providerID yet");
    same_text("n2", left_out.items[1],
              "node n2 is left out: spec.providerID: \"gce:///p/z/n\": want "
              "aws:///ZONE/i-0123456789abcdef0");
}

/* ---- the group of an instance ---------------------------------------------------------------- */

static void group__240_to_242(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *groups, *tagged, *want;
    } rows[] = {
        {"240", "sg123 sg123", "sg123", "error"},
        {"241", "sg1 sg2 sg3", "sg2", "sg2"},
        {"242", "sg1 sg2", "", "error"},
        {"4.11", "sg1", "", "sg1"},
        {"4.11", "", "sg1", "none"},
        {"4.11", "sg1 sg2", "sg1 sg2", "error"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct aws_texts ids = aws_test_texts(a, rows[i].groups);
        struct aws_texts tagged = aws_test_texts(a, rows[i].tagged);
        struct str_set set = str_set_make(a, tagged.items, tagged.n);
        struct aws_group_ref refs[3];
        const struct aws_instance instance = {.id = "i-1", .groups = refs, .n_groups = ids.n};
        struct err err = ERR_INIT;
        const char *group = NULL;
        for (size_t k = 0; k < ids.n; k++) {
            refs[k] = (struct aws_group_ref){ids.items[k], k == 0 ? "my_group" : "another_group"};
        }
        int rc = aws_node_group(a, &instance, &set, &group, &err);
        same_text(rows[i].row, rc != ERR_OK ? "error" : str_or(group, "none"), rows[i].want);
        if (str_eq(rows[i].row, "240")) {
            assert_non_null(strstr(err.message, "sg123(my_group) sg123(another_group)"));
        }
    }
}

/* ---- targets --------------------------------------------------------------------------------- */

static const char *targets_text(struct arena *a, const struct aws_targets *t)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < t->n; i++) {
        str_appendf(&b, "%s%s:%d", i == 0 ? "" : " ", t->items[i].id, (int)t->items[i].port);
    }
    return str_buf_to_arena(&b, a);
}

/* "i-1:8080", with '-' behind it: is being deregistered. */
static struct aws_targets targets(struct arena *a, const char *text)
{
    struct aws_texts words = aws_test_texts(a, text);
    struct aws_target *items = ARENA_ARRAY(a, struct aws_target, words.n);
    for (size_t i = 0; i < words.n; i++) {
        const char *colon = strchr(words.items[i], ':');
        char *end;
        items[i] = (struct aws_target){
            .id = arena_strndup(a, words.items[i], (size_t)(colon - words.items[i])),
            .port = (int32_t)strtol(colon + 1, &end, 10)};
        items[i].state = *end == '-' ? "draining" : "unhealthy";
        items[i].reason =
            *end == '-' ? "Target.DeregistrationInProgress" : "Target.FailedHealthChecks";
    }
    return (struct aws_targets){.items = items, .n = words.n};
}

static void target_differences__245_246(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *instances, *actual, *register_, *deregister;
    } rows[] = {
        {"245", "i-1 i-4 i-5", "i-1:8080 i-2:8080 i-3:8080", "i-4:8080 i-5:8080",
         "i-2:8080 i-3:8080"},
        {"246", "i-1 i-2", "i-2:8080 i-1:8080", "", ""},
        {"5.6", "i-1 i-1", "", "i-1:8080", ""},
        {"5.6", "i-1", "i-1:8081", "i-1:8080", "i-1:8081"},
        {"5.6", "i-1", "i-1:8080-", "i-1:8080", ""},
        {"5.6", "", "i-1:8080-", "", ""},
        {"5.6", "i-2 i-10", "", "i-10:8080 i-2:8080", ""},
        {"5.6", "", "i-2:9 i-10:80 i-2:10", "", "i-10:80 i-2:10 i-2:9"},
        {"5.6", "", "i-2:9 i-2:9", "", "i-2:9"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct aws_targets actual = targets(a, rows[i].actual);
        struct aws_target_diff d =
            aws_targets_diff(a, aws_test_texts(a, rows[i].instances), 8080, &actual);
        same_text(rows[i].row, targets_text(a, &d.register_), rows[i].register_);
        same_text(rows[i].row, targets_text(a, &d.deregister), rows[i].deregister);
    }
}

/* Rows 247 to 249: who sends them cuts the list, which is sorted, every AWS_TARGETS_PER_CALL. */
static void targets__come_in_order_for_calls__247_to_249(void **state)
{
    struct arena *a = *state;
    const char **ids = ARENA_ARRAY(a, const char *, 250);
    const struct aws_targets none = {0};
    for (size_t i = 0; i < 250; i++) {
        ids[i] = arena_printf(a, "i-%03zu", (i * 7) % 250);
    }
    struct aws_target_diff d =
        aws_targets_diff(a, (struct aws_texts){.items = ids, .n = 250}, 80, &none);
    assert_int_equal(d.register_.n, 250);
    assert_int_equal((d.register_.n + AWS_TARGETS_PER_CALL - 1) / AWS_TARGETS_PER_CALL, 3);
    for (size_t i = 0; i < d.register_.n; i++) {
        same_text("249", d.register_.items[i].id, arena_printf(a, "i-%03zu", i));
    }
}

#define BALANCER "arn:aws:elasticloadbalancing:us-east-1:1:loadbalancer/"

/* The owner of a target group: moto still names deleted balancers. */
static void target_group__of_another_balancer__10_4_row_5(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *balancers, *nlb, *want;
    } rows[] = {
        {"", NULL, NULL},
        {BALANCER "net/a1/07", BALANCER "net/a1/07", NULL},
        {BALANCER "net/a1/07", NULL, NULL},
        {BALANCER "app/a1/07", BALANCER "app/a1/08", NULL},
        {BALANCER "net/a12/07", BALANCER "net/a1/07", BALANCER "net/a12/07"},
        {BALANCER "net/xa1/07", NULL, BALANCER "net/xa1/07"},
        {BALANCER "net/a1/07 " BALANCER "net/b/1", BALANCER "net/a1/07", BALANCER "net/b/1"},
        {"a1 a1/07 /a1 /", NULL, "a1"},
        {"a1/07", NULL, "a1/07"},
        {"x", "x", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct aws_target_group g = {.balancers = aws_test_texts(a, rows[i].balancers)};
        same_text(rows[i].balancers,
                  str_or(aws_target_group_other_user(&g, rows[i].nlb, "a1"), "nobody"),
                  str_or(rows[i].want, "nobody"));
    }
}

UNIT_MAIN(nodes)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(instance_id__112_to_122),
        PURE_TEST(labels__130_to_135),
        PURE_TEST(nodes_digest__labels_that_are_asked_for),
        PURE_TEST(bad_ids__are_told__6_1),
        PURE_TEST(group__240_to_242),
        PURE_TEST(target_differences__245_246),
        PURE_TEST(targets__come_in_order_for_calls__247_to_249),
        PURE_TEST(target_group__of_another_balancer__10_4_row_5),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
