/* SPDX-License-Identifier: Apache-2.0 */
/* test_topology_explain.c: zones' shares and hints in words, and why there are none. */
#include "tests/unit/services/slices_test.h"

#include "common/services/topology/explain.h"

#define AUTO ", 'annotations': {'service.kubernetes.io/topology-mode': 'Auto'}"
#define ZONE ", 'trafficDistribution': 'PreferSameZone'"

static struct ks_topology_report explain(struct arena *a, const char *meta, const char *spec,
                                         const char *nodes, const char *slices)
{
    const struct node_list n = nodes_of(a, nodes);
    const struct slice_list s = slice_list_of(a, slices);
    return ks_topology_explain(a, service_with(a, meta, spec), KS_IPV4, n.items, n.n, s.items, s.n);
}

/* "zone-a 67% 1n 2r 2h kept, …": share, nodes, ready, hinted. */
static const char *zones_text(struct arena *a, const struct ks_topology_report *r)
{
    struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < r->n_zones; i++) {
        const struct ks_zone_report *z = &r->zones[i];
        str_appendf(&b, "%s%s %.0f%% %zun %lldr %lldh%s", i > 0 ? ", " : "", z->zone,
                    z->share * 100, z->nodes, (long long)z->ready, (long long)z->hinted,
                    z->kept ? " kept" : "");
    }
    const char *text = str_buf_to_arena(&b, a);
    str_buf_done(&b);
    return text;
}

