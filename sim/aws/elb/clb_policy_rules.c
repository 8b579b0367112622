/* SPDX-License-Identifier: Apache-2.0 */
/* clb_policy_rules.c: the types of policies of classic balancers, and what their attributes may be.
 *
 * Pure.  Source: docs/spec/aws.md §4.5, §4.7; AWS' own table of policy types. */
#include "sim/aws/elb/clb.h"

#include <ctype.h>
#include <string.h>

#define POLICY_NAME_MAX 128

struct policy_type {
    const char *name;
    const char *attribute; /* that it must have (or may, with a '?' in front); NULL: any */
    const char *list;      /* member of Policies */
    bool backend;          /* set on instance ports instead of listeners */
    bool secure;           /* of listeners: HTTPS and SSL alone */
    bool http;             /* of listeners: HTTP and HTTPS alone */
};

static const struct policy_type types[] = {
    {"ProxyProtocolPolicyType", "ProxyProtocol", "OtherPolicies", true, false, false},
    {"SSLNegotiationPolicyType", NULL, "OtherPolicies", false, true, false},
    {"PublicKeyPolicyType", "PublicKey", "OtherPolicies", true, false, false},
    {"BackendServerAuthenticationPolicyType", "PublicKeyPolicyName", "OtherPolicies", true, false,
     false},
    {"AppCookieStickinessPolicyType", "CookieName", "AppCookieStickinessPolicies", false, false,
     true},
    {"LBCookieStickinessPolicyType", "?CookieExpirationPeriod", "LBCookieStickinessPolicies", false,
     false, true},
};

static const struct policy_type *type_of(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        if (str_eq(types[i].name, name)) {
            return &types[i];
        }
    }
    return NULL;
}

const char *clb_policy_list(const char *type)
{
    const struct policy_type *t = type_of(type);
    return t ? t->list : "OtherPolicies";
}

bool clb_policy_is_for_backend(const char *type)
{
    const struct policy_type *t = type_of(type);
    return t && t->backend;
}

bool clb_policy_fits(const char *type, const char *protocol)
{
    const struct policy_type *t = type_of(type);
    bool secure = str_eq(protocol, "HTTPS") || str_eq(protocol, "SSL");
    bool http = str_eq(protocol, "HTTP") || str_eq(protocol, "HTTPS");
    return t && !t->backend && (!t->secure || secure) && (!t->http || http);
}

static bool check_name(struct amz_request *q, const char *name)
{
    size_t n = strlen(name);
    bool fine = n > 0 && n <= POLICY_NAME_MAX;
    for (size_t i = 0; fine && i < n; i++) {
        fine = isalnum((unsigned char)name[i]) || name[i] == '-';
    }
    return fine ? true
                : amz_refuse_value(q,
                                   "PolicyName '%s' must have up to %d alphanumeric characters and "
                                   "hyphens",
                                   name, POLICY_NAME_MAX);
}

/* A cipher or protocol that is switched on or off, or a reference to a policy that AWS ships. */
static bool check_negotiation(struct amz_request *q, const char *name, const char *value)
{
    if (str_eq(name, "Reference-Security-Policy")) {
        return lb_ssl_policy_is_known(value)
                   ? true
                   : amz_refuse(q, "InvalidConfigurationRequest",
                                "The reference security policy '%s' does not exist", value);
    }
    return str_eq(value, "true") || str_eq(value, "false")
               ? true
               : amz_refuse(q, "InvalidConfigurationRequest",
                            "The value '%s' of the policy attribute '%s' must be true or false",
                            value, name);
}

static bool check_attribute(struct amz_request *q, const struct policy_type *t,
                            struct json_object *attribute)
{
    const char *name = str_nonnull(json_str(attribute, "AttributeName"));
    const char *value = str_nonnull(json_str(attribute, "AttributeValue"));
    const char *known = t->attribute && t->attribute[0] == '?' ? t->attribute + 1 : t->attribute;
    int64_t number;
    if (!known) {
        return check_negotiation(q, name, value);
    }
    bool fine = str_eq(name, known) && value[0] != '\0';
    if (str_eq(known, "ProxyProtocol")) {
        fine = fine && (str_eq(value, "true") || str_eq(value, "false"));
    } else if (str_eq(known, "CookieExpirationPeriod")) {
        fine = fine && str_to_i64(value, &number) && number > 0;
    }
    return fine ? true
                : amz_refuse(q, "InvalidConfigurationRequest",
                             "The attribute '%s' with value '%s' is not valid for the policy type "
                             "'%s'",
                             name, value, t->name);
}

bool clb_policy_check(struct amz_request *q, struct json_object *policy)
{
    const char *type = str_nonnull(json_str(policy, "PolicyTypeName"));
    const struct policy_type *t = type_of(type);
    struct json_object *attributes = json_member(policy, "PolicyAttributeDescriptions");
    if (!check_name(q, json_str(policy, "PolicyName"))) {
        return false;
    }
    if (!t) {
        return amz_refuse(q, "PolicyTypeNotFound", "The policy type '%s' does not exist", type);
    }
    for (size_t i = 0; i < json_len(attributes); i++) {
        if (!check_attribute(q, t, json_object_array_get_idx(attributes, i))) {
            return false;
        }
    }
    bool optional = t->attribute && t->attribute[0] == '?';
    return optional || json_len(attributes) > 0
               ? true
               : amz_refuse(q, "InvalidConfigurationRequest",
                            "A policy of the type '%s' needs an attribute", type);
}

bool clb_policy_equal(struct json_object *a, struct json_object *b)
{
    struct json_object *x = json_member(a, "PolicyAttributeDescriptions");
    struct json_object *y = json_member(b, "PolicyAttributeDescriptions");
    bool equal = str_eq(json_str(a, "PolicyTypeName"), json_str(b, "PolicyTypeName")) &&
                 json_len(x) == json_len(y);
    for (size_t i = 0; equal && i < json_len(x); i++) {
        struct json_object *one = json_object_array_get_idx(x, i);
        struct json_object *other =
            amz_find(y, "AttributeName", json_str(one, "AttributeName"), NULL);
        equal = other && str_eq(json_str(one, "AttributeValue"), json_str(other, "AttributeValue"));
    }
    return equal;
}

struct json_object *clb_policy_shipped(const char *name)
{
    struct json_object *policy = json_object_new_object(), *attribute = json_object_new_object();
    json_add_str(policy, "PolicyName", name);
    json_add_str(policy, "PolicyTypeName", "SSLNegotiationPolicyType");
    json_add_str(attribute, "AttributeName", "Reference-Security-Policy");
    json_add_str(attribute, "AttributeValue", name);
    json_object_array_add(amz_list(policy, "PolicyAttributeDescriptions"), attribute);
    return policy;
}
