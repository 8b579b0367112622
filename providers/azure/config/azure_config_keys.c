/* SPDX-License-Identifier: Apache-2.0 */
/* azure_config_keys.c: the tables of azure_config_keys.h. */
#include "providers/azure/config/azure_config_keys.h"

#define KEY(name_, type_, member)                                                                  \
    {                                                                                              \
        name_, AZURE_KEY_##type_, offsetof(struct azure_raw, member)                               \
    }
#define UNUSED(name_, type_)                                                                       \
    {                                                                                              \
        name_, AZURE_KEY_##type_, AZURE_KEY_UNUSED                                                 \
    }
#define LB(name_, type_, member)                                                                   \
    {                                                                                              \
        name_, AZURE_KEY_##type_, offsetof(struct azure_raw_lb, member)                            \
    }

#define BLOCK(name_, member, below_)                                                               \
    {                                                                                              \
        name_, AZURE_KEY_BLOCK, offsetof(struct azure_raw, member), below_                         \
    }
#define LIMIT(name_, which) BLOCK(name_, c.limits[AZURE_LIMIT_##which], rate_limit_keys)
#define IN(block, name_, type_, member)                                                            \
    {                                                                                              \
        name_, AZURE_KEY_##type_, offsetof(struct block, member)                                   \
    }

static const struct azure_key rate_limit_keys[] = {
    IN(azure_rate_limit, "cloudProviderRateLimit", SWITCH, on),
    IN(azure_rate_limit, "cloudProviderRateLimitQPS", REAL, qps),
    IN(azure_rate_limit, "cloudProviderRateLimitQPSWrite", REAL, qps_write),
    IN(azure_rate_limit, "cloudProviderRateLimitBucket", NUMBER, bucket),
    IN(azure_rate_limit, "cloudProviderRateLimitBucketWrite", NUMBER, bucket_write),
    {0},
};
static const struct azure_key vault_keys[] = {
    IN(azure_vault, "subscriptionID", TEXT, subscription_id),
    IN(azure_vault, "resourceGroup", TEXT, resource_group),
    IN(azure_vault, "vaultName", TEXT, vault_name),
    IN(azure_vault, "secretName", TEXT, secret_name),
    {0},
};

