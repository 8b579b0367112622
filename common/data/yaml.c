/* SPDX-License-Identifier: Apache-2.0 */
/* yaml.c: libyaml's events into JSON trees.
 *
 * Walks the event stream by recursive descent; what a scalar means is in yaml_scalar.c.  An anchor
 * is a reference to a finished subtree; an alias becomes a deep copy, and every copied node counts
 * against the cap, so an "alias bomb" ends at the cap instead of in memory.  Explicit keys win over
 * merged ones wherever the merge key stands, earlier merges over later ones (YAML 1.1 merge type).
 * Text that is JSON is parsed by json_parse(), which is faster and knows escapes that
 * libyaml does not.  Pure. */
#include "common/data/yaml.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "common/data/json.h"
#include "common/data/yaml_scalar.h"

#include <string.h>
#include <yaml.h>

#define BYTES_MAX      ((size_t)16 * 1024 * 1024)
#define JSON_BYTES_MAX ((size_t)64 * 1024 * 1024)
#define DEPTH_MAX      64
#define NODES_MAX      ((size_t)1000000)
#define DOCS_MAX       ((size_t)10000)

struct loader {
    yaml_parser_t parser;
    yaml_event_t event; /* the current one; owned by us until the next */
    bool has_event;
    struct map *anchors; /* name → struct anchor *, of the current document */
    /* the anchors themselves: a name may be used again inside its own node */
    struct arena *scratch;
    size_t nodes_left;
    int depth_left;
    struct arena *a;        /* of the result */
    struct yaml_docs *docs; /* the result */
    bool lenient;           /* duplicate keys are noted, not refused */
    struct err *err;
};

struct anchor {
    struct json_object *value; /* a reference: keys and merged mappings do not stay in the tree */
    bool is_complete;          /* false inside its own node */
};

static int load_node(struct loader *l, struct json_object **ret);

static size_t event_line(const struct loader *l)
{
    return l->event.start_mark.line + 1;
}

static int fail(struct loader *l, const char *what)
{
    return err_set(l->err, ERR_INVALID, "line %zu: %s", event_line(l), what);
}

static int advance(struct loader *l)
{
    if (l->has_event) {
        yaml_event_delete(&l->event);
        l->has_event = false;
    }
    if (!yaml_parser_parse(&l->parser, &l->event)) {
        size_t line = l->parser.problem_mark.line + 1;
        return err_set(l->err, ERR_INVALID, "line %zu: %s%s%s", line,
                       l->parser.problem != NULL ? l->parser.problem : "not YAML",
                       l->parser.context != NULL ? " " : "",
                       l->parser.context != NULL ? l->parser.context : "");
    }
    l->has_event = true;
    return ERR_OK;
}

static int count_node(struct loader *l)
{
    if (l->nodes_left == 0) {
        return fail(l, "too many nodes");
    }
    l->nodes_left--;
    return ERR_OK;
}

/* Copies an anchored subtree, counting its nodes and its depth as if it had been written out. */
static int copy_node(struct loader *l, struct json_object *o, struct json_object **ret)
{
    int rc = count_node(l);
    if (rc != ERR_OK) {
        return rc;
    }
    enum json_type type = json_object_get_type(o);
    if (type != json_type_object && type != json_type_array) {
        *ret = json_copy(o);
        return ERR_OK;
    }
    if (l->depth_left == 0) {
        return fail(l, "nested too deeply");
    }
    l->depth_left--;
    struct json_object *copy _cleanup_(json_putp) =
        type == json_type_object ? json_object_new_object() : json_object_new_array();
    struct json_object *item = NULL;
    if (type == json_type_object) {
        struct json_object_iterator it = json_object_iter_begin(o);
        struct json_object_iterator end = json_object_iter_end(o);
        for (; rc == ERR_OK && !json_object_iter_equal(&it, &end); json_object_iter_next(&it)) {
            rc = copy_node(l, json_object_iter_peek_value(&it), &item);
            if (rc == ERR_OK) {
                json_add(copy, json_object_iter_peek_name(&it), item);
            }
        }
    }
    for (size_t i = 0; rc == ERR_OK && i < json_len(o); i++) {
        rc = copy_node(l, json_object_array_get_idx(o, i), &item);
        if (rc == ERR_OK) {
            json_object_array_add(copy, item);
        }
    }
    l->depth_left++;
    if (rc == ERR_OK) {
        *ret = STEAL(copy);
    }
    return rc;
}

