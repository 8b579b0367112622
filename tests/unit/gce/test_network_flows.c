/* SPDX-License-Identifier: Apache-2.0 */
/* test_network_flows.c: Services of other networks from end to end: created, checked again,
 * deleted; the objects that say where come late, or say something wrong; the flag is off, or is
 * turned off; gce-l4.md §4.13, §1.6.3 rule 6. */
#include "tests/support/unit.h"
#include "tests/unit/gce/rig.h"

#include <stdlib.h>
#include <string.h>

static const struct tt_kv on[] = {{"enable-l4-neg", "true"},
                                  {"enable-multi-networking", "true"},
                                  {"gce-nodes-need-pod-cidr", "false"},
                                  {"run-l4-controller", "true"},
                                  {"run-l4-netlb-controller", "true"}};
static const struct tt_kv off[] = {{"enable-l4-neg", "true"},
                                   {"gce-nodes-need-pod-cidr", "false"},
                                   {"run-l4-controller", "true"},
                                   {"run-l4-netlb-controller", "true"}};

#define INTERNAL    "\"networking.gke.io/load-balancer-type\":\"Internal\""
#define EXTERNAL    "\"cloud.google.com/l4-rbs\":\"enabled\""
#define IN(network) "\"selector\":{\"networking.gke.io/network\":\"" network "\"}"
#define SERVICE(annotation, network)                                                               \
    "{\"metadata\":{\"annotations\":{" annotation "}},\"spec\":{" IN(network) "}}"
#define NETWORK                                                                                    \
    "{\"spec\":{\"type\":\"L3\",\"parametersRef\":{\"group\":\"networking.gke.io\",\"kind\":"      \
    "\"GKENetworkParamSet\",\"name\":\"blue-params\"}}}"
#define PARAMS "{\"spec\":{\"vpc\":\"blue-vpc\",\"vpcSubnet\":\"blue-sub\"}}"

static void add_objects(struct rig *r)
{
    rig_object(r, "networks/blue", NETWORK);
    rig_object(r, "gkenetworkparamsets/blue-params", PARAMS);
}

/* Four of six nodes are in network blue; its objects are there. */
static struct rig *start(const struct tt_kv *flags, size_t n_flags)
{
    const struct rig_options opt = {.nodes = 6, .flags = flags, .n_flags = n_flags};
    struct rig *r = rig_start(&opt);
    rig_add_network(r, "blue", "node-0 node-1 node-2 node-3");
    rig_reopen(r);
    add_objects(r);
    return r;
}

static void synced(const struct tt_result *res)
{
    if (res->code != TT_OK) {
        fail_msg("%d %s", res->code, res->message);
    }
}

static void set_flags(struct rig *r, const struct tt_kv *flags, size_t n)
{
    rig_set_flags(r, flags, n);
    rig_reopen(r);
    rig_forget(r);
}

static void refused(const struct tt_result *res, const char *message)
{
    assert_int_equal(res->code, TT_INVALID);
    assert_string_equal(res->message, message);
}

static void add_service(struct rig *r, const char *json)
{
    rig_service(r, "web", json);
    rig_pods(r, "web", "node-0 node-1");
}

/* The member of each resource of a collection ends so; how many there are. */
static size_t expect_all(struct rig *r, const char *collection, const char *member, const char *end)
{
    size_t n = 0;
    json_object_object_foreach(rig_cloud(r), path, o)
    {
        if (strstr(path, collection) == NULL) {
            continue;
        }
        const char *is = json_str(o, member);
        if (end == NULL ? is != NULL : is == NULL || !str_has_suffix(is, end)) {
            fail_msg("%s: %s is %s, not …%s", path, member, str_nonnull(is), str_nonnull(end));
        }
        n++;
    }
    return n;
}

