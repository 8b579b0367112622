/* SPDX-License-Identifier: Apache-2.0 */
/* json_decode.c: filling C structures from JSON trees by tables of fields.
 *
 * One row of a table per member, so that all decoders of the project refuse the same things in the same
 * words.  Where we are is a chain of frames on the stack; it becomes text only when something is wrong.
 * Nothing is kept of the tree except JSON_T_RAW members; strings and arrays are copied to the arena.
 * Pure. */
#include "common/base/json.h"

#include <stdio.h>
#include <string.h>

#define STR_BYTES_DEFAULT ((int64_t)64 * 1024)
#define ITEMS_DEFAULT     ((size_t)10000)
#define SHOWN_MAX         ((size_t)60)

/* The way from the root to the value that is looked at. */
struct frame {
    const struct frame *up; /* NULL = the caller's `where` */
    const char *name;       /* member name, or NULL for an array element */
    size_t index;
};

struct decoder {
    struct arena *arena;
    enum json_unknown unknown;
    const char *where;
    struct err *err;
};

static int decode_object(const struct decoder *d, struct json_object *o,
                         const struct json_field *fields, void *out, const struct frame *up);

static void append_path(struct str_buf *b, const struct decoder *d, const struct frame *f)
{
    if (f == NULL) {
        str_append(b, d->where);
        return;
    }
    append_path(b, d, f->up);
    if (f->name == NULL) {
        str_appendf(b, "[%zu]", f->index);
    } else {
        str_append(b, b->len > 0 ? "." : "");
        str_append(b, f->name);
    }
}

/* "path: want …, got …"; `got` may be NULL. */
static int refuse(const struct decoder *d, const struct frame *f, const char *what,
                  struct json_object *got, bool show)
{
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    append_path(&b, d, f);
    str_append(&b, b.len > 0 ? ": " : "");
    str_append(&b, what);
    enum json_type type = json_object_get_type(got);
    if (show && (type == json_type_object || type == json_type_array)) {
        str_append(&b, type == json_type_object ? ", got an object" : ", got an array");
    } else if (show) {
        struct str_buf text _cleanup_(str_buf_done) = STR_BUF_INIT;
        json_print(&text, got, JSON_COMPACT);
        bool cut = text.len > SHOWN_MAX;
        str_appendf(&b, ", got %.*s%s", (int)(cut ? SHOWN_MAX : text.len), str_buf_text(&text),
                    cut ? "\xE2\x80\xA6" : "");
    }
    return err_set(d->err, ERR_INVALID, "%s", str_buf_text(&b));
}

static int refuse_got(const struct decoder *d, const struct frame *f, const char *what,
                      struct json_object *got)
{
    return refuse(d, f, what, got, true);
}

static void *member_at(void *out, size_t offset)
{
    return (char *)out + offset;
}

static int decode_text(const struct decoder *d, struct json_object *o, int64_t max_bytes,
                       const struct frame *f, const char **ret)
{
    if (!json_object_is_type(o, json_type_string)) {
        return refuse_got(d, f, "want a string", o);
    }
    const char *text = json_object_get_string(o);
    size_t n = (size_t)json_object_get_string_len(o);
    if (strlen(text) != n) {
        return refuse(d, f, "want a string without NUL", NULL, false);
    }
    if (n > (size_t)max_bytes) {
        char what[96];
        (void)snprintf(what, sizeof what, "want at most %lld bytes, got %zu", (long long)max_bytes,
                       n);
        return refuse(d, f, what, NULL, false);
    }
    *ret = arena_strdup(d->arena, text);
    return ERR_OK;
}

static int check_one_of(const struct decoder *d, struct json_object *o,
                        const struct json_field *field, const char *text, const struct frame *f)
{
    struct str_buf what _cleanup_(str_buf_done) = STR_BUF_INIT;
    str_append(&what, "want ");
    for (size_t i = 0; field->one_of[i] != NULL; i++) {
        if (str_eq(field->one_of[i], text)) {
            return ERR_OK;
        }
        str_append(&what, i == 0 ? "" : field->one_of[i + 1] != NULL ? ", " : " or ");
        str_append_json_quoted(&what, field->one_of[i]);
    }
    return refuse_got(d, f, str_buf_text(&what), o);
}

static int decode_str(const struct decoder *d, struct json_object *o,
                      const struct json_field *field, void *out, const struct frame *f)
{
    const char *text = NULL;
    int rc = decode_text(d, o, field->max > 0 ? field->max : STR_BYTES_DEFAULT, f, &text);
    if (rc == ERR_OK && field->one_of != NULL) {
        rc = check_one_of(d, o, field, text, f);
    }
    if (rc == ERR_OK) {
        *(const char **)out = text;
    }
    return rc;
}

