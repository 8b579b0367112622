/* SPDX-License-Identifier: Apache-2.0 */
/* worlds.c: the start of a simulated Azure, its nodes, its recorded worlds, lists and counts.
 *
 * Source: docs/interfaces.md (--cloud, worlds, controls), docs/spec/azure.md §1.6, §3.3,
 * §16 items 2 and 11. */
#include "tests/support/unit.h"
#include "tests/unit/sim/arm/arm_fixture.h"

#include <string.h>

static void start__of_azure__has_network_scale_set_and_nodes(void **state)
{
    (void)state;
    struct fixture *f = arm_start("start", NULL);
    arm_must(f, "GET", SUBNET, NULL);
    assert_string_equal(arm_text(f, "properties.addressPrefix"), "10.240.0.0/16");
    arm_must(f, "GET", VMSS, NULL);
    assert_string_equal(arm_text(f, "sku.capacity"), "3");
    arm_must(f, "GET", VMSS "/virtualMachines/2", NULL);
    assert_string_equal(arm_text(f, "zones.0"), "3");
    fixture_must(f, "GET", "/api/v1/nodes/vmss000002", NULL);
    assert_string_equal(arm_text(f, "spec.providerID"), "azure://" VMSS "/virtualMachines/2");
    assert_string_equal(arm_text(f, "status.addresses.0.address"), "10.240.1.2");
    fixture_stop(f);
}

static void nodes__come_and_go__with_their_instances(void **state)
{
    (void)state;
    struct fixture *f = arm_start("nodes", NULL);
    arm_make_balancer(f);
    arm_join_pool(f);
    fixture_must(f, "POST", "/sim/nodes", "{\"count\":2}");
    assert_string_equal(arm_text(f, "nodes.1"), "vmss000004");
    arm_must(f, "GET", VMSS "/virtualMachines", NULL);
    assert_int_equal(arm_len(f, "value"), 5);
    fixture_must(f, "DELETE", "/sim/nodes/vmss000000", NULL);
    fixture_must(f, "DELETE", "/sim/nodes/node-4", NULL);
    arm_expect(f, "instance", arm_call(f, "GET", VMSS "/virtualMachines/0", NULL), 404, NULL);
    arm_must(f, "GET", VMSS, NULL);
    assert_string_equal(arm_text(f, "sku.capacity"), "3");
    arm_must(f, "GET", POOL, NULL);
    assert_int_equal(arm_len(f, "properties.backendIPConfigurations"), 0);
    assert_int_equal(fixture_call(f, "GET", "/api/v1/nodes/vmss000004", NULL), 404);
    assert_int_equal(fixture_call(f, "DELETE", "/sim/nodes/vmss000009", NULL), 404);
    fixture_stop(f);
}

static void nodes__new__join_what_the_model_names(void **state)
{
    (void)state;
    struct fixture *f = arm_start("model", NULL);
    arm_make_balancer(f);
    arm_must(
        f, "PUT", VMSS,
        "{\"location\":\"eastus\",\"properties\":{\"virtualMachineProfile\":{\"networkProfile\":"
        "{\"networkInterfaceConfigurations\":[{\"name\":\"nic\",\"properties\":{\"primary\":"
        "true,\"ipConfigurations\":[{\"name\":\"ipconfig1\",\"properties\":{\"primary\":true,"
        "\"subnet\":" ID(SUBNET) ",\"loadBalancerBackendAddressPools\":[" ID(POOL) "]}}]}}]}}}}");
    assert_string_equal(
        arm_text(f, "properties.virtualMachineProfile.osProfile.computerNamePrefix"), "vmss");
    fixture_must(f, "POST", "/sim/nodes", "{\"count\":1}");
    arm_must(f, "GET", POOL, NULL);
    assert_int_equal(arm_len(f, "properties.backendIPConfigurations"), 1);
    assert_string_equal(arm_text(f, "properties.backendIPConfigurations.0.id"),
                        VMSS "/virtualMachines/3/networkInterfaces/nic/ipConfigurations/ipconfig1");
    fixture_stop(f);
}

