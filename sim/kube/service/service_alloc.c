/* SPDX-License-Identifier: Apache-2.0 */
/* service_alloc.c: gives a Service its cluster addresses and node ports.
 *
 * Runs before validation, as in the API server, so that the allocator reports a bad port (recorded
 * 035) and equal ports of one new Service share a node port (021, 033).  A dry run gets what no
 * real Service has (025).  An update chooses a node port of its own for each entry that has none:
 * entries of one port number do not share then.
 * Source: k8s pkg/registry/core/service/storage/alloc.go, initNodePorts() and updateNodePorts(). */
#include "sim/kube/service/service.h"

#include "common/base/ip.h"
#include "sim/kube/service/alloc.h"

/* Ports that this write has chosen already. */
struct chosen {
    int ports[256];
    int64_t numbers[256]; /* the Service port that each is for; 0: the health check */
    size_t n;
};

static bool was_chosen(const struct chosen *ch, int port)
{
    for (size_t i = 0; i < ch->n; i++) {
        if (ch->ports[i] == port) {
            return true;
        }
    }
    return false;
}

static void note_chosen(struct chosen *ch, int port, int64_t number)
{
    if (ch->n < ARRAY_LEN(ch->ports)) {
        ch->numbers[ch->n] = number;
        ch->ports[ch->n++] = port;
    }
}

/* TCP and UDP of one port number share a node port; nothing else does. */
static bool may_share(const struct chosen *ch, int port, int64_t number)
{
    for (size_t i = 0; i < ch->n; i++) {
        if (ch->ports[i] == port && ch->numbers[i] != number) {
            return false;
        }
    }
    return true;
}

/* Has the stored version of this Service the node port?  A health check's port is not one. */
static bool is_own_port(struct kube_change *c, int64_t port)
{
    struct json_object *ports = json_path(c->was, "spec.ports");
    for (size_t i = 0; i < json_len(ports); i++) {
        if (json_int(json_object_array_get_idx(ports, i), "nodePort", 0) == port) {
            return true;
        }
    }
    return false;
}

/* A port that the client asks for: what is wrong with it, or NULL. */
static const char *request_port(struct kube_change *c, struct chosen *ch, int64_t port,
                                int64_t number)
{
    bool shared = was_chosen(ch, (int)port);
    if (shared && !may_share(ch, (int)port, number)) {
        return "provided port is already allocated";
    }
    if (shared) {
        note_chosen(ch, (int)port, number);
        return NULL;
    }
    if (port < KUBE_NODE_PORT_MIN || port > KUBE_NODE_PORT_MAX) {
        return "provided port is not in the valid range. The range of valid ports is 30000-32767";
    }
    if (!kube_alloc_port_is_free(c->st->alloc, (int)port)) {
        return "provided port is already allocated";
    }
    note_chosen(ch, (int)port, number);
    return NULL;
}

static int choose_port(struct kube_change *c, struct chosen *ch, int64_t number)
{
    if (c->dry_run) {
        int port = KUBE_NODE_PORT_MAX + 2 + (int)ch->n;
        note_chosen(ch, port, number);
        return port;
    }
    int port = 0;
    for (int tries = 0; tries < 1000 && (port == 0 || was_chosen(ch, port)); tries++) {
        port = kube_alloc_choose_port(c->st->alloc);
    }
    note_chosen(ch, port, number);
    return port;
}

/* Does it get node ports by default? */
static bool wants_node_ports(struct json_object *service)
{
    return service_is_type(service, "NodePort") ||
           (service_is_type(service, "LoadBalancer") &&
            json_bool(service_spec(service), "allocateLoadBalancerNodePorts", true));
}

/* The node port that another entry of the same port number has or asks for. */
static int64_t port_of_sibling(struct json_object *ports, int64_t number)
{
    for (size_t i = 0; i < json_len(ports); i++) {
        struct json_object *p = json_object_array_get_idx(ports, i);
        if (json_int(p, "port", 0) == number && json_int(p, "nodePort", 0) != 0) {
            return json_int(p, "nodePort", 0);
        }
    }
    return 0;
}

static struct json_object *refuse_port(struct kube_change *c, size_t i, int64_t port,
                                       const char *wrong)
{
    struct kube_causes causes = {.arena = c->arena};
    kube_invalid_int(&causes, arena_printf(c->arena, "spec.ports[%zu].nodePort", i), port, wrong);
    return kube_status_invalid(c->kind, c->name, &causes, false);
}

