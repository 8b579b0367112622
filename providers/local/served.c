/* SPDX-License-Identifier: Apache-2.0 */
/* served.c: what is kept of each Service between syncs, packed: there may be tens of thousands
 * (standing.h).
 *
 * Texts, settings, source ranges, targets and checks are strings of the provider's intern table:
 * most Services have the same ones.  Targets without their ports when all of them have one, since
 * node ports differ and nodes do not. */
#include "providers/local/standing.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/keep.h"
#include "common/base/str.h"

/* Of kept_vip.flags.  IS_VIP: else it is there for its frontends alone. */
enum { IS_VIP = 1, GUARDED = 2, HELD = 4, EXPORTED = 8, ANNOUNCED = 16 };
/* Of served_kept.flags. */
enum { SETTLED = 1, FAILED_OPEN = 2, CLOSED = 4, TOLD = 8 };

struct kept_vip {
    const struct interned *comment;
    int held_on;
    struct ip_addr addr;
    uint8_t flags;
};
struct kept_front {
    const struct interned *serve;   /* struct local_serve */
    const struct interned *open;    /* struct ip_net, some; NULL: none */
    const struct interned *targets; /* pack_targets() */
    const struct interned *checks;  /* of each target; NULL: none is checked */
    uint16_t port;
    uint16_t target_port; /* of all targets; 0: each has its own */
    uint8_t protocol;
    uint8_t vip;
    bool snat;
    bool all;
};
struct served_kept {
    const struct interned *key; /* first: interned_text_kind */
    uint32_t n_ejected;
    uint16_t n_fronts;
    uint8_t n_vips;
    uint8_t flags;
    struct kept_vip vips[]; /* behind them the frontends */
};

static_assert(sizeof(struct served_kept) <= 16 && sizeof(struct kept_vip) <= 32 &&
                  sizeof(struct kept_front) <= 40,
              "there are tens of thousands of them");

static struct kept_front *fronts_of(const struct served_kept *k)
{
    return (struct kept_front *)&k->vips[k->n_vips];
}

/* ---- targets --------------------------------------------------------------------------------- */

#define TARGET_MAX 24 /* bytes of a packed one: length and bytes of the address, three numbers */

static uint16_t port_of_all(const struct local_target_set *t)
{
    for (size_t i = 1; i < t->n; i++) {
        if (t->items[i].port != t->items[0].port) {
            return 0;
        }
    }
    return t->n == 0 ? 0 : t->items[0].port;
}

static unsigned char *put16(unsigned char *to, uint16_t value)
{
    memcpy(to, &value, sizeof value);
    return to + sizeof value;
}

static const unsigned char *get16(const unsigned char *from, uint16_t *ret)
{
    memcpy(ret, from, sizeof *ret);
    return from + sizeof *ret;
}

/* Words for plans are left out. */
static const struct interned *pack_targets(struct local_provider *p, struct arena *a,
                                           const struct local_target_set *t, uint16_t port)
{
    unsigned char *bytes = arena_alloc(a, t->n * TARGET_MAX + 1);
    unsigned char *at = bytes;

    for (size_t i = 0; i < t->n; i++) {
        const struct local_target *one = &t->items[i];
        *at++ = one->addr.len;
        memcpy(at, one->addr.bytes, one->addr.len);
        at = put16(put16(at + one->addr.len, one->weight), one->spare);
        if (port == 0) {
            at = put16(at, one->port);
        }
    }
    return intern_get(p->texts, bytes, (size_t)(at - bytes));
}

static struct local_target_set open_targets(struct arena *a, const struct kept_front *f)
{
    const unsigned char *at = f->targets->data;
    const unsigned char *end = at + f->targets->n;
    size_t most = f->targets->n / (4 + 2 * sizeof(uint16_t)) + 1;
    struct local_target_set t = {.items = ARENA_ARRAY(a, struct local_target, most)};

    while (at < end) {
        struct local_target *one = &t.items[t.n++];
        one->addr.len = *at++;
        memcpy(one->addr.bytes, at, one->addr.len);
        at = get16(get16(at + one->addr.len, &one->weight), &one->spare);
        one->port = f->target_port;
        if (f->target_port == 0) {
            at = get16(at, &one->port);
        }
    }
    return t;
}

