/* SPDX-License-Identifier: Apache-2.0 */
/* trace.c: what is known of a packet before any rule is checked, and what the modes have
 * in common; see trace.h. */
#include "common/services/trace/trace.h"

#include <string.h>

#include "common/base/str.h"
#include "common/services/trace/walk.h"

/* ---- addresses ------------------------------------------------------------------------------- */

bool ks_is_loopback(const struct ip_addr *ip)
{
    static const struct ip_addr six = {.bytes = {[15] = 1}, .len = 16};
    return ip->len == 4 ? ip->bytes[0] == 127 : ip_eq(ip, &six);
}

static bool is_node_address(const struct ks_node_config *config, const struct ip_addr *ip)
{
    struct ip_addr own;
    if (ks_is_loopback(ip) || (ip_parse_sloppy(config->ip, &own) && ip_eq(&own, ip))) {
        return true;
    }
    for (size_t i = 0; i < config->n_addresses; i++) {
        if (ip_parse_sloppy(config->addresses[i], &own) && ip_eq(&own, ip)) {
            return true;
        }
    }
    return false;
}

/* True when the detector sees a pod of this node.  Without a detector it is always false. */
static bool is_pod_of_node(const struct ks_node_config *config, const struct ks_packet *p)
{
    struct ip_net net;
    switch (config->detect) {
    case KS_DETECT_CIDR:
        return ip_net_parse_sloppy(str_nonnull(config->detect_value), &net) &&
               ip_net_contains(&net, &p->source);
    case KS_DETECT_BRIDGE:
        return p->interface_ != NULL && str_eq(p->interface_, config->detect_value);
    case KS_DETECT_PREFIX:
        return p->interface_ != NULL &&
               str_has_prefix(p->interface_, str_nonnull(config->detect_value));
    case KS_DETECT_NONE:
        break;
    }
    return false;
}

static bool answers_node_ports(struct arena *a, const struct ks_node_config *config,
                               const struct ip_addr *dest)
{
    size_t n;
    const struct ip_addr *ips = ks_node_port_addresses(a, config, &n);
    for (size_t i = 0; i < n; i++) {
        if (ip_eq(&ips[i], dest)) {
            return true;
        }
    }
    return false;
}

/* ---- steps and ends -------------------------------------------------------------------------- */

void ks_walk_step(struct ks_walk *w, const char *name)
{
    if (w->trace.n_steps < KS_STEPS_MAX) {
        w->steps[w->trace.n_steps++] = name;
    }
}

void ks_walk_end(struct ks_walk *w, enum ks_verdict verdict, enum ks_reason reason,
                 const struct ks_dest *dest)
{
    w->trace.verdict = verdict;
    w->trace.reason = reason;
    w->trace.dest = dest;
}

void ks_walk_to(struct ks_walk *w, const struct ks_dest *dest, enum ks_reason reason,
                struct ks_list list, bool marked)
{
    ks_walk_end(w, KS_TO_ENDPOINTS, reason, dest);
    w->trace.list = list;
    w->trace.masquerade_every = marked;
}

/* Finds out whether the source is one of the endpoints.  iptables asks so of each endpoint, the
 * other modes of those on this node. */
static void find_hairpin(struct ks_trace *t, const struct ip_addr *source, bool only_local)
{
    for (size_t i = 0; i < t->list.n && !t->hairpin; i++) {
        const struct ks_endpoint *e = t->list.items[i];
        t->hairpin = (e->local || !only_local) && ip_eq(&e->ip, source);
    }
    t->masquerade = t->masquerade_every || t->hairpin;
    t->masquerade_every = t->masquerade_every || (t->hairpin && t->list.n == 1);
}

/* ---- conditions ------------------------------------------------------------------------------ */

bool ks_walk_marks_internal(const struct ks_walk *w)
{
    return w->config->masquerade_all || (w->config->detect != KS_DETECT_NONE && !w->from_pod);
}

bool ks_walk_in_ranges(const struct ks_walk *w, const struct ks_dest *dest)
{
    const struct ks_port *p = dest->port;
    bool in = p->n_source_ranges == 0;
    for (size_t i = 0; i < p->n_source_ranges && !in; i++) {
        in = ip_net_contains(&p->source_ranges[i], &w->packet->source);
    }
    for (size_t i = 0; i < p->n_lb_vips && !in; i++) {
        in = ip_eq(&p->lb_vips[i], &w->packet->source) && ks_node_in_ranges(w->config, p);
    }
    return in;
}

void ks_walk_end_unmet(struct ks_walk *w)
{
    const struct ks_packet *p = w->packet;
    size_t n;
    const struct ks_dest *met = ks_plan_find(w->plan, &p->dest, 0, NULL, &n);
    if (met != NULL) {
        ks_walk_end(w, KS_NOT_OURS, KS_R_WRONG_PORT, met);
        return;
    }
    met = w->to_node ? ks_plan_find(w->plan, NULL, p->port, p->protocol, &n) : NULL;
    if (met != NULL && met->kind == KS_DEST_NODE_PORT) {
        ks_walk_end(w, KS_NOT_OURS, KS_R_NODE_PORT_ELSEWHERE, met);
        return;
    }
    met = ks_plan_find_passed(w->plan, &p->dest, p->port, p->protocol, &n);
    met = met != NULL ? met : ks_plan_find_passed(w->plan, &p->dest, 0, NULL, &n);
    ks_walk_end(w, KS_NOT_OURS, met == NULL ? KS_R_NONE : KS_R_NOT_CAPTURED, met);
}

/* ---- the trace ------------------------------------------------------------------------------- */

struct ks_trace ks_trace_packet(struct arena *a, const struct ks_plan *plan, enum ks_mode mode,
                                const struct ks_packet *p)
{
    static void (*const walks[])(struct ks_walk *) = {
        [KS_IPTABLES] = ks_walk_iptables,
        [KS_IPVS] = ks_walk_ipvs,
        [KS_NFTABLES] = ks_walk_nftables,
    };
    const struct ks_node_config *config = &plan->world->config;
    struct ks_walk w = {.a = a, .plan = plan, .config = config, .packet = p};
    if (p->dest.len != (config->family == KS_IPV6 ? 16 : 4)) {
        return w.trace;
    }
    w.from_node = p->from_node || is_node_address(config, &p->source);
    w.from_pod = is_pod_of_node(config, p);
    w.to_node = is_node_address(config, &p->dest);
    w.takes_node_ports = w.to_node && answers_node_ports(a, config, &p->dest);
    walks[mode](&w);
    if (w.trace.verdict == KS_TO_ENDPOINTS) {
        find_hairpin(&w.trace, &p->source, mode != KS_IPTABLES);
    }
    if (w.trace.n_steps > 0) {
        w.trace.steps = arena_memdup(a, w.steps, w.trace.n_steps * sizeof(w.steps[0]));
    }
    return w.trace;
}
