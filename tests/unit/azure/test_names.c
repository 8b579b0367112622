/* SPDX-License-Identifier: Apache-2.0 */
/* test_names.c: names and IDs; rows N-01 to N-23 of the Azure specification. */
#include "tests/unit/azure/azure_test.h"

#include "providers/azure/lb/azure_select_rules.h"
#include "tests/support/unit.h"

#define UID  "257b9655-5137-4ad2-b091-ef3f07043ad3"
#define BASE "a257b965551374ad2b091ef3f07043ad"
#define LONG "averylonnnngggnnnnnnnnnnnnnnnnnnnnnngggggggggggggggggggggggggggggggggggggsubet"
#define TEN  "----------"

enum what { RULE, FRONTEND };

static void rules_and_frontends__N_02_to_N_12(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row;
        enum what what;
        bool internal, dual;
        const char *subnet;
        enum azure_family family;
        const char *want;
    } rows[] = {
        {"N-02", RULE, true, true, "shortsubnet", AZURE_IPV4, BASE "-shortsubnet-TCP-9000"},
        {"N-03", RULE, true, true, "shortsubnet", AZURE_IPV6, BASE "-shortsubnet-TCP-9000-IPv6"},
        {"N-04", RULE, true, true, LONG, AZURE_IPV4,
         BASE "-averylonnnngggnnnnnnnnnnnnnnnnnnn-TCP-9000"},
        {"N-05", RULE, true, true, LONG, AZURE_IPV6,
         BASE "-averylonnnngggnnnnnnnnnnnnnnnnnnn-TCP-9000-IPv6"},
        {"N-06", RULE, false, false, "shortsubnet", AZURE_IPV4, BASE "-TCP-9000"},
        {"N-07", RULE, false, true, "", AZURE_IPV6, BASE "-TCP-9000-IPv6"},
        {"6.2", RULE, false, false, "", AZURE_IPV6, BASE "-TCP-9000"},
        {"18.8", RULE, true, false, " shortsubnet ", AZURE_IPV4, BASE "-shortsubnet-TCP-9000"},
        {"N-08", FRONTEND, true, false, "shortsubnet", AZURE_IPV4, BASE "-shortsubnet"},
        {"N-09", FRONTEND, true, false, "a" TEN TEN TEN TEN TEN "z", AZURE_IPV4,
         BASE "-a" TEN TEN TEN TEN "_"},
        {"N-10", FRONTEND, true, false, LONG, AZURE_IPV4,
         BASE "-averylonnnngggnnnnnnnnnnnnnnnnnnnnnngggggg"},
        {"N-11", FRONTEND, false, false, "shortsubnet", AZURE_IPV4, BASE},
        {"N-12", FRONTEND, true, true, "shortsubnet", AZURE_IPV6, BASE "-shortsubnet-IPv6"},
        {"6.3", FRONTEND, true, false, "  ", AZURE_IPV4, BASE},
        {"6.3", FRONTEND, true, false,
         "0123456789012345678901234567890123456789012345678901234567890123", AZURE_IPV4,
         BASE "-01234567890123456789012345678901234567890_"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct tt_service *s =
            azure_test_service(a, UID,
                               arena_printf(a,
                                            "{\"azure-load-balancer-internal\":\"%s\","
                                            "\"azure-load-balancer-internal-subnet\":\"%s\"}",
                                            rows[i].internal ? "true" : "false", rows[i].subnet),
                               rows[i].dual ? "\"ipFamilies\":[\"IPv4\",\"IPv6\"]" : NULL);
        const char *got = rows[i].what == RULE ? azure_rule_name(a, s, "TCP", 9000, rows[i].family)
                                               : azure_frontend_name(a, s, rows[i].family);
        same_text("N-01", azure_base_name(a, s), BASE);
        same_text(rows[i].row, got, rows[i].want);
        assert_true(strlen(got) <= (rows[i].family == AZURE_IPV6 && rows[i].dual ? 80u : 75u));
    }
}

#define A49 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static void public_ips__N_13_to_N_17(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *families, *annotations;
        enum azure_family family;
        const char *want;
    } rows[] = {
        {"N-13", "\"IPv4\"", "{}", AZURE_IPV4, "azure-auid"},
        {"N-14", "\"IPv4\"", "{\"azure-pip-prefix-id\":\"prefix-id\"}", AZURE_IPV4,
         "azure-auid-prefix-id"},
        {"8.2", "\"IPv4\"", "{\"azure-pip-prefix-id\":\"/subscriptions/s/publicIPPrefixes/p1\"}",
         AZURE_IPV4, "azure-auid-p1"},
        {"8.2", "\"IPv4\"", "{\"azure-pip-prefix-id\":\"/trailing/\"}", AZURE_IPV4, "azure-auid"},
        {"N-15", "\"IPv4\",\"IPv6\"",
         "{\"azure-pip-prefix-id-ipv6\":\"prefix-id-ipv6-" A49 "aaaaaaaaaaaaa\"}", AZURE_IPV6,
         "azure-auid-prefix-id-ipv6-" A49 "-IPv6"},
        {"N-16", "\"IPv6\"", "{}", AZURE_IPV6, "azure-auid"},
        {"N-17", "\"IPv4\",\"IPv6\"", "{}", AZURE_IPV6, "azure-auid-IPv6"},
    };
    struct azure_config c = azure_test_config();
    c.lb_name = "mylb"; /* is the prefix of names of load balancers only */
    const struct azure_naming n = {.config = &c, .cluster = "azure"};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct tt_service *s =
            azure_test_service(a, "uid", rows[i].annotations,
                               arena_printf(a, "\"ipFamilies\":[%s]", rows[i].families));
        same_text(rows[i].row, azure_pip_name(a, &n, s, rows[i].family), rows[i].want);
    }
}

