/* SPDX-License-Identifier: Apache-2.0 */
/* compute_settings.c: PUT /sim/settings/gce: quotas, tiers and policies of the simulated project
 * while clients continue; and what a network of custom subnet mode asks for.  Source: compute v1
 * "projects", "forwardingRules". */
#include "tests/support/unit.h"
#include "tests/unit/sim/balancer_cloud.h"

#include <string.h>

#define ADDRESS  "{\"name\":\"x\"}"
#define STANDARD "{\"name\":\"x\",\"networkTier\":\"STANDARD\"}"
#define RULE                                                                                       \
    "{\"name\":\"x\",\"loadBalancingScheme\":\"INTERNAL\"," SERVICE("int") ",\"ports\":[\"81\"]"
#define PUBLIC "{\"name\":\"x\"," SERVICE("ext") ",\"ports\":[\"81\"]"

/* Each row: a setting, and a request with its answer; what it makes is deleted again. */
static const struct {
    const char *settings, *path, *body;
    int status;
    const char *reason, *text, *tier; /* `tier`: of what was made */
} rows[] = {
    {"{}", R "/addresses", ADDRESS, 200, NULL, NULL, "PREMIUM"},
    {"{\"default_network_tier\":\"STANDARD\"}", R "/addresses", ADDRESS, 200, NULL, NULL,
     "STANDARD"},
    {"{\"default_network_tier\":\"STANDARD\"}", R "/addresses",
     "{\"name\":\"x\",\"addressType\":\"INTERNAL\"}", 200, NULL, NULL, "PREMIUM"},
    {"{\"default_network_tier\":\"STANDARD\"}", R "/forwardingRules", PUBLIC "}", 200, NULL, NULL,
     "STANDARD"},
    {"{\"default_network_tier\":\"STANDARD\"}", R "/forwardingRules", RULE "}", 200, NULL, NULL,
     "PREMIUM"},
    {"{\"premium_only\":[\"us-central1\"]}", R "/addresses", STANDARD, 400, "invalid",
     "not supported for region us-central1", NULL},
    {"{\"premium_only\":[\"us-central1\"]}", R "/forwardingRules",
     PUBLIC ",\"networkTier\":\"STANDARD\"}", 400, "invalid", "not supported for region", NULL},
    {"{\"premium_only\":[\"europe-west1\"]}", R "/addresses", STANDARD, 200, NULL, NULL,
     "STANDARD"},
    {"{\"quotas\":{\"STATIC_ADDRESSES\":0}}", R "/addresses", ADDRESS, 403, "quotaExceeded",
     "STATIC_ADDRESSES", NULL},
    {"{\"denied_load_balancers\":[\"EXTERNAL_NETWORK_TCP_UDP\"]}", R "/forwardingRules", PUBLIC "}",
     412, "conditionNotMet", "of type EXTERNAL_NETWORK_TCP_UDP is not allowed", NULL},
    {"{\"denied_load_balancers\":[\"EXTERNAL_NETWORK_TCP_UDP\"]}", R "/forwardingRules", RULE "}",
     200, NULL, NULL, "PREMIUM"},
    {"{\"denied_load_balancers\":[\"INTERNAL_TCP_UDP\"]}", R "/forwardingRules", RULE "}", 412,
     "conditionNotMet", "constraints/compute.restrictLoadBalancerCreationForTypes", NULL},
};

static void settings__are_in_force_at_once(void **state)
{
    (void)state;
    struct fixture *f = balancer_cloud_start();
    balancer_cloud_fill(f);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        fixture_must(f, "PUT", "/sim/settings/gce", rows[i].settings);
        int status = fixture_call(f, "POST", rows[i].path, rows[i].body);
        fixture_expect(f, rows[i].settings, status, rows[i].status, rows[i].reason);
        if (rows[i].text != NULL) {
            assert_non_null(strstr(fixture_text(f, "error.message"), rows[i].text));
            continue;
        }
        const char *made = arena_printf(f->a, "%s/x", rows[i].path);
        fixture_must(f, "GET", made, NULL);
        assert_string_equal(fixture_text(f, "networkTier"), rows[i].tier);
        fixture_must(f, "DELETE", made, NULL);
    }
    fixture_must(f, "PUT", "/sim/settings/gce", "{\"default_network_tier\":\"STANDARD\"}");
    fixture_must(f, "GET", P, NULL);
    assert_string_equal(fixture_text(f, "defaultNetworkTier"), "STANDARD");
    fixture_must(f, "GET", "/sim/settings/gce", NULL);
    assert_string_equal(fixture_text(f, "default_network_tier"), "STANDARD");
    fixture_stop(f);
}

