/* SPDX-License-Identifier: Apache-2.0 */
/* azure_doc_lines.c: see azure_doc_lines.h.  Pure. */
#include "tests/golden/azure_doc_lines.h"

#include "common/base/map.h"

#include <string.h>

#define GROUP "/subscriptions/subscription/resourceGroups/rg/providers/"

struct line {
    const char *path;
    const char *value;
};
struct lines {
    struct arena *a;
    struct line *items;
    size_t n;
    size_t cap;
    const char *under; /* whose members were printed last */
};

const char *azure_doc_short(struct arena *a, const char *text)
{
    return str_replace(a, str_replace(a, text, GROUP "Microsoft.Network/", "~/"), GROUP, "~/../");
}

/* With a blank behind commas and colons, so that long values can be wrapped. */
static const char *text_of(struct arena *a, struct json_object *value)
{
    const int how = JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE;
    return azure_doc_short(a, json_object_to_json_string_ext(value, how));
}

static void add(struct lines *l, const char *path, struct json_object *value)
{
    if (l->n == l->cap) {
        l->cap = l->cap * 2 + 64;
        struct line *more = ARENA_ARRAY(l->a, struct line, l->cap);
        if (l->n > 0) {
            memcpy(more, l->items, l->n * sizeof(*more));
        }
        l->items = more;
    }
    l->items[l->n++] = (struct line){.path = path, .value = text_of(l->a, value)};
}

/* Deep enough for Azure's documents; what is deeper is one value. */
#define DEPTH_MAX 12

struct place {
    const char *path;
    struct json_object *o;
    struct json_object *other; /* what stands at this place in the other document; NULL: nothing */
    int depth;
};

static void flatten(struct lines *l, struct place at);

static struct json_object *element_like(struct json_object *array, const char *name, size_t i)
{
    for (size_t k = 0; name != NULL && k < json_len(array); k++) {
        struct json_object *o = json_object_array_get_idx(array, k);
        if (str_eq(json_str(o, "name"), name)) {
            return o;
        }
    }
    return name == NULL && i < json_len(array) ? json_object_array_get_idx(array, i) : NULL;
}

static void flatten_members(struct lines *l, struct place at)
{
    json_object_object_foreach(at.o, name, value)
    {
        const char *path = at.path[0] == '\0' ? arena_strdup(l->a, name)
                                              : arena_printf(l->a, "%s.%s", at.path, name);
        flatten(l, (struct place){path, value, json_member(at.other, name), at.depth + 1});
    }
}

/* An element that only one document has is one value. */
static void flatten_elements(struct lines *l, struct place at)
{
    for (size_t i = 0; i < json_len(at.o); i++) {
        struct json_object *o = json_object_array_get_idx(at.o, i);
        const char *name = json_str(o, "name");
        const char *path = name != NULL ? arena_printf(l->a, "%s[%s]", at.path, name)
                                        : arena_printf(l->a, "%s[%zu]", at.path, i);
        struct json_object *other = element_like(at.other, name, i);
        if (other != NULL) {
            flatten(l, (struct place){path, o, other, at.depth + 1});
        } else {
            add(l, path, o);
        }
    }
}

static bool has_objects(struct json_object *array)
{
    return json_len(array) > 0 &&
           json_object_is_type(json_object_array_get_idx(array, 0), json_type_object);
}

/* Objects whose members are lines of their own; {"id": …} is one value. */
static bool is_open(struct json_object *o)
{
    return json_object_is_type(o, json_type_object) && json_object_object_length(o) > 0 &&
           !(json_object_object_length(o) == 1 && json_str(o, "id") != NULL);
}

static void flatten(struct lines *l, struct place at)
{
    if (at.depth < DEPTH_MAX && is_open(at.o)) {
        flatten_members(l, at);
    } else if (at.depth < DEPTH_MAX && has_objects(at.o)) {
        flatten_elements(l, at);
    } else {
        add(l, at.path, at.o);
    }
}

static struct map *by_path(const struct lines *l)
{
    struct map *m = map_new(NULL);
    for (size_t i = 0; i < l->n; i++) {
        map_set(m, l->items[i].path, &l->items[i]);
    }
    return m;
}

static bool differs(const struct line *x, const struct map *other)
{
    const struct line *y = map_get(other, x->path);
    return y == NULL || !str_eq(x->value, y->value);
}

/* The last member of a path; elements' names may hold anything. */
static size_t leaf_at(const char *path)
{
    size_t at = 0;
    int inside = 0;
    for (size_t i = 0; path[i] != '\0'; i++) {
        inside += (path[i] == '[') - (path[i] == ']');
        if (path[i] == '.' && inside == 0) {
            at = i + 1;
        }
    }
    return at;
}

/* Members of one object stand below its path. */
static void put(struct lines *l, struct str_buf *b, char sign, const struct line *x)
{
    size_t at = leaf_at(x->path);
    const char *parent = arena_strndup(l->a, x->path, at > 0 ? at - 1 : 0);
    if (!str_eq(parent, l->under) && parent[0] != '\0') {
        str_appendf(b, "      %s\n", parent);
    }
    l->under = parent;
    size_t indent = parent[0] != '\0' ? 8 : 6;
    str_appendf(b, "%*s%c ", (int)indent, "", sign);
    str_append_wrapped(b, arena_printf(l->a, "%s = %s", x->path + at, x->value), indent + 2,
                       indent + 4);
    str_append_c(b, '\n');
}

void azure_doc_lines(struct arena *a, struct str_buf *b, struct json_object *was,
                     struct json_object *now)
{
    struct lines before = {.a = a}, after = {.a = a};
    if (was != NULL) {
        flatten(&before, (struct place){"", was, now, 0});
    }
    if (now != NULL) {
        flatten(&after, (struct place){"", now, was, 0});
    }
    struct map *old = by_path(&before), *new = by_path(&after);
    for (size_t i = 0; i < before.n; i++) {
        if (!map_has(new, before.items[i].path)) {
            put(&after, b, '-', &before.items[i]);
        }
    }
    for (size_t i = 0; i < after.n; i++) {
        const struct line *was_line = map_get(old, after.items[i].path);
        if (!differs(&after.items[i], old)) {
            continue;
        }
        if (was_line != NULL) {
            put(&after, b, '-', was_line);
        }
        put(&after, b, '+', &after.items[i]);
    }
    map_free(old);
    map_free(new);
}
