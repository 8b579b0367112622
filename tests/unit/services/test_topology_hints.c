/* SPDX-License-Identifier: Apache-2.0 */
/* test_topology_hints.c: hints in slices, by zone shares and by spec.trafficDistribution; each
 * safeguard with its event. */
#include "tests/unit/services/slices_test.h"

#define OFF(text) "Warning TopologyAwareHintsDisabled " text ", addressType: IPv4"
#define ON                                                                                         \
    "Normal TopologyAwareHintsEnabled Topology Aware Hints has been enabled, addressType: IPv4"
#define TWO_TO_ONE "a1 zone-a 2; b1 zone-b 1"
#define EVEN       "a1 zone-a 1; b1 zone-b 1"

struct row {
    const char *nodes;
    const char *create, *update, *unchanged;
    const char *want; /* "create | update | unchanged" */
    const char *events;
    bool on_before, on;
};

static struct ks_slice_lists lists_of(struct arena *a, const char *create, const char *update,
                                      const char *unchanged)
{
    const struct slice_list c = slice_list_of(a, create), u = slice_list_of(a, update);
    const struct slice_list n = slice_list_of(a, unchanged);
    return (struct ks_slice_lists){.create = c.items,
                                   .update = u.items,
                                   .unchanged = n.items,
                                   .n_create = c.n,
                                   .n_update = u.n,
                                   .n_unchanged = n.n};
}

static const char *lists_text(struct arena *a, const struct ks_slice_lists *l)
{
    return arena_printf(a, "%s | %s | %s", slices_text(a, l->create, l->n_create),
                        slices_text(a, l->update, l->n_update),
                        slices_text(a, l->unchanged, l->n_unchanged));
}

static void run_rows(struct arena *a, const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct node_list nodes = nodes_of(a, rows[i].nodes);
        const struct ks_zone_shares shares = ks_zone_shares(a, nodes.items, nodes.n);
        const struct ks_slice_lists lists =
            lists_of(a, rows[i].create, rows[i].update, rows[i].unchanged);
        const char *before = lists_text(a, &lists);
        const struct ks_hints h =
            ks_hints_by_shares(a, &shares, KS_IPV4, &lists, rows[i].on_before);
        assert_string_equal(lists_text(a, &h.lists), rows[i].want);
        assert_string_equal(events_text(a, h.events, h.n_events), rows[i].events);
        assert_int_equal(h.on, rows[i].on);
        assert_int_equal(h.on, h.off == KS_HINTS_FINE);
        assert_string_equal(lists_text(a, &lists), before); /* the input is as it was */
    }
}

static void hints__shares__proportional(void **state)
{
    static const struct row rows[] = {
        /* One of zone-b's two serves zone-a, which has twice the CPU. */
        {TWO_TO_ONE, "c: r/zone-a r/zone-b r/zone-b", "", "",
         "c: r/zone-a>zone-a r/zone-b>zone-a r/zone-b>zone-b |  | ", ON, false, true},
        {TWO_TO_ONE, "c: r/zone-a r/zone-a r/zone-b", "", "",
         "c: r/zone-a>zone-a r/zone-a>zone-a r/zone-b>zone-b |  | ", "", true, true},
        /* Not-ready endpoints, and those without the condition, neither count nor get a hint. */
        {TWO_TO_ONE, "c: r/zone-a n/zone-a r/zone-a r/zone-b ?/zone-b", "", "",
         "c: r/zone-a>zone-a n/zone-a r/zone-a>zone-a r/zone-b>zone-b ?/zone-b |  | ", "", true,
         true},
        /* A zone without a counted node is hinted, and neither gives nor receives. */
        {EVEN, "c: r/zone-a r/zone-b r/zone-x r/zone-x", "", "",
         "c: r/zone-a>zone-a r/zone-b>zone-b r/zone-x>zone-x r/zone-x>zone-x |  | ", "", true,
         true},
        /* Create comes before update. */
        {EVEN, "c: r/zone-a r/zone-a", "u: r/zone-a r/zone-a", "",
         "c: r/zone-a>zone-b r/zone-a>zone-b | u: r/zone-a>zone-a r/zone-a>zone-a | ", "", true,
         true},
    };
    run_rows(*state, rows, ARRAY_LEN(rows));
}

/* Zone-a may keep what is less than half an endpoint too many: zone-b gets no hint although hints
 * are on, and kube-proxy uses all endpoints there. */
