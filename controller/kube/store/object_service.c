/* SPDX-License-Identifier: Apache-2.0 */
/* object_service.c: a Service's JSON into struct tt_service.
 *
 * Fields: controller.md §5.1, 5.2.  Absent members become what the API server would have filled in
 * (protocol TCP, node ports allocated) or the "absent" value that trimtab/types.h names; present
 * members must have the right type.  Called by object.c only; pure. */
#include <string.h>

#include "common/lb/service_rules.h"
#include "controller/kube/store/object_internal.h"

struct raw_port {
    const char *name;
    const char *protocol;
    const char *app_protocol;
    int32_t port;
    int32_t node_port;
    const struct json_view *target; /* number or string */
};
struct raw_port_status {
    const char *protocol;
    const char *error;
    int32_t port;
};
struct raw_ingress {
    const char *ip;
    const char *hostname;
    const char *ip_mode;
    struct raw_port_status *ports;
    size_t n_ports;
};
struct raw_client_ip {
    int32_t timeout_s;
    bool has_timeout;
};
struct raw_affinity {
    struct raw_client_ip client_ip;
};
struct raw_service_spec {
    const char *type;
    const char *lb_class;
    struct raw_port *ports;
    size_t n_ports;
    const char *session_affinity;
    struct raw_affinity affinity;
    const char *lb_ip;
    const char **source_ranges;
    size_t n_source_ranges;
    bool has_source_ranges;
    const char **external_ips;
    size_t n_external_ips;
    const char *external_policy;
    const char *internal_policy;
    int32_t health_check_node_port;
    const char **ip_families;
    size_t n_ip_families;
    const char *ip_family_policy;
    const char *cluster_ip;
    const char **cluster_ips;
    size_t n_cluster_ips;
    bool allocate_node_ports;
    bool has_allocate;
    bool publish_not_ready;
    const char *traffic_distribution;
    const char *external_name;
    const struct json_view *selector_map;
    struct json_kv *selector; /* derived */
    size_t n_selector;
};
struct raw_lb_status {
    struct raw_ingress *ingress;
    size_t n_ingress;
};
struct raw_service_status {
    struct raw_lb_status lb;
    struct raw_condition *conditions;
    size_t n_conditions;
};
struct raw_service {
    struct raw_meta meta;
    struct raw_service_spec spec;
    struct raw_service_status status;
};

