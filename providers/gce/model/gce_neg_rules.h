/* SPDX-License-Identifier: Apache-2.0 */
/* gce_neg_rules.h: which nodes belong into a Service's GCE_VM_IP NEGs.
 *
 *     nodes ── filter ──▶ candidates by zone ── total ──▶ how many ── split, pick ──▶ members
 *
 * Selection is stable: who is in a NEG stays while there is room; who comes in is decided by a hash
 * of node name and Service, so that two processes choose the same.  Upstream's choice bit for bit
 * (vectors S1–S43, V198–V206) but for four things that gce-l4.md recommends: all of 25 candidates
 * are taken (§1.2), the remainder of the division stays where it is (§3.4), a node counts once
 * (A10), and the podCIDR rule can be switched off (§3.1).  Asked from outside by trimtab-eval
 * (gce.neg.*).
 * Source: gce-l4.md §3.1–3.5.  Pure. */
#ifndef TRIMTAB_GCE_NEG_RULES_H
#define TRIMTAB_GCE_NEG_RULES_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/lb/plan.h"
#include "providers/gce/model/gce_l4_resources.h"

#include <stdbool.h>
#include <stddef.h>
#include <trimtab/types.h>

/* ---- filter (§3.1) --------------------------------------------------------------------------- */
enum gce_node_mode {
    GCE_NODES_DEFAULT_SUBNET = 0,
    GCE_NODES_MULTI_SUBNET, /* topology known */
    GCE_NODES_LEGACY,       /* no subnetworks */
};
struct gce_node_filter {
    enum gce_node_mode mode;
    const char *default_subnet; /* name */
    bool needs_pod_cidr;
};
struct gce_node_verdict {
    bool all;
    bool candidate;
    bool candidate_or_unready;
    bool candidate_or_draining;
    const char *zone;   /* from providerID; NULL: unknown */
    const char *subnet; /* name; NULL: unknown */
};
void gce_node_judge(struct arena *a, const struct gce_node_filter *f, const struct tt_node *n,
                    struct gce_node_verdict *ret);
/* Digest of the node's properties that matter to Google balancers: when it changes, Services are
 * checked. */
uint64_t gce_node_digest(const struct tt_node *n);

/* ---- how many, and who (§3.3, §3.4) ---------------------------------------------------------- */
#define GCE_SUBSET_MAX 25
int gce_neg_total_ilb(size_t zones); /* 24 or 25 */
int gce_neg_total_netlb(int endpoints, int zone_subnets, int in_negs);
/* Names, sorted; `current` in byte order.  Newcomers are taken in the order of SHA-256(node ":"
 * salt), which is that of the answer, behind those that are in. */
struct gce_strs gce_neg_pick(struct arena *a, const struct gce_strs *nodes, const char *salt,
                             int count, const struct gce_strs *current);
struct gce_zone_nodes {
    const char *zone;
    struct gce_strs nodes;   /* names */
    struct gce_strs current; /* names in NEGs of the zone now */
    struct gce_strs picked;  /* out */
    size_t n_beyond;         /* instance groups: more nodes of the zone than its group takes */
};
/* The odd places of a division stay where they are (§3.4, docs/deviations.md). */
void gce_neg_subset(struct arena *a, struct gce_zone_nodes *zones, size_t n, int total,
                    const char *salt);

/* ---- the whole (§3.2, §3.5) ------------------------------------------------------------------ */
/* The nodes, judged and put in order once for all Services of a sync (gce_node_table.c); holds
 * copies, so it may outlive the nodes. */
struct gce_node_row {
    const char *name;
    const char *zone;     /* NULL: without a place, never a member */
    const char *subnet;   /* name; "" without subnetworks */
    const char *ip;       /* first InternalIP, as written; "" = none */
    const char *networks; /* annotation north-interfaces; NULL = absent */
    bool unready;         /* candidate_or_unready */
    bool draining;        /* candidate_or_draining */
};
struct gce_node_table {
    struct gce_node_row *rows; /* sorted by name */
    size_t n;
    struct gce_zone_nodes *zones; /* sorted, with their candidate_or_unready nodes */
    size_t n_zones;
    size_t n_nodes;                 /* of all zones together */
    int n_places;                   /* distinct (zone, subnetwork) of these */
    struct gce_strs zones_draining; /* that have candidate_or_draining nodes; sorted */
};
struct gce_node_table *gce_node_table_make(struct arena *a, const struct gce_node_filter *f,
                                           const struct tt_node *const *nodes,
                                           size_t n) _warn_unused_;
/* Annotation north-interfaces, NULL: none; whether it gives the node an address in that network. */
const char *gce_node_networks(const struct tt_node *n);
bool gce_node_is_on_network(struct arena *a, const struct tt_node *n, const char *network);
const struct gce_node_row *gce_node_table_find(const struct gce_node_table *t, const char *name);
/* Rows by zone, sorted; sorts `rows` itself on the way.  How many distinct (zone, subnetwork) they
 * have.  Names of the zones. */
