/* SPDX-License-Identifier: Apache-2.0 */
/* kinds.c: which resources this cloud has, and what is special about each.
 *
 * A new kind is a row, its operations come from the schema packs.  Defaults are those that ARM
 * fills into a document; they are added to `properties` (docs/spec/azure.md §16 item 6). */
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

/* Azure Stack's versions, and those of the provider that was part of Kubernetes: a cloud serves
 * them for many years.  They are answered in today's form. */
static const char *const old_network[] = {"2018-11-01", "2019-06-01", NULL};
static const char *const old_link[] = {"2019-03-01", NULL};
static const char *const old_machine[] = {"2017-12-01", "2019-07-01", NULL};
static const char *const old_compute[] = {"2019-07-01", NULL};
static const char *const old_instance_network[] = {"2017-03-30", NULL};

const struct arm_kind arm_kinds[] = {
    {
        .type = "Microsoft.Network/loadBalancers",
        .ops = "LoadBalancers",
        .older = old_network,
        .children = balancer_children,
        .located = true,
        .couples = true,
        .put = arm_lb_put,
        .remove = arm_lb_remove,
    },
    {
        .type = "Microsoft.Network/publicIPAddresses",
        .ops = "PublicIPAddresses",
        .older = old_network,
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
        .older = old_network,
        .children = group_children,
        .located = true,
        .put = arm_nsg_put,
        .remove = arm_nsg_remove,
    },
    {
        .type = "Microsoft.Network/virtualNetworks/subnets",
        .ops = "Subnets",
        .older = old_network,
        .defaults = "{\"delegations\":[],\"privateEndpointNetworkPolicies\":\"Disabled\","
                    "\"privateLinkServiceNetworkPolicies\":\"Enabled\"}",
        .couples = true,
        .put = arm_subnet_put,
        .remove = arm_subnet_remove,
    },
    {
        .type = "Microsoft.Network/routeTables",
        .ops = "RouteTables",
        .older = old_network,
        .children = table_children,
        .defaults = "{\"disableBgpRoutePropagation\":false}",
        .located = true,
        .remove = arm_route_table_remove,
    },
    {
        .type = "Microsoft.Network/networkInterfaces",
        .ops = "Interfaces",
        .older = old_network,
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
        .older = old_link,
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
        .older = old_compute,
        .defaults = "{\"platformFaultDomainCount\":2,\"platformUpdateDomainCount\":5}",
        .located = true,
        .remove = arm_availability_set_remove,
    },
    {
        .type = "Microsoft.Compute/virtualMachines",
        .ops = "VirtualMachines",
        .older = old_machine,
        .located = true,
        .couples = true,
        .put = arm_vm_put,
    },
    {
        .type = "Microsoft.Compute/virtualMachineScaleSets",
        .ops = "VirtualMachineScaleSets",
        .older = old_compute,
        .located = true,
        .couples = true,
        .put = arm_vmss_put,
        .remove = arm_vmss_remove,
        .after = arm_vmss_after,
    },
    {
        .type = "Microsoft.Compute/virtualMachineScaleSets/virtualMachines",
        .ops = "VirtualMachineScaleSetVMs",
        .older = old_compute,
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
    {"LoadBalancers.MigrateToIPBased", arm_lb_migrate, NULL},
    {"LoadBalancerBackendAddressPools.Get", arm_pool_get, NULL},
    {"LoadBalancerBackendAddressPools.List", arm_pool_list, NULL},
    {"LoadBalancerBackendAddressPools.CreateOrUpdate", arm_pool_put, NULL},
    {"LoadBalancerBackendAddressPools.Delete", arm_pool_delete, NULL},
    {"PrivateLinkServices.GetPrivateEndpointConnection", arm_pls_connection, NULL},
    {"PrivateLinkServices.ListPrivateEndpointConnections", arm_pls_connection, NULL},
    {"PrivateLinkServices.UpdatePrivateEndpointConnection", arm_pls_connection, NULL},
    {"PrivateLinkServices.DeletePrivateEndpointConnection", arm_pls_connection, NULL},
    {"VirtualMachines.InstanceView", arm_vm_instance_view, NULL},
    {"VirtualMachineScaleSetVMs.GetInstanceView", arm_vm_instance_view, NULL},
    {"network.Interfaces.GetVirtualMachineScaleSetNetworkInterface", arm_vmss_nic_get,
     old_instance_network},
    {"network.Interfaces.ListVirtualMachineScaleSetNetworkInterfaces", arm_vmss_nic_list,
     old_instance_network},
    {"network.Interfaces.ListVirtualMachineScaleSetVMNetworkInterfaces", arm_vmss_nic_list,
     old_instance_network},
    {"network.PublicIPAddresses.GetVirtualMachineScaleSetPublicIPAddress", arm_vmss_ip_get,
     old_instance_network},
    {"network.PublicIPAddresses.ListVirtualMachineScaleSetPublicIPAddresses", arm_vmss_ip_list,
     old_instance_network},
    {"network.PublicIPAddresses.ListVirtualMachineScaleSetVMPublicIPAddresses", arm_vmss_ip_list,
     old_instance_network},
    {"resources.Providers.Get", arm_provider_get, NULL},
    {"resources.Providers.Register", arm_provider_get, NULL},
    {"resources.Providers.List", arm_provider_list, NULL},
    {"Operations.Get", arm_operation_get, NULL},
    {"OperationResults.Get", arm_operation_result, NULL},
    {NULL, NULL, NULL},
};

static bool is_listed(const char *const *versions, const char *version)
{
    for (; versions && *versions; versions++) {
        if (str_eq(*versions, version)) {
            return true;
        }
    }
    return false;
}

bool arm_is_served(const struct arm_request *q, const char *version)
{
    if (str_eq(version, q->op->api_version) || (q->kind && is_listed(q->kind->older, version))) {
        return true;
    }
    for (const struct arm_action *x = arm_actions; x->op; x++) {
        if (str_eq(x->op, q->op->id) && is_listed(x->older, version)) {
            return true;
        }
    }
    return false;
}
