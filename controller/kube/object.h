/* SPDX-License-Identifier: Apache-2.0 */
/* object.h: Services, Nodes and EndpointSlices as they are kept: one compact immutable block each.
 *
 * An object is decoded straight from one item's JSON into a single allocation that holds the ABI struct
 * (trimtab/types.h) and everything it points to; then the JSON is dropped.  Only the fields of controller.md §5
 * are kept.  Immutable after publication and reference counted: readers hold a reference, never a lock.
 * Thread-safe. */
#ifndef TRIMTAB_KUBE_OBJECT_H
#define TRIMTAB_KUBE_OBJECT_H

#include "common/base/err.h"
#include "common/base/json_view.h"

#include <stddef.h>
#include <stdint.h>
#include <trimtab/types.h>

enum kube_kind {
    KUBE_SERVICE = 0,
    KUBE_NODE,
    KUBE_SLICE,
    KUBE_KIND_MAX,
};

struct kube_object {
    _Atomic uint32_t refs;
    enum kube_kind kind;
    uint32_t bytes;  /* size of the block */
    const char *key; /* "namespace/name", or "name" for Nodes */
    const char *uid;
    const char *resource_version;
    union { /* points into the block */
        const struct tt_service *service;
        const struct tt_node *node;
        const struct tt_slice *slice;
    };
};

/* Decodes one item (from a list: kind and apiVersion may be missing).  A new object with one reference.
 * ERR_INVALID with the path ("service demo/web: spec.ports[1].port: …") for wrong types or numbers out of range, and
 * when name or resourceVersion is missing.  Unknown members are skipped. */
int kube_object_decode(enum kube_kind kind, struct json_object *item, struct kube_object **ret,
                       struct err *err) _warn_unused_;
/* The same from a view that was parsed from text.  `scratch` gets what only the decoding needs. */
int kube_object_decode_view(enum kube_kind kind, struct arena *scratch,
                            const struct json_view *item, struct kube_object **ret,
                            struct err *err) _warn_unused_;
struct kube_object *kube_object_ref(struct kube_object *o);
void kube_object_unref(struct kube_object *o); /* NULL is fine */
/* For _cleanup_. */
void kube_object_unrefp(struct kube_object **o);
/* Names of the members (at their paths) that the decoder asks for: the cutter (json_cutter.h) drops the rest. */
const char *const *kube_kind_members(enum kube_kind kind);
const char *kube_kind_resource(enum kube_kind kind); /* "services" */
const char *kube_kind_path(enum kube_kind kind);     /* "/api/v1/services" */
const char *kube_kind_name(enum kube_kind kind);     /* "Service" */

#endif