static void hints__small_surplus__zone_without_hint(void **state)
{
    static const struct row rows[] = {
        {"a1 zone-a 36; b1 zone-b 7; c1 zone-c 7",
         "c: r/zone-a r/zone-a r/zone-a r/zone-a r/zone-c", "", "",
         "c: r/zone-a>zone-a r/zone-a>zone-a r/zone-a>zone-a r/zone-a>zone-a r/zone-c>zone-c |  | ",
         ON, false, true},
    };
    run_rows(*state, rows, ARRAY_LEN(rows));
}

static void hints__unchanged_slices__hysteresis(void **state)
{
    static const struct row rows[] = {
        /* 5 and 4 of 9 are within 4…5, so nothing moves. */
        {EVEN, "", "",
         "s: r/zone-a>zone-a r/zone-a>zone-a r/zone-a>zone-a r/zone-a>zone-a r/zone-a>zone-a "
         "r/zone-b>zone-b r/zone-b>zone-b r/zone-b>zone-b r/zone-b>zone-b",
         " |  | s: r/zone-a>zone-a r/zone-a>zone-a r/zone-a>zone-a r/zone-a>zone-a r/zone-a>zone-a "
         "r/zone-b>zone-b r/zone-b>zone-b r/zone-b>zone-b r/zone-b>zone-b",
         "", true, true},
        /* Hints for another zone are as good as any, as long as no maximum is exceeded. */
        {EVEN, "", "", "s: r/zone-a>zone-b r/zone-b>zone-a",
         " |  | s: r/zone-a>zone-b r/zone-b>zone-a", "", true, true},
        /* Above the maximum: the slice is written again. */
        {EVEN, "", "", "s: r/zone-a>zone-a r/zone-b>zone-a",
         " | s: r/zone-a>zone-a r/zone-b>zone-b | ", "", true, true},
        /* Hints of slices before it count: the second one exceeds. */
        {EVEN, "", "", "s: r/zone-a>zone-a; t: r/zone-b>zone-a",
         " | t: r/zone-b>zone-b | s: r/zone-a>zone-a", "", true, true},
        /* A ready endpoint without a hint, or hinted for an unknown zone. */
        {EVEN, "", "", "s: r/zone-a>zone-a r/zone-b", " | s: r/zone-a>zone-a r/zone-b>zone-b | ",
         "", true, true},
        {EVEN, "", "", "s: r/zone-a>zone-a r/zone-b>zone-x",
         " | s: r/zone-a>zone-a r/zone-b>zone-b | ", "", true, true},
        {EVEN, "", "", "s: r/zone-a>zone-a r/zone-b>zone-b+zone-x",
         " | s: r/zone-a>zone-a r/zone-b>zone-b | ", "", true, true},
        /* Two hints of one endpoint count for both zones: 2 and 1, within 1…1 is exceeded. */
        {EVEN, "", "", "s: r/zone-a>zone-a+zone-b r/zone-b>zone-b",
         " | s: r/zone-a>zone-a r/zone-b>zone-b | ", "", true, true},
        /* An endpoint that is not ready needs no hint; an old one of it is ignored. */
        {EVEN, "", "", "s: r/zone-a>zone-a r/zone-b>zone-b n/zone-b n/zone-b>zone-x",
         " |  | s: r/zone-a>zone-a r/zone-b>zone-b n/zone-b n/zone-b>zone-x", "", true, true},
        /* … and it keeps the old one in a slice that is written. */
        {EVEN, "", "", "s: r/zone-a>zone-a r/zone-b n/zone-b>zone-x",
         " | s: r/zone-a>zone-a r/zone-b>zone-b n/zone-b>zone-x | ", "", true, true},
        /* Empty slices are right. */
        {EVEN, "c: r/zone-a r/zone-b", "", "s:", "c: r/zone-a>zone-a r/zone-b>zone-b |  | s:", "",
         true, true},
    };
    run_rows(*state, rows, ARRAY_LEN(rows));
}

