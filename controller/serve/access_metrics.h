/* SPDX-License-Identifier: Apache-2.0 */
/* access_metrics.h: upstream's metrics of delegated authentication and authorization.
 *
 * Names, labels and buckets as apiserver's (controller.md §3.7).  Thread-safe, as metrics.h is. */
#ifndef TRIMTAB_SERVE_ACCESS_METRICS_H
#define TRIMTAB_SERVE_ACCESS_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/metrics/metrics.h"

/* The table; docs/metrics.md is printed from it. */
extern const struct tt_metric access_metrics[];
extern const size_t access_metrics_n;

/* Adds the table; may be called for a registry that has it already. */
void access_metrics_register(struct metrics *m);

/* `result`: "success", "failure", "error".  `user`: who it was, when success. */
void access_metrics_authn(struct metrics *m, const char *result, const char *user, int64_t took_ms);
/* `result`: "allowed", "denied", "no-opinion", "error". */
void access_metrics_authz(struct metrics *m, const char *result, int64_t took_ms);
/* One request to the API server: `what` "authn" or "authz", status 0: no answer. */
void access_metrics_request(struct metrics *m, const char *what, int status, int64_t took_ms);
/* Remaining life of a certificate that was shown. */
void access_metrics_certificate(struct metrics *m, int64_t remaining_s);
/* A token was looked up: in memory (hit) or not. */
void access_metrics_token(struct metrics *m, bool hit, int64_t took_ms);
/* A TokenReview is over. */
void access_metrics_token_fetch(struct metrics *m, bool ok);
void access_metrics_token_active(struct metrics *m, size_t fetching, size_t waiting);

#endif
