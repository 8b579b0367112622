/* SPDX-License-Identifier: Apache-2.0 */
/* clb_policies.c: policies of classic balancers, and where they are set.
 *
 * Policies lie beside the balancer under its name; its description lists their names by type.
 * Creating one again with the same content succeeds.  An instance port is listed in
 * BackendServerDescriptions once a policy was set there, and stays, with an empty list, when it is
 * cleared.  Source: docs/spec/aws.md §4.5–4.7, §10.4 rows 20, 21. */
#include "sim/aws/elb/clb.h"

#define CLB_POLICIES_MAX 100 /* quota "classic_policies" */

struct json_object *clb_policies_of(const struct aws *aws, const char *name)
{
    struct amz_resource *res = amz_get(aws, AMZ_CLASSIC_POLICIES, name);
    return res ? res->body : NULL;
}

/* The list of names in the balancer's description that a policy of this type is in. */
static struct json_object *names_of_type(struct json_object *body, const char *type)
{
    struct json_object *policies = json_member(body, "Policies");
    if (!policies) {
        policies = json_object_new_object();
        json_add(body, "Policies", policies);
    }
    return amz_list(policies, clb_policy_list(type));
}

void clb_policy_add(struct aws *aws, const char *name, struct json_object *body,
                    struct json_object *policy)
{
    struct amz_resource *res = amz_get(aws, AMZ_CLASSIC_POLICIES, name);
    if (!res || !json_object_is_type(res->body, json_type_array)) {
        res = amz_set(aws, AMZ_CLASSIC_POLICIES, name, json_object_new_array());
        amz_unsettle(aws, res, NULL);
    } else {
        amz_unsettle(aws, res, res->body);
    }
    json_object_array_add(res->body, policy);
    const char *type = json_str(policy, "PolicyTypeName"), *id = json_str(policy, "PolicyName");
    struct json_object *list = names_of_type(body, type);
    if (str_eq(clb_policy_list(type), "OtherPolicies")) {
        json_push_str(list, id);
        return;
    }
    struct json_object *item = json_object_new_object();
    struct json_object *attribute =
        json_object_array_get_idx(amz_list(policy, "PolicyAttributeDescriptions"), 0);
    const char *value = json_str(attribute, "AttributeValue");
    int64_t period;
    json_add_str(item, "PolicyName", id);
    if (str_eq(type, "AppCookieStickinessPolicyType")) {
        json_add_str(item, "CookieName", value);
    } else if (value && str_to_i64(value, &period)) {
        json_add_int(item, "CookieExpirationPeriod", period);
    }
    json_object_array_add(list, item);
}

/* The policy that the request describes; new reference. */
static struct json_object *read_policy(struct amz_request *q)
{
    struct json_object *policy = json_object_new_object();
    json_add_str(policy, "PolicyName", json_str(q->in, "PolicyName"));
    json_add_str(policy, "PolicyTypeName", json_str(q->in, "PolicyTypeName"));
    struct json_object *attributes = json_member(q->in, "PolicyAttributes");
    json_add(policy, "PolicyAttributeDescriptions",
             attributes ? json_copy(attributes) : json_object_new_array());
    return policy;
}

bool clb_create_policy(struct amz_request *q)
{
    struct amz_resource *lb = clb_find(q);
    if (!lb) {
        return false;
    }
    struct json_object *policy = read_policy(q), *all = clb_policies_of(q->aws, lb->id);
    const char *name = json_str(policy, "PolicyName");
    struct json_object *there = amz_find(all, "PolicyName", name, NULL);
    bool fine = clb_policy_check(q, policy);
    if (fine && there) {
        fine =
            clb_policy_equal(there, policy) ||
            amz_refuse(q, "DuplicatePolicyName",
                       "There is already a policy with name %s for load balancer %s", name, lb->id);
        json_object_put(policy);
        return fine;
    }
    if (fine && (int64_t)json_len(all) >= amz_quota(q->aws, "classic_policies", CLB_POLICIES_MAX)) {
        fine = amz_refuse(q, "TooManyPolicies",
                          "The maximum number of policies of %s has been reached", lb->id);
    }
    if (!fine) {
        json_object_put(policy);
        return false;
    }
    amz_unsettle(q->aws, lb, lb->body);
    clb_policy_add(q->aws, lb->id, lb->body, policy);
    return true;
}

