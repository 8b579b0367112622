/* SPDX-License-Identifier: Apache-2.0 */
/* http_server.c: listening, connections and TLS of the HTTP server.
 *
 * Owns the life of connections: accept, read until a request is whole (http_server_parse.c), give
 * it to the handler, wait for its answer (http_server_answer.c), then the next request of the
 * same connection or the end.  While a handler thinks, the connection goes on being read, because
 * that is how a client that left is noticed (on_gone); a client that pipelines instead is stopped
 * by the read watermark.
 * Must not know what is served.  One thread, the loop's. */
#include "common/net/http_server.h"

#include <arpa/inet.h>
#include <event2/bufferevent_ssl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

#include "common/net/http_server_internal.h"

#define DEFAULT_MAX_BODY    ((size_t)16 * 1024 * 1024)
#define DEFAULT_MAX_HEADERS ((size_t)64 * 1024)
#define DEFAULT_IDLE_MS     ((int64_t)120 * 1000)
#define LINGER_S            2 /* for the client to read our refusal */
#define LINGER_MAX_BYTES    ((size_t)64 * 1024 * 1024)
#define BUSY_READ_AHEAD     ((size_t)128 * 1024) /* pipelined bytes while a handler thinks */

static int listen_on(struct http_server *s, const struct http_server_config *cfg, struct err *err);
static void on_accept(struct evconnlistener *l, evutil_socket_t fd, struct sockaddr *peer,
                      int peer_len, void *arg);
static void on_readable(struct bufferevent *bev, void *arg);
static void on_flushed(struct bufferevent *bev, void *arg);
static void on_event(struct bufferevent *bev, short what, void *arg);

/* --- TLS ------------------------------------------------------------------------------------- */

/* We speak HTTP/1.1 only, and say so to clients that offer HTTP/2 as well. */
static int choose_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                       const unsigned char *in, unsigned int in_len, void *arg)
{
    static const unsigned char ours[] = "\x08http/1.1";
    unsigned char *chosen;
    if (SSL_select_next_proto(&chosen, out_len, ours, sizeof(ours) - 1, in, in_len) !=
        OPENSSL_NPN_NEGOTIATED) {
        return SSL_TLSEXT_ERR_NOACK;
    }
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

/* The first certificate is the server's, the others its chain. */
static bool use_cert_chain(SSL_CTX *ctx, const char *pem)
{
    BIO *bio = BIO_new_mem_buf(pem, -1);
    X509 *cert = PEM_read_bio_X509(bio, NULL, NULL, NULL);
    bool ok = cert != NULL && SSL_CTX_use_certificate(ctx, cert) == 1;
    X509_free(cert);
    while (ok && (cert = PEM_read_bio_X509(bio, NULL, NULL, NULL)) != NULL) {
        ok = SSL_CTX_add1_chain_cert(ctx, cert) == 1;
        X509_free(cert);
    }
    BIO_free(bio);
    return ok;
}

static bool use_key(SSL_CTX *ctx, const char *pem)
{
    BIO *bio = BIO_new_mem_buf(pem, -1);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL);
    bool ok = key != NULL && SSL_CTX_use_PrivateKey(ctx, key) == 1;
    EVP_PKEY_free(key);
    BIO_free(bio);
    return ok;
}

static bool require_client_cert(SSL_CTX *ctx, const char *ca_pem)
{
    BIO *bio = BIO_new_mem_buf(ca_pem, -1);
    X509 *ca = PEM_read_bio_X509(bio, NULL, NULL, NULL);
    bool ok = ca != NULL && X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx), ca) == 1 &&
              SSL_CTX_add_client_CA(ctx, ca) == 1;
    X509_free(ca);
    BIO_free(bio);
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    return ok;
}

static int tls_setup(struct http_server *s, const struct http_server_config *cfg, struct err *err)
{
    if (cfg->tls_cert_pem == NULL && cfg->tls_key_pem == NULL) {
        return ERR_OK;
    }
    s->tls = SSL_CTX_new(TLS_server_method());
    bool ok = s->tls != NULL && cfg->tls_cert_pem != NULL && cfg->tls_key_pem != NULL &&
              SSL_CTX_set_min_proto_version(s->tls, TLS1_2_VERSION) == 1 &&
              use_cert_chain(s->tls, cfg->tls_cert_pem) && use_key(s->tls, cfg->tls_key_pem) &&
              SSL_CTX_check_private_key(s->tls) == 1;
    if (ok && cfg->tls_client_ca_pem != NULL) {
        ok = require_client_cert(s->tls, cfg->tls_client_ca_pem);
        /* Without it, sessions of clients with certificates cannot be resumed
         * (SSL_CTX_set_verify(3)). */
        SSL_CTX_set_session_id_context(s->tls, (const unsigned char *)"trimtab", 7);
    }
    ERR_clear_error();
    if (!ok) {
        return err_set(err, ERR_INVALID,
                       "TLS certificate and key of the server do not fit together");
    }
    SSL_CTX_set_alpn_select_cb(s->tls, choose_alpn, NULL);
    return ERR_OK;
}

