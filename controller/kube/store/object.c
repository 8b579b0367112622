/* SPDX-License-Identifier: Apache-2.0 */
/* object.c: the table of kinds, metadata, references, and the two runs that make a block.
 *
 * What one kind looks like is in object_service.c, object_node.c and object_slice.c.
 * Nothing here keeps a pointer into the item after kube_object_decode()
 * has returned. Thread-safe. */
#include "controller/kube/store/object.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "controller/kube/store/object_internal.h"
#include "controller/kube/store/small.h"

#define MAP_VALUE_MAX ((size_t)512 * 1024)
#define MAP_ITEMS_MAX ((size_t)262144) /* the API server lets annotations have that many bytes */
#define SHOWN_MAX     60

static const struct kube_kind_ops *const kinds[KUBE_KIND_MAX] = {
    [KUBE_SERVICE] = &kube_service_ops,
    [KUBE_NODE] = &kube_node_ops,
    [KUBE_SLICE] = &kube_slice_ops,
};

const char *const *kube_kind_members(enum kube_kind kind)
{
    return kinds[kind]->members;
}

const char *kube_kind_resource(enum kube_kind kind)
{
    return kinds[kind]->resource;
}

const char *kube_kind_path(enum kube_kind kind)
{
    return kinds[kind]->path;
}

const char *kube_kind_name(enum kube_kind kind)
{
    return kinds[kind]->name;
}

/* --- references ------------------------------------------------------------------------------- */

struct kube_object *kube_object_ref(struct kube_object *o)
{
    atomic_fetch_add_explicit(&o->refs, 1, memory_order_relaxed);
    return o;
}

void kube_object_unref(struct kube_object *o)
{
    if (o != NULL && atomic_fetch_sub_explicit(&o->refs, 1, memory_order_acq_rel) == 1) {
        kube_object_unref(o->base); /* which has none itself */
        kube_small_unref(o->small);
        free(o);
    }
}

void kube_object_unrefp(struct kube_object **o)
{
    kube_object_unref(*o);
}

/* --- checking --------------------------------------------------------------------------------- */

const struct json_field raw_meta_fields[] = {
    {.name = "name", .type = JSON_T_STR, .offset = offsetof(struct raw_meta, name), .max = 253},
    {.name = "namespace", .type = JSON_T_STR, .offset = offsetof(struct raw_meta, ns), .max = 253},
    {.name = "uid", .type = JSON_T_STR, .offset = offsetof(struct raw_meta, uid), .max = 253},
    {.name = "resourceVersion",
     .type = JSON_T_STR,
     .offset = offsetof(struct raw_meta, resource_version),
     .max = 253},
    ROW_STR(raw_meta, "creationTimestamp", created),
    ROW_STR(raw_meta, "deletionTimestamp", deleted),
    {.name = "generation", .type = JSON_T_I64, .offset = offsetof(struct raw_meta, generation)},
    {.name = "labels", .type = JSON_T_VIEW, .offset = offsetof(struct raw_meta, label_map)},
    {.name = "annotations",
     .type = JSON_T_VIEW,
     .offset = offsetof(struct raw_meta, annotation_map)},
    ROW_STRS(raw_meta, "finalizers", finalizers),
    {0},
};

const struct json_field raw_condition_fields[] = {
    ROW_STR(raw_condition, "type", type),
    ROW_STR(raw_condition, "status", status),
    ROW_STR(raw_condition, "reason", reason),
    ROW_STR(raw_condition, "message", message),
    ROW_STR(raw_condition, "lastTransitionTime", last_transition),
    {.name = "observedGeneration",
     .type = JSON_T_I64,
     .offset = offsetof(struct raw_condition, observed_generation)},
    {0},
};

