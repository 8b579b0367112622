/* SPDX-License-Identifier: Apache-2.0 */
/* grant.c: the rules by which a Service keeps, gets or moves its addresses (ipam.h); first match
 * wins.
 *
 *   what it has           stays, whatever the configuration says by now
 *   what it asks for      exactly that, or an error; what it has stays until then
 *   a shared address      of its key, with its ports free
 *   a reservation         of its name
 *   pools by priority     lowest free address, both families from one pool if that can be */
#include "providers/local/ipam/ipam_internal.h"

#include <string.h>

#include "common/base/str.h"

/* A grant in the making; arrays by index of the family. */
struct want {
    struct local_ipam *m;
    struct entry *e;
    int64_t now_ms;
    struct ip_addr have[2]; /* len 0: none */
    struct ip_addr get[2];  /* what it is to have; len 0: not decided */
    bool missing[2];        /* nothing is free */
    bool as_is;             /* nothing new */
    bool taken[2];          /* a moment ago */
    unsigned flags;
};

static const char *family_word(uint8_t len)
{
    return len == 16 ? "IPv6" : "IPv4";
}

/* ---- what it has ----------------------------------------------------------------------------- */

/* Its status names addresses of another program only, and we never served it. */
static bool is_elsewhere(const struct local_ipam *m, const struct entry *e,
                         const struct ip_addr **ret)
{
    bool any = false;

    for (size_t i = 0; i < e->n_had; i++) {
        if (!ipam_had_of(e)[i].in_status || ipam_pool_of(m, &ipam_had_of(e)[i].addr) != NULL) {
            return false;
        }
        any = true;
        *ret = &ipam_had_of(e)[i].addr;
    }
    return any && !e->was_ours;
}

static void look_at_what_it_has(struct want *w)
{
    for (size_t f = 0; f < w->e->n_families; f++) {
        for (size_t i = 0; i < w->e->n_had && w->have[f].len == 0; i++) {
            if (ipam_had_of(w->e)[i].addr.len == w->e->families[f]) {
                w->have[f] = ipam_had_of(w->e)[i].addr;
            }
        }
    }
}

/* It has the address, and so have others: is it the one that may stay? */
static int check_have(struct want *w, struct err *err)
{
    int first = ERR_OK;

    for (size_t f = 0; f < w->e->n_families; f++) {
        bool broken = false;
        struct err one = ERR_INIT;
        if (w->have[f].len == 0) {
            continue;
        }
        const struct use *use = ipam_use(w->m, &w->have[f]);
        if (ipam_may_stay(w->e, use, &broken, &one) != ERR_OK) {
            w->have[f].len = 0; /* served as if it had none */
            first = first == ERR_OK ? err_copy(err, &one) : first;
        }
        w->flags |= broken ? LOCAL_GRANT_SHARE_BROKEN : 0;
    }
    return first;
}

/* ---- what it asks for ------------------------------------------------------------------------ */

static const struct local_pool *pool_named(const struct local_ipam *m, const char *name)
{
    for (size_t i = 0; i < m->config->n_pools; i++) {
        if (strcmp(m->config->pools[i].name, name) == 0) {
            return &m->config->pools[i];
        }
    }
    return NULL;
}

static bool is_in_range(const struct local_range *r, size_t n, const struct ip_addr *addr)
{
    for (size_t i = 0; i < n; i++) {
        if (r[i].first.len == addr->len && local_addr_cmp(&r[i].first, addr) <= 0 &&
            local_addr_cmp(addr, &r[i].last) <= 0) {
            return true;
        }
    }
    return false;
}

/* The address cannot be given: in no pool, or left out of one. */
static int refuse_outside(const struct local_ipam *m, const struct ip_addr *addr, struct err *err)
{
    char text[IP_TEXT_MAX];

    ip_format(addr, text);
    for (size_t i = 0; i < m->config->n_pools; i++) {
        const struct local_pool *p = &m->config->pools[i];
        if (is_in_range(p->ranges, p->n_ranges, addr)) {
            bool excluded = is_in_range(p->exclude, p->n_exclude, addr);
            return err_set(err, ERR_INVALID, "%s is left out of pool \"%s\" (%s)", text, p->name,
                           excluded ? "exclude" : "avoidBuggyIPs");
        }
    }
    return err_set(err, ERR_INVALID, "%s is in no pool", text);
}

