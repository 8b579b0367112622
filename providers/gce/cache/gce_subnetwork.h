/* SPDX-License-Identifier: Apache-2.0 */
/* gce_subnetwork.h: the cluster's subnetwork, where the cloud config names none.
 *
 * Only an auto-mode network tells which it is: the one of the region that lies inside the range
 * that Google gives such networks (others were made by hand).  A custom or a legacy network, or
 * none or several of them: nothing is known, and nothing is asked again.  It is looked for when the
 * first balancer with a backend service needs it, and until an answer was had; where we may not
 * look, or the network is not found, every five minutes.
 * Source: gce-cloud-provider.md §1.4, §15 row 25.  Thread-safe; blocks while it asks, with
 * no lock held. */
#ifndef TRIMTAB_GCE_SUBNETWORK_H
#define TRIMTAB_GCE_SUBNETWORK_H

#include "common/base/arena.h"
#include "common/base/err.h"

struct gce_subnet_search;
struct lb_sync;

struct gce_subnet_search *gce_subnet_search_new(void) _warn_unused_;
void gce_subnet_search_free(struct gce_subnet_search *f);
/* For a sync: the subnetwork's link, in its arena; "" when there is none to be known.  Any other
 * failure than a refusal is returned, because members picked without it might be others. */
int gce_subnet_search_get(struct gce_subnet_search *f, struct lb_sync *s, const char **ret,
                          struct err *err) _warn_unused_;
/* The cached value; "" if none.  Sends no request. */
const char *gce_subnet_search_known(struct gce_subnet_search *f, struct arena *a);

#endif
