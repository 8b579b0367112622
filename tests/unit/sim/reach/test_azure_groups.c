/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of sim/reach/azure_groups.c: packets that network security groups let through, row by row.
 *
 * Source: learn.microsoft.com, "Network security groups", "Virtual network service tags", "Load
 * Balancer: secure by default". */
#include "tests/unit/sim/reach/azure_world.h"

#define SERVED(clients)    "203.0.113.1 TCP/80 internet " clients " > node-1:80 node-2:80"
#define SHUT               SERVED("?") " no permission"
#define UNHEALTHY(clients) "203.0.113.1 TCP/80 internet " clients " > !node-1:80 !node-2:80"
#define HERE               "203.0.113.1"

static const struct azure_row sources_rows[] = {
    {"the base world", "", SERVED("0.0.0.0/0")},
    {"no rule but the default ones", GROUP(""), SHUT},
    {"anywhere", GROUP(ALLOW("500", "*", HERE, "80")), SERVED("0.0.0.0/0")},
    {"one network", GROUP(ALLOW("500", "192.0.2.0/24", HERE, "80")), SERVED("192.0.2.0/24")},
    {"one address", GROUP(ALLOW("500", "192.0.2.7", HERE, "80")), SERVED("192.0.2.7/32")},
    {"the plural form",
     GROUP(ACCESS("Allow", "500", "", HERE, "80",
                  ", 'sourceAddressPrefixes': ['198.51.100.0/24', '192.0.2.0/24']")),
     SERVED("192.0.2.0/24,198.51.100.0/24")},
    {"a tag in the plural form",
     GROUP(ACCESS("Allow", "500", "", HERE, "80", ", 'sourceAddressPrefixes': ['Internet']")),
     SERVED("0.0.0.0/0")},
    {"two rules",
     GROUP(
         ALLOW("500", "192.0.2.0/25", HERE, "80") ", " ALLOW("501", "192.0.2.128/25", HERE, "80")),
     SERVED("192.0.2.0/24")},
    {"the other family's clients", GROUP(ALLOW("500", "2001:db8::/32", HERE, "80")), SHUT},
    {"the network does not come by a public address",
     GROUP(ALLOW("500", "VirtualNetwork", HERE, "80")), SHUT},
    {"probes are not clients", GROUP(ALLOW("500", "AzureLoadBalancer", HERE, "80")), SHUT},
    {"a service tag of which nothing is known", GROUP(ALLOW("500", "AzureCloud", HERE, "80")),
     SHUT},
    {"a service tag that the world explains",
     GROUP(ALLOW("500", "storage.EastUS", HERE,
                 "80")) ", '/subscriptions/s/providers/"
                        "Microsoft.Network/locations/eastus/serviceTags': {'values': [{'name': "
                        "'Storage.EastUS', 'properties': {'addressPrefixes': ['192.0.2.0/24', "
                        "'2001:db8::/32']}}]}",
     SERVED("192.0.2.0/24")},
    {"a tag in small letters", GROUP(ALLOW("500", "internet", HERE, "80")), SERVED("0.0.0.0/0")},
    {"an application security group",
     GROUP(ACCESS("Allow", "500", "", HERE, "80",
                  ", 'sourceApplicationSecurityGroups': " IDS(NET "/applicationSecurityGroups/x"))),
     SHUT},
};

static void sources(void **state)
{
    (void)state;
    azure_check_rows(sources_rows, ARRAY_LEN(sources_rows));
}

static const struct azure_row priorities_rows[] = {
    {"denied before it is allowed",
     GROUP(ALLOW("501", "*", HERE, "80") ", " DENY("500", "*", HERE, "80")), SHUT},
    {"allowed before it is denied",
     GROUP(ALLOW("500", "*", HERE, "80") ", " DENY("501", "*", HERE, "80")), SERVED("0.0.0.0/0")},
    {"a part is denied before",
     GROUP(ALLOW("501", "192.0.2.0/24", HERE, "80") ", " DENY("500", "192.0.2.128/25", HERE, "80")),
     SERVED("192.0.2.0/25")},
    {"all but some are denied",
     GROUP(ALLOW("500", "192.0.2.0/24", HERE, "80") ", " DENY("4095", "*", HERE, "*")),
     SERVED("192.0.2.0/24")},
    {"another address is denied",
     GROUP(ALLOW("501", "*", HERE, "80") ", " DENY("500", "*", "203.0.113.2", "*")),
     SERVED("0.0.0.0/0")},
    {"an unknown tag denies no client",
     GROUP(ALLOW("501", "*", HERE, "80") ", " DENY("500", "Storage", HERE, "*")),
     SERVED("0.0.0.0/0")},
    {"outbound rules do not matter",
     GROUP(ALLOW("501", "*", HERE, "80") ", " ACCESS("Deny", "500", "*", "*", "*",
                                                     ", 'direction': 'Outbound'")),
     SERVED("0.0.0.0/0")},
};

