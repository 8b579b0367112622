/* SPDX-License-Identifier: Apache-2.0 */
/* gce_node_cache.h: the table of judged nodes, made once for each state of the nodes
 * (gce_neg_rules.h).
 *
 * A change of nodes brings every Service here, each with the same nodes: the first one makes the
 * tables, and the others use them, as does every later sync until nodes change again.  Handed out
 * with a reference, so that a later table does not take it away.  Thread-safe. */
#ifndef TRIMTAB_GCE_NODE_CACHE_H
#define TRIMTAB_GCE_NODE_CACHE_H

#include "providers/gce/groups/gce_groups.h"
#include "providers/gce/model/gce_neg_rules.h"
#include "providers/gce/model/gce_node_rules.h"

struct gce_node_cache;
struct gce_node_cache *gce_node_cache_new(void) _warn_unused_;
void gce_node_cache_free(struct gce_node_cache *c);
/* Valid as long as `a`; the filter must be the same in every call. */
const struct gce_node_table *gce_node_cache_get(struct gce_node_cache *c, struct arena *a,
                                                const struct gce_node_filter *f,
                                                const struct tt_node *const *nodes, size_t n);
/* Members of the instance groups, by the same nodes (gce_groups_of()); rule and limit are the
 * process's. */
struct gce_groups_ask {
    const struct gce_node_filter *filter;
    const struct tt_node *const *nodes;
    size_t n;
    bool legacy;
    int32_t max;
};
const struct gce_groups_want *gce_node_cache_groups(struct gce_node_cache *c, struct arena *a,
                                                    const struct gce_groups_ask *ask);
/* Members of target pools, by the same nodes (gce_members_of()); project and region are the
 * process's. */
const struct gce_members *gce_node_cache_members(struct gce_node_cache *c, struct arena *a,
                                                 const struct tt_node *const *nodes, size_t n,
                                                 const char *project, const char *region);

#endif
