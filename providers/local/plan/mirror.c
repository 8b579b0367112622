/* SPDX-License-Identifier: Apache-2.0 */
/* mirror.c: what the kernel has of ours, by address and by comment (mirror.h). */
#include "providers/local/plan/mirror.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/keep.h"
#include "common/base/str.h"
#include "providers/local/model/config.h"
#include "providers/local/plan/mirror_fronts.h"

#define NAMED_FIRST 16

/* One address, as it is kept. */
struct kept_vip {
    struct ip_addr addr; /* first: local_addr_kind */
    bool guarded : 1;
    bool held : 1;
    bool exported : 1;
    bool announced : 1;
    bool twice : 1;
    int held_on, also_on;
    uint32_t read_at; /* how often others had written when it was read */
    struct mirror_fronts fronts;
    const struct interned *comment;
    struct kept_vip *next_named;
    struct kept_vip **at_named; /* what points to it: leaving a chain of thousands costs nothing */
};
static_assert(sizeof(struct kept_vip) <= 80, "there are tens of thousands of them");
struct local_mirror {
    struct intern_table *texts, *own_texts;
    struct index vips;         /* struct kept_vip by address */
    struct kept_vip **named;   /* the same by comment: chains of next_named */
    size_t n_named, cap_named; /* vips in them; chains, a power of two */
    uint64_t seed;
    struct ip_net *scope;
    size_t n_scope;
    uint32_t others_wrote; /* so often */
    uint32_t read_at;      /* how often they had when all was read */
};

static void vip_free(struct local_mirror *m, struct kept_vip *v)
{
    if (v != NULL) {
        mirror_fronts_done(&v->fronts);
        intern_drop(m->texts, v->comment);
        keep_free(v, sizeof *v);
    }
}

struct local_mirror *local_mirror_new(struct intern_table *texts)
{
    struct local_mirror *m = xcalloc(1, sizeof *m);

    m->own_texts = texts == NULL ? intern_table_new() : NULL;
    m->texts = texts == NULL ? m->own_texts : texts;
    index_init(&m->vips, &local_addr_kind);
    m->seed = hash_seed();
    m->cap_named = NAMED_FIRST;
    m->named = xcalloc(m->cap_named, sizeof(*m->named));
    return m;
}

void local_mirror_free(struct local_mirror *m)
{
    if (m != NULL) {
        for (size_t i = 0; i < m->vips.cap; i++) {
            vip_free(m, m->vips.at[i]);
        }
        index_done(&m->vips);
        intern_table_free(m->own_texts);
        free(m->named);
        free(m->scope);
        free(m);
    }
}

/* ---- by comment ------------------------------------------------------------------------------ */

static struct kept_vip **chain_of(const struct local_mirror *m, const struct interned *comment)
{
    return &m->named[hash_quick(m->seed, &comment, sizeof(comment)) & (m->cap_named - 1)];
}

static void link_named(const struct local_mirror *m, struct kept_vip *v)
{
    struct kept_vip **at = chain_of(m, v->comment);

    v->next_named = *at;
    v->at_named = at;
    if (*at != NULL) {
        (*at)->at_named = &v->next_named;
    }
    *at = v;
}

static void more_chains(struct local_mirror *m)
{
    struct kept_vip **old = m->named;
    size_t n = m->cap_named;

    m->cap_named *= 2;
    m->named = xcalloc(m->cap_named, sizeof(*m->named));
    for (size_t i = 0; i < n; i++) {
        for (struct kept_vip *v = old[i], *next = NULL; v != NULL; v = next) {
            next = v->next_named;
            link_named(m, v);
        }
    }
    free(old);
}

static void enter_named(struct local_mirror *m, struct kept_vip *v)
{
    if (m->n_named == m->cap_named) {
        more_chains(m);
    }
    m->n_named++;
    link_named(m, v);
}

static void leave_named(struct local_mirror *m, struct kept_vip *v)
{
    *v->at_named = v->next_named;
    if (v->next_named != NULL) {
        v->next_named->at_named = v->at_named;
    }
    m->n_named--;
}

