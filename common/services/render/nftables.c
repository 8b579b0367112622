/* SPDX-License-Identifier: Apache-2.0 */
/* nftables.c: kube-proxy's table in nftables mode: what is always there, and the lines of the whole
 * table.
 *
 * Chains, sets and maps of a service port are nftables_service.c's. */
#include "common/services/render/nftables.h"

#include <string.h>

struct declaration {
    const char *name;
    const char *tail; /* NULL: none */
};

/* In the order of enum nft_chain. */
static const struct declaration chains[] = {
    {"filter-prerouting-pre-dnat", "{ type filter hook prerouting priority -110 ; }"},
    {"filter-output-pre-dnat", "{ type filter hook output priority -110 ; }"},
    {"filter-input", "{ type filter hook input priority 0 ; }"},
    {"filter-forward", "{ type filter hook forward priority 0 ; }"},
    {"filter-output", "{ type filter hook output priority 0 ; }"},
    {"nat-prerouting", "{ type nat hook prerouting priority -100 ; }"},
    {"nat-output", "{ type nat hook output priority -100 ; }"},
    {"nat-postrouting", "{ type nat hook postrouting priority 100 ; }"},
    {"cluster-ips-check", NULL},
    {"firewall-check", NULL},
    {"masquerading", NULL},
    {"nodeport-endpoints-check", NULL},
    {"reject-chain", "{ comment \"helper for @no-endpoint-services / @no-endpoint-nodeports\" ; }"},
    {"service-endpoints-check", NULL},
    {"services", NULL},
};

/* In the order of enum nft_set and enum nft_map; the tail is the comment.  `addressed`: the key
 * begins with an address. */
struct keyed_object {
    const char *name;
    const char *key; /* behind the address */
    const char *comment;
    bool addressed;
};
static const struct keyed_object sets[] = {
    {"cluster-ips", "", "Active ClusterIPs", true},
    {"hairpin-connections", " . ADDR . inet_proto . inet_service", "service hairpin connections",
     true},
    {"nodeport-ips", "", "IPs that accept NodePort traffic", true},
};
static const struct keyed_object maps[] = {
    {"firewall-ips", " . inet_proto . inet_service : verdict",
     "destinations that are subject to LoadBalancerSourceRanges", true},
    {"no-endpoint-nodeports", "inet_proto . inet_service : verdict",
     "vmap to drop or reject packets to service nodeports with no endpoints", false},
    {"no-endpoint-services", " . inet_proto . inet_service : verdict",
     "vmap to drop or reject packets to services with no endpoints", true},
    {"service-ips", " . inet_proto . inet_service : verdict",
     "ClusterIP, ExternalIP and LoadBalancer IP traffic", true},
    {"service-nodeports", "inet_proto . inet_service : verdict", "NodePort traffic", false},
};

/* --- pieces ----------------------------------------------------------------------------------- */

const char *nft_comment(struct arena *a, const char *text)
{
    return arena_printf(a, "comment \"%s\"", text);
}

static const char *detector(const struct nft *t, const char *negation)
{
    const char *value = str_nonnull(t->world->config.detect_value);
    switch (t->world->config.detect) {
    case KS_DETECT_CIDR:
        return KS_WORDS(t->arena, t->ip, "saddr", negation, value);
    case KS_DETECT_BRIDGE:
        return KS_WORDS(t->arena, "iifname", negation, value);
    case KS_DETECT_PREFIX:
        return KS_WORDS(t->arena, "iifname", negation, arena_printf(t->arena, "%s*", value));
    case KS_DETECT_NONE:
        break;
    }
    return NULL;
}

const char *nft_if_local(const struct nft *t)
{
    return detector(t, NULL);
}

const char *nft_if_not_local(const struct nft *t)
{
    return detector(t, "!=");
}

/* --- what is always there --------------------------------------------------------------------- */

static void make_objects(struct nft *t, struct ks_groups *g, const struct keyed_object *rows,
                         size_t n)
{
    const char *address = t->world->config.family == KS_IPV6 ? "ipv6_addr" : "ipv4_addr";
    for (size_t i = 0; i < n; i++) {
        const char *key = str_replace(t->arena, rows[i].key, "ADDR", address);
        ks_group_new(g, rows[i].name,
                     arena_printf(t->arena, "{ type %s%s ; comment \"%s\" ; }",
                                  rows[i].addressed ? address : "", key, rows[i].comment));
    }
}

