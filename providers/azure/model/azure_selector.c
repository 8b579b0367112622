/* SPDX-License-Identifier: Apache-2.0 */
/* azure_selector.c: see azure_selector.h.
 *
 * Members are found without case, as Go's decoder finds them in the cloud-config.  A selector is
 * checked as a whole before any of it is compared: what Kubernetes refuses is refused
 * whatever the labels are. */
#include "providers/azure/model/azure_selector.h"

#include <string.h>

#include "common/base/str.h"

#define ITEMS_MAX       1000 /* requirements of a selector, values of a requirement */
#define NAME_MAX_BYTES  63
#define PREFIX_MAX_SIZE 253

/* ---- decoding -------------------------------------------------------------------------------- */

static struct json_object *member(struct json_object *o, const char *name)
{
    struct json_object *exact = json_member(o, name);
    if (exact != NULL || !json_object_is_type(o, json_type_object)) {
        return exact;
    }
    json_object_object_foreach(o, key, value)
    {
        if (str_eq_nocase(key, name)) {
            return value;
        }
    }
    return NULL;
}

static int want(struct json_object *o, enum json_type type, const char *what, struct err *err)
{
    if (o == NULL || json_object_is_type(o, type)) {
        return ERR_OK;
    }
    return err_set(err, ERR_INVALID, "%s: want %s, got %s", what, json_type_to_name(type),
                   json_type_to_name(json_object_get_type(o)));
}

static int decode_text(struct arena *a, struct json_object *o, const char *what, const char **ret,
                       struct err *err)
{
    int rc = want(o, json_type_string, what, err);
    if (rc == ERR_OK) {
        *ret = o == NULL ? "" : arena_strdup(a, json_object_get_string(o));
    }
    return rc;
}

static int decode_values(struct arena *a, struct json_object *o, struct azure_requirement *r,
                         struct err *err)
{
    int rc = want(o, json_type_array, "values", err);
    size_t n = json_len(o);
    if (rc == ERR_OK && n > ITEMS_MAX) {
        rc = err_set(err, ERR_INVALID, "values: more than %d", ITEMS_MAX);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    const char **values = ARENA_ARRAY(a, const char *, n);
    for (size_t i = 0; i < n && rc == ERR_OK; i++) {
        rc = decode_text(a, json_object_array_get_idx(o, i), "values", &values[i], err);
    }
    r->values = values;
    r->n_values = n;
    return rc;
}

static enum azure_operator operator_of(const char *text)
{
    static const struct {
        const char *text;
        enum azure_operator op;
    } rows[] = {
        {"In", AZURE_IN},
        {"NotIn", AZURE_NOT_IN},
        {"Exists", AZURE_HAS},
        {"DoesNotExist", AZURE_HAS_NOT},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (str_eq(text, rows[i].text)) {
            return rows[i].op;
        }
    }
    return AZURE_OPERATOR_BAD;
}

static int decode_expression(struct arena *a, struct json_object *o, struct azure_requirement *r,
                             struct err *err)
{
    int rc = want(o, json_type_object, "matchExpressions[]", err);
    if (rc == ERR_OK) {
        rc = decode_text(a, member(o, "key"), "key", &r->key, err);
    }
    if (rc == ERR_OK) {
        rc = decode_text(a, member(o, "operator"), "operator", &r->op_text, err);
    }
    if (rc == ERR_OK) {
        r->op = operator_of(r->op_text);
        rc = decode_values(a, member(o, "values"), r, err);
    }
    return rc;
}

static int decode_label(struct arena *a, const char *key, struct json_object *value,
                        struct azure_requirement *r, struct err *err)
{
    const char **values = ARENA_ARRAY(a, const char *, 1);
    *r = (struct azure_requirement){.key = arena_strdup(a, key),
                                    .op = AZURE_IN,
                                    .op_text = "In",
                                    .values = values,
                                    .n_values = 1};
    return decode_text(a, value, key, &values[0], err);
}

int azure_selector_decode(struct arena *a, struct json_object *o, struct azure_selector *ret,
                          struct err *err)
{
    struct json_object *labels = member(o, "matchLabels");
    struct json_object *expressions = member(o, "matchExpressions");
    int rc = want(o, json_type_object, "selector", err);
    if (rc == ERR_OK) {
        rc = want(labels, json_type_object, "matchLabels", err);
    }
    if (rc == ERR_OK) {
        rc = want(expressions, json_type_array, "matchExpressions", err);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    size_t n_labels = labels == NULL ? 0 : (size_t)json_object_object_length(labels);
    size_t n = n_labels + json_len(expressions);
    if (n > ITEMS_MAX) {
        return err_set(err, ERR_INVALID, "selector: more than %d requirements", ITEMS_MAX);
    }
    struct azure_requirement *items = ARENA_ARRAY(a, struct azure_requirement, n);
    size_t used = 0;
    if (labels != NULL) {
        json_object_object_foreach(labels, key, value)
        {
            rc = rc == ERR_OK ? decode_label(a, key, value, &items[used++], err) : rc;
        }
    }
    for (size_t i = 0; i < json_len(expressions) && rc == ERR_OK; i++) {
        rc = decode_expression(a, json_object_array_get_idx(expressions, i), &items[used++], err);
    }
    if (rc == ERR_OK) {
        *ret = (struct azure_selector){.items = items, .n = n, .given = o != NULL};
    }
    return rc;
}

/* ---- what Kubernetes accepts ----------------------------------------------------------------- */

static bool is_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Letters and digits at both ends, also '-', '_' and '.' between them. */
static bool is_name(const char *s, size_t n)
{
    if (n == 0 || n > NAME_MAX_BYTES || !is_alnum(s[0]) || !is_alnum(s[n - 1])) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (!is_alnum(s[i]) && s[i] != '-' && s[i] != '_' && s[i] != '.') {
            return false;
        }
    }
    return true;
}

static bool is_lower_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* A DNS-1123 subdomain: lower case, no empty label, no '-' at the ends of one. */
static bool is_subdomain(const char *s, size_t n)
{
    if (n == 0 || n > PREFIX_MAX_SIZE) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        bool first = i == 0 || s[i - 1] == '.';
        bool last = i + 1 == n || s[i + 1] == '.';
        bool inside = s[i] == '-' && !first && !last;
        bool dot = s[i] == '.' && !first && i + 1 != n;
        if (!is_lower_alnum(s[i]) && !inside && !dot) {
            return false;
        }
    }
    return true;
}

