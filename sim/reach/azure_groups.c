/* SPDX-License-Identifier: Apache-2.0 */
/* azure_groups.c: network security groups: which packets pass; see azure.h.
 *
 * The rules of a group are tried by rising priority, and the first that fits decides; three default
 * rules come last and allow traffic from the network and the load balancer's probes.  A packet
 * passes the group of its subnet and that of its NIC.  Service tags other than the three below
 * match the addresses that the world's lists of tags name, without such a list none; application
 * security groups match none. */
#include "sim/reach/azure.h"

#include <string.h>

#define PROBES "168.63.129.16" /* the source of all probes: the service tag AzureLoadBalancer */

/* Clients use any port from here on. */
#define FIRST_CLIENT_PORT 1024
#define LAST_PORT         65535

struct prefixes {
    bool any, network, internet, balancer; /* "*" and the service tags that are known */
    struct reach_ranges ranges;
};
struct port_range {
    uint16_t low, high;
};
struct ports {
    struct port_range *at;
    size_t n;
};
struct rule {
    int64_t priority;
    bool allow;
    const char *protocol; /* NULL: any */
    struct ports from_ports, to_ports;
    struct prefixes from, to;
};
struct az_group {
    struct rule *rules; /* by priority */
    size_t n;
};

/* --- reading ---------------------------------------------------------------------------------- */

static void add_tag(struct az *z, struct prefixes *x, const char *text)
{
    const struct reach_ranges *listed = text != NULL ? map_get(z->tags, az_key(z->a, text)) : NULL;
    if (listed != NULL) {
        x->ranges = reach_ranges_or(z->a, x->ranges, *listed);
    }
    x->any = x->any || str_eq(text, "*") || str_eq_nocase(text, "Any");
    x->network = x->network || str_eq_nocase(text, "VirtualNetwork");
    x->internet = x->internet || str_eq_nocase(text, "Internet");
    x->balancer = x->balancer || str_eq_nocase(text, "AzureLoadBalancer");
}

static struct prefixes prefixes_of(struct az *z, struct json_object *p, const char *one_name,
                                   const char *many_name)
{
    const char *one = json_str(p, one_name);
    struct json_object *many = json_member(p, many_name);
    struct prefixes x = {.ranges = reach_ranges_of(z->a, one)};
    if (json_len(many) > 0) {
        x.ranges = reach_ranges_or(z->a, x.ranges, reach_ranges_of_list(z->a, many));
    }
    add_tag(z, &x, one);
    for (size_t i = 0; i < json_len(many); i++) {
        add_tag(z, &x, json_object_get_string(json_object_array_get_idx(many, i)));
    }
    return x;
}

static void add_ports(struct arena *a, struct ports *ports, const char *text)
{
    const char *dash = text != NULL ? strchr(text, '-') : NULL;
    const char *first = dash != NULL ? arena_strndup(a, text, (size_t)(dash - text)) : text;
    uint64_t low = 0;
    uint64_t high = LAST_PORT;
    bool star = str_eq(text, "*");
    if (text == NULL || (!star && (!str_to_u64(first, &low) ||
                                   !str_to_u64(dash != NULL ? dash + 1 : text, &high)))) {
        return;
    }
    if (low <= high && high <= LAST_PORT) {
        ports->at[ports->n++] = (struct port_range){(uint16_t)low, (uint16_t)high};
    }
}

static struct ports ports_of(struct arena *a, struct json_object *p, const char *one_name,
                             const char *many_name)
{
    struct json_object *many = json_member(p, many_name);
    struct ports ports = {.at = ARENA_ARRAY(a, struct port_range, json_len(many) + 1)};
    add_ports(a, &ports, json_str(p, one_name));
    for (size_t i = 0; i < json_len(many); i++) {
        add_ports(a, &ports, json_object_get_string(json_object_array_get_idx(many, i)));
    }
    return ports;
}

static struct rule rule_of(struct az *z, struct json_object *p)
{
    struct arena *a = z->a;
    const char *protocol = json_str(p, "protocol");
    return (struct rule){
        .priority = json_int(p, "priority", 0),
        .allow = str_eq_nocase(json_str(p, "access"), "Allow"),
        .protocol = str_eq(protocol, "*") ? NULL : str_nonnull(protocol),
        .from_ports = ports_of(a, p, "sourcePortRange", "sourcePortRanges"),
        .to_ports = ports_of(a, p, "destinationPortRange", "destinationPortRanges"),
        .from = prefixes_of(z, p, "sourceAddressPrefix", "sourceAddressPrefixes"),
        .to = prefixes_of(z, p, "destinationAddressPrefix", "destinationAddressPrefixes"),
    };
}

