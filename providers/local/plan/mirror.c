/* SPDX-License-Identifier: Apache-2.0 */
/* mirror.c: what the kernel has of ours (mirror.h). */
#include "providers/local/plan/mirror.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/map.h"
#include "common/base/str.h"

#define NAMED_FIRST 16

struct local_mirror {
    struct map *vips;                /* text of the address → struct local_mirror_vip */
    struct local_mirror_vip **named; /* the same by comment: chains of next_named */
    size_t n_named, cap_named;       /* vips in them; chains, a power of two */
    uint64_t seed;
    struct ip_net *scope;
    size_t n_scope;
    uint64_t others_wrote; /* so often */
    uint64_t read_at;      /* how often they had when all was read */
};

static void front_done(struct local_front *f)
{
    free(f->slots);
    free(f->open);
    free(f->ipvs.reals);
}

static void vip_free(void *value)
{
    struct local_mirror_vip *v = value;

    for (size_t i = 0; i < v->n_fronts; i++) {
        front_done(&v->fronts[i]);
    }
    free(v->fronts);
    free((char *)v->vip.comment);
    free(v);
}

struct local_mirror *local_mirror_new(void)
{
    struct local_mirror *m = xcalloc(1, sizeof *m);

    m->vips = map_new(vip_free);
    m->seed = hash_seed();
    m->cap_named = NAMED_FIRST;
    m->named = xcalloc(m->cap_named, sizeof(*m->named));
    return m;
}

void local_mirror_free(struct local_mirror *m)
{
    if (m != NULL) {
        map_free(m->vips);
        free(m->named);
        free(m->scope);
        free(m);
    }
}

/* ---- by comment ------------------------------------------------------------------------------------ */

static struct local_mirror_vip **chain_of(const struct local_mirror *m, const char *comment)
{
    const char *text = str_nonnull(comment);

    return &m->named[hash_quick(m->seed, text, strlen(text)) & (m->cap_named - 1)];
}

static void link_named(const struct local_mirror *m, struct local_mirror_vip *v)
{
    struct local_mirror_vip **at = chain_of(m, v->vip.comment);

    v->next_named = *at;
    *at = v;
}

static void more_chains(struct local_mirror *m)
{
    struct local_mirror_vip **old = m->named;
    size_t n = m->cap_named;

    m->cap_named *= 2;
    m->named = xcalloc(m->cap_named, sizeof(*m->named));
    for (size_t i = 0; i < n; i++) {
        for (struct local_mirror_vip *v = old[i], *next = NULL; v != NULL; v = next) {
            next = v->next_named;
            link_named(m, v);
        }
    }
    free(old);
}

static void enter_named(struct local_mirror *m, struct local_mirror_vip *v)
{
    if (m->n_named == m->cap_named) {
        more_chains(m);
    }
    m->n_named++;
    link_named(m, v);
}

static void leave_named(struct local_mirror *m, struct local_mirror_vip *v)
{
    struct local_mirror_vip **at = chain_of(m, v->vip.comment);

    while (*at != v) {
        at = &(*at)->next_named;
    }
    *at = v->next_named;
    m->n_named--;
}

/* NULL: none. */
static void set_comment(struct local_mirror *m, struct local_mirror_vip *v, const char *comment)
{
    if (!str_eq(v->vip.comment, comment)) {
        leave_named(m, v);
        free((char *)v->vip.comment);
        v->vip.comment = xstrdup(comment);
        enter_named(m, v);
    }
}

static int by_address(const void *a, const void *b)
{
    const struct ip_addr *x = &(*(struct local_mirror_vip *const *)a)->vip.addr;
    const struct ip_addr *y = &(*(struct local_mirror_vip *const *)b)->vip.addr;

    return x->len != y->len ? x->len - y->len : memcmp(x->bytes, y->bytes, x->len);
}

void local_mirror_each_named(const struct local_mirror *m, const char *comment,
                             void (*each)(void *arg, const struct local_mirror_vip *v), void *arg)
{
    struct local_mirror_vip *first = *chain_of(m, comment);
    struct local_mirror_vip **found;
    size_t n = 0;

    for (const struct local_mirror_vip *v = first; v != NULL; v = v->next_named) {
        n += str_eq(v->vip.comment, comment);
    }
    found = xcalloc(n + 1, sizeof(*found));
    n = 0;
    for (struct local_mirror_vip *v = first; v != NULL; v = v->next_named) {
        if (str_eq(v->vip.comment, comment)) {
            found[n++] = v;
        }
    }
    qsort(found, n, sizeof(*found), by_address);
    for (size_t i = 0; i < n; i++) {
        each(arg, found[i]);
    }
    free(found);
}

/* ---- addresses ----------------------------------------------------------------------------------- */