static void pools__N_18_to_N_20_and_N_23(void **state)
{
    struct arena *a = *state;
    const struct azure_config c = azure_test_config();
    const struct azure_naming n = {.config = &c, .cluster = "azure"};
    same_text("N-18", azure_pool_name(a, &n, AZURE_IPV4), "azure");
    same_text("N-18", azure_pool_name(a, &n, AZURE_IPV6), "azure-IPv6");
    assert_true(azure_pool_is_ipv6("bp-IPv6")); /* N-19 */
    assert_true(azure_pool_is_ipv6("bp-ipv6"));
    assert_false(azure_pool_is_ipv6("bp-IPv4")); /* N-20 */
    assert_false(azure_pool_is_ipv6("bp"));
    const struct tt_service s = {.ns = "ns1", .name = "Svc"};
    same_text("N-23", azure_local_pool_name(a, &s, AZURE_IPV4), "ns1-svc");
    same_text("N-23", azure_local_pool_name(a, &s, AZURE_IPV6), "ns1-svc-ipv6");
}

static void balancers__N_21_N_22(void **state)
{
    struct arena *a = *state;
    const struct azure_config c = azure_test_config();
    const struct azure_naming n = {.config = &c, .cluster = "azure"};
    same_text("N-21", azure_lb_vm_set(a, &n, "azure"), "vmss");
    same_text("N-21", azure_lb_vm_set(a, &n, "Azure-Internal"), "vmss");
    same_text("N-22", azure_lb_vm_set(a, &n, "azuretest-internal"), "azuretest");
    same_text("5.1", azure_vm_set_lb(&n, "vmss"), "azure");
    same_text("5.1", azure_vm_set_lb(&n, "VMSS"), "VMSS"); /* exact */
    assert_true(azure_lb_is_internal("x-INTERNAL"));
    assert_false(azure_lb_is_internal("x-internal-y"));
    same_text("5.1", azure_lb_base(a, "Lb1-Internal"), "Lb1");
    same_text("5.1", azure_lb_base(a, "internal"), "internal");
}

static void ids__name_the_network_subscription_and_the_group_of_balancers(void **state)
{
    struct arena *a = *state;
    struct azure_config c = azure_test_config();
    c.network_subscription_id = "net";
    c.lb_resource_group = "lbrg";
    const struct azure_naming n = {.config = &c, .cluster = "azure"};
#define NETWORK(rg) "/subscriptions/net/resourceGroups/" rg "/providers/Microsoft.Network/"
    same_text("6.3", azure_frontend_id(a, &n, "lb", "f"),
              NETWORK("lbrg") "loadBalancers/lb/frontendIPConfigurations/f");
    same_text("6.4", azure_pool_id(a, &n, "lb", "p"),
              NETWORK("lbrg") "loadBalancers/lb/backendAddressPools/p");
    same_text("6.6", azure_probe_id(a, &n, "lb", "p"), NETWORK("lbrg") "loadBalancers/lb/probes/p");
    same_text("8.2", azure_pip_id(a, &n, "g", "p"), NETWORK("g") "publicIPAddresses/p");
    same_text("6.3", azure_subnet_id(a, &n, "s"), NETWORK("rg") "virtualNetworks/vnet/subnets/s");
    same_text("7.6", azure_vnet_id(a, &n), NETWORK("rg") "virtualNetworks/vnet");
}

static void ids__are_read_without_case(void **state)
{
    struct arena *a = *state;
    static const char id[] = "/SUBSCRIPTIONS/s/resourcegroups/RG/providers/Microsoft.Network/"
                             "LoadBalancers/lb1/backendAddressPools/p";
    same_text("group", azure_id_group(a, id), "RG");
    same_text("part", azure_id_part(a, id, "loadBalancers"), "lb1");
    same_text("last", azure_id_last(id), "p");
    same_text("last", azure_id_last(NULL), "");
    same_text("absent", azure_id_part(a, id, "virtualMachines"), NULL);
    same_text("nothing behind it", azure_id_part(a, "/resourceGroups", "resourceGroups"), NULL);
    same_text("nothing behind it", azure_id_part(a, "/resourceGroups//x", "resourceGroups"), NULL);
    same_text("no ID", azure_id_part(a, "", "resourceGroups"), NULL);
    same_text("no ID", azure_id_part(a, NULL, "resourceGroups"), NULL);
    assert_true(azure_id_eq(id, "/subscriptions/S/resourceGroups/rg/providers/microsoft.network/"
                                "loadBalancers/LB1/backendAddressPools/P"));
    assert_false(azure_id_eq(NULL, NULL));
    assert_false(azure_id_eq(id, NULL));
    assert_true(azure_eq(NULL, NULL));
    assert_false(azure_has_prefix(NULL, ""));
    assert_true(azure_has_prefix("Standard_B", "standard"));
    assert_false(azure_has_suffix("6", "-ipv6"));
}

UNIT_MAIN(names)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(rules_and_frontends__N_02_to_N_12),
        PURE_TEST(public_ips__N_13_to_N_17),
        PURE_TEST(pools__N_18_to_N_20_and_N_23),
        PURE_TEST(balancers__N_21_N_22),
        PURE_TEST(ids__name_the_network_subscription_and_the_group_of_balancers),
        PURE_TEST(ids__are_read_without_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
