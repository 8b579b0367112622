/* SPDX-License-Identifier: Apache-2.0 */
/* diff.c: collects field differences for the plan.
 *
 * Two rules keep a re-sync quiet.  Clouds write 64-bit numbers as text, so "80" and 80 are equal;
 * and they leave out members that have their zero value, so an absent member equals a wanted false,
 * 0, "", [] or {}.  Lists of plain values that differ become one line per item that came or went,
 * because that is what a person compares; when only their order differs, the whole lists
 * are shown. Pure. */
#include "common/lb/diff.h"
#include "common/base/str.h"

#include <string.h>

void lb_diff_init(struct lb_diff *d, struct arena *a)
{
    *d = (struct lb_diff){.a = a};
}

static void set_cap(struct lb_diff *d, size_t cap)
{
    struct lb_field *bigger = ARENA_ARRAY(d->a, struct lb_field, cap);
    if (d->n > 0) {
        memcpy(bigger, d->fields, d->n * sizeof *bigger);
    }
    d->fields = bigger;
    d->cap = cap;
}

void lb_diff_reserve(struct lb_diff *d, size_t n)
{
    if (d->cap - d->n < n) {
        set_cap(d, d->n + n);
    }
}

static void add_field(struct lb_diff *d, const char *path, const char *old_text, struct lb_value v)
{
    if (d->n == d->cap) {
        set_cap(d, d->cap == 0 ? 8 : d->cap * 2);
    }
    const char *before = d->n > 0 ? d->fields[d->n - 1].path : NULL; /* of a long list: the same */
    d->fields[d->n++] = (struct lb_field){
        .path = str_eq(before, path) ? before : arena_strdup(d->a, path),
        .old_text = arena_strdup(d->a, old_text),
        .new_value = {.text = arena_strdup(d->a, v.text), .op = v.op, .output = v.output},
    };
}

/* "" is shown as absent: no cloud tells the two apart. */
static const char *shown(const char *text)
{
    return str_is_empty(text) ? NULL : text;
}

bool lb_diff_text(struct lb_diff *d, const char *path, const char *old_text, const char *new_text)
{
    if (strcmp(str_nonnull(old_text), str_nonnull(new_text)) == 0) {
        return false;
    }
    add_field(d, path, shown(old_text), LB_VALUE(shown(new_text)));
    return true;
}

bool lb_diff_value(struct lb_diff *d, const char *path, const char *old_text, struct lb_value v)
{
    if (v.text != NULL || v.op == -1) {
        return lb_diff_text(d, path, old_text, v.text);
    }
    add_field(d, path, shown(old_text), v); /* what is not known yet cannot be equal */
    return true;
}

bool lb_diff_int(struct lb_diff *d, const char *path, int64_t old_value, int64_t new_value)
{
    if (old_value == new_value) {
        return false;
    }
    add_field(d, path, arena_printf(d->a, "%lld", (long long)old_value),
              LB_VALUE(arena_printf(d->a, "%lld", (long long)new_value)));
    return true;
}

bool lb_diff_set(struct lb_diff *d, const char *path, const struct str_set *old_set,
                 const struct str_set *new_set)
{
    struct str_set gone = str_set_minus(d->a, old_set, new_set);
    struct str_set come = str_set_minus(d->a, new_set, old_set);
    const char *item;
    STR_SET_EACH (item, &gone) {
        add_field(d, path, item, LB_VALUE(NULL));
    }
    STR_SET_EACH (item, &come) {
        add_field(d, path, NULL, LB_VALUE(item));
    }
    return gone.n + come.n > 0;
}

/* ---- JSON trees ------------------------------------------------------------------------------ */
static bool is_plain(struct json_object *o)
{
    return !json_object_is_type(o, json_type_object) && !json_object_is_type(o, json_type_array);
}

/* The text of any value; NULL for null. */
static const char *plain_text(struct arena *a, struct json_object *o)
{
    if (o == NULL) {
        return NULL;
    }
    return json_object_is_type(o, json_type_string) ? arena_strdup(a, json_object_get_string(o))
                                                    : json_text(a, o, JSON_SORTED);
}

static bool is_zero(struct json_object *o)
{
    switch (json_object_get_type(o)) {
    case json_type_null:
        return true;
    case json_type_boolean:
        return !json_object_get_boolean(o);
    case json_type_int:
        return json_object_get_int64(o) == 0;
    case json_type_double:
        return json_object_get_double(o) == 0.0;
    case json_type_string:
        return json_object_get_string_len(o) == 0;
    case json_type_array:
        return json_object_array_length(o) == 0;
    case json_type_object:
        return json_object_object_length(o) == 0;
    default:
        return false;
    }
}

