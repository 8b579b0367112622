/* SPDX-License-Identifier: Apache-2.0 */
/* http_server_internal.h: what the files of the HTTP server share; no other file includes it.
 *
 *   http_server.c         the server: start, stop, limits over all connections, the sweep
 *   http_server_listen.c  sockets that listen, and what comes in there
 *   http_server_tls.c     certificates
 *   http_server_conn.c    one connection: life, death, deadlines
 *   http_server_parse.c   bytes of a connection -> struct http_req (requests are cut here)
 *   http_server_answer.c  struct http_req -> bytes; the public face of a request
 *
 * Why not evhttp: it answers unknown methods by itself, normalises targets, and cannot drop a
 * connection or tell that a client left while an answer is being streamed; faults need all of that.
 * Life of a connection: READING a head, then a body -> BUSY with the handler's answer -> READING
 * again, or LINGERING (an error was answered while the client still sends) -> closed.
 * One thread, the loop's.  A connection is freed only by conn_close() outside of conn_run():
 * handlers may end a request, or the connection, while conn_run() is on the stack. */
#ifndef TRIMTAB_NET_HTTP_SERVER_INTERNAL_H
#define TRIMTAB_NET_HTTP_SERVER_INTERNAL_H

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include "common/base/str.h"
#include "common/net/http.h"
#include "common/net/http_server.h"

struct http_server {
    struct http_server_config cfg; /* defaults filled in; `address` and PEM texts are not kept */
    struct event_base *base;       /* borrowed */
    struct evconnlistener *listener;
    struct event *resume;   /* takes connections again after file descriptors ran out */
    struct server_tls *tls; /* NULL: plain */
    uint16_t port;
    /* connections, the one that was used last first */
    struct conn *conns, *last;
    size_t n_conns;
    size_t n_shaking; /* handshakes in progress */
    size_t held;      /* bytes, sum of conn.held */
    /* deadlines */
    struct event *sweep;
    int64_t sweep_at_ms; /* when the timer fires; CLOCK_NEVER: it is off */
};

enum conn_state {
    CONN_READING_HEAD = 0,
    CONN_READING_BODY,
    CONN_BUSY,      /* the handler owes an answer */
    CONN_LINGERING, /* input is thrown away until the client closes */
};

/* Phases of a connection with a time limit. */
enum conn_phase {
    PHASE_NONE = 0, /* the handler's time */
    PHASE_HANDSHAKE,
    PHASE_IDLE,
    PHASE_READ,
    PHASE_SEND,
    PHASE_LINGER,
    PHASE_MAX,
};

/* Where a chunked request body stands (RFC 9112 §7.1). */
enum chunk_state { CHUNK_NONE = 0, CHUNK_SIZE, CHUNK_DATA, CHUNK_DATA_END, CHUNK_TRAILER };

struct conn {
    struct http_server *server;
    struct conn *prev, *next;
    evutil_socket_t fd;
    struct event *knock;     /* TLS: waits for its first byte; NULL: that has come */
    struct bufferevent *bev; /* owns fd; NULL until then */
    struct server_tls *tls;  /* that its handshake began with; NULL: plain, or not begun */
    char peer[64];

    enum conn_state state;
    struct http_req *req; /* being read or answered; NULL between requests */
    enum chunk_state chunk;
    size_t want;       /* bytes of the body, or of the chunk, still to come */
    size_t head_bytes; /* of request line, headers and trailers so far */
    size_t lingered;   /* bytes thrown away */
    bool keep_alive;   /* after this request */
    bool close_after_flush;
    bool shaking; /* the TLS handshake is not over */
    bool served;  /* it has had an answer */
    enum conn_phase phase;
    int64_t deadline_ms; /* of the phase, by the server's clock; CLOCK_NEVER: none */
    size_t held;         /* bytes kept for it: unread input, the request, unsent output */
    bool running;        /* conn_run() is on the stack */
    bool dead;           /* to be freed as soon as it is not */
};

struct http_req {
    struct conn *conn;
    struct arena *arena;
    const char *method, *target, *path, *query;
    struct http_header *headers;
    size_t n_headers, cap_headers;
    struct str_buf body;
    bool http10; /* HTTP/1.0: no chunks, closed at the end */

    void (*on_gone)(void *arg);
    void *on_gone_arg;
    struct str_buf out_headers; /* added by the handler */
    bool begun;                 /* http_req_begin() was called */
    bool chunked;
    bool no_body; /* HEAD, 204, 304 */
};

/* Result of the parser.  Negative: nothing can be read from this connection any more. */
enum parse_result {
    PARSE_MORE = 0,     /* wait for bytes */
    PARSE_REQUEST = 1,  /* conn->req is complete */
    PARSE_CONTINUE = 2, /* the head is complete and the client waits for "100 Continue" */
    PARSE_REFUSE = -1,  /* *ret_status is to be answered, then the connection is closed */
};
enum parse_result conn_parse(struct conn *c, struct evbuffer *in, int *ret_status);

/* Frees request memory; no callback. */
void http_req_free(struct http_req *r);

/* A connection that was just accepted; takes `fd`. */
void conn_start(struct http_server *s, evutil_socket_t fd, const char *peer);
/* Handles what has been received, until bytes run out or the handler owes an answer. */
void conn_run(struct conn *c);
/* The answer to the current request is written: next request, or close. */
void conn_request_ended(struct conn *c);
/* Tells a waiting handler (on_gone), and frees the connection now or when conn_run() returns. */
void conn_close(struct conn *c);
/* True when no peer waits for anything on it: it may be closed for another's sake. */
bool conn_is_idle(const struct conn *c);

/* Puts `c` first, because it was just used; into the list, when it is new. */
void server_touch(struct http_server *s, struct conn *c);
void server_forget(struct http_server *s, struct conn *c);
/* Closes the connection that was idle for longest.  False: none is. */
bool server_evict_idle(struct http_server *s);
/* Makes room for one more handshake. */
void server_evict_shaking(struct http_server *s);
/* Closes old connections that hold bytes, until all together are within the limit; `c`
 * (may be NULL) last. */
void server_evict_held(struct http_server *s, struct conn *c);
/* Has the sweep look at this moment at the latest. */
void server_sweep_by(struct http_server *s, int64_t at_ms);
int64_t server_now(const struct http_server *s);
void server_notice(struct http_server *s, const char *what);

int server_listen(struct http_server *s, const struct http_server_config *cfg, struct err *err);

/* An SSL for a new client; NULL when memory is out. */
SSL *server_tls_accept(struct server_tls *t);
/* Without port; an IPv4 address that came over an IPv6 socket as IPv4.  False: neither family. */
bool http_address_text(const struct sockaddr *sa, char *out, size_t n);

#endif
