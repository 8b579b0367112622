/* SPDX-License-Identifier: Apache-2.0 */
/* test_json_parse.c: what is read as JSON, what is refused, and where the error is. */
#include "tests/support/unit.h"
#include "tests/unit/base/base_test.h"

#include <string.h>

static void json_parse__values__print_as_they_came(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *in, *out; /* out NULL: the same */
    } rows[] = {
        {"null", NULL},
        {"true", NULL},
        {" false\r\n\t", "false"},
        {"0", NULL},
        {"-0", "0"},
        {"9223372036854775807", NULL},
        {"9223372036854775808", NULL},
        {"18446744073709551615", NULL},
        {"18446744073709551616", NULL},
        {"-9223372036854775808", NULL},
        {"-9223372036854775809", NULL},
        {"1.10", NULL},
        {"1e5", NULL},
        {"1E+05", NULL},
        {"-0.0", NULL},
        {"0.1e-7", NULL},
        {"\"\"", NULL},
        {"\"a/b<>&\"", NULL},
        {"\"\\u00e9\\/\\b\\f\\n\\r\\t\\\"\\\\\"", "\"\xC3\xA9/\\b\\f\\n\\r\\t\\\"\\\\\""},
        {"\"\\uD83D\\uDe00\"", "\"\xF0\x9F\x98\x80\""},
        {"\"\\ud800\"", "\"\xEF\xBF\xBD\""},
        {"\"\\ud800x\"", "\"\xEF\xBF\xBDx\""},
        {"\"\\ud800\\n\"", "\"\xEF\xBF\xBD\\n\""},
        {"\"\\ud800\\u0041\"", "\"\xEF\xBF\xBD"
                               "A\""},
        {"\"\\ud800\\ud800\\udc00\"", "\"\xEF\xBF\xBD\xF0\x90\x80\x80\""},
        {"\"\\udc00\"", "\"\xEF\xBF\xBD\""},
        {"\"\x7F\xC3\xA9\"", NULL},
        {"[]", NULL},
        {"[ ]", "[]"},
        {"{}", NULL},
        {"{ \"b\" : [1 , {\"a\":null}] , \"a\" : \"\" }", "{\"b\":[1,{\"a\":null}],\"a\":\"\"}"},
        {"{\"\":1}", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct json_object *o = NULL;
        struct err err = ERR_INIT;
        assert_fine(json_parse_arena(a, rows[i].in, strlen(rows[i].in), NULL, &o, &err), &err);
        assert_string_equal(json_text(a, o, JSON_COMPACT),
                            rows[i].out != NULL ? rows[i].out : rows[i].in);
    }
}

