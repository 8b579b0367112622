/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h: the node's plan: for each destination, what happens to a new connection.
 *
 * The one description of kube-proxy's decision that the tracer walks and that explanations print;
 * the renderers write the same ports and lists in the words of iptables, IPVS and nftables, and
 * tests hold their text against it.  Pure.
 * Source: kube-proxy 1.36; the table of decisions in docs/services.md. */
#ifndef TRIMTAB_SERVICES_NODE_PLAN_H
#define TRIMTAB_SERVICES_NODE_PLAN_H

#include "common/services/node/world.h"

enum ks_mode {
    KS_IPTABLES = 0,
    KS_IPVS,
    KS_NFTABLES,
};

enum ks_dest_kind {
    KS_DEST_CLUSTER_IP = 0,
    KS_DEST_EXTERNAL_IP,
    KS_DEST_LB_VIP,
    KS_DEST_NODE_PORT,         /* address: any of the node's that takes node ports */
    KS_DEST_HEALTH_CHECK_PORT, /* kube-proxy answers itself */
};

/* A destination of a service port: an address (none for node ports) and a port. */
struct ks_dest {
    enum ks_dest_kind kind;
    const struct ks_port *port;
    struct ip_addr address; /* len 0: the node's */
    int32_t number;         /* port number, or node port */
};

struct ks_plan {
    const struct ks_world *world;
    /* sorted by address, number, protocol, kind: looked up by bisection */
    const struct ks_dest *dests;
    size_t n_dests;
    /* addresses of load balancers that the node leaves to the balancer (ipMode Proxy), as
     * KS_DEST_LB_VIP; sorted in the same way, and not among `dests` */
    const struct ks_dest *passed;
    size_t n_passed;
};

/* Every destination of every port of the world.  A health check node port stands once for each
 * Service.  Lives in `a`, borrows the world. */
const struct ks_plan *ks_plan_make(struct arena *a, const struct ks_world *world);

/* The protocol of a destination: the port's, and TCP for a health check node port. */
const char *ks_dest_protocol(const struct ks_dest *d);
/* The destinations with this address (NULL: the node's), number and protocol; with `protocol` NULL
 * all of the address, whatever the number.  Borrowed from the plan; *ret_n is 0 when
 * there is none. */
const struct ks_dest *ks_plan_find(const struct ks_plan *plan, const struct ip_addr *address,
                                   int32_t number, const char *protocol, size_t *ret_n);
/* The same among those that the node leaves to the balancer. */
const struct ks_dest *ks_plan_find_passed(const struct ks_plan *plan, const struct ip_addr *address,
                                          int32_t number, const char *protocol, size_t *ret_n);

#endif
