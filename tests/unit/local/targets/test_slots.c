/* SPDX-License-Identifier: Apache-2.0 */
/* test_slots.c: slots of nftables maps: size, shares, fewest moves, Maglev.  Rows with a number
 * are those of the provider's specification. */
#include "tests/unit/local/targets/targets_test.h"

#include "common/base/clock.h"

/* Targets 10.0.H.L of which item i has weight weights[i]. */
struct set {
    struct local_target items[300];
    struct local_target_set t;
};

static void set_init(struct set *s, const uint16_t *weights, size_t n)
{
    memset(s, 0, sizeof(*s));
    for (size_t i = 0; i < n; i++) {
        s->items[i].addr =
            (struct ip_addr){.bytes = {10, 0, (uint8_t)(i / 256), (uint8_t)(i % 256)}, .len = 4};
        s->items[i].port = 30080;
        s->items[i].weight = weights != NULL ? weights[i] : 1;
    }
    s->t = (struct local_target_set){.items = s->items, .n = n};
}

/* Takes the target out, and out of `slots`, as a caller does whose `old` speaks of the new set. */
static void set_remove(struct set *s, size_t at, uint16_t *slots, unsigned m)
{
    for (size_t i = at; i + 1 < s->t.n; i++) {
        s->items[i] = s->items[i + 1];
    }
    s->t.n--;
    for (unsigned k = 0; k < m; k++) {
        if (slots[k] == at) {
            slots[k] = LOCAL_SLOT_NONE;
        } else if (slots[k] != LOCAL_SLOT_NONE && slots[k] > at) {
            slots[k]--;
        }
    }
}

static void count(const uint16_t *slots, unsigned m, size_t n, unsigned *ret)
{
    memset(ret, 0, n * sizeof(*ret));
    for (unsigned k = 0; k < m; k++) {
        assert_true(slots[k] < n);
        ret[slots[k]]++;
    }
}

static unsigned moved(const uint16_t *before, const uint16_t *after, unsigned m)
{
    unsigned n = 0;
    for (unsigned k = 0; k < m; k++) {
        n += before[k] != after[k];
    }
    return n;
}

/* "M: COUNT,COUNT,…", runs of five and more as "COUNT×N". */
static const char *shares_text(struct arena *a, const uint16_t *weights, size_t n)
{
    struct set s;
    uint16_t slots[LOCAL_SLOTS_MAX];
    unsigned counts[300];
    struct str_buf b = STR_BUF_INIT;
    set_init(&s, weights, n);
    unsigned m = local_slots_size(&s.t);
    local_slots_fill(&s.t, m, NULL, slots);
    count(slots, m, n, counts);
    str_appendf(&b, "%u:", m);
    for (size_t i = 0; i < n;) {
        size_t same = 1;
        while (i + same < n && counts[i + same] == counts[i]) {
            same++;
        }
        same = same < 5 ? 1 : same;
        str_appendf(&b, same > 1 ? "%s%ux%zu" : "%s%u", i > 0 ? "," : " ", counts[i], same);
        i += same;
    }
    const char *text = str_buf_to_arena(&b, a);
    str_buf_done(&b);
    return text;
}

