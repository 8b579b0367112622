/* SPDX-License-Identifier: Apache-2.0 */
/* answers.c: see answers.h.
 *
 * Reads each Node, Service and EndpointSlice once into maps by name and by port, so that a probe
 * costs a look-up. */
#include "sim/reach/answers.h"

#include "common/base/ip.h"
#include "common/base/map.h"
#include "common/base/str.h"

#define PROXY_PORT 10256
#define TAINT      "ToBeDeletedByClusterAutoscaler"

/* Endpoints of one port of a Service, in one family. */
struct backing {
    bool ready, draining;               /* some endpoint of the cluster is */
    struct map *ready_on, *draining_on; /* names of nodes */
};
struct service {
    bool is_local;           /* externalTrafficPolicy */
    bool is_told[2];         /* it has EndpointSlices of IPv4, of IPv6: its pods are known */
    bool has_family[2];      /* kube-proxy of IPv4, of IPv6 handles it */
    struct map *ready_on[2]; /* by family: nodes with a ready endpoint, over all ports */
    struct map *ports;       /* "NAME/PROTOCOL FAMILY" → struct backing */
};
struct node_port {
    const struct service *service;
    const char *key; /* "NAME/PROTOCOL" */
};
struct reach_answers {
    struct arena *a;
    struct map *nodes;      /* name in small letters → bool *: fit for /healthz */
    struct map *services;   /* "NAMESPACE/NAME" → struct service */
    struct map *checks;     /* healthCheckNodePort → struct service */
    struct map *node_ports; /* node port of TCP → struct node_port */
};

static void free_map(void *m)
{
    map_free(m);
}

static struct map *new_map(struct arena *a)
{
    struct map *m = map_new(NULL);
    arena_defer(a, free_map, m);
    return m;
}

/* --- Nodes ------------------------------------------------------------------------------------ */

static void read_node(struct reach_answers *x, struct json_object *o)
{
    struct json_object *meta = json_member(o, "metadata");
    struct json_object *taints = json_path(o, "spec.taints");
    const char *name = json_str(meta, "name");
    bool *fit = ARENA_NEW(x->a, bool);
    *fit = str_is_empty(json_str(meta, "deletionTimestamp"));
    for (size_t i = 0; i < json_len(taints); i++) {
        struct json_object *taint = json_object_array_get_idx(taints, i);
        *fit = *fit && !str_eq(json_str(taint, "key"), TAINT);
    }
    if (name != NULL) {
        map_set(x->nodes, str_lower(x->a, name), fit);
    }
}

/* --- Services --------------------------------------------------------------------------------- */

/* False: kube-proxy does not handle it. */
static bool is_handled(struct json_object *o)
{
    struct json_object *labels = json_path(o, "metadata.labels");
    struct json_object *spec = json_member(o, "spec");
    const char *ip = json_str(spec, "clusterIP");
    return json_member(labels, "service.kubernetes.io/service-proxy-name") == NULL &&
           !str_is_empty(ip) && !str_eq(ip, "None") &&
           !str_eq(json_str(spec, "type"), "ExternalName");
}

static void read_families(struct service *s, struct json_object *spec)
{
    struct json_object *list = json_member(spec, "clusterIPs");
    struct ip_addr ip;
    for (size_t i = 0; i < json_len(list); i++) {
        const char *text = json_object_get_string(json_object_array_get_idx(list, i));
        if (text != NULL && ip_parse(text, &ip)) {
            s->has_family[ip.len == 16] = true;
        }
    }
    if (ip_parse(str_nonnull(json_str(spec, "clusterIP")), &ip)) {
        s->has_family[ip.len == 16] = true;
    }
}

static const char *port_key(struct arena *a, struct json_object *port)
{
    return arena_printf(a, "%s/%s", str_nonnull(json_str(port, "name")),
                        str_or(json_str(port, "protocol"), "TCP"));
}

static void read_node_ports(struct reach_answers *x, struct service *s, struct json_object *spec)
{
    struct json_object *ports = json_member(spec, "ports");
    for (size_t i = 0; i < json_len(ports); i++) {
        struct json_object *port = json_object_array_get_idx(ports, i);
        int64_t number = json_int(port, "nodePort", 0);
        if (number > 0 && str_eq(str_or(json_str(port, "protocol"), "TCP"), "TCP")) {
            struct node_port *p = ARENA_NEW(x->a, struct node_port);
            *p = (struct node_port){s, port_key(x->a, port)};
            map_set(x->node_ports, arena_printf(x->a, "%lld", (long long)number), p);
        }
    }
}

static void read_service(struct reach_answers *x, struct json_object *o)
{
    struct json_object *spec = json_member(o, "spec");
    struct json_object *meta = json_member(o, "metadata");
    int64_t check = json_int(spec, "healthCheckNodePort", 0);
    if (!is_handled(o)) {
        return;
    }
    struct service *s = ARENA_NEW(x->a, struct service);
    s->is_local = str_eq(json_str(spec, "externalTrafficPolicy"), "Local");
    s->ports = new_map(x->a);
    s->ready_on[0] = new_map(x->a);
    s->ready_on[1] = new_map(x->a);
    read_families(s, spec);
    read_node_ports(x, s, spec);
    map_set(x->services,
            arena_printf(x->a, "%s/%s", str_nonnull(json_str(meta, "namespace")),
                         str_nonnull(json_str(meta, "name"))),
            s);
    if (check > 0) {
        map_set(x->checks, arena_printf(x->a, "%lld", (long long)check), s);
    }
}

/* --- EndpointSlices --------------------------------------------------------------------------- */

