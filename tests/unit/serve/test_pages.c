/* SPDX-License-Identifier: Apache-2.0 */
/* test_pages.c: the pages: what they answer, that no secret is on them, and that they hold what a
 * Go cloud-controller-manager 1.36 was seen to serve (tests/data/ccm-1.36), our supersets by name.
 *
 * `test_serve_pages print` writes /metrics to stdout instead: for promtool. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/file.h"
#include "common/base/log.h"
#include "common/data/json.h"
#include "controller/metrics/metrics_process.h"
#include "controller/metrics/metrics_text.h"
#include "controller/serve/pages.h"
#include "providers/builtin.h"
#include "tests/support/clock_fake.h"
#include "tests/support/unit.h"
#include "tests/unit/serve/exposition.h"

#define SECRET "hunter2-is-not-shown"
/* Wed Oct 16 21:03:43 UTC 2024 */
#define STARTED_US ((int64_t)1729112623 * 1000000)

struct world {
    struct arena *a;
    struct clock *clock;
    struct options *options;
    struct pages_args args;
    struct page pages[PAGES_MAX];
    size_t n_pages;
    struct page_answer answer;
};

static const struct tt_option extra[] = {
    {.name = "fake-key", .type = TT_OPTION_STRING, .help = "A key", .secret = 1},
    {.name = "fake-zones", .type = TT_OPTION_LIST, .help = "Zones"},
};

static void world_start(struct world *w, const char *more)
{
    char *argv[] = {"trimtab",          "--cloud-provider=fake",  "--fake-key=" SECRET,
                    "--fake-zones=a,b", "--controllers=*,-route", "--kube-api-qps=7.5",
                    (char *)more};
    const struct options_input in = {
        .argc = 7, .argv = argv, .extra = extra, .n_extra = 2, .program = "trimtab"};
    struct err err = ERR_INIT;

    *w = (struct world){.a = arena_new(), .clock = clock_fake_new(0, STARTED_US)};
    assert_int_equal(options_parse(&in, &w->options, &err), ERR_OK);
    w->args = (struct pages_args){.options = w->options,
                                  .metrics = metrics_new(),
                                  .clock = w->clock,
                                  .started_us = STARTED_US};
    w->args.health = health_new(w->args.metrics);
    metrics_add_process(w->args.metrics, w->options);
    w->n_pages = pages_fill(&w->args, w->pages, PAGES_MAX);
}

static void world_stop(struct world *w)
{
    health_free(w->args.health);
    metrics_free(w->args.metrics);
    options_free(w->options);
    clock_fake_free(w->clock);
    str_buf_done(&w->answer.body);
    arena_free(w->a);
}

static int set_up(void **state)
{
    static struct world w;

    world_start(&w, "--v=0");
    *state = &w;
    return 0;
}

static int tear_down(void **state)
{
    world_stop(*state);
    return 0;
}

/* The page of a path, as the server looks it up: the longest that fits; NULL: 404. */
static const struct page *page_of(const struct world *w, const char *path)
{
    const struct page *best = NULL;

    for (size_t i = 0; i < w->n_pages; i++) {
        const struct page *p = &w->pages[i];
        size_t n = strlen(p->path);
        bool fits =
            strncmp(path, p->path, n) == 0 && (path[n] == '\0' || (p->below && path[n] == '/'));
        if (fits && (best == NULL || n > strlen(best->path))) {
            best = p;
        }
    }
    return best;
}

static int ask_with(struct world *w, const char *method, const char *path, const char *accept,
                    const char *body)
{
    const char *query = strchrnul(path, '?');
    const struct page_request req = {
        .a = w->a,
        .method = method,
        .path = arena_strndup(w->a, path, (size_t)(query - path)),
        .query = *query == '?' ? query + 1 : "",
        .accept = accept,
        .body = body,
        .body_len = strlen(body),
    };
    const struct page *p = page_of(w, req.path);

    str_buf_done(&w->answer.body);
    w->answer = (struct page_answer){.status = 200, .content_type = PAGE_TEXT};
    if (p == NULL) {
        return 404;
    }
    unsigned m = str_eq(method, "GET")   ? PAGE_METHOD_GET
                 : str_eq(method, "PUT") ? PAGE_METHOD_PUT
                                         : PAGE_METHOD_DELETE;
    if ((p->methods & m) == 0) {
        return 405;
    }
    p->answer(p->arg, &req, &w->answer);
    return w->answer.status;
}

