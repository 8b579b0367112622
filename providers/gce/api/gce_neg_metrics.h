/* SPDX-License-Identifier: Apache-2.0 */
/* gce_neg_metrics.h: what ingress-gce's NEG controller measures, under its names (gce-l4.md §7.6).
 *
 * It has a syncer and a queue of its own for NEGs; here their members are part of a Service's sync.
 * So "a syncer's sync" is a sync of a Service that has NEGs, and its time the whole sync's. */
#ifndef TRIMTAB_GCE_NEG_METRICS_H
#define TRIMTAB_GCE_NEG_METRICS_H

#include "providers/gce/api/gce_api.h"

#include <stdbool.h>
#include <stdint.h>
#include <trimtab/provider.h>

/* A call to the cloud about a NEG has ended, its operation included. */
void gce_neg_metrics_call(const struct tt_host *host, const struct gce_call_spec *spec,
                          double seconds, const struct err *err);
/* A request to the API server about a ServiceNetworkEndpointGroup has ended: "Get", "List",
 * "Create", "Patch", "Delete"; `code` is what it answered (TT_…). */
void gce_neg_metrics_kube(const struct tt_host *host, const char *request, int64_t began_ms,
                          int32_t code);
/* It was decided who belongs into a Service's NEGs. */
void gce_neg_metrics_decided(const struct tt_host *host, int64_t began_ms, bool failed);

/* One sync of a Service with NEGs. */
struct gce_neg_sync {
    int64_t began_ms; /* by the host's clock */
    bool local;       /* policy Local */
    bool made;        /* a NEG was new in it */
    bool failed;
};
void gce_neg_metrics_sync(const struct tt_host *host, const struct gce_neg_sync *sync);

#endif
