/* SPDX-License-Identifier: Apache-2.0 */
/* azure_additional_rules.h: additional public addresses that are another Service's.
 *
 * azure-additional-public-ips opens addresses in the security group for a Service's ports and
 * sources.  At the address of another Service's load balancer that would let clients in to that
 * Service which its own source ranges keep out, or deny it what they let in; the owner of the
 * address decides there.  What stands in Azure says whose it is: load balancing rules on a frontend
 * with the address that were made for another Service.
 *
 *     same port and protocol there, or the Service denies all but its ranges    withheld
 *     other ports there: that balancer does not forward them            opened, as upstream does
 *     rules that a person made, and those without floating IP                   opened
 *
 * Pure: documents of the sync are read, nothing is asked. */
#ifndef TRIMTAB_AZURE_ADDITIONAL_RULES_H
#define TRIMTAB_AZURE_ADDITIONAL_RULES_H

#include "providers/azure/model/azure_access_rules.h"
#include "providers/azure/sync/azure_sync.h"

/* As azure_access_read(), with `additional` split: what is another Service's is in `withheld`. */
const struct azure_access *azure_additional_access(struct azure_sync *y,
                                                   const struct azure_service *s);
/* The address of a frontend of the balancer, public or private, by the frontend's ID; "" when it
 * has none (yet). */
const char *azure_additional_frontend(struct azure_sync *y, struct json_object *lb, const char *id);

#endif
