/* SPDX-License-Identifier: Apache-2.0 */
/* http_server.h: a small HTTP/1.1 server over libevent, plain or TLS: for the simulator, and for
 * health, metrics and status of the controller.
 *
 * One event loop, one thread: handlers run in it and must not block.  A handler answers at once,
 * later (from a timer), in pieces (watches), or never (a fault that hangs).  Requests and answers
 * are capped. A request object is valid until it is answered, dropped, or its `on_gone` was
 * called because the client left; after that it must not be touched. */
#ifndef TRIMTAB_NET_HTTP_SERVER_H
#define TRIMTAB_NET_HTTP_SERVER_H

#include "common/base/arena.h"
#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/base/str.h"
#include "common/net/http_server_tls.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_base;
struct http_server;
struct http_req;

struct http_server_config {
    const char *address; /* numeric; "127.0.0.1" */
    uint16_t port;       /* 0: any free one */
    bool all_families;   /* "0.0.0.0" or "::" stand for every address of both families */
    bool share_port;     /* SO_REUSEPORT: several processes may listen */
    bool paused;         /* listens, but accepts no connection before http_server_resume() */

    /* TLS: a pair, or everything (then counted up).  All NULL: plain HTTP. */
    const char *tls_cert_pem;
    const char *tls_key_pem;
    /* clients must show a certificate of this CA; NULL: none is asked */
    const char *tls_client_ca_pem;
    struct server_tls *tls;

    /* How much: a client that wants more is refused or closed. */
    size_t max_body;    /* 0 = 16 MiB; larger requests get 413 */
    size_t max_headers; /* 0 = 64 KiB; request line and headers; more gets 431 */
    /* Connections at a time; 0 = no limit.  When all are taken, or no file descriptor is left, the
     * one that has been without a request for longest is closed for the new one; when all are at
     * work, the new one is closed. */
    size_t max_connections;
    /* TLS handshakes in progress; 0 = no limit.  One takes 40 KiB; a client that has not begun yet
     * takes next to nothing.  Above it the oldest one is closed. */
    size_t max_handshakes;
    /* Bytes of unfinished requests and unread answers of all connections; 0 = no limit.  Above
     * it the oldest connections that hold some are closed. */
    size_t max_held;

    /* How long, in ms.  Those that say "whole" cannot be stretched by sending a byte
     * now and then. */
    int64_t handshake_ms; /* TLS, whole; 0 = 60,000 */
    int64_t read_ms;      /* a request from its first byte to its last, whole; 0 = 600,000 */
    int64_t send_ms;      /* until a finished answer is taken, whole; 0 = 600,000 */
    int64_t idle_ms;      /* keep-alive connections, and writing without progress; 0 = 120,000 */
    struct clock *clock;  /* NULL: the real one.  With a fake one call http_server_sweep() */

    const char *headers; /* added to every answer: "Name: value\r\n"…; static; NULL: none */
    void (*handle)(void *arg, struct http_req *req);
    /* Something that an operator should know ("all 100 connections are taken …"), as often as it
     * happens; NULL: not reported. */
    void (*notice)(void *arg, const char *what);
    void *arg; /* of handle and notice */
};

/* Binds and listens; the loop is the caller's (event_base_dispatch).  SIGPIPE is ignored from
 * then on. ERR_INVALID / ERR_IN_USE. */
int http_server_new(struct event_base *base, const struct http_server_config *cfg,
                    struct http_server **ret, struct err *err) _warn_unused_;
void http_server_free(struct http_server *s); /* closes all connections */
/* Frees a loop in which servers lived, after them and all else in it, in place of
 * event_base_free(): what a TLS connection has just sent is reported to it in the loop's next turn,
 * and libevent forgets the connection, its socket included, when that turn never comes. */
void http_server_free_loop(struct event_base *base);
/* Makes a loop; TRANSIENT if no file descriptor is free.  Freed by http_server_free_loop(). */
int http_server_new_loop(struct event_base **ret, struct err *err) _warn_unused_;
uint16_t http_server_port(const struct http_server *s);
/* From now on new connections use `tls` (counted up); those that are open keep what they have. */
void http_server_set_tls(struct http_server *s, struct server_tls *tls);
/* Ends `paused`. */
void http_server_resume(struct http_server *s);
/* Closes what has overstayed.  A timer does it by itself; for owners of a fake clock. */
void http_server_sweep(struct http_server *s);
size_t http_server_connections(const struct http_server *s);
size_t http_server_held(const struct http_server *s); /* see max_held */

/* The request.  Strings are borrowed from it. */
const char *http_req_method(const struct http_req *r); /* "GET", "PATCH" … */
const char *http_req_target(const struct http_req *r); /* raw path with query */
const char *http_req_header(const struct http_req *r, const char *name);
/* The i-th header as it came; NULL: no more. */
const char *http_req_header_at(const struct http_req *r, size_t i, const char **ret_name);
const char *http_req_body(const struct http_req *r, size_t *ret_len); /* NUL-terminated */
const char *http_req_peer(const struct http_req *r);                  /* "127.0.0.1:54321" */
/* The client's certificate in the handshake, and its chain; NULL: none.  Borrowed from the
 * connection; verified only with `require_client_ca_pem`. */
X509 *http_req_client_cert(const struct http_req *r);
STACK_OF(X509) * http_req_client_chain(const struct http_req *r);
/* Memory with the life of the request. */
struct arena *http_req_arena(struct http_req *r);
/* Called when the client leaves before the answer is complete; the request is gone after it. */
void http_req_on_gone(struct http_req *r, void (*fn)(void *arg), void *arg);

/* Answers: headers first (any number), then exactly one of the endings. */
void http_req_add_header(struct http_req *r, const char *name, const char *value);
void http_req_answer(struct http_req *r, int status, const void *body, size_t n);
/* The same with a body that need not be copied: takes what is in `body` and leaves it empty. */
void http_req_answer_take(struct http_req *r, int status, struct str_buf *body);
void http_req_begin(struct http_req *r, int status);                  /* chunked answer */
void http_req_chunk(struct http_req *r, const void *bytes, size_t n); /* flushed at once */
void http_req_end(struct http_req *r);
void http_req_drop(struct http_req *r); /* closes the connection, no answer */
/* Bytes that wait to be sent to this client: for bounding slow watchers. */
size_t http_req_backlog(const struct http_req *r);

#endif
