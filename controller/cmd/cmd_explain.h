/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_explain.h: what is inside the cluster behind a Service that is explained.  Private to
 * cmd_explain*.c and cmd_trace.c. */
#ifndef TRIMTAB_CONTROLLER_CMD_CMD_EXPLAIN_H
#define TRIMTAB_CONTROLLER_CMD_CMD_EXPLAIN_H

#include "common/services/tell/inside.h"
#include "controller/cmd/cmd_inside.h"

/* How the load balancer divides its traffic among nodes, as the provider's rows say. */
struct ks_balance cmd_explain_balance(const struct tt_explain_row *rows, size_t n_rows);
/* The report about one Service; `rows` are the provider's: which nodes it leaves out, whether it
 * weighs them.  NULL: there is no EndpointSlice of it, or one that cannot be read. */
const struct ks_inside *cmd_explain_inside(const struct cmd_inside *in, const char *key,
                                           const struct tt_explain_row *rows, size_t n_rows);

#endif
