/* SPDX-License-Identifier: Apache-2.0 */
/* nlb_groups.c: target groups: creating, describing, changing the health check of, and deleting
 * them.
 *
 * A group's name, protocol, port and VPC never change.  A create with equal parameters answers the
 * group that is there.  Which balancers use a group is worked out from the listeners; while any
 * does, it cannot be deleted.
 * Source: docs/spec/aws.md §3.3, §5.7, §10.4 rows 5–7. */
#include "sim/aws/elb/nlb.h"

#include <string.h>

#define NO_LIMIT 1000000000

struct json_object *nlb_group_balancers(const struct aws *aws, const char *group)
{
    struct json_object *users = json_object_new_array();
    for (struct amz_resource *r = amz_first(aws, AMZ_LISTENER); r; r = r->next) {
        const char *lb = json_str(r->body, "LoadBalancerArn");
        if (!lb || amz_has_text(users, lb)) {
            continue;
        }
        struct json_object *groups = nlb_forwards_to(r->body);
        if (amz_has_text(groups, group)) {
            json_push_str(users, lb);
        }
        json_object_put(groups);
    }
    return users;
}

static void put_users(void *users)
{
    json_object_put(users);
}

/* ARN of a group → list of the balancers that use it, for all groups at once; map_free() it. */
static struct map *users_of_all(struct aws *aws)
{
    struct map *all = map_new(put_users);
    for (struct amz_resource *r = amz_first(aws, AMZ_LISTENER); r; r = r->next) {
        struct json_object *seen = amz_seen(aws, r);
        const char *lb = json_str(seen, "LoadBalancerArn");
        struct json_object *groups = nlb_forwards_to(seen);
        for (size_t i = 0; lb && i < json_len(groups); i++) {
            const char *group = json_object_get_string(json_object_array_get_idx(groups, i));
            struct json_object *users = map_get(all, group);
            if (!users) {
                users = json_object_new_array();
                map_set(all, group, users);
            }
            if (!amz_has_text(users, lb)) {
                json_push_str(users, lb);
            }
        }
        json_object_put(groups);
    }
    return all;
}

/* How a group is described now; new reference, or NULL when readers do not see it yet. */
static struct json_object *view(struct aws *aws, struct amz_resource *group, const struct map *all)
{
    struct json_object *seen = amz_seen(aws, group);
    if (!seen) {
        return NULL;
    }
    struct json_object *body = json_copy(seen), *users = map_get(all, group->id);
    json_add(body, "LoadBalancerArns", users ? json_copy(users) : json_object_new_array());
    return body;
}

static bool check_kind(struct amz_request *q)
{
    const char *protocol = json_str(q->in, "Protocol");
    const char *type = str_or(json_str(q->in, "TargetType"), "instance");
    if (!str_eq(type, "instance") && !str_eq(type, "ip")) {
        return amz_refuse(q, "InvalidConfigurationRequest",
                          "Target groups with the target type '%s' are not simulated", type);
    }
    if (!protocol) {
        return amz_refuse_value(q, "A target group protocol must be specified");
    }
    if (!json_member(q->in, "Port")) {
        return amz_refuse_value(q, "A target group port must be specified");
    }
    bool http = str_eq(protocol, "HTTP") || str_eq(protocol, "HTTPS");
    if (!http && !nlb_protocol_is_layer4(protocol)) {
        return amz_refuse(q, "InvalidConfigurationRequest",
                          "Target groups with the %s protocol are not simulated", protocol);
    }
    if (json_str(q->in, "ProtocolVersion") && !http) {
        return amz_refuse_value(q,
                                "A protocol version cannot be specified for target groups with "
                                "the %s protocol",
                                protocol);
    }
    if (json_member(q->in, "TargetControlPort")) {
        return amz_refuse_value(q,
                                "A target control port cannot be specified for target groups "
                                "with the %s protocol",
                                protocol);
    }
    return true;
}

static bool check_vpc(struct amz_request *q)
{
    const char *vpc = json_str(q->in, "VpcId");
    if (!vpc) {
        return amz_refuse_value(q, "A VPC ID must be specified");
    }
    return amz_get(q->aws, AMZ_VPC, vpc) ? true
                                         : amz_refuse_value(q, "The VPC ID '%s' is not found", vpc);
}

