/* SPDX-License-Identifier: Apache-2.0 */
/* strictness.c: limits of single values, what cannot be changed, and what does not fit together.
 *
 * More rows in the manner of refusals.c, on a cloud with the balancer of LB_BODY and an internal
 * one; and, beside each refusal that could be too strict, its neighbour that must be taken.
 * Source: docs/spec/azure.md §3.4, §3.8, §6.10, §9.7, §16; Azure's published limits. */
#include "tests/support/unit.h"
#include "tests/unit/sim/arm/arm_fixture.h"

#include <string.h>

#define ADDR(name)   NET "/publicIPAddresses/" name
#define IN           NET "/loadBalancers/lb-in"
#define BASIC        NET "/loadBalancers/lb-basic"
#define GROUP        NET "/networkSecurityGroups/g"
#define NIC          NET "/networkInterfaces/nic-x"
#define SN(name)     NET "/virtualNetworks/vnet/subnets/" name
#define IN_F         IN "/frontendIPConfigurations/g"
#define PIP_OF(more) "{\"location\":\"eastus\",\"sku\":{\"name\":\"Standard\"}" more "}"
#define INSIDE(more) "{\"name\":\"g\"" more "}"
#define AT_SUBNET    "\"subnet\":" ID(SUBNET)
#define IN_WITH(fronts, more)                                                                      \
    "{\"location\":\"eastus\",\"sku\":{\"name\":\"Standard\"},\"properties\":{"                    \
    "\"frontendIPConfigurations\":[" fronts "],\"backendAddressPools\":[" K "]" more "}}"
#define LB_WITH(more)   IN_WITH(FRONT("f", PIP), more)
#define LB_RULES(rules) LB_OF("Standard", FRONT("f", PIP), K, rules, "")
#define LB_PROBE(more)                                                                             \
    LB_OF("Standard", FRONT("f", PIP), K, "", "{\"name\":\"p\",\"properties\":{" more "}}")
#define IN_RULE(name, more)                                                                        \
    "{\"name\":\"" name "\",\"properties\":{\"frontendIPConfiguration\":" ID(IN_F) "," more "}}"
#define NAT(name, more)                                                                            \
    "{\"name\":\"" name "\",\"properties\":{\"protocol\":\"Tcp\",\"backendPort\":22,"              \
    "\"frontendIPConfiguration\":" ID(LB "/frontendIPConfigurations/f") "," more "}}"
#define OUT(more)                                                                                  \
    ",\"outboundRules\":[{\"name\":\"o\",\"properties\":{\"protocol\":\"All\","                    \
    "\"backendAddressPool\":" ID(POOL) more "}}]"
#define OUT_F ",\"frontendIPConfigurations\":[" ID(LB "/frontendIPConfigurations/f") "]"
#define NSG_OF(more)                                                                               \
    "{\"location\":\"eastus\",\"properties\":{\"securityRules\":[{\"name\":\"r\",\"properties\":{" \
    "\"protocol\":\"Tcp\",\"access\":\"Allow\",\"direction\":\"Inbound\",\"priority\":500,"        \
    "\"sourcePortRange\":\"*\"," more "}}]}}"
#define PORT   "\"destinationPortRange\":\"80\""
#define TO_ALL "\"destinationAddressPrefix\":\"*\""
#define NIC_OF(configs)                                                                            \
    "{\"location\":\"eastus\",\"properties\":{\"ipConfigurations\":[" configs "]}}"
#define CONFIG(name, more) "{\"name\":\"" name "\",\"properties\":{" AT_SUBNET more "}}"
#define STATIC(ip)         ",\"privateIPAllocationMethod\":\"Static\",\"privateIPAddress\":\"" ip "\""
#define X70                "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define X140               X70 X70

