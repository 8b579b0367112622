/* SPDX-License-Identifier: Apache-2.0 */
/* aws_metrics.c: see aws_metrics.h. */
#include "providers/aws/api/aws_metrics.h"

#include "common/base/str.h"

#include <stdio.h>

#define API "cloudprovider_aws_api_"

static const char *const of_request[] = {"request"};
static const char *const of_operation[] = {"operation_name"};
static const char *const of_status[] = {"service", "operation", "status_code"};
/* Those of upstream's histogram, which names none: the defaults of Prometheus' client. */
static const double buckets[] = {.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10};

const struct tt_metric aws_metrics[AWS_METRICS] = {
    {.name = API "request_duration_seconds",
     .help = "Latency of a call to AWS, its pages and attempts included",
     .type = TT_METRIC_HISTOGRAM,
     .labels = of_request,
     .n_labels = ARRAY_LEN(of_request),
     .buckets = buckets,
     .n_buckets = ARRAY_LEN(buckets)},
    {.name = API "request_errors",
     .help = "Calls to AWS that failed",
     .type = TT_METRIC_COUNTER,
     .labels = of_request,
     .n_labels = ARRAY_LEN(of_request)},
    {.name = API "throttled_requests_total",
     .help = "Calls to AWS that failed because of too many requests",
     .type = TT_METRIC_COUNTER,
     .labels = of_operation,
     .n_labels = ARRAY_LEN(of_operation)},
    {.name = API "response_status_total",
     .help = "Answers of AWS with a status of 400 or more",
     .type = TT_METRIC_COUNTER,
     .labels = of_status,
     .n_labels = ARRAY_LEN(of_status)},
};

/* Upstream's word for the calls that it measures; NULL for others. */
static const char *request_of(enum aws_api api, const char *action)
{
    static const char *const rows[][2] = {
        {"DescribeInstances", "describe_instance"},
        {"DescribeSecurityGroups", "describe_security_groups"},
        {"DescribeRouteTables", "describe_route_tables"},
        {"CreateTags", "create_tags"},
        {"DeleteTags", "delete_tags"},
        {"DescribeNetworkInterfaces", "describe_network_interfaces"},
    };
    for (size_t i = 0; api == AWS_EC2 && i < ARRAY_LEN(rows); i++) {
        if (str_eq(rows[i][0], action)) {
            return rows[i][1];
        }
    }
    return NULL;
}

void aws_metrics_status(const struct tt_host *host, enum aws_api api, const char *action,
                        int status)
{
    char text[16];
    if (host == NULL || host->metric_add == NULL || status < 400) {
        return;
    }
    (void)snprintf(text, sizeof(text), "%d", status);
    const struct tt_kv kv[] = {
        {"service", aws_api_sdk_id(api)}, {"operation", action}, {"status_code", text}};
    host->metric_add(host->ctx, API "response_status_total", kv, ARRAY_LEN(kv), 1);
}

void aws_metrics_call(const struct tt_host *host, enum aws_api api, const char *action, bool well,
                      int64_t took_ms)
{
    const struct tt_kv kv = {"request", request_of(api, action)};
    if (host == NULL || kv.value == NULL) {
        return;
    }
    if (well && host->metric_observe != NULL) {
        host->metric_observe(host->ctx, API "request_duration_seconds", &kv, 1,
                             (double)took_ms / 1000);
    } else if (!well && host->metric_add != NULL) {
        host->metric_add(host->ctx, API "request_errors", &kv, 1, 1);
    }
}

void aws_metrics_throttled(const struct tt_host *host, const char *action)
{
    if (host != NULL && host->metric_add != NULL) {
        const struct tt_kv kv = {"operation_name", action};
        host->metric_add(host->ctx, API "throttled_requests_total", &kv, 1, 1);
    }
}
