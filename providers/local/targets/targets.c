/* SPDX-License-Identifier: Apache-2.0 */
/* targets.c: the targets of one frontend, from nodes and EndpointSlices.
 *
 * Endpoints are gathered once: those of the family, with the port's number, each address and
 * port once.  Ready ones count; when there are none, those that still serve while they
 * terminate.  Nodes then become targets by policy, pods as they are.  The zone comes last.  O(n
 * log n).  Pure. */
#include "providers/local/targets/targets.h"

#include "common/base/attr.h"
#include "common/base/hash.h"
#include "common/base/str.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define WEIGHT_MAX      255
#define NFT_TARGETS_MAX 256
#define ZONE_LABEL      "topology.kubernetes.io/zone"

/* One endpoint of the frontend. */
struct endpoint {
    struct ip_addr addr;
    uint16_t port;
    bool ready; /* else it serves and terminates */
    const struct tt_endpoint *e;
};
struct gatherer {
    struct arena *a;
    const struct local_target_args *args;
    const char *key;            /* "namespace/name" */
    struct endpoint *endpoints; /* usable ones: all ready, or none */
    size_t n_endpoints;
    struct local_target *targets;
    const char **zones; /* of the targets, until they are sorted; NULL: not known */
    size_t n_targets;
    struct local_left_out *left_out;
    size_t n_left_out;
    size_t cap_left_out;
};

static uint8_t family_len(int family)
{
    return family == AF_INET6 ? 16 : 4;
}

static const char *family_word(int family)
{
    return family == AF_INET6 ? "IPv6" : "IPv4";
}

static void leave_out(struct gatherer *g, const char *who, const char *why)
{
    if (g->n_left_out == g->cap_left_out) {
        size_t cap = g->cap_left_out == 0 ? 8 : 2 * g->cap_left_out;
        struct local_left_out *items = ARENA_ARRAY(g->a, struct local_left_out, cap);
        for (size_t i = 0; i < g->n_left_out; i++) {
            items[i] = g->left_out[i];
        }
        g->left_out = items;
        g->cap_left_out = cap;
    }
    g->left_out[g->n_left_out++] = (struct local_left_out){who, why};
}

/* ---- endpoints ------------------------------------------------------------------------------- */

/* The number of the frontend's port in the slice; false: the slice has no such port. */
static bool slice_port(const struct gatherer *g, const struct tt_slice *s, uint16_t *ret)
{
    const struct tt_port *want = g->args->port;
    for (size_t i = 0; i < s->n_ports; i++) {
        const struct tt_endpoint_port *p = &s->ports[i];
        if (str_eq(p->protocol, want->protocol) &&
            str_eq(str_nonnull(p->name), str_nonnull(want->name))) {
            int32_t number = p->port == -1 ? want->port : p->port;
            *ret = (uint16_t)number;
            return number > 0 && number <= UINT16_MAX;
        }
    }
    return false;
}

static bool takes_slice(struct gatherer *g, const struct tt_slice *s, uint16_t *ret_port)
{
    if (str_eq(s->address_type, "FQDN")) {
        leave_out(g, str_nonnull(s->name), "its addresses are names (FQDN), which are not served");
        return false;
    }
    return str_eq(s->address_type, family_word(g->args->family)) && slice_port(g, s, ret_port);
}

static int by_endpoint(const void *x, const void *y)
{
    const struct endpoint *a = x;
    const struct endpoint *b = y;
    int d = local_addr_cmp(&a->addr, &b->addr);
    if (d != 0) {
        return d;
    }
    if (a->port != b->port) {
        return a->port < b->port ? -1 : 1;
    }
    if (a->ready != b->ready) {
        return a->ready ? -1 : 1;
    }
    d = strcmp(str_nonnull(a->e->node_name), str_nonnull(b->e->node_name));
    return d != 0 ? d : strcmp(str_nonnull(a->e->target_name), str_nonnull(b->e->target_name));
}

