/* SPDX-License-Identifier: Apache-2.0 */
/* azure_lb_handover_rules.h: private addresses that pass from one frontend of a balancer to another
 * one.
 *
 * A public IP may change frontends within one write.  Whether a private address may is documented
 * nowhere, and a refusal would come again with each try: so the frontends that give one up are
 * taken off by a write of their own, before.  Pure. */
#ifndef TRIMTAB_AZURE_LB_HANDOVER_RULES_H
#define TRIMTAB_AZURE_LB_HANDOVER_RULES_H

#include "providers/azure/lb/azure_lb_index.h"

/* The balancer as it was, but for the frontends whose private address `doc` gives to another one,
 * and for the rules at them.  NULL: there are none, or something that is no rule refers to one.
 * *ret_gone: the frontends.  Owned by the arena. */
struct json_object *azure_lb_before_handover(struct arena *a, struct json_object *was,
                                             struct json_object *doc,
                                             struct azure_elements *ret_gone);

#endif
