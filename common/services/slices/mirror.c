/* SPDX-License-Identifier: Apache-2.0 */
/* mirror.c: Endpoints written by hand, mirrored into slices; see mirror.h. */
#include "common/services/slices/mirror.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/ip.h"
#include "common/base/str.h"
#include "common/services/slices/repack.h"
#include "common/services/slices/slices_internal.h"

#define MAX_ENDPOINTS_DEFAULT 1000
#define SKIP_LABEL            "endpointslice.kubernetes.io/skip-mirror"
#define LEADER_ANNOTATION     "control-plane.alpha.kubernetes.io/leader"
#define TRIGGER_ANNOTATION    "endpoints.kubernetes.io/last-change-trigger-time"
#define APPLIED_ANNOTATION    "kubectl.kubernetes.io/last-applied-configuration"

/* A subset with its ports in the form of slices. */
struct part {
    const struct ks_subset *subset;
    const struct ks_slice_port *ports;
    const char *key;
    size_t seq;
};
/* An existing mirror with the key of its ports. */
struct keyed_slice {
    const struct ks_slice *slice;
    const char *key;
};
/* Everything a pass works on. */
struct mirror {
    struct arena *a;
    const struct ks_endpoints *endpoints;
    struct keyed_slice *existing; /* sorted by family, key, name */
    bool *wanted;                 /* per existing: its group is desired */
    size_t n_existing;
    size_t max;
    size_t invalid;            /* addresses that are not IPs */
    size_t skipped;            /* addresses that no slice got, invalid ones among them */
    struct kv_map labels;      /* of new slices */
    struct kv_map annotations; /* of new slices */
    const struct ks_slice **create;
    const struct ks_slice **remove;
    size_t n_create;
    size_t n_remove;
    struct ks_mirror_pass result;
};

/* ---- whether --------------------------------------------------------------------------------- */

static enum ks_mirror_off off_of(const struct ks_mirror_input *in)
{
    if (in->endpoints == NULL) {
        return KS_MIRROR_NO_ENDPOINTS;
    }
    const struct ks_meta *m = &in->endpoints->meta;
    if (str_eq(ks_kv(m->labels, m->n_labels, SKIP_LABEL), "true")) {
        return KS_MIRROR_SKIPPED;
    }
    if (ks_kv(m->annotations, m->n_annotations, LEADER_ANNOTATION) != NULL) {
        return KS_MIRROR_LEADER;
    }
    if (in->service == NULL) {
        return KS_MIRROR_NO_SERVICE;
    }
    return in->service->has_selector ? KS_MIRROR_SELECTOR : KS_MIRROR_FINE;
}

/* ---- what is there --------------------------------------------------------------------------- */

static int compare_keyed(const struct keyed_slice *s, const char *type, const char *key)
{
    int order = strcmp(s->slice->address_type, type);
    return order != 0 ? order : strcmp(s->key, key);
}

static int by_key(const void *x, const void *y)
{
    const struct keyed_slice *a = x, *b = y;
    int order = compare_keyed(a, b->slice->address_type, b->key);
    return order != 0 ? order : strcmp(a->slice->meta.name, b->slice->meta.name);
}

static void gather_slices(struct mirror *m, const struct ks_mirror_input *in)
{
    m->existing = ARENA_ARRAY(m->a, struct keyed_slice, in->n_slices);
    m->wanted = ARENA_ARRAY(m->a, bool, in->n_slices);
    m->remove = ARENA_ARRAY(m->a, const struct ks_slice *, in->n_slices);
    for (size_t i = 0; i < in->n_slices; i++) {
        const struct ks_slice *s = in->slices[i];
        if (s->meta.deletion_timestamp == NULL) {
            m->existing[m->n_existing++] =
                (struct keyed_slice){s, slice_ports_key(m->a, s->ports, s->n_ports)};
        }
    }
    qsort(m->existing, m->n_existing, sizeof(*m->existing), by_key);
}

