/* SPDX-License-Identifier: Apache-2.0 */
/* test_retry.c: the retry state machine and the token bucket, with time and chance as numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/net/ratelimit.h"
#include "common/net/retry.h"
#include "tests/support/unit.h"

static void retry_classify__every_status__code(void **state)
{
    (void)state;
    static const struct {
        int status, code;
    } rows[] = {
        {0, ERR_TRANSIENT},   {200, ERR_OK},        {301, ERR_OK},        {400, ERR_OK},
        {401, ERR_OK},        {404, ERR_OK},        {408, ERR_TRANSIENT}, {409, ERR_OK},
        {412, ERR_OK},        {425, ERR_TRANSIENT}, {429, ERR_THROTTLED}, {499, ERR_OK},
        {500, ERR_TRANSIENT}, {502, ERR_TRANSIENT}, {503, ERR_TRANSIENT}, {599, ERR_TRANSIENT},
        {600, ERR_OK},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        print_message("# %d\n", rows[i].status);
        assert_int_equal(retry_classify(rows[i].status), rows[i].code);
    }
}

static void retry_next__failures__waits(void **state)
{
    (void)state;
    static const struct retry_policy plain = {
        .max_attempts = 10, .base_ms = 100, .cap_ms = 1000, .max_retry_after_ms = 5000};
    static const struct retry_policy jitter = {.max_attempts = 10,
                                               .base_ms = 100,
                                               .cap_ms = 1000,
                                               .max_retry_after_ms = 5000,
                                               .full_jitter = true};
    static const struct {
        const struct retry_policy *policy;
        int failures; /* before this one */
        int64_t retry_after_ms;
        double unit;
        int64_t wait_ms; /* -1: gives up */
    } rows[] = {
        {&plain, 0, 0, 0.0, 100},     {&plain, 1, 0, 0.0, 200},
        {&plain, 2, 0, 0.9, 400},     {&plain, 3, 0, 0.9, 800},
        {&plain, 4, 0, 0.9, 1000},    {&plain, 8, 0, 0.9, 1000},
        {&plain, 9, 0, 0.9, -1},   /* the tenth send was the last */
        {&plain, 0, 50, 0.0, 100}, /* Retry-After is a lower bound */
        {&plain, 0, 3000, 0.0, 3000}, {&plain, 0, 5000, 0.0, 5000},
        {&plain, 0, 5001, 0.0, -1}, /* not worth waiting for */
        {&jitter, 0, 0, 0.0, 0},      {&jitter, 0, 0, 0.5, 50},
        {&jitter, 3, 0, 0.25, 200},   {&jitter, 3, 700, 0.25, 700},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct retry r;
        int64_t at = -1;
        retry_begin(&r, rows[i].policy, 1000);
        for (int k = 0; k < rows[i].failures; k++) {
            assert_true(retry_next(&r, 1000, 0, 0.0, &at));
        }
        at = -1;
        bool again = retry_next(&r, 7000, rows[i].retry_after_ms, rows[i].unit, &at);
        print_message("# row %zu\n", i);
        assert_int_equal(again, rows[i].wait_ms >= 0);
        assert_int_equal(at, rows[i].wait_ms < 0 ? -1 : 7000 + rows[i].wait_ms);
    }
}

static void retry_next__budget__counts_the_wait(void **state)
{
    (void)state;
    static const struct retry_policy p = {
        .max_attempts = 100, .base_ms = 400, .cap_ms = 400, .budget_ms = 1000};
    struct retry r;
    int64_t at = 0;
    retry_begin(&r, &p, 5000);
    assert_true(retry_next(&r, 5100, 0, 0.0, &at));
    assert_int_equal(at, 5500);
    assert_true(retry_next(&r, 5600, 0, 0.0, &at));
    assert_int_equal(at, 6000); /* exactly at the end of the budget */
    assert_false(retry_next(&r, 6001, 0, 0.0, &at));
    assert_int_equal(r.attempts, 3);
}

