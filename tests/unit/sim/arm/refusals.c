/* SPDX-License-Identifier: Apache-2.0 */
/* refusals.c: what the simulated Azure refuses, with which status and code.
 *
 * One table: each row is a request that must change nothing, on a cloud with three instances, the
 * balancer of LB_BODY with instance 0 in its pool, an internal balancer, and what else `make_world`
 * makes.
 * Source: docs/spec/azure.md §3.4, §3.8, §16. */
#include "tests/support/unit.h"
#include "tests/unit/sim/arm/arm_fixture.h"

#include <string.h>

#define IN LB "-in"
#define IN_FRONT(name, more)                                                                       \
    "{\"name\":\"" name "\",\"properties\":{\"subnet\":" ID(SUBNET) more "}}"
#define IN_BODY(fronts)                                                                            \
    "{\"location\":\"eastus\",\"sku\":{\"name\":\"Standard\"},\"properties\":{"                    \
    "\"frontendIPConfigurations\":[" fronts "],\"backendAddressPools\":[" K "]}}"
#define STATIC(ip) ",\"privateIPAllocationMethod\":\"Static\",\"privateIPAddress\":\"" ip "\""
#define NSG_RULE(name, priority, more)                                                             \
    "{\"name\":\"" name "\",\"properties\":{\"protocol\":\"Tcp\",\"access\":\"Allow\","            \
    "\"direction\":\"Inbound\",\"priority\":" priority ",\"sourcePortRange\":\"*\"" more "}}"
#define FULL                                                                                       \
    ",\"sourceAddressPrefix\":\"Internet\",\"destinationAddressPrefix\":\"*\","                    \
    "\"destinationPortRange\":\"80\""
#define NSG_BODY(rules) "{\"location\":\"eastus\",\"properties\":{\"securityRules\":[" rules "]}}"
#define NIC             NET "/networkInterfaces/nic-x"
#define NIC_BODY(config)                                                                           \
    "{\"location\":\"eastus\",\"properties\":{\"ipConfigurations\":[" config "]}}"
#define NIC_CONFIG(more) "{\"name\":\"c\",\"properties\":{\"subnet\":" ID(SUBNET) more "}}"
#define PLS              NET "/privateLinkServices/pls"
#define PLS_BODY(front)                                                                            \
    "{\"location\":\"eastus\",\"properties\":{\"loadBalancerFrontendIpConfigurations\":[" ID(      \
        front) "],\"ipConfigurations\":[{\"name\":\"c\",\"properties\":{\"subnet\":" ID(SUBNET) ",\"primary\":true}}]}}"
#define P2         NET "/publicIPAddresses/pip-2"
#define BASIC      NET "/publicIPAddresses/pip-basic"
#define FAILED     NET "/publicIPAddresses/pip-failed"
#define ONE(front) LB_OF("Standard", front, K, "", "")

