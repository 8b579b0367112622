/* SPDX-License-Identifier: Apache-2.0 */
/* explain.c: how a Service is served, why, and what becomes of a packet hop by hop (explain,
 * get_load_balancer).
 *
 * The same facts, the same look at the kernel and the same wanted state as a sync has;
 * nothing is written. */
#include "providers/local/provider.h"

#include <string.h>

#include "common/base/str.h"
#include "common/lb/explain.h"
#include "common/lb/node_rules.h"
#include "common/lb/service_rules.h"

int local_session_begin(struct local_session *x, struct local_provider *p,
                        const struct tt_call *call, const struct tt_batch *batch, struct err *err)
{
    struct arena *a = arena_new();

    *x = (struct local_session){.a = a};
    x->s = (struct lb_sync){.a = a,
                            .life = a,
                            .provider = p,
                            .host = p->host,
                            .call = call,
                            .batch = batch,
                            .clock = p->clock,
                            .rng = p->rng,
                            .planning = true,
                            .n_items = batch->n_items,
                            .items = ARENA_ARRAY(a, struct lb_item, batch->n_items + 1)};
    for (uint32_t i = 0; i < batch->n_items; i++) {
        x->s.items[i] =
            (struct lb_item){.in = batch->items[i], .key = svc_key(a, batch->items[i]->service)};
    }
    int rc = local_facts(&x->s, err);
    return rc == ERR_OK && p->kernel != NULL ? local_observe(&x->s, err) : rc;
}

void local_session_end(struct local_session *x)
{
    struct local_provider *p = x->s.provider;

    p->call = NULL;
    arena_free(x->a);
}

/* ---- explain --------------------------------------------------------------------------------- */

static const char *addr_text(struct arena *a, const struct ip_addr *addr)
{
    char text[IP_TEXT_MAX];

    ip_format(addr, text);
    return arena_strdup(a, text);
}

static void explain_addresses(struct lb_explain *b, const struct local_item *it)
{
    for (size_t i = 0; i < it->grant.n; i++) {
        const struct local_granted *g = &it->grant.have[i];
        const char *text = addr_text(b->a, &g->addr);
        lb_explain_decision(b, "address", text,
                            g->pool == NULL ? "in no pool any more; kept"
                            : g->in_status
                                ? arena_printf(b->a, "of pool %s; it has it", g->pool->name)
                                : arena_printf(b->a, "of pool %s; it gets it", g->pool->name));
        lb_explain_text_row(b, TT_EXPLAIN_ADDRESS, text);
    }
    for (size_t i = 0; i < it->grant.n_old; i++) {
        lb_explain_decision(b, "address", addr_text(b->a, &it->grant.old[i]),
                            "goes when the status shows the other one");
    }
}

/* Where directors share addresses. */
static void explain_holder(struct lb_explain *b, const struct local_session *x,
                           const struct ip_addr *addr)
{
    struct local_provider *p = x->s.provider;

    if (!local_shared_by_config(p->config, local_pool_of(p->config, addr))) {
        return;
    }
    const char *director = local_leasing_holder(p, x->a, x->s.call, addr);
    lb_explain_decision(b, "held by", str_or(director, "no director"),
                        director == NULL ? "no Lease of a director claims it"
                                         : "its Lease says so");
}

static const char *scheduler_text(const struct local_serve *serve,
                                  const struct local_target_set *targets)
{
    return serve->affinity ? "by the client's address (sessionAffinity ClientIP)"
                           : local_scheduler_word(local_scheduler_of(serve, targets));
}

static const char *mode_outcome(enum local_mode mode)
{
    switch (mode) {
    case LOCAL_MODE_IPVS_NAT:
    case LOCAL_MODE_IPVS_FULLNAT:
        return "this machine's IPVS rewrites the destination";
    case LOCAL_MODE_IPVS_DR:
        return "this machine's IPVS sends packets on as they are, by the node's MAC";
    case LOCAL_MODE_IPVS_TUNNEL:
        return "this machine's IPVS sends packets on as they are, in a tunnel";
    default:
        return "this machine's nftables rewrite the destination";
    }
}

