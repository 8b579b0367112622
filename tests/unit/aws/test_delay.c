/* SPDX-License-Identifier: Apache-2.0 */
/* test_delay.c: the delay across requests (docs/spec/aws.md 2.10), rows 260 to 264 of 11.13. */
#include "providers/aws/api/aws_delay.h"
#include "tests/support/unit.h"
#include "tests/unit/gce/pure.h"

static void delay__every_request_is_refused__as_upstream(void **state)
{
    static const int64_t want[] = {0, 10, 17, 22, 26, 30, 32, 35, 36, 38, 40, 41}; /* row 260 */
    struct aws_delay d;
    (void)state;
    aws_delay_init(&d, 0);
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        assert_int_equal(aws_delay_take(&d, 0), want[i]);
        aws_delay_failed(&d);
    }
}

static void delay__who_waits_is_refused_again__delays_settle(void **state)
{
    static const struct {
        int64_t at_s;
        int64_t delay_s;
    } want[] = {{10, 40}, {50, 39}, {89, 39}, {128, 39}, {167, 39}, {206, 39}}; /* row 261 */
    struct aws_delay d;
    (void)state;
    aws_delay_init(&d, 0);
    for (int64_t t = 0; t < 10; t++) {
        (void)aws_delay_take(&d, t);
        aws_delay_failed(&d);
    }
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        assert_int_equal(aws_delay_take(&d, want[i].at_s), want[i].delay_s);
        aws_delay_failed(&d);
    }
}

static void delay__refusals_end__fades_to_nothing(void **state)
{
    struct aws_delay d;
    int64_t first = -1;
    (void)state;
    aws_delay_init(&d, 0);
    for (int64_t t = 0; t < 100; t++) {
        (void)aws_delay_take(&d, t);
        aws_delay_failed(&d);
    }
    assert_int_equal(aws_delay_take(&d, 100), 57); /* row 262 */
    aws_delay_failed(&d);
    for (int64_t i = 1; i <= 100; i++) { /* row 263: a success every 3 s */
        int64_t t = 100 + 3 * (i - 1);
        if (aws_delay_take(&d, t) == 0 && first < 0) {
            first = t;
        }
    }
    assert_int_equal(first, 364);
}

static void delay__nothing_is_refused__never_waits(void **state)
{
    struct aws_delay d;
    (void)state;
    aws_delay_init(&d, 0);
    for (int64_t t = 0; t < 100; t++) {
        assert_int_equal(aws_delay_take(&d, t), 0); /* row 264 */
    }
}

UNIT_MAIN(delay)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(delay__every_request_is_refused__as_upstream),
        cmocka_unit_test(delay__who_waits_is_refused_again__delays_settle),
        cmocka_unit_test(delay__refusals_end__fades_to_nothing),
        cmocka_unit_test(delay__nothing_is_refused__never_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