static void jumps(struct nft *t)
{
    struct ks_groups *g = &t->chains;
    KS_RULE(g, CHAIN_PREROUTING_PRE_DNAT, "ct state new jump firewall-check");
    KS_RULE(g, CHAIN_OUTPUT_PRE_DNAT, "ct state new jump firewall-check");
    KS_RULE(g, CHAIN_FILTER_INPUT, "ct state new jump nodeport-endpoints-check");
    KS_RULE(g, CHAIN_FILTER_INPUT, "ct state new jump service-endpoints-check");
    KS_RULE(g, CHAIN_FILTER_FORWARD, "ct state new jump service-endpoints-check");
    KS_RULE(g, CHAIN_FILTER_FORWARD, "ct state new jump cluster-ips-check");
    KS_RULE(g, CHAIN_FILTER_OUTPUT, "ct state new jump service-endpoints-check");
    KS_RULE(g, CHAIN_FILTER_OUTPUT, "ct state new jump cluster-ips-check");
    KS_RULE(g, CHAIN_NAT_PREROUTING, "jump services");
    KS_RULE(g, CHAIN_NAT_OUTPUT, "jump services");
    KS_RULE(g, CHAIN_NAT_POSTROUTING, "jump masquerading");
    KS_RULE(g, CHAIN_REJECT, "reject");
}

static void masquerading(struct nft *t)
{
    const char *mark = ks_mark(t->arena, &t->world->config);
    KS_RULE(&t->chains, CHAIN_MASQUERADING, "mark and", mark, "!= 0 mark set mark xor", mark,
            "masquerade fully-random");
    KS_RULE(&t->chains, CHAIN_MASQUERADING, "ct status dnat", t->ip, "saddr .", t->ip,
            "daddr . meta l4proto . th dport @hairpin-connections masquerade fully-random");
}

/* Traffic to cluster IPs that no service port took: wrong ports are refused, addresses without a
 * Service dropped. */
static void cluster_ips_check(struct nft *t)
{
    const struct ks_node_config *config = &t->world->config;
    KS_RULE(&t->chains, CHAIN_CLUSTER_IPS_CHECK, t->ip, "daddr @cluster-ips reject",
            nft_comment(t->arena, "Reject traffic to invalid ports of ClusterIPs"));
    const char **cidrs = ARENA_ARRAY(t->arena, const char *, config->n_service_cidrs);
    size_t n = 0;
    for (size_t i = 0; i < config->n_service_cidrs; i++) {
        struct ip_net net;
        if (ip_net_parse_sloppy(config->service_cidrs[i], &net) &&
            net.addr.len == (config->family == KS_IPV6 ? 16 : 4)) {
            cidrs[n++] = config->service_cidrs[i];
        }
    }
    if (n > 0) {
        KS_RULE(&t->chains, CHAIN_CLUSTER_IPS_CHECK, t->ip, "daddr {",
                str_join(t->arena, cidrs, n, ","), "} drop",
                nft_comment(t->arena, "Drop traffic to unallocated ClusterIPs"));
    }
}

/* From the hooks to the maps. */
static void lookups(struct nft *t)
{
    const struct ks_node_config *config = &t->world->config;
    bool everywhere = ks_node_ports_everywhere(config);
    const char *not_loopback = config->family == KS_IPV6 ? "!= ::1" : "!= 127.0.0.0/8";
    const char *node = everywhere ? not_loopback : "@nodeport-ips";
    const char *all = " daddr . meta l4proto . th dport vmap @";
    if (config->masquerade_all) {
        KS_RULE(&t->chains, CHAIN_SERVICES, t->ip, "daddr @cluster-ips", t->mark,
                nft_comment(t->arena, "masquerade all clusterIP traffic"));
    } else if (nft_if_not_local(t) != NULL) {
        KS_RULE(&t->chains, CHAIN_SERVICES, t->ip, "daddr @cluster-ips", nft_if_not_local(t),
                t->mark,
                nft_comment(t->arena, "masquerade clusterIP traffic from outside cluster"));
    }
    KS_RULE(&t->chains, CHAIN_SERVICES, arena_printf(t->arena, "%s%sservice-ips", t->ip, all));
    KS_RULE(&t->chains, CHAIN_SERVICES, everywhere ? "fib daddr type local" : NULL, t->ip, "daddr",
            node, "meta l4proto . th dport vmap @service-nodeports");
    KS_RULE(&t->chains, CHAIN_NODEPORT_ENDPOINTS_CHECK, t->ip, "daddr", node,
            "meta l4proto . th dport vmap @no-endpoint-nodeports");
    KS_RULE(&t->chains, CHAIN_SERVICE_ENDPOINTS_CHECK,
            arena_printf(t->arena, "%s%sno-endpoint-services", t->ip, all));
    KS_RULE(&t->chains, CHAIN_FIREWALL_CHECK,
            arena_printf(t->arena, "%s%sfirewall-ips", t->ip, all));
}

