/* SPDX-License-Identifier: Apache-2.0 */
/* test_cmd_wait.c: the line of progress fits the terminal and is not drawn all the time. */
#include "controller/cmd/cmd_wait.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/unit.h"

static void cmd_wait_line__narrow_terminals__only_the_name_is_cut(void **state)
{
    static const struct {
        const char *what;
        size_t done, all, columns;
        const char *want;
    } rows[] = {
        {"planning", 20, 1000, 80, "planning 20 of 1000, 3 s"},
        {"planning", 0, 0, 80, "planning, 3 s"},
        {"explaining demo/web", 0, 0, 24, "explaining demo/web, 3 s"},
        {"explaining demo/web", 0, 0, 23, "explaining demo/w…, 3 s"},
        {"explaining demo/caf\xC3\xA9-1", 0, 0, 23, "explaining demo/c…, 3 s"},
        {"caf\xC3\xA9\xC3\xA9\xC3\xA9", 0, 0, 10, "caf\xC3\xA9…, 3 s"},
        {"reading the cluster", 123456, 654321, 12, "… 123456 of 654321, 3 s"},
        {"reading the cluster", 0, 0, 0, "reading the cluster, 3 s"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
        cmd_wait_line(&b, rows[i].what, rows[i].done, rows[i].all, 3900, rows[i].columns);
        assert_string_equal(str_buf_text(&b), rows[i].want);
    }
}

static void cmd_wait_is_due__thousands_of_steps__two_lines_a_second(void **state)
{
    int64_t drawn_ms = 0;
    size_t n = 0;
    (void)state;
    for (int64_t now_ms = 0; now_ms < 10000; now_ms++) { /* a step a millisecond */
        if (cmd_wait_is_due(drawn_ms, now_ms)) {
            drawn_ms = now_ms;
            n++;
        }
    }
    assert_int_equal(n, 19);
}

UNIT_MAIN(cmd_wait)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cmd_wait_line__narrow_terminals__only_the_name_is_cut),
        cmocka_unit_test(cmd_wait_is_due__thousands_of_steps__two_lines_a_second),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