static const struct arm_row rows[] = {
    /* tags, places */
    {"tag twice", "PUT", PIP, PIP_OF(",\"tags\":{\"a\":\"1\",\"A\":\"2\"}"), 400,
     "InvalidRequestContent", "'A'"},
    {"no region", "PUT", ADDR("x"), "{\"location\":\"mars\"}", 400,
     "LocationNotAvailableForResourceType", "mars"},
    /* public addresses */
    {"two of three zones", "PUT", ADDR("x"), PIP_OF(",\"zones\":[\"1\",\"2\"]"), 400,
     "InvalidAvailabilityZone", NULL},
    {"a zone twice", "PUT", ADDR("x"), PIP_OF(",\"zones\":[\"1\",\"1\",\"2\"]"), 400,
     "InvalidAvailabilityZone", NULL},
    {"ip tags changed", "PUT", ADDR("tagged"),
     PIP_OF(",\"properties\":{\"ipTags\":[{\"ipTagType\":\"RoutingPreference\",\"tag\":\"x\"}]}"),
     400, "PublicIPAddressIpTagsCannotBeChanged", NULL},
    {"ip tags removed", "PUT", ADDR("tagged"), PIP_OF(""), 400,
     "PublicIPAddressIpTagsCannotBeChanged", NULL},
    {"tier changed", "PUT", PIP,
     "{\"location\":\"eastus\",\"sku\":{\"name\":\"Standard\",\"tier\":\"Global\"}}", 400,
     "PublicIPAddressTierCannotBeChanged", NULL},
    {"edge zone changed", "PUT", PIP,
     PIP_OF(",\"extendedLocation\":{\"name\":\"x\",\"type\":\"EdgeZone\"}"), 400,
     "PublicIPAddressExtendedLocationCannotBeChanged", NULL},
    /* frontends */
    {"zones of a public frontend", "PUT", LB,
     IN_WITH("{\"name\":\"n\",\"zones\":[\"1\"],\"properties\":{\"publicIPAddress\":" ID(
                 ADDR("free")) "}}",
             ""),
     400, "FrontendIPConfigurationWithPublicIPCannotHaveZones", NULL},
    {"unknown zone of a frontend", "PUT", IN "2",
     IN_WITH(INSIDE(",\"zones\":[\"9\"],\"properties\":{" AT_SUBNET "}"), ""), 400,
     "InvalidAvailabilityZone", NULL},
    {"zones of a Basic frontend", "PUT", BASIC,
     LB_OF("Basic", INSIDE(",\"zones\":[\"1\"],\"properties\":{" AT_SUBNET "}"), K, "", ""), 400,
     "SkuNotSupportedInAvailabilityZone", NULL},
    {"subnet in another region", "PUT", IN "2",
     "{\"location\":\"westus\",\"sku\":{\"name\":\"Standard\"},\"properties\":{"
     "\"frontendIPConfigurations\":[" INSIDE(",\"properties\":{" AT_SUBNET "}") "]}}",
     400, "InvalidResourceReference", "virtualNetworks/vnet"},
    {"IPv6 in a subnet without", "PUT", IN "2",
     IN_WITH(INSIDE(",\"properties\":{\"privateIPAddressVersion\":\"IPv6\"," AT_SUBNET "}"), ""),
     400, "SubnetIsFull", NULL},
    {"address of the other family", "PUT", IN "2",
     IN_WITH(INSIDE(",\"properties\":{\"privateIPAddressVersion\":\"IPv6\"" STATIC(
                 "10.240.0.99") "," AT_SUBNET "}"),
             ""),
     400, "PrivateIPAddressVersionMismatch", NULL},
    /* rules and probes */
    {"backend port 0", "PUT", LB,
     LB_RULES("{\"name\":\"r\",\"properties\":{\"protocol\":\"Tcp\",\"frontendPort\":80,"
              "\"backendPort\":0,\"frontendIPConfiguration\":" ID(
                  LB "/frontendIPConfigurations/f") "}}"),
     400, "LoadBalancingRuleInvalidPort", NULL},
    {"all ports of a public frontend", "PUT", LB,
     LB_RULES("{\"name\":\"r\",\"properties\":{\"protocol\":\"All\",\"frontendPort\":0,"
              "\"backendPort\":0,\"frontendIPConfiguration\":" ID(
                  LB "/frontendIPConfigurations/f") "}}"),
     400, "HAPortsNotSupportedForPublicFrontend", NULL},
    {"all ports and one", "PUT", IN,
     IN_WITH(INSIDE(",\"properties\":{" AT_SUBNET "}"),
             ",\"loadBalancingRules\":[" IN_RULE(
                 "a", "\"protocol\":\"All\",\"frontendPort\":0,"
                      "\"backendPort\":0") "," IN_RULE("b", "\"protocol\":\"Tcp\",\"frontendPort\":"
                                                            "80,\"backendPort\":80") "]"),
     400, "RulesUseSameFrontendPortProtocolAndIPConfig", NULL},
    {"one port and all", "PUT", IN,
     IN_WITH(INSIDE(",\"properties\":{" AT_SUBNET "}"),
             ",\"loadBalancingRules\":[" IN_RULE(
                 "b",
                 "\"protocol\":\"Tcp\",\"frontendPort\":80,"
                 "\"backendPort\":80") "," IN_RULE("a", "\"protocol\":\"All\",\"frontendPort\":0,"
                                                        "\"backendPort\":0") "]"),
     400, "RulesUseSameFrontendPortProtocolAndIPConfig", NULL},
    {"no probe at all", "PUT", LB,
     LB_PROBE("\"protocol\":\"Tcp\",\"port\":80,\"numberOfProbes\":0"), 400, "InvalidParameter",
     "numberOfProbes"},
    {"interval of 4 s", "PUT", LB,
     LB_PROBE("\"protocol\":\"Tcp\",\"port\":80,\"intervalInSeconds\":4"), 400, "InvalidParameter",
     "intervalInSeconds"},
    {"empty path", "PUT", LB, LB_PROBE("\"protocol\":\"Http\",\"port\":80,\"requestPath\":\"\""),
     400, "ProbeRequestPathMissing", NULL},
    {"long path", "PUT", LB,
     LB_PROBE("\"protocol\":\"Http\",\"port\":80,\"requestPath\":\"/" X140 X140 X140 X140 X140 X140
                  X140 X140 X140 X140 X140 X140 X140 X140 X140 "\""),
     400, "ProbeRequestPathTooLong", NULL},
    /* NAT and outbound rules */
    {"NAT rule on a rule's port", "PUT", LB,
     LB_WITH(",\"loadBalancingRules\":[" RULE("r", "f", "80", "") "],\"inboundNatRules\":[" NAT(
         "n", "\"frontendPort\":80") "]"),
     400, "RulesUseSameFrontendPortProtocolAndIPConfig", "r and n"},
    {"two NAT rules on a port", "PUT", LB,
     LB_WITH(",\"inboundNatRules\":[" NAT("m", "\"frontendPort\":80") "," NAT(
         "n", "\"frontendPort\":80") "]"),
     400, "RulesUseSameFrontendPortProtocolAndIPConfig", "m and n"},
    {"NAT pool around a rule's port", "PUT", LB,
     LB_WITH(",\"loadBalancingRules\":[" RULE("r", "f", "80", "") "],\"inboundNatPools\":[" NAT(
         "n", "\"frontendPortRangeStart\":70,\"frontendPortRangeEnd\":80") "]"),
     400, "RulesUseSameFrontendPortProtocolAndIPConfig", NULL},
    {"NAT pool that ends before it begins", "PUT", LB,
     LB_WITH(",\"inboundNatPools\":[" NAT(
         "n", "\"frontendPortRangeStart\":70,\"frontendPortRangeEnd\":60") "]"),
     400, "InvalidFrontendPortRange", NULL},
    {"NAT rule on no frontend", "PUT", LB,
     LB_WITH(",\"inboundNatRules\":[{\"name\":\"n\",\"properties\":{\"protocol\":\"Tcp\","
             "\"frontendPort\":80,\"backendPort\":80}}]"),
     400, "InvalidResourceReference", NULL},
    {"outbound rule without frontend", "PUT", LB, LB_WITH(OUT(",\"frontendIPConfigurations\":[]")),
     400, "OutboundRuleFrontendIPConfigurationMissing", NULL},
    {"seven outbound ports", "PUT", LB, LB_WITH(OUT(OUT_F ",\"allocatedOutboundPorts\":7")), 400,
     "OutboundRuleInvalidAllocatedOutboundPorts", NULL},
    {"too many outbound ports", "PUT", LB, LB_WITH(OUT(OUT_F ",\"allocatedOutboundPorts\":64008")),
     400, "InvalidParameter", "allocatedOutboundPorts"},
    {"outbound idle time-out", "PUT", LB, LB_WITH(OUT(OUT_F ",\"idleTimeoutInMinutes\":121")), 400,
     "InvalidParameter", "idleTimeoutInMinutes"},
    {"outbound rule of Basic", "PUT", BASIC,
     "{\"location\":\"eastus\",\"properties\":{\"backendAddressPools\":[" K
     "],\"outboundRules\":[{\"name\":\"o\",\"properties\":{\"protocol\":\"All\","
     "\"frontendIPConfigurations\":[],\"backendAddressPool\":" ID(BASIC
                                                                  "/backendAddressPools/k") "}}]}}",
     400, "OutboundRulesNotSupportedForBasicLoadBalancer", NULL},
    /* pools, scale sets, interfaces */
    {"name of a pool", "PUT", LB "/backendAddressPools/-k", "{\"properties\":{}}", 400,
     "InvalidResourceName", NULL},
    {"mode of a scale set", "PUT", VMSS,
     "{\"location\":\"eastus\",\"properties\":{\"orchestrationMode\":\"Flexible\"}}", 409,
     "PropertyChangeNotAllowed", "'orchestrationMode'"},
    {"prefix of a scale set's names", "PUT", VMSS,
     "{\"location\":\"eastus\",\"properties\":{\"virtualMachineProfile\":{\"osProfile\":{"
     "\"computerNamePrefix\":\"x\"}}}}",
     409, "PropertyChangeNotAllowed", "'computerNamePrefix'"},
    {"interface at a balancer's address", "PUT", NIC,
     NIC_OF(CONFIG("c", ",\"publicIPAddress\":" ID(PIP))), 400,
     "PublicIPReferencedByMultipleIPConfigs", NULL},
    {"interface in another region", "PUT", NIC,
     "{\"location\":\"westus\",\"properties\":{\"ipConfigurations\":[" CONFIG("c", "") "]}}", 400,
     "InvalidResourceReference", NULL},
    {"two primaries", "PUT", NIC,
     NIC_OF(CONFIG("c", ",\"primary\":true") "," CONFIG("d", ",\"primary\":true")), 400,
     "NetworkInterfaceMustHaveOnePrimaryIpConfiguration", NULL},
    {"no primary", "PUT", NIC, NIC_OF(CONFIG("c", ",\"primary\":false")), 400,
     "NetworkInterfaceMustHaveOnePrimaryIpConfiguration", NULL},
    {"configuration twice", "PUT", NIC, NIC_OF(CONFIG("c", "") "," CONFIG("C", "")), 400,
     "DuplicateResourceName", NULL},
    {"one address for two configurations", "PUT", NIC,
     NIC_OF(CONFIG("c", STATIC("10.240.7.7")) "," CONFIG("d", STATIC("10.240.7.7"))), 400,
     "PrivateIPAddressInUse", NULL},
    {"static without address", "PUT", NIC,
     NIC_OF(CONFIG("c", ",\"privateIPAllocationMethod\":\"Static\"")), 400,
     "PrivateIPAddressMissing", NULL},
    {"IPv6 where there is none", "PUT", NIC,
     NIC_OF(CONFIG("c", ",\"privateIPAddressVersion\":\"IPv6\"")), 400, "SubnetIsFull", NULL},
    /* security groups */
    {"overlapping sources", "PUT", GROUP,
     NSG_OF(PORT "," TO_ALL ",\"sourceAddressPrefixes\":[\"10.1.0.0/16\",\"10.0.0.0/8\"]"), 400,
     "OverlappingSubnetsNotPermittedInSecurityRule", "sourceAddressPrefixes"},
    {"a destination in a range", "PUT", GROUP,
     NSG_OF(PORT ",\"sourceAddressPrefix\":\"*\",\"destinationAddressPrefixes\":[\"10.0.0.9\","
                 "\"192.0.2.1\",\"10.0.0.0/24\"]"),
     400, "OverlappingSubnetsNotPermittedInSecurityRule", "10.0.0.9/32"},
    {"one address in two forms", "PUT", GROUP,
     NSG_OF(PORT "," TO_ALL ",\"sourceAddressPrefixes\":[\"fd00::1\",\"fd00:0::1/128\"]"), 400,
     "OverlappingSubnetsNotPermittedInSecurityRule", NULL},
    {"a service tag in a list", "PUT", GROUP,
     NSG_OF(PORT "," TO_ALL ",\"sourceAddressPrefixes\":[\"Internet\",\"10.0.0.0/8\"]"), 400,
     "SecurityRuleParameterContainsUnsupportedValue", "Internet"},
    {"all addresses in a list", "PUT", GROUP,
     NSG_OF(PORT "," TO_ALL ",\"sourceAddressPrefixes\":[\"*\"]"), 400,
     "SecurityRuleParameterContainsUnsupportedValue", NULL},
    {"all ports in a list", "PUT", GROUP,
     NSG_OF(TO_ALL ",\"sourceAddressPrefix\":\"*\",\"destinationPortRanges\":[\"*\"]"), 400,
     "SecurityRuleParameterContainsUnsupportedValue", NULL},
    {"groups and prefixes", "PUT", GROUP,
     NSG_OF(PORT "," TO_ALL
                 ",\"sourceAddressPrefix\":\"*\",\"destinationApplicationSecurityGroups\":[" ID(
                     NET "/applicationSecurityGroups/x") "]"),
     400, "SecurityRuleParameterConflict", NULL},
    {"long description", "PUT", GROUP,
     NSG_OF(PORT "," TO_ALL ",\"sourceAddressPrefix\":\"*\",\"description\":\"" X140 "x\""), 400,
     "SecurityRuleDescriptionTooLong", NULL},
    /* subnets, route tables, availability sets */
    {"subnet with host bits", "PUT", SN("x"),
     "{\"properties\":{\"addressPrefix\":\"10.9.0.1/24\"}}", 400, "InvalidCIDRNotation",
     "10.9.0.0/24"},
    {"subnet without room", "PUT", SN("x"), "{\"properties\":{\"addressPrefix\":\"10.9.0.0/30\"}}",
     400, "NetcfgInvalidSubnet", NULL},
    {"subnet that leaves its machines", "PUT", SUBNET,
     "{\"properties\":{\"addressPrefix\":\"10.230.0.0/16\"}}", 400, "InUsePrefixCannotBeDeleted",
     NULL},
    {"no route table", "PUT", SN("x"),
     "{\"properties\":{\"addressPrefix\":\"10.9.0.0/24\",\"routeTable\":" ID(
         NET "/routeTables/none") "}}",
     400, "InvalidResourceReference", "routeTables/none"},
    {"route table in use", "DELETE", NET "/routeTables/rt", NULL, 400,
     "InUseRouteTableCannotBeDeleted", "subnets/routed"},
    {"availability set in use", "DELETE", CPU "/availabilitySets/set", NULL, 409,
     "OperationNotAllowed", NULL},
};

