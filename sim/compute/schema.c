/* SPDX-License-Identifier: Apache-2.0 */
/* schema.c: checks request bodies and query values against the tables of schema.h.
 *
 * Stops at the first problem, in the order in which the body names its members.  Pure. */
#include "sim/compute/schema.h"

#include "common/base/str.h"

#include <regex.h>
#include <string.h>

static bool report(struct schema_problem *ret, int what, const char *path, const char *got,
                   const char *want)
{
    ret->what = what;
    ret->path = path;
    ret->got = got;
    ret->want = want;
    return false;
}

bool ce_schema_matches(const char *pattern, const char *text)
{
    regex_t re;
    if (str_eq(pattern, "^([a-z]([-a-z0-9]{0,61}[a-z0-9])?)$")) {
        return ce_name_is_valid(text); /* compiling it costs more than the call that is checked */
    }
    if (regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB) != 0) {
        return false;
    }
    bool ok = regexec(&re, text, 0, NULL, 0) == 0;
    regfree(&re);
    return ok;
}

bool ce_name_is_valid(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
    size_t n = strlen(text);
    return n > 0 && n <= 63 && strchr(letters, text[0]) && text[n - 1] != '-' &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}

const struct schema_field *ce_schema_field_of(int type, const char *name)
{
    const struct schema_field *f = type >= 0 ? compute_types[type].fields : NULL;
    for (; f && f->name; f++) {
        if (str_eq(f->name, name)) {
            return f;
        }
    }
    return NULL;
}

static bool check_object(struct arena *a, const struct schema_type *t, struct json_object *o,
                         const char *path, struct schema_problem *ret)
{
    json_object_object_foreach(o, key, value)
    {
        int type = t->item;
        if (t->kind == SCHEMA_OBJECT) {
            const struct schema_field *f = t->fields;
            while (f->name && !str_eq(f->name, key)) {
                f++;
            }
            if (!f->name) {
                ret->name = arena_strdup(a, key);
                return report(ret, SCHEMA_UNKNOWN_MEMBER, path, NULL, NULL);
            }
            type = f->type;
        }
        const char *inner = arena_printf(a, "%s.%s", path, key);
        if (!ce_schema_check(a, type, value, inner, ret)) {
            return false;
        }
    }
    return true;
}

static bool check_array(struct arena *a, const struct schema_type *t, struct json_object *o,
                        const char *path, struct schema_problem *ret)
{
    for (size_t i = 0; i < json_object_array_length(o); i++) {
        const char *inner = arena_printf(a, "%s[%zu]", path, i);
        struct json_object *item = json_object_array_get_idx(o, i);
        if (!item) {
            return report(ret, SCHEMA_WRONG_TYPE, inner, "null", "a value");
        }
        if (!ce_schema_check(a, t->item, item, inner, ret)) {
            return false;
        }
    }
    return true;
}

static bool check_string(struct arena *a, const struct schema_type *t, const char *text,
                         const char *path, struct schema_problem *ret)
{
    if (t->one_of) {
        struct str_buf all = STR_BUF_INIT;
        bool found = false;
        for (const char *const *v = t->one_of; *v && !found; v++) {
            found = strcmp(*v, text) == 0;
            str_appendf(&all, "%s'%s'", all.len ? ", " : "", *v);
        }
        const char *want = found ? NULL : arena_printf(a, "one of [%s]", str_buf_text(&all));
        str_buf_done(&all);
        if (!found) {
            return report(ret, SCHEMA_BAD_VALUE, path, arena_strdup(a, text), want);
        }
    }
    if (t->pattern && !ce_schema_matches(t->pattern, text)) {
        return report(ret, SCHEMA_BAD_VALUE, path, arena_strdup(a, text),
                      arena_printf(a, "a match of regex '%s'", t->pattern));
    }
    return true;
}

