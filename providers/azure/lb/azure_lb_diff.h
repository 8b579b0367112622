/* SPDX-License-Identifier: Apache-2.0 */
/* azure_lb_diff.h: what differs between two states of a load balancer, element by element, for a
 * plan.
 *
 * A document of a thousand Services is not shown whole: only elements that come, go or change, by
 * name.
 * Source: docs/spec/azure.md 12.5.  Pure. */
#ifndef TRIMTAB_AZURE_LB_DIFF_H
#define TRIMTAB_AZURE_LB_DIFF_H

#include "common/data/json.h"
#include "common/lb/diff.h"

/* `was` NULL: a new balancer. */
void azure_lb_diff(struct lb_diff *d, struct json_object *was, struct json_object *now);

#endif
