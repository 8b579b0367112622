/* SPDX-License-Identifier: Apache-2.0 */
/* patch_strategic.c: strategic merge patch, as kubectl and the Go controllers send it.
 *
 * Maps are merged member by member; null deletes.  Lists are replaced, unless the type table says
 * KFF_MERGE: then primitives are united and objects matched by their merge key.  Directives: $patch
 * (replace, delete, merge), $retainKeys, $deleteFromPrimitiveList/x, $setElementOrder/x.  Order of
 * a merged list: items of the patch keep the patch's order, items that only the server has keep
 * theirs, and both are woven together by the order that the server had; where it had none, the
 * patch's item comes first (recorded 076).
 * Source: the documented algorithm of apimachinery's strategicpatch; controller.md
 * §1.13, §6.11. Pure. */
#include "sim/kube/patch/patch.h"

#include "common/base/str.h"
#include "common/data/json.h"
#include "sim/kube/kube_status.h"
#include "sim/kube/rules/rules.h"

#include <string.h>

#define ORDER_PREFIX  "$setElementOrder/"
#define DELETE_PREFIX "$deleteFromPrimitiveList/"
#define DIRECTIVE     "$patch"
#define RETAIN_KEYS   "$retainKeys"

/* State of one patch: the first refusal stops it. */
struct smp {
    struct arena *arena;
    struct json_object *refusal;
};

static struct json_object *merge_map(struct smp *s, const struct kube_type *type,
                                     struct json_object *original, struct json_object *patch);

/* The API server has no better word for a patch that contradicts itself than an internal error. */
static void refuse(struct smp *s, const char *message)
{
    if (!s->refusal) {
        s->refusal = kube_status(500, NULL, message, NULL);
    }
}

static const char *unknown_directive(struct arena *a, const char *directive)
{
    return arena_printf(a, "unknown patch type: %s in map: map[$patch:%s]", directive, directive);
}

static const struct kube_field *field_of(const struct kube_type *type, const char *name)
{
    return type ? kube_type_field(type, name) : NULL;
}

/* A copy of a value that is new to the document: without directives and, in maps, without nulls. */
static struct json_object *without_directives(struct smp *s, struct json_object *v)
{
    if (json_object_is_type(v, json_type_array)) {
        struct json_object *out = json_object_new_array();
        for (size_t i = 0; i < json_object_array_length(v); i++) {
            struct json_object *item = json_object_array_get_idx(v, i);
            if (!json_str(item, DIRECTIVE)) {
                json_object_array_add(out, without_directives(s, item));
            }
        }
        return out;
    }
    if (!json_object_is_type(v, json_type_object)) {
        return json_object_get(v);
    }
    struct json_object *out = json_object_new_object();
    json_object_object_foreach(v, key, value)
    {
        if (value && key[0] != '$') {
            json_object_object_add(out, key, without_directives(s, value));
        }
    }
    return out;
}

/* --- lists ------------------------------------------------------------------------------------ */
/* Same element of a list: by merge key, or by value. */
static bool same_item(struct json_object *a, struct json_object *b, const char *merge_key)
{
    if (!merge_key) {
        return json_equal(a, b);
    }
    struct json_object *ka = json_member(a, merge_key);
    struct json_object *kb = json_member(b, merge_key);
    return ka && kb && json_equal(ka, kb);
}

static int64_t index_of(struct json_object *list, struct json_object *item, const char *merge_key)
{
    for (size_t i = 0; i < json_len(list); i++) {
        if (same_item(json_object_array_get_idx(list, i), item, merge_key)) {
            return (int64_t)i;
        }
    }
    return -1;
}

/* The items of `list` that are (or are not) in `other`, in the order of `order`; borrowed
 * into an array. */
