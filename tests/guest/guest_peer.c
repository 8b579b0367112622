/* SPDX-License-Identifier: Apache-2.0 */
/* guest_peer.c: pods that answer and clients that ask, in the network namespaces of the guest, as
 * one process.
 *
 * Reads a plan from stdin:
 *     listen NETNS tcp|udp ADDRESS PORT              a pod: it answers with its own address and the
 *                                                    one that it sees
 *     ask ID NETNS tcp|udp SOURCE ADDRESS PORT       a connection, or a datagram, from SOURCE
 *     probe NETNS tcp|udp SOURCE ADDRESS PORT        the same, of a destination that answers
 *     stay NETNS ADDRESS PORT                        a pod that answers each message of a TCP
 *                                                    connection, which continues
 *     open ID NETNS SOURCE ADDRESS PORT              a TCP connection that continues
 *     talk ID LABEL                                  a message on it, at once; prints "LABEL
 *                                                    answered POD SEEN" or "LABEL failed ERROR"
 *     shut ID                                        its end
 *     asked ID                                       until that ask has its answer
 *     big ID NETNS SOURCE ADDRESS PORT BYTES         a datagram of that size, in one piece; prints
 *                                                    "ID whole", or "ID mtu BYTES" of the way
 *     run COMMAND                                    by the shell; the lines before it have been
 *                                                    done
 *     api LABEL NETNS PORT METHOD PATH [BODY]        a request of JSON to 127.0.0.1; prints "LABEL
 *                                                    STATUS BODY" on one line
 * and prints a line for each ask: "ID answered POD SEEN", "ID refused", "ID failed ERROR" or "ID
 * silent".
 *
 * No clock decides that an ask is silent: all asks are made first, then each probe three times, one
 * after the other.  The guest has one processor and its networks have no length, so an answer to an
 * ask comes before the answer to a probe that was made later.  All sockets are in
 * one epoll loop. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum kind {
    TCP_LISTENER = 0,
    UDP_LISTENER,
    CLIENT,
    STAY_LISTENER,
    STAYING, /* a connection at such a pod */
    TALKER,
};

enum { PROBES = 3, MOST = 1024, TEXT = 128 };

struct peer {
    enum kind kind;
    int fd; /* -1: not open (any more) */
    bool is_udp;
    bool connected;
    bool done;
    char id[64];
    char result[3 * TEXT];
};

struct plan {
    int epoll;
    size_t n;
    size_t n_probes;
    struct peer peers[MOST];
    char probes[64][5][TEXT]; /* NETNS PROTO SOURCE ADDRESS PORT */
};

static void fail(const char *what, const char *about)
{
    fprintf(stderr, "guest_peer: %s %s: %s\n", what, about, strerror(errno));
    exit(1);
}

static void enter(const char *netns)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof(path), "/run/netns/%s", netns);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || setns(fd, CLONE_NEWNET) != 0) {
        fail("netns", netns);
    }
    (void)close(fd);
}

static struct addrinfo *resolve(const char *address, const char *port, bool is_udp)
{
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
                             .ai_socktype = is_udp ? SOCK_DGRAM : SOCK_STREAM};
    struct addrinfo *found = NULL;
    if (getaddrinfo(address, port, &hints, &found) != 0) {
        fail("address", address);
    }
    return found;
}

/* A socket that is bound to an address of `netns`; SO_REUSEADDR, without waiting. */
static int bound_socket(const char *netns, const char *address, const char *port, bool is_udp)
{
    static const int yes = 1;
    enter(netns);
    struct addrinfo *at = resolve(address, port, is_udp);
    int fd = socket(at->ai_family, at->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) != 0 ||
        bind(fd, at->ai_addr, at->ai_addrlen) != 0) {
        fail("bind", address);
    }
    freeaddrinfo(at);
    return fd;
}

static struct peer *add(struct plan *p, enum kind kind, int fd, bool is_udp)
{
    if (p->n == MOST) {
        fail("plan", "too long");
    }
    struct peer *peer = &p->peers[p->n++];
    *peer = (struct peer){.kind = kind, .fd = fd, .is_udp = is_udp};
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = peer};
    if (kind == CLIENT && !is_udp) {
        e.events |= EPOLLOUT;
    } else if (kind == TALKER) {
        e.events |= EPOLLOUT | EPOLLET; /* one wake-up when it is connected */
    }
    if (epoll_ctl(p->epoll, EPOLL_CTL_ADD, fd, &e) != 0) {
        fail("epoll", "");
    }
    return peer;
}

