/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of sim/reach/gce_firewalls.c: what each member of a firewall rule does, and
 * which rule decides. */
#include "tests/unit/sim/reach/gce_rows.h"

#include "common/base/attr.h"

#define BOTH   "node-0:80 node-1:80"
#define TO     "203.0.113.1 TCP/80 internet "
#define SERVED TO "0.0.0.0/0 -> " BOTH
#define CLOSED TO "no permission -> " BOTH
#define DENIED TO "no permission -> node-0:80! node-1:80!" /* probes, too */
#define INSIDE "10.0.0.9 TCP/80 network "

#define WEB(body) "{'global/firewalls/web': {" body "}}"
/* Another rule about the same packets beside "web". */
#define AND(body)                                                                                  \
    "{'global/firewalls/and': {'network': 'global/networks/default', 'targetTags': ['node'], "     \
    "'destinationRanges': ['203.0.113.1'], " body "}}"
#define ALLOW(sources) "'sourceRanges': [" sources "], 'allowed': [{'IPProtocol': 'tcp'}]"
#define DENY(sources)  "'sourceRanges': [" sources "], 'denied': [{'IPProtocol': 'all'}]"

static void rule_matches(void **state)
{
    (void)state;
    static const struct gce_row rows[] = {
        {"ingress by name", GCE_POOL, WEB("'direction': 'INGRESS'"), SERVED},
        {"egress", GCE_POOL, WEB("'direction': 'EGRESS'"), CLOSED},
        {"disabled", GCE_POOL, WEB("'disabled': true"), CLOSED},
        {"not disabled", GCE_POOL, WEB("'disabled': false"), SERVED},
        {"another network", GCE_POOL, WEB("'network': 'global/networks/other'"), CLOSED},
        {"the network of another project", GCE_POOL,
         WEB("'network': 'projects/host/global/networks/default'"), CLOSED},
        {"no network: the default one", GCE_POOL, WEB("'network': null"), SERVED},
        {"a full link to the network", GCE_POOL,
         WEB("'network': 'https://www.googleapis.com/compute/v1/projects/p/global/networks/"
             "default'"),
         SERVED},
        {"no target", GCE_POOL, WEB("'targetTags': null"), SERVED},
        {"an empty list of targets", GCE_POOL, WEB("'targetTags': []"), SERVED},
        {"another target", GCE_POOL, WEB("'targetTags': ['nodes']"), CLOSED},
        {"one of several targets", GCE_POOL, WEB("'targetTags': ['nodes', 'other']"), SERVED},
        {"the tag of one node", GCE_POOL,
         "{'global/firewalls/web': {'targetTags': ['first']},"
         "'zones/r-a/instances/node-0': {'tags': {'items': ['node', 'first']}}}",
         TO "0.0.0.0/0 -> node-0:80 node-1:80()"},
        {"a service account", GCE_POOL,
         "{'global/firewalls/web': {'targetTags': null, 'targetServiceAccounts': ['n@p']},"
         "'zones/r-b/instances/node-1': {'serviceAccounts': [{'email': 'n@p'}]}}",
         TO "0.0.0.0/0 -> node-0:80() node-1:80"},
        {"a service account that no machine has", GCE_POOL,
         WEB("'targetTags': null, 'targetServiceAccounts': ['n@p']"), CLOSED},
        {"another destination", GCE_POOL, WEB("'destinationRanges': ['203.0.113.2']"), CLOSED},
        {"the address as a range", GCE_POOL, WEB("'destinationRanges': ['203.0.113.1/32']"),
         SERVED},
        {"a range with the address", GCE_POOL, WEB("'destinationRanges': ['203.0.113.0/24']"),
         SERVED},
        {"one of several destinations", GCE_POOL,
         WEB("'destinationRanges': ['198.51.100.0/24', '203.0.113.1']"), SERVED},
        {"no destination: all", GCE_POOL, WEB("'destinationRanges': null"), SERVED},
        {"the node's own address is not the destination", GCE_POOL,
         WEB("'destinationRanges': ['10.0.1.0/24']"), CLOSED},
        {"the whole prefix of an IPv6 rule", GCE_GROUPS6,
         "{'global/firewalls/web6': {'destinationRanges': ['2001:db8::/96']}}",
         "2001:db8::1 TCP/80 internet ::/0 -> " BOTH},
        {"without a tag", GCE_POOL, "{'zones/r-b/instances/node-1': {'tags': null}}",
         TO "0.0.0.0/0 -> node-0:80 node-1:80!()"},
    };
    gce_rows_check(rows, ARRAY_LEN(rows));
}

