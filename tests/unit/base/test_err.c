/* SPDX-License-Identifier: Apache-2.0 */
/* test_err.c: codes, texts and their promises. */
#include "tests/unit/base/base_test.h"

#include <string.h>

#include "common/base/str.h"
#include "tests/support/foreign.h"
#include "tests/support/unit.h"

static void err_set__texts__one_tidy_line(void **state)
{
    (void)state;
    static const struct {
        const char *in, *want;
    } rows[] = {
        {"plain", "plain"},
        {"with a stop.", "with a stop"},
        {"stops... ", "stops"},
        {"two\nlines\tand \x01 more\x7f", "two lines and \\x01 more\\x7f"},
        {FOREIGN_TEXT, FOREIGN_BLANK},
        {"caf\xC3\xA9", "caf\xC3\xA9"},
        {"broken \xC3( and \xFF", "broken \\xc3( and \\xff"},
        {"", "no details"},
        {"...", "no details"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = {.http_status = 404, .retry_after_ms = 5, .reason = "old"};
        assert_int_equal(err_set(&err, ERR_INVALID, "%s", rows[i].in), ERR_INVALID);
        assert_string_equal(err.message, rows[i].want);
        assert_int_equal(err.code, ERR_INVALID);
        assert_int_equal(err.http_status, 0);
        assert_int_equal(err.retry_after_ms, 0);
        assert_string_equal(err.reason, "");
    }
}

static void err_set__too_long__cut_at_a_character(void **state)
{
    (void)state;
    for (int shift = 0; shift < 4; shift++) {
        struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
        str_append_n(&b, "xxxx", (size_t)shift);
        for (int i = 0; i < 400; i++) {
            str_append(&b, "\xE6\x97\xA5");
        }
        struct err err = ERR_INIT;
        err_set(&err, ERR_INVALID, "%s", b.data);
        size_t n = strlen(err.message);
        assert_true(str_is_utf8(err.message, n));
        assert_int_equal((n - (size_t)shift) % 3, 0);
        assert_true(n >= ERR_MESSAGE_MAX - 4 && n < ERR_MESSAGE_MAX);
        assert_int_equal(memcmp(err.message, b.data, n), 0);
    }
}

static void err_set__escapes_are_longer__none_is_cut_in_two(void **state)
{
    (void)state;
    for (int shift = 0; shift < 6; shift++) {
        struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
        str_append_n(&b, "xxxxxx", (size_t)shift);
        for (int i = 0; i < 300; i++) {
            str_append(&b, "\xE2\x80\xAE");
        }
        struct err err = ERR_INIT;
        err_set(&err, ERR_INVALID, "%s", b.data);
        size_t n = strlen(err.message);
        assert_int_equal((n - (size_t)shift) % 6, 0);
        assert_true(n >= ERR_MESSAGE_MAX - 7 && n < ERR_MESSAGE_MAX);
        assert_true(foreign_is_shown(err.message, 0));
    }
}

static void err_set__null_and_own_text__still_right(void **state)
{
    (void)state;
    assert_int_equal(err_set(NULL, ERR_QUOTA, "lost"), ERR_QUOTA);
    assert_int_equal(err_prefix(NULL, "lost"), ERR_BUG);
    struct err err = ERR_INIT;
    err_set(&err, ERR_QUOTA, "inner");
    assert_int_equal(err_set(&err, ERR_TRANSIENT, "%s again", err.message), ERR_TRANSIENT);
    assert_string_equal(err.message, "inner again");
}

static void err_prefix__said_already__is_not_said_again(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    err_set(&err, ERR_IN_USE, "load balancer kubernetes: in use");
    assert_int_equal(err_prefix(&err, "load balancer %s", "kubernetes"), ERR_IN_USE);
    assert_string_equal(err.message, "load balancer kubernetes: in use");
    err_prefix(&err, "load balancer");
    assert_string_equal(err.message, "load balancer: load balancer kubernetes: in use");
}

static void err_prefix__layers__read_from_outside_in(void **state)
{
    (void)state;
    struct err err = {.http_status = 0};
    err_set(&err, ERR_NOT_FOUND, "no such rule");
    err.http_status = 404;
    assert_int_equal(err_prefix(&err, "forwarding rule %s", "a1"), ERR_NOT_FOUND);
    assert_int_equal(err_prefix(&err, "sync"), ERR_NOT_FOUND);
    assert_string_equal(err.message, "sync: forwarding rule a1: no such rule");
    assert_int_equal(err.http_status, 404);
    char longer[ERR_MESSAGE_MAX];
    memset(longer, 'p', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    err_prefix(&err, "%s", longer);
    assert_int_equal(strlen(err.message), ERR_MESSAGE_MAX - 1);
}

static void err_copy__both_ways__whole_struct(void **state)
{
    (void)state;
    struct err a = ERR_INIT;
    err_set(&a, ERR_THROTTLED, "slow down");
    a.retry_after_ms = 7000;
    struct err b = ERR_INIT;
    assert_int_equal(err_copy(&b, &a), ERR_THROTTLED);
    assert_memory_equal(&a, &b, sizeof a);
    assert_int_equal(err_copy(&b, &b), ERR_THROTTLED);
    assert_string_equal(b.message, "slow down");
    assert_int_equal(err_copy(NULL, &a), ERR_THROTTLED);
    assert_int_equal(err_copy(&b, NULL), ERR_OK);
    assert_string_equal(b.message, "");
    err_clear(&a);
    assert_int_equal(a.code, ERR_OK);
    err_clear(NULL);
}

static void err_code__names__both_directions(void **state)
{
    (void)state;
    for (int code = 0; code < ERR_MAX; code++) {
        assert_int_equal(err_code_parse(err_code_name(code)), code);
    }
    assert_string_equal(err_code_name(ERR_IMPLEMENTED_ELSEWHERE), "implemented-elsewhere");
    assert_string_equal(err_code_name(ERR_MAX), "unknown");
    assert_string_equal(err_code_name(-1), "unknown");
    assert_int_equal(err_code_parse("unknown"), -1);
    assert_int_equal(err_code_parse(NULL), -1);
}

static void err_is_retryable__every_code__as_the_table(void **state)
{
    (void)state;
    static const int yes[] = {ERR_CONFLICT,    ERR_IN_USE, ERR_QUOTA,    ERR_THROTTLED,
                              ERR_IN_PROGRESS, ERR_AUTH,   ERR_TRANSIENT};
    for (int code = 0; code < ERR_MAX; code++) {
        int want = 0;
        for (size_t i = 0; i < ARRAY_LEN(yes); i++) {
            want |= yes[i] == code;
        }
        assert_int_equal(err_is_retryable(code), want);
    }
}

static void err_mask__what_a_server_echoes__stars(void **state)
{
    (void)state;
    static const struct {
        const char *message, *secret, *want;
    } rows[] = {
        {"said no to Bearer s3cr3t-token", "s3cr3t-token", "said no to Bearer ***"},
        {"s3cr3t-token, s3cr3t-token!", "s3cr3t-token", "***, ***!"},
        {"cut in the middle of s3cr3t-to", "s3cr3t-token", "cut in the middle of ***"},
        {"s3cr3t-to is not all of it", "s3cr3t-token", "s3cr3t-to is not all of it"},
        {"ends like it: s3cr3t", "s3cr3t-token", "ends like it: s3cr3t"}, /* could be a word */
        {"the word of", "of", "the word of"},
        {"nothing to hide", NULL, "nothing to hide"},
        {"aaaaaaaaaaaa", "aaaaaaaa", "***aaaa"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = ERR_INIT;
        (void)err_set(&err, ERR_AUTH, "%s", rows[i].message);
        err_mask(&err, rows[i].secret);
        assert_string_equal(err.message, rows[i].want);
    }
    err_mask(NULL, "s3cr3t-token");
}

static void err_mask__long_message_and_reason__nothing_left(void **state)
{
    (void)state;
    static const char secret[] = "s3cr3t-token";
    struct err err = ERR_INIT;
    char text[ERR_MESSAGE_MAX + sizeof(secret)];
    memset(text, 'x', sizeof(text));
    memcpy(text + ERR_MESSAGE_MAX - 10, secret, sizeof(secret)); /* 9 bytes of it fit */
    (void)err_set(&err, ERR_AUTH, "%s", text);
    memcpy(err.reason, secret, sizeof(secret));
    err_mask(&err, secret);
    assert_null(strstr(err.message, "s3cr3t"));
    assert_string_equal(err.reason, "");
}

UNIT_MAIN(err)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(err_set__texts__one_tidy_line),
        cmocka_unit_test(err_set__too_long__cut_at_a_character),
        cmocka_unit_test(err_set__escapes_are_longer__none_is_cut_in_two),
        cmocka_unit_test(err_set__null_and_own_text__still_right),
        cmocka_unit_test(err_prefix__said_already__is_not_said_again),
        cmocka_unit_test(err_prefix__layers__read_from_outside_in),
        cmocka_unit_test(err_copy__both_ways__whole_struct),
        cmocka_unit_test(err_code__names__both_directions),
        cmocka_unit_test(err_is_retryable__every_code__as_the_table),
        cmocka_unit_test(err_mask__what_a_server_echoes__stars),
        cmocka_unit_test(err_mask__long_message_and_reason__nothing_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
