/* SPDX-License-Identifier: Apache-2.0 */
/* http_pool.c: a stock of handles for code that runs on many workers.
 *
 * Owns the handles that are not in use; the last one put back is the first one taken, so
 * connections stay warm.  Thread-safe; the lock is held for a list operation only, never across a
 * request. */
#include "common/base/lock.h"
#include "common/net/http_internal.h"

struct pooled {
    struct http *http;
    struct pooled *next;
};

struct http_pool {
    struct http_config cfg;
    struct mutex lock;
    struct pooled *free_handles _guarded_by_(lock); /* newest first */
};

struct http_pool *http_pool_new(const struct http_config *cfg)
{
    struct http_pool *p = xcalloc(1, sizeof(*p));
    p->cfg = *cfg;
    mutex_init(&p->lock);
    return p;
}

/* No other thread uses `p` any more. */
void http_pool_free(struct http_pool *p)
{
    if (p == NULL) {
        return;
    }
    while (p->free_handles != NULL) {
        struct pooled *e = p->free_handles;
        p->free_handles = e->next;
        http_free(e->http);
        free(e);
    }
    mutex_done(&p->lock);
    free(p);
}

struct http *http_pool_get(struct http_pool *p)
{
    mutex_lock(&p->lock);
    struct pooled *e = p->free_handles;
    if (e != NULL) {
        p->free_handles = e->next;
    }
    mutex_unlock(&p->lock);
    if (e == NULL) {
        return http_new(&p->cfg);
    }
    struct http *h = e->http;
    free(e);
    return h;
}

void http_pool_put(struct http_pool *p, struct http *h)
{
    if (h == NULL) {
        return;
    }
    /* Data bound by the last user may be freed before the next one comes. */
    http_bind(h, p->cfg.cancel, p->cfg.may_mutate, p->cfg.may_mutate_arg, NULL);
    struct pooled *e = xcalloc(1, sizeof(*e));
    e->http = h;
    mutex_lock(&p->lock);
    e->next = p->free_handles;
    p->free_handles = e;
    mutex_unlock(&p->lock);
}
