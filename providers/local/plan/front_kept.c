/* SPDX-License-Identifier: Apache-2.0 */
/* front_kept.c: what stands at an address, with the targets of now (front_desired.h).
 *
 * For a Service that is refused, in a process that does not know how it was before: ports, mode,
 * scheduler, source ranges and node ports are those of the kernel, and nodes and pods join and
 * leave by policy and endpoints as the API server has them, since kube-proxy goes by these.  A
 * target of a port that the Service does not name any more stays only while its node or pod is
 * there.  Pure. */
#include "providers/local/plan/front_desired.h"

#include <string.h>

#include "common/base/str.h"
#include "providers/local/plan/mirror.h"

static bool node_has(const struct tt_node *n, const struct ip_addr *addr)
{
    struct ip_addr one;

    for (size_t i = 0; i < n->n_addresses; i++) {
        if (ip_parse(str_nonnull(n->addresses[i].address), &one) && ip_eq(&one, addr)) {
            return true;
        }
    }
    return false;
}

/* NULL: no node has the address. */
static const struct tt_node *node_at(const struct local_front_args *x, const struct ip_addr *addr)
{
    for (size_t i = 0; i < x->n_nodes; i++) {
        if (node_has(x->nodes[i], addr)) {
            return x->nodes[i];
        }
    }
    return NULL;
}

static bool slice_has(const struct tt_slice *s, const struct ip_addr *addr)
{
    struct ip_addr one;

    for (size_t i = 0; i < s->n_endpoints; i++) {
        if (ip_parse(str_nonnull(s->endpoints[i].address), &one) && ip_eq(&one, addr)) {
            return true;
        }
    }
    return false;
}

static bool is_endpoint(const struct local_front_args *x, const struct ip_addr *addr)
{
    for (size_t i = 0; i < x->n_slices; i++) {
        if (slice_has(x->slices[i], addr)) {
            return true;
        }
    }
    return false;
}

/* ---- how it is served ------------------------------------------------------------------------ */

static const struct tt_port *port_of(const struct local_front_args *x, const struct local_front *f)
{
    for (size_t i = 0; i < x->service->n_ports; i++) {
        const struct tt_port *p = &x->service->ports[i];
        bool tcp = str_eq(p->protocol, "TCP");
        if (p->port == f->id.port && (f->id.protocol == LOCAL_TCP) == tcp) {
            return p;
        }
    }
    return NULL;
}

/* Its slots, else its destinations: each address and port some times. */
static struct local_dest *dests_of(struct arena *a, const struct local_front *f, size_t *ret_n)
{
    struct local_dest *items = ARENA_ARRAY(a, struct local_dest, f->m + f->ipvs.n_reals + 1);
    size_t n = 0;

    for (unsigned i = 0; i < f->m; i++) {
        if (f->slots[i].addr.len != 0) {
            items[n++] = f->slots[i];
        }
    }
    for (size_t i = 0; i < f->ipvs.n_reals; i++) {
        const struct local_ipvs_dest *d = &f->ipvs.reals[i].dest;
        items[n++] = (struct local_dest){.addr = d->addr, .port = d->port};
    }
    *ret_n = n;
    return items;
}

static enum local_mode mode_of(const struct local_front *f)
{
    if (!f->ipvs.served) {
        return LOCAL_MODE_NFT;
    }
    switch (f->ipvs.n_reals == 0 ? LOCAL_IPVS_NAT : f->ipvs.reals[0].dest.method) {
    case LOCAL_IPVS_DR:
        return LOCAL_MODE_IPVS_DR;
    case LOCAL_IPVS_TUNNEL:
        return LOCAL_MODE_IPVS_TUNNEL;
    default:
        return f->snat ? LOCAL_MODE_IPVS_FULLNAT : LOCAL_MODE_IPVS_NAT;
    }
}

/* One of several that are all gone does not say what it was: the port's own number does. */
static enum local_targets targets_of(const struct local_front_args *x, enum local_mode mode,
                                     const struct tt_port *port, const struct local_dest *dests,
                                     size_t n)
{
    if (local_mode_keeps_vip(mode)) {
        return LOCAL_TARGETS_NODE;
    }
    for (size_t i = 0; i < n; i++) {
        if (node_at(x, &dests[i].addr) != NULL) {
            return LOCAL_TARGETS_NODE_PORT;
        }
        if (is_endpoint(x, &dests[i].addr)) {
            return LOCAL_TARGETS_POD;
        }
    }
    return port != NULL && port->node_port == 0 ? LOCAL_TARGETS_POD : LOCAL_TARGETS_NODE_PORT;
}

static void read_service(const struct local_ipvs_service *s, struct local_serve *ret)
{
    const char *meant = NULL;

    ret->affinity = (s->flags & LOCAL_IPVS_PERSISTENT) != 0;
    ret->affinity_s = ret->affinity ? (int32_t)s->timeout_s : 0;
    ret->udp_one_packet = (s->flags & LOCAL_IPVS_ONE_PACKET) != 0;
    if (!local_scheduler_parse(s->scheduler, &ret->scheduler, &meant) ||
        (!ret->udp_one_packet &&
         (ret->scheduler == LOCAL_SCHED_RR || ret->scheduler == LOCAL_SCHED_WRR))) {
        ret->scheduler = LOCAL_SCHED_AUTO; /* by the weights */
    }
}

