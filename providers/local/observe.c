/* SPDX-License-Identifier: Apache-2.0 */
/* observe.c: what the kernel has: the mirror, links and addresses, and what of it belongs to which
 * Service.
 *
 * The kernel counts transactions of all tables.  As long as its count is ours, the mirror is true.
 * When another program wrote, the addresses of each batch are read again before anything is
 * changed, once each; many of them at once, and the first time, all is listed. */
#include "providers/local/provider.h"

#include <string.h>

#include "common/base/str.h"
#include "common/lb/service_rules.h"

#define READ_ONE_BY_ONE_MAX 64 /* frontends */
#define VIPS_ROOM           4  /* addresses of a Service: two, and two that go */

static void note_element(void *arg, const struct local_nft_element *e)
{
    local_mirror_element(arg, e, false);
}

/* ---- the mirror ------------------------------------------------------------------------------ */

static void note_offered(void *arg, const struct local_offered *o)
{
    local_mirror_hold(arg, &o->addr, LOCAL_ROUTE_HOLD, o->link, false);
}

int local_read_holds(struct local_provider *p, struct arena *a, const struct local_link_addr *addrs,
                     size_t n_addrs, struct err *err)
{
    struct local_route *routes = NULL;
    size_t n = 0;

    int rc = p->kernel->ops->routes(p->kernel, a, &routes, &n, err);
    if (rc != ERR_OK) {
        return rc;
    }
    local_mirror_forget_holds(p->mirror);
    for (size_t i = 0; i < n_addrs; i++) {
        const struct ip_addr *addr = &addrs[i].net.addr;
        if (addrs[i].ours && !local_leasing_shares(p, local_pool_of(p->config, addr))) {
            local_mirror_hold(p->mirror, addr, LOCAL_ROUTE_HOLD, addrs[i].link, false);
        }
    }
    if (p->leasing != NULL && p->directing != NULL) {
        local_director_offered(p->directing, note_offered, p->mirror);
    }
    for (size_t i = 0; i < n; i++) {
        local_mirror_hold(p->mirror, &routes[i].addr, routes[i].kind, 0, false);
    }
    return ERR_OK;
}

int local_read_all(struct local_provider *p, struct arena *a, const struct local_link_addr *addrs,
                   size_t n_addrs, struct err *err)
{
    int rc = ERR_OK;

    local_mirror_clear(p->mirror);
    if (p->table.exists) {
        rc = p->kernel->ops->nft_list(p->kernel, p->config->instance, note_element, p->mirror, err);
    }
    if (rc == ERR_OK) {
        rc = local_table_check(p, err);
    }
    if (rc == ERR_OK) {
        rc = local_read_holds(p, a, addrs, n_addrs, err);
    }
    if (rc == ERR_OK) {
        rc = local_ipvs_list(p, a, err);
    }
    p->looked = rc == ERR_OK;
    p->dests_unread = p->ipvs;
    return rc;
}

static int read_all(struct lb_sync *s, struct err *err)
{
    struct local_sync *y = s->data;

    s->reads += 3;
    return local_read_all(y->p, s->a, y->addrs, y->n_addrs, err);
}

static size_t count_elements(const struct local_provider *p, struct arena *a,
                             const struct ip_addr *addr)
{
    const struct local_mirror_vip *v = local_mirror_vip(p->mirror, a, addr);
    size_t n = v != NULL && v->vip.guarded;

    for (size_t i = 0; v != NULL && i < v->n_fronts; i++) {
        const struct local_front *f = &v->fronts[i];
        n += f->n_open + f->n_also + f->all + f->snat;
        for (unsigned k = 0; k < f->m; k++) {
            n += f->slots[k].addr.len != 0;
        }
        for (unsigned k = 0; k < f->other_m; k++) {
            n += f->other_slots[k].addr.len != 0;
        }
    }
    return n;
}

