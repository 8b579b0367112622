/* SPDX-License-Identifier: Apache-2.0 */
/* ipvs_desired.c: a virtual service and its destinations from what a Service asks for; the scope
 * (ipvs_state.h). */
#include "providers/local/plan/ipvs_state.h"

#include <stdio.h>
#include <string.h>

int local_ipvs_dest_cmp(const struct local_ipvs_dest *a, const struct local_ipvs_dest *b)
{
    int order = local_addr_cmp(&a->addr, &b->addr);

    return order != 0 ? order : (int)a->port - (int)b->port;
}

const struct local_ipvs_real *local_ipvs_find(const struct local_ipvs_front *f,
                                              const struct local_ipvs_dest *d)
{
    size_t from = 0;
    size_t to = f->n_reals;

    while (from < to) {
        size_t mid = from + (to - from) / 2;
        int order = local_ipvs_dest_cmp(&f->reals[mid].dest, d);
        if (order == 0) {
            return &f->reals[mid];
        }
        from = order < 0 ? mid + 1 : from;
        to = order < 0 ? to : mid;
    }
    return NULL;
}

bool local_ipvs_same_service(const struct local_ipvs_service *a, const struct local_ipvs_service *b)
{
    return strcmp(a->scheduler, b->scheduler) == 0 && a->flags == b->flags &&
           a->timeout_s == b->timeout_s;
}

bool local_ipvs_same_way(const struct local_ipvs_dest *a, const struct local_ipvs_dest *b)
{
    return a->method == b->method && (a->method != LOCAL_IPVS_TUNNEL ||
                                      (a->tunnel == b->tunnel && a->tunnel_port == b->tunnel_port));
}

bool local_ipvs_some_weight(const struct local_ipvs_front *f)
{
    for (size_t i = 0; i < f->n_reals; i++) {
        if (f->reals[i].dest.weight > 0) {
            return true;
        }
    }
    return false;
}

/* ---- one frontend ---------------------------------------------------------------------------- */

static void want_service(const struct local_ipvs_wish *w, struct local_ipvs_service *s)
{
    enum local_scheduler scheduler = local_scheduler_of(w->serve, w->targets);

    *s = (struct local_ipvs_service){.id = w->id};
    (void)snprintf(s->scheduler, sizeof s->scheduler, "%s", local_scheduler_word(scheduler));
    if (w->serve->affinity) {
        s->flags |= LOCAL_IPVS_PERSISTENT;
        s->timeout_s = (uint32_t)w->serve->affinity_s;
    }
    if (w->serve->udp_one_packet && w->id.protocol == 17) {
        s->flags |= LOCAL_IPVS_ONE_PACKET;
    }
    /* Without it the clients of a target with weight 0 would go nowhere. */
    if (scheduler == LOCAL_SCHED_SH || scheduler == LOCAL_SCHED_MH) {
        s->flags |= LOCAL_IPVS_FALLBACK;
    }
    if (scheduler == LOCAL_SCHED_MH && !w->serve->affinity) {
        s->flags |= LOCAL_IPVS_PORT;
    }
}

static const struct local_ipvs_real *real_at(const struct local_ipvs_front *f,
                                             const struct local_target *t, uint16_t port)
{
    const struct local_ipvs_dest d = {.addr = t->addr, .port = port};

    return f == NULL ? NULL : local_ipvs_find(f, &d);
}

/* The kernel keeps one route for a destination, and ipvs-dr needs another one than the other ways.
 * So where a destination of another way stands, a new one takes the next port, until the old one
 * has drained: with ipvs-dr and tunnels a packet keeps its own port whatever
 * the destination's is. */
static uint16_t port_of(const struct local_ipvs_wish *w, const struct local_target *t, bool dr)
{
    uint16_t next = t->port == UINT16_MAX ? UINT16_MAX - 1 : (uint16_t)(t->port + 1);
    const struct local_ipvs_real *first = real_at(w->have, t, t->port);
    const struct local_ipvs_real *second = real_at(w->have, t, next);
    bool first_fits = first == NULL || (first->dest.method == LOCAL_IPVS_DR) == dr;
    bool second_fits = second == NULL || (second->dest.method == LOCAL_IPVS_DR) == dr;
    bool second_serves = second != NULL && second->dest.weight > 0;

    return second_fits && (first == NULL ? second_serves : !first_fits) ? next : t->port;
}

void local_ipvs_wanted(struct arena *a, const struct local_ipvs_wish *w,
                       struct local_ipvs_front *ret)
{
    enum local_mode mode = w->serve->mode;
    bool tunnels = mode == LOCAL_MODE_IPVS_TUNNEL;
    bool dr = mode == LOCAL_MODE_IPVS_DR;
    enum local_tunnel tunnel = tunnels ? w->config->director.tunnel : LOCAL_TUNNEL_IPIP;

    *ret = (struct local_ipvs_front){
        .served = true, .reals = ARENA_ARRAY(a, struct local_ipvs_real, w->targets->n + 1)};
    want_service(w, &ret->service);
    for (size_t i = 0; i < w->targets->n; i++) {
        const struct local_target *t = &w->targets->items[i];
        ret->reals[ret->n_reals++] = (struct local_ipvs_real){
            .dest = {.addr = t->addr,
                     .port = local_mode_keeps_vip(mode) ? port_of(w, t, dr) : t->port,
                     .weight = t->weight,
                     .method = tunnels ? LOCAL_IPVS_TUNNEL
                               : dr    ? LOCAL_IPVS_DR
                                       : LOCAL_IPVS_NAT,
                     .tunnel = tunnel,
                     .tunnel_port = tunnels && tunnel == LOCAL_TUNNEL_GUE
                                        ? w->config->director.tunnel_port
                                        : 0},
            .why = t->why};
    }
}

