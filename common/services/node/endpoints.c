/* SPDX-License-Identifier: Apache-2.0 */
/* endpoints.c: slices to endpoints; see endpoints.h.
 *
 * Each address of a slice is read and printed once, however many ports the slice has.  A group is
 * gathered in order of slice name and place, sorted by text, and then each text is taken once. */
#include "common/services/node/endpoints.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"
#include "common/base/strset.h"

#define LABEL_SERVICE  "kubernetes.io/service-name"
#define LABEL_HEADLESS "service.kubernetes.io/headless"

/* ---- which slices ---------------------------------------------------------------------------- */

const char *ks_slice_service(const struct ks_slice *slice, enum ks_family family)
{
    const struct ks_meta *m = &slice->meta;
    const char *service = ks_kv(m->labels, m->n_labels, LABEL_SERVICE);
    bool seen = str_eq(slice->address_type, family == KS_IPV6 ? "IPv6" : "IPv4") &&
                *m->ns != '\0' && *m->name != '\0' && !str_is_empty(service) &&
                ks_kv(m->labels, m->n_labels, LABEL_HEADLESS) == NULL;
    return seen ? service : NULL;
}

/* A slice with its sort keys. */
struct keyed_slice {
    const char *ns;
    const char *service;
    const char *name;
    size_t place;
    const struct ks_slice *slice;
};

static int compare_slices(const void *a, const void *b)
{
    const struct keyed_slice *x = a;
    const struct keyed_slice *y = b;
    int order = strcmp(x->ns, y->ns);
    order = order != 0 ? order : strcmp(x->service, y->service);
    order = order != 0 ? order : strcmp(x->name, y->name);
    return order != 0 ? order : (x->place > y->place) - (x->place < y->place);
}

const struct ks_slice **ks_slices_sorted(struct arena *a, enum ks_family family,
                                         const struct ks_slice *const *slices, size_t n,
                                         size_t *ret_n)
{
    struct keyed_slice *keyed = xcalloc(n + 1, sizeof(*keyed));
    size_t seen = 0;
    for (size_t i = 0; i < n; i++) {
        const char *service = ks_slice_service(slices[i], family);
        if (service != NULL) {
            const struct ks_meta *m = &slices[i]->meta;
            keyed[seen++] = (struct keyed_slice){m->ns, service, m->name, i, slices[i]};
        }
    }
    qsort(keyed, seen, sizeof(*keyed), compare_slices);
    const struct ks_slice **sorted = ARENA_ARRAY(a, const struct ks_slice *, seen);
    for (size_t i = 0; i < seen; i++) {
        sorted[i] = keyed[i].slice;
    }
    free(keyed);
    *ret_n = seen;
    return sorted;
}

/* ---- one endpoint ---------------------------------------------------------------------------- */

static const char **sorted_names(struct arena *a, const char **names, size_t n, size_t *ret_n)
{
    struct str_set set = str_set_make(a, names, n);
    *ret_n = set.n;
    return (const char **)set.items; /* the array is ours, in the arena */
}

/* An endpoint without its port; its text is the address, in brackets for IPv6.  False when
 * kube-proxy leaves it out. */
static bool read_endpoint(struct arena *a, const struct ks_node_config *config,
                          const struct ks_slice_endpoint *from, struct ks_endpoint *ret)
{
    struct ks_endpoint e = {.ready = from->ready != KS_FALSE,
                            .serving = from->serving != KS_FALSE,
                            .terminating = from->terminating == KS_TRUE,
                            .node_name = str_nonnull(from->node_name),
                            .zone = str_nonnull(from->zone),
                            .ref = from->ref};
    if (from->n_addresses == 0 || !ip_parse_sloppy(from->addresses[0], &e.ip) ||
        e.ip.len != (config->family == KS_IPV6 ? 16 : 4)) {
        return false;
    }
    char text[IP_TEXT_MAX];
    ip_format(&e.ip, text);
    e.text = config->family == KS_IPV6 ? arena_printf(a, "[%s]", text) : arena_strdup(a, text);
    e.local = *e.node_name != '\0' && str_eq(e.node_name, config->name);
    e.zone_hints = sorted_names(a, from->zone_hints, from->n_zone_hints, &e.n_zone_hints);
    e.node_hints = sorted_names(a, from->node_hints, from->n_node_hints, &e.n_node_hints);
    *ret = e;
    return true;
}

