/* SPDX-License-Identifier: Apache-2.0 */
/* gce_target_pool.h: an external load balancer with a target pool: what it should be, what it
 * is, what to do.
 *
 *     client → forwarding rule (address, protocol, port range) → target pool → any instance of it
 *     traffic firewall: lets clients in
 *     health check and its firewall: say which instances answer
 *     held address: keeps the address in hand while there is no rule that has it
 *
 * "The forwarding rule exists" means "everything below it was made": the rule is created last
 * and deleted first, and the address is held before the rule is taken away.  From that moment to
 * the new rule a stop must not lose it: that is the plan's critical operation.  Source:
 * gce-cloud-provider.md §4; upstream gce_loadbalancer_external.go.
 *
 * Desired (gce_target_pool_desired.c) and plan (gce_target_pool_plan.c) are pure; observing is
 * in gce_target_pool_observe.c, carrying out in gce_ops.c, the flow in gce_target_pool_flow.c. */
#ifndef TRIMTAB_GCE_TARGET_POOL_H
#define TRIMTAB_GCE_TARGET_POOL_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/base/strset.h"
#include "common/lb/plan.h"
#include "providers/gce/model/gce_names.h"
#include "providers/gce/model/gce_node_rules.h"
#include "providers/gce/model/gce_resources.h"

#include <stdbool.h>
#include <stddef.h>
#include <trimtab/provider.h>

#define GCE_POOL_CREATE_MAX 200  /* instances in the body of an insert */
#define GCE_POOL_CHANGE_MAX 1000 /* instances in one addInstance or removeInstance */

/* ---- facts ----------------------------------------------------------------------------------- */
/* Values common to all Services; from configuration and metadata. */
struct gce_tp_facts {
    const char *project;
    const char *network_project;
    const char *region;
    const char *projects_base;        /* "https://…/compute/v1/projects/" */
    const char *network;              /* URL */
    const char *const *check_sources; /* from where health checks come */
    size_t n_check_sources;
    struct str_set node_tags; /* configured ones; empty: computed */
    bool on_xpn;              /* Shared VPC: firewalls may be the host project's to change */
    bool rbs_default;
    bool deny_firewall;
    bool deny_cleanup;
    bool repair_adopted;
};
/* Data of one Service besides its object. */
struct gce_tp_input {
    const struct tt_service *service;
    const char *key;        /* "namespace/name" */
    uint32_t verb;          /* TT_VERB_… */
    const char *cluster_id; /* unknown in an UPDATE: NULL */
    struct gce_members members;
    struct str_set tags;         /* of the firewalls; empty: tags_err says why */
    bool tags_known;             /* they were looked for; a plan without them is not carried out */
    const struct err *tags_err;  /* of the sync's arena; NULL: none */
    bool others_want_node_check; /* another Service has policy Cluster: the shared check stays */
    bool node_check_is_orphan;   /* no Service wants it and no other pool refers to it */
    bool others_have_deny;       /* a deny firewall of another Service still stands */
    /* DELETE: the Service gets another kind; what is of that one already stays */
    bool changes_kind;
    /* DELETE: that kind calls its firewall alike, and takes this one over */
    bool keeps_traffic;
    /* DELETE, in the last stage of the sync: the one before has planned to hold the address */
    bool held;
    /* DELETE of what is in the way of the kind that it gets, or to make room for it: the shared
     * check and the held address stay */
    bool for_room;
    /* ENSURE: what it had as another kind goes in this sync, whose last stage gives its address
     * back */
    bool holds_former;
    bool hold_was_refused; /* by the cloud, in the last try of this process */
    /* ENSURE: operations by which goes what is in the way of this kind, not sealed: what can stand
     * beside it is made before.  NULL: nothing is. */
    const struct lb_plan *way;
    bool puts_right;                /* lb_puts_right() */
    bool leads_back;                /* lb_leads_back() */
    struct gce_tp_outcome *outcome; /* filled while the plan is made and carried out */
};
/* Input of steps and status. */
struct gce_tp_outcome {
    const struct tt_call *call; /* for reports; set before the plan is made */
    const char *ip;             /* of the load balancer, once it is known */
};

/* ---- desired --------------------------------------------------------------------------------- */
/* The address is not known before it is reserved: firewalls that name it are completed by
 * gce_tp_firewall_for(). */
