/* SPDX-License-Identifier: Apache-2.0 */
/* patch_apply.c: the merge of server-side apply, without field owners.
 *
 * Members of the configuration are set; maps and keyed lists are merged (keys by the type table:
 * ports by port and protocol), sets are united, everything else is replaced.  Field managers are
 * not recorded, so nothing conflicts and what a later configuration leaves out stays.  Pure; see
 * patch.h.  Recorded: 084. */
#include "sim/kube/patch/patch.h"

#include "common/base/str.h"
#include "common/data/json.h"
#include "sim/kube/kube_status.h"

static struct json_object *apply_map(struct arena *a, const struct kube_type *type,
                                     struct json_object *live, struct json_object *config);

/* The value of a key; the protocol of a port is TCP when it is not given. */
static const char *key_text(struct json_object *o, const char *key)
{
    struct json_object *v = json_member(o, key);
    if (!v && str_eq(key, "protocol")) {
        return "TCP";
    }
    return v ? json_object_get_string(v) : "";
}

static bool same_keys(struct arena *a, struct json_object *x, struct json_object *y,
                      const char *keys)
{
    size_t n = 0;
    char **names = str_split(a, keys, ',', &n);
    for (size_t i = 0; i < n; i++) {
        const char *left = arena_strdup(a, key_text(x, names[i]));
        if (!str_eq(left, key_text(y, names[i]))) {
            return false;
        }
    }
    return true;
}

static struct json_object *copy_list(struct json_object *list)
{
    struct json_object *out = json_object_new_array();
    for (size_t i = 0; i < json_len(list); i++) {
        json_object_array_add(out, json_object_get(json_object_array_get_idx(list, i)));
    }
    return out;
}

static struct json_object *apply_keyed(struct arena *a, const struct kube_field *f,
                                       struct json_object *live, struct json_object *config)
{
    const char *keys = f->list_keys ? f->list_keys : f->merge_key;
    struct json_object *out = copy_list(live);
    for (size_t i = 0; i < json_len(config); i++) {
        struct json_object *item = json_object_array_get_idx(config, i);
        size_t at = 0;
        while (at < json_len(out) &&
               !same_keys(a, json_object_array_get_idx(out, at), item, keys)) {
            at++;
        }
        struct json_object *old = at < json_len(out) ? json_object_array_get_idx(out, at) : NULL;
        struct json_object *v = apply_map(a, f->type, old, item);
        if (old) {
            json_object_array_put_idx(out, at, v);
        } else {
            json_object_array_add(out, v);
        }
    }
    return out;
}

static struct json_object *apply_set(struct json_object *live, struct json_object *config)
{
    struct json_object *out = copy_list(live);
    for (size_t i = 0; i < json_len(config); i++) {
        struct json_object *item = json_object_array_get_idx(config, i);
        bool there = false;
        for (size_t k = 0; k < json_len(out) && !there; k++) {
            there = json_equal(json_object_array_get_idx(out, k), item);
        }
        if (!there) {
            json_object_array_add(out, json_object_get(item));
        }
    }
    return out;
}

static struct json_object *apply_value(struct arena *a, const struct kube_field *f,
                                       struct json_object *live, struct json_object *config)
{
    bool both_lists =
        json_object_is_type(live, json_type_array) && json_object_is_type(config, json_type_array);
    if (f && (f->flags & KFF_ATOMIC)) {
        return json_object_get(config);
    }
    if (json_object_is_type(config, json_type_object)) {
        return apply_map(a, f ? f->type : NULL, live, config);
    }
    if (both_lists && f && f->kind == KF_OBJS && f->merge_key) {
        return apply_keyed(a, f, live, config);
    }
    if (both_lists && f && (f->flags & KFF_SET)) {
        return apply_set(live, config);
    }
    return json_object_get(config);
}

static struct json_object *apply_map(struct arena *a, const struct kube_type *type,
                                     struct json_object *live, struct json_object *config)
{
    if (!json_object_is_type(config, json_type_object)) {
        return json_object_get(config);
    }
    struct json_object *out = json_object_new_object();
    if (json_object_is_type(live, json_type_object)) {
        json_object_object_foreach(live, name, old)
        {
            json_object_object_add(out, name, json_object_get(old));
        }
    }
    json_object_object_foreach(config, key, value)
    {
        const struct kube_field *f = type ? kube_type_field(type, key) : NULL;
        struct json_object *v = value ? apply_value(a, f, json_member(out, key), value) : NULL;
        json_object_object_add(out, key, v);
    }
    return out;
}

struct json_object *kube_patch_apply(struct arena *a, const struct kube_type *type,
                                     struct json_object *doc, struct json_object *config,
                                     struct json_object **ret)
{
    if (!json_object_is_type(config, json_type_object)) {
        return kube_status_bad_request("error decoding YAML: the configuration is no object");
    }
    *ret = apply_map(a, type, doc, config);
    return NULL;
}
