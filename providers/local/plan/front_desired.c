/* SPDX-License-Identifier: Apache-2.0 */
/* front_desired.c: ports, source ranges and targets of a Service as frontends of one address
 * (front_desired.h). */
#include "providers/local/plan/front_desired.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"

#define FAMILY_IPV4 2 /* AF_INET and AF_INET6 of Linux */
#define FAMILY_IPV6 10

static int protocol_of(const struct tt_port *port, uint8_t *ret, struct err *err)
{
    if (str_eq(port->protocol, "TCP") || str_eq(port->protocol, "UDP")) {
        *ret = port->protocol[0] == 'T' ? LOCAL_TCP : LOCAL_UDP;
        return ERR_OK;
    }
    return err_set(err, ERR_INVALID, "port %d: %s is not served", port->port, port->protocol);
}

/* ---- source ranges --------------------------------------------------------------------------- */

int local_net_cmp(const struct ip_net *a, const struct ip_net *b)
{
    int order = memcmp(a->addr.bytes, b->addr.bytes, sizeof a->addr.bytes);

    return order != 0 ? order : (int)a->prefix - (int)b->prefix;
}

static int by_net(const void *a, const void *b)
{
    return local_net_cmp(a, b);
}

/* One that lies inside another one opens nothing more, and an interval set would refuse it. */
static size_t drop_covered(struct ip_net *nets, size_t n)
{
    size_t kept = 0;

    qsort(nets, n, sizeof *nets, by_net);
    for (size_t i = 0; i < n; i++) {
        if (kept == 0 || !ip_net_contains(&nets[kept - 1], &nets[i].addr)) {
            nets[kept++] = nets[i];
        }
    }
    return kept;
}

/* Of the address's family; all of them when none is asked for. */
static int ranges_of(struct arena *a, const struct local_front_args *x, struct ip_net **ret,
                     size_t *ret_n, size_t *ret_left, struct err *err)
{
    const struct local_wish *wish = x->wish;
    struct ip_net *nets = ARENA_ARRAY(a, struct ip_net, wish->n_source_ranges + 1);
    size_t n = 0;

    *ret_left = 0;
    if (wish->n_source_ranges == 0) {
        nets[n++] = (struct ip_net){.addr = {.len = x->vip.len}};
    }
    for (size_t i = 0; i < wish->n_source_ranges; i++) {
        struct ip_net net;
        if (!ip_net_parse_sloppy(wish->source_ranges[i], &net)) {
            return err_set(err, ERR_INVALID, "source range \"%s\" is no CIDR; nothing is changed",
                           wish->source_ranges[i]);
        }
        if (net.addr.len == x->vip.len) {
            nets[n++] = net;
        } else {
            *ret_left += 1;
        }
    }
    *ret = nets;
    *ret_n = drop_covered(nets, n);
    return ERR_OK;
}

/* ---- slots ----------------------------------------------------------------------------------- */

static const struct local_front *front_that_stands(const struct local_front_args *x,
                                                   const struct local_frontend_id *id)
{
    for (size_t i = 0; i < x->n_have; i++) {
        if (local_frontend_cmp(&x->have[i].id, id) == 0) {
            return &x->have[i];
        }
    }
    return NULL;
}

/* The slots as indices into the targets; NULL when they are of another map. */
static uint16_t *slots_that_stand(struct arena *a, const struct local_front *have,
                                  const struct local_target_set *t, unsigned m)
{
    if (have == NULL || have->hash || have->m != m) {
        return NULL;
    }
    uint16_t *old = ARENA_ARRAY(a, uint16_t, m);
    for (unsigned i = 0; i < m; i++) {
        old[i] = LOCAL_SLOT_NONE;
        for (size_t k = 0; k < t->n; k++) {
            if (t->items[k].port == have->slots[i].port &&
                ip_eq(&t->items[k].addr, &have->slots[i].addr)) {
                old[i] = (uint16_t)k;
            }
        }
    }
    return old;
}

static bool some_weight(const struct local_target_set *t)
{
    for (size_t i = 0; i < t->n; i++) {
        if (t->items[i].weight > 0) {
            return true;
        }
    }
    return false;
}

