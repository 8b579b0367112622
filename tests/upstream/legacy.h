/* SPDX-License-Identifier: Apache-2.0 */
/* legacy.h: the controller of Endpoints: from Services and Pods to one Endpoints object.
 *
 * The API is deprecated, but the controller runs, and people still read what it writes.  Endpoints
 * hold one family only, the Service's first.  Results live in the arena and borrow texts from the
 * arguments.  Pure.
 * Source: Kubernetes 1.36, pkg/controller/endpoint, pkg/api/v1/endpoints. */
#ifndef TRIMTAB_TESTS_UPSTREAM_LEGACY_H
#define TRIMTAB_TESTS_UPSTREAM_LEGACY_H

#include "common/services/decode/objects.h"

/* Addresses beyond this number are cut off. */
#define KS_ENDPOINTS_MAX 1000

/* The Endpoints of a Service, as created again: name, namespace, labels, annotations, subsets,
 * truncated where there are too many addresses.  NULL for a Service of type ExternalName or without
 * a selector, which gets none.  Of `pods` those of other namespaces and those not selected
 * are left out. */
const struct ks_endpoints *ks_legacy_endpoints(struct arena *a, const struct ks_service *service,
                                               const struct ks_pod *const *pods, size_t n_pods);

/* Sizes of one subset. */
struct ks_subset_size {
    size_t ready;
    size_t not_ready;
};
/* Cuts sizes[0..n) to KS_ENDPOINTS_MAX addresses in all, each subset in proportion.  Too many ready
 * ones: all that are not ready go, too.  Returns true when anything was cut. */
bool ks_legacy_truncate(struct ks_subset_size *sizes, size_t n);

#endif
