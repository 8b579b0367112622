/* SPDX-License-Identifier: Apache-2.0 */
/* small_members.c: see small_members.h.  The order of rows is the order in which texts are written:
 * a text that many others repeat comes early.  `size` has no row: the reader knows it. */
#include "controller/kube/store/small_members.h"

#include <trimtab/types.h>

#include "common/base/attr.h"

#define ROW(kind, s, member)                                                                       \
    {                                                                                              \
        .type = (kind), .at = offsetof(struct s, member)                                           \
    }
/* With a count in n_`member`. */
#define ROW_LIST(kind, s, member)                                                                  \
    {                                                                                              \
        .type = (kind), .at = offsetof(struct s, member), .n_at = offsetof(struct s, n_##member)   \
    }
#define ROW_STRUCTS(s, member, table)                                                              \
    {                                                                                              \
        .type = SMALL_STRUCTS, .at = offsetof(struct s, member),                                   \
        .n_at = offsetof(struct s, n_##member), .sub = (table)                                     \
    }
#define STRUCT(s, rows)                                                                            \
    {                                                                                              \
        .size = sizeof(struct s), .n = ARRAY_LEN(rows), .members = (rows)                          \
    }

static const struct small_member port_members[] = {
    ROW(SMALL_WORD, tt_port, name),         ROW(SMALL_WORD, tt_port, protocol),
    ROW(SMALL_WORD, tt_port, app_protocol), ROW(SMALL_WORD, tt_port, target_name),
    ROW(SMALL_I32, tt_port, target_port),   ROW(SMALL_I32, tt_port, port),
    ROW(SMALL_I32, tt_port, node_port),
};
static const struct small_struct port = STRUCT(tt_port, port_members);

static const struct small_member port_status_members[] = {
    ROW(SMALL_WORD, tt_port_status, protocol),
    ROW(SMALL_TEXT, tt_port_status, error),
    ROW(SMALL_I32, tt_port_status, port),
};
static const struct small_struct port_status = STRUCT(tt_port_status, port_status_members);

static const struct small_member ingress_members[] = {
    ROW(SMALL_TEXT, tt_ingress, ip),
    ROW(SMALL_TEXT, tt_ingress, hostname),
    ROW(SMALL_WORD, tt_ingress, ip_mode),
    ROW_STRUCTS(tt_ingress, ports, &port_status),
};
static const struct small_struct ingress = STRUCT(tt_ingress, ingress_members);

static const struct small_member condition_members[] = {
    ROW(SMALL_WORD, tt_condition, type),
    ROW(SMALL_WORD, tt_condition, status),
    ROW(SMALL_WORD, tt_condition, reason),
    ROW(SMALL_TEXT, tt_condition, message),
    ROW(SMALL_TIME, tt_condition, last_transition_us),
    ROW(SMALL_I64, tt_condition, observed_generation),
};
static const struct small_struct condition = STRUCT(tt_condition, condition_members);

static const struct small_member service_members[] = {
    ROW(SMALL_TEXT, tt_service, ns),
    ROW(SMALL_TEXT, tt_service, name),
    ROW(SMALL_TEXT, tt_service, uid),
    ROW(SMALL_TEXT, tt_service, resource_version),
    ROW(SMALL_I64, tt_service, generation),
    ROW(SMALL_TIME, tt_service, created_us),
    ROW(SMALL_TIME, tt_service, deleted_us),
    ROW_LIST(SMALL_KVS, tt_service, labels),
    ROW_LIST(SMALL_KVS, tt_service, annotations),
    ROW_LIST(SMALL_TEXTS, tt_service, finalizers),
    ROW(SMALL_U32, tt_service, has_annotations),
    ROW(SMALL_WORD, tt_service, type),
    ROW(SMALL_WORD, tt_service, lb_class),
    ROW_STRUCTS(tt_service, ports, &port),
    ROW(SMALL_WORD, tt_service, session_affinity),
    ROW(SMALL_I32, tt_service, affinity_timeout_s),
    ROW(SMALL_I32, tt_service, health_check_node_port),
    ROW(SMALL_TEXT, tt_service, lb_ip),
    ROW_LIST(SMALL_TEXTS, tt_service, source_ranges),
    ROW_LIST(SMALL_TEXTS, tt_service, external_ips),
    ROW(SMALL_WORD, tt_service, external_traffic_policy),
    ROW(SMALL_WORD, tt_service, internal_traffic_policy),
    ROW_LIST(SMALL_TEXTS, tt_service, ip_families),
    ROW(SMALL_WORD, tt_service, ip_family_policy),
    ROW_LIST(SMALL_TEXTS, tt_service, cluster_ips),
    ROW(SMALL_WORD, tt_service, traffic_distribution),
    ROW(SMALL_TEXT, tt_service, external_name),
    ROW_LIST(SMALL_KVS, tt_service, selector),
    ROW(SMALL_U32, tt_service, has_source_ranges),
    ROW(SMALL_U32, tt_service, allocate_node_ports),
    ROW(SMALL_U32, tt_service, publish_not_ready),
    ROW(SMALL_U32, tt_service, flags),
    ROW_STRUCTS(tt_service, ingress, &ingress),
    ROW_STRUCTS(tt_service, conditions, &condition),
};
const struct small_struct small_service = STRUCT(tt_service, service_members);

static const struct small_member endpoint_members[] = {
    ROW(SMALL_TEXT, tt_endpoint, address),    ROW(SMALL_TEXT, tt_endpoint, node_name),
    ROW(SMALL_WORD, tt_endpoint, zone),       ROW(SMALL_WORD, tt_endpoint, target_kind),
    ROW(SMALL_TEXT, tt_endpoint, target_ns),  ROW(SMALL_TEXT, tt_endpoint, target_name),
    ROW(SMALL_TEXT, tt_endpoint, target_uid), ROW(SMALL_U32, tt_endpoint, flags),
};
static const struct small_struct endpoint = STRUCT(tt_endpoint, endpoint_members);

static const struct small_member endpoint_port_members[] = {
    ROW(SMALL_WORD, tt_endpoint_port, name),
    ROW(SMALL_WORD, tt_endpoint_port, protocol),
    ROW(SMALL_WORD, tt_endpoint_port, app_protocol),
    ROW(SMALL_I32, tt_endpoint_port, port),
};
static const struct small_struct endpoint_port = STRUCT(tt_endpoint_port, endpoint_port_members);

static const struct small_member slice_members[] = {
    ROW(SMALL_TEXT, tt_slice, ns),
    ROW(SMALL_TEXT, tt_slice, name),
    ROW(SMALL_TEXT, tt_slice, uid),
    ROW(SMALL_TEXT, tt_slice, service),
    ROW(SMALL_WORD, tt_slice, address_type),
    ROW_STRUCTS(tt_slice, endpoints, &endpoint),
    ROW_STRUCTS(tt_slice, ports, &endpoint_port),
};
const struct small_struct small_slice = STRUCT(tt_slice, slice_members);
