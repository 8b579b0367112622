/* SPDX-License-Identifier: Apache-2.0 */
/* str_clean.c: foreign text for people's eyes, in plain characters only.
 *
 * Annotations, manifests, plugins and answers of servers may hold characters that move a terminal's
 * cursor, turn the direction of a line, fake a line of ours, or show nothing.  All text for people
 * passes through str_clean_next(); JSON for programs keeps the characters, as \u escapes.  Pure
 * apart from the buffer appended to. */
#include "common/base/plain_run.h"
#include "common/base/str.h"
#include "common/base/utf8.h"

#include <stdio.h>
#include <string.h>

/* The letter behind the backslash for the control characters that have one, else 0. */
static char escape_letter(uint32_t rune)
{
    static const char letters[] = "abtnvfr"; /* 0x07 … 0x0D */
    return rune >= 0x07 && rune <= 0x0D ? letters[rune - 0x07] : '\0';
}

size_t str_escape_rune(uint32_t rune, char out[STR_CLEAN_MAX])
{
    char letter = escape_letter(rune);
    const char *form = rune < 0x80 ? "\\x%02x" : rune < 0x10000 ? "\\u%04x" : "\\U%08x";
    int n = letter != '\0' ? snprintf(out, STR_CLEAN_MAX, "\\%c", letter)
                           : snprintf(out, STR_CLEAN_MAX, form, (unsigned)rune);
    return (size_t)n;
}

static bool is_break(uint32_t rune)
{
    return rune >= 0x09 && rune <= 0x0D;
}

size_t str_clean_next(const char *s, size_t n, enum str_breaks breaks, char out[STR_CLEAN_MAX],
                      size_t *ret_len)
{
    uint32_t rune;
    size_t len = utf8_decode(s, n, &rune);
    if (len == 0) {
        *ret_len = (size_t)snprintf(out, STR_CLEAN_MAX, "\\x%02x", (unsigned)(unsigned char)s[0]);
        return 1;
    }
    if (unicode_is_visible(rune) || (rune == '\n' && breaks == STR_BREAKS_KEPT)) {
        memcpy(out, s, len);
        *ret_len = len;
    } else if (breaks == STR_BREAKS_BLANK && is_break(rune)) {
        out[0] = ' ';
        *ret_len = 1;
    } else {
        *ret_len = str_escape_rune(rune, out);
    }
    return len;
}

void str_append_clean(struct str_buf *b, const char *s, enum str_breaks breaks)
{
    size_t n = s != NULL ? strlen(s) : 0;
    for (size_t i = 0; i < n;) {
        size_t run = plain_run_visible(s + i, n - i); /* nearly all of nearly every text */
        str_append_n(b, s + i, run);
        i += run;
        if (i < n) {
            char out[STR_CLEAN_MAX];
            size_t len;
            i += str_clean_next(s + i, n - i, breaks, out, &len);
            str_append_n(b, out, len);
        }
    }
}

static bool is_clean(const char *s)
{
    size_t n = strlen(s);
    for (size_t i = plain_run_visible(s, n); i < n; i += plain_run_visible(s + i, n - i)) {
        uint32_t rune;
        size_t len = utf8_decode(s + i, n - i, &rune);
        if (len == 0 || !unicode_is_visible(rune)) {
            return false;
        }
        i += len;
    }
    return true;
}

const char *str_clean(struct arena *a, const char *s)
{
    if (s == NULL || is_clean(s)) {
        return s;
    }
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    str_append_clean(&b, s, STR_BREAKS_SHOWN);
    return str_buf_to_arena(&b, a);
}

const char *const *str_clean_all(struct arena *a, const char *const *items, size_t n)
{
    const char **clean = ARENA_ARRAY(a, const char *, n);
    for (size_t i = 0; i < n; i++) {
        clean[i] = str_clean(a, items[i]);
    }
    return clean;
}
