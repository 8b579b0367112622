/* SPDX-License-Identifier: Apache-2.0 */
/* test_clock.c: the real and the fake clock, and random numbers. */
#include "tests/unit/base/base_test.h"

#include <pthread.h>
#include <string.h>

#include "common/base/clock.h"
#include "tests/support/clock_fake.h"
#include "tests/support/unit.h"

static void clock_real__two_looks__never_back(void **state)
{
    (void)state;
    struct clock *c = clock_real();
    int64_t before = clock_now_ms(c);
    assert_true(clock_now_ms(c) >= before);
    assert_true(clock_wall_s(c) > 1600000000);
    assert_int_equal(clock_subscribe(c, NULL, NULL), 0);
    clock_announce(c, 0, 5);
    clock_unsubscribe(c, 0);
}

static void clock_wait__real_deadline_in_the_past__returns(void **state)
{
    (void)state;
    struct clock *c = clock_real();
    struct mutex m = MUTEX_INIT;
    struct cond cond;
    cond_init(&cond);
    mutex_lock(&m);
    clock_wait(c, &cond, &m, -5);
    int64_t until = clock_now_ms(c) + 2;
    while (clock_now_ms(c) < until) {
        clock_wait(c, &cond, &m, until);
    }
    mutex_unlock(&m);
    cond_done(&cond);
}

/* A thread that waits for a moment of the clock, or for its stop. */
struct sleeper {
    struct clock *clock;
    int64_t until_ms;
    struct mutex lock;
    struct cond cond;
    bool waiting, stop, done; /* lock */
    int64_t woke_ms;
    int wakes;
};
static void *sleep_until(void *arg)
{
    struct sleeper *s = arg;
    mutex_lock(&s->lock);
    s->waiting = true;
    while (!s->stop && clock_now_ms(s->clock) < s->until_ms) {
        clock_wait(s->clock, &s->cond, &s->lock, s->until_ms);
        s->wakes++;
    }
    s->woke_ms = clock_now_ms(s->clock);
    s->done = true;
    mutex_unlock(&s->lock);
    return NULL;
}
static void sleeper_init(struct sleeper *s, struct clock *c, int64_t until_ms)
{
    *s = (struct sleeper){.clock = c, .until_ms = until_ms};
    mutex_init(&s->lock);
    cond_init(&s->cond);
}
static void sleeper_done(struct sleeper *s)
{
    mutex_done(&s->lock);
    cond_done(&s->cond);
}

static void clock_fake__advance__wakes_who_is_due(void **state)
{
    (void)state;
    struct clock *c = clock_fake_new(1000, 5000000);
    struct sleeper s[3];
    pthread_t t[3];
    for (int i = 0; i < 3; i++) {
        sleeper_init(&s[i], c, 1000 + 100 * (i + 1));
        pthread_create(&t[i], NULL, sleep_until, &s[i]);
    }
    while (clock_fake_next_ms(c) != 1100) {
        sched_yield();
    }
    clock_fake_advance(c, 100);
    pthread_join(t[0], NULL);
    assert_int_equal(s[0].woke_ms, 1100);
    clock_fake_advance(c, 150);
    clock_fake_advance(c, 50);
    pthread_join(t[1], NULL);
    pthread_join(t[2], NULL);
    assert_int_equal(s[2].woke_ms, 1300);
    assert_true(clock_fake_next_ms(c) == CLOCK_NEVER);
    assert_int_equal(clock_now_ms(c), 1300);
    assert_int_equal(clock_wall_us(c), 5300000);
    for (int i = 0; i < 3; i++) {
        sleeper_done(&s[i]);
    }
    clock_fake_free(c);
    clock_fake_free(NULL);
}

/* A clock that woke every waiter at each of its moves made most of the futex calls of
 * the whole tests. */
