/* SPDX-License-Identifier: Apache-2.0 */
/* objects.c: Services, EndpointSlices and Endpoints from JSON; see objects.h.  Pods and Nodes:
 * objects_hosts.c. */
#include "common/services/decode/objects_meta.h"

#include <string.h>

#include "common/base/str.h"

/* ---- metadata and references ----------------------------------------------------------------- */

static const struct json_field owner_fields[] = {
    KS_STR(struct ks_owner, api_version, "apiVersion"),
    KS_STR(struct ks_owner, kind, "kind"),
    KS_STR(struct ks_owner, name, "name"),
    KS_STR(struct ks_owner, uid, "uid"),
    KS_BOOL(struct ks_owner, controller, "controller"),
    KS_BOOL(struct ks_owner, block_owner_deletion, "blockOwnerDeletion"),
    {0},
};
const struct json_field ks_meta_fields[] = {
    KS_STR(struct ks_meta, ns, "namespace"),
    KS_STR(struct ks_meta, name, "name"),
    KS_STR(struct ks_meta, generate_name, "generateName"),
    KS_STR(struct ks_meta, uid, "uid"),
    KS_STR(struct ks_meta, resource_version, "resourceVersion"),
    KS_STR(struct ks_meta, deletion_timestamp, "deletionTimestamp"),
    {.name = "labels",
     .type = JSON_T_MAP,
     .offset = offsetof(struct ks_meta, labels),
     .count_offset = offsetof(struct ks_meta, n_labels),
     .has_offset = offsetof(struct ks_meta, has_labels)},
    {.name = "annotations",
     .type = JSON_T_MAP,
     .offset = offsetof(struct ks_meta, annotations),
     .count_offset = offsetof(struct ks_meta, n_annotations),
     .has_offset = offsetof(struct ks_meta, has_annotations)},
    KS_LIST(struct ks_meta, owners, n_owners, "ownerReferences", owner_fields, struct ks_owner),
    {0},
};
const struct ks_meta ks_meta_empty = {
    .ns = "", .name = "", .generate_name = "", .uid = "", .resource_version = ""};

const struct json_field ks_ref_fields[] = {
    KS_STR(struct ks_ref, kind, "kind"),
    KS_STR(struct ks_ref, ns, "namespace"),
    KS_STR(struct ks_ref, name, "name"),
    KS_STR(struct ks_ref, uid, "uid"),
    KS_STR(struct ks_ref, resource_version, "resourceVersion"),
    {0},
};
const struct ks_ref ks_ref_empty = {
    .kind = "", .ns = "", .name = "", .uid = "", .resource_version = ""};

void ks_fill(const char **text)
{
    *text = str_nonnull(*text);
}

void ks_meta_filled(struct ks_meta *m)
{
    struct ks_owner *owners = (struct ks_owner *)m->owners; /* just made, by the table */
    for (size_t i = 0; i < m->n_owners; i++) {
        ks_fill(&owners[i].api_version);
        ks_fill(&owners[i].kind);
        ks_fill(&owners[i].name);
        ks_fill(&owners[i].uid);
    }
}

void ks_ref_filled(struct ks_ref *r)
{
    ks_fill(&r->kind);
    ks_fill(&r->ns);
    ks_fill(&r->name);
    ks_fill(&r->uid);
    ks_fill(&r->resource_version);
}

const char *ks_kv(const struct json_kv *kvs, size_t n, const char *key)
{
    size_t low = 0;
    while (low < n) {
        size_t mid = low + (n - low) / 2;
        int order = strcmp(kvs[mid].key, key);
        if (order == 0) {
            return kvs[mid].value;
        }
        low = order < 0 ? mid + 1 : low;
        n = order < 0 ? n : mid;
    }
    return NULL;
}

/* ---- Services -------------------------------------------------------------------------------- */

/* A port with its targetPort as it was sent: a number or a name. */
struct raw_port {
    struct ks_service_port port;
    struct json_object *target;
};
struct raw_service {
    struct ks_service s;
    struct raw_port *ports;
    size_t n_ports;
};

