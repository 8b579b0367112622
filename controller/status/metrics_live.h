/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_live.h: what is only known by looking at a running controller: ages of what is being
 * worked at, how many Services are in which state, how much of the API budget is left.
 *
 * Asked at each scrape, never per sync.  Thread-safe. */
#ifndef TRIMTAB_CONTROLLER_METRICS_LIVE_H
#define TRIMTAB_CONTROLLER_METRICS_LIVE_H

#include "controller/kube/client/client.h"
#include "controller/kube/store/store.h"
#include "controller/metrics/metrics.h"
#include "controller/queue/queue.h"
#include "controller/sync/board.h"
#include "controller/sync/node_fanout.h"
#include "controller/sync/workers.h"

/* All of them live until metrics_live_end(). */
struct metrics_live {
    struct metrics *metrics;
    struct kube_client *client;
    struct board *board;
    struct orphan_guard *orphan_guard; /* NULL if there is none */
    struct queue *queue;
    struct workers *workers;
    struct node_fanout *fanout;
    struct kube_store *stores[KUBE_KIND_MAX]; /* NULL: that kind is not watched */
};
void metrics_live_begin(struct metrics_live *l);
/* Sets what was counted to 0.  One that was not begun (all zero) is fine, and ending twice. */
void metrics_live_end(struct metrics_live *l);

#endif
