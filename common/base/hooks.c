/* SPDX-License-Identifier: Apache-2.0 */
/* hooks.c: callbacks that can be taken away safely.
 *
 * A round numbers itself and marks the hooks it has called, so that the list may change between two
 * calls and nothing is called twice.  See hooks.h for the promises. */
#include "common/base/hooks.h"
#include "common/base/arena.h"

static struct hook *next_of_round(struct hooks *h, int64_t now_ms);

void hooks_init(struct hooks *h)
{
    *h = (struct hooks){0};
    mutex_init(&h->lock);
    cond_init(&h->idle);
}

void hooks_done(struct hooks *h)
{
    while (h->list != NULL) {
        struct hook *hook = h->list;
        h->list = hook->next;
        free(hook);
    }
    cond_done(&h->idle);
    mutex_done(&h->lock);
}

int hooks_add(struct hooks *h, void (*fn)(void *arg), void *arg)
{
    struct hook *hook = xcalloc(1, sizeof *hook);
    hook->fn = fn;
    hook->arg = arg;
    mutex_lock(&h->lock);
    int id = ++h->last_id;
    hook->id = id;
    hook->next = h->list;
    h->list = hook;
    mutex_unlock(&h->lock);
    return id;
}

void hooks_remove(struct hooks *h, int id)
{
    mutex_lock(&h->lock);
    for (struct hook **at = &h->list; *at != NULL; at = &(*at)->next) {
        if ((*at)->id == id) {
            struct hook *hook = *at;
            *at = hook->next;
            free(hook);
            break;
        }
    }
    bool is_runner = h->in_round && pthread_equal(h->runner, pthread_self());
    while (h->running_id == id && id != 0 && !is_runner) {
        (void)pthread_cond_wait(&h->idle.c, &h->lock.m); /* cannot fail with a held mutex */
    }
    mutex_unlock(&h->lock);
}

void hooks_run(struct hooks *h, int64_t now_ms)
{
    mutex_lock(&h->lock);
    while (h->in_round) {
        (void)pthread_cond_wait(&h->idle.c, &h->lock.m);
    }
    h->in_round = true;
    h->runner = pthread_self();
    h->round++;
    struct hook *hook;
    while ((hook = next_of_round(h, now_ms)) != NULL) {
        void (*fn)(void *arg) = hook->fn;
        void *arg = hook->arg;
        h->running_id = hook->id;
        mutex_unlock(&h->lock);
        fn(arg); /* `hook` may be gone from here on */
        mutex_lock(&h->lock);
        h->running_id = 0;
        cond_broadcast(&h->idle);
    }
    h->in_round = false;
    cond_broadcast(&h->idle);
    mutex_unlock(&h->lock);
}

void hooks_announce(struct hooks *h, int id, int64_t until_ms)
{
    mutex_lock(&h->lock);
    for (struct hook *hook = h->list; hook != NULL; hook = hook->next) {
        if (hook->id == id) {
            hook->until_ms = until_ms;
        }
    }
    mutex_unlock(&h->lock);
}

static struct hook *next_of_round(struct hooks *h, int64_t now_ms)
{
    for (struct hook *hook = h->list; hook != NULL; hook = hook->next) {
        if (hook->seen_round != h->round && hook->until_ms <= now_ms) {
            hook->seen_round = h->round;
            return hook;
        }
    }
    return NULL;
}