#define INNER(name, version)                                                                       \
    "{\"name\":\"" name                                                                            \
    "\",\"properties\":{\"subnet\":" ID(SUBNET) ",\"privateIPAddressVersion\":\"IPv" version       \
                                                "\"}}"

static void nodes__dual_stack__have_two_addresses(void **state)
{
    (void)state;
    struct sim_config cfg = {.nodes = 1, .ipv4 = true, .ipv6 = true};
    struct fixture *f = arm_start("dual", &cfg);
    fixture_must(f, "GET", "/api/v1/nodes/vmss000000", NULL);
    assert_string_equal(arm_text(f, "status.addresses.0.address"), "10.240.1.0");
    assert_string_equal(arm_text(f, "status.addresses.1.address"), "fd00:db8:deca::100");
    arm_must(f, "PUT", NET "/loadBalancers/in",
             LB_OF("Standard", INNER("g", "6") "," INNER("h", "4"), K, "", ""));
    assert_string_equal(
        arm_text(f, "properties.frontendIPConfigurations.0.properties.privateIPAddress"),
        "fd00:db8:deca::4");
    arm_must(f, "PUT", PIP,
             "{\"location\":\"eastus\",\"sku\":{\"name\":\"Standard\"},\"properties\":{"
             "\"publicIPAddressVersion\":\"IPv6\"}}");
    assert_string_equal(arm_text(f, "properties.ipAddress"), "2603:1030:20e::4");
    fixture_stop(f);
}

#define NO_IPV4 "AtleastOneIpV4RequiredForIpV6LbFrontendIpConfiguration"

static void balancer__of_ipv6__needs_a_frontend_of_ipv4(void **state)
{
    (void)state;
    struct sim_config cfg = {.nodes = 1, .ipv4 = true, .ipv6 = true};
    struct fixture *f = arm_start("families", &cfg);
    const char *in = NET "/loadBalancers/in";
    const char *pip6 = NET "/publicIPAddresses/pip6";
    const char *six = LB_OF("Standard", FRONT("f", NET "/publicIPAddresses/pip6"), K, "", "");
    const char *both =
        LB_OF("Standard", FRONT("f", NET "/publicIPAddresses/pip6") "," FRONT("g", PIP), K, "", "");
    arm_must(f, "PUT", PIP, PIP_BODY);
    arm_must(f, "PUT", pip6,
             "{\"location\":\"eastus\",\"sku\":{\"name\":\"Standard\"},\"properties\":{"
             "\"publicIPAddressVersion\":\"IPv6\"}}");
    arm_expect(f, "public", arm_call(f, "PUT", LB, six), 400, NO_IPV4);
    arm_expect(f, "private", arm_call(f, "PUT", in, LB_OF("Standard", INNER("g", "6"), K, "", "")),
               400, NO_IPV4);
    arm_must(f, "PUT", LB, both);
    arm_expect(f, "the last one goes", arm_call(f, "PUT", LB, six), 400, NO_IPV4);
    assert_non_null(strstr(f->text, "is required for an IPv6 frontend"));
    arm_must(f, "PUT", LB, LB_OF("Standard", FRONT("g", PIP), K, "", ""));
    arm_must(f, "PUT", LB, LB_OF("Standard", "", K, "", ""));
    fixture_stop(f);
}

static void provider_document__zones__of_the_region(void **state)
{
    (void)state;
    static const char *const zones[] = {"westus2-1", "westus2-2"};
    struct sim_config cfg = {.zones = zones, .n_zones = 2};
    struct fixture *f = arm_start("provider", &cfg);
    arm_must(f, "GET", SUB "/providers/Microsoft.Compute?api-version=2021-04-01", NULL);
    for (size_t i = 0; i < arm_len(f, "resourceTypes"); i++) {
        const char *at = arena_printf(f->a, "resourceTypes.%zu", i);
        if (str_eq(arm_text(f, arena_printf(f->a, "%s.resourceType", at)), "virtualMachines")) {
            assert_string_equal(arm_text(f, arena_printf(f->a, "%s.zoneMappings.0.location", at)),
                                "westus2");
            assert_int_equal(arm_len(f, arena_printf(f->a, "%s.zoneMappings.0.zones", at)), 2);
            fixture_stop(f);
            return;
        }
    }
    fail_msg("no virtualMachines in %s", f->text);
}

