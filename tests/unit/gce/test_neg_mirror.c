/* SPDX-License-Identifier: Apache-2.0 */
/* test_neg_mirror.c: what is in the NEGs as far as this process knows, when it is to be compared,
 * and endpoints as numbers. */
#include "tests/unit/gce/neg_kit.h"

#include "common/base/clock.h"
#include "providers/gce/cache/gce_neg_mirror.h"
#include "providers/gce/cache/gce_neg_numbers.h"
#include "tests/support/clock_fake.h"
#include "tests/support/unit.h"

#include <pthread.h>

#define PERIOD_MS 600000

struct stand {
    struct arena *a;
    struct clock *clock;
    struct rng *rng;
    struct gce_neg_mirror *m;
};

static int setup(void **state)
{
    struct stand *s = xcalloc(1, sizeof(*s));
    s->a = arena_new();
    s->clock = clock_fake_new(1000, 0);
    s->rng = rng_seeded_new(7);
    s->m = gce_neg_mirror_new(s->clock, s->rng, PERIOD_MS);
    *state = s;
    return 0;
}

static int teardown(void **state)
{
    struct stand *s = *state;
    gce_neg_mirror_free(s->m);
    rng_free(s->rng);
    clock_fake_free(s->clock);
    arena_free(s->a);
    free(s);
    return 0;
}

#define E(name) ((struct gce_endpoint){.instance = (name), .ip = "10.0.0.1", .ipv6 = ""})

/* "known: a b", "by-size due: a", "unknown due:" */
static const char *seen(struct stand *s, const char *zone, const char *name)
{
    static const char *const words[] = {"unknown", "by-size", "known"};
    struct gce_endpoint *e;
    size_t n;
    bool due;
    bool due_too;
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    enum gce_mirror_state state = gce_neg_mirror_get(s->m, zone, name, s->a, &e, &n, &due);
    assert_int_equal(gce_neg_mirror_state(s->m, zone, name, &due_too), state);
    assert_int_equal(due, due_too);
    str_appendf(&b, "%s%s:", words[state], due ? " due" : "");
    for (size_t i = 0; i < n; i++) {
        str_appendf(&b, " %s", e[i].instance);
    }
    return str_buf_to_arena(&b, s->a);
}

static void gce_neg_mirror__states(void **state)
{
    struct stand *s = *state;
    const struct gce_endpoint two[] = {E("b"), E("a")};
    const struct gce_endpoint c = E("c");
    same_text("never seen", seen(s, "z", "n"), "unknown due:");
    gce_neg_mirror_assume(s->m, "z", "n", two, 2);
    same_text("believed by its size", seen(s, "z", "n"), "by-size: a b");
    gce_neg_mirror_set(s->m, "z", "n", two, 2);
    same_text("listed", seen(s, "z", "n"), "known: a b");
    gce_neg_mirror_add(s->m, "z", "n", &c, 1);
    same_text("attached", seen(s, "z", "n"), "known: a b c");
    gce_neg_mirror_add(s->m, "z", "n", &c, 1);
    same_text("attached again", seen(s, "z", "n"), "known: a b c");
    gce_neg_mirror_remove(s->m, "z", "n", two, 1);
    same_text("detached", seen(s, "z", "n"), "known: a c");
    gce_neg_mirror_remove(s->m, "z", "n", two, 1);
    same_text("detached again", seen(s, "z", "n"), "known: a c");
    gce_neg_mirror_forget(s->m, "z", "n");
    same_text("something failed", seen(s, "z", "n"), "unknown due:");
    gce_neg_mirror_add(s->m, "z", "n", &c, 1);
    same_text("what is not known cannot be built on", seen(s, "z", "n"), "unknown due:");
    gce_neg_mirror_set(s->m, "z", "n", NULL, 0);
    same_text("made by us", seen(s, "z", "n"), "known:");
    gce_neg_mirror_drop(s->m, "z", "n");
    same_text("gone", seen(s, "z", "n"), "unknown due:");
}

