/* SPDX-License-Identifier: Apache-2.0 */
/* yaml_scalar.c: plain scalars by the rules of go-yaml v2, which sigs.k8s.io/yaml stands on.
 *
 * Facts that users meet: y, yes, on (and their capitals) are true; 010 is 8, 08 is 8 too (no octal,
 * so a decimal float); 0o10, 0x1F, 0b11 and 1_000 are numbers; dates stay strings; +.inf is a
 * float, which has no JSON form and is refused.  A float without a fraction becomes a whole number,
 * as Go's JSON prints it.  Pure. */
#include "common/data/yaml_scalar.h"
#include "common/base/arena.h"
#include "common/base/str.h"

#include <math.h>
#include <string.h>

#define TAG_PREFIX "tag:yaml.org,2002:"

enum kind {
    KIND_STR = 0,
    KIND_NULL,
    KIND_BOOL,
    KIND_INT,
    KIND_FLOAT,
};

struct word {
    const char *text;
    enum kind kind;
    bool truth;
};
static const struct word words[] = {
    {"", KIND_NULL, false},      {"~", KIND_NULL, false},     {"null", KIND_NULL, false},
    {"Null", KIND_NULL, false},  {"NULL", KIND_NULL, false},  {"y", KIND_BOOL, true},
    {"Y", KIND_BOOL, true},      {"yes", KIND_BOOL, true},    {"Yes", KIND_BOOL, true},
    {"YES", KIND_BOOL, true},    {"on", KIND_BOOL, true},     {"On", KIND_BOOL, true},
    {"ON", KIND_BOOL, true},     {"true", KIND_BOOL, true},   {"True", KIND_BOOL, true},
    {"TRUE", KIND_BOOL, true},   {"n", KIND_BOOL, false},     {"N", KIND_BOOL, false},
    {"no", KIND_BOOL, false},    {"No", KIND_BOOL, false},    {"NO", KIND_BOOL, false},
    {"off", KIND_BOOL, false},   {"Off", KIND_BOOL, false},   {"OFF", KIND_BOOL, false},
    {"false", KIND_BOOL, false}, {"False", KIND_BOOL, false}, {"FALSE", KIND_BOOL, false},
};

static const char *const unprintable[] = {".nan",  ".NaN",  ".NAN",  ".inf",  ".Inf",  ".INF",
                                          "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF"};

static unsigned digit_value(char c)
{
    if (c >= '0' && c <= '9') {
        return (unsigned)(c - '0');
    }
    char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? (unsigned)(lower - 'a' + 10) : 99;
}

/* The base of a Go integer literal; *s moves behind its prefix. */
static unsigned base_of(const char **s)
{
    if ((*s)[0] != '0' || (*s)[1] == '\0') {
        return 10;
    }
    char letter = (char)((*s)[1] | 0x20);
    unsigned base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
    *s += base != 0 ? 2 : 1;
    return base != 0 ? base : 8; /* a leading zero alone is octal */
}

/* A whole number without underscores, in any base, with a sign. */
static struct json_object *read_int(const char *s)
{
    bool negative = *s == '-';
    bool is_signed = negative || *s == '+';
    s += is_signed ? 1 : 0;
    unsigned base = base_of(&s);
    uint64_t value = 0;
    if (*s == '\0') {
        return NULL;
    }
    for (; *s != '\0'; s++) {
        unsigned digit = digit_value(*s);
        if (digit >= base || __builtin_mul_overflow(value, (uint64_t)base, &value) ||
            __builtin_add_overflow(value, (uint64_t)digit, &value)) {
            return NULL;
        }
    }
    if (value <= (uint64_t)INT64_MAX + (negative ? 1 : 0)) {
        return json_object_new_int64((int64_t)(negative ? 0 - value : value));
    }
    return is_signed ? NULL : json_object_new_uint64(value);
}

static size_t skip_digits(const char **s)
{
    size_t n = strspn(*s, "0123456789");
    *s += n;
    return n;
}

/* [-+]?(.digits | digits[.digits])([eE][-+]?digits)? */
static bool is_float_text(const char *s)
{
    s += *s == '-' || *s == '+';
    size_t digits = skip_digits(&s);
    if (*s == '.') {
        s++;
        digits += skip_digits(&s);
    }
    if (digits == 0) {
        return false;
    }
    if (*s == 'e' || *s == 'E') {
        s++;
        s += *s == '-' || *s == '+';
        if (skip_digits(&s) == 0) {
            return false;
        }
    }
    return *s == '\0';
}

