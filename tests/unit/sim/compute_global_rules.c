/* SPDX-License-Identifier: Apache-2.0 */
/* compute_global_rules.c: global forwarding rules of the simulated Compute API: what they take and
 * hold.
 *
 * Source: compute v1 "globalForwardingRules", "globalAddresses". */
#include "tests/support/unit.h"
#include "tests/unit/sim/balancer_cloud.h"

#include <string.h>

#define FR      G "/forwardingRules"
#define PROXY   "\"target\":\"global/targetHttpProxies/web\""
#define RULE(m) "{\"name\":\"x\"," m "}"
#define AT(ip)  ",\"IPAddress\":\"" ip "\""
#define P80     ",\"portRange\":\"80\""

static const struct balancer_row refused[] = {
    {"no target", "POST", FR, RULE("\"portRange\":\"80\""), 400, "required", "resource.target"},
    {"a target pool", "POST", FR,
     RULE("\"target\":\"regions/us-central1/targetPools/tp\",\"portRange\":\"80\""), 400, "invalid",
     "must be a global proxy"},
    {"a proxy of a region", "POST", FR,
     RULE("\"target\":\"regions/us-central1/targetHttpProxies/web\",\"portRange\":\"80\""), 400,
     "invalid", "must be a global proxy"},
    {"a target that is no link", "POST", FR, RULE("\"target\":\"web\",\"portRange\":\"80\""), 400,
     "invalid", "malformed"},
    {"a backend service", "POST", FR, RULE(PROXY P80 "," SERVICE("ext")), 400, "invalid",
     "resource.backendService"},
    {"ports", "POST", FR, RULE(PROXY ",\"ports\":[\"80\"]"), 400, "invalid", "resource.ports"},
    {"no ports at all", "POST", FR, RULE(PROXY), 400, "required", "resource.portRange"},
    {"ports backwards", "POST", FR, RULE(PROXY ",\"portRange\":\"90-80\""), 400, "invalid",
     "portRange"},
    {"UDP", "POST", FR, RULE(PROXY P80 ",\"IPProtocol\":\"UDP\""), 400, "invalid", "IPProtocol"},
    {"Standard Tier", "POST", FR, RULE(PROXY P80 ",\"networkTier\":\"STANDARD\""), 400,
     "badRequest", "STANDARD network tier is not supported"},
    {"an address that nobody holds", "POST", FR, RULE(PROXY P80 AT("203.0.113.99")), 400, "invalid",
     "Invalid IP address specified."},
    {"an address of a region", "POST", FR, RULE(PROXY ",\"portRange\":\"81\"" AT("203.0.113.50")),
     400, "invalid", "Invalid IP address specified."},
    {"an address that is not there", "POST", FR,
     RULE(PROXY P80 ",\"IPAddress\":\"global/addresses/none\""), 400, "invalid",
     "The referenced address resource cannot be found."},
    {"a range that is peered", "POST", FR,
     RULE(PROXY P80 ",\"IPAddress\":\"global/addresses/peer\""), 400, "invalid",
     "Invalid IP address specified."},
    {"the ports of another rule", "POST", FR,
     RULE(PROXY ",\"portRange\":\"70-90\",\"IPAddress\":\"global/addresses/web\""), 400, "invalid",
     "Specified IP address is in-use and would result in a conflict."},
    {"a name that is taken", "POST", FR, "{\"name\":\"web\"," PROXY P80 "}", 409, "alreadyExists",
     NULL},
    {"a patch of the address", "PATCH", FR "/web", "{\"IPAddress\":\"203.0.113.1\"}", 400,
     "invalid", "cannot be changed"},
    {"a target of another kind", "POST", FR "/web/setTarget",
     "{\"target\":\"regions/us-central1/targetPools/tp\"}", 400, "invalid",
     "must be a global proxy"},
    {"a proxy for a rule of a region", "POST", R "/forwardingRules", RULE(PROXY P80), 400,
     "invalid", "resource.target"},
    {"none", "GET", FR "/none", NULL, 404, "notFound", NULL},
};

static const struct balancer_row taken[] = {
    {"an address of its own", "POST", FR, RULE(PROXY P80), 200, NULL, NULL},
    {"other ports of a reserved address", "POST", FR,
     RULE(PROXY ",\"portRange\":\"443\",\"IPAddress\":\"global/addresses/web\""), 200, NULL, NULL},
    {"the other scheme", "POST", FR,
     RULE(PROXY P80 ",\"loadBalancingScheme\":\"EXTERNAL_MANAGED\""), 200, NULL, NULL},
};

