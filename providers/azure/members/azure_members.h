/* SPDX-License-Identifier: Apache-2.0 */
/* azure_members.h: nodes in the backend pools: once per balancer and batch, whatever the number of
 * Services.
 *
 * Three kinds of members (docs/spec/azure.md 7): network interfaces of machines, instances of scale
 * sets (and the model of the set, so that new instances join), and addresses.  Members are read
 * only when the pools do not already hold what the nodes say.
 * Source: docs/spec/azure.md 7, 6.11.  observe blocks, plan is pure. */
#ifndef TRIMTAB_AZURE_MEMBERS_H
#define TRIMTAB_AZURE_MEMBERS_H

#include "providers/azure/model/azure_access_rules.h"
#include "providers/azure/sync/azure_sync.h"

int azure_observe_members(struct lb_sync *s, struct err *err);
/* Nodes that are missing in a pool of a balancer join it, those that are to go leave it; a pool is
 * never emptied.  Owners of an operation: the Services of the batch that use the balancer. */
int azure_plan_members(struct lb_sync *s, struct lb_plan *plan, struct err *err);

/* Members to remove from the pools of a balancer before its deletion (6.11): models first, then
 * instances and network interfaces.  Observing happens in azure_observe_decouple(), for the
 * balancers named; planning appends operations whose owners are `owners`. */
int azure_observe_decouple(struct azure_sync *y, struct json_object *const *lbs, size_t n,
                           struct err *err) _warn_unused_;
int azure_plan_decouple(struct azure_sync *y, struct json_object *lb, const struct str_set *owners,
                        struct lb_plan *plan, struct err *err) _warn_unused_;
/* Pools of the other kind than the configuration wants are emptied, or migrated by Azure, before
 * members are checked (7.5, 7.6). */
int azure_observe_convert(struct lb_sync *s, struct err *err);
int azure_plan_convert(struct lb_sync *s, struct lb_plan *plan, struct err *err);
/* For the Basic SKU: says that VM sets must be known; then the sets of the nodes that are no
 * control plane (5.4). */
void azure_need_vm_sets(struct azure_sync *y);
struct azure_vm_sets azure_members_vm_sets(struct azure_sync *y);
/* InternalIPs of the members of a balancer's pools: destinations of the security group when
 * floating IP is off. */
struct azure_texts azure_members_ips(struct azure_sync *y, struct json_object *lb);

#endif
