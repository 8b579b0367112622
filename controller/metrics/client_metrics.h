/* SPDX-License-Identifier: Apache-2.0 */
/* client_metrics.h: requests to the API server in rest_client_* metrics and in the log, as
 * client-go counts them (controller.md §3.7).
 *
 * Called by the owner of a kube_client, from its `observe`.  Thread-safe. */
#ifndef TRIMTAB_CONTROLLER_CLIENT_METRICS_H
#define TRIMTAB_CONTROLLER_CLIENT_METRICS_H

#include "controller/kube/model/sent.h"
#include "controller/metrics/metrics.h"

/* One request on the wire: logs and counts it.  `m` NULL: only logs.  `server` is its URL's
 * beginning; the label "host" is its host and port. */
void client_metrics_count(struct metrics *m, const char *server, const struct kube_sent *sent);
/* Logs one, and no more: the observer of one-shot commands, which have no metrics.  `arg`
 * is not used. */
void client_metrics_log(void *arg, const struct kube_sent *sent);
/* `n` clients were made; all of the process share one set of TLS settings. */
void client_metrics_made(struct metrics *m, unsigned n);

#endif