static const struct json_field port_fields[] = {
    ROW_STR(raw_port, "name", name),
    ROW_STR(raw_port, "protocol", protocol),
    ROW_STR(raw_port, "appProtocol", app_protocol),
    ROW_PORT(raw_port, "port", port, 1),
    ROW_PORT(raw_port, "nodePort", node_port, 0),
    {.name = "targetPort", .type = JSON_T_VIEW, .offset = offsetof(struct raw_port, target)},
    {0},
};
static const struct json_field client_ip_fields[] = {
    {.name = "timeoutSeconds",
     .type = JSON_T_I32,
     .offset = offsetof(struct raw_client_ip, timeout_s),
     .has_offset = offsetof(struct raw_client_ip, has_timeout),
     .min = 0,
     .max = INT32_MAX},
    {0},
};
static const struct json_field affinity_fields[] = {
    ROW_OBJECT(raw_affinity, "clientIP", client_ip, client_ip_fields),
    {0},
};
static const struct json_field spec_fields[] = {
    ROW_STR(raw_service_spec, "type", type),
    ROW_STR(raw_service_spec, "loadBalancerClass", lb_class),
    ROW_OBJECTS(raw_service_spec, "ports", ports, port_fields, raw_port),
    ROW_STR(raw_service_spec, "sessionAffinity", session_affinity),
    ROW_OBJECT(raw_service_spec, "sessionAffinityConfig", affinity, affinity_fields),
    ROW_STR(raw_service_spec, "loadBalancerIP", lb_ip),
    {.name = "loadBalancerSourceRanges",
     .type = JSON_T_STRS,
     .offset = offsetof(struct raw_service_spec, source_ranges),
     .count_offset = offsetof(struct raw_service_spec, n_source_ranges),
     .has_offset = offsetof(struct raw_service_spec, has_source_ranges)},
    ROW_STRS(raw_service_spec, "externalIPs", external_ips),
    ROW_STR(raw_service_spec, "externalTrafficPolicy", external_policy),
    ROW_STR(raw_service_spec, "internalTrafficPolicy", internal_policy),
    ROW_PORT(raw_service_spec, "healthCheckNodePort", health_check_node_port, 0),
    ROW_STRS(raw_service_spec, "ipFamilies", ip_families),
    ROW_STR(raw_service_spec, "ipFamilyPolicy", ip_family_policy),
    ROW_STR(raw_service_spec, "clusterIP", cluster_ip),
    ROW_STRS(raw_service_spec, "clusterIPs", cluster_ips),
    {.name = "allocateLoadBalancerNodePorts",
     .type = JSON_T_BOOL,
     .offset = offsetof(struct raw_service_spec, allocate_node_ports),
     .has_offset = offsetof(struct raw_service_spec, has_allocate)},
    {.name = "publishNotReadyAddresses",
     .type = JSON_T_BOOL,
     .offset = offsetof(struct raw_service_spec, publish_not_ready)},
    ROW_STR(raw_service_spec, "trafficDistribution", traffic_distribution),
    ROW_STR(raw_service_spec, "externalName", external_name),
    {.name = "selector",
     .type = JSON_T_VIEW,
     .offset = offsetof(struct raw_service_spec, selector_map)},
    {0},
};
static const struct json_field port_status_fields[] = {
    ROW_PORT(raw_port_status, "port", port, 0),
    ROW_STR(raw_port_status, "protocol", protocol),
    ROW_STR(raw_port_status, "error", error),
    {0},
};
static const struct json_field ingress_fields[] = {
    ROW_STR(raw_ingress, "ip", ip),
    ROW_STR(raw_ingress, "hostname", hostname),
    ROW_STR(raw_ingress, "ipMode", ip_mode),
    ROW_OBJECTS(raw_ingress, "ports", ports, port_status_fields, raw_port_status),
    {0},
};
static const struct json_field lb_fields[] = {
    ROW_OBJECTS(raw_lb_status, "ingress", ingress, ingress_fields, raw_ingress),
    {0},
};
static const struct json_field status_fields[] = {
    ROW_OBJECT(raw_service_status, "loadBalancer", lb, lb_fields),
    ROW_OBJECTS(raw_service_status, "conditions", conditions, raw_condition_fields, raw_condition),
    {0},
};
static const struct json_field service_fields[] = {
    ROW_OBJECT(raw_service, "metadata", meta, raw_meta_fields),
    ROW_OBJECT(raw_service, "spec", spec, spec_fields),
    ROW_OBJECT(raw_service, "status", status, status_fields),
    {0},
};

static const char *const members[] = {
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "metadata.resourceVersion",
    "metadata.generation",
    "metadata.creationTimestamp",
    "metadata.deletionTimestamp",
    "metadata.labels",
    "metadata.annotations",
    "metadata.finalizers",
    "spec.type",
    "spec.loadBalancerClass",
    "spec.ports",
    "spec.sessionAffinity",
    "spec.sessionAffinityConfig",
    "spec.loadBalancerIP",
    "spec.loadBalancerSourceRanges",
    "spec.externalIPs",
    "spec.externalTrafficPolicy",
    "spec.internalTrafficPolicy",
    "spec.healthCheckNodePort",
    "spec.ipFamilies",
    "spec.ipFamilyPolicy",
    "spec.clusterIP",
    "spec.clusterIPs",
    "spec.allocateLoadBalancerNodePorts",
    "spec.publishNotReadyAddresses",
    "spec.trafficDistribution",
    "spec.externalName",
    "spec.selector",
    "status.loadBalancer",
    "status.conditions",
    NULL,
};