static void settings__wrong__are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *body, *want;
    } bad[] = {{"{\"quota\":{}}", "gce has no setting \"quota\""},
               {"{\"quotas\":3}", "setting \"quotas\" of gce cannot be 3"},
               {"{\"default_network_tier\":\"GOLD\"}", "cannot be \"GOLD\""},
               {"{\"quotas\":{\"FIREWALL\":1}}", "\"quotas\" has no \"FIREWALL\""},
               {"{\"quotas\":{\"FIREWALLS\":-1}}", "\"FIREWALLS\" cannot be -1"},
               {"{\"quotas\":{\"FIREWALLS\":\"1\"}}", "\"FIREWALLS\" cannot be \"1\""},
               {"{\"throttle\":{\"per_second\":1}}", "\"throttle\" has no \"per_second\""},
               {"{\"premium_only\":[1]}", "an item cannot be 1"},
               {"{\"denied_load_balancers\":[\"EXTERNAL\"]}", "an item cannot be \"EXTERNAL\""}};
    struct fixture *f = fixture_start(NULL);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_int_equal(fixture_call(f, "PUT", "/sim/settings/gce", bad[i].body), 400);
        assert_non_null(strstr(f->text, str_replace(f->a, bad[i].want, "\"", "\\\"")));
        const char *world = arena_printf(f->a, "{\"sim\":{\"gce\":%s}}", bad[i].body);
        assert_int_equal(fixture_call(f, "PUT", "/sim/state", world), 400);
    }
    fixture_stop(f);
}

/* The cloud cannot choose among subnetworks that people made. */
/* Groups are counted apart, those of a region from the global ones.  The clock may turn to another
 * minute in between, but not twice: of nine requests in two minutes three are over the
 * limit at least. */
static void throttle__too_many_of_a_group__are_refused(void **state)
{
    (void)state;
    struct fixture *f = balancer_cloud_start();
    balancer_cloud_fill(f);
    fixture_must(f, "PUT", "/sim/settings/gce", "{\"throttle\":{\"per_minute\":3}}");
    int refused = 0;
    for (int i = 0; i < 9; i++) {
        int status = fixture_call(f, "GET", R "/forwardingRules", NULL);
        if (status == 403) {
            fixture_expect(f, "a list too many", status, 403, "rateLimitExceeded");
            refused++;
        }
    }
    assert_in_range(refused, 3, 6);
    fixture_must(f, "GET", G "/forwardingRules", NULL);
    fixture_must(f, "GET", R "/backendServices/ext", NULL);
    fixture_must(f, "PUT", "/sim/settings/gce", "{}");
    fixture_must(f, "GET", R "/forwardingRules", NULL);
    fixture_stop(f);
}

static void custom_mode__a_rule_needs_a_subnetwork(void **state)
{
    (void)state;
    static const char network[] = "projects/trimtab-sim/global/networks/default";
    struct fixture *f = balancer_cloud_start();
    balancer_cloud_fill(f);
    fixture_must(f, "GET", "/sim/state", NULL);
    struct json_object *world = json_object_get(f->answer);
    struct json_object *own = json_member(json_member(world, "gce"), network);
    json_add_bool(own, "autoCreateSubnetworks", false);
    fixture_must(f, "PUT", "/sim/state", json_text(f->a, world, JSON_COMPACT));
    json_object_put(world);
    int status = fixture_call(f, "POST", R "/forwardingRules", RULE "," NETWORK("default") "}");
    fixture_expect(f, "without", status, 400, "invalid");
    assert_non_null(strstr(fixture_text(f, "error.message"), "'resource.subnetwork'"));
    fixture_must(f, "POST", R "/forwardingRules",
                 RULE "," NETWORK("default") "," SUBNET("default") "}");
    fixture_stop(f);
}

UNIT_MAIN(compute_settings)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings__are_in_force_at_once),
        cmocka_unit_test(settings__wrong__are_refused),
        cmocka_unit_test(throttle__too_many_of_a_group__are_refused),
        cmocka_unit_test(custom_mode__a_rule_needs_a_subnetwork),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
