/* SPDX-License-Identifier: Apache-2.0 */
/* test_flows.c: what the provider does to the cloud, flow by flow: requests in number and kind,
 * what stands afterwards, events.  Numbers of rows are those of §9 of the GCE
 * specification. */
#include "tests/support/unit.h"
#include "tests/unit/gce/rig.h"

#include <string.h>

#define V1 "gke.networking.io/l4-netlb-v1"

static void ok(struct rig *r, const char *name)
{
    const struct tt_result *res = rig_ensure(r, name);
    if (res->code != TT_OK) {
        fail_msg("%s: %d %s", name, res->code, res->message);
    }
}

static unsigned reads(struct rig *r)
{
    return rig_calls(r, "compute.*.get") + rig_calls(r, "compute.*.list");
}

static const char *text(struct rig *r, const char *path_end, const char *member)
{
    const char *s = json_str(rig_resource(r, path_end), member);
    return s == NULL ? "" : arena_strdup(rig_arena(r), s);
}

static const char *ip_of(struct rig *r, const char *name)
{
    return text(r, arena_printf(rig_arena(r), "forwardingRules/%s", rig_lb_name(r, name)),
                "IPAddress");
}

static size_t members(struct rig *r, const char *name)
{
    struct json_object *pool =
        rig_resource(r, arena_printf(rig_arena(r), "targetPools/%s", rig_lb_name(r, name)));
    return json_len(json_member(pool, "instances"));
}

/* ---- counts ---------------------------------------------------------------------------------- */

static void create__first_in_cluster__five_reads_and_no_more(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    rig_service(r, "web", "{}");
    ok(r, "web");
    assert_int_equal(reads(r), 5 + 1); /* five lists; the one get is part of holding the address */
    assert_int_equal(rig_mutations(r), 7);
    assert_true(rig_holds(r, "web", V1));
    assert_true(rig_holds(r, "web", "service.kubernetes.io/load-balancer-cleanup"));
    assert_non_null(strstr(rig_last_plan(r), "in 4 waves"));
    rig_stop(r);
}

static void create__second__five_reads(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    rig_service(r, "one", "{}");
    ok(r, "one");
    rig_forget(r);
    rig_service(r, "two", "{}");
    ok(r, "two");
    assert_int_equal(reads(r), 5 + 1);
    assert_int_equal(rig_calls(r, "compute.*.list"), 0);
    assert_int_equal(rig_mutations(r), 5);
    rig_stop(r);
}

static void ensure__again__no_mutation(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    rig_service(r, "web", "{}");
    ok(r, "web");
    for (int i = 0; i < 3; i++) {
        rig_forget(r);
        ok(r, "web");
        assert_int_equal(rig_mutations(r), 0);
        assert_in_range(rig_calls(r, NULL), 0, 5);
        assert_int_equal(rig_events(r), 0);
    }
    rig_stop(r);
}

static void restart__many_healthy_services__five_lists_in_all(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    for (int i = 0; i < 20; i++) {
        const char *name = arena_printf(rig_arena(r), "s%d", i);
        rig_service(r, name, "{}");
        ok(r, name);
    }
    rig_reopen(r);
    rig_forget(r);
    rig_set_waiting(r, 20);
    for (int i = 0; i < 20; i++) {
        ok(r, arena_printf(rig_arena(r), "s%d", i));
    }
    assert_int_equal(rig_calls(r, NULL), 5);
    assert_int_equal(rig_mutations(r), 0);
    rig_stop(r);
}

static void create__many_at_once__listed_once_then_read_one_by_one(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    rig_set_waiting(r, 20);
    for (int i = 0; i < 20; i++) {
        const char *name = arena_printf(rig_arena(r), "s%d", i);
        rig_service(r, name, "{}");
        ok(r, name);
    }
    assert_int_equal(rig_calls(r, "compute.*.list"), 5);
    assert_int_equal(rig_calls(r, "compute.forwardingRules.get"), 19);
    rig_stop(r);
}

static void update__node_added__one_get_one_mutation(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    rig_service(r, "web", "{}");
    ok(r, "web");
    rig_add_nodes(r, 1);
    rig_forget(r);
    assert_int_equal(rig_update(r, "web")->code, TT_OK);
    assert_int_equal(rig_calls(r, "compute.targetPools.get"), 1);
    assert_int_equal(rig_calls(r, "compute.targetPools.addInstance"), 1);
    assert_int_equal(reads(r), 1);
    assert_int_equal(rig_mutations(r), 1);
    assert_int_equal(members(r, "web"), 7);
    rig_stop(r);
}

