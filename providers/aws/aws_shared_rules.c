/* SPDX-License-Identifier: Apache-2.0 */
/* aws_shared_rules.c: the Service's stake in rules of security groups that others may change
 * (aws_stakes.h).
 *
 * What a Service needs is not asked of its planners: every rule that stands and lets something in
 * to a port of the Service, or from one of its groups, counts.  That is more than it may need, and
 * costs no more than a wait where another sync takes away just such a rule. */
#include "common/base/str.h"
#include "providers/aws/aws_sync.h"
#include "providers/aws/rules/aws_health_rules.h"

/* The port that the health checks ask, where it is none of the Service's: 0 none, -1 unknown. */
static int64_t health_port(const struct aws_sync *y, const struct aws_item *it)
{
    struct aws_target_health_check check;
    struct err err = ERR_INIT;
    int64_t port = 0;
    if (it->service->kind != AWS_NLB ||
        aws_nlb_health(y->s->a, &y->p->naming, it->service->in, &check, &err) != ERR_OK) {
        return it->service->kind == AWS_CLASSIC ? 0 : -1;
    }
    return str_to_i64(check.port, &port) ? port : 0;
}

static bool holds(const struct aws_rule *r, int64_t port)
{
    return r->from <= port && port <= r->to;
}

static bool has_text(const struct aws_texts *t, const char *text)
{
    for (size_t i = 0; i < t->n; i++) {
        if (str_eq(t->items[i], text)) {
            return true;
        }
    }
    return false;
}

/* A rule about addresses: of clients, of probes, or about the size of packets. */
static bool needs_addresses(const struct aws_item *it, const struct aws_rule *r, int64_t health)
{
    const struct tt_service *in = it->service->in;
    const char *of = str_nonnull(r->description);
    bool needs = str_has_suffix(of, it->service->lb_name) ||
                 (str_eq(r->protocol, "icmp") && has_text(&it->service->ranges, r->source)) ||
                 (health > 0 && holds(r, health)) ||
                 (health < 0 && str_has_prefix(of, AWS_RULE_HEALTH));
    for (uint32_t i = 0; !needs && i < in->n_ports; i++) {
        needs = in->ports[i].node_port > 0 && holds(r, in->ports[i].node_port);
    }
    return needs;
}

/* A rule about a group: the Service's balancer has it, or may get it. */
static bool needs_group(const struct aws_sync *y, const struct aws_item *it, const char *id)
{
    const struct aws_service *s = it->service;
    const struct aws_classic *classic = it->seen.classic;
    bool needs = has_text(&s->groups, id) || has_text(&s->extra_groups, id) ||
                 str_eq(y->p->naming.shared_group, id) ||
                 (classic != NULL && has_text(&classic->groups, id));
    for (size_t i = 0; !needs && i < it->around.n_groups; i++) {
        const struct aws_group *g = it->around.groups[i];
        needs = str_eq(g->id, id) && aws_is_own_group(y, it, g);
    }
    return needs;
}

struct aws_staked_list aws_rules_needed(const struct aws_sync *y, const struct aws_item *it)
{
    struct aws_staked_list list = {0};
    int64_t health = health_port(y, it);
    size_t most = 0;
    for (size_t i = 0; i < it->around.n_groups; i++) {
        most += it->around.groups[i]->rules.n;
    }
    list.items = ARENA_ARRAY(y->s->a, struct aws_staked, most + 1);
    for (size_t i = 0; it->want && i < it->around.n_groups; i++) {
        const struct aws_group *g = it->around.groups[i];
        for (size_t k = 0; k < g->rules.n; k++) {
            const struct aws_rule *r = &g->rules.items[k];
            bool about_group = r->peer == AWS_PEER_GROUP;
            if (about_group ? needs_group(y, it, r->source) : needs_addresses(it, r, health)) {
                list.items[list.n++] = (struct aws_staked){.group = g->id, .rule = *r};
            }
        }
    }
    return list;
}

void aws_rules_leaving(struct aws_sync *y, struct aws_item *it)
{
    struct arena *a = y->s->a;
    const struct aws_group **groups =
        ARENA_ARRAY(a, const struct aws_group *, it->around.n_groups + 1);
    for (size_t i = 0; i < it->around.n_groups; i++) {
        groups[i] = it->around.groups[i];
        struct aws_rules gone = aws_stake_leaving(&y->scope->stake, a, groups[i]->id);
        if (gone.n > 0) {
            struct aws_group *left = ARENA_NEW(a, struct aws_group);
            *left = *groups[i];
            left->rules = aws_rules_minus(a, &groups[i]->rules, &gone);
            groups[i] = left;
        }
    }
    it->around.groups = groups;
}
