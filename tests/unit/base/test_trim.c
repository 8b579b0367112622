/* SPDX-License-Identifier: Apache-2.0 */
/* test_trim.c: code that is taken out of memory after the start comes back when it runs. */
#include "tests/unit/base/base_test.h"

#include <stdio.h>
#include <string.h>

#include "common/base/str.h"
#include "common/base/trim.h"
#include "tests/support/unit.h"

/* Resident bytes of files, in KiB, as the kernel counts them. */
static long resident_files(void)
{
    char line[256];
    long kib = -1;
    FILE *f = fopen("/proc/self/status", "re");
    assert_non_null(f);
    while (fgets(line, sizeof line, f) != NULL) {
        if (strncmp(line, "RssFile:", 8) == 0) {
            kib = strtol(line + 8, NULL, 10);
        }
    }
    (void)fclose(f);
    assert_in_range(kib, 1, 1 << 30);
    return kib;
}

static void trim_after_start__code__gone_and_back(void **state)
{
    long before = resident_files();
    trim_after_start();
    assert_in_range(resident_files(), 1, before - 1);
    for (int i = 0; i < 3; i++) {
        trim_after_start();
        assert_string_equal(arena_printf(*state, "%d%s%.1f", i, "x", 0.5), i == 0   ? "0x0.5"
                                                                           : i == 1 ? "1x0.5"
                                                                                    : "2x0.5");
    }
}

UNIT_MAIN(trim)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trim_after_start__code__gone_and_back),
    };
    return cmocka_run_group_tests(tests, arena_setup, arena_teardown);
}
