/* SPDX-License-Identifier: Apache-2.0 */
/* gce_metrics_table.c: the metrics of the Google provider, under the names of the two programs whose parts it plays
 * (gce-cloud-provider.md §14.1; gce-l4.md §7.6).  A table only; who sets them: gce_call.c, gce_auth.c, gce_told.c,
 * gce_l4_metrics.c. */
#include "common/base/str.h"
#include "providers/gce/gce_l4_metrics.h"

static const char *const call_labels[] = {"request", "region", "zone", "version"};
static const char *const netlb_labels[] = {"status", "deny_firewall"};
static const double call_buckets[] = {.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10};
static const double l4_buckets[] = {.9375, 1.875, 3.75, 7.5,  15,   30,   60,   120,
                                    240,   480,   960,  1920, 3840, 7680, 15360};
static const char *const l4_ilb_labels[] = {
    "sync_result", "sync_type",       "periodic_resync", "l4_weighted_lb_pods_per_node",
    "protocol",    "logging_enabled", "zonal_affinity"};
static const char *const l4_netlb_labels[] = {
    "sync_result", "sync_type",       "periodic_resync", "l4_weighted_lb_pods_per_node",
    "protocol",    "logging_enabled", "backend_type"};
static const char *const error_labels[] = {"sync_type", "gce_resource", "error_type"};
static const char *const type_label[] = {"type"};
static const char *const controller_label[] = {"controller_name"};

#define LABELS(names) .labels = (names), .n_labels = ARRAY_LEN(names)
#define BUCKETS       .buckets = l4_buckets, .n_buckets = ARRAY_LEN(l4_buckets)
const struct tt_metric gce_metrics[GCE_METRICS_COUNT] = {
    {.name = "cloudprovider_gce_api_request_duration_seconds",
     .help = "Latency of a GCE API call, waiting for its operation included",
     .type = TT_METRIC_HISTOGRAM,
     .labels = call_labels,
     .n_labels = ARRAY_LEN(call_labels),
     .buckets = call_buckets,
     .n_buckets = ARRAY_LEN(call_buckets)},
    {.name = "cloudprovider_gce_api_request_errors",
     .help = "Number of GCE API calls that ended in an error",
     .type = TT_METRIC_COUNTER,
     .labels = call_labels,
     .n_labels = ARRAY_LEN(call_labels)},
    {.name = "get_token_count",
     .help = "Tokens had from the alternate token source",
     .type = TT_METRIC_COUNTER},
    {.name = "get_token_fail_count",
     .help = "Failed tries at the alternate token source",
     .type = TT_METRIC_COUNTER},
    {.name = "number_of_l4_netlbs",
     .help = "External load balancers by state",
     .type = TT_METRIC_GAUGE,
     .labels = netlb_labels,
     .n_labels = ARRAY_LEN(netlb_labels)},
    {.name = "l4_ilb_sync_duration_seconds",
     .help = "Time that a sync of an internal load balancer took",
     .type = TT_METRIC_HISTOGRAM,
     LABELS(l4_ilb_labels),
     BUCKETS},
    {.name = "l4_netlb_sync_duration_seconds",
     .help = "Time that a sync of an external load balancer with a backend service took",
     .type = TT_METRIC_HISTOGRAM,
     LABELS(l4_netlb_labels),
     BUCKETS},
    {.name = "l4_ilb_sync_error_count",
     .help = "Failed syncs of internal load balancers, by resource and error",
     .type = TT_METRIC_COUNTER,
     LABELS(error_labels)},
    {.name = "l4_netlb_sync_error_count",
     .help =
         "Failed syncs of external load balancers with a backend service, by resource and error",
     .type = TT_METRIC_COUNTER,
     LABELS(error_labels)},
    {.name = "l4_netlb_legacy_to_rbs_migration_prevented_count",
     .help = "Services with a target pool that asked for a backend service",
     .type = TT_METRIC_COUNTER,
     LABELS(type_label)},
    {.name = "l4_last_sync_time",
     .help = "When a Service was synced last, in seconds since 1970",
     .type = TT_METRIC_GAUGE,
     LABELS(controller_label)},
};