/* ---- members --------------------------------------------------------------------------------- */

static void update__B1_B2__in_chunks_of_a_thousand(void **state)
{
    (void)state;
    const struct rig_options opt = {.nodes = 1};
    struct rig *r = rig_start(&opt);
    rig_service(r, "web", "{}");
    ok(r, "web");
    rig_add_nodes(r, 2002);
    rig_forget(r);
    assert_int_equal(rig_update(r, "web")->code, TT_OK);
    assert_int_equal(rig_calls(r, "compute.targetPools.addInstance"), 3);
    assert_int_equal(members(r, "web"), 2003);
    rig_forget(r);
    rig_keep_nodes(r, 1);
    assert_int_equal(rig_update(r, "web")->code, TT_OK);
    assert_int_equal(rig_calls(r, "compute.targetPools.removeInstance"), 3);
    assert_int_equal(members(r, "web"), 1);
    rig_stop(r);
}

static void create__B3__two_hundred_in_the_body_the_rest_after(void **state)
{
    (void)state;
    const struct rig_options opt = {.nodes = 201};
    struct rig *r = rig_start(&opt);
    rig_service(r, "web", "{}");
    ok(r, "web");
    assert_int_equal(rig_calls(r, "compute.targetPools.addInstance"), 1);
    assert_int_equal(members(r, "web"), 201);
    rig_stop(r);
}

static void ensure__B7_B8__nobody_to_serve__refused_before_any_call(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    rig_keep_nodes(r, 0);
    rig_service(r, "web", "{}");
    assert_int_equal(rig_ensure(r, "web")->code, TT_INVALID);
    assert_string_equal(rig_ensure(r, "web")->message, "cannot EnsureLoadBalancer() with no hosts");
    rig_add_node_without_instance(r, "nameless", "");
    assert_non_null(strstr(rig_ensure(r, "web")->message, "instance not found"));
    assert_int_equal(rig_calls(r, NULL), 0);
    assert_false(rig_holds(r, "web", V1));
    rig_stop(r);
}

static void ensure__B9__one_node_without_instance__goes_on_without_it(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    rig_add_node_without_instance(r, "ghost", "gce://PROJECT/us-central1-a/ghost");
    rig_service(r, "web", "{}");
    ok(r, "web");
    assert_int_equal(members(r, "web"), 6);
    rig_add_nodes(r, 1);
    assert_int_equal(rig_update(r, "web")->code, TT_OK);
    assert_int_equal(members(r, "web"), 7);
    rig_stop(r);
}

static void update__no_nodes__members_stay(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    rig_service(r, "web", "{}");
    ok(r, "web");
    rig_keep_nodes(r, 0);
    rig_forget(r);
    assert_int_equal(rig_update(r, "web")->code, TT_OK);
    assert_int_equal(rig_mutations(r), 0);
    assert_int_equal(members(r, "web"), 6);
    rig_stop(r);
}

static void update__pool_missing__not_found(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    rig_service(r, "web", "{}");
    assert_int_equal(rig_update(r, "web")->code, TT_NOT_FOUND);
    rig_stop(r);
}

/* ---- deletion -------------------------------------------------------------------------------- */

static void delete__last__cloud_is_empty(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    rig_service(r, "web", "{}");
    ok(r, "web");
    const struct tt_result *res = rig_delete(r, "web");
    assert_int_equal(res->code, TT_OK);
    assert_string_equal(res->dropped, V1);
    assert_string_equal(rig_inventory(r), "");
    rig_forget(r);
    assert_int_equal(rig_delete(r, "web")->code, TT_OK);
    assert_int_equal(rig_mutations(r), 0);
    rig_stop(r);
}

static void delete__others_remain__shared_check_stays(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    rig_service(r, "one", "{}");
    rig_service(r, "two", "{}");
    ok(r, "one");
    ok(r, "two");
    assert_int_equal(rig_delete(r, "one")->code, TT_OK);
    assert_non_null(rig_resource(r, "httpHealthChecks/k8s-0123456789abcdef-node"));
    assert_non_null(rig_resource(r, "firewalls/k8s-0123456789abcdef-node-http-hc"));
    rig_service_gone(r, "one");
    assert_int_equal(rig_delete(r, "two")->code, TT_OK);
    assert_string_equal(rig_inventory(r), "");
    rig_stop(r);
}

