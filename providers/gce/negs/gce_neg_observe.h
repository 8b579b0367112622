/* SPDX-License-Identifier: Apache-2.0 */
/* gce_neg_observe.h: who is in the NEGs of one Service: from the mirror where it answers, else
 * asked.
 *
 * Rules (gce-l4.md §9.6): while nothing is to be changed, what is known is believed, and a NEG that
 * this process sees for the first time is believed by its size; before the first change it is
 * listed, and so is one that is due, before a change of it or when its Service is checked as a
 * whole: a change of nodes after a quiet hour does not list every NEG of the cluster.  What could
 * not be listed is not changed.
 * Blocks; a sync's thread. */
#ifndef TRIMTAB_GCE_NEG_OBSERVE_H
#define TRIMTAB_GCE_NEG_OBSERVE_H

#include "common/lb/driver.h"
#include "providers/gce/cache/gce_neg_mirror.h"

/* Is the NEG known to exist without a look at it?  Then *ret says what a planner needs of it (name,
 * zone); its description was ours when it was last seen. */
bool gce_neg_is_known(struct gce_neg_mirror *m, const char *zone, const char *name,
                      struct gce_neg *ret);
/* Fills `is` of each NEG that is there (`seen`), by what is wanted of it (`want`): one wave of
 * lists, or none.  `compare`:  those that are due are listed though nothing is to be changed.  A
 * NEG that has gone meanwhile is ERR_CONFLICT.  While planning a NEG that cannot be listed is only
 * marked `unknown`. */
int gce_neg_observe(struct lb_sync *s, bool compare, struct gce_neg_one *items, size_t n,
                    struct err *err) _warn_unused_;
/* After an operation on a NEG; of others' nothing is taken. */
void gce_neg_wrote(struct gce_neg_mirror *m, const struct lb_op *op, unsigned outcome,
                   const struct err *err);

#endif
