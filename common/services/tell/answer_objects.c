/* SPDX-License-Identifier: Apache-2.0 */
/* answer_objects.c: of all objects, those that can decide about the packet of a question; see answer.h.
 *
 * A Service with a thousand ports and a thousand endpoints has a million pairs of them, of which the packet meets a thousand.
 * So the Service that is looked at has the ports alone that the question can mean, and its slices have these ports.  What is
 * the same for all ports stays: the addresses, and each endpoint, for health checks count endpoints whatever their port. */
#include <stdlib.h>
#include <string.h>

#include "common/base/map.h"
#include "common/base/str.h"
#include "common/services/tell/answer_parts.h"

/* ---- ports ------------------------------------------------------------------------------------------- */

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

/* Name → index + 1 of the ports of a protocol: of several with one name the last counts. */
static struct map *ports_by_name(const struct ks_service *s, const char *protocol)
{
    struct map *names = map_new(NULL);
    for (size_t i = 0; i < s->n_ports; i++) {
        if (str_eq(s->ports[i].protocol, protocol)) {
            map_set(names, s->ports[i].name, (void *)(uintptr_t)(i + 1));
        }
    }
    return names;
}

static void keep_port(struct narrow *to, struct ks_service_port *ports,
                      const struct ks_service_port *p)
{
    ports[to->service->n_ports++] = *p;
    map_set(to->names, p->name, NULL);
    to->protocol = p->protocol;
}

/* The Service with the ports that the question can mean.  Where there are none, the last port stands for all: the Service
 * still has its addresses. */
static struct narrow narrow_service(struct arena *a, const struct ks_service *s,
                                    const struct ks_question *q)
{
    struct narrow to = {.service = arena_memdup(a, s, sizeof(*s)), .names = map_new(NULL)};
    size_t n = 0;
    for (size_t i = 0; i < s->n_ports; i++) {
        n += has_number(&s->ports[i], q);
    }
    struct map *last = n > 0 ? ports_by_name(s, q->protocol) : NULL;
    struct ks_service_port *ports = ARENA_ARRAY(a, struct ks_service_port, n + 1);
    to.service->ports = ports;
    to.service->n_ports = 0;
    for (size_t i = 0; last != NULL && i < s->n_ports; i++) {
        if (has_number(&s->ports[i], q) &&
            (uintptr_t)map_get(last, s->ports[i].name) == (uintptr_t)i + 1) {
            keep_port(&to, ports, &s->ports[i]);
        }
    }
    map_free(last);
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

/* The slice with the ports of the narrow Service; with none of them, any port that kube-proxy takes. */
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

/* ---- Services ------------------------------------------------------------------------------------------ */

/* Services that have the address and not the port are alike: the first of each kind of address stands for all, and those
 * whose address is the packet's source. */
static bool is_needed(const struct ks_making *m, const struct ks_service *s, enum ks_at at,
                      bool asked, unsigned *seen)
{
    const struct ks_question of_source = {
        .dest = m->q->source, .port = m->q->port, .protocol = m->q->protocol};
    bool first = (*seen & 1u << at) == 0;
    *seen |= 1u << at;
    return asked || first || at == KS_AT_HEALTH_PORT ||
           (m->q->source.len != 0 && ks_hit_of(s, &of_source, false).service != NULL);
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

/* The Service that the answer is about: one that has the port, too, and by its outermost address. */
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

struct ks_objects ks_answer_objects(struct ks_making *m)
{
    struct ks_objects o = {0};
    bool at_node = m->q->each_node || ks_is_node_address(m->cluster, &m->q->dest);
    size_t n = 0;
    size_t cap = 0;
    unsigned seen = 0;
    const struct ks_service **all = ks_answer_services(m->a, m->cluster, m->q, &n);
    o.services = ARENA_ARRAY(m->a, const struct ks_service *, n);
    for (size_t i = 0; i < n; i++) {
        const struct ks_hit hit = ks_hit_of(all[i], m->q, at_node);
        struct narrow to = narrow_service(m->a, all[i], m->q);
        choose_hit(m, &hit);
        if (is_needed(m, all[i], hit.at, to.asked, &seen)) {
            o.services[o.n_services++] = to.service;
            add_slices(m, &to, &o, &cap);
        }
        map_free(to.names);
    }
    return o;
}
