/* SPDX-License-Identifier: Apache-2.0 */
/* azure_standing.h: load balancing rules that stand, as members of the security group's plan: what
 * they send is let in on, whatever the Services say.  Pure. */
#ifndef TRIMTAB_AZURE_STANDING_H
#define TRIMTAB_AZURE_STANDING_H

#include "providers/azure/nsg/azure_nsg_plan.h"
#include "providers/azure/sync/azure_sync.h"

/* The traffic that the rule of that balancer sends, and its address. */
struct azure_nsg_member azure_standing_rule(struct azure_sync *y, struct json_object *lb,
                                            struct json_object *rule);
/* Appends rules of Services that cannot be read, that no list shows, or whose edit has not been
 * carried out (it was refused, or waits), and those at interim frontends but of changes that take
 * away.  `in` has the batch's changes and, first of `members` (its own), all of y->services in
 * their order. */
void azure_standing_gather(struct azure_sync *y, struct azure_nsg_input *in,
                           struct azure_nsg_member *members);

#endif
