/* SPDX-License-Identifier: Apache-2.0 */
/* gce_bs.h: a load balancer with a regional backend service: what it should be, what it is, what to
 * do.
 *
 *     client → forwarding rule(s) → backend service → instance groups or GCE_VM_IP NEGs, by zone
 *     traffic firewall(s): let clients in      deny firewall(s): no others
 *     health check and its firewall(s): say which nodes answer
 *     held address: keeps the address in hand while there is no rule that has it
 *
 * Four kinds are of this shape: internal on instance groups (as cloud-provider-gcp names and
 * describes it), internal on NEGs, external on instance groups, external on NEGs (as ingress-gce
 * does).  They differ in names, in a few members and in how upstream compares; all of that is in
 * struct gce_bs_desired, so that one planner serves all four.
 * Order (gce-l4.md §9.5): backend service before rule; firewall before status; allow before deny; a
 * rule is made again only while its address is held; on delete rule, backend service, then health
 * check and backends.
 * Source: gce-l4.md §4–§6; gce-cloud-provider.md §5.  Desired, diff and plan are pure. */
#ifndef TRIMTAB_GCE_BS_H
#define TRIMTAB_GCE_BS_H

#include "common/lb/plan.h"
#include "providers/gce/cache/gce_slots.h"
#include "providers/gce/decide/gce_decide.h"
#include "providers/gce/model/gce_l4_names.h"
#include "providers/gce/model/gce_l4_rules.h"
#include "providers/gce/model/gce_neg_rules.h"

/* From where IPv6 health checks come (gce-l4.md §0). */
#define GCE_CHECK_SOURCE_V6_ILB   "2600:2d00:1:b029::/64"
#define GCE_CHECK_SOURCE_V6_NETLB "2600:1901:8001::/48"

