/* SPDX-License-Identifier: Apache-2.0 */
/* columns.c: the cells of Tables: what kubectl's users see of Services, Nodes, Events and the rest.
 *
 * Pure: a cell is a function of the object and the current time.  Source: the printed columns of
 * kube-apiserver 1.36 (recorded answer 061). */
#include "sim/kube/columns.h"

#include "common/base/clock.h"
#include "common/base/str.h"
#include "common/data/json.h"
#include "sim/kube/rules/rules.h"

#include <string.h>

#define NAME_TEXT "Name of the object, unique within its namespace."
#define AGE_TEXT  "Time since the object was created."

/* --- shared ----------------------------------------------------------------------------------- */
static const char *meta_str(struct json_object *o, const char *name)
{
    return json_str(json_member(o, "metadata"), name);
}

const char *kube_cell_name(struct arena *a, struct json_object *o, int64_t now_s)
{
    (void)a;
    (void)now_s;
    return meta_str(o, "name");
}

/* kubectl's way of shortening: two units up to some size, one beyond. */
static const char *age_text(struct arena *a, const char *since, int64_t now_s)
{
    int64_t wall_us = 0;
    if (!since || !time_parse_rfc3339(since, &wall_us)) {
        return "<unknown>";
    }
    int64_t s = now_s - wall_us / 1000000;
    s = s < 0 ? 0 : s;
    int64_t m = s / 60, h = s / 3600, d = s / 86400;
    if (s < 120) {
        return arena_printf(a, "%llds", (long long)s);
    }
    if (m < 10) {
        return s % 60 ? arena_printf(a, "%lldm%llds", (long long)m, (long long)(s % 60))
                      : arena_printf(a, "%lldm", (long long)m);
    }
    if (m < 180) {
        return arena_printf(a, "%lldm", (long long)m);
    }
    if (h < 8) {
        return m % 60 ? arena_printf(a, "%lldh%lldm", (long long)h, (long long)(m % 60))
                      : arena_printf(a, "%lldh", (long long)h);
    }
    if (h < 48) {
        return arena_printf(a, "%lldh", (long long)h);
    }
    if (d < 8 && h % 24) {
        return arena_printf(a, "%lldd%lldh", (long long)d, (long long)(h % 24));
    }
    return arena_printf(a, "%lldd", (long long)d);
}

const char *kube_cell_age(struct arena *a, struct json_object *o, int64_t now_s)
{
    return age_text(a, meta_str(o, "creationTimestamp"), now_s);
}

static const char *path_text(struct json_object *o, const char *path)
{
    struct json_object *v = json_path(o, path);
    return v ? json_object_get_string(v) : NULL;
}

const struct kube_column kube_columns_default[] = {
    {"Name", "string", "name", 0, NAME_TEXT, kube_cell_name},
    {"Age", "string", "", 0, AGE_TEXT, kube_cell_age},
    {0},
};

/* --- Service ---------------------------------------------------------------------------------- */
static const char *service_type(struct arena *a, struct json_object *o, int64_t now_s)
{
    (void)a;
    (void)now_s;
    return path_text(o, "spec.type");
}

static const char *service_cluster_ip(struct arena *a, struct json_object *o, int64_t now_s)
{
    (void)a;
    (void)now_s;
    return path_text(o, "spec.clusterIP");
}

static const char *service_external_ip(struct arena *a, struct json_object *o, int64_t now_s)
{
    (void)now_s;
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    const char *type = str_nonnull(path_text(o, "spec.type"));
    struct json_object *fixed = json_path(o, "spec.externalIPs");
    if (str_eq(type, "ExternalName")) {
        return path_text(o, "spec.externalName");
    }
    if (str_eq(type, "LoadBalancer")) {
        struct json_object *ingress = json_path(o, "status.loadBalancer.ingress");
        for (size_t i = 0; i < json_len(ingress); i++) {
            struct json_object *one = json_object_array_get_idx(ingress, i);
            const char *ip = json_str(one, "ip");
            str_appendf(&b, "%s%s", b.len ? "," : "",
                        str_nonnull(str_is_empty(ip) ? json_str(one, "hostname") : ip));
        }
    }
    for (size_t i = 0; i < json_len(fixed); i++) {
        str_appendf(&b, "%s%s", b.len ? "," : "", kube_item(fixed, i));
    }
    if (b.len == 0) {
        return str_eq(type, "LoadBalancer") ? "<pending>" : "<none>";
    }
    return str_buf_to_arena(&b, a);
}

