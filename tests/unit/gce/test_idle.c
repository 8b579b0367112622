/* SPDX-License-Identifier: Apache-2.0 */
/* test_idle.c: annotations without effect beside what the Service says otherwise, or beside what
 * stands (gce_idle.c): one finding each, and none for those that have their effect. */
#include "tests/support/unit.h"
#include "tests/unit/gce/rig.h"

#include <string.h>

#define TYPE            "\"networking.gke.io/load-balancer-type\":\"Internal\""
#define RBS             "\"cloud.google.com/l4-rbs\":\"enabled\""
#define SUBNET          "\"networking.gke.io/load-balancer-subnet\":\"default\""
#define ADDRESSES(list) "\"networking.gke.io/load-balancer-ip-addresses\":\"" list "\""
#define RANGES(list)    "{\"spec\":{\"loadBalancerSourceRanges\":[\"" list "\"]}}"
#define FAMILIES(policy, list)                                                                     \
    "{\"spec\":{\"ipFamilyPolicy\":\"" policy "\",\"ipFamilies\":[\"" list "\"]}}"
#define NOTES(text) "{\"metadata\":{\"annotations\":{" text "}}}"

static struct rig *start(void)
{
    static const struct tt_kv flags[] = {{"enable-l4-neg", "true"},
                                         {"gce-nodes-need-pod-cidr", "false"},
                                         {"run-l4-controller", "true"},
                                         {"run-l4-netlb-controller", "true"}};
    const struct rig_options opt = {.flags = flags, .n_flags = ARRAY_LEN(flags)};
    struct rig *r = rig_start(&opt);
    rig_give_addresses(r);
    return r;
}

static void expect_text(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        fail_msg("not \"%s\" in: %s", part, text);
    }
}

static void edit__without_effect__told(void **state)
{
    static const struct {
        const char *service, *edit, *told; /* NULL: nothing */
    } rows[] = {
        {NOTES(TYPE), NOTES(ADDRESSES("gone")),
         "\"gone\" is left out, no address of this name is reserved in us-central1"},
        {NOTES(RBS), NOTES(ADDRESSES("gone")), "\"gone\" is left out"},
        {NOTES(TYPE), NOTES(ADDRESSES("a,b,c")), "\"c\" is left out, only the first 2 names count"},
        {NOTES(TYPE), NOTES("\"networking.gke.io/l4-strong-session-affinity\":\"enabled\""),
         "has no effect on this kind of load balancer"},
        {NOTES(RBS), NOTES(SUBNET), "has no effect on an external Service without an IPv6 address"},
        {NOTES(RBS), NOTES("\"cloud.google.com/network-tier\":\"Gold\""),
         "\"Gold\" is not understood and counts as absent; want Premium or Standard"},
        {NOTES(RBS), NOTES("\"cloud.google.com/l4-rbs\":null"),
         "has gone; the load balancer keeps its backend service"},
        {NOTES(TYPE ",\"networking.gke.io/internal-load-balancer-subnet\":\"other\""),
         NOTES(SUBNET), "internal-load-balancer-subnet has no effect beside networking.gke.io/"},
        {NOTES(TYPE), RANGES("192.0.2.0/24\",\"2001:db8::/32"),
         "source ranges 2001:db8::/32 have no effect: the load balancer has no IPv6 address"},
        {NOTES(RBS), RANGES("192.0.2.0/24\",\"2001:db8::/32"),
         "ranges 2001:db8::/32 have no effect"},
        {"{}", RANGES("192.0.2.0/24\",\"2001:db8::/32"), "ranges 2001:db8::/32 have no effect"},
        {NOTES(RBS), RANGES("192.0.2.0/24"), NULL},
        {"{}", FAMILIES("RequireDualStack", "IPv4\",\"IPv6"),
         "spec.ipFamilies: IPv6 has no effect: this kind of load balancer has an IPv4 address"},
        {"{}", FAMILIES("SingleStack", "IPv6"), "spec.ipFamilies: IPv6 has no effect"},
        {"{}", FAMILIES("PreferDualStack", "IPv4\",\"IPv6"), NULL},
        {NOTES(RBS), FAMILIES("RequireDualStack", "IPv4\",\"IPv6"), NULL},
        {NOTES(TYPE), NOTES("\"cloud.google.com/load-balancer-type\":\"External\""),
         "cloud.google.com/load-balancer-type has no effect beside networking.gke.io/"},
        {NOTES(TYPE), NOTES("\"cloud.google.com/load-balancer-type\":\"Internal\""), NULL},
        {NOTES(TYPE), NOTES("\"networking.gke.io/internal-load-balancer-subnet\":\"default\""),
         NULL},
        {NOTES(RBS), NOTES("\"cloud.google.com/network-tier\":\"Premium\""), NULL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct rig *r = start();
        print_message("# row %zu\n", i);
        rig_service(r, "web", rows[i].service);
        (void)rig_ensure(r, "web");
        rig_remember(r, "web");
        rig_edit(r, "web", rows[i].edit);
        (void)rig_ensure(r, "web");
        const char *told = rig_findings(r);
        if (rows[i].told != NULL) {
            expect_text(told, rows[i].told);
        } else {
            assert_null(strstr(told, "finding "));
        }
        rig_stop(r);
    }
}

/* Where ingress-gce's part is not run, nothing takes the annotation away. */
static void target_pool__asks_for_a_backend_service__told(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    rig_service(r, "web", "{}");
    assert_int_equal(rig_ensure(r, "web")->code, TT_OK);
    rig_edit(r, "web", NOTES(RBS));
    assert_int_equal(rig_ensure(r, "web")->code, TT_OK);
    expect_text(rig_findings(r), "l4-rbs has no effect on a load balancer that has a target pool");
    rig_stop(r);
}

static void target_pool__guarded__plan_says_so(void **state)
{
    (void)state;
    struct rig *r = start();
    rig_service(r, "web", "{}");
    assert_int_equal(rig_ensure(r, "web")->code, TT_OK);
    rig_edit(r, "web", NOTES(RBS));
    (void)rig_plan(r, "web");
    expect_text(rig_findings(r), "cannot become one with a backend service");
    assert_null(strstr(rig_findings(r), "has no effect"));
    rig_stop(r);
}

/* The former look, within a minute, is not believed about a name that was missing. */
static void address__reserved_after_a_look__used_at_once(void **state)
{
    (void)state;
    struct rig *r = start();
    rig_service(r, "web", NOTES(RBS "," ADDRESSES("mine")));
    assert_int_equal(rig_ensure(r, "web")->code, TT_OK);
    expect_text(rig_findings(r), "\"mine\" is left out");
    rig_cloud_call(r, "POST", "regions/us-central1/addresses",
                   "{\"name\":\"mine\",\"address\":\"198.51.100.7\"}");
    assert_int_equal(rig_ensure(r, "web")->code, TT_OK);
    assert_null(strstr(rig_findings(r), "left out"));
    expect_text(rig_fingerprint(r), "198.51.100.7");
    rig_stop(r);
}

UNIT_MAIN(idle)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edit__without_effect__told),
        cmocka_unit_test(target_pool__asks_for_a_backend_service__told),
        cmocka_unit_test(target_pool__guarded__plan_says_so),
        cmocka_unit_test(address__reserved_after_a_look__used_at_once),
    };
    return cmocka_run_group_tests_name("idle", tests, NULL, NULL);
}
