/* SPDX-License-Identifier: Apache-2.0 */
/* gce_explain_nodes.h: which nodes serve a Service, and the way of a packet, for every kind.
 *
 * Rows of an explanation (common/lb/explain.h); nothing is checked here.  Pure. */
#ifndef TRIMTAB_GCE_EXPLAIN_NODES_H
#define TRIMTAB_GCE_EXPLAIN_NODES_H

#include "common/lb/explain.h"
#include "providers/gce/decide/gce_decide.h"
#include "providers/gce/groups/gce_groups.h"
#include "providers/gce/model/gce_l4_rules.h"
#include "providers/gce/model/gce_neg_rules.h"

/* Data of one Service that gets a load balancer here. */
struct gce_explained {
    const struct tt_service *service;
    enum gce_kind kind;
    const char *ip; /* that it has; "" = none yet */
    const struct tt_node *const *nodes;
    size_t n_nodes;
    const struct tt_slice *const *slices;
    size_t n_slices;
    bool has_slices;
    /* facts */
    const char *project;
    const char *region;
    const char *subnetwork; /* URL of the Service's; "" = unknown or a legacy network */
    const char *network;    /* its Network object, if that is not the cluster's own; else NULL */
    struct gce_node_filter filter;
    struct gce_l4_flags flags;
    bool legacy_groups; /* instance groups are filled as cloud-provider-gcp does */
    int32_t max_group;
    /* members of its target pool, or of the cluster's groups, now; 0: none, or not known */
    size_t n_left;
    const struct gce_neg_places *current; /* members now; NULL: none, or not known */
    bool current_unknown;                 /* they could not be read: who stays is a guess */
};
/* How many nodes the cluster's instance groups are to hold. */
size_t gce_explain_group_nodes(struct arena *a, const struct gce_explained *e);
/* Adds the rows of nodes, with those that are left out and why, of the packet's way, of health, and
 * of the address. */
void gce_explain_nodes(struct lb_explain *x, struct arena *a, const struct gce_explained *e);

#endif