static const struct arm_row rows[] = {
    /* paths, versions, places */
    {"no api-version", "GET", LB "?api-version=", NULL, 400, "MissingApiVersionParameter", NULL},
    {"unknown api-version", "GET", LB "?api-version=2031-01-01", NULL, 400,
     "NoRegisteredProviderFound", "2025-05-01"},
    {"unknown type", "GET", NET "/trafficLights/x", NULL, 404, "InvalidResourceType", NULL},
    {"unknown method", "POST", LB, "{}", 405, "HttpMethodNotAllowed", NULL},
    {"unknown subscription", "GET",
     "/subscriptions/none/resourceGroups/rg/providers/Microsoft.Network/loadBalancers", NULL, 404,
     "SubscriptionNotFound", NULL},
    {"unknown group", "GET", SUB "/resourceGroups/none/providers/Microsoft.Network/loadBalancers",
     NULL, 404, "ResourceGroupNotFound", "none"},
    {"unknown group, write", "PUT",
     SUB "/resourceGroups/none/providers/Microsoft.Network/publicIPAddresses/x", PIP_BODY, 404,
     "ResourceGroupNotFound", NULL},
    {"dots in a path", "DELETE", NET "/loadBalancers/../publicIPAddresses/pip", NULL, 400,
     "InvalidRequestUri", NULL},
    {"dots as a name", "DELETE", NET "/publicIPAddresses/..", NULL, 400, "InvalidRequestUri", NULL},
    {"dots in disguise", "PUT", NET "/publicIPAddresses/%2E%2e", PIP_BODY, 400, "InvalidRequestUri",
     NULL},
    {"a dot for a group", "GET", SUB "/resourceGroups/./providers/Microsoft.Network/loadBalancers",
     NULL, 400, "InvalidRequestUri", NULL},
    {"unknown provider", "GET", SUB "/providers/Microsoft.Nothing?api-version=2021-04-01", NULL,
     404, "InvalidResourceNamespace", NULL},
    {"absent", "GET", LB "x", NULL, 404, "ResourceNotFound", "loadBalancers/lbx"},
    {"absent pool", "GET", LB "/backendAddressPools/x", NULL, 404, "NotFound", NULL},
    {"absent parent", "PUT", NET "/virtualNetworks/none/subnets/x",
     "{\"properties\":{\"addressPrefix\":\"10.9.0.0/24\"}}", 404, "ParentResourceNotFound", NULL},
    {"absent scale set", "GET", CPU "/virtualMachineScaleSets/none/virtualMachines", NULL, 404,
     "ParentResourceNotFound", NULL},
    /* bodies */
    {"no JSON", "PUT", PIP, "{\"location\":", 400, "InvalidRequestContent", NULL},
    {"no object", "PUT", PIP, "[]", 400, "InvalidRequestContent", NULL},
    {"unknown member", "PUT", PIP, "{\"location\":\"eastus\",\"size\":1}", 400,
     "InvalidRequestFormat", "Could not find member 'size'"},
    {"unknown inner member", "PUT", LB,
     "{\"location\":\"eastus\",\"properties\":{\"probes\":[{\"name\":\"p\",\"properties\":{"
     "\"protocol\":\"Tcp\",\"port\":1,\"ports\":2}}]}}",
     400, "InvalidRequestFormat", "properties.probes[0].properties.ports"},
    {"wrong type", "PUT", LB,
     "{\"location\":\"eastus\",\"properties\":{\"probes\":[{\"name\":\"p\",\"properties\":{"
     "\"protocol\":\"Tcp\",\"port\":\"80\"}}]}}",
     400, "InvalidRequestFormat", "port"},
    {"wrong enumeration", "PUT", PIP, "{\"location\":\"eastus\",\"sku\":{\"name\":\"Golden\"}}",
     400, "InvalidRequestFormat", "Golden"},
    {"missing member", "PUT", LB,
     "{\"location\":\"eastus\",\"properties\":{\"probes\":[{\"name\":\"p\",\"properties\":{"
     "\"protocol\":\"Tcp\"}}]}}",
     400, "InvalidRequestFormat", "Required property 'port'"},
    {"unknown member, compute", "PUT", VMSS, "{\"location\":\"eastus\",\"size\":1}", 400,
     "BadRequest", "size"},
    {"tag without text", "PUT", PIP, "{\"location\":\"eastus\",\"tags\":{\"a\":null}}", 400,
     "InvalidRequestFormat", "tag 'a'"},
    {"tag name", "PUT", PIP, "{\"location\":\"eastus\",\"tags\":{\"a/b\":\"c\"}}", 400,
     "InvalidTagNameCharacters", NULL},
    {"no location", "PUT", P2 "x", "{\"sku\":{\"name\":\"Standard\"}}", 400, "LocationRequired",
     NULL},
    {"other location", "PUT", PIP, "{\"location\":\"westus\",\"sku\":{\"name\":\"Standard\"}}", 409,
     "InvalidResourceLocation", NULL},
    {"name", "PUT", NET "/publicIPAddresses/-x", PIP_BODY, 400, "InvalidResourceName", NULL},
    /* public addresses */
    {"dynamic and Standard", "PUT", P2 "x",
     "{\"location\":\"eastus\",\"sku\":{\"name\":\"Standard\"},\"properties\":{"
     "\"publicIPAllocationMethod\":\"Dynamic\"}}",
     400, "PublicIPAddressAllocationMethodNotSupportedForSku", NULL},
    {"version changed", "PUT", P2,
     "{\"location\":\"eastus\",\"sku\":{\"name\":\"Standard\"},\"properties\":{"
     "\"publicIPAddressVersion\":\"IPv6\"}}",
     400, "PublicIPAddressVersionCannotBeChanged", NULL},
    {"sku changed", "PUT", PIP, "{\"location\":\"eastus\",\"sku\":{\"name\":\"Basic\"}}", 400,
     "PublicIPAddressSkuCannotBeChanged", NULL},
    {"zones changed", "PUT", PIP,
     "{\"location\":\"eastus\",\"zones\":[\"1\"],\"sku\":{\"name\":\"Standard\"}}", 400,
     "ResourceAvailabilityZonesCannotBeModified", NULL},
    {"unknown zone", "PUT", P2 "x",
     "{\"location\":\"eastus\",\"zones\":[\"7\"],\"sku\":{\"name\":\"Standard\"}}", 400,
     "InvalidAvailabilityZone", NULL},
    {"zones of Basic", "PUT", P2 "x", "{\"location\":\"eastus\",\"zones\":[\"1\"]}", 400,
     "SkuNotSupportedInAvailabilityZone", NULL},
    {"label taken", "PUT", P2,
     "{\"location\":\"eastus\",\"sku\":{\"name\":\"Standard\"},\"properties\":{\"dnsSettings\":{"
     "\"domainNameLabel\":\"web\"}}}",
     400, "DnsRecordInUse", "web.eastus.cloudapp.azure.com"},
    {"bad label", "PUT", P2,
     "{\"location\":\"eastus\",\"sku\":{\"name\":\"Standard\"},\"properties\":{\"dnsSettings\":{"
     "\"domainNameLabel\":\"Web_1\"}}}",
     400, "InvalidDomainNameLabel", NULL},
    {"idle timeout", "PUT", P2,
     "{\"location\":\"eastus\",\"sku\":{\"name\":\"Standard\"},\"properties\":{"
     "\"idleTimeoutInMinutes\":31}}",
     400, "PublicIPAddressIdleTimeoutOutOfRange", NULL},
    {"unknown prefix", "PUT", P2 "x",
     "{\"location\":\"eastus\",\"sku\":{\"name\":\"Standard\"},\"properties\":{"
     "\"publicIPPrefix\":" ID(NET "/publicIPPrefixes/none") "}}",
     400, "InvalidResourceReference", "publicIPPrefixes/none"},
    {"address in use", "DELETE", PIP, NULL, 400, "PublicIPAddressCannotBeDeleted",
     "frontendIPConfigurations/f"},
    /* frontends */
    {"address held elsewhere", "PUT", LB "2", ONE(FRONT("f", PIP)), 400,
     "PublicIPReferencedByMultipleIPConfigs", NULL},
    {"address twice", "PUT", LB "2", ONE(FRONT("f", P2) "," FRONT("g", P2)), 400,
     "PublicIPReferencedByMultipleIPConfigs", NULL},
    {"unknown address", "PUT", LB "2", ONE(FRONT("f", NET "/publicIPAddresses/none")), 400,
     "InvalidResourceReference", "publicIPAddresses/none"},
    {"address of another sku", "PUT", LB "2", ONE(FRONT("f", BASIC)), 400,
     "PublicIPAndLBSkuDoNotMatch", NULL},
    {"Basic balancer, Standard address", "PUT", LB "2", LB_OF("Basic", FRONT("f", P2), K, "", ""),
     400, "PublicIPAndLBSkuDoNotMatch", NULL},
    {"failed address", "PUT", LB "2", ONE(FRONT("f", FAILED)), 400,
     "ReferencedResourceNotProvisioned", FAILED " used by resource"},
    {"frontend of nothing", "PUT", LB "2", ONE("{\"name\":\"f\",\"properties\":{}}"), 400,
     "LoadBalancerFrontendIPConfigurationInvalid", NULL},
    {"public and internal", "PUT", LB "2", ONE(FRONT("f", P2) "," IN_FRONT("g", "")), 400,
     "LoadBalancerFrontendIPConfigurationInvalid", NULL},
    {"frontend twice", "PUT", LB "2", ONE(FRONT("f", P2) "," FRONT("F", PIP)), 400,
     "DuplicateResourceName", NULL},
    {"frontend without name", "PUT", LB "2",
     ONE("{\"properties\":{\"publicIPAddress\":" ID(P2) "}}"), 400, "InvalidResourceName", NULL},
    {"sku of a balancer changed", "PUT", LB, LB_OF("Basic", "", K, "", ""), 400,
     "LoadBalancerSkuCannotBeChanged", NULL},
    {"unknown subnet", "PUT", IN,
     IN_BODY("{\"name\":\"g\",\"properties\":{\"subnet\":" ID(SUBNET "x") "}}"), 400,
     "SubnetNotFound", NULL},
    {"unknown network", "PUT", IN,
     IN_BODY("{\"name\":\"g\",\"properties\":{\"subnet\":" ID(
         NET "/virtualNetworks/none/subnets/sn") "}}"),
     400, "InvalidResourceReference", "virtualNetworks/none"},
    {"address outside the subnet", "PUT", IN, IN_BODY(IN_FRONT("g", STATIC("10.241.0.9"))), 400,
     "PrivateIPAddressNotInSubnet", "10.240.0.0/16"},
    {"reserved address", "PUT", IN, IN_BODY(IN_FRONT("g", STATIC("10.240.0.3"))), 400,
     "PrivateIPAddressInReservedRange", NULL},
    {"address of a machine", "PUT", IN, IN_BODY(IN_FRONT("g", STATIC("10.240.1.0"))), 400,
     "PrivateIPAddressInUse", "virtualMachines/0"},
    {"address of another frontend", "PUT", IN "2", IN_BODY(IN_FRONT("g", STATIC("10.240.0.9"))),
     400, "PrivateIPAddressInUse", "frontendIPConfigurations/g"},
    {"one address for two", "PUT", IN "2",
     IN_BODY(IN_FRONT("a", STATIC("10.240.0.77")) "," IN_FRONT("b", STATIC("10.240.0.77"))), 400,
     "PrivateIPAddressInUse", NULL},
    {"no address", "PUT", IN, IN_BODY(IN_FRONT("g", STATIC("10.240.0"))), 400,
     "InvalidIPAddressFormat", NULL},
    {"static without address", "PUT", IN,
     IN_BODY(IN_FRONT("g", ",\"privateIPAllocationMethod\":\"Static\"")), 400,
     "PrivateIPAddressMissing", NULL},
    {"zones of a frontend changed", "PUT", IN,
     IN_BODY("{\"name\":\"g\",\"zones\":[\"1\"],\"properties\":{\"subnet\":" ID(SUBNET) "}}"), 400,
     "ResourceAvailabilityZonesCannotBeModified", NULL},
    /* rules and probes */
    {"rule on no frontend", "PUT", LB,
     LB_OF("Standard", FRONT("f", PIP), K, RULE("r", "x", "80", ""), ""), 400,
     "InvalidResourceReference", "frontendIPConfigurations/x"},
    {"rule on no pool", "PUT", LB,
     LB_OF("Standard", FRONT("f", PIP), "{\"name\":\"k\"},{\"name\":\"k2\"}",
           "{\"name\":\"r\",\"properties\":{\"protocol\":\"Tcp\",\"frontendPort\":80,"
           "\"backendPort\":80,"
           "\"frontendIPConfiguration\":" ID(
               LB "/frontendIPConfigurations/f") ",\"backendAddressPool\":" ID(LB "/backendAddressP"
                                                                                  "ools/none") "}}",
           ""),
     400, "InvalidResourceReference", "backendAddressPools/none"},
    {"rule on no probe", "PUT", LB,
     LB_OF("Standard", FRONT("f", PIP), K,
           RULE("r", "f", "80", ",\"probe\":" ID(LB "/probes/none")), ""),
     400, "InvalidResourceReference", "probes/none"},
    {"rule on another balancer's frontend", "PUT", LB "2",
     LB_OF("Standard", FRONT("f", P2), K, RULE("r", "f", "80", ""), ""), 400,
     "InvalidResourceReference", NULL},
    {"same frontend, protocol, port", "PUT", LB,
     LB_OF("Standard", FRONT("f", PIP), K, RULE("r", "f", "80", "") "," RULE("s", "f", "80", ""),
           ""),
     400, "RulesUseSameFrontendPortProtocolAndIPConfig", NULL},
    {"same pool, protocol, backend port", "PUT", LB,
     LB_OF("Standard", FRONT("f", PIP) "," FRONT("g", P2), K,
           RULE("r", "f", "80",
                "") ","
                    "{\"name\":\"a\",\"properties\":{\"protocol\":\"Tcp\","
                    "\"frontendPort\":81,\"backendPort\":90,"
                    "\"frontendIPConfiguration\":" ID(
                        LB
                        "/frontendIPConfigurations/f") ",\"backendAddressPool\""
                                                       ":" ID(POOL) "}},{\"name\":"
                                                                    "\"b\","
                                                                    "\"properties"
                                                                    "\":{"
                                                                    "\"protocol\":"
                                                                    "\"Tcp\","
                                                                    "\"frontendPor"
                                                                    "t\":82,"
                                                                    "\"backendPort"
                                                                    "\":90,"
                                                                    "\"frontendIPC"
                                                                    "onfiguration"
                                                                    "\":" ID(LB
                                                                             "/frontend"
                                                                             "IPConfigu"
                                                                             "rations/"
                                                                             "g") ",\"b"
                                                                                  "acke"
                                                                                  "ndAd"
                                                                                  "dres"
                                                                                  "sPoo"
                                                                                  "l\""
                                                                                  ":" ID(POOL) "}}",
           ""),
     400, "RulesUseSameBackendPortProtocolAndVmssPool", NULL},
    {"port 0 of Tcp", "PUT", LB, LB_OF("Standard", FRONT("f", PIP), K, RULE("r", "f", "0", ""), ""),
     400, "LoadBalancingRuleInvalidPort", NULL},
    {"port 65535", "PUT", LB,
     LB_OF("Standard", FRONT("f", PIP), K, RULE("r", "f", "65535", ""), ""), 400,
     "InvalidParameter", "frontendPort"},
    {"idle timeout of a rule", "PUT", LB,
     LB_OF("Standard", FRONT("f", PIP), K, RULE("r", "f", "80", ",\"idleTimeoutInMinutes\":3"), ""),
     400, "InvalidParameter", "idleTimeoutInMinutes"},
    {"rule twice", "PUT", LB,
     LB_OF("Standard", FRONT("f", PIP), K, RULE("r", "f", "80", "") "," RULE("R", "f", "81", ""),
           ""),
     400, "DuplicateResourceName", NULL},
    {"TcpReset of Basic", "PUT", LB "2",
     LB_OF("Basic", FRONT("f", BASIC), K,
           "{\"name\":\"r\",\"properties\":{\"protocol\":\"Tcp\",\"frontendPort\":80,"
           "\"enableTcpReset\":"
           "true,\"frontendIPConfiguration\":" ID(LB "2/frontendIPConfigurations/f") "}}",
           ""),
     400, "TcpResetNotSupportedForBasicLoadBalancer", NULL},
    {"path of a Tcp probe", "PUT", LB,
     LB_OF("Standard", FRONT("f", PIP), K, "",
           "{\"name\":\"p\",\"properties\":{\"protocol\":\"Tcp\",\"port\":80,\"requestPath\":\"/"
           "\"}}"),
     400, "ProbeRequestPathNotAllowed", NULL},
    {"no path of an Http probe", "PUT", LB,
     LB_OF("Standard", FRONT("f", PIP), K, "",
           "{\"name\":\"p\",\"properties\":{\"protocol\":\"Http\",\"port\":80}}"),
     400, "ProbeRequestPathMissing", NULL},
    {"port of a probe", "PUT", LB, LB_OF("Standard", FRONT("f", PIP), K, "", PROBE("p", "0")), 400,
     "InvalidParameter", "port"},
    {"balancer in use", "DELETE", LB, NULL, 400, "LoadBalancerInUseByVirtualMachineScaleSet",
     "virtual machine scale set " VMSS "."},
    /* pools */
    {"pool with members goes", "PUT", LB, LB_OF("Standard", FRONT("f", PIP), "", "", ""), 400,
     "InUseBackendAddressPoolCannotBeDeleted", NULL},
    {"pool with rules goes", "DELETE", POOL, NULL, 400, "InUseBackendAddressPoolCannotBeDeleted",
     NULL},
    {"address in a pool of NICs", "PUT", POOL,
     "{\"properties\":{\"virtualNetwork\":" ID(
         NET "/virtualNetworks/vnet") ",\"loadBalancerBackendAddresses\":[{\"name\":\"a\","
                                      "\"properties\":{\"ipAddress\":"
                                      "\"10.240.1.0\"}}]}}",
     400, "BackendPoolMixedIPAndNic", NULL},
    {"address without network", "PUT", IN "/backendAddressPools/k",
     "{\"properties\":{\"loadBalancerBackendAddresses\":[{\"name\":\"a\",\"properties\":{"
     "\"ipAddress\":\"10.240.1.0\"}}]}}",
     400, "LoadBalancerBackendAddressMissingVirtualNetwork", NULL},
    {"address twice in a pool", "PUT", IN "/backendAddressPools/k",
     "{\"properties\":{\"virtualNetwork\":" ID(
         NET "/virtualNetworks/vnet") ",\"loadBalancerBackendAddresses\":[{\"name\":\"a\","
                                      "\"properties\":{\"ipAddress\":"
                                      "\"10.240.1.0\"}},{\"name\":\"b\",\"properties\":{"
                                      "\"ipAddress\":\"10.240.1.0\"}}]}}",
     400, "DuplicateBackendAddress", NULL},
    {"pool of no balancer", "PUT", LB "x/backendAddressPools/k", "{\"properties\":{}}", 404,
     "ParentResourceNotFound", NULL},
    {"machine in no pool", "PUT", NIC,
     NIC_BODY(
         NIC_CONFIG(",\"loadBalancerBackendAddressPools\":[" ID(LB "/backendAddressPools/no") "]")),
     400, "InvalidResourceReference", "backendAddressPools/no"},
    {"model in no pool", "PUT", VMSS,
     "{\"location\":\"eastus\",\"properties\":{\"virtualMachineProfile\":{\"networkProfile\":{"
     "\"networkInterfaceConfigurations\":[{\"name\":\"nic\",\"properties\":{\"ipConfigurations\":[{"
     "\"name\":\"c\",\"properties\":{\"loadBalancerBackendAddressPools\":[" ID(
         LB "x/backendAddressPools/k") "]}}]}}]}}}}",
     400, "InvalidResourceReference", NULL},
    /* security groups */
    {"priority twice", "PUT", NSG,
     NSG_BODY(NSG_RULE("a", "500", FULL) "," NSG_RULE("b", "500", FULL)), 400,
     "SecurityRuleConflict", "Rules cannot have the same Priority and Direction"},
    {"priority 99", "PUT", NSG, NSG_BODY(NSG_RULE("a", "99", FULL)), 400,
     "SecurityRuleInvalidPriority", "100-4096"},
    {"priority 4097", "PUT", NSG, NSG_BODY(NSG_RULE("a", "4097", FULL)), 400,
     "SecurityRuleInvalidPriority", NULL},
    {"rule name twice", "PUT", NSG,
     NSG_BODY(NSG_RULE("a", "500", FULL) "," NSG_RULE("A", "501", FULL)), 400,
     "DuplicateResourceName", NULL},
    {"port range", "PUT", NSG,
     NSG_BODY(NSG_RULE("a", "500",
                       ",\"sourceAddressPrefix\":\"*\",\"destinationAddressPrefix\":\"*\","
                       "\"destinationPortRange\":\"90-80\"")),
     400, "SecurityRuleInvalidPortRange", NULL},
    {"prefix with host bits", "PUT", NSG,
     NSG_BODY(NSG_RULE("a", "500",
                       ",\"sourceAddressPrefix\":\"10.0.0.1/8\",\"destinationAddressPrefix\":\"*\","
                       "\"destinationPortRange\":\"80\"")),
     400, "SecurityRuleInvalidAddressPrefix", NULL},
    {"service tag that there is not", "PUT", NSG,
     NSG_BODY(NSG_RULE("a", "500",
                       ",\"sourceAddressPrefix\":\"AzureClod\",\"destinationAddressPrefix\":\"*\","
                       "\"destinationPortRange\":\"80\"")),
     400, "SecurityRuleInvalidAddressPrefix", "AzureClod"},
    {"service tag that has no regions", "PUT", NSG,
     NSG_BODY(NSG_RULE("a", "500",
                       ",\"sourceAddressPrefix\":\"Internet.WestUS\","
                       "\"destinationAddressPrefix\":\"*\",\"destinationPortRange\":\"80\"")),
     400, "SecurityRuleInvalidAddressPrefix", "Internet.WestUS"},
    {"no destination", "PUT", NSG,
     NSG_BODY(
         NSG_RULE("a", "500", ",\"sourceAddressPrefix\":\"*\",\"destinationPortRange\":\"80\"")),
     400, "SecurityRuleParameterMissing", "destinationAddressPrefix"},
    {"one and many", "PUT", NSG,
     NSG_BODY(NSG_RULE("a", "500", FULL ",\"destinationAddressPrefixes\":[\"10.0.0.1\"]")), 400,
     "SecurityRuleParameterConflict", NULL},
    {"a value twice", "PUT", NSG,
     NSG_BODY(NSG_RULE("a", "500",
                       ",\"sourceAddressPrefix\":\"*\",\"destinationAddressPrefix\":\"*\","
                       "\"destinationPortRanges\":[\"80\",\"80\"]")),
     400, "SecurityRuleDuplicateParameterValue", NULL},
    {"group in use", "DELETE", NSG, NULL, 400, "InUseNetworkSecurityGroupCannotBeDeleted",
     "subnets/sn"},
    /* subnets, NICs, machines, links */
    {"subnet in use", "DELETE", SUBNET, NULL, 400, "InUseSubnetCannotBeDeleted", NULL},
    {"overlapping subnets", "PUT", SUBNET "2",
     "{\"properties\":{\"addressPrefix\":\"10.240.3.0/24\"}}", 400, "NetcfgSubnetRangesOverlap",
     NULL},
    {"subnet outside the network", "PUT", SUBNET "2",
     "{\"properties\":{\"addressPrefix\":\"192.168.0.0/24\"}}", 400, "NetcfgSubnetRangeOutsideVnet",
     NULL},
    {"subnet without prefix", "PUT", SUBNET "2", "{\"properties\":{}}", 400, "InvalidCIDRNotation",
     NULL},
    {"NIC without configuration", "PUT", NIC, NIC_BODY(""), 400,
     "NetworkInterfaceMustHaveAtleastOneIpConfiguration", NULL},
    {"NIC at another's address", "PUT", NIC, NIC_BODY(NIC_CONFIG(STATIC("10.240.1.1"))), 400,
     "PrivateIPAddressInUse", NULL},
    {"unknown instance", "PUT", VMSS "/virtualMachines/77", "{\"location\":\"eastus\"}", 400,
     "InvalidParameter", "77 is not an active Virtual Machine Scale Set VM instanceId"},
    {"machine with no NIC", "PUT", CPU "/virtualMachines/x",
     "{\"location\":\"eastus\",\"properties\":{\"networkProfile\":{\"networkInterfaces\":[" ID(
         NIC) "]}}}",
     400, "InvalidResourceReference", NULL},
    {"filter of machines", "GET", CPU "/virtualMachines?%24filter=name%20eq%20x", NULL, 400,
     "InvalidParameter", NULL},
    {"link in a subnet with policies", "PUT", PLS, PLS_BODY(IN "/frontendIPConfigurations/h"), 400,
     "PrivateLinkServiceCannotBeCreatedInSubnetThatHasNetworkPoliciesEnabled", NULL},
    {"two links on one frontend", "PUT", PLS, PLS_BODY(IN "/frontendIPConfigurations/g"), 400,
     "LoadBalancerFrontendIPConfigurationInUseByPrivateLinkService", NULL},
    {"frontend under a link goes", "PUT", IN, IN_BODY(IN_FRONT("h", "")), 400,
     "LoadBalancerFrontendIPConfigurationInUseByPrivateLinkService", "pls-in"},
    {"balancer under a link", "DELETE", IN, NULL, 400, "LoadBalancerInUseByPrivateLinkService",
     NULL},
    {"translation beside an outbound rule", "PUT", LB,
     "{\"location\":\"eastus\",\"sku\":{\"name\":\"Standard\"},\"properties\":{"
     "\"frontendIPConfigurations\":[" FRONT(
         "f", PIP) "],\"backendAddressPools\":[" K
                   "],\"loadBalancingRules\":[" RULE(
                       "r", "f", "80",
                       "") "],\"outboundRules\":[{\"name\":\"o\","
                           "\"properties\":{\"protocol\":\"All\",\"backendAddressPool\":" ID(
                               POOL) ",\"frontendIPConfigurations\":[" ID(LB "/frontendIPConfigurat"
                                                                             "ions/f") "]}}]}}",
     400,
     "LoadBalancingRuleMustDisableSNATSinceSameFrontendIPConfigurationIsReferencedByOutboundRule",
     NULL},
    {"outbound rule on no frontend", "PUT", LB,
     "{\"location\":\"eastus\",\"sku\":{\"name\":\"Standard\"},\"properties\":{"
     "\"frontendIPConfigurations\":[" FRONT(
         "f", PIP) "],\"backendAddressPools\":[" K
                   "],\"outboundRules\":[{\"name\":\"o\",\"properties\":{\"protocol\":\"All\","
                   "\"backendAddressPool\":" ID(POOL) ",\"frontendIPConfigurations\":[" ID(
                       LB "/frontendIPConfigurations/x") "]}}]}}",
     400, "InvalidResourceReference", "frontendIPConfigurations/x"},
    {"address outside the network", "PUT", IN "/backendAddressPools/k",
     "{\"properties\":{\"virtualNetwork\":" ID(
         NET "/virtualNetworks/vnet") ",\"loadBalancerBackendAddresses\":[{\"name\":\"a\","
                                      "\"properties\":{\"ipAddress\":"
                                      "\"192.0.2.1\"}}]}}",
     400, "LoadBalancerBackendAddressNotInVirtualNetwork", NULL},
    {"both families in a rule", "PUT", NSG,
     NSG_BODY(NSG_RULE("a", "500",
                       ",\"sourceAddressPrefix\":\"10.0.0.0/8\",\"destinationAddressPrefixes\":["
                       "\"fd00::1\"],\"destinationPortRange\":\"80\"")),
     400, "SecurityRuleAddressPrefixFamilyMismatch", NULL},
    {"behind two public balancers", "PUT", NIC,
     NIC_BODY(NIC_CONFIG(",\"loadBalancerBackendAddressPools\":[" ID(POOL) "," ID(
         LB "-3/backendAddressPools/k") "]")),
     400, "NetworkInterfaceInMultipleLoadBalancersOfSameType", NULL},
    {"behind a Basic and a Standard balancer", "PUT", NIC,
     NIC_BODY(NIC_CONFIG(",\"loadBalancerBackendAddressPools\":[" ID(POOL) "," ID(
         LB "-basic/backendAddressPools/k") "]")),
     400, "DifferentSkuLoadBalancersAndPublicIPAddressNotAllowedInVM", NULL},
    {"link on no frontend", "PUT", PLS, PLS_BODY(IN "/frontendIPConfigurations/x"), 400,
     "InvalidResourceReference", NULL},
    {"bad page", "GET", NET "/loadBalancers?%24skiptoken=x", NULL, 400, "InvalidParameter", NULL},
    {"unknown operation", "GET", SUB "/providers/Microsoft.Network/locations/eastus/operations/x",
     NULL, 404, "NotFound", NULL},
};

