/* SPDX-License-Identifier: Apache-2.0 */
/* slice_meta.c: names, labels, annotations and ports of slices; see slices_internal.h. */
#include "common/services/slices/slices_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"
#include "common/services/slices/pod.h"

#define TRIGGER_ANNOTATION "endpoints.kubernetes.io/last-change-trigger-time"
/* The longest name of a slice: a DNS subdomain. */
#define NAME_MAX_BYTES 253

/* ---- sorted maps ----------------------------------------------------------------------------- */

struct kv_map kv_map_copy(struct arena *a, const struct json_kv *kvs, size_t n, size_t more)
{
    struct kv_map m = {.items = ARENA_ARRAY(a, struct json_kv, n + more), .n = n, .cap = n + more};
    if (n > 0) {
        memcpy(m.items, kvs, n * sizeof(*kvs));
    }
    return m;
}

void kv_map_set(struct kv_map *m, const char *key, const char *value)
{
    size_t at = 0;
    while (at < m->n && strcmp(m->items[at].key, key) < 0) {
        at++;
    }
    if (at == m->n || !str_eq(m->items[at].key, key)) {
        assert(m->n < m->cap);
        memmove(&m->items[at + 1], &m->items[at], (m->n - at) * sizeof(*m->items));
        m->n++;
    }
    m->items[at] = (struct json_kv){key, value};
}

void kv_map_remove(struct kv_map *m, const char *key)
{
    size_t kept = 0;
    for (size_t i = 0; i < m->n; i++) {
        if (!str_eq(m->items[i].key, key)) {
            m->items[kept++] = m->items[i];
        }
    }
    m->n = kept;
}

bool kv_map_equal(const struct kv_map *x, const struct kv_map *y)
{
    for (size_t i = 0; i < x->n && x->n == y->n; i++) {
        if (!str_eq(x->items[i].key, y->items[i].key) ||
            !str_eq(x->items[i].value, y->items[i].value)) {
            return false;
        }
    }
    return x->n == y->n;
}

static void remove_reserved(struct kv_map *m)
{
    kv_map_remove(m, KS_LABEL_SERVICE);
    kv_map_remove(m, KS_LABEL_MANAGED_BY);
    kv_map_remove(m, KS_LABEL_HEADLESS);
}

/* ---- slices ---------------------------------------------------------------------------------- */

const char *slice_generate_name(struct arena *a, const char *owner)
{
    return strlen(owner) < NAME_MAX_BYTES ? arena_printf(a, "%s-", owner) : owner;
}

struct kv_map slice_labels(struct arena *a, const struct ks_service *service,
                           const struct ks_slice *slice, bool *ret_changed)
{
    const struct ks_meta *m = &service->meta;
    struct kv_map labels = kv_map_copy(a, m->labels, m->n_labels, 3);
    remove_reserved(&labels);
    if (slice != NULL) {
        struct kv_map now = kv_map_copy(a, slice->meta.labels, slice->meta.n_labels, 0);
        remove_reserved(&now);
        *ret_changed = !kv_map_equal(&labels, &now);
    }
    if (ks_service_is_headless(service)) {
        kv_map_set(&labels, KS_LABEL_HEADLESS, "");
    }
    kv_map_set(&labels, KS_LABEL_SERVICE, m->name);
    kv_map_set(&labels, KS_LABEL_MANAGED_BY, KS_SLICE_CONTROLLER);
    return labels;
}

struct ks_slice slice_new(struct arena *a, const struct ks_service *service, const char *type)
{
    const struct kv_map labels = slice_labels(a, service, NULL, NULL);
    struct ks_owner *owner = ARENA_NEW(a, struct ks_owner);
    *owner = (struct ks_owner){.api_version = "v1",
                               .kind = "Service",
                               .name = service->meta.name,
                               .uid = service->meta.uid,
                               .controller = true,
                               .block_owner_deletion = true};
    return (struct ks_slice){
        .meta = {.ns = service->meta.ns,
                 .name = "",
                 .generate_name = slice_generate_name(a, service->meta.name),
                 .uid = "",
                 .resource_version = "",
                 .labels = labels.items,
                 .n_labels = labels.n,
                 .has_labels = true,
                 .owners = owner,
                 .n_owners = 1},
        .address_type = type,
        .has_ports = true,
    };
}