static bool check_integer(struct arena *a, const struct schema_type *t, struct json_object *o,
                          const char *path, struct schema_problem *ret)
{
    const char *got = arena_strdup(a, json_object_to_json_string(o));
    double d = json_object_get_double(o);
    bool is_whole = d > -9e18 && d < 9e18 && d == (double)(int64_t)d;
    if (json_object_is_type(o, json_type_double) && !is_whole) {
        return report(ret, SCHEMA_WRONG_TYPE, path, got, "a whole number");
    }
    int64_t v = json_object_get_int64(o);
    if (t->has_range && (v < t->min || v > t->max)) {
        return report(ret, SCHEMA_WRONG_TYPE, path, got,
                      arena_printf(a, "from %lld to %lld", (long long)t->min, (long long)t->max));
    }
    return true;
}

bool ce_schema_check(struct arena *a, int type, struct json_object *o, const char *path,
                     struct schema_problem *ret)
{
    if (type < 0 || !o) {
        return true;
    }
    const struct schema_type *t = &compute_types[type];
    enum json_type got = json_object_get_type(o);
    const char *got_text = json_type_to_name(got);
    bool is_number = got == json_type_int || got == json_type_double;
    switch (t->kind) {
    case SCHEMA_ANY:
        return true;
    case SCHEMA_OBJECT:
    case SCHEMA_MAP:
        return got == json_type_object
                   ? check_object(a, t, o, path, ret)
                   : report(ret, SCHEMA_WRONG_TYPE, path, got_text, "an object");
    case SCHEMA_ARRAY:
        return got == json_type_array ? check_array(a, t, o, path, ret)
                                      : report(ret, SCHEMA_WRONG_TYPE, path, got_text, "a list");
    case SCHEMA_STRING:
        return got == json_type_string ? check_string(a, t, json_object_get_string(o), path, ret)
                                       : report(ret, SCHEMA_WRONG_TYPE, path, got_text, "a string");
    case SCHEMA_INTEGER:
        return is_number ? check_integer(a, t, o, path, ret)
                         : report(ret, SCHEMA_WRONG_TYPE, path, got_text, "a whole number");
    case SCHEMA_NUMBER:
        return is_number || report(ret, SCHEMA_WRONG_TYPE, path, got_text, "a number");
    case SCHEMA_BOOLEAN:
        return got == json_type_boolean || report(ret, SCHEMA_WRONG_TYPE, path, got_text, "a bool");
    }
    return true;
}

bool ce_schema_check_text(struct arena *a, int type, const char *value, const char *name,
                          struct schema_problem *ret)
{
    const struct schema_type *t = &compute_types[type];
    int64_t number;
    if (t->kind == SCHEMA_BOOLEAN) {
        return str_eq_nocase(value, "true") || str_eq_nocase(value, "false") ||
               report(ret, SCHEMA_BAD_VALUE, name, value, "true or false");
    }
    if (t->kind == SCHEMA_INTEGER) {
        return (str_to_i64(value, &number) &&
                (!t->has_range || (number >= t->min && number <= t->max))) ||
               report(ret, SCHEMA_BAD_VALUE, name, value, "a whole number in range");
    }
    return t->kind != SCHEMA_STRING || check_string(a, t, value, name, ret);
}

void ce_schema_strip_read_only(int type, struct json_object *o)
{
    if (type < 0 || !o) {
        return;
    }
    const struct schema_type *t = &compute_types[type];
    if (t->kind == SCHEMA_ARRAY && json_object_is_type(o, json_type_array)) {
        for (size_t i = 0; i < json_object_array_length(o); i++) {
            ce_schema_strip_read_only(t->item, json_object_array_get_idx(o, i));
        }
        return;
    }
    if (t->kind != SCHEMA_OBJECT || !json_object_is_type(o, json_type_object)) {
        return;
    }
    for (const struct schema_field *f = t->fields; f->name; f++) {
        struct json_object *value;
        if (!json_object_object_get_ex(o, f->name, &value)) {
            continue;
        }
        if (f->read_only) {
            json_object_object_del(o, f->name);
        } else {
            ce_schema_strip_read_only(f->type, value);
        }
    }
}
