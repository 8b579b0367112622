/* SPDX-License-Identifier: Apache-2.0 */
/* coupling.c: which write gives which document a new etag, and what the cloud fills in by itself.
 *
 * One life of a balancer, row by row: each row is a write, the documents whose etag must be new
 * after it and those whose must not.  Source: docs/spec/azure.md §3.4 (table), §3.10, §16
 * items 3 and 5 to 9. */
#include "tests/support/unit.h"
#include "tests/unit/sim/arm/arm_fixture.h"

#include <string.h>

#define IN   NET "/loadBalancers/lb-in"
#define VM   VMSS "/virtualMachines/0"
#define NIC  NET "/networkInterfaces/nic-x"
#define PLS  NET "/privateLinkServices/pls"
#define VNET NET "/virtualNetworks/vnet"
#define CONFIGS(pools)                                                                             \
    "\"networkInterfaceConfigurations\":[{\"name\":\"nic\",\"properties\":{\"primary\":true,"      \
    "\"ipConfigurations\":[{\"name\":\"ipconfig1\",\"properties\":{\"primary\":true,"              \
    "\"subnet\":" ID(SUBNET) ",\"privateIPAddressVersion\":\"IPv4\","                              \
                             "\"loadBalancerBackendAddressPools\":[" pools "]}}]}}]"
#define VM_BODY(pools)                                                                             \
    "{\"location\":\"eastus\",\"properties\":{\"networkProfileConfiguration\":{" CONFIGS(          \
        pools) "}}}"
#define MODEL_BODY(pools)                                                                          \
    "{\"location\":\"eastus\",\"properties\":{\"virtualMachineProfile\":{\"networkProfile\":"      \
    "{" CONFIGS(pools) "}}}}"
#define NIC_BODY(pools)                                                                            \
    "{\"location\":\"eastus\",\"properties\":{\"ipConfigurations\":[{\"name\":\"c\","              \
    "\"properties\":{\"subnet\":" ID(SUBNET) ",\"loadBalancerBackendAddressPools\":[" pools        \
                                             "]}}]}}"
#define IN_BODY                                                                                    \
    "{\"location\":\"eastus\",\"sku\":{\"name\":\"Standard\"},\"properties\":{"                    \
    "\"frontendIPConfigurations\":[{\"name\":\"g\",\"properties\":{\"subnet\":" ID(                \
        SUBNET) "}}],\"backendAddressPools\":[{\"name\":\"ips\"}]}}"

struct row {
    const char *what;
    const char *method, *id, *body;
    const char *changed[4];
    const char *same[4];
};