/* Valid requests that are close to a refusal above. */
static const struct arm_row taken[] = {
    {"all zones in any order", "PUT", ADDR("zoned"), PIP_OF(",\"zones\":[\"3\",\"1\",\"2\"]"), 0,
     NULL, NULL},
    {"the same zones again", "PUT", ADDR("zoned"), PIP_OF(",\"zones\":[\"1\",\"2\",\"3\"]"), 0,
     NULL, NULL},
    {"one zone", "PUT", ADDR("zonal"), PIP_OF(",\"zones\":[\"2\"]"), 0, NULL, NULL},
    {"a region by its name for people", "PUT", ADDR("far"), "{\"location\":\"West US 2\"}", 0, NULL,
     NULL},
    {"the same ip tags", "PUT", ADDR("tagged"),
     PIP_OF(",\"properties\":{\"ipTags\":[{\"ipTagType\":\"RoutingPreference\",\"tag\":\"Internet\""
            "}]}"),
     0, NULL, NULL},
    {"zones of an internal frontend", "PUT", IN "3",
     IN_WITH(INSIDE(",\"zones\":[\"1\",\"3\"],\"properties\":{" AT_SUBNET "}"), ""), 0, NULL, NULL},
    {"all ports of an internal frontend", "PUT", IN,
     IN_WITH(INSIDE(",\"properties\":{" AT_SUBNET "}"),
             ",\"loadBalancingRules\":[" IN_RULE(
                 "a", "\"protocol\":\"All\",\"frontendPort\":0,\"backendPort\":0") "]"),
     0, NULL, NULL},
    {"a port for each protocol", "PUT", LB,
     LB_WITH(",\"loadBalancingRules\":[" RULE("r", "f", "80", "") "],\"inboundNatRules\":[" NAT(
         "n",
         "\"frontendPort\":81") "],\"inboundNatPools\":[" NAT("q",
                                                              "\"frontendPortRangeStart\":82,"
                                                              "\"frontendPortRangeEnd\":90") "]"),
     0, NULL, NULL},
    {"an outbound rule", "PUT", LB,
     LB_WITH(OUT(OUT_F ",\"allocatedOutboundPorts\":64000,\"idleTimeoutInMinutes\":120")), 0, NULL,
     NULL},
    {"neighbours", "PUT", GROUP,
     NSG_OF(PORT "," TO_ALL
                 ",\"sourceAddressPrefixes\":[\"10.1.0.0/16\",\"10.0.0.0/16\",\"10.2.0.1\"]"),
     0, NULL, NULL},
    {"a tag by itself", "PUT", GROUP,
     NSG_OF(PORT "," TO_ALL ",\"sourceAddressPrefix\":\"AzureFrontDoor.Backend\""), 0, NULL, NULL},
    {"a description that fits", "PUT", GROUP,
     NSG_OF(PORT "," TO_ALL ",\"sourceAddressPrefix\":\"*\",\"description\":\"" X140 "\""), 0, NULL,
     NULL},
    {"a subnet that grows", "PUT", SN("routed"),
     "{\"properties\":{\"addressPrefixes\":[\"10.8.0.0/24\",\"10.8.1.0/24\"]}}", 0, NULL, NULL},
    {"a route table that nobody uses any more", "DELETE", NET "/routeTables/rt", NULL, 0, NULL,
     NULL},
    {"two configurations, one primary", "PUT", NIC, NIC_OF(CONFIG("c", "") "," CONFIG("d", "")), 0,
     NULL, NULL},
};

