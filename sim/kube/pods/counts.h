/* SPDX-License-Identifier: Apache-2.0 */
/* counts.h: EndpointSlices for Services whose pods the simulator was given (PUT /sim/pods).
 *
 * It writes only slices that say `endpointslice.kubernetes.io/managed-by: trimtab-sim`, follows
 * nodes that come and go, and does not touch Services that have slices of another writer
 * (interfaces.md). */
#ifndef TRIMTAB_SIM_KUBE_PODS_COUNTS_H
#define TRIMTAB_SIM_KUBE_PODS_COUNTS_H

#include "sim/kube/kube.h"

struct kube_counts;

struct kube_counts *kube_counts_new(struct kube_state *st);
void kube_counts_free(struct kube_counts *p);
/* Remembers how many pods each node has ({"node-0": 2}) and writes the slices. */
void kube_counts_set(struct kube_counts *p, const char *ns, const char *service,
                     struct json_object *pods_per_node);
/* True when the pods of this Service are counted. */
bool kube_counts_has(const struct kube_counts *p, const char *ns, const char *service);
/* The counted Service of the namespace that selects these labels (NULL: none), or NULL;
 * in the arena. */
const char *kube_counts_selecting(const struct kube_counts *p, struct arena *a, const char *ns,
                                  struct json_object *labels);
/* Removes the counts of a Service and deletes the slices; false if there are none. */
bool kube_counts_drop(struct kube_counts *p, const char *ns, const char *service);
/* Another world: what was asked for is forgotten; slices stay as they are. */
void kube_counts_forget(struct kube_counts *p);
/* A node or Service changed: slices are checked again in the next round of the loop. */
void kube_counts_follow(struct kube_counts *p, const struct kube_kind *kind,
                        const struct kube_event *ev);

#endif