/* Reads the state of one address again.  *ret_same: it has as many elements as before. */
static int read_vip(struct lb_sync *s, const struct ip_addr *addr,
                    const struct local_frontend_id *ids, size_t n, bool *ret_same, struct err *err)
{
    struct local_provider *p = ((struct local_sync *)s->data)->p;
    size_t before = count_elements(p, s->a, addr);
    int rc = ERR_OK;

    local_mirror_forget(p->mirror, addr);
    for (size_t i = 0; p->table.exists && rc == ERR_OK && i < n; i++) {
        s->reads++;
        rc = p->kernel->ops->nft_read(p->kernel, p->config->instance, &ids[i], note_element,
                                      p->mirror, err);
    }
    p->looked = p->looked && rc == ERR_OK;
    *ret_same = count_elements(p, s->a, addr) == before;
    return rc;
}

struct ids {
    struct local_frontend_id *items;
    size_t n;
};

static void add_id(struct ids *ids, const struct ip_addr *vip, uint8_t protocol, uint16_t port)
{
    const struct local_frontend_id id = {.vip = *vip, .protocol = protocol, .port = port};

    for (size_t i = 0; i < ids->n; i++) {
        if (local_frontend_cmp(&ids->items[i], &id) == 0) {
            return;
        }
    }
    ids->items[ids->n++] = id;
}

/* Ports that it is known to have at the address, and those that it is to have; one at
 * least, for the guard. */
static struct ids ids_of(struct lb_sync *s, const struct local_item *it, const struct ip_addr *vip)
{
    const struct local_provider *p = ((const struct local_sync *)s->data)->p;
    const struct local_mirror_vip *v = local_mirror_vip(p->mirror, s->a, vip);
    size_t n = v == NULL ? 0 : v->n_fronts;
    struct ids ids = {
        .items = ARENA_ARRAY(s->a, struct local_frontend_id, n + it->service->n_ports + 1)};

    for (size_t i = 0; i < n; i++) {
        add_id(&ids, vip, v->fronts[i].id.protocol, v->fronts[i].id.port);
    }
    for (uint32_t i = 0; i < it->service->n_ports; i++) {
        bool tcp = str_eq(it->service->ports[i].protocol, "TCP");
        add_id(&ids, vip, tcp ? LOCAL_TCP : LOCAL_UDP, (uint16_t)it->service->ports[i].port);
    }
    if (ids.n == 0) {
        add_id(&ids, vip, LOCAL_TCP, 1);
    }
    return ids;
}

/* Addresses of the batch that were not read since another program wrote; many of them:
 * all is listed. */
static int read_doubtful(struct lb_sync *s, bool *ret_some, struct err *err)
{
    struct local_sync *y = s->data;
    size_t n_read = 0;
    int rc = ERR_OK;

    *ret_some = false;
    for (size_t i = 0; rc == ERR_OK && i < s->n_items; i++) {
        const struct local_item *it = &y->items[i];
        for (size_t k = 0; rc == ERR_OK && lb_item_is_active(&s->items[i]) && k < it->n_vips; k++) {
            const struct ip_addr *addr = &it->vips[k].have.addr;
            if (!local_mirror_is_doubtful(y->p->mirror, addr)) {
                continue;
            }
            *ret_some = true;
            struct ids ids = ids_of(s, it, addr);
            n_read += ids.n;
            bool same = n_read <= READ_ONE_BY_ONE_MAX;
            if (same) {
                rc = read_vip(s, addr, ids.items, ids.n, &same, err);
            }
            if (rc == ERR_OK &&
                !same) { /* what is ours was changed: parts of it are found in a list only */
                return read_all(s, err);
            }
        }
    }
    return rc;
}

/* Has another program written?  What it may have changed is doubtful from then on. */
static int refresh(struct lb_sync *s, struct err *err)
{
    struct local_provider *p = ((struct local_sync *)s->data)->p;
    struct local_nft_table now = {0};

    s->reads++;
    int rc = p->kernel->ops->nft_look(p->kernel, p->config->instance, &now, err);
    if (rc != ERR_OK) {
        return rc;
    }
    if (now.exists && !now.ours) {
        return local_table_is_foreign(p, err);
    }
    bool same = p->looked && now.exists == p->table.exists && now.generation == p->table.generation;
    bool whole = !p->looked || now.exists != p->table.exists || s->attempt > 1 ||
                 (p->table_changed && !same); /* one by one they are found in our own sets only */
    p->table = now;
    if (whole) {
        return read_all(s, err);
    }
    if (!same) {
        local_mirror_doubt(p->mirror);
    }
    return ERR_OK;
}