/* It was given back a moment ago, by another Service. */
static int refuse_too_early(const struct want *w, const struct use *use, struct err *err)
{
    char text[IP_TEXT_MAX];
    int64_t left_ms = use->back->at_ms + w->m->config->reuse_delay_ms - w->now_ms;

    ip_format(&use->addr, text);
    return err_set(
        err, ERR_QUOTA,
        "%s was given back a moment ago and is not given away again for %lld s (reuseDelay)", text,
        (long long)((left_ms + 999) / 1000));
}

static int check_asked_pool(const struct want *w, const struct ip_addr *addr, struct err *err)
{
    const struct local_pool *pool = ipam_pool_of(w->m, addr);
    char text[IP_TEXT_MAX];

    if (pool == NULL) {
        return refuse_outside(w->m, addr, err);
    }
    enum closed why = ipam_why_closed(w->m, w->e, pool);
    if (why != POOL_OPEN) {
        return ipam_refuse_closed(w->e, pool, why, err);
    }
    if (w->e->asked->pool != NULL && strcmp(intern_str(w->e->asked->pool), pool->name) != 0) {
        ip_format(addr, text);
        return err_set(err, ERR_INVALID, "%s is in pool \"%s\", not in pool \"%s\"", text,
                       pool->name, intern_str(w->e->asked->pool));
    }
    return ERR_OK;
}

static int check_asked(const struct want *w, const struct ip_addr *addr, struct err *err)
{
    char text[IP_TEXT_MAX];
    const struct use *use = ipam_use(w->m, addr);
    const struct reserved *r = ipam_reserved(w->m, addr);
    int rc = check_asked_pool(w, addr, err);

    if (rc != ERR_OK) {
        return rc;
    }
    if (r != NULL && strcmp(r->service, ipam_key(w->e)) != 0) {
        ip_format(addr, text);
        return err_set(err, ERR_INVALID, "%s is reserved for %s", text, r->service);
    }
    if (use != NULL && use->n_by == 0 && use->back->key != w->e->key) {
        return refuse_too_early(w, use, err);
    }
    return use == NULL ? ERR_OK : ipam_may_join(w->e, use, err);
}

static int take_asked(struct want *w, struct err *err)
{
    char text[IP_TEXT_MAX];
    size_t n_asked;
    const struct ip_addr *all = ipam_asked(w->e, &n_asked);

    for (size_t i = 0; i < n_asked; i++) {
        const struct ip_addr *asked = &all[i];
        size_t f = 0;
        while (f < w->e->n_families && w->e->families[f] != asked->len) {
            f++;
        }
        if (f == w->e->n_families) {
            ip_format(asked, text);
            return err_set(err, ERR_INVALID, "asked for %s, but the Service has %s only", text,
                           family_word(w->e->families[0]));
        }
        int rc = ip_eq(asked, &w->have[f]) ? ERR_OK : check_asked(w, asked, err);
        if (rc != ERR_OK) {
            return rc;
        }
        w->get[f] = *asked;
    }
    return ERR_OK;
}

static int check_pool_wish(const struct want *w, struct err *err)
{
    const struct local_pool *pool =
        w->e->asked->pool == NULL ? NULL : pool_named(w->m, intern_str(w->e->asked->pool));
    enum closed why = pool == NULL ? POOL_OPEN : ipam_why_closed(w->m, w->e, pool);

    return why == POOL_OPEN ? ERR_OK : ipam_refuse_closed(w->e, pool, why, err);
}

/* ---- what it keeps --------------------------------------------------------------------------- */

static bool may_keep(const struct want *w, const struct ip_addr *addr)
{
    const struct local_pool *pool = ipam_pool_of(w->m, addr);

    if (w->e->asked->pool != NULL &&
        (pool == NULL || strcmp(pool->name, intern_str(w->e->asked->pool)) != 0)) {
        return false;
    }
    bool open = pool != NULL && ipam_why_closed(w->m, w->e, pool) == POOL_OPEN;
    return open || !w->e->move;
}

/* It was given in place of the one that it has to leave, and the status does not name it yet: it is
 * served, and another sync gives no third one. */
static void get_pending(struct want *w, size_t f)
{
    for (size_t i = 0; i < w->e->n_had && w->get[f].len == 0; i++) {
        const struct had *h = &ipam_had_of(w->e)[i];
        bool broken = false;
        struct err ignored = ERR_INIT;
        if (!h->in_status && h->addr.len == w->e->families[f] && may_keep(w, &h->addr) &&
            ipam_may_stay(w->e, ipam_use(w->m, &h->addr), &broken, &ignored) == ERR_OK) {
            w->get[f] = h->addr;
        }
    }
}

