/* SPDX-License-Identifier: Apache-2.0 */
/* pods.h: Pod objects that live, and the EndpointSlices of the Services that select them.
 *
 * Plays the scheduler, the kubelet and the EndpointSlice controller of a cluster.  Sleeps until the
 * first Pod is made (or a world brings one): then every Service with a selector gets its slices.
 * Services that PUT /sim/pods counts are left to counts.h.  All calls come from
 * the simulator's loop. */
#ifndef TRIMTAB_SIM_KUBE_PODS_PODS_H
#define TRIMTAB_SIM_KUBE_PODS_PODS_H

#include "sim/kube/kube.h"

struct kube_pods;

struct kube_pods *kube_pods_new(struct kube_state *st);
void kube_pods_free(struct kube_pods *p); /* NULL is fine */
/* Another world begins: everything is forgotten. */
void kube_pods_forget(struct kube_pods *p);
/* The world is loaded: its Pods are known from now on, but nothing is written
 * before something changes. */
void kube_pods_load(struct kube_pods *p);
/* A write to the store; the work is done in the next round of the loop. */
void kube_pods_follow(struct kube_pods *p, const struct kube_kind *kind,
                      const struct kube_event *ev);
/* The name of one Pod that the Service selects, or NULL; borrowed until the next write. */
const char *kube_pods_one_of(struct kube_pods *p, const char *ns, const char *service);
/* The Service has been counted, or is no longer: its slices are checked in the next round. */
void kube_pods_look_at(struct kube_pods *p, const char *ns, const char *service);
/* Deletes what this controller wrote for a Service, at once. */
void kube_pods_drop_slices(struct kube_pods *p, const char *ns, const char *service);

#endif
