/* SPDX-License-Identifier: Apache-2.0 */
/* client_metrics.c: see client_metrics.h. */
#include "controller/client_metrics.h"

#include <stdio.h>

#include "common/base/log.h"

void client_metrics_count(struct metrics *m, const char *server, const char *method,
                          const char *resource, int status, int64_t took_ms)
{
    char code[16] = "<error>";

    if (status != 0) {
        (void)snprintf(code, sizeof(code), "%d", status);
    }
    const struct tt_kv count[] = {{"code", code}, {"method", method}, {"host", server}};
    const struct tt_kv time[] = {{"verb", method}, {"host", server}};
    log_info(6, "API request", LOG_S("method", method), LOG_S("resource", resource),
             LOG_I("status", status), LOG_MS("took", took_ms));
    metrics_add(m, METRIC_CLIENT_REQUESTS, count, ARRAY_LEN(count), 1);
    metrics_observe(m, METRIC_CLIENT_DURATION, time, ARRAY_LEN(time), (double)took_ms / 1000);
}