static void explain__services__why(void **state)
{
#define TWO  "a1 zone-a 2; b1 zone-b 1"
#define GOOD "s: r/zone-a>zone-a r/zone-a>zone-a r/zone-b>zone-b"
    static const struct {
        const char *meta, *spec, *nodes, *slices;
        const char *why, *zones, *sentence;
    } rows[] = {
        {AUTO, "", TWO, "s: n/zone-a", "no-endpoints", "zone-a 67% 1n 0r 0h, zone-b 33% 1n 0r 0h",
         "no endpoint is ready, so there is nothing to hint"},
        {AUTO, "", TWO, GOOD, "hinted", "zone-a 67% 1n 2r 2h kept, zone-b 33% 1n 1r 1h kept",
         "every node sends to the endpoints that are hinted for its zone"},
        /* Hints are obeyed whatever wrote them; an absent condition is ready. */
        {"", "", TWO, "s: ?/zone-a>zone-a r/zone-a>zone-b", "hinted",
         "zone-a 67% 1n 2r 1h kept, zone-b 33% 1n 0r 1h kept",
         "every node sends to the endpoints that are hinted for its zone"},
        /* A zone without nodes needs none. */
        {"", "", TWO, "s: r/zone-a>zone-a r/zone-b>zone-b r/zone-x>zone-a", "hinted",
         "zone-a 67% 1n 1r 2h kept, zone-b 33% 1n 1r 1h kept, zone-x 0% 0n 1r 0h",
         "every node sends to the endpoints that are hinted for its zone"},
        {"", ZONE, TWO, "s: r/zone-a>zone-a", "zone-without-hint",
         "zone-a 67% 1n 1r 1h kept, zone-b 33% 1n 0r 0h",
         "nodes of zone zone-b send to endpoints in all zones, since none is hinted for it; "
         "elsewhere traffic stays in its zone"},
        {AUTO, "", TWO "; c2 - 1; c1 - 1", "s: r/zone-a r/zone-b", "node-without-zone",
         "zone-a 0% 1n 1r 0h, zone-b 0% 1n 1r 0h",
         "no hints in the whole cluster: node c1 has no label topology.kubernetes.io/zone (2 nodes "
         "lack a zone or CPU); label it, or remove it"},
        {AUTO, "", TWO "; c1 zone-b -", "s: r/zone-a", "node-without-cpu",
         "zone-a 0% 1n 1r 0h, zone-b 0% 2n 0r 0h",
         "no hints in the whole cluster: node c1 shows no allocatable CPU; see "
         "status.allocatable.cpu of the node"},
        {AUTO, "", "a1 zone-a 1; b1 zone-b 1 notready", "s: r/zone-a", "few-zones",
         "zone-a 0% 1n 1r 0h",
         "no hints in the whole cluster: ready nodes are in fewer than two zones"},
        {AUTO, "", TWO, "s: r/zone-a", "few-endpoints", "zone-a 67% 1n 1r 0h, zone-b 33% 1n 0r 0h",
         "no hints: 1 ready endpoint for 2 zones; each zone needs at least one"},
        {AUTO, "", TWO, "s: r/zone-a r/zone-b", "overload",
         "zone-a 67% 1n 1r 0h, zone-b 33% 1n 1r 0h",
         "no hints: 2 ready endpoints cannot be divided over 2 zones without one of them getting "
         "more than 20 % above its share; add pods, or use spec.trafficDistribution"},
        {AUTO, "", TWO, "s: r/zone-a r/zone-a r/-", "endpoint-without-zone",
         "zone-a 67% 1n 2r 0h, zone-b 33% 1n 0r 0h",
         "no hints in force: ready endpoints without a zone: 1 of 3; label their nodes with "
         "topology.kubernetes.io/zone"},
        {"", ZONE, TWO, "s: r/zone-a>zone-a r/-", "endpoint-without-zone",
         "zone-a 67% 1n 1r 1h, zone-b 33% 1n 0r 0h",
         "no hints in force: ready endpoints without a zone: 1 of 2; label their nodes with "
         "topology.kubernetes.io/zone"},
        {"", ", 'trafficDistribution': 'Near'", TWO, "s: r/zone-a", "unknown-value",
         "zone-a 67% 1n 1r 0h, zone-b 33% 1n 0r 0h",
         "no hints: spec.trafficDistribution has the unknown value \"Near\"; known are "
         "PreferSameZone and PreferSameNode"},
        {"", ZONE, TWO, "s: r/zone-a>zone-a r/zone-x", "partly-hinted",
         "zone-a 67% 1n 1r 1h, zone-b 33% 1n 0r 0h, zone-x 0% 0n 1r 0h",
         "kube-proxy ignores the hints: ready endpoints without one: 1 of 2; it obeys them when "
         "all have one"},
        {AUTO, "", TWO, "s: r/zone-a r/zone-a r/zone-b", "not-written",
         "zone-a 67% 1n 2r 0h, zone-b 33% 1n 1r 0h",
         "the Service asks for hints and nothing is in the way, but its slices have none; see the "
         "EndpointSlice controller"},
        {"", "", TWO, "s: r/zone-a", "not-asked", "zone-a 67% 1n 1r 0h, zone-b 33% 1n 0r 0h",
         "the Service does not ask for hints, so every node sends to all endpoints"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct ks_topology_report r =
            explain(*state, rows[i].meta, rows[i].spec, rows[i].nodes, rows[i].slices);
        assert_string_equal(ks_hints_why_word(r.why), rows[i].why);
        assert_string_equal(zones_text(*state, &r), rows[i].zones);
        assert_string_equal(r.sentence, rows[i].sentence);
        assert_int_equal(r.in_force, r.why == KS_WHY_HINTED || r.why == KS_WHY_ZONE_WITHOUT_HINT);
        assert_string_equal(r.address_type, "IPv4");
    }
}

static void explain__wish__annotation_before_field(void **state)
{
    static const struct {
        const char *meta, *spec, *want;
    } rows[] = {
        {"", "", "none"},
        {AUTO, "", "zone-shares"},
        {AUTO, ZONE, "zone-shares"},
        {"", ZONE, "same-zone"},
        {"", ", 'trafficDistribution': 'PreferClose'", "same-zone"},
        {"", ", 'trafficDistribution': 'PreferSameNode'", "same-node"},
        {"", ", 'trafficDistribution': 'x'", "none"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct ks_topology_report r = explain(*state, rows[i].meta, rows[i].spec, "", "");
        assert_string_equal(ks_hints_wish_word(r.wish), rows[i].want);
    }
}

static void explain__other_family__left_out(void **state)
{
    const struct slice_list s = slice_list_of(*state, "s: r/zone-a r/zone-b");
    const struct ks_topology_report r =
        ks_topology_explain(*state, service_with(*state, "", ""), KS_IPV6, NULL, 0, s.items, s.n);
    assert_int_equal(r.ready, 0);
    assert_int_equal(r.n_zones, 0);
    assert_string_equal(r.address_type, "IPv6");
}

static void explain__words__one_for_each_reason(void **state)
{
    (void)state;
    for (int why = 0; why < KS_WHY_MAX; why++) {
        assert_true(*ks_hints_why_word((enum ks_hints_why)why) != '\0');
    }
    assert_string_equal(ks_hints_why_word(KS_WHY_MAX), "");
}

UNIT_MAIN(topology_explain)
{
    const struct CMUnitTest tests[] = {
        slices_test(explain__services__why),
        slices_test(explain__wish__annotation_before_field),
        slices_test(explain__other_family__left_out),
        slices_test(explain__words__one_for_each_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
