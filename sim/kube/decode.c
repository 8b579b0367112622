/* SPDX-License-Identifier: Apache-2.0 */
/* decode.c: the typed reading of decode.h, by the tables of types.h.
 *
 * One function per kind of member.  Paths come in two forms: Go's errors name the structure and the
 * members without indices ("ServicePort.spec.ports.port"), strict decoding names indices
 * ("spec.ports[0].foo"). */
#include "sim/kube/decode.h"

#include "common/base/clock.h"
#include "common/base/str.h"
#include "common/data/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where in the object we are. */
struct place {
    const char *go_path;     /* "spec.ports" */
    const char *strict_path; /* "spec.ports[0]" */
};

static struct json_object *decode_object(struct kube_decode *d, const struct kube_type *type,
                                         struct json_object *in, const struct place *at);
static struct json_object *decode_field(struct kube_decode *d, const struct kube_type *type,
                                        const struct kube_field *f, struct json_object *v,
                                        const struct place *at);

static const char *json_kind(struct json_object *v)
{
    switch (json_object_get_type(v)) {
    case json_type_string:
        return "string";
    case json_type_boolean:
        return "bool";
    case json_type_array:
        return "array";
    case json_type_object:
        return "object";
    case json_type_int:
    case json_type_double:
        return "number";
    default:
        return "null";
    }
}

static const char *go_type(struct kube_decode *d, const struct kube_field *f, bool element)
{
    switch (f->kind) {
    case KF_BOOL:
        return "bool";
    case KF_I32:
        return "int32";
    case KF_I64:
        return "int64";
    case KF_STR_MAP:
        return element ? "string" : "map[string]string";
    case KF_STRS:
        return element ? "string" : "[]string";
    case KF_BYTES_MAP:
        return element ? "[]uint8" : "map[string][]uint8";
    case KF_QTY_MAP:
        return "v1.ResourceList";
    case KF_STRS_MAP:
        return "map[string][]string";
    case KF_OBJ:
        return arena_printf(d->arena, "v1.%s", f->type->go_name);
    case KF_OBJS:
        return arena_printf(d->arena, element ? "v1.%s" : "[]v1.%s", f->type->go_name);
    default:
        return "string";
    }
}

static struct json_object *wrong_type(struct kube_decode *d, const struct kube_type *type,
                                      const struct kube_field *f, struct json_object *v,
                                      const struct place *at, bool element)
{
    if (!d->error) {
        bool number_text =
            (f->kind == KF_I32 || f->kind == KF_I64) &&
            (json_object_is_type(v, json_type_int) || json_object_is_type(v, json_type_double));
        d->error = arena_printf(
            d->arena, "json: cannot unmarshal %s%s%s into Go struct field %s.%s of type %s",
            json_kind(v), number_text ? " " : "", number_text ? json_object_get_string(v) : "",
            type->go_name, at->go_path, go_type(d, f, element));
    }
    return NULL;
}

static struct json_object *decode_number(struct kube_decode *d, const struct kube_type *type,
                                         const struct kube_field *f, struct json_object *v,
                                         const struct place *at)
{
    if (!json_object_is_type(v, json_type_int)) {
        return wrong_type(d, type, f, v, at, false);
    }
    int64_t n = json_object_get_int64(v);
    if (f->kind != KF_I64 && (n > INT32_MAX || n < INT32_MIN)) {
        return wrong_type(d, type, f, v, at, false);
    }
    if (n == 0 && !(f->flags & (KFF_KEEP | KFF_PTR))) {
        return NULL;
    }
    return json_object_new_int64(n);
}

static struct json_object *decode_time(struct kube_decode *d, const struct kube_type *type,
                                       const struct kube_field *f, struct json_object *v,
                                       const struct place *at)
{
    if (!json_object_is_type(v, json_type_string)) {
        return wrong_type(d, type, f, v, at, false);
    }
    const char *text = json_object_get_string(v);
    bool micro = f->kind == KF_MICROTIME;
    const char *error = kube_time_error(d->arena, text, micro);
    int64_t wall_us = 0;
    if (!error && !time_parse_rfc3339(text, &wall_us)) {
        error = arena_printf(d->arena, "parsing time \"%s\": %s out of range", text,
                             kube_time_part_out_of_range(text));
    }
    if (error) {
        if (!d->error) {
            d->error = error;
        }
        return NULL;
    }
    if (strncmp(text, "0001-01-01T00:00:00", strlen("0001-01-01T00:00:00")) == 0) {
        return NULL; /* Go's zero time is none */
    }
    char out[40];
    if (micro) {
        time_format_micro(wall_us, out);
    } else {
        time_format_rfc3339(wall_us, out);
    }
    return json_object_new_string(out);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Go's base64 wants the padding, and names the byte at which it stops. */
static const char *base64_error(struct arena *a, const char *text)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t n = strlen(text);
    size_t good = strspn(text, alphabet);
    size_t padding = strspn(text + good, "=");
    if (n % 4 == 0 && padding <= 2 && good + padding == n) {
        return NULL;
    }
    size_t stops = good + padding < n ? good : n - n % 4;
    return arena_printf(a, "illegal base64 data at input byte %zu", stops);
}

