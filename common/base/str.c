/* SPDX-License-Identifier: Apache-2.0 */
/* str.c: the growing text buffer.
 *
 * Keeps the promise of str.h that data is NUL-terminated after its first use.  Growth is by
 * doubling.  Quoting is in str_quote.c, helpers that build new strings in str_util.c.
 * No locale, no locks. */
#include "common/base/str.h"

#include <string.h>

#include "common/base/format.h"

#define FIRST_CAP ((size_t)64)

/* Room for `more` bytes and the NUL; the sum cannot overflow because one object fits in memory
 * twice at most before realloc refuses it. */
void str_buf_reserve(struct str_buf *b, size_t more)
{
    size_t need = b->len + more + 1;
    if (b->data != NULL && need <= b->cap) {
        return;
    }
    size_t cap = b->cap > 0 ? b->cap : FIRST_CAP;
    while (cap < need) {
        cap = cap > SIZE_MAX / 2 ? need : cap * 2;
    }
    b->data = xrealloc(b->data, cap);
    b->cap = cap;
}

void str_buf_done(struct str_buf *b)
{
    free(b->data);
    *b = STR_BUF_INIT;
}

void str_buf_reset(struct str_buf *b)
{
    b->len = 0;
    if (b->data != NULL) {
        b->data[0] = '\0';
    }
}

void str_append(struct str_buf *b, const char *s)
{
    if (s != NULL) {
        str_append_n(b, s, strlen(s));
    }
}

static inline void reserve(struct str_buf *b, size_t more)
{
    if (b->data == NULL || b->cap - b->len <= more) {
        str_buf_reserve(b, more);
    }
}

void str_append_n(struct str_buf *b, const void *p, size_t n)
{
    reserve(b, n);
    if (n > 0) {
        memcpy(b->data + b->len, p, n);
    }
    b->len += n;
    b->data[b->len] = '\0';
}

void str_append_c(struct str_buf *b, char c)
{
    reserve(b, 1);
    b->data[b->len++] = c;
    b->data[b->len] = '\0';
}

void str_appendf(struct str_buf *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    str_vappendf(b, fmt, ap);
    va_end(ap);
}

void str_vappendf(struct str_buf *b, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    reserve(b, FIRST_CAP - 1); /* most texts are short, and are formatted once only */
    size_t room = b->cap - b->len;
    int len = format_text(b->data + b->len, room, fmt, again);
    va_end(again);
    if (len < 0) {
        b->data[b->len] = '\0';
        return; /* only a broken format, which the compiler refuses */
    }
    if ((size_t)len >= room) {
        str_buf_reserve(b, (size_t)len);
        (void)format_text(b->data + b->len, (size_t)len + 1, fmt, ap); /* fits: measured above */
    }
    b->len += (size_t)len;
}

const char *str_buf_text(const struct str_buf *b)
{
    return b->data != NULL ? b->data : "";
}

char *str_buf_steal(struct str_buf *b)
{
    str_buf_reserve(b, 0);
    b->data[b->len] = '\0';
    char *text = b->data;
    *b = STR_BUF_INIT;
    return text;
}

char *str_buf_to_arena(const struct str_buf *b, struct arena *a)
{
    return arena_memdup(a, str_buf_text(b), b->len + 1);
}
