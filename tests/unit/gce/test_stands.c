/* SPDX-License-Identifier: Apache-2.0 */
/* test_stands.c: of a Service whose sync fails, the provider says whether what stands serves
 * clients. */
#include "tests/support/unit.h"
#include "tests/unit/gce/rig.h"

#include <string.h>

#define TYPE "\"networking.gke.io/load-balancer-type\":\"Internal\""
#define RBS  "\"cloud.google.com/l4-rbs\":\"enabled\""

/* Each kind: a target pool, internal and external, groups and NEGs. */
struct kind {
    const char *service;
    const char *negs; /* "true" or "false" */
};
static const struct kind kinds[] = {
    {"{}", "false"},
    {"{\"metadata\":{\"annotations\":{" TYPE "}}}", "false"},
    {"{\"metadata\":{\"annotations\":{" TYPE "}}}", "true"},
    {"{\"metadata\":{\"annotations\":{" RBS "}}}", "false"},
    {"{\"metadata\":{\"annotations\":{" RBS "}}}", "true"},
};

/* "web" is served, and its status has the address. */
static struct rig *served(const struct kind *kind)
{
    const struct tt_kv flags[] = {{"enable-l4-neg", kind->negs},
                                  {"gce-nodes-need-pod-cidr", "false"},
                                  {"run-l4-controller", kind->negs},
                                  {"run-l4-netlb-controller", "true"}};
    const struct rig_options opt = {.flags = flags, .n_flags = ARRAY_LEN(flags)};
    struct rig *r = rig_start(&opt);
    rig_service(r, "web", kind->service);
    rig_pods(r, "web", "node-0 node-1");
    const struct tt_result *res = rig_ensure(r, "web");
    assert_int_equal(res->code, TT_OK);
    assert_string_equal(res->nobody, "");
    rig_edit(r, "web",
             arena_printf(rig_arena(r),
                          "{\"status\":{\"loadBalancer\":{\"ingress\":[{\"ip\":\"%s\"}]}}}",
                          res->ip));
    return r;
}

static void refuse(struct rig *r, const char *op)
{
    rig_fault(r, arena_printf(rig_arena(r),
                              "{\"match\":{\"op\":\"compute.%s\"},\"count\":0,"
                              "\"do\":\"refuse\",\"status\":403}",
                              op));
}

/* Deletes the resource of that collection whose name the inventory has. */
static void take_away(struct rig *r, const char *collection, const char *prefix, const char *path)
{
    const char *at =
        strstr(rig_inventory(r), arena_printf(rig_arena(r), "%s/%s", collection, prefix));
    assert_non_null(at);
    at += strlen(collection) + 1;
    const char *name = arena_strndup(rig_arena(r), at, strcspn(at, "\n"));
    rig_cloud_call(r, "DELETE", arena_printf(rig_arena(r), "%s/%s", path, name), NULL);
}

static void stands__rule_is_gone_and_cannot_be_made__nobody(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct rig *r = served(&kinds[i]);
        take_away(r, "forwardingRules", "", "regions/us-central1/forwardingRules");
        refuse(r, "forwardingRules.insert");
        rig_edit(r, "web", "{\"spec\":{\"ports\":[{\"port\":8443,\"nodePort\":32443}]}}");
        for (int k = 0; k < 2; k++) {
            const struct tt_result *res = rig_ensure(r, "web");
            print_message("# kind %zu: %s\n", i, res->nobody);
            assert_int_equal(res->code, TT_FORBIDDEN);
            assert_true(str_has_prefix(res->nobody, "forwarding rule "));
            assert_non_null(strstr(res->nobody, " is missing"));
        }
        assert_non_null(strstr(rig_plan(r, "web"), "serves no client now: forwarding rule "));
        rig_no_faults(r);
        assert_int_equal(rig_ensure(r, "web")->code, TT_OK);
        assert_null(strstr(rig_plan(r, "web"), "serves nobody"));
        rig_stop(r);
    }
}

static void stands__firewall_is_gone_and_cannot_be_made__nobody(void **state)
{
    static const char *const prefixes[] = {"k8s-fw-", "k8s-fw-", "k8s2-", "k8s2-", "k8s2-"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct rig *r = served(&kinds[i]);
        take_away(r, "firewalls", prefixes[i], "global/firewalls");
        refuse(r, "firewalls.insert");
        rig_edit(r, "web", "{\"spec\":{\"loadBalancerSourceRanges\":[\"192.0.2.0/24\"]}}");
        const struct tt_result *res = rig_ensure(r, "web");
        print_message("# kind %zu: %s\n", i, res->nobody);
        assert_int_equal(res->code, TT_FORBIDDEN);
        assert_true(str_has_prefix(res->nobody, "firewall "));
        rig_stop(r);
    }
}

static void stands__edit_is_refused_and_all_is_there__serves(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct rig *r = served(&kinds[i]);
        refuse(r, "firewalls.patch");
        rig_edit(r, "web", "{\"spec\":{\"loadBalancerSourceRanges\":[\"192.0.2.0/24\"]}}");
        const struct tt_result *res = rig_ensure(r, "web");
        assert_int_equal(res->code, TT_FORBIDDEN);
        assert_string_equal(res->nobody, "serves");
        assert_null(strstr(rig_plan(r, "web"), "serves nobody"));
        rig_stop(r);
    }
}

/* A Service without an address is not served yet: its failure says so. */
static void stands__first_load_balancer_is_refused__not_said(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    rig_service(r, "web", "{}");
    refuse(r, "forwardingRules.insert");
    const struct tt_result *res = rig_ensure(r, "web");
    assert_int_equal(res->code, TT_FORBIDDEN);
    assert_string_equal(res->nobody, "");
    rig_stop(r);
}

UNIT_MAIN(stands)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stands__rule_is_gone_and_cannot_be_made__nobody),
        cmocka_unit_test(stands__firewall_is_gone_and_cannot_be_made__nobody),
        cmocka_unit_test(stands__edit_is_refused_and_all_is_there__serves),
        cmocka_unit_test(stands__first_load_balancer_is_refused__not_said),
    };
    return cmocka_run_group_tests_name("stands", tests, NULL, NULL);
}
