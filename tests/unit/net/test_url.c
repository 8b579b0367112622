/* SPDX-License-Identifier: Apache-2.0 */
/* test_url.c: URLs taken apart and put together, against RFC 3986 and Go's net/url. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/net/url.h"
#include "tests/support/unit.h"

static void url_parse__valid__parts(void **state)
{
    (void)state;
    static const struct {
        const char *text, *scheme, *userinfo, *host;
        unsigned port;
        bool has_port;
        const char *path, *query, *origin;
    } rows[] = {
        {"https://10.0.0.1", "https", NULL, "10.0.0.1", 443, false, "", NULL, "https://10.0.0.1"},
        {"HTTP://Example.COM:8080/a%2Fb?x=1#frag", "http", NULL, "example.com", 8080, true,
         "/a%2Fb", "x=1", "http://example.com:8080"},
        {"https://[FD00::1]:6443/api", "https", NULL, "fd00::1", 6443, true, "/api", NULL,
         "https://[fd00::1]:6443"},
        {"https://[::1]/", "https", NULL, "::1", 443, false, "/", NULL, "https://[::1]"},
        {"http://user:p%40ss@proxy:3128", "http", "user:p%40ss", "proxy", 3128, true, "", NULL,
         "http://proxy:3128"},
        {"http://a@b@c/", "http", "a@b", "c", 80, false, "/", NULL, "http://c"},
        {"http://host:/x", "http", NULL, "host", 80, false, "/x", NULL, "http://host"},
        {"http://host?q", "http", NULL, "host", 80, false, "", "q", "http://host"},
        {"http://host/?", "http", NULL, "host", 80, false, "/", "", "http://host"},
        {"http://host/a//../b", "http", NULL, "host", 80, false, "/a//../b", NULL, "http://host"},
        {"socks5://p:1", "socks5", NULL, "p", 1, true, "", NULL, "socks5://p:1"},
        {"socks5://p", "socks5", NULL, "p", 1080, false, "", NULL, "socks5://p"},
        {"foo+bar.1://h", "foo+bar.1", NULL, "h", 0, false, "", NULL, "foo+bar.1://h"},
        {"https://host:443/", "https", NULL, "host", 443, true, "/", NULL, "https://host:443"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(arena_freep) struct arena *a = arena_new();
        struct url u;
        struct err err = ERR_INIT;
        print_message("# %s\n", rows[i].text);
        assert_int_equal(url_parse(a, rows[i].text, &u, &err), ERR_OK);
        assert_string_equal(u.scheme, rows[i].scheme);
        assert_true(str_eq(u.userinfo, rows[i].userinfo));
        assert_string_equal(u.host, rows[i].host);
        assert_int_equal(u.port, rows[i].port);
        assert_int_equal(u.has_port, rows[i].has_port);
        assert_string_equal(u.path, rows[i].path);
        assert_true(str_eq(u.query, rows[i].query));
        assert_string_equal(url_origin(a, &u), rows[i].origin);
    }
}

static void url_parse__invalid__says_why(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } rows[] = {
        {NULL, "URL is empty"},
        {"", "URL is empty"},
        {"host/path", "URL has no scheme such as https://"},
        {"://host", "URL has no scheme such as https://"},
        {"1http://host", "URL has no scheme such as https://"},
        {"http:///path", "URL has no host"},
        {"http://:80/", "URL has no host"},
        {"http://host:0", "URL port is not a number from 1 to 65535"},
        {"http://host:65536", "URL port is not a number from 1 to 65535"},
        {"http://host:+80", "URL port is not a number from 1 to 65535"},
        {"http://host:8o", "URL port is not a number from 1 to 65535"},
        {"http://::1/", "URL has no host"},
        {"http://fe80::1/", "URL port is not a number from 1 to 65535"},
        {"http://[::1", "URL has a '[' without ']' in its host"},
        {"http://[10.0.0.1]/", "URL host in brackets is no IPv6 address"},
        {"http://[::1]x:80/", "URL has text between its host and its port"},
        {"http://ho st/", "URL has a blank or a control character in it"},
        {"http://host/\r\nX: y", "URL has a blank or a control character in it"},
        {"http://ho\"st/", "URL host has a character that no host name has"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(arena_freep) struct arena *a = arena_new();
        struct url u;
        struct err err = ERR_INIT;
        print_message("# row %zu\n", i);
        assert_int_equal(url_parse(a, rows[i].text, &u, &err), ERR_INVALID);
        assert_string_equal(err.message, rows[i].message);
    }
}

static void url_parse__endless__is_refused(void **state)
{
    (void)state;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    struct url u;
    struct err err = ERR_INIT;
    str_append(&b, "http://host/");
    for (int i = 0; i < 70000; i++) {
        str_append_c(&b, 'a');
    }
    assert_int_equal(url_parse(a, str_buf_text(&b), &u, &err), ERR_INVALID);
    assert_string_equal(err.message, "URL is longer than 65536 bytes");
}

/* Right-hand sides are what Go's url.PathEscape and url.QueryEscape print. */
static void url_escape__every_kind_of_byte__as_go(void **state)
{
    (void)state;
    static const struct {
        const char *text, *path, *query;
    } rows[] = {
        {"", "", ""},
        {"web", "web", "web"},
        {"a b", "a%20b", "a+b"},
        {"a/b", "a%2Fb", "a%2Fb"},
        {"-_.~", "-_.~", "-_.~"},
        {"$&+:=@", "$&+:=@", "%24%26%2B%3A%3D%40"},
        {",;?#[]", "%2C%3B%3F%23%5B%5D", "%2C%3B%3F%23%5B%5D"},
        {"!*'()", "%21%2A%27%28%29", "%21%2A%27%28%29"},
        {"100%", "100%25", "100%25"},
        {"\xc3\xa4", "%C3%A4", "%C3%A4"},
        {"\x01\x7f\"<>", "%01%7F%22%3C%3E", "%01%7F%22%3C%3E"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(str_buf_done) struct str_buf path = STR_BUF_INIT;
        _cleanup_(str_buf_done) struct str_buf query = STR_BUF_INIT;
        _cleanup_(arena_freep) struct arena *a = arena_new();
        url_append_path_escaped(&path, rows[i].text);
        url_append_query_escaped(&query, rows[i].text);
        assert_string_equal(str_buf_text(&path), rows[i].path);
        assert_string_equal(str_buf_text(&query), rows[i].query);
        assert_string_equal(url_unescape(a, str_buf_text(&path), false), rows[i].text);
        assert_string_equal(url_unescape(a, str_buf_text(&query), true), rows[i].text);
    }
}

static void url_unescape__malformed__null(void **state)
{
    (void)state;
    static const char *const rows[] = {"%", "%4", "%zz", "%4g", "a%", "%00", "x%0"};
    _cleanup_(arena_freep) struct arena *a = arena_new();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_null(url_unescape(a, rows[i], false));
    }
    assert_string_equal(url_unescape(a, "a+b%2b", false), "a+b+");
    assert_string_equal(url_unescape(a, "a+b%2b", true), "a b+");
}

