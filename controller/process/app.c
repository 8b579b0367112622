/* SPDX-License-Identifier: Apache-2.0 */
/* app.c: the life of the controller as one object, and its end: takes apart what app_start.c built.
 *
 * Everything here runs in the thread that starts and stops the app, but for app_request_stop() and
 * what tests ask. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "controller/host/identity.h"
#include "controller/process/app_internal.h"

#define API_WAIT_MS      10000
#define EVENTS_FLUSH_MS  300
#define LEASE_RELEASE_MS 200 /* the whole exit stays within 2 s */

static void wake_stopping(void *arg)
{
    struct app *a = arg;

    mutex_lock(&a->lock);
    cond_broadcast(&a->stopping);
    mutex_unlock(&a->lock);
}

struct app *app_new(const struct app_args *args)
{
    struct app *a = xcalloc(1, sizeof(*a));

    a->args = *args;
    if (a->args.clock == NULL) {
        a->args.clock = clock_real();
    }
    if (a->args.rng == NULL) {
        a->args.rng = rng_real();
    }
    if (a->args.api_wait_ms == 0) {
        a->args.api_wait_ms = API_WAIT_MS;
    }
    a->a = arena_new();
    a->cancel = cancel_new(NULL);
    a->hard = cancel_new(NULL);
    a->own_metrics = args->metrics == NULL ? metrics_new() : NULL;
    a->metrics = args->metrics == NULL ? a->own_metrics : args->metrics;
    a->board = board_new(a->args.clock);
    a->orphan_guard = orphan_guard_new(a->args.options->orphan_guard);
    user_agent_make(USER_AGENT_SERVICES, a->user_agent);
    user_agent_make(USER_AGENT_WATCHES, a->watch_agent);
    mutex_init(&a->lock);
    cond_init(&a->stopping);
    a->stop_hook = cancel_hook(a->cancel, wake_stopping, a);
    return a;
}

static bool is_running(struct app *a)
{
    mutex_lock(&a->lock);
    bool running = a->running;
    mutex_unlock(&a->lock);
    return running;
}

/* ---- stop ------------------------------------------------------------------------------------ */

void app_request_stop(struct app *a)
{
    bool running = is_running(a);

    cancel_fire(a->cancel);
    if (!running) {
        cancel_fire(a->hard); /* nothing to finish: also the waiting for the API server ends */
    }
}

void app_wait_stop(struct app *a)
{
    mutex_lock(&a->lock);
    while (!cancel_fired(a->cancel)) {
        clock_wait(clock_real(), &a->stopping, &a->lock, CLOCK_NEVER);
    }
    mutex_unlock(&a->lock);
}

bool app_stop(struct app *a, int64_t timeout_ms)
{
    int64_t until = clock_now_ms(clock_real()) + timeout_ms;

    cancel_fire(a->cancel);
    if (is_running(a)) {
        log_info(0, "Shutting down service controller");
        app_set_running(a, false);
    }
    metrics_live_end(&a->live);
    config_watch_free(STEAL(a->config_watch));
    if (a->queue != NULL) {
        queue_shutdown(a->queue, false);
    }
    mutex_lock(&a->lock);
    struct workers *workers = STEAL(a->workers);
    mutex_unlock(&a->lock);
    if (!workers_end(workers, until)) {
        log_warning("A call into the provider does not end, leaving without it",
                    LOG_S("provider", a->args.provider->name));
        return false;
    }
    kube_reflectors_free(STEAL(a->reflectors)); /* their thread tells the fan-out of nodes */
    node_fanout_free(STEAL(a->watch.fanout));
    app_close_provider(a);
    if (a->events != NULL) {
        kube_events_free(STEAL(a->events), EVENTS_FLUSH_MS);
    }
    fence_close(&a->fence); /* before another process can take the provider's leases */
    leases_free(STEAL(a->leases), LEASE_RELEASE_MS);
    cancel_fire(a->hard);
    return true;
}

