/* SPDX-License-Identifier: Apache-2.0 */
/* service_count.h: how many Services of a cache were synced; marks alone do not count. */
#ifndef TRIMTAB_TESTS_SERVICE_COUNT_H
#define TRIMTAB_TESTS_SERVICE_COUNT_H

#include "controller/sync/service_cache_internal.h"

static inline bool count_synced(const char *key, void *value, void *arg)
{
    const struct known *e = value;
    size_t *n = arg;

    (void)key;
    *n += !kube_held_is_none(e->state);
    return true;
}

static inline size_t service_cache_count(struct service_cache *c)
{
    size_t n = 0;

    mutex_lock(&c->lock);
    map_each(c->entries, count_synced, &n);
    mutex_unlock(&c->lock);
    return n;
}

#endif
