/* SPDX-License-Identifier: Apache-2.0 */
/* test_carriers.c: many Services in flight on few threads.  Calls into the fake provider wait until
 * all of them are inside; were one worker to wait for another, a test would never end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/base/task.h"
#include "controller/sync/carriers.h"
#include "controller/sync/workers.h"
#include "tests/support/no_threads.h"
#include "tests/support/unit.h"
#include "tests/unit/controller/stand.h"

#define MOST 40

struct rig {
    struct stand *r;
    struct workers *w;
    struct mutex lock;
    struct cond changed;
    unsigned inside, wanted; /* calls that are open, and how many there are to be before one ends */
    bool let_out;
    unsigned in_tasks;
    pthread_t threads[MOST];
    unsigned n_threads; /* different ones that made calls */
    bool cancellable;
    unsigned cancelled;
};

static void note_thread(struct rig *g) _requires_(g->lock)
{
    for (unsigned i = 0; i < g->n_threads; i++) {
        if (pthread_equal(g->threads[i], pthread_self())) {
            return;
        }
    }
    g->threads[g->n_threads++] = pthread_self();
}

/* Stays until as many as wanted are inside. */
static void during(void *arg, struct fake_provider *p, const struct tt_call *call,
                   const struct tt_item *item)
{
    struct rig *g = arg;

    (void)p;
    (void)item;
    mutex_lock(&g->lock);
    note_thread(g);
    g->inside++;
    g->in_tasks += task_current() != NULL;
    g->let_out |= g->inside == g->wanted;
    cond_broadcast(&g->changed);
    while (!g->let_out && !(g->cancellable && call->cancelled(call) != 0)) {
        clock_wait(clock_real(), &g->changed, &g->lock,
                   g->cancellable ? clock_now_ms(clock_real()) + 5 : CLOCK_NEVER);
    }
    g->cancelled += !g->let_out;
    mutex_unlock(&g->lock);
}

/* The lowest that is free becomes the limit.  Returns the limit before. */
static struct rlimit take_descriptors(void)
{
    struct rlimit before;
    int lowest = dup(STDERR_FILENO);

    assert_true(lowest >= 0);
    assert_int_equal(0, close(lowest));
    assert_int_equal(0, getrlimit(RLIMIT_NOFILE, &before));
    const struct rlimit none = {.rlim_cur = (rlim_t)lowest, .rlim_max = before.rlim_max};
    assert_int_equal(0, setrlimit(RLIMIT_NOFILE, &none));
    return before;
}

static void give_descriptors(struct rlimit before)
{
    assert_int_equal(0, setrlimit(RLIMIT_NOFILE, &before));
}

static void rig_prepare(struct rig *g, unsigned late_max)
{
    struct stand *r = g->r = stand_new(0);

    mutex_init(&g->lock);
    cond_init(&g->changed);
    r->provider->during = during;
    r->provider->during_arg = g;
    r->syncer.late_max = late_max;
    stand_node(r, "node-0", NULL, NULL);
}

static void rig_start(struct rig *g, unsigned most)
{
    struct err err = ERR_INIT;

    g->w = workers_new(&g->r->syncer, most);
    assert_int_equal(ERR_OK, workers_start(g->w, &err));
}

static void rig_begin(struct rig *g, unsigned most, unsigned late_max)
{
    rig_prepare(g, late_max);
    rig_start(g, most);
}

static void add_services(struct rig *g, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        stand_service(g->r, arena_printf(g->r->a, "web-%02u", i), STAND_LB, STAND_WITH_F, NULL);
    }
}

static void rig_wait_idle(struct rig *g)
{
    stand_wait_idle(g->r->syncer.queue);
}

static void rig_end(struct rig *g)
{
    queue_shutdown(g->r->syncer.queue, false);
    assert_true(workers_end(g->w, clock_now_ms(clock_real()) + STAND_PATIENCE_MS));
    cond_done(&g->changed);
    mutex_done(&g->lock);
    stand_free(g->r);
}

static void wait_inside(struct rig *g, unsigned n)
{
    mutex_lock(&g->lock);
    while (g->inside < n) {
        clock_wait(clock_real(), &g->changed, &g->lock, CLOCK_NEVER);
    }
    mutex_unlock(&g->lock);
}

static void workers__ten_services__all_in_flight_on_four_threads(void **state)
{
    struct rig g = {.wanted = 10};

    (void)state;
    rig_begin(&g, 10, 0);
    assert_int_equal(1, workers_threads(g.w));
    add_services(&g, 10);
    rig_wait_idle(&g);
    assert_int_equal(10, g.inside);
    assert_int_equal(10, g.in_tasks);
    assert_int_equal(4, g.n_threads);
    assert_int_equal(4, workers_threads(g.w));
    assert_int_equal(10, stand_patches(g.r));
    rig_end(&g);
}

static void workers__forty_in_flight__no_thread_more(void **state)
{
    struct rig g = {.wanted = 40};

    (void)state;
    rig_begin(&g, 40, 0);
    add_services(&g, 40);
    rig_wait_idle(&g);
    assert_int_equal(40, g.inside);
    assert_int_equal(4, g.n_threads);
    assert_int_equal(4, workers_threads(g.w));
    rig_end(&g);
}