static bool is_key(const char *key)
{
    const char *slash = strchr(key, '/');
    if (slash == NULL) {
        return is_name(key, strlen(key));
    }
    return is_subdomain(key, (size_t)(slash - key)) && is_name(slash + 1, strlen(slash + 1));
}

static int check_values(const struct azure_requirement *r, struct err *err)
{
    for (size_t i = 0; i < r->n_values; i++) {
        if (r->values[i][0] != '\0' && !is_name(r->values[i], strlen(r->values[i]))) {
            return err_set(err, ERR_INVALID, "label selector: %s: \"%s\" is no value of a label",
                           r->key, r->values[i]);
        }
    }
    return ERR_OK;
}

static int check_requirement(const struct azure_requirement *r, struct err *err)
{
    if (r->op == AZURE_OPERATOR_BAD) {
        return err_set(err, ERR_INVALID,
                       "label selector: %s: operator \"%s\": want In, NotIn, Exists or "
                       "DoesNotExist",
                       r->key, r->op_text);
    }
    if (!is_key(r->key)) {
        return err_set(err, ERR_INVALID, "label selector: \"%s\" is no key of a label", r->key);
    }
    bool wants_values = r->op == AZURE_IN || r->op == AZURE_NOT_IN;
    if (wants_values && r->n_values == 0) {
        return err_set(err, ERR_INVALID,
                       "label selector: %s: for 'in', 'notin' operators, values set can't be empty",
                       r->key);
    }
    if (!wants_values && r->n_values > 0) {
        return err_set(err, ERR_INVALID, "label selector: %s: %s takes no values", r->key,
                       r->op_text);
    }
    return check_values(r, err);
}

/* ---- matching -------------------------------------------------------------------------------- */

static const char *label(const struct tt_kv *labels, size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(labels[i].key, key)) {
            return str_nonnull(labels[i].value);
        }
    }
    return NULL;
}

static bool has_value(const struct azure_requirement *r, const char *value)
{
    for (size_t i = 0; i < r->n_values; i++) {
        if (str_eq(r->values[i], value)) {
            return true;
        }
    }
    return false;
}

static bool holds(const struct azure_requirement *r, const char *value)
{
    switch (r->op) {
    case AZURE_IN:
        return value != NULL && has_value(r, value);
    case AZURE_NOT_IN:
        return value == NULL || !has_value(r, value);
    case AZURE_HAS:
        return value != NULL;
    case AZURE_HAS_NOT:
        return value == NULL;
    case AZURE_OPERATOR_BAD:
        break;
    }
    return false;
}

int azure_selector_matches(const struct azure_selector *s, const struct tt_kv *labels, size_t n,
                           bool *ret, struct err *err)
{
    bool all = s->given || s->n > 0;
    for (size_t i = 0; i < s->n; i++) {
        int rc = check_requirement(&s->items[i], err);
        if (rc != ERR_OK) {
            return rc;
        }
    }
    for (size_t i = 0; i < s->n && all; i++) {
        all = holds(&s->items[i], label(labels, n, s->items[i].key));
    }
    *ret = all;
    return ERR_OK;
}
