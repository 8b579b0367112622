/* SPDX-License-Identifier: Apache-2.0 */
/* gce_l4_metrics.h: what both upstream programs measure of a sync, under their names (gce-l4.md
 * §7.6; gce-cloud-provider.md §14.1).
 *
 * One call for each sync.  Histograms and counters are of ingress-gce's kinds; the gauges
 * (gce_gauges.h) of all.  The table is part of the descriptor, and docs/providers/gce.md
 * is printed from it. */
#ifndef TRIMTAB_GCE_L4_METRICS_H
#define TRIMTAB_GCE_L4_METRICS_H

#include "providers/gce/gce_flow.h"
#include "providers/gce/model/gce_l4_names.h"

/* All metrics of the provider (gce_metrics_table.c). */
#define GCE_METRICS_COUNT 37
extern const struct tt_metric gce_metrics[GCE_METRICS_COUNT];

/* At the end of a sync, before its result is set; never while planning.  `item` may have
 * failed, or be settled. */
void gce_metrics_note(struct lb_sync *s, const struct lb_item *item);
/* There is nothing of this Service, and there will be nothing: it counts nowhere. */
void gce_metrics_gone(struct gce_provider *p, const struct tt_service *service);

/* Label gce_resource of an operation on this resource: "forwarding-rule-ipv6"; "" for what never
 * fails a sync.  (gce_l4_resource_rules.c, pure) */
const char *gce_l4_resource_label(const struct gce_l4_names *n, enum gce_collection c,
                                  const char *name);

#endif