static int load_alias(struct loader *l, struct json_object **ret)
{
    struct anchor *anchor = map_get(l->anchors, (const char *)l->event.data.alias.anchor);
    if (anchor == NULL) {
        return fail(l, "unknown anchor");
    }
    if (!anchor->is_complete) {
        return fail(l, "anchor's value contains itself");
    }
    struct json_object *copy _cleanup_(json_putp) = NULL;
    int rc = copy_node(l, anchor->value, &copy);
    rc = rc == ERR_OK ? advance(l) : rc;
    if (rc == ERR_OK) {
        *ret = STEAL(copy);
    }
    return rc;
}

/* Remembers a node by its anchor, if it has one; the name is used up by the next advance(). */
static struct anchor *open_anchor(struct loader *l, const yaml_char_t *name)
{
    if (name == NULL) {
        return NULL;
    }
    struct anchor *anchor = ARENA_NEW(l->scratch, struct anchor);
    map_set(l->anchors, (const char *)name, anchor);
    return anchor;
}

static void put_tree(void *arg)
{
    json_object_put(arg);
}

static void close_anchor(struct loader *l, struct anchor *anchor, struct json_object *value)
{
    if (anchor != NULL) {
        anchor->value = json_object_get(value);
        anchor->is_complete = true;
        arena_defer(l->scratch, put_tree, anchor->value);
    }
}

static int load_scalar(struct loader *l, struct json_object **ret)
{
    const yaml_event_t *e = &l->event;
    const struct yaml_scalar scalar = {
        .text = (const char *)e->data.scalar.value,
        .n = e->data.scalar.length,
        .tag = (const char *)e->data.scalar.tag,
        .is_plain = e->data.scalar.plain_implicit != 0,
    };
    struct json_object *value _cleanup_(json_putp) = NULL;
    int rc = yaml_scalar_resolve(&scalar, &value, l->err);
    if (rc != ERR_OK) {
        err_prefix(l->err, "line %zu", event_line(l));
        return rc;
    }
    close_anchor(l, open_anchor(l, e->data.scalar.anchor), value);
    rc = advance(l);
    if (rc == ERR_OK) {
        *ret = STEAL(value);
    }
    return rc;
}

static int load_sequence(struct loader *l, struct json_object **ret)
{
    struct anchor *anchor = open_anchor(l, l->event.data.sequence_start.anchor);
    struct json_object *array _cleanup_(json_putp) = json_object_new_array();
    int rc = advance(l);
    while (rc == ERR_OK && l->event.type != YAML_SEQUENCE_END_EVENT) {
        struct json_object *item = NULL;
        rc = load_node(l, &item);
        if (rc == ERR_OK) {
            json_object_array_add(array, item);
        }
    }
    rc = rc == ERR_OK ? advance(l) : rc;
    if (rc == ERR_OK) {
        close_anchor(l, anchor, array);
        *ret = STEAL(array);
    }
    return rc;
}

static bool is_merge_key(const struct loader *l)
{
    const yaml_event_t *e = &l->event;
    return e->type == YAML_SCALAR_EVENT && e->data.scalar.plain_implicit &&
           strcmp((const char *)e->data.scalar.value, "<<") == 0;
}