static void explain_targets_kind(struct lb_explain *b, enum local_targets targets)
{
    if (targets == LOCAL_TARGETS_POD) {
        lb_explain_decision(b, "targets", "pod", "pods themselves");
    } else if (targets == LOCAL_TARGETS_NODE) {
        lb_explain_decision(b, "targets", "node", "nodes, which take packets for the address");
    } else {
        lb_explain_decision(b, "targets", "nodePort", "nodes' ports");
    }
}

static void explain_serving(struct lb_explain *b, const struct local_item *it)
{
    const struct local_serve *serve = &it->wanted[0].serve;

    lb_explain_decision(b, "mode", local_mode_word(serve->mode), mode_outcome(serve->mode));
    lb_explain_decision(b, "scheduler", scheduler_text(serve, &it->wanted[0].targets[0]), NULL);
    explain_targets_kind(b, serve->targets);
    lb_explain_decision(b, "snat", serve->snat ? "always" : "never",
                        serve->snat ? "targets see this machine's address"
                        : local_mode_keeps_vip(serve->mode)
                            ? "targets see the client's address and answer it themselves"
                            : "targets see the client's address; their way back leads "
                              "through this machine");
}

static void explain_links(struct lb_explain *b, const struct local_item *it, size_t address)
{
    const struct local_vip_pair *v = &it->vips[address];
    const char *silent = address < it->grant.n ? local_directing_silent(b->a, it, address) : NULL;

    for (size_t i = 0; i < v->n_links; i++) {
        const struct local_link *l = v->links[i];
        lb_explain_decision(b, "announced on", l->name,
                            arena_printf(b->a, "MAC %02x:%02x:%02x:%02x:%02x:%02x", l->mac[0],
                                         l->mac[1], l->mac[2], l->mac[3], l->mac[4], l->mac[5]));
    }
    if (silent != NULL) {
        lb_explain_text_row(b, TT_EXPLAIN_WARNING, silent);
    }
}

static void explain_targets(struct lb_explain *b, const struct lb_sync *s,
                            const struct local_item *it)
{
    const struct local_target_set *t = &it->wanted[0].targets[0];
    size_t taking = 0;

    for (size_t i = 0; i < t->n; i++) {
        taking += t->items[i].weight > 0;
    }
    lb_explain_nodes(b, taking, s->batch->n_nodes,
                     arena_printf(b->a, "%s of port %d", str_count(b->a, taking, "target"),
                                  it->service->ports[0].port));
    const struct local_target_set *base = &it->wanted[0].base[0];
    for (size_t i = 0; i < base->n; i++) {
        if (base->items[i].weight > 0 && t->items[i].weight == 0) {
            lb_explain_left_out(b,
                                str_or(base->items[i].node, addr_text(b->a, &base->items[i].addr)),
                                "its health check fails: no new connections");
        }
    }
    for (size_t i = 0; i < t->n_left_out; i++) {
        lb_explain_left_out(b, t->left_out[i].who, t->left_out[i].why);
    }
}

/* ---- targets on a bridge of this machine ----------------------------------------------------- */

/* The link on whose network the target is; NULL: on none of this machine's. */
static const struct local_link *link_near(const struct local_sync *y, const struct ip_addr *target)
{
    for (size_t i = 0; i < y->n_addrs; i++) {
        const struct ip_net *net = &y->addrs[i].net;
        bool whole = net->prefix == net->addr.len * 8; /* a held address is no network */
        for (size_t k = 0; !whole && net->addr.len == target->len && k < y->n_links; k++) {
            if (y->links[k].index == y->addrs[i].link && ip_net_contains(net, target)) {
                return &y->links[k];
            }
        }
    }
    return NULL;
}

/* With br_netfilter the bridge itself forwards a connection whose destination became its own
 * sender, and drops it at a port without hairpin mode (vector G12). */
