/* SPDX-License-Identifier: Apache-2.0 */
/* nlb_listeners.c: the listeners of network load balancers.
 *
 * A port of a balancer has one listener, whatever the protocols (TCP and UDP together are TCP_UDP).
 * The association of a target group with a balancer is nothing but a listener that forwards to it:
 * it follows at once when a listener is changed or deleted, and a group has one balancer at most.
 * Deleting the group may be refused for a while longer (setting "target_group_release_ms").
 * Source: docs/spec/aws.md §3.3, §5.5, §10.4 rows 3–5, 9, 31a. */
#include "sim/aws/elb/nlb.h"

#include <string.h>

#define NLB_LISTENERS_MAX 50

static struct amz_resource *at_port(const struct aws *aws, const char *lb, int64_t port)
{
    for (struct amz_resource *r = amz_first(aws, AMZ_LISTENER); r; r = r->next) {
        if (str_eq(json_str(r->body, "LoadBalancerArn"), lb) &&
            json_int(r->body, "Port", 0) == port) {
            return r;
        }
    }
    return NULL;
}

static bool check_group(struct amz_request *q, const struct amz_resource *lb, const char *protocol,
                        const char *arn)
{
    struct amz_resource *group = nlb_find_group(q, arn);
    if (!group) {
        return false;
    }
    if (!nlb_protocols_fit(protocol, json_str(group->body, "Protocol"))) {
        return amz_refuse(q, "IncompatibleProtocols",
                          "The listener and its associated target group '%s' have incompatible "
                          "protocols.",
                          arn);
    }
    if (!str_eq(json_str(group->body, "VpcId"), json_str(lb->body, "VpcId"))) {
        return amz_refuse(q, "InvalidConfigurationRequest",
                          "The load balancer and the target group '%s' are not in the same VPC",
                          arn);
    }
    struct json_object *users = nlb_group_balancers(q->aws, arn);
    bool elsewhere = json_len(users) > (amz_has_text(users, lb->id) ? 1U : 0U);
    json_object_put(users);
    return elsewhere ? amz_refuse(q, "TargetGroupAssociationLimit",
                                  "The following target groups cannot be associated with more than "
                                  "one load balancer: %s",
                                  arn)
                     : true;
}

/* The form of a certificate in answers. */
static bool check_input(struct amz_request *q)
{
    struct json_object *certificates = json_member(q->in, "Certificates");
    for (size_t i = 0; i < json_len(certificates); i++) {
        if (json_member(json_object_array_get_idx(certificates, i), "IsDefault")) {
            return amz_refuse_value(q, "You cannot set the isDefault parameter for a certificate");
        }
    }
    return true;
}

/* A listener as it is to be: all that it names is there and fits. */
static bool check_whole(struct amz_request *q, const struct amz_resource *lb,
                        struct json_object *listener)
{
    if (!check_input(q) || !nlb_listener_check(q, listener) ||
        !nlb_actions_check(q, json_member(listener, "DefaultActions"))) {
        return false;
    }
    struct json_object *certificates = json_member(listener, "Certificates");
    if (json_len(certificates) > 0 &&
        !lb_check_certificate(
            q, json_str(json_object_array_get_idx(certificates, 0), "CertificateArn"))) {
        return false;
    }
    struct json_object *groups = nlb_forwards_to(listener);
    bool fine = true;
    for (size_t i = 0; fine && i < json_len(groups); i++) {
        fine = check_group(q, lb, json_str(listener, "Protocol"),
                           json_object_get_string(json_object_array_get_idx(groups, i)));
    }
    fine = fine && nlb_check_room(q, lb->id, groups, NULL);
    json_object_put(groups);
    return fine;
}

/* ".../loadbalancer/net/NAME/HEX" → ".../listener/net/NAME/HEX/NEW". */
static const char *new_arn(struct amz_request *q, const char *lb)
{
    const char *at = strstr(lb, ":loadbalancer/");
    const char *rest = at ? at + strlen(":loadbalancer/") : lb;
    return amz_arn(q->aws, q->a, "elasticloadbalancing", "listener/%s/%s", rest,
                   amz_new_hex(q->aws, q->a, 16));
}

