/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of sim/reach/azure_balancers.c and azure_machines.c: frontends, rules, pools
 * and machines, row by row. */
#include "tests/unit/sim/reach/azure_world.h"

#include <string.h>

#define SERVED "203.0.113.1 TCP/80 internet 0.0.0.0/0 > node-1:80 node-2:80"
#define OPEN   GROUP(ALLOW("500", "*", "*", "*"))

static const struct azure_row frontends_rows[] = {
    {"frontends without a rule", "",
     "10.240.0.4 * network listener missing\n"
     "2001:db8:1::1 * internet listener missing\n" SERVED "\n"
     "fd00::4 * network listener missing"},
    {"no rule at all", BALANCER(RULES("")),
     "10.240.0.4 * network listener missing\n"
     "2001:db8:1::1 * internet listener missing\n"
     "203.0.113.1 * internet listener missing\n"
     "fd00::4 * network listener missing"},
    {"no balancer", "'" LB "': null",
     "2001:db8:1::1 * internet listener missing\n"
     "203.0.113.1 * internet listener missing"},
    {"no frontend", BALANCER("'frontendIPConfigurations': []"),
     "2001:db8:1::1 * internet listener missing\n"
     "203.0.113.1 * internet listener missing"},
    {"a public address that is gone", "'" NET "/publicIPAddresses/pip': null", ""},
    {"a public address without an address yet",
     DOC(NET "/publicIPAddresses/pip", "'ipAddress': null"), ""},
    {"a prefix is not an address",
     DOC(NET "/publicIPPrefixes/x", "'ipPrefix': '203.0.113.64/28'") ", " BALANCER(
         "'frontendIPConfigurations': [{'name': 'f', 'properties': {'publicIPPrefix': " REF(
             NET "/publicIPPrefixes/x") "}}]"),
     ""},
    {"an address of a machine of its own",
     DOC(NET "/publicIPAddresses/own", "'ipAddress': '203.0.113.9', 'ipConfiguration': " REF(
                                           NET "/networkInterfaces/nic-1/ipConfigurations/v4")),
     SERVED},
    {"an address of a NAT gateway",
     DOC(NET "/publicIPAddresses/nat",
         "'ipAddress': '203.0.113.9', 'natGateway': " REF(NET "/natGateways/x")),
     SERVED},
    {"IPv6, public", OPEN ", " BALANCER(RULES(RULE("f6", "Tcp", "80", "30080", POOL("k6")))),
     "2001:db8:1::1 TCP/80 internet ::/0 > node-1:30080 node-2:30080"},
    {"IPv6, private", OPEN ", " BALANCER(RULES(RULE("g6", "Tcp", "80", "30080", POOL("k6")))),
     "fd00::4 TCP/80 network ::/0 > node-1:30080 node-2:30080"},
    {"IPv6, private, by the default rule",
     BALANCER(RULES(RULE("g6", "Tcp", "80", "30080", POOL("k6")))),
     "fd00::4 TCP/80 network fd00::/48 > node-1:30080 node-2:30080"},
    {"an address in another form",
     DOC(NET "/publicIPAddresses/pip6", "'ipAddress': '2001:DB8:1:0::1'") ", " BALANCER(
         RULES(RULE("f6", "Tcp", "80", "30080", POOL("k6")))) ", " OPEN,
     "2001:db8:1::1 TCP/80 internet ::/0 > node-1:30080 node-2:30080"},
};

static void frontends(void **state)
{
    (void)state;
    azure_check_rows(frontends_rows, ARRAY_LEN(frontends_rows));
}