static void make_world(struct fixture *f)
{
    arm_make_balancer(f);
    arm_must(f, "PUT", ADDR("free"), PIP_BODY);
    arm_must(f, "PUT", ADDR("tagged"), taken[4].body);
    arm_must(f, "PUT", IN, IN_WITH(INSIDE(",\"properties\":{" AT_SUBNET "}"), ""));
    arm_must(f, "PUT", GROUP, "{\"location\":\"eastus\"}");
    arm_must(f, "PUT", SN("routed"),
             "{\"properties\":{\"addressPrefix\":\"10.8.0.0/24\",\"routeTable\":" ID(
                 NET "/routeTables/rt") "}}");
    arm_must(f, "PUT", CPU "/availabilitySets/set", "{\"location\":\"eastus\"}");
    arm_must(f, "PUT", CPU "/virtualMachines/vm",
             "{\"location\":\"eastus\",\"properties\":{\"availabilitySet\":" ID(
                 CPU "/availabilitySets/set") "}}");
}

static void values__each_row__refused_with_its_code(void **state)
{
    (void)state;
    struct fixture *f = arm_start("strictness", NULL);
    make_world(f);
    arm_check_refusals(f, rows, ARRAY_LEN(rows));
    fixture_stop(f);
}

static void values__just_inside__taken(void **state)
{
    (void)state;
    struct fixture *f = arm_start("taken", NULL);
    make_world(f);
    for (size_t i = 0; i < ARRAY_LEN(taken); i++) {
        const struct arm_row *r = &taken[i];
        int status = arm_call(f, r->method, r->id, r->body);
        arm_expect(f, r->what, status == 201 ? 200 : status, 200, NULL);
    }
    fixture_stop(f);
}