static struct local_mirror_vip *vip_of(struct local_mirror *m, const struct ip_addr *addr)
{
    char key[IP_TEXT_MAX];

    ip_format(addr, key);
    struct local_mirror_vip *v = map_get(m->vips, key);
    if (v == NULL) {
        v = xcalloc(1, sizeof *v);
        v->vip.addr = *addr;
        v->read_at = m->others_wrote;
        map_set(m->vips, key, v);
        enter_named(m, v);
    }
    return v;
}

static void drop_if_empty(struct local_mirror *m, struct local_mirror_vip *v)
{
    char key[IP_TEXT_MAX];

    if (v->n_fronts == 0 && !v->vip.guarded && !v->vip.held && !v->vip.exported &&
        !v->vip.announced) {
        ip_format(&v->vip.addr, key);
        leave_named(m, v);
        (void)map_remove(m->vips, key);
    }
}

/* ---- frontends ----------------------------------------------------------------------------------- */

static struct local_front *front_of(struct local_mirror_vip *v, const struct local_frontend_id *id)
{
    for (size_t i = 0; i < v->n_fronts; i++) {
        if (local_frontend_cmp(&v->fronts[i].id, id) == 0) {
            return &v->fronts[i];
        }
    }
    v->fronts = xrealloc(v->fronts, (v->n_fronts + 1) * sizeof *v->fronts);
    v->fronts[v->n_fronts] = (struct local_front){.id = *id};
    return &v->fronts[v->n_fronts++];
}

static void drop_empty_front(struct local_mirror_vip *v, struct local_front *f)
{
    if (f->m == 0 && f->n_open == 0 && !f->snat && !f->ipvs.served) {
        front_done(f);
        *f = v->fronts[--v->n_fronts];
    }
}

static bool has_slots(const struct local_front *f)
{
    for (unsigned i = 0; i < f->m; i++) {
        if (f->slots[i].addr.len != 0) {
            return true;
        }
    }
    return false;
}

static void forget_slots(struct local_front *f)
{
    free(f->slots);
    f->slots = NULL;
    f->m = 0;
    f->hash = false;
}

static void note_slot(struct local_front *f, const struct local_nft_element *e, bool gone)
{
    bool other_map = f->m != e->m || f->hash != e->hash;

    if (other_map && gone) {
        return;
    }
    if (other_map) { /* a frontend is in one map only: its slots of another one went in the same transaction */
        forget_slots(f);
        f->hash = e->hash;
        f->m = e->m;
        f->slots = xcalloc(e->m, sizeof *f->slots);
    }
    if (e->slot < f->m) {
        f->slots[e->slot] = gone ? (struct local_dest){.port = 0}
                                 : (struct local_dest){.addr = e->target, .port = e->target_port};
    }
    if (gone && !has_slots(f)) {
        forget_slots(f);
    }
}

static void note_open(struct local_front *f, const struct ip_net *net, bool gone)
{
    size_t at = 0;

    while (at < f->n_open && local_net_cmp(&f->open[at], net) < 0) {
        at++;
    }
    bool there = at < f->n_open && local_net_cmp(&f->open[at], net) == 0;
    if (gone && there) {
        f->n_open--;
        memmove(&f->open[at], &f->open[at + 1], (f->n_open - at) * sizeof *f->open);
    } else if (!gone && !there) {
        f->open = xrealloc(f->open, (f->n_open + 1) * sizeof *f->open);
        memmove(&f->open[at + 1], &f->open[at], (f->n_open - at) * sizeof *f->open);
        f->open[at] = *net;
        f->n_open++;
    }
}

static void note_front(struct local_mirror *m, const struct local_nft_element *e, bool gone)
{
    struct local_mirror_vip *v = vip_of(m, &e->id.vip);
    struct local_front *f = front_of(v, &e->id);

    if (e->set == LOCAL_NFT_SLOT) {
        note_slot(f, e, gone);
    } else if (e->set == LOCAL_NFT_OPEN) {
        note_open(f, &e->net, gone);
    } else {
        f->snat = !gone;
    }
    drop_empty_front(v, f);
    drop_if_empty(m, v);
}

void local_mirror_doubt(struct local_mirror *m)
{
    m->others_wrote++;
}

bool local_mirror_is_doubtful(const struct local_mirror *m, const struct ip_addr *addr)
{
    const struct local_mirror_vip *v = local_mirror_vip(m, addr);

    return (v == NULL ? m->read_at : v->read_at) != m->others_wrote;
}

