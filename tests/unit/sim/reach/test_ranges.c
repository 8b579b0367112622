/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of sim/reach/ranges.c: sets of client addresses, printed as the fewest networks. */
#include "tests/unit/sim/reach/reach_test.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/attr.h"
#include "common/base/clock.h"
#include "common/base/str.h"

/* "10.0.0.0/8 ::/0" → a set. */
static struct reach_ranges set_of(struct arena *a, const char *words)
{
    struct reach_ranges all = REACH_NOBODY;
    char *text = arena_strdup(a, words);
    for (char *save = NULL, *w = strtok_r(text, " ", &save); w != NULL;
         w = strtok_r(NULL, " ", &save)) {
        all = reach_ranges_or(a, all, reach_ranges_of(a, w));
    }
    return all;
}

static const char *words_of(struct arena *a, struct reach_ranges x)
{
    struct json_object *list = reach_ranges_json(x);
    struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < json_len(list); i++) {
        str_appendf(&b, "%s%s", i > 0 ? " " : "",
                    json_object_get_string(json_object_array_get_idx(list, i)));
    }
    const char *text = str_buf_to_arena(&b, a);
    str_buf_done(&b);
    json_object_put(list);
    return text;
}

static void algebra(void **state)
{
    (void)state;
    static const struct {
        const char *x, *y, *either, *both, *minus;
    } rows[] = {
        {"", "", "", "", ""},
        {"0.0.0.0/0", "", "0.0.0.0/0", "", "0.0.0.0/0"},
        {"10.0.0.0/9", "10.128.0.0/9", "10.0.0.0/8", "", "10.0.0.0/9"},
        {"10.0.0.0/8", "10.1.0.0/16", "10.0.0.0/8", "10.1.0.0/16",
         "10.0.0.0/16 10.2.0.0/15 10.4.0.0/14 10.8.0.0/13 10.16.0.0/12 10.32.0.0/11 10.64.0.0/10 "
         "10.128.0.0/9"},
        {"10.0.0.0/31", "10.0.0.1", "10.0.0.0/31", "10.0.0.1/32", "10.0.0.0/32"},
        {"10.0.0.1 10.0.0.2", "10.0.0.0/30", "10.0.0.0/30", "10.0.0.1/32 10.0.0.2/32", ""},
        {"0.0.0.0/0 ::/0", "::/0", "0.0.0.0/0 ::/0", "::/0", "0.0.0.0/0"},
        {"2001:db8::/32", "2001:db8:8000::/33", "2001:db8::/32", "2001:db8:8000::/33",
         "2001:db8::/33"},
        {"255.255.255.255", "255.255.255.254", "255.255.255.254/31", "", "255.255.255.255/32"},
        {"0.0.0.0/0", "0.0.0.0 255.255.255.255/32", "0.0.0.0/0", "0.0.0.0/32 255.255.255.255/32",
         NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct arena *a = arena_new();
        struct reach_ranges x = set_of(a, rows[i].x);
        struct reach_ranges y = set_of(a, rows[i].y);
        struct reach_ranges minus = reach_ranges_minus(a, x, y);
        assert_string_equal(words_of(a, reach_ranges_or(a, x, y)), rows[i].either);
        assert_string_equal(words_of(a, reach_ranges_and(a, x, y)), rows[i].both);
        if (rows[i].minus != NULL) {
            assert_string_equal(words_of(a, minus), rows[i].minus);
        }
        assert_true(reach_ranges_equal(x, reach_ranges_or(a, minus, reach_ranges_and(a, x, y))));
        arena_free(a);
    }
}

static void texts(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    assert_true(reach_ranges_empty(reach_ranges_of(a, "nonsense")));
    assert_true(reach_ranges_empty(reach_ranges_of(a, NULL)));
    assert_string_equal(words_of(a, reach_ranges_all(a, true, true)), "0.0.0.0/0 ::/0");
    assert_string_equal(words_of(a, reach_ranges_all(a, false, true)), "::/0");
    assert_string_equal(words_of(a, reach_ranges_family(a, set_of(a, "10.0.0.0/8 ::1"), true)),
                        "::1/128");
    assert_true(reach_ranges_within(a, set_of(a, "10.1.0.0/16"), set_of(a, "10.0.0.0/8")));
    assert_false(reach_ranges_within(a, set_of(a, "10.0.0.0/8"), set_of(a, "10.1.0.0/16")));
    struct json_object *list = json_strs((const char *[]){"10.0.0.0/9", "10.128.0.0/9"}, 2);
    assert_string_equal(words_of(a, reach_ranges_of_list(a, list)), "10.0.0.0/8");
    json_object_put(list);
    arena_free(a);
}

/* A set as a bit for each of the last 64 addresses of IPv4 or the first of IPv6: another way
 * to the same answers. */
static struct reach_ranges of_bits(struct arena *a, uint64_t bits)
{
    struct reach_ranges all = REACH_NOBODY;
    for (unsigned i = 0; i < 64; i++) {
        if ((bits >> i & 1) != 0) {
            const char *text = i < 32 ? arena_printf(a, "255.255.255.%u", 224 + i)
                                      : arena_printf(a, "::%x", i - 32);
            all = reach_ranges_or(a, all, reach_ranges_of(a, text));
        }
    }
    return all;
}

static void random_sets(void **state)
{
    (void)state;
    struct rng *rng = rng_seeded_new(1);
    for (int i = 0; i < 300; i++) {
        struct arena *a = arena_new();
        uint64_t p = rng_u64(rng) & rng_u64(rng);
        uint64_t q = rng_u64(rng) | rng_u64(rng);
        struct reach_ranges x = of_bits(a, p);
        struct reach_ranges y = of_bits(a, q);
        assert_true(reach_ranges_equal(reach_ranges_or(a, x, y), of_bits(a, p | q)));
        assert_true(reach_ranges_equal(reach_ranges_and(a, x, y), of_bits(a, p & q)));
        assert_true(reach_ranges_equal(reach_ranges_minus(a, x, y), of_bits(a, p & ~q)));
        assert_true(reach_ranges_equal(reach_ranges_minus(a, y, x), of_bits(a, q & ~p)));
        assert_true(reach_ranges_equal(set_of(a, words_of(a, x)), x));
        arena_free(a);
    }
    rng_free(rng);
}

UNIT_MAIN(ranges)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(algebra),
        cmocka_unit_test(texts),
        cmocka_unit_test(random_sets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