const struct azure_key azure_config_keys[] = {
    /* where */
    KEY("cloud", WORD, c.cloud),
    KEY("resourceManagerEndpoint", WORD, c.resource_manager_endpoint),
    KEY("disableAzureStackCloud", SWITCH, c.disable_stack_cloud),
    KEY("tenantId", WORD, c.tenant_id),
    KEY("subscriptionId", WORD, c.subscription_id),
    KEY("networkResourceTenantID", WORD, c.network_tenant_id),
    KEY("networkResourceSubscriptionID", WORD, c.network_subscription_id),
    KEY("resourceGroup", TEXT, c.resource_group),
    KEY("location", TEXT, c.location),
    KEY("extendedLocationName", TEXT, c.extended_location_name),
    KEY("extendedLocationType", TEXT, c.extended_location_type),
    /* network */
    KEY("vnetName", TEXT, c.vnet_name),
    KEY("vnetResourceGroup", TEXT, c.vnet_resource_group_text),
    KEY("subnetName", TEXT, c.subnet_name),
    KEY("securityGroupName", TEXT, c.security_group_name),
    KEY("securityGroupResourceGroup", TEXT, c.security_group_resource_group),
    KEY("routeTableName", TEXT, c.route_table_name),
    KEY("routeTableResourceGroup", TEXT, c.route_table_resource_group),
    KEY("loadBalancerResourceGroup", TEXT, c.lb_resource_group),
    KEY("privateLinkServiceResourceGroup", TEXT, c.pls_resource_group),
    /* machines */
    KEY("vmType", TEXT, c.vm_type_text),
    KEY("primaryAvailabilitySetName", TEXT, c.primary_availability_set),
    KEY("primaryScaleSetName", TEXT, c.primary_scale_set),
    KEY("disableAvailabilitySetNodes", SWITCH, c.disable_availability_set_nodes),
    KEY("enableVmssFlexNodes", SWITCH, c.enable_vmss_flex_nodes),
    KEY("putVMSSVMBatchSize", NUMBER, c.put_vmss_vm_batch_size),
    /* load balancers */
    KEY("loadBalancerSku", TEXT, c.lb_sku_text),
    KEY("loadBalancerName", TEXT, c.lb_name),
    KEY("preConfiguredBackendPoolLoadBalancerTypes", TEXT, c.preconfigured_pools),
    KEY("maximumLoadBalancerRuleCount", NUMBER, c.max_rules),
    KEY("excludeMasterFromStandardLB", FLAG, exclude_masters),
    KEY("disableOutboundSNAT", FLAG, disable_outbound_snat),
    KEY("loadBalancerBackendPoolConfigurationType", TEXT, c.pool_type_text),
    KEY("enableMigrateToIPBasedBackendPoolAPI", SWITCH, c.migrate_to_ip_pools),
    KEY("multipleStandardLoadBalancerConfigurations", LIST, lbs),
    KEY("loadBalancerBackendPoolUpdateIntervalInSeconds", NUMBER, c.pool_update_interval_s),
    KEY("clusterServiceLoadBalancerHealthProbeMode", TEXT, c.probe_mode_text),
    KEY("clusterServiceSharedLoadBalancerHealthProbePort", NUMBER, c.shared_probe_port),
    KEY("clusterServiceSharedLoadBalancerHealthProbePath", TEXT, c.shared_probe_path),
    KEY("enableIPTagMutationForExistingPublicIP", SWITCH, c.mutate_ip_tags),
    KEY("serviceGatewayEnabled", SWITCH, c.service_gateway),
    /* what annotations of Services may name; trimtab's own */
    KEY("allowedResourceGroups", NAMES, c.allowed_groups),
    KEY("allowedSubscriptions", NAMES, c.allowed_subscriptions),
    KEY("lenientInternal", SWITCH, c.lenient_internal),
    /* tags */
    KEY("tags", TEXT, c.tags),
    KEY("tagsMap", MAP, tags_map),
    KEY("systemTags", TEXT, c.system_tags),
    /* transport */
    KEY("userAgent", WORD, c.user_agent),
    KEY("cloudProviderBackoff", SWITCH, c.backoff),
    KEY("cloudProviderBackoffRetries", NUMBER, c.backoff_retries),
    KEY("cloudProviderBackoffDuration", NUMBER, c.backoff_duration_s),
    KEY("cloudProviderBackoffExponent", REAL, c.backoff_exponent),
    KEY("cloudProviderBackoffJitter", REAL, c.backoff_jitter),
    KEY("enableMinimumRetryAfter", SWITCH, c.min_retry_after),
    KEY("cloudProviderRateLimit", SWITCH, c.rate_limit.on),
    KEY("cloudProviderRateLimitQPS", REAL, c.rate_limit.qps),
    KEY("cloudProviderRateLimitQPSWrite", REAL, c.rate_limit.qps_write),
    KEY("cloudProviderRateLimitBucket", NUMBER, c.rate_limit.bucket),
    KEY("cloudProviderRateLimitBucketWrite", NUMBER, c.rate_limit.bucket_write),
    LIMIT("loadBalancerRateLimit", LB),
    LIMIT("publicIPAddressRateLimit", PIP),
    LIMIT("securityGroupRateLimit", NSG),
    LIMIT("subnetsRateLimit", SUBNET),
    LIMIT("privateLinkServiceRateLimit", PLS),
    LIMIT("interfaceRateLimit", NIC),
    LIMIT("virtualMachineRateLimit", VM),
    LIMIT("availabilitySetRateLimit", SET),
    LIMIT("virtualMachineScaleSetRateLimit", VMSS),
    KEY("disableAPICallCache", SWITCH, c.disable_api_call_cache),
    KEY("loadBalancerCacheTTLInSeconds", NUMBER, c.lb_cache_s),
    KEY("nsgCacheTTLInSeconds", NUMBER, c.nsg_cache_s),
    KEY("publicIPCacheTTLInSeconds", NUMBER, c.pip_cache_s),
    KEY("plsCacheTTLInSeconds", NUMBER, c.pls_cache_s),
    KEY("vmCacheTTLInSeconds", NUMBER, c.vm_cache_s),
    KEY("vmssCacheTTLInSeconds", NUMBER, c.vmss_cache_s),
    KEY("vmssVirtualMachinesCacheTTLInSeconds", NUMBER, c.vmss_vm_cache_s),
    KEY("vmssFlexCacheTTLInSeconds", NUMBER, c.vmss_flex_cache_s),
    KEY("vmssFlexVMCacheTTLInSeconds", NUMBER, c.vmss_flex_vm_cache_s),
    KEY("availabilitySetsCacheTTLInSeconds", NUMBER, c.availability_set_cache_s),
    KEY("listVmssVirtualMachinesWithoutInstanceView", SWITCH, c.vmss_vm_without_instance_view),
    KEY("useInstanceMetadata", SWITCH, c.use_instance_metadata),
    KEY("cloudConfigType", TEXT, c.config_type),
    /* credentials */
    KEY("aadClientId", WORD, c.client_id),
    KEY("aadClientSecret", WORD, c.client_secret),
    KEY("aadClientCertPath", WORD, c.client_cert_path),
    KEY("aadClientCertPassword", WORD, c.client_cert_password),
    KEY("useManagedIdentityExtension", SWITCH, c.managed_identity),
    KEY("userAssignedIdentityID", WORD, c.user_assigned_identity),
    KEY("aadFederatedTokenFile", WORD, c.federated_token_file),
    KEY("useFederatedWorkloadIdentityExtension", SWITCH, c.workload_identity),
    KEY("aadMSIDataPlaneIdentityPath", WORD, c.msi_data_plane_path),
    BLOCK("auxiliaryTokenProvider", c.vault, vault_keys),
    KEY("disableCloudProvider", SWITCH, c.disabled),
    /* read by the other controllers of a cluster, or by older releases */
    UNUSED("identitySystem", WORD),
    UNUSED("nodeInstanceNotFoundGracePeriodInSeconds", NUMBER),
    UNUSED("nonVmssUniformNodesCacheTTLInSeconds", NUMBER),
    UNUSED("availabilitySetNodesCacheTTLInSeconds", NUMBER),
    UNUSED("routeTableCacheTTLInSeconds", NUMBER),
    UNUSED("routeUpdateWaitingInSeconds", NUMBER),
    UNUSED("routeUpdateIntervalInSeconds", NUMBER),
    UNUSED("routeRateLimit", OBJECT),
    UNUSED("routeTableRateLimit", OBJECT),
    UNUSED("storageAccountRateLimit", OBJECT),
    UNUSED("diskRateLimit", OBJECT),
    UNUSED("snapshotRateLimit", OBJECT),
    UNUSED("virtualMachineSizeRateLimit", OBJECT),
    UNUSED("attachDetachDiskRateLimit", OBJECT),
    UNUSED("containerServiceRateLimit", OBJECT),
    UNUSED("deploymentRateLimit", OBJECT),
    UNUSED("privateDNSRateLimit", OBJECT),
    UNUSED("privateDNSZoneGroupRateLimit", OBJECT),
    UNUSED("privateEndpointRateLimit", OBJECT),
    UNUSED("virtualNetworkRateLimit", OBJECT),
    {0},
};

const struct azure_key azure_lb_config_keys[] = {
    LB("name", TEXT, name),
    LB("primaryVMSet", WORD, primary_vm_set),
    LB("allowServicePlacement", FLAG, allow_placement),
    LB("serviceLabelSelector", OBJECT, services),
    LB("serviceNamespaceSelector", OBJECT, namespaces),
    LB("nodeSelector", OBJECT, nodes),
    /* run-time state, which upstream happens to accept; a list in its place is refused
     * (18 row 4) */
    UNUSED("activeServices", OBJECT),
    UNUSED("activeNodes", OBJECT),
    {0},
};
