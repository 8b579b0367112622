/* SPDX-License-Identifier: Apache-2.0 */
/* test_json.c: asking trees, building them, comparing and printing them. */
#include "tests/support/unit.h"
#include "tests/unit/base/base_test.h"

#include <malloc.h>
#include <math.h>
#include <string.h>

static struct json_object *parse(struct arena *a, const char *text)
{
    struct json_object *o = NULL;
    struct err err = ERR_INIT;
    assert_fine(json_parse_arena(a, text, strlen(text), NULL, &o, &err), &err);
    return o;
}

static void json_members__wrong_types__count_as_absent(void **state)
{
    struct arena *a = *state;
    struct json_object *o =
        parse(a, "{\"s\":\"x\",\"n\":null,\"o\":{\"p\":{\"q\":[1,2]}},\"t\":true}");
    assert_string_equal(json_str(o, "s"), "x");
    assert_null(json_str(o, "o"));
    assert_null(json_str(o, "absent"));
    assert_null(json_member(o, "n"));
    assert_null(json_member(NULL, "n"));
    assert_null(json_member(json_path(o, "o.p.q"), "x"));
    assert_int_equal(json_len(json_path(o, "o.p.q")), 2);
    assert_int_equal(json_len(o), 0);
    assert_int_equal(json_len(NULL), 0);
    assert_null(json_path(o, "o.x.q"));
    assert_null(json_path(o, "o.p.q.r"));
    assert_ptr_equal(json_path(o, ""), o);
    assert_true(json_bool(o, "t", false));
    assert_true(json_bool(o, "s", true));
    assert_false(json_bool(o, "absent", false));
    char longer[400];
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_null(json_path(o, longer));
}

static void json_int__forms_of_numbers__read_exactly(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *json;
        int64_t want;
    } rows[] = {
        {"7", 7},
        {"-9223372036854775808", INT64_MIN},
        {"9223372036854775807", INT64_MAX},
        {"9223372036854775808", -1}, /* does not fit: the otherwise value */
        {"18446744073709551615", -1},
        {"\"123\"", 123},
        {"\"9223372036854775807\"", INT64_MAX},
        {"\"12x\"", -1},
        {"2.0", 2},
        {"2.5", -1},
        {"1e30", -1},
        {"-1e30", -1},
        {"true", -1},
        {"null", -1},
        {"[]", -1},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct json_object *o = parse(a, arena_printf(a, "{\"v\":%s}", rows[i].json));
        assert_int_equal(json_int(o, "v", -1), rows[i].want);
    }
}

static void json_add__all_kinds__in_order(void **state)
{
    struct arena *a = *state;
    struct json_object *o _cleanup_(json_putp) = json_object_new_object();
    static const char *const items[] = {"x", "y"};
    json_add_str(o, "s", "t");
    json_add_str(o, "none", NULL);
    json_add_int(o, "i", INT64_MIN);
    json_add_bool(o, "b", true);
    json_add(o, "l", json_strs(items, 2));
    json_push_str(json_member(o, "l"), "z");
    json_push_str(json_member(o, "l"), NULL);
    json_add(o, "a", NULL);
    json_add_str(o, "s", "u"); /* replaces */
    assert_string_equal(json_text(a, o, JSON_COMPACT),
                        "{\"s\":\"u\",\"i\":-9223372036854775808,\"b\":true,\"l\":[\"x\",\"y\","
                        "\"z\",\"\"],\"a\":null}");
    struct json_object *copy _cleanup_(json_putp) = json_copy(o);
    assert_true(json_equal(o, copy));
    json_add_int(copy, "i", 1);
    assert_false(json_equal(o, copy));
    assert_null(json_copy(NULL));
}

/* A text read from a member may be set on it again. */
static void json_default_str__member_is_there_or_not__returns_what_stands(void **state)
{
    (void)state;
    struct json_object *o = json_object_new_object();
    json_add_str(o, "tier", "STANDARD");
    json_add_int(o, "number", 3);
    assert_string_equal(json_default_str(o, "tier", "PREMIUM"), "STANDARD");
    assert_string_equal(json_default_str(o, "scheme", "EXTERNAL"), "EXTERNAL");
    assert_string_equal(json_default_str(o, "number", "none"), "none"); /* was no string */
    assert_string_equal(json_default_str(o, "scheme", json_str(o, "tier")), "EXTERNAL");
    assert_null(json_default_str(o, "absent", NULL));
    assert_null(json_member(o, "absent"));
    json_object_put(o);
}

