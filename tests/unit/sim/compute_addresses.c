/* SPDX-License-Identifier: Apache-2.0 */
/* compute_addresses.c: the life of addresses: reserve, use, promote, demote, tiers, strict
 * deletion.
 *
 * Source: gce-cloud-provider.md §4.4, §16. */
#include "tests/support/unit.h"
#include "tests/unit/sim/fixture.h"

#include <string.h>

#define POOL_RULE(name, more)                                                                      \
    "{\"name\":\"" name "\",\"target\":\"regions/us-central1/targetPools/tp\"" more "}"

static void address__ephemeral_of_a_rule__is_promoted_and_demoted(void **state)
{
    (void)state;
    struct fixture *f = fixture_start(&(struct sim_config){.nodes = 1});
    fixture_must(f, "POST", R "/targetPools", "{\"name\":\"tp\"}");
    fixture_must(f, "POST", R "/forwardingRules", POOL_RULE("fr", ",\"portRange\":\"80\""));
    fixture_must(f, "GET", R "/forwardingRules/fr", NULL);
    const char *ip = arena_strdup(f->a, fixture_text(f, "IPAddress"));
    assert_string_not_equal(ip, "");
    const char *body = arena_printf(f->a, "{\"name\":\"held\",\"address\":\"%s\"}", ip);
    fixture_must(f, "POST", R "/addresses", body);
    fixture_must(f, "GET", R "/addresses/held", NULL);
    assert_string_equal(fixture_text(f, "status"), "IN_USE");
    assert_int_equal(json_len(json_member(f->answer, "users")), 1);
    /* The rule goes and comes back on the held address. */
    fixture_must(f, "DELETE", R "/forwardingRules/fr", NULL);
    fixture_must(f, "GET", R "/addresses/held", NULL);
    assert_string_equal(fixture_text(f, "status"), "RESERVED");
    fixture_must(f, "POST", R "/forwardingRules",
                 arena_printf(f->a, POOL_RULE("fr", ",\"IPAddress\":\"%s\""), ip));
    /* Giving the reservation back leaves the rule with its address. */
    fixture_must(f, "DELETE", R "/addresses/held", NULL);
    fixture_must(f, "GET", R "/forwardingRules/fr", NULL);
    assert_string_equal(fixture_text(f, "IPAddress"), ip);
    fixture_stop(f);
}

static void address__of_several_rules__is_promoted_with_all_of_them(void **state)
{
    (void)state;
    static const char *const zones[] = {"us-central1-a", "europe-west1-b"};
    struct fixture *f =
        fixture_start(&(struct sim_config){.zones = zones, .n_zones = ARRAY_LEN(zones)});
    fixture_must(f, "POST", R "/targetPools", "{\"name\":\"tp\"}");
    fixture_must(f, "POST", R "/forwardingRules", POOL_RULE("fr", ",\"portRange\":\"80\""));
    fixture_must(f, "GET", R "/forwardingRules/fr", NULL);
    const char *ip = arena_strdup(f->a, fixture_text(f, "IPAddress"));
    fixture_must(
        f, "POST", R "/forwardingRules",
        arena_printf(f->a, POOL_RULE("fr2", ",\"portRange\":\"81\",\"IPAddress\":\"%s\""), ip));
    const char *body = arena_printf(f->a, "{\"name\":\"held\",\"address\":\"%s\"}", ip);
    int status = fixture_call(f, "POST", P "/regions/europe-west1/addresses", body);
    fixture_expect(f, "from another region", status, 400, "invalid");
    fixture_must(f, "POST", R "/addresses", body);
    fixture_must(f, "GET", R "/addresses/held", NULL);
    assert_string_equal(fixture_text(f, "status"), "IN_USE");
    assert_int_equal(json_len(json_member(f->answer, "users")), 2);
    fixture_stop(f);
}

