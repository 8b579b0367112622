/* SPDX-License-Identifier: Apache-2.0 */
/* gce_node_cache.c: see gce_node_cache.h.  Nodes are the same when each is the same object in the
 * same version: an object alone could have been freed and its place taken by another. */
#include "providers/gce/groups/gce_node_cache.h"

#include "common/base/hash.h"
#include "common/base/lock.h"
#include "common/base/str.h"

#include <stdlib.h>
#include <string.h>

struct entry {
    struct gce_node_cache *cache;
    struct arena *a;
    struct gce_node_table *table; /* NULL: not asked for yet */
    struct gce_groups_want groups;
    bool has_groups;
    struct gce_members *members; /* NULL: not asked for yet */
    uint64_t digest;
    unsigned refs; /* guarded by the cache's lock */
};
struct gce_node_cache {
    struct mutex lock;
    struct entry *last _guarded_by_(lock);
};

struct gce_node_cache *gce_node_cache_new(void)
{
    struct gce_node_cache *c = xcalloc(1, sizeof(*c));
    mutex_init(&c->lock);
    return c;
}

static void entry_unref(struct entry *e)
{
    if (e != NULL && --e->refs == 0) {
        arena_free(e->a);
        free(e);
    }
}

void gce_node_cache_free(struct gce_node_cache *c)
{
    if (c == NULL) {
        return;
    }
    entry_unref(c->last);
    mutex_done(&c->lock);
    free(c);
}

static void give_back(void *arg)
{
    struct entry *e = arg;
    struct gce_node_cache *c = e->cache;
    mutex_lock(&c->lock);
    entry_unref(e);
    mutex_unlock(&c->lock);
}

/* No outsider chooses addresses and versions, so a quick hash does. */
static uint64_t digest_of(const struct tt_node *const *nodes, size_t n)
{
    uint64_t h = n;
    for (size_t i = 0; i < n; i++) {
        const char *version = str_nonnull(nodes[i]->resource_version);
        h = hash_quick(h ^ (uint64_t)(uintptr_t)nodes[i], version, strlen(version));
    }
    return h;
}

static struct entry *entry_new(struct gce_node_cache *c, uint64_t digest)
{
    struct entry *e = xcalloc(1, sizeof(*e));
    e->cache = c;
    e->a = arena_new();
    e->digest = digest;
    e->refs = 1;
    return e;
}

/* The entry of these nodes, with a reference that goes with `a`.  What is in it is made under the
 * lock: those that wait want the very same. */
static struct entry *take(struct gce_node_cache *c, struct arena *a, uint64_t digest)
    _requires_(c->lock)
{
    if (c->last == NULL || c->last->digest != digest) {
        struct entry *old = c->last;
        c->last = entry_new(c, digest);
        entry_unref(old);
    }
    c->last->refs++;
    arena_defer(a, give_back, c->last);
    return c->last;
}

const struct gce_node_table *gce_node_cache_get(struct gce_node_cache *c, struct arena *a,
                                                const struct gce_node_filter *f,
                                                const struct tt_node *const *nodes, size_t n)
{
    uint64_t digest = digest_of(nodes, n);
    mutex_lock(&c->lock);
    struct entry *e = take(c, a, digest);
    if (e->table == NULL) {
        e->table = gce_node_table_make(e->a, f, nodes, n);
    }
    mutex_unlock(&c->lock);
    return e->table;
}

const struct gce_groups_want *gce_node_cache_groups(struct gce_node_cache *c, struct arena *a,
                                                    const struct gce_groups_ask *ask)
{
    uint64_t digest = digest_of(ask->nodes, ask->n);
    mutex_lock(&c->lock);
    struct entry *e = take(c, a, digest);
    if (!e->has_groups) {
        gce_groups_of(e->a, ask->nodes, ask->n, ask->legacy, ask->filter, ask->max, &e->groups);
        e->has_groups = true;
    }
    mutex_unlock(&c->lock);
    return &e->groups;
}

const struct gce_members *gce_node_cache_members(struct gce_node_cache *c, struct arena *a,
                                                 const struct tt_node *const *nodes, size_t n,
                                                 const char *project, const char *region)
{
    uint64_t digest = digest_of(nodes, n);
    mutex_lock(&c->lock);
    struct entry *e = take(c, a, digest);
    if (e->members == NULL) {
        e->members = ARENA_NEW(e->a, struct gce_members);
        gce_members_of(e->a, nodes, n, project, region, e->members);
    }
    mutex_unlock(&c->lock);
    return e->members;
}