/* The first existing slice of a group, or where it would stand. */
static size_t first_existing(const struct mirror *m, const char *type, const char *key)
{
    size_t low = 0, high = m->n_existing;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        bool before = compare_keyed(&m->existing[mid], type, key) < 0;
        low = before ? mid + 1 : low;
        high = before ? high : mid;
    }
    return low;
}

/* ---- what is desired ------------------------------------------------------------------------- */

static const struct ks_slice_port *slice_ports(struct arena *a, const struct ks_subset *s)
{
    struct ks_slice_port *ports = ARENA_ARRAY(a, struct ks_slice_port, s->n_ports);
    for (size_t i = 0; i < s->n_ports; i++) {
        ports[i] = (struct ks_slice_port){.name = s->ports[i].name,
                                          .protocol = s->ports[i].protocol,
                                          .app_protocol = s->ports[i].app_protocol,
                                          .port = s->ports[i].port,
                                          .has_port = true};
    }
    return slice_ports_sorted(a, ports, s->n_ports);
}

/* Adds an address to the set of its family; false when it is not an IP. */
static bool add_address(struct arena *a, const struct ks_subset_address *at, bool ready,
                        struct endpoint_set *v4, struct endpoint_set *v6)
{
    struct ip_addr ip;
    char text[IP_TEXT_MAX];
    if (!ip_parse_sloppy(at->ip, &ip)) {
        return false;
    }
    ip_format(&ip, text);
    const char **addresses = ARENA_ARRAY(a, const char *, 1);
    addresses[0] = arena_strdup(a, text);
    const struct ks_slice_endpoint e = {.addresses = addresses,
                                        .n_addresses = 1,
                                        .ready = ready ? KS_TRUE : KS_FALSE,
                                        .hostname = *at->hostname == '\0' ? NULL : at->hostname,
                                        .node_name = at->node_name,
                                        .ref = at->ref};
    endpoint_set_add(a, ip.len == 4 ? v4 : v6, &e);
    return true;
}

static void add_subset(struct mirror *m, const struct ks_subset *s, struct endpoint_set *v4,
                       struct endpoint_set *v6)
{
    size_t all = s->n_ready + s->n_not_ready, added = 0;
    for (size_t i = 0; i < all && added < m->max; i++) {
        bool ready = i < s->n_ready;
        const struct ks_subset_address *at = ready ? &s->ready[i] : &s->not_ready[i - s->n_ready];
        if (add_address(m->a, at, ready, v4, v6)) {
            added++;
        } else {
            m->invalid++;
        }
    }
    m->skipped += all - added;
}

/* ---- one group ------------------------------------------------------------------------------- */

static bool is_rebuilt(const struct mirror *m, const struct ks_slice *s)
{
    for (size_t i = 0; i < s->meta.n_owners; i++) {
        const struct ks_owner *o = &s->meta.owners[i];
        if (str_eq(o->kind, "Endpoints") && str_eq(o->name, m->endpoints->meta.name) &&
            !str_eq(o->uid, m->endpoints->meta.uid)) {
            return true; /* these Endpoints were deleted and recreated */
        }
    }
    return false;
}

/* True when an existing slice is what the group needs. */
static bool is_right(struct mirror *m, const struct ks_slice *s, struct endpoint_set *desired)
{
    size_t found = 0;
    for (size_t i = 0; i < s->n_endpoints; i++) {
        const struct ks_slice_endpoint *e =
            endpoint_set_find(m->a, desired, &s->endpoints[i], false);
        if (e == NULL || !endpoints_agree(e, &s->endpoints[i])) {
            return false;
        }
        found++;
    }
    const struct ks_meta *e = &m->endpoints->meta;
    const struct kv_map want = kv_map_copy(m->a, e->labels, e->n_labels, 0);
    const struct kv_map annotations =
        kv_map_copy(m->a, s->meta.annotations, s->meta.n_annotations, 0);
    struct kv_map labels = kv_map_copy(m->a, s->meta.labels, s->meta.n_labels, 0);
    kv_map_remove(&labels, KS_LABEL_SERVICE);
    kv_map_remove(&labels, KS_LABEL_MANAGED_BY);
    return found == desired->left && kv_map_equal(&labels, &want) &&
           kv_map_equal(&annotations, &m->annotations) && !is_rebuilt(m, s);
}