static void gce_neg_mirror_add__believed_by_size__becomes_unknown(void **state)
{
    struct stand *s = *state;
    const struct gce_endpoint a = E("a");
    const struct gce_endpoint b = E("b");
    gce_neg_mirror_assume(s->m, "z", "n", &a, 1);
    gce_neg_mirror_add(s->m, "z", "n", &b, 1);
    same_text("its members were never listed", seen(s, "z", "n"), "unknown due:");
    gce_neg_mirror_add(s->m, "z", "other", &b, 1);
    same_text("nor those of one never seen", seen(s, "z", "other"), "unknown due:");
}

static void gce_neg_mirror_zones__those_where_it_exists(void **state)
{
    struct stand *s = *state;
    gce_neg_mirror_set(s->m, "b", "n", NULL, 0);
    gce_neg_mirror_set(s->m, "a", "n", NULL, 0);
    gce_neg_mirror_set(s->m, "c", "other", NULL, 0);
    same_text("two", kit_text(s->a, gce_neg_mirror_zones(s->m, s->a, "n")), "a b");
    gce_neg_mirror_forget(s->m, "a", "n");
    same_text("its members unknown", kit_text(s->a, gce_neg_mirror_zones(s->m, s->a, "n")), "a b");
    gce_neg_mirror_drop(s->m, "b", "n");
    same_text("one is gone", kit_text(s->a, gce_neg_mirror_zones(s->m, s->a, "n")), "a");
    gce_neg_mirror_drop(s->m, "a", "n");
    gce_neg_mirror_drop(s->m, "a", "n");
    same_text("both", kit_text(s->a, gce_neg_mirror_zones(s->m, s->a, "n")), "");
    gce_neg_mirror_forget(s->m, "a", "n");
    same_text("forgetting makes none", kit_text(s->a, gce_neg_mirror_zones(s->m, s->a, "n")), "");
}

/* How many of 1,000 NEGs are due after so long. */
static size_t due_after(struct stand *s, int64_t ms)
{
    size_t n = 0;
    clock_fake_advance(s->clock, ms);
    for (int i = 0; i < 1000; i++) {
        bool due;
        (void)gce_neg_mirror_state(s->m, "z", arena_printf(s->a, "n%d", i), &due);
        n += due;
    }
    return n;
}

static void gce_neg_mirror__compared_within_the_period__spread_over_it(void **state)
{
    struct stand *s = *state;
    for (int i = 0; i < 1000; i++) {
        gce_neg_mirror_assume(s->m, "z", arena_printf(s->a, "n%d", i), NULL, 0);
    }
    assert_in_range(due_after(s, PERIOD_MS / 4), 200, 300); /* at the start: evenly */
    assert_in_range(due_after(s, PERIOD_MS / 2), 700, 800);
    assert_int_equal(due_after(s, PERIOD_MS / 4), 1000);
    for (int i = 0; i < 1000; i++) {
        gce_neg_mirror_set(s->m, "z", arena_printf(s->a, "n%d", i), NULL, 0);
    }
    assert_int_equal(due_after(s, PERIOD_MS / 2 - 1), 0); /* listed ones rest for half of it */
    assert_in_range(due_after(s, PERIOD_MS / 4), 450, 550);
    assert_int_equal(due_after(s, PERIOD_MS / 4 + 1), 1000);
}

static void gce_neg_mirror__no_period__never_due(void **state)
{
    struct stand *s = *state;
    struct gce_neg_mirror *m = gce_neg_mirror_new(s->clock, s->rng, 0);
    bool due = true;
    gce_neg_mirror_set(m, "z", "n", NULL, 0);
    clock_fake_advance(s->clock, INT64_C(1) << 40);
    assert_int_equal(gce_neg_mirror_state(m, "z", "n", &due), GCE_MIRROR_KNOWN);
    assert_false(due);
    gce_neg_mirror_free(m);
}

/* ---- numbers --------------------------------------------------------------------------------- */

