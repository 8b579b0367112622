/* SPDX-License-Identifier: Apache-2.0 */
/* test_serve.c: requests on the HTTPS port: who gets which page, and what others get. */
#include "tests/unit/serve/stand.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "controller/serve/headers.h"
#include "controller/serve/path.h"
#include "tests/support/unit.h"

#define GOOD "Authorization: Bearer good\r\n"

static void serve__requests__answers(void **state)
{
    (void)state;
    static const struct {
        const char *line, *headers; /* "GET /x" */
        int status;
        const char *body;
    } rows[] = {
        {"GET /healthz", "", 200, "ok"},
        {"GET /healthz?verbose", "", 200, "ok"},
        {"GET /page", GOOD, 200, "GET /page ? accept= body="},
        {"GET /page/x?a=b&c", GOOD "Accept: text/html\r\n", 200,
         "GET /page/x ?a=b&c accept=text/html body="},
        {"GET /%70age/a%20b", GOOD, 200, "GET /page/a b ? accept= body="},
        {"GET https://h:1/page?q", GOOD, 200, "GET /page ?q accept= body="},
        {"PUT /page", GOOD "Content-Length: 2\r\n\r\n10", 200, "PUT /page ? accept= body=10"},
        {"GET /page/deeper", GOOD, 500, "no"},
        {"GET /page/deeper/still", GOOD, 500, "no"},
        {"GET /pages", GOOD, 404, "404 page not found\n"},
        {"GET /", GOOD, 404, "404 page not found\n"},
        {"GET /livez", "", 404, "404 page not found\n"}, /* vector 218: allowed, and not there */
        {"GET /healthz/x", GOOD, 404, "404 page not found\n"},
        {"GET /healthz/", GOOD, 404, "404 page not found\n"},
        {"GET //healthz", GOOD, 404, "404 page not found\n"},
        {"GET /page/../healthz", GOOD, 200, "GET /page/../healthz ? accept= body="},
        {"POST /page", GOOD "Content-Length: 0\r\n", 405, "405 method not allowed\n"},
        {"PUT /healthz", GOOD "Content-Length: 0\r\n", 405, "405 method not allowed\n"},
        {"BREW /healthz", "", 405, "405 method not allowed\n"},
        {"GET /a%zz", GOOD, 400, "400 Bad Request: the target is no path\n"},
        {"GET /a%00", GOOD, 400, "400 Bad Request: the target is no path\n"},
        {"OPTIONS *", GOOD, 400, "400 Bad Request: the target is no path\n"},
        {"GET healthz", "", 400, "400 Bad Request: the target is no path\n"},
        {"GET /page", "Authorization: Bearer bad\r\n", 401,
         "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
         "\"message\":\"Unauthorized\",\"reason\":\"Unauthorized\",\"code\":401}\n"},
        {"GET /page", "", 403,
         "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
         "\"message\":\"forbidden: User \\\"system:anonymous\\\" cannot get path \\\"/page\\\"\","
         "\"reason\":\"Forbidden\",\"details\":{},\"code\":403}\n"},
        /* the answer does not reveal what exists */
        {"GET /nothing", "", 403, NULL},
        {"GET //healthz", "", 403, NULL},
        {"GET /healthz/", "", 403, NULL},
    };
    struct stand s;
    stand_init(&s);
    stand_start(&s);
    /* All on one connection: each answer must end exactly where it says. */
    struct tls_client *c = tls_client_connect(stand_port(&s), NULL, NULL);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        print_message("# %s\n", rows[i].line);
        bool has_body = strstr(rows[i].headers, "\r\n\r\n") != NULL;
        char *request = xasprintf("%s HTTP/1.1\r\nHost: x\r\n%s%s", rows[i].line, rows[i].headers,
                                  has_body ? "" : "\r\n");
        assert_true(tls_client_send(c, request));
        char *answer = tls_client_read(c, false);
        assert_int_equal(answer_status_of(answer), rows[i].status);
        if (rows[i].body != NULL) {
            assert_string_equal(answer_body(answer), rows[i].body);
        }
        assert_non_null(strstr(answer, "\r\nCache-Control: no-cache, private\r\n"));
        assert_non_null(strstr(answer, " GMT\r\n"));
        free(answer);
        free(request);
    }
    tls_client_close(c);
    stand_done(&s);
}

