/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of sim/reach/gce.c, gce_fronts.c and gce_targets.c: each kind of rule, and why
 * one leads nowhere. */
#include "tests/unit/sim/reach/gce_rows.h"

#include "common/base/attr.h"

#define RULE(body) "{'regions/r/forwardingRules/web': {" body "}}"
#define BOTH       "node-0:80 node-1:80"
#define SERVED     "203.0.113.1 TCP/80 internet 0.0.0.0/0 -> " BOTH

static void kinds(void **state)
{
    (void)state;
    static const struct gce_row rows[] = {
        {"target pool", GCE_POOL, "{}", SERVED},
        {"instance groups", GCE_GROUPS, "{}", SERVED},
        {"network endpoint groups", GCE_NEGS, "{}", SERVED},
        {"IPv6", GCE_GROUPS6, "{}", "2001:db8::1 TCP/80 internet ::/0 -> " BOTH},
        {"internal", GCE_INSIDE, "{}", "10.0.0.9 TCP/80 network 10.0.0.0/8 -> " BOTH},
        {"internal IPv6", GCE_INSIDE6, "{}", "fd00::9 TCP/80 network fd00::/8 -> " BOTH},
        {"global access changes nothing", GCE_INSIDE, RULE("'allowGlobalAccess': true"),
         "10.0.0.9 TCP/80 network 10.0.0.0/8 -> " BOTH},
        {"full links of any version", GCE_POOL,
         RULE("'target': 'https://compute.googleapis.com/compute/beta/projects/p/regions/r/"
              "targetPools/web'"),
         SERVED},
        {"no rule at all", GCE_NONE, "{}", ""},
        {"no address yet", GCE_POOL, RULE("'IPAddress': null"), ""},
        {"protocol in small letters", GCE_POOL, RULE("'IPProtocol': 'tcp'"), SERVED},
        {"preset protocol and scheme", GCE_POOL,
         RULE("'IPProtocol': null, 'loadBalancingScheme': null"), SERVED},
        {"another protocol on the same address", GCE_GROUPS,
         "{'regions/r/forwardingRules/dns': {'IPAddress': '203.0.113.1', 'IPProtocol': 'UDP',"
         "'portRange': '80', 'target': 'regions/r/targetPools/web'}}",
         SERVED "\n203.0.113.1 UDP/80 internet no permission -> " BOTH},
        {"proxies belong to other products", GCE_POOL,
         RULE("'target': 'global/targetHttpProxies/web'"), ""},
        {"other schemes, too", GCE_INSIDE, RULE("'loadBalancingScheme': 'INTERNAL_MANAGED'"), ""},
        {"attachments, too", GCE_INSIDE,
         RULE("'loadBalancingScheme': null, 'backendService': null,"
              "'target': 'regions/r/serviceAttachments/db'"),
         ""},
        {"global rules, too", GCE_NONE,
         "{'global/forwardingRules/web': {'IPAddress': '203.0.113.9', 'portRange': '80-80',"
         "'backendService': 'global/backendServices/web'},"
         "'global/addresses/web': {'address': '203.0.113.9'}}",
         ""},
    };
    gce_rows_check(rows, ARRAY_LEN(rows));
}