static const struct json_field service_port_fields[] = {
    KS_STR(struct raw_port, port.name, "name"),
    KS_STR(struct raw_port, port.protocol, "protocol"),
    KS_STR(struct raw_port, port.app_protocol, "appProtocol"),
    KS_PORT(struct raw_port, port.port, "port"),
    KS_PORT(struct raw_port, port.node_port, "nodePort"),
    {.name = "targetPort", .type = JSON_T_RAW, .offset = offsetof(struct raw_port, target)},
    {0},
};
static const struct json_field client_ip_fields[] = {
    {.name = "timeoutSeconds",
     .type = JSON_T_I32,
     .offset = offsetof(struct raw_service, s.affinity_s)},
    {0},
};
static const struct json_field affinity_fields[] = {
    {.name = "clientIP", .type = JSON_T_OBJECT, .sub = client_ip_fields},
    {0},
};
static const struct json_field service_spec_fields[] = {
    KS_STR(struct raw_service, s.type, "type"),
    KS_STR(struct raw_service, s.cluster_ip, "clusterIP"),
    KS_STRS(struct raw_service, s.cluster_ips, s.n_cluster_ips, "clusterIPs"),
    KS_STRS(struct raw_service, s.ip_families, s.n_ip_families, "ipFamilies"),
    {.name = "selector",
     .type = JSON_T_MAP,
     .offset = offsetof(struct raw_service, s.selector),
     .count_offset = offsetof(struct raw_service, s.n_selector),
     .has_offset = offsetof(struct raw_service, s.has_selector)},
    KS_LIST(struct raw_service, ports, n_ports, "ports", service_port_fields, struct raw_port),
    KS_STRS(struct raw_service, s.external_ips, s.n_external_ips, "externalIPs"),
    KS_STRS(struct raw_service, s.source_ranges, s.n_source_ranges, "loadBalancerSourceRanges"),
    KS_STR(struct raw_service, s.session_affinity, "sessionAffinity"),
    {.name = "sessionAffinityConfig", .type = JSON_T_OBJECT, .sub = affinity_fields},
    KS_STR(struct raw_service, s.external_policy, "externalTrafficPolicy"),
    KS_STR(struct raw_service, s.internal_policy, "internalTrafficPolicy"),
    KS_STR(struct raw_service, s.distribution, "trafficDistribution"),
    KS_PORT(struct raw_service, s.health_check_node_port, "healthCheckNodePort"),
    KS_BOOL(struct raw_service, s.publish_not_ready, "publishNotReadyAddresses"),
    {0},
};
static const struct json_field ingress_fields[] = {
    KS_STR(struct ks_ingress, ip, "ip"),
    KS_STR(struct ks_ingress, hostname, "hostname"),
    KS_STR(struct ks_ingress, ip_mode, "ipMode"),
    {0},
};
static const struct json_field balancer_fields[] = {
    KS_LIST(struct raw_service, s.ingress, s.n_ingress, "ingress", ingress_fields,
            struct ks_ingress),
    {0},
};
static const struct json_field service_status_fields[] = {
    {.name = "loadBalancer", .type = JSON_T_OBJECT, .sub = balancer_fields},
    {0},
};
static const struct json_field service_fields[] = {
    KS_SUB(struct raw_service, s.meta, "metadata", ks_meta_fields),
    {.name = "spec", .type = JSON_T_OBJECT, .sub = service_spec_fields},
    {.name = "status", .type = JSON_T_OBJECT, .sub = service_status_fields},
    {0},
};

static int read_target(struct arena *a, const struct raw_port *raw, struct ks_service_port *p,
                       const char *where, struct err *err)
{
    if (raw->target == NULL) {
        p->target_port = p->port;
        return ERR_OK;
    }
    if (json_object_is_type(raw->target, json_type_string)) {
        p->target_name = arena_strdup(a, json_object_get_string(raw->target));
        return ERR_OK;
    }
    int64_t n = json_object_get_int64(raw->target);
    if (!json_object_is_type(raw->target, json_type_int) || n < 0 || n > 65535) {
        return err_set(err, ERR_INVALID,
                       "%s%starget port of port %d: want a name or a number up to 65535", where,
                       *where == '\0' ? "" : ": ", p->port);
    }
    p->target_port = (int32_t)n;
    return ERR_OK;
}

