/* SPDX-License-Identifier: Apache-2.0 */
/* http_server_answer.c: the public face of a request: what a handler may ask and how it answers.
 *
 * Owns the bytes of answers: status line, Date-less headers, length or chunks.  An answer that
 * must not have a body (HEAD, 204, 304) keeps its headers and loses the body here, so handlers
 * need not care. After an ending (answer, end, drop) the request is freed; http_server.c continues
 * with the connection.
 * One thread, the loop's. */
#include <event2/bufferevent_ssl.h>
#include <string.h>

#include "common/net/http_server_internal.h"

static const char *reason_phrase(int status);

const char *http_req_method(const struct http_req *r)
{
    return r->method;
}

const char *http_req_target(const struct http_req *r)
{
    return r->target;
}

const char *http_req_header(const struct http_req *r, const char *name)
{
    for (size_t i = 0; i < r->n_headers; i++) {
        if (str_eq_nocase(r->headers[i].name, name)) {
            return r->headers[i].value;
        }
    }
    return NULL;
}

const char *http_req_header_at(const struct http_req *r, size_t i, const char **ret_name)
{
    if (i >= r->n_headers) {
        return NULL;
    }
    *ret_name = r->headers[i].name;
    return r->headers[i].value;
}

static SSL *ssl_of(const struct http_req *r)
{
    return r->conn->tls == NULL ? NULL : bufferevent_openssl_get_ssl(r->conn->bev);
}

X509 *http_req_client_cert(const struct http_req *r)
{
    SSL *ssl = ssl_of(r);
    return ssl == NULL ? NULL : SSL_get0_peer_certificate(ssl);
}

STACK_OF(X509) * http_req_client_chain(const struct http_req *r)
{
    SSL *ssl = ssl_of(r);
    return ssl == NULL ? NULL : SSL_get_peer_cert_chain(ssl);
}

const char *http_req_body(const struct http_req *r, size_t *ret_len)
{
    *ret_len = r->body.len;
    return str_buf_text(&r->body);
}

const char *http_req_peer(const struct http_req *r)
{
    return r->conn->peer;
}

struct arena *http_req_arena(struct http_req *r)
{
    return r->arena;
}

void http_req_on_gone(struct http_req *r, void (*fn)(void *arg), void *arg)
{
    r->on_gone = fn;
    r->on_gone_arg = arg;
}

void http_req_free(struct http_req *r)
{
    if (r != NULL) {
        str_buf_done(&r->body);
        str_buf_done(&r->out_headers);
        arena_free(r->arena);
        free(r);
    }
}

/* --- answers --------------------------------------------------------------------------------- */

void http_req_add_header(struct http_req *r, const char *name, const char *value)
{
    /* A line feed in a value that came from outside would let a client write our headers. */
    size_t n = strcspn(value, "\r\n");
    str_appendf(&r->out_headers, "%s: %.*s\r\n", name, (int)n, value);
}

static void write_head(struct http_req *r, int status, const char *framing)
{
    struct evbuffer *out = bufferevent_get_output(r->conn->bev);
    evbuffer_add_printf(out, "HTTP/1.1 %d %s\r\n%s%s%s%s\r\n", status, reason_phrase(status),
                        str_nonnull(r->conn->server->cfg.headers), str_buf_text(&r->out_headers),
                        framing, r->conn->keep_alive ? "" : "Connection: close\r\n");
}

static bool status_has_no_body(int status)
{
    return status < 200 || status == 204 || status == 304;
}

void http_req_answer(struct http_req *r, int status, const void *body, size_t n)
{
    char framing[64] = "";
    if (!status_has_no_body(status)) {
        snprintf(framing, sizeof(framing), "Content-Length: %zu\r\n", n);
    }
    write_head(r, status, framing);
    if (n > 0 && !status_has_no_body(status) && !str_eq(r->method, "HEAD")) {
        evbuffer_add(bufferevent_get_output(r->conn->bev), body, n);
    }
    conn_request_ended(r->conn);
}

static void free_body(const void *data, size_t n, void *arg)
{
    (void)data, (void)n;
    free(arg);
}

void http_req_answer_take(struct http_req *r, int status, struct str_buf *body)
{
    size_t n = body->len;
    if (n == 0 || status_has_no_body(status) || str_eq(r->method, "HEAD")) {
        http_req_answer(r, status, "", n);
        str_buf_done(body);
        return;
    }
    char framing[64];
    snprintf(framing, sizeof(framing), "Content-Length: %zu\r\n", n);
    write_head(r, status, framing);
    char *data = str_buf_steal(body);
    evbuffer_add_reference(bufferevent_get_output(r->conn->bev), data, n, free_body, data);
    conn_request_ended(r->conn);
}

void http_req_begin(struct http_req *r, int status)
{
    r->begun = true;
    r->no_body = status_has_no_body(status) || str_eq(r->method, "HEAD");
    r->chunked = !r->http10 && !status_has_no_body(status);
    if (r->http10) {
        r->conn->keep_alive = false; /* the end of the body is the end of the connection */
    }
    write_head(r, status, r->chunked ? "Transfer-Encoding: chunked\r\n" : "");
}

void http_req_chunk(struct http_req *r, const void *bytes, size_t n)
{
    if (n == 0 || r->no_body) {
        return; /* an empty chunk would end the answer */
    }
    struct evbuffer *out = bufferevent_get_output(r->conn->bev);
    if (r->chunked) {
        evbuffer_add_printf(out, "%zx\r\n", n);
    }
    evbuffer_add(out, bytes, n);
    if (r->chunked) {
        evbuffer_add(out, "\r\n", 2);
    }
}

void http_req_end(struct http_req *r)
{
    if (r->chunked && !r->no_body) {
        evbuffer_add(bufferevent_get_output(r->conn->bev), "0\r\n\r\n", 5);
    }
    conn_request_ended(r->conn);
}

void http_req_drop(struct http_req *r)
{
    r->on_gone = NULL; /* its caller drops it */
    conn_close(r->conn);
}

size_t http_req_backlog(const struct http_req *r)
{
    return evbuffer_get_length(bufferevent_get_output(r->conn->bev));
}

static const char *reason_phrase(int status)
{
    static const struct {
        int status;
        const char *phrase;
    } known[] = {
        {100, "Continue"},
        {200, "OK"},
        {201, "Created"},
        {202, "Accepted"},
        {204, "No Content"},
        {206, "Partial Content"},
        {301, "Moved Permanently"},
        {302, "Found"},
        {303, "See Other"},
        {304, "Not Modified"},
        {307, "Temporary Redirect"},
        {308, "Permanent Redirect"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {406, "Not Acceptable"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {410, "Gone"},
        {412, "Precondition Failed"},
        {413, "Content Too Large"},
        {415, "Unsupported Media Type"},
        {422, "Unprocessable Content"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {502, "Bad Gateway"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
        {505, "HTTP Version Not Supported"},
    };
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (known[i].status == status) {
            return known[i].phrase;
        }
    }
    return "Unknown";
}
