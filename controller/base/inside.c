/* SPDX-License-Identifier: Apache-2.0 */
/* inside.c: see inside.h. */
#include "controller/base/inside.h"

#include "common/base/str.h"
#include "common/lb/node_rules.h"

#define ZONE_LABEL "topology.kubernetes.io/zone"

/* ---- a Service ------------------------------------------------------------------------------- */

static const struct ks_service_port *ports_of(struct arena *a, const struct tt_service *svc)
{
    struct ks_service_port *ports = ARENA_ARRAY(a, struct ks_service_port, svc->n_ports);
    for (uint32_t i = 0; i < svc->n_ports; i++) {
        const struct tt_port *p = &svc->ports[i];
        ports[i] = (struct ks_service_port){.name = str_nonnull(p->name),
                                            .protocol = str_or(p->protocol, "TCP"),
                                            .app_protocol = p->app_protocol,
                                            .target_name = p->target_name,
                                            .port = p->port,
                                            .target_port = p->target_port,
                                            .node_port = p->node_port};
    }
    return ports;
}

static const struct json_kv *map_of(struct arena *a, const struct tt_kv *kvs, uint32_t n)
{
    struct json_kv *out = ARENA_ARRAY(a, struct json_kv, n);
    for (uint32_t i = 0; i < n; i++) {
        out[i] = (struct json_kv){kvs[i].key, kvs[i].value};
    }
    return out;
}

static const char **texts_of(struct arena *a, const char *const *texts, uint32_t n)
{
    const char **out = ARENA_ARRAY(a, const char *, n);
    for (uint32_t i = 0; i < n; i++) {
        out[i] = texts[i];
    }
    return out;
}