static const struct row rows[] = {
    {"the same balancer again", "PUT", LB, LB_BODY, {NULL}, {LB, PIP, VMSS}},
    {"the same address again", "PUT", PIP, PIP_BODY, {NULL}, {LB, PIP}},
    {"a tag of the address",
     "PUT",
     PIP,
     "{\"location\":\"eastus\",\"sku\":{\"name\":\"Standard\"},\"tags\":{\"a\":\"b\"}}",
     {PIP},
     {LB, NSG}},
    {"tags by PATCH", "PATCH", PIP, "{\"tags\":{\"a\":\"c\"}}", {PIP}, {LB}},
    {"tags of a balancer", "PATCH", LB, "{\"tags\":{\"a\":\"c\"}}", {LB}, {PIP}},
    {"an instance joins", "PUT", VM, VM_BODY(ID(POOL)), {VM, VMSS, LB}, {PIP, NSG}},
    {"an instance joins again", "PUT", VM, VM_BODY(ID(POOL)), {NULL}, {VM, VMSS, LB}},
    {"the model joins", "PUT", VMSS, MODEL_BODY(ID(POOL)), {VMSS, LB}, {VM, PIP}},
    {"the model joins again", "PUT", VMSS, MODEL_BODY(ID(POOL)), {NULL}, {VMSS, LB, VM}},
    {"a NIC", "PUT", NIC, NIC_BODY(""), {NULL}, {LB, VM}},
    {"a NIC joins", "PUT", NIC, NIC_BODY(ID(POOL)), {NIC, LB}, {VM, VMSS}},
    {"a NIC leaves", "PUT", NIC, NIC_BODY(""), {NIC, LB}, {VM, VMSS}},
    {"another balancer", "PUT", IN, IN_BODY, {NULL}, {LB, PIP}},
    {"addresses in its pool",
     "PUT",
     IN "/backendAddressPools/ips",
     "{\"properties\":{\"virtualNetwork\":" ID(
         VNET) ",\"loadBalancerBackendAddresses\":[{\"name\":\"a\",\"properties\":{\"ipAddress\":"
               "\"10.240.1.0\"}}]}}",
     {IN},
     {LB, VM}},
    {"a pool more", "PUT", IN "/backendAddressPools/more", "{\"properties\":{}}", {IN}, {LB}},
    {"a pool less", "DELETE", IN "/backendAddressPools/more", NULL, {IN}, {LB}},
    {"policies of the subnet",
     "PUT",
     SUBNET,
     "{\"properties\":{\"addressPrefix\":\"10.240.0.0/16\","
     "\"privateLinkServiceNetworkPolicies\":\"Disabled\"}}",
     {SUBNET, NSG},
     {LB}},
    {"a private link",
     "PUT",
     PLS,
     "{\"location\":\"eastus\",\"properties\":{\"loadBalancerFrontendIpConfigurations\":[" ID(
         IN
         "/frontendIPConfigurations/g") "],\"ipConfigurations\":[{\"name\":\"c\",\"properties\":{"
                                        "\"primary\":true,\"subnet\":" ID(SUBNET) "}}]}}",
     {IN},
     {LB}},
    {"the link goes", "DELETE", PLS, NULL, {IN}, {LB}},
    {"a security rule",
     "PUT",
     NSG,
     "{\"location\":\"eastus\",\"properties\":{\"securityRules\":[{\"name\":\"r\",\"properties\":{"
     "\"protocol\":\"Tcp\",\"access\":\"Allow\",\"direction\":\"Inbound\",\"priority\":500,"
     "\"sourcePortRange\":\"*\",\"sourceAddressPrefix\":\"Internet\","
     "\"destinationAddressPrefix\":\"20.42.0.4\",\"destinationPortRanges\":[\"80\"]}}]}}",
     {NSG},
     {LB, SUBNET}},
    {"the frontend goes", "PUT", LB, LB_OF("Standard", "", K, "", ""), {LB, PIP}, {VM, VMSS, NSG}},
    {"the frontend comes", "PUT", LB, LB_BODY, {LB, PIP}, {VM, VMSS, NSG}},
    {"an instance leaves", "PUT", VM, VM_BODY(""), {VM, VMSS, LB}, {PIP}},
    {"the model leaves", "PUT", VMSS, MODEL_BODY(""), {VMSS, LB}, {VM}},
    {"a NIC joins again", "PUT", NIC, NIC_BODY(ID(POOL)), {NIC, LB}, {VM, VMSS}},
    {"the balancer goes", "DELETE", LB, NULL, {PIP, NIC}, {VM, VMSS, NSG, IN}},
};

static void check_etags(struct fixture *f, const struct row *r)
{
    const char *before[8] = {NULL};
    for (size_t i = 0; i < 4; i++) {
        before[i] = r->changed[i] ? arm_etag(f, r->changed[i]) : NULL;
        before[4 + i] = r->same[i] ? arm_etag(f, r->same[i]) : NULL;
    }
    arm_must(f, r->method, r->id, r->body);
    for (size_t i = 0; i < 4; i++) {
        if (r->changed[i] && str_eq(arm_etag(f, r->changed[i]), before[i])) {
            fail_msg("%s: the etag of %s is the old one", r->what, r->changed[i]);
        }
        if (r->same[i] && !str_eq(arm_etag(f, r->same[i]), before[4 + i])) {
            fail_msg("%s: the etag of %s is a new one", r->what, r->same[i]);
        }
    }
}