static void keep(struct want *w)
{
    for (size_t f = 0; f < w->e->n_families; f++) {
        if (w->get[f].len != 0 || w->have[f].len == 0) {
            continue;
        }
        if (may_keep(w, &w->have[f])) {
            w->get[f] = w->have[f];
        } else {
            get_pending(w, f);
        }
    }
}

/* ---- what it gets ---------------------------------------------------------------------------- */

static bool get_reserved(const struct want *w, uint8_t len, struct ip_addr *ret)
{
    for (size_t i = 0; i < w->m->n_reserved; i++) {
        const struct reserved *r = &w->m->reserved[i];
        const struct use *use = ipam_use(w->m, &r->addr);
        struct err ignored = ERR_INIT;
        if (r->addr.len == len && strcmp(r->service, ipam_key(w->e)) == 0 &&
            (use == NULL || ipam_may_join(w->e, use, &ignored) == ERR_OK) &&
            ipam_pool_of(w->m, &r->addr) != NULL) {
            *ret = r->addr;
            return true;
        }
    }
    return false;
}

static bool may_get_from(const struct want *w, size_t pool)
{
    const struct local_pool *p = &w->m->config->pools[pool];
    bool named = w->e->asked->pool != NULL && strcmp(intern_str(w->e->asked->pool), p->name) == 0;

    return ipam_why_closed(w->m, w->e, p) == POOL_OPEN &&
           (named || (w->e->asked->pool == NULL && p->auto_assign));
}

static bool undecided(const struct want *w, size_t f)
{
    return f < w->e->n_families && w->get[f].len == 0;
}

/* Both families from one pool; the pool of the one that is decided already, if there is one. */
static void get_together(struct want *w)
{
    size_t decided = undecided(w, 0) ? 1 : 0;
    const struct local_pool *kept =
        undecided(w, 0) && undecided(w, 1) ? NULL : ipam_pool_of(w->m, &w->get[decided]);

    for (size_t i = 0; w->e->n_families == 2 && i < w->m->config->n_pools; i++) {
        size_t pool = w->m->order[i];
        struct ip_addr got[2] = {w->get[0], w->get[1]};
        bool right = may_get_from(w, pool) && (kept == NULL || kept == &w->m->config->pools[pool]);
        for (size_t f = 0; f < 2 && right; f++) {
            right = !undecided(w, f) || ipam_first_free(w->m, pool, w->e->families[f], &got[f]);
        }
        if (right) {
            w->get[0] = got[0];
            w->get[1] = got[1];
            return;
        }
    }
}

static void get_anywhere(struct want *w, size_t f)
{
    for (size_t i = 0; i < w->m->config->n_pools && undecided(w, f); i++) {
        size_t pool = w->m->order[i];
        if (may_get_from(w, pool)) {
            (void)ipam_first_free(w->m, pool, w->e->families[f], &w->get[f]);
        }
    }
    w->missing[f] = undecided(w, f);
}

static void get_new(struct want *w)
{
    for (size_t f = 0; f < w->e->n_families; f++) {
        struct ip_addr got;
        if (undecided(w, f) && (ipam_find_shared(w->m, w->e, w->e->families[f], &got) ||
                                get_reserved(w, w->e->families[f], &got))) {
            w->get[f] = got;
        }
    }
    if (undecided(w, 0) || undecided(w, 1)) {
        get_together(w);
    }
    for (size_t f = 0; f < w->e->n_families; f++) {
        if (undecided(w, f)) {
            get_anywhere(w, f);
        }
    }
}

