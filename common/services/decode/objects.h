/* SPDX-License-Identifier: Apache-2.0 */
/* objects.h: Services, EndpointSlices, Pods, Nodes and Endpoints as the library of common/services
 * reads them.
 *
 * The plugin ABI's tt_slice holds one address of an endpoint and reads absent conditions as true;
 * the rules of the EndpointSlice controller and of kube-proxy tell absent, false and several
 * addresses apart.  So this library decodes for itself, from the JSON that the API server serves or
 * a manifest holds.  Members that no rule asks for are left out.
 *
 * Every text and list lives in the arena that was given to the decoder (or in the tree, which must
 * then outlive it:  nothing here borrows from the tree).  Texts are never NULL unless the member
 * says so; lists are NULL when they are empty.  Immutable once decoded.  Pure; blocks on nothing.
 * Source: core/v1, discovery.k8s.io/v1 (Kubernetes 1.36). */
#ifndef TRIMTAB_SERVICES_DECODE_OBJECTS_H
#define TRIMTAB_SERVICES_DECODE_OBJECTS_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/base/ip.h"
#include "common/data/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A boolean that may be absent, as the conditions of an endpoint are. */
enum ks_tri {
    KS_NIL = 0,
    KS_FALSE,
    KS_TRUE,
};

enum ks_family {
    KS_IPV4 = 4,
    KS_IPV6 = 6,
};

struct ks_meta {
    const char *ns;                    /* "" when absent */
    const char *name;                  /* "" when absent */
    const char *generate_name;         /* "" when absent */
    const char *uid;                   /* "" when absent */
    const char *resource_version;      /* "" when absent */
    const char *deletion_timestamp;    /* RFC 3339; NULL when absent */
    const struct json_kv *labels;      /* sorted by key */
    const struct json_kv *annotations; /* sorted by key */
    const struct ks_owner *owners;
    size_t n_labels;
    size_t n_annotations;
    size_t n_owners;
    bool has_labels;      /* the map is present, perhaps empty */
    bool has_annotations; /* the map is present, perhaps empty */
};
/* metadata.ownerReferences[]. */
struct ks_owner {
    const char *api_version;
    const char *kind;
    const char *name;
    const char *uid;
    bool controller;
    bool block_owner_deletion;
};

/* spec.ports[] of a Service. */
struct ks_service_port {
    const char *name;     /* "" for an unnamed port */
    const char *protocol; /* "TCP", "UDP", "SCTP"; TCP when absent, as the API server fills it in */
    const char *app_protocol; /* NULL when absent */
    const char *target_name;  /* targetPort when it is a name; NULL else */
    int32_t port;             /* 0 when absent */
    /* targetPort when it is a number, `port` when it is absent; 0 for a name */
    int32_t target_port;
    int32_t node_port; /* 0: none */
};
/* status.loadBalancer.ingress[]. */
struct ks_ingress {
    const char *ip;       /* "" when absent */
    const char *hostname; /* "" when absent */
    const char *ip_mode;  /* "VIP", "Proxy"; "" when absent, which means VIP */
};
struct ks_service {
    struct ks_meta meta;
    const char *type;       /* "ClusterIP" when absent */
    const char *cluster_ip; /* "" when absent; may be "None" */
    const char **cluster_ips;
    const char **ip_families;       /* "IPv4", "IPv6" */
    const struct json_kv *selector; /* sorted by key */
    const struct ks_service_port *ports;
    const char **external_ips;
    const char **source_ranges; /* spec.loadBalancerSourceRanges, as written */
    const struct ks_ingress *ingress;
    const char *session_affinity; /* "None" when absent */
    const char *external_policy;  /* spec.externalTrafficPolicy; "" when absent */
    const char *internal_policy;  /* spec.internalTrafficPolicy; "" when absent */
    const char *distribution;     /* spec.trafficDistribution; NULL when absent */
    size_t n_cluster_ips;
    size_t n_ip_families;
    size_t n_selector;
    size_t n_ports;
    size_t n_external_ips;
    size_t n_source_ranges;
    size_t n_ingress;
    int32_t affinity_s; /* sessionAffinityConfig.clientIP.timeoutSeconds; 0 when absent */
    int32_t health_check_node_port; /* 0 when absent */
    bool has_selector;      /* present, perhaps empty ({} selects all; absent selects none) */
    bool publish_not_ready; /* spec.publishNotReadyAddresses */
};

