/* SPDX-License-Identifier: Apache-2.0 */
/* pod_change.h: Services that the EndpointSlice controller syncs after a change of a pod.
 *
 * Results live in the arena and borrow texts from the arguments.  Pure.
 * Source: Kubernetes 1.36, k8s.io/endpointslice/util. */
#ifndef TRIMTAB_TESTS_UPSTREAM_POD_CHANGE_H
#define TRIMTAB_TESTS_UPSTREAM_POD_CHANGE_H

#include "common/services/decode/objects.h"

/* The part of a change that tells which Services are concerned. */
struct ks_pod_change {
    const char *ns;
    const struct json_kv *labels;     /* of the new pod, or of one that is gone; sorted by key */
    const struct json_kv *old_labels; /* before the change; sorted by key */
    size_t n_labels;
    size_t n_old_labels;
    bool has_labels;     /* the pod has a map of labels, perhaps empty */
    bool has_old_labels; /* labels, host name or subdomain changed, and there was a map of labels */
    /* besides: readiness, addresses, or deletion began; meaningful with has_old_labels */
    bool pod_changed;
};
/* Tells whether a pod that was added (`before` NULL), updated or removed (`after` NULL) concerns
 * any Service.  *ret is written when it does.  Deletion counts as begun when only one of both has a
 * deletion timestamp, or they differ. */
bool ks_pod_changed(const struct ks_pod *before, const struct ks_pod *after,
                    struct ks_pod_change *ret);
/* The Services to sync after the change, in the order given: those of its namespace that select the
 * pod before or after it.  When labels alone changed, those that select it both before
 * and after are left out. */
const struct ks_service *const *ks_pod_change_services(struct arena *a,
                                                       const struct ks_pod_change *change,
                                                       const struct ks_service *const *services,
                                                       size_t n, size_t *ret_n);

#endif