static void sources(void **state)
{
    (void)state;
    static const struct gce_row rows[] = {
        {"several", GCE_POOL, WEB("'sourceRanges': ['10.0.0.0/8', '192.0.2.7']"),
         TO "10.0.0.0/8 192.0.2.7/32 -> " BOTH},
        {"none: all of IPv4", GCE_POOL, WEB("'sourceRanges': null"), SERVED},
        {"none: no client of IPv6", GCE_GROUPS6,
         "{'global/firewalls/web6': {'sourceRanges': null}}",
         "2001:db8::1 TCP/80 internet no permission -> " BOTH},
        {"of the other family", GCE_POOL, WEB("'sourceRanges': ['::/0']"), CLOSED},
        {"tags are the addresses of machines", GCE_INSIDE,
         "{'global/firewalls/inside': {'sourceRanges': null, 'sourceTags': ['node']}}",
         INSIDE "10.0.1.0/31 -> " BOTH},
        {"tags beside ranges", GCE_INSIDE,
         "{'global/firewalls/inside': {'sourceRanges': ['10.9.0.0/16'], 'sourceTags': ['node']}}",
         INSIDE "10.0.1.0/31 10.9.0.0/16 -> " BOTH},
        {"tags of IPv6", GCE_INSIDE6,
         "{'global/firewalls/inside6': {'sourceRanges': null, 'sourceTags': ['node']}}",
         "fd00::9 TCP/80 network fd00::1:0/127 -> " BOTH},
        {"tags that no machine has", GCE_INSIDE,
         "{'global/firewalls/inside': {'sourceRanges': null, 'sourceTags': ['none']}}",
         INSIDE "no permission -> " BOTH},
        {"accounts are the addresses of machines", GCE_INSIDE,
         "{'global/firewalls/inside': {'sourceRanges': null, 'sourceServiceAccounts': ['c@p']},"
         "'zones/r-c/instances/node-2': {'serviceAccounts': [{'email': 'c@p'}]}}",
         INSIDE "10.0.1.2/32 -> " BOTH},
    };
    gce_rows_check(rows, ARRAY_LEN(rows));
}

static void traffic(void **state)
{
    (void)state;
    static const struct gce_row rows[] = {
        {"all", GCE_POOL, WEB("'allowed': [{'IPProtocol': 'all'}]"), SERVED},
        {"all ports", GCE_POOL, WEB("'allowed': [{'IPProtocol': 'tcp'}]"), SERVED},
        {"an empty list of ports", GCE_POOL, WEB("'allowed': [{'IPProtocol': 'tcp', 'ports': []}]"),
         SERVED},
        {"capital letters", GCE_POOL, WEB("'allowed': [{'IPProtocol': 'TCP', 'ports': ['80']}]"),
         SERVED},
        {"a number", GCE_POOL, WEB("'allowed': [{'IPProtocol': '6', 'ports': ['80']}]"), SERVED},
        {"another protocol", GCE_POOL, WEB("'allowed': [{'IPProtocol': 'udp', 'ports': ['80']}]"),
         CLOSED},
        {"another port", GCE_POOL, WEB("'allowed': [{'IPProtocol': 'tcp', 'ports': ['8080']}]"),
         CLOSED},
        {"a range", GCE_POOL, WEB("'allowed': [{'IPProtocol': 'tcp', 'ports': ['22', '79-81']}]"),
         SERVED},
        {"a range above", GCE_POOL, WEB("'allowed': [{'IPProtocol': 'tcp', 'ports': ['81-90']}]"),
         CLOSED},
        {"a range below", GCE_POOL, WEB("'allowed': [{'IPProtocol': 'tcp', 'ports': ['1-79']}]"),
         CLOSED},
        {"the second entry", GCE_POOL,
         WEB("'allowed': [{'IPProtocol': 'udp'}, {'IPProtocol': 'tcp', 'ports': ['80']}]"), SERVED},
        {"nothing", GCE_POOL, WEB("'allowed': []"), CLOSED},
        {"UDP", GCE_POOL,
         "{'regions/r/forwardingRules/web': {'IPProtocol': 'UDP', 'portRange': '53-53'},"
         "'global/firewalls/web': {'allowed': [{'IPProtocol': 'udp', 'ports': ['53']}]}}",
         "203.0.113.1 UDP/53 internet 0.0.0.0/0 -> node-0:53 node-1:53"},
    };
    gce_rows_check(rows, ARRAY_LEN(rows));
}

