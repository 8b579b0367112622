/* SPDX-License-Identifier: Apache-2.0 */
/* page.h: what answers a path of the HTTPS server: a function of a request, nothing else.
 *
 * Pages run in the event loop's thread and must not block: they print what is in memory.  Who may
 * see a page was decided before (access.h); a page never asks who calls.  serve.c owns the table of
 * all pages; a page's file owns its text.  HEAD is answered as GET without the body, by serve.c. */
#ifndef TRIMTAB_SERVE_PAGE_H
#define TRIMTAB_SERVE_PAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/arena.h"
#include "common/base/str.h"

#define PAGE_METHOD_GET    1u /* and HEAD */
#define PAGE_METHOD_PUT    2u
#define PAGE_METHOD_DELETE 4u

#define PAGE_TEXT "text/plain; charset=utf-8"
#define PAGE_JSON "application/json"
#define PAGE_HTML "text/html; charset=utf-8"

/* Borrowed for the call. */
struct page_request {
    struct arena *a;    /* the request's */
    const char *method; /* "GET", "PUT", "DELETE" */
    const char *path;   /* decoded, without query: "/healthz" */
    const char *query;  /* raw, or "" */
    const char *accept; /* header Accept, or "" */
    const char *body;   /* NUL-terminated */
    size_t body_len;
};
#define PAGE_HEADERS_MAX 4

/* A further header of an answer; texts are static, or in the request's arena. */
struct page_header {
    const char *name;
    const char *value; /* without line breaks */
};
/* To be filled.  Comes with status 200 and PAGE_TEXT. */
struct page_answer {
    int status;
    const char *content_type; /* static, or in the request's arena */
    bool nosniff;             /* X-Content-Type-Options: nosniff */
    struct page_header headers[PAGE_HEADERS_MAX];
    size_t n_headers;
    struct str_buf body;
};
/* Fills an answer that says what is wrong, as Go's http.Error does: the text and a
 * line end, nosniff. */
void page_fail(struct page_answer *ret, int status, const char *text);
typedef void page_answer_fn(void *arg, const struct page_request *req, struct page_answer *ret);

struct page {
    const char *path; /* "/healthz" */
    bool below;       /* also everything below it: "/healthz/x" */
    unsigned methods; /* PAGE_METHOD_…; another one is 405 */
    page_answer_fn *answer;
    void *arg;
    /* /statusz does not name it: it answers 404, and says which tool is there instead */
    bool unlisted;
};

/* True when the raw query has this key, with or without a value (pages of the
 * API server: "?verbose"). */
bool page_query_has(const struct page_request *req, const char *key);
/* All values of a key, decoded, in the arena. */
const char *const *page_query_all(const struct page_request *req, const char *key, size_t *ret_n);

#endif