static void add_sorry(struct arena *a, const struct local_serve *serve,
                      const struct local_frontend_id *id, struct local_target_set *t)
{
    if (serve->sorry.addr.len != id->vip.len || some_weight(t)) {
        return;
    }
    struct local_target *items = ARENA_ARRAY(a, struct local_target, t->n + 1);
    for (size_t i = 0; i < t->n; i++) {
        items[i] = t->items[i];
    }
    items[t->n] =
        (struct local_target){.addr = serve->sorry.addr,
                              .port = serve->sorry.port != 0 ? serve->sorry.port : id->port,
                              .weight = 1,
                              .why = "no target is left; it is the sorry server"};
    t->items = items;
    t->n++;
}

bool local_front_sorry_has_slot(const struct local_front *f, const struct local_serve *serve)
{
    for (unsigned i = 0; serve->sorry.addr.len != 0 && i < f->m; i++) {
        if (ip_eq(&f->slots[i].addr, &serve->sorry.addr)) {
            return true;
        }
    }
    for (size_t i = 0; serve->sorry.addr.len != 0 && i < f->ipvs.n_reals; i++) {
        const struct local_ipvs_dest *d = &f->ipvs.reals[i].dest;
        if (ip_eq(&d->addr, &serve->sorry.addr) && d->weight > 0) {
            return true;
        }
    }
    return false;
}

static bool by_client(const struct local_serve *serve)
{
    return serve->affinity || serve->scheduler == LOCAL_SCHED_SH ||
           serve->scheduler == LOCAL_SCHED_MH;
}

static void fill(struct arena *a, const struct local_front *have, const struct local_serve *serve,
                 const struct local_target_set *t, struct local_front *f)
{
    if (!some_weight(t)) {
        return;
    }
    unsigned m = local_slots_size(t);
    uint16_t *slots = ARENA_ARRAY(a, uint16_t, m);
    f->hash = by_client(serve);
    if (f->hash) {
        local_slots_maglev(t, m, slots);
    } else {
        local_slots_fill(t, m, slots_that_stand(a, have, t, m), slots);
    }
    f->m = (uint16_t)m;
    f->slots = ARENA_ARRAY(a, struct local_dest, m);
    for (unsigned i = 0; i < m; i++) {
        const struct local_target *target = &t->items[slots[i]];
        f->slots[i] = (struct local_dest){.addr = target->addr, .port = target->port};
    }
}

void local_front_serve(struct arena *a, const struct local_front_serving *by,
                       struct local_target_set *t, struct local_front *f)
{
    const struct local_ipvs_wish wish = {.config = by->config,
                                         .serve = by->serve,
                                         .targets = t,
                                         .id = f->id,
                                         .have = by->have == NULL ? NULL : &by->have->ipvs};

    if (!local_mode_keeps_vip(
            by->serve->mode)) { /* a sorry server does not take packets for the address */
        add_sorry(a, by->serve, &f->id, t);
    }
    if (local_mode_is_ipvs(by->serve->mode)) {
        local_ipvs_wanted(a, &wish, &f->ipvs);
    } else {
        fill(a, by->have, by->serve, t, f);
    }
}

void local_front_let_in(struct local_front *f, struct ip_net *ranges, size_t n)
{
    f->all = n > 0 && ranges[0].prefix == 0; /* it covers all others */
    f->open = f->all ? NULL : ranges;
    f->n_open = f->all ? 0 : n;
}

bool local_front_has_target(const struct local_front *f)
{
    return f->m > 0 || local_ipvs_some_weight(&f->ipvs);
}

int local_family_of(const struct ip_addr *vip)
{
    return vip->len == 16 ? FAMILY_IPV6 : FAMILY_IPV4;
}

void local_front_weigh(struct arena *a, const struct local_front_args *x, struct local_wanted *w,
                       size_t i)
{
    if (x->weigher != NULL) {
        w->base[i] = w->targets[i];
        w->base[i].items =
            arena_memdup(a, w->base[i].items, w->base[i].n * sizeof *w->base[i].items);
        x->weigher->weigh(x->weigher->arg, a, x, w, i);
    }
}

