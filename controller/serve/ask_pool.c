/* SPDX-License-Identifier: Apache-2.0 */
/* ask_pool.c: a bounded queue, a few threads, and a list of answers.
 *
 * Owns each question from put to drain.  A question belongs to a thread only while it is asked;
 * what the loop keeps of it (`done`, `arg`) no thread ever reads, so that a client may leave at any
 * moment.  Must not know requests or the server.  The lock is held for list work only. */
#include "controller/serve/ask_pool.h"

#include <pthread.h>
#include <string.h>

#include "common/base/lock.h"
#include "common/base/log.h"

struct ask {
    struct ask *next;
    /* what is asked: copies */
    struct arena *arena;
    struct access_request req;
    struct headers headers;
    struct cancel *cancel;
    struct access_verdict verdict;
    /* the loop's */
    ask_done_fn *done; /* NULL: forgotten */
    void *arg;
};
struct ask_list {
    struct ask *first, **tail;
};
struct ask_pool {
    struct access *access; /* borrowed */
    void (*wake)(void *arg);
    void *wake_arg;
    pthread_t threads[ASK_THREADS];
    size_t n_threads; /* the loop's */
    size_t n_asks;    /* the loop's: put and not drained */

    struct mutex lock;
    struct cond work;               /* something waits, or the end */
    struct ask_list waits;          /* _guarded_by_(lock) */
    struct ask_list ready;          /* _guarded_by_(lock) */
    struct ask *asked[ASK_THREADS]; /* being asked; for the end.  _guarded_by_(lock) */
    size_t n_resting;               /* threads that wait for work.  _guarded_by_(lock) */
    bool ends;                      /* _guarded_by_(lock) */
};

static void *run(void *arg);

static void list_init(struct ask_list *l)
{
    l->first = NULL;
    l->tail = &l->first;
}

static void list_push(struct ask_list *l, struct ask *a)
{
    a->next = NULL;
    *l->tail = a;
    l->tail = &a->next;
}

static struct ask *list_pop(struct ask_list *l)
{
    struct ask *a = l->first;
    if (a != NULL) {
        l->first = a->next;
        l->tail = l->first == NULL ? &l->first : l->tail;
    }
    return a;
}

static void ask_free(struct ask *a)
{
    X509_free(a->req.cert);
    sk_X509_pop_free(a->req.chain, X509_free);
    cancel_free(a->cancel);
    arena_free(a->arena);
    free(a);
}

struct ask_pool *ask_pool_new(struct access *access, void (*wake)(void *arg), void *arg)
{
    struct ask_pool *p = xcalloc(1, sizeof(*p));
    p->access = access;
    p->wake = wake;
    p->wake_arg = arg;
    mutex_init(&p->lock);
    cond_init(&p->work);
    list_init(&p->waits);
    list_init(&p->ready);
    return p;
}

void ask_pool_free(struct ask_pool *p)
{
    if (p == NULL) {
        return;
    }
    struct ask *asked[ASK_THREADS];
    mutex_lock(&p->lock);
    p->ends = true;
    memcpy(asked, p->asked, sizeof(asked));
    cond_broadcast(&p->work);
    mutex_unlock(&p->lock);
    for (size_t i = 0; i < ASK_THREADS; i++) {
        if (asked[i] != NULL) {
            cancel_fire(asked[i]->cancel); /* still there: only this thread frees questions */
        }
    }
    for (size_t i = 0; i < p->n_threads; i++) {
        pthread_join(p->threads[i], NULL);
    }
    for (struct ask *a; (a = list_pop(&p->waits)) != NULL || (a = list_pop(&p->ready)) != NULL;) {
        ask_free(a);
    }
    mutex_done(&p->lock);
    cond_done(&p->work);
    free(p);
}

/* --- the loop's side -------------------------------------------------------------------------- */

