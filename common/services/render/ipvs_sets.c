/* SPDX-License-Identifier: Apache-2.0 */
/* ipvs_sets.c: the ipsets of kube-proxy's IPVS mode, from service ports. */
#include "common/services/render/ipvs.h"

#include <string.h>

#define IPSET_NAME_MAX 31

struct set_kind {
    const char *name; /* behind "KUBE-", or "KUBE-6-" */
    const char *type;
    const char *comment; /* of the rules that match it; NULL: they have none */
};

/* Texts are kube-proxy's. */
static const struct set_kind kinds[SET_MAX] = {
    [SET_LOOP_BACK] = {"LOOP-BACK", "hash:ip,port,ip",
                       "Kubernetes endpoints dst ip:port, source ip for solving hairpin purpose"},
    [SET_CLUSTER_IP] = {"CLUSTER-IP", "hash:ip,port",
                        "Kubernetes service cluster ip + port for masquerade purpose"},
    [SET_EXTERNAL_IP] = {"EXTERNAL-IP", "hash:ip,port",
                         "Kubernetes service external ip + port for masquerade and filter "
                         "purpose"},
    [SET_EXTERNAL_IP_LOCAL] = {"EXTERNAL-IP-LOCAL", "hash:ip,port",
                               "Kubernetes service external ip + port with "
                               "externalTrafficPolicy=local"},
    [SET_LOAD_BALANCER] = {"LOAD-BALANCER", "hash:ip,port", "Kubernetes service lb portal"},
    [SET_LOAD_BALANCER_LOCAL] = {"LOAD-BALANCER-LOCAL", "hash:ip,port",
                                 "Kubernetes service load balancer ip + port with "
                                 "externalTrafficPolicy=local"},
    [SET_LOAD_BALANCER_FW] = {"LOAD-BALANCER-FW", "hash:ip,port",
                              "Kubernetes service load balancer ip + port for load balancer with "
                              "sourceRange"},
    [SET_LOAD_BALANCER_SOURCE_CIDR] = {"LOAD-BALANCER-SOURCE-CIDR", "hash:ip,port,net",
                                       "Kubernetes service load balancer ip + port + source cidr "
                                       "for packet filter purpose"},
    [SET_LOAD_BALANCER_SOURCE_IP] = {"LOAD-BALANCER-SOURCE-IP", "hash:ip,port,ip",
                                     "Kubernetes service load balancer ip + port + source IP for "
                                     "packet filter purpose"},
    [SET_NODE_PORT_TCP] = {"NODE-PORT-TCP", "bitmap:port",
                           "Kubernetes nodeport TCP port for masquerade purpose"},
    [SET_NODE_PORT_UDP] = {"NODE-PORT-UDP", "bitmap:port",
                           "Kubernetes nodeport UDP port for masquerade purpose"},
    [SET_NODE_PORT_LOCAL_TCP] = {"NODE-PORT-LOCAL-TCP", "bitmap:port",
                                 "Kubernetes nodeport TCP port with externalTrafficPolicy=local"},
    [SET_NODE_PORT_LOCAL_UDP] = {"NODE-PORT-LOCAL-UDP", "bitmap:port",
                                 "Kubernetes nodeport UDP port with externalTrafficPolicy=local"},
    [SET_NODE_PORT_SCTP] = {"NODE-PORT-SCTP-HASH", "hash:ip,port",
                            "Kubernetes nodeport SCTP port for masquerade purpose with type "
                            "'hash ip:port'"},
    [SET_NODE_PORT_LOCAL_SCTP] = {"NODE-PORT-LOCAL-SCTP-HASH", "hash:ip,port",
                                  "Kubernetes nodeport SCTP port with externalTrafficPolicy=local "
                                  "with type 'hash ip:port'"},
    [SET_HEALTH_CHECK_NODE_PORT] = {"HEALTH-CHECK-NODE-PORT", "bitmap:port",
                                    "Kubernetes health check node port"},
    [SET_IPVS_IPS] = {"IPVS-IPS", "hash:ip", NULL},
};

void ipvs_sets_make(struct ipvs *v)
{
    bool six = v->world->config.family == KS_IPV6;
    for (size_t i = 0; i < SET_MAX; i++) {
        char *name = arena_printf(v->arena, "KUBE-%s%s", six ? "6-" : "", kinds[i].name);
        ks_group_new(&v->sets, arena_strndup(v->arena, name, IPSET_NAME_MAX), NULL);
    }
}

const char *ipvs_set_comment(enum ipvs_set set)
{
    return kinds[set].comment;
}

void ipvs_bind(struct ipvs *v, const struct ip_addr *ip)
{
    ks_group_add(&v->sets, SET_IPVS_IPS, ks_ip_text(v->arena, ip));
}

