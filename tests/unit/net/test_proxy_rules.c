/* SPDX-License-Identifier: Apache-2.0 */
/* test_proxy_rules.c: which proxy is taken, row by row as Go's httpproxy documents and tests it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/net/http.h"
#include "tests/support/unit.h"

struct env {
    const char *http, *https, *no, *lower_https, *lower_no, *method;
};

static const char *env_get(const char *name, void *arg)
{
    const struct env *e = arg;
    const struct {
        const char *name, *value;
    } vars[] = {
        {"HTTP_PROXY", e->http},         {"HTTPS_PROXY", e->https}, {"NO_PROXY", e->no},
        {"https_proxy", e->lower_https}, {"no_proxy", e->lower_no}, {"REQUEST_METHOD", e->method},
    };
    for (size_t i = 0; i < ARRAY_LEN(vars); i++) {
        if (str_eq(vars[i].name, name)) {
            return vars[i].value;
        }
    }
    return NULL;
}

static void check(const struct env *env, const char *url, const char *want)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct env copy = *env;
    const char *got = http_proxy_for(a, url, env_get, &copy);
    print_message("# %s -> %s\n", url, got == NULL ? "direct" : got);
    if (want == NULL) {
        assert_null(got);
    } else {
        assert_non_null(got);
        assert_string_equal(got, want);
    }
}

static void proxy__variables__by_scheme(void **state)
{
    (void)state;
    static const struct {
        struct env env;
        const char *url, *want;
    } rows[] = {
        {{0}, "https://a.example", NULL},
        {{.http = "http://p:1"}, "http://a.example", "http://p:1"},
        {{.http = "http://p:1"}, "https://a.example", NULL},
        {{.https = "http://p:2"}, "https://a.example", "http://p:2"},
        {{.https = "http://p:2"}, "http://a.example", NULL},
        {{.https = "p.example"}, "https://a.example", "http://p.example"},
        {{.https = "p.example:3128"}, "https://a.example", "http://p.example:3128"},
        {{.https = "http://u:pw@p:3"}, "https://a.example", "http://u:pw@p:3"},
        {{.https = "https://p:3"}, "https://a.example", "https://p:3"},
        {{.https = "socks5://p:1080"}, "https://a.example", "socks5://p:1080"},
        {{.lower_https = "http://low:1"}, "https://a.example", "http://low:1"},
        {{.https = "http://up:1", .lower_https = "http://low:1"},
         "https://a.example",
         "http://up:1"},
        {{.https = "", .lower_https = "http://low:1"}, "https://a.example", "http://low:1"},
        {{.http = "http://p:1", .method = "GET"}, "http://a.example", NULL},
        {{.https = "http://p:1", .method = "GET"}, "https://a.example", "http://p:1"},
        {{.https = "http://p:1", .lower_no = "a.example"}, "https://a.example", NULL},
        {{.https = "http://p:1", .no = "b.example", .lower_no = "a.example"},
         "https://a.example",
         "http://p:1"},
        {{.https = "http://p:1"}, "https://localhost:8443", NULL},
        {{.https = "http://p:1"}, "https://LOCALHOST", NULL},
        {{.https = "http://p:1"}, "https://127.0.0.1", NULL},
        {{.https = "http://p:1"}, "https://127.1.2.3", NULL},
        {{.https = "http://p:1"}, "https://[::1]:6443", NULL},
        {{.https = "http://p:1"}, "https://localhost.example", "http://p:1"},
        {{.https = "http://p:1"}, "https://128.0.0.1", "http://p:1"},
        {{.https = "http://p:1"}, "ftp://a.example", NULL},
        {{.https = "http://p:1"}, "no url", NULL},
        {{.https = "http://a b"}, "https://a.example", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        check(&rows[i].env, rows[i].url, rows[i].want);
    }
}

static void proxy__no_proxy__matches(void **state)
{
    (void)state;
    static const struct {
        const char *no, *url;
        bool direct;
    } rows[] = {
        {"foo.com", "https://foo.com", true},
        {"foo.com", "https://bar.foo.com", true},
        {"foo.com", "https://xfoo.com", false},
        {"foo.com", "https://foo.com.evil", false},
        {".foo.com", "https://foo.com", false},
        {".foo.com", "https://bar.foo.com", true},
        {"*.foo.com", "https://bar.foo.com", true},
        {"*.foo.com", "https://foo.com", false},
        {"FOO.com", "https://Foo.COM", true},
        {" foo.com , bar.com ", "https://bar.com", true},
        {",,foo.com", "https://foo.com", true},
        {"foo.com:443", "https://foo.com", true},
        {"foo.com:443", "https://foo.com:8443", false},
        {"foo.com:8443", "https://foo.com:8443", true},
        {".foo.com:8443", "https://a.foo.com:8443", true},
        {"foo.com:", "https://foo.com", true},
        {"*", "https://foo.com", true},
        {"a.com,*", "https://10.0.0.1", true},
        {"*foo.com", "https://foo.com", false},
        {"10.0.0.1", "https://10.0.0.1", true},
        {"10.0.0.1", "https://10.0.0.2", false},
        {"10.0.0.1:443", "https://10.0.0.1", true},
        {"10.0.0.1:80", "https://10.0.0.1", false},
        {"10.0.0.0/8", "https://10.200.3.4", true},
        {"10.0.0.0/8", "https://11.0.0.1", false},
        {"10.0.0.0/8", "https://ten.example", false},
        {"fd00::/8", "https://[fd12::1]:6443", true},
        {"fd00::1", "https://[fd00::1]", true},
        {"[fd00::1]:443", "https://[fd00::1]", true},
        {"[fd00::1]:80", "https://[fd00::1]", false},
        {"0.0.1", "https://10.0.0.1", true}, /* suffixes are tried on addresses too */
        {"", "https://foo.com", false},
        {":443", "https://foo.com", false},
        {"169.254.169.254,metadata.google.internal", "https://metadata.google.internal", true},
        {"kubernetes.default.svc,.cluster.local", "https://kubernetes.default.svc", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct env env = {.https = "http://p:1", .no = rows[i].no};
        print_message("# NO_PROXY=%s\n", rows[i].no);
        check(&env, rows[i].url, rows[i].direct ? NULL : "http://p:1");
    }
}

UNIT_MAIN(proxy_rules)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(proxy__variables__by_scheme),
        cmocka_unit_test(proxy__no_proxy__matches),
    };
    return cmocka_run_group_tests_name("proxy_rules", tests, NULL, NULL);
}
