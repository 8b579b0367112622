/* SPDX-License-Identifier: Apache-2.0 */
/* azure_lb_apply_rules.h: one Service put onto, or taken off, the document of one load balancer.
 *
 * Frontends, backend pools, rules and probes, in the order of docs/spec/azure.md 6.1; public IPs
 * and the subnet are found out before.  Either everything of the Service is in the document
 * afterwards, or the document is as it was and an error says why: so the next Service of the batch
 * is not hurt by this one.
 * Source: docs/spec/azure.md 6.2, 6.3, 6.4, 6.8 to 6.10; limits 12.6 (4).  Pure. */
#ifndef TRIMTAB_AZURE_LB_APPLY_RULES_H
#define TRIMTAB_AZURE_LB_APPLY_RULES_H

#include "providers/azure/lb/azure_lb_index.h"
#include "providers/azure/model/azure_access_rules.h"

struct azure_lb_ask {
    const struct azure_naming *naming;
    const struct azure_service *service;
    bool want;
    const struct azure_pips *pips;
    struct azure_lb_index *index; /* of the document; told of what is edited; NULL: there is none */
    /* with `want`: */
    const char *pip_id[AZURE_FAMILIES]; /* external: the public IP that the frontend has to use */
    struct json_object *subnet;         /* internal: as it was read */
    const char *const *zones;           /* of the region: for new internal frontends */
    size_t n_zones;
    /* rules that a network interface behind it may carry; 0: not known */
    size_t rules_per_nic;
    /* an address that the status tells serves beside the new one (azure_lb_former_rules.h) */
    bool keeps_former;
    /* unless it is among these, which Services ask for: IDs of public IPs, private addresses */
    struct azure_texts asked;
};
/* A frontend that was taken off, or should have been. */
struct azure_lb_frontend {
    const char *name;
    const char *id;
    const char *kept_by; /* what still uses it; NULL: it is gone */
};
struct azure_lb_result {
    bool changed;
    bool frontends_changed;
    bool leaves_told;   /* an address that the status tells serves no longer, for another one */
    bool leaves_shared; /* likewise one of a frontend that it shared with another Service */
    const char *frontend_id[AZURE_FAMILIES]; /* the Service's, afterwards; NULL: none */
    struct azure_lb_frontend *removed;
    size_t n_removed;
};
/* A document for a load balancer that does not exist yet (5.3 step 6); arena-owned. */
struct json_object *azure_lb_new(struct arena *a, const struct azure_config *c, const char *name);
/* No frontend is left: the balancer itself is to go (6.11). */
bool azure_lb_is_orphan(struct json_object *lb);
/* These numbers of further frontends and rules may exceed a limit of Azure.  `lb` NULL: a new one;
 * `rules_per_nic` as above. */
bool azure_lb_is_tight(const struct azure_config *c, struct json_object *lb, size_t frontends,
                       size_t rules, size_t rules_per_nic);
/* ERR_INVALID: the Service asks for what cannot be (a bad annotation); ERR_IN_USE: a port is taken,
 * or its frontend would have to change while others use it; ERR_QUOTA: the balancer is full. */
int azure_lb_apply(struct arena *a, const struct azure_lb_ask *ask, struct json_object *lb,
                   struct azure_lb_result *ret, struct err *err) _warn_unused_;
/* For Services that stand in each other's way, before any of them is put where it asks to be: the
 * rules of a Service that stays for ports, or at frontends, that it does not ask for any more; and,
 * once no rule of another one is at them, its frontends that have to be made anew (of a private one
 * that asks for another address, this address).  Both return whether there were some. */
bool azure_lb_give_up_ports(struct arena *a, const struct azure_lb_ask *ask,
                            struct json_object *lb);
bool azure_lb_give_up_frontends(struct arena *a, const struct azure_lb_ask *ask,
                                struct json_object *lb);
/* The name of the pool that a Service's rules of this family use (6.4). */
const char *azure_lb_pool(struct arena *a, const struct azure_naming *n,
                          const struct azure_service *s, enum azure_family f);

#endif
