/* SPDX-License-Identifier: Apache-2.0 */
/* gce_node_rules.h: from Kubernetes nodes to instances, zones and network tags.
 *
 * Pool members come from spec.providerID, so no instance is ever listed for them (§7.2, ours).
 * Tags come from the configuration, or from the instances of the nodes: the longest tag that
 * begins the instance's name (§7.5).
 * Source: gce-cloud-provider.md §7; vectors §9.3 Z6–Z10, §9.9
 * W23–W25.  Pure. */
#ifndef TRIMTAB_GCE_NODE_RULES_H
#define TRIMTAB_GCE_NODE_RULES_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/base/strset.h"
#include "providers/gce/model/gce_links.h"
#include "providers/gce/model/gce_resources.h"

#include <stdbool.h>
#include <stddef.h>
#include <trimtab/types.h>

/* Zone label, the beta one where it is absent; "" without either (§7.1). */
const char *gce_node_zone(const struct tt_node *n);

/* Why a node that takes part is in no target pool. */
struct gce_left_out {
    const char *node;
    const char *because;
};
/* Members of the pool: eligible nodes whose providerID names an instance of
 * `project` in `region`. */
struct gce_members {
    struct str_set paths;        /* "/zones/Z/instances/N", sorted */
    struct gce_instance_id *ids; /* in the order of the nodes */
    size_t n_ids;
    struct gce_left_out *left_out; /* eligible ones that cannot be members */
    size_t n_left_out;
    size_t n_eligible;
};
/* `project` may be a number that could not be turned into an id; then any project is taken. */
void gce_members_of(struct arena *a, const struct tt_node *const *nodes, size_t n,
                    const char *project, const char *region, struct gce_members *ret);

/* §7.5: sorted, unique.  ERR_INVALID when a host has no such tag, or when no instance matches. */
int gce_host_tags(struct arena *a, const struct gce_instance_id *hosts, size_t n_hosts,
                  const struct gce_instance *instances, size_t n_instances, struct str_set *ret,
                  struct err *err) _warn_unused_;
/* A filter for instances.list: "name eq PREFIX.*", "name eq .*" without prefix. */
char *gce_instances_filter(struct arena *a, const char *prefix);

#endif
