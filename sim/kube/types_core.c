/* SPDX-License-Identifier: Apache-2.0 */
/* types_core.c: Service, Node, Namespace, Endpoints, ConfigMap, Secret and ServiceAccount.
 *
 * Constant tables only; see types.h. */
#include "sim/kube/types.h"

#include "sim/kube/types_tables.h"

static const struct kube_field object_reference_fields[] = {
    F("kind", KF_STR),       F("namespace", KF_STR),       F("name", KF_STR),      F("uid", KF_STR),
    F("apiVersion", KF_STR), F("resourceVersion", KF_STR), F("fieldPath", KF_STR),
};
const struct kube_type kube_type_object_reference =
    TYPE("ObjectReference", CORE "ObjectReference", object_reference_fields);

/* --- Service ---------------------------------------------------------------------------------- */
static const struct kube_field port_status_fields[] = {
    F_R("port", KF_I32),
    F_R("protocol", KF_STR),
    F_P("error", KF_STR),
};
static const struct kube_type port_status =
    TYPE("PortStatus", CORE "PortStatus", port_status_fields);

static const struct kube_field ingress_fields[] = {
    F("ip", KF_STR),
    F("hostname", KF_STR),
    F_P("ipMode", KF_STR),
    OBJS("ports", port_status),
};
static const struct kube_type lb_ingress =
    TYPE("LoadBalancerIngress", CORE "LoadBalancerIngress", ingress_fields);

static const struct kube_field lb_status_fields[] = {OBJS("ingress", lb_ingress)};
static const struct kube_type lb_status =
    TYPE("LoadBalancerStatus", CORE "LoadBalancerStatus", lb_status_fields);

static const struct kube_field service_status_fields[] = {
    OBJ_K("loadBalancer", lb_status),
    OBJS_BY("conditions", kube_type_condition, "type"),
};
static const struct kube_type service_status =
    TYPE("ServiceStatus", CORE "ServiceStatus", service_status_fields);

static const struct kube_field client_ip_fields[] = {F_P("timeoutSeconds", KF_I32)};
static const struct kube_type client_ip =
    TYPE("ClientIPConfig", CORE "ClientIPConfig", client_ip_fields);
static const struct kube_field affinity_fields[] = {OBJ_P("clientIP", client_ip)};
static const struct kube_type affinity_config =
    TYPE("SessionAffinityConfig", CORE "SessionAffinityConfig", affinity_fields);

static const struct kube_field service_port_fields[] = {
    F("name", KF_STR),
    F("protocol", KF_STR),
    F_P("appProtocol", KF_STR),
    F_R("port", KF_I32),
    F_K("targetPort", KF_INT_OR_STR),
    F("nodePort", KF_I32),
};
static const struct kube_type service_port =
    TYPE("ServicePort", CORE "ServicePort", service_port_fields);

static const struct kube_field service_spec_fields[] = {
    OBJS_BY2("ports", service_port, "port", "port,protocol"),
    {.name = "selector", .kind = KF_STR_MAP, .flags = KFF_ATOMIC},
    F("clusterIP", KF_STR),
    F("clusterIPs", KF_STRS),
    F("type", KF_STR),
    F("externalIPs", KF_STRS),
    F("sessionAffinity", KF_STR),
    F("loadBalancerIP", KF_STR),
    F("loadBalancerSourceRanges", KF_STRS),
    F("externalName", KF_STR),
    F("externalTrafficPolicy", KF_STR),
    F("healthCheckNodePort", KF_I32),
    F("publishNotReadyAddresses", KF_BOOL),
    OBJ_P("sessionAffinityConfig", affinity_config),
    F("ipFamilies", KF_STRS),
    F_P("ipFamilyPolicy", KF_STR),
    F_P("allocateLoadBalancerNodePorts", KF_BOOL),
    F_P("loadBalancerClass", KF_STR),
    F_P("internalTrafficPolicy", KF_STR),
    F_P("trafficDistribution", KF_STR),
};
const struct kube_type kube_type_service_spec =
    TYPE("ServiceSpec", CORE "ServiceSpec", service_spec_fields);

static const struct kube_field service_fields[] = {
    WITH_STATUS(kube_type_service_spec, service_status)};
const struct kube_type kube_type_service = TYPE("Service", CORE "Service", service_fields);

