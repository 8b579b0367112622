/* SPDX-License-Identifier: Apache-2.0 */
/* test_diff.c: field differences, from values, sets and JSON trees. */
#include "tests/unit/lb/lb_test.h"

#include "common/base/str.h"
#include "common/lb/diff.h"
#include "tests/support/unit.h"

#include <string.h>

/* "path: old → new" lines, for comparing. */
static const char *diff_text(struct arena *a, const struct lb_diff *d)
{
    struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < d->n; i++) {
        const struct lb_field *f = &d->fields[i];
        str_appendf(&b, "%s%s: %s → ", i > 0 ? "\n" : "", f->path,
                    f->old_text != NULL ? f->old_text : "(none)");
        if (f->new_value.text == NULL && f->new_value.op >= 0) {
            str_appendf(&b, "%s of %d", f->new_value.output, f->new_value.op);
        } else {
            str_append(&b, f->new_value.text != NULL ? f->new_value.text : "(none)");
        }
    }
    char *text = str_buf_to_arena(&b, a);
    str_buf_done(&b);
    return text;
}

static void lb_diff_text__pairs__null_is_empty(void **state)
{
    const struct {
        const char *o, *n;
        const char *want; /* "" = equal */
    } rows[] = {
        {NULL, NULL, ""},
        {NULL, "", ""},
        {"", NULL, ""},
        {"a", "a", ""},
        {"a", "b", "p: a → b"},
        {NULL, "b", "p: (none) → b"},
        {"", "b", "p: (none) → b"},
        {"a", NULL, "p: a → (none)"},
        {"a", "", "p: a → (none)"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct lb_diff d;
        lb_diff_init(&d, *state);
        bool differs = lb_diff_text(&d, "p", rows[i].o, rows[i].n);
        assert_string_equal(diff_text(*state, &d), rows[i].want);
        assert_int_equal(differs, rows[i].want[0] != '\0');
    }
}

static void lb_diff_value__late_value__always_differs(void **state)
{
    struct lb_diff d;
    lb_diff_init(&d, *state);
    assert_false(lb_diff_value(&d, "p", "a", LB_VALUE("a")));
    assert_false(lb_diff_value(&d, "p", NULL, LB_VALUE(NULL)));
    assert_true(lb_diff_value(&d, "p", "a", LB_VALUE_OF(3, "address")));
    assert_true(lb_diff_value(&d, "q", "", LB_VALUE_OF(0, "id")));
    assert_string_equal(diff_text(*state, &d), "p: a → address of 3\nq: (none) → id of 0");
}

static void lb_diff_int__numbers__shown_in_decimal(void **state)
{
    struct lb_diff d;
    lb_diff_init(&d, *state);
    assert_false(lb_diff_int(&d, "p", 8, 8));
    assert_true(lb_diff_int(&d, "p", 0, -1));
    assert_true(lb_diff_int(&d, "p", INT64_MIN, INT64_MAX));
    assert_string_equal(diff_text(*state, &d),
                        "p: 0 → -1\np: -9223372036854775808 → 9223372036854775807");
}

static void lb_diff_set__sets__one_line_per_item(void **state)
{
    struct str_set o = str_set_make(*state, (const char *[]){"a", "b", "c"}, 3);
    struct str_set n = str_set_make(*state, (const char *[]){"d", "b"}, 2);
    struct lb_diff d;
    lb_diff_init(&d, *state);
    assert_false(lb_diff_set(&d, "p", &o, &o));
    assert_true(lb_diff_set(&d, "p", &o, &n));
    assert_string_equal(diff_text(*state, &d), "p: a → (none)\np: c → (none)\np: (none) → d");
}

static void lb_diff__many_fields__grow(void **state)
{
    struct lb_diff d;
    lb_diff_init(&d, *state);
    for (int i = 0; i < 50; i++) {
        assert_true(lb_diff_int(&d, arena_printf(*state, "p%d", i), 0, 1));
    }
    assert_int_equal(d.n, 50);
    assert_string_equal(d.fields[0].path, "p0");
    assert_string_equal(d.fields[49].path, "p49");
}

static void lb_diff_json__trees__only_what_is_wanted(void **state)
{
    const struct {
        const char *found, *wanted, *want;
    } rows[] = {
        {"{\"a\":1,\"b\":2}", "{\"a\":1}", ""}, /* members of others are not ours */
        {"{\"a\":1}", "{\"a\":2}", "a: 1 → 2"},
        {"{\"a\":{\"b\":{\"c\":\"x\"}}}", "{\"a\":{\"b\":{\"c\":\"y\"}}}", "a.b.c: x → y"},
        {"{\"id\":\"80\"}", "{\"id\":80}", ""}, /* 64-bit numbers come as text */
        {"{\"id\":80}", "{\"id\":\"80\"}", ""},
        {"{\"id\":\"81\"}", "{\"id\":80}", "id: 81 → 80"},
        {"{}", "{\"a\":false,\"b\":0,\"c\":\"\",\"d\":[],\"e\":{},\"f\":null}", ""},
        {"{}", "{\"a\":true,\"b\":1.5}", "a: (none) → true\nb: (none) → 1.5"},
        {"{\"a\":true}", "{\"a\":false}", "a: true → false"},
        {"{\"a\":\"x\"}", "{\"a\":null}", "a: x → (none)"},
        {"{}", "{\"a\":{\"b\":1}}", "a.b: (none) → 1"},
        {"{\"a\":[\"x\",\"y\"]}", "{\"a\":[\"x\",\"y\"]}", ""},
        {"{\"a\":[\"x\",\"y\"]}", "{\"a\":[\"y\",\"z\"]}", "a: x → (none)\na: (none) → z"},
        {"{\"a\":[\"x\",\"y\"]}", "{\"a\":[\"y\",\"x\"]}", "a: [\"x\",\"y\"] → [\"y\",\"x\"]"},
        {"{\"a\":[1,\"2\"]}", "{\"a\":[\"1\",2]}", ""},
        {"{\"a\":[\"x\"]}", "{\"a\":[]}", "a: x → (none)"},
        {"{\"a\":[{\"p\":1,\"q\":2}]}", "{\"a\":[{\"p\":1}]}", ""},
        {"{\"a\":[{\"p\":[\"80\"]}]}", "{\"a\":[{\"p\":[\"443\"]}]}",
         "a[0].p: 80 → (none)\na[0].p: (none) → 443"},
        {"{\"a\":[{\"p\":1}]}", "{\"a\":[{\"p\":1},{\"p\":2}]}", "a[1]: (none) → {\"p\":2}"},
        {"{\"a\":[{\"p\":1},{\"p\":2}]}", "{\"a\":[{\"p\":1}]}", "a[1]: {\"p\":2} → (none)"},
        {"{\"a\":\"x\"}", "{\"a\":{\"b\":1}}", "a: x → {\"b\":1}"},
        {"{\"a\":{\"b\":1}}", "{\"a\":[1]}", "a: {\"b\":1} → [1]"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct json_object *found;
        struct json_object *wanted;
        assert_int_equal(
            json_parse_arena(*state, rows[i].found, strlen(rows[i].found), NULL, &found, NULL),
            ERR_OK);
        assert_int_equal(
            json_parse_arena(*state, rows[i].wanted, strlen(rows[i].wanted), NULL, &wanted, NULL),
            ERR_OK);
        struct lb_diff d;
        lb_diff_init(&d, *state);
        print_message("# row %zu\n", i);
        bool differs = lb_diff_json(&d, "", found, wanted);
        assert_string_equal(diff_text(*state, &d), rows[i].want);
        assert_int_equal(differs, rows[i].want[0] != '\0');
    }
}

UNIT_MAIN(diff)
{
    const struct CMUnitTest tests[] = {
        lb_test(lb_diff_text__pairs__null_is_empty),
        lb_test(lb_diff_value__late_value__always_differs),
        lb_test(lb_diff_int__numbers__shown_in_decimal),
        lb_test(lb_diff_set__sets__one_line_per_item),
        lb_test(lb_diff__many_fields__grow),
        lb_test(lb_diff_json__trees__only_what_is_wanted),
    };
    return cmocka_run_group_tests_name("diff", tests, NULL, NULL);
}
