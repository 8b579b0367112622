/* SPDX-License-Identifier: Apache-2.0 */
/* detail_rules.h: what the lines "Done" and "Not done" of the log say of an operation beside its
 * resource: ports, ranges, members, or the attributes that change and their values.  Pure. */
#ifndef TRIMTAB_CONTROLLER_DETAIL_RULES_H
#define TRIMTAB_CONTROLLER_DETAIL_RULES_H

#include "common/base/str.h"

#include <trimtab/provider.h>

/* Appends the summary of the operation, and of a change, or without a summary, its first four
 * fields: "idle: 60 → 120", and of lists
 * "ingress + tcp 80 from 192.0.2.0/24, - tcp 80 from 0.0.0.0/0 and 3 more". */
void detail_append(struct str_buf *b, const struct tt_operation *op);

#endif
