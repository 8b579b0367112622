/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_table_process.c: names, help texts and buckets of what upstream's libraries count for
 * every process: the client of the API server, the process itself, the registry, the health checks
 * (controller.md §3.5, 3.7). */
#include "controller/metrics/metrics.h"

static const double request_seconds[] = {0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60};
static const double request_bytes[] = {64,    256,    512,     1024,    4096,    16384,
                                       65536, 262144, 1048576, 4194304, 16777216};
static const double certificate_seconds[] = {600,     1800,    3600,     14400,    86400,    604800,
                                             2592000, 7776000, 15552000, 31104000, 124416000};

static const char *const code_method_host[] = {"code", "method", "host"};
static const char *const code_verb_host[] = {"code", "verb", "host"};
static const char *const verb_host[] = {"verb", "host"};
static const char *const code_call_status[] = {"code", "call_status"};
static const char *const result_label[] = {"result"};
static const char *const build_labels[] = {"major",      "minor",          "git_version",
                                           "git_commit", "git_tree_state", "build_date",
                                           "go_version", "compiler",       "platform"};
static const char *const feature_labels[] = {"name", "stage"};
static const char *const check_labels[] = {"name", "type"};
static const char *const checks_labels[] = {"name", "type", "status"};
static const char *const registered_labels[] = {"stability_level", "deprecated_version"};

#define LABELS(l)  .labels = (l), .n_labels = sizeof(l) / sizeof((l)[0])
#define BUCKETS(b) .buckets = (b), .n_buckets = sizeof(b) / sizeof((b)[0])
/* A row: name, what it tells, labels and buckets. */
#define COUNTER(n, h, ...)                                                                         \
    {                                                                                              \
        .name = (n), .type = TT_METRIC_COUNTER, .help = (h), __VA_ARGS__                           \
    }
#define GAUGE(n, h, ...)                                                                           \
    {                                                                                              \
        .name = (n), .type = TT_METRIC_GAUGE, .help = (h), __VA_ARGS__                             \
    }
#define HISTOGRAM(n, h, ...)                                                                       \
    {                                                                                              \
        .name = (n), .type = TT_METRIC_HISTOGRAM, .help = (h), __VA_ARGS__                         \
    }

/* clang-format off */
const struct tt_metric metrics_process[] = {
    /* requests to the API server */
    COUNTER(METRIC_CLIENT_REQUESTS, "[ALPHA] Requests to the API server, by status code, method and host", LABELS(code_method_host)),
    COUNTER(METRIC_CLIENT_RETRIES, "[ALPHA] Requests to the API server that were sent again, by the status code before, verb and host", LABELS(code_verb_host)),
    HISTOGRAM(METRIC_CLIENT_DURATION, "[ALPHA] Seconds that a request to the API server took, by verb and host", LABELS(verb_host), BUCKETS(request_seconds)),
    HISTOGRAM(METRIC_CLIENT_WAITED, "[ALPHA] Seconds that a request waited for the client's own rate limit, by verb and host", LABELS(verb_host), BUCKETS(request_seconds)),
    HISTOGRAM(METRIC_CLIENT_SENT, "[ALPHA] Bytes of a request's body, by verb and host", LABELS(verb_host), BUCKETS(request_bytes)),
    HISTOGRAM(METRIC_CLIENT_RECEIVED, "[ALPHA] Bytes of an answer's body, by verb and host; a watch counts when it ends", LABELS(verb_host), BUCKETS(request_bytes)),
    COUNTER(METRIC_EXEC_CALLS, "[ALPHA] Runs of the kubeconfig's credential plugin, by exit code and how they ended", LABELS(code_call_status)),
    GAUGE(METRIC_EXEC_TTL, "[ALPHA] Seconds until the credential plugin's certificate ends; +Inf without one"),
    HISTOGRAM(METRIC_EXEC_ROTATION, "[ALPHA] Seconds that the credential plugin's last certificate had been valid when it was replaced", BUCKETS(certificate_seconds)),
    GAUGE(METRIC_TRANSPORTS, "[ALPHA] Sets of TLS settings that connections to the API server are made with"),
    COUNTER(METRIC_TRANSPORT_CALLS, "[ALPHA] Clients that were made, by whether they share the TLS settings of another (hit) or not (miss)", LABELS(result_label)),
    COUNTER("rest_client_transport_cert_rotation_gc_calls_total", "[ALPHA] Always 0 here: TLS settings are not collected as garbage"),
    /* the process */
    COUNTER(METRIC_CPU, "CPU time of the process, user and system, in seconds"),
    GAUGE(METRIC_MAX_FDS, "How many file descriptors the process may have open"),
    GAUGE(METRIC_OPEN_FDS, "How many file descriptors the process has open"),
    COUNTER(METRIC_NET_IN, "Bytes that came in over the network, of the whole network namespace"),
    COUNTER(METRIC_NET_OUT, "Bytes that went out over the network, of the whole network namespace"),
    GAUGE(METRIC_RSS, "Resident memory in bytes"),
    GAUGE(METRIC_STARTED, "When the process was started, in seconds since 1970"),
    GAUGE(METRIC_VM, "Virtual memory in bytes"),
    GAUGE(METRIC_VM_MAX, "How much virtual memory the process may have, in bytes; 2^64: no limit"),
    /* what runs */
    GAUGE(METRIC_BUILD_INFO, "[ALPHA] Always 1; its labels say what runs", LABELS(build_labels)),
    GAUGE(METRIC_FEATURES, "[BETA] 1 when a feature gate is on, else 0, by name and stage", LABELS(feature_labels)),
    /* health */
    GAUGE(METRIC_HEALTHCHECK, "[STABLE] How a health check last ended: 1 fine, 0 not", LABELS(check_labels)),
    COUNTER(METRIC_HEALTHCHECKS, "[STABLE] Runs of health checks, by how they ended", LABELS(checks_labels)),
    /* the registry */
    COUNTER(METRIC_REGISTERED, "[BETA] Metrics of this program, by upstream's stability level; \"\" for those that have none", LABELS(registered_labels)),
    COUNTER("hidden_metrics_total", "[BETA] Always 0 here: no metric is hidden"),
    COUNTER("disabled_metrics_total", "[BETA] Always 0 here: no metric can be switched off"),
    COUNTER(METRIC_LOG_LOST, "Log lines that were dropped because the log was not read; a line of the log says where"),
    COUNTER(METRIC_SERIES_LOST, "Values that were not counted because their metric has 2,000 series already, or all together 20,000"),
};
/* clang-format on */
const size_t metrics_process_n = sizeof(metrics_process) / sizeof(metrics_process[0]);
