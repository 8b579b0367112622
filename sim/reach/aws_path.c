/* SPDX-License-Identifier: Apache-2.0 */
/* aws_path.c: from a client through a node of a balancer to a target.
 *
 * A client connects to a node: its family fits, an internet-facing node can answer it, and the
 * balancer's groups, if there are any, let it in at the listener's port.  The node sends the packet
 * on: the balancer's groups let it out, and the target's let it in, from the client's address where
 * that is preserved, else from the node's own.  A rule of the target that refers to a group of the
 * balancer allows both; one that refers to a group of the client allows neither, as AWS documents.
 * A client may get to any node, so only clients that reach a target by each node that sends to it
 * are said to reach it.
 * Source: see aws.h. */
#include "sim/reach/aws.h"

#include "common/base/str.h"

/* How targets that differ in name and address alone are reached. */
struct reach_aws_way {
    struct reach_aws_set *groups;
    const char *zone;
    int64_t port, check_port;
    /* found */
    bool is_there; /* a node sends to it */
    bool is_checked;
    struct reach_ranges clients;
    struct reach_aws_way *next;
};

/* --- balancers -------------------------------------------------------------------------------- */

bool reach_aws_balancer_init(struct reach_aws *w, struct json_object *document, size_t n,
                             struct reach_aws_balancer *ret)
{
    const char *name = json_str(document, "DNSName");
    if (str_is_empty(name)) {
        return false;
    }
    *ret = (struct reach_aws_balancer){
        .address = str_lower(w->a, name),
        .internal = str_eq(json_str(document, "Scheme"), "internal"),
        .ipv4 = true,
        .ipv6 = str_has_prefix(str_nonnull(json_str(document, "IpAddressType")), "dualstack"),
        .places = ARENA_ARRAY(w->a, struct reach_aws_place, n),
    };
    return true;
}

void reach_aws_balancer_place(struct reach_aws *w, struct reach_aws_balancer *lb,
                              const char *subnet, const char *address4, const char *address6)
{
    const struct reach_aws_subnet *s = map_get(w->subnets, str_nonnull(subnet));
    if (s != NULL) {
        lb->places[lb->n_places++] = (struct reach_aws_place){
            .zone = s->zone,
            .own4 = address4 != NULL ? reach_ranges_of(w->a, address4) : s->ipv4,
            .own6 = address6 != NULL ? reach_ranges_of(w->a, address6) : s->ipv6,
            .answers = lb->internal ? reach_ranges_all(w->a, true, true) : s->answers,
        };
    }
}

struct reach_port *reach_aws_listen(struct reach_aws *w, const struct reach_aws_balancer *lb,
                                    enum reach_aws_protocol protocol, int64_t port, const char *why)
{
    const struct reach_listener l = {
        .address = lb->address,
        .protocol = protocol == 0               ? NULL
                    : protocol == REACH_AWS_TCP ? "TCP"
                                                : "UDP",
        .low = (uint16_t)port,
        .high = (uint16_t)port,
        .internal = lb->internal,
        .why = why,
    };
    return reach_listen(w->reach, &l);
}

/* Clients that pass the balancer's own groups.  Rules that refer to groups are about private
 * addresses, which reach internal balancers alone. */
static struct reach_ranges clients_of(struct reach_aws_hop *h)
{
    if (!h->has_clients) {
        struct arena *a = h->world->a;
        const struct reach_aws_balancer *lb = h->lb;
        h->clients = reach_ranges_all(a, lb->ipv4, lb->ipv6);
        if (lb->groups != NULL) {
            struct reach_aws_packet p = {REACH_AWS_IN, h->protocol, h->listener_port};
            struct reach_ranges by_range = reach_aws_set_ranges(lb->groups, p);
            struct reach_ranges by_group =
                lb->internal ? reach_aws_bearers(h->world, lb->groups, p) : REACH_NOBODY;
            h->clients = reach_ranges_and(a, h->clients, reach_ranges_or(a, by_range, by_group));
        }
        h->has_clients = true;
    }
    return h->clients;
}

/* --- one node to one target ------------------------------------------------------------------- */

/* Packets of the node's own address pass the target's groups. */
static bool lets_in_node(struct reach_aws_hop *h, const struct reach_aws_place *node,
                         struct reach_aws_set *groups, enum reach_aws_protocol protocol,
                         int64_t port)
{
    struct reach_ranges own = h->ipv6 ? node->own6 : node->own4;
    if (groups == NULL) {
        return true;
    }
    struct reach_aws_packet p = {REACH_AWS_IN, protocol, port};
    return reach_aws_set_refers_to(groups, p, h->lb->groups) ||
           (!reach_ranges_empty(own) &&
            reach_ranges_within(h->world->a, own, reach_aws_set_ranges(groups, p)));
}

