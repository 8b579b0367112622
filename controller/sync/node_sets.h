/* SPDX-License-Identifier: Apache-2.0 */
/* node_sets.h: digests of all nodes: by them "did the nodes change?" is one comparison.
 *
 * Two of them: `eligible` is of who takes part in load balancing at all and serves every Service;
 * `own` is of what the provider's node_digest() says and concerns only Services whose backends hang
 * on it (TT_OWN_NODES).  So a node that turns unready wakes those, and no others.  The provider may
 * say more exactly what one of them depends on (nodes_digest()): node_sets_of_service().  Both
 * digests are kept until the list of nodes changes:  thousands of syncs of one state of the cluster
 * look at each node once.  Thread-safe (row 1 of common/base/lock.h); the provider is asked outside
 * the lock. */
#ifndef TRIMTAB_CONTROLLER_NODE_SETS_H
#define TRIMTAB_CONTROLLER_NODE_SETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trimtab/provider.h>

#include "common/base/attr.h"
#include "controller/kube/store/store.h"

struct node_digests {
    uint64_t eligible; /* nodes_fingerprint() */
    uint64_t own;      /* 0 when the provider has no node_digest() */
};
struct node_set {
    struct node_digests digests;
    size_t n_eligible;
};

struct node_sets;
struct node_sets *node_sets_new(void) _warn_unused_;
void node_sets_free(struct node_sets *c); /* NULL is fine */
/* `nodes`: a snapshot of all nodes; `provider`: of desc. */
struct node_set node_sets_of(struct node_sets *c, const struct tt_provider *desc, void *provider,
                             const struct kube_snapshot *nodes);

/* The provider's nodes_digest() of this one Service; 0: not known. */
uint64_t node_sets_of_service(const struct tt_provider *desc, void *provider,
                              const struct tt_service *service, const struct kube_snapshot *nodes);

/* Does this change of one node concern any Service?  Yes if it takes part and did not before, or
 * the other way round, for whatever reason; if it is another machine; or if node_digest() says
 * so. */
bool node_sets_matters(const struct tt_provider *desc, void *provider, const struct tt_node *old,
                       const struct tt_node *cur);

#endif
