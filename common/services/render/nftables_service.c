/* SPDX-License-Identifier: Apache-2.0 */
/* nftables_service.c: the chains, sets and map elements of one service port in nftables mode. */
#include "common/services/render/nftables.h"

struct nft_service {
    struct nft *t;
    const struct ks_port *p;
    struct ks_exists is;
    struct ks_nftables_names names;
    const char *end; /* where destinations without endpoints go */
};

/* --- map elements ----------------------------------------------------------------------------- */

/* "A . tcp . 80", or "tcp . 30080" without an address. */
static const char *key(struct nft_service *x, const struct ip_addr *ip, int32_t port)
{
    struct arena *a = x->t->arena;
    return KS_WORDS(a, ip == NULL ? NULL : ks_ip_text(a, ip), ip == NULL ? NULL : ".", x->p->proto,
                    ".", ks_number(a, port));
}

static void go(struct nft_service *x, enum nft_map map, const char *at, const char *chain)
{
    ks_group_add(&x->t->maps, map, KS_WORDS(x->t->arena, at, ": goto", chain));
}

static void stop(struct nft_service *x, enum nft_map map, const char *at)
{
    ks_group_add(&x->t->maps, map,
                 KS_WORDS(x->t->arena, at, nft_comment(x->t->arena, x->p->display), ":", x->end));
}

/* An external IP or a VIP: captured if there are endpoints anywhere, and ended where none
 * is for it. */
static void outside(struct nft_service *x, const struct ip_addr *ip)
{
    const char *at = key(x, ip, x->p->port);
    if (x->p->has_any) {
        go(x, NFT_MAP_SERVICE_IPS, at, x->names.external);
    }
    if (!x->is.has_external) {
        stop(x, NFT_MAP_NO_ENDPOINT_SERVICES, at);
    }
}

static void destinations(struct nft_service *x)
{
    const struct ks_port *p = x->p;
    const char *at = key(x, &p->cluster_ip, p->port);
    ks_group_add(&x->t->sets, NFT_SET_CLUSTER_IPS, ks_ip_text(x->t->arena, &p->cluster_ip));
    if (x->is.has_internal) {
        go(x, NFT_MAP_SERVICE_IPS, at, p->internal_local ? x->names.local : x->names.service);
    } else {
        stop(x, NFT_MAP_NO_ENDPOINT_SERVICES, at);
    }
    for (size_t i = 0; i < p->n_external_ips; i++) {
        outside(x, &p->external_ips[i]);
    }
    for (size_t i = 0; i < p->n_lb_vips; i++) {
        outside(x, &p->lb_vips[i]);
        if (x->is.restricted) {
            go(x, NFT_MAP_FIREWALL_IPS, key(x, &p->lb_vips[i], p->port), x->names.firewall);
        }
    }
    if (p->node_port == 0) {
        return;
    }
    at = key(x, NULL, p->node_port);
    if (p->has_any) {
        go(x, NFT_MAP_SERVICE_NODEPORTS, at, x->names.external);
    }
    if (!x->is.has_external) {
        stop(x, NFT_MAP_NO_ENDPOINT_NODEPORTS, at);
    }
}

/* --- chains ----------------------------------------------------------------------------------- */

static void external_chain(struct nft_service *x)
{
    struct nft *t = x->t;
    const char *to_cluster = KS_WORDS(t->arena, "goto", x->names.service);
    size_t chain = ks_group_new(&t->chains, x->names.external, NULL);
    if (!x->p->external_local) {
        KS_RULE(&t->chains, chain, t->mark, nft_comment(t->arena, "masquerade"));
    } else {
        if (nft_if_local(t) != NULL) {
            KS_RULE(&t->chains, chain, nft_if_local(t), to_cluster,
                    nft_comment(t->arena, "short-circuit pod traffic"));
        }
        KS_RULE(&t->chains, chain, "fib saddr type local", t->mark,
                nft_comment(t->arena, "masquerade local traffic"));
        KS_RULE(&t->chains, chain, "fib saddr type local", to_cluster,
                nft_comment(t->arena, "short-circuit local traffic"));
    }
    if (x->is.has_external) {
        KS_RULE(&t->chains, chain, "goto",
                x->p->external_local ? x->names.local : x->names.service);
    }
}

static void firewall_chain(struct nft_service *x)
{
    struct arena *a = x->t->arena;
    const char **sources = ARENA_ARRAY(a, const char *, x->p->n_source_ranges + x->p->n_lb_vips);
    size_t n = 0;
    for (size_t i = 0; i < x->p->n_source_ranges; i++) {
        sources[n++] = ks_net_text(a, &x->p->source_ranges[i]);
    }
    for (size_t i = 0; i < x->p->n_lb_vips && x->is.node_allowed; i++) {
        sources[n++] = ks_ip_text(a, &x->p->lb_vips[i]);
    }
    size_t chain = ks_group_new(&x->t->chains, x->names.firewall, NULL);
    KS_RULE(&x->t->chains, chain, x->t->ip, "saddr != {", str_join(a, sources, n, " , "), "} drop");
}