static bool is_near(const struct ip_addr *addr, const struct local_link_addr *addrs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct ip_net net = addrs[i].net;
        bool whole = net.prefix == net.addr.len * 8; /* a single address is no network */
        if (!addrs[i].ours && !whole && net.addr.len == addr->len && ip_net_contains(&net, addr)) {
            return true;
        }
    }
    return false;
}

size_t local_ipvs_keep_near(struct arena *a, struct local_target_set *t,
                            const struct local_link_addr *addrs, size_t n_addrs)
{
    struct local_left_out *left = ARENA_ARRAY(a, struct local_left_out, t->n_left_out + t->n + 1);
    size_t kept = 0;
    char text[IP_TEXT_MAX];

    if (t->n_left_out > 0) {
        memcpy(left, t->left_out, t->n_left_out * sizeof *left);
    }
    t->left_out = left;
    for (size_t i = 0; i < t->n; i++) {
        if (is_near(&t->items[i].addr, addrs, n_addrs)) {
            t->items[kept++] = t->items[i];
            continue;
        }
        ip_format(&t->items[i].addr, text);
        t->left_out[t->n_left_out++] = (struct local_left_out){
            .who = t->items[i].node != NULL ? t->items[i].node : arena_strdup(a, text),
            .why =
                arena_printf(a, "%s is on no network of this director; ipvs-dr needs one", text)};
    }
    size_t n_far = t->n - kept;
    t->n = kept;
    return n_far;
}

/* ---- the scope ------------------------------------------------------------------------------- */

struct nets {
    struct arena *a;
    struct ip_net *items;
    size_t n, cap;
};

static void add_net(struct nets *l, const struct ip_net *net)
{
    if (l->n == l->cap) {
        size_t cap = l->cap == 0 ? 16 : 2 * l->cap;
        struct ip_net *items = ARENA_ARRAY(l->a, struct ip_net, cap);
        if (l->n > 0) {
            memcpy(items, l->items, l->n * sizeof *items);
        }
        l->items = items;
        l->cap = cap;
    }
    l->items[l->n++] = *net;
}

static bool add_one(struct ip_addr *addr)
{
    for (int i = addr->len - 1; i >= 0; i--) {
        if (++addr->bytes[i] != 0) {
            return true;
        }
    }
    return false;
}

/* The fewest networks that are the range together. */
static void add_range(struct nets *l, const struct local_range *r)
{
    struct ip_addr at = r->first;
    bool more = true;

    while (more && local_addr_cmp(&at, &r->last) <= 0) {
        struct ip_net net = {.addr = at, .prefix = (uint8_t)(8 * at.len)};
        while (net.prefix > 0) {
            struct ip_net wider = {.addr = at, .prefix = (uint8_t)(net.prefix - 1)};
            int bit = wider.prefix;
            struct ip_addr last = ip_net_last(&wider);
            if (((at.bytes[bit / 8] >> (7 - bit % 8)) & 1) != 0 ||
                local_addr_cmp(&last, &r->last) > 0) {
                break;
            }
            net = wider;
        }
        add_net(l, &net);
        at = ip_net_last(&net);
        more = add_one(&at);
    }
}

static bool inside(const struct ip_net *inner, const struct ip_net *outer)
{
    return inner->addr.len == outer->addr.len && outer->prefix <= inner->prefix &&
           ip_net_contains(outer, &inner->addr);
}

static bool some_holds(const struct ip_net *nets, size_t n, const struct ip_net *net)
{
    for (size_t i = 0; i < n; i++) {
        if (inside(net, &nets[i])) {
            return true;
        }
    }
    return false;
}

void local_ipvs_scope_changes(struct arena *a, const struct local_ipvs_scope *s,
                              struct local_nft_change **ret, size_t *ret_n)
{
    struct nets want = {.a = a};
    size_t n = 0;

    for (size_t i = 0; i < s->config->n_pools; i++) {
        for (size_t k = 0; k < s->config->pools[i].n_ranges; k++) {
            add_range(&want, &s->config->pools[i].ranges[k]);
        }
    }
    for (size_t i = 0; i < s->n_vips; i++) {
        struct ip_net net = {.addr = s->vips[i], .prefix = (uint8_t)(8 * s->vips[i].len)};
        if (!some_holds(want.items, want.n, &net)) {
            add_net(&want, &net);
        }
    }
    struct local_nft_change *changes =
        ARENA_ARRAY(a, struct local_nft_change, want.n + s->n_have + 1);
    for (size_t i = 0; i < want.n; i++) {
        if (some_holds(s->have, s->n_have, &want.items[i])) {
            continue;
        }
        changes[n++] =
            (struct local_nft_change){.e = {.set = LOCAL_NFT_SCOPE, .net = want.items[i]}};
        for (size_t k = 0; k < s->n_have; k++) {
            if (inside(&s->have[k], &want.items[i])) {
                changes[n++] = (struct local_nft_change){
                    .del = true, .e = {.set = LOCAL_NFT_SCOPE, .net = s->have[k]}};
            }
        }
    }
    *ret = changes;
    *ret_n = n;
}
