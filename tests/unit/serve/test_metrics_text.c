/* SPDX-License-Identifier: Apache-2.0 */
/* test_metrics_text.c: the registry as text: both formats, byte by byte and by a strict reader;
 * what a client may ask for; collectors; many threads at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "common/base/attr.h"
#include "controller/metrics/metrics_text.h"
#include "tests/support/unit.h"
#include "tests/unit/serve/exposition.h"

static const char *const labels[] = {"code", "zone"};
static const double buckets[] = {0.5, 1, 2.5};
static const struct tt_metric table[] = {
    {.name = "test_calls_total",
     .help = "Calls",
     .type = TT_METRIC_COUNTER,
     .labels = labels,
     .n_labels = 2},
    {.name = "test_never_total",
     .help = "Never",
     .type = TT_METRIC_COUNTER,
     .labels = labels,
     .n_labels = 2},
    {.name = "test_attempts", .help = "A \"counter\"\nof \\ old", .type = TT_METRIC_COUNTER},
    {.name = "test_pools", .help = "Pools", .type = TT_METRIC_GAUGE},
    {.name = "test_seconds",
     .help = "Time",
     .type = TT_METRIC_HISTOGRAM,
     .buckets = buckets,
     .n_buckets = 3},
    {.name = "test_zone_seconds",
     .help = "Time",
     .type = TT_METRIC_HISTOGRAM,
     .buckets = buckets,
     .n_buckets = 3,
     .labels = labels,
     .n_labels = 2},
};

struct world {
    struct arena *a;
    struct metrics *m;
};

static int set_up(void **state)
{
    static struct world w;

    w = (struct world){.a = arena_new(), .m = metrics_new()};
    assert_true(metrics_register(w.m, table, ARRAY_LEN(table)));
    *state = &w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;

    metrics_free(w->m);
    arena_free(w->a);
    return 0;
}

static const char *print(struct world *w, enum metrics_format format, const char *prefix)
{
    struct str_buf b = STR_BUF_INIT;

    metrics_text(w->m, w->a, format, prefix, &b);
    const char *text = str_buf_to_arena(&b, w->a);
    str_buf_done(&b);
    return text;
}

static void fill(struct metrics *m)
{
    metrics_add(m, "test_calls_total", (struct tt_kv[]){{"code", "500"}, {"zone", "b"}}, 2, 3);
    metrics_add(m, "test_calls_total", (struct tt_kv[]){{"zone", "a"}, {"code", "200"}}, 2, 1);
    metrics_set(m, "test_pools", NULL, 0, -1.25);
    metrics_observe(m, "test_seconds", NULL, 0, 0.5);
    metrics_observe(m, "test_seconds", NULL, 0, 2);
    metrics_observe(m, "test_seconds", NULL, 0, 99);
    metrics_observe(m, "test_zone_seconds", (struct tt_kv[]){{"zone", "a"}}, 1, 1);
}

/* Families by name, series by labels; buckets add up; a metric with labels and without a
 * series is not there. */
static void text__is_sorted_and_cumulative(void **state)
{
    struct world *w = *state;

    fill(w->m);
    assert_string_equal(print(w, METRICS_TEXT, "test_"),
                        "# HELP test_attempts A \"counter\"\\nof \\\\ old\n"
                        "# TYPE test_attempts counter\n"
                        "test_attempts 0\n"
                        "# HELP test_calls_total Calls\n"
                        "# TYPE test_calls_total counter\n"
                        "test_calls_total{code=\"200\",zone=\"a\"} 1\n"
                        "test_calls_total{code=\"500\",zone=\"b\"} 3\n"
                        "# HELP test_pools Pools\n"
                        "# TYPE test_pools gauge\n"
                        "test_pools -1.25\n"
                        "# HELP test_seconds Time\n"
                        "# TYPE test_seconds histogram\n"
                        "test_seconds_bucket{le=\"0.5\"} 1\n"
                        "test_seconds_bucket{le=\"1\"} 1\n"
                        "test_seconds_bucket{le=\"2.5\"} 2\n"
                        "test_seconds_bucket{le=\"+Inf\"} 3\n"
                        "test_seconds_sum 101.5\n"
                        "test_seconds_count 3\n"
                        "# HELP test_zone_seconds Time\n"
                        "# TYPE test_zone_seconds histogram\n"
                        "test_zone_seconds_bucket{code=\"\",zone=\"a\",le=\"0.5\"} 0\n"
                        "test_zone_seconds_bucket{code=\"\",zone=\"a\",le=\"1\"} 1\n"
                        "test_zone_seconds_bucket{code=\"\",zone=\"a\",le=\"2.5\"} 1\n"
                        "test_zone_seconds_bucket{code=\"\",zone=\"a\",le=\"+Inf\"} 1\n"
                        "test_zone_seconds_sum{code=\"\",zone=\"a\"} 1\n"
                        "test_zone_seconds_count{code=\"\",zone=\"a\"} 1\n");
}

