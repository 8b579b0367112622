/* SPDX-License-Identifier: Apache-2.0 */
/* gce_auth.c: the credentials of gce_auth.h, and how long a token of theirs is used
 * (common/cloud/token.h keeps it). */
#include "providers/gce/api/gce_auth.h"

#include "common/base/lock.h"
#include "common/base/secret.h"
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
    struct token_cache *cache;
    struct mutex lock;
    struct ratelimit alt _guarded_by_(lock);
    char *refresh_token _guarded_by_(lock); /* a secret: the rotated one, or NULL */
};

/* After a failed early refresh the next attempt is due when the token has expired (§2.9). */
static void refresh_failed(void *arg, unsigned mark, int64_t now_ms, struct token_life *life)
{
    (void)arg;
    (void)mark;
    (void)now_ms;
    life->refresh_ms = life->expires_ms;
}

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
    const struct token_cache_config cache = {.clock = cfg->clock, .refresh_failed = refresh_failed};
    auth->cache = token_cache_new(&cache);
    mutex_init(&auth->lock);
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
    token_cache_free(auth->cache);
    mutex_done(&auth->lock);
    jwt_key_free(auth->cred.key);
    secret_free(auth->refresh_token);
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

const char *gce_auth_token(struct gce_auth *auth, struct arena *a)
{
    struct token t;
    return token_cache_get(auth->cache, a, &t) ? t.parts[0] : NULL;
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
    (void)token_cache_drop(auth->cache, token, NULL);
}

void gce_auth_store(struct gce_auth *auth, const char *token, int64_t lasts_ms,
                    const char *refresh_token)
{
    int64_t expires_ms = clock_now_ms(auth->cfg.clock) + lasts_ms;
    const struct token t = {
        .parts = {token},
        .life = {.refresh_ms = expires_ms - GCE_TOKEN_EARLY_MS,
                 .required_ms = expires_ms,
                 .expires_ms = expires_ms},
    };
    token_cache_store(auth->cache, &t);
    if (refresh_token != NULL) {
        mutex_lock(&auth->lock);
        secret_set(&auth->refresh_token, refresh_token);
        mutex_unlock(&auth->lock);
    }
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

enum token_turn gce_auth_turn(struct gce_auth *auth, struct token_wait *wait, struct err *err)
{
    return token_cache_turn(auth->cache, wait, err);
}

void gce_auth_ended(struct gce_auth *auth, const struct err *err)
{
    token_cache_ended(auth->cache, err);
}

static void begin(void *arg, struct arena *a, bool once)
{
    struct gce_fetch *f = arg;
    gce_fetch_begin(f, f->auth, a);
    f->once = once;
}

static enum http_next step(void *arg, struct http_request *req, const struct http_response *resp,
                           double unit, struct err *err)
{
    return gce_fetch_step(arg, req, resp, unit, err);
}

int gce_auth_ready(struct gce_auth *auth, struct http *http, struct cancel *cancel, struct err *err)
{
    struct gce_fetch f = {.auth = auth};
    const struct token_fetch fetch = {.begin = begin, .step = step, .arg = &f};
    return token_cache_ready(auth->cache, &fetch, http, cancel, err);
}
