/* SPDX-License-Identifier: Apache-2.0 */
/* iptables.c: kube-proxy's tables filter and nat: the chains that are always there, and how packets
 * get from them to the chains of a service port (iptables_service.c). */
#include "common/services/render/iptables.h"

#include "common/base/strset.h"

#define LARGE_CLUSTER 1000 /* endpoints; above that comments are left out */

#define NODEPORTS_LAST                                                                             \
    "kubernetes service nodeports; NOTE: this must be the last rule in this chain"

/* --- destinations ----------------------------------------------------------------------------- */

/* "-d A --dport N" behind the protocol, for one address of a service port. */
static const char *destination(const struct iptables_port *x, const struct ip_addr *address)
{
    return KS_WORDS(x->t->arena, x->proto, "-d", ks_ip_text(x->t->arena, address), "--dport",
                    x->number);
}

/* How destinations without endpoints for them end, and why. */
static const char *end_comment(const struct iptables_port *x)
{
    return ks_commentf(x->t->arena, "%s has no %sendpoints", x->p->display,
                       x->p->has_any ? "local " : "");
}

static const char *end_target(const struct iptables_port *x)
{
    return x->p->has_any ? "DROP" : "REJECT";
}

static void cluster_ip(struct iptables_port *x)
{
    const char *dest = destination(x, &x->p->cluster_ip);
    if (x->is.has_internal) {
        KS_RULE(&x->t->nat, NAT_SERVICES, x->cluster_ip_comment, dest, "-j",
                x->p->internal_local ? x->names.svl : x->names.svc);
    } else {
        KS_RULE(&x->t->filter, FILTER_SERVICES, end_comment(x), dest, "-j", end_target(x));
    }
}

static void external_ips(struct iptables_port *x)
{
    const char *comment = ks_commentf(x->t->arena, "%s external IP", x->p->display);
    for (size_t i = 0; i < x->p->n_external_ips; i++) {
        const char *dest = destination(x, &x->p->external_ips[i]);
        if (x->p->has_any) {
            KS_RULE(&x->t->nat, NAT_SERVICES, comment, dest, "-j", x->names.ext);
        }
        if (!x->is.has_external) {
            KS_RULE(&x->t->filter, FILTER_EXTERNAL_SERVICES, end_comment(x), dest, "-j",
                    end_target(x));
        }
    }
}

static void vips(struct iptables_port *x)
{
    struct arena *a = x->t->arena;
    const char *comment = ks_commentf(a, "%s loadbalancer IP", x->p->display);
    const char *refused =
        ks_commentf(a, "%s traffic not accepted by %s", x->p->display, x->names.fw);
    for (size_t i = 0; i < x->p->n_lb_vips && x->p->has_any; i++) {
        const char *dest = destination(x, &x->p->lb_vips[i]);
        KS_RULE(&x->t->nat, NAT_SERVICES, comment, dest, "-j",
                x->firewall ? x->names.fw : x->names.ext);
        if (x->firewall) {
            KS_RULE(&x->t->filter, FILTER_PROXY_FIREWALL, refused, dest, "-j DROP");
        }
    }
    for (size_t i = 0; i < x->p->n_lb_vips && !x->is.has_external; i++) {
        KS_RULE(&x->t->filter, FILTER_EXTERNAL_SERVICES, end_comment(x),
                destination(x, &x->p->lb_vips[i]), "-j", end_target(x));
    }
}

static void node_port(struct iptables_port *x)
{
    struct arena *a = x->t->arena;
    const char *number = ks_number(a, x->p->node_port);
    const char *comment = ks_comment(a, x->p->display);
    if (x->p->has_any && x->t->localhost && x->t->world->config.nfacct) {
        KS_RULE(&x->t->nat, NAT_NODEPORTS, comment, x->proto, "-d 127.0.0.0/8 --dport", number,
                "-m nfacct --nfacct-name localhost_nps_accepted_pkts -j", x->names.ext);
    }
    if (x->p->has_any) {
        KS_RULE(&x->t->nat, NAT_NODEPORTS, comment, x->proto, "--dport", number, "-j",
                x->names.ext);
    }
    if (!x->is.has_external) {
        KS_RULE(&x->t->filter, FILTER_EXTERNAL_SERVICES, end_comment(x),
                "-m addrtype --dst-type LOCAL", x->proto, "--dport", number, "-j", end_target(x));
    }
}

static void render_port(struct iptables *t, const struct ks_port *p)
{
    struct arena *a = t->arena;
    struct iptables_port x = {
        .t = t,
        .p = p,
        .is = ks_exists_of(t->world, p),
        .names = ks_iptables_names(a, p->ns, p->name, p->port_name, p->proto),
        .proto = arena_printf(a, "-m %s -p %s", p->proto, p->proto),
        .number = ks_number(a, p->port),
        .cluster_ip_comment = ks_commentf(a, "%s cluster IP", p->display),
    };
    x.firewall = x.is.restricted && p->has_any;
    iptables_port_chains(&x);
    cluster_ip(&x);
    external_ips(&x);
    vips(&x);
    if (p->node_port != 0) {
        node_port(&x);
    }
    if (p->health_check_node_port != 0) {
        KS_RULE(&t->filter, FILTER_NODEPORTS,
                ks_commentf(a, "%s health check node port", p->display), "-m tcp -p tcp --dport",
                ks_number(a, p->health_check_node_port), "-j ACCEPT");
    }
    iptables_port_rules(&x);
}