static void serve__head__as_get_without_body(void **state)
{
    (void)state;
    struct stand s;
    stand_init(&s);
    stand_start(&s);
    struct tls_client *c = tls_client_connect(stand_port(&s), NULL, NULL);
    assert_true(tls_client_send(c, "HEAD /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
                                   "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"));
    char *head = tls_client_read(c, true);
    assert_int_equal(answer_status_of(head), 200);
    assert_non_null(strstr(head, "Content-Length: 2\r\n"));
    assert_non_null(strstr(head, "X-Content-Type-Options: nosniff\r\n"));
    assert_non_null(strstr(head, "Content-Type: text/plain; charset=utf-8\r\n"));
    assert_string_equal(answer_body(head), "");
    char *get = tls_client_read(c, false);
    assert_string_equal(answer_body(get), "ok");
    free(head);
    free(get);
    tls_client_close(c);
    stand_done(&s);
}

static void serve__wrong_method__says_which_are_allowed(void **state)
{
    (void)state;
    static const struct {
        const char *path, *allow;
    } rows[] = {{"/page", "Allow: GET, HEAD, PUT\r\n"}, {"/wrong", "Allow: GET, HEAD, DELETE\r\n"}};
    struct stand s;
    stand_init(&s);
    stand_start(&s);
    struct tls_client *c = tls_client_connect(stand_port(&s), NULL, NULL);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char *request = xasprintf("PATCH %s HTTP/1.1\r\nHost: x\r\n" GOOD "\r\n", rows[i].path);
        assert_true(tls_client_send(c, request));
        char *answer = tls_client_read(c, false);
        assert_int_equal(answer_status_of(answer), 405);
        assert_non_null(strstr(answer, rows[i].allow));
        free(answer);
        free(request);
    }
    tls_client_close(c);
    stand_done(&s);
}

static void serve__without_access__only_what_everybody_may_see(void **state)
{
    (void)state;
    struct stand s;
    struct err err = ERR_INIT;
    stand_init(&s);
    stand_flag(&s, "--authorization-always-allow-paths=/healthz,/page/*");
    assert_int_equal(stand_new(&s, false, &err), ERR_OK);
    stand_start(&s);
    static const struct {
        const char *path;
        int status;
    } rows[] = {{"/healthz", 200}, {"/page/x", 200}, {"/page", 403}, {"/wrong", 403}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char *answer = tls_client_get(stand_port(&s), rows[i].path, GOOD);
        assert_int_equal(answer_status_of(answer), rows[i].status);
        free(answer);
    }
    stand_done(&s);
}

static void serve__port_in_use__error_names_it(void **state)
{
    (void)state;
    struct stand a, b;
    struct err err = ERR_INIT;
    stand_init(&a);
    stand_init(&b);
    assert_int_equal(stand_new(&a, true, &err), ERR_OK);
    stand_flag(&b, "--secure-port=%u", stand_port(&a));
    assert_int_equal(stand_new(&b, true, &err), ERR_IN_USE);
    char *want = xasprintf("--secure-port: 127.0.0.1:%u is in use by another process; stop that "
                           "one (another controller manager?), or choose another port",
                           stand_port(&a));
    assert_string_equal(err.message, want);
    free(want);
    stand_done(&a);
    stand_done(&b);
}

static void serve__port_sharing__two_on_one_port(void **state)
{
    (void)state;
    struct stand a, b;
    struct err err = ERR_INIT;
    stand_init(&a);
    stand_init(&b);
    stand_flag(&a, "--permit-port-sharing");
    stand_flag(&b, "--permit-port-sharing");
    assert_int_equal(stand_new(&a, true, &err), ERR_OK);
    stand_flag(&b, "--secure-port=%u", stand_port(&a));
    assert_int_equal(stand_new(&b, true, &err), ERR_OK);
    assert_int_equal(stand_port(&a), stand_port(&b));
    stand_done(&a);
    stand_done(&b);
}

