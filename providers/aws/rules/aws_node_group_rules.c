/* SPDX-License-Identifier: Apache-2.0 */
/* aws_node_group_rules.c: the rules by which an NLB's traffic reaches nodes, in one security group
 * of nodes.
 *
 * An NLB keeps client addresses, so nodes must admit the clients' ranges on node ports; probes come
 * from the balancer's subnets; and ICMP "fragmentation needed" is admitted from all ranges of
 * clients of all NLBs.  Whose a rule is, its description says.  The same rule under another
 * description serves just as well: it is not granted twice, and never revoked.  Source:
 * docs/spec/aws.md 5.11, 13 rows 24 to 26.  Part of aws_rules.h.  Pure. */
#include "providers/aws/model/aws_rules.h"

#include <string.h>

#include "common/base/str.h"

#define ICMP_TYPE 3
#define ICMP_CODE 4

struct list {
    struct aws_rule *items;
    size_t n;
};

static void add(struct list *l, const char *protocol, int32_t port, const char *cidr,
                const char *description)
{
    l->items[l->n++] = (struct aws_rule){.protocol = protocol,
                                         .from = port,
                                         .to = port,
                                         .peer = AWS_PEER_CIDR,
                                         .source = cidr,
                                         .user = "",
                                         .description = description};
}

/* ---- traffic --------------------------------------------------------------------------------- */

static bool has_udp(const struct aws_nlb_node_want *w)
{
    for (size_t i = 0; i < w->n_ports; i++) {
        if (str_eq(w->ports[i].traffic_protocol, "UDP")) {
            return true;
        }
    }
    return false;
}

/* By which protocols clients come to a port. */
struct clients {
    bool tcp, udp;
};

static struct clients clients_of(const struct aws_nlb_node_want *w, const struct aws_nlb_port *port)
{
    bool both = str_eq(port->traffic_protocol, "TCP_UDP");
    bool udp = w->mixed ? both || str_eq(port->traffic_protocol, "UDP") : has_udp(w);
    return (struct clients){.tcp = both || !udp, .udp = udp};
}

/* 0: every port is probed itself. */
static int32_t health_port(const struct aws_nlb_node_want *w)
{
    int64_t n;
    return str_to_i64(w->health_port, &n) && n > 0 && n <= INT32_MAX ? (int32_t)n : 0;
}

static bool lets_everybody_in(const struct aws_nlb_node_want *w)
{
    return w->client_cidrs.n == 1 && str_eq(w->client_cidrs.items[0], "0.0.0.0/0");
}

/* All clients may reach what is probed of this port anyway.  `port`: health_port(). */
static bool is_open(const struct aws_nlb_node_want *w, const struct aws_nlb_port *of, int32_t port)
{
    return lets_everybody_in(w) && clients_of(w, of).tcp && (port == 0 || of->node_port == port);
}

/* Then no rule for probes is needed at all: upstream compares the sets of ports. */
static bool all_are_open(const struct aws_nlb_node_want *w, int32_t port)
{
    if (w->n_ports == 0 && !lets_everybody_in(w)) {
        return false;
    }
    for (size_t i = 0; i < w->n_ports; i++) {
        if (!is_open(w, &w->ports[i], port)) {
            return false;
        }
    }
    return true;
}

static void add_clients(struct list *l, const struct aws_nlb_node_want *w,
                        const struct aws_nlb_port *of, const char *description)
{
    struct clients c = clients_of(w, of);
    for (size_t j = 0; j < w->client_cidrs.n; j++) {
        if (c.tcp) {
            add(l, "tcp", of->node_port, w->client_cidrs.items[j], description);
        }
        if (c.udp) {
            add(l, "udp", of->node_port, w->client_cidrs.items[j], description);
        }
    }
}

/* One rule per port and range; where a client's range is a subnet's, the client's
 * rule serves both. */
static struct aws_rules wanted_rules(struct arena *a, const struct aws_nlb_node_want *w)
{
    if (w->stand != NULL) {
        return *w->stand;
    }
    const char *client = arena_printf(a, AWS_RULE_CLIENT "%s", w->lb_name);
    const char *health = arena_printf(a, AWS_RULE_HEALTH "%s", w->lb_name);
    int32_t port = health_port(w);
    size_t most = w->n_ports * (2 * w->client_cidrs.n + w->subnet_cidrs.n);
    struct list rules = {.items = ARENA_ARRAY(a, struct aws_rule, most)};
    for (size_t i = 0; i < w->n_ports; i++) {
        add_clients(&rules, w, &w->ports[i], client);
    }
    struct aws_rules sorted = aws_rules_sorted(a, rules.items, rules.n);
    if (all_are_open(w, port)) {
        return sorted;
    }
    for (size_t i = 0; i < w->n_ports; i++) {
        bool open = w->mixed && port == 0 && is_open(w, &w->ports[i], port);
        for (size_t j = 0; !open && j < w->subnet_cidrs.n; j++) {
            struct aws_rule *next = &rules.items[rules.n];
            add(&rules, "tcp", port != 0 ? port : w->ports[i].node_port, w->subnet_cidrs.items[j],
                health);
            if (aws_rules_have(&sorted, next)) {
                rules.n--;
            }
        }
    }
    return aws_rules_sorted(a, rules.items, rules.n);
}

/* ---- differences ----------------------------------------------------------------------------- */