/* --- the chains that are always there --------------------------------------------------------- */

/* Returns whether a range of --nodeport-addresses has 127.0.0.1. */
static bool takes_loopback(const struct ks_node_config *config)
{
    static const struct ip_addr loopback = {.bytes = {127, 0, 0, 1}, .len = 4};
    for (size_t i = 0; i < config->n_node_port_addresses; i++) {
        struct ip_net net;
        if (ip_net_parse_sloppy(config->node_port_addresses[i], &net) &&
            ip_net_contains(&net, &loopback)) {
            return true;
        }
    }
    return false;
}

static void make_chains(struct iptables *t)
{
    static const char *const filter[] = {"KUBE-SERVICES", "KUBE-EXTERNAL-SERVICES", "KUBE-FORWARD",
                                         "KUBE-NODEPORTS", "KUBE-PROXY-FIREWALL"};
    static const char *const nat[] = {"KUBE-SERVICES", "KUBE-NODEPORTS", "KUBE-POSTROUTING",
                                      "KUBE-MARK-MASQ"};
    for (size_t i = 0; i < ARRAY_LEN(filter); i++) {
        ks_group_new(&t->filter, filter[i], NULL);
    }
    for (size_t i = 0; i < ARRAY_LEN(nat); i++) {
        ks_group_new(&t->nat, nat[i], NULL);
    }
    if (t->localhost) {
        ks_group_new(&t->filter, "KUBE-FIREWALL", NULL);
        KS_RULE(&t->filter, FILTER_FIREWALL,
                ks_comment(t->arena, "block incoming localnet connections"),
                "-d 127.0.0.0/8 ! -s 127.0.0.0/8",
                "-m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP");
    }
    ks_masquerade_rules(&t->nat, NAT_POSTROUTING, NAT_MARK_MASQ, &t->world->config);
}

/* The last rules of KUBE-SERVICES: what is not a service address may be a node port. */
static void to_node_ports(struct iptables *t)
{
    const struct ks_node_config *config = &t->world->config;
    const char *comment = ks_comment(t->arena, NODEPORTS_LAST);
    if (ks_node_ports_everywhere(config)) {
        const char *but = config->family == KS_IPV6 ? "! -d ::1/128" : "! -d 127.0.0.0/8";
        KS_RULE(&t->nat, NAT_SERVICES, comment, "-m addrtype --dst-type LOCAL",
                t->localhost ? NULL : but, "-j KUBE-NODEPORTS");
        return;
    }
    size_t n = 0;
    const struct ip_addr *ips = ks_node_port_addresses(t->arena, config, &n);
    const char **texts = ARENA_ARRAY(t->arena, const char *, n + 1);
    for (size_t i = 0; i < n; i++) {
        texts[i] = ks_ip_text(t->arena, &ips[i]);
    }
    if (t->localhost && takes_loopback(config)) {
        texts[n++] = "127.0.0.1";
    }
    struct str_set sorted = str_set_make(t->arena, texts, n);
    for (size_t i = 0; i < sorted.n; i++) {
        KS_RULE(&t->nat, NAT_SERVICES, comment, "-d", sorted.items[i], "-j KUBE-NODEPORTS");
    }
}

struct ks_tables ks_render_iptables(struct arena *a, const struct ks_world *w)
{
    const struct ks_node_config *config = &w->config;
    struct iptables t = {
        .arena = a,
        .world = w,
        .filter = ks_groups_make(a),
        .nat = ks_groups_make(a),
        .if_local = ks_if_local(a, config),
        .if_not_local = ks_if_not_local(a, config),
        .localhost = ks_localhost_node_ports(config),
        .large = w->n_endpoints_all > LARGE_CLUSTER,
    };
    make_chains(&t);
    for (size_t i = 0; i < w->n_ports; i++) {
        render_port(&t, &w->ports[i]);
    }
    to_node_ports(&t);
    if (!config->tcp_be_liberal) {
        KS_RULE(&t.filter, FILTER_FORWARD, "-m conntrack --ctstate INVALID",
                config->nfacct ? "-m nfacct --nfacct-name ct_state_invalid_dropped_pkts" : NULL,
                "-j DROP");
    }
    ks_forward_rules(&t.filter, FILTER_FORWARD, config);
    return (struct ks_tables){
        .tables = {ks_groups_table(&t.filter, "filter"), ks_groups_table(&t.nat, "nat")},
        .n_tables = 2,
    };
}
