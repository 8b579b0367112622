/* SPDX-License-Identifier: Apache-2.0 */
/* selectors.c: parses and applies selectors; see selectors.h.
 *
 * Most selectors ask for labels or the name only, so the whole object is parsed only when a field
 * selector needs it. */
#include "sim/kube/selectors.h"

#include "common/base/str.h"
#include "common/data/json.h"
#include "sim/kube/rules/rules.h"

#include <stdio.h>
#include <string.h>

enum op { OP_EQ = 0, OP_NE, OP_EXISTS, OP_ABSENT, OP_IN, OP_NOT_IN, OP_GT, OP_LT };

struct requirement {
    const char *key;
    enum op op;
    char **values;
    size_t n_values;
    struct requirement *next;
};

struct kube_selector {
    struct requirement *labels;
    struct requirement *fields;
    bool needs_tree;
};

static char *piece(struct arena *a, const char *s, size_t n)
{
    return str_trim(a, arena_strndup(a, s, n));
}

/* Splits at commas that are not inside parentheses. */
static const char *next_comma(const char *s)
{
    int depth = 0;
    for (; *s; s++) {
        depth += *s == '(' ? 1 : *s == ')' ? -1 : 0;
        if (*s == ',' && depth == 0) {
            break;
        }
    }
    return s;
}

static struct requirement *one_value(struct arena *a, enum op op, const char *key, char *value)
{
    struct requirement *q = ARENA_NEW(a, struct requirement);
    q->op = op;
    q->key = key;
    q->values = ARENA_ARRAY(a, char *, 1);
    q->values[0] = value;
    q->n_values = 1;
    return q;
}

/* "key in (a,b)" and "key notin (a,b)"; NULL when it is neither. */
static struct requirement *parse_set(struct arena *a, const char *term)
{
    const char *open = strchr(term, '(');
    size_t len = strlen(term);
    if (!open || len == 0 || term[len - 1] != ')') {
        return NULL;
    }
    char *head = piece(a, term, (size_t)(open - term));
    char *blank = strrchr(head, ' ');
    if (!blank) {
        return NULL;
    }
    bool in = str_eq(blank + 1, "in");
    if (!in && !str_eq(blank + 1, "notin")) {
        return NULL;
    }
    struct requirement *q = ARENA_NEW(a, struct requirement);
    q->op = in ? OP_IN : OP_NOT_IN;
    q->key = piece(a, head, (size_t)(blank - head));
    q->values = str_split(a, arena_strndup(a, open + 1, strlen(open + 1) - 1), ',', &q->n_values);
    for (size_t i = 0; i < q->n_values; i++) {
        q->values[i] = str_trim(a, q->values[i]);
    }
    return q;
}

static struct requirement *parse_term(struct arena *a, const char *term, bool fields)
{
    const char *eq = strchr(term, '=');
    if (eq) {
        bool ne = eq > term && eq[-1] == '!';
        const char *value = eq[1] == '=' ? eq + 2 : eq + 1;
        if (eq == term) {
            return NULL;
        }
        return one_value(a, ne ? OP_NE : OP_EQ, piece(a, term, (size_t)(eq - term) - (ne ? 1 : 0)),
                         str_trim(a, value));
    }
    if (fields || *term == '\0') {
        return NULL;
    }
    const char *than = strpbrk(term, "<>");
    int64_t bound = 0;
    if (than) {
        char *number = str_trim(a, than + 1);
        return than > term && str_to_i64(number, &bound)
                   ? one_value(a, *than == '>' ? OP_GT : OP_LT,
                               piece(a, term, (size_t)(than - term)), number)
                   : NULL;
    }
    struct requirement *q = parse_set(a, term);
    if (q || strpbrk(term, "() ")) {
        return q;
    }
    q = ARENA_NEW(a, struct requirement);
    q->op = *term == '!' ? OP_ABSENT : OP_EXISTS;
    q->key = str_trim(a, *term == '!' ? term + 1 : term);
    return q;
}

/* False when the text cannot be read. */
static bool parse_all(struct arena *a, const char *text, bool fields, struct requirement **ret)
{
    struct requirement **tail = ret;
    while (*text) {
        const char *end = next_comma(text);
        char *term = piece(a, text, (size_t)(end - text));
        struct requirement *q = parse_term(a, term, fields);
        if (!q) {
            return false;
        }
        *tail = q;
        tail = &q->next;
        text = *end ? end + 1 : end;
        if (*end && !*text && !fields) {
            return false; /* a comma promises another one */
        }
    }
    return true;
}

static bool field_is_known(struct arena *a, const struct kube_kind *kind, const char *field)
{
    if (str_eq(field, "metadata.name") ||
        (kind->namespaced && str_eq(field, "metadata.namespace"))) {
        return true;
    }
    size_t n = 0;
    char **known = str_split(a, str_nonnull(kind->field_labels), ',', &n);
    for (size_t i = 0; i < n; i++) {
        if (str_eq(known[i], field)) {
            return true;
        }
    }
    return false;
}

