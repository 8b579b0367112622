/* SPDX-License-Identifier: Apache-2.0 */
/* topology.h: hints that keep traffic in its zone.
 *
 * Two mechanisms write hints into slices.  A Service has one of them, or none:
 *
 *     annotation topology-mode: Auto ──▶ nodes' CPU ──▶ zone shares ──▶ allocation
 *                                    ──▶ hints, or a safeguard with its event
 *     spec.trafficDistribution       ──▶ each ready endpoint is hinted for its own zone (and node)
 *
 * The first one spreads endpoints over zones in proportion to the zones' CPU, and writes no hints
 * at all where that cannot be fair.  Everything here is a function of its arguments, and
 * independent of the order of nodes.  Where upstream walks a map, names of zones decide.  Results
 * live in the arena and borrow texts from the arguments.  Pure.
 * Source: Kubernetes 1.36, k8s.io/endpointslice, topologycache and trafficdist. */
#ifndef TRIMTAB_SERVICES_TOPOLOGY_TOPOLOGY_H
#define TRIMTAB_SERVICES_TOPOLOGY_TOPOLOGY_H

#include "common/services/decode/objects.h"

/* An event about a Service or Endpoints, as the controller writes it. */
struct ks_event {
    const char *type;   /* "Normal", "Warning" */
    const char *reason; /* one word */
    const char *message;
};

/* "IPv4", "IPv6": addressType of slices, an item of spec.ipFamilies. */
static inline const char *ks_address_type(enum ks_family family)
{
    return family == KS_IPV6 ? "IPv6" : "IPv4";
}

/* ---- zone shares (shares.c) ------------------------------------------------------------------ */

/* Why zones have no shares. */
enum ks_shares_off {
    KS_SHARES_FINE = 0,
    KS_SHARES_NO_ZONE,   /* a counted node has no zone label, or an empty one */
    KS_SHARES_NO_CPU,    /* a counted node has no allocatable CPU */
    KS_SHARES_FEW_ZONES, /* fewer than two zones have a counted node */
};
struct ks_zone_share {
    const char *zone;
    int64_t milli_cpu; /* allocatable CPU of its counted nodes, rounded up */
    double ratio;      /* of all zones' CPU; 0…1 */
    size_t nodes;      /* counted ones */
};
/* A node counts when it is ready and does not have the label of a control plane. */
struct ks_zone_shares {
    const struct ks_zone_share *zones; /* sorted by name; NULL unless `off` is KS_SHARES_FINE */
    size_t n;
    enum ks_shares_off off;
    const struct ks_node *lacking; /* NO_ZONE, NO_CPU: the first such node by name; NULL else */
    size_t n_lacking;              /* nodes that lack a zone or CPU: one suffices */
};
struct ks_zone_shares ks_zone_shares(struct arena *a, const struct ks_node *const *nodes, size_t n);

/* ---- allocation (shares.c) ------------------------------------------------------------------- */

/* Why a Service has no hints by zone shares: the safeguards, in the order in which
 * they are checked. */
enum ks_hints_off {
    KS_HINTS_FINE = 0,
    KS_HINTS_NO_SHARES,     /* zones have no shares (enum ks_shares_off) */
    KS_HINTS_FEW_ENDPOINTS, /* more zones than ready endpoints */
    KS_HINTS_OVERLOAD,      /* some zone would get more than 20 % above its share */
    KS_HINTS_NO_ZONE,       /* a ready endpoint that is to be hinted has no zone */
    KS_HINTS_OFF_MAX,
};
/* How many endpoints a zone of the shares is to have. */
struct ks_allocation {
    const char *zone;
    int64_t minimum; /* minimum, else its endpoints are overloaded */
    int64_t maximum; /* hints up to here are left as they are */
    double desired;  /* ≥ minimum */
};
/* Allocates `ready` endpoints.  On KS_HINTS_FINE *ret has shares->n items in their
 * order; otherwise it is NULL. */
enum ks_hints_off ks_allocate(struct arena *a, const struct ks_zone_shares *shares, int64_t ready,
                              const struct ks_allocation **ret);
/* The message of the event for a safeguard, without the address type; "" for KS_HINTS_FINE. */
const char *ks_hints_off_text(struct arena *a, enum ks_hints_off off, int64_t ready, size_t zones);

/* How many hints each zone gives to others or receives from them, when it has have[i] (all three of
 * n items): the one with most to give and the one with most to receive exchange one at a time.
 * O(exchanges · log n). */
void ks_give_receive(struct arena *a, const struct ks_allocation *zones, size_t n,
                     const int64_t *have, int64_t *give, int64_t *receive);

/* Hints of one Service and family, counted by zone. */
struct ks_zone_count {
    const char *zone;
    int64_t hints;
};
struct ks_zone_counts {
    const struct ks_zone_count *zones; /* sorted by name, each once; NULL when n is 0 */
    size_t n;
};

/* ---- hints in slices (hints.c) --------------------------------------------------------------- */

/* Slices of one Service and family: to be created, to be updated, and those a pass leaves
 * alone so far. */
struct ks_slice_lists {
    const struct ks_slice *const *create;
    const struct ks_slice *const *update;
    const struct ks_slice *const *unchanged;
    size_t n_create;
    size_t n_update;
    size_t n_unchanged;
};
/* The lists after hints were written: all of `create` and `update` are copies in the same order,
 * behind them in `update` those of `unchanged` that need an update, in their order. */
struct ks_hints {
    struct ks_slice_lists lists;
    const struct ks_event *events;
    size_t n_events;
    bool on;                      /* hints by zone shares are in force now */
    enum ks_hints_off off;        /* KS_HINTS_FINE when `on` */
    struct ks_zone_counts counts; /* while `on` */
};

/* True when an annotation of the Service asks for hints by zone shares.  The older annotation wins,
 * and both win over spec.trafficDistribution. */
bool ks_wants_zone_shares(const struct ks_service *service);
/* Hints by zone shares.  `on_before`: they were in force for the Service, in whichever family. */
struct ks_hints ks_hints_by_shares(struct arena *a, const struct ks_zone_shares *shares,
                                   enum ks_family family, const struct ks_slice_lists *lists,
                                   bool on_before);
/* Hints by spec.trafficDistribution; NULL and unknown values remove all hints. */
struct ks_slice_lists ks_hints_by_distribution(struct arena *a, const char *distribution,
                                               const struct ks_slice_lists *lists);

#endif
