/* SPDX-License-Identifier: Apache-2.0 */
/* gce_auth.c: the token cache of gce_auth.h.  No lock is held while a token is fetched:
 * `fetching` stands for it. */
#include "providers/gce/api/gce_auth.h"

#include "common/base/lock.h"
#include "common/base/str.h"
#include "common/net/ratelimit.h"

#include <stdlib.h>

/* The alternate source is asked at most every 20 s after three quick tries (§2.2). */
#define ALT_PER_SECOND 0.05
#define ALT_BURST      3

struct gce_auth {
    struct arena *a; /* of the credentials */
    struct gce_credentials cred;
    struct gce_auth_config cfg;
    struct mutex lock;
    struct cond changed; /* a fetch ended */
    struct ratelimit alt _guarded_by_(lock);
    char *token _guarded_by_(lock);
    char *refresh_token _guarded_by_(lock); /* rotated one, or NULL */
    int64_t expires_ms _guarded_by_(lock);  /* monotonic */
    bool fetching _guarded_by_(lock);
    bool stale_failed _guarded_by_(lock); /* an early refresh failed: wait for the real expiry */
    unsigned failures _guarded_by_(lock); /* how many fetches have failed */
    struct err failed _guarded_by_(lock); /* the last of them */
};

int gce_auth_new(const struct gce_auth_config *cfg, struct gce_auth **ret, struct err *err)
{
    struct arena *a = arena_new();
    struct gce_credentials cred;
    int rc = gce_credentials_find(a, cfg, &cred, err);
    if (rc != ERR_OK) {
        arena_free(a);
        return rc;
    }
    struct gce_auth *auth = xcalloc(1, sizeof(*auth));
    auth->a = a;
    auth->cred = cred;
    auth->cfg = *cfg;
    mutex_init(&auth->lock);
    cond_init(&auth->changed);
    mutex_lock(&auth->lock);
    ratelimit_init(&auth->alt, ALT_PER_SECOND, ALT_BURST, clock_now_ms(cfg->clock));
    mutex_unlock(&auth->lock);
    *ret = auth;
    return ERR_OK;
}

void gce_auth_free(struct gce_auth *auth)
{
    if (auth == NULL) {
        return;
    }
    cond_done(&auth->changed);
    mutex_done(&auth->lock);
    jwt_key_free(auth->cred.key);
    free(auth->token);
    free(auth->refresh_token);
    arena_free(auth->a);
    free(auth);
}

const struct gce_credentials *gce_auth_credentials(const struct gce_auth *auth)
{
    return &auth->cred;
}

struct clock *gce_auth_clock(struct gce_auth *auth)
{
    return auth->cfg.clock;
}

/* Milliseconds that the token still has; negative when there is none. */
static int64_t left_ms(struct gce_auth *auth) _requires_(auth->lock)
{
    if (auth->token == NULL) {
        return -1;
    }
    return auth->expires_ms - clock_now_ms(auth->cfg.clock);
}

char *gce_auth_token(struct gce_auth *auth, struct arena *a)
{
    mutex_lock(&auth->lock);
    char *copy = left_ms(auth) > 0 ? arena_strdup(a, auth->token) : NULL;
    mutex_unlock(&auth->lock);
    return copy;
}

char *gce_auth_refresh_token(struct gce_auth *auth, struct arena *a)
{
    mutex_lock(&auth->lock);
    char *copy = arena_strdup(a, auth->refresh_token != NULL ? auth->refresh_token
                                                             : auth->cred.refresh_token);
    mutex_unlock(&auth->lock);
    return copy;
}

void gce_auth_drop(struct gce_auth *auth, const char *token)
{
    mutex_lock(&auth->lock);
    if (str_eq(auth->token, token)) {
        free(STEAL(auth->token));
    }
    mutex_unlock(&auth->lock);
}

void gce_auth_store(struct gce_auth *auth, const char *token, int64_t lasts_ms,
                    const char *refresh_token)
{
    mutex_lock(&auth->lock);
    free(auth->token);
    auth->token = xstrdup(token);
    auth->expires_ms = clock_now_ms(auth->cfg.clock) + lasts_ms;
    auth->stale_failed = false;
    if (refresh_token != NULL) {
        free(auth->refresh_token);
        auth->refresh_token = xstrdup(refresh_token);
    }
    mutex_unlock(&auth->lock);
}

