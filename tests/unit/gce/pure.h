/* SPDX-License-Identifier: Apache-2.0 */
/* pure.h: what the tests of pure modules share: cmocka, an arena per test, resources from JSON
 * text. */
#ifndef TRIMTAB_TESTS_GCE_PURE_H
#define TRIMTAB_TESTS_GCE_PURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/base/str.h"
#include "common/data/json.h"
#include "tests/support/objects.h"

#include <string.h>

static inline int pure_setup(void **state)
{
    *state = arena_new();
    return 0;
}

static inline int pure_teardown(void **state)
{
    arena_free(*state);
    return 0;
}

#define PURE_TEST(fn) cmocka_unit_test_setup_teardown(fn, pure_setup, pure_teardown)

static inline struct json_object *pure_json(struct arena *a, const char *text)
{
    struct json_object *o = NULL;
    struct err err = ERR_INIT;
    if (json_parse_arena(a, text, strlen(text), NULL, &o, &err) != ERR_OK) {
        fail_msg("%s: %s", err.message, text);
    }
    return o;
}

/* Both values are shown, and the row. */
#define same_text(row, got, want)                                                                  \
    do {                                                                                           \
        const char *got_ = (got);                                                                  \
        const char *want_ = (want);                                                                \
        if (!str_eq(got_, want_)) {                                                                \
            fail_msg("%s: got %s, want %s", (row), got_ == NULL ? "(null)" : got_,                 \
                     want_ == NULL ? "(null)" : want_);                                            \
        }                                                                                          \
    } while (0)

#endif
