/* SPDX-License-Identifier: Apache-2.0 */
/* aws_delete_plan.c: everything of a Service goes: balancers of both kinds, target groups, rules,
 * security groups.
 *
 * Each piece is found by itself, by name, tag or description, never by way of a balancer that may
 * be gone already: what an interrupted deletion left is found by the next one (docs/spec/aws.md
 * 7.3).  Both kinds are checked whatever the Service says now, because its annotations may have
 * changed since.  Every step may find its work done.
 *
 *     DROP    the balancers, with their listeners
 *     LEAVE   target groups; rules in groups of nodes: one Revoke per group
 *     FORGET  own security groups.  AWS refuses while the balancer's interfaces exist: ERR_IN_USE,
 *             and the Service comes back
 *
 * What others share stays: a target group that another balancer forwards to, the main group of
 * several classic balancers. */
#include "providers/aws/plan/aws_groups_plan.h"

#include "common/base/str.h"

/* ---- balancers ------------------------------------------------------------------------------- */

/* From the first one on, a stop leaves pieces that only the next look finds. */
void aws_plan_balancer_goes(struct aws_planning *p, enum aws_phase phase, enum aws_kind kind,
                            const char *why)
{
    bool nlb = kind == AWS_NLB;
    int d = aws_draft(p, phase, LB_DELETE, nlb ? "load balancer" : "classic load balancer",
                      nlb ? p->seen->nlb->name : p->seen->classic->name, why);
    aws_draft_action(p, d, nlb ? AWS_ELBV2 : AWS_ELB, "DeleteLoadBalancer");
    aws_draft_text(p, d, nlb ? "LoadBalancerArn" : "LoadBalancerName",
                   nlb ? p->seen->nlb->arn : p->seen->classic->name);
    aws_draft_op(p, d)->tolerate = LB_TOLERATE_ABSENT;
    if (p->critical < 0) {
        p->critical = d;
    }
}

static void balancers(struct aws_planning *p)
{
    const char *why =
        arena_printf(p->a, "Service %s wants no load balancer any more", p->service->key);
    if (p->seen->classic != NULL) {
        aws_plan_balancer_goes(p, AWS_PHASE_DROP, AWS_CLASSIC, why);
    }
    if (p->seen->nlb != NULL) {
        aws_plan_balancer_goes(p, AWS_PHASE_DROP, AWS_NLB, why);
    }
}

/* ---- target groups --------------------------------------------------------------------------- */

static void target_groups(struct aws_planning *p)
{
    for (size_t i = 0; i < p->seen->n_groups; i++) {
        const struct aws_target_group *g = p->seen->groups[i].group;
        const char *other = aws_target_group_other_user(
            g, p->seen->nlb != NULL ? p->seen->nlb->arn : NULL, p->service->lb_name);
        if (other != NULL) {
            aws_plan_finding(p, "TargetGroupKept",
                             "Target group %s stays: load balancer %s forwards to it, too.",
                             g->name, other);
            continue;
        }
        int d = aws_draft(p, AWS_PHASE_LEAVE, LB_DELETE, "target group", g->name,
                          "its load balancer goes, or is gone");
        aws_draft_action(p, d, AWS_ELBV2, "DeleteTargetGroup");
        aws_draft_text(p, d, "TargetGroupArn", g->arn);
        aws_draft_op(p, d)->tolerate = LB_TOLERATE_ABSENT;
    }
}

/* ---- rules ----------------------------------------------------------------------------------- */

/* Purpose and owner of rules of nodes. */
struct going {
    struct aws_planning *p;
    struct str_set own;  /* groups that are deleted: rules about them go wherever they are */
    struct str_set main; /* main groups that are not ours to delete: in tagged groups only */
    struct aws_nlb_node_want nothing;
};

