/* SPDX-License-Identifier: Apache-2.0 */
/* json_view.c: the builder of views, and views of trees.
 *
 * The text is copied once; each string that stands in it as it is gets its NUL where its closing
 * quote was.  Values whose container is not complete lie on a stack: an open container, then its
 * children so far.  Closing it moves them to the arena, side by side.
 * Duplicate names are looked for among the siblings if a mask of 64 bits says that there may be
 * one; an object with many members gets a seeded hash table, so that hostile input
 * costs linear time.  Pure. */
#include "common/data/json_view.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/data/json_grammar.h"

#define FIRST_STACK  ((size_t)64)
#define FEW_MEMBERS  ((uint32_t)32) /* fewer siblings are compared one by one */
#define NO_CONTAINER UINT32_MAX

/* Names of the members of one open object that has many: open addressing. */
struct name_set {
    struct name_set *outer;
    uint32_t owner; /* where the object is on the stack */
    uint32_t cap;   /* power of two; at most half are taken */
    uint32_t *slot; /* place of the member behind its object on the stack, 0: free */
};

/* While a container is open, its view on the stack has other things in two members: `n` is the
 * container around it (or NO_CONTAINER), `u` the mask of names so far. */
struct view_builder {
    struct arena *arena;
    const char *text; /* as it came */
    char *copy;
    struct json_view *stack; /* `first`, or heap */
    size_t n;
    size_t cap;
    uint32_t top;     /* the innermost open container on the stack, or NO_CONTAINER */
    const char *name; /* of the value that comes, or NULL; in the arena */
    uint32_t name_len;
    struct name_set *sets; /* innermost first */
    uint64_t seed;         /* of their hashes; 0: there was none yet */
    struct json_view first[FIRST_STACK];
};

/* --- names of members ------------------------------------------------------------------------- */

/* The text in the arena, with a NUL behind it. */
static inline const char *settle(struct view_builder *b, const char *text, size_t n, bool in_place)
{
    if (!in_place) {
        return arena_memdup(b->arena, text, n + 1);
    }
    char *at = b->copy + (text - b->text);
    at[n] = '\0';
    return at;
}

static bool is_named(const struct json_view *v, const char *name, size_t n)
{
    return v->name_len == n && memcmp(v->name, name, n) == 0;
}

/* The slot of the name, or the free one where it belongs. */
static uint32_t *find_slot(const struct view_builder *b, const struct name_set *set,
                           const char *name, size_t n)
{
    uint32_t i = (uint32_t)hash_key(b->seed, name, n) & (set->cap - 1);
    while (set->slot[i] != 0 && !is_named(&b->stack[set->owner + set->slot[i]], name, n)) {
        i = (i + 1) & (set->cap - 1);
    }
    return &set->slot[i];
}

static void set_fill(const struct view_builder *b, struct name_set *set, uint32_t n)
{
    uint32_t cap = FEW_MEMBERS * 2;
    while (cap < (n + 1) * 2) {
        cap *= 2;
    }
    set->cap = cap;
    free(set->slot);
    set->slot = xcalloc(set->cap, sizeof *set->slot);
    for (uint32_t i = 1; i <= n; i++) {
        const struct json_view *v = &b->stack[set->owner + i];
        *find_slot(b, set, v->name, v->name_len) = i;
    }
}

static void drop_set(struct view_builder *b)
{
    struct name_set *set = b->sets;
    b->sets = set->outer;
    free(set->slot);
    free(set);
}

/* One of the object's `n` members has the name; if none, it will be the next one's. */
static bool set_has(struct view_builder *b, uint32_t n, const char *name, size_t len)
{
    if (b->sets == NULL || b->sets->owner != b->top) {
        struct name_set *set = xcalloc(1, sizeof *set);
        set->owner = b->top;
        set->outer = b->sets;
        b->sets = set;
        b->seed = b->seed == 0 ? hash_seed() : b->seed;
    }
    struct name_set *set = b->sets;
    if (set->cap < (n + 1) * 2) {
        set_fill(b, set, n);
    }
    uint32_t *slot = find_slot(b, set, name, len);
    if (*slot != 0) {
        return true;
    }
    *slot = n + 1;
    return false;
}

static bool view_name(void *arg, const char *text, size_t n, bool in_place)
{
    struct view_builder *b = arg;
    struct json_view *object = &b->stack[b->top];
    uint32_t members = (uint32_t)(b->n - b->top - 1);
    bool known = false;
    if (members >= FEW_MEMBERS) {
        known = set_has(b, members, text, n);
    } else {
        unsigned mark = n == 0 ? 0
                               : (unsigned)n * 7 + (unsigned char)text[0] * 5 +
                                     (unsigned char)text[n - 1] * 3 + (unsigned char)text[n / 2];
        uint64_t bit = UINT64_C(1) << (mark & 63);
        for (uint32_t i = 1; (object->u & bit) != 0 && !known && i <= members; i++) {
            known = is_named(&object[i], text, n);
        }
        object->u |= bit;
    }
    b->name = settle(b, text, n, in_place);
    b->name_len = (uint32_t)n;
    return !known;
}

