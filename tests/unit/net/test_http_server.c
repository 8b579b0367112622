/* SPDX-License-Identifier: Apache-2.0 */
/* test_http_server.c: the server seen from a bare socket: requests cut right, answers framed
 * right. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <event2/event.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/str.h"
#include "tests/support/test_ca.h"
#include "tests/support/test_server.h"
#include "tests/support/tls_client.h"
#include "tests/support/unit.h"

#define HOST    "Host: x\r\n"
#define CHUNKED "Transfer-Encoding: chunked\r\n\r\n"

/* Sends `request` whole, says that no more will come, and reads until the server closes. */
static char *talk(struct test_server *s, const char *request, size_t n)
{
    int fd = raw_connect(test_server_port(s));
    (void)raw_send(fd, request, n);
    (void)shutdown(fd, SHUT_WR);
    char *answer = raw_read_all(fd, &n);
    close(fd);
    return answer;
}

static void server__requests__answers(void **state)
{
    (void)state;
    static const struct {
        const char *name, *request, *answer;
    } rows[] = {
        {"get", "GET /ok HTTP/1.1\r\n" HOST "\r\n",
         "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"},
        {"blank lines before", "\r\n\r\nGET /ok HTTP/1.1\r\n" HOST "\r\n",
         "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"},
        {"close", "GET /ok HTTP/1.1\r\n" HOST "Connection: foo, Close\r\n\r\n",
         "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"},
        {"old", "GET /ok HTTP/1.0\r\n\r\n",
         "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"},
        {"old, kept", "GET /ok HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
         "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"},
        {"head", "HEAD /ok HTTP/1.1\r\n" HOST "\r\n",
         "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"},
        {"no content", "GET /status/204 HTTP/1.1\r\n" HOST "\r\n",
         "HTTP/1.1 204 No Content\r\n\r\n"},
        {"unknown status", "GET /status/299 HTTP/1.1\r\n" HOST "\r\n",
         "HTTP/1.1 299 Unknown\r\nContent-Length: 0\r\n\r\n"},
        {"stream", "GET /stream/1 HTTP/1.1\r\n" HOST "\r\n",
         "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7\r\nline 0\n\r\n0\r\n\r\n"},
        {"stream to an old client", "GET /stream/2 HTTP/1.0\r\n\r\n",
         "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nline 0\nline 1\n"},
        {"head of a stream", "HEAD /stream/1 HTTP/1.1\r\n" HOST "\r\n",
         "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"},
        {"drop", "GET /drop HTTP/1.1\r\n" HOST "\r\n", ""},
        {"pipelined",
         "GET /ok HTTP/1.1\r\n" HOST "\r\nGET /status/404 HTTP/1.1\r\n" HOST "\r\n"
         "GET /ok HTTP/1.1\r\n" HOST "\r\n",
         "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
         "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
         "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"},
        {"pipelined bodies",
         "PUT /echo HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabc"
         "PATCH /echo?q HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"
         "2 ;x=y\r\nde\r\n1 \r\nf\r\n0\r\nX-T: t\r\n\r\n",
         "HTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\n"
         "PUT /echo\nHost: x\nContent-Length: 3\n\nabc"
         "HTTP/1.1 200 OK\r\nContent-Length: 26\r\n\r\nPATCH /echo?q\nHost: x\n\ndef"},
        {"continue",
         "POST /echo HTTP/1.1\r\n" HOST "Expect: 100-Continue\r\nContent-Length: 1\r\n\r\nx",
         "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 60\r\n\r\n"
         "POST /echo\nHost: x\nExpect: 100-Continue\nContent-Length: 1\n\nx"},
        {"any method, raw target", "BREW /%2e%2E//a?b#c HTTP/1.1\r\n" HOST "\r\n",
         "HTTP/1.1 404 Not Found\r\nContent-Length: 13\r\n\r\nno such route"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct test_server *s = test_server_start(NULL);
        print_message("# %s\n", rows[i].name);
        char *got = talk(s, rows[i].request, strlen(rows[i].request));
        assert_string_equal(got, rows[i].answer);
        free(got);
        test_server_stop(s);
    }
}

struct bad_request {
    const char *name, *request;
    size_t n; /* 0: strlen */
    int status;
};

static void assert_refused(const struct bad_request *rows, size_t n_rows)
{
    for (size_t i = 0; i < n_rows; i++) {
        struct test_server *s = test_server_start(&(struct test_server_config){.max_body = 1000});
        print_message("# %s\n", rows[i].name);
        size_t n = rows[i].n == 0 ? strlen(rows[i].request) : rows[i].n;
        char *got = talk(s, rows[i].request, n);
        char want[32];
        snprintf(want, sizeof(want), "HTTP/1.1 %d ", rows[i].status);
        assert_int_equal(strncmp(got, want, strlen(want)), 0);
        assert_null(strstr(got, "200"));
        assert_int_equal(test_server_requests(s), 0);
        free(got);
        test_server_stop(s);
    }
}

static void server__bad_requests__refused_and_closed(void **state)
{
    (void)state;
    static const struct bad_request rows[] = {
        {"garbage", "hello\r\n\r\n", 0, 400},
        {"TLS to a plain port", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\n", 11, 400},
        {"HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 0, 505},
        {"no version", "GET /ok\r\n\r\n", 0, 400},
        {"blank in target", "GET /o k HTTP/1.1\r\n" HOST "\r\n", 0, 400},
        {"bad method", "G(T /ok HTTP/1.1\r\n" HOST "\r\n", 0, 400},
        {"no host", "GET /ok HTTP/1.1\r\n\r\n", 0, 400},
        {"NUL in a header", "GET /ok HTTP/1.1\r\n" HOST "X-A: b\0c\r\n\r\n", 39, 400},
        {"CR in a header", "GET /ok HTTP/1.1\r\n" HOST "X-A: b\rc\r\n\r\n", 0, 400},
        {"blank before the colon", "GET /ok HTTP/1.1\r\n" HOST "X-A : b\r\n\r\n", 0, 400},
        {"folded line", "GET /ok HTTP/1.1\r\n" HOST "X-A: b\r\n c\r\n\r\n", 0, 400},
        {"no colon", "GET /ok HTTP/1.1\r\n" HOST "X-A\r\n\r\n", 0, 400},
        {"two lengths",
         "POST /ok HTTP/1.1\r\n" HOST "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", 0, 400},
        {"length and chunks",
         "POST /ok HTTP/1.1\r\n" HOST "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 0,
         400},
        {"signed length", "POST /ok HTTP/1.1\r\n" HOST "Content-Length: +1\r\n\r\na", 0, 400},
        {"other coding", "POST /ok HTTP/1.1\r\n" HOST "Transfer-Encoding: gzip\r\n\r\n", 0, 501},
        {"bad chunk", "POST /ok HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\nxyz\r\n", 0,
         400},
        {"chunk too long",
         "POST /ok HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n", 0, 400},
        {"huge length", "POST /ok HTTP/1.1\r\n" HOST "Content-Length: 1001\r\n\r\n", 0, 413},
        {"endless length",
         "POST /ok HTTP/1.1\r\n" HOST "Content-Length: 99999999999999999999\r\n\r\n", 0, 400},
        {"huge chunk", "POST /ok HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n3ea\r\n", 0,
         413},
        {"chunk of 2^64",
         "POST /ok HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", 0,
         400},
    };
    assert_refused(rows, ARRAY_LEN(rows));
}

/* Two parsers may cut these differently. */
static void server__ambiguous_requests__refused_and_closed(void **state)
{
    (void)state;
    static const struct bad_request rows[] = {
        {"two hosts", "GET /ok HTTP/1.1\r\n" HOST "Host: y\r\n\r\n", 0, 400},
        {"the same host twice", "GET /ok HTTP/1.1\r\n" HOST "host: x\r\n\r\n", 0, 400},
        {"two hosts, old", "GET /ok HTTP/1.0\r\n" HOST HOST "\r\n", 0, 400},
        {"two codings",
         "POST /ok HTTP/1.1\r\n" HOST
         "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
         0, 400},
        {"coding and another",
         "POST /ok HTTP/1.1\r\n" HOST
         "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
         0, 400},
        {"coding in a list",
         "POST /ok HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", 0,
         501},
        {"odd coding", "POST /ok HTTP/1.1\r\n" HOST "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
         0, 501},
        {"no coding", "POST /ok HTTP/1.1\r\n" HOST "Transfer-Encoding:\r\n\r\n0\r\n\r\n", 0, 501},
        {"chunks, old", "POST /ok HTTP/1.0\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
         0, 400},
        {"bare LF everywhere", "GET /ok HTTP/1.1\nHost: x\n\n", 0, 400},
        {"bare LF after the request line", "GET /ok HTTP/1.1\n" HOST "\r\n", 0, 400},
        {"bare LF after a header", "GET /ok HTTP/1.1\r\nHost: x\n\r\n", 0, 400},
        {"bare LF ends the head", "GET /ok HTTP/1.1\r\n" HOST "\n", 0, 400},
        {"bare LF before a request", "\nGET /ok HTTP/1.1\r\n" HOST "\r\n", 0, 400},
        {"bare LF after a size", "POST /ok HTTP/1.1\r\n" HOST CHUNKED "1\na\r\n0\r\n\r\n", 0, 400},
        {"bare LF after a chunk", "POST /ok HTTP/1.1\r\n" HOST CHUNKED "1\r\na\n0\r\n\r\n", 0, 400},
        {"bare LF ends the chunks", "POST /ok HTTP/1.1\r\n" HOST CHUNKED "0\r\n\n", 0, 400},
        {"junk after a size", "POST /ok HTTP/1.1\r\n" HOST CHUNKED "1 x\r\na\r\n0\r\n\r\n", 0, 400},
        {"a second size", "POST /ok HTTP/1.1\r\n" HOST CHUNKED "1 1\r\na\r\n0\r\n\r\n", 0, 400},
        {"sign before a size", "POST /ok HTTP/1.1\r\n" HOST CHUNKED "+1\r\na\r\n0\r\n\r\n", 0, 400},
        {"prefix of a size", "POST /ok HTTP/1.1\r\n" HOST CHUNKED "0x1\r\na\r\n0\r\n\r\n", 0, 400},
        {"CR in an extension", "POST /ok HTTP/1.1\r\n" HOST CHUNKED "1;a\rb\r\na\r\n0\r\n\r\n", 0,
         400},
    };
    assert_refused(rows, ARRAY_LEN(rows));
}

static void server__header_floods__431(void **state)
{
    (void)state;
    static const char *const repeated[] = {"X-Flood: 0123456789\r\n", "0123456789"};
    for (size_t i = 0; i < ARRAY_LEN(repeated); i++) {
        struct test_server *s =
            test_server_start(&(struct test_server_config){.max_headers = 4096});
        struct str_buf b = STR_BUF_INIT;
        str_append(&b, "GET /ok HTTP/1.1\r\n" HOST "X-A: ");
        for (int k = 0; k < 1000; k++) {
            str_append(&b, repeated[i]);
        }
        char *got = talk(s, b.data, b.len);
        assert_int_equal(strncmp(got, "HTTP/1.1 431 ", 13), 0);
        free(got);
        str_buf_done(&b);
        test_server_stop(s);
    }
}

/* The client is still sending when it is refused: the answer must reach it all the same. */
static void server__big_body__413_is_readable(void **state)
{
    (void)state;
    struct test_server *s = test_server_start(&(struct test_server_config){.max_body = 1000});
    struct str_buf b = STR_BUF_INIT;
    str_append(&b, "POST /ok HTTP/1.1\r\n" HOST "Content-Length: 20000000\r\n\r\n");
    for (int i = 0; i < 20000000 / 16; i++) {
        str_append(&b, "0123456789abcdef");
    }
    char *got = talk(s, b.data, b.len);
    assert_int_equal(strncmp(got, "HTTP/1.1 413 ", 13), 0);
    free(got);
    str_buf_done(&b);
    test_server_stop(s);
}

static void server__byte_by_byte__understood(void **state)
{
    (void)state;
    static const char request[] =
        "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    struct test_server *s = test_server_start(NULL);
    int fd = raw_connect(test_server_port(s));
    for (size_t i = 0; i + 1 < sizeof(request); i++) {
        assert_true(raw_send(fd, &request[i], 1));
    }
    (void)shutdown(fd, SHUT_WR);
    size_t n;
    char *got = raw_read_all(fd, &n);
    assert_true(str_has_suffix(got, "POST /echo\nHost: x\n\nabc"));
    free(got);
    close(fd);
    test_server_stop(s);
}

static void server__client_leaves__handler_is_told(void **state)
{
    (void)state;
    static const char *const requests[] = {"GET /hang HTTP/1.1\r\n" HOST "\r\n",
                                           "GET /endless HTTP/1.1\r\n" HOST "\r\n"};
    struct test_server *s = test_server_start(NULL);
    for (int i = 0; i < 2; i++) {
        int fd = raw_connect(test_server_port(s));
        assert_true(raw_send_text(fd, requests[i]));
        test_server_wait_requests(s, i + 1);
        close(fd);
        test_server_wait_gone(s, i + 1);
    }
    test_server_stop(s);
}

/* --- without a thread: the loop is turned by hand -------------------------------------------- */

struct slow {
    struct http_req *req;
    size_t backlog;
    int gone;
};

static void slow_gone(void *arg)
{
    ((struct slow *)arg)->gone++;
}

static void slow_handle(void *arg, struct http_req *req)
{
    struct slow *slow = arg;
    static const char block[65536];
    slow->req = req;
    http_req_on_gone(req, slow_gone, slow);
    http_req_begin(req, 200);
    for (int i = 0; i < 1000; i++) {
        http_req_chunk(req, block, sizeof(block));
    }
    slow->backlog = http_req_backlog(req);
}

static void server__client_does_not_read__backlog_shows(void **state)
{
    (void)state;
    struct event_base *base = event_base_new();
    struct slow slow = {0};
    struct http_server *s = NULL;
    const struct http_server_config cfg = {
        .address = "127.0.0.1", .handle = slow_handle, .arg = &slow};
    assert_int_equal(http_server_new(base, &cfg, &s, NULL), ERR_OK);
    int fd = raw_connect(http_server_port(s));
    assert_true(raw_send_text(fd, "GET / HTTP/1.1\r\n" HOST "\r\n"));
    while (slow.req == NULL) {
        event_base_loop(base, EVLOOP_ONCE);
    }
    assert_true(slow.backlog >= (size_t)1000 * 65536);
    event_base_loop(base, EVLOOP_NONBLOCK);
    assert_in_range(http_req_backlog(slow.req), 1, slow.backlog);
    http_server_free(s); /* open requests hear of it */
    assert_int_equal(slow.gone, 1);
    close(fd);
    event_base_free(base);
}

static void server__cannot_listen__says_why(void **state)
{
    (void)state;
    struct test_ca *ca = test_ca_new("CA");
    const struct test_cert_spec spec = {.cn = "s"};
    struct test_cert a = test_ca_issue(ca, &spec);
    struct test_cert b = test_ca_issue(ca, &spec);
    struct test_server *taken = test_server_start(NULL);
    struct event_base *base = event_base_new();
    char in_use[64];
    snprintf(in_use, sizeof(in_use), "listen on 127.0.0.1 port %u: Address already in use",
             test_server_port(taken));
    static const char one[] = "TLS of the server: certificate and key are needed both";
    static const char two[] = "TLS of the server: certificate and private key do not fit together";
    static const char three[] = "TLS of the server: the certificate cannot be read; it must be PEM";
    const struct {
        struct http_server_config cfg;
        int code;
        const char *message;
    } rows[] = {
        {{.address = "localhost"}, ERR_INVALID, "address \"localhost\" is no IP address"},
        {{.address = "127.0.0.1", .port = test_server_port(taken)}, ERR_IN_USE, in_use},
        {{.address = "127.0.0.1", .tls_cert_pem = a.cert_pem}, ERR_INVALID, one},
        {{.address = "127.0.0.1", .tls_cert_pem = a.cert_pem, .tls_key_pem = b.key_pem},
         ERR_INVALID,
         two},
        {{.address = "127.0.0.1", .tls_cert_pem = "x", .tls_key_pem = a.key_pem},
         ERR_INVALID,
         three},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct http_server *s = NULL;
        struct err err = ERR_INIT;
        assert_int_equal(http_server_new(base, &rows[i].cfg, &s, &err), rows[i].code);
        assert_string_equal(err.message, rows[i].message);
        assert_null(s);
    }
    http_server_free(NULL);
    event_base_free(base);
    test_server_stop(taken);
    test_cert_done(&a);
    test_cert_done(&b);
    test_ca_free(ca);
}

/* A client that has asked, over TLS. */
struct asker {
    uint16_t port;
    struct tls_client *client;
    atomic_bool done;
};

static void *ask(void *arg)
{
    struct asker *a = arg;
    a->client = tls_client_connect(a->port, &(struct tls_client_spec){0}, NULL);
    if (a->client == NULL || !tls_client_send(a->client, "GET / HTTP/1.1\r\n" HOST "\r\n")) {
        abort();
    }
    atomic_store(&a->done, true);
    return NULL;
}

static void keep(void *arg, struct http_req *req)
{
    *(struct http_req **)arg = req;
}

static void stop_loop(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    event_base_loopbreak(arg);
}

static int bytes_there(int fd)
{
    int n = 0;
    assert_int_equal(ioctl(fd, FIONREAD, &n), 0);
    return n;
}

/* The loop's pending work for the connection is dropped, because the loop ends in this turn. */
static void server__loop_ends_when_an_answer_is_sent__connection_is_closed(void **state)
{
    (void)state;
    struct test_ca *ca = test_ca_new("CA");
    struct test_cert cert = test_ca_issue(ca, &(struct test_cert_spec){.cn = "s"});
    struct event_base *base = event_base_new();
    struct http_server *s = NULL;
    struct http_req *req = NULL;
    const struct http_server_config cfg = {.address = "127.0.0.1",
                                           .handle = keep,
                                           .arg = &req,
                                           .tls_cert_pem = cert.cert_pem,
                                           .tls_key_pem = cert.key_pem};
    assert_int_equal(http_server_new(base, &cfg, &s, NULL), ERR_OK);
    struct asker a = {.port = http_server_port(s)};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, ask, &a), 0);
    while (req == NULL || !atomic_load(&a.done)) {
        event_base_loop(base, EVLOOP_NONBLOCK);
    }
    pthread_join(thread, NULL);
    int fd = tls_client_fd(a.client);
    int there = bytes_there(fd);
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    struct event *stop = event_new(base, pipes[1], EV_WRITE | EV_PERSIST, stop_loop, base);
    event_add(stop, NULL); /* in each turn; what follows from others in it has to wait */
    http_req_answer(req, 200, "ok", 2);
    while (bytes_there(fd) == there) {
        event_base_loop(base, EVLOOP_NONBLOCK);
    }
    http_server_free(s);
    event_free(stop);
    http_server_free_loop(base);
    char buf[4096];
    ssize_t n;
    while ((n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT)) > 0) {
    }
    assert_int_equal(n, 0);
    close(pipes[0]);
    close(pipes[1]);
    tls_client_close(a.client);
    test_cert_done(&cert);
    test_ca_free(ca);
}

UNIT_MAIN(http_server)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(server__requests__answers),
        cmocka_unit_test(server__bad_requests__refused_and_closed),
        cmocka_unit_test(server__ambiguous_requests__refused_and_closed),
        cmocka_unit_test(server__header_floods__431),
        cmocka_unit_test(server__big_body__413_is_readable),
        cmocka_unit_test(server__byte_by_byte__understood),
        cmocka_unit_test(server__client_leaves__handler_is_told),
        cmocka_unit_test(server__client_does_not_read__backlog_shows),
        cmocka_unit_test(server__cannot_listen__says_why),
        cmocka_unit_test(server__loop_ends_when_an_answer_is_sent__connection_is_closed),
    };
    return cmocka_run_group_tests_name("http_server", tests, NULL, NULL);
}
