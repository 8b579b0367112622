/* SPDX-License-Identifier: Apache-2.0 */
/* late_calls.h: calls into a plugin that do not come back.
 *
 * A thread looks at the open calls now and then.  One that has used half of its time is logged; one
 * that is beyond its deadline is logged, counted and told to its Services' owners, and the workers
 * get one thread more in its place (workers.h).  It keeps its thread and its Services until it
 * returns: no other thread can take them from it.  Only for plugins: a built-in provider that does
 * not come back ends the process (health check "workers"). */
#ifndef TRIMTAB_CONTROLLER_LATE_CALLS_H
#define TRIMTAB_CONTROLLER_LATE_CALLS_H

#include "controller/sync/sync.h"

/* From its deadline on a call may take this long to notice it. */
static inline int64_t late_calls_grace_ms(const struct syncer *s)
{
    int64_t quarter_ms = sync_call_timeout_ms(s) / 4;

    return quarter_ms < 10000 ? quarter_ms : 10000;
}

struct late_calls;

struct late_calls_args {
    const struct syncer *syncer;
    /* How many calls are beyond their deadline now; called when that changes and at each look while
     * there are some, without a lock. */
    void (*late)(void *arg, unsigned n);
    void *arg;
};

/* Starts the thread; TRANSIENT when there is none to be had. */
int late_calls_start(const struct late_calls_args *args, struct late_calls **ret,
                     struct err *err) _warn_unused_;
/* Ends the thread and frees; NULL is fine. */
void late_calls_end(struct late_calls *l);

#endif
