/* SPDX-License-Identifier: Apache-2.0 */
/* aws_refused_rules.h: values of annotations that AWS is known to refuse, found in a plan before
 * its first call.  Pure.
 *
 * Only what a plan would send is judged: a value that the load balancer has already, or one that is
 * not sent to a load balancer that is there, does not stand in the way of another edit.  Source:
 * AWS' references of the three APIs. */
#ifndef TRIMTAB_AWS_REFUSED_RULES_H
#define TRIMTAB_AWS_REFUSED_RULES_H

#include "providers/aws/plan/aws_plan.h"

/* Judges the drafts.  ERR_INVALID names the annotation or the key of the cloud-config, its value,
 * and what AWS takes. */
int aws_refused_check(const struct aws_planning *p, struct err *err);

#endif
