/* SPDX-License-Identifier: Apache-2.0 */
/* lb_gone.c: an instance that is terminated leaves the load balancers that have it.
 *
 * Elastic Load Balancing takes it out by itself, of classic load balancers and of target groups,
 * some time later: setting "instance_release_ms" (10 s).  An earlier call still finds it.
 * One that is stopped stays.
 * Source: the user guides of Classic and Network Load Balancers, on registered instances. */
#include "sim/aws/elb/clb.h"
#include "sim/aws/elb/nlb.h"

#include <stdlib.h>

#define RELEASE_MS 10000

void amz_balancers_expect_end(struct aws *aws, const char *instance)
{
    int64_t *due_ms = xmalloc(sizeof(*due_ms));
    *due_ms = lb_now_ms(aws) + amz_setting(aws, "instance_release_ms", RELEASE_MS);
    map_set(aws->ended, instance, due_ms);
}

static void forget(struct aws *aws, const char *instance)
{
    for (struct amz_resource *r = amz_first(aws, AMZ_CLASSIC); r; r = r->next) {
        clb_forget_instance(aws, r, instance);
    }
    for (struct amz_resource *r = amz_first(aws, AMZ_TARGET_HEALTH); r; r = r->next) {
        nlb_forget_instance(aws, r, instance);
    }
}

void amz_balancers_settle(struct aws *aws)
{
    size_t n = 0;
    const char **ids = map_keys(aws->ended, &n);
    for (size_t i = 0; i < n; i++) {
        const int64_t *due_ms = map_get(aws->ended, ids[i]);
        if (lb_now_ms(aws) >= *due_ms) {
            forget(aws, ids[i]);
            map_remove(aws->ended, ids[i]);
        }
    }
    free(ids);
}
