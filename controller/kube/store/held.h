/* SPDX-License-Identifier: Apache-2.0 */
/* held.h: one reference to an object that is kept for long, whole or in its small form (small.h).
 *
 * A value of one word, which owns a reference; held_none() owns none.  What is asked of all objects
 * again and again (key, UID, version) is answered without reading the small form.  Thread-safe as
 * the forms are. */
#ifndef TRIMTAB_KUBE_HELD_H
#define TRIMTAB_KUBE_HELD_H

#include "common/base/attr.h"
#include "controller/kube/store/object.h"

#include <stdbool.h>
#include <stdint.h>

struct kube_held {
    uintptr_t bits; /* a pointer; its lowest bit: to a small form */
};

struct kube_held kube_held_none(void);
bool kube_held_is_none(struct kube_held h);
/* Takes over the reference of `o`.  `small`: in its small form, if it has one. */
struct kube_held kube_held_take(struct kube_object *o, bool small) _warn_unused_;
/* Another reference; an object that was read from a small form is held in that. */
struct kube_held kube_held_of(struct kube_object *o) _warn_unused_;
struct kube_held kube_held_ref(struct kube_held h) _warn_unused_;
void kube_held_unref(struct kube_held h); /* none is fine */
/* The object, with a reference of its own; not of held_none(). */
struct kube_object *kube_held_object(struct kube_held h) _warn_unused_;

const char *kube_held_key(struct kube_held h);
bool kube_held_has_uid(struct kube_held h, const char *uid);
bool kube_held_same_uid(struct kube_held a, struct kube_held b);
const char *kube_held_version(struct kube_held h);
const char *kube_held_service(struct kube_held h); /* of a slice */
bool kube_held_is_unreadable(struct kube_held h);

#endif
