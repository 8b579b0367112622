/* SPDX-License-Identifier: Apache-2.0 */
/* aws_auth.c: the cache of keys of aws_auth.h.  No lock is held while keys are had: `fetching` stands for it.
 *
 * Moments are monotonic: the wall clock may jump.  Between `refresh_ms` and `must_ms` one caller gets new keys while the
 * others use the old ones; from `must_ms` on all wait for it; what fails leaves the old ones in use until they end.  Keys of
 * an instance outlive their end while the metadata service fails, as AWS' own tools have it. */
#include "common/base/lock.h"
#include "common/base/str.h"
#include "providers/aws/auth/aws_auth_internal.h"

#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#define MINUTE_MS        INT64_C(60000)
#define SHORT_LIFE_MS    (20 * MINUTE_MS)
#define MIDDLE_LIFE_MS   (90 * MINUTE_MS)
#define RETRY_MIN_MS     (5 * MINUTE_MS) /* after a refresh that failed: 5 to 10 minutes */
#define RETRY_SPREAD_MS  (5 * MINUTE_MS)
#define LAST_RETRY_MS    10000           /* in the last minute */
#define STABLE_MIN_MS    (5 * MINUTE_MS) /* keys of an instance: 5 to 15 minutes */
#define STABLE_SPREAD_MS (10 * MINUTE_MS)

struct aws_auth {
    struct aws_auth_config cfg;
    struct mutex lock;
    struct cond changed; /* a fetch ended */
    /* guarded by lock */
    char *access_key; /* NULL: none */
    char *secret_key;
    char *session_token;
    char *origin;
    bool is_fixed;  /* of variables: another fetch would bring the same */
    bool is_stable; /* of the instance's role, with nothing on top */
    int64_t expires_ms;
    int64_t refresh_ms;
    int64_t must_ms;
    bool fetching;
    unsigned failures; /* how many fetches have failed */
    struct err failed; /* the last of them */
};

static struct rng *rng_of(const struct aws_auth *auth)
{
    return auth->cfg.rng != NULL ? auth->cfg.rng : rng_real();
}

int aws_auth_new(const struct aws_auth_config *cfg, struct aws_auth **ret, struct err *err)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct aws_chain chain;
    int rc = aws_chain_resolve(a, cfg, &chain, err);
    if (rc != ERR_OK) {
        return rc;
    }
    struct aws_auth *auth = xcalloc(1, sizeof(*auth));
    auth->cfg = *cfg;
    auth->origin = xstrdup(chain.origin);
    mutex_init(&auth->lock);
    cond_init(&auth->changed);
    *ret = auth;
    return ERR_OK;
}

static void free_secret(char *text)
{
    if (text != NULL) {
        OPENSSL_cleanse(text, strlen(text));
    }
    free(text);
}

static void forget(struct aws_auth *auth) _requires_(auth->lock)
{
    free_secret(STEAL(auth->access_key));
    free_secret(STEAL(auth->secret_key));
    free_secret(STEAL(auth->session_token));
}

void aws_auth_free(struct aws_auth *auth)
{
    if (auth == NULL) {
        return;
    }
    mutex_lock(&auth->lock);
    forget(auth);
    mutex_unlock(&auth->lock);
    free(auth->origin);
    cond_done(&auth->changed);
    mutex_done(&auth->lock);
    free(auth);
}

const struct aws_auth_config *aws_auth_config_of(const struct aws_auth *auth)
{
    return &auth->cfg;
}

const char *aws_auth_origin(struct aws_auth *auth, struct arena *a)
{
    mutex_lock(&auth->lock);
    const char *copy = arena_strdup(a, auth->origin);
    mutex_unlock(&auth->lock);
    return copy;
}

bool aws_auth_is_stale_code(const char *code)
{
    static const char *const codes[] = {"ExpiredToken", "ExpiredTokenException",
                                        "InvalidClientTokenId", "RequestExpired"};
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        if (str_eq(code, codes[i])) {
            return true;
        }
    }
    return false;
}

/* ---- the keys ---------------------------------------------------------------------------------------------- */

static int64_t now_of(const struct aws_auth *auth)
{
    return clock_now_ms(auth->cfg.clock);
}

static bool is_valid(const struct aws_auth *auth) _requires_(auth->lock)
{
    return auth->access_key != NULL && now_of(auth) < auth->expires_ms;
}