bool slice_is_owned(const struct ks_slice *slice, const struct ks_meta *owner, const char *kind)
{
    for (size_t i = 0; i < slice->meta.n_owners; i++) {
        const struct ks_owner *o = &slice->meta.owners[i];
        if (str_eq(o->uid, owner->uid) && str_eq(o->kind, kind) && str_eq(o->api_version, "v1")) {
            return true;
        }
    }
    return false;
}

/* True when each label of `x` has that value in `y`; an absent label counts as "". */
static bool labels_within(const struct kv_map *x, const struct kv_map *y)
{
    for (size_t i = 0; i < x->n; i++) {
        if (!str_eq(x->items[i].value, str_nonnull(ks_kv(y->items, y->n, x->items[i].key)))) {
            return false;
        }
    }
    return true;
}

bool slice_is_placeholder(struct arena *a, const struct ks_slice *slice,
                          const struct ks_service *service)
{
    const struct kv_map want = slice_labels(a, service, NULL, NULL);
    const struct kv_map have = kv_map_copy(a, slice->meta.labels, slice->meta.n_labels, 0);
    return slice->n_endpoints == 0 && slice->n_ports == 0 &&
           str_eq(slice->meta.ns, service->meta.ns) && labels_within(&want, &have) &&
           labels_within(&have, &want);
}

void slice_stamp(struct arena *a, struct ks_slice *slice, const char *trigger_time)
{
    struct ks_meta *m = &slice->meta;
    struct kv_map annotations = kv_map_copy(a, m->annotations, m->n_annotations, 1);
    if (trigger_time == NULL) {
        kv_map_remove(&annotations, TRIGGER_ANNOTATION);
    } else {
        kv_map_set(&annotations, TRIGGER_ANNOTATION, trigger_time);
    }
    m->annotations = annotations.items;
    m->n_annotations = annotations.n;
    m->has_annotations = true;
}

/* ---- ports ----------------------------------------------------------------------------------- */

/* Orders texts, an absent one first. */
static int compare_texts(const char *x, const char *y)
{
    if (x == NULL || y == NULL) {
        return (x != NULL) - (y != NULL);
    }
    return strcmp(x, y);
}

static int by_port(const void *x, const void *y)
{
    const struct ks_slice_port *a = x, *b = y;
    int order = compare_texts(a->name, b->name);
    order = order != 0 ? order : compare_texts(a->protocol, b->protocol);
    order = order != 0 ? order : (int)a->has_port - (int)b->has_port;
    order = order != 0 ? order : (a->port > b->port) - (a->port < b->port);
    return order != 0 ? order : compare_texts(a->app_protocol, b->app_protocol);
}

const struct ks_slice_port *slice_ports_sorted(struct arena *a, const struct ks_slice_port *ports,
                                               size_t n)
{
    if (n == 0) {
        return NULL;
    }
    struct ks_slice_port *sorted = arena_memdup(a, ports, n * sizeof(*ports));
    qsort(sorted, n, sizeof(*sorted), by_port);
    return sorted;
}

static void append_part(struct str_buf *b, const char *text)
{
    if (text == NULL) {
        str_append(b, "-;");
    } else {
        str_appendf(b, "%zu:%s;", strlen(text), text);
    }
}

const char *slice_ports_key(struct arena *a, const struct ks_slice_port *ports, size_t n)
{
    const struct ks_slice_port *sorted = slice_ports_sorted(a, ports, n);
    struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < n; i++) {
        append_part(&b, sorted[i].name);
        append_part(&b, sorted[i].protocol);
        append_part(&b, sorted[i].app_protocol);
        str_appendf(&b, "%d;", sorted[i].has_port ? sorted[i].port : -1);
    }
    const char *key = str_buf_to_arena(&b, a);
    str_buf_done(&b);
    return key;
}