/* A whole number as int64_t; false for fractions, other types and what does not fit. */
static bool whole_number(struct json_object *o, bool text_too, int64_t *ret)
{
    if (json_object_is_type(o, json_type_int)) {
        *ret = json_object_get_int64(o);
        return *ret != INT64_MAX || json_object_get_uint64(o) == (uint64_t)INT64_MAX;
    }
    return text_too && json_object_is_type(o, json_type_string) &&
           str_to_i64(json_object_get_string(o), ret);
}

static int decode_int(const struct decoder *d, struct json_object *o,
                      const struct json_field *field, void *out, const struct frame *f)
{
    bool narrow = field->type == JSON_T_I32;
    bool full = field->min == 0 && field->max == 0;
    int64_t min = full ? narrow ? INT32_MIN : INT64_MIN : field->min;
    int64_t max = full ? narrow ? INT32_MAX : INT64_MAX : field->max;
    int64_t value;
    if (!whole_number(o, !narrow, &value) || value < min || value > max) {
        char what[96];
        (void)snprintf(what, sizeof what, "want a whole number from %lld to %lld", (long long)min,
                       (long long)max);
        return refuse_got(d, f, full && !narrow ? "want a whole number" : what, o);
    }
    if (narrow) {
        *(int32_t *)out = (int32_t)value;
    } else {
        *(int64_t *)out = value;
    }
    return ERR_OK;
}

static int decode_double(const struct decoder *d, struct json_object *o,
                         const struct json_field *field, void *out, const struct frame *f)
{
    bool full = field->min == 0 && field->max == 0;
    if (!json_object_is_type(o, json_type_int) && !json_object_is_type(o, json_type_double)) {
        return refuse_got(d, f, "want a number", o);
    }
    double value = json_object_get_double(o);
    if (!full && !(value >= (double)field->min && value <= (double)field->max)) {
        char what[96];
        (void)snprintf(what, sizeof what, "want a number from %lld to %lld", (long long)field->min,
                       (long long)field->max);
        return refuse_got(d, f, what, o);
    }
    *(double *)out = value;
    return ERR_OK;
}

static int decode_bool(const struct decoder *d, struct json_object *o,
                       const struct json_field *field, void *out, const struct frame *f)
{
    if (!json_object_is_type(o, json_type_boolean)) {
        return refuse_got(d, f, "want true or false", o);
    }
    *(bool *)out = json_object_get_boolean(o);
    return ERR_OK;
}

/* The number of items of a container, if it may have that many. */
static int count_items(const struct decoder *d, struct json_object *o,
                       const struct json_field *field, const struct frame *f, size_t *ret)
{
    size_t n = json_object_is_type(o, json_type_object) ? (size_t)json_object_object_length(o)
                                                        : json_len(o);
    size_t max = field->max_items > 0 ? field->max_items : ITEMS_DEFAULT;
    if (n > max) {
        char what[96];
        (void)snprintf(what, sizeof what, "want at most %zu items, got %zu", max, n);
        return refuse(d, f, what, NULL, false);
    }
    *ret = n;
    return ERR_OK;
}

static int decode_strs(const struct decoder *d, struct json_object *o,
                       const struct json_field *field, void *out, const struct frame *f)
{
    size_t n;
    if (!json_object_is_type(o, json_type_array)) {
        return refuse_got(d, f, "want an array of strings", o);
    }
    int rc = count_items(d, o, field, f, &n);
    const char **items = rc == ERR_OK ? ARENA_ARRAY(d->arena, const char *, n) : NULL;
    for (size_t i = 0; rc == ERR_OK && i < n; i++) {
        const struct frame item = {.up = f, .index = i};
        rc = decode_text(d, json_object_array_get_idx(o, i), STR_BYTES_DEFAULT, &item, &items[i]);
    }
    if (rc == ERR_OK) {
        *(const char ***)member_at(out, field->offset) = items;
        *(size_t *)member_at(out, field->count_offset) = n;
    }
    return rc;
}

static int decode_objects(const struct decoder *d, struct json_object *o,
                          const struct json_field *field, void *out, const struct frame *f)
{
    size_t n;
    if (!json_object_is_type(o, json_type_array)) {
        return refuse_got(d, f, "want an array of objects", o);
    }
    int rc = count_items(d, o, field, f, &n);
    char *items = rc == ERR_OK ? arena_calloc(d->arena, n, field->sub_size) : NULL;
    for (size_t i = 0; rc == ERR_OK && i < n; i++) {
        const struct frame item = {.up = f, .index = i};
        rc = decode_object(d, json_object_array_get_idx(o, i), field->sub,
                           items + i * field->sub_size, &item);
    }
    if (rc == ERR_OK) {
        *(void **)member_at(out, field->offset) = items;
        *(size_t *)member_at(out, field->count_offset) = n;
    }
    return rc;
}

