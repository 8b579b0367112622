/* SPDX-License-Identifier: Apache-2.0 */
/* test_http.c: one request, one answer: what is sent, what comes back, what is followed. */
#include "tests/support/unit.h"
#include "tests/unit/net/http_fixture.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "tests/support/clock_fake.h"
#include "tests/support/own_process.h"

static void http_do__get__sends_only_what_was_asked(void **state)
{
    (void)state;
    struct test_server *s = test_server_start(NULL);
    struct fixture f = fixture_new(NULL);
    assert_ok(&f, fixture_get(&f, test_server_url(s, "/echo?a=b")));
    assert_int_equal(f.resp.status, 200);
    assert_string_equal(f.resp.body, arena_printf(f.arena, "GET /echo?a=b\nHost: 127.0.0.1:%u\n\n",
                                                  test_server_port(s)));
    assert_int_equal(f.resp.http_version, 11);
    fixture_done(&f);
    test_server_stop(s);
}

static void http_do__headers_and_body__arrive(void **state)
{
    (void)state;
    static const char *const methods[] = {"POST", "PUT", "PATCH", "DELETE", "GET", "PURGE"};
    struct test_server *s = test_server_start(NULL);
    struct fixture f = fixture_new(&(struct http_config){.user_agent = "trimtab/1"});
    static const struct http_header headers[] = {
        {"X-Test", "a: b;c"},
        {"Content-Type", "application/json"},
        {"Accept", "application/json"},
        {"X-Empty", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
        struct http_request req = {.method = methods[i],
                                   .url = test_server_url(s, "/echo"),
                                   .headers = headers,
                                   .n_headers = ARRAY_LEN(headers),
                                   .body = "{\"a\":1}",
                                   .body_len = 7,
                                   .bearer = "tok"};
        assert_ok(&f, fixture_send(&f, &req));
        assert_string_equal(
            f.resp.body,
            arena_printf(
                f.arena,
                "%s /echo\nHost: 127.0.0.1:%u\nUser-Agent: trimtab/1\n"
                "Accept: application/json\nAuthorization: Bearer tok\nX-Test: a: b;c\n"
                "Content-Type: application/json\nContent-Length: 7\nX-Empty: \n\n{\"a\":1}",
                methods[i], test_server_port(s)));
    }
    fixture_done(&f);
    test_server_stop(s);
}

static void http_do__no_body__length_zero_for_writes(void **state)
{
    (void)state;
    static const struct {
        const char *method, *length;
    } rows[] = {{"POST", "Content-Length: 0\n"},
                {"PUT", "Content-Length: 0\n"},
                {"PATCH", "Content-Length: 0\n"},
                {"DELETE", ""},
                {"OPTIONS", ""}};
    struct test_server *s = test_server_start(NULL);
    struct fixture f = fixture_new(NULL);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct http_request req = {.method = rows[i].method, .url = test_server_url(s, "/echo")};
        assert_ok(&f, fixture_send(&f, &req));
        assert_string_equal(f.resp.body,
                            arena_printf(f.arena, "%s /echo\nHost: 127.0.0.1:%u\n%s\n",
                                         rows[i].method, test_server_port(s), rows[i].length));
    }
    fixture_done(&f);
    test_server_stop(s);
}

static void http_do__big_body__no_expect_and_whole(void **state)
{
    (void)state;
    struct test_server *s = test_server_start(NULL);
    struct fixture f = fixture_new(NULL);
    const size_t n = 3000000;
    char *body = arena_alloc(f.arena, n);
    memset(body, 'b', n);
    struct http_request req = {
        .method = "POST", .url = test_server_url(s, "/echo"), .body = body, .body_len = n};
    assert_ok(&f, fixture_send(&f, &req));
    const char *got = strstr(f.resp.body, "\n\n");
    assert_null(strstr(arena_strndup(f.arena, f.resp.body, (size_t)(got - f.resp.body)), "Expect"));
    assert_int_equal(f.resp.body_len - (size_t)(got + 2 - f.resp.body), n);
    assert_memory_equal(got + 2, body, n);
    fixture_done(&f);
    test_server_stop(s);
}

static void http_do__own_authorization__wins_over_bearer(void **state)
{
    (void)state;
    struct test_server *s = test_server_start(NULL);
    struct fixture f = fixture_new(NULL);
    static const struct http_header basic = {"authorization", "Basic x"};
    struct http_request req = {
        .url = test_server_url(s, "/echo"), .headers = &basic, .n_headers = 1, .bearer = "tok"};
    assert_ok(&f, fixture_send(&f, &req));
    assert_non_null(strstr(f.resp.body, "Authorization: Basic x\n"));
    assert_null(strstr(f.resp.body, "tok"));
    fixture_done(&f);
    test_server_stop(s);
}

