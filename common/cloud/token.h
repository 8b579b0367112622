/* SPDX-License-Identifier: Apache-2.0 */
/* token.h: a cache for one credential (an access token, or a set of keys) that expires.
 *
 * The cache has four states, by three monotonic times that come with the credential:
 *
 *     fresh     before refresh_ms            used
 *     stale     refresh_ms … required_ms     used; one caller fetches a new one meanwhile
 *     required  required_ms … expires_ms     callers that may block wait for the fetch; if it
 *                                            fails, the old credential is used until it expires
 *     invalid   from expires_ms on, or none  one caller fetches, all others wait
 *
 * At most one fetch runs at a time.  A caller that waits does so for one fetch: when that fails,
 * the caller gets its error, even if another caller has begun the next fetch already.  A cancelled
 * fetch does not count as a failure: the next caller fetches.  While an old credential is still
 * valid, a fetch is tried once, and after a failure the provider decides when the next one is due
 * (refresh_failed).
 *
 * The cache does not know how a credential is fetched.  No lock is held during a fetch.  Secrets
 * are wiped when they are replaced, dropped or freed.  Thread-safe.
 *
 *     before a wave of jobs       token_cache_ready()  blocks; then each job takes token_cache_get()
 *     the server refuses it       token_cache_drop(), then, in a job that cannot block:
 *                                 token_cache_turn(), and after TOKEN_TURN_MINE the fetch,
 *                                 token_cache_store() on success, and token_cache_ended() always */
#ifndef TRIMTAB_CLOUD_TOKEN_H
#define TRIMTAB_CLOUD_TOKEN_H

#include "common/base/arena.h"
#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/net/http.h"

#include <stdbool.h>
#include <stdint.h>

#define TOKEN_PARTS 3

/* Monotonic times; refresh_ms <= required_ms <= expires_ms; CLOCK_NEVER for a credential without
 * an end. */
struct token_life {
    int64_t refresh_ms;
    int64_t required_ms;
    int64_t expires_ms;
};
struct token {
    const char *parts[TOKEN_PARTS]; /* the first identifies the credential; others may be NULL */
    struct token_life life;
    bool pinned;   /* a fetch would bring the same: token_cache_drop() keeps it */
    unsigned mark; /* the provider's own, for refresh_failed */
};

/* A fetch has failed while a credential is cached: sets the time of the next attempt in *life, and
 * may extend the credential's validity.  Called with the cache's lock held: must not block or call
 * the cache. */
typedef void token_refresh_failed_fn(void *arg, unsigned mark, int64_t now_ms,
                                     struct token_life *life);
struct token_cache_config {
    struct clock *clock; /* borrowed */
    struct rng *rng;     /* borrowed; NULL: rng_real() */
    token_refresh_failed_fn *refresh_failed;
    void *arg;
};
struct token_cache;
struct token_cache *token_cache_new(const struct token_cache_config *cfg);
void token_cache_free(struct token_cache *c); /* NULL is allowed */

/* A copy in `a`; false if no valid credential is cached.  Does not block. */
bool token_cache_get(struct token_cache *c, struct arena *a, struct token *ret);
/* Copies `t` into the cache and forgets the challenge. */
void token_cache_store(struct token_cache *c, const struct token *t);
/* The server refused the credential whose first part is `first`.  If that one is still cached, it
 * is removed.  `challenge` (copied; NULL: none) is what the server asks for with the next fetch; it
 * is ignored if another credential is cached by now.  Returns false if the credential is pinned and
 * stays. */
bool token_cache_drop(struct token_cache *c, const char *first, const char *challenge);
/* The challenge of the last refusal, as a copy in `a`; NULL: none. */
const char *token_cache_challenge(struct token_cache *c, struct arena *a);

/* The answer to a caller that needs a credential and must not block. */
enum token_turn {
    TOKEN_TURN_READY = 0, /* one is cached */
    TOKEN_TURN_MINE,      /* the caller fetches, and calls token_cache_ended() at the end */
    TOKEN_TURN_WAIT,      /* another caller fetches: ask again later */
    TOKEN_TURN_FAILED,    /* the fetch that was waited for has failed: *err */
};
/* State of a caller between two calls of token_cache_turn(); zero at first. */
struct token_wait {
    bool waits;
    unsigned failures; /* count of failed fetches when it began to wait */
};
enum token_turn token_cache_turn(struct token_cache *c, struct token_wait *wait, struct err *err);
/* The fetch has ended; `err` is its result. */
void token_cache_ended(struct token_cache *c, const struct err *err);

/* How a provider fetches. */
struct token_fetch {
    /* Called once before the first step.  `a` lives until the fetch has ended.  `once`: a valid
     * credential is cached, so that a failed request is not repeated. */
    void (*begin)(void *arg, struct arena *a, bool once);
    /* The next request, or HTTP_DONE: either the credential is stored, or *err is set.  `resp` is
     * NULL at first; `unit` in [0,1) is random. */
    enum http_next (*step)(void *arg, struct http_request *req, const struct http_response *resp,
                           double unit, struct err *err);
    void *arg;
};
/* Makes sure that a valid credential is cached.  Blocks while this caller or another one fetches.
 * Returns the error of the fetch (ERR_AUTH, ERR_TRANSIENT …), or ERR_CANCELLED. */
int token_cache_ready(struct token_cache *c, const struct token_fetch *fetch, struct http *http,
                      struct cancel *cancel, struct err *err) _warn_unused_;

#endif
