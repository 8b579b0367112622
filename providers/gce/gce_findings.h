/* SPDX-License-Identifier: Apache-2.0 */
/* gce_findings.h: wishes of a Service that have no effect on Google's cloud, by one table of
 * annotations.  Pure.
 *
 * Source: docs/spec/gce-cloud-provider.md 6, gce-l4.md 5; docs/adr/0028. */
#ifndef TRIMTAB_GCE_FINDINGS_H
#define TRIMTAB_GCE_FINDINGS_H

#include "common/lb/findings.h"
#include "providers/gce/config/gce_options.h"
#include "providers/gce/decide/gce_decide.h"

/* The keys of the table, and those of other programs: ingress-gce's other controllers and GKE's. */
extern const struct lb_annotation_keys gce_annotation_keys;

/* Adds what the Service asks for in vain as this kind, with these flags. */
void gce_findings(struct lb_sync *s, const struct lb_item *item, enum gce_kind kind,
                  const struct gce_options *o);
struct gce_bs_item;
/* The same by what the Service says beside, and of annotations that an edit took away and whose
 * effect stays.  (gce_idle.c) */
void gce_idle_findings(struct lb_sync *s, const struct lb_item *item, const struct gce_decision *d,
                       const struct gce_options *o);
/* Names of reserved addresses that the load balancer does not get; after it was looked at.
 * (gce_idle.c) */
void gce_idle_addresses(struct lb_sync *s, const struct lb_item *item, const struct gce_bs_item *b);
/* Lists that are longer than Google takes: source ranges of a firewall, nodes behind an internal
 * load balancer, in an instance group or in NEGs. */
void gce_limits_find(struct lb_sync *s, struct lb_item *item);
/* Before anything is planned for it: sets item->err of a Service without an address that Google
 * would refuse for such a list, half built.  What stands is planned, and Google decides. */
bool gce_limits_refuse(struct lb_item *item);
/* The same by what is desired of a backend service. */
void gce_findings_desired(struct lb_sync *s, struct lb_item *item);
/* Says why no client is served by the load balancer that is planned, where no health check of
 * Google's is needed to know it. */
void gce_findings_nobody(struct lb_sync *s, struct lb_item *item);
/* ERR_INVALID for a slip of the key load-balancer-type whose value says Internal, on a Service
 * without a load balancer. */
int gce_findings_type_key_check(struct arena *a, const struct tt_service *s, bool lenient,
                                struct err *err) _warn_unused_;

#endif
