/* SPDX-License-Identifier: Apache-2.0 */
/* azure_metrics.c: see azure_metrics.h. */
#include "providers/azure/arm/azure_metrics.h"

#include "common/base/str.h"
#include "providers/azure/model/azure_names.h"

#define API "cloudprovider_azure_api_request_"
#define OP  "cloudprovider_azure_op_"

static const char *const labels[] = {"request", "resource_group", "source", "subscription_id"};
static const char *const labels_with_code[] = {"code", "request", "resource_group", "source",
                                               "subscription_id"};
static const double op_buckets[] = {.1, .2, .5, 1,   5,   10,  15,  20,  30,
                                    40, 50, 60, 100, 200, 300, 600, 1200};
static const double api_buckets[] = {.1, .25, .5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600, 1200};

const struct tt_metric azure_metrics[AZURE_METRICS] = {
    {.name = OP "duration_seconds",
     .help = "How long a Service took, its batch included",
     .type = TT_METRIC_HISTOGRAM,
     .labels = labels,
     .n_labels = ARRAY_LEN(labels),
     .buckets = op_buckets,
     .n_buckets = ARRAY_LEN(op_buckets)},
    {.name = OP "failure_count",
     .help = "Syncs of a Service that failed",
     .type = TT_METRIC_COUNTER,
     .labels = labels,
     .n_labels = ARRAY_LEN(labels)},
    {.name = API "duration_seconds",
     .help = "Latency of a request to Azure",
     .type = TT_METRIC_HISTOGRAM,
     .labels = labels,
     .n_labels = ARRAY_LEN(labels),
     .buckets = api_buckets,
     .n_buckets = ARRAY_LEN(api_buckets)},
    {.name = API "errors",
     .help = "Requests to Azure that were refused or not answered",
     .type = TT_METRIC_COUNTER,
     .labels = labels_with_code,
     .n_labels = ARRAY_LEN(labels_with_code)},
    {.name = API "ratelimited_count",
     .help = "Requests that waited for cloudProviderRateLimit",
     .type = TT_METRIC_COUNTER,
     .labels = labels,
     .n_labels = ARRAY_LEN(labels)},
    {.name = API "throttled_count",
     .help = "Requests that Azure answered with 429",
     .type = TT_METRIC_COUNTER,
     .labels = labels,
     .n_labels = ARRAY_LEN(labels)},
};

#define N_LABELS 4u

/* The labels of a request, after the place for its code. */
static void fill(struct arena *a, const char *op, const char *id, struct tt_kv ret[N_LABELS + 1])
{
    const char *group = azure_id_group(a, id);
    ret[1] = (struct tt_kv){"request", op};
    ret[2] = (struct tt_kv){"resource_group", str_lower(a, str_nonnull(group))};
    ret[3] = (struct tt_kv){"source", ""};
    ret[4] = (struct tt_kv){"subscription_id", str_nonnull(azure_id_part(a, id, "subscriptions"))};
}

void azure_metrics_request(const struct azure_arm *arm, const char *op, const char *id, int status,
                           int64_t took_ms)
{
    const struct tt_host *host = arm->host;
    if (host == NULL || host->metric_observe == NULL || host->metric_add == NULL) {
        return;
    }
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct tt_kv kv[N_LABELS + 1];
    fill(a, op, id, kv);
    host->metric_observe(host->ctx, API "duration_seconds", kv + 1, N_LABELS,
                         (double)took_ms / 1000);
    if (status == 0 || status >= 400) {
        kv[0] = (struct tt_kv){"code", arena_printf(a, "%d", status)};
        host->metric_add(host->ctx, API "errors", kv, N_LABELS + 1, 1);
    }
}

void azure_metrics_held(const struct azure_arm *arm, const char *op, const char *id, bool throttled)
{
    const struct tt_host *host = arm->host;
    if (host == NULL || host->metric_add == NULL) {
        return;
    }
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct tt_kv kv[N_LABELS + 1];
    fill(a, op, id, kv);
    host->metric_add(host->ctx, throttled ? API "throttled_count" : API "ratelimited_count", kv + 1,
                     N_LABELS, 1);
}

/* False: a verb that upstream does not count. */
static bool fill_item(struct arena *a, const struct azure_config *config,
                      const struct tt_item *item, struct tt_kv ret[N_LABELS])
{
    static const char *const requests[] = {
        [TT_VERB_ENSURE] = "services_ensure_loadbalancer",
        [TT_VERB_UPDATE] = "services_update_loadbalancer",
        [TT_VERB_DELETE] = "services_ensure_loadbalancer_deleted",
    };
    if (item->verb < TT_VERB_ENSURE || item->verb > TT_VERB_DELETE) {
        return false;
    }
    ret[0] = (struct tt_kv){"request", requests[item->verb]};
    ret[1] = (struct tt_kv){"resource_group", str_lower(a, config->resource_group)};
    ret[2] = (struct tt_kv){"source", azure_service_name(a, item->service)};
    ret[3] = (struct tt_kv){"subscription_id", config->subscription_id};
    return true;
}

void azure_metrics_failed(const struct tt_host *host, const struct azure_config *config,
                          const struct tt_item *item)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct tt_kv kv[N_LABELS];
    if (host->metric_add != NULL && fill_item(a, config, item, kv)) {
        host->metric_add(host->ctx, OP "failure_count", kv, N_LABELS, 1);
    }
}

void azure_metrics_batch(const struct tt_host *host, const struct azure_config *config,
                         const struct tt_batch *batch, int64_t took_ms)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct tt_kv kv[N_LABELS];
    for (uint32_t i = 0; host->metric_observe != NULL && i < batch->n_items; i++) {
        if (fill_item(a, config, batch->items[i], kv)) {
            host->metric_observe(host->ctx, OP "duration_seconds", kv, N_LABELS,
                                 (double)took_ms / 1000);
        }
    }
}
