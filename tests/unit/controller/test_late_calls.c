/* SPDX-License-Identifier: Apache-2.0 */
/* test_late_calls.c: a call into a plugin that does not come back in time: the reports, and the
 * thread that replaces it.  A fake clock says what is late; the threads are real and wait for each
 * other, never for time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <string.h>

#include "controller/sync/late_calls.h"
#include "controller/sync/workers.h"
#include "tests/support/asleep.h"
#include "tests/support/clock_fake.h"
#include "tests/support/clock_mover.h"
#include "tests/support/no_threads.h"
#include "tests/support/unit.h"
#include "tests/unit/controller/stand.h"

#define TIMEOUT_MS 60000
#define ROUNDS     20

/* demo/hangs stays inside until it is let out. */
struct rig {
    struct stand *r;
    struct mutex lock;
    struct cond changed;
    bool inside, let_out;
    bool both;       /* demo/web stays inside, too */
    unsigned others; /* calls for other Services that have begun */
};

static void during(void *arg, struct fake_provider *p, const struct tt_call *call,
                   const struct tt_item *item)
{
    struct rig *g = arg;
    bool hangs = strcmp(item->service->name, "hangs") == 0;

    (void)p;
    (void)call;
    mutex_lock(&g->lock);
    if (hangs) {
        g->inside = true;
        cond_broadcast(&g->changed);
        while (!g->let_out) {
            clock_wait(clock_real(), &g->changed, &g->lock, CLOCK_NEVER);
        }
    } else {
        g->others++;
        cond_broadcast(&g->changed);
        while (g->both && !g->let_out) {
            clock_wait(clock_real(), &g->changed, &g->lock, CLOCK_NEVER);
        }
    }
    mutex_unlock(&g->lock);
}

/* The test's own time-out ends it when this never comes true. */
static void wait_for(struct rig *g, const bool *flag)
{
    mutex_lock(&g->lock);
    while (!*flag) {
        clock_wait(clock_real(), &g->changed, &g->lock, CLOCK_NEVER);
    }
    mutex_unlock(&g->lock);
}

static bool others_began(struct rig *g)
{
    mutex_lock(&g->lock);
    bool began = g->others > 0;
    mutex_unlock(&g->lock);
    return began;
}

/* Until another Service is dealt with and all threads wait again; the clock continues, because the
 * watch of calls may only now begin to wait for it. */
static void wait_for_others(struct rig *g)
{
    while (!others_began(g)) {
        (void)clock_let_pass(g->r->clock, CLOCK_NEVER);
    }
    while (!others_sleep()) {
        (void)poll(NULL, 0, 1);
    }
}

static struct workers *begin(struct rig *g)
{
    struct err err = ERR_INIT;
    struct stand *r = g->r;

    r->provider->during = during;
    r->provider->during_arg = g;
    r->syncer.call_timeout_ms = TIMEOUT_MS;
    r->syncer.late_max = 8;
    r->syncer.board = board_new(r->clock);
    stand_node(r, "node-0", NULL, NULL);
    struct workers *w = workers_new(&r->syncer, 1);
    assert_int_equal(ERR_OK, workers_start(w, &err));
    return w;
}

static void let_out(struct rig *g)
{
    mutex_lock(&g->lock);
    g->let_out = true;
    cond_broadcast(&g->changed);
    mutex_unlock(&g->lock);
    assert_true(
        queue_wait_idle(g->r->syncer.queue, clock_now_ms(clock_real()) + STAND_PATIENCE_MS));
}

/* Until the process counts as stuck: no thread works. */
static void wait_stuck(struct rig *g, struct workers *w)
{
    while (workers_ages(w).stuck_ms == 0) {
        (void)clock_let_pass(g->r->clock, CLOCK_NEVER);
    }
    mutex_lock(&g->lock);
    assert_int_equal(0, g->others);
    mutex_unlock(&g->lock);
}

static void late_call__keeps_its_thread__another_serves_the_rest(void **state)
{
    struct rig g = {.r = stand_new(0)};
    struct stand *r = g.r;
    struct board_view v;

    (void)state;
    mutex_init(&g.lock);
    cond_init(&g.changed);
    struct workers *w = begin(&g);
    stand_service(r, "hangs", STAND_LB, STAND_WITH_F, NULL);
    wait_for(&g, &g.inside);
    stand_service(r, "web", STAND_LB, STAND_WITH_F, NULL); /* the one worker is in there */
    clock_fake_advance(r->clock, TIMEOUT_MS + 10001);
    wait_for_others(&g);
    assert_true(metrics_value(r->metrics, METRIC_LATE_CALLS, NULL, 0) == 1);
    assert_true(metrics_value(r->metrics, METRIC_LATE_CALLS_TOTAL, NULL, 0) == 1);
    clock_fake_advance(r->clock, 60 * 60 * 1000);
    assert_int_equal(0, workers_ages(w).stuck_ms); /* the process need not end */
    board_look(r->syncer.board, r->a, &v);
    assert_string_equal("demo/hangs", v.rows[0].key);
    assert_int_equal(BOARD_FAILED, v.rows[0].state);
    assert_non_null(strstr(v.rows[0].message, "call ensure_load_balancer has not come back"));
    let_out(&g);
    board_look(r->syncer.board, r->a, &v);
    assert_int_equal(BOARD_READY, v.rows[0].state); /* it came back after all */
    queue_shutdown(r->syncer.queue, false);
    assert_true(workers_end(w, clock_now_ms(clock_real()) + STAND_PATIENCE_MS));
    assert_non_null(strstr(stand_events(r), "Warning SyncLoadBalancerFailed Error syncing load "
                                            "balancer: the provider's call ensure_load_balancer"));
    board_free(STEAL(r->syncer.board));
    cond_done(&g.changed);
    mutex_done(&g.lock);
    stand_free(r);
}

