/* SPDX-License-Identifier: Apache-2.0 */
/* patch_json.c: merge patch (RFC 7386) and JSON patch (RFC 6902).
 *
 * A JSON patch that cannot be carried out, a failed test included, is the bare 422 of recorded 082.
 * Pure; see patch.h. */
#include "sim/kube/patch/patch.h"

#include "common/base/str.h"
#include "common/data/json.h"
#include "sim/kube/kube_status.h"

#include <string.h>

#define OPERATIONS_MAX 10000

/* --- merge patch ------------------------------------------------------------------------------ */
static struct json_object *merged(struct json_object *doc, struct json_object *patch)
{
    if (!json_object_is_type(patch, json_type_object)) {
        return json_object_get(patch);
    }
    struct json_object *out = json_object_new_object();
    if (json_object_is_type(doc, json_type_object)) {
        json_object_object_foreach(doc, name, old)
        {
            json_object_object_add(out, name, json_object_get(old));
        }
    }
    json_object_object_foreach(patch, key, value)
    {
        if (!value) {
            json_object_object_del(out, key);
        } else {
            struct json_object *v = merged(json_member(out, key), value);
            json_object_object_add(out, key, v);
        }
    }
    return out;
}

struct json_object *kube_patch_merge(struct json_object *doc, struct json_object *patch,
                                     struct json_object **ret)
{
    if (!json_object_is_type(patch, json_type_object)) {
        return patch ? kube_status_bad_request(
                           "error decoding patch: json: cannot unmarshal array into "
                           "Go value of type map[string]interface {}")
                     : kube_status_bad_request("Invalid JSON Patch");
    }
    *ret = merged(doc, patch);
    return NULL;
}

/* --- JSON patch ------------------------------------------------------------------------------- */
/* The last step of a pointer and the container that it is in. */
struct target {
    struct json_object *parent;
    char *last; /* unescaped */
};

static char *unescape(struct arena *a, const char *token)
{
    return str_replace(a, str_replace(a, token, "~1", "/"), "~0", "~");
}

/* An array index; `len` itself is allowed when `may_append`. */
static bool array_index(const char *token, size_t len, bool may_append, size_t *ret)
{
    uint64_t i = 0;
    if (may_append && str_eq(token, "-")) {
        *ret = len;
        return true;
    }
    if (!str_to_u64(token, &i) || i > len || (i == len && !may_append)) {
        return false;
    }
    *ret = (size_t)i;
    return true;
}

static struct json_object *child(struct json_object *o, const char *token, bool *ret_there)
{
    struct json_object *v = NULL;
    size_t i = 0;
    *ret_there = false;
    if (json_object_is_type(o, json_type_object)) {
        *ret_there = json_object_object_get_ex(o, token, &v);
    } else if (json_object_is_type(o, json_type_array) &&
               array_index(token, json_len(o), false, &i)) {
        *ret_there = true;
        v = json_object_array_get_idx(o, i);
    }
    return v;
}

static bool find_target(struct arena *a, struct json_object *doc, const char *pointer,
                        struct target *ret)
{
    if (!pointer || pointer[0] != '/') {
        return false;
    }
    size_t n = 0;
    char **tokens = str_split(a, pointer + 1, '/', &n);
    struct json_object *at = doc;
    for (size_t i = 0; i + 1 < n; i++) {
        bool there = false;
        at = child(at, unescape(a, tokens[i]), &there);
        if (!there || !at) {
            return false;
        }
    }
    *ret = (struct target){.parent = at, .last = unescape(a, tokens[n - 1])};
    return true;
}

/* Takes `v` over. */
static bool put_value(struct target *t, struct json_object *v, bool replace)
{
    size_t i = 0;
    if (json_object_is_type(t->parent, json_type_object)) {
        json_object_object_add(t->parent, t->last, v);
        return true;
    }
    bool is_array = json_object_is_type(t->parent, json_type_array);
    size_t n = is_array ? json_len(t->parent) : 0;
    if (!is_array || !array_index(t->last, n, !replace, &i)) {
        json_object_put(v);
        return false;
    }
    if (replace) {
        json_object_array_put_idx(t->parent, i, v);
        return true;
    }
    json_object_array_add(t->parent, NULL);
    for (size_t k = n; k > i; k--) {
        json_object_array_put_idx(t->parent, k,
                                  json_object_get(json_object_array_get_idx(t->parent, k - 1)));
    }
    json_object_array_put_idx(t->parent, i, v);
    return true;
}

static bool remove_value(struct target *t)
{
    size_t i = 0;
    bool there = false;
    (void)child(t->parent, t->last, &there);
    if (!there) {
        return false;
    }
    if (json_object_is_type(t->parent, json_type_object)) {
        json_object_object_del(t->parent, t->last);
        return true;
    }
    return array_index(t->last, json_len(t->parent), false, &i) &&
           json_object_array_del_idx(t->parent, i, 1) == 0;
}

/* move and copy */
static bool from_elsewhere(struct arena *a, struct json_object *doc, struct json_object *op,
                           bool move)
{
    struct target from;
    struct target to;
    bool there = false;
    const char *from_path = json_str(op, "from");
    const char *to_path = json_str(op, "path");
    if (!find_target(a, doc, from_path, &from)) {
        return false;
    }
    struct json_object *v = child(from.parent, from.last, &there);
    if (!there || (move && str_has_prefix(to_path, arena_printf(a, "%s/", from_path)))) {
        return false;
    }
    v = v ? json_copy(v) : NULL;
    bool good = (!move || remove_value(&from)) && find_target(a, doc, to_path, &to);
    if (!good) {
        json_object_put(v);
        return false;
    }
    return put_value(&to, v, false);
}

static bool run_operation(struct arena *a, struct json_object *doc, struct json_object *op)
{
    struct target t;
    const char *word = str_nonnull(json_str(op, "op"));
    struct json_object *value = NULL;
    bool has_value =
        json_object_is_type(op, json_type_object) && json_object_object_get_ex(op, "value", &value);
    if (str_eq(word, "move") || str_eq(word, "copy")) {
        return json_str(op, "path") && from_elsewhere(a, doc, op, str_eq(word, "move"));
    }
    if (!find_target(a, doc, json_str(op, "path"), &t)) {
        return false;
    }
    bool there = false;
    struct json_object *old = child(t.parent, t.last, &there);
    if (str_eq(word, "remove")) {
        return remove_value(&t);
    }
    if (str_eq(word, "test")) {
        return !value || !old ? value == old : json_equal(value, old);
    }
    if (!has_value || (str_eq(word, "replace") && !there)) {
        return false;
    }
    if (!str_eq(word, "add") && !str_eq(word, "replace")) {
        return false;
    }
    return put_value(&t, value ? json_copy(value) : NULL, str_eq(word, "replace"));
}

struct json_object *kube_patch_json(struct arena *a, struct json_object *doc,
                                    struct json_object *patch, struct json_object **ret)
{
    if (!json_object_is_type(patch, json_type_array)) {
        return kube_status_bad_request(
            "error decoding patch: json: cannot unmarshal object into Go value of "
            "type []handlers.jsonPatchOp");
    }
    if (json_len(patch) > OPERATIONS_MAX) {
        return kube_status(413, "RequestEntityTooLarge",
                           "The allowed maximum operations in a JSON patch is 10000", NULL);
    }
    struct json_object *out = json_copy(doc);
    for (size_t i = 0; i < json_len(patch); i++) {
        if (!run_operation(a, out, json_object_array_get_idx(patch, i))) {
            json_object_put(out);
            return kube_status_unprocessable();
        }
    }
    *ret = out;
    return NULL;
}
