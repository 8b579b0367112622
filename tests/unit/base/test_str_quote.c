/* SPDX-License-Identifier: Apache-2.0 */
/* test_str_quote.c: UTF-8, quoting as Go and JSON do it, base64. */
#include "tests/unit/base/base_test.h"

#include <string.h>

#include "common/base/str.h"
#include "common/base/utf8.h"
#include "common/data/json.h"
#include "tests/support/foreign.h"
#include "tests/support/unit.h"

static void utf8__edges_of_every_length__round_trip(void **state)
{
    (void)state;
    static const struct {
        uint32_t rune;
        const char *bytes;
        size_t n;
    } rows[] = {
        {0x00, "\0", 1},
        {0x7F, "\x7F", 1},
        {0x80, "\xC2\x80", 2},
        {0x7FF, "\xDF\xBF", 2},
        {0x800, "\xE0\xA0\x80", 3},
        {0xD7FF, "\xED\x9F\xBF", 3},
        {0xE000, "\xEE\x80\x80", 3},
        {0xFFFD, "\xEF\xBF\xBD", 3},
        {0xFFFF, "\xEF\xBF\xBF", 3},
        {0x10000, "\xF0\x90\x80\x80", 4},
        {0x10FFFF, "\xF4\x8F\xBF\xBF", 4},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        uint32_t rune;
        char out[UTF8_MAX_BYTES];
        assert_int_equal(utf8_decode(rows[i].bytes, rows[i].n, &rune), rows[i].n);
        assert_int_equal(rune, rows[i].rune);
        assert_int_equal(utf8_decode_last(rows[i].bytes, rows[i].n, &rune), rows[i].n);
        assert_int_equal(rune, rows[i].rune);
        assert_int_equal(utf8_encode(rows[i].rune, out), rows[i].n);
        assert_memory_equal(out, rows[i].bytes, rows[i].n);
        if (rows[i].n > 1) {
            assert_int_equal(utf8_decode(rows[i].bytes, rows[i].n - 1, &rune), 0);
        }
    }
}

static void utf8__invalid_bytes__refused(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "\x80",         "\xBF",         "\xC0\x80", "\xC1\xBF",         "\xE0\x9F\xBF",
        "\xED\xA0\x80", "\xED\xBF\xBF", "\xE2\x28", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80",
        "\xF5\x80",     "\xFF"};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        uint32_t rune = 0;
        assert_int_equal(utf8_decode(rows[i], strlen(rows[i]), &rune), 0);
        assert_int_equal(rune, UTF8_REPLACEMENT);
        assert_false(str_is_utf8(rows[i], strlen(rows[i])));
    }
    uint32_t rune;
    assert_int_equal(utf8_decode("", 0, &rune), 0);
    assert_int_equal(utf8_decode_last("", 0, &rune), 0);
    assert_int_equal(utf8_decode_last("a\x80\x80\x80\x80\x80", 6, &rune), 0);
    assert_int_equal(utf8_decode_last("\xC3\xA9\xA9", 3, &rune), 0);
    char out[UTF8_MAX_BYTES];
    assert_int_equal(utf8_encode(0xD800, out), 3);
    assert_memory_equal(out, "\xEF\xBF\xBD", 3);
    assert_int_equal(utf8_encode(0x110000, out), 3);
    assert_true(str_is_utf8("a\xC3\xA9\0z", 5));
}

/* Eight bytes are looked at together where there are as many. */
static void str_is_utf8__bad_byte_anywhere__found(void **state)
{
    (void)state;
    for (size_t n = 1; n < 40; n++) {
        for (size_t i = 0; i < n; i++) {
            char text[42];
            memset(text, 'x', sizeof text);
            assert_true(str_is_utf8(text, n));
            text[i] = '\xC3';
            assert_false(str_is_utf8(text, n));
            text[i + 1] = '\xA9';
            assert_int_equal(str_is_utf8(text, n), i + 1 < n);
        }
    }
}