static bool needs_new(const struct aws_auth *auth) _requires_(auth->lock)
{
    return !is_valid(auth) || now_of(auth) >= auth->refresh_ms;
}

bool aws_auth_keys(struct aws_auth *auth, struct arena *a, struct sigv4_keys *ret)
{
    mutex_lock(&auth->lock);
    bool valid = is_valid(auth);
    if (valid) {
        *ret = (struct sigv4_keys){
            .access_key = arena_strdup(a, auth->access_key),
            .secret_key = arena_strdup(a, auth->secret_key),
            .session_token = arena_strdup(a, auth->session_token),
        };
    }
    mutex_unlock(&auth->lock);
    return valid;
}

bool aws_auth_drop(struct aws_auth *auth, const char *access_key)
{
    mutex_lock(&auth->lock);
    /* Keys that are others by now were had after the refusal. */
    bool same = auth->access_key != NULL && str_eq(auth->access_key, access_key);
    bool better = !same || !auth->is_fixed;
    if (same && better) {
        forget(auth);
    }
    mutex_unlock(&auth->lock);
    return better;
}

/* How long before their end new keys are had (2.2). */
static int64_t window_of(int64_t lasts_ms)
{
    if (lasts_ms <= SHORT_LIFE_MS) {
        return lasts_ms / 2 < 5 * MINUTE_MS ? lasts_ms / 2 : 5 * MINUTE_MS;
    }
    return lasts_ms < MIDDLE_LIFE_MS ? 15 * MINUTE_MS : 60 * MINUTE_MS;
}

void aws_auth_store(struct aws_auth *auth, const struct aws_chain *chain,
                    const struct aws_found *found)
{
    const struct aws_stage *first = &chain->stages[0];
    int64_t now = now_of(auth);
    int64_t last_minute = found->lasts_ms / 4 < MINUTE_MS ? found->lasts_ms / 4 : MINUTE_MS;
    mutex_lock(&auth->lock);
    forget(auth);
    auth->access_key = xstrdup(found->keys.access_key);
    auth->secret_key = xstrdup(found->keys.secret_key);
    auth->session_token = xstrdup(found->keys.session_token);
    free(auth->origin);
    auth->origin = xstrdup(chain->origin);
    auth->is_fixed = chain->n == 1 && first->is_fixed;
    auth->is_stable = chain->n == 1 && first->source == AWS_SOURCE_IMDS;
    auth->expires_ms = found->expires ? now + found->lasts_ms : CLOCK_NEVER;
    auth->refresh_ms = found->expires ? auth->expires_ms - window_of(found->lasts_ms) : CLOCK_NEVER;
    auth->must_ms = found->expires ? auth->expires_ms - last_minute : CLOCK_NEVER;
    mutex_unlock(&auth->lock);
}

/* ---- who gets new ones ------------------------------------------------------------------------------------- */

static void wake(void *arg)
{
    struct aws_auth *auth = arg;
    mutex_lock(&auth->lock);
    cond_broadcast(&auth->changed);
    mutex_unlock(&auth->lock);
}

static bool must_wait(const struct aws_auth *auth) _requires_(auth->lock)
{
    return auth->fetching && (!is_valid(auth) || now_of(auth) >= auth->must_ms);
}

/* Blocks while another one gets what is needed now.  Without keys, what that one met is this one's outcome, too. */
static enum aws_turn claim(struct aws_auth *auth, struct cancel *cancel, struct err *err)
{
    int hook = cancel_hook(cancel, wake, auth);
    mutex_lock(&auth->lock);
    unsigned failures = auth->failures;
    while (must_wait(auth) && auth->failures == failures && !cancel_fired(cancel)) {
        clock_wait(auth->cfg.clock, &auth->changed, &auth->lock, CLOCK_NEVER);
    }
    enum aws_turn turn = AWS_TURN_READY;
    if (cancel_fired(cancel)) {
        turn = AWS_TURN_FAILED;
        (void)err_set(err, ERR_CANCELLED, "asked to stop");
    } else if (!is_valid(auth) && auth->failures != failures) {
        turn = AWS_TURN_FAILED;
        (void)err_copy(err, &auth->failed);
    } else if (!auth->fetching && needs_new(auth)) {
        turn = AWS_TURN_MINE;
        auth->fetching = true;
    }
    mutex_unlock(&auth->lock);
    cancel_unhook(cancel, hook);
    return turn;
}