/* All but 128.0.0.0/2. */
#define REST "0.0.0.0/1 192.0.0.0/2"

static void which_decides(void **state)
{
    (void)state;
    static const struct gce_row rows[] = {
        {"two that allow", GCE_POOL,
         "{'global/firewalls/web': {'sourceRanges': ['10.0.0.0/9']}, 'global/firewalls/and':"
         "{'network': 'global/networks/default', " ALLOW("'10.128.0.0/9'") "}}",
         TO "10.0.0.0/8 -> " BOTH},
        {"deny before", GCE_POOL, AND("'priority': 999, " DENY("'128.0.0.0/2'")),
         TO REST " -> " BOTH},
        {"deny everybody before", GCE_POOL, AND("'priority': 999, " DENY("'0.0.0.0/0'")), DENIED},
        {"deny behind", GCE_POOL, AND("'priority': 1001, " DENY("'0.0.0.0/0'")), SERVED},
        {"deny at the same priority", GCE_POOL, AND("'priority': 1000, " DENY("'128.0.0.0/2'")),
         TO REST " -> " BOTH},
        {"without a priority it is 1000", GCE_POOL, AND(DENY("'0.0.0.0/0'")), DENIED},
        {"allow before deny", GCE_POOL,
         "{'global/firewalls/web': {'priority': 999, 'sourceRanges': ['10.0.0.0/8']},"
         "'global/firewalls/deny': {'network': 'global/networks/default', 'priority': 1000,"
         "'destinationRanges': ['203.0.113.1'], 'targetTags': ['node'], " DENY("'0.0.0.0/0'") "}}",
         TO "10.0.0.0/8 -> node-0:80! node-1:80!"},
        {"priority 0", GCE_POOL,
         "{'global/firewalls/web': {'priority': 1}, 'global/firewalls/deny':"
         "{'network': 'global/networks/default', 'priority': 0, " DENY("'128.0.0.0/2'") "}}",
         TO REST " -> " BOTH},
        {"deny another port", GCE_POOL,
         AND("'priority': 1, 'sourceRanges': ['0.0.0.0/0'],"
             "'denied': [{'IPProtocol': 'tcp', 'ports': ['81']}]"),
         SERVED},
        {"deny another address", GCE_POOL,
         "{'global/firewalls/deny': {'network': 'global/networks/default', 'priority': 1,"
         "'destinationRanges': ['203.0.113.2'], " DENY("'0.0.0.0/0'") "}}",
         SERVED},
        {"deny one node", GCE_POOL,
         "{'global/firewalls/deny': {'network': 'global/networks/default', 'priority': 1,"
         "'destinationRanges': ['203.0.113.1'], 'targetTags': ['first'],"
         "'sourceRanges': ['128.0.0.0/2'], 'denied': [{'IPProtocol': 'tcp', 'ports': ['80']}]},"
         "'zones/r-a/instances/node-0': {'tags': {'items': ['node', 'first']}}}",
         TO "0.0.0.0/0 -> node-0:80(" REST ") node-1:80"},
        {"deny without sources is all of IPv4", GCE_POOL,
         AND("'priority': 1, 'denied': [{'IPProtocol': 'tcp', 'ports': ['80']}]"), CLOSED},
        {"allow, deny, allow", GCE_POOL,
         "{'global/firewalls/web': {'priority': 3}, 'global/firewalls/deny':"
         "{'network': 'global/networks/default', 'priority': 2, " DENY(
             "'128.0.0.0/1'") "},"
                              "'global/firewalls/first': {'network': 'global/networks/default', "
                              "'priority': 1, " ALLOW("'192.0.0.0/2'") "}}",
         TO REST " -> " BOTH},
        {"the port decides which rule", GCE_POOL,
         "{'regions/r/forwardingRules/web': {'portRange': '80-81'},"
         "'global/firewalls/web': {'allowed': [{'IPProtocol': 'tcp'}]}, 'global/firewalls/deny':"
         "{'network': 'global/networks/default', 'priority': 1, 'sourceRanges': ['128.0.0.0/2'],"
         "'denied': [{'IPProtocol': 'tcp', 'ports': ['81-90']}]}}",
         SERVED "\n203.0.113.1 TCP/81 internet " REST " -> node-0:81 node-1:81"},
    };
    gce_rows_check(rows, ARRAY_LEN(rows));
}

UNIT_MAIN(gce_firewalls)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rule_matches),
        cmocka_unit_test(sources),
        cmocka_unit_test(traffic),
        cmocka_unit_test(which_decides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
