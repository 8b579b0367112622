/* SPDX-License-Identifier: Apache-2.0 */
/* nlb_balancers.c: creating, describing and deleting network load balancers.
 *
 * A create with a name that is taken answers the balancer that is there when everything is equal,
 * else DuplicateLoadBalancerName.  The answer says `provisioning`; later reads say `active` once
 * setting "active_after_ms" is over (at latency none: at once), while the stored document is active
 * from the start.  A balancer without groups never gets any.
 * Source: docs/spec/aws.md §3.5, §5.4, §9.3, §10.4. */
#include "sim/aws/elb/nlb.h"

#include <string.h>

#define NLB_ZONE_ID      "Z26RNL4JYFTOTI" /* of Route 53, for NLBs of us-east-1 */
#define NLB_PROVISION_MS 90000
#define NO_LIMIT         1000000000

/* How a balancer is described now; new reference, or NULL when readers do not see it yet. */
static struct json_object *view(struct aws *aws, struct amz_resource *lb)
{
    struct json_object *seen = amz_seen(aws, lb);
    if (!seen) {
        return NULL;
    }
    struct json_object *body = json_copy(seen);
    const int64_t *active_ms = lb->extra;
    if (active_ms && lb_now_ms(aws) < *active_ms) {
        struct json_object *state = json_object_new_object();
        json_add_str(state, "Code", "provisioning");
        json_add(body, "State", state);
    }
    return body;
}

static bool check_unsupported(struct amz_request *q)
{
    const char *type = str_or(json_str(q->in, "Type"), "application");
    if (!str_eq(type, "network")) {
        return amz_refuse(q, "InvalidConfigurationRequest",
                          "Load balancers of type '%s' are not simulated", type);
    }
    static const char *const members[] = {"CustomerOwnedIpv4Pool", "IpamPools"};
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        if (json_member(q->in, members[i])) {
            return amz_refuse(q, "InvalidConfigurationRequest",
                              "%s cannot be specified for a load balancer of type 'network'",
                              members[i]);
        }
    }
    if (str_eq(json_str(q->in, "IpAddressType"), "dualstack-without-public-ipv4")) {
        return amz_refuse(q, "InvalidConfigurationRequest",
                          "The IP address type 'dualstack-without-public-ipv4' is not supported by "
                          "a load balancer of type 'network'");
    }
    if (str_eq(json_str(q->in, "EnablePrefixForIpv6SourceNat"), "on")) {
        return amz_refuse(q, "InvalidConfigurationRequest",
                          "Source NAT prefixes for IPv6 are not simulated");
    }
    return true;
}

static struct json_object *new_body(struct amz_request *q, const struct nlb_siting *s,
                                    struct json_object *groups)
{
    const char *name = json_str(q->in, "Name");
    const char *hex = amz_new_hex(q->aws, q->a, 16);
    struct json_object *body = json_object_new_object(), *state = json_object_new_object();
    json_add_str(
        body, "LoadBalancerArn",
        amz_arn(q->aws, q->a, "elasticloadbalancing", "loadbalancer/net/%s/%s", name, hex));
    json_add_str(body, "DNSName",
                 arena_printf(q->a, "%s-%s.elb.%s.amazonaws.com", name, hex, q->aws->region));
    json_add_str(body, "CanonicalHostedZoneId", NLB_ZONE_ID);
    json_add_str(body, "CreatedTime", amz_now(q->aws, q->a));
    json_add_str(body, "LoadBalancerName", name);
    json_add_str(body, "Scheme", s->scheme);
    json_add_str(body, "VpcId", s->places[0].at.vpc);
    json_add_str(state, "Code", "active");
    json_add(body, "State", state);
    json_add_str(body, "Type", "network");
    json_add(body, "AvailabilityZones", nlb_siting_zones(q, s));
    if (json_len(groups) > 0) {
        json_add(body, "SecurityGroups", json_copy(groups));
        json_add_str(body, "EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic", "on");
    }
    json_add_str(body, "IpAddressType", s->address_type);
    json_add_str(body, "EnablePrefixForIpv6SourceNat", "off");
    return body;
}

