/* SPDX-License-Identifier: Apache-2.0 */
/* azure_budget.h: how many requests Azure Resource Manager takes of a subscription, per region and identity.
 *
 * Source: "Understand how Azure Resource Manager throttles requests": reads 250 and 25 a second, writes and deletes 200 and
 * 10 a second.  Polls of operations are reads.  Limits of a resource provider are per kind of resource: the gates of
 * azure_arm.h. */
#ifndef TRIMTAB_AZURE_BUDGET_H
#define TRIMTAB_AZURE_BUDGET_H

#include "common/net/budget.h"
#include "providers/azure/arm/azure_arm.h"

#define AZURE_BUDGETS 3u
extern const struct budget_limit azure_budget_limits[AZURE_BUDGETS];

/* Index into the table. */
size_t azure_budget_of(enum azure_verb v);
/* Did the subscription's limit refuse it, and not that of a resource provider? */
bool azure_budget_refused_it(const struct err *err);

#endif
