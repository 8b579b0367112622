/* SPDX-License-Identifier: Apache-2.0 */
/* ask_pool.h: questions about access that may take a while, on a few threads of their own.
 *
 * Why: access_ask() blocks for as long as the API server takes, and the event loop must not.  The
 * loop puts a question (which copies what it needs of the request), a thread asks, and the loop
 * fetches the verdict:
 *
 *     ask = ask_pool_put(pool, &request, &headers, done, arg);    NULL: too many questions
 *     …wake()… → the loop calls ask_pool_drain(pool) → done(arg, verdict)
 *     ask_forget(ask);                                            the client has left: done will
 *                                                                 not be called
 *
 * All functions belong to the loop's thread; only `wake` is called from the pool's.  Threads are
 * started when there is work for them, ASK_THREADS at most; ASK_QUEUE questions wait at most.  A
 * forgotten question is cancelled. */
#ifndef TRIMTAB_SERVE_ASK_POOL_H
#define TRIMTAB_SERVE_ASK_POOL_H

#include "controller/serve/access.h"
#include "controller/serve/headers.h"

#define ASK_THREADS 4
#define ASK_QUEUE   256 /* waiting and being asked */

struct ask;
struct ask_pool;
/* `verdict` is borrowed for the call. */
typedef void ask_done_fn(void *arg, const struct access_verdict *verdict);

/* `access` is borrowed; wake(arg) must be quick and callable from any thread. */
struct ask_pool *ask_pool_new(struct access *access, void (*wake)(void *arg),
                              void *arg) _warn_unused_;
/* Cancels everything, waits for the threads; no done() is called.  NULL is fine. */
void ask_pool_free(struct ask_pool *p);
/* Of `req` its arena and header function are not used; `headers` are copied. */
struct ask *ask_pool_put(struct ask_pool *p, const struct access_request *req,
                         const struct headers *headers, ask_done_fn *done, void *arg);
void ask_forget(struct ask *a);
/* Calls done() for every question that was answered. */
void ask_pool_drain(struct ask_pool *p);

#endif
