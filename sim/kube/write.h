/* SPDX-License-Identifier: Apache-2.0 */
/* write.h: the shared steps of create, update and patch.  See body.c and write.c. */
#ifndef TRIMTAB_SIM_KUBE_WRITE_H
#define TRIMTAB_SIM_KUBE_WRITE_H

#include "sim/kube/kube.h"

/* Reads the request's body: JSON, YAML or protobuf (of that shape, where proto.h knows it); a
 * refusal or NULL and the tree (life of the request). */
struct json_object *kube_read_body(struct kube_request *r, const struct kube_type *shape,
                                   struct json_object **ret);
/* The error for a body of an unknown media type (recorded 044). */
struct json_object *kube_unsupported_body(void);
/* Is the media type of a header this one? */
bool kube_media_is(const char *type, const char *wanted);
/* The body as a tree that is an object; "null" is one without members. */
struct json_object *kube_read_object_body(struct kube_request *r, struct json_object **ret);
/* Go's words for a document that is not an object but an array, a text or a number. */
const char *kube_no_object_error(struct arena *a, struct json_object *in);
/* Reads `in` as an object of the request's kind: types, unknown members by fieldValidation; the
 * result is in stored form (new reference). */
struct json_object *kube_read_object(struct kube_request *r, struct json_object *in,
                                     struct json_object **ret);
/* A change on the request's target; `was` from the store (NULL: absent). */
void kube_change_init(struct kube_change *c, struct kube_request *r);
void kube_change_done(struct kube_change *c);
/* Takes a new object (c->now) through everything up to the answer. */
void kube_finish_create(struct kube_request *r, struct kube_change *c);
/* The same for a changed one; `code` is 200. */
void kube_finish_update(struct kube_request *r, struct kube_change *c);
/* Adds an unknown member's warning header. */
void kube_warn_unknown(struct kube_request *r, const char *path);

#endif
