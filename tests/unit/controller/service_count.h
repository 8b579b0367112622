/* SPDX-License-Identifier: Apache-2.0 */
/* service_count.h: how many Services of a cache were synced; marks alone do not count. */
#ifndef TRIMTAB_TESTS_SERVICE_COUNT_H
#define TRIMTAB_TESTS_SERVICE_COUNT_H

#include "controller/sync/service_cache_internal.h"

static inline size_t service_cache_count(struct service_cache *c)
{
    size_t n = 0;

    mutex_lock(&c->lock);
    for (size_t i = 0; i < c->entries.cap; i++) {
        const struct known *e = c->entries.at[i];
        n += e != NULL && !kube_held_is_none(e->state);
    }
    mutex_unlock(&c->lock);
    return n;
}

#endif
