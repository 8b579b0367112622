/* SPDX-License-Identifier: Apache-2.0 */
/* http_server_conn.c: one connection of the HTTP server, from its first byte to its end.
 *
 * Reads until a request is whole (http_server_parse.c), gives it to the handler, waits for its
 * answer (http_server_answer.c), then the next request of the same connection or the end.  While a
 * handler thinks, the connection continues being read, because that is how a client that left is
 * noticed (on_gone); a client that pipelines instead is stopped by the read watermark, and one that
 * pipelines without reading answers gets no further ones.  Every phase has a deadline that bytes
 * now and then do not move; server.c's sweep looks at them.  Must not know what is served.  One
 * thread, the loop's. */
#include <event2/bufferevent_ssl.h>
#include <openssl/err.h>
#include <string.h>

#include "common/net/http_server_internal.h"

#define LINGER_MS        ((int64_t)2000) /* for the client to read our refusal */
#define LINGER_MAX_BYTES ((size_t)64 * 1024 * 1024)
#define READ_AHEAD       ((size_t)128 * 1024) /* pipelined bytes while a handler thinks */
#define UNREAD_MAX       ((size_t)64 * 1024)  /* of answers, before the next request is taken up */

static void on_readable(struct bufferevent *bev, void *arg);
static void on_flushed(struct bufferevent *bev, void *arg);
static void on_event(struct bufferevent *bev, short what, void *arg);
static void begin(struct conn *c, struct bufferevent *bev);
static void on_knock(evutil_socket_t fd, short what, void *arg);
static void settle(struct conn *c);

static struct evbuffer *input_of(const struct conn *c)
{
    return bufferevent_get_input(c->bev);
}

static size_t unread(const struct conn *c)
{
    return c->bev == NULL ? 0 : evbuffer_get_length(input_of(c));
}

static size_t unsent(const struct conn *c)
{
    return c->bev == NULL ? 0 : evbuffer_get_length(bufferevent_get_output(c->bev));
}

/* --- life ------------------------------------------------------------------------------------- */

void conn_start(struct http_server *s, evutil_socket_t fd, const char *peer)
{
    struct conn *c = xcalloc(1, sizeof(*c));
    c->server = s;
    c->fd = fd;
    c->shaking = s->tls != NULL;
    c->deadline_ms = CLOCK_NEVER;
    snprintf(c->peer, sizeof(c->peer), "%s", peer);
    server_touch(s, c);
    if (c->shaking) {
        c->knock = event_new(s->base, fd, EV_READ, on_knock, c);
        event_add(c->knock, NULL);
        settle(c);
    } else {
        begin(c, bufferevent_socket_new(s->base, fd, BEV_OPT_CLOSE_ON_FREE));
    }
}

/* From now on `bev` has the socket; NULL: memory is out. */
static void begin(struct conn *c, struct bufferevent *bev)
{
    if (bev == NULL) {
        conn_close(c);
        return;
    }
    c->bev = bev;
    bufferevent_setcb(bev, on_readable, on_flushed, on_event, c);
    /* Writing without progress; everything else is a phase. */
    int64_t idle_ms = c->server->cfg.idle_ms;
    const struct timeval stall = {.tv_sec = idle_ms / 1000, .tv_usec = (idle_ms % 1000) * 1000};
    bufferevent_set_timeouts(bev, NULL, &stall);
    bufferevent_enable(bev, EV_READ | EV_WRITE);
    settle(c);
}

/* The first byte of a TLS client.  Before it there is nothing of OpenSSL's: silent
 * clients cost little. */
static void on_knock(evutil_socket_t fd, short what, void *arg)
{
    struct conn *c = arg;
    struct http_server *s = c->server;
    (void)what;
    server_evict_shaking(s);
    event_free(STEAL(c->knock));
    SSL *ssl = server_tls_accept(s->tls);
    struct bufferevent *bev =
        ssl == NULL ? NULL
                    : bufferevent_openssl_socket_new(s->base, fd, ssl, BUFFEREVENT_SSL_ACCEPTING,
                                                     BEV_OPT_CLOSE_ON_FREE);
    if (bev != NULL) {
        c->tls = server_tls_ref(s->tls);
        s->n_shaking++;
    }
    begin(c, bev);
}

