/* SPDX-License-Identifier: Apache-2.0 */
/* orphan_guard.c: see orphan_guard.h. */
#include "controller/orphan_guard.h"

#include <stdlib.h>

#include "common/base/arena.h"
#include "common/base/lock.h"
#include "common/base/map.h"

/* What one list lacked. */
struct loss {
    size_t n_lost;
    size_t n_known;
};

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
    g->kept = map_new(free);
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

bool orphan_guard_lost(struct orphan_guard *g, const char *const *uids, size_t n_lost,
                       size_t n_known)
{
    if (g == NULL || !g->on || !orphan_guard_trips(n_lost, n_known)) {
        return false;
    }
    mutex_lock(&g->lock);
    for (size_t i = 0; i < n_lost; i++) {
        struct loss *loss = xmalloc(sizeof(*loss));
        *loss = (struct loss){.n_lost = n_lost, .n_known = n_known};
        map_set(g->kept, uids[i], loss);
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
