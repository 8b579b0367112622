/* SPDX-License-Identifier: Apache-2.0 */
/* gce_lock.h: who may touch the health check that all Services share.
 *
 * Users of the shared check (a pool is made with it, or a pool that has it is taken apart) hold
 * it together; whoever makes, changes or deletes the check or its firewall holds it alone; who
 * has nothing to do with it takes no part.  So it is made once by many Services that come at the
 * same time, and never deleted between a Service's look at it and that Service's pool.  Held
 * across cloud calls: that is what it is for (lock.h).  Waiting ends when `cancel` fires.
 * Source: gce-cloud-provider.md §3.6, §15 row 13. */
#ifndef TRIMTAB_GCE_LOCK_H
#define TRIMTAB_GCE_LOCK_H

#include "common/base/cancel.h"

#include <stdbool.h>

enum gce_hold {
    GCE_HOLD_NOT = 0,
    GCE_HOLD_TOGETHER,
    GCE_HOLD_ALONE,
};

struct gce_lock;
struct gce_lock *gce_lock_new(void) _warn_unused_;
void gce_lock_free(struct gce_lock *l);
/* From `now` to `then`; going up gives the lock up in between, so what was read before must be
 * read again.  False when the wait was cancelled: then nothing is held. */
bool gce_lock_change(struct gce_lock *l, enum gce_hold now, enum gce_hold then,
                     struct cancel *cancel);
/* From nothing to ALONE, without waiting; false: somebody holds it, or waits to. */
bool gce_lock_try_alone(struct gce_lock *l);

#endif
