/* SPDX-License-Identifier: Apache-2.0 */
/* aws_budget.h: the groups in which AWS counts requests, and how many it takes of each.
 *
 * Each account and region has buckets of tokens; without one EC2 answers RequestLimitExceeded,
 * Elastic Load Balancing Throttling.  EC2 has a bucket for each action, Elastic Load Balancing for
 * reads, registrations, creations and other changes of either API.
 * Source: "Request throttling for the Amazon EC2 API" (non-mutating 100 and 20 a second, mutating
 * 50 and 5), "… for the Elastic Load Balancing API" (40 and 10). */
#ifndef TRIMTAB_AWS_BUDGET_H
#define TRIMTAB_AWS_BUDGET_H

#include "common/net/budget.h"
#include "providers/aws/auth/aws_endpoint.h"

#define AWS_BUDGETS 12u /* STS is asked for keys only, without a budget */
extern const struct budget_limit aws_budget_limits[AWS_BUDGETS];

/* Index into the table. */
size_t aws_budget_of(enum aws_api api, const char *action, bool mutates);

#endif
