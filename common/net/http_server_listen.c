/* SPDX-License-Identifier: Apache-2.0 */
/* http_server_listen.c: the socket that listens, and new connections on it.
 *
 * Owns binding and accepting, and what happens when there is no place for one more: another goes,
 * or the new one.  Without a free file descriptor accepting pauses, because the socket would wake
 * the loop endlessly.  Must not know what a connection says.  One thread, the loop's. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

#include "common/base/limits.h"
#include "common/net/http_server_internal.h"

#define BACKLOG  1024
#define PAUSE_US 200000 /* without a free file descriptor */

struct place {
    struct sockaddr_storage ss;
    socklen_t len;
    bool both; /* an IPv6 socket for IPv4 as well */
};

static void on_accept(struct evconnlistener *l, evutil_socket_t fd, struct sockaddr *peer,
                      int peer_len, void *arg);
static void on_accept_error(struct evconnlistener *l, void *arg);
static void on_resume(evutil_socket_t fd, short what, void *arg);

/* --- binding ---------------------------------------------------------------------------------- */

static struct place place_v4(struct in_addr addr, uint16_t port)
{
    struct place p = {.len = sizeof(struct sockaddr_in)};
    struct sockaddr_in *v4 = (struct sockaddr_in *)&p.ss;
    v4->sin_family = AF_INET;
    v4->sin_addr = addr;
    v4->sin_port = htons(port);
    return p;
}

static struct place place_v6(struct in6_addr addr, uint16_t port)
{
    struct place p = {.len = sizeof(struct sockaddr_in6)};
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&p.ss;
    v6->sin6_family = AF_INET6;
    v6->sin6_addr = addr;
    v6->sin6_port = htons(port);
    return p;
}

/* A socket that listens there, or -1 with errno. */
static int open_listener(const struct place *p, bool share_port)
{
    int fd = socket(p->ss.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -1;
    }
    int on = 1, v6only = p->both ? 0 : 1;
    /* Connections of the process before us, which are only waiting out, do not keep us
     * from the port. */
    bool ok = setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0;
    ok = ok && (!share_port || setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) == 0);
    ok = ok && (p->ss.ss_family != AF_INET6 ||
                setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &v6only, sizeof(v6only)) == 0);
    ok = ok && bind(fd, (const struct sockaddr *)&p->ss, p->len) == 0 && listen(fd, BACKLOG) == 0;
    if (!ok) {
        int no = errno;
        close(fd);
        errno = no;
        return -1;
    }
    return fd;
}

/* Both families by one socket where the machine has both. */
static int open_all_families(const struct http_server_config *cfg)
{
    struct place both = place_v6(in6addr_any, cfg->port);
    both.both = true;
    int fd = open_listener(&both, cfg->share_port);
    if (fd < 0 && errno != EADDRINUSE && errno != EACCES) {
        const struct place v4 = place_v4((struct in_addr){.s_addr = htonl(INADDR_ANY)}, cfg->port);
        fd = open_listener(&v4, cfg->share_port);
    }
    return fd;
}

/* -1 with errno; EINVAL when the address is none. */
static int open_configured(const struct http_server_config *cfg)
{
    struct in_addr v4;
    struct in6_addr v6;
    struct place p;
    bool any;
    if (inet_pton(AF_INET, cfg->address, &v4) == 1) {
        p = place_v4(v4, cfg->port);
        any = v4.s_addr == htonl(INADDR_ANY);
    } else if (inet_pton(AF_INET6, cfg->address, &v6) == 1) {
        p = place_v6(v6, cfg->port);
        any = IN6_IS_ADDR_UNSPECIFIED(&v6);
    } else {
        errno = EINVAL;
        return -1;
    }
    return any && cfg->all_families ? open_all_families(cfg) : open_listener(&p, cfg->share_port);
}

static uint16_t port_of(const struct sockaddr *sa)
{
    return ntohs(sa->sa_family == AF_INET6 ? ((const struct sockaddr_in6 *)sa)->sin6_port
                                           : ((const struct sockaddr_in *)sa)->sin_port);
}

