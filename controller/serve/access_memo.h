/* SPDX-License-Identifier: Apache-2.0 */
/* access_memo.h: one question is asked once, however many wait for its answer.
 *
 * A cache with a lock, and the questions that are in progress: who comes first asks, who comes
 * meanwhile waits for that answer.  When the fetching request is cancelled, one of the waiters
 * takes over.  Thread-safe. */
#ifndef TRIMTAB_SERVE_ACCESS_MEMO_H
#define TRIMTAB_SERVE_ACCESS_MEMO_H

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "controller/serve/access_cache.h"

struct access_memo;

struct access_memo *access_memo_new(size_t max, struct clock *clock) _warn_unused_;
void access_memo_free(struct access_memo *m); /* no thread may be in access_memo_ask() */
/* A reference to what is remembered, or NULL.  Never blocks for long. */
struct access_answer *access_memo_get(struct access_memo *m, const struct access_key *key);

/* Asks, in the calling thread, without a lock.  *ret_ttl_ms: how long the answer may be used; 0: by
 * those who wait only. */
typedef struct access_answer *access_fetch_fn(void *arg, struct cancel *cancel,
                                              int64_t *ret_ttl_ms);
/* A reference to the answer: cached, another request's, or fetched.  ACCESS_CANCELLED when `cancel`
 * fired.  Blocks.  *ret_shared: another request fetched it. */
struct access_answer *access_memo_ask(struct access_memo *m, const struct access_key *key,
                                      struct cancel *cancel, access_fetch_fn *fetch, void *arg,
                                      bool *ret_shared);
/* Requests in progress, and callers that wait for one of another caller. */
void access_memo_counts(struct access_memo *m, size_t *ret_fetching, size_t *ret_waiting);

#endif