/* Members of NEGs, by the addresses in network blue: "node-0 node-3". */
static const char *members(struct rig *r)
{
    struct arena *a = rig_arena(r);
    struct json_object *world = rig_save(r);
    const char *all = json_text(a, json_member(world, "members"), JSON_COMPACT);
    const char *out = "";
    for (int i = 0; i < 6; i++) {
        const char *ip = arena_printf(a, "\"172.16.0.%d\"", i + 1);
        if (strstr(all, ip) != NULL) {
            out = arena_printf(a, "%s%snode-%d", out, *out == '\0' ? "" : " ", i);
        }
    }
    json_object_put(world);
    return out;
}

/* ---- created, again, deleted ----------------------------------------------------------------- */

static void nothing_left(struct rig *r)
{
    synced(rig_delete(r, "web"));
    assert_string_equal(rig_inventory(r), "");
}

static void nothing_to_do(struct rig *r)
{
    rig_forget(r);
    synced(rig_ensure(r, "web"));
    synced(rig_update(r, "web"));
    rig_reopen(r);
    synced(rig_ensure(r, "web"));
    assert_int_equal(rig_mutations(r), 0);
    assert_string_equal(rig_events_text(r), "");
}

static void internal__other_network__everything_in_it(void **state)
{
    (void)state;
    struct rig *r = start(on, ARRAY_LEN(on));
    add_service(r, SERVICE(INTERNAL, "blue"));
    synced(rig_ensure(r, "web"));
    assert_int_equal(expect_all(r, "/networkEndpointGroups/", "network", "/networks/blue-vpc"), 3);
    assert_int_equal(expect_all(r, "/networkEndpointGroups/", "subnetwork", "/blue-sub"), 3);
    assert_int_equal(expect_all(r, "/backendServices/", "network", "/networks/blue-vpc"), 1);
    assert_int_equal(expect_all(r, "/forwardingRules/", "network", "/networks/blue-vpc"), 1);
    assert_int_equal(expect_all(r, "/forwardingRules/", "subnetwork", "/blue-sub"), 1);
    assert_int_equal(expect_all(r, "/global/firewalls/", "network", "/networks/blue-vpc"), 2);
    assert_string_equal(members(r), "node-0 node-1 node-2 node-3");
    assert_true(rig_holds(r, "web", "gke.networking.io/l4-ilb-v2"));
    assert_true(rig_metric(r, "l4_ilbs_count{status=Success,multinet=true,*}") == 1);
    assert_true(rig_metric(r, "l4_ilb_multinet_sync_duration_seconds{sync_result=success,*}") == 1);
    nothing_to_do(r);
    nothing_left(r);
    rig_stop(r);
}

static void external__other_network__negs_under_the_finalizer_of_groups(void **state)
{
    (void)state;
    struct rig *r = start(on, ARRAY_LEN(on));
    add_service(r, SERVICE(EXTERNAL, "blue"));
    synced(rig_ensure(r, "web"));
    assert_int_equal(expect_all(r, "/networkEndpointGroups/", "network", "/networks/blue-vpc"), 3);
    assert_int_equal(expect_all(r, "/instanceGroups/", "name", ""), 0);
    assert_int_equal(expect_all(r, "/backendServices/", "network", NULL), 1);
    assert_int_equal(expect_all(r, "/forwardingRules/", "subnetwork", NULL), 1);
    assert_int_equal(expect_all(r, "/global/firewalls/", "network", "/networks/blue-vpc"), 2);
    assert_true(rig_holds(r, "web", "gke.networking.io/l4-netlb-v2"));
    assert_false(rig_holds(r, "web", "gke.networking.io/l4-netlb-v3"));
    assert_true(rig_metric(r, "l4_netlbs_count{status=Success,multinet=true,*backend_type=NEG*}") ==
                1);
    assert_true(rig_metric(r, "l4_netlb_multinet_sync_duration_seconds{*}") == 1);
    nothing_to_do(r);
    nothing_left(r);
    rig_stop(r);
}

