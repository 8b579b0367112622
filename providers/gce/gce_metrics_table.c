/* SPDX-License-Identifier: Apache-2.0 */
/* gce_metrics_table.c: the metrics of the Google provider, under the names of the two programs
 * whose parts it plays (gce-cloud-provider.md §14.1; gce-l4.md §7.6).  A table only;
 * docs/providers/gce.md is printed from it.  Who sets them:  gce_call_metrics.c (calls),
 * gce_provider.c (tokens), gce_gauges.c (how many load balancers), gce_l4_metrics.c (syncs),
 * gce_flow.c (migrations), gce_neg_metrics.c. */
#include "common/base/str.h"
#include "providers/gce/gce_l4_metrics.h"

/* ---- labels ---------------------------------------------------------------------------------- */

static const char *const call_labels[] = {"request", "region", "zone", "version"};
static const char *const ilb_labels[] = {
    "sync_result", "sync_type",       "periodic_resync", "l4_weighted_lb_pods_per_node",
    "protocol",    "logging_enabled", "zonal_affinity"};
static const char *const netlb_labels[] = {
    "sync_result", "sync_type",       "periodic_resync", "l4_weighted_lb_pods_per_node",
    "protocol",    "logging_enabled", "backend_type"};
static const char *const dual_labels[] = {"sync_result", "sync_type", "periodic_resync",
                                          "ip_families"};
static const char *const multinet_labels[] = {"sync_result", "sync_type", "periodic_resync"};
static const char *const ilb_error_labels[] = {
    "sync_type", "gce_resource",    "error_type",    "l4_weighted_lb_pods_per_node",
    "protocol",  "logging_enabled", "zonal_affinity"};
static const char *const netlb_error_labels[] = {"sync_type",  "gce_resource",
                                                 "error_type", "l4_weighted_lb_pods_per_node",
                                                 "protocol",   "logging_enabled"};
static const char *const type_label[] = {"type"};
static const char *const controller_label[] = {"controller_name"};
static const char *const finalizer_label[] = {"finalizer_name"};
static const char *const detail_labels[] = {"controller_name", "success",
                                            "predicted_periodic_resync", "was_update"};
static const char *const ilbs_labels[] = {"status",         "multinet", "weighted_lb_pods_per_node",
                                          "zonal_affinity", "protocol", "logging_enabled"};
static const char *const netlbs_labels[] = {
    "status",       "multinet", "strong_session_affinity", "weighted_lb_pods_per_node",
    "backend_type", "protocol", "logging_enabled",         "deny_firewall"};
static const char *const feature_label[] = {"feature"};
static const char *const both_labels[] = {"feature", "status", "deny_firewall"};
static const char *const dual_count_labels[] = {"ip_families", "ip_family_policy", "status"};
static const char *const neg_op_labels[] = {"operation", "neg_type", "api_version", "result"};
static const char *const neg_endpoint_labels[] = {"operation", "neg_type", "result"};
static const char *const syncer_labels[] = {"neg_type", "endpoint_calculator_mode", "result"};
static const char *const process_labels[] = {"process", "result"};
static const char *const error_type_label[] = {"error_type"};
static const char *const request_labels[] = {"request", "result"};
static const char *const operation_type_label[] = {"operation_type"};

/* ---- buckets --------------------------------------------------------------------------------- */

static const double call_buckets[] = {.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10};
static const double l4_buckets[] = {.9375, 1.875, 3.75, 7.5,  15,   30,   60,   120,
                                    240,   480,   960,  1920, 3840, 7680, 15360};
static const double dual_buckets[] = {.5,  1,   2,   4,    8,    16,   32,  64,
                                      128, 256, 512, 1024, 2048, 4096, 8192};
static const double powers[] = {1,   2,   4,    8,    16,   32,   64,   128,
                                256, 512, 1024, 2048, 4096, 8192, 16384};
#define POWERS_OF_NEGS 13 /* so many of `powers`; of instance groups all */
static const double request_buckets[] = {.001, .01,   .1,    1,     2,      4,      8,     16,
                                         32,   64,    128,   256,   512,    1024,   2048,  4096,
                                         8192, 16384, 32768, 65536, 131072, 262144, 524288};

#define COUNTER      .type = TT_METRIC_COUNTER
#define GAUGE        .type = TT_METRIC_GAUGE
#define FIRST(b, n)  .type = TT_METRIC_HISTOGRAM, .buckets = (b), .n_buckets = (n)
#define HISTOGRAM(b) FIRST(b, ARRAY_LEN(b))
#define LABELS(l)    .labels = (l), .n_labels = ARRAY_LEN(l)
#define ROW(n, h, t, ...)                                                                          \
    {                                                                                              \
        .name = (n), .help = (h), t, __VA_ARGS__                                                   \
    }
#define BARE(n, h, t)                                                                              \
    {                                                                                              \
        .name = (n), .help = (h), t                                                                \
    }

