/* SPDX-License-Identifier: Apache-2.0 */
/* test_topology_shares.c: quantities of CPU, zones' shares, allocation, exchange, overload. */
#include "tests/unit/services/slices_test.h"

#include "common/services/topology/quantity.h"

static void quantity__forms__milli_rounded_up(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t milli; /* -1: refused */
    } rows[] = {
        {"4", 4000},
        {"3920m", 3920},
        {"1.93", 1930},
        {"0", 0},
        {"+2", 2000},
        {".5", 500},
        {"1.", 1000},
        {"100u", 1},
        {"1n", 1},
        {"1000001u", 1001},
        {"2k", 2000000},
        {"1M", 1000000000},
        {"1Ki", 1024000},
        {"1.5Ki", 1536000},
        {"0.5Mi", 524288000},
        {"1e3", 1000000},
        {"1E3", 1000000},
        {"1E-3", 1},
        {"1e+2", 100000},
        {"1E", INT64_MAX},
        {"0.0000000001", 1},
        {"1.0000000000000000000000001", 1001},
        {"9223372036854775808", INT64_MAX},
        {"99999999999999999999999999999999999999999", INT64_MAX},
        {"8Ei", INT64_MAX},
        {"000000000000000000000000000004", 4000},
        {"1e-1000", 1},
        {"0e1000", 0},
        {"1e1000", INT64_MAX},
        {"", -1},
        {"m", -1},
        {".", -1},
        {"-1", -1},
        {"1 ", -1},
        {" 1", -1},
        {"1mm", -1},
        {"1.2.3", -1},
        {"1e", -1},
        {"1e+", -1},
        {"1e+-3", -1},
        {"1e1001", -1},
        {"1K", -1},
        {"0x10", -1},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct ks_quantity q;
        int64_t got = ks_quantity_parse(rows[i].text, &q) ? ks_quantity_milli(&q) : -1;
        if (got != rows[i].milli) {
            fail_msg("%s: got %lld, want %lld", rows[i].text, (long long)got,
                     (long long)rows[i].milli);
        }
    }
    struct ks_quantity q;
    assert_false(ks_quantity_parse(NULL, &q));
}

static void quantity__sum__rounds_once(void **state)
{
    (void)state;
    struct ks_quantity sum = {0}, half;
    assert_true(ks_quantity_is_zero(&sum));
    assert_true(ks_quantity_parse("1500u", &half));
    ks_quantity_add(&sum, &half);
    assert_int_equal(ks_quantity_milli(&sum), 2);
    ks_quantity_add(&sum, &half);
    assert_int_equal(ks_quantity_milli(&sum), 3);
    assert_false(ks_quantity_is_zero(&sum));
}

static const char *shares_text(struct arena *a, const struct ks_zone_shares *s)
{
    static const char *const off[] = {"", "no-zone", "no-cpu", "few-zones"};
    struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < s->n; i++) {
        str_appendf(&b, "%s=%lld/%zu ", s->zones[i].zone, (long long)s->zones[i].milli_cpu,
                    s->zones[i].nodes);
    }
    str_append(&b, off[s->off]);
    if (s->lacking != NULL) {
        str_appendf(&b, " %s of %zu", s->lacking->meta.name, s->n_lacking);
    }
    const char *text = str_buf_to_arena(&b, a);
    str_buf_done(&b);
    return text;
}

