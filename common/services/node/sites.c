/* SPDX-License-Identifier: Apache-2.0 */
/* sites.c: one world, moved from node to node by an index of endpoints; see sites.h. */
#include "common/services/node/sites.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/map.h"
#include "common/base/str.h"
#include "common/services/node/endpoints.h"
#include "common/services/node/ports.h"

/* Stands for the port of an endpoint that no port of the Service uses. */
#define NO_PORT SIZE_MAX

/* An endpoint under a name: that of the node that it is on, of a node that its hints name, or
 * of a zone. */
struct site {
    const char *name;
    struct ks_endpoint *endpoint;
    size_t service; /* in world.services */
    size_t port;    /* in world.ports; NO_PORT: none uses it */
};
struct index {
    /* sorted by name, then by place in memory, which is the order of each port */
    struct site *items;
    size_t n;
};
struct range {
    const struct site *items;
    size_t n;
};

/* Numbers of ports. */
struct numbers {
    size_t *items;
    size_t n;
};
/* The cluster lists of a zone's nodes, of the ports that have hints for the zone. */
struct zone {
    struct numbers ports;
    struct ks_list *lists; /* by place in `ports` */
};
/* Facts of a port that hold on every node. */
struct fixed {
    struct ks_list plain; /* the cluster list without hints */
    bool fell_back;
    bool has_any;
    bool names_nodes;     /* every ready endpoint has hints of nodes */
    bool names_zones;     /* … of zones */
    struct ks_list *zone; /* the list of the zone at which the world stands; NULL: `plain` */
    size_t moved;         /* the move that last made its lists again */
};

struct ks_sites {
    struct arena *a;
    struct ks_world world;
    struct ks_port *ports;
    struct fixed *fixed; /* by port */
    struct ks_service_health *healths;
    struct numbers checked; /* services that have a health check node port */
    struct index by_node;
    struct index by_hint;  /* of ready endpoints */
    struct index by_zone;  /* of ready endpoints */
    struct range here;     /* of the node at which the world stands */
    struct map *zones;     /* name → struct zone */
    struct zone *zone;     /* at which the world stands; NULL: before the first move */
    struct numbers own;    /* ports that have lists of this node alone */
    struct numbers moving; /* ports whose lists a move makes again */
    size_t n_moves;
    size_t n_looked_at;
};

/* ---- the index ------------------------------------------------------------------------------- */

static int compare_places(const struct ks_endpoint *x, const struct ks_endpoint *y)
{
    return ((uintptr_t)x > (uintptr_t)y) - ((uintptr_t)x < (uintptr_t)y);
}

static int compare_sites(const void *a, const void *b)
{
    const struct site *x = a;
    const struct site *y = b;
    int order = strcmp(x->name, y->name);
    return order != 0 ? order : compare_places(x->endpoint, y->endpoint);
}

static size_t lower_bound(const struct site *items, size_t n, const struct site *key)
{
    size_t low = 0;
    for (size_t high = n; low < high;) {
        size_t mid = low + (high - low) / 2;
        bool before = compare_sites(&items[mid], key) < 0;
        low = before ? mid + 1 : low;
        high = before ? high : mid;
    }
    return low;
}

static struct range of_name(const struct index *index, const char *name)
{
    size_t from = lower_bound(index->items, index->n, &(struct site){.name = name});
    size_t end = from;
    while (end < index->n && str_eq(index->items[end].name, name)) {
        end++;
    }
    return (struct range){.items = index->items + from, .n = end - from};
}

/* The part of a name's range that is of one port. */
static struct range of_port(struct range r, const struct ks_port *p)
{
    if (r.n == 0) {
        return r;
    }
    struct site key = {.name = r.items[0].name, .endpoint = p->endpoints};
    size_t from = lower_bound(r.items, r.n, &key);
    key.endpoint = p->endpoints + p->n_endpoints;
    size_t end = lower_bound(r.items, r.n, &key);
    return (struct range){.items = r.items + from, .n = end - from};
}

/* Adds an entry; counts alone when the array is not there yet. */
static void add_site(struct index *index, struct site site)
{
    if (index->items != NULL) {
        index->items[index->n] = site;
    }
    index->n++;
}

