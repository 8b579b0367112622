/* SPDX-License-Identifier: Apache-2.0 */
/* nlb_find.c: finding balancers, listeners and target groups by ARN and name, and how AWS refuses
 * when there is none.
 *
 * An ARN of the wrong shape is a ValidationError, one that nothing has is …NotFound.  A world may
 * hold ARNs that another emulator made ("listener/app/…" of a network balancer); they are found as
 * they stand.  Source: docs/spec/aws.md §3.3. */
#include "sim/aws/elb/nlb.h"

#include <string.h>

#define SERVICE "elasticloadbalancing"

bool nlb_balancer_arn_is_valid(const char *arn)
{
    return lb_arn_is(arn, SERVICE, "loadbalancer");
}

bool nlb_group_arn_is_valid(const char *arn)
{
    return lb_arn_is(arn, SERVICE, "targetgroup");
}

bool nlb_listener_arn_is_valid(const char *arn)
{
    return lb_arn_is(arn, SERVICE, "listener");
}

struct amz_resource *nlb_find_balancer(struct amz_request *q, const char *arn)
{
    struct amz_resource *res = amz_get(q->aws, AMZ_LOAD_BALANCER, arn);
    if (!res && !nlb_balancer_arn_is_valid(arn)) {
        amz_refuse_value(q, "'%s' is not a valid load balancer ARN", arn);
    } else if (!res) {
        amz_refuse(q, "LoadBalancerNotFound", "Load balancer '%s' not found", arn);
    }
    return res;
}

struct amz_resource *nlb_find_listener(struct amz_request *q, const char *arn)
{
    struct amz_resource *res = amz_get(q->aws, AMZ_LISTENER, arn);
    if (!res && !nlb_listener_arn_is_valid(arn)) {
        amz_refuse_value(q, "'%s' is not a valid listener ARN", arn);
    } else if (!res) {
        amz_refuse(q, "ListenerNotFound", "One or more listeners not found");
    }
    return res;
}

struct amz_resource *nlb_find_group(struct amz_request *q, const char *arn)
{
    struct amz_resource *res = amz_get(q->aws, AMZ_TARGET_GROUP, arn);
    if (!res && !nlb_group_arn_is_valid(arn)) {
        amz_refuse_value(q, "'%s' is not a valid target group ARN", arn);
    } else if (!res) {
        amz_refuse(q, "TargetGroupNotFound", "One or more target groups not found");
    }
    return res;
}

bool nlb_must_be_network(struct amz_request *q, const struct amz_resource *lb)
{
    const char *type = json_str(lb->body, "Type");
    return str_eq(type, "network")
               ? true
               : amz_refuse(q, "InvalidConfigurationRequest",
                            "%s is not simulated for load balancers of type '%s'", q->op->name,
                            str_nonnull(type));
}

static struct amz_resource *named(const struct aws *aws, enum amz_kind_id kind, const char *member,
                                  const char *name)
{
    for (struct amz_resource *r = amz_first(aws, kind); r; r = r->next) {
        if (str_eq(json_str(r->body, member), name)) {
            return r;
        }
    }
    return NULL;
}

struct amz_resource *nlb_balancer_named(const struct aws *aws, const char *name)
{
    return named(aws, AMZ_LOAD_BALANCER, "LoadBalancerName", name);
}

struct amz_resource *nlb_group_named(const struct aws *aws, const char *name)
{
    return named(aws, AMZ_TARGET_GROUP, "TargetGroupName", name);
}

bool nlb_check_named(struct amz_request *q, struct json_object *list, const char *what)
{
    return json_len(list) <= NLB_NAMED_MAX
               ? true
               : amz_refuse_value(q, "The maximum number of %s that can be specified is '%d'", what,
                                  NLB_NAMED_MAX);
}