static int get(struct world *w, const char *path)
{
    return ask_with(w, "GET", path, "", "");
}

static const char *body(const struct world *w)
{
    return str_buf_text(&w->answer.body);
}

static const char *data(struct world *w, const char *name)
{
    char *text = NULL;
    size_t n = 0;
    struct err err = ERR_INIT;
    const char *path = arena_printf(w->a, "%s/ccm-1.36/%s", getenv("TRIMTAB_TEST_DATA"), name);

    if (file_read(w->a, path, 1 << 20, &text, &n, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
    return text;
}

/* ---- against upstream ------------------------------------------------------------------------ */

/* Pages that a Go controller answers with 404 by default, and trimtab does not. */
static const char *const supersets[] = {"/statusz", "/flagz", "/livez/verbose", "/readyz/verbose",
                                        "/healthz/leaderElection"};

static bool is_superset(const char *path)
{
    for (size_t i = 0; i < ARRAY_LEN(supersets); i++) {
        if (str_eq(path, supersets[i])) {
            return true;
        }
    }
    return false;
}

static bool fine(void *arg, char *why, size_t n)
{
    (void)arg;
    (void)why;
    (void)n;
    return true;
}

static void paths__answer_as_upstream_does(void **state)
{
    struct world *w = *state;
    struct json_object *all = NULL;
    const char *text = data(w, "endpoints.json");
    size_t n = 0;

    assert_int_equal(json_parse_arena(w->a, text, strlen(text), NULL, &all, NULL), ERR_OK);
    health_add(w->args.health, "leaderElection", HEALTH_Z, fine, NULL);
    health_add(w->args.health, "verbose", HEALTH_LIVE | HEALTH_READY, fine, NULL);
    json_object_object_foreach(all, path, answer)
    {
        int theirs = (int)json_int(answer, "status", 0);
        int ours = get(w, path);
        bool named = is_superset(path);
        if (ours != (named ? 200 : theirs)) {
            fail_msg("%s: %d, upstream %d", path, ours, theirs);
        }
        n += named;
    }
    assert_int_equal(n, ARRAY_LEN(supersets));
}

/* Of upstream's metrics, those that mean nothing here; a final '*' stands for what follows. */
static const struct {
    const char *name;
    const char *why;
} left_out[] = {
    {"aggregator_*", "of the API server's library; always 0 in a controller"},
    {"apiserver_audit_*", "the same"},
    {"apiserver_client_certificate_expiration_seconds", "the same"},
    {"apiserver_envelope_*", "the same"},
    {"apiserver_storage_*", "the same"},
    {"apiserver_validation_*", "the same"},
    {"apiserver_webhooks_*", "the same"},
    {"cardinality_enforcement_unexpected_categorizations_total",
     "of --allow-metric-labels, which a cloud-controller-manager has not"},
    {"cloudprovider_aws_*", "of the provider for AWS"},
    {"node_controller_*", "of a controller for nodes"},
    {"tagging_controller_*", "of AWS' controller for tags"},
};

static bool is_left_out(const char *name, bool used[])
{
    for (size_t i = 0; i < ARRAY_LEN(left_out); i++) {
        const char *pattern = left_out[i].name;
        size_t n = strlen(pattern);
        bool match =
            pattern[n - 1] == '*' ? strncmp(name, pattern, n - 1) == 0 : strcmp(name, pattern) == 0;
        if (match) {
            used[i] = true;
            return true;
        }
    }
    return false;
}

static int cmp_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* name, type, sorted labels, buckets: as a row of metrics.tsv. */
static const char *row_of(struct arena *a, const struct tt_metric *m)
{
    static const char *const types[] = {[TT_METRIC_COUNTER] = "counter",
                                        [TT_METRIC_GAUGE] = "gauge",
                                        [TT_METRIC_HISTOGRAM] = "histogram"};
    const char **labels = ARENA_ARRAY(a, const char *, m->n_labels + 1);
    struct str_buf b = STR_BUF_INIT;

    for (uint32_t i = 0; i < m->n_labels; i++) {
        labels[i] = m->labels[i];
    }
    qsort(labels, m->n_labels, sizeof(labels[0]), cmp_text);
    str_appendf(&b, "%s\t%s\t%s\t", m->name, types[m->type], str_join(a, labels, m->n_labels, ","));
    for (uint32_t i = 0; i < m->n_buckets; i++) {
        metrics_append_number(&b, m->buckets[i]);
        str_append_c(&b, ',');
    }
    str_append(&b, m->type == TT_METRIC_HISTOGRAM ? "+Inf" : "");
    const char *row = str_buf_to_arena(&b, a);
    str_buf_done(&b);
    return row;
}

static const struct tt_metric *find_metric(const char *name)
{
    for (size_t i = 0; i < metrics_own_n; i++) {
        if (str_eq(metrics_own[i].name, name)) {
            return &metrics_own[i];
        }
    }
    for (size_t i = 0; i < metrics_process_n; i++) {
        if (str_eq(metrics_process[i].name, name)) {
            return &metrics_process[i];
        }
    }
    return NULL;
}

/* Each row of metrics.tsv is a metric here, with its type, labels and buckets, or is left out
 * for a reason. */
static void metrics__are_upstreams(void **state)
{
    struct world *w = *state;
    bool used[ARRAY_LEN(left_out)] = {false};
    size_t n = 0;
    size_t have = 0;
    char **rows = str_split(w->a, data(w, "metrics.tsv"), '\n', &n);

    for (size_t i = 1; i < n && rows[i][0] != '\0'; i++) {
        const char *name = arena_strndup(w->a, rows[i], strcspn(rows[i], "\t"));
        const struct tt_metric *m = find_metric(name);
        if (is_left_out(name, used)) {
            assert_null(m);
            continue;
        }
        if (m == NULL) {
            fail_msg("%s is not here", name);
            return;
        }
        assert_string_equal(row_of(w->a, m), rows[i]);
        have++;
    }
    assert_int_equal(have, 36);
    for (size_t i = 0; i < ARRAY_LEN(left_out); i++) {
        if (!used[i]) {
            fail_msg("%s is not upstream's", left_out[i].name);
        }
    }
}

/* ---- pages ----------------------------------------------------------------------------------- */

static void metrics__the_page_and_its_headers(void **state)
{
    struct world *w = *state;

    assert_int_equal(get(w, "/metrics"), 200);
    assert_string_equal(w->answer.content_type, "text/plain; version=0.0.4; charset=utf-8");
    assert_int_equal(w->answer.n_headers, 1);
    assert_string_equal(w->answer.headers[0].name, "Process-Start-Time-Unix");
    assert_string_equal(w->answer.headers[0].value, "1729112623");
    const struct exposition *x = exposition_read(w->a, body(w), false);
    const char *rss = map_get(x->samples, "process_resident_memory_bytes");
    assert_true(strtod(rss, NULL) > 100000);
    assert_true(strtod(map_get(x->samples, "process_open_fds"), NULL) >= 3);
    assert_true(strtod(map_get(x->samples, "process_max_fds"), NULL) >= 64);
    assert_true(strtod(map_get(x->samples, "process_virtual_memory_bytes"), NULL) >
                strtod(rss, NULL));
    /* It was started before now, and after the machine was. */
    double started = strtod(map_get(x->samples, "process_start_time_seconds"), NULL);
    double now = (double)clock_wall_us(clock_real()) / 1e6;
    assert_true(started > now - 3600 && started < now + 2);
    assert_string_equal(map_get(x->samples, "rest_client_exec_plugin_ttl_seconds"), "+Inf");
    assert_string_equal(
        map_get(x->samples,
                "kubernetes_feature_enabled{name=\"ContextualLogging\",stage=\"BETA\"}"),
        "1");
    assert_int_equal(ask_with(w, "GET", "/metrics", "application/openmetrics-text", ""), 200);
    (void)exposition_read(w->a, body(w), true);
    assert_int_equal(ask_with(w, "DELETE", "/metrics", "", ""), 405);
}

static void slis__show_health_checks_and_are_reset(void **state)
{
    struct world *w = *state;

    health_add(w->args.health, "leaderElection", HEALTH_Z, fine, NULL);
    assert_int_equal(get(w, "/healthz"), 200);
    assert_int_equal(get(w, "/metrics/slis"), 200);
    const struct exposition *x = exposition_read(w->a, body(w), false);
    assert_int_equal(map_size(x->families), 2);
    assert_string_equal(
        map_get(x->samples, "kubernetes_healthcheck{name=\"leaderElection\",type=\"healthz\"}"),
        "1");
    assert_int_equal(ask_with(w, "DELETE", "/metrics/slis", "", ""), 200);
    assert_string_equal(body(w), "metrics reset\n");
    assert_int_equal(get(w, "/metrics/slis"), 200);
    assert_string_equal(body(w), "");
}

static void configz__is_the_go_struct_and_hides_secrets(void **state)
{
    struct world *w = *state;
    struct json_object *o = NULL;
    struct err err = ERR_INIT;

    assert_int_equal(get(w, "/configz"), 200);
    assert_string_equal(w->answer.content_type, PAGE_JSON);
    if (json_parse_arena(w->a, body(w), w->answer.body.len, NULL, &o, &err) != ERR_OK) {
        fail_msg("%s in %s", err.message, body(w));
    }
    struct json_object *c = json_member(o, "cloudcontrollermanager.config.k8s.io");
    assert_string_equal(json_str(json_path(c, "Generic.LeaderElection"), "ResourceName"),
                        "cloud-controller-manager");
    assert_string_equal(json_str(json_path(c, "Generic.LeaderElection"), "LeaseDuration"), "15s");
    assert_true(json_bool(json_path(c, "Generic.LeaderElection"), "LeaderElect", false));
    assert_int_equal(json_int(json_path(c, "Generic.ClientConnection"), "Burst", 0), 30);
    assert_true(json_object_get_double(json_path(c, "Generic.ClientConnection.QPS")) == 7.5);
    assert_string_equal(json_object_to_json_string_ext(json_path(c, "Generic.Controllers"), 0),
                        "[\"*\",\"-route\"]");
    assert_string_equal(json_str(json_path(c, "KubeCloudShared.CloudProvider"), "Name"), "fake");
    assert_int_equal(json_int(json_path(c, "ServiceController"), "ConcurrentServiceSyncs", 0), 10);
    assert_string_equal(json_str(c, "NodeStatusUpdateFrequency"), "5m0s");
    assert_int_equal(json_object_object_length(c), 6);
    struct json_object *ours = json_member(o, "trimtab");
    assert_string_equal(json_str(ours, "fake-key"), "***");
    assert_string_equal(json_object_to_json_string_ext(json_member(ours, "fake-zones"), 0),
                        "[\"a\",\"b\"]");
    assert_string_equal(json_str(ours, "drift"), "off");
    assert_null(json_member(ours, "leader-elect"));
    assert_null(strstr(body(w), SECRET));
}

static void statusz__says_since_when_and_what(void **state)
{
    struct world *w = *state;

    clock_fake_advance(w->clock, ((int64_t)26 * 3600 + 3 * 60 + 4) * 1000);
    assert_int_equal(get(w, "/statusz"), 200);
    assert_true(str_has_prefix(body(w), "\ncloud-controller-manager statusz\nWarning: "));
    assert_non_null(strstr(body(w), "\n\nStarted: Wed Oct 16 21:03:43 UTC 2024\n"
                                    "Up: 26 hr 03 min 04 sec\nGo version: none"));
    assert_non_null(strstr(body(w), "\nBinary version: " TRIMTAB_VERSION "\n"));
    assert_non_null(strstr(body(w), "\nPaths: /configz /debug/flags /flagz /healthz /livez "
                                    "/metrics /metrics/slis /readyz /status /statusz\n"));
    assert_int_equal(ask_with(w, "GET", "/statusz", "application/json", ""), 406);
    assert_int_equal(ask_with(w, "GET", "/statusz", "application/json, text/plain;q=0.5", ""), 200);
}

static void flagz__lists_all_flags_and_hides_secrets(void **state)
{
    struct world *w = *state;

    assert_int_equal(get(w, "/flagz"), 200);
    assert_true(str_has_prefix(body(w), "\ncloud-controller-manager flags\nWarning: "));
    assert_non_null(strstr(body(w), "\n\nallocate-node-cidrs=false\nallow-untagged-cloud=false\n"));
    assert_non_null(strstr(body(w), "\nfake-key=***\nfake-zones="));
    assert_non_null(strstr(body(w), "\nkube-api-qps=7.5\n"));
    assert_null(strstr(body(w), SECRET));
}

static void debug_flags__set_the_level_of_the_log(void **state)
{
    struct world *w = *state;
    int before = log_verbosity();
    static const char *const bad[] = {"", "x", "-1", "4 5", "99999999999", "1.5"};

    assert_int_equal(ask_with(w, "PUT", "/debug/flags/v", "", "5"), 200);
    assert_string_equal(body(w), "successfully set klog.logging.verbosity to 5");
    assert_int_equal(log_verbosity(), 5);
    assert_true(log_enabled(5, __FILE__));
    assert_false(log_enabled(6, __FILE__));
    assert_int_equal(get(w, "/debug/flags/v"), 200);
    assert_string_equal(body(w), "5\n");
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_int_equal(ask_with(w, "PUT", "/debug/flags/v", "", bad[i]), 400);
        assert_int_equal(log_verbosity(), 5);
    }
    assert_string_equal(body(w),
                        "failed to set klog.logging.verbosity: \"1.5\" is not a number from "
                        "0\n");
    assert_int_equal(ask_with(w, "PUT", "/debug/flags/v", "", "0\n"), 200);
    assert_int_equal(ask_with(w, "PUT", "/debug/flags/w", "", "1"), 404);
    assert_int_equal(ask_with(w, "PUT", "/debug/flags", "", "1"), 404);
    assert_int_equal(get(w, "/debug/flags"), 200);
    assert_string_equal(body(w), "v\n");
    log_set_verbosity(before);
}

static void pprof__is_not_there_and_says_why(void **state)
{
    struct world *w = *state;

    assert_int_equal(get(w, "/debug/pprof/heap"), 404);
    assert_non_null(strstr(body(w), "perf record"));
}

static void profiling_off__nothing_is_below_debug(void **state)
{
    struct world w;

    (void)state;
    world_start(&w, "--profiling=false");
    assert_int_equal(get(&w, "/debug/flags/v"), 404);
    assert_null(page_of(&w, "/debug/pprof"));
    assert_int_equal(get(&w, "/statusz"), 200);
    assert_null(strstr(body(&w), "/debug"));
    world_stop(&w);
}

static void gates__follow_the_flag(void **state)
{
    struct world w;
    const struct tt_kv webhook[] = {{"name", "CloudControllerManagerWebhook"}, {"stage", "ALPHA"}};
    const struct tt_kv beta[] = {{"name", "LoggingBetaOptions"}, {"stage", "BETA"}};
    const struct tt_kv context[] = {{"name", "ContextualLogging"}, {"stage", "BETA"}};

    (void)state;
    world_start(&w, "--feature-gates=AllBeta=false,CloudControllerManagerWebhook=true,"
                    "ContextualLogging=true");
    assert_true(metrics_value(w.args.metrics, METRIC_FEATURES, webhook, 2) == 1);
    assert_true(metrics_value(w.args.metrics, METRIC_FEATURES, beta, 2) == 0);
    assert_true(metrics_value(w.args.metrics, METRIC_FEATURES, context, 2) == 1);
    world_stop(&w);
}

/* A value for each metric; of the three calls one is for its type. */
static void fill(struct metrics *m, const struct tt_metric *table, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        metrics_add(m, table[i].name, NULL, 0, 1);
        metrics_set(m, table[i].name, NULL, 0, 1);
        metrics_observe(m, table[i].name, NULL, 0, 1);
    }
}

