/* SPDX-License-Identifier: Apache-2.0 */
/* app.h: the whole controller as one object that can be started and stopped; tests run several in
 * one process.
 *
 *     app_new → app_start → … → app_stop → app_free
 *
 * All state is inside.  Clock, randomness and provider are handed in.  Signals, exit codes and the
 * command line are main.c's.  Start order: controller.md §3.4. */
#ifndef TRIMTAB_CONTROLLER_APP_H
#define TRIMTAB_CONTROLLER_APP_H

#include <stdbool.h>
#include <stdint.h>
#include <trimtab/provider.h>

#include "common/base/attr.h"
#include "common/base/clock.h"
#include "common/base/err.h"
#include "controller/base/progress.h"
#include "controller/kube/store/store.h"
#include "controller/metrics/metrics.h"
#include "controller/options/options.h"
#include "controller/process/election.h"
#include "controller/queue/queue_core.h"
#include "controller/status/status.h"

struct app;

struct app_args {
    const struct options *options;      /* parsed and validated; must live longer */
    const struct tt_provider *provider; /* checked and complete (plugin.h); must live longer */
    struct clock *clock;                /* NULL: the real one */
    struct rng *rng;                    /* NULL: the kernel's */
    int64_t api_wait_ms; /* how long the API server may take to become healthy; 0: 10 s */
    /* started; NULL: no election, this process may always write.  Then the API server is waited for
     * as long as it takes */
    struct election *election;
    struct identity *identity; /* the process's, likewise */
    bool quarantines;        /* the provider is a plugin whose deaths are counted (quarantine.h) */
    struct metrics *metrics; /* the process's, which outlives the app; NULL: the app has its own */
    struct progress *progress; /* the process's, likewise; may be NULL */
    /* the provider is a plugin: what its calls do inside is not seen, and what hangs is replaced */
    bool opaque;
    /* Asked before the provider's leases are renewed (election.h); NULL: they always are. */
    bool (*may_renew)(void *arg, struct err *err);
    void *may_renew_arg;
    /* For tests: each plan that the provider reports, in the worker's thread; borrowed for the
     * call.  May be NULL. */
    void (*on_plan)(void *arg, const struct tt_plan *plan);
    void *on_plan_arg;
};

struct app *app_new(const struct app_args *args) _warn_unused_;
/* Blocks until the provider is open, the first lists are in and what must be held is; then the
 * workers run.  CANCELLED when app_request_stop() came first.  After a failure:
 * app_stop() and app_free(). */
int app_start(struct app *a, struct err *err) _warn_unused_;
/* No new work, calls in progress are cancelled.  From any thread, also before
 * and during app_start(). */
void app_request_stop(struct app *a);
/* Blocks until app_request_stop(). */
void app_wait_stop(struct app *a);
/* True: it stops (app_request_stop() was called) because the configuration has changed;
 * another app is to follow. */
bool app_wants_reload(struct app *a);
/* True: it stops because the main lease or one that the provider needs was lost; *ret says which
 * and why.  The process is to end. */
bool app_lease_lost(struct app *a, struct err *ret);
/* Services, queue and batches as they are now, for /status; `running` false and no Services while
 * it starts.  Any thread, as long as the app is not freed. */
void app_look(struct app *a, struct arena *arena, struct status_view *ret);
/* The check "workers" (a health_check_fn of serve/health.h; `app` a struct app): fails while a
 * worker is beyond the time-out of its calls.  Any thread, as long as the app is not freed. */
bool app_check_workers(void *app, char *why, size_t n);
/* Whether its workers run: it has read its first lists, and its provider is open.
 * Any thread, likewise. */
bool app_is_running(struct app *a);
/* Counts the work that waits, for progress_check(); none while the app does not run.  Any thread,
 * as long as the app is not freed. */
void app_work(struct app *a, struct progress_work *ret);
/* Ends everything.  False: a call into the provider did not end within `timeout_ms`; then the
 * process must exit without app_free().  Queued events are written, if that takes less
 * than a moment. */
bool app_stop(struct app *a, int64_t timeout_ms) _warn_unused_;
void app_free(struct app *a); /* NULL is fine */

/* Synced, nothing due, nothing being processed, no event being written.  Delayed keys (retries,
 * re-syncs) may wait. */
bool app_is_idle(struct app *a);
/* By the app's clock: when the next key, batch or node pass is due; CLOCK_NEVER: nothing waits. */
int64_t app_next_due_ms(struct app *a);

#endif
