/* SPDX-License-Identifier: Apache-2.0 */
/* nlb_attributes.c: describing and changing the attributes of balancers, target groups and
 * listeners.
 *
 * Only values that were set (or loaded with a world) are stored; an answer lays them over the
 * defaults of nlb_rules.c, so that every attribute that AWS has is listed.  A change answers the
 * whole list.
 * Source: docs/spec/aws.md §5.8, §5.10, §10.4 rows 12 and 13. */
#include "sim/aws/elb/nlb.h"

#include <string.h>

static struct json_object *attributes_of(struct amz_request *q, enum amz_kind_id kind,
                                         const struct nlb_subject *s, bool truth)
{
    struct json_object *list = nlb_attribute_defaults(s);
    struct amz_resource *stored = amz_get(q->aws, kind, s->name);
    if (stored) {
        nlb_attributes_put(list, truth ? stored->body : amz_seen(q->aws, stored));
    }
    return list;
}

static bool describe(struct amz_request *q, enum amz_kind_id kind, const struct nlb_subject *s)
{
    json_add(q->out, "Attributes", attributes_of(q, kind, s, false));
    return true;
}

static bool modify(struct amz_request *q, enum amz_kind_id kind, const struct nlb_subject *s)
{
    struct json_object *wanted = json_member(q->in, "Attributes");
    struct json_object *list = attributes_of(q, kind, s, true);
    if (!nlb_attributes_check(q, s, wanted, list)) {
        json_object_put(list);
        return false;
    }
    struct amz_resource *stored = amz_get(q->aws, kind, s->name);
    amz_unsettle(q->aws, stored ? stored : amz_set(q->aws, kind, s->name, json_object_new_array()),
                 stored ? stored->body : NULL);
    nlb_attributes_put(list, wanted);
    amz_set(q->aws, kind, s->name, list);
    json_add(q->out, "Attributes", json_copy(list));
    return true;
}

/* --- balancers -------------------------------------------------------------------------------- */

static struct nlb_subject balancer_subject(const struct amz_resource *lb)
{
    return (struct nlb_subject){
        .set = NLB_BALANCER,
        .protocol = "",
        .target_type = "",
        .name = lb->id,
        .internal = str_eq(json_str(lb->body, "Scheme"), "internal"),
    };
}

struct json_object *nlb_balancer_attributes(struct amz_request *q, struct amz_resource *lb)
{
    struct nlb_subject s = balancer_subject(lb);
    return attributes_of(q, AMZ_LOAD_BALANCER_ATTRIBUTES, &s, true);
}

bool nlb_describe_balancer_attributes(struct amz_request *q)
{
    struct amz_resource *lb = nlb_find_balancer(q, json_str(q->in, "LoadBalancerArn"));
    if (!lb) {
        return false;
    }
    if (!str_eq(json_str(lb->body, "Type"), "network")) { /* of a world: what it says itself */
        struct amz_resource *stored = amz_get(q->aws, AMZ_LOAD_BALANCER_ATTRIBUTES, lb->id);
        nlb_attributes_put(amz_list(q->out, "Attributes"), stored ? stored->body : NULL);
        return true;
    }
    struct nlb_subject s = balancer_subject(lb);
    return describe(q, AMZ_LOAD_BALANCER_ATTRIBUTES, &s);
}

bool nlb_modify_balancer_attributes(struct amz_request *q)
{
    struct amz_resource *lb = nlb_find_balancer(q, json_str(q->in, "LoadBalancerArn"));
    if (!lb || !nlb_must_be_network(q, lb)) {
        return false;
    }
    struct nlb_subject s = balancer_subject(lb);
    return modify(q, AMZ_LOAD_BALANCER_ATTRIBUTES, &s);
}

/* --- target groups ---------------------------------------------------------------------------- */

static struct nlb_subject group_subject(const struct amz_resource *group)
{
    return (struct nlb_subject){
        .set = NLB_GROUP,
        .protocol = str_nonnull(json_str(group->body, "Protocol")),
        .target_type = str_or(json_str(group->body, "TargetType"), "instance"),
        .name = group->id,
    };
}

bool nlb_describe_group_attributes(struct amz_request *q)
{
    struct amz_resource *group = nlb_find_group(q, json_str(q->in, "TargetGroupArn"));
    if (!group) {
        return false;
    }
    struct nlb_subject s = group_subject(group);
    return describe(q, AMZ_TARGET_GROUP_ATTRIBUTES, &s);
}

bool nlb_modify_group_attributes(struct amz_request *q)
{
    struct amz_resource *group = nlb_find_group(q, json_str(q->in, "TargetGroupArn"));
    if (!group) {
        return false;
    }
    struct nlb_subject s = group_subject(group);
    return modify(q, AMZ_TARGET_GROUP_ATTRIBUTES, &s);
}

/* --- listeners -------------------------------------------------------------------------------- */

static struct nlb_subject listener_subject(const struct amz_resource *listener)
{
    return (struct nlb_subject){
        .set = NLB_LISTENER,
        .protocol = str_nonnull(json_str(listener->body, "Protocol")),
        .target_type = "",
        .name = listener->id,
    };
}

bool nlb_describe_listener_attributes(struct amz_request *q)
{
    struct amz_resource *listener = nlb_find_listener(q, json_str(q->in, "ListenerArn"));
    if (!listener) {
        return false;
    }
    struct nlb_subject s = listener_subject(listener);
    return describe(q, AMZ_LISTENER_ATTRIBUTES, &s);
}

bool nlb_modify_listener_attributes(struct amz_request *q)
{
    struct amz_resource *listener = nlb_find_listener(q, json_str(q->in, "ListenerArn"));
    if (!listener) {
        return false;
    }
    struct nlb_subject s = listener_subject(listener);
    return modify(q, AMZ_LISTENER_ATTRIBUTES, &s);
}