/* Kinds with labels of their own say it in their words, the others in those that all share. */
static struct json_object *field_refused(struct arena *a, const struct kube_kind *kind,
                                         const char *field)
{
    if (kind->field_labels) {
        return kube_status_bad_request("field label not supported: %s", field);
    }
    return kube_status_bad_request("%s is not a known field selector: only \"metadata.name\", "
                                   "\"metadata.namespace\"",
                                   kube_quoted(a, field));
}

/* Keys and values must be such as an object could bear. */
static struct json_object *check_labels(struct arena *a, const struct requirement *list)
{
    struct kube_causes c = {.arena = a};
    for (const struct requirement *q = list; q && !kube_has_causes(&c); q = q->next) {
        kube_check_qualified_name(&c, "<nil>", q->key);
        for (size_t i = 0; i < q->n_values; i++) {
            kube_check_label_value(&c, arena_printf(a, "values[%zu][%s]", i, q->key), q->values[i]);
        }
    }
    if (!kube_has_causes(&c)) {
        return NULL;
    }
    struct json_object *first = json_object_array_get_idx(c.list, 0);
    struct json_object *refusal =
        kube_status_bad_request("unable to parse requirement: %s: %s", json_str(first, "field"),
                                json_str(first, "message"));
    kube_causes_done(&c);
    return refusal;
}

struct json_object *kube_selector_parse(struct arena *a, const struct kube_kind *kind,
                                        const char *labels, const char *fields,
                                        const struct kube_selector **ret)
{
    *ret = NULL;
    if (str_is_empty(labels) && str_is_empty(fields)) {
        return NULL;
    }
    struct kube_selector *s = ARENA_NEW(a, struct kube_selector);
    if (labels && !parse_all(a, labels, false, &s->labels)) {
        return kube_status_bad_request(
            "unable to parse requirement: found '%s', expected: identifier", labels);
    }
    if (fields && !parse_all(a, fields, true, &s->fields)) {
        return kube_status_bad_request("invalid selector: '%s'; can't understand '%s'", fields,
                                       fields);
    }
    struct json_object *refusal = check_labels(a, s->labels);
    if (refusal) {
        return refusal;
    }
    for (struct requirement *q = s->fields; q; q = q->next) {
        if (!field_is_known(a, kind, q->key)) {
            return field_refused(a, kind, q->key);
        }
        s->needs_tree = s->needs_tree || !str_has_prefix(q->key, "metadata.");
    }
    *ret = s;
    return NULL;
}

/* Both are whole numbers, and the value lies on the right side. */
static bool number_matches(const struct requirement *q, const char *value)
{
    int64_t have = 0;
    int64_t bound = 0;
    return value && str_to_i64(value, &have) && str_to_i64(q->values[0], &bound) &&
           (q->op == OP_GT ? have > bound : have < bound);
}

static bool value_matches(const struct requirement *q, const char *value)
{
    bool found = false;
    for (size_t i = 0; i < q->n_values && value && !found; i++) {
        found = str_eq(q->values[i], value);
    }
    switch (q->op) {
    case OP_EQ:
    case OP_IN:
        return found;
    case OP_NE:
    case OP_NOT_IN:
        return !found;
    case OP_EXISTS:
        return value != NULL;
    case OP_GT:
    case OP_LT:
        return number_matches(q, value);
    default:
        return value == NULL;
    }
}

/* A field's text; absent ones are "".  Events are stored under the names of the older of
 * their two APIs. */
static const char *field_value(struct json_object *o, const char *path)
{
    char old[64];
    if (str_has_prefix(path, "regarding.")) {
        (void)snprintf(old, sizeof(old), "involvedObject.%s", path + strlen("regarding."));
        path = old;
    } else if (str_eq(path, "reportingController")) {
        path = "reportingComponent";
    }
    struct json_object *v = json_path(o, path);
    return v ? json_object_get_string(v) : "";
}

bool kube_selector_takes(const struct kube_selector *s, const struct kube_obj *o)
{
    if (!s) {
        return true;
    }
    struct json_object *tree = NULL;
    if (s->needs_tree) {
        tree = kube_obj_tree(o);
    } else {
        tree = json_object_new_object();
        json_add(tree, "metadata", kube_obj_meta(o));
    }
    struct json_object *labels = json_path(tree, "metadata.labels");
    bool takes = true;
    for (const struct requirement *q = s->labels; q && takes; q = q->next) {
        takes = value_matches(q, json_str(labels, q->key));
    }
    for (const struct requirement *q = s->fields; q && takes; q = q->next) {
        takes = value_matches(q, field_value(tree, q->key));
    }
    json_object_put(tree);
    return takes;
}
