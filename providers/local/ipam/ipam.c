/* SPDX-License-Identifier: Apache-2.0 */
/* ipam.c: who has which address (ipam.h): Services as they are seen, and what is free.
 *
 * One sorted array holds every address that a Service has or has just given back; a free one is the
 * first gap in it.  `low` of a span is where the search begins: nothing below it is
 * free, for any Service. */
#include "providers/local/ipam/ipam_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"

#define HAD_MAX 1024 /* addresses of one status; more than a Service has families is odd enough */

/* ---- uses ------------------------------------------------------------------------------------ */

/* Where the address stands, or would stand. */
static size_t use_at(const struct local_ipam *m, const struct ip_addr *addr)
{
    size_t low = 0;
    size_t high = m->n_uses;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (local_addr_cmp(&m->uses[mid].addr, addr) < 0) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

static struct use *use_of(const struct local_ipam *m, const struct ip_addr *addr)
{
    size_t i = use_at(m, addr);

    return i < m->n_uses && local_addr_cmp(&m->uses[i].addr, addr) == 0 ? &m->uses[i] : NULL;
}

const struct use *ipam_use(const struct local_ipam *m, const struct ip_addr *addr)
{
    return use_of(m, addr);
}

static struct use *use_make(struct local_ipam *m, const struct ip_addr *addr)
{
    size_t i = use_at(m, addr);

    if (i < m->n_uses && local_addr_cmp(&m->uses[i].addr, addr) == 0) {
        return &m->uses[i];
    }
    if (m->n_uses == m->cap_uses) {
        m->cap_uses = m->cap_uses == 0 ? 64 : m->cap_uses + m->cap_uses / 8;
        m->uses = xrealloc(m->uses, m->cap_uses * sizeof *m->uses);
    }
    memmove(&m->uses[i + 1], &m->uses[i], (m->n_uses - i) * sizeof *m->uses);
    m->n_uses++;
    m->uses[i] = (struct use){.addr = *addr};
    return &m->uses[i];
}

struct entry *const *ipam_by(const struct use *u)
{
    return u->n_by == 1 ? &u->one : u->many;
}

static void use_done(const struct local_ipam *m, struct use *u)
{
    if (u->n_by == 0 && u->back != NULL) {
        intern_drop(m->texts, u->back->key);
        free(u->back);
    } else if (u->n_by > 1) {
        free(u->many);
    }
}

/* No Service has it, and none had it lately. */
static void use_drop(struct local_ipam *m, struct use *u)
{
    size_t i = (size_t)(u - m->uses);
    size_t span = space_find(&m->space, &u->addr);

    if (span != SIZE_MAX && local_addr_cmp(&u->addr, &m->low[span]) < 0) {
        m->low[span] = u->addr;
    }
    use_done(m, u);
    m->n_uses--;
    memmove(&m->uses[i], &m->uses[i + 1], (m->n_uses - i) * sizeof *m->uses);
    m->freed++;
}

static void note_gone(struct local_ipam *m, const struct ip_addr *addr, int64_t now_ms)
{
    if (m->n_gone == m->cap_gone && m->first_gone > m->cap_gone / 2) {
        m->n_gone -= m->first_gone;
        memmove(m->gone, m->gone + m->first_gone, m->n_gone * sizeof *m->gone);
        m->first_gone = 0;
    }
    if (m->n_gone == m->cap_gone) {
        m->cap_gone = m->cap_gone == 0 ? 16 : m->cap_gone * 2;
        m->gone = xrealloc(m->gone, m->cap_gone * sizeof *m->gone);
    }
    m->gone[m->n_gone++] = (struct gone){.addr = *addr, .at_ms = now_ms};
}

/* Returns its use when no Service has it any more. */
static struct use *part(struct local_ipam *m, const struct entry *e, const struct ip_addr *addr)
{
    struct use *u = use_of(m, addr);
    uint32_t i = 0;

    while (u != NULL && i < u->n_by && ipam_by(u)[i] != e) {
        i++;
    }
    if (u == NULL || i == u->n_by) {
        return u == NULL || u->n_by > 0 ? NULL : u;
    }
    ipam_share_parted(m, e, addr);
    if (u->n_by > 2) {
        u->many[i] = u->many[--u->n_by];
    } else if (u->n_by == 2) {
        struct entry *other = u->many[1 - i];
        free(u->many);
        u->one = other;
        u->n_by = 1;
    } else {
        u->n_by = 0;
        u->back = NULL; /* the caller drops it, or gives it back */
    }
    return u->n_by > 0 ? NULL : u;
}

static void leave(struct local_ipam *m, const struct entry *e, const struct ip_addr *addr)
{
    struct use *u = part(m, e, addr);

    if (u != NULL) {
        use_drop(m, u);
    }
}

/* Takes the key over. */
static void put_back(struct local_ipam *m, struct use *u, const struct interned *key,
                     int64_t now_ms)
{
    use_done(m, u); /* it was given back before */
    u->back = xcalloc(1, sizeof *u->back);
    *u->back = (struct given_back){.at_ms = now_ms, .key = key};
    note_gone(m, &u->addr, now_ms);
}

static void give_back(struct local_ipam *m, const struct entry *e, const struct ip_addr *addr,
                      int64_t now_ms)
{
    struct use *u = part(m, e, addr);

    if (u == NULL) {
        return;
    }
    if (m->config->reuse_delay_ms == 0) {
        use_drop(m, u);
        return;
    }
    put_back(m, u, intern_again(m->texts, e->key), now_ms);
}

void ipam_expire(struct local_ipam *m, int64_t now_ms)
{
    for (; m->first_gone < m->n_gone; m->first_gone++) {
        const struct gone *g = &m->gone[m->first_gone];
        if (now_ms - g->at_ms < m->config->reuse_delay_ms) {
            return;
        }
        struct use *u = use_of(m, &g->addr);
        if (u != NULL && u->n_by == 0 && u->back->at_ms == g->at_ms) {
            use_drop(m, u);
        }
    }
}

static void join(struct local_ipam *m, struct use *u, struct entry *e)
{
    ipam_share_joined(m, e, &u->addr);
    if (u->n_by == 0) {
        use_done(m, u);
        u->one = e;
    } else if (u->n_by == 1) {
        struct entry *first = u->one;
        u->many = xcalloc(2, sizeof(*u->many));
        u->many[0] = first;
        u->many[1] = e;
    } else {
        u->many = xrealloc(u->many, (u->n_by + 1) * sizeof(*u->many));
        u->many[u->n_by] = e;
    }
    u->n_by++;
}

void ipam_take(struct local_ipam *m, struct entry *e, const struct ip_addr *addr, int64_t now_ms)
{
    join(m, use_make(m, addr), e);
    struct had *had = xcalloc(e->n_had + 1u, sizeof *had);
    memcpy(had, ipam_had(e), e->n_had * sizeof *had);
    had[e->n_had] = ipam_pending(addr, now_ms);
    ipam_had_set(e, had, e->n_had + 1u);
}

/* ---- free ones ------------------------------------------------------------------------------- */

const struct reserved *ipam_reserved(const struct local_ipam *m, const struct ip_addr *addr)
{
    size_t low = 0;
    size_t high = m->n_reserved;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int order = local_addr_cmp(&m->reserved[mid].addr, addr);
        if (order == 0) {
            return &m->reserved[mid];
        }
        if (order < 0) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return NULL;
}

const struct local_pool *ipam_pool_of(const struct local_ipam *m, const struct ip_addr *addr)
{
    size_t span = space_find(&m->space, addr);

    if (span == SIZE_MAX) {
        return NULL;
    }
    const struct local_pool *pool = &m->config->pools[m->space.items[span].pool];
    return pool->avoid_buggy_ips && addr_is_buggy(addr) ? NULL : pool;
}

/* The span's lowest address that is not taken; everything before it is, so that the
 * next search begins there. */
static bool first_in_span(struct local_ipam *m, size_t index, struct ip_addr *ret)
{
    const struct span *s = &m->space.items[index];
    bool avoid_buggy = m->config->pools[s->pool].avoid_buggy_ips;
    struct ip_addr at = m->low[index];
    size_t i = use_at(m, &at);

    while (local_addr_cmp(&at, &s->last) <= 0) {
        bool used = i < m->n_uses && local_addr_cmp(&m->uses[i].addr, &at) == 0;
        if (!used && !(avoid_buggy && addr_is_buggy(&at)) && ipam_reserved(m, &at) == NULL) {
            m->low[index] = *ret = at;
            return true;
        }
        i += used;
        if (!addr_next(&at, &at)) {
            break;
        }
    }
    return false;
}

bool ipam_first_free(struct local_ipam *m, size_t pool, uint8_t len, struct ip_addr *ret)
{
    for (size_t i = 0; i < m->space.n; i++) {
        const struct span *s = &m->space.items[i];
        if (s->pool == pool && s->first.len == len && first_in_span(m, i, ret)) {
            return true;
        }
    }
    return false;
}

/* ---- Services -------------------------------------------------------------------------------- */

static const struct had *had_of(const struct had *had, size_t n, const struct ip_addr *addr)
{
    for (size_t i = 0; i < n; i++) {
        if (ip_eq(&had[i].addr, addr)) {
            return &had[i];
        }
    }
    return NULL;
}

static bool still_pending(const struct entry *e, const struct had *h, int64_t now_ms)
{
    return e->wants && !h->in_status && now_ms - ipam_pending_ms(h) < PENDING_MAX_MS;
}

static bool has_family(const struct had *had, size_t n, uint8_t len)
{
    for (size_t i = 0; i < n; i++) {
        if (had[i].addr.len == len) {
            return true;
        }
    }
    return false;
}

static bool wants_family(const struct entry *e, uint8_t len)
{
    return e->wants && memchr(e->families, len, e->n_families) != NULL;
}

/* Another program wrote it into the status, in place of the address that the Service has: it is in
 * no pool, and would be another host's.  A process that has just begun cannot tell it from an
 * address of a former pool. */
static bool is_strange(const struct local_ipam *m, const struct entry *e,
                       const struct ip_addr *addr)
{
    const struct had *was = ipam_had_of(e);

    return m->config->role != LOCAL_ROLE_DIRECTOR && wants_family(e, addr->len) &&
           has_family(was, e->n_had, addr->len) && had_of(was, e->n_had, addr) == NULL &&
           ipam_pool_of(m, addr) == NULL;
}

/* Another program took it out of the status, and wrote no other one: the Service serves
 * there, and its status will say so again.  One that is another Service's goes.  A director goes
 * by the status, which another process writes. */
static bool was_wiped(const struct local_ipam *m, const struct entry *e, const struct had *h,
                      const struct had *now, size_t n)
{
    struct err err = {0};
    bool broken;

    return m->config->role != LOCAL_ROLE_DIRECTOR && h->in_status && wants_family(e, h->addr.len) &&
           !has_family(now, n, h->addr.len) &&
           ipam_may_stay(e, ipam_use(m, &h->addr), &broken, &err) == ERR_OK;
}

/* The addresses of its status, then those that it was given and that are not written yet, or not
 * any more.  `wanted`: it was ours until now, so that it has these addresses from us; a new object
 * may be. */
static void read_addresses(struct local_ipam *m, struct entry *e, const struct tt_service *s,
                           bool wanted, int64_t now_ms)
{
    struct had *was = ipam_had(e);
    size_t n_was = e->n_had;
    struct had *had = xcalloc(s->n_ingress + n_was + 1, sizeof *had);
    size_t n = 0;

    for (uint32_t i = 0; i < s->n_ingress && n < HAD_MAX; i++) {
        struct ip_addr addr;
        if (s->ingress[i].ip != NULL && ip_parse(s->ingress[i].ip, &addr) &&
            had_of(had, n, &addr) == NULL && !is_strange(m, e, &addr)) {
            had[n++] = (struct had){.addr = addr, .in_status = true};
        }
    }
    size_t n_status = n;
    for (size_t i = 0; i < n_was; i++) {
        if (still_pending(e, &was[i], now_ms) && had_of(had, n, &was[i].addr) == NULL) {
            had[n++] = was[i];
        } else if (wanted && was_wiped(m, e, &was[i], had, n_status)) {
            had[n++] = ipam_pending(&was[i].addr, now_ms);
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (had_of(was, n_was, &had[i].addr) == NULL) {
            join(m, use_make(m, &had[i].addr), e);
        }
    }
    for (size_t i = 0; i < n_was; i++) {
        if (had_of(had, n, &was[i].addr) == NULL) {
            give_back(m, e, &was[i].addr, now_ms);
        }
    }
    ipam_had_set(e, had, n);
}

static bool is_granted(const struct local_grant *g, const struct ip_addr *addr)
{
    for (size_t i = 0; i < g->n; i++) {
        if (ip_eq(&g->have[i].addr, addr)) {
            return true;
        }
    }
    for (size_t i = 0; i < g->n_old; i++) {
        if (ip_eq(&g->old[i], addr)) {
            return true;
        }
    }
    return false;
}

void ipam_drop_pending(struct local_ipam *m, struct entry *e, const struct local_grant *granted,
                       int64_t now_ms)
{
    struct had *kept = xcalloc(e->n_had + 1u, sizeof *kept);
    size_t n = 0;

    for (size_t i = 0; i < e->n_had; i++) {
        const struct had *h = &ipam_had(e)[i];
        if (h->in_status || is_granted(granted, &h->addr)) {
            kept[n++] = *h;
        } else {
            give_back(m, e, &h->addr, now_ms);
        }
    }
    ipam_had_set(e, kept, n);
}

/* The last one moves into its place. */
static void drop_had(struct entry *e, size_t at)
{
    struct had *kept = xcalloc(e->n_had, sizeof *kept);

    memcpy(kept, ipam_had(e), e->n_had * sizeof *kept);
    kept[at] = kept[e->n_had - 1];
    ipam_had_set(e, kept, e->n_had - 1u);
}

void local_ipam_take_back(struct local_ipam *m, const char *key, const struct local_grant *grant)
{
    struct entry *e = ipam_entry(m, key);

    for (size_t i = 0; e != NULL && i < grant->n; i++) {
        const struct ip_addr *addr = &grant->have[i].addr;
        const struct had *had = ipam_had(e);
        size_t at = 0;
        while (at < e->n_had && !(ip_eq(&had[at].addr, addr) && !had[at].in_status)) {
            at++;
        }
        if (grant->have[i].is_new && at < e->n_had) {
            drop_had(e, at);
            leave(m, e, addr);
        }
    }
}

static void drop_addresses(struct local_ipam *m, struct entry *e, int64_t now_ms)
{
    for (size_t i = 0; i < e->n_had; i++) {
        give_back(m, e, &ipam_had(e)[i].addr, now_ms);
    }
    ipam_had_set(e, NULL, 0);
}

static void stop_waiting(struct local_ipam *m, struct entry *e)
{
    m->n_waiting -= e->waiting;
    e->waiting = false;
}

void local_ipam_see(struct local_ipam *m, const struct local_claim *claim, int64_t now_ms)
{
    const struct tt_service *s = claim->service;
    _cleanup_(xfreep) char *key = xasprintf("%s/%s", str_nonnull(s->ns), str_nonnull(s->name));
    struct entry *e = ipam_entry_make(m, key);

    ipam_expire(m, now_ms);
    if (e->seen && !ipam_entry_is(e, s->uid)) {
        drop_addresses(m, e, now_ms); /* another object of the same name */
    }
    bool wanted = !e->seen || e->wants; /* another program's address is not ours to keep */
    ipam_entry_read(m, e, claim);
    read_addresses(m, e, s, wanted, now_ms);
    if (!e->wants) {
        stop_waiting(m, e);
    }
}

uint64_t *local_ipam_note(struct local_ipam *m, const char *key)
{
    struct entry *e = ipam_entry(m, key);

    return e == NULL ? NULL : &e->note;
}

void local_ipam_forget_noted(struct local_ipam *m, bool (*goes)(void *arg, uint64_t note),
                             void *arg, int64_t now_ms)
{
    size_t n = 0;

    for (size_t i = 0; i < m->entries.cap; i++) {
        const struct entry *e = m->entries.at[i];
        n += e != NULL && goes(arg, e->note);
    }
    if (n == 0) {
        return;
    }
    void **all = index_sorted(&m->entries);
    for (size_t i = 0; all[i] != NULL; i++) {
        const struct entry *e = all[i];
        if (goes(arg, e->note)) {
            local_ipam_forget(m, ipam_key(e), now_ms);
        }
    }
    free(all);
}

void local_ipam_forget(struct local_ipam *m, const char *key, int64_t now_ms)
{
    struct entry *e = ipam_entry(m, key);

    ipam_expire(m, now_ms);
    if (e != NULL) {
        stop_waiting(m, e);
        drop_addresses(m, e, now_ms);
        ipam_entry_free(m, index_take(&m->entries, e->key));
    }
}

void local_ipam_remember(struct local_ipam *m, const char *key, const struct ip_addr *addr,
                         int64_t now_ms)
{
    struct entry *e = ipam_entry(m, key);

    if (ipam_use(m, addr) != NULL) {
        return; /* a status says so, or says otherwise */
    }
    if (e != NULL && e->wants) {
        ipam_take(m, e, addr, now_ms);
    } else if (m->config->reuse_delay_ms > 0) { /* it may still be in peers' tables */
        put_back(m, use_make(m, addr), intern_text(m->texts, key), now_ms);
    }
}

/* ---- life ------------------------------------------------------------------------------------ */

static int by_address(const void *a, const void *b)
{
    return local_addr_cmp(&((const struct reserved *)a)->addr, &((const struct reserved *)b)->addr);
}

static void read_reservations(struct local_ipam *m)
{
    const struct local_config *c = m->config;
    size_t n = 0;

    for (size_t i = 0; i < c->n_reservations; i++) {
        n += c->reservations[i].n_addrs;
    }
    m->reserved = xcalloc(n + 1, sizeof *m->reserved);
    for (size_t i = 0; i < c->n_reservations; i++) {
        for (size_t k = 0; k < c->reservations[i].n_addrs; k++) {
            m->reserved[m->n_reserved++] = (struct reserved){.addr = c->reservations[i].addrs[k],
                                                             .service = c->reservations[i].service};
        }
    }
    qsort(m->reserved, m->n_reserved, sizeof *m->reserved, by_address);
}

void local_ipam_reserve(struct local_ipam *m, const struct ip_addr *addr, const char *service)
{
    if (ipam_reserved(m, addr) != NULL) {
        return;
    }
    m->reserved = xrealloc(m->reserved, (m->n_reserved + 1) * sizeof *m->reserved);
    m->reserved[m->n_reserved++] = (struct reserved){.addr = *addr, .service = service};
    qsort(m->reserved, m->n_reserved, sizeof *m->reserved, by_address);
}

/* 1…n come before 0, then by name. */
static bool comes_before(const struct local_pool *a, const struct local_pool *b)
{
    if (a->priority != b->priority) {
        return b->priority == 0 || (a->priority != 0 && a->priority < b->priority);
    }
    return strcmp(a->name, b->name) < 0;
}

static void order_pools(struct local_ipam *m)
{
    const struct local_config *c = m->config;

    m->order = xcalloc(c->n_pools + 1, sizeof *m->order);
    for (size_t i = 0; i < c->n_pools; i++) {
        size_t at = i;
        for (; at > 0 && comes_before(&c->pools[i], &c->pools[m->order[at - 1]]); at--) {
            m->order[at] = m->order[at - 1];
        }
        m->order[at] = i;
    }
}

struct local_ipam *local_ipam_new(const struct local_config *config, struct intern_table *texts)
{
    struct local_ipam *m = xcalloc(1, sizeof *m);

    m->config = config;
    m->texts = texts;
    index_init(&m->entries, &interned_text_kind);
    index_init(&m->sharings, &interned_text_kind);
    space_make(&m->space, config);
    m->low = xcalloc(m->space.n + 1, sizeof *m->low);
    for (size_t i = 0; i < m->space.n; i++) {
        m->low[i] = m->space.items[i].first;
    }
    read_reservations(m);
    order_pools(m);
    return m;
}

void local_ipam_free(struct local_ipam *m)
{
    if (m == NULL) {
        return;
    }
    for (size_t i = 0; i < m->n_uses; i++) {
        use_done(m, &m->uses[i]);
    }
    for (size_t i = 0; i < m->entries.cap; i++) {
        ipam_entry_free(m, m->entries.at[i]);
    }
    index_done(&m->entries);
    ipam_shares_done(m);
    space_done(&m->space);
    free(m->low);
    free(m->order);
    free(m->reserved);
    free(m->uses);
    free(m->gone);
    free(m);
}
