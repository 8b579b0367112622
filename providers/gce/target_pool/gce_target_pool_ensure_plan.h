/* SPDX-License-Identifier: Apache-2.0 */
/* gce_target_pool_ensure_plan.h: what the two halves of the ENSURE planner share:
 * gce_target_pool_plan.c (decisions, address, pool, rule) and gce_target_pool_firewall_plan.c
 * (health checks, firewalls).  Private to these two.  Pure. */
#ifndef TRIMTAB_GCE_TARGET_POOL_ENSURE_PLAN_H
#define TRIMTAB_GCE_TARGET_POOL_ENSURE_PLAN_H

#include "providers/gce/model/gce_service_rules.h"
#include "providers/gce/target_pool/gce_target_pool_emit_plan.h"

/* A firewall that lets clients in to the former address, too, until the new rule stands. */
struct tp_narrowing {
    const struct gce_firewall *f; /* one of desired's */
    struct gce_firewall between;  /* as it is until then */
    int after;                    /* the operation that made it so */
};

/* The planner of one ENSURE: what was found, and what was decided from it. */
struct tp_ensure {
    struct tp_emit e;
    const struct gce_tp_desired *d;
    const struct gce_tp_observed *o;
    /* decisions */
    struct gce_rule_need need;
    bool wrong_tier; /* the rule is of another tier than the annotation asks for */
    bool new_pool;
    bool new_rule;
    bool user_owned; /* the address is a static one of the user's: never held, never given back */
    const char *new_rule_because;
    const char *tier; /* of address and rule */
    struct lb_value ip;
    const struct gce_address *held; /* by an interrupted run, and the rule can have it; or NULL */
    int hold;                       /* index of the operation that holds the address; -1: none */
    int keep;    /* of the one that holds the former rule's, which has another one; -1 */
    int traffic; /* index of the operation on the traffic firewall; -1: none */
    struct tp_narrowing narrowings[2]; /* traffic, the Service's own check */
    size_t n_narrowings;
    bool ranges_changed;
    bool swapped; /* the pool's check was exchanged */
};

/* The health check, shared or the Service's own (§4.7). */
void tp_plan_check(struct tp_ensure *n);
/* Its firewall, the traffic firewall (§4.6), the deny firewall (§4.13).  ERR_INVALID when the
 * nodes have no tags. */
int tp_plan_check_firewall(struct tp_ensure *n, struct err *err) _warn_unused_;
int tp_plan_traffic(struct tp_ensure *n, struct err *err) _warn_unused_;
/* A rule of another kind has the traffic firewall, which cannot serve both: it changes when that
 * rule has gone. */
bool tp_traffic_waits(const struct tp_ensure *n);
void tp_plan_narrow(struct tp_ensure *n);
int tp_plan_deny(struct tp_ensure *n, struct err *err) _warn_unused_;

#endif