/* The endpoints of one slice, without ports. */
struct slice_endpoints {
    struct ks_endpoint *items;
    size_t n;
};

static struct slice_endpoints read_slice(struct arena *a, const struct ks_node_config *config,
                                         const struct ks_slice *slice)
{
    struct slice_endpoints of = {.items = ARENA_ARRAY(a, struct ks_endpoint, slice->n_endpoints)};
    for (size_t i = 0; i < slice->n_endpoints; i++) {
        of.n += read_endpoint(a, config, &slice->endpoints[i], &of.items[of.n]) ? 1 : 0;
    }
    return of;
}

/* ---- a group --------------------------------------------------------------------------------- */

/* A port of a slice that has a name and a number. */
struct slice_port {
    const char *name;
    const char *protocol;
    int32_t number;
    size_t place; /* over all slices of the Service */
    const struct slice_endpoints *endpoints;
};

static int compare_slice_ports(const void *a, const void *b)
{
    const struct slice_port *x = a;
    const struct slice_port *y = b;
    int order = strcmp(x->name, y->name);
    order = order != 0 ? order : strcmp(x->protocol, y->protocol);
    return order != 0 ? order : (x->place > y->place) - (x->place < y->place);
}

/* An endpoint of a group before it is known whether another one takes its place. */
struct candidate {
    const char *text;
    const struct ks_endpoint *endpoint; /* without port */
    int32_t number;
    size_t place;
};

static int compare_candidates(const void *a, const void *b)
{
    const struct candidate *x = a;
    const struct candidate *y = b;
    int order = strcmp(x->text, y->text);
    return order != 0 ? order : (x->place > y->place) - (x->place < y->place);
}

/* "ip:port". */
static const char *endpoint_text(struct arena *a, const char *address, int32_t number)
{
    char digits[16];
    size_t n_address = strlen(address);
    size_t n_digits = (size_t)snprintf(digits, sizeof(digits), ":%d", number);
    char *text = arena_alloc(a, n_address + n_digits + 1);
    memcpy(text, address, n_address);
    memcpy(text + n_address, digits, n_digits);
    return text;
}

static size_t gather(struct arena *a, const struct slice_port *ports, size_t n,
                     struct candidate *out)
{
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < ports[i].endpoints->n; j++) {
            const struct ks_endpoint *e = &ports[i].endpoints->items[j];
            out[at] = (struct candidate){.text = endpoint_text(a, e->text, ports[i].number),
                                         .endpoint = e,
                                         .number = ports[i].number,
                                         .place = at};
            at++;
        }
    }
    return at;
}

/* How many entries the slices have for a group. */
static size_t count_entries(const struct slice_port *ports, size_t n)
{
    size_t total = 0;
    for (size_t i = 0; i < n; i++) {
        total += ports[i].endpoints->n;
    }
    return total;
}

/* One group from the ports of slices that bear its name.  Of several entries with one text, the
 * last that does not terminate counts, else the first. */
static struct ks_endpoint_group make_group(struct arena *a, const struct slice_port *ports,
                                           size_t n)
{
    size_t total = count_entries(ports, n);
    struct candidate *all = xcalloc(total + 1, sizeof(*all));
    total = gather(a, ports, n, all);
    qsort(all, total, sizeof(*all), compare_candidates);
    struct ks_endpoint_group group = {.port_name = ports[0].name,
                                      .protocol = ports[0].protocol,
                                      .items = ARENA_ARRAY(a, struct ks_endpoint, total)};
    for (size_t i = 0; i < total; i++) {
        bool again = i > 0 && str_eq(all[i].text, all[i - 1].text);
        if (again && all[i].endpoint->terminating) {
            continue;
        }
        group.n -= again ? 1 : 0;
        struct ks_endpoint *e = &group.items[group.n++];
        *e = *all[i].endpoint;
        e->port = all[i].number;
        e->text = all[i].text;
    }
    free(all);
    return group;
}