static struct fixture *start(void)
{
    struct fixture *f = balancer_cloud_start();
    balancer_cloud_fill(f);
    fixture_must(f, "POST", G "/addresses", "{\"name\":\"web\"}");
    fixture_must(f, "POST", G "/addresses",
                 "{\"name\":\"peer\",\"addressType\":\"INTERNAL\",\"purpose\":\"VPC_PEERING\","
                 "\"prefixLength\":16,\"network\":\"global/networks/default\"}");
    fixture_must(f, "POST", FR,
                 "{\"name\":\"web\"," PROXY P80 ",\"IPAddress\":\"global/addresses/web\"}");
    return f;
}

static void global_rules__outside_their_bounds__are_refused(void **state)
{
    (void)state;
    struct fixture *f = start();
    balancer_expect_refused(f, refused, ARRAY_LEN(refused));
    fixture_stop(f);
}

static void global_rules__within_their_bounds__are_taken(void **state)
{
    (void)state;
    struct fixture *f = start();
    balancer_expect_taken(f, taken, ARRAY_LEN(taken));
    fixture_stop(f);
}

static void global_rule__has_an_address__uses_it_until_it_goes(void **state)
{
    (void)state;
    struct fixture *f = start();
    fixture_must(f, "GET", G "/addresses/web", NULL);
    assert_string_equal(fixture_text(f, "status"), "IN_USE");
    assert_int_equal(json_len(json_member(f->answer, "users")), 1);
    const char *ip = arena_strdup(f->a, fixture_text(f, "address"));
    fixture_must(f, "GET", FR "/web", NULL);
    assert_string_equal(fixture_text(f, "IPAddress"), ip);
    assert_string_equal(fixture_text(f, "networkTier"), "PREMIUM");
    assert_string_equal(fixture_text(f, "selfLink"), COMPUTE_LINK "/global/forwardingRules/web");
    fixture_must(f, "POST", FR "/web/setTarget", "{\"target\":\"global/targetHttpProxies/two\"}");
    fixture_must(f, "GET", FR "/web", NULL);
    assert_string_equal(fixture_text(f, "target"), COMPUTE_LINK "/global/targetHttpProxies/two");
    fixture_must(f, "DELETE", FR "/web", NULL);
    fixture_must(f, "GET", G "/addresses/web", NULL);
    assert_string_equal(fixture_text(f, "status"), "RESERVED");
    fixture_stop(f);
}

/* Lists of a region do not show it, those of all scopes do, and no rule of a region
 * has its address. */
static void global_rule__is_there__is_listed_apart_from_those_of_regions(void **state)
{
    (void)state;
    struct fixture *f = start();
    fixture_must(f, "GET", FR, NULL);
    assert_int_equal(json_len(json_member(f->answer, "items")), 1);
    fixture_must(f, "GET", R "/forwardingRules", NULL);
    assert_int_equal(json_len(json_member(f->answer, "items")), 2); /* fr, fre */
    fixture_must(f, "GET", P "/aggregated/forwardingRules", NULL);
    struct json_object *items = json_member(f->answer, "items");
    assert_int_equal(json_len(json_path(json_member(items, "global"), "forwardingRules")), 1);
    assert_int_equal(
        json_len(json_path(json_member(items, "regions/us-central1"), "forwardingRules")), 2);
    fixture_must(f, "GET", FR "/web", NULL);
    const char *ip = arena_strdup(f->a, fixture_text(f, "IPAddress"));
    int status =
        fixture_call(f, "POST", R "/forwardingRules",
                     arena_printf(f->a,
                                  "{\"name\":\"x\"," SERVICE("ext") ",\"ports\":[\"81\"],"
                                                                    "\"IPAddress\":\"%s\"}",
                                  ip));
    fixture_expect(f, "a rule of a region", status, 400, "invalid");
    fixture_stop(f);
}

/* Source: openshift/installer issue 4380 (the words for an internal rule). */
static void global_rule__of_a_project_of_standard_tier__names_premium(void **state)
{
    (void)state;
    struct fixture *f = start();
    fixture_must(f, "PUT", "/sim/settings/gce", "{\"default_network_tier\":\"STANDARD\"}");
    int status = fixture_call(f, "POST", FR, RULE(PROXY P80));
    fixture_expect(f, "none named", status, 400, "badRequest");
    assert_non_null(strstr(fixture_text(f, "error.message"), "the project's default network tier"));
    fixture_must(f, "POST", FR, RULE(PROXY P80 ",\"networkTier\":\"PREMIUM\""));
    fixture_stop(f);
}

UNIT_MAIN(compute_global_rules)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(global_rules__outside_their_bounds__are_refused),
        cmocka_unit_test(global_rules__within_their_bounds__are_taken),
        cmocka_unit_test(global_rule__has_an_address__uses_it_until_it_goes),
        cmocka_unit_test(global_rule__is_there__is_listed_apart_from_those_of_regions),
        cmocka_unit_test(global_rule__of_a_project_of_standard_tier__names_premium),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