static void node_port_ips(struct nft *t)
{
    size_t n = 0;
    const struct ip_addr *ips = ks_node_port_addresses(t->arena, &t->world->config, &n);
    for (size_t i = 0; i < n; i++) {
        ks_group_add(&t->sets, NFT_SET_NODEPORT_IPS, ks_ip_text(t->arena, &ips[i]));
    }
}

/* --- lines ------------------------------------------------------------------------------------ */

struct lines {
    struct arena *arena;
    const char *family;
    const char **items;
    size_t n;
};

static void line(struct lines *l, const char *verb, const char *name, const char *rest)
{
    l->items[l->n++] = KS_WORDS(l->arena, "add", verb, l->family, "kube-proxy", name, rest);
}

static void declare(struct lines *l, const char *verb, const struct ks_groups *g)
{
    const size_t *order = ks_groups_by_name(g);
    for (size_t i = 0; i < g->n_groups; i++) {
        line(l, verb, g->groups[order[i]].name, g->groups[order[i]].tail);
    }
}

/* Rules as they are, elements in braces. */
static void fill(struct lines *l, const char *verb, const struct ks_groups *g, bool braces)
{
    const size_t *order = ks_groups_by_name(g);
    for (size_t i = 0; i < g->n_groups; i++) {
        const struct ks_group *group = &g->groups[order[i]];
        for (size_t j = 0; j < group->n; j++) {
            line(l, verb, group->name,
                 braces ? KS_WORDS(l->arena, "{", group->items[j], "}") : group->items[j]);
        }
    }
}

/* The key of an element: what stands before its comment or its verdict. */
static size_t key_len(const char *element)
{
    const char *comment = strstr(element, " comment ");
    const char *verdict = strstr(element, " : ");
    if (comment != NULL && (verdict == NULL || comment < verdict)) {
        return (size_t)(comment - element);
    }
    return verdict != NULL ? (size_t)(verdict - element) : strlen(element);
}

static struct ks_lines all_lines(struct nft *t)
{
    struct ks_groups *groups[] = {&t->chains, &t->sets, &t->maps};
    size_t n = 1;
    for (size_t i = 0; i < ARRAY_LEN(groups); i++) {
        ks_groups_finish(groups[i]);
        n += groups[i]->n_groups + groups[i]->n_items;
    }
    ks_groups_sort_items(&t->sets, key_len);
    ks_groups_sort_items(&t->maps, key_len);
    struct lines l = {
        .arena = t->arena, .family = t->ip, .items = ARENA_ARRAY(t->arena, const char *, n)};
    line(&l, "table", "{ comment \"rules for kube-proxy\" ; }", NULL);
    declare(&l, "chain", &t->chains);
    declare(&l, "set", &t->sets);
    declare(&l, "map", &t->maps);
    fill(&l, "rule", &t->chains, false);
    fill(&l, "element", &t->sets, true);
    fill(&l, "element", &t->maps, true);
    return (struct ks_lines){.items = l.items, .n = l.n};
}

struct ks_lines ks_render_nftables(struct arena *a, const struct ks_world *w)
{
    bool everywhere = ks_node_ports_everywhere(&w->config);
    struct nft t = {
        .arena = a,
        .world = w,
        .ip = w->config.family == KS_IPV6 ? "ip6" : "ip",
        .mark = arena_printf(a, "mark set mark or %s", ks_mark(a, &w->config)),
        .chains = ks_groups_make(a),
        .sets = ks_groups_make(a),
        .maps = ks_groups_make(a),
    };
    for (size_t i = 0; i < ARRAY_LEN(chains); i++) {
        ks_group_new(&t.chains, chains[i].name, chains[i].tail);
    }
    make_objects(&t, &t.sets, sets, everywhere ? NFT_SET_NODEPORT_IPS : ARRAY_LEN(sets));
    make_objects(&t, &t.maps, maps, ARRAY_LEN(maps));
    jumps(&t);
    masquerading(&t);
    cluster_ips_check(&t);
    lookups(&t);
    if (!everywhere) {
        node_port_ips(&t);
    }
    for (size_t i = 0; i < w->n_ports; i++) {
        nft_port(&t, &w->ports[i]);
    }
    return all_lines(&t);
}
