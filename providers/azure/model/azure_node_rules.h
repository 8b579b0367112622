/* SPDX-License-Identifier: Apache-2.0 */
/* azure_node_rules.h: what a Node means to the pools of a load balancer, and which machine it is.
 *
 * The service controller hands over the nodes that take part at all; the filters of Azure come on
 * top.
 * Source: docs/spec/azure.md 7.1; vectors 13.9, U-09.  Pure. */
#ifndef TRIMTAB_AZURE_NODE_RULES_H
#define TRIMTAB_AZURE_NODE_RULES_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "providers/azure/model/azure_names.h"

#include <stdbool.h>
#include <trimtab/types.h>

bool azure_node_is_control_plane(const struct tt_node *n);
/* The label kubernetes.azure.com/managed does not say "false". */
bool azure_node_is_managed(const struct tt_node *n);
/* Left out of all pools: of another resource group, not managed, or labelled so.  `deleted`: it is
 * gone, and stays out until a node of its name is added again. */
bool azure_node_is_excluded(const struct tt_node *n, const char *resource_group, bool deleted);
/* Addresses of type InternalIP, in order. */
const char **azure_node_internal_ips(struct arena *a, const struct tt_node *n, size_t *ret_n);
/* The first of a family; "" when there is none. */
const char *azure_node_internal_ip(const struct tt_node *n, enum azure_family f);

/* The machine behind a providerID. */
struct azure_machine {
    const char *subscription;
    const char *resource_group;
    const char *scale_set; /* NULL for a machine of its own */
    const char *name;      /* name of the machine, or instance ID within the scale set */
};
/* "azure:///subscriptions/S/resourceGroups/G/providers/Microsoft.Compute/virtualMachines/VM" or
 * "…/virtualMachineScaleSets/SET/virtualMachines/N", without case.  ERR_INVALID names the text. */
int azure_machine_parse(struct arena *a, const char *provider_id, struct azure_machine *ret,
                        struct err *err) _warn_unused_;

/* Are two backend pools on balancers of one base name?  lb and lb-internal are.  *ret_lb is the
 * name of the second one's balancer.  ERR_INVALID: one is no ID of a pool. */
int azure_pool_same_lb(struct arena *a, const char *pool_id, const char *other_id, bool *ret_same,
                       const char **ret_lb, struct err *err) _warn_unused_;

#endif