/* --- server ---------------------------------------------------------------------------------- */

int http_server_new(struct event_base *base, const struct http_server_config *cfg,
                    struct http_server **ret, struct err *err)
{
    /* A client that leaves while it is being answered must not kill the process. */
    (void)signal(SIGPIPE, SIG_IGN);
    struct http_server *s = xcalloc(1, sizeof(*s));
    s->base = base;
    s->cfg = *cfg;
    s->cfg.max_body = cfg->max_body == 0 ? DEFAULT_MAX_BODY : cfg->max_body;
    s->cfg.max_headers = cfg->max_headers == 0 ? DEFAULT_MAX_HEADERS : cfg->max_headers;
    s->cfg.idle_ms = cfg->idle_ms == 0 ? DEFAULT_IDLE_MS : cfg->idle_ms;

    int rc = tls_setup(s, cfg, err);
    if (rc == ERR_OK) {
        rc = listen_on(s, cfg, err);
    }
    if (rc != ERR_OK) {
        http_server_free(s);
        return rc;
    }
    *ret = s;
    return ERR_OK;
}

void http_server_free(struct http_server *s)
{
    if (s == NULL) {
        return;
    }
    if (s->listener != NULL) {
        evconnlistener_free(s->listener);
    }
    while (s->conns != NULL) {
        conn_close(s->conns);
    }
    SSL_CTX_free(s->tls);
    free(s);
}

uint16_t http_server_port(const struct http_server *s)
{
    return s->port;
}

static bool parse_address(const struct http_server_config *cfg, struct sockaddr_storage *ss,
                          socklen_t *ret_len)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)ss;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ss;
    *ss = (struct sockaddr_storage){0};
    if (inet_pton(AF_INET, cfg->address, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(cfg->port);
        *ret_len = sizeof(*v4);
        return true;
    }
    if (inet_pton(AF_INET6, cfg->address, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(cfg->port);
        *ret_len = sizeof(*v6);
        return true;
    }
    return false;
}

static int listen_on(struct http_server *s, const struct http_server_config *cfg, struct err *err)
{
    struct sockaddr_storage ss;
    socklen_t len = 0;
    if (!parse_address(cfg, &ss, &len)) {
        return err_set(err, ERR_INVALID, "address \"%s\" is no IP address", cfg->address);
    }
    s->listener = evconnlistener_new_bind(
        s->base, on_accept, s, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE,
        -1, (struct sockaddr *)&ss, (int)len);
    if (s->listener == NULL) {
        int no = errno;
        return err_set(err, no == EADDRINUSE ? ERR_IN_USE : ERR_INVALID, "listen on %s port %u: %s",
                       cfg->address, cfg->port, strerror(no));
    }
    len = sizeof(ss);
    if (getsockname(evconnlistener_get_fd(s->listener), (struct sockaddr *)&ss, &len) == 0) {
        s->port = ntohs(ss.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&ss)->sin6_port
                                                 : ((struct sockaddr_in *)&ss)->sin_port);
    }
    return ERR_OK;
}

/* --- connections ----------------------------------------------------------------------------- */

static void set_timeouts(struct conn *c, int64_t read_ms)
{
    struct timeval rd = {.tv_sec = read_ms / 1000, .tv_usec = (read_ms % 1000) * 1000};
    int64_t idle_ms = c->server->cfg.idle_ms;
    struct timeval wr = {.tv_sec = idle_ms / 1000, .tv_usec = (idle_ms % 1000) * 1000};
    bufferevent_set_timeouts(c->bev, &rd, &wr);
}

static void format_peer(const struct sockaddr *sa, char *out, size_t n)
{
    char text[INET6_ADDRSTRLEN] = "";
    if (sa->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)sa;
        inet_ntop(AF_INET, &v4->sin_addr, text, sizeof(text));
        snprintf(out, n, "%s:%u", text, ntohs(v4->sin_port));
    } else if (sa->sa_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)sa;
        inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof(text));
        snprintf(out, n, "[%s]:%u", text, ntohs(v6->sin6_port));
    }
}

