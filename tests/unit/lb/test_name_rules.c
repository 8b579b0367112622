/* SPDX-License-Identifier: Apache-2.0 */
/* test_name_rules.c: names against patterns, and how strict the check is. */
#include "tests/unit/lb/lb_test.h"

#include "common/base/str.h"
#include "common/lb/name_rules.h"
#include "common/lb/service_rules.h"
#include "tests/support/unit.h"

static const struct name_rule subnet = {
    "the name of a subnet", "a to z, digits, '-'", 1, 8, "a-z", "a-z0-9-", "a-z0-9", false};
static const struct name_rule group = {
    "the name of a group", "letters", 2, 4, "a-z_", "a-z_.", "a-z_", true};

static void name_rule__texts__as_the_pattern_says(void **state)
{
    (void)state;
    static const struct {
        const struct name_rule *r;
        const char *text;
        bool holds;
    } rows[] = {
        {&subnet, NULL, false},        {&subnet, "", false},
        {&subnet, "a", true},          {&subnet, "a-1", true},
        {&subnet, "1a", false},        {&subnet, "a-", false},
        {&subnet, "-a", false},        {&subnet, "a-------", false},
        {&subnet, "a------z", true},   {&subnet, "a------zz", false},
        {&subnet, "a.b", false},       {&subnet, "a/b", false},
        {&subnet, "\xc3\xa4", false},  {&group, "a", false},
        {&group, "a.b", true},         {&group, "a.", false},
        {&group, "gr\xc3\xbcn", true}, {&group, "\xc3\xbc\xc3\xbc", true},
        {&group, "gr\xc3", false},     {&group, "a\xe2\x80\xae", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        print_message("# row %zu\n", i);
        assert_int_equal(name_rule_holds(rows[i].r, rows[i].text), rows[i].holds);
    }
}

#define KEY "example/subnet"
static const struct tt_ingress address = {.ip = "192.0.2.1"};

static struct tt_service with(const char *value, bool stands, struct tt_kv *kv)
{
    *kv = (struct tt_kv){KEY, value};
    return (struct tt_service){.annotations = kv,
                               .n_annotations = 1,
                               .ingress = stands ? &address : NULL,
                               .n_ingress = stands};
}

static void annotation_state__stands_only_unchanged_with_an_address_or_finalizer(void **state)
{
    (void)state;
    static const struct {
        bool stands;
        const char *before; /* NULL: not seen before */
        enum name_state want;
    } rows[] = {
        {false, NULL, NAME_IS_NEW},  {false, "same", NAME_IS_NEW}, {true, NULL, NAME_STANDS},
        {true, "same", NAME_STANDS}, {true, "other", NAME_IS_NEW},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct tt_kv now_kv;
        struct tt_kv before_kv;
        const struct tt_service now = with("same", rows[i].stands, &now_kv);
        const struct tt_service before = with(rows[i].before, true, &before_kv);
        assert_int_equal(svc_annotation_state(&now, rows[i].before == NULL ? NULL : &before, KEY),
                         rows[i].want);
        static const char *const finalizers[] = {LB_CLEANUP_FINALIZER};
        struct tt_service wiped = now;
        wiped.n_ingress = 0;
        wiped.finalizers = finalizers;
        wiped.n_finalizers = rows[i].stands;
        assert_int_equal(svc_annotation_state(&wiped, rows[i].before == NULL ? NULL : &before, KEY),
                         rows[i].want);
    }
}

static void name_check__new_and_standing__sentences(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum name_state state;
        const char *message; /* NULL: it passes */
    } rows[] = {
        {"a-1", NAME_IS_NEW, NULL},
        {"A_1", NAME_STANDS, NULL},
        {"my subnet (1)", NAME_STANDS, NULL},
        {"A_1", NAME_IS_NEW, "field: \"A_1\": want the name of a subnet (a to z, digits, '-')"},
        {"a/../b", NAME_STANDS,
         "field: \"a/../b\": want the name of a subnet (a to z, digits, '-'); it holds '/'"},
        {"..", NAME_STANDS,
         "field: \"..\": want the name of a subnet (a to z, digits, '-'); it is a dot segment"},
        {"a?b", NAME_IS_NEW,
         "field: \"a?b\": want the name of a subnet (a to z, digits, '-'); it holds '?'"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = ERR_INIT;
        int rc = name_check(&subnet, "field", rows[i].text, rows[i].state, &err);
        assert_int_equal(rc, rows[i].message == NULL ? ERR_OK : ERR_INVALID);
        assert_string_equal(err.message, str_nonnull(rows[i].message));
    }
}

/* On a load balancer that trimtab made, an odd name came with an edit, whether or not a
 * process saw it. */
static void names_check__of_what_was_made_here__by_the_pattern(void **state)
{
    (void)state;
    static const struct name_field field = {.key = "x/subnet", .rule = &subnet};
    static const struct name_fields all = {.fields = &field, .n = 1};
    static const struct {
        const char *mark;
        int code;
    } rows[] = {{NULL, ERR_OK},
                {"uid-1 192.0.2.1", ERR_INVALID},
                {"uid-1 192.0.2.1 edited", ERR_OK},
                {"uid-1 192.0.2.2", ERR_OK}};
    struct arena *a = arena_new();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct tt_kv notes[] = {{LB_MARK_ANNOTATION, rows[i].mark}, {"x/subnet", "Odd"}};
        const struct tt_service s = {.size = sizeof(s),
                                     .uid = "uid-1",
                                     .annotations = rows[i].mark != NULL ? notes : notes + 1,
                                     .n_annotations = rows[i].mark != NULL ? 2 : 1,
                                     .has_annotations = 1,
                                     .ingress = &address,
                                     .n_ingress = 1};
        struct err err = ERR_INIT;
        assert_int_equal(names_check(a, &all, &s, NULL, &err), rows[i].code);
    }
    arena_free(a);
}

