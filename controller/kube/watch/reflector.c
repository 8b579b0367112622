/* SPDX-License-Identifier: Apache-2.0 */
/* reflector.c: the I/O thread of all reflectors (see reflector.h).
 *
 * Owns the thread and its HTTP handle, the waiting for the first sync, and the words about a server
 * that cannot be reached: they come at growing intervals and once for all kinds.
 * What is asked and what comes in is reflector_job.c's. */
#include "controller/kube/watch/reflector.h"

#include <assert.h>
#include <stdio.h>

#include "common/base/limits.h"
#include "common/base/log.h"
#include "common/base/trim.h"
#include "controller/kube/client/unreachable.h"
#include "controller/kube/watch/reflector_internal.h"

#define SCOUT_MS         5000 /* maximum time until the server is probed again */
#define WAKE_SPREAD_MS   1000 /* over which all ask again when it is */
#define SAY_EVERY_MS     1000
#define SAY_EVERY_MAX_MS ((int64_t)60 * 1000)

bool kube_reflectors_gate(const char *value)
{
    bool on = true;
    if (!str_is_empty(value) && !str_to_go_bool(value, &on)) {
        log_error("want true or false",
                  "KUBE_FEATURE_WatchListClient is not understood; streaming "
                  "lists stay on",
                  LOG_S("value", value));
    }
    return on;
}

struct kube_reflectors *kube_reflectors_new(const struct kube_reflectors_args *args)
{
    assert(args->observe != NULL);
    struct kube_reflectors *r = xcalloc(1, sizeof *r);
    r->args = *args;
    r->args.user_agent = xstrdup(args->user_agent);
    r->args.clock = args->clock == NULL ? clock_real() : args->clock;
    r->args.rng = args->rng == NULL ? rng_real() : args->rng;
    r->cancel = cancel_new(args->cancel);
    atomic_init(&r->stop, false);
    mutex_init(&r->lock);
    cond_init(&r->changed);
    return r;
}

void kube_reflectors_add(struct kube_reflectors *r, struct kube_store *store,
                         const char *label_selector)
{
    assert(!r->started && r->n < REFLECTORS_MAX);
    reflector_init(&r->items[r->n++], r, store, label_selector);
}

double reflectors_unit(struct kube_reflectors *r)
{
    return rng_unit(r->args.rng);
}

int64_t reflectors_now(struct kube_reflectors *r)
{
    return clock_now_ms(r->args.clock);
}

/* --- the thread ------------------------------------------------------------------------------- */

static bool all_synced(struct kube_reflectors *r)
{
    for (size_t i = 0; i < r->n; i++) {
        if (!kube_store_synced(r->items[i].store)) {
            return false;
        }
    }
    return true;
}

/* Decoding leaves holes of the size of trees behind; once the lists are in, the start is over, and
 * the kernel gets back what it needed. */
static void trim_once(struct kube_reflectors *r, bool *trimmed)
{
    if (!*trimmed && all_synced(r)) {
        *trimmed = true;
        trim_after_start();
    }
}

static void *thread_main(void *arg)
{
    struct kube_reflectors *r = arg;
    bool trimmed = false;
    for (size_t i = 0; i < r->n; i++) {
        http_start(r->http, &r->items[i].job);
    }
    while (!atomic_load(&r->stop)) {
        http_wait(r->http, CLOCK_NEVER); /* returns when a list is complete, or to stop */
        trim_once(r, &trimmed);
    }
    return NULL;
}

static void observe(void *arg, const struct http_sent *sent)
{
    struct kube_reflectors *r = arg;
    const struct reflector *x = CONTAINER_OF(sent->job, struct reflector, job);
    const struct kube_sent told = kube_sent_of(sent, kube_kind_resource(kube_store_kind(x->store)));
    r->args.observe(r->args.observe_arg, &told);
}

int kube_reflectors_start(struct kube_reflectors *r, struct err *err)
{
    struct http_config cfg = kube_http_config(r->args.config, r->args.user_agent);
    cfg.clock = r->args.clock;
    cfg.cancel = r->cancel;
    cfg.observe = observe;
    cfg.observe_arg = r;
    r->http = http_new(&cfg);
    if (thread_start(&r->thread, thread_main, r, "the reflectors", err) != ERR_OK) {
        http_free(r->http);
        return ERR_TRANSIENT;
    }
    r->started = true;
    return ERR_OK;
}

void kube_reflectors_free(struct kube_reflectors *r)
{
    if (r == NULL) {
        return;
    }
    if (r->started) {
        atomic_store(&r->stop, true);
        cancel_fire(r->cancel);
        http_wakeup(r->http);
        (void)pthread_join(r->thread, NULL);
        /* Not by the thread: the handle must be there to be woken until the thread has ended. */
        http_free(r->http);
    }
    for (size_t i = 0; i < r->n; i++) {
        reflector_done(&r->items[i]);
    }
    cancel_free(r->cancel);
    cond_done(&r->changed);
    mutex_done(&r->lock);
    free((char *)r->args.user_agent);
    free(r);
}

/* --- trouble ---------------------------------------------------------------------------------- */

static void set_last_err(struct kube_reflectors *r, const struct err *err)
{
    mutex_lock(&r->lock);
    if (!r->gave_up) {
        err_copy(&r->last_err, err);
        r->gave_up = err != NULL && r->args.gives_up && kube_trouble_is_final(err);
    }
    mutex_unlock(&r->lock);
}

