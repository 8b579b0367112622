/* SPDX-License-Identifier: Apache-2.0 */
/* election.h: the main lease: which of several replicas writes.
 *
 *     election_new(&args, &e, &err);      the lease of --leader-elect-resource-…, with the flags'
 *                                         three times
 *     election_start(e, &err);            competes, in threads of its own
 *     … app_args.election = e: the app starts warm, its fence is closed until election_may_mutate()
 *     …
 *     election_wait(e, cancel, &err);     before the workers begin
 *     … args.lost(arg): the process ends with status 1; election_why_lost() says why …
 *     election_free(e);                   after all else has ended: "stopped leading", the lease is
 *                                         let go
 *
 * One object per process: it outlives a reload of the app, and the lease stays where it is
 * meanwhile.  A lease that was lost is never released and never taken again: another process may
 * have it.  Says on the Lease and in metrics who leads.  Source: controller.md §3.4, 3.7, 3.8, 4.9;
 * docs/adr/0014.  Thread-safe. */
#ifndef TRIMTAB_CONTROLLER_ELECTION_H
#define TRIMTAB_CONTROLLER_ELECTION_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/arena.h"
#include "common/base/attr.h"
#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/err.h"
#include "controller/metrics/metrics.h"
#include "controller/options/options.h"

struct election;

struct election_args {
    const struct options *options; /* validated; must live longer, as all below */
    struct clock *clock;           /* NULL: the real one */
    struct rng *rng;               /* NULL: the kernel's */
    struct metrics *metrics;
    struct identity *identity; /* as what it asks; must live longer */
    /* The lease is lost: nothing may be sent any more, and the process must end.  From a thread of
     * the election's; quick. */
    void (*lost)(void *arg);
    /* Asked before each renewal, from the same thread; NULL: always.  False, with *err set: the
     * lease is lost for that reason (progress.h). */
    bool (*may_renew)(void *arg, struct err *err);
    void *arg;
};

/* Asks nothing yet.  INVALID for times that do not fit each other. */
int election_new(const struct election_args *args, struct election **ret,
                 struct err *err) _warn_unused_;
/* TRANSIENT: nothing runs. */
int election_start(struct election *e, struct err *err) _warn_unused_;
/* Blocks until this process leads.  CANCELLED: `cancel` fired; another code: the lease was lost. */
int election_wait(struct election *e, struct cancel *cancel, struct err *err) _warn_unused_;
/* Is the lease held at this moment?  `election` is a struct election: a guard of a
 * fence.  Any thread. */
bool election_may_mutate(void *election);
/* True: the lease was lost, *ret says which and why ("leaderelection lost: …").  NULL is
 * fine.  Any thread. */
bool election_why_lost(struct election *e, struct err *ret);
/* The leader, for people: the texts are in the arena.  `e` NULL: there is no election.  Any
 * thread. */
struct election_view {
    bool elects;
    bool leads;         /* this process does */
    const char *lease;  /* "namespace/name"; "" without an election */
    const char *holder; /* "" if none or unknown */
};
void election_look(struct election *e, struct arena *a, struct election_view *ret);
/* Ends the competition and lets go of what is held, unless it was lost: call it when nothing works
 * any more.  Takes less than a second, whatever the API server does.  NULL is fine. */
void election_free(struct election *e);

/* The check "leaderElection" (a health_check_fn of serve/health.h; `election` a struct election):
 * fine on a standby; not on a leader who should have noticed long ago that it cannot renew (vector
 * 157).  Any thread. */
bool election_check_health(void *election, char *why, size_t n);

#endif