static const char *service_ports(struct arena *a, struct json_object *o, int64_t now_s)
{
    (void)now_s;
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    struct json_object *ports = json_path(o, "spec.ports");
    for (size_t i = 0; i < json_len(ports); i++) {
        struct json_object *p = json_object_array_get_idx(ports, i);
        int64_t node_port = json_int(p, "nodePort", 0);
        str_appendf(&b, "%s%lld", i > 0 ? "," : "", (long long)json_int(p, "port", 0));
        if (node_port) {
            str_appendf(&b, ":%lld", (long long)node_port);
        }
        str_appendf(&b, "/%s", str_nonnull(json_str(p, "protocol")));
    }
    return b.len ? str_buf_to_arena(&b, a) : "<none>";
}

static const char *service_selector(struct arena *a, struct json_object *o, int64_t now_s)
{
    (void)now_s;
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    struct json_object *selector = json_path(o, "spec.selector");
    if (!selector) {
        return NULL;
    }
    json_object_object_foreach(selector, key, value)
    {
        str_appendf(&b, "%s%s=%s", b.len ? "," : "", key, json_object_get_string(value));
    }
    return str_buf_to_arena(&b, a);
}

const struct kube_column kube_columns_service[] = {
    {"Name", "string", "name", 0, NAME_TEXT, kube_cell_name},
    {"Type", "string", "", 0, "How the Service is exposed.", service_type},
    {"Cluster-IP", "string", "", 0, "Address inside the cluster.", service_cluster_ip},
    {"External-IP", "string", "", 0, "Addresses outside of the cluster.", service_external_ip},
    {"Port(s)", "string", "", 0, "Ports, their node ports and protocols.", service_ports},
    {"Age", "string", "", 0, AGE_TEXT, kube_cell_age},
    {"Selector", "string", "", 1, "Labels of the pods that serve.", service_selector},
    {0},
};

/* --- Node ------------------------------------------------------------------------------------- */
static const char *node_status(struct arena *a, struct json_object *o, int64_t now_s)
{
    (void)now_s;
    const char *word = "Unknown";
    struct json_object *conditions = json_path(o, "status.conditions");
    for (size_t i = 0; i < json_len(conditions); i++) {
        struct json_object *c = json_object_array_get_idx(conditions, i);
        if (str_eq(json_str(c, "type"), "Ready")) {
            word = str_eq(json_str(c, "status"), "True") ? "Ready" : "NotReady";
        }
    }
    bool closed = json_bool(json_member(o, "spec"), "unschedulable", false);
    return arena_printf(a, "%s%s", word, closed ? ",SchedulingDisabled" : "");
}

static const char *node_roles(struct arena *a, struct json_object *o, int64_t now_s)
{
    (void)now_s;
    static const char prefix[] = "node-role.kubernetes.io/";
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    struct json_object *labels = json_path(o, "metadata.labels");
    if (!labels) {
        return "<none>";
    }
    json_object_object_foreach(labels, key, value)
    {
        (void)value;
        if (str_has_prefix(key, prefix)) {
            str_appendf(&b, "%s%s", b.len ? "," : "", key + strlen(prefix));
        }
    }
    return b.len ? str_buf_to_arena(&b, a) : "<none>";
}

static const char *node_address(struct json_object *o, const char *type)
{
    struct json_object *list = json_path(o, "status.addresses");
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *one = json_object_array_get_idx(list, i);
        if (str_eq(json_str(one, "type"), type)) {
            return json_str(one, "address");
        }
    }
    return "<none>";
}

static const char *node_version(struct arena *a, struct json_object *o, int64_t now_s)
{
    (void)a;
    (void)now_s;
    return path_text(o, "status.nodeInfo.kubeletVersion");
}

static const char *node_internal_ip(struct arena *a, struct json_object *o, int64_t now_s)
{
    (void)a;
    (void)now_s;
    return node_address(o, "InternalIP");
}

