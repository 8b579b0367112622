/* SPDX-License-Identifier: Apache-2.0 */
/* store.c: the map from key to object, its snapshots and its handlers.
 *
 * The writer changes the index under the lock and then, outside it, tells the handlers with
 * references to the old and the new object.  A replace by LIST puts objects in one by one, as they
 * are decoded, instead of holding two full sets: each of them is newer than or equal to what was
 * there; what was not seen goes at the end.  A replace by a streaming list is staged in an index of
 * the writer's, which shares what the store has already.
 * Source: controller.md §4.8.  One writer thread, any number of readers. */
#include "controller/kube/store/store.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/lock.h"
#include "common/base/str.h"
#include "controller/kube/store/store_changes.h"
#include "controller/kube/store/store_index.h"

#define HANDLERS_MAX 8
#define EACH_AT_ONCE ((size_t)128)

struct kube_store {
    enum kube_kind kind;
    struct kube_handler handlers[HANDLERS_MAX]; /* fixed before the writer starts */
    size_t n_handlers;
    uint64_t round;            /* the writer's: number of replaces begun */
    bool replacing;            /* the writer's */
    bool is_staged;            /* the writer's: this replace is */
    bool small;                /* fixed before the writer starts: objects are kept in small form */
    struct store_index staged; /* the writer's */
    _Atomic int untold;        /* changes whose handlers have not been told to the end */

    struct mutex lock;
    struct store_index by_key _guarded_by_(&lock);
    struct store_index by_service _guarded_by_(&lock); /* KUBE_SLICE only */
    struct kube_snapshot *cached _guarded_by_(&lock);  /* NULL after a change, or if small */
    uint64_t version _guarded_by_(&lock);              /* of the content; 1 more at each change */
    struct store_changes changes _guarded_by_(&lock);  /* if small; by version */
    size_t unreadable _guarded_by_(&lock);             /* objects that were not read whole */
    bool synced _guarded_by_(&lock);
};

struct kube_store *kube_store_new(enum kube_kind kind)
{
    struct kube_store *s = xcalloc(1, sizeof *s);
    s->kind = kind;
    s->small = kind == KUBE_SLICE;
    store_index_init(&s->staged, false);
    mutex_init(&s->lock);
    mutex_lock(&s->lock);
    s->version = 1;
    store_index_init(&s->by_key, false);
    store_index_init(&s->by_service, true);
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
    store_changes_done(&s->changes);
    mutex_unlock(&s->lock);
    mutex_done(&s->lock);
    store_index_done(&s->staged);
    free(s);
}

