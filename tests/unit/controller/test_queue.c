/* SPDX-License-Identifier: Apache-2.0 */
/* test_queue.c: the work queue: vectors 103–113 of the controller's spec, order, batches, and the
 * locked shell.
 *
 * The core gets its moments as numbers, so nothing here waits; only the last tests use threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trimtab/provider.h>

#include "common/base/arena.h"
#include "common/base/attr.h"
#include "controller/queue/queue.h"
#include "controller/queue/queue_core.h"
#include "controller/queue/queue_rules.h"
#include "tests/support/clock_fake.h"
#include "tests/support/unit.h"

#define SPEC   TT_REASON_SPEC
#define NODES  TT_REASON_NODES
#define RESYNC TT_REASON_RESYNC
#define AWAITS QUEUE_REASON_AWAITS

static struct queue_core *core(int64_t base_ms, int64_t max_ms)
{
    return queue_core_new(&(struct queue_limits){.base_ms = base_ms, .max_ms = max_ms});
}

/* Takes what is due; "" when nothing is.  The keys are joined by blanks. */
static const char *take(struct queue_core *q, int64_t now_ms)
{
    static char text[256];
    struct queue_batch b = {0};

    text[0] = '\0';
    if (!queue_core_get(q, now_ms, &b)) {
        return text;
    }
    for (size_t i = 0; i < b.n; i++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof(text) - used, "%s%s", i > 0 ? " " : "", b.items[i].key);
    }
    queue_batch_clear(&b);
    return text;
}

static void queue_rules__vectors_103_to_108__delay_doubles_to_the_maximum(void **state)
{
    (void)state;
    static const struct {
        int row;
        int64_t base_ms, max_ms, failures, want_ms;
    } rows[] = {
        {103, 1, 1000, 0, 1},
        {103, 1, 1000, 4, 16},
        {106, 1, 1000000, 5, 32},
        {106, 1, 1000000, 1000, 1000000},
        {107, 60000, 3600000000, 2, 240000},
        {108, 5000, 300000, 0, 5000},
        {108, 5000, 300000, 1, 10000},
        {108, 5000, 300000, 2, 20000},
        {108, 5000, 300000, 3, 40000},
        {108, 5000, 300000, 4, 80000},
        {108, 5000, 300000, 5, 160000},
        {108, 5000, 300000, 6, 300000},
        {108, 5000, 300000, 7, 300000},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t got = queue_retry_delay_ms(rows[i].base_ms, rows[i].max_ms, rows[i].failures);
        if (got != rows[i].want_ms) {
            fail_msg("row %d, %d failures: %lld, want %lld", rows[i].row, (int)rows[i].failures,
                     (long long)got, (long long)rows[i].want_ms);
        }
    }
}

static void queue_rules__retry_after__has_a_floor(void **state)
{
    (void)state;
    assert_int_equal(1000, queue_retry_after_ms(0));
    assert_int_equal(1000, queue_retry_after_ms(-5));
    assert_int_equal(42000, queue_retry_after_ms(42000));
}

static void queue_core__vectors_103_to_105__counts_are_per_key(void **state)
{
    (void)state;
    static const int64_t want[] = {1, 2, 4, 8, 16};
    struct queue_core *q = core(1, 1000);

    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        assert_int_equal(want[i], queue_core_fail_capped(q, "one", INT64_MAX));
    }
    assert_int_equal(5, queue_core_failures(q, "one"));
    assert_int_equal(1, queue_core_fail_capped(q, "two", INT64_MAX)); /* 104 */
    assert_int_equal(2, queue_core_fail_capped(q, "two", INT64_MAX));
    queue_core_forget(q, "one"); /* 105 */
    assert_int_equal(0, queue_core_failures(q, "one"));
    assert_int_equal(1, queue_core_fail_capped(q, "one", INT64_MAX));
    queue_core_free(q);
}

static void queue_core__vector_109__added_while_processing__one_more_run(void **state)
{
    (void)state;
    struct queue_core *q = core(0, 0);

    queue_core_add(q, "k", NULL, SPEC, 0);
    assert_string_equal("k", take(q, 0));
    queue_core_add(q, "k", NULL, SPEC, 1);
    queue_core_add(q, "k", NULL, NODES, 2);
    assert_string_equal("", take(q, 3));
    queue_core_done(q, "k", 4);
    assert_string_equal("k", take(q, 5));
    queue_core_done(q, "k", 6);
    assert_string_equal("", take(q, 7));
    queue_core_free(q);
}

