/* SPDX-License-Identifier: Apache-2.0 */
/* azure_nsg_fields.h: what a plan shows of rules that are not as they were.  Pure. */
#ifndef TRIMTAB_AZURE_NSG_FIELDS_H
#define TRIMTAB_AZURE_NSG_FIELDS_H

#include "common/lb/diff.h"
#include "providers/azure/nsg/azure_nsg_plan.h"

/* Adds the fields of r->diff to `d`: a rule that is new on one line, of the others each member that
 * differs.  The texts live as long as d->a and the result. */
void azure_nsg_result_fields(struct lb_diff *d, const struct azure_nsg_result *r);

#endif