static void address__ipv6_in_any_spelling__is_one_address(void **state)
{
    (void)state;
    static const char *const spellings[] = {
        "2600:1900:4000:77::/96", "2600:1900:4000:77:0:0:0:0/96", "2600:1900:4000:0077::/96"};
    static const char rule[] = "{\"name\":\"%s\",\"IPAddress\":\"%s\",\"ports\":[\"80\"],"
                               "\"subnetwork\":\"regions/us-central1/subnetworks/default\","
                               "\"backendService\":\"regions/us-central1/backendServices/bs\"}";
    struct fixture *f = fixture_start(&(struct sim_config){.nodes = 1, .ipv6 = true});
    fixture_must(f, "POST", R "/healthChecks", "{\"name\":\"hc\",\"type\":\"TCP\"}");
    fixture_must(f, "POST", R "/backendServices",
                 "{\"name\":\"bs\",\"healthChecks\":[\"regions/us-central1/healthChecks/hc\"]}");
    fixture_must(f, "POST", R "/forwardingRules",
                 arena_printf(f->a, rule, "fr", "2600:1900:4000:77:0:0:0:0/96"));
    for (size_t i = 0; i < ARRAY_LEN(spellings); i++) {
        int status = fixture_call(f, "POST", R "/forwardingRules",
                                  arena_printf(f->a, rule, "x", spellings[i]));
        fixture_expect(f, spellings[i], status, 400, "invalidUsage");
        assert_non_null(strstr(fixture_text(f, "error.message"), "rule: fr'."));
    }
    fixture_stop(f);
}

static void address__lost__is_not_handed_out_again_at_once(void **state)
{
    (void)state;
    struct fixture *f = fixture_start(&(struct sim_config){.nodes = 1});
    fixture_must(f, "POST", R "/addresses", "{\"name\":\"a\"}");
    fixture_must(f, "GET", R "/addresses/a", NULL);
    const char *first = arena_strdup(f->a, fixture_text(f, "address"));
    fixture_must(f, "DELETE", R "/addresses/a", NULL);
    fixture_must(f, "POST", R "/addresses", "{\"name\":\"a\"}");
    fixture_must(f, "GET", R "/addresses/a", NULL);
    assert_string_not_equal(fixture_text(f, "address"), first);
    fixture_stop(f);
}

static void address__strict_mode__deletion_in_use_is_refused(void **state)
{
    (void)state;
    struct fixture *f =
        fixture_start(&(struct sim_config){.nodes = 6, .strict_address_delete = true});
    fixture_make_external(f);
    int status = fixture_call(f, "DELETE", R "/addresses/ip", NULL);
    fixture_expect(f, "in use", status, 400, "resourceInUseByAnotherResource");
    fixture_must(f, "DELETE", R "/forwardingRules/fr", NULL);
    fixture_must(f, "DELETE", R "/addresses/ip", NULL);
    fixture_stop(f);
}

static void address__tiers__have_ranges_of_their_own(void **state)
{
    (void)state;
    struct fixture *f = fixture_start(&(struct sim_config){.nodes = 1});
    fixture_must(f, "POST", R "/targetPools", "{\"name\":\"tp\"}");
    fixture_must(f, "POST", R "/forwardingRules",
                 POOL_RULE("std", ",\"networkTier\":\"STANDARD\""));
    fixture_must(f, "GET", R "/forwardingRules/std", NULL);
    const char *ip = arena_strdup(f->a, fixture_text(f, "IPAddress"));
    assert_true(str_has_prefix(ip, "198.51.100."));
    int status = fixture_call(f, "POST", R "/addresses",
                              arena_printf(f->a, "{\"name\":\"a\",\"address\":\"%s\"}", ip));
    fixture_expect(f, "promotion to the other tier", status, 400, "invalid");
    fixture_must(
        f, "POST", R "/addresses",
        arena_printf(f->a, "{\"name\":\"a\",\"networkTier\":\"STANDARD\",\"address\":\"%s\"}", ip));
    fixture_stop(f);
}

static void address__rules_with_other_ports_or_protocol__share_it(void **state)
{
    (void)state;
    struct fixture *f = fixture_start(&(struct sim_config){.nodes = 6});
    fixture_make_external(f);
    fixture_must(f, "POST", R "/forwardingRules",
                 POOL_RULE("ports", ",\"IPAddress\":\"203.0.113.77\",\"portRange\":\"91-99\""));
    fixture_must(f, "POST", R "/forwardingRules",
                 POOL_RULE("udp", ",\"IPAddress\":\"203.0.113.77\",\"portRange\":\"80-90\","
                                  "\"IPProtocol\":\"UDP\""));
    fixture_must(f, "GET", R "/addresses/ip", NULL);
    assert_int_equal(json_len(json_member(f->answer, "users")), 3);
    fixture_stop(f);
}

