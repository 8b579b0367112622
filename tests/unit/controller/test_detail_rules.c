/* SPDX-License-Identifier: Apache-2.0 */
/* test_detail_rules.c: what the log says of an operation (detail_rules.h). */
#include "controller/rules/detail_rules.h"
#include "tests/support/unit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define LONG "0123456789012345678901234567890123456789012345678901234567890123456789"

static void detail__of_an_operation__names_ports_ranges_and_values(void **state)
{
    (void)state;
    static const struct {
        const char *want, *summary;
        struct tt_field fields[6];
        uint32_t verb; /* 0: TT_OP_CREATE */
    } cases[] = {
        {"", NULL, {{NULL}}},
        {"TCP 80 → pool", "TCP 80 → pool", {{"port", NULL, "80"}}},
        {"attributes: idle: 60 → 120", "attributes", {{"idle", "60", "120"}}, TT_OP_CHANGE},
        {"2 rules differ", "2 rules differ", {{NULL}}, TT_OP_CHANGE},
        {"idle: 60 → 120, cross: false → true",
         NULL,
         {{"idle", "60", "120"}, {"cross", "false", "true"}}},
        {"ingress + tcp 80 from 192.0.2.0/24, - tcp 80 from 0.0.0.0/0",
         NULL,
         {{"ingress", NULL, "tcp 80 from 192.0.2.0/24"},
          {"ingress", "tcp 80 from 0.0.0.0/0", NULL}}},
        {"tags + a, + b, + c, + d and 1 more",
         NULL,
         {{"tags", NULL, "a"},
          {"tags", NULL, "b"},
          {"tags", NULL, "c"},
          {"tags", NULL, "d"},
          {"tags", NULL, "e"}}},
        {"x + 012345678901234567890123456789012345678901234567890123456789…",
         NULL,
         {{"x", NULL, LONG}}},
        {"x + 01234567890123456789012345678901234567890123456789012345678…",
         NULL,
         {{"x", NULL, "01234567890123456789012345678901234567890123456789012345678éé"}}},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct tt_operation op = {.size = sizeof(op), .summary = cases[i].summary};
        op.verb = cases[i].verb != 0 ? cases[i].verb : TT_OP_CREATE;
        op.fields = cases[i].fields;
        while (op.n_fields < ARRAY_LEN(cases[i].fields) &&
               cases[i].fields[op.n_fields].path != NULL) {
            op.n_fields++;
        }
        struct str_buf b = STR_BUF_INIT;
        detail_append(&b, &op);
        assert_string_equal(str_buf_text(&b), cases[i].want);
        str_buf_done(&b);
    }
}

UNIT_MAIN(detail_rules)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(detail__of_an_operation__names_ports_ranges_and_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
