/* SPDX-License-Identifier: Apache-2.0 */
/* regex_text.c: RE2 patterns of list filters as POSIX extended ones.
 *
 * The cloud matches filters with RE2; the C library has POSIX expressions.  Constructs that differ
 * and occur in filters are rewritten: (?:…), the classes \d \w \s in and outside of brackets, lazy
 * repeats, a leading (?i).  Other (?…) groups are refused.  Pure. */
#include "sim/compute/filter.h"

#include <string.h>

static const char *class_text(char c, bool in_brackets)
{
    switch (c) {
    case 'd':
        return in_brackets ? "0-9" : "[0-9]";
    case 'D':
        return in_brackets ? NULL : "[^0-9]";
    case 'w':
        return in_brackets ? "[:alnum:]_" : "[[:alnum:]_]";
    case 'W':
        return in_brackets ? NULL : "[^[:alnum:]_]";
    case 's':
        return in_brackets ? "[:space:]" : "[[:space:]]";
    case 'S':
        return in_brackets ? NULL : "[^[:space:]]";
    default:
        return NULL;
    }
}

/* One bracket expression from `at` ('['); returns what follows it, NULL when it does not end. */
static const char *bracket(struct str_buf *out, const char *at)
{
    str_append_c(out, *at++);
    if (*at == '^') {
        str_append_c(out, *at++);
    }
    bool first = true;
    for (; *at && (*at != ']' || first); at++, first = false) {
        if (*at != '\\' || at[1] == '\0') {
            str_append_c(out, *at);
            continue;
        }
        const char *text = class_text(*++at, true);
        if (text) {
            str_append(out, text);
        } else if (*at == '-' || *at == ']') {
            str_appendf(out, "[.%c.]", *at);
        } else {
            str_append_c(out, *at);
        }
    }
    if (*at != ']') {
        return NULL;
    }
    str_append_c(out, *at);
    return at + 1;
}

static const char *escape(struct str_buf *out, const char *at)
{
    const char *text = class_text(at[1], false);
    if (text) {
        str_append(out, text);
    } else if (strchr(".[]()*+?{}|^$\\", at[1])) {
        str_appendf(out, "\\%c", at[1]);
    } else {
        str_append_c(out, at[1]);
    }
    return at + 2;
}

/* The C library copies the tree of what is repeated, so a few nested repeats could take
 * all memory or time. */
#define NESTED_MAX 2    /* repeats around repeats */
#define COPIES_MAX 1000 /* product of all upper ends of {n,m} */
#define GROUPS_MAX 32   /* groups in groups */

struct repeats {
    int64_t copies;
    bool last;  /* the last thing was a repeat: another one right behind is an error, as in RE2 */
    int closed; /* the last thing was a group in which repeats are nested that deep */
    int level;  /* groups that are open */
    int depth[GROUPS_MAX]; /* how deep repeats are nested in each */
};

/* Reads "{n}", "{n,}" or "{n,m}"; 0 bytes if it is not one of them. */
static size_t counted(const char *at, int64_t *ret_high)
{
    size_t low = strspn(at + 1, "0123456789"), comma = at[1 + low] == ',';
    size_t high = comma ? strspn(at + 2 + low, "0123456789") : 0;
    size_t n = 1 + low + comma + high;
    if (low == 0 || low > 4 || high > 4 || at[n] != '}') {
        return 0;
    }
    int64_t value = 0;
    for (size_t i = high ? 2 + low : 1; at[i] >= '0' && at[i] <= '9'; i++) {
        value = value * 10 + (at[i] - '0');
    }
    *ret_high = value;
    return n + 1;
}

/* A repeat at `at`; what follows it, NULL when it is not allowed. */
static const char *repeat(struct str_buf *out, const char *at, struct repeats *r)
{
    int64_t high = 1;
    size_t n = *at == '{' ? counted(at, &high) : 1;
    if (n == 0) {
        str_append(out, "\\{"); /* no count: RE2 takes the brace as it is */
        r->last = false;
        return at + 1;
    }
    int depth = r->closed + 1;
    r->copies *= high > 0 ? high : 1;
    if (r->last || depth > NESTED_MAX || r->copies > COPIES_MAX) {
        return NULL;
    }
    str_append_n(out, at, n);
    r->depth[r->level] = depth > r->depth[r->level] ? depth : r->depth[r->level];
    r->last = true;
    r->closed = 0;
    return at + n + (at[n] == '?'); /* a lazy repeat matches the same whole texts */
}

/* "(" or "(?:": one more group; what follows it, NULL when it is not supported. */
static const char *open_group(struct str_buf *out, const char *at, struct repeats *r)
{
    if (++r->level == GROUPS_MAX || (at[1] == '?' && at[2] != ':')) {
        return NULL;
    }
    r->depth[r->level] = 0;
    str_append_c(out, '(');
    return at[1] == '?' ? at + 3 : at + 1;
}

static const char *close_group(struct str_buf *out, const char *at, struct repeats *r)
{
    if (r->level == 0) {
        return NULL;
    }
    r->closed = r->depth[r->level--];
    r->depth[r->level] = r->closed > r->depth[r->level] ? r->closed : r->depth[r->level];
    str_append_c(out, ')');
    return at + 1;
}

/* One more piece of the pattern; what follows it, NULL when it is not supported. */
static const char *piece(struct str_buf *out, const char *at, struct repeats *r)
{
    if (strchr("*+?{", *at)) {
        return repeat(out, at, r);
    }
    r->last = false;
    r->closed = 0;
    if (*at == '\\' && at[1] != '\0') {
        return escape(out, at);
    }
    if (*at == '[') {
        return bracket(out, at);
    }
    if (*at == '(') {
        return open_group(out, at, r);
    }
    if (*at == ')') {
        return close_group(out, at, r);
    }
    if (*at == '}') {
        str_append_c(out, '\\');
    }
    str_append_c(out, *at);
    return at + 1;
}

bool ce_regex_to_posix(struct str_buf *out, const char *pattern, bool *ret_no_case)
{
    struct repeats r = {.copies = 1};
    const char *at = pattern;
    *ret_no_case = str_has_prefix(at, "(?i)");
    if (*ret_no_case) {
        at += strlen("(?i)");
    }
    str_append(out, "^(");
    while (at && *at) {
        at = piece(out, at, &r);
    }
    str_append(out, ")$");
    return at != NULL;
}