static void open_metrics__differs_where_it_must(void **state)
{
    struct world *w = *state;

    fill(w->m);
    const char *text = print(w, METRICS_OPEN, "test_");
    assert_non_null(strstr(text, "# HELP test_attempts A \\\"counter\\\"\\nof \\\\ old\n"
                                 "# TYPE test_attempts unknown\ntest_attempts 0.0\n"
                                 "# HELP test_calls Calls\n# TYPE test_calls counter\n"
                                 "test_calls_total{code=\"200\",zone=\"a\"} 1.0\n"));
    assert_non_null(strstr(text, "test_seconds_bucket{le=\"1.0\"} 1\n"));
    assert_true(str_has_suffix(text, "# EOF\n"));
    (void)exposition_read(w->a, text, true);
}

/* All that is registered, with a value each: what the strict reader finds wrong fails the test. */
static void whole_registry__satisfies_a_strict_reader(void **state)
{
    struct world *w = *state;

    for (size_t i = 0; i < metrics_own_n + metrics_process_n; i++) {
        const struct tt_metric *def =
            i < metrics_own_n ? &metrics_own[i] : &metrics_process[i - metrics_own_n];
        metrics_add(w->m, def->name, NULL, 0, 1);
        metrics_set(w->m, def->name, NULL, 0, 1);
        metrics_observe(w->m, def->name, NULL, 0, 1);
    }
    for (enum metrics_format f = METRICS_TEXT; f <= METRICS_OPEN; f++) {
        const struct exposition *x = exposition_read(w->a, print(w, f, ""), f == METRICS_OPEN);
        assert_int_equal(map_size(x->families),
                         metrics_own_n + metrics_process_n + 3); /* those above without labels */
    }
}

static void labels_from_outside__are_escaped_cut_and_cleaned(void **state)
{
    struct world *w = *state;
    char longer[600];

    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    metrics_add(w->m, "test_calls_total", (struct tt_kv[]){{"code", "a\"b\\c\nd"}}, 1, 1);
    metrics_add(w->m, "test_calls_total", (struct tt_kv[]){{"code", "\xff\xfe"}}, 1, 1);
    metrics_add(w->m, "test_calls_total",
                (struct tt_kv[]){{"code", "a\x1f"
                                          "b"}},
                1, 1);
    metrics_add(w->m, "test_calls_total", (struct tt_kv[]){{"code", "grün"}}, 1, 1);
    metrics_add(w->m, "test_calls_total", (struct tt_kv[]){{"code", longer}}, 1, 1);
    const char *text = print(w, METRICS_TEXT, "test_calls");
    assert_non_null(strstr(text, "{code=\"a\\\"b\\\\c\\nd\",zone=\"\"} 1\n"));
    assert_non_null(strstr(text, "{code=\"??\",zone=\"\"} 1\n"));
    assert_non_null(strstr(text, "{code=\"a?b\",zone=\"\"} 1\n"));
    assert_non_null(strstr(text, "{code=\"grün\",zone=\"\"} 1\n"));
    assert_true(strlen(text) < 600);
    (void)exposition_read(w->a, text, false);
}

