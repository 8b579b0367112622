/* SPDX-License-Identifier: Apache-2.0 */
/* credentials_source.c: one credential, one thread that keeps it good (see credentials_source.h).
 *
 * Ends are moments of the wall clock, because others name them; waiting goes by the monotonic one.
 * A credential that was refused (401) is not handed out while its successor is fetched; when that
 * fails it is, because it may be good all the same.  Must not log tokens.  `lock` guards everything
 * below it and is never held across fetch(). */
#include "controller/kube/client/credentials_source.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/limits.h"
#include "common/base/lock.h"
#include "common/base/log.h"
#include "common/base/secret.h"
#include "common/base/str.h"

#define FAILED_MS      ((int64_t)1000) /* doubles */
#define FAILED_MAX_MS  ((int64_t)30 * 1000)
#define RENEW_EVERY_MS ((int64_t)10 * 1000)
/* Minimum lifetime of fetched credentials, even if they have expired: prevents a fetch per
 * request. */
#define KEPT_MIN_US ((int64_t)10 * 1000000)

struct credentials_source {
    struct credentials_source_args args;
    struct cancel *cancel;
    pthread_t thread;
    struct mutex lock;
    struct cond changed;
    bool started _guarded_by_(&lock);
    bool stopping _guarded_by_(&lock);
    bool wanted _guarded_by_(&lock); /* a caller cannot continue without one */
    bool fetching _guarded_by_(&lock);
    uint64_t attempts _guarded_by_(&lock); /* ended ones */
    int failures _guarded_by_(&lock);      /* in a row */
    int64_t retry_ms _guarded_by_(&lock);  /* no fetch before; monotonic */
    struct err why _guarded_by_(&lock);    /* of the last failure */
    bool renewed _guarded_by_(&lock);      /* at renewed_ms a 401 made us fetch */
    int64_t renewed_ms _guarded_by_(&lock);
    /* what is handed out */
    uint64_t generation _guarded_by_(&lock); /* 0: nothing yet */
    char *token _guarded_by_(&lock);         /* or NULL */
    int64_t expires_us _guarded_by_(&lock);  /* wall; INT64_MAX: never */
    int64_t refresh_us _guarded_by_(&lock);  /* wall; INT64_MAX: not ahead of time */
    bool refused _guarded_by_(&lock);        /* by a 401 */
};

struct credentials_source *credentials_source_new(const struct credentials_source_args *args)
{
    struct credentials_source *s = xcalloc(1, sizeof *s);
    s->args = *args;
    s->args.clock = args->clock == NULL ? clock_real() : args->clock;
    s->args.tries = args->tries < 1 ? 1 : args->tries;
    s->cancel = cancel_new(NULL);
    mutex_init(&s->lock);
    cond_init(&s->changed);
    return s;
}

void credentials_source_free(struct credentials_source *s)
{
    if (s == NULL) {
        return;
    }
    cancel_fire(s->cancel);
    mutex_lock(&s->lock);
    s->stopping = true;
    bool started = s->started;
    cond_broadcast(&s->changed);
    mutex_unlock(&s->lock);
    if (started) {
        (void)pthread_join(s->thread, NULL);
    }
    if (s->args.done != NULL) {
        s->args.done(s->args.arg);
    }
    secret_free(s->token);
    cancel_free(s->cancel);
    cond_done(&s->changed);
    mutex_done(&s->lock);
    free(s);
}

/* --- the thread ------------------------------------------------------------------------------- */

/* When something is to be done, by the monotonic clock. */
static int64_t next_ms(struct credentials_source *s, int64_t now_ms) _requires_(&s->lock)
{
    int64_t at_ms = now_ms;
    if (!s->wanted) {
        if (s->refresh_us == INT64_MAX || s->generation == 0) {
            return CLOCK_NEVER;
        }
        int64_t left_us = s->refresh_us - clock_wall_us(s->args.clock);
        at_ms = left_us <= 0 ? now_ms : now_ms + (left_us + 999) / 1000;
    }
    return at_ms > s->retry_ms ? at_ms : s->retry_ms;
}

