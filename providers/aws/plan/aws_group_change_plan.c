/* SPDX-License-Identifier: Apache-2.0 */
/* aws_group_change_plan.c: rules that come to a security group and rules that leave it, in an order
 * that fits its quota.
 *
 * New rules come first and old ones leave last, so that every client that both let in is served all
 * the time.  A group takes 60 rules of each family by default.  Where old and new together are
 * more, or AWS says that they are, rules leave first that serve no client any more.  Rules that
 * serve leave first only when nothing else can: the plan announces the interruption, and the
 * driver puts them back when AWS refuses the new ones.  What does not fit even then is refused by
 * AWS and costs nothing of what is there.  Nor do rules that serve leave for what was refused a
 * while ago (aws_planning.spares): AWS is asked whether there is room by now.  Part of
 * aws_groups_plan.h.  Pure. Source: docs/spec/aws.md 4.10, 4.15, 5.11; "Security group rules" and
 * "Amazon VPC quotas" in the VPC user guide. */
#include "providers/aws/plan/aws_groups_plan.h"

#include "common/base/ip.h"
#include "common/base/str.h"

#define KIND "security group"

/* ---- what fits ------------------------------------------------------------------------------- */

/* The group's count when some rules have left and others have come. */
static struct aws_rule_count count_after(const struct aws_group_change *c,
                                         const struct aws_rules *left, const struct aws_rules *come)
{
    struct aws_rule_count is = aws_rules_count(&c->group->rules);
    struct aws_rule_count less = aws_rules_count(left);
    struct aws_rule_count more = aws_rules_count(come);
    return (struct aws_rule_count){.v4 = is.v4 - less.v4 + more.v4,
                                   .v6 = is.v6 - less.v6 + more.v6};
}

/* Is the group within the default quota then? */
static bool fits(const struct aws_group_change *c, const struct aws_rules *left,
                 const struct aws_rules *come)
{
    struct aws_rule_count n = count_after(c, left, come);
    return n.v4 <= aws_limits[AWS_LIMIT_RULES_V4].most &&
           n.v6 <= aws_limits[AWS_LIMIT_RULES_V6].most;
}

/* Not more of a family than leave: then they fit whatever the quota is. */
static bool replaces(const struct aws_rule_diff *diff)
{
    struct aws_rule_count come = aws_rules_count(&diff->authorize);
    struct aws_rule_count go = aws_rules_count(&diff->revoke);
    return come.v4 <= go.v4 && come.v6 <= go.v6;
}

/* ---- what serves ----------------------------------------------------------------------------- */

static bool same_ports(const struct aws_rule *x, const struct aws_rule *y)
{
    return str_eq(x->protocol, y->protocol) && x->from == y->from && x->to == y->to;
}

static bool overlap(const struct aws_rule *x, const struct aws_rule *y)
{
    struct ip_net a, b;
    return same_ports(x, y) && ip_net_parse(x->source, &a) && ip_net_parse(y->source, &b) &&
           (ip_net_contains(&a, &b.addr) || ip_net_contains(&b, &a.addr));
}

static bool lets_in_all_of(const struct aws_rule *x, const struct aws_rule *of)
{
    struct ip_net a, b;
    return same_ports(x, of) && ip_net_parse(x->source, &a) && ip_net_parse(of->source, &b) &&
           a.prefix <= b.prefix && ip_net_contains(&a, &b.addr);
}

static bool any(const struct aws_rules *rules, const struct aws_rule *r,
                bool (*is)(const struct aws_rule *, const struct aws_rule *))
{
    for (size_t i = 0; i < rules->n; i++) {
        if (is(&rules->items[i], r)) {
            return true;
        }
    }
    return false;
}

bool aws_rule_meets(const struct aws_rule *r, const struct aws_texts *cidrs)
{
    struct ip_net a, b;
    for (size_t i = 0; i < cidrs->n && ip_net_parse(r->source, &a); i++) {
        if (ip_net_parse(cidrs->items[i], &b) &&
            (ip_net_contains(&a, &b.addr) || ip_net_contains(&b, &a.addr))) {
            return true;
        }
    }
    return false;
}

struct aws_rules aws_rules_serving(struct arena *a, const struct aws_rules *actual,
                                   const struct aws_rule_diff *diff)
{
    struct aws_rules stay = aws_rules_minus(a, actual, &diff->revoke);
    struct aws_rule *items = ARENA_ARRAY(a, struct aws_rule, diff->revoke.n);
    size_t n = 0;
    for (size_t i = 0; i < diff->revoke.n; i++) {
        const struct aws_rule *r = &diff->revoke.items[i];
        if (any(&diff->authorize, r, overlap) && !any(&stay, r, lets_in_all_of)) {
            items[n++] = *r;
        }
    }
    return (struct aws_rules){.items = items, .n = n};
}

/* ---- what must be shut out ------------------------------------------------------------------- */

/* Rules about clients: in the balancer's own group all, in those of nodes by the description. */
static bool is_about_clients(const struct aws_rule *r)
{
    const char *text = str_nonnull(r->description);
    return !str_eq(r->protocol, "icmp") &&
           (str_is_empty(text) || str_has_prefix(text, AWS_RULE_CLIENT));
}

static bool lets_clients_in_there(const struct aws_rule *stays, const struct aws_rule *r)
{
    return is_about_clients(stays) && same_ports(stays, r);
}

static bool are_about_packets(const struct aws_rules *rules)
{
    for (size_t i = 0; i < rules->n; i++) {
        if (!str_eq(rules->items[i].protocol, "icmp")) {
            return false;
        }
    }
    return true;
}