static bool same_zones(struct json_object *a, struct json_object *b)
{
    bool same = json_len(a) == json_len(b);
    for (size_t i = 0; same && i < json_len(a); i++) {
        struct json_object *x = json_object_array_get_idx(a, i);
        struct json_object *y = amz_find(b, "SubnetId", json_str(x, "SubnetId"), NULL);
        struct json_object *p = json_member(x, "LoadBalancerAddresses");
        struct json_object *r = json_member(y, "LoadBalancerAddresses");
        same = y && (json_len(p) + json_len(r) == 0 || json_equal(p, r));
    }
    return same;
}

/* The name is taken: fine when nothing differs. */
static bool answer_existing(struct amz_request *q, struct amz_resource *lb,
                            const struct nlb_siting *s, struct json_object *groups)
{
    struct json_object *zones = nlb_siting_zones(q, s);
    const char *arn = lb->id;
    bool same = str_eq(json_str(lb->body, "Type"), "network") &&
                str_eq(str_or(json_str(lb->body, "Scheme"), "internet-facing"), s->scheme) &&
                str_eq(json_str(lb->body, "IpAddressType"), s->address_type) &&
                same_zones(json_member(lb->body, "AvailabilityZones"), zones) &&
                lb_same_texts(json_member(lb->body, "SecurityGroups"), groups) &&
                lb_same_tags(nlb_tags_of(q->aws, arn), json_member(q->in, "Tags"));
    json_object_put(zones);
    if (!same) {
        return amz_refuse(q, "DuplicateLoadBalancerName",
                          "A load balancer with the same name '%s' exists, but with different "
                          "settings",
                          json_str(q->in, "Name"));
    }
    struct json_object *body = view(q->aws, lb);
    json_object_array_add(amz_list(q->out, "LoadBalancers"), body ? body : json_copy(lb->body));
    return true;
}

static bool create(struct amz_request *q, const struct nlb_siting *s, struct json_object *groups)
{
    struct json_object *body = new_body(q, s, groups);
    const char *arn = arena_strdup(q->a, json_str(body, "LoadBalancerArn"));
    struct amz_resource *lb = amz_set(q->aws, AMZ_LOAD_BALANCER, arn, body);
    int64_t *active_ms = xmalloc(sizeof(*active_ms));
    *active_ms = lb_now_ms(q->aws) + lb_delay_ms(q->aws, "active_after_ms", NLB_PROVISION_MS);
    lb->extra = active_ms;
    amz_unsettle(q->aws, lb, NULL);
    amz_set(q->aws, AMZ_LOAD_BALANCER_ATTRIBUTES, arn, nlb_balancer_attributes(q, lb));
    nlb_tags_set(q->aws, arn, json_member(q->in, "Tags"));
    struct json_object *answer = json_copy(body), *state = json_object_new_object();
    json_add_str(state, "Code", "provisioning");
    json_add(answer, "State", state);
    json_object_array_add(amz_list(q->out, "LoadBalancers"), answer);
    return true;
}

bool nlb_create_balancer(struct amz_request *q)
{
    const char *name = json_str(q->in, "Name");
    struct nlb_siting s;
    if (!lb_check_name(q, "The load balancer", name) || !check_unsupported(q) ||
        !amz_tags_check(q, json_member(q->in, "Tags"), NULL, NLB_TAGS_MAX)) {
        return false;
    }
    struct amz_resource *lb = nlb_balancer_named(q->aws, name);
    if (lb && !str_eq(json_str(lb->body, "Type"), "network")) {
        return amz_refuse(q, "DuplicateLoadBalancerName",
                          "A load balancer with the same name '%s' exists, but with different "
                          "settings",
                          name);
    }
    struct json_object *groups = lb_unique(json_member(q->in, "SecurityGroups"));
    json_add(q->in, "SecurityGroups", groups);
    if (!nlb_read_siting(q, NULL, lb, &s) || !lb_check_groups(q, groups, s.places[0].at.vpc)) {
        return false;
    }
    if (lb) {
        return answer_existing(q, lb, &s, groups);
    }
    int64_t most = amz_quota(q->aws, "load_balancers", NO_LIMIT);
    if ((int64_t)amz_count(q->aws, AMZ_LOAD_BALANCER) >= most) {
        return amz_refuse(q, "TooManyLoadBalancers",
                          "The maximum number of load balancers has been reached");
    }
    return create(q, &s, groups);
}

