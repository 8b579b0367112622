/* SPDX-License-Identifier: Apache-2.0 */
/* repack.h: subsets of Endpoints in canonical form.  Pure.
 * Source: Kubernetes 1.36, pkg/api/v1/endpoints. */
#ifndef TRIMTAB_SERVICES_SLICES_REPACK_H
#define TRIMTAB_SERVICES_SLICES_REPACK_H

#include "common/services/decode/objects.h"

/* Subsets in canonical form: each port with all its addresses, ports with the same addresses
 * together, an address that is both ready and not ready for a port not ready.  Addresses are sorted
 * by text, then uid of their target; ports and subsets by their members.  Ports with an appProtocol
 * that stand in different subsets stay apart, as upstream keeps them.  O(n log n)
 * in addresses times ports. */
const struct ks_subset *ks_subsets_repack(struct arena *a, const struct ks_subset *subsets,
                                          size_t n, size_t *ret_n);
/* As ks_subsets_repack().  `join`: ports with the same appProtocol are one port also when they
 * stand in different subsets. */
const struct ks_subset *subsets_repack(struct arena *a, const struct ks_subset *subsets, size_t n,
                                       bool join, size_t *ret_n);

#endif