/* ---- where an address is announced ----------------------------------------------------------- */

static bool link_is_named(const struct local_link *l, const char *const *globs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (str_glob(globs[i], l->name)) {
            return true;
        }
    }
    return n == 0;
}

static bool link_is_near(const struct local_sync *y, const struct local_link *l,
                         const struct ip_addr *vip)
{
    for (size_t i = 0; i < y->n_addrs; i++) {
        const struct local_link_addr *at = &y->addrs[i];
        struct ip_net net = at->net;
        bool whole = net.prefix == net.addr.len * 8; /* a held address is no subnet */
        if (at->link == l->index && !at->ours && !whole && net.addr.len == vip->len &&
            ip_net_contains(&net, vip)) {
            return true;
        }
    }
    return false;
}

static void find_links(struct lb_sync *s, const struct local_item *it,
                       const struct local_pool *pool, struct local_vip_pair *v)
{
    struct local_sync *y = s->data;
    const struct local_link **links = ARENA_ARRAY(s->a, const struct local_link *, y->n_links + 1);
    bool wished = it->has_wish && it->wish.n_interfaces > 0;
    const char *const *globs = wished         ? it->wish.interfaces
                               : pool == NULL ? NULL
                                              : pool->interfaces;
    size_t n_globs = wished ? it->wish.n_interfaces : pool == NULL ? 0 : pool->n_interfaces;

    for (size_t i = 0; i < y->n_links; i++) {
        const struct local_link *l = &y->links[i];
        if (l->ethernet && !l->loopback && link_is_named(l, globs, n_globs) &&
            link_is_near(y, l, &v->have.addr)) {
            links[v->n_links++] = l;
        }
    }
    v->links = links;
}

/* ---- what belongs to an item ----------------------------------------------------------------- */

static bool has_port(const struct tt_service *svc, const struct local_frontend_id *id)
{
    for (uint32_t i = 0; i < svc->n_ports; i++) {
        bool tcp = str_eq(svc->ports[i].protocol, "TCP");
        if (svc->ports[i].port == id->port && (id->protocol == LOCAL_TCP) == tcp) {
            return true;
        }
    }
    return false;
}

/* The Service asks for the port, or serves it and is here to let it go. */
static bool is_mine(const struct local_sync *y, const struct lb_sync *s,
                    const struct local_item *it, const struct local_frontend_id *id)
{
    char protocol = id->protocol == LOCAL_TCP ? 'T' : 'U';

    return has_port(it->service, id) ||
           local_ipam_is_served(y->p->ipam, svc_key(s->a, it->service), protocol, id->port);
}

/* A port that no Service asks for stays while a sharer asks for ports that it does not serve: its
 * edit may have been refused, and then this port is its own from before. */
bool local_port_is_anothers(const struct lb_sync *s, const struct local_item *it,
                            const struct local_frontend_id *id)
{
    const struct local_sync *y = s->data;
    const char *const *keys;
    size_t n = local_ipam_sharers(y->p->ipam, s->a, &id->vip, &keys);
    bool mine = is_mine(y, s, it, id);

    if (n < 2 && (n == 0 || str_eq(keys[0], svc_key(s->a, it->service)))) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        const struct tt_service *other = local_service_called(y->p, s->call, keys[i]);
        bool live =
            other != NULL && !str_eq(other->uid, it->service->uid) && local_wants(y->p, other);
        bool settled = mine || !live || local_ipam_is_settled(y->p->ipam, keys[i]);
        if (live && (!settled || has_port(other, id))) {
            return true;
        }
    }
    return false;
}

/* The other Services at the address, and whether the comment of its guard names one that lives. */
static void find_others(const struct lb_sync *s, const struct local_item *it,
                        struct local_vip_pair *pair)
{
    const struct local_sync *y = s->data;
    const char *const *keys;
    size_t n = local_ipam_sharers(y->p->ipam, s->a, &pair->have.addr, &keys);

