/* SPDX-License-Identifier: Apache-2.0 */
/* gce_neg_metrics.c: see gce_neg_metrics.h.  Label values are upstream's, odd ones included
 * ("Detach" beside "AttachNE").  Hosts of tests may lack metrics. */
#include "providers/gce/api/gce_neg_metrics.h"

#include "common/base/str.h"
#include "common/data/json.h"

#define PREFIX   "neg_controller_"
#define NEG_TYPE "GCE_VM_IP"

static double seconds_since(const struct tt_host *host, int64_t began_ms)
{
    return (double)(host->now_ms(host->ctx) - began_ms) / 1000.0;
}

static const char *result_of(bool failed)
{
    return failed ? "error" : "success";
}

/* A read of an absent resource is not a failure. */
static void count_error(const struct tt_host *host, const char *type)
{
    const struct tt_kv total = {"error_type", "total_neg_error"};
    const struct tt_kv one = {"error_type", type};
    host->metric_add(host->ctx, PREFIX "error_count", &total, 1, 1);
    host->metric_add(host->ctx, PREFIX "error_count", &one, 1, 1);
}

/* ---- the cloud ------------------------------------------------------------------------------- */

static void members(const struct tt_host *host, const struct gce_call_spec *spec, double seconds,
                    bool failed)
{
    bool attach = spec->verb == GCE_ATTACH;
    if (!attach && spec->verb != GCE_DETACH) {
        return;
    }
    const struct tt_kv labels[] = {{"operation", attach ? "Attach" : "Detach"},
                                   {"neg_type", NEG_TYPE},
                                   {"result", result_of(failed)},
                                   {"api_version", "ga"}};
    size_t n = json_len(json_member(spec->body, "networkEndpoints"));
    host->metric_observe(host->ctx, PREFIX "neg_operation_duration_seconds", labels,
                         ARRAY_LEN(labels), seconds);
    host->metric_observe(host->ctx, PREFIX "neg_operation_endpoints", labels, 3, (double)n);
}

void gce_neg_metrics_call(const struct tt_host *host, const struct gce_call_spec *spec,
                          double seconds, const struct err *err)
{
    static const char *const requests[GCE_VERB_MAX] = {
        [GCE_GET] = "Get",
        [GCE_LIST] = "List",
        [GCE_INSERT] = "Create",
        [GCE_DELETE] = "Delete",
        [GCE_ATTACH] = "AttachNE",
        [GCE_DETACH] = "Detach",
        [GCE_LIST_ENDPOINTS] = "ListNE",
        [GCE_LIST_ALL] = "AggregatedList",
    };
    const char *request = requests[spec->verb];
    bool failed = err->code != ERR_OK;
    const char *how = !failed                   ? "success"
                      : err->http_status >= 500 ? "GCE_server_error"
                                                : "other_error";
    if (request == NULL) {
        return;
    }
    const struct tt_kv labels[] = {{"request", request}, {"result", how}};
    bool absent = err->code == ERR_NOT_FOUND && (spec->verb == GCE_GET || spec->verb == GCE_DELETE);
    host->metric_add(host->ctx, PREFIX "gce_request_count", labels, ARRAY_LEN(labels), 1);
    host->metric_observe(host->ctx, PREFIX "gce_request_latency", labels, ARRAY_LEN(labels),
                         seconds);
    if (failed && !absent && err->code != ERR_CANCELLED) {
        count_error(host, how);
    }
    members(host, spec, seconds, failed);
}

/* ---- the API server -------------------------------------------------------------------------- */

void gce_neg_metrics_kube(const struct tt_host *host, const char *request, int64_t began_ms,
                          int32_t code)
{
    if (host->metric_add == NULL || host->metric_observe == NULL) {
        return;
    }
    const char *how = code == TT_OK                                  ? "success"
                      : code == TT_TRANSIENT || code == TT_THROTTLED ? "K8s_server_error"
                                                                     : "other_error";
    const struct tt_kv labels[] = {{"request", request}, {"result", how}};
    host->metric_add(host->ctx, PREFIX "k8s_request_count", labels, ARRAY_LEN(labels), 1);
    host->metric_observe(host->ctx, PREFIX "k8s_request_latency", labels, ARRAY_LEN(labels),
                         seconds_since(host, began_ms));
    if (code != TT_OK && code != TT_NOT_FOUND && code != TT_CANCELLED) {
        count_error(host, how);
    }
}

/* ---- syncs ----------------------------------------------------------------------------------- */

void gce_neg_metrics_decided(const struct tt_host *host, int64_t began_ms, bool failed)
{
    const struct tt_kv labels[] = {{"process", "Sync"}, {"result", result_of(failed)}};
    if (host->metric_observe != NULL) {
        host->metric_observe(host->ctx, PREFIX "manager_process_duration_seconds", labels,
                             ARRAY_LEN(labels), seconds_since(host, began_ms));
    }
}

void gce_neg_metrics_sync(const struct tt_host *host, const struct gce_neg_sync *sync)
{
    const struct tt_kv labels[] = {
        {"neg_type", NEG_TYPE},
        {"endpoint_calculator_mode",
         sync->local ? "L4, ExternalTrafficPolicy:Local" : "L4, ExternalTrafficPolicy:Cluster"},
        {"result", result_of(sync->failed)}};
    double seconds = seconds_since(host, sync->began_ms);
    host->metric_observe(host->ctx, PREFIX "syncer_sync_duration_seconds", labels,
                         ARRAY_LEN(labels), seconds);
    host->metric_set(host->ctx, PREFIX "sync_timestamp", NULL, 0,
                     (double)host->wall_us(host->ctx) * 1000); /* nanoseconds, as upstream */
    if (sync->made && !sync->failed) {
        host->metric_observe(host->ctx, PREFIX "neg_initialization_duration_seconds", NULL, 0,
                             seconds);
    }
}