static void json_share__edits__stay_in_the_copy(void **state)
{
    struct arena *a = *state;
    struct json_object *o = parse(a, "{\"s\":\"text\",\"o\":{\"n\":1.50,\"l\":[{\"i\":1},2]}}");
    struct json_object *copy _cleanup_(json_putp) = json_share(o);
    assert_true(json_equal(o, copy));
    assert_ptr_equal(json_member(copy, "s"), json_member(o, "s"));
    assert_ptr_not_equal(json_member(copy, "o"), json_member(o, "o"));
    json_add_str(copy, "s", "other");
    json_add_int(json_object_array_get_idx(json_path(copy, "o.l"), 0), "i", 2);
    json_object_array_del_idx(json_path(copy, "o.l"), 1, 1);
    assert_string_equal(json_text(a, copy, JSON_COMPACT),
                        "{\"s\":\"other\",\"o\":{\"n\":1.50,\"l\":[{\"i\":2}]}}");
    assert_string_equal(json_text(a, o, JSON_COMPACT),
                        "{\"s\":\"text\",\"o\":{\"n\":1.50,\"l\":[{\"i\":1},2]}}");
    assert_null(json_share(NULL));
}

/* However tight a container is, it takes more. */
static void json_slim__any_size__grows_again(void **state)
{
    struct arena *a = *state;
    for (int n = 0; n < 40; n++) {
        struct json_object *o _cleanup_(json_putp) = json_object_new_object();
        struct json_object *l _cleanup_(json_putp) = json_object_new_array();
        for (int i = 0; i < n; i++) {
            json_add_int(o, arena_printf(a, "m%d", i), i);
            json_push_str(l, "x");
        }
        json_slim(o);
        json_slim(l);
        for (int i = n; i < n + 40; i++) {
            json_add_int(o, arena_printf(a, "m%d", i), i);
            json_push_str(l, "x");
        }
        assert_int_equal(json_object_object_length(o), n + 40);
        assert_int_equal(json_len(l), n + 40);
        for (int i = 0; i < n + 40; i++) {
            assert_int_equal(json_int(o, arena_printf(a, "m%d", i), -1), i);
        }
    }
    json_slim(NULL);
}

/* Documents of a megabyte are kept as trees: what a tree takes beside its text
 * must stay bounded. */
static void json_parse__document_of_small_objects__takes_little_more_than_its_text(void **state)
{
    struct arena *a = *state;
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    for (int i = 0; i < 1000; i++) {
        str_appendf(&b, "%s{\"id\":\"%0200d\",\"properties\":{\"port\":{\"id\":\"%0200d\"}}}",
                    i == 0 ? "[" : ",", i, i);
    }
    str_append(&b, "]");
    size_t before = mallinfo2().uordblks;
    struct json_object *o = parse(a, str_buf_text(&b));
    struct json_object *copy _cleanup_(json_putp) = json_copy(o);
    size_t taken = mallinfo2().uordblks - before;
    assert_int_equal(json_len(o), 1000);
    assert_int_equal(json_len(copy), 1000);
    assert_in_range(taken / 2, 0,
                    4 * b.len); /* 2.9 of a tree and of its copy; 6.8 with json-c's reserve */
}

static void json_parse__shared_strings_and_names__one_object_each(void **state)
{
    (void)state;
    static const char *const names[] = {"id", "name"};
    const struct json_limits limits = {
        .share_strings = true, .names = names, .n_names = ARRAY_LEN(names)};
    const char *text = "[{\"id\":\"a\",\"other\":\"a\"},{\"id\":\"\",\"name\":\"b\"},\"a\"]";
    struct json_object *o = NULL;
    struct err err = ERR_INIT;
    assert_int_equal(json_parse(text, strlen(text), &limits, &o, &err), ERR_OK);
    struct json_object *first = json_object_array_get_idx(o, 0);
    struct json_object *a = json_object_array_get_idx(o, 2);
    assert_ptr_equal(json_member(first, "id"), a);
    assert_ptr_equal(json_member(first, "other"), a);
    struct json_object *copy = json_share(o); /* names last as long as the tree is held */
    json_clear(first);
    assert_int_equal(json_object_object_length(first), 0);
    json_object_put(o);
    struct arena *arena = arena_new();
    assert_string_equal(json_text(arena, copy, JSON_COMPACT), text);
    struct json_object *again = json_object_array_get_idx(copy, 0);
    assert_ptr_equal(lh_entry_k(json_object_get_object(again)->head), names[0]);
    arena_free(arena);
    json_object_put(copy);
}