static void too_many_series__are_counted_as_lost(void **state)
{
    struct world *w = *state;
    char code[16];

    for (int i = 0; i < 2003; i++) {
        (void)snprintf(code, sizeof(code), "%d", i);
        metrics_add(w->m, "test_calls_total", &(struct tt_kv){"code", code}, 1, 1);
    }
    assert_true(metrics_value(w->m, METRIC_SERIES_LOST, NULL, 0) == 3);
    metrics_reset(w->m, "test_calls_total");
    metrics_add(w->m, "test_calls_total", &(struct tt_kv){"code", "2002"}, 1, 1);
    assert_true(metrics_value(w->m, METRIC_SERIES_LOST, NULL, 0) == 3);
}

static void all_metrics_together__have_a_limit_too(void **state)
{
    static const char *const names[] = {"test_a", "test_b", "test_c", "test_d", "test_e", "test_f",
                                        "test_g", "test_h", "test_i", "test_j", "test_k"};
    struct world *w = *state;
    struct tt_metric many[ARRAY_LEN(names)];
    char code[16];

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        many[i] = (struct tt_metric){
            .name = names[i], .help = "", .type = TT_METRIC_GAUGE, .labels = labels, .n_labels = 2};
        assert_true(metrics_register(w->m, &many[i], 1));
        for (int k = 0; k < 2000; k++) {
            (void)snprintf(code, sizeof(code), "%d", k);
            metrics_set(w->m, names[i], &(struct tt_kv){"code", code}, 1, 1);
        }
    }
    double lost = metrics_value(w->m, METRIC_SERIES_LOST, NULL, 0);
    assert_true(lost > 2000 && lost < 2050);
    metrics_free(w->m); /* its tables are on this stack */
    w->m = metrics_new();
}

