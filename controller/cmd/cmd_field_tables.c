/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_field_tables.c: the fields of Service and Node, at every level.
 *
 * Constant tables only; see cmd_fields.h for their source and the test that holds them. */
#include "controller/cmd/cmd_fields.h"

#define TYPE(name, rows)                                                                           \
    {                                                                                              \
        name, rows, ARRAY_LEN(rows)                                                                \
    }

static const char *const protocols[] = {"SCTP", "TCP", "UDP", NULL};
static const char *const policies[] = {"Cluster", "Local", NULL};
static const char *const ip_families[] = {"IPv4", "IPv6", NULL};
static const char *const family_policies[] = {"PreferDualStack", "RequireDualStack", "SingleStack",
                                              NULL};
static const char *const affinities[] = {"ClientIP", "None", NULL};
static const char *const service_types[] = {"ClusterIP", "ExternalName", "LoadBalancer", "NodePort",
                                            NULL};
static const char *const taint_effects[] = {"NoExecute", "NoSchedule", "PreferNoSchedule", NULL};
static const char *const node_phases[] = {"Pending", "Running", "Terminated", NULL};

static const struct cmd_field managed_fields_entry_fields[] = {
    {"apiVersion", CMD_TEXT}, {"fieldsType", CMD_TEXT}, {"fieldsV1", CMD_ANY},
    {"manager", CMD_TEXT},    {"operation", CMD_TEXT},  {"subresource", CMD_TEXT},
    {"time", CMD_TIME},
};
static const struct cmd_type managed_fields_entry =
    TYPE("apis.meta.v1.ManagedFieldsEntry", managed_fields_entry_fields);

static const struct cmd_field owner_reference_fields[] = {
    {"apiVersion", CMD_TEXT}, {"blockOwnerDeletion", CMD_BOOL},
    {"controller", CMD_BOOL}, {"kind", CMD_TEXT},
    {"name", CMD_TEXT},       {"uid", CMD_TEXT},
};
static const struct cmd_type owner_reference =
    TYPE("apis.meta.v1.OwnerReference", owner_reference_fields);

static const struct cmd_field object_meta_fields[] = {
    {"annotations", CMD_TEXT_MAP},
    {"creationTimestamp", CMD_TIME},
    {"deletionGracePeriodSeconds", CMD_I64},
    {"deletionTimestamp", CMD_TIME},
    {"finalizers", CMD_TEXTS},
    {"generateName", CMD_TEXT},
    {"generation", CMD_I64},
    {"labels", CMD_TEXT_MAP},
    {"managedFields", CMD_OBJECTS, &managed_fields_entry},
    {"name", CMD_TEXT},
    {"namespace", CMD_TEXT},
    {"ownerReferences", CMD_OBJECTS, &owner_reference},
    {"resourceVersion", CMD_TEXT},
    {"selfLink", CMD_TEXT},
    {"uid", CMD_TEXT},
};
static const struct cmd_type object_meta = TYPE("apis.meta.v1.ObjectMeta", object_meta_fields);

static const struct cmd_field service_port_fields[] = {
    {"appProtocol", CMD_TEXT},
    {"name", CMD_TEXT},
    {"nodePort", CMD_I32},
    {"port", CMD_I32},
    {"protocol", CMD_TEXT, .one_of = protocols},
    {"targetPort", CMD_INT_OR_TEXT},
};
static const struct cmd_type service_port = TYPE("core.v1.ServicePort", service_port_fields);

static const struct cmd_field client_ip_config_fields[] = {
    {"timeoutSeconds", CMD_I32},
};
static const struct cmd_type client_ip_config =
    TYPE("core.v1.ClientIPConfig", client_ip_config_fields);

static const struct cmd_field session_affinity_config_fields[] = {
    {"clientIP", CMD_OBJECT, &client_ip_config},
};
static const struct cmd_type session_affinity_config =
    TYPE("core.v1.SessionAffinityConfig", session_affinity_config_fields);

static const struct cmd_field service_spec_fields[] = {
    {"allocateLoadBalancerNodePorts", CMD_BOOL},
    {"clusterIP", CMD_TEXT},
    {"clusterIPs", CMD_TEXTS},
    {"externalIPs", CMD_TEXTS},
    {"externalName", CMD_TEXT},
    {"externalTrafficPolicy", CMD_TEXT, .one_of = policies},
    {"healthCheckNodePort", CMD_I32},
    {"internalTrafficPolicy", CMD_TEXT, .one_of = policies, .empty_counts = true},
    {"ipFamilies", CMD_TEXTS, .one_of = ip_families},
    {"ipFamilyPolicy", CMD_TEXT, .one_of = family_policies, .empty_counts = true},
    {"loadBalancerClass", CMD_TEXT},
    {"loadBalancerIP", CMD_TEXT},
    {"loadBalancerSourceRanges", CMD_TEXTS},
    {"ports", CMD_OBJECTS, &service_port},
    {"publishNotReadyAddresses", CMD_BOOL},
    {"selector", CMD_TEXT_MAP},
    {"sessionAffinity", CMD_TEXT, .one_of = affinities},
    {"sessionAffinityConfig", CMD_OBJECT, &session_affinity_config},
    {"trafficDistribution", CMD_TEXT},
    {"type", CMD_TEXT, .one_of = service_types},
};
static const struct cmd_type service_spec = TYPE("core.v1.ServiceSpec", service_spec_fields);

