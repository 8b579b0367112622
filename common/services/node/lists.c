/* SPDX-License-Identifier: Apache-2.0 */
/* lists.c: which endpoints of a service port a node uses; see ports.h.
 *
 * Two lists that fall back independently: `cluster` for traffic that may go anywhere, thinned out
 * by topology hints, and `local` for policy Local, which hints never touch.
 * Source: kube-proxy 1.36, topology.go. */
#include "common/services/node/ports.h"

#include "common/base/strset.h"

static bool has_name(const char **names, size_t n, const char *name)
{
    struct str_set set = {.items = names, .n = n};
    return str_set_has(&set, name);
}

/* True when hints of zones (of nodes) are obeyed by the zone (the node) `name`: every ready
 * endpoint has one, and one of them names it. */
static bool is_hinted(const struct ks_port *p, bool by_node, const char *name)
{
    bool named = false;
    for (size_t i = 0; i < p->n_endpoints; i++) {
        const struct ks_endpoint *e = &p->endpoints[i];
        size_t n = by_node ? e->n_node_hints : e->n_zone_hints;
        if (e->ready && n == 0) {
            return false;
        }
        named = named || (e->ready && has_name(by_node ? e->node_hints : e->zone_hints, n, name));
    }
    return named;
}

static enum ks_topology topology_of(const struct ks_node_config *config, const struct ks_port *p)
{
    if (is_hinted(p, true, config->name)) {
        return KS_TOPOLOGY_NODE;
    }
    bool has_zone = *config->zone != '\0';
    return has_zone && is_hinted(p, false, config->zone) ? KS_TOPOLOGY_ZONE : KS_TOPOLOGY_NONE;
}

static bool is_admitted(const struct ks_node_config *config, enum ks_topology topology,
                        const struct ks_endpoint *e)
{
    switch (topology) {
    case KS_TOPOLOGY_NODE:
        return has_name(e->node_hints, e->n_node_hints, config->name);
    case KS_TOPOLOGY_ZONE:
        return has_name(e->zone_hints, e->n_zone_hints, config->zone);
    case KS_TOPOLOGY_NONE:
        break;
    }
    return true;
}

static bool still_serves(const struct ks_endpoint *e)
{
    return e->serving && e->terminating;
}

/* Collects a list; the array has room for all endpoints. */
struct list_builder {
    const struct ks_endpoint **items;
    size_t n;
};

static struct list_builder list_new(struct arena *a, const struct ks_port *p)
{
    return (struct list_builder){.items =
                                     ARENA_ARRAY(a, const struct ks_endpoint *, p->n_endpoints)};
}

static struct ks_list list_done(const struct list_builder *b)
{
    return (struct ks_list){.items = b->items, .n = b->n};
}

void ks_port_cluster(struct arena *a, const struct ks_node_config *config,
                     enum ks_topology topology, struct ks_port *p)
{
    struct list_builder list = list_new(a, p);
    p->topology = topology;
    for (size_t i = 0; i < p->n_endpoints; i++) {
        if (p->endpoints[i].ready && is_admitted(config, p->topology, &p->endpoints[i])) {
            list.items[list.n++] = &p->endpoints[i];
        }
    }
    bool fall_back = list.n == 0; /* only when none is ready: a mode admits at least one */
    for (size_t i = 0; i < p->n_endpoints && fall_back; i++) {
        if (still_serves(&p->endpoints[i])) {
            list.items[list.n++] = &p->endpoints[i];
        }
    }
    p->cluster = list_done(&list);
    p->cluster_fell_back = fall_back && list.n > 0;
    p->has_any = list.n > 0;
}

static void find_local(struct arena *a, struct ks_port *p)
{
    bool any_ready = false;
    p->has_any = false;
    for (size_t i = 0; i < p->n_endpoints; i++) {
        const struct ks_endpoint *e = &p->endpoints[i];
        any_ready = any_ready || (e->local && e->ready);
        p->has_any = p->has_any || e->ready || still_serves(e);
    }
    struct list_builder list = list_new(a, p);
    for (size_t i = 0; i < p->n_endpoints; i++) {
        const struct ks_endpoint *e = &p->endpoints[i];
        if (e->local && (any_ready ? e->ready : still_serves(e))) {
            list.items[list.n++] = e;
        }
    }
    p->local = list_done(&list);
    p->local_fell_back = !any_ready && list.n > 0;
}

/* Both lists hold their endpoints in the order of the array, so that one walk merges them. */
static struct ks_list unite(struct arena *a, const struct ks_port *p)
{
    struct list_builder list = list_new(a, p);
    size_t c = 0;
    size_t l = 0;
    while (c < p->cluster.n || l < p->local.n) {
        bool take_local =
            c == p->cluster.n || (l < p->local.n && p->local.items[l] < p->cluster.items[c]);
        const struct ks_endpoint *e = take_local ? p->local.items[l] : p->cluster.items[c];
        c += c < p->cluster.n && p->cluster.items[c] == e ? 1 : 0;
        l += l < p->local.n && p->local.items[l] == e ? 1 : 0;
        list.items[list.n++] = e;
    }
    return list_done(&list);
}

void ks_port_lists(struct arena *a, const struct ks_node_config *config, struct ks_port *p)
{
    if (p->n_endpoints == 0) {
        return;
    }
    if (p->uses_cluster) {
        ks_port_cluster(a, config, topology_of(config, p), p);
    }
    if (p->uses_local) {
        find_local(a, p);
    }
    (void)ks_port_reachable(a, p);
}

size_t ks_port_reachable(struct arena *a, struct ks_port *p)
{
    if (!p->uses_cluster) {
        p->reachable = p->local;
    } else if (!p->uses_local || p->local.n == 0 ||
               (p->topology == KS_TOPOLOGY_NONE && !p->local_fell_back)) {
        p->reachable = p->cluster;
    } else {
        p->reachable = unite(a, p);
        return p->cluster.n + p->local.n;
    }
    return 0;
}

bool ks_has_external(const struct ks_port *p)
{
    return p->has_any && !(p->external_local && p->local.n == 0);
}

bool ks_has_internal(const struct ks_port *p)
{
    return p->has_any && !(p->internal_local && p->local.n == 0);
}