static int cmp_kv(const void *a, const void *b)
{
    return strcmp(((const struct json_kv *)a)->key, ((const struct json_kv *)b)->key);
}

static int decode_map(const struct decoder *d, struct json_object *o,
                      const struct json_field *field, void *out, const struct frame *f)
{
    size_t n;
    if (!json_object_is_type(o, json_type_object)) {
        return refuse_got(d, f, "want an object with strings", o);
    }
    int rc = count_items(d, o, field, f, &n);
    if (rc != ERR_OK) {
        return rc;
    }
    struct json_kv *items = ARENA_ARRAY(d->arena, struct json_kv, n);
    size_t i = 0;
    json_object_object_foreach(o, key, value)
    {
        const struct frame item = {.up = f, .name = key};
        rc = decode_text(d, value, STR_BYTES_DEFAULT, &item, &items[i].value);
        if (rc != ERR_OK) {
            return rc;
        }
        items[i++].key = arena_strdup(d->arena, key);
    }
    qsort(items, n, sizeof *items, cmp_kv);
    *(struct json_kv **)member_at(out, field->offset) = items;
    *(size_t *)member_at(out, field->count_offset) = n;
    return ERR_OK;
}

static int decode_field(const struct decoder *d, struct json_object *o,
                        const struct json_field *field, void *out, const struct frame *f)
{
    void *at = member_at(out, field->offset);
    switch (field->type) {
    case JSON_T_STR:
        return decode_str(d, o, field, at, f);
    case JSON_T_BOOL:
        return decode_bool(d, o, field, at, f);
    case JSON_T_I32:
    case JSON_T_I64:
        return decode_int(d, o, field, at, f);
    case JSON_T_DOUBLE:
        return decode_double(d, o, field, at, f);
    case JSON_T_STRS:
        return decode_strs(d, o, field, out, f);
    case JSON_T_OBJECT:
        return decode_object(d, o, field->sub, at, f);
    case JSON_T_OBJECTS:
        return decode_objects(d, o, field, out, f);
    case JSON_T_MAP:
        return decode_map(d, o, field, out, f);
    case JSON_T_RAW:
        *(struct json_object **)at = o;
        return ERR_OK;
    }
    return err_set(d->err, ERR_BUG, "field %s: type %d", field->name, (int)field->type);
}

static const struct json_field *field_named(const struct json_field *fields, const char *name)
{
    for (; fields->name != NULL; fields++) {
        if (strcmp(fields->name, name) == 0) {
            return fields;
        }
    }
    return NULL;
}

static int check_unknown(const struct decoder *d, struct json_object *o,
                         const struct json_field *fields, const struct frame *up)
{
    json_object_object_foreach(o, name, value)
    {
        (void)value; /* only the name matters here */
        if (field_named(fields, name) == NULL) {
            const struct frame f = {.up = up, .name = name};
            return refuse(d, &f, "unknown member", NULL, false);
        }
    }
    return ERR_OK;
}

static int decode_object(const struct decoder *d, struct json_object *o,
                         const struct json_field *fields, void *out, const struct frame *up)
{
    if (!json_object_is_type(o, json_type_object)) {
        return refuse_got(d, up, "want an object", o);
    }
    int rc = d->unknown == JSON_REFUSE_UNKNOWN ? check_unknown(d, o, fields, up) : ERR_OK;
    for (const struct json_field *field = fields; rc == ERR_OK && field->name != NULL; field++) {
        const struct frame f = {.up = up, .name = field->name};
        struct json_object *member = json_member(o, field->name);
        if (member == NULL) {
            rc = field->required ? refuse(d, &f, "is missing", NULL, false) : ERR_OK;
            continue;
        }
        rc = decode_field(d, member, field, out, &f);
        if (rc == ERR_OK && field->has_offset != 0) {
            *(bool *)member_at(out, field->has_offset) = true;
        }
    }
    return rc;
}

int json_decode(struct arena *a, struct json_object *o, const struct json_field *fields, void *out,
                enum json_unknown unknown, const char *where, struct err *err)
{
    const struct decoder d = {.arena = a, .unknown = unknown, .where = where, .err = err};
    return decode_object(&d, o, fields, out, NULL);
}
