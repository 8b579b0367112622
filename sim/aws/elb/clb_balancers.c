/* SPDX-License-Identifier: Apache-2.0 */
/* clb_balancers.c: creating, describing and deleting classic balancers.
 *
 * A create with a name that is taken succeeds when nothing differs, else DuplicateLoadBalancerName;
 * deleting what is not there succeeds.  A new balancer checks TCP on its first instance port.
 * Source: docs/spec/aws.md §4.6, §10.4 rows 2, 22. */
#include "sim/aws/elb/clb.h"

#define CLB_ZONE_ID   "Z35SXDOTRQ7X7K" /* of Route 53, for balancers of us-east-1 */
#define CLB_NAMED_MAX 400
#define NO_LIMIT      1000000000

struct amz_resource *clb_find_named(struct amz_request *q, const char *name)
{
    struct amz_resource *lb = amz_get(q->aws, AMZ_CLASSIC, name);
    if (!lb) {
        amz_refuse(q, "LoadBalancerNotFound", "There is no ACTIVE Load Balancer named '%s'", name);
    }
    return lb;
}

struct amz_resource *clb_find(struct amz_request *q)
{
    return clb_find_named(q, json_str(q->in, "LoadBalancerName"));
}

static bool check_scheme(struct amz_request *q)
{
    const char *scheme = str_or(json_str(q->in, "Scheme"), "internet-facing");
    return str_eq(scheme, "internal") || str_eq(scheme, "internet-facing")
               ? true
               : amz_refuse(q, "InvalidScheme", "The scheme '%s' is not valid", scheme);
}

/* Zones alone mean the default VPC, which the simulated account has not. */
static bool check_place_members(struct amz_request *q)
{
    bool zones = json_len(json_member(q->in, "AvailabilityZones")) > 0;
    bool subnets = json_len(json_member(q->in, "Subnets")) > 0;
    if (zones && subnets) {
        return amz_refuse_combination(
            q, "Only one of SubnetIds or AvailabilityZones may be specified");
    }
    if (zones) {
        return amz_refuse(q, "InvalidConfigurationRequest", "Default VPC not found");
    }
    return subnets ? true
                   : amz_refuse_value(q, "Either AvailabilityZones or SubnetIds must be specified");
}

static void name_body(struct amz_request *q, struct json_object *body)
{
    const char *name = json_str(q->in, "LoadBalancerName");
    const char *scheme = str_or(json_str(q->in, "Scheme"), "internet-facing");
    char number[11];
    for (size_t i = 0; i < sizeof(number) - 1; i++) {
        number[i] = (char)('0' + rng_below(sim_rng(q->aws->sim), i == 0 ? 9 : 10) + (i == 0));
    }
    number[sizeof(number) - 1] = '\0';
    bool internal = str_eq(scheme, "internal");
    const char *dns = arena_printf(q->a, "%s%s-%s.%s.elb.amazonaws.com",
                                   internal ? "internal-" : "", name, number, q->aws->region);
    json_add_str(body, "LoadBalancerName", name);
    json_add_str(body, "DNSName", dns);
    json_add_str(body, "CanonicalHostedZoneName", internal ? NULL : dns);
    json_add_str(body, "CanonicalHostedZoneNameID", CLB_ZONE_ID);
    json_add_str(body, "Scheme", scheme);
    json_add_str(body, "CreatedTime", amz_now(q->aws, q->a));
}

/* The balancer that the request describes, without names and listeners; NULL: refused. */
static struct json_object *new_body(struct amz_request *q)
{
    struct json_object *body = json_object_new_object();
    json_add_str(body, "Scheme", str_or(json_str(q->in, "Scheme"), "internet-facing"));
    if (!clb_place(q, body, json_member(q->in, "Subnets")) ||
        !clb_set_groups(q, body, json_member(q->in, "SecurityGroups"))) {
        json_object_put(body);
        return NULL;
    }
    struct json_object *policies = json_object_new_object();
    static const char *const lists[] = {"AppCookieStickinessPolicies", "LBCookieStickinessPolicies",
                                        "OtherPolicies"};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        (void)amz_list(policies, lists[i]);
    }
    json_add(body, "Policies", policies);
    (void)amz_list(body, "BackendServerDescriptions");
    (void)amz_list(body, "Instances");
    (void)amz_list(body, "ListenerDescriptions");
    return body;
}

static bool same_listeners(struct json_object *body, struct json_object *listeners)
{
    struct json_object *have = json_member(body, "ListenerDescriptions");
    bool same = json_len(have) == json_len(listeners);
    for (size_t i = 0; same && i < json_len(listeners); i++) {
        struct json_object *wanted = json_object_array_get_idx(listeners, i);
        struct json_object *there = clb_listener_at(body, json_int(wanted, "LoadBalancerPort", 0));
        same = there && clb_listener_equal(json_member(there, "Listener"), wanted);
    }
    return same;
}