static struct ask *ask_new(const struct access_request *req, const struct headers *headers)
{
    struct ask *a = xcalloc(1, sizeof(*a));
    a->arena = arena_new();
    a->cancel = cancel_new(NULL);
    a->headers = headers_dup(a->arena, headers);
    a->req = (struct access_request){
        .a = a->arena,
        .method = arena_strdup(a->arena, req->method),
        .path = arena_strdup(a->arena, req->path),
        .header = headers_find,
        .header_arg = &a->headers,
    };
    if (req->cert != NULL) {
        (void)X509_up_ref(req->cert); /* cannot fail */
        a->req.cert = req->cert;
        a->req.chain = req->chain == NULL ? NULL : X509_chain_up_ref(req->chain);
    }
    return a;
}

/* One more when all that are there have work, and there may be more. */
static void start_thread(struct ask_pool *p)
{
    if (p->n_threads == ASK_THREADS) {
        return;
    }
    if (pthread_create(&p->threads[p->n_threads], NULL, run, p) == 0) {
        p->n_threads++;
    } else {
        static struct log_limit limit = {.interval_ms = 60000, .burst = 1};
        if (log_limit_ok(&limit, clock_now_ms(clock_real()))) {
            log_warning("No thread to ask the API server about access",
                        LOG_I("threads", p->n_threads));
        }
    }
}

struct ask *ask_pool_put(struct ask_pool *p, const struct access_request *req,
                         const struct headers *headers, ask_done_fn *done, void *arg)
{
    if (p->n_asks == ASK_QUEUE) {
        return NULL;
    }
    struct ask *a = ask_new(req, headers);
    a->done = done;
    a->arg = arg;
    p->n_asks++;
    mutex_lock(&p->lock);
    bool crowded = p->n_resting == 0 || p->waits.first != NULL;
    list_push(&p->waits, a);
    cond_signal(&p->work);
    mutex_unlock(&p->lock);
    if (crowded) {
        start_thread(p);
    }
    return a;
}

void ask_forget(struct ask *a)
{
    a->done = NULL;
    cancel_fire(a->cancel);
}

void ask_pool_drain(struct ask_pool *p)
{
    mutex_lock(&p->lock);
    struct ask *next = p->ready.first;
    list_init(&p->ready);
    mutex_unlock(&p->lock);
    for (struct ask *a = next; a != NULL; a = next) {
        next = a->next;
        p->n_asks--;
        if (a->done != NULL) {
            a->done(a->arg, &a->verdict);
        }
        ask_free(a);
    }
}

/* --- the threads' side ------------------------------------------------------------------------ */

/* The next question, marked as being asked in `slot`; NULL at the end. */
static struct ask *take(struct ask_pool *p, size_t *ret_slot)
{
    struct ask *a = NULL;
    mutex_lock(&p->lock);
    p->n_resting++;
    while (!p->ends && p->waits.first == NULL) {
        clock_wait(clock_real(), &p->work, &p->lock, CLOCK_NEVER);
    }
    p->n_resting--;
    if (!p->ends) {
        a = list_pop(&p->waits);
        size_t slot = 0;
        while (p->asked[slot] != NULL) {
            slot++;
        }
        p->asked[slot] = a;
        *ret_slot = slot;
    }
    mutex_unlock(&p->lock);
    return a;
}

static void give_back(struct ask_pool *p, struct ask *a, size_t slot)
{
    mutex_lock(&p->lock);
    p->asked[slot] = NULL;
    list_push(&p->ready, a);
    mutex_unlock(&p->lock);
    p->wake(p->wake_arg);
}

static void *run(void *arg)
{
    struct ask_pool *p = arg;
    size_t slot = 0;
    for (struct ask *a; (a = take(p, &slot)) != NULL;) {
        if (cancel_fired(a->cancel)) {
            a->verdict = (struct access_verdict){.status = 500, .message = "", .user = ""};
        } else {
            access_ask(p->access, &a->req, a->cancel, &a->verdict);
        }
        give_back(p, a, slot);
    }
    return NULL;
}