static void explain_bridge(struct lb_explain *b, const struct local_sync *y,
                           const struct local_link *bridge)
{
    _cleanup_(str_buf_done) struct str_buf ports = STR_BUF_INIT;
    const char *first = NULL;

    for (size_t i = 0; i < y->n_links; i++) {
        const struct local_link *l = &y->links[i];
        if (l->bridge == bridge->index && !l->hairpin) {
            str_appendf(&ports, "%s%s", first == NULL ? "" : ", ", l->name);
            first = str_or(first, l->name);
        }
    }
    if (first != NULL) {
        lb_explain_text_row(
            b, TT_EXPLAIN_WARNING,
            arena_printf(b->a,
                         "targets are on bridge %s of this machine, and hairpin mode is off on its "
                         "ports %s: a target that is a client of this address loses connections "
                         "that come to itself (bridge link set dev %s hairpin on)",
                         bridge->name, str_buf_text(&ports), first));
    }
}

static void explain_hairpin(struct lb_explain *b, const struct local_session *x,
                            const struct local_item *it)
{
    const struct local_sync *y = x->s.data;
    const struct local_target_set *t = &it->wanted[0].targets[0];
    const struct local_link *told = NULL;
    bool v6 = it->grant.have[0].addr.len == 16;
    struct err ignored = ERR_INIT; /* a kernel without br_netfilter has no such sysctl */
    int64_t on = 0;

    (void)y->p->kernel->ops->sysctl_read(y->p->kernel,
                                         v6 ? "net.bridge.bridge-nf-call-ip6tables"
                                            : "net.bridge.bridge-nf-call-iptables",
                                         &on, &ignored);
    for (size_t i = 0; on != 0 && i < t->n; i++) {
        const struct local_link *l = link_near(y, &t->items[i].addr);
        if (l != NULL && l != told) {
            explain_bridge(b, y, l);
            told = l;
        }
    }
}

/* ---- the way of a packet --------------------------------------------------------------------- */

static void explain_way(struct lb_explain *b, const struct local_item *it)
{
    const struct local_wanted *w = &it->wanted[0];
    const struct tt_port *port = &it->service->ports[0];
    bool pods = w->serve.targets == LOCAL_TARGETS_POD;
    const char *source = w->serve.snat ? "its source address becomes this machine's"
                                       : "its source address stays the client's";

    lb_explain_hop(b, "client", "client", -1, NULL);
    lb_explain_hop(b, "load balancer", addr_text(b->a, &it->grant.have[0].addr), port->port, NULL);
    int64_t at = pods ? -1 : w->serve.targets == LOCAL_TARGETS_NODE ? port->port : port->node_port;
    lb_explain_hop(b, pods ? "pod" : "node", pods ? "pod" : "node", at, source);
}

/* The answer; false: there is no more to say. */
static bool explain_answer(struct lb_explain *b, const struct lb_item *item,
                           const struct local_item *it)
{
    if (item->err.code == ERR_IMPLEMENTED_ELSEWHERE) {
        lb_explain_answer(b, "elsewhere", NULL,
                          arena_printf(b->a, "is left alone: %s.", item->err.message));
        return false;
    }
    if (item->err.code != ERR_OK) {
        lb_explain_answer(b, "refused", NULL,
                          arena_printf(b->a, "is refused: %s.", item->err.message));
        return it->grant.n > 0 && it->n_wanted > 0;
    }
    if (it->grant.n == 0 || it->n_wanted == 0) {
        lb_explain_answer(b, "none", NULL, "has no load balancer here.");
        return false;
    }
    const char *mode = local_mode_word(it->wanted[0].serve.mode);
    lb_explain_answer(b, "served", arena_printf(b->a, "local load balancer, %s", mode),
                      arena_printf(b->a, "is served by this machine at %s (%s).",
                                   addr_text(b->a, &it->grant.have[0].addr), mode));
    return true;
}

