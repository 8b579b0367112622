/* SPDX-License-Identifier: Apache-2.0 */
/* azure_describe.h: the head of a Service in a plan: what it gets, by which rule, and the address
 * that it has.
 *
 * Source: docs/ux.md.  Pure. */
#ifndef TRIMTAB_AZURE_DESCRIBE_H
#define TRIMTAB_AZURE_DESCRIBE_H

#include "providers/azure/sync/azure_sync.h"

/* For every Service that is to be planned now; its balancer is selected. */
void azure_describe(struct azure_sync *y, struct lb_plan *plan);
/* For one of them, which may have been refused since; without a balancer nothing is said. */
void azure_describe_one(struct azure_sync *y, struct lb_plan *plan, const struct azure_item *it);

#endif
