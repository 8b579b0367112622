/* SPDX-License-Identifier: Apache-2.0 */
/* fence.h: may this process change anything right now?
 *
 * Every mutation, of the cloud and of Kubernetes objects, asks right before it is sent (design: fencing).  Without
 * leader election the fence stands open for ever; an elector opens and closes it by its lease.
 * Thread-safe. */
#ifndef TRIMTAB_CONTROLLER_FENCE_H
#define TRIMTAB_CONTROLLER_FENCE_H

#include <stdatomic.h>
#include <stdbool.h>

struct fence {
    atomic_bool closed;
    /* Besides, whether the leases are held at this moment (kube/lease_keeper.h); NULL: there are none.  Set before
     * anybody asks.  Unlike a closed fence it may say yes again. */
    bool (*is_held)(void *arg);
    void *is_held_arg;
};

static inline bool fence_may_mutate(struct fence *f)
{
    return !atomic_load(&f->closed) && (f->is_held == NULL || f->is_held(f->is_held_arg));
}
/* For callbacks that carry a void pointer. */
static inline bool fence_may_mutate_arg(void *fence)
{
    return fence_may_mutate(fence);
}
/* From now on nothing is sent any more. */
static inline void fence_close(struct fence *f)
{
    atomic_store(&f->closed, true);
}

#endif
