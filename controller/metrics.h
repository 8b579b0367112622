/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.h: a small registry of counters, gauges and histograms.
 *
 * Metrics are registered from tables (struct tt_metric): the controller's own here (metrics_table.c, names and help as
 * upstream's, controller.md §1.19) and the provider's.  Series come into being when they are first touched.  What
 * is not registered is ignored and said once per name.  metrics_text.c prints them.
 * Thread-safe; one lock (row 4 of common/base/lock.h), held for a few instructions. */
#ifndef TRIMTAB_CONTROLLER_METRICS_H
#define TRIMTAB_CONTROLLER_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trimtab/provider.h>

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

/* The value of a counter or gauge, or the number of observations; 0 for a series that is not there. */
double metrics_value(struct metrics *m, const char *name, const struct tt_kv *labels, size_t n);

/* Called before each printing, outside the lock: sets what is only known by looking (process_*, ages). */
void metrics_add_collector(struct metrics *m, void (*collect)(void *arg, struct metrics *m),
                           void *arg);

/* The controller's own table. */
extern const struct tt_metric metrics_own[];
extern const size_t metrics_own_n;

#define METRIC_LB_SYNC          "service_controller_loadbalancer_sync_total"
#define METRIC_NODESYNC_ERROR   "service_controller_nodesync_error_total"
#define METRIC_NODESYNC_LATENCY "service_controller_nodesync_latency_seconds"
#define METRIC_UPDATE_LATENCY   "service_controller_update_loadbalancer_host_latency_seconds"
#define METRIC_QUEUE_DURATION   "workqueue_queue_duration_seconds"
#define METRIC_WORK_DURATION    "workqueue_work_duration_seconds"
#define METRIC_QUEUE_DEPTH      "workqueue_depth"
#define METRIC_QUEUE_ADDS       "workqueue_adds_total"
#define METRIC_QUEUE_RETRIES    "workqueue_retries_total"
#define METRIC_CLIENT_REQUESTS  "rest_client_requests_total"
#define METRIC_CLIENT_DURATION  "rest_client_request_duration_seconds"
#define METRIC_CLOUD_REQUESTS   "trimtab_cloud_requests_total"
#define METRIC_CLOUD_DURATION   "trimtab_cloud_request_duration_seconds"
#define METRIC_SYNC_DURATION    "trimtab_sync_duration_seconds"
#define METRIC_CHANGE_DURATION  "trimtab_change_duration_seconds"
#define METRIC_SYNCS            "trimtab_syncs_total"
#define METRIC_LEADER_STATUS    "leader_election_master_status"
#define METRIC_LEADER_SLOW_PATH "leader_election_slowpath_total"
#define METRIC_RUNNING          "running_managed_controllers"
#define METRIC_DRIFT            "trimtab_drift_found_total"

#endif
