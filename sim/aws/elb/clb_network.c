/* SPDX-License-Identifier: Apache-2.0 */
/* clb_network.c: subnets, groups, instances and the health check of classic balancers.
 *
 * A balancer has one subnet in each zone and never none.  Registering an instance that does not
 * exist, or lies in another VPC, refuses the whole call; one that is stopped can be registered and
 * is out of service.  An instance that ended is taken out by itself (lb_gone.c).  Source:
 * docs/spec/aws.md §4.6, §4.12, §4.13, §10.4 rows 24, 31b. */
#include "sim/aws/elb/clb.h"

#include <stdio.h>

/* --- subnets ---------------------------------------------------------------------------------- */

bool clb_place(struct amz_request *q, struct json_object *body, struct json_object *subnets)
{
    struct json_object *ids = lb_unique(subnets), *zones = json_object_new_array();
    struct json_object *have = json_member(body, "Subnets");
    size_t n = json_len(ids);
    struct lb_place *places = ARENA_ARRAY(q->a, struct lb_place, n);
    bool fine = n > 0;
    for (size_t i = 0; fine && i < n; i++) {
        const char *id = json_object_get_string(json_object_array_get_idx(ids, i));
        fine = lb_find_place(q, id, amz_has_text(have, id), &places[i]);
        json_push_str(zones, fine ? places[i].zone : "");
    }
    bool internal = str_eq(json_str(body, "Scheme"), "internal");
    fine =
        fine && lb_check_places(q, places, n) && (internal || lb_check_gateway(q, places[0].vpc));
    if (!fine) {
        json_object_put(ids);
        json_object_put(zones);
        return false;
    }
    json_add_str(body, "VPCId", places[0].vpc);
    json_add(body, "Subnets", ids);
    json_add(body, "AvailabilityZones", zones);
    return true;
}

static bool answer_subnets(struct amz_request *q, struct amz_resource *lb)
{
    json_add(q->out, "Subnets", json_copy(json_member(lb->body, "Subnets")));
    return true;
}

bool clb_attach_subnets(struct amz_request *q)
{
    struct amz_resource *lb = clb_find(q);
    struct json_object *more = json_member(q->in, "Subnets");
    if (!lb) {
        return false;
    }
    if (json_len(more) == 0) {
        return amz_refuse_value(q, "Subnets cannot be empty");
    }
    struct json_object *all = json_copy(amz_list(lb->body, "Subnets"));
    for (size_t i = 0; i < json_len(more); i++) {
        json_push_str(all, json_object_get_string(json_object_array_get_idx(more, i)));
    }
    amz_unsettle(q->aws, lb, lb->body);
    bool fine = clb_place(q, lb->body, all);
    json_object_put(all);
    return fine && answer_subnets(q, lb);
}

bool clb_detach_subnets(struct amz_request *q)
{
    struct amz_resource *lb = clb_find(q);
    struct json_object *gone = json_member(q->in, "Subnets");
    if (!lb) {
        return false;
    }
    struct json_object *have = amz_list(lb->body, "Subnets");
    struct json_object *left = json_object_new_array(), *zones = json_object_new_array();
    for (size_t i = 0; i < json_len(have); i++) {
        const char *id = json_object_get_string(json_object_array_get_idx(have, i));
        struct amz_ec2_subnet found;
        if (!amz_has_text(gone, id)) {
            json_push_str(left, id);
            json_push_str(zones, amz_ec2_subnet(q->aws, id, &found) ? found.zone : "");
        }
    }
    if (json_len(left) == 0) {
        json_object_put(left);
        json_object_put(zones);
        return amz_refuse(q, "InvalidConfigurationRequest",
                          "The load balancer %s must be attached to at least one subnet", lb->id);
    }
    amz_unsettle(q->aws, lb, lb->body);
    json_add(lb->body, "Subnets", left);
    json_add(lb->body, "AvailabilityZones", zones);
    return answer_subnets(q, lb);
}

/* --- groups ----------------------------------------------------------------------------------- */

/* The id of the VPC's default group, or NULL. */
static const char *default_group(const struct aws *aws, const char *vpc)
{
    for (struct amz_resource *r = amz_first(aws, AMZ_SECURITY_GROUP); r; r = r->next) {
        if (str_eq(json_str(r->body, "VpcId"), vpc) &&
            str_eq(json_str(r->body, "GroupName"), "default")) {
            return r->id;
        }
    }
    return NULL;
}

