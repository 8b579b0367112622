/* SPDX-License-Identifier: Apache-2.0 */
/* gce_l4_resources.h: the Compute resources of balancers with a backend service, as structs, and
 * their wire form.
 *
 * Same manner as gce_resources.h: only members that we set or look at; zero values are left out of
 * bodies; lists keep order and duplicates.  A resource that is written back whole (PUT) keeps what
 * it holds beside our members: `raw` is what was read.  Source: compute v1; gce-l4.md §4.3, §4.6,
 * §9.2, §3.9; gce-cloud-provider.md §5.4–5.5.  Pure; everything lives in the arena. */
#ifndef TRIMTAB_GCE_L4_RESOURCES_H
#define TRIMTAB_GCE_L4_RESOURCES_H

#include "providers/gce/model/gce_resources.h"

#include <stdint.h>

/* compute "healthChecks", global or regional, type HTTP.  In place: all. */
struct gce_hc {
    const char *name;
    const char *description;
    const char *type;
    const char *path;
    const char *link; /* selfLink */
    int32_t port;
    int32_t interval_s;
    int32_t timeout_s;
    int32_t healthy;
    int32_t unhealthy;
    bool has_http; /* httpHealthCheck is present */
};
struct gce_backend {
    const char *group; /* link of an instance group or NEG */
    const char *mode;  /* balancingMode, "" */
};
#define GCE_BS_OWNS_NETWORK  0x1u
#define GCE_BS_OWNS_LOCALITY 0x2u
#define GCE_BS_OWNS_TRACKING 0x4u
#define GCE_BS_OWNS_LOG      0x8u
/* compute "backendServices" (regional).  In place: all but loadBalancingScheme; the protocol only
 * while no rule refers to it. */
struct gce_bservice {
    const char *name;
    const char *description;
    const char *protocol; /* "TCP", "UDP", "UNSPECIFIED" */
    const char *scheme;   /* "INTERNAL", "EXTERNAL" */
    const char *affinity; /* "NONE", "CLIENT_IP" … */
    const char *network;  /* link, "" */
    const char *locality; /* localityLbPolicy, "" */
    const char *fingerprint;
    const char *link; /* selfLink */
    struct gce_strs checks;
    struct gce_backend *backends;
    size_t n_backends;
    int32_t draining_s; /* connectionDraining.drainingTimeoutSec */
    bool has_draining;
    bool has_zonal; /* networkPassThroughLbTrafficPolicy.zonalAffinity is present */
    const char *spillover;
    double spillover_ratio;
    bool has_tracking; /* connectionTrackingPolicy */
    bool strong;       /* enableStrongAffinity */
    const char *tracking_mode;
    int32_t idle_s;
    bool has_log; /* logConfig */
    bool log_enable;
    double log_rate;
    const char *log_mode; /* optionalMode */
    struct gce_strs log_fields;
    /* Of a wanted one: GCE_BS_OWNS_… — members that a PUT clears when they are not wanted; without
     * the bit, what is there and not wanted stays as it is. */
    unsigned owns;
    struct json_object *raw; /* as read, NULL for a wanted one */
};
/* compute "networkEndpointGroups" (zonal).  In place: nothing but members. */
struct gce_neg {
    const char *name;
    const char *zone; /* name */
    const char *description;
    const char *type; /* "GCE_VM_IP" */
    const char *network;
    const char *subnetwork;
    const char *link;
    const char *id; /* decimal */
    int32_t size;
};
/* compute "instanceGroups" (zonal, unmanaged). */
struct gce_group {
    const char *name;
    const char *zone;
    const char *link;
    int32_t size;
};
/* compute "subnetworks". */
struct gce_subnetwork {
    const char *name;
    const char *link;
    const char *ipv6_access; /* "INTERNAL", "EXTERNAL", "" */
    const char *stack;       /* "IPV4_ONLY", "IPV4_IPV6", "IPV6_ONLY", "" */
    const char *range;       /* ipCidrRange, "" for one of IPv6 alone */
};

int gce_hc_decode(struct arena *a, struct json_object *o, struct gce_hc *ret,
                  struct err *err) _warn_unused_;
int gce_hc_decode_view(struct arena *a, const struct json_view *v, struct gce_hc *ret,
                       struct err *err) _warn_unused_;
int gce_bservice_decode(struct arena *a, struct json_object *o, struct gce_bservice *ret,
                        struct err *err) _warn_unused_;
int gce_neg_decode(struct arena *a, struct json_object *o, struct gce_neg *ret,
                   struct err *err) _warn_unused_;
int gce_neg_decode_view(struct arena *a, const struct json_view *v, struct gce_neg *ret,
                        struct err *err) _warn_unused_;
int gce_group_decode(struct arena *a, struct json_object *o, struct gce_group *ret,
                     struct err *err) _warn_unused_;
int gce_group_decode_view(struct arena *a, const struct json_view *v, struct gce_group *ret,
                          struct err *err) _warn_unused_;
int gce_subnetwork_decode(struct arena *a, struct json_object *o, struct gce_subnetwork *ret,
                          struct err *err) _warn_unused_;
int gce_subnetwork_decode_view(struct arena *a, const struct json_view *v,
                               struct gce_subnetwork *ret, struct err *err) _warn_unused_;

/* Bodies; new references. */
struct json_object *gce_hc_body(const struct gce_hc *c);
/* Policies that upstream takes for the same: "" beside MAGLEV, and what is GCP_RENDEZVOUS where ""
 * is wanted (§4.6). */
bool gce_locality_same(const char *is, const char *want);
/* `over` NULL: an insert.  Else a PUT: `over`->raw with our members laid over it (unknown members,
 * backends and fingerprint stay, §9.5 rule 6; gce-cloud-provider.md §15 row 19). */
struct json_object *gce_bservice_body(const struct gce_bservice *b,
                                      const struct gce_bservice *over);
/* The same as read, with other backends; other members of a backend that stays are kept. */
struct json_object *gce_bservice_backends_body(const struct gce_bservice *read,
                                               const struct gce_backend *backends, size_t n);
struct json_object *gce_neg_body(const struct gce_neg *n);
struct json_object *gce_group_body(const struct gce_group *g);
/* {"networkEndpoints":[{"instance":…,"ipAddress":…,"ipv6Address":…}]} */
struct gce_endpoint {
    const char *instance; /* name */
    const char *ip;       /* "" */
    const char *ipv6;     /* "" */
};
struct json_object *gce_endpoints_body(const struct gce_endpoint *e, size_t n);
/* {"instances":[{"instance":URL}]} is gce_pool_members_body(). */

#endif