static void queue_core__vector_110__added_twice__one_run_with_all_reasons(void **state)
{
    (void)state;
    struct queue_core *q = core(0, 0);
    struct queue_batch b = {0};

    queue_core_add(q, "k", NULL, SPEC, 0);
    queue_core_add(q, "k", NULL, NODES, 0);
    assert_true(queue_core_get(q, 0, &b));
    assert_int_equal(1, b.n);
    assert_int_equal(SPEC | NODES, b.items[0].reasons);
    queue_batch_clear(&b);
    assert_string_equal("", take(q, 0));
    assert_int_equal(1, queue_core_counts(q).adds);
    queue_core_free(q);
}

static void queue_core__vectors_111_and_112__the_earlier_moment_counts(void **state)
{
    (void)state;
    static const int64_t delays[][2] = {{50, 1000}, {1000, 50}};

    for (size_t i = 0; i < ARRAY_LEN(delays); i++) {
        struct queue_core *q = core(0, 0);
        queue_core_add_after(q, "k", NULL, RESYNC, delays[i][0], 0);
        queue_core_add_after(q, "k", NULL, RESYNC, delays[i][1], 0);
        assert_int_equal(50, queue_core_next_ms(q, 0));
        assert_string_equal("", take(q, 49));
        assert_string_equal("k", take(q, 50));
        queue_core_done(q, "k", 60);
        assert_string_equal("", take(q, 2000));
        assert_int_equal(INT64_MAX, queue_core_next_ms(q, 2000));
        queue_core_free(q);
    }
}

static void queue_core__vector_113__shut_down__drains_then_quits(void **state)
{
    (void)state;
    struct queue_core *q = core(0, 0);

    queue_core_add(q, "k", NULL, SPEC, 0);
    queue_core_shutdown(q, true);
    queue_core_add(q, "late", NULL, SPEC, 0);
    assert_string_equal("k", take(q, 0));
    assert_string_equal("", take(q, 1000));
    assert_true(queue_core_is_shut_down(q));
    queue_core_free(q);
}

static void queue_core__shut_down_without_draining__nothing_is_handed_out(void **state)
{
    (void)state;
    struct queue_core *q = core(0, 0);

    queue_core_add(q, "a", NULL, SPEC, 0);
    queue_core_add(q, "b", "shared", SPEC, 0);
    queue_core_add_after(q, "c", NULL, SPEC, 10, 0);
    queue_core_add(q, "d", NULL, SPEC, 0);
    assert_string_equal("a", take(q, 0));
    queue_core_add(q, "a", NULL, SPEC, 0);
    queue_core_shutdown(q, false);
    queue_core_done(q, "a", 1);
    assert_string_equal("", take(q, 100000));
    assert_int_equal(0, queue_core_counts(q).waiting);
    queue_core_free(q);
}

static void queue_core__delayed_and_added__two_independent_runs(void **state)
{
    (void)state;
    struct queue_core *q = core(0, 0);

    queue_core_add_after(q, "k", NULL, RESYNC, 100, 0);
    queue_core_add(q, "k", NULL, NODES, 10);
    assert_string_equal("k", take(q, 10));
    queue_core_done(q, "k", 20);
    assert_string_equal("", take(q, 99));
    assert_string_equal("k", take(q, 100));
    queue_core_free(q);
}

static void queue_core__undelay__takes_back_only_its_reasons(void **state)
{
    (void)state;
    struct queue_core *q = core(0, 0);

    queue_core_add_after(q, "k", NULL, RESYNC, 100, 0);
    queue_core_add_after(q, "k", NULL, TT_REASON_ENDPOINTS, 200, 0);
    assert_false(queue_core_undelay(q, "k", RESYNC | SPEC));
    assert_int_equal(1, queue_core_counts(q).delayed);
    assert_true(queue_core_undelay(q, "k", TT_REASON_ENDPOINTS));
    assert_int_equal(0, queue_core_counts(q).delayed);
    assert_false(queue_core_undelay(q, "k", RESYNC));
    queue_core_free(q);
}

