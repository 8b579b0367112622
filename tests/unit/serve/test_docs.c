/* SPDX-License-Identifier: Apache-2.0 */
/* test_docs.c: docs/flags.md and docs/metrics.md are printed from the tables of the code, and say
 * of each flag whose it is.
 *
 * TRIMTAB_UPDATE_GOLDEN=1 writes the pages' tables again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "controller/metrics/metrics_text.h"
#include "controller/options/options.h"
#include "controller/serve/access_metrics.h"
#include "providers/builtin.h"
#include "tests/support/doc_page.h"
#include "tests/support/unit.h"

static int set_up(void **state)
{
    *state = arena_new();
    return 0;
}

static int tear_down(void **state)
{
    arena_free(*state);
    return 0;
}

static const char *cell(struct arena *a, const char *text)
{
    return str_is_empty(text) ? "–" : str_replace(a, str_replace(a, text, "<", "&lt;"), "|", "\\|");
}

/* ---- flags ----------------------------------------------------------------------------------- */

static const char *effect_of(struct arena *a, const struct option_def *d)
{
    const char *help =
        str_is_empty(d->help) ? "of another controller: accepted, no effect" : cell(a, d->help);
    return d->deprecated == NULL ? help
                                 : arena_printf(a, "%s. Deprecated: %s", help, d->deprecated);
}

/* Which program has a flag of options_table: "Kubernetes" (its cloud-controller-manager),
 * "cloud-provider-azure", "trimtab". */
static const char *option_origin(const char *name)
{
    static const char *const ours[] = {
        "allow-writable-plugins", "drift",
        "drift-period",           "provider-call-deadline",
        "provider-plugin-dir",    "provider-quarantine",
        "orphan-guard",           "progress-deadline",
        "repair-adopted",         "resync-period",
        "service-annotations",    "service-conditions",
        "strict-upstream-events",
    };
    static const char *const azure[] = {"cloud-config-key", "cloud-config-secret-name",
                                        "cloud-config-secret-namespace",
                                        "enable-dynamic-reloading"};

    for (size_t i = 0; i < ARRAY_LEN(ours); i++) {
        if (strcmp(ours[i], name) == 0) {
            return "trimtab";
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(azure); i++) {
        if (strcmp(azure[i], name) == 0) {
            return "cloud-provider-azure";
        }
    }
    return "Kubernetes";
}

static const char *flags_table(struct arena *a)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    const char *section = "";

    for (size_t i = 0; i < options_table_n; i++) {
        const struct option_def *d = &options_table[i];
        if (!str_eq(section, d->section)) {
            section = d->section;
            str_appendf(
                &b, "\n## %s\n\n| flag | default | of | what it does here |\n|---|---|---|---|\n",
                section);
        }
        const char *text =
            str_is_empty(d->default_text) ? "–" : arena_printf(a, "`%s`", cell(a, d->default_text));
        str_appendf(&b, "| `--%s` | %s | %s | %s |\n", d->name,
                    str_eq(d->name, "provider-plugin-dir") ? "the installation's" : text,
                    option_origin(d->name), effect_of(a, d));
    }
    str_append(&b, "\n");
    return str_buf_to_arena(&b, a);
}

static void flags_page__is_printed_from_the_table(void **state)
{
    doc_page_check_table(*state, "flags.md", "flags", flags_table(*state));
}

