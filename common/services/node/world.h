/* SPDX-License-Identifier: Apache-2.0 */
/* world.h: a cluster as kube-proxy on one node sees it, in one address family.
 *
 *     objects (decode/objects.h) ──▶ service ports ──▶ their endpoints ──▶ its lists ──▶ plan.h
 *
 * ks_world_make() does all of it once.  Renderers (render/), the tracer (trace/) and explanations
 * read what stands here and in plan.h, so that they cannot disagree.  Immutable once made, all in
 * the arena, but for texts, references and Services, which it borrows from the objects: these must
 * live as long.  Pure; blocks on nothing.
 * Source: kube-proxy 1.36, pkg/proxy (serviceport.go, endpointslicecache.go, topology.go). */
#ifndef TRIMTAB_SERVICES_NODE_WORLD_H
#define TRIMTAB_SERVICES_NODE_WORLD_H

#include "common/services/decode/objects.h"

/* How kube-proxy tells traffic of pods on its node from other traffic (detectLocalMode). */
enum ks_detect {
    KS_DETECT_NONE = 0, /* it does not */
    KS_DETECT_CIDR, /* ClusterCIDR, and NodeCIDR: the source is in `value`, a CIDR of the family */
    KS_DETECT_BRIDGE, /* BridgeInterface: came in by the interface `value` */
    /* InterfaceNamePrefix: came in by an interface whose name begins with `value` */
    KS_DETECT_PREFIX,
};

/* kube-proxy's configuration and the node it runs on.  Texts are "" or NULL where the
 * comment says so. */
struct ks_node_config {
    const char *name;       /* the node's name */
    const char *zone;       /* label topology.kubernetes.io/zone; "" for none */
    const char *ip;         /* the node's address of the family; "" when not known */
    const char **addresses; /* all addresses of its devices but loopback, of both families */
    size_t n_addresses;
    enum ks_family family;
    enum ks_detect detect;
    const char *detect_value;         /* NULL for KS_DETECT_NONE */
    const char **node_port_addresses; /* --nodeport-addresses: CIDRs, or the one word "primary" */
    size_t n_node_port_addresses;
    const char **service_cidrs; /* nftables: CIDRs of ServiceCIDR objects, both families */
    size_t n_service_cidrs;
    const char *scheduler;   /* IPVS; "" means rr */
    unsigned masquerade_bit; /* 0…31 */
    bool masquerade_all;
    bool random_fully;         /* iptables: the kernel knows --random-fully */
    bool localhost_node_ports; /* iptables; ignored for IPv6 */
    bool nfacct;               /* iptables: both counters exist */
    bool tcp_be_liberal;       /* nf_conntrack_tcp_be_liberal is set */
};

/* One endpoint of a service port, as kube-proxy takes it from slices (spec: canonical
 * address, sets of hints). */
struct ks_endpoint {
    struct ip_addr ip;
    int32_t port;
    const char *text; /* "ip:port", "[ip]:port": the sort key, and what rules are named by */
    bool local;       /* on this node */
    bool ready;       /* absent counts as true */
    bool serving;     /* absent counts as true */
    bool terminating;
    const char **zone_hints; /* sorted, each once */
    const char **node_hints; /* sorted, each once */
    size_t n_zone_hints;
    size_t n_node_hints;
    const char *node_name;    /* "" when absent */
    const char *zone;         /* of the endpoint; "" when absent */
    const struct ks_ref *ref; /* NULL when absent */
};

/* Some endpoints of a service port, in its order. */
struct ks_list {
    const struct ks_endpoint *const *items;
    size_t n;
};

/* The hints that a node obeys for a service port. */
enum ks_topology {
    KS_TOPOLOGY_NONE = 0,
    KS_TOPOLOGY_ZONE, /* PreferSameZone */
    KS_TOPOLOGY_NODE, /* PreferSameNode */
};