static int print_metrics(void)
{
    struct world w;
    size_t n = 0;
    const struct tt_provider *const *providers = trimtab_builtin_providers(&n);

    world_start(&w, "--v=0");
    fill(w.args.metrics, metrics_own, metrics_own_n);
    fill(w.args.metrics, metrics_process, metrics_process_n);
    for (size_t i = 0; i < n; i++) {
        (void)metrics_register(w.args.metrics, providers[i]->metrics, providers[i]->n_metrics);
        fill(w.args.metrics, providers[i]->metrics, providers[i]->n_metrics);
    }
    (void)get(&w, "/metrics");
    bool ok = fwrite(body(&w), 1, w.answer.body.len, stdout) == w.answer.body.len;
    world_stop(&w);
    return ok ? 0 : 1;
}

UNIT_MAIN(pages)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(paths__answer_as_upstream_does),
        T(metrics__are_upstreams),
        T(metrics__the_page_and_its_headers),
        T(slis__show_health_checks_and_are_reset),
        T(configz__is_the_go_struct_and_hides_secrets),
        T(statusz__says_since_when_and_what),
        T(flagz__lists_all_flags_and_hides_secrets),
        T(debug_flags__set_the_level_of_the_log),
        T(pprof__is_not_there_and_says_why),
        cmocka_unit_test(profiling_off__nothing_is_below_debug),
        cmocka_unit_test(gates__follow_the_flag),
    };
    return cmocka_run_group_tests_name("serve-pages", tests, NULL, NULL);
}

/* For tests/interop/promtool_test.py. */
UNIT_MAIN(print_metrics)
{
    return print_metrics();
}
