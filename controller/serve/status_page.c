/* SPDX-License-Identifier: Apache-2.0 */
/* status_page.c: see status_page.h; what it looks like is status_html.c's and
 * ../status_json.c's. */
#include "controller/serve/status_page.h"

#include <string.h>

/* The page is text and a style sheet of its own: a browser loads and runs nothing for it, and no
 * other page shows it in a frame. */
static const struct page_header guards[] = {
    {"Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; "
                                "form-action 'none'; frame-ancestors 'none'"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
};

/* As the API server says no, so that its clients know how to read it. */
static void failure_json(struct str_buf *b, int status, const char *message)
{
    str_appendf(b,
                "{\"kind\": \"Status\", \"apiVersion\": \"v1\", \"status\": \"Failure\", "
                "\"reason\": \"%s\", \"code\": %d, \"message\": ",
                status == 404 ? "NotFound" : "ServiceUnavailable", status);
    str_append_json_quoted(b, message);
    str_append(b, "}\n");
}

void status_page_answer(void *page, const struct page_request *req, struct page_answer *ret)
{
    const struct status_page *p = page;
    struct status_view view = {.version = "", .provider = "", .cluster = ""};
    size_t n_service = 0;
    size_t n_ns = 0;
    size_t n_output = 0;
    const char *const *service = page_query_all(req, "service", &n_service);
    const char *const *ns = page_query_all(req, "ns", &n_ns);
    const char *const *output = page_query_all(req, "o", &n_output);
    bool json =
        (n_output > 0 && strcmp(output[0], "json") == 0) || str_has_prefix(req->accept, PAGE_JSON);
    struct status_filter filter = {
        .service = n_service > 0 && *service[0] != '\0' ? service[0] : NULL,
        .ns = n_ns > 0 ? ns[0] : NULL,
        .most = json || page_query_has(req, "all") ? 0 : STATUS_PAGE_ROWS,
    };

    struct err err = ERR_INIT;

    view.one = filter.service;
    p->look(p->arg, req->a, &view);
    ret->nosniff = true;
    for (size_t i = 0; i < ARRAY_LEN(guards); i++) {
        ret->headers[ret->n_headers++] = guards[i];
    }
    if (status_absent(&view, &filter, req->a, &err) != ERR_OK) {
        filter.absent = err.message;
        filter.not_read = err.code != ERR_NOT_FOUND;
        ret->status = err.code == ERR_NOT_FOUND ? 404 : 503;
    }
    ret->content_type = json ? PAGE_JSON : PAGE_HTML;
    if (json && filter.absent != NULL) {
        failure_json(&ret->body, ret->status, filter.absent);
    } else if (json) {
        status_json(&ret->body, &view, &filter);
    } else {
        status_html(&ret->body, &view, &filter);
    }
}
