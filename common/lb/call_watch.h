/* SPDX-License-Identifier: Apache-2.0 */
/* call_watch.h: turns "asked whether it should stop" into "told to stop".
 *
 * The ABI lets a provider ask call->cancelled() and compare call->deadline_ms; what blocks in here
 * (a wait for HTTP answers, a back-off) must be interrupted instead, by a struct cancel.  A watch
 * has one thread, made with the first call, that looks at all calls in progress every 50 ms and
 * sleeps when there is none:
 *
 *     struct call_watch_entry e = {.call = call, .host = host, .cancel = cancel};
 *     call_watch_add(w, &e);   … work that honours cancel …   call_watch_remove(w, &e);
 *
 * A provider keeps one for all its calls (lb_driver_config.watch).  Thread-safe. */
#ifndef TRIMTAB_LB_CALL_WATCH_H
#define TRIMTAB_LB_CALL_WATCH_H

#include "common/base/cancel.h"

#include <stdbool.h>
#include <trimtab/provider.h>

struct call_watch;

/* One call in progress; the caller's, usually on its stack. */
struct call_watch_entry {
    /* by the caller, before call_watch_add() */
    const struct tt_call *call;
    const struct tt_host *host;
    struct cancel *cancel; /* fired when the call is cancelled or its deadline is over */
    /* internal */
    struct call_watch_entry *next;
};

/* Never NULL; the thread starts with the first call. */
struct call_watch *call_watch_new(void) _warn_unused_;
/* No entry may be left.  NULL is fine. */
void call_watch_free(struct call_watch *w);
/* Looks at once, too: a call that is over before it began has its cancel fired on return.  When the
 * system refuses the thread, the host's log says so and the next call tries again; the fence and
 * the limits of requests hold meanwhile. */
void call_watch_add(struct call_watch *w, struct call_watch_entry *e);
/* After it returns, the watch does not touch the entry any more. */
void call_watch_remove(struct call_watch *w, struct call_watch_entry *e);
/* The question itself. */
bool call_is_over(const struct tt_call *call, const struct tt_host *host);

#endif