static void http_do__any_status__is_an_answer(void **state)
{
    (void)state;
    static const int statuses[] = {200, 201, 204, 301, 304, 400, 401, 404, 409, 429, 500, 503};
    struct test_server *s = test_server_start(NULL);
    struct fixture f = fixture_new(NULL);
    for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
        char path[32];
        snprintf(path, sizeof(path), "/status/%d", statuses[i]);
        assert_ok(&f, fixture_get(&f, test_server_url(s, path)));
        assert_int_equal(f.resp.status, statuses[i]);
        assert_string_equal(f.resp.body, "");
    }
    assert_int_equal(test_server_connections(s), 1);
    fixture_done(&f);
    test_server_stop(s);
}

static void http_do__head__headers_without_body(void **state)
{
    (void)state;
    struct test_server *s = test_server_start(NULL);
    struct fixture f = fixture_new(NULL);
    struct http_request req = {.method = "HEAD", .url = test_server_url(s, "/bytes/1000")};
    assert_ok(&f, fixture_send(&f, &req));
    assert_int_equal(f.resp.body_len, 0);
    assert_string_equal(http_response_header(&f.resp, "content-length"), "1000");
    fixture_done(&f);
    test_server_stop(s);
}

static void http_do__chunked_and_large__whole(void **state)
{
    (void)state;
    struct test_server *s = test_server_start(NULL);
    struct fixture f = fixture_new(NULL);
    assert_ok(&f, fixture_get(&f, test_server_url(s, "/stream/3")));
    assert_string_equal(f.resp.body, "line 0\nline 1\nline 2\n");
    assert_ok(&f, fixture_get(&f, test_server_url(s, "/bytes/5000000")));
    assert_int_equal(f.resp.body_len, 5000000);
    assert_int_equal(strlen(f.resp.body), 5000000);
    assert_true(f.resp.reused);
    fixture_done(&f);
    test_server_stop(s);
}

static void http_do__gzip__only_when_asked(void **state)
{
    (void)state;
    struct test_server *s = test_server_start(NULL);
    struct fixture f = fixture_new(NULL);
    for (int gzip = 0; gzip <= 1; gzip++) {
        struct http_request req = {.url = test_server_url(s, "/gzip"), .gzip = gzip};
        assert_ok(&f, fixture_send(&f, &req));
        assert_string_equal(f.resp.body, "zipped text");
        const char *coding = http_response_header(&f.resp, "Content-Encoding");
        assert_string_equal(str_nonnull(coding), gzip ? "gzip" : "");
    }
    fixture_done(&f);
    test_server_stop(s);
}

/* --- bad requests ---------------------------------------------------------------------------- */

static void http_do__bad_request__invalid(void **state)
{
    (void)state;
    static const struct http_header feed = {"X-Test", "a\r\nX-Evil: b"};
    static const struct http_header blank = {"X Test", "a"};
    static const struct {
        struct http_request req;
        const char *message;
    } rows[] = {
        {{.url = NULL}, "URL is empty"},
        {{.url = "nonsense"}, "URL has no scheme such as https://"},
        {{.url = "file:///etc/passwd"}, "URL has no host"},
        {{.url = "ftp://h/"}, "URL scheme \"ftp\" is neither http nor https"},
        {{.url = "http://127.0.0.1:1/", .method = "G T"}, "request method is malformed"},
        {{.url = "http://127.0.0.1:1/", .headers = &feed, .n_headers = 1},
         "request header \"X-Test\" is malformed"},
        {{.url = "http://127.0.0.1:1/", .headers = &blank, .n_headers = 1},
         "request header \"X Test\" is malformed"},
        {{.url = "http://127.0.0.1:1/", .bearer = "a\nb"},
         "request header \"Authorization\" is malformed"},
    };
    struct fixture f = fixture_new(NULL);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int rc = fixture_send(&f, &rows[i].req);
        assert_fails(&f, rc, ERR_INVALID, rows[i].message);
    }
    fixture_done(&f);
}

static void http_do__nobody_listens__cannot_reach(void **state)
{
    (void)state;
    struct test_server *s = test_server_start(NULL);
    struct fixture f = fixture_new(NULL);
    const char *url =
        arena_printf(f.arena, "http://user:pw@127.0.0.1:%u/p?secret=1", test_server_port(s));
    unsigned port = test_server_port(s);
    test_server_stop(s);
    int rc = fixture_get(&f, url);
    assert_fails(
        &f, rc, ERR_TRANSIENT,
        arena_printf(f.arena, "cannot reach http://127.0.0.1:%u: connection refused", port));
    assert_string_equal(f.err.reason, "refused");
    assert_int_equal(f.resp.status, 0);
    fixture_done(&f);
}