/* The check is shared, its firewalls are not. */
static void beside_one_of_the_clusters_network__each_its_own_firewalls(void **state)
{
    (void)state;
    struct rig *r = start(on, ARRAY_LEN(on));
    rig_service(r, "own", "{\"metadata\":{\"annotations\":{" INTERNAL "}}}");
    rig_pods(r, "own", "node-0");
    add_service(r, SERVICE(INTERNAL, "blue"));
    synced(rig_ensure(r, "own"));
    const char *alone = rig_fingerprint(r);
    synced(rig_ensure(r, "web"));
    assert_int_equal(expect_all(r, "/healthChecks/", "type", "HTTP"), 1);
    rig_forget(r);
    synced(rig_ensure(r, "own"));
    assert_int_equal(rig_mutations(r), 0);
    synced(rig_delete(r, "web"));
    assert_string_equal(rig_fingerprint(r), alone);
    rig_stop(r);
}

static void node_is_connected_later__becomes_a_member(void **state)
{
    (void)state;
    struct rig *r = start(on, ARRAY_LEN(on));
    add_service(r, SERVICE(INTERNAL, "blue"));
    synced(rig_ensure(r, "web"));
    rig_add_network(r, "blue", "node-5");
    rig_forget(r);
    synced(rig_update(r, "web"));
    assert_string_equal(members(r), "node-0 node-1 node-2 node-3 node-5");
    assert_int_equal(rig_mutations(r), 1);
    nothing_left(r);
    rig_stop(r);
}

static void policy_changes__its_own_check_firewall_stays(void **state)
{
    (void)state;
    struct rig *r = start(on, ARRAY_LEN(on));
    add_service(r, SERVICE(INTERNAL, "blue"));
    synced(rig_ensure(r, "web"));
    rig_edit(r, "web",
             "{\"spec\":{\"externalTrafficPolicy\":\"Local\",\"healthCheckNodePort\":31000}}");
    synced(rig_ensure(r, "web"));
    assert_string_equal(members(r), "node-0 node-1");
    nothing_to_do(r);
    rig_edit(r, "web",
             "{\"spec\":{\"externalTrafficPolicy\":\"Cluster\",\"healthCheckNodePort\":null}}");
    synced(rig_ensure(r, "web"));
    assert_int_equal(expect_all(r, "/global/firewalls/", "network", "/networks/blue-vpc"), 2);
    assert_int_equal(expect_all(r, "/healthChecks/", "type", "HTTP"), 1);
    nothing_to_do(r);
    nothing_left(r);
    rig_stop(r);
}

/* NEGs alone are in the network that the Service names, too. */
static void negs_alone__other_network__made_in_it(void **state)
{
    static const struct tt_kv alone[] = {{"enable-l4-standalone-negs", "true"},
                                         {"enable-multi-networking", "true"},
                                         {"gce-nodes-need-pod-cidr", "false"}};
    static const struct tt_kv alone_off[] = {{"enable-l4-standalone-negs", "true"},
                                             {"gce-nodes-need-pod-cidr", "false"}};
    (void)state;
    struct rig *r = start(alone, ARRAY_LEN(alone));
    add_service(r, "{\"spec\":{\"loadBalancerClass\":\"networking.gke.io/"
                   "standalone-passthrough-lb-neg\"," IN("blue") "}}");
    synced(rig_ensure(r, "web"));
    assert_int_equal(expect_all(r, "/networkEndpointGroups/", "network", "/networks/blue-vpc"), 3);
    assert_string_equal(members(r), "node-0 node-1 node-2 node-3");
    set_flags(r, alone_off, ARRAY_LEN(alone_off));
    const struct tt_result *res = rig_ensure(r, "web");
    assert_int_equal(res->code, TT_INVALID);
    assert_non_null(strstr(res->message, "--enable-multi-networking is off: nothing is changed"));
    assert_int_equal(rig_mutations(r), 0);
    nothing_left(r);
    rig_stop(r);
}

/* ---- calls that fail ------------------------------------------------------------------------- */

