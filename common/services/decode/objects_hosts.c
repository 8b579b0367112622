/* SPDX-License-Identifier: Apache-2.0 */
/* objects_hosts.c: Pods and Nodes from JSON; see objects.h. */
#include "common/services/decode/objects_meta.h"

#include "common/base/str.h"

/* status.conditions[] of both kinds. */
struct raw_condition {
    const char *type;
    const char *status;
};
static const struct json_field condition_fields[] = {
    KS_STR(struct raw_condition, type, "type"),
    KS_STR(struct raw_condition, status, "status"),
    {0},
};

/* True when the first condition Ready is True. */
static bool is_ready(const struct raw_condition *conditions, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(conditions[i].type, "Ready")) {
            return str_eq(conditions[i].status, "True");
        }
    }
    return false;
}

/* ---- Pods ------------------------------------------------------------------------------------ */

struct raw_container {
    const char *restart_policy; /* NULL when absent */
    struct ks_container_port *ports;
    size_t n_ports;
};
struct raw_pod_ip {
    const char *ip;
};
struct raw_pod {
    struct ks_pod p;
    struct raw_container *containers;
    struct raw_container *init_containers;
    struct raw_condition *conditions;
    struct raw_pod_ip *ips;
    size_t n_containers;
    size_t n_init_containers;
    size_t n_conditions;
    size_t n_ips;
};

static const struct json_field container_port_fields[] = {
    KS_STR(struct ks_container_port, name, "name"),
    KS_STR(struct ks_container_port, protocol, "protocol"),
    KS_PORT(struct ks_container_port, port, "containerPort"),
    {0},
};
static const struct json_field container_fields[] = {
    KS_STR(struct raw_container, restart_policy, "restartPolicy"),
    KS_LIST(struct raw_container, ports, n_ports, "ports", container_port_fields,
            struct ks_container_port),
    {0},
};
static const struct json_field pod_spec_fields[] = {
    KS_STR(struct raw_pod, p.node_name, "nodeName"),
    KS_STR(struct raw_pod, p.hostname, "hostname"),
    KS_STR(struct raw_pod, p.subdomain, "subdomain"),
    KS_BOOL(struct raw_pod, p.host_network, "hostNetwork"),
    KS_LIST(struct raw_pod, containers, n_containers, "containers", container_fields,
            struct raw_container),
    KS_LIST(struct raw_pod, init_containers, n_init_containers, "initContainers", container_fields,
            struct raw_container),
    {0},
};
static const struct json_field pod_ip_fields[] = {
    KS_STR(struct raw_pod_ip, ip, "ip"),
    {0},
};
static const struct json_field pod_status_fields[] = {
    KS_STR(struct raw_pod, p.phase, "phase"),
    KS_STR(struct raw_pod, p.pod_ip, "podIP"),
    KS_LIST(struct raw_pod, ips, n_ips, "podIPs", pod_ip_fields, struct raw_pod_ip),
    KS_LIST(struct raw_pod, conditions, n_conditions, "conditions", condition_fields,
            struct raw_condition),
    {0},
};
static const struct json_field pod_fields[] = {
    KS_SUB(struct raw_pod, p.meta, "metadata", ks_meta_fields),
    {.name = "spec", .type = JSON_T_OBJECT, .sub = pod_spec_fields},
    {.name = "status", .type = JSON_T_OBJECT, .sub = pod_status_fields},
    {0},
};

static size_t add_ports(const struct raw_container *c, struct ks_container_port *ports, size_t n)
{
    for (size_t i = 0; i < c->n_ports; i++) {
        ports[n] = c->ports[i];
        ks_fill(&ports[n].name);
        ports[n].protocol = str_is_empty(ports[n].protocol) ? "TCP" : ports[n].protocol;
        n++;
    }
    return n;
}

/* Ports of containers, then those of init containers that stay (sidecars). */
static void gather_ports(struct arena *a, struct raw_pod *raw)
{
    size_t n = 0;
    for (size_t i = 0; i < raw->n_containers; i++) {
        n += raw->containers[i].n_ports;
    }
    for (size_t i = 0; i < raw->n_init_containers; i++) {
        n += raw->init_containers[i].n_ports;
    }
    struct ks_container_port *ports = ARENA_ARRAY(a, struct ks_container_port, n);
    n = 0;
    for (size_t i = 0; i < raw->n_containers; i++) {
        n = add_ports(&raw->containers[i], ports, n);
    }
    for (size_t i = 0; i < raw->n_init_containers; i++) {
        if (str_eq(raw->init_containers[i].restart_policy, "Always")) {
            n = add_ports(&raw->init_containers[i], ports, n);
        }
    }
    raw->p.ports = n == 0 ? NULL : ports;
    raw->p.n_ports = n;
}

