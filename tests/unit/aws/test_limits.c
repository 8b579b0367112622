/* SPDX-License-Identifier: Apache-2.0 */
/* test_limits.c: lists that are longer than AWS takes by default are findings of the plan
 * (aws_limits_plan.c). */
#include <string.h>

#include "common/base/str.h"
#include "common/lb/list_limits.h"
#include "providers/aws/plan/aws_limits_plan.h"
#include "tests/support/unit.h"
#include "tests/unit/aws/service_kit.h"

#define LB    "a5f3a7c9e0b1d4e2f8a6b1c2d3e4f5a6"
#define OWN   "security group k8s-elb-" LB " "
#define NODES "security group nodes (sg-nodes) "
#define NAMED "security-groups"
#define EVER  "the limit is 1000 for every account, and AWS refuses more"
#define RAISE "the default quota is 60, and AWS refuses more unless it was raised"

/* "80:30000 81:30001 …" */
static const char *ports(struct arena *a, int n)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    for (int i = 0; i < n; i++) {
        str_appendf(&b, "%s%d:%d", i > 0 ? " " : "", 80 + i, 30000 + i);
    }
    return str_buf_to_arena(&b, a);
}

static const char *ranges(struct arena *a, int v4, int v6)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    str_append(&b, ",\"loadBalancerSourceRanges\":[");
    for (int i = 0; i < v4 + v6; i++) {
        str_append(&b, i > 0 ? "," : "");
        if (i < v4) {
            str_appendf(&b, "\"10.%d.%d.0/24\"", i / 256, i % 256);
        } else {
            str_appendf(&b, "\"2001:db8:%x::/48\"", (unsigned)(i - v4));
        }
    }
    str_append(&b, "]");
    return v4 + v6 == 0 ? "" : str_buf_to_arena(&b, a);
}

/* Targets of the Service, all in one zone. */
static void add_instances(struct service_kit *s, int n)
{
    struct kit *k = s->k;
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    for (int i = 0; i < n; i++) {
        struct aws_instance *one = &k->world.instances[i];
        *one = k->world.instances[0];
        one->id = arena_printf(k->a, "i-n%d", i);
        str_appendf(&b, "%s%s", i > 0 ? " " : "", one->id);
    }
    k->world.n_instances = (size_t)n;
    k->instances = kit_texts(k, str_buf_to_arena(&b, k->a));
}

static const struct row {
    const char *kind, *lines;
    int ports, v4, v6, instances;
    bool managed;
    const char *told; /* a part of the only one; NULL: none */
} rows[] = {
    /* A rule for each port and range, and one for the size of packets of each range. */
    {"", .ports = 1, .v4 = 30},
    {"", .ports = 1, .v4 = 31, .told = OWN "needs 62 inbound rules of IPv4; " RAISE},
    {"", .ports = 2, .v4 = 500, .told = OWN "needs 1500 inbound rules of IPv4; " EVER},
    {"nlb", .ports = 1, .v4 = 60, .told = NODES "needs "},
    {"nlb", .ports = 1, .v4 = 20},
    {"nlb", .ports = 1, .v4 = 20, .v6 = 61, .managed = true,
     .told = "inbound rules of IPv6; " RAISE},
    {"nlb", .ports = 50, .managed = true},
    {"nlb", .ports = 51, .told = "NLB " LB " needs 51 listeners; the default quota is 50"},
    {"nlb", .ports = 2, .instances = 250},
    {"nlb", .ports = 3, .instances = 200,
     .told = "NLB " LB " needs 600 targets in one zone; the default"},
    {"nlb", .lines = "cross-zone-load-balancing-enabled=true", .ports = 3, .instances = 200,
     .told = "needs 600 targets with cross-zone load balancing; the default quota is 500"},
    {"nlb", .lines = NAMED "=sg-1,sg-2,sg-3,sg-4,sg-5", .ports = 1, .managed = true},
    {"nlb", .lines = NAMED "=sg-1,sg-2,sg-3,sg-4,sg-5,sg-6", .ports = 1, .managed = true,
     .told = "needs 6 security groups; the default quota is 5"},
    {"", .lines = "extra-" NAMED "=sg-1,sg-2,sg-3,sg-4", .ports = 1},
    {"", .lines = "extra-" NAMED "=sg-1,sg-2,sg-3,sg-4,sg-5", .ports = 1,
     .told = "needs 6 security groups; the default quota is 5"},
};

/* The nth finding about a limit; NULL: there are fewer. */
static const char *told(const struct service_kit *s, size_t nth)
{
    for (size_t i = 0; i < s->planning.n_findings; i++) {
        const struct aws_finding *f = &s->planning.findings[i];
        if (str_eq(f->reason, LB_FINDING_LIMIT) && nth-- == 0) {
            return f->message;
        }
    }
    return NULL;
}

static void limits__longer_lists__are_told_before_the_first_call(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct row *row = &rows[i];
        struct service_kit *s = service_kit_new();
        s->k->kind = row->kind;
        s->k->lines = str_nonnull(row->lines);
        s->k->ports = ports(s->k->a, row->ports);
        s->k->spec = ranges(s->k->a, row->v4, row->v6);
        s->k->naming.nlb_group_mode = row->managed ? "Managed" : "";
        if (row->instances > 0) {
            add_instances(s, row->instances);
        }
        service_plan(s, true);
        const char *got = str_nonnull(told(s, 0));
        bool right = row->told == NULL ? *got == '\0' : strstr(got, row->told) != NULL;
        if (!right || told(s, 1) != NULL) {
            fail_msg("row %zu: \"%s\", want \"%s\"", i, got, str_nonnull(row->told));
        }
        service_kit_free(s);
    }
}

/* Nothing is known of the account but that it has more than the default. */
static void limits__of_a_raised_quota__are_not_told(void **state)
{
    (void)state;
    struct service_kit *s = service_kit_new();
    s->k->world.max_rules = 200;
    s->k->spec = ranges(s->k->a, 40, 0);
    service_plan(s, true);
    assert_non_null(told(s, 0));
    kit_run(s->k);
    service_plan(s, true);
    assert_null(told(s, 0));
    s->k->spec = ranges(s->k->a, 50, 0);
    s->k->repairs = true;
    service_plan(s, true);
    assert_null(told(s, 0));
    s->k->spec = ranges(s->k->a, 501, 0);
    service_plan(s, true);
    assert_non_null(strstr(told(s, 0), "needs 1002 inbound rules of IPv4; the limit is 1000"));
    service_kit_free(s);
}

/* The edit is planned as it would be in an account that has room for it. */
static void limits__exceeded__nothing_is_refused(void **state)
{
    (void)state;
    struct service_kit *s = service_kit_new();
    service_settle(s, true);
    s->k->spec = ranges(s->k->a, 400, 0);
    s->k->repairs = true;
    service_plan(s, true);
    assert_non_null(told(s, 0));
    assert_int_equal(kit_op(s->k, "AuthorizeSecurityGroupIngress", 0)->wave, 1);
    service_kit_free(s);
}

UNIT_MAIN(limits)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits__longer_lists__are_told_before_the_first_call),
        cmocka_unit_test(limits__of_a_raised_quota__are_not_told),
        cmocka_unit_test(limits__exceeded__nothing_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
