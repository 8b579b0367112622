/* SPDX-License-Identifier: Apache-2.0 */
/* budget_report.c: see budget_report.h. */
#include "common/lb/budget_report.h"

#include "common/base/str.h"

void lb_budget_report(void *host, enum budget_event event, const struct budget_view *now)
{
    const struct tt_host *h = host;
    const struct tt_kv labels[] = {{"api", now->api}, {"kind", now->kind}};
    if (h == NULL || h->metric_set == NULL) {
        return;
    }
    h->metric_set(h->ctx, "trimtab_budget_requests_per_second", labels, ARRAY_LEN(labels),
                  now->per_second);
    if (event != BUDGET_RATE) {
        h->metric_add(h->ctx,
                      event == BUDGET_HELD ? "trimtab_budget_held_total"
                                           : "trimtab_budget_refused_total",
                      labels, ARRAY_LEN(labels), 1);
    }
}
