/* SPDX-License-Identifier: Apache-2.0 */
/* test_lies.c: answers of the cloud that are incomplete, late or wrong, against the simulator: no
 * address may be lost by them, no firewall cut off, nothing left behind.
 *
 * What a Service without a load balancer makes of lists is in tests/bad-input. */
#include "tests/support/unit.h"
#include "tests/unit/gce/rig.h"

#include <string.h>

static const struct tt_kv deny_on[] = {{"enable-l4-deny-firewall", "true"},
                                       {"enable-l4-deny-firewall-rollback-cleanup", "true"}};
static const struct tt_kv deny_off[] = {{"enable-l4-deny-firewall-rollback-cleanup", "true"}};

static void ok(struct rig *r, const char *name)
{
    const struct tt_result *res = rig_ensure(r, name);
    if (res->code != TT_OK) {
        fail_msg("ensure %s: %d %s", name, res->code, res->message);
    }
}

static struct json_object *of_lb(struct rig *r, const char *format)
{
    return rig_resource(r, str_replace(rig_arena(r), format, "LB", rig_lb_name(r, "web")));
}

static const char *ip_of(struct rig *r)
{
    return arena_strdup(rig_arena(r),
                        str_nonnull(json_str(of_lb(r, "forwardingRules/LB"), "IPAddress")));
}

/* From now on `op` is answered with 200 and this text, `count` times (0: for good). */
static void answer_with(struct rig *r, const char *op, int count, const char *body)
{
    rig_fault(r, arena_printf(rig_arena(r),
                              "{\"match\":{\"op\":\"%s\"},\"count\":%d,\"do\":\"refuse\","
                              "\"status\":200,\"body\":%s}",
                              op, count, body));
}

static void list__lacks_the_deny_firewall__allow_is_not_raised_to_it(void **state)
{
    (void)state;
    const struct rig_options opt = {.flags = deny_on, .n_flags = ARRAY_LEN(deny_on)};
    struct rig *r = rig_start(&opt);
    rig_service(r, "web", "{}");
    ok(r, "web");
    assert_non_null(of_lb(r, "firewalls/k8s-fw-LB-deny"));
    rig_set_flags(r, deny_off, ARRAY_LEN(deny_off));
    rig_reopen(r);
    answer_with(r, "compute.firewalls.list", 0, "{\"kind\":\"compute#firewallList\"}");
    ok(r, "web");
    assert_null(of_lb(r, "firewalls/k8s-fw-LB-deny"));
    assert_int_equal(json_int(of_lb(r, "firewalls/k8s-fw-LB"), "priority", 0), 1000);
    rig_stop(r);
}

/* The shared firewall waits for the last deny firewall, whatever a list says of those of other
 * Services (§4.13). */
static void list__lacks_anothers_deny_firewall__the_shared_allow_is_not_raised(void **state)
{
    (void)state;
    const struct rig_options opt = {.flags = deny_on, .n_flags = ARRAY_LEN(deny_on)};
    struct rig *r = rig_start(&opt);
    rig_service(r, "web", "{}");
    rig_service(r, "other", "{}");
    ok(r, "web");
    ok(r, "other");
    rig_set_flags(r, deny_off, ARRAY_LEN(deny_off));
    rig_reopen(r);
    answer_with(r, "compute.firewalls.list", 0, "{\"kind\":\"compute#firewallList\"}");
    ok(r, "web");
    assert_null(of_lb(r, "firewalls/k8s-fw-LB-deny"));
    assert_int_equal(json_int(rig_resource(r, "node-http-hc"), "priority", 0), 999);
    ok(r, "other");
    assert_int_equal(json_int(rig_resource(r, "node-http-hc"), "priority", 0), 1000);
    rig_stop(r);
}

static void list__lacks_the_users_address__it_is_asked_for(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    rig_cloud_call(r, "POST", "regions/us-central1/addresses",
                   "{\"name\":\"mine\",\"address\":\"203.0.113.99\",\"networkTier\":\"PREMIUM\"}");
    rig_service(r, "web", "{\"spec\":{\"loadBalancerIP\":\"203.0.113.99\"}}");
    answer_with(r, "compute.addresses.list", 1, "{\"kind\":\"compute#addressList\"}");
    ok(r, "web");
    assert_string_equal(ip_of(r), "203.0.113.99");
    rig_stop(r);
}

