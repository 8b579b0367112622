/* SPDX-License-Identifier: Apache-2.0 */
/* base_test.h: what the unit tests of common/base share: cmocka in the order it needs, an arena per
 * test, and files of recorded cases (one JSON object per line below tests/data/base). */
#ifndef TRIMTAB_TESTS_UNIT_BASE_TEST_H
#define TRIMTAB_TESTS_UNIT_BASE_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/data/json.h"

/* Checks a failure: the code, and that the text holds `part`. */
#define assert_refused(rc, err, want_code, part)                                                   \
    do {                                                                                           \
        assert_int_equal((rc), (want_code));                                                       \
        assert_int_equal((err)->code, (want_code));                                                \
        if (strstr((err)->message, (part)) == NULL) {                                              \
            fail_msg("want \"%s\" in \"%s\"", (part), (err)->message);                             \
        }                                                                                          \
    } while (0)

/* Success, and no text left behind (CONTRIBUTING.md). */
#define assert_fine(rc, err)                                                                       \
    do {                                                                                           \
        if ((rc) != ERR_OK) {                                                                      \
            fail_msg("refused: %s", (err)->message);                                               \
        }                                                                                          \
        assert_string_equal((err)->message, "");                                                   \
    } while (0)

/* Setup and teardown that put a fresh arena into *state. */
int arena_setup(void **state);
int arena_teardown(void **state);

/* Calls fn for each line of tests/data/base/NAME; returns the number of lines. */
typedef void (*vector_fn)(struct arena *a, struct json_object *line, void *arg);
int vectors_each(const char *name, vector_fn fn, void *arg);
/* A folder of its own below the build folder's temporary place; the test removes what
 * it makes there. */
char *scratch_dir(struct arena *a);

#endif
