/* SPDX-License-Identifier: Apache-2.0 */
/* access_cache_internal.h: the members of an access_cache.
 * Private to access_cache.c and its tests. */
#ifndef TRIMTAB_SERVE_ACCESS_CACHE_INTERNAL_H
#define TRIMTAB_SERVE_ACCESS_CACHE_INTERNAL_H

#include "controller/serve/access_cache.h"

struct entry {
    struct access_key key;
    struct access_answer *answer;
    int64_t until_ms;
    size_t bytes;
    struct entry *newer;
    struct entry *older;
};
struct access_cache {
    size_t max;
    size_t bytes;
    struct map *entries;
    struct entry ring; /* its `older` is the newest entry, its `newer` the oldest */
};

#endif
