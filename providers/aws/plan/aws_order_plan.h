/* SPDX-License-Identifier: Apache-2.0 */
/* aws_order_plan.h: which operations of a Service's plan wait for which others.  Private to
 * providers/aws/plan.  Pure. */
#ifndef TRIMTAB_AWS_ORDER_PLAN_H
#define TRIMTAB_AWS_ORDER_PLAN_H

#include "providers/aws/plan/aws_plan.h"

/* An operation that changes something, in the order of the plan. */
struct aws_step {
    int op; /* index in the plan */
    enum aws_phase phase;
    const struct aws_write *write; /* its references are indexes of the plan */
};
/* Names what each step waits for (lb_plan_after()). */
void aws_order_steps(struct lb_plan *plan, struct arena *a, const struct aws_step *steps, size_t n);

#endif
