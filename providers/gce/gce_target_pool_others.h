/* SPDX-License-Identifier: Apache-2.0 */
/* gce_target_pool_others.h: what of other Services' load balancers matters to one Service.
 *
 * Private to gce_target_pool_observe.c and gce_target_pool_flow.c.  Thread-safe. */
#ifndef TRIMTAB_GCE_TARGET_POOL_OTHERS_H
#define TRIMTAB_GCE_TARGET_POOL_OTHERS_H

#include "providers/gce/gce_target_pool_observe.h"

/* True when some other Service needs the shared health check (policy Cluster,
 * ours).  Sends no request. */
bool gce_tp_others_want_node_check(const struct gce_provider *p, const struct tt_call *call,
                                   const struct tt_service *self);
/* The snapshot has the shared health check and its firewall. */
bool gce_tp_check_stands(const struct gce_cloud *cloud, struct arena *a, const struct gce_names *n);
/* Does a deny firewall of another Service stand?  What was seen answers; but before the shared
 * firewall comes down to the priority of deny (§4.13), those of all our Services are read by name,
 * and it blocks as long as that takes: a list that lacks one must not cut off the others' health
 * checks.  What could not be read is an error, so that the sync comes again: nothing else would
 * bring the firewall down later. */
int gce_tp_others_have_deny(struct lb_sync *s, const struct gce_tp_item *t, bool *ret,
                            struct err *err) _warn_unused_;

#endif
