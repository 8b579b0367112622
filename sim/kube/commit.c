/* SPDX-License-Identifier: Apache-2.0 */
/* commit.c: the last step of every write: store, or not, or take away; deletions and what a
 * namespace drags along.
 *
 * Deleting an object that has finalizers only marks it; it is deleted when the last finalizer is
 * removed (recorded 091–094).  A namespace goes when nothing is left in it.  Knows no HTTP. */
#include "common/base/clock.h"
#include "sim/kube/decode.h"
#include "sim/kube/gc.h"
#include "sim/kube/kube.h"
#include "sim/kube/rules/rules.h"

/* In the server's order, with nothing empty that is not printed: equal objects are equal texts. */
static struct json_object *canonical(struct kube_change *c, struct json_object *o, int64_t rv)
{
    const struct kube_kind *stored =
        c->kind->as_stored ? kube_kind_of_store(c->kind->store) : c->kind;
    struct kube_decode d = {.arena = c->arena};
    kube_set(kube_need(o, "metadata"), "resourceVersion",
             json_object_new_string(arena_printf(c->arena, "%lld", (long long)rv)));
    struct json_object *out = kube_decode(&d, stored->type, o);
    return out ? out : json_object_get(o); /* a loaded world may hold anything */
}

static bool has_finalizers(struct json_object *o)
{
    return json_len(json_path(o, "metadata.finalizers")) > 0 ||
           json_len(json_path(o, "spec.finalizers")) > 0;
}

/* An object that is being deleted goes when nothing holds it and its time is over. */
static bool may_go(struct json_object *o)
{
    return !has_finalizers(o) &&
           json_int(json_member(o, "metadata"), "deletionGracePeriodSeconds", 0) <= 0;
}

static bool same_but_version(struct kube_change *c, struct json_object *was)
{
    struct json_object *old = canonical(c, was, 0);
    struct json_object *now = canonical(c, c->now, 0);
    bool same =
        str_eq(json_text(c->arena, old, JSON_COMPACT), json_text(c->arena, now, JSON_COMPACT));
    json_object_put(old);
    json_object_put(now);
    return same;
}

static void take_now(struct kube_change *c, int64_t rv)
{
    struct json_object *now = canonical(c, c->now, rv);
    json_object_put(c->now);
    c->now = now;
}

struct kube_obj *kube_commit(struct kube_change *c)
{
    struct kube_db *store = c->st->store;
    struct kube_obj *stored = kube_db_get(store, c->kind->store, c->namespace, c->name);
    take_now(c, stored ? stored->rv : 0);
    if (c->dry_run) {
        if (!stored) {
            json_object_object_del(json_member(c->now, "metadata"), "resourceVersion");
        }
        return NULL;
    }
    if (c->was && kube_is_deleting(c->now) && may_go(c->now)) {
        (void)kube_db_remove(store, c->kind->store, c->namespace, c->name);
        kube_namespace_sweep(c->st, c->namespace);
        return NULL;
    }
    if (c->was) {
        struct json_object *was = json_copy(c->was);
        bool same = same_but_version(c, was);
        json_object_put(was);
        take_now(c, stored ? stored->rv : 0);
        if (same && stored) {
            return stored;
        }
    }
    return kube_db_put(store, c->kind->store, c->namespace, c->name, c->now);
}

/* --- deleting --------------------------------------------------------------------------------- */
static void mark_deleted(struct kube_change *c, int64_t grace_s)
{
    char when[32];
    time_format_rfc3339(clock_wall_us(sim_clock(c->st->sim)) + grace_s * 1000000, when);
    struct json_object *meta = kube_need(c->now, "metadata");
    kube_set(meta, "deletionTimestamp", json_object_new_string(when));
    kube_set(meta, "deletionGracePeriodSeconds", json_object_new_int64(grace_s));
    if (c->kind->counts_generation) {
        kube_set(meta, "generation", json_object_new_int64(json_int(meta, "generation", 0) + 1));
    }
    if (str_eq(c->kind->kind, "Namespace")) {
        json_object_object_del(meta, "deletionGracePeriodSeconds");
        kube_set(kube_need(c->now, "status"), "phase", json_object_new_string("Terminating"));
    }
}

/* A second deletion may shorten the time that the first one left; to how long is `grace_s`. */
static void hurry(struct kube_change *c, int64_t grace_s)
{
    int64_t end_us = 0;
    char when[32];
    struct json_object *meta = kube_need(c->now, "metadata");
    int64_t left_s = json_int(meta, "deletionGracePeriodSeconds", 0);
    const char *end = json_str(meta, "deletionTimestamp");
    if (grace_s < left_s && time_parse_rfc3339(end, &end_us)) {
        time_format_rfc3339(end_us + (grace_s - left_s) * 1000000, when);
        kube_set(meta, "deletionTimestamp", json_object_new_string(when));
        kube_set(meta, "deletionGracePeriodSeconds", json_object_new_int64(grace_s));
    }
}

/* Seconds that are left to an object whose deletion is asked for. */
static int64_t grace_of(const struct kube_change *c)
{
    const struct kube_rules *rules = c->kind->rules;
    return rules && rules->grace ? rules->grace(c) : 0;
}

static void add_finalizer(struct json_object *o, const char *finalizer)
{
    struct json_object *meta = kube_need(o, "metadata");
    struct json_object *all = json_member(meta, "finalizers");
    for (size_t i = 0; i < json_len(all); i++) {
        if (str_eq(kube_item(all, i), finalizer)) {
            return;
        }
    }
    struct json_object *more = all ? json_copy(all) : json_object_new_array();
    json_push_str(more, finalizer);
    kube_set(meta, "finalizers", more);
}

