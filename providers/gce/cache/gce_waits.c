/* SPDX-License-Identifier: Apache-2.0 */
/* gce_waits.c: see gce_waits.h.  One map behind a lock. */
#include "providers/gce/cache/gce_waits.h"

#include "common/base/arena.h"
#include "common/base/hash.h"
#include "common/base/lock.h"
#include "common/base/map.h"

#include <stdlib.h>
#include <string.h>

#define WAITS_MAX 50000 /* more than that: begin again, some are looked for earlier */

struct waiting {
    uint64_t missing; /* digest of the words */
    int64_t after_ms;
};
struct gce_waits {
    struct mutex lock;
    struct map *by_key _guarded_by_(lock); /* struct waiting */
};

struct gce_waits *gce_waits_new(void)
{
    struct gce_waits *w = xcalloc(1, sizeof(*w));
    mutex_init(&w->lock);
    mutex_lock(&w->lock);
    w->by_key = map_new(free);
    mutex_unlock(&w->lock);
    return w;
}

void gce_waits_free(struct gce_waits *w)
{
    if (w == NULL) {
        return;
    }
    mutex_lock(&w->lock);
    map_free(w->by_key);
    mutex_unlock(&w->lock);
    mutex_done(&w->lock);
    free(w);
}

int64_t gce_waits_next(struct gce_waits *w, const char *key, const char *missing,
                       int64_t longest_ms)
{
    uint64_t digest = hash_bytes(1, missing, strlen(missing));
    mutex_lock(&w->lock);
    struct waiting *known = map_get(w->by_key, key);
    if (known == NULL) {
        if (map_size(w->by_key) >= WAITS_MAX) {
            map_clear(w->by_key);
        }
        known = xcalloc(1, sizeof(*known));
        map_set(w->by_key, key, known);
    }
    bool same = known->after_ms > 0 && known->missing == digest;
    known->missing = digest;
    known->after_ms = same ? known->after_ms * 2 : GCE_WAIT_FIRST_MS;
    known->after_ms = known->after_ms < longest_ms ? known->after_ms : longest_ms;
    int64_t after_ms = known->after_ms;
    mutex_unlock(&w->lock);
    return after_ms;
}

void gce_waits_forget(struct gce_waits *w, const char *key)
{
    mutex_lock(&w->lock);
    (void)map_remove(w->by_key, key);
    mutex_unlock(&w->lock);
}
