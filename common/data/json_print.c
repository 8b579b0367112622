/* SPDX-License-Identifier: Apache-2.0 */
/* json_print.c: JSON trees as bytes, always the same ones for the same tree.
 *
 * Own printer because bodies, golden files and annotations must not depend on the json-c version:
 * '/' and non-ASCII stay as they are (characters that do not show are escaped in the pretty form),
 * members come in the order of insertion or sorted by bytes, doubles print in their shortest form
 * that reads back the same, or as they came when they were parsed and not changed.  Recursion is as
 * deep as the tree, which json_parse() caps.  Pure. */
#include "common/data/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define OWN_TEXT ((size_t)64 * 1024)

struct printer {
    struct str_buf *b;
    bool pretty;
    bool sorted;
};

static void print_value(const struct printer *p, struct json_object *o, int depth);

static void new_line(const struct printer *p, int depth)
{
    if (p->pretty) {
        str_appendf(p->b, "\n%*s", depth * 2, "");
    }
}

/* The fewest digits that read back as `d`, as "d.ddde±xx". */
static void shortest_digits(double d, char *out, size_t cap)
{
    for (int precision = 0; precision <= 16; precision++) {
        (void)snprintf(out, cap, "%.*e", precision, d); /* at most 24 bytes */
        if (strtod(out, NULL) == d) {
            return;
        }
    }
}

/* Laid out as Go and ECMAScript do: with an exponent only below 1e-6 and from 1e21 on.  Whole
 * numbers that need more than 53 bits print all their digits, because they may be read
 * back as integers. */
static void append_double(struct str_buf *b, double d)
{
    char text[40];
    char digits[40];
    size_t n = 0;
    if (fabs(d) >= 0x1p53 && fabs(d) < 1e21) {
        str_appendf(b, "%.0f", d);
        return;
    }
    shortest_digits(fabs(d), text, sizeof text);
    char *e = strchr(text, 'e');
    int exponent = (int)strtol(e + 1, NULL, 10);
    for (const char *p = text; p < e; p++) {
        if (*p != '.') {
            digits[n++] = *p;
        }
    }
    str_append(b, signbit(d) ? "-" : "");
    if (exponent < -6 || exponent >= 21) {
        *e = '\0';
        str_appendf(b, "%se%+d", text, exponent);
        return;
    }
    if (exponent < 0) {
        str_appendf(b, "0.%.*s", -exponent - 1, "00000");
    }
    for (int i = 0; i < (int)n || i <= exponent; i++) {
        str_append(b, i == exponent + 1 && exponent >= 0 ? "." : "");
        str_append_c(b, i < (int)n ? digits[i] : '0');
    }
}

static void print_double(const struct printer *p, struct json_object *o)
{
    /* json_parse() leaves the text of the number with it; changing the number drops it. */
    const char *text = json_object_get_userdata(o);
    double d = json_object_get_double(o);
    if (text != NULL) {
        str_append(p->b, text);
    } else if (isfinite(d)) {
        append_double(p->b, d);
    } else {
        str_append(p->b, "null"); /* JSON has no word for it */
    }
}

static void print_int(const struct printer *p, struct json_object *o)
{
    int64_t i = json_object_get_int64(o);
    if (i == INT64_MAX) {
        str_appendf(p->b, "%llu", (unsigned long long)json_object_get_uint64(o));
    } else {
        str_appendf(p->b, "%lld", (long long)i);
    }
}

/* People read the pretty form, on terminals. */
static void print_string(const struct printer *p, const char *s, size_t n)
{
    if (p->pretty) {
        str_append_json_visible_n(p->b, s, n);
    } else {
        str_append_json_quoted_n(p->b, s, n);
    }
}

struct member {
    const char *name;
    struct json_object *value;
};

static int cmp_members(const void *a, const void *b)
{
    return strcmp(((const struct member *)a)->name, ((const struct member *)b)->name);
}

static void print_object(const struct printer *p, struct json_object *o, int depth)
{
    size_t n = (size_t)json_object_object_length(o);
    if (n == 0) {
        str_append(p->b, "{}");
        return;
    }
    struct member *members = xcalloc(n, sizeof *members);
    size_t i = 0;
    json_object_object_foreach(o, name, value)
    {
        members[i++] = (struct member){name, value};
    }
    if (p->sorted) {
        qsort(members, n, sizeof *members, cmp_members);
    }
    str_append_c(p->b, '{');
    for (i = 0; i < n; i++) {
        str_append(p->b, i > 0 ? "," : "");
        new_line(p, depth + 1);
        print_string(p, members[i].name, strlen(members[i].name));
        str_append(p->b, p->pretty ? ": " : ":");
        print_value(p, members[i].value, depth + 1);
    }
    new_line(p, depth);
    str_append_c(p->b, '}');
    free(members);
}

static void print_array(const struct printer *p, struct json_object *o, int depth)
{
    size_t n = json_object_array_length(o);
    str_append_c(p->b, '[');
    for (size_t i = 0; i < n; i++) {
        str_append(p->b, i > 0 ? "," : "");
        new_line(p, depth + 1);
        print_value(p, json_object_array_get_idx(o, i), depth + 1);
    }
    if (n > 0) {
        new_line(p, depth);
    }
    str_append_c(p->b, ']');
}

static void print_value(const struct printer *p, struct json_object *o, int depth)
{
    switch (json_object_get_type(o)) {
    case json_type_object:
        print_object(p, o, depth);
        break;
    case json_type_array:
        print_array(p, o, depth);
        break;
    case json_type_string:
        print_string(p, json_object_get_string(o), (size_t)json_object_get_string_len(o));
        break;
    case json_type_boolean:
        str_append(p->b, json_object_get_boolean(o) ? "true" : "false");
        break;
    case json_type_int:
        print_int(p, o);
        break;
    case json_type_double:
        print_double(p, o);
        break;
    default:
        str_append(p->b, "null");
        break;
    }
}

void json_print(struct str_buf *b, struct json_object *o, enum json_style style)
{
    const struct printer p = {
        .b = b,
        .pretty = style == JSON_PRETTY || style == JSON_SORTED_PRETTY,
        .sorted = style == JSON_SORTED || style == JSON_SORTED_PRETTY,
    };
    print_value(&p, o, 0);
}

char *json_text(struct arena *a, struct json_object *o, enum json_style style)
{
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    json_print(&b, o, style);
    if (b.len < OWN_TEXT) {
        return str_buf_to_arena(&b, a);
    }
    char *text =
        xrealloc(STEAL(b.data), b.len + 1); /* a document of megabytes is not copied once more */
    arena_defer(a, free, text);
    return text;
}
