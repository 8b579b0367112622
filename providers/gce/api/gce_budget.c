/* SPDX-License-Identifier: Apache-2.0 */
/* gce_budget.c: see gce_budget.h.  Pure. */
#include "providers/gce/api/gce_budget.h"

#include "providers/gce/api/gce_call.h"

enum group {
    READS = 0,
    LISTS,
    WRITES,
    OPERATIONS, /* reads of operations */
    GROUPS,
};

#define LIMIT(words)                                                                               \
    {                                                                                              \
        .api = "gce", .kind = words, .per_second = 20, .burst = 300, .sustained = 24.5             \
    }

const struct budget_limit gce_budget_limits[GCE_BUDGETS] = {
    [READS] = LIMIT("global reads"),
    [LISTS] = LIMIT("global lists"),
    [WRITES] = LIMIT("global writes"),
    [OPERATIONS] = LIMIT("global operations"),
    [GROUPS + READS] = LIMIT("regional reads"),
    [GROUPS + LISTS] = LIMIT("regional lists"),
    [GROUPS + WRITES] = LIMIT("regional writes"),
    [GROUPS + OPERATIONS] = LIMIT("regional operations"),
};

size_t gce_budget_of(enum gce_collection c, enum gce_verb v, bool waits)
{
    size_t group = waits                 ? OPERATIONS
                   : gce_verb_mutates(v) ? WRITES
                   : gce_verb_lists(v)   ? LISTS
                                         : READS;
    bool local = v != GCE_LIST_ALL && gce_api_is_local(c); /* zones count with their region */
    return (local ? GROUPS : 0) + group;
}
