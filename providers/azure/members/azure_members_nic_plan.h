/* SPDX-License-Identifier: Apache-2.0 */
/* azure_members_nic_plan.h: what is written to the network interface of a machine of its own
 * (availability set, single machine, flexible scale set) so that it is in a pool, or leaves it.
 *
 * The whole document is sent, without its etag: interfaces are written without If-Match (3.4), the
 * last writer wins.
 * Source: docs/spec/azure.md 7.2, 7.4.  Pure. */
#ifndef TRIMTAB_AZURE_MEMBERS_NIC_PLAN_H
#define TRIMTAB_AZURE_MEMBERS_NIC_PLAN_H

#include "common/base/map.h"
#include "providers/azure/model/azure_config.h"
#include "providers/azure/model/azure_refs_rules.h"

/* NULL: nothing is to be written; *ret_why (else untouched) says why although something
 * was asked for. */
struct json_object *azure_nic_edit(struct arena *a, const struct azure_config *c,
                                   struct json_object *nic, const struct azure_refs *refs,
                                   const char **ret_why);
/* Lower-case ID of a machine → its only network interface, or the one that says primary; NULL:
 * unknown. */
void azure_nics_by_machine(struct arena *a, struct json_object *const *nics, size_t n,
                           struct map *ret);

#endif
