/* SPDX-License-Identifier: Apache-2.0 */
/* aws_node_reasons.h: which nodes get packets of a Service's load balancer, and why others get
 * none.
 *
 * AWS takes any instance of the VPC as a target, and sends packets only to those that run and are
 * in a zone where the load balancer has a subnet, also with cross-zone load balancing: "targets in
 * an Availability Zone that is not enabled do not receive traffic" (user guides of Network and
 * Classic Load Balancers).  Plans register them all, as upstream does; explain and
 * LoadBalancerServesNobody speak of those that serve.  After it->around has been read.  No I/O. */
#ifndef TRIMTAB_AWS_NODE_REASONS_H
#define TRIMTAB_AWS_NODE_REASONS_H

#include "providers/aws/aws_sync.h"

/* For each node of the batch, in its order: why it gets no packets, as a clause with the subject
 * "they" (several) or "it" (one); NULL: it gets some.  `zones` as in aws_zones_have(). */
const char **aws_node_reasons(const struct aws_sync *y, const struct aws_item *it,
                              const struct str_set *zones, bool several);

#endif
