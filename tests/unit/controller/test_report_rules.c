/* SPDX-License-Identifier: Apache-2.0 */
/* test_report_rules.c: the texts of condition and annotations: bounded, and what each
 * result code becomes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "common/base/str.h"
#include "controller/rules/report_rules.h"
#include "tests/support/unit.h"

#define T0 INT64_C(1767323045000000) /* 2026-01-02T03:04:05Z */

static int set_up(void **state)
{
    *state = arena_new();
    return 0;
}

static int tear_down(void **state)
{
    arena_free(*state);
    return 0;
}

static void condition__each_code__status_and_reason(void **state)
{
    static const struct {
        int32_t code;
        bool has_address;
        const char *status, *reason;
    } rows[] = {
        {TT_OK, true, "True", "Ready"},
        {TT_OK, false, "True", "Ready"},
        {TT_INVALID, true, "False", "InvalidSpec"},
        {TT_QUOTA, true, "False", "QuotaExceeded"},
        {TT_FORBIDDEN, true, "False", "Forbidden"},
        {TT_BUG, true, "False", "InternalError"},
        {TT_THROTTLED, true, "Unknown", "Throttled"},
        {TT_THROTTLED, false, "False", "Throttled"},
        {TT_TRANSIENT, true, "Unknown", "CloudError"},
        {TT_TRANSIENT, false, "False", "CloudError"},
        {TT_AUTH, true, "Unknown", "AuthenticationFailed"},
        {TT_CONFLICT, true, "Unknown", "Conflict"},
        {TT_EXISTS, false, "False", "Conflict"},
        {TT_IN_PROGRESS, false, "Unknown", "Provisioning"},
        {TT_IN_PROGRESS, true, "Unknown", "Provisioning"},
        {999, true, "False", "InternalError"},
        {-1, true, "False", "InternalError"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct report_outcome o = {.code = rows[i].code,
                                         .message = "why",
                                         .has_address = rows[i].has_address,
                                         .generation = 7};
        struct tt_condition c = report_condition(*state, &o);
        if (!str_eq(c.status, rows[i].status) || !str_eq(c.reason, rows[i].reason)) {
            fail_msg("row %zu: %s %s", i, c.status, c.reason);
        }
        assert_string_equal("trimtab.io/LoadBalancerReady", c.type);
        assert_int_equal(7, c.observed_generation);
        assert_string_equal(
            rows[i].code == TT_OK ? "The load balancer is as the Service asks" : "why", c.message);
    }
}

static void condition__stays_until_it_is_handed_over__unknown(void **state)
{
    const struct report_outcome good = {.has_address = true, .stays = true, .message = ""};
    const struct report_outcome bad = {.code = TT_QUOTA, .stays = true, .message = "full"};

    assert_string_equal("Unknown", report_condition(*state, &good).status);
    assert_string_equal("NotHandedOver", report_condition(*state, &good).reason);
    assert_string_equal("QuotaExceeded", report_condition(*state, &bad).reason);
}

static void cut__long_text__ends_at_a_character_and_says_so(void **state)
{
    assert_string_equal("abcde", report_cut(*state, "abcde", 5));
    assert_string_equal("ab…", report_cut(*state, "abcdef", 5));
    /* ü has two bytes: the cut may not fall between them */
    const char *cut = report_cut(*state, "aüüüü", 7);
    assert_string_equal("aü…", cut);
    assert_true(str_is_utf8(cut, strlen(cut)));
}

static void condition__long_message__is_cut(void **state)
{
    char text[3000];

    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    const struct report_outcome o = {.code = TT_QUOTA, .message = text};
    assert_int_equal(REPORT_TEXT_MAX, strlen(report_condition(*state, &o).message));
    assert_int_equal(REPORT_TEXT_MAX,
                     strlen(report_last_error(*state, NULL, text, T0, T0 + 5000000)));
}

static void last_error__since__stays_as_long_as_it_stands(void **state)
{
    const char *first = report_last_error(*state, NULL, "no quota", T0, T0 + 5000000);
    assert_string_equal("since 2026-01-02T03:04:05Z, next try 2026-01-02T03:04:10Z: no quota",
                        first);
    assert_string_equal(
        "since 2026-01-02T03:04:05Z, next try 2026-01-02T03:05:05Z: forbidden",
        report_last_error(*state, first, "forbidden", T0 + 50000000, T0 + 60000000));
    /* what another program wrote there is not a time of ours */
    static const char *const others[] = {"", "since", "since yesterday",
                                         "since 2026-13-41T99:99:99Z, x", "since 2026-01-02T03:04"};
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        assert_string_equal(first,
                            report_last_error(*state, others[i], "no quota", T0, T0 + 5000000));
    }
}

static void last_plan__operations__in_order_and_bounded(void **state)
{
    const struct tt_operation ops[] = {
        {.size = sizeof(ops[0]), .verb = TT_OP_CREATE, .kind = "address", .name = "a1"},
        {.size = sizeof(ops[0]), .verb = TT_OP_CHANGE, .kind = "firewall", .name = "k8s-fw-a1"},
        {.size = sizeof(ops[0]), .verb = TT_OP_DELETE, .kind = "address", .name = "a1"},
    };
    struct report_plan p = {.create = 1, .change = 1, .delete = 1};
    for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
        p.operations = report_add_operation(*state, p.operations, &ops[i]);
    }
    assert_string_equal("at 2026-01-02T03:04:05Z: 1 to create, 1 to change, 1 to delete: + address "
                        "a1; ~ firewall k8s-fw-a1; - address a1",
                        report_last_plan(*state, &p, T0));
    for (size_t i = 0; i < 1000; i++) {
        p.operations = report_add_operation(*state, p.operations, &ops[i % 3]);
    }
    const char *text = report_last_plan(*state, &p, T0);
    assert_true(strlen(text) <= REPORT_TEXT_MAX);
    assert_string_equal("; …", text + strlen(text) - strlen("; …"));
}

UNIT_MAIN(report_rules)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(condition__each_code__status_and_reason, set_up, tear_down),
        cmocka_unit_test_setup_teardown(condition__stays_until_it_is_handed_over__unknown, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(cut__long_text__ends_at_a_character_and_says_so, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(condition__long_message__is_cut, set_up, tear_down),
        cmocka_unit_test_setup_teardown(last_error__since__stays_as_long_as_it_stands, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(last_plan__operations__in_order_and_bounded, set_up,
                                        tear_down),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