static void queue_core__resync_and_endpoints_delayed__each_has_its_own_run(void **state)
{
    (void)state;
    static const struct {
        int64_t resync_ms, endpoints_ms;
        uint32_t first, second; /* reasons */
    } rows[] = {
        {600000, 100, TT_REASON_ENDPOINTS, RESYNC},
        {50, 100, RESYNC, TT_REASON_ENDPOINTS},
        {100, 100, RESYNC | TT_REASON_ENDPOINTS, 0},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct queue_core *q = core(0, 0);
        struct queue_batch b = {0};
        int64_t first_ms = rows[i].resync_ms < 100 ? rows[i].resync_ms : 100;
        queue_core_add_after(q, "k", NULL, RESYNC, rows[i].resync_ms, 0);
        queue_core_add_after(q, "k", NULL, TT_REASON_ENDPOINTS, rows[i].endpoints_ms, 0);
        assert_int_equal(first_ms, queue_core_next_ms(q, 0));
        assert_true(queue_core_get(q, first_ms, &b));
        assert_int_equal(rows[i].first, b.items[0].reasons);
        queue_batch_clear(&b);
        queue_core_done(q, "k", first_ms);
        assert_int_equal(rows[i].second != 0, queue_core_get(q, 600000, &b));
        assert_int_equal(rows[i].second, b.n > 0 ? b.items[0].reasons : 0);
        queue_batch_clear(&b);
        queue_core_free(q);
    }
}

/* The moment of the change that the next run serves; INT64_MAX: a re-sync alone; -1:
 * nothing is due. */
static int64_t take_change(struct queue_core *q, int64_t now_ms)
{
    struct queue_batch b = {0};
    int64_t changed_ms = -1;

    if (queue_core_get(q, now_ms, &b)) {
        changed_ms = b.items[0].changed_ms;
        queue_batch_clear(&b);
    }
    return changed_ms;
}

static void queue_core__change__counts_from_the_first_until_a_good_run(void **state)
{
    (void)state;
    struct queue_core *q = core(1000, 8000);

    queue_core_add(q, "one", NULL, RESYNC, 5);
    queue_core_add(q, "one", NULL, SPEC, 10);
    queue_core_add(q, "one", NULL, NODES, 20);
    assert_int_equal(10, take_change(q, 30));
    queue_core_add(q, "one", NULL, SPEC, 40); /* while it runs: for the next run */
    (void)queue_core_fail_capped(q, "one", INT64_MAX);
    queue_core_add_after(q, "one", NULL, RESYNC | SPEC, 1000, 50);
    queue_core_done(q, "one", 50);
    assert_int_equal(10, take_change(q, 60)); /* what failed is still waited for */
    queue_core_forget(q, "one");
    (void)queue_core_undelay(q, "one", SPEC | RESYNC);
    queue_core_done(q, "one", 70);
    assert_int_equal(-1, take_change(q, 5000));
    queue_core_add(q, "one", NULL, RESYNC, 6000);
    assert_int_equal(INT64_MAX, take_change(q, 6000));
    queue_core_done(q, "one", 6000);
    queue_core_free(q);
}

/* Put off without a failure ("ask again in a second"), and changed while a good run
 * is under way. */
static void queue_core__change__put_off_or_new__keeps_its_moment(void **state)
{
    (void)state;
    struct queue_core *q = core(1000, 8000);

    queue_core_add(q, "one", "group", SPEC, 10);
    assert_int_equal(10, take_change(q, 2010));
    queue_core_add_after(q, "one", "group", RESYNC | SPEC, 1000, 2020);
    queue_core_done(q, "one", 2020);
    assert_int_equal(10, take_change(q, 5020));
    queue_core_add(q, "one", "group", NODES, 5030);
    queue_core_forget(q, "one");
    queue_core_done(q, "one", 5040);
    assert_int_equal(5030, take_change(q, 9000));
    queue_core_done(q, "one", 9000);
    queue_core_free(q);
}

