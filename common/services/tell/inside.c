/* SPDX-License-Identifier: Apache-2.0 */
/* inside.c: counts what is behind a Service, and adds up the shares of traffic; see inside.h.
 *
 * What a node's list of pods is follows from the rules of node/lists.c, here for all nodes
 * together: a pod's share is what it gets from nodes that it is hinted for by name, from those of
 * the zones that it is hinted for, and from all others.  Asking the tracer at each node costs nodes
 * times endpoints; this costs their sum. */
#include "common/services/tell/inside.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/map.h"
#include "common/services/node/endpoints.h"

/* One node of the cluster, or one that only endpoints name. */
struct place {
    const struct ks_node *node; /* NULL: its Node is not there */
    struct ks_inside_node out;
    double weight;   /* at the load balancer; 0: it gets nothing */
    double hinted;   /* ready endpoints that are hinted for it by name */
    bool by_name;    /* it uses those alone */
    bool has_pods;   /* some endpoint is on it */
    int64_t counted; /* ready addresses, for its health check */
};
struct zone {
    double hinted; /* ready endpoints that are hinted for it */
    double weight; /* of its nodes that do not go by name */
};
struct family {
    struct arena *a;
    const struct ks_inside_input *in;
    const struct ks_endpoint_group *group; /* NULL: the Service has no endpoint for any port */
    struct place *places;
    struct zone *zones;
    struct map *place_at; /* name → index + 1 */
    struct map *zone_at;  /* name → index + 1 */
    size_t n_places;
    size_t n_zones;
    bool local;
    bool asks; /* the load balancer's health check asks for ready pods */
    struct ks_inside_family out;
};

static bool is_draining(const struct ks_endpoint *e)
{
    return !e->ready && e->serving && e->terminating;
}

static struct place *place_of(struct family *f, const char *name)
{
    size_t at = (size_t)(uintptr_t)map_get(f->place_at, name);
    return at == 0 ? NULL : &f->places[at - 1];
}

static struct zone *zone_of(struct family *f, const char *name)
{
    size_t at = *name == '\0' ? 0 : (size_t)(uintptr_t)map_get(f->zone_at, name);
    return at == 0 ? NULL : &f->zones[at - 1];
}

static void add_zone(struct family *f, const char *name)
{
    if (*name != '\0' && !map_has(f->zone_at, name)) {
        f->n_zones++;
        map_set(f->zone_at, name, (void *)(uintptr_t)f->n_zones);
    }
}

/* ---- places ---------------------------------------------------------------------------------- */

static const char *left_out_of(const struct ks_inside_input *in, const char *node)
{
    size_t low = 0;
    for (size_t high = in->n_backends; low < high;) {
        size_t mid = low + (high - low) / 2;
        int c = strcmp(in->backends[mid].node, node);
        if (c == 0) {
            return in->backends[mid].left_out;
        }
        low = c < 0 ? mid + 1 : low;
        high = c < 0 ? high : mid;
    }
    return in->n_backends == 0 ? NULL : "the load balancer does not know it";
}

static struct place *add_place(struct family *f, const char *name)
{
    struct place *p = &f->places[f->n_places++];
    map_set(f->place_at, name, (void *)(uintptr_t)f->n_places);
    p->out = (struct ks_inside_node){.name = name, .zone = "", .weight = -1};
    return p;
}

static void make_places(struct family *f)
{
    const struct ks_inside_input *in = f->in;
    size_t n = f->group == NULL ? 0 : f->group->n;
    f->places = ARENA_ARRAY(f->a, struct place, in->n_nodes + n);
    for (size_t i = 0; i < in->n_nodes; i++) {
        const struct ks_node *node = in->nodes[i];
        if (place_of(f, node->meta.name) != NULL) {
            continue;
        }
        struct place *p = add_place(f, node->meta.name);
        p->node = node;
        p->out.zone = node->zone;
        p->out.left_out = left_out_of(in, node->meta.name);
        add_zone(f, node->zone);
    }
    for (size_t i = 0; i < n; i++) {
        const struct ks_endpoint *e = &f->group->items[i];
        if (*e->node_name != '\0' && place_of(f, e->node_name) == NULL) {
            struct place *p = add_place(f, e->node_name);
            p->out.zone = e->zone;
            p->out.left_out = "no Node has this name";
        }
        for (size_t k = 0; k < e->n_zone_hints; k++) {
            add_zone(f, e->zone_hints[k]);
        }
    }
    f->zones = ARENA_ARRAY(f->a, struct zone, f->n_zones);
}

