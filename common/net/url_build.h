/* SPDX-License-Identifier: Apache-2.0 */
/* url_build.h: the one place where URLs and paths of resources are put together.
 *
 * A name from a Service, a configuration or an answer becomes exactly one segment of a path or one
 * value of a query: it is escaped (RFC 3986; the characters that Go's url.PathEscape and
 * url.QueryEscape leave alone), and refused where no escaping would keep a server from reading
 * something else in it.
 *
 *     struct url_build b;
 *     url_build_begin(&b, "https://management.azure.com");
 *     url_build_segment(&b, "subscription", id);
 *     url_build_pair(&b, "api-version", "2025-05-01");
 *     return url_build_end(&b, a, &url, err);
 *
 * Lint refuses other ways outside common/net: printing "/%s/" and "?name=%s", and escaping by hand.
 * Pure; a builder belongs to one thread. */
#ifndef TRIMTAB_NET_URL_BUILD_H
#define TRIMTAB_NET_URL_BUILD_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/base/str.h"

#include <stdbool.h>
#include <stddef.h>

/* A URL under construction.  The members are the builder's own. */
struct url_build {
    struct str_buf text;
    bool has_query;
    struct err err; /* the first refusal; nothing is added after it */
};

/* Begins with `base`: scheme, host and perhaps a path and a query, from a configuration or a
 * constant; "" begins a bare path.  It is taken as it is; a '/' at its end stands for the one
 * before the first segment.  NULL counts as "". */
void url_build_begin(struct url_build *b, const char *base);
/* Adds '/' and one segment.  `what` names it in a refusal ("resource group").  Refuses NULL, an
 * empty text, "." and "..", '/', '?', '#', '%', and control characters (U+0000 to U+001F,
 * U+007F to U+009F). */
void url_build_segment(struct url_build *b, const char *what, const char *text);
/* Adds the segments of a path that is not escaped yet: words of an API
 * ("providers/Microsoft.Network"), an ID that a server printed or url_resource_path() made.  One
 * '/' at its beginning is dropped.  Each segment is checked and escaped as above. */
void url_build_path(struct url_build *b, const char *what, const char *path);
/* Adds what another builder made: a path or a query with its escapes.  "" and NULL add nothing. */
void url_build_built_path(struct url_build *b, const char *path);
void url_build_built_query(struct url_build *b, const char *query);
/* Adds one pair of the query, both sides escaped; a blank becomes '+'.  A NULL value
 * counts as "". */
void url_build_pair(struct url_build *b, const char *name, const char *value);
/* Ends.  The text is the arena's.  ERR_INVALID with the first refusal ("resource group "a/b" cannot
 * be part of a path: it holds '/'").  The builder is free afterwards and may begin
 * again.  `err` may be NULL. */
int url_build_end(struct url_build *b, struct arena *a, const char **ret,
                  struct err *err) _warn_unused_;

/* The same for a builder that was given words of an API and pairs, but no names: it
 * cannot refuse (asserted). */
const char *url_build_text(struct url_build *b, struct arena *a);

/* Adds name=value to a query or a form, both sides escaped, with '&' before it unless
 * `query` is empty. */
void url_append_pair(struct str_buf *query, const char *name, const char *value);

/* The name of a resource as clouds print it in documents: `base`, then a '/' before each of the n
 * segments ("/subscriptions/S/resourceGroups/G"); a '/' at the end of `base` is the first of them.
 * It is text to store and compare, no URL: nothing is escaped but what would make another resource
 * of it ('/', '?', '#', '%', control characters, the dots of "." and ".."), so the path has as many
 * segments as were given, and url_build_path() refuses it.  NULL counts as "".  The text
 * is the arena's. */
char *url_resource_path(struct arena *a, const char *base, const char *const *segments, size_t n);
#define URL_RESOURCE_PATH(a, base, ...)                                                            \
    url_resource_path((a), (base), (const char *const[]){__VA_ARGS__},                             \
                      sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

/* Joins two such names, or an origin and a path, with one '/' between them.  Both were built
 * already: nothing is escaped and nothing is checked. */
char *url_join(struct arena *a, const char *base, const char *path);

/* Says why a text cannot be one segment of a path ("it holds '/'"), or NULL if it can.  Static. */
const char *url_segment_fault(const char *text);

/* The last look at a URL before it is sent, however it was built.  ERR_INVALID for a '#', a control
 * character (raw, or escaped in the path), and a segment of the path that is a dot segment raw or
 * after decoding ("..", "%2e%2E", "a%2F..").  The message does not repeat the URL. */
int url_check_sent(const char *url, struct err *err) _warn_unused_;

#endif