/* [sign] digits with one dot, then a suffix or an exponent. */
static const char *quantity_error(const char *s)
{
    static const char text[] = "quantities must match the regular expression "
                               "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
    static const char *const suffixes[] = {"",  "n",  "u",  "m",  "k",  "M",  "G",  "T", "P",
                                           "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", NULL};
    s += *s == '+' || *s == '-';
    size_t digits = strspn(s, "0123456789");
    size_t fraction = s[digits] == '.' ? strspn(s + digits + 1, "0123456789") + 1 : 0;
    if (digits == 0 && fraction < 2) {
        return text;
    }
    s += digits + fraction;
    for (size_t i = 0; suffixes[i]; i++) {
        if (str_eq(s, suffixes[i])) {
            return NULL;
        }
    }
    if (*s != 'e' && *s != 'E') {
        return text;
    }
    s += 1 + (s[1] == '+' || s[1] == '-');
    return *s && strspn(s, "0123456789") == strlen(s) ? NULL : text;
}

static struct json_object *map_value(struct kube_decode *d, const struct kube_type *type,
                                     const struct kube_field *f, struct json_object *v,
                                     const struct place *at)
{
    if (!v && f->kind != KF_STRS_MAP) {
        return json_object_new_string("");
    }
    if (f->kind == KF_QTY_MAP &&
        (json_object_is_type(v, json_type_int) || json_object_is_type(v, json_type_double))) {
        return json_object_new_string(json_object_get_string(v));
    }
    if (f->kind == KF_STRS_MAP) {
        return json_object_is_type(v, json_type_array) ? json_object_get(v)
                                                       : wrong_type(d, type, f, v, at, true);
    }
    if (!json_object_is_type(v, json_type_string)) {
        return wrong_type(d, type, f, v, at, true);
    }
    const char *error = f->kind == KF_BYTES_MAP ? base64_error(d->arena, json_object_get_string(v))
                        : f->kind == KF_QTY_MAP ? quantity_error(json_object_get_string(v))
                                                : NULL;
    if (error) {
        d->error = d->error ? d->error : error;
        return NULL;
    }
    return json_object_get(v);
}

/* Maps come out sorted by key, as Go prints them. */
static struct json_object *decode_map(struct kube_decode *d, const struct kube_type *type,
                                      const struct kube_field *f, struct json_object *v,
                                      const struct place *at)
{
    if (!json_object_is_type(v, json_type_object)) {
        return wrong_type(d, type, f, v, at, false);
    }
    size_t n = (size_t)json_object_object_length(v);
    if (n == 0) {
        return NULL;
    }
    const char **keys = ARENA_ARRAY(d->arena, const char *, n);
    size_t i = 0;
    json_object_object_foreach(v, key, value)
    {
        (void)value;
        keys[i++] = key;
    }
    qsort(keys, n, sizeof(*keys), by_name);
    struct json_object *out = json_object_new_object();
    for (i = 0; i < n; i++) {
        struct json_object *item = NULL;
        (void)json_object_object_get_ex(v, keys[i], &item);
        struct json_object *got = map_value(d, type, f, item, at);
        if (got) {
            json_object_object_add(out, keys[i], got);
        }
    }
    return out;
}

static struct json_object *decode_item(struct kube_decode *d, const struct kube_type *type,
                                       const struct kube_field *f, struct json_object *v,
                                       const struct place *at)
{
    if (f->kind == KF_OBJS) {
        if (v && !json_object_is_type(v, json_type_object)) {
            return wrong_type(d, type, f, v, at, true);
        }
        return decode_object(d, f->type, v, at);
    }
    if (!v) {
        return json_object_new_string("");
    }
    if (!json_object_is_type(v, json_type_string)) {
        return wrong_type(d, type, f, v, at, true);
    }
    return json_object_get(v);
}

static struct json_object *decode_list(struct kube_decode *d, const struct kube_type *type,
                                       const struct kube_field *f, struct json_object *v,
                                       const struct place *at)
{
    if (!json_object_is_type(v, json_type_array)) {
        return wrong_type(d, type, f, v, at, false);
    }
    size_t n = json_object_array_length(v);
    if (n == 0 && !(f->flags & KFF_KEEP)) {
        return NULL;
    }
    struct json_object *out = json_object_new_array();
    for (size_t i = 0; i < n; i++) {
        struct place item_at = {
            .go_path = at->go_path,
            .strict_path = arena_printf(d->arena, "%s[%zu]", at->strict_path, i),
        };
        struct json_object *item =
            decode_item(d, type, f, json_object_array_get_idx(v, i), &item_at);
        if (item) {
            json_object_array_add(out, item);
        }
    }
    return out;
}