static void url_query__in_order__decoded(void **state)
{
    (void)state;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct url_param *p = NULL;
    size_t n = 0;
    struct err err = ERR_INIT;
    assert_int_equal(url_query_parse(a, "a=1&b=%26x+y&&c&a=2&=v", &p, &n, &err), ERR_OK);
    assert_int_equal(n, 5);
    assert_string_equal(p[0].name, "a");
    assert_string_equal(p[1].value, "&x y");
    assert_string_equal(p[2].value, "");
    assert_string_equal(p[4].name, "");
    assert_string_equal(url_query_get(p, n, "a"), "1");
    assert_null(url_query_get(p, n, "missing"));

    assert_int_equal(url_query_parse(a, NULL, &p, &n, &err), ERR_OK);
    assert_int_equal(n, 0);
}

static void url_query__malformed__names_the_pair(void **state)
{
    (void)state;
    static const char *const rows[] = {"a=1&b=%zz", "a=1&b;c=2", "a=1&%=x"};
    _cleanup_(arena_freep) struct arena *a = arena_new();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct url_param *p = NULL;
        size_t n = 0;
        struct err err = ERR_INIT;
        assert_int_equal(url_query_parse(a, rows[i], &p, &n, &err), ERR_INVALID);
        assert_string_equal(err.message, "query parameter 2 is malformed");
    }
}

static void url_append_param__separators__one_question_mark(void **state)
{
    (void)state;
    static const struct {
        const char *base, *want;
    } rows[] = {
        {"/x", "/x?k%2F=v+1"},          {"/x?", "/x?k%2F=v+1"}, {"/x?a=b", "/x?a=b&k%2F=v+1"},
        {"/x?a=b&", "/x?a=b&k%2F=v+1"}, {"", "?k%2F=v+1"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
        str_append(&b, rows[i].base);
        url_append_param(&b, "k/", "v 1");
        assert_string_equal(str_buf_text(&b), rows[i].want);
    }
}

UNIT_MAIN(url)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(url_parse__valid__parts),
        cmocka_unit_test(url_parse__invalid__says_why),
        cmocka_unit_test(url_parse__endless__is_refused),
        cmocka_unit_test(url_escape__every_kind_of_byte__as_go),
        cmocka_unit_test(url_unescape__malformed__null),
        cmocka_unit_test(url_query__in_order__decoded),
        cmocka_unit_test(url_query__malformed__names_the_pair),
        cmocka_unit_test(url_append_param__separators__one_question_mark),
    };
    return cmocka_run_group_tests_name("url", tests, NULL, NULL);
}