/* The clock stands still: a back-off would never end. */
static void http_do__command_that_answers_once__no_back_off_after_a_refusal(void **state)
{
    (void)state;
    struct test_server *s = test_server_start(NULL);
    struct clock *clock = clock_fake_new(0, 0);
    struct fixture f = fixture_new(&(struct http_config){.clock = clock, .answers_once = true});
    const char *const urls[] = {
        arena_printf(f.arena, "http://127.0.0.1:%u/p?q", test_server_port(s)),
        "http://no-such-host.invalid:1/p",
    };
    test_server_stop(s);
    for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
        struct http_request req = {.method = "GET", .url = urls[i]};
        assert_int_equal(fixture_send(&f, &req), ERR_TRANSIENT);
        req.not_before_ms = 3600000;
        assert_int_equal(fixture_send(&f, &req), ERR_TRANSIENT);
        assert_string_equal(f.err.reason, i == 0 ? "refused" : "no-host");
    }
    fixture_done(&f);
    clock_fake_free(clock);
}

static void http_do__user_info__is_basic_auth(void **state)
{
    (void)state;
    struct test_server *s = test_server_start(NULL);
    struct fixture f = fixture_new(NULL);
    assert_ok(&f, fixture_get(&f, arena_printf(f.arena, "http://user:p%%40ss@127.0.0.1:%u/echo",
                                               test_server_port(s))));
    assert_non_null(strstr(f.resp.body, "Authorization: Basic dXNlcjpwQHNz\n"));
    fixture_done(&f);
    test_server_stop(s);
}

/* --- redirects ------------------------------------------------------------------------------- */

static void http_do__redirect__followed_when_allowed(void **state)
{
    (void)state;
    struct test_server *s = test_server_start(NULL);
    struct fixture f = fixture_new(NULL);
    struct http_request req = {.method = "POST",
                               .url = test_server_url(s, "/to?/echo?x=1"),
                               .body = "data",
                               .body_len = 4,
                               .bearer = "tok"};
    assert_ok(&f, fixture_send(&f, &req));
    assert_int_equal(f.resp.status, 307);

    req.max_redirects = 1;
    assert_ok(&f, fixture_send(&f, &req));
    assert_int_equal(f.resp.status, 200);
    assert_non_null(strstr(f.resp.body, "POST /echo?x=1\n"));
    assert_non_null(strstr(f.resp.body, "Authorization: Bearer tok\n"));
    assert_non_null(strstr(f.resp.body, "\n\ndata"));

    req.url = test_server_url(s, "/see?echo");
    assert_ok(&f, fixture_send(&f, &req));
    assert_non_null(strstr(f.resp.body, "GET /echo\n"));
    assert_null(strstr(f.resp.body, "data"));
    fixture_done(&f);
    test_server_stop(s);
}

static void http_do__redirect_to_another_origin__credentials_stay(void **state)
{
    (void)state;
    static const struct http_header headers[] = {{"Cookie", "c=1"}, {"X-Test", "kept"}};
    struct test_server *s = test_server_start(NULL);
    struct test_server *other = test_server_start(NULL);
    struct fixture f = fixture_new(NULL);
    const char *to = arena_printf(f.arena, "/to?%s", test_server_url(other, "/echo"));
    struct http_request req = {.url = test_server_url(s, to),
                               .headers = headers,
                               .n_headers = 2,
                               .bearer = "tok",
                               .max_redirects = 3};
    assert_ok(&f, fixture_send(&f, &req));
    assert_string_equal(f.resp.body,
                        arena_printf(f.arena, "GET /echo\nHost: 127.0.0.1:%u\nX-Test: kept\n\n",
                                     test_server_port(other)));
    /* And they do not come back when the chain returns. */
    const char *back = arena_printf(f.arena, "/to?%s", test_server_url(s, "/echo"));
    req.url = test_server_url(s, arena_printf(f.arena, "/to?%s", test_server_url(other, back)));
    assert_ok(&f, fixture_send(&f, &req));
    assert_null(strstr(f.resp.body, "tok"));
    assert_null(strstr(f.resp.body, "c=1"));
    fixture_done(&f);
    test_server_stop(s);
    test_server_stop(other);
}

