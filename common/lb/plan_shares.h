/* SPDX-License-Identifier: Apache-2.0 */
/* plan_shares.h: which operations of a plan each of its Services owns, without a walk over all of
 * them for each Service.  Pure.
 *
 * Borrows the plan, which must stay as it is meanwhile. */
#ifndef TRIMTAB_LB_PLAN_SHARES_H
#define TRIMTAB_LB_PLAN_SHARES_H

#include "common/base/arena.h"

#include <stdbool.h>
#include <trimtab/provider.h>

struct plan_shares;
/* The operations of one Service, in the order of the plan. */
struct plan_share {
    const struct tt_operation *const *operations;
    uint32_t n;
};
/* Lives in `a`. */
struct plan_shares *plan_shares_new(struct arena *a, const struct tt_plan *plan);
void plan_shares_done(struct plan_shares *s);
/* Of a key that owns none: none. */
struct plan_share plan_share_of(const struct plan_shares *s, const char *key);
/* Some operation of the Service changes something. */
bool plan_share_changes(const struct plan_shares *s, const char *key);

#endif