static void zone_shares__nodes__sums_or_why_not(void **state)
{
    static const struct {
        const char *nodes;
        const char *want;
    } rows[] = {
        {"a1 zone-a 2; b1 zone-b 1", "zone-a=2000/1 zone-b=1000/1 "},
        {"b1 zone-b 1; a2 zone-a 500m; a1 zone-a 2", "zone-a=2500/2 zone-b=1000/1 "},
        {"a1 zone-a 1500u; a2 zone-a 1500u; b1 zone-b 1", "zone-a=3/2 zone-b=1000/1 "},
        {"a1 zone-a 2; b1 zone-b 1; c1 - 1 notready; m1 - - control",
         "zone-a=2000/1 zone-b=1000/1 "},
        {"a1 zone-a 2; b1 zone-b 1; c2 - 1; c1 - 1", "no-zone c1 of 2"},
        {"a1 zone-a 2; b1 zone-b 1; c1 zone-c -", "no-cpu c1 of 1"},
        {"a1 zone-a 2; b1 zone-b 1; c1 zone-c 0", "no-cpu c1 of 1"},
        {"a1 zone-a 2; b1 zone-b 1; c1 zone-c many", "no-cpu c1 of 1"},
        {"a1 zone-a 2; a2 zone-a 1", "few-zones"},
        {"a1 zone-a 2; b1 zone-b 1 notready", "few-zones"},
        {"", "few-zones"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct node_list nodes = nodes_of(*state, rows[i].nodes);
        const struct ks_zone_shares s = ks_zone_shares(*state, nodes.items, nodes.n);
        assert_string_equal(shares_text(*state, &s), rows[i].want);
    }
}

/* "zone minimum…maximum desired, …", or the event's text. */
static const char *allocation_text(struct arena *a, const char *nodes, int64_t ready)
{
    const struct node_list list = nodes_of(a, nodes);
    const struct ks_zone_shares s = ks_zone_shares(a, list.items, list.n);
    const struct ks_allocation *zones;
    enum ks_hints_off off = ks_allocate(a, &s, ready, &zones);
    if (off != KS_HINTS_FINE) {
        assert_null(zones);
        return ks_hints_off_text(a, off, ready, s.n);
    }
    struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < s.n; i++) {
        str_appendf(&b, "%s%s %lld…%lld %.6f", i > 0 ? ", " : "", zones[i].zone,
                    (long long)zones[i].minimum, (long long)zones[i].maximum, zones[i].desired);
    }
    const char *text = str_buf_to_arena(&b, a);
    str_buf_done(&b);
    return text;
}