/* "ip,proto:port". */
static const char *entry(struct ipvs *v, const struct ks_port *p, const struct ip_addr *ip,
                         int32_t port)
{
    return arena_printf(v->arena, "%s,%s:%d", ks_ip_text(v->arena, ip), p->proto, (int)port);
}

static void vip(struct ipvs *v, const struct ks_port *p, const struct ip_addr *ip,
                const struct ks_exists *is)
{
    const char *text = ks_ip_text(v->arena, ip);
    const char *dest = entry(v, p, ip, p->port);
    ks_group_add(&v->sets, SET_LOAD_BALANCER, dest);
    if (p->external_local) {
        ks_group_add(&v->sets, SET_LOAD_BALANCER_LOCAL, dest);
    }
    if (!is->restricted) {
        return;
    }
    ks_group_add(&v->sets, SET_LOAD_BALANCER_FW, dest);
    for (size_t i = 0; i < p->n_source_ranges; i++) {
        ks_group_add(
            &v->sets, SET_LOAD_BALANCER_SOURCE_CIDR,
            arena_printf(v->arena, "%s,%s", dest, ks_net_text(v->arena, &p->source_ranges[i])));
    }
    if (is->node_allowed) {
        ks_group_add(&v->sets, SET_LOAD_BALANCER_SOURCE_IP,
                     arena_printf(v->arena, "%s,%s", dest, text));
    } else {
        KS_RULE(&v->out_filter, 0, "-s", text, "-m ipvs --vaddr", text, "--vproto", p->proto,
                "--vport", ks_number(v->arena, p->port), "-j DROP");
    }
}

static void node_port(struct ipvs *v, const struct ks_port *p)
{
    if (str_eq(p->proto, "sctp")) {
        for (size_t i = 0; i < v->n_node_addresses; i++) {
            const char *dest = entry(v, p, &v->node_addresses[i], p->node_port);
            ks_group_add(&v->sets, SET_NODE_PORT_SCTP, dest);
            if (p->external_local) {
                ks_group_add(&v->sets, SET_NODE_PORT_LOCAL_SCTP, dest);
            }
        }
        return;
    }
    bool udp = str_eq(p->proto, "udp");
    const char *number = ks_number(v->arena, p->node_port);
    ks_group_add(&v->sets, udp ? SET_NODE_PORT_UDP : SET_NODE_PORT_TCP, number);
    if (p->external_local) {
        ks_group_add(&v->sets, udp ? SET_NODE_PORT_LOCAL_UDP : SET_NODE_PORT_LOCAL_TCP, number);
    }
}

void ipvs_sets_port(struct ipvs *v, const struct ks_port *p)
{
    struct ks_exists is = ks_exists_of(v->world, p);
    for (size_t i = 0; i < p->n_endpoints; i++) {
        const struct ks_endpoint *e = &p->endpoints[i];
        if (e->local) {
            ks_group_add(&v->sets, SET_LOOP_BACK,
                         arena_printf(v->arena, "%s,%s", entry(v, p, &e->ip, e->port),
                                      ks_ip_text(v->arena, &e->ip)));
        }
    }
    ks_group_add(&v->sets, SET_CLUSTER_IP, entry(v, p, &p->cluster_ip, p->port));
    for (size_t i = 0; i < p->n_external_ips; i++) {
        ks_group_add(&v->sets, p->external_local ? SET_EXTERNAL_IP_LOCAL : SET_EXTERNAL_IP,
                     entry(v, p, &p->external_ips[i], p->port));
    }
    for (size_t i = 0; i < p->n_lb_vips; i++) {
        vip(v, p, &p->lb_vips[i], &is);
    }
    if (p->node_port != 0 && v->n_node_addresses == 0) {
        /* kube-proxy continues with the next service port, and leaves the health check out */
        return;
    }
    if (p->node_port != 0) {
        node_port(v, p);
    }
    if (p->health_check_node_port != 0) {
        ks_group_add(&v->sets, SET_HEALTH_CHECK_NODE_PORT,
                     ks_number(v->arena, p->health_check_node_port));
    }
}

const struct ks_ipset *ipvs_sets_finish(struct ipvs *v)
{
    struct ks_ipset *out = ARENA_ARRAY(v->arena, struct ks_ipset, SET_MAX);
    ks_groups_finish(&v->sets);
    ks_groups_sort_items(&v->sets, NULL);
    for (size_t i = 0; i < SET_MAX; i++) {
        const struct ks_group *g = &v->sets.groups[i];
        bool bitmap = str_eq(kinds[i].type, "bitmap:port");
        out[i] = (struct ks_ipset){
            .name = g->name,
            .type = kinds[i].type,
            .family = bitmap                               ? NULL
                      : v->world->config.family == KS_IPV6 ? "inet6"
                                                           : "inet",
            .entries = g->items,
            .n_entries = g->n,
        };
    }
    return out;
}