static void edit(struct stand *r, const char *name, unsigned round)
{
    stand_service(r, name, arena_printf(r->a, STAND_LB ",\"loadBalancerIP\":\"192.0.2.%u\"", round),
                  STAND_WITH_F, NULL);
}

/* One call comes back and ends with its substitute, another one is late before the next look: it
 * gets a substitute, too.  Of the two threads that are free at once, one stays. */
static void late_call__one_comes_back_and_another_is_late__another_serves_the_rest(void **state)
{
    struct rig g = {.r = stand_new(0), .both = true};
    struct stand *r = g.r;

    (void)state;
    mutex_init(&g.lock);
    cond_init(&g.changed);
    struct workers *w = begin(&g);
    for (unsigned i = 1; i <= ROUNDS; i++) {
        edit(r, "hangs", i);
        wait_for(&g, &g.inside);
        edit(r, "web", i);
        clock_fake_advance(r->clock, TIMEOUT_MS + 10001);
        wait_for_others(&g);
        mutex_lock(&g.lock);
        g.let_out = true;
        cond_broadcast(&g.changed);
        mutex_unlock(&g.lock);
        assert_true(
            queue_wait_idle(r->syncer.queue, clock_now_ms(clock_real()) + STAND_PATIENCE_MS));
        edit(r, "next", i);
        assert_true(
            queue_wait_idle(r->syncer.queue, clock_now_ms(clock_real()) + STAND_PATIENCE_MS));
        mutex_lock(&g.lock);
        g.inside = g.let_out = false;
        g.others = 0;
        mutex_unlock(&g.lock);
    }
    queue_shutdown(r->syncer.queue, false);
    assert_true(workers_end(w, clock_now_ms(clock_real()) + STAND_PATIENCE_MS));
    board_free(STEAL(r->syncer.board));
    cond_done(&g.changed);
    mutex_done(&g.lock);
    stand_free(r);
}

static void late_call__thread_refused__stuck_until_one_is_given(void **state)
{
    struct rig g = {.r = stand_new(0)};
    struct stand *r = g.r;

    (void)state;
    mutex_init(&g.lock);
    cond_init(&g.changed);
    struct workers *w = begin(&g);
    stand_service(r, "hangs", STAND_LB, STAND_WITH_F, NULL);
    wait_for(&g, &g.inside);
    stand_service(r, "web", STAND_LB, STAND_WITH_F, NULL);
    no_threads_begin();
    wait_stuck(&g, w);
    no_threads_end();
    wait_for_others(&g);
    assert_int_equal(0, workers_ages(w).stuck_ms);
    let_out(&g);
    queue_shutdown(r->syncer.queue, false);
    assert_true(workers_end(w, clock_now_ms(clock_real()) + STAND_PATIENCE_MS));
    board_free(STEAL(r->syncer.board));
    cond_done(&g.changed);
    mutex_done(&g.lock);
    stand_free(r);
}

/* The reports of an open call, with their number. */
static void host_calls_look__half_then_over__each_once(void **state)
{
    struct stand *r = stand_new(0);
    struct tt_item in = {.size = sizeof(in), .verb = TT_VERB_ENSURE};

    (void)state;
    stand_service(r, "web", STAND_LB, NULL, NULL);
    struct kube_object *o = kube_store_get(r->syncer.services, "demo/web");
    in.service = o->service;
    struct host_call *c = host_call_begin(r->host, r->a, 1, TIMEOUT_MS, 0, NULL);
    host_call_item(c, 0, &in);
    host_call_enter(c, "ensure_load_balancer");
    assert_int_equal(0, host_calls_look(r->host, r->a, 1000).n);
    clock_fake_advance(r->clock, TIMEOUT_MS / 2);
    struct host_looked half = host_calls_look(r->host, r->a, 1000);
    assert_int_equal(1, half.n);
    assert_false(half.calls[0].over);
    assert_string_equal("demo/web", half.calls[0].key);
    assert_int_equal(0, host_calls_look(r->host, r->a, 1000).n);
    clock_fake_advance(r->clock, TIMEOUT_MS / 2 + 1000);
    assert_int_equal(0, host_calls_over(r->host, 1000));
    clock_fake_advance(r->clock, 1);
    struct host_looked over = host_calls_look(r->host, r->a, 1000);
    assert_int_equal(1, over.n);
    assert_int_equal(1, over.over);
    assert_true(over.calls[0].over);
    assert_string_equal("web", over.calls[0].services[0].name);
    assert_int_equal(0, host_calls_look(r->host, r->a, 1000).n);
    assert_int_equal(1, host_calls_over(r->host, 1000));
    host_call_end(c);
    assert_int_equal(0, host_calls_over(r->host, 1000));
    kube_object_unref(o);
    stand_free(r);
}

UNIT_MAIN(late_calls)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(late_call__keeps_its_thread__another_serves_the_rest),
        cmocka_unit_test(late_call__one_comes_back_and_another_is_late__another_serves_the_rest),
        cmocka_unit_test(late_call__thread_refused__stuck_until_one_is_given),
        cmocka_unit_test(host_calls_look__half_then_over__each_once),
    };
    return cmocka_run_group_tests_name("controller-late-calls", tests, NULL, NULL);
}