static const struct cmd_field condition_fields[] = {
    {"lastTransitionTime", CMD_TIME},
    {"message", CMD_TEXT},
    {"observedGeneration", CMD_I64},
    {"reason", CMD_TEXT},
    {"status", CMD_TEXT},
    {"type", CMD_TEXT},
};
static const struct cmd_type condition = TYPE("apis.meta.v1.Condition", condition_fields);

static const struct cmd_field port_status_fields[] = {
    {"error", CMD_TEXT},
    {"port", CMD_I32},
    {"protocol", CMD_TEXT, .one_of = protocols},
};
static const struct cmd_type port_status = TYPE("core.v1.PortStatus", port_status_fields);

static const struct cmd_field load_balancer_ingress_fields[] = {
    {"hostname", CMD_TEXT},
    {"ip", CMD_TEXT},
    {"ipMode", CMD_TEXT},
    {"ports", CMD_OBJECTS, &port_status},
};
static const struct cmd_type load_balancer_ingress =
    TYPE("core.v1.LoadBalancerIngress", load_balancer_ingress_fields);

static const struct cmd_field load_balancer_status_fields[] = {
    {"ingress", CMD_OBJECTS, &load_balancer_ingress},
};
static const struct cmd_type load_balancer_status =
    TYPE("core.v1.LoadBalancerStatus", load_balancer_status_fields);

static const struct cmd_field service_status_fields[] = {
    {"conditions", CMD_OBJECTS, &condition},
    {"loadBalancer", CMD_OBJECT, &load_balancer_status},
};
static const struct cmd_type service_status = TYPE("core.v1.ServiceStatus", service_status_fields);

static const struct cmd_field service_fields[] = {
    {"apiVersion", CMD_TEXT},
    {"kind", CMD_TEXT},
    {"metadata", CMD_OBJECT, &object_meta},
    {"spec", CMD_OBJECT, &service_spec},
    {"status", CMD_OBJECT, &service_status},
};
const struct cmd_type cmd_type_service = TYPE("core.v1.Service", service_fields);

static const struct cmd_field config_map_node_config_source_fields[] = {
    {"kubeletConfigKey", CMD_TEXT}, {"name", CMD_TEXT}, {"namespace", CMD_TEXT},
    {"resourceVersion", CMD_TEXT},  {"uid", CMD_TEXT},
};
static const struct cmd_type config_map_node_config_source =
    TYPE("core.v1.ConfigMapNodeConfigSource", config_map_node_config_source_fields);

static const struct cmd_field node_config_source_fields[] = {
    {"configMap", CMD_OBJECT, &config_map_node_config_source},
};
static const struct cmd_type node_config_source =
    TYPE("core.v1.NodeConfigSource", node_config_source_fields);

static const struct cmd_field taint_fields[] = {
    {"effect", CMD_TEXT, .one_of = taint_effects},
    {"key", CMD_TEXT},
    {"timeAdded", CMD_TIME},
    {"value", CMD_TEXT},
};
static const struct cmd_type taint = TYPE("core.v1.Taint", taint_fields);

static const struct cmd_field node_spec_fields[] = {
    {"configSource", CMD_OBJECT, &node_config_source},
    {"externalID", CMD_TEXT},
    {"podCIDR", CMD_TEXT},
    {"podCIDRs", CMD_TEXTS},
    {"providerID", CMD_TEXT},
    {"taints", CMD_OBJECTS, &taint},
    {"unschedulable", CMD_BOOL},
};
static const struct cmd_type node_spec = TYPE("core.v1.NodeSpec", node_spec_fields);

static const struct cmd_field node_address_fields[] = {
    {"address", CMD_TEXT},
    {"type", CMD_TEXT},
};
static const struct cmd_type node_address = TYPE("core.v1.NodeAddress", node_address_fields);

static const struct cmd_field node_condition_fields[] = {
    {"lastHeartbeatTime", CMD_TIME},
    {"lastTransitionTime", CMD_TIME},
    {"message", CMD_TEXT},
    {"reason", CMD_TEXT},
    {"status", CMD_TEXT},
    {"type", CMD_TEXT},
};
static const struct cmd_type node_condition = TYPE("core.v1.NodeCondition", node_condition_fields);

static const struct cmd_field node_config_status_fields[] = {
    {"active", CMD_OBJECT, &node_config_source},
    {"assigned", CMD_OBJECT, &node_config_source},
    {"error", CMD_TEXT},
    {"lastKnownGood", CMD_OBJECT, &node_config_source},
};
static const struct cmd_type node_config_status =
    TYPE("core.v1.NodeConfigStatus", node_config_status_fields);

static const struct cmd_field daemon_endpoint_fields[] = {
    {"Port", CMD_I32},
};
static const struct cmd_type daemon_endpoint =
    TYPE("core.v1.DaemonEndpoint", daemon_endpoint_fields);

