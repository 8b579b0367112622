/* SPDX-License-Identifier: Apache-2.0 */
/* aws_name_rules.h: names of AWS' things that a Service's owner writes, against AWS' published
 * patterns and against what the cloud-config allows.
 *
 * Requests of AWS carry names in a form, where each is escaped, so none can reach another path; the
 * check spares calls and names the field.  Source: the API references of EC2, Elastic Load
 * Balancing (both versions), IAM and S3.  Pure. */
#ifndef TRIMTAB_AWS_NAME_RULES_H
#define TRIMTAB_AWS_NAME_RULES_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/lb/name_rules.h"
#include "providers/aws/model/aws_config.h"

#include <trimtab/types.h>

/* Kinds of names that fields hold. */
enum aws_name_kind {
    AWS_NAME_GROUP = 0, /* id of a security group */
    AWS_NAME_ALLOCATION,
    AWS_NAME_SUBNET, /* id, or Name tag */
    AWS_NAME_CERTIFICATE,
    AWS_NAME_POLICY,
    AWS_NAME_BUCKET,
    AWS_NAME_BUCKET_PREFIX,
    AWS_NAME_LABEL, /* key of a node's label */
    AWS_NAME_TAG,
    AWS_NAME_KINDS,
};
const struct name_rule *aws_name_rule(enum aws_name_kind k);

/* Checks every annotation of `s` that names something.  `previous`: as it was synced before, or
 * NULL (name_rules.h).  ERR_INVALID with the field and the pattern, or with the key of the
 * cloud-config that does not allow it. */
int aws_names_check(struct arena *a, const struct aws_config *c, const struct tt_service *s,
                    const struct tt_service *previous, struct err *err) _warn_unused_;

#endif
