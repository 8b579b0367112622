/* SPDX-License-Identifier: Apache-2.0 */
/* aws_nlb_internal_plan.h: how the parts of the NLB planner share what they decided: which listener
 * and which target group serve which wanted port.  Private to aws_nlb_*_plan.c.  Pure.
 *
 * Listeners are matched by port, and target groups through listeners, not by name: a name holds a
 * hash of the health check (docs/spec/aws.md 5.7), and a health check that was changed in place
 * leaves the name behind.  By name are found only groups that no wanted listener uses: what an
 * interrupted run made before its listener. */
#ifndef TRIMTAB_AWS_NLB_INTERNAL_PLAN_H
#define TRIMTAB_AWS_NLB_INTERNAL_PLAN_H

#include "providers/aws/plan/aws_plan.h"

/* Meaning of a listener with the wrong protocol. */
enum aws_nlb_turn {
    AWS_NLB_AS_IT_IS = 0,
    AWS_NLB_IN_PLACE, /* TCP to TLS and back: ModifyListener */
    AWS_NLB_ANEW,     /* to and from UDP: deleted, then created */
};
struct aws_nlb_slot {
    const struct aws_nlb_port *port;
    const struct aws_listener *listener; /* on this port; NULL none */
    enum aws_nlb_turn turn;
    const struct aws_observed_group *group; /* that is used; NULL: a new one */
    bool switches;                          /* the listener forwards to another one as yet */
    /* `group` is that of the listener with another node port; a new one is tried at the end */
    bool borrows;
    const struct aws_observed_group *stale; /* has the name, fits no port, is of no balancer */
    struct lb_value arn;                    /* of the group; set by aws_nlb_plan_groups() */
};
struct aws_nlb_slots {
    struct aws_nlb_slot *items; /* one for each wanted port, in its order */
    size_t n;
    const struct aws_listener **unwanted; /* listeners of no wanted port, in AWS' order */
    size_t n_unwanted;
};
/* `want` NULL: nothing is wanted. */
struct aws_nlb_slots aws_nlb_slots_make(const struct aws_planning *p,
                                        const struct aws_nlb_want *want);
/* Is the group that of a slot? */
bool aws_nlb_slots_use(const struct aws_nlb_slots *slots, const struct aws_observed_group *group);

/* Does a port need a new target group, and has AWS said that there is no room for one?  What goes
 * makes room then; and a port that has another node port keeps its target group, whose targets get
 * that port, until the new one is there: it serves all the time. */
bool aws_nlb_groups_make_room(struct aws_planning *p, const struct aws_nlb_slots *slots);

/* Target groups with their health checks, targets and attributes.  (aws_nlb_groups_plan.c) */
void aws_nlb_plan_groups(struct aws_planning *p, const struct aws_nlb_want *want,
                         struct aws_nlb_slots *slots);
/* Targets of one slot whose `port` has a node port; they come in the phase `comes`.  False: they
 * are as they should be. */
bool aws_nlb_plan_targets(struct aws_planning *p, struct aws_texts instances,
                          const struct aws_nlb_slot *slot, enum aws_phase comes);
/* Subnets of an NLB that is there; false: it stays where it is, which its owner is told.
 * (aws_nlb_subnets_plan.c) */
bool aws_nlb_plan_subnets(struct aws_planning *p, const struct aws_nlb_want *want);
/* SubnetMappings, wherever they are sent, and what people see of their addresses. */
void aws_nlb_draft_mappings(struct aws_planning *p, int draft,
                            const struct aws_subnet_mapping *items, size_t n);
/* Tags that the annotation names and that are not there; false: none. (aws_nlb_tags_plan.c) */
bool aws_nlb_plan_tags(struct aws_planning *p, const struct aws_nlb_want *want,
                       const struct aws_nlb_slots *slots);
/* `balancer`: its ARN, known or late-bound.  (aws_nlb_listeners_plan.c) */
void aws_nlb_plan_listeners(struct aws_planning *p, const struct aws_nlb_want *want,
                            const struct aws_nlb_slots *slots, struct lb_value balancer);

/* "Attributes.member.N.Key" and ".Value", and what people see of it: old values from `seen`
 * (may be NULL). */
void aws_nlb_draft_attributes(struct aws_planning *p, int draft, const struct aws_tags *changed,
                              const struct aws_tags *seen);

#endif
