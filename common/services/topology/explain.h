/* SPDX-License-Identifier: Apache-2.0 */
/* explain.h: zones' shares, hints per zone, and why there are none, for people.
 *
 * The report tells what is in the slices now, what the Service asks for, and which safeguard stands
 * between the two.  It is about the hints that kube-proxy obeys, so it does not matter which
 * controller wrote a slice.  Results live in the arena and borrow texts from
 * the arguments. Pure. */
#ifndef TRIMTAB_SERVICES_TOPOLOGY_EXPLAIN_H
#define TRIMTAB_SERVICES_TOPOLOGY_EXPLAIN_H

#include "common/services/topology/topology.h"

/* How a Service asks for hints. */
enum ks_hints_wish {
    KS_WISH_NONE = 0,
    KS_WISH_SHARES, /* annotation topology-mode, or the older topology-aware-hints */
    KS_WISH_ZONE,   /* spec.trafficDistribution: PreferSameZone, PreferClose */
    KS_WISH_NODE,   /* spec.trafficDistribution: PreferSameNode */
};
/* Why traffic is kept in zones, or is not; one per report, the first that applies. */
enum ks_hints_why {
    KS_WHY_NO_ENDPOINTS = 0, /* no endpoint is ready */
    KS_WHY_HINTED,           /* every ready endpoint is hinted, and each zone with nodes has one */
    /* every ready endpoint is hinted, but some zone with nodes has none */
    KS_WHY_ZONE_WITHOUT_HINT,
    KS_WHY_NODE_WITHOUT_ZONE, /* the safeguards of hints by zone shares */
    KS_WHY_NODE_WITHOUT_CPU,
    KS_WHY_FEW_ZONES,
    KS_WHY_FEW_ENDPOINTS,
    KS_WHY_OVERLOAD,
    KS_WHY_ENDPOINT_WITHOUT_ZONE, /* with either wish */
    /* spec.trafficDistribution has a value that the controller does not know */
    KS_WHY_UNKNOWN_VALUE,
    KS_WHY_PARTLY_HINTED, /* some ready endpoint has no hint, so kube-proxy ignores all of them */
    KS_WHY_NOT_WRITTEN,   /* nothing is in the way, but the slices have no hints */
    KS_WHY_NOT_ASKED,     /* the Service asks for no hints, and there are none */
    KS_WHY_MAX,
};
struct ks_zone_report {
    const char *zone;
    double share;      /* of the CPU of all zones, 0…1; 0 unless has_shares of the report */
    int64_t milli_cpu; /* allocatable CPU of its counted nodes; 0 likewise */
    size_t nodes;      /* its nodes that are ready and not of the control plane */
    int64_t ready;     /* ready endpoints in the zone */
    int64_t hinted;    /* ready endpoints hinted for the zone, wherever they are */
    bool kept;         /* nodes of the zone use only the endpoints that are hinted for it */
};
struct ks_topology_report {
    const char *address_type; /* "IPv4", "IPv6" */
    enum ks_hints_wish wish;
    enum ks_hints_why why;
    const char *sentence;               /* the same in words, with what to do about it */
    const struct ks_zone_report *zones; /* sorted by name; of nodes, endpoints and hints */
    size_t n_zones;
    int64_t ready;    /* ready endpoints */
    int64_t unhinted; /* ready endpoints without a hint for a zone */
    int64_t zoneless; /* ready endpoints without a zone */
    bool has_shares;  /* zones have shares of CPU */
    /* kube-proxy obeys hints by zone: there are ready endpoints, all of them hinted */
    bool in_force;
};

/* Explains one family of a Service from all nodes and the Service's slices; those of other families
 * are left out.  As kube-proxy reads them, an endpoint without the condition ready is
 * ready.  O(n log n). */
struct ks_topology_report ks_topology_explain(struct arena *a, const struct ks_service *service,
                                              enum ks_family family,
                                              const struct ks_node *const *nodes, size_t n_nodes,
                                              const struct ks_slice *const *slices,
                                              size_t n_slices);
/* A word for documents: "hinted", "zone-without-hint", "few-endpoints", …; and for the wish:
 * "none", "zone-shares", "same-zone", "same-node". */
const char *ks_hints_why_word(enum ks_hints_why why);
const char *ks_hints_wish_word(enum ks_hints_wish wish);

#endif