static struct json_object *read_float(const char *s)
{
    if (!is_float_text(s)) {
        return NULL;
    }
    double d = strtod(s, NULL);
    if (isinf(d)) {
        return NULL; /* out of range stays a string */
    }
    if (d == floor(d) && fabs(d) < 0x1p53) {
        return json_object_new_int64((int64_t)d);
    }
    return json_object_new_double(d);
}

/* A number, or NULL when the text is none.  Underscores count as nothing behind the first digit. */
static struct json_object *read_number(const char *text, enum kind *ret_kind)
{
    if (strchr("+-.0123456789", text[0]) == NULL) {
        return NULL;
    }
    char *plain _cleanup_(xfreep) = xstrdup(text);
    if (text[0] != '.') {
        char *w = plain;
        for (const char *r = text; *r != '\0'; r++) {
            if (*r != '_') {
                *w++ = *r;
            }
        }
        *w = '\0';
    }
    *ret_kind = KIND_INT;
    struct json_object *number = text[0] != '.' ? read_int(plain) : NULL;
    if (number == NULL) {
        *ret_kind = KIND_FLOAT;
        number = read_float(plain);
    }
    return number;
}

/* The type of the text if it were unquoted and untagged. */
static int resolve_plain(const char *text, enum kind *ret_kind, struct json_object **ret,
                         struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (strcmp(text, words[i].text) == 0) {
            *ret_kind = words[i].kind;
            *ret = words[i].kind == KIND_BOOL ? json_object_new_boolean(words[i].truth) : NULL;
            return ERR_OK;
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(unprintable); i++) {
        if (strcmp(text, unprintable[i]) == 0) {
            return err_set(err, ERR_INVALID, "%s has no JSON form", text);
        }
    }
    *ret = read_number(text, ret_kind);
    if (*ret == NULL) {
        *ret_kind = KIND_STR;
        *ret = json_object_new_string(text);
    }
    return ERR_OK;
}

static bool tag_is(const char *tag, const char *name)
{
    return str_has_prefix(tag, TAG_PREFIX) && strcmp(tag + strlen(TAG_PREFIX), name) == 0;
}

static int resolve_binary(const char *text, struct json_object **ret, struct err *err)
{
    struct arena *a _cleanup_(arena_freep) = arena_new();
    unsigned char *bytes;
    size_t n;
    if (!str_base64_decode(a, text, false, &bytes, &n)) {
        return err_set(err, ERR_INVALID, "!!binary is not base64");
    }
    if (memchr(bytes, '\0', n) != NULL || !str_is_utf8((const char *)bytes, n)) {
        return err_set(err, ERR_INVALID, "!!binary is no text");
    }
    *ret = json_object_new_string_len((const char *)bytes, (int)n);
    return ERR_OK;
}

/* !!null, !!bool, !!int, !!float: the plain meaning must be of that kind (a whole number
 * is a float, too). */
static int resolve_tagged(const struct yaml_scalar *s, enum kind want, struct json_object **ret,
                          struct err *err)
{
    enum kind kind = KIND_STR;
    struct json_object *value = NULL;
    int rc = resolve_plain(s->text, &kind, &value, err);
    if (rc == ERR_OK && kind != want && !(want == KIND_FLOAT && kind == KIND_INT)) {
        json_object_put(value);
        return err_set(err, ERR_INVALID, "cannot decode `%.40s` as a !!%s", s->text,
                       s->tag + strlen(TAG_PREFIX));
    }
    if (rc == ERR_OK) {
        *ret = value;
    }
    return rc;
}

int yaml_scalar_resolve(const struct yaml_scalar *s, struct json_object **ret, struct err *err)
{
    static const struct {
        const char *name;
        enum kind kind;
    } tags[] = {{"null", KIND_NULL}, {"bool", KIND_BOOL}, {"int", KIND_INT}, {"float", KIND_FLOAT}};
    if (strlen(s->text) != s->n) {
        return err_set(err, ERR_INVALID, "NUL in a scalar");
    }
    if (s->is_plain && s->tag == NULL) {
        enum kind kind = KIND_STR;
        return resolve_plain(s->text, &kind, ret, err);
    }
    if (tag_is(s->tag, "binary")) {
        return resolve_binary(s->text, ret, err);
    }
    for (size_t i = 0; i < ARRAY_LEN(tags); i++) {
        if (tag_is(s->tag, tags[i].name)) {
            return resolve_tagged(s, tags[i].kind, ret, err);
        }
    }
    *ret = json_object_new_string_len(s->text, (int)s->n);
    return ERR_OK;
}

size_t yaml_mark_len(const char *text, size_t n)
{
    return n >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
}
