/* SPDX-License-Identifier: Apache-2.0 */
/* fake_kernel_nft.c: sets and maps of our table in memory (fake_kernel_nft.h).
 *
 * Elements are kept by what they belong to: scopes in a list, all others by their VIP or frontend.
 * A transaction notes how each of its changes is undone. */
#include "tests/support/fake_kernel_nft.h"

#include "common/base/map.h"

#include <stdio.h>
#include <string.h>

#define MAPS 8 /* of slots: rr and hash, 4, 16, 64, 256 */
#define KEY  128

struct slot {
    bool there;
    struct ip_addr target;
    uint16_t port;
};
struct front {
    struct local_frontend_id id;
    struct ip_net *open;
    size_t n_open;
    struct ip_net *also;
    size_t n_also;
    bool all;
    bool snat;
    struct slot *slots[MAPS];
};
struct fake_nft {
    struct map *vips;   /* address → comment, or "" */
    struct map *fronts; /* frontend → struct front */
    struct ip_net *scopes;
    size_t n_scopes;
};

static void front_free(void *value)
{
    struct front *f = value;
    for (unsigned i = 0; i < MAPS; i++) {
        free(f->slots[i]);
    }
    free(f->open);
    free(f->also);
    free(f);
}

struct fake_nft *fake_nft_new(void)
{
    struct fake_nft *t = xcalloc(1, sizeof(*t));
    t->vips = map_new(free);
    t->fronts = map_new(front_free);
    return t;
}

void fake_nft_free(struct fake_nft *t)
{
    if (t != NULL) {
        map_free(t->vips);
        map_free(t->fronts);
        free(t->scopes);
        free(t);
    }
}

/* --- lists of networks ------------------------------------------------------------------------ */

struct nets {
    struct ip_net **items;
    size_t *n;
};

static size_t find_net(const struct nets *l, const struct ip_net *net)
{
    size_t i = 0;
    while (i < *l->n && !ip_net_eq(&(*l->items)[i], net)) {
        i++;
    }
    return i;
}

/* The kernel refuses an interval whose first or last address is in another one; one around others
 * it takes in a concatenation. */
static bool overlaps(const struct nets *l, const struct ip_net *net, bool around)
{
    struct ip_addr last = ip_net_last(net);
    for (size_t i = 0; i < *l->n; i++) {
        const struct ip_net *other = &(*l->items)[i];
        if (ip_net_contains(other, &net->addr) || ip_net_contains(other, &last) ||
            (around && ip_net_contains(net, &other->addr))) {
            return true;
        }
    }
    return false;
}

static bool add_net(const struct nets *l, const struct ip_net *net, bool around, bool *ret_new)
{
    *ret_new = find_net(l, net) == *l->n;
    if (!*ret_new) {
        return true;
    }
    if (overlaps(l, net, around)) {
        return false;
    }
    *l->items = xrealloc(*l->items, (*l->n + 1) * sizeof(**l->items));
    (*l->items)[(*l->n)++] = *net;
    return true;
}

static bool del_net(const struct nets *l, const struct ip_net *net)
{
    size_t i = find_net(l, net);
    if (i == *l->n) {
        return false;
    }
    (*l->items)[i] = (*l->items)[--*l->n];
    return true;
}

/* --- one change ------------------------------------------------------------------------------- */

static void key_of(const struct local_frontend_id *id, char key[KEY])
{
    char text[IP_TEXT_MAX];
    ip_format(&id->vip, text);
    snprintf(key, KEY, "%s %u %u", text, (unsigned)id->protocol, (unsigned)id->port);
}

static struct front *front_of(const struct fake_nft *t, const struct local_frontend_id *id,
                              bool make)
{
    char key[KEY];
    key_of(id, key);
    struct front *f = map_get(t->fronts, key);
    if (f == NULL && make) {
        f = xcalloc(1, sizeof(*f));
        f->id = *id;
        map_set(t->fronts, key, f);
    }
    return f;
}

static unsigned map_number(const struct local_nft_element *e)
{
    unsigned size = e->m == 4 ? 0 : e->m == 16 ? 1 : e->m == 64 ? 2 : 3;
    return (e->hash ? MAPS / 2 : 0) + size;
}

/* Each returns false when the kernel refuses, and says whether something changed and
 * what stood there. */
struct effect {
    bool changed;
    struct local_nft_element before; /* its comment is on the heap */
};

