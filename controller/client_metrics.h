/* SPDX-License-Identifier: Apache-2.0 */
/* client_metrics.h: requests to the API server in rest_client_* metrics and in the log (controller.md §3.7).
 *
 * Called by whoever owns a kube_client, from its `observe`.  Thread-safe. */
#ifndef TRIMTAB_CONTROLLER_CLIENT_METRICS_H
#define TRIMTAB_CONTROLLER_CLIENT_METRICS_H

#include <stdint.h>

#include "controller/metrics.h"

/* One request that was sent: `server` its URL's beginning, `status` 0 when there was no answer. */
void client_metrics_count(struct metrics *m, const char *server, const char *method,
                          const char *resource, int status, int64_t took_ms);

#endif
