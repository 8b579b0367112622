/* SPDX-License-Identifier: Apache-2.0 */
/* proto.h: bodies in protobuf, which kubectl's own `create` commands and Go controllers send by default.
 *
 * Only reading, and only the kinds that such clients write; answers are always JSON, which all of them take.
 * Pure. */
#ifndef TRIMTAB_SIM_KUBE_PROTO_H
#define TRIMTAB_SIM_KUBE_PROTO_H

#include "common/base/arena.h"
#include "sim/kube/types.h"

#include <json-c/json.h>

#define KUBE_PROTO_MEDIA "application/vnd.kubernetes.protobuf"

/* The body of a request as a tree (arena), or NULL when it is malformed or `type` has no numbers here. */
struct json_object *kube_proto_read(struct arena *a, const struct kube_type *type, const char *body,
                                    size_t n);

#endif
