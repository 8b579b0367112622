/* SPDX-License-Identifier: Apache-2.0 */
/* http_server.h: a small HTTP/1.1 server over libevent, plain or TLS, for the simulator and
 * (later) for health and metrics.
 *
 * One event loop, one thread: handlers run in it and must not block.  A handler answers at once,
 * later (from a timer), in pieces (watches), or never (a fault that hangs).  Requests and answers
 * are capped. A request object is valid until it is answered, dropped, or its `on_gone` was
 * called because the client left; after that it must not be touched. */
#ifndef TRIMTAB_NET_HTTP_SERVER_H
#define TRIMTAB_NET_HTTP_SERVER_H

#include "common/base/arena.h"
#include "common/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_base;
struct http_server;
struct http_req;

struct http_server_config {
    const char *address;      /* numeric; "127.0.0.1" */
    uint16_t port;            /* 0: any free one */
    const char *tls_cert_pem; /* both NULL: plain HTTP */
    const char *tls_key_pem;
    const char
        *tls_client_ca_pem; /* clients must show a certificate of this CA; NULL: none is asked */
    size_t max_body;        /* 0 = 16 MiB; larger requests get 413 */
    size_t max_headers;     /* 0 = 64 KiB */
    int64_t idle_ms;        /* keep-alive connections; 0 = 120,000 */
    void (*handle)(void *arg, struct http_req *req);
    void *arg;
};

/* Binds and listens; the loop is the caller's (event_base_dispatch).  SIGPIPE is ignored from
 * then on. ERR_INVALID / ERR_IN_USE. */
int http_server_new(struct event_base *base, const struct http_server_config *cfg,
                    struct http_server **ret, struct err *err) _warn_unused_;
void http_server_free(struct http_server *s); /* closes all connections */
uint16_t http_server_port(const struct http_server *s);

/* The request.  Strings are borrowed from it. */
const char *http_req_method(const struct http_req *r); /* "GET", "PATCH" … */
const char *http_req_target(const struct http_req *r); /* raw path with query */
const char *http_req_path(const struct http_req *r);   /* raw path */
const char *http_req_query(const struct http_req *r);  /* raw query or NULL */
const char *http_req_header(const struct http_req *r, const char *name);
const char *http_req_body(const struct http_req *r, size_t *ret_len); /* NUL-terminated */
const char *http_req_peer(const struct http_req *r);                  /* "127.0.0.1:54321" */
/* Memory with the life of the request. */
struct arena *http_req_arena(struct http_req *r);
/* Called when the client leaves before the answer is complete; the request is gone after it. */
void http_req_on_gone(struct http_req *r, void (*fn)(void *arg), void *arg);

/* Answers: headers first (any number), then exactly one of the endings. */
void http_req_add_header(struct http_req *r, const char *name, const char *value);
void http_req_answer(struct http_req *r, int status, const void *body, size_t n);
void http_req_begin(struct http_req *r, int status);                  /* chunked answer */
void http_req_chunk(struct http_req *r, const void *bytes, size_t n); /* flushed at once */
void http_req_end(struct http_req *r);
void http_req_drop(struct http_req *r); /* closes the connection, no answer */
/* Bytes that wait to be sent to this client: for bounding slow watchers. */
size_t http_req_backlog(const struct http_req *r);

#endif
