/* SPDX-License-Identifier: Apache-2.0 */
/* cluster.h: the initial objects of a cluster, and worlds.
 *
 * A world is {"kubernetes": {plural: [objects]}}.  Loading does not validate; plurals that are not
 * served are kept and dumped (interfaces.md). */
#ifndef TRIMTAB_SIM_KUBE_CLUSTER_H
#define TRIMTAB_SIM_KUBE_CLUSTER_H

#include "sim/kube/kube.h"

/* Makes the well-known namespaces, and the Service `kubernetes` and the ConfigMap of the
 * aggregation layer unless `world` (the "kubernetes" member; may be NULL) lists its own
 * services or configmaps. */
void kube_cluster_bootstrap(struct kube_state *st, struct json_object *world);
/* sim_module.load and .dump. */
int kube_world_load(void *state, struct json_object *world, struct err *err);
void kube_world_dump(void *state, struct json_object *world);

#endif