/* The text of a key: scalars by their canonical JSON text, as sigs.k8s.io/yaml does it. */
static int load_key(struct loader *l, char **ret)
{
    struct json_object *key _cleanup_(json_putp) = NULL;
    if (l->event.type != YAML_SCALAR_EVENT && l->event.type != YAML_ALIAS_EVENT) {
        return fail(l, "a mapping key must be a scalar");
    }
    size_t line = event_line(l);
    int rc = load_node(l, &key);
    if (rc != ERR_OK) {
        return rc;
    }
    enum json_type type = json_object_get_type(key);
    if (type == json_type_null || type == json_type_object || type == json_type_array) {
        return err_set(l->err, ERR_INVALID, "line %zu: a mapping key must be a scalar, not %s",
                       line, json_type_to_name(type));
    }
    struct str_buf b = STR_BUF_INIT;
    if (type == json_type_string) {
        str_append(&b, json_object_get_string(key));
    } else {
        json_print(&b, key, JSON_COMPACT);
    }
    *ret = str_buf_steal(&b);
    return ERR_OK;
}

/* Adds what `from` has and `into` has not. */
static void merge_missing(struct json_object *into, struct json_object *from)
{
    json_object_object_foreach(from, name, value)
    {
        if (!json_object_object_get_ex(into, name, NULL)) {
            json_add(into, name, json_object_get(value));
        }
    }
}

/* `merges` holds the values of the merge keys in order: mappings, or sequences of them. */
static int apply_merges(struct loader *l, struct json_object *object, struct json_object *merges,
                        size_t line)
{
    for (size_t i = 0; i < json_len(merges); i++) {
        struct json_object *from = json_object_array_get_idx(merges, i);
        bool is_list = json_object_is_type(from, json_type_array);
        size_t n = is_list ? json_len(from) : 1;
        for (size_t k = 0; k < n; k++) {
            struct json_object *one = is_list ? json_object_array_get_idx(from, k) : from;
            if (!json_object_is_type(one, json_type_object)) {
                return err_set(l->err, ERR_INVALID,
                               "line %zu: a merge needs a mapping or a sequence of mappings", line);
            }
            merge_missing(object, one);
        }
    }
    return ERR_OK;
}

/* A key that its mapping has already: refused, or noted. */
static int meet_again(struct loader *l, const char *key, size_t line)
{
    struct yaml_docs *d = l->docs;
    if (!l->lenient) {
        return err_set(l->err, ERR_INVALID, "line %zu: key \"%s\" is already set", line, key);
    }
    if (d->n_twice < YAML_DUPLICATES_MAX) {
        d->twice[d->n_twice++] = (struct yaml_duplicate){d->n, line, arena_strdup(l->a, key)};
    } else {
        d->n_twice_more++;
    }
    return ERR_OK;
}

/* One key with its value, into `object` or, for a merge key, onto `merges`. */
static int load_pair(struct loader *l, struct json_object *object, struct json_object *merges)
{
    char *name _cleanup_(xfreep) = NULL;
    struct json_object *value = NULL;
    bool merge = is_merge_key(l);
    size_t line = event_line(l);
    int rc = merge ? advance(l) : load_key(l, &name);
    if (rc == ERR_OK && !merge && json_object_object_get_ex(object, name, NULL)) {
        rc = meet_again(l, name, line);
    }
    rc = rc == ERR_OK ? load_node(l, &value) : rc;
    if (rc != ERR_OK) {
        return rc;
    }
    if (merge) {
        json_object_array_add(merges, value);
    } else {
        json_add(object, name, value);
    }
    return ERR_OK;
}

static int load_mapping(struct loader *l, struct json_object **ret)
{
    struct anchor *anchor = open_anchor(l, l->event.data.mapping_start.anchor);
    struct json_object *object _cleanup_(json_putp) = json_object_new_object();
    struct json_object *merges _cleanup_(json_putp) = json_object_new_array();
    size_t line = event_line(l);
    int rc = advance(l);
    while (rc == ERR_OK && l->event.type != YAML_MAPPING_END_EVENT) {
        rc = load_pair(l, object, merges);
    }
    rc = rc == ERR_OK ? apply_merges(l, object, merges, line) : rc;
    rc = rc == ERR_OK ? advance(l) : rc;
    if (rc == ERR_OK) {
        close_anchor(l, anchor, object);
        *ret = STEAL(object);
    }
    return rc;
}

