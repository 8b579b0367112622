/* SPDX-License-Identifier: Apache-2.0 */
/* object_slice.c: an EndpointSlice's JSON into struct tt_slice.
 *
 * Fields: controller.md §5.4.  An endpoint counts as ready and serving unless it says otherwise;
 * one without an address is left out, because nothing could be done with it.  Called
 * by object.c only; pure. */
#include <string.h>

#include "controller/kube/store/object_internal.h"

#define SERVICE_LABEL "kubernetes.io/service-name"

struct raw_conditions {
    bool ready;
    bool has_ready;
    bool serving;
    bool has_serving;
    bool terminating;
};
struct raw_target {
    const char *kind;
    const char *ns;
    const char *name;
    const char *uid;
};
struct raw_topology {
    const char *hostname;
};
struct raw_endpoint {
    const char **addresses;
    size_t n_addresses;
    const char *node_name;
    struct raw_topology topology;
    const char *zone;
    struct raw_conditions conditions;
    struct raw_target target;
};
struct raw_endpoint_port {
    const char *name;
    const char *protocol;
    const char *app_protocol;
    int32_t port;
    bool has_port;
};
struct raw_slice {
    struct raw_meta meta;
    const char *address_type;
    struct raw_endpoint *endpoints;
    size_t n_endpoints;
    struct raw_endpoint_port *ports;
    size_t n_ports;
};

static const struct json_field condition_fields[] = {
    {.name = "ready",
     .type = JSON_T_BOOL,
     .offset = offsetof(struct raw_conditions, ready),
     .has_offset = offsetof(struct raw_conditions, has_ready)},
    {.name = "serving",
     .type = JSON_T_BOOL,
     .offset = offsetof(struct raw_conditions, serving),
     .has_offset = offsetof(struct raw_conditions, has_serving)},
    ROW_BOOL(raw_conditions, "terminating", terminating),
    {0},
};
static const struct json_field target_fields[] = {
    ROW_STR(raw_target, "kind", kind),
    ROW_STR(raw_target, "namespace", ns),
    ROW_STR(raw_target, "name", name),
    ROW_STR(raw_target, "uid", uid),
    {0},
};
static const struct json_field topology_fields[] = {
    ROW_STR(raw_topology, "kubernetes.io/hostname", hostname),
    {0},
};
static const struct json_field endpoint_fields[] = {
    {.name = "addresses",
     .type = JSON_T_STRS,
     .offset = offsetof(struct raw_endpoint, addresses),
     .count_offset = offsetof(struct raw_endpoint, n_addresses)},
    ROW_STR(raw_endpoint, "nodeName", node_name),
    ROW_STR(raw_endpoint, "zone", zone),
    ROW_OBJECT(raw_endpoint, "deprecatedTopology", topology, topology_fields),
    ROW_OBJECT(raw_endpoint, "conditions", conditions, condition_fields),
    ROW_OBJECT(raw_endpoint, "targetRef", target, target_fields),
    {0},
};
static const struct json_field port_fields[] = {
    ROW_STR(raw_endpoint_port, "name", name),
    ROW_STR(raw_endpoint_port, "protocol", protocol),
    ROW_STR(raw_endpoint_port, "appProtocol", app_protocol),
    {.name = "port",
     .type = JSON_T_I32,
     .offset = offsetof(struct raw_endpoint_port, port),
     .has_offset = offsetof(struct raw_endpoint_port, has_port),
     .min = 0,
     .max = 65535},
    {0},
};
static const struct json_field slice_fields[] = {
    ROW_OBJECT(raw_slice, "metadata", meta, raw_meta_fields),
    ROW_STR(raw_slice, "addressType", address_type),
    ROW_OBJECTS(raw_slice, "endpoints", endpoints, endpoint_fields, raw_endpoint),
    ROW_OBJECTS(raw_slice, "ports", ports, port_fields, raw_endpoint_port),
    {0},
};

static const char *const members[] = {
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "metadata.resourceVersion",
    "metadata.creationTimestamp",
    "metadata.deletionTimestamp",
    "metadata.labels",
    "addressType",
    "endpoints.addresses",
    "endpoints.nodeName",
    "endpoints.zone",
    "endpoints.deprecatedTopology",
    "endpoints.conditions",
    "endpoints.targetRef",
    "ports",
    NULL,
};

static int slice_finish(struct arena *a, void *raw, struct raw_lost *lost, struct err *err)
{
    (void)a, (void)raw, (void)lost, (void)err;
    return ERR_OK; /* the tables say all */
}