static struct json_object *partition(struct json_object *list, struct json_object *other,
                                     struct json_object *order, bool present, const char *merge_key)
{
    struct json_object *out = json_object_new_array();
    size_t n = json_len(list);
    bool *used = xcalloc(n + 1, sizeof(*used));
    for (size_t k = 0; k < json_len(order); k++) {
        for (size_t i = 0; i < n; i++) {
            struct json_object *item = json_object_array_get_idx(list, i);
            if (!used[i] && same_item(item, json_object_array_get_idx(order, k), merge_key) &&
                (index_of(other, item, merge_key) >= 0) == present) {
                used[i] = true;
                json_object_array_add(out, json_object_get(item));
            }
        }
    }
    for (size_t i = 0; i < n; i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        if (!used[i] && (index_of(other, item, merge_key) >= 0) == present) {
            json_object_array_add(out, json_object_get(item));
        }
    }
    free(used);
    return out;
}

/* Weaves what only the server has into what the patch orders.  Takes `list` over. */
static struct json_object *in_order(struct json_object *list, struct json_object *patch_order,
                                    struct json_object *server_order, const char *merge_key)
{
    struct json_object *right = partition(list, patch_order, patch_order, true, merge_key);
    struct json_object *left = partition(list, patch_order, server_order, false, merge_key);
    struct json_object *out = json_object_new_array();
    size_t i = 0;
    size_t k = 0;
    while (i < json_len(left) || k < json_len(right)) {
        bool take_left = k >= json_len(right);
        if (!take_left && i < json_len(left)) {
            int64_t li = index_of(server_order, json_object_array_get_idx(left, i), merge_key);
            int64_t ri = index_of(server_order, json_object_array_get_idx(right, k), merge_key);
            take_left = li >= 0 && ri >= 0 && li < ri;
        }
        struct json_object *item = take_left ? json_object_array_get_idx(left, i++)
                                             : json_object_array_get_idx(right, k++);
        json_object_array_add(out, json_object_get(item));
    }
    json_object_put(left);
    json_object_put(right);
    json_object_put(list);
    return out;
}

static struct json_object *minus(struct json_object *list, struct json_object *gone)
{
    struct json_object *out = json_object_new_array();
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        if (index_of(gone, item, NULL) < 0) {
            json_object_array_add(out, json_object_get(item));
        }
    }
    return out;
}

static struct json_object *unite(struct json_object *original, struct json_object *patch)
{
    struct json_object *out = json_object_new_array();
    struct json_object *both[] = {original, patch};
    for (size_t b = 0; b < ARRAY_LEN(both); b++) {
        for (size_t i = 0; i < json_len(both[b]); i++) {
            struct json_object *item = json_object_array_get_idx(both[b], i);
            if (index_of(out, item, NULL) < 0) {
                json_object_array_add(out, json_object_get(item));
            }
        }
    }
    return out;
}

/* Removes every item with the same key. */
static void drop_matching(struct json_object *list, struct json_object *item, const char *merge_key)
{
    for (size_t i = json_len(list); i > 0; i--) {
        if (same_item(json_object_array_get_idx(list, i - 1), item, merge_key)) {
            json_object_array_del_idx(list, i - 1, 1);
        }
    }
}

static struct json_object *shallow_copy(struct json_object *list)
{
    struct json_object *out = json_object_new_array();
    for (size_t i = 0; i < json_len(list); i++) {
        json_object_array_add(out, json_object_get(json_object_array_get_idx(list, i)));
    }
    return out;
}

/* Carries out $patch items; *ret_rest gets the ordinary ones.  The result replaces `original`. */
static struct json_object *special_items(struct smp *s, struct json_object *original,
                                         struct json_object *patch, const char *merge_key,
                                         struct json_object **ret_rest)
{
    struct json_object *base = shallow_copy(original);
    struct json_object *rest = json_object_new_array();
    bool replace = false;
    for (size_t i = 0; i < json_len(patch); i++) {
        struct json_object *item = json_object_array_get_idx(patch, i);
        const char *directive = json_str(item, DIRECTIVE);
        if (!directive) {
            json_object_array_add(rest, json_object_get(item));
        } else if (str_eq(directive, "delete")) {
            if (!json_member(item, merge_key)) {
                refuse(s, "delete patch type with no merge key defined");
            }
            drop_matching(base, item, merge_key);
        } else if (str_eq(directive, "replace")) {
            replace = true;
        } else {
            refuse(s, unknown_directive(s->arena, directive));
        }
    }
    if (replace) {
        json_object_put(base);
        base = json_object_new_array();
    }
    *ret_rest = rest;
    return base;
}

