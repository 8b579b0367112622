/* SPDX-License-Identifier: Apache-2.0 */
/* proto.h: bodies in protobuf, which kubectl's own `create` commands and Go controllers send by
 * default.
 *
 * Only reading, and only the kinds that such clients write; answers are always JSON, which all of
 * them take.  Pure. */
#ifndef TRIMTAB_SIM_KUBE_PROTO_H
#define TRIMTAB_SIM_KUBE_PROTO_H

#include "common/base/arena.h"
#include "sim/kube/types.h"

#include <json-c/json.h>

#define KUBE_PROTO_MEDIA "application/vnd.kubernetes.protobuf"

/* The error for a body without the prefix of this form. */
#define KUBE_PROTO_NO_MAGIC                                                                        \
    "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"

/* Are the numbers of this type's members known?  Bodies of others cannot be read. */
bool kube_proto_knows(const struct kube_type *type);
/* The body of a request, of a known type, as a tree (arena) with the kind and apiVersion of its
 * envelope; or what is wrong with it, and *ret is not written. */
const char *kube_proto_read(struct arena *a, const struct kube_type *type, const char *body,
                            size_t n, struct json_object **ret);

#endif