int server_listen(struct http_server *s, const struct http_server_config *cfg, struct err *err)
{
    unsigned char buf[sizeof(struct in6_addr)];
    if (inet_pton(AF_INET, cfg->address, buf) != 1 && inet_pton(AF_INET6, cfg->address, buf) != 1) {
        return err_set(err, ERR_INVALID, "address \"%s\" is no IP address", cfg->address);
    }
    int fd = open_configured(cfg);
    if (fd < 0) {
        int no = errno;
        return err_set(err, no == EADDRINUSE ? ERR_IN_USE : ERR_INVALID, "listen on %s port %u: %s",
                       cfg->address, cfg->port, strerror(no));
    }
    s->listener = evconnlistener_new(s->base, on_accept, s,
                                     LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC |
                                         (cfg->paused ? LEV_OPT_DISABLED : 0),
                                     0, fd);
    if (s->listener == NULL) {
        close(fd);
        return err_set(err, ERR_BUG, "listen on %s port %u: no listener", cfg->address, cfg->port);
    }
    evconnlistener_set_error_cb(s->listener, on_accept_error);
    s->resume = evtimer_new(s->base, on_resume, s);
    struct sockaddr_storage ss;
    socklen_t len = sizeof(ss);
    if (getsockname(fd, (struct sockaddr *)&ss, &len) == 0) {
        s->port = port_of((const struct sockaddr *)&ss);
    }
    return ERR_OK;
}

void http_server_resume(struct http_server *s)
{
    (void)evconnlistener_enable(s->listener);
}

/* --- accepting -------------------------------------------------------------------------------- */

bool http_address_text(const struct sockaddr *sa, char *out, size_t n)
{
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)sa;
    if (sa->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)sa;
        return inet_ntop(AF_INET, &v4->sin_addr, out, (socklen_t)n) != NULL;
    }
    if (sa->sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
        return inet_ntop(AF_INET, &v6->sin6_addr.s6_addr[12], out, (socklen_t)n) != NULL;
    }
    return sa->sa_family == AF_INET6 &&
           inet_ntop(AF_INET6, &v6->sin6_addr, out, (socklen_t)n) != NULL;
}

static void format_peer(const struct sockaddr *sa, char *out, size_t n)
{
    char text[INET6_ADDRSTRLEN];
    if (http_address_text(sa, text, sizeof(text))) {
        bool v6 = strchr(text, ':') != NULL;
        snprintf(out, n, "%s%s%s:%u", v6 ? "[" : "", text, v6 ? "]" : "", port_of(sa));
    }
}

static void on_accept(struct evconnlistener *l, evutil_socket_t fd, struct sockaddr *peer,
                      int peer_len, void *arg)
{
    struct http_server *s = arg;
    (void)l, (void)peer_len;
    if (s->cfg.max_connections > 0 && s->n_conns >= s->cfg.max_connections) {
        server_notice(s, "all connections are taken: the longest idle one is closed for each new "
                         "one, or the new one");
        if (!server_evict_idle(s)) {
            evutil_closesocket(fd);
            return;
        }
    }
    int on = 1;
    /* Watch events are small and must not wait for the next one (Nagle). */
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    char text[64] = "";
    format_peer(peer, text, sizeof(text));
    conn_start(s, fd, text);
}

static void on_accept_error(struct evconnlistener *l, void *arg)
{
    struct http_server *s = arg;
    int no = errno;
    if (no != EMFILE && no != ENFILE && no != ENOBUFS && no != ENOMEM) {
        return; /* of this one client: it has left again */
    }
    server_notice(s, "a new connection waits: " LIMITS_NO_DESCRIPTOR);
    if (!server_evict_idle(s)) {
        (void)evconnlistener_disable(l);
        const struct timeval pause = {.tv_usec = PAUSE_US};
        evtimer_add(s->resume, &pause);
    }
}

static void on_resume(evutil_socket_t fd, short what, void *arg)
{
    struct http_server *s = arg;
    (void)fd, (void)what;
    (void)evconnlistener_enable(s->listener);
}
