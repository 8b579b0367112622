/* SPDX-License-Identifier: Apache-2.0 */
/* gc.h: the garbage collector: what belongs to an object goes when the object is gone.
 *
 * Follows metadata.ownerReferences as the collector of a whole cluster does in the background: a
 * dependent without any owner left is deleted (its finalizers delay it), one with another owner
 * loses the dead reference.  It works in the next round of the loop after the owner went.  Owners
 * that the world never had are ignored. */
#ifndef TRIMTAB_SIM_KUBE_GC_H
#define TRIMTAB_SIM_KUBE_GC_H

#include "sim/kube/kube.h"

struct kube_gc;

struct kube_gc *kube_gc_new(struct kube_state *st);
void kube_gc_free(struct kube_gc *gc);
/* An object of a world: its owners are remembered. */
void kube_gc_learn(struct kube_gc *gc, struct json_object *o);
/* Another world. */
void kube_gc_forget(struct kube_gc *gc);
/* A write: new owners are remembered; what a deleted one owned will be looked at. */
void kube_gc_follow(struct kube_gc *gc, const struct kube_event *ev);
/* Takes the references to an object out of what belongs to it (propagationPolicy Orphan):
 * it will stay. */
void kube_gc_orphan(struct kube_gc *gc, const char *ns, const char *uid);

#endif