static void index_group(struct ks_sites *s, const struct ks_endpoint_group *group, size_t service,
                        size_t port)
{
    for (size_t i = 0; i < group->n; i++) {
        struct ks_endpoint *e = &group->items[i];
        if (*e->node_name != '\0') {
            add_site(&s->by_node, (struct site){e->node_name, e, service, port});
        }
        bool hinted = e->ready && port != NO_PORT;
        for (size_t h = 0; hinted && h < e->n_node_hints && s->fixed[port].names_nodes; h++) {
            add_site(&s->by_hint, (struct site){e->node_hints[h], e, service, port});
        }
        for (size_t h = 0; hinted && h < e->n_zone_hints && s->fixed[port].names_zones; h++) {
            add_site(&s->by_zone, (struct site){e->zone_hints[h], e, service, port});
        }
    }
    s->n_looked_at += group->n;
}

static int compare_group(const struct ks_port *p, const struct ks_endpoint_group *group)
{
    int order = strcmp(p->port_name, group->port_name);
    return order != 0 ? order : strcmp(p->protocol, group->protocol);
}

/* Ports and Services are in one order, and so are the ports and the groups of a Service. */
static void index_all(struct ks_sites *s)
{
    size_t port = 0;
    for (size_t i = 0; i < s->world.n_services; i++) {
        const struct ks_service_endpoints *of = &s->world.services[i].endpoints;
        const struct ks_service *service = s->ports[port].service;
        size_t end = port;
        while (end < s->world.n_ports && s->ports[end].service == service) {
            end++;
        }
        for (size_t g = 0; g < of->n_groups; g++) {
            const struct ks_endpoint_group *group = &of->groups[g];
            while (port < end && compare_group(&s->ports[port], group) < 0) {
                port++;
            }
            bool used = port < end && compare_group(&s->ports[port], group) == 0;
            index_group(s, group, i, used ? port : NO_PORT);
        }
        port = end;
    }
}

static void make_index(struct ks_sites *s)
{
    struct index *const all[] = {&s->by_node, &s->by_hint, &s->by_zone};
    index_all(s);
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        all[i]->items = ARENA_ARRAY(s->a, struct site, all[i]->n);
        all[i]->n = 0;
    }
    index_all(s);
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        if (all[i]->n > 1) {
            qsort(all[i]->items, all[i]->n, sizeof(struct site), compare_sites);
        }
    }
}

/* ---- the lists of a port --------------------------------------------------------------------- */

/* Gives a port the lists that it has on a node of the zone that no endpoint is on and
 * no hint names. */
static void set_port(struct ks_sites *s, struct arena *scratch, size_t i)
{
    struct ks_port *p = &s->ports[i];
    const struct fixed *f = &s->fixed[i];
    if (p->n_endpoints > 0 && p->uses_cluster) {
        p->topology = f->zone != NULL ? KS_TOPOLOGY_ZONE : KS_TOPOLOGY_NONE;
        p->cluster = f->zone != NULL ? *f->zone : f->plain;
        p->cluster_fell_back = f->zone == NULL && f->fell_back;
    }
    p->local = (struct ks_list){0};
    p->local_fell_back = false;
    p->has_any = f->has_any;
    s->n_looked_at += 1 + ks_port_reachable(scratch, p);
}

static void set_hinted(struct ks_sites *s, struct arena *scratch, struct ks_port *p,
                       struct range own)
{
    const struct ks_endpoint **items = ARENA_ARRAY(scratch, const struct ks_endpoint *, own.n);
    for (size_t k = 0; k < own.n; k++) {
        items[k] = own.items[k].endpoint;
    }
    p->topology = KS_TOPOLOGY_NODE;
    p->cluster = (struct ks_list){.items = items, .n = own.n};
    p->cluster_fell_back = false;
    s->n_looked_at += own.n;
}

static void set_local(struct ks_sites *s, struct arena *scratch, struct ks_port *p,
                      struct range own)
{
    const struct ks_endpoint **items = ARENA_ARRAY(scratch, const struct ks_endpoint *, own.n);
    bool any_ready = false;
    size_t n = 0;
    for (size_t k = 0; k < own.n; k++) {
        any_ready = any_ready || own.items[k].endpoint->ready;
    }
    for (size_t k = 0; k < own.n; k++) {
        const struct ks_endpoint *e = own.items[k].endpoint;
        if (any_ready ? e->ready : e->serving && e->terminating) {
            items[n++] = e;
        }
    }
    p->local = (struct ks_list){.items = items, .n = n};
    p->local_fell_back = !any_ready && n > 0;
    s->n_looked_at += own.n;
}

