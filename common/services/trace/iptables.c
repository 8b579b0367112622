/* SPDX-License-Identifier: Apache-2.0 */
/* iptables.c: a packet through the chains of iptables mode; see trace.h.
 *
 * nat comes first.  Several destinations may match (an address that is both an external IP and a
 * load balancer's): one whose chain falls through leaves the packet to the next.  A packet that nat
 * sent to no endpoint meets the chains of filter with its old destination, and those drop
 * or refuse it. */
#include "common/services/trace/walk.h"

#include "common/services/node/names.h"

static struct ks_iptables_names names_of(struct ks_walk *w, const struct ks_port *p)
{
    return ks_iptables_names(w->a, p->ns, p->name, p->port_name, p->proto);
}

/* ---- nat ------------------------------------------------------------------------------------- */

static bool to_cluster_ip(struct ks_walk *w, const struct ks_dest *d)
{
    const struct ks_port *p = d->port;
    if (!ks_has_internal(p)) {
        return false;
    }
    struct ks_iptables_names names = names_of(w, p);
    bool marked = ks_walk_marks_internal(w);
    ks_walk_step(w, p->internal_local ? names.svl : names.svc);
    if (marked) {
        ks_walk_step(w, "KUBE-MARK-MASQ");
    }
    ks_walk_to(w, d, p->internal_local ? KS_R_LOCAL_LIST : KS_R_CLUSTER_LIST,
               p->internal_local ? p->local : p->cluster, marked);
    return true;
}

/* The chain KUBE-EXT-…: false when it falls through. */
static bool to_external(struct ks_walk *w, const struct ks_dest *d)
{
    const struct ks_port *p = d->port;
    struct ks_iptables_names names = names_of(w, p);
    bool short_pod = p->external_local && w->from_pod;
    bool short_node = p->external_local && !short_pod && w->from_node;
    bool marked = short_node || !p->external_local;
    ks_walk_step(w, names.ext);
    if (marked) {
        ks_walk_step(w, "KUBE-MARK-MASQ");
    }
    if (p->external_local && !short_pod && !short_node) {
        if (p->local.n == 0) {
            return false;
        }
        ks_walk_step(w, names.svl);
        ks_walk_to(w, d, KS_R_LOCAL_LIST, p->local, false);
        return true;
    }
    ks_walk_step(w, names.svc);
    ks_walk_to(w, d,
               short_pod    ? KS_R_SHORT_CIRCUIT_POD
               : short_node ? KS_R_SHORT_CIRCUIT_NODE
                            : KS_R_CLUSTER_LIST,
               p->cluster, marked);
    return true;
}

static bool nat_dest(struct ks_walk *w, const struct ks_dest *d)
{
    if (d->kind == KS_DEST_CLUSTER_IP) {
        return to_cluster_ip(w, d);
    }
    if (!d->port->has_any) {
        return false;
    }
    if (d->kind == KS_DEST_LB_VIP && d->port->n_source_ranges > 0) {
        ks_walk_step(w, names_of(w, d->port).fw);
        if (!ks_walk_in_ranges(w, d)) {
            return false;
        }
    }
    return to_external(w, d);
}

/* ---- filter ---------------------------------------------------------------------------------- */

/* The rules of filter for a destination that nat left alone. */
static bool filter_dest(struct ks_walk *w, const struct ks_dest *d)
{
    const struct ks_port *p = d->port;
    bool internal = d->kind == KS_DEST_CLUSTER_IP;
    if (d->kind == KS_DEST_LB_VIP && p->has_any && p->n_source_ranges > 0) {
        ks_walk_step(w, "KUBE-PROXY-FIREWALL");
        ks_walk_end(w, KS_DROP,
                    ks_walk_in_ranges(w, d) ? KS_R_NO_LOCAL_ENDPOINTS : KS_R_SOURCE_RANGES, d);
        return true;
    }
    if (internal ? ks_has_internal(p) : ks_has_external(p)) {
        return false;
    }
    ks_walk_step(w, internal ? "KUBE-SERVICES" : "KUBE-EXTERNAL-SERVICES");
    ks_walk_end(w, p->has_any ? KS_DROP : KS_REJECT,
                p->has_any ? KS_R_NO_LOCAL_ENDPOINTS : KS_R_NO_ENDPOINTS, d);
    return true;
}

/* A node port on any address of the node, and kube-proxy's own port for health checks. */
static bool filter_node(struct ks_walk *w, const struct ks_dest *d)
{
    if (d->kind == KS_DEST_HEALTH_CHECK_PORT) {
        ks_walk_step(w, "KUBE-NODEPORTS");
        ks_walk_end(w, KS_ACCEPT, KS_R_HEALTH_CHECK, d);
        return true;
    }
    return filter_dest(w, d);
}

/* ---- all ------------------------------------------------------------------------------------- */

/* Is the last rule of KUBE-SERVICES met, which jumps to KUBE-NODEPORTS? */
static bool reaches_node_ports(struct ks_walk *w)
{
    if (!w->to_node || !ks_is_loopback(&w->packet->dest)) {
        return w->takes_node_ports;
    }
    /* with CIDRs there is one rule for each address of the node, and 127.0.0.1 is all that a
     * loopback device has */
    static const struct ip_addr one = {.bytes = {127, 0, 0, 1}, .len = 4};
    return ks_localhost_node_ports(w->config) &&
           (ks_node_ports_everywhere(w->config) || ip_eq(&w->packet->dest, &one));
}

void ks_walk_iptables(struct ks_walk *w)
{
    const struct ks_packet *p = w->packet;
    size_t n, n_node;
    const struct ks_dest *dests = ks_plan_find(w->plan, &p->dest, p->port, p->protocol, &n);
    const struct ks_dest *node = ks_plan_find(w->plan, NULL, p->port, p->protocol, &n_node);
    n_node = w->to_node ? n_node : 0;
    if (n > 0 || n_node > 0) {
        ks_walk_step(w, "KUBE-SERVICES");
    }
    for (size_t i = 0; i < n; i++) {
        if (nat_dest(w, &dests[i])) {
            return;
        }
    }
    for (size_t i = 0; i < n_node && reaches_node_ports(w); i++) {
        if (node[i].kind == KS_DEST_NODE_PORT && node[i].port->has_any) {
            ks_walk_step(w, "KUBE-NODEPORTS");
            if (nat_dest(w, &node[i])) {
                return;
            }
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (filter_dest(w, &dests[i])) {
            return;
        }
    }
    for (size_t i = 0; i < n_node; i++) {
        if (filter_node(w, &node[i])) {
            return;
        }
    }
    ks_walk_end_unmet(w);
}