enum aws_turn aws_auth_turn(struct aws_auth *auth, struct aws_wait *wait, struct err *err)
{
    enum aws_turn turn = AWS_TURN_MINE;
    mutex_lock(&auth->lock);
    if (is_valid(auth)) {
        turn = AWS_TURN_READY;
    } else if (wait->waits && wait->failures != auth->failures) {
        turn = AWS_TURN_FAILED;
        (void)err_copy(err, &auth->failed);
    } else if (auth->fetching) {
        turn = AWS_TURN_WAIT;
        wait->failures = wait->waits ? wait->failures : auth->failures;
        wait->waits = true;
    } else {
        auth->fetching = true;
    }
    mutex_unlock(&auth->lock);
    return turn;
}

static int64_t some(struct aws_auth *auth, int64_t least, int64_t spread)
{
    return least + (int64_t)rng_below(rng_of(auth), (uint64_t)spread + 1);
}

/* When the next attempt is made while old keys serve. */
static void put_off(struct aws_auth *auth) _requires_(auth->lock)
{
    int64_t now = now_of(auth);
    if (auth->is_stable) {
        auth->refresh_ms = now + some(auth, STABLE_MIN_MS, STABLE_SPREAD_MS);
        if (auth->expires_ms < auth->refresh_ms + MINUTE_MS) {
            auth->expires_ms = auth->refresh_ms + MINUTE_MS;
            auth->must_ms = auth->refresh_ms;
        }
        return;
    }
    int64_t at = now + some(auth, RETRY_MIN_MS, RETRY_SPREAD_MS);
    int64_t latest = auth->must_ms > now + LAST_RETRY_MS ? auth->must_ms : now + LAST_RETRY_MS;
    auth->refresh_ms = at < latest ? at : latest;
}

void aws_auth_ended(struct aws_auth *auth, const struct err *err)
{
    mutex_lock(&auth->lock);
    auth->fetching = false;
    /* Whoever was told to stop says nothing about the others' chances. */
    if (err->code != ERR_OK && err->code != ERR_CANCELLED) {
        auth->failures++;
        auth->failed = *err;
        if (auth->access_key != NULL) {
            put_off(auth);
        }
    }
    cond_broadcast(&auth->changed);
    mutex_unlock(&auth->lock);
}

/* ---- blocking ---------------------------------------------------------------------------------------------- */

struct fetch_job {
    struct aws_fetch fetch;
    struct rng *rng;
};

static enum http_next step(struct http_job *job, const struct http_response *resp)
{
    struct fetch_job *f = job->arg;
    return aws_fetch_step(&f->fetch, &job->req, resp, rng_unit(f->rng), &job->err);
}

static bool has_valid(struct aws_auth *auth)
{
    mutex_lock(&auth->lock);
    bool valid = is_valid(auth);
    mutex_unlock(&auth->lock);
    return valid;
}

int aws_auth_ready(struct aws_auth *auth, struct http *http, struct cancel *cancel, struct err *err)
{
    struct err why = ERR_INIT;
    enum aws_turn turn = claim(auth, cancel, &why);
    if (turn != AWS_TURN_MINE) {
        return turn == AWS_TURN_READY ? ERR_OK : err_copy(err, &why);
    }
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct fetch_job f = {.rng = rng_of(auth)};
    struct http_job job = {.step = step, .arg = &f, .cancel = cancel};
    struct http_job *jobs[] = {&job};
    aws_fetch_begin(&f.fetch, auth, a, cancel);
    f.fetch.once = has_valid(auth);
    http_run(http, jobs, 1);
    aws_auth_ended(auth, &job.err);
    /* The old ones are good enough while their successors could not be had. */
    return has_valid(auth) ? ERR_OK : err_copy(err, &job.err);
}

int aws_auth_get(struct aws_auth *auth, struct http *http, struct cancel *cancel, struct arena *a,
                 struct sigv4_keys *ret, struct err *err)
{
    int rc = aws_auth_ready(auth, http, cancel, err);
    if (rc == ERR_OK && !aws_auth_keys(auth, a, ret)) {
        rc = err_set(err, ERR_TRANSIENT, "credentials: they were refused meanwhile");
    }
    return rc;
}