/* The group that the request describes, complete but for its ARN; NULL: refused. */
static struct json_object *new_body(struct amz_request *q)
{
    struct json_object *body = json_object_new_object();
    const char *protocol = json_str(q->in, "Protocol");
    json_add_str(body, "TargetGroupName", json_str(q->in, "Name"));
    json_add_str(body, "Protocol", protocol);
    json_add_int(body, "Port", json_int(q->in, "Port", 0));
    json_add_str(body, "VpcId", json_str(q->in, "VpcId"));
    json_add_str(body, "TargetType", str_or(json_str(q->in, "TargetType"), "instance"));
    json_add_str(body, "IpAddressType", str_or(json_str(q->in, "IpAddressType"), "ipv4"));
    if (!nlb_protocol_is_layer4(protocol)) {
        json_add_str(body, "ProtocolVersion", str_or(json_str(q->in, "ProtocolVersion"), "HTTP1"));
    }
    json_add_str(body, "HealthCheckProtocol", json_str(q->in, "HealthCheckProtocol"));
    nlb_health_fill(body);
    if (!nlb_health_change(q, body, q->in)) {
        json_object_put(body);
        return NULL;
    }
    return body;
}

static bool same_group(struct json_object *have, struct json_object *wanted)
{
    json_object_object_foreach(wanted, name, value)
    {
        if (!json_equal(json_member(have, name), value)) {
            return false;
        }
    }
    return true;
}

static void answer(struct amz_request *q, struct amz_resource *group)
{
    struct json_object *body = json_copy(group->body);
    json_add(body, "LoadBalancerArns", nlb_group_balancers(q->aws, group->id));
    json_object_array_add(amz_list(q->out, "TargetGroups"), body);
}

/* The name is taken: fine when nothing differs.  `wanted` is given back. */
static bool answer_existing(struct amz_request *q, struct amz_resource *group,
                            struct json_object *wanted)
{
    bool same = same_group(group->body, wanted) &&
                lb_same_tags(nlb_tags_of(q->aws, group->id), json_member(q->in, "Tags"));
    json_object_put(wanted);
    if (!same) {
        return amz_refuse(q, "DuplicateTargetGroupName",
                          "A target group with the same name '%s' exists, but with different "
                          "settings",
                          json_str(q->in, "Name"));
    }
    answer(q, group);
    return true;
}

bool nlb_create_group(struct amz_request *q)
{
    const char *name = json_str(q->in, "Name");
    if (!lb_check_name(q, "Target group", name) || !check_kind(q) || !check_vpc(q) ||
        !amz_tags_check(q, json_member(q->in, "Tags"), NULL, NLB_TAGS_MAX)) {
        return false;
    }
    struct json_object *body = new_body(q);
    if (!body) {
        return false;
    }
    struct amz_resource *group = nlb_group_named(q->aws, name);
    if (group) {
        return answer_existing(q, group, body);
    }
    int64_t most = amz_quota(q->aws, "target_groups", NO_LIMIT);
    if ((int64_t)amz_count(q->aws, AMZ_TARGET_GROUP) >= most) {
        json_object_put(body);
        return amz_refuse(q, "TooManyTargetGroups",
                          "The maximum number of target groups has been reached");
    }
    const char *arn = amz_arn(q->aws, q->a, "elasticloadbalancing", "targetgroup/%s/%s", name,
                              amz_new_hex(q->aws, q->a, 16));
    json_add_str(body, "TargetGroupArn", arn);
    group = amz_set(q->aws, AMZ_TARGET_GROUP, arn, body);
    amz_unsettle(q->aws, group, NULL);
    amz_set(q->aws, AMZ_TARGET_HEALTH, arn, json_object_new_array());
    nlb_tags_set(q->aws, arn, json_member(q->in, "Tags"));
    answer(q, group);
    return true;
}

