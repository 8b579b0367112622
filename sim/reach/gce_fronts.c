/* SPDX-License-Identifier: Apache-2.0 */
/* gce_fronts.c: ports of forwarding rules, cut where a verdict changes.
 *
 * Each rule gives one front or several: a range of ports of one protocol.  The cloud chooses in
 * this order: of rules with an address in common those of the packet's own protocol before one of
 * L3_DEFAULT; among rules with the same ports, which differ in their source ranges only (traffic
 * steering), the one with the longest range that holds the client, and the one without ranges for
 * all others.
 *
 * A port within a front has its own verdict, as firewalls name ports: "80-443" with a firewall for
 * 80 and 443 is written as 80, 81-442 (no permission) and 443, so that each port of an address is
 * in one key at most.  Neighbours with equal verdicts are joined.  Source: the documentation of
 * forwarding rules; gce-cloud-provider.md §4.3.2, §5.6; gce-l4.md §4.7, §5.2, §5.3. */
#include <stdlib.h>
#include <string.h>

#include "common/base/attr.h"
#include "common/base/str.h"
#include "sim/reach/gce.h"

static const struct protocol {
    const char *name;
    int number;
    bool has_ports;
    bool ipv4, ipv6;
    bool shown; /* of L3_DEFAULT also where no client may send it */
} protocols[] = {
    {"TCP", 6, true, true, true, true},        {"UDP", 17, true, true, true, true},
    {"SCTP", 132, true, true, true, false},    {"ICMP", 1, false, true, false, false},
    {"ICMPV6", 58, false, false, true, false}, {"ESP", 50, false, true, true, false},
    {"AH", 51, false, true, true, false},      {"GRE", 47, false, true, true, false},
};

struct front {
    const struct gce_rule *rule;
    const struct protocol *protocol;
    int low, high;
    bool general; /* of L3_DEFAULT */
    struct reach_ranges sources;
};

struct fronts {
    struct arena *a;
    struct front *at;
    size_t n, room;
};

/* --- ports of rules --------------------------------------------------------------------------- */

static void push(struct fronts *f, const struct front *front)
{
    if (f->n == f->room) {
        f->room = f->room * 2 + 64;
        struct front *at = ARENA_ARRAY(f->a, struct front, f->room);
        for (size_t i = 0; i < f->n; i++) {
            at[i] = f->at[i];
        }
        f->at = at;
    }
    f->at[f->n++] = *front;
}

/* "80", "80-90"; other texts are invalid. */
static void add_range(struct fronts *f, struct front front, const char *text)
{
    char *rest = NULL;
    long low = strtol(text, &rest, 10);
    long high = *rest == '-' ? strtol(rest + 1, NULL, 10) : low;
    if (low >= GCE_PORT_FIRST && high <= GCE_PORT_LAST && low <= high) {
        front.low = (int)low;
        front.high = (int)high;
        push(f, &front);
    }
}

static void add_protocol(struct fronts *f, struct front front)
{
    struct json_object *ports = json_member(front.rule->body, "ports");
    const char *range = json_str(front.rule->body, "portRange");
    front.low = GCE_PORT_FIRST;
    front.high = GCE_PORT_LAST;
    if (!front.protocol->has_ports || (range == NULL && json_len(ports) == 0)) {
        push(f, &front);
    } else if (range != NULL) {
        add_range(f, front, range);
    }
    for (size_t i = 0; front.protocol->has_ports && i < json_len(ports); i++) {
        add_range(f, front, gce_text_at(ports, i));
    }
}

static void add_rule(struct fronts *f, const struct gce_rule *rule)
{
    const char *name = str_or(json_str(rule->body, "IPProtocol"), "TCP");
    bool general = str_eq(name, "L3_DEFAULT");
    for (size_t i = 0; i < ARRAY_LEN(protocols); i++) {
        const struct protocol *p = &protocols[i];
        bool exists = rule->ipv6 ? p->ipv6 : p->ipv4;
        if (exists && (general || str_eq_nocase(name, p->name))) {
            add_protocol(f, (struct front){.rule = rule, .protocol = p, .general = general});
        }
    }
}

/* --- groups of fronts ------------------------------------------------------------------------- */

/* By address and network, then protocol: all that a packet may meet. */
static int compare_place(const struct front *p, const struct front *q)
{
    int by_address = strcmp(p->rule->text, q->rule->text);
    int by_network = by_address != 0
                         ? by_address
                         : strcmp(str_nonnull(p->rule->network), str_nonnull(q->rule->network));
    return by_network != 0 ? by_network : p->protocol->number - q->protocol->number;
}

/* Then by ports, those of L3_DEFAULT last. */
static int compare_ports(const struct front *p, const struct front *q)
{
    if (p->general != q->general) {
        return (int)p->general - (int)q->general;
    }
    return p->low != q->low ? p->low - q->low : p->high - q->high;
}