static void delete__B24__rule_deleted_by_hand__the_rest_goes(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    rig_service(r, "web", "{}");
    ok(r, "web");
    rig_cloud_call(
        r, "DELETE",
        arena_printf(rig_arena(r), "regions/us-central1/forwardingRules/%s", rig_lb_name(r, "web")),
        NULL);
    rig_reopen(r);
    rig_service_deleted(r, "web");
    assert_int_equal(rig_get(r, "web")->exists, 1);
    assert_int_equal(rig_delete(r, "web")->code, TT_OK);
    assert_string_equal(rig_inventory(r), "");
    rig_stop(r);
}

static void delete__E12__annotation_flipped__dispatched_by_what_is_there(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    rig_service(r, "web", "{}");
    ok(r, "web");
    rig_edit(r, "web",
             "{\"metadata\":{\"annotations\":{\"networking.gke.io/load-balancer-type\":"
             "\"Internal\"}}}");
    assert_int_equal(rig_delete(r, "web")->code, TT_OK);
    assert_string_equal(rig_inventory(r), "");
    rig_stop(r);
}

/* ---- get ------------------------------------------------------------------------------------- */

static void get__O15_O16__rule_finalizer_or_any_piece(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    rig_service(r, "none", "{}");
    assert_int_equal(rig_get(r, "none")->exists, 0);
    rig_service(r, "v1", "{\"metadata\":{\"finalizers\":[\"" V1 "\"]}}");
    assert_int_equal(rig_get(r, "v1")->exists, 1);
    assert_string_equal(rig_get(r, "v1")->ip, "");
    rig_service(r, "ilb", "{\"metadata\":{\"finalizers\":[\"gke.networking.io/l4-ilb-v1\"]}}");
    assert_int_equal(rig_get(r, "ilb")->exists, 1);
    rig_service(r, "web", "{}");
    ok(r, "web");
    assert_int_equal(rig_get(r, "web")->exists, 1);
    assert_string_equal(rig_get(r, "web")->ip, ip_of(r, "web"));
    rig_cloud_call(r, "POST", "regions/us-central1/addresses",
                   arena_printf(rig_arena(r), "{\"name\":\"%s\"}", rig_lb_name(r, "none")));
    assert_int_equal(rig_get(r, "none")->exists, 1);
    rig_fault(r,
              "{\"match\":{\"op\":\"compute.forwardingRules.get\"},\"count\":0,\"do\":\"refuse\","
              "\"status\":403}");
    assert_int_equal(rig_get(r, "v1")->code, TT_FORBIDDEN);
    assert_int_equal(rig_get(r, "v1")->exists, -1);
    rig_stop(r);
}

/* ---- ports, conditions, conflicts ------------------------------------------------------------ */

#define MIXED                                                                                      \
    "{\"spec\":{\"ports\":[{\"name\":\"a\",\"port\":53,\"protocol\":\"UDP\"},"                     \
    "{\"name\":\"b\",\"port\":53,\"protocol\":\"TCP\"}]}}"
#define HAS_CONDITION                                                                              \
    "{\"status\":{\"conditions\":[{\"type\":\"LoadBalancerPortsError\",\"status\":\"True\","       \
    "\"reason\":\"x\",\"message\":\"\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}}"

static void ensure__M3__mixed_protocols__condition_event_and_nothing_built(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    rig_service(r, "web", MIXED);
    const struct tt_result *res = rig_ensure(r, "web");
    assert_int_equal(res->code, TT_INVALID);
    assert_string_equal(res->message, "mixed protocol is not supported for LoadBalancer");
    assert_string_equal(res->condition, "LoadBalancerPortsError=True");
    assert_true(rig_had_event(r, "Warning LoadBalancerMixedProtocolNotSupported LoadBalancer with "
                                 "multiple protocols are not supported."));
    assert_string_equal(rig_inventory(r), "");
    rig_edit(r, "web", HAS_CONDITION);
    rig_forget(r);
    res = rig_ensure(r, "web");
    assert_int_equal(res->code, TT_INVALID);
    assert_int_equal(rig_events(r), 0);
    assert_string_equal(res->condition, "");
    rig_stop(r);
}

