/* SPDX-License-Identifier: Apache-2.0 */
/* test_l4_flows.c: what a balancer with a backend service costs, flow by flow: requests in number
 * and kind.
 *
 * Each row is a figure of docs/performance.md; three zones.  Waits count, as they do there. */
#include "tests/support/unit.h"
#include "tests/unit/gce/rig.h"

#include <string.h>

static const struct tt_kv l4[] = {{"enable-l4-neg", "true"},
                                  {"gce-nodes-need-pod-cidr", "false"},
                                  {"run-l4-controller", "true"},
                                  {"run-l4-netlb-controller", "true"}};

#define NEG    "compute.networkEndpointGroups."
#define ATTACH NEG "attachNetworkEndpoints"
#define DETACH NEG "detachNetworkEndpoints"
#define INTERNAL                                                                                   \
    "{\"metadata\":{\"annotations\":{\"networking.gke.io/load-balancer-type\":\"Internal\"%s}}%s}"
#define RBS       "{\"metadata\":{\"annotations\":{\"cloud.google.com/l4-rbs\":\"enabled\"%s}}%s}"
#define LOCAL     ",\"spec\":{\"externalTrafficPolicy\":\"Local\",\"healthCheckNodePort\":31000}"
#define UNRELATED ",\"example.com/a\":\"b\""

static struct rig *start(int nodes)
{
    const struct rig_options opt = {.nodes = nodes, .flags = l4, .n_flags = ARRAY_LEN(l4)};
    return rig_start(&opt);
}

/* With the fewest calls. */
static struct rig *start_without_hold(int nodes)
{
    const struct rig_options opt = {.nodes = nodes,
                                    .flags = l4,
                                    .n_flags = ARRAY_LEN(l4),
                                    .config_more = "hold-address-first = false\n"};
    return rig_start(&opt);
}

static void synced(const struct tt_result *res, const char *name)
{
    if (res->code != TT_OK) {
        fail_msg("%s: %d %s", name, res->code, res->message);
    }
}

static void ensure(struct rig *r, const char *name, const char *json)
{
    rig_service(r, name, json);
    rig_pods(r, name, "node-0 node-1");
    synced(rig_ensure(r, name), name);
}

static void internal(struct rig *r, const char *name)
{
    ensure(r, name, arena_printf(rig_arena(r), INTERNAL, "", ""));
}

static void external(struct rig *r, const char *name)
{
    ensure(r, name, arena_printf(rig_arena(r), RBS, "", ""));
}

static unsigned reads(struct rig *r)
{
    return rig_calls(r, "compute.*.get") + rig_calls(r, "compute.*.list") +
           rig_calls(r, "compute.*.aggregatedList");
}

static void expect_calls(struct rig *r, unsigned all, unsigned want_reads, unsigned mutations)
{
    if (rig_calls(r, NULL) != all || reads(r) != want_reads || rig_mutations(r) != mutations) {
        fail_msg("%u requests, %u reads, %u mutations; want %u, %u, %u\n%s", rig_calls(r, NULL),
                 reads(r), rig_mutations(r), all, want_reads, mutations, rig_last_plan(r));
    }
}

static void expect_waves(struct rig *r, int waves)
{
    const char *want = arena_printf(rig_arena(r), ", in %d waves (", waves);
    if (strstr(rig_last_plan(r), want) == NULL) {
        fail_msg("not%s: %s", want, strstr(rig_last_plan(r), "Plan:"));
    }
}

/* ---- again without a cause ------------------------------------------------------------------- */

static void expect_again(const struct tt_result *res, int64_t least_ms, int64_t most_ms)
{
    synced(res, "web");
    if (res->again_ms < least_ms || res->again_ms > most_ms) {
        fail_msg("again in %lld ms, not %lld to %lld", (long long)res->again_ms,
                 (long long)least_ms, (long long)most_ms);
    }
}

static void every_kind__ensured__again_within_sync_period(void **state)
{
    static const char *const services[] = {"{\"metadata\":{\"annotations\":{\"networking.gke.io/"
                                           "load-balancer-type\":\"Internal\"}}}",
                                           "{\"metadata\":{\"annotations\":{\"cloud.google.com/"
                                           "l4-rbs\":\"enabled\"}}}"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(services); i++) {
        struct rig *r = start(3);
        rig_service(r, "web", services[i]);
        rig_pods(r, "web", "node-0 node-1");
        expect_again(rig_ensure(r, "web"), 540000, 660000);
        expect_again(rig_ensure(r, "web"), 540000, 660000); /* nothing changed: no less */
        expect_again(rig_update(r, "web"), 0, 0);           /* a change of nodes puts nothing off */
        rig_stop(r);
    }
}