static void http_do__redirect__refused_targets(void **state)
{
    (void)state;
    struct test_server *s = test_server_start(NULL);
    struct fixture f = fixture_new(NULL);
    const char *origin = test_server_url(s, "");
    const struct {
        const char *path, *message;
    } rows[] = {
        {"/loop/0", arena_printf(f.arena, "%s redirected more than 10 times", origin)},
        {"/to?file:///etc/passwd",
         arena_printf(f.arena, "redirect of %s: URL has no host", origin)},
        {"/to?ftp://127.0.0.1/x",
         arena_printf(f.arena, "redirect of %s: URL scheme \"ftp\" is neither http nor https",
                      origin)},
        {"/to?http://[bad/",
         arena_printf(f.arena, "%s redirected to something that is not a URL", origin)},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct http_request req = {.url = test_server_url(s, rows[i].path), .max_redirects = 10};
        int rc = fixture_send(&f, &req);
        assert_fails(&f, rc, ERR_INVALID, rows[i].message);
    }
    assert_int_equal(test_server_requests(s), 11 + 3);
    fixture_done(&f);
    test_server_stop(s);
}

/* --- no file descriptor is free --------------------------------------------------------------- */

static void http_do__no_descriptor__says_so_and_works_again(void **state)
{
    (void)state;
    if (own_is_valgrind()) {
        print_message("# left out under valgrind\n");
        return;
    }
    struct test_server *s = test_server_start(NULL);
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct rlimit none = {.rlim_cur = 0, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    struct fixture f = fixture_new(NULL); /* without the descriptor that wakes it */
    http_wakeup(f.http);
    int rc = fixture_get(&f, test_server_url(s, "/ok"));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_fails(&f, rc, ERR_TRANSIENT,
                 arena_printf(f.arena,
                              "cannot reach %s: no file descriptor is free: raise the limit of "
                              "open files (LimitNOFILE= in a unit, ulimit -n) or close some",
                              test_server_url(s, "")));
    assert_ok(&f, fixture_get(&f, test_server_url(s, "/ok")));
    fixture_done(&f);
    test_server_stop(s);
}

/* --- Retry-After ----------------------------------------------------------------------------- */

static void http_retry_after__forms__ms(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        int64_t ms;
    } rows[] = {
        {NULL, 0},
        {"", 0},
        {"0", 0},
        {"1", 1000},
        {"120", 120000},
        {"3600", 3600000},
        {"3601", 3600000},
        {"99999999999999999999999", 0},
        {"-5", 0},
        {"1.5", 0},
        {"soon", 0},
        {"Fri, 31 Dec 1999 23:59:59 GMT", 59000},
        {"Fri, 31 Dec 1999 23:58:00 GMT", 0},
        {"Sat, 01 Jan 2000 23:59:59 GMT", 3600000},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct http_header h = {"retry-after", rows[i].value};
        struct http_response r = {.headers = &h, .n_headers = rows[i].value == NULL ? 0 : 1};
        print_message("# row %zu\n", i);
        assert_int_equal(http_retry_after_ms(&r, 946684740), rows[i].ms); /* 23:59:00 that day */
    }
}

UNIT_MAIN(http)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(http_do__get__sends_only_what_was_asked),
        cmocka_unit_test(http_do__headers_and_body__arrive),
        cmocka_unit_test(http_do__no_body__length_zero_for_writes),
        cmocka_unit_test(http_do__big_body__no_expect_and_whole),
        cmocka_unit_test(http_do__own_authorization__wins_over_bearer),
        cmocka_unit_test(http_do__any_status__is_an_answer),
        cmocka_unit_test(http_do__head__headers_without_body),
        cmocka_unit_test(http_do__chunked_and_large__whole),
        cmocka_unit_test(http_do__gzip__only_when_asked),
        cmocka_unit_test(http_do__bad_request__invalid),
        cmocka_unit_test(http_do__nobody_listens__cannot_reach),
        cmocka_unit_test(http_do__command_that_answers_once__no_back_off_after_a_refusal),
        cmocka_unit_test(http_do__user_info__is_basic_auth),
        cmocka_unit_test(http_do__redirect__followed_when_allowed),
        cmocka_unit_test(http_do__redirect_to_another_origin__credentials_stay),
        cmocka_unit_test(http_do__redirect__refused_targets),
        cmocka_unit_test(http_do__no_descriptor__says_so_and_works_again),
        cmocka_unit_test(http_retry_after__forms__ms),
    };
    return cmocka_run_group_tests_name("http", tests, http_group_setup, http_group_teardown);
}