static struct json_object *merge_objects(struct smp *s, const struct kube_field *f,
                                         struct json_object *original, struct json_object *patch)
{
    struct json_object *rest = NULL;
    struct json_object *out = special_items(s, original, patch, f->merge_key, &rest);
    for (size_t i = 0; i < json_len(rest) && !s->refusal; i++) {
        struct json_object *item = json_object_array_get_idx(rest, i);
        if (!json_member(item, f->merge_key)) {
            refuse(s, arena_printf(s->arena, "map: %s does not contain declared merge key: %s",
                                   json_text(s->arena, item, JSON_COMPACT), f->merge_key));
            break;
        }
        int64_t at = index_of(out, item, f->merge_key);
        if (at >= 0) {
            struct json_object *merged =
                merge_map(s, f->type, json_object_array_get_idx(out, (size_t)at), item);
            json_object_array_put_idx(out, (size_t)at, merged);
        } else {
            json_object_array_add(out, without_directives(s, item));
        }
    }
    json_object_put(rest);
    return out;
}

/* A new list. */
static struct json_object *merge_list(struct smp *s, const struct kube_field *f,
                                      struct json_object *original, struct json_object *patch)
{
    if (!f || !(f->flags & KFF_MERGE)) {
        return without_directives(s, patch);
    }
    struct json_object *merged =
        f->merge_key ? merge_objects(s, f, original, patch) : unite(original, patch);
    return in_order(merged, patch, original, f->merge_key);
}

/* --- maps ------------------------------------------------------------------------------------- */
/* $setElementOrder/x together with its list; marks x as done by deleting it from `patch`. */
static void order_list(struct smp *s, const struct kube_type *type, struct json_object *out,
                       struct json_object *patch, const char *name, struct json_object *order)
{
    const struct kube_field *f = field_of(type, name);
    struct json_object *original = json_member(out, name);
    struct json_object *list = json_member(patch, name);
    struct json_object *gone = json_member(patch, arena_printf(s->arena, DELETE_PREFIX "%s", name));
    const char *merge_key = f ? f->merge_key : NULL;
    if (!json_object_is_type(order, json_type_array)) {
        refuse(s, "invalid type for $setElementOrder");
        return;
    }
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        if (!json_str(item, DIRECTIVE) && index_of(order, item, merge_key) < 0) {
            refuse(s,
                   arena_printf(
                       s->arena,
                       "The order in patch list:\n%s\n doesn't match $setElementOrder list:\n%s\n",
                       json_text(s->arena, list, JSON_COMPACT),
                       json_text(s->arena, order, JSON_COMPACT)));
            return;
        }
    }
    if (!original && !list) {
        return;
    }
    struct json_object *server = original ? json_object_get(original) : json_object_new_array();
    struct json_object *merged = list && original ? merge_list(s, f, original, list)
                                 : list           ? without_directives(s, list)
                                                  : shallow_copy(original);
    if (gone) {
        struct json_object *kept = minus(merged, gone);
        json_object_put(merged);
        merged = kept;
    }
    json_object_object_add(out, name, in_order(merged, order, server, merge_key));
    json_object_object_del(patch, name);
    json_object_put(server);
}

/* The keys that a patch sets must be among those that it wants to be retained. */
static bool names_all_members(struct json_object *keys, struct json_object *patch)
{
    if (!json_object_is_type(keys, json_type_array)) {
        return false;
    }
    json_object_object_foreach(patch, name, value)
    {
        bool named = name[0] == '$' || !value;
        for (size_t i = 0; i < json_len(keys) && !named; i++) {
            named = str_eq(kube_item(keys, i), name);
        }
        if (!named) {
            return false;
        }
    }
    return true;
}