static void rule__has_no_address_yet__nothing_is_pointed_at_nowhere(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    rig_service(r, "web", "{}");
    ok(r, "web");
    const char *before = arena_strdup(rig_arena(r), rig_fingerprint(r));
    const char *rule = arena_printf(
        rig_arena(r),
        "{\"name\":\"%s\",\"IPProtocol\":\"TCP\",\"portRange\":\"80-80\",\"networkTier\":"
        "\"PREMIUM\",\"loadBalancingScheme\":\"EXTERNAL\",\"target\":\"x\"}",
        rig_lb_name(r, "web"));
    rig_reopen(r);
    rig_forget(r);
    answer_with(r, "compute.forwardingRules.get", 0, rule);
    answer_with(r, "compute.forwardingRules.list", 0,
                arena_printf(rig_arena(r),
                             "{\"kind\":\"compute#forwardingRuleList\",\"items\":[%s]}", rule));
    assert_int_not_equal(rig_ensure(r, "web")->code, TT_OK);
    assert_int_equal(rig_mutations(r), 0);
    rig_no_faults(r);
    ok(r, "web");
    assert_string_equal(rig_fingerprint(r), before);
    rig_stop(r);
}

/* As an interrupted run leaves it: the address is held, the rule gone. */
static void interrupt(struct rig *r, const char *ip)
{
    const char *lb = rig_lb_name(r, "web");
    rig_cloud_call(r, "POST", "regions/us-central1/addresses",
                   arena_printf(rig_arena(r), "{\"name\":\"%s\",\"address\":\"%s\"}", lb, ip));
    rig_cloud_call(r, "DELETE",
                   arena_printf(rig_arena(r), "regions/us-central1/forwardingRules/%s", lb), NULL);
}

static void held_address__has_no_ip_yet__is_not_given_up(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    rig_service(r, "web", "{}");
    ok(r, "web");
    const char *ip = ip_of(r);
    interrupt(r, ip);
    rig_reopen(r);
    answer_with(r, "compute.addresses.get", 0,
                arena_printf(rig_arena(r), "{\"name\":\"%s\",\"networkTier\":\"PREMIUM\"}",
                             rig_lb_name(r, "web")));
    answer_with(r, "compute.addresses.list", 0, "{\"kind\":\"compute#addressList\"}");
    (void)rig_ensure(r, "web");
    rig_no_faults(r);
    ok(r, "web");
    assert_string_equal(ip_of(r), ip);
    assert_null(of_lb(r, "addresses/LB"));
    rig_stop(r);
}

static void list__lacks_the_pool__nodes_are_updated_all_the_same(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    rig_service(r, "web", "{}");
    ok(r, "web");
    rig_reopen(r);
    answer_with(r, "compute.targetPools.list", 0, "{\"kind\":\"compute#targetPoolList\"}");
    rig_add_nodes(r, 1);
    assert_int_equal(rig_update(r, "web")->code, TT_OK);
    assert_int_equal(json_len(json_member(of_lb(r, "targetPools/LB"), "instances")), 7);
    rig_stop(r);
}

/* Every list is empty, for good. */
static void lists_are_empty(struct rig *r)
{
    static const char *const kinds[][2] = {
        {"compute.forwardingRules.list", "compute#forwardingRuleList"},
        {"compute.targetPools.list", "compute#targetPoolList"},
        {"compute.firewalls.list", "compute#firewallList"},
        {"compute.addresses.list", "compute#addressList"},
        {"compute.httpHealthChecks.list", "compute#httpHealthCheckList"},
    };
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        answer_with(r, kinds[i][0], 0,
                    arena_printf(rig_arena(r), "{\"kind\":\"%s\"}", kinds[i][1]));
    }
}