static int load_node(struct loader *l, struct json_object **ret)
{
    if (l->event.type == YAML_ALIAS_EVENT) {
        return load_alias(l, ret);
    }
    int rc = count_node(l);
    if (rc != ERR_OK || l->event.type == YAML_SCALAR_EVENT) {
        return rc != ERR_OK ? rc : load_scalar(l, ret);
    }
    if (l->depth_left == 0) {
        return fail(l, "nested too deeply");
    }
    l->depth_left--;
    rc = l->event.type == YAML_SEQUENCE_START_EVENT ? load_sequence(l, ret) : load_mapping(l, ret);
    l->depth_left++;
    return rc;
}

/* One document, from its start event to the next one's or the stream's end. */
static int load_document(struct loader *l, struct arena *a, struct json_object **ret)
{
    *ret = NULL;
    map_clear(l->anchors);
    l->depth_left = DEPTH_MAX;
    int rc = advance(l);
    rc = rc == ERR_OK ? load_node(l, ret) : rc;
    if (rc == ERR_OK) {
        arena_defer(a, put_tree, *ret);
        rc = advance(l); /* over the document's end */
    }
    return rc;
}

static int load_stream(struct loader *l, struct arena *a)
{
    size_t n = 0;
    struct json_object **docs = NULL;
    int rc = advance(l);
    rc = rc == ERR_OK ? advance(l) : rc; /* over the stream's start */
    while (rc == ERR_OK && l->event.type != YAML_STREAM_END_EVENT) {
        struct json_object *doc = NULL;
        rc = load_document(l, a, &doc);
        if (rc == ERR_OK && doc != NULL && n == DOCS_MAX) {
            rc = fail(l, "too many documents");
        }
        if (rc == ERR_OK && doc != NULL) {
            if ((n & (n - 1)) == 0) { /* full at every power of two */
                docs = xrealloc(docs, (n > 0 ? 2 * n : 1) * sizeof *docs);
            }
            docs[n++] = doc;
            l->docs->n = n;
        }
    }
    if (rc == ERR_OK) {
        l->docs->items = ARENA_ARRAY(a, struct json_object *, n);
        for (size_t i = 0; i < n; i++) {
            l->docs->items[i] = docs[i];
        }
    }
    free(docs);
    return rc;
}

/* The bytes of white space that text[0..n) begins with.  No NUL needs to follow it. */
static size_t blank_len(const char *text, size_t n)
{
    size_t i = 0;
    while (i < n && strchr(" \t\r\n", text[i]) != NULL && text[i] != '\0') {
        i++;
    }
    return i;
}

static bool looks_like_json(const char *text, size_t n)
{
    size_t i = blank_len(text, n);
    return i < n && (text[i] == '{' || text[i] == '[');
}

/* The bytes of the first object or array of text[0..n): up to the bracket that closes
 * it, or all. */
static size_t json_document_len(const char *text, size_t n)
{
    size_t depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < n; i++) {
        if (quoted && text[i] == '\\') {
            i++;
        } else if (text[i] == '"') {
            quoted = !quoted;
        } else if (quoted) {
            continue;
        } else if (text[i] == '{' || text[i] == '[') {
            depth++;
        } else if ((text[i] == '}' || text[i] == ']') && --depth == 0) {
            return i + 1;
        }
    }
    return n;
}

/* JSON documents one behind the other, as kubectl and jq write them.  Returns false if text[0..n)
 * is something else; then *err tells about the first document that is not JSON. */
