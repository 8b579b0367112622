/* SPDX-License-Identifier: Apache-2.0 */
/* azure_spread_rules.h: which of several Standard balancers takes a node.
 *
 * A node serves in the pools of one configuration only.  Its VM set decides first, then the node
 * selectors, then the number of nodes; a node stays where it is as long as that is allowed.
 * Source: docs/spec/azure.md 5.5 (node distribution).  Pure. */
#ifndef TRIMTAB_AZURE_SPREAD_RULES_H
#define TRIMTAB_AZURE_SPREAD_RULES_H

#include "providers/azure/lb/azure_select_rules.h"

#include <stdint.h>

#define AZURE_NO_LB SIZE_MAX

struct azure_spread_node {
    const struct tt_node *node;
    const char *vm_set; /* "" when it has none */
    /* in: index of the configuration that has it now; out: that has to have
     * it; AZURE_NO_LB: none */
    size_t lb;
};
/* `coming` is the balancer that is about to be made, NULL for none; others count when they are in
 * `lbs`.  ERR_INVALID: a selector that Kubernetes refuses; nodes are then left as they are. */
int azure_spread_nodes(struct arena *a, const struct azure_config *c, const struct azure_lbs *lbs,
                       const char *coming, struct azure_spread_node *nodes, size_t n,
                       struct err *err) _warn_unused_;

#endif
