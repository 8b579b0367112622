/* SPDX-License-Identifier: Apache-2.0 */
/* test_call_watch.c: calls that are cancelled or run out of time fire their cancel. */
#include "tests/unit/lb/lb_test.h"

#include "common/base/clock.h"
#include "common/base/lock.h"
#include "common/lb/call_watch.h"
#include "tests/support/no_threads.h"
#include "tests/support/own_process.h"
#include "tests/support/unit.h"

#include <stdatomic.h>
#include <string.h>

/* A host whose clock and a call whose wish are the test's. */
struct world {
    _Atomic int64_t now_ms;
    _Atomic int32_t cancelled;
    struct tt_host host;
    struct tt_call call;
    struct cancel *cancel;
    struct call_watch_entry entry;
    int n_lines; /* in the log */
};

static int64_t world_now(struct tt_host_ctx *ctx)
{
    return atomic_load(&((struct world *)ctx)->now_ms);
}

static int32_t world_cancelled(const struct tt_call *call)
{
    return atomic_load(&CONTAINER_OF(call, struct world, call)->cancelled);
}

static void world_init(struct world *w, int64_t deadline_ms)
{
    *w = (struct world){
        .host = {.size = sizeof w->host, .ctx = (struct tt_host_ctx *)w, .now_ms = world_now},
        .call = {.size = sizeof w->call, .deadline_ms = deadline_ms, .cancelled = world_cancelled},
        .cancel = cancel_new(NULL)};
    w->entry = (struct call_watch_entry){.call = &w->call, .host = &w->host, .cancel = w->cancel};
}

/* Blocks until the cancel fires: the watch must get there by itself. */
struct bell {
    struct mutex lock;
    struct cond rung;
};

static void bell_ring(void *arg)
{
    struct bell *b = arg;
    mutex_lock(&b->lock);
    cond_broadcast(&b->rung);
    mutex_unlock(&b->lock);
}

static void wait_fired(struct cancel *c)
{
    struct bell b;
    mutex_init(&b.lock);
    cond_init(&b.rung);
    int hook = cancel_hook(c, bell_ring, &b);
    mutex_lock(&b.lock);
    while (!cancel_fired(c)) {
        clock_wait(clock_real(), &b.rung, &b.lock, CLOCK_NEVER);
    }
    mutex_unlock(&b.lock);
    cancel_unhook(c, hook);
    cond_done(&b.rung);
    mutex_done(&b.lock);
}

static void call_is_over__states__asked_of_call_and_clock(void **state)
{
    (void)state;
    const struct {
        int32_t cancelled;
        int64_t deadline_ms, now_ms;
        bool over;
    } rows[] = {
        {0, 0, 100, false}, {0, 101, 100, false}, {0, 100, 100, true},
        {0, 99, 100, true}, {1, 0, 0, true},      {0, INT64_MAX, INT64_MAX - 1, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct world w;
        world_init(&w, rows[i].deadline_ms);
        atomic_store(&w.cancelled, rows[i].cancelled);
        atomic_store(&w.now_ms, rows[i].now_ms);
        assert_int_equal(call_is_over(&w.call, &w.host), rows[i].over);
        cancel_free(w.cancel);
    }
}

static void call_watch__already_over__fired_on_return(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, 0);
    atomic_store(&w.cancelled, 1);
    struct call_watch *watch = call_watch_new();
    call_watch_add(watch, &w.entry);
    assert_true(cancel_fired(w.cancel));
    call_watch_remove(watch, &w.entry);
    call_watch_free(watch);
    cancel_free(w.cancel);
}

static void call_watch__cancelled_or_late__fired_and_others_not(void **state)
{
    (void)state;
    struct world cancelled;
    struct world late;
    struct world fine;
    struct call_watch *watch = call_watch_new();
    world_init(&cancelled, 0);
    world_init(&late, 50);
    world_init(&fine, 5000);
    call_watch_add(watch, &fine.entry);
    call_watch_add(watch, &cancelled.entry);
    call_watch_add(watch, &late.entry);
    atomic_store(&cancelled.cancelled, 1);
    wait_fired(cancelled.cancel);
    assert_false(cancel_fired(late.cancel));
    atomic_store(&late.now_ms, 50);
    wait_fired(late.cancel);
    assert_false(cancel_fired(fine.cancel));
    call_watch_remove(watch, &cancelled.entry);
    call_watch_remove(watch, &fine.entry);
    call_watch_remove(watch, &late.entry);
    call_watch_free(watch);
    cancel_free(cancelled.cancel);
    cancel_free(late.cancel);
    cancel_free(fine.cancel);
}

static void call_watch__idle_then_busy__looks_again(void **state)
{
    (void)state;
    struct call_watch *watch = call_watch_new();
    for (int i = 0; i < 3; i++) {
        struct world w;
        world_init(&w, 0);
        call_watch_add(watch, &w.entry);
        atomic_store(&w.cancelled, 1);
        wait_fired(w.cancel);
        call_watch_remove(watch, &w.entry);
        call_watch_remove(watch, &w.entry); /* twice is harmless */
        cancel_free(w.cancel);
    }
    call_watch_free(watch);
    call_watch_free(NULL);
    call_watch_free(call_watch_new()); /* never used: there is no thread */
}

static void count_line(struct tt_host_ctx *ctx, uint32_t level, int32_t verbosity,
                       const char *message, const struct tt_kv *kv, uint32_t n_kv)
{
    (void)verbosity;
    struct world *w = (struct world *)ctx;
    assert_int_equal(level, TT_LOG_WARNING);
    assert_non_null(strstr(message, "raise the limit of tasks"));
    assert_int_equal(n_kv, 1);
    assert_string_equal(kv->value, "Resource temporarily unavailable");
    w->n_lines++;
}

static void call_watch__thread_refused__told_once_and_made_for_the_next_call(void **state)
{
    (void)state;
    if (own_is_valgrind()) {
        print_message("# left out under valgrind\n");
        return;
    }
    struct world w;
    struct world next;
    struct call_watch *watch = call_watch_new();
    world_init(&w, 0);
    world_init(&next, 0);
    w.host.log = count_line;
    no_threads_begin();
    for (int i = 0; i < 3; i++) {
        call_watch_add(watch, &w.entry);
        call_watch_remove(watch, &w.entry);
    }
    call_watch_add(watch, &w.entry);
    no_threads_end();
    assert_int_equal(w.n_lines, 1);
    call_watch_add(watch, &next.entry);
    atomic_store(&w.cancelled, 1);
    atomic_store(&next.cancelled, 1);
    wait_fired(w.cancel); /* also the call that was there before */
    wait_fired(next.cancel);
    call_watch_remove(watch, &w.entry);
    call_watch_remove(watch, &next.entry);
    call_watch_free(watch);
    cancel_free(w.cancel);
    cancel_free(next.cancel);
}

UNIT_MAIN(call_watch)
{
    const struct CMUnitTest tests[] = {
        lb_test(call_is_over__states__asked_of_call_and_clock),
        lb_test(call_watch__already_over__fired_on_return),
        lb_test(call_watch__cancelled_or_late__fired_and_others_not),
        lb_test(call_watch__idle_then_busy__looks_again),
        lb_test(call_watch__thread_refused__told_once_and_made_for_the_next_call),
    };
    return cmocka_run_group_tests_name("call_watch", tests, NULL, NULL);
}
