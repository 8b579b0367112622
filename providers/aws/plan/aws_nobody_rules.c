/* SPDX-License-Identifier: Apache-2.0 */
/* aws_nobody_rules.c: whether the security groups that a Service names let any client in.
 *
 * The rules of such groups are not ours: a group without a rule for the ports makes a load
 * balancer that looks well and answers no client.  An NLB passes the addresses of its clients on,
 * and nodes let in the Service's source ranges (and, for probes, the subnets): clients that the
 * group lets in have to be among these, too.  Groups that were not read say nothing.  Part
 * of aws_plan.h. Pure. */
#include "providers/aws/plan/aws_groups_plan.h"

#include "common/base/ip.h"
#include "common/base/str.h"

static bool protocol_fits(const struct aws_rule *r, const struct aws_service_port *port)
{
    bool both = str_eq(port->protocol, "TCP_UDP");
    bool udp = str_eq(port->protocol, "UDP");
    return str_eq(r->protocol, "-1") || (str_eq(r->protocol, "tcp") && (both || !udp)) ||
           (str_eq(r->protocol, "udp") && (both || udp));
}

static bool overlap(const char *x, const char *y)
{
    struct ip_net a, b;
    return ip_net_parse(x, &a) && ip_net_parse(y, &b) &&
           (ip_net_contains(&a, &b.addr) || ip_net_contains(&b, &a.addr));
}

/* Do nodes let any of these clients in? */
static bool nodes_let_in(const struct aws_planning *p, const char *cidr)
{
    const struct aws_service *s = p->service;
    const char *keeps = aws_tag(&s->group_attributes, "preserve_client_ip.enabled");
    bool all = s->kind == AWS_CLASSIC || p->naming->no_node_rules || str_eq(keeps, "false");
    for (size_t i = 0; i < s->ranges.n && !all; i++) {
        all = overlap(s->ranges.items[i], cidr);
    }
    for (size_t i = 0; i < p->around->places.n_subnets && !all; i++) {
        all = overlap(p->around->places.subnets[i].cidr, cidr);
    }
    return all;
}

/* The load balancer has IPv4 addresses: a range of IPv6 lets no client in. */
static bool lets_in(const struct aws_planning *p, const struct aws_rule *r,
                    const struct aws_service_port *port)
{
    bool all = str_eq(r->protocol, "-1") || r->from < 0;
    bool covers = all || (r->from <= port->port && port->port <= r->to);
    if (!covers || !protocol_fits(r, port) || r->peer == AWS_PEER_CIDR6) {
        return false;
    }
    return r->peer != AWS_PEER_CIDR || nodes_let_in(p, r->source);
}

static bool lets_some_in(const struct aws_planning *p, const struct aws_group *g)
{
    const struct aws_service *s = p->service;
    for (size_t i = 0; i < g->rules.n; i++) {
        for (size_t k = 0; k < s->n_ports; k++) {
            if (lets_in(p, &g->rules.items[i], &s->ports[k])) {
                return true;
            }
        }
    }
    return false;
}

/* Those of the named groups that the load balancer has; n 0: its rules are ours, or it
 * has no groups. */
static struct aws_texts named_groups(const struct aws_naming *n, const struct aws_service *s,
                                     const struct aws_nlb *nlb)
{
    if (s->kind == AWS_CLASSIC) {
        return s->groups;
    }
    bool takes = str_eq(n->nlb_group_mode, "Managed") && (nlb == NULL || nlb->groups.n > 0);
    return takes ? s->groups : (struct aws_texts){0};
}

static const struct aws_group *find(const struct aws_surroundings *around, const char *id)
{
    const struct aws_group *g = aws_group_find(around, id);
    for (size_t i = 0; g == NULL && i < around->n_named; i++) {
        g = str_eq(around->named[i].id, id) ? &around->named[i] : NULL;
    }
    return g;
}

bool aws_named_groups_let_nobody_in(const struct aws_planning *p)
{
    const struct aws_service *s = p->service;
    struct aws_texts groups[2] = {named_groups(p->naming, s, p->seen->nlb)};
    if (groups[0].n > 0 && s->kind == AWS_CLASSIC) {
        groups[1] = s->extra_groups;
    }
    for (size_t k = 0; k < ARRAY_LEN(groups); k++) {
        for (size_t i = 0; i < groups[k].n; i++) {
            const struct aws_group *g = find(p->around, groups[k].items[i]);
            if (g == NULL || lets_some_in(p, g)) {
                return false;
            }
        }
    }
    return groups[0].n > 0;
}
