/* SPDX-License-Identifier: Apache-2.0 */
/* lb_gone.c: an instance that is terminated leaves the load balancers that have it.
 *
 * Elastic Load Balancing takes it out by itself, of classic load balancers and of target groups, at once here.  One that is
 * stopped stays.  Source: the user guides of Classic and Network Load Balancers, on registered instances. */
#include "sim/aws/clb.h"
#include "sim/aws/nlb.h"

void amz_balancers_forget(struct aws *aws, const char *instance)
{
    for (struct amz_resource *r = amz_first(aws, AMZ_CLASSIC); r; r = r->next) {
        clb_forget_instance(aws, r, instance);
    }
    for (struct amz_resource *r = amz_first(aws, AMZ_TARGET_HEALTH); r; r = r->next) {
        nlb_forget_instance(aws, r, instance);
    }
}