const struct ks_service *inside_service(struct arena *a, const struct tt_service *svc)
{
    struct ks_service *s = ARENA_NEW(a, struct ks_service);
    *s = (struct ks_service){
        .meta = {.ns = svc->ns,
                 .name = svc->name,
                 .generate_name = "",
                 .uid = str_nonnull(svc->uid),
                 .resource_version = "",
                 .annotations = map_of(a, svc->annotations, svc->n_annotations),
                 .n_annotations = svc->n_annotations},
        .type = svc->type,
        .cluster_ip = svc->n_cluster_ips > 0 ? svc->cluster_ips[0] : "",
        .cluster_ips = texts_of(a, svc->cluster_ips, svc->n_cluster_ips),
        .n_cluster_ips = svc->n_cluster_ips,
        .ip_families = texts_of(a, svc->ip_families, svc->n_ip_families),
        .n_ip_families = svc->n_ip_families,
        .selector = map_of(a, svc->selector, svc->n_selector),
        .n_selector = svc->n_selector,
        .has_selector = svc->n_selector > 0,
        .ports = ports_of(a, svc),
        .n_ports = svc->n_ports,
        .session_affinity = str_nonnull(svc->session_affinity),
        .external_policy = str_nonnull(svc->external_traffic_policy),
        .internal_policy = str_nonnull(svc->internal_traffic_policy),
        .distribution = svc->traffic_distribution,
        .health_check_node_port = svc->health_check_node_port,
        .publish_not_ready = svc->publish_not_ready != 0,
    };
    return s;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static const char *label_of(const struct tt_node *n, const char *key)
{
    for (uint32_t i = 0; i < n->n_labels; i++) {
        if (str_eq(n->labels[i].key, key)) {
            return n->labels[i].value;
        }
    }
    return NULL;
}

const struct ks_node *const *inside_nodes(struct arena *a, const struct tt_node *const *nodes,
                                          size_t n)
{
    const struct ks_node **list = ARENA_ARRAY(a, const struct ks_node *, n);
    struct ks_node *all = ARENA_ARRAY(a, struct ks_node, n);
    for (size_t i = 0; i < n; i++) {
        all[i] = (struct ks_node){
            .meta = {.ns = "",
                     .name = nodes[i]->name,
                     .generate_name = "",
                     .uid = "",
                     .resource_version = ""},
            .zone = str_nonnull(label_of(nodes[i], ZONE_LABEL)),
            .cpu = "",
            .ready = (nodes[i]->flags & TT_NODE_READY) != 0,
            .control_plane = label_of(nodes[i], "node-role.kubernetes.io/control-plane") != NULL ||
                             label_of(nodes[i], "node-role.kubernetes.io/master") != NULL,
            .to_be_deleted = (nodes[i]->flags & TT_NODE_TAINTED) != 0};
        list[i] = &all[i];
    }
    return list;
}

struct ks_backend *inside_backends(struct arena *a, const struct tt_node *const *nodes, size_t n)
{
    struct ks_backend *all = ARENA_ARRAY(a, struct ks_backend, n);
    for (size_t i = 0; i < n; i++) {
        all[i] = (struct ks_backend){.node = nodes[i]->name,
                                     .left_out = node_left_out_because(a, nodes[i])};
    }
    return all;
}

/* ---- slices ---------------------------------------------------------------------------------- */

static enum ks_tri flag_of(const struct tt_endpoint *e, uint32_t flag)
{
    return (e->flags & flag) != 0 ? KS_TRUE : KS_FALSE;
}

static const struct ks_slice_endpoint *endpoints_of(struct arena *a, const struct tt_slice *s)
{
    struct ks_slice_endpoint *all = ARENA_ARRAY(a, struct ks_slice_endpoint, s->n_endpoints);
    const char **addresses = ARENA_ARRAY(a, const char *, s->n_endpoints);
    struct ks_ref *refs = ARENA_ARRAY(a, struct ks_ref, s->n_endpoints);
    for (uint32_t i = 0; i < s->n_endpoints; i++) {
        const struct tt_endpoint *e = &s->endpoints[i];
        addresses[i] = e->address;
        refs[i] = (struct ks_ref){.kind = str_nonnull(e->target_kind),
                                  .ns = str_nonnull(e->target_ns),
                                  .name = str_nonnull(e->target_name),
                                  .uid = str_nonnull(e->target_uid),
                                  .resource_version = ""};
        all[i] = (struct ks_slice_endpoint){.addresses = &addresses[i],
                                            .n_addresses = 1,
                                            .ready = flag_of(e, TT_ENDPOINT_READY),
                                            .serving = flag_of(e, TT_ENDPOINT_SERVING),
                                            .terminating = flag_of(e, TT_ENDPOINT_TERMINATING),
                                            .node_name = e->node_name,
                                            .zone = e->zone,
                                            .ref = e->target_name == NULL ? NULL : &refs[i]};
    }
    return all;
}

static const struct ks_slice_port *slice_ports_of(struct arena *a, const struct tt_slice *s)
{
    struct ks_slice_port *ports = ARENA_ARRAY(a, struct ks_slice_port, s->n_ports);
    for (uint32_t i = 0; i < s->n_ports; i++) {
        const struct tt_endpoint_port *p = &s->ports[i];
        ports[i] = (struct ks_slice_port){.name = str_nonnull(p->name),
                                          .protocol = p->protocol,
                                          .app_protocol = p->app_protocol,
                                          .port = p->port < 0 ? 0 : p->port,
                                          .has_port = p->port >= 0};
    }
    return ports;
}

const struct ks_slice *const *inside_slices(struct arena *a, const struct tt_slice *const *slices,
                                            size_t n)
{
    const struct ks_slice **list = ARENA_ARRAY(a, const struct ks_slice *, n);
    struct ks_slice *all = ARENA_ARRAY(a, struct ks_slice, n);
    for (size_t i = 0; i < n; i++) {
        const struct tt_slice *s = slices[i];
        struct json_kv *label = ARENA_NEW(a, struct json_kv);
        *label = (struct json_kv){"kubernetes.io/service-name", s->service};
        all[i] = (struct ks_slice){.meta = {.ns = s->ns,
                                            .name = s->name,
                                            .generate_name = "",
                                            .uid = str_nonnull(s->uid),
                                            .resource_version = "",
                                            .labels = label,
                                            .n_labels = 1,
                                            .has_labels = true},
                                   .address_type = s->address_type,
                                   .endpoints = endpoints_of(a, s),
                                   .n_endpoints = s->n_endpoints,
                                   .ports = slice_ports_of(a, s),
                                   .n_ports = s->n_ports,
                                   .has_ports = s->n_ports > 0};
        list[i] = &all[i];
    }
    return list;
}
