/* SPDX-License-Identifier: Apache-2.0 */
/* trimtab/types.h — the Kubernetes objects that a provider is given, and the result codes.
 *
 * Part of the plugin ABI (provider.h).  C99, compiles as C++.  Rules that hold for everything here:
 *   - Objects (tt_service, tt_node, tt_slice) begin with `size`, are always handed out by
 *     pointer, and grow only at their end: a member may be read when TT_HAS(object, member).  Leaf
 *     structs (tt_kv, tt_port, …) never change; what comes later comes as a new array beside the
 *     old one.
 *   - Everything is borrowed and immutable for the length of the call.
 *   - Text is UTF-8 with a terminating NUL and never holds another one.  A NULL text means
 *     "absent".
 *   - Times are microseconds since 1970-01-01 UTC; 0 means absent.
 * Source of the members: Kubernetes API 1.36, core/v1 and discovery.k8s.io/v1. */
#ifndef TRIMTAB_TYPES_H
#define TRIMTAB_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* True when `ptr` (an object with a `size` member) is new enough to have `member`. */
#define TT_HAS(ptr, member)                                                                        \
    ((ptr)->size >=                                                                                \
     (size_t)((const char *)(&(ptr)->member) - (const char *)(ptr)) + sizeof((ptr)->member))

/* Result codes: what the controller can act on. */
#define TT_OK 0
/* the Service asks for something impossible: event, no fast retry */
#define TT_INVALID               1
#define TT_IMPLEMENTED_ELSEWHERE 2 /* another controller serves it: quiet, nothing is touched */
#define TT_NOT_FOUND             3
#define TT_CONFLICT              4 /* another writer wrote in between: observed and planned again */
#define TT_IN_USE                5
#define TT_FORBIDDEN             6
#define TT_QUOTA                 7
#define TT_THROTTLED             8 /* with retry_after_ms when the cloud said when */
#define TT_IN_PROGRESS           9 /* started; asked again after retry_after_ms */
#define TT_AUTH                  10
#define TT_TRANSIENT             11
#define TT_CANCELLED             12
#define TT_BUG                   13
#define TT_EXISTS                14

/* Key and value of a label or annotation; arrays of them are sorted by key. */
struct tt_kv {
    const char *key;
    const char *value;
};

/* spec.ports[] of a Service. */
struct tt_port {
    const char *name;         /* "" when there is one port without name */
    const char *protocol;     /* "TCP", "UDP", "SCTP" */
    const char *app_protocol; /* NULL when absent */
    const char *target_name;  /* targetPort when it is a name, else NULL */
    int32_t target_port;      /* targetPort when it is a number, else 0 */
    int32_t port;             /* 1…65535 */
    int32_t node_port;        /* 0 when none was allocated */
    int32_t reserved_;
};

/* status.loadBalancer.ingress[].ports[] */
struct tt_port_status {
    const char *protocol;
    const char *error; /* NULL when absent */
    int32_t port;
    int32_t reserved_;
};

/* status.loadBalancer.ingress[]: either ip or hostname (rarely both). */
struct tt_ingress {
    const char *ip; /* NULL when absent */
    const char *hostname;
    const char *ip_mode; /* "VIP", "Proxy" or NULL; only with ip */
    const struct tt_port_status *ports;
    uint32_t n_ports;
    uint32_t reserved_;
};

/* status.conditions[] (metav1.Condition). */
struct tt_condition {
    const char *type;
    const char *status; /* "True", "False", "Unknown" */
    const char *reason;
    const char *message;
    int64_t last_transition_us;
    int64_t observed_generation;
};

/* Bits of tt_service.flags. */
/* Since 1.5.  Something of it cannot be read: it is as it was when it was last read whole, or
 * absent.  It counts as another user of all that Services share; it is handed over
 * for deletion alone. */
#define TT_SERVICE_UNREADABLE 0x1u

/* A Service as the API server serves it. */
struct tt_service {
    size_t size;
    /* identity */
    const char *ns; /* namespace */
    const char *name;
    const char *uid;
    const char *resource_version; /* opaque */
    int64_t generation;
    int64_t created_us;
    int64_t deleted_us; /* deletionTimestamp; 0 = not being deleted */
    /* metadata */
    const struct tt_kv *labels;
    const struct tt_kv *annotations;
    const char *const *finalizers;
    uint32_t n_labels;
    uint32_t n_annotations;
    uint32_t n_finalizers;
    uint32_t has_annotations; /* 1: the map is present, perhaps empty */
    /* spec */
    const char *type;     /* "LoadBalancer" … ; "" when absent */
    const char *lb_class; /* loadBalancerClass; NULL when absent */
    const struct tt_port *ports;
    const char *session_affinity; /* "None", "ClientIP" or "" */
    int32_t affinity_timeout_s; /* sessionAffinityConfig.clientIP.timeoutSeconds; -1 = no config */
    int32_t health_check_node_port;   /* 0 = none */
    const char *lb_ip;                /* loadBalancerIP; "" when absent */
    const char *const *source_ranges; /* loadBalancerSourceRanges, as written */
    const char *const *external_ips;
    const char *external_traffic_policy; /* "Cluster", "Local" or "" */
    const char *internal_traffic_policy; /* or "" */
    const char *const *ip_families;      /* "IPv4", "IPv6" */
    const char *ip_family_policy;        /* or "" */
    const char *const *cluster_ips;
    const char *traffic_distribution; /* or NULL */
    const char *external_name;        /* or NULL */
    const struct tt_kv *selector;
    uint32_t n_ports;
    uint32_t n_source_ranges;
    uint32_t has_source_ranges; /* 1: the list is present, perhaps empty */
    uint32_t n_external_ips;
    uint32_t n_ip_families;
    uint32_t n_cluster_ips;
    uint32_t n_selector;
    uint32_t allocate_node_ports; /* allocateLoadBalancerNodePorts; 1 unless false */
    uint32_t publish_not_ready;   /* publishNotReadyAddresses */
    /* status */
    uint32_t n_ingress;
    uint32_t n_conditions;
    uint32_t flags; /* TT_SERVICE_…; since 1.5 (0 before) */
    const struct tt_ingress *ingress;
    const struct tt_condition *conditions;
};