static bool plain_eq(struct arena *a, struct json_object *found, struct json_object *wanted)
{
    if (json_equal(found, wanted) || (found == NULL && is_zero(wanted))) {
        return true;
    }
    bool text = json_object_is_type(found, json_type_string);
    bool number = json_object_is_type(wanted, json_type_int);
    bool crossed = (text && number) || (json_object_is_type(found, json_type_int) &&
                                        json_object_is_type(wanted, json_type_string));
    return crossed && strcmp(plain_text(a, found), plain_text(a, wanted)) == 0;
}

/* A list of nothing but plain values, or nothing at all. */
static bool is_plain_list(struct json_object *o)
{
    for (size_t i = 0; i < json_len(o); i++) {
        if (!is_plain(json_object_array_get_idx(o, i))) {
            return false;
        }
    }
    return true;
}

static struct str_set list_texts(struct arena *a, struct json_object *list)
{
    size_t n = json_len(list);
    const char **texts = ARENA_ARRAY(a, const char *, n);
    for (size_t i = 0; i < n; i++) {
        texts[i] = str_nonnull(plain_text(a, json_object_array_get_idx(list, i)));
    }
    return str_set_make(a, texts, n);
}

static bool plain_lists_eq(struct arena *a, struct json_object *found, struct json_object *wanted)
{
    size_t n = json_len(wanted);
    bool equal = json_len(found) == n;
    for (size_t i = 0; equal && i < n; i++) {
        equal =
            plain_eq(a, json_object_array_get_idx(found, i), json_object_array_get_idx(wanted, i));
    }
    return equal;
}

static bool diff_plain_list(struct lb_diff *d, const char *path, struct json_object *found,
                            struct json_object *wanted)
{
    if (plain_lists_eq(d->a, found, wanted)) {
        return false;
    }
    struct str_set old_set = list_texts(d->a, found);
    struct str_set new_set = list_texts(d->a, wanted);
    if (!lb_diff_set(d, path, &old_set, &new_set)) { /* the same items in another order or number */
        add_field(d, path, plain_text(d->a, found), LB_VALUE(plain_text(d->a, wanted)));
    }
    return true;
}

static bool diff_list(struct lb_diff *d, const char *path, struct json_object *found,
                      struct json_object *wanted)
{
    if (is_plain_list(found) && is_plain_list(wanted)) {
        return diff_plain_list(d, path, found, wanted);
    }
    size_t n_found = json_len(found);
    size_t n_wanted = json_len(wanted);
    bool differs = false;
    for (size_t i = 0; i < n_found || i < n_wanted; i++) {
        const char *at = arena_printf(d->a, "%s[%zu]", path, i);
        struct json_object *old_item = i < n_found ? json_object_array_get_idx(found, i) : NULL;
        if (i >= n_wanted) {
            add_field(d, at, plain_text(d->a, old_item), LB_VALUE(NULL));
            differs = true;
        } else if (i >= n_found) {
            struct json_object *item = json_object_array_get_idx(wanted, i);
            add_field(d, at, NULL, LB_VALUE(plain_text(d->a, item)));
            differs = true;
        } else {
            differs |= lb_diff_json(d, at, old_item, json_object_array_get_idx(wanted, i));
        }
    }
    return differs;
}

static bool diff_object(struct lb_diff *d, const char *path, struct json_object *found,
                        struct json_object *wanted)
{
    bool differs = false;
    json_object_object_foreach(wanted, name, value)
    {
        const char *at = str_is_empty(path) ? name : arena_printf(d->a, "%s.%s", path, name);
        differs |= lb_diff_json(d, at, json_member(found, name), value);
    }
    return differs;
}

bool lb_diff_json(struct lb_diff *d, const char *path, struct json_object *found,
                  struct json_object *wanted)
{
    bool comparable = found == NULL || json_object_get_type(found) == json_object_get_type(wanted);
    if (comparable && json_object_is_type(wanted, json_type_object)) {
        return diff_object(d, path, found, wanted);
    }
    if (comparable && json_object_is_type(wanted, json_type_array)) {
        return diff_list(d, path, found, wanted);
    }
    if (plain_eq(d->a, found, wanted)) {
        return false;
    }
    add_field(d, path, plain_text(d->a, found), LB_VALUE(plain_text(d->a, wanted)));
    return true;
}