/* --- values ----------------------------------------------------------------------------------- */

static void grow(struct view_builder *b)
{
    bool heap = b->stack != b->first;
    struct json_view *stack = xrealloc(heap ? b->stack : NULL, b->cap * 2 * sizeof *stack);
    if (!heap) {
        memcpy(stack, b->first, b->n * sizeof *stack);
    }
    b->stack = stack;
    b->cap *= 2;
}

/* The next value, of which `n` and the union are the caller's. */
static inline struct json_view *push(struct view_builder *b, enum json_view_type type)
{
    if (b->n == b->cap) {
        grow(b);
    }
    struct json_view *to = &b->stack[b->n++];
    to->type = type;
    to->name = b->name;
    to->name_len = b->name_len;
    to->has_nul = false;
    to->tree = NULL;
    b->name = NULL;
    b->name_len = 0;
    return to;
}

static void view_string(void *arg, const char *text, size_t n, bool has_nul, bool in_place)
{
    struct view_builder *b = arg;
    struct json_view *to = push(b, JSON_V_STRING);
    to->n = (uint32_t)n;
    to->has_nul = has_nul;
    to->text = settle(b, text, n, in_place);
}

static void view_scalar(void *arg, const struct json_view *v)
{
    struct view_builder *b = arg;
    struct json_view *to = push(b, v->type);
    to->n = v->n;
    to->u = v->u;
    if (v->type == JSON_V_DOUBLE) {
        to->text = settle(b, v->text, v->n, false);
    }
}

static void view_open(void *arg, bool is_object)
{
    struct view_builder *b = arg;
    struct json_view *to = push(b, is_object ? JSON_V_OBJECT : JSON_V_ARRAY);
    to->n = b->top;
    to->u = 0;
    b->top = (uint32_t)(b->n - 1);
}

static void view_close(void *arg)
{
    struct view_builder *b = arg;
    struct json_view *v = &b->stack[b->top];
    if (b->sets != NULL && b->sets->owner == b->top) {
        drop_set(b);
    }
    size_t items = b->n - b->top - 1;
    b->n = b->top + (size_t)1;
    b->top = v->n;
    v->n = (uint32_t)items;
    v->items = items == 0 ? NULL : arena_memdup(b->arena, v + 1, items * sizeof *v);
}

/* `copy` of text[0..n) becomes the views' texts. */
static int parse(struct arena *a, const char *text, char *copy, size_t n,
                 const struct json_limits *limits, const struct json_view **ret, struct err *err)
{
    static const struct json_builder builder = {.name = view_name,
                                                .string = view_string,
                                                .scalar = view_scalar,
                                                .open = view_open,
                                                .close = view_close};
    struct view_builder b;
    b.arena = a;
    b.text = text;
    b.copy = copy;
    b.stack = b.first;
    b.n = 0;
    b.cap = FIRST_STACK;
    b.top = NO_CONTAINER;
    b.name = NULL;
    b.name_len = 0;
    b.sets = NULL;
    b.seed = 0;
    int rc = json_grammar_read(text, n, limits, &builder, &b, err);
    while (b.sets != NULL) {
        drop_set(&b);
    }
    if (rc == ERR_OK) {
        *ret = arena_memdup(a, b.stack, sizeof *b.stack);
    }
    if (b.stack != b.first) {
        free(b.stack);
    }
    return rc;
}

int json_view_parse(struct arena *a, const char *text, size_t n, const struct json_limits *limits,
                    const struct json_view **ret, struct err *err)
{
    return parse(a, text, arena_memdup(a, n > 0 ? text : "", n), n, limits, ret, err);
}

int json_view_parse_here(struct arena *a, char *text, size_t n, const struct json_limits *limits,
                         const struct json_view **ret, struct err *err)
{
    if (n > 0 && memchr(text, '\0', n) != NULL) { /* refused, and could not be told from an end */
        return json_view_parse(a, text, n, limits, ret, err);
    }
    int rc = parse(a, text, text, n, limits, ret, err);
    for (size_t i = 0; rc != ERR_OK && i < n; i++) {
        text[i] = text[i] == '\0' ? '"' : text[i];
    }
    return rc;
}

/* --- trees ------------------------------------------------------------------------------------ */

static void view_of_number(struct json_object *o, struct json_view *v)
{
    v->type = JSON_V_INT;
    v->i = json_object_get_int64(o);
    /* json-c keeps what is above INT64_MAX as unsigned, and would saturate it */
    if (v->i == INT64_MAX && json_object_get_uint64(o) != (uint64_t)INT64_MAX) {
        v->type = JSON_V_UINT;
        v->u = json_object_get_uint64(o);
    }
}