static struct json_object *decode_text(struct kube_decode *d, const struct kube_type *type,
                                       const struct kube_field *f, struct json_object *v,
                                       const struct place *at)
{
    if (f->kind == KF_QUANTITY && !json_object_is_type(v, json_type_string)) {
        return json_object_new_string(json_object_get_string(v));
    }
    if (!json_object_is_type(v, json_type_string)) {
        return wrong_type(d, type, f, v, at, false);
    }
    if (json_object_get_string_len(v) == 0 && !(f->flags & (KFF_KEEP | KFF_PTR))) {
        return NULL;
    }
    return json_object_get(v);
}

static struct json_object *decode_int_or_str(struct kube_decode *d, struct json_object *v)
{
    if (json_object_is_type(v, json_type_int) || json_object_is_type(v, json_type_string)) {
        return json_object_get(v);
    }
    if (!d->error) {
        d->error = arena_printf(d->arena, "json: cannot unmarshal %s into Go value of type int32",
                                json_kind(v));
    }
    return NULL;
}

static struct json_object *decode_field(struct kube_decode *d, const struct kube_type *type,
                                        const struct kube_field *f, struct json_object *v,
                                        const struct place *at)
{
    switch (f->kind) {
    case KF_BOOL:
        if (!json_object_is_type(v, json_type_boolean)) {
            return wrong_type(d, type, f, v, at, false);
        }
        return json_object_get_boolean(v) || (f->flags & (KFF_KEEP | KFF_PTR)) ? json_object_get(v)
                                                                               : NULL;
    case KF_I32:
    case KF_I64:
        return decode_number(d, type, f, v, at);
    case KF_TIME:
    case KF_MICROTIME:
        return decode_time(d, type, f, v, at);
    case KF_INT_OR_STR:
        return decode_int_or_str(d, v);
    case KF_STR_MAP:
    case KF_BYTES_MAP:
    case KF_QTY_MAP:
    case KF_STRS_MAP:
        return decode_map(d, type, f, v, at);
    case KF_STRS:
    case KF_OBJS:
        return decode_list(d, type, f, v, at);
    case KF_OBJ:
        if (!json_object_is_type(v, json_type_object)) {
            return wrong_type(d, type, f, v, at, false);
        }
        return decode_object(d, f->type, v, at);
    case KF_ANY:
        return json_object_get(v);
    default:
        return decode_text(d, type, f, v, at);
    }
}

/* The output of a missing member that is always printed. */
static bool add_empty(struct kube_decode *d, const struct kube_field *f, struct json_object *out,
                      const struct place *at)
{
    struct json_object *v = NULL;
    switch (f->kind) {
    case KF_STR:
        v = json_object_new_string("");
        break;
    case KF_BOOL:
        v = json_object_new_boolean(0);
        break;
    case KF_I32:
    case KF_I64:
    case KF_INT_OR_STR:
        v = json_object_new_int(0);
        break;
    case KF_OBJ:
        v = decode_object(d, f->type, NULL, at);
        break;
    default:
        break; /* times and lists print null */
    }
    return json_object_object_add(out, f->name, v) == 0;
}

static void note_unknown(struct kube_decode *d, const struct kube_type *type,
                         struct json_object *in, const struct place *at, struct json_object *keep)
{
    json_object_object_foreach(in, key, value)
    {
        if (kube_type_field(type, key)) {
            continue;
        }
        if (keep) {
            json_object_object_add(keep, key, json_object_get(value));
        } else if (d->n_unknown < KUBE_MAX_UNKNOWN) {
            d->unknown[d->n_unknown++] = *at->strict_path
                                             ? arena_printf(d->arena, "%s.%s", at->strict_path, key)
                                             : arena_strdup(d->arena, key);
        }
    }
}

static struct json_object *decode_object(struct kube_decode *d, const struct kube_type *type,
                                         struct json_object *in, const struct place *at)
{
    struct json_object *out = json_object_new_object();
    for (size_t i = 0; i < type->n_fields; i++) {
        const struct kube_field *f = &type->fields[i];
        struct place below = {
            .go_path =
                *at->go_path ? arena_printf(d->arena, "%s.%s", at->go_path, f->name) : f->name,
            .strict_path = *at->strict_path
                               ? arena_printf(d->arena, "%s.%s", at->strict_path, f->name)
                               : f->name,
        };
        struct json_object *v = json_member(in, f->name);
        struct json_object *got = v ? decode_field(d, type, f, v, &below) : NULL;
        if (got) {
            json_object_object_add(out, f->name, got);
        } else if (f->flags & KFF_KEEP) {
            (void)add_empty(d, f, out, &below);
        }
    }
    if (in) {
        note_unknown(d, type, in, at, type == &kube_type_free ? out : NULL);
    }
    return out;
}

struct json_object *kube_decode(struct kube_decode *d, const struct kube_type *type,
                                struct json_object *in)
{
    struct place root = {.go_path = "", .strict_path = ""};
    if (!json_object_is_type(in, json_type_object)) {
        d->error = arena_printf(d->arena, "json: cannot unmarshal %s into Go value of type v1.%s",
                                json_kind(in), type->go_name);
        return NULL;
    }
    struct json_object *out = decode_object(d, type, in, &root);
    if (d->error) {
        json_object_put(out);
        return NULL;
    }
    return out;
}
