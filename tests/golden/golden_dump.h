/* SPDX-License-Identifier: Apache-2.0 */
/* golden_dump.h: what golden files hold of a plan: its text for people, and the attributes that the
 * text leaves out. */
#ifndef TRIMTAB_TESTS_GOLDEN_DUMP_H
#define TRIMTAB_TESTS_GOLDEN_DUMP_H

#include "common/base/err.h"
#include "common/base/str.h"
#include "common/lb/plan.h"

/* The text, then one line per operation: "3 create firewall x: critical, finally always, only if 2
 * done, 2 calls". */
void golden_show_plan(struct str_buf *b, const struct tt_plan *view, const struct lb_plan *plan);
/* "error: INVALID: …": the planner refused. */
void golden_show_error(struct str_buf *b, const struct err *err);

#endif