static size_t count_listeners(const struct aws *aws, const char *lb)
{
    size_t n = 0;
    for (struct amz_resource *r = amz_first(aws, AMZ_LISTENER); r; r = r->next) {
        n += str_eq(json_str(r->body, "LoadBalancerArn"), lb);
    }
    return n;
}

static void answer(struct amz_request *q, struct json_object *body)
{
    json_object_array_add(amz_list(q->out, "Listeners"), json_copy(body));
}

/* Whether the port is taken: by an equal listener (answered, *ret_done), or
 * by another (refused). */
static bool check_port(struct amz_request *q, const char *lb, struct json_object *listener,
                       bool *ret_done)
{
    struct amz_resource *other = at_port(q->aws, lb, json_int(listener, "Port", 0));
    *ret_done = false;
    if (!other) {
        return true;
    }
    if (!nlb_listener_equal(other->body, listener) ||
        !lb_same_tags(nlb_tags_of(q->aws, other->id), json_member(q->in, "Tags"))) {
        return amz_refuse(q, "DuplicateListener",
                          "A listener already exists on this port for this load balancer '%s'", lb);
    }
    answer(q, other->body);
    *ret_done = true;
    return true;
}

/* The members of a listener that `in` names, over those that it has. */
static struct json_object *merged(struct json_object *old, struct json_object *in)
{
    static const char *const members[] = {
        "Port",       "Protocol",       "Certificates",        "SslPolicy",
        "AlpnPolicy", "DefaultActions", "MutualAuthentication"};
    struct json_object *listener = old ? json_copy(old) : json_object_new_object();
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        struct json_object *value = json_member(in, members[i]);
        if (value) {
            json_add(listener, members[i], json_copy(value));
        }
    }
    return listener;
}

bool nlb_create_listener(struct amz_request *q)
{
    struct amz_resource *lb = nlb_find_balancer(q, json_str(q->in, "LoadBalancerArn"));
    if (!lb || !nlb_must_be_network(q, lb) ||
        !amz_tags_check(q, json_member(q->in, "Tags"), NULL, NLB_TAGS_MAX)) {
        return false;
    }
    struct json_object *listener = merged(NULL, q->in);
    json_add_str(listener, "LoadBalancerArn", lb->id);
    bool done = false;
    if (!check_whole(q, lb, listener) || !check_port(q, lb->id, listener, &done) || done) {
        json_object_put(listener);
        return done;
    }
    if ((int64_t)count_listeners(q->aws, lb->id) >=
        amz_quota(q->aws, "listeners", NLB_LISTENERS_MAX)) {
        json_object_put(listener);
        return amz_refuse(q, "TooManyListeners",
                          "The maximum number of listeners of the load balancer '%s' has been "
                          "reached",
                          lb->id);
    }
    const char *arn = new_arn(q, lb->id);
    json_add_str(listener, "ListenerArn", arn);
    amz_unsettle(q->aws, amz_set(q->aws, AMZ_LISTENER, arn, listener), NULL);
    nlb_tags_set(q->aws, arn, json_member(q->in, "Tags"));
    answer(q, listener);
    return true;
}

/* The target groups of a listener that is gone, or is to be as `next` says, are in use for
 * a while still. */
static void let_go(struct aws *aws, struct json_object *listener, struct json_object *next)
{
    struct json_object *groups = nlb_forwards_to(listener), *kept = nlb_forwards_to(next);
    for (size_t i = json_len(groups); i > 0; i--) {
        if (amz_has_text(kept, json_object_get_string(json_object_array_get_idx(groups, i - 1)))) {
            amz_remove_at(groups, i - 1);
        }
    }
    amz_hold(aws, "target_group_release_ms", groups);
    json_object_put(groups);
    json_object_put(kept);
}

