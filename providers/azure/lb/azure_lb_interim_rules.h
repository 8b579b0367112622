/* SPDX-License-Identifier: Apache-2.0 */
/* azure_lb_interim_rules.h: a second frontend of a Service, the interim one, which serves beside
 * its own while the public IP of that is made anew (azure_renew_rules.h).
 *
 * Azure takes several frontends for the same ports of one pool when their rules float: packets then
 * arrive with the frontend's own address.  Rules without floating IP meet at the nodes' ports, and
 * are refused.  Frontend and public IP have the same name; the rules' names begin with it.
 * Source: learn.microsoft.com/azure/load-balancer/load-balancer-multivip-overview (rule types);
 * docs/adr/0072-interim-addresses-serve.md.  Pure. */
#ifndef TRIMTAB_AZURE_LB_INTERIM_RULES_H
#define TRIMTAB_AZURE_LB_INTERIM_RULES_H

#include "providers/azure/lb/azure_lb_index.h"

/* Can another frontend serve all that this one does, as far as its rules and Azure's limits tell?
 * `rules_per_nic` as in azure_lb_is_tight(). */
bool azure_lb_interim_fits(struct arena *a, const struct azure_config *c,
                           const struct azure_lb_index *ix, struct json_object *lb,
                           struct json_object *frontend, size_t rules_per_nic);
/* Puts the interim frontend of that name beside `frontend`, with the public IP and a copy of each
 * rule.  False: it is there, with all rules. */
bool azure_lb_interim_add(struct arena *a, struct azure_lb_index *ix, struct json_object *lb,
                          struct json_object *frontend, const char *name, const char *pip_id);
/* Is the rule at a frontend of `lb` that is azure_frontend_is_former()? */
bool azure_lb_is_at_former(const struct azure_service *s, struct json_object *lb,
                           struct json_object *rule);
/* The rule at such a frontend stays while the Service asks for its port: `wanted` are the rules
 * for its own frontends.  It takes over their probe, which is edited in place.  False: it goes. */
bool azure_lb_interim_follow(struct json_object *rule, struct json_object *const *wanted, size_t n,
                             bool *ret_changed);

#endif
