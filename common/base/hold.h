/* SPDX-License-Identifier: Apache-2.0 */
/* hold.h: who may touch something that many users share, for longer than a mutex is held.
 *
 * Users that can bear each other hold it together; one who must be by himself holds it alone; who
 * has nothing to do with it takes no part.  Google's health check that all Services share is made
 * once by many Services that come at the same time, and never deleted between a Service's read of
 * it and that Service's pool; rules in AWS' groups of nodes are not removed while another sync
 * relies on having read them.  Held across cloud calls: that is what it is for (lock.h).  Waiting
 * ends when `cancel` fires.  Thread-safe.
 * Source: docs/spec/gce-cloud-provider.md §3.6, §15 row 13; docs/spec/aws.md 7.5. */
#ifndef TRIMTAB_BASE_HOLD_H
#define TRIMTAB_BASE_HOLD_H

#include "common/base/cancel.h"

#include <stdbool.h>

enum hold_how {
    HOLD_NOT = 0,
    HOLD_TOGETHER,
    HOLD_ALONE,
};

struct hold;
struct hold *hold_new(void) _warn_unused_;
void hold_free(struct hold *l);
/* From `now` to `then`; going up gives the lock up in between, so what was read before must be
 * read again.  False when the wait was cancelled: then nothing is held. */
bool hold_change(struct hold *l, enum hold_how now, enum hold_how then, struct cancel *cancel);
/* As hold_change(), for a user whose wish depends on what others do meanwhile: `wanted` says how it
 * would hold the lock now, and is asked again whenever a holder has given something back.  It is
 * called without a lock and must not block.  *ret is how it is held; HOLD_NOT, with false, after a
 * cancelled wait. */
bool hold_as_wanted(struct hold *l, enum hold_how now, enum hold_how (*wanted)(void *arg),
                    void *arg, struct cancel *cancel, enum hold_how *ret);
/* From alone to together at once, without a wait and without giving it up in between: what made it
 * necessary to be alone is done.  Users that wait in hold_as_wanted() look again. */
void hold_share(struct hold *l);
/* Takes it exclusively, without waiting; false if another thread holds it or waits for it. */
bool hold_try_alone(struct hold *l);

#endif