static void clock_fake__moves_before_the_moment__let_sleep(void **state)
{
    (void)state;
    enum { MOVES = 3000, SPURIOUS = 10 }; /* pthread_cond_wait() may wake for no reason */
    struct clock *c = clock_fake_new(0, 0);
    struct sleeper s[2];
    pthread_t t[2];
    sleeper_init(&s[0], c, MOVES + 1);
    sleeper_init(&s[1], c, CLOCK_NEVER);
    for (int i = 0; i < 2; i++) {
        pthread_create(&t[i], NULL, sleep_until, &s[i]);
    }
    while (clock_fake_waiting(c) < 2) {
        sched_yield();
    }
    for (int i = 0; i < MOVES; i++) {
        clock_fake_advance(c, 1);
        sched_yield();
    }
    clock_fake_advance(c, 1);
    pthread_join(t[0], NULL);
    mutex_lock(&s[1].lock);
    s[1].stop = true;
    cond_signal(&s[1].cond);
    mutex_unlock(&s[1].lock);
    pthread_join(t[1], NULL);
    for (int i = 0; i < 2; i++) {
        assert_in_range(s[i].wakes, 1, SPURIOUS);
        assert_int_equal(s[i].woke_ms, MOVES + 1);
        sleeper_done(&s[i]);
    }
    clock_fake_free(c);
}

static void clock_fake__signal_without_time__wakes_too(void **state)
{
    (void)state;
    struct clock *c = clock_fake_new(0, 0);
    struct sleeper s;
    pthread_t t;
    sleeper_init(&s, c, CLOCK_NEVER);
    pthread_create(&t, NULL, sleep_until, &s);
    mutex_lock(&s.lock);
    s.stop = true;
    cond_signal(&s.cond);
    mutex_unlock(&s.lock);
    pthread_join(t, NULL);
    assert_int_equal(s.woke_ms, 0);
    sleeper_done(&s);
    clock_fake_free(c);
}

static void *short_waits(void *arg)
{
    struct clock *c = arg;
    for (int i = 0; i < 300; i++) {
        struct sleeper s;
        sleeper_init(&s, c, clock_now_ms(c) + 1);
        (void)sleep_until(&s);
        sleeper_done(&s); /* a mover that still held on to it would crash here */
    }
    return NULL;
}
struct signaller {
    struct clock *clock;
    struct sleeper *sleeper;
};

static void clock_fake__many_short_waits__none_lost(void **state)
{
    (void)state;
    struct clock *c = clock_fake_new(0, 0);
    pthread_t t[3];
    for (int i = 0; i < 3; i++) {
        pthread_create(&t[i], NULL, short_waits, c);
    }
    pthread_t *left = t;
    while (left < t + 3) {
        if (clock_fake_next_ms(c) != CLOCK_NEVER) {
            clock_fake_advance(c, 1);
        }
        sched_yield();
        if (pthread_tryjoin_np(*left, NULL) == 0) {
            left++;
        }
    }
    clock_fake_free(c);
}

static void *signal_often(void *arg)
{
    struct signaller *s = arg;
    for (;;) {
        mutex_lock(&s->sleeper->lock);
        bool done = s->sleeper->done;
        cond_signal(&s->sleeper->cond);
        mutex_unlock(&s->sleeper->lock);
        if (done) {
            return NULL;
        }
        sched_yield();
    }
}

static void clock_fake__woken_and_moved_at_once__no_deadlock(void **state)
{
    (void)state;
    struct clock *c = clock_fake_new(0, 0);
    struct sleeper s;
    sleeper_init(&s, c, 2000);
    struct signaller g = {c, &s};
    pthread_t sleeping;
    pthread_t signalling;
    pthread_create(&sleeping, NULL, sleep_until, &s);
    pthread_create(&signalling, NULL, signal_often, &g);
    for (int i = 0; i < 2000; i++) {
        clock_fake_advance(c, 1);
    }
    pthread_join(sleeping, NULL);
    pthread_join(signalling, NULL);
    sleeper_done(&s);
    clock_fake_free(c);
}

static void on_move(void *arg)
{
    ++*(int *)arg;
}