/* ---- packing --------------------------------------------------------------------------------- */

/* An array of as many as there are targets; all NULL: not kept. */
static const struct interned *pack_checks(struct local_provider *p, const struct served_front *f)
{
    bool some = false;

    for (size_t i = 0; i < f->targets.n; i++) {
        some = some || f->checks[i] != NULL;
    }
    return some ? intern_get(p->texts, f->checks, f->targets.n * sizeof(*f->checks)) : NULL;
}

static_assert(sizeof(struct local_serve) == 152, "write_serve() knows every member");

/* Equal settings are equal bytes: what lies between the members is zero, which an assignment of
 * the whole does not promise. */
static void write_serve(const struct local_serve *serve, struct local_serve *ret)
{
    memset(ret, 0, sizeof *ret);
    ret->mode = serve->mode;
    ret->scheduler = serve->scheduler;
    ret->targets = serve->targets;
    ret->snat = serve->snat;
    ret->affinity = serve->affinity;
    ret->affinity_s = serve->affinity_s;
    ret->checks.interval_ms = serve->checks.interval_ms;
    ret->checks.timeout_ms = serve->checks.timeout_ms;
    ret->checks.fall = serve->checks.fall;
    ret->checks.rise = serve->checks.rise;
    ret->checks.cluster = serve->checks.cluster;
    ret->checks.local = serve->checks.local;
    ret->checks.pod = serve->checks.pod;
    ret->check = serve->check;
    ret->health.kind = serve->health.kind; /* not its path: the checks have it */
    ret->health.port = serve->health.port;
    ret->health.interval_ms = serve->health.interval_ms;
    ret->health.timeout_ms = serve->health.timeout_ms;
    ret->health.fall = serve->health.fall;
    ret->health.rise = serve->health.rise;
    ret->drain_timeout_ms = serve->drain_timeout_ms;
    ret->fail_open = serve->fail_open;
    ret->sorry.addr = serve->sorry.addr;
    ret->sorry.port = serve->sorry.port;
    ret->udp_one_packet = serve->udp_one_packet;
    ret->zone_only = serve->zone_only;
}

static const struct interned *pack_serve(struct local_provider *p, const struct local_serve *serve)
{
    struct local_serve all;

    write_serve(serve, &all);
    return intern_get(p->texts, &all, sizeof all);
}

static uint8_t vip_flags(const struct local_vip *v)
{
    return (uint8_t)(IS_VIP | (v->guarded ? GUARDED : 0) | (v->held ? HELD : 0) |
                     (v->exported ? EXPORTED : 0) | (v->announced ? ANNOUNCED : 0));
}

/* Which of its addresses it is, from then on. */
static uint8_t vip_at(struct served_kept *k, const struct ip_addr *addr)
{
    uint8_t i = 0;

    while (i < k->n_vips && !ip_eq(&k->vips[i].addr, addr)) {
        i++;
    }
    if (i == k->n_vips) {
        k->vips[k->n_vips++] = (struct kept_vip){.addr = *addr};
    }
    return i;
}

/* Its own, and those of frontends alone. */
static size_t count_vips(const struct served *v)
{
    size_t n = v->n_vips;

    for (size_t i = 0; i < v->n; i++) {
        const struct ip_addr *addr = &v->fronts[i].front.id.vip;
        bool there = false;
        for (size_t k = 0; k < v->n_vips; k++) {
            there = there || ip_eq(&v->vips[k].addr, addr);
        }
        for (size_t k = 0; k < i; k++) {
            there = there || ip_eq(&v->fronts[k].front.id.vip, addr);
        }
        n += !there;
    }
    return n;
}

static struct kept_front pack_front(struct local_provider *p, struct arena *a,
                                    const struct served_front *f)
{
    uint16_t port = port_of_all(&f->targets);

    return (struct kept_front){
        .serve = pack_serve(p, f->serve),
        .open = f->front.n_open == 0
                    ? NULL
                    : intern_get(p->texts, f->front.open, f->front.n_open * sizeof *f->front.open),
        .targets = pack_targets(p, a, &f->targets, port),
        .checks = pack_checks(p, f),
        .port = f->front.id.port,
        .target_port = port,
        .protocol = f->front.id.protocol,
        .snat = f->front.snat,
        .all = f->front.all};
}

