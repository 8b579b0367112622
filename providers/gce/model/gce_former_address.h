/* SPDX-License-Identifier: Apache-2.0 */
/* gce_former_address.h: the address of a forwarding rule that goes for one with another address.
 *
 * Google frees the ephemeral address of a rule with the rule, and hands out no external address
 * that is asked for by its number: the rule could not be put back if the new one is refused.  So
 * the address is reserved while the rule has it (which the cloud allows), under a name of its own,
 * and given back when the new rule serves.  A sync that ends in between leaves the reservation: the
 * next one makes the former rule with it, or gives it back.  trimtab's own, upstream has no such
 * address.  Source: compute v1 "addresses"; docs/adr/0071.  Pure. */
#ifndef TRIMTAB_GCE_FORMER_ADDRESS_H
#define TRIMTAB_GCE_FORMER_ADDRESS_H

#include "providers/gce/model/gce_resources.h"

#include <stdbool.h>
#include <trimtab/types.h>

/* Its name; `lb` is "a<uid>", `v6`: an address of IPv6. */
const char *gce_former_address_name(struct arena *a, const char *lb, bool v6);
/* The reservation of the rule's address; `name` and `description` are not copied. */
struct gce_address gce_former_address_of(struct arena *a, const struct gce_rule *rule,
                                         const char *name, const char *description);
/* Is the address, which is held for a rule that is missing, the one that clients know? */
bool gce_former_address_is_known(struct arena *a, const struct tt_service *s, const char *ip);

#endif
