/* SPDX-License-Identifier: Apache-2.0 */
/* kinds.c: which resources this cloud has, and what is special about each.
 *
 * A new kind is a row, its operations come from the schema packs.  Defaults are those that ARM fills into a document;
 * they are added to `properties` (docs/spec/azure.md §16 item 6). */
#include "sim/arm/arm.h"

#include <string.h>

static const struct arm_child balancer_children[] = {
    {"frontendIPConfigurations"}, {"backendAddressPools"}, {"loadBalancingRules"}, {"probes"},
    {"inboundNatRules"},          {"outboundRules"},       {"inboundNatPools"},    {NULL},
};
static const struct arm_child group_children[] = {
    {"securityRules"}, {"defaultSecurityRules"}, {NULL}};
static const struct arm_child nic_children[] = {{"ipConfigurations"}, {NULL}};
static const struct arm_child table_children[] = {{"routes"}, {NULL}};
static const struct arm_child link_children[] = {
    {"ipConfigurations"}, {"privateEndpointConnections"}, {NULL}};

const struct arm_kind arm_kinds[] = {
    {
        .type = "Microsoft.Network/loadBalancers",
        .ops = "LoadBalancers",
        .older = "2018-11-01",
        .children = balancer_children,
        .located = true,
        .couples = true,
        .put = arm_lb_put,
        .remove = arm_lb_remove,
    },
    {
        .type = "Microsoft.Network/publicIPAddresses",
        .ops = "PublicIPAddresses",
        .older = "2018-11-01",
        .defaults = "{\"publicIPAddressVersion\":\"IPv4\",\"idleTimeoutInMinutes\":4,"
                    "\"ipTags\":[],\"ddosSettings\":{\"protectionMode\":"
                    "\"VirtualNetworkInherited\"}}",
        .located = true,
        .put = arm_pip_put,
        .remove = arm_pip_remove,
    },
    {
        .type = "Microsoft.Network/networkSecurityGroups",
        .ops = "SecurityGroups",
        .older = "2018-11-01",
        .children = group_children,
        .located = true,
        .put = arm_nsg_put,
        .remove = arm_nsg_remove,
    },
    {
        .type = "Microsoft.Network/virtualNetworks/subnets",
        .ops = "Subnets",
        .older = "2018-11-01",
        .defaults = "{\"delegations\":[],\"privateEndpointNetworkPolicies\":\"Disabled\","
                    "\"privateLinkServiceNetworkPolicies\":\"Enabled\"}",
        .couples = true,
        .put = arm_subnet_put,
        .remove = arm_subnet_remove,
    },
    {
        .type = "Microsoft.Network/routeTables",
        .ops = "RouteTables",
        .older = "2018-11-01",
        .children = table_children,
        .defaults = "{\"disableBgpRoutePropagation\":false}",
        .located = true,
    },
    {
        .type = "Microsoft.Network/networkInterfaces",
        .ops = "Interfaces",
        .older = "2018-11-01",
        .children = nic_children,
        .defaults = "{\"enableAcceleratedNetworking\":false,\"enableIPForwarding\":false}",
        .located = true,
        .couples = true,
        .put = arm_nic_put,
        .remove = arm_nic_remove,
    },
    {
        .type = "Microsoft.Network/privateLinkServices",
        .ops = "PrivateLinkServices",
        .older = "2019-03-01",
        .children = link_children,
        .defaults = "{\"enableProxyProtocol\":false,\"fqdns\":[],\"visibility\":{"
                    "\"subscriptions\":[]},\"autoApproval\":{\"subscriptions\":[]}}",
        .located = true,
        .put = arm_pls_put,
        .remove = arm_pls_remove,
        .after = arm_pls_after,
    },
    {
        .type = "Microsoft.Compute/availabilitySets",
        .ops = "AvailabilitySets",
        .older = "2019-07-01",
        .defaults = "{\"platformFaultDomainCount\":2,\"platformUpdateDomainCount\":5}",
        .located = true,
    },
    {
        .type = "Microsoft.Compute/virtualMachines",
        .ops = "VirtualMachines",
        .older = "2017-12-01",
        .located = true,
        .couples = true,
        .put = arm_vm_put,
    },
    {
        .type = "Microsoft.Compute/virtualMachineScaleSets",
        .ops = "VirtualMachineScaleSets",
        .older = "2019-07-01",
        .located = true,
        .couples = true,
        .put = arm_vmss_put,
        .remove = arm_vmss_remove,
        .after = arm_vmss_after,
    },
    {
        .type = "Microsoft.Compute/virtualMachineScaleSets/virtualMachines",
        .ops = "VirtualMachineScaleSetVMs",
        .older = "2019-07-01",
        .located = true,
        .couples = true,
        .put = arm_vmss_vm_put,
        .after = arm_vmss_vm_after,
    },
    {NULL},
};

const struct arm_kind *arm_kind_find(const char *type)
{
    for (const struct arm_kind *k = arm_kinds; k->type; k++) {
        if (str_eq_nocase(k->type, type)) {
            return k;
        }
    }
    return NULL;
}

int arm_kind_type(const struct arm_kind *k)
{
    size_t n = strlen(k->ops);
    for (const struct arm_op *op = arm_ops; op->id; op++) {
        if (strncmp(op->id, k->ops, n) == 0 && str_eq(op->id + n, ".Get")) {
            return op->answer;
        }
    }
    return -1;
}

const struct arm_action arm_actions[] = {
    {"LoadBalancers.MigrateToIPBased", arm_lb_migrate},
    {"LoadBalancerBackendAddressPools.Get", arm_pool_get},
    {"LoadBalancerBackendAddressPools.List", arm_pool_list},
    {"LoadBalancerBackendAddressPools.CreateOrUpdate", arm_pool_put},
    {"LoadBalancerBackendAddressPools.Delete", arm_pool_delete},
    {"PrivateLinkServices.GetPrivateEndpointConnection", arm_pls_connection},
    {"PrivateLinkServices.ListPrivateEndpointConnections", arm_pls_connection},
    {"PrivateLinkServices.UpdatePrivateEndpointConnection", arm_pls_connection},
    {"PrivateLinkServices.DeletePrivateEndpointConnection", arm_pls_connection},
    {"VirtualMachines.InstanceView", arm_vm_instance_view},
    {"VirtualMachineScaleSetVMs.GetInstanceView", arm_vm_instance_view},
    {"network.Interfaces.GetVirtualMachineScaleSetNetworkInterface", arm_vmss_nic_get},
    {"network.Interfaces.ListVirtualMachineScaleSetNetworkInterfaces", arm_vmss_nic_list},
    {"network.Interfaces.ListVirtualMachineScaleSetVMNetworkInterfaces", arm_vmss_nic_list},
    {"network.PublicIPAddresses.GetVirtualMachineScaleSetPublicIPAddress", arm_vmss_ip_get},
    {"network.PublicIPAddresses.ListVirtualMachineScaleSetPublicIPAddresses", arm_vmss_ip_list},
    {"network.PublicIPAddresses.ListVirtualMachineScaleSetVMPublicIPAddresses", arm_vmss_ip_list},
    {"resources.Providers.Get", arm_provider_get},
    {"resources.Providers.Register", arm_provider_get},
    {"resources.Providers.List", arm_provider_list},
    {"Operations.Get", arm_operation_get},
    {"OperationResults.Get", arm_operation_result},
    {NULL, NULL},
};