static int compare_rules(const void *x, const void *y)
{
    const struct rule *p = x;
    const struct rule *q = y;
    return (p->priority > q->priority) - (p->priority < q->priority);
}

/* AllowVnetInBound, AllowAzureLoadBalancerInBound, DenyAllInBound: every group has them, and Azure
 * lets them neither change nor go. */
static void add_defaults(struct arena *a, struct az_group *g)
{
    struct ports all = {.at = ARENA_NEW(a, struct port_range), .n = 1};
    all.at[0].high = LAST_PORT;
    struct rule rule = {.priority = 65000, .allow = true, .from_ports = all, .to_ports = all};
    rule.from.network = rule.to.network = true;
    g->rules[g->n++] = rule;
    rule.priority = 65001;
    rule.from = (struct prefixes){.balancer = true};
    rule.to = (struct prefixes){.any = true};
    g->rules[g->n++] = rule;
    rule.priority = 65500;
    rule.allow = false;
    rule.from = rule.to;
    g->rules[g->n++] = rule;
}

static struct az_group *group_of(struct az *z, struct json_object *body)
{
    struct arena *a = z->a;
    struct json_object *rules = json_path(body, "properties.securityRules");
    struct az_group *g = ARENA_NEW(a, struct az_group);
    g->rules = ARENA_ARRAY(a, struct rule, json_len(rules) + 3);
    for (size_t i = 0; i < json_len(rules); i++) {
        struct json_object *p = json_member(json_object_array_get_idx(rules, i), "properties");
        if (str_eq_nocase(json_str(p, "direction"), "Inbound")) {
            g->rules[g->n++] = rule_of(z, p);
        }
    }
    if (g->n > 0) {
        qsort(g->rules, g->n, sizeof(g->rules[0]), compare_rules);
    }
    add_defaults(a, g);
    return g;
}

/* {"values": [{"name": "Storage", "properties": {"addressPrefixes": […]}}]} */
static void read_tags(struct az *z, struct json_object *list)
{
    struct json_object *values = json_member(list, "values");
    for (size_t i = 0; i < json_len(values); i++) {
        struct json_object *o = json_object_array_get_idx(values, i);
        struct reach_ranges *ranges = ARENA_NEW(z->a, struct reach_ranges);
        *ranges = reach_ranges_of_list(z->a, json_path(o, "properties.addressPrefixes"));
        map_set(z->tags, az_key(z->a, str_nonnull(json_str(o, "name"))), ranges);
    }
}

void az_read_groups(struct az *z)
{
    for (size_t i = 0; i < z->docs[AZURE_TAGS].n; i++) {
        read_tags(z, z->docs[AZURE_TAGS].at[i].body);
    }
    const struct az_docs *docs = &z->docs[AZURE_GROUPS];
    for (size_t i = 0; i < docs->n; i++) {
        map_set(z->groups, docs->at[i].id, group_of(z, docs->at[i].body));
    }
}

/* --- does a rule fit? ------------------------------------------------------------------------- */

static int compare_ip(const struct ip_addr *x, const struct ip_addr *y)
{
    return x->len != y->len ? (int)x->len - (int)y->len : memcmp(x->bytes, y->bytes, x->len);
}

static bool holds(struct reach_ranges x, const struct ip_addr *ip)
{
    size_t low = 0;
    size_t high = x.n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (compare_ip(&x.at[mid].last, ip) < 0) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low < x.n && compare_ip(&x.at[low].first, ip) <= 0;
}

/* One range has all ports from low to high. */
static bool covers(const struct ports *ports, uint16_t low, uint16_t high)
{
    for (size_t i = 0; i < ports->n; i++) {
        if (ports->at[i].low <= low && high <= ports->at[i].high) {
            return true;
        }
    }
    return false;
}

static bool meets(const struct ports *ports, uint16_t low, uint16_t high)
{
    for (size_t i = 0; i < ports->n; i++) {
        if (ports->at[i].low <= high && low <= ports->at[i].high) {
            return true;
        }
    }
    return false;
}

/* A rule that allows must fit each of the packets; one that denies, any. */
static bool fits_ports(const struct rule *rule, const struct az_packet *p)
{
    bool (*fits)(const struct ports *, uint16_t, uint16_t) = rule->allow ? covers : meets;
    return fits(&rule->to_ports, p->low, p->high) &&
           fits(&rule->from_ports, FIRST_CLIENT_PORT, LAST_PORT);
}

