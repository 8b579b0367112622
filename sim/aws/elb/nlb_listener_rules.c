/* SPDX-License-Identifier: Apache-2.0 */
/* nlb_listener_rules.c: what a listener of a network load balancer may be, apart from what it
 * refers to.
 *
 * Pure.  Source: docs/spec/aws.md §3.3, §5.1, §5.5. */
#include "sim/aws/elb/nlb.h"

#include <string.h>

#define FORWARD_GROUPS_MAX 5
#define WEIGHT_MAX         999

static void push_group(struct json_object *list, const char *arn)
{
    if (arn && !amz_has_text(list, arn)) {
        json_push_str(list, arn);
    }
}

struct json_object *nlb_forwards_to(struct json_object *listener)
{
    struct json_object *list = json_object_new_array();
    struct json_object *actions = json_member(listener, "DefaultActions");
    for (size_t i = 0; i < json_len(actions); i++) {
        struct json_object *action = json_object_array_get_idx(actions, i);
        push_group(list, json_str(action, "TargetGroupArn"));
        struct json_object *groups = json_path(action, "ForwardConfig.TargetGroups");
        for (size_t j = 0; j < json_len(groups); j++) {
            push_group(list, json_str(json_object_array_get_idx(groups, j), "TargetGroupArn"));
        }
    }
    return list;
}

bool nlb_protocols_fit(const char *listener, const char *group)
{
    static const char *const pairs[][2] = {
        {"TCP", "TCP"}, {"TCP", "TCP_UDP"}, {"TLS", "TCP"},        {"TLS", "TLS"},
        {"UDP", "UDP"}, {"UDP", "TCP_UDP"}, {"TCP_UDP", "TCP_UDP"}};
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
        if (str_eq(listener, pairs[i][0]) && str_eq(group, pairs[i][1])) {
            return true;
        }
    }
    return false;
}

/* The groups of one forward action, as ForwardConfig.TargetGroups; new reference,
 * or NULL: refused. */
static struct json_object *forward_groups(struct amz_request *q, struct json_object *action)
{
    const char *arn = json_str(action, "TargetGroupArn");
    struct json_object *config = json_path(action, "ForwardConfig.TargetGroups");
    struct json_object *groups = json_object_new_array();
    for (size_t i = 0; i < json_len(config); i++) {
        struct json_object *tuple = json_object_array_get_idx(config, i);
        const char *of = json_str(tuple, "TargetGroupArn");
        int64_t weight = json_int(tuple, "Weight", 1);
        if (!of || weight < 0 || weight > WEIGHT_MAX ||
            amz_find(groups, "TargetGroupArn", of, NULL)) {
            amz_refuse_value(q,
                             "A target group of a forward action must be there once, with a "
                             "weight in the range '0-%d'",
                             WEIGHT_MAX);
            json_object_put(groups);
            return NULL;
        }
        json_object_array_add(groups, json_copy(tuple));
    }
    if (arn && json_len(groups) == 0) {
        struct json_object *tuple = json_object_new_object();
        json_add_str(tuple, "TargetGroupArn", arn);
        json_object_array_add(groups, tuple);
    }
    bool fine =
        json_len(groups) > 0 && json_len(groups) <= FORWARD_GROUPS_MAX &&
        (!arn || (json_len(groups) == 1 && amz_find(groups, "TargetGroupArn", arn, NULL) != NULL));
    if (!fine) {
        amz_refuse_value(q, json_len(groups) == 0
                                ? "A target group ARN must be specified for a forward action"
                                : "The target groups of the forward action do not go together");
        json_object_put(groups);
        return NULL;
    }
    return groups;
}

bool nlb_actions_check(struct amz_request *q, struct json_object *actions)
{
    if (json_len(actions) == 0) {
        return amz_refuse_value(q, "A default action must be specified");
    }
    if (json_len(actions) > 1) {
        return amz_refuse(q, "TooManyActions",
                          "You have reached the limit on the number of actions per rule");
    }
    struct json_object *action = json_object_array_get_idx(actions, 0);
    const char *type = json_str(action, "Type");
    if (!str_eq(type, "forward")) {
        return amz_refuse(q, "InvalidLoadBalancerAction",
                          "Actions of type '%s' are not supported by a network load balancer",
                          type);
    }
    struct json_object *groups = forward_groups(q, action);
    if (!groups) {
        return false;
    }
    struct json_object *config = json_object_new_object();
    struct json_object *sticky = json_path(action, "ForwardConfig.TargetGroupStickinessConfig");
    if (json_len(groups) == 1) {
        const char *arn = json_str(json_object_array_get_idx(groups, 0), "TargetGroupArn");
        json_add_str(action, "TargetGroupArn", arn);
    }
    json_add(config, "TargetGroups", groups);
    if (sticky) {
        json_add(config, "TargetGroupStickinessConfig", json_copy(sticky));
    }
    json_add(action, "ForwardConfig", config);
    return true;
}

