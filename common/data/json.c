/* SPDX-License-Identifier: Apache-2.0 */
/* json.c: questions to JSON trees, and building them.
 *
 * Small and forgiving: a member of the wrong type counts as absent, so that callers can walk
 * documents of servers without asking at every step.  Where a wrong type must be an error,
 * json_decode() is used.  Trees never cross threads. */
#include "common/data/json.h"

#include <math.h>
#include <string.h>

static void must_add(int rc)
{
    if (rc != 0) {
        out_of_memory(0); /* json-c fails here only when memory is out */
    }
}

void json_putp(struct json_object **o)
{
    json_object_put(*o);
    *o = NULL;
}

struct json_object *json_member(struct json_object *o, const char *name)
{
    struct json_object *member = NULL;
    if (!json_object_is_type(o, json_type_object) || !json_object_object_get_ex(o, name, &member)) {
        return NULL;
    }
    return member;
}

struct json_object *json_path(struct json_object *o, const char *path)
{
    char name[256];
    while (o != NULL && *path != '\0') {
        const char *end = strchrnul(path, '.');
        size_t n = (size_t)(end - path);
        if (n >= sizeof name) {
            return NULL;
        }
        memcpy(name, path, n);
        name[n] = '\0';
        o = json_member(o, name);
        path = *end != '\0' ? end + 1 : end;
    }
    return o;
}

const char *json_str(struct json_object *o, const char *name)
{
    struct json_object *member = json_member(o, name);
    return json_object_is_type(member, json_type_string) ? json_object_get_string(member) : NULL;
}

int64_t json_int(struct json_object *o, const char *name, int64_t otherwise)
{
    struct json_object *member = json_member(o, name);
    int64_t value;
    switch (json_object_get_type(member)) {
    case json_type_int:
        /* json-c keeps what is above INT64_MAX as unsigned, and would saturate it */
        if (json_object_get_int64(member) == INT64_MAX &&
            json_object_get_uint64(member) > (uint64_t)INT64_MAX) {
            return otherwise;
        }
        return json_object_get_int64(member);
    case json_type_double: {
        double d = json_object_get_double(member);
        return d >= -0x1p63 && d < 0x1p63 && d == floor(d) ? (int64_t)d : otherwise;
    }
    case json_type_string:
        return str_to_i64(json_object_get_string(member), &value) ? value : otherwise;
    default:
        return otherwise;
    }
}

bool json_get_bool(struct json_object *o, const char *name, bool otherwise)
{
    struct json_object *member = json_member(o, name);
    return json_object_is_type(member, json_type_boolean) ? json_object_get_boolean(member)
                                                          : otherwise;
}

size_t json_len(struct json_object *array)
{
    return json_object_is_type(array, json_type_array) ? json_object_array_length(array) : 0;
}

void json_clear(struct json_object *o)
{
    struct lh_table *members = json_object_get_object(o);
    while (members != NULL && lh_table_head(members) != NULL) {
        json_object_object_del(o, lh_entry_k(lh_table_head(members)));
    }
}

/* The fewest slots of json-c's table that take `n` members: it doubles the table when a member
 * comes to one that is filled by LH_LOAD_FACTOR. */
static int slots_for(size_t n)
{
    return n == 0 ? 1 : (int)((double)(n - 1) / LH_LOAD_FACTOR) + 1;
}

void json_slim(struct json_object *container)
{
    if (json_object_is_type(container, json_type_array)) {
        must_add(json_object_array_shrink(container, 0));
    } else if (json_object_is_type(container, json_type_object)) {
        struct lh_table *t = json_object_get_object(container);
        must_add(lh_table_resize(t, slots_for((size_t)lh_table_length(t))));
    }
}

static struct json_object *scalar_copy(struct json_object *o)
{
    struct json_object *copy = NULL;
    must_add(json_object_deep_copy(o, &copy, NULL));
    return copy;
}

/* Recursion is as deep as the tree, which json_parse() caps. */
static struct json_object *tree_copy(struct json_object *o, bool share)
{
    if (o == NULL) {
        return NULL;
    }
    if (json_object_is_type(o, json_type_array)) {
        size_t n = json_object_array_length(o);
        struct json_object *copy = json_object_new_array_ext(n > 0 ? (int)n : 1);
        for (size_t i = 0; i < n; i++) {
            must_add(
                json_object_array_add(copy, tree_copy(json_object_array_get_idx(o, i), share)));
        }
        return copy;
    }
    if (!json_object_is_type(o, json_type_object)) {
        return share ? json_object_get(o) : scalar_copy(o);
    }
    struct json_object *copy = json_object_new_object();
    must_add(lh_table_resize(json_object_get_object(copy),
                             slots_for((size_t)json_object_object_length(o))));
    const struct lh_entry *e = lh_table_head(json_object_get_object(o));
    for (; e != NULL; e = lh_entry_next(e)) {
        unsigned lasting = lh_entry_k_is_constant(e) ? JSON_C_OBJECT_ADD_CONSTANT_KEY : 0;
        must_add(json_object_object_add_ex(copy, lh_entry_k(e), tree_copy(lh_entry_v(e), share),
                                           lasting | JSON_C_OBJECT_ADD_KEY_IS_NEW));
    }
    return copy;
}