int64_t gce_auth_throttle_ms(struct gce_auth *auth)
{
    mutex_lock(&auth->lock);
    int64_t at = ratelimit_take(&auth->alt, clock_now_ms(auth->cfg.clock));
    mutex_unlock(&auth->lock);
    return at;
}

void gce_auth_count(struct gce_auth *auth, bool failed)
{
    if (auth->cfg.counted != NULL) {
        auth->cfg.counted(auth->cfg.counted_arg, failed);
    }
}

static void wake(void *arg)
{
    struct gce_auth *auth = arg;
    mutex_lock(&auth->lock);
    cond_broadcast(&auth->changed);
    mutex_unlock(&auth->lock);
}

/* Blocks while another one fetches what is needed now.  Without a token, what that one met is this one's outcome, too. */
static enum gce_turn claim(struct gce_auth *auth, struct cancel *cancel, struct err *err)
{
    int hook = cancel_hook(cancel, wake, auth);
    mutex_lock(&auth->lock);
    unsigned failures = auth->failures;
    while (left_ms(auth) <= 0 && auth->fetching && !cancel_fired(cancel)) {
        clock_wait(auth->cfg.clock, &auth->changed, &auth->lock, CLOCK_NEVER);
    }
    int64_t left = left_ms(auth);
    bool early = left <= GCE_TOKEN_EARLY_MS && !auth->stale_failed;
    enum gce_turn turn = GCE_TURN_READY;
    if (cancel_fired(cancel)) {
        turn = GCE_TURN_FAILED;
        (void)err_set(err, ERR_CANCELLED, "asked to stop");
    } else if (left <= 0 && auth->failures != failures) {
        turn = GCE_TURN_FAILED;
        (void)err_copy(err, &auth->failed);
    } else if (!auth->fetching && (left <= 0 || early)) {
        turn = GCE_TURN_MINE;
        auth->fetching = true;
    }
    mutex_unlock(&auth->lock);
    cancel_unhook(cancel, hook);
    return turn;
}

enum gce_turn gce_auth_turn(struct gce_auth *auth, struct gce_wait *wait, struct err *err)
{
    enum gce_turn turn = GCE_TURN_MINE;
    mutex_lock(&auth->lock);
    if (left_ms(auth) > 0) {
        turn = GCE_TURN_READY;
    } else if (auth->fetching) {
        turn = GCE_TURN_WAIT;
        wait->failures = wait->waits ? wait->failures : auth->failures;
        wait->waits = true;
    } else if (wait->waits && wait->failures != auth->failures) {
        turn = GCE_TURN_FAILED;
        (void)err_copy(err, &auth->failed);
    } else {
        auth->fetching = true;
    }
    mutex_unlock(&auth->lock);
    return turn;
}

void gce_auth_ended(struct gce_auth *auth, const struct err *err)
{
    mutex_lock(&auth->lock);
    auth->fetching = false;
    auth->stale_failed = left_ms(auth) > 0 && err->code != ERR_OK;
    /* Whoever was told to stop says nothing about the others' chances. */
    if (err->code != ERR_OK && err->code != ERR_CANCELLED) {
        auth->failures++;
        auth->failed = *err;
    }
    cond_broadcast(&auth->changed);
    mutex_unlock(&auth->lock);
}

struct fetch_job {
    struct gce_fetch fetch;
    struct rng *rng;
};

static enum http_next step(struct http_job *job, const struct http_response *resp)
{
    struct fetch_job *f = job->arg;
    return gce_fetch_step(&f->fetch, &job->req, resp, rng_unit(f->rng), &job->err);
}

static bool has_valid(struct gce_auth *auth)
{
    mutex_lock(&auth->lock);
    bool valid = left_ms(auth) > 0;
    mutex_unlock(&auth->lock);
    return valid;
}

int gce_auth_ready(struct gce_auth *auth, struct http *http, struct cancel *cancel, struct err *err)
{
    struct err why = ERR_INIT;
    enum gce_turn turn = claim(auth, cancel, &why);
    if (turn != GCE_TURN_MINE) {
        return turn == GCE_TURN_READY ? ERR_OK : err_copy(err, &why);
    }
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct fetch_job f = {.rng = rng_real()};
    struct http_job job = {.step = step, .arg = &f, .cancel = cancel};
    struct http_job *jobs[] = {&job};
    gce_fetch_begin(&f.fetch, auth, a);
    http_run(http, jobs, 1);
    gce_auth_ended(auth, &job.err);
    /* A stale token is good enough while its successor could not be had. */
    return has_valid(auth) ? ERR_OK : err_copy(err, &job.err);
}