static const char *node_external_ip(struct arena *a, struct json_object *o, int64_t now_s)
{
    (void)a;
    (void)now_s;
    return node_address(o, "ExternalIP");
}

static const char *node_os(struct arena *a, struct json_object *o, int64_t now_s)
{
    (void)a;
    (void)now_s;
    return path_text(o, "status.nodeInfo.osImage");
}

static const char *node_kernel(struct arena *a, struct json_object *o, int64_t now_s)
{
    (void)a;
    (void)now_s;
    return path_text(o, "status.nodeInfo.kernelVersion");
}

static const char *node_runtime(struct arena *a, struct json_object *o, int64_t now_s)
{
    (void)a;
    (void)now_s;
    return path_text(o, "status.nodeInfo.containerRuntimeVersion");
}

const struct kube_column kube_columns_node[] = {
    {"Name", "string", "name", 0, NAME_TEXT, kube_cell_name},
    {"Status", "string", "", 0, "Whether the node is ready.", node_status},
    {"Roles", "string", "", 0, "Roles from the node's labels.", node_roles},
    {"Age", "string", "", 0, AGE_TEXT, kube_cell_age},
    {"Version", "string", "", 0, "Version of the kubelet.", node_version},
    {"Internal-IP", "string", "", 1, "Address inside the network.", node_internal_ip},
    {"External-IP", "string", "", 1, "Address outside of the network.", node_external_ip},
    {"OS-Image", "string", "", 1, "Operating system.", node_os},
    {"Kernel-Version", "string", "", 1, "Version of the kernel.", node_kernel},
    {"Container-Runtime", "string", "", 1, "Container runtime and version.", node_runtime},
    {0},
};

/* --- the rest --------------------------------------------------------------------------------- */
static const char *namespace_status(struct arena *a, struct json_object *o, int64_t now_s)
{
    (void)a;
    (void)now_s;
    return path_text(o, "status.phase");
}

const struct kube_column kube_columns_namespace[] = {
    {"Name", "string", "name", 0, NAME_TEXT, kube_cell_name},
    {"Status", "string", "", 0, "Phase of the namespace.", namespace_status},
    {"Age", "string", "", 0, AGE_TEXT, kube_cell_age},
    {0},
};

/* Events come in two shapes. */
static const char *either(struct json_object *o, const char *core, const char *newer)
{
    const char *v = path_text(o, core);
    return v ? v : path_text(o, newer);
}

static const char *event_last_seen(struct arena *a, struct json_object *o, int64_t now_s)
{
    const char *t = either(o, "lastTimestamp", "deprecatedLastTimestamp");
    return age_text(a, t ? t : path_text(o, "eventTime"), now_s);
}

static const char *event_type(struct arena *a, struct json_object *o, int64_t now_s)
{
    (void)a;
    (void)now_s;
    return json_str(o, "type");
}

static const char *event_reason(struct arena *a, struct json_object *o, int64_t now_s)
{
    (void)a;
    (void)now_s;
    return json_str(o, "reason");
}

static const char *event_object(struct arena *a, struct json_object *o, int64_t now_s)
{
    (void)now_s;
    const char *kind = str_nonnull(either(o, "involvedObject.kind", "regarding.kind"));
    const char *name = str_nonnull(either(o, "involvedObject.name", "regarding.name"));
    return arena_printf(a, "%s/%s", str_lower(a, kind), name);
}

static const char *event_message(struct arena *a, struct json_object *o, int64_t now_s)
{
    (void)now_s;
    const char *text = either(o, "message", "note");
    return text ? str_trim(a, text) : "";
}

static const char *event_source(struct arena *a, struct json_object *o, int64_t now_s)
{
    (void)a;
    (void)now_s;
    const char *component = either(o, "source.component", "deprecatedSource.component");
    return component ? component
                     : str_nonnull(either(o, "reportingComponent", "reportingController"));
}

static const char *event_count(struct arena *a, struct json_object *o, int64_t now_s)
{
    (void)a;
    (void)now_s;
    const char *n = either(o, "count", "deprecatedCount");
    return n ? n : "1";
}

