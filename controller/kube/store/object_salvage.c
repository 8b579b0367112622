/* SPDX-License-Identifier: Apache-2.0 */
/* object_salvage.c: an object of which something cannot be read (kube_object_take).
 *
 * The tables of its kind are asked row by row: what cannot be read is noted under its path, the
 * rest is taken.  Noted paths are then filled from the object as it was last read whole.  Pure. */
#include <string.h>

#include "controller/kube/store/object_internal.h"

/* --- paths ------------------------------------------------------------------------------------ */

bool raw_is_lost(const struct raw_lost *lost, const char *path)
{
    for (size_t i = 0; lost != NULL && i < lost->n; i++) {
        if (str_eq(lost->paths[i], path)) {
            return true;
        }
    }
    return false;
}

static void note(struct raw_lost *lost, const char *path)
{
    if (lost->n < ARRAY_LEN(lost->paths) && !raw_is_lost(lost, path)) {
        lost->paths[lost->n++] = path;
    }
}

int raw_checked(int rc, struct raw_lost *lost, const char *path, bool *ret_cleared)
{
    *ret_cleared = rc != ERR_OK && lost != NULL;
    if (*ret_cleared) {
        note(lost, path);
        return ERR_OK;
    }
    return rc;
}

void pack_carry(const struct pack *p, const struct raw_carry *rows, size_t n, void *out,
                const void *base)
{
    for (size_t i = 0; base != NULL && i < n; i++) {
        if (raw_is_lost(p->lost, rows[i].path)) {
            memcpy((char *)out + rows[i].offset, (const char *)base + rows[i].offset, rows[i].size);
        }
    }
}

/* --- rows ------------------------------------------------------------------------------------- */

struct reading {
    struct arena *a;
    struct raw_lost *lost;
    bool brief;
};

/* `v` NULL or no object: nothing of these rows can be read. */
static void read_rows(const struct reading *r, const struct json_view *v,
                      const struct json_field *rows, void *out, const char *where)
{
    bool is_object = v != NULL && v->type == JSON_V_OBJECT;
    for (; rows->name != NULL; rows++) {
        const char *path =
            arena_printf(r->a, "%s%s%s", where, *where == '\0' ? "" : ".", rows->name);
        const struct json_view *value = is_object ? json_view_member(v, rows->name) : NULL;
        if (is_object && value == NULL && !r->brief) {
            continue; /* absent */
        }
        if (rows->type == JSON_T_OBJECT) {
            read_rows(r, value, rows->sub, (char *)out + rows->offset, path);
            continue;
        }
        const struct json_field one[] = {*rows, {0}};
        if (value == NULL ||
            json_decode_view(r->a, v, one, out, JSON_SKIP_UNKNOWN, "", NULL) != ERR_OK) {
            note(r->lost, path);
        }
    }
}

/* --- the object ------------------------------------------------------------------------------- */

const char *kube_item_key(enum kube_kind kind, struct arena *a, const struct json_view *item)
{
    const struct json_view *meta = json_view_member(item, "metadata");
    const char *ns = json_view_str(meta, "namespace");
    const char *name = json_view_str(meta, "name");
    bool namespaced = kube_kind_ops(kind)->namespaced;
    if (str_is_empty(name) || (namespaced && str_is_empty(ns))) {
        return NULL;
    }
    return namespaced ? arena_printf(a, "%s/%s", ns, name) : name;
}

/* The object's last completely read version. */
static struct kube_object *base_of(struct kube_object *known, const char *uid)
{
    bool same = known != NULL && (str_is_empty(uid) || str_eq(known->uid, uid));
    if (!same) {
        return NULL;
    }
    return known->unreadable != NULL ? known->base : known;
}

static struct kube_object *salvage(enum kube_kind kind, struct arena *a,
                                   const struct json_view *item, const struct kube_salvage *how,
                                   const char *why)
{
    const struct kube_kind_ops *ops = kube_kind_ops(kind);
    struct raw_lost lost = {0};
    const struct reading r = {.a = a, .lost = &lost, .brief = how->brief};
    struct raw_meta *raw = arena_calloc(a, 1, ops->raw_size);
    read_rows(&r, item, ops->fields, raw, "");
    if (raw_meta_check(raw, ops->namespaced, NULL) != ERR_OK) {
        return NULL;
    }
    struct kube_object *base = base_of(how->known, raw->uid);
    if (str_is_empty(raw->uid) && how->known != NULL) {
        raw->uid = how->known->uid;
    }
    lost.has_base = base != NULL;
    (void)!ops->finish(a, raw, &lost, NULL); /* neither fails where something may be lost */
    (void)!raw_meta_finish(a, raw, &lost, NULL);
    return kube_object_pack(kind, a, raw, why, base, &lost);
}

struct kube_object *kube_object_take(enum kube_kind kind, struct arena *a,
                                     const struct json_view *item, const struct kube_salvage *how,
                                     struct err *err)
{
    struct kube_object *o = NULL;
    if (how->why != NULL) {
        (void)err_set(err, ERR_INVALID, "%s", how->why);
    } else if (kube_object_read(kind, a, item, &o, err) == ERR_OK) {
        return o;
    }
    o = salvage(kind, a, item, how, err->message);
    if (o != NULL) {
        err_clear(err);
    }
    return o;
}