static void ports(void **state)
{
    (void)state;
    static const struct gce_row rows[] = {
        {"one number", GCE_POOL, RULE("'portRange': '80'"), SERVED},
        {"range with two open ports", GCE_POOL,
         "{'regions/r/forwardingRules/web': {'portRange': '80-443'},"
         "'global/firewalls/web': {'allowed': [{'IPProtocol': 'tcp', 'ports': ['80', '443']}]}}",
         "203.0.113.1 TCP/443 internet 0.0.0.0/0 -> node-0:443 node-1:443\n" SERVED
         "\n203.0.113.1 TCP/81-442 internet no permission -> node-0:81-442 node-1:81-442"},
        {"range that is open as a whole", GCE_POOL,
         "{'regions/r/forwardingRules/web': {'portRange': '80-82'},"
         "'global/firewalls/web': {'allowed': [{'IPProtocol': 'tcp', 'ports': ['80', '81-90']}]}}",
         "203.0.113.1 TCP/80-82 internet 0.0.0.0/0 -> node-0:80-82 node-1:80-82"},
        {"range that is closed as a whole", GCE_POOL,
         "{'regions/r/forwardingRules/web': {'portRange': '90-92'},"
         "'global/firewalls/web': {'allowed': [{'IPProtocol': 'tcp', 'ports': ['80', '443']}]}}",
         "203.0.113.1 TCP/90-92 internet no permission -> node-0:90-92 node-1:90-92"},
        {"list", GCE_INSIDE,
         "{'regions/r/forwardingRules/web': {'ports': ['443', '80', '90-91']},"
         "'global/firewalls/inside': {'allowed': [{'IPProtocol': 'tcp'}]}}",
         "10.0.0.9 TCP/443 network 10.0.0.0/8 -> node-0:443 node-1:443\n"
         "10.0.0.9 TCP/80 network 10.0.0.0/8 -> " BOTH
         "\n10.0.0.9 TCP/90-91 network 10.0.0.0/8 -> node-0:90-91 node-1:90-91"},
        {"all ports, all open", GCE_INSIDE,
         "{'regions/r/forwardingRules/web': {'ports': null, 'allPorts': true},"
         "'global/firewalls/inside': {'allowed': [{'IPProtocol': 'tcp'}]},"
         "'global/firewalls/probes': {'destinationRanges': ['10.0.0.9'],"
         "    'allowed': [{'IPProtocol': 'all'}]}}",
         "10.0.0.9 TCP/* network 10.0.0.0/8 35.191.0.0/16 130.211.0.0/22 209.85.152.0/22 "
         "209.85.204.0/22 -> node-0:* node-1:*"},
        {"all ports, one open", GCE_INSIDE,
         "{'regions/r/forwardingRules/web': {'ports': null, 'allPorts': true},"
         "'global/firewalls/probes': null}",
         "10.0.0.9 TCP/1-79 network no permission -> node-0:1-79! node-1:1-79!\n"
         "10.0.0.9 TCP/80 network 10.0.0.0/8 -> node-0:80! node-1:80!\n"
         "10.0.0.9 TCP/81-65535 network no permission -> node-0:81-65535! node-1:81-65535!"},
        {"target pool without a range", GCE_POOL,
         "{'regions/r/forwardingRules/web': {'portRange': null}, 'global/firewalls/probes': null,"
         "'global/firewalls/web': {'allowed': [{'IPProtocol': 'all'}]}}",
         "203.0.113.1 TCP/* internet 0.0.0.0/0 -> node-0:* node-1:*"},
        {"texts that are no ports", GCE_GROUPS,
         "{'regions/r/forwardingRules/web': {'portRange': null, 'ports': ['', '0', '70000', null,"
         "'90-80', '80']}}",
         SERVED},
        {"a protocol without ports", GCE_GROUPS,
         "{'regions/r/forwardingRules/web': {'IPProtocol': 'ESP', 'portRange': null},"
         "'regions/r/backendServices/groups': {'protocol': 'UNSPECIFIED'},"
         "'global/firewalls/web': {'allowed': [{'IPProtocol': 'esp'}]}}",
         "203.0.113.1 ESP/* internet 0.0.0.0/0 -> node-0:* node-1:*"},
    };
    gce_rows_check(rows, ARRAY_LEN(rows));
}

#define L3                                                                                         \
    "'regions/r/forwardingRules/web': {'IPProtocol': 'L3_DEFAULT', 'portRange': null,"             \
    "    'ports': null, 'allPorts': true},"                                                        \
    "'regions/r/backendServices/groups': {'protocol': 'UNSPECIFIED'},"                             \
    "'global/firewalls/probes': {'destinationRanges': ['203.0.113.2']}"
#define UDP_CLOSED "\n203.0.113.1 UDP/* internet no permission -> node-0:*! node-1:*!"
#define TCP_80_OPEN                                                                                \
    "203.0.113.1 TCP/1-79 internet no permission -> node-0:1-79! node-1:1-79!\n"                   \
    "203.0.113.1 TCP/80 internet 0.0.0.0/0 -> node-0:80! node-1:80!\n"                             \
    "203.0.113.1 TCP/81-65535 internet no permission -> node-0:81-65535! node-1:81-65535!"

