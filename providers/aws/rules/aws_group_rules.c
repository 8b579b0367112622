/* SPDX-License-Identifier: Apache-2.0 */
/* aws_group_rules.c: rules of security groups: order, difference, the rules of a group that is
 * ours.
 *
 * A rule is one protocol, one port range and one source; two are the same when EC2 would call the
 * second a duplicate, which descriptions and account ids do not change (docs/spec/aws.md 4.15;
 * vectors 11.6).  What AWS groups into permissions is taken apart where it is decoded, so that
 * revoking one source never takes another one with it (15 row 1).  Part of aws_rules.h.  Pure. */
#include "providers/aws/model/aws_rules.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"

static int compare_i32(int32_t x, int32_t y)
{
    return (x > y) - (x < y);
}

static int compare_texts(const char *x, const char *y)
{
    return strcmp(str_nonnull(x), str_nonnull(y));
}

/* All that EC2 tells rules apart by. */
static int compare_tuples(const void *x, const void *y)
{
    const struct aws_rule *a = x;
    const struct aws_rule *b = y;
    int order = compare_texts(a->protocol, b->protocol);
    if (order == 0) {
        order = compare_i32(a->from, b->from);
    }
    if (order == 0) {
        order = compare_i32(a->to, b->to);
    }
    if (order == 0) {
        order = compare_i32((int32_t)a->peer, (int32_t)b->peer);
    }
    return order != 0 ? order : compare_texts(a->source, b->source);
}

int aws_rule_compare(const void *x, const void *y)
{
    int order = compare_tuples(x, y);
    return order != 0 ? order
                      : compare_texts(((const struct aws_rule *)x)->description,
                                      ((const struct aws_rule *)y)->description);
}

struct aws_rules aws_rules_sorted(struct arena *a, const struct aws_rule *items, size_t n)
{
    if (n == 0) {
        return (struct aws_rules){0};
    }
    struct aws_rule *out = arena_memdup(a, items, n * sizeof(*items));
    qsort(out, n, sizeof(*out), aws_rule_compare);
    size_t kept = 1;
    for (size_t i = 1; i < n; i++) {
        if (aws_rule_compare(&out[kept - 1], &out[i]) != 0) {
            out[kept++] = out[i];
        }
    }
    return (struct aws_rules){.items = out, .n = kept};
}

bool aws_rules_have(const struct aws_rules *rules, const struct aws_rule *rule)
{
    return rules->n > 0 &&
           bsearch(rule, rules->items, rules->n, sizeof(*rule), compare_tuples) != NULL;
}

struct aws_rules aws_rules_minus(struct arena *a, const struct aws_rules *from,
                                 const struct aws_rules *less)
{
    struct aws_rule *items = ARENA_ARRAY(a, struct aws_rule, from->n);
    size_t n = 0;
    for (size_t i = 0; i < from->n; i++) {
        if (!aws_rules_have(less, &from->items[i])) {
            items[n++] = from->items[i];
        }
    }
    return (struct aws_rules){.items = n > 0 ? items : NULL, .n = n};
}

struct aws_rule_diff aws_rules_diff(struct arena *a, const struct aws_rules *desired,
                                    const struct aws_rules *actual)
{
    return (struct aws_rule_diff){.authorize = aws_rules_minus(a, desired, actual),
                                  .revoke = aws_rules_minus(a, actual, desired)};
}

/* ---- the rules of a managed group ------------------------------------------------------------ */

struct building {
    struct aws_rule *items;
    size_t n;
};

static void add(struct building *b, const char *protocol, int32_t from, int32_t to,
                const struct aws_texts *ranges, enum aws_peer peer)
{
    for (size_t i = 0; i < ranges->n; i++) {
        b->items[b->n++] = (struct aws_rule){.protocol = protocol,
                                             .from = from,
                                             .to = to,
                                             .peer = peer,
                                             .source = ranges->items[i],
                                             .user = "",
                                             .description = ""};
    }
}

/* A classic balancer's group has rules for ports without node port, too, as upstream's. */
struct aws_rules aws_managed_rules(struct arena *a, const struct aws_service *s)
{
    bool nlb = s->kind == AWS_NLB;
    size_t most = (s->in->n_ports + 1) * (s->ranges.n + s->ranges6.n);
    struct building b = {.items = ARENA_ARRAY(a, struct aws_rule, most)};
    for (uint32_t i = 0; i < s->in->n_ports; i++) {
        const struct tt_port *p = &s->in->ports[i];
        const char *protocol = str_lower(a, str_nonnull(p->protocol));
        if (nlb && p->node_port == 0) {
            continue;
        }
        add(&b, protocol, p->port, p->port, &s->ranges, AWS_PEER_CIDR);
        if (nlb) {
            add(&b, protocol, p->port, p->port, &s->ranges6, AWS_PEER_CIDR6);
        }
    }
    add(&b, "icmp", 3, 4, &s->ranges, AWS_PEER_CIDR); /* "fragmentation needed" */
    return aws_rules_sorted(a, b.items, b.n);
}

/* ---- for people ------------------------------------------------------------------------------ */

const char *aws_rule_text(struct arena *a, const struct aws_rule *rule)
{
    const char *source = str_nonnull(rule->source);
    if (str_eq(rule->protocol, "-1")) {
        return arena_printf(a, "all traffic from %s", source);
    }
    const char *protocol = str_nonnull(rule->protocol);
    if (str_eq(protocol, "icmp") || str_eq(protocol, "icmpv6")) {
        if (rule->from < 0) {
            return arena_printf(a, "%s from %s", protocol, source);
        }
        return rule->to < 0
                   ? arena_printf(a, "%s type %d from %s", protocol, (int)rule->from, source)
                   : arena_printf(a, "%s type %d code %d from %s", protocol, (int)rule->from,
                                  (int)rule->to, source);
    }
    if (rule->from < 0) {
        return arena_printf(a, "%s from %s", protocol, source);
    }
    return rule->from == rule->to
               ? arena_printf(a, "%s %d from %s", protocol, (int)rule->from, source)
               : arena_printf(a, "%s %d-%d from %s", protocol, (int)rule->from, (int)rule->to,
                              source);
}