    for (size_t i = 0; i < n; i++) {
        const struct tt_service *one = local_service_called(y->p, s->call, keys[i]);
        if (one == NULL || !local_wants(y->p, one)) {
            continue;
        }
        pair->comment_lives = pair->comment_lives || str_eq(keys[i], pair->have.comment);
        if (pair->other == NULL && !str_eq(one->uid, it->service->uid)) {
            pair->other = arena_strdup(s->a, keys[i]);
        }
    }
}

static void add_vip(struct lb_sync *s, struct local_item *it, const struct ip_addr *addr,
                    const struct local_pool *pool)
{
    const struct local_provider *p = ((struct local_sync *)s->data)->p;
    const struct local_mirror_vip *v = local_mirror_vip(p->mirror, s->a, addr);

    for (size_t i = 0; i < it->n_vips; i++) {
        if (ip_eq(&it->vips[i].have.addr, addr)) {
            return;
        }
    }
    if (it->n_vips % VIPS_ROOM == 0) {
        struct local_vip_pair *more =
            ARENA_ARRAY(s->a, struct local_vip_pair, it->n_vips + VIPS_ROOM);
        if (it->n_vips > 0) {
            memcpy(more, it->vips, it->n_vips * sizeof *more);
        }
        it->vips = more;
    }
    struct local_vip_pair *pair = &it->vips[it->n_vips++];
    *pair = (struct local_vip_pair){.have = v == NULL ? (struct local_vip){.addr = *addr} : v->vip};
    pair->have.addr = *addr;
    pair->have.announced |= p->planning && pair->have.held; /* the process that holds it did it */
    pair->have.comment = arena_strdup(s->a, pair->have.comment);
    find_others(s, it, pair);
    find_links(s, it, pool, pair);
}

struct commented {
    struct lb_sync *s;
    struct local_item *it;
};

/* An address whose guard names a Service that does not have it any more, or that has no owner. */
static void add_commented(void *arg, const struct local_mirror_vip *v)
{
    const struct commented *c = arg;

    add_vip(c->s, c->it, &v->vip.addr, NULL);
}

static void make_room(struct lb_sync *s, struct local_item *it)
{
    const struct local_provider *p = ((struct local_sync *)s->data)->p;
    size_t most = 0;

    for (size_t i = 0; i < it->n_vips; i++) {
        const struct local_mirror_vip *v =
            local_mirror_vip(p->mirror, s->a, &it->vips[i].have.addr);
        most += v == NULL ? 0 : v->n_fronts;
    }
    it->have = ARENA_ARRAY(s->a, struct local_front, most + 1);
    it->n_have = 0;
}

/* Frontends at its addresses: those of ports that it has, or others that no Service has any more.
 * `taken`: texts of those that an item of this batch has, since two of them would both close the
 * port of a Service that leaves an address to them. */
static void add_fronts(struct lb_sync *s, struct local_item *it, struct map *taken, bool own)
{
    const struct local_provider *p = ((struct local_sync *)s->data)->p;
    char text[LOCAL_FRONTEND_TEXT_MAX];

    for (size_t i = 0; i < it->n_vips; i++) {
        const struct local_mirror_vip *v =
            local_mirror_vip(p->mirror, s->a, &it->vips[i].have.addr);
        for (size_t k = 0; v != NULL && k < v->n_fronts; k++) {
            const struct local_frontend_id *id = &v->fronts[k].id;
            bool granted = own && i < it->grant.n; /* granted addresses are the first ones */
            if (has_port(it->service, id) != own ||
                (!granted && local_port_is_anothers(s, it, id))) {
                continue;
            }
            local_frontend_text(id, text);
            if (!map_has(taken, text)) {
                map_set(taken, text, NULL);
                it->have[it->n_have++] = local_front_copy(s->a, &v->fronts[k]);
            }
        }
    }
}

