/* SPDX-License-Identifier: Apache-2.0 */
/* url_build.c: puts URLs and paths of resources together (url_build.h).
 *
 * Owns what may stand in a segment: a server that decodes a segment once too often, or resolves
 * dots after decoding, must not find another path in it.  So '%' is refused beside '/', and both
 * dot segments.
 * Must not know a cloud's rules of names; those are the providers' *_name_rules.c.  Pure. */
#include "common/net/url_build.h"

#include <assert.h>
#include <string.h>

#include "common/net/url.h"

/* ---- segments -------------------------------------------------------------------------------- */

/* Bytes at `s` that are one control character: U+0000 to U+001F, U+007F, and U+0080 to U+009F in
 * UTF-8; else 0. */
static size_t control_bytes(const char *s)
{
    unsigned char c = (unsigned char)s[0];
    unsigned char next = c == '\0' ? 0 : (unsigned char)s[1];
    if (c < 0x20 || c == 0x7f) {
        return 1;
    }
    return c == 0xc2 && next >= 0x80 && next <= 0x9f ? 2 : 0;
}

static bool is_dots(const char *s, size_t n)
{
    return (n == 1 && s[0] == '.') || (n == 2 && s[0] == '.' && s[1] == '.');
}

const char *url_segment_fault(const char *text)
{
    static const struct {
        char c;
        const char *why;
    } kept_out[] = {
        {'/', "it holds '/'"}, {'?', "it holds '?'"}, {'#', "it holds '#'"}, {'%', "it holds '%'"}};
    if (str_is_empty(text)) {
        return "it is empty";
    }
    if (is_dots(text, strlen(text))) {
        return "it is a dot segment";
    }
    for (const char *s = text; *s != '\0'; s++) {
        if (control_bytes(s) > 0) {
            return "it holds a control character";
        }
        for (size_t i = 0; i < ARRAY_LEN(kept_out); i++) {
            if (*s == kept_out[i].c) {
                return kept_out[i].why;
            }
        }
    }
    return NULL;
}

/* ---- the builder ----------------------------------------------------------------------------- */

void url_build_begin(struct url_build *b, const char *base)
{
    *b = (struct url_build){0};
    base = str_nonnull(base);
    b->has_query = strchr(base, '?') != NULL;
    str_append(&b->text, base);
}

void url_build_segment(struct url_build *b, const char *what, const char *text)
{
    if (b->err.code != ERR_OK) {
        return;
    }
    if (b->has_query) {
        (void)err_set(&b->err, ERR_BUG, "%s comes after the query of a URL", what);
        return;
    }
    const char *why = url_segment_fault(text);
    if (why != NULL) {
        (void)err_set(&b->err, ERR_INVALID, "%s \"%.253s\" cannot be part of a path: %s", what,
                      str_nonnull(text), why);
        return;
    }
    if (!str_has_suffix(str_buf_text(&b->text), "/")) {
        str_append_c(&b->text, '/');
    }
    url_append_path_escaped(&b->text, text);
}

void url_build_path(struct url_build *b, const char *what, const char *path)
{
    _cleanup_(str_buf_done) struct str_buf segment = STR_BUF_INIT;
    path = str_nonnull(path);
    path += path[0] == '/';
    for (bool more = true; more;) {
        size_t n = strcspn(path, "/");
        str_buf_reset(&segment);
        str_append_n(&segment, path, n);
        url_build_segment(b, what, str_buf_text(&segment));
        more = path[n] == '/';
        path += n + more;
    }
}

void url_build_built_path(struct url_build *b, const char *path)
{
    if (b->err.code == ERR_OK) {
        bool twice = str_has_suffix(str_buf_text(&b->text), "/") && str_nonnull(path)[0] == '/';
        str_append(&b->text, twice ? path + 1 : path);
    }
}

void url_build_built_query(struct url_build *b, const char *query)
{
    if (b->err.code == ERR_OK && !str_is_empty(query)) {
        str_append_c(&b->text, b->has_query ? '&' : '?');
        str_append(&b->text, query);
        b->has_query = true;
    }
}

void url_build_pair(struct url_build *b, const char *name, const char *value)
{
    _cleanup_(str_buf_done) struct str_buf pair = STR_BUF_INIT;
    url_append_pair(&pair, name, value);
    url_build_built_query(b, str_buf_text(&pair));
}

int url_build_end(struct url_build *b, struct arena *a, const char **ret, struct err *err)
{
    int rc = b->err.code;
    if (rc == ERR_OK) {
        *ret = str_buf_to_arena(&b->text, a);
    } else {
        (void)err_copy(err, &b->err);
    }
    str_buf_done(&b->text);
    return rc;
}

const char *url_build_text(struct url_build *b, struct arena *a)
{
    const char *text = "";
    struct err err = ERR_INIT;
    int rc = url_build_end(b, a, &text, &err);
    assert(rc == ERR_OK);
    return rc == ERR_OK ? text : "";
}

void url_append_pair(struct str_buf *query, const char *name, const char *value)
{
    if (query->len > 0) {
        str_append_c(query, '&');
    }
    url_append_query_escaped(query, name);
    str_append_c(query, '=');
    url_append_query_escaped(query, str_nonnull(value));
}

/* ---- names of resources ---------------------------------------------------------------------- */

static void append_byte(struct str_buf *b, char c)
{
    static const char hex[] = "0123456789ABCDEF";
    unsigned char u = (unsigned char)c;
    str_append_c(b, '%');
    str_append_c(b, hex[u >> 4]);
    str_append_c(b, hex[u & 15]);
}

/* Bytes of `s` that certainly stay as they are, nearly all of nearly every name: ASCII behind '%',
 * the last of the marks that '#' and '%' are among. */
static size_t harmless_run(const char *s)
{
    size_t n = 0;
    while (s[n] > '%' && s[n] < 0x7f && s[n] != '/' && s[n] != '?') {
        n++;
    }
    return n;
}

static void append_harmless(struct str_buf *b, const char *segment)
{
    bool dots = is_dots(segment, strlen(segment));
    for (const char *s = segment; *s != '\0'; s++) {
        size_t plain = dots ? 0 : harmless_run(s);
        str_append_n(b, s, plain);
        s += plain;
        if (*s == '\0') {
            break;
        }
        size_t control = control_bytes(s);
        if (!dots && control == 0 && strchr("/?#%", *s) == NULL) {
            str_append_c(b, *s);
            continue;
        }
        append_byte(b, *s);
        if (control == 2) {
            append_byte(b, *++s);
        }
    }
}

char *url_join(struct arena *a, const char *base, const char *path)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    path = str_nonnull(path);
    str_append(&b, base);
    if (!str_has_suffix(str_buf_text(&b), "/")) {
        str_append_c(&b, '/');
    }
    str_append(&b, path + (path[0] == '/'));
    return str_buf_to_arena(&b, a);
}

char *url_resource_path(struct arena *a, const char *base, const char *const *segments, size_t n)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    str_append(&b, base);
    for (size_t i = 0; i < n; i++) {
        if (i > 0 || !str_has_suffix(str_buf_text(&b), "/")) {
            str_append_c(&b, '/');
        }
        append_harmless(&b, str_nonnull(segments[i]));
    }
    return str_buf_to_arena(&b, a);
}
