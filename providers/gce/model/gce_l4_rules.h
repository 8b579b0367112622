/* SPDX-License-Identifier: Apache-2.0 */
/* gce_l4_rules.h: what a Service asks of a balancer with a backend service: ports, protocols,
 * families, ranges, affinity, tiers.
 *
 * Each function is one rule of gce-l4.md and answers from the Service and flags alone.  Asked from
 * outside by trimtab-eval (gce.l4.*).  Source: gce-l4.md §4.2, §4.4, §5.5–5.8, §7.2, §10; vectors
 * §11.7, §11.8, §11.12, §11.15, §11.16.  Pure. */
#ifndef TRIMTAB_GCE_L4_RULES_H
#define TRIMTAB_GCE_L4_RULES_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "providers/gce/model/gce_l4_resources.h"

#include <stdbool.h>
#include <trimtab/types.h>

#define GCE_ANN_SUBNET_NEW      "networking.gke.io/load-balancer-subnet"
#define GCE_ANN_IP_ADDRESSES    "networking.gke.io/load-balancer-ip-addresses"
#define GCE_ANN_WEIGHTED        "networking.gke.io/weighted-load-balancing"
#define GCE_ANN_STRONG_AFFINITY "networking.gke.io/l4-strong-session-affinity"
#define GCE_ANN_L4LB_CONFIG     "networking.gke.io/l4lb-config"
#define GCE_ANN_IP_COLLECTION   "networking.gke.io/ip-collection-v6"
#define GCE_ANN_CUSTOM_RULES    "networking.gke.io/custom-forwarding-rule"
#define GCE_ANN_NEG_STATUS      "cloud.google.com/neg-status"
#define GCE_ANN_STATUS_PREFIX   "service.kubernetes.io/"

/* Flags of ingress-gce that shape a balancer (gce-l4.md §7.5); defaults in gce_options.c. */
struct gce_l4_flags {
    bool dual_stack_ilb;
    bool dual_stack_netlb;
    bool mixed_ilb;
    bool mixed_netlb;
    bool l3_default; /* --enable-l3-default-forwarding-rule-for-netlb-mixed-protocol */
    bool discrete_ports;
    bool weighted_ilb;
    bool weighted_netlb;
    bool zonal_affinity;
    bool strong_affinity;
    bool pinhole;
    bool disable_firewall;
    bool deny_firewall;
    bool deny_cleanup;
    bool logging;
    bool byo_ipv6;
    bool ipv6_node_endpoints; /* --enable-ipv6-node-neg-endpoints */
    bool dual_stack_neg;
    bool neg_detach_cancel;
    bool neg_local_draining; /* --enable-l4-neg-local-include-drain-nodes */
    bool multi_subnet;       /* --enable-multi-subnet-cluster-phase1 */
    bool multi_network;      /* --enable-multi-networking; = switches.multi_network */
    bool needs_pod_cidr;     /* ours, --gce-nodes-need-pod-cidr: §3.1's rule; default true */
    /* ours, --empty-source-family-allows-all: A8 as upstream; default false */
    bool empty_family_opens;
};

/* ---- ports and protocols (§4.2) -------------------------------------------------------------- */
struct gce_l4_ports {
    const char *rule_protocol;    /* "TCP", "UDP", "L3_DEFAULT", or another as it is */
    const char *service_protocol; /* of the backend service: "TCP", "UDP", "UNSPECIFIED" */
    bool mixed;                   /* TCP and UDP */
    struct gce_strs tcp;          /* in spec order */
    struct gce_strs udp;
    struct gce_strs all;
    const char *range;         /* "min-max" over all, "" without ports */
    struct gce_allows allowed; /* of firewalls: udp first, merged ranges */
};
/* `mixed_on`: the flag; without it the first port's protocol is that of all. */
void gce_l4_ports_of(struct arena *a, const struct tt_service *s, bool mixed_on,
                     struct gce_l4_ports *ret);