void kube_store_keep_small(struct kube_store *s)
{
    s->small = true;
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

/* --- readers ---------------------------------------------------------------------------------- */

static struct index_place place_of(const char *key)
{
    return (struct index_place){.key = key};
}

/* The object of a reference that this takes over, read outside the lock. */
static struct kube_object *object_of(struct kube_held h)
{
    struct kube_object *o = kube_held_is_none(h) ? NULL : kube_held_object(h);
    kube_held_unref(h);
    return o;
}

struct kube_object *kube_store_get(struct kube_store *s, const char *key)
{
    mutex_lock(&s->lock);
    const struct index_entry *e = store_index_find(&s->by_key, place_of(key));
    struct kube_held h = e == NULL ? kube_held_none() : kube_held_ref(e->held);
    mutex_unlock(&s->lock);
    return object_of(h);
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
static struct kube_snapshot *snapshot_new(size_t n)
{
    struct kube_snapshot *snap = xmalloc(sizeof *snap + n * 2 * sizeof(void *));
    atomic_init(&snap->refs, 1);
    snap->n = n;
    snap->version = 0;
    snap->objects = (struct kube_object **)(snap + 1);
    snap->views = (const void **)(snap->objects + n);
    return snap;
}

/* Another reference to each. */
static void hold(struct kube_held *ret, const struct index_entry *entries, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        ret[i] = kube_held_ref(entries[i].held);
    }
}

/* Takes over the references; to be called without the lock. */
static struct kube_snapshot *snapshot_of(const struct kube_held *held, size_t n)
{
    struct kube_snapshot *snap = snapshot_new(n);
    for (size_t i = 0; i < n; i++) {
        snap->objects[i] = object_of(held[i]);
        snap->views[i] = snap->objects[i]->service; /* the union: all members are pointers */
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

static struct kube_snapshot *snapshot_whole(struct kube_store *s) _requires_(&s->lock)
{
    if (s->cached == NULL) {
        s->cached = snapshot_new(s->by_key.n);
        s->cached->version = s->version;
        for (size_t i = 0; i < s->by_key.n; i++) {
            s->cached->objects[i] = kube_held_object(s->by_key.entries[i].held);
            s->cached->views[i] = s->cached->objects[i]->service;
        }
    }
    return snapshot_ref(s->cached);
}

struct kube_snapshot *kube_store_snapshot(struct kube_store *s)
{
    mutex_lock(&s->lock);
    if (!s->small) {
        struct kube_snapshot *snap = snapshot_whole(s);
        mutex_unlock(&s->lock);
        return snap;
    }
    size_t n = s->by_key.n;
    uint64_t version = s->version;
    struct kube_held *held = xcalloc(n + 1, sizeof *held);
    hold(held, s->by_key.entries, n);
    mutex_unlock(&s->lock);
    struct kube_snapshot *snap = snapshot_of(held, n);
    snap->version = version;
    free(held);
    return snap;
}

uint64_t kube_store_version(struct kube_store *s)
{
    mutex_lock(&s->lock);
    uint64_t version = s->version;
    mutex_unlock(&s->lock);
    return version;
}

/* The next ones behind `after` (NULL: the first); returns how many. */
static size_t hold_next(struct kube_store *s, const char *after, struct kube_held *ret)
{
    mutex_lock(&s->lock);
    const struct store_index *x = &s->by_key;
    size_t from = after == NULL ? 0 : store_index_lower(x, place_of(after));
    if (from < x->n && after != NULL && strcmp(kube_held_key(x->entries[from].held), after) == 0) {
        from++;
    }
    size_t n = x->n - from < EACH_AT_ONCE ? x->n - from : EACH_AT_ONCE;
    hold(ret, n == 0 ? NULL : &x->entries[from], n);
    mutex_unlock(&s->lock);
    return n;
}

void kube_store_each(struct kube_store *s, void (*fn)(void *arg, const struct kube_object *o),
                     void *arg)
{
    struct kube_held held[EACH_AT_ONCE];
    struct kube_held last = kube_held_none();

    for (;;) {
        const char *after = kube_held_is_none(last) ? NULL : kube_held_key(last);
        size_t n = hold_next(s, after, held);
        kube_held_unref(last);
        if (n == 0) {
            return;
        }
        last = kube_held_ref(held[n - 1]);
        for (size_t i = 0; i < n; i++) {
            struct kube_object *o = object_of(held[i]);
            fn(arg, o);
            kube_object_unref(o);
        }
    }
}

/* The function that kube_store_each() calls. */
struct since {
    void (*fn)(void *arg, const char *key, const struct kube_object *cur);
    void *arg;
};

static void tell_since(void *arg, const struct kube_object *o)
{
    const struct since *x = arg;
    x->fn(x->arg, o->key, o);
}

bool kube_store_since(struct kube_store *s, uint64_t *version,
                      void (*fn)(void *arg, const char *key, const struct kube_object *cur),
                      void *arg)
{
    size_t n = 0;
    mutex_lock(&s->lock);
    bool first = *version == 0;
    bool same = *version == s->version;
    char **keys = first || same ? NULL : store_changes_after(&s->changes, *version, &n);
    *version = s->version;
    mutex_unlock(&s->lock);
    if (keys == NULL && !same) {
        struct since x = {fn, arg};
        kube_store_each(s, tell_since, &x);
        return true;
    }
    for (size_t i = 0; i < n; i++) {
        struct kube_object *o = kube_store_get(s, keys[i]);
        fn(arg, keys[i], o);
        kube_object_unref(o);
        free(keys[i]);
    }
    free(keys);
    return false;
}

static bool is_slice_of(const struct index_entry *e, const char *ns, size_t ns_len,
                        const char *service)
{
    const char *key = kube_held_key(e->held);
    return strncmp(key, ns, ns_len) == 0 && key[ns_len] == '/' &&
           str_eq(kube_held_service(e->held), service);
}

struct kube_snapshot *kube_store_slices_of(struct kube_store *s, const char *ns,
                                           const char *service)
{
    assert(s->kind == KUBE_SLICE);
    size_t ns_len = strlen(ns);
    _cleanup_(xfreep) char *first = xasprintf("%s/", ns);
    mutex_lock(&s->lock);
    const struct store_index *x = &s->by_service;
    size_t from = store_index_lower(x, (struct index_place){.key = first, .service = service});
    size_t to = from;
    while (to < x->n && is_slice_of(&x->entries[to], ns, ns_len, service)) {
        to++;
    }
    struct kube_held *held = xcalloc(to - from + 1, sizeof *held);
    hold(held, x->n == 0 ? NULL : &x->entries[from], to - from);
    mutex_unlock(&s->lock);
    struct kube_snapshot *snap = snapshot_of(held, to - from);
    free(held);
    return snap;
}

/* --- the writer ------------------------------------------------------------------------------- */

/* Slices are asked for by Service alone. */
static void note_change(struct kube_store *s, struct kube_held h) _requires_(&s->lock)
{
    kube_snapshot_unref(s->cached);
    s->cached = NULL;
    s->version++;
    if (s->small && s->kind != KUBE_SLICE) {
        store_changes_add(&s->changes, kube_held_key(h), s->version);
    }
}

static bool is_unreadable(struct kube_held h)
{
    return !kube_held_is_none(h) && kube_held_is_unreadable(h);
}

static void count_unreadable(struct kube_store *s, struct kube_held old_held, struct kube_held cur)
    _requires_(&s->lock)
{
    s->unreadable += is_unreadable(cur);
    s->unreadable -= is_unreadable(old_held);
}

/* A label may have moved the slice to another Service: out with the old entry, in with the new. */
static void index_by_service(struct kube_store *s, struct kube_held old_held, struct kube_held cur)
    _requires_(&s->lock)
{
    if (s->kind != KUBE_SLICE) {
        return;
    }
    if (!kube_held_is_none(old_held)) {
        kube_held_unref(
            store_index_take(&s->by_service, store_index_place(&s->by_service, old_held)));
    }
    if (!kube_held_is_none(cur)) {
        kube_held_unref(store_index_put(&s->by_service, kube_held_ref(cur), 0));
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

/* Same object, same version: no handler is called, and the old block stays (§4.8: only
 * a resync calls them). */
static bool is_same(struct kube_held a, struct kube_held b)
{
    const char *version = kube_held_version(a);
    return version[0] != '\0' && strcmp(version, kube_held_version(b)) == 0 &&
           kube_held_same_uid(a, b);
}

static bool has_listeners(const struct kube_store *s)
{
    bool has = false;
    for (size_t i = 0; i < s->n_handlers; i++) {
        has = has || s->handlers[i].changed != NULL;
    }
    return has;
}

/* Takes over the reference.  `told`: the object, for the handlers; NULL: it is read if there are
 * handlers.  Borrowed. */
static void put(struct kube_store *s, struct kube_held h, struct kube_object *told)
{
    mutex_lock(&s->lock);
    struct index_entry *e = store_index_find(&s->by_key, place_of(kube_held_key(h)));
    if (e != NULL && is_same(e->held, h)) {
        e->round = s->round;
        mutex_unlock(&s->lock);
        kube_held_unref(h);
        return;
    }
    /* A reader may drop the entry's own reference any time. */
    struct kube_held again = kube_held_ref(h);
    struct kube_held old_held = store_index_put(&s->by_key, h, s->round);
    index_by_service(s, old_held, h);
    count_unreadable(s, old_held, h);
    note_change(s, h);
    is_untold(s, 1);
    mutex_unlock(&s->lock);
    bool asked = has_listeners(s);
    struct kube_object *read = asked && told == NULL ? kube_held_object(again) : NULL;
    struct kube_object *old_obj =
        asked && !kube_held_is_none(old_held) ? kube_held_object(old_held) : NULL;
    tell(s, old_obj, told != NULL ? told : read);
    kube_object_unref(old_obj);
    kube_object_unref(read);
    kube_held_unref(old_held);
    kube_held_unref(again);
}

/* The same, of an object whose reference this takes over. */
static void put_object(struct kube_store *s, struct kube_object *o)
{
    assert(o->kind == s->kind);
    put(s, kube_held_take(kube_object_ref(o), s->small), o);
    kube_object_unref(o);
}

void kube_store_put(struct kube_store *s, struct kube_object *o)
{
    put_object(s, o);
}

void kube_store_delete(struct kube_store *s, struct kube_object *o)
{
    mutex_lock(&s->lock);
    struct kube_held old_held = store_index_take(&s->by_key, place_of(o->key));
    bool known = !kube_held_is_none(old_held);
    if (known) {
        index_by_service(s, old_held, kube_held_none());
        count_unreadable(s, old_held, kube_held_none());
        note_change(s, old_held);
        is_untold(s, 1);
    }
    mutex_unlock(&s->lock);
    if (known) {
        tell(s, o, NULL); /* the last known state */
    }
    kube_held_unref(old_held);
    kube_object_unref(o);
}

/* --- replace ---------------------------------------------------------------------------------- */

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
static struct kube_held share(struct kube_store *s, struct kube_object *o)
{
    struct kube_held h = kube_held_take(o, s->small);
    mutex_lock(&s->lock);
    const struct index_entry *e = store_index_find(&s->by_key, place_of(kube_held_key(h)));
    bool known = e != NULL && is_same(e->held, h);
    struct kube_held ours = known ? kube_held_ref(e->held) : h;
    mutex_unlock(&s->lock);
    if (known) {
        kube_held_unref(h);
    }
    return ours;
}

static bool replaces_another(struct kube_store *s, const struct kube_object *o)
{
    mutex_lock(&s->lock);
    const struct index_entry *e = store_index_find(&s->by_key, place_of(o->key));
    bool replaces = e != NULL && !kube_held_has_uid(e->held, o->uid);
    mutex_unlock(&s->lock);
    return replaces;
}

void kube_store_replace_put(struct kube_store *s, struct kube_object *o)
{
    assert(s->replacing);
    /* An object that takes another's place waits for the end of the list, too: how many are lost is
     * known only then. */
    if (!s->is_staged && !replaces_another(s, o)) {
        put_object(s, o);
        return;
    }
    kube_held_unref(store_index_put(&s->staged, share(s, o), s->round));
}

void kube_store_replace_take(struct kube_store *s, const char *key)
{
    assert(s->replacing && s->is_staged);
    kube_held_unref(store_index_take(&s->staged, place_of(key)));
}

size_t kube_store_staged(const struct kube_store *s)
{
    return s->staged.n;
}

/* Entries of by_service whose object has left by_key go, too. */
static void drop_strays_by_service(struct kube_store *s) _requires_(&s->lock)
{
    struct store_index *x = &s->by_service;
    size_t kept = 0;
    for (size_t i = 0; i < x->n; i++) {
        struct kube_held h = x->entries[i].held;
        if (store_index_find(&s->by_key, place_of(kube_held_key(h))) != NULL) {
            x->entries[kept++] = x->entries[i];
        } else {
            kube_held_unref(h);
        }
    }
    x->n = kept;
}

/* Takes out everything that the list did not hold: in one pass, because a hundred thousand single
 * removals move the array a hundred thousand times, and the reflector hears no signal meanwhile. */
static void take_unseen(struct kube_store *s, struct store_index *ret)
{
    mutex_lock(&s->lock);
    store_index_take_before(&s->by_key, s->round, ret);
    for (size_t i = 0; i < ret->n; i++) {
        count_unreadable(s, ret->entries[i].held, kube_held_none());
        note_change(s, ret->entries[i].held);
    }
    if (ret->n > 0) {
        drop_strays_by_service(s);
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
        put(s, s->staged.entries[i].held, NULL);
    }
    s->staged.n = 0;
    store_index_done(&s->staged);
}

/* Objects that the list, complete now, does not hold: absent, or another object by that name. */
static bool is_lost(struct kube_store *s, const struct index_entry *e)
{
    const struct index_entry *next = store_index_find(&s->staged, place_of(kube_held_key(e->held)));
    return next != NULL ? !kube_held_same_uid(next->held, e->held) : e->round != s->round;
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
            lost[n++] = kube_held_object(s->by_key.entries[i].held);
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
        return;
    }
    tell_lost(s);
    publish_staged(s);
    struct store_index gone;
    store_index_init(&gone, false);
    take_unseen(s, &gone);
    for (size_t i = 0; i < gone.n; i++) {
        struct kube_object *last = kube_held_object(gone.entries[i].held);
        tell(s, last, NULL);
        kube_object_unref(last);
    }
    store_index_done(&gone);
    set_synced(s);
}
