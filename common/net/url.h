/* SPDX-License-Identifier: Apache-2.0 */
/* url.h: taking URLs apart and putting them together.
 *
 * RFC 3986 as far as HTTP clients and servers here need it: scheme, user info, host (IPv6 in
 * brackets), port, path, query.  Percent coding is that of Go's net/url (PathEscape,
 * QueryEscape).  Pure. */
#ifndef TRIMTAB_NET_URL_H
#define TRIMTAB_NET_URL_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct url {
    const char *scheme;   /* lower case; "http", "https", "socks5" … */
    const char *userinfo; /* raw "user:password", or NULL */
    const char *host;     /* lower case, without brackets */
    uint16_t port;        /* explicit, else the scheme's default (80, 443, 1080), else 0 */
    bool has_port;        /* it was written */
    const char *path;     /* raw, "" when none */
    const char *query;    /* raw, without '?'; NULL when none */
};

int url_parse(struct arena *a, const char *text, struct url *ret, struct err *err) _warn_unused_;
/* "http://127.0.0.1:80" form: scheme, brackets where needed, port when written; no path. */
char *url_origin(struct arena *a, const struct url *u);
/* Escapes one path segment ('/' too) / one query value (blank becomes '+'). */
void url_append_path_escaped(struct str_buf *b, const char *segment);
void url_append_query_escaped(struct str_buf *b, const char *value);
/* Decodes %XX (and '+' when `query`); NULL when malformed or when a NUL comes out. */
char *url_unescape(struct arena *a, const char *s, bool query);

struct url_param {
    const char *name;  /* decoded */
    const char *value; /* decoded; "" when there is no '=' */
};
/* Splits a raw query in order; malformed pairs are an error.  NULL gives none. */
int url_query_parse(struct arena *a, const char *query, struct url_param **ret, size_t *ret_n,
                    struct err *err) _warn_unused_;
/* First value of that name, or NULL. */
const char *url_query_get(const struct url_param *p, size_t n, const char *name);
/* Appends ?k=v or &k=v (escaped) to a URL under construction. */
void url_append_param(struct str_buf *b, const char *name, const char *value);

#endif