struct json_object *json_copy(struct json_object *o)
{
    return tree_copy(o, false);
}

struct json_object *json_share(struct json_object *o)
{
    return tree_copy(o, true);
}

void json_add(struct json_object *o, const char *name, struct json_object *v)
{
    must_add(json_object_object_add(o, name, v));
}

void json_add_str(struct json_object *o, const char *name, const char *s)
{
    if (s != NULL) {
        json_add(o, name, json_object_new_string(s));
    }
}

const char *json_default_str(struct json_object *o, const char *name, const char *s)
{
    if (!json_str(o, name)) {
        json_add_str(o, name, s);
    }
    return json_str(o, name);
}

void json_add_int(struct json_object *o, const char *name, int64_t v)
{
    json_add(o, name, json_object_new_int64(v));
}

void json_add_bool(struct json_object *o, const char *name, bool v)
{
    json_add(o, name, json_object_new_boolean(v));
}

void json_push_str(struct json_object *array, const char *s)
{
    must_add(json_object_array_add(array, json_object_new_string(str_nonnull(s))));
}

struct json_object *json_strs(const char *const *items, size_t n)
{
    struct json_object *array = json_object_new_array();
    for (size_t i = 0; i < n; i++) {
        json_push_str(array, items[i]);
    }
    return array;
}

static bool numbers_equal(struct json_object *a, struct json_object *b)
{
    bool a_int = json_object_is_type(a, json_type_int);
    bool b_int = json_object_is_type(b, json_type_int);
    if (a_int && b_int) {
        /* the signed and the unsigned view together tell all 64-bit values apart */
        return json_object_get_int64(a) == json_object_get_int64(b) &&
               json_object_get_uint64(a) == json_object_get_uint64(b);
    }
    if (!a_int && !b_int) {
        return json_object_get_double(a) == json_object_get_double(b);
    }
    double d = json_object_get_double(a_int ? b : a);
    struct json_object *i = a_int ? a : b;
    if (d != floor(d)) {
        return false;
    }
    if (d >= -0x1p63 && d < 0x1p63) {
        return json_object_get_int64(i) == (int64_t)d &&
               (d < 0 || json_object_get_uint64(i) == (uint64_t)d);
    }
    return d >= 0x1p63 && d < 0x1p64 && json_object_get_uint64(i) == (uint64_t)d;
}

static bool objects_equal(struct json_object *a, struct json_object *b)
{
    if (json_object_object_length(a) != json_object_object_length(b)) {
        return false;
    }
    json_object_object_foreach(a, name, value)
    {
        struct json_object *other;
        if (!json_object_object_get_ex(b, name, &other) || !json_equal(value, other)) {
            return false;
        }
    }
    return true;
}

static bool arrays_equal(struct json_object *a, struct json_object *b)
{
    size_t n = json_object_array_length(a);
    if (n != json_object_array_length(b)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (!json_equal(json_object_array_get_idx(a, i), json_object_array_get_idx(b, i))) {
            return false;
        }
    }
    return true;
}

static bool is_number(enum json_type type)
{
    return type == json_type_int || type == json_type_double;
}

bool json_equal(struct json_object *a, struct json_object *b)
{
    enum json_type ta = json_object_get_type(a);
    enum json_type tb = json_object_get_type(b);
    if (is_number(ta) && is_number(tb)) {
        return numbers_equal(a, b);
    }
    if (ta != tb) {
        return false;
    }
    switch (ta) {
    case json_type_object:
        return objects_equal(a, b);
    case json_type_array:
        return arrays_equal(a, b);
    case json_type_string:
        return json_object_get_string_len(a) == json_object_get_string_len(b) &&
               memcmp(json_object_get_string(a), json_object_get_string(b),
                      (size_t)json_object_get_string_len(a)) == 0;
    case json_type_boolean:
        return json_object_get_boolean(a) == json_object_get_boolean(b);
    default:
        return true; /* both null */
    }
}