static void hints__safeguards__removed_with_event(void **state)
{
    static const struct row rows[] = {
        {"a1 zone-a 1; b1 - 1", "c: r/zone-a r/zone-b", "", "s: r/zone-a>zone-a",
         "c: r/zone-a r/zone-b | s: r/zone-a | ",
         OFF("Insufficient Node information: allocatable CPU or zone not specified on one or more "
             "nodes"),
         true, false},
        {"a1 zone-a 1; b1 zone-b -", "c: r/zone-a r/zone-b", "", "", "c: r/zone-a r/zone-b |  | ",
         OFF("Insufficient Node information: allocatable CPU or zone not specified on one or more "
             "nodes"),
         false, false},
        /* One zone only says the same. */
        {"a1 zone-a 1; a2 zone-a 1", "c: r/zone-a r/zone-b", "", "", "c: r/zone-a r/zone-b |  | ",
         OFF("Insufficient Node information: allocatable CPU or zone not specified on one or more "
             "nodes"),
         false, false},
        {TWO_TO_ONE, "", "", "s: r/zone-a; t: n/zone-b>zone-b", " | t: n/zone-b | s: r/zone-a",
         OFF("Insufficient number of endpoints (1 endpoints, 2 zones)"), true, false},
        {TWO_TO_ONE, "c: r/zone-a r/zone-b", "", "", "c: r/zone-a r/zone-b |  | ",
         OFF("Unable to allocate minimum required endpoints to each zone without exceeding "
             "overload threshold (2 endpoints, 2 zones)"),
         false, false},
        {EVEN, "c: r/zone-a r/-", "u: n/zone-b>zone-b", "", "c: r/zone-a r/- | u: n/zone-b | ",
         OFF("One or more endpoints do not have a zone specified"), true, false},
        /* A slice whose hints were not right is written also when a safeguard then speaks. */
        {EVEN, "", "", "s: r/zone-a r/-; t: r/zone-b>zone-b r/zone-b>zone-b",
         " | s: r/zone-a r/-; t: r/zone-b r/zone-b | ",
         OFF("One or more endpoints do not have a zone specified"), false, false},
        /* Not-ready endpoints need no zone. */
        {EVEN, "c: r/zone-a r/zone-b n/-", "", "", "c: r/zone-a>zone-a r/zone-b>zone-b n/- |  | ",
         "", true, true},
    };
    run_rows(*state, rows, ARRAY_LEN(rows));
}

static void hints__family__named_in_event(void **state)
{
    const struct ks_zone_shares none = {.off = KS_SHARES_FEW_ZONES};
    const struct ks_slice_lists lists = {.n_create = 0};
    const struct ks_hints h = ks_hints_by_shares(*state, &none, KS_IPV6, &lists, false);
    assert_int_equal(h.n_events, 1);
    assert_true(str_has_suffix(h.events[0].message, ", addressType: IPv6"));
}

static void hints__counts__after_exchange(void **state)
{
    const struct node_list nodes = nodes_of(*state, TWO_TO_ONE);
    const struct ks_zone_shares shares = ks_zone_shares(*state, nodes.items, nodes.n);
    const struct ks_slice_lists lists = lists_of(
        *state, "c: r/zone-b r/zone-b r/zone-b r/zone-x r/zone-0", "", "s: r/zone-b>zone-a");
    const struct ks_hints h = ks_hints_by_shares(*state, &shares, KS_IPV4, &lists, true);
    struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < h.counts.n; i++) {
        str_appendf(&b, "%s=%lld ", h.counts.zones[i].zone, (long long)h.counts.zones[i].hints);
    }
    assert_string_equal(str_buf_text(&b), "zone-0=1 zone-a=2 zone-b=2 zone-x=1 ");
    str_buf_done(&b);
}

/* ---- which mechanism, and the simple one ----------------------------------------------------- */