/* The limit counts Services: the eleventh waits. */
static void workers__more_services_than_workers__limit_is_kept(void **state)
{
    struct rig g = {.wanted = 99};

    (void)state;
    rig_begin(&g, 10, 0);
    add_services(&g, 30);
    wait_inside(&g, 10);
    assert_int_equal(10, queue_counts(g.r->syncer.queue).processing);
    mutex_lock(&g.lock);
    g.wanted = 11;
    assert_int_equal(10, g.inside);
    g.let_out = true;
    cond_broadcast(&g.changed);
    mutex_unlock(&g.lock);
    rig_wait_idle(&g);
    assert_int_equal(30, g.inside);
    assert_int_equal(4, g.n_threads);
    rig_end(&g);
}

static void workers__one__no_tasks(void **state)
{
    struct rig g = {.wanted = 1};

    (void)state;
    rig_begin(&g, 1, 0);
    add_services(&g, 3);
    rig_wait_idle(&g);
    assert_int_equal(3, g.inside);
    assert_int_equal(0, g.in_tasks);
    rig_end(&g);
}

/* A plugin's calls block, so each has a thread. */
static void workers__plugin__a_thread_for_each_call(void **state)
{
    struct rig g = {.wanted = 6};

    (void)state;
    rig_begin(&g, 6, 8);
    add_services(&g, 6);
    rig_wait_idle(&g);
    assert_int_equal(6, g.inside);
    assert_int_equal(0, g.in_tasks);
    assert_int_equal(6, g.n_threads);
    assert_int_equal(6, workers_threads(g.w));
    rig_end(&g);
}

static void workers__second_thread_refused__the_first_carries_all(void **state)
{
    struct rig g = {.wanted = 40};

    (void)state;
    rig_begin(&g, 40, 0);
    no_threads_begin();
    add_services(&g, 40);
    rig_wait_idle(&g);
    no_threads_end();
    assert_int_equal(40, g.inside);
    assert_int_equal(1, g.n_threads);
    rig_end(&g);
}

/* A standby that comes to lead without a free descriptor works with one worker. */
static void workers__no_descriptor__the_first_works_without(void **state)
{
    struct rig g = {.wanted = 1};

    (void)state;
    rig_prepare(&g, 0);
    struct rlimit before = take_descriptors();
    rig_start(&g, 10);
    add_services(&g, 3);
    rig_wait_idle(&g);
    give_descriptors(before);
    assert_int_equal(3, g.inside);
    assert_int_equal(0, g.in_tasks);
    assert_int_equal(1, g.n_threads);
    rig_end(&g);
}

static void workers__no_descriptor_at_first__later_ones_are_tasks(void **state)
{
    struct rig g = {.wanted = 10};

    (void)state;
    rig_prepare(&g, 0);
    struct rlimit before = take_descriptors();
    rig_start(&g, 10);
    give_descriptors(before);
    add_services(&g, 10);
    rig_wait_idle(&g);
    assert_int_equal(10, g.inside);
    assert_int_equal(9, g.in_tasks);
    assert_int_equal(4, g.n_threads);
    rig_end(&g);
}

static void workers__no_descriptor_for_the_second__the_first_carries_all(void **state)
{
    struct rig g = {.wanted = 40};

    (void)state;
    rig_begin(&g, 40, 0);
    struct rlimit before = take_descriptors();
    add_services(&g, 40);
    rig_wait_idle(&g);
    give_descriptors(before);
    assert_int_equal(40, g.inside);
    assert_int_equal(1, g.n_threads);
    rig_end(&g);
}

static void workers__cancelled_while_all_are_inside__all_come_back(void **state)
{
    struct rig g = {.wanted = 99, .cancellable = true};

    (void)state;
    rig_begin(&g, 10, 0);
    add_services(&g, 10);
    wait_inside(&g, 10);
    queue_shutdown(g.r->syncer.queue, false);
    cancel_fire(g.r->cancel);
    assert_true(workers_end(g.w, clock_now_ms(clock_real()) + STAND_PATIENCE_MS));
    assert_int_equal(10, g.cancelled);
    cond_done(&g.changed);
    mutex_done(&g.lock);
    stand_free(g.r);
}

UNIT_MAIN(carriers)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers__ten_services__all_in_flight_on_four_threads),
        cmocka_unit_test(workers__forty_in_flight__no_thread_more),
        cmocka_unit_test(workers__more_services_than_workers__limit_is_kept),
        cmocka_unit_test(workers__one__no_tasks),
        cmocka_unit_test(workers__plugin__a_thread_for_each_call),
        cmocka_unit_test(workers__second_thread_refused__the_first_carries_all),
        cmocka_unit_test(workers__no_descriptor__the_first_works_without),
        cmocka_unit_test(workers__no_descriptor_at_first__later_ones_are_tasks),
        cmocka_unit_test(workers__no_descriptor_for_the_second__the_first_carries_all),
        cmocka_unit_test(workers__cancelled_while_all_are_inside__all_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
