/* SPDX-License-Identifier: Apache-2.0 */
/* gce_l4_metrics.h: what ingress-gce's L4 controllers measure, under their names (gce-l4.md §7.6).
 *
 * One observation for each sync of a Service of theirs.  The table is part of the descriptor. */
#ifndef TRIMTAB_GCE_L4_METRICS_H
#define TRIMTAB_GCE_L4_METRICS_H

#include "providers/gce/gce_flow.h"

/* All metrics of the provider, for the descriptor (gce_metrics_table.c). */
#define GCE_METRICS_COUNT 11
extern const struct tt_metric gce_metrics[GCE_METRICS_COUNT];

/* At the end of a sync, before its result is set. */
void gce_l4_metrics_note(struct lb_sync *s, const struct lb_item *item,
                         const struct gce_bs_item *b);

#endif