static bool is_in_use(struct json_object *body, const char *name)
{
    static const char *const lists[] = {"ListenerDescriptions", "BackendServerDescriptions"};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        struct json_object *list = json_member(body, lists[i]);
        for (size_t j = 0; j < json_len(list); j++) {
            if (amz_has_text(json_member(json_object_array_get_idx(list, j), "PolicyNames"),
                             name)) {
                return true;
            }
        }
    }
    return false;
}

bool clb_delete_policy(struct amz_request *q)
{
    struct amz_resource *lb = clb_find(q);
    if (!lb) {
        return false;
    }
    const char *name = json_str(q->in, "PolicyName");
    struct amz_resource *all = amz_get(q->aws, AMZ_CLASSIC_POLICIES, lb->id);
    size_t at;
    struct json_object *policy = amz_find(all ? all->body : NULL, "PolicyName", name, &at);
    if (!policy) {
        return true;
    }
    if (is_in_use(lb->body, name)) {
        return amz_refuse(q, "InvalidConfigurationRequest",
                          "The policy %s of load balancer %s is in use", name, lb->id);
    }
    amz_unsettle(q->aws, all, all->body);
    amz_unsettle(q->aws, lb, lb->body);
    struct json_object *names = names_of_type(lb->body, json_str(policy, "PolicyTypeName"));
    for (size_t i = 0; i < json_len(names); i++) {
        struct json_object *item = json_object_array_get_idx(names, i);
        const char *one = json_object_is_type(item, json_type_string)
                              ? json_object_get_string(item)
                              : json_str(item, "PolicyName");
        if (str_eq(one, name)) {
            amz_remove_at(names, i);
            break;
        }
    }
    amz_remove_at(all->body, at);
    return true;
}

/* Without a balancer: what AWS ships. */
static bool describe_shipped(struct amz_request *q, struct json_object *names)
{
    struct json_object *list = amz_list(q->out, "PolicyDescriptions");
    for (size_t i = 0; i < json_len(names); i++) {
        const char *name = json_object_get_string(json_object_array_get_idx(names, i));
        if (!lb_ssl_policy_is_known(name)) {
            return amz_refuse(q, "PolicyNotFound", "There is no policy with name %s", name);
        }
        json_object_array_add(list, clb_policy_shipped(name));
    }
    if (json_len(names) == 0) {
        json_object_array_add(list, clb_policy_shipped(LB_SSL_POLICY));
    }
    return true;
}

bool clb_describe_policies(struct amz_request *q)
{
    struct json_object *names = json_member(q->in, "PolicyNames");
    if (!json_str(q->in, "LoadBalancerName")) {
        return describe_shipped(q, names);
    }
    struct amz_resource *lb = clb_find(q);
    if (!lb) {
        return false;
    }
    struct amz_resource *res = amz_get(q->aws, AMZ_CLASSIC_POLICIES, lb->id);
    struct json_object *all = res ? amz_seen(q->aws, res) : NULL;
    struct json_object *list = amz_list(q->out, "PolicyDescriptions");
    for (size_t i = 0; i < json_len(names); i++) {
        const char *name = json_object_get_string(json_object_array_get_idx(names, i));
        struct json_object *policy = amz_find(all, "PolicyName", name, NULL);
        if (!policy) {
            return amz_refuse(q, "PolicyNotFound",
                              "There is no policy with name %s for load balancer %s", name, lb->id);
        }
        json_object_array_add(list, json_copy(policy));
    }
    for (size_t i = 0; json_len(names) == 0 && i < json_len(all); i++) {
        json_object_array_add(list, json_copy(json_object_array_get_idx(all, i)));
    }
    return true;
}