/* Those that are asked for, in that order; NULL: refused. */
static struct json_object *chosen(struct amz_request *q, struct json_object *names,
                                  struct json_object *arns, const struct map *all)
{
    struct json_object *items = json_object_new_array();
    bool by_name = json_len(names) > 0;
    for (size_t i = 0; i < json_len(names) + json_len(arns); i++) {
        const char *text =
            json_object_get_string(json_object_array_get_idx(by_name ? names : arns, i));
        struct amz_resource *group =
            by_name ? nlb_group_named(q->aws, text) : amz_get(q->aws, AMZ_TARGET_GROUP, text);
        struct json_object *body = group ? view(q->aws, group, all) : NULL;
        if (!body) {
            json_object_put(items);
            if (!by_name && !nlb_group_arn_is_valid(text)) {
                amz_refuse_value(q, "'%s' is not a valid target group ARN", text);
            } else {
                amz_refuse(q, "TargetGroupNotFound", "One or more target groups not found");
            }
            return NULL;
        }
        json_object_array_add(items, body);
    }
    return items;
}

/* All, or those of a balancer. */
static struct json_object *listed(struct amz_request *q, const char *lb, const struct map *all)
{
    struct json_object *items = json_object_new_array();
    for (struct amz_resource *r = amz_first(q->aws, AMZ_TARGET_GROUP); r; r = r->next) {
        bool wanted = !lb || amz_has_text(map_get(all, r->id), lb);
        struct json_object *body = wanted ? view(q->aws, r, all) : NULL;
        if (body) {
            json_object_array_add(items, body);
        }
    }
    return items;
}

bool nlb_describe_groups(struct amz_request *q)
{
    struct json_object *names = json_member(q->in, "Names");
    struct json_object *arns = json_member(q->in, "TargetGroupArns");
    const char *lb = json_str(q->in, "LoadBalancerArn");
    int ways = (json_len(names) > 0) + (json_len(arns) > 0) + (lb != NULL);
    if (ways > 1) {
        return amz_refuse_combination(q, "You can specify one of: a load balancer ARN, target "
                                         "group names, target group ARNs");
    }
    if (!nlb_check_named(q, names, "target group names") ||
        !nlb_check_named(q, arns, "target group ARNs") || (lb && !nlb_find_balancer(q, lb))) {
        return false;
    }
    bool picked = json_len(names) + json_len(arns) > 0;
    struct map *all = users_of_all(q->aws);
    struct json_object *items = picked ? chosen(q, names, arns, all) : listed(q, lb, all);
    map_free(all);
    return items && amz_page(q, "TargetGroups", items, 400);
}

bool nlb_modify_group(struct amz_request *q)
{
    struct amz_resource *group = nlb_find_group(q, json_str(q->in, "TargetGroupArn"));
    if (!group) {
        return false;
    }
    struct json_object *body = json_copy(group->body);
    nlb_health_fill(body); /* a world's may lack members */
    if (!nlb_health_change(q, body, q->in)) {
        json_object_put(body);
        return false;
    }
    amz_unsettle(q->aws, group, group->body);
    amz_set(q->aws, AMZ_TARGET_GROUP, group->id, body);
    nlb_check_targets(q->aws, group);
    answer(q, group);
    return true;
}

bool nlb_delete_group(struct amz_request *q)
{
    const char *arn = json_str(q->in, "TargetGroupArn");
    if (!amz_get(q->aws, AMZ_TARGET_GROUP, arn)) {
        /* already deleted is fine; an invalid ARN is not */
        return nlb_group_arn_is_valid(arn) || nlb_find_group(q, arn) != NULL;
    }
    struct json_object *users = nlb_group_balancers(q->aws, arn);
    bool used = json_len(users) > 0 || amz_is_held(q->aws, arn);
    json_object_put(users);
    if (used) {
        return amz_refuse(q, "ResourceInUse",
                          "Target group '%s' is currently in use by a listener or a rule", arn);
    }
    amz_unset(q->aws, AMZ_TARGET_GROUP_ATTRIBUTES, arn);
    amz_unset(q->aws, AMZ_TARGET_HEALTH, arn);
    amz_unset(q->aws, AMZ_V2_TAGS, arn);
    amz_unset(q->aws, AMZ_TARGET_GROUP, arn);
    return true;
}
