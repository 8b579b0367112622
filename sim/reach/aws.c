/* SPDX-License-Identifier: Apache-2.0 */
/* aws.c: the judge of AWS: network and classic load balancers, security groups, zones, client IP
 * preservation.
 *
 * A balancer is named by its DNS name in small letters, a target by its instance's private DNS
 * name, which is the name of the node in Kubernetes, or by the instance's id if it has none.
 * Instances that are missing or do not run, and targets that are being deregistered, are not
 * listed.  Application and gateway load balancers are not judged.
 * Source: see aws.h. */
#include "sim/reach/aws.h"

void reach_aws(struct reach *r, struct json_object *world)
{
    if (json_member(world, "aws") == NULL) {
        return;
    }
    struct reach_aws w;
    reach_aws_world_init(&w, r, world);
    reach_aws_nlbs(&w);
    reach_aws_classics(&w);
}