/* Two entries of a protocol have one node port: the server says so without a kind or a cause. */
static struct json_object *refuse_twin(struct kube_change *c, struct json_object *ports, size_t n)
{
    struct json_object *last = json_object_array_get_idx(ports, n);
    int64_t port = json_int(last, "nodePort", 0);
    const char *protocol = str_or(json_str(last, "protocol"), "TCP");
    for (size_t i = 0; i < n; i++) {
        struct json_object *p = json_object_array_get_idx(ports, i);
        if (json_int(p, "nodePort", 0) == port &&
            str_eq(str_or(json_str(p, "protocol"), "TCP"), protocol)) {
            return kube_status(
                500, NULL,
                arena_printf(c->arena, "duplicate nodePort: {%s %lld}", protocol, (long long)port),
                NULL);
        }
    }
    return NULL;
}

/* What is wrong with a port that an update asks for, or NULL.  One that the Service had, and one that this update has
 * asked for already, are its own, whatever entry had it. */
static const char *request_updated_port(struct kube_change *c, struct chosen *ch, int64_t port,
                                        int64_t number)
{
    if (is_own_port(c, port) || was_chosen(ch, (int)port)) {
        note_chosen(ch, (int)port, number);
        return NULL;
    }
    return request_port(c, ch, port, number);
}

static struct json_object *update_node_ports(struct kube_change *c, struct chosen *ch)
{
    struct json_object *ports = json_member(service_spec(c->now), "ports");
    bool automatic = wants_node_ports(c->now);
    for (size_t i = 0; i < json_len(ports); i++) {
        struct json_object *p = json_object_array_get_idx(ports, i);
        int64_t port = json_int(p, "nodePort", 0);
        int64_t number = json_int(p, "port", 0);
        if (port == 0 && automatic) {
            kube_set(p, "nodePort", json_object_new_int(choose_port(c, ch, number)));
        } else if (port != 0) {
            const char *wrong = request_updated_port(c, ch, port, number);
            if (wrong != NULL) {
                return refuse_port(c, i, port, wrong);
            }
        }
        struct json_object *refusal = port != 0 ? refuse_twin(c, ports, i) : NULL;
        if (refusal != NULL) {
            return refusal;
        }
    }
    return NULL;
}

static struct json_object *give_node_ports(struct kube_change *c, struct chosen *ch)
{
    struct json_object *spec = service_spec(c->now);
    struct json_object *ports = json_member(spec, "ports");
    bool automatic = wants_node_ports(c->now);
    if (!service_needs_node_port(c->now)) {
        return NULL;
    }
    if (c->was != NULL) {
        return update_node_ports(c, ch);
    }
    for (size_t i = 0; i < json_len(ports); i++) {
        struct json_object *p = json_object_array_get_idx(ports, i);
        int64_t port = json_int(p, "nodePort", 0);
        if (port == 0 && automatic) {
            port = port_of_sibling(ports, json_int(p, "port", 0));
            if (port == 0) {
                port = choose_port(c, ch, json_int(p, "port", 0));
            }
            kube_set(p, "nodePort", json_object_new_int64(port));
        }
        const char *wrong = port ? request_port(c, ch, port, json_int(p, "port", 0)) : NULL;
        if (wrong) {
            return refuse_port(c, i, port, wrong);
        }
    }
    return NULL;
}

static struct json_object *give_health_check_port(struct kube_change *c, struct chosen *ch)
{
    struct json_object *spec = service_spec(c->now);
    int64_t port = json_int(spec, "healthCheckNodePort", 0);
    if (!service_needs_health_check_port(c->now)) {
        return NULL;
    }
    if (!port) {
        kube_set(spec, "healthCheckNodePort", json_object_new_int(choose_port(c, ch, 0)));
        return NULL;
    }
    if (c->was && service_needs_health_check_port(c->was)) {
        return NULL; /* it has one; validation tells if it was changed */
    }
    const char *wrong = request_port(c, ch, port, 0);
    return wrong ? kube_status_internal(c->arena,
                                        arena_printf(c->arena,
                                                     "failed to allocate requested HealthCheck "
                                                     "NodePort %lld: %s",
                                                     (long long)port, wrong))
                 : NULL;
}

static bool list_has(struct json_object *list, const char *s)
{
    for (size_t i = 0; i < json_len(list); i++) {
        if (str_eq(kube_item(list, i), s)) {
            return true;
        }
    }
    return false;
}

