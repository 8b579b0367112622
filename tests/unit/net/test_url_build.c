/* SPDX-License-Identifier: Apache-2.0 */
/* test_url_build.c: URLs from segments and pairs, names of resources, and the last look
 * before a URL is sent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/net/url_build.h"
#include "tests/support/test_server.h"
#include "tests/support/unit.h"
#include "tests/unit/net/http_fixture.h"

#include <stdio.h>

static const char BASE[] = "https://api.example";

static void url_build__segments_and_pairs__escaped_each(void **state)
{
    (void)state;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const char *url = NULL;
    struct err err = ERR_INIT;
    struct url_build b;
    url_build_begin(&b, "https://api.example/v1/");
    url_build_segment(&b, "project", "example.com:shop");
    url_build_path(&b, "path", "/providers/Some.Space");
    url_build_segment(&b, "group", "my gr\xc3\xbcnes (1);a=b");
    url_build_pair(&b, "api-version", "2025-05-01");
    url_build_pair(&b, "filter", "name eq 'a&b#c?d'");
    url_build_pair(&b, "none", NULL);
    assert_int_equal(url_build_end(&b, a, &url, &err), ERR_OK);
    assert_string_equal(url, "https://api.example/v1/example.com:shop/providers/Some.Space/"
                             "my%20gr%C3%BCnes%20%281%29%3Ba=b?api-version=2025-05-01"
                             "&filter=name+eq+%27a%26b%23c%3Fd%27&none=");
    assert_int_equal(url_check_sent(url, &err), ERR_OK);
}

static const struct {
    const char *text, *why;
} hostile[] = {
    {"", "it is empty"},
    {NULL, "it is empty"},
    {".", "it is a dot segment"},
    {"..", "it is a dot segment"},
    {"rg/../../1111", "it holds '/'"},
    {"rg?$expand=x", "it holds '?'"},
    {"rg#", "it holds '#'"},
    {"%2e%2e", "it holds '%'"},
    {"a\nb", "it holds a control character"},
    {"a\x7f", "it holds a control character"},
    {"a\xc2\x85", "it holds a control character"},
};

static void url_build__hostile_segment__refused_with_its_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(hostile); i++) {
        _cleanup_(arena_freep) struct arena *a = arena_new();
        const char *url = "untouched";
        struct err err = ERR_INIT;
        struct err want = ERR_INIT;
        struct url_build b;
        url_build_begin(&b, BASE);
        url_build_segment(&b, "group", hostile[i].text);
        url_build_segment(&b, "name", "fine");
        url_build_pair(&b, "k", "v");
        (void)err_set(&want, ERR_INVALID, "group \"%s\" cannot be part of a path: %s",
                      str_nonnull(hostile[i].text), hostile[i].why);
        assert_int_equal(url_build_end(&b, a, &url, &err), ERR_INVALID);
        assert_string_equal(err.message, want.message);
        assert_string_equal(url, "untouched");
    }
}

static void url_build__path_with_a_bad_segment__refused(void **state)
{
    (void)state;
    static const char *const paths[] = {"",    "/",           "a//b",  "/a/",  "a/../b",
                                        "./a", "/a/%2E%2E/b", "a/b?c", "a/b#c"};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        _cleanup_(arena_freep) struct arena *a = arena_new();
        const char *url = NULL;
        struct url_build b;
        url_build_begin(&b, BASE);
        url_build_path(&b, "id", paths[i]);
        print_message("# \"%s\"\n", paths[i]);
        assert_int_equal(url_build_end(&b, a, &url, NULL), ERR_INVALID);
    }
}

static void url_build__base_with_a_query__goes_on(void **state)
{
    (void)state;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const char *url = NULL;
    struct url_build b;
    url_build_begin(&b, "http://host/token?a=b");
    url_build_pair(&b, "c", "d");
    url_build_built_query(&b, "e=f");
    assert_int_equal(url_build_end(&b, a, &url, NULL), ERR_OK);
    assert_string_equal(url, "http://host/token?a=b&c=d&e=f");

    url_build_begin(&b, "http://host/token?a=b");
    url_build_segment(&b, "name", "x");
    assert_int_equal(url_build_end(&b, a, &url, NULL), ERR_BUG);
}

/* A resource's name has as many segments as it was given, and none of the hostile ones
 * can be sent. */