static void on_accept(struct evconnlistener *l, evutil_socket_t fd, struct sockaddr *peer,
                      int peer_len, void *arg)
{
    struct http_server *s = arg;
    int on = 1;
    /* Watch events are small and must not wait for the next one (Nagle). */
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));

    struct bufferevent *bev;
    if (s->tls == NULL) {
        bev = bufferevent_socket_new(s->base, fd, BEV_OPT_CLOSE_ON_FREE);
    } else {
        SSL *ssl = SSL_new(s->tls);
        bev = ssl == NULL ? NULL
                          : bufferevent_openssl_socket_new(
                                s->base, fd, ssl, BUFFEREVENT_SSL_ACCEPTING, BEV_OPT_CLOSE_ON_FREE);
    }
    if (bev == NULL) {
        evutil_closesocket(fd);
        return;
    }
    struct conn *c = xcalloc(1, sizeof(*c));
    c->server = s;
    c->bev = bev;
    format_peer(peer, c->peer, sizeof(c->peer));
    c->next = s->conns;
    if (c->next != NULL) {
        c->next->prev = c;
    }
    s->conns = c;
    bufferevent_setcb(bev, on_readable, on_flushed, on_event, c);
    set_timeouts(c, s->cfg.idle_ms);
    bufferevent_enable(bev, EV_READ | EV_WRITE);
}

static void conn_free(struct conn *c)
{
    if (c->prev != NULL) {
        c->prev->next = c->next;
    } else {
        c->server->conns = c->next;
    }
    if (c->next != NULL) {
        c->next->prev = c->prev;
    }
    http_req_free(c->req);
    bufferevent_free(c->bev);
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

/* Answers what the parser refused.  The client may still be sending: closing at once would reset
 * the connection and take our answer from under its eyes. */
static void conn_refuse(struct conn *c, int status)
{
    evbuffer_add_printf(bufferevent_get_output(c->bev),
                        "HTTP/1.1 %d Refused\r\nContent-Type: text/plain\r\nContent-Length: 0\r\n"
                        "Connection: close\r\n\r\n",
                        status);
    http_req_free(STEAL(c->req));
    c->state = CONN_LINGERING;
    set_timeouts(c, LINGER_S * 1000);
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
    bufferevent_setwatermark(c->bev, EV_READ, 0, BUSY_READ_AHEAD);
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

void conn_run(struct conn *c)
{
    if (c->running) {
        return; /* a handler answered at once: the loop below goes on by itself */
    }
    c->running = true;
    struct evbuffer *in = bufferevent_get_input(c->bev);
    size_t before;
    enum conn_state state;
    do {
        before = evbuffer_get_length(in);
        state = c->state;
        if (state == CONN_LINGERING) {
            linger(c, in);
        } else if (state != CONN_BUSY && !c->close_after_flush) {
            conn_step(c, in);
        }
    } while (!c->dead && (evbuffer_get_length(in) != before || c->state != state));
    c->running = false;
    if (c->dead) {
        conn_free(c);
    }
}

void conn_request_ended(struct conn *c)
{
    http_req_free(STEAL(c->req));
    c->state = CONN_READING_HEAD;
    bufferevent_setwatermark(c->bev, EV_READ, 0, 0);
    if (!c->keep_alive) {
        c->close_after_flush = true;
        if (evbuffer_get_length(bufferevent_get_output(c->bev)) == 0) {
            conn_close(c);
        }
        return;
    }
    conn_run(c);
}

static void on_readable(struct bufferevent *bev, void *arg)
{
    conn_run(arg);
}

static void on_flushed(struct bufferevent *bev, void *arg)
{
    struct conn *c = arg;
    if (c->close_after_flush) {
        conn_close(c);
    } else if (c->state == CONN_LINGERING && c->server->tls == NULL) {
        (void)shutdown(bufferevent_getfd(bev), SHUT_WR); /* "that was all": the client will close */
    }
}

static void on_event(struct bufferevent *bev, short what, void *arg)
{
    struct conn *c = arg;
    if ((what & BEV_EVENT_CONNECTED) != 0) {
        return; /* TLS is up */
    }
    bool read_timeout = (what & BEV_EVENT_TIMEOUT) != 0 && (what & BEV_EVENT_READING) != 0;
    if (read_timeout && c->state == CONN_BUSY) {
        bufferevent_enable(bev, EV_READ); /* a silent client of a long watch is not an idle one */
        return;
    }
    bool ended = (what & BEV_EVENT_EOF) != 0 && c->state != CONN_BUSY;
    if (ended && evbuffer_get_length(bufferevent_get_output(bev)) > 0) {
        c->close_after_flush = true; /* it only closed its sending side: let it read the answer */
        return;
    }
    conn_close(c);
}