/* ---- facts: the same for all Services -------------------------------------------------------- */
struct gce_bs_facts {
    const char *project;
    const char *network_project;
    const char *region;
    const char *projects_base; /* "https://…/compute/v1/projects/" */
    const char *network;       /* URL, of the Service; the cluster's unless network_name says so */
    const char *subnetwork;    /* URL, of the Service; "" on a legacy network */
    const char *network_name;  /* its Network object, if that is not the cluster's own; else NULL */
    /* with network_name: URL of the cluster's; "" on a legacy network */
    const char *home_subnetwork;
    const char *kube_system_uid; /* of the L4 names; "" until known */
    const char *cluster_id; /* of ConfigMap ingress-uid: groups, legacy names; "" until known */
    struct gce_strs check_sources; /* IPv4, both kinds */
    struct gce_strs check_sources_v6_ilb;
    struct gce_strs check_sources_v6_netlb;
    bool on_xpn;
    bool repair_adopted;
    bool hold_first;        /* a new rule's address is held first, where a firewall names it */
    int32_t max_group_size; /* --max-ig-size, 1000 */
    struct gce_l4_flags flags;
};
/* ---- input: what is known of one Service besides its object ---------------------------------- */
/* An address that the Service names, found (§4.4, §10). */
struct gce_bs_user_address {
    const char *name; /* of the annotation; "" when spec.loadBalancerIP asked */
    const char *ip;   /* "" = none */
    const char *tier; /* of the reservation; "" unknown */
    const char *type; /* of the reservation: "EXTERNAL", "INTERNAL"; "", NULL: unknown */
    bool reserved;    /* it is reserved: it cannot be lost */
};
struct gce_bs_input {
    const struct tt_service *service;
    const char *key; /* "namespace/name" */
    uint32_t verb;
    enum gce_kind kind;
    bool adopts;         /* lb_puts_right() says no: what is found may be another program's */
    bool leads_back;     /* lb_leads_back() */
    struct str_set tags; /* of the firewalls; empty: tags_err says why */
    bool tags_known;     /* they were looked for; else firewalls' tags are not compared */
    const struct err *tags_err; /* of the sync's arena; NULL: none */
    struct gce_bs_user_address user_v4;
    struct gce_bs_user_address user_v6;
    /* Rules of another uid that refer to the Service's backend service: an older Service of this
     * name left them.  Sorted. */
    struct gce_strs older_rules;
    /* Addresses of its rules that are reserved, whatever their reservation's name, as far as that
     * matters and is known: they cannot be lost with the rule. */
    struct str_set reserved_ips;
    /* ENSURE: what it had as another kind goes in this sync, whose last stage gives its address
     * back */
    bool holds_former;
    bool hold_was_refused; /* by the cloud, in the last try of this process */
    /* ENSURE: operations by which goes what is in the way of this kind, not sealed: what can stand
     * beside it is made before.  NULL: nothing is. */
    const struct lb_plan *way;
    const char *subnetwork; /* URL that the annotation's name stands for; "" = the cluster's */
    const struct gce_l4_log *log;  /* L4LBConfig; NULL: unmanaged */
    struct gce_strs zones;         /* of the backends: sorted names */
    bool others_want_shared_check; /* another Service of this scheme has policy Cluster */
    /* the shared check of the other scheme exists: its firewall stays (§6.1 step 6) */
    bool other_scheme_has_check;
    /* DELETE of what it had as another kind, while it gets, or has already, a balancer of a kind
     * that shares names: bits 1u << enum gce_kind of what goes; what is seen to be of another kind
     * stays.  0: everything of its names goes. */
    unsigned only;
    /* DELETE, with `only`: the kind that it gets; NONE where it gets no balancer */
    enum gce_kind becomes;
    /* with `only`, in the last stage of the sync: the one before has planned to hold the address of
     * this family (IPv4, IPv6) */
    bool held[2];
    /* with `only`, for what is in the way of the kind that it gets, or to make room for it: the
     * shared check and the held address stay */
    bool for_room;
    /* DELETE: the kind that it gets calls its firewall as target pools do, and takes that over */
    bool keeps_traffic;
    struct gce_bs_outcome *outcome;
    const struct tt_call *call;
};
/* §4.12: what L4LBConfig says, checked. */
struct gce_l4_log {
    bool enable;
    double rate;
    const char *mode;
    struct gce_strs fields;
};
/* Filled while the plan is carried out. */
struct gce_bs_outcome {
    const char *ip_v4;
    const char *ip_v6; /* without its prefix */
};

/* ---- desired --------------------------------------------------------------------------------- */
#define GCE_BS_RULES_MAX 2
/* One family of it. */
struct gce_bs_side {
    bool wanted;
    bool v6;
    struct gce_rule rules[GCE_BS_RULES_MAX]; /* without address */
    size_t n_rules;
    /* names that this Service's rules may have had: other protocols, legacy */
    struct gce_strs stale_rules;
    const char *address_name; /* under which an address is held */
    struct gce_bs_user_address user;
    bool want_firewall; /* without sources it would let all clients in: then there is none */
    /* source ranges are given, none of this family: what lets clients in is taken away (A8) */
    bool nobody;
    /* destinationRanges by `pinhole`, put in by gce_bs_firewall_for() */
    struct gce_firewall firewall;
    bool want_deny;
    struct gce_firewall deny;
    struct gce_firewall check_firewall;
};
struct gce_bs_desired {
    enum gce_kind kind;
    const char *ns; /* of the Service */
    const char *name;
    bool internal;
    /* GCE_KIND_ILB_GROUPS: compared as cloud-provider-gcp does (§5.5, §5.6, §5.8 there) */
    bool legacy;
    bool pinhole;
    bool tier_is_set;
    struct gce_bs_side v4;
    struct gce_bs_side v6;
    struct gce_hc check;
    bool check_shared;
    bool check_firewall_shared; /* with check_shared, but in another network than the cluster's */
    bool check_regional;
    struct gce_bservice service; /* without backends */
    struct gce_strs groups;      /* links of the backends, sorted */
    const char *mode;            /* balancingMode of those that we add: "CONNECTION" or "" */
    bool unlink;                 /* backends that are not wanted are taken away (instance groups) */
    bool log_managed;
    bool strong_compared;
    /* what to tell the owner, once */
    bool warn_weighted;        /* UnsupportedConfiguration */
    bool warn_family_dropped;  /* a side has `nobody` */
    bool warn_options;         /* ILBOptionsIgnored: asked for on a network without subnetworks */
    bool warn_collection;      /* IPCollectionV6Error: asked for on an internal balancer */
    struct tt_kv *annotations; /* status annotations (§4.11), sorted; NULL value: drop */
    size_t n_annotations;
};
/* ERR_INVALID: everything that is the user's to fix, before anything is written. */
int gce_bs_desired_make(struct arena *a, const struct gce_bs_facts *f,
                        const struct gce_bs_input *in, struct gce_bs_desired *ret,
                        struct err *err) _warn_unused_;