static const struct azure_row rules_rows[] = {
    {"floating IP: the frontend's port",
     OPEN ", " BALANCER(RULES(RULE("f", "Tcp", "80", "80", FLOATING POOL("k")))), SERVED},
    {"the backend port", OPEN ", " BALANCER(RULES(RULE("f", "Tcp", "80", "30080", POOL("k")))),
     "203.0.113.1 TCP/80 internet 0.0.0.0/0 > node-1:30080 node-2:30080"},
    {"UDP", OPEN ", " BALANCER(RULES(RULE("f", "Udp", "53", "53", FLOATING POOL("k")))),
     "203.0.113.1 UDP/53 internet 0.0.0.0/0 > node-1:53 node-2:53"},
    {"UDP, of which only TCP is let in",
     BALANCER(RULES(USUAL ", " RULE("f", "Udp", "80", "80", FLOATING POOL("k")))) ", " GROUP(
         ACCESS("Allow", "500", "*", "*", "80", ", 'protocol': 'TCP'")),
     SERVED "\n203.0.113.1 UDP/80 internet ? > node-1:80 node-2:80 no permission"},
    {"two rules, one frontend",
     OPEN ", " BALANCER(RULES(USUAL ", " RULE("f", "Tcp", "443", "443", FLOATING POOL("k")))),
     "203.0.113.1 TCP/443 internet 0.0.0.0/0 > node-1:443 node-2:443\n" SERVED},
    {"all protocols of a port", BALANCER(RULES(RULE("g", "All", "80", "80", FLOATING POOL("k")))),
     "10.240.0.4 SCTP/80 network 10.0.0.0/8 > node-1:80 node-2:80\n"
     "10.240.0.4 TCP/80 network 10.0.0.0/8 > node-1:80 node-2:80\n"
     "10.240.0.4 UDP/80 network 10.0.0.0/8 > node-1:80 node-2:80"},
    {"all ports", BALANCER(RULES(RULE("g", "All", "0", "0", FLOATING POOL("k")))),
     "10.240.0.4 SCTP/* network 10.0.0.0/8 > node-1:* node-2:*\n"
     "10.240.0.4 TCP/* network 10.0.0.0/8 > node-1:* node-2:*\n"
     "10.240.0.4 UDP/* network 10.0.0.0/8 > node-1:* node-2:*"},
    {"all ports, and one is open to more",
     BALANCER(RULES(RULE("g", "All", "0", "0", FLOATING POOL("k")))) ", " GROUP(
         ACCESS("Allow", "500", "192.0.2.0/24", "10.240.0.4", "80-81", ", 'protocol': 'Tcp'")),
     "10.240.0.4 SCTP/* network 10.0.0.0/8 > node-1:* node-2:*\n"
     "10.240.0.4 TCP/* network 10.0.0.0/8 > node-1:* node-2:*\n"
     "10.240.0.4 TCP/80-81 network 10.0.0.0/8,192.0.2.0/24 > node-1:* node-2:*\n"
     "10.240.0.4 UDP/* network 10.0.0.0/8 > node-1:* node-2:*"},
    {"all ports, and one is shut",
     BALANCER(RULES(RULE("g", "All", "0", "0", POOL("k")))) ", " GROUP(
         ACCESS("Deny", "500", "*", "*", "22", ", 'protocol': 'Tcp'")),
     "10.240.0.4 SCTP/* network 10.0.0.0/8 > node-1:* node-2:*\n"
     "10.240.0.4 TCP/* network ? > node-1:* node-2:* no permission\n"
     "10.240.0.4 TCP/1-21 network 10.0.0.0/8 > node-1:* node-2:*\n"
     "10.240.0.4 TCP/23-65535 network 10.0.0.0/8 > node-1:* node-2:*\n"
     "10.240.0.4 UDP/* network 10.0.0.0/8 > node-1:* node-2:*"},
    {"the pool is gone", BALANCER("'backendAddressPools': []"),
     "203.0.113.1 TCP/80 internet no rule"},
    {"no pool is named", BALANCER(RULES(RULE("f", "Tcp", "80", "80", ""))),
     "203.0.113.1 TCP/80 internet no rule"},
    {"a frontend of another name", BALANCER(RULES(RULE("x", "Tcp", "80", "80", POOL("k")))), ""},
    {"outbound rules listen to nothing",
     BALANCER(RULES("") ", 'outboundRules': [{'name': 'o', 'properties': {'protocol': 'All', "
                        "'frontendIPConfigurations': " IDS(LB "/frontendIPConfigurations/f") "}}]"),
     ""},
    {"names in other letters",
     BALANCER(RULES("{'name': 'r', 'properties': {'protocol': 'tcp', 'frontendPort': 80, "
                    "'backendPort': 80, 'enableFloatingIP': true, "
                    "'frontendIPConfiguration': " REF(
                        LB "/FRONTENDIPCONFIGURATIONS/F") ", "
                                                          "'backendAddressPool': " REF(
                                                              LB "/backendAddressPools/K") "}}")),
     SERVED},
};

