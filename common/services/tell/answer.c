/* SPDX-License-Identifier: Apache-2.0 */
/* answer.c: asks every node that may get the packet, and adds up what they do; see answer.h.
 *
 * One world is moved from node to node (node/sites.h): what stays of a node is one struct ks_way,
 * and its part of the shares, which it has in common with the nodes that use the same list. */
#include "common/services/tell/answer.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/map.h"
#include "common/services/node/sites.h"
#include "common/services/tell/answer_parts.h"

/* Stand for a client outside and for a load balancer whose address is not known. */
static const struct ip_addr outside_v4 = {.bytes = {192, 0, 2, 1}, .len = 4};
static const struct ip_addr outside_v6 = {
    .bytes = {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, .len = 16};

static bool is_same_node(const struct ks_node *x, const struct ks_node *y)
{
    return x != NULL && y != NULL && str_eq(x->meta.name, y->meta.name);
}

/* ---- who gets the packet --------------------------------------------------------------------- */

/* The one node that decides; NULL: any of them may. */
static const struct ks_node *deciding_node(const struct ks_making *m)
{
    const struct ks_question *q = m->q;
    if (q->node != NULL || q->any_node || q->each_node || m->x->proxied) {
        return q->node;
    }
    const struct ks_node *owner =
        q->dest.len == 0 ? NULL : ks_cluster_node_at(m->cluster, &q->dest);
    return owner != NULL ? owner : q->client_node;
}

static const struct ks_backend *backend_of(const struct ks_answer *x, const struct ks_node *node)
{
    for (size_t low = 0, high = x->balancer == NULL ? 0 : x->balancer->n_backends; low < high;) {
        size_t mid = low + (high - low) / 2;
        int c = strcmp(x->balancer->backends[mid].node, node->meta.name);
        if (c == 0) {
            return &x->balancer->backends[mid];
        }
        low = c < 0 ? mid + 1 : low;
        high = c < 0 ? high : mid;
    }
    return NULL;
}

/* ---- one node -------------------------------------------------------------------------------- */

/* True when the client is a pod of this node with an address of its own: its packets come in by an
 * interface for pods. */
static bool is_pod_here(const struct ks_making *m, const struct ks_node *node)
{
    const struct ks_question *q = m->q;
    return is_same_node(q->client_node, node) && !q->from_node && q->source.len != 0 &&
           ks_cluster_node_at(m->cluster, &q->source) == NULL;
}

static struct ks_packet packet_for(const struct ks_making *m, const struct ks_node *node,
                                   const struct ks_node_config *config)
{
    const struct ks_question *q = m->q;
    struct ks_packet p = {
        .source = m->outside,
        .dest = q->dest,
        .port = q->port,
        .protocol = q->protocol,
    };
    if (m->x->proxied) {
        (void)ks_node_address(node, m->family, &p.dest);
        p.port = m->hit.port == NULL ? 0 : m->hit.port->node_port;
        return p;
    }
    if (q->each_node) {
        (void)ks_node_address(node, m->family, &p.dest);
    }
    if (q->source.len != 0) {
        p.source = q->source;
    }
    if (is_pod_here(m, node)) {
        p.interface_ = config->detect_value; /* as kube-proxy is configured for such pods */
    }
    p.from_node = q->from_node && (q->client_node == NULL || is_same_node(q->client_node, node));
    if (q->from_node && q->source.len == 0) {
        (void)ks_node_address(node, m->family, &p.source);
    }
    return p;
}

static enum ks_outcome outcome_of(const struct ks_trace *t)
{
    switch (t->verdict) {
    case KS_TO_ENDPOINTS:
        return t->loses_answer ? KS_DROPPED : KS_DELIVERED;
    case KS_ACCEPT:
        return KS_DELIVERED;
    case KS_DROP:
        return KS_DROPPED;
    case KS_REJECT:
        return KS_REJECTED;
    case KS_NOT_OURS:
        break;
    }
    return KS_UNREACHABLE;
}

/* A copy of the rules for when the node's world is gone. */
static const struct ks_met *keep_met(struct arena *a, const struct ks_met *met, size_t n)
{
    struct ks_met *kept = ARENA_ARRAY(a, struct ks_met, n + 1);
    for (size_t i = 0; i < n; i++) {
        kept[i].rule = met[i].rule == NULL ? NULL : arena_strdup(a, met[i].rule);
        kept[i].why = met[i].why == NULL ? NULL : arena_strdup(a, met[i].why);
    }
    return kept;
}

/* Ready pods as the health check of the Service counts them on this node; -1: it has no such check.
 * With policy Local a load balancer asks for pods, also before the Service has its
 * port for that. */
static int64_t health_of(const struct ks_making *m, const struct ks_world *w)
{
    const struct ks_service *s = m->hit.service;
    if (s == NULL || !ks_asks_for_pods(s)) {
        return -1;
    }
    for (size_t i = 0; i < w->n_healths; i++) {
        const struct ks_service_health *h = &w->healths[i];
        if (str_eq(h->ns, s->meta.ns) && str_eq(h->name, s->meta.name)) {
            return (int64_t)h->local_ready;
        }
    }
    return 0;
}

static const char *pod_name(const struct ks_making *m, const struct ks_endpoint *e)
{
    if (e->ref == NULL || !str_eq(e->ref->kind, "Pod")) {
        return "";
    }
    return arena_strdup(m->a, e->ref->name);
}

/* The endpoints to which some nodes send, each with the same part.  Nodes that use one
 * list share one of these. */
struct part {
    size_t *shares; /* indices */
    size_t n;
    double weight;         /* of these nodes together */
    enum ks_source source; /* the most that any of them changes it, hair-pins apart */
    struct part *next;
};

/* Adds up over all nodes; each endpoint stands once.  The weights of nodes are known only
 * at the end. */
struct adding {
    struct arena *held; /* parts, until all nodes are asked */
    struct map *at;     /* "ip:port" → index + 1 */
    struct map *lists;  /* place of a shared list → struct part */
    struct part *parts;
    struct part **of_ways; /* by way */
    size_t cap;
};

static void grow_shares(struct ks_making *m, struct adding *add)
{
    struct ks_answer *x = m->x;
    add->cap = add->cap == 0 ? 16 : 2 * add->cap;
    struct ks_pod_share *more = ARENA_ARRAY(m->a, struct ks_pod_share, add->cap);
    if (x->n_shares > 0) {
        memcpy(more, x->shares, x->n_shares * sizeof(*more));
    }
    x->shares = more;
}

static size_t share_of(struct ks_making *m, struct adding *add, const struct ks_endpoint *e)
{
    struct ks_answer *x = m->x;
    size_t at = (size_t)(uintptr_t)map_get(add->at, e->text);
    if (at != 0) {
        return at - 1;
    }
    if (x->n_shares == add->cap) {
        grow_shares(m, add);
    }
    struct ks_pod_share *s = &x->shares[x->n_shares++];
    *s = (struct ks_pod_share){
        .address = arena_strdup(m->a, e->text),
        .pod = pod_name(m, e),
        .node = arena_strdup(m->a, str_nonnull(e->node_name)),
        .zone = arena_strdup(m->a, str_nonnull(e->zone)),
        .terminating = e->terminating && !e->ready,
    };
    map_set(add->at, s->address, (void *)(uintptr_t)x->n_shares);
    return x->n_shares - 1;
}

/* The source address that an endpoint sees: a hair-pin is masqueraded only on the way back to the
 * client itself. */
static enum ks_source source_of(const struct ks_making *m, const struct ks_trace *t,
                                const struct ks_packet *p, const struct ks_endpoint *e)
{
    bool changes = t->masquerade_every || (t->masquerade && !t->hairpin) ||
                   (t->hairpin && ip_eq(&e->ip, &p->source));
    if (changes) {
        return m->q->mode == KS_IPVS ? KS_SOURCE_DIRECTOR : KS_SOURCE_NODE;
    }
    return m->x->proxied ? KS_SOURCE_BALANCER : KS_SOURCE_KEPT;
}

/* The part of a list.  The list of a zone comes once, whichever of its nodes is asked. */
static struct part *part_of(struct ks_making *m, struct adding *add, const struct ks_trace *t)
{
    bool shared = t->verdict == KS_TO_ENDPOINTS && ks_sites_shares_list(t->dest->port, t->list);
    const char *key = shared ? arena_printf(add->held, "%p", (const void *)t->list.items) : NULL;
    struct part *part = shared ? map_get(add->lists, key) : NULL;
    if (part != NULL) {
        return part;
    }
    part = ARENA_NEW(add->held, struct part);
    part->n = t->verdict == KS_TO_ENDPOINTS ? t->list.n : 0;
    part->shares = ARENA_ARRAY(add->held, size_t, part->n);
    for (size_t i = 0; i < part->n; i++) {
        part->shares[i] = share_of(m, add, t->list.items[i]);
    }
    m->x->n_looked_at += part->n;
    part->next = add->parts;
    add->parts = part;
    if (shared) {
        map_set(add->lists, key, part);
    }
    return part;
}

/* OUTPUT has no jump to KUBE-EXTERNAL-SERVICES, whose rules refuse what no endpoint is for: the
 * tracer, as upstream's, says that they are met, but a packet of the node's own processes
 * is routed on as it is. */
static bool leaves_node(const struct ks_making *m, const struct ks_packet *p,
                        const struct ks_trace *t)
{
    return m->q->mode == KS_IPTABLES && p->from_node && t->n_steps > 0 &&
           str_eq(t->steps[t->n_steps - 1], "KUBE-EXTERNAL-SERVICES") &&
           !ks_is_node_address(m->cluster, &p->dest);
}

static enum ks_source stronger(enum ks_source x, enum ks_source y)
{
    return x > y ? x : y;
}

/* Without a hair-pin all endpoints of a list see the same, so that a list that many nodes use is
 * not walked for each. */
static void take_sources(struct ks_making *m, struct part *part, const struct ks_trace *t,
                         const struct ks_packet *p)
{
    if (part->n > 0 && !t->hairpin) {
        part->source = stronger(part->source, source_of(m, t, p, t->list.items[0]));
        return;
    }
    for (size_t i = 0; i < part->n; i++) {
        struct ks_pod_share *s = &m->x->shares[part->shares[i]];
        s->source = stronger(s->source, source_of(m, t, p, t->list.items[i]));
    }
}

static void take_trace(struct ks_making *m, const struct ks_world *w, const struct ks_trace *t,
                       struct ks_way *way)
{
    const char **steps = ARENA_ARRAY(m->a, const char *, t->n_steps);
    for (size_t i = 0; i < t->n_steps; i++) {
        steps[i] = arena_strdup(m->a, t->steps[i]);
    }
    way->steps = steps;
    way->n_steps = t->n_steps;
    way->verdict = t->verdict;
    way->reason = t->reason;
    way->outcome = outcome_of(t);
    way->masquerade = t->masquerade;
    way->hairpin = t->hairpin;
    way->loses_answer = t->loses_answer;
    way->n_list = t->list.n;
    way->ready = health_of(m, w);
    if (t->dest != NULL && t->verdict == KS_TO_ENDPOINTS) {
        const struct ks_port *port = t->dest->port;
        bool local = t->reason == KS_R_LOCAL_LIST;
        way->topology = local ? KS_TOPOLOGY_NONE : port->topology;
        way->fell_back = local ? port->local_fell_back : port->cluster_fell_back;
    }
}

/* Does the load balancer choose the node, or the client one of them that has a pod? */
static bool chooses_node(const struct ks_making *m)
{
    bool from_outside = m->x->proxied || (m->q->client_node == NULL && !m->q->from_node);
    return m->q->each_node || (m->hit.at == KS_AT_INGRESS && from_outside);
}

/* Why the load balancer sends nothing to this node, whatever its health check answers. */
static const char *excluded(struct ks_making *m, const struct ks_way *way)
{
    const struct ks_backend *b =
        chooses_node(m) && !m->q->each_node ? backend_of(m->x, way->node) : NULL;
    return b == NULL ? NULL : b->left_out;
}

/* ---- nodes that are alike -------------------------------------------------------------------- */

/* A node that no endpoint is on or hinted for does what every other such node of its zone does: of
 * thousands of nodes only a few are asked.  Where policies are Cluster and no hint names a node, it
 * does not matter where endpoints are. */
struct alike {
    struct map *named; /* nodes that are not like others */
    struct map *first; /* by zone and detector → struct like */
    bool off;          /* the nodes' own addresses matter */
};
/* The first node of a kind. */
struct like {
    const struct ks_way *way;
    struct part *part;
};

static void name_nodes(struct alike *k, const struct ks_making *m, const struct ks_slice *slice,
                       bool local)
{
    for (size_t i = 0; i < slice->n_endpoints; i++) {
        const struct ks_slice_endpoint *e = &slice->endpoints[i];
        struct ip_addr ip;
        bool is_client = m->q->source.len != 0 && e->n_addresses > 0 &&
                         ip_parse_sloppy(e->addresses[0], &ip) && ip_eq(&ip, &m->q->source);
        if ((local || is_client) && !str_is_empty(e->node_name)) {
            map_set(k->named, e->node_name, NULL);
        }
        for (size_t h = 0; h < e->n_node_hints; h++) {
            map_set(k->named, e->node_hints[h], NULL);
        }
    }
}

static struct alike alike_begin(const struct ks_making *m, const struct ks_objects *c)
{
    struct alike k = {.named = map_new(NULL), .first = map_new(NULL)};
    bool local = false;
    for (size_t i = 0; i < c->n_services; i++) {
        const struct ks_service *s = c->services[i];
        local |= str_eq(s->external_policy, "Local") || str_eq(s->internal_policy, "Local");
        k.off |= s->n_source_ranges > 0;
    }
    k.off |= m->proxy->n_node_port_addresses > 0;
    for (size_t i = 0; i < c->n_slices; i++) {
        name_nodes(&k, m, c->slices[i], local);
    }
    const struct ks_node *client =
        m->q->source.len == 0 ? NULL : ks_cluster_node_at(m->cluster, &m->q->source);
    if (client != NULL) {
        map_set(k.named, client->meta.name, NULL);
    }
    if (m->q->client_node != NULL) {
        map_set(k.named, m->q->client_node->meta.name, NULL);
    }
    return k;
}

/* The key of the nodes that are like this one; NULL: it is like none. */
static const char *alike_key(const struct alike *k, struct arena *a, const struct ks_node *node,
                             const struct ks_node_config *config)
{
    if (k->off || map_has(k->named, node->meta.name)) {
        return NULL;
    }
    return arena_printf(a, "%s/%d/%s/%d", config->zone, (int)config->detect,
                        str_nonnull(config->detect_value), *config->ip != '\0');
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* Used for one node after another. */
struct asking {
    struct ks_sites *sites;
    const struct ks_plan *plan; /* of the world that `sites` moves */
    struct alike alike;
    struct adding add;
    struct arena *scratch; /* of one node */
};

static struct part *trace_node(struct ks_making *m, struct asking *k,
                               const struct ks_node_config *config, struct ks_way *way)
{
    const struct ks_world *w = ks_sites_move(k->sites, k->scratch, config);
    if (k->plan == NULL) {
        k->plan = ks_plan_make(k->add.held, w);
    }
    const struct ks_packet p = packet_for(m, way->node, config);
    const struct ks_trace t = ks_trace_packet(k->scratch, k->plan, m->q->mode, &p);
    take_trace(m, w, &t, way);
    if (leaves_node(m, &p, &t)) {
        way->leaves = true;
        way->outcome = KS_UNREACHABLE;
        way->n_steps--;
    }
    if (m->q->with_rules) {
        way->met = keep_met(m->a, ks_rules_met(k->scratch, w, m->q->mode, &p, &t), way->n_steps);
    }
    struct part *part = part_of(m, &k->add, &t);
    take_sources(m, part, &t, &p);
    return part;
}

static void ask_node(struct ks_making *m, struct asking *k, struct ks_way *way)
{
    const struct ks_node *node = way->node;
    const struct ks_node_config config =
        ks_proxy_node(k->scratch, m->proxy, m->cluster, node, m->q->mode, m->family);
    const char *key = alike_key(&k->alike, k->scratch, node, &config);
    const struct like *like = key == NULL ? NULL : map_get(k->alike.first, key);
    struct part *part = like == NULL ? NULL : like->part;
    if (like != NULL) {
        *way = *like->way;
        way->node = node;
    } else {
        part = trace_node(m, k, &config, way);
    }
    if (like == NULL && key != NULL) {
        struct like *first = ARENA_NEW(k->add.held, struct like);
        *first = (struct like){.way = way, .part = part};
        map_set(k->alike.first, key, first);
    }
    way->left_out = excluded(m, way);
    way->excluded = way->left_out != NULL;
    k->add.of_ways[way - m->x->ways] = part;
}

/* ---- all nodes ------------------------------------------------------------------------------- */

static int cmp_share(const void *x, const void *y)
{
    return strcmp(((const struct ks_pod_share *)x)->address,
                  ((const struct ks_pod_share *)y)->address);
}

/* Gives each node its weight.  The one node that decides has all of it. */
static void weigh(struct ks_making *m, bool one)
{
    struct ks_answer *x = m->x;
    struct ks_balance balance = {0};
    struct ks_node_weight *nodes = ARENA_ARRAY(m->a, struct ks_node_weight, x->n_ways);
    bool chooses = !one && chooses_node(m);
    for (size_t i = 0; i < x->n_ways; i++) {
        nodes[i].left_out = chooses && x->ways[i].excluded;
        nodes[i].ready = chooses ? x->ways[i].ready : -1;
    }
    if (chooses && !m->q->each_node && x->balancer != NULL) {
        balance = x->balancer->balance;
    }
    x->weighed = ks_weigh(nodes, x->n_ways, &balance);
    for (size_t i = 0; i < x->n_ways; i++) {
        struct ks_way *way = &x->ways[i];
        way->weight = nodes[i].share;
        bool unhealthy = chooses_node(m) && way->ready == 0 && !way->excluded;
        if (unhealthy && (one || way->weight <= 0)) {
            way->left_out = m->q->each_node
                                ? "no ready pod on it: policy Local answers where one is"
                                : "its health check answers 503: no ready pod on it";
        }
    }
}

static void add_up(struct ks_making *m, const struct adding *add)
{
    struct ks_answer *x = m->x;
    size_t kept = 0;
    for (size_t i = 0; i < x->n_ways; i++) {
        add->of_ways[i]->weight += x->ways[i].weight;
    }
    for (const struct part *p = add->parts; p != NULL; p = p->next) {
        for (size_t i = 0; i < p->n; i++) {
            struct ks_pod_share *s = &x->shares[p->shares[i]];
            s->probability += p->weight / (double)p->n;
            s->source = stronger(s->source, p->source);
        }
    }
    for (size_t i = 0; i < x->n_shares; i++) {
        struct ks_pod_share s = x->shares[i];
        if (s.probability > 0) { /* not one of nodes that get no traffic */
            x->shares[kept++] = s;
        }
    }
    x->n_shares = kept;
    if (kept > 1) {
        qsort(x->shares, kept, sizeof(*x->shares), cmp_share);
    }
}

/* Delivered where every node that gets traffic delivers; else what the first other one does. */
static void conclude(struct ks_answer *x)
{
    size_t good = 0;
    size_t counted = 0;
    const struct ks_way *bad = NULL;
    for (size_t i = 0; i < x->n_ways; i++) {
        if (x->ways[i].weight > 0) {
            counted++;
            good += x->ways[i].outcome == KS_DELIVERED;
            bad = bad == NULL && x->ways[i].outcome != KS_DELIVERED ? &x->ways[i] : bad;
        }
    }
    x->outcome = counted == 0 ? KS_UNREACHABLE : bad == NULL ? KS_DELIVERED : bad->outcome;
    x->partly = bad != NULL && good > 0;
}

static void ask_all(struct ks_making *m, const struct ks_objects *c)
{
    struct ks_answer *x = m->x;
    const struct ks_node *only = deciding_node(m);
    struct arena *held = arena_new();
    struct asking k = {
        .alike = alike_begin(m, c),
        .add = {.held = held, .at = map_new(NULL), .lists = map_new(NULL)},
        .scratch = arena_new(),
        .sites = ks_sites_make(held, m->family, c->services, c->n_services, c->slices, c->n_slices),
    };
    x->n_ways = only != NULL ? 1 : m->cluster->n_nodes;
    x->ways = ARENA_ARRAY(m->a, struct ks_way, x->n_ways);
    k.add.of_ways = ARENA_ARRAY(held, struct part *, x->n_ways);
    for (size_t i = 0; i < x->n_ways; i++) {
        x->ways[i].node = only != NULL ? only : m->cluster->nodes[i];
        ask_node(m, &k, &x->ways[i]);
        arena_reset(k.scratch);
    }
    x->n_looked_at += ks_sites_looked_at(k.sites);
    weigh(m, only != NULL);
    add_up(m, &k.add);
    conclude(x);
    map_free(k.add.at);
    map_free(k.add.lists);
    map_free(k.alike.named);
    map_free(k.alike.first);
    arena_free(k.scratch);
    arena_free(held);
}

/* ---- names ----------------------------------------------------------------------------------- */

static const char *kind_text(enum ks_at at)
{
    switch (at) {
    case KS_AT_NODE_PORT:
        return "node port";
    case KS_AT_HEALTH_PORT:
        return "health check node port";
    case KS_AT_CLUSTER_IP:
        return "cluster IP";
    case KS_AT_EXTERNAL_IP:
        return "external IP";
    case KS_AT_INGRESS:
        return "load balancer address";
    case KS_AT_NONE:
        break;
    }
    return NULL;
}

static const char *target_text(struct arena *a, const struct ks_question *q)
{
    char ip[IP_TEXT_MAX] = "";
    if (q->dest.len != 0) {
        ip_format(&q->dest, ip);
    }
    bool v6 = q->dest.len == 16;
    return arena_printf(a, "%s%s%s:%d/%s", v6 ? "[" : "",
                        q->each_node      ? "NODE"
                        : q->host != NULL ? q->host
                                          : ip,
                        v6 ? "]" : "", (int)q->port, q->protocol);
}

static enum ks_family family_of(const struct ks_cluster *cluster, const struct ks_question *q)
{
    struct ip_addr ip;
    if (q->dest.len != 0) {
        return ks_family_of(&q->dest);
    }
    for (size_t i = 0; i < cluster->n_nodes; i++) { /* a name: by what the nodes have */
        if (ks_node_address(cluster->nodes[i], KS_IPV4, &ip)) {
            return KS_IPV4;
        }
    }
    return cluster->n_nodes > 0 && ks_node_address(cluster->nodes[0], KS_IPV6, &ip) ? KS_IPV6
                                                                                    : KS_IPV4;
}

/* An unknown client counts as allowed by the source ranges, if there are any. */
static void choose_client(struct ks_making *m)
{
    const struct ks_service *s = m->hit.service;
    m->outside = m->family == KS_IPV6 ? outside_v6 : outside_v4;
    bool known = m->q->source.len != 0 || m->q->from_node || *str_nonnull(m->q->from) != '\0';
    if (s == NULL || known || m->hit.at != KS_AT_INGRESS || m->hit.proxied) {
        return;
    }
    for (size_t i = 0; i < s->n_source_ranges; i++) {
        struct ip_net net;
        const char *range = str_trim(m->a, s->source_ranges[i]);
        if (ip_net_parse_sloppy(range, &net) && ks_family_of(&net.addr) == m->family &&
            net.prefix > 0 &&
            ip_net_nth(&net, net.prefix == net.addr.len * 8 ? 0 : 1, &m->outside)) {
            m->range = range;
            return;
        }
    }
}

static void name_things(struct ks_making *m)
{
    struct ks_answer *x = m->x;
    const struct ks_service *s = m->hit.service;
    x->client = *str_nonnull(m->q->from) != '\0' ? m->q->from : "a client outside";
    x->target = target_text(m->a, m->q);
    x->kind = kind_text(m->hit.at);
    if (s == NULL) {
        return;
    }
    const char *port = m->hit.port == NULL ? "" : m->hit.port->name;
    x->service = arena_printf(m->a, "%s/%s", s->meta.ns, s->meta.name);
    x->port = arena_printf(m->a, "%s%s%s", x->service, *port == '\0' ? "" : ":", port);
    x->proxied = m->hit.proxied;
    if (s->health_check_node_port != 0) {
        x->health_port = arena_printf(m->a, "HTTP, port %d of each node (healthCheckNodePort)",
                                      (int)s->health_check_node_port);
    }
}

const struct ks_answer *ks_answer_make(struct arena *a, const struct ks_cluster *cluster,
                                       const struct ks_proxy *proxy,
                                       const struct ks_balancer *balancer,
                                       const struct ks_question *question)
{
    struct ks_making m = {.a = a,
                          .cluster = cluster,
                          .proxy = proxy,
                          .q = question,
                          .family = family_of(cluster, question),
                          .x = ARENA_NEW(a, struct ks_answer)};
    m.x->question = question;
    ks_answer_choose_hit(&m);
    name_things(&m);
    choose_client(&m);
    const struct ks_objects c = ks_answer_objects(&m);
    bool by_balancer =
        m.x->proxied || question->client_node == NULL; /* inside, nodes capture the address */
    m.x->balancer = m.hit.at == KS_AT_INGRESS && by_balancer ? balancer : NULL;
    ask_all(&m, &c);
    ks_answer_sentences(&m);
    return m.x;
}