static struct ks_slice *new_slice(struct mirror *m, const char *type, const struct part *p,
                                  const char *name)
{
    const struct ks_meta *e = &m->endpoints->meta;
    struct ks_owner *owner = ARENA_NEW(m->a, struct ks_owner);
    *owner = (struct ks_owner){.api_version = "v1",
                               .kind = "Endpoints",
                               .name = e->name,
                               .uid = e->uid,
                               .controller = true,
                               .block_owner_deletion = true};
    struct ks_slice *s = ARENA_NEW(m->a, struct ks_slice);
    *s = (struct ks_slice){
        .meta = {.ns = e->ns,
                 .name = str_nonnull(name),
                 .generate_name = name != NULL ? "" : slice_generate_name(m->a, e->name),
                 .uid = "",
                 .resource_version = "",
                 .labels = m->labels.items,
                 .n_labels = m->labels.n,
                 .has_labels = true,
                 .annotations = m->annotations.items,
                 .n_annotations = m->annotations.n,
                 .has_annotations = true,
                 .owners = owner,
                 .n_owners = 1},
        .address_type = type,
        .ports = p->ports,
        .n_ports = p->subset->n_ports,
        .has_ports = true,
    };
    return s;
}

static void reconcile_group(struct mirror *m, const char *type, const struct part *p,
                            struct endpoint_set *desired)
{
    size_t from = first_existing(m, type, p->key), to = from;
    endpoint_set_seal(desired);
    if (desired->left == 0) {
        return;
    }
    while (to < m->n_existing && compare_keyed(&m->existing[to], type, p->key) == 0) {
        to++;
    }
    const struct ks_slice *first = from < to ? m->existing[from].slice : NULL;
    if (first != NULL) {
        m->wanted[from] = true; /* others of the group are deleted */
        if (is_right(m, first, desired)) {
            return;
        }
    }
    struct ks_slice *s = new_slice(m, type, p, first == NULL ? NULL : first->meta.name);
    size_t n = desired->left < m->max ? desired->left : m->max;
    struct ks_slice_endpoint *endpoints = ARENA_ARRAY(m->a, struct ks_slice_endpoint, n);
    for (size_t i = 0; i < n; i++) {
        endpoints[i] = *endpoint_set_next(desired);
    }
    s->endpoints = endpoints;
    s->n_endpoints = n;
    if (first == NULL) {
        m->create[m->n_create++] = s;
    } else {
        ((struct ks_slice *)m->result.update)[m->result.n_update++] = *s;
    }
}

static int by_part(const void *x, const void *y)
{
    const struct part *a = x, *b = y;
    int order = strcmp(a->key, b->key);
    return order != 0 ? order : a->seq < b->seq ? -1 : a->seq > b->seq;
}

static void reconcile_groups(struct mirror *m)
{
    size_t n = 0;
    const struct ks_subset *subsets =
        ks_subsets_repack(m->a, m->endpoints->subsets, m->endpoints->n_subsets, &n);
    struct part *parts = ARENA_ARRAY(m->a, struct part, n);
    for (size_t i = 0; i < n; i++) {
        const struct ks_slice_port *ports = slice_ports(m->a, &subsets[i]);
        parts[i] = (struct part){.subset = &subsets[i],
                                 .ports = ports,
                                 .key = slice_ports_key(m->a, ports, subsets[i].n_ports),
                                 .seq = i};
    }
    qsort(parts, n, sizeof(*parts), by_part);
    m->create = ARENA_ARRAY(m->a, const struct ks_slice *, 2 * n);
    m->result.update = ARENA_ARRAY(m->a, struct ks_slice, m->n_existing);
    for (size_t from = 0, to; from < n; from = to) {
        size_t all = 0;
        for (to = from; to < n && str_eq(parts[to].key, parts[from].key); to++) {
            all += parts[to].subset->n_ready + parts[to].subset->n_not_ready;
        }
        struct endpoint_set v4 = endpoint_set_make(m->a, all), v6 = endpoint_set_make(m->a, all);
        for (size_t i = from; i < to; i++) {
            add_subset(m, parts[i].subset, &v4, &v6);
        }
        reconcile_group(m, "IPv4", &parts[from], &v4);
        reconcile_group(m, "IPv6", &parts[from], &v6);
    }
}