/* By an allocator, which knows the address and nothing of a kernel. */
static void explain_allocated(struct lb_explain *b, const struct lb_item *item,
                              const struct local_item *it)
{
    bool served = item->err.code == ERR_OK && it->grant.n > 0;

    if (!served) {
        (void)explain_answer(b, item, it);
        return;
    }
    lb_explain_answer(b, "served", "local load balancer",
                      arena_printf(b->a, "has the address %s; directors forward its traffic.",
                                   addr_text(b->a, &it->grant.have[0].addr)));
    explain_addresses(b, it);
}

static void explain_one(struct local_session *x, struct lb_item *item, struct local_item *it)
{
    struct lb_explain b;

    lb_explain_init(&b, x->a);
    if (((const struct local_provider *)x->s.provider)->kernel == NULL) {
        explain_allocated(&b, item, it);
    } else if (explain_answer(&b, item, it) && it->service->n_ports > 0) {
        explain_addresses(&b, it);
        explain_holder(&b, x, &it->grant.have[0].addr);
        explain_serving(&b, it);
        explain_links(&b, it, 0);
        explain_targets(&b, &x->s, it);
        explain_hairpin(&b, x, it);
        explain_way(&b, it);
    }
    lb_explain_send(&b, x->s.host, item->in->result, item->key);
}

int32_t local_explain(void *provider, const struct tt_call *call, const struct tt_batch *batch)
{
    struct local_provider *p = provider;
    struct local_session x;
    struct err err = ERR_INIT;
    struct lb_plan plan;

    mutex_lock(&p->lock);
    int rc = local_session_begin(&x, p, call, batch, &err);
    const struct local_sync *y = x.s.data;

    if (rc == ERR_OK && p->kernel != NULL) {
        lb_plan_init(&plan, x.a);
        rc = local_plan_stage(&x.s, &plan, &err);
    }
    for (uint32_t i = 0; i < batch->n_items; i++) {
        if (rc != ERR_OK) {
            x.s.host->result_fail(batch->items[i]->result, rc, err.message, 0);
        } else {
            explain_one(&x, &x.s.items[i], &y->items[i]);
        }
    }
    local_session_end(&x);
    mutex_unlock(&p->lock);
    return rc;
}

/* ---- is there anything? ---------------------------------------------------------------------- */

/* An allocator's Service has what its status says. */
static int32_t get_allocated(struct local_provider *p, const struct tt_item *item)
{
    const struct tt_host *host = p->host;
    const struct tt_service *s = item->service;
    bool ours = s->n_ingress > 0 && svc_annotation(s, LOCAL_POOL_GIVEN) != NULL;

    if (ours) {
        host->result_ingress(item->result, s->ingress, s->n_ingress);
    }
    host->result_exists(item->result, ours);
    return TT_OK;
}

int32_t local_get_load_balancer(void *provider, const struct tt_call *call,
                                const struct tt_item *item)
{
    struct local_provider *p = provider;
    struct local_session x;
    struct err err = ERR_INIT;
    struct tt_item as_deletion = *item;
    const struct tt_item *items[] = {&as_deletion};
    const struct tt_batch batch = {.size = sizeof batch, .key = "", .items = items, .n_items = 1};
    bool exists = false;
    char text[IP_TEXT_MAX];

    if (p->kernel == NULL) {
        return get_allocated(p, item);
    }
    as_deletion.verb = TT_VERB_DELETE; /* everything that is its own, wanted or not */
    mutex_lock(&p->lock);
    int rc = local_session_begin(&x, p, call, &batch, &err);
    const struct local_sync *y = x.s.data;
    for (size_t i = 0; rc == ERR_OK && i < y->items[0].n_vips; i++) {
        const struct local_vip_pair *v = &y->items[0].vips[i];
        if (!exists && v->have.guarded && (v->other == NULL || y->items[0].n_have > 0)) {
            exists = true;
            ip_format(&v->have.addr, text);
            const struct tt_ingress in = {.ip = text};
            x.s.host->result_ingress(item->result, &in, 1);
        }
    }
    if (rc == ERR_OK) {
        x.s.host->result_exists(item->result, exists);
    } else {
        x.s.host->result_fail(item->result, rc, err.message, 0);
    }
    local_session_end(&x);
    mutex_unlock(&p->lock);
    return rc;
}
