/* SPDX-License-Identifier: Apache-2.0 */
/* test_nsg_open.c: whether a security group lets any client in (azure_nsg_open_rules.h), also by
 * rules that others wrote. */
#include "tests/support/unit.h"
#include "tests/unit/azure/nsg.h"

#include "providers/azure/nsg/azure_nsg_open_rules.h"

#define ANY_RULE(access, priority, protocol, src, dst, ports)                                      \
    "{\"name\":\"x\",\"properties\":{\"access\":\"" access                                         \
    "\",\"direction\":\"Inbound\",\"protocol\":\"" protocol "\",\"priority\":" #priority           \
    ",\"sourcePortRange\":\"*\",\"sourceAddressPrefixes\":[" src                                   \
    "],\"destinationAddressPrefixes\":[" dst "],\"destinationPortRanges\":[" ports "]}}"
#define ALLOW(src, dst, ports) ANY_RULE("Allow", 600, "Tcp", src, dst, ports)
#define DENY(priority, src)    ANY_RULE("Deny", priority, "*", src, "\"*\"", "\"*\"")
#define OUTBOUND                                                                                   \
    "{\"name\":\"o\",\"properties\":{\"access\":\"Allow\",\"direction\":\"Outbound\","             \
    "\"protocol\":\"*\",\"priority\":100,\"sourceAddressPrefix\":\"*\","                           \
    "\"destinationAddressPrefix\":\"*\",\"destinationPortRange\":\"*\"}}"
#define GROUPED                                                                                    \
    "{\"name\":\"g\",\"properties\":{\"access\":\"Allow\",\"direction\":\"Inbound\","              \
    "\"protocol\":\"*\",\"priority\":100,\"sourceAddressPrefix\":\"*\","                           \
    "\"destinationApplicationSecurityGroups\":[{\"id\":\"/asg\"}],"                                \
    "\"destinationPortRange\":\"*\"}}"
#define HERE "\"20.1.2.3\""
#define ALL  "\"Internet\""

struct row {
    const char *name;
    const char *rules;
    bool inside; /* a private frontend, 10.0.0.9 */
    enum azure_nsg_answer answer;
};

static const struct row rows[] = {
    {"no rule: an internal address is open", "", true, AZURE_NSG_OPEN},
    {"no rule: a public one is not", "", false, AZURE_NSG_CLOSED},
    {"to this address", ALLOW(ALL, HERE, "\"80\""), false, AZURE_NSG_OPEN},
    {"to its network", ALLOW(ALL, "\"20.1.0.0/16\"", "\"80\""), false, AZURE_NSG_OPEN},
    {"to all", ALLOW(ALL, "\"*\"", "\"*\""), false, AZURE_NSG_OPEN},
    {"of some clients", ALLOW("\"192.0.2.0/24\"", HERE, "\"80\""), false, AZURE_NSG_OPEN},
    {"of a service tag", ALLOW("\"AzureCloud\"", HERE, "\"80\""), false, AZURE_NSG_OPEN},
    {"of the other family", ALLOW("\"2001:db8::/32\"", HERE, "\"80\""), false, AZURE_NSG_CLOSED},
    {"of the network, to a public address", ALLOW("\"VirtualNetwork\"", HERE, "\"80\""), false,
     AZURE_NSG_CLOSED},
    {"of probes", ALLOW("\"AzureLoadBalancer\"", HERE, "\"80\""), false, AZURE_NSG_CLOSED},
    {"to another address", ALLOW(ALL, "\"20.1.2.4\"", "\"80\""), false, AZURE_NSG_CLOSED},
    {"to the network", ALLOW(ALL, "\"VirtualNetwork\"", "\"80\""), false, AZURE_NSG_CLOSED},
    {"another port", ALLOW(ALL, HERE, "\"81\",\"800-900\""), false, AZURE_NSG_CLOSED},
    {"a range of ports", ALLOW(ALL, HERE, "\"70-90\""), false, AZURE_NSG_OPEN},
    {"another protocol", ANY_RULE("Allow", 600, "Udp", ALL, HERE, "\"80\""), false,
     AZURE_NSG_CLOSED},
    {"every protocol", ANY_RULE("Allow", 600, "*", ALL, HERE, "\"80\""), false, AZURE_NSG_OPEN},
    {"traffic that leaves", OUTBOUND, false, AZURE_NSG_CLOSED},
    {"a tag as destination", ALLOW(ALL, "\"Storage\"", "\"80\""), false, AZURE_NSG_UNSURE},
    {"a group as destination", GROUPED, false, AZURE_NSG_UNSURE},
    {"denied before", ALLOW(ALL, HERE, "\"80\"") "," DENY(500, "\"*\""), false, AZURE_NSG_CLOSED},
    {"denied after", ALLOW(ALL, HERE, "\"80\"") "," DENY(700, "\"*\""), false, AZURE_NSG_OPEN},
    {"some are denied before", ALLOW(ALL, HERE, "\"80\"") "," DENY(500, "\"192.0.2.0/24\""), false,
     AZURE_NSG_OPEN},
    {"all are denied before, by ranges", ALLOW(ALL, HERE, "\"80\"") "," DENY(500, "\"0.0.0.0/0\""),
     false, AZURE_NSG_CLOSED},
    {"perhaps, before all are denied", GROUPED "," DENY(500, "\"*\""), false, AZURE_NSG_UNSURE},
    {"an internal address that is denied", DENY(500, "\"*\""), true, AZURE_NSG_CLOSED},
    {"the internet, of an internal address", DENY(500, ALL), true, AZURE_NSG_OPEN},
};

static void lets_in__first_rule_that_fits_decides(void **state)
{
    struct arena *a = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct azure_nsg g;
        struct azure_nsg_packet p = {.to_network = rows[i].inside,
                                     .from_outside = !rows[i].inside,
                                     .protocol = "Tcp",
                                     .port = 80};
        struct err err = ERR_INIT;
        struct json_object *doc = pure_json(a, arena_printf(a, "[%s]", rows[i].rules));
        assert_int_equal(azure_nsg_read(a, doc, &g, &err), ERR_OK);
        assert_true(ip_parse(rows[i].inside ? "10.0.0.9" : "20.1.2.3", &p.to));
        struct azure_nsg in = azure_nsg_inbound(&g);
        print_message("# %s\n", rows[i].name);
        assert_int_equal(azure_nsg_lets_in(&in, &p), rows[i].answer);
    }
}

/* A rule for all protocols and ports: what lets in some of them may serve. */
static void lets_in__all_ports__perhaps_by_a_part(void **state)
{
    struct arena *a = *state;
    struct azure_nsg g;
    struct azure_nsg_packet p = {.from_outside = true, .protocol = "All"};
    struct err err = ERR_INIT;
    assert_int_equal(azure_nsg_read(a, pure_json(a, "[" ALLOW(ALL, HERE, "\"80\"") "]"), &g, &err),
                     ERR_OK);
    assert_true(ip_parse("20.1.2.3", &p.to));
    struct azure_nsg in = azure_nsg_inbound(&g);
    assert_int_equal(azure_nsg_lets_in(&in, &p), AZURE_NSG_UNSURE);
}

UNIT_MAIN(nsg_open)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(lets_in__first_rule_that_fits_decides),
        PURE_TEST(lets_in__all_ports__perhaps_by_a_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
