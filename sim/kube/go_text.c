/* SPDX-License-Identifier: Apache-2.0 */
/* go_text.c: the error texts of Go's time and encoding/json packages, which the API server passes
 * on.
 *
 * Clients show them to people and tests compare them, so the simulator words them alike.  Only the
 * first error matters.  Pure.  Source: recorded answers 042, 053, 113, 114; Go's documentation of
 * both packages. */
#include "sim/kube/decode.h"

#include "common/base/str.h"

#include <ctype.h>
#include <string.h>

/* --- times ------------------------------------------------------------------------------------ */
struct layout_part {
    const char *text; /* as the layout writes it */
    int digits;       /* 0: these very bytes */
};

static const struct layout_part date_parts[] = {
    {"2006", 4}, {"-", 0}, {"01", 2}, {"-", 0}, {"02", 2}, {"T", 0},
    {"15", 2},   {":", 0}, {"04", 2}, {":", 0}, {"05", 2},
};

static bool all_digits(const char *s, int n)
{
    for (int i = 0; i < n; i++) {
        if (!isdigit((unsigned char)s[i])) {
            return false;
        }
    }
    return true;
}

static bool zone_is_good(const char *s)
{
    if (strcmp(s, "Z") == 0) {
        return true;
    }
    return (*s == '+' || *s == '-') && strlen(s) == 6 && all_digits(s + 1, 2) && s[3] == ':' &&
           all_digits(s + 4, 2);
}

/* The part of the layout at which reading stops, or NULL; *rest is moved to it. */
static const char *stops_at(const char **rest, bool micro)
{
    for (size_t i = 0; i < sizeof(date_parts) / sizeof(date_parts[0]); i++) {
        const struct layout_part *p = &date_parts[i];
        size_t n = strlen(p->text);
        bool good = p->digits ? all_digits(*rest, p->digits) : strncmp(*rest, p->text, n) == 0;
        if (!good) {
            return p->text;
        }
        *rest += n;
    }
    if (micro) {
        if (**rest != '.' || !all_digits(*rest + 1, 6)) {
            return ".000000";
        }
        *rest += 7;
    } else if (**rest == '.' && isdigit((unsigned char)(*rest)[1])) {
        *rest += 1 + strspn(*rest + 1, "0123456789");
    }
    return zone_is_good(*rest) ? NULL : "Z07:00";
}

const char *kube_time_error(struct arena *a, const char *text, bool micro)
{
    const char *rest = text;
    const char *part = stops_at(&rest, micro);
    if (!part) {
        return NULL;
    }
    return arena_printf(a, "parsing time \"%s\" as \"%s\": cannot parse \"%s\" as \"%s\"", text,
                        micro ? "2006-01-02T15:04:05.000000Z07:00" : "2006-01-02T15:04:05Z07:00",
                        rest, part);
}

static int two_digits(const char *s)
{
    return (s[0] - '0') * 10 + (s[1] - '0');
}

const char *kube_time_part_out_of_range(const char *text)
{
    int month = two_digits(text + 5);
    if (month < 1 || month > 12) {
        return "month";
    }
    if (two_digits(text + 11) > 23) {
        return "hour";
    }
    if (two_digits(text + 14) > 59) {
        return "minute";
    }
    return two_digits(text + 17) > 59 ? "second" : "day";
}

/* --- JSON ------------------------------------------------------------------------------------- */
struct scan {
    struct arena *arena;
    const char *p;
    const char *end;
    const char *error;
    int depth;
};

static bool scan_value(struct scan *s);

static bool scan_fail(struct scan *s, const char *where)
{
    if (s->error) {
        return false;
    }
    if (s->p >= s->end) {
        s->error = "unexpected end of JSON input";
        return false;
    }
    unsigned char c = (unsigned char)*s->p;
    const char *shown = c == '\'' ? "'\\''" : c == '"' ? "'\"'" : NULL;
    if (!shown) {
        shown =
            isprint(c) ? arena_printf(s->arena, "'%c'", c) : arena_printf(s->arena, "'\\x%02x'", c);
    }
    s->error = arena_printf(s->arena, "invalid character %s %s", shown, where);
    return false;
}

static void scan_blank(struct scan *s)
{
    while (s->p < s->end && strchr(" \t\r\n", *s->p) && *s->p) {
        s->p++;
    }
}