/* ---- counting -------------------------------------------------------------------------------- */

static void count_endpoint(struct family *f, const struct ks_endpoint *e)
{
    struct place *p = place_of(f, e->node_name);
    f->out.ready += e->ready;
    f->out.draining += is_draining(e);
    f->out.not_ready += !e->ready && !is_draining(e);
    if (p != NULL) {
        p->has_pods = true;
        p->out.ready += e->ready;
        p->out.draining += is_draining(e);
    }
    for (size_t k = 0; e->ready && k < e->n_node_hints; k++) {
        struct place *hinted = place_of(f, e->node_hints[k]);
        if (hinted != NULL) {
            hinted->hinted++;
        }
    }
    for (size_t k = 0; e->ready && k < e->n_zone_hints; k++) {
        struct zone *z = zone_of(f, e->zone_hints[k]);
        if (z != NULL) {
            z->hinted++;
        }
    }
}

static int cmp_endpoint(const void *x, const void *y)
{
    const struct ks_endpoint *a = *(const struct ks_endpoint *const *)x;
    const struct ks_endpoint *b = *(const struct ks_endpoint *const *)y;
    int c = strcmp(a->node_name, b->node_name);
    return c != 0 ? c : memcmp(&a->ip, &b->ip, sizeof(a->ip));
}

/* The health check counts distinct addresses of ready endpoints over all ports. */
static void count_health(struct family *f, const struct ks_service_endpoints *all)
{
    if (!f->asks) {
        return;
    }
    size_t n = 0;
    const struct ks_endpoint **ready =
        ARENA_ARRAY(f->a, const struct ks_endpoint *, all->n_endpoints);
    for (size_t g = 0; g < all->n_groups; g++) {
        for (size_t i = 0; i < all->groups[g].n; i++) {
            const struct ks_endpoint *e = &all->groups[g].items[i];
            if (e->ready && *e->node_name != '\0') {
                ready[n++] = e;
            }
        }
    }
    if (n > 0) {
        qsort(ready, n, sizeof(*ready), cmp_endpoint);
    }
    for (size_t i = 0; i < n; i++) {
        struct place *p = place_of(f, ready[i]->node_name);
        if (p != NULL && (i == 0 || cmp_endpoint(&ready[i - 1], &ready[i]) != 0)) {
            p->counted++;
        }
    }
    for (size_t i = 0; i < f->n_places && f->in->service->health_check_node_port != 0; i++) {
        f->places[i].out.weight = f->places[i].counted;
    }
}

/* ---- shares ---------------------------------------------------------------------------------- */

/* The share that comes to each node by the load balancer. */
static void weigh(struct family *f)
{
    struct ks_node_weight *nodes = ARENA_ARRAY(f->a, struct ks_node_weight, f->n_places);
    for (size_t i = 0; i < f->n_places; i++) {
        const struct place *p = &f->places[i];
        nodes[i].left_out = p->out.left_out != NULL;
        nodes[i].ready = f->asks ? p->counted : -1;
        f->out.n_empty += p->out.left_out == NULL && p->out.ready == 0;
    }
    f->out.weighed = ks_weigh(nodes, f->n_places, &f->in->balance);
    for (size_t i = 0; i < f->n_places; i++) {
        f->places[i].weight = nodes[i].share;
        f->places[i].out.traffic = nodes[i].share;
        f->out.n_serving += nodes[i].share > 0;
    }
}