/* Resources for the rows. */
static void make_world(struct fixture *f)
{
    arm_make_balancer(f);
    arm_join_pool(f);
    arm_must(f, "PUT", P2, PIP_BODY);
    arm_must(f, "PUT", BASIC, "{\"location\":\"eastus\"}");
    arm_must(f, "PUT", NET "/publicIPAddresses/labelled",
             "{\"location\":\"eastus\",\"sku\":{\"name\":\"Standard\"},\"properties\":{"
             "\"dnsSettings\":{\"domainNameLabel\":\"web\"}}}");
    arm_must(f, "PUT",
             NET "/publicIPAddresses/labelled-v6", /* one label, an A and an AAAA record */
             "{\"location\":\"eastus\",\"sku\":{\"name\":\"Standard\"},\"properties\":{"
             "\"publicIPAddressVersion\":\"IPv6\",\"publicIPAllocationMethod\":\"Static\","
             "\"dnsSettings\":{\"domainNameLabel\":\"web\"}}}");
    arm_must(f, "PUT", IN, IN_BODY(IN_FRONT("g", STATIC("10.240.0.9")) "," IN_FRONT("h", "")));
    arm_must(f, "PUT", NET "/virtualNetworks/vnet/subnets/links",
             "{\"properties\":{\"addressPrefix\":\"10.250.0.0/24\","
             "\"privateLinkServiceNetworkPolicies\":\"Disabled\"}}");
    arm_must(
        f, "PUT", PLS "-in",
        "{\"location\":\"eastus\",\"properties\":{\"loadBalancerFrontendIpConfigurations\":[" ID(
            IN "/frontendIPConfigurations/g") "],\"ipConfigurations\":[{\"name\":\"c\","
                                              "\"properties\":{\"primary\":true,\"subnet\":" ID(
                                                  NET
                                                  "/virtualNetworks/vnet/subnets/links") "}}]}}");
    arm_must(f, "PUT", PIP "-3", PIP_BODY);
    arm_must(f, "PUT", LB "-3", LB_OF("Standard", FRONT("f", PIP "-3"), K, "", ""));
    arm_must(f, "PUT", LB "-basic", LB_OF("Basic", "", K, "", ""));
    fixture_must(f, "POST", "/sim/faults",
                 "{\"match\":{\"op\":\"PublicIPAddresses.CreateOrUpdate\"},\"do\":\"fail\"}");
    arm_must(f, "PUT", FAILED, PIP_BODY);
    arm_must(f, "GET", fixture_header(f, "Azure-AsyncOperation") + strlen(f->url), NULL);
    assert_string_equal(arm_text(f, "status"), "Failed");
}