struct gce_tp_desired {
    struct gce_names names;
    const char *ns; /* of the Service */
    const char *service;
    const char *tier;     /* "Premium", "Standard" */
    bool tier_is_set;     /* by annotation: a rule of another tier is replaced */
    const char *user_ip;  /* spec.loadBalancerIP, or "" */
    bool local;           /* policy Local with a node port: a check of its own */
    struct gce_rule rule; /* without its address */
    struct gce_pool pool;
    struct gce_firewall traffic;
    struct gce_strs plain_ports; /* the traffic firewall's ports one by one: counts as equal */
    struct gce_check check;
    struct gce_firewall check_firewall;
    bool want_deny;
    struct gce_firewall deny;
};
/* ERR_INVALID: tier, protocol, ports, source ranges.  Nothing has been written
 * then (§17.1, ours). */
int gce_tp_desired_make(struct arena *a, const struct gce_tp_facts *facts,
                        const struct gce_tp_input *in, struct gce_tp_desired *ret,
                        struct err *err) _warn_unused_;
/* Puts the nodes' tags into all firewalls, once they are known. */
void gce_tp_desired_tag(struct arena *a, struct gce_tp_desired *d, const struct str_set *tags);
/* The firewall with the members that hold the address.  `f` is one of d's; a shared one comes
 * back as it is. */
struct gce_firewall gce_tp_firewall_for(struct arena *a, const struct gce_tp_desired *d,
                                        const struct gce_firewall *f, const char *ip);
/* Does that firewall's body hold the load balancer's address? */
bool gce_tp_firewall_has_ip(const struct gce_tp_desired *d, const struct gce_firewall *f);
/* The members to put into the body of an insert. */
struct gce_pool gce_tp_pool_insert(const struct gce_tp_desired *d);

/* ---- observed -------------------------------------------------------------------------------- */
enum gce_known {
    GCE_UNKNOWN = 0,
    GCE_ABSENT,
    GCE_PRESENT,
};
/* Each resource: unknown (not read, because it cannot matter), absent, or as it is. */
struct gce_tp_observed {
    enum gce_known has_rule;
    enum gce_known has_pool;
    enum gce_known has_traffic;
    enum gce_known has_local_check;
    enum gce_known has_local_firewall;
    enum gce_known has_node_check;
    enum gce_known has_node_firewall;
    enum gce_known has_address; /* of our name: left by an interrupted run */
    enum gce_known has_former;  /* that of the rule before, left by an interrupted run, too */
    enum gce_known has_deny;
    enum gce_known
        has_user_address; /* the one reserved for spec.loadBalancerIP, whatever its name */
    struct gce_rule rule;
    struct gce_pool pool;
    struct gce_firewall traffic;
    struct gce_check local_check;
    struct gce_firewall local_firewall;
    struct gce_check node_check;
    struct gce_firewall node_firewall;
    struct gce_address address;
    struct gce_address former;
    struct gce_firewall deny;
    struct gce_address user_address;
    /* The rule's address is a reserved one, whatever its name, as far as is known: it cannot be
     * lost with the rule. */
    bool rule_ip_is_reserved;
};
/* The user's address must be looked up: the rule does not have it yet, or must be made again, or
 * has another tier (§4.4, §4.5). */
bool gce_tp_needs_user_address(struct arena *a, const struct gce_tp_input *in,
                               const struct gce_tp_desired *d, const struct gce_tp_observed *o);

/* ---- plan ------------------------------------------------------------------------------------ */
/* Appends what makes `o` into `d` (ENSURE).  `d` and `o` must outlive the plan. */
int gce_tp_plan_ensure(struct lb_plan *p, const struct gce_tp_facts *facts,
                       const struct gce_tp_input *in, const struct gce_tp_desired *d,
                       const struct gce_tp_observed *o, struct err *err) _warn_unused_;
/* Members only (UPDATE).  ERR_NOT_FOUND when there is no pool. */
int gce_tp_plan_update(struct lb_plan *p, const struct gce_tp_facts *facts,
                       const struct gce_tp_input *in, const struct gce_tp_observed *o,
                       struct err *err) _warn_unused_;
/* Everything of ours that is there (DELETE).  `names` instead of a desired state: the spec may
 * be anything. */
int gce_tp_plan_delete(struct lb_plan *p, const struct gce_tp_facts *facts,
                       const struct gce_tp_input *in, const struct gce_names *names,
                       const struct gce_tp_observed *o, struct err *err) _warn_unused_;
/* DELETE of a Service that gets another kind: the rule, whose name that one needs, and the
 * reservation of its address.  Returns whether there is one to be given back. */
bool gce_tp_plan_way(struct lb_plan *p, const struct gce_tp_facts *facts,
                     const struct gce_tp_input *in, const struct gce_names *names,
                     const struct gce_tp_observed *o);

#endif
