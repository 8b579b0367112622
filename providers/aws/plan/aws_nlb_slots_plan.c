/* SPDX-License-Identifier: Apache-2.0 */
/* aws_nlb_slots_plan.c: which listener and which target group serve which wanted port of an NLB;
 * and target groups that serve none.  See aws_nlb_internal_plan.h.  Pure.
 * Source: docs/spec/aws.md 5.5, 5.7. */
#include "providers/aws/plan/aws_nlb_internal_plan.h"

#include "common/base/str.h"

#define KIND AWS_WORD_TARGET_GROUP

/* ---- listeners ------------------------------------------------------------------------------- */

static bool is_taken(const struct aws_nlb_slots *slots, const struct aws_listener *l)
{
    for (size_t i = 0; i < slots->n; i++) {
        if (slots->items[i].listener == l) {
            return true;
        }
    }
    return false;
}

static bool is_stream(const char *protocol)
{
    return str_eq(protocol, "TCP") || str_eq(protocol, "TLS");
}

static enum aws_nlb_turn turn_of(const struct aws_listener *l, const struct aws_nlb_port *port)
{
    if (str_eq(l->protocol, port->protocol)) {
        return AWS_NLB_AS_IT_IS;
    }
    return is_stream(l->protocol) && is_stream(port->protocol) ? AWS_NLB_IN_PLACE : AWS_NLB_ANEW;
}

/* AWS has one listener on a port; an emulator may have several, and then the one that
 * needs least is taken. */
static void match_listeners(const struct aws_planning *p, struct aws_nlb_slots *slots,
                            enum aws_nlb_turn turn)
{
    for (size_t i = 0; i < slots->n; i++) {
        struct aws_nlb_slot *slot = &slots->items[i];
        for (size_t k = 0; slot->listener == NULL && k < p->seen->n_listeners; k++) {
            const struct aws_listener *l = &p->seen->listeners[k];
            if (l->port == slot->port->port && turn_of(l, slot->port) == turn &&
                !is_taken(slots, l)) {
                slot->listener = l;
                slot->turn = turn;
            }
        }
    }
}

static void gather_unwanted(const struct aws_planning *p, struct aws_nlb_slots *slots)
{
    slots->unwanted = ARENA_ARRAY(p->a, const struct aws_listener *, p->seen->n_listeners + 1);
    for (size_t k = 0; k < p->seen->n_listeners; k++) {
        if (!is_taken(slots, &p->seen->listeners[k])) {
            slots->unwanted[slots->n_unwanted++] = &p->seen->listeners[k];
        }
    }
}

/* ---- target groups --------------------------------------------------------------------------- */

/* Port and protocol of a target group never change.  Neither does its VPC. */
static bool fits(const struct aws_planning *p, const struct aws_nlb_port *port,
                 const struct aws_target_group *g)
{
    const char *vpc =
        p->seen->nlb != NULL ? str_or(p->seen->nlb->vpc, p->naming->vpc) : p->naming->vpc;
    bool elsewhere = !str_is_empty(g->vpc) && !str_is_empty(vpc) && !str_eq(g->vpc, vpc);
    return g->port == port->node_port && str_eq(g->protocol, port->traffic_protocol) && !elsewhere;
}

/* A target group serves one load balancer only. */
static bool is_others(const struct aws_planning *p, const struct aws_target_group *g)
{
    const char *nlb = p->seen->nlb != NULL ? p->seen->nlb->arn : NULL;
    return aws_target_group_other_user(g, nlb, p->service->lb_name) != NULL;
}

static const struct aws_observed_group *group_by_arn(const struct aws_planning *p, const char *arn)
{
    for (size_t i = 0; i < p->seen->n_groups; i++) {
        if (str_eq(p->seen->groups[i].group->arn, arn)) {
            return &p->seen->groups[i];
        }
    }
    return NULL;
}

bool aws_nlb_slots_use(const struct aws_nlb_slots *slots, const struct aws_observed_group *group)
{
    for (size_t i = 0; i < slots->n; i++) {
        if (slots->items[i].group == group) {
            return true;
        }
    }
    return false;
}

static void match_by_listener(const struct aws_planning *p, struct aws_nlb_slots *slots)
{
    for (size_t i = 0; i < slots->n; i++) {
        struct aws_nlb_slot *slot = &slots->items[i];
        if (slot->listener == NULL) {
            continue;
        }
        const struct aws_observed_group *g = group_by_arn(p, slot->listener->target_group);
        if (g != NULL && fits(p, slot->port, g->group) && !aws_nlb_slots_use(slots, g)) {
            slot->group = g;
        }
    }
}