static void target_pool__ensured__not_again(void **state)
{
    (void)state;
    struct rig *r = start(3);
    rig_service(r, "web", "{}");
    expect_again(rig_ensure(r, "web"), 0, 0);
    rig_stop(r);
}

/* ---- internal, NEGs -------------------------------------------------------------------------- */

static void internal__create_warm__thirty_requests(void **state)
{
    (void)state;
    struct rig *r = start_without_hold(6);
    internal(r, "one");
    rig_forget(r);
    internal(r, "two");
    expect_calls(r, 30, 12, 9);
    assert_int_equal(rig_calls(r, ATTACH), 3);
    expect_waves(r, 4);
    rig_stop(r);
}

/* Reserved, waited for, given back, waited for; the address is read off the reservation and
 * not off the rule. */
static void internal__create_warm__four_more_to_hold_the_address(void **state)
{
    (void)state;
    struct rig *r = start(6);
    internal(r, "one");
    rig_forget(r);
    internal(r, "two");
    expect_calls(r, 34, 12, 11);
    assert_int_equal(rig_calls(r, "compute.addresses.insert"), 1);
    assert_int_equal(rig_calls(r, "compute.addresses.delete"), 1);
    rig_stop(r);
}

static void internal__unrelated_annotation__no_mutation(void **state)
{
    (void)state;
    struct rig *r = start(6);
    internal(r, "web");
    rig_forget(r);
    rig_edit(r, "web", arena_printf(rig_arena(r), INTERNAL, UNRELATED, ""));
    synced(rig_ensure(r, "web"), "web");
    expect_calls(r, 5, 5, 0); /* what was written a moment ago is checked once */
    rig_forget(r);
    synced(rig_ensure(r, "web"), "web");
    expect_calls(r, 0, 0, 0);
    assert_int_equal(rig_events(r), 0);
    rig_stop(r);
}

static void restart(void (*create)(struct rig *, const char *), unsigned all, unsigned lists)
{
    struct rig *r = start(6);
    for (int i = 0; i < 20; i++) {
        create(r, arena_printf(rig_arena(r), "s%d", i));
    }
    rig_reopen(r);
    rig_forget(r);
    rig_set_waiting(r, 20);
    for (int i = 0; i < 20; i++) {
        const char *name = arena_printf(rig_arena(r), "s%d", i);
        synced(rig_ensure(r, name), name);
    }
    expect_calls(r, all, lists, 0);
    rig_stop(r);
}

static void internal__restart__lists_in_all(void **state)
{
    (void)state;
    restart(internal, 7, 7);
}

static void internal__node_added__subset_full__no_request(void **state)
{
    (void)state;
    struct rig *r = start(90);
    internal(r, "one");
    internal(r, "two");
    rig_add_nodes(r, 1);
    rig_forget(r);
    synced(rig_update(r, "one"), "one");
    synced(rig_update(r, "two"), "two");
    expect_calls(r, 0, 0, 0);
    rig_stop(r);
}

static void internal__pod_moves__attach_and_detach(void **state)
{
    (void)state;
    struct rig *r = start(6);
    ensure(r, "web", arena_printf(rig_arena(r), INTERNAL, "", LOCAL));
    rig_forget(r);
    rig_pods(r, "web", "node-0 node-4");
    synced(rig_update(r, "web"), "web");
    expect_calls(r, 4, 0, 2);
    assert_int_equal(rig_calls(r, ATTACH), 1);
    assert_int_equal(rig_calls(r, DETACH), 1);
    assert_non_null(strstr(rig_last_plan(r), "because node node-1 has no endpoint of"));
    rig_stop(r);
}

/* Why a member leaves: the node's own reason, not that others are enough. */
static void plan__members_leave__with_the_reason(void **state)
{
    (void)state;
    struct rig *r = start(3);
    rig_give_addresses(r);
    internal(r, "web");
    ensure(r, "local", arena_printf(rig_arena(r), INTERNAL, "", LOCAL));
    rig_pods(r, "local", "node-0");
    const char *t = rig_plan(r, "local");
    if (strstr(t, "because node node-1 has no endpoint of the Service any more") == NULL) {
        fail_msg("%s", t);
    }
    rig_exclude_nodes(r);
    t = rig_plan(r, "web");
    if (strstr(t, "because node node-0 takes no part any more") == NULL ||
        strstr(t, "share") != NULL) {
        fail_msg("%s", t);
    }
    rig_stop(r);
}

static void internal__delete__with_negs(void **state)
{
    (void)state;
    struct rig *r = start(6);
    internal(r, "one");
    internal(r, "two");
    rig_forget(r);
    synced(rig_delete(r, "two"), "two");
    expect_calls(r, 15, 3, 6);
    assert_int_equal(rig_calls(r, NEG "delete"), 3);
    expect_waves(r, 3);
    rig_stop(r);
}