/* The subset of `clients` at the node that the target's groups allow.  A preserved address is
 * checked itself; a reference to the balancer's group allows all. */
static struct reach_ranges let_in(struct reach_aws_hop *h, const struct reach_aws_place *node,
                                  struct reach_aws_set *groups, int64_t port,
                                  struct reach_ranges clients)
{
    struct arena *a = h->world->a;
    bool by_node = lets_in_node(h, node, groups, h->protocol, port);
    struct reach_ranges same = reach_ranges_and(a, clients, h->world->families[h->ipv6]);
    if (h->preserves && groups != NULL) {
        struct reach_aws_packet p = {REACH_AWS_IN, h->protocol, port};
        bool by_group = reach_aws_set_refers_to(groups, p, h->lb->groups);
        same = by_group ? same : reach_ranges_and(a, same, reach_aws_set_ranges(groups, p));
    } else if (!by_node) {
        same = REACH_NOBODY;
    }
    if (!h->translates || !by_node) {
        return same;
    }
    return reach_ranges_or(a, same, reach_ranges_and(a, clients, h->world->families[!h->ipv6]));
}

/* By any node that sends to it: who gets to the target, less who gets stuck. */
static struct reach_aws_way *find_way(struct reach_aws_hop *h, struct reach_aws_way *way)
{
    struct arena *a = h->world->a;
    struct reach_aws_set *groups = way->groups;
    struct reach_ranges stuck = REACH_NOBODY;
    bool in_zone = way->zone == NULL;
    for (size_t i = 0; i < h->lb->n_places; i++) {
        in_zone = in_zone || str_eq(h->lb->places[i].zone, way->zone);
    }
    way->is_checked = true;
    for (size_t i = 0; in_zone && i < h->lb->n_places; i++) {
        const struct reach_aws_place *node = &h->lb->places[i];
        if (way->zone != NULL && !h->crosses && !str_eq(node->zone, way->zone)) {
            continue;
        }
        struct reach_ranges here = reach_ranges_and(a, clients_of(h), node->answers);
        struct reach_ranges in = let_in(h, node, groups, way->port, here);
        way->is_there = true;
        way->is_checked =
            way->is_checked && lets_in_node(h, node, groups, REACH_AWS_TCP, way->check_port);
        way->clients = reach_ranges_or(a, way->clients, in);
        stuck = reach_ranges_or(a, stuck, reach_ranges_minus(a, here, in));
    }
    way->clients = reach_ranges_minus(a, way->clients, stuck);
    return way;
}

static const struct reach_aws_way *way_to(struct reach_aws_hop *h,
                                          const struct reach_aws_host *host, int64_t port,
                                          int64_t check_port)
{
    for (struct reach_aws_way *way = h->ways; way != NULL; way = way->next) {
        if (way->groups == host->groups && way->port == port && way->check_port == check_port &&
            str_eq(way->zone, host->zone)) {
            return way;
        }
    }
    struct reach_aws_way *way = ARENA_NEW(h->world->a, struct reach_aws_way);
    *way = (struct reach_aws_way){
        .groups = host->groups,
        .zone = host->zone,
        .port = port,
        .check_port = check_port,
        .next = h->ways,
    };
    h->ways = way;
    return find_way(h, way);
}

/* The balancer's groups let packets out to the target. */
static bool lets_out(struct reach_aws_hop *h, const struct reach_aws_host *host,
                     enum reach_aws_protocol protocol, int64_t port)
{
    if (h->lb->groups == NULL) {
        return true;
    }
    struct arena *a = h->world->a;
    struct reach_aws_packet p = {REACH_AWS_OUT, protocol, port};
    const char *address = h->ipv6 ? host->ipv6 : host->ipv4;
    return reach_ranges_within(a, reach_ranges_of(a, address),
                               reach_aws_set_ranges(h->lb->groups, p)) ||
           reach_aws_set_refers_to(h->lb->groups, p, host->groups);
}

void reach_aws_hop_target(struct reach_aws_hop *h, const struct reach_aws_host *host, int64_t port,
                          struct reach_probe check, bool passes)
{
    check.node = host->name;
    check.ipv6 = h->ipv6;
    if ((h->ipv6 ? host->ipv6 : host->ipv4) == NULL) {
        return;
    }
    const struct reach_aws_way *way = way_to(h, host, port, check.port);
    if (!way->is_there) {
        return;
    }
    bool healthy = passes && way->is_checked && lets_out(h, host, REACH_AWS_TCP, check.port) &&
                   reach_probe_succeeds(h->world->cluster, &check);
    const char *name = arena_printf(h->world->a, "%s:%lld", host->name, (long long)port);
    reach_target(h->port, name, healthy,
                 lets_out(h, host, h->protocol, port) ? way->clients : REACH_NOBODY);
}
