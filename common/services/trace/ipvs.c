/* SPDX-License-Identifier: Apache-2.0 */
/* ipvs.c: a packet to the virtual servers of IPVS mode; see trace.h.
 *
 * One choice for all sources: there is no short circuit for pods and for the node.  A virtual
 * server with policy Local but without a local endpoint has the whole cluster's; one without any
 * lets the kernel refuse.  Addresses of Services are addresses of the node (kube-ipvs0), and their
 * other ports are refused. */
#include "common/services/trace/walk.h"

/* Addresses that kube-ipvs0 holds: all of Services that no other device has. */
static bool is_bound(const struct ks_walk *w, const struct ip_addr *ip)
{
    size_t n;
    return ks_plan_find(w->plan, ip, 0, NULL, &n) != NULL;
}

/* Does the chain KUBE-SOURCE-RANGES-FIREWALL (or KUBE-IPVS-OUT-FILTER, for the node's own packets)
 * drop the packet? */
static bool firewall_drops(struct ks_walk *w, const struct ks_dest *d, bool from_node)
{
    const struct ks_port *p = d->port;
    if (d->kind != KS_DEST_LB_VIP || p->n_source_ranges == 0) {
        return false;
    }
    bool by_itself = from_node && ip_eq(&w->packet->source, &d->address);
    bool drops =
        from_node ? by_itself && !ks_node_in_ranges(w->config, p) : !ks_walk_in_ranges(w, d);
    if (drops) {
        ks_walk_step(w, from_node ? "KUBE-IPVS-OUT-FILTER" : "KUBE-SOURCE-RANGES-FIREWALL");
        ks_walk_end(w, KS_DROP, KS_R_SOURCE_RANGES, d);
    }
    return drops;
}

/* Without masquerade-all and detector, packets are masqueraded whose source is a cluster IP that
 * has a port of this number:  the node's own, which take the address that they go to. */
static bool comes_from_cluster_ip(const struct ks_walk *w)
{
    size_t n;
    const struct ks_dest *d =
        ks_plan_find(w->plan, &w->packet->source, w->packet->port, w->packet->protocol, &n);
    return !w->config->masquerade_all && w->config->detect == KS_DETECT_NONE && n > 0 &&
           d->kind == KS_DEST_CLUSTER_IP;
}

/* Walks nat and returns whether the packet is marked. */
static bool is_marked(struct ks_walk *w, const struct ks_dest *d)
{
    static const char *const sets[] = {
        [KS_DEST_CLUSTER_IP] = "KUBE-CLUSTER-IP",
        [KS_DEST_EXTERNAL_IP] = "KUBE-EXTERNAL-IP",
        [KS_DEST_LB_VIP] = "KUBE-LOAD-BALANCER",
        [KS_DEST_NODE_PORT] = "KUBE-NODE-PORT",
    };
    bool is_local = d->kind != KS_DEST_CLUSTER_IP && d->port->external_local;
    bool marked = comes_from_cluster_ip(w) ||
                  (d->kind == KS_DEST_CLUSTER_IP ? ks_walk_marks_internal(w) : !is_local);
    if (ks_is_loopback(&w->packet->source)) {
        return false;
    }
    ks_walk_step(w, is_local && d->kind == KS_DEST_EXTERNAL_IP ? "KUBE-EXTERNAL-IP-LOCAL"
                                                               : sets[d->kind]);
    if (is_local && d->kind == KS_DEST_LB_VIP) {
        ks_walk_step(w, "KUBE-LOAD-BALANCER-LOCAL");
    }
    if (marked) {
        ks_walk_step(w, "KUBE-MARK-MASQ");
    }
    return marked;
}

/* Is the source an endpoint of this node?  Its pods are known so far without a detector, too. */
static bool comes_from_local_endpoint(const struct ks_walk *w)
{
    const struct ks_world *world = w->plan->world;
    for (size_t i = 0; i < world->n_ports; i++) {
        const struct ks_port *p = &world->ports[i];
        for (size_t e = 0; e < p->n_endpoints; e++) {
            if (p->endpoints[e].local && ip_eq(&p->endpoints[e].ip, &w->packet->source)) {
                return true;
            }
        }
    }
    return false;
}

/* The real servers of a virtual one.  The answer of a remote pod finds its way back through this
 * node only when the sender is on it, or the packet was masqueraded. */
static void to_real_servers(struct ks_walk *w, const struct ks_dest *d, bool from_node)
{
    const struct ks_port *p = d->port;
    bool only_local = d->kind == KS_DEST_CLUSTER_IP ? p->internal_local : p->external_local;
    bool use_local = only_local && p->local.n > 0;
    struct ks_list list = use_local ? p->local : p->cluster;
    bool marked = is_marked(w, d);
    ks_walk_step(w, "ip_vs");
    if (list.n == 0) {
        ks_walk_end(w, KS_REJECT, p->has_any ? KS_R_NO_LOCAL_ENDPOINTS : KS_R_NO_ENDPOINTS, d);
        return;
    }
    bool stands_in = only_local && !use_local;
    ks_walk_to(w, d,
               stands_in   ? KS_R_IPVS_NO_LOCAL
               : use_local ? KS_R_LOCAL_LIST
                           : KS_R_CLUSTER_LIST,
               list, marked);
    w->trace.loses_answer =
        stands_in && !marked && !from_node && !w->from_pod && !comes_from_local_endpoint(w);
}

void ks_walk_ipvs(struct ks_walk *w)
{
    const struct ks_packet *p = w->packet;
    bool from_node = w->from_node || is_bound(w, &p->source);
    size_t n, n_node;
    const struct ks_dest *dests = ks_plan_find(w->plan, &p->dest, p->port, p->protocol, &n);
    if (n > 0) {
        for (size_t i = 0; i < n; i++) {
            if (firewall_drops(w, &dests[i], from_node)) {
                return;
            }
        }
        to_real_servers(w, &dests[0], from_node);
        return;
    }
    const struct ks_dest *node = ks_plan_find(w->plan, NULL, p->port, p->protocol, &n_node);
    n_node = w->to_node ? n_node : 0;
    for (size_t i = 0; i < n_node; i++) {
        if (node[i].kind == KS_DEST_HEALTH_CHECK_PORT) {
            ks_walk_step(w, "KUBE-HEALTH-CHECK-NODE-PORT");
            ks_walk_end(w, KS_ACCEPT, KS_R_HEALTH_CHECK, &node[i]);
            return;
        }
        if (w->takes_node_ports) {
            to_real_servers(w, &node[i], from_node);
            return;
        }
    }
    ks_walk_end_unmet(w);
    if (w->trace.reason == KS_R_WRONG_PORT && !w->to_node) {
        ks_walk_step(w, "KUBE-IPVS-FILTER");
        w->trace.verdict = KS_REJECT;
    }
}