static void coupling__each_write__new_etags_where_it_matters(void **state)
{
    (void)state;
    struct fixture *f = arm_start("coupling", NULL);
    arm_make_balancer(f);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        check_etags(f, &rows[i]);
    }
    fixture_stop(f);
}

static void etag__of_yesterday__412(void **state)
{
    (void)state;
    static const struct {
        const char *method, *id, *body;
    } writes[] = {
        {"PUT", LB, LB_BODY},
        {"PUT", PIP, PIP_BODY},
        {"PUT", NSG, "{\"location\":\"eastus\"}"},
        {"PUT", VMSS, "{\"location\":\"eastus\"}"},
        {"PUT", VM, "{\"location\":\"eastus\"}"},
        {"PUT", POOL, "{\"properties\":{}}"},
        {"PATCH", LB, "{\"tags\":{}}"},
        {"DELETE", LB, NULL},
        {"DELETE", POOL, NULL},
    };
    struct fixture *f = arm_start("stale", NULL);
    arm_make_balancer(f);
    for (size_t i = 0; i < ARRAY_LEN(writes); i++) {
        int status = arm_call_if(f, writes[i].method, writes[i].id, writes[i].body, "W/\"old\"");
        arm_expect(f, writes[i].id, status, 412, "PreconditionFailed");
        assert_string_equal(arm_text(f, "error.details.0.code"), "PreconditionFailedEtagMismatch");
    }
    int status = arm_call_if(f, "PUT", LB, LB_BODY, arm_etag(f, LB));
    arm_expect(f, "present etag", status, 200, NULL);
    status = arm_call_if(f, "PUT", LB, LB_BODY, "*");
    arm_expect(f, "any etag", status, 200, NULL);
    status = arm_call_if(f, "PUT", LB "9", LB_BODY, "*");
    arm_expect(f, "any etag of nothing", status, 412, "PreconditionFailed");
    fixture_stop(f);
}

static void balancer__answer__has_what_the_cloud_fills_in(void **state)
{
    (void)state;
    static const struct {
        const char *path, *value;
    } values[] = {
        {"id", LB},
        {"name", "lb"},
        {"type", "Microsoft.Network/loadBalancers"},
        {"sku.tier", "Regional"},
        {"properties.provisioningState", "Succeeded"},
        {"properties.frontendIPConfigurations.0.id", LB "/frontendIPConfigurations/f"},
        {"properties.frontendIPConfigurations.0.type",
         "Microsoft.Network/loadBalancers/frontendIPConfigurations"},
        {"properties.frontendIPConfigurations.0.properties.loadBalancingRules.0.id",
         LB "/loadBalancingRules/r"},
        {"properties.probes.0.properties.loadBalancingRules.0.id", LB "/loadBalancingRules/r"},
        {"properties.backendAddressPools.0.properties.loadBalancingRules.0.id",
         LB "/loadBalancingRules/r"},
        {"properties.backendAddressPools.0.properties.backendIPConfigurations.0.id", NIC_CFG},
        {"properties.loadBalancingRules.0.properties.idleTimeoutInMinutes", "4"},
        {"properties.loadBalancingRules.0.properties.loadDistribution", "Default"},
        {"properties.loadBalancingRules.0.properties.enableTcpReset", "false"},
        {"properties.loadBalancingRules.0.properties.backendAddressPools.0.id", POOL},
        {"properties.inboundNatRules", "[ ]"},
        {"properties.outboundRules", "[ ]"},
    };
    struct fixture *f = arm_start("filled", NULL);
    arm_make_balancer(f);
    arm_join_pool(f);
    const char *etag = arm_etag(f, LB);
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        if (!str_eq(arm_text(f, values[i].path), values[i].value)) {
            fail_msg("%s: got %s, want %s", values[i].path, arm_text(f, values[i].path),
                     values[i].value);
        }
    }
    assert_string_equal(arm_text(f, "properties.probes.0.etag"), etag);
    arm_must(f, "GET", POOL, NULL);
    assert_string_equal(arm_text(f, "etag"), etag);
    fixture_stop(f);
}

