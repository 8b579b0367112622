/* SPDX-License-Identifier: Apache-2.0 */
/* aws_budget.c: see aws_budget.h.  Pure. */
#include "providers/aws/api/aws_budget.h"

#define LIMIT(words, rate, most)                                                                   \
    {                                                                                              \
        .api = "aws", .kind = words, .per_second = rate, .burst = most                             \
    }

const struct budget_limit aws_budget_limits[AWS_BUDGETS] = {
    [2 * AWS_EC2] = LIMIT("ec2 reads", 20, 100),
    [2 * AWS_EC2 + 1] = LIMIT("ec2 writes", 5, 50),
    [2 * AWS_ELB] = LIMIT("elb reads", 10, 40),
    [2 * AWS_ELB + 1] = LIMIT("elb writes", 10, 40),
    [2 * AWS_ELBV2] = LIMIT("elbv2 reads", 10, 40),
    [2 * AWS_ELBV2 + 1] = LIMIT("elbv2 writes", 10, 40),
    [2 * AWS_STS] = LIMIT("sts reads", 10, 40),
    [2 * AWS_STS + 1] = LIMIT("sts writes", 10, 40),
};

size_t aws_budget_of(enum aws_api api, bool mutates)
{
    return 2 * (size_t)api + (mutates ? 1 : 0);
}