static void all_protocols(void **state)
{
    (void)state;
    static const struct gce_row rows[] = {
        {"TCP and UDP are always shown", GCE_GROUPS, "{" L3 "}", TCP_80_OPEN UDP_CLOSED},
        {"others where a client may send them", GCE_GROUPS,
         "{" L3 ", 'global/firewalls/ping': {'network': 'global/networks/default',"
         "'sourceRanges': ['192.0.2.0/24'], 'allowed': [{'IPProtocol': 'icmp'},"
         "{'IPProtocol': '132', 'ports': ['9']}]}}",
         "203.0.113.1 ICMP/* internet 192.0.2.0/24 -> node-0:*! node-1:*!\n"
         "203.0.113.1 SCTP/9 internet 192.0.2.0/24 -> node-0:9! node-1:9!\n" TCP_80_OPEN
             UDP_CLOSED},
        {"a rule of the own protocol goes first", GCE_GROUPS,
         "{" L3 ", 'regions/r/forwardingRules/own': {'IPAddress': '203.0.113.1',"
         "'IPProtocol': 'TCP', 'portRange': '80-81', 'target': 'regions/r/targetPools/one'},"
         "'regions/r/targetPools/one': {'instances': ['zones/r-b/instances/node-1']}}",
         "203.0.113.1 TCP/1-79 internet no permission -> node-0:1-79! node-1:1-79!\n"
         "203.0.113.1 TCP/80 internet 0.0.0.0/0 -> node-1:80\n"
         "203.0.113.1 TCP/81 internet no permission -> node-1:81\n"
         "203.0.113.1 TCP/82-65535 internet no permission -> node-0:82-65535! "
         "node-1:82-65535!" UDP_CLOSED},
        {"also where it leads nowhere", GCE_GROUPS,
         "{" L3 ", 'regions/r/forwardingRules/own': {'IPAddress': '203.0.113.1',"
         "'IPProtocol': 'TCP', 'portRange': '1-65535', 'target': 'regions/r/targetPools/gone'}}",
         "203.0.113.1 TCP/* internet no rule" UDP_CLOSED},
    };
    gce_rows_check(rows, ARRAY_LEN(rows));
}

#define STEERED(name, ranges)                                                                      \
    "'regions/r/forwardingRules/" name "': {'IPAddress': '203.0.113.1', 'IPProtocol': 'TCP',"      \
    "'portRange': '80-80', 'backendService': 'regions/r/backendServices/" name "',"                \
    "'sourceIpRanges': [" ranges "]},"                                                             \
    "'regions/r/backendServices/" name "': {'protocol': 'TCP',"                                    \
    "'healthChecks': ['regions/r/healthChecks/node'], 'backends': "
#define IN_A "[{'group': 'zones/r-a/instanceGroups/web'}]}"
#define IN_B "[{'group': 'zones/r-b/instanceGroups/web'}]}"

static void steering(void **state)
{
    (void)state;
    static const struct gce_row rows[] = {
        {"sources of one rule leave the other", GCE_GROUPS,
         "{'regions/r/backendServices/groups': {'backends': [{'group':"
         "'zones/r-b/instanceGroups/web'}]}, " STEERED("near", "'0.0.0.0/1', '128.0.0.0/2'") IN_A
         "}",
         "203.0.113.1 TCP/80 internet 0.0.0.0/0 -> node-0:80(0.0.0.0/1 128.0.0.0/2) "
         "node-1:80(192.0.0.0/2)"},
        {"the longest range wins", GCE_GROUPS,
         "{'regions/r/backendServices/groups': {'backends': []}, " STEERED("wide", "'10.0.0.0/8'")
             IN_A ", " STEERED("narrow", "'10.128.0.0/9', '10.0.0.1'") IN_B "}",
         "203.0.113.1 TCP/80 internet 10.0.0.0/8 -> node-0:80(10.0.0.0/32 10.0.0.2/31 10.0.0.4/30 "
         "10.0.0.8/29 10.0.0.16/28 10.0.0.32/27 10.0.0.64/26 10.0.0.128/25 10.0.1.0/24 10.0.2.0/23 "
         "10.0.4.0/22 10.0.8.0/21 10.0.16.0/20 10.0.32.0/19 10.0.64.0/18 10.0.128.0/17 10.1.0.0/16 "
         "10.2.0.0/15 10.4.0.0/14 10.8.0.0/13 10.16.0.0/12 10.32.0.0/11 10.64.0.0/10) "
         "node-1:80(10.0.0.1/32 10.128.0.0/9)"},
        {"no rule for the others", GCE_NONE, "{" STEERED("near", "'192.0.2.0/24'") IN_A "}",
         "203.0.113.1 TCP/80 internet 192.0.2.0/24 -> node-0:80"},
        {"a steered rule that leads nowhere", GCE_GROUPS,
         "{'regions/r/forwardingRules/near': {'IPAddress': '203.0.113.1', 'IPProtocol': 'TCP',"
         "'portRange': '80-80', 'backendService': 'regions/r/backendServices/gone',"
         "'sourceIpRanges': ['128.0.0.0/1']}}",
         "203.0.113.1 TCP/80 internet 0.0.0.0/1 -> " BOTH},
        {"firewalls still apply", GCE_NONE,
         "{" STEERED("near", "'192.0.2.0/24'") IN_A
         ", 'global/firewalls/web': {'sourceRanges': ['192.0.2.128/25']}}",
         "203.0.113.1 TCP/80 internet 192.0.2.128/25 -> node-0:80"},
    };
    gce_rows_check(rows, ARRAY_LEN(rows));
}

