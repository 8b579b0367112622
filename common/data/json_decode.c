/* SPDX-License-Identifier: Apache-2.0 */
/* json_decode.c: filling C structures from JSON by tables of fields.
 *
 * One row of a table per member, so that all decoders of the project refuse the same things in the
 * same words.  Where we are is a chain of frames on the stack; it becomes text only when something
 * is wrong.  It reads views (json_view.h); a tree is opened as one, level by level, where a row
 * asks for what is below.  Nothing is kept of a tree except JSON_T_RAW members; its strings are
 * copied to the arena, those of a parsed view are in one already.  Pure. */
#include "common/data/json_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STR_BYTES_DEFAULT ((int64_t)64 * 1024)
#define ITEMS_DEFAULT     ((size_t)10000)
#define SHOWN_MAX         ((size_t)60)

/* The way from the root to the value that is checked. */
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

static int decode_object(const struct decoder *d, const struct json_view *o,
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

/* "path: want …, got …"; `got` NULL: the latter is not said. */
static int refuse_got(const struct decoder *d, const struct frame *f, const char *what,
                      const struct json_view *got)
{
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    append_path(&b, d, f);
    str_append(&b, b.len > 0 ? ": " : "");
    str_append(&b, what);
    if (got != NULL && (got->type == JSON_V_OBJECT || got->type == JSON_V_ARRAY)) {
        str_append(&b, got->type == JSON_V_OBJECT ? ", got an object" : ", got an array");
    } else if (got != NULL) {
        struct str_buf text _cleanup_(str_buf_done) = STR_BUF_INIT;
        struct json_object *value _cleanup_(json_putp) = json_view_tree(got);
        json_print(&text, value, JSON_COMPACT);
        bool cut = text.len > SHOWN_MAX;
        str_appendf(&b, ", got %.*s%s", (int)(cut ? SHOWN_MAX : text.len), str_buf_text(&text),
                    cut ? "\xE2\x80\xA6" : "");
    }
    return err_set(d->err, ERR_INVALID, "%s", str_buf_text(&b));
}

static int refuse(const struct decoder *d, const struct frame *f, const char *what)
{
    return refuse_got(d, f, what, NULL);
}

static void *member_at(void *out, size_t offset)
{
    return (char *)out + offset;
}

static int decode_text(const struct decoder *d, const struct json_view *o, int64_t max_bytes,
                       const struct frame *f, const char **ret)
{
    if (o->type != JSON_V_STRING) {
        return refuse_got(d, f, "want a string", o);
    }
    if (o->has_nul) {
        return refuse(d, f, "want a string without NUL");
    }
    if (o->n > max_bytes) {
        char what[96];
        (void)snprintf(what, sizeof what, "want at most %lld bytes, got %zu", (long long)max_bytes,
                       (size_t)o->n);
        return refuse(d, f, what);
    }
    *ret = o->tree != NULL ? arena_memdup(d->arena, o->text, (size_t)o->n + 1) : o->text;
    return ERR_OK;
}

static int check_one_of(const struct decoder *d, const struct json_view *o,
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

static int decode_str(const struct decoder *d, const struct json_view *o,
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
static bool whole_number(const struct json_view *o, bool text_too, int64_t *ret)
{
    if (o->type == JSON_V_INT) {
        *ret = o->i;
        return true;
    }
    return text_too && o->type == JSON_V_STRING && str_to_i64(o->text, ret);
}

static int decode_int(const struct decoder *d, const struct json_view *o,
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

static bool any_number(const struct json_view *o, double *ret)
{
    switch (o->type) {
    case JSON_V_INT:
        *ret = (double)o->i;
        return true;
    case JSON_V_UINT:
        *ret = (double)o->u;
        return true;
    case JSON_V_DOUBLE:
        *ret = o->tree != NULL ? json_object_get_double(o->tree) : strtod(o->text, NULL);
        return true;
    default:
        return false;
    }
}

static int decode_double(const struct decoder *d, const struct json_view *o,
                         const struct json_field *field, void *out, const struct frame *f)
{
    bool full = field->min == 0 && field->max == 0;
    double value;
    if (!any_number(o, &value)) {
        return refuse_got(d, f, "want a number", o);
    }
    if (!full && !(value >= (double)field->min && value <= (double)field->max)) {
        char what[96];
        (void)snprintf(what, sizeof what, "want a number from %lld to %lld", (long long)field->min,
                       (long long)field->max);
        return refuse_got(d, f, what, o);
    }
    *(double *)out = value;
    return ERR_OK;
}

static int decode_bool(const struct decoder *d, const struct json_view *o,
                       const struct json_field *field, void *out, const struct frame *f)
{
    if (o->type != JSON_V_BOOL) {
        return refuse_got(d, f, "want true or false", o);
    }
    *(bool *)out = o->b;
    return ERR_OK;
}

/* The number of items of a container, if it may have that many. */
static int count_items(const struct decoder *d, const struct json_view *o,
                       const struct json_field *field, const struct frame *f, size_t *ret)
{
    size_t n = o->n;
    size_t max = field->max_items > 0 ? field->max_items : ITEMS_DEFAULT;
    if (n > max) {
        char what[96];
        (void)snprintf(what, sizeof what, "want at most %zu items, got %zu", max, n);
        return refuse(d, f, what);
    }
    *ret = n;
    return ERR_OK;
}

static int decode_strs(const struct decoder *d, const struct json_view *o,
                       const struct json_field *field, void *out, const struct frame *f)
{
    size_t n = 0;
    if (o->type != JSON_V_ARRAY) {
        return refuse_got(d, f, "want an array of strings", o);
    }
    int rc = count_items(d, o, field, f, &n);
    const struct json_view *from = rc == ERR_OK ? json_view_items(d->arena, o) : NULL;
    const char **items = rc == ERR_OK ? ARENA_ARRAY(d->arena, const char *, n) : NULL;
    for (size_t i = 0; rc == ERR_OK && i < n; i++) {
        const struct frame item = {.up = f, .index = i};
        rc = decode_text(d, &from[i], STR_BYTES_DEFAULT, &item, &items[i]);
    }
    if (rc == ERR_OK) {
        *(const char ***)member_at(out, field->offset) = items;
        *(size_t *)member_at(out, field->count_offset) = n;
    }
    return rc;
}

static int decode_objects(const struct decoder *d, const struct json_view *o,
                          const struct json_field *field, void *out, const struct frame *f)
{
    size_t n = 0;
    if (o->type != JSON_V_ARRAY) {
        return refuse_got(d, f, "want an array of objects", o);
    }
    int rc = count_items(d, o, field, f, &n);
    const struct json_view *from = rc == ERR_OK ? json_view_items(d->arena, o) : NULL;
    char *items = rc == ERR_OK ? arena_calloc(d->arena, n, field->sub_size) : NULL;
    for (size_t i = 0; rc == ERR_OK && i < n; i++) {
        const struct frame item = {.up = f, .index = i};
        rc = decode_object(d, &from[i], field->sub, items + i * field->sub_size, &item);
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

/* The name of one of `o`'s members, to be kept. */
static const char *name_of(const struct decoder *d, const struct json_view *o,
                           const struct json_view *member)
{
    return o->tree != NULL ? arena_strdup(d->arena, member->name) : member->name;
}

static int decode_map(const struct decoder *d, const struct json_view *o,
                      const struct json_field *field, void *out, const struct frame *f)
{
    size_t n = 0;
    if (o->type != JSON_V_OBJECT) {
        return refuse_got(d, f, "want an object with strings", o);
    }
    int rc = count_items(d, o, field, f, &n);
    if (rc != ERR_OK) {
        return rc;
    }
    struct json_kv *items = ARENA_ARRAY(d->arena, struct json_kv, n);
    const struct json_view *from = json_view_items(d->arena, o);
    for (size_t i = 0; i < n; i++) {
        const struct frame item = {.up = f, .name = from[i].name};
        rc = decode_text(d, &from[i], STR_BYTES_DEFAULT, &item, &items[i].value);
        if (rc != ERR_OK) {
            return rc;
        }
        items[i].key = name_of(d, o, &from[i]);
    }
    qsort(items, n, sizeof *items, cmp_kv);
    *(struct json_kv **)member_at(out, field->offset) = items;
    *(size_t *)member_at(out, field->count_offset) = n;
    return ERR_OK;
}

static void put_tree(void *arg)
{
    json_object_put(arg);
}

/* A member without a tree gets one that lives as long as the arena. */
static struct json_object *raw_tree(const struct decoder *d, const struct json_view *o)
{
    if (o->tree == NULL) {
        struct json_object *made = json_view_tree(o);
        arena_defer(d->arena, put_tree, made);
        return made;
    }
    return o->tree;
}

static int decode_field(const struct decoder *d, const struct json_view *o,
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
        *(struct json_object **)at = raw_tree(d, o);
        return ERR_OK;
    case JSON_T_VIEW:
        *(const struct json_view **)at = json_view_whole(d->arena, o);
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

static int check_unknown(const struct decoder *d, const struct json_view *items, size_t n,
                         const struct json_field *fields, const struct frame *up)
{
    for (size_t i = 0; i < n; i++) {
        if (field_named(fields, items[i].name) == NULL) {
            const struct frame f = {.up = up, .name = items[i].name};
            return refuse(d, &f, "unknown member");
        }
    }
    return ERR_OK;
}

/* One of 64 bits for a name: a field whose bit no member has is absent, without asking
 * each of them. */
static uint64_t mark_of(const char *name)
{
    unsigned first = (unsigned char)name[0];
    unsigned second = first == 0 ? 0 : (unsigned char)name[1];
    unsigned third = second == 0 ? 0 : (unsigned char)name[2];
    return UINT64_C(1) << ((first * 5 + second * 3 + third) & 63);
}

static uint64_t marks_of(const struct json_view *items, size_t n)
{
    uint64_t marks = 0;
    for (size_t i = 0; i < n; i++) {
        marks |= mark_of(items[i].name);
    }
    return marks;
}

static bool has_name(const struct json_view *v, const char *name)
{
    return v->name[0] == name[0] && strcmp(v->name, name) == 0;
}

/* The members of an object, in which its fields are looked for. */
struct members {
    const struct json_view *items;
    size_t n;
    size_t at;      /* the search begins here, behind the last one that was found */
    uint64_t marks; /* 0: not known yet */
};

/* The member, or NULL.  Objects and tables are mostly in one order. */
static const struct json_view *find_member(struct members *m, const char *name)
{
    size_t at = m->at;
    if (at == m->n || !has_name(&m->items[at], name)) {
        m->marks = m->marks != 0 ? m->marks : marks_of(m->items, m->n);
        if ((m->marks & mark_of(name)) == 0) {
            return NULL;
        }
        for (at = 0; at < m->n && !has_name(&m->items[at], name); at++) {
        }
    }
    if (at == m->n) {
        return NULL;
    }
    m->at = at + 1;
    return &m->items[at];
}

static int decode_object(const struct decoder *d, const struct json_view *o,
                         const struct json_field *fields, void *out, const struct frame *up)
{
    if (o->type != JSON_V_OBJECT) {
        return refuse_got(d, up, "want an object", o);
    }
    struct members m = {.items = json_view_items(d->arena, o), .n = o->n};
    int rc =
        d->unknown == JSON_REFUSE_UNKNOWN ? check_unknown(d, m.items, m.n, fields, up) : ERR_OK;
    for (const struct json_field *field = fields; rc == ERR_OK && field->name != NULL; field++) {
        const struct frame f = {.up = up, .name = field->name};
        const struct json_view *member = find_member(&m, field->name);
        if (member == NULL || member->type == JSON_V_NULL) {
            rc = field->required ? refuse(d, &f, "is missing") : ERR_OK;
            continue;
        }
        rc = decode_field(d, member, field, out, &f);
        if (rc == ERR_OK && field->has_offset != 0) {
            *(bool *)member_at(out, field->has_offset) = true;
        }
    }
    return rc;
}

int json_decode_view(struct arena *a, const struct json_view *v, const struct json_field *fields,
                     void *out, enum json_unknown unknown, const char *where, struct err *err)
{
    const struct decoder d = {.arena = a, .unknown = unknown, .where = where, .err = err};
    return decode_object(&d, v, fields, out, NULL);
}

int json_decode(struct arena *a, struct json_object *o, const struct json_field *fields, void *out,
                enum json_unknown unknown, const char *where, struct err *err)
{
    const struct json_view v = json_view_of_tree(o);
    return json_decode_view(a, &v, fields, out, unknown, where, err);
}
