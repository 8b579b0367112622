/* SPDX-License-Identifier: Apache-2.0 */
/* rule_same.h: whether EC2 takes two rules of a security group for one. */
#ifndef TRIMTAB_TESTS_RULE_SAME_H
#define TRIMTAB_TESTS_RULE_SAME_H

#include "providers/aws/model/aws_rules.h"

/* Descriptions do not count. */
static inline bool aws_rule_same(const struct aws_rule *x, const struct aws_rule *y)
{
    const struct aws_rules one = {.items = x, .n = 1};
    return aws_rules_have(&one, y);
}

#endif
