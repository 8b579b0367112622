/* SPDX-License-Identifier: Apache-2.0 */
/* http_server.c: the HTTP server as a whole: start, stop, and what holds for all connections
 * together.
 *
 * Owns the list of connections, in the order of their last use; from its end go those that are
 * closed when places or memory run out.  Owns the sweep too: one timer, set to the nearest deadline
 * of any connection.  Must not know what is served.  One thread, the loop's. */
#include "common/net/http_server.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "common/base/limits.h"
#include "common/net/http_server_internal.h"

#define DEFAULT_MAX_BODY     ((size_t)16 * 1024 * 1024)
#define DEFAULT_MAX_HEADERS  ((size_t)64 * 1024)
#define DEFAULT_IDLE_MS      ((int64_t)120 * 1000)
#define DEFAULT_HANDSHAKE_MS ((int64_t)60 * 1000)
#define DEFAULT_WHOLE_MS     ((int64_t)600 * 1000)
#define SWEEP_PAUSE_MS       100            /* between two sweeps, at least */
#define LAST_TURNS           1000           /* of a loop; one or two are enough */
#define WORTH_EVICTING       ((size_t)4096) /* a connection that holds less frees next to nothing */

static int tls_setup(struct http_server *s, const struct http_server_config *cfg, struct err *err);
static void on_sweep(evutil_socket_t fd, short what, void *arg);

static void set_default(int64_t *ms, int64_t otherwise)
{
    *ms = *ms == 0 ? otherwise : *ms;
}

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
    s->cfg.clock = cfg->clock == NULL ? clock_real() : cfg->clock;
    set_default(&s->cfg.idle_ms, DEFAULT_IDLE_MS);
    set_default(&s->cfg.handshake_ms, DEFAULT_HANDSHAKE_MS);
    set_default(&s->cfg.read_ms, DEFAULT_WHOLE_MS);
    set_default(&s->cfg.send_ms, DEFAULT_WHOLE_MS);
    s->sweep = evtimer_new(base, on_sweep, s);
    s->sweep_at_ms = CLOCK_NEVER;

    int rc = tls_setup(s, cfg, err);
    if (rc == ERR_OK) {
        rc = server_listen(s, cfg, err);
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
    if (s->resume != NULL) {
        event_free(s->resume);
    }
    event_free(s->sweep);
    server_tls_unref(s->tls);
    free(s);
}

int http_server_new_loop(struct event_base **ret, struct err *err)
{
    struct event_base *base = event_base_new();
    if (base == NULL) {
        return err_set(err, ERR_TRANSIENT, "event loop: %s",
                       limits_no_descriptor() ? LIMITS_NO_DESCRIPTOR : strerror(errno));
    }
    *ret = base;
    return ERR_OK;
}

void http_server_free_loop(struct event_base *base)
{
    if (base == NULL) {
        return;
    }
    for (int i = 0; i < LAST_TURNS && event_base_get_num_events(base, EVENT_BASE_COUNT_ACTIVE) > 0;
         i++) {
        event_base_loop(base, EVLOOP_NONBLOCK);
    }
    event_base_free(base);
}

static int tls_setup(struct http_server *s, const struct http_server_config *cfg, struct err *err)
{
    if (cfg->tls != NULL) {
        s->tls = server_tls_ref(cfg->tls);
        return ERR_OK;
    }
    if (cfg->tls_cert_pem == NULL && cfg->tls_key_pem == NULL) {
        return ERR_OK;
    }
    const struct server_tls_spec spec = {
        .own = {.cert_pem = cfg->tls_cert_pem, .key_pem = cfg->tls_key_pem},
        .require_client_ca_pem = cfg->tls_client_ca_pem,
    };
    return server_tls_new(&spec, &s->tls, err);
}

void http_server_set_tls(struct http_server *s, struct server_tls *tls)
{
    server_tls_unref(s->tls);
    s->tls = server_tls_ref(tls);
}

