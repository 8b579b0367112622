/* SPDX-License-Identifier: Apache-2.0 */
/* aws_nobody_rules.c: whether security groups let any client of a Service in, and source ranges
 * that become rules of no group.
 *
 * The rules of such groups are not ours: a group without a rule for the ports makes a load
 * balancer that looks well and answers no client.  An NLB passes the addresses of its clients on,
 * and nodes let in the Service's source ranges (and, for probes, the subnets): clients that the
 * group lets in have to be among these, too.  Groups that were not read say nothing.  Part
 * of aws_plan.h. Pure. */
#include "providers/aws/plan/aws_groups_plan.h"

#include "common/base/ip.h"
#include "common/base/str.h"
#include "providers/aws/rules/aws_attribute_rules.h"
#include "providers/aws/rules/aws_health_rules.h"

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

/* Nodes see who the clients are, and trimtab keeps the rules by which they let them in. */
static bool nodes_tell_clients_apart(const struct aws_planning *p)
{
    const struct aws_service *s = p->service;
    const char *keeps = aws_tag(&s->group_attributes, AWS_ATTRIBUTE_KEEPS_CLIENT_IP);
    return s->kind == AWS_NLB && !p->naming->no_node_rules && !str_eq(keeps, "false");
}

/* Do nodes let any of these clients in? */
static bool nodes_let_in(const struct aws_planning *p, const char *cidr)
{
    const struct aws_service *s = p->service;
    bool all = !nodes_tell_clients_apart(p);
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

/* ---- nodes whose rules are not ours ---------------------------------------------------------- */

/* The load balancer has security groups, or gets one: rules about them let it in. */
static bool has_groups(const struct aws_planning *p)
{
    const struct aws_nlb *nlb = p->seen->nlb;
    bool nlb_has = nlb != NULL ? nlb->groups.n > 0 : str_eq(p->naming->nlb_group_mode, "Managed");
    return p->service->kind == AWS_CLASSIC || nlb_has;
}

static bool opens_node_port(const struct aws_planning *p, const struct aws_group *g,
                            const struct aws_rule *r)
{
    const struct aws_service *s = p->service;
    bool about_group = r->peer == AWS_PEER_GROUP;
    if (about_group && (str_eq(r->source, g->id) || !has_groups(p))) {
        return false; /* among nodes; or about a group that is not the load balancer's */
    }
    for (size_t i = 0; i < s->n_ports; i++) {
        int32_t port = s->ports[i].node_port;
        bool covers =
            str_eq(r->protocol, "-1") || r->from < 0 || (r->from <= port && port <= r->to);
        if (covers && protocol_fits(r, &s->ports[i])) {
            return true;
        }
    }
    return false;
}

/* True also if one of its groups was not read. */
static bool may_reach(const struct aws_planning *p, const struct aws_instance *in)
{
    for (size_t i = 0; i < in->n_groups; i++) {
        const struct aws_group *g = aws_group_find(p->around, in->groups[i].id);
        if (g == NULL) {
            return true;
        }
        for (size_t k = 0; k < g->rules.n; k++) {
            if (opens_node_port(p, g, &g->rules.items[k])) {
                return true;
            }
        }
    }
    return in->n_groups == 0;
}

bool aws_nodes_let_nobody_in(const struct aws_planning *p)
{
    bool closed = p->naming->no_node_rules && p->service->n_ports > 0;
    for (size_t i = 0; closed && i < p->around->n_instances; i++) {
        closed = !may_reach(p, &p->around->instances[i]);
    }
    return closed && p->around->n_instances > 0;
}

/* ---- source ranges --------------------------------------------------------------------------- */

/* They are the rules of a security group that the load balancer has, or gets, for itself alone. */
static bool ranges_are_ours(const struct aws_planning *p)
{
    const struct aws_naming *n = p->naming;
    const struct aws_nlb *nlb = p->seen->nlb;
    bool named = p->service->groups.n > 0;
    if (p->service->kind == AWS_CLASSIC) {
        return !named && str_is_empty(n->shared_group);
    }
    return !named && str_eq(n->nlb_group_mode, "Managed") && (nlb == NULL || nlb->groups.n > 0);
}

/* Probes come from the NLB's subnets: where they ask the node ports, a client there reaches
 * these, too.  True if it is not known. */
static bool subnets_reach_node_ports(const struct aws_planning *p)
{
    const struct aws_service *s = p->service;
    struct aws_target_health_check check;
    struct err err = ERR_INIT;
    int64_t port = 0;
    if (aws_nlb_health(p->a, p->naming, s->in, &check, &err) != ERR_OK ||
        !str_to_i64(check.port, &port)) {
        return true; /* the port of the traffic */
    }
    for (size_t i = 0; i < s->n_ports; i++) {
        if (s->ports[i].node_port == port) {
            return true;
        }
    }
    return false;
}

/* A classic load balancer has them beside its own, with rules of their own.  True if one was not
 * read. */
static bool extra_groups_let_in(const struct aws_planning *p)
{
    const struct aws_texts *extra = &p->service->extra_groups;
    for (size_t i = 0; p->service->kind == AWS_CLASSIC && i < extra->n; i++) {
        const struct aws_group *g = find(p->around, extra->items[i]);
        if (g == NULL || lets_some_in(p, g)) {
            return true;
        }
    }
    return false;
}

/* Trimtab keeps the rules by which nodes let this NLB's packets in. */
static bool keeps_node_rules(const struct aws_planning *p)
{
    return p->service->kind == AWS_NLB && !p->naming->no_node_rules;
}

/* Nodes see the addresses of the NLB, which are in its subnets, and not those of clients.  True
 * also if a subnet is in a range that is not the NLB's. */
static bool nodes_let_the_balancer_in(const struct aws_planning *p)
{
    const struct aws_places *places = &p->around->places;
    bool met = subnets_reach_node_ports(p) || places->n_subnets == 0;
    for (size_t i = 0; !met && i < p->service->ranges.n; i++) {
        for (size_t k = 0; !met && k < places->n_subnets; k++) {
            met = overlap(p->service->ranges.items[i], places->subnets[k].cidr);
        }
    }
    return met;
}

const char *aws_ranges_let_nobody_in(const struct aws_planning *p)
{
    const struct aws_service *s = p->service;
    bool other_family = s->ranges.n == 0 && s->ranges6.n > 0;
    if (other_family &&
        (ranges_are_ours(p) ? !extra_groups_let_in(p)
                            : nodes_tell_clients_apart(p) && !subnets_reach_node_ports(p))) {
        return "the source ranges allow no client: none is of the family of its addresses";
    }
    if (keeps_node_rules(p) && !nodes_tell_clients_apart(p) && !nodes_let_the_balancer_in(p)) {
        return "the source ranges allow no client: with preserve_client_ip.enabled=false nodes see "
               "the load balancer's addresses, and no range holds them";
    }
    return NULL;
}

/* Continues the sentence that IPv6 ranges are left out: the clients that are let in then. */
static const char *instead_of_ranges6(const struct aws_planning *p)
{
    if (p->service->ranges.n > 0) {
        return "";
    }
    return subnets_reach_node_ports(p)
               ? ", and only clients in its subnets are let in, by the rule for its health checks"
               : ", and no client is let in";
}

const char *aws_ranges_without_effect(const struct aws_planning *p)
{
    const struct aws_service *s = p->service;
    bool named = s->groups.n > 0;
    if (ranges_are_ours(p) || aws_lets_everybody_in(s)) {
        return NULL; /* of a classic load balancer's IPv6 ranges aws_service.c tells */
    }
    if (s->kind == AWS_CLASSIC) {
        return arena_printf(p->a,
                            "source ranges have no effect: %s names the load balancer's security "
                            "group, and its rules decide which clients it lets in",
                            named ? "annotation " AWS_ANNOTATION "security-groups"
                                  : "ElbSecurityGroup of the cloud-config");
    }
    if (p->naming->no_node_rules) {
        return "source ranges have no effect: the NLB has no security group whose rules are the "
               "Service's, and with DisableSecurityGroupIngress of the cloud-config those of the "
               "nodes' groups are not either; what these groups allow decides which clients are "
               "let in";
    }
    if (!nodes_tell_clients_apart(p)) {
        return arena_printf(p->a,
                            "source ranges do not tell clients apart: the NLB has no security "
                            "group whose rules are the Service's, and with "
                            "preserve_client_ip.enabled=false nodes see its addresses instead of "
                            "theirs; %s",
                            nodes_let_the_balancer_in(p) ? "every client is let in"
                                                         : "no client is let in");
    }
    return s->ranges6.n == 0
               ? NULL
               : arena_printf(p->a,
                              "source range %s: the NLB has no security group whose rules are the "
                              "Service's, and nodes let IPv4 clients in alone; IPv6 ranges are "
                              "left out%s",
                              s->ranges6.items[0], instead_of_ranges6(p));
}
