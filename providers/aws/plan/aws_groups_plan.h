/* SPDX-License-Identifier: Apache-2.0 */
/* aws_groups_plan.h: what planners of security groups share: finding a group, changing its rules in
 * a safe order, and telling rules that this controller wrote from those of others.  Private to
 * providers/aws.  Pure. */
#ifndef TRIMTAB_AWS_GROUPS_PLAN_H
#define TRIMTAB_AWS_GROUPS_PLAN_H

#include "providers/aws/plan/aws_limits_plan.h"

/* "all traffic": the protocol of the one rule that lets a classic balancer reach nodes (4.11). */
#define AWS_ALL_TRAFFIC "-1"

/* Among the surroundings, those without tag that name one of ours included; NULL: unknown. */
const struct aws_group *aws_group_find(const struct aws_surroundings *around, const char *id);
/* Of our VPC; NULL: none. */
const struct aws_group *aws_group_named(const struct aws_planning *p, const char *name);
bool aws_group_is_tagged(const struct aws_planning *p, const struct aws_group *g);
/* "nodes (sg-1)": people know the name, AWS the id. */
const char *aws_group_text(struct arena *a, const struct aws_group *g);

/* Rules that come to a group and rules that leave it: one Authorize at most, and one Revoke or two.
 * Rules are let in first (MAKE) and shut out at the very end (LEAVE).  Where the group has no room
 * for both, the rules that serve no client any more go first (CLEAR); the others only if that is
 * not enough.  Then the plan announces the interruption, and they are put back when AWS refuses
 * the new ones. (aws_group_change_plan.c) */
struct aws_group_change {
    const struct aws_group *group;
    struct aws_rule_diff diff;
    /* Rules of diff.revoke by which clients reach the Service today that it still lets in, and by
     * no other rule that stays. */
    struct aws_rules serving;
    bool shuts_out;            /* what a narrower range shuts out waits for nothing but new rules */
    const char *why_authorize; /* follows "because" */
    const char *why_revoke;
};
/* Does nothing when there is nothing to change; true: there was. */
bool aws_group_change_draft(struct aws_planning *p, const struct aws_group_change *c);
/* `serving` where rules name what clients ask for: of those that leave, those that overlap one that
 * comes, unless one that stays lets in the same. */
struct aws_rules aws_rules_serving(struct arena *a, const struct aws_rules *actual,
                                   const struct aws_rule_diff *diff);
/* Is there an address that both the rule's source and one of the ranges hold? */
bool aws_rule_meets(const struct aws_rule *r, const struct aws_texts *cidrs);
/* Parameters and fields of the rules, for aws_group_draft()'s. */
void aws_group_draft_rules(struct aws_planning *p, int draft, bool authorize,
                           const struct aws_rules *rules);
/* A draft of AuthorizeSecurityGroupIngress or RevokeSecurityGroupIngress without
 * group and rules. */
int aws_group_draft(struct aws_planning *p, enum aws_phase phase, bool authorize, const char *name,
                    const char *why);

/* Rules of `g` of the form that the controller writes for classic balancers (all traffic from one
 * group), from one of `sources`.  A group's rule about itself belongs to no balancer.  With
 * `described` also those that carry a description, which the controller never writes. */
struct aws_rules aws_group_references(struct arena *a, const struct aws_group *g,
                                      const struct str_set *sources, bool described);
/* Descriptions in `g` of rules of balancers that no Service has: the last Service to need such a
 * rule takes it away.  Only where it is known what others need, and in a group that is owned by the
 * cluster alone. */
struct str_set aws_left_descriptions(const struct aws_planning *p, const struct aws_group *g);
/* Both, sorted. */
struct aws_rules aws_rules_joined(struct arena *a, const struct aws_rules *x,
                                  const struct aws_rules *y);

/* Decides whether a standing classic balancer's rules are exchanged: p->exchange.
 * (aws_node_groups_plan.c) */
int aws_exchange_decide(struct aws_planning *p, const struct aws_classic_want *want,
                        struct lb_value own, struct err *err);
/* Of `sources`, those whose rules in the group of nodes `id` this plan does not exchange. */
struct str_set aws_exchange_leaves(const struct aws_planning *p, const char *id,
                                   const struct str_set *sources);

/* The groups that aws_plan_left_groups() deletes; sorted ids. */
struct str_set aws_left_groups(const struct aws_planning *p, const char *keep, bool deleting);
/* DeleteSecurityGroup of each. */
void aws_left_groups_draft(struct aws_planning *p, const struct str_set *left, bool deleting,
                           const char *why);

/* A classic balancer's groups, main one first (4.11 item 3): those of security-groups in that
 * order, then others, then those of extra-security-groups in that order; among others tagged ones
 * first, then by id. */
struct aws_texts aws_main_group_order(const struct aws_planning *p, const struct aws_texts *groups);
/* Groups of a standing classic balancer that it will not have, and that are neither ours to delete
 * nor used by a Service that this controller knows: rules about them go. */
struct str_set aws_classic_groups_that_go(const struct aws_planning *p,
                                          const struct aws_classic_want *want, struct lb_value own);
/* Has a group of nodes such a rule about `id`? */
bool aws_group_is_let_in(const struct aws_planning *p, const char *id);
/* Do other Services name it? */
bool aws_group_is_shared(const struct aws_planning *p, const char *id);
/* Do others rely on what nodes let in from this group?  Of what other Services name,
 * that of classic ones. */
bool aws_group_lets_others_in(const struct aws_planning *p, const char *id);

#endif