static void list__longer_than_a_page__next_link(void **state)
{
    (void)state;
    struct fixture *f = arm_start("pages", NULL);
    arm_settings(f, "{\"page_size\":2}");
    size_t seen = 0, pages = 0;
    for (int i = 0; i < 5; i++) {
        arm_must(f, "PUT", arena_printf(f->a, NET "/publicIPAddresses/pip-%d", i), PIP_BODY);
    }
    const char *path = NET "/publicIPAddresses" NET_V;
    while (path && pages < 10) {
        arm_must(f, "GET", path, NULL);
        seen += arm_len(f, "value");
        const char *next = arm_text(f, "nextLink");
        path = *next ? next + strlen(f->url) : NULL;
        pages++;
    }
    assert_int_equal(seen, 5);
    assert_int_equal(pages, 3);
    fixture_stop(f);
}

static void list__of_a_group_or_a_subscription__what_is_in_it(void **state)
{
    (void)state;
    struct fixture *f = arm_start("lists", NULL);
    fixture_must(f, "GET", "/sim/state", NULL);
    struct json_object *world = json_copy(f->answer), *empty = json_object_new_object();
    json_add(json_member(world, "azure"), SUB "/resourceGroups/other", empty);
    json_add(json_member(world, "azure"),
             SUB "/resourceGroups/other/providers/Microsoft.Network/routeTables/x",
             json_object_new_object());
    fixture_must(f, "PUT", "/sim/state", json_text(f->a, world, JSON_COMPACT));
    json_object_put(world);
    const char *other = SUB "/resourceGroups/Other/providers/Microsoft.Network/publicIPAddresses";
    arm_must(f, "PUT", arena_printf(f->a, "%s/b", other), PIP_BODY);
    arm_must(f, "PUT", PIP, PIP_BODY);
    arm_must(f, "GET", other, NULL);
    assert_int_equal(arm_len(f, "value"), 1);
    assert_string_equal(arm_text(f, "value.0.id"), SUB
                        "/resourceGroups/other/providers/Microsoft.Network/publicIPAddresses/b");
    arm_must(f, "GET", SUB "/providers/Microsoft.Network/publicIPAddresses", NULL);
    assert_int_equal(arm_len(f, "value"), 2);
    fixture_stop(f);
}

static void machines__of_a_flexible_set__by_filter(void **state)
{
    (void)state;
    struct fixture *f = arm_start("flex", NULL);
    arm_must(f, "PUT", CPU "/virtualMachines/a",
             "{\"location\":\"eastus\",\"properties\":{\"virtualMachineScaleSet\":" ID(VMSS) "}}");
    arm_must(f, "PUT", CPU "/virtualMachines/b", "{\"location\":\"eastus\"}");
    arm_must(f, "GET",
             CPU "/virtualMachines?%24filter=%27virtualMachineScaleSet%2Fid%27%20eq%20%27" VMSS
                 "%27&%24expand=instanceView",
             NULL);
    assert_int_equal(arm_len(f, "value"), 1);
    assert_string_equal(arm_text(f, "value.0.name"), "a");
    assert_string_equal(arm_text(f, "value.0.properties.instanceView.statuses.1.code"),
                        "PowerState/running");
    fixture_stop(f);
}

