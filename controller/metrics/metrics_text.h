/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_text.h: the registry as text that Prometheus reads.
 *
 * Two formats: text 0.0.4 by default, and OpenMetrics 1.0.0 on request.
 * Families are sorted by name, series by the values of their labels; numbers are written as Go
 * writes them, so that `le` is upstream's.
 * Source: prometheus.io/docs/instrumenting/exposition_formats, the OpenMetrics 1.0 text;
 * controller.md §3.5, 3.7.  Thread-safe.  Never blocks for longer than a copy of
 * one family takes. */
#ifndef TRIMTAB_CONTROLLER_METRICS_TEXT_H
#define TRIMTAB_CONTROLLER_METRICS_TEXT_H

#include "common/base/arena.h"
#include "common/base/str.h"
#include "controller/metrics/metrics.h"

enum metrics_format {
    METRICS_TEXT = 0, /* text/plain; version=0.0.4 */
    METRICS_OPEN,     /* application/openmetrics-text; version=1.0.0 */
};

/* The format that the client prefers, by its header Accept ("" and NULL: the first). */
enum metrics_format metrics_negotiate(const char *accept);
/* The Content-Type; static. */
const char *metrics_content_type(enum metrics_format format);
/* Appends all metrics whose names begin with `prefix` ("": all).  `a` is for scratch. */
void metrics_text(struct metrics *m, struct arena *a, enum metrics_format format,
                  const char *prefix, struct str_buf *ret);
/* Appends `v` as Go's strconv.FormatFloat(v, 'g', -1, 64) does: 1.048576e+06, 0.25, +Inf, NaN. */
void metrics_append_number(struct str_buf *b, double v);

#endif