/* An address that the client asks for. */
static struct json_object *request_ip(struct kube_change *c, const char *ip)
{
    struct kube_causes causes = {.arena = c->arena};
    struct json_object *own = json_path(c->was, "spec.clusterIPs");
    struct ip_addr addr;
    if (list_has(own, ip) || !ip_parse(ip, &addr)) {
        return NULL; /* its own, or validation will tell */
    }
    struct json_object *shown = json_member(service_spec(c->now), "clusterIPs");
    bool v6 = addr.len == 16;
    if (!kube_alloc_ip_in_range(ip, v6)) {
        kube_invalid_json(
            &causes, "spec.clusterIPs", shown,
            arena_printf(c->arena,
                         "failed to allocate IP %s: the provided network does not match the "
                         "current range",
                         ip));
    } else if (!kube_alloc_ip_is_free(c->st->alloc, ip)) {
        kube_invalid_json(&causes, "spec.clusterIPs", shown,
                          arena_printf(c->arena,
                                       "failed to allocate IP %s: provided IP is already allocated",
                                       ip));
    }
    return kube_status_invalid(c->kind, c->name, &causes, false);
}

static struct json_object *give_addresses(struct kube_change *c)
{
    struct json_object *spec = service_spec(c->now);
    if (!service_needs_cluster_ip(c->now) || service_is_headless(c->now)) {
        return NULL;
    }
    struct json_object *families = json_member(spec, "ipFamilies");
    struct json_object *given = json_member(spec, "clusterIPs");
    struct json_object *ips = json_object_new_array();
    struct json_object *refusal = NULL;
    for (size_t i = 0; i < json_len(families) && !refusal; i++) {
        const char *family = kube_item(families, i);
        bool v6 = str_eq(family, "IPv6");
        const char *ip = i < json_len(given) ? kube_item(given, i) : "";
        if (!*ip) {
            ip = c->dry_run ? (v6 ? "fd00:1::" : "10.0.0.0")
                            : kube_alloc_choose_ip(c->st->alloc, c->arena, v6);
        } else {
            refusal = request_ip(c, ip);
        }
        json_push_str(ips, str_nonnull(ip));
    }
    if (!refusal && json_len(ips) > 0) {
        kube_set(spec, "clusterIP", json_object_get(json_object_array_get_idx(ips, 0)));
        kube_set(spec, "clusterIPs", json_object_get(ips));
    }
    json_object_put(ips);
    return refusal;
}

/* --- what was there comes back ---------------------------------------------------------------- */
static bool port_used(struct json_object *ports, int64_t port)
{
    for (size_t i = 0; i < json_len(ports); i++) {
        if (json_int(json_object_array_get_idx(ports, i), "nodePort", 0) == port) {
            return true;
        }
    }
    return false;
}

static int64_t port_by_name(struct json_object *ports, const char *name)
{
    int64_t port = 0;
    for (size_t i = 0; i < json_len(ports); i++) {
        struct json_object *p = json_object_array_get_idx(ports, i);
        if (str_eq(str_nonnull(json_str(p, "name")), name)) {
            port = json_int(p, "nodePort", 0);
        }
    }
    return port;
}

void service_keep_allocated(struct kube_change *c)
{
    struct json_object *now = service_spec(c->now);
    struct json_object *was = service_spec(c->was);
    if (service_needs_cluster_ip(c->was) && service_needs_cluster_ip(c->now)) {
        if (str_is_empty(json_str(now, "clusterIP"))) {
            kube_set(now, "clusterIP", json_object_get(json_member(was, "clusterIP")));
        }
        if (json_len(json_member(now, "clusterIPs")) == 0 &&
            str_eq(json_str(now, "clusterIP"), json_str(was, "clusterIP"))) {
            kube_set(now, "clusterIPs", json_object_get(json_member(was, "clusterIPs")));
        }
    }
    if (service_needs_node_port(c->was) && wants_node_ports(c->now)) {
        struct json_object *ports = json_member(now, "ports");
        for (size_t i = 0; i < json_len(ports); i++) {
            struct json_object *p = json_object_array_get_idx(ports, i);
            int64_t old = port_by_name(json_member(was, "ports"), str_nonnull(json_str(p, "name")));
            if (json_int(p, "nodePort", 0) == 0 && old && !port_used(ports, old)) {
                kube_set(p, "nodePort", json_object_new_int64(old));
            }
        }
    }
    if (service_needs_health_check_port(c->was) && service_needs_health_check_port(c->now) &&
        json_int(now, "healthCheckNodePort", 0) == 0) {
        kube_set(now, "healthCheckNodePort",
                 json_object_get(json_member(was, "healthCheckNodePort")));
    }
}

struct json_object *service_begin(struct kube_change *c)
{
    struct chosen ch = {0};
    if (c->was) {
        service_keep_allocated(c);
    }
    service_sync_cluster_ips(c);
    struct json_object *refusal = service_settle_families(c);
    if (!refusal) {
        refusal = give_addresses(c);
    }
    if (!refusal) {
        refusal = give_node_ports(c, &ch);
    }
    return refusal ? refusal : give_health_check_port(c, &ch);
}