static void priorities(void **state)
{
    (void)state;
    azure_check_rows(priorities_rows, ARRAY_LEN(priorities_rows));
}

static const struct azure_row destinations_rows[] = {
    {"anything", GROUP(ALLOW("500", "*", "*", "80")), SERVED("0.0.0.0/0")},
    {"another frontend", GROUP(ALLOW("500", "*", "203.0.113.2", "80")), SHUT},
    {"a network around it", GROUP(ALLOW("500", "*", "203.0.113.0/24", "80")), SERVED("0.0.0.0/0")},
    {"the plural form",
     GROUP(ACCESS("Allow", "500", "*", "", "80",
                  ", 'destinationAddressPrefixes': ['203.0.113.2', '203.0.113.1']")),
     SERVED("0.0.0.0/0")},
    {"a frontend is not in the network", GROUP(ALLOW("500", "*", "VirtualNetwork", "80")), SHUT},
    {"a frontend is outside", GROUP(ALLOW("500", "*", "Internet", "80")), SERVED("0.0.0.0/0")},
    {"the machines, but the packet keeps its destination",
     GROUP(ALLOW("500", "*", "10.240.1.1", "80")), SHUT},
    {"the machines, without floating IP",
     GROUP(ALLOW("500", "*", "10.240.1.0/24", "30080")) ", " BALANCER(
         RULES(RULE("f", "Tcp", "80", "30080", POOL("k")))),
     "203.0.113.1 TCP/80 internet 0.0.0.0/0 > node-1:30080 node-2:30080"},
    {"one machine of two, without floating IP",
     GROUP(ALLOW("500", "192.0.2.0/24", "10.240.1.2", "30080")) ", " BALANCER(
         RULES(RULE("f", "Tcp", "80", "30080", POOL("k")))),
     "203.0.113.1 TCP/80 internet 192.0.2.0/24 > node-1:30080 (?) node-2:30080"},
    {"the network, without floating IP",
     GROUP(ALLOW("500", "*", "VirtualNetwork", "30080")) ", " BALANCER(
         RULES(RULE("f", "Tcp", "80", "30080", POOL("k")))),
     "203.0.113.1 TCP/80 internet 0.0.0.0/0 > node-1:30080 node-2:30080"},
    {"the frontend, without floating IP", BALANCER(RULES(RULE("f", "Tcp", "80", "80", POOL("k")))),
     SHUT},
};

static void destinations(void **state)
{
    (void)state;
    azure_check_rows(destinations_rows, ARRAY_LEN(destinations_rows));
}

static const struct azure_row ports_and_protocols_rows[] = {
    {"another port", GROUP(ALLOW("500", "*", HERE, "443")), SHUT},
    {"a range", GROUP(ALLOW("500", "*", HERE, "79-81")), SERVED("0.0.0.0/0")},
    {"a range that ends before", GROUP(ALLOW("500", "*", HERE, "1-79")), SHUT},
    {"all ports", GROUP(ALLOW("500", "*", HERE, "*")), SERVED("0.0.0.0/0")},
    {"the plural form",
     GROUP(ACCESS("Allow", "500", "*", HERE, "", ", 'destinationPortRanges': ['443', '80']")),
     SERVED("0.0.0.0/0")},
    {"TCP", GROUP(ACCESS("Allow", "500", "*", HERE, "80", ", 'protocol': 'Tcp'")),
     SERVED("0.0.0.0/0")},
    {"UDP only", GROUP(ACCESS("Allow", "500", "*", HERE, "80", ", 'protocol': 'Udp'")), SHUT},
    {"from one port of the client only",
     GROUP(ACCESS("Allow", "500", "*", HERE, "80", ", 'sourcePortRange': '53'")), SHUT},
    {"one port of the client is denied",
     GROUP(ALLOW("501", "*", HERE, "80") ", " ACCESS("Deny", "500", "*", HERE, "80",
                                                     ", 'sourcePortRange': '40000'")),
     SHUT},
    {"the port of the machine, not of the frontend",
     GROUP(ALLOW("500", "*", "*", "80")) ", " BALANCER(
         RULES(RULE("f", "Tcp", "80", "30080", POOL("k")))),
     "203.0.113.1 TCP/80 internet ? > node-1:30080 node-2:30080 no permission"},
};

