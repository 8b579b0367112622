/* SPDX-License-Identifier: Apache-2.0 */
/* store.c: the map from key to object, its snapshots and its handlers.
 *
 * The writer changes the index under the lock and then, outside it, tells the handlers with references to the old
 * and the new object.  A replace by LIST puts objects in one by one, as they are decoded, instead of holding two
 * full sets: each of them is newer than or equal to what was there; what was not seen goes at the end.  A replace by
 * a streaming list is staged in an index of the writer's, which shares what the store has already.
 * Source: controller.md §4.8.  One writer thread, any number of readers. */
#include "controller/kube/store.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/lock.h"
#include "common/base/str.h"
#include "controller/kube/store_index.h"

#define HANDLERS_MAX 8

struct kube_store {
    enum kube_kind kind;
    struct kube_handler handlers[HANDLERS_MAX]; /* fixed before the writer starts */
    size_t n_handlers;
    uint64_t round;            /* the writer's: number of replaces begun */
    bool replacing;            /* the writer's */
    bool is_staged;            /* the writer's: this replace is */
    struct store_index staged; /* the writer's */
    _Atomic int untold;        /* changes whose handlers have not been told to the end */

    struct mutex lock;
    struct store_index by_key _guarded_by_(&lock);
    struct store_index by_service _guarded_by_(&lock); /* KUBE_SLICE only */
    struct kube_snapshot *cached _guarded_by_(&lock);  /* NULL after a change */
    uint64_t version _guarded_by_(&lock);              /* counts snapshots of all */
    size_t unreadable _guarded_by_(&lock);             /* objects that were not read whole */
    bool synced _guarded_by_(&lock);
};

struct kube_store *kube_store_new(enum kube_kind kind)
{
    struct kube_store *s = xcalloc(1, sizeof *s);
    s->kind = kind;
    store_index_init(&s->staged, store_cmp_key);
    mutex_init(&s->lock);
    mutex_lock(&s->lock);
    store_index_init(&s->by_key, store_cmp_key);
    store_index_init(&s->by_service, store_cmp_service);
    mutex_unlock(&s->lock);
    return s;
}

void kube_store_free(struct kube_store *s)
{
    if (s == NULL) {
        return;
    }
    mutex_lock(&s->lock);
    kube_snapshot_unref(s->cached);
    store_index_done(&s->by_key);
    store_index_done(&s->by_service);
    mutex_unlock(&s->lock);
    mutex_done(&s->lock);
    store_index_done(&s->staged);
    free(s);
}

void kube_store_add_handler(struct kube_store *s, const struct kube_handler *h)
{
    assert(s->n_handlers < HANDLERS_MAX);
    s->handlers[s->n_handlers++] = *h;
}

enum kube_kind kube_store_kind(const struct kube_store *s)
{
    return s->kind;
}

/* --- readers ----------------------------------------------------------------------------------- */

struct kube_object *kube_store_get(struct kube_store *s, const char *key)
{
    const struct kube_object like = {.kind = s->kind, .key = key};
    mutex_lock(&s->lock);
    struct index_entry *e = store_index_find(&s->by_key, &like);
    struct kube_object *o = e == NULL ? NULL : kube_object_ref(e->object);
    mutex_unlock(&s->lock);
    return o;
}

bool kube_store_synced(struct kube_store *s)
{
    mutex_lock(&s->lock);
    bool synced = s->synced;
    mutex_unlock(&s->lock);
    return synced;
}

size_t kube_store_count(struct kube_store *s)
{
    mutex_lock(&s->lock);
    size_t n = s->by_key.n;
    mutex_unlock(&s->lock);
    return n;
}

size_t kube_store_unreadable(struct kube_store *s)
{
    mutex_lock(&s->lock);
    size_t n = s->unreadable;
    mutex_unlock(&s->lock);
    return n;
}

