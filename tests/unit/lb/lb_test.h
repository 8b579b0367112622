/* SPDX-License-Identifier: Apache-2.0 */
/* lb_test.h: what the tests of common/lb share: cmocka, one arena per test, short lists.
 *
 * Included by test programs only; everything is static so that each program is whole by itself. */
#ifndef TRIMTAB_TESTS_UNIT_LB_TEST_H
#define TRIMTAB_TESTS_UNIT_LB_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/arena.h"

static inline int arena_setup(void **state)
{
    *state = arena_new();
    return 0;
}

static inline int arena_teardown(void **state)
{
    arena_free(*state);
    return 0;
}

#define lb_test(name) cmocka_unit_test_setup_teardown(name, arena_setup, arena_teardown)

/* An array of texts and its length, as two initialisers:
 * LIST(.ip_families, .n_ip_families, "IPv4"). */
#define LIST(items_member, count_member, ...)                                                      \
    items_member = (const char *const[]){__VA_ARGS__},                                             \
    count_member = sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *)

#endif
