/* SPDX-License-Identifier: Apache-2.0 */
/* answer_objects.c: of all objects, those that can decide about the packet of a question; see
 * answer.h.
 *
 * A Service with a thousand ports and a thousand endpoints has a million pairs of them, of which
 * the packet meets a thousand.  So the Service that is checked has the ports alone that the
 * question can mean, and its slices have these ports.  Of many addresses those stay that the packet
 * can have.  Each endpoint stays, for health checks count endpoints whatever their port. */
#include <stdlib.h>
#include <string.h>

#include "common/base/map.h"
#include "common/base/str.h"
#include "common/services/tell/answer_parts.h"

/* ---- addresses ------------------------------------------------------------------------------- */

#define FEW 8 /* addresses that all stay */

/* Indices of addresses that stay, in one list of the Service. */
struct staying {
    size_t *items;
    size_t n;
};
struct narrowing {
    const struct ks_making *m;
    size_t service; /* its index */
    struct staying ingress;
    struct staying external;
};

static int cmp_size(const void *x, const void *y)
{
    size_t a = *(const size_t *)x;
    size_t b = *(const size_t *)y;
    return (a > b) - (a < b);
}

static void stay(struct staying *to, struct arena *a, size_t index)
{
    if ((to->n & (to->n - 1)) == 0) { /* a power of two: it is full */
        size_t *more = ARENA_ARRAY(a, size_t, to->n == 0 ? 1 : 2 * to->n);
        if (to->n > 0) {
            memcpy(more, to->items, to->n * sizeof(*more));
        }
        to->items = more;
    }
    to->items[to->n++] = index;
}

static void stay_at(struct narrowing *k, const struct ip_addr *ip)
{
    size_t n = 0;
    const struct ks_place *places =
        ip->len == 0 ? NULL : ks_cluster_places_of(k->m->cluster, ip, k->service, &n);
    for (size_t i = 0; i < n; i++) {
        if (places[i].kind != KS_PLACE_CLUSTER_IP) {
            stay(places[i].kind == KS_PLACE_INGRESS ? &k->ingress : &k->external, k->m->a,
                 places[i].index);
        }
    }
}

static bool is_of(enum ks_family family, const char *text)
{
    struct ip_addr ip;
    return !str_is_empty(text) && ip_parse_sloppy(text, &ip) && ks_family_of(&ip) == family;
}

/* One of each list tells a node that the Service has such addresses. */
static void stay_first(struct narrowing *k, const struct ks_service *s)
{
    for (size_t i = 0; i < s->n_external_ips; i++) {
        if (is_of(k->m->family, s->external_ips[i])) {
            stay(&k->external, k->m->a, i);
            break;
        }
    }
    if (k->external.n == 0 && s->n_external_ips > 0) {
        stay(&k->external, k->m->a, 0);
    }
    for (size_t i = 0; i < s->n_ingress; i++) {
        const char *mode = s->ingress[i].ip_mode;
        if ((*mode == '\0' || str_eq(mode, "VIP")) && is_of(k->m->family, s->ingress[i].ip)) {
            stay(&k->ingress, k->m->a, i);
            break;
        }
    }
}

/* Sorts them as they are in the Service, each once. */
static void settle(struct staying *s)
{
    size_t n = 0;
    if (s->n > 1) {
        qsort(s->items, s->n, sizeof(*s->items), cmp_size);
    }
    for (size_t i = 0; i < s->n; i++) {
        if (n == 0 || s->items[n - 1] != s->items[i]) {
            s->items[n++] = s->items[i];
        }
    }
    s->n = n;
}

/* A packet has the destination and the source of the question, or the address that stands for a
 * client outside; a node's own address may stand for either. */