static void url_resource_path__hostile_segment__stays_one_segment(void **state)
{
    (void)state;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    assert_string_equal(URL_RESOURCE_PATH(a, "", "subscriptions", "S", "resourceGroups", "my (1)"),
                        "/subscriptions/S/resourceGroups/my (1)");
    assert_string_equal(URL_RESOURCE_PATH(a, "/x", "rg/../..?a#%", ".."),
                        "/x/rg%2F..%2F..%3Fa%23%25/%2E%2E");
    for (size_t i = 0; i < ARRAY_LEN(hostile); i++) {
        const char *id = URL_RESOURCE_PATH(a, "", "groups", hostile[i].text, "last");
        const char *url = NULL;
        size_t slashes = 0;
        struct url_build b;
        for (const char *s = id; *s != '\0'; s++) {
            slashes += *s == '/';
        }
        assert_int_equal(slashes, 3);
        url_build_begin(&b, BASE);
        url_build_path(&b, "ID", id);
        assert_int_equal(url_build_end(&b, a, &url, NULL), ERR_INVALID);
    }
}

static const struct {
    const char *rest;
    const char *message; /* NULL: it may be sent */
} sent[] = {
    {"", NULL},
    {"/a/b.c/..d/e../...", NULL},
    {"/a%2Fb?x=../..&y=%0a", NULL},
    {"/a/..", "URL has a dot segment in its path"},
    {"/../a", "URL has a dot segment in its path"},
    {"/a/./b", "URL has a dot segment in its path"},
    {"/a/%2e%2E/b", "URL has a dot segment in its path"},
    {"/a/.%2e?x", "URL has a dot segment in its path"},
    {"/a%2F..%2Fb", "URL has a dot segment in its path"},
    {"/a\\..\\b", "URL has a dot segment in its path"},
    {"/a%5c%2e%2e", "URL has a dot segment in its path"},
    {"/a#b", "URL has a '#' in it"},
    {"/a?b#c", "URL has a '#' in it"},
    {"/a%0d%0ab", "URL has a control character in its path"},
    {"/a%7Fb", "URL has a control character in its path"},
    {"/a\tb", "URL has a control character in it"},
};

static void url_check_sent__table__as_said(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(sent); i++) {
        _cleanup_(arena_freep) struct arena *a = arena_new();
        struct err err = ERR_INIT;
        const char *url = arena_printf(a, "%s%s", BASE, sent[i].rest);
        print_message("# %s\n", sent[i].rest);
        assert_int_equal(url_check_sent(url, &err), sent[i].message == NULL ? ERR_OK : ERR_INVALID);
        assert_string_equal(err.message, str_nonnull(sent[i].message));
    }
}

static void count_sent(void *arg, const struct http_sent *s)
{
    (void)s;
    ++*(int *)arg;
}

/* The client is the last line: what the table refuses makes no connection. */
static void http_do__url_that_may_not_be_sent__no_byte_leaves(void **state)
{
    (void)state;
    int leaves = 0;
    struct fixture f =
        fixture_new(&(struct http_config){.observe = count_sent, .observe_arg = &leaves});
    for (size_t i = 0; i < ARRAY_LEN(sent); i++) {
        if (sent[i].message != NULL) {
            int rc = fixture_get(&f, arena_printf(f.arena, "http://127.0.0.1:1%s", sent[i].rest));
            assert_int_equal(rc, ERR_INVALID);
        }
    }
    assert_int_equal(leaves, 0);
    fixture_done(&f);
}

UNIT_MAIN(url_build)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(url_build__segments_and_pairs__escaped_each),
        cmocka_unit_test(url_build__hostile_segment__refused_with_its_name),
        cmocka_unit_test(url_build__path_with_a_bad_segment__refused),
        cmocka_unit_test(url_build__base_with_a_query__goes_on),
        cmocka_unit_test(url_resource_path__hostile_segment__stays_one_segment),
        cmocka_unit_test(url_check_sent__table__as_said),
        cmocka_unit_test(http_do__url_that_may_not_be_sent__no_byte_leaves),
    };
    return cmocka_run_group_tests(tests, http_group_setup, http_group_teardown);
}