static void queue_core__new_services__go_before_resyncs_and_node_changes(void **state)
{
    (void)state;
    struct queue_core *q = core(0, 0);

    queue_core_add(q, "resync", NULL, RESYNC, 0);
    queue_core_add(q, "nodes", NULL, NODES, 0);
    queue_core_add(q, "new", NULL, SPEC, 1);
    queue_core_add(q, "nodes", NULL, TT_REASON_CLEANUP, 2);
    assert_string_equal("new", take(q, 3));
    assert_string_equal("nodes", take(q, 3));
    assert_string_equal("resync", take(q, 3));
    queue_core_free(q);
}

static void queue_core__a_long_wait__counts_as_urgent(void **state)
{
    (void)state;
    struct queue_core *q = core(0, 0);

    queue_core_add(q, "resync", NULL, RESYNC, 0);
    queue_core_add(q, "new", NULL, SPEC, QUEUE_PATIENCE_MS);
    assert_string_equal("resync", take(q, QUEUE_PATIENCE_MS));
    queue_core_free(q);
}

static void queue_core__batch__a_long_wait__goes_before_what_is_urgent(void **state)
{
    (void)state;
    struct queue_core *q = core(0, 0);

    queue_core_add(q, "a", "lb", RESYNC, 0);
    for (int i = 0; i < 3; i++) { /* edits come all the time */
        queue_core_add(q, "new", NULL, SPEC, QUEUE_PATIENCE_MS - 1 + i);
        assert_string_equal(i == 1 ? "a" : "new", take(q, QUEUE_PATIENCE_MS - 1 + i));
        if (i != 1) {
            queue_core_done(q, "new", QUEUE_PATIENCE_MS - 1 + i);
        }
    }
    queue_core_free(q);
}

static void queue_core__batch__gathers_until_idle(void **state)
{
    (void)state;
    struct queue_core *q = core(0, 0);

    queue_core_add(q, "a", "lb", SPEC, 0);
    queue_core_add(q, "b", "lb", RESYNC, 60);
    queue_core_add(q, "single", NULL, SPEC, 60);
    assert_string_equal("single", take(q, 61));
    assert_string_equal("", take(q, 100)); /* 100 ms after a, but only 40 after b */
    assert_int_equal(160, queue_core_next_ms(q, 100));
    assert_string_equal("a b", take(q, 160));
    assert_int_equal(3, queue_core_counts(q).processing);
    queue_core_free(q);
}

static void queue_core__batch__does_not_gather_for_ever(void **state)
{
    (void)state;
    struct queue_core *q = core(0, 0);
    char key[16];

    for (int i = 0; i <= 40; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        queue_core_add(q, key, "lb", SPEC, i * 50);
        if (i < 40) {
            assert_string_equal("", take(q, i * 50));
        }
    }
    assert_true(strncmp(take(q, 2000), "k0 k1 ", 6) == 0);
    queue_core_free(q);
}

static void queue_core__batch__waits_for_the_one_under_way(void **state)
{
    (void)state;
    struct queue_core *q = core(0, 0);

    queue_core_add(q, "a", "lb", SPEC, 0);
    queue_core_add(q, "b", "lb", SPEC, 0);
    assert_string_equal("a b", take(q, 100));
    queue_core_add(q, "c", "lb", SPEC, 110);
    queue_core_add(q, "other", "lb2", SPEC, 110);
    assert_string_equal("other", take(q, 1000));
    assert_string_equal("", take(q, 1000));
    queue_core_done(q, "a", 1000);
    assert_string_equal("", take(q, 1200));
    queue_core_add(q, "a", "lb", NODES, 1200);
    queue_core_done(q, "b", 1300);
    assert_string_equal("c a", take(q, 1300));
    queue_core_free(q);
}

static void queue_core__batch__at_most_batch_max_keys_and_the_others_at_once(void **state)
{
    (void)state;
    struct queue_core *q = queue_core_new(&(struct queue_limits){.batch_max = 2});

    queue_core_add(q, "a", "lb", SPEC, 0);
    queue_core_add(q, "b", "lb", SPEC, 0);
    queue_core_add(q, "c", "lb", SPEC, 0);
    assert_string_equal("a b", take(q, 100));
    queue_core_add(q, "b", "lb", SPEC, 110);
    assert_string_equal("", take(q, 5000)); /* one batch of a group at a time */
    queue_core_done(q, "a", 5000);
    queue_core_done(q, "b", 5000);
    assert_int_equal(5000, queue_core_next_ms(q, 5000));
    assert_string_equal("c b", take(q, 5000)); /* c had waited; no second debounce */
    queue_core_free(q);
}

