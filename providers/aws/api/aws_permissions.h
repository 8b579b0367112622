/* SPDX-License-Identifier: Apache-2.0 */
/* aws_permissions.h: the rules of an AuthorizeSecurityGroupIngress, one at a time.
 *
 * EC2 refuses a whole request for one rule that is there already.  The others are sent again, each
 * in a request of its own.  Parameters are those of aws_draft_rules(): "IpPermissions.1.FromPort",
 * "IpPermissions.1.IpRanges.2.CidrIp".  Pure. */
#ifndef TRIMTAB_AWS_PERMISSIONS_H
#define TRIMTAB_AWS_PERMISSIONS_H

#include "common/base/arena.h"
#include "providers/aws/api/aws_call.h"

/* The number of rules that the parameters name. */
size_t aws_permissions_count(const struct aws_pair *pairs, size_t n);
/* The parameters of a request with the rule of that index alone, and with all that belong to no
 * rule.  Returns their number; *ret is the arena's. */
size_t aws_permissions_one(struct arena *a, const struct aws_pair *pairs, size_t n, size_t index,
                           struct aws_pair **ret);

#endif