int ks_service_decode(struct arena *a, struct json_object *o, const char *where,
                      const struct ks_service **ret, struct err *err)
{
    struct raw_service raw = {.s = {.meta = ks_meta_empty,
                                    .type = "ClusterIP",
                                    .cluster_ip = "",
                                    .session_affinity = "None",
                                    .external_policy = "",
                                    .internal_policy = ""}};
    int rc = json_decode(a, o, service_fields, &raw, JSON_SKIP_UNKNOWN, where, err);
    if (rc != ERR_OK) {
        return rc;
    }
    ks_meta_filled(&raw.s.meta);
    struct ks_ingress *ingress = (struct ks_ingress *)raw.s.ingress;
    for (size_t i = 0; i < raw.s.n_ingress; i++) {
        ks_fill(&ingress[i].ip);
        ks_fill(&ingress[i].hostname);
        ks_fill(&ingress[i].ip_mode);
    }
    struct ks_service_port *ports = ARENA_ARRAY(a, struct ks_service_port, raw.n_ports);
    for (size_t i = 0; i < raw.n_ports && rc == ERR_OK; i++) {
        ports[i] = raw.ports[i].port;
        ks_fill(&ports[i].name);
        ports[i].protocol = str_is_empty(ports[i].protocol) ? "TCP" : ports[i].protocol;
        rc = read_target(a, &raw.ports[i], &ports[i], where, err);
    }
    raw.s.ports = raw.n_ports == 0 ? NULL : ports;
    raw.s.n_ports = raw.n_ports;
    if (rc == ERR_OK) {
        *ret = arena_memdup(a, &raw.s, sizeof(raw.s));
    }
    return rc;
}

/* ---- EndpointSlices -------------------------------------------------------------------------- */

struct raw_name {
    const char *name;
};
/* An endpoint, and what its table cannot put in place by itself. */
struct raw_endpoint {
    struct ks_slice_endpoint e;
    struct ks_ref ref;
    struct raw_name *zones;
    struct raw_name *nodes;
    size_t n_zones;
    size_t n_nodes;
    bool ready, serving, terminating;
    bool has_ready, has_serving, has_terminating;
    bool has_ref;
};
struct raw_slice {
    struct ks_slice s;
    struct raw_endpoint *endpoints;
    size_t n_endpoints;
};