/* Those that are asked for, in that order; NULL: refused. */
static struct json_object *chosen(struct amz_request *q, struct json_object *names,
                                  struct json_object *arns)
{
    struct json_object *items = json_object_new_array();
    size_t n = json_len(names) + json_len(arns);
    for (size_t i = 0; i < n; i++) {
        const char *text = json_object_get_string(
            json_object_array_get_idx(json_len(names) > 0 ? names : arns, i));
        struct amz_resource *lb = json_len(names) > 0 ? nlb_balancer_named(q->aws, text)
                                                      : amz_get(q->aws, AMZ_LOAD_BALANCER, text);
        struct json_object *body = lb ? view(q->aws, lb) : NULL;
        if (!body) {
            json_object_put(items);
            if (json_len(names) == 0 && !nlb_balancer_arn_is_valid(text)) {
                amz_refuse_value(q, "'%s' is not a valid load balancer ARN", text);
            } else if (json_len(names) > 0) {
                amz_refuse(q, "LoadBalancerNotFound", "Load balancers '[%s]' not found",
                           lb_joined(q->a, names));
            } else {
                amz_refuse(q, "LoadBalancerNotFound", "One or more load balancers not found");
            }
            return NULL;
        }
        json_object_array_add(items, body);
    }
    return items;
}

bool nlb_describe_balancers(struct amz_request *q)
{
    struct json_object *names = json_member(q->in, "Names");
    struct json_object *arns = json_member(q->in, "LoadBalancerArns");
    if (json_len(names) > 0 && json_len(arns) > 0) {
        return amz_refuse_combination(
            q, "You can specify either load balancer names or load balancer ARNs");
    }
    if (!nlb_check_named(q, names, "load balancer names") ||
        !nlb_check_named(q, arns, "load balancer ARNs")) {
        return false;
    }
    struct json_object *items;
    if (json_len(names) + json_len(arns) > 0) {
        items = chosen(q, names, arns);
        if (!items) {
            return false;
        }
    } else {
        items = json_object_new_array();
        for (struct amz_resource *r = amz_first(q->aws, AMZ_LOAD_BALANCER); r; r = r->next) {
            struct json_object *body = view(q->aws, r);
            if (body) {
                json_object_array_add(items, body);
            }
        }
    }
    return amz_page(q, "LoadBalancers", items, 400);
}

bool nlb_delete_balancer(struct amz_request *q)
{
    const char *arn = json_str(q->in, "LoadBalancerArn");
    struct amz_resource *lb = amz_get(q->aws, AMZ_LOAD_BALANCER, arn);
    if (!lb) {
        /* already deleted is fine; an invalid ARN is not */
        return nlb_balancer_arn_is_valid(arn) || nlb_find_balancer(q, arn) != NULL;
    }
    struct json_object *attributes = nlb_balancer_attributes(q, lb);
    bool protected = str_eq(nlb_attribute(attributes, "deletion_protection.enabled"), "true");
    json_object_put(attributes);
    if (protected) {
        return amz_refuse(q, "OperationNotPermitted",
                          "Load balancer '%s' cannot be deleted because deletion protection is "
                          "enabled",
                          arn);
    }
    struct amz_resource *next;
    for (struct amz_resource *r = amz_first(q->aws, AMZ_LISTENER); r; r = next) {
        next = r->next;
        if (str_eq(json_str(r->body, "LoadBalancerArn"), arn)) {
            nlb_listener_drop(q->aws, r->id);
        }
    }
    amz_groups_hold(q->aws, json_member(lb->body, "SecurityGroups"));
    amz_unset(q->aws, AMZ_LOAD_BALANCER_ATTRIBUTES, arn);
    amz_unset(q->aws, AMZ_V2_TAGS, arn);
    amz_unset(q->aws, AMZ_LOAD_BALANCER, arn);
    return true;
}