/* --- Node ------------------------------------------------------------------------------------- */
static const struct kube_field taint_fields[] = {
    F_R("key", KF_STR),
    F("value", KF_STR),
    F_R("effect", KF_STR),
    F_P("timeAdded", KF_TIME),
};
static const struct kube_type taint = TYPE("Taint", CORE "Taint", taint_fields);

static const struct kube_field node_spec_fields[] = {
    F("podCIDR", KF_STR),        F_SET("podCIDRs"),     F("providerID", KF_STR),
    F("unschedulable", KF_BOOL), OBJS("taints", taint), F("configSource", KF_ANY),
    F("externalID", KF_STR),
};
static const struct kube_type node_spec = TYPE("NodeSpec", CORE "NodeSpec", node_spec_fields);

static const struct kube_field node_condition_fields[] = {
    F_R("type", KF_STR),
    F_R("status", KF_STR),
    F_K("lastHeartbeatTime", KF_TIME),
    F_K("lastTransitionTime", KF_TIME),
    F("reason", KF_STR),
    F("message", KF_STR),
};
static const struct kube_type node_condition =
    TYPE("NodeCondition", CORE "NodeCondition", node_condition_fields);

static const struct kube_field node_address_fields[] = {F_R("type", KF_STR),
                                                        F_R("address", KF_STR)};
static const struct kube_type node_address =
    TYPE("NodeAddress", CORE "NodeAddress", node_address_fields);

static const struct kube_field daemon_endpoint_fields[] = {F_R("Port", KF_I32)};
static const struct kube_type daemon_endpoint =
    TYPE("DaemonEndpoint", CORE "DaemonEndpoint", daemon_endpoint_fields);
static const struct kube_field daemon_endpoints_fields[] = {
    OBJ_K("kubeletEndpoint", daemon_endpoint)};
static const struct kube_type daemon_endpoints =
    TYPE("NodeDaemonEndpoints", CORE "NodeDaemonEndpoints", daemon_endpoints_fields);

static const struct kube_field swap_fields[] = {F_P("capacity", KF_I64)};
static const struct kube_type swap_status =
    TYPE("NodeSwapStatus", CORE "NodeSwapStatus", swap_fields);
static const struct kube_field system_info_fields[] = {
    F_R("machineID", KF_STR),       F_R("systemUUID", KF_STR),
    F_R("bootID", KF_STR),          F_R("kernelVersion", KF_STR),
    F_R("osImage", KF_STR),         F_R("containerRuntimeVersion", KF_STR),
    F_R("kubeletVersion", KF_STR),  F_R("kubeProxyVersion", KF_STR),
    F_R("operatingSystem", KF_STR), F_R("architecture", KF_STR),
    OBJ_P("swap", swap_status),
};
static const struct kube_type system_info =
    TYPE("NodeSystemInfo", CORE "NodeSystemInfo", system_info_fields);

static const struct kube_field image_fields[] = {F_K("names", KF_STRS), F("sizeBytes", KF_I64)};
static const struct kube_type container_image =
    TYPE("ContainerImage", CORE "ContainerImage", image_fields);

static const struct kube_field attached_fields[] = {F_R("name", KF_STR), F_R("devicePath", KF_STR)};
static const struct kube_type attached_volume =
    TYPE("AttachedVolume", CORE "AttachedVolume", attached_fields);

static const struct kube_field handler_features_fields[] = {
    F_P("recursiveReadOnlyMounts", KF_BOOL),
    F_P("userNamespaces", KF_BOOL),
};
static const struct kube_type handler_features =
    TYPE("NodeRuntimeHandlerFeatures", CORE "NodeRuntimeHandlerFeatures", handler_features_fields);
static const struct kube_field handler_fields[] = {
    F_K("name", KF_STR),
    OBJ_P("features", handler_features),
};
static const struct kube_type runtime_handler =
    TYPE("NodeRuntimeHandler", CORE "NodeRuntimeHandler", handler_fields);
static const struct kube_field node_features_fields[] = {F_P("supplementalGroupsPolicy", KF_BOOL)};
static const struct kube_type node_features =
    TYPE("NodeFeatures", CORE "NodeFeatures", node_features_fields);

