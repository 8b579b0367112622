/* SPDX-License-Identifier: Apache-2.0 */
/* azure_retreat.h: what was let in for an edit that Azure has refused is shut again.
 *
 * Before an edit sends traffic elsewhere, the security group allows it there (azure_admit.h).  When
 * the balancer then is refused, nothing sends it there: the addresses that the edit alone needed
 * leave the rules again, in the same sync.  The next try lets in anew; when it is refused, too, it
 * stays open until the Service is edited or goes, so that further tries write nothing.
 * Source: docs/adr/0030-putting-back.md.  Pure, but for azure_observe_retreat(). */
#ifndef TRIMTAB_AZURE_RETREAT_H
#define TRIMTAB_AZURE_RETREAT_H

#include "providers/azure/model/azure_access_rules.h"
#include "providers/azure/sync/azure_sync.h"

/* The stage and its items, as lb_retreat has them. */
extern const struct lb_stage azure_retreat;
bool azure_retreats(struct lb_sync *s, struct lb_item *item);

/* The addresses that this process gave the Service, and that its status may not show yet. */
struct azure_texts azure_assigned(struct azure_sync *y, const char *key);

#endif