bool clb_set_groups(struct amz_request *q, struct json_object *body, struct json_object *groups)
{
    const char *vpc = str_nonnull(json_str(body, "VPCId"));
    struct json_object *ids = lb_unique(groups);
    if (json_len(ids) == 0 && default_group(q->aws, vpc)) {
        json_push_str(ids, default_group(q->aws, vpc));
    }
    if (!lb_check_groups(q, ids, vpc)) {
        json_object_put(ids);
        return false;
    }
    const char *first = json_object_get_string(json_object_array_get_idx(ids, 0));
    struct amz_resource *group = amz_get(q->aws, AMZ_SECURITY_GROUP, first);
    struct json_object *source = json_object_new_object();
    json_add_str(source, "OwnerAlias", AMZ_ACCOUNT);
    json_add_str(source, "GroupName", group ? json_str(group->body, "GroupName") : "");
    json_add(body, "SourceSecurityGroup", source);
    json_add(body, "SecurityGroups", ids);
    return true;
}

bool clb_apply_groups(struct amz_request *q)
{
    struct amz_resource *lb = clb_find(q);
    struct json_object *wanted = json_member(q->in, "SecurityGroups");
    if (!lb) {
        return false;
    }
    if (json_len(wanted) == 0) {
        return amz_refuse_value(q, "SecurityGroups cannot be empty");
    }
    struct json_object *left = json_copy(amz_list(lb->body, "SecurityGroups"));
    amz_unsettle(q->aws, lb, lb->body);
    bool fine = clb_set_groups(q, lb->body, wanted);
    for (size_t i = 0; fine && i < json_len(left);) {
        if (amz_has_text(wanted, json_object_get_string(json_object_array_get_idx(left, i)))) {
            amz_remove_at(left, i);
        } else {
            i++;
        }
    }
    if (fine) {
        amz_groups_hold(q->aws, left);
        json_add(q->out, "SecurityGroups", json_copy(json_member(lb->body, "SecurityGroups")));
    }
    json_object_put(left);
    return fine;
}

/* --- instances -------------------------------------------------------------------------------- */

static const char *id_at(struct json_object *instances, size_t i)
{
    return str_nonnull(json_str(json_object_array_get_idx(instances, i), "InstanceId"));
}

static bool is_there(struct aws *aws, const char *id)
{
    const char *state = amz_ec2_instance_state(aws, id);
    return state && !str_eq(state, "terminated") && !str_eq(state, "shutting-down");
}

/* The ids of a list of instances; map_free() it. */
static struct map *index_instances(struct json_object *list)
{
    struct map *ids = map_new(NULL);
    for (size_t i = 0; i < json_len(list); i++) {
        map_set(ids, id_at(list, i), NULL);
    }
    return ids;
}

static bool check_instances(struct amz_request *q, struct amz_resource *lb, const struct map *have)
{
    struct json_object *instances = json_member(q->in, "Instances");
    if (json_len(instances) == 0) {
        return amz_refuse_value(q, "Instances cannot be empty");
    }
    for (size_t i = 0; i < json_len(instances); i++) {
        const char *id = id_at(instances, i);
        bool registered = map_has(have, id);
        bool leaving = str_eq(q->op->name, "DeregisterInstancesFromLoadBalancer");
        if (leaving && registered) {
            continue;
        }
        if (!is_there(q->aws, id)) {
            return amz_refuse(q, "InvalidInstance", "Could not find EC2 instance %s.", id);
        }
        if (!leaving && !str_eq(amz_ec2_instance_vpc(q->aws, id), json_str(lb->body, "VPCId"))) {
            return amz_refuse(q, "InvalidInstance",
                              "EC2 instance %s is not in the same VPC as the load balancer.", id);
        }
    }
    return true;
}

static bool answer_instances(struct amz_request *q, struct amz_resource *lb)
{
    json_add(q->out, "Instances", json_copy(amz_list(lb->body, "Instances")));
    return true;
}