/* NULL: none. */
static void set_comment(struct local_mirror *m, struct kept_vip *v, const char *comment)
{
    const struct interned *now = intern_text(m->texts, comment);

    if (v->comment != now) {
        leave_named(m, v);
        const struct interned *old = v->comment;
        v->comment = now;
        enter_named(m, v);
        now = old;
    }
    intern_drop(m->texts, now); /* the old one, or the second of two */
}

static int by_address(const void *a, const void *b)
{
    return local_addr_cmp(&(*(struct kept_vip *const *)a)->addr,
                          &(*(struct kept_vip *const *)b)->addr);
}

static struct local_vip vip_of_kept(const struct kept_vip *v)
{
    return (struct local_vip){.addr = v->addr,
                              .guarded = v->guarded,
                              .comment = intern_str(v->comment),
                              .held = v->held,
                              .held_on = v->held_on,
                              .twice = v->twice,
                              .also_on = v->also_on,
                              .exported = v->exported,
                              .announced = v->announced};
}

static struct local_mirror_vip *open_vip(struct arena *a, const struct kept_vip *v)
{
    struct local_mirror_vip *x = ARENA_NEW(a, struct local_mirror_vip);

    x->vip = vip_of_kept(v);
    x->fronts = mirror_fronts_open(&v->fronts, a, &v->addr);
    x->n_fronts = v->fronts.n;
    return x;
}

void local_mirror_each_named(const struct local_mirror *m, const char *comment,
                             void (*each)(void *arg, const struct local_mirror_vip *v), void *arg)
{
    const struct interned *name = comment == NULL ? NULL : intern_find_text(m->texts, comment);
    struct kept_vip *first = comment != NULL && name == NULL ? NULL : *chain_of(m, name);
    size_t n = 0;

    for (const struct kept_vip *v = first; v != NULL; v = v->next_named) {
        n += v->comment == name;
    }
    if (n == 0) {
        return;
    }
    struct arena *a = arena_new();
    struct kept_vip **found = ARENA_ARRAY(a, struct kept_vip *, n);
    n = 0;
    for (struct kept_vip *v = first; v != NULL; v = v->next_named) {
        if (v->comment == name) {
            found[n++] = v;
        }
    }
    qsort(found, n, sizeof(*found), by_address);
    for (size_t i = 0; i < n; i++) {
        each(arg, open_vip(a, found[i]));
    }
    arena_free(a);
}

/* ---- addresses ------------------------------------------------------------------------------- */

static struct kept_vip *find(const struct local_mirror *m, const struct ip_addr *addr)
{
    return index_get(&m->vips, addr);
}

static struct kept_vip *vip_of(struct local_mirror *m, const struct ip_addr *addr)
{
    struct kept_vip *v = find(m, addr);

    if (v == NULL) {
        v = keep_alloc(sizeof *v);
        v->addr = *addr;
        v->fronts.len = addr->len;
        v->read_at = m->others_wrote;
        (void)index_put(&m->vips, v); /* it was not there */
        enter_named(m, v);
    }
    return v;
}

static void drop(struct local_mirror *m, struct kept_vip *v)
{
    leave_named(m, v);
    vip_free(m, index_take(&m->vips, &v->addr));
}

static void drop_if_empty(struct local_mirror *m, struct kept_vip *v)
{
    if (v->fronts.n == 0 && !v->guarded && !v->held && !v->exported && !v->announced) {
        drop(m, v);
    }
}

static void note_front(struct local_mirror *m, const struct local_nft_element *e, bool gone)
{
    struct kept_vip *v = vip_of(m, &e->id.vip);

    mirror_fronts_element(&v->fronts, e, gone);
    drop_if_empty(m, v);
}

void local_mirror_doubt(struct local_mirror *m)
{
    m->others_wrote++;
}

