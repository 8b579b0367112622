/* SPDX-License-Identifier: Apache-2.0 */
/* test_server.c: a real HTTP server in a thread, for tests of clients.
 *
 * Owns the loop, its thread and the counters that tests wait for instead of sleeping.  The server
 * is only touched by its thread; a pipe tells the loop to end.  Routes answer what tests commonly
 * need. */
#include "tests/support/test_server.h"

#include <event2/event.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/lock.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "tests/support/http_req.h"

struct test_server {
    struct test_server_config cfg;
    struct event_base *base;
    struct http_server *server; /* the thread's, while it runs */
    uint16_t port;
    struct event *stop_event;
    int stop_pipe[2];
    pthread_t thread;
    struct arena *urls;

    struct mutex lock;
    struct cond changed;
    int requests _guarded_by_(lock);
    int gone _guarded_by_(lock);
    struct map *peers _guarded_by_(lock);
};

static void handle(void *arg, struct http_req *req)
{
    struct test_server *s = arg;
    mutex_lock(&s->lock);
    s->requests++;
    map_set(s->peers, http_req_peer(req), NULL);
    cond_broadcast(&s->changed);
    mutex_unlock(&s->lock);
    if (s->cfg.handle != NULL) {
        s->cfg.handle(s->cfg.arg, req);
    } else {
        test_server_routes(s, req);
    }
}

/* --- cutting ---------------------------------------------------------------------------------- */

struct cut {
    struct test_server *server;
    struct http_req *req; /* NULL: the client left first */
};

static void cut_gone(void *arg)
{
    ((struct cut *)arg)->req = NULL;
}

static void cut_when_sent(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    struct cut *c = arg;
    const struct timeval soon = {.tv_usec = 1000};
    if (c->req != NULL && http_req_backlog(c->req) > 0) {
        event_base_once(c->server->base, -1, EV_TIMEOUT, cut_when_sent, c, &soon);
        return;
    }
    if (c->req != NULL) {
        http_req_drop(c->req);
    }
    free(c);
}

void test_server_cut(struct test_server *s, struct http_req *req)
{
    struct cut *c = xcalloc(1, sizeof(*c));
    *c = (struct cut){.server = s, .req = req};
    http_req_on_gone(req, cut_gone, c);
    cut_when_sent(-1, 0, c);
}

static void on_stop(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    event_base_loopbreak(arg);
}

static void *run(void *arg)
{
    struct test_server *s = arg;
    event_base_dispatch(s->base);
    return NULL;
}

struct test_server *test_server_start(const struct test_server_config *cfg)
{
    struct test_server *s = xcalloc(1, sizeof(*s));
    (void)signal(SIGPIPE, SIG_IGN);
    if (cfg != NULL) {
        s->cfg = *cfg;
    }
    mutex_init(&s->lock);
    cond_init(&s->changed);
    s->peers = map_new(NULL);
    s->urls = arena_new();
    s->base = event_base_new();
    struct err err = ERR_INIT;
    const struct http_server_config config = {
        .address = "127.0.0.1",
        .tls_cert_pem = s->cfg.tls_cert_pem,
        .tls_key_pem = s->cfg.tls_key_pem,
        .tls_client_ca_pem = s->cfg.tls_client_ca_pem,
        .max_body = s->cfg.max_body,
        .max_headers = s->cfg.max_headers,
        .handle = handle,
        .arg = s,
    };
    if (http_server_new(s->base, &config, &s->server, &err) != ERR_OK || pipe(s->stop_pipe) != 0) {
        fprintf(stderr, "test server: %s\n", err.message);
        abort();
    }
    s->port = http_server_port(s->server);
    s->stop_event = event_new(s->base, s->stop_pipe[0], EV_READ, on_stop, s->base);
    event_add(s->stop_event, NULL);
    if (pthread_create(&s->thread, NULL, run, s) != 0) {
        abort();
    }
    return s;
}

void test_server_stop(struct test_server *s)
{
    if (s == NULL) {
        return;
    }
    close(s->stop_pipe[1]); /* the loop sees end of file */
    pthread_join(s->thread, NULL);
    http_server_free(s->server);
    event_free(s->stop_event);
    http_server_free_loop(s->base);
    close(s->stop_pipe[0]);
    map_free(s->peers);
    arena_free(s->urls);
    mutex_done(&s->lock);
    cond_done(&s->changed);
    free(s);
}

uint16_t test_server_port(const struct test_server *s)
{
    return s->port;
}

const char *test_server_url(struct test_server *s, const char *path)
{
    return arena_printf(s->urls, "%s://127.0.0.1:%u%s",
                        s->cfg.tls_cert_pem == NULL ? "http" : "https", test_server_port(s), path);
}

/* --- counters -------------------------------------------------------------------------------- */

int test_server_requests(struct test_server *s)
{
    mutex_lock(&s->lock);
    int n = s->requests;
    mutex_unlock(&s->lock);
    return n;
}

int test_server_connections(struct test_server *s)
{
    mutex_lock(&s->lock);
    int n = (int)map_size(s->peers);
    mutex_unlock(&s->lock);
    return n;
}