static uint8_t kept_flags(const struct served *v)
{
    return (uint8_t)((v->settled ? SETTLED : 0) | (v->failed_open ? FAILED_OPEN : 0) |
                     (v->closed ? CLOSED : 0) | (v->told ? TOLD : 0));
}

static size_t kept_size(size_t n_vips, size_t n_fronts)
{
    return sizeof(struct served_kept) + n_vips * sizeof(struct kept_vip) +
           n_fronts * sizeof(struct kept_front);
}

static struct served_kept *pack(struct local_provider *p, struct arena *a, const struct served *v)
{
    size_t n_vips = count_vips(v);
    struct served_kept *k = keep_alloc(kept_size(n_vips, v->n));

    k->key = intern_text(p->texts, v->key);
    k->n_ejected = (uint32_t)v->n_ejected;
    k->flags = kept_flags(v);
    for (size_t i = 0; i < v->n_vips; i++) {
        const struct local_vip *vip = &v->vips[i];
        k->vips[k->n_vips++] = (struct kept_vip){.comment = intern_text(p->texts, vip->comment),
                                                 .held_on = vip->held_on,
                                                 .addr = vip->addr,
                                                 .flags = vip_flags(vip)};
    }
    for (size_t i = 0; i < v->n; i++) {
        (void)vip_at(k, &v->fronts[i].front.id.vip);
    }
    for (size_t i = 0; i < v->n; i++) {
        struct kept_front f = pack_front(p, a, &v->fronts[i]);
        f.vip = vip_at(k, &v->fronts[i].front.id.vip);
        fronts_of(k)[k->n_fronts++] = f;
    }
    return k;
}

static void kept_free(struct local_provider *p, struct served_kept *k)
{
    for (size_t i = 0; k != NULL && i < k->n_vips; i++) {
        intern_drop(p->texts, k->vips[i].comment);
    }
    for (size_t i = 0; k != NULL && i < k->n_fronts; i++) {
        const struct kept_front *f = &fronts_of(k)[i];
        intern_drop(p->texts, f->serve);
        intern_drop(p->texts, f->open);
        intern_drop(p->texts, f->targets);
        intern_drop(p->texts, f->checks);
    }
    if (k != NULL) {
        intern_drop(p->texts, k->key);
        keep_free(k, kept_size(k->n_vips, k->n_fronts));
    }
}

/* ---- opening --------------------------------------------------------------------------------- */

static struct local_vip open_vip(const struct kept_vip *v)
{
    return (struct local_vip){.addr = v->addr,
                              .guarded = (v->flags & GUARDED) != 0,
                              .comment = intern_str(v->comment),
                              .held = (v->flags & HELD) != 0,
                              .held_on = v->held_on,
                              .exported = (v->flags & EXPORTED) != 0,
                              .announced = (v->flags & ANNOUNCED) != 0};
}

static struct served_front open_front(struct arena *a, const struct served_kept *k,
                                      const struct kept_front *f)
{
    struct served_front x = {
        .front = {.id = {.vip = k->vips[f->vip].addr, .protocol = f->protocol, .port = f->port},
                  .snat = f->snat,
                  .all = f->all},
        .serve = (const void *)f->serve->data,
        .targets = open_targets(a, f)};

    if (f->open != NULL) {
        x.front.open =
            (struct ip_net *)f->open->data; /* who wants slots changes the array, not its items */
        x.front.n_open = f->open->n / sizeof *x.front.open;
    }
    x.checks = ARENA_ARRAY(a, struct director_check *, x.targets.n + 1);
    if (f->checks != NULL) {
        memcpy(x.checks, f->checks->data, f->checks->n);
    }
    return x;
}

struct served *local_served_open(struct arena *a, struct served_kept *k)
{
    struct served *v = ARENA_NEW(a, struct served);

