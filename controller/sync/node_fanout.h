/* SPDX-License-Identifier: Apache-2.0 */
/* node_fanout.h: from "a node changed" to the Services whose load balancer that concerns.
 *
 * Node changes gather for FANOUT_IDLE_MS (FANOUT_MAX_MS at most), so that 500 nodes that appear at
 * once are one pass.  A pass compares the digests of all nodes (node_sets.h) with what each known
 * Service was last given and queues those that differ, with reason NODES.  Upstream's node queue
 * and its passes, by their effect (controller.md §1.15; deviations 5 and 11).  It touches no load
 * balancer itself.
 * A thread of its own, so that busy workers hold nothing up; thread-safe. */
#ifndef TRIMTAB_CONTROLLER_NODE_FANOUT_H
#define TRIMTAB_CONTROLLER_NODE_FANOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/attr.h"
#include "common/base/err.h"
#include "controller/sync/sync.h"
#include "controller/sync/workers.h"

#define FANOUT_IDLE_MS 100
#define FANOUT_MAX_MS  500

struct node_fanout;

struct node_fanout *node_fanout_new(const struct syncer *syncer) _warn_unused_;
int node_fanout_start(struct node_fanout *f, struct err *err) _warn_unused_;
/* Ends the thread and frees; NULL is fine. */
void node_fanout_free(struct node_fanout *f);

/* A node came, went, or changed in a way that matters. */
void node_fanout_touch(struct node_fanout *f);
/* One pass now, in the caller's thread. */
void node_fanout_pass(const struct syncer *s);
/* How long the pass that runs has been running; zero: none runs. */
struct work_ages node_fanout_ages(struct node_fanout *f);
/* No change waits and no pass runs. */
bool node_fanout_is_idle(struct node_fanout *f);
/* When the next pass is due; CLOCK_NEVER: none. */
int64_t node_fanout_next_ms(struct node_fanout *f);

#endif
