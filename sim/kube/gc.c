/* SPDX-License-Identifier: Apache-2.0 */
/* gc.c: the collector of gc.h.
 *
 * Most objects own nothing, so a set holds all uids that were ever named as an owner: only the
 * deletion of one of these searches its namespace (or, for cluster-scoped owners, everything), by
 * text first. */
#include "sim/kube/gc.h"

#include "common/base/map.h"
#include "sim/kube/rules/rules.h"

#include <string.h>

/* An owner that went. */
struct gone {
    struct gone *next;
    char *ns; /* "": cluster-scoped */
    char *uid;
};

struct kube_gc {
    struct kube_state *st;
    struct map *owners; /* uids that references name */
    struct gone *first;
    struct sim_timer *timer;
};

static void drop_gone(struct kube_gc *gc)
{
    while (gc->first) {
        struct gone *g = gc->first;
        gc->first = g->next;
        free(g->ns);
        free(g->uid);
        free(g);
    }
}

struct kube_gc *kube_gc_new(struct kube_state *st)
{
    struct kube_gc *gc = xcalloc(1, sizeof(*gc));
    gc->st = st;
    gc->owners = map_new(NULL);
    return gc;
}

void kube_gc_free(struct kube_gc *gc)
{
    if (gc) {
        sim_timer_cancel(gc->timer);
        drop_gone(gc);
        map_free(gc->owners);
        free(gc);
    }
}

void kube_gc_forget(struct kube_gc *gc)
{
    map_clear(gc->owners);
    drop_gone(gc);
}

void kube_gc_learn(struct kube_gc *gc, struct json_object *o)
{
    struct json_object *refs = json_path(o, "metadata.ownerReferences");
    for (size_t i = 0; i < json_len(refs); i++) {
        const char *uid = json_str(json_object_array_get_idx(refs, i), "uid");
        if (!str_is_empty(uid)) {
            map_set(gc->owners, uid, NULL);
        }
    }
}

/* --- what belongs to an owner ----------------------------------------------------------------- */
/* True unless it is certain that the object of a reference is not there (any more). */
static bool owner_may_live(struct kube_gc *gc, const char *ns, struct json_object *ref)
{
    const char *version = str_nonnull(json_str(ref, "apiVersion"));
    const char *slash = strchr(version, '/');
    size_t group_len = slash ? (size_t)(slash - version) : 0;
    for (size_t i = 0; i < kube_n_kinds; i++) {
        const struct kube_kind *k = &kube_kinds[i];
        if (k->is_review || !str_eq(k->kind, json_str(ref, "kind")) ||
            strlen(k->group) != group_len || strncmp(k->group, version, group_len) != 0) {
            continue;
        }
        struct kube_obj *o = kube_db_get(gc->st->store, k->store, k->namespaced ? ns : "",
                                         str_nonnull(json_str(ref, "name")));
        struct json_object *meta = o ? kube_obj_meta(o) : NULL;
        bool same = meta && str_eq(json_str(meta, "uid"), json_str(ref, "uid"));
        json_object_put(meta);
        return same;
    }
    return true; /* of a kind that is not served: unknown */
}

/* References without those to `uid`; *ret_live: may one of the others still be there? */
static struct json_object *other_refs(struct kube_gc *gc, const char *ns, struct json_object *o,
                                      const char *uid, bool *ret_live)
{
    struct json_object *refs = json_path(o, "metadata.ownerReferences");
    struct json_object *others = json_object_new_array();
    *ret_live = false;
    for (size_t i = 0; i < json_len(refs); i++) {
        struct json_object *ref = json_object_array_get_idx(refs, i);
        if (!str_eq(json_str(ref, "uid"), uid)) {
            json_object_array_add(others, json_object_get(ref));
            *ret_live = *ret_live || owner_may_live(gc, ns, ref);
        }
    }
    return others;
}

