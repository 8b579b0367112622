/* SPDX-License-Identifier: Apache-2.0 */
/* test_str.c: the text buffer and the helpers on strings. */
#include "tests/unit/base/base_test.h"

#include <string.h>

#include "common/base/str.h"
#include "common/base/uuid.h"
#include "tests/support/unit.h"

static void str_buf__appends__stay_terminated(void **state)
{
    struct arena *a = *state;
    struct str_buf b = STR_BUF_INIT;
    assert_string_equal(str_buf_text(&b), "");
    str_append(&b, NULL);
    assert_string_equal(str_buf_text(&b), "");
    str_append_n(&b, NULL, 0);
    assert_non_null(b.data);
    str_append(&b, "ab");
    str_append_c(&b, 'c');
    str_appendf(&b, "%03d", 7);
    assert_string_equal(b.data, "abc007");
    assert_int_equal(b.len, 6);
    str_append_n(&b, "\0x", 2);
    assert_int_equal(b.len, 8);
    assert_memory_equal(str_buf_to_arena(&b, a), "abc007\0x", 9);
    str_buf_reserve(&b, 1000);
    assert_true(b.cap > b.len + 1000);
    assert_memory_equal(b.data, "abc007\0x", 9);
    for (int i = 0; i < 1000; i++) {
        str_append(&b, "0123456789");
    }
    assert_int_equal(b.len, 10008);
    assert_int_equal(b.data[b.len], 0);
    str_buf_reset(&b);
    assert_string_equal(b.data, "");
    char *empty = str_buf_steal(&b);
    assert_string_equal(empty, "");
    free(empty);
    empty = str_buf_steal(&b);
    assert_string_equal(empty, "");
    free(empty);
    str_buf_reset(&b);
    assert_string_equal(str_buf_to_arena(&b, a), "");
    str_buf_done(&b);
    str_buf_done(&b);
}

static void str_predicates__null_and_edges__as_documented(void **state)
{
    (void)state;
    assert_true(str_eq(NULL, NULL));
    assert_false(str_eq(NULL, ""));
    assert_false(str_eq("a", NULL));
    assert_true(str_eq("a", "a"));
    assert_true(str_eq_nocase("Ab-Z", "aB-z"));
    assert_false(str_eq_nocase("ab", "abc"));
    assert_false(str_eq_nocase("\xC3\x89", "\xC3\xA9"));
    assert_true(str_eq_nocase(NULL, NULL));
    assert_false(str_eq_nocase(NULL, "a"));
    assert_true(str_is_empty(NULL));
    assert_true(str_is_empty(""));
    assert_false(str_is_empty(" "));
    assert_true(str_has_prefix("abc", "ab"));
    assert_false(str_has_prefix("ab", "abc"));
    assert_false(str_has_prefix(NULL, "a"));
    assert_false(str_has_prefix("a", NULL));
    assert_true(str_has_suffix("abc", "bc"));
    assert_true(str_has_suffix("abc", ""));
    assert_false(str_has_suffix("c", "bc"));
    assert_false(str_has_suffix(NULL, "a"));
    assert_false(str_has_suffix("a", NULL));
    assert_string_equal(str_or("", "x"), "x");
    assert_string_equal(str_or("y", "x"), "y");
    assert_string_equal(str_nonnull(NULL), "");
    assert_string_equal(str_nonnull("z"), "z");
}

