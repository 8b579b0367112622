/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.h: a small registry of counters, gauges and histograms.
 *
 * Metrics are registered from tables (struct tt_metric): the controller's own here
 * (metrics_table.c, names and help as upstream's, controller.md §1.19) and the provider's.  Series
 * come into being when they are first touched.  What is not registered is ignored and said once per
 * name.  A family has 2,000 series at most, all together 20,000, a label's value 200 bytes: labels
 * may come from outside.  metrics_text.c prints them.  Thread-safe; one lock (row 4 of
 * common/base/lock.h), held for a few instructions. */
#ifndef TRIMTAB_CONTROLLER_METRICS_H
#define TRIMTAB_CONTROLLER_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trimtab/provider.h>

#include "common/base/arena.h"
#include "common/base/attr.h"

struct metrics;

/* A new registry that knows the controller's own metrics. */
struct metrics *metrics_new(void) _warn_unused_;
void metrics_free(struct metrics *m); /* NULL is fine */
/* Adds metrics; the table must live as long as the registry.  False when a name is taken. */
bool metrics_register(struct metrics *m, const struct tt_metric *table, size_t n);

/* Labels in any order; those that the metric does not have are dropped, missing ones are "". */
void metrics_add(struct metrics *m, const char *name, const struct tt_kv *labels, size_t n,
                 double v);
void metrics_set(struct metrics *m, const char *name, const struct tt_kv *labels, size_t n,
                 double v);
void metrics_observe(struct metrics *m, const char *name, const struct tt_kv *labels, size_t n,
                     double v);

/* The value of a counter or gauge, or the number of observations; 0 for a series that
 * is not there. */
double metrics_value(struct metrics *m, const char *name, const struct tt_kv *labels, size_t n);

/* Sets a counter that is kept elsewhere (CPU time, a queue) to `v`; it never decreases. */
void metrics_raise(struct metrics *m, const char *name, const struct tt_kv *labels, size_t n,
                   double v);
/* Drops all series of a metric. */
void metrics_reset(struct metrics *m, const char *name);

/* Called before each printing, outside the lock: sets what is only known by looking (process_*,
 * ages).  Must not block, and must not add or remove collectors. */
typedef void metrics_collect_fn(void *arg, struct metrics *m);
void metrics_add_collector(struct metrics *m, metrics_collect_fn *collect, void *arg);
/* When it returns, the collector is not running and is not called any more.  One that is
 * not there is fine. */
void metrics_remove_collector(struct metrics *m, metrics_collect_fn *collect, void *arg);

/* --- for metrics_text.c: a copy of what there is, so that nothing is printed under the lock --- */
struct metrics_series {
    /* as both formats print them, without braces: code="200",zone="a"; "" for none */
    const char *labels;
    const char *const *values; /* of its labels, in the order of the metric's table */
    double value;              /* counter, gauge; sum of a histogram */
    uint64_t count;            /* observations */
    const uint64_t *buckets;   /* n_buckets + 1, not cumulated; the last one is +Inf */
};
struct metrics_family {
    const struct tt_metric *def;
    /* sorted by the values of their labels; all in the arena */
    const struct metrics_series *series;
    size_t n;
};
/* Runs the collectors, and returns the names of all metrics, sorted.  In the arena. */
const char *const *metrics_collect(struct metrics *m, struct arena *a, size_t *ret_n);
/* One without labels always has its series.  Only names that metrics_collect() gave. */
struct metrics_family metrics_copy(struct metrics *m, struct arena *a, const char *name);

/* The controller's own tables: of the controller and what is ours; of what every process of
 * Kubernetes has. */
extern const struct tt_metric metrics_own[];
extern const size_t metrics_own_n;
extern const struct tt_metric metrics_process[];
extern const size_t metrics_process_n;

#define METRIC_LB_SYNC          "service_controller_loadbalancer_sync_total"
#define METRIC_NODESYNC_ERROR   "service_controller_nodesync_error_total"
#define METRIC_NODESYNC_LATENCY "service_controller_nodesync_latency_seconds"
#define METRIC_UPDATE_LATENCY   "service_controller_update_loadbalancer_host_latency_seconds"
#define METRIC_QUEUE_DURATION   "workqueue_queue_duration_seconds"
#define METRIC_WORK_DURATION    "workqueue_work_duration_seconds"
#define METRIC_QUEUE_DEPTH      "workqueue_depth"
#define METRIC_QUEUE_ADDS       "workqueue_adds_total"
#define METRIC_QUEUE_RETRIES    "workqueue_retries_total"
#define METRIC_QUEUE_UNFINISHED "workqueue_unfinished_work_seconds"
#define METRIC_QUEUE_LONGEST    "workqueue_longest_running_processor_seconds"
#define METRIC_CLIENT_REQUESTS  "rest_client_requests_total"
#define METRIC_CLIENT_RETRIES   "rest_client_request_retries_total"
#define METRIC_CLIENT_DURATION  "rest_client_request_duration_seconds"
#define METRIC_CLIENT_WAITED    "rest_client_rate_limiter_duration_seconds"
#define METRIC_CLIENT_SENT      "rest_client_request_size_bytes"
#define METRIC_CLIENT_RECEIVED  "rest_client_response_size_bytes"
#define METRIC_EXEC_CALLS       "rest_client_exec_plugin_call_total"
#define METRIC_EXEC_TTL         "rest_client_exec_plugin_ttl_seconds"
#define METRIC_EXEC_ROTATION    "rest_client_exec_plugin_certificate_rotation_age"
#define METRIC_TRANSPORTS       "rest_client_transport_cache_entries"
#define METRIC_TRANSPORT_CALLS  "rest_client_transport_create_calls_total"
#define METRIC_CPU              "process_cpu_seconds_total"
#define METRIC_MAX_FDS          "process_max_fds"
#define METRIC_OPEN_FDS         "process_open_fds"
#define METRIC_NET_IN           "process_network_receive_bytes_total"
#define METRIC_NET_OUT          "process_network_transmit_bytes_total"
#define METRIC_RSS              "process_resident_memory_bytes"
#define METRIC_STARTED          "process_start_time_seconds"
#define METRIC_VM               "process_virtual_memory_bytes"
#define METRIC_VM_MAX           "process_virtual_memory_max_bytes"
#define METRIC_BUILD_INFO       "kubernetes_build_info"
#define METRIC_FEATURES         "kubernetes_feature_enabled"
#define METRIC_HEALTHCHECK      "kubernetes_healthcheck"
#define METRIC_HEALTHCHECKS     "kubernetes_healthchecks_total"
#define METRIC_REGISTERED       "registered_metrics_total"
#define METRIC_SERIES_LOST      "trimtab_metric_series_lost_total"
#define METRIC_LOG_LOST         "trimtab_log_lines_lost_total"
#define METRIC_CLOUD_REQUESTS   "trimtab_cloud_requests_total"
#define METRIC_CLOUD_DURATION   "trimtab_cloud_request_duration_seconds"
#define METRIC_SYNC_DURATION    "trimtab_sync_duration_seconds"
#define METRIC_CHANGE_DURATION  "trimtab_change_duration_seconds"
#define METRIC_TO_ADDRESS       "trimtab_time_to_address_seconds"
#define METRIC_SYNCS            "trimtab_syncs_total"
#define METRIC_LEADER_STATUS    "leader_election_master_status"
#define METRIC_LEADER_SLOW_PATH "leader_election_slowpath_total"
#define METRIC_RUNNING          "running_managed_controllers"
#define METRIC_DRIFT            "trimtab_drift_found_total"

#define METRIC_LATE_CALLS       "trimtab_provider_calls_late"
#define METRIC_LATE_CALLS_TOTAL "trimtab_provider_late_calls_total"

#define METRIC_PLANS           "trimtab_plans_total"
#define METRIC_OPERATIONS      "trimtab_operations_total"
#define METRIC_QUEUE_TAKEN     "trimtab_queue_taken_total"
#define METRIC_QUEUE_KEYS      "trimtab_queue_keys"
#define METRIC_WORKER_THREADS  "trimtab_worker_threads"
#define METRIC_RECORD_BYTES    "trimtab_record_bytes"
#define METRIC_SERVICES        "trimtab_services"
#define METRIC_KEPT            "trimtab_load_balancers_kept"
#define METRIC_UNREADABLE      "trimtab_unreadable_objects"
#define METRIC_WRITE_CONFLICTS "trimtab_service_write_conflicts_total"
#define METRIC_API_TOKENS      "trimtab_api_tokens"
#define METRIC_API_WAIT        "trimtab_api_wait_seconds_total"
/* Set by providers (common/lb/budget_report.h); per kind of requests of a cloud's API. */
#define METRIC_CLOUD_RATE    "trimtab_budget_requests_per_second"
#define METRIC_CLOUD_HELD    "trimtab_budget_held_total"
#define METRIC_CLOUD_REFUSED "trimtab_budget_refused_total"

#endif