/* The health check of each kind, as upstream makes it (§4.3; gce-cloud-provider.md §5.5). */
struct gce_bs_check_wish {
    const char *name;
    const char *key; /* "namespace/name" */
    const char *path;
    int32_t port;
    bool shared;
    bool internal;
};
struct gce_hc gce_l4_hc_make(struct arena *a, const struct gce_bs_check_wish *w);
struct gce_hc gce_ilb_hc_make(struct arena *a, const struct gce_bs_check_wish *w);
/* That of GCE_KIND_ILB_GROUPS (gce_ilb_desired.c); called by the former. */
int gce_ilb_desired_make(struct arena *a, const struct gce_bs_facts *f,
                         const struct gce_bs_input *in, struct gce_bs_desired *ret,
                         struct err *err) _warn_unused_;
/* That of the three kinds of ingress-gce (gce_l4_desired.c). */
int gce_l4_desired_make(struct arena *a, const struct gce_bs_facts *f,
                        const struct gce_bs_input *in, struct gce_bs_desired *ret,
                        struct err *err) _warn_unused_;
/* The firewall with the members that hold the address (IPv6: `ip` without prefix). */
struct gce_firewall gce_bs_firewall_for(struct arena *a, const struct gce_bs_desired *d,
                                        const struct gce_firewall *f, const char *ip);

/* A rule with the address that it asks for: an external IPv6 one with its prefix, and on the IPv4
 * rules of ingress-gce the description names the address.  `ip` "" asks for any; is the address
 * known only later, member "IPAddress" is put in then (gce_op_late; suffix GCE_BS_PREFIX_V6 where
 * gce_bs_rule_has_prefix()). */
#define GCE_BS_PREFIX_V6 "/96"
bool gce_bs_rule_has_prefix(const struct gce_bs_desired *d, const struct gce_rule *r);
struct gce_rule gce_bs_rule_for(struct arena *a, const struct gce_bs_desired *d,
                                const struct gce_rule *r, const char *ip);

/* ---- observed -------------------------------------------------------------------------------- */
/* The slots of a verb: what is wanted is main; what an earlier form of the Service may have left is
 * extra.  DELETE: all names of the Service in all kinds that have a backend service.  `d` NULL for
 * DELETE and UPDATE. */
void gce_bs_slots(struct gce_slots *s, const struct gce_bs_facts *f, const struct gce_bs_input *in,
                  const struct gce_bs_desired *d);

/* ---- differences (gce_bs_diff.c) ------------------------------------------------------------- */
struct gce_rule_change {
    bool equal;
    bool patch;             /* only allowGlobalAccess and tier differ */
    struct gce_rule wanted; /* to be patched in */
    const char *because;    /* the member that differs, or NULL */
};
/* gce-l4.md §4.7, V87–V114.  ERR_INVALID when a backendService does not parse. */
int gce_l4_rule_compare(struct arena *a, const struct gce_rule *is, const struct gce_rule *want,
                        bool discrete, struct gce_rule_change *ret, struct err *err) _warn_unused_;
int gce_l4_rule_equal_v6(struct arena *a, const struct gce_rule *is, const struct gce_rule *want,
                         bool discrete, bool *ret, struct err *err) _warn_unused_;
