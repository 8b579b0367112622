/* SPDX-License-Identifier: Apache-2.0 */
/* object.h: Services, Nodes and EndpointSlices as they are kept: one compact immutable block each.
 *
 * An object is decoded straight from one item's JSON into a single allocation that holds the ABI
 * struct (trimtab/types.h) and everything it points to; then the JSON is dropped.  Only the fields
 * of controller.md §5 are kept.
 *
 * An object of which something cannot be read is there all the same (kube_object_take): under its
 * name, with the reason, with all that can be read, and with the rest as it was when the object was
 * last read whole.  Immutable after publication and reference counted: readers hold a reference,
 * never a lock.  Thread-safe. */
#ifndef TRIMTAB_KUBE_OBJECT_H
#define TRIMTAB_KUBE_OBJECT_H

#include "common/base/err.h"
#include "common/data/json_view.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trimtab/types.h>

struct kube_small;

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
    const char *resource_version; /* "": it could not be read */
    const char *unreadable; /* "spec.ports: want an array, got true"; NULL: it was read whole */
    /* read whole, of the same uid; holds what is lost of this one; or NULL */
    struct kube_object *base;
    struct kube_small *small; /* that it was read from and whose texts it has (small.h), or NULL */
    union {                   /* points into the block */
        const struct tt_service *service;
        const struct tt_node *node;
        const struct tt_slice *slice;
    };
};

/* Decodes one item (from a list: kind and apiVersion may be missing).  A new object with one
 * reference.  ERR_INVALID with the path ("service demo/web: spec.ports[1].port: …") for wrong types
 * or numbers out of range, and when name or resourceVersion is missing.  Unknown
 * members are skipped. */
int kube_object_decode(enum kube_kind kind, struct json_object *item, struct kube_object **ret,
                       struct err *err) _warn_unused_;
/* The same from a view that was parsed from text.  `scratch` gets what only the decoding needs. */
int kube_object_decode_view(enum kube_kind kind, struct arena *scratch,
                            const struct json_view *item, struct kube_object **ret,
                            struct err *err) _warn_unused_;
/* The same, with the path alone ("spec.ports[1].port: …"). */
int kube_object_read(enum kube_kind kind, struct arena *scratch, const struct json_view *item,
                     struct kube_object **ret, struct err *err) _warn_unused_;
/* Known parts of a possibly unreadable item. */
struct kube_salvage {
    const char *why; /* something of it cannot be read, and what; NULL: that is to be found out */
    bool brief;      /* it is a part of what was sent: members that are absent count as lost */
    struct kube_object *known; /* what the store has under that name, or NULL */
};
/* The object, whole if it can be read, else as far as it can be: what is lost is taken from `known`
 * if that is of the same uid and was read whole once.  Lost and not known: labels, annotations and
 * lists are empty, texts "", a Service counts as one of type LoadBalancer.  A new reference; NULL
 * for one without a name: *err (required) says why. */
struct kube_object *kube_object_take(enum kube_kind kind, struct arena *scratch,
                                     const struct json_view *item, const struct kube_salvage *how,
                                     struct err *err) _warn_unused_;
/* A Service that the cluster no longer has: names, UID, finalizers, annotations, type and class as
 * the provider gave them (report_left, report_resource), all else empty.  A new reference; NULL if
 * that is no Service. */
struct kube_object *kube_object_gone(const struct tt_service *svc);
/* "demo/web", or "web" for a Node, of an item that still says so; in `a`.  NULL: it does not. */
const char *kube_item_key(enum kube_kind kind, struct arena *a, const struct json_view *item);
struct kube_object *kube_object_ref(struct kube_object *o);
void kube_object_unref(struct kube_object *o); /* NULL is fine */
/* For _cleanup_. */
void kube_object_unrefp(struct kube_object **o);
/* Names of the members (at their paths) that the decoder asks for: the cutter (json_splitter.h)
 * drops the rest. */
const char *const *kube_kind_members(enum kube_kind kind);
const char *kube_kind_resource(enum kube_kind kind); /* "services" */
const char *kube_kind_path(enum kube_kind kind);     /* "/api/v1/services" */
const char *kube_kind_name(enum kube_kind kind);     /* "Service" */

#endif
