/* SPDX-License-Identifier: Apache-2.0 */
/* azure_metrics.h: what the provider counts, under the names that dashboards of upstream know.
 *
 * The host drops what it does not know and does not block, so nothing here fails.
 * Source: docs/spec/azure.md 4.6.  Thread-safe. */
#ifndef TRIMTAB_AZURE_METRICS_H
#define TRIMTAB_AZURE_METRICS_H

#include "providers/azure/arm/azure_arm.h"

#include <stdint.h>

#define AZURE_METRICS 6u
extern const struct tt_metric azure_metrics[AZURE_METRICS];

/* One request has ended; `status` 0: without an answer.  The group is the one in `id`. */
void azure_metrics_request(const struct azure_arm *arm, const char *op, const char *id, int status,
                           int64_t took_ms);
/* A request waited for the configuration's rate limiter, or (`throttled`) was answered 429. */
void azure_metrics_held(const struct azure_arm *arm, const char *op, const char *id,
                        bool throttled);
/* A Service could not be brought to where it should be. */
void azure_metrics_failed(const struct tt_host *host, const struct azure_config *config,
                          const struct tt_item *item);
/* All Services of a batch that took so long. */
void azure_metrics_batch(const struct tt_host *host, const struct azure_config *config,
                         const struct tt_batch *batch, int64_t took_ms);

#endif