static void queue_core__batch__a_retry_joins_without_a_second_debounce(void **state)
{
    (void)state;
    struct queue_core *q = core(0, 0);

    queue_core_add_after(q, "a", "lb", RESYNC, 5000, 0);
    assert_string_equal("", take(q, 4999));
    assert_string_equal("a", take(q, 5100));
    queue_core_free(q);
}

/* It waits for another key of its group: it is processed with that one's edit, and with nothing
 * else. */
static void queue_core__batch__one_that_awaits_comes_along_with_an_edit(void **state)
{
    (void)state;
    struct queue_core *q = core(0, 0);

    queue_core_add_after(q, "a", "lb", RESYNC | SPEC | AWAITS, 60000, 0);
    queue_core_add_after(q, "b", "lb", RESYNC | SPEC, 60000, 0);
    queue_core_add_after(q, "c", "other", RESYNC | SPEC | AWAITS, 60000, 0);
    queue_core_add(q, "d", "lb", NODES, 0);
    assert_string_equal("d", take(q, 2000));
    queue_core_done(q, "d", 2000);
    queue_core_add(q, "d", "lb", SPEC, 2000);
    assert_string_equal("d a", take(q, 4000));
    queue_core_done(q, "d", 4000);
    queue_core_done(q, "a", 4000);
    assert_string_equal("b", take(q, 61000));
    assert_string_equal("c", take(q, 61000));
    queue_core_done(q, "b", 60000);
    queue_core_done(q, "c", 60000);
    assert_string_equal("", take(q, 600000));
    queue_core_free(q);
}

static void queue_core__awaits__is_no_reason_of_its_own(void **state)
{
    (void)state;
    struct queue_core *q = core(0, 0);

    queue_core_add_after(q, "a", "lb", RESYNC | AWAITS, 1000, 0);
    assert_true(queue_core_undelay(q, "a", RESYNC));
    assert_string_equal("", take(q, 600000));
    queue_core_add_after(q, "a", "lb", RESYNC | AWAITS, 0, 600000);
    struct queue_batch b = {0};
    assert_true(queue_core_get(q, 700000, &b));
    assert_int_equal(RESYNC, b.items[0].reasons);
    queue_batch_clear(&b);
    queue_core_done(q, "a", 700000);
    queue_core_free(q);
}

static void queue_core__batch_key__changes_only_between_runs(void **state)
{
    (void)state;
    struct queue_core *q = core(0, 0);
    struct queue_batch b = {0};

    queue_core_add(q, "a", "one", SPEC, 0);
    queue_core_add(q, "a", "two", SPEC, 0);
    assert_true(queue_core_get(q, 100, &b));
    assert_string_equal("one", b.batch_key);
    queue_batch_clear(&b);
    queue_core_add(q, "a", "two", SPEC, 100);
    queue_core_done(q, "a", 150);
    assert_true(queue_core_get(q, 250, &b));
    assert_string_equal("two", b.batch_key);
    queue_batch_clear(&b);
    queue_core_free(q);
}

/* ---- the shell ------------------------------------------------------------------------------- */

static void queue__clock_moves__a_delayed_key_is_handed_out(void **state)
{
    (void)state;
    struct clock *clock = clock_fake_new(1000, 0);
    struct queue *q = queue_new(&(struct queue_limits){0}, clock);
    struct queue_batch b = {0};
    bool others = true;

    queue_add_after(q, "k", NULL, RESYNC, 42000);
    assert_true(queue_is_idle(q));
    assert_int_equal(43000, queue_next_ms(q));
    clock_fake_advance(clock, 42000);
    assert_false(queue_is_idle(q));
    assert_true(queue_get(q, &b, &others));
    assert_string_equal("k", b.items[0].key);
    assert_false(others);
    queue_done(q, &b);
    queue_batch_clear(&b);
    assert_true(queue_wait_idle(q, 0));
    queue_shutdown(q, false);
    assert_false(queue_get(q, &b, NULL));
    queue_free(q);
    clock_fake_free(clock);
}

