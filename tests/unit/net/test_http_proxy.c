/* SPDX-License-Identifier: Apache-2.0 */
/* test_http_proxy.c: requests through proxies: forwarded, tunnelled, SOCKS; what they must not
 * see. */
#include "tests/unit/net/http_fixture.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/http_ignore_sent.h"
#include "tests/support/test_ca.h"
#include "tests/support/unit.h"

/* Requests of a proxy; written by its thread before it answers. */
struct proxy {
    char head[4096];
    const char *refusal; /* answered instead of a tunnel */
};

static void copy_both_ways(int a, int b)
{
    char buf[16384];
    struct pollfd p[2] = {{.fd = a, .events = POLLIN}, {.fd = b, .events = POLLIN}};
    while (poll(p, 2, -1) > 0) {
        for (int i = 0; i < 2; i++) {
            if (p[i].revents == 0) {
                continue;
            }
            ssize_t n = recv(p[i].fd, buf, sizeof(buf), 0);
            if (n <= 0 || !raw_send(p[1 - i].fd, buf, (size_t)n)) {
                return;
            }
        }
    }
}

/* CONNECT opens a tunnel to 127.0.0.1; anything else is answered with "proxied". */
static void serve_proxy(int fd, int nth, void *arg)
{
    (void)nth;
    struct proxy *proxy = arg;
    unsigned port;
    if (!raw_read_head(fd, proxy->head, sizeof(proxy->head))) {
        return;
    }
    if (proxy->refusal != NULL) {
        raw_send_text(fd, proxy->refusal);
    } else if (sscanf(proxy->head, "CONNECT 127.0.0.1:%u ", &port) == 1) {
        int to = raw_connect((uint16_t)port);
        if (raw_send_text(fd, "HTTP/1.1 200 Connected\r\nX-Proxy: 1\r\n\r\n")) {
            copy_both_ways(fd, to);
        }
        close(to);
    } else {
        raw_send_text(fd, "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nproxied");
    }
}

static const char *proxy_url(struct raw_server *s, struct fixture *f, const char *userinfo)
{
    return arena_printf(f->arena, "http://%s127.0.0.1:%u", userinfo, raw_server_port(s));
}

/* A handle that uses the proxy; `f` has an arena already. */
static void use_proxy(struct fixture *f, const char *url, const struct http_tls *tls)
{
    http_free(f->http);
    f->http =
        http_new(&(struct http_config){.observe = http_ignore_sent, .proxy_url = url, .tls = tls});
}

static void proxy__plain_request__absolute_target(void **state)
{
    (void)state;
    struct proxy p = {0};
    struct raw_server *s = raw_server_start(serve_proxy, &p);
    struct fixture f = fixture_new(NULL);
    use_proxy(&f, proxy_url(s, &f, "us%40er:pw@"), NULL);
    assert_ok(&f, fixture_get(&f, "http://metadata.invalid/a?b=c"));
    assert_string_equal(f.resp.body, "proxied");
    assert_true(str_has_prefix(p.head, "GET http://metadata.invalid/a?b=c HTTP/1.1\r\n"));
    assert_non_null(strstr(p.head, "Proxy-Authorization: Basic dXNAZXI6cHc=\r\n"));
    fixture_done(&f);
    raw_server_stop(s);
}

static void proxy__tls_request__tunnel_sees_no_headers(void **state)
{
    (void)state;
    struct proxy p = {0};
    struct raw_server *s = raw_server_start(serve_proxy, &p);
    struct test_ca *ca = test_ca_new("CA");
    const struct test_cert_spec spec = {.cn = "s", .san = "IP:127.0.0.1"};
    struct test_cert cert = test_ca_issue(ca, &spec);
    struct test_server *target = test_server_start(
        &(struct test_server_config){.tls_cert_pem = cert.cert_pem, .tls_key_pem = cert.key_pem});
    const struct http_tls tls = {.ca_pem = test_ca_pem(ca)};
    struct fixture f = fixture_new(NULL);
    use_proxy(&f, proxy_url(s, &f, ""), &tls);
    static const struct http_header header = {"X-Test", "inner"};
    struct http_request req = {.url = test_server_url(target, "/echo"),
                               .headers = &header,
                               .n_headers = 1,
                               .bearer = "tok"};
    assert_ok(&f, fixture_send(&f, &req));
    assert_non_null(strstr(f.resp.body, "Authorization: Bearer tok\n"));
    assert_non_null(strstr(f.resp.body, "X-Test: inner\n"));
    assert_null(http_response_header(&f.resp, "X-Proxy"));
    assert_true(str_has_prefix(p.head, "CONNECT 127.0.0.1:"));
    assert_null(strstr(p.head, "tok"));
    assert_null(strstr(p.head, "inner"));
    assert_ok(&f, fixture_send(&f, &req));
    assert_true(f.resp.reused);
    fixture_done(&f);
    test_server_stop(target);
    raw_server_stop(s);
    test_cert_done(&cert);
    test_ca_free(ca);
}

