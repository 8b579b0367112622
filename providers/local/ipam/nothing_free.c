/* SPDX-License-Identifier: Apache-2.0 */
/* nothing_free.c: how full the pools are: for people, for metrics, and for those who wait. */
#include "providers/local/ipam/ipam_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"

/* Addresses of the pool and family that a Service has or has just given back. */
static int64_t count_used(const struct local_ipam *m, size_t pool, uint8_t len)
{
    int64_t n = 0;

    for (size_t i = 0; i < m->n_uses; i++) {
        if (m->uses[i].addr.len == len &&
            ipam_pool_of(m, &m->uses[i].addr) == &m->config->pools[pool]) {
            n++;
        }
    }
    return n;
}

static int64_t count_reserved(const struct local_ipam *m, size_t pool, uint8_t len)
{
    int64_t n = 0;

    for (size_t i = 0; i < m->n_reserved; i++) {
        const struct ip_addr *addr = &m->reserved[i].addr;
        n += addr->len == len && ipam_use(m, addr) == NULL &&
             ipam_pool_of(m, addr) == &m->config->pools[pool];
    }
    return n;
}

static void say_pool(const struct local_ipam *m, const struct entry *e, size_t pool, uint8_t len,
                     struct str_buf *b)
{
    const struct local_pool *p = &m->config->pools[pool];
    int64_t total = space_count(&m->space, m->config, pool, len);
    struct err why = ERR_INIT;

    if (total == 0 ||
        (e->asked->pool != NULL && strcmp(intern_str(e->asked->pool), p->name) != 0)) {
        return;
    }
    str_append(b, b->len == 0 ? "" : ", ");
    enum closed closed = ipam_why_closed(m, e, p);
    if (closed != POOL_OPEN) {
        (void)ipam_refuse_closed(e, p, closed, &why);
        str_append(b, why.message);
        return;
    }
    int64_t used = count_used(m, pool, len);
    if (e->asked->pool == NULL && !p->auto_assign) {
        str_appendf(b, "%s needs annotation pool", p->name);
        return;
    }
    str_appendf(b, "%s %lld of %lld used", p->name, (long long)used, (long long)total);
    int64_t kept = count_reserved(m, pool, len);
    if (kept > 0) {
        str_appendf(b, " and %lld reserved", (long long)kept);
    }
}

int ipam_nothing_free(const struct local_ipam *m, const struct entry *e, uint8_t len,
                      struct err *err)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    const char *family = len == 16 ? "IPv6" : "IPv4";

    for (size_t i = 0; i < m->config->n_pools; i++) {
        say_pool(m, e, m->order[i], len, &b);
    }
    if (b.len == 0) {
        return err_set(err, ERR_QUOTA, "no free address for %s: no pool has %s addresses", family,
                       family);
    }
    return err_set(err, ERR_QUOTA, "no free address for %s: %s", family, str_buf_text(&b));
}

struct local_pool_use *local_ipam_use(const struct local_ipam *m, struct arena *a)
{
    static const uint8_t lens[2] = {4, 16};
    struct local_pool_use *use = ARENA_ARRAY(a, struct local_pool_use, m->config->n_pools + 1);

    for (size_t i = 0; i < m->config->n_pools; i++) {
        use[i].pool = &m->config->pools[i];
        for (size_t f = 0; f < ARRAY_LEN(lens); f++) {
            use[i].total[f] = space_count(&m->space, m->config, i, lens[f]);
            use[i].reserved[f] = count_reserved(m, i, lens[f]);
        }
    }
    for (size_t i = 0; i < m->n_uses; i++) {
        const struct local_pool *pool = ipam_pool_of(m, &m->uses[i].addr);
        if (pool != NULL) {
            use[pool - m->config->pools].used[m->uses[i].addr.len == 16]++;
        }
    }
    return use;
}

/* ---- who waits ------------------------------------------------------------------------------- */

struct entry *ipam_oldest_waiting(const struct local_ipam *m)
{
    struct entry *oldest = NULL;

    for (size_t i = 0; m->n_waiting > 0 && i < m->entries.cap; i++) {
        struct entry *e = m->entries.at[i];
        if (e != NULL && e->waiting && (oldest == NULL || ipam_is_older(e, oldest))) {
            oldest = e;
        }
    }
    return oldest;
}

size_t local_ipam_n_waiting(const struct local_ipam *m)
{
    return m->n_waiting;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

size_t local_ipam_sharers(const struct local_ipam *m, struct arena *a, const struct ip_addr *addr,
                          const char *const **ret_keys)
{
    const struct use *use = ipam_use(m, addr);
    size_t n = use == NULL ? 0 : use->n_by;
    const char **keys = ARENA_ARRAY(a, const char *, n + 1);

    for (size_t i = 0; i < n; i++) {
        keys[i] = arena_strdup(a, ipam_key(ipam_by(use)[i]));
    }
    qsort(keys, n, sizeof *keys, by_text);
    *ret_keys = keys;
    return n;
}

const struct local_pool *local_pool_of(const struct local_config *config,
                                       const struct ip_addr *addr)
{
    struct space s;

    space_make(&s, config);
    size_t span = space_find(&s, addr);
    const struct local_pool *pool = span == SIZE_MAX ? NULL : &config->pools[s.items[span].pool];
    space_done(&s);
    return pool != NULL && pool->avoid_buggy_ips && addr_is_buggy(addr) ? NULL : pool;
}
