/* SPDX-License-Identifier: Apache-2.0 */
/* lease_keeper.h: several locks that a process needs all of, each with a thread that takes and
 * keeps it.
 *
 *     struct lease_keeper *k = lease_keeper_new(&args);
 *     fence_add_guard(&fence, lease_keeper_may_mutate, k);      every mutation asks
 *     rc = lease_keeper_start(k, &err);
 *     … on_held(): the work may begin …  on_lost(): the work must end, and the process with it …
 *     lease_keeper_stop(k, 1000);      after the work has ended: gives the locks back
 *     lease_keeper_free(k);
 *
 * The locks are taken one after the other in the order of their names: if two processes want the
 * same ones, the first name decides, and neither waits for the other forever.  What is held while
 * another is waited for is renewed.  A lock that was lost is not taken again: the process must
 * restart.  Callbacks come from the keeper's threads (or stop()), one at a time; they must be
 * quick, because renewals wait for them, and must not call the keeper but for may_mutate().
 * Source: controller.md §4.9; ingress-gce's locks: gce-l4.md §7.5. */
#ifndef TRIMTAB_KUBE_LEASE_KEEPER_H
#define TRIMTAB_KUBE_LEASE_KEEPER_H

#include "controller/kube/lease/lease.h"

#include <stddef.h>

#define LEASE_KEEPER_LOCKS_MAX 8

struct lease_keeper;

/* A lock was taken, or is not held any more.  Texts are valid during the call. */
struct lease_change {
    const struct lease_terms *terms;
    const char *uid; /* of the Lease, for events: controller.md §4.9 */
    const char *resource_version;
    bool held;
};

struct lease_keeper_args {
    const struct lease_terms *locks; /* copied */
    size_t n_locks;                  /* 1 … LEASE_KEEPER_LOCKS_MAX, no name twice */
    struct kube_client *client;      /* not fenced by these locks; must live longer */
    const char *watch_agent; /* user agent of the watch on a lock that is waited for; NULL: none */
    struct clock *clock;     /* NULL: the real one */
    struct rng *rng;         /* NULL: the kernel's */
    /* Each may be NULL. */
    void (*on_change)(void *arg, const struct lease_change *change);
    void (*on_slow_path)(void *arg, const char *name); /* a renewal had to read first */
    bool (*may_renew)(void *arg,
                      struct err *err); /* see lease.h; at the same time from several threads */
    void (*on_held)(void *arg);         /* all of them, for the first time */
    /* One was lost, for the reason in `why`; comes at most once, and nothing may be sent
     * from then on. */
    void (*on_lost)(void *arg, const char *name, const struct err *why);
    void *arg;
};

/* INVALID, with what and why, when the times of one do not fit each other or one is
 * asked for twice. */
int lease_keeper_check(const struct lease_terms *locks, size_t n, struct err *err) _warn_unused_;
struct lease_keeper *lease_keeper_new(const struct lease_keeper_args *args) _warn_unused_;
/* Begins to take them.  INVALID when their terms are wrong; then nothing runs. */
int lease_keeper_start(struct lease_keeper *k, struct err *err) _warn_unused_;
/* Are all held at this moment?  `keeper` is a struct lease_keeper: for struct
 * fence.  Any thread. */
bool lease_keeper_may_mutate(void *keeper);
/* The check of /healthz; on false *ret_name (may be NULL) is a lock that is kept
 * badly.  Any thread. */
bool lease_keeper_is_healthy(struct lease_keeper *k, const char **ret_name);
/* Copies the known holder of its first lock ("": none).  Any thread. */
void lease_keeper_read_holder(struct lease_keeper *k, char ret[LEASE_HOLDER_MAX]);
/* Ends the threads and gives back what is held, each within `release_ms` (0: nothing is given back,
 * as if the process were killed).  What was lost is left alone.  To be called when the work has
 * stopped; again gives back what the first call did not. */
void lease_keeper_stop(struct lease_keeper *k, int64_t release_ms);
void lease_keeper_free(struct lease_keeper *k); /* after stop(), or never started; NULL is fine */

#endif