const struct tt_metric gce_metrics[GCE_METRICS_COUNT] = {
    /* calls */
    ROW("cloudprovider_gce_api_request_duration_seconds",
        "Latency of a GCE API call, waiting for its operation included", HISTOGRAM(call_buckets),
        LABELS(call_labels)),
    ROW("cloudprovider_gce_api_request_errors", "Number of GCE API calls that ended in an error",
        COUNTER, LABELS(call_labels)),
    ROW("gce_api_request_duration_seconds",
        "Latency of a GCE API call on addresses, forwarding rules, backend services, health "
        "checks and NEGs, waiting for its operation included",
        HISTOGRAM(call_buckets), LABELS(call_labels)),
    ROW("gce_api_request_errors", "Number of these GCE API calls that ended in an error", COUNTER,
        LABELS(call_labels)),
    BARE("get_token_count", "Tokens had from the alternate token source", COUNTER),
    BARE("get_token_fail_count", "Failed tries at the alternate token source", COUNTER),
    /* how many */
    ROW("l4_ilbs_count", "Internal load balancers on NEGs, by state and properties", GAUGE,
        LABELS(ilbs_labels)),
    ROW("l4_netlbs_count",
        "External load balancers with a backend service, by state and properties", GAUGE,
        LABELS(netlbs_labels)),
    ROW("number_of_l4_ilbs", "Internal load balancers by feature", GAUGE, LABELS(feature_label)),
    ROW("number_of_l4_netlbs",
        "External load balancers: with a backend service by feature, with a target pool by status "
        "and deny_firewall",
        GAUGE, LABELS(both_labels)),
    ROW("number_of_l4_dual_stack_ilbs", "Internal load balancers on NEGs by IP families", GAUGE,
        LABELS(dual_count_labels)),
    ROW("number_of_l4_dual_stack_netlbs",
        "External load balancers with a backend service by IP families", GAUGE,
        LABELS(dual_count_labels)),
    /* syncs */
    ROW("l4_ilb_sync_duration_seconds", "Time that a sync of an internal load balancer took",
        HISTOGRAM(l4_buckets), LABELS(ilb_labels)),
    ROW("l4_netlb_sync_duration_seconds",
        "Time that a sync of an external load balancer with a backend service took",
        HISTOGRAM(l4_buckets), LABELS(netlb_labels)),
    ROW("l4_ilb_dualstack_sync_duration_seconds",
        "Time that a sync of an internal load balancer took, by IP families",
        HISTOGRAM(dual_buckets), LABELS(dual_labels)),
    ROW("l4_netlb_dualstack_sync_duration_seconds",
        "Time that a sync of an external load balancer took, by IP families",
        HISTOGRAM(dual_buckets), LABELS(dual_labels)),
    ROW("l4_ilb_multinet_sync_duration_seconds",
        "Time that a sync of an internal load balancer of another network took",
        HISTOGRAM(dual_buckets), LABELS(multinet_labels)),
    ROW("l4_netlb_multinet_sync_duration_seconds",
        "Time that a sync of an external load balancer of another network took",
        HISTOGRAM(dual_buckets), LABELS(multinet_labels)),
    ROW("l4_ilb_sync_error_count", "Failed syncs of internal load balancers, by resource and error",
        COUNTER, LABELS(ilb_error_labels)),
    ROW("l4_netlb_sync_error_count",
        "Failed syncs of external load balancers with a backend service, by resource and error",
        COUNTER, LABELS(netlb_error_labels)),
    ROW("l4_netlb_legacy_to_rbs_migration_prevented_count",
        "Services with a target pool that asked for a backend service", COUNTER,
        LABELS(type_label)),
    ROW("l4_last_sync_time", "When a Service was synced last, in seconds since 1970", GAUGE,
        LABELS(controller_label)),
    ROW("l4_removed_finalizer_count",
        "Finalizers that another program removed from a Service that has a load balancer", COUNTER,
        LABELS(finalizer_label)),
    ROW("l4_sync_details_count", "Syncs but deletions, and whether they changed anything", COUNTER,
        LABELS(detail_labels)),
    /* NEGs */
    ROW("neg_controller_neg_operation_duration_seconds",
        "Latency of an attach or detach, waiting for its operation included",
        FIRST(powers, POWERS_OF_NEGS), LABELS(neg_op_labels)),
    ROW("neg_controller_neg_operation_endpoints", "Network endpoints in an attach or detach",
        FIRST(powers, POWERS_OF_NEGS), LABELS(neg_endpoint_labels)),
    ROW("neg_controller_syncer_sync_duration_seconds",
        "Time that a sync of a Service with NEGs took", FIRST(powers, POWERS_OF_NEGS),
        LABELS(syncer_labels)),
    ROW("neg_controller_manager_process_duration_seconds",
        "Time to compute the members of a Service's NEGs", FIRST(powers, POWERS_OF_NEGS),
        LABELS(process_labels)),
    BARE("neg_controller_neg_initialization_duration_seconds",
         "Time from the beginning of a sync until the NEGs that it made are there and filled",
         FIRST(powers, POWERS_OF_NEGS)),
    BARE("neg_controller_sync_timestamp",
         "When a Service with NEGs was synced last, in nanoseconds since 1970", GAUGE),
    ROW("neg_controller_error_count", "Failed requests about NEGs and related objects, by server",
        COUNTER, LABELS(error_type_label)),
    ROW("neg_controller_gce_request_count", "GCE API calls about NEGs", COUNTER,
        LABELS(request_labels)),
    ROW("neg_controller_gce_request_latency",
        "Latency in seconds of a GCE API call about NEGs, waiting for its operation included",
        HISTOGRAM(request_buckets), LABELS(request_labels)),
    ROW("neg_controller_k8s_request_count",
        "Requests to the API server about ServiceNetworkEndpointGroups", COUNTER,
        LABELS(request_labels)),
    ROW("neg_controller_k8s_request_latency",
        "Latency in seconds of a request to the API server about ServiceNetworkEndpointGroups",
        HISTOGRAM(request_buckets), LABELS(request_labels)),
    /* instance groups */
    ROW("instance_group_event_size",
        "Instances in a call that adds to, or removes from, an instance group", HISTOGRAM(powers),
        LABELS(operation_type_label)),
    ROW("instance_group_event_count", "Calls that add to, or remove from, an instance group",
        COUNTER, LABELS(operation_type_label)),
};
