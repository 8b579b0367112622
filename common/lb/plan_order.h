/* SPDX-License-Identifier: Apache-2.0 */
/* plan_order.h: which operation of a plan waits for which, as waves and parts.  Private
 * to plan.c. Pure. */
#ifndef TRIMTAB_LB_PLAN_ORDER_H
#define TRIMTAB_LB_PLAN_ORDER_H

#include "common/lb/plan.h"

/* Completes `after` where it is given, and sets wave and part_no of each operation, and waves and
 * parts of the plan.  References that do not point backwards are passed
 * over; lb_plan_seal() refuses them. */
void lb_plan_order(struct lb_plan *p);

#endif