static void serve__any_address__both_families(void **state)
{
    (void)state;
    static const char *const any[] = {"0.0.0.0", "::"};
    for (size_t i = 0; i < ARRAY_LEN(any); i++) {
        struct stand s;
        stand_init(&s);
        stand_flag(&s, "--bind-address=%s", any[i]);
        stand_start(&s);
        char *answer = tls_client_get(stand_port(&s), "/healthz", "");
        assert_int_equal(answer_status_of(answer), 200);
        free(answer);
        if (access("/proc/net/if_inet6", R_OK) == 0) {
            struct tls_client *c = tls_client_connect(
                stand_port(&s), &(struct tls_client_spec){.address = "::1"}, NULL);
            assert_non_null(c);
            tls_client_close(c);
        } else {
            print_message("# this machine has no IPv6\n");
        }
        stand_done(&s);
    }
}

/* --- pieces ----------------------------------------------------------------------------------- */

static void headers__find__by_name_and_prefix(void **state)
{
    (void)state;
    static const struct header items[] = {{"X-Remote-Group", "a"},
                                          {"x-remote-group", "b"},
                                          {"X-Remote-Extra-Foo", "1"},
                                          {"X-Remote-Groups", "c"},
                                          {"X-Remote-Extra-Bar", "2"}};
    struct headers h = {items, ARRAY_LEN(items)};
    const char *name = NULL;
    assert_string_equal(headers_find(&h, "x-remote-group", false, 0, &name), "a");
    assert_string_equal(headers_find(&h, "x-remote-group", false, 1, &name), "b");
    assert_null(headers_find(&h, "x-remote-group", false, 2, &name));
    assert_null(name);
    assert_string_equal(headers_find(&h, "x-remote-extra-", true, 1, &name), "2");
    assert_string_equal(name, "X-Remote-Extra-Bar");
    assert_null(headers_find(&h, "x-remote-extra-", true, 2, &name));
}

static void query__keys__found_decoded(void **state)
{
    (void)state;
    static const struct {
        const char *query;
        bool has;
        const char *values; /* joined by '|' */
    } rows[] = {
        {"", false, ""},
        {"x", true, ""},
        {"x=1", true, "1"},
        {"a=b&x=1&x=2", true, "1|2"},
        {"x=a%20b+c", true, "a b c"},
        {"%78=y", true, "y"},
        {"xy=1", false, ""},
        {"x=%zz&x=1", true, "1"},
        {"x;y=1", false, ""},
        {"x==", true, "="},
        {"&&x&", true, ""},
        {NULL, false, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct arena *a = arena_new();
        const struct page_request req = {.a = a, .query = rows[i].query};
        size_t n;
        const char *const *all = page_query_all(&req, "x", &n);
        assert_int_equal(page_query_has(&req, "x"), rows[i].has);
        assert_string_equal(n == 0 ? "" : str_join(a, all, n, "|"), rows[i].values);
        arena_free(a);
    }
}

UNIT_MAIN(serve)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(serve__requests__answers),
        cmocka_unit_test(serve__head__as_get_without_body),
        cmocka_unit_test(serve__wrong_method__says_which_are_allowed),
        cmocka_unit_test(serve__without_access__only_what_everybody_may_see),
        cmocka_unit_test(serve__port_in_use__error_names_it),
        cmocka_unit_test(serve__port_sharing__two_on_one_port),
        cmocka_unit_test(serve__any_address__both_families),
        cmocka_unit_test(headers__find__by_name_and_prefix),
        cmocka_unit_test(query__keys__found_decoded),
    };
    return cmocka_run_group_tests_name("serve", tests, NULL, NULL);
}