static void refusals__each_row__status_and_code(void **state)
{
    (void)state;
    struct fixture *f = arm_start("refusals", NULL);
    make_world(f);
    arm_check_refusals(f, rows, ARRAY_LEN(rows));
    fixture_stop(f);
}

/* The last row of each pair is one that never was. */
static void versions__older_ones_that_clients_ask_for__served(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        int status;
    } asked[] = {
        {NSG "?api-version=2018-11-01", 200},
        {NSG "?api-version=2019-06-01", 200},
        {NSG "?api-version=2019-06-02", 400},
        {CPU "/virtualMachines?api-version=2017-12-01", 200},
        {CPU "/virtualMachines?api-version=2019-07-01", 200},
        {CPU "/virtualMachines?api-version=2018-07-01", 400},
        {VMSS "/virtualMachines/0/networkInterfaces/nic?api-version=2017-03-30", 200},
        {VMSS "/virtualMachines/0/networkInterfaces/nic?api-version=2018-10-01", 200},
        {VMSS "/virtualMachines/0/networkInterfaces/nic?api-version=2017-03-31", 400},
    };
    struct sim_config cfg = {.nodes = 1};
    struct fixture *f = arm_start("versions", &cfg);
    for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
        int status = arm_call(f, "GET", asked[i].path, NULL);
        if (status != asked[i].status) {
            fail_msg("%s: got %d, want %d: %s", asked[i].path, status, asked[i].status, f->text);
        }
    }
    fixture_stop(f);
}

