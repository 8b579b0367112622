/* SPDX-License-Identifier: Apache-2.0 */
/* aws_classic_internal_plan.h: what the parts of the planner of classic load balancers share.
 * Private to aws_classic_*_plan.c.  Pure.
 *
 * A balancer that is made in this plan can be filled from FILL on; one that is there, from MAKE on,
 * because every moment in which a listener is missing is an interruption.  What needs the result of
 * that comes one step later. */
#ifndef TRIMTAB_AWS_CLASSIC_INTERNAL_PLAN_H
#define TRIMTAB_AWS_CLASSIC_INTERNAL_PLAN_H

#include "providers/aws/plan/aws_plan.h"

struct aws_classic_run {
    struct aws_planning *p;
    const struct aws_classic_want *want;
    const struct aws_classic *seen;     /* NULL: made in this plan */
    struct aws_listener_diff listeners; /* of one that is there */
    enum aws_phase fill;                /* policies, listeners, settings */
    enum aws_phase set;                 /* policies are put to use, instances come */
    size_t changes;                     /* drafts so far */
};
/* A change of the balancer; LoadBalancerName is set. */
int aws_classic_draft(struct aws_classic_run *r, enum aws_phase phase, const char *action,
                      const char *why);
/* "tcp 80 → tcp 30080" */
const char *aws_classic_listener_text(struct arena *a, const struct aws_classic_listener *l);
/* Is it made, or recreated, in this plan? */
bool aws_classic_is_new(const struct aws_classic_run *r, const struct aws_classic_listener *l);
bool aws_texts_have(const struct aws_texts *t, const char *text);

/* Which instances it has; those that come, in MAKE when `set` says so, else in FILL.
 * (aws_classic_plan.c) */
void aws_classic_plan_instances(struct aws_classic_run *r);
/* Which subnets it is in; of one that is there.  (aws_classic_subnets_plan.c) */
void aws_classic_plan_subnets(struct aws_classic_run *r);
/* Proxy protocol and SSL negotiation.  (aws_classic_policies_plan.c) */
void aws_classic_plan_policies(struct aws_classic_run *r);
/* Attributes, health check, tags that are added later.  (aws_classic_settings_plan.c) */
void aws_classic_plan_settings(struct aws_classic_run *r);

#endif