/* True when each ready endpoint has hints of the kind. */
static bool all_hinted(const struct family *f, bool by_node)
{
    for (size_t i = 0; i < f->group->n; i++) {
        const struct ks_endpoint *e = &f->group->items[i];
        if (e->ready && (by_node ? e->n_node_hints : e->n_zone_hints) == 0) {
            return false;
        }
    }
    return f->out.ready > 0;
}

/* Divides the nodes among those that go by node, by zone, and by nothing; returns the weight
 * of the last. */
static double divide(struct family *f)
{
    bool by_node = all_hinted(f, true);
    bool by_zone = all_hinted(f, false);
    double rest = 0;
    for (size_t i = 0; i < f->n_places; i++) {
        struct place *p = &f->places[i];
        struct zone *z = by_zone ? zone_of(f, p->out.zone) : NULL;
        p->by_name = by_node && p->hinted > 0;
        if (p->by_name) {
            continue;
        }
        if (z != NULL && z->hinted > 0) {
            z->weight += p->weight;
        } else {
            rest += p->weight;
        }
    }
    return rest;
}

static double cluster_share(struct family *f, const struct ks_endpoint *e, double rest)
{
    double share = f->out.ready > 0 ? rest / (double)f->out.ready : 0;
    for (size_t k = 0; k < e->n_node_hints; k++) {
        const struct place *p = place_of(f, e->node_hints[k]);
        share += p != NULL && p->by_name ? p->weight / p->hinted : 0;
    }
    for (size_t k = 0; k < e->n_zone_hints; k++) {
        const struct zone *z = zone_of(f, e->zone_hints[k]);
        share += z != NULL && z->hinted > 0 ? z->weight / z->hinted : 0;
    }
    return share;
}

static double share_of(struct family *f, const struct ks_endpoint *e, double rest)
{
    if (f->local) {
        const struct place *p = place_of(f, e->node_name);
        bool none_ready = p != NULL && p->out.ready == 0;
        if (p == NULL || (none_ready ? !is_draining(e) : !e->ready)) {
            return 0;
        }
        return p->weight / (double)(none_ready ? p->out.draining : p->out.ready);
    }
    if (f->out.ready == 0) { /* those that terminate and still serve are all that is left */
        return is_draining(e) ? rest / (double)f->out.draining : 0;
    }
    return e->ready ? cluster_share(f, e, rest) : 0;
}

static void share_out(struct family *f)
{
    double rest = divide(f);
    struct ks_inside_pod *pods = ARENA_ARRAY(f->a, struct ks_inside_pod, f->group->n);
    for (size_t i = 0; i < f->group->n; i++) {
        const struct ks_endpoint *e = &f->group->items[i];
        if (!e->ready && !is_draining(e)) {
            continue;
        }
        struct ks_inside_pod *p = &pods[f->out.n_pods++];
        struct place *at = place_of(f, e->node_name);
        *p = (struct ks_inside_pod){.address = e->text,
                                    .pod = e->ref == NULL ? "" : str_nonnull(e->ref->name),
                                    .node = e->node_name,
                                    .share = share_of(f, e, rest),
                                    .draining = !e->ready};
        f->out.has_shares |= p->share > 0;
        if (at != NULL) {
            at->out.pods += p->share;
        }
    }
    f->out.pods = pods;
}

/* ---- a family -------------------------------------------------------------------------------- */

static int cmp_node(const void *x, const void *y)
{
    return strcmp(((const struct ks_inside_node *)x)->name,
                  ((const struct ks_inside_node *)y)->name);
}

static void keep_nodes(struct family *f)
{
    struct ks_inside_node *nodes = ARENA_ARRAY(f->a, struct ks_inside_node, f->n_places);
    for (size_t i = 0; i < f->n_places; i++) {
        if (f->places[i].has_pods) {
            nodes[f->out.n_nodes++] = f->places[i].out;
        }
    }
    if (f->out.n_nodes > 0) {
        qsort(nodes, f->out.n_nodes, sizeof(*nodes), cmp_node);
    }
    f->out.nodes = nodes;
}

