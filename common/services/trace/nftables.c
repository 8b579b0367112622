/* SPDX-License-Identifier: Apache-2.0 */
/* nftables.c: a packet through the maps of nftables mode; see trace.h.
 *
 * The order: source ranges first, with or without endpoints; then the maps of services; then, for
 * packets without an endpoint, the maps of services that have none; last the cluster IPs, for ports
 * that no Service has. */
#include "common/services/trace/walk.h"

#include "common/services/node/names.h"

static struct ks_nftables_names names_of(struct ks_walk *w, const struct ks_port *p)
{
    return ks_nftables_names(w->a, p->ns, p->name, p->port_name, p->proto);
}

/* Does the firewall of one of these destinations drop the packet? */
static bool firewall_drops(struct ks_walk *w, const struct ks_dest *dests, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (dests[i].kind == KS_DEST_LB_VIP && dests[i].port->n_source_ranges > 0) {
            ks_walk_step(w, "firewall-check");
            ks_walk_step(w, names_of(w, dests[i].port).firewall);
            if (!ks_walk_in_ranges(w, &dests[i])) {
                ks_walk_end(w, KS_DROP, KS_R_SOURCE_RANGES, &dests[i]);
                return true;
            }
        }
    }
    return false;
}

static bool to_cluster_ip(struct ks_walk *w, const struct ks_dest *d)
{
    const struct ks_port *p = d->port;
    if (!ks_has_internal(p)) {
        return false;
    }
    struct ks_nftables_names names = names_of(w, p);
    ks_walk_step(w, p->internal_local ? names.local : names.service);
    ks_walk_to(w, d, p->internal_local ? KS_R_LOCAL_LIST : KS_R_CLUSTER_LIST,
               p->internal_local ? p->local : p->cluster, ks_walk_marks_internal(w));
    return true;
}

/* The chain external-…; false when it falls through. */
static bool to_external(struct ks_walk *w, const struct ks_dest *d)
{
    const struct ks_port *p = d->port;
    struct ks_nftables_names names = names_of(w, p);
    ks_walk_step(w, names.external);
    if (p->external_local && w->from_pod) {
        ks_walk_step(w, names.service);
        ks_walk_to(w, d, KS_R_SHORT_CIRCUIT_POD, p->cluster, false);
    } else if (p->external_local && w->from_node) {
        ks_walk_step(w, names.service);
        ks_walk_to(w, d, KS_R_SHORT_CIRCUIT_NODE, p->cluster, true);
    } else if (!p->external_local) {
        ks_walk_step(w, names.service);
        ks_walk_to(w, d, KS_R_CLUSTER_LIST, p->cluster, true);
    } else if (p->local.n > 0) {
        ks_walk_step(w, names.local);
        ks_walk_to(w, d, KS_R_LOCAL_LIST, p->local, false);
    } else {
        return false;
    }
    return true;
}

static bool nat_dest(struct ks_walk *w, const struct ks_dest *d)
{
    if (d->kind == KS_DEST_CLUSTER_IP) {
        return to_cluster_ip(w, d);
    }
    return d->port->has_any && to_external(w, d);
}

/* The maps of services without endpoints that a packet could use. */
static bool no_endpoint(struct ks_walk *w, const struct ks_dest *d, bool is_node)
{
    const struct ks_port *p = d->port;
    if (d->kind == KS_DEST_CLUSTER_IP ? ks_has_internal(p) : ks_has_external(p)) {
        return false;
    }
    ks_walk_step(w, is_node ? "nodeport-endpoints-check" : "service-endpoints-check");
    ks_walk_step(w, is_node ? "no-endpoint-nodeports" : "no-endpoint-services");
    ks_walk_end(w, p->has_any ? KS_DROP : KS_REJECT,
                p->has_any ? KS_R_NO_LOCAL_ENDPOINTS : KS_R_NO_ENDPOINTS, d);
    return true;
}

static bool is_unallocated(const struct ks_walk *w)
{
    bool in = false;
    for (size_t i = 0; i < w->config->n_service_cidrs && !in; i++) {
        struct ip_net net;
        in = ip_net_parse_sloppy(w->config->service_cidrs[i], &net) &&
             ip_net_contains(&net, &w->packet->dest);
    }
    return in;
}

/* The chain cluster-ips-check, for packets that leave the node. */
static void check_cluster_ips(struct ks_walk *w)
{
    size_t n;
    const struct ks_dest *own = ks_plan_find(w->plan, &w->packet->dest, 0, NULL, &n);
    for (size_t i = 0; i < n; i++) {
        if (own[i].kind == KS_DEST_CLUSTER_IP) {
            ks_walk_step(w, "cluster-ips-check");
            ks_walk_end(w, KS_REJECT, KS_R_WRONG_PORT, &own[i]);
            return;
        }
    }
    if (is_unallocated(w)) {
        ks_walk_step(w, "cluster-ips-check");
        ks_walk_end(w, KS_DROP, KS_R_UNALLOCATED, NULL);
        return;
    }
    ks_walk_end_unmet(w);
}

static bool nat(struct ks_walk *w, const char *map, const struct ks_dest *dests, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (dests[i].kind != KS_DEST_HEALTH_CHECK_PORT && dests[i].port->has_any) {
            ks_walk_step(w, "services");
            ks_walk_step(w, map);
            if (nat_dest(w, &dests[i])) {
                return true;
            }
        }
    }
    return false;
}

void ks_walk_nftables(struct ks_walk *w)
{
    const struct ks_packet *p = w->packet;
    size_t n, n_node;
    const struct ks_dest *dests = ks_plan_find(w->plan, &p->dest, p->port, p->protocol, &n);
    const struct ks_dest *node = ks_plan_find(w->plan, NULL, p->port, p->protocol, &n_node);
    n_node = w->to_node ? n_node : 0;
    size_t n_taken = w->takes_node_ports ? n_node : 0;
    if (firewall_drops(w, dests, n) || nat(w, "service-ips", dests, n) ||
        nat(w, "service-nodeports", node, n_taken)) {
        return;
    }
    for (size_t i = 0; i < n_node; i++) {
        if (node[i].kind == KS_DEST_HEALTH_CHECK_PORT) {
            ks_walk_end(w, KS_ACCEPT, KS_R_HEALTH_CHECK, &node[i]); /* no rule: the port is open */
            return;
        }
        if (n_taken > 0 && no_endpoint(w, &node[i], true)) {
            return;
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (no_endpoint(w, &dests[i], false)) {
            return;
        }
    }
    check_cluster_ips(w);
}