static void local_slots__sizes_and_shares(void **state)
{
    static const uint16_t nine[] = {9, 1};
    static const uint16_t zero[] = {1, 0, 1};
    static const uint16_t huge[] = {255, 1, 1};
    static const struct {
        const char *name;
        const uint16_t *weights;
        size_t n;
        const char *want;
    } rows[] = {
        {"one", NULL, 1, "4: 4"},
        {"K08", NULL, 2, "4: 2,2"},
        {"four", NULL, 4, "4: 1,1,1,1"},
        {"K09", NULL, 3, "16: 6,5,5"},
        {"five", NULL, 5, "64: 13,13,13,13,12"},
        {"K10", nine, 2, "64: 58,6"},
        {"K11", NULL, 17, "256: 16,15x16"},
        {"256", NULL, 256, "256: 1x256"},
        {"without weight", zero, 3, "4: 2,0,2"},
        {"no share without a slot", huge, 3, "256: 254,1,1"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *got = shares_text(*state, rows[i].weights, rows[i].n);
        if (strcmp(got, rows[i].want) != 0) {
            fail_msg("%s: want %s, got %s", rows[i].name, rows[i].want, got);
        }
    }
}

/* K08, K13. */
static void local_slots_fill__two_targets__alternate_then_one(void **state)
{
    struct set s;
    uint16_t slots[4];
    uint16_t after[4];
    (void)state;
    set_init(&s, NULL, 2);
    local_slots_fill(&s.t, 4, NULL, slots);
    assert_true(slots[0] == 0 && slots[1] == 1 && slots[2] == 0 && slots[3] == 1);
    set_remove(&s, 1, slots, 4);
    local_slots_fill(&s.t, 4, slots, after);
    assert_true(after[0] == 0 && after[1] == 0 && after[2] == 0 && after[3] == 0);
    assert_int_equal(moved(slots, after, 4), 2);
}

/* K14. */
static void local_slots_fill__fourth_target_comes_or_third_goes__fewest_moves(void **state)
{
    struct set s;
    uint16_t three[16];
    uint16_t after[16];
    unsigned counts[4];
    (void)state;
    set_init(&s, NULL, 3);
    local_slots_fill(&s.t, 16, NULL, three);
    set_init(&s, NULL, 4);
    local_slots_fill(&s.t, 16, three, after);
    assert_int_equal(moved(three, after, 16), 4);
    count(after, 16, 4, counts);
    assert_true(counts[0] == 4 && counts[1] == 4 && counts[2] == 4 && counts[3] == 4);

    set_init(&s, NULL, 3);
    set_remove(&s, 2, three, 16);
    local_slots_fill(&s.t, 16, three, after);
    assert_int_equal(moved(three, after, 16), 5);
    count(after, 16, 2, counts);
    assert_true(counts[0] == 8 && counts[1] == 8);
}

static void local_slots__no_target_has_weight__no_target_in_any_slot(void **state)
{
    static const uint16_t none[3] = {0, 0, 0};
    struct set s;
    uint16_t slots[16];
    (void)state;
    set_init(&s, none, 3);
    assert_int_equal(local_slots_size(&s.t), 4);
    local_slots_fill(&s.t, 16, NULL, slots);
    for (unsigned k = 0; k < 16; k++) {
        assert_int_equal(slots[k], LOCAL_SLOT_NONE);
    }
    local_slots_maglev(&s.t, 16, slots);
    for (unsigned k = 0; k < 16; k++) {
        assert_int_equal(slots[k], LOCAL_SLOT_NONE);
    }
}

static size_t random_weights(struct rng *r, uint16_t *weights, size_t most)
{
    size_t n = 1 + (size_t)rng_below(r, most);
    uint64_t kind = rng_below(r, 3);
    for (size_t i = 0; i < n; i++) {
        weights[i] = (uint16_t)(kind == 0   ? 1
                                : kind == 1 ? 1 + rng_below(r, 4)
                                            : rng_below(r, 256));
    }
    return n;
}

/* The properties of any filling. */
static void expect_shares(const struct local_target_set *t, unsigned m, const uint16_t *slots)
{
    unsigned counts[300];
    uint64_t total = 0;
    for (size_t i = 0; i < t->n; i++) {
        total += t->items[i].weight;
    }
    if (total == 0) {
        return;
    }
    count(slots, m, t->n, counts);
    for (size_t i = 0; i < t->n; i++) {
        uint64_t own = (uint64_t)t->items[i].weight * m;
        uint64_t has = counts[i] * total;
        assert_int_equal(counts[i] > 0, t->items[i].weight > 0);
        if (m < LOCAL_SLOTS_MAX) {
            assert_true((has > own ? has - own : own - has) * 100 <= own * 15);
        }
    }
}

/* Slots that change hands, although their target still has weight and no more than its share. */
static unsigned least_moves(const struct local_target_set *t, unsigned m, const uint16_t *old,
                            const uint16_t *now)
{
    unsigned before[300] = {0};
    unsigned after[300] = {0};
    unsigned least = 0;
    for (unsigned k = 0; k < m; k++) {
        before[old[k] == LOCAL_SLOT_NONE ? t->n : old[k]]++;
        after[now[k]]++;
    }
    for (size_t i = 0; i < t->n; i++) { /* the targets that win slots win them all by moves */
        least += after[i] > before[i] ? after[i] - before[i] : 0;
    }
    return least;
}

static void local_slots__random_sets__shares_and_fewest_moves(void **state)
{
    struct rng *r = rng_seeded_new(3);
    (void)state;
    for (int round = 0; round < 1000; round++) {
        struct set s;
        uint16_t weights[256];
        uint16_t slots[LOCAL_SLOTS_MAX];
        uint16_t after[LOCAL_SLOTS_MAX];
        size_t n = random_weights(r, weights, round % 4 == 0 ? 256 : 12);
        set_init(&s, weights, n);
        unsigned m = local_slots_size(&s.t);
        local_slots_fill(&s.t, m, NULL, slots);
        expect_shares(&s.t, m, slots);
        local_slots_maglev(&s.t, m, after);
        expect_shares(&s.t, m, after);
        local_slots_fill(&s.t, m, slots, after);
        assert_memory_equal(slots, after, m * sizeof(*slots)); /* nothing changed: nothing moves */
        if (n > 1 && slots[0] != LOCAL_SLOT_NONE) {
            set_remove(&s, (size_t)rng_below(r, n), slots, m);
            s.items[0].weight = (uint16_t)(1 + rng_below(r, 9));
            local_slots_fill(&s.t, m, slots, after);
            assert_int_equal(moved(slots, after, m), least_moves(&s.t, m, slots, after));
        }
    }
    rng_free(r);
}

/* One of n targets goes: its slots have to move; of the others' few do. */
static void local_slots_maglev__one_of_n_goes__about_an_nth_changes(void **state)
{
    static const size_t sizes[] = {4, 8, 16, 32};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        unsigned total = 0;
        size_t n = sizes[i];
        for (size_t gone = 0; gone < n; gone++) {
            struct set s;
            uint16_t slots[LOCAL_SLOTS_MAX];
            uint16_t after[LOCAL_SLOTS_MAX];
            set_init(&s, NULL, n);
            local_slots_maglev(&s.t, 256, slots);
            set_remove(&s, gone, slots, 256);
            local_slots_maglev(&s.t, 256, after);
            total += moved(slots, after, 256);
        }
        unsigned mean = total / (unsigned)n;
        assert_in_range(mean, 256 / n, 256 / n + 24);
    }
}

/* The table is a function of the targets alone, the same in every process and version. */
static void local_slots_maglev__three_targets__this_table(void **state)
{
    struct set s;
    uint16_t slots[16];
    char text[17] = "";
    (void)state;
    set_init(&s, NULL, 3);
    local_slots_maglev(&s.t, 16, slots);
    for (unsigned k = 0; k < 16; k++) {
        text[k] = (char)('a' + slots[k]);
    }
    assert_string_equal(text, "cbbbcaaaaacabbcc");
}

UNIT_MAIN(slots)
{
    const struct CMUnitTest tests[] = {
        targets_test(local_slots__sizes_and_shares),
        targets_test(local_slots_fill__two_targets__alternate_then_one),
        targets_test(local_slots_fill__fourth_target_comes_or_third_goes__fewest_moves),
        targets_test(local_slots__no_target_has_weight__no_target_in_any_slot),
        targets_test(local_slots__random_sets__shares_and_fewest_moves),
        targets_test(local_slots_maglev__one_of_n_goes__about_an_nth_changes),
        targets_test(local_slots_maglev__three_targets__this_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
