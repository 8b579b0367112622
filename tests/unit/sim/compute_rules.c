/* SPDX-License-Identifier: Apache-2.0 */
/* compute_rules.c: forwarding rules of backend services, and the addresses of both families that
 * they stand on.
 *
 * Source: compute v1 "forwardingRules", "addresses"; gce-l4.md §4.7, §4.14, §5.2-§5.4, §9.2,
 * §11.19; gce-cloud-provider.md §5.6, §5.7, §16. */
#include "tests/support/unit.h"
#include "tests/unit/sim/balancer_cloud.h"

#include <string.h>

#define FR        R "/forwardingRules"
#define IP        R "/addresses"
#define INT(more) "{\"name\":\"x\",\"loadBalancingScheme\":\"INTERNAL\"," SERVICE("int") more "}"
#define INT_ALL(more)                                                                              \
    "{\"name\":\"x\",\"loadBalancingScheme\":\"INTERNAL\"," SERVICE("int-all") more "}"
#define EXT(more)     "{\"name\":\"x\"," SERVICE("ext") more "}"
#define EXT_ALL(more) "{\"name\":\"x\"," SERVICE("ext-all") more "}"
#define P80           ",\"ports\":[\"80\"]"
#define P81           ",\"ports\":[\"81\"]"
#define V6            ",\"ipVersion\":\"IPV6\""
#define AT(ip)        ",\"IPAddress\":\"" ip "\""
#define PROTOCOL(p)   ",\"IPProtocol\":\"" p "\""
#define ADDRESS(more) "{\"name\":\"x\"" more "}"
#define INTERNAL      ",\"addressType\":\"INTERNAL\""