/* ---- external, instance groups --------------------------------------------------------------- */

static void external__create_further__twelve_requests(void **state)
{
    (void)state;
    struct rig *r = start_without_hold(6);
    external(r, "one");
    rig_forget(r);
    external(r, "two");
    expect_calls(r, 12, 6, 3);
    expect_waves(r, 3);
    rig_stop(r);
}

static void external__create_further__four_more_to_hold_the_address(void **state)
{
    (void)state;
    struct rig *r = start(6);
    external(r, "one");
    rig_forget(r);
    external(r, "two");
    expect_calls(r, 16, 6, 5);
    rig_stop(r);
}

/* Where the project may reserve no address more, the cloud chooses one. */
static void external__no_room_for_a_reservation__made_without(void **state)
{
    (void)state;
    struct rig *r = start(6);
    rig_fault(r, "{\"match\":{\"op\":\"compute.addresses.insert\"},\"count\":0,\"do\":\"refuse\","
                 "\"status\":403,\"body\":{\"error\":{\"code\":403,\"message\":\"Quota "
                 "'STATIC_ADDRESSES' exceeded.\",\"errors\":[{\"reason\":\"quotaExceeded\"}]}}}");
    external(r, "web");
    assert_int_equal(rig_calls(r, "compute.addresses.insert"), 1);
    assert_int_equal(rig_calls(r, "compute.forwardingRules.insert"), 1);
    rig_stop(r);
}

/* An address reserved for a failed try is used by the next one. */
static void external__rule_refused_once__the_same_address_is_used(void **state)
{
    (void)state;
    struct rig *r = start(6);
    rig_fault(
        r, "{\"match\":{\"op\":\"compute.forwardingRules.insert\"},\"count\":0,\"do\":\"refuse\","
           "\"status\":403}");
    rig_service(r, "web", arena_printf(rig_arena(r), RBS, "", ""));
    rig_pods(r, "web", "node-0 node-1");
    assert_int_not_equal(rig_ensure(r, "web")->code, TT_OK);
    assert_int_equal(rig_calls(r, "compute.addresses.delete"), 0);
    rig_no_faults(r);
    rig_forget(r);
    synced(rig_ensure(r, "web"), "web");
    assert_int_equal(rig_calls(r, "compute.addresses.insert"), 0);
    assert_int_equal(rig_calls(r, "compute.firewalls.patch"), 0);
    assert_int_equal(rig_calls(r, "compute.addresses.delete"), 1);
    rig_stop(r);
}

static void external__unrelated_annotation__no_mutation(void **state)
{
    (void)state;
    struct rig *r = start(6);
    external(r, "web");
    rig_forget(r);
    rig_edit(r, "web", arena_printf(rig_arena(r), RBS, UNRELATED, ""));
    synced(rig_ensure(r, "web"), "web");
    expect_calls(r, 6, 6, 0);
    rig_forget(r);
    synced(rig_ensure(r, "web"), "web");
    expect_calls(r, 0, 0, 0);
    rig_stop(r);
}

static void external__restart__lists_in_all(void **state)
{
    (void)state;
    restart(external, 9, 6);
}

/* Nothing stands on the groups yet: they are made in the balancer's plan, and only what refers to
 * them waits. */
static void external__first_of_a_cluster__groups_go_beside(void **state)
{
    (void)state;
    struct rig *r = start(6);
    external(r, "one");
    if (strstr(rig_last_plan(r), "instance group") == NULL) {
        fail_msg("the groups have a plan of their own: %s", rig_last_plan(r));
    }
    assert_int_equal(rig_calls(r, "compute.instanceGroups.insert"), 3);
    assert_int_equal(rig_calls(r, "compute.instanceGroups.addInstances"), 3);
    expect_waves(r, 5); /* group, members, backend service, rule; the address is given back */
    rig_stop(r);
}

/* Refused as if another program wrote at the same time: looked at again, and none is made twice. */
static void external__first_of_a_cluster__conflict_in_a_group__done_in_the_same_sync(void **state)
{
    static const char *const ops[] = {"insert", "addInstances"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
        struct rig *r = start(6);
        rig_fault(r, arena_printf(rig_arena(r),
                                  "{\"match\":{\"op\":\"compute.instanceGroups.%s\"},\"count\":1,"
                                  "\"do\":\"refuse\",\"status\":412}",
                                  ops[i]));
        external(r, "one");
        assert_int_equal(rig_calls(r, "compute.instanceGroups.insert"), i == 0 ? 4 : 3);
        assert_int_equal(rig_calls(r, "compute.instanceGroups.addInstances"), i == 0 ? 3 : 4);
        assert_int_equal(rig_calls(r, "compute.*ackendServices.insert"), 1);
        rig_forget(r);
        external(r, "two"); /* the turn was given back */
        assert_int_equal(rig_calls(r, "compute.instanceGroups.*"), 0);
        rig_stop(r);
    }
}

