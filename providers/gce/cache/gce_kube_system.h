/* SPDX-License-Identifier: Apache-2.0 */
/* gce_kube_system.h: the UID of namespace kube-system, by which ingress-gce tells one cluster's
 * resources from another's.
 *
 * All names and NEG descriptions of its kinds hold a hash of it (gce-l4.md §2.2).  It never changes
 * while the cluster lives, so it is read once.  Thread-safe; blocks when it must be read. */
#ifndef TRIMTAB_GCE_KUBE_SYSTEM_H
#define TRIMTAB_GCE_KUBE_SYSTEM_H

#include "common/base/arena.h"
#include "common/base/err.h"

#include <trimtab/provider.h>

/* Value in a plan without a cluster. */
#define GCE_KUBE_SYSTEM_UNKNOWN "(kube-system-uid)"

struct gce_kube_system;
struct gce_kube_system *gce_kube_system_new(void) _warn_unused_;
void gce_kube_system_free(struct gce_kube_system *k);
int gce_kube_system_uid(struct gce_kube_system *k, const struct tt_host *host,
                        const struct tt_call *call, struct arena *a, const char **ret,
                        struct err *err) _warn_unused_;

#endif
