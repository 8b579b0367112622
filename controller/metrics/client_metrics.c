/* SPDX-License-Identifier: Apache-2.0 */
/* client_metrics.c: see client_metrics.h. */
#include "controller/metrics/client_metrics.h"

#include <stdio.h>
#include <string.h>

#include "common/base/log.h"

#define HOST_MAX 300

/* "10.0.0.1:6443" of "https://10.0.0.1:6443/path". */
static void host_of(const char *server, char out[HOST_MAX])
{
    const char *at = strstr(server, "://");

    at = at == NULL ? server : at + 3;
    (void)snprintf(out, HOST_MAX, "%.*s", (int)strcspn(at, "/"), at);
}

static void code_text(int status, char out[16])
{
    if (status == 0) {
        (void)snprintf(out, 16, "<error>");
    } else {
        (void)snprintf(out, 16, "%d", status);
    }
}

void client_metrics_log(void *arg, const struct kube_sent *sent)
{
    (void)arg;
    if (sent->part != KUBE_SENT_ENDED) {
        log_info(6, "API request", LOG_S("method", sent->method), LOG_S("resource", sent->resource),
                 LOG_I("status", sent->status), LOG_MS("took", sent->took_ms));
    }
}

void client_metrics_count(struct metrics *m, const char *server, const struct kube_sent *sent)
{
    char host[HOST_MAX];
    char code[16];
    char before[16];

    client_metrics_log(NULL, sent);
    if (m == NULL) {
        return;
    }
    host_of(server, host);
    code_text(sent->status, code);
    code_text(sent->before, before);
    const struct tt_kv count[] = {{"code", code}, {"method", sent->method}, {"host", host}};
    const struct tt_kv again[] = {{"code", before}, {"verb", sent->method}, {"host", host}};
    const struct tt_kv by[] = {{"verb", sent->method}, {"host", host}};
    if (sent->part != KUBE_SENT_BEGAN) {
        metrics_observe(m, METRIC_CLIENT_RECEIVED, by, ARRAY_LEN(by), (double)sent->received_bytes);
    }
    if (sent->part == KUBE_SENT_ENDED) {
        return;
    }
    metrics_add(m, METRIC_CLIENT_REQUESTS, count, ARRAY_LEN(count), 1);
    metrics_observe(m, METRIC_CLIENT_DURATION, by, ARRAY_LEN(by), (double)sent->took_ms / 1000);
    metrics_observe(m, METRIC_CLIENT_SENT, by, ARRAY_LEN(by), (double)sent->sent_bytes);
    if (sent->again) {
        metrics_add(m, METRIC_CLIENT_RETRIES, again, ARRAY_LEN(again), 1);
    }
    if (sent->limited) {
        const struct tt_kv api = {"api", "kubernetes"};
        double waited_s = (double)sent->waited_ms / 1000;
        metrics_observe(m, METRIC_CLIENT_WAITED, by, ARRAY_LEN(by), waited_s);
        metrics_add(m, METRIC_API_WAIT, &api, 1, waited_s);
    }
}

void client_metrics_made(struct metrics *m, unsigned n)
{
    static const struct tt_kv miss = {"result", "miss"};
    static const struct tt_kv hit = {"result", "hit"};
    bool first = metrics_value(m, METRIC_TRANSPORT_CALLS, &miss, 1) == 0;

    if (first && n > 0) {
        metrics_add(m, METRIC_TRANSPORT_CALLS, &miss, 1, 1);
        n--;
    }
    metrics_add(m, METRIC_TRANSPORT_CALLS, &hit, 1, n);
    metrics_set(m, METRIC_TRANSPORTS, NULL, 0, 1);
}
