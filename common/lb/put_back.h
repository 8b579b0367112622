/* SPDX-License-Identifier: Apache-2.0 */
/* put_back.h: the undo of an operation that takes away what serves for a load balancer that a later
 * stage makes, with other resources.
 *
 * No operation of the sync can put that back alone: the provider makes the former load balancer
 * again when the controller leads the Service back to what it asked for (TT_ITEM_FORMER).  An
 * operation with this undo is one that takes down what works (lb_op_takes_down()): the controller
 * keeps the former settings before it is sent, and it is not planned again for a wish that was
 * refused.  Source: docs/adr/0030, 0060. */
#ifndef TRIMTAB_LB_PUT_BACK_H
#define TRIMTAB_LB_PUT_BACK_H

#include "common/lb/plan.h"

/* For lb_op.undo; its members are not read, and no replacement need follow in the plan. */
extern const struct lb_undo lb_controller_puts_back;

#endif