void app_close_provider(struct app *a)
{
    struct guard_mark mark = {.function = "close"};

    if (!a->provider_open) {
        return;
    }
    host_end_watches(a->host);
    guard_enter(&mark);
    a->args.provider->close(STEAL(a->provider));
    guard_leave(&mark);
    a->provider_open = false;
}

void app_free(struct app *a)
{
    if (a == NULL) {
        return;
    }
    guard_set_fence(NULL);
    cancel_unhook(a->cancel, a->stop_hook);
    host_free(a->host);
    service_cache_free(a->cache);
    node_sets_free(a->node_sets);
    queue_free(a->queue);
    kube_store_free(a->services);
    kube_store_free(a->nodes);
    kube_store_free(a->slices);
    kube_client_free(a->root);
    kube_client_free(a->client);
    kube_client_free(a->event_client);
    identity_free(a->own_identity);
    metrics_free(a->own_metrics);
    board_free(a->board);
    orphan_guard_free(a->orphan_guard);
    cancel_free(a->cancel);
    cancel_free(a->hard);
    cond_done(&a->stopping);
    mutex_done(&a->lock);
    arena_free(a->a);
    free(a);
}

/* ---- looking --------------------------------------------------------------------------------- */

bool app_is_idle(struct app *a)
{
    bool quiet = kube_store_is_quiet(a->services) && kube_store_is_quiet(a->nodes) &&
                 (a->slices == NULL || kube_store_is_quiet(a->slices));
    return is_running(a) && quiet && node_fanout_is_idle(a->watch.fanout) &&
           queue_is_idle(a->queue) && kube_events_are_quiet(a->events);
}

int64_t app_next_due_ms(struct app *a)
{
    if (!is_running(a)) {
        return CLOCK_NEVER;
    }
    int64_t queue = queue_next_ms(a->queue);
    int64_t fanout = node_fanout_next_ms(a->watch.fanout);
    return queue < fanout ? queue : fanout;
}

/* Its parts are there from the moment it runs until it is freed. */
void app_look(struct app *a, struct arena *arena, struct status_view *ret)
{
    struct status_sources from = {.clock = a->args.clock};

    ret->running = is_running(a);
    if (ret->running) {
        from.board = a->board;
        from.services = a->services;
        from.nodes = a->nodes;
        from.slices = a->slices;
        from.scope = &a->syncer.scope;
        from.queue = a->queue;
    }
    status_look(&from, arena, ret);
    int64_t due_ms = app_next_due_ms(a);
    int64_t now_ms = clock_now_ms(a->args.clock);
    ret->at_rest = app_is_idle(a);
    if (due_ms != CLOCK_NEVER) {
        ret->next_due_ms = due_ms > now_ms ? due_ms - now_ms : 0;
    }
}

bool app_check_workers(void *app, char *why, size_t n)
{
    struct app *a = app;
    int64_t stuck_ms = 0;

    mutex_lock(&a->lock);
    if (a->workers != NULL) {
        stuck_ms = workers_ages(a->workers).stuck_ms;
    }
    mutex_unlock(&a->lock);
    if (stuck_ms > 0) {
        (void)snprintf(why, n, "a sync has run for %" PRId64 " min and does not end",
                       stuck_ms / 60000);
    }
    return stuck_ms == 0;
}

bool app_is_running(struct app *a)
{
    return is_running(a);
}

void app_work(struct app *a, struct progress_work *ret)
{
    *ret = (struct progress_work){0};
    if (!is_running(a)) {
        return;
    }
    struct queue_counts counts = queue_counts(a->queue);
    ret->waiting = counts.waiting;
    ret->processing = counts.processing;
    mutex_lock(&a->lock);
    ret->calls_in_time =
        a->args.opaque && a->workers != NULL && workers_ages(a->workers).stuck_ms == 0;
    mutex_unlock(&a->lock);
}
