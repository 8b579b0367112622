/* SPDX-License-Identifier: Apache-2.0 */
/* regex_text.c: RE2 patterns of list filters as POSIX extended ones.
 *
 * The cloud matches filters with RE2; the C library has POSIX expressions.  What differs and is used in filters is
 * rewritten: (?:…), the classes \d \w \s in and outside of brackets, lazy repeats, a leading (?i).  Other (?…)
 * groups are refused.  Pure. */
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

bool ce_regex_to_posix(struct str_buf *out, const char *pattern, bool *ret_no_case)
{
    const char *at = pattern;
    *ret_no_case = str_has_prefix(at, "(?i)");
    if (*ret_no_case) {
        at += strlen("(?i)");
    }
    str_append(out, "^(");
    while (*at) {
        if (*at == '\\' && at[1] != '\0') {
            at = escape(out, at);
        } else if (*at == '[') {
            at = bracket(out, at);
            if (!at) {
                return false;
            }
        } else if (*at == '(' && at[1] == '?') {
            if (at[2] != ':') {
                return false;
            }
            str_append_c(out, '(');
            at += 3;
        } else if (strchr("*+?}", *at) && at[1] == '?') {
            str_append_c(out, *at); /* a lazy repeat matches the same whole texts */
            at += 2;
        } else {
            str_append_c(out, *at++);
        }
    }
    str_append(out, ")$");
    return true;
}
