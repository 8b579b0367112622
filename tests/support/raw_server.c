/* SPDX-License-Identifier: Apache-2.0 */
/* raw_server.c: bare sockets on loopback, for what no decent HTTP server would send.
 *
 * Owns an accepting thread and one thread per connection; stopping shuts all sockets down, so
 * that a serve() blocked in reading or writing returns.  Declared in test_server.h. */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/arena.h"
#include "common/base/lock.h"
#include "common/base/str.h"
#include "tests/support/test_server.h"

#define MAX_CONNECTIONS 256

struct raw_conn {
    struct raw_server *server;
    pthread_t thread;
    int fd;
    int nth;
};
struct raw_server {
    void (*serve)(int fd, int nth, void *arg);
    void *arg;
    void *bytes; /* of raw_server_start_bytes() */
    size_t n_bytes;
    int listen_fd;
    uint16_t port;
    char url[64];
    pthread_t thread;

    struct mutex lock;
    struct raw_conn conns[MAX_CONNECTIONS] _guarded_by_(lock);
    int n_conns _guarded_by_(lock);
};

static void *serve_one(void *arg)
{
    struct raw_conn *c = arg;
    c->server->serve(c->fd, c->nth, c->server->arg);
    (void)shutdown(c->fd, SHUT_RDWR); /* the descriptor itself is closed when the server stops */
    return NULL;
}

static void *accept_all(void *arg)
{
    struct raw_server *s = arg;
    for (;;) {
        int fd = accept(s->listen_fd, NULL, NULL);
        if (fd < 0) {
            return NULL;
        }
        mutex_lock(&s->lock);
        if (s->n_conns == MAX_CONNECTIONS) {
            abort();
        }
        struct raw_conn *c = &s->conns[s->n_conns];
        *c = (struct raw_conn){.server = s, .fd = fd, .nth = s->n_conns};
        s->n_conns++;
        if (pthread_create(&c->thread, NULL, serve_one, c) != 0) {
            abort();
        }
        mutex_unlock(&s->lock);
    }
}

static void serve_bytes(int fd, int nth, void *arg)
{
    (void)nth;
    struct raw_server *s = arg;
    char head[8192];
    if (raw_read_head(fd, head, sizeof(head)) && raw_send(fd, s->bytes, s->n_bytes)) {
        (void)shutdown(fd, SHUT_WR);
        raw_wait_closed(fd);
    }
}

struct raw_server *raw_server_start(void (*serve)(int fd, int nth, void *arg), void *arg)
{
    struct raw_server *s = xcalloc(1, sizeof(*s));
    s->serve = serve;
    s->arg = arg;
    mutex_init(&s->lock);
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(sa);
    s->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (s->listen_fd < 0 || bind(s->listen_fd, (struct sockaddr *)&sa, sizeof(sa)) != 0 ||
        listen(s->listen_fd, 64) != 0 ||
        getsockname(s->listen_fd, (struct sockaddr *)&sa, &len) != 0) {
        abort();
    }
    s->port = ntohs(sa.sin_port);
    snprintf(s->url, sizeof(s->url), "http://127.0.0.1:%u", s->port);
    if (pthread_create(&s->thread, NULL, accept_all, s) != 0) {
        abort();
    }
    return s;
}

struct raw_server *raw_server_start_bytes(const void *bytes, size_t n)
{
    struct raw_server *s = raw_server_start(serve_bytes, NULL);
    s->bytes = xmalloc(n + 1);
    memcpy(s->bytes, bytes, n);
    s->n_bytes = n;
    s->arg = s; /* no connection yet: no client knows the port */
    return s;
}

void raw_server_stop(struct raw_server *s)
{
    if (s == NULL) {
        return;
    }
    (void)shutdown(s->listen_fd, SHUT_RDWR); /* accept() returns */
    pthread_join(s->thread, NULL);
    for (int i = 0; i < s->n_conns; i++) {
        (void)shutdown(s->conns[i].fd, SHUT_RDWR);
        pthread_join(s->conns[i].thread, NULL);
        close(s->conns[i].fd);
    }
    close(s->listen_fd);
    mutex_done(&s->lock);
    free(s->bytes);
    free(s);
}

uint16_t raw_server_port(const struct raw_server *s)
{
    return s->port;
}

const char *raw_server_url(const struct raw_server *s)
{
    return s->url;
}

int raw_server_connections(struct raw_server *s)
{
    mutex_lock(&s->lock);
    int n = s->n_conns;
    mutex_unlock(&s->lock);
    return n;
}

/* --- sockets --------------------------------------------------------------------------------- */

bool raw_read_head(int fd, char *head, size_t cap)
{
    size_t n = 0;
    while (n + 1 < cap) {
        if (recv(fd, head + n, 1, 0) != 1) {
            return false;
        }
        head[++n] = '\0';
        if (n >= 4 && memcmp(head + n - 4, "\r\n\r\n", 4) == 0) {
            return true;
        }
    }
    return false;
}

bool raw_send(int fd, const void *bytes, size_t n)
{
    const char *p = bytes;
    while (n > 0) {
        ssize_t done = send(fd, p, n, MSG_NOSIGNAL);
        if (done <= 0) {
            return false;
        }
        p += done;
        n -= (size_t)done;
    }
    return true;
}

bool raw_send_text(int fd, const char *text)
{
    return raw_send(fd, text, strlen(text));
}

void raw_wait_closed(int fd)
{
    char buf[4096];
    while (recv(fd, buf, sizeof(buf), 0) > 0) {
    }
}

int raw_connect(uint16_t port)
{
    struct sockaddr_in sa = {
        .sin_family = AF_INET,
        .sin_port = htons(port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&sa, sizeof(sa)) != 0) {
        abort();
    }
    return fd;
}

char *raw_read_all(int fd, size_t *ret_n)
{
    struct str_buf b = STR_BUF_INIT;
    char buf[4096];
    ssize_t n;
    while ((n = recv(fd, buf, sizeof(buf), 0)) > 0) {
        str_append_n(&b, buf, (size_t)n);
    }
    *ret_n = b.len;
    return str_buf_steal(&b);
}