/* The flags of controller.md §3.2.  A new flag of ours must be named as such in option_origin(). */
static const char *const kubernetes[] = {
    "allocate-node-cidrs",
    "allow-untagged-cloud",
    "authentication-kubeconfig",
    "authentication-skip-lookup",
    "authentication-token-webhook-cache-ttl",
    "authentication-tolerate-lookup-failure",
    "authorization-always-allow-paths",
    "authorization-kubeconfig",
    "authorization-webhook-cache-authorized-ttl",
    "authorization-webhook-cache-unauthorized-ttl",
    "bind-address",
    "cert-dir",
    "cidr-allocator-type",
    "client-ca-file",
    "cloud-config",
    "cloud-provider",
    "cluster-cidr",
    "cluster-name",
    "concurrent-node-status-updates",
    "concurrent-node-syncs",
    "concurrent-service-syncs",
    "configure-cloud-routes",
    "contention-profiling",
    "controller-start-interval",
    "controllers",
    "disable-http2-serving",
    "enable-leader-migration",
    "external-cloud-volume-plugin",
    "feature-gates",
    "help",
    "http2-max-streams-per-connection",
    "kube-api-burst",
    "kube-api-content-type",
    "kube-api-qps",
    "kubeconfig",
    "leader-elect",
    "leader-elect-lease-duration",
    "leader-elect-renew-deadline",
    "leader-elect-resource-lock",
    "leader-elect-resource-name",
    "leader-elect-resource-namespace",
    "leader-elect-retry-period",
    "leader-migration-config",
    "log-flush-frequency",
    "log-json-info-buffer-size",
    "log-json-split-stream",
    "log-text-info-buffer-size",
    "log-text-split-stream",
    "logging-format",
    "master",
    "min-resync-period",
    "node-monitor-period",
    "node-status-update-frequency",
    "node-sync-period",
    "permit-address-sharing",
    "permit-port-sharing",
    "profiling",
    "requestheader-allowed-names",
    "requestheader-client-ca-file",
    "requestheader-extra-headers-prefix",
    "requestheader-group-headers",
    "requestheader-uid-headers",
    "requestheader-username-headers",
    "route-reconciliation-period",
    "secure-port",
    "tls-cert-file",
    "tls-cipher-suites",
    "tls-curve-preferences",
    "tls-min-version",
    "tls-private-key-file",
    "tls-sni-cert-key",
    "use-service-account-credentials",
    "v",
    "version",
    "vmodule",
    "webhook-bind-address",
    "webhook-cert-dir",
    "webhook-secure-port",
    "webhook-tls-cert-file",
    "webhook-tls-cipher-suites",
    "webhook-tls-min-version",
    "webhook-tls-private-key-file",
    "webhooks",
};

static void origins__are_those_of_the_lists(void **state)
{
    size_t n = 0;

    (void)state;
    for (size_t i = 0; i < options_table_n; i++) {
        bool listed = false;
        for (size_t k = 0; k < ARRAY_LEN(kubernetes); k++) {
            listed = listed || str_eq(kubernetes[k], options_table[i].name);
        }
        if (listed != str_eq(option_origin(options_table[i].name), "Kubernetes")) {
            fail_msg("--%s is of %s", options_table[i].name, option_origin(options_table[i].name));
        }
        n += listed;
    }
    assert_int_equal(n, ARRAY_LEN(kubernetes));
}

/* ---- metrics --------------------------------------------------------------------------------- */

static const char *buckets_of(struct arena *a, const struct tt_metric *m)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;

    for (uint32_t i = 0; i < m->n_buckets; i++) {
        str_append(&b, i > 0 ? " " : "");
        metrics_append_number(&b, m->buckets[i]);
    }
    return b.len == 0 ? "–" : str_buf_to_arena(&b, a);
}

static const char *metrics_table(struct arena *a, const struct tt_metric *table, size_t n)
{
    static const char *const types[] = {[TT_METRIC_COUNTER] = "counter",
                                        [TT_METRIC_GAUGE] = "gauge",
                                        [TT_METRIC_HISTOGRAM] = "histogram"};
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;

    str_append(&b, "\n| metric | type | labels | of | what it tells | buckets |\n"
                   "|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < n; i++) {
        const struct tt_metric *m = &table[i];
        bool ours = str_has_prefix(m->name, "trimtab_") || str_has_prefix(m->name, "local_");
        str_appendf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", m->name, types[m->type],
                    m->n_labels > 0 ? str_join(a, m->labels, m->n_labels, ", ") : "–",
                    ours ? "trimtab" : "upstream", cell(a, m->help), buckets_of(a, m));
    }
    str_append(&b, "\n");
    return str_buf_to_arena(&b, a);
}

static void metrics_page__is_printed_from_the_tables(void **state)
{
    size_t n = 0;
    const struct tt_provider *const *providers = trimtab_builtin_providers(&n);

    doc_page_check_table(*state, "metrics.md", "controller",
                         metrics_table(*state, metrics_own, metrics_own_n));
    doc_page_check_table(*state, "metrics.md", "process",
                         metrics_table(*state, metrics_process, metrics_process_n));
    doc_page_check_table(*state, "metrics.md", "access",
                         metrics_table(*state, access_metrics, access_metrics_n));
    for (size_t i = 0; i < n; i++) {
        doc_page_check_table(*state, "metrics.md", providers[i]->name,
                             metrics_table(*state, providers[i]->metrics, providers[i]->n_metrics));
    }
}

UNIT_MAIN(docs)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(flags_page__is_printed_from_the_table),
        T(origins__are_those_of_the_lists),
        T(metrics_page__is_printed_from_the_tables),
    };
    return cmocka_run_group_tests_name("serve-docs", tests, NULL, NULL);
}
