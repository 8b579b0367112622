/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of sim/reach/gce_targets.c: which machines are behind a rule, and which of
 * them are healthy. */
#include "tests/unit/sim/reach/gce_rows.h"

#include "common/base/attr.h"

#define BOTH    "node-0:80 node-1:80"
#define SICK    "node-0:80! node-1:80!"
#define OUTSIDE "203.0.113.1 TCP/80 internet 0.0.0.0/0 -> "
#define INSIDE  "10.0.0.9 TCP/80 network 10.0.0.0/8 -> "

static void members(void **state)
{
    (void)state;
    static const struct gce_row rows[] = {
        {"one machine gone", GCE_POOL, "{'zones/r-a/instances/node-0': null}", OUTSIDE "node-1:80"},
        {"gone from under its group", GCE_GROUPS, "{'zones/r-b/instances/node-1': null}",
         OUTSIDE "node-0:80"},
        {"one group gone", GCE_GROUPS, "{'zones/r-a/instanceGroups/web': null}",
         OUTSIDE "node-1:80"},
        {"members by name", GCE_GROUPS, "{'members zones/r-a/instanceGroups/web': ['node-0']}",
         OUTSIDE BOTH},
        {"a name of another zone", GCE_GROUPS,
         "{'members zones/r-a/instanceGroups/web': ['node-1']}", OUTSIDE "node-1:80"},
        {"endpoints by link", GCE_NEGS,
         "{'members zones/r-a/networkEndpointGroups/web': [{'instance':"
         "'https://www.googleapis.com/compute/v1/projects/p/zones/r-a/instances/node-0'}]}",
         OUTSIDE BOTH},
        {"endpoint with a former address", GCE_NEGS,
         "{'members zones/r-a/networkEndpointGroups/web':"
         "[{'instance': 'node-0', 'ipAddress': '10.0.1.77'}]}",
         OUTSIDE "node-1:80"},
        {"the same machine twice", GCE_POOL,
         "{'regions/r/targetPools/web': {'instances': ['zones/r-a/instances/node-0',"
         "'zones/r-a/instances/node-0']}}",
         OUTSIDE "node-0:80"},
        {"no interface of the family", GCE_GROUPS6,
         "{'zones/r-a/instances/node-0': {'networkInterfaces': [{'network':"
         "'global/networks/default', 'networkIP': '10.0.1.0', 'stackType': 'IPV4_ONLY'}]}}",
         "2001:db8::1 TCP/80 internet ::/0 -> node-1:80"},
        {"nor of IPv4", GCE_GROUPS,
         "{'zones/r-a/instances/node-0': {'networkInterfaces': [{'network':"
         "'global/networks/default', 'ipv6Address': 'fd00::1', 'stackType': 'IPV6_ONLY'}]}}",
         OUTSIDE "node-1:80"},
        {"no interface at all", GCE_POOL,
         "{'zones/r-a/instances/node-0': {'networkInterfaces': null}}", OUTSIDE "node-1:80"},
    };
    gce_rows_check(rows, ARRAY_LEN(rows));
}

/* node-0 with a second interface in the network "lab", whose firewall lets
 * 192.0.2.0/24 in everywhere. */
#define LAB                                                                                        \
    "'zones/r-a/instances/node-0': {'networkInterfaces': ["                                        \
    "    {'network': 'global/networks/default', 'networkIP': '10.0.1.0'},"                         \
    "    {'subnetwork': 'regions/r/subnetworks/lab', 'networkIP': '10.7.0.1'}]},"                  \
    "'regions/r/subnetworks/lab': {'network': 'global/networks/lab'},"                             \
    "'global/firewalls/lab': {'network': 'projects/p/global/networks/lab',"                        \
    "    'sourceRanges': ['192.0.2.0/24'], 'allowed': [{'IPProtocol': 'all'}]}"