bool nlb_modify_listener(struct amz_request *q)
{
    struct amz_resource *res = nlb_find_listener(q, json_str(q->in, "ListenerArn"));
    if (!res) {
        return false;
    }
    struct amz_resource *lb = nlb_find_balancer(q, json_str(res->body, "LoadBalancerArn"));
    if (!lb || !nlb_must_be_network(q, lb)) {
        return false;
    }
    struct json_object *old = json_copy(res->body);
    if (str_eq(json_str(old, "Protocol"), "TLS") && json_str(q->in, "Protocol") &&
        !str_eq(json_str(q->in, "Protocol"), "TLS")) {
        /* what belongs to TLS goes with it */
        json_object_object_del(old, "Certificates");
        json_object_object_del(old, "SslPolicy");
        json_object_object_del(old, "AlpnPolicy");
    }
    if (!nlb_protocol_is_layer4(json_str(old, "Protocol")) ||
        !str_eq(json_str(old, "Protocol"), "TLS")) {
        json_object_object_del(old, "SslPolicy"); /* of another emulator's world */
    }
    struct json_object *listener = merged(old, q->in);
    json_object_put(old);
    struct amz_resource *other = at_port(q->aws, lb->id, json_int(listener, "Port", 0));
    bool fine = check_whole(q, lb, listener);
    if (fine && other && other != res) {
        fine = amz_refuse_value(q, "Listener port '%lld' is already in use",
                                (long long)json_int(listener, "Port", 0));
    }
    if (!fine) {
        json_object_put(listener);
        return false;
    }
    let_go(q->aws, res->body, listener);
    amz_unsettle(q->aws, res, res->body);
    amz_set(q->aws, AMZ_LISTENER, res->id, listener);
    answer(q, listener);
    return true;
}

void nlb_listener_drop(struct aws *aws, const char *arn)
{
    struct amz_resource *listener = amz_get(aws, AMZ_LISTENER, arn);
    if (listener) {
        let_go(aws, listener->body, NULL);
    }
    amz_unset(aws, AMZ_LISTENER_ATTRIBUTES, arn);
    amz_unset(aws, AMZ_V2_TAGS, arn);
    amz_unset(aws, AMZ_LISTENER, arn);
}

bool nlb_delete_listener(struct amz_request *q)
{
    const char *arn = json_str(q->in, "ListenerArn");
    if (!nlb_find_listener(q, arn)) {
        return false;
    }
    nlb_listener_drop(q->aws, arn);
    return true;
}

static bool take_seen(struct amz_request *q, struct json_object *items, struct amz_resource *r)
{
    struct json_object *seen = amz_seen(q->aws, r);
    if (seen) {
        json_object_array_add(items, json_copy(seen));
    }
    return seen != NULL;
}

bool nlb_describe_listeners(struct amz_request *q)
{
    struct json_object *arns = json_member(q->in, "ListenerArns");
    const char *lb = json_str(q->in, "LoadBalancerArn");
    if ((json_len(arns) > 0) == (lb != NULL)) {
        return amz_refuse_combination(
            q, "You must specify either listener ARNs or a load balancer ARN");
    }
    if (!nlb_check_named(q, arns, "listener ARNs") || (lb && !nlb_find_balancer(q, lb))) {
        return false;
    }
    struct json_object *items = json_object_new_array();
    for (size_t i = 0; i < json_len(arns); i++) {
        struct amz_resource *r =
            nlb_find_listener(q, json_object_get_string(json_object_array_get_idx(arns, i)));
        if (!r || !take_seen(q, items, r)) {
            json_object_put(items);
            return r ? amz_refuse(q, "ListenerNotFound", "One or more listeners not found") : false;
        }
    }
    for (struct amz_resource *r = amz_first(q->aws, AMZ_LISTENER); lb && r; r = r->next) {
        if (str_eq(json_str(r->body, "LoadBalancerArn"), lb)) {
            take_seen(q, items, r);
        }
    }
    return amz_page(q, "Listeners", items, 400);
}