static bool scan_literal(struct scan *s, const char *word)
{
    for (const char *w = word; *w; w++, s->p++) {
        if (s->p >= s->end || *s->p != *w) {
            return scan_fail(s, arena_printf(s->arena, "in literal %s (expecting '%c')", word, *w));
        }
    }
    return true;
}

static bool scan_string(struct scan *s)
{
    for (s->p++; s->p < s->end; s->p++) {
        if (*s->p == '"') {
            s->p++;
            return true;
        }
        if ((unsigned char)*s->p < 0x20) {
            return scan_fail(s, "in string literal");
        }
        if (*s->p == '\\') {
            s->p++;
            if (s->p >= s->end || !strchr("\"\\/bfnrtu", *s->p)) {
                return scan_fail(s, "in string escape code");
            }
        }
    }
    return scan_fail(s, "");
}

static bool scan_digits(struct scan *s, const char *where)
{
    if (s->p >= s->end || !isdigit((unsigned char)*s->p)) {
        return scan_fail(s, where);
    }
    while (s->p < s->end && isdigit((unsigned char)*s->p)) {
        s->p++;
    }
    return true;
}

static bool scan_number(struct scan *s)
{
    if (*s->p == '-') {
        s->p++;
    }
    if (s->p < s->end && *s->p == '0') {
        s->p++;
    } else if (!scan_digits(s, "in numeric literal")) {
        return false;
    }
    if (s->p < s->end && *s->p == '.') {
        s->p++;
        if (!scan_digits(s, "after decimal point in numeric literal")) {
            return false;
        }
    }
    if (s->p < s->end && (*s->p == 'e' || *s->p == 'E')) {
        s->p++;
        if (s->p < s->end && (*s->p == '+' || *s->p == '-')) {
            s->p++;
        }
        return scan_digits(s, "in exponent of numeric literal");
    }
    return true;
}

static bool scan_members(struct scan *s)
{
    for (;;) {
        scan_blank(s);
        if (s->p >= s->end || *s->p != '"') {
            return scan_fail(s, "looking for beginning of object key string");
        }
        if (!scan_string(s)) {
            return false;
        }
        scan_blank(s);
        if (s->p >= s->end || *s->p != ':') {
            return scan_fail(s, "after object key");
        }
        s->p++;
        if (!scan_value(s)) {
            return false;
        }
        scan_blank(s);
        if (s->p < s->end && *s->p == '}') {
            s->p++;
            return true;
        }
        if (s->p >= s->end || *s->p != ',') {
            return scan_fail(s, "after object key:value pair");
        }
        s->p++;
    }
}

static bool scan_items(struct scan *s)
{
    for (;;) {
        if (!scan_value(s)) {
            return false;
        }
        scan_blank(s);
        if (s->p < s->end && *s->p == ']') {
            s->p++;
            return true;
        }
        if (s->p >= s->end || *s->p != ',') {
            return scan_fail(s, "after array element");
        }
        s->p++;
    }
}

static bool scan_nested(struct scan *s, char close, bool (*inside)(struct scan *s))
{
    if (++s->depth > 1000) {
        s->error = "exceeded max depth";
        return false;
    }
    s->p++;
    scan_blank(s);
    bool good = true;
    if (s->p < s->end && *s->p == close) {
        s->p++;
    } else {
        good = inside(s);
    }
    s->depth--;
    return good;
}

static bool scan_value(struct scan *s)
{
    scan_blank(s);
    if (s->p >= s->end) {
        return scan_fail(s, "");
    }
    switch (*s->p) {
    case '{':
        return scan_nested(s, '}', scan_members);
    case '[':
        return scan_nested(s, ']', scan_items);
    case '"':
        return scan_string(s);
    case 't':
        return scan_literal(s, "true");
    case 'f':
        return scan_literal(s, "false");
    case 'n':
        return scan_literal(s, "null");
    default:
        if (*s->p == '-' || isdigit((unsigned char)*s->p)) {
            return scan_number(s);
        }
        return scan_fail(s, "looking for beginning of value");
    }
}

const char *kube_json_error(struct arena *a, const char *text, size_t n)
{
    struct scan s = {.arena = a, .p = text, .end = text + n};
    if (scan_value(&s)) {
        scan_blank(&s);
        if (s.p < s.end) {
            (void)scan_fail(&s, "after top-level value");
        }
    }
    return s.error;
}