static void lists__lack_the_held_address__it_serves_the_rule_again(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    rig_service(r, "web", "{}");
    ok(r, "web");
    const char *ip = ip_of(r);
    interrupt(r, ip);
    rig_reopen(r);
    lists_are_empty(r);
    ok(r, "web");
    assert_string_equal(ip_of(r), ip);
    assert_null(of_lb(r, "addresses/LB"));
    rig_stop(r);
}

static void lists__empty__delete_leaves_nothing(void **state)
{
    (void)state;
    static const char *const policies[] = {
        "{}", "{\"spec\":{\"externalTrafficPolicy\":\"Local\",\"healthCheckNodePort\":30100}}"};
    for (size_t i = 0; i < ARRAY_LEN(policies); i++) {
        const struct rig_options opt = {.flags = deny_on, .n_flags = ARRAY_LEN(deny_on)};
        struct rig *r = rig_start(&opt);
        rig_service(r, "web", policies[i]);
        ok(r, "web");
        interrupt(r, ip_of(r));
        rig_reopen(r);
        lists_are_empty(r);
        assert_int_equal(rig_delete(r, "web")->code, TT_OK);
        assert_string_equal(rig_inventory(r), "");
        rig_stop(r);
    }
}

static void rule__404_once__all_is_as_before(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    rig_service(r, "web", "{}");
    ok(r, "web");
    const char *before = arena_strdup(rig_arena(r), rig_fingerprint(r));
    rig_reopen(r);
    lists_are_empty(r);
    rig_fault(r,
              "{\"match\":{\"op\":\"compute.forwardingRules.get\"},\"count\":1,\"do\":\"refuse\","
              "\"status\":404,\"body\":{\"error\":{\"code\":404,\"message\":\"late\"}}}");
    ok(r, "web");
    assert_string_equal(rig_fingerprint(r), before);
    rig_stop(r);
}

static void held_address__answered_with_another__is_not_used(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    rig_service(r, "web", "{}");
    answer_with(r, "compute.addresses.get", 1,
                "{\"name\":\"other\",\"address\":\"198.51.100.250\",\"networkTier\":\"PREMIUM\"}");
    assert_int_equal(rig_ensure(r, "web")->code, TT_TRANSIENT);
    ok(r, "web");
    assert_string_not_equal(ip_of(r), "198.51.100.250");
    assert_null(of_lb(r, "addresses/LB"));
    rig_stop(r);
}

static void instances__an_item_is_none__no_firewall_loses_tags_by_it(void **state)
{
    (void)state;
    const struct rig_options opt = {.config_less = "node-tags"};
    struct rig *r = rig_start(&opt);
    rig_service(r, "web", "{}");
    answer_with(r, "compute.instances.list", 1,
                "{\"kind\":\"compute#instanceList\",\"items\":[{\"name\":7}]}");
    assert_int_equal(rig_ensure(r, "web")->code, TT_TRANSIENT);
    assert_null(of_lb(r, "firewalls/k8s-fw-LB"));
    ok(r, "web");
    rig_stop(r);
}

UNIT_MAIN(lies)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(list__lacks_the_deny_firewall__allow_is_not_raised_to_it),
        cmocka_unit_test(list__lacks_anothers_deny_firewall__the_shared_allow_is_not_raised),
        cmocka_unit_test(list__lacks_the_users_address__it_is_asked_for),
        cmocka_unit_test(list__lacks_the_pool__nodes_are_updated_all_the_same),
        cmocka_unit_test(rule__has_no_address_yet__nothing_is_pointed_at_nowhere),
        cmocka_unit_test(held_address__has_no_ip_yet__is_not_given_up),
        cmocka_unit_test(held_address__answered_with_another__is_not_used),
        cmocka_unit_test(instances__an_item_is_none__no_firewall_loses_tags_by_it),
        cmocka_unit_test(lists__lack_the_held_address__it_serves_the_rule_again),
        cmocka_unit_test(lists__empty__delete_leaves_nothing),
        cmocka_unit_test(rule__404_once__all_is_as_before),
    };
    return cmocka_run_group_tests_name("gce lies", tests, NULL, NULL);
}
