/* SPDX-License-Identifier: Apache-2.0 */
/* azure_budget.c: see azure_budget.h.  Pure. */
#include "providers/azure/arm/azure_budget.h"

#include "common/base/str.h"

enum {
    READS = 0,
    WRITES,
    DELETES,
};

const struct budget_limit azure_budget_limits[AZURE_BUDGETS] = {
    [READS] = {.api = "azure", .kind = "reads", .per_second = 25, .burst = 250},
    [WRITES] = {.api = "azure", .kind = "writes", .per_second = 10, .burst = 200},
    [DELETES] = {.api = "azure", .kind = "deletes", .per_second = 10, .burst = 200},
};

size_t azure_budget_of(enum azure_verb v)
{
    return v == AZURE_DELETE ? DELETES : v == AZURE_PUT || v == AZURE_MIGRATE ? WRITES : READS;
}

bool azure_budget_refused_it(const struct err *err)
{
    return err->code == ERR_THROTTLED && str_has_prefix(str_nonnull(err->reason), "Subscription");
}