static void replace_refs(struct kube_change *c, struct json_object *others)
{
    c->now = json_copy(c->was);
    kube_set(kube_need(c->now, "metadata"), "ownerReferences",
             json_len(others) > 0 ? json_object_get(others) : NULL);
    (void)kube_commit(c);
}

/* One object that may name the owner; `orphan`: the owner only lets go. */
static void visit(struct kube_gc *gc, const struct kube_kind *kind, struct kube_obj *o,
                  const char *uid, bool orphan)
{
    struct json_object *last = NULL;
    bool live = false;
    struct kube_change c = {.st = gc->st, .arena = arena_new(), .kind = kind, .grace_s = -1};
    c.was = kube_obj_tree(o);
    c.name = kube_obj_name(o);
    c.namespace = kube_obj_ns(o, c.arena);
    size_t n = json_len(json_path(c.was, "metadata.ownerReferences"));
    struct json_object *others = other_refs(gc, c.namespace, c.was, uid, &live);
    bool names_it = json_len(others) < n;
    if (names_it && (orphan || live)) {
        replace_refs(&c, others);
    } else if (names_it && !kube_is_deleting(c.was)) {
        json_object_put(kube_delete_one(&c, &last));
    }
    json_object_put(others);
    json_object_put(last);
    json_object_put(c.now);
    json_object_put(c.was);
    arena_free(c.arena);
}

static void visit_all(struct kube_gc *gc, const char *ns, const char *uid, bool orphan)
{
    for (int store = 0; store < kube_n_stores; store++) {
        const struct kube_kind *kind = kube_kind_of_store(store);
        struct kube_obj **objs = NULL;
        size_t n = 0;
        if (*ns && !kind->namespaced) {
            continue;
        }
        (void)kube_db_list(gc->st->store, store, ns, 0, &objs, &n);
        for (size_t i = 0; i < n; i++) {
            if (strstr(objs[i]->text, uid)) {
                visit(gc, kind, objs[i], uid, orphan);
            }
        }
        kube_objs_free(objs, n);
    }
}

void kube_gc_orphan(struct kube_gc *gc, const char *ns, const char *uid)
{
    if (uid && map_has(gc->owners, uid)) {
        visit_all(gc, ns, uid, true);
    }
}

/* --- following -------------------------------------------------------------------------------- */
static void collect(void *arg)
{
    struct kube_gc *gc = arg;
    struct gone *all = STEAL(gc->first); /* what follows from it waits for the next round */
    gc->timer = NULL;
    while (all) {
        struct gone *g = all;
        all = g->next;
        visit_all(gc, g->ns, g->uid, false);
        free(g->ns);
        free(g->uid);
        free(g);
    }
}

static void owner_went(struct kube_gc *gc, const struct kube_obj *o, const char *uid)
{
    struct gone *g = xcalloc(1, sizeof(*g));
    const char *slash = strchr(o->key, '/');
    g->ns = slash ? xstrndup(o->key, (size_t)(slash - o->key)) : xstrdup("");
    g->uid = xstrdup(uid);
    g->next = gc->first;
    gc->first = g;
    (void)map_remove(gc->owners, uid);
    if (!gc->timer) {
        gc->timer = sim_after(gc->st->sim, 0, collect, gc);
    }
}

void kube_gc_follow(struct kube_gc *gc, const struct kube_event *ev)
{
    if (ev->type != KUBE_DELETED && strstr(ev->now->text, "\"ownerReferences\"")) {
        struct json_object *tree = kube_obj_tree(ev->now);
        kube_gc_learn(gc, tree);
        json_object_put(tree);
    } else if (ev->type == KUBE_DELETED && map_size(gc->owners) > 0) {
        struct json_object *meta = kube_obj_meta(ev->now);
        const char *uid = json_str(meta, "uid");
        if (uid && map_has(gc->owners, uid)) {
            owner_went(gc, ev->now, uid);
        }
        json_object_put(meta);
    }
}