static void nodes__of_a_flexible_set__are_machines_in_its_pools(void **state)
{
    (void)state;
    struct fixture *f = arm_start("flexible", NULL);
    arm_make_balancer(f);
    fixture_must(f, "DELETE", "/sim/nodes/node-0", NULL);
    fixture_must(f, "DELETE", "/sim/nodes/node-1", NULL);
    fixture_must(f, "DELETE", "/sim/nodes/node-2", NULL);
    arm_must(f, "DELETE", VMSS, NULL); /* the mode of a scale set is forever */
    arm_must(
        f, "PUT", VMSS,
        "{\"location\":\"eastus\",\"sku\":{\"name\":\"Standard_D2s_v3\",\"capacity\":0},"
        "\"properties\":{\"orchestrationMode\":\"Flexible\","
        "\"virtualMachineProfile\":{\"networkProfile\":{\"networkApiVersion\":\"2020-11-01\","
        "\"networkInterfaceConfigurations\":[{\"name\":\"nic\",\"properties\":{\"primary\":true,"
        "\"ipConfigurations\":[{\"name\":\"ipconfig1\",\"properties\":{\"primary\":true,"
        "\"privateIPAddressVersion\":\"IPv4\",\"subnet\":" ID(
            SUBNET) ",\"loadBalancerBackendAddressPools\":[" ID(POOL) "]}}]}}]}}}}");
    fixture_must(f, "POST", "/sim/nodes", "{\"count\":2}");
    assert_string_equal(arm_text(f, "nodes.1"), "vm-1");
    arm_must(f, "GET", CPU "/virtualMachines/vm-1", NULL);
    assert_string_equal(arm_text(f, "properties.virtualMachineScaleSet.id"), VMSS);
    assert_string_equal(arm_text(f, "zones.0"), "2");
    arm_must(f, "GET", NET "/networkInterfaces/nic-1", NULL);
    assert_string_equal(arm_text(f, "properties.ipConfigurations.0.properties.privateIPAddress"),
                        "10.240.1.1");
    arm_must(f, "GET", POOL, NULL);
    assert_int_equal(arm_len(f, "properties.backendIPConfigurations"), 2);
    fixture_must(f, "DELETE", "/sim/nodes/vm-1", NULL);
    arm_must(f, "GET", POOL, NULL);
    assert_int_equal(arm_len(f, "properties.backendIPConfigurations"), 1);
    arm_must(f, "GET", VMSS, NULL);
    assert_string_equal(arm_text(f, "sku.capacity"), "1");
    fixture_stop(f);
}

static void counts__by_operation__polls_and_refusals_too(void **state)
{
    (void)state;
    struct fixture *f = arm_start("counts", NULL);
    arm_make_balancer(f);
    arm_expect(f, "refused", arm_call(f, "DELETE", PIP, NULL), 400, NULL);
    arm_must(f, "GET", LB, NULL);
    arm_must(f, "GET", NET "/loadBalancers", NULL);
    fixture_must(f, "GET", "/sim/calls", NULL);
    struct json_object *azure = json_member(f->answer, "azure");
    assert_int_equal(json_int(azure, "LoadBalancers.CreateOrUpdate", 0), 1);
    assert_int_equal(json_int(azure, "PublicIPAddresses.CreateOrUpdate", 0), 1);
    assert_int_equal(json_int(azure, "PublicIPAddresses.Delete", 0), 1);
    assert_int_equal(json_int(azure, "LoadBalancers.Get", 0), 1);
    assert_int_equal(json_int(azure, "LoadBalancers.List", 0), 1);
    fixture_stop(f);
}

static void load_world(struct fixture *f, const char *name)
{
    fixture_must(f, "PUT", "/sim/state", fixture_data(f->a, name));
}

#define S  "/subscriptions/S/resourceGroups/rg/providers"
#define SN "/Microsoft.Network/virtualNetworks/vnet/subnets/sn"

static void world__recorded__keeps_etags_addresses_and_members(void **state)
{
    (void)state;
    struct fixture *f = arm_start("recorded", NULL);
    load_world(f, "azure/world-nic.json");
    arm_must(f, "GET", S "/Microsoft.Network/loadBalancers/c1", NULL);
    assert_string_equal(arm_text(f, "etag"), "W/\"00000171-0000-0000-0000-000000000000\"");
    assert_int_equal(
        arm_len(f, "properties.backendAddressPools.0.properties.backendIPConfigurations"), 6);
    const char *echo = arena_strdup(f->a, f->text);
    arm_must(f, "PUT", S "/Microsoft.Network/loadBalancers/c1", echo);
    assert_string_equal(arm_text(f, "etag"), "W/\"00000171-0000-0000-0000-000000000000\"");
    arm_must(f, "GET",
             S
             "/Microsoft.Compute/virtualMachineScaleSets/vmss/virtualMachines/3/networkInterfaces/"
             "nic?api-version=2018-10-01",
             NULL);
    assert_string_equal(arm_text(f, "properties.ipConfigurations.0.properties.privateIPAddress"),
                        "10.240.1.3");
    fixture_must(f, "POST", "/sim/nodes", "{\"count\":1}");
    assert_string_equal(arm_text(f, "nodes.0"), "vmss000006");
    fixture_stop(f);
}

