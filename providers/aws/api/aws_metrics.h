/* SPDX-License-Identifier: Apache-2.0 */
/* aws_metrics.h: what the provider counts, under the names that dashboards of upstream know.
 *
 * The host drops what it does not know and does not block, so nothing here fails; `host` may be
 * NULL.
 * Source: docs/spec/aws.md 14.2.  Thread-safe. */
#ifndef TRIMTAB_AWS_METRICS_H
#define TRIMTAB_AWS_METRICS_H

#include "common/base/err.h"
#include "providers/aws/auth/aws_endpoint.h"

#include <trimtab/provider.h>

#define AWS_METRICS 4u
extern const struct tt_metric aws_metrics[AWS_METRICS]; /* for the descriptor */

/* An HTTP answer with a status of 400 or more; every attempt counts. */
void aws_metrics_status(const struct tt_host *host, enum aws_api api, const char *action,
                        int status);
/* A call has ended, all its pages and attempts included. */
void aws_metrics_call(const struct tt_host *host, enum aws_api api, const char *action, bool well,
                      int64_t took_ms);
/* A call has failed for good because of too many requests. */
void aws_metrics_throttled(const struct tt_host *host, const char *action);

#endif
