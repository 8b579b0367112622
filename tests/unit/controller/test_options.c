/* SPDX-License-Identifier: Apache-2.0 */
/* test_options.c: the command line: forms, defaults, upstream's error texts, what this version
 * refuses, feature gates, and vectors 219–224 of the controller's spec (--controllers). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "common/base/arena.h"
#include "controller/options/options.h"
#include "tests/support/unit.h"

#define MAX_WORDS 16

/* Splits a line at blanks; '' is an empty word. */
static int words_of(struct arena *a, const char *line, char **argv)
{
    size_t n = 0;
    char **parts = str_split(a, line, ' ', &n);
    int argc = 0;

    argv[argc++] = arena_strdup(a, "trimtab");
    for (size_t i = 0; i < n && argc < MAX_WORDS; i++) {
        if (parts[i][0] != '\0') {
            argv[argc++] = strcmp(parts[i], "''") == 0 ? arena_strdup(a, "") : parts[i];
        }
    }
    return argc;
}

static void collect_warning(void *arg, const char *text)
{
    struct str_buf *b = arg;

    str_appendf(b, "%s\n", text);
}

static int parse(struct arena *a, const char *line, struct options **ret, struct str_buf *warnings,
                 struct err *err)
{
    char *argv[MAX_WORDS];
    const struct options_input in = {.argc = words_of(a, line, argv),
                                     .argv = argv,
                                     .program = "cloud-controller-manager",
                                     .warn = warnings == NULL ? NULL : collect_warning,
                                     .warn_arg = warnings};

    return options_parse(&in, ret, err);
}

#define PARSED(line)                                                                               \
    _cleanup_(arena_freep) struct arena *a = arena_new();                                          \
    struct err err = ERR_INIT;                                                                     \
    struct options *o = NULL;                                                                      \
    assert_int_equal(ERR_OK, parse(a, line, &o, NULL, &err))

static void options__no_flags__upstreams_defaults(void **state)
{
    (void)state;
    PARSED("");

    assert_string_equal("", o->cloud_provider);
    assert_string_equal("kubernetes", o->cluster_name);
    assert_int_equal(10, o->concurrent_service_syncs);
    assert_true(o->leader_elect);
    assert_int_equal(10258, o->secure_port);
    assert_int_equal(15000, o->lease_duration_ms);
    assert_true(o->kube_qps == 20);
    assert_int_equal(30, o->kube_burst);
    assert_int_equal(1, o->controllers.n);
    assert_string_equal("*", o->controllers.items[0]);
    assert_int_equal(0, o->resync_period_ms);
    assert_false(o->strict_events);
    options_free(o);
}

static void options__all_forms__same_value(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "--v=4 --cluster-name=x --leader-elect=false", "--v 4 --cluster-name x --leader-elect=0",
        "-v 4 --cluster_name x --leader_elect=f",      "-v4 --cluster-name=x --leader-elect=False",
        "-v=4 --cluster_name=x --leader-elect=F",
    };
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        PARSED(lines[i]);
        assert_int_equal(4, o->verbosity);
        assert_string_equal("x", o->cluster_name);
        assert_false(o->leader_elect);
        options_free(o);
    }
}

static void options__lists__first_use_replaces_more_append(void **state)
{
    (void)state;
    PARSED("--controllers=a,b --controllers=-c --resync-period=1h30m");

    assert_int_equal(3, o->controllers.n);
    assert_string_equal("a", o->controllers.items[0]);
    assert_string_equal("-c", o->controllers.items[2]);
    assert_int_equal(5400000, o->resync_period_ms);
    options_free(o);
}