static void keep(struct credentials_source *s, const struct credential *c) _requires_(&s->lock)
{
    int64_t now_us = clock_wall_us(s->args.clock);
    int64_t life_us = c->has_expiry ? c->expires_us - now_us : 0;
    int64_t lead_us = s->args.lead_ms * 1000 < life_us / 2 ? s->args.lead_ms * 1000 : life_us / 2;
    int64_t soon_us = now_us + KEPT_MIN_US;
    bool ahead = c->has_expiry && (s->args.lead_ms > 0 || s->args.lead_percent > 0);
    if (s->args.lead_percent > 0) {
        lead_us = life_us / 100 * s->args.lead_percent;
    }
    secret_free(s->token);
    s->token = xstrdup(c->token);
    s->generation++;
    s->expires_us = INT64_MAX;
    s->refresh_us = INT64_MAX;
    if (c->has_expiry) {
        s->expires_us = c->expires_us > soon_us ? c->expires_us : soon_us;
    }
    if (ahead) {
        s->refresh_us = c->expires_us - lead_us > soon_us ? c->expires_us - lead_us : soon_us;
    }
    s->failures = 0;
    s->retry_ms = 0;
    s->refused = false;
    log_info(2, "New credentials", LOG_S("from", s->args.name), LOG_B("token", c->token != NULL),
             LOG_B("certificate", c->cert_pem != NULL),
             LOG_MS("goodFor", c->has_expiry ? life_us / 1000 : 0));
}

static int64_t back_off_ms(int failures)
{
    int64_t ms = FAILED_MS;
    for (int i = 1; i < failures && ms < FAILED_MAX_MS; i++) {
        ms *= 2;
    }
    return ms < FAILED_MAX_MS ? ms : FAILED_MAX_MS;
}

static bool is_expired(struct credentials_source *s) _requires_(&s->lock)
{
    return clock_wall_us(s->args.clock) > s->expires_us;
}

static void fail(struct credentials_source *s, const struct err *why) _requires_(&s->lock)
{
    s->failures++;
    s->retry_ms = clock_now_ms(s->args.clock) + back_off_ms(s->failures);
    s->why = *why;
    s->refused = false;
    if (s->generation > 0 && !is_expired(s)) { /* otherwise callers get the error */
        log_error(why->message, "Cannot renew credentials, going on with the old ones",
                  LOG_S("from", s->args.name));
    }
}

/* With the tries that one fetch has. */
static int fetch(struct credentials_source *s, struct arena *a, struct credential *ret,
                 struct err *err) _requires_(&s->lock)
{
    int rc = ERR_OK;
    int64_t pause_ms = s->args.pause_ms;
    for (int i = 0; i < s->args.tries && !s->stopping; i++) {
        int64_t until_ms = clock_now_ms(s->args.clock) + pause_ms;
        while (i > 0 && !s->stopping && clock_now_ms(s->args.clock) < until_ms) {
            clock_wait(s->args.clock, &s->changed, &s->lock, until_ms);
        }
        pause_ms = i > 0 ? 2 * pause_ms : pause_ms;
        mutex_unlock(&s->lock);
        err_clear(err);
        rc = s->args.fetch(s->args.arg, a, s->cancel, ret, err);
        mutex_lock(&s->lock);
        if (rc == ERR_OK) {
            break;
        }
    }
    return rc;
}

static void *run(void *arg)
{
    struct credentials_source *s = arg;
    mutex_lock(&s->lock);
    while (!s->stopping) {
        int64_t now_ms = clock_now_ms(s->args.clock);
        int64_t at_ms = next_ms(s, now_ms);
        if (at_ms > now_ms) {
            clock_wait(s->args.clock, &s->changed, &s->lock, at_ms);
            continue;
        }
        struct arena *a _cleanup_(arena_freep) = arena_new();
        struct credential c = {0};
        struct err err = ERR_INIT;
        s->wanted = false;
        s->fetching = true;
        if (fetch(s, a, &c, &err) == ERR_OK) {
            keep(s, &c);
        } else {
            fail(s, &err);
        }
        s->fetching = false;
        s->attempts++;
        cond_broadcast(&s->changed);
    }
    mutex_unlock(&s->lock);
    return NULL;
}

/* --- those who ask ---------------------------------------------------------------------------- */