static void address__of_a_frontend__held_and_given_back(void **state)
{
    (void)state;
    struct fixture *f = arm_start("held", NULL);
    arm_make_balancer(f);
    arm_must(f, "GET", PIP, NULL);
    assert_string_equal(arm_text(f, "properties.ipConfiguration.id"),
                        LB "/frontendIPConfigurations/f");
    const char *address = arm_text(f, "properties.ipAddress");
    arm_must(f, "DELETE", LB, NULL);
    arm_must(f, "GET", PIP, NULL);
    assert_string_equal(arm_text(f, "properties.ipConfiguration.id"), "");
    assert_string_equal(arm_text(f, "properties.ipAddress"), address);
    arm_must(f, "DELETE", PIP, NULL);
    arm_expect(f, "gone", arm_call(f, "GET", PIP, NULL), 404, "ResourceNotFound");
    arm_expect(f, "deleted again", arm_call(f, "DELETE", PIP, NULL), 204, NULL);
    arm_must(f, "PUT", PIP, PIP_BODY);
    assert_string_not_equal(arm_text(f, "properties.ipAddress"), address);
    fixture_stop(f);
}

static void frontend__dynamic__keeps_its_address(void **state)
{
    (void)state;
    struct fixture *f = arm_start("dynamic", NULL);
    arm_must(f, "PUT", IN, IN_BODY);
    assert_string_equal(
        arm_text(f, "properties.frontendIPConfigurations.0.properties.privateIPAddress"),
        "10.240.0.4");
    arm_must(f, "PUT", IN,
             "{\"location\":\"eastus\",\"sku\":{\"name\":\"Standard\"},\"properties\":{"
             "\"frontendIPConfigurations\":[{\"name\":\"a\",\"properties\":{\"subnet\":" ID(
                 SUBNET) "}},{\"name\":\"g\",\"properties\":{\"subnet\":" ID(SUBNET) "}}]}}");
    assert_string_equal(
        arm_text(f, "properties.frontendIPConfigurations.0.properties.privateIPAddress"),
        "10.240.0.5");
    assert_string_equal(
        arm_text(f, "properties.frontendIPConfigurations.1.properties.privateIPAddress"),
        "10.240.0.4");
    fixture_stop(f);
}

static void pool__of_nics__shows_them_twice_and_an_echo_is_no_address(void **state)
{
    (void)state;
    struct fixture *f = arm_start("echo", NULL);
    arm_make_balancer(f);
    arm_join_pool(f);
    const char *etag = arm_etag(f, LB);
    const char *first =
        "properties.backendAddressPools.0.properties.loadBalancerBackendAddresses.0";
    assert_string_equal(
        arm_text(f, arena_printf(f->a, "%s.properties.networkInterfaceIPConfiguration.id", first)),
        NIC_CFG);
    const char *echo = arena_strdup(f->a, f->text);
    arm_must(f, "PUT", LB, echo);
    assert_string_equal(arm_text(f, "etag"), etag);
    fixture_stop(f);
}

static void pool__migrated__holds_addresses(void **state)
{
    (void)state;
    struct fixture *f = arm_start("migrated", NULL);
    arm_make_balancer(f);
    arm_join_pool(f);
    arm_must(f, "POST", LB "/migrateToIpBased", "{\"pools\":[\"k\"]}");
    assert_string_equal(arm_text(f, "migratedPools.0"), "k");
    arm_must(f, "GET", POOL, NULL);
    assert_string_equal(
        arm_text(f, "properties.loadBalancerBackendAddresses.0.properties.ipAddress"),
        "10.240.1.0");
    assert_string_equal(arm_text(f, "properties.virtualNetwork.id"), VNET);
    assert_int_equal(arm_len(f, "properties.backendIPConfigurations"), 0);
    fixture_stop(f);
}