/* The garbage collector's part of a deletion that waits for it, done at once: dependents are let go
 * when that is what was asked for, and its finalizer is taken off again.  Those that were not let
 * go follow when the owner is gone (gc.h). */
static void collect_garbage(const struct kube_change *done)
{
    struct kube_obj *o =
        kube_db_get(done->st->store, done->kind->store, done->namespace, done->name);
    if (!o) {
        return;
    }
    if (str_eq(done->waits_for, "orphan")) {
        kube_gc_orphan(done->st->gc, done->namespace,
                       json_str(json_member(done->was, "metadata"), "uid"));
    }
    struct kube_change c = *done;
    c.was = kube_obj_tree(o);
    c.now = kube_obj_tree(o);
    struct json_object *all = json_path(c.now, "metadata.finalizers");
    for (size_t i = json_len(all); i > 0; i--) {
        if (str_eq(kube_item(all, i - 1), done->waits_for)) {
            json_object_array_del_idx(all, i - 1, 1);
        }
    }
    (void)kube_commit(&c);
    json_object_put(c.now);
    json_object_put(c.was);
}

struct json_object *kube_delete_one(struct kube_change *c, struct json_object **ret)
{
    if (!c->was) {
        return kube_status_not_found(c->kind, c->name);
    }
    c->now = json_copy(c->was);
    bool waits = c->waits_for && !kube_is_deleting(c->was);
    if (waits) {
        add_finalizer(c->now, c->waits_for);
    }
    int64_t grace_s = grace_of(c);
    if (has_finalizers(c->now) || grace_s > 0) {
        if (!kube_is_deleting(c->was)) {
            mark_deleted(c, grace_s);
        } else {
            hurry(c, grace_s);
        }
        (void)kube_commit(c);
        if (str_eq(c->kind->kind, "Namespace") && !c->dry_run) {
            kube_namespace_sweep(c->st, c->name);
        }
    } else if (!c->dry_run) {
        (void)kube_db_remove(c->st->store, c->kind->store, c->namespace, c->name);
        kube_set(kube_need(c->now, "metadata"), "resourceVersion",
                 json_object_new_string(
                     arena_printf(c->arena, "%lld", (long long)kube_db_rv(c->st->store))));
        kube_namespace_sweep(c->st, c->namespace);
    }
    *ret = json_object_get(c->now);
    if (waits && !c->dry_run) {
        collect_garbage(c);
    }
    return NULL;
}

/* Deletes what can go in one store; returns how much is left. */
static size_t sweep_store(struct kube_state *st, const struct kube_kind *kind, const char *ns)
{
    struct kube_obj **objs = NULL;
    size_t n = 0;
    (void)kube_db_list(st->store, kind->store, ns, 0, &objs, &n);
    size_t left = 0;
    for (size_t i = 0; i < n; i++) {
        struct json_object *tree = kube_obj_tree(objs[i]);
        const char *name = kube_obj_name(objs[i]);
        if (!has_finalizers(tree)) {
            (void)kube_db_remove(st->store, kind->store, ns, name);
        } else {
            left++;
            struct kube_change c = {.st = st,
                                    .arena = arena_new(),
                                    .kind = kind,
                                    .namespace = ns,
                                    .name = name,
                                    .was = tree,
                                    .now = json_copy(tree)};
            if (!kube_is_deleting(tree)) {
                mark_deleted(&c, 0);
                (void)kube_commit(&c);
            }
            json_object_put(c.now);
            arena_free(c.arena);
        }
        json_object_put(tree);
    }
    kube_objs_free(objs, n);
    return left;
}

void kube_namespace_sweep(struct kube_state *st, const char *name)
{
    const struct kube_kind *namespaces = kube_kind_by_plural("namespaces");
    struct kube_obj *o =
        str_is_empty(name) ? NULL : kube_db_get(st->store, namespaces->store, "", name);
    if (!o) {
        return;
    }
    struct json_object *tree = kube_obj_tree(o);
    bool going = kube_is_deleting(tree);
    json_object_put(tree);
    if (!going) {
        return;
    }
    char *copy = xstrdup(name);
    size_t left = 0;
    for (int i = 0; i < kube_n_stores; i++) {
        const struct kube_kind *kind = kube_kind_of_store(i);
        left += kind->namespaced ? sweep_store(st, kind, copy) : 0;
    }
    if (left == 0) {
        (void)kube_db_remove(st->store, namespaces->store, "", copy);
    }
    free(copy);
}

/* --- without a request ------------------------------------------------------------------------ */
void kube_make(struct kube_state *st, const struct kube_kind *kind, struct json_object *o)
{
    struct json_object *meta = json_member(o, "metadata");
    struct kube_change c = {
        .st = st,
        .arena = arena_new(),
        .kind = kind,
        .namespace = kind->namespaced ? str_nonnull(json_str(meta, "namespace")) : "",
        .name = str_nonnull(json_str(meta, "name")),
        .now = json_object_get(o),
    };
    kube_meta_fill_new(&c);
    if (kind->rules && kind->rules->set_defaults) {
        kind->rules->set_defaults(&c);
    }
    struct json_object *refusal = kind->rules && kind->rules->begin ? kind->rules->begin(&c) : NULL;
    kube_count_generation(&c);
    if (!refusal) {
        (void)kube_commit(&c);
    }
    json_object_put(refusal);
    json_object_put(c.now);
    arena_free(c.arena);
}
