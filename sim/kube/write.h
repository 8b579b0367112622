/* SPDX-License-Identifier: Apache-2.0 */
/* write.h: the shared steps of create, update and patch.  See write.c. */
#ifndef TRIMTAB_SIM_KUBE_WRITE_H
#define TRIMTAB_SIM_KUBE_WRITE_H

#include "sim/kube/kube.h"

/* Reads the request's body: JSON, YAML or protobuf (of that shape); a refusal or NULL and the tree (life of the
 * request). */
struct json_object *kube_read_body(struct kube_request *r, const struct kube_type *shape,
                                   struct json_object **ret);
/* Reads `in` as an object of the request's kind: types, unknown members by fieldValidation; the result is in
 * stored form (new reference). */
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