static void interfaces(void **state)
{
    (void)state;
    static const struct gce_row rows[] = {
        {"a pool sends to nic0", GCE_POOL, "{" LAB "}", OUTSIDE BOTH},
        {"groups do, too", GCE_GROUPS, "{" LAB "}", OUTSIDE BOTH},
        {"endpoints are in their group's network", GCE_NEGS,
         "{" LAB ", 'zones/r-a/networkEndpointGroups/web': {'network': 'global/networks/lab'},"
         "'members zones/r-a/networkEndpointGroups/web': [{'instance': 'node-0',"
         "    'ipAddress': '10.7.0.1'}]}",
         OUTSIDE "node-0:80!(192.0.2.0/24) node-1:80"},
        {"and in its subnetwork", GCE_NEGS,
         "{" LAB ", 'zones/r-a/networkEndpointGroups/web': {'subnetwork':"
         "'regions/r/subnetworks/lab'}}",
         OUTSIDE "node-1:80"},
        {"an internal rule sends into its network", GCE_INSIDE,
         "{" LAB ", 'regions/r/forwardingRules/web': {'network': 'global/networks/lab'}}",
         "10.0.0.9 TCP/80 network 192.0.2.0/24 -> node-0:80!"},
        {"that of the service goes first", GCE_INSIDE,
         "{" LAB ", 'regions/r/backendServices/internal': {'network': 'global/networks/lab'}}",
         "10.0.0.9 TCP/80 network 192.0.2.0/24 -> node-0:80!"},
        {"that of its subnetwork", GCE_INSIDE,
         "{" LAB ", 'regions/r/forwardingRules/web': {'network': null,"
         "'subnetwork': 'regions/r/subnetworks/lab'}}",
         "10.0.0.9 TCP/80 network 192.0.2.0/24 -> node-0:80!"},
        {"a network of another project", GCE_GROUPS,
         "{'zones/r-a/instances/node-0': {'networkInterfaces': [{'network':"
         "    'projects/host/global/networks/default', 'networkIP': '10.0.1.0'}]},"
         "'global/firewalls/host': {'network': 'projects/host/global/networks/default',"
         "    'sourceRanges': ['192.0.2.0/24'], 'allowed': [{'IPProtocol': 'tcp'}]}}",
         OUTSIDE "node-0:80!(192.0.2.0/24) node-1:80"},
        {"without any it is nic0", GCE_INSIDE,
         "{" LAB ", 'regions/r/forwardingRules/web': {'network': null}}", INSIDE BOTH},
    };
    gce_rows_check(rows, ARRAY_LEN(rows));
}