int raw_time(const char *text, const char *path, int64_t *ret, struct err *err)
{
    int64_t us = 0;
    if (text != NULL && !time_parse_rfc3339(text, &us)) {
        return err_set(err, ERR_INVALID, "%s: want a time as in RFC 3339, got \"%.*s\"", path,
                       SHOWN_MAX, text);
    }
    *ret = us;
    return ERR_OK;
}

int raw_conditions_finish(struct raw_condition *c, size_t *n, struct raw_lost *lost,
                          struct err *err)
{
    int rc = ERR_OK;
    bool cleared = false;
    for (size_t i = 0; rc == ERR_OK && i < *n; i++) {
        rc = raw_time(c[i].last_transition, "status.conditions[].lastTransitionTime",
                      &c[i].last_transition_us, err);
    }
    rc = raw_checked(rc, lost, "status.conditions", &cleared);
    *n = cleared ? 0 : *n;
    return rc;
}

static int cmp_kv(const void *a, const void *b)
{
    return strcmp(((const struct json_kv *)a)->key, ((const struct json_kv *)b)->key);
}

/* The API server stores a NUL in an annotation.  U+FFFD in its place: no reader takes that for a
 * good value, and the other annotations are read. */
static const char *without_nul(struct arena *a, const char *text, size_t n)
{
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '\0') {
            str_append(&b, "\xef\xbf\xbd");
        } else {
            str_append_c(&b, text[i]);
        }
    }
    return str_buf_to_arena(&b, a);
}

static int map_value(struct arena *a, const struct json_view *v, const char *path,
                     struct json_kv *ret, struct err *err)
{
    if (v->type != JSON_V_STRING) {
        return err_set(err, ERR_INVALID, "%s.%.*s: want a string, got %.*s", path, SHOWN_MAX,
                       v->name, SHOWN_MAX, json_view_shown(a, v));
    }
    if (v->n > MAP_VALUE_MAX) {
        return err_set(err, ERR_INVALID, "%s.%.*s: want at most %zu bytes", path, SHOWN_MAX,
                       v->name, MAP_VALUE_MAX);
    }
    ret->key = v->name; /* borrowed from the item, which outlives the packing */
    ret->value = v->has_nul ? without_nul(a, v->text, v->n) : v->text;
    return ERR_OK;
}

/* Mostly sorted already: that is how the API server writes maps. */
static void sort_kvs(struct json_kv *kvs, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        if (cmp_kv(&kvs[i - 1], &kvs[i]) > 0) {
            qsort(kvs, n, sizeof *kvs, cmp_kv);
            return;
        }
    }
}

int raw_map(struct arena *a, const struct json_view *o, const char *path, struct json_kv **ret,
            size_t *ret_n, struct err *err)
{
    if (o == NULL) {
        *ret = NULL;
        *ret_n = 0;
        return ERR_OK;
    }
    if (o->type != JSON_V_OBJECT) {
        return err_set(err, ERR_INVALID, "%s: want an object with strings, got %.*s", path,
                       SHOWN_MAX, json_view_shown(a, o));
    }
    size_t n = o->n;
    if (n > MAP_ITEMS_MAX) {
        return err_set(err, ERR_INVALID, "%s: want at most %zu items, got %zu", path, MAP_ITEMS_MAX,
                       n);
    }
    struct json_kv *kvs = ARENA_ARRAY(a, struct json_kv, n);
    for (size_t i = 0; i < n; i++) {
        int rc = map_value(a, &o->items[i], path, &kvs[i], err);
        if (rc != ERR_OK) {
            return rc;
        }
    }
    sort_kvs(kvs, n);
    *ret = kvs;
    *ret_n = n;
    return ERR_OK;
}

/* A name becomes part of keys and URLs: §4.5. */
static int check_segment(const char *s, const char *path, struct err *err)
{
    if (str_is_empty(s)) {
        return err_set(err, ERR_INVALID, "%s: is missing", path);
    }
    if (strpbrk(s, "/%") != NULL || str_eq(s, ".") || str_eq(s, "..")) {
        return err_set(err, ERR_INVALID, "%s: \"%.*s\" cannot be part of a path", path, SHOWN_MAX,
                       s);
    }
    return ERR_OK;
}

