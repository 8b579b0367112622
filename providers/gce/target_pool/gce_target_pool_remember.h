/* SPDX-License-Identifier: Apache-2.0 */
/* gce_target_pool_remember.h: the snapshot of target pools, as it is filled from lists and by
 * writes. */
#ifndef TRIMTAB_GCE_TARGET_POOL_REMEMBER_H
#define TRIMTAB_GCE_TARGET_POOL_REMEMBER_H

#include "common/lb/plan.h"
#include "common/net/http.h"
#include "providers/gce/model/gce_names.h"

struct gce_cloud;

/* Lists all kinds of target pools once into the snapshot.  *ret_reads grows by the requests. */
int gce_tp_fill(struct gce_cloud *cloud, struct http *http, const struct tt_call *call,
                unsigned *ret_reads, struct err *err) _warn_unused_;
/* After an operation: what was written is known, what failed is forgotten. */
void gce_tp_wrote(struct gce_cloud *cloud, const struct lb_op *op, unsigned outcome,
                  const struct err *err);
/* The snapshot has the shared health check and its firewall. */
bool gce_tp_check_stands(const struct gce_cloud *cloud, struct arena *a, const struct gce_names *n);

#endif
