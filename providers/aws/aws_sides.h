/* SPDX-License-Identifier: Apache-2.0 */
/* aws_sides.h: listeners of a Service whose ssl-ports upstream and we read differently.
 *
 * Upstream takes no blanks off the items of ssl-ports, and an empty item for every unnamed port; we
 * do the first and pass over the second.  On what stands that would exchange TLS for plain text, or
 * the other way round, without an edit: there the listener decides, until ssl-ports or ssl-cert is
 * edited (or with --repair-adopted).
 * Source: docs/spec/aws.md 4.4, 15 row 3; docs/deviations.md.  Pure. */
#ifndef TRIMTAB_AWS_SIDES_H
#define TRIMTAB_AWS_SIDES_H

#include "providers/aws/plan/aws_plan.h"

/* The Service as what stands has it: itself, or a copy of other ports.  `previous` NULL: this
 * process has not synced it. */
const struct aws_service *aws_sides_settle(struct arena *a, const struct aws_service *s,
                                           const struct aws_observed *seen,
                                           const struct tt_service *previous);

#endif