static void wants_zone_shares__annotations__older_wins(void **state)
{
    static const struct {
        const char *older, *newer; /* NULL: absent */
        bool want;
    } rows[] = {
        {NULL, NULL, false},        {NULL, "Auto", true},        {NULL, "auto", true},
        {NULL, "AUTO", false},      {NULL, "Disabled", false},   {"Auto", NULL, true},
        {"auto", "", true},         {"Disabled", "Auto", false}, {"", "Auto", false},
        {"Auto", "Disabled", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct json_kv kvs[2];
        struct ks_service s = {.meta = {.annotations = kvs}};
        if (rows[i].older != NULL) {
            kvs[s.meta.n_annotations++] =
                (struct json_kv){"service.kubernetes.io/topology-aware-hints", rows[i].older};
        }
        if (rows[i].newer != NULL) {
            kvs[s.meta.n_annotations++] =
                (struct json_kv){"service.kubernetes.io/topology-mode", rows[i].newer};
        }
        assert_int_equal(ks_wants_zone_shares(&s), rows[i].want);
    }
}

static void distribution__values__own_zone_or_none(void **state)
{
    static const struct {
        const char *value;
        const char *create, *update, *unchanged, *want;
    } rows[] = {
        {NULL, "c: r/zone-a>zone-a", "u: n/zone-a>zone-a", "s: n/zone-a>zone-a; t: r/zone-a",
         "c: r/zone-a | u: n/zone-a; s: n/zone-a | t: r/zone-a"},
        {"Other", "", "", "s: r/zone-a>zone-b", " | s: r/zone-a | "},
        {"PreferClose", "c: r/zone-a r/- n/zone-a ?/zone-a", "", "",
         "c: r/zone-a>zone-a r/- n/zone-a ?/zone-a |  | "},
        {"PreferSameZone", "c: r/zone-a>zone-b r/->zone-b n/zone-a>zone-b", "", "",
         "c: r/zone-a>zone-a r/- n/zone-a>zone-b |  | "},
        {"PreferSameZone", "", "",
         "s: r/zone-a>zone-a n/zone-b>zone-x r/-; t: r/zone-a; u: r/->zone-a; v: "
         "r/zone-a>zone-a+zone-b",
         " | t: r/zone-a>zone-a; u: r/-; v: r/zone-a>zone-a | s: r/zone-a>zone-a n/zone-b>zone-x "
         "r/-"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct ks_slice_lists lists =
            lists_of(*state, rows[i].create, rows[i].update, rows[i].unchanged);
        const struct ks_slice_lists got = ks_hints_by_distribution(*state, rows[i].value, &lists);
        assert_string_equal(lists_text(*state, &got), rows[i].want);
    }
}

static void distribution__hints_without_zones__removed(void **state)
{
    const struct slice_list list = slice_list_of(*state, "s: r/-");
    ((struct ks_slice_endpoint *)list.items[0]->endpoints)[0].has_hints = true; /* {} */
    const struct ks_slice_lists lists = {.unchanged = list.items, .n_unchanged = 1};
    const struct ks_slice_lists got = ks_hints_by_distribution(*state, "PreferSameZone", &lists);
    assert_int_equal(got.n_update, 1);
    assert_false(got.update[0]->endpoints[0].has_hints);
}

static void distribution__same_node__zone_and_node(void **state)
{
    const struct slice_list list = slice_list_of(*state, "s: r/zone-a r/zone-a n/zone-a");
    struct ks_slice_endpoint *e = (struct ks_slice_endpoint *)list.items[0]->endpoints;
    e[0].node_name = "n1";
    const struct ks_slice_lists lists = {.unchanged = list.items, .n_unchanged = 1};
    const struct ks_slice_lists got = ks_hints_by_distribution(*state, "PreferSameNode", &lists);
    assert_string_equal(lists_text(*state, &got),
                        " | s: r/zone-a>zone-a@n1 r/zone-a>zone-a n/zone-a | ");
    /* A second time there is nothing to do; another value takes the node away. */
    const struct ks_slice_lists again = {.unchanged = got.update, .n_unchanged = 1};
    const struct ks_slice_lists second = ks_hints_by_distribution(*state, "PreferSameNode", &again);
    assert_int_equal(second.n_update, 0);
    const struct ks_slice_lists zone = ks_hints_by_distribution(*state, "PreferSameZone", &again);
    assert_string_equal(lists_text(*state, &zone),
                        " | s: r/zone-a>zone-a r/zone-a>zone-a n/zone-a | ");
}

UNIT_MAIN(topology_hints)
{
    const struct CMUnitTest tests[] = {
        slices_test(hints__shares__proportional),
        slices_test(hints__small_surplus__zone_without_hint),
        slices_test(hints__unchanged_slices__hysteresis),
        slices_test(hints__safeguards__removed_with_event),
        slices_test(hints__family__named_in_event),
        slices_test(hints__counts__after_exchange),
        slices_test(wants_zone_shares__annotations__older_wins),
        slices_test(distribution__values__own_zone_or_none),
        slices_test(distribution__hints_without_zones__removed),
        slices_test(distribution__same_node__zone_and_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