static void world__of_addresses__pools_are_in_their_balancers(void **state)
{
    (void)state;
    struct fixture *f = arm_start("recorded-ips", NULL);
    load_world(f, "azure/world-node-ip.json");
    arm_must(f, "GET", S "/Microsoft.Network/loadBalancers/c1/backendAddressPools/c1", NULL);
    assert_int_equal(arm_len(f, "properties.loadBalancerBackendAddresses"), 6);
    arm_must(f, "GET", S "/Microsoft.Network/loadBalancers/c1", NULL);
    assert_int_equal(
        arm_len(f, "properties.backendAddressPools.0.properties.loadBalancerBackendAddresses"), 6);
    fixture_stop(f);
}

static void world__addresses_of_instances__are_kept(void **state)
{
    (void)state;
    struct fixture *f = arm_start("addresses", NULL);
    struct json_object *world = NULL;
    const char *config = str_lower(f->a, NIC_CFG);
    fixture_must(f, "GET", "/sim/state", NULL);
    assert_int_equal(json_parse_arena(f->a, f->text, strlen(f->text), NULL, &world, NULL), ERR_OK);
    struct json_object *addresses = json_member(world, "azure_addresses");
    assert_string_equal(json_str(addresses, config), "10.240.1.0");
    json_add_str(addresses, config, "10.240.7.7");
    fixture_must(f, "PUT", "/sim/state", json_text(f->a, world, JSON_COMPACT));
    arm_must(f, "GET", VMSS "/virtualMachines/0/networkInterfaces/nic?api-version=2018-10-01",
             NULL);
    assert_string_equal(arm_text(f, "properties.ipConfigurations.0.properties.privateIPAddress"),
                        "10.240.7.7");
    fixture_must(f, "DELETE", "/sim/nodes/vmss000000", NULL);
    fixture_must(f, "GET", "/sim/state", NULL);
    assert_null(strstr(f->text, "10.240.7.7"));
    fixture_stop(f);
}

static void world__of_availability_sets__nodes_are_machines(void **state)
{
    (void)state;
    struct fixture *f = arm_start("recorded-sets", NULL);
    load_world(f, "azure/world-availability-sets.json");
    fixture_must(f, "POST", "/sim/nodes", "{\"count\":1}");
    assert_string_equal(arm_text(f, "nodes.0"), "vm-6");
    arm_must(f, "GET", S "/Microsoft.Network/networkInterfaces/nic-6", NULL);
    assert_string_equal(arm_text(f, "properties.virtualMachine.id"),
                        S "/Microsoft.Compute/virtualMachines/vm-6");
    fixture_must(f, "GET", "/api/v1/nodes/vm-6", NULL);
    assert_string_equal(arm_text(f, "spec.providerID"),
                        "azure://" S "/Microsoft.Compute/virtualMachines/vm-6");
    int status = arm_call(
        f, "PUT", S "/Microsoft.Network/networkInterfaces/nic-3",
        "{\"location\":\"eastus\",\"properties\":{\"ipConfigurations\":[{\"name\":"
        "\"ipconfig1\",\"properties\":{\"subnet\":" ID(
            S SN) ",\"loadBalancerBackendAddressPools\":[" ID(S
                                                              "/Microsoft.Network/loadBalancers/c1/"
                                                              "backendAddressPools/c1") "]}}]}}");
    arm_expect(f, "another set", status, 400,
               "NetworkInterfaceAndLoadBalancerAreInDifferentAvailabilitySets");
    fixture_must(f, "DELETE", "/sim/nodes/vm-0", NULL);
    arm_must(f, "GET", S "/Microsoft.Network/loadBalancers/c1", NULL);
    assert_int_equal(
        arm_len(f, "properties.backendAddressPools.0.properties.backendIPConfigurations"), 2);
    fixture_stop(f);
}

