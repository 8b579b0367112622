/* SPDX-License-Identifier: Apache-2.0 */
/* test_findings.c: which keys are slips, and which texts mean a private load balancer
 * (common/lb/findings.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "common/base/str.h"
#include "common/lb/findings.h"
#include "tests/support/unit.h"

#define OURS "service.beta.kubernetes.io/x-"

static const struct lb_annotation_keys keys = {
    .prefixes = (const char *const[]){OURS, "service.beta.kubernetes.io/", NULL},
    .known = (const char *const[]){OURS "internal", OURS "type",
                                   "service.beta.kubernetes.io/port_<port>_no_rule", NULL},
    .others = (const char *const[]){OURS "name", OURS "listen.*", NULL},
};

static void meant__is_a_slip_of_a_known_key_only(void **state)
{
    (void)state;
    static const struct {
        const char *key, *want; /* NULL: no slip */
    } rows[] = {
        {OURS "internal", NULL},
        {OURS "internl", OURS "internal"},
        {OURS "Internal", OURS "internal"},
        {"service.beta.kubernetes.io/xinternal", OURS "internal"}, /* by the wider prefix */
        {OURS "tipe", OURS "type"},
        {OURS "name", NULL}, /* another program's, however near */
        {OURS "listen.80", NULL},
        {OURS "anything", NULL},
        {"other.io/internl", NULL},
        {"other.io/x-internal", NULL},
        {"service.beta.kuberntes.io/x-internal", OURS "internal"},
        {"service.kubernetes.io/x-internal", OURS "internal"}, /* a label too few */
        {OURS "Internal_", OURS "internal"},
        {"service.beta.kubernetes.io/prt_80_no_rule", "service.beta.kubernetes.io/port_80_no_rule"},
        {"service.beta.kubernetes.io/port_80_no_rule", NULL},
        {"service.beta.kubernetes.io/port_80_no_rul", "service.beta.kubernetes.io/port_80_no_rule"},
    };
    _cleanup_(arena_freep) struct arena *a = arena_new();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *got = lb_annotation_meant(a, &keys, rows[i].key);
        if (!str_eq(got, rows[i].want)) {
            fail_msg("%s: %s, want %s", rows[i].key, str_or(got, "-"), str_or(rows[i].want, "-"));
        }
    }
}

static void private__a_yes_or_a_slip_of_one(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool want;
    } rows[] = {
        {"true", true},    {"ture", true},      {" true", true}, {"TRUE", true},
        {"yes", true},     {"internl", true},   {"1", true},     {"false", false},
        {"flase", false},  {"", false},         {"no", false},   {"external", false},
        {"2", false},      {"externl", false},  {"x", false},    {NULL, false},
        {"enabled", true}, {"disabled", false}, {"tru", true},   {"anything", false},
    };
    _cleanup_(arena_freep) struct arena *a = arena_new();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (lb_text_means_private(a, rows[i].text) != rows[i].want) {
            fail_msg("\"%s\"", str_nonnull(rows[i].text));
        }
    }
}

static void value__long_ones_are_cut_between_characters(void **state)
{
    (void)state;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    for (int i = 0; i < 60; i++) {
        str_append(&b, "ä");
    }
    const char *shown = lb_finding_value(a, str_buf_text(&b));
    assert_true(strlen(shown) <= 100);
    assert_true(str_is_utf8(shown, strlen(shown)));
    assert_string_equal(lb_finding_value(a, "short"), "short");
    assert_string_equal(lb_finding_value(a, NULL), "");
}

UNIT_MAIN(findings)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(meant__is_a_slip_of_a_known_key_only),
        cmocka_unit_test(private__a_yes_or_a_slip_of_one),
        cmocka_unit_test(value__long_ones_are_cut_between_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