/* A reference to an object: endpoints[].targetRef. */
struct ks_ref {
    const char *kind;
    const char *ns;
    const char *name;
    const char *uid;
    const char *resource_version;
};
/* endpoints[] of an EndpointSlice. */
struct ks_slice_endpoint {
    const char **addresses; /* as written */
    size_t n_addresses;
    enum ks_tri ready;
    enum ks_tri serving;
    enum ks_tri terminating;
    const char *hostname;     /* NULL when absent */
    const char *node_name;    /* NULL when absent */
    const char *zone;         /* NULL when absent */
    const struct ks_ref *ref; /* NULL when absent */
    const char **zone_hints;  /* hints.forZones[].name */
    const char **node_hints;  /* hints.forNodes[].name */
    size_t n_zone_hints;
    size_t n_node_hints;
    bool has_hints; /* the member hints is present, perhaps empty */
};
/* ports[] of an EndpointSlice. */
struct ks_slice_port {
    const char *name;         /* NULL when absent; "" is a name */
    const char *protocol;     /* NULL when absent */
    const char *app_protocol; /* NULL when absent */
    int32_t port;
    bool has_port; /* absent means all ports */
};
struct ks_slice {
    struct ks_meta meta;
    const char *address_type; /* "IPv4", "IPv6", "FQDN"; "" when absent */
    const struct ks_slice_endpoint *endpoints;
    const struct ks_slice_port *ports;
    size_t n_endpoints;
    size_t n_ports;
    bool has_ports; /* the list is present, perhaps empty */
};

/* spec.containers[].ports[] of a Pod, with the containers' order kept: all ports of containers
 * first, then those of init containers with restartPolicy Always.  Others are left out. */
struct ks_container_port {
    const char *name;     /* "" for an unnamed one */
    const char *protocol; /* "TCP" when absent */
    int32_t port;
};
struct ks_pod {
    struct ks_meta meta;
    const char *phase;     /* status.phase; "" when absent */
    const char *pod_ip;    /* status.podIP; "" when absent */
    const char **pod_ips;  /* status.podIPs[].ip; empty ones are kept */
    const char *node_name; /* spec.nodeName; "" when absent */
    const char *hostname;  /* spec.hostname; "" when absent */
    const char *subdomain; /* spec.subdomain; "" when absent */
    const struct ks_container_port *ports;
    size_t n_pod_ips;
    size_t n_ports;
    bool ready;        /* the condition Ready is True */
    bool host_network; /* spec.hostNetwork */
};

struct ks_node {
    struct ks_meta meta;
    const char *zone; /* label topology.kubernetes.io/zone; "" when absent */
    const char *cpu;  /* status.allocatable.cpu, a quantity; "" when absent */
    /* status.addresses[] of type InternalIP and ExternalIP, in order, as written */
    const char **addresses;
    const char **pod_cidrs; /* spec.podCIDRs */
    size_t n_addresses;
    size_t n_pod_cidrs;
    bool ready; /* the first condition Ready is True */
    /* has the label node-role.kubernetes.io/control-plane or …/master, any value */
    bool control_plane;
    bool to_be_deleted; /* has a taint with the key ToBeDeletedByClusterAutoscaler */
};

/* Each reads one object of its kind from `o`.  ERR_INVALID, with the path below `where` ("" for
 * none), when a member that a rule asks for is of another type, a number out of its range, or a
 * list longer than its cap (endpoints of a slice:  20,000; everything else: 10,000).  Unknown
 * members are skipped, nothing is required, and *ret is set only on success. */
int ks_service_decode(struct arena *a, struct json_object *o, const char *where,
                      const struct ks_service **ret, struct err *err) _warn_unused_;
int ks_slice_decode(struct arena *a, struct json_object *o, const char *where,
                    const struct ks_slice **ret, struct err *err) _warn_unused_;
int ks_pod_decode(struct arena *a, struct json_object *o, const char *where,
                  const struct ks_pod **ret, struct err *err) _warn_unused_;
int ks_node_decode(struct arena *a, struct json_object *o, const char *where,
                   const struct ks_node **ret, struct err *err) _warn_unused_;

/* The value of a label or an annotation; NULL when the map does not have the key. */
const char *ks_kv(const struct json_kv *kvs, size_t n, const char *key);

#endif