int test_server_gone(struct test_server *s)
{
    mutex_lock(&s->lock);
    int n = s->gone;
    mutex_unlock(&s->lock);
    return n;
}

void test_server_wait_requests(struct test_server *s, int n)
{
    mutex_lock(&s->lock);
    while (s->requests < n) {
        clock_wait(clock_real(), &s->changed, &s->lock, CLOCK_NEVER);
    }
    mutex_unlock(&s->lock);
}

void test_server_wait_gone(struct test_server *s, int n)
{
    mutex_lock(&s->lock);
    while (s->gone < n) {
        clock_wait(clock_real(), &s->changed, &s->lock, CLOCK_NEVER);
    }
    mutex_unlock(&s->lock);
}

/* --- routes ---------------------------------------------------------------------------------- */

static void count_gone(void *arg)
{
    struct test_server *s = arg;
    mutex_lock(&s->lock);
    s->gone++;
    cond_broadcast(&s->changed);
    mutex_unlock(&s->lock);
}

static void echo(struct http_req *req)
{
    static const char *const shown[] = {
        "Host",   "User-Agent", "Accept",       "Accept-Encoding", "Authorization", "Cookie",
        "Expect", "X-Test",     "Content-Type", "Content-Length",  "Connection",    "X-Empty",
    };
    struct str_buf b = STR_BUF_INIT;
    str_appendf(&b, "%s %s\n", http_req_method(req), http_req_target(req));
    for (size_t i = 0; i < ARRAY_LEN(shown); i++) {
        const char *v = http_req_header(req, shown[i]);
        if (v != NULL) {
            str_appendf(&b, "%s: %s\n", shown[i], v);
        }
    }
    size_t n;
    const char *body = http_req_body(req, &n);
    str_append(&b, "\n");
    str_append_n(&b, body, n);
    http_req_answer(req, 200, b.data, b.len);
    str_buf_done(&b);
}

static void answer_bytes(struct http_req *req, uint64_t n)
{
    char *body = xmalloc(n + 1);
    memset(body, 'x', n);
    http_req_answer(req, 200, body, n);
    free(body);
}

static void answer_stream(struct http_req *req, uint64_t n)
{
    http_req_begin(req, 200);
    for (uint64_t i = 0; i < n; i++) {
        char line[64];
        int len = snprintf(line, sizeof(line), "line %d\n", (int)i);
        http_req_chunk(req, line, (size_t)len);
    }
    http_req_end(req);
}

static void answer_gzip(struct http_req *req)
{
    static const char text[] = "zipped text";
    /* The same, as gzip -9 writes it. */
    static const unsigned char zipped[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00,
                                           0x02, 0x03, 0xab, 0xca, 0x2c, 0x28, 0x48, 0x4d,
                                           0x51, 0x28, 0x49, 0xad, 0x28, 0x01, 0x00, 0xb5,
                                           0xbf, 0xee, 0x97, 0x0b, 0x00, 0x00, 0x00};
    const char *accepted = http_req_header(req, "Accept-Encoding");
    if (accepted == NULL || strstr(accepted, "gzip") == NULL) {
        http_req_answer(req, 200, text, sizeof(text) - 1);
        return;
    }
    http_req_add_header(req, "Content-Encoding", "gzip");
    http_req_answer(req, 200, zipped, sizeof(zipped));
}

static void redirect(struct http_req *req, int status, const char *to)
{
    http_req_add_header(req, "Location", to);
    http_req_answer(req, status, "moved", 5);
}

static bool number_after(const char *path, const char *prefix, uint64_t *ret)
{
    return str_has_prefix(path, prefix) && str_to_u64(path + strlen(prefix), ret);
}

static void answer_numbered(struct http_req *req, const char *path)
{
    uint64_t n;
    if (number_after(path, "/status/", &n)) {
        http_req_answer(req, (int)n, "", 0);
    } else if (number_after(path, "/bytes/", &n)) {
        answer_bytes(req, n);
    } else if (number_after(path, "/stream/", &n)) {
        answer_stream(req, n);
    } else if (number_after(path, "/loop/", &n)) {
        char to[64];
        snprintf(to, sizeof(to), "/loop/%d", (int)n + 1);
        redirect(req, 302, to);
    } else {
        http_req_answer(req, 404, "no such route", 13);
    }
}

void test_server_routes(void *arg, struct http_req *req)
{
    const char *path = http_req_path(req);
    if (str_eq(path, "/ok")) {
        http_req_answer(req, 200, "ok", 2);
    } else if (str_eq(path, "/echo")) {
        echo(req);
    } else if (str_eq(path, "/gzip")) {
        answer_gzip(req);
    } else if (str_eq(path, "/hang")) {
        http_req_on_gone(req, count_gone, arg);
    } else if (str_eq(path, "/endless")) {
        http_req_on_gone(req, count_gone, arg);
        http_req_begin(req, 200);
        http_req_chunk(req, "first\n", 6);
    } else if (str_eq(path, "/drop")) {
        http_req_drop(req);
    } else if (str_eq(path, "/to")) {
        redirect(req, 307, http_req_query(req));
    } else if (str_eq(path, "/see")) {
        redirect(req, 303, http_req_query(req));
    } else {
        answer_numbered(req, path);
    }
}
