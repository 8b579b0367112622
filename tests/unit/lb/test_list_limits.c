/* SPDX-License-Identifier: Apache-2.0 */
/* test_list_limits.c: when a list is said to be longer than its cloud takes (list_limits.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/str.h"
#include "common/lb/list_limits.h"
#include "tests/support/unit.h"

#define NEEDS_61                                                                                   \
    "g needs 61 rules; the default quota is 60, and X refuses more unless it was raised"
#define NEEDS_101 "g needs 101 rules; the limit is 100 for every account, and X refuses more"
#define FIXED_61  "g needs 61 rules; the limit is 60 for every account, and X refuses more"
#define NEEDS_200                                                                                  \
    "g needs 200 rules; the default quota is 60, and X refuses more unless it was raised"

static void limit__told_where_more_is_needed_than_is_known_to_be_taken(void **state)
{
    (void)state;
    static const struct {
        size_t is, then;
        bool adjustable;
        size_t ever;
        const char *want; /* NULL: nothing */
    } rows[] = {
        {0, 60, true, 100, NULL},
        {0, 61, true, 100, NEEDS_61},
        {60, 61, true, 100, NEEDS_61},
        {61, 62, true, 100, NULL}, /* it was raised */
        {61, 61, true, 100, NULL}, /* nothing comes */
        {70, 61, true, 100, NULL}, /* it shrinks */
        {61, 101, true, 100, NEEDS_101},
        {101, 101, true, 100, NULL}, /* and the page that says so is old */
        {0, 200, true, 0, NEEDS_200},
        {61, 200, true, 0, NULL},
        {0, 61, false, 0, FIXED_61},
        {0, 60, false, 0, NULL},
    };
    _cleanup_(arena_freep) struct arena *a = arena_new();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct lb_limit limit = {.list = "rules",
                                       .most = 60,
                                       .adjustable = rows[i].adjustable,
                                       .ever = rows[i].ever,
                                       .beyond = "X refuses more"};
        const char *got = lb_limit_text(a, &limit, "g", rows[i].is, rows[i].then);
        if (!str_eq(got, rows[i].want)) {
            fail_msg("row %zu: \"%s\", want \"%s\"", i, str_nonnull(got),
                     str_nonnull(rows[i].want));
        }
    }
}

UNIT_MAIN(list_limits)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limit__told_where_more_is_needed_than_is_known_to_be_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