static void json_parse__broken__refused_with_place(void **state)
{
    (void)state;
    static const struct {
        const char *in, *want;
    } rows[] = {
        {"", "line 1, column 1: unexpected end of JSON"},
        {"  \n ", "line 2, column 2: unexpected end of JSON"},
        {"{", "line 1, column 2: unexpected end of JSON"},
        {"[1,\n 2", "line 2, column 3: unexpected end of JSON"},
        {"[1 2]", "line 1, column 4: want ',' or ']'"},
        {"{\"a\":1 \"b\"}", "line 1, column 8: want ',' or '}'"},
        {"[1,]", "line 1, column 4: unexpected character"},
        {"{\"a\":1,}", "line 1, column 8: want a member name in quotes"},
        {"{a:1}", "line 1, column 2: want a member name in quotes"},
        {"{\"a\" 1}", "line 1, column 6: want ':' after a member name"},
        {"{\"a\":1,\n \"a\":2}", "line 2, column 2: duplicate member"},
        {"{\"\\u0061\":1,\"a\":2}", "line 1, column 13: duplicate member"},
        {"{\"a\\u0000\":1}", "line 1, column 2: NUL in a member name"},
        {"[\"a\\u0000\"]", "line 1, column 2: NUL in a string"},
        {"1 1", "line 1, column 3: text after the JSON value"},
        {"{}\nx", "line 2, column 1: text after the JSON value"},
        {"tru", "line 1, column 1: unexpected character"},
        {"nul!", "line 1, column 1: unexpected character"},
        {"falsch", "line 1, column 1: unexpected character"},
        {"+1", "line 1, column 1: unexpected character"},
        {"01", "line 1, column 1: number with a leading zero"},
        {"-01", "line 1, column 2: number with a leading zero"},
        {"-", "line 1, column 2: unexpected end of JSON"},
        {"-x", "line 1, column 2: want a digit"},
        {".5", "line 1, column 1: unexpected character"},
        {"1.x", "line 1, column 3: want a digit"},
        {"1e+x", "line 1, column 4: want a digit"},
        {"1e999", "line 1, column 1: number is out of range"},
        {"-1e999", "line 1, column 1: number is out of range"},
        {"NaN", "line 1, column 1: unexpected character"},
        {"\"a", "line 1, column 1: string is not closed"},
        {"\"a\\", "line 1, column 4: unexpected end of JSON"},
        {"\"\\x\"", "line 1, column 3: unknown escape in string"},
        {"\"\\u12g4\"", "line 1, column 6: want four hex digits after \\u"},
        {"\"\\ud800\\u12\"", "line 1, column 12: want four hex digits after \\u"},
        {"\"a\nb\"", "line 1, column 3: control character in string"},
        {"\"\xC3(\"", "line 1, column 2: invalid UTF-8 in string"},
        {"\"\xED\xA0\x80\"", "line 1, column 2: invalid UTF-8 in string"},
        {"\xEF\xBB\xBF{}", "line 1, column 1: unexpected character"},
        {"/* c */ 1", "line 1, column 1: unexpected character"},
        {"'a'", "line 1, column 1: unexpected character"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct json_object *o = NULL;
        struct err err = ERR_INIT;
        assert_int_equal(json_parse(rows[i].in, strlen(rows[i].in), NULL, &o, &err), ERR_INVALID);
        assert_string_equal(err.message, rows[i].want);
        assert_null(o);
    }
    struct json_object *o = NULL;
    assert_int_equal(json_parse("\0", 1, NULL, &o, NULL), ERR_INVALID);
    assert_int_equal(json_parse("\"a\0\"", 4, NULL, &o, NULL), ERR_INVALID);
}

static void json_parse__limits__each_one_counts(void **state)
{
    struct arena *a = *state;
    struct json_object *o = NULL;
    struct err err = ERR_INIT;
    const struct json_limits bytes = {.max_bytes = 4};
    assert_fine(json_parse_arena(a, "1234", 4, &bytes, &o, &err), &err);
    assert_refused(json_parse(" 1234", 5, &bytes, &o, &err), &err, ERR_INVALID,
                   "5 bytes of JSON are more than 4");
    const struct json_limits depth = {.max_depth = 2};
    err_clear(&err);
    assert_fine(json_parse_arena(a, "[{\"a\":1}]", 9, &depth, &o, &err), &err);
    assert_refused(json_parse("[{\"a\":[]}]", 10, &depth, &o, &err), &err, ERR_INVALID,
                   "column 7: nested too deeply");
    const struct json_limits values = {.max_values = 3};
    err_clear(&err);
    assert_fine(json_parse_arena(a, "[1,2]", 5, &values, &o, &err), &err);
    assert_refused(json_parse("[1,2,3]", 7, &values, &o, &err), &err, ERR_INVALID,
                   "column 6: too many values");
    const struct json_limits nul = {.allow_nul = true};
    err_clear(&err);
    assert_fine(json_parse_arena(a, "\"a\\u0000b\"", 10, &nul, &o, &err), &err);
    assert_int_equal(json_object_get_string_len(o), 3);
    assert_string_equal(json_text(a, o, JSON_COMPACT), "\"a\\u0000b\"");
    assert_refused(json_parse("{\"\\u0000\":1}", 12, &nul, &o, &err), &err, ERR_INVALID,
                   "NUL in a member name");
}

static void json_parse__a_million_brackets__refused_at_the_cap(void **state)
{
    struct arena *a = *state;
    size_t n = 1000000;
    char *deep = arena_alloc(a, n);
    struct json_object *o = NULL;
    struct err err = ERR_INIT;
    memset(deep, '[', n);
    assert_refused(json_parse(deep, n, NULL, &o, &err), &err, ERR_INVALID,
                   "column 65: nested too deeply");
    const struct json_limits huge = {.max_depth = 2000000000};
    assert_refused(json_parse(deep, n, &huge, &o, &err), &err, ERR_INVALID,
                   "column 1025: nested too deeply");
}

static void json_parse__many_members__linear(void **state)
{
    struct arena *a = *state;
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    struct json_object *o = NULL;
    struct err err = ERR_INIT;
    for (int i = 0; i < 100000; i++) {
        str_appendf(&b, "%s\"m%d\":%d", i == 0 ? "{" : ",", i, i);
    }
    str_append_c(&b, '}');
    assert_fine(json_parse_arena(a, b.data, b.len, NULL, &o, &err), &err);
    assert_int_equal(json_object_object_length(o), 100000);
    assert_int_equal(json_int(o, "m99999", 0), 99999);
}

UNIT_MAIN(json_parse)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_parse__values__print_as_they_came),
        cmocka_unit_test(json_parse__broken__refused_with_place),
        cmocka_unit_test(json_parse__limits__each_one_counts),
        cmocka_unit_test(json_parse__a_million_brackets__refused_at_the_cap),
        cmocka_unit_test(json_parse__many_members__linear),
    };
    return cmocka_run_group_tests(tests, arena_setup, arena_teardown);
}
