/* SPDX-License-Identifier: Apache-2.0 */
/* service_validate.c: what a Service must not be.  The order of complaints is the API server's.
 *
 * Pure.  Source: API server validation of v1 Services; recorded 029–041, 067, 069, 085, 088. */
#include "sim/kube/service/service.h"

#include "common/base/ip.h"

#include <string.h>

static bool one_of(const char *s, const char *const *known)
{
    for (size_t i = 0; known[i]; i++) {
        if (str_eq(s, known[i])) {
            return true;
        }
    }
    return false;
}

static const char *const types[] = {"ClusterIP", "ExternalName", "LoadBalancer", "NodePort", NULL};
static const char *const affinities[] = {"ClientIP", "None", NULL};
static const char *const policies[] = {"Cluster", "Local", NULL};
static const char *const protocols[] = {"SCTP", "TCP", "UDP", NULL};

/* --- addresses -------------------------------------------------------------------------------- */
static void validate_external_ips(struct json_object *spec, struct kube_causes *causes)
{
    struct json_object *ips = json_member(spec, "externalIPs");
    for (size_t i = 0; i < json_len(ips); i++) {
        const char *field = arena_printf(causes->arena, "spec.externalIPs[%zu]", i);
        kube_check_ip(causes, field, kube_item(ips, i));
        kube_check_endpoint_ip(causes, field, kube_item(ips, i));
    }
}

static void validate_source_ranges(struct json_object *service, struct kube_causes *causes)
{
    static const char annotation[] = "service.beta.kubernetes.io/load-balancer-source-ranges";
    struct json_object *ranges = json_member(service_spec(service), "loadBalancerSourceRanges");
    bool is_lb = service_is_type(service, "LoadBalancer");
    if (json_len(ranges) > 0) {
        if (!is_lb) {
            kube_forbidden(causes, "spec.LoadBalancerSourceRanges",
                           "may only be used when `type` is 'LoadBalancer'");
        }
        for (size_t i = 0; i < json_len(ranges); i++) {
            const char *text = kube_item(ranges, i);
            kube_check_cidr(causes,
                            arena_printf(causes->arena, "spec.LoadBalancerSourceRanges[%zu]", i),
                            str_trim_unicode(causes->arena, text));
        }
        return;
    }
    const char *text = json_str(json_path(service, "metadata.annotations"), annotation);
    if (!text) {
        return;
    }
    const char *field = arena_printf(causes->arena, "metadata.annotations[%s]", annotation);
    if (!is_lb) {
        kube_forbidden(causes, field, "may only be used when `type` is 'LoadBalancer'");
    }
    text = str_trim_unicode(causes->arena, text);
    size_t n = 0;
    char **items = str_split(causes->arena, text, ',', &n);
    for (size_t i = 0; i < n && *text; i++) {
        kube_check_cidr(causes, field, str_trim_unicode(causes->arena, items[i]));
    }
}

/* --- ports ------------------------------------------------------------------------------------ */
static void validate_target_port(struct json_object *target, const char *field,
                                 struct kube_causes *causes)
{
    if (json_object_is_type(target, json_type_string)) {
        kube_check_port_name(causes, field, json_object_get_string(target));
        return;
    }
    int64_t port = target ? json_object_get_int64(target) : 0;
    if (port < 1 || port > 65535) {
        kube_invalid_int(causes, field, port, "must be between 1 and 65535, inclusive");
    }
}

static void validate_port_name(struct json_object *ports, size_t i, struct kube_causes *causes)
{
    const char *name = str_nonnull(json_str(json_object_array_get_idx(ports, i), "name"));
    const char *field = arena_printf(causes->arena, "spec.ports[%zu].name", i);
    if (!*name) {
        if (json_len(ports) > 1) {
            kube_required(causes, field, NULL);
        }
        return;
    }
    kube_check_dns_label(causes, field, name);
    for (size_t k = 0; k < i; k++) {
        if (str_eq(json_str(json_object_array_get_idx(ports, k), "name"), name)) {
            kube_duplicate(causes, field, kube_quoted(causes->arena, name));
            break;
        }
    }
}