static void security_group__answer__has_empty_lists_and_defaults(void **state)
{
    (void)state;
    struct fixture *f = arm_start("nsg", NULL);
    arm_must(f, "PUT", NSG,
             "{\"location\":\"eastus\",\"properties\":{\"securityRules\":[{\"name\":\"r\","
             "\"properties\":{\"protocol\":\"Tcp\",\"access\":\"Allow\",\"direction\":\"Inbound\","
             "\"priority\":500,\"sourcePortRange\":\"*\",\"sourceAddressPrefix\":\"Internet\","
             "\"destinationAddressPrefix\":\"20.42.0.4\",\"destinationPortRanges\":[\"80\"]}},{"
             "\"name\":\"out\",\"properties\":{\"protocol\":\"*\",\"access\":\"Allow\","
             "\"direction\":\"Outbound\",\"priority\":500,\"sourcePortRange\":\"*\","
             "\"sourceAddressPrefix\":\"*\",\"destinationAddressPrefix\":\"*\","
             "\"destinationPortRange\":\"*\"}}]}}");
    assert_string_equal(
        arm_text(f, "properties.securityRules.0.properties.destinationAddressPrefixes"), "[ ]");
    assert_string_equal(arm_text(f, "properties.securityRules.0.properties.sourcePortRanges"),
                        "[ ]");
    assert_int_equal(arm_len(f, "properties.defaultSecurityRules"), 6);
    assert_string_equal(arm_text(f, "properties.subnets.0.id"), SUBNET);
    fixture_stop(f);
}

static void instance__of_a_scale_set__has_a_nic_with_its_address(void **state)
{
    (void)state;
    struct fixture *f = arm_start("nics", NULL);
    arm_make_balancer(f);
    arm_join_pool(f);
    arm_must(f, "GET", VM "/networkInterfaces/nic?api-version=2018-10-01", NULL);
    assert_string_equal(arm_text(f, "properties.virtualMachine.id"), VM);
    assert_string_equal(arm_text(f, "properties.ipConfigurations.0.properties.privateIPAddress"),
                        "10.240.1.0");
    assert_string_equal(
        arm_text(f,
                 "properties.ipConfigurations.0.properties.loadBalancerBackendAddressPools.0.id"),
        POOL);
    arm_must(f, "GET", VMSS "/networkInterfaces?api-version=2018-10-01", NULL);
    assert_int_equal(arm_len(f, "value"), 3);
    arm_must(f, "GET", VMSS "/virtualMachines", NULL);
    assert_string_equal(arm_text(f, "value.0.properties.instanceView"), "");
    arm_must(f, "GET", VMSS "/virtualMachines?%24expand=instanceView", NULL);
    assert_string_equal(arm_text(f, "value.0.properties.instanceView.statuses.1.code"),
                        "PowerState/running");
    assert_string_equal(arm_text(f, "value.0.name"), "vmss_0");
    assert_string_equal(arm_text(f, "value.0.properties.osProfile.computerName"), "vmss000000");
    fixture_stop(f);
}

static void names__of_any_case__are_one(void **state)
{
    (void)state;
    struct fixture *f = arm_start("case", NULL);
    arm_make_balancer(f);
    arm_must(f, "GET", SUB "/resourcegroups/RG/providers/microsoft.network/loadbalancers/LB", NULL);
    assert_string_equal(arm_text(f, "id"), LB);
    int status = arm_call(
        f, "PUT", SUB "/resourceGroups/RG/providers/Microsoft.Network/publicIPAddresses/PIP",
        PIP_BODY);
    arm_expect(f, "the same", status, 200, NULL);
    assert_string_equal(arm_text(f, "id"), PIP);
    fixture_stop(f);
}

UNIT_MAIN(coupling)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(coupling__each_write__new_etags_where_it_matters),
        cmocka_unit_test(etag__of_yesterday__412),
        cmocka_unit_test(balancer__answer__has_what_the_cloud_fills_in),
        cmocka_unit_test(address__of_a_frontend__held_and_given_back),
        cmocka_unit_test(frontend__dynamic__keeps_its_address),
        cmocka_unit_test(pool__of_nics__shows_them_twice_and_an_echo_is_no_address),
        cmocka_unit_test(pool__migrated__holds_addresses),
        cmocka_unit_test(security_group__answer__has_empty_lists_and_defaults),
        cmocka_unit_test(instance__of_a_scale_set__has_a_nic_with_its_address),
        cmocka_unit_test(names__of_any_case__are_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
