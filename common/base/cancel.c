/* SPDX-License-Identifier: Apache-2.0 */
/* cancel.c: fires once and calls every registered hook.
 *
 * The flag is atomic so that cancel_fired() costs nothing in loops; the hooks are hooks.h's list.
 * A child is an ordinary hook on its parent.  `lock` makes "is it fired?" and "add a hook" one
 * step, so that a hook is called exactly once whether it comes before or after the firing. */
#include "common/base/cancel.h"
#include "common/base/arena.h"
#include "common/base/clock.h"
#include "common/base/hooks.h"
#include "common/base/lock.h"

#include <stdatomic.h>

struct cancel {
    atomic_bool fired;
    struct mutex lock; /* fired becoming true, and adding hooks */
    struct hooks hooks;
    struct cancel *parent; /* borrowed; NULL = none */
    int parent_handle;
};

static void fire_from_parent(void *arg)
{
    cancel_fire(arg);
}

struct cancel *cancel_new(struct cancel *parent)
{
    struct cancel *c = xcalloc(1, sizeof *c);
    atomic_init(&c->fired, false);
    mutex_init(&c->lock);
    hooks_init(&c->hooks);
    if (parent != NULL) {
        c->parent = parent;
        c->parent_handle = cancel_hook(parent, fire_from_parent, c);
    }
    return c;
}

void cancel_free(struct cancel *c)
{
    if (c == NULL) {
        return;
    }
    if (c->parent != NULL) {
        cancel_unhook(c->parent, c->parent_handle);
    }
    hooks_done(&c->hooks);
    mutex_done(&c->lock);
    free(c);
}

void cancel_fire(struct cancel *c)
{
    mutex_lock(&c->lock);
    bool first = !atomic_exchange(&c->fired, true);
    mutex_unlock(&c->lock);
    if (first) {
        /* From here on a new hook runs at once instead of being added. */
        hooks_run(&c->hooks, INT64_MAX);
    }
}

bool cancel_fired(struct cancel *c)
{
    return c != NULL && atomic_load(&c->fired);
}

int cancel_hook(struct cancel *c, void (*fn)(void *arg), void *arg)
{
    if (c == NULL) {
        return 0; /* never fired */
    }
    mutex_lock(&c->lock);
    if (!atomic_load(&c->fired)) {
        int handle = hooks_add(&c->hooks, fn, arg);
        mutex_unlock(&c->lock);
        return handle;
    }
    mutex_unlock(&c->lock);
    fn(arg);
    return 0;
}

void cancel_unhook(struct cancel *c, int handle)
{
    if (handle != 0) {
        hooks_remove(&c->hooks, handle);
    }
}

/* ---- pauses ---------------------------------------------------------------------------------- */

struct nap {
    struct mutex lock;
    struct cond woken;
};

static void nap_wake(void *arg)
{
    struct nap *nap = arg;
    mutex_lock(&nap->lock);
    cond_broadcast(&nap->woken);
    mutex_unlock(&nap->lock);
}

void cancel_nap(struct cancel *c, struct clock *clock, int64_t until_ms)
{
    struct nap nap;
    mutex_init(&nap.lock);
    cond_init(&nap.woken);
    int hook = cancel_hook(c, nap_wake, &nap);
    mutex_lock(&nap.lock);
    while (!cancel_fired(c) && clock_now_ms(clock) < until_ms) {
        clock_wait(clock, &nap.woken, &nap.lock, until_ms);
    }
    mutex_unlock(&nap.lock);
    cancel_unhook(c, hook);
    cond_done(&nap.woken);
    mutex_done(&nap.lock);
}