static const struct balancer_row refused[] = {
    /* ports */
    {"no ports", "POST", FR, INT(""), 400, "required", "ports"},
    {"no ports, external", "POST", FR, EXT(""), 400, "required", "ports"},
    {"six ports", "POST", FR, EXT(",\"ports\":[\"1\",\"2\",\"3\",\"4\",\"5\",\"6\"]"), 400,
     "invalid", "At most 5"},
    {"ports and a range", "POST", FR, EXT(P80 ",\"portRange\":\"80-90\""), 400, "invalid",
     "Only one"},
    {"ports and all", "POST", FR, INT(P80 ",\"allPorts\":true"), 400, "invalid", "Only one"},
    {"a range, internal", "POST", FR, INT(",\"portRange\":\"80-90\""), 400, "invalid",
     "resource.portRange"},
    {"port 0", "POST", FR, EXT(",\"ports\":[\"0\"]"), 400, "invalid", "resource.ports[0]"},
    /* protocols */
    {"another protocol than the service's", "POST", FR, INT(P81 PROTOCOL("UDP")), 400, "invalid",
     "protocol TCP"},
    {"another protocol, external", "POST", FR, EXT(P81 PROTOCOL("UDP")), 400, "invalid",
     "protocol TCP"},
    {"all protocols on a service of one", "POST", FR,
     EXT(",\"allPorts\":true" PROTOCOL("L3_DEFAULT")), 400, "invalid", "protocol TCP"},
    {"all protocols on some ports", "POST", FR, EXT_ALL(P80 PROTOCOL("L3_DEFAULT")), 400, "invalid",
     "allPorts"},
    {"another scheme than the service's", "POST", FR,
     "{\"name\":\"x\",\"loadBalancingScheme\":\"INTERNAL\"," SERVICE("ext") P80 "}", 400, "invalid",
     "EXTERNAL"},
    /* places */
    {"a subnetwork of another network", "POST", FR,
     INT(P81 "," NETWORK("default") "," SUBNET("far")), 400, "invalid",
     "is not part of the network resource"},
    {"another network than the backends'", "POST", FR, INT(P81 "," SUBNET("far")), 400, "invalid",
     "resource.network"},
    {"another region's subnetwork", "POST", FR,
     INT(P81 ",\"subnetwork\":\"regions/europe-west1/subnetworks/default\""), 400, "invalid",
     "Cross-region"},
    /* conflicts */
    {"an internal address that a rule has", "POST", FR, INT(P81 AT("10.128.9.1")), 409,
     "IP_IN_USE_BY_ANOTHER_RESOURCE", "is already being used by another resource"},
    {"an internal address that a machine has", "POST", FR, INT(P81 AT("10.128.0.10")), 409,
     "IP_IN_USE_BY_ANOTHER_RESOURCE", "is already being used by another resource"},
    {"an internal address outside", "POST", FR, INT(P81 AT("10.99.0.1")), 400, "invalid",
     "Requested internal IP address is outside the network/subnetwork range"},
    {"ports that a rule has on a reserved address", "POST", FR, EXT(P80 AT("203.0.113.50")), 400,
     "invalidUsage",
     "Invalid resource usage: 'Forwarding rule's port range is conflicting with forwarding rule: "
     "fre'."},
    {"a range over the port of another rule", "POST", FR,
     EXT(",\"portRange\":\"70-90\"" AT("203.0.113.50")), 400, "invalidUsage", "rule: fre'."},
    {"an external address that nobody reserved", "POST", FR, EXT(P80 AT("203.0.113.99")), 400,
     "invalid", "Invalid IP address specified"},
    {"an internal address, external rule", "POST", FR, EXT(P80 AT("10.128.9.9")), 400, "invalid",
     "Invalid IP address specified"},
    {"the other tier than the address's", "POST", FR,
     EXT(P81 AT("203.0.113.50") ",\"networkTier\":\"STANDARD\""), 400, "invalid",
     "The network tier of external IP is PREMIUM"},
    /* IPv6 */
    {"IPv6 without a subnetwork", "POST", FR, EXT(P80 V6), 400, "invalid", "subnetwork"},
    {"IPv6 of an internal subnetwork", "POST", FR, EXT(P80 V6 "," SUBNET("default")), 400,
     "invalid", "ipv6AccessType is INTERNAL"},
    {"internal IPv6 of an external subnetwork", "POST", FR, INT(P80 V6 "," SUBNET("public")), 400,
     "invalid", "ipv6AccessType is EXTERNAL"},
    {"IPv6 of a subnetwork of IPv4", "POST", FR, INT(P80 V6 "," SUBNET("second")), 400, "invalid",
     "ipv6AccessType is not set"},
    {"IPv6 of the other tier", "POST", FR,
     EXT(P80 V6 "," SUBNET("public") ",\"networkTier\":\"STANDARD\""), 400, "invalid", "PREMIUM"},
    {"IPv6 without its prefix", "POST", FR,
     EXT(P80 V6 "," SUBNET("public") AT("2600:1900:4000:5:8000:9::")), 400, "invalid", "96"},
    {"IPv6 version, IPv4 address", "POST", FR, INT(P81 V6 AT("10.128.9.9")), 400, "invalid",
     "IP version"},
    {"IPv4 version, IPv6 address", "POST", FR,
     INT(P81 ",\"ipVersion\":\"IPV4\"" AT("fd20:0:0:1:8000:9:0:0/96")), 400, "invalid",
     "IP version"},
    {"internal IPv6 outside", "POST", FR, INT(P81 V6 AT("fd20:0:0:9:8000:9:0:0/96")), 400,
     "invalid", "outside the network/subnetwork range"},
    {"foreign external IPv6", "POST", FR, EXT(P80 V6 "," SUBNET("public") AT("2001:db8::/96")), 400,
     "invalid", "Invalid IP address specified"},
    {"an address for machines", "POST", FR,
     EXT(P80 V6 "," SUBNET("public") ",\"IPAddress\":\"regions/us-central1/addresses/vm6\""), 400,
     "invalid", "for machines"},
    /* changes */
    {"patch of the address", "PATCH", FR "/fr", "{\"IPAddress\":\"10.128.9.2\"}", 400, "invalid",
     "cannot be changed"},
    {"patch of the ports", "PATCH", FR "/fr", "{\"ports\":[\"81\"]}", 400, "invalid",
     "cannot be changed"},
    {"patch of the service", "PATCH", FR "/fr", "{" SERVICE("int-all") "}", 400, "invalid",
     "cannot be changed"},
    {"patch of the protocol", "PATCH", FR "/fr", "{\"IPProtocol\":\"UDP\"}", 400, "invalid",
     "cannot be changed"},
    {"patch of the tier", "PATCH", FR "/fre", "{\"networkTier\":\"STANDARD\"}", 400, "invalid",
     "The network tier of external IP is PREMIUM, that of ForwardingRule must be the same."},
    {"global access, external", "PATCH", FR "/fre", "{\"allowGlobalAccess\":true}", 400, "invalid",
     "allowGlobalAccess"},
    {"PUT", "PUT", FR "/fr", INT(P80), 404, "notFound", NULL},
    /* addresses */
    {"an address of the other tier than its rule's", "POST", IP,
     ADDRESS(",\"address\":\"198.51.100.10\""), 400, "invalid",
     "The network tier of external IP is STANDARD, that of Address must be the same."},
    {"an external address that is reserved", "POST", IP, ADDRESS(",\"address\":\"203.0.113.50\""),
     400, "invalid", "Specified IP address is already reserved."},
    {"an internal address that is reserved", "POST", IP,
     ADDRESS(INTERNAL ",\"address\":\"10.128.9.7\""), 409, "IP_IN_USE_BY_ANOTHER_RESOURCE", NULL},
    {"an internal address that a machine has", "POST", IP,
     ADDRESS(INTERNAL ",\"address\":\"10.128.0.10\""), 409, "IP_IN_USE_BY_ANOTHER_RESOURCE", NULL},
    {"an internal address outside", "POST", IP, ADDRESS(INTERNAL ",\"address\":\"10.99.0.1\""), 400,
     "invalid", "Requested internal IP address is outside the network/subnetwork range."},
    {"an internal address of another subnetwork", "POST", IP,
     ADDRESS(INTERNAL "," SUBNET("second") ",\"address\":\"10.128.9.9\""), 400, "invalid",
     "outside the network/subnetwork range"},
    {"a purpose of an external address", "POST", IP,
     ADDRESS(",\"purpose\":\"SHARED_LOADBALANCER_VIP\""), 400, "invalid", "purpose"},
    {"an unknown purpose", "POST", IP, ADDRESS(INTERNAL ",\"purpose\":\"MINE\""), 400, "invalid",
     "MINE"},
    {"a prefix length of IPv4", "POST", IP, ADDRESS(",\"prefixLength\":96"), 400, "invalid",
     "prefixLength"},
    {"a prefix length of 64", "POST", IP,
     ADDRESS(",\"ipVersion\":\"IPV6\",\"prefixLength\":64," SUBNET("public")), 400, "invalid",
     "prefixLength"},
    {"an IPv6 address without a subnetwork", "POST", IP, ADDRESS(",\"ipVersion\":\"IPV6\""), 400,
     "invalid", "subnetwork"},
    {"an IPv6 address of an internal subnetwork", "POST", IP,
     ADDRESS(",\"ipVersion\":\"IPV6\"," SUBNET("default")), 400, "invalid", "ipv6AccessType"},
    {"an internal IPv6 address of an external subnetwork", "POST", IP,
     ADDRESS(INTERNAL ",\"ipVersion\":\"IPV6\"," SUBNET("public")), 400, "invalid",
     "ipv6AccessType"},
    {"an IPv6 address of the other tier", "POST", IP,
     ADDRESS(",\"ipVersion\":\"IPV6\",\"networkTier\":\"STANDARD\"," SUBNET("public")), 400,
     "invalid", "PREMIUM"},
    {"an IPv6 literal of the version IPv4", "POST", IP,
     ADDRESS(",\"ipVersion\":\"IPV4\",\"address\":\"2600:1900:4000:5:8000:77::\""), 400, "invalid",
     "IP version"},
    {"an endpoint type of IPv4", "POST", IP, ADDRESS(",\"ipv6EndpointType\":\"NETLB\""), 400,
     "invalid", "ipv6EndpointType"},
    {"a subnetwork of an external IPv4 address", "POST", IP, ADDRESS("," SUBNET("default")), 400,
     "invalid", "Subnetwork"},
};