static void external__node_added__group_calls_once(void **state)
{
    (void)state;
    struct rig *r = start(6);
    external(r, "one");
    external(r, "two");
    external(r, "three");
    rig_add_nodes(r, 1);
    rig_forget(r);
    synced(rig_update(r, "one"), "one");
    assert_int_equal(rig_calls(r, "compute.instanceGroups.addInstances"), 1);
    assert_int_equal(rig_mutations(r), 1);
    rig_forget(r);
    synced(rig_update(r, "two"), "two");
    synced(rig_update(r, "three"), "three");
    expect_calls(r, 0, 0, 0);
    rig_stop(r);
}

/* ---- a process that knows nothing of a zone without nodes ------------------------------------ */

/* Three zones, two nodes in each: the third one loses its own, and the process is started again. */
static void lose_zone_and_restart(struct rig *r)
{
    rig_remove_node(r, "node-2");
    rig_remove_node(r, "node-5");
    rig_reopen(r);
}

static void internal__zone_lost_before_restart__deleted_whole(void **state)
{
    (void)state;
    struct rig *r = start(6);
    internal(r, "web");
    lose_zone_and_restart(r);
    synced(rig_delete(r, "web"), "web");
    assert_string_equal(rig_inventory(r), "");
    rig_stop(r);
}

/* Nor does its list help: the backend service refers to the NEG, or the object beside
 * it names it. */
static void internal__zone_lost_and_no_lists__deleted_whole(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct rig *r = start(6);
        internal(r, "web");
        lose_zone_and_restart(r);
        rig_fault(
            r, "{\"match\":{\"op\":\"compute.networkEndpointGroups.aggregatedList\"},\"count\":0,"
               "\"do\":\"refuse\",\"status\":403}");
        if (i == 1) { /* the last process ended after it had deleted the backend service */
            rig_fault(r, "{\"match\":{\"op\":\"compute.networkEndpointGroups.delete\"},\"count\":0,"
                         "\"do\":\"refuse\",\"status\":503}");
            assert_int_not_equal(rig_delete(r, "web")->code, TT_OK);
            rig_no_faults(r);
            rig_fault(r, "{\"match\":{\"op\":\"compute.networkEndpointGroups.aggregatedList\"},"
                         "\"count\":0,\"do\":\"refuse\",\"status\":403}");
            rig_reopen(r);
        }
        synced(rig_delete(r, "web"), "web");
        assert_string_equal(rig_inventory(r), "");
        rig_stop(r);
    }
}

static void external__zone_lost_before_restart__groups_deleted_too(void **state)
{
    (void)state;
    struct rig *r = start(6);
    external(r, "web");
    lose_zone_and_restart(r);
    synced(rig_delete(r, "web"), "web");
    assert_string_equal(rig_inventory(r), "");
    rig_stop(r);
}

UNIT_MAIN(l4_flows)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind__ensured__again_within_sync_period),
        cmocka_unit_test(target_pool__ensured__not_again),
        cmocka_unit_test(internal__create_warm__thirty_requests),
        cmocka_unit_test(internal__create_warm__four_more_to_hold_the_address),
        cmocka_unit_test(internal__unrelated_annotation__no_mutation),
        cmocka_unit_test(internal__restart__lists_in_all),
        cmocka_unit_test(internal__node_added__subset_full__no_request),
        cmocka_unit_test(internal__pod_moves__attach_and_detach),
        cmocka_unit_test(internal__delete__with_negs),
        cmocka_unit_test(plan__members_leave__with_the_reason),
        cmocka_unit_test(internal__zone_lost_before_restart__deleted_whole),
        cmocka_unit_test(internal__zone_lost_and_no_lists__deleted_whole),
        cmocka_unit_test(external__zone_lost_before_restart__groups_deleted_too),
        cmocka_unit_test(external__create_further__twelve_requests),
        cmocka_unit_test(external__create_further__four_more_to_hold_the_address),
        cmocka_unit_test(external__no_room_for_a_reservation__made_without),
        cmocka_unit_test(external__rule_refused_once__the_same_address_is_used),
        cmocka_unit_test(external__unrelated_annotation__no_mutation),
        cmocka_unit_test(external__restart__lists_in_all),
        cmocka_unit_test(external__first_of_a_cluster__groups_go_beside),
        cmocka_unit_test(external__first_of_a_cluster__conflict_in_a_group__done_in_the_same_sync),
        cmocka_unit_test(external__node_added__group_calls_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
