/* SPDX-License-Identifier: Apache-2.0 */
/* test_http_server_limits.c: clients that are slow, many, greedy or silent: the server's time and
 * memory are bounded.
 *
 * The loop is turned by hand and the clock is a fake one, except where ten thousand clients live in
 * a process of their own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/str.h"
#include "tests/support/clock_fake.h"
#include "tests/support/http_req.h"
#include "tests/support/own_process.h"
#include "tests/support/test_ca.h"
#include "tests/support/test_server.h"
#include "tests/support/unit.h"

#define GET_OK "GET /ok HTTP/1.1\r\nHost: x\r\n\r\n"
#define BIG    ((size_t)4 * 1024 * 1024)

/* /ok: "ok"; /big: 4 MiB; /hang: kept in `hanging`. */
struct rig {
    struct clock *clock;
    struct event_base *base;
    struct http_server *server;
    struct http_req *hanging;
    int requests, notices;
    char *big;
};

static void handle(void *arg, struct http_req *req)
{
    struct rig *r = arg;
    r->requests++;
    if (str_eq(http_req_path(req), "/hang")) {
        r->hanging = req;
    } else if (str_eq(http_req_path(req), "/big")) {
        http_req_answer(req, 200, r->big, BIG);
    } else {
        http_req_answer(req, 200, "ok", 2);
    }
}

static void notice(void *arg, const char *what)
{
    (void)what;
    ((struct rig *)arg)->notices++;
}

static void rig_start(struct rig *r, struct http_server_config cfg)
{
    *r = (struct rig){.clock = clock_fake_new(1000, 0), .base = event_base_new()};
    r->big = xcalloc(1, BIG);
    cfg.address = "127.0.0.1";
    cfg.clock = r->clock;
    cfg.handle = handle;
    cfg.notice = notice;
    cfg.arg = r;
    struct err err = ERR_INIT;
    assert_int_equal(http_server_new(r->base, &cfg, &r->server, &err), ERR_OK);
}

static void rig_stop(struct rig *r)
{
    http_server_free(r->server);
    http_server_free_loop(r->base);
    clock_fake_free(r->clock);
    free(r->big);
}

/* Everything that is there to be done. */
static void turn(struct rig *r)
{
    for (int i = 0; i < 10; i++) {
        event_base_loop(r->base, EVLOOP_NONBLOCK);
    }
}

static int client(struct rig *r, const char *says)
{
    int fd = raw_connect(http_server_port(r->server));
    assert_true(raw_send_text(fd, says));
    turn(r);
    return fd;
}

static void advance(struct rig *r, int64_t ms)
{
    clock_fake_advance(r->clock, ms);
    http_server_sweep(r->server);
    turn(r);
}

/* The available bytes, without waiting; -1: the server closed and nothing is left. */
static long receive(int fd, size_t most)
{
    char *buf = xmalloc(most);
    ssize_t n = recv(fd, buf, most, MSG_DONTWAIT);
    free(buf);
    if (n > 0) {
        return n;
    }
    return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? 0 : -1;
}

/* --- time ------------------------------------------------------------------------------------- */

static const struct http_server_config times = {
    .handshake_ms = 10000, .read_ms = 32000, .send_ms = 60000, .idle_ms = 90000};

