/* SPDX-License-Identifier: Apache-2.0 */
/* gce_resources.h: the Compute resources of a target-pool load balancer, as structs, and their
 * wire form.
 *
 * Only the members that we set or look at; what the server adds is skipped on reading.  Zero
 * values are left out of bodies, as Google's own clients do (§3.2), unless a member must be
 * cleared. Lists keep the order and the duplicates of the wire, because upstream's comparisons
 * depend on both (§17.5).
 * Source: gce-cloud-provider.md §3.3, §4.2–4.8; compute v1.  Identity of
 * each: name.  Pure; everything lives in the arena. */
#ifndef TRIMTAB_GCE_RESOURCES_H
#define TRIMTAB_GCE_RESOURCES_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/data/json_view.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gce_strs {
    const char **items;
    size_t n;
};

/* compute "forwardingRules".  In place: allowGlobalAccess, networkTier of those with a backend
 * service.  Recreate: all else. */
struct gce_rule {
    const char *name;
    const char *description;
    const char *ip;              /* IPAddress */
    const char *protocol;        /* "TCP", "UDP" */
    const char *port_range;      /* "80-443" */
    const char *target;          /* link of the pool; "" on rules with a backend service */
    const char *backend_service; /* not ours when set */
    const char *scheme;          /* "EXTERNAL", "INTERNAL"; "" reads as EXTERNAL */
    const char *tier;            /* "PREMIUM", "STANDARD" */
    /* of rules with a backend service; absent on those with a target pool */
    struct gce_strs ports; /* "80", at most 5 */
    bool all_ports;
    bool global_access;     /* allowGlobalAccess */
    const char *network;    /* link */
    const char *subnetwork; /* link */
    const char *ip_version; /* "IPV4", "IPV6", "" */
    const char *ip_collection;
    const char *id; /* decimal; what a PATCH names */
};
/* compute "targetPools".  In place: instances, healthChecks.  Recreate: sessionAffinity. */
struct gce_pool {
    const char *name;
    const char *description;
    const char *affinity;      /* "NONE", "CLIENT_IP", perhaps "" */
    struct gce_strs instances; /* links, or "/zones/Z/instances/N" */
    struct gce_strs checks;    /* links; at most one */
};
struct gce_allow {
    const char *protocol;
    struct gce_strs ports; /* "80" or "80-84" */
};
struct gce_allows {
    struct gce_allow *items;
    size_t n;
};
/* compute "firewalls".  In place: everything but network. */
struct gce_firewall {
    const char *name;
    const char *description;
    const char *network;     /* link */
    const char *direction;   /* "" = INGRESS */
    struct gce_strs sources; /* CIDRs */
    struct gce_strs destinations;
    struct gce_strs tags; /* targetTags */
    struct gce_allows allowed;
    struct gce_allows denied;
    int32_t priority; /* 0…65535, lower wins; 0 on the wire = absent */
    bool disabled;
};
/* compute "httpHealthChecks" (the legacy kind: the only one that target pools take).  In place:
 * all. */
struct gce_check {
    const char *name;
    const char *description;
    const char *host; /* Host header; "" */
    const char *path; /* requestPath */
    int32_t port;
    int32_t interval_s; /* checkIntervalSec */
    int32_t timeout_s;
    int32_t healthy; /* healthyThreshold */
    int32_t unhealthy;
};
/* compute "addresses".  In place: nothing. */
struct gce_address {
    const char *name;
    const char *description;
    const char *ip;   /* address */
    const char *type; /* "EXTERNAL", "INTERNAL", "" */
    const char *tier; /* networkTier */
    /* of balancers with a backend service */
    const char *subnetwork;    /* link; INTERNAL ones */
    const char *ip_version;    /* "IPV6", "" */
    const char *endpoint_type; /* ipv6EndpointType "NETLB", "" */
    const char *ip_collection;
    const char *purpose;
    int32_t prefix_length; /* 0 = absent */
};
struct gce_instance {
    const char *name;
    const char *zone;     /* link or name */
    struct gce_strs tags; /* tags.items */
};

/* A rule that says nothing: no member is NULL. */
struct gce_rule gce_rule_blank(void);

/* Reading, from a tree or from a view, whose texts are then borrowed; absent members become "" and
 * 0.  ERR_INVALID with the path when a member has another type. */
int gce_rule_decode(struct arena *a, struct json_object *o, struct gce_rule *ret,
                    struct err *err) _warn_unused_;
int gce_rule_decode_view(struct arena *a, const struct json_view *v, struct gce_rule *ret,
                         struct err *err) _warn_unused_;
int gce_pool_decode_view(struct arena *a, const struct json_view *v, struct gce_pool *ret,
                         struct err *err) _warn_unused_;
int gce_firewall_decode_view(struct arena *a, const struct json_view *v, struct gce_firewall *ret,
                             struct err *err) _warn_unused_;
int gce_check_decode_view(struct arena *a, const struct json_view *v, struct gce_check *ret,
                          struct err *err) _warn_unused_;
int gce_address_decode(struct arena *a, struct json_object *o, struct gce_address *ret,
                       struct err *err) _warn_unused_;
int gce_address_decode_view(struct arena *a, const struct json_view *v, struct gce_address *ret,
                            struct err *err) _warn_unused_;
int gce_instance_decode(struct arena *a, struct json_object *o, struct gce_instance *ret,
                        struct err *err) _warn_unused_;

/* A 64-bit number, which the API writes as text: its digits, "" when absent. */
const char *gce_decimal_member(struct arena *a, struct json_object *o, const char *name);

/* Bodies for insert, patch and update; new references. */
struct json_object *gce_rule_body(const struct gce_rule *r);
/* PATCH of what can be changed in place: id, name, allowGlobalAccess always; networkTier unless ""
 * (gce-l4.md §9.2). */
struct json_object *gce_rule_patch_body(const struct gce_rule *r);
struct json_object *gce_pool_body(const struct gce_pool *p);
/* `clear_destinations`: an empty list is sent, for a PATCH that takes them away (§4.7). */
struct json_object *gce_firewall_body(const struct gce_firewall *f, bool clear_destinations);
/* The body of an insert as the cloud has it afterwards, as far as anything is compared with it:
 * defaults are filled in.  A new object. */
struct json_object *gce_firewall_as_made(struct json_object *insert);
struct json_object *gce_check_body(const struct gce_check *c);
struct json_object *gce_address_body(const struct gce_address *d);
/* {"instances":[{"instance":…}]} and {"healthChecks":[{"healthCheck":…}]}. */
struct json_object *gce_pool_members_body(const char *const *members, size_t n);
struct json_object *gce_pool_check_body(const char *check_link);

/* The list as a set of its items, sorted and unique. */
struct str_set gce_strs_set(struct arena *a, const struct gce_strs *s);
struct gce_strs gce_strs_of(struct arena *a, const char *const *items, size_t n);
struct gce_strs gce_strs_one(struct arena *a, const char *item);
/* The list with one more item at its end, unless it has it. */
struct gce_strs gce_strs_with(struct arena *a, const struct gce_strs *s, const char *item);
/* Same length and same set of items: upstream's idea of equal lists (§17.5). */
bool gce_strs_same(struct arena *a, const struct gce_strs *x, const struct gce_strs *y);

#endif