int raw_meta_check(const struct raw_meta *m, bool namespaced, struct err *err)
{
    int rc = check_segment(m->name, "metadata.name", err);
    return rc == ERR_OK && namespaced ? check_segment(m->ns, "metadata.namespace", err) : rc;
}

static int meta_map(struct arena *a, const struct json_view *map, struct raw_lost *lost,
                    const char *path, struct json_kv **ret, size_t *ret_n, struct err *err)
{
    bool cleared = false;
    int rc = raw_checked(raw_map(a, map, path, ret, ret_n, err), lost, path, &cleared);
    *ret_n = cleared ? 0 : *ret_n;
    return rc;
}

int raw_meta_finish(struct arena *a, struct raw_meta *m, struct raw_lost *lost, struct err *err)
{
    bool cleared = false;
    int rc = ERR_OK;
    if (str_is_empty(m->resource_version)) {
        rc = err_set(err, ERR_INVALID, "metadata.resourceVersion: is missing");
        rc = raw_checked(rc, lost, "metadata.resourceVersion", &cleared);
    }
    if (rc == ERR_OK) {
        rc = raw_time(m->created, "metadata.creationTimestamp", &m->created_us, err);
        rc = raw_checked(rc, lost, "metadata.creationTimestamp", &cleared);
    }
    if (rc == ERR_OK) {
        rc = raw_time(m->deleted, "metadata.deletionTimestamp", &m->deleted_us, err);
        rc = raw_checked(rc, lost, "metadata.deletionTimestamp", &cleared);
    }
    if (rc == ERR_OK) {
        rc = meta_map(a, m->label_map, lost, "metadata.labels", &m->labels, &m->n_labels, err);
    }
    if (rc == ERR_OK) {
        rc = meta_map(a, m->annotation_map, lost, "metadata.annotations", &m->annotations,
                      &m->n_annotations, err);
    }
    return rc;
}

/* --- packing ---------------------------------------------------------------------------------- */

const struct tt_kv *pack_kvs(struct pack *p, const struct json_kv *kvs, size_t n)
{
    struct tt_kv *out = PACK_ARRAY(p, struct tt_kv, n);
    for (size_t i = 0; i < n; i++) {
        out[i].key = pack_word(p, kvs[i].key);
        out[i].value = pack_text(p, kvs[i].value);
    }
    return out;
}

const char *const *pack_texts(struct pack *p, const char *const *items, size_t n)
{
    const char **out = PACK_ARRAY(p, const char *, n);
    for (size_t i = 0; i < n; i++) {
        out[i] = pack_text(p, items[i]);
    }
    return out;
}

const char *const *pack_words(struct pack *p, const char *const *items, size_t n)
{
    const char **out = PACK_ARRAY(p, const char *, n);
    for (size_t i = 0; i < n; i++) {
        out[i] = pack_word(p, items[i]);
    }
    return out;
}

const struct tt_condition *pack_conditions(struct pack *p, const struct raw_condition *c, size_t n,
                                           bool lean)
{
    struct tt_condition *out = PACK_ARRAY(p, struct tt_condition, n);
    for (size_t i = 0; i < n; i++) {
        out[i].type = pack_word(p, str_nonnull(c[i].type));
        out[i].status = pack_word(p, str_nonnull(c[i].status));
        out[i].reason = lean ? NULL : pack_text(p, str_nonnull(c[i].reason));
        out[i].message = lean ? NULL : pack_text(p, str_nonnull(c[i].message));
        out[i].last_transition_us = c[i].last_transition_us;
        out[i].observed_generation = c[i].observed_generation;
    }
    return out;
}

const char *kube_object_name_in_key(const struct kube_object *o)
{
    const char *slash = strchr(o->key, '/');
    return slash == NULL ? o->key : slash + 1;
}