/* The group of the first port of the Service that has one. */
static void choose_group(struct family *f, const struct ks_service_endpoints *all)
{
    const struct ks_service *s = f->in->service;
    for (size_t i = 0; i < s->n_ports; i++) {
        const struct ks_service_port *port = &s->ports[i];
        const struct ks_endpoint_group *g = ks_endpoint_group(all, port->name, port->protocol);
        if (f->group == NULL && g != NULL) {
            f->group = g;
            f->out.port = *port->name != '\0'
                              ? port->name
                              : arena_printf(f->a, "%d/%s", port->port, port->protocol);
        }
        f->out.differs |= (g == NULL ? 0 : g->n) != (f->group == NULL ? 0 : f->group->n);
    }
}

static struct ks_inside_family make_family(struct arena *a, const struct ks_inside_input *in,
                                           enum ks_family family, bool local)
{
    struct family f = {.a = a,
                       .in = in,
                       .place_at = map_new(NULL),
                       .zone_at = map_new(NULL),
                       .local = local,
                       .asks = local && ks_asks_for_pods(in->service),
                       .out = {.family = family, .has_topology = in->has_hints}};
    struct ks_node_config config = ks_node_config_default(family);
    size_t n = 0;
    config.name = "";
    const struct ks_slice **slices = ks_slices_sorted(a, family, in->slices, in->n_slices, &n);
    const struct ks_service_endpoints all =
        ks_service_endpoints(a, &config, slices, n, KS_ENDPOINTS_MAX);
    choose_group(&f, &all);
    make_places(&f);
    for (size_t i = 0; f.group != NULL && i < f.group->n; i++) {
        count_endpoint(&f, &f.group->items[i]);
    }
    count_health(&f, &all);
    weigh(&f);
    if (f.group != NULL) {
        share_out(&f);
    }
    keep_nodes(&f);
    f.out.topology = ks_topology_explain(a, in->service, family, in->nodes, in->n_nodes, in->slices,
                                         in->n_slices);
    if (in->has_pods) {
        f.out.roles =
            ks_pods_explain(a, in->service, family, in->pods, in->n_pods, in->nodes, in->n_nodes);
    }
    map_free(f.place_at);
    map_free(f.zone_at);
    return f.out;
}

static bool has_family(const struct ks_inside_input *in, enum ks_family family)
{
    for (size_t i = 0; i < in->n_slices; i++) {
        if (str_eq(in->slices[i]->address_type, family == KS_IPV4 ? "IPv4" : "IPv6")) {
            return true;
        }
    }
    return false;
}

void ks_inside_set_source(struct ks_inside *x, bool local)
{
    x->local = local;
    x->source = local ? KS_SOURCE_KEPT : KS_SOURCE_NODE;
    x->source_text = local
                         ? "nodes keep it (policy Local): pods see the address that comes from the "
                           "load balancer"
                         : "nodes replace it (policy Cluster): pods see the address of the node "
                           "that took the packet";
}

const struct ks_inside *ks_inside_make(struct arena *a, const struct ks_inside_input *in)
{
    static const enum ks_family families[] = {KS_IPV4, KS_IPV6};
    struct ks_inside *x = ARENA_NEW(a, struct ks_inside);
    struct ks_inside_family *all = ARENA_ARRAY(a, struct ks_inside_family, ARRAY_LEN(families));
    *x = (struct ks_inside){.service = in->service,
                            .families = all,
                            .weighted = in->balance.weighted,
                            .has_pods = in->has_pods};
    ks_inside_set_source(x, str_eq(in->service->external_policy, "Local"));
    for (size_t i = 0; i < ARRAY_LEN(families); i++) {
        if (has_family(in, families[i])) {
            all[x->n_families++] = make_family(a, in, families[i], x->local);
        }
    }
    return x->n_families == 0 ? NULL : x;
}