uint16_t http_server_port(const struct http_server *s)
{
    return s->port;
}

size_t http_server_connections(const struct http_server *s)
{
    return s->n_conns;
}

size_t http_server_held(const struct http_server *s)
{
    return s->held;
}

int64_t server_now(const struct http_server *s)
{
    return clock_now_ms(s->cfg.clock);
}

void server_notice(struct http_server *s, const char *what)
{
    if (s->cfg.notice != NULL) {
        s->cfg.notice(s->cfg.arg, what);
    }
}

/* --- the list --------------------------------------------------------------------------------- */

static void unlink_conn(struct http_server *s, struct conn *c)
{
    *(c->prev != NULL ? &c->prev->next : &s->conns) = c->next;
    *(c->next != NULL ? &c->next->prev : &s->last) = c->prev;
    c->prev = c->next = NULL;
}

void server_touch(struct http_server *s, struct conn *c)
{
    if (s->conns == c) {
        return;
    }
    if (c->prev != NULL) {
        unlink_conn(s, c);
    } else {
        s->n_conns++;
    }
    c->next = s->conns;
    *(c->next != NULL ? &c->next->prev : &s->last) = c;
    s->conns = c;
}

void server_forget(struct http_server *s, struct conn *c)
{
    unlink_conn(s, c);
    s->n_conns--;
    s->held -= c->held;
}

bool server_evict_idle(struct http_server *s)
{
    for (struct conn *c = s->last; c != NULL; c = c->prev) {
        if (conn_is_idle(c)) {
            conn_close(c);
            return true;
        }
    }
    return false;
}

void server_evict_shaking(struct http_server *s)
{
    if (s->cfg.max_handshakes == 0 || s->n_shaking < s->cfg.max_handshakes) {
        return;
    }
    server_notice(
        s, "too many TLS handshakes are unfinished: the oldest one is closed for each new one");
    for (struct conn *c = s->last; c != NULL; c = c->prev) {
        if (c->shaking && c->bev != NULL) {
            conn_close(c);
            return;
        }
    }
}

void server_evict_held(struct http_server *s, struct conn *except)
{
    if (s->cfg.max_held == 0 || s->held <= s->cfg.max_held) {
        return;
    }
    server_notice(s, "clients hold too much memory: the oldest of these connections are closed");
    for (struct conn *c = s->last, *next; c != NULL && s->held > s->cfg.max_held; c = next) {
        next = c->prev;
        /* The request of a handler that thinks is small by now, and its answer will be counted. */
        if (c != except && c->state != CONN_BUSY && c->held >= WORTH_EVICTING) {
            conn_close(c);
        }
    }
    if (except != NULL && s->held > s->cfg.max_held) {
        conn_close(except);
    }
}

/* --- deadlines -------------------------------------------------------------------------------- */

void server_sweep_by(struct http_server *s, int64_t at_ms)
{
    if (at_ms >= s->sweep_at_ms) {
        return;
    }
    s->sweep_at_ms = at_ms;
    int64_t in_ms = at_ms - server_now(s);
    in_ms = in_ms < SWEEP_PAUSE_MS ? SWEEP_PAUSE_MS : in_ms;
    const struct timeval tv = {.tv_sec = in_ms / 1000, .tv_usec = (in_ms % 1000) * 1000};
    evtimer_add(s->sweep, &tv);
}

void http_server_sweep(struct http_server *s)
{
    int64_t now = server_now(s);
    int64_t nearest = CLOCK_NEVER;
    for (struct conn *c = s->conns, *next; c != NULL; c = next) {
        next = c->next;
        if (c->deadline_ms <= now) {
            conn_close(c);
        } else if (c->deadline_ms < nearest) {
            nearest = c->deadline_ms;
        }
    }
    s->sweep_at_ms = CLOCK_NEVER;
    server_sweep_by(s, nearest);
}

static void on_sweep(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    http_server_sweep(arg);
}