static void pool__that_only_the_model_names__stays(void **state)
{
    (void)state;
    struct fixture *f = arm_start("model", NULL);
    arm_make_balancer(f);
    arm_must(f, "PUT", VMSS,
             "{\"location\":\"eastus\",\"properties\":{\"virtualMachineProfile\":{"
             "\"networkProfile\":{\"networkInterfaceConfigurations\":[{\"name\":\"nic\","
             "\"properties\":{\"primary\":true,\"ipConfigurations\":[{\"name\":\"ipconfig1\","
             "\"properties\":{" AT_SUBNET
             ",\"loadBalancerBackendAddressPools\":[" ID(POOL) "]}}]}}]}}}}");
    int status = arm_call(f, "PUT", LB, LB_OF("Standard", FRONT("f", PIP), "", "", ""));
    arm_expect(f, "without the pool", status, 400, "InUseBackendAddressPoolCannotBeDeleted");
    assert_non_null(strstr(f->text, "in use by virtual machine scale set " VMSS));
    fixture_stop(f);
}

/* `n` rules, each with a probe of its own, on one frontend; the rule `odd` asks for a probe
 * that is not there. */
static const char *many_rules(struct arena *a, int n, int odd)
{
    struct str_buf rules = STR_BUF_INIT, probes = STR_BUF_INIT;
    for (int i = 0; i < n; i++) {
        const char *comma = i ? "," : "";
        str_appendf(&rules,
                    "%s{\"name\":\"R%d\",\"properties\":{\"protocol\":\"Tcp\",\"frontendPort\":%d,"
                    "\"backendPort\":%d,\"frontendIPConfiguration\":{\"id\":\"%s\"},\"probe\":{"
                    "\"id\":\"%s/p%d\"}}}",
                    comma, i, 1000 + i, 1000 + i, LB "/frontendIPConfigurations/F", LB "/probes",
                    i == odd ? n : i);
        str_appendf(&probes,
                    "%s{\"name\":\"P%d\",\"properties\":{\"protocol\":\"Tcp\",\"port\":%d}}", comma,
                    i, 1000 + i);
    }
    const char *body = arena_printf(
        a,
        "{\"location\":\"eastus\",\"sku\":{\"name\":\"Standard\"},\"properties\":{"
        "\"frontendIPConfigurations\":[%s],\"loadBalancingRules\":[%s],\"probes\":[%s]}}",
        FRONT("f", PIP), str_buf_text(&rules), str_buf_text(&probes));
    str_buf_done(&rules);
    str_buf_done(&probes);
    return body;
}

