/* SPDX-License-Identifier: Apache-2.0 */
/* json_parse.c: outside bytes into a json-c tree.
 *
 * json_grammar.c reads; here is its builder of trees, for documents that are changed, or kept.
 * Duplicates are found in json-c's seeded hash table, so hostile input costs linear time.  What is
 * only decoded and dropped is cheaper as a view (json_view.h).  Pure. */
#include "common/data/json.h"

#include <stdlib.h>
#include <string.h>

#include "common/data/json_grammar.h"

struct tree {
    struct json_object *root;                     /* owned */
    struct json_object *open[JSON_DEPTH_CEILING]; /* borrowed from the root, outermost first */
    size_t n_open;
    struct str_buf name; /* of the member whose value comes */
    struct str_buf word; /* a text that is looked for among the shared */
    const char *const *names;
    size_t n_names;
    struct lh_table *shared; /* text of a string → its object, borrowed; NULL: none is shared */
};

static int compare_names(const void *key, const void *item)
{
    return strcmp(key, *(const char *const *)item);
}

/* One of the names that live as long as the program; NULL if it is not one. */
static const char *lasting(const struct tree *t, const char *name)
{
    const char *const *found =
        t->n_names > 0 ? bsearch(name, t->names, t->n_names, sizeof(*t->names), compare_names)
                       : NULL;
    return found != NULL ? *found : NULL;
}

/* Takes over `v`. */
static void add(struct tree *t, struct json_object *v)
{
    struct json_object *top = t->n_open > 0 ? t->open[t->n_open - 1] : NULL;
    if (top == NULL) {
        t->root = v;
        return;
    }
    int rc;
    if (json_object_is_type(top, json_type_array)) {
        rc = json_object_array_add(top, v);
    } else {
        const char *known = lasting(t, t->name.data);
        unsigned how = known != NULL ? JSON_C_OBJECT_ADD_CONSTANT_KEY : 0;
        rc = json_object_object_add_ex(top, known != NULL ? known : t->name.data, v,
                                       how | JSON_C_OBJECT_ADD_KEY_IS_NEW);
    }
    if (rc != 0) {
        out_of_memory(0);
    }
}

static bool tree_name(void *arg, const char *text, size_t n, bool in_place)
{
    struct tree *t = arg;
    (void)in_place; /* copied in any case */
    str_buf_reset(&t->name);
    str_append_n(&t->name, text, n);
    return !json_object_object_get_ex(t->open[t->n_open - 1], t->name.data, NULL);
}

/* IDs, etags and words stand in a document again and again. */
static struct json_object *shared_string(struct tree *t, const char *text, size_t n)
{
    void *known = NULL;
    str_buf_reset(&t->word);
    str_append_n(&t->word, text, n);
    if (lh_table_lookup_ex(t->shared, t->word.data, &known)) {
        return json_object_get(known);
    }
    struct json_object *made = json_object_new_string_len(text, (int)n);
    if (lh_table_insert(t->shared, json_object_get_string(made), made) != 0) {
        out_of_memory(0);
    }
    return made;
}

static void tree_string(void *arg, const char *text, size_t n, bool has_nul, bool in_place)
{
    struct tree *t = arg;
    (void)in_place; /* copied in any case */
    bool shares = t->shared != NULL && !has_nul;
    add(t, shares ? shared_string(t, text, n) : json_object_new_string_len(text, (int)n));
}

static void tree_scalar(void *arg, const struct json_view *v)
{
    add(arg, json_view_tree(v));
}

static void tree_open(void *arg, bool is_object)
{
    struct tree *t = arg;
    struct json_object *o = is_object ? json_object_new_object() : json_object_new_array_ext(1);
    add(t, o);
    t->open[t->n_open++] = o;
}

static void tree_close(void *arg)
{
    struct tree *t = arg;
    json_slim(t->open[--t->n_open]);
}

int json_parse(const char *text, size_t n, const struct json_limits *limits,
               struct json_object **ret, struct err *err)
{
    static const struct json_builder builder = {.name = tree_name,
                                                .string = tree_string,
                                                .scalar = tree_scalar,
                                                .open = tree_open,
                                                .close = tree_close};
    struct tree t;
    t.root = NULL;
    t.n_open = 0;
    t.name = STR_BUF_INIT;
    t.word = STR_BUF_INIT;
    t.names = limits != NULL ? limits->names : NULL;
    t.n_names = limits != NULL ? limits->n_names : 0;
    t.shared = limits != NULL && limits->share_strings ? lh_kchar_table_new(64, NULL) : NULL;
    int rc = json_grammar_read(text, n, limits, &builder, &t, err);
    str_buf_done(&t.name);
    str_buf_done(&t.word);
    if (t.shared != NULL) {
        lh_table_free(t.shared);
    }
    if (rc == ERR_OK) {
        *ret = t.root;
    } else {
        json_object_put(t.root);
    }
    return rc;
}

static void put_tree(void *arg)
{
    json_object_put(arg);
}

int json_parse_arena(struct arena *a, const char *text, size_t n, const struct json_limits *limits,
                     struct json_object **ret, struct err *err)
{
    struct json_object *tree = NULL;
    int rc = json_parse(text, n, limits, &tree, err);
    if (rc == ERR_OK) {
        arena_defer(a, put_tree, tree);
        *ret = tree;
    }
    return rc;
}
