/* SPDX-License-Identifier: Apache-2.0 */
/* azure_subnet_rules.h: which addresses a subnet has, as its document says.
 *
 * Azure refuses a fixed address that is none of the subnet's only when what has it is written,
 * after other things have been.  Source: learn.microsoft.com/azure/virtual-network/
 * virtual-networks-faq (reserved addresses).  Pure. */
#ifndef TRIMTAB_AZURE_SUBNET_RULES_H
#define TRIMTAB_AZURE_SUBNET_RULES_H

#include "providers/azure/model/azure_access_rules.h"
#include "providers/azure/model/azure_doc.h"

/* Its prefixes, as it writes them; in the arena.  None: the document does not say. */
struct azure_texts azure_subnet_prefixes(struct arena *a, struct json_object *subnet);
/* Does one of them hold the address?  `ip` may be NULL, or no address: no. */
bool azure_subnet_has(struct arena *a, struct json_object *subnet, const char *ip);
/* The first four addresses of an IPv4 prefix and its last one are Azure's. */
bool azure_subnet_reserves(struct arena *a, struct json_object *subnet, const char *ip);

#endif