/* ---- the pass -------------------------------------------------------------------------------- */

static void add_events(struct mirror *m)
{
    struct ks_event *events = ARENA_ARRAY(m->a, struct ks_event, 2);
    struct ks_mirror_pass *r = &m->result;
    r->events = events;
    if (m->invalid > 0) {
        events[r->n_events++] = (struct ks_event){
            "Warning", "InvalidIPAddress",
            arena_printf(m->a, "Skipped %zu invalid IP addresses when mirroring to EndpointSlices",
                         m->invalid)};
    }
    if (m->skipped > m->invalid) {
        events[r->n_events++] = (struct ks_event){
            "Warning", "TooManyAddressesToMirror",
            arena_printf(m->a,
                         "A max of %zu addresses can be mirrored to EndpointSlices per Endpoints "
                         "subset. %zu addresses were skipped",
                         m->max, m->skipped)};
    }
}

/* Gives each slice that is to be created the name of one of its family that is to be deleted, as
 * long as there are any. */
static void take_over_names(struct mirror *m)
{
    struct ks_mirror_pass *r = &m->result;
    struct ks_slice *create = ARENA_ARRAY(m->a, struct ks_slice, m->n_create);
    r->create = create;
    r->remove = ARENA_ARRAY(m->a, const char *, m->n_remove);
    const char *const types[] = {"IPv4", "IPv6"};
    bool *taken = ARENA_ARRAY(m->a, bool, m->n_remove);
    for (size_t t = 0; t < ARRAY_LEN(types); t++) {
        size_t at = 0;
        for (size_t i = 0; i < m->n_create; i++) {
            if (!str_eq(m->create[i]->address_type, types[t])) {
                continue;
            }
            while (at < m->n_remove && !str_eq(m->remove[at]->address_type, types[t])) {
                at++;
            }
            if (at < m->n_remove) {
                struct ks_slice *s = &((struct ks_slice *)r->update)[r->n_update++];
                *s = *m->create[i];
                s->meta.name = m->remove[at]->meta.name;
                s->meta.generate_name = "";
                taken[at++] = true;
            } else if (m->endpoints->meta.deletion_timestamp == NULL) {
                create[r->n_create++] = *m->create[i];
            }
        }
    }
    for (size_t i = 0; i < m->n_remove; i++) {
        if (!taken[i]) {
            r->remove[r->n_remove++] = m->remove[i]->meta.name;
        }
    }
}

struct ks_mirror_pass ks_mirror_pass(struct arena *a, const struct ks_mirror_input *in)
{
    struct mirror m = {.a = a,
                       .endpoints = in->endpoints,
                       .max = in->max_endpoints == 0 ? MAX_ENDPOINTS_DEFAULT : in->max_endpoints,
                       .result = {.off = off_of(in)}};
    gather_slices(&m, in);
    if (m.result.off == KS_MIRROR_FINE) {
        const struct ks_meta *e = &in->endpoints->meta;
        m.labels = kv_map_copy(a, e->labels, e->n_labels, 2);
        m.annotations = kv_map_copy(a, e->annotations, e->n_annotations, 0);
        kv_map_set(&m.labels, KS_LABEL_SERVICE, e->name);
        kv_map_set(&m.labels, KS_LABEL_MANAGED_BY, KS_MIRROR_CONTROLLER);
        kv_map_remove(&m.annotations, TRIGGER_ANNOTATION);
        kv_map_remove(&m.annotations, APPLIED_ANNOTATION);
        reconcile_groups(&m);
        add_events(&m);
    }
    for (size_t i = 0; i < m.n_existing; i++) {
        if (!m.wanted[i]) {
            m.remove[m.n_remove++] = m.existing[i].slice;
        }
    }
    take_over_names(&m);
    return m.result;
}
