/* SPDX-License-Identifier: Apache-2.0 */
/* lease.h: one lock on a Lease of the API server: take it, keep it, let it go.
 *
 *     struct lease_lock *l = lease_lock_new(&args);
 *     if (lease_lock_acquire(l, cancel, &err) == ERR_OK) {      blocks until it is ours
 *         … others work while lease_lock_is_held(l) …
 *         rc = lease_lock_keep(l, cancel, &err);                blocks until it is lost, or cancel
 *                                                               fires
 *         … they stop …
 *         (void)lease_lock_release(l, 1000, NULL, NULL);        so that the next one need not wait
 *     }
 *     lease_lock_free(l);
 *
 * The functions of one lock are called from one thread at a time; those marked so, from any.
 * Several locks at once, with their threads: lease_keeper.h.  The rules are lease_rules.h; this
 * file makes the calls and waits.
 *
 * Until when it is held.  Others may take the lease at the earliest one duration after they saw our
 * last renewal, so it is safe to act for as long after that renewal was *sent*.  is_held() is
 * stricter and says no after the renew deadline: what was sent in the last moment has the time
 * between the two to get through.  A renewal that succeeds later makes it yes again; only keep()
 * decides that the lock is lost.
 * Source: controller.md §4.9. */
#ifndef TRIMTAB_KUBE_LEASE_H
#define TRIMTAB_KUBE_LEASE_H

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/err.h"
#include "controller/kube/client/client.h"
#include "controller/kube/lease/lease_rules.h"

#include <stdbool.h>
#include <stdint.h>

struct lease_lock;

struct lease_lock_args {
    struct lease_terms terms;   /* texts are copied; checked by lease_terms_check() before */
    struct kube_client *client; /* must not be fenced by this lock; must live longer */
    const char *watch_agent; /* user agent of the watch while acquire() waits; NULL: it only asks */
    struct clock *clock;     /* NULL: the real one */
    struct rng *rng;         /* NULL: the kernel's */
    void (*slow_path)(
        void
            *arg); /* from the lock's thread, after a renewal that had to read first; may be NULL */
    /* Asked in the lock's thread before each renewal; NULL: always.  False, with *err set: keep()
     * ends with that error, as if the lock were lost. */
    bool (*may_renew)(void *arg, struct err *err);
    void *arg;
};

struct lease_lock *lease_lock_new(const struct lease_lock_args *args) _warn_unused_;
/* Does not release.  NULL is fine. */
void lease_lock_free(struct lease_lock *l);

/* One attempt to take or to renew it: one to three requests, each for half the renew deadline at
 * most.  Returns whether it is ours now; when not, *err says what was in the way (CONFLICT:
 * held by another). */
bool lease_lock_try(struct lease_lock *l, struct cancel *cancel, struct err *err);
/* Tries until this process holds it, with a random pause that ends when a watch (object_watch.h)
 * sees the release; never gives up.  CANCELLED when `cancel` fired. */
int lease_lock_acquire(struct lease_lock *l, struct cancel *cancel, struct err *err) _warn_unused_;
/* Renews it every retry period.  CANCELLED when `cancel` fired: it is ours still.  Any other code:
 * it is lost, because another name is in it (CONFLICT), no renewal succeeded within the renew
 * deadline (the last error), or `may_renew` said no. */
int lease_lock_keep(struct lease_lock *l, struct cancel *cancel, struct err *err) _warn_unused_;
/* Gives it back, if it is ours: from then on is_held() says no.  Takes at most `timeout_ms`. */
int lease_lock_release(struct lease_lock *l, int64_t timeout_ms, struct cancel *cancel,
                       struct err *err);

/* May what it guards be changed at this moment?  Any thread. */
bool lease_lock_is_held(struct lease_lock *l);
/* Until when that will be true if nothing else happens (monotonic; 0: it is not
 * held).  Any thread. */
int64_t lease_lock_until_ms(struct lease_lock *l);
/* The check of /healthz: false for a holder that should have noticed long ago that it
 * cannot renew. Any thread. */
bool lease_lock_is_healthy(struct lease_lock *l);

/* Copies the known holder ("": none).  Any thread. */
void lease_lock_read_holder(struct lease_lock *l, char ret[LEASE_HOLDER_MAX]);

/* The object as it was read or written last, for events: "" when unknown.  The
 * lock's thread only. */
const char *lease_lock_uid(const struct lease_lock *l);
const char *lease_lock_version(const struct lease_lock *l);
/* The known holder, "" if none.  The lock's thread only. */
const char *lease_lock_holder(const struct lease_lock *l);
const struct lease_terms *lease_lock_terms(const struct lease_lock *l);

#endif