#define KEYS      200
#define PRODUCERS 4
#define CONSUMERS 4

struct crowd {
    struct queue *q;
    struct mutex lock;
    int running[KEYS];
    int runs;
    bool overlapped;
};

static void *produce(void *arg)
{
    struct crowd *c = arg;
    char key[16];

    for (int i = 0; i < KEYS * 5; i++) {
        snprintf(key, sizeof(key), "%d", i % KEYS);
        queue_add(c->q, key, i % 3 == 0 ? "shared" : NULL, SPEC);
    }
    return NULL;
}

static void crowd_mark(struct crowd *c, const struct queue_batch *b, int by)
{
    mutex_lock(&c->lock);
    for (size_t i = 0; i < b->n; i++) {
        long k = strtol(b->items[i].key, NULL, 10);
        c->running[k] += by;
        c->overlapped = c->overlapped || c->running[k] > 1;
        c->runs += by > 0;
    }
    mutex_unlock(&c->lock);
}

static void *consume(void *arg)
{
    struct crowd *c = arg;
    struct queue_batch b = {0};

    while (queue_get(c->q, &b, NULL)) {
        crowd_mark(c, &b, 1);
        crowd_mark(c, &b, -1);
        queue_done(c->q, &b);
        queue_batch_clear(&b);
    }
    return NULL;
}

static void queue__many_threads__no_key_runs_twice_at_once(void **state)
{
    (void)state;
    struct crowd c = {.q = queue_new(&(struct queue_limits){0}, clock_real())};
    pthread_t producers[PRODUCERS];
    pthread_t consumers[CONSUMERS];

    mutex_init(&c.lock);
    for (int i = 0; i < CONSUMERS; i++) {
        pthread_create(&consumers[i], NULL, consume, &c);
    }
    for (int i = 0; i < PRODUCERS; i++) {
        pthread_create(&producers[i], NULL, produce, &c);
    }
    for (int i = 0; i < PRODUCERS; i++) {
        pthread_join(producers[i], NULL);
    }
    queue_shutdown(c.q, true);
    for (int i = 0; i < CONSUMERS; i++) {
        pthread_join(consumers[i], NULL);
    }
    assert_false(c.overlapped);
    assert_true(c.runs >= KEYS);
    assert_int_equal(0, queue_counts(c.q).waiting);
    assert_int_equal(0, queue_counts(c.q).processing);
    queue_free(c.q);
    mutex_done(&c.lock);
}

#define LOOK QUEUE_REASON_LOOK

static void core__looks__wait_behind_everything_and_have_a_moment_of_their_own(void **state)
{
    (void)state;
    struct queue_core *q = core(5000, 300000);

    queue_core_add(q, "look-1", NULL, LOOK, 0);
    queue_core_add(q, "look-2", NULL, LOOK, 0);
    queue_core_add(q, "look-3", "group", LOOK, 0);
    queue_core_add(q, "look-4", "group", LOOK, 0);
    assert_int_equal(4, queue_core_counts(q).looks);
    queue_core_add(q, "again", NULL, RESYNC, 0);
    queue_core_add(q, "edit", NULL, SPEC, 0);
    queue_core_add(q, "look-2", NULL, NODES, 0); /* more to be done than to look */
    queue_core_add(q, "look-4", "group", SPEC, 0);
    assert_int_equal(2, queue_core_counts(q).looks);
    /* patience is for work: looks have waited long by now, and still are last */
    assert_string_equal("again", take(q, QUEUE_PATIENCE_MS));
    assert_string_equal("look-2", take(q, QUEUE_PATIENCE_MS));
    assert_string_equal("look-4", take(q, QUEUE_PATIENCE_MS));
    assert_string_equal("edit", take(q, QUEUE_PATIENCE_MS));
    assert_string_equal("look-3", take(q, QUEUE_PATIENCE_MS));
    assert_string_equal("look-1", take(q, QUEUE_PATIENCE_MS));
    assert_string_equal("", take(q, QUEUE_PATIENCE_MS));
    queue_core_free(q);
}