static void balancer__of_many_rules__references_are_found_in_any_case(void **state)
{
    (void)state;
    struct fixture *f = arm_start("many", NULL);
    arm_must(f, "PUT", PIP, PIP_BODY);
    arm_must(f, "PUT", LB, many_rules(f->a, 60, -1));
    int status = arm_call(f, "PUT", LB, many_rules(f->a, 60, 59));
    arm_expect(f, "no probe", status, 400, "InvalidResourceReference");
    assert_non_null(strstr(f->text, "probes/p60"));
    arm_must(f, "GET", LB, NULL);
    assert_string_equal(arm_text(f, "properties.probes.59.properties.loadBalancingRules.0.id"),
                        LB "/loadBalancingRules/R59");
    fixture_stop(f);
}

static void rules__of_an_interface__limited_when_asked_for(void **state)
{
    (void)state;
    struct fixture *f = arm_start("per-nic", NULL);
    arm_make_balancer(f);
    fixture_must(f, "PUT", "/sim/settings/azure", "{\"limits\":{\"rulesPerNetworkInterface\":0}}");
    arm_must(f, "PUT", LB, LB_BODY); /* the pool is empty */
    int status = arm_call(
        f, "PUT", NIC, NIC_OF(CONFIG("c", ",\"loadBalancerBackendAddressPools\":[" ID(POOL) "]")));
    arm_expect(f, "joins", status, 400, "LoadBalancingRulesPerNetworkInterfaceLimitReached");
    fixture_must(f, "PUT", "/sim/settings/azure", "{\"limits\":{\"rulesPerNetworkInterface\":1}}");
    arm_join_pool(f);
    arm_must(f, "PUT", LB, LB_BODY);
    status =
        arm_call(f, "PUT", LB, LB_RULES(RULE("r", "f", "80", "") "," RULE("s", "f", "81", "")));
    arm_expect(f, "one more", status, 400, "LoadBalancingRulesPerNetworkInterfaceLimitReached");
    fixture_stop(f);
}

UNIT_MAIN(strictness)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values__each_row__refused_with_its_code),
        cmocka_unit_test(values__just_inside__taken),
        cmocka_unit_test(pool__that_only_the_model_names__stays),
        cmocka_unit_test(balancer__of_many_rules__references_are_found_in_any_case),
        cmocka_unit_test(rules__of_an_interface__limited_when_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
