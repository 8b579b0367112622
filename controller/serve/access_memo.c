/* SPDX-License-Identifier: Apache-2.0 */
/* access_memo.c: see access_memo.h.
 *
 * `lock` guards everything; no call is made under it.  A flight lives as long as a request fetches
 * it or waits for it. */
#include "controller/serve/access_memo.h"

#include <stdlib.h>

#include "common/base/lock.h"
#include "common/base/map.h"

struct flight {
    struct access_answer *answer; /* NULL: in progress */
    size_t users;                 /* who asks, and who waits */
};
struct access_memo {
    struct clock *clock;
    struct mutex lock;
    struct cond changed; /* an answer came, or a waiter was cancelled */
    struct access_cache *cache _guarded_by_(&lock);
    struct map *flights _guarded_by_(&lock); /* by key */
    size_t fetching _guarded_by_(&lock);
    size_t waiting _guarded_by_(&lock);
};

struct access_memo *access_memo_new(size_t max, struct clock *clock) _no_lock_check_
{
    struct access_memo *m = xcalloc(1, sizeof *m);
    m->clock = clock;
    mutex_init(&m->lock);
    cond_init(&m->changed);
    m->cache = access_cache_new(max);
    m->flights = map_new(NULL);
    return m;
}

void access_memo_free(struct access_memo *m) _no_lock_check_
{
    if (m == NULL) {
        return;
    }
    access_cache_free(m->cache);
    map_free(m->flights);
    cond_done(&m->changed);
    mutex_done(&m->lock);
    free(m);
}

struct access_answer *access_memo_get(struct access_memo *m, const struct access_key *key)
{
    mutex_lock(&m->lock);
    struct access_answer *x = access_cache_get(m->cache, key, clock_now_ms(m->clock));
    mutex_unlock(&m->lock);
    return x;
}

void access_memo_counts(struct access_memo *m, size_t *ret_fetching, size_t *ret_waiting)
{
    mutex_lock(&m->lock);
    *ret_fetching = m->fetching;
    *ret_waiting = m->waiting;
    mutex_unlock(&m->lock);
}

static void leave(struct flight *f)
{
    if (--f->users == 0) {
        access_answer_unref(f->answer);
        free(f);
    }
}

/* Fetches for all waiters.  The lock is held before and after, not while it asks. */
static struct access_answer *lead(struct access_memo *m, const struct access_key *key,
                                  struct cancel *cancel, access_fetch_fn *fetch, void *arg)
    _requires_(&m->lock)
{
    struct flight *f = xcalloc(1, sizeof *f);
    int64_t ttl_ms = 0;
    f->users = 1;
    map_set(m->flights, key->hex, f);
    m->fetching++;
    mutex_unlock(&m->lock);
    struct access_answer *x = fetch(arg, cancel, &ttl_ms);
    mutex_lock(&m->lock);
    m->fetching--;
    (void)map_remove(m->flights, key->hex); /* it is there */
    f->answer = access_answer_ref(x);
    access_cache_put(m->cache, key, x, ttl_ms, clock_now_ms(m->clock));
    cond_broadcast(&m->changed);
    leave(f);
    return x;
}

/* Waits for another request's answer; NULL: `cancel` fired, or that request was cancelled. */
static struct access_answer *wait_for(struct access_memo *m, struct flight *f,
                                      struct cancel *cancel) _requires_(&m->lock)
{
    f->users++;
    m->waiting++;
    while (f->answer == NULL && !cancel_fired(cancel)) {
        clock_wait(m->clock, &m->changed, &m->lock, CLOCK_NEVER);
    }
    m->waiting--;
    bool usable = f->answer != NULL && f->answer->outcome != ACCESS_CANCELLED;
    struct access_answer *x = usable ? access_answer_ref(f->answer) : NULL;
    leave(f);
    return x;
}

static void wake(void *arg)
{
    struct access_memo *m = arg;
    mutex_lock(&m->lock);
    cond_broadcast(&m->changed);
    mutex_unlock(&m->lock);
}

struct access_answer *access_memo_ask(struct access_memo *m, const struct access_key *key,
                                      struct cancel *cancel, access_fetch_fn *fetch, void *arg,
                                      bool *ret_shared)
{
    int hook = cancel == NULL ? 0 : cancel_hook(cancel, wake, m);
    struct access_answer *x = NULL;
    *ret_shared = false;
    mutex_lock(&m->lock);
    while (x == NULL && !cancel_fired(cancel)) {
        x = access_cache_get(m->cache, key, clock_now_ms(m->clock));
        struct flight *f = x == NULL ? map_get(m->flights, key->hex) : NULL;
        if (f != NULL) {
            x = wait_for(m, f, cancel);
            *ret_shared = x != NULL;
        } else if (x == NULL) {
            x = lead(m, key, cancel, fetch, arg);
        }
    }
    mutex_unlock(&m->lock);
    if (cancel != NULL) {
        cancel_unhook(cancel, hook);
    }
    return x == NULL ? access_answer_new(ACCESS_CANCELLED) : x;
}
