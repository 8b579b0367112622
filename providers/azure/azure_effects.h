/* SPDX-License-Identifier: Apache-2.0 */
/* azure_effects.h: what a plan means for those who use the Services: does the address stay, is
 * there an interruption.
 *
 * Compares what there was before the first stage with what the plan leaves (azure_predict.h).  Only
 * plans have effects, but for an interruption that the cloud leaves no way round: the sync that
 * makes it says so, too.  Pure. */
#ifndef TRIMTAB_AZURE_EFFECTS_H
#define TRIMTAB_AZURE_EFFECTS_H

#include "providers/azure/sync/azure_sync.h"

/* In the first stage: keeps in mind where each Service is, and describes those that go. */
void azure_effects_begin(struct azure_sync *y, struct lb_plan *plan);
/* In a sync, right before it: the Service is taken off one balancer and put onto another
 * of the same side. */
void azure_effects_moves(struct azure_sync *y, struct lb_plan *plan, const struct azure_item *it);
/* Likewise: its public IP is made anew. */
void azure_effects_renews(struct azure_sync *y, struct lb_plan *plan, const struct azure_item *it);
/* In plan and sync: its private frontend goes before its balancer gets the new one. */
void azure_effects_hands_over(struct azure_sync *y, struct lb_plan *plan,
                              const struct azure_item *it);
/* Its address is exchanged, and the former one does not serve beside the new one
 * (azure_lb_former_rules.h).  `shared`: the former one is another Service's, too. */
void azure_effects_exchanges(struct azure_sync *y, struct lb_plan *plan,
                             const struct azure_item *it, bool shared);
/* In the last stage: a sentence or two per Service.  `left`: the public IPs that
 * the plan leaves. */
void azure_effects_end(struct azure_sync *y, struct lb_plan *plan, const struct azure_pips *left);

#endif
