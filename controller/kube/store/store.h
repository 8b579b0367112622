/* SPDX-License-Identifier: Apache-2.0 */
/* store.h: what we know of one kind: a map from key to object, fed by a reflector.
 *
 * One writer (the reflector thread), many readers.  A reader takes a reference or a snapshot and
 * works without the lock.  Handlers are called in order from the writing thread, outside the lock,
 * and must be quick: they put keys into the queue.  Semantics of changes: controller.md §4.8 "Store
 * / handler semantics". */
#ifndef TRIMTAB_KUBE_STORE_H
#define TRIMTAB_KUBE_STORE_H

#include "common/base/attr.h"
#include "controller/kube/store/object.h"

#include <stdbool.h>
#include <stddef.h>

struct kube_store;

struct kube_handler {
    /* old NULL: added; cur NULL: deleted (old is the last known state). */
    void (*changed)(void *arg, struct kube_object *old_obj, struct kube_object *cur);
    /* A complete list lacks these `n` objects, or has others (with another UID) in their places.
     * The store has them still; comes before `changed` for each of them.  May be NULL. */
    void (*lost)(void *arg, struct kube_object *const *objects, size_t n);
    /* After the first complete list was delivered. */
    void (*synced)(void *arg);
    void *arg;
};

struct kube_store *kube_store_new(enum kube_kind kind) _warn_unused_;
void kube_store_free(struct kube_store *s);
/* Before the reflector starts: objects are kept in their small form (small.h) where they have one.
 * Then one object is read at each kube_store_get(), and all of them at each kube_store_snapshot(),
 * which is dear: kube_store_each() instead.  Stores of slices keep them so in any case. */
void kube_store_keep_small(struct kube_store *s);
/* Before the reflector starts. */
void kube_store_add_handler(struct kube_store *s, const struct kube_handler *h);

enum kube_kind kube_store_kind(const struct kube_store *s);

/* Readers. */
struct kube_object *kube_store_get(struct kube_store *s,
                                   const char *key) _warn_unused_; /* ref or NULL */
bool kube_store_synced(struct kube_store *s);
size_t kube_store_count(struct kube_store *s);
/* How many of them were not read whole (object.h). */
size_t kube_store_unreadable(struct kube_store *s);
/* The handlers have seen everything that readers can see. */
bool kube_store_is_quiet(const struct kube_store *s);
/* All objects sorted by key (namespace, then name); a shared immutable list, cached until the next
 * change where objects are kept whole. */
struct kube_snapshot {
    _Atomic uint32_t refs;
    size_t n;
    /* of the store's content: lists of all objects with equal ones are equal; 0: of one Service */
    uint64_t version;
    struct kube_object **objects; /* references of the snapshot's */
    /* tt_service * / tt_node * / tt_slice *, same order: what the ABI hands out */
    const void **views;
};
struct kube_snapshot *kube_store_snapshot(struct kube_store *s) _warn_unused_;
void kube_snapshot_unref(struct kube_snapshot *s);
/* The version of the list that kube_store_snapshot() would give now. */
uint64_t kube_store_version(struct kube_store *s);
/* Calls fn for each object, sorted by key, without the lock and without holding more than a few of
 * them: an object that changes meanwhile is passed in its old or new version. */
void kube_store_each(struct kube_store *s, void (*fn)(void *arg, const struct kube_object *o),
                     void *arg);
/* Calls fn for each that is other than at *version (0: for all of them), sorted by key, `cur` NULL
 * when it is gone; then *version is that of now.  Returns true when all were named, because it is
 * not known (any more; where objects are kept whole: ever) which have changed: those that were not
 * named are gone. */
bool kube_store_since(struct kube_store *s, uint64_t *version,
                      void (*fn)(void *arg, const char *key, const struct kube_object *cur),
                      void *arg);
/* Slices of one Service, by an index on kubernetes.io/service-name (KUBE_SLICE stores
 * only); as above. */
struct kube_snapshot *kube_store_slices_of(struct kube_store *s, const char *ns,
                                           const char *service) _warn_unused_;

/* The writer.  All take over the object's reference. */
void kube_store_put(struct kube_store *s, struct kube_object *o); /* ADDED or MODIFIED */
void kube_store_delete(struct kube_store *s,
                       struct kube_object *o); /* DELETED, with the last state */
/* Replace: begin, any number of put, end; what was not put since begin is deleted then.  */
void kube_store_replace_begin(struct kube_store *s);
void kube_store_replace_put(struct kube_store *s, struct kube_object *o);
/* The same, but the objects become visible only at the end: a streaming list may retract items, and
 * may stop half-way.  An object that is in the store already is shared, so what is held twice is
 * only what differs. */
void kube_store_replace_begin_staged(struct kube_store *s);
/* Staged only: taken back.  Takes over no reference. */
void kube_store_replace_take(struct kube_store *s, const char *key);
size_t kube_store_staged(const struct kube_store *s); /* objects put and not taken back */
void kube_store_replace_end(struct kube_store *s, bool complete); /* false: give up, keep the old */

#endif
