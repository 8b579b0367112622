/* SPDX-License-Identifier: Apache-2.0 */
/* azure_config_read.c: a tree of YAML or JSON into structures, by a table of keys
 * (azure_config_keys.h).
 *
 * Follows Go's decoder as upstream uses it: keys without case, and of several that differ in case
 * only the one that sorts last; null counts as absent; numbers and booleans where text is wanted
 * count as their text, but not in what upstream reads into an embedded structure (credentials,
 * subscriptions, the cloud, a balancer's primary VM set).  Pure; docs/spec/azure.md 1.1,
 * 18 row 5. */
#include "common/base/str.h"
#include "providers/azure/config/azure_config_keys.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More members than any configuration has. */
#define MEMBERS_MAX 2000
/* No reader reads on; and each is looked for in the whole text. */
#define LINES_MAX 50

/* ---- lines ----------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Does a key stand at text[at], written plain or quoted, with ':' behind it? */
static bool is_key_at(const char *text, size_t n, size_t at, const char *key)
{
    size_t len = strlen(key);
    char before = at > 0 ? text[at - 1] : '\n';
    bool quoted = before == '"' || before == '\'';
    bool begins = quoted || is_blank(before) || strchr("\n{,-", before) != NULL;
    if (!begins || n - at < len || strncasecmp(text + at, key, len) != 0) {
        return false;
    }
    at += len;
    at += quoted && at < n && text[at] == before;
    while (at < n && is_blank(text[at])) {
        at++;
    }
    return at < n && text[at] == ':';
}

int azure_config_line(const char *text, size_t n, const char *key, int nth, int below)
{
    int line = 1;
    for (size_t i = 0; i < n; i++) {
        bool here = line >= below && is_key_at(text, n, i, key);
        if (here && --nth == 0) {
            return line;
        }
        line += text[i] == '\n';
    }
    return 0;
}

