/* SPDX-License-Identifier: Apache-2.0 */
/* object_node.c: a Node's JSON into struct tt_node.
 *
 * Fields: controller.md §5.1, 5.3.  Images, volumes, allocatable and the like are never asked for;
 * reason and message of conditions are dropped too, because there are five per node and no decision
 * uses them.  The flags are computed here, once per object, by common/lb/node_rules.h.  Called by
 * object.c only; pure. */
#include <string.h>

#include "common/lb/node_rules.h"
#include "controller/kube/store/object_internal.h"

struct raw_taint {
    const char *key;
    const char *value;
    const char *effect;
};
struct raw_address {
    const char *type;
    const char *address;
};
struct raw_node_info {
    const char *operating_system;
    const char *architecture;
    const char *kubelet_version;
    const char *system_uuid;
    const char *machine_id;
};
struct raw_node_spec {
    const char *provider_id;
    struct raw_taint *taints;
    size_t n_taints;
    const char *pod_cidr;
    const char **pod_cidrs;
    size_t n_pod_cidrs;
    bool unschedulable;
};
struct raw_node_status {
    struct raw_condition *conditions;
    size_t n_conditions;
    struct raw_address *addresses;
    size_t n_addresses;
    struct raw_node_info info;
};
struct raw_node {
    struct raw_meta meta;
    struct raw_node_spec spec;
    struct raw_node_status status;
};

static const struct json_field taint_fields[] = {
    ROW_STR(raw_taint, "key", key),
    ROW_STR(raw_taint, "value", value),
    ROW_STR(raw_taint, "effect", effect),
    {0},
};
static const struct json_field address_fields[] = {
    ROW_STR(raw_address, "type", type),
    ROW_STR(raw_address, "address", address),
    {0},
};
static const struct json_field info_fields[] = {
    ROW_STR(raw_node_info, "operatingSystem", operating_system),
    ROW_STR(raw_node_info, "architecture", architecture),
    ROW_STR(raw_node_info, "kubeletVersion", kubelet_version),
    ROW_STR(raw_node_info, "systemUUID", system_uuid),
    ROW_STR(raw_node_info, "machineID", machine_id),
    {0},
};
static const struct json_field spec_fields[] = {
    ROW_STR(raw_node_spec, "providerID", provider_id),
    ROW_OBJECTS(raw_node_spec, "taints", taints, taint_fields, raw_taint),
    ROW_STR(raw_node_spec, "podCIDR", pod_cidr),
    {.name = "podCIDRs",
     .type = JSON_T_STRS,
     .offset = offsetof(struct raw_node_spec, pod_cidrs),
     .count_offset = offsetof(struct raw_node_spec, n_pod_cidrs)},
    {.name = "unschedulable",
     .type = JSON_T_BOOL,
     .offset = offsetof(struct raw_node_spec, unschedulable)},
    {0},
};
static const struct json_field status_fields[] = {
    ROW_OBJECTS(raw_node_status, "conditions", conditions, raw_condition_fields, raw_condition),
    ROW_OBJECTS(raw_node_status, "addresses", addresses, address_fields, raw_address),
    ROW_OBJECT(raw_node_status, "nodeInfo", info, info_fields),
    {0},
};
static const struct json_field node_fields[] = {
    ROW_OBJECT(raw_node, "metadata", meta, raw_meta_fields),
    ROW_OBJECT(raw_node, "spec", spec, spec_fields),
    ROW_OBJECT(raw_node, "status", status, status_fields),
    {0},
};

static const char *const members[] = {
    "metadata.name",
    "metadata.uid",
    "metadata.resourceVersion",
    "metadata.creationTimestamp",
    "metadata.deletionTimestamp",
    "metadata.labels",
    "metadata.annotations",
    "spec.providerID",
    "spec.taints.key",
    "spec.taints.value",
    "spec.taints.effect",
    "spec.podCIDR",
    "spec.podCIDRs",
    "spec.unschedulable",
    "status.conditions.type",
    "status.conditions.status",
    "status.conditions.lastTransitionTime",
    "status.addresses",
    "status.nodeInfo.operatingSystem",
    "status.nodeInfo.architecture",
    "status.nodeInfo.kubeletVersion",
    "status.nodeInfo.systemUUID",
    "status.nodeInfo.machineID",
    NULL,
};

static int node_finish(struct arena *a, void *arg, struct raw_lost *lost, struct err *err)
{
    struct raw_node *raw = arg;
    (void)a;
    return raw_conditions_finish(raw->status.conditions, &raw->status.n_conditions, lost, err);
}

static const struct tt_taint *pack_taints(struct pack *p, const struct raw_taint *t, size_t n)
{
    struct tt_taint *out = PACK_ARRAY(p, struct tt_taint, n);
    for (size_t i = 0; i < n; i++) {
        out[i].key = pack_word(p, str_nonnull(t[i].key));
        out[i].value = pack_text(p, str_nonnull(t[i].value));
        out[i].effect = pack_word(p, str_nonnull(t[i].effect));
    }
    return out;
}