/* Sorts, and keeps each address and port once, the ready one of two. */
static void unite(struct endpoint *items, size_t *n)
{
    size_t kept = 0;
    if (*n > 1) {
        qsort(items, *n, sizeof(*items), by_endpoint);
    }
    for (size_t i = 0; i < *n; i++) {
        const struct endpoint *last = kept > 0 ? &items[kept - 1] : NULL;
        if (last == NULL || local_addr_cmp(&last->addr, &items[i].addr) != 0 ||
            last->port != items[i].port) {
            items[kept++] = items[i];
        }
    }
    *n = kept;
}

/* Adds the endpoints of a slice that are ready, or serve while they terminate. */
static void gather_slice(struct gatherer *g, const struct tt_slice *s)
{
    bool not_ready_too = g->args->service->publish_not_ready != 0;
    uint16_t port;
    if (!takes_slice(g, s, &port)) {
        return;
    }
    for (size_t i = 0; i < s->n_endpoints; i++) {
        const struct tt_endpoint *e = &s->endpoints[i];
        struct endpoint *to = &g->endpoints[g->n_endpoints];
        bool ready = (e->flags & TT_ENDPOINT_READY) != 0 || not_ready_too;
        bool ending =
            (e->flags & TT_ENDPOINT_SERVING) != 0 && (e->flags & TT_ENDPOINT_TERMINATING) != 0;
        if (!ip_parse(str_nonnull(e->address), &to->addr) ||
            to->addr.len != family_len(g->args->family)) {
            leave_out(g, str_nonnull(e->address), "it is not an address of the frontend's family");
        } else if (ready || ending) {
            to->port = port;
            to->ready = ready;
            to->e = e;
            g->n_endpoints++;
        }
    }
}