/* A state that no request could create: it is loaded, and everything can be read and written. */
static void world__of_nonsense__is_loaded(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "{}",
        "{\"properties\":5,\"sku\":[],\"tags\":\"x\",\"etag\":7,\"name\":{},\"location\":null}",
        "{\"properties\":{\"frontendIPConfigurations\":[1,null,{},[],{\"name\":3,\"properties\":[]}"
        "],"
        "\"backendAddressPools\":{\"a\":1},\"loadBalancingRules\":[{\"properties\":{"
        "\"frontendPort\":\"x\",\"backendAddressPools\":[null],\"frontendIPConfiguration\":{\"id\":"
        "1}}}]}}",
        "{\"properties\":{\"ipConfigurations\":[{\"properties\":{\"subnet\":7,"
        "\"loadBalancerBackendAddressPools\":[{\"id\":\"x\"},{\"id\":\"/\"},{}]}}],"
        "\"securityRules\":[null,{}],\"addressPrefixes\":[null,3,\"x/y\"],\"addressSpace\":{"
        "\"addressPrefixes\":[null]}}}",
        "{\"properties\":{\"networkProfileConfiguration\":{\"networkInterfaceConfigurations\":[{"
        "\"properties\":{\"ipConfigurations\":[{},7]}}]},\"virtualMachineProfile\":[],"
        "\"networkProfile\":{\"networkInterfaces\":[{},null]},\"instanceView\":1}}",
    };
    static const char *const ids[] = {LB,
                                      PIP,
                                      NSG,
                                      SUBNET,
                                      NET "/virtualNetworks/vnet",
                                      NET "/networkInterfaces/n",
                                      VMSS,
                                      VMSS "/virtualMachines/0",
                                      CPU "/virtualMachines/v",
                                      CPU "/availabilitySets/s",
                                      NET "/privateLinkServices/p",
                                      NET "/routeTables/r",
                                      NET "/unknown/thing"};
    struct fixture *f = arm_start(NULL, NULL);
    for (size_t b = 0; b < ARRAY_LEN(bodies); b++) {
        struct str_buf world = STR_BUF_INIT;
        for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
            str_appendf(&world, "%s\"%s\":%s", i ? "," : "{\"sim\":{\"azure\":7},\"azure\":{",
                        ids[i], bodies[b]);
        }
        str_append(&world, "}}");
        fixture_must(f, "PUT", "/sim/state", str_buf_text(&world));
        str_buf_done(&world);
        for (size_t i = 0; i + 1 < ARRAY_LEN(ids); i++) {
            if (i != 4) {
                arm_must(f, "GET", ids[i], NULL);
            }
        }
        (void)arm_call(f, "PUT", PIP, PIP_BODY);
        (void)arm_call(f, "PUT", LB, LB_BODY);
        (void)arm_call(f, "POST", LB "/migrateToIpBased", "{}");
        (void)arm_call(f, "DELETE", LB, NULL);
        (void)fixture_call(f, "POST", "/sim/nodes", "{\"count\":1}");
        fixture_must(f, "GET", "/sim/state", NULL);
    }
    fixture_stop(f);
}

UNIT_MAIN(worlds)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(start__of_azure__has_network_scale_set_and_nodes),
        cmocka_unit_test(nodes__come_and_go__with_their_instances),
        cmocka_unit_test(nodes__new__join_what_the_model_names),
        cmocka_unit_test(nodes__dual_stack__have_two_addresses),
        cmocka_unit_test(balancer__of_ipv6__needs_a_frontend_of_ipv4),
        cmocka_unit_test(provider_document__zones__of_the_region),
        cmocka_unit_test(list__longer_than_a_page__next_link),
        cmocka_unit_test(list__of_a_group_or_a_subscription__what_is_in_it),
        cmocka_unit_test(machines__of_a_flexible_set__by_filter),
        cmocka_unit_test(nodes__of_a_flexible_set__are_machines_in_its_pools),
        cmocka_unit_test(counts__by_operation__polls_and_refusals_too),
        cmocka_unit_test(world__recorded__keeps_etags_addresses_and_members),
        cmocka_unit_test(world__of_addresses__pools_are_in_their_balancers),
        cmocka_unit_test(world__addresses_of_instances__are_kept),
        cmocka_unit_test(world__of_availability_sets__nodes_are_machines),
        cmocka_unit_test(world__of_nonsense__is_loaded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
