/* SPDX-License-Identifier: Apache-2.0 */
/* world.c: the cluster as one node's kube-proxy sees it; see world.h.
 *
 * Services and slices are sorted once and walked side by side, so that the whole costs their number
 * times its logarithm. */
#include "common/services/node/world.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"
#include "common/services/node/endpoints.h"
#include "common/services/node/ports.h"

/* ---- one Service ----------------------------------------------------------------------------- */

/* The ports of one Service, on the way into the world. */
struct service_ports {
    const struct ks_service *service;
    size_t place; /* in the input */
    struct ks_port *ports;
    size_t n;
};

/* Gives the ports of a Service their endpoints and lists.  `slices` are the
 * Service's own, sorted. */
static struct ks_service_endpoints attach(struct arena *a, const struct ks_node_config *config,
                                          const struct service_ports *s,
                                          const struct ks_slice *const *slices, size_t n_slices,
                                          size_t room)
{
    struct ks_port *ports = s->ports;
    struct ks_service_endpoints of = ks_service_endpoints(a, config, slices, n_slices, room);
    for (size_t i = 0; i < s->n; i++) {
        const struct ks_endpoint_group *group =
            ks_endpoint_group(&of, ports[i].port_name, ports[i].protocol);
        if (group != NULL) {
            ports[i].endpoints = group->items;
            ports[i].n_endpoints = group->n;
        }
        ks_port_lists(a, config, &ports[i]);
    }
    return of;
}

/* Where a Service stands in the order of slices. */
static int compare_to_slice(const struct ks_meta *service, const struct ks_slice *slice,
                            enum ks_family family)
{
    int order = strcmp(service->ns, slice->meta.ns);
    return order != 0 ? order : strcmp(service->name, ks_slice_service(slice, family));
}

/* ---- all Services ---------------------------------------------------------------------------- */

static int compare_services(const void *a, const void *b)
{
    const struct service_ports *x = a;
    const struct service_ports *y = b;
    int order = strcmp(x->service->meta.ns, y->service->meta.ns);
    order = order != 0 ? order : strcmp(x->service->meta.name, y->service->meta.name);
    return order != 0 ? order : (x->place > y->place) - (x->place < y->place);
}

static bool same_service(const struct ks_service *a, const struct ks_service *b)
{
    return str_eq(a->meta.ns, b->meta.ns) && str_eq(a->meta.name, b->meta.name);
}

/* The Services that exist in this family, sorted, each name once (the last given); heap.
 * *ret_ports counts all ports. */
static struct service_ports *read_services(struct arena *a, enum ks_family family,
                                           const struct ks_service *const *services, size_t n,
                                           size_t *ret_n, size_t *ret_ports)
{
    struct service_ports *all = xcalloc(n + 1, sizeof(*all));
    for (size_t i = 0; i < n; i++) {
        all[i] = (struct service_ports){.service = services[i], .place = i};
    }
    qsort(all, n, sizeof(*all), compare_services);
    size_t kept = 0;
    *ret_ports = 0;
    for (size_t i = 0; i < n; i++) {
        if (i + 1 < n && same_service(all[i].service, all[i + 1].service)) {
            continue;
        }
        struct service_ports s = all[i];
        s.ports = ks_service_ports(a, s.service, family, &s.n);
        if (s.n > 0) {
            *ret_ports += s.n;
            all[kept++] = s;
        }
    }
    *ret_n = kept;
    return all;
}

/* The next range of `slices` from *at on that belongs to the Service; skips those
 * of Services before it. */
static size_t own_slices(const struct ks_service *service, enum ks_family family,
                         const struct ks_slice *const *slices, size_t n, size_t *at)
{
    while (*at < n && compare_to_slice(&service->meta, slices[*at], family) > 0) {
        (*at)++;
    }
    size_t end = *at;
    while (end < n && compare_to_slice(&service->meta, slices[end], family) == 0) {
        end++;
    }
    return end - *at;
}

const struct ks_world *ks_world_make(struct arena *a, const struct ks_node_config *config,
                                     const struct ks_service *const *services, size_t n_services,
                                     const struct ks_slice *const *slices, size_t n_slices)
{
    struct ks_world *w = ARENA_NEW(a, struct ks_world);
    w->config = *config;
    size_t n_kept, n_ports, n_seen;
    struct service_ports *kept =
        read_services(a, config->family, services, n_services, &n_kept, &n_ports);
    const struct ks_slice **seen = ks_slices_sorted(a, config->family, slices, n_slices, &n_seen);
    struct ks_port *ports = ARENA_ARRAY(a, struct ks_port, n_ports);
    struct ks_service_health *healths = ARENA_ARRAY(a, struct ks_service_health, n_kept);
    struct ks_world_service *of_services = ARENA_ARRAY(a, struct ks_world_service, n_kept);
    size_t at = 0;
    size_t room = KS_ENDPOINTS_MAX;
    for (size_t i = 0; i < n_kept; i++) {
        const struct service_ports *s = &kept[i];
        size_t own = own_slices(s->service, config->family, seen, n_seen, &at);
        struct ks_service_endpoints of = attach(a, config, s, seen + at, own, room);
        room -= of.n_endpoints;
        w->n_left_out += of.n_left_out;
        at += own;
        struct ks_service_health health = {s->ports[0].ns, s->ports[0].name,
                                           s->ports[0].health_check_node_port, of.local_ready};
        of_services[w->n_services++] = (struct ks_world_service){health, of};
        if (health.port != 0 || of.local_ready > 0) {
            healths[w->n_healths++] = health;
        }
        for (size_t j = 0; j < s->n; j++) {
            ports[w->n_ports++] = s->ports[j];
            w->n_endpoints_all += s->ports[j].n_endpoints;
        }
    }
    free(kept);
    w->ports = ports;
    w->healths = healths;
    w->services = of_services;
    return w;
}