struct json_view json_view_of_tree(struct json_object *o)
{
    struct json_view v = {.type = JSON_V_NULL, .tree = o};
    switch (json_object_get_type(o)) {
    case json_type_null:
        break;
    case json_type_boolean:
        v.type = JSON_V_BOOL;
        v.b = json_object_get_boolean(o);
        break;
    case json_type_int:
        view_of_number(o, &v);
        break;
    case json_type_double:
        v.type = JSON_V_DOUBLE;
        break;
    case json_type_string:
        v.type = JSON_V_STRING;
        v.text = json_object_get_string(o);
        v.n = (uint32_t)json_object_get_string_len(o);
        v.has_nul = memchr(v.text, '\0', v.n) != NULL;
        break;
    case json_type_array:
        v.type = JSON_V_ARRAY;
        v.n = (uint32_t)json_object_array_length(o);
        break;
    case json_type_object:
        v.type = JSON_V_OBJECT;
        v.n = (uint32_t)json_object_object_length(o);
        break;
    }
    return v;
}

const struct json_view *json_view_items(struct arena *a, const struct json_view *v)
{
    if (v->type != JSON_V_ARRAY && v->type != JSON_V_OBJECT) {
        return NULL;
    }
    if (v->tree == NULL || v->n == 0) {
        return v->items;
    }
    struct json_view *items = ARENA_ARRAY(a, struct json_view, v->n);
    if (v->type == JSON_V_ARRAY) {
        for (uint32_t i = 0; i < v->n; i++) {
            items[i] = json_view_of_tree(json_object_array_get_idx(v->tree, i));
        }
        return items;
    }
    struct json_view *to = items;
    json_object_object_foreach(v->tree, name, value)
    {
        *to = json_view_of_tree(value);
        to->name = name;
        (to++)->name_len = (uint32_t)strlen(name);
    }
    return items;
}

/* Recursion is as deep as the tree, which json_parse() caps. */
static void make_whole(struct arena *a, struct json_view *v)
{
    if (v->type == JSON_V_STRING) {
        v->text = arena_memdup(a, v->text, (size_t)v->n + 1);
    } else if (v->type == JSON_V_DOUBLE) {
        v->text = arena_strdup(a, json_object_get_string(v->tree));
        v->n = (uint32_t)strlen(v->text);
    } else if (v->type == JSON_V_ARRAY || v->type == JSON_V_OBJECT) {
        struct json_view *items = arena_memdup(a, json_view_items(a, v), v->n * sizeof *items);
        for (uint32_t i = 0; i < v->n; i++) {
            items[i].name = arena_strdup(a, items[i].name);
            make_whole(a, &items[i]);
        }
        v->items = items;
    }
    v->tree = NULL;
}

const struct json_view *json_view_whole(struct arena *a, const struct json_view *v)
{
    if (v->tree == NULL) {
        return v;
    }
    struct json_view *copy = arena_memdup(a, v, sizeof *v);
    make_whole(a, copy);
    return copy;
}

static struct json_object *container_tree(const struct json_view *v)
{
    struct json_object *o =
        v->type == JSON_V_OBJECT ? json_object_new_object() : json_object_new_array();
    for (uint32_t i = 0; i < v->n; i++) {
        struct json_object *item = json_view_tree(&v->items[i]);
        if (v->type == JSON_V_OBJECT) {
            json_add(o, v->items[i].name, item);
        } else if (json_object_array_add(o, item) != 0) {
            out_of_memory(0);
        }
    }
    json_slim(o);
    return o;
}

struct json_object *json_view_tree(const struct json_view *v)
{
    if (v->tree != NULL) {
        return json_object_get(v->tree);
    }
    switch (v->type) {
    case JSON_V_NULL:
        return NULL;
    case JSON_V_BOOL:
        return json_object_new_boolean(v->b);
    case JSON_V_INT:
        return json_object_new_int64(v->i);
    case JSON_V_UINT:
        return json_object_new_uint64(v->u);
    case JSON_V_DOUBLE:
        return json_object_new_double_s(strtod(v->text, NULL), v->text);
    case JSON_V_STRING:
        return json_object_new_string_len(v->text, (int)v->n);
    case JSON_V_ARRAY:
    case JSON_V_OBJECT:
        break;
    }
    return container_tree(v);
}

/* --- questions -------------------------------------------------------------------------------- */

const struct json_view *json_view_member(const struct json_view *v, const char *name)
{
    if (v == NULL || v->type != JSON_V_OBJECT || v->items == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < v->n; i++) {
        if (strcmp(v->items[i].name, name) == 0) {
            return v->items[i].type == JSON_V_NULL ? NULL : &v->items[i];
        }
    }
    return NULL;
}

const char *json_view_str(const struct json_view *v, const char *name)
{
    const struct json_view *member = json_view_member(v, name);
    return member != NULL && member->type == JSON_V_STRING ? member->text : NULL;
}

const char *json_view_shown(struct arena *a, const struct json_view *v)
{
    struct json_object *tree _cleanup_(json_putp) = json_view_tree(v);
    return tree == NULL ? "null" : arena_strdup(a, json_object_get_string(tree));
}
