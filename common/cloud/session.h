/* SPDX-License-Identifier: Apache-2.0 */
/* session.h: a call that only reads (get, explain, orphans), and so does not go through the driver.
 *
 * It gives such a call the parts of a sync (struct lb_sync) that reading needs: an HTTP handle, and a
 * cancel that fires with the call's, at its deadline, or when the provider closes.  The handle
 * refuses every request that changes something.  Begin and end in the same function; one thread. */
#ifndef TRIMTAB_CLOUD_SESSION_H
#define TRIMTAB_CLOUD_SESSION_H

#include "common/lb/call_watch.h"
#include "common/lb/driver.h"

/* Parts of a provider; all borrowed, and outlive the session. */
struct session_source {
    const struct tt_host *host;
    struct clock *clock;
    struct rng *rng;
    struct http_pool *http;
    struct call_watch *watch;
    struct cancel *cancel; /* fired by close() */
};
struct session {
    struct lb_sync *s;
    struct http_pool *http;
    struct call_watch *watch;
    struct call_watch_entry entry;
};
/* The caller has set s->a, provider, batch and fresh, and adds items and data; all else is set here.
 * Does not block.  *s must outlive the session. */
void session_begin(struct session *x, const struct session_source *from, struct lb_sync *s,
                   const struct tt_call *call);
/* Gives handle and cancel back; the arena stays the caller's. */
void session_end(struct session *x);

#endif