static void json_equal__pairs__deep_and_by_value(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *a, *b;
        bool want;
    } rows[] = {
        {"1", "1.0", true},
        {"1", "1.5", false},
        {"1", "2", false},
        {"1.5", "1.5", true},
        {"1.5", "1.50", true},
        {"1.5", "1.25", false},
        {"-1", "18446744073709551615", false},
        {"18446744073709551615", "18446744073709551615", true},
        {"9223372036854775807", "9223372036854775808", false},
        {"9223372036854775807", "9223372036854775807.0", false}, /* the double is 2^63 */
        {"9223372036854775808", "9223372036854775808.0", true},
        {"-9223372036854775808", "-9223372036854775808.0", true},
        {"5", "1e300", false},
        {"5", "-1e300", false},
        {"-5", "-5.0", true},
        {"1", "\"1\"", false},
        {"true", "true", true},
        {"true", "false", false},
        {"null", "null", true},
        {"null", "0", false},
        {"\"a\"", "\"a\"", true},
        {"\"a\"", "\"b\"", false},
        {"\"a\"", "\"ab\"", false},
        {"[1,[2]]", "[1,[2.0]]", true},
        {"[1,2]", "[2,1]", false},
        {"[1]", "[1,2]", false},
        {"{\"a\":1,\"b\":{\"c\":null}}", "{\"b\":{\"c\":null},\"a\":1}", true},
        {"{\"a\":null}", "{}", false},
        {"{\"a\":null}", "{\"b\":null}", false},
        {"{\"a\":1}", "{\"a\":2}", false},
        {"{}", "[]", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct json_object *x = parse(a, rows[i].a);
        struct json_object *y = parse(a, rows[i].b);
        if (json_equal(x, y) != rows[i].want || json_equal(y, x) != rows[i].want) {
            fail_msg("%s and %s: want %d", rows[i].a, rows[i].b, rows[i].want);
        }
    }
}

static void json_print__styles__stable(void **state)
{
    struct arena *a = *state;
    struct json_object *o =
        parse(a, "{\"b\":[1,{\"d\":true,\"c\":[]}],\"a\":{},\"\xC3\xA9/\":\"\\u0001\"}");
    assert_string_equal(json_text(a, o, JSON_COMPACT),
                        "{\"b\":[1,{\"d\":true,\"c\":[]}],\"a\":{},\"\xC3\xA9/\":\"\\u0001\"}");
    assert_string_equal(json_text(a, o, JSON_SORTED),
                        "{\"a\":{},\"b\":[1,{\"c\":[],\"d\":true}],\"\xC3\xA9/\":\"\\u0001\"}");
    assert_string_equal(json_text(a, o, JSON_PRETTY),
                        "{\n  \"b\": [\n    1,\n    {\n      \"d\": true,\n"
                        "      \"c\": []\n    }\n  ],\n  \"a\": {},\n"
                        "  \"\xC3\xA9/\": \"\\u0001\"\n}");
    struct json_object *p = parse(a, "{\"b\":1,\"a\":[2]}");
    assert_string_equal(json_text(a, p, JSON_SORTED_PRETTY),
                        "{\n  \"a\": [\n    2\n  ],\n  \"b\": 1\n}");
    assert_string_equal(json_text(a, NULL, JSON_COMPACT), "null");
}

static void json_print__doubles__shortest_that_reads_back(void **state)
{
    struct arena *a = *state;
    static const struct {
        double d;
        const char *want;
    } rows[] = {
        {0.1, "0.1"},
        {0.8, "0.8"},
        {1.0 / 3, "0.3333333333333333"},
        {1000, "1000"},
        {-1.5, "-1.5"},
        {0.0, "0"},
        {-0.0, "-0"},
        {123456.789, "123456.789"},
        {1e20, "100000000000000000000"},
        {1e21, "1e+21"},
        {1.5e300, "1.5e+300"},
        {0.000001, "0.000001"},
        {0.00000012, "1.2e-7"},
        {5e-324, "5e-324"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {9007199254740993.0, "9007199254740992"},
        {2049638230412172399.0, "2049638230412172288"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct json_object *o _cleanup_(json_putp) = json_object_new_double(rows[i].d);
        assert_string_equal(json_text(a, o, JSON_COMPACT), rows[i].want);
        assert_true(strtod(rows[i].want, NULL) == rows[i].d);
    }
    struct json_object *inf _cleanup_(json_putp) = json_object_new_double(INFINITY);
    assert_string_equal(json_text(a, inf, JSON_COMPACT), "null");
    struct json_object *o = parse(a, "[1.500]");
    struct json_object *copy _cleanup_(json_putp) = json_copy(o);
    assert_string_equal(json_text(a, copy, JSON_COMPACT), "[1.500]");
    json_object_set_double(json_object_array_get_idx(o, 0), 2.5);
    assert_string_equal(json_text(a, o, JSON_COMPACT), "[2.5]");
}

UNIT_MAIN(json)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_members__wrong_types__count_as_absent),
        cmocka_unit_test(json_default_str__member_is_there_or_not__returns_what_stands),
        cmocka_unit_test(json_share__edits__stay_in_the_copy),
        cmocka_unit_test(json_slim__any_size__grows_again),
        cmocka_unit_test(json_parse__document_of_small_objects__takes_little_more_than_its_text),
        cmocka_unit_test(json_parse__shared_strings_and_names__one_object_each),
        cmocka_unit_test(json_int__forms_of_numbers__read_exactly),
        cmocka_unit_test(json_add__all_kinds__in_order),
        cmocka_unit_test(json_equal__pairs__deep_and_by_value),
        cmocka_unit_test(json_print__styles__stable),
        cmocka_unit_test(json_print__doubles__shortest_that_reads_back),
    };
    return cmocka_run_group_tests(tests, arena_setup, arena_teardown);
}
