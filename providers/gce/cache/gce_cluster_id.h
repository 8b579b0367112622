/* SPDX-License-Identifier: Apache-2.0 */
/* gce_cluster_id.h: the id that tells the shared resources of one cluster from another's.
 *
 * ConfigMap kube-system/ingress-uid, shared with ingress-gce: the first program to start makes it,
 * none overwrites it. Kept for ten minutes, then checked again; while it cannot be
 * read, the last one is used.
 * Source: gce-cloud-provider.md §13.  Thread-safe. */
#ifndef TRIMTAB_GCE_CLUSTER_ID_H
#define TRIMTAB_GCE_CLUSTER_ID_H

#include "common/base/arena.h"
#include "common/base/err.h"

#include <trimtab/provider.h>

/* Value in a plan while the ConfigMap does not exist. */
#define GCE_CLUSTER_ID_UNKNOWN "(new-cluster-id)"

struct gce_cluster_id;
struct gce_cluster_id *gce_cluster_id_new(void) _warn_unused_;
void gce_cluster_id_free(struct gce_cluster_id *c);
/* provider-uid, else uid.  Blocks when it must be read or made. */
int gce_cluster_id_get(struct gce_cluster_id *c, const struct tt_host *host,
                       const struct tt_call *call, struct arena *a, const char **ret,
                       struct err *err) _warn_unused_;
/* From the ConfigMap's JSON: ERR_INVALID when it has no uid, TRANSIENT when it is
 * no JSON. Pure. */
int gce_cluster_id_read(struct arena *a, const char *json, size_t n, const char **ret,
                        struct err *err) _warn_unused_;

#endif
