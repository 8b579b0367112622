/* SPDX-License-Identifier: Apache-2.0 */
/* gce_service_rules.h: what a Service asks of Google: annotations, classes, scheme, ports, and
 * whose it is.
 *
 * Each function is one rule of the specification and answers from the Service (and where
 * upstream looks at it, the forwarding rule) alone.  Source: gce-cloud-provider.md §4.3.1, §4.5,
 * §4.8, §4.11, §6.1, §8.1; vectors §9.2, §9.5, §9.6. Asked from outside by trimtab-eval (gce.*).
 * Pure. */
#ifndef TRIMTAB_GCE_SERVICE_RULES_H
#define TRIMTAB_GCE_SERVICE_RULES_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "providers/gce/model/gce_resources.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trimtab/types.h>

#define GCE_PROVIDER "gce" /* its name, in marks, too (common/lb/mark_rules.h) */

#define GCE_CLASS_EXTERNAL_LEGACY "networking.gke.io/l4-regional-external-legacy"
#define GCE_CLASS_INTERNAL_LEGACY "networking.gke.io/l4-regional-internal-legacy"
#define GCE_CLASS_INTERNAL        "networking.gke.io/l4-regional-internal" /* ingress-gce */
#define GCE_CLASS_EXTERNAL        "networking.gke.io/l4-regional-external"
#define GCE_CLASS_STANDALONE      "networking.gke.io/standalone-passthrough-lb-neg"

#define GCE_FINALIZER_NETLB_V1 "gke.networking.io/l4-netlb-v1" /* ours */
#define GCE_FINALIZER_NETLB_V2 "gke.networking.io/l4-netlb-v2" /* ingress-gce */
#define GCE_FINALIZER_NETLB_V3 "gke.networking.io/l4-netlb-v3"
#define GCE_FINALIZER_ILB_V1   "gke.networking.io/l4-ilb-v1" /* cloud-provider-gcp, internal */
#define GCE_FINALIZER_ILB_V2   "gke.networking.io/l4-ilb-v2" /* ingress-gce, internal */

#define GCE_ANN_TYPE          "networking.gke.io/load-balancer-type"
#define GCE_ANN_TYPE_OLD      "cloud.google.com/load-balancer-type"
#define GCE_ANN_SHARE         "alpha.cloud.google.com/load-balancer-backend-share"
#define GCE_ANN_SHARE_OLD     "cloud.google.com/load-balancer-backend-share"
#define GCE_ANN_GLOBAL_ACCESS "networking.gke.io/internal-load-balancer-allow-global-access"
#define GCE_ANN_SUBNET        "networking.gke.io/internal-load-balancer-subnet"
#define GCE_ANN_TIER          "cloud.google.com/network-tier"
#define GCE_ANN_RBS           "cloud.google.com/l4-rbs"
#define GCE_ANN_TARGET_POOL   "networking.gke.io/target-pool"     /* output, §6.4 */
#define GCE_ANN_BACKEND       "networking.gke.io/backend-service" /* output, §6.4 */

#define GCE_CONDITION_PORTS "LoadBalancerPortsError"

enum gce_scheme {
    GCE_EXTERNAL = 0,
    GCE_INTERNAL,
};

/* Class first, then annotation (§6.1). */
enum gce_scheme gce_svc_scheme(const struct tt_service *s);
/* The text that the Service has for it, of the newer annotation if it has both; NULL: none. */
const char *gce_svc_type_text(const struct tt_service *s);
/* Is it one of the texts that upstream takes for internal?  NULL: no. */
bool gce_type_says_internal(const char *text);
/* Its key, as messages name it: the one that counts. */
const char *gce_svc_type_key(const struct tt_service *s);
/* "Internal" when that text is none of upstream's words, but one of them in other letters, with
 * blanks, or with a slip in it; else NULL.  A class decides alone: then NULL. */
const char *gce_svc_type_slip(struct arena *a, const struct tt_service *s);
/* Something of Google's stands for it: an address in its status, or a finalizer of one
 * of the kinds. */