static unsigned made_cleanly(const char *service, char **ret)
{
    struct rig *r = start(on, ARRAY_LEN(on));
    add_service(r, service);
    rig_forget(r);
    synced(rig_ensure(r, "web"));
    *ret = xasprintf("%s%s", rig_inventory(r), members(r));
    unsigned mutations = rig_mutations(r);
    rig_stop(r);
    return mutations;
}

static void made_all_the_same(const char *service, unsigned nth, const char *what, const char *want)
{
    struct rig *r = start(on, ARRAY_LEN(on));
    add_service(r, service);
    rig_break_mutation(r, nth, what, false);
    for (int i = 0; i < 6 && rig_ensure(r, "web")->code != TT_OK; i++) {
        rig_no_faults(r);
    }
    rig_no_faults(r);
    synced(rig_ensure(r, "web"));
    print_message("# mutation %u: %s\n", nth, what);
    assert_string_equal(arena_printf(rig_arena(r), "%s%s", rig_inventory(r), members(r)), want);
    nothing_to_do(r);
    nothing_left(r);
    rig_stop(r);
}

static void create__each_mutation_fails_in_turn__made_all_the_same(void **state)
{
    static const char *const services[] = {SERVICE(INTERNAL, "blue"), SERVICE(EXTERNAL, "blue")};
    static const char *const whats[] = {"refuse", "lose"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(services); i++) {
        char *want = NULL;
        unsigned n = made_cleanly(services[i], &want);
        assert_true(n > 8);
        for (unsigned nth = 1; nth <= n; nth++) {
            made_all_the_same(services[i], nth, whats[0], want);
            made_all_the_same(services[i], nth, whats[1], want);
        }
        free(want);
    }
}

/* ---- objects --------------------------------------------------------------------------------- */

static void network_comes_later__told_then_made(void **state)
{
    (void)state;
    struct rig *r = start(on, ARRAY_LEN(on));
    rig_object(r, "networks/blue", NULL);
    rig_object(r, "gkenetworkparamsets/blue-params", NULL);
    add_service(r, SERVICE(INTERNAL, "blue"));
    refused(rig_ensure(r, "web"), "network blue does not exist");
    assert_true(rig_had_event(r, "Warning SyncLoadBalancerFailed *network blue does not exist"));
    assert_int_equal(rig_mutations(r), 0);
    assert_true(rig_metric(r, "l4_ilbs_count{status=UserError,multinet=true,*}") == 1);
    rig_object(r, "networks/blue", NETWORK);
    refused(rig_ensure(r, "web"), "GKENetworkParamSet blue-params was not found");
    add_objects(r);
    synced(rig_ensure(r, "web"));
    assert_int_equal(expect_all(r, "/forwardingRules/", "network", "/networks/blue-vpc"), 1);
    nothing_left(r);
    rig_stop(r);
}

static void objects_gone__deleted_all_the_same(void **state)
{
    (void)state;
    struct rig *r = start(on, ARRAY_LEN(on));
    add_service(r, SERVICE(EXTERNAL, "blue"));
    synced(rig_ensure(r, "web"));
    rig_object(r, "networks/blue", NULL);
    rig_object(r, "gkenetworkparamsets/blue-params", NULL);
    rig_reopen(r);
    nothing_left(r);
    rig_stop(r);
}

/* ---- what stands elsewhere ------------------------------------------------------------------- */

static void flag_off__made_while_it_was_on__refused_untouched(const char *service,
                                                              const char *message)
{
    struct rig *r = start(on, ARRAY_LEN(on));
    add_service(r, service);
    synced(rig_ensure(r, "web"));
    const char *stood = rig_fingerprint(r);
    set_flags(r, off, ARRAY_LEN(off));
    const struct tt_result *res = rig_ensure(r, "web");
    assert_int_equal(res->code, TT_INVALID);
    assert_non_null(strstr(res->message, message));
    assert_non_null(strstr(res->message, "--enable-multi-networking is off: nothing is changed"));
    res = rig_update(r, "web");
    assert_int_equal(res->code, TT_INVALID);
    assert_int_equal(rig_mutations(r), 0);
    assert_string_equal(rig_fingerprint(r), stood);
    set_flags(r, on, ARRAY_LEN(on));
    synced(rig_ensure(r, "web"));
    assert_int_equal(rig_mutations(r), 0);
    set_flags(r, off, ARRAY_LEN(off));
    nothing_left(r);
    rig_stop(r);
}