const struct kube_column kube_columns_event[] = {
    {"Last Seen", "string", "", 0, "Time since it last happened.", event_last_seen},
    {"Type", "string", "", 0, "Normal or Warning.", event_type},
    {"Reason", "string", "", 0, "Why, in one word.", event_reason},
    {"Object", "string", "", 0, "What it is about.", event_object},
    {"Source", "string", "", 1, "Who reports it.", event_source},
    {"Message", "string", "", 0, "What happened.", event_message},
    {"Count", "string", "", 1, "How often.", event_count},
    {"Name", "string", "name", 1, NAME_TEXT, kube_cell_name},
    {0},
};

static const char *lease_holder(struct arena *a, struct json_object *o, int64_t now_s)
{
    (void)a;
    (void)now_s;
    return str_nonnull(path_text(o, "spec.holderIdentity"));
}

const struct kube_column kube_columns_lease[] = {
    {"Name", "string", "name", 0, NAME_TEXT, kube_cell_name},
    {"Holder", "string", "", 0, "Who holds the lease.", lease_holder},
    {"Age", "string", "", 0, AGE_TEXT, kube_cell_age},
    {0},
};

static const char *slice_type(struct arena *a, struct json_object *o, int64_t now_s)
{
    (void)a;
    (void)now_s;
    return json_str(o, "addressType");
}

static const char *slice_ports(struct arena *a, struct json_object *o, int64_t now_s)
{
    (void)now_s;
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    struct json_object *ports = json_member(o, "ports");
    for (size_t i = 0; i < json_len(ports); i++) {
        struct json_object *p = json_object_array_get_idx(ports, i);
        str_appendf(&b, "%s%lld", i > 0 ? "," : "", (long long)json_int(p, "port", 0));
    }
    return b.len ? str_buf_to_arena(&b, a) : "<unset>";
}

static const char *slice_endpoints(struct arena *a, struct json_object *o, int64_t now_s)
{
    (void)now_s;
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    struct json_object *endpoints = json_member(o, "endpoints");
    size_t n = json_len(endpoints);
    for (size_t i = 0; i < n && i < 3; i++) {
        struct json_object *addresses =
            json_member(json_object_array_get_idx(endpoints, i), "addresses");
        for (size_t k = 0; k < json_len(addresses); k++) {
            str_appendf(&b, "%s%s", b.len ? "," : "", kube_item(addresses, k));
        }
    }
    if (n > 3) {
        str_appendf(&b, " + %zu more...", n - 3);
    }
    return b.len ? str_buf_to_arena(&b, a) : "<unset>";
}

const struct kube_column kube_columns_endpoint_slice[] = {
    {"Name", "string", "name", 0, NAME_TEXT, kube_cell_name},
    {"AddressType", "string", "", 0, "Family of the addresses.", slice_type},
    {"Ports", "string", "", 0, "Ports of the endpoints.", slice_ports},
    {"Endpoints", "string", "", 0, "The first endpoints.", slice_endpoints},
    {"Age", "string", "", 0, AGE_TEXT, kube_cell_age},
    {0},
};

static const char *data_count(struct arena *a, struct json_object *o, int64_t now_s)
{
    (void)now_s;
    struct json_object *data = json_member(o, "data");
    struct json_object *binary = json_member(o, "binaryData");
    int n = (data ? json_object_object_length(data) : 0) +
            (binary ? json_object_object_length(binary) : 0);
    return arena_printf(a, "%d", n);
}

static const char *secret_type(struct arena *a, struct json_object *o, int64_t now_s)
{
    (void)a;
    (void)now_s;
    return json_str(o, "type");
}

const struct kube_column kube_columns_config_map[] = {
    {"Name", "string", "name", 0, NAME_TEXT, kube_cell_name},
    {"Data", "string", "", 0, "How many entries it holds.", data_count},
    {"Age", "string", "", 0, AGE_TEXT, kube_cell_age},
    {0},
};

const struct kube_column kube_columns_secret[] = {
    {"Name", "string", "name", 0, NAME_TEXT, kube_cell_name},
    {"Type", "string", "", 0, "What the data mean.", secret_type},
    {"Data", "string", "", 0, "How many entries it holds.", data_count},
    {"Age", "string", "", 0, AGE_TEXT, kube_cell_age},
    {0},
};
