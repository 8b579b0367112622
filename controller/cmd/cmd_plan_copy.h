/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_plan_copy.h: a plan that outlives the call that reported it.
 *
 * A provider's plan is borrowed; a sub-command collects several and prints them when all
 * are there. Pure. */
#ifndef TRIMTAB_CONTROLLER_CMD_CMD_PLAN_COPY_H
#define TRIMTAB_CONTROLLER_CMD_CMD_PLAN_COPY_H

#include <stdbool.h>
#include <trimtab/provider.h>

#include "common/base/arena.h"

/* A sentence about a Service beside the provider's own reasons. */
struct cmd_note {
    const char *key;
    const char *text;
    /* it says why the plan is empty: it becomes the message of a Service whose code is TT_OK */
    bool is_answer;
};
/* A deep copy in the arena; members that an older plugin's structs lack are zero.  Notes are put
 * behind the reasons of their Services. */
const struct tt_plan *cmd_plan_copy(struct arena *a, const struct tt_plan *plan,
                                    const struct cmd_note *notes, size_t n_notes);

#endif
