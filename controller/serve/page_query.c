/* SPDX-License-Identifier: Apache-2.0 */
/* page_query.c: the query of a request, as Go's url.ParseQuery reads it: pairs between '&', '+' is
 * a blank, pairs that cannot be read (a bad escape, a ';') are left out.  And what pages answer
 * when something is wrong. */
#include "controller/serve/page.h"

#include <string.h>

#define VALUES_MAX 64 /* of one key; further ones are left out */

static int hex(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* NULL: a bad escape, or a NUL. */
static const char *decode(struct arena *a, const char *s, size_t n)
{
    char *out = arena_alloc(a, n + 1);
    size_t used = 0;

    for (size_t i = 0; i < n; i++) {
        char c = s[i] == '+' ? ' ' : s[i];
        if (c == '%') {
            int high = n - i > 2 ? hex(s[i + 1]) : -1;
            int low = n - i > 2 ? hex(s[i + 2]) : -1;
            if (high < 0 || low < 0 || high + low == 0) {
                return NULL;
            }
            c = (char)(high * 16 + low);
            i += 2;
        }
        out[used++] = c;
    }
    out[used] = '\0';
    return out;
}

/* The next pair of `*query`; false at its end.  Pairs that cannot be read have no key. */
static bool next_pair(struct arena *a, const char **query, const char **ret_key,
                      const char **ret_value)
{
    const char *at = *query;

    while (*at == '&') {
        at++;
    }
    if (*at == '\0') {
        return false;
    }
    size_t n = strcspn(at, "&");
    const char *equals = memchr(at, '=', n);
    size_t n_key = equals == NULL ? n : (size_t)(equals - at);
    *query = at + n;
    *ret_key = memchr(at, ';', n) != NULL ? NULL : decode(a, at, n_key);
    *ret_value = equals == NULL ? "" : decode(a, equals + 1, n - n_key - 1);
    if (*ret_value == NULL) {
        *ret_key = NULL;
    }
    return true;
}

const char *const *page_query_all(const struct page_request *req, const char *key, size_t *ret_n)
{
    const char **values = ARENA_ARRAY(req->a, const char *, VALUES_MAX);
    const char *query = str_nonnull(req->query);
    const char *name;
    const char *value;
    size_t n = 0;

    while (n < VALUES_MAX && next_pair(req->a, &query, &name, &value)) {
        if (str_eq(name, key)) {
            values[n++] = value;
        }
    }
    *ret_n = n;
    return values;
}

bool page_query_has(const struct page_request *req, const char *key)
{
    size_t n = 0;

    (void)page_query_all(req, key, &n);
    return n > 0;
}

void page_fail(struct page_answer *ret, int status, const char *text)
{
    ret->status = status;
    ret->content_type = PAGE_TEXT;
    ret->nosniff = true;
    str_buf_reset(&ret->body);
    str_append(&ret->body, text);
    str_append_c(&ret->body, '\n');
}
