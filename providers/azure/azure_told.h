/* SPDX-License-Identifier: Apache-2.0 */
/* azure_told.h: the addresses of a Service by its frontends, by its status, and those that Services
 * of the batch leave: clients use an address until the status tells another one
 * (azure_leaves_told()).
 *
 * Pure; results lie in the arena of the sync's turn. */
#ifndef TRIMTAB_AZURE_TOLD_H
#define TRIMTAB_AZURE_TOLD_H

#include "providers/azure/model/azure_access_rules.h"
#include "providers/azure/sync/azure_sync.h"

/* Those of x, then those of y. */
struct azure_texts azure_texts_joined(struct arena *a, const struct azure_texts *x,
                                      const struct azure_texts *y);
/* Addresses in the status, as this sync has read it. */
struct azure_texts azure_told(struct arena *a, const struct azure_item *it);
/* Addresses that the rules of a Service may name.  One that goes may have changed sides before it
 * went, or have lost its frontends: what its status tells counts, too. */
struct azure_texts azure_nameable(struct azure_sync *y, const struct azure_item *it);
/* Addresses in the status of the Services that close what they left (azure_item.closes_later). */
struct str_set azure_left_addresses(struct azure_sync *y);
/* Has the Service one of these addresses?  It may have taken over a port there, so it says anew who
 * comes in. */
bool azure_is_where_one_left(struct azure_sync *y, const struct str_set *left,
                             const struct azure_item *it);

#endif