/* One allocation for the list and both of its arrays. */
static struct kube_snapshot *snapshot_new(const struct index_entry *entries, size_t n)
{
    struct kube_snapshot *snap = xmalloc(sizeof *snap + n * 2 * sizeof(void *));
    atomic_init(&snap->refs, 1);
    snap->n = n;
    snap->version = 0;
    snap->objects = (struct kube_object **)(snap + 1);
    snap->views = (const void **)(snap->objects + n);
    for (size_t i = 0; i < n; i++) {
        snap->objects[i] = kube_object_ref(entries[i].object);
        snap->views[i] = entries[i].object->service; /* the union: all members are pointers */
    }
    return snap;
}

static struct kube_snapshot *snapshot_ref(struct kube_snapshot *s)
{
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    return s;
}

void kube_snapshot_unref(struct kube_snapshot *s)
{
    if (s == NULL || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    for (size_t i = 0; i < s->n; i++) {
        kube_object_unref(s->objects[i]);
    }
    free(s);
}

struct kube_snapshot *kube_store_snapshot(struct kube_store *s)
{
    mutex_lock(&s->lock);
    if (s->cached == NULL) {
        s->cached = snapshot_new(s->by_key.entries, s->by_key.n);
        s->cached->version = ++s->version;
    }
    struct kube_snapshot *snap = snapshot_ref(s->cached);
    mutex_unlock(&s->lock);
    return snap;
}

static bool is_slice_of(const struct index_entry *e, const char *ns, const char *service)
{
    return str_eq(e->object->slice->ns, ns) && str_eq(e->object->slice->service, service);
}

struct kube_snapshot *kube_store_slices_of(struct kube_store *s, const char *ns,
                                           const char *service)
{
    assert(s->kind == KUBE_SLICE);
    const struct tt_slice first = {.ns = ns, .service = service, .name = ""};
    const struct kube_object like = {.kind = KUBE_SLICE, .slice = &first};
    mutex_lock(&s->lock);
    const struct store_index *x = &s->by_service;
    size_t from = store_index_lower(x, &like);
    size_t to = from;
    while (to < x->n && is_slice_of(&x->entries[to], ns, service)) {
        to++;
    }
    struct kube_snapshot *snap = snapshot_new(x->n == 0 ? NULL : &x->entries[from], to - from);
    mutex_unlock(&s->lock);
    return snap;
}

/* --- the writer -------------------------------------------------------------------------------- */

static void forget_snapshot(struct kube_store *s) _requires_(&s->lock)
{
    kube_snapshot_unref(s->cached);
    s->cached = NULL;
}

static void count_unreadable(struct kube_store *s, const struct kube_object *old_obj,
                             const struct kube_object *cur) _requires_(&s->lock)
{
    s->unreadable += cur != NULL && cur->unreadable != NULL;
    s->unreadable -= old_obj != NULL && old_obj->unreadable != NULL;
}

/* A label may have moved the slice to another Service: out with the old entry, in with the new. */
static void index_by_service(struct kube_store *s, const struct kube_object *old_obj,
                             struct kube_object *cur) _requires_(&s->lock)
{
    if (s->kind != KUBE_SLICE) {
        return;
    }
    if (old_obj != NULL) {
        kube_object_unref(store_index_take(&s->by_service, old_obj));
    }
    if (cur != NULL) {
        kube_object_unref(store_index_put(&s->by_service, kube_object_ref(cur), 0));
    }
}

/* Said under the lock, with the change of the index; tell() takes it back. */
static void is_untold(struct kube_store *s, size_t n)
{
    atomic_fetch_add(&s->untold, (int)n);
}

static void tell(struct kube_store *s, struct kube_object *old_obj, struct kube_object *cur)
{
    for (size_t i = 0; i < s->n_handlers; i++) {
        if (s->handlers[i].changed != NULL) {
            s->handlers[i].changed(s->handlers[i].arg, old_obj, cur);
        }
    }
    atomic_fetch_sub(&s->untold, 1);
}

bool kube_store_is_quiet(const struct kube_store *s)
{
    return atomic_load(&s->untold) == 0;
}

/* Same object, same version: nobody is told, and the old block stays (§4.8: only a resync would be told). */
static bool is_same(const struct kube_object *a, const struct kube_object *b)
{
    return a->resource_version[0] != '\0' &&
           strcmp(a->resource_version, b->resource_version) == 0 && strcmp(a->uid, b->uid) == 0;
}

static void put(struct kube_store *s, struct kube_object *o)
{
    assert(o->kind == s->kind);
    mutex_lock(&s->lock);
    struct index_entry *e = store_index_find(&s->by_key, o);
    if (e != NULL && is_same(e->object, o)) {
        e->round = s->round;
        mutex_unlock(&s->lock);
        kube_object_unref(o);
        return;
    }
    struct kube_object *told =
        kube_object_ref(o); /* for the handlers: a reader may drop its own any time */
    struct kube_object *old_obj = store_index_put(&s->by_key, o, s->round);
    index_by_service(s, old_obj, o);
    count_unreadable(s, old_obj, o);
    forget_snapshot(s);
    is_untold(s, 1);
    mutex_unlock(&s->lock);
    tell(s, old_obj, told);
    kube_object_unref(old_obj);
    kube_object_unref(told);
}

void kube_store_put(struct kube_store *s, struct kube_object *o)
{
    put(s, o);
}

/* `last` is what handlers get as the last known state; takes over no reference. */
static void delete_like(struct kube_store *s, struct kube_object *last)
{
    mutex_lock(&s->lock);
    struct kube_object *old_obj = store_index_take(&s->by_key, last);
    if (old_obj != NULL) {
        index_by_service(s, old_obj, NULL);
        count_unreadable(s, old_obj, NULL);
        forget_snapshot(s);
        is_untold(s, 1);
    }
    mutex_unlock(&s->lock);
    if (old_obj != NULL) {
        tell(s, last, NULL);
    }
    kube_object_unref(old_obj);
}

void kube_store_delete(struct kube_store *s, struct kube_object *o)
{
    delete_like(s, o);
    kube_object_unref(o);
}

/* --- replace ----------------------------------------------------------------------------------- */

void kube_store_replace_begin(struct kube_store *s)
{
    s->round++;
    s->replacing = true;
    s->is_staged = false;
}

void kube_store_replace_begin_staged(struct kube_store *s)
{
    kube_store_replace_begin(s);
    s->is_staged = true;
}

/* The store's own object instead of its like. */
static struct kube_object *share(struct kube_store *s, struct kube_object *o)
{
    mutex_lock(&s->lock);
    struct index_entry *e = store_index_find(&s->by_key, o);
    bool known = e != NULL && is_same(e->object, o);
    struct kube_object *ours = known ? kube_object_ref(e->object) : o;
    mutex_unlock(&s->lock);
    if (known) {
        kube_object_unref(o);
    }
    return ours;
}

static bool replaces_another(struct kube_store *s, const struct kube_object *o)
{
    mutex_lock(&s->lock);
    const struct index_entry *e = store_index_find(&s->by_key, o);
    bool replaces = e != NULL && !str_eq(e->object->uid, o->uid);
    mutex_unlock(&s->lock);
    return replaces;
}

void kube_store_replace_put(struct kube_store *s, struct kube_object *o)
{
    assert(s->replacing);
    /* An object that takes another's place waits for the end of the list, too: how many are lost is known only then. */
    if (!s->is_staged && !replaces_another(s, o)) {
        put(s, o);
        return;
    }
    kube_object_unref(store_index_put(&s->staged, share(s, o), s->round));
}

void kube_store_replace_take(struct kube_store *s, const char *key)
{
    assert(s->replacing && s->is_staged);
    const struct kube_object like = {.kind = s->kind, .key = key};
    kube_object_unref(store_index_take(&s->staged, &like));
}

size_t kube_store_staged(const struct kube_store *s)
{
    return s->staged.n;
}

bool kube_store_is_staged(const struct kube_store *s, const char *key)
{
    const struct kube_object like = {.kind = s->kind, .key = key};
    return store_index_find(&s->staged, &like) != NULL;
}

/* Entries of by_service whose object has left by_key go, too. */
static void drop_strays_by_service(struct kube_store *s) _requires_(&s->lock)
{
    struct store_index *x = &s->by_service;
    size_t kept = 0;
    for (size_t i = 0; i < x->n; i++) {
        struct index_entry *e = store_index_find(&s->by_key, x->entries[i].object);
        if (e != NULL) {
            x->entries[kept++] = x->entries[i];
        } else {
            kube_object_unref(x->entries[i].object);
        }
    }
    x->n = kept;
}

/* Takes out everything that the list did not hold: in one pass, because a hundred thousand single removals move
 * the array a hundred thousand times, and the reflector hears no signal meanwhile. */
static void take_unseen(struct kube_store *s, struct store_index *ret)
{
    mutex_lock(&s->lock);
    store_index_take_before(&s->by_key, s->round, ret);
    for (size_t i = 0; i < ret->n; i++) {
        count_unreadable(s, ret->entries[i].object, NULL);
    }
    if (ret->n > 0) {
        drop_strays_by_service(s);
        forget_snapshot(s);
        is_untold(s, ret->n);
    }
    mutex_unlock(&s->lock);
}

static void set_synced(struct kube_store *s)
{
    mutex_lock(&s->lock);
    bool first = !s->synced;
    s->synced = true;
    mutex_unlock(&s->lock);
    for (size_t i = 0; first && i < s->n_handlers; i++) {
        if (s->handlers[i].synced != NULL) {
            s->handlers[i].synced(s->handlers[i].arg);
        }
    }
}

/* Entry by entry into the store: its references move. */
static void publish_staged(struct kube_store *s)
{
    for (size_t i = 0; i < s->staged.n; i++) {
        put(s, s->staged.entries[i].object);
    }
    s->staged.n = 0;
    store_index_done(&s->staged);
    store_index_init(&s->staged, store_cmp_key);
}

/* Objects that the list, complete now, does not hold: absent, or another object by that name. */
static bool is_lost(struct kube_store *s, const struct index_entry *e)
{
    const struct index_entry *next = store_index_find(&s->staged, e->object);
    return next != NULL ? !str_eq(next->object->uid, e->object->uid) : e->round != s->round;
}

static void tell_lost(struct kube_store *s)
{
    bool asked = false;
    for (size_t i = 0; i < s->n_handlers; i++) {
        asked = asked || s->handlers[i].lost != NULL;
    }
    if (!asked) {
        return;
    }
    mutex_lock(&s->lock);
    struct kube_object **lost = xcalloc(s->by_key.n + 1, sizeof(struct kube_object *));
    size_t n = 0;
    for (size_t i = 0; i < s->by_key.n; i++) {
        if (is_lost(s, &s->by_key.entries[i])) {
            lost[n++] = kube_object_ref(s->by_key.entries[i].object);
        }
    }
    mutex_unlock(&s->lock);
    for (size_t i = 0; n > 0 && i < s->n_handlers; i++) {
        if (s->handlers[i].lost != NULL) {
            s->handlers[i].lost(s->handlers[i].arg, lost, n);
        }
    }
    for (size_t i = 0; i < n; i++) {
        kube_object_unref(lost[i]);
    }
    free(lost);
}

void kube_store_replace_end(struct kube_store *s, bool complete)
{
    s->replacing = false;
    if (!complete) {
        store_index_done(&s->staged);
        store_index_init(&s->staged, store_cmp_key);
        return;
    }
    tell_lost(s);
    publish_staged(s);
    struct store_index gone;
    store_index_init(&gone, store_cmp_key);
    take_unseen(s, &gone);
    for (size_t i = 0; i < gone.n; i++) {
        tell(s, gone.entries[i].object, NULL);
    }
    store_index_done(&gone);
    set_synced(s);
}
