/* SPDX-License-Identifier: Apache-2.0 */
/* gce_decode.h: Google's resources from JSON trees, by the product's own readers of views: tests
 * state resources as trees, and the product reads bytes. */
#ifndef TRIMTAB_TESTS_GCE_DECODE_H
#define TRIMTAB_TESTS_GCE_DECODE_H

#include "providers/gce/model/gce_l4_resources.h"
#include "providers/gce/model/gce_resources.h"

#define GCE_DECODE_TREE(type)                                                                      \
    static inline int type##_decode(struct arena *a, struct json_object *o, struct type *ret,      \
                                    struct err *err)                                               \
    {                                                                                              \
        const struct json_view v = json_view_of_tree(o);                                           \
        return type##_decode_view(a, &v, ret, err);                                                \
    }

GCE_DECODE_TREE(gce_check)
GCE_DECODE_TREE(gce_firewall)
GCE_DECODE_TREE(gce_group)
GCE_DECODE_TREE(gce_hc)
GCE_DECODE_TREE(gce_neg)
GCE_DECODE_TREE(gce_pool)
GCE_DECODE_TREE(gce_subnetwork)

#undef GCE_DECODE_TREE

#endif
