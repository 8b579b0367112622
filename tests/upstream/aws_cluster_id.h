/* SPDX-License-Identifier: Apache-2.0 */
/* aws_cluster_id.h: the cluster's id as the Go provider reads it from the tags of its own instance.
 * The product takes it from the cloud-config.  Pure.
 * Source: docs/spec/aws.md 1.4. */
#ifndef TRIMTAB_TESTS_UPSTREAM_AWS_CLUSTER_ID_H
#define TRIMTAB_TESTS_UPSTREAM_AWS_CLUSTER_ID_H

#include "providers/aws/model/aws_rules.h"

/* 1.4: the cluster id that tags of the own instance tell; ERR_INVALID none, several or
 * contradicting. */
int aws_tags_cluster_id(struct arena *a, const struct aws_tags *tags, const char **ret_id,
                        bool *ret_legacy, struct err *err);

#endif
