/* SPDX-License-Identifier: Apache-2.0 */
/* pod.c: one pod behind a Service; see pod.h. */
#include "common/services/slices/pod.h"

#include "common/base/ip.h"
#include "common/base/str.h"

bool ks_pod_counts(const struct ks_pod *pod, bool terminating)
{
    if (str_eq(pod->phase, "Succeeded") || str_eq(pod->phase, "Failed")) {
        return false;
    }
    if (str_is_empty(pod->pod_ip) && pod->n_pod_ips == 0) {
        return false;
    }
    return terminating || pod->meta.deletion_timestamp == NULL;
}

bool ks_service_selects(const struct ks_service *service, const struct json_kv *labels,
                        size_t n_labels)
{
    for (size_t i = 0; i < service->n_selector; i++) {
        const struct json_kv *want = &service->selector[i];
        const char *value = ks_kv(labels, n_labels, want->key);
        if (value == NULL || !str_eq(value, want->value)) {
            return false;
        }
    }
    return service->has_selector;
}

bool ks_service_is_headless(const struct ks_service *service)
{
    return str_is_empty(service->cluster_ip) || str_eq(service->cluster_ip, "None");
}

bool ks_pod_target(const struct ks_pod *pod, const struct ks_service_port *port, int32_t *ret)
{
    if (port->target_name == NULL) {
        *ret = port->target_port;
        return true;
    }
    for (size_t i = 0; i < pod->n_ports; i++) {
        const struct ks_container_port *p = &pod->ports[i];
        if (str_eq(p->name, port->target_name) && str_eq(p->protocol, port->protocol)) {
            *ret = p->port;
            return true;
        }
    }
    return false;
}

const struct ks_slice_port *ks_pod_ports(struct arena *a, const struct ks_service *service,
                                         const struct ks_pod *pod, size_t *ret_n)
{
    *ret_n = 0;
    if (service->n_ports == 0) {
        return NULL;
    }
    struct ks_slice_port *ports = ARENA_ARRAY(a, struct ks_slice_port, service->n_ports);
    for (size_t i = 0; i < service->n_ports; i++) {
        const struct ks_service_port *from = &service->ports[i];
        int32_t number = 0;
        if (ks_pod_target(pod, from, &number)) {
            ports[(*ret_n)++] = (struct ks_slice_port){.name = from->name,
                                                       .protocol = from->protocol,
                                                       .app_protocol = from->app_protocol,
                                                       .port = number,
                                                       .has_port = true};
        }
    }
    return *ret_n == 0 ? NULL : ports;
}

const char *ks_pod_hostname(const struct ks_service *service, const struct ks_pod *pod)
{
    bool named = !str_is_empty(pod->hostname) && str_eq(pod->subdomain, service->meta.name) &&
                 str_eq(pod->meta.ns, service->meta.ns);
    return named ? pod->hostname : NULL;
}

static void add_addresses(struct arena *a, const struct ks_pod *pod, enum ks_family family,
                          struct ks_slice_endpoint *e)
{
    if (pod->n_pod_ips == 0) {
        return;
    }
    const char **addresses = ARENA_ARRAY(a, const char *, pod->n_pod_ips);
    for (size_t i = 0; i < pod->n_pod_ips; i++) {
        struct ip_addr ip;
        char text[IP_TEXT_MAX];
        if (ip_parse_sloppy(pod->pod_ips[i], &ip) && (ip.len == 4) == (family == KS_IPV4)) {
            ip_format(&ip, text);
            addresses[e->n_addresses++] = arena_strdup(a, text);
        }
    }
    e->addresses = e->n_addresses == 0 ? NULL : addresses;
}

static enum ks_tri tri(bool value)
{
    return value ? KS_TRUE : KS_FALSE;
}

struct ks_slice_endpoint ks_pod_endpoint(struct arena *a, const struct ks_service *service,
                                         const struct ks_pod *pod, const struct ks_node *node,
                                         enum ks_family family)
{
    bool terminating = pod->meta.deletion_timestamp != NULL;
    struct ks_ref *ref = ARENA_NEW(a, struct ks_ref);
    *ref = (struct ks_ref){.kind = "Pod",
                           .ns = pod->meta.ns,
                           .name = pod->meta.name,
                           .uid = pod->meta.uid,
                           .resource_version = ""};
    struct ks_slice_endpoint e = {
        .ready = tri(service->publish_not_ready || (pod->ready && !terminating)),
        .serving = tri(pod->ready),
        .terminating = tri(terminating),
        .hostname = ks_pod_hostname(service, pod),
        .node_name = str_is_empty(pod->node_name) ? NULL : pod->node_name,
        .zone = node == NULL || str_is_empty(node->zone) ? NULL : node->zone,
        .ref = ref,
    };
    add_addresses(a, pod, family, &e);
    return e;
}