/* --- setting ---------------------------------------------------------------------------------- */

/* Each of the named policies exists and can be set there; `protocol` NULL: on an instance port. */
static bool check_names(struct amz_request *q, struct amz_resource *lb, const char *protocol)
{
    struct json_object *names = json_member(q->in, "PolicyNames");
    size_t secure = 0;
    for (size_t i = 0; i < json_len(names); i++) {
        const char *name = json_object_get_string(json_object_array_get_idx(names, i));
        struct json_object *policy =
            amz_find(clb_policies_of(q->aws, lb->id), "PolicyName", name, NULL);
        if (!policy) {
            return amz_refuse(q, "PolicyNotFound",
                              "There is no policy with name %s for load balancer %s", name, lb->id);
        }
        const char *type = json_str(policy, "PolicyTypeName");
        if (protocol ? !clb_policy_fits(type, protocol) : !clb_policy_is_for_backend(type)) {
            return amz_refuse(q, "InvalidConfigurationRequest",
                              "The policy %s of type %s cannot be set there", name,
                              str_nonnull(type));
        }
        secure += str_eq(type, "SSLNegotiationPolicyType");
    }
    return secure <= 1 ? true
                       : amz_refuse(q, "InvalidConfigurationRequest",
                                    "A listener has one SSL negotiation policy at most");
}

static void set_names(struct amz_request *q, struct json_object *item)
{
    json_add(item, "PolicyNames", lb_unique(json_member(q->in, "PolicyNames")));
}

bool clb_set_listener_policies(struct amz_request *q)
{
    struct amz_resource *lb = clb_find(q);
    if (!lb) {
        return false;
    }
    int64_t port = json_int(q->in, "LoadBalancerPort", 0);
    struct json_object *item = clb_listener_at(lb->body, port);
    if (!item) {
        return amz_refuse(q, "ListenerNotFound", "There is no listener on port %lld of %s",
                          (long long)port, lb->id);
    }
    const char *protocol =
        str_upper(q->a, str_nonnull(json_str(json_member(item, "Listener"), "Protocol")));
    if (!check_names(q, lb, protocol)) {
        return false;
    }
    amz_unsettle(q->aws, lb, lb->body);
    set_names(q, item);
    return true;
}

/* The description of an instance port, or NULL; ports of listeners that lack one get
 * it with `make`. */
static struct json_object *backend_at(struct json_object *body, int64_t port, bool make)
{
    struct json_object *list = amz_list(body, "BackendServerDescriptions");
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        if (json_int(item, "InstancePort", 0) == port) {
            return item;
        }
    }
    if (!make) {
        return NULL;
    }
    struct json_object *item = json_object_new_object();
    json_add_int(item, "InstancePort", port);
    json_object_array_add(list, item);
    return item;
}

static bool has_instance_port(struct json_object *body, int64_t port)
{
    struct json_object *list = json_member(body, "ListenerDescriptions");
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *one = json_member(json_object_array_get_idx(list, i), "Listener");
        if (json_int(one, "InstancePort", 0) == port) {
            return true;
        }
    }
    return false;
}

bool clb_set_backend_policies(struct amz_request *q)
{
    struct amz_resource *lb = clb_find(q);
    if (!lb) {
        return false;
    }
    int64_t port = json_int(q->in, "InstancePort", 0);
    if (!has_instance_port(lb->body, port) && !backend_at(lb->body, port, false)) {
        return amz_refuse(q, "InvalidConfigurationRequest",
                          "No listener of %s has the instance port %lld", lb->id, (long long)port);
    }
    if (!check_names(q, lb, NULL)) {
        return false;
    }
    amz_unsettle(q->aws, lb, lb->body);
    set_names(q, backend_at(lb->body, port, true));
    return true;
}
