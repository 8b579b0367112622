/* SPDX-License-Identifier: Apache-2.0 */
/* test_groups_rules.c: who belongs into the cluster's instance groups, by the rule of either
 * upstream controller: rows V207–V211 of the L4 specification, §5.4 of the GCE one. */
#include "tests/unit/gce/neg_kit.h"

#include "providers/gce/groups/gce_groups.h"
#include "tests/support/unit.h"

#define ZONE .label = "topology.kubernetes.io/zone", .value
#define BETA .label = "failure-domain.beta.kubernetes.io/zone", .value

static const struct gce_node_filter filter = {.default_subnet = "default", .needs_pod_cidr = true};

/* "z1: a b; z2: c; keep: d" */
static const char *groups(struct arena *a, const struct kit_node *k, size_t n, bool legacy,
                          int32_t max)
{
    const struct tt_node **nodes = ARENA_ARRAY(a, const struct tt_node *, n);
    struct gce_groups_want want;
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < n; i++) {
        nodes[i] = kit_node(a, k[i]);
    }
    gce_groups_of(a, nodes, n, legacy, &filter, max, &want);
    for (size_t i = 0; i < want.n; i++) {
        const struct gce_strs *s = &want.zones[i].nodes;
        str_appendf(&b, "%s%s: %s", b.len > 0 ? "; " : "", want.zones[i].zone,
                    str_join(a, s->items, s->n, " "));
    }
    if (want.keep.n > 0) {
        str_appendf(&b, "%skeep: %s", b.len > 0 ? "; " : "",
                    str_join(a, want.keep.items, want.keep.n, " "));
    }
    return str_buf_to_arena(&b, a);
}

/* Members of one zone's group after the difference was applied. */
static const char *after(struct arena *a, const char *is, const struct kit_node *k, size_t n)
{
    const struct tt_node **nodes = ARENA_ARRAY(a, const struct tt_node *, n);
    struct gce_groups_want want;
    struct gce_strs add;
    struct gce_strs gone;
    size_t n_is;
    char **items = str_split(a, is, ' ', &n_is);
    struct gce_strs now = gce_strs_of(a, (const char *const *)items, n_is);
    for (size_t i = 0; i < n; i++) {
        nodes[i] = kit_node(a, k[i]);
    }
    gce_groups_of(a, nodes, n, false, &filter, 0, &want);
    struct gce_strs wanted = {0};
    for (size_t i = 0; i < want.n; i++) {
        wanted = str_eq(want.zones[i].zone, "z") ? want.zones[i].nodes : wanted;
    }
    gce_group_diff(a, &now, &wanted, &want.keep, &add, &gone);
    struct str_set left = gce_strs_set(a, &now);
    struct str_set out = gce_strs_set(a, &gone);
    struct str_set in = gce_strs_set(a, &add);
    left = str_set_minus(a, &left, &out);
    left = str_set_union(a, &left, &in);
    return str_set_text(a, &left, " ");
}

