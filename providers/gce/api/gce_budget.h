/* SPDX-License-Identifier: Apache-2.0 */
/* gce_budget.h: the groups in which Compute counts requests, and how many it takes of each.
 *
 * A project may send 1,500 requests a minute of each group, counted again every minute; more are
 * refused with 403 rateLimitExceeded.  A budget of 300 at once and 20 a second stays below that in
 * every minute; 24.5 a second do once the 300 are a minute ago.
 * Source: cloud.google.com/compute/api-quota, default quotas per project and per
 * project and region. */
#ifndef TRIMTAB_GCE_BUDGET_H
#define TRIMTAB_GCE_BUDGET_H

#include "common/net/budget.h"
#include "providers/gce/api/gce_api.h"

#define GCE_BUDGETS 8u
extern const struct budget_limit gce_budget_limits[GCE_BUDGETS];

/* The group of a request: index into the table.  `waits`: operations.wait of
 * the verb's operation. */
size_t gce_budget_of(enum gce_collection c, enum gce_verb v, bool waits);

#endif