/* "min-max" of some of the ports. */
const char *gce_l4_range_of(struct arena *a, const struct gce_strs *ports);
/* ERR_INVALID before the first write: protocols but TCP and UDP, no ports, mixed ports without the
 * flag (Appendix C row 2; A9). */
int gce_l4_ports_check(const struct tt_service *s, bool mixed_on, struct err *err) _warn_unused_;

/* ---- families, subnetwork, ranges ------------------------------------------------------------ */
bool gce_l4_wants_v4(const struct tt_service *s, bool dual_stack);
bool gce_l4_wants_v6(const struct tt_service *s, bool dual_stack);
/* Name of the subnetwork that the annotations ask for, "" = the cluster's; `ilb` reads
 * the older key, too. */
const char *gce_l4_subnet(const struct tt_service *s, bool ilb);
/* §4.1 E4, §5.1 step 7: can a rule with an IPv6 address lie in it?  ERR_INVALID: no. */
int gce_l4_subnetwork_check(const struct gce_subnetwork *s, bool internal,
                            struct err *err) _warn_unused_;
/* §10, §11.7.  ERR_INVALID as upstream's user errors.  A family of which nothing is left has n = 0
 * and its `dropped` set: no client may come in (A8, ours). */
struct gce_l4_ranges {
    struct gce_strs v4;
    struct gce_strs v6;
    bool v4_dropped; /* ranges were given, none of this family */
    bool v6_dropped;
};
int gce_l4_source_ranges(struct arena *a, const struct tt_service *s, struct gce_l4_ranges *ret,
                         struct err *err) _warn_unused_;
#define GCE_L4_ADDRESS_NAMES_MAX 2 /* one per family; names beyond are not checked */
/* The first names of the address annotation, trimmed (§10, V75–V78). */
struct gce_strs gce_l4_address_names(struct arena *a, const struct tt_service *s);

/* ---- balancing ------------------------------------------------------------------------------- */
const char *gce_l4_affinity(const struct tt_service *s); /* "NONE", "CLIENT_IP" */
/* §4.6, §5.8: localityLbPolicy; *ret_unsupported: weighted with policy Cluster, warn once. */
const char *gce_l4_locality(const struct tt_service *s, bool ilb, const struct gce_l4_flags *f,
                            bool *ret_unsupported);
bool gce_l4_wants_zonal_affinity(const struct tt_service *s, const struct gce_l4_flags *f);
/* §5.5: OK also when it is not asked; *ret_strong says whether it is asked. */
int gce_l4_strong_affinity(const struct tt_service *s, bool enabled, bool *ret_strong,
                           struct err *err) _warn_unused_;
/* §5.6: "PREMIUM" or "STANDARD"; *ret_set: by a valid annotation. */
const char *gce_l4_tier(const struct tt_service *s, bool *ret_set);

/* ---- finalizers (§11.16) --------------------------------------------------------------------- */
/* The Service carried the finalizer before, lacks it now, and is not being deleted. */
bool gce_l4_finalizer_lost(const char *const *old_names, size_t n_old, const char *const *names,
                           size_t n, const char *finalizer, bool deleting);

/* ---- errors of the cloud that are the user's (§4.14, §11.19) --------------------------------- */
struct gce_l4_error {
    bool user;
    bool tier_mismatch;
    bool no_strong_affinity;
    bool no_rendezvous;
    bool ip_in_use;
    bool ports_conflict;
    bool one_group_per_instance; /* §8.4 */
};
void gce_l4_error_of(int http_status, const char *message, struct gce_l4_error *ret);
/* Whether a Service that failed so is in a user error: what its owner must fix, by the
 * classes of §4.14. */
bool gce_l4_error_is_users(const struct err *err);
/* Label error_type (V222): "Forbidden" by the HTTP status, "k8s NotFound" where the API server
 * failed, "" unknown. */
const char *gce_l4_error_type(const struct err *err);
/* Marks *err, which is set (or NULL), as a failure of the API server's: `code` is what it answered.
 * Returns err's code. */
#define GCE_KUBE_REASON "k8s "
int gce_l4_error_of_kube(struct err *err, int code);

#endif
