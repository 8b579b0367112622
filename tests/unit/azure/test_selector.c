/* SPDX-License-Identifier: Apache-2.0 */
/* test_selector.c: label selectors, as Kubernetes reads them (metav1.LabelSelector). */
#include "tests/unit/azure/azure_test.h"

#include "providers/azure/model/azure_selector.h"
#include "tests/support/unit.h"

static void matches__rows(void **state)
{
    struct arena *a = *state;
    /* labels are a=1 and b="" */
    static const struct tt_kv labels[] = {{"a", "1"}, {"b", ""}};
    static const struct {
        const char *selector;
        int code;
        bool want;
    } rows[] = {
        {"{}", ERR_OK, true},
        {"{\"matchLabels\":{}}", ERR_OK, true},
        {"{\"matchLabels\":{\"a\":\"1\"}}", ERR_OK, true},
        {"{\"MATCHLABELS\":{\"a\":\"2\"}}", ERR_OK, false},
        {"{\"matchLabels\":{\"b\":null}}", ERR_OK, true},
        {"{\"matchLabels\":{\"c\":\"\"}}", ERR_OK, false},
        {"{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"In\",\"values\":[\"2\",\"1\"]}]}",
         ERR_OK, true},
        {"{\"matchExpressions\":[{\"key\":\"c\",\"operator\":\"In\",\"values\":[\"1\"]}]}", ERR_OK,
         false},
        {"{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"NotIn\",\"values\":[\"1\"]}]}",
         ERR_OK, false},
        {"{\"matchExpressions\":[{\"key\":\"c\",\"operator\":\"NotIn\",\"values\":[\"1\"]}]}",
         ERR_OK, true},
        {"{\"matchExpressions\":[{\"key\":\"b\",\"operator\":\"Exists\"}]}", ERR_OK, true},
        {"{\"matchExpressions\":[{\"key\":\"b\",\"operator\":\"DoesNotExist\"}]}", ERR_OK, false},
        {"{\"matchExpressions\":[{\"Key\":\"c\",\"Operator\":\"DoesNotExist\",\"Values\":[]}]}",
         ERR_OK, true},
        {"{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"In\"}]}", ERR_INVALID, false},
        {"{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Exists\",\"values\":[\"1\"]}]}",
         ERR_INVALID, false},
        {"{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"in\",\"values\":[\"1\"]}]}",
         ERR_INVALID, false},
        {"{\"matchLabels\":{\"\":\"1\"}}", ERR_INVALID, false},
        {"{\"matchLabels\":{\"-a\":\"1\"}}", ERR_INVALID, false},
        {"{\"matchLabels\":{\"x/y/z\":\"1\"}}", ERR_INVALID, false},
        {"{\"matchLabels\":{\"example.com/a\":\"1\"}}", ERR_OK, false},
        {"{\"matchLabels\":{\"Example.com/a\":\"1\"}}", ERR_INVALID, false},
        {"{\"matchLabels\":{\"example..com/a\":\"1\"}}", ERR_INVALID, false},
        {"{\"matchLabels\":{\"/a\":\"1\"}}", ERR_INVALID, false},
        {"{\"matchLabels\":{\"a\":\"not a value\"}}", ERR_INVALID, false},
        {"{\"matchLabels\":{\"a\":\"x_y.z-1\"}}", ERR_OK, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct azure_selector s;
        bool got = false;
        assert_int_equal(azure_selector_decode(a, pure_json(a, rows[i].selector), &s, NULL),
                         ERR_OK);
        int code = azure_selector_matches(&s, labels, ARRAY_LEN(labels), &got, NULL);
        if (code != rows[i].code || got != rows[i].want) {
            fail_msg("%s: got %s, %d", rows[i].selector, err_code_name(code), got);
        }
    }
}

static void decode__absent__matches_nothing(void **state)
{
    struct arena *a = *state;
    struct azure_selector s;
    bool got = true;
    assert_int_equal(azure_selector_decode(a, NULL, &s, NULL), ERR_OK);
    assert_false(s.given);
    assert_int_equal(azure_selector_matches(&s, NULL, 0, &got, NULL), ERR_OK);
    assert_false(got);
}

static void decode__wrong_types__refused(void **state)
{
    struct arena *a = *state;
    static const char *const rows[] = {
        "[]",
        "\"a=b\"",
        "{\"matchLabels\":[]}",
        "{\"matchLabels\":{\"a\":1}}",
        "{\"matchExpressions\":{}}",
        "{\"matchExpressions\":[\"a\"]}",
        "{\"matchExpressions\":[{\"key\":1}]}",
        "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":true}]}",
        "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"In\",\"values\":\"b\"}]}",
        "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"In\",\"values\":[{}]}]}",
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct azure_selector s;
        if (azure_selector_decode(a, pure_json(a, rows[i]), &s, NULL) != ERR_INVALID) {
            fail_msg("%s was taken", rows[i]);
        }
    }
}

UNIT_MAIN(selector)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(matches__rows),
        PURE_TEST(decode__absent__matches_nothing),
        PURE_TEST(decode__wrong_types__refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
