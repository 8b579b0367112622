/* SPDX-License-Identifier: Apache-2.0 */
/* azure_frontend_rules.h: whose a frontend IP configuration is, and whether it may be touched.
 *
 * A frontend belongs to the Service whose base name begins its name (primary); Services that pin
 * the same address share it (secondary) and only add rules.
 * Source: docs/spec/azure.md 6.3, 6.8, 6.9; vectors 13.5.  Pure. */
#ifndef TRIMTAB_AZURE_FRONTEND_RULES_H
#define TRIMTAB_AZURE_FRONTEND_RULES_H

#include "common/base/err.h"
#include "providers/azure/model/azure_service.h"
#include "providers/azure/pip/azure_pip_find.h"

struct azure_ownership {
    bool owns;
    bool primary;
    const char *version; /* "IPv4", "IPv6" of an owned secondary; NULL: unknown, or primary */
};
/* The public IPs that an external Service pins, found once for all frontends of a list. */
struct azure_claim {
    const struct azure_service *service;
    struct json_object *pips[AZURE_FAMILIES]; /* borrowed */
    size_t n_pips;
};
struct azure_claim azure_frontend_claim(struct arena *a, const struct azure_service *s,
                                        const struct azure_pips *pips);
struct azure_ownership azure_frontend_owned_by(const struct azure_claim *c,
                                               struct json_object *frontend);
/* The family of an owned frontend. */
enum azure_family azure_frontend_family(const struct azure_service *s, struct json_object *frontend,
                                        const struct azure_ownership *o);
/* Is a frontend of that name one that serves the Service's former clients beside its own frontend,
 * until the status tells the new address: an interim one, an internal one in another subnet, or one
 * of a family that the Service gives up? */
bool azure_frontend_is_former(const struct azure_service *s, const char *name);
/* Does a rule or probe of that name belong to the Service?  The shared probe belongs to every
 * Cluster Service. */
bool azure_owns_rule(const struct azure_service *s, const char *name);
/* The user that keeps the frontend: a rule of another Service, an outbound rule, an inbound NAT
 * rule or pool.  Text for the event, or NULL when it may go. */
const char *azure_frontend_in_use(struct arena *a, const struct azure_service *s, const char *id,
                                  struct json_object *lb);
/* Where ports are to be taken: a frontend of a balancer. */
struct azure_place {
    const char *id; /* of the frontend */
    struct json_object *lb;
    struct json_object *const *rules; /* all load balancing rules that can be at the frontend */
    size_t n_rules;
    /* azure_service_takes_all_ports(): nothing of another Service may be beside it */
    bool all_ports;
};
/* ERR_IN_USE: a port of the Service is taken there (6.8). */
int azure_frontend_check_ports_at(const struct azure_service *s, const struct azure_place *at,
                                  struct err *err) _warn_unused_;

#endif