static void add_listener(struct plan *p, char word[][TEXT])
{
    bool is_udp = strcmp(word[1], "udp") == 0;
    int fd = bound_socket(word[0], word[2], word[3], is_udp);
    if (!is_udp && listen(fd, 128) != 0) {
        fail("listen", word[2]);
    }
    (void)add(p, is_udp ? UDP_LISTENER : TCP_LISTENER, fd, is_udp);
}

static void finish(struct peer *c, const char *result, int error)
{
    if (c->done) {
        return;
    }
    c->done = true;
    if (error == ECONNREFUSED) {
        (void)snprintf(c->result, sizeof(c->result), "refused");
    } else if (error != 0) {
        (void)snprintf(c->result, sizeof(c->result), "failed %s", strerror(error));
    } else {
        (void)snprintf(c->result, sizeof(c->result), "answered %s", result);
    }
    if (c->fd >= 0) {
        (void)close(c->fd);
    }
    c->fd = -1;
}

static struct peer *add_ask(struct plan *p, const char *id, char word[][TEXT])
{
    bool is_udp = strcmp(word[1], "udp") == 0;
    int fd = bound_socket(word[0], word[2], "0", is_udp);
    struct peer *c = add(p, CLIENT, fd, is_udp);
    (void)snprintf(c->id, sizeof(c->id), "%s", id);
    struct addrinfo *to = resolve(word[3], word[4], is_udp);
    int error = connect(fd, to->ai_addr, to->ai_addrlen) == 0 ? 0 : errno;
    freeaddrinfo(to);
    if (error == 0 && is_udp && send(fd, "?", 1, 0) < 0) {
        error = errno;
    }
    if (error != 0 && error != EINPROGRESS) {
        finish(c, NULL, error);
    }
    return c;
}

/* "ADDRESS:PORT" (IPv6: "[ADDRESS]:PORT"), or the address alone. */
static void format(const struct sockaddr_storage *at, bool with_port, char *out, size_t size)
{
    char host[TEXT] = "?", port[16] = "";
    (void)getnameinfo((const struct sockaddr *)at, sizeof(*at), host, sizeof(host), port,
                      sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV);
    bool six = at->ss_family == AF_INET6;
    if (with_port) {
        (void)snprintf(out, size, "%s%s%s:%s", six ? "[" : "", host, six ? "]" : "", port);
    } else {
        (void)snprintf(out, size, "%s", host);
    }
}

/* The answer of a pod to a client. */
static size_t answer(int fd, const struct sockaddr_storage *from, char *out, size_t size)
{
    struct sockaddr_storage own = {0};
    socklen_t len = sizeof(own);
    char pod[TEXT + 16], seen[TEXT];
    (void)getsockname(fd, (struct sockaddr *)&own, &len);
    format(&own, true, pod, sizeof(pod));
    format(from, false, seen, sizeof(seen));
    return (size_t)snprintf(out, size, "%s %s", pod, seen);
}

static void serve(struct peer *l)
{
    struct sockaddr_storage from = {0};
    socklen_t len = sizeof(from);
    char text[3 * TEXT];
    if (l->kind == UDP_LISTENER) {
        while (recvfrom(l->fd, text, sizeof(text), 0, (struct sockaddr *)&from, &len) >= 0) {
            size_t n = answer(l->fd, &from, text, sizeof(text));
            (void)sendto(l->fd, text, n, 0, (struct sockaddr *)&from, len);
            len = sizeof(from);
        }
        return;
    }
    int fd;
    while ((fd = accept4(l->fd, (struct sockaddr *)&from, &len, SOCK_CLOEXEC)) >= 0) {
        size_t n = answer(fd, &from, text, sizeof(text));
        (void)!write(fd, text, n);
        (void)close(fd);
        len = sizeof(from);
    }
}

/* ---- connections that continue --------------------------------------------------------------- */

enum { USER_TIMEOUT_MS = 120000, SYN_RETRIES = 6 }; /* so long a message may have no answer */

static void add_staying_pod(struct plan *p, char word[][TEXT])
{
    int fd = bound_socket(word[0], word[1], word[2], false);
    if (listen(fd, 128) != 0) {
        fail("listen", word[1]);
    }
    (void)add(p, STAY_LISTENER, fd, false);
}

static void take_staying(struct plan *p, const struct peer *l)
{
    int fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
        (void)add(p, STAYING, fd, false);
    }
}