static void internal__flag_off__refused_untouched(void **state)
{
    (void)state;
    flag_off__made_while_it_was_on__refused_untouched(SERVICE(INTERNAL, "blue"),
                                                      " is in network blue-vpc, and the Service "
                                                      "selects network blue");
}

static void external__flag_off__refused_untouched(void **state)
{
    (void)state;
    flag_off__made_while_it_was_on__refused_untouched(SERVICE(EXTERNAL, "blue"),
                                                      "the Service selects network blue");
}

/* As upstream: the selector means nothing then. */
static void flag_off__from_the_beginning__the_clusters_network(void **state)
{
    (void)state;
    struct rig *r = start(off, ARRAY_LEN(off));
    add_service(r, SERVICE(INTERNAL, "blue"));
    synced(rig_ensure(r, "web"));
    assert_int_equal(expect_all(r, "/forwardingRules/", "network", "/networks/default"), 1);
    assert_int_equal(expect_all(r, "/backendServices/", "network", NULL), 1);
    nothing_to_do(r);
    set_flags(r, on, ARRAY_LEN(on));
    const struct tt_result *res = rig_ensure(r, "web");
    assert_int_equal(res->code, TT_INVALID);
    assert_non_null(strstr(res->message, "cannot move to another network"));
    assert_int_equal(rig_mutations(r), 0);
    nothing_left(r);
    rig_stop(r);
}

/* ---- words for people ------------------------------------------------------------------------ */

static void explain__other_network__row_and_nodes(void **state)
{
    (void)state;
    struct rig *r = start(on, ARRAY_LEN(on));
    add_service(r, SERVICE(EXTERNAL, "blue"));
    const char *text = rig_explain(r, "web")->text;
    assert_non_null(strstr(text, "members                      another network  → GCE_VM_IP NEGs"));
    assert_non_null(strstr(text, "network of spec.selector     blue             → VPC blue-vpc, "
                                 "subnetwork blue-sub"));
    assert_non_null(strstr(text, "Nodes: 4 of 6 are members of the NEGs"));
    assert_non_null(strstr(text, "node-4     left out   it is not connected to network blue"));
    rig_object(r, "gkenetworkparamsets/blue-params", NULL);
    rig_reopen(r);
    text = rig_explain(r, "web")->text;
    assert_non_null(strstr(text, "is refused: GKENetworkParamSet blue-params was not found."));
    rig_stop(r);
}

UNIT_MAIN(network_flows)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(internal__other_network__everything_in_it),
        cmocka_unit_test(external__other_network__negs_under_the_finalizer_of_groups),
        cmocka_unit_test(beside_one_of_the_clusters_network__each_its_own_firewalls),
        cmocka_unit_test(node_is_connected_later__becomes_a_member),
        cmocka_unit_test(policy_changes__its_own_check_firewall_stays),
        cmocka_unit_test(negs_alone__other_network__made_in_it),
        cmocka_unit_test(create__each_mutation_fails_in_turn__made_all_the_same),
        cmocka_unit_test(network_comes_later__told_then_made),
        cmocka_unit_test(objects_gone__deleted_all_the_same),
        cmocka_unit_test(internal__flag_off__refused_untouched),
        cmocka_unit_test(external__flag_off__refused_untouched),
        cmocka_unit_test(flag_off__from_the_beginning__the_clusters_network),
        cmocka_unit_test(explain__other_network__row_and_nodes),
    };
    return cmocka_run_group_tests_name("gce-network-flows", tests, NULL, NULL);
}
