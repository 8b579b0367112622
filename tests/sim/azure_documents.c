/* SPDX-License-Identifier: Apache-2.0 */
/* azure_documents.c: see azure_documents.h. */
#include "tests/sim/azure_documents.h"

#include "common/base/str.h"

/* Members that the server adds: states, versions, back references. */
static bool is_incidental(const char *name, struct json_object *owner)
{
    static const char *const names[] = {"etag", "provisioningState", "resourceGuid", "type",
                                        "priority"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_eq(name, names[i])) {
            return true;
        }
    }
    return str_eq(name, "id") && json_member(owner, "name") != NULL;
}

static bool has_names(struct json_object *array)
{
    for (size_t i = 0; i < json_len(array); i++) {
        if (json_str(json_object_array_get_idx(array, i), "name") == NULL) {
            return false;
        }
    }
    return json_len(array) > 0;
}

/* "properties.probes[p1].properties.port" → "80", for every leaf. */
static void flatten(struct arena *a, struct json_object *flat, const char *at,
                    struct json_object *v)
{
    if (json_object_is_type(v, json_type_object)) {
        json_object_object_foreach(v, name, member)
        {
            if (!is_incidental(name, v)) {
                flatten(a, flat, *at == '\0' ? name : arena_printf(a, "%s.%s", at, name), member);
            }
        }
        return;
    }
    if (json_object_is_type(v, json_type_array) && has_names(v)) {
        for (size_t i = 0; i < json_len(v); i++) {
            struct json_object *item = json_object_array_get_idx(v, i);
            flatten(a, flat, arena_printf(a, "%s[%s]", at, json_str(item, "name")), item);
        }
        return;
    }
    const char *text = adoption_text(a, v);
    if (*text != '\0') {
        json_add_str(flat, at, text);
    }
}

static void put(void *o)
{
    json_object_put(o);
}

static struct json_object *flat_document(struct arena *a, struct json_object *document)
{
    struct json_object *flat = json_object_new_object();
    arena_defer(a, put, flat);
    flatten(a, flat, "", document);
    struct json_object *rules = json_path(document, "properties.securityRules");
    struct json_object *priorities = json_object_new_array();
    arena_defer(a, put, priorities);
    for (size_t i = 0; i < json_len(rules); i++) {
        struct json_object *rule = json_object_array_get_idx(rules, i);
        json_push_str(priorities, arena_printf(a, "%lld",
                                               (long long)json_int(json_member(rule, "properties"),
                                                                   "priority", 0)));
    }
    if (json_len(priorities) > 0) {
        json_add_str(flat, "priorities", adoption_text(a, priorities));
    }
    return flat;
}

void azure_documents_compare(struct adoption_compare *c, const char *resource,
                             struct json_object *want, struct json_object *got)
{
    struct json_object *w = flat_document(c->a, want);
    struct json_object *g = flat_document(c->a, got);
    json_object_object_foreach(w, field, value)
    {
        const char *ours = str_nonnull(json_str(g, field));
        if (!str_eq(json_object_get_string(value), ours)) {
            adoption_note(c, resource, field, json_object_get_string(value), ours);
        }
    }
    json_object_object_foreach(g, other, extra)
    {
        if (json_member(w, other) == NULL) {
            adoption_note(c, resource, other, "", json_object_get_string(extra));
        }
    }
}