static void str_trim__blanks__both_sets(void **state)
{
    struct arena *a = *state;
    assert_string_equal(str_trim(a, " \t\n\v\f\r a b \r\n"), "a b");
    assert_string_equal(str_trim(a, "   "), "");
    assert_string_equal(str_trim(a, "\xC2\xA0x"), "\xC2\xA0x");
    static const struct {
        const char *in, *want;
    } rows[] = {
        {"\xC2\xA0\xE3\x80\x80 x \xE2\x80\x83", "x"}, /* NBSP, ideographic, em space */
        {"\xC2\x85\xE1\x9A\x80y", "y"},               /* NEL, ogham */
        {"\xE2\x80\x8Bz", "\xE2\x80\x8Bz"},           /* zero width space is none */
        {"\xA0x\x85", "\xA0x\x85"},                   /* lone bytes are no characters */
        {"\xE2\x80\xA8\xE2\x80\xAF", ""},
        {"", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_string_equal(str_trim_unicode(a, rows[i].in), rows[i].want);
    }
}

static void str_split__separators__like_go(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *in;
        size_t n;
        const char *joined;
    } rows[] = {
        {"", 1, ""}, {"a", 1, "a"}, {"a,,b", 3, "a||b"}, {",", 2, "|"}, {"a,b,", 3, "a|b|"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        size_t n;
        char **items = str_split(a, rows[i].in, ',', &n);
        assert_int_equal(n, rows[i].n);
        assert_string_equal(str_join(a, (const char *const *)items, n, "|"), rows[i].joined);
    }
    assert_string_equal(str_join(a, NULL, 0, ","), "");
}

static void str_replace_and_case__edges__all_hits(void **state)
{
    struct arena *a = *state;
    assert_string_equal(str_replace(a, "a.b.c", ".", "--"), "a--b--c");
    assert_string_equal(str_replace(a, "aaa", "aa", "b"), "ba");
    assert_string_equal(str_replace(a, "abc", "", "x"), "abc");
    assert_string_equal(str_replace(a, "abc", "b", ""), "ac");
    assert_string_equal(str_replace(a, "", "b", "c"), "");
    assert_string_equal(str_lower(a, "AbZ-\xC3\x89"), "abz-\xC3\x89");
    assert_string_equal(str_upper(a, "aBz_9"), "ABZ_9");
    assert_null(str_lower(a, NULL));
    assert_null(str_upper(a, NULL));
}

static void str_to_i64__limits__exact(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        bool ok;
        int64_t want;
    } rows[] = {
        {"0", true, 0},
        {"-0", true, 0},
        {"+7", true, 7},
        {"007", true, 7},
        {"9223372036854775807", true, INT64_MAX},
        {"-9223372036854775808", true, INT64_MIN},
        {"9223372036854775808", false, 0},
        {"-9223372036854775809", false, 0},
        {"18446744073709551616", false, 0},
        {"", false, 0},
        {"-", false, 0},
        {"--1", false, 0},
        {" 1", false, 0},
        {"1 ", false, 0},
        {"0x1", false, 0},
        {NULL, false, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t got = 0;
        assert_int_equal(str_to_i64(rows[i].in, &got), rows[i].ok);
        assert_int_equal(got, rows[i].want);
    }
    uint64_t u = 5;
    assert_true(str_to_u64("18446744073709551615", &u));
    assert_true(u == UINT64_MAX);
    assert_false(str_to_u64("18446744073709551616", &u));
    assert_false(str_to_u64("99999999999999999999", &u));
    assert_false(str_to_u64("+1", &u));
    assert_false(str_to_u64("1:", &u));
    assert_false(str_to_u64("1/", &u));
    assert_false(str_to_u64(NULL, &u));
    assert_true(u == UINT64_MAX);
}

static void str_to_go_bool__words__only_go_ones(void **state)
{
    (void)state;
    static const char *const yes[] = {"1", "t", "T", "true", "TRUE", "True"};
    static const char *const no[] = {"0", "f", "F", "false", "FALSE", "False"};
    static const char *const none[] = {"", "yes", "tRUE", "2", " true"};
    bool got;
    for (size_t i = 0; i < ARRAY_LEN(yes); i++) {
        assert_true(str_to_go_bool(yes[i], &got) && got);
        assert_true(str_to_go_bool(no[i], &got) && !got);
    }
    for (size_t i = 0; i < ARRAY_LEN(none); i++) {
        assert_false(str_to_go_bool(none[i], &got));
    }
    assert_false(str_to_go_bool(NULL, &got));
}

static void str_glob__patterns__shell_like(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *s;
        bool want;
    } rows[] = {
        {"", "", true},
        {"", "a", false},
        {"*", "", true},
        {"**", "a/b", true},
        {"a*c", "abbbc", true},
        {"a*c", "abbbcd", false},
        {"*a*b*", "xxaxxbxx", true},
        {"?", "", false},
        {"?b?", "abc", true},
        {"a?", "a", false},
        {"/compute/*/instances", "/compute/v1/p/z/instances", true},
        {"*ab", "aab", true},
        {"*aab", "aaaab", true},
        {"[a]", "a", false},
        {"[a]", "[a]", true},
        {"a*****************************b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(str_glob(rows[i].pattern, rows[i].s), rows[i].want);
    }
}

static void str_near_hint__several_names__nearest_first(void **state)
{
    const char *items[] = {"demo/web", "demo/wep", "prod/web", "demo/wex", "demo/mail"};
    assert_string_equal(str_near_hint(*state, "demo/weg", items, 5),
                        "; did you mean demo/web, demo/wep or demo/wex?");
    assert_string_equal(str_near_hint(*state, "test/web", items, 3),
                        "; did you mean demo/web or prod/web?");
    assert_string_equal(str_near_hint(*state, "dmeo/web", items, 3),
                        "; did you mean demo/web, demo/wep or prod/web?");
    assert_string_equal(str_near_hint(*state, "demo/mial", items, 5), "; did you mean demo/mail?");
    assert_string_equal(str_near_hint(*state, "other/thing", items, 5), "");
    assert_string_equal(str_near_hint(*state, "web", items, 5), "");
    assert_string_equal(str_near_hint(*state, "", items, 0), "");
    const char *twice[] = {"web-a", "web-a", "a"};
    assert_string_equal(str_near_hint(*state, "web-b", twice, 3), "; did you mean web-a?");
    assert_string_equal(str_near_hint(*state, "b", twice, 3), "");
}

static void str_nearest__slips__found(void **state)
{
    (void)state;
    static const char *const items[] = {"project-id", "token-url", "node-tags", "regional"};
    assert_string_equal(str_nearest("projectid", items, 4), "project-id");
    assert_string_equal(str_nearest("token-ulr", items, 4), "token-url");
    assert_string_equal(str_nearest("node-tag", items, 4), "node-tags");
    assert_null(str_nearest("zone", items, 4));
    assert_null(str_nearest("", items, 4));
    assert_null(str_nearest("x", items, 0));
    assert_int_equal(str_distance("plna", "plan"), 1);
    assert_int_equal(str_distance("ab", "ba"), 1);
    assert_int_equal(str_distance("abc", "cab"), 2);
    assert_int_equal(str_distance("kitten", "sitting"), 3);
    assert_int_equal(str_distance("", "abc"), 3);
    assert_int_equal(str_distance("abc", ""), 3);
    char longer[300];
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_int_equal(str_distance(longer, longer), 0);
    assert_int_equal(str_distance(longer, "a"), 299);
    assert_int_equal(str_distance("a", longer), 299);
}

static void uuid_read__texts__those_of_the_api_server(void **state)
{
    static const char *const no[] = {"",
                                     "0",
                                     "0b6e3c5e-6f0c-4be8-9d4e-0a7f4a3f1d5",
                                     "0B6e3c5e-6f0c-4be8-9d4e-0a7f4a3f1d55",
                                     "0b6e3c5e06f0c-4be8-9d4e-0a7f4a3f1d55",
                                     "0b6e3c5e-6f0c-4be8-9d4e-0a7f4a3f1dg5",
                                     "0b6e3c5e-6f0c-4be8-9d4e--a7f4a3f1d55"};
    static const char *const yes[] = {"0b6e3c5e-6f0c-4be8-9d4e-0a7f4a3f1d55",
                                      "00000000-0000-0000-0000-000000000000",
                                      "ffffffff-ffff-ffff-ffff-ffffffffffff"};
    uint8_t bytes[UUID_BYTES];
    char text[UUID_TEXT];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(no); i++) {
        assert_false(uuid_read(no[i], bytes));
    }
    for (size_t i = 0; i < ARRAY_LEN(yes); i++) {
        assert_true(uuid_read(yes[i], bytes));
        uuid_format(bytes, text);
        assert_string_equal(yes[i], text);
    }
    assert_true(uuid_read("0b6e3c5e-6f0c-4be8-9d4e-0a7f4a3f1d55 and more", bytes));
    assert_int_equal(0x0b, bytes[0]);
    assert_int_equal(0x55, bytes[15]);
}

UNIT_MAIN(str)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(str_buf__appends__stay_terminated),
        cmocka_unit_test(uuid_read__texts__those_of_the_api_server),
        cmocka_unit_test(str_predicates__null_and_edges__as_documented),
        cmocka_unit_test(str_trim__blanks__both_sets),
        cmocka_unit_test(str_split__separators__like_go),
        cmocka_unit_test(str_replace_and_case__edges__all_hits),
        cmocka_unit_test(str_to_i64__limits__exact),
        cmocka_unit_test(str_to_go_bool__words__only_go_ones),
        cmocka_unit_test(str_glob__patterns__shell_like),
        cmocka_unit_test(str_nearest__slips__found),
        cmocka_unit_test(str_near_hint__several_names__nearest_first),
    };
    return cmocka_run_group_tests(tests, arena_setup, arena_teardown);
}