static const struct balancer_row taken[] = {
    {"five ports", "POST", FR, EXT(",\"ports\":[\"1\",\"2\",\"3\",\"4\",\"5\"]"), 200, NULL, NULL},
    {"a range", "POST", FR, EXT(",\"portRange\":\"80-443\""), 200, NULL, NULL},
    {"all ports", "POST", FR, INT(",\"allPorts\":true"), 200, NULL, NULL},
    {"all protocols", "POST", FR, EXT_ALL(",\"allPorts\":true" PROTOCOL("L3_DEFAULT")), 200, NULL,
     NULL},
    {"all protocols, internal", "POST", FR, INT_ALL(",\"allPorts\":true" PROTOCOL("L3_DEFAULT")),
     200, NULL, NULL},
    {"one protocol of an unspecified service", "POST", FR, EXT_ALL(P80 PROTOCOL("UDP")), 200, NULL,
     NULL},
    {"another port of the address", "POST", FR, EXT(P81 AT("203.0.113.50")), 200, NULL, NULL},
    {"the same port, the other protocol", "POST", FR,
     EXT_ALL(P80 PROTOCOL("UDP") AT("203.0.113.50")), 200, NULL, NULL},
    {"another subnetwork of the network", "POST", FR, INT(P80 "," SUBNET("second")), 200, NULL,
     NULL},
    {"an internal literal", "POST", FR, INT(P80 AT("10.128.9.200")), 200, NULL, NULL},
    {"the other tier", "POST", FR, EXT(P80 ",\"networkTier\":\"STANDARD\""), 200, NULL, NULL},
    {"IPv6", "POST", FR, EXT(P80 V6 "," SUBNET("public")), 200, NULL, NULL},
    {"internal IPv6", "POST", FR, INT(P80 V6), 200, NULL, NULL},
    {"internal IPv6 literal", "POST", FR, INT(P80 V6 AT("fd20:0:0:1:8000:9:0:0/96")), 200, NULL,
     NULL},
    {"global access", "PATCH", FR "/fr", "{\"name\":\"fr\",\"allowGlobalAccess\":true}", 200, NULL,
     NULL},
    {"no global access", "PATCH", FR "/fr", "{\"name\":\"fr\",\"allowGlobalAccess\":false}", 200,
     NULL, NULL},
    {"the same tier", "PATCH", FR "/fre", "{\"name\":\"fre\",\"networkTier\":\"PREMIUM\"}", 200,
     NULL, NULL},
    {"an IPv6 address", "POST", IP,
     ADDRESS(",\"ipVersion\":\"IPV6\",\"ipv6EndpointType\":\"NETLB\"," SUBNET("public")), 200, NULL,
     NULL},
    {"an internal IPv6 address", "POST", IP, ADDRESS(INTERNAL ",\"ipVersion\":\"IPV6\""), 200, NULL,
     NULL},
    {"an address of the standard tier's rule", "POST", IP,
     ADDRESS(",\"address\":\"198.51.100.10\",\"networkTier\":\"STANDARD\""), 200, NULL, NULL},
    {"the address of a live internal rule", "POST", IP,
     ADDRESS(INTERNAL ",\"address\":\"10.128.9.1\""), 200, NULL, NULL},
};