void local_mirror_forget(struct local_mirror *m, const struct ip_addr *addr)
{
    struct local_mirror_vip *v = vip_of(m, addr);

    for (size_t i = v->n_fronts; i-- > 0;) {
        const struct local_ipvs_front ipvs = v->fronts[i].ipvs; /* is read by itself */
        v->fronts[i].ipvs.reals = NULL;
        front_done(&v->fronts[i]);
        v->fronts[i] = (struct local_front){.id = v->fronts[i].id, .ipvs = ipvs};
        drop_empty_front(v, &v->fronts[i]);
    }
    v->vip.guarded = false;
    set_comment(m, v, NULL);
    v->read_at = m->others_wrote;
    drop_if_empty(m, v);
}

void local_mirror_forget_table(struct local_mirror *m)
{
    size_t n;
    const char **keys = map_keys(m->vips, &n);

    for (size_t i = 0; i < n; i++) {
        struct ip_addr addr;
        if (ip_parse(keys[i], &addr)) {
            local_mirror_forget(m, &addr);
        }
    }
    free(keys);
    m->n_scope = 0;
    m->read_at = m->others_wrote;
}

static void forget_hold(struct local_mirror *m, struct local_mirror_vip *v)
{
    v->vip.held = v->vip.exported = false;
    v->vip.held_on = 0;
    drop_if_empty(m, v);
}

void local_mirror_forget_holds(struct local_mirror *m)
{
    size_t n;
    const char **keys = map_keys(m->vips, &n);

    for (size_t i = 0; i < n; i++) {
        forget_hold(m, map_get(m->vips, keys[i]));
    }
    free(keys);
}

/* ---- IPVS ---------------------------------------------------------------------------------------- */

/* Since when it is known to be quiet; 0: it is not. */
static int64_t quiet_since(const struct local_ipvs_front *f, const struct local_ipvs_dest *d,
                           int64_t now_ms)
{
    const struct local_ipvs_real *was = local_ipvs_find(f, d);
    bool known = was != NULL && was->dest.weight == 0 && was->quiet_ms != 0;

    return d->weight > 0 ? 0 : known ? was->quiet_ms : now_ms;
}

void local_mirror_ipvs(struct local_mirror *m, const struct local_ipvs_list *l, int64_t now_ms)
{
    struct local_mirror_vip *v = vip_of(m, &l->service.id.vip);
    struct local_front *f = front_of(v, &l->service.id);
    struct local_ipvs_front now = {.served = l->there, .service = l->service};

    if (l->there && l->n_dests > 0) {
        now.reals = xcalloc(l->n_dests, sizeof *now.reals);
        now.n_reals = l->n_dests;
    }
    for (size_t i = 0; i < now.n_reals; i++) {
        now.reals[i] = (struct local_ipvs_real){
            .dest = l->dests[i], .quiet_ms = quiet_since(&f->ipvs, &l->dests[i], now_ms)};
    }
    free(f->ipvs.reals);
    f->ipvs = now;
    drop_empty_front(v, f);
    drop_if_empty(m, v);
}

void local_mirror_ipvs_there(struct local_mirror *m, const struct local_ipvs_service *service)
{
    struct local_front *f = front_of(vip_of(m, &service->id.vip), &service->id);

    f->ipvs.served = true;
    f->ipvs.service = *service;
}

static void note_real(struct local_ipvs_front *f, const struct local_ipvs_dest *d, bool gone,
                      int64_t now_ms)
{
    const struct local_ipvs_real *was = local_ipvs_find(f, d);
    size_t i = 0;

    if (was != NULL) {
        i = (size_t)(was - f->reals);
    } else {
        while (i < f->n_reals && local_ipvs_dest_cmp(&f->reals[i].dest, d) < 0) {
            i++;
        }
    }
    if (gone && was != NULL) {
        f->n_reals--;
        memmove(&f->reals[i], &f->reals[i + 1], (f->n_reals - i) * sizeof *f->reals);
    } else if (!gone) {
        struct local_ipvs_real now = {.dest = *d, .quiet_ms = quiet_since(f, d, now_ms)};
        now.dest.active = was == NULL ? 0 : was->dest.active;
        if (was == NULL) {
            f->reals = xrealloc(f->reals, (f->n_reals + 1) * sizeof *f->reals);
            memmove(&f->reals[i + 1], &f->reals[i], (f->n_reals - i) * sizeof *f->reals);
            f->n_reals++;
        }
        f->reals[i] = now;
    }
}

void local_mirror_ipvs_change(struct local_mirror *m, const struct local_ipvs_change *c,
                              int64_t now_ms)
{
    struct local_mirror_vip *v = vip_of(m, &c->service.id.vip);
    struct local_front *f = front_of(v, &c->service.id);

    if (c->what == LOCAL_IPVS_ADD_SERVICE || c->what == LOCAL_IPVS_SET_SERVICE) {
        f->ipvs.served = true;
        f->ipvs.service = c->service;
    } else if (c->what == LOCAL_IPVS_DEL_SERVICE) {
        free(f->ipvs.reals);
        f->ipvs = (struct local_ipvs_front){.served = false};
    } else {
        note_real(&f->ipvs, &c->dest, c->what == LOCAL_IPVS_DEL_DEST, now_ms);
    }
    drop_empty_front(v, f);
    drop_if_empty(m, v);
}