#define NO_RULE   "203.0.113.1 TCP/80 internet no rule"
#define NO_TARGET "203.0.113.1 TCP/80 internet no target"

static void reasons(void **state)
{
    (void)state;
    static const struct gce_row rows[] = {
        {"pool gone", GCE_POOL, "{'regions/r/targetPools/web': null}", NO_RULE},
        {"service gone", GCE_GROUPS, "{'regions/r/backendServices/groups': null}", NO_RULE},
        {"neither", GCE_POOL, RULE("'target': null"), NO_RULE},
        {"service of another protocol", GCE_GROUPS,
         "{'regions/r/backendServices/groups': {'protocol': 'UDP'}}", NO_RULE},
        {"service of another scheme", GCE_GROUPS,
         "{'regions/r/backendServices/groups': {'loadBalancingScheme': 'INTERNAL'}}", NO_RULE},
        {"empty pool", GCE_POOL, "{'regions/r/targetPools/web': {'instances': []}}", NO_TARGET},
        {"pool without members", GCE_POOL, "{'regions/r/targetPools/web': {'instances': null}}",
         NO_TARGET},
        {"no backends", GCE_GROUPS, "{'regions/r/backendServices/groups': {'backends': null}}",
         NO_TARGET},
        {"empty groups", GCE_GROUPS,
         "{'members zones/r-a/instanceGroups/web': [],"
         "'members zones/r-b/instanceGroups/web': null}",
         NO_TARGET},
        {"groups gone", GCE_NEGS,
         "{'zones/r-a/networkEndpointGroups/web': null,"
         "'zones/r-b/networkEndpointGroups/web': null}",
         NO_TARGET},
        {"machines gone", GCE_POOL,
         "{'zones/r-a/instances/node-0': null, 'zones/r-b/instances/node-1': null}", NO_TARGET},
        {"no firewall", GCE_POOL, "{'global/firewalls/web': null}",
         "203.0.113.1 TCP/80 internet no permission -> " BOTH},
        {"reserved", GCE_NONE, "{'regions/r/addresses/web': {'address': '203.0.113.1'}}",
         "203.0.113.1 * internet listener missing"},
        {"reserved inside", GCE_NONE,
         "{'regions/r/addresses/web': {'address': '10.0.0.9', 'addressType': 'INTERNAL'}}",
         "10.0.0.9 * network listener missing"},
        {"reserved IPv6", GCE_NONE,
         "{'regions/r/addresses/web': {'address': '2001:DB8:0:0:0:0:0:5', 'prefixLength': 96}}",
         "2001:db8::5 * internet listener missing"},
        {"reserved and in use", GCE_POOL, "{'regions/r/addresses/web': {'address': '203.0.113.1'}}",
         SERVED},
        {"reserved IPv6 in use", GCE_GROUPS6,
         "{'regions/r/addresses/web': {'address': '2001:db8:0:0:0:0:0:1'}}",
         "2001:db8::1 TCP/80 internet ::/0 -> " BOTH},
        {"reserved for a proxy", GCE_POOL,
         "{'regions/r/forwardingRules/web': {'target': 'global/targetHttpProxies/web'},"
         "'regions/r/addresses/web': {'address': '203.0.113.1'}}",
         ""},
        {"reserved for a machine", GCE_NONE,
         "{'regions/r/addresses/web': {'address': '10.0.1.1', 'addressType': 'INTERNAL'},"
         "'regions/r/addresses/nat': {'address': '203.0.113.7'},"
         "'zones/r-c/instances/node-2': {'networkInterfaces': [{'network':"
         "'global/networks/default', 'accessConfigs': [{'natIP': '203.0.113.7'}]}]}}",
         ""},
        {"reserved for something else", GCE_NONE,
         "{'global/addresses/peering': {'address': '10.9.0.0', 'purpose': 'VPC_PEERING'}}", ""},
        {"reserved to be shared", GCE_NONE,
         "{'regions/r/addresses/web': {'address': '10.0.0.9', 'addressType': 'INTERNAL',"
         "'purpose': 'SHARED_LOADBALANCER_VIP'}}",
         "10.0.0.9 * network listener missing"},
        {"no address yet", GCE_NONE, "{'regions/r/addresses/web': {}}", ""},
    };
    gce_rows_check(rows, ARRAY_LEN(rows));
}

UNIT_MAIN(gce_rules)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds),    cmocka_unit_test(ports),   cmocka_unit_test(all_protocols),
        cmocka_unit_test(steering), cmocka_unit_test(reasons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