static void unicode_classes__edges__as_go(void **state)
{
    (void)state;
    assert_true(unicode_is_letter('a') && unicode_is_letter('Z') && unicode_is_letter(0xE9));
    assert_true(unicode_is_letter(0x4E00) && unicode_is_letter(0x323AF));
    assert_false(unicode_is_letter('_') || unicode_is_letter('1') || unicode_is_letter(0xD7));
    assert_false(unicode_is_letter(0xFFFFFFFF));
    assert_true(unicode_is_digit('0') && unicode_is_digit(0x0663) && unicode_is_digit(0xFF19));
    assert_false(unicode_is_digit('a') || unicode_is_digit(0xB2) || unicode_is_digit(0x2160));
    assert_true(unicode_is_space(' ') && unicode_is_space('\v') && unicode_is_space(0x2005));
    assert_false(unicode_is_space(0x200B) || unicode_is_space('a') || unicode_is_space(0x1FFF));
    assert_true(unicode_is_print(' ') && unicode_is_print(0x1F600) && unicode_is_print(0x301));
    assert_false(unicode_is_print(0x7F) || unicode_is_print(0xA0) || unicode_is_print(0xE000));
}

static void go_quote__recorded__equal(struct arena *a, struct json_object *line, void *arg)
{
    (void)arg;
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    str_append_go_quoted(&b, json_str(line, "in"));
    assert_string_equal(arena_strdup(a, b.data), json_str(line, "out"));
}

static void str_append_go_quoted__recorded_from_go__equal(void **state)
{
    (void)state;
    assert_int_equal(vectors_each("go_quote.jsonl", go_quote__recorded__equal, NULL), 80);
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    str_append_go_quoted(&b, "\xFF\xC3z");
    str_append_go_quoted(&b, NULL);
    assert_string_equal(b.data, "\"\\xff\\xc3z\"\"\"");
}

static void str_append_json_quoted__characters__escaped(void **state)
{
    (void)state;
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    str_append_json_quoted(&b, "a\"\\/\b\f\n\r\t\x01\x1F\x7F\xC3\xA9<&>\xFF");
    assert_string_equal(b.data,
                        "\"a\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7F\xC3\xA9<&>\xEF\xBF\xBD\"");
    str_buf_reset(&b);
    str_append_json_quoted_n(&b, "a\0b", 3);
    assert_string_equal(b.data, "\"a\\u0000b\"");
    str_buf_reset(&b);
    str_append_json_quoted(&b, NULL);
    assert_string_equal(b.data, "\"\"");
}

static void base64__rfc4648_vectors__both_ways(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *plain, *std, *url;
    } rows[] = {
        {"", "", ""},
        {"f", "Zg==", "Zg"},
        {"fo", "Zm8=", "Zm8"},
        {"foo", "Zm9v", "Zm9v"},
        {"foob", "Zm9vYg==", "Zm9vYg"},
        {"fooba", "Zm9vYmE=", "Zm9vYmE"},
        {"foobar", "Zm9vYmFy", "Zm9vYmFy"},
        {"\xFB\xFF\xFE", "+//+", "-__-"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        size_t n = strlen(rows[i].plain);
        unsigned char *out;
        size_t out_n;
        assert_string_equal(str_base64_encode(a, rows[i].plain, n, false), rows[i].std);
        assert_string_equal(str_base64_encode(a, rows[i].plain, n, true), rows[i].url);
        assert_true(str_base64_decode(a, rows[i].std, false, &out, &out_n));
        assert_int_equal(out_n, n);
        assert_memory_equal(out, rows[i].plain, n);
        assert_true(str_base64_decode(a, rows[i].url, true, &out, &out_n));
        assert_int_equal(out_n, n);
    }
}

static void base64_decode__broken__refused(void **state)
{
    struct arena *a = *state;
    unsigned char *out;
    size_t n;
    static const char *const rows[] = {"Zg",    "Zg=",   "Z",     "Z===", "Zg==x",
                                       "Zg===", "Zm9v=", "Zm 9v", "-__-", "Zm9v!"};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_false(str_base64_decode(a, rows[i], false, &out, &n));
    }
    assert_false(str_base64_decode(a, "+//+", true, &out, &n));
    assert_false(str_base64_decode(a, "Z", true, &out, &n));
    assert_true(str_base64_decode(a, "Zg==", true, &out, &n));
    assert_true(str_base64_decode(a, "Zm\r\n9v\nYg=\n=\n", false, &out, &n));
    assert_int_equal(n, 4);
    assert_memory_equal(out, "foob", 4);
}