/* Beside the usual: a rule of the standard tier, an internal reservation and one for machines. */
static struct fixture *start(void)
{
    struct fixture *f = balancer_cloud_start();
    balancer_cloud_fill(f);
    fixture_must(f, "POST", FR,
                 "{\"name\":\"std\",\"networkTier\":\"STANDARD\"," SERVICE("ext") P80 "}");
    fixture_must(f, "GET", FR "/std", NULL);
    assert_string_equal(fixture_text(f, "IPAddress"), "198.51.100.10"); /* the rows name it */
    fixture_must(f, "POST", IP,
                 "{\"name\":\"held\",\"addressType\":\"INTERNAL\",\"address\":\"10.128.9.7\"}");
    fixture_must(f, "POST", IP,
                 "{\"name\":\"vm6\",\"ipVersion\":\"IPV6\",\"ipv6EndpointType\":\"VM\"," SUBNET(
                     "public") "}");
    return f;
}

static void rule__what_does_not_go_together__is_refused_and_changes_nothing(void **state)
{
    (void)state;
    struct fixture *f = start();
    balancer_expect_refused(f, refused, ARRAY_LEN(refused));
    fixture_stop(f);
}

static void rule__what_goes_together__is_taken(void **state)
{
    (void)state;
    struct fixture *f = start();
    balancer_expect_taken(f, taken, ARRAY_LEN(taken));
    fixture_stop(f);
}

static void rule__of_ipv6__gets_a_range_of_its_subnetwork(void **state)
{
    (void)state;
    static const struct {
        const char *body, *prefix;
    } rows[] = {
        {EXT(P80 V6 "," SUBNET("public")), "2600:1900:4000:5:8000:"},
        {INT(P80 V6), "fd20:0:0:1:8000:"},
    };
    struct fixture *f = start();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        fixture_must(f, "POST", FR, rows[i].body);
        fixture_must(f, "GET", FR "/x", NULL);
        const char *ip = fixture_text(f, "IPAddress");
        assert_true(str_has_prefix(ip, rows[i].prefix));
        assert_string_equal(ip + strlen(ip) - 3, "/96");
        assert_string_equal(fixture_text(f, "ipVersion"), "IPV6");
        fixture_must(f, "DELETE", FR "/x", NULL);
    }
    fixture_stop(f);
}

