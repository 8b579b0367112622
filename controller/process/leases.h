/* SPDX-License-Identifier: Apache-2.0 */
/* leases.h: leases that are held while this process writes: the main one (election.h) and those of
 * the provider.
 *
 *     leases_new(&args, &l, &err);                  checks them; nothing is asked yet
 *     fence_add_guard(f, leases_may_mutate, l);     says no until all are held
 *     leases_start(l, &err);                        begins to take them, in threads
 *     leases_wait(l, cancel, &err);                 until all are held; nothing may have been sent
 *                                                   before
 *     … args.lost(arg): the work must end, and the process with an error: leases_why_lost() …
 *     fence_close(f);
 *     leases_free(l, 500);                          after the work has ended: gives back what is
 *                                                   held and was not lost
 *
 * How a lease is taken and kept is kube/lease_keeper.h's.  The requests for the leases themselves
 * have a client without a fence and without a limit of their rate.
 * Source: controller.md §4.9; the provider's: gce-l4.md §7.5. */
#ifndef TRIMTAB_CONTROLLER_LEASES_H
#define TRIMTAB_CONTROLLER_LEASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attr.h"
#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/err.h"
#include "controller/kube/client/client.h"
#include "controller/kube/lease/lease_keeper.h"

/* client-go's times, and ingress-gce's (gce-l4.md §7.5). */
#define LEASES_DURATION_MS       15000
#define LEASES_RENEW_DEADLINE_MS 10000
#define LEASES_RETRY_MS          2000

#define LEASES_IDENTITY_MAX 300 /* bytes with the NUL */

struct leases;

struct leases_args {
    const struct lease_terms *locks; /* copied */
    size_t n_locks;
    /* as for other calls; fence, cancel and rate limit are not used */
    struct kube_client_args client;
    struct clock *clock;
    struct rng *rng;
    /* one that is waited for is also watched, so that it is taken as soon as it is let go */
    bool watch;
    /* From the keeper's threads; quick.  All but `lost` may be NULL. */
    void (*changed)(void *arg, const struct lease_change *change);
    void (*slow_path)(void *arg, const char *name); /* a renewal had to read first */
    void (*lost)(void *arg); /* one is: leases_may_mutate() says no already */
    bool (*may_renew)(
        void *arg,
        struct err *err); /* NULL: always; false ends as a lost one does (kube/lease.h) */
    void *arg;
};

/* INVALID: names or times do not fit each other. */
int leases_new(const struct leases_args *args, struct leases **ret, struct err *err) _warn_unused_;
/* TRANSIENT: nothing runs. */
int leases_start(struct leases *l, struct err *err) _warn_unused_;
/* Blocks until all are held.  CANCELLED: `cancel` fired; another code: one is lost. */
int leases_wait(struct leases *l, struct cancel *cancel, struct err *err) _warn_unused_;
/* Are all held at this moment?  `leases` is a struct leases: a guard of a fence.  Any thread. */
bool leases_may_mutate(void *leases);
/* All of them were held once.  Any thread. */
bool leases_were_held(struct leases *l);
/* True: one was lost, *ret says which and why.  `l` may be NULL.  Any thread. */
bool leases_why_lost(struct leases *l, struct err *ret);
/* False: one is kept badly (vector 157); *ret_name is which.  Any thread. */
bool leases_are_healthy(struct leases *l, const char **ret_name);
/* Copies the known holder of the first one ("": none).  Any thread. */
void leases_read_holder(struct leases *l, char ret[LEASE_HOLDER_MAX]);
/* Ends the threads: leases_may_mutate() returns false from now on, and there are no more callbacks.
 * Nothing is given back yet. */
void leases_end(struct leases *l);
/* leases_end(), gives back what was held and not lost, each within `release_ms` (0: nothing is
 * given back), and frees.  NULL is fine. */
void leases_free(struct leases *l, int64_t release_ms);

/* "host_uuid": no two processes have the same, nor one process after its restart. */
void leases_make_identity(struct rng *rng, char out[LEASES_IDENTITY_MAX]);

#endif