static uint32_t endpoint_flags(const struct raw_conditions *c)
{
    uint32_t flags = 0;
    flags |= !c->has_ready || c->ready ? TT_ENDPOINT_READY : 0;
    flags |= !c->has_serving || c->serving ? TT_ENDPOINT_SERVING : 0;
    flags |= c->terminating ? TT_ENDPOINT_TERMINATING : 0;
    return flags;
}

static void pack_endpoint(struct pack *p, struct tt_endpoint *out, const struct raw_endpoint *in)
{
    out->address = pack_text(p, in->addresses[0]);
    /* Slices that are older than nodeName have it among their topology (gce-l4.md §3.2). */
    bool older = str_is_empty(in->node_name) && in->topology.hostname != NULL;
    out->node_name = pack_text(p, older ? in->topology.hostname : in->node_name);
    out->zone = pack_word(p, in->zone);
    out->target_kind = pack_word(p, in->target.kind);
    out->target_ns = pack_text(p, in->target.ns);
    out->target_name = pack_text(p, in->target.name);
    out->target_uid = pack_text(p, in->target.uid);
    out->flags = endpoint_flags(&in->conditions);
}

static void pack_endpoints(struct pack *p, struct tt_slice *s, const struct raw_slice *raw)
{
    size_t n = 0;
    for (size_t i = 0; i < raw->n_endpoints; i++) {
        n += raw->endpoints[i].n_addresses > 0;
    }
    struct tt_endpoint *out = PACK_ARRAY(p, struct tt_endpoint, n);
    s->endpoints = out;
    s->n_endpoints = (uint32_t)n;
    for (size_t i = 0; i < raw->n_endpoints; i++) {
        if (raw->endpoints[i].n_addresses > 0) {
            pack_endpoint(p, out++, &raw->endpoints[i]);
        }
    }
}

static void pack_ports(struct pack *p, struct tt_slice *s, const struct raw_slice *raw)
{
    struct tt_endpoint_port *out = PACK_ARRAY(p, struct tt_endpoint_port, raw->n_ports);
    s->ports = out;
    s->n_ports = (uint32_t)raw->n_ports;
    for (size_t i = 0; i < raw->n_ports; i++) {
        const struct raw_endpoint_port *in = &raw->ports[i];
        out[i].name = pack_text(p, str_nonnull(in->name));
        out[i].protocol = pack_word(p, str_or(in->protocol, "TCP"));
        out[i].app_protocol = pack_text(p, in->app_protocol);
        out[i].port = in->has_port ? in->port : -1;
    }
}

static const char *service_of(const struct raw_meta *m)
{
    for (size_t i = 0; i < m->n_labels; i++) {
        if (strcmp(m->labels[i].key, SERVICE_LABEL) == 0) {
            return m->labels[i].value;
        }
    }
    return "";
}

static const struct raw_carry carries[] = {
    CARRY("metadata.labels", tt_slice, service),
    CARRY("addressType", tt_slice, address_type),
    CARRY("endpoints", tt_slice, endpoints),
    CARRY("endpoints", tt_slice, n_endpoints),
    CARRY("ports", tt_slice, ports),
    CARRY("ports", tt_slice, n_ports),
};

static void slice_pack(struct pack *p, struct kube_object *o, const void *arg)
{
    const struct raw_slice *raw = arg;
    struct tt_slice *s = PACK_ARRAY(p, struct tt_slice, 1);
    o->slice = s;
    s->size = sizeof *s;
    s->ns = pack_text(p, raw->meta.ns);
    s->name = kube_object_name_in_key(o);
    s->uid = o->uid;
    s->service = pack_text(p, service_of(&raw->meta));
    s->address_type = pack_word(p, str_nonnull(raw->address_type));
    pack_endpoints(p, s, raw);
    pack_ports(p, s, raw);
    pack_carry(p, carries, ARRAY_LEN(carries), s, o->base == NULL ? NULL : o->base->slice);
}

const struct kube_kind_ops kube_slice_ops = {
    .resource = "endpointslices",
    .path = "/apis/discovery.k8s.io/v1/endpointslices",
    .name = "EndpointSlice",
    .word = "endpointslice",
    .namespaced = true,
    .members = members,
    .fields = slice_fields,
    .raw_size = sizeof(struct raw_slice),
    .finish = slice_finish,
    .pack = slice_pack,
};
