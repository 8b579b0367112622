/* SPDX-License-Identifier: Apache-2.0 */
/* release.c: a Service that goes keeps its status and its finalizer for releaseDelay, in which
 * directors withdraw its addresses.
 *
 * With role `all` the machine that forwards is this one, and it has withdrawn them in the same
 * sync: there is nothing to wait for. */
#include "providers/local/provider.h"

#include <stdlib.h>

int local_release_wait(struct local_provider *p, const char *key, struct err *err)
{
    int64_t now_ms = clock_now_ms(p->clock);
    int64_t *since_ms = map_get(p->releasing, key);

    if (p->config->role != LOCAL_ROLE_ALLOCATOR) {
        return ERR_OK;
    }
    if (since_ms == NULL) {
        since_ms = xcalloc(1, sizeof *since_ms);
        *since_ms = now_ms;
        map_set(p->releasing, key, since_ms);
    }
    int64_t left_ms = *since_ms + p->config->release_delay_ms - now_ms;
    if (left_ms <= 0) {
        return ERR_OK;
    }
    (void)err_set(err, ERR_IN_PROGRESS, "directors withdraw its addresses (releaseDelay)");
    err->retry_after_ms = left_ms;
    return ERR_IN_PROGRESS;
}

void local_release_over(struct local_provider *p, const char *key)
{
    (void)map_remove(p->releasing, key);
}
