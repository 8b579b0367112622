/* SPDX-License-Identifier: Apache-2.0 */
/* test_neg_subset.c: how many nodes are behind a balancer, and which: rows S1–S26, S34–S42 of the
 * L4 specification, and what ours does otherwise. */
#include "tests/support/unit.h"
#include "tests/unit/gce/neg_kit.h"

#include <stdio.h>

#define ZONES_MAX 7

/* ---- the order ------------------------------------------------------------------------------- */

/* Newcomers, in the order in which they are taken. */
static void gce_neg_pick__nobody_kept__order_of_hashes(void **state)
{
    static const struct {
        const char *row, *nodes, *salt;
        int count;
        const char *want;
    } rows[] = {
        {"S3", "node1000-1049", "svc", 12,
         "node1016 node1037 node1009 node1038 node1030 node1014 node1027 node1021 node1031 "
         "node1024 node1003 node1012"},
        {"S34", "gke-c1-pool-1-00-29", "web/default", 24, NULL},
        {"S35", "gke-c1-pool-1-00-29", "default/web", 5, NULL},
    };
    static const char *const S34 = "10 12 20 09 02 13 07 27 01 28 29 00 16 03 08 24 21 25 18 17 05 "
                                   "06 04 23";
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct arena *a = *state;
        struct gce_strs none = {0};
        /* the prefix of these has digits of its own */
        struct gce_strs nodes = kit_names(a, i == 0 ? rows[i].nodes : "@00-29");
        for (size_t k = 0; i > 0 && k < nodes.n; k++) {
            nodes.items[k] = arena_printf(a, "gke-c1-pool-1-%s", nodes.items[k] + 1);
        }
        struct gce_strs got = gce_neg_pick(a, &nodes, rows[i].salt, rows[i].count, &none);
        for (size_t k = 0; i > 0 && k < got.n; k++) {
            got.items[k] += strlen("gke-c1-pool-1-");
        }
        same_text(rows[i].row, str_join(a, got.items, got.n, " "),
                  i == 0   ? rows[i].want
                  : i == 1 ? S34
                           : "16 19 29 05 18");
    }
}