static void proxy__refuses__error_names_it(void **state)
{
    (void)state;
    static const struct {
        const char *refusal, *message;
    } rows[] = {
        {"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n",
         "proxy %s: CONNECT tunnel failed, response 407"},
        {"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n",
         "proxy %s: CONNECT tunnel failed, response 403"},
        {"", "proxy %s: Proxy CONNECT aborted"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct proxy p = {.refusal = rows[i].refusal};
        struct raw_server *s = raw_server_start(serve_proxy, &p);
        struct fixture f = fixture_new(NULL);
        use_proxy(&f, proxy_url(s, &f, "user:secret@"), NULL);
        int rc = fixture_get(&f, "https://api.invalid/x?token=1");
        assert_int_equal(rc, ERR_TRANSIENT);
        assert_null(strstr(f.err.message, "secret"));
        assert_null(strstr(f.err.message, "token"));
        const char *want = str_replace(f.arena, rows[i].message, "%s", raw_server_url(s));
        assert_string_equal(f.err.message, want);
        fixture_done(&f);
        raw_server_stop(s);
    }
}

static void proxy__not_there__error_names_both(void **state)
{
    (void)state;
    struct raw_server *s = raw_server_start(serve_proxy, NULL);
    unsigned port = raw_server_port(s);
    raw_server_stop(s);
    struct fixture f = fixture_new(NULL);
    use_proxy(&f, arena_printf(f.arena, "http://u:secret@127.0.0.1:%u", port), NULL);
    int rc = fixture_get(&f, "https://api.invalid/x");
    assert_fails(&f, rc, ERR_TRANSIENT,
                 arena_printf(f.arena,
                              "cannot reach https://api.invalid through proxy "
                              "http://127.0.0.1:%u: connection refused",
                              port));
    assert_string_equal(f.err.reason, "refused");
    fixture_done(&f);
}

/* --- SOCKS ----------------------------------------------------------------------------------- */

struct socks {
    char host[256];
};

static bool read_exactly(int fd, void *p, size_t n)
{
    return recv(fd, p, n, MSG_WAITALL) == (ssize_t)n;
}

/* RFC 1928 without authentication; answers the request itself. */
static void serve_socks(int fd, int nth, void *arg)
{
    (void)nth;
    struct socks *s = arg;
    unsigned char b[512];
    char head[4096];
    if (!read_exactly(fd, b, 2) || !read_exactly(fd, b + 2, b[1]) || !raw_send(fd, "\x05\0", 2) ||
        !read_exactly(fd, b, 5) || b[3] != 3 || !read_exactly(fd, s->host, b[4]) ||
        !read_exactly(fd, b + 5, 2) || !raw_send(fd, "\x05\0\0\x01\0\0\0\0\0\0", 10)) {
        return;
    }
    if (raw_read_head(fd, head, sizeof(head))) {
        raw_send_text(fd, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nsocks");
    }
}

static void proxy__socks5__proxy_resolves_the_name(void **state)
{
    (void)state;
    struct socks socks = {0};
    struct raw_server *s = raw_server_start(serve_socks, &socks);
    struct fixture f = fixture_new(NULL);
    use_proxy(&f, arena_printf(f.arena, "socks5://127.0.0.1:%u", raw_server_port(s)), NULL);
    assert_ok(&f, fixture_get(&f, "http://api.invalid/"));
    assert_string_equal(f.resp.body, "socks");
    assert_string_equal(socks.host, "api.invalid");
    fixture_done(&f);
    raw_server_stop(s);
}

/* --- environment ----------------------------------------------------------------------------- */

static void proxy__environment__asked_only_without_config(void **state)
{
    (void)state;
    struct proxy p = {0};
    struct raw_server *s = raw_server_start(serve_proxy, &p);
    struct test_server *direct = test_server_start(NULL);
    setenv("HTTP_PROXY", raw_server_url(s), 1);
    setenv("NO_PROXY", "a.invalid", 1);
    struct fixture f = {.arena = arena_new(),
                        .http = http_new(&(struct http_config){.observe = http_ignore_sent})};
    assert_ok(&f, fixture_get(&f, "http://b.invalid/"));
    assert_string_equal(f.resp.body, "proxied");
    assert_ok(&f, fixture_get(&f, test_server_url(direct, "/ok"))); /* loopback never is */
    assert_string_equal(f.resp.body, "ok");
    assert_int_equal(fixture_get(&f, "http://a.invalid/"), ERR_TRANSIENT);
    assert_string_equal(f.err.message, "cannot resolve the name of http://a.invalid");
    assert_string_equal(f.err.reason, "no-host");
    use_proxy(&f, "", NULL);
    assert_int_equal(fixture_get(&f, "http://b.invalid/"), ERR_TRANSIENT);
    unsetenv("HTTP_PROXY");
    unsetenv("NO_PROXY");
    fixture_done(&f);
    test_server_stop(direct);
    raw_server_stop(s);
}

/* Metadata services hand out tokens to every client: no proxy may stand between,
 * however it is configured. */
static void proxy__direct_request__goes_round_it(void **state)
{
    (void)state;
    struct proxy proxy = {0};
    struct raw_server *s = raw_server_start(serve_proxy, &proxy);
    struct test_server *server = test_server_start(NULL);
    struct fixture f = fixture_new(NULL);
    use_proxy(&f, proxy_url(s, &f, ""), NULL);
    for (int direct = 0; direct < 2; direct++) {
        struct http_request req = {.url = test_server_url(server, "/ok"), .direct = direct == 1};
        assert_ok(&f, fixture_send(&f, &req));
        assert_string_equal(f.resp.body, direct == 1 ? "ok" : "proxied");
        assert_int_equal(raw_server_connections(s), 1);
    }
    fixture_done(&f);
    test_server_stop(server);
    raw_server_stop(s);
}

UNIT_MAIN(http_proxy)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(proxy__plain_request__absolute_target),
        cmocka_unit_test(proxy__tls_request__tunnel_sees_no_headers),
        cmocka_unit_test(proxy__refuses__error_names_it),
        cmocka_unit_test(proxy__not_there__error_names_both),
        cmocka_unit_test(proxy__socks5__proxy_resolves_the_name),
        cmocka_unit_test(proxy__environment__asked_only_without_config),
        cmocka_unit_test(proxy__direct_request__goes_round_it),
    };
    return cmocka_run_group_tests_name("http_proxy", tests, http_group_setup, http_group_teardown);
}
