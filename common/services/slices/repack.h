/* SPDX-License-Identifier: Apache-2.0 */
/* repack.h: subsets of Endpoints in canonical form.  Private to this room; ks_subsets_repack() of
 * legacy.h is the public half. */
#ifndef TRIMTAB_SERVICES_SLICES_REPACK_H
#define TRIMTAB_SERVICES_SLICES_REPACK_H

#include "common/services/slices/legacy.h"

/* As ks_subsets_repack().  `join`: ports with the same appProtocol are one port also when they
 * stand in different subsets. */
const struct ks_subset *subsets_repack(struct arena *a, const struct ks_subset *subsets, size_t n,
                                       bool join, size_t *ret_n);

#endif