static bool change_vip(struct fake_nft *t, const struct local_nft_change *c, struct effect *ret)
{
    char key[KEY];
    ip_format(&c->e.id.vip, key);
    const char *comment = map_get(t->vips, key);
    if (c->del && comment == NULL) {
        return false;
    }
    ret->changed = c->del || comment == NULL;
    if (c->del) {
        ret->before.comment = comment[0] != '\0' ? xstrdup(comment) : NULL;
        map_remove(t->vips, key);
    } else if (comment == NULL) {
        map_set(t->vips, key, xstrdup(c->e.comment != NULL ? c->e.comment : ""));
    }
    return true;
}

static bool change_slot(struct fake_nft *t, const struct local_nft_change *c, struct effect *ret)
{
    struct front *f = front_of(t, &c->e.id, !c->del);
    unsigned i = map_number(&c->e);
    if (f == NULL || (c->del && f->slots[i] == NULL)) {
        return false;
    }
    if (f->slots[i] == NULL) {
        f->slots[i] = xcalloc(c->e.m, sizeof(*f->slots[i]));
    }
    struct slot *s = &f->slots[i][c->e.slot];
    bool same = ip_eq(&s->target, &c->e.target) && s->port == c->e.target_port;
    if (c->del ? !s->there : s->there && !same) {
        return false;
    }
    ret->changed = c->del || !s->there;
    ret->before.target = s->target;
    ret->before.target_port = s->port;
    *s = c->del ? (struct slot){0} : (struct slot){true, c->e.target, c->e.target_port};
    return true;
}

static bool change_net(const struct nets *l, const struct local_nft_change *c, bool around,
                       struct effect *ret)
{
    ret->changed = true;
    return c->del ? del_net(l, &c->e.net) : add_net(l, &c->e.net, around, &ret->changed);
}

static bool change_one(struct fake_nft *t, const struct local_nft_change *c, struct effect *ret)
{
    *ret = (struct effect){.before = c->e};
    ret->before.comment = NULL;
    if (c->e.set == LOCAL_NFT_SCOPE) {
        return change_net(&(struct nets){&t->scopes, &t->n_scopes}, c, true, ret);
    }
    if (c->e.set == LOCAL_NFT_VIP) {
        return change_vip(t, c, ret);
    }
    if (c->e.set == LOCAL_NFT_SLOT) {
        return change_slot(t, c, ret);
    }
    struct front *f = front_of(t, &c->e.id, !c->del);
    if (f == NULL) {
        return false;
    }
    if (c->e.set == LOCAL_NFT_FROM) {
        return change_net(&(struct nets){&f->open, &f->n_open}, c, false, ret);
    }
    if (c->e.set == LOCAL_NFT_ALSO) {
        return change_net(&(struct nets){&f->also, &f->n_also}, c, false, ret);
    }
    bool *there = c->e.set == LOCAL_NFT_ALL ? &f->all : &f->snat;
    ret->changed = c->del || !*there;
    bool fine = !c->del || *there;
    *there = !c->del;
    return fine;
}

/* --- transactions ----------------------------------------------------------------------------- */

static bool makes_sense(const struct local_nft_element *e)
{
    uint8_t len = e->set == LOCAL_NFT_SCOPE ? e->net.addr.len : e->id.vip.len;
    if (len != 4 && len != 16) {
        return false;
    }
    if (e->comment != NULL && strlen(e->comment) > LOCAL_NFT_COMMENT_MAX) {
        return false;
    }
    if (e->set == LOCAL_NFT_SLOT) {
        return e->target.len == len && e->slot < e->m &&
               (e->m == 4 || e->m == 16 || e->m == 64 || e->m == 256);
    }
    return (e->set != LOCAL_NFT_FROM && e->set != LOCAL_NFT_ALSO) || e->net.addr.len == len;
}

struct undo {
    struct local_nft_change *items;
    size_t n;
};

static void undo_all(struct fake_nft *t, struct undo *u)
{
    while (u->n > 0) {
        struct effect ignored;
        (void)change_one(t, &u->items[--u->n], &ignored); /* what was done can be undone */
        free((char *)ignored.before.comment);
    }
}

static void forget(struct undo *u)
{
    for (size_t i = 0; i < u->n; i++) {
        free((char *)u->items[i].e.comment);
    }
    free(u->items);
}

