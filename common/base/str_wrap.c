/* SPDX-License-Identifier: Apache-2.0 */
/* str_wrap.c: text in columns, for what people read on a terminal: plans, explanations, --help.
 *
 * A column is a character, not a byte: continuation bytes of UTF-8 take no room.  (No wide
 * characters occur in names of clouds or in our texts.)  Words are never cut: people paste them. */
#include "common/base/str.h"

#include <string.h>

static size_t columns(const char *s, size_t n)
{
    size_t wide = 0;
    for (size_t i = 0; i < n; i++) {
        wide += ((unsigned char)s[i] & 0xC0) != 0x80;
    }
    return wide;
}

size_t str_columns(const char *s)
{
    return s == NULL ? 0 : columns(s, strlen(s));
}

size_t str_buf_columns(const struct str_buf *b)
{
    return b->columns > 0 ? b->columns : STR_COLUMNS;
}

void str_append_wrapped(struct str_buf *b, const char *text, size_t at, size_t indent)
{
    bool first = true;
    for (const char *word = text; *word != '\0';) {
        size_t bytes = strcspn(word, " ");
        size_t wide = columns(word, bytes);
        if (!first && at + 1 + wide > str_buf_columns(b)) {
            str_appendf(b, "\n%*s", (int)indent, "");
            at = indent;
        } else if (!first) {
            str_append_c(b, ' ');
            at++;
        }
        str_append_n(b, word, bytes);
        at += wide;
        first = false;
        word += bytes;
        word += strspn(word, " ");
    }
}
