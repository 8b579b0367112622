/* SPDX-License-Identifier: Apache-2.0 */
/* aws_limits_plan.h: lists of a load balancer that may be longer than AWS takes: said in the plan.
 *
 * The numbers are AWS' defaults, most of which it raises on request (docs/adr/0103): a plan says
 * what it needs and refuses nothing.  Private to providers/aws.  Pure. */
#ifndef TRIMTAB_AWS_LIMITS_PLAN_H
#define TRIMTAB_AWS_LIMITS_PLAN_H

#include "common/lb/list_limits.h"
#include "providers/aws/plan/aws_plan.h"

enum aws_limit {
    AWS_LIMIT_RULES_V4 = 0, /* of a security group, inbound */
    AWS_LIMIT_RULES_V6,
    AWS_LIMIT_GROUPS, /* security groups of a load balancer */
    AWS_LIMIT_NLB_LISTENERS,
    AWS_LIMIT_CLASSIC_LISTENERS,
    AWS_LIMIT_ZONE_TARGETS, /* of an NLB, in one zone */
    AWS_LIMIT_NLB_TARGETS,  /* of an NLB; with cross-zone balancing, AWS_LIMIT_CROSS_TARGETS */
    AWS_LIMIT_CROSS_TARGETS,
    AWS_LIMIT_GROUP_TARGETS, /* of a target group */
    AWS_LIMIT_CLASSIC_INSTANCES,
    AWS_LIMITS,
};
extern const struct lb_limit aws_limits[AWS_LIMITS];

/* Rules as the quotas of their group count them. */
struct aws_rule_count {
    size_t v4, v6;
};
struct aws_rule_count aws_rules_count(const struct aws_rules *rules);
/* The group `text` holds `is` and is to hold `then`. */
void aws_limits_of_rules(struct aws_planning *p, const char *text, struct aws_rule_count is,
                         struct aws_rule_count then);
/* Listeners, targets and security groups of the load balancer. */
void aws_limits_of_nlb(struct aws_planning *p, const struct aws_nlb_want *want);
void aws_limits_of_classic(struct aws_planning *p, const struct aws_classic_want *want);

#endif
