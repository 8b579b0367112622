/* SPDX-License-Identifier: Apache-2.0 */
/* azure_nsg_legacy.h: security rules that releases before 1.29 made, which today's leave alone.
 *
 *   <base name of the Service>-<PROTO>-<port>-<source>      and …-deny_all, one for each port and
 *                                                           source
 *   shared-<PROTO>-<port>-<source>                          azure-shared-securityrule: the
 *                                                           addresses of many Services
 *
 * They count as foreign everywhere else.  Once today's rules of a Service are in the same document
 * its old ones do no more work, and an old deny rule may stand before a new allow rule; with the
 * Service itself goes the last one that could want them.
 * Source: docs/spec/azure.md 9.9.  Pure. */
#ifndef TRIMTAB_AZURE_NSG_LEGACY_H
#define TRIMTAB_AZURE_NSG_LEGACY_H

#include "common/base/strset.h"
#include "providers/azure/model/azure_access_rules.h"
#include "providers/azure/nsg/azure_nsg_doc.h"

/* Is there a rule of those releases that several Services may share? */
bool azure_nsg_has_shared_legacy(const struct azure_nsg *g);
/* Takes out the Service's own old rules, and `addresses` (canonical; those that no other Service
 * has) out of the shared ones. */
void azure_nsg_drop_legacy(struct azure_nsg *g, const struct azure_access *access,
                           const struct str_set *addresses);

#endif
