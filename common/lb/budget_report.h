/* SPDX-License-Identifier: Apache-2.0 */
/* budget_report.h: a provider's budgets of requests (common/net/budget.h) as metrics of the controller.
 *
 * The status page reads them from there. */
#ifndef TRIMTAB_LB_BUDGET_REPORT_H
#define TRIMTAB_LB_BUDGET_REPORT_H

#include "common/net/budget.h"

#include <trimtab/provider.h>

/* A budgets_report_fn; `host` is the provider's struct tt_host *, or NULL.  Does not block. */
void lb_budget_report(void *host, enum budget_event event, const struct budget_view *now);

#endif