static void limits__of_settings__reached(void **state)
{
    (void)state;
    static const struct {
        const char *limit, *id, *body, *code;
    } limits[] = {
        {"{\"publicIPAddresses\":1}", P2, PIP_BODY, "PublicIPCountLimitReached"},
        {"{\"frontendIPConfigurations\":0}", LB, LB_BODY,
         "LoadBalancerFrontendIPConfigurationCountLimitReached"},
        {"{\"loadBalancingRules\":0}", LB, LB_BODY, "LoadBalancingRuleLimitReached"},
        {"{\"securityRules\":0}", NSG, NSG_BODY(NSG_RULE("a", "500", FULL)),
         "SecurityRuleCountLimitReached"},
    };
    struct fixture *f = arm_start("limits", NULL);
    arm_must(f, "PUT", PIP, PIP_BODY);
    for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
        arm_settings(f, arena_printf(f->a, "{\"limits\":%s}", limits[i].limit));
        int status = arm_call(f, "PUT", limits[i].id, limits[i].body);
        arm_expect(f, limits[i].code, status, 400, limits[i].code);
    }
    fixture_stop(f);
}

static void quota__of_the_command_line__reached(void **state)
{
    (void)state;
    static const char *const quotas[] = {"publicIPAddresses=1"};
    struct sim_config cfg = {.quotas = quotas, .n_quotas = 1};
    struct fixture *f = arm_start("quota", &cfg);
    arm_must(f, "PUT", PIP, PIP_BODY);
    int status = arm_call(f, "PUT", P2, PIP_BODY);
    arm_expect(f, "second", status, 400, "PublicIPCountLimitReached");
    fixture_stop(f);
}

UNIT_MAIN(refusals)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals__each_row__status_and_code),
        cmocka_unit_test(versions__older_ones_that_clients_ask_for__served),
        cmocka_unit_test(limits__of_settings__reached),
        cmocka_unit_test(quota__of_the_command_line__reached),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
