/* SPDX-License-Identifier: Apache-2.0 */
/* golden_dump.h: the attributes of a plan that its text for people leaves out, for golden files. */
#ifndef TRIMTAB_TESTS_GOLDEN_DUMP_H
#define TRIMTAB_TESTS_GOLDEN_DUMP_H

#include "common/base/str.h"
#include "common/lb/plan.h"

/* One line per operation: "3 create firewall x: critical, finally always, only if 2 done, 2 calls". */
void golden_dump(struct str_buf *b, const struct lb_plan *plan);

#endif