static void str_clean__foreign_text__visible_characters_only(void **state)
{
    static const struct {
        const char *in, *shown, *blank, *kept;
    } rows[] = {
        {FOREIGN_TEXT, FOREIGN_SHOWN, FOREIGN_BLANK, NULL},
        {"a\nb\rc\v", "a\\nb\\rc\\v", "a b c ", "a\nb\\rc\\v"},
        {"\xC2\x80\xC2\x85\xC2\x9F", "\\u0080\\u0085\\u009f", NULL, NULL},
        {"\xD8\x9C\xE2\x80\x8E\xE2\x80\x8F", "\\u061c\\u200e\\u200f", NULL, NULL},
        {"\xE2\x81\xA6\xE2\x81\xA9\xE2\x80\xAA", "\\u2066\\u2069\\u202a", NULL, NULL},
        {"\xE2\x80\xA9\xE2\x80\x8D\xEF\xBB\xBF", "\\u2029\\u200d\\ufeff", NULL, NULL},
        {"\xC2\xA0\xC2\xAD\xE3\x85\xA4", "\\u00a0\\u00ad\\u3164", NULL, NULL},
        {"\xEF\xB8\x8F\xE2\xA0\x80\xEE\x80\x80", "\\ufe0f\\u2800\\ue000", NULL, NULL},
        {"caf\xC3\xA9 \xE6\x97\xA5 \xD7\x90 \xF0\x9F\x98\x80 \\n \"'",
         "caf\xC3\xA9 \xE6\x97\xA5 \xD7\x90 \xF0\x9F\x98\x80 \\n \"'", NULL, NULL},
        {"\xC3( \xE2\x80", "\\xc3( \\xe2\\x80", NULL, NULL},
        {"", "", NULL, NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *const want[] = {[STR_BREAKS_SHOWN] = rows[i].shown,
                                    [STR_BREAKS_BLANK] = rows[i].blank,
                                    [STR_BREAKS_KEPT] = rows[i].kept};
        for (size_t k = 0; k < ARRAY_LEN(want); k++) {
            struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
            str_append_clean(&b, rows[i].in, (enum str_breaks)k);
            assert_string_equal(str_buf_text(&b), want[k] != NULL || k == STR_BREAKS_KEPT
                                                      ? str_or(want[k], str_buf_text(&b))
                                                      : rows[i].shown);
        }
        const char *clean = str_clean(*state, rows[i].in);
        assert_string_equal(clean, rows[i].shown);
        assert_ptr_equal(str_clean(*state, clean), clean); /* there is nothing left to escape */
    }
    assert_null(str_clean(*state, NULL));
}

static void str_append_json_visible__foreign_text__the_same_value(void **state)
{
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    struct json_object *o = NULL;
    struct err err = ERR_INIT;
    str_append_json_visible(&b, FOREIGN_TEXT "\xC3\xA9");
    assert_true(foreign_is_shown(b.data, 0));
    assert_non_null(
        strstr(b.data, "\\u009b\\u202e\\u2028\\u200b\\udb40\\udc41\xEF\xBF\xBDz\xC3\xA9"));
    assert_int_equal(json_parse_arena(*state, b.data, b.len, NULL, &o, &err), ERR_OK);
    struct str_buf again _cleanup_(str_buf_done) = STR_BUF_INIT;
    str_append_json_quoted(&again, FOREIGN_TEXT "\xC3\xA9");
    assert_string_equal(json_text(*state, o, JSON_COMPACT), again.data);
    assert_string_equal(json_text(*state, o, JSON_PRETTY), b.data);
}

UNIT_MAIN(str_quote)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(utf8__edges_of_every_length__round_trip),
        cmocka_unit_test(utf8__invalid_bytes__refused),
        cmocka_unit_test(str_is_utf8__bad_byte_anywhere__found),
        cmocka_unit_test(unicode_classes__edges__as_go),
        cmocka_unit_test(str_append_go_quoted__recorded_from_go__equal),
        cmocka_unit_test(str_append_json_quoted__characters__escaped),
        cmocka_unit_test(str_clean__foreign_text__visible_characters_only),
        cmocka_unit_test(str_append_json_visible__foreign_text__the_same_value),
        cmocka_unit_test(base64__rfc4648_vectors__both_ways),
        cmocka_unit_test(base64_decode__broken__refused),
    };
    return cmocka_run_group_tests(tests, arena_setup, arena_teardown);
}