/* Of the rules that leave, those that let clients in to ports that stay, if the Service's ranges
 * have become narrower: one of them lets in what none of the others does.  Rules about the size of
 * packets go with them when nothing else does. */
static struct aws_rules narrowing(struct arena *a, const struct aws_group_change *c,
                                  const struct aws_rules *leave)
{
    struct aws_rules stay = aws_rules_minus(a, &c->group->rules, &c->diff.revoke);
    stay = aws_rules_joined(a, &stay, &c->diff.authorize);
    struct aws_rule *items = ARENA_ARRAY(a, struct aws_rule, leave->n);
    size_t n = 0;
    bool narrower = false;
    for (size_t i = 0; c->shuts_out && i < leave->n; i++) {
        const struct aws_rule *r = &leave->items[i];
        if (is_about_clients(r) && any(&stay, r, lets_clients_in_there)) {
            items[n++] = *r;
            narrower = narrower || !any(&stay, r, lets_in_all_of);
        }
    }
    if (!narrower) {
        return (struct aws_rules){0};
    }
    struct aws_rules narrow = {.items = items, .n = n};
    struct aws_rules rest = aws_rules_minus(a, leave, &narrow);
    return are_about_packets(&rest) ? *leave : narrow;
}

/* ---- the order ------------------------------------------------------------------------------- */

/* Which rules leave before others come. */
enum first {
    NONE_FIRST = 0,
    IDLE_FIRST, /* those that serve no client */
    ALL_FIRST,
};

/* A group with more rules than the quota has a raised one, which AWS alone knows. */
static enum first first_of(struct aws_planning *p, const struct aws_group_change *c,
                           const struct aws_rules *idle)
{
    static const struct aws_rules none;
    if (c->diff.authorize.n == 0 || c->diff.revoke.n == 0) {
        return NONE_FIRST;
    }
    const char *word = arena_printf(p->a, KIND " %s", aws_group_text(p->a, c->group));
    bool full = lb_plan_makes_room(p->plan, p->service->key, word);
    enum first all = p->spares ? NONE_FIRST : ALL_FIRST;
    if (fits(c, &none, &none) && !fits(c, &none, &c->diff.authorize)) {
        return fits(c, idle, &c->diff.authorize)              ? IDLE_FIRST
               : fits(c, &c->diff.revoke, &c->diff.authorize) ? all
                                                              : NONE_FIRST;
    }
    if (full && idle->n > 0) {
        return IDLE_FIRST; /* should AWS refuse still, the next sync finds no idle ones */
    }
    return full && replaces(&c->diff) ? all : NONE_FIRST;
}

/* A draft of the rules; -1: there are none. */
static int change(struct aws_planning *p, const struct aws_group_change *c, bool authorize,
                  enum aws_phase phase, const struct aws_rules *rules)
{
    if (rules->n == 0) {
        return -1;
    }
    int d = aws_group_draft(p, phase, authorize, aws_group_text(p->a, c->group),
                            authorize ? c->why_authorize : c->why_revoke);
    aws_draft_op(p, d)->part = authorize ? "rules" : NULL;
    aws_draft_op(p, d)->shared = !aws_group_is_own(p->naming, p->service, c->group);
    aws_draft_text(p, d, "GroupId", c->group->id);
    aws_group_draft_rules(p, d, authorize, rules);
    return d;
}

/* Rules leave when all is done that may still use them.  Those that a narrower range shuts out do
 * not wait for what has nothing to do with them, and may be refused. */
static void leave(struct aws_planning *p, const struct aws_group_change *c,
                  const struct aws_rules *rules)
{
    struct aws_rules narrow = narrowing(p->a, c, rules);
    struct aws_rules rest = aws_rules_minus(p->a, rules, &narrow);
    int d = change(p, c, false, AWS_PHASE_LEAVE, &narrow);
    if (d >= 0) {
        aws_draft_narrows(p, d);
    }
    (void)change(p, c, false, AWS_PHASE_LEAVE, &rest);
}

/* Those that serve leave before others come: announced, and owed until they have. */
static void interrupt(struct aws_planning *p, const struct aws_group_change *c, int gone, int come)
{
    if (c->serving.n == 0) {
        return;
    }
    const char *name = aws_group_text(p->a, c->group);
    lb_plan_effect(p->plan, p->service->key,
                   "Some clients are interrupted for a moment: security group %s has no room for "
                   "old and new rules together.",
                   name);
    int d = aws_draft(p, AWS_PHASE_MAKE, LB_CREATE, "rules of security group", name, NULL);
    aws_draft_action(p, d, AWS_EC2, "AuthorizeSecurityGroupIngress");
    aws_draft_text(p, d, "GroupId", c->group->id);
    aws_group_draft_rules(p, d, true, &c->serving);
    aws_draft_undoes(p, d, gone, come);
}

bool aws_group_change_draft(struct aws_planning *p, const struct aws_group_change *c)
{
    struct aws_rules idle = aws_rules_minus(p->a, &c->diff.revoke, &c->serving);
    enum first first = first_of(p, c, &idle);
    aws_limits_of_rules(p, aws_group_text(p->a, c->group), aws_rules_count(&c->group->rules),
                        count_after(c, &c->diff.revoke, &c->diff.authorize));
    int come = change(p, c, true, AWS_PHASE_MAKE, &c->diff.authorize);
    if (first == ALL_FIRST) {
        interrupt(p, c, change(p, c, false, AWS_PHASE_CLEAR, &c->diff.revoke), come);
    } else if (first == IDLE_FIRST) {
        (void)change(p, c, false, AWS_PHASE_CLEAR, &idle);
        leave(p, c, &c->serving);
    } else {
        leave(p, c, &c->diff.revoke);
    }
    return c->diff.authorize.n + c->diff.revoke.n > 0;
}