/* One item of spec.ports of a Service that exists in this family. */
struct ks_port {
    const struct ks_service *service;
    const char *ns;
    const char *name;      /* of the Service */
    const char *port_name; /* "" for an unnamed one */
    const char *protocol;  /* "TCP", "UDP", "SCTP" */
    const char *proto;     /* the same in lower case */
    const char *display;   /* "ns/name" or "ns/name:port" */
    struct ip_addr cluster_ip;
    int32_t port;
    int32_t node_port;              /* 0: none */
    int32_t affinity_s;             /* 0: no session affinity */
    int32_t health_check_node_port; /* 0: none */
    const struct ip_addr *external_ips;
    const struct ip_addr *lb_vips;
    const struct ip_net *source_ranges; /* none: all may come */
    size_t n_external_ips;
    size_t n_lb_vips;
    size_t n_source_ranges;
    bool external_local;
    bool internal_local;
    bool externally_accessible;
    bool uses_cluster;
    bool uses_local;

    /* all endpoints, sorted by text */
    struct ks_endpoint *endpoints;
    size_t n_endpoints;
    /* the lists that this node uses; meaningless where uses_cluster, uses_local is false */
    enum ks_topology topology;
    struct ks_list cluster;
    struct ks_list local;
    struct ks_list reachable;
    bool has_any;
    bool cluster_fell_back; /* the cluster list holds terminating endpoints, since none is ready */
    bool local_fell_back;   /* the same of the local list */
};

/* Health of a Service with a health check node port, on this node. */
struct ks_service_health {
    const char *ns;
    const char *name;
    int32_t port;       /* 0: the Service has none */
    size_t local_ready; /* distinct addresses of ready local endpoints over all ports */
};

struct ks_world_service;
struct ks_world {
    struct ks_node_config config;
    const struct ks_port *ports; /* sorted by namespace, name, port name, protocol, as bytes */
    size_t n_ports;
    /* one per Service that has endpoints here, or a port; by namespace, name */
    const struct ks_service_health *healths;
    size_t n_healths;
    const struct ks_world_service *services; /* that have a port here (endpoints.h) */
    size_t n_services;
    /* over all service ports, ready or not: what the large cluster mode counts */
    size_t n_endpoints_all;
    /* endpoints that are missing, because the cluster has more than KS_ENDPOINTS_MAX */
    size_t n_left_out;
};

/* Endpoints of a world, each counted for every port that it is behind; about 1 GB.
 * Further ports have none. */
#define KS_ENDPOINTS_MAX 4000000u

/* Makes the world of one node from objects in any order.  Slices of other families, of unknown
 * Services, without names and FQDN ones are left out.  An endpoint that appears twice is taken by
 * the rule for duplicates; last in order of slice name, then position, where upstream leaves it
 * open.  Never fails. */
const struct ks_world *ks_world_make(struct arena *a, const struct ks_node_config *config,
                                     const struct ks_service *const *services, size_t n_services,
                                     const struct ks_slice *const *slices, size_t n_slices);

/* True when packets from outside the cluster, and from other pods, find an endpoint behind a
 * destination that is not the cluster IP. */
bool ks_has_external(const struct ks_port *p);
/* True when a cluster IP finds an endpoint. */
bool ks_has_internal(const struct ks_port *p);
/* True when a source range of the port contains the node's own address. */
bool ks_node_in_ranges(const struct ks_node_config *config, const struct ks_port *p);

/* How kube-proxy is configured when nothing else is known: bit 14, localhost node ports
 * on, random fully, rr. */
struct ks_node_config ks_node_config_default(enum ks_family family);
/* True when every address of the node takes node ports (no CIDR of this family is given, or one of
 * length 0).  An empty list means so in all modes; that nftables mode has "primary" in place of an
 * empty list is for the caller, who reads the configuration. */
bool ks_node_ports_everywhere(const struct ks_node_config *config);
/* True when node ports are open on loopback addresses (iptables mode): asked for, IPv4, and within
 * --nodeport-addresses. */
bool ks_localhost_node_ports(const struct ks_node_config *config);
/* The node's addresses of the family that take node ports, sorted as text; loopback is
 * not among them. */
const struct ip_addr *ks_node_port_addresses(struct arena *a, const struct ks_node_config *config,
                                             size_t *ret_n);

#endif