static void gather_endpoints(struct gatherer *g)
{
    size_t total = 0;
    bool any_ready = false;
    for (size_t i = 0; i < g->args->n_slices; i++) {
        total += g->args->slices[i]->n_endpoints;
    }
    g->endpoints = ARENA_ARRAY(g->a, struct endpoint, total + 1);
    for (size_t i = 0; i < g->args->n_slices; i++) {
        gather_slice(g, g->args->slices[i]);
    }
    unite(g->endpoints, &g->n_endpoints);
    for (size_t i = 0; i < g->n_endpoints; i++) {
        any_ready = any_ready || g->endpoints[i].ready;
    }
    size_t kept = 0;
    for (size_t i = 0; i < g->n_endpoints; i++) {
        if (g->endpoints[i].ready == any_ready) {
            g->endpoints[kept++] = g->endpoints[i];
        }
    }
    g->n_endpoints = kept;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static const char *label(const struct tt_node *n, const char *key)
{
    for (size_t i = 0; i < n->n_labels; i++) {
        if (str_eq(n->labels[i].key, key)) {
            return n->labels[i].value;
        }
    }
    return NULL;
}

static bool is_of_type(const struct local_director_config *d, const struct tt_node_address *a)
{
    for (size_t t = 0; t < d->n_node_address_types; t++) {
        if (str_eq(a->type, d->node_address_types[t])) {
            return true;
        }
    }
    return false;
}

static bool node_address(const struct gatherer *g, const struct tt_node *n, struct ip_addr *ret)
{
    const struct local_director_config *d = &g->args->config->director;
    for (size_t t = 0; t < d->n_node_address_types; t++) {
        for (size_t i = 0; i < n->n_addresses; i++) {
            struct ip_addr addr;
            if (str_eq(n->addresses[i].type, d->node_address_types[t]) &&
                ip_parse(str_nonnull(n->addresses[i].address), &addr) &&
                addr.len == family_len(g->args->family)) {
                *ret = addr;
                return true;
            }
        }
    }
    return false;
}

/* Returns why the node is not a target, its endpoints apart; NULL when it is one. */
static const char *node_refused(const struct local_config *config, const struct tt_node *n)
{
    if ((n->flags & TT_NODE_DELETING) != 0) {
        return "it is being deleted";
    }
    if ((n->flags & TT_NODE_EXCLUDED) != 0) {
        return "it has the label node.kubernetes.io/exclude-from-external-load-balancers";
    }
    if ((n->flags & TT_NODE_TAINTED) != 0) {
        return "it has the taint ToBeDeletedByClusterAutoscaler";
    }
    if ((n->flags & TT_NODE_ELIGIBLE) == 0) {
        return "it does not take part";
    }
    if (!local_selector_matches(&config->director.node_selector, n->labels, n->n_labels)) {
        return "director.nodeSelector does not choose it";
    }
    return NULL;
}

static uint64_t add_text(uint64_t h, const char *text)
{
    return hash_bytes(h, str_nonnull(text), strlen(str_nonnull(text)) + 1);
}

uint64_t local_node_digest(const struct local_config *config, const struct tt_node *n)
{
    uint64_t h = 1;
    if (node_refused(config, n) != NULL) {
        return 0;
    }
    for (size_t i = 0; i < n->n_addresses; i++) {
        if (is_of_type(&config->director, &n->addresses[i])) {
            h = add_text(add_text(h, n->addresses[i].type), n->addresses[i].address);
        }
    }
    h = add_text(h, label(n, ZONE_LABEL));
    return h != 0 ? h : 1;
}

/* A node and its number of usable endpoints. */
struct node_count {
    const char *node;
    unsigned n;
};

static int by_node(const void *x, const void *y)
{
    return strcmp(((const struct node_count *)x)->node, ((const struct node_count *)y)->node);
}

/* Sorted by name; an address counts once, though it may have several ports. */
static struct node_count *count_by_node(struct gatherer *g, size_t *ret_n)
{
    struct node_count *counts = ARENA_ARRAY(g->a, struct node_count, g->n_endpoints);
    size_t n = 0;
    size_t kept = 0;
    for (size_t i = 0; i < g->n_endpoints; i++) {
        bool again = i > 0 && local_addr_cmp(&g->endpoints[i - 1].addr, &g->endpoints[i].addr) == 0;
        if (!again && !str_is_empty(g->endpoints[i].e->node_name)) {
            counts[n++] = (struct node_count){g->endpoints[i].e->node_name, 1};
        }
    }
    if (n > 1) {
        qsort(counts, n, sizeof(*counts), by_node);
    }
    for (size_t i = 0; i < n; i++) {
        if (kept > 0 && strcmp(counts[kept - 1].node, counts[i].node) == 0) {
            counts[kept - 1].n++;
        } else {
            counts[kept++] = counts[i];
        }
    }
    *ret_n = kept;
    return counts;
}

/* The largest becomes WEIGHT_MAX when it is over that, the others in proportion. */
static uint16_t scaled(unsigned n, unsigned largest)
{
    uint64_t w = largest <= WEIGHT_MAX ? n : ((uint64_t)n * WEIGHT_MAX + largest / 2) / largest;
    return (uint16_t)(w > 0 ? w : 1);
}

/* Policy Local: the weight of each node by its endpoints. */
struct local_policy {
    const struct node_count *counts;
    size_t n;
    unsigned largest;
    bool ready; /* else they terminate */
    const char *none;
};

static struct local_policy read_policy(struct gatherer *g)
{
    struct local_policy p = {NULL, 0, 0, g->n_endpoints > 0 && g->endpoints[0].ready, NULL};
    p.counts = count_by_node(g, &p.n);
    for (size_t i = 0; i < p.n; i++) {
        p.largest = p.counts[i].n > p.largest ? p.counts[i].n : p.largest;
    }
    p.none = arena_printf(g->a, "it has no ready pod of %s (externalTrafficPolicy Local)", g->key);
    return p;
}

/* Sets weight and reason; false: the node has none of the endpoints. */
static bool weigh_node(struct gatherer *g, const struct local_policy *p, const char *node,
                       struct local_target *t)
{
    const struct node_count want = {node, 0};
    const struct node_count *found =
        p->n == 0 ? NULL : bsearch(&want, p->counts, p->n, sizeof(want), by_node);
    if (found == NULL) {
        return false;
    }
    t->weight = p->ready ? scaled(found->n, p->largest) : 1;
    t->why = p->ready ? arena_printf(g->a, "%s has %s of %s", node,
                                     str_count(g->a, found->n, "ready pod"), g->key)
                      : arena_printf(g->a,
                                     "%s has terminating pods of %s that still serve, and none is "
                                     "ready anywhere",
                                     node, g->key);
    return true;
}

static void gather_nodes(struct gatherer *g)
{
    const struct local_target_args *args = g->args;
    bool local = str_eq(args->service->external_traffic_policy, "Local");
    bool counts = local && args->has_slices;
    struct local_policy policy = {0};
    const char *no_address =
        arena_printf(g->a, "it has no %s address of the types in director.nodeAddressTypes",
                     family_word(args->family));
    int32_t port =
        args->serve->targets == LOCAL_TARGETS_NODE ? args->port->port : args->port->node_port;
    if (counts) {
        policy = read_policy(g);
    }
    for (size_t i = 0; i < args->n_nodes; i++) {
        const struct tt_node *n = args->nodes[i];
        struct local_target t = {
            .port = (uint16_t)port,
            .weight = 1,
            .node = n->name,
            .why = local ? "the endpoints are not known yet"
                         : "every eligible node forwards (externalTrafficPolicy Cluster)"};
        const char *refused = node_refused(args->config, n);
        if (refused == NULL && !node_address(g, n, &t.addr)) {
            refused = no_address;
        }
        if (refused == NULL && counts && !weigh_node(g, &policy, n->name, &t)) {
            refused = policy.none;
        }
        if (refused != NULL) {
            leave_out(g, n->name, refused);
            continue;
        }
        g->zones[g->n_targets] = label(n, ZONE_LABEL);
        g->targets[g->n_targets++] = t;
    }
}

/* ---- pods ------------------------------------------------------------------------------------ */

static void gather_pods(struct gatherer *g)
{
    for (size_t i = 0; i < g->n_endpoints; i++) {
        const struct endpoint *p = &g->endpoints[i];
        const struct tt_endpoint *e = p->e;
        struct local_target t = {.addr = p->addr, .port = p->port, .weight = 1};
        t.node = e->node_name;
        t.why = p->ready ? "it is ready" : "it still serves, and no pod is ready";
        if (str_eq(e->target_kind, "Pod") && e->target_name != NULL) {
            t.pod = arena_printf(g->a, "%s/%s", str_or(e->target_ns, g->args->service->ns),
                                 e->target_name);
        }
        g->zones[g->n_targets] = e->zone;
        g->targets[g->n_targets++] = t;
    }
}

/* ---- zone and order -------------------------------------------------------------------------- */

/* Targets of other zones get no weight while the own zone has one. */
static void prefer_zone(struct gatherer *g)
{
    const char *zone = g->args->zone;
    bool own = false;
    if (!g->args->serve->zone_only || str_is_empty(zone)) {
        return;
    }
    for (size_t i = 0; i < g->n_targets; i++) {
        own = own || str_eq(g->zones[i], zone);
    }
    for (size_t i = 0; own && i < g->n_targets; i++) {
        if (!str_eq(g->zones[i], zone)) {
            g->targets[i].spare = g->targets[i].weight;
            g->targets[i].weight = 0;
            g->targets[i].why = arena_printf(
                g->a, "it is in %s%s, and the director's zone %s has targets (trafficDistribution)",
                g->zones[i] == NULL ? "no zone" : "zone ", str_nonnull(g->zones[i]), zone);
        }
    }
}

static int by_target(const void *x, const void *y)
{
    const struct local_target *a = x;
    const struct local_target *b = y;
    int d = local_addr_cmp(&a->addr, &b->addr);
    if (d != 0) {
        return d;
    }
    if (a->port != b->port) {
        return a->port < b->port ? -1 : 1;
    }
    return strcmp(str_nonnull(a->node), str_nonnull(b->node));
}

/* Of two nodes with one address the first by name stays. */
static void sort_targets(struct gatherer *g)
{
    size_t kept = 0;
    if (g->n_targets > 1) {
        qsort(g->targets, g->n_targets, sizeof(*g->targets), by_target);
    }
    for (size_t i = 0; i < g->n_targets; i++) {
        const struct local_target *last = kept > 0 ? &g->targets[kept - 1] : NULL;
        const struct local_target *t = &g->targets[i];
        if (last != NULL && local_addr_cmp(&last->addr, &t->addr) == 0 && last->port == t->port) {
            leave_out(g, str_nonnull(t->node),
                      arena_printf(g->a, "it has the address of %s", str_nonnull(last->node)));
        } else {
            g->targets[kept++] = *t;
        }
    }
    g->n_targets = kept;
}

/* ---- the limit of mode nft ------------------------------------------------------------------- */

static bool has_slot(const struct local_target_args *args, const struct local_target *t)
{
    for (size_t i = 0; i < args->n_slots; i++) {
        if (args->slots[i].port == t->port && local_addr_cmp(&args->slots[i].addr, &t->addr) == 0) {
            return true;
        }
    }
    return false;
}

/* 0 first: it has slots; it would get some; it would get none. */
static int rank_of(const struct local_target_args *args, const struct local_target *t)
{
    return t->weight == 0 ? 2 : has_slot(args, t) ? 0 : 1;
}

/* Leaves out what is over the limit; the order of the others stays. */
static size_t keep_most(struct gatherer *g)
{
    uint8_t *rank = arena_alloc(g->a, g->n_targets);
    size_t room[3] = {0};
    size_t left = NFT_TARGETS_MAX;
    size_t kept = 0;
    bool pods = g->args->serve->targets == LOCAL_TARGETS_POD;
    char text[IP_TEXT_MAX];

    for (size_t i = 0; i < g->n_targets; i++) {
        rank[i] = (uint8_t)rank_of(g->args, &g->targets[i]);
        room[rank[i]]++;
    }
    for (size_t r = 0; r < ARRAY_LEN(room); r++) {
        room[r] = room[r] < left ? room[r] : left;
        left -= room[r];
    }
    for (size_t i = 0; i < g->n_targets; i++) {
        const struct local_target *t = &g->targets[i];
        if (room[rank[i]] > 0) {
            room[rank[i]]--;
            g->targets[kept++] = *t;
            continue;
        }
        ip_format(&t->addr, text);
        leave_out(g, pods ? arena_strdup(g->a, text) : t->node,
                  "mode nft has at most 256 targets per port; an ipvs mode has more");
    }
    size_t n_over = g->n_targets - kept;
    g->n_targets = kept;
    return n_over;
}

int local_targets_of(struct arena *a, const struct local_target_args *args,
                     struct local_target_set *ret, struct err *err)
{
    size_t n_over = 0;
    struct gatherer g = {.a = a, .args = args};
    bool pods = args->serve->targets == LOCAL_TARGETS_POD;
    bool local = str_eq(args->service->external_traffic_policy, "Local");
    g.key =
        arena_printf(a, "%s/%s", str_nonnull(args->service->ns), str_nonnull(args->service->name));
    if (pods || (local && args->has_slices)) {
        gather_endpoints(&g);
    }
    size_t most = pods ? g.n_endpoints : args->n_nodes;
    g.targets = ARENA_ARRAY(a, struct local_target, most);
    g.zones = ARENA_ARRAY(a, const char *, most);
    if (pods) {
        gather_pods(&g);
    } else {
        gather_nodes(&g);
    }
    prefer_zone(&g);
    sort_targets(&g);
    if (args->serve->mode == LOCAL_MODE_NFT && g.n_targets > NFT_TARGETS_MAX) {
        if (!args->served) {
            return err_set(
                err, ERR_INVALID,
                "nft mode has at most %d targets per port (%s has %zu); use an ipvs mode",
                NFT_TARGETS_MAX, g.key, g.n_targets);
        }
        n_over = keep_most(&g);
    }
    *ret = (struct local_target_set){g.targets, g.n_targets, g.left_out, g.n_left_out, n_over};
    return ERR_OK;
}