void service_validate_ports(struct json_object *service, struct kube_causes *causes)
{
    struct json_object *ports = json_member(service_spec(service), "ports");
    for (size_t i = 0; i < json_len(ports); i++) {
        struct json_object *p = json_object_array_get_idx(ports, i);
        const char *at = arena_printf(causes->arena, "spec.ports[%zu]", i);
        const char *protocol = str_nonnull(json_str(p, "protocol"));
        const char *app = json_str(p, "appProtocol");
        int64_t port = json_int(p, "port", 0);
        validate_port_name(ports, i, causes);
        if (port < 1 || port > 65535) {
            kube_invalid_int(causes, arena_printf(causes->arena, "%s.port", at), port,
                             "must be between 1 and 65535, inclusive");
        }
        if (!one_of(protocol, protocols)) {
            kube_not_supported(causes, arena_printf(causes->arena, "%s.protocol", at), protocol,
                               protocols);
        }
        validate_target_port(json_member(p, "targetPort"),
                             arena_printf(causes->arena, "%s.targetPort", at), causes);
        if (app) {
            kube_check_qualified_name(causes, arena_printf(causes->arena, "%s.appProtocol", at),
                                      app);
        }
    }
}

static bool same_pair(struct json_object *a, struct json_object *b, const char *number)
{
    return json_int(a, number, 0) == json_int(b, number, 0) &&
           str_eq(json_str(a, "protocol"), json_str(b, "protocol"));
}

/* Finds an earlier port with the same protocol and number. */
static bool repeats(struct json_object *ports, size_t i, const char *number)
{
    for (size_t k = 0; k < i; k++) {
        if (same_pair(json_object_array_get_idx(ports, k), json_object_array_get_idx(ports, i),
                      number)) {
            return true;
        }
    }
    return false;
}

static void validate_repeated_ports(struct json_object *service, struct kube_causes *causes)
{
    struct json_object *ports = json_member(service_spec(service), "ports");
    for (size_t i = 0; i < json_len(ports); i++) {
        int64_t node_port = json_int(json_object_array_get_idx(ports, i), "nodePort", 0);
        if (node_port && repeats(ports, i, "nodePort")) {
            kube_duplicate(causes, arena_printf(causes->arena, "spec.ports[%zu].nodePort", i),
                           arena_printf(causes->arena, "%lld", (long long)node_port));
        }
    }
    for (size_t i = 0; i < json_len(ports); i++) {
        struct json_object *p = json_object_array_get_idx(ports, i);
        if (repeats(ports, i, "port")) {
            kube_duplicate(
                causes, arena_printf(causes->arena, "spec.ports[%zu]", i),
                arena_printf(causes->arena,
                             "{\"Name\":\"\",\"Protocol\":%s,\"AppProtocol\":null,\"Port\":%lld,"
                             "\"TargetPort\":0,\"NodePort\":0}",
                             kube_quoted(causes->arena, json_str(p, "protocol")),
                             (long long)json_int(p, "port", 0)));
        }
    }
}

/* --- by type ---------------------------------------------------------------------------------- */
static void validate_external_name(struct json_object *spec, struct kube_causes *causes)
{
    static const char *const absent[] = {"clusterIPs", "ipFamilies", "ipFamilyPolicy"};
    for (size_t i = 0; i < ARRAY_LEN(absent); i++) {
        struct json_object *v = json_member(spec, absent[i]);
        if (v && !(json_object_is_type(v, json_type_array) && json_len(v) == 0)) {
            kube_forbidden(causes, arena_printf(causes->arena, "spec.%s", absent[i]),
                           "may not be set for ExternalName services");
        }
    }
    const char *name = str_nonnull(json_str(spec, "externalName"));
    size_t n = strlen(name);
    const char *bare = n && name[n - 1] == '.' ? arena_strndup(causes->arena, name, n - 1) : name;
    if (!*bare) {
        kube_required(causes, "spec.externalName", NULL);
    } else {
        kube_check_dns_subdomain(causes, "spec.externalName", bare);
    }
}

