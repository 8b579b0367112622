/* SPDX-License-Identifier: Apache-2.0 */
/* aws_auth.c: how long keys of aws_auth.h are used, and when they are fetched again
 * (common/cloud/token.h keeps them). */
#include "common/base/str.h"
#include "providers/aws/auth/aws_auth_internal.h"

#include <stdlib.h>

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
    struct token_cache *cache;
};

/* Parts of a token. */
enum { ACCESS_KEY, SECRET_KEY, SESSION_TOKEN };

/* The mark of keys of the instance's role, with nothing on top. */
#define INSTANCE_KEYS 1

static struct rng *rng_of(const struct aws_auth *auth)
{
    return auth->cfg.rng != NULL ? auth->cfg.rng : rng_real();
}

static int64_t some(struct aws_auth *auth, int64_t least, int64_t spread)
{
    return least + (int64_t)rng_below(rng_of(auth), (uint64_t)spread + 1);
}

/* When the next attempt is due while old keys are cached.  Keys of an instance outlive their end
 * while the metadata service fails, as AWS' own tools have it. */
static void refresh_failed(void *arg, unsigned mark, int64_t now_ms, struct token_life *life)
{
    struct aws_auth *auth = arg;
    if (mark == INSTANCE_KEYS) {
        life->refresh_ms = now_ms + some(auth, STABLE_MIN_MS, STABLE_SPREAD_MS);
        if (life->expires_ms < life->refresh_ms + MINUTE_MS) {
            life->expires_ms = life->refresh_ms + MINUTE_MS;
            life->required_ms = life->refresh_ms;
        }
        return;
    }
    int64_t at = now_ms + some(auth, RETRY_MIN_MS, RETRY_SPREAD_MS);
    int64_t last_ms = now_ms + LAST_RETRY_MS;
    int64_t latest = life->required_ms > last_ms ? life->required_ms : last_ms;
    life->refresh_ms = at < latest ? at : latest;
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
    const struct token_cache_config cache = {
        .clock = cfg->clock, .rng = cfg->rng, .refresh_failed = refresh_failed, .arg = auth};
    auth->cache = token_cache_new(&cache);
    *ret = auth;
    return ERR_OK;
}

void aws_auth_free(struct aws_auth *auth)
{
    if (auth == NULL) {
        return;
    }
    token_cache_free(auth->cache);
    free(auth);
}

const struct aws_auth_config *aws_auth_config_of(const struct aws_auth *auth)
{
    return &auth->cfg;
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

/* ---- the keys -------------------------------------------------------------------------------- */

bool aws_auth_keys(struct aws_auth *auth, struct arena *a, struct sigv4_keys *ret)
{
    struct token t;
    if (!token_cache_get(auth->cache, a, &t)) {
        return false;
    }
    *ret = (struct sigv4_keys){
        .access_key = t.parts[ACCESS_KEY],
        .secret_key = t.parts[SECRET_KEY],
        .session_token = t.parts[SESSION_TOKEN],
    };
    return true;
}

bool aws_auth_drop(struct aws_auth *auth, const char *access_key)
{
    return token_cache_drop(auth->cache, access_key, NULL);
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
    int64_t end = clock_now_ms(auth->cfg.clock) + found->lasts_ms;
    int64_t last_minute = found->lasts_ms / 4 < MINUTE_MS ? found->lasts_ms / 4 : MINUTE_MS;
    struct token t = {
        .parts = {[ACCESS_KEY] = found->keys.access_key,
                  [SECRET_KEY] = found->keys.secret_key,
                  [SESSION_TOKEN] = found->keys.session_token},
        .life = {CLOCK_NEVER, CLOCK_NEVER, CLOCK_NEVER},
        .pinned = chain->n == 1 && first->is_fixed,
        .mark = chain->n == 1 && first->source == AWS_SOURCE_IMDS ? INSTANCE_KEYS : 0,
    };
    if (found->expires) {
        t.life = (struct token_life){.refresh_ms = end - window_of(found->lasts_ms),
                                     .required_ms = end - last_minute,
                                     .expires_ms = end};
    }
    token_cache_store(auth->cache, &t);
}

enum token_turn aws_auth_turn(struct aws_auth *auth, struct token_wait *wait, struct err *err)
{
    return token_cache_turn(auth->cache, wait, err);
}

void aws_auth_ended(struct aws_auth *auth, const struct err *err)
{
    token_cache_ended(auth->cache, err);
}

/* ---- blocking -------------------------------------------------------------------------------- */

struct ready {
    struct aws_auth *auth;
    struct cancel *cancel;
    struct aws_fetch fetch;
};

static void begin(void *arg, struct arena *a, bool once)
{
    struct ready *r = arg;
    aws_fetch_begin(&r->fetch, r->auth, a, r->cancel);
    r->fetch.once = once;
}

static enum http_next step(void *arg, struct http_request *req, const struct http_response *resp,
                           double unit, struct err *err)
{
    struct ready *r = arg;
    return aws_fetch_step(&r->fetch, req, resp, unit, err);
}

int aws_auth_ready(struct aws_auth *auth, struct http *http, struct cancel *cancel, struct err *err)
{
    struct ready r = {.auth = auth, .cancel = cancel};
    const struct token_fetch fetch = {.begin = begin, .step = step, .arg = &r};
    return token_cache_ready(auth->cache, &fetch, http, cancel, err);
}