static void retain_keys(struct smp *s, struct json_object *out, struct json_object *patch)
{
    struct json_object *keys = json_member(patch, RETAIN_KEYS);
    if (!keys) {
        return;
    }
    if (!names_all_members(keys, patch)) {
        s->refusal =
            s->refusal ? s->refusal : kube_status_bad_request("invalid patch format of retainKeys");
        return;
    }
    struct json_object *drop = json_object_new_array();
    json_object_object_foreach(out, key, value)
    {
        (void)value;
        struct json_object *name = json_object_new_string(key);
        if (index_of(keys, name, NULL) < 0) {
            json_object_array_add(drop, json_object_get(name));
        }
        json_object_put(name);
    }
    for (size_t i = 0; i < json_len(drop); i++) {
        json_object_object_del(out, kube_item(drop, i));
    }
    json_object_put(drop);
}

static void delete_primitives(struct json_object *out, const char *name, struct json_object *gone)
{
    struct json_object *original = json_member(out, name);
    if (original) {
        json_object_object_add(out, name, minus(original, gone));
    }
}

static void merge_member(struct smp *s, const struct kube_type *type, struct json_object *out,
                         const char *name, struct json_object *v)
{
    const struct kube_field *f = field_of(type, name);
    struct json_object *original = json_member(out, name);
    if (!v) {
        json_object_object_del(out, name);
    } else if (json_object_is_type(v, json_type_object) &&
               json_object_is_type(original, json_type_object)) {
        json_object_object_add(out, name, merge_map(s, f ? f->type : NULL, original, v));
    } else if (json_object_is_type(v, json_type_array) &&
               json_object_is_type(original, json_type_array)) {
        json_object_object_add(out, name, merge_list(s, f, original, v));
    } else {
        json_object_object_add(out, name, without_directives(s, v));
    }
}

static struct json_object *shallow_map(struct json_object *o)
{
    struct json_object *out = json_object_new_object();
    if (o) {
        json_object_object_foreach(o, key, value)
        {
            json_object_object_add(out, key, json_object_get(value));
        }
    }
    return out;
}

/* $patch on a whole map. */
static struct json_object *directed_map(struct smp *s, const char *directive,
                                        struct json_object *patch)
{
    if (str_eq(directive, "replace")) {
        return without_directives(s, patch);
    }
    if (!str_eq(directive, "delete")) {
        refuse(s, unknown_directive(s->arena, directive));
    }
    return json_object_new_object();
}

/* A new map; neither input is changed. */
static struct json_object *merge_map(struct smp *s, const struct kube_type *type,
                                     struct json_object *original, struct json_object *patch)
{
    const char *directive = json_str(patch, DIRECTIVE);
    if (directive && !str_eq(directive, "merge")) {
        return directed_map(s, directive, patch);
    }
    struct json_object *out = shallow_map(original);
    struct json_object *todo = shallow_map(patch);
    retain_keys(s, out, patch);
    json_object_object_foreach(patch, order_key, order)
    {
        if (str_has_prefix(order_key, ORDER_PREFIX)) {
            order_list(s, type, out, todo, order_key + strlen(ORDER_PREFIX), order);
        }
    }
    json_object_object_foreach(todo, key, value)
    {
        if (str_has_prefix(key, DELETE_PREFIX)) {
            delete_primitives(out, key + strlen(DELETE_PREFIX), value);
        } else if (key[0] != '$') {
            merge_member(s, type, out, key, value);
        }
    }
    json_object_put(todo);
    return out;
}

struct json_object *kube_patch_strategic(struct arena *a, const struct kube_type *type,
                                         struct json_object *doc, struct json_object *patch,
                                         struct json_object **ret)
{
    struct smp s = {.arena = a};
    if (!json_object_is_type(patch, json_type_object)) {
        return kube_status_bad_request("json: cannot unmarshal array into Go value of type "
                                       "map[string]interface {}");
    }
    struct json_object *out = merge_map(&s, type, doc, patch);
    if (s.refusal) {
        json_object_put(out);
        return s.refusal;
    }
    *ret = out;
    return NULL;
}
