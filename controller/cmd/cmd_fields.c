/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_fields.c: checks an object by the tables of cmd_field_tables.c; see the header.
 *
 * null counts as absent everywhere, as with the API server.  Enumerations of lists (ipFamilies) are
 * checked item by item. */
#include "controller/cmd/cmd_fields.h"

#include <inttypes.h>

#include "common/base/timefmt.h"

struct check {
    struct cmd_faults *faults;
    const struct cmd_origin *origin;
};

static void check_object(const struct check *c, const struct cmd_type *type, struct json_object *o,
                         const struct cmd_path *at);

/* Returns the value, short enough for a message. */
static const char *shown(const struct check *c, struct json_object *v)
{
    switch (json_object_get_type(v)) {
    case json_type_object:
        return "a map";
    case json_type_array:
        return "a list";
    default:
        return arena_printf(c->faults->a, "%.60s", json_text(c->faults->a, v, JSON_COMPACT));
    }
}

static void want(const struct check *c, const struct cmd_path *at, const char *wanted,
                 struct json_object *got)
{
    cmd_faults_add(c->faults, c->origin, at, true, "%s%swant %s, got %s",
                   cmd_path_text(c->faults->a, at), at == NULL ? "" : ": ", wanted, shown(c, got));
}

static bool is(struct json_object *v, enum json_type type)
{
    return json_object_is_type(v, type);
}

static void check_word(const struct check *c, const struct cmd_path *at, const struct cmd_field *f,
                       struct json_object *v)
{
    const char *const *one_of = f->one_of;
    bool listed = f->kind == CMD_TEXTS;
    size_t n = 0;
    const char *word = json_object_get_string(v);
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    for (; one_of != NULL && one_of[n] != NULL; n++) {
        if (str_eq(one_of[n], word)) {
            return;
        }
        str_appendf(&b, "%s\"%s\"", n > 0 ? ", " : "", one_of[n]);
    }
    if (n == 0 || (*word == '\0' && !listed && !f->empty_counts)) {
        return;
    }
    const char *near = str_nearest(word, one_of, n);
    cmd_faults_add(c->faults, c->origin, at, true,
                   "%s: Unsupported value: \"%.60s\": supported values: %s%s%s%s",
                   cmd_path_text(c->faults->a, at), word, str_buf_text(&b),
                   near == NULL ? "" : "; did you mean \"", str_nonnull(near),
                   near == NULL ? "" : "\"?");
}

static void check_time(const struct check *c, const struct cmd_path *at, struct json_object *v)
{
    int64_t us;
    if (!time_parse_rfc3339(json_object_get_string(v), &us)) {
        want(c, at, "a moment like \"2026-01-02T15:04:05Z\"", v);
    }
}

static void check_text(const struct check *c, const struct cmd_path *at, const struct cmd_field *f,
                       struct json_object *v)
{
    if (!is(v, json_type_string)) {
        want(c, at, "a text", v);
    } else if (f->kind == CMD_TIME) {
        check_time(c, at, v);
    } else {
        check_word(c, at, f, v);
    }
}

static void check_number(const struct check *c, const struct cmd_path *at,
                         const struct cmd_field *f, struct json_object *v)
{
    int64_t n = json_object_get_int64(v);
    bool fits = f->kind == CMD_I64 || (n >= INT32_MIN && n <= INT32_MAX);
    bool named = f->kind == CMD_INT_OR_TEXT && is(v, json_type_string);
    if (!named && (!is(v, json_type_int) || !fits)) {
        want(c, at, f->kind == CMD_INT_OR_TEXT ? "a number or a name" : "a whole number", v);
    }
}

static void check_map(const struct check *c, const struct cmd_path *at, const struct cmd_field *f,
                      struct json_object *v)
{
    bool numbers = f->kind == CMD_QUANTITY_MAP;
    if (!is(v, json_type_object)) {
        want(c, at, "a map", v);
        return;
    }
    json_object_object_foreach(v, name, value)
    {
        const struct cmd_path below = {at, name, 0};
        bool number = is(value, json_type_int) || is(value, json_type_double);
        if (value != NULL && !is(value, json_type_string) && !(numbers && number)) {
            want(c, &below, numbers ? "a quantity" : "a text (in quotes)", value);
        }
    }
}

static void check_list(const struct check *c, const struct cmd_path *at, const struct cmd_field *f,
                       struct json_object *v)
{
    if (!is(v, json_type_array)) {
        want(c, at, "a list", v);
        return;
    }
    for (size_t i = 0; i < json_len(v); i++) {
        const struct cmd_path below = {at, NULL, i};
        struct json_object *item = json_object_array_get_idx(v, i);
        if (f->kind == CMD_OBJECTS) {
            check_object(c, f->type, item, &below);
        } else if (item == NULL) {
            want(c, &below, "a text", item);
        } else {
            check_text(c, &below, f, item);
        }
    }
}

static void check_value(const struct check *c, const struct cmd_path *at, const struct cmd_field *f,
                        struct json_object *v)
{
    switch (f->kind) {
    case CMD_TEXT:
    case CMD_TIME:
        check_text(c, at, f, v);
        break;
    case CMD_BOOL:
        if (!is(v, json_type_boolean)) {
            want(c, at, "true or false", v);
        }
        break;
    case CMD_I32:
    case CMD_I64:
    case CMD_INT_OR_TEXT:
        check_number(c, at, f, v);
        break;
    case CMD_TEXT_MAP:
    case CMD_QUANTITY_MAP:
        check_map(c, at, f, v);
        break;
    case CMD_TEXTS:
    case CMD_OBJECTS:
        check_list(c, at, f, v);
        break;
    case CMD_OBJECT:
        check_object(c, f->type, v, at);
        break;
    case CMD_ANY:
        break;
    }
}

static void unknown(const struct check *c, const struct cmd_type *type, const struct cmd_path *at)
{
    const char **names = ARENA_ARRAY(c->faults->a, const char *, type->n);
    for (size_t i = 0; i < type->n; i++) {
        names[i] = type->fields[i].name;
    }
    const char *near = str_nearest(at->name, names, type->n);
    cmd_faults_add(c->faults, c->origin, at, false, "unknown field \"%s\"%s%s%s",
                   cmd_path_text(c->faults->a, at), near == NULL ? "" : "; did you mean \"",
                   str_nonnull(near), near == NULL ? "" : "\"?");
}

static void check_object(const struct check *c, const struct cmd_type *type, struct json_object *o,
                         const struct cmd_path *at)
{
    if (!is(o, json_type_object)) {
        want(c, at, "a map", o);
        return;
    }
    json_object_object_foreach(o, name, value)
    {
        const struct cmd_path below = {at, name, 0};
        const struct cmd_field *f = NULL;
        for (size_t i = 0; i < type->n && f == NULL; i++) {
            f = str_eq(type->fields[i].name, name) ? &type->fields[i] : NULL;
        }
        if (f == NULL) {
            unknown(c, type, &below);
        } else if (value != NULL) {
            check_value(c, &below, f, value);
        }
    }
}

void cmd_fields_check(struct cmd_faults *faults, const struct cmd_origin *origin,
                      const struct cmd_type *type, struct json_object *o)
{
    const struct check c = {faults, origin};
    check_object(&c, type, o, NULL);
}