static void address__named_in_a_rule__becomes_its_literal(void **state)
{
    (void)state;
    struct fixture *f = fixture_start(&(struct sim_config){.nodes = 1});
    fixture_must(f, "POST", R "/targetPools", "{\"name\":\"tp\"}");
    fixture_must(f, "POST", R "/addresses", "{\"name\":\"a\",\"address\":\"203.0.113.44\"}");
    fixture_must(f, "POST", R "/forwardingRules",
                 POOL_RULE("fr", ",\"IPAddress\":\"regions/us-central1/addresses/a\""));
    fixture_must(f, "GET", R "/forwardingRules/fr", NULL);
    assert_string_equal(fixture_text(f, "IPAddress"), "203.0.113.44");
    fixture_stop(f);
}

static void address__internal__comes_from_the_subnetwork(void **state)
{
    (void)state;
    struct fixture *f = fixture_start(&(struct sim_config){.nodes = 1});
    fixture_must(f, "POST", R "/addresses", "{\"name\":\"a\",\"addressType\":\"INTERNAL\"}");
    fixture_must(f, "GET", R "/addresses/a", NULL);
    assert_true(str_has_prefix(fixture_text(f, "address"), "10.128.8."));
    assert_string_equal(fixture_text(f, "networkTier"), "PREMIUM");
    assert_string_equal(fixture_text(f, "subnetwork"),
                        COMPUTE_LINK "/regions/us-central1/subnetworks/default");
    fixture_stop(f);
}

static void address__internal__serves_rules_of_its_subnetwork_only(void **state)
{
    (void)state;
    static const char text[] = "{\"gce\":{"
                               "\"projects/trimtab-sim/regions/us-central1/subnetworks/default\":"
                               "{\"name\":\"default\",\"ipCidrRange\":\"10.128.0.0/20\"},"
                               "\"projects/trimtab-sim/regions/us-central1/subnetworks/other\":"
                               "{\"name\":\"other\",\"ipCidrRange\":\"10.64.0.0/20\"}}}";
    static const char rule[] =
        "{\"name\":\"%s\",\"loadBalancingScheme\":\"INTERNAL\",\"ports\":[\"80\"],"
        "\"IPAddress\":\"regions/us-central1/addresses/a\","
        "\"backendService\":\"regions/us-central1/backendServices/bs\","
        "\"subnetwork\":\"regions/us-central1/subnetworks/%s\"}";
    struct json_object *world = json_tokener_parse(text);
    struct fixture *f = fixture_start(&(struct sim_config){.world = world});
    fixture_must(f, "POST", G "/healthChecks", "{\"name\":\"hc\",\"type\":\"TCP\"}");
    fixture_must(f, "POST", R "/backendServices",
                 "{\"name\":\"bs\",\"loadBalancingScheme\":\"INTERNAL\","
                 "\"healthChecks\":[\"global/healthChecks/hc\"]}");
    fixture_must(f, "POST", R "/addresses",
                 "{\"name\":\"a\",\"addressType\":\"INTERNAL\","
                 "\"subnetwork\":\"regions/us-central1/subnetworks/other\"}");
    int status =
        fixture_call(f, "POST", R "/forwardingRules", arena_printf(f->a, rule, "x", "default"));
    fixture_expect(f, "the other subnetwork", status, 400, "invalid");
    fixture_must(f, "POST", R "/forwardingRules", arena_printf(f->a, rule, "x", "other"));
    fixture_stop(f);
    json_object_put(world);
}

/* In Google's words, and with its status: no fault of the request's text. */
static void address__internal__of_a_full_subnetwork__is_refused(void **state)
{
    (void)state;
    static const char text[] = "{\"gce\":{"
                               "\"projects/trimtab-sim/regions/us-central1/subnetworks/small\":"
                               "{\"name\":\"small\",\"ipCidrRange\":\"10.64.0.0/29\"}}}";
    struct json_object *world = json_tokener_parse(text);
    struct fixture *f = fixture_start(&(struct sim_config){.world = world});
    int status = 200;
    for (int i = 0; i < 8 && status == 200; i++) {
        status = fixture_call(f, "POST", R "/addresses",
                              arena_printf(f->a,
                                           "{\"name\":\"a%d\",\"addressType\":\"INTERNAL\","
                                           "\"subnetwork\":"
                                           "\"regions/us-central1/subnetworks/small\"}",
                                           i));
    }
    fixture_expect(f, "one too many", status, 400, "IP_SPACE_EXHAUSTED");
    fixture_stop(f);
    json_object_put(world);
}