/* ---- a Service ------------------------------------------------------------------------------- */

static int compare_ips(const void *a, const void *b)
{
    return memcmp(((const struct ip_addr *)a)->bytes, ((const struct ip_addr *)b)->bytes, 16);
}

static size_t count_local_ready(const struct ks_service_endpoints *of)
{
    size_t n = 0;
    for (size_t g = 0; g < of->n_groups; g++) {
        n += of->groups[g].n;
    }
    struct ip_addr *ips = xcalloc(n + 1, sizeof(*ips));
    n = 0;
    for (size_t g = 0; g < of->n_groups; g++) {
        for (size_t i = 0; i < of->groups[g].n; i++) {
            const struct ks_endpoint *e = &of->groups[g].items[i];
            if (e->local && e->ready) {
                ips[n++] = e->ip;
            }
        }
    }
    qsort(ips, n, sizeof(*ips), compare_ips);
    size_t distinct = 0;
    for (size_t i = 0; i < n; i++) {
        distinct += i == 0 || !ip_eq(&ips[i], &ips[i - 1]) ? 1 : 0;
    }
    free(ips);
    return distinct;
}

/* All ports of the slices that have name and number, sorted; heap. */
static struct slice_port *read_ports(const struct ks_slice *const *slices, size_t n,
                                     const struct slice_endpoints *endpoints, size_t *ret_n)
{
    size_t total = 0;
    for (size_t i = 0; i < n; i++) {
        total += slices[i]->n_ports;
    }
    struct slice_port *ports = xcalloc(total + 1, sizeof(*ports));
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < slices[i]->n_ports; j++) {
            const struct ks_slice_port *p = &slices[i]->ports[j];
            if (p->name != NULL && p->has_port && p->port != 0 && endpoints[i].n > 0) {
                ports[at] = (struct slice_port){p->name, str_or(p->protocol, "TCP"), p->port, at,
                                                &endpoints[i]};
                at++;
            }
        }
    }
    qsort(ports, at, sizeof(*ports), compare_slice_ports);
    *ret_n = at;
    return ports;
}

struct ks_service_endpoints ks_service_endpoints(struct arena *a,
                                                 const struct ks_node_config *config,
                                                 const struct ks_slice *const *slices, size_t n,
                                                 size_t room)
{
    struct slice_endpoints *endpoints = xcalloc(n + 1, sizeof(*endpoints));
    for (size_t i = 0; i < n; i++) {
        endpoints[i] = read_slice(a, config, slices[i]);
    }
    size_t n_ports;
    struct slice_port *ports = read_ports(slices, n, endpoints, &n_ports);
    struct ks_endpoint_group *groups = ARENA_ARRAY(a, struct ks_endpoint_group, n_ports);
    struct ks_service_endpoints of = {.groups = groups};
    for (size_t i = 0, end; i < n_ports; i = end) {
        end = i + 1;
        while (end < n_ports && str_eq(ports[i].name, ports[end].name) &&
               str_eq(ports[i].protocol, ports[end].protocol)) {
            end++;
        }
        size_t entries = count_entries(&ports[i], end - i);
        if (entries > room - of.n_endpoints) {
            of.n_left_out += entries;
            continue;
        }
        groups[of.n_groups] = make_group(a, &ports[i], end - i);
        of.n_endpoints += groups[of.n_groups++].n;
    }
    of.local_ready = count_local_ready(&of);
    free(ports);
    free(endpoints);
    return of;
}

const struct ks_endpoint_group *ks_endpoint_group(const struct ks_service_endpoints *of,
                                                  const char *port_name, const char *protocol)
{
    size_t low = 0;
    size_t high = of->n_groups;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int order = strcmp(of->groups[mid].port_name, port_name);
        order = order != 0 ? order : strcmp(of->groups[mid].protocol, protocol);
        if (order == 0) {
            return &of->groups[mid];
        }
        low = order < 0 ? mid + 1 : low;
        high = order < 0 ? high : mid;
    }
    return NULL;
}
