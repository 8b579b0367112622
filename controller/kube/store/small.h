/* SPDX-License-Identifier: Apache-2.0 */
/* small.h: Services and EndpointSlices as the store keeps them: texts and numbers one behind the
 * other.
 *
 * A Service's block of object.h is a struct tt_service with what it points to: some 600 bytes, most
 * of them pointers and members that are zero.  The small form names only the members that are not,
 * and takes a quarter of that.  Reading one gives an object again, equal in every member.  Its
 * texts are the small form's own; structures are recreated, and texts that are short otherwise:
 * UIDs and addresses.
 *
 * Immutable, reference counted, thread-safe.  Nodes have no small form, nor has an object that was
 * not read whole. */
#ifndef TRIMTAB_KUBE_SMALL_H
#define TRIMTAB_KUBE_SMALL_H

#include "common/base/attr.h"
#include "common/base/uuid.h"
#include "controller/kube/store/object.h"

#include <stddef.h>
#include <stdint.h>

struct kube_small;

/* A new reference; NULL for an object that has no small form. */
struct kube_small *kube_small_of(const struct kube_object *o) _warn_unused_;
/* A new object with one reference, which keeps the small form as long as it lives. */
struct kube_object *kube_small_read(struct kube_small *s) _warn_unused_;
struct kube_small *kube_small_ref(struct kube_small *s);
void kube_small_unref(struct kube_small *s); /* NULL is fine */

const char *kube_small_key(const struct kube_small *s);
/* The form's own, or in `room`. */
const char *kube_small_uid(const struct kube_small *s, char room[UUID_TEXT]);
const char *kube_small_version(const struct kube_small *s);
const char *kube_small_service(const struct kube_small *s); /* of a slice; "" of others */
/* Its bytes on the heap, without malloc's own. */
size_t kube_small_bytes(const struct kube_small *s);

#endif
