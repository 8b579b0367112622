/* SPDX-License-Identifier: Apache-2.0 */
/* call_watch.c: one polling thread for all calls of a provider.
 *
 * Why polling: tt_call.cancelled is a question that any plugin may ask at any time, and that is all
 * the ABI promises.  50 ms keep us well inside the 100 ms in which every blocking call must end.
 * Why not per call: a re-sync makes thousands of calls, most of which end without blocking at all.
 * Real time only paces the looking; whether a deadline is over is asked of the host's clock.
 * The entry list is guarded by the lock; cancel_fire() is called under it, which is safe because
 * cancel hooks are quick and never come back here. */
#include "common/lb/call_watch.h"
#include "common/base/arena.h"
#include "common/base/clock.h"
#include "common/base/limits.h"
#include "common/base/lock.h"

#include <stdlib.h>
#include <string.h>

#define LOOK_EVERY_MS 50

struct call_watch {
    struct mutex lock;
    struct cond changed;
    struct call_watch_entry *entries _guarded_by_(lock);
    bool running _guarded_by_(lock); /* the thread exists */
    bool told _guarded_by_(lock);    /* that the last attempt to start it failed */
    bool stopping _guarded_by_(lock);
    pthread_t thread; /* valid while running */
};

bool call_is_over(const struct tt_call *call, const struct tt_host *host)
{
    if (call->cancelled != NULL && call->cancelled(call) != 0) {
        return true;
    }
    return call->deadline_ms > 0 && host->now_ms != NULL &&
           host->now_ms(host->ctx) >= call->deadline_ms;
}

static void entries_look(struct call_watch *w) _requires_(w->lock)
{
    for (struct call_watch_entry *e = w->entries; e != NULL; e = e->next) {
        if (call_is_over(e->call, e->host)) {
            cancel_fire(e->cancel);
        }
    }
}

static void *watch_main(void *arg)
{
    struct call_watch *w = arg;
    mutex_lock(&w->lock);
    while (!w->stopping) {
        entries_look(w);
        int64_t until =
            w->entries == NULL ? CLOCK_NEVER : clock_now_ms(clock_real()) + LOOK_EVERY_MS;
        clock_wait(clock_real(), &w->changed, &w->lock, until);
    }
    mutex_unlock(&w->lock);
    return NULL;
}

struct call_watch *call_watch_new(void)
{
    struct call_watch *w = xcalloc(1, sizeof *w);
    mutex_init(&w->lock);
    cond_init(&w->changed);
    return w;
}

void call_watch_free(struct call_watch *w)
{
    if (w == NULL) {
        return;
    }
    mutex_lock(&w->lock);
    bool running = w->running;
    w->stopping = true;
    cond_broadcast(&w->changed);
    mutex_unlock(&w->lock);
    if (running) {
        (void)pthread_join(w->thread, NULL); /* fails only for a thread that is none */
    }
    cond_done(&w->changed);
    mutex_done(&w->lock);
    free(w);
}

/* Returns the error of the system, 0 if the thread runs.  Does not wait for one:
 * all calls would. */
static int start_thread(struct call_watch *w) _requires_(w->lock)
{
    int rc = w->running ? 0 : pthread_create(&w->thread, NULL, watch_main, w);
    w->running = rc == 0;
    return rc;
}

static void tell_refused(const struct tt_host *host, int no)
{
    char text[128];
    const struct tt_kv why = {"err", strerror_r(no, text, sizeof text)};
    if (host->log != NULL) {
        host->log(host->ctx, TT_LOG_WARNING, 0,
                  "No thread to watch calls: they end by their own limits until the next call gets "
                  "one; " LIMITS_MORE_TASKS,
                  &why, 1);
    }
}

void call_watch_add(struct call_watch *w, struct call_watch_entry *e)
{
    if (call_is_over(e->call, e->host)) {
        cancel_fire(e->cancel);
    }
    mutex_lock(&w->lock);
    int refused = start_thread(w);
    bool tell = refused != 0 && !w->told;
    w->told = refused != 0;
    e->next = w->entries;
    w->entries = e;
    bool first = e->next == NULL;
    mutex_unlock(&w->lock);
    if (first) {
        cond_signal(&w->changed); /* the thread slept without a limit */
    }
    if (tell) {
        tell_refused(e->host, refused);
    }
}

void call_watch_remove(struct call_watch *w, struct call_watch_entry *e)
{
    mutex_lock(&w->lock);
    for (struct call_watch_entry **at = &w->entries; *at != NULL; at = &(*at)->next) {
        if (*at == e) {
            *at = e->next;
            break;
        }
    }
    mutex_unlock(&w->lock);
}
