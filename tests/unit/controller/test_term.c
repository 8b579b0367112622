/* SPDX-License-Identifier: Apache-2.0 */
/* test_term.c: what a terminal can do, by what is known of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/attr.h"
#include "controller/base/term.h"
#include "tests/support/unit.h"

static void term_decide__what_is_known__colour_moves_width(void **state)
{
    static const struct {
        const char *name;
        struct term_facts facts;
        struct term want;
    } rows[] = {
        {"a pipe has none of it",
         {.term = "xterm", .columns = "60", .width = 60},
         {.color = false, .moves = false, .columns = 0}},
        {"a terminal", {.is_terminal = true, .term = "xterm", .width = 120}, {true, true, 120}},
        {"NO_COLOR",
         {.is_terminal = true, .term = "xterm", .no_color = "1", .width = 80},
         {false, true, 80}},
        {"empty NO_COLOR",
         {.is_terminal = true, .term = "xterm", .no_color = "", .width = 80},
         {true, true, 80}},
        {"--no-color",
         {.is_terminal = true, .term = "xterm", .wants_no_color = true, .width = 80},
         {false, true, 80}},
        {"dumb", {.is_terminal = true, .term = "dumb", .width = 80}, {false, false, 80}},
        {"no TERM", {.is_terminal = true, .width = 80}, {false, false, 80}},
        {"empty TERM", {.is_terminal = true, .term = "", .width = 80}, {false, false, 80}},
        {"COLUMNS counts first",
         {.is_terminal = true, .term = "x", .columns = "66", .width = 80},
         {true, true, 66}},
        {"COLUMNS that is none",
         {.is_terminal = true, .term = "x", .columns = "wide", .width = 80},
         {true, true, 80}},
        {"COLUMNS of 0",
         {.is_terminal = true, .term = "x", .columns = "0", .width = 80},
         {true, true, 80}},
        {"unknown width", {.is_terminal = true, .term = "x"}, {true, true, 100}},
        {"too narrow", {.is_terminal = true, .term = "x", .width = 12}, {true, true, 40}},
        {"COLUMNS too narrow",
         {.is_terminal = true, .term = "x", .columns = "3"},
         {true, true, 40}},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct term t = term_decide(&rows[i].facts);
        if (t.color != rows[i].want.color || t.moves != rows[i].want.moves ||
            t.columns != rows[i].want.columns) {
            fail_msg("%s: color %d moves %d columns %zu", rows[i].name, t.color, t.moves,
                     t.columns);
        }
    }
}

UNIT_MAIN(term)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(term_decide__what_is_known__colour_moves_width)};
    return cmocka_run_group_tests_name("term", tests, NULL, NULL);
}
