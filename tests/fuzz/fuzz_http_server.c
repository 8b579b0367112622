/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_http_server.c: bytes of a client of the HTTP server, from the socket to what a page reads.
 *
 * Input: one byte that says in pieces of which size the rest arrives, then the bytes of a
 * connection.  What holds: each request that comes out is within the caps and well formed; a
 * refusal has a status of refusals; the same bytes in other pieces give the same requests. */
#include "common/net/http_server_internal.h"
#include "controller/serve/page.h"
#include "controller/serve/path.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

#define MAX_BODY    1000
#define MAX_HEADERS 2000

/* Results of a connection: requests, and the refusal that ended it (0: none). */
struct outcome {
    size_t requests, bodies, headers;
    int refused;
};

static void check_request(struct conn *c)
{
    struct http_req *r = c->req;
    FUZZ_CHECK(r->method != NULL && *r->method != '\0');
    FUZZ_CHECK(r->target != NULL && *r->target != '\0');
    FUZZ_CHECK(strpbrk(r->target, " \r\n") == NULL);
    FUZZ_CHECK(r->body.len <= MAX_BODY);
    FUZZ_CHECK(arena_used(r->arena) < (size_t)64 * 1024);
    for (size_t i = 0; i < r->n_headers; i++) {
        FUZZ_CHECK(strpbrk(r->headers[i].name, ": \t\r\n") == NULL);
        FUZZ_CHECK(strpbrk(r->headers[i].value, "\r\n") == NULL);
    }
    struct page_request page = {.a = r->arena};
    page.path = path_of_target(r->arena, r->target, &page.query);
    if (page.path != NULL) {
        size_t n;
        (void)page_query_all(&page, "verbose", &n);
        FUZZ_CHECK(page_query_has(&page, "verbose") == (n > 0));
    }
}

/* As conn_run() does it; false: nothing more is read from this connection. */
static bool feed(struct conn *c, struct evbuffer *in, struct outcome *o)
{
    int status = 0;
    enum parse_result result;
    do {
        result = conn_parse(c, in, &status);
        if (result == PARSE_REQUEST) {
            check_request(c);
            o->requests++;
            o->bodies += c->req->body.len;
            o->headers += c->req->n_headers;
            http_req_free(STEAL(c->req));
            c->state = CONN_READING_HEAD;
            c->head_bytes = 0;
        }
    } while (result == PARSE_REQUEST || result == PARSE_CONTINUE);
    if (result == PARSE_REFUSE) {
        FUZZ_CHECK(status == 400 || status == 413 || status == 431 || status == 501 ||
                   status == 505);
        o->refused = status;
        return false;
    }
    FUZZ_CHECK(evbuffer_get_length(in) <= MAX_HEADERS + MAX_BODY + 256 || c->req == NULL);
    return true;
}

static struct outcome run(const uint8_t *data, size_t size, size_t piece)
{
    struct http_server server = {.cfg = {.max_body = MAX_BODY, .max_headers = MAX_HEADERS}};
    struct conn c = {.server = &server};
    struct outcome o = {0};
    struct evbuffer *in = evbuffer_new();
    for (size_t at = 0; at < size; at += piece) {
        evbuffer_add(in, data + at, piece < size - at ? piece : size - at);
        if (!feed(&c, in, &o)) {
            break;
        }
    }
    http_req_free(c.req);
    evbuffer_free(in);
    return o;
}

FUZZ_TARGET(http_server, const uint8_t *data, size_t size)
{
    if (size < 2) {
        return 0;
    }
    size_t piece = 1 + data[0] % 64;
    struct outcome whole = run(data + 1, size - 1, size);
    struct outcome cut = run(data + 1, size - 1, piece);
    FUZZ_CHECK(whole.requests == cut.requests && whole.bodies == cut.bodies);
    FUZZ_CHECK(whole.headers == cut.headers && whole.refused == cut.refused);
    return 0;
}