static void add_main(struct aws_planning *p, struct str_set *all, const char *id,
                     const struct str_set *own)
{
    if (!str_is_empty(id) && !str_set_has(own, id) && !aws_group_lets_others_in(p, id)) {
        struct str_set one = str_set_make(p->a, &id, 1);
        *all = str_set_union(p->a, all, &one);
    }
}

static bool is_named(const struct aws_texts *t, const char *id)
{
    bool named = false;
    for (size_t i = 0; i < t->n; i++) {
        named = named || str_eq(t->items[i], id);
    }
    return named;
}

/* Groups by which a classic balancer of the Service reaches nodes, as far as they are not ours and
 * no other Service needs them: that of the balancer, and, as an update may have stopped half-way,
 * that which it was to have, and those on it that the Service no longer names. */
static struct str_set main_groups(struct aws_planning *p, const struct str_set *own)
{
    const struct aws_service *s = p->service;
    struct str_set all = {0};
    if (p->seen->classic != NULL) {
        struct aws_texts groups = aws_main_group_order(p, &p->seen->classic->groups);
        for (size_t i = 0; i < groups.n; i++) {
            const char *id = groups.items[i];
            if (i == 0 || (!is_named(&s->groups, id) && !is_named(&s->extra_groups, id))) {
                add_main(p, &all, id, own);
            }
        }
    }
    if (s->kind == AWS_CLASSIC) {
        add_main(p, &all, s->groups.n > 0 ? s->groups.items[0] : p->naming->shared_group, own);
    }
    return all;
}

static struct aws_rules rules_going(struct going *g, const struct aws_group *group)
{
    struct aws_planning *p = g->p;
    struct aws_rules rules = aws_group_references(p->a, group, &g->own, true);
    if (p->naming->no_node_rules || str_eq(group->id, p->naming->shared_group)) {
        return rules;
    }
    if (aws_group_is_tagged(p, group)) {
        struct aws_rules about = aws_group_references(p->a, group, &g->main, false);
        rules = aws_rules_joined(p->a, &rules, &about);
    }
    g->nothing.left = aws_left_descriptions(p, group);
    struct aws_rule_diff diff =
        aws_nlb_node_rules_diff(p->a, &g->nothing, false, &group->rules, &p->around->needed);
    return aws_rules_joined(p->a, &rules, &diff.revoke);
}

/* Each group once, those without tag included. */
static void node_rules(struct aws_planning *p, const struct str_set *own)
{
    const struct aws_surroundings *around = p->around;
    struct going g = {
        .p = p,
        .own = *own,
        .main = main_groups(p, own),
        .nothing = {.lb_name = p->service->lb_name, .health_port = "traffic-port"},
    };
    const char **ids = ARENA_ARRAY(p->a, const char *, around->n_groups + around->n_referring);
    size_t n = 0;
    for (size_t i = 0; i < around->n_groups; i++) {
        ids[n++] = around->groups[i]->id;
    }
    for (size_t i = 0; i < around->n_referring; i++) {
        ids[n++] = around->referring[i]->id;
    }
    struct str_set all = str_set_make(p->a, ids, n);
    const char *id;
    STR_SET_EACH (id, &all) {
        const struct aws_group *group = aws_group_find(around, id);
        if (str_set_has(own, id)) {
            continue;
        }
        struct aws_group_change c = {
            .group = group,
            .diff.revoke = rules_going(&g, group),
            .why_revoke =
                arena_printf(p->a, "the load balancer of Service %s goes", p->service->key),
        };
        (void)aws_group_change_draft(p, &c);
    }
}

int aws_plan_delete(struct aws_planning *p, struct err *err)
{
    (void)err; /* a Service that goes is cleaned up whatever it says */
    struct str_set own = aws_left_groups(p, NULL, true);
    const char *why =
        arena_printf(p->a, "Service %s wants no load balancer any more", p->service->key);
    balancers(p);
    target_groups(p);
    node_rules(p, &own);
    aws_left_groups_draft(p, &own, true, why);
    return ERR_OK;
}
