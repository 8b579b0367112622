/* SPDX-License-Identifier: Apache-2.0 */
/* azure_sides.h: on which side a Service stands, and on which it stays whose wish upstream and we
 * read differently.
 *
 * The Go controller takes azure-load-balancer-internal for true only when it says exactly "true";
 * we take "True" for it, too, so that no Service that asks for a private address gets a public
 * one.  On what stands that would exchange the address at the first start, without an edit: there
 * the load balancer decides, until the annotation says "true" or goes (or with --repair-adopted).
 * An event reports it.  docs/deviations.md, docs/spec/azure.md 11.  Pure. */
#ifndef TRIMTAB_AZURE_SIDES_H
#define TRIMTAB_AZURE_SIDES_H

#include "providers/azure/sync/azure_sync.h"

/* Balancers and public IPs are known.  Services of the batch and of the cluster are read again
 * where need be. */
void azure_sides_settle(struct azure_sync *y);
/* The same for blank lists of ranges, once the security group is known: clients that upstream
 * keeps out stay out. */
void azure_sides_settle_ranges(struct azure_sync *y);
/* Has it a frontend of its own side? */
bool azure_sides_stands(struct azure_sync *y, const struct azure_service *s);
/* Does it own a public IP? */
bool azure_sides_has_pip(struct azure_sync *y, const struct azure_service *s);
/* It has changed sides, and the sync that tidies its former side has not ended well yet: its status
 * still has an address of there, this process has not accepted it on this side before, or an
 * internal one has a public IP left to release.  Of a Service that stays. */
bool azure_sides_moves(struct azure_sync *y, const struct azure_item *it);

#endif