static void core__delayed_look__neither_hastens_nor_keeps_back_what_else_is_delayed(void **state)
{
    (void)state;
    struct queue_core *q = core(5000, 300000);
    struct queue_batch b = {0};

    queue_core_add_after(q, "a", NULL, LOOK, 9000, 0);
    queue_core_add_after(q, "a", NULL, RESYNC, 5000, 0);
    assert_int_equal(5000, queue_core_next_ms(q, 0));
    assert_true(queue_core_get(q, 5000, &b));
    assert_int_equal(RESYNC, b.items[0].reasons);
    queue_core_done(q, "a", 5000);
    queue_batch_clear(&b);
    assert_false(queue_core_undelay(q, "a", SPEC | RESYNC)); /* the look stays */
    assert_int_equal(9000, queue_core_next_ms(q, 5000));
    assert_true(queue_core_get(q, 9000, &b));
    assert_int_equal(LOOK, b.items[0].reasons);
    assert_true(b.items[0].changed_ms == INT64_MAX); /* no worker waits for it */
    queue_core_add(q, "a", NULL, SPEC, 9000);        /* while it is being looked at */
    queue_core_done(q, "a", 9000);
    queue_batch_clear(&b);
    assert_true(queue_core_get(q, 9000, &b));
    assert_int_equal(SPEC, b.items[0].reasons);
    queue_core_done(q, "a", 9000);
    queue_batch_clear(&b);
    queue_core_add(q, "b", "g", LOOK, 9000);
    queue_core_shutdown(q, false);
    assert_int_equal(0, queue_core_counts(q).looks);
    assert_int_equal(0, queue_core_counts(q).waiting);
    queue_core_free(q);
}

UNIT_MAIN(queue)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(core__looks__wait_behind_everything_and_have_a_moment_of_their_own),
        cmocka_unit_test(core__delayed_look__neither_hastens_nor_keeps_back_what_else_is_delayed),
        cmocka_unit_test(queue_rules__vectors_103_to_108__delay_doubles_to_the_maximum),
        cmocka_unit_test(queue_rules__retry_after__has_a_floor),
        cmocka_unit_test(queue_core__vectors_103_to_105__counts_are_per_key),
        cmocka_unit_test(queue_core__vector_109__added_while_processing__one_more_run),
        cmocka_unit_test(queue_core__vector_110__added_twice__one_run_with_all_reasons),
        cmocka_unit_test(queue_core__vectors_111_and_112__the_earlier_moment_counts),
        cmocka_unit_test(queue_core__vector_113__shut_down__drains_then_quits),
        cmocka_unit_test(queue_core__shut_down_without_draining__nothing_is_handed_out),
        cmocka_unit_test(queue_core__delayed_and_added__two_independent_runs),
        cmocka_unit_test(queue_core__undelay__takes_back_only_its_reasons),
        cmocka_unit_test(queue_core__resync_and_endpoints_delayed__each_has_its_own_run),
        cmocka_unit_test(queue_core__change__counts_from_the_first_until_a_good_run),
        cmocka_unit_test(queue_core__change__put_off_or_new__keeps_its_moment),
        cmocka_unit_test(queue_core__new_services__go_before_resyncs_and_node_changes),
        cmocka_unit_test(queue_core__a_long_wait__counts_as_urgent),
        cmocka_unit_test(queue_core__batch__a_long_wait__goes_before_what_is_urgent),
        cmocka_unit_test(queue_core__batch__gathers_until_idle),
        cmocka_unit_test(queue_core__batch__does_not_gather_for_ever),
        cmocka_unit_test(queue_core__batch__waits_for_the_one_under_way),
        cmocka_unit_test(queue_core__batch__at_most_batch_max_keys_and_the_others_at_once),
        cmocka_unit_test(queue_core__batch__a_retry_joins_without_a_second_debounce),
        cmocka_unit_test(queue_core__batch__one_that_awaits_comes_along_with_an_edit),
        cmocka_unit_test(queue_core__awaits__is_no_reason_of_its_own),
        cmocka_unit_test(queue_core__batch_key__changes_only_between_runs),
        cmocka_unit_test(queue__clock_moves__a_delayed_key_is_handed_out),
        cmocka_unit_test(queue__many_threads__no_key_runs_twice_at_once),
    };
    return cmocka_run_group_tests_name("controller-queue", tests, NULL, NULL);
}