static void gce_neg_pick__kept_ones__first_by_name(void **state)
{
    struct arena *a = *state;
    static const char *const nodes_[] = {"n-1", "n-10", "n-2", "n-3", "n-4"};
    static const struct {
        const char *row, *current;
        int count;
        const char *want;
    } rows[] = {
        {"S42", "n-1,n-10,n-2,n-3", 3, "n-1 n-10 n-2"},
        {"a node of which the NEG has two addresses counts once (A10)", "n-1,n-1,n-10,n-2", 3,
         "n-1 n-10 n-2"},
        {"one that is gone is not kept", "gone,n-1,n-10,n-2", 3, "n-1 n-10 n-2"},
        {"none wanted", "n-1", 0, ""},
        {"all", "n-1", 5, "n-1 n-10 n-2 n-3 n-4"},
        {"more than there are", "n-1", 9, "n-1 n-10 n-2 n-3 n-4"},
        {"less than none", "n-1", -1, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        size_t n;
        char **items = str_split(a, rows[i].current, ',', &n);
        struct gce_strs nodes = gce_strs_of(a, nodes_, ARRAY_LEN(nodes_));
        struct gce_strs current = gce_strs_of(a, (const char *const *)items, n);
        struct gce_strs got = gce_neg_pick(a, &nodes, "svc", rows[i].count, &current);
        same_text(rows[i].row, kit_text(a, got), rows[i].want);
    }
}

/* ---- several zones --------------------------------------------------------------------------- */

/* One sync: what it finds and what it must choose.  `kept`: the choice of the row before. */
struct stage {
    const char *row;
    int total; /* 0: what ILB, policy Cluster wants */
    bool kept;
    const char *nodes[ZONES_MAX]; /* NULL: the zone is not there */
    const char *want[ZONES_MAX];  /* NULL: what was kept */
    const char *current[ZONES_MAX];
};
static const struct stage stages[] = {
    {.row = "S4", .nodes = {"node1000-1009"}, .want = {"node1000-1009"}},
    {.row = "S5",
     .kept = true,
     .nodes = {"node1000-1049"},
     .want =
         {"node1000-1009 1010 1012 1014 1016 1020 1021 1024 1027 1029 1030 1031 1037 1038 1047"}},
    {.row = "S6", .kept = true, .nodes = {"node1000-1099"}},
    {.row = "S7", .kept = true, .nodes = {"node1000-1019"}, .want = {"node1000-1019"}},
    {.row = "S8",
     .nodes = {"node1000-1009", "node2000-2009"},
     .want = {"node1000-1009", "node2000-2009"}},
    {.row = "S9",
     .kept = true,
     .nodes = {"node1000-1004", "node2000-2009"},
     .want = {"node1000-1004", NULL}},
    {.row = "S10",
     .kept = true,
     .nodes = {"node1000-1019", "node2000-2019"},
     .want = {"node1000-1004 1007 1009 1010 1012 1014 1016 1019", "node2000-2009 2011 2017"}},
    {.row = "S11",
     .kept = true,
     .nodes = {"node1000-1019", "node2000-2019", "node3000-3019"},
     .want = {"node1000-1004 1007 1009 1010", "node2000-2007",
              "node3000 3003 3009 3012 3015 3016 3017 3018"}},
    {.row = "S12",
     .kept = true,
     .nodes = {NULL, "node2000-2019", "node3000-3019"},
     .want = {NULL, "node2000-2007 2011 2015 2017 2019",
              "node3000 3003 3009 3012 3015 3016 3017 3018 3002 3008 3010 3011"}},
    {.row = "S13",
     .nodes = {"node1000-1020", "node2000-2019", "node3000-3019", "node4000-4019"},
     .want = {"node1002 1003 1009 1012 1014 1016", "node2003 2004 2011 2015 2017 2019",
              "node3000 3003 3015 3016 3017 3018", "node4004 4007 4009 4010 4017 4018"}},
    {.row = "S14",
     .kept = true,
     .nodes = {"node1000-1019", "node2000-2019", "node3000-3019", "node4000-4020"}},
    {.row = "S15",
     .nodes = {"node1000-1029", "node2000-2039", "node3000-3019", "node4000-4019", "node5000-5019"},
     .want = {"node1009 1014 1016 1021 1027", "node2011 2017 2023 2026 2031",
              "node3000 3003 3015 3017 3018", "node4004 4009 4010 4017 4018",
              "node5001 5002 5008 5009 5012"}},
    {.row = "S16",
     .kept = true,
     .nodes = {"node1000-1027", "node2000-2034", "node3000-3024", "node4000-4024",
               "node5000-5029"}},
    {.row = "S17",
     .nodes = {"node1000-1099"},
     .current = {"node1000-1024"},
     .want = {"node1000-1023"}},
    {.row = "S18",
     .nodes = {"node1000-1099", "node2000-2099", "node3000-3099"},
     .current = {"node1000-1007", "node2000-2007", "node3000-3008"},
     .want = {"node1000-1007", "node2000-2007", "node3000-3007"}},
    {.row = "S42 of a NEG", .total = 3, .nodes = {"n1-4"}, .current = {"n1-4"}, .want = {"n1-3"}},
};

static size_t fill_zones(struct arena *a, const struct stage *s, const struct gce_strs *before,
                         struct gce_zone_nodes *zones, size_t *index)
{
    size_t n = 0;
    for (size_t z = 0; z < ZONES_MAX; z++) {
        if (s->nodes[z] == NULL) {
            continue;
        }
        index[n] = z;
        zones[n] = (struct gce_zone_nodes){.zone = arena_printf(a, "zone%zu", z + 1),
                                           .nodes = kit_names(a, s->nodes[z])};
        if (s->current[z] != NULL) {
            zones[n].current = kit_names(a, s->current[z]);
        } else if (s->kept) {
            zones[n].current = kit_sorted(a, before[z]);
        }
        n++;
    }
    return n;
}

/* The odd place does not move in these: the answers are upstream's. */
static void gce_neg_subset__S4_to_S18__as_upstream(void **state)
{
    struct arena *a = *state;
    struct gce_strs before[ZONES_MAX] = {0};
    for (size_t i = 0; i < ARRAY_LEN(stages); i++) {
        const struct stage *s = &stages[i];
        struct gce_zone_nodes zones[ZONES_MAX];
        size_t index[ZONES_MAX];
        size_t n = fill_zones(a, s, before, zones, index);
        int total = s->total > 0 ? s->total : gce_neg_total_ilb(n);
        gce_neg_subset(a, zones, n, total, "svc");
        for (size_t k = 0; k < n; k++) {
            size_t z = index[k];
            struct gce_strs want = s->want[z] != NULL ? kit_names(a, s->want[z]) : before[z];
            same_text(arena_printf(a, "%s %s", s->row, zones[k].zone), kit_text(a, zones[k].picked),
                      kit_text(a, want));
            before[z] = zones[k].picked;
        }
    }
}

/* Zones with nodes z-0…; answers how many of each were picked, "1 5 9". */
static const char *sizes(struct arena *a, const int *counts, size_t n, int total,
                         const int *current)
{
    struct gce_zone_nodes zones[ZONES_MAX];
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < n; i++) {
        zones[i] = (struct gce_zone_nodes){.zone = arena_printf(a, "z%zu", i)};
        const char *range = arena_printf(a, "n%04d-%04d", 0, counts[i] - 1);
        zones[i].nodes = counts[i] == 0 ? (struct gce_strs){0} : kit_names(a, range);
        if (current != NULL && current[i] > 0) {
            zones[i].current = kit_names(a, arena_printf(a, "n%04d-%04d", 0, current[i] - 1));
        }
    }
    gce_neg_subset(a, zones, n, total, "svc");
    for (size_t i = 0; i < n; i++) {
        str_appendf(&b, "%s%zu", i > 0 ? " " : "", zones[i].picked.n);
    }
    return str_buf_to_arena(&b, a);
}

