/* SPDX-License-Identifier: Apache-2.0 */
/* aws_attribute_rules.h: attributes of load balancers that annotations set.  Pure.
 * Source: docs/spec/aws.md 4.8, 5.8.  Differences: aws_rules.h. */
#ifndef TRIMTAB_AWS_ATTRIBUTE_RULES_H
#define TRIMTAB_AWS_ATTRIBUTE_RULES_H

#include "providers/aws/model/aws_service.h"

#define AWS_ATTRIBUTE_LOGS       "access_logs.s3.enabled"
#define AWS_ATTRIBUTE_BUCKET     "access_logs.s3.bucket"
#define AWS_ATTRIBUTE_PREFIX     "access_logs.s3.prefix"
#define AWS_ATTRIBUTE_CROSS_ZONE "load_balancing.cross_zone.enabled"

/* Of target groups. */
#define AWS_ATTRIBUTE_KEEPS_CLIENT_IP "preserve_client_ip.enabled"

int aws_classic_attributes(const struct tt_service *s, struct aws_classic_attributes *ret,
                           struct err *err);
/* Sorted.  Bucket and prefix are among them only while access logs are on. */
int aws_nlb_attributes(struct arena *a, const struct tt_service *s, struct aws_tags *ret,
                       struct err *err);
/* Those of target groups that the Service asks for: the ones that it names, and AWS' own values
 * of those that it named `before` (NULL: unknown) and names no more.  `sees_clients`: nodes have
 * to see who the clients are, whatever was named before. */
struct aws_tags aws_group_attributes_asked(struct arena *a, const struct aws_service *now,
                                           const struct aws_service *before, bool sees_clients);

#endif