static void rules(void **state)
{
    (void)state;
    azure_check_rows(rules_rows, ARRAY_LEN(rules_rows));
}

#define POOLS(...) "'backendAddressPools': [" __VA_ARGS__ "]"
#define MEMBER(address, more)                                                                      \
    "{'name': 'm-" address "', 'properties': {'ipAddress': '" address "'" more "}}"
#define BY_ADDRESS(members)                                                                        \
    POOLS("{'name': 'i', 'properties': {'virtualNetwork': " REF(                                   \
        VNET) ", "                                                                                 \
              "'loadBalancerBackendAddresses': [" members "]}}")
#define LEAVE(n) DOC(NET "/networkInterfaces/nic-" n, "'ipConfigurations': []")
#define TO_I     RULES(RULE("f", "Tcp", "80", "80", FLOATING POOL("i") PROBE("p")))

static const struct azure_row pools_rows[] = {
    {"one machine is not in the pool", LEAVE("2"),
     "203.0.113.1 TCP/80 internet 0.0.0.0/0 > node-1:80"},
    {"an empty pool", LEAVE("1") ", " LEAVE("2"), "203.0.113.1 TCP/80 internet no target"},
    {"another pool",
     BALANCER(RULES(RULE("f", "Tcp", "80", "80", POOL("x"))) ", " POOLS("{'name': 'x'}")),
     "203.0.113.1 TCP/80 internet no target"},
    {"the pool of the other family",
     OPEN ", " BALANCER(RULES(RULE("f", "Tcp", "80", "80", POOL("k6")))),
     "203.0.113.1 TCP/80 internet no target"},
    {"by address",
     BALANCER(BY_ADDRESS(MEMBER("10.240.1.2", "") ", " MEMBER("10.240.1.1", "")) ", " TO_I),
     SERVED},
    {"by an address that no machine has",
     BALANCER(BY_ADDRESS(MEMBER("10.240.1.1", "") ", " MEMBER("10.240.1.9", "")) ", " TO_I),
     "203.0.113.1 TCP/80 internet 0.0.0.0/0 > !10.240.1.9:80 node-1:80"},
    {"by an address of another network",
     BALANCER(BY_ADDRESS(MEMBER("10.240.1.1", ", 'virtualNetwork': " REF(VNET "x"))) ", " TO_I),
     "203.0.113.1 TCP/80 internet ? > !10.240.1.1:80 no permission"},
    {"a member that is taken down",
     BALANCER(BY_ADDRESS(MEMBER("10.240.1.1", ", 'adminState': 'Down'") ", " MEMBER(
         "10.240.1.2", ", 'adminState': 'None'")) ", " TO_I),
     "203.0.113.1 TCP/80 internet 0.0.0.0/0 > !node-1:80 node-2:80"},
    {"a member that is up without a probe",
     BALANCER(BY_ADDRESS(MEMBER("10.240.1.1", ", 'adminState': 'Up'") ", " MEMBER(
         "10.240.1.2", "")) ", 'probes': [], " TO_I),
     "203.0.113.1 TCP/80 internet 0.0.0.0/0 > node-1:80 !node-2:80"},
    {"a pool with a document of its own",
     BALANCER(POOLS("{'name': 'i'}") ", " TO_I) ", " DOC(
         LB "/backendAddressPools/i",
         "'virtualNetwork': " REF(VNET) ", 'loadBalancerBackendAddresses': [" MEMBER("10.240.1.1",
                                                                                     "") "]"),
     "203.0.113.1 TCP/80 internet 0.0.0.0/0 > node-1:80"},
    {"two pools",
     BALANCER(POOLS(
         "{'name': 'k'}, {'name': 'j', 'properties': "
         "{'virtualNetwork': " REF(
             VNET) ", 'loadBalancerBackendAddresses': "
                   "[" MEMBER(
                       "10.240.1.9",
                       "") "]}}") ", " RULES(RULE("f", "Tcp", "80", "80",
                                                  FLOATING
                                                  ", 'backendAddressPools': "
                                                  "[" REF(LB
                                                          "/backendAddressPo"
                                                          "ols/k") ", " REF(LB
                                                                            "/backendAddressPools/"
                                                                            "j") "]"))),
     "203.0.113.1 TCP/80 internet 0.0.0.0/0 > !10.240.1.9:80 node-1:80 node-2:80"},
    {"a machine by two configurations of its NIC",
     DOC(NET "/networkInterfaces/nic-1",
         "'ipConfigurations': [{'name': 'a', 'properties': "
         "{'loadBalancerBackendAddressPools': " IDS(LB "/backendAddressPools/k") ", 'subnet': " REF(
             VNET "/subnets/sn") "}}, "
                                 "{'name': "
                                 "'b', "
                                 "'properties':"
                                 " {'"
                                 "loadBalancerB"
                                 "ackendAddress"
                                 "Pools': " IDS(LB "/backendA"
                                                   "ddressPoo"
                                                   "ls/k") ","
                                                           " "
                                                           "'"
                                                           "s"
                                                           "u"
                                                           "b"
                                                           "n"
                                                           "e"
                                                           "t"
                                                           "'"
                                                           ":"
                                                           " " REF(VNET "/subn"
                                                                        "ets/"
                                                                        "sn") "}}]"),
     SERVED},
};