int ks_pod_decode(struct arena *a, struct json_object *o, const char *where,
                  const struct ks_pod **ret, struct err *err)
{
    struct raw_pod raw = {.p = {.meta = ks_meta_empty,
                                .phase = "",
                                .pod_ip = "",
                                .node_name = "",
                                .hostname = "",
                                .subdomain = ""}};
    int rc = json_decode(a, o, pod_fields, &raw, JSON_SKIP_UNKNOWN, where, err);
    if (rc != ERR_OK) {
        return rc;
    }
    ks_meta_filled(&raw.p.meta);
    gather_ports(a, &raw);
    raw.p.ready = is_ready(raw.conditions, raw.n_conditions);
    raw.p.pod_ips = raw.n_ips == 0 ? NULL : ARENA_ARRAY(a, const char *, raw.n_ips);
    for (size_t i = 0; i < raw.n_ips; i++) {
        raw.p.pod_ips[i] = str_nonnull(raw.ips[i].ip);
    }
    raw.p.n_pod_ips = raw.n_ips;
    *ret = arena_memdup(a, &raw.p, sizeof(raw.p));
    return ERR_OK;
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

struct raw_node_address {
    const char *type;
    const char *address;
};
struct raw_taint {
    const char *key;
};
struct raw_node {
    struct ks_node n;
    struct json_object *cpu; /* a quantity: text or number */
    struct raw_condition *conditions;
    struct raw_node_address *addresses;
    struct raw_taint *taints;
    size_t n_conditions;
    size_t n_addresses;
    size_t n_taints;
};

static const struct json_field taint_fields[] = {
    KS_STR(struct raw_taint, key, "key"),
    {0},
};
static const struct json_field node_spec_fields[] = {
    KS_STRS(struct raw_node, n.pod_cidrs, n.n_pod_cidrs, "podCIDRs"),
    KS_LIST(struct raw_node, taints, n_taints, "taints", taint_fields, struct raw_taint),
    {0},
};
static const struct json_field allocatable_fields[] = {
    {.name = "cpu", .type = JSON_T_RAW, .offset = offsetof(struct raw_node, cpu)},
    {0},
};
static const struct json_field node_address_fields[] = {
    KS_STR(struct raw_node_address, type, "type"),
    KS_STR(struct raw_node_address, address, "address"),
    {0},
};
static const struct json_field node_status_fields[] = {
    {.name = "allocatable", .type = JSON_T_OBJECT, .sub = allocatable_fields},
    KS_LIST(struct raw_node, addresses, n_addresses, "addresses", node_address_fields,
            struct raw_node_address),
    KS_LIST(struct raw_node, conditions, n_conditions, "conditions", condition_fields,
            struct raw_condition),
    {0},
};
static const struct json_field node_fields[] = {
    KS_SUB(struct raw_node, n.meta, "metadata", ks_meta_fields),
    {.name = "spec", .type = JSON_T_OBJECT, .sub = node_spec_fields},
    {.name = "status", .type = JSON_T_OBJECT, .sub = node_status_fields},
    {0},
};

static void gather_addresses(struct arena *a, struct raw_node *raw)
{
    const char **list = ARENA_ARRAY(a, const char *, raw->n_addresses);
    size_t n = 0;
    for (size_t i = 0; i < raw->n_addresses; i++) {
        const struct raw_node_address *at = &raw->addresses[i];
        if (!str_is_empty(at->address) &&
            (str_eq(at->type, "InternalIP") || str_eq(at->type, "ExternalIP"))) {
            list[n++] = at->address;
        }
    }
    raw->n.addresses = n == 0 ? NULL : list;
    raw->n.n_addresses = n;
}

int ks_node_decode(struct arena *a, struct json_object *o, const char *where,
                   const struct ks_node **ret, struct err *err)
{
    struct raw_node raw = {.n = {.meta = ks_meta_empty, .cpu = ""}};
    int rc = json_decode(a, o, node_fields, &raw, JSON_SKIP_UNKNOWN, where, err);
    if (rc != ERR_OK) {
        return rc;
    }
    struct ks_node *n = &raw.n;
    ks_meta_filled(&n->meta);
    gather_addresses(a, &raw);
    const struct ks_meta *m = &n->meta;
    n->zone = str_nonnull(ks_kv(m->labels, m->n_labels, "topology.kubernetes.io/zone"));
    n->ready = is_ready(raw.conditions, raw.n_conditions);
    n->control_plane =
        ks_kv(m->labels, m->n_labels, "node-role.kubernetes.io/control-plane") != NULL ||
        ks_kv(m->labels, m->n_labels, "node-role.kubernetes.io/master") != NULL;
    for (size_t i = 0; i < raw.n_taints; i++) {
        n->to_be_deleted =
            n->to_be_deleted || str_eq(raw.taints[i].key, "ToBeDeletedByClusterAutoscaler");
    }
    if (raw.cpu != NULL) {
        n->cpu = arena_strdup(a, json_object_get_string(raw.cpu));
    }
    *ret = arena_memdup(a, n, sizeof(*n));
    return ERR_OK;
}
