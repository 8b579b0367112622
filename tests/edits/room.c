/* SPDX-License-Identifier: Apache-2.0 */
/* room.c: see room.h.  One function per cloud, because each has another form of world. */
#include "tests/edits/room.h"

#include <string.h>

#include "common/base/str.h"

static void at_least(struct json_object *room, const char *name, size_t n)
{
    if (json_int(room, name, 0) < (int64_t)n) {
        json_object_object_del(room, name);
        json_add_int(room, name, (int64_t)n);
    }
}

/* ---- Google ---------------------------------------------------------------------------------- */

static const struct {
    const char *collection;
    const char *quota;
    const char *members; /* quota of those of one resource, or NULL */
} collections[] = {
    {"firewalls", "FIREWALLS", NULL},
    {"forwardingRules", "FORWARDING_RULES", NULL},
    {"targetPools", "TARGET_POOLS", "MAX_INSTANCES_IN_TARGET_POOL"},
    {"backendServices", "BACKEND_SERVICES", NULL},
    {"healthChecks", "HEALTH_CHECKS", NULL},
    {"httpHealthChecks", "HEALTH_CHECKS", NULL},
    {"instanceGroups", "INSTANCE_GROUPS", "MAX_INSTANCES_IN_INSTANCE_GROUP"},
    {"networkEndpointGroups", "NETWORK_ENDPOINT_GROUPS", "MAX_ENDPOINTS_IN_NETWORK_ENDPOINT_GROUP"},
};

static bool is_of(struct arena *a, const char *path, const char *collection)
{
    return strstr(path, arena_printf(a, "/%s/", collection)) != NULL;
}

static void count_google(struct arena *a, struct json_object *world, struct json_object *room)
{
    struct json_object *used = json_object_new_object();
    struct json_object *members = json_member(world, "members");
    json_object_object_foreach(json_member(world, "gce"), path, body)
    {
        for (size_t i = 0; i < ARRAY_LEN(collections); i++) {
            if (!is_of(a, path, collections[i].collection)) {
                continue;
            }
            const char *quota = collections[i].quota;
            at_least(used, quota, (size_t)json_int(used, quota, 0) + 1);
            if (collections[i].members != NULL) {
                size_t in = json_len(json_member(members, path));
                in = in == 0 ? json_len(json_member(body, "instances")) : in;
                at_least(used, collections[i].members, in);
            }
        }
    }
    json_object_object_foreach(used, name, n)
    {
        at_least(room, name, (size_t)json_object_get_int64(n));
    }
    json_object_put(used);
}

/* ---- Azure ----------------------------------------------------------------------------------- */

static void count_azure(struct arena *a, struct json_object *world, struct json_object *room)
{
    size_t addresses = 0;
    json_object_object_foreach(json_member(world, "azure"), path, body)
    {
        struct json_object *p = json_member(body, "properties");
        addresses += is_of(a, path, "publicIPAddresses");
        at_least(room, "frontendIPConfigurations",
                 json_len(json_member(p, "frontendIPConfigurations")));
        size_t rules = json_len(json_member(p, "loadBalancingRules")) +
                       json_len(json_member(p, "inboundNatRules"));
        at_least(room, "loadBalancingRules", rules);
        at_least(room, "securityRules", json_len(json_member(p, "securityRules")));
    }
    at_least(room, "publicIPAddresses", addresses);
}

/* ---- AWS ------------------------------------------------------------------------------------- */

/* How many of the list name each balancer; the most. */
static size_t most_per(struct json_object *list, const char *member)
{
    size_t most = 0;
    for (size_t i = 0; i < json_len(list); i++) {
        const char *of = json_str(json_object_array_get_idx(list, i), member);
        size_t n = 0;
        for (size_t k = 0; k < json_len(list); k++) {
            n += str_eq(json_str(json_object_array_get_idx(list, k), member), of);
        }
        most = n > most ? n : most;
    }
    return most;
}