static void match_by_name(const struct aws_planning *p, struct aws_nlb_slot *slot,
                          const struct aws_nlb_slots *slots)
{
    for (size_t i = 0; i < p->seen->n_groups; i++) {
        const struct aws_observed_group *g = &p->seen->groups[i];
        if (!str_eq(g->group->name, slot->port->group_name) || is_others(p, g->group) ||
            aws_nlb_slots_use(slots, g)) {
            continue;
        }
        if (fits(p, slot->port, g->group)) {
            slot->group = g;
        } else if (g->left) {
            slot->stale = g;
        }
    }
}

/* Each target has a port of its own, which may be another one than its group's. */
static void borrow(const struct aws_planning *p, struct aws_nlb_slots *slots,
                   struct aws_nlb_slot *slot)
{
    if (slot->group != NULL || slot->stale != NULL || slot->listener == NULL ||
        slot->turn == AWS_NLB_ANEW) {
        return;
    }
    const struct aws_observed_group *g = group_by_arn(p, slot->listener->target_group);
    struct aws_nlb_port there = *slot->port;
    there.node_port = g != NULL ? g->group->port : 0;
    if (g != NULL && fits(p, &there, g->group) && !is_others(p, g->group) &&
        !aws_nlb_slots_use(slots, g) && lb_plan_makes_room(p->plan, p->service->key, KIND) &&
        g->has_targets) {
        slot->group = g;
        slot->borrows = true;
    }
}

struct aws_nlb_slots aws_nlb_slots_make(const struct aws_planning *p,
                                        const struct aws_nlb_want *want)
{
    struct aws_nlb_slots slots = {.n = want != NULL ? want->n_ports : 0};
    slots.items = ARENA_ARRAY(p->a, struct aws_nlb_slot, slots.n + 1);
    for (size_t i = 0; i < slots.n; i++) {
        slots.items[i].port = &want->ports[i];
    }
    match_listeners(p, &slots, AWS_NLB_AS_IT_IS);
    match_listeners(p, &slots, AWS_NLB_IN_PLACE);
    match_listeners(p, &slots, AWS_NLB_ANEW);
    gather_unwanted(p, &slots);
    match_by_listener(p, &slots);
    for (size_t i = 0; i < slots.n; i++) {
        struct aws_nlb_slot *slot = &slots.items[i];
        bool served = slot->group != NULL;
        if (!served) {
            match_by_name(p, slot, &slots);
            borrow(p, &slots, slot);
        }
        slot->switches = slot->listener != NULL && !served && !slot->borrows;
    }
    return slots;
}

bool aws_nlb_groups_make_room(struct aws_planning *p, const struct aws_nlb_slots *slots)
{
    for (size_t i = 0; i < slots->n; i++) {
        if (slots->items[i].group == NULL || slots->items[i].borrows) {
            return lb_plan_makes_room(p->plan, p->service->key, KIND);
        }
    }
    return false;
}

/* ---- groups that serve no port --------------------------------------------------------------- */

static bool is_stale(const struct aws_nlb_slots *slots, const struct aws_observed_group *g)
{
    for (size_t i = 0; i < slots->n; i++) {
        if (slots->items[i].stale == g) {
            return true;
        }
    }
    return false;
}

/* No listener that stays, or changes in place, leads to it. */
static bool is_free(const struct aws_nlb_slots *slots, const struct aws_observed_group *g)
{
    for (size_t i = 0; i < slots->n; i++) {
        const struct aws_listener *l = slots->items[i].listener;
        if (l != NULL && str_eq(l->target_group, g->group->arn)) {
            return false;
        }
    }
    return true;
}

/* Resources that people attached to a listener of trimtab stay theirs. */
static bool is_ours(const struct aws_planning *p, const struct aws_observed_group *g)
{
    const struct tt_service *s = p->service->in;
    return g->left || str_has_prefix(g->group->name, aws_target_group_prefix(p->a, s->ns, s->name));
}

int aws_plan_left_target_groups(struct aws_planning *p, const struct aws_nlb_want *want,
                                struct err *err)
{
    (void)err; /* nothing can be wrong with what goes */
    struct aws_nlb_slots slots = aws_nlb_slots_make(p, want);
    for (size_t i = 0; i < p->seen->n_groups; i++) {
        const struct aws_observed_group *g = &p->seen->groups[i];
        if (aws_nlb_slots_use(&slots, g) || is_stale(&slots, g) || is_others(p, g->group) ||
            !is_ours(p, g)) {
            continue;
        }
        bool first = is_free(&slots, g) && aws_nlb_groups_make_room(p, &slots);
        int d =
            aws_draft(p, first ? AWS_PHASE_EMPTY : AWS_PHASE_LEAVE, LB_DELETE, KIND, g->group->name,
                      g->left ? "an interrupted change left it, and no port needs it"
                              : "no listener needs it any more");
        aws_draft_action(p, d, AWS_ELBV2, "DeleteTargetGroup");
        aws_draft_text(p, d, "TargetGroupArn", g->group->arn);
        aws_draft_op(p, d)->tolerate = LB_TOLERATE_ABSENT;
    }
    return ERR_OK;
}