/* Tells the client that nothing was cut off; what it does then is its affair. */
static void say_goodbye(struct conn *c)
{
    SSL *ssl = c->tls == NULL ? NULL : bufferevent_openssl_get_ssl(c->bev);
    if (ssl != NULL && !c->shaking) {
        SSL_set_shutdown(ssl, SSL_RECEIVED_SHUTDOWN);
        (void)SSL_shutdown(ssl); /* a client that does not read will not miss it */
        ERR_clear_error();
    }
}

static void conn_free(struct conn *c)
{
    server_forget(c->server, c);
    http_req_free(c->req);
    if (c->close_after_flush || c->phase == PHASE_IDLE) {
        say_goodbye(c);
    }
    if (c->knock != NULL) {
        event_free(c->knock);
    }
    if (c->bev != NULL) {
        c->server->n_shaking -= c->shaking ? 1 : 0;
        bufferevent_free(c->bev);
    } else {
        evutil_closesocket(c->fd);
    }
    server_tls_unref(c->tls);
    free(c);
}

void conn_close(struct conn *c)
{
    if (c->dead) {
        return;
    }
    c->dead = true;
    if (c->state == CONN_BUSY && c->req->on_gone != NULL) {
        c->req->on_gone(c->req->on_gone_arg);
    }
    http_req_free(STEAL(c->req));
    if (!c->running) {
        conn_free(c);
    }
}

/* --- deadlines and sums ----------------------------------------------------------------------- */

static enum conn_phase phase_of(const struct conn *c)
{
    if (c->shaking) {
        return PHASE_HANDSHAKE;
    }
    if (c->state == CONN_LINGERING) {
        return PHASE_LINGER;
    }
    if (c->state == CONN_BUSY) {
        return PHASE_NONE;
    }
    if (unsent(c) > 0) {
        return PHASE_SEND;
    }
    bool begun =
        c->state == CONN_READING_BODY || c->req != NULL || c->head_bytes > 0 || unread(c) > 0;
    return begun || !c->served ? PHASE_READ : PHASE_IDLE;
}

static int64_t phase_ms(const struct conn *c, enum conn_phase phase)
{
    const struct http_server_config *cfg = &c->server->cfg;
    const int64_t ms[PHASE_MAX] = {
        [PHASE_HANDSHAKE] = cfg->handshake_ms,
        [PHASE_IDLE] = cfg->idle_ms,
        [PHASE_READ] = cfg->read_ms,
        [PHASE_SEND] = cfg->send_ms,
        [PHASE_LINGER] = LINGER_MS,
    };
    return ms[phase];
}

static void set_phase(struct conn *c, enum conn_phase phase)
{
    if (phase == c->phase) {
        return;
    }
    c->phase = phase;
    c->deadline_ms = phase == PHASE_NONE ? CLOCK_NEVER : server_now(c->server) + phase_ms(c, phase);
    server_sweep_by(c->server, c->deadline_ms);
}

/* After anything that happened: which phase it is in now, and how much it holds. */
static void settle(struct conn *c)
{
    set_phase(c, phase_of(c));
    size_t held = unread(c) + unsent(c);
    if (c->req != NULL) {
        held += arena_used(c->req->arena) + c->req->body.len;
    }
    c->server->held += held - c->held;
    c->held = held;
    server_evict_held(c->server, c);
}

bool conn_is_idle(const struct conn *c)
{
    return c->phase != PHASE_NONE && c->phase != PHASE_SEND && !c->running;
}

/* --- requests --------------------------------------------------------------------------------- */

/* Answers what the parser refused.  The client may still be sending: closing at once would reset
 * the connection and take our answer from under its eyes. */