static const char *endpoint_name(struct nft_service *x, const struct ks_endpoint *e, bool affinity)
{
    const struct ks_port *p = x->p;
    return (affinity ? ks_nftables_affinity : ks_nftables_endpoint)(
        x->t->arena, p->ns, p->name, p->port_name, p->proto, e->text);
}

/* One rule that rewrites the destination to any of a list. */
static void choose_address(struct nft_service *x, size_t chain, const struct ks_list *list)
{
    _cleanup_(str_buf_done) struct str_buf map = STR_BUF_INIT;
    for (size_t i = 0; i < list->n; i++) {
        char ip[IP_TEXT_MAX];
        ip_format(&list->items[i]->ip, ip);
        str_appendf(&map, "%s%zu : %s . %d", i == 0 ? "" : " , ", i, ip, (int)list->items[i]->port);
    }
    ks_group_add(&x->t->chains, chain,
                 arena_printf(x->t->arena,
                              "meta l4proto %s dnat %s addr . port to numgen random mod %zu map "
                              "{ %s }",
                              x->p->proto, x->t->ip, list->n, str_buf_text(&map)));
}

/* With affinity: the endpoint that this client had, else any chain of the list. */
static void choose_chain(struct nft_service *x, size_t chain, const struct ks_list *list)
{
    _cleanup_(str_buf_done) struct str_buf map = STR_BUF_INIT;
    for (size_t i = 0; i < list->n; i++) {
        const char *name = endpoint_name(x, list->items[i], false);
        KS_RULE(&x->t->chains, chain, x->t->ip, "saddr",
                arena_printf(x->t->arena, "@%s", endpoint_name(x, list->items[i], true)), "goto",
                name);
        str_appendf(&map, "%s%zu : goto %s", i == 0 ? "" : " , ", i, name);
    }
    ks_group_add(&x->t->chains, chain,
                 arena_printf(x->t->arena, "numgen random mod %zu vmap { %s }", list->n,
                              str_buf_text(&map)));
}

static void policy_chain(struct nft_service *x, const char *name, const struct ks_list *list)
{
    size_t chain = ks_group_new(&x->t->chains, name, NULL);
    (x->p->affinity_s != 0 ? choose_chain : choose_address)(x, chain, list);
}

/* The chain of an endpoint and the set of its clients: only with affinity. */
static void endpoint_chain(struct nft_service *x, const struct ks_endpoint *e)
{
    struct nft *t = x->t;
    const char *clients = endpoint_name(x, e, true);
    const char *type = t->world->config.family == KS_IPV6 ? "ipv6_addr" : "ipv4_addr";
    size_t chain = ks_group_new(&t->chains, endpoint_name(x, e, false), NULL);
    ks_group_new(&t->sets, clients,
                 arena_printf(t->arena, "{ type %s ; flags dynamic,timeout ; timeout %ds ; }", type,
                              (int)x->p->affinity_s));
    KS_RULE(&t->chains, chain, arena_printf(t->arena, "update @%s { %s saddr }", clients, t->ip));
    KS_RULE(&t->chains, chain, "meta l4proto", x->p->proto, "dnat to", e->text);
}

static void reachable(struct nft_service *x)
{
    struct arena *a = x->t->arena;
    for (size_t i = 0; i < x->p->reachable.n; i++) {
        const struct ks_endpoint *e = x->p->reachable.items[i];
        if (x->p->affinity_s != 0) {
            endpoint_chain(x, e);
        }
        if (e->local) {
            ks_group_add(&x->t->sets, NFT_SET_HAIRPIN_CONNECTIONS,
                         KS_WORDS(a, ks_ip_text(a, &e->ip), ".", key(x, &e->ip, e->port)));
        }
    }
}

void nft_port(struct nft *t, const struct ks_port *p)
{
    struct nft_service x = {
        .t = t,
        .p = p,
        .is = ks_exists_of(t->world, p),
        .names = ks_nftables_names(t->arena, p->ns, p->name, p->port_name, p->proto),
        .end = p->has_any ? "drop" : "goto reject-chain",
    };
    destinations(&x);
    if (x.is.external) {
        external_chain(&x);
    }
    if (x.is.restricted) {
        firewall_chain(&x);
    }
    if (x.is.cluster) {
        policy_chain(&x, x.names.service, &p->cluster);
    }
    if (x.is.local) {
        policy_chain(&x, x.names.local, &p->local);
    }
    reachable(&x);
}