static const struct tt_node_address *pack_addresses(struct pack *p, const struct raw_address *in,
                                                    size_t n)
{
    struct tt_node_address *out = PACK_ARRAY(p, struct tt_node_address, n);
    for (size_t i = 0; i < n; i++) {
        out[i].type = pack_word(p, str_nonnull(in[i].type));
        out[i].address = pack_text(p, str_nonnull(in[i].address));
    }
    return out;
}

static void pack_node_spec(struct pack *p, struct tt_node *n, const struct raw_node_spec *r)
{
    bool only_single = r->n_pod_cidrs == 0 && !str_is_empty(r->pod_cidr);
    size_t n_cidrs = only_single ? 1 : r->n_pod_cidrs;
    n->provider_id = pack_text(p, str_nonnull(r->provider_id));
    n->taints = pack_taints(p, r->taints, r->n_taints);
    n->n_taints = (uint32_t)r->n_taints;
    n->pod_cidrs = pack_texts(p, only_single ? &r->pod_cidr : r->pod_cidrs, n_cidrs);
    n->n_pod_cidrs = (uint32_t)n_cidrs;
    n->unschedulable = r->unschedulable;
}

static void pack_node_status(struct pack *p, struct tt_node *n, const struct raw_node_status *r)
{
    n->conditions = pack_conditions(p, r->conditions, r->n_conditions, true);
    n->n_conditions = (uint32_t)r->n_conditions;
    n->addresses = pack_addresses(p, r->addresses, r->n_addresses);
    n->n_addresses = (uint32_t)r->n_addresses;
    n->operating_system = pack_word(p, str_nonnull(r->info.operating_system));
    n->architecture = pack_word(p, str_nonnull(r->info.architecture));
    n->kubelet_version = pack_word(p, str_nonnull(r->info.kubelet_version));
    n->system_uuid = pack_text(p, str_nonnull(r->info.system_uuid));
    n->machine_id = pack_text(p, str_nonnull(r->info.machine_id));
}

/* Unreadable parts of a Node keep their last value, or count as absent: it keeps its place behind
 * load balancers. */
static const struct raw_carry carries[] = {
    CARRY("metadata.creationTimestamp", tt_node, created_us),
    CARRY("metadata.labels", tt_node, labels),
    CARRY("metadata.labels", tt_node, n_labels),
    CARRY("metadata.annotations", tt_node, annotations),
    CARRY("metadata.annotations", tt_node, n_annotations),
    CARRY("spec.providerID", tt_node, provider_id),
    CARRY("spec.taints", tt_node, taints),
    CARRY("spec.taints", tt_node, n_taints),
    CARRY("spec.podCIDRs", tt_node, pod_cidrs),
    CARRY("spec.podCIDRs", tt_node, n_pod_cidrs),
    CARRY("spec.unschedulable", tt_node, unschedulable),
    CARRY("status.conditions", tt_node, conditions),
    CARRY("status.conditions", tt_node, n_conditions),
    CARRY("status.addresses", tt_node, addresses),
    CARRY("status.addresses", tt_node, n_addresses),
    CARRY("status.nodeInfo.operatingSystem", tt_node, operating_system),
    CARRY("status.nodeInfo.architecture", tt_node, architecture),
    CARRY("status.nodeInfo.kubeletVersion", tt_node, kubelet_version),
    CARRY("status.nodeInfo.systemUUID", tt_node, system_uuid),
    CARRY("status.nodeInfo.machineID", tt_node, machine_id),
};

static void node_pack(struct pack *p, struct kube_object *o, const void *arg)
{
    const struct raw_node *raw = arg;
    const struct raw_meta *m = &raw->meta;
    struct tt_node *n = PACK_ARRAY(p, struct tt_node, 1);
    o->node = n;
    n->size = sizeof *n;
    n->name = o->key;
    n->uid = o->uid;
    n->resource_version = o->resource_version;
    n->created_us = m->created_us;
    n->deleted_us = m->deleted_us;
    n->labels = pack_kvs(p, m->labels, m->n_labels);
    n->n_labels = (uint32_t)m->n_labels;
    n->annotations = pack_kvs(p, m->annotations, m->n_annotations);
    n->n_annotations = (uint32_t)m->n_annotations;
    pack_node_spec(p, n, &raw->spec);
    pack_node_status(p, n, &raw->status);
    pack_carry(p, carries, ARRAY_LEN(carries), n, o->base == NULL ? NULL : o->base->node);
    n->flags = node_flags(n); /* harmless in the first run: its texts are the sources */
    n->flags |= p->lost != NULL ? TT_NODE_UNREADABLE : 0;
}

const struct kube_kind_ops kube_node_ops = {
    .resource = "nodes",
    .path = "/api/v1/nodes",
    .name = "Node",
    .word = "node",
    .namespaced = false,
    .members = members,
    .fields = node_fields,
    .raw_size = sizeof(struct raw_node),
    .finish = node_finish,
    .pack = node_pack,
};
