/* SPDX-License-Identifier: Apache-2.0 */
/* schema.c: checks request bodies against the tables of schema.h, and strips what the server alone
 * sets.
 *
 * Stops at the first problem, in the order in which the body names its members.  Pure. */
#include "sim/arm/schema.h"

#include "common/base/str.h"
#include "common/data/json.h"

#include <string.h>

const struct arm_field *arm_schema_field(int type, const char *name)
{
    const struct arm_field *f = type >= 0 ? arm_types[type].fields : NULL;
    for (; f && f->name; f++) {
        if (str_eq(f->name, name)) {
            return f;
        }
    }
    return NULL;
}

static bool wrong_type(struct arena *a, const char *path, struct json_object *o, const char *want,
                       const char **ret_why)
{
    *ret_why =
        arena_printf(a, "Error converting value %.60s to %s. Path '%s'.",
                     json_object_to_json_string(o), want, str_or(path, "the document's root"));
    return false;
}

static const char *below(struct arena *a, const char *path, const char *name)
{
    return *path ? arena_printf(a, "%s.%s", path, name) : arena_strdup(a, name);
}

static bool check_object(struct arena *a, const struct arm_type *t, struct json_object *o,
                         const char *path, const char **ret_why)
{
    json_object_object_foreach(o, key, value)
    {
        int type = t->item;
        if (t->kind == ARM_OBJECT) {
            const struct arm_field *f = t->fields;
            while (f->name && !str_eq(f->name, key)) {
                f++;
            }
            if (!f->name) {
                *ret_why =
                    arena_printf(a, "Could not find member '%s' on object of type '%s'. Path '%s'.",
                                 key, str_or(t->name, "Object"), below(a, path, key));
                return false;
            }
            type = f->type;
        }
        if (!arm_schema_check(a, type, value, below(a, path, key), ret_why)) {
            return false;
        }
    }
    for (const char *const *m = t->required; m && *m; m++) {
        if (!json_member(o, *m)) {
            *ret_why =
                arena_printf(a, "Required property '%s' not found in JSON. Path '%s'.", *m, path);
            return false;
        }
    }
    return true;
}

static bool check_array(struct arena *a, const struct arm_type *t, struct json_object *o,
                        const char *path, const char **ret_why)
{
    for (size_t i = 0; i < json_len(o); i++) {
        struct json_object *item = json_object_array_get_idx(o, i);
        const char *inner = arena_printf(a, "%s[%zu]", path, i);
        if (!item) {
            *ret_why = arena_printf(a, "Array item must not be null. Path '%s'.", inner);
            return false;
        }
        if (!arm_schema_check(a, t->item, item, inner, ret_why)) {
            return false;
        }
    }
    return true;
}

static bool check_string(struct arena *a, const struct arm_type *t, struct json_object *o,
                         const char *path, const char **ret_why)
{
    for (const char *const *v = t->one_of; v && *v; v++) {
        if (str_eq_nocase(*v, json_object_get_string(o))) {
            if (!str_eq(*v, json_object_get_string(o))) {
                json_object_set_string(o, *v);
            }
            return true;
        }
    }
    return !t->one_of ||
           wrong_type(a, path, o, arena_printf(a, "type '%s'", str_or(t->name, "enumeration")),
                      ret_why);
}

static bool check_integer(struct arena *a, const struct arm_type *t, struct json_object *o,
                          const char *path, const char **ret_why)
{
    double d = json_object_get_double(o);
    int64_t v = json_object_get_int64(o);
    if (!json_object_is_type(o, json_type_int) &&
        (!json_object_is_type(o, json_type_double) || d != (double)v)) {
        return wrong_type(a, path, o, "a whole number", ret_why);
    }
    return !t->has_range || (v >= t->min && v <= t->max) ||
           wrong_type(
               a, path, o,
               arena_printf(a, "a number from %lld to %lld", (long long)t->min, (long long)t->max),
               ret_why);
}

bool arm_schema_check(struct arena *a, int type, struct json_object *o, const char *path,
                      const char **ret_why)
{
    if (type < 0 || !o) {
        return true;
    }
    const struct arm_type *t = &arm_types[type];
    enum json_type got = json_object_get_type(o);
    switch (t->kind) {
    case ARM_ANY:
        return true;
    case ARM_OBJECT:
    case ARM_MAP:
        return got == json_type_object ? check_object(a, t, o, path, ret_why)
                                       : wrong_type(a, path, o, "an object", ret_why);
    case ARM_ARRAY:
        return got == json_type_array ? check_array(a, t, o, path, ret_why)
                                      : wrong_type(a, path, o, "a list", ret_why);
    case ARM_STRING:
        return got == json_type_string ? check_string(a, t, o, path, ret_why)
                                       : wrong_type(a, path, o, "a string", ret_why);
    case ARM_INTEGER:
        return check_integer(a, t, o, path, ret_why);
    case ARM_NUMBER:
        return got == json_type_int || got == json_type_double ||
               wrong_type(a, path, o, "a number", ret_why);
    case ARM_BOOLEAN:
        return got == json_type_boolean || wrong_type(a, path, o, "a boolean", ret_why);
    }
    return true;
}

static int type_of_member(const struct arm_type *t, int type, const char *name, bool *ret_read_only)
{
    *ret_read_only = false;
    if (t->kind == ARM_MAP) {
        return t->item;
    }
    const struct arm_field *f = arm_schema_field(type, name);
    *ret_read_only = f && f->read_only;
    return f ? f->type : -1;
}

void arm_schema_strip(int type, struct json_object *o)
{
    if (!o || type < 0) {
        return;
    }
    const struct arm_type *t = &arm_types[type];
    for (size_t i = 0; i < json_len(o); i++) {
        arm_schema_strip(t->item, json_object_array_get_idx(o, i));
    }
    if (!json_object_is_type(o, json_type_object)) {
        return;
    }
    struct lh_entry *e = json_object_get_object(o)->head;
    while (e) {
        struct lh_entry *next = e->next;
        const char *name = lh_entry_k(e);
        struct json_object *value = (struct json_object *)lh_entry_v(e);
        bool read_only;
        int inner = type_of_member(t, type, name, &read_only);
        if (!value || read_only) {
            json_object_object_del(o, name);
        } else {
            arm_schema_strip(inner, value);
        }
        e = next;
    }
}
