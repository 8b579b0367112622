/* SPDX-License-Identifier: Apache-2.0 */
/* probe.c: one question to one target (probe.h).  Of an answer only the status line and
 * headers are read. */
#include "providers/local/director/probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/arena.h"
#include "common/base/str.h"

#define ANSWER_MAX  4096
#define REQUEST_MAX 1024

struct local_probe {
    enum local_check kind;
    int fd;
    int64_t deadline_ms;
    bool connected;
    size_t sent, len; /* of the request */
    size_t got;
    char request[REQUEST_MAX];
    char answer[ANSWER_MAX + 1];
};

static bool connect_to(const struct local_probe *p, const struct local_check_spec *spec)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(spec->port)};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(spec->port)};
    const struct linger reset = {.l_onoff = 1};
    bool v6 = spec->addr.len == 16;

    memcpy(v6 ? (void *)&in6.sin6_addr : (void *)&in.sin_addr, spec->addr.bytes, spec->addr.len);
    (void)setsockopt(p->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset); /* spares TIME_WAIT */
    int rc = v6 ? connect(p->fd, (const struct sockaddr *)&in6, sizeof in6)
                : connect(p->fd, (const struct sockaddr *)&in, sizeof in);
    return rc == 0 || errno == EINPROGRESS;
}

struct local_probe *local_probe_new(const struct local_check_spec *spec, int64_t now_ms)
{
    struct local_probe *p = xcalloc(1, sizeof *p);
    char host[IP_TEXT_MAX];
    bool v6 = spec->addr.len == 16;

    p->kind = spec->kind;
    p->deadline_ms = now_ms + spec->timeout_ms;
    if (spec->path != NULL) {
        ip_format(&spec->addr, host);
        int n = snprintf(p->request, sizeof p->request,
                         "GET %s HTTP/1.1\r\nHost: %s%s%s:%u\r\nUser-Agent: trimtab\r\n"
                         "Connection: close\r\n\r\n",
                         spec->path, v6 ? "[" : "", host, v6 ? "]" : "", spec->port);
        p->len = n > 0 && (size_t)n < sizeof p->request ? (size_t)n : 0;
    }
    p->fd = socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (p->fd < 0 || !connect_to(p, spec) || (spec->path != NULL && p->len == 0)) {
        local_probe_free(p);
        return NULL;
    }
    return p;
}

void local_probe_free(struct local_probe *p)
{
    if (p != NULL && p->fd >= 0) {
        close(p->fd);
    }
    free(p);
}

int local_probe_fd(const struct local_probe *p)
{
    return p->fd;
}

short local_probe_events(const struct local_probe *p)
{
    return p->connected && p->sent == p->len ? POLLIN : POLLOUT;
}

int64_t local_probe_deadline_ms(const struct local_probe *p)
{
    return p->deadline_ms;
}

/* -1: failed; 0: not yet; 1: connected. */
static int is_connected(const struct local_probe *p)
{
    struct pollfd fd = {.fd = p->fd, .events = POLLOUT};
    int error = 0;
    socklen_t n = sizeof error;

    if (poll(&fd, 1, 0) <= 0) {
        return 0;
    }
    return getsockopt(p->fd, SOL_SOCKET, SO_ERROR, &error, &n) == 0 && error == 0 ? 1 : -1;
}

static bool waits(void)
{
    return errno == EAGAIN || errno == EINTR;
}

static uint16_t weight_in(const char *headers)
{
    static const char name[] = "\r\n" LOCAL_CHECK_WEIGHT ":";

    for (const char *at = strstr(headers, "\r\n"); at != NULL; at = strstr(at + 2, "\r\n")) {
        if (strncasecmp(at, name, sizeof name - 1) == 0) {
            long n = strtol(at + sizeof name - 1, NULL, 10);
            return (uint16_t)(n < 0 ? 0 : n > 255 ? 255 : n);
        }
    }
    return 0;
}

static enum local_probe_end judge(const struct local_probe *p, uint16_t *ret_weight)
{
    int status = 0;

    if (sscanf(p->answer, "HTTP/1.%*1[01] %3d", &status) != 1 ||
        !local_check_status_is_good(p->kind, status)) {
        return LOCAL_PROBE_BAD;
    }
    *ret_weight = p->kind == LOCAL_CHECK_NODE_PORT ? weight_in(p->answer) : 0;
    return LOCAL_PROBE_GOOD;
}

static enum local_probe_end receive(struct local_probe *p, uint16_t *ret_weight)
{
    for (;;) {
        ssize_t n = recv(p->fd, p->answer + p->got, ANSWER_MAX - p->got, 0);
        if (n < 0 && waits()) {
            return LOCAL_PROBE_WAITS;
        }
        p->got += n > 0 ? (size_t)n : 0;
        p->answer[p->got] = '\0';
        if (n <= 0 || p->got == ANSWER_MAX || strstr(p->answer, "\r\n\r\n") != NULL) {
            return judge(p, ret_weight);
        }
    }
}

enum local_probe_end local_probe_go(struct local_probe *p, int64_t now_ms, uint16_t *ret_weight)
{
    int connected = p->connected ? 1 : is_connected(p);
    enum local_probe_end end = connected < 0 ? LOCAL_PROBE_BAD : LOCAL_PROBE_WAITS;

    p->connected = connected > 0;
    *ret_weight = 0;
    if (p->connected && p->len == 0) {
        return LOCAL_PROBE_GOOD;
    }
    if (p->connected && p->sent < p->len) {
        ssize_t n = send(p->fd, p->request + p->sent, p->len - p->sent, MSG_NOSIGNAL);
        p->sent += n > 0 ? (size_t)n : 0;
        end = n < 0 && !waits() ? LOCAL_PROBE_BAD : LOCAL_PROBE_WAITS;
    }
    if (p->connected && p->sent == p->len && end == LOCAL_PROBE_WAITS) {
        end = receive(p, ret_weight);
    }
    return end == LOCAL_PROBE_WAITS && now_ms >= p->deadline_ms ? LOCAL_PROBE_BAD : end;
}