/* A missing address is an error, unless the Service accepts one family instead of two. */
static int check_missing(struct want *w, struct err *err)
{
    size_t n = w->e->n_families;
    size_t n_missing = (size_t)w->missing[0] + (size_t)w->missing[1];

    if (n_missing == 0) {
        return ERR_OK;
    }
    if (w->e->policy == PREFER_DUAL_STACK && n == 2 && n_missing == 1) {
        size_t f = w->missing[0] ? 0 : 1;
        w->get[f] = w->have[f]; /* one that was to move stays */
        w->flags |= w->get[f].len == 0 ? LOCAL_GRANT_SECOND_MISSING : 0;
        return ERR_OK;
    }
    return ipam_nothing_free(w->m, w->e, w->e->families[w->missing[0] ? 0 : 1], err);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static struct local_granted granted(const struct want *w, const struct ip_addr *addr)
{
    struct local_granted g = {.addr = *addr, .pool = ipam_pool_of(w->m, addr)};

    for (size_t i = 0; i < w->e->n_had; i++) {
        g.in_status = g.in_status ||
                      (ipam_had_of(w->e)[i].in_status && ip_eq(&ipam_had_of(w->e)[i].addr, addr));
    }
    return g;
}

static void tell(const struct want *w, const struct ip_addr *addrs, struct local_grant *ret)
{
    ret->flags = w->flags;
    for (size_t f = 0; f < w->e->n_families; f++) {
        if (addrs[f].len != 0) {
            ret->have[ret->n] = granted(w, &addrs[f]);
            ret->have[ret->n].is_new = w->taken[f];
            ret->flags |= ret->have[ret->n].pool == NULL ? LOCAL_GRANT_OUTSIDE : 0;
            ret->n++;
        }
    }
    for (size_t i = 0; i < w->e->n_had && ret->n_old < ARRAY_LEN(ret->old); i++) {
        const struct had *h = &ipam_had_of(w->e)[i];
        bool stays = false;
        for (size_t f = 0; f < w->e->n_families; f++) {
            stays = stays || (addrs[f].len != 0 && ip_eq(&addrs[f], &h->addr)) ||
                    (w->have[f].len == 0 && h->addr.len == w->e->families[f]); /* another's */
        }
        /* An update may come before it hears that the status names the new one. */
        if ((h->in_status || w->as_is) && !stays) {
            ret->old[ret->n_old++] = h->addr;
        }
    }
}

static int stay(struct want *w)
{
    bool one = w->have[0].len == 0 || w->have[1].len == 0;

    memcpy(w->get, w->have, sizeof w->get);
    if (w->e->policy == PREFER_DUAL_STACK && w->e->n_families == 2 && one) {
        w->flags |= LOCAL_GRANT_SECOND_MISSING;
    }
    return ERR_OK;
}

static int choose(struct want *w, struct err *err)
{
    struct err conflict = ERR_INIT;
    int rc = check_have(w, &conflict);

    if (rc != ERR_OK && w->e->asked->addrs == NULL) {
        return err_copy(err, &conflict);
    }
    if (w->as_is) {
        return stay(w);
    }
    rc = take_asked(w, err);
    if (rc == ERR_OK) {
        rc = check_pool_wish(w, err);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    keep(w);
    get_new(w);
    return check_missing(w, err);
}

static void commit(struct want *w)
{
    for (size_t f = 0; f < w->e->n_families; f++) {
        bool has = false;
        for (size_t i = 0; i < w->e->n_had; i++) {
            has = has || ip_eq(&ipam_had_of(w->e)[i].addr, &w->get[f]);
        }
        if (w->get[f].len != 0 && !has) {
            ipam_take(w->m, w->e, &w->get[f], w->now_ms);
            w->taken[f] = true;
        }
    }
}

static int decide(struct want *w, bool for_good, struct local_grant *ret, struct err *err)
{
    const struct ip_addr *foreign = NULL;
    char text[IP_TEXT_MAX];

    *ret = (struct local_grant){0};
    if (w->e == NULL || !w->e->wants) {
        return ERR_OK;
    }
    if (!w->e->has_cluster_ips) {
        return err_set(err, ERR_TRANSIENT, "the Service has no cluster IPs yet");
    }
    if (is_elsewhere(w->m, w->e, &foreign)) {
        ip_format(foreign, text);
        return err_set(err, ERR_IMPLEMENTED_ELSEWHERE,
                       "its address %s is in no pool, and the Service was never served here", text);
    }
    look_at_what_it_has(w);
    int rc = choose(w, err);
    if (rc == ERR_OK && for_good) {
        commit(w);
    }
    tell(w, rc == ERR_OK ? w->get : w->have, ret);
    return rc;
}

/* An older Service waits for the address that this one would get again. */
static bool is_due_to_another(struct local_ipam *m, const struct entry *e, int64_t now_ms,
                              const struct local_grant *mine)
{
    struct entry *other = ipam_oldest_waiting(m);
    struct want w = {.m = m, .e = other, .now_ms = now_ms};
    struct local_grant theirs;
    struct err ignored = ERR_INIT;

    if (other == NULL || other == e || !ipam_is_older(other, e) ||
        decide(&w, false, &theirs, &ignored) != ERR_OK) {
        return false;
    }
    for (size_t i = 0; i < mine->n; i++) {
        for (size_t k = 0; k < theirs.n; k++) {
            if (ip_eq(&mine->have[i].addr, &theirs.have[k].addr) &&
                ipam_use(m, &mine->have[i].addr) == NULL) {
                return true;
            }
        }
    }
    return false;
}

/* The oldest waiting Service comes first, whichever asks first. */
static int wait_turn(struct want *w, struct local_grant *ret, struct err *err)
{
    struct want look = {.m = w->m, .e = w->e, .now_ms = w->now_ms};
    struct local_grant mine;
    struct err ignored = ERR_INIT;

    if (w->e == NULL || w->m->n_waiting == 0 || w->e->asked->addrs != NULL ||
        decide(&look, false, &mine, &ignored) != ERR_OK ||
        !is_due_to_another(w->m, w->e, w->now_ms, &mine)) {
        return ERR_OK;
    }
    *ret = (struct local_grant){0};
    tell(&look, look.have, ret);
    return err_set(err, ERR_QUOTA, "no free address: %s has waited longer for the one that is free",
                   ipam_key(ipam_oldest_waiting(w->m)));
}

static void note_waiting(struct local_ipam *m, struct entry *e, bool waits)
{
    m->n_waiting += (size_t)waits;
    m->n_waiting -= (size_t)e->waiting;
    e->waiting = waits;
    ipam_wait_from(e, waits ? m->freed : 0);
}

int local_ipam_grant(struct local_ipam *m, const char *key, int64_t now_ms, struct local_grant *ret,
                     struct err *err)
{
    struct want w = {.m = m, .e = ipam_entry(m, key), .now_ms = now_ms};

    ipam_expire(m, now_ms);
    int rc = wait_turn(&w, ret, err);
    if (rc == ERR_OK) {
        rc = decide(&w, true, ret, err);
    }
    if (rc == ERR_OK && w.e != NULL) {
        ipam_drop_pending(m, w.e, ret, now_ms);
    }
    if (w.e != NULL) {
        bool wants_more = (ret->flags & LOCAL_GRANT_SECOND_MISSING) != 0;
        note_waiting(m, w.e, rc == ERR_QUOTA || (rc == ERR_OK && wants_more));
    }
    return rc;
}

int local_ipam_kept(struct local_ipam *m, const char *key, int64_t now_ms, struct local_grant *ret,
                    struct err *err)
{
    struct want w = {.m = m, .e = ipam_entry(m, key), .now_ms = now_ms, .as_is = true};

    return decide(&w, false, ret, err);
}

/* Searching moves where searches begin, which is not visible from the outside. */
int local_ipam_would_grant(const struct local_ipam *m, const char *key, int64_t now_ms,
                           struct local_grant *ret, struct err *err)
{
    struct want w = {.m = (struct local_ipam *)m, .e = ipam_entry(m, key), .now_ms = now_ms};

    ipam_expire(w.m, now_ms);
    return decide(&w, false, ret, err);
}

void local_ipam_serves(struct local_ipam *m, const char *key, const struct tt_service *service,
                       const bool *served)
{
    struct entry *e = ipam_entry(m, key);

    if (e != NULL && e->wants) {
        ipam_entry_serve(m, e, service, served);
    }
}

bool local_ipam_is_served(const struct local_ipam *m, const char *key, char protocol, uint16_t port)
{
    const struct entry *e = ipam_entry(m, key);
    const struct service_port one = {.protocol = (uint8_t)protocol, .port = port};

    return e != NULL && ipam_serves(e, &one);
}

bool local_ipam_is_settled(const struct local_ipam *m, const char *key)
{
    const struct entry *e = ipam_entry(m, key);

    return e == NULL || e->serves == e->ports; /* equal ones are one text */
}

int local_ipam_follow(const struct local_ipam *m, const char *key, struct local_grant *ret,
                      struct err *err)
{
    struct want w = {.m = (struct local_ipam *)m, .e = ipam_entry(m, key)};
    const struct ip_addr *foreign = NULL;
    char text[IP_TEXT_MAX];

    *ret = (struct local_grant){0};
    if (w.e == NULL || !w.e->wants) {
        return ERR_OK;
    }
    if (is_elsewhere(m, w.e, &foreign)) {
        ip_format(foreign, text);
        return err_set(err, ERR_IMPLEMENTED_ELSEWHERE,
                       "its address %s is in no pool, and the Service was never served here", text);
    }
    look_at_what_it_has(&w);
    int rc = check_have(&w, err);
    tell(&w, w.have, ret);
    return rc;
}
