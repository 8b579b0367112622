/* SPDX-License-Identifier: Apache-2.0 */
/* test_queue_wakes.c: which workers the queue wakes: one when something is due before any of them
 * would look, and no other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <trimtab/provider.h>

#include "common/base/clock_impl.h"
#include "controller/queue/queue.h"
#include "tests/support/clock_fake.h"
#include "tests/support/unit.h"

/* ---- a real clock that counts waits ---------------------------------------------------------- */

struct counting_clock {
    struct clock clock;
    atomic_int waits;
};

static int64_t now_ms(struct clock *c)
{
    (void)c;
    return clock_now_ms(clock_real());
}

static int64_t wall_us(struct clock *c)
{
    (void)c;
    return clock_wall_us(clock_real());
}

_no_lock_check_ static void wait_counted(struct clock *c, struct cond *cond, struct mutex *m,
                                         int64_t until_ms)
{
    atomic_fetch_add(&((struct counting_clock *)c)->waits, 1);
    clock_wait(clock_real(), cond, m, until_ms);
}

static const struct clock_ops counting_ops = {
    .now_ms = now_ms, .wall_us = wall_us, .wait = wait_counted};

/* ---- workers --------------------------------------------------------------------------------- */

struct worker {
    struct queue *q;
    sem_t got;   /* posted for each batch */
    sem_t go_on; /* awaited before the batch is done */
    pthread_t thread;
};

static void *work(void *arg)
{
    struct worker *w = arg;
    struct queue_batch b = {0};

    while (queue_get(w->q, &b, NULL)) {
        sem_post(&w->got);
        while (sem_wait(&w->go_on) != 0) {
        }
        queue_done(w->q, &b);
        queue_batch_clear(&b);
    }
    return NULL;
}

static void start(struct worker *w, struct queue *q)
{
    w->q = q;
    sem_init(&w->got, 0, 0);
    sem_init(&w->go_on, 0, 0);
    assert_int_equal(0, pthread_create(&w->thread, NULL, work, w));
}

static void end(struct worker *w)
{
    sem_post(&w->go_on);
    sem_post(&w->go_on);
    pthread_join(w->thread, NULL);
    sem_destroy(&w->got);
    sem_destroy(&w->go_on);
}

static void until_waits(struct counting_clock *c, int n)
{
    while (atomic_load(&c->waits) < n) {
        sched_yield();
    }
}

static void queue__key_due_after_a_worker_looks__wakes_none(void **state)
{
    (void)state;
    struct counting_clock c = {.clock = {.ops = &counting_ops}};
    struct queue *q = queue_new(&(struct queue_limits){0}, &c.clock);
    struct worker w;

    queue_add_after(q, "first", NULL, TT_REASON_RESYNC, 3600000);
    start(&w, q);
    until_waits(&c, 1);
    for (int i = 0; i < 100; i++) { /* the worker would wait again after some of them */
        queue_add_after(q, "later", NULL, TT_REASON_RESYNC, 7200000);
        sched_yield();
    }
    queue_add(q, "now", NULL, TT_REASON_SPEC);
    sem_wait(&w.got);
    assert_int_equal(1, atomic_load(&c.waits));
    queue_shutdown(q, false);
    end(&w);
    queue_free(q);
}

static void until_next(struct clock *clock, int64_t ms)
{
    while (clock_fake_next_ms(clock) != ms) {
        sched_yield();
    }
}

static void queue__busy_worker__another_one_looks_when_the_next_key_is_due(void **state)
{
    (void)state;
    struct clock *clock = clock_fake_new(1000, 0);
    struct queue *q = queue_new(&(struct queue_limits){0}, clock);
    struct worker w[2];

    for (int i = 0; i < 2; i++) {
        start(&w[i], q);
    }
    while (clock_fake_waiting(clock) < 2) {
        sched_yield();
    }
    queue_add_after(q, "a", NULL, TT_REASON_RESYNC, 10);
    queue_add_after(q, "b", NULL, TT_REASON_RESYNC, 20);
    until_next(clock, 1010);
    clock_fake_advance(clock, 10);
    while (queue_counts(q).processing < 1) {
        sched_yield();
    }
    until_next(clock, 1020); /* the one that has "a" is not done with it */
    clock_fake_advance(clock, 10);
    for (int i = 0; i < 2; i++) {
        sem_wait(&w[i].got);
    }
    assert_int_equal(2, queue_counts(q).processing);
    queue_shutdown(q, false);
    for (int i = 0; i < 2; i++) {
        end(&w[i]);
    }
    queue_free(q);
    clock_fake_free(clock);
}

UNIT_MAIN(queue_wakes)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queue__key_due_after_a_worker_looks__wakes_none),
        cmocka_unit_test(queue__busy_worker__another_one_looks_when_the_next_key_is_due),
    };
    return cmocka_run_group_tests_name("controller-queue_wakes", tests, NULL, NULL);
}
