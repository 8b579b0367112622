/* SPDX-License-Identifier: Apache-2.0 */
/* azure_select_rules.h: which load balancer a Service uses.
 *
 * Standard: one pair per cluster, or several pairs (multi-SLB) among which labels, namespaces,
 * pinned addresses and the number of rules decide (azure_place_rules.c).  Basic: one pair per VM
 * set.  Names are compared without case, but returned as upstream returns them, which is not always
 * as they are written.  What exists comes in as ARM documents; nothing is looked up here.
 * Source: docs/spec/azure.md 5.1, 5.3 to 5.5, 5.7; 18 row 3; vectors 13.2, 13.3.  Pure. */
#ifndef TRIMTAB_AZURE_SELECT_RULES_H
#define TRIMTAB_AZURE_SELECT_RULES_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/data/json.h"
#include "providers/azure/model/azure_service.h"
#include "providers/azure/pip/azure_pip_find.h"

#include <stdbool.h>
#include <stddef.h>

/* Load balancers as they were listed. */
struct azure_lbs {
    struct json_object *const *items;
    size_t n;
};
/* VM sets: availability sets or scale sets. */
struct azure_vm_sets {
    const char *const *names;
    size_t n;
};

/* ---- names (5.1) */

/* The name for a VM set, without regard to multi-SLB; the configured loadBalancerName stands for
 * the cluster's. */
const char *azure_lb_name(struct arena *a, const struct azure_naming *n, const char *vm_set,
                          bool internal);
/* The VM set that a Basic balancer serves: lower case, or the primary one as it is configured. */
const char *azure_lb_vm_set(struct arena *a, const struct azure_naming *n, const char *lb);
/* The reverse, which compares with case. */
const char *azure_vm_set_lb(const struct azure_naming *n, const char *vm_set);

/* ---- the balancer of a Service */

/* azure-load-balancer-mode asks for any VM set. */
bool azure_mode_is_auto(const struct azure_service *s);
/* A Service on the balancer `current` has to move (5.3). */
bool azure_lb_should_change(struct arena *a, const struct azure_naming *n,
                            const struct azure_service *s, const char *current,
                            const char *expected);
/* The members of its pools are none of our business (7.5). */
bool azure_lb_is_preconfigured(const struct azure_config *c, bool internal);
/* The balancers that are ours, in their order (5.7).  `agent_pools` counts for Basic only; there
 * NULL stands for "nodes are not known": all are returned. */
bool azure_lb_is_managed(struct arena *a, const struct azure_naming *n, const char *name);
struct azure_lbs azure_lbs_managed(struct arena *a, const struct azure_naming *n,
                                   const struct azure_lbs *lbs,
                                   const struct azure_vm_sets *agent_pools);

/* ---- Basic (5.4) */

/* The VM sets among which the mode annotation lets choose.  ERR_NOT_FOUND: there is none of that
 * name, or none at all. */
int azure_vm_set_candidates(struct arena *a, const struct azure_naming *n,
                            const struct azure_service *s, const struct azure_vm_sets *agent_pools,
                            struct azure_vm_sets *ret, struct err *err) _warn_unused_;
/* The balancer with the fewest rules, or the first that does not exist yet (*ret_exists false).
 * ERR_NOT_FOUND: no candidate; ERR_QUOTA: all are full. */
int azure_select_basic(struct arena *a, const struct azure_naming *n, const struct azure_service *s,
                       const struct azure_lbs *lbs, const struct azure_vm_sets *candidates,
                       const char **ret, bool *ret_exists, struct err *err) _warn_unused_;

/* ---- several Standard balancers (5.5) */

/* Run-time state: the Services that a configuration holds. */
struct azure_active {
    const char *lb; /* name of the configuration */
    const char *const *services;
    size_t n_services; /* "ns/name" */
};
struct azure_placement {
    const struct azure_naming *naming;
    struct azure_lbs lbs;   /* managed ones */
    struct azure_pips pips; /* of the group of the Service */
    const struct tt_kv *namespace_labels;
    size_t n_namespace_labels;
    const struct azure_active *active;
    size_t n_active;
    /* Rules that this batch is about to add, by index of configuration, external and internal;
     * NULL: none.  Without them all Services of a batch would go to the same empty balancer. */
    const size_t (*coming)[2];
};
/* The state by the balancers: a configuration holds the Services whose rules are on its balancer or
 * on the internal twin.  One item per configuration, in its order; `services` is borrowed. */
const struct azure_active *azure_active_from_rules(struct arena *a, const struct azure_config *c,
                                                   const struct azure_lbs *lbs,
                                                   const struct azure_service *const *services,
                                                   size_t n, size_t *ret_n);
/* Any address or public IP is asked for. */
bool azure_service_pins_ip(const struct azure_service *s);
/* Names of configurations, in their order; at least one.  ERR_INVALID tells which
 * one failed why. */
int azure_place_eligible(struct arena *a, const struct azure_placement *p,
                         const struct azure_service *s, const char *const **ret, size_t *ret_n,
                         struct err *err) _warn_unused_;
/* The name to use, with "-internal" where it belongs.  `want`: to be built, not to be cleaned up.
 * ERR_INVALID: see azure_place_eligible(); a pinned address that lies elsewhere or does
 * not exist; all are full. */
int azure_place(struct arena *a, const struct azure_placement *p, const struct azure_service *s,
                bool want, const char **ret, struct err *err) _warn_unused_;

#endif