/* Rules with one of the descriptions that are neither wanted nor needed by others. */
static struct aws_rules leaving(struct arena *a, const struct aws_rules *actual,
                                const struct aws_rules *wanted, const struct aws_rules *needed,
                                const struct str_set *descriptions)
{
    struct list out = {.items = ARENA_ARRAY(a, struct aws_rule, actual->n)};
    for (size_t i = 0; i < actual->n; i++) {
        const struct aws_rule *r = &actual->items[i];
        bool ours = str_set_has(descriptions, str_nonnull(r->description));
        if (ours && !aws_rules_have(wanted, r) && !aws_rules_have(needed, r)) {
            out.items[out.n++] = *r;
        }
    }
    return (struct aws_rules){.items = out.items, .n = out.n};
}

static struct aws_rules both(struct arena *a, const struct aws_rules *x, const struct aws_rules *y)
{
    struct aws_rule *items = ARENA_ARRAY(a, struct aws_rule, x->n + y->n);
    for (size_t i = 0; i < x->n; i++) {
        items[i] = x->items[i];
    }
    for (size_t i = 0; i < y->n; i++) {
        items[x->n + i] = y->items[i];
    }
    return aws_rules_sorted(a, items, x->n + y->n);
}

/* One ICMP rule for each range from which clients of any NLB come. */
static struct aws_rules wanted_mtu(struct arena *a, const struct aws_rules *traffic)
{
    struct list out = {.items = ARENA_ARRAY(a, struct aws_rule, traffic->n)};
    for (size_t i = 0; i < traffic->n; i++) {
        const struct aws_rule *r = &traffic->items[i];
        if (r->peer == AWS_PEER_CIDR &&
            strstr(str_nonnull(r->description), "kubernetes.io/rule/nlb/client") != NULL) {
            add(&out, "icmp", ICMP_TYPE, r->source, AWS_RULE_MTU);
            out.items[out.n - 1].to = ICMP_CODE;
        }
    }
    return aws_rules_sorted(a, out.items, out.n);
}

/* Would upstream change a traffic rule of the group?  It leaves rules for probes alone
 * that need none. */
static bool upstream_changes(struct arena *a, const struct aws_nlb_node_want *w, bool wanted,
                             const struct aws_rules *actual, const struct aws_rules *want,
                             const struct aws_rules *needed)
{
    const char *const texts[2] = {arena_printf(a, AWS_RULE_CLIENT "%s", w->lb_name),
                                  arena_printf(a, AWS_RULE_HEALTH "%s", w->lb_name)};
    bool keeps_health = wanted && all_are_open(w, health_port(w));
    struct str_set ours = str_set_make(a, texts, keeps_health ? 1 : 2);
    return aws_rules_minus(a, want, actual).n > 0 || leaving(a, actual, want, needed, &ours).n > 0;
}

struct aws_rule_diff aws_nlb_node_rules_diff(struct arena *a, const struct aws_nlb_node_want *w,
                                             bool wanted, const struct aws_rules *actual,
                                             const struct aws_rules *needed)
{
    const char *const traffic_texts[2] = {arena_printf(a, AWS_RULE_CLIENT "%s", w->lb_name),
                                          arena_printf(a, AWS_RULE_HEALTH "%s", w->lb_name)};
    const char *const mtu_texts[1] = {AWS_RULE_MTU};
    struct str_set traffic = str_set_make(a, traffic_texts, ARRAY_LEN(traffic_texts));
    struct str_set mtu_only = str_set_make(a, mtu_texts, ARRAY_LEN(mtu_texts));
    traffic = str_set_union(a, &traffic, &w->left);
    struct aws_rules want = wanted ? wanted_rules(a, w) : (struct aws_rules){0};
    struct aws_rules grant = aws_rules_minus(a, &want, actual);
    struct aws_rules revoke = leaving(a, actual, &want, needed, &traffic);
    if (w->keeps_superfluous && !upstream_changes(a, w, wanted, actual, &want, needed)) {
        revoke = (struct aws_rules){0};
    }
    struct aws_rules kept = aws_rules_minus(a, actual, &revoke);
    struct aws_rules after = both(a, &kept, &grant);
    struct aws_rules mtu = wanted_mtu(a, &after);
    struct aws_rules grant_mtu = aws_rules_minus(a, &mtu, &after);
    struct aws_rules revoke_mtu = leaving(a, &after, &mtu, needed, &mtu_only);
    return (struct aws_rule_diff){.authorize = both(a, &grant, &grant_mtu),
                                  .revoke = both(a, &revoke, &revoke_mtu)};
}

struct aws_rules aws_nlb_node_rules_of_others(struct arena *a, const struct aws_nlb_node_want *w,
                                              const struct aws_rules *actual)
{
    struct aws_rules want = w->keeps_superfluous ? (struct aws_rules){0} : wanted_rules(a, w);
    struct list out = {.items = ARENA_ARRAY(a, struct aws_rule, want.n)};
    for (size_t i = 0; i < actual->n; i++) {
        const struct aws_rule *r = &actual->items[i];
        const char *is = str_nonnull(r->description);
        for (size_t k = 0; str_set_has(&w->left, is) && k < want.n; k++) {
            const struct aws_rules one = {&want.items[k], 1};
            if (aws_rules_have(&one, r) && !str_has_suffix(is, w->lb_name)) {
                out.items[out.n++] = want.items[k];
            }
        }
    }
    return (struct aws_rules){.items = out.items, .n = out.n};
}