static void gce_group_diff__V207_to_V210__nodes_without_zone_stay(void **state)
{
    static const struct {
        const char *row, *is;
        struct kit_node nodes[3];
        size_t n;
        const char *want;
    } rows[] = {
        {"V207", "n1 n2", {{.name = "n1", .zone = "z"}, {.name = "n2", .zone = "z"}}, 2, "n1 n2"},
        {"V208", "n1", {{.name = "n1", .zone = ""}, {.name = "n2", .zone = "z"}}, 2, "n1 n2"},
        {"V209", "n1 n2 n3", {{.name = "n2", .zone = ""}, {.name = "n3", .zone = "z"}}, 2, "n2 n3"},
        {"V210", "n1", {{.name = "n1", .zone = "z"}, {.name = "n2", .zone = ""}}, 2, "n1"},
        {"no providerID yet", "n1", {{.name = "n1"}, {.name = "n2", .zone = "z"}}, 2, "n1 n2"},
        {"a name of many parts is the instance's (#1074)",
         "n1",
         {{.name = "n1.c.p.internal", .zone = "z"}},
         1,
         "n1"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        same_text(rows[i].row, after(*state, rows[i].is, rows[i].nodes, rows[i].n), rows[i].want);
    }
}

static void gce_groups_of__V211__first_by_name(void **state)
{
    static const struct kit_node nodes[] = {
        {.name = "d", .zone = "z", ZONE = "z"},
        {.name = "b", .zone = "z", ZONE = "z"},
        {.name = "c", .zone = "z", ZONE = "z"},
        {.name = "a", .zone = "z", ZONE = "z"},
    };
    same_text("V211", groups(*state, nodes, 4, false, 3), "z: a b c");
    same_text("V211 legacy", groups(*state, nodes, 4, true, 3), "z: a b c");
    same_text("no limit", groups(*state, nodes, 4, true, 0), "z: a b c d");
}

/* Unready nodes count for cloud-provider-gcp and not for ingress-gce; zones come from
 * labels or providerIDs. */
static void gce_groups_of__both_rules__differ_in_readiness_and_zone(void **state)
{
    static const struct {
        const char *about;
        struct kit_node nodes[3];
        size_t n;
        const char *legacy, *l4;
    } rows[] = {
        {"ready", {{.name = "a", .zone = "z", ZONE = "z"}}, 1, "z: a", "z: a"},
        {"not ready",
         {{.name = "a", .zone = "z", ZONE = "z"},
          {.name = "b", .zone = "z", ZONE = "z", .ready = "False"}},
         2,
         "z: a b",
         "z: a"},
        {"the beta label", {{.name = "a", .zone = "z", BETA = "y"}}, 1, "y: a", "z: a"},
        {"no label", {{.name = "a", .zone = "z"}}, 1, "keep: a", "z: a"},
        {"no providerID", {{.name = "a", ZONE = "z"}}, 1, "z: a", "keep: a"},
        {"no podCIDR", {{.name = "a", .zone = "z", ZONE = "z", .no_cidr = true}}, 1, "z: a", ""},
        {"another subnetwork",
         {{.name = "a", .zone = "z", ZONE = "z", .subnet = "other"}},
         1,
         "",
         ""},
        {"the default one by name",
         {{.name = "a", .zone = "z", ZONE = "z", .subnet = "default"}},
         1,
         "z: a",
         "z: a"},
        {"cordoned",
         {{.name = "a", .zone = "z", ZONE = "z", .unschedulable = true}},
         1,
         "z: a",
         "z: a"},
        {"an instance twice",
         {{.name = "a.x", .zone = "z", ZONE = "z"}, {.name = "a.y", .zone = "z", ZONE = "z"}},
         2,
         "z: a",
         "z: a"},
        {"none", {{0}}, 0, "", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        same_text(rows[i].about, groups(*state, rows[i].nodes, rows[i].n, true, 0), rows[i].legacy);
        same_text(rows[i].about, groups(*state, rows[i].nodes, rows[i].n, false, 0), rows[i].l4);
    }
}

/* Ours: whose zone cannot be seen any more keeps its members; a zone where one is ready
 * is judged node by node. */
static void gce_groups_of__no_ready_node_in_a_zone__its_members_stay(void **state)
{
    static const struct kit_node nodes[] = {
        {.name = "a1", .zone = "a", .ready = "Unknown"},
        {.name = "a2", .zone = "a", .ready = "Unknown"},
        {.name = "b1", .zone = "b", .ready = "Unknown"},
        {.name = "b2", .zone = "b"},
    };
    same_text("zone a is lost", groups(*state, nodes, 4, false, 0), "a: ; b: b2; keep: a1 a2");
}

static void gce_groups_of__not_eligible__not_in_the_old_groups(void **state)
{
    struct arena *a = *state;
    struct tt_node *n =
        (struct tt_node *)kit_node(a, (struct kit_node){.name = "a", .zone = "z", ZONE = "z"});
    const struct tt_node *const nodes[] = {n};
    struct gce_groups_want want;
    n->flags = TT_NODE_EXCLUDED | TT_NODE_READY;
    gce_groups_of(a, nodes, 1, true, &filter, 0, &want);
    assert_int_equal(want.n, 0);
    assert_int_equal(want.keep.n, 0);
}

UNIT_MAIN(groups_rules)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(gce_group_diff__V207_to_V210__nodes_without_zone_stay),
        PURE_TEST(gce_groups_of__V211__first_by_name),
        PURE_TEST(gce_groups_of__both_rules__differ_in_readiness_and_zone),
        PURE_TEST(gce_groups_of__no_ready_node_in_a_zone__its_members_stay),
        PURE_TEST(gce_groups_of__not_eligible__not_in_the_old_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