static void describe_unreachable(struct kube_reflectors *r, const struct err *why, struct err *ret)
{
    int64_t s = (reflectors_now(r) - r->reach.since_ms) / 1000;
    char tried[64] = "";
    if (r->reach.tries > 1) {
        (void)snprintf(tried, sizeof tried, " (tried %lld times in %lld s)",
                       (long long)r->reach.tries, (long long)s);
    }
    (void)kube_unreachable(r->args.config, why, tried, ret); /* the code is `why`'s */
}

static void failed_to_reach(struct kube_reflectors *r, const struct err *why)
{
    struct reach *t = &r->reach;
    int64_t now_ms = reflectors_now(r);
    if (t->tries == 0) {
        *t = (struct reach){.since_ms = now_ms, .said_ms = INT64_MIN / 2, .every_ms = SAY_EVERY_MS};
    }
    t->tries++;
    struct err err;
    describe_unreachable(r, why, &err);
    set_last_err(r, &err);
    if (now_ms - t->said_ms >= t->every_ms) {
        t->said_ms = now_ms;
        t->every_ms = t->every_ms * 2 < SAY_EVERY_MAX_MS ? t->every_ms * 2 : SAY_EVERY_MAX_MS;
        log_warning("The API server cannot be reached", LOG_S("err", err.message));
    }
}

/* Each of them sleeps for a back-off of its own, up to half a minute, for a server that is there
 * again.  A little later than now, and not all at once: a large fleet comes back at the same
 * moment.  Those that ended stay asleep. */
static void wake_all(struct kube_reflectors *r)
{
    int64_t now_ms = reflectors_now(r);
    for (size_t i = 0; i < r->n && !r->args.gives_up; i++) {
        int64_t at_ms = now_ms + (int64_t)(reflectors_unit(r) * WAKE_SPREAD_MS);
        struct reflector *x = &r->items[i];
        x->send_at_ms = x->send_at_ms < at_ms ? x->send_at_ms : at_ms;
        if (x->job.req.not_before_ms > at_ms) {
            x->job.req.not_before_ms = at_ms;
            reflector_hurry(&x->rules, at_ms);
        }
    }
}

static void end_of_silence(struct kube_reflectors *r)
{
    if (r->reach.tries > 0) {
        wake_all(r);
        log_info(0, "The API server can be reached again", LOG_S("server", r->args.config->server),
                 LOG_MS("after", reflectors_now(r) - r->reach.since_ms));
        r->reach = (struct reach){0};
    }
}

int64_t reflectors_not_before(struct kube_reflectors *r, struct reflector *x, int64_t wanted_ms)
{
    if (r->reach.tries == 0 || x != &r->items[0]) {
        return wanted_ms;
    }
    int64_t scout_ms = reflectors_now(r) + (int64_t)((1 + reflectors_unit(r)) * SCOUT_MS / 2);
    if (wanted_ms <= scout_ms) {
        return wanted_ms;
    }
    reflector_hurry(&x->rules, scout_ms);
    return scout_ms;
}

void reflectors_reached(struct kube_reflectors *r)
{
    end_of_silence(r);
    set_last_err(r, NULL);
}

void reflectors_failed(struct kube_reflectors *r, const struct err *err, bool unreached)
{
    if (unreached && err->code == ERR_TRANSIENT) {
        failed_to_reach(r, err);
    } else if (unreached) { /* our own trouble, such as a certificate that cannot be read */
        r->reach = (struct reach){0};
        set_last_err(r, err);
    } else {
        end_of_silence(r); /* a refusal is an answer, too */
        set_last_err(r, err);
    }
    reflectors_wake_waiters(r);
}

bool reflectors_end_at(struct kube_reflectors *r, const struct err *err)
{
    return r->args.gives_up && kube_trouble_is_final(err);
}

bool kube_reflectors_gave_up(struct kube_reflectors *r)
{
    mutex_lock(&r->lock);
    bool gave_up = r->gave_up;
    mutex_unlock(&r->lock);
    return gave_up;
}

/* --- waiting ---------------------------------------------------------------------------------- */

void reflectors_wake_waiters(struct kube_reflectors *r)
{
    mutex_lock(&r->lock);
    cond_broadcast(&r->changed);
    mutex_unlock(&r->lock);
}

static void wake_cb(void *arg)
{
    reflectors_wake_waiters(arg);
}

int kube_reflectors_wait_synced(struct kube_reflectors *r, int64_t until_ms, struct err *err)
{
    int hook = cancel_hook(r->cancel, wake_cb, r);
    bool synced;
    mutex_lock(&r->lock);
    while (!(synced = all_synced(r)) && !r->gave_up && !cancel_fired(r->cancel) &&
           reflectors_now(r) < until_ms) {
        clock_wait(r->args.clock, &r->changed, &r->lock, until_ms);
    }
    struct err last = r->last_err;
    mutex_unlock(&r->lock);
    cancel_unhook(r->cancel, hook);
    if (synced) {
        return ERR_OK;
    }
    if (cancel_fired(r->cancel)) {
        return err_set(err, ERR_CANCELLED, "stopped before the first list was complete");
    }
    if (last.code == ERR_OK) {
        return err_set(err, ERR_TRANSIENT, "the API server has not sent its lists in time");
    }
    return err_copy(err, &last);
}

int kube_reflectors_trouble(struct kube_reflectors *r, struct err *err)
{
    mutex_lock(&r->lock);
    struct err last = r->last_err;
    mutex_unlock(&r->lock);
    return last.code == ERR_OK ? ERR_OK : err_copy(err, &last);
}
