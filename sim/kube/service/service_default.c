/* SPDX-License-Identifier: Apache-2.0 */
/* service_default.c: defaults of a Service, and members that are removed when its type changes.
 *
 * Pure: edits trees.  Source: API server defaulting of v1 Services; recorded 016–024, 065, 090. */
#include "sim/kube/service/service.h"

#define AFFINITY_TIMEOUT_S 10800

const struct kube_rules kube_rules_service = {
    .set_defaults = service_set_defaults,
    .begin = service_begin,
    .prepare = service_prepare,
    .validate = service_validate,
};

struct json_object *service_spec(struct json_object *service)
{
    return kube_need(service, "spec");
}

const char *service_type(struct json_object *service)
{
    return str_nonnull(json_str(service_spec(service), "type"));
}

bool service_is_type(struct json_object *service, const char *type)
{
    return str_eq(service_type(service), type);
}

bool service_needs_cluster_ip(struct json_object *service)
{
    return service_is_type(service, "ClusterIP") || service_is_type(service, "NodePort") ||
           service_is_type(service, "LoadBalancer");
}

bool service_needs_node_port(struct json_object *service)
{
    return service_is_type(service, "NodePort") || service_is_type(service, "LoadBalancer");
}

bool service_needs_health_check_port(struct json_object *service)
{
    return service_is_type(service, "LoadBalancer") &&
           str_eq(json_str(service_spec(service), "externalTrafficPolicy"), "Local");
}

bool service_needs_external_policy(struct json_object *service)
{
    return service_needs_node_port(service) ||
           (service_is_type(service, "ClusterIP") &&
            json_len(json_member(service_spec(service), "externalIPs")) > 0);
}

bool service_is_headless(struct json_object *service)
{
    struct json_object *ips = json_member(service_spec(service), "clusterIPs");
    return json_len(ips) == 1 && str_eq(kube_item(ips, 0), "None");
}

/* --- defaults --------------------------------------------------------------------------------- */
static void default_str(struct json_object *o, const char *name, const char *value)
{
    if (str_is_empty(json_str(o, name))) {
        kube_set(o, name, json_object_new_string(value));
    }
}

static void default_affinity(struct json_object *spec)
{
    default_str(spec, "sessionAffinity", "None");
    const char *affinity = json_str(spec, "sessionAffinity");
    if (str_eq(affinity, "None")) {
        kube_set(spec, "sessionAffinityConfig", NULL);
    } else if (str_eq(affinity, "ClientIP")) {
        struct json_object *client =
            kube_need(kube_need(spec, "sessionAffinityConfig"), "clientIP");
        if (!json_member(client, "timeoutSeconds")) {
            kube_set(client, "timeoutSeconds", json_object_new_int(AFFINITY_TIMEOUT_S));
        }
    }
}

static void default_ports(struct json_object *spec)
{
    struct json_object *ports = json_member(spec, "ports");
    for (size_t i = 0; i < json_len(ports); i++) {
        struct json_object *p = json_object_array_get_idx(ports, i);
        struct json_object *target = json_member(p, "targetPort");
        default_str(p, "protocol", "TCP");
        bool unset =
            !target ||
            (json_object_is_type(target, json_type_int) && json_object_get_int(target) == 0) ||
            (json_object_is_type(target, json_type_string) &&
             json_object_get_string_len(target) == 0);
        if (unset) {
            kube_set(p, "targetPort", json_object_new_int64(json_int(p, "port", 0)));
        }
    }
}

static void default_ip_mode(struct json_object *service)
{
    struct json_object *ingress = json_path(service, "status.loadBalancer.ingress");
    for (size_t i = 0; i < json_len(ingress); i++) {
        struct json_object *one = json_object_array_get_idx(ingress, i);
        if (!str_is_empty(json_str(one, "ip")) && !json_member(one, "ipMode")) {
            kube_set(one, "ipMode", json_object_new_string("VIP"));
        }
    }
}

void service_set_defaults(struct kube_change *c)
{
    struct json_object *spec = service_spec(c->now);
    default_affinity(spec);
    default_str(spec, "type", "ClusterIP");
    default_ports(spec);
    if (service_needs_external_policy(c->now)) {
        default_str(spec, "externalTrafficPolicy", "Cluster");
    }
    if (service_needs_cluster_ip(c->now) && !json_member(spec, "internalTrafficPolicy")) {
        kube_set(spec, "internalTrafficPolicy", json_object_new_string("Cluster"));
    }
    if (service_is_type(c->now, "LoadBalancer")) {
        if (!json_member(spec, "allocateLoadBalancerNodePorts")) {
            kube_set(spec, "allocateLoadBalancerNodePorts", json_object_new_boolean(1));
        }
        default_ip_mode(c->now);
    }
}

/* --- a type that changes ---------------------------------------------------------------------- */
/* Takes a field away that no longer applies, if the client did not change it itself. */
static void drop_same(struct json_object *now, struct json_object *was, const char *name)
{
    if (kube_same(json_member(now, name), json_member(was, name))) {
        kube_set(now, name, NULL);
    }
}

static bool same_node_ports(struct json_object *now, struct json_object *was)
{
    struct json_object *a = json_member(now, "ports");
    struct json_object *b = json_member(was, "ports");
    if (json_len(a) != json_len(b)) {
        return false;
    }
    for (size_t i = 0; i < json_len(a); i++) {
        if (json_int(json_object_array_get_idx(a, i), "nodePort", 0) !=
            json_int(json_object_array_get_idx(b, i), "nodePort", 0)) {
            return false;
        }
    }
    return true;
}

static void drop_node_ports(struct json_object *now, struct json_object *was)
{
    if (!same_node_ports(now, was)) {
        return;
    }
    struct json_object *ports = json_member(now, "ports");
    for (size_t i = 0; i < json_len(ports); i++) {
        kube_set(json_object_array_get_idx(ports, i), "nodePort", NULL);
    }
}

static void drop_by_type(struct kube_change *c)
{
    struct json_object *now = service_spec(c->now);
    struct json_object *was = service_spec(c->was);
    if (service_needs_cluster_ip(c->was) && !service_needs_cluster_ip(c->now)) {
        drop_same(now, was, "clusterIP");
        drop_same(now, was, "clusterIPs");
        drop_same(now, was, "ipFamilies");
        drop_same(now, was, "ipFamilyPolicy");
        drop_same(now, was, "internalTrafficPolicy");
    }
    if (service_needs_node_port(c->was) && !service_needs_node_port(c->now)) {
        drop_node_ports(now, was);
    }
    if (service_needs_health_check_port(c->was) && !service_needs_health_check_port(c->now)) {
        drop_same(now, was, "healthCheckNodePort");
    }
    if (service_needs_external_policy(c->was) && !service_needs_external_policy(c->now)) {
        drop_same(now, was, "externalTrafficPolicy");
    }
    if (service_is_type(c->was, "LoadBalancer") && !service_is_type(c->now, "LoadBalancer")) {
        drop_same(now, was, "allocateLoadBalancerNodePorts");
        drop_same(now, was, "loadBalancerClass");
        kube_set(kube_need(c->now, "status"), "loadBalancer", json_object_new_object());
    }
}

void service_prepare(struct kube_change *c)
{
    if (!c->was) {
        kube_set(c->now, "status", json_object_new_object());
        if (service_is_type(c->now, "ExternalName")) {
            kube_set(service_spec(c->now), "internalTrafficPolicy", NULL);
        }
    } else if (!c->status_only) {
        drop_by_type(c);
    }
}