static void gce_neg_subset__S19_to_S26__shares_of_zones(void **state)
{
    static const struct {
        const char *row;
        int total;
        int counts[ZONES_MAX];
        size_t n;
        const char *want;
    } rows[] = {
        {"S19", 250, {1, 5, 10, 250}, 4, "1 5 10 234"},
        {"S20", 250, {100, 100, 100, 100}, 4, "62 62 63 63"},
        {"S21", 250, {100, 100, 100}, 3, "83 83 84"},
        {"S22", 250, {1, 5, 10, 33}, 4, "1 5 10 33"},
        {"S23", 25, {1, 5, 10, 250}, 4, "1 5 9 10"},
        {"S24", 25, {1, 5, 0, 250}, 4, "1 5 0 19"},
        {"S25", 25, {20, 20, 20, 20, 20, 20, 20}, 7, "3 3 3 4 4 4 4"},
        {"S26", 24, {1, 5, 10, 250}, 4, "1 5 9 9"},
        {"no zone", 24, {0}, 0, ""},
        {"nobody wanted", 0, {5, 5}, 2, "0 0"},
        {"fewer than zones", 1, {5, 5, 5}, 3, "0 0 1"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        same_text(rows[i].row, sizes(*state, rows[i].counts, rows[i].n, rows[i].total, NULL),
                  rows[i].want);
    }
}

/* §3.4, ours: the odd one stays in the zone where it is. */
static void gce_neg_subset__remainder__stays_where_it_is(void **state)
{
    static const struct {
        const char *about;
        int total;
        int counts[4];
        int current[4];
        size_t n;
        const char *want;
    } rows[] = {
        {"two zones overtook each other", 25, {30, 31}, {13, 12}, 2, "13 12"},
        {"and two of three", 10, {12, 11, 10}, {3, 4, 3}, 3, "3 4 3"},
        {"a member of the zone with the odd one has gone", 10, {12, 3, 10}, {3, 4, 3}, 3, "4 3 3"},
        {"nobody is there yet", 25, {30, 31}, {0, 0}, 2, "12 13"},
        {"the sizes are others: one leaves in any case", 25, {30, 31}, {14, 11}, 2, "13 12"},
        {"a small zone cannot take it", 10, {3, 40}, {3, 7}, 2, "3 7"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        same_text(rows[i].about,
                  sizes(*state, rows[i].counts, rows[i].n, rows[i].total, rows[i].current),
                  rows[i].want);
    }
}

/* The odd one's zone lost a member for which there is another node: the place stays
 * in that zone. */
static void gce_neg_subset__member_of_the_odd_place_gone__replaced_in_its_zone(void **state)
{
    struct arena *a = *state;
    struct gce_zone_nodes zones[] = {
        {.zone = "a", .nodes = kit_names(a, "a00-19"), .current = kit_names(a, "a00-02")},
        {.zone = "b", .nodes = kit_names(a, "b01-09"), .current = kit_names(a, "b00-03")},
        {.zone = "c", .nodes = kit_names(a, "c00-19"), .current = kit_names(a, "c00-02")},
    };
    gce_neg_subset(a, zones, 3, 10, "svc");
    same_text("a", kit_text(a, zones[0].picked), "a00 a01 a02");
    assert_int_equal(zones[1].picked.n, 4);
    same_text("c", kit_text(a, zones[2].picked), "c00 c01 c02");
}

static void gce_neg_subset__S36_to_S41__worked_examples(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row;
        int total;
        const char *nodes[3], *current[3], *want[3];
    } rows[] = {
        {"S36",
         24,
         {"a-00-09", "b-00-09", "c-00-09"},
         {NULL},
         {"a-00 01 02 04 05 07 08 09", "b-00 01 03 04 05 07 08 09", "c-01 02 03 04 05 07 08 09"}},
        {"S37",
         24,
         {"a-00-12", "b-00-09", "c-00-09"},
         {"a-00 01 02 04 05 07 08 09", "b-00 01 03 04 05 07 08 09", "c-01 02 03 04 05 07 08 09"},
         {"a-00 01 02 04 05 07 08 09", "b-00 01 03 04 05 07 08 09", "c-01 02 03 04 05 07 08 09"}},
        {"S38",
         24,
         {"a-00-09", "b-01-09", "c-00-09"},
         {"a-00 01 02 04 05 07 08 09", "b-00 01 03 04 05 07 08 09", "c-01 02 03 04 05 07 08 09"},
         {"a-00 01 02 04 05 07 08 09", "b-02 01 03 04 05 07 08 09", "c-01 02 03 04 05 07 08 09"}},
        {"S39",
         24,
         {"a-00-09", "b-00-09", NULL},
         {"a-00 01 02 04 05 07 08 09", "b-00 01 03 04 05 07 08 09", NULL},
         {"a-00-09", "b-00-09", NULL}},
        {"S40",
         24,
         {"za-0-1", "zb-0-2", "zc-00-39"},
         {NULL},
         {"za-0-1", "zb-0-2", "zc-02 05 07 09 12 13 14 15 17 18 24 26 30 31 32 33 36 37 38"}},
        {"S41",
         10,
         {"a-00-09", "b-00-09", "c-00-09"},
         {NULL},
         {"a-02 07 09", "b-00 04 09", "c-01 02 04 05"}},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct gce_zone_nodes zones[3];
        size_t n = 0;
        for (size_t z = 0; z < 3 && rows[i].nodes[z] != NULL; z++) {
            zones[n] = (struct gce_zone_nodes){.zone = arena_printf(a, "us-central1-%c", "abc"[z]),
                                               .nodes = kit_names(a, rows[i].nodes[z])};
            if (rows[i].current[z] != NULL) {
                zones[n].current = kit_names(a, rows[i].current[z]);
            }
            n++;
        }
        gce_neg_subset(a, zones, n, rows[i].total, "web/default");
        for (size_t z = 0; z < n; z++) {
            same_text(arena_printf(a, "%s %s", rows[i].row, zones[z].zone),
                      kit_text(a, zones[z].picked), kit_text(a, kit_list(a, rows[i].want[z])));
        }
    }
}

/* ---- how many -------------------------------------------------------------------------------- */

static void gce_neg_total_ilb__24_where_it_divides_evenly(void **state)
{
    static const struct {
        size_t zones;
        int want;
    } rows[] = {{0, 25}, {1, 24}, {2, 24}, {3, 24},  {4, 24},  {5, 25},  {6, 24},
                {7, 25}, {8, 24}, {9, 25}, {12, 24}, {24, 24}, {25, 25}, {48, 25}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (gce_neg_total_ilb(rows[i].zones) != rows[i].want) {
            fail_msg("%zu zones: got %d, want %d", rows[i].zones, gce_neg_total_ilb(rows[i].zones),
                     rows[i].want);
        }
    }
    (void)state;
}

static void gce_neg_total_netlb__pods_places_and_members(void **state)
{
    static const struct {
        const char *about;
        int pods, places, in_negs, want;
    } rows[] = {
        {"three for each place", 1, 4, 0, 12},
        {"as many as pods", 50, 1, 0, 50},
        {"250 at most", 10000, 3, 0, 250},
        {"places do not lift the limit", 0, 100, 0, 250},
        {"never shrinks", 10, 1, 100, 100},
        {"members beyond the limit stay", 10, 1, 300, 300},
        {"nothing", 0, 0, 0, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int got = gce_neg_total_netlb(rows[i].pods, rows[i].places, rows[i].in_negs);
        if (got != rows[i].want) {
            fail_msg("%s: got %d, want %d", rows[i].about, got, rows[i].want);
        }
    }
    (void)state;
}

UNIT_MAIN(neg_subset)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(gce_neg_pick__nobody_kept__order_of_hashes),
        PURE_TEST(gce_neg_pick__kept_ones__first_by_name),
        PURE_TEST(gce_neg_subset__S4_to_S18__as_upstream),
        PURE_TEST(gce_neg_subset__S19_to_S26__shares_of_zones),
        PURE_TEST(gce_neg_subset__remainder__stays_where_it_is),
        PURE_TEST(gce_neg_subset__member_of_the_odd_place_gone__replaced_in_its_zone),
        PURE_TEST(gce_neg_subset__S36_to_S41__worked_examples),
        PURE_TEST(gce_neg_total_ilb__24_where_it_divides_evenly),
        PURE_TEST(gce_neg_total_netlb__pods_places_and_members),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