static bool parse_json(struct arena *a, const char *text, size_t n, struct yaml_docs *ret,
                       struct err *err)
{
    const struct json_limits limits = {.max_depth = DEPTH_MAX,
                                       .max_bytes = JSON_BYTES_MAX,
                                       .max_values = JSON_BYTES_MAX / BYTES_MAX * NODES_MAX};
    struct json_object **docs = NULL;
    size_t n_docs = 0;
    size_t cap = 0;
    while (looks_like_json(text, n)) {
        size_t len = json_document_len(text, n);
        if (n_docs == cap) {
            struct json_object **more = ARENA_ARRAY(a, struct json_object *, 2 * cap + 1);
            for (size_t i = 0; i < n_docs; i++) {
                more[i] = docs[i];
            }
            docs = more;
            cap = 2 * cap + 1;
        }
        if (json_parse_arena(a, text, len, &limits, &docs[n_docs], err) != ERR_OK) {
            return false;
        }
        n_docs++;
        text += len;
        n -= len;
    }
    ret->items = docs;
    ret->n = n_docs;
    return n_docs > 0 && blank_len(text, n) == n;
}

/* Fills l->docs; of `l` the first members are set. */
static int parse(struct loader *l, struct arena *a, const char *text, size_t n)
{
    struct yaml_docs json = {0};
    struct err err = ERR_INIT;
    size_t mark = yaml_mark_len(text, n);
    text += mark;
    n -= mark;
    if (looks_like_json(text, n)) {
        if (parse_json(a, text, n, &json, &err)) {
            l->docs->items = json.items;
            l->docs->n = json.n;
            return ERR_OK;
        }
        if (n > BYTES_MAX && err.code != ERR_OK) {
            return err_set(l->err, ERR_INVALID, "%s", err.message);
        }
    }
    if (n > BYTES_MAX) {
        return err_set(l->err, ERR_INVALID, "%zu bytes of YAML are more than %zu", n, BYTES_MAX);
    }
    l->nodes_left = NODES_MAX;
    l->scratch = arena_new();
    l->a = a;
    if (!yaml_parser_initialize(&l->parser)) {
        out_of_memory(0);
    }
    yaml_parser_set_encoding(&l->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&l->parser, (const unsigned char *)text, n);
    l->anchors = map_new(NULL);
    int rc = load_stream(l, a);
    if (l->has_event) {
        yaml_event_delete(&l->event);
    }
    yaml_parser_delete(&l->parser);
    map_free(l->anchors);
    arena_free(l->scratch);
    return rc;
}

int yaml_parse_all(struct arena *a, const char *text, size_t n, struct json_object ***ret_docs,
                   size_t *ret_n, struct err *err)
{
    struct yaml_docs docs = {0};
    struct loader l = {.docs = &docs, .err = err};
    int rc = parse(&l, a, text, n);
    if (rc == ERR_OK) {
        *ret_docs = docs.items;
        *ret_n = docs.n;
    }
    return rc;
}

int yaml_parse_lenient(struct arena *a, const char *text, size_t n, struct yaml_docs *ret,
                       struct err *err)
{
    struct yaml_docs docs = {.twice = ARENA_ARRAY(a, struct yaml_duplicate, YAML_DUPLICATES_MAX)};
    struct loader l = {.docs = &docs, .lenient = true, .err = err};
    int rc = parse(&l, a, text, n);
    if (rc == ERR_OK) {
        *ret = docs;
    }
    return rc;
}

int yaml_parse(struct arena *a, const char *text, size_t n, struct json_object **ret,
               struct err *err)
{
    struct json_object **docs = NULL;
    size_t count = 0;
    int rc = yaml_parse_all(a, text, n, &docs, &count, err);
    if (rc != ERR_OK) {
        return rc;
    }
    if (count > 1) {
        return err_set(err, ERR_INVALID, "line 1: want one document, got %zu", count);
    }
    *ret = count == 1 ? docs[0] : NULL;
    return ERR_OK;
}
