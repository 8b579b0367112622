/* SPDX-License-Identifier: Apache-2.0 */
/* aws_budget.c: see aws_budget.h.  Pure. */
#include "providers/aws/api/aws_budget.h"

#include "common/base/str.h"

#include <string.h>

/* Groups of one API. */
enum group {
    READS = 0,
    FIRST,  /* EC2: rules that are added; others: balancers that are made or go */
    SECOND, /* EC2: rules that are taken away; others: registrations */
    OTHER,  /* other writes */
    GROUPS,
};

#define LIMIT(api_, group_, words, rate, most)                                                     \
    [GROUPS * (api_) + (group_)] = {.api = "aws", .kind = words, .per_second = rate, .burst = most}

const struct budget_limit aws_budget_limits[AWS_BUDGETS] = {
    LIMIT(AWS_EC2, READS, "ec2 reads", 20, 100),
    LIMIT(AWS_EC2, FIRST, "ec2 authorizations", 5, 50),
    LIMIT(AWS_EC2, SECOND, "ec2 revocations", 5, 50),
    LIMIT(AWS_EC2, OTHER, "ec2 other writes", 5, 50),
    LIMIT(AWS_ELB, READS, "elb reads", 10, 40),
    LIMIT(AWS_ELB, FIRST, "elb balancers", 10, 40),
    LIMIT(AWS_ELB, SECOND, "elb registrations", 10, 40),
    LIMIT(AWS_ELB, OTHER, "elb other writes", 10, 40),
    LIMIT(AWS_ELBV2, READS, "elbv2 reads", 10, 40),
    LIMIT(AWS_ELBV2, FIRST, "elbv2 balancers", 10, 40),
    LIMIT(AWS_ELBV2, SECOND, "elbv2 registrations", 10, 40),
    LIMIT(AWS_ELBV2, OTHER, "elbv2 other writes", 10, 40),
};

static enum group group_of(enum aws_api api, const char *action)
{
    if (api == AWS_EC2) {
        return str_has_prefix(action, "AuthorizeSecurityGroup") ? FIRST
               : str_has_prefix(action, "RevokeSecurityGroup")  ? SECOND
                                                                : OTHER;
    }
    bool balancer = str_eq(action, "CreateLoadBalancer") || str_eq(action, "DeleteLoadBalancer");
    bool registers = str_has_prefix(action, "Register") || str_has_prefix(action, "Deregister");
    return balancer ? FIRST : registers ? SECOND : OTHER;
}

size_t aws_budget_of(enum aws_api api, const char *action, bool mutates)
{
    return GROUPS * (size_t)api + (size_t)(mutates ? group_of(api, action) : READS);
}