static const struct cmd_field node_daemon_endpoints_fields[] = {
    {"kubeletEndpoint", CMD_OBJECT, &daemon_endpoint},
};
static const struct cmd_type node_daemon_endpoints =
    TYPE("core.v1.NodeDaemonEndpoints", node_daemon_endpoints_fields);

static const struct cmd_field node_features_fields[] = {
    {"supplementalGroupsPolicy", CMD_BOOL},
};
static const struct cmd_type node_features = TYPE("core.v1.NodeFeatures", node_features_fields);

static const struct cmd_field container_image_fields[] = {
    {"names", CMD_TEXTS},
    {"sizeBytes", CMD_I64},
};
static const struct cmd_type container_image =
    TYPE("core.v1.ContainerImage", container_image_fields);

static const struct cmd_field node_swap_status_fields[] = {
    {"capacity", CMD_I64},
};
static const struct cmd_type node_swap_status =
    TYPE("core.v1.NodeSwapStatus", node_swap_status_fields);

static const struct cmd_field node_system_info_fields[] = {
    {"architecture", CMD_TEXT},
    {"bootID", CMD_TEXT},
    {"containerRuntimeVersion", CMD_TEXT},
    {"kernelVersion", CMD_TEXT},
    {"kubeProxyVersion", CMD_TEXT},
    {"kubeletVersion", CMD_TEXT},
    {"machineID", CMD_TEXT},
    {"operatingSystem", CMD_TEXT},
    {"osImage", CMD_TEXT},
    {"swap", CMD_OBJECT, &node_swap_status},
    {"systemUUID", CMD_TEXT},
};
static const struct cmd_type node_system_info =
    TYPE("core.v1.NodeSystemInfo", node_system_info_fields);

static const struct cmd_field node_runtime_handler_features_fields[] = {
    {"recursiveReadOnlyMounts", CMD_BOOL},
    {"userNamespaces", CMD_BOOL},
};
static const struct cmd_type node_runtime_handler_features =
    TYPE("core.v1.NodeRuntimeHandlerFeatures", node_runtime_handler_features_fields);

static const struct cmd_field node_runtime_handler_fields[] = {
    {"features", CMD_OBJECT, &node_runtime_handler_features},
    {"name", CMD_TEXT},
};
static const struct cmd_type node_runtime_handler =
    TYPE("core.v1.NodeRuntimeHandler", node_runtime_handler_fields);

static const struct cmd_field attached_volume_fields[] = {
    {"devicePath", CMD_TEXT},
    {"name", CMD_TEXT},
};
static const struct cmd_type attached_volume =
    TYPE("core.v1.AttachedVolume", attached_volume_fields);

static const struct cmd_field node_status_fields[] = {
    {"addresses", CMD_OBJECTS, &node_address},
    {"allocatable", CMD_QUANTITY_MAP},
    {"capacity", CMD_QUANTITY_MAP},
    {"conditions", CMD_OBJECTS, &node_condition},
    {"config", CMD_OBJECT, &node_config_status},
    {"daemonEndpoints", CMD_OBJECT, &node_daemon_endpoints},
    {"declaredFeatures", CMD_TEXTS},
    {"features", CMD_OBJECT, &node_features},
    {"images", CMD_OBJECTS, &container_image},
    {"nodeInfo", CMD_OBJECT, &node_system_info},
    {"phase", CMD_TEXT, .one_of = node_phases},
    {"runtimeHandlers", CMD_OBJECTS, &node_runtime_handler},
    {"volumesAttached", CMD_OBJECTS, &attached_volume},
    {"volumesInUse", CMD_TEXTS},
};
static const struct cmd_type node_status = TYPE("core.v1.NodeStatus", node_status_fields);

static const struct cmd_field node_fields[] = {
    {"apiVersion", CMD_TEXT},
    {"kind", CMD_TEXT},
    {"metadata", CMD_OBJECT, &object_meta},
    {"spec", CMD_OBJECT, &node_spec},
    {"status", CMD_OBJECT, &node_status},
};
const struct cmd_type cmd_type_node = TYPE("core.v1.Node", node_fields);

static const struct cmd_field shard_info_fields[] = {
    {"selector", CMD_TEXT},
};
static const struct cmd_type shard_info = TYPE("apis.meta.v1.ShardInfo", shard_info_fields);

static const struct cmd_field list_meta_fields[] = {
    {"continue", CMD_TEXT}, {"remainingItemCount", CMD_I64},        {"resourceVersion", CMD_TEXT},
    {"selfLink", CMD_TEXT}, {"shardInfo", CMD_OBJECT, &shard_info},
};
static const struct cmd_type list_meta = TYPE("apis.meta.v1.ListMeta", list_meta_fields);

static const struct cmd_field list_fields[] = {
    {"apiVersion", CMD_TEXT},
    {"items", CMD_ANY},
    {"kind", CMD_TEXT},
    {"metadata", CMD_OBJECT, &list_meta},
};
const struct cmd_type cmd_type_list = TYPE("core.v1.List", list_fields);