static void clock_fake__subscribers_and_jumps__announced(void **state)
{
    (void)state;
    struct clock *c = clock_fake_new(10, 0);
    int moves = 0;
    int id = clock_subscribe(c, on_move, &moves);
    clock_announce(c, id, 500);
    assert_int_equal(clock_fake_next_ms(c), 500);
    clock_announce(c, id, 0);
    assert_true(clock_fake_next_ms(c) == CLOCK_NEVER);
    clock_fake_advance(c, 5);
    clock_fake_set_wall_us(c, -7);
    assert_int_equal(clock_wall_us(c), -7);
    assert_int_equal(clock_now_ms(c), 15);
    clock_announce(c, id, 25);
    clock_fake_advance(c, 9); /* not yet */
    assert_int_equal(moves, 1);
    clock_fake_advance(c, 1);
    assert_int_equal(moves, 2);
    clock_unsubscribe(c, id);
    clock_fake_advance(c, 5);
    assert_int_equal(moves, 2);
    struct mutex m = MUTEX_INIT;
    struct cond cond;
    cond_init(&cond);
    mutex_lock(&m);
    clock_wait(c, &cond, &m, 20); /* due already: does not sleep */
    mutex_unlock(&m);
    cond_done(&cond);
    clock_fake_free(c);
}

static void rng_seeded__same_seed__same_numbers(void **state)
{
    (void)state;
    struct rng *a = rng_seeded_new(42);
    struct rng *b = rng_seeded_new(42);
    struct rng *other = rng_seeded_new(43);
    bool differs = false;
    for (int i = 0; i < 100; i++) {
        uint64_t x = rng_u64(a);
        assert_true(x == rng_u64(b));
        differs = differs || x != rng_u64(other);
    }
    assert_true(differs);
    unsigned char p[13];
    unsigned char q[13];
    rng_bytes(a, p, sizeof p);
    rng_bytes(b, q, sizeof q);
    assert_memory_equal(p, q, sizeof p);
    rng_free(a);
    rng_free(b);
    rng_free(other);
    rng_free(NULL);
}

static void rng__ranges__kept(void **state)
{
    (void)state;
    struct rng *r = rng_seeded_new(7);
    bool seen[7] = {false};
    for (int i = 0; i < 2000; i++) {
        uint64_t x = rng_below(r, 7);
        assert_true(x < 7);
        seen[x] = true;
        double u = rng_unit(r);
        assert_true(u >= 0 && u < 1);
    }
    for (int i = 0; i < 7; i++) {
        assert_true(seen[i]);
    }
    assert_int_equal(rng_below(r, 1), 0);
    assert_true(rng_below(r, (UINT64_C(1) << 63) + 1) <= UINT64_C(1) << 63);
    rng_free(r);
    struct rng *real = rng_real();
    assert_true(rng_u64(real) != rng_u64(real));
    unsigned char bytes[3];
    rng_bytes(real, bytes, sizeof bytes);
    rng_free(real);
}

static void rng_uuid__form__version_4(void **state)
{
    (void)state;
    char uuid[37];
    struct rng *r = rng_seeded_new(1);
    for (int i = 0; i < 50; i++) {
        rng_uuid(i % 2 == 0 ? r : rng_real(), uuid);
        assert_int_equal(strlen(uuid), 36);
        assert_int_equal(strspn(uuid, "0123456789abcdef-"), 36);
        assert_true(uuid[8] == '-' && uuid[13] == '-' && uuid[18] == '-' && uuid[23] == '-');
        assert_int_equal(uuid[14], '4');
        assert_non_null(strchr("89ab", uuid[19]));
    }
    rng_free(r);
}

UNIT_MAIN(clock)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clock_real__two_looks__never_back),
        cmocka_unit_test(clock_wait__real_deadline_in_the_past__returns),
        cmocka_unit_test(clock_fake__advance__wakes_who_is_due),
        cmocka_unit_test(clock_fake__moves_before_the_moment__let_sleep),
        cmocka_unit_test(clock_fake__signal_without_time__wakes_too),
        cmocka_unit_test(clock_fake__many_short_waits__none_lost),
        cmocka_unit_test(clock_fake__woken_and_moved_at_once__no_deadlock),
        cmocka_unit_test(clock_fake__subscribers_and_jumps__announced),
        cmocka_unit_test(rng_seeded__same_seed__same_numbers),
        cmocka_unit_test(rng__ranges__kept),
        cmocka_unit_test(rng_uuid__form__version_4),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
