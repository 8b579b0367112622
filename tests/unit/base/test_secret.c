/* SPDX-License-Identifier: Apache-2.0 */
/* test_secret.c: a secret's bytes are overwritten. */
#include "tests/support/unit.h"

#include "common/base/arena.h"
#include "common/base/secret.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void wipe__any_text__leaves_only_nuls(void **state)
{
    (void)state;
    char text[] = "hush";
    static const char none[sizeof text];
    secret_wipe(text);
    assert_memory_equal(text, none, sizeof text);
    secret_wipe(NULL);
    secret_free(NULL);
}

static void set__another_text__is_a_copy(void **state)
{
    (void)state;
    char *slot = NULL;
    char text[] = "first";
    secret_set(&slot, text);
    text[0] = 'F';
    assert_string_equal(slot, "first");
    secret_set(&slot, "second");
    assert_string_equal(slot, "second");
    secret_set(&slot, NULL);
    assert_null(slot);
}

UNIT_MAIN(secret)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wipe__any_text__leaves_only_nuls),
        cmocka_unit_test(set__another_text__is_a_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