static void limits__silence__closed_after_its_time(void **state)
{
    (void)state;
    static const struct {
        const char *name, *says;
        int64_t ms;
    } rows[] = {
        {"nothing said", "", 32000},
        {"half a head", "GET / HTTP/1.1\r\nHos", 32000},
        {"half a body", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc", 32000},
        {"idle after an answer", GET_OK, 90000},
        {"half of the next request", GET_OK "GET", 32000},
        {"refused", "bad\r\n\r\n", 2000},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct rig r;
        rig_start(&r, times);
        print_message("# %s\n", rows[i].name);
        int fd = client(&r, rows[i].says);
        (void)receive(fd, 4096);
        turn(&r);
        advance(&r, rows[i].ms - 1);
        assert_int_equal(http_server_connections(r.server), 1);
        advance(&r, 1);
        assert_int_equal(http_server_connections(r.server), 0);
        assert_int_equal(receive(fd, 4096), -1);
        close(fd);
        rig_stop(&r);
    }
}

static void limits__tls_without_handshake__closed(void **state)
{
    (void)state;
    struct test_ca *ca = test_ca_new("CA");
    struct test_cert cert = test_ca_issue(ca, &(struct test_cert_spec){.cn = "s"});
    struct http_server_config cfg = times;
    cfg.tls_cert_pem = cert.cert_pem;
    cfg.tls_key_pem = cert.key_pem;
    struct rig r;
    rig_start(&r, cfg);
    int fd = client(&r, "");
    advance(&r, 5000);
    assert_true(raw_send(fd, "\x16\x03\x01\x02", 4)); /* the beginning of one does not help */
    turn(&r);
    advance(&r, 4999);
    assert_int_equal(http_server_connections(r.server), 1);
    advance(&r, 1);
    assert_int_equal(http_server_connections(r.server), 0);
    close(fd);
    rig_stop(&r);
    test_cert_done(&cert);
    test_ca_free(ca);
}

/* A byte now and then is not progress. */
static void limits__dripped_request__closed_all_the_same(void **state)
{
    (void)state;
    struct rig r;
    rig_start(&r, times);
    int fd = client(&r, "GET / HTTP/1.1\r\nX: ");
    for (int i = 0; i < 31; i++) {
        advance(&r, 1000);
        assert_true(raw_send(fd, "a", 1));
        turn(&r);
        assert_int_equal(http_server_connections(r.server), 1);
    }
    advance(&r, 1000);
    assert_int_equal(http_server_connections(r.server), 0);
    close(fd);
    rig_stop(&r);
}

static void limits__dripped_answer__closed_all_the_same(void **state)
{
    (void)state;
    struct rig r;
    rig_start(&r, times);
    int fd = client(&r, "GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
    for (int i = 0; i < 59; i++) {
        assert_true(receive(fd, 1000) > 0);
        advance(&r, 1000);
        assert_int_equal(http_server_connections(r.server), 1);
    }
    advance(&r, 1000);
    assert_int_equal(http_server_connections(r.server), 0);
    close(fd);
    rig_stop(&r);
}

/* The handler's time is not the client's. */
static void limits__handler_thinks__nobody_is_closed(void **state)
{
    (void)state;
    struct rig r;
    rig_start(&r, times);
    int fd = client(&r, "GET /hang HTTP/1.1\r\nHost: x\r\n\r\n");
    advance(&r, 3600000);
    assert_int_equal(http_server_connections(r.server), 1);
    http_req_answer(r.hanging, 200, "late", 4);
    turn(&r);
    assert_true(receive(fd, 4096) > 0);
    close(fd);
    rig_stop(&r);
}

/* --- how many --------------------------------------------------------------------------------- */

static void limits__all_places_taken__longest_idle_goes(void **state)
{
    (void)state;
    struct http_server_config cfg = times;
    cfg.max_connections = 3;
    struct rig r;
    rig_start(&r, cfg);
    int a = client(&r, GET_OK);
    int b = client(&r, GET_OK);
    int busy = client(&r, "GET /hang HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_true(raw_send_text(a, GET_OK)); /* now b is the one that was idle for longest */
    turn(&r);
    assert_int_equal(r.notices, 0);
    int d = client(&r, GET_OK);
    assert_int_equal(http_server_connections(r.server), 3);
    assert_true(receive(b, 4096) > 0);
    assert_int_equal(receive(b, 4096), -1);
    assert_true(receive(d, 4096) > 0);
    assert_true(r.notices > 0);
    /* a and d go next; then only busy ones are left, and a new one is not taken */
    int e = client(&r, "GET /hang HTTP/1.1\r\nHost: x\r\n\r\n");
    int f = client(&r, "GET /hang HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_true(receive(a, 4096) > 0);
    assert_int_equal(receive(a, 4096), -1);
    int g = client(&r, GET_OK);
    assert_int_equal(receive(g, 4096), -1);
    assert_int_equal(http_server_connections(r.server), 3);
    assert_int_equal(receive(busy, 4096), 0);
    const int all[] = {a, b, busy, d, e, f, g};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        close(all[i]);
    }
    rig_stop(&r);
}

/* --- how much --------------------------------------------------------------------------------- */

static void limits__unfinished_requests__held_bytes_bounded(void **state)
{
    (void)state;
    struct http_server_config cfg = times;
    cfg.max_held = (size_t)256 * 1024;
    struct rig r;
    rig_start(&r, cfg);
    struct str_buf b = STR_BUF_INIT;
    str_append(&b, "GET / HTTP/1.1\r\nHost: x\r\n");
    while (b.len < 40000) {
        str_appendf(&b, "X-Flood: %01000d\r\n", 0);
    }
    int fds[20];
    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        fds[i] = client(&r, b.data);
        assert_true(http_server_held(r.server) <= cfg.max_held);
    }
    assert_in_range(http_server_connections(r.server), 2, 6);
    assert_int_equal(receive(fds[0], 10), -1);   /* the oldest are gone, */
    assert_true(raw_send_text(fds[19], "\r\n")); /* the newest is served */
    turn(&r);
    assert_true(receive(fds[19], 4096) > 0);
    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        close(fds[i]);
    }
    assert_true(r.notices > 0);
    turn(&r);
    assert_int_equal(http_server_held(r.server), 0);
    str_buf_done(&b);
    rig_stop(&r);
}

/* A client that asks and asks and does not read gets one answer prepared, not a thousand. */
static void limits__pipelined_without_reading__one_answer_waits(void **state)
{
    (void)state;
    struct rig r;
    rig_start(&r, times);
    struct str_buf b = STR_BUF_INIT;
    for (int i = 0; i < 1000; i++) {
        str_append(&b, "GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
    }
    int fd = client(&r, b.data);
    assert_int_equal(r.requests, 1);
    assert_true(http_server_held(r.server) < BIG + ((size_t)256 << 10));
    /* It reads in the end, and gets what it asked for.  The kernel may hold an answer or
     * two on their way. */
    size_t got = 0;
    while (r.requests < 3 || got <= BIG) {
        long n = receive(fd, BIG);
        assert_true(n >= 0);
        got += (size_t)n;
        turn(&r);
    }
    close(fd);
    str_buf_done(&b);
    rig_stop(&r);
}

/* Small answers are not held up. */
static void limits__pipelined_small_requests__all_answered(void **state)
{
    (void)state;
    struct rig r;
    rig_start(&r, times);
    struct str_buf b = STR_BUF_INIT;
    for (int i = 0; i < 5000; i++) {
        str_append(&b, GET_OK);
    }
    int fd = raw_connect(http_server_port(r.server));
    size_t sent = 0, got = 0;
    while (r.requests < 5000 || sent < b.len) {
        ssize_t n = send(fd, b.data + sent, b.len - sent, MSG_DONTWAIT);
        sent += n > 0 ? (size_t)n : 0;
        turn(&r);
        long m = receive(fd, 65536);
        assert_true(m >= 0);
        got += (size_t)m;
    }
    assert_true(got > 0);
    close(fd);
    str_buf_done(&b);
    rig_stop(&r);
}

/* --- ten thousand ----------------------------------------------------------------------------- */

/* A process that opens `n` connections, writes a byte to `ready` when it has them, and holds them
 * until `stop` ends. */
static pid_t crowd_start(uint16_t port, int n, int ready, int stop)
{
    pid_t pid = fork();
    if (pid != 0) {
        return pid;
    }
    for (int i = 0; i < n; i++) {
        (void)raw_connect(port); /* aborts when it cannot */
    }
    char byte = 'r';
    bool ok = write(ready, &byte, 1) == 1 && read(stop, &byte, 1) == 0;
    _exit(ok ? 0 : 1);
}

static bool raise_files(rlim_t n)
{
    struct rlimit l;
    getrlimit(RLIMIT_NOFILE, &l);
    l.rlim_cur = l.rlim_cur > n ? l.rlim_cur : n;
    return l.rlim_cur <= l.rlim_max && setrlimit(RLIMIT_NOFILE, &l) == 0;
}

static void limits__ten_thousand_connections__served(void **state)
{
    (void)state;
    if (!raise_files(10200)) {
        print_message("# the limit of open files is lower than 10,200; left out\n");
        return; /* cmocka's skip() counts as failed */
    }
    struct http_server_config cfg = times;
    cfg.max_connections = 10000;
    struct rig r;
    int ready[2], stop[2];
    rig_start(&r, cfg);
    assert_int_equal(pipe2(ready, O_CLOEXEC | O_NONBLOCK), 0);
    assert_int_equal(pipe2(stop, O_CLOEXEC), 0);
    long before = own_rss_kib();
    pid_t crowd = fork();
    if (crowd == 0) { /* so that the child's end of `stop` is not ours */
        close(stop[1]);
        pid_t pid = crowd_start(http_server_port(r.server), 9999, ready[1], stop[0]);
        int status = 1;
        (void)waitpid(pid, &status, 0);
        _exit(status == 0 ? 0 : 1);
    }
    close(stop[0]);
    char byte;
    while (http_server_connections(r.server) < 9999) {
        event_base_loop(r.base, EVLOOP_ONCE);
    }
    while (read(ready[0], &byte, 1) != 1) {
        event_base_loop(r.base, EVLOOP_NONBLOCK);
    }
    print_message("# %ld bytes per idle connection\n", (own_rss_kib() - before) * 1024 / 9999);
    int a = client(&r, GET_OK); /* number 10,000 */
    int b = client(&r, GET_OK); /* for which another goes */
    assert_true(receive(a, 4096) > 0);
    assert_true(receive(b, 4096) > 0);
    assert_int_equal(http_server_connections(r.server), 10000);
    advance(&r, 32000);
    assert_int_equal(http_server_connections(r.server),
                     2); /* a and b are idle, the others said nothing */
    close(stop[1]);
    int status = 1;
    assert_int_equal(waitpid(crowd, &status, 0), crowd);
    assert_int_equal(status, 0);
    close(a);
    close(b);
    close(ready[0]);
    close(ready[1]);
    rig_stop(&r);
}

/* --- no file descriptor is free --------------------------------------------------------------- */

/* Takes all that are free but `n`; closes them again from *ret_fds. */
static size_t take_fds(size_t n, int **ret_fds)
{
    int *fds = NULL;
    size_t taken = 0;
    for (int fd; (fd = dup(0)) >= 0; taken++) {
        fds = xrealloc(fds, (taken + 1) * sizeof(*fds));
        fds[taken] = fd;
    }
    for (size_t i = 0; i < n; i++) {
        close(fds[--taken]);
    }
    *ret_fds = fds;
    return taken;
}

static void limits__no_file_descriptor__idle_one_goes(void **state)
{
    (void)state;
    if (own_is_valgrind()) {
        print_message("# left out under valgrind\n");
        return;
    }
    struct rig r;
    rig_start(&r, times);
    int fds[8];
    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        fds[i] = raw_connect(http_server_port(r.server));
    }
    struct rlimit l, low;
    int *taken;
    getrlimit(RLIMIT_NOFILE, &l);
    low = l;
    low.rlim_cur = 256;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    size_t n_taken = take_fds(3, &taken); /* the server can take three of the eight */
    turn(&r);
    assert_true(raw_send_text(fds[7], GET_OK));
    turn(&r);
    assert_true(receive(fds[7], 4096) > 0); /* the last one is served */
    assert_int_equal(receive(fds[0], 10), -1);
    assert_in_range(r.notices, 1, 20);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &l), 0);
    for (size_t i = 0; i < n_taken; i++) {
        close(taken[i]);
    }
    free(taken);
    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        close(fds[i]);
    }
    rig_stop(&r);
}

UNIT_MAIN(http_server_limits)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits__silence__closed_after_its_time),
        cmocka_unit_test(limits__tls_without_handshake__closed),
        cmocka_unit_test(limits__dripped_request__closed_all_the_same),
        cmocka_unit_test(limits__dripped_answer__closed_all_the_same),
        cmocka_unit_test(limits__handler_thinks__nobody_is_closed),
        cmocka_unit_test(limits__all_places_taken__longest_idle_goes),
        cmocka_unit_test(limits__unfinished_requests__held_bytes_bounded),
        cmocka_unit_test(limits__pipelined_without_reading__one_answer_waits),
        cmocka_unit_test(limits__pipelined_small_requests__all_answered),
        cmocka_unit_test(limits__ten_thousand_connections__served),
        cmocka_unit_test(limits__no_file_descriptor__idle_one_goes),
    };
    return cmocka_run_group_tests_name("http_server_limits", tests, NULL, NULL);
}
