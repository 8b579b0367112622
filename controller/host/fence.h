/* SPDX-License-Identifier: Apache-2.0 */
/* fence.h: may this process change anything right now?
 *
 * Every mutation, of the cloud and of Kubernetes objects, asks right before its bytes are sent, and
 * again while they are (common/net/http.h).  The fence asks its guards: the main lease
 * (election.h), the provider's leases (leases.h).  Without guards it stands open until it is closed
 * for good.
 * Thread-safe, but guards are added and closed by the thread that starts and stops the app. */
#ifndef TRIMTAB_CONTROLLER_FENCE_H
#define TRIMTAB_CONTROLLER_FENCE_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>

#define FENCE_GUARDS_MAX 2

/* Is what it stands for held at this moment?  Unlike a closed fence it may say yes again. */
struct fence_guard {
    bool (*is_held)(void *arg);
    void *arg;
};

struct fence {
    atomic_bool closed;
    /* number of refusals, to recognise a call that was refused */
    atomic_uint refusals;
    atomic_uint n_guards;
    /* filled before they are counted, never changed after */
    struct fence_guard guards[FENCE_GUARDS_MAX];
};

static inline bool fence_may_mutate(struct fence *f)
{
    bool may = !atomic_load(&f->closed);
    unsigned n = atomic_load(&f->n_guards);
    for (unsigned i = 0; may && i < n; i++) {
        may = f->guards[i].is_held(f->guards[i].arg);
    }
    if (!may) {
        atomic_fetch_add(&f->refusals, 1);
    }
    return may;
}
/* For callbacks that carry a void pointer. */
static inline bool fence_may_mutate_arg(void *fence)
{
    return fence_may_mutate(fence);
}
/* Adds a guard that must agree; `arg` must live until the fence is closed and no check is
 * running. */
static inline void fence_add_guard(struct fence *f, bool (*is_held)(void *arg), void *arg)
{
    unsigned n = atomic_load(&f->n_guards);
    assert(n < FENCE_GUARDS_MAX);
    f->guards[n] = (struct fence_guard){.is_held = is_held, .arg = arg};
    atomic_store(&f->n_guards, n + 1);
}
static inline unsigned fence_refusals(struct fence *f)
{
    return atomic_load(&f->refusals);
}
/* From now on nothing is sent any more. */
static inline void fence_close(struct fence *f)
{
    atomic_store(&f->closed, true);
}

#endif
