/* SPDX-License-Identifier: Apache-2.0 */
/* open.c: which pools are for which Services: by namespace, labels of the namespace, labels
 * of the Service. */
#include "providers/local/ipam/ipam_internal.h"

#include "common/base/str.h"

static enum closed closed_to(const struct local_pool *pool, const struct local_claim *claim)
{
    const struct tt_service *s = claim->service;
    bool named = pool->n_namespaces == 0;

    for (size_t i = 0; i < pool->n_namespaces; i++) {
        named = named || str_eq(pool->namespaces[i], s->ns);
    }
    if (!named) {
        return CLOSED_NAMESPACE;
    }
    if (pool->namespace_selector.given &&
        (!claim->has_ns_labels || !local_selector_matches(&pool->namespace_selector,
                                                          claim->ns_labels, claim->n_ns_labels))) {
        return CLOSED_NAMESPACE_LABELS;
    }
    if (pool->service_selector.given &&
        !local_selector_matches(&pool->service_selector, s->labels, s->n_labels)) {
        return CLOSED_SERVICE_LABELS;
    }
    return POOL_OPEN;
}

const struct interned *ipam_closed(const struct local_ipam *m, const struct local_claim *claim)
{
    uint8_t closed[LOCAL_POOLS_MAX];
    bool some = false;

    for (size_t i = 0; i < m->config->n_pools; i++) {
        closed[i] = (uint8_t)closed_to(&m->config->pools[i], claim);
        some = some || closed[i] != POOL_OPEN;
    }
    return some ? intern_get(m->texts, closed, m->config->n_pools) : NULL;
}

enum closed ipam_why_closed(const struct local_ipam *m, const struct entry *e,
                            const struct local_pool *pool)
{
    return e->asked->closed == NULL ? POOL_OPEN
                                    : (enum closed)e->asked->closed->data[pool - m->config->pools];
}

int ipam_refuse_closed(const struct entry *e, const struct local_pool *pool, enum closed why,
                       struct err *err)
{
    if (why == CLOSED_SERVICE_LABELS) {
        return err_set(
            err, ERR_INVALID,
            "pool \"%s\" is not for this Service: its labels are not those of serviceSelector",
            pool->name);
    }
    const char *by = why == CLOSED_NAMESPACE_LABELS ? " (namespaceSelector)" : "";
    return err_set(err, ERR_INVALID, "pool \"%s\" is not for namespace %.*s%s", pool->name,
                   (int)ipam_ns_len(e), ipam_key(e), by);
}
