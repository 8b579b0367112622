/* SPDX-License-Identifier: Apache-2.0 */
/* azure_targets.h: the balancer of each Service of a batch.
 *
 * Puts what the sync has seen in front of the rules (azure_select_rules.h) and counts what the
 * batch itself adds, so that a batch spreads its Services as one after the other would.
 * Source: docs/spec/azure.md 5.3 to 5.5.  Blocks only for the labels of a namespace, and those only
 * where a selector asks. */
#ifndef TRIMTAB_AZURE_TARGETS_H
#define TRIMTAB_AZURE_TARGETS_H

#include "providers/azure/sync/azure_sync.h"

/* Sets the target of every item that is wanted; one that has no place gets the error.  Needs
 * balancers, public IPs, and for the Basic SKU the VM sets. */
void azure_targets_select(struct azure_sync *y);

#endif