static void pools(void **state)
{
    (void)state;
    azure_check_rows(pools_rows, ARRAY_LEN(pools_rows));
}

#define INSTANCE(set, n, more)                                                                     \
    DOC(CPU "/virtualMachineScaleSets/" set "/virtualMachines/" n,                                 \
        "'osProfile': {'computerName': 'VMSS00000" n "'}, 'networkProfileConfiguration': "         \
        "{'networkInterfaceConfigurations': [{'name': 'nic', 'properties': {'ipConfigurations': "  \
        "[{'name': 'c', 'properties': {'loadBalancerBackendAddressPools': " IDS(                   \
            LB "/backendAddressPools/k") ", 'subnet': " REF(VNET "/subnets/sn") more "}}]}}]}")

static const struct azure_row machines_rows[] = {
    {"a machine that is stopped",
     DOC(CPU "/virtualMachines/vm-1", "'instanceView': {'statuses': [{'code': "
                                      "'ProvisioningState/succeeded'}, {'code': "
                                      "'PowerState/deallocated'}]}"),
     "203.0.113.1 TCP/80 internet 0.0.0.0/0 > !node-1:80 node-2:80"},
    {"a machine that runs",
     DOC(CPU "/virtualMachines/vm-1", "'instanceView': {'statuses': [{'code': "
                                      "'PowerState/running'}]}"),
     SERVED},
    {"a NIC without a machine", "'" CPU "/virtualMachines/vm-1': null",
     "203.0.113.1 TCP/80 internet 0.0.0.0/0 > !10.240.1.1:80 node-2:80"},
    {"a NIC that names its machine",
     DOC(CPU "/virtualMachines/vm-1", "'networkProfile': null") ", " DOC(
         NET "/networkInterfaces/nic-1", "'virtualMachine': " REF(CPU "/virtualMachines/vm-1")),
     SERVED},
    {"a NIC that is gone", "'" NET "/networkInterfaces/nic-1': null",
     "203.0.113.1 TCP/80 internet 0.0.0.0/0 > node-2:80"},
    {"a machine without a computer name", DOC(CPU "/virtualMachines/vm-1", "'osProfile': null"),
     "203.0.113.1 TCP/80 internet 0.0.0.0/0 > node-2:80 vm-1:80"},
    {"an instance of a scale set", LEAVE("1") ", " LEAVE("2") ", " INSTANCE("s", "7", ""),
     "203.0.113.1 TCP/80 internet 0.0.0.0/0 > vmss000007:80"},
    {"a scale set's model is not a machine",
     LEAVE("1") ", " LEAVE("2") ", " DOC(
         CPU "/virtualMachineScaleSets/s",
         "'virtualMachineProfile': {'networkProfile': {'networkInterfaceConfigurations': "
         "[{'name': 'nic', 'properties': {'ipConfigurations': [{'name': 'c', 'properties': "
         "{'loadBalancerBackendAddressPools': " IDS(LB "/backendAddressPools/k") "}}]}}]}}"),
     "203.0.113.1 TCP/80 internet no target"},
    {"an instance's group",
     INSTANCE("s", "7", "") ", " DOC(
         CPU "/virtualMachineScaleSets/s/virtualMachines/8",
         "'osProfile': {'computerName': 'b'}, 'networkProfileConfiguration': "
         "{'networkInterfaceConfigurations': [{'name': 'nic', 'properties': {"
         "'networkSecurityGroup': " REF(
             NET
             "/networkSecurityGroups/two") ", "
                                           "'ipConfigurations': [{'name': 'c', 'properties': {"
                                           "'loadBalancerBackendAddressPools': " IDS(
                                               LB
                                               "/backendAddressPools/k") "}}]}}]}") ", " DOC(NET
                                                                                             "/"
                                                                                             "n"
                                                                                             "e"
                                                                                             "t"
                                                                                             "w"
                                                                                             "o"
                                                                                             "r"
                                                                                             "k"
                                                                                             "S"
                                                                                             "e"
                                                                                             "c"
                                                                                             "u"
                                                                                             "r"
                                                                                             "i"
                                                                                             "t"
                                                                                             "y"
                                                                                             "G"
                                                                                             "r"
                                                                                             "o"
                                                                                             "u"
                                                                                             "p"
                                                                                             "s"
                                                                                             "/"
                                                                                             "t"
                                                                                             "w"
                                                                                             "o",
                                                                                             "'"
                                                                                             "s"
                                                                                             "e"
                                                                                             "c"
                                                                                             "u"
                                                                                             "r"
                                                                                             "i"
                                                                                             "t"
                                                                                             "y"
                                                                                             "R"
                                                                                             "u"
                                                                                             "l"
                                                                                             "e"
                                                                                             "s"
                                                                                             "'"
                                                                                             ":"
                                                                                             " "
                                                                                             "["
                                                                                             "]"),
     "203.0.113.1 TCP/80 internet 0.0.0.0/0 > b:80 (?) node-1:80 node-2:80 vmss000007:80"},
};