bool local_mirror_is_doubtful(const struct local_mirror *m, const struct ip_addr *addr)
{
    const struct kept_vip *v = find(m, addr);

    return (v == NULL ? m->read_at : v->read_at) != m->others_wrote;
}

static void forget(struct local_mirror *m, struct kept_vip *v)
{
    mirror_fronts_forget(&v->fronts); /* IPVS is read by itself */
    v->guarded = false;
    set_comment(m, v, NULL);
    v->read_at = m->others_wrote;
    drop_if_empty(m, v);
}

void local_mirror_forget(struct local_mirror *m, const struct ip_addr *addr)
{
    struct kept_vip *v = find(m, addr);

    if (v != NULL) {
        forget(m, v);
    }
}

/* Each may drop the address. */
static void for_all(struct local_mirror *m, void (*fn)(struct local_mirror *m, struct kept_vip *v))
{
    void **all = index_sorted(&m->vips);

    for (size_t i = 0; all[i] != NULL; i++) {
        fn(m, all[i]);
    }
    free(all);
}

void local_mirror_forget_table(struct local_mirror *m)
{
    for_all(m, forget);
    m->n_scope = 0;
    m->read_at = m->others_wrote;
}

static void forget_hold(struct local_mirror *m, struct kept_vip *v)
{
    v->held = v->exported = v->twice = false;
    v->held_on = v->also_on = 0;
    drop_if_empty(m, v);
}

void local_mirror_forget_holds(struct local_mirror *m)
{
    for_all(m, forget_hold);
}

/* ---- IPVS ------------------------------------------------------------------------------------ */

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
    struct kept_vip *v = vip_of(m, &l->service.id.vip);
    struct local_ipvs_front *f = mirror_fronts_ipvs(&v->fronts, &l->service.id);
    struct local_ipvs_front now = {.served = l->there, .service = l->service};

    if (l->there && l->n_dests > 0) {
        now.reals = xcalloc(l->n_dests, sizeof *now.reals);
        now.n_reals = l->n_dests;
    }
    for (size_t i = 0; i < now.n_reals; i++) {
        now.reals[i] = (struct local_ipvs_real){.dest = l->dests[i],
                                                .quiet_ms = quiet_since(f, &l->dests[i], now_ms)};
    }
    free(f->reals);
    *f = now;
    mirror_fronts_ipvs_end(&v->fronts, &l->service.id);
    drop_if_empty(m, v);
}

void local_mirror_ipvs_there(struct local_mirror *m, const struct local_ipvs_service *service)
{
    struct local_ipvs_front *f =
        mirror_fronts_ipvs(&vip_of(m, &service->id.vip)->fronts, &service->id);

    f->served = true;
    f->service = *service;
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
    struct kept_vip *v = vip_of(m, &c->service.id.vip);
    struct local_ipvs_front *f = mirror_fronts_ipvs(&v->fronts, &c->service.id);

    if (c->what == LOCAL_IPVS_ADD_SERVICE || c->what == LOCAL_IPVS_SET_SERVICE) {
        f->served = true;
        f->service = c->service;
    } else if (c->what == LOCAL_IPVS_DEL_SERVICE) {
        free(f->reals);
        *f = (struct local_ipvs_front){.served = false};
    } else {
        note_real(f, &c->dest, c->what == LOCAL_IPVS_DEL_DEST, now_ms);
    }
    mirror_fronts_ipvs_end(&v->fronts, &c->service.id);
    drop_if_empty(m, v);
}