static void add_all_fronts(struct lb_sync *s)
{
    struct local_sync *y = s->data;
    struct map *taken = map_new(NULL);

    for (int own = 1; own >= 0; own--) {
        for (size_t i = 0; i < s->n_items; i++) {
            if (lb_item_is_active(&s->items[i])) {
                if (own == 1) {
                    make_room(s, &y->items[i]);
                }
                add_fronts(s, &y->items[i], taken, own == 1);
            }
        }
    }
    map_free(taken);
}

/* Granted addresses first, in the order of families, then those that go. */
static void add_known(struct lb_sync *s, const struct lb_item *item, struct local_item *it)
{
    const struct local_provider *p = ((struct local_sync *)s->data)->p;
    struct ip_addr addr;

    it->vips = NULL;
    it->n_vips = 0;
    for (size_t i = 0; i < it->grant.n; i++) {
        add_vip(s, it, &it->grant.have[i].addr, it->grant.have[i].pool);
    }
    for (size_t i = 0; i < it->grant.n_old; i++) {
        add_vip(s, it, &it->grant.old[i], local_pool_of(p->config, &it->grant.old[i]));
    }
    for (uint32_t i = 0; item->in->verb == TT_VERB_DELETE && i < it->service->n_ingress; i++) {
        if (it->service->ingress[i].ip != NULL && ip_parse(it->service->ingress[i].ip, &addr) &&
            local_mirror_vip(p->mirror, s->a, &addr) != NULL) {
            add_vip(s, it, &addr, NULL);
        }
    }
}

/* The state of the items and of their names; the first one also gets resources without a name. */
static void gather(struct lb_sync *s)
{
    struct local_sync *y = s->data;
    struct local_item *first = NULL;

    for (size_t i = 0; i < s->n_items; i++) {
        const struct lb_item *item = &s->items[i];
        struct local_item *it = &y->items[i];
        if (!lb_item_is_active(item)) {
            continue;
        }
        add_known(s, item, it);
        /* A director's Service without an address had one, if the guard names it. */
        if (item->in->verb == TT_VERB_DELETE || it->grant.n > 0 || it->leaves || y->p->follows) {
            struct commented c = {s, it};
            local_mirror_each_named(y->p->mirror, item->key, add_commented, &c);
            const struct local_mirror_vip *nobodys = local_nobodys_of(y->p, s->a, it->service);
            if (nobodys != NULL) {
                add_commented(&c, nobodys);
            }
            first = first == NULL ? it : first;
        }
    }
    if (first != NULL) {
        struct commented c = {s, first};
        local_nobodys_each(y->p, s->a, add_commented, &c);
    }
    add_all_fronts(s);
}

/* IPVS reports no changes: what the batch has to do with is read each time. */
static int read_ipvs(struct lb_sync *s, bool *ret_some, struct err *err)
{
    struct local_sync *y = s->data;
    int rc = ERR_OK;

    for (size_t i = 0; rc == ERR_OK && i < s->n_items; i++) {
        if (lb_item_is_active(&s->items[i])) {
            rc = local_ipvs_observe(s, &y->items[i], err);
        }
    }
    *ret_some = *ret_some || y->p->ipvs;
    return rc;
}

int local_observe(struct lb_sync *s, struct err *err)
{
    struct local_sync *y = s->data;
    const struct local_kernel_ops *ops = y->p->kernel->ops;
    bool some = false;

    s->reads += 2;
    int rc = ops->links(y->p->kernel, s->a, &y->links, &y->n_links, err);
    if (rc == ERR_OK) {
        rc = ops->addrs(y->p->kernel, s->a, &y->addrs, &y->n_addrs, err);
    }
    if (rc == ERR_OK) {
        rc = refresh(s, err);
    }
    if (rc == ERR_OK) {
        local_subnets_look(y->p, y->addrs, y->n_addrs);
        gather(s);
        rc = read_doubtful(s, &some, err);
    }
    if (rc == ERR_OK) {
        rc = read_ipvs(s, &some, err);
    }
    if (rc == ERR_OK && some) {
        gather(s);
    }
    s->observed_fresh = rc == ERR_OK; /* the kernel says that no write came since, or was read */
    return rc;
}