static void health(void **state)
{
    (void)state;
    static const struct gce_row rows[] = {
        {"stopped", GCE_POOL, "{'zones/r-a/instances/node-0': {'status': 'TERMINATED'}}",
         OUTSIDE "node-0:80! node-1:80"},
        {"starting", GCE_NEGS, "{'zones/r-a/instances/node-0': {'status': 'STAGING'}}",
         OUTSIDE "node-0:80! node-1:80"},
        {"a pool without check", GCE_POOL,
         "{'regions/r/targetPools/web': {'healthChecks': null}, 'global/firewalls/probes': null}",
         OUTSIDE BOTH},
        {"without check and stopped", GCE_POOL,
         "{'regions/r/targetPools/web': {'healthChecks': []},"
         "'zones/r-b/instances/node-1': {'status': 'STOPPING'}}",
         OUTSIDE "node-0:80 node-1:80!"},
        {"a service without check", GCE_GROUPS,
         "{'regions/r/backendServices/groups': {'healthChecks': null}}", OUTSIDE SICK},
        {"check gone", GCE_POOL, "{'global/httpHealthChecks/node': null}", OUTSIDE SICK},
        {"check of a service gone", GCE_GROUPS, "{'regions/r/healthChecks/node': null}",
         OUTSIDE SICK},
        {"probes not let in", GCE_POOL, "{'global/firewalls/probes': null}", OUTSIDE SICK},
        {"another port", GCE_GROUPS,
         "{'regions/r/healthChecks/node': {'httpHealthCheck': {'port': 10257}}}", OUTSIDE SICK},
        {"the port that is served", GCE_GROUPS,
         "{'regions/r/healthChecks/node': {'httpHealthCheck': null, 'tcpHealthCheck': {}},"
         "'global/firewalls/probes': null}",
         OUTSIDE BOTH},
        {"preset of HTTPS", GCE_GROUPS,
         "{'regions/r/healthChecks/node': {'httpHealthCheck': null, 'httpsHealthCheck': {}},"
         "'global/firewalls/probes': {'allowed': [{'IPProtocol': 'tcp', 'ports': ['443']}]}}",
         OUTSIDE BOTH},
        {"preset of a legacy check", GCE_POOL, "{'global/httpHealthChecks/node': {'port': null}}",
         OUTSIDE BOTH},
        {"gRPC without a port", GCE_GROUPS,
         "{'regions/r/healthChecks/node': {'httpHealthCheck': null, 'grpcHealthCheck': {}}}",
         OUTSIDE SICK},
        {"external ranges are enough outside", GCE_POOL,
         "{'global/firewalls/probes': {'sourceRanges':"
         "['35.191.0.0/16', '209.85.152.0/22', '209.85.204.0/22']}}",
         OUTSIDE BOTH},
        {"one of them is missing", GCE_GROUPS,
         "{'global/firewalls/probes': {'sourceRanges': ['35.191.0.0/16', '209.85.152.0/22']}}",
         OUTSIDE SICK},
        {"internal ranges are enough inside", GCE_INSIDE,
         "{'global/firewalls/probes': {'sourceRanges': ['35.191.0.0/16', '130.211.0.0/22']}}",
         INSIDE BOTH},
        {"but not outside", GCE_GROUPS,
         "{'global/firewalls/probes': {'sourceRanges': ['35.191.0.0/16', '130.211.0.0/22']}}",
         OUTSIDE SICK},
        {"nor external ones inside", GCE_INSIDE,
         "{'global/firewalls/probes': {'sourceRanges':"
         "['35.191.0.0/16', '209.85.152.0/22', '209.85.204.0/22']}}",
         INSIDE SICK},
        {"IPv6 outside", GCE_GROUPS6,
         "{'global/firewalls/probes6': {'sourceRanges': ['2600:1901:8001::/48']}}",
         "2001:db8::1 TCP/80 internet ::/0 -> " BOTH},
        {"IPv6 outside, with the ranges of inside", GCE_GROUPS6,
         "{'global/firewalls/probes6': {'sourceRanges': ['2600:2d00:1:b029::/64']}}",
         "2001:db8::1 TCP/80 internet ::/0 -> " SICK},
        {"IPv6 inside", GCE_INSIDE6,
         "{'global/firewalls/probes6': {'sourceRanges': ['2600:2d00:1:b029::/64']}}",
         "fd00::9 TCP/80 network fd00::/8 -> " BOTH},
        {"probes go to the rule's address", GCE_POOL,
         "{'global/firewalls/probes': {'destinationRanges': ['203.0.113.2']}}", OUTSIDE SICK},
        {"so this one will do", GCE_POOL,
         "{'global/firewalls/probes': {'destinationRanges': ['203.0.113.1']}}", OUTSIDE BOTH},
        {"probes are denied", GCE_GROUPS,
         "{'global/firewalls/deny': {'network': 'global/networks/default', 'priority': 999,"
         "'sourceRanges': ['35.191.128.0/17'], 'denied': [{'IPProtocol': 'all'}]}}",
         "203.0.113.1 TCP/80 internet 0.0.0.0/3 32.0.0.0/7 34.0.0.0/8 35.0.0.0/9 35.128.0.0/11 "
         "35.160.0.0/12 35.176.0.0/13 35.184.0.0/14 35.188.0.0/15 35.190.0.0/16 35.191.0.0/17 "
         "35.192.0.0/10 36.0.0.0/6 40.0.0.0/5 48.0.0.0/4 64.0.0.0/2 128.0.0.0/1 -> " SICK},
        {"let in to one machine only", GCE_POOL,
         "{'global/firewalls/probes': {'targetTags': ['first']},"
         "'zones/r-a/instances/node-0': {'tags': {'items': ['node', 'first']}}}",
         OUTSIDE "node-0:80 node-1:80!"},
    };
    gce_rows_check(rows, ARRAY_LEN(rows));
}

UNIT_MAIN(gce_targets)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members),
        cmocka_unit_test(interfaces),
        cmocka_unit_test(health),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