static struct reach_ranges network_of(const struct az_gate *gate)
{
    return gate->network != NULL ? gate->network->ranges : REACH_NOBODY;
}

static bool fits_destination(const struct rule *rule, const struct az_gate *gate,
                             const struct az_packet *p)
{
    if (rule->to.any) {
        return true;
    }
    bool inside = p->to == NULL || holds(network_of(gate), p->to);
    return (inside ? rule->to.network : rule->to.internet) ||
           (p->to != NULL && holds(rule->to.ranges, p->to));
}

static bool fits(const struct rule *rule, const struct az_gate *gate, const struct az_packet *p)
{
    return (rule->protocol == NULL || str_eq_nocase(rule->protocol, p->protocol)) &&
           fits_ports(rule, p) && fits_destination(rule, gate, p);
}

/* --- judging ---------------------------------------------------------------------------------- */

/* Through a public address, all clients come from the internet: machines of the network leave it by
 * a public address of their own.  Inside, Internet is all that is not in the network. */
static struct reach_ranges clients_of(struct arena *a, const struct rule *rule,
                                      const struct az_gate *gate, const struct az_packet *p)
{
    struct reach_ranges all = reach_ranges_all(a, !p->ipv6, p->ipv6);
    struct reach_ranges network = p->from_internet ? REACH_NOBODY : network_of(gate);
    struct reach_ranges found = rule->from.ranges;
    if (rule->from.any) {
        return all;
    }
    if (rule->from.network) {
        found = reach_ranges_or(a, found, network);
    }
    if (rule->from.internet) {
        found = reach_ranges_or(a, found, reach_ranges_minus(a, all, network));
    }
    return reach_ranges_family(a, found, p->ipv6);
}

static struct reach_ranges group_permits(struct arena *a, const struct az_group *g,
                                         const struct az_gate *gate, const struct az_packet *p)
{
    struct reach_ranges rest = reach_ranges_all(a, !p->ipv6, p->ipv6);
    struct reach_ranges permitted = REACH_NOBODY;
    for (size_t i = 0; i < g->n && !reach_ranges_empty(rest); i++) {
        const struct rule *rule = &g->rules[i];
        if (fits(rule, gate, p)) {
            struct reach_ranges clients = clients_of(a, rule, gate, p);
            if (rule->allow) {
                permitted = reach_ranges_or(a, permitted, reach_ranges_and(a, rest, clients));
            }
            rest = reach_ranges_minus(a, rest, clients);
        }
    }
    return permitted;
}

struct reach_ranges az_permitted(struct arena *a, const struct az_gate *gate,
                                 const struct az_packet *p)
{
    struct reach_ranges permitted = reach_ranges_all(a, !p->ipv6, p->ipv6);
    size_t n = 0;
    for (size_t i = 0; i < 2; i++) {
        if (gate->groups[i] != NULL) {
            n++;
            permitted = reach_ranges_and(a, permitted, group_permits(a, gate->groups[i], gate, p));
        }
    }
    if (n == 0 && !p->from_internet) {
        return reach_ranges_family(a, network_of(gate), p->ipv6);
    }
    return n == 0 && p->closed_without_groups ? REACH_NOBODY : permitted;
}

static bool group_lets_probe(const struct az_group *g, const struct az_gate *gate,
                             const struct az_packet *p)
{
    struct ip_addr source;
    (void)ip_parse(PROBES, &source);
    for (size_t i = 0; i < g->n; i++) {
        const struct prefixes *from = &g->rules[i].from;
        if ((from->any || from->balancer || from->network || holds(from->ranges, &source)) &&
            fits(&g->rules[i], gate, p)) {
            return g->rules[i].allow;
        }
    }
    return false;
}

bool az_probe_passes(const struct az_gate *gate, const struct az_packet *p)
{
    for (size_t i = 0; i < 2; i++) {
        if (gate->groups[i] != NULL && !group_lets_probe(gate->groups[i], gate, p)) {
            return false;
        }
    }
    return true;
}

void az_port_bounds(const struct az_gate *gate, bool *bounds)
{
    for (size_t i = 0; i < 2; i++) {
        const struct az_group *g = gate->groups[i];
        for (size_t k = 0; g != NULL && k < g->n; k++) {
            const struct ports *ports = &g->rules[k].to_ports;
            for (size_t m = 0; m < ports->n; m++) {
                bounds[ports->at[m].low] = true;
                bounds[ports->at[m].high + 1] = true;
            }
        }
    }
}