/* Bits of tt_node.flags. */
#define TT_NODE_ELIGIBLE 0x1u  /* takes part: none of the three that follow */
#define TT_NODE_DELETING 0x2u  /* has a deletionTimestamp */
#define TT_NODE_EXCLUDED 0x4u  /* label node.kubernetes.io/exclude-from-external-load-balancers */
#define TT_NODE_TAINTED  0x8u  /* taint ToBeDeletedByClusterAutoscaler */
#define TT_NODE_READY    0x10u /* condition Ready is True; does not count for eligibility */
/* Since 1.5.  Something of it cannot be read: that is as it was when the Node was last
 * read whole, or absent. */
#define TT_NODE_UNREADABLE 0x20u

struct tt_node_address {
    const char *type; /* "InternalIP", "ExternalIP", "Hostname", … */
    const char *address;
};
struct tt_taint {
    const char *key;
    const char *value; /* "" when absent */
    const char *effect;
};

/* A Node. */
struct tt_node {
    size_t size;
    const char *name;
    const char *uid;
    const char *resource_version;
    int64_t created_us;
    int64_t deleted_us;
    const struct tt_kv *labels;
    const struct tt_kv *annotations;
    const char *provider_id; /* "" until the node controller has set it */
    const struct tt_taint *taints;
    const struct tt_node_address *addresses;
    const char *const *pod_cidrs;
    const struct tt_condition *conditions; /* reason and message are NULL here */
    uint32_t n_labels;
    uint32_t n_annotations;
    uint32_t n_taints;
    uint32_t n_addresses;
    uint32_t n_pod_cidrs;
    uint32_t n_conditions;
    uint32_t flags; /* TT_NODE_… */
    uint32_t unschedulable;
    const char *operating_system; /* status.nodeInfo, or "" */
    const char *architecture;
    const char *kubelet_version;
    const char *system_uuid;
    const char *machine_id;
};

/* endpoints[] of an EndpointSlice. */
#define TT_ENDPOINT_READY       0x1u /* absent counts as true */
#define TT_ENDPOINT_SERVING     0x2u /* absent counts as true */
#define TT_ENDPOINT_TERMINATING 0x4u
struct tt_endpoint {
    const char *address;     /* the first one */
    const char *node_name;   /* or NULL */
    const char *zone;        /* or NULL */
    const char *target_kind; /* targetRef, or NULL */
    const char *target_ns;
    const char *target_name;
    const char *target_uid;
    uint32_t flags;
    uint32_t reserved_;
};
struct tt_endpoint_port {
    const char *name; /* "" when absent */
    const char *protocol;
    const char *app_protocol; /* or NULL */
    int32_t port;             /* -1: null, all ports */
    int32_t reserved_;
};

/* An EndpointSlice. */
struct tt_slice {
    size_t size;
    const char *ns;
    const char *name;
    const char *uid;
    const char *service;      /* label kubernetes.io/service-name */
    const char *address_type; /* "IPv4", "IPv6", "FQDN" */
    const struct tt_endpoint *endpoints;
    const struct tt_endpoint_port *ports;
    uint32_t n_endpoints;
    uint32_t n_ports;
};

/* ---- what a descriptor lists (provider.h) ---------------------------------------------------- */
#define TT_OPTION_STRING   1u
#define TT_OPTION_BOOL     2u
#define TT_OPTION_INT      3u
#define TT_OPTION_DURATION 4u /* Go syntax; handed over in milliseconds, as decimal text */
#define TT_OPTION_LIST     5u /* comma separated */
/* A command-line flag that the provider adds. */
struct tt_option {
    const char *name;         /* "enable-rbs-default-l4-netlb" */
    uint32_t type;            /* TT_OPTION_… */
    uint32_t secret;          /* 1: the host masks its value everywhere */
    const char *default_text; /* as it would be written */
    const char *help;
};
#define TT_METRIC_COUNTER   1u
#define TT_METRIC_GAUGE     2u
#define TT_METRIC_HISTOGRAM 3u
struct tt_metric {
    const char *name;
    const char *help;
    const char *const *labels;
    const double *buckets; /* histograms */
    uint32_t type;
    uint32_t n_labels;
    uint32_t n_buckets;
    uint32_t reserved_;
};
/* A kind of Kubernetes objects that the provider uses; RBAC is generated from it. */
struct tt_kube_kind {
    const char *api_version;
    const char *resource;
    const char *ns;    /* NULL: all namespaces */
    const char *name;  /* NULL: any */
    const char *verbs; /* "get,list,watch,create" */
};
struct tt_lease {
    const char *ns;
    const char *name;
};

#ifdef __cplusplus
}
#endif

#endif
