/* SPDX-License-Identifier: Apache-2.0 */
/* azure_explain_nodes.h: which nodes of the cluster serve a Service, and why others do not
 * (azure_explain.c).
 *
 * By the rules of a sync (azure_members_rules.h) and by what the nodes' interfaces and instances
 * say: one that hangs on another balancer cannot join.  Pure: everything was read before. */
#ifndef TRIMTAB_AZURE_EXPLAIN_NODES_H
#define TRIMTAB_AZURE_EXPLAIN_NODES_H

#include "common/lb/explain.h"
#include "providers/azure/members/azure_members_gather.h"

/* Adds the row "3 of 4 take part" and a row for each node that is left out.  `m` NULL: members
 * could not be read, the rules alone count. */
void azure_explain_nodes(struct lb_explain *b, struct azure_sync *y, const struct azure_members *m,
                         const struct azure_item *it);

#endif