static void ports_and_protocols(void **state)
{
    (void)state;
    azure_check_rows(ports_and_protocols_rows, ARRAY_LEN(ports_and_protocols_rows));
}

#define SUBNET_OPEN DOC(VNET "/subnets/sn", "'networkSecurityGroup': null")
#define NIC_GROUP(n, group)                                                                        \
    DOC(NET "/networkInterfaces/nic-" n,                                                           \
        "'networkSecurityGroup': " REF(NET "/networkSecurityGroups/" group))
#define SECOND(rules) DOC(NET "/networkSecurityGroups/two", "'securityRules': [" rules "]")

static const struct azure_row places_rows[] = {
    {"no group, Standard", SUBNET_OPEN, SHUT},
    {"no group, Basic", SUBNET_OPEN ", '" LB "': {'sku': {'name': 'Basic'}}", SERVED("0.0.0.0/0")},
    {"no group, a balancer without SKU is a Basic one", SUBNET_OPEN ", '" LB "': {'sku': null}",
     SERVED("0.0.0.0/0")},
    {"a group shuts a Basic one, too", GROUP("") ", '" LB "': {'sku': {'name': 'Basic'}}", SHUT},
    {"a group that is gone", DOC(VNET "/subnets/sn", "'networkSecurityGroup': " REF(NSG "x")),
     SHUT},
    {"the NIC's alone", SUBNET_OPEN ", " NIC_GROUP("1", "nsg") ", " NIC_GROUP("2", "nsg"),
     SERVED("0.0.0.0/0")},
    {"one NIC's alone", SUBNET_OPEN ", " NIC_GROUP("1", "nsg"),
     "203.0.113.1 TCP/80 internet 0.0.0.0/0 > node-1:80 node-2:80 (?)"},
    {"both must allow",
     NIC_GROUP("1", "two") ", " NIC_GROUP("2", "two") ", " SECOND(
         ALLOW("500", "192.0.2.0/24", "*", "80")),
     SERVED("192.0.2.0/24")},
    {"the NIC's denies", NIC_GROUP("1", "two") ", " SECOND(""),
     "203.0.113.1 TCP/80 internet 0.0.0.0/0 > node-1:80 (?) node-2:80"},
    {"the subnet within its network's document",
     "'" VNET "/subnets/sn': null, " DOC(
         VNET, "'subnets': [{'name': 'SN', 'properties': {'networkSecurityGroup': " REF(NSG) "}}]"),
     SERVED("0.0.0.0/0")},
    {"ids in other letters",
     DOC(VNET "/subnets/sn",
         "'networkSecurityGroup': " REF("/SUBSCRIPTIONS/S/resourcegroups/RG/providers/"
                                        "microsoft.network/NetworkSecurityGroups/NSG")),
     SERVED("0.0.0.0/0")},
};

static void places(void **state)
{
    (void)state;
    azure_check_rows(places_rows, ARRAY_LEN(places_rows));
}

#define INSIDE(clients) "10.240.0.4 TCP/80 network " clients " > node-1:80 node-2:80"
#define INNER_RULE      BALANCER(RULES(RULE("g", "Tcp", "80", "80", FLOATING POOL("k"))))
#define NOT_TEN                                                                                    \
    "0.0.0.0/5,8.0.0.0/7,11.0.0.0/8,12.0.0.0/6,16.0.0.0/4,32.0.0.0/3,64.0.0.0/2,128.0.0.0/1"