static void serve_staying(struct peer *s)
{
    struct sockaddr_storage from = {0};
    socklen_t len = sizeof(from);
    char text[3 * TEXT];
    ssize_t n = recv(s->fd, text, sizeof(text), 0);
    if (n > 0) {
        (void)getpeername(s->fd, (struct sockaddr *)&from, &len);
        size_t size = answer(s->fd, &from, text, sizeof(text));
        (void)!write(s->fd, text, size);
    } else if (n == 0 || errno != EAGAIN) {
        (void)close(s->fd);
        s->fd = -1;
    }
}

static void add_talker(struct plan *p, const char *id, char word[][TEXT])
{
    static const int retries = SYN_RETRIES, limit = USER_TIMEOUT_MS;
    int fd = bound_socket(word[0], word[1], "0", false);
    struct addrinfo *to = resolve(word[2], word[3], false);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_SYNCNT, &retries, sizeof(retries));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit, sizeof(limit));
    (void)connect(fd, to->ai_addr,
                  to->ai_addrlen); /* the first message says whether that went well */
    freeaddrinfo(to);
    struct peer *c = add(p, TALKER, fd, false);
    (void)snprintf(c->id, sizeof(c->id), "%s", id);
}

static void hear_talker(struct peer *c)
{
    char text[2 * TEXT];
    ssize_t n = recv(c->fd, text, sizeof(text) - 1, 0);
    if (n > 0) {
        text[n] = '\0';
        (void)snprintf(c->result, sizeof(c->result), "answered %s", text);
        c->done = true;
    } else if (n == 0 || errno != EAGAIN) {
        (void)snprintf(c->result, sizeof(c->result), "failed %s",
                       strerror(n == 0 ? ENODATA : errno));
        c->done = true;
        (void)close(c->fd);
        c->fd = -1;
    }
}

static struct peer *peer_of(struct plan *p, enum kind kind, const char *id)
{
    for (size_t i = p->n; i-- > 0;) {
        if (p->peers[i].kind == kind && strcmp(p->peers[i].id, id) == 0) {
            return &p->peers[i];
        }
    }
    fail("no connection", id);
    return NULL;
}

/* Nothing at all has happened for so long: what is awaited is lost, and the report says where. */
enum { LOST_MS = 180000, NOT = 0 };

static size_t turn(struct plan *p, int wait_ms);

/* Until it has a result. */
static void await_result(struct plan *p, struct peer *c)
{
    while (!c->done) {
        if (turn(p, LOST_MS) == 0 && !c->done) {
            (void)snprintf(c->result, sizeof(c->result), "silent");
            c->done = true;
        }
    }
}

static bool is_connecting(int fd)
{
    struct tcp_info info = {0};
    socklen_t len = sizeof(info);
    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0 &&
           info.tcpi_state == TCP_SYN_SENT;
}

static void talk(struct plan *p, const char *id, const char *label)
{
    struct peer *c = peer_of(p, TALKER, id);
    while (c->fd >= 0 && is_connecting(c->fd) && turn(p, LOST_MS) > 0) {
    }
    c->done = c->fd < 0;
    if (c->fd >= 0 && send(c->fd, "?", 1, MSG_NOSIGNAL) < 0) {
        hear_talker(c);
    }
    await_result(p, c);
    printf("%s %s\n", label, c->result);
    (void)fflush(stdout);
}

static void shut(struct plan *p, const char *id)
{
    struct peer *c = peer_of(p, TALKER, id);
    if (c->fd >= 0) {
        (void)close(c->fd);
        c->fd = -1;
    }
    while (turn(p, NOT) > 0) {
    }
}

/* ---- a server of JSON ------------------------------------------------------------------------ */

static void send_all(int fd, const char *text, size_t n)
{
    for (ssize_t done; n > 0; text += done, n -= (size_t)done) {
        done = write(fd, text, n);
        if (done <= 0) {
            fail("send", "api");
        }
    }
}