static void machines(void **state)
{
    (void)state;
    azure_check_rows(machines_rows, ARRAY_LEN(machines_rows));
}

#define NAT(name, port, more)                                                                      \
    "{'name': '" name "', 'properties': {'protocol': 'Tcp', 'backendPort': 22, "                   \
    "'frontendIPConfiguration': " REF(LB "/frontendIPConfigurations/f") port more "}}"
#define CONFIG_1 NET "/networkInterfaces/nic-1/ipConfigurations/v4"

static const struct azure_row nat_rows[] = {
    {"a NAT rule that names a machine",
     OPEN ", " BALANCER(RULES("") ", 'inboundNatRules': [" NAT(
         "n", ", 'frontendPort': 5022", ", 'backendIPConfiguration': " REF(CONFIG_1)) "]"),
     "203.0.113.1 TCP/5022 internet 0.0.0.0/0 > node-1:22"},
    {"one that a machine names",
     OPEN ", " BALANCER("'inboundNatRules': [" NAT("n", ", 'frontendPort': 5022", "") "]") ", " DOC(
         NET "/networkInterfaces/nic-2",
         "'ipConfigurations': [{'name': 'v4', 'properties': {'privateIPAddress': "
         "'10.240.1.2', 'subnet': " REF(VNET "/subnets/sn") ", "
                                                            "'loadBalancerInboundNatRules': " IDS(
                                                                LB "/inboundNatRules/n") "}}]"),
     "203.0.113.1 TCP/5022 internet 0.0.0.0/0 > node-2:22\n"
     "203.0.113.1 TCP/80 internet 0.0.0.0/0 > node-1:80"},
    {"one without a machine",
     OPEN ", " BALANCER("'inboundNatRules': [" NAT("n", ", 'frontendPort': 5022", "") "]"),
     "203.0.113.1 TCP/5022 internet no target\n" SERVED},
    {"one that the group shuts out",
     BALANCER("'inboundNatRules': [" NAT("n", ", 'frontendPort': 5022",
                                         ", 'backendIPConfiguration': " REF(CONFIG_1)) "]"),
     "203.0.113.1 TCP/5022 internet ? > node-1:22 no permission\n" SERVED},
    {"one for each machine of a pool",
     OPEN ", " BALANCER(RULES("") ", 'inboundNatRules': [" NAT(
         "n", ", 'frontendPortRangeStart': 5000, 'frontendPortRangeEnd': 5009", POOL("k")) "]"),
     "203.0.113.1 TCP/5000-5009 internet 0.0.0.0/0 > node-1:22 node-2:22"},
    {"one for a pool that is gone",
     OPEN ", " BALANCER(RULES("") ", 'inboundNatRules': [" NAT(
         "n", ", 'frontendPortRangeStart': 5000, 'frontendPortRangeEnd': 5009", POOL("x")) "]"),
     "203.0.113.1 TCP/5000-5009 internet no rule"},
    {"a NAT pool of a scale set",
     OPEN ", " BALANCER(RULES("") ", 'inboundNatPools': [" NAT(
         "n", ", 'frontendPortRangeStart': 5000, 'frontendPortRangeEnd': 5009",
         "") "]") ", " INSTANCE("s", "7",
                                ", 'loadBalancerInboundNatPools': " IDS(LB "/inboundNatPools/n")),
     "203.0.113.1 TCP/5000-5009 internet 0.0.0.0/0 > vmss000007:22"},
};

