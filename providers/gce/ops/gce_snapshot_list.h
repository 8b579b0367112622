/* SPDX-License-Identifier: Apache-2.0 */
/* gce_snapshot_list.h: whole collections, read into the snapshot in one wave. */
#ifndef TRIMTAB_GCE_SNAPSHOT_LIST_H
#define TRIMTAB_GCE_SNAPSHOT_LIST_H

#include "common/base/err.h"
#include "common/net/http.h"

#include <trimtab/provider.h>

struct gce_cloud;

/* Lists those of these kinds (GCE_KIND() bits) that may be listed: one list per kind, all zones of
 * a zonal one in one (aggregatedList).  A kind that we may not list, or that has too many resources
 * to keep, is read one by one from then on.  Blocks.  Adds to *ret_reads.  Who calls has claimed
 * the snapshot (gce_snapshot_claim) and says when it is filled. */
int gce_snapshot_list(struct gce_cloud *cloud, unsigned kinds, struct http *http,
                      const struct tt_call *call, unsigned *ret_reads,
                      struct err *err) _warn_unused_;

#endif