/* IntOrString. */
static int check_targets(struct arena *a, const struct raw_service_spec *s, struct err *err)
{
    for (size_t i = 0; i < s->n_ports; i++) {
        const struct json_view *t = s->ports[i].target;
        if (t == NULL || t->type == JSON_V_STRING) {
            continue;
        }
        if (t->type != JSON_V_INT && t->type != JSON_V_UINT) {
            return err_set(err, ERR_INVALID,
                           "spec.ports[%zu].targetPort: want a number or a name, got %.60s", i,
                           json_view_shown(a, t));
        }
        int64_t number = t->type == JSON_V_INT ? t->i : INT64_MAX;
        if (number < 0 || number > 65535) {
            return err_set(err, ERR_INVALID,
                           "spec.ports[%zu].targetPort: want a whole number from 0 to 65535, got "
                           "%lld",
                           i, (long long)number);
        }
    }
    return ERR_OK;
}

/* A Service whose type cannot be read is treated as one that wants a load balancer: it counts as
 * another user of what is shared, and what it may have is not taken for left behind.  One whose
 * finalizers cannot be read may wait for us. */
static void assume(struct raw_service *raw, const struct raw_lost *lost)
{
    static const char *finalizers[] = {LB_CLEANUP_FINALIZER};
    if (lost == NULL || lost->has_base) {
        return;
    }
    if (raw_is_lost(lost, "spec.type")) {
        raw->spec.type = "LoadBalancer";
    }
    if (raw_is_lost(lost, "metadata.finalizers")) {
        raw->meta.finalizers = finalizers;
        raw->meta.n_finalizers = ARRAY_LEN(finalizers);
    }
}

static int service_finish(struct arena *a, void *arg, struct raw_lost *lost, struct err *err)
{
    struct raw_service *raw = arg;
    struct raw_service_spec *spec = &raw->spec;
    bool cleared = false;
    int rc = raw_checked(check_targets(a, spec, err), lost, "spec.ports", &cleared);
    spec->n_ports = cleared ? 0 : spec->n_ports;
    if (rc == ERR_OK) {
        rc = raw_map(a, spec->selector_map, "spec.selector", &spec->selector, &spec->n_selector,
                     err);
        rc = raw_checked(rc, lost, "spec.selector", &cleared);
    }
    if (rc == ERR_OK) {
        rc = raw_conditions_finish(raw->status.conditions, &raw->status.n_conditions, lost, err);
    }
    assume(raw, lost);
    return rc;
}

static const struct tt_port *pack_ports(struct pack *p, const struct raw_port *ports, size_t n)
{
    struct tt_port *out = PACK_ARRAY(p, struct tt_port, n);
    for (size_t i = 0; i < n; i++) {
        const struct json_view *target = ports[i].target;
        bool named = target != NULL && target->type == JSON_V_STRING;
        out[i].name = pack_text(p, str_nonnull(ports[i].name));
        out[i].protocol = pack_word(p, str_or(ports[i].protocol, "TCP"));
        out[i].app_protocol = pack_text(p, ports[i].app_protocol);
        out[i].target_name = named ? pack_text(p, target->text) : NULL;
        out[i].target_port = named || target == NULL ? 0 : (int32_t)target->i;
        out[i].port = ports[i].port;
        out[i].node_port = ports[i].node_port;
    }
    return out;
}

static const struct tt_port_status *pack_port_status(struct pack *p,
                                                     const struct raw_port_status *s, size_t n)
{
    struct tt_port_status *out = PACK_ARRAY(p, struct tt_port_status, n);
    for (size_t i = 0; i < n; i++) {
        out[i].protocol = pack_word(p, str_nonnull(s[i].protocol));
        out[i].error = pack_text(p, s[i].error);
        out[i].port = s[i].port;
    }
    return out;
}