static const char *const upstreams_flags[] = {
    "--min-resync-period=1h",
    "--kube-api-content-type=application/json",
    "--controller-start-interval=1s",
    "--leader-elect-resource-lock=leases",
    "--leader-elect-resource-name=x",
    "--leader-elect-resource-namespace=x",
    "--enable-leader-migration",
    "--leader-migration-config=x",
    "--profiling=false",
    "--contention-profiling",
    "--allow-untagged-cloud",
    "--use-service-account-credentials",
    "--external-cloud-volume-plugin=x",
    "--route-reconciliation-period=10s",
    "--node-monitor-period=5s",
    "--cluster-cidr=10.0.0.0/8",
    "--allocate-node-cidrs",
    "--cidr-allocator-type=x",
    "--configure-cloud-routes=false",
    "--node-sync-period=0",
    "--concurrent-node-syncs=2",
    "--concurrent-node-status-updates=3",
    "--node-status-update-frequency=5m",
    "--master=http://x",
    "--kubeconfig=x",
    "--bind-address=::",
    "--disable-http2-serving",
    "--cert-dir=x",
    "--tls-cert-file=x",
    "--tls-private-key-file=x",
    "--tls-cipher-suites=a,b",
    "--tls-curve-preferences=29",
    "--tls-min-version=VersionTLS12",
    "--tls-sni-cert-key=a,b:c",
    "--http2-max-streams-per-connection=100",
    "--permit-port-sharing",
    "--permit-address-sharing",
    "--webhooks=x",
    "--webhook-secure-port=0",
    "--webhook-bind-address=x",
    "--webhook-cert-dir=x",
    "--webhook-tls-min-version=x",
    "--webhook-tls-cert-file=x",
    "--webhook-tls-private-key-file=x",
    "--webhook-tls-cipher-suites=x",
    "--authentication-kubeconfig=x",
    "--authentication-token-webhook-cache-ttl=10s",
    "--authentication-skip-lookup",
    "--authentication-tolerate-lookup-failure",
    "--client-ca-file=x",
    "--requestheader-username-headers=x",
    "--requestheader-uid-headers=x",
    "--requestheader-group-headers=x",
    "--requestheader-extra-headers-prefix=x",
    "--requestheader-client-ca-file=x",
    "--requestheader-allowed-names=x",
    "--authorization-kubeconfig=x",
    "--authorization-webhook-cache-authorized-ttl=1s",
    "--authorization-webhook-cache-unauthorized-ttl=1s",
    "--authorization-always-allow-paths=/a",
    "--vmodule=sync=4",
    "--logging-format=json",
    "--log-flush-frequency=5s",
    "--log-text-split-stream",
    "--log-json-split-stream",
    "--log-text-info-buffer-size=0",
    "--log-json-info-buffer-size=0",
    "--kube-api-qps=1.5",
    "--kube-api-burst=7",
    "--leader-elect-lease-duration=15s",
    "--leader-elect-renew-deadline=10s",
    "--leader-elect-retry-period=2s",
};

static void options__every_upstream_flag__is_accepted(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(upstreams_flags); i++) {
        _cleanup_(arena_freep) struct arena *a = arena_new();
        struct err err = ERR_INIT;
        struct options *o = NULL;
        if (parse(a, upstreams_flags[i], &o, NULL, &err) != ERR_OK) {
            fail_msg("%s: %s", upstreams_flags[i], err.message);
        }
        options_free(o);
    }
}