static void api(const char *label, char word[][TEXT], const char *body)
{
    static char text[65536];
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    size_t n = 0;
    to.sin_port = htons((uint16_t)strtoul(word[1], NULL, 10));
    enter(word[0]);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&to, sizeof(to)) != 0) {
        fail("connect", "api");
    }
    int size =
        snprintf(text, sizeof(text),
                 "%s %s HTTP/1.1\r\nHost: api\r\nConnection: close\r\nContent-Type: "
                 "application/%s\r\nContent-Length: %zu\r\n\r\n%s",
                 word[2], word[3], strcmp(word[2], "POST") == 0 ? "json" : "merge-patch+json",
                 strlen(body), body);
    send_all(fd, text, (size_t)size);
    for (ssize_t got = 1; got > 0 && n<sizeof(text) - 1; n += got> 0 ? (size_t)got : 0) {
        got = read(fd, text + n, sizeof(text) - 1 - n);
    }
    (void)close(fd);
    text[n] = '\0';
    const char *rest = strstr(text, "\r\n\r\n");
    for (char *c = text; *c != '\0'; c++) {
        *c = *c == '\n' ? ' ' : *c;
    }
    printf("%s %.3s %s\n", label, n > 12 ? text + 9 : "?", rest == NULL ? "" : rest + 4);
    (void)fflush(stdout);
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void hear(struct plan *p, struct peer *c)
{
    char text[2 * TEXT];
    int error = 0;
    socklen_t len = sizeof(error);
    if (!c->is_udp && !c->connected) {
        (void)getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len);
        if (error != 0) {
            finish(c, NULL, error);
            return;
        }
        c->connected = true;
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
        (void)epoll_ctl(p->epoll, EPOLL_CTL_MOD, c->fd, &e);
    }
    ssize_t n = recv(c->fd, text, sizeof(text) - 1, 0);
    if (n > 0) {
        text[n] = '\0';
        finish(c, text, 0);
    } else if (n == 0 || errno != EAGAIN) {
        finish(c, NULL, n == 0 ? ENODATA : errno);
    }
}

/* Handles what has happened; waits so long for something first. */
static size_t turn(struct plan *p, int wait_ms)
{
    struct epoll_event events[64];
    int n = epoll_wait(p->epoll, events, 64, wait_ms);
    for (int i = 0; i < n; i++) {
        struct peer *peer = events[i].data.ptr;
        if (peer->fd < 0) {
            continue;
        }
        switch (peer->kind) {
        case CLIENT:
            hear(p, peer);
            break;
        case STAY_LISTENER:
            take_staying(p, peer);
            break;
        case STAYING:
            serve_staying(peer);
            break;
        case TALKER:
            hear_talker(peer);
            break;
        default:
            serve(peer);
            break;
        }
    }
    return n > 0 ? (size_t)n : 0;
}

static bool any_connected(const struct plan *p)
{
    for (size_t i = 0; i < p->n; i++) {
        if (p->peers[i].connected && !p->peers[i].done) {
            return true;
        }
    }
    return false;
}

static void probe_all(struct plan *p)
{
    for (size_t i = 0; i < PROBES * p->n_probes; i++) {
        struct peer *c = add_ask(p, "", p->probes[i / PROBES]);
        await_result(p, c);
        if (strncmp(c->result, "answered", 8) != 0) {
            printf("probe %zu %s\n", i / PROBES, c->result);
        }
    }
    while (turn(p, any_connected(p) ? LOST_MS : NOT) > 0) {
    }
}

/* A refusal that comes back while connect() still holds the socket is remembered as a soft error,
 * which wakes no poller. */
static void find_soft_errors(struct plan *p)
{
    for (size_t i = 0; i < p->n; i++) {
        struct peer *c = &p->peers[i];
        int error = 0;
        socklen_t len = sizeof(error);
        if (c->kind == CLIENT && !c->done &&
            getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 && error != 0) {
            finish(c, NULL, error);
        }
    }
}

/* The path MTU, as the kernel has learned it. */
static int mtu_of_way(char word[][TEXT])
{
    int mtu = 0;
    socklen_t len = sizeof(mtu);
    struct addrinfo *to = resolve(word[2], word[3], true);
    bool six = to->ai_family == AF_INET6;
    int fd = bound_socket(word[0], word[1], "0", true);
    if (connect(fd, to->ai_addr, to->ai_addrlen) != 0 ||
        getsockopt(fd, six ? IPPROTO_IPV6 : IPPROTO_IP, six ? IPV6_MTU : IP_MTU, &mtu, &len) != 0) {
        fail("mtu", word[2]);
    }
    freeaddrinfo(to);
    (void)close(fd);
    return mtu;
}

/* Until the pod has answered, or the way has said that the packet is too large for it: by an error
 * of the socket, which the loop may be the first to see. */