static void update__M4__mixed_protocols__members_are_kept_up_to_date(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    rig_service(r, "web", "{}");
    ok(r, "web");
    rig_edit(r, "web", MIXED);
    rig_add_nodes(r, 1);
    const struct tt_result *res = rig_update(r, "web");
    assert_int_equal(res->code, TT_OK);
    assert_string_equal(res->condition, "LoadBalancerPortsError=True");
    assert_int_equal(members(r, "web"), 7);
    rig_stop(r);
}

static void ensure__uniform_again__condition_is_cleared(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    rig_service(r, "web", HAS_CONDITION);
    ok(r, "web");
    assert_string_equal(rig_ensure(r, "web")->condition, "LoadBalancerPortsError=False");
    rig_stop(r);
}

static void ensure__A7__class_beats_annotation_and_says_so_once(void **state)
{
    (void)state;
    const struct rig_options opt = {.gke_classes = true};
    struct rig *r = rig_start(&opt);
    rig_service(r, "web",
                "{\"metadata\":{\"annotations\":{\"networking.gke.io/load-balancer-type\":"
                "\"Internal\"}},\"spec\":{\"loadBalancerClass\":"
                "\"networking.gke.io/l4-regional-external-legacy\"}}");
    ok(r, "web");
    assert_true(rig_had_event(r, "Warning ConflictingConfiguration loadBalancerClass conflicts *"));
    rig_forget(r);
    ok(r, "web");
    assert_int_equal(rig_events(r), 0);
    rig_stop(r);
}

static void ensure__sctp__refused_before_anything_is_written(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    rig_service(r, "web", "{\"spec\":{\"ports\":[{\"port\":53,\"protocol\":\"SCTP\"}]}}");
    assert_int_equal(rig_ensure(r, "web")->code, TT_INVALID);
    assert_int_equal(rig_calls(r, NULL), 0);
    assert_false(rig_holds(r, "web", V1));
    rig_stop(r);
}

static void ensure__E8__protocol_changes_on_the_same_port__firewall_follows(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    rig_service(r, "web", "{}");
    ok(r, "web");
    const char *ip = ip_of(r, "web");
    rig_edit(r, "web", "{\"spec\":{\"ports\":[{\"port\":80,\"protocol\":\"UDP\"}]}}");
    ok(r, "web");
    struct json_object *fw =
        rig_resource(r, arena_printf(rig_arena(r), "k8s-fw-%s", rig_lb_name(r, "web")));
    struct json_object *allowed = json_object_array_get_idx(json_member(fw, "allowed"), 0);
    assert_string_equal(json_str(allowed, "IPProtocol"), "udp");
    assert_string_equal(ip_of(r, "web"), ip);
    rig_stop(r);
}

/* ---- annotations and text -------------------------------------------------------------------- */

static void ensure__output_annotations__only_with_the_flag(void **state)
{
    (void)state;
    static const struct tt_kv flags[] = {{"enable-l4-lb-annotations", "true"}};
    const struct rig_options opt = {.flags = flags, .n_flags = 1};
    struct rig *r = rig_start(&opt);
    rig_service(r, "web", "{}");
    ok(r, "web");
    assert_string_equal(
        rig_ensure(r, "web")->annotation,
        arena_printf(rig_arena(r), "networking.gke.io/target-pool=%s", rig_lb_name(r, "web")));
    rig_set_flags(r, NULL, 0);
    rig_reopen(r);
    assert_string_equal(rig_ensure(r, "web")->annotation, "");
    rig_stop(r);
}

static void plan__nothing_is_changed(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    rig_service(r, "web", "{}");
    assert_non_null(strstr(rig_plan(r, "web"), "6 to create"));
    assert_int_equal(rig_mutations(r), 0);
    assert_string_equal(rig_inventory(r), "");
    ok(r, "web");
    assert_non_null(strstr(rig_plan(r, "web"), "up to date (5 resources checked)"));
    rig_stop(r);
}

