/* SPDX-License-Identifier: Apache-2.0 */
/* ipvs.h: what the parts of the IPVS renderer share.  Only for common/services/render. */
#ifndef TRIMTAB_SERVICES_RENDER_IPVS_H
#define TRIMTAB_SERVICES_RENDER_IPVS_H

#include "common/base/strset.h"
#include "common/services/render/build.h"

/* The ipsets, in the order of kube-proxy's documentation; their numbers in ipvs.sets. */
enum ipvs_set {
    SET_LOOP_BACK = 0,
    SET_CLUSTER_IP,
    SET_EXTERNAL_IP,
    SET_EXTERNAL_IP_LOCAL,
    SET_LOAD_BALANCER,
    SET_LOAD_BALANCER_LOCAL,
    SET_LOAD_BALANCER_FW,
    SET_LOAD_BALANCER_SOURCE_CIDR,
    SET_LOAD_BALANCER_SOURCE_IP,
    SET_NODE_PORT_TCP,
    SET_NODE_PORT_UDP,
    SET_NODE_PORT_LOCAL_TCP,
    SET_NODE_PORT_LOCAL_UDP,
    SET_NODE_PORT_SCTP,
    SET_NODE_PORT_LOCAL_SCTP,
    SET_HEALTH_CHECK_NODE_PORT,
    SET_IPVS_IPS,
    SET_MAX,
};

struct ipvs {
    struct arena *arena;
    const struct ks_world *world;
    struct ks_groups sets;
    struct ks_groups out_filter;          /* one group: the rules of KUBE-IPVS-OUT-FILTER */
    const struct ip_addr *node_addresses; /* that take node ports */
    size_t n_node_addresses;
    struct str_set own_addresses; /* of the node's devices, as text: never bound to kube-ipvs0 */
    struct ks_virtual_server *servers;
    size_t n_servers;
    size_t cap_servers;
};

/* Makes the 17 empty sets. */
void ipvs_sets_make(struct ipvs *v);
/* Adds the entries of one service port to the sets, and its rules to the out filter. */
void ipvs_sets_port(struct ipvs *v, const struct ks_port *p);
/* Adds an address of kube-ipvs0. */
void ipvs_bind(struct ipvs *v, const struct ip_addr *ip);
/* The sets, sorted; `used` are the rules' view of them.  After all ports. */
const struct ks_ipset *ipvs_sets_finish(struct ipvs *v);
const char *ipvs_set_comment(enum ipvs_set set); /* NULL: none */

/* The rules around the sets, tables nat and filter. */
struct ks_tables ipvs_rules(struct ipvs *v, const struct ks_ipset *sets);

#endif