static void conn_refuse(struct conn *c, int status)
{
    evbuffer_add_printf(bufferevent_get_output(c->bev),
                        "HTTP/1.1 %d Refused\r\n%sContent-Type: text/plain\r\nContent-Length: "
                        "0\r\nConnection: close\r\n\r\n",
                        status, str_nonnull(c->server->cfg.headers));
    http_req_free(STEAL(c->req));
    c->state = CONN_LINGERING;
}

static void linger(struct conn *c, struct evbuffer *in)
{
    size_t n = evbuffer_get_length(in);
    evbuffer_drain(in, n);
    c->lingered += n;
    if (c->lingered > LINGER_MAX_BYTES) {
        conn_close(c);
    }
}

static void dispatch(struct conn *c)
{
    c->state = CONN_BUSY;
    c->head_bytes = 0;
    set_phase(c, PHASE_NONE);
    bufferevent_setwatermark(c->bev, EV_READ, 0, READ_AHEAD);
    c->server->cfg.handle(c->server->cfg.arg, c->req);
}

static void conn_step(struct conn *c, struct evbuffer *in)
{
    int status = 0;
    switch (conn_parse(c, in, &status)) {
    case PARSE_REQUEST:
        dispatch(c);
        break;
    case PARSE_CONTINUE:
        evbuffer_add_printf(bufferevent_get_output(c->bev), "HTTP/1.1 100 Continue\r\n\r\n");
        break;
    case PARSE_REFUSE:
        conn_refuse(c, status);
        break;
    case PARSE_MORE:
        break;
    }
}

/* Answers that the client does not take pile up: then its next request waits for it. */
static bool may_read_on(struct conn *c)
{
    bool waits = c->state == CONN_BUSY || c->close_after_flush ||
                 (c->state == CONN_READING_HEAD && unsent(c) > UNREAD_MAX);
    if (c->state != CONN_BUSY) {
        bufferevent_setwatermark(c->bev, EV_READ, 0, waits ? READ_AHEAD : 0);
    }
    return !waits;
}

void conn_run(struct conn *c)
{
    if (c->running) {
        return; /* a handler answered at once: the loop below continues by itself */
    }
    c->running = true;
    struct evbuffer *in = input_of(c);
    size_t before;
    enum conn_state state;
    do {
        before = evbuffer_get_length(in);
        state = c->state;
        if (state == CONN_LINGERING) {
            linger(c, in);
        } else if (may_read_on(c)) {
            conn_step(c, in);
        }
    } while (!c->dead && (evbuffer_get_length(in) != before || c->state != state));
    c->running = false;
    if (c->dead) {
        conn_free(c);
    } else {
        settle(c);
    }
}

void conn_request_ended(struct conn *c)
{
    http_req_free(STEAL(c->req));
    c->state = CONN_READING_HEAD;
    c->served = true;
    server_touch(c->server, c);
    if (!c->keep_alive) {
        c->close_after_flush = true;
        if (unsent(c) == 0) {
            conn_close(c);
            return;
        }
    }
    conn_run(c);
}

/* --- what libevent says ----------------------------------------------------------------------- */

static void on_readable(struct bufferevent *bev, void *arg)
{
    (void)bev;
    conn_run(arg);
}

static void on_flushed(struct bufferevent *bev, void *arg)
{
    struct conn *c = arg;
    if (c->close_after_flush) {
        conn_close(c);
        return;
    }
    if (c->state == CONN_LINGERING && c->tls == NULL) {
        (void)shutdown(bufferevent_getfd(bev), SHUT_WR); /* "that was all": the client will close */
    }
    conn_run(c); /* requests may wait for it; and the phase is another one */
}

static void on_event(struct bufferevent *bev, short what, void *arg)
{
    struct conn *c = arg;
    (void)bev;
    if ((what & BEV_EVENT_CONNECTED) != 0) {
        c->server->n_shaking -= c->shaking ? 1 : 0;
        c->shaking = false;
        settle(c);
        return;
    }
    bool ended = (what & BEV_EVENT_EOF) != 0 && c->state != CONN_BUSY;
    if (ended && unsent(c) > 0) {
        c->close_after_flush = true; /* it only closed its sending side: let it read the answer */
        settle(c);
        return;
    }
    conn_close(c);
}