static int want(struct credentials_source *s, struct err *err) _requires_(&s->lock)
{
    s->wanted = s->wanted || !s->fetching;
    if (!s->started) {
        int rc = thread_start(&s->thread, run, s, "credentials", err);
        if (rc != ERR_OK) {
            return rc;
        }
        s->started = true;
    }
    cond_broadcast(&s->changed);
    return ERR_OK;
}

static bool is_usable(struct credentials_source *s) _requires_(&s->lock)
{
    return s->generation > 0 && !s->refused && !is_expired(s);
}

static bool is_failing(struct credentials_source *s) _requires_(&s->lock)
{
    return s->failures > 0 && !s->fetching && clock_now_ms(s->args.clock) < s->retry_ms;
}

static void wake(void *arg)
{
    struct credentials_source *s = arg;
    mutex_lock(&s->lock);
    cond_broadcast(&s->changed);
    mutex_unlock(&s->lock);
}

static bool is_cancelled(const struct credentials_waiter *w)
{
    return cancel_fired(w->one) || cancel_fired(w->other);
}

/* Nothing usable is there: starts a fetch; with a waiter, sees it through. */
static int obtain(struct credentials_source *s, const struct credentials_waiter *w, struct err *err)
    _requires_(&s->lock)
{
    if (is_failing(s)) {
        return err_copy(err, &s->why);
    }
    int rc = want(s, err);
    if (rc != ERR_OK) {
        return rc;
    }
    if (w == NULL) {
        return err_set(err, ERR_IN_PROGRESS, "credentials are being fetched");
    }
    uint64_t attempts = s->attempts;
    int64_t until_ms =
        w->timeout_ms > 0 ? clock_now_ms(s->args.clock) + w->timeout_ms : CLOCK_NEVER;
    while (s->attempts == attempts && !is_cancelled(w)) {
        if (clock_now_ms(s->args.clock) >= until_ms) {
            return err_set(err, ERR_TRANSIENT, "credentials did not come within %lld ms",
                           (long long)w->timeout_ms);
        }
        clock_wait(s->args.clock, &s->changed, &s->lock, until_ms);
    }
    if (s->attempts == attempts) {
        return err_set(err, ERR_CANCELLED, "stopped while waiting for credentials");
    }
    return is_usable(s) ? ERR_OK : err_copy(err, &s->why);
}

static int get(struct credentials_source *s, struct arena *a, const struct credentials_waiter *w,
               struct credentials_given *ret, struct err *err)
{
    mutex_lock(&s->lock);
    int rc = is_usable(s) ? ERR_OK : obtain(s, w, err);
    if (rc == ERR_OK) {
        *ret = (struct credentials_given){.token = arena_strdup(a, s->token),
                                          .generation = s->generation};
    }
    mutex_unlock(&s->lock);
    return rc;
}

int credentials_source_get(struct credentials_source *s, struct arena *a,
                           const struct credentials_waiter *waiter, struct credentials_given *ret,
                           struct err *err)
{
    if (waiter == NULL) {
        return get(s, a, NULL, ret, err);
    }
    /* Hooks run at once when it was fired already: not under our lock. */
    int one = waiter->one == NULL ? 0 : cancel_hook(waiter->one, wake, s);
    int other = waiter->other == NULL ? 0 : cancel_hook(waiter->other, wake, s);
    int rc = get(s, a, waiter, ret, err);
    if (waiter->one != NULL) {
        cancel_unhook(waiter->one, one);
    }
    if (waiter->other != NULL) {
        cancel_unhook(waiter->other, other);
    }
    return rc;
}

bool credentials_source_renew(struct credentials_source *s, uint64_t generation)
{
    mutex_lock(&s->lock);
    int64_t now_ms = clock_now_ms(s->args.clock);
    bool worth = s->generation != generation || s->refused;
    bool due = !s->renewed || now_ms - s->renewed_ms >= RENEW_EVERY_MS;
    if (!worth && generation > 0 && due && want(s, NULL) == ERR_OK) {
        s->refused = true;
        s->renewed = true;
        s->renewed_ms = now_ms;
        worth = true;
    }
    mutex_unlock(&s->lock);
    return worth && generation > 0;
}