/* Source: compute v1 globalAddresses; Google's words: ingress-gce issue 1057,
 * terraform issue 19231. */
static void address__global__is_reserved_and_listed_and_no_rule_of_a_region_has_it(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        int status;
    } rows[] = {
        {"{\"name\":\"web\"}", 200},
        {"{\"name\":\"web\"}", 409},
        {"{\"name\":\"peer\",\"addressType\":\"INTERNAL\",\"purpose\":\"VPC_PEERING\","
         "\"prefixLength\":16,\"network\":\"global/networks/default\"}",
         200},
        {"{\"name\":\"in\",\"addressType\":\"INTERNAL\"}", 400},
        {"{\"name\":\"out\",\"purpose\":\"VPC_PEERING\"}", 400},
        {"{\"name\":\"std\",\"networkTier\":\"STANDARD\"}", 400},
        {"{\"name\":\"chosen\",\"address\":\"203.0.113.77\"}", 400},
        {"{\"name\":\"six\",\"ipVersion\":\"IPV6\"}", 400},
    };
    struct fixture *f = fixture_start(&(struct sim_config){.nodes = 1});
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int status = fixture_call(f, "POST", P "/global/addresses", rows[i].body);
        if (status != rows[i].status) {
            fail_msg("%s: %d, want %d", rows[i].body, status, rows[i].status);
        }
    }
    fixture_must(f, "GET", P "/global/addresses", NULL);
    assert_int_equal(json_len(json_member(f->answer, "items")), 2);
    fixture_must(f, "GET", P "/global/addresses/web", NULL);
    assert_string_equal(fixture_text(f, "status"), "RESERVED");
    const char *ip = arena_strdup(f->a, fixture_text(f, "address"));
    fixture_must(f, "GET", R "/addresses", NULL);
    assert_int_equal(json_len(json_member(f->answer, "items")), 0);
    fixture_must(f, "POST", R "/targetPools", "{\"name\":\"tp\"}");
    int status = fixture_call(f, "POST", R "/forwardingRules",
                              arena_printf(f->a, POOL_RULE("fr", ",\"IPAddress\":\"%s\""), ip));
    fixture_expect(f, "a rule of a region", status, 400, "invalid");
    assert_string_equal(json_str(json_member(f->answer, "error"), "message"),
                        arena_printf(f->a,
                                     "Invalid value for field 'resource.IPAddress': '%s'. Invalid "
                                     "IP address specified.",
                                     ip));
    fixture_must(f, "DELETE", P "/global/addresses/web", NULL);
    status = fixture_call(f, "GET", P "/global/addresses/web", NULL);
    fixture_expect(f, "gone", status, 404, "notFound");
    fixture_stop(f);
}

UNIT_MAIN(compute_addresses)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(address__global__is_reserved_and_listed_and_no_rule_of_a_region_has_it),
        cmocka_unit_test(address__ephemeral_of_a_rule__is_promoted_and_demoted),
        cmocka_unit_test(address__of_several_rules__is_promoted_with_all_of_them),
        cmocka_unit_test(address__ipv6_in_any_spelling__is_one_address),
        cmocka_unit_test(address__lost__is_not_handed_out_again_at_once),
        cmocka_unit_test(address__strict_mode__deletion_in_use_is_refused),
        cmocka_unit_test(address__tiers__have_ranges_of_their_own),
        cmocka_unit_test(address__rules_with_other_ports_or_protocol__share_it),
        cmocka_unit_test(address__named_in_a_rule__becomes_its_literal),
        cmocka_unit_test(address__internal__comes_from_the_subnetwork),
        cmocka_unit_test(address__internal__serves_rules_of_its_subnetwork_only),
        cmocka_unit_test(address__internal__of_a_full_subnetwork__is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
