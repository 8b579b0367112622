/* SPDX-License-Identifier: Apache-2.0 */
/* gce_l4_rules_desired.c: the forwarding rules of ingress-gce's balancers: one per family, or two
 * where TCP and UDP of an external Service have a rule each.
 *
 *     internal                       k8s2-<protocol>-…   ports, or all of them
 *     external, one protocol         a<uid>              a range, or up to five ports where these
 *                                    are enabled
 *     external, both, L3 rules on    k8s2-l3-…           all ports
 *     external, both, L3 rules off   k8s2-tcp-… and k8s2-udp-… share one address; IPv4 only
 * IPv6 rules have the same names with "-ipv6".  Source: gce-l4.md §2.3, §4.7, §5.2–5.4.
 * Part of gce_bs_desired_parts.h.  Pure. */
#include "providers/gce/backend/gce_bs_desired_parts.h"

#include "common/base/str.h"
#include "providers/gce/model/gce_service_rules.h"

#define L3 "L3_DEFAULT"

/* Members common to all rules of a Service. */
static struct gce_rule common(const struct gce_l4_wish *w, const char *name, const char *protocol)
{
    struct gce_rule r = gce_rule_blank();
    r.name = name;
    r.description =
        gce_l4_describe(w->a, &(struct gce_l4_description){.service = w->in->key, .version = "ga"});
    r.protocol = protocol;
    r.backend_service =
        gce_bs_link(w->a, w->f, gce_bs_region(w->a, w->f), "backendServices", w->names.backend);
    r.scheme = w->internal ? "INTERNAL" : "EXTERNAL";
    r.tier = w->internal ? "PREMIUM" : w->tier;
    return r;
}

/* IPv6 rules have a short description; their tier is the best one, because the other
 * is refused (§5.4). */
static void make_v6(const struct gce_l4_wish *w, struct gce_rule *r)
{
    r->description = gce_l4_describe(w->a, &(struct gce_l4_description){.service = w->in->key});
    r->ip_version = "IPV6";
}

/* Names among `all` but the wanted ones. */
static struct gce_strs others(struct arena *a, const char *const *all, size_t n,
                              const struct gce_bs_side *side)
{
    struct gce_strs out = {.items = ARENA_ARRAY(a, const char *, n)};
    for (size_t i = 0; i < n; i++) {
        bool wanted = false;
        for (size_t k = 0; k < side->n_rules; k++) {
            wanted = wanted || str_eq(side->rules[k].name, all[i]);
        }
        if (!wanted) {
            out.items[out.n++] = all[i];
        }
    }
    return out;
}

/* ---- internal -------------------------------------------------------------------------------- */

static const char *internal_name(const struct gce_l4_wish *w, bool v6)
{
    const struct gce_l4_names *n = &w->names;
    if (str_eq(w->ports.rule_protocol, "TCP")) {
        return v6 ? n->rule_tcp_v6 : n->rule_tcp;
    }
    if (str_eq(w->ports.rule_protocol, "UDP")) {
        return v6 ? n->rule_udp_v6 : n->rule_udp;
    }
    return v6 ? n->rule_l3_v6 : n->rule_l3;
}

static void internal_side(const struct gce_l4_wish *w, bool v6, struct gce_bs_side *side)
{
    const struct gce_l4_names *n = &w->names;
    const char *const v4_names[] = {n->rule_tcp, n->rule_udp, n->rule_l3};
    const char *const v6_names[] = {n->rule_tcp_v6, n->rule_udp_v6, n->rule_l3_v6};
    struct gce_rule r = common(w, internal_name(w, v6), w->ports.rule_protocol);
    r.all_ports = str_eq(r.protocol, L3) || w->ports.all.n > GCE_RULE_PORTS_MAX;
    r.ports = r.all_ports ? (struct gce_strs){0} : w->ports.all;
    r.network = w->f->network;
    r.subnetwork = w->subnet;
    r.global_access = *w->subnet != '\0' && gce_svc_wants_global_access(w->s);
    if (v6) {
        make_v6(w, &r);
    }
    side->rules[0] = r;
    side->n_rules = 1;
    side->address_name = r.name;
    side->stale_rules = others(w->a, v6 ? v6_names : v4_names, ARRAY_LEN(v4_names), side);
}

/* ---- external -------------------------------------------------------------------------------- */

static bool uses_l3(const struct gce_l4_wish *w)
{
    return w->mixed_on && w->ports.mixed && w->f->flags.l3_default;
}

static bool is_split(const struct gce_l4_wish *w)
{
    return w->mixed_on && w->ports.mixed && !w->f->flags.l3_default;
}

static void set_ports(const struct gce_l4_wish *w, struct gce_rule *r, const struct gce_strs *ports,
                      bool discrete)
{
    if (str_eq(r->protocol, L3)) {
        r->all_ports = true;
    } else if (discrete && ports->n <= GCE_RULE_PORTS_MAX) {
        r->ports = *ports;
    } else {
        r->port_range = gce_l4_range_of(w->a, ports);
    }
}

/* TCP and UDP, each with its own ports, however few enables discrete ones (§5.3). */
static void split_rules(const struct gce_l4_wish *w, struct gce_bs_side *side)
{
    side->rules[0] = common(w, w->names.rule_tcp, "TCP");
    set_ports(w, &side->rules[0], &w->ports.tcp, true);
    side->rules[1] = common(w, w->names.rule_udp, "UDP");
    set_ports(w, &side->rules[1], &w->ports.udp, true);
    side->n_rules = 2;
}

static void external_v4(const struct gce_l4_wish *w, struct gce_bs_side *side)
{
    const struct gce_l4_names *n = &w->names;
    const char *const names[] = {n->legacy, n->rule_tcp, n->rule_udp, n->rule_l3};
    if (is_split(w)) {
        split_rules(w, side);
    } else {
        side->rules[0] = common(w, uses_l3(w) ? n->rule_l3 : n->legacy, w->ports.rule_protocol);
        set_ports(w, &side->rules[0], &w->ports.all, w->f->flags.discrete_ports);
        side->n_rules = 1;
    }
    side->address_name = n->legacy;
    side->stale_rules = others(w->a, names, ARRAY_LEN(names), side);
}

static void external_v6(const struct gce_l4_wish *w, struct gce_bs_side *side)
{
    const struct gce_l4_names *n = &w->names;
    const char *const names[] = {n->legacy_v6, n->rule_l3_v6};
    struct gce_rule r =
        common(w, uses_l3(w) ? n->rule_l3_v6 : n->legacy_v6, w->ports.rule_protocol);
    set_ports(w, &r, &w->ports.all, w->f->flags.discrete_ports);
    make_v6(w, &r);
    r.ip_collection = w->collection;
    r.subnetwork = *w->collection == '\0' ? w->subnet : "";
    side->rules[0] = r;
    side->n_rules = 1;
    side->address_name = r.name;
    side->stale_rules = others(w->a, names, ARRAY_LEN(names), side);
}

/* Names of a family that is not wanted are returned, too: what is there of it goes. */
void gce_l4_desired_rules(const struct gce_l4_wish *w, struct gce_bs_desired *d)
{
    d->v4.user = w->in->user_v4;
    d->v6.user = w->in->user_v6;
    if (w->internal) {
        internal_side(w, false, &d->v4);
        internal_side(w, true, &d->v6);
    } else {
        external_v4(w, &d->v4);
        external_v6(w, &d->v6);
    }
    d->v4.wanted = w->want_v4;
    d->v6.wanted = w->want_v6;
    d->v6.v6 = true;
}
