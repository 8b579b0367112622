/* SPDX-License-Identifier: Apache-2.0 */
/* aws_health_rules.h: which health checks a Service's nodes get: annotations over what the Service
 * and the configuration say.  Pure.  Source: docs/spec/aws.md 4.12, 5.2; vectors 11.7. */
#ifndef TRIMTAB_AWS_HEALTH_RULES_H
#define TRIMTAB_AWS_HEALTH_RULES_H

#include "providers/aws/model/aws_service.h"

/* `first_node_port`: of the first listener; 0 when there is none. */
int aws_classic_health(struct arena *a, const struct aws_naming *naming, const struct tt_service *s,
                       int32_t first_node_port, struct aws_classic_health *ret, struct err *err);
int aws_nlb_health(struct arena *a, const struct aws_naming *naming, const struct tt_service *s,
                   struct aws_target_health_check *ret, struct err *err);

#endif