static bool change_half(struct fake_nft *t, bool del, const struct local_nft_change *changes,
                        size_t n, struct undo *u)
{
    for (size_t i = 0; i < n; i++) {
        struct effect e;
        if (changes[i].del != del) {
            continue;
        }
        if (!change_one(t, &changes[i], &e)) {
            return false;
        }
        if (e.changed) {
            u->items[u->n++] = (struct local_nft_change){.del = !del, .e = e.before};
            if (!del) { /* an add is undone by its own key and value */
                u->items[u->n - 1].e = changes[i].e;
                u->items[u->n - 1].e.comment = NULL;
            }
        }
    }
    return true;
}

int fake_nft_commit(struct fake_nft *t, const struct local_nft_change *changes, size_t n,
                    struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        if (!makes_sense(&changes[i].e)) {
            return err_set(err, ERR_BUG, "no set can have this element");
        }
    }
    struct undo u = {.items = xcalloc(n + 1, sizeof(*u.items))};
    bool fine = change_half(t, true, changes, n, &u) && change_half(t, false, changes, n, &u);
    if (!fine) {
        size_t done = u.n;
        undo_all(t, &u);
        u.n = done;
    }
    forget(&u);
    return fine ? ERR_OK : err_set(err, ERR_CONFLICT, "somebody else changed the table");
}

/* --- reading ---------------------------------------------------------------------------------- */

struct walk {
    const struct fake_nft *t;
    void (*each)(void *arg, const struct local_nft_element *e);
    void *arg;
    bool only_found; /* leaves out what kernel.h says of nft_read() */
    bool vip_there;
};

static void walk_front(const struct walk *w, const struct front *f)
{
    static const uint16_t sizes[] = {4, 16, 64, 256};
    struct local_nft_element e = {.set = LOCAL_NFT_ALL, .id = f->id};
    bool ranges = !w->only_found || (w->vip_there && !f->all);
    if (f->all) {
        w->each(w->arg, &e);
    }
    e.set = LOCAL_NFT_FROM;
    for (size_t i = 0; ranges && i < f->n_open; i++) {
        e.net = f->open[i];
        w->each(w->arg, &e);
    }
    e.set = LOCAL_NFT_ALSO;
    for (size_t i = 0; ranges && i < f->n_also; i++) {
        e.net = f->also[i];
        w->each(w->arg, &e);
    }
    e = (struct local_nft_element){.set = LOCAL_NFT_SNAT, .id = f->id};
    if (f->snat) {
        w->each(w->arg, &e);
    }
    for (unsigned i = 0; i < MAPS; i++) {
        e = (struct local_nft_element){
            .set = LOCAL_NFT_SLOT, .id = f->id, .hash = i >= MAPS / 2, .m = sizes[i % 4]};
        if (w->only_found && f->slots[i] != NULL && !f->slots[i][0].there) {
            continue;
        }
        for (; f->slots[i] != NULL && e.slot < e.m; e.slot++) {
            const struct slot *s = &f->slots[i][e.slot];
            e.target = s->target;
            e.target_port = s->port;
            if (s->there) {
                w->each(w->arg, &e);
            }
        }
    }
}

static bool walk_fronts(const char *key, void *value, void *arg)
{
    (void)key;
    walk_front(arg, value);
    return true;
}

static bool walk_vips(const char *key, void *value, void *arg)
{
    const struct walk *w = arg;
    const char *comment = value;
    struct local_nft_element e = {.set = LOCAL_NFT_VIP};
    (void)ip_parse(key, &e.id.vip); /* it was printed by ip_format() */
    e.comment = comment[0] != '\0' ? comment : NULL;
    w->each(w->arg, &e);
    return true;
}

void fake_nft_list(const struct fake_nft *t,
                   void (*each)(void *arg, const struct local_nft_element *e), void *arg)
{
    struct walk w = {.t = t, .each = each, .arg = arg};
    for (size_t i = 0; i < t->n_scopes; i++) {
        struct local_nft_element e = {.set = LOCAL_NFT_SCOPE, .net = t->scopes[i]};
        each(arg, &e);
    }
    map_each(t->vips, walk_vips, &w);
    map_each(t->fronts, walk_fronts, &w);
}

void fake_nft_read(const struct fake_nft *t, const struct local_frontend_id *id,
                   void (*each)(void *arg, const struct local_nft_element *e), void *arg)
{
    struct walk w = {.t = t, .each = each, .arg = arg, .only_found = true};
    char key[KEY];
    ip_format(&id->vip, key);
    char *comment = map_get(t->vips, key);
    w.vip_there = comment != NULL;
    if (comment != NULL) {
        (void)walk_vips(key, comment, &w); /* always continues */
    }
    const struct front *f = front_of(t, id, false);
    if (f != NULL) {
        walk_front(&w, f);
    }
}