/* Additional data of a partly unreadable object beside its raw structure. */
struct pack_with {
    const char *unreadable;
    struct kube_object *base;
};

static struct kube_object *pack_object(struct pack *p, enum kube_kind kind, const void *raw,
                                       const struct pack_with *with)
{
    const struct raw_meta *m = raw; /* every raw structure begins with it */
    struct kube_object *o = PACK_ARRAY(p, struct kube_object, 1);
    const char *key = m->name;
    if (kinds[kind]->namespaced) {
        key = arena_printf(p->arena, "%s/%s", m->ns, m->name);
    }
    o->kind = kind;
    o->key = pack_text(p, key);
    o->uid = pack_text(p, str_nonnull(m->uid));
    o->resource_version = pack_text(p, str_nonnull(m->resource_version));
    o->unreadable = pack_text(p, with->unreadable);
    o->base = with->base;
    kinds[kind]->pack(p, o, raw);
    return o;
}

/* "service demo/web: " before what is wrong with it. */
static void name_error(const struct kube_kind_ops *ops, const struct json_view *item,
                       struct err *err)
{
    const struct json_view *meta = json_view_member(item, "metadata");
    const char *ns = json_view_str(meta, "namespace");
    const char *name = json_view_str(meta, "name");
    (void)err_prefix(err, "%s %.253s%s%.253s", ops->word, str_nonnull(ns), ns == NULL ? "" : "/",
                     name == NULL ? "without a name" : name);
}

int kube_object_decode(enum kube_kind kind, struct json_object *item, struct kube_object **ret,
                       struct err *err)
{
    struct arena *a _cleanup_(arena_freep) = arena_new();
    const struct json_view v = json_view_of_tree(item);
    return kube_object_decode_view(kind, a, json_view_whole(a, &v), ret, err);
}

struct kube_object *kube_object_pack(enum kube_kind kind, struct arena *a, void *raw,
                                     const char *unreadable, struct kube_object *base,
                                     const struct raw_lost *lost)
{
    const struct pack_with with = {unreadable, base};
    struct pack p;
    pack_init(&p, a);
    p.lost = lost;
    (void)pack_object(&p, kind, raw, &with); /* measures */
    size_t bytes = pack_allocate(&p);
    struct kube_object *o = pack_object(&p, kind, raw, &with);
    o->bytes = (uint32_t)bytes;
    o->base = base == NULL ? NULL : kube_object_ref(base);
    atomic_init(&o->refs, 1);
    return o;
}

const struct kube_kind_ops *kube_kind_ops(enum kube_kind kind)
{
    return kinds[kind];
}

int kube_object_read(enum kube_kind kind, struct arena *a, const struct json_view *item,
                     struct kube_object **ret, struct err *err)
{
    const struct kube_kind_ops *ops = kinds[kind];
    void *raw = arena_calloc(a, 1, ops->raw_size);
    int rc = json_decode_view(a, item, ops->fields, raw, JSON_SKIP_UNKNOWN, "", err);
    if (rc == ERR_OK) {
        rc = ops->finish(a, raw, NULL, err);
    }
    if (rc == ERR_OK) {
        rc = raw_meta_check(raw, ops->namespaced, err);
    }
    if (rc == ERR_OK) {
        rc = raw_meta_finish(a, raw, NULL, err);
    }
    if (rc == ERR_OK) {
        *ret = kube_object_pack(kind, a, raw, NULL, NULL, NULL);
    }
    return rc;
}

int kube_object_decode_view(enum kube_kind kind, struct arena *a, const struct json_view *item,
                            struct kube_object **ret, struct err *err)
{
    struct err local = ERR_INIT; /* so that there is something to prefix when err is NULL */
    if (kube_object_read(kind, a, item, ret, &local) != ERR_OK) {
        name_error(kinds[kind], item, &local);
        return err_copy(err, &local);
    }
    return ERR_OK;
}