static size_t rules_of(struct json_object *group)
{
    struct json_object *all = json_member(group, "IpPermissions");
    size_t v4 = 0, v6 = 0;
    for (size_t i = 0; i < json_len(all); i++) {
        struct json_object *p = json_object_array_get_idx(all, i);
        size_t pairs = json_len(json_member(p, "UserIdGroupPairs")) +
                       json_len(json_member(p, "PrefixListIds"));
        v4 += json_len(json_member(p, "IpRanges")) + pairs;
        v6 += json_len(json_member(p, "Ipv6Ranges")) + pairs;
    }
    return v4 > v6 ? v4 : v6;
}

static void count_aws(struct json_object *world, struct json_object *room)
{
    struct json_object *classic = json_path(world, "aws.elb.LoadBalancerDescriptions");
    struct json_object *groups = json_path(world, "aws.ec2.SecurityGroups");
    for (size_t i = 0; i < json_len(classic); i++) {
        struct json_object *lb = json_object_array_get_idx(classic, i);
        at_least(room, "classic_listeners", json_len(json_member(lb, "ListenerDescriptions")));
    }
    for (size_t i = 0; i < json_len(groups); i++) {
        at_least(room, "rules_per_group", rules_of(json_object_array_get_idx(groups, i)));
    }
    at_least(room, "groups_per_vpc", json_len(groups));
    at_least(room, "classic_load_balancers", json_len(classic));
    at_least(room, "load_balancers", json_len(json_path(world, "aws.elbv2.LoadBalancers")));
    at_least(room, "target_groups", json_len(json_path(world, "aws.elbv2.TargetGroups")));
    at_least(room, "listeners",
             most_per(json_path(world, "aws.elbv2.Listeners"), "LoadBalancerArn"));
    json_object_object_foreach(json_path(world, "aws.elbv2.TargetHealth"), arn, targets)
    {
        (void)arn;
        at_least(room, "targets_per_group", json_len(targets));
    }
}

static size_t rules_in(struct json_object *world, const char *id)
{
    struct json_object *groups = json_path(world, "aws.ec2.SecurityGroups");
    for (size_t i = 0; i < json_len(groups); i++) {
        struct json_object *g = json_object_array_get_idx(groups, i);
        if (str_eq(json_str(g, "GroupId"), id)) {
            return rules_of(g);
        }
    }
    return 0;
}

/* A full group that is to get more rules than it has: they may not fit (the quota is never below
 * 60), so no rule is removed for them. */
static void forget_more_rules(struct json_object *one, struct json_object *other,
                              struct json_object *room)
{
    struct json_object *groups = json_path(other, "aws.ec2.SecurityGroups");
    for (size_t i = 0; i < json_len(groups); i++) {
        struct json_object *g = json_object_array_get_idx(groups, i);
        if (rules_of(g) > rules_in(one, json_str(g, "GroupId"))) {
            json_object_object_del(room, "rules_per_group");
        }
    }
}

/* ---- all ------------------------------------------------------------------------------------- */

struct json_object *room_both(struct arena *a, const char *cloud, struct json_object *one,
                              struct json_object *other)
{
    struct json_object *room = json_object_new_object();
    struct json_object *worlds[] = {one, other};
    for (size_t i = 0; i < ARRAY_LEN(worlds); i++) {
        if (str_eq(cloud, "gce")) {
            count_google(a, worlds[i], room);
        } else if (str_eq(cloud, "azure")) {
            count_azure(a, worlds[i], room);
        } else {
            count_aws(worlds[i], room);
        }
    }
    if (str_eq(cloud, "aws")) {
        forget_more_rules(one, other, room);
    }
    return room;
}

const char *room_path(struct arena *a, const char *cloud)
{
    return arena_printf(a, "/sim/settings/%s", cloud);
}

const char *room_settings(struct arena *a, const char *cloud, struct json_object *room)
{
    const char *member = str_eq(cloud, "azure") ? "limits" : "quotas";
    const char *limits = room != NULL ? json_text(a, room, JSON_COMPACT) : "{}";
    return arena_printf(a, "{\"%s\":%s}", member, limits);
}