static const struct azure_row inside_rows[] = {
    {"the network, by the default rule", INNER_RULE, INSIDE("10.0.0.0/8")},
    {"a peered network, too",
     INNER_RULE ", " DOC(VNET, "'virtualNetworkPeerings': [{'properties': {'peeringState': "
                               "'Connected', 'remoteAddressSpace': {'addressPrefixes': "
                               "['172.16.0.0/12']}}}]"),
     INSIDE("10.0.0.0/8,172.16.0.0/12")},
    {"a peering that is not up",
     INNER_RULE ", " DOC(VNET, "'virtualNetworkPeerings': [{'properties': {'peeringState': "
                               "'Disconnected', 'remoteAddressSpace': {'addressPrefixes': "
                               "['172.16.0.0/12']}}}]"),
     INSIDE("10.0.0.0/8")},
    {"others besides", INNER_RULE ", " GROUP(ALLOW("500", "192.168.0.0/16", "10.240.0.4", "80")),
     INSIDE("10.0.0.0/8,192.168.0.0/16")},
    {"all but some are denied",
     INNER_RULE ", " GROUP(
         ALLOW("500", "10.1.0.0/16", "10.240.0.4", "80") ", " DENY("4095", "*", "10.240.0.4", "*")),
     INSIDE("10.1.0.0/16")},
    {"outside the network",
     INNER_RULE
     ", " GROUP(ALLOW("500", "Internet", "10.240.0.4", "80") ", " DENY("4095", "*", "*", "*")),
     "10.240.0.4 TCP/80 network " NOT_TEN " > node-1:80 node-2:80"},
    {"no group", INNER_RULE ", " SUBNET_OPEN, INSIDE("10.0.0.0/8")},
    {"denied", INNER_RULE ", " GROUP(DENY("4095", "*", "VirtualNetwork", "80")),
     INSIDE("?") " no permission"},
};

static void inside(void **state)
{
    (void)state;
    azure_check_rows(inside_rows, ARRAY_LEN(inside_rows));
}

#define OPEN ALLOW("500", "*", HERE, "80")
static const struct azure_row probes_rows[] = {
    {"the default rule lets probes in", GROUP(OPEN), SERVED("0.0.0.0/0")},
    {"all is denied", GROUP(OPEN ", " DENY("4096", "*", "*", "*")), UNHEALTHY("0.0.0.0/0")},
    {"the tag is denied", GROUP(OPEN ", " DENY("4096", "AzureLoadBalancer", "*", "*")),
     UNHEALTHY("0.0.0.0/0")},
    {"their address is denied", GROUP(OPEN ", " DENY("4096", "168.63.129.16", "*", "*")),
     UNHEALTHY("0.0.0.0/0")},
    {"allowed before it is denied",
     GROUP(OPEN
           ", " ALLOW("4095", "AzureLoadBalancer", "*", "30080") ", " DENY("4096", "*", "*", "*")),
     SERVED("0.0.0.0/0")},
    {"another port is denied", GROUP(OPEN ", " DENY("4096", "AzureLoadBalancer", "*", "30081")),
     SERVED("0.0.0.0/0")},
    {"one machine is denied",
     GROUP(OPEN ", " DENY("4096", "AzureLoadBalancer", "10.240.1.1", "30080")),
     "203.0.113.1 TCP/80 internet 0.0.0.0/0 > !node-1:80 node-2:80"},
    {"the NIC's group denies",
     NIC_GROUP("2",
               "two") ", " SECOND(ALLOW("500", "*", "*", "80") ", " DENY("4096", "*", "*", "*")),
     "203.0.113.1 TCP/80 internet 0.0.0.0/0 > node-1:80 !node-2:80"},
    {"a rule without a probe counts machines as healthy",
     GROUP(OPEN ", " DENY("4096", "*", "*", "*")) ", " BALANCER(
         RULES(RULE("f", "Tcp", "80", "80", FLOATING POOL("k")))),
     SERVED("0.0.0.0/0")},
    {"the probe is gone", BALANCER("'probes': []"), UNHEALTHY("0.0.0.0/0")},
    {"no group", SUBNET_OPEN ", '" LB "': {'sku': {'name': 'Basic'}}", SERVED("0.0.0.0/0")},
};

static void probes(void **state)
{
    (void)state;
    azure_check_rows(probes_rows, ARRAY_LEN(probes_rows));
}

UNIT_MAIN(azure_groups)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sources),      cmocka_unit_test(priorities),
        cmocka_unit_test(destinations), cmocka_unit_test(ports_and_protocols),
        cmocka_unit_test(places),       cmocka_unit_test(inside),
        cmocka_unit_test(probes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