static void explain__target_pool__says_why_and_who(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    rig_service(r, "web", "{}");
    ok(r, "web");
    const char *t = rig_explain(r, "web")->text;
    assert_non_null(
        strstr(t, "default/web is served by an external load balancer with a target pool"));
    assert_non_null(strstr(t, "Nodes: 6 of 6 take part"));
    assert_non_null(strstr(t, "Health:  GET http://node:10256/healthz every 8 s"));
    rig_stop(r);
}

/* Members stay when no node takes part (gce_target_pool_members_plan.c): "0 of 6" alone would not
 * be true. */
static void explain__target_pool_without_nodes__says_what_is_left(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    rig_service(r, "web", "{}");
    ok(r, "web");
    rig_exclude_nodes(r);
    const char *t = rig_explain(r, "web")->text;
    assert_non_null(strstr(t, "Nodes: 0 of 6 take part; 6 are members still, and serve: the last "
                              "members stay\n"));
    rig_stop(r);
}

/* Groups keep the last members, too. */
static void explain__groups_without_nodes__says_what_is_left(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    rig_service(r, "web",
                "{\"metadata\":{\"annotations\":{\"networking.gke.io/load-balancer-type\":"
                "\"Internal\"}}}");
    ok(r, "web");
    rig_exclude_nodes(r);
    ok(r, "web");
    const char *t = rig_explain(r, "web")->text;
    if (strstr(t, "Nodes: 0 of 6 take part; 6 are members still, and serve: the last members "
                  "stay\n") == NULL ||
        strstr(t, "any of 6 instances of the groups") == NULL) {
        fail_msg("%s", t);
    }
    rig_stop(r);
}

static void ensure__strict_cloud__address_is_given_back_all_the_same(void **state)
{
    (void)state;
    const struct rig_options opt = {.strict_address_delete = true};
    struct rig *r = rig_start(&opt);
    rig_service(r, "web", "{}");
    ok(r, "web"); /* refused "in use" is tolerated */
    assert_int_equal(rig_delete(r, "web")->code, TT_OK);
    assert_string_equal(rig_inventory(r), "");
    rig_stop(r);
}

UNIT_MAIN(flows)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(create__first_in_cluster__five_reads_and_no_more),
        cmocka_unit_test(create__second__five_reads),
        cmocka_unit_test(ensure__again__no_mutation),
        cmocka_unit_test(restart__many_healthy_services__five_lists_in_all),
        cmocka_unit_test(create__many_at_once__listed_once_then_read_one_by_one),
        cmocka_unit_test(update__node_added__one_get_one_mutation),
        cmocka_unit_test(update__B1_B2__in_chunks_of_a_thousand),
        cmocka_unit_test(create__B3__two_hundred_in_the_body_the_rest_after),
        cmocka_unit_test(ensure__B7_B8__nobody_to_serve__refused_before_any_call),
        cmocka_unit_test(ensure__B9__one_node_without_instance__goes_on_without_it),
        cmocka_unit_test(update__no_nodes__members_stay),
        cmocka_unit_test(update__pool_missing__not_found),
        cmocka_unit_test(delete__last__cloud_is_empty),
        cmocka_unit_test(delete__others_remain__shared_check_stays),
        cmocka_unit_test(delete__B24__rule_deleted_by_hand__the_rest_goes),
        cmocka_unit_test(delete__E12__annotation_flipped__dispatched_by_what_is_there),
        cmocka_unit_test(get__O15_O16__rule_finalizer_or_any_piece),
        cmocka_unit_test(ensure__M3__mixed_protocols__condition_event_and_nothing_built),
        cmocka_unit_test(update__M4__mixed_protocols__members_are_kept_up_to_date),
        cmocka_unit_test(ensure__uniform_again__condition_is_cleared),
        cmocka_unit_test(ensure__A7__class_beats_annotation_and_says_so_once),
        cmocka_unit_test(ensure__sctp__refused_before_anything_is_written),
        cmocka_unit_test(ensure__E8__protocol_changes_on_the_same_port__firewall_follows),
        cmocka_unit_test(ensure__output_annotations__only_with_the_flag),
        cmocka_unit_test(plan__nothing_is_changed),
        cmocka_unit_test(explain__target_pool__says_why_and_who),
        cmocka_unit_test(explain__target_pool_without_nodes__says_what_is_left),
        cmocka_unit_test(explain__groups_without_nodes__says_what_is_left),
        cmocka_unit_test(ensure__strict_cloud__address_is_given_back_all_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