static const struct tt_ingress *pack_ingress(struct pack *p, const struct raw_ingress *in, size_t n)
{
    struct tt_ingress *out = PACK_ARRAY(p, struct tt_ingress, n);
    for (size_t i = 0; i < n; i++) {
        out[i].ip = pack_text(p, in[i].ip);
        out[i].hostname = pack_text(p, in[i].hostname);
        out[i].ip_mode = pack_word(p, in[i].ip_mode);
        out[i].ports = pack_port_status(p, in[i].ports, in[i].n_ports);
        out[i].n_ports = (uint32_t)in[i].n_ports;
    }
    return out;
}

static void pack_service_meta(struct pack *p, const struct kube_object *o, struct tt_service *s,
                              const struct raw_meta *m)
{
    s->size = sizeof *s;
    s->ns = pack_text(p, m->ns);
    s->name = kube_object_name_in_key(o);
    s->uid = o->uid;
    s->resource_version = o->resource_version;
    s->generation = m->generation;
    s->created_us = m->created_us;
    s->deleted_us = m->deleted_us;
    s->labels = pack_kvs(p, m->labels, m->n_labels);
    s->n_labels = (uint32_t)m->n_labels;
    s->annotations = pack_kvs(p, m->annotations, m->n_annotations);
    s->n_annotations = (uint32_t)m->n_annotations;
    s->has_annotations = m->annotation_map != NULL;
    s->finalizers = pack_words(p, m->finalizers, m->n_finalizers);
    s->n_finalizers = (uint32_t)m->n_finalizers;
}

static void pack_service_lists(struct pack *p, struct tt_service *s,
                               const struct raw_service_spec *r)
{
    bool only_single = r->n_cluster_ips == 0 && !str_is_empty(r->cluster_ip);
    const char *const *cluster_ips = only_single ? &r->cluster_ip : r->cluster_ips;
    size_t n_cluster_ips = only_single ? 1 : r->n_cluster_ips;
    s->ports = pack_ports(p, r->ports, r->n_ports);
    s->n_ports = (uint32_t)r->n_ports;
    s->source_ranges = pack_texts(p, r->source_ranges, r->n_source_ranges);
    s->n_source_ranges = (uint32_t)r->n_source_ranges;
    s->has_source_ranges = r->has_source_ranges;
    s->external_ips = pack_texts(p, r->external_ips, r->n_external_ips);
    s->n_external_ips = (uint32_t)r->n_external_ips;
    s->ip_families = pack_words(p, r->ip_families, r->n_ip_families);
    s->n_ip_families = (uint32_t)r->n_ip_families;
    s->cluster_ips = pack_texts(p, cluster_ips, n_cluster_ips);
    s->n_cluster_ips = (uint32_t)n_cluster_ips;
    s->selector = pack_kvs(p, r->selector, r->n_selector);
    s->n_selector = (uint32_t)r->n_selector;
}

static void pack_service_spec(struct pack *p, struct tt_service *s,
                              const struct raw_service_spec *r)
{
    s->type = pack_word(p, str_nonnull(r->type));
    s->lb_class = pack_word(p, r->lb_class);
    s->session_affinity = pack_word(p, str_nonnull(r->session_affinity));
    s->affinity_timeout_s =
        r->affinity.client_ip.has_timeout ? r->affinity.client_ip.timeout_s : -1;
    s->health_check_node_port = r->health_check_node_port;
    s->lb_ip = pack_text(p, str_nonnull(r->lb_ip));
    s->external_traffic_policy = pack_word(p, str_nonnull(r->external_policy));
    s->internal_traffic_policy = pack_word(p, str_nonnull(r->internal_policy));
    s->ip_family_policy = pack_word(p, str_nonnull(r->ip_family_policy));
    s->traffic_distribution = pack_word(p, r->traffic_distribution);
    s->external_name = pack_text(p, r->external_name);
    s->allocate_node_ports = !r->has_allocate || r->allocate_node_ports;
    s->publish_not_ready = r->publish_not_ready;
    pack_service_lists(p, s, r);
}