/* Adds the lists of this node alone. */
static void set_own(struct ks_sites *s, struct arena *scratch, size_t i, struct range hinted)
{
    struct ks_port *p = &s->ports[i];
    struct range names = of_port(hinted, p);
    if (p->uses_cluster && names.n > 0) {
        set_hinted(s, scratch, p, names);
    }
    if (p->uses_local) {
        set_local(s, scratch, p, of_port(s->here, p));
    }
    s->n_looked_at += ks_port_reachable(scratch, p);
}

/* ---- making ---------------------------------------------------------------------------------- */

static void find_hints(const struct ks_port *p, struct fixed *f)
{
    f->names_nodes = true;
    f->names_zones = true;
    for (size_t i = 0; i < p->n_endpoints; i++) {
        const struct ks_endpoint *e = &p->endpoints[i];
        f->names_nodes &= !e->ready || e->n_node_hints > 0;
        f->names_zones &= !e->ready || e->n_zone_hints > 0;
    }
}

static void fix_port(struct ks_sites *s, size_t i)
{
    struct ks_port *p = &s->ports[i];
    struct fixed *f = &s->fixed[i];
    f->has_any = p->has_any;
    if (p->uses_cluster && p->n_endpoints > 0) {
        bool has_any = p->has_any;
        ks_port_cluster(s->a, &s->world.config, KS_TOPOLOGY_NONE, p);
        f->plain = p->cluster;
        f->fell_back = p->cluster_fell_back;
        f->has_any = p->uses_local ? has_any : p->has_any;
        find_hints(p, f);
        s->n_looked_at += p->n_endpoints;
    }
}

static void free_map(void *map)
{
    map_free(map);
}

struct ks_sites *ks_sites_make(struct arena *a, enum ks_family family,
                               const struct ks_service *const *services, size_t n_services,
                               const struct ks_slice *const *slices, size_t n_slices)
{
    struct ks_sites *s = ARENA_NEW(a, struct ks_sites);
    const struct ks_node_config nowhere = {.name = "", .zone = "", .ip = "", .family = family};
    const struct ks_world *w = ks_world_make(a, &nowhere, services, n_services, slices, n_slices);
    *s = (struct ks_sites){.a = a, .world = *w, .zones = map_new(NULL)};
    arena_defer(a, free_map, s->zones);
    s->ports = ARENA_ARRAY(a, struct ks_port, w->n_ports + 1);
    s->fixed = ARENA_ARRAY(a, struct fixed, w->n_ports);
    s->healths = ARENA_ARRAY(a, struct ks_service_health, w->n_services);
    s->checked.items = ARENA_ARRAY(a, size_t, w->n_services);
    s->own.items = ARENA_ARRAY(a, size_t, 2 * w->n_ports); /* by place, and by hint */
    s->moving.items = ARENA_ARRAY(a, size_t, w->n_ports);
    s->world.ports = s->ports;
    s->world.healths = s->healths;
    for (size_t i = 0; i < w->n_services; i++) {
        if (w->services[i].health.port != 0) {
            s->checked.items[s->checked.n++] = i;
        }
    }
    for (size_t i = 0; i < w->n_ports; i++) {
        s->ports[i] = w->ports[i];
        fix_port(s, i);
        set_port(s, a, i);
    }
    make_index(s);
    return s;
}

/* ---- moving ---------------------------------------------------------------------------------- */

static void mark(struct ks_sites *s, bool local)
{
    for (size_t i = 0; i < s->here.n; i++) {
        s->here.items[i].endpoint->local = local;
    }
    s->n_looked_at += s->here.n;
}

/* Notes that a port gets its lists again in this move. */
static void move_port(struct ks_sites *s, size_t i)
{
    if (s->fixed[i].moved != s->n_moves) {
        s->fixed[i].moved = s->n_moves;
        s->moving.items[s->moving.n++] = i;
    }
}

/* Makes the lists of a zone.  The entries of a port stand together. */
static struct zone *make_zone(struct ks_sites *s, const char *name)
{
    struct zone *z = ARENA_NEW(s->a, struct zone);
    struct range all = *name == '\0' ? (struct range){0} : of_name(&s->by_zone, name);
    const struct ks_endpoint **items = ARENA_ARRAY(s->a, const struct ks_endpoint *, all.n);
    z->ports.items = ARENA_ARRAY(s->a, size_t, all.n);
    z->lists = ARENA_ARRAY(s->a, struct ks_list, all.n);
    for (size_t k = 0; k < all.n; k++) {
        size_t port = all.items[k].port;
        items[k] = all.items[k].endpoint;
        if (k == 0 || port != all.items[k - 1].port) {
            z->ports.items[z->ports.n] = port;
            z->lists[z->ports.n++] = (struct ks_list){.items = &items[k]};
        }
        z->lists[z->ports.n - 1].n++;
    }
    s->n_looked_at += all.n;
    return z;
}