/* Held, the address of an IPv6 rule survives the rule: reserve it as it is,
 * without the subnetwork. */
static void rule__of_ipv6__is_made_anew_on_a_held_address(void **state)
{
    (void)state;
    struct fixture *f = start();
    fixture_must(f, "POST", FR, EXT(P80 V6 "," SUBNET("public")));
    fixture_must(f, "GET", FR "/x", NULL);
    const char *range = arena_strdup(f->a, fixture_text(f, "IPAddress"));
    const char *ip = arena_strndup(f->a, range, strlen(range) - 3);
    fixture_must(f, "POST", IP,
                 arena_printf(f->a, "{\"name\":\"x\",\"address\":\"%s\",\"prefixLength\":96}", ip));
    fixture_must(f, "GET", IP "/x", NULL);
    assert_string_equal(fixture_text(f, "status"), "IN_USE");
    fixture_must(f, "DELETE", FR "/x", NULL);
    fixture_must(f, "GET", IP "/x", NULL);
    assert_string_equal(fixture_text(f, "status"), "RESERVED");
    fixture_must(f, "POST", FR,
                 arena_printf(f->a, EXT(P81 V6 "," SUBNET("public") AT("%s")), range));
    fixture_must(f, "DELETE", IP "/x", NULL);
    fixture_must(f, "GET", FR "/x", NULL);
    assert_string_equal(fixture_text(f, "IPAddress"), range);
    fixture_stop(f);
}

/* Two rules on one internal address need a reservation that says so, and then only other
 * ports or protocols. */
static void rule__shared_internal_address__takes_other_ports(void **state)
{
    (void)state;
    struct fixture *f = start();
    fixture_must(f, "POST", IP,
                 "{\"name\":\"vip\",\"addressType\":\"INTERNAL\",\"address\":\"10.128.9.50\","
                 "\"purpose\":\"SHARED_LOADBALANCER_VIP\"}");
    fixture_must(f, "POST", FR, INT(P80 AT("10.128.9.50")));
    static const char y[] =
        "{\"name\":\"y\",\"loadBalancingScheme\":\"INTERNAL\"," SERVICE("int") AT("10.128.9.50");
    int status = fixture_call(f, "POST", FR, arena_printf(f->a, "%s" P80 "}", y));
    fixture_expect(f, "the same port", status, 400, "invalidUsage");
    assert_non_null(strstr(fixture_text(f, "error.message"),
                           "port range is conflicting with forwarding rule: x"));
    fixture_must(f, "POST", FR, arena_printf(f->a, "%s" P81 "}", y));
    fixture_must(f, "GET", IP "/vip", NULL);
    assert_int_equal(json_len(json_member(f->answer, "users")), 2);
    fixture_stop(f);
}

static void address__list__is_filtered_by_address_and_type(void **state)
{
    (void)state;
    static const struct {
        const char *filter;
        int n;
    } rows[] = {
        {"address%20eq%20203.0.113.50", 1},
        {"address%20%3D%20%2210.128.9.7%22", 1},
        {"(address%20eq%2010.128.9.7)%20(addressType%20eq%20EXTERNAL)", 0},
        {"addressType%20eq%20INTERNAL", 1},
        {"ipVersion%20eq%20IPV6", 1},
    };
    struct fixture *f = start();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        fixture_must(f, "GET", arena_printf(f->a, IP "?filter=%s", rows[i].filter), NULL);
        assert_int_equal(json_len(json_member(f->answer, "items")), rows[i].n);
    }
    fixture_stop(f);
}

UNIT_MAIN(compute_rules)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rule__what_does_not_go_together__is_refused_and_changes_nothing),
        cmocka_unit_test(rule__what_goes_together__is_taken),
        cmocka_unit_test(rule__of_ipv6__gets_a_range_of_its_subnetwork),
        cmocka_unit_test(rule__of_ipv6__is_made_anew_on_a_held_address),
        cmocka_unit_test(rule__shared_internal_address__takes_other_ports),
        cmocka_unit_test(address__list__is_filtered_by_address_and_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
