/* SPDX-License-Identifier: Apache-2.0 */
/* overloaded.h: whether the EndpointSlice controller must sync a Service because zones have too few
 * hints.  Pure.
 * Source: Kubernetes 1.36, k8s.io/endpointslice/topologycache. */
#ifndef TRIMTAB_TESTS_UPSTREAM_OVERLOADED_H
#define TRIMTAB_TESTS_UPSTREAM_OVERLOADED_H

#include "common/services/topology/topology.h"

/* True when a Service with these hints must be synced, since zones' shares are such that one of
 * them has too few.  False without hints. */
bool ks_overloaded(const struct ks_zone_shares *shares, const struct ks_zone_counts *counts);

#endif