static const struct kube_field node_status_fields[] = {
    F("capacity", KF_QTY_MAP),
    F("allocatable", KF_QTY_MAP),
    F("phase", KF_STR),
    OBJS_BY("conditions", node_condition, "type"),
    OBJS_BY("addresses", node_address, "type"),
    OBJ_K("daemonEndpoints", daemon_endpoints),
    OBJ_K("nodeInfo", system_info),
    OBJS("images", container_image),
    F("volumesInUse", KF_STRS),
    OBJS("volumesAttached", attached_volume),
    F("config", KF_ANY),
    OBJS("runtimeHandlers", runtime_handler),
    OBJ_P("features", node_features),
    F("declaredFeatures", KF_STRS),
};
static const struct kube_type node_status =
    TYPE("NodeStatus", CORE "NodeStatus", node_status_fields);

static const struct kube_field node_fields[] = {WITH_STATUS(node_spec, node_status)};
const struct kube_type kube_type_node = TYPE("Node", CORE "Node", node_fields);

/* --- Namespace -------------------------------------------------------------------------------- */
static const struct kube_field namespace_condition_fields[] = {
    F_R("type", KF_STR), F_R("status", KF_STR), F_K("lastTransitionTime", KF_TIME),
    F("reason", KF_STR), F("message", KF_STR),
};
static const struct kube_type namespace_condition =
    TYPE("NamespaceCondition", CORE "NamespaceCondition", namespace_condition_fields);
static const struct kube_field namespace_spec_fields[] = {F("finalizers", KF_STRS)};
static const struct kube_type namespace_spec =
    TYPE("NamespaceSpec", CORE "NamespaceSpec", namespace_spec_fields);
static const struct kube_field namespace_status_fields[] = {
    F("phase", KF_STR),
    OBJS_BY("conditions", namespace_condition, "type"),
};
static const struct kube_type namespace_status =
    TYPE("NamespaceStatus", CORE "NamespaceStatus", namespace_status_fields);
static const struct kube_field namespace_fields[] = {WITH_STATUS(namespace_spec, namespace_status)};
const struct kube_type kube_type_namespace = TYPE("Namespace", CORE "Namespace", namespace_fields);

/* --- Endpoints, ConfigMap, Secret, ServiceAccount --------------------------------------------- */
static const struct kube_field ep_address_fields[] = {
    F_R("ip", KF_STR),
    F("hostname", KF_STR),
    F_P("nodeName", KF_STR),
    OBJ_P("targetRef", kube_type_object_reference),
};
static const struct kube_type ep_address =
    TYPE("EndpointAddress", CORE "EndpointAddress", ep_address_fields);
static const struct kube_field ep_port_fields[] = {
    F("name", KF_STR),
    F_R("port", KF_I32),
    F("protocol", KF_STR),
    F_P("appProtocol", KF_STR),
};
static const struct kube_type ep_port = TYPE("EndpointPort", CORE "EndpointPort", ep_port_fields);
static const struct kube_field ep_subset_fields[] = {
    OBJS("addresses", ep_address),
    OBJS("notReadyAddresses", ep_address),
    OBJS("ports", ep_port),
};
static const struct kube_type ep_subset =
    TYPE("EndpointSubset", CORE "EndpointSubset", ep_subset_fields);
static const struct kube_field endpoints_fields[] = {OBJECT_HEAD, OBJS("subsets", ep_subset)};
const struct kube_type kube_type_endpoints = TYPE("Endpoints", CORE "Endpoints", endpoints_fields);

static const struct kube_field config_map_fields[] = {
    OBJECT_HEAD,
    F_P("immutable", KF_BOOL),
    F("data", KF_STR_MAP),
    F("binaryData", KF_BYTES_MAP),
};
const struct kube_type kube_type_config_map =
    TYPE("ConfigMap", CORE "ConfigMap", config_map_fields);

static const struct kube_field secret_fields[] = {
    OBJECT_HEAD,
    F_P("immutable", KF_BOOL),
    F("data", KF_BYTES_MAP),
    F("stringData", KF_STR_MAP),
    F("type", KF_STR),
};
const struct kube_type kube_type_secret = TYPE("Secret", CORE "Secret", secret_fields);

static const struct kube_field local_reference_fields[] = {F("name", KF_STR)};
static const struct kube_type local_reference =
    TYPE("LocalObjectReference", CORE "LocalObjectReference", local_reference_fields);
static const struct kube_field service_account_fields[] = {
    OBJECT_HEAD,
    OBJS_BY("secrets", kube_type_object_reference, "name"),
    OBJS("imagePullSecrets", local_reference),
    F_P("automountServiceAccountToken", KF_BOOL),
};
const struct kube_type kube_type_service_account =
    TYPE("ServiceAccount", CORE "ServiceAccount", service_account_fields);
