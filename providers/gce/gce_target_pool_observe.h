/* SPDX-License-Identifier: Apache-2.0 */
/* gce_target_pool_observe.h: one Service on its way through the target-pool flow, and how its
 * cloud is checked. Private to gce_target_pool_*.c, gce_get.c and gce_explain.c. */
#ifndef TRIMTAB_GCE_TARGET_POOL_OBSERVE_H
#define TRIMTAB_GCE_TARGET_POOL_OBSERVE_H

#include "common/lb/driver.h"
#include "providers/gce/gce_provider.h"
#include "providers/gce/target_pool/gce_target_pool_slots.h"

/* lb_item.data. */
struct gce_tp_item {
    struct gce_tp_input in;
    struct gce_tp_outcome outcome;
    struct gce_names names;        /* UPDATE: only the ones without cluster id */
    struct gce_tp_desired desired; /* ENSURE */
    struct gce_slots slots;
    struct gce_tp_observed o; /* what the slots hold, and the user's address */
    enum hold_how hold;       /* of the shared health check; given back when the sync ends */
    struct hold *lock;
    bool lock_deferred;
    bool kept_by_other; /* DELETE: another controller must finish it */
    /* UPDATE of several Services: its pool, read beside those of the others
     * (gce_flow_together.c) for the next gce_tp_observe(); NULL: not read */
    struct gce_read *ahead;
};

/* Reads what the verb needs into item->o.  With s->fresh from the cloud itself; else from the
 * snapshot where it is young enough.  Sets s->observed_fresh and s->reads. */
int gce_tp_observe(struct lb_sync *s, struct lb_item *item, struct err *err) _warn_unused_;

#endif
