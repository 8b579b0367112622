/* SPDX-License-Identifier: Apache-2.0 */
/* azure_lb_former_rules.h: a frontend's former address, which serves beside the new one until the
 * status tells that.
 *
 * A Service that asks for another public IP keeps its frontend, and for another subnet it gets one
 * of another name.  What clients go by is the status, which follows the balancer.  So the former
 * public IP goes to an interim frontend in the same write, with copies of the rules
 * (azure_lb_interim_rules.h), and the frontend of the former subnet stays.  The last stage takes
 * them off.  A private address cannot pass from one frontend to another within one write
 * (azure_lb_handover_rules.h): one that is exchanged within its subnet serves no longer.
 * Source: docs/adr/0092-former-addresses-serve-on-azure.md.  Pure. */
#ifndef TRIMTAB_AZURE_LB_FORMER_RULES_H
#define TRIMTAB_AZURE_LB_FORMER_RULES_H

#include "providers/azure/lb/azure_lb_apply_rules.h"

/* `frontend` has the Service's base name, and family `f`, which the Service may have given up.
 * Does it stay as it is, beside the Service's own? */
bool azure_lb_former_stands(struct arena *a, const struct azure_lb_ask *ask, struct json_object *lb,
                            struct json_object *frontend, enum azure_family f);
/* `frontend` is the Service's own and gets another public IP.  Can the one that it has go to an
 * interim frontend? */
bool azure_lb_former_can_move(struct arena *a, const struct azure_lb_ask *ask,
                              struct json_object *lb, struct json_object *frontend,
                              enum azure_family f);
/* Do clients go by its address, which is another one than the Service asks for? */
bool azure_lb_former_is_told(const struct azure_lb_ask *ask, struct json_object *frontend,
                             enum azure_family f);
/* Puts that there. */
void azure_lb_former_move(struct arena *a, const struct azure_lb_ask *ask, struct json_object *lb,
                          struct json_object *frontend, enum azure_family f);

#endif