static void enter_zone(struct ks_sites *s, const char *name)
{
    struct zone *z = map_get(s->zones, name);
    if (z == NULL) {
        z = make_zone(s, name);
        map_set(s->zones, name, z);
    }
    if (z == s->zone) {
        return;
    }
    for (size_t k = 0; s->zone != NULL && k < s->zone->ports.n; k++) {
        s->fixed[s->zone->ports.items[k]].zone = NULL;
        move_port(s, s->zone->ports.items[k]);
    }
    for (size_t k = 0; k < z->ports.n; k++) {
        s->fixed[z->ports.items[k]].zone = &z->lists[k];
        move_port(s, z->ports.items[k]);
    }
    s->zone = z;
}

/* Notes the ports of the entries as those with lists of this node alone. */
static void own_ports(struct ks_sites *s, struct range of)
{
    for (size_t k = 0; k < of.n; k++) {
        size_t port = of.items[k].port;
        bool again = k > 0 && of.items[k - 1].port == port;
        if (port != NO_PORT && !again) {
            move_port(s, port);
            s->own.items[s->own.n++] = port;
        }
    }
}

/* A ready address on this node. */
struct ready {
    size_t service;
    struct ip_addr ip;
};

static int compare_ready(const void *a, const void *b)
{
    const struct ready *x = a;
    const struct ready *y = b;
    int order = (x->service > y->service) - (x->service < y->service);
    return order != 0 ? order : memcmp(x->ip.bytes, y->ip.bytes, sizeof(x->ip.bytes));
}

static void set_healths(struct ks_sites *s, struct arena *scratch)
{
    struct ready *ready = ARENA_ARRAY(scratch, struct ready, s->here.n);
    size_t n = 0;
    size_t at = 0;
    for (size_t i = 0; i < s->here.n; i++) {
        const struct site *site = &s->here.items[i];
        if (site->endpoint->ready) {
            ready[n++] = (struct ready){.service = site->service, .ip = site->endpoint->ip};
        }
    }
    if (n > 1) {
        qsort(ready, n, sizeof(*ready), compare_ready);
    }
    s->world.n_healths = 0;
    for (size_t c = 0; c < s->checked.n || at < n;) { /* both go by Service */
        size_t i = c < s->checked.n ? s->checked.items[c] : SIZE_MAX;
        i = at < n && ready[at].service < i ? ready[at].service : i;
        struct ks_service_health h = s->world.services[i].health;
        h.local_ready = 0;
        for (; at < n && ready[at].service == i; at++) {
            bool again = h.local_ready > 0 && ip_eq(&ready[at].ip, &ready[at - 1].ip);
            h.local_ready += again ? 0 : 1;
        }
        c += c < s->checked.n && s->checked.items[c] == i ? 1 : 0;
        s->healths[s->world.n_healths++] = h;
    }
}

const struct ks_world *ks_sites_move(struct ks_sites *s, struct arena *scratch,
                                     const struct ks_node_config *config)
{
    s->n_moves++;
    s->moving.n = 0;
    for (size_t k = 0; k < s->own.n; k++) {
        move_port(s, s->own.items[k]);
    }
    s->own.n = 0;
    enter_zone(s, config->zone);
    mark(s, false);
    s->world.config = *config;
    s->here = of_name(&s->by_node, config->name);
    mark(s, true);
    struct range hinted = of_name(&s->by_hint, config->name);
    own_ports(s, s->here);
    own_ports(s, hinted);
    for (size_t k = 0; k < s->moving.n; k++) {
        set_port(s, scratch, s->moving.items[k]);
    }
    for (size_t k = 0; k < s->own.n; k++) {
        set_own(s, scratch, s->own.items[k], hinted);
    }
    set_healths(s, scratch);
    return &s->world;
}

bool ks_sites_shares_list(const struct ks_port *p, struct ks_list list)
{
    return list.items == p->cluster.items && p->topology != KS_TOPOLOGY_NODE;
}

size_t ks_sites_looked_at(const struct ks_sites *s)
{
    return s->n_looked_at;
}