static void retry_next__huge_numbers__no_overflow(void **state)
{
    (void)state;
    static const struct retry_policy p = {
        .max_attempts = 1000, .base_ms = INT64_MAX / 4, .cap_ms = INT64_MAX / 2};
    struct retry r;
    int64_t at = 0;
    retry_begin(&r, &p, 0);
    for (int i = 0; i < 999; i++) {
        assert_true(retry_next(&r, 0, 0, 0.0, &at));
        assert_true(at > 0 && at <= INT64_MAX / 2);
    }
    assert_false(retry_next(&r, 0, 0, 0.0, &at));
}

/* --- rate limit ------------------------------------------------------------------------------ */

/* client-go's defaults in the controller: 20 per second, burst 30 (controller.md §4.5). */
static void ratelimit_take__client_go_numbers__every_50_ms(void **state)
{
    (void)state;
    struct ratelimit r;
    ratelimit_init(&r, 20, 30, 1000);
    for (int i = 0; i < 30; i++) {
        assert_int_equal(ratelimit_take(&r, 1000), 1000);
    }
    for (int i = 1; i <= 100; i++) {
        assert_int_equal(ratelimit_take(&r, 1000), 1000 + i * 50);
    }
}

static void ratelimit_take__pause__refills_to_burst_only(void **state)
{
    (void)state;
    struct ratelimit r;
    ratelimit_init(&r, 10, 2, 0);
    assert_int_equal(ratelimit_take(&r, 0), 0);
    assert_int_equal(ratelimit_take(&r, 0), 0);
    assert_int_equal(ratelimit_take(&r, 0), 100);
    assert_int_equal(ratelimit_take(&r, 3600000), 3600000);
    assert_int_equal(ratelimit_take(&r, 3600000), 3600000);
    assert_int_equal(ratelimit_take(&r, 3600000), 3600100);
}

static void ratelimit_take__uneven_rates__never_early(void **state)
{
    (void)state;
    static const double rates[] = {0.3, 1, 3, 7, 20, 33.3, 1000};
    for (size_t i = 0; i < ARRAY_LEN(rates); i++) {
        struct ratelimit r;
        ratelimit_init(&r, rates[i], 1, 0);
        for (int k = 0; k < 50; k++) {
            int64_t at = ratelimit_take(&r, 0);
            double exact = (double)k / rates[i] * 1000.0;
            assert_true((double)at >= exact - 0.001 && (double)at <= exact + 1.0);
        }
    }
}

static void ratelimit_take__no_limit__now(void **state)
{
    (void)state;
    struct ratelimit r;
    ratelimit_init(&r, 0, 1, 0);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(ratelimit_take(&r, 5), 5);
        assert_true(ratelimit_try(&r, 5));
    }
}

static void ratelimit_take__clock_goes_back__no_tokens(void **state)
{
    (void)state;
    struct ratelimit r;
    ratelimit_init(&r, 10, 1, 1000);
    assert_int_equal(ratelimit_take(&r, 1000), 1000);
    assert_int_equal(ratelimit_take(&r, 500), 600);
    assert_int_equal(ratelimit_take(&r, 1000), 1200);
}

static void ratelimit_try__empty__takes_nothing(void **state)
{
    (void)state;
    struct ratelimit r;
    ratelimit_init(&r, 10, 1, 0);
    assert_true(ratelimit_try(&r, 0));
    assert_false(ratelimit_try(&r, 0));
    assert_false(ratelimit_try(&r, 99));
    assert_true(ratelimit_try(&r, 100));
    assert_false(ratelimit_try(&r, 100));
}

UNIT_MAIN(retry)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(retry_classify__every_status__code),
        cmocka_unit_test(retry_next__failures__waits),
        cmocka_unit_test(retry_next__budget__counts_the_wait),
        cmocka_unit_test(retry_next__huge_numbers__no_overflow),
        cmocka_unit_test(ratelimit_take__client_go_numbers__every_50_ms),
        cmocka_unit_test(ratelimit_take__pause__refills_to_burst_only),
        cmocka_unit_test(ratelimit_take__uneven_rates__never_early),
        cmocka_unit_test(ratelimit_take__no_limit__now),
        cmocka_unit_test(ratelimit_take__clock_goes_back__no_tokens),
        cmocka_unit_test(ratelimit_try__empty__takes_nothing),
    };
    return cmocka_run_group_tests_name("retry", tests, NULL, NULL);
}