static void options__faults__upstreams_texts(void **state)
{
    (void)state;
    static const struct {
        const char *line, *want;
    } rows[] = {
        {"--logtostderr", "unknown flag: --logtostderr"},
        {"--kubecnfig=x", "unknown flag: --kubecnfig; did you mean --kubeconfig?"},
        {"-z", "unknown shorthand flag: 'z' in -z"},
        {"--cluster-name", "flag needs an argument: --cluster-name"},
        {"--leader-elect=maybe", "invalid argument \"maybe\" for \"--leader-elect\" flag: "
                                 "strconv.ParseBool: parsing \"maybe\": invalid syntax"},
        {"--concurrent-service-syncs=x",
         "invalid argument \"x\" for \"--concurrent-service-syncs\" flag: strconv.ParseInt: "
         "parsing "
         "\"x\": invalid syntax"},
        {"--secure-port=99999999999",
         "invalid argument \"99999999999\" for \"--secure-port\" flag: "
         "strconv.ParseInt: parsing \"99999999999\": value out of range"},
        {"--kube-api-qps=fast", "invalid argument \"fast\" for \"--kube-api-qps\" flag: "
                                "strconv.ParseFloat: parsing \"fast\": invalid syntax"},
        {"--min-resync-period=12",
         "invalid argument \"12\" for \"--min-resync-period\" flag: time: "
         "missing unit in duration \"12\""},
        {"-v=x", "invalid argument \"x\" for \"-v, --v\" flag: strconv.ParseInt: parsing \"x\": "
                 "invalid syntax"},
        {"--v=1 x y",
         "\"cloud-controller-manager\" does not take any arguments, got [\"x\" \"y\"]"},
        {"-- --v=1", "\"cloud-controller-manager\" does not take any arguments, got [\"--v=1\"]"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(arena_freep) struct arena *a = arena_new();
        struct err err = ERR_INIT;
        struct options *o = NULL;
        assert_int_equal(ERR_INVALID, parse(a, rows[i].line, &o, NULL, &err));
        assert_string_equal(rows[i].want, err.message);
    }
}

static void options__deprecated__warned(void **state)
{
    (void)state;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    struct err err = ERR_INIT;
    struct options *o = NULL;

    assert_int_equal(ERR_OK, parse(a, "--node-sync-period=10s", &o, &b, &err));
    assert_string_equal("Flag --node-sync-period has been deprecated, This flag is currently no-op "
                        "and will be deleted.\n",
                        str_buf_text(&b));
    options_free(o);
}

#define ELECTED "--cloud-provider=gce --secure-port=0 "
#define FINE    "--cloud-provider=gce --leader-elect=false --secure-port=0 "

static void options_validate__faults__all_at_once(void **state)
{
    (void)state;
    static const struct {
        const char *line, *want;
    } rows[] = {
        {FINE, ""},
        {FINE "--cloud-provider=''", "--cloud-provider cannot be empty"},
        {FINE "--concurrent-service-syncs=0", "concurrent-service-syncs must be a positive number"},
        {FINE "--concurrent-node-syncs=0 --controllers=foo",
         "[\"foo\" is not in the list of known controllers, concurrent-node-syncs must be a "
         "positive "
         "number]"},
        {FINE "--drift=report --drift-period=1m", ""},
        {FINE "--drift=mend",
         "--drift: \"mend\" is not supported, only \"off\", \"report\" and \"repair\""},
        {FINE "--drift=repair --drift-period=59s", "drift-period must be at least 1m0s"},
        {FINE "--logging-format=xml", "format: Invalid value: \"xml\": Unsupported log format"},
        {ELECTED, ""},
        {ELECTED "--leader-elect-lease-duration=5s",
         "leaseDuration must be greater than renewDeadline"},
        {ELECTED "--leader-elect-lease-duration=15s --leader-elect-renew-deadline=15s", /* 155 */
         "leaseDuration must be greater than renewDeadline"},
        {ELECTED "--leader-elect-lease-duration=10900ms --leader-elect-renew-deadline=10500ms",
         "leaseDuration must be greater than renewDeadline"},
        {ELECTED "--leader-elect-renew-deadline=2s", /* 156 */
         "renewDeadline must be greater than retryPeriod*JitterFactor"},
        {ELECTED "--leader-elect-retry-period=0s", "retryPeriod must be greater than zero"},
        {ELECTED "--leader-elect-renew-deadline=0s --leader-elect-retry-period=0s",
         "[renewDeadline must be greater than retryPeriod*JitterFactor, renewDeadline must be "
         "greater than zero, retryPeriod must be greater than zero]"},
        {ELECTED "--leader-elect-lease-duration=900ms --leader-elect-renew-deadline=500ms "
                 "--leader-elect-retry-period=100ms",
         "leaseDuration must be a second or more"},
        {ELECTED "--leader-elect-resource-lock=endpoints",
         "--leader-elect-resource-lock: \"endpoints\" is not supported, only \"leases\""},
        {ELECTED "--leader-elect-resource-name= --leader-elect-resource-namespace=",
         "[--leader-elect-resource-name cannot be empty, --leader-elect-resource-namespace cannot "
         "be empty]"},
        {FINE "--leader-elect-lease-duration=5s", ""}, /* not asked for */
        {FINE "--enable-leader-migration --leader-migration-config=/x", ""},
        {FINE "--leader-migration-config=/x",
         "--leader-migration-config has no effect without --enable-leader-migration"},
        {FINE "--controllers=*,-cloud-node,-route,-cloud-node-lifecycle,-nodeipam", ""},
        {FINE "--controllers=service,gke-service", ""},
        {FINE "--controllers=*,cloud-node",
         "--controllers: \"cloud-node\" is not part of trimtab, which has "
         "\"service-lb-controller\" only: leave it out here, and run your cloud's Go "
         "cloud-controller-manager beside it with --controllers=*,-service-lb-controller"},
        {FINE "--controllers=gkenetworkparamset",
         "--controllers: \"gkenetworkparamset\" is not part of trimtab, which has "
         "\"service-lb-controller\" only: leave it out here, and run your cloud's Go "
         "cloud-controller-manager beside it with --controllers=*,-service-lb-controller"},
        {"--cloud-provider=gce", ""},
        {FINE "--secure-port=65536",
         "--secure-port 65536 must be between 0 and 65535, inclusive. 0 for turning off secure "
         "port"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(arena_freep) struct arena *a = arena_new();
        struct err err = ERR_INIT;
        struct options *o = NULL;
        char *argv[MAX_WORDS];
        char *line = str_replace(a, rows[i].line, "--cloud-provider=''", "--cloud-provider=");
        const struct options_input in = {
            .argc = words_of(a, line, argv), .argv = argv, .program = "trimtab"};
        assert_int_equal(ERR_OK, options_parse(&in, &o, &err));
        int rc = options_validate(o, &err);
        assert_string_equal(rows[i].want, err.message);
        assert_int_equal(rows[i].want[0] == '\0' ? ERR_OK : ERR_INVALID, rc);
        options_free(o);
    }
}

static void options_gates__as_upstream(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want, *warned;
    } rows[] = {
        {"", "", ""},
        {"ContextualLogging=true,AllAlpha=false", "", ""},
        {"Foo=true", "", "unrecognized feature gate: Foo\n"},
        {"Foo", "missing bool value for Foo", ""},
        {"AllAlpha=x",
         "invalid value of AllAlpha=x, err: strconv.ParseBool: parsing \"x\": invalid syntax", ""},
        {"ComponentSLIs=false",
         "cannot set feature gate ComponentSLIs to false, feature is locked to true", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(arena_freep) struct arena *a = arena_new();
        _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
        struct err err = ERR_INIT;
        int rc = options_check_gates(a, rows[i].text, collect_warning, &b, &err);
        assert_int_equal(rows[i].want[0] == '\0' ? ERR_OK : ERR_INVALID, rc);
        assert_string_equal(rows[i].want, err.message);
        assert_string_equal(rows[i].warned, str_buf_text(&b));
    }
}

static void options__controllers_of_googles_program__are_known(void **state)
{
    (void)state;
    static const char *const known[] = {"*", "-gke-service", "gkenetworkparamset", "nodeipam"};
    static const char *const unknown[] = {"*", "-gke-services"};
    assert_null(options_unknown_controller(known, ARRAY_LEN(known)));
    assert_string_equal("gke-services", options_unknown_controller(unknown, ARRAY_LEN(unknown)));
    assert_true(options_service_controller_in(known, ARRAY_LEN(known)));
    /* Google's second service controller is off unless it is named; the first item that
     * names it decides. */
    static const struct {
        const char *items[3];
        bool on;
    } second[] = {{{"*"}, false},
                  {{"*", "gke-service-lb-controller"}, true},
                  {{"*", "gke-service"}, true},
                  {{"gke-service-lb-controller"}, true},
                  {{"*", "-gke-service-lb-controller"}, false},
                  {{"-gke-service", "gke-service-lb-controller"}, false}};
    for (size_t i = 0; i < ARRAY_LEN(second); i++) {
        struct arena *a = arena_new();
        size_t n = 0;
        while (n < ARRAY_LEN(second[i].items) && second[i].items[n] != NULL) {
            n++;
        }
        assert_int_equal(options_more_controllers(a, second[i].items, n) != NULL, second[i].on);
        arena_free(a);
    }
}

static void options__vectors_219_to_224__is_the_service_controller_on(void **state)
{
    (void)state;
    static const struct {
        int row;
        const char *controllers;
        bool on;
    } rows[] = {
        {219, "*", true},
        {220, "-service-lb-controller,*", false},
        {220, "*,-service-lb-controller", false},
        {221, "service-lb-controller", true},
        {222, "service", true},
        {223, "service-lb-controller,-service-lb-controller", true},
        {224, "cloud-node-controller", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(arena_freep) struct arena *line_arena = arena_new();
        PARSED(arena_printf(line_arena, "--controllers=%s", rows[i].controllers));
        if (options_service_controller_on(o) != rows[i].on) {
            fail_msg("row %d: %s", rows[i].row, rows[i].controllers);
        }
        options_free(o);
    }
}

static const struct tt_option extra[] = {
    {"enable-x", TT_OPTION_BOOL, 0, "true", "x"},
    {"a-token", TT_OPTION_STRING, 1, "", "secret"},
    {"grace", TT_OPTION_DURATION, 0, "1m", "how long"},
    {"count", TT_OPTION_INT, 0, "3", "how many"},
    {"names", TT_OPTION_LIST, 0, "a,b", "which"},
};

static void options__of_the_provider__handed_over_sorted(void **state)
{
    (void)state;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    char *argv[MAX_WORDS];
    struct err err = ERR_INIT;
    struct options *o = NULL;
    const struct options_input in = {
        .argc = words_of(a, "--grace=1.5s --names=c --names=d --repair-adopted", argv),
        .argv = argv,
        .extra = extra,
        .n_extra = ARRAY_LEN(extra),
        .program = "trimtab"};
    static const char *const want[][2] = {{"a-token", ""},      {"count", "3"},
                                          {"enable-x", "true"}, {"grace", "1500"},
                                          {"names", "c,d"},     {"repair-adopted", "true"}};

    assert_int_equal(ERR_OK, options_parse(&in, &o, &err));
    assert_int_equal(ARRAY_LEN(want), o->n_provider_values);
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        assert_string_equal(want[i][0], o->provider_values[i].key);
        assert_string_equal(want[i][1], o->provider_values[i].value);
    }
    options_free(o);
}

static void options_peek__finds_the_provider_among_unknown_flags(void **state)
{
    (void)state;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    char *argv[MAX_WORDS];
    int argc = words_of(
        a, "--unknown=1 --strange --cloud_provider pool --provider-plugin-dir=/p -x", argv);
    struct option_peek peek = options_peek(a, argc, argv);

    assert_string_equal("pool", peek.cloud_provider);
    assert_string_equal("/p", peek.plugin_dir);
}

static void options_help__shows_sections_and_the_providers_flags(void **state)
{
    (void)state;
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;

    options_help(&b, extra, ARRAY_LEN(extra));
    const char *text = str_buf_text(&b);
    assert_non_null(strstr(text, "\nGeneric flags:\n"));
    assert_non_null(strstr(text, "  -v, --v int\n"));
    assert_non_null(strstr(text, "      --kube-api-qps float\n"));
    assert_non_null(strstr(text, "\nFlags of the provider:\n"));
    assert_non_null(
        strstr(text, "      --grace duration\n                how long (default 1m)\n"));
}

UNIT_MAIN(options)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options__no_flags__upstreams_defaults),
        cmocka_unit_test(options__all_forms__same_value),
        cmocka_unit_test(options__lists__first_use_replaces_more_append),
        cmocka_unit_test(options__every_upstream_flag__is_accepted),
        cmocka_unit_test(options__faults__upstreams_texts),
        cmocka_unit_test(options__deprecated__warned),
        cmocka_unit_test(options_validate__faults__all_at_once),
        cmocka_unit_test(options_gates__as_upstream),
        cmocka_unit_test(options__vectors_219_to_224__is_the_service_controller_on),
        cmocka_unit_test(options__controllers_of_googles_program__are_known),
        cmocka_unit_test(options__of_the_provider__handed_over_sorted),
        cmocka_unit_test(options_peek__finds_the_provider_among_unknown_flags),
        cmocka_unit_test(options_help__shows_sections_and_the_providers_flags),
    };
    return cmocka_run_group_tests_name("controller-options", tests, NULL, NULL);
}
