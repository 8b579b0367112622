/* SPDX-License-Identifier: Apache-2.0 */
/* clb_listeners.c: listeners of classic balancers and their certificates.
 *
 * Creating a listener that is there already with equal settings succeeds; with other settings it is
 * DuplicateListener.  A secure listener begins with the policy that AWS ships as its default.
 * Deleting ports that have no listener succeeds.
 * Source: docs/spec/aws.md §4.4, §4.6, §10.4 rows 18–20. */
#include "sim/aws/elb/clb.h"

#define CLB_LISTENERS_MAX 100 /* quota "classic_listeners" */

struct json_object *clb_listener_at(struct json_object *body, int64_t port)
{
    struct json_object *list = json_member(body, "ListenerDescriptions");
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        if (json_int(json_member(item, "Listener"), "LoadBalancerPort", 0) == port) {
            return item;
        }
    }
    return NULL;
}

/* The listener of a port in a plain list, or NULL. */
static struct json_object *among(struct json_object *listeners, int64_t port)
{
    for (size_t i = 0; i < json_len(listeners); i++) {
        struct json_object *one = json_object_array_get_idx(listeners, i);
        if (json_int(one, "LoadBalancerPort", 0) == port) {
            return one;
        }
    }
    return NULL;
}

bool clb_read_listeners(struct amz_request *q, struct json_object **ret)
{
    struct json_object *in = json_member(q->in, "Listeners");
    struct json_object *listeners = json_object_new_array();
    bool fine = json_len(in) > 0 ? true : amz_refuse_value(q, "Listeners cannot be empty");
    for (size_t i = 0; fine && i < json_len(in); i++) {
        struct json_object *one = clb_listener(q, json_object_array_get_idx(in, i));
        int64_t port = json_int(one, "LoadBalancerPort", 0);
        fine = one != NULL;
        if (one && among(listeners, port)) {
            fine = amz_refuse_value(q, "The load balancer port %lld was specified more than once",
                                    (long long)port);
        }
        json_object_array_add(listeners, one);
    }
    if (fine) {
        *ret = listeners;
    } else {
        json_object_put(listeners);
    }
    return fine;
}

void clb_add_listeners(struct amz_request *q, struct json_object *body,
                       struct json_object *listeners)
{
    const char *name = json_str(body, "LoadBalancerName");
    for (size_t i = 0; i < json_len(listeners); i++) {
        struct json_object *one = json_object_array_get_idx(listeners, i);
        struct json_object *item = json_object_new_object();
        json_add(item, "Listener", json_copy(one));
        struct json_object *names = amz_list(item, "PolicyNames");
        if (clb_listener_is_secure(one)) {
            json_push_str(names, LB_SSL_POLICY);
            struct json_object *policies = clb_policies_of(q->aws, name);
            if (!amz_find(policies, "PolicyName", LB_SSL_POLICY, NULL)) {
                clb_policy_add(q->aws, name, body, clb_policy_shipped(LB_SSL_POLICY));
            }
        }
        json_object_array_add(amz_list(body, "ListenerDescriptions"), item);
    }
}

/* Takes out of `listeners` those that are there already; false: refused. */
static bool drop_equal(struct amz_request *q, struct amz_resource *lb,
                       struct json_object *listeners)
{
    for (size_t i = 0; i < json_len(listeners);) {
        struct json_object *one = json_object_array_get_idx(listeners, i);
        int64_t port = json_int(one, "LoadBalancerPort", 0);
        struct json_object *there = clb_listener_at(lb->body, port);
        if (!there) {
            i++;
            continue;
        }
        if (!clb_listener_equal(json_member(there, "Listener"), one)) {
            return amz_refuse(q, "DuplicateListener",
                              "A listener already exists for %s with LoadBalancerPort %lld, but "
                              "with a different InstancePort, Protocol, or SSLCertificateId",
                              lb->id, (long long)port);
        }
        amz_remove_at(listeners, i);
    }
    return true;
}

bool clb_create_listeners(struct amz_request *q)
{
    struct amz_resource *lb = clb_find(q);
    struct json_object *listeners;
    if (!lb || !clb_read_listeners(q, &listeners)) {
        return false;
    }
    bool fine = drop_equal(q, lb, listeners);
    int64_t most = amz_quota(q->aws, "classic_listeners", CLB_LISTENERS_MAX);
    size_t n = json_len(json_member(lb->body, "ListenerDescriptions")) + json_len(listeners);
    if (fine && json_len(listeners) > 0 && (int64_t)n > most) {
        fine = amz_refuse(q, "InvalidConfigurationRequest",
                          "A load balancer cannot have more than %lld listeners", (long long)most);
    }
    if (fine) {
        amz_unsettle(q->aws, lb, lb->body);
        clb_add_listeners(q, lb->body, listeners);
    }
    json_object_put(listeners);
    return fine;
}

bool clb_delete_listeners(struct amz_request *q)
{
    struct amz_resource *lb = clb_find(q);
    if (!lb) {
        return false;
    }
    struct json_object *ports = json_member(q->in, "LoadBalancerPorts");
    if (json_len(ports) == 0) {
        return amz_refuse_value(q, "LoadBalancerPorts cannot be empty");
    }
    amz_unsettle(q->aws, lb, lb->body);
    struct json_object *list = amz_list(lb->body, "ListenerDescriptions");
    for (size_t i = 0; i < json_len(ports); i++) {
        int64_t port = json_object_get_int64(json_object_array_get_idx(ports, i));
        for (size_t j = 0; j < json_len(list); j++) {
            struct json_object *item = json_object_array_get_idx(list, j);
            if (json_int(json_member(item, "Listener"), "LoadBalancerPort", 0) == port) {
                amz_remove_at(list, j);
                break;
            }
        }
    }
    return true;
}

bool clb_set_certificate(struct amz_request *q)
{
    struct amz_resource *lb = clb_find(q);
    if (!lb) {
        return false;
    }
    int64_t port = json_int(q->in, "LoadBalancerPort", 0);
    const char *certificate = json_str(q->in, "SSLCertificateId");
    struct json_object *item = clb_listener_at(lb->body, port);
    if (!item) {
        return amz_refuse(q, "ListenerNotFound", "There is no listener on port %lld of %s",
                          (long long)port, lb->id);
    }
    if (!clb_listener_is_secure(json_member(item, "Listener"))) {
        return amz_refuse(q, "InvalidConfigurationRequest",
                          "The listener on port %lld is not secure", (long long)port);
    }
    if (!lb_check_certificate(q, certificate)) {
        return false;
    }
    amz_unsettle(q->aws, lb, lb->body);
    json_add_str(json_member(item, "Listener"), "SSLCertificateId", certificate);
    return true;
}