static int compare_front(const void *x, const void *y)
{
    const struct front *p = x, *q = y;
    int by_place = compare_place(p, q);
    int by_ports = by_place != 0 ? by_place : compare_ports(p, q);
    return by_ports != 0 ? by_ports : strcmp(p->rule->path, q->rule->path);
}

/* A source range of a rule, and the number of its front in the group. */
struct steered {
    struct ip_net net;
    size_t front;
};

/* The longest first. */
static int compare_steered(const void *x, const void *y)
{
    const struct steered *p = x, *q = y;
    int by_length = (int)q->net.prefix - (int)p->net.prefix;
    return by_length != 0 ? by_length : (p->front > q->front) - (p->front < q->front);
}

static struct json_object *source_ranges(const struct front *front)
{
    return json_member(front->rule->body, "sourceIpRanges");
}

/* The source ranges of all fronts, sorted. */
static size_t read_steered(struct arena *a, const struct front *fronts, size_t n,
                           struct steered **ret)
{
    size_t room = 0, filled = 0;
    for (size_t i = 0; i < n; i++) {
        room += json_len(source_ranges(&fronts[i]));
    }
    struct steered *at = ARENA_ARRAY(a, struct steered, room + 1);
    for (size_t i = 0; i < n; i++) {
        struct json_object *ranges = source_ranges(&fronts[i]);
        for (size_t k = 0; k < json_len(ranges); k++) {
            const char *text = gce_text_at(ranges, k);
            struct ip_net net = {0};
            if (!ip_net_parse(text, &net) && ip_parse(text, &net.addr)) {
                net.prefix = (uint8_t)(net.addr.len * 8);
            }
            if (net.addr.len > 0) {
                at[filled++] = (struct steered){net, i};
            }
        }
    }
    qsort(at, filled, sizeof(at[0]), compare_steered);
    *ret = at;
    return filled;
}

/* Gives each front of a group (same place and ports) the clients that the cloud steers to it. */
static void steer(struct arena *a, struct front *fronts, size_t n)
{
    struct steered *steered = NULL;
    struct reach_ranges rest = reach_ranges_all(a, true, true);
    size_t n_steered = read_steered(a, fronts, n, &steered);
    for (size_t i = 0; i < n_steered; i++) {
        struct reach_range whole = {steered[i].net.addr, ip_net_last(&steered[i].net)};
        struct reach_ranges one = {&whole, 1};
        struct front *front = &fronts[steered[i].front];
        front->sources = reach_ranges_or(a, front->sources, reach_ranges_and(a, rest, one));
        rest = reach_ranges_minus(a, rest, one);
    }
    for (size_t i = 0; i < n; i++) {
        if (json_len(source_ranges(&fronts[i])) == 0) {
            fronts[i].sources = rest;
        }
    }
}

/* --- verdicts --------------------------------------------------------------------------------- */

struct group {
    struct gce *g;
    struct reach *r;
    const struct front *fronts; /* with the same place and ports */
    size_t n;
    const struct front *special; /* fronts that take packets from these; not of L3_DEFAULT */
    size_t n_special;
    int *cuts; /* ports at which a verdict may change */
    size_t n_cuts, room;
    size_t n_verdicts; /* one for each class of each front */
};

/* Clients by front and class at the ports from low to high. */
struct segment {
    int low, high;
    struct reach_ranges *verdicts;
};

static void add_cut(void *arg, int port)
{
    struct group *group = arg;
    if (port < group->fronts->low || port > group->fronts->high + 1) {
        return;
    }
    if (group->n_cuts == group->room) {
        group->room = group->room * 2 + 16;
        int *cuts = ARENA_ARRAY(group->g->a, int, group->room);
        for (size_t i = 0; i < group->n_cuts; i++) {
            cuts[i] = group->cuts[i];
        }
        group->cuts = cuts;
    }
    group->cuts[group->n_cuts++] = port;
}

static int compare_ints(const void *x, const void *y)
{
    return *(const int *)x - *(const int *)y;
}

static void find_cuts(struct group *group)
{
    const struct front *first = group->fronts;
    add_cut(group, first->low);
    add_cut(group, first->high + 1);
    for (size_t i = 0; first->protocol->has_ports && i < group->n; i++) {
        gce_firewall_cuts(group->fronts[i].rule->firewalls, first->protocol->number, add_cut,
                          group);
    }
    for (size_t i = 0; i < group->n_special; i++) {
        add_cut(group, group->special[i].low);
        add_cut(group, group->special[i].high + 1);
    }
    qsort(group->cuts, group->n_cuts, sizeof(group->cuts[0]), compare_ints);
}

static bool is_special(const struct group *group, int port)
{
    for (size_t i = 0; i < group->n_special; i++) {
        if (group->special[i].low <= port && port <= group->special[i].high) {
            return true;
        }
    }
    return false;
}