static const struct raw_carry carries[] = {
    CARRY("metadata.creationTimestamp", tt_service, created_us),
    CARRY("metadata.generation", tt_service, generation),
    CARRY("metadata.labels", tt_service, labels),
    CARRY("metadata.labels", tt_service, n_labels),
    CARRY("metadata.annotations", tt_service, annotations),
    CARRY("metadata.annotations", tt_service, n_annotations),
    CARRY("metadata.annotations", tt_service, has_annotations),
    CARRY("metadata.finalizers", tt_service, finalizers),
    CARRY("metadata.finalizers", tt_service, n_finalizers),
    CARRY("spec.type", tt_service, type),
    CARRY("spec.loadBalancerClass", tt_service, lb_class),
    CARRY("spec.ports", tt_service, ports),
    CARRY("spec.ports", tt_service, n_ports),
    CARRY("spec.sessionAffinity", tt_service, session_affinity),
    CARRY("spec.sessionAffinityConfig.clientIP.timeoutSeconds", tt_service, affinity_timeout_s),
    CARRY("spec.healthCheckNodePort", tt_service, health_check_node_port),
    CARRY("spec.loadBalancerIP", tt_service, lb_ip),
    CARRY("spec.loadBalancerSourceRanges", tt_service, source_ranges),
    CARRY("spec.loadBalancerSourceRanges", tt_service, n_source_ranges),
    CARRY("spec.loadBalancerSourceRanges", tt_service, has_source_ranges),
    CARRY("spec.externalIPs", tt_service, external_ips),
    CARRY("spec.externalIPs", tt_service, n_external_ips),
    CARRY("spec.externalTrafficPolicy", tt_service, external_traffic_policy),
    CARRY("spec.internalTrafficPolicy", tt_service, internal_traffic_policy),
    CARRY("spec.ipFamilies", tt_service, ip_families),
    CARRY("spec.ipFamilies", tt_service, n_ip_families),
    CARRY("spec.ipFamilyPolicy", tt_service, ip_family_policy),
    CARRY("spec.clusterIPs", tt_service, cluster_ips),
    CARRY("spec.clusterIPs", tt_service, n_cluster_ips),
    CARRY("spec.allocateLoadBalancerNodePorts", tt_service, allocate_node_ports),
    CARRY("spec.publishNotReadyAddresses", tt_service, publish_not_ready),
    CARRY("spec.trafficDistribution", tt_service, traffic_distribution),
    CARRY("spec.externalName", tt_service, external_name),
    CARRY("spec.selector", tt_service, selector),
    CARRY("spec.selector", tt_service, n_selector),
    CARRY("status.loadBalancer.ingress", tt_service, ingress),
    CARRY("status.loadBalancer.ingress", tt_service, n_ingress),
    CARRY("status.conditions", tt_service, conditions),
    CARRY("status.conditions", tt_service, n_conditions),
};

static void service_pack(struct pack *p, struct kube_object *o, const void *arg)
{
    const struct raw_service *raw = arg;
    struct tt_service *s = PACK_ARRAY(p, struct tt_service, 1);
    o->service = s;
    pack_service_meta(p, o, s, &raw->meta);
    pack_service_spec(p, s, &raw->spec);
    s->ingress = pack_ingress(p, raw->status.lb.ingress, raw->status.lb.n_ingress);
    s->n_ingress = (uint32_t)raw->status.lb.n_ingress;
    s->conditions = pack_conditions(p, raw->status.conditions, raw->status.n_conditions, false);
    s->n_conditions = (uint32_t)raw->status.n_conditions;
    s->flags = p->lost != NULL ? TT_SERVICE_UNREADABLE : 0;
    pack_carry(p, carries, ARRAY_LEN(carries), s, o->base == NULL ? NULL : o->base->service);
}

const struct kube_kind_ops kube_service_ops = {
    .resource = "services",
    .path = "/api/v1/services",
    .name = "Service",
    .word = "service",
    .namespaced = true,
    .members = members,
    .fields = service_fields,
    .raw_size = sizeof(struct raw_service),
    .finish = service_finish,
    .pack = service_pack,
};
