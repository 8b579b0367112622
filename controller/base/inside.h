/* SPDX-License-Identifier: Apache-2.0 */
/* inside.h: objects as the controller holds them, as the library of common/services reads them.
 *
 * The stores keep the structs of the plugin ABI, without hints, CPU and the difference between an
 * absent condition and one that is false.  What the library says of these objects is therefore
 * about pods, nodes, shares and the source address alone.  Everything lives in `a` and borrows
 * texts, so that the originals must live as long.  Pure. */
#ifndef TRIMTAB_CONTROLLER_INSIDE_H
#define TRIMTAB_CONTROLLER_INSIDE_H

#include <trimtab/types.h>

#include "common/services/tell/inside.h"

const struct ks_service *inside_service(struct arena *a, const struct tt_service *svc);
/* `nodes` are sorted by name, and so is the result: of the same length. */
const struct ks_node *const *inside_nodes(struct arena *a, const struct tt_node *const *nodes,
                                          size_t n);
const struct ks_slice *const *inside_slices(struct arena *a, const struct tt_slice *const *slices,
                                            size_t n);
/* The nodes that the controller hands over to the provider; sorted by name, as long as `nodes`. */
struct ks_backend *inside_backends(struct arena *a, const struct tt_node *const *nodes, size_t n);

#endif
