/* SPDX-License-Identifier: Apache-2.0 */
/* config_selector.c: label selectors of a configuration, as the Kubernetes API writes them
 * (metav1.LabelSelector).  Pure. */
#include "providers/local/model/config_internal.h"

static const char *const op_words[] = {"In", "NotIn", "Exists", "DoesNotExist", NULL};

/* One of matchExpressions while it is read. */
struct expression {
    const char *key;
    enum local_op op;
    const char *const *values;
    size_t n_values;
    bool has_op;
};

static void read_values(struct local_cfg *c, const struct local_cfg_at *at,
                        const struct local_cfg_field *f, struct json_object *v, void *out)
{
    struct expression *e = out;
    (void)f;
    e->values = local_cfg_texts(c, at, v, &e->n_values);
}

static void read_operator(struct local_cfg *c, const struct local_cfg_at *at,
                          const struct local_cfg_field *f, struct json_object *v, void *out)
{
    ((struct expression *)out)->has_op = true;
    local_cfg_word(c, at, f, v, out);
}

static const struct local_cfg_field expression_fields[] = {
    LOCAL_CFG_FIELD("key", local_cfg_text, struct expression, key),
    {"operator", read_operator, offsetof(struct expression, op), sizeof(enum local_op), 0, 0,
     op_words},
    {"values", read_values, 0, 0, 0, 0, NULL},
    {0},
};

/* A selector while it is read. */
struct selector {
    struct local_requirement *items;
    size_t n;
    size_t cap;
};

static void put(struct local_cfg *c, struct selector *s, struct local_requirement r)
{
    if (s->n == s->cap) {
        size_t cap = s->cap == 0 ? 4 : 2 * s->cap;
        struct local_requirement *items = ARENA_ARRAY(c->a, struct local_requirement, cap);
        for (size_t i = 0; i < s->n; i++) {
            items[i] = s->items[i];
        }
        s->items = items;
        s->cap = cap;
    }
    s->items[s->n++] = r;
}

static void read_labels(struct local_cfg *c, const struct local_cfg_at *at,
                        const struct local_cfg_field *f, struct json_object *v, void *out)
{
    (void)f;
    if (!json_object_is_type(v, json_type_object)) {
        local_cfg_error(c, at, "matchLabels: want a mapping, got %s", local_cfg_shown(c, v));
        return;
    }
    json_object_object_foreach(v, key, value)
    {
        const struct local_cfg_at here = {at, key, 0};
        if (value == NULL || !json_object_is_type(value, json_type_string)) {
            local_cfg_error(c, &here, "matchLabels: the value of %s is not a text (quotes?)", key);
            continue;
        }
        const char **values = ARENA_ARRAY(c->a, const char *, 1);
        values[0] = arena_strdup(c->a, json_object_get_string(value));
        put(c, out, (struct local_requirement){arena_strdup(c->a, key), LOCAL_SEL_IN, values, 1});
    }
}

static void read_expression(struct local_cfg *c, const struct local_cfg_at *at,
                            struct json_object *v, struct selector *s)
{
    struct expression e = {0};
    size_t before = c->n + c->n_more;
    local_cfg_object(c, at, v, expression_fields, &e);
    if (c->n + c->n_more > before) {
        return;
    }
    bool needs_values = e.op == LOCAL_SEL_IN || e.op == LOCAL_SEL_NOT_IN;
    if (e.key == NULL || !e.has_op) {
        local_cfg_error(c, at, "matchExpressions: an item needs key and operator");
    } else if (needs_values != (e.n_values > 0)) {
        local_cfg_error(c, at, "matchExpressions: operator %s %s values", op_words[e.op],
                        needs_values ? "needs" : "has no");
    } else {
        put(c, s, (struct local_requirement){e.key, e.op, e.values, e.n_values});
    }
}

static void read_expressions(struct local_cfg *c, const struct local_cfg_at *at,
                             const struct local_cfg_field *f, struct json_object *v, void *out)
{
    (void)f;
    if (!json_object_is_type(v, json_type_array)) {
        local_cfg_error(c, at, "matchExpressions: want a list, got %s", local_cfg_shown(c, v));
        return;
    }
    for (size_t i = 0; i < json_object_array_length(v); i++) {
        const struct local_cfg_at here = {at, NULL, i};
        read_expression(c, &here, json_object_array_get_idx(v, i), out);
    }
}

static const struct local_cfg_field selector_fields[] = {
    {"matchLabels", read_labels, 0, 0, 0, 0, NULL},
    {"matchExpressions", read_expressions, 0, 0, 0, 0, NULL},
    {0},
};

void local_cfg_selector(struct local_cfg *c, const struct local_cfg_at *at,
                        const struct local_cfg_field *f, struct json_object *v, void *out)
{
    struct local_selector *ret = (struct local_selector *)(void *)((char *)out + f->offset);
    struct selector s = {0};
    local_cfg_object(c, at, v, selector_fields, &s);
    *ret = (struct local_selector){.given = true, .items = s.items, .n = s.n};
}

static bool meets(const struct local_requirement *r, const char *value)
{
    bool listed = false;
    for (size_t i = 0; value != NULL && i < r->n_values; i++) {
        listed = listed || str_eq(r->values[i], value);
    }
    switch (r->op) {
    case LOCAL_SEL_IN:
        return listed;
    case LOCAL_SEL_NOT_IN:
        return !listed;
    case LOCAL_SEL_EXISTS:
        return value != NULL;
    case LOCAL_SEL_NOT_EXISTS:
        return value == NULL;
    }
    return false;
}

bool local_selector_matches(const struct local_selector *s, const struct tt_kv *labels, size_t n)
{
    for (size_t i = 0; s->given && i < s->n; i++) {
        const char *value = NULL;
        for (size_t k = 0; k < n; k++) {
            value = str_eq(labels[k].key, s->items[i].key) ? labels[k].value : value;
        }
        if (!meets(&s->items[i], value)) {
            return false;
        }
    }
    return true;
}
