/* SPDX-License-Identifier: Apache-2.0 */
/* checks.h: what the health checks of the clouds ask of a node: from their documents to a probe
 * (answers.h).
 *
 * Port 0 of a probe: the document names none.  Node and family are the caller's to fill in; texts
 * are borrowed.  Pure. */
#ifndef TRIMTAB_SIM_REACH_CHECKS_H
#define TRIMTAB_SIM_REACH_CHECKS_H

#include "sim/reach/answers.h"

/* Google: a healthCheck of any kind, or an httpHealthCheck. */
struct reach_probe reach_gce_check(struct json_object *check);
/* Azure: the properties of a probe. */
struct reach_probe reach_azure_check(struct json_object *properties);
/* AWS: a target group, with the port of the target; and a classic balancer, whose path lives
 * in the arena. */
struct reach_probe reach_elbv2_check(struct json_object *group, int64_t target_port);
struct reach_probe reach_elb_check(struct arena *a, struct json_object *balancer);

#endif
