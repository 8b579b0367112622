/* SPDX-License-Identifier: Apache-2.0 */
/* leases.h: the leases that the provider wants held while this process writes.
 *
 *     leases_start(&args, &l, &err);      after the provider is open; *l NULL: none is needed
 *     leases_wait(l, cancel, &err);       until all are held; nothing may have been sent before
 *     … args.lost(arg): the work must end, and the process with an error: leases_why_lost() …
 *     leases_stop(l, 500);                after the work has ended: gives them back
 *
 * Which ones is the provider's word (tt_provider.leases, needs_lease); how a lease is taken and kept is
 * kube/lease_keeper.h's.  The fence asks the keeper before every mutation, of the cloud and of objects; the requests for
 * the leases themselves have a client without a fence.
 * Source: gce-l4.md §7.5; times and the identity as client-go has them, controller.md §4.9. */
#ifndef TRIMTAB_CONTROLLER_LEASES_H
#define TRIMTAB_CONTROLLER_LEASES_H

#include <stdbool.h>
#include <stdint.h>
#include <trimtab/provider.h>

#include "common/base/attr.h"
#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/err.h"
#include "controller/fence.h"
#include "controller/kube/client.h"

struct leases;

struct leases_args {
    const struct tt_provider *desc; /* checked (plugin.h) */
    void *provider;                 /* open */
    struct kube_client_args
        client; /* as for other calls; fence, cancel and rate limit are not used */
    struct clock *clock;
    struct rng *rng;
    struct fence *fence; /* nobody asks it yet; must live longer */
    /* One is lost: the fence is closed already.  From a thread of the keeper's; must be quick. */
    void (*lost)(void *arg);
    void *arg;
};

/* Begins to take what is needed, in threads.  INVALID, TRANSIENT: nothing runs. */
int leases_start(const struct leases_args *args, struct leases **ret,
                 struct err *err) _warn_unused_;
/* Blocks until all are held.  CANCELLED: `cancel` fired; another code: one is lost.  OK at once when `l` is NULL. */
int leases_wait(struct leases *l, struct cancel *cancel, struct err *err) _warn_unused_;
/* True: one was lost, *ret says which and why.  `l` may be NULL.  Any thread. */
bool leases_why_lost(struct leases *l, struct err *ret);
/* Ends the threads, gives back what is held, each within `release_ms`, and frees.  NULL is fine. */
void leases_stop(struct leases *l, int64_t release_ms);

#endif