static bool check_alpn(struct amz_request *q, struct json_object *list)
{
    static const char words[] = "|HTTP1Only|HTTP2Only|HTTP2Optional|HTTP2Preferred|None|";
    if (json_len(list) == 0) {
        return true;
    }
    const char *word = json_object_get_string(json_object_array_get_idx(list, 0));
    const char *marked = arena_printf(q->a, "|%s|", word);
    if (json_len(list) > 1) {
        return amz_refuse_value(q, "You can specify one ALPN policy");
    }
    return strstr(words, marked)
               ? true
               : amz_refuse(q, "ALPNPolicyNotFound", "ALPN policy '%s' not found", word);
}

static bool check_secure(struct amz_request *q, struct json_object *listener)
{
    struct json_object *certificates = json_member(listener, "Certificates");
    if (json_len(certificates) == 0) {
        return amz_refuse_value(q, "A certificate must be specified for TLS listeners");
    }
    if (json_len(certificates) > 1) {
        return amz_refuse(q, "TooManyCertificates",
                          "A listener has exactly one default certificate");
    }
    struct json_object *certificate = json_object_array_get_idx(certificates, 0);
    if (!json_str(certificate, "CertificateArn")) {
        return amz_refuse_value(q, "A certificate ARN must be specified");
    }
    const char *policy = json_str(listener, "SslPolicy");
    if (str_is_empty(policy)) {
        json_add_str(listener, "SslPolicy", LB_SSL_POLICY);
    } else if (!lb_ssl_policy_is_known(policy)) {
        return amz_refuse(q, "SSLPolicyNotFound", "SSL policy '%s' not found", policy);
    }
    return check_alpn(q, json_member(listener, "AlpnPolicy"));
}

bool nlb_listener_check(struct amz_request *q, struct json_object *listener)
{
    const char *protocol = json_str(listener, "Protocol");
    if (!protocol || !json_member(listener, "Port")) {
        return amz_refuse_value(q, "A listener %s must be specified",
                                protocol ? "port" : "protocol");
    }
    if (!nlb_protocol_is_layer4(protocol)) {
        return amz_refuse_value(q, "Listener protocol '%s' must be one of 'TLS, TCP, TCP_UDP, UDP'",
                                protocol);
    }
    if (json_member(listener, "MutualAuthentication")) {
        return amz_refuse(q, "InvalidConfigurationRequest",
                          "Mutual authentication is not supported by a network load balancer");
    }
    if (str_eq(protocol, "TLS")) {
        return check_secure(q, listener);
    }
    static const char *const secure[] = {"Certificates", "SslPolicy", "AlpnPolicy"};
    for (size_t i = 0; i < ARRAY_LEN(secure); i++) {
        struct json_object *value = json_member(listener, secure[i]);
        if (json_object_is_type(value, json_type_array) ? json_len(value) > 0 : value != NULL) {
            return amz_refuse_value(q, "%s cannot be specified for %s listeners", secure[i],
                                    protocol);
        }
        json_object_object_del(listener, secure[i]);
    }
    return true;
}

static bool same_first(struct json_object *a, struct json_object *b, const char *list,
                       const char *member)
{
    struct json_object *x = json_object_array_get_idx(amz_list(a, list), 0);
    struct json_object *y = json_object_array_get_idx(amz_list(b, list), 0);
    return str_eq(member ? json_str(x, member) : json_object_get_string(x),
                  member ? json_str(y, member) : json_object_get_string(y));
}

bool nlb_listener_equal(struct json_object *a, struct json_object *b)
{
    struct json_object *x = nlb_forwards_to(a), *y = nlb_forwards_to(b);
    struct json_object *p = json_copy(a), *r = json_copy(b); /* lists that lack are made there */
    bool equal = lb_same_texts(x, y) && json_int(a, "Port", 0) == json_int(b, "Port", 0) &&
                 str_eq(json_str(a, "Protocol"), json_str(b, "Protocol")) &&
                 str_eq(json_str(a, "SslPolicy"), json_str(b, "SslPolicy")) &&
                 same_first(p, r, "Certificates", "CertificateArn") &&
                 same_first(p, r, "AlpnPolicy", NULL);
    json_object_put(x);
    json_object_put(y);
    json_object_put(p);
    json_object_put(r);
    return equal;
}