/* The name is taken: fine when nothing differs. */
static bool answer_existing(struct amz_request *q, struct amz_resource *lb,
                            struct json_object *body, struct json_object *listeners)
{
    bool same =
        str_eq(str_or(json_str(lb->body, "Scheme"), "internet-facing"), json_str(body, "Scheme")) &&
        lb_same_texts(json_member(lb->body, "Subnets"), json_member(body, "Subnets")) &&
        lb_same_texts(json_member(lb->body, "SecurityGroups"),
                      json_member(body, "SecurityGroups")) &&
        same_listeners(lb->body, listeners);
    bool same_tags = lb_same_tags(clb_tags_of(q->aws, lb->id), json_member(q->in, "Tags"));
    if (!same || !same_tags) {
        return amz_refuse(q, "DuplicateLoadBalancerName",
                          "Load Balancer named %s already exists and it is configured with "
                          "different %s",
                          lb->id, same ? "tags" : "parameters");
    }
    json_add_str(q->out, "DNSName", json_str(lb->body, "DNSName"));
    return true;
}

static bool create(struct amz_request *q, struct json_object *body, struct json_object *listeners)
{
    const char *name = json_str(q->in, "LoadBalancerName");
    int64_t most = amz_quota(q->aws, "classic_load_balancers", NO_LIMIT);
    struct amz_resource *lb = amz_get(q->aws, AMZ_CLASSIC, name);
    if (lb) {
        return answer_existing(q, lb, body, listeners);
    }
    if ((int64_t)amz_count(q->aws, AMZ_CLASSIC) >= most) {
        return amz_refuse(q, "TooManyLoadBalancers",
                          "The maximum number of load balancers has been reached");
    }
    name_body(q, body);
    json_add(body, "HealthCheck",
             clb_health_default(q->a, json_object_array_get_idx(listeners, 0)));
    lb = amz_set(q->aws, AMZ_CLASSIC, name, json_object_get(body));
    amz_unsettle(q->aws, lb, NULL);
    clb_add_listeners(q, body, listeners);
    clb_tags_set(q->aws, name, json_member(q->in, "Tags"));
    json_add_str(q->out, "DNSName", json_str(body, "DNSName"));
    return true;
}

bool clb_create(struct amz_request *q)
{
    struct json_object *listeners;
    if (!lb_check_name(q, "The load balancer", json_str(q->in, "LoadBalancerName")) ||
        !check_scheme(q) || !check_place_members(q) ||
        !amz_tags_check(q, json_member(q->in, "Tags"), NULL, CLB_TAGS_MAX) ||
        !clb_read_listeners(q, &listeners)) {
        return false;
    }
    struct json_object *body = new_body(q);
    bool fine = body && create(q, body, listeners);
    json_object_put(body);
    json_object_put(listeners);
    return fine;
}

bool clb_describe(struct amz_request *q)
{
    struct json_object *names = json_member(q->in, "LoadBalancerNames");
    struct json_object *items = json_object_new_array();
    if (json_len(names) > CLB_NAMED_MAX) {
        json_object_put(items);
        return amz_refuse_value(q, "At most %d load balancer names can be specified",
                                CLB_NAMED_MAX);
    }
    for (size_t i = 0; i < json_len(names); i++) {
        const char *name = json_object_get_string(json_object_array_get_idx(names, i));
        struct amz_resource *lb = amz_get(q->aws, AMZ_CLASSIC, name);
        struct json_object *seen = lb ? amz_seen(q->aws, lb) : NULL;
        if (!seen) {
            json_object_put(items);
            return amz_refuse(q, "LoadBalancerNotFound",
                              "There is no ACTIVE Load Balancer named '%s'", name);
        }
        json_object_array_add(items, json_object_get(seen)); /* is only read */
    }
    for (struct amz_resource *r = amz_first(q->aws, AMZ_CLASSIC); json_len(names) == 0 && r;
         r = r->next) {
        struct json_object *seen = amz_seen(q->aws, r);
        if (seen) {
            json_object_array_add(items, json_object_get(seen));
        }
    }
    return amz_page(q, "LoadBalancerDescriptions", items, 400);
}

bool clb_delete(struct amz_request *q)
{
    const char *name = json_str(q->in, "LoadBalancerName");
    struct amz_resource *lb = amz_get(q->aws, AMZ_CLASSIC, name);
    if (lb) {
        amz_groups_hold(q->aws, json_member(lb->body, "SecurityGroups"));
        amz_unset(q->aws, AMZ_CLASSIC_ATTRIBUTES, name);
        amz_unset(q->aws, AMZ_CLASSIC_POLICIES, name);
        amz_unset(q->aws, AMZ_CLASSIC_TAGS, name);
        amz_unset(q->aws, AMZ_CLASSIC, name);
    }
    return true;
}