static struct reach_ranges *judge(const struct group *group, int port)
{
    struct gce *g = group->g;
    struct reach_ranges *verdicts = ARENA_ARRAY(g->a, struct reach_ranges, group->n_verdicts + 1);
    size_t n = 0;
    for (size_t i = 0; i < group->n; i++) {
        const struct front *front = &group->fronts[i];
        const struct gce_rule *rule = front->rule;
        struct gce_packet packet = {.protocol = front->protocol->number,
                                    .port = (uint16_t)(front->protocol->has_ports ? port : 0),
                                    .ipv6 = rule->ipv6};
        for (size_t k = 0; k < rule->n_classes; k++) {
            verdicts[n++] = reach_ranges_and(
                g->a, front->sources, gce_permitted(g, rule->firewalls, rule->classes[k], &packet));
        }
    }
    return verdicts;
}

static bool same_verdicts(const struct group *group, const struct reach_ranges *x,
                          const struct reach_ranges *y)
{
    for (size_t i = 0; i < group->n_verdicts; i++) {
        if (!reach_ranges_equal(x[i], y[i])) {
            return false;
        }
    }
    return true;
}

static bool some_client(const struct group *group, const struct segment *s)
{
    for (size_t i = 0; i < group->n_verdicts; i++) {
        if (!reach_ranges_empty(s->verdicts[i])) {
            return true;
        }
    }
    return false;
}

/* "node-0:80", "node-0:80-90", "node-0:*": the packet keeps its port. */
static const char *target_text(struct arena *a, const char *name, const struct segment *s)
{
    if (s->low == GCE_PORT_FIRST && s->high == GCE_PORT_LAST) {
        return arena_printf(a, "%s:*", name);
    }
    return s->high > s->low ? arena_printf(a, "%s:%d-%d", name, s->low, s->high)
                            : arena_printf(a, "%s:%d", name, s->low);
}

static void add_segment(const struct group *group, const struct segment *s)
{
    const struct front *first = group->fronts;
    bool all = s->low == GCE_PORT_FIRST && s->high == GCE_PORT_LAST;
    if (s->verdicts == NULL ||
        (first->general && !first->protocol->shown && !some_client(group, s))) {
        return;
    }
    size_t n = 0;
    for (size_t i = 0; i < group->n; i++) {
        const struct gce_rule *rule = group->fronts[i].rule;
        struct reach_port *port = reach_listen(group->r, &(struct reach_listener){
                                                             .address = rule->text,
                                                             .protocol = first->protocol->name,
                                                             .low = (uint16_t)(all ? 0 : s->low),
                                                             .high = (uint16_t)(all ? 0 : s->high),
                                                             .internal = rule->internal,
                                                             .why = rule->why,
                                                         });
        for (size_t k = 0; k < rule->n_targets; k++) {
            const struct gce_target *t = &rule->targets[k];
            reach_target(port, target_text(group->g->a, t->name, s), t->healthy,
                         s->verdicts[n + t->class]);
        }
        n += rule->n_classes;
    }
}

static void add_group(struct group *group)
{
    struct segment open = {0};
    for (size_t i = 0; i < group->n; i++) {
        group->n_verdicts += group->fronts[i].rule->n_classes;
    }
    find_cuts(group);
    for (size_t i = 0; i + 1 < group->n_cuts; i++) {
        struct segment next = {group->cuts[i], group->cuts[i + 1] - 1, NULL};
        if (next.low > next.high) {
            continue; /* the same cut twice */
        }
        next.verdicts = is_special(group, next.low) ? NULL : judge(group, next.low);
        if (open.verdicts != NULL && next.verdicts != NULL &&
            same_verdicts(group, open.verdicts, next.verdicts)) {
            open.high = next.high;
        } else {
            add_segment(group, &open);
            open = next;
        }
    }
    add_segment(group, &open);
}

void gce_fronts_add(struct gce *g, struct reach *r, struct gce_rule *const *rules, size_t n)
{
    struct fronts all = {.a = g->a};
    for (size_t i = 0; i < n; i++) {
        add_rule(&all, rules[i]);
    }
    if (all.n > 0) {
        qsort(all.at, all.n, sizeof(all.at[0]), compare_front);
    }
    size_t place = 0; /* where the present place begins */
    for (size_t i = 0, end; i < all.n; i = end) {
        struct front *first = &all.at[i];
        end = i + 1;
        while (end < all.n && compare_place(first, &all.at[end]) == 0 &&
               compare_ports(first, &all.at[end]) == 0) {
            end++;
        }
        place = compare_place(&all.at[place], first) == 0 ? place : i;
        struct group group = {.g = g, .r = r, .fronts = first, .n = end - i};
        if (first->general) {
            group.special = &all.at[place];
            while (!group.special[group.n_special].general) {
                group.n_special++;
            }
        }
        steer(g->a, first, group.n);
        add_group(&group);
    }
}
