/* SPDX-License-Identifier: Apache-2.0 */
/* cluster.h: the objects of a whole cluster, and how its kube-proxies are configured.
 *
 * Where they come from (an API server, a dump, manifests) is the caller's affair; from here on it
 * is one set of objects from which every node's view is made (node/world.h).  Immutable once
 * filled, all in the arena.  Pure.
 * Source: kube-proxy 1.36, pkg/proxy/apis/config/v1alpha1; the ConfigMap that kubeadm writes. */
#ifndef TRIMTAB_SERVICES_TELL_CLUSTER_H
#define TRIMTAB_SERVICES_TELL_CLUSTER_H

#include "common/base/err.h"
#include "common/services/node/plan.h"

/* One address of a Service or a node. */
enum ks_place_kind {
    KS_PLACE_INGRESS = 0, /* status.loadBalancer.ingress[] */
    KS_PLACE_EXTERNAL_IP,
    KS_PLACE_CLUSTER_IP,
};
struct ks_place {
    struct ip_addr ip;
    bool of_node;            /* else of a Service */
    enum ks_place_kind kind; /* of a Service's */
    size_t owner;            /* index in the cluster's `services`, or `nodes` */
    size_t index;            /* in the owner's list */
};

struct ks_cluster {
    struct ks_service const **services; /* sorted by namespace, name */
    struct ks_slice const **slices; /* sorted by namespace, Service, name; none without a Service */
    struct ks_node const **nodes;   /* sorted by name */
    struct ks_pod const **pods; /* sorted by namespace, name; read only where they were at hand */
    const char **service_cidrs; /* of ServiceCIDR objects */
    const struct ks_place *places; /* all addresses that can be read; sorted by address */
    size_t n_services;
    size_t n_slices;
    size_t n_nodes;
    size_t n_pods;
    size_t n_service_cidrs;
    size_t n_places;
};

/* kube-proxy's configuration, the same on every node.  Texts are "" when absent. */
struct ks_proxy {
    const char *source;    /* "ConfigMap kube-system/kube-proxy"; "": nothing was found, defaults */
    const char *mode_text; /* as written; "" means iptables */
    const char *detect_mode; /* detectLocalMode, as written */
    const char *bridge;      /* detectLocal.bridgeInterface */
    const char *prefix;      /* detectLocal.interfaceNamePrefix */
    const char *scheduler;   /* ipvs.scheduler */
    const char **cluster_cidrs;
    const char **node_port_addresses;
    size_t n_cluster_cidrs;
    size_t n_node_port_addresses;
    enum ks_mode mode;
    unsigned masquerade_bit;     /* iptables and IPVS */
    unsigned nft_masquerade_bit; /* nftables */
    bool masquerade_all;
    bool nft_masquerade_all;
    bool localhost_node_ports;
};

/* "iptables", "ipvs", "nftables". */
const char *ks_mode_name(enum ks_mode mode);
/* False when the word is none of them. */
bool ks_mode_parse(const char *word, enum ks_mode *ret);

/* True when the text can stand in a rule as it is, as every name of the API server can: printable
 * ASCII without blanks, quotes, backslashes and braces.  True of "". */
bool ks_is_rule_word(const char *text);

/* The defaults of §4.6: iptables, bit 14, localhost node ports, no detector. */
struct ks_proxy ks_proxy_default(void);
/* Reads the text of config.conf (YAML).  ERR_INVALID if it is not one, or a value is of another
 * type or not one that kube-proxy knows; *ret is set only on success. */
int ks_proxy_parse(struct arena *a, const char *text, size_t n, struct ks_proxy *ret,
                   struct err *err) _warn_unused_;
/* The text of the configuration in a ConfigMap; NULL when it holds none.  Borrowed
 * from the tree. */
const char *ks_proxy_text(struct json_object *config_map);
/* How kube-proxy on `node` is configured for one family in `mode`. */
struct ks_node_config ks_proxy_node(struct arena *a, const struct ks_proxy *proxy,
                                    const struct ks_cluster *cluster, const struct ks_node *node,
                                    enum ks_mode mode, enum ks_family family);

/* Sorts the lists and makes `places` of them; to be called again after each change of a list. */
void ks_cluster_sort(struct arena *a, struct ks_cluster *c);
const struct ks_service *ks_cluster_service(const struct ks_cluster *c, const char *ns,
                                            const char *name);
const struct ks_node *ks_cluster_node(const struct ks_cluster *c, const char *name);
const struct ks_pod *ks_cluster_pod(const struct ks_cluster *c, const char *ns, const char *name);
/* The slices of a Service: *ret_n items of c->slices.  O(log n). */
const struct ks_slice *const *ks_cluster_slices(const struct ks_cluster *c, const char *ns,
                                                const char *name, size_t *ret_n);
/* The Service that a slice belongs to: its label kubernetes.io/service-name; NULL when
 * absent or empty. */
const char *ks_slice_owner(const struct ks_slice *slice);
/* ---- places.c: who has an address; O(log n) -------------------------------------------------- */

/* A part of ks_cluster_sort(). */
void ks_cluster_find_places(struct arena *a, struct ks_cluster *c);
/* The Services at an address: *ret_n places, sorted by owner; NULL for none. */
const struct ks_place *ks_cluster_places(const struct ks_cluster *c, const struct ip_addr *ip,
                                         size_t *ret_n);
/* The same of one Service, by its index; sorted by kind. */
const struct ks_place *ks_cluster_places_of(const struct ks_cluster *c, const struct ip_addr *ip,
                                            size_t service, size_t *ret_n);
/* The first node that has the address; NULL for none. */
const struct ks_node *ks_cluster_node_at(const struct ks_cluster *c, const struct ip_addr *ip);

/* The family of an address. */
enum ks_family ks_family_of(const struct ip_addr *ip);
/* The first address of the node that is of the family; false for none. */
bool ks_node_address(const struct ks_node *node, enum ks_family family, struct ip_addr *ret);

#endif