/* A text that a provider sends as it is written is judged as it is written. */
static void names_check__literal_and_lone__pieces_that_count(void **state)
{
    (void)state;
    static const struct name_field literal = {.key = KEY, .rule = &subnet, .literal = true};
    static const struct name_field trimmed = {.key = KEY, .rule = &subnet};
    static const struct name_field pairs = {.key = KEY, .rule = &subnet, .separator = '='};
    static const struct name_field lone = {
        .key = KEY, .rule = &subnet, .separator = '=', .lone = true};
    static const struct {
        const struct name_field *field;
        const char *value;
        int code;
    } rows[] = {
        {&trimmed, "a ", ERR_OK},         {&literal, "a ", ERR_INVALID},
        {&trimmed, "a\n", ERR_OK},        {&literal, "a\n", ERR_INVALID},
        {&trimmed, "  ", ERR_OK},         {&literal, "  ", ERR_INVALID},
        {&trimmed, "", ERR_OK},           {&literal, "", ERR_OK},
        {&literal, "a", ERR_OK},          {&pairs, "a=1, Odd", ERR_OK},
        {&lone, "a=1, Odd", ERR_INVALID}, {&lone, "a=1, b ,", ERR_OK},
        {&pairs, "Odd=1", ERR_INVALID},   {&lone, "=1", ERR_OK},
    };
    struct arena *a = arena_new();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct name_fields all = {.fields = rows[i].field, .n = 1};
        struct tt_kv kv;
        const struct tt_service s = with(rows[i].value, false, &kv);
        struct err err = ERR_INIT;
        print_message("# row %zu\n", i);
        assert_int_equal(names_check(a, &all, &s, NULL, &err), rows[i].code);
    }
    arena_free(a);
}

static void name_list__absent_allows_all__empty_none(void **state)
{
    (void)state;
    static const char *const items[] = {"rg-1"};
    const struct name_list absent = {0};
    const struct name_list empty = {.has = true};
    const struct name_list one = {.items = items, .n = 1, .has = true};
    assert_true(name_list_allows(&absent, "x", false));
    assert_false(name_list_allows(&empty, "x", false));
    assert_true(name_list_allows(&one, "rg-1", false));
    assert_false(name_list_allows(&one, "RG-1", false));
    assert_true(name_list_allows(&one, "RG-1", true));
}

UNIT_MAIN(name_rules)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(name_rule__texts__as_the_pattern_says),
        cmocka_unit_test(annotation_state__stands_only_unchanged_with_an_address_or_finalizer),
        cmocka_unit_test(name_check__new_and_standing__sentences),
        cmocka_unit_test(names_check__of_what_was_made_here__by_the_pattern),
        cmocka_unit_test(names_check__literal_and_lone__pieces_that_count),
        cmocka_unit_test(name_list__absent_allows_all__empty_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