static void note_guard(struct local_mirror *m, const struct local_nft_element *e, bool gone)
{
    struct kept_vip *v = vip_of(m, &e->id.vip);

    v->guarded = !gone;
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

/* ---- holds and announcements ----------------------------------------------------------------- */

static void let_go(struct kept_vip *v, int link)
{
    if (v->held && v->held_on == link) {
        v->held = v->twice;
        v->held_on = v->also_on;
        v->announced = v->announced && v->held;
    } else if (!v->twice || v->also_on != link) {
        return;
    }
    v->twice = false;
    v->also_on = 0;
}

void local_mirror_hold(struct local_mirror *m, const struct ip_addr *addr,
                       enum local_route_kind kind, int link, bool gone)
{
    struct kept_vip *v = vip_of(m, addr);

    if (kind == LOCAL_ROUTE_EXPORT) {
        v->exported = !gone;
    } else if (gone) {
        let_go(v, link);
    } else if (!v->held) {
        v->held = true;
        v->held_on = link;
    } else if (v->held_on != link) { /* the newest counts; in the end one is left */
        v->twice = true;
        v->also_on = v->held_on;
        v->held_on = link;
    }
    drop_if_empty(m, v);
}

void local_mirror_announced(struct local_mirror *m, const struct ip_addr *addr, bool yes)
{
    struct kept_vip *v = vip_of(m, addr);

    v->announced = yes;
    drop_if_empty(m, v);
}

const struct local_mirror_vip *local_mirror_vip(const struct local_mirror *m, struct arena *a,
                                                const struct ip_addr *addr)
{
    const struct kept_vip *v = find(m, addr);

    return v == NULL ? NULL : open_vip(a, v);
}

struct local_front local_mirror_front(const struct local_mirror *m, struct arena *a,
                                      const struct local_frontend_id *id)
{
    const struct kept_vip *v = find(m, &id->vip);

    return v == NULL ? (struct local_front){.id = *id} : mirror_fronts_open_one(&v->fronts, a, id);
}

bool local_mirror_is_held(const struct local_mirror *m, const struct ip_addr *addr)
{
    const struct kept_vip *v = find(m, addr);

    return v != NULL && v->held;
}

const char *local_mirror_comment(const struct local_mirror *m, const struct ip_addr *addr)
{
    const struct kept_vip *v = find(m, addr);

    return v == NULL ? NULL : intern_str(v->comment);
}

void local_mirror_each(const struct local_mirror *m,
                       void (*each)(void *arg, const struct local_mirror_vip *v), void *arg)
{
    struct arena *a = arena_new();
    void **all = index_sorted(&m->vips);

    for (size_t i = 0; all[i] != NULL; i++) {
        each(arg, open_vip(a, all[i]));
        arena_reset(a);
    }
    free(all);
    arena_free(a);
}

void local_mirror_any(const struct local_mirror *m,
                      void (*each)(void *arg, const struct local_vip *v), void *arg)
{
    for (size_t i = 0; i < m->vips.cap; i++) {
        if (m->vips.at[i] != NULL) {
            const struct local_vip v = vip_of_kept(m->vips.at[i]);
            each(arg, &v);
        }
    }
}

/* All but that it was announced. */
static void clear_one(struct local_mirror *m, struct kept_vip *v)
{
    const struct ip_addr addr = v->addr;
    bool announced = v->announced;

    drop(m, v);
    if (announced) {
        local_mirror_announced(m, &addr, true);
    }
}

void local_mirror_clear(struct local_mirror *m)
{
    for_all(m, clear_one);
    m->n_scope = 0;
    m->read_at = m->others_wrote;
}

struct local_front local_front_copy(struct arena *a, const struct local_front *f)
{
    struct local_front copy = *f;

    copy.slots = f->m == 0 ? NULL : arena_memdup(a, f->slots, f->m * sizeof *f->slots);
    copy.other_slots = f->other_m == 0
                           ? NULL
                           : arena_memdup(a, f->other_slots, f->other_m * sizeof *f->other_slots);
    copy.ipvs.reals = f->ipvs.n_reals == 0
                          ? NULL
                          : arena_memdup(a, f->ipvs.reals, f->ipvs.n_reals * sizeof *f->ipvs.reals);
    copy.open = f->n_open == 0 ? NULL : arena_memdup(a, f->open, f->n_open * sizeof *f->open);
    copy.also = f->n_also == 0 ? NULL : arena_memdup(a, f->also, f->n_also * sizeof *f->also);
    return copy;
}