    *v = (struct served){.key = intern_str(k->key),
                         .fronts = ARENA_ARRAY(a, struct served_front, k->n_fronts + 1u),
                         .vips = ARENA_ARRAY(a, struct local_vip, k->n_vips + 1u),
                         .settled = (k->flags & SETTLED) != 0,
                         .n_ejected = k->n_ejected,
                         .failed_open = (k->flags & FAILED_OPEN) != 0,
                         .closed = (k->flags & CLOSED) != 0,
                         .told = (k->flags & TOLD) != 0,
                         .kept = k};
    for (size_t i = 0; i < k->n_fronts; i++) {
        v->fronts[v->n++] = open_front(a, k, &fronts_of(k)[i]);
    }
    for (size_t i = 0; i < k->n_vips; i++) {
        if ((k->vips[i].flags & IS_VIP) != 0) {
            v->vips[v->n_vips++] = open_vip(&k->vips[i]);
        }
    }
    return v;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static struct served_kept *find(const struct local_provider *p, const char *key)
{
    return index_get_text(&p->served, p->texts, key);
}

bool local_served_has(const struct local_provider *p, const char *key)
{
    return find(p, key) != NULL;
}

bool local_served_is_settled(const struct served_kept *k)
{
    return (k->flags & SETTLED) != 0;
}

bool local_served_is_at(const struct served_kept *k, const struct ip_addr *addr)
{
    for (size_t i = 0; i < k->n_vips; i++) {
        if ((k->vips[i].flags & IS_VIP) != 0 && ip_eq(&k->vips[i].addr, addr)) {
            return true;
        }
    }
    return false;
}

bool local_served_is_settled_of(const struct local_provider *p, const char *key)
{
    const struct served_kept *k = find(p, key);

    return k != NULL && local_served_is_settled(k);
}

bool local_served_has_front(const struct local_provider *p, const char *key,
                            const struct local_frontend_id *id)
{
    const struct served_kept *k = find(p, key);

    for (size_t i = 0; k != NULL && i < k->n_fronts; i++) {
        const struct kept_front *f = &fronts_of(k)[i];
        if (f->port == id->port && f->protocol == id->protocol &&
            ip_eq(&k->vips[f->vip].addr, &id->vip)) {
            return true;
        }
    }
    return false;
}

struct served *local_served_get(const struct local_provider *p, struct arena *a, const char *key)
{
    struct served_kept *k = find(p, key);

    return k == NULL ? NULL : local_served_open(a, k);
}

void local_served_put(struct local_provider *p, struct arena *a, const struct served *v)
{
    kept_free(p, index_put(&p->served, pack(p, a, v)));
}

void local_served_note(const struct served *v)
{
    v->kept->n_ejected = (uint32_t)v->n_ejected;
    v->kept->flags = kept_flags(v);
}

void local_served_settle(struct local_provider *p, const char *key)
{
    struct served_kept *k = find(p, key);

    if (k != NULL) {
        k->flags |= SETTLED;
    }
}

void local_served_drop(struct local_provider *p, const char *key)
{
    const struct served_kept *k = find(p, key);

    if (k != NULL) {
        kept_free(p, index_take(&p->served, k->key));
    }
}

void local_served_each(struct local_provider *p,
                       bool (*fn)(struct local_provider *p, struct served_kept *k, void *arg),
                       void *arg)
{
    void **all = index_sorted(&p->served);

    for (size_t i = 0; all[i] != NULL && fn(p, all[i], arg); i++) {
    }
    free(all);
}

void local_served_any(struct local_provider *p,
                      bool (*fn)(struct local_provider *p, struct served_kept *k, void *arg),
                      void *arg)
{
    for (size_t i = 0; i < p->served.cap; i++) {
        if (p->served.at[i] != NULL && !fn(p, p->served.at[i], arg)) {
            return;
        }
    }
}

const struct interned **local_served_keys(struct local_provider *p, size_t *ret_n)
{
    void **all = index_sorted(&p->served);
    const struct interned **keys = xcalloc(p->served.n + 1, sizeof(*keys));

    for (size_t i = 0; all[i] != NULL; i++) {
        keys[i] = intern_again(p->texts, ((struct served_kept *)all[i])->key);
    }
    *ret_n = p->served.n;
    free(all);
    return keys;
}

void local_served_init(struct local_provider *p)
{
    index_init(&p->served, &interned_text_kind);
}

void local_served_done(struct local_provider *p)
{
    for (size_t i = 0; i < p->served.cap; i++) {
        kept_free(p, p->served.at[i]);
    }
    index_done(&p->served);
}