static void narrow_addresses(const struct ks_making *m, size_t service, struct ks_service *s)
{
    struct narrowing k = {.m = m, .service = service};
    if (s->n_external_ips + s->n_ingress <= FEW) {
        return;
    }
    stay_first(&k, s);
    stay_at(&k, &m->q->dest);
    stay_at(&k, &m->q->source);
    stay_at(&k, &m->outside);
    for (size_t i = 0; i < m->cluster->n_nodes; i++) {
        const struct ks_node *node = m->cluster->nodes[i];
        struct ip_addr ip;
        for (size_t n = 0; n < node->n_addresses; n++) {
            if (ip_parse_sloppy(node->addresses[n], &ip)) {
                stay_at(&k, &ip);
            }
        }
    }
    settle(&k.external);
    settle(&k.ingress);
    const char **external = ARENA_ARRAY(m->a, const char *, k.external.n);
    for (size_t i = 0; i < k.external.n; i++) {
        external[i] = s->external_ips[k.external.items[i]];
    }
    struct ks_ingress *ingress = ARENA_ARRAY(m->a, struct ks_ingress, k.ingress.n);
    for (size_t i = 0; i < k.ingress.n; i++) {
        ingress[i] = s->ingress[k.ingress.items[i]];
    }
    s->external_ips = external;
    s->n_external_ips = k.external.n;
    s->ingress = ingress;
    s->n_ingress = k.ingress.n;
}

/* ---- ports ----------------------------------------------------------------------------------- */

/* The part of a Service that the question is about. */
struct narrow {
    struct ks_service *service;
    struct map *names;    /* of its ports */
    const char *protocol; /* of its ports */
    bool asked;           /* it has a port that the question can mean */
};

static bool has_number(const struct ks_service_port *p, const struct ks_question *q)
{
    return (p->port == q->port || p->node_port == q->port) && str_eq(p->protocol, q->protocol);
}

/* Of several ports of a protocol with one name the last counts. */
static bool is_replaced(const struct ks_service *s, size_t at)
{
    const struct ks_service_port *p = &s->ports[at];
    for (size_t i = at + 1; i < s->n_ports; i++) {
        if (str_eq(s->ports[i].name, p->name) && str_eq(s->ports[i].protocol, p->protocol)) {
            return true;
        }
    }
    return false;
}

static void keep_port(struct narrow *to, struct ks_service_port *ports,
                      const struct ks_service_port *p)
{
    ports[to->service->n_ports++] = *p;
    map_set(to->names, p->name, NULL);
    to->protocol = p->protocol;
}

/* The Service with the ports that the question can mean.  Where there are none, the last port
 * stands for all: the Service still has its addresses. */
static struct narrow narrow_service(struct arena *a, const struct ks_service *s,
                                    const struct ks_question *q)
{
    struct narrow to = {.service = arena_memdup(a, s, sizeof(*s)), .names = map_new(NULL)};
    size_t n = 0;
    for (size_t i = 0; i < s->n_ports; i++) {
        n += has_number(&s->ports[i], q);
    }
    struct ks_service_port *ports = ARENA_ARRAY(a, struct ks_service_port, n + 1);
    to.service->ports = ports;
    to.service->n_ports = 0;
    for (size_t i = 0; n > 0 && i < s->n_ports; i++) {
        if (has_number(&s->ports[i], q) && !is_replaced(s, i)) {
            keep_port(&to, ports, &s->ports[i]);
        }
    }
    to.asked = to.service->n_ports > 0;
    if (!to.asked && s->n_ports > 0) {
        keep_port(&to, ports, &s->ports[s->n_ports - 1]);
    }
    return to;
}

static bool is_port_of(const struct narrow *to, const struct ks_slice_port *p)
{
    return p->name != NULL && str_eq(str_or(p->protocol, "TCP"), str_nonnull(to->protocol)) &&
           map_has(to->names, p->name);
}

/* The slice with the ports of the narrow Service; with none of them, any port
 * that kube-proxy takes. */