/* gce-cloud-provider.md §5.6 */
bool gce_ilb_rule_equal(struct arena *a, const struct gce_rule *is, const struct gce_rule *want);
struct gce_bservice_compare {
    bool strong;
    bool log_managed;
    const char *because; /* out: the member that differs */
};
bool gce_l4_bservice_equal(struct arena *a, const struct gce_bservice *is,
                           const struct gce_bservice *want, struct gce_bservice_compare *how);
/* All but the backends; links as resources. */
bool gce_ilb_bservice_members_equal(struct arena *a, const struct gce_bservice *is,
                                    const struct gce_bservice *want, const char **ret_because);
/* Same number of links, and each has its like; links as resources. */
bool gce_links_same(const struct gce_strs *x, const struct gce_strs *y);
/* §4.3, V125–V144: must it be written, and what then?  The larger numbers stay. */
bool gce_hc_needs_update(const struct gce_hc *is, const struct gce_hc *want,
                         const char **ret_because);
struct gce_hc gce_hc_merge(const struct gce_hc *is, const struct gce_hc *want);
/* §4.8; `shared`: the description is not compared. ERR_INVALID for a port that does not parse. */
int gce_l4_firewall_equal(struct arena *a, const struct gce_firewall *x,
                          const struct gce_firewall *y, bool shared, bool *ret,
                          struct err *err) _warn_unused_;
bool gce_ilb_firewall_equal(struct arena *a, const struct gce_firewall *want,
                            const struct gce_firewall *is);
/* It lies in another network (A7): such a firewall cannot be patched, only made again.  Networks
 * that are not known on both sides do not differ. */
bool gce_firewall_network_differs(const struct gce_firewall *is, const struct gce_firewall *want);

/* ---- plan (gce_bs_*plan.c) ------------------------------------------------------------------- */
/* Operations of the backends' part that the balancer's operations wait for. */
struct gce_bs_backends {
    int last_op; /* index of the last operation that makes a group or NEG, -1: none */
};
/* Appends what makes what was seen into `d` (ENSURE). */
int gce_bs_plan_ensure(struct lb_plan *p, const struct gce_bs_facts *f,
                       const struct gce_bs_input *in, const struct gce_bs_desired *d,
                       const struct gce_slots *seen, const struct gce_neg_plan *negs,
                       struct err *err) _warn_unused_;
/* The rules of `d` that would be made at an IPv4 address that the Service names. */
struct gce_bs_asked {
    const char *ip; /* "": the Service names none, or no rule is made */
    struct gce_rule rules[GCE_BS_RULES_MAX];
    size_t n;
    bool replaces; /* a rule that stands is taken away first */
};
void gce_bs_plan_asked(struct arena *a, const struct gce_bs_facts *f, const struct gce_bs_input *in,
                       const struct gce_bs_desired *d, const struct gce_slots *seen,
                       struct gce_bs_asked *ret);
/* UPDATE: members of the NEGs, backends of the backend service.  NOT_FOUND without
 * a backend service. */
int gce_bs_plan_update(struct lb_plan *p, const struct gce_bs_facts *f,
                       const struct gce_bs_input *in, const struct gce_slots *seen,
                       const struct gce_neg_plan *negs, struct err *err) _warn_unused_;
/* Everything of the Service's names that is there, whatever kind it had. */
int gce_bs_plan_delete(struct lb_plan *p, const struct gce_bs_facts *f,
                       const struct gce_bs_input *in, const struct gce_slots *seen,
                       const struct gce_neg_plan *negs, struct err *err) _warn_unused_;
/* DELETE with `becomes`: what must go before a balancer of that kind can be made, and the
 * reservation of its address.  Sets held[] of the families whose address is to be held. */
void gce_bs_plan_way(struct lb_plan *p, const struct gce_bs_facts *f, const struct gce_bs_input *in,
                     const struct gce_slots *seen, bool held[2]);
/* Operations from index `from` on delete instance groups: they wait for the backend services that
 * go, and for nothing else. */
void gce_bs_order_groups(struct lb_plan *p, size_t from);

#endif