/* Go's FormatFloat(v, 'g', -1, 64): the expected texts were made by that. */
static void numbers__are_written_as_go_does(void **state)
{
    static const struct {
        double v;
        const char *text;
    } rows[] = {
        {0, "0"},
        {1, "1"},
        {-1, "-1"},
        {0.005, "0.005"},
        {0.1, "0.1"},
        {0.30000000000000004, "0.30000000000000004"},
        {9.999999999999999e-06, "9.999999999999999e-06"},
        {1e-08, "1e-08"},
        {0.0001, "0.0001"},
        {0.00001, "1e-05"},
        {999999, "999999"},
        {1e6, "1e+06"},
        {1048576, "1.048576e+06"},
        {262144, "262144"},
        {123456.75, "123456.75"},
        {1.7639e9, "1.7639e+09"},
        {1.24416e8, "1.24416e+08"},
        {18446744073709551615.0, "1.8446744073709552e+19"},
        {-2.5, "-2.5"},
        {1e100, "1e+100"},
        {12.0625, "12.0625"},
        {(double)INFINITY, "+Inf"},
        {-(double)INFINITY, "-Inf"},
        {(double)NAN, "NaN"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str_buf b = STR_BUF_INIT;
        metrics_append_number(&b, rows[i].v);
        assert_string_equal(str_buf_text(&b), rows[i].text);
        str_buf_done(&b);
    }
}

static void accept__chooses_the_format(void **state)
{
    static const struct {
        const char *accept;
        enum metrics_format format;
    } rows[] = {
        {"", METRICS_TEXT},
        {NULL, METRICS_TEXT},
        {"*/*", METRICS_TEXT},
        {"text/html", METRICS_TEXT},
        {"application/openmetrics-text", METRICS_OPEN},
        {"application/openmetrics-text; version=1.0.0; charset=utf-8", METRICS_OPEN},
        {"application/openmetrics-text;version=0.0.1", METRICS_TEXT},
        {"application/openmetrics-text;version=1.0.0;q=0", METRICS_TEXT},
        {"application/openmetrics-text;version=1.0.0;q=0.3,text/plain;version=0.0.4;q=0.5",
         METRICS_TEXT},
        /* Prometheus 2.x and 3.x */
        {"application/openmetrics-text;version=1.0.0;q=0.5,application/"
         "openmetrics-text;version=0.0.1;"
         "q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
         METRICS_OPEN},
        {"application/"
         "vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.7,"
         "text/plain;version=0.0.4;q=0.6,*/*;q=0.1",
         METRICS_TEXT},
        {"Application/OpenMetrics-Text;Version=1.0.0;Q=2", METRICS_TEXT},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(metrics_negotiate(rows[i].accept), rows[i].format);
    }
}

/* ---- collectors ------------------------------------------------------------------------------ */

static void set_pools(void *arg, struct metrics *m)
{
    int *n = arg;

    metrics_set(m, "test_pools", NULL, 0, ++*n);
}

static void collector__runs_at_each_print_until_it_is_removed(void **state)
{
    struct world *w = *state;
    int n = 0;

    metrics_add_collector(w->m, set_pools, &n);
    (void)print(w, METRICS_TEXT, "test_pools");
    assert_non_null(strstr(print(w, METRICS_TEXT, "test_pools"), "\ntest_pools 2\n"));
    metrics_remove_collector(w->m, set_pools, &n);
    metrics_remove_collector(w->m, set_pools, &n);
    (void)print(w, METRICS_TEXT, "test_pools");
    assert_int_equal(n, 2);
}

static void raise_and_reset__keep_their_word(void **state)
{
    struct world *w = *state;

    metrics_raise(w->m, "test_attempts", NULL, 0, 5);
    metrics_raise(w->m, "test_attempts", NULL, 0, 3);
    assert_true(metrics_value(w->m, "test_attempts", NULL, 0) == 5);
    metrics_add(w->m, "test_calls_total", NULL, 0, 1);
    metrics_reset(w->m, "test_calls_total");
    metrics_reset(w->m, "nobody");
    assert_string_equal(print(w, METRICS_TEXT, "test_calls"), "");
}

/* ---- threads --------------------------------------------------------------------------------- */

#define ROUNDS 300

struct racer {
    struct metrics *m;
    int number;
};

static void collect_nothing(void *arg, struct metrics *m)
{
    atomic_int *alive = arg;

    (void)m;
    assert_true(atomic_load(alive) == 1);
}

static void *race(void *arg)
{
    const struct racer *r = arg;
    char code[16];

    for (int i = 0; i < ROUNDS; i++) {
        atomic_int alive = 1;
        (void)snprintf(code, sizeof(code), "%d", i % 7);
        const struct tt_kv kv[] = {{"code", code}, {"zone", r->number % 2 == 0 ? "a" : "b"}};
        metrics_add_collector(r->m, collect_nothing, &alive);
        metrics_add(r->m, "test_calls_total", kv, 2, 1);
        metrics_observe(r->m, "test_zone_seconds", kv, 2, i);
        metrics_remove_collector(r->m, collect_nothing, &alive);
        atomic_store(&alive, 0);
        if (i % 50 == 0) {
            metrics_reset(r->m, "test_pools");
        }
    }
    return NULL;
}

static void many_threads__nothing_is_lost_and_every_print_is_whole(void **state)
{
    struct world *w = *state;
    pthread_t threads[4];
    struct racer racers[4];
    double sum = 0;

    for (int i = 0; i < 4; i++) {
        racers[i] = (struct racer){.m = w->m, .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
    }
    for (int i = 0; i < 20; i++) {
        (void)exposition_read(w->a, print(w, i % 2 == 0 ? METRICS_TEXT : METRICS_OPEN, "test_"),
                              i % 2 != 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    for (int code = 0; code < 7; code++) {
        char text[16];
        (void)snprintf(text, sizeof(text), "%d", code);
        sum += metrics_value(w->m, "test_calls_total",
                             (struct tt_kv[]){{"code", text}, {"zone", "a"}}, 2);
        sum += metrics_value(w->m, "test_calls_total",
                             (struct tt_kv[]){{"code", text}, {"zone", "b"}}, 2);
    }
    assert_true(sum == 4 * ROUNDS);
}

UNIT_MAIN(metrics_text)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(text__is_sorted_and_cumulative),
        T(open_metrics__differs_where_it_must),
        T(whole_registry__satisfies_a_strict_reader),
        T(labels_from_outside__are_escaped_cut_and_cleaned),
        T(too_many_series__are_counted_as_lost),
        T(all_metrics_together__have_a_limit_too),
        T(numbers__are_written_as_go_does),
        T(accept__chooses_the_format),
        T(collector__runs_at_each_print_until_it_is_removed),
        T(raise_and_reset__keep_their_word),
        T(many_threads__nothing_is_lost_and_every_print_is_whole),
    };
    return cmocka_run_group_tests_name("serve-metrics-text", tests, NULL, NULL);
}