static const struct json_field name_fields[] = {
    KS_STR(struct raw_name, name, "name"),
    {0},
};
static const struct json_field condition_fields[] = {
    {.name = "ready",
     .type = JSON_T_BOOL,
     .offset = offsetof(struct raw_endpoint, ready),
     .has_offset = offsetof(struct raw_endpoint, has_ready)},
    {.name = "serving",
     .type = JSON_T_BOOL,
     .offset = offsetof(struct raw_endpoint, serving),
     .has_offset = offsetof(struct raw_endpoint, has_serving)},
    {.name = "terminating",
     .type = JSON_T_BOOL,
     .offset = offsetof(struct raw_endpoint, terminating),
     .has_offset = offsetof(struct raw_endpoint, has_terminating)},
    {0},
};
static const struct json_field hints_fields[] = {
    KS_LIST(struct raw_endpoint, zones, n_zones, "forZones", name_fields, struct raw_name),
    KS_LIST(struct raw_endpoint, nodes, n_nodes, "forNodes", name_fields, struct raw_name),
    {0},
};
static const struct json_field endpoint_fields[] = {
    KS_STRS(struct raw_endpoint, e.addresses, e.n_addresses, "addresses"),
    {.name = "conditions", .type = JSON_T_OBJECT, .sub = condition_fields},
    KS_STR(struct raw_endpoint, e.hostname, "hostname"),
    KS_STR(struct raw_endpoint, e.node_name, "nodeName"),
    KS_STR(struct raw_endpoint, e.zone, "zone"),
    {.name = "targetRef",
     .type = JSON_T_OBJECT,
     .offset = offsetof(struct raw_endpoint, ref),
     .has_offset = offsetof(struct raw_endpoint, has_ref),
     .sub = ks_ref_fields},
    {.name = "hints",
     .type = JSON_T_OBJECT,
     .has_offset = offsetof(struct raw_endpoint, e.has_hints),
     .sub = hints_fields},
    {0},
};
static const struct json_field slice_port_fields[] = {
    KS_STR(struct ks_slice_port, name, "name"),
    KS_STR(struct ks_slice_port, protocol, "protocol"),
    KS_STR(struct ks_slice_port, app_protocol, "appProtocol"),
    {.name = "port",
     .type = JSON_T_I32,
     .offset = offsetof(struct ks_slice_port, port),
     .has_offset = offsetof(struct ks_slice_port, has_port),
     .min = 0,
     .max = 65535},
    {0},
};
static const struct json_field slice_fields[] = {
    KS_SUB(struct raw_slice, s.meta, "metadata", ks_meta_fields),
    KS_STR(struct raw_slice, s.address_type, "addressType"),
    {.name = "endpoints",
     .type = JSON_T_OBJECTS,
     .offset = offsetof(struct raw_slice, endpoints),
     .count_offset = offsetof(struct raw_slice, n_endpoints),
     .sub = endpoint_fields,
     .sub_size = sizeof(struct raw_endpoint),
     .max_items = 20000},
    {.name = "ports",
     .type = JSON_T_OBJECTS,
     .offset = offsetof(struct raw_slice, s.ports),
     .count_offset = offsetof(struct raw_slice, s.n_ports),
     .has_offset = offsetof(struct raw_slice, s.has_ports),
     .sub = slice_port_fields,
     .sub_size = sizeof(struct ks_slice_port)},
    {0},
};

static enum ks_tri tri(bool has, bool value)
{
    return !has ? KS_NIL : value ? KS_TRUE : KS_FALSE;
}

static const char **names_of(struct arena *a, const struct raw_name *raw, size_t n)
{
    const char **names = n == 0 ? NULL : ARENA_ARRAY(a, const char *, n);
    for (size_t i = 0; i < n; i++) {
        names[i] = str_nonnull(raw[i].name);
    }
    return names;
}

static struct ks_slice_endpoint endpoint_of(struct arena *a, struct raw_endpoint *raw)
{
    struct ks_slice_endpoint e = raw->e;
    e.ready = tri(raw->has_ready, raw->ready);
    e.serving = tri(raw->has_serving, raw->serving);
    e.terminating = tri(raw->has_terminating, raw->terminating);
    e.zone_hints = names_of(a, raw->zones, raw->n_zones);
    e.n_zone_hints = raw->n_zones;
    e.node_hints = names_of(a, raw->nodes, raw->n_nodes);
    e.n_node_hints = raw->n_nodes;
    if (raw->has_ref) {
        ks_ref_filled(&raw->ref);
        e.ref = arena_memdup(a, &raw->ref, sizeof(raw->ref));
    }
    return e;
}

int ks_slice_decode(struct arena *a, struct json_object *o, const char *where,
                    const struct ks_slice **ret, struct err *err)
{
    struct raw_slice raw = {.s = {.meta = ks_meta_empty, .address_type = ""}};
    int rc = json_decode(a, o, slice_fields, &raw, JSON_SKIP_UNKNOWN, where, err);
    if (rc != ERR_OK) {
        return rc;
    }
    ks_meta_filled(&raw.s.meta);
    struct ks_slice_endpoint *endpoints =
        raw.n_endpoints == 0 ? NULL : ARENA_ARRAY(a, struct ks_slice_endpoint, raw.n_endpoints);
    for (size_t i = 0; i < raw.n_endpoints; i++) {
        endpoints[i] = endpoint_of(a, &raw.endpoints[i]);
    }
    raw.s.endpoints = endpoints;
    raw.s.n_endpoints = raw.n_endpoints;
    *ret = arena_memdup(a, &raw.s, sizeof(raw.s));
    return ERR_OK;
}
