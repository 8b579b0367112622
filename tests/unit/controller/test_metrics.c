/* SPDX-License-Identifier: Apache-2.0 */
/* test_metrics.c: the registry: what is counted, what is ignored, and that labels from outside
 * cannot fill memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "common/base/attr.h"
#include "controller/metrics/metrics.h"
#include "tests/support/unit.h"

static const char *const labels[] = {"code", "zone"};
static const double buckets[] = {1, 5};
static const struct tt_metric table[] = {
    {.name = "calls_total", .type = TT_METRIC_COUNTER, .labels = labels, .n_labels = 2},
    {.name = "pools", .type = TT_METRIC_GAUGE},
    {.name = "seconds", .type = TT_METRIC_HISTOGRAM, .buckets = buckets, .n_buckets = 2},
};

static int set_up(void **state)
{
    struct metrics *m = metrics_new();

    assert_true(metrics_register(m, table, ARRAY_LEN(table)));
    *state = m;
    return 0;
}

static int tear_down(void **state)
{
    metrics_free(*state);
    return 0;
}

static void metrics__counter__per_labels_in_any_order(void **state)
{
    struct metrics *m = *state;
    const struct tt_kv one[] = {{"code", "200"}, {"zone", "a"}};
    const struct tt_kv turned[] = {{"zone", "a"}, {"extra", "x"}, {"code", "200"}};
    const struct tt_kv other[] = {{"code", "200"}};

    metrics_add(m, "calls_total", one, 2, 1);
    metrics_add(m, "calls_total", turned, 3, 2);
    metrics_add(m, "calls_total", other, 1, 5);
    metrics_add(m, "calls_total", one, 2, -7); /* a counter never goes back */
    assert_true(metrics_value(m, "calls_total", one, 2) == 3);
    assert_true(metrics_value(m, "calls_total", other, 1) == 5);
}

static void metrics__gauge_and_histogram__keep_their_kind(void **state)
{
    struct metrics *m = *state;

    metrics_set(m, "pools", NULL, 0, 4);
    metrics_set(m, "pools", NULL, 0, 3);
    metrics_add(m, "pools", NULL, 0, 9); /* wrong kind: ignored */
    metrics_observe(m, "seconds", NULL, 0, 0.5);
    metrics_observe(m, "seconds", NULL, 0, 100);
    assert_true(metrics_value(m, "pools", NULL, 0) == 3);
    assert_true(metrics_value(m, "seconds", NULL, 0) == 2);
}

static void metrics__unknown_and_taken_names__do_no_harm(void **state)
{
    struct metrics *m = *state;

    metrics_add(m, "nobody", NULL, 0, 1);
    metrics_add(m, "nobody", NULL, 0, 1);
    assert_true(metrics_value(m, "nobody", NULL, 0) == 0);
    assert_false(metrics_register(m, table, 1));
}

static void metrics__endless_labels__series_are_capped(void **state)
{
    struct metrics *m = *state;
    char code[16];

    for (int i = 0; i < 5000; i++) {
        snprintf(code, sizeof(code), "%d", i);
        metrics_add(m, "calls_total", &(struct tt_kv){"code", code}, 1, 1);
    }
    assert_true(metrics_value(m, "calls_total", &(struct tt_kv){"code", "0"}, 1) == 1);
    assert_true(metrics_value(m, "calls_total", &(struct tt_kv){"code", "4999"}, 1) == 0);
}

static void metrics__own_table__is_described(void **state)
{
    (void)state;
    for (size_t i = 0; i < metrics_own_n; i++) {
        assert_non_null(metrics_own[i].name);
        assert_non_null(metrics_own[i].help);
        assert_int_equal(metrics_own[i].type == TT_METRIC_HISTOGRAM, metrics_own[i].n_buckets > 0);
    }
}

UNIT_MAIN(metrics)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(metrics__counter__per_labels_in_any_order),
        T(metrics__gauge_and_histogram__keep_their_kind),
        T(metrics__unknown_and_taken_names__do_no_harm),
        T(metrics__endless_labels__series_are_capped),
        T(metrics__own_table__is_described),
    };
    return cmocka_run_group_tests_name("controller-metrics", tests, NULL, NULL);
}