static void allocate__cpu_two_to_one__examples(void **state)
{
    const char *two_to_one = "a1 zone-a 2; b1 zone-b 1";
    const struct {
        const char *nodes;
        int64_t ready;
        const char *want;
    } rows[] = {
        {two_to_one, 0, "Insufficient number of endpoints (0 endpoints, 2 zones)"},
        {two_to_one, 1, "Insufficient number of endpoints (1 endpoints, 2 zones)"},
        {two_to_one, 2,
         "Unable to allocate minimum required endpoints to each zone without exceeding overload "
         "threshold (2 endpoints, 2 zones)"},
        {two_to_one, 3, "zone-a 2…2 2.000000, zone-b 1…1 1.000000"},
        {two_to_one, 4,
         "Unable to allocate minimum required endpoints to each zone without exceeding overload "
         "threshold (4 endpoints, 2 zones)"},
        {two_to_one, 6, "zone-a 4…4 4.000000, zone-b 2…2 2.000000"},
        {"b1 zone-b 1930m; c1 zone-c 500m", 15, "zone-b 10…12 11.913580, zone-c 3…5 3.086420"},
        {"a1 zone-a 2; a2 zone-a 2", 9,
         "Insufficient Node information: allocatable CPU or zone not specified on one or more "
         "nodes"},
        {"a1 zone-a 2; b1 - 2", 9,
         "Insufficient Node information: allocatable CPU or zone not specified on one or more "
         "nodes"},
        /* The share of a zone is so small that its minimum is above it. */
        {"a1 zone-a 99; b1 zone-b 1", 20, "zone-a 17…19 19.800000, zone-b 1…3 1.000000"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_string_equal(allocation_text(*state, rows[i].nodes, rows[i].ready), rows[i].want);
    }
}

static void allocate__any_cluster__sums_hold(void **state)
{
    uint32_t seed = 7;
    for (size_t round = 0; round < 300; round++) {
        struct str_buf b = STR_BUF_INIT;
        seed = seed * 1664525 + 1013904223;
        for (size_t z = 0; z < 2 + (seed >> 28); z++) {
            seed = seed * 1664525 + 1013904223;
            str_appendf(&b, "n%zu zone-%02zu %um;", z, z, 500 + (seed >> 18));
        }
        const struct node_list list = nodes_of(*state, str_buf_text(&b));
        str_buf_done(&b);
        const struct ks_zone_shares s = ks_zone_shares(*state, list.items, list.n);
        const struct ks_allocation *zones;
        int64_t ready = (int64_t)(seed >> 20) % 300, minima = 0;
        double ratios = 0;
        if (ks_allocate(*state, &s, ready, &zones) != KS_HINTS_FINE) {
            continue;
        }
        for (size_t i = 0; i < s.n; i++) {
            minima += zones[i].minimum;
            ratios += s.zones[i].ratio;
            assert_true(zones[i].minimum >= 1 && zones[i].minimum <= zones[i].maximum);
            assert_true((double)zones[i].minimum <= zones[i].desired);
            /* With the least it may have, no endpoint of a zone gets more than 20 %
             * above the mean. */
            assert_true(s.zones[i].ratio / (double)zones[i].minimum <= 1.2000001 / (double)ready);
        }
        assert_true(minima <= ready && ratios > 0.999999 && ratios < 1.000001);
        assert_int_equal(zones[0].maximum - zones[0].minimum, ready - minima);
    }
}

static void give_receive__counts__greatest_exchange(void **state)
{
    static const struct {
        double desired[4];
        int64_t have[4];
        const char *want; /* what each gives, then receives */
    } rows[] = {
        {{2, 2, 2, 2}, {2, 2, 2, 2}, "0000 0000"},
        {{2, 2, 2, 2}, {4, 2, 2, 0}, "2000 0002"},
        {{2, 2, 2, 2}, {5, 1, 1, 1}, "3000 0111"},
        /* Equal amounts: the lowest name. */
        {{2, 2, 2, 2}, {3, 3, 1, 1}, "1100 0011"},
        {{2, 2, 3, 2}, {3, 3, 2, 2}, "1000 0010"},
        {{2, 2, 2, 2}, {3, 1, 1, 2}, "1000 0100"},
        {{2.5, 1.5, 2, 2}, {3, 1, 2, 2}, "0000 0000"}, /* both below 1 */
        {{1.6, 1.4, 2, 2}, {3, 0, 2, 2}, "1000 0100"}, /* then 0.4 to give */
        {{1.4, 1.6, 2, 2}, {3, 0, 2, 2}, "1000 0100"}, /* then 0.6 each: both below 1 */
        {{1.2, 0.6, 2, 2}, {3, 0, 2, 2}, "1000 0100"}, /* 1.8 and 0.6: one of them is above 1 */
        {{1.2, 0.4, 2, 2}, {3, 0, 2, 2}, "0000 0000"}, /* one is below 0.5 */
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct ks_allocation zones[4];
        int64_t give[4], receive[4];
        for (size_t z = 0; z < 4; z++) {
            zones[z] = (struct ks_allocation){.zone = "z", .desired = rows[i].desired[z]};
        }
        ks_give_receive(*state, zones, 4, rows[i].have, give, receive);
        char got[16];
        for (size_t z = 0; z < 4; z++) {
            got[z] = (char)('0' + give[z]);
            got[z + 5] = (char)('0' + receive[z]);
        }
        got[4] = ' ';
        got[9] = '\0';
        assert_string_equal(got, rows[i].want);
    }
}

static void give_receive__many_zones__no_square(void **state)
{
    enum { N = 20000 };
    struct ks_allocation *zones = ARENA_ARRAY(*state, struct ks_allocation, N);
    int64_t *have = ARENA_ARRAY(*state, int64_t, N), *give = ARENA_ARRAY(*state, int64_t, N);
    int64_t *receive = ARENA_ARRAY(*state, int64_t, N), sum = 0;
    for (size_t i = 0; i < N; i++) {
        zones[i].desired = 10;
        have[i] = i % 2 == 0 ? 19 : 1;
    }
    ks_give_receive(*state, zones, N, have, give, receive);
    for (size_t i = 0; i < N; i++) {
        sum += give[i] - receive[i];
        assert_int_equal(have[i] - give[i] + receive[i], 10);
    }
    assert_int_equal(sum, 0);
}

UNIT_MAIN(topology_shares)
{
    const struct CMUnitTest tests[] = {
        slices_test(quantity__forms__milli_rounded_up),
        slices_test(quantity__sum__rounds_once),
        slices_test(zone_shares__nodes__sums_or_why_not),
        slices_test(allocate__cpu_two_to_one__examples),
        slices_test(allocate__any_cluster__sums_hold),
        slices_test(give_receive__counts__greatest_exchange),
        slices_test(give_receive__many_zones__no_square),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