static struct local_serve serve_of(const struct local_front_args *x, const struct local_front *f,
                                   const struct local_dest *dests, size_t n)
{
    struct local_serve stands = {.mode = mode_of(f), .snat = f->snat};
    struct local_serve all;

    stands.targets = targets_of(x, stands.mode, port_of(x, f), dests, n);
    if (f->ipvs.served) {
        read_service(&f->ipvs.service, &stands);
    } else if (f->hash) {
        stands.scheduler = LOCAL_SCHED_MH;
    }
    local_serve_standing(x->config, x->pool, x->service, &stands, &all);
    return all;
}

/* ---- targets --------------------------------------------------------------------------------- */

static bool is_there(const struct local_target_set *t, const struct local_dest *d)
{
    for (size_t i = 0; i < t->n; i++) {
        if (t->items[i].port == d->port && ip_eq(&t->items[i].addr, &d->addr)) {
            return true;
        }
    }
    return false;
}

/* Those that stand and whose node or pod is there: without the Service's word on the port
 * none can join. */
static void keep_living(struct arena *a, const struct local_front_args *x,
                        const struct local_dest *dests, size_t n, struct local_target_set *t)
{
    t->items = ARENA_ARRAY(a, struct local_target, n + 1);
    for (size_t i = 0; i < n; i++) {
        const struct tt_node *node = node_at(x, &dests[i].addr);
        bool lives =
            node != NULL ? local_node_digest(x->config, node) != 0 : is_endpoint(x, &dests[i].addr);
        if (lives && !is_there(t, &dests[i])) {
            t->items[t->n++] = (struct local_target){.addr = dests[i].addr,
                                                     .port = dests[i].port,
                                                     .weight = 1,
                                                     .node = node == NULL ? NULL : node->name,
                                                     .why = "it is still there"};
        }
    }
}

static void targets_now(struct arena *a, const struct local_front_args *x,
                        const struct local_serve *serve, const struct local_front *f,
                        struct local_target_set *ret)
{
    struct err ignored = ERR_INIT;
    const struct tt_port *named = port_of(x, f);
    size_t n = 0;
    struct local_dest *dests = dests_of(a, f, &n);

    *ret = (struct local_target_set){0};
    if (named == NULL) {
        keep_living(a, x, dests, n, ret);
        return;
    }
    struct tt_port port = *named;
    for (size_t i = n; serve->targets == LOCAL_TARGETS_NODE_PORT && i > 0; i--) {
        if (n == 1 || node_at(x, &dests[i - 1].addr) != NULL) { /* not a sorry server's */
            port.node_port = dests[i - 1].port;
        }
    }
    struct local_target_args args =
        local_front_target_args(x, serve, arena_memdup(a, &port, sizeof port));
    args.served = true;
    args.slots = f->slots;
    args.n_slots = f->m;
    if (local_targets_of(a, &args, ret, &ignored) != ERR_OK) {
        keep_living(a, x, dests, n, ret);
    }
}

static void keep_front(struct arena *a, const struct local_front_args *x,
                       const struct local_front *have, struct local_wanted *w)
{
    size_t i = w->n++;
    size_t n = 0;
    struct local_dest *dests = dests_of(a, have, &n);
    struct local_front *f = &w->fronts[i];
    const struct local_serve serve = serve_of(x, have, dests, n);

    if (i == 0) {
        w->serve = serve; /* ports of one Service are served alike */
    }
    *f = (struct local_front){.id = have->id, .snat = have->snat};
    targets_now(a, x, &w->serve, have, &w->targets[i]);
    if (w->serve.mode == LOCAL_MODE_IPVS_DR) {
        w->n_far = local_ipvs_keep_near(a, &w->targets[i], x->addrs, x->n_addrs);
    }
    local_front_weigh(a, x, w, i);
    const struct local_front_serving by = {.config = x->config, .serve = &w->serve, .have = have};
    local_front_serve(a, &by, &w->targets[i], f);
    if (local_front_has_target(f)) {
        f->all = have->all;
        f->open = have->open;
        f->n_open = have->n_open;
        w->some_open = w->some_open || local_front_is_open(f);
    }
}

static struct ip_net *all_clients(struct arena *a, const struct ip_addr *vip)
{
    struct ip_net *all = ARENA_NEW(a, struct ip_net);

    *all = (struct ip_net){.addr = {.len = vip->len}};
    return all;
}

void local_fronts_kept(struct arena *a, const struct local_front_args *x, struct local_wanted *ret)
{
    *ret = (struct local_wanted){.fronts = ARENA_ARRAY(a, struct local_front, x->n_have + 1),
                                 .targets = ARENA_ARRAY(a, struct local_target_set, x->n_have + 1),
                                 .base = ARENA_ARRAY(a, struct local_target_set, x->n_have + 1)};
    for (size_t i = 0; i < x->n_have; i++) {
        const struct local_front *have = &x->have[i];
        if (!ip_eq(&have->id.vip, &x->vip)) {
            continue;
        }
        keep_front(a, x, have, ret);
        if (ret->ranges == NULL && local_front_is_open(have)) {
            ret->ranges = have->all ? all_clients(a, &x->vip) : have->open;
            ret->n_ranges = have->all ? 1 : have->n_open;
        }
    }
}