static struct backing *backing_of(struct reach_answers *x, struct service *s, const char *key,
                                  bool ipv6)
{
    const char *full = arena_printf(x->a, "%s %d", key, ipv6);
    struct backing *b = map_get(s->ports, full);
    if (b == NULL) {
        b = ARENA_NEW(x->a, struct backing);
        b->ready_on = new_map(x->a);
        b->draining_on = new_map(x->a);
        map_set(s->ports, full, b);
    }
    return b;
}

static void add_endpoint(struct service *s, struct backing *b, struct json_object *endpoint,
                         bool ipv6)
{
    struct json_object *state = json_member(endpoint, "conditions");
    const char *node = str_nonnull(json_str(endpoint, "nodeName"));
    bool ready = json_bool(state, "ready", true);
    bool draining =
        !ready && json_bool(state, "serving", true) && json_bool(state, "terminating", false);
    if (json_len(json_member(endpoint, "addresses")) == 0) {
        return;
    }
    b->ready = b->ready || ready;
    b->draining = b->draining || draining;
    if (ready && node[0] != '\0') {
        map_set(b->ready_on, node, NULL);
        map_set(s->ready_on[ipv6], node, NULL);
    } else if (draining && node[0] != '\0') {
        map_set(b->draining_on, node, NULL);
    }
}

static void read_slice(struct reach_answers *x, struct json_object *o)
{
    struct json_object *meta = json_member(o, "metadata");
    struct json_object *labels = json_member(meta, "labels");
    struct json_object *ports = json_member(o, "ports");
    struct json_object *endpoints = json_member(o, "endpoints");
    const char *type = json_str(o, "addressType");
    const char *name = str_nonnull(json_str(labels, "kubernetes.io/service-name"));
    struct service *s = map_get(
        x->services, arena_printf(x->a, "%s/%s", str_nonnull(json_str(meta, "namespace")), name));
    bool ipv6 = str_eq(type, "IPv6");
    if (s == NULL || (!ipv6 && !str_eq(type, "IPv4")) ||
        json_member(labels, "service.kubernetes.io/headless") != NULL) {
        return;
    }
    s->is_told[ipv6] = true;
    for (size_t i = 0; i < json_len(ports); i++) {
        struct json_object *port = json_object_array_get_idx(ports, i);
        if (json_int(port, "port", 0) == 0) {
            continue;
        }
        struct backing *b = backing_of(x, s, port_key(x->a, port), ipv6);
        for (size_t k = 0; k < json_len(endpoints); k++) {
            add_endpoint(s, b, json_object_array_get_idx(endpoints, k), ipv6);
        }
    }
}

/* --- all -------------------------------------------------------------------------------------- */

static void read_all(struct reach_answers *x, struct json_object *list,
                     void (*read)(struct reach_answers *x, struct json_object *o))
{
    for (size_t i = 0; i < json_len(list); i++) {
        read(x, json_object_array_get_idx(list, i));
    }
}

struct reach_answers *reach_answers_read(struct arena *a, struct json_object *world)
{
    struct json_object *cluster = json_member(world, "kubernetes");
    struct json_object *nodes = json_member(cluster, "nodes");
    if (json_len(nodes) == 0) {
        return NULL;
    }
    struct reach_answers *x = ARENA_NEW(a, struct reach_answers);
    *x = (struct reach_answers){
        .a = a,
        .nodes = new_map(a),
        .services = new_map(a),
        .checks = new_map(a),
        .node_ports = new_map(a),
    };
    read_all(x, nodes, read_node);
    read_all(x, json_member(cluster, "services"), read_service);
    read_all(x, json_member(cluster, "endpointslices"), read_slice);
    return x;
}

/* --- probes ----------------------------------------------------------------------------------- */

static bool check_succeeds(const struct service *s, const char *node,
                           const struct reach_probe *probe)
{
    if (!s->has_family[probe->ipv6] || probe->kind == REACH_PROBE_TLS) {
        return false;
    }
    return probe->kind == REACH_PROBE_TCP || !s->is_told[probe->ipv6] ||
           map_has(s->ready_on[probe->ipv6], node);
}

static bool proxy_succeeds(bool fit, const struct reach_probe *probe)
{
    const char *path = str_or(probe->path, "/");
    if (probe->kind != REACH_PROBE_HTTP) {
        return probe->kind == REACH_PROBE_TCP;
    }
    return str_eq(path, "/livez") || (str_eq(path, "/healthz") && fit);
}

static bool node_port_succeeds(struct arena *a, const struct node_port *p, const char *node,
                               bool ipv6)
{
    const struct service *s = p->service;
    const struct backing *b = map_get(s->ports, arena_printf(a, "%s %d", p->key, ipv6));
    if (!s->has_family[ipv6] || !s->is_told[ipv6]) {
        return s->has_family[ipv6];
    }
    if (b == NULL) {
        return false;
    }
    return s->is_local ? map_has(b->ready_on, node) || map_has(b->draining_on, node)
                       : b->ready || b->draining;
}

bool reach_probe_succeeds(const struct reach_answers *x, const struct reach_probe *probe)
{
    if (x == NULL) {
        return true;
    }
    const char *node = str_lower(x->a, probe->node);
    const char *port = arena_printf(x->a, "%u", probe->port);
    const bool *fit = map_get(x->nodes, node);
    const struct service *check = map_get(x->checks, port);
    const struct node_port *p = map_get(x->node_ports, port);
    if (check == NULL && p == NULL && probe->port != PROXY_PORT) {
        return true;
    }
    if (fit == NULL) {
        return false; /* kube-proxy does not run there */
    }
    return check != NULL ? check_succeeds(check, node, probe)
           : p != NULL   ? node_port_succeeds(x->a, p, node, probe->ipv6)
                         : proxy_succeeds(*fit, probe);
}
