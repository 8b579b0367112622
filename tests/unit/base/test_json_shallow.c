/* SPDX-License-Identifier: Apache-2.0 */
/* test_json_shallow.c: what is nested too deep goes, and nothing else. */
#include "tests/unit/base/base_test.h"

#include <string.h>

#include "common/data/json_shallow.h"
#include "tests/support/unit.h"

static void json_shallow__rows__deep_containers_become_zero(void **state)
{
    static const struct {
        const char *text;
        size_t depth;
        const char *want;
    } rows[] = {
        {"", 1, ""},
        {"7", 1, "7"},
        {"{}", 1, "{}"},
        {"{}", 0, "0"},
        {"[[],{}]", 1, "[0,0]"},
        {"[[],{}]", 2, "[[],{}]"},
        {"{\"a\":{\"b\":{\"c\":[1,{\"d\":2}]}},\"e\":[[[3]]]}", 2, "{\"a\":{\"b\":0},\"e\":[0]}"},
        {"[\"[[[\",\"\\\"[\",[\"]\\\\\",[]],4]", 1, "[\"[[[\",\"\\\"[\",0,4]"},
        {"[\"a\\u0000b\",{\"\\u0000\":1}]", 2, "[\"a\\ufffdb\",{\"\\ufffd\":1}]"},
        {"[\"\\\\u0000\",\"\\\\\\u0000\"]", 1, "[\"\\\\u0000\",\"\\\\\\ufffd\"]"},
        {"\"\\u000", 1, "\"\\u000"},
        {"[[[", 2, "[[0"}, /* no JSON before, none after */
        {"]]]", 1, "]]]"},
        {"[[\"\\", 1, "[0"},
        {"\"[[[", 1, "\"[[["},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct arena *a = arena_new();
        size_t n = strlen(rows[i].text);
        char *exact = xmalloc(n + 1); /* AddressSanitizer sees a step too far */
        memcpy(exact, rows[i].text, n);
        const char *got = json_shallow(a, exact, &n, rows[i].depth);
        assert_int_equal(n, strlen(rows[i].want));
        assert_memory_equal(got, rows[i].want, n);
        free(exact);
        arena_free(a);
    }
    (void)state;
}

static void json_shallow__a_million_levels__no_stack_is_needed(void **state)
{
    struct arena *a = arena_new();
    size_t levels = 1000000;
    size_t n = 2 * levels;
    char *text = xmalloc(n);
    memset(text, '[', levels);
    memset(text + levels, ']', levels);
    const char *got = json_shallow(a, text, &n, 3);
    assert_int_equal(n, 7);
    assert_memory_equal(got, "[[[0]]]", n);
    free(text);
    arena_free(a);
    (void)state;
}

UNIT_MAIN(json_shallow)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_shallow__rows__deep_containers_become_zero),
        cmocka_unit_test(json_shallow__a_million_levels__no_stack_is_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