bool clb_register(struct amz_request *q)
{
    struct amz_resource *lb = clb_find(q);
    if (!lb) {
        return false;
    }
    struct json_object *instances = json_member(q->in, "Instances");
    struct json_object *have = amz_list(lb->body, "Instances");
    struct map *ids = index_instances(have);
    bool fine = check_instances(q, lb, ids);
    if (fine) {
        amz_unsettle(q->aws, lb, lb->body);
    }
    for (size_t i = 0; fine && i < json_len(instances); i++) {
        if (!map_has(ids, id_at(instances, i))) {
            json_object_array_add(have, json_share(json_object_array_get_idx(instances, i)));
            map_set(ids, id_at(instances, i), NULL);
        }
    }
    map_free(ids);
    return fine && answer_instances(q, lb);
}

bool clb_deregister(struct amz_request *q)
{
    struct amz_resource *lb = clb_find(q);
    if (!lb) {
        return false;
    }
    struct json_object *instances = json_member(q->in, "Instances");
    struct json_object *have = amz_list(lb->body, "Instances");
    struct map *ids = index_instances(have), *gone = index_instances(instances);
    bool fine = check_instances(q, lb, ids);
    if (fine) {
        amz_unsettle(q->aws, lb, lb->body);
        struct json_object *left = json_object_new_array();
        for (size_t i = 0; i < json_len(have); i++) {
            if (!map_has(gone, id_at(have, i))) {
                json_object_array_add(left, json_object_get(json_object_array_get_idx(have, i)));
            }
        }
        json_add(lb->body, "Instances", left);
    }
    map_free(ids);
    map_free(gone);
    return fine && answer_instances(q, lb);
}

void clb_forget_instance(struct aws *aws, struct amz_resource *lb, const char *instance)
{
    struct json_object *have = json_member(lb->body, "Instances");
    size_t at;
    if (amz_find(have, "InstanceId", instance, &at)) {
        amz_unsettle(aws, lb, lb->body);
        amz_remove_at(have, at);
    }
}

static struct json_object *instance_state(struct amz_request *q, struct json_object *body,
                                          const struct reach_answers *answers, const char *id)
{
    struct aws *aws = q->aws;
    struct json_object *o = json_object_new_object();
    const char *state = amz_ec2_instance_state(aws, id);
    const char *zone = str_nonnull(amz_ec2_instance_zone(aws, id));
    struct json_object *zones = json_member(body, "AvailabilityZones"); /* a world's may be empty */
    const char *reason = NULL, *why = NULL;
    if (!str_eq(state, "running")) {
        reason = "Instance";
        why = str_eq(state, "stopped") ? "Instance is in stopped state."
                                       : "Instance is in terminated state.";
    } else if (zone[0] != '\0' && json_len(zones) > 0 && !amz_has_text(zones, zone)) {
        reason = "ELB";
        why = "The instance is not in an Availability Zone that is enabled for the load balancer.";
    } else if (!lb_answers_check(q, answers, id, reach_elb_check(q->a, body))) {
        reason = "Instance";
        why = "Instance has failed at least the UnhealthyThreshold number of health checks "
              "consecutively.";
    }
    json_add_str(o, "InstanceId", id);
    json_add_str(o, "State", reason ? "OutOfService" : "InService");
    json_add_str(o, "ReasonCode", str_or(reason, "N/A"));
    json_add_str(o, "Description", str_or(why, "N/A"));
    return o;
}

bool clb_describe_health(struct amz_request *q)
{
    struct amz_resource *lb = clb_find(q);
    if (!lb) {
        return false;
    }
    struct json_object *asked = json_member(q->in, "Instances");
    struct json_object *have = amz_list(lb->body, "Instances");
    struct json_object *list = amz_list(q->out, "InstanceStates");
    struct json_object *which = json_len(asked) > 0 ? asked : have;
    const struct reach_answers *answers = lb_answers(q);
    for (size_t i = 0; i < json_len(which); i++) {
        const char *id = id_at(which, i);
        if (!amz_find(have, "InstanceId", id, NULL)) {
            return amz_refuse(q, "InvalidInstance", "Could not find EC2 instance %s.", id);
        }
        json_object_array_add(list, instance_state(q, lb->body, answers, id));
    }
    return true;
}

/* --- health check ----------------------------------------------------------------------------- */

bool clb_configure_health(struct amz_request *q)
{
    struct amz_resource *lb = clb_find(q);
    struct json_object *check = lb ? clb_health_check(q, json_member(q->in, "HealthCheck")) : NULL;
    if (!check) {
        return false;
    }
    amz_unsettle(q->aws, lb, lb->body);
    json_add(lb->body, "HealthCheck", check);
    json_add(q->out, "HealthCheck", json_copy(check));
    return true;
}