static void gce_numbers__uses_are_counted__numbers_come_again(void **state)
{
    struct gce_numbers *x = gce_numbers_new();
    const struct gce_endpoint a = {.instance = "n", .ip = "1", .ipv6 = ""};
    const struct gce_endpoint b = {.instance = "n", .ip = "", .ipv6 = "1"};
    uint32_t id;
    uint32_t other;
    (void)state;
    id = gce_numbers_take(x, &a);
    assert_int_equal(gce_numbers_take(x, &a), id);
    other = gce_numbers_take(x, &b);
    assert_int_not_equal(other, id); /* where the address stands matters */
    assert_int_equal(gce_numbers_count(x), 2);
    gce_numbers_drop(x, id);
    assert_true(gce_numbers_find(x, &a, &other));
    assert_string_equal(gce_numbers_get(x, other).ip, "1");
    gce_numbers_drop(x, id);
    assert_false(gce_numbers_find(x, &a, &other));
    assert_int_equal(gce_numbers_count(x), 1);
    assert_int_equal(gce_numbers_take(x, &a), id);
    gce_numbers_free(x);
}

/* Against a plain list, at random. */
static void gce_numbers__many__like_a_list(void **state)
{
    struct arena *a = arena_new();
    struct rng *rng = rng_seeded_new(3);
    struct gce_numbers *x = gce_numbers_new();
    unsigned uses[500] = {0};
    uint32_t ids[500];
    (void)state;
    for (int i = 0; i < 20000; i++) {
        size_t k = (size_t)rng_below(rng, 500);
        const struct gce_endpoint e = {
            .instance = arena_printf(a, "n%zu", k), .ip = "10.0.0.1", .ipv6 = ""};
        if (rng_below(rng, 2) == 0) {
            uint32_t id = gce_numbers_take(x, &e);
            assert_true(uses[k] == 0 || ids[k] == id);
            ids[k] = id;
            uses[k]++;
        } else if (uses[k] > 0) {
            gce_numbers_drop(x, ids[k]);
            uses[k]--;
        }
        uint32_t found;
        assert_int_equal(gce_numbers_find(x, &e, &found), uses[k] > 0);
        assert_true(uses[k] == 0 || str_eq(gce_numbers_get(x, found).instance, e.instance));
    }
    uint32_t in_use = 0;
    for (size_t k = 0; k < 500; k++) {
        in_use += uses[k] > 0;
    }
    assert_int_equal(gce_numbers_count(x), in_use);
    gce_numbers_free(x);
    rng_free(rng);
    arena_free(a);
}

/* ---- threads --------------------------------------------------------------------------------- */

struct worker {
    struct stand *s;
    int number;
};

static void *work(void *arg)
{
    const struct worker *w = arg;
    struct gce_endpoint *e;
    size_t n;
    bool due;
    struct arena *a = arena_new();
    const char *name = arena_printf(a, "n%d", w->number);
    const struct gce_endpoint shared[] = {E("a"), E("b"), E("c")};
    for (int i = 0; i < 2000; i++) {
        gce_neg_mirror_set(w->s->m, "z", name, shared, 2);
        gce_neg_mirror_add(w->s->m, "z", name, &shared[2], 1);
        gce_neg_mirror_remove(w->s->m, "z", name, shared, 2);
        (void)gce_neg_mirror_get(w->s->m, "z", name, a, &e, &n, &due);
        if (n != 1 || !str_eq(e[0].instance, "c")) {
            arena_free(a);
            return arg;
        }
        if (i % 100 == 99) {
            gce_neg_mirror_drop(w->s->m, "z", name);
        }
    }
    arena_free(a);
    return NULL;
}

static void gce_neg_mirror__many_threads__each_its_own_negs(void **state)
{
    pthread_t threads[4];
    struct worker workers[4];
    for (int i = 0; i < 4; i++) {
        workers[i] = (struct worker){.s = *state, .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        void *bad;
        assert_int_equal(pthread_join(threads[i], &bad), 0);
        assert_null(bad);
    }
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

UNIT_MAIN(neg_mirror)
{
    const struct CMUnitTest tests[] = {
        TEST(gce_neg_mirror__states),
        TEST(gce_neg_mirror_add__believed_by_size__becomes_unknown),
        TEST(gce_neg_mirror_zones__those_where_it_exists),
        TEST(gce_neg_mirror__compared_within_the_period__spread_over_it),
        TEST(gce_neg_mirror__no_period__never_due),
        TEST(gce_numbers__uses_are_counted__numbers_come_again),
        TEST(gce_numbers__many__like_a_list),
        TEST(gce_neg_mirror__many_threads__each_its_own_negs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