struct gce_zone_nodes *gce_nodes_by_zone(struct arena *a, const struct gce_node_row **rows,
                                         size_t n, size_t *ret_n);
int gce_nodes_count_places(const struct gce_node_row **rows, size_t n);
struct gce_strs gce_zones_names(struct arena *a, const struct gce_zone_nodes *zones, size_t n);
struct gce_neg_place {
    const char *zone;
    const char *subnet;             /* name */
    struct gce_endpoint *endpoints; /* sorted by instance */
    size_t n;
};
struct gce_neg_places {
    struct gce_neg_place *items; /* sorted by zone, subnet */
    size_t n;
};
struct gce_neg_wish {
    const char *ns;
    const char *name;
    bool local;    /* externalTrafficPolicy Local */
    bool internal; /* limits of internal balancers */
    struct gce_node_filter filter;
    const char *subnetwork; /* URL; "" = legacy network: ERR_INVALID */
    bool include_draining;
    bool ipv6;
    const char *network; /* of a multi-network Service; NULL: the default one */
    const struct tt_node *const *nodes;
    size_t n_nodes;
    const struct tt_slice *const *slices;
    size_t n_slices;
    const struct gce_node_table *table; /* of these nodes by this filter; NULL: it is made */
};
struct gce_neg_members {
    struct gce_neg_places places;
    bool nobody;           /* Local without any endpoint: everything is detached */
    bool unsaid;           /* no EndpointSlice at all: members stay as they are (§3.2) */
    struct gce_strs zones; /* in which the Service has candidates: NEGs are made there */
    int wanted;            /* total asked for */
    size_t candidates;     /* Local: nodes with endpoints; those beyond `wanted` are left out */
};
/* The most nodes of a Service with policy Local (§3.4). */
#define GCE_NEG_LOCAL_MAX_ILB   250
#define GCE_NEG_LOCAL_MAX_NETLB 3000
int gce_neg_membership(struct arena *a, const struct gce_neg_wish *w,
                       const struct gce_neg_places *current, struct gce_neg_members *ret,
                       struct err *err) _warn_unused_;

/* ---- description (§3.6, §3.9) ---------------------------------------------------------------- */
char *gce_neg_describe(struct arena *a, const char *kube_system_uid, const char *ns,
                       const char *service);
enum gce_neg_verdict {
    GCE_NEG_MATCHES = 0,
    GCE_NEG_FOREIGN,      /* another cluster's or namespace's */
    GCE_NEG_SAME_CLUSTER, /* another Service's of this namespace */
};
enum gce_neg_verdict gce_neg_description_judge(struct arena *a, const char *expected,
                                               const char *found);

/* ---- plan (gce_neg_plan.c) ------------------------------------------------------------------- */
/* One NEG of a Service: what is wanted of it, and what is known. */
struct gce_neg_one {
    const char *zone;
    const char *name;
    const struct gce_neg *seen;    /* NULL: absent */
    bool wanted;                   /* there are candidates, or it is linked already */
    bool foreign;                  /* its description is another's: never touched, err says so */
    bool linked;                   /* a backend service refers to it: it is not made again */
    bool unknown;                  /* `is` could not be read: its members stay as they are */
    const struct gce_endpoint *is; /* members: the mirror; sorted */
    size_t n_is;
    const struct gce_endpoint *want;
    size_t n_want;
};
#define GCE_NEG_BATCH 500 /* endpoints per attach or detach */
/* All NEGs of a Service. */
struct gce_neg_plan {
    struct gce_neg_one *items;
    size_t n;
    const char *description; /* of new ones */
    const char *network;     /* URLs of new ones */
    const char *subnetwork;
    const struct gce_node_table *nodes; /* for the words why a member leaves; or NULL */
    bool local;                         /* for the same */
    int first_op;                       /* out: of the operations that were appended, -1: none */
    int last_op;
    /* out: the index behind those that must end before the others begin, which are
     * the first ones */
    int makes_room;
};
/* Appends: deletes of NEGs on another network that nothing refers to, which are made again (one
 * wave, rarely any); inserts (one wave); then attaches and detaches (one wave; a detach is sent
 * after an attach of the same Service was, lb_op.sent_after).  ERR_INVALID, with nothing appended:
 * a NEG of the name is another owner's, or is on another network and linked.  `delete`: all of them
 * go instead, but those whose description does not say that they are ours (A12). */
int gce_neg_plan_make(struct lb_plan *p, const char *key, struct gce_neg_plan *n,
                      const struct tt_call *call, struct err *err) _warn_unused_;
void gce_neg_plan_delete(struct lb_plan *p, const char *key, struct gce_neg_plan *n,
                         const struct tt_call *call);

#endif