static void validate_by_type(struct json_object *service, struct kube_causes *causes)
{
    struct json_object *spec = service_spec(service);
    struct json_object *ports = json_member(spec, "ports");
    if (json_len(ports) == 0 && !service_is_headless(service) &&
        !service_is_type(service, "ExternalName")) {
        kube_required(causes, "spec.ports", NULL);
    }
    if (service_needs_node_port(service) && service_is_headless(service)) {
        kube_invalid(causes, "spec.clusterIPs[0]", "None",
                     arena_printf(causes->arena, "may not be set to 'None' for %s services",
                                  service_type(service)));
    }
    if (service_is_type(service, "ExternalName")) {
        validate_external_name(spec, causes);
    }
}

static void validate_affinity(struct json_object *spec, struct kube_causes *causes)
{
    const char *affinity = str_nonnull(json_str(spec, "sessionAffinity"));
    struct json_object *config = json_member(spec, "sessionAffinityConfig");
    if (!one_of(affinity, affinities)) {
        kube_not_supported(causes, "spec.sessionAffinity", affinity, affinities);
    } else if (str_eq(affinity, "ClientIP")) {
        int64_t s = json_int(json_member(config, "clientIP"), "timeoutSeconds", 0);
        if (s <= 0 || s > 86400) {
            kube_invalid_int(causes, "spec.sessionAffinityConfig.clientIP.timeoutSeconds", s,
                             "must be greater than 0 and less than 86400");
        }
    } else if (config) {
        kube_forbidden(causes, "spec.sessionAffinityConfig",
                       "must not be set when session affinity is None");
    }
}

static void validate_type(struct json_object *service, struct kube_causes *causes)
{
    struct json_object *ports = json_member(service_spec(service), "ports");
    if (!one_of(service_type(service), types)) {
        kube_not_supported(causes, "spec.type", service_type(service), types);
    }
    for (size_t i = 0; i < json_len(ports) && service_is_type(service, "ClusterIP"); i++) {
        if (json_int(json_object_array_get_idx(ports, i), "nodePort", 0) != 0) {
            kube_forbidden(causes, arena_printf(causes->arena, "spec.ports[%zu].nodePort", i),
                           "may not be used when `type` is 'ClusterIP'");
        }
    }
}

static void validate_lb_fields(struct json_object *service, struct json_object *was,
                               struct kube_causes *causes)
{
    struct json_object *spec = service_spec(service);
    bool is_lb = service_is_type(service, "LoadBalancer");
    struct json_object *lb_class = json_member(spec, "loadBalancerClass");
    struct json_object *old_class = was ? json_path(was, "spec.loadBalancerClass") : NULL;
    if (!is_lb && json_member(spec, "allocateLoadBalancerNodePorts")) {
        kube_forbidden(causes, "spec.allocateLoadBalancerNodePorts",
                       "may only be used when `type` is 'LoadBalancer'");
    }
    if (was && is_lb && service_is_type(was, "LoadBalancer") && !kube_same(lb_class, old_class)) {
        kube_invalid_json(causes, "spec.loadBalancerClass", lb_class, "may not change once set");
        return;
    }
    if (!lb_class || (was && kube_same(lb_class, old_class))) {
        return;
    }
    if (!is_lb) {
        kube_forbidden(causes, "spec.loadBalancerClass",
                       "may only be used when `type` is 'LoadBalancer'");
        return;
    }
    /* An update asks twice, as for metadata. */
    for (int i = 0; i < (was ? 2 : 1); i++) {
        kube_check_qualified_name(causes, "spec.loadBalancerClass",
                                  json_object_get_string(lb_class));
    }
}

