/* SPDX-License-Identifier: Apache-2.0 */
/* orphan_guard.c: see orphan_guard.h. */
#include "controller/host/orphan_guard.h"

#include <stdlib.h>

#include "common/base/arena.h"
#include "common/base/lock.h"
#include "common/base/map.h"

/* A Service that is kept, and what the list lacked. */
struct loss {
    struct kube_object *service;
    size_t n_lost;
    size_t n_known;
};

static void loss_free(void *p)
{
    struct loss *loss = p;

    kube_object_unref(loss->service);
    free(loss);
}

struct orphan_guard {
    bool on;
    struct mutex lock;
    struct map *kept _guarded_by_(lock); /* by UID: struct loss */
};

struct orphan_guard *orphan_guard_new(bool on)
{
    struct orphan_guard *g = xcalloc(1, sizeof(*g));

    g->on = on;
    mutex_init(&g->lock);
    mutex_lock(&g->lock);
    g->kept = map_new(loss_free);
    mutex_unlock(&g->lock);
    return g;
}

void orphan_guard_free(struct orphan_guard *g)
{
    if (g == NULL) {
        return;
    }
    mutex_lock(&g->lock);
    map_free(g->kept);
    mutex_unlock(&g->lock);
    mutex_done(&g->lock);
    free(g);
}

bool orphan_guard_trips(size_t n_lost, size_t n_known)
{
    return n_lost >= ORPHAN_GUARD_LEAST && n_lost > n_known / ORPHAN_GUARD_SHARE;
}

bool orphan_guard_lost(struct orphan_guard *g, struct kube_object *const *services, size_t n_lost,
                       size_t n_known)
{
    if (g == NULL || !g->on || !orphan_guard_trips(n_lost, n_known)) {
        return false;
    }
    mutex_lock(&g->lock);
    for (size_t i = 0; i < n_lost; i++) {
        struct loss *loss = xmalloc(sizeof(*loss));
        *loss = (struct loss){
            .service = kube_object_ref(services[i]), .n_lost = n_lost, .n_known = n_known};
        map_set(g->kept, services[i]->uid, loss);
    }
    mutex_unlock(&g->lock);
    return true;
}

bool orphan_guard_keeps(struct orphan_guard *g, const char *uid, size_t *ret_lost,
                        size_t *ret_known)
{
    if (g == NULL) {
        return false;
    }
    mutex_lock(&g->lock);
    const struct loss *loss = map_get(g->kept, uid);
    if (loss != NULL && ret_lost != NULL) {
        *ret_lost = loss->n_lost;
    }
    if (loss != NULL && ret_known != NULL) {
        *ret_known = loss->n_known;
    }
    mutex_unlock(&g->lock);
    return loss != NULL;
}

struct list {
    struct arena *a;
    struct kube_object **services;
    size_t n;
};

static void unref_object(void *object)
{
    kube_object_unref(object);
}

static bool add_to(const char *uid, void *value, void *arg)
{
    struct list *l = arg;
    const struct loss *loss = value;

    (void)uid;
    l->services[l->n++] = kube_object_ref(loss->service);
    arena_defer(l->a, unref_object, loss->service);
    return true;
}

struct kube_object **orphan_guard_services(struct orphan_guard *g, struct arena *a, size_t *ret_n)
{
    struct list l = {.a = a};

    *ret_n = 0;
    if (orphan_guard_count(g) == 0) {
        return NULL;
    }
    mutex_lock(&g->lock);
    l.services = ARENA_ARRAY(a, struct kube_object *, map_size(g->kept) + 1);
    map_each(g->kept, add_to, &l);
    mutex_unlock(&g->lock);
    *ret_n = l.n;
    return l.services;
}

void orphan_guard_seen(struct orphan_guard *g, const char *uid)
{
    if (g == NULL) {
        return;
    }
    mutex_lock(&g->lock);
    if (map_size(g->kept) > 0) {
        (void)map_remove(g->kept, uid);
    }
    mutex_unlock(&g->lock);
}

size_t orphan_guard_count(struct orphan_guard *g)
{
    if (g == NULL) {
        return 0;
    }
    mutex_lock(&g->lock);
    size_t n = map_size(g->kept);
    mutex_unlock(&g->lock);
    return n;
}