static const struct ks_slice *narrow_slice(struct arena *a, const struct ks_slice *slice,
                                           const struct narrow *to)
{
    struct ks_slice *out = arena_memdup(a, slice, sizeof(*slice));
    const struct ks_slice_port *any = NULL;
    size_t n = 0;
    for (size_t i = 0; i < slice->n_ports; i++) {
        const struct ks_slice_port *p = &slice->ports[i];
        any = any == NULL && p->name != NULL && p->has_port && p->port != 0 ? p : any;
        n += is_port_of(to, p);
    }
    struct ks_slice_port *ports = ARENA_ARRAY(a, struct ks_slice_port, n + 1);
    out->n_ports = 0;
    for (size_t i = 0; i < slice->n_ports; i++) {
        if (is_port_of(to, &slice->ports[i])) {
            ports[out->n_ports++] = slice->ports[i];
        }
    }
    if (n == 0 && any != NULL) {
        ports[out->n_ports++] = *any;
    }
    out->ports = ports;
    return out;
}

/* ---- Services -------------------------------------------------------------------------------- */

/* Services that have the address and not the port are alike: the first of each kind of address
 * stands for all, and those whose address is the packet's source. */
static bool is_needed(const struct ks_making *m, size_t service, enum ks_at at, bool asked,
                      unsigned *seen)
{
    const struct ks_question of_source = {
        .dest = m->q->source, .port = m->q->port, .protocol = m->q->protocol};
    bool first = (*seen & 1u << at) == 0;
    *seen |= 1u << at;
    return asked || first || at == KS_AT_HEALTH_PORT ||
           (m->q->source.len != 0 &&
            ks_hit_of(m->cluster, service, &of_source, false).service != NULL);
}

static void add_slices(struct ks_making *m, const struct narrow *to, struct ks_objects *o,
                       size_t *cap)
{
    const struct ks_service *s = to->service;
    size_t n = 0;
    const struct ks_slice *const *slices =
        ks_cluster_slices(m->cluster, s->meta.ns, s->meta.name, &n);
    if (o->n_slices + n > *cap) {
        *cap = 2 * *cap + n;
        const struct ks_slice **more = ARENA_ARRAY(m->a, const struct ks_slice *, *cap);
        if (o->n_slices > 0) {
            memcpy(more, o->slices, o->n_slices * sizeof(*more));
        }
        o->slices = more;
    }
    for (size_t i = 0; i < n; i++) {
        o->slices[o->n_slices++] = narrow_slice(m->a, slices[i], to);
    }
}

/* The Service that the answer is about: one that has the port, too, and by
 * its outermost address. */
static void choose_hit(struct ks_making *m, const struct ks_hit *hit)
{
    bool first = m->hit.service == NULL;
    bool better = (hit->port != NULL) > (m->hit.port != NULL) ||
                  ((hit->port != NULL) == (m->hit.port != NULL) && hit->at > m->hit.at);
    if (!first && hit->port != NULL && m->hit.port != NULL) {
        m->rival = better ? m->hit.service : hit->service;
    } else if (better) {
        m->rival = NULL;
    }
    if (first || better) {
        m->hit = *hit;
    }
}

void ks_answer_choose_hit(struct ks_making *m)
{
    bool at_node = m->q->each_node || ks_is_node_address(m->cluster, &m->q->dest);
    size_t n = 0;
    const size_t *found = ks_answer_found(m->a, m->cluster, m->q, &n);
    for (size_t i = 0; i < n; i++) {
        const struct ks_hit hit = ks_hit_of(m->cluster, found[i], m->q, at_node);
        choose_hit(m, &hit);
    }
}

struct ks_objects ks_answer_objects(struct ks_making *m)
{
    struct ks_objects o = {0};
    bool at_node = m->q->each_node || ks_is_node_address(m->cluster, &m->q->dest);
    size_t n = 0;
    size_t cap = 0;
    unsigned seen = 0;
    const size_t *found = ks_answer_found(m->a, m->cluster, m->q, &n);
    o.services = ARENA_ARRAY(m->a, const struct ks_service *, n);
    for (size_t i = 0; i < n; i++) {
        const struct ks_hit hit = ks_hit_of(m->cluster, found[i], m->q, at_node);
        struct narrow to = narrow_service(m->a, hit.service, m->q);
        if (is_needed(m, found[i], hit.at, to.asked, &seen)) {
            narrow_addresses(m, found[i], to.service);
            o.services[o.n_services++] = to.service;
            add_slices(m, &to, &o, &cap);
        }
        map_free(to.names);
    }
    return o;
}