static int line_of(const struct azure_where *p, const char *key)
{
    return azure_config_line(p->text, p->n, key, p->nth, p->below);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* As strconv.FormatFloat(v, 'g', -1, 64). */
static const char *real_text(struct arena *a, double v)
{
    char digits[40];
    int p = 0;
    do {
        (void)snprintf(digits, sizeof(digits), "%.*e", p, v);
    } while (strtod(digits, NULL) != v && ++p < 17);
    const char *e = strchr(digits, 'e');
    int64_t exponent = 0;
    if (e == NULL || !str_to_i64(e[1] == '+' ? e + 2 : e + 1, &exponent)) {
        return arena_strdup(a, digits);
    }
    if (exponent >= -4 && exponent < 6) {
        return arena_printf(a, "%.*f", p > exponent ? p - (int)exponent : 0, v);
    }
    return arena_strdup(a, digits);
}

const char *azure_scalar_text(struct arena *a, struct json_object *v)
{
    switch (json_object_get_type(v)) {
    case json_type_string:
        return arena_strdup(a, json_object_get_string(v));
    case json_type_boolean:
        return json_object_get_boolean(v) ? "true" : "false";
    case json_type_int:
        return arena_printf(a, "%lld", (long long)json_object_get_int64(v));
    case json_type_double:
        return real_text(a, json_object_get_double(v));
    default:
        return NULL;
    }
}

static const char *type_word(struct json_object *v)
{
    switch (json_object_get_type(v)) {
    case json_type_string:
        return "text";
    case json_type_boolean:
        return "true or false";
    case json_type_int:
    case json_type_double:
        return "a number";
    case json_type_array:
        return "a list";
    default:
        return "a mapping";
    }
}

static bool read_text(struct arena *a, struct json_object *v, const char **ret)
{
    const char *text = azure_scalar_text(a, v);
    bool has_nul = json_object_is_type(v, json_type_string) &&
                   strlen(json_object_get_string(v)) != (size_t)json_object_get_string_len(v);
    *ret = text != NULL && !has_nul ? text : *ret;
    return text != NULL && !has_nul;
}

static bool read_number(struct json_object *v, int32_t *ret)
{
    double d = json_object_get_double(v);
    bool is_number =
        json_object_is_type(v, json_type_int) || json_object_is_type(v, json_type_double);
    if (!is_number || d != floor(d) || d < INT32_MIN || d > INT32_MAX) {
        return false;
    }
    *ret = (int32_t)d;
    return true;
}

static bool read_real(struct json_object *v, double *ret)
{
    double d = json_object_get_double(v);
    bool is_number =
        json_object_is_type(v, json_type_int) || json_object_is_type(v, json_type_double);
    *ret = is_number ? d : *ret;
    return is_number && isfinite(d);
}

static bool read_tree(struct json_object *v, enum json_type type, struct json_object **ret)
{
    bool ok = json_object_is_type(v, type);
    *ret = ok ? v : NULL;
    return ok;
}

static bool is_map_of_scalars(struct arena *a, struct json_object *v)
{
    if (!json_object_is_type(v, json_type_object)) {
        return false;
    }
    json_object_object_foreach(v, key, value)
    {
        (void)key;
        if (value != NULL && azure_scalar_text(a, value) == NULL) {
            return false;
        }
    }
    return true;
}

static bool read_names(struct arena *a, struct json_object *v, struct name_list *ret)
{
    if (!json_object_is_type(v, json_type_array)) {
        return false;
    }
    size_t n = json_len(v);
    const char **items = ARENA_ARRAY(a, const char *, n + 1);
    for (size_t i = 0; i < n; i++) {
        struct json_object *item = json_object_array_get_idx(v, i);
        if (!json_object_is_type(item, json_type_string) || !read_text(a, item, &items[i])) {
            return false;
        }
    }
    *ret = (struct name_list){.items = items, .n = n, .has = true};
    return true;
}

static bool read_value(struct arena *a, enum azure_key_type type, struct json_object *v, void *at)
{
    switch (type) {
    case AZURE_KEY_WORD:
        return json_object_is_type(v, json_type_string) && read_text(a, v, at);
    case AZURE_KEY_TEXT:
        return read_text(a, v, at);
    case AZURE_KEY_SWITCH:
        *(bool *)at = json_object_get_boolean(v);
        return json_object_is_type(v, json_type_boolean);
    case AZURE_KEY_FLAG:
        *(struct azure_flag *)at = (struct azure_flag){true, json_object_get_boolean(v)};
        return json_object_is_type(v, json_type_boolean);
    case AZURE_KEY_NUMBER:
        return read_number(v, at);
    case AZURE_KEY_REAL:
        return read_real(v, at);
    case AZURE_KEY_MAP:
        return is_map_of_scalars(a, v) && read_tree(v, json_type_object, at);
    case AZURE_KEY_OBJECT:
        return read_tree(v, json_type_object, at);
    case AZURE_KEY_LIST:
        return read_tree(v, json_type_array, at);
    case AZURE_KEY_NAMES:
        return read_names(a, v, at);
    case AZURE_KEY_BLOCK:
        *(bool *)at = true; /* its members are read by its own table */
        return json_object_is_type(v, json_type_object);
    }
    return false;
}

static const char *wanted(enum azure_key_type type)
{
    static const char *const words[] = {
        [AZURE_KEY_TEXT] = "text",
        [AZURE_KEY_SWITCH] = "true or false",
        [AZURE_KEY_FLAG] = "true or false",
        [AZURE_KEY_NUMBER] = "a whole number of 32 bits",
        [AZURE_KEY_REAL] = "a number",
        [AZURE_KEY_MAP] = "a mapping of texts",
        [AZURE_KEY_OBJECT] = "a mapping",
        [AZURE_KEY_LIST] = "a list",
        [AZURE_KEY_BLOCK] = "a mapping",
        [AZURE_KEY_WORD] = "text",
        [AZURE_KEY_NAMES] = "a list of texts",
    };
    return words[type];
}

/* ---- tables ---------------------------------------------------------------------------------- */

static const struct azure_key *row_of(const struct azure_key *keys, const char *name)
{
    for (const struct azure_key *k = keys; k->name != NULL; k++) {
        if (str_eq_nocase(k->name, name)) {
            return k;
        }
    }
    return NULL;
}

static void add_unknown(struct arena *a, const struct azure_where *place, const char *key,
                        struct azure_unknown_list *list)
{
    if (list->n == list->cap) {
        list->cap = list->cap * 2 + 8;
        struct azure_unknown_key *more = ARENA_ARRAY(a, struct azure_unknown_key, list->cap);
        if (list->n > 0) {
            memcpy(more, list->items, list->n * sizeof(*more));
        }
        list->items = more;
    }
    list->items[list->n++] = (struct azure_unknown_key){
        .path = arena_printf(a, "%s%s", place->path, key),
        .file = place->file,
        .line = list->n <= LINES_MAX ? line_of(place, key) : 0,
    };
}

static int wrong_type(const struct azure_where *place, const char *key, const struct azure_key *row,
                      struct json_object *v, struct err *err)
{
    int line = line_of(place, key);
    (void)err_set(err, ERR_INVALID, "%s%s: want %s, got %s", place->path, row->name,
                  wanted(row->type), type_word(v));
    if (line > 0) {
        (void)err_prefix(err, "line %d", line);
    }
    return ERR_INVALID;
}

void azure_keys_clear(const struct azure_key *keys, void *out)
{
    for (const struct azure_key *k = keys; k->name != NULL; k++) {
        if (k->offset == AZURE_KEY_UNUSED) {
            continue;
        }
        void *at = (char *)out + k->offset;
        if (k->type == AZURE_KEY_TEXT || k->type == AZURE_KEY_WORD) {
            *(const char **)at = "";
        }
        if (k->type == AZURE_KEY_BLOCK) {
            azure_keys_clear(k->below, at);
        }
    }
}

/* Of several keys that differ in case only, Go's decoder sees them sorted and keeps the last. */
static bool is_overruled(struct json_object *o, const char *name)
{
    json_object_object_foreach(o, key, value)
    {
        (void)value;
        if (str_eq_nocase(key, name) && strcmp(key, name) > 0) {
            return true;
        }
    }
    return false;
}

/* A place for what is checked and dropped. */
union dropped {
    const char *text;
    int32_t number;
    double real;
    struct azure_flag flag;
    struct json_object *tree;
    struct name_list names;
};

static int read_block(struct arena *a, struct json_object *o, const struct azure_key *row,
                      const struct azure_where *place, void *at, struct azure_unknown_list *unknown,
                      struct err *err)
{
    int line = line_of(place, row->name);
    const struct azure_where below = {
        .text = place->text,
        .n = place->n,
        .file = place->file,
        .path = arena_printf(a, "%s%s.", place->path, row->name),
        .below = line,
        .nth = 1,
    };
    return azure_keys_read(a, o, row->below, &below, at, unknown, err);
}

/* null takes back what an earlier text gave, where absent is not the same as a value; texts and
 * numbers stay, as in Go. */
static void read_null(const struct azure_key *row, void *at)
{
    if (row->type == AZURE_KEY_FLAG) {
        *(struct azure_flag *)at = (struct azure_flag){0};
    } else if (row->type == AZURE_KEY_LIST || row->type == AZURE_KEY_MAP) {
        *(struct json_object **)at = NULL;
    } else if (row->type == AZURE_KEY_NAMES) {
        *(struct name_list *)at = (struct name_list){0};
    } else if (row->type == AZURE_KEY_BLOCK) {
        *(bool *)at = false;
    }
}

static int read_member(struct arena *a, const struct azure_key *row, struct json_object *value,
                       const struct azure_where *place, void *at, struct err *err)
{
    if (value == NULL) {
        read_null(row, at);
        return ERR_OK;
    }
    return read_value(a, row->type, value, at) ? ERR_OK
                                               : wrong_type(place, row->name, row, value, err);
}

int azure_keys_read(struct arena *a, struct json_object *o, const struct azure_key *keys,
                    const struct azure_where *place, void *out, struct azure_unknown_list *unknown,
                    struct err *err)
{
    if (json_object_object_length(o) > MEMBERS_MAX) {
        return err_set(err, ERR_INVALID, "more than %d keys", MEMBERS_MAX);
    }
    json_object_object_foreach(o, key, value)
    {
        union dropped dropped = {0};
        const struct azure_key *row = row_of(keys, key);
        if (row == NULL) {
            add_unknown(a, place, key, unknown);
            continue;
        }
        bool counts = row->offset != AZURE_KEY_UNUSED && !is_overruled(o, key);
        void *at = counts ? (void *)((char *)out + row->offset) : (void *)&dropped;
        int rc = read_member(a, row, value, place, at, err);
        if (rc == ERR_OK && counts && row->type == AZURE_KEY_BLOCK && value != NULL) {
            rc = read_block(a, value, row, place, at, unknown, err);
        }
        if (rc != ERR_OK) {
            return rc;
        }
    }
    return ERR_OK;
}
