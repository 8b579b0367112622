/* SPDX-License-Identifier: Apache-2.0 */
/* azure_admit.h: which Services the security group has to let in before their balancers change, and
 * where.
 *
 * Traffic of a rule arrives at the address of its frontend, or without floating IP at the nodes'
 * addresses and the node port.  An edit that sends it elsewhere, on a Service that serves already,
 * would shut clients out between the write of the balancer and that of the group: the group is
 * written before, too.  A Service that is made has no rule yet and keeps its order, and so does one
 * whose arrival stays.  Source: docs/spec/azure.md 9.3; docs/adr/0010.  Pure. */
#ifndef TRIMTAB_AZURE_ADMIT_H
#define TRIMTAB_AZURE_ADMIT_H

#include "providers/azure/model/azure_access_rules.h"
#include "providers/azure/sync/azure_sync.h"

/* A port that the Service keeps will arrive elsewhere than it does now.  Targets and public
 * IPs are chosen. */
bool azure_admit_needed(struct azure_sync *y, const struct azure_item *it);
/* The same for any of the batch. */
bool azure_admit_any(struct azure_sync *y);
/* The Service as it has to be let in: as it asks to be, but at interim addresses with floating IP
 * while its rules have it. */
const struct azure_service *azure_admit_service(struct azure_sync *y, const struct azure_item *it);
/* The addresses that its frontends will have; `*ret_unknown`: Azure has yet to give one. */
struct azure_texts azure_admit_addresses(struct azure_sync *y, const struct azure_item *it,
                                         bool *ret_unknown);

#endif