static void validate_policies(struct json_object *service, struct json_object *was,
                              struct kube_causes *causes)
{
    struct json_object *spec = service_spec(service);
    const char *external = str_nonnull(json_str(spec, "externalTrafficPolicy"));
    const char *internal = json_str(spec, "internalTrafficPolicy");
    struct json_object *hc = json_member(spec, "healthCheckNodePort");
    int64_t port = json_int(spec, "healthCheckNodePort", 0);
    if (!service_needs_external_policy(service)) {
        if (*external) {
            kube_invalid(causes, "spec.externalTrafficPolicy", external,
                         "may only be set for externally-accessible services");
        }
    } else if (!*external) {
        kube_required(causes, "spec.externalTrafficPolicy", NULL);
    } else if (!one_of(external, policies)) {
        kube_not_supported(causes, "spec.externalTrafficPolicy", external, policies);
    }
    if (hc && port && !service_needs_health_check_port(service)) {
        kube_invalid_int(
            causes, "spec.healthCheckNodePort", port,
            "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is "
            "'Local'");
    }
    if (was && service_needs_health_check_port(service) && service_needs_health_check_port(was) &&
        port != json_int(service_spec(was), "healthCheckNodePort", 0)) {
        kube_forbidden(causes, "spec.healthCheckNodePort", "field is immutable");
    }
    if (internal && !one_of(internal, policies)) {
        kube_not_supported(causes, "spec.internalTrafficPolicy", internal, policies);
    }
    static const char *const distributions[] = {"PreferClose", "PreferSameZone", "PreferSameNode",
                                                NULL};
    const char *distribution = json_str(spec, "trafficDistribution");
    if (distribution && !one_of(distribution, distributions)) {
        kube_not_supported(causes, "spec.trafficDistribution", distribution, distributions);
    }
}

/* --- status ----------------------------------------------------------------------------------- */
static void validate_ingress(struct json_object *one, const char *at, struct kube_causes *causes)
{
    static const char *const modes[] = {"Proxy", "VIP", NULL};
    const char *ip = str_nonnull(json_str(one, "ip"));
    const char *host = str_nonnull(json_str(one, "hostname"));
    const char *mode = json_str(one, "ipMode");
    struct ip_addr addr;
    if (*ip) {
        kube_check_ip(causes, arena_printf(causes->arena, "%s.ip", at), ip);
    }
    const char *mode_field = arena_printf(causes->arena, "%s.ipMode", at);
    if (*ip && !mode) {
        kube_required(causes, mode_field, "must be specified when `ip` is set");
    } else if (!*ip && mode) {
        kube_forbidden(causes, mode_field, "may not be specified when `ip` is not set");
    } else if (mode && !one_of(mode, modes)) {
        kube_not_supported(causes, mode_field, mode, modes);
    }
    const char *host_field = arena_printf(causes->arena, "%s.hostname", at);
    if (*host) {
        kube_check_dns_subdomain(causes, host_field, host);
    }
    if (*host && ip_parse_sloppy(host, &addr)) {
        kube_invalid(causes, host_field, host, "must be a DNS name, not an IP address");
    }
}

void service_validate_status(struct json_object *service, struct kube_causes *causes)
{
    struct json_object *ingress = json_path(service, "status.loadBalancer.ingress");
    if (json_len(ingress) > 0 && !service_is_type(service, "LoadBalancer")) {
        kube_forbidden(causes, "status.loadBalancer.ingress",
                       "may only be used when `spec.type` is 'LoadBalancer'");
        return;
    }
    for (size_t i = 0; i < json_len(ingress); i++) {
        validate_ingress(json_object_array_get_idx(ingress, i),
                         arena_printf(causes->arena, "status.loadBalancer.ingress[%zu]", i),
                         causes);
    }
}

/* --- all together ----------------------------------------------------------------------------- */
void service_validate(const struct kube_change *c, struct kube_causes *causes)
{
    struct json_object *service = c->now;
    struct json_object *spec = service_spec(service);
    if (c->status_only) {
        service_validate_status(service, causes);
        return;
    }
    if (c->was) {
        service_validate_families_update(c, causes);
    }
    validate_by_type(service, causes);
    service_validate_ports(service, causes);
    struct json_object *selector = json_member(spec, "selector");
    if (selector) {
        json_object_object_foreach(selector, key, value)
        {
            kube_check_qualified_name(causes, "spec.selector", key);
            kube_check_label_value(causes, "spec.selector", json_object_get_string(value));
        }
    }
    validate_affinity(spec, causes);
    service_validate_cluster_ips(service, causes);
    validate_external_ips(spec, causes);
    validate_type(service, causes);
    validate_repeated_ports(service, causes);
    validate_source_ranges(service, causes);
    validate_lb_fields(service, c->was, causes);
    validate_policies(service, c->was, causes);
}
