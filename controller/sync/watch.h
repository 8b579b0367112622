/* SPDX-License-Identifier: Apache-2.0 */
/* watch.h: what changes of Services, Nodes and EndpointSlices put into the queue.
 *
 * Handlers of the stores, called from the reflector thread; they decide (sync_rules.h) and enqueue,
 * nothing else.
 * Source: controller.md §1.3.  More than upstream: a Service that vanished without its finalizers
 * being let go of is queued too, so that what it had in the cloud is cleaned up. */
#ifndef TRIMTAB_CONTROLLER_WATCH_H
#define TRIMTAB_CONTROLLER_WATCH_H

#include <stdatomic.h>

#include "controller/sync/node_fanout.h"
#include "controller/sync/sync.h"

struct watch {
    const struct syncer *syncer;
    struct node_fanout *fanout;
    atomic_bool started; /* the first lists are in: what is new from now on is new */
};

/* Adds the handlers to the syncer's stores; before the reflectors start.  `w` must live
 * longer than they. */
void watch_attach(struct watch *w);

#endif