static void note_guard(struct local_mirror *m, const struct local_nft_element *e, bool gone)
{
    struct local_mirror_vip *v = vip_of(m, &e->id.vip);

    v->vip.guarded = !gone;
    set_comment(m, v, gone ? NULL : e->comment);
    drop_if_empty(m, v);
}

bool local_mirror_has_scope(const struct local_mirror *m, const struct ip_net *net)
{
    for (size_t i = 0; i < m->n_scope; i++) {
        if (ip_net_eq(&m->scope[i], net)) {
            return true;
        }
    }
    return false;
}

const struct ip_net *local_mirror_scope(const struct local_mirror *m, size_t *ret_n)
{
    *ret_n = m->n_scope;
    return m->scope;
}

static void drop_scope(struct local_mirror *m, const struct ip_net *net)
{
    for (size_t i = 0; i < m->n_scope; i++) {
        if (ip_net_eq(&m->scope[i], net)) {
            m->scope[i] = m->scope[--m->n_scope];
            return;
        }
    }
}

void local_mirror_element(struct local_mirror *m, const struct local_nft_element *e, bool gone)
{
    if (e->set == LOCAL_NFT_VIP) {
        note_guard(m, e, gone);
    } else if (e->set != LOCAL_NFT_SCOPE) {
        note_front(m, e, gone);
    } else if (!gone && !local_mirror_has_scope(m, &e->net)) {
        m->scope = xrealloc(m->scope, (m->n_scope + 1) * sizeof *m->scope);
        m->scope[m->n_scope++] = e->net;
    } else if (gone) {
        drop_scope(m, &e->net);
    }
}

/* ---- holds and announcements --------------------------------------------------------------------- */

void local_mirror_hold(struct local_mirror *m, const struct ip_addr *addr,
                       enum local_route_kind kind, int link, bool gone)
{
    struct local_mirror_vip *v = vip_of(m, addr);

    if (kind == LOCAL_ROUTE_EXPORT) {
        v->vip.exported = !gone;
    } else if (!gone) {
        v->vip.held = true;
        v->vip.held_on = link;
    } else if (v->vip.held_on == link) {
        v->vip.held = false;
        v->vip.held_on = 0;
        v->vip.announced = false;
    }
    drop_if_empty(m, v);
}

void local_mirror_announced(struct local_mirror *m, const struct ip_addr *addr, bool yes)
{
    struct local_mirror_vip *v = vip_of(m, addr);

    v->vip.announced = yes;
    drop_if_empty(m, v);
}

const struct local_mirror_vip *local_mirror_vip(const struct local_mirror *m,
                                                const struct ip_addr *addr)
{
    char key[IP_TEXT_MAX];

    ip_format(addr, key);
    return map_get(m->vips, key);
}

struct walk {
    void (*each)(void *arg, const struct local_mirror_vip *v);
    void *arg;
};

static bool walk_one(const char *key, void *value, void *arg)
{
    const struct walk *w = arg;

    (void)key;
    w->each(w->arg, value);
    return true;
}

void local_mirror_each(const struct local_mirror *m,
                       void (*each)(void *arg, const struct local_mirror_vip *v), void *arg)
{
    struct walk w = {each, arg};

    map_each(m->vips, walk_one, &w);
}

void local_mirror_clear(struct local_mirror *m)
{
    size_t n;
    const char **keys = map_keys(m->vips, &n);

    for (size_t i = 0; i < n; i++) {
        struct local_mirror_vip *v = map_get(m->vips, keys[i]);
        bool announced = v->vip.announced;
        struct ip_addr addr = v->vip.addr;
        leave_named(m, v);
        (void)map_remove(m->vips, keys[i]);
        if (announced) {
            local_mirror_announced(m, &addr, true);
        }
    }
    free(keys);
    m->n_scope = 0;
    m->read_at = m->others_wrote;
}

struct local_front local_front_copy(struct arena *a, const struct local_front *f)
{
    struct local_front copy = *f;

    copy.slots = f->m == 0 ? NULL : arena_memdup(a, f->slots, f->m * sizeof *f->slots);
    copy.ipvs.reals = f->ipvs.n_reals == 0
                          ? NULL
                          : arena_memdup(a, f->ipvs.reals, f->ipvs.n_reals * sizeof *f->ipvs.reals);
    copy.open = f->n_open == 0 ? NULL : arena_memdup(a, f->open, f->n_open * sizeof *f->open);
    return copy;
}