struct local_target_args local_front_target_args(const struct local_front_args *x,
                                                 const struct local_serve *serve,
                                                 const struct tt_port *port)
{
    return (struct local_target_args){
        .config = x->config,
        .serve = serve,
        .service = x->service,
        .port = port,
        .family = local_family_of(&x->vip),
        .nodes = x->nodes,
        .n_nodes = x->n_nodes,
        .slices = x->slices,
        .n_slices = x->n_slices,
        .has_slices = x->has_slices,
        .zone = x->zone,
    };
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int front_of(struct arena *a, const struct local_front_args *x, struct local_wanted *w,
                    size_t i, struct err *err)
{
    const struct tt_port *port = &x->service->ports[i];
    struct local_front *f = &w->fronts[i];
    const struct local_front *have = NULL;
    struct local_target_args args = local_front_target_args(x, &w->serve, port);
    *f = (struct local_front){.id = {.vip = x->vip, .port = (uint16_t)port->port},
                              .snat = w->serve.snat};
    int rc = protocol_of(port, &f->id.protocol, err);
    if (rc == ERR_OK) {
        have = front_that_stands(x, &f->id);
        args.slots = have == NULL ? NULL : have->slots;
        args.n_slots = have == NULL ? 0 : have->m;
        /* A mode that would serve fewer than the one that stands is no way on. */
        args.served = args.n_slots > 0 || (x->served && !(have != NULL && have->ipvs.served));
        rc = local_targets_of(a, &args, &w->targets[i], err);
    }
    if (rc == ERR_OK && w->serve.mode == LOCAL_MODE_IPVS_DR) {
        w->n_far = local_ipvs_keep_near(a, &w->targets[i], x->addrs, x->n_addrs);
    }
    if (rc == ERR_OK) {
        local_front_weigh(a, x, w, i);
        const struct local_front_serving by = {
            .config = x->config, .serve = &w->serve, .have = have};
        local_front_serve(a, &by, &w->targets[i], f);
    }
    return rc;
}

int local_fronts_desired(struct arena *a, const struct local_front_args *x,
                         struct local_wanted *ret, struct err *err)
{
    struct ip_net *open = NULL;
    size_t n_open = 0;

    *ret = (struct local_wanted){
        .fronts = ARENA_ARRAY(a, struct local_front, x->service->n_ports + 1),
        .targets = ARENA_ARRAY(a, struct local_target_set, x->service->n_ports + 1),
        .base = ARENA_ARRAY(a, struct local_target_set, x->service->n_ports + 1)};
    int rc = local_serve_of(x->config, x->pool, x->service, x->wish, &ret->serve, err);
    if (rc == ERR_OK) {
        rc = ranges_of(a, x, &open, &n_open, &ret->n_ranges_left, err);
    }
    ret->ranges = open;
    ret->n_ranges = n_open;
    for (size_t i = 0; rc == ERR_OK && i < x->service->n_ports; i++) {
        rc = front_of(a, x, ret, i, err);
        if (rc == ERR_OK &&
            local_front_has_target(
                &ret->fronts[i])) { /* one without targets is closed: a reset, no silence */
            local_front_let_in(&ret->fronts[i], open, n_open);
            ret->some_open = ret->some_open || n_open > 0;
        }
        ret->n += rc == ERR_OK;
    }
    return rc;
}

bool local_front_same_slots(const struct local_front *a, const struct local_front *b)
{
    bool same = a->m == b->m && a->hash == b->hash && a->other_m == b->other_m;

    for (unsigned i = 0; same && i < a->m; i++) {
        same = a->slots[i].port == b->slots[i].port && ip_eq(&a->slots[i].addr, &b->slots[i].addr);
    }
    return same;
}

bool local_front_is_open(const struct local_front *f)
{
    return f->all || f->n_open > 0 || f->n_also > 0;
}

bool local_front_same_open(const struct local_front *a, const struct local_front *b)
{
    bool same =
        a->all == b->all && a->n_open == b->n_open && a->n_also == b->n_also && a->snat == b->snat;

    for (size_t i = 0; same && i < a->n_open; i++) {
        same = local_net_cmp(&a->open[i], &b->open[i]) == 0;
    }
    return same;
}
