/* SPDX-License-Identifier: Apache-2.0 */
/* json_shallow.c: see json_shallow.h. */
#include "common/data/json_shallow.h"

#include <stdbool.h>
#include <string.h>

#include "common/base/plain_run.h"

#define NUL "\\u0000"

/* Where a scan stands; `at` is the next byte. */
struct scan {
    const char *text;
    size_t n;
    size_t at;
    size_t open; /* containers */
};

/* From a quote to behind the one that ends the string. */
static void skip_string(struct scan *s)
{
    s->at++;
    while (s->at < s->n && s->text[s->at] != '"') {
        size_t run = plain_run(s->text + s->at, s->n - s->at);
        bool is_escape = run == 0 && s->text[s->at] == '\\';
        s->at += run > 0 ? run : is_escape ? 2 : 1;
    }
    s->at = s->at < s->n ? s->at + 1 : s->n;
}

/* To the bracket that makes more than `depth` containers open, or that makes fewer than `least`;
 * false if there is none.  The bracket is not counted yet. */
static bool find(struct scan *s, size_t depth, size_t least)
{
    while (s->at < s->n) {
        char b = s->text[s->at];
        bool opens = b == '{' || b == '[';
        bool closes = (b == '}' || b == ']') && s->open > 0;
        if ((opens && s->open == depth) || (closes && s->open == least)) {
            return true;
        }
        s->open += opens;
        s->open -= closes;
        if (b == '"') {
            skip_string(s);
        } else {
            s->at++;
        }
    }
    return false;
}

/* In strings, where an escape is; the replacement is as long. */
static void replace_nuls(char *text, size_t n)
{
    size_t len = strlen(NUL);
    for (size_t at = 0; at + len <= n; at += text[at] == '\\' ? 2 : 1) {
        if (memcmp(text + at, NUL, len) == 0) {
            memcpy(text + at, "\\ufffd", len);
        }
    }
}

static const char *without_nuls(struct arena *a, const char *text, size_t n)
{
    if (memmem(text, n, NUL, strlen(NUL)) == NULL) {
        return text;
    }
    char *copy = arena_calloc(a, 1, n + 1);
    memcpy(copy, text, n);
    replace_nuls(copy, n);
    return copy;
}

const char *json_shallow(struct arena *a, const char *text, size_t *n, size_t depth)
{
    text = without_nuls(a, text, *n);
    struct scan s = {.text = text, .n = *n};
    char *copy = NULL;
    size_t len = 0;
    size_t from = 0; /* of what is still to be copied */
    while (find(&s, depth, 0)) {
        copy = copy == NULL ? arena_calloc(a, 1, *n + 1) : copy;
        memcpy(copy + len, text + from, s.at - from);
        len += s.at - from;
        copy[len++] = '0';
        s.at++;
        s.open++;
        s.at = find(&s, SIZE_MAX, depth + 1) ? s.at + 1 : *n;
        s.open = depth;
        from = s.at;
    }
    if (copy == NULL) {
        return text;
    }
    memcpy(copy + len, text + from, *n - from);
    *n = len + *n - from;
    return copy;
}
