/* SPDX-License-Identifier: Apache-2.0 */
/* test_limits.c: lists that are longer than Google takes are findings of the plan
 * (gce_findings.c). */
#include "tests/support/unit.h"
#include "tests/unit/gce/rig.h"

#include <string.h>

#define TYPE       "\"networking.gke.io/load-balancer-type\":\"Internal\""
#define RBS        "\"cloud.google.com/l4-rbs\":\"enabled\""
#define SERVED     ",\"status\":{\"loadBalancer\":{\"ingress\":[{\"ip\":\"203.0.113.10\"}]}}"
#define MOST       5000
#define MOST_NODES 250

/* The Service with these annotations and n ranges; `told`: its status. */
static const char *with_ranges(struct arena *a, const char *notes, int n, const char *told)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    str_appendf(&b, "{\"metadata\":{\"annotations\":{%s}},\"spec\":{\"loadBalancerSourceRanges\":[",
                notes);
    for (int i = 0; i < n; i++) {
        str_appendf(&b, "%s\"10.%d.%d.0/25\"", i > 0 ? "," : "", i / 256, i % 256);
    }
    str_appendf(&b, "]}%s}", told);
    return str_buf_to_arena(&b, a);
}

static struct rig *start(int nodes, const char *max_group)
{
    const struct tt_kv flags[] = {{"gce-nodes-need-pod-cidr", "false"},
                                  {"max-ig-size", max_group},
                                  {"run-l4-netlb-controller", "true"}};
    const struct rig_options opt = {.nodes = nodes, .flags = flags, .n_flags = ARRAY_LEN(flags)};
    return rig_start(&opt);
}

static void ranges__more_than_a_firewall_takes__told_by_the_plan(void **state)
{
    (void)state;
    static const char *const kinds[] = {"", RBS, TYPE};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct rig *r = start(0, "1000");
        rig_service(r, "web", with_ranges(rig_arena(r), kinds[i], MOST, SERVED));
        (void)rig_plan(r, "web");
        assert_null(strstr(rig_findings(r), "source ranges"));
        rig_service(r, "web", with_ranges(rig_arena(r), kinds[i], MOST + 1, SERVED));
        (void)rig_plan(r, "web");
        if (strstr(rig_findings(r), "needs 5001 source ranges; the limit is 5000 for every "
                                    "account, and Google refuses more") == NULL) {
            fail_msg("kind %zu: %s", i, rig_findings(r));
        }
        rig_stop(r);
    }
}

/* Nothing stands that could be half built; what another kind of resource needs is not asked for. */
static void ranges__more_than_a_firewall_takes__new_service_gets_nothing(void **state)
{
    (void)state;
    static const char *const kinds[] = {"", RBS, TYPE};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct rig *r = start(0, "1000");
        rig_service(r, "web", with_ranges(rig_arena(r), kinds[i], MOST + 1, ""));
        const struct tt_result *result = rig_ensure(r, "web");
        assert_int_equal(result->code, TT_INVALID);
        assert_non_null(strstr(result->message, "5001 source ranges, and Google takes 5000"));
        const char *has = rig_inventory(r);
        if (strstr(has, "addresses/") != NULL || strstr(has, "forwardingRules/") != NULL) {
            fail_msg("kind %zu: %s", i, has);
        }
        rig_service(r, "web", with_ranges(rig_arena(r), kinds[i], MOST, ""));
        assert_int_equal(rig_ensure(r, "web")->code, TT_OK);
        rig_stop(r);
    }
}

static void internal__more_nodes_than_get_traffic__told(void **state)
{
    (void)state;
    for (int more = 0; more < 2; more++) {
        struct rig *r = start(MOST_NODES + more, "1000");
        rig_service(r, "web", "{\"metadata\":{\"annotations\":{" TYPE "}}}");
        (void)rig_plan(r, "web");
        bool told = strstr(rig_findings(r), "needs 251 nodes behind an internal load balancer; "
                                            "the limit is 250") != NULL;
        if (told != (more > 0)) {
            fail_msg("%d more: %s", more, rig_findings(r));
        }
        rig_stop(r);
    }
}

static void groups__more_nodes_than_one_takes__told(void **state)
{
    (void)state;
    struct rig *r = start(6, "1");
    rig_service(r, "web", "{\"metadata\":{\"annotations\":{" RBS "}}}");
    (void)rig_plan(r, "web");
    assert_non_null(strstr(rig_findings(r), "takes 1 nodes of zone "));
    assert_non_null(strstr(rig_findings(r), "(--max-ig-size), and 1 more are left out"));
    rig_stop(r);
}

UNIT_MAIN(limits)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges__more_than_a_firewall_takes__told_by_the_plan),
        cmocka_unit_test(ranges__more_than_a_firewall_takes__new_service_gets_nothing),
        cmocka_unit_test(internal__more_nodes_than_get_traffic__told),
        cmocka_unit_test(groups__more_nodes_than_one_takes__told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