static void nat(void **state)
{
    (void)state;
    azure_check_rows(nat_rows, ARRAY_LEN(nat_rows));
}

/* An instance's address is needed where the machine is the packet's destination: the world tells
 * it, or the Node. */
static void addresses_of_instances(void **state)
{
    (void)state;
#define INSTANCE_7                                                                                 \
    "/subscriptions/s/resourcegroups/rg/providers/microsoft.compute/virtualmachinescalesets/s/"    \
    "virtualmachines/7"
    static const char *const parts[] = {
        "{\"azure_addresses\": {\"" INSTANCE_7
        "/networkinterfaces/nic/ipconfigurations/c\": \"10.240.1.7\"}}",
        "{\"kubernetes\": {\"nodes\": [{\"spec\": {\"providerID\": \"azure://" INSTANCE_7
        "\"}, \"status\": {\"addresses\": [{\"type\": \"Hostname\", \"address\": \"x\"}, "
        "{\"type\": \"InternalIP\", \"address\": \"10.240.1.7\"}]}}]}}",
        "{}",
    };
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        struct arena *a = arena_new();
        struct json_object *world =
            azure_world(INSTANCE("s", "7", "") ", " LEAVE("1") ", " LEAVE("2") ", " GROUP(
                ALLOW("500", "*", "10.240.1.7",
                      "30080")) ", " BALANCER(RULES(RULE("f", "Tcp", "80", "30080", POOL("k")))));
        struct json_object *more = json_tokener_parse(parts[i]);
        json_object_object_foreach(more, name, value)
        {
            json_add(world, name, json_object_get(value));
        }
        const char *want = i < 2 ? "203.0.113.1 TCP/80 internet 0.0.0.0/0 > vmss000007:30080"
                                 : "203.0.113.1 TCP/80 internet ? > vmss000007:30080 no permission";
        assert_non_null(strstr(azure_lines(a, world), want));
        json_object_put(more);
        json_object_put(world);
        arena_free(a);
    }
}

static void other_clouds(void **state)
{
    (void)state;
    static const char *const worlds[] = {"{}", "{\"azure\": {}}", "{\"azure\": []}",
                                         "{\"azure\": {\"x\": 1, \"/subscriptions/s\": null}}"};
    for (size_t i = 0; i < ARRAY_LEN(worlds); i++) {
        struct arena *a = arena_new();
        struct json_object *world = json_tokener_parse(worlds[i]);
        assert_string_equal(azure_lines(a, world), "");
        json_object_put(world);
        arena_free(a);
    }
}

UNIT_MAIN(azure_balancers)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frontends),    cmocka_unit_test(rules),
        cmocka_unit_test(pools),        cmocka_unit_test(machines),
        cmocka_unit_test(nat),          cmocka_unit_test(addresses_of_instances),
        cmocka_unit_test(other_clouds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