static void big(struct plan *p, const char *id, char word[][TEXT])
{
    static char bytes[9000];
    static const char too_large[] = "failed Message too long";
    int always = IP_PMTUDISC_DO; /* IPv6 has the same number */
    size_t n = strtoul(word[4], NULL, 10);
    struct addrinfo *to = resolve(word[2], word[3], true);
    bool six = to->ai_family == AF_INET6;
    int fd = bound_socket(word[0], word[1], "0", true);
    struct peer *c = add(p, CLIENT, fd, true);
    (void)setsockopt(fd, six ? IPPROTO_IPV6 : IPPROTO_IP, six ? IPV6_MTU_DISCOVER : IP_MTU_DISCOVER,
                     &always, sizeof(always));
    if (n > sizeof(bytes) || connect(fd, to->ai_addr, to->ai_addrlen) != 0) {
        fail("connect", word[2]);
    }
    freeaddrinfo(to);
    while (!c->done) {
        if (send(fd, bytes, n, 0) < 0 && errno == EMSGSIZE) {
            finish(c, NULL, EMSGSIZE);
            break;
        }
        (void)poll(NULL, 0, 10);
        while (turn(p, NOT) > 0) {
        }
    }
    if (strncmp(c->result, "answered", 8) == 0) {
        printf("%s whole\n", id);
    } else if (strcmp(c->result, too_large) == 0) {
        printf("%s mtu %d\n", id, mtu_of_way(word));
    } else {
        printf("%s %s\n", id, c->result);
    }
    (void)fflush(stdout);
}

static void run(const char *command)
{
    int status = -1;
    (void)fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        (void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        printf("run failed: %s", command);
    }
}

/* Lines that are done at once; false: `line` is none of them. */
static bool do_line(struct plan *p, const char *line)
{
    char verb[16], id[64], word[5][TEXT];
    int at = 0;
    if (sscanf(line, "stay %127s %127s %127s", word[0], word[1], word[2]) == 3) {
        add_staying_pod(p, word);
    } else if (sscanf(line, "open %63s %127s %127s %127s %127s", id, word[0], word[1], word[2],
                      word[3]) == 5) {
        add_talker(p, id, word);
    } else if (sscanf(line, "big %63s %127s %127s %127s %127s %127s", id, word[0], word[1], word[2],
                      word[3], word[4]) == 6) {
        big(p, id, word);
    } else if (sscanf(line, "talk %63s %127s", id, word[0]) == 2) {
        talk(p, id, word[0]);
    } else if (sscanf(line, "asked %63s", id) == 1) {
        await_result(p, peer_of(p, CLIENT, id));
    } else if (sscanf(line, "shut %63s", id) == 1) {
        shut(p, id);
    } else if (sscanf(line, "api %63s %127s %127s %127s %127s %n", id, word[0], word[1], word[2],
                      word[3], &at) == 5) {
        api(id, word, line + at);
    } else if (sscanf(line, "%15s %n", verb, &at) == 1 && strcmp(verb, "run") == 0) {
        run(line + at);
    } else {
        return false;
    }
    return true;
}

static void read_plan(struct plan *p)
{
    char line[1024], verb[16], id[64], word[5][TEXT];
    while (fgets(line, sizeof(line), stdin) != NULL) {
        if (sscanf(line, "%15s", verb) != 1) {
            continue;
        }
        if (strcmp(verb, "listen") == 0 &&
            sscanf(line, "%*s %127s %127s %127s %127s", word[0], word[1], word[2], word[3]) == 4) {
            add_listener(p, word);
        } else if (strcmp(verb, "ask") == 0 &&
                   sscanf(line, "%*s %63s %127s %127s %127s %127s %127s", id, word[0], word[1],
                          word[2], word[3], word[4]) == 6) {
            (void)add_ask(p, id, word);
            while (turn(p, NOT) > 0) {
            }
        } else if (strcmp(verb, "probe") == 0 && p->n_probes < 64 &&
                   sscanf(line, "%*s %127s %127s %127s %127s %127s", word[0], word[1], word[2],
                          word[3], word[4]) == 5) {
            memcpy(p->probes[p->n_probes++], word, sizeof(word));
        } else if (!do_line(p, line)) {
            errno = EINVAL;
            fail("line", line);
        }
    }
}

int main(void)
{
    static struct plan plan;
    plan.epoll = epoll_create1(EPOLL_CLOEXEC);
    read_plan(&plan);
    probe_all(&plan);
    find_soft_errors(&plan);
    for (size_t i = 0; i < plan.n; i++) {
        const struct peer *c = &plan.peers[i];
        if (c->kind == CLIENT && c->id[0] != '\0') {
            printf("%s %s\n", c->id, c->done ? c->result : "silent");
        }
    }
    return 0;
}