bool gce_svc_has_balancer(const struct tt_service *s);
/* Returns whether a slip of "Internal" is read as External, as upstream reads it: what stands may
 * be public.  An internal load balancer stays: an edit does not make it public by a slip. */
bool gce_svc_public_by_slip(const struct tt_service *s);
/* ERR_INVALID for such a slip on a Service without a load balancer, or with an internal one: it
 * would become public, which its owner did not mean.  One that may be public keeps upstream's
 * meaning.  `lenient`: --lenient-load-balancer-type. */
int gce_svc_type_check(struct arena *a, const struct tt_service *s, bool lenient,
                       struct err *err) _warn_unused_;
/* External class beside an annotation that says Internal: served as external, with a warning
 * (§4.3 step 4). */
bool gce_svc_class_conflicts(const struct tt_service *s);
/* The source ranges of a load balancer that has an IPv4 address alone: one firewall holds ranges of
 * one family only, so those of IPv6 are left out, *ret_dropped of them.  ERR_INVALID: a text that
 * is no range, or none of IPv4 is among them, and then no client could come in.  `upstream`: as
 * upstream has it, both families together. */
int gce_svc_ranges_v4(struct arena *a, const struct tt_service *s, struct str_set *ret,
                      struct err *err) _warn_unused_;
bool gce_svc_shares_backend_service(const struct tt_service *s);
bool gce_svc_wants_global_access(const struct tt_service *s);
const char *gce_svc_subnet(const struct tt_service *s); /* "" = the cluster's */
bool gce_svc_tier_is_set(const struct tt_service *s);
/* "Premium" or "Standard"; ERR_INVALID `unsupported network tier: "…"`. */
int gce_svc_tier(const struct tt_service *s, const char **ret, struct err *err) _warn_unused_;
/* "Premium" → "PREMIUM". */
const char *gce_tier_wire(const char *tier);
/* The wire value as a tier; an empty one is Premium (ours: upstream would delete the rule).
 * NULL: unknown. */
const char *gce_tier_from_wire(const char *wire);

/* §8.1.  `rule` is the forwarding rule of the Service's name, or NULL. */
bool gce_svc_target_pool_is_ours(const struct tt_service *s, const struct gce_rule *rule,
                                 bool rbs_default);
/* Carries a finalizer by which another controller must finish it; the finalizer, or NULL. */
const char *gce_svc_foreign_finalizer(const struct tt_service *s);

/* All ports have the protocol of the first (§4.11). */
bool gce_svc_protocols_are_mixed(const struct tt_service *s);
bool gce_svc_has_ports_condition(const struct tt_service *s); /* LoadBalancerPortsError is True */
/* Protocol of the first port, in upper case; no ports count as TCP. */
const char *gce_svc_protocol(const struct tt_service *s);
/* "min-max" and the protocol.  ERR_INVALID: mixed, neither TCP nor UDP, no ports. */
int gce_svc_port_range(struct arena *a, const struct tt_service *s, const char **ret_protocol,
                       const char **ret_range, struct err *err) _warn_unused_;
/* Port numbers as firewall entries: ascending, duplicates dropped, neighbours joined "80-82". */
struct gce_strs gce_port_ranges(struct arena *a, const int32_t *ports, size_t n);
struct gce_strs gce_svc_port_ranges(struct arena *a, const struct tt_service *s);
/* Ports of the Service one by one, in spec order. */
struct gce_strs gce_svc_ports_plain(struct arena *a, const struct tt_service *s);
/* "NONE" or "CLIENT_IP". */
const char *gce_svc_affinity(const struct tt_service *s);
/* An existing pool of that affinity must be recreated (§4.8). */
bool gce_pool_affinity_differs(const struct gce_pool *pool, const char *wanted);

/* §4.3.1: must the rule be created or made again?  *ret_ip is its address ("" when there is no
 * rule).  Errors as upstream, found after a different wanted address. */
struct gce_rule_need {
    bool exists;
    bool needs_update;
    const char *ip;
    const char *because; /* what differs, or NULL */
};
int gce_rule_needs_update(struct arena *a, const struct tt_service *s, const struct gce_rule *rule,
                          struct gce_rule_need *ret, struct err *err) _warn_unused_;

#endif
