/* SPDX-License-Identifier: Apache-2.0 */
/* pods.h: EndpointSlices for Services whose pods the simulator was told about (PUT /sim/pods).
 *
 * It writes only slices that say `endpointslice.kubernetes.io/managed-by: trimtab-sim`, follows nodes that come and
 * go, and keeps its hands off Services that have slices of somebody else (interfaces.md). */
#ifndef TRIMTAB_SIM_KUBE_PODS_H
#define TRIMTAB_SIM_KUBE_PODS_H

#include "sim/kube/kube.h"

struct kube_pods;

struct kube_pods *kube_pods_new(struct kube_state *st);
void kube_pods_free(struct kube_pods *p);
/* Remembers how many pods each node has ({"node-0": 2}) and writes the slices. */
void kube_pods_set(struct kube_pods *p, const char *ns, const char *service,
                   struct json_object *pods_per_node);
/* Another world: what was asked for is forgotten; slices stay as they are. */
void kube_pods_forget(struct kube_pods *p);
/* A node or Service changed: slices are looked at again in the next round of the loop. */
void kube_pods_follow(struct kube_pods *p, const struct kube_kind *kind,
                      const struct kube_event *ev);

#endif
