/* SPDX-License-Identifier: Apache-2.0 */
/* test_cloud_rows.c: addresses and tiers (§9.7), firewalls and Shared VPC (§9.9), error
 * propagation (§9.14) of the GCE specification, against the simulator. */
#include "tests/support/unit.h"
#include "tests/unit/gce/rig.h"

#include <string.h>

#define STANDARD "{\"metadata\":{\"annotations\":{\"cloud.google.com/network-tier\":\"Standard\"}}}"
#define PREMIUM  "{\"metadata\":{\"annotations\":{\"cloud.google.com/network-tier\":\"Premium\"}}}"
#define NO_TIER  "{\"metadata\":{\"annotations\":{\"cloud.google.com/network-tier\":null}}}"
#define REGION   "regions/us-central1/"

static const char *rule_member(struct rig *r, const char *member)
{
    struct json_object *rule =
        rig_resource(r, arena_printf(rig_arena(r), "forwardingRules/%s", rig_lb_name(r, "web")));
    return arena_strdup(rig_arena(r), str_nonnull(json_str(rule, member)));
}

static struct json_object *firewall(struct rig *r, const char *format)
{
    return rig_resource(r, str_replace(rig_arena(r), format, "LB", rig_lb_name(r, "web")));
}

static bool has_address(struct rig *r, const char *name)
{
    return rig_resource(r, arena_printf(rig_arena(r), "addresses/%s", name)) != NULL;
}

static void ok(struct rig *r)
{
    const struct tt_result *res = rig_ensure(r, "web");
    if (res->code != TT_OK) {
        fail_msg("ensure: %d %s", res->code, res->message);
    }
}

static void reserve(struct rig *r, const char *name, const char *ip, const char *tier)
{
    rig_cloud_call(r, "POST", REGION "addresses",
                   arena_printf(rig_arena(r),
                                "{\"name\":\"%s\",\"address\":\"%s\",\"networkTier\":\"%s\"}", name,
                                ip, tier));
}

/* ---- addresses and tiers --------------------------------------------------------------------- */

static void address__I5__reserved_in_the_right_tier__used_and_never_given_back(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    reserve(r, "mine", "203.0.113.99", "PREMIUM");
    rig_service(r, "web", "{\"spec\":{\"loadBalancerIP\":\"203.0.113.99\"}}");
    ok(r);
    assert_string_equal(rule_member(r, "IPAddress"), "203.0.113.99");
    assert_int_equal(rig_calls(r, "compute.addresses.insert"), 0);
    assert_int_equal(rig_delete(r, "web")->code, TT_OK);
    assert_true(has_address(r, "mine"));
    rig_stop(r);
}

static void address__I6__the_rules_own__allowed_and_held(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    rig_service(r, "web", "{}");
    ok(r);
    const char *ip = rule_member(r, "IPAddress");
    rig_edit(r, "web",
             arena_printf(rig_arena(r),
                          "{\"spec\":{\"loadBalancerIP\":\"%s\",\"ports\":[{\"port\":81,"
                          "\"protocol\":\"TCP\"}]}}",
                          ip));
    ok(r);
    assert_string_equal(rule_member(r, "IPAddress"), ip);
    assert_string_equal(rule_member(r, "portRange"), "81-81");
    rig_stop(r);
}

static void address__I7__neither_reserved_nor_its_own__refused_and_nothing_changed(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    rig_service(r, "web", "{}");
    ok(r);
    rig_edit(r, "web", "{\"spec\":{\"loadBalancerIP\":\"203.0.113.77\"}}");
    rig_forget(r);
    const struct tt_result *res = rig_ensure(r, "web");
    assert_int_equal(res->code, TT_INVALID);
    assert_string_equal(res->message,
                        "requested ip \"203.0.113.77\" is neither static nor assigned to the LB");
    assert_int_equal(rig_mutations(r), 0);
    reserve(r, "mine", "203.0.113.77", "PREMIUM");
    ok(r); /* reserved meanwhile: looked up afresh, whatever the snapshot says */
    assert_string_equal(rule_member(r, "IPAddress"), "203.0.113.77");
    rig_stop(r);
}

static void address__I9__of_another_tier__refused(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    reserve(r, "mine", "203.0.113.99", "PREMIUM");
    rig_service(r, "web", STANDARD);
    rig_edit(r, "web", "{\"spec\":{\"loadBalancerIP\":\"203.0.113.99\"}}");
    assert_string_equal(rig_ensure(r, "web")->message,
                        "requested IP \"203.0.113.99\" belongs to the Premium network tier; "
                        "expected Standard");
    assert_int_equal(rig_mutations(r), 0);
    rig_stop(r);
}

static void address__I4_I10_I12__tier_sequence(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    rig_service(r, "web", STANDARD);
    ok(r);
    assert_string_equal(rule_member(r, "networkTier"), "STANDARD");
    assert_string_equal(rule_member(r, "portRange"), "80-80");
    assert_non_null(strstr(rule_member(r, "description"), "\"default/web\""));
    rig_edit(r, "web", NO_TIER);
    ok(r);
    assert_string_equal(rule_member(r, "networkTier"), "STANDARD");
    rig_edit(r, "web", PREMIUM);
    ok(r);
    assert_string_equal(rule_member(r, "networkTier"), "PREMIUM");
    reserve(r, "mine", "198.51.100.99", "STANDARD");
    rig_edit(r, "web", STANDARD);
    rig_edit(r, "web", "{\"spec\":{\"loadBalancerIP\":\"198.51.100.99\"}}");
    ok(r);
    assert_string_equal(rule_member(r, "IPAddress"), "198.51.100.99");
    rig_edit(r, "web", NO_TIER);
    assert_int_equal(rig_ensure(r, "web")->code, TT_INVALID);
    assert_string_equal(rule_member(r, "networkTier"), "STANDARD");
    rig_stop(r);
}

static void address__I11__held_one_of_the_wrong_tier__replaced(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    rig_service(r, "web", STANDARD);
    reserve(r, rig_lb_name(r, "web"), "203.0.113.99", "PREMIUM");
    ok(r);
    assert_string_equal(rule_member(r, "networkTier"), "STANDARD");
    assert_false(has_address(r, rig_lb_name(r, "web")));
    rig_stop(r);
}

static void address__cleared_request__stays_and_is_not_taken_from_the_user(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    reserve(r, "mine", "203.0.113.99", "PREMIUM");
    rig_service(r, "web", "{\"spec\":{\"loadBalancerIP\":\"203.0.113.99\"}}");
    ok(r);
    rig_edit(r, "web",
             "{\"spec\":{\"loadBalancerIP\":null,\"ports\":[{\"port\":81,"
             "\"protocol\":\"TCP\"}]}}");
    ok(r); /* the hold meets 400: the user's address has it */
    assert_string_equal(rule_member(r, "IPAddress"), "203.0.113.99");
    assert_string_equal(rule_member(r, "portRange"), "81-81");
    assert_true(has_address(r, "mine"));
    rig_stop(r);
}

static void address__E1__rule_cannot_be_made_again__address_is_held_for_the_next_sync(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    rig_service(r, "web", "{}");
    ok(r);
    const char *ip = rule_member(r, "IPAddress");
    rig_edit(r, "web", "{\"spec\":{\"ports\":[{\"port\":81,\"protocol\":\"TCP\"}]}}");
    /* the first one is the question whether it may be made (docs/adr/0049-asked-before.md) */
    rig_fault(r, "{\"match\":{\"op\":\"compute.forwardingRules.insert\"},\"from\":2,\"count\":0,"
                 "\"do\":\"refuse\",\"status\":403}");
    assert_int_not_equal(rig_ensure(r, "web")->code, TT_OK);
    assert_true(has_address(r, rig_lb_name(r, "web")));
    rig_no_faults(r);
    ok(r);
    assert_string_equal(rule_member(r, "IPAddress"), ip);
    assert_false(has_address(r, rig_lb_name(r, "web")));
    rig_stop(r);
}

static void address__E2__first_creation_fails__address_is_held_for_the_next_try(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    rig_service(r, "web", "{}");
    rig_fault(r, "{\"match\":{\"op\":\"compute.firewalls.insert\"},\"count\":0,\"do\":\"refuse\","
                 "\"status\":403}");
    assert_int_equal(rig_ensure(r, "web")->code, TT_FORBIDDEN);
    assert_true(has_address(r, rig_lb_name(r, "web"))); /* upstream gives it back */
    const char *ip = arena_strdup(
        rig_arena(r),
        json_str(rig_resource(r, arena_printf(rig_arena(r), "addresses/%s", rig_lb_name(r, "web"))),
                 "address"));
    rig_no_faults(r);
    ok(r);
    assert_string_equal(rule_member(r, "IPAddress"), ip);
    assert_false(has_address(r, rig_lb_name(r, "web")));
    rig_stop(r);
}

/* ---- firewalls ------------------------------------------------------------------------------- */

static void firewall__W17_to_W19__deny_on_and_off(void **state)
{
    (void)state;
    static const struct tt_kv on[] = {{"enable-l4-deny-firewall", "true"},
                                      {"enable-l4-deny-firewall-rollback-cleanup", "true"}};
    static const struct tt_kv off[] = {{"enable-l4-deny-firewall-rollback-cleanup", "true"}};
    struct rig *r = rig_start(NULL);
    rig_service(r, "web", "{}");
    ok(r);
    rig_set_flags(r, on, ARRAY_LEN(on));
    rig_reopen(r);
    ok(r);
    assert_int_equal(json_int(firewall(r, "firewalls/k8s-fw-LB"), "priority", 0), 999);
    assert_int_equal(json_int(firewall(r, "node-http-hc"), "priority", 0), 999);
    struct json_object *deny = firewall(r, "firewalls/k8s-fw-LB-deny");
    assert_int_equal(json_int(deny, "priority", 0), 1000);
    assert_string_equal(
        json_str(json_object_array_get_idx(json_member(deny, "denied"), 0), "IPProtocol"), "all");
    assert_int_equal(json_len(json_member(deny, "targetTags")), 1);
    rig_set_flags(r, off, ARRAY_LEN(off));
    rig_reopen(r);
    ok(r);
    assert_int_equal(json_int(firewall(r, "firewalls/k8s-fw-LB"), "priority", 0), 1000);
    assert_int_equal(json_int(firewall(r, "node-http-hc"), "priority", 0), 1000);
    assert_null(firewall(r, "firewalls/k8s-fw-LB-deny"));
    rig_stop(r);
}

static void firewall__W20__allow_cannot_be_lowered__deny_is_not_made(void **state)
{
    (void)state;
    static const struct tt_kv on[] = {{"enable-l4-deny-firewall", "true"},
                                      {"enable-l4-deny-firewall-rollback-cleanup", "true"}};
    struct rig *r = rig_start(NULL);
    rig_service(r, "web", "{}");
    ok(r);
    rig_set_flags(r, on, ARRAY_LEN(on));
    rig_reopen(r);
    rig_fault(r, "{\"match\":{\"op\":\"compute.firewalls.patch\"},\"count\":0,\"do\":\"refuse\","
                 "\"status\":403}");
    assert_int_not_equal(rig_ensure(r, "web")->code, TT_OK);
    assert_null(firewall(r, "firewalls/k8s-fw-LB-deny"));
    rig_stop(r);
}

static void firewall__W23_W24__tags_come_from_the_instances(void **state)
{
    (void)state;
    const struct rig_options opt = {.config_less = "node-tags"};
    struct rig *r = rig_start(&opt);
    rig_service(r, "one", "{}");
    rig_service(r, "web", "{}");
    assert_int_equal(rig_ensure(r, "one")->code, TT_OK);
    unsigned lists = rig_calls(r, "compute.instances.list");
    assert_int_equal(lists, 3); /* one per zone */
    ok(r);
    assert_int_equal(rig_calls(r, "compute.instances.list"),
                     lists); /* kept for this set of nodes */
    struct json_object *tags = json_member(firewall(r, "firewalls/k8s-fw-LB"), "targetTags");
    assert_int_equal(json_len(tags), 1);
    assert_string_equal(json_object_get_string(json_object_array_get_idx(tags, 0)), "node");
    rig_stop(r);
}

static void firewall__W25__no_tag_begins_the_name__refused_and_nothing_opened(void **state)
{
    (void)state;
    const struct rig_options opt = {.config_less = "node-tags"};
    struct rig *r = rig_start(&opt);
    struct json_object *world = rig_save(r);
    struct json_object *gce = json_member(world, "gce");
    json_object_object_foreach(gce, path, resource)
    {
        if (strstr(path, "/instances/") != NULL) {
            struct json_object *tags = json_object_new_object();
            const char *web = "web";
            json_add(tags, "items", json_strs(&web, 1));
            json_add(resource, "tags", tags);
        }
    }
    rig_load(r, world);
    json_object_put(world);
    rig_service(r, "web", "{}");
    const struct tt_result *res = rig_ensure(r, "web");
    assert_int_equal(res->code, TT_INVALID);
    assert_string_equal(res->message,
                        "no node tags supplied and also failed to parse the given lists of hosts "
                        "for tags. Abort creating firewall rule");
    assert_int_equal(rig_mutations(r), 0);
    rig_stop(r);
}

/* Shared VPC: the firewalls are another project's, and every change of them is refused. */
static struct rig *shared_vpc_with(const struct tt_kv *flags, size_t n)
{
    const struct rig_options opt = {
        .config_more = "network-project-id = host-project", .flags = flags, .n_flags = n};
    struct rig *r = rig_start(&opt);
    rig_fault(r, "{\"match\":{\"op\":\"compute.firewalls.*\",\"method\":\"GET\"},\"count\":0,"
                 "\"do\":\"refuse\",\"status\":404}");
    rig_fault(r, "{\"match\":{\"op\":\"compute.firewalls.insert\"},\"count\":0,\"do\":\"refuse\","
                 "\"status\":403}");
    rig_fault(r, "{\"match\":{\"op\":\"compute.firewalls.delete\"},\"count\":0,\"do\":\"refuse\","
                 "\"status\":403}");
    return r;
}

static struct rig *shared_vpc(void)
{
    return shared_vpc_with(NULL, 0);
}

/* Without its firewall no client reaches a load balancer, whatever kind it is of: an event has the
 * steps. */
static void firewall__W15__shared_vpc__each_kind_is_told(void **state)
{
    (void)state;
    static const struct tt_kv flags[] = {{"enable-l4-neg", "true"},
                                         {"gce-nodes-need-pod-cidr", "false"},
                                         {"run-l4-controller", "true"},
                                         {"run-l4-netlb-controller", "true"}};
    static const struct tt_kv negs[] = {{"enable-l4-neg", "true"},
                                        {"enable-l4-netlb-neg", "true"},
                                        {"enable-l4-netlb-neg-default", "true"},
                                        {"gce-nodes-need-pod-cidr", "false"},
                                        {"run-l4-controller", "true"},
                                        {"run-l4-netlb-controller", "true"}};
    static const struct {
        const char *kind, *note, *reason;
        const struct tt_kv *flags;
        size_t n_flags;
    } rows[] = {
        {"target-pool", "\"example.com/a\":\"b\"", "LoadBalancerManualChange", NULL, 0},
        {"internal-groups", "\"networking.gke.io/load-balancer-type\":\"Internal\"",
         "LoadBalancerManualChange", NULL, 0},
        {"internal-negs", "\"networking.gke.io/load-balancer-type\":\"Internal\"", "XPN", flags,
         ARRAY_LEN(flags)},
        {"external-groups", "\"cloud.google.com/l4-rbs\":\"enabled\"", "XPN", flags,
         ARRAY_LEN(flags)},
        {"external-negs", "\"cloud.google.com/l4-rbs\":\"enabled\"", "XPN", negs, ARRAY_LEN(negs)},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct rig *r = shared_vpc_with(rows[i].flags, rows[i].n_flags);
        rig_give_addresses(r);
        rig_service(
            r, "web",
            arena_printf(rig_arena(r), "{\"metadata\":{\"annotations\":{%s}}}", rows[i].note));
        rig_pods(r, "web", "node-0");
        /* The simulator takes no internal rule and no NEG whose network is another project's: the
         * firewalls come all the same. */
        const struct tt_result *res = rig_ensure(r, "web");
        bool on_subnet =
            strstr(rows[i].note, "Internal") != NULL || str_eq(rows[i].kind, "external-negs");
        if (!on_subnet && res->code != TT_OK) {
            fail_msg("%s: %d %s", rows[i].note, res->code, res->message);
        }
        const char *glob = arena_printf(rig_arena(r),
                                        "Normal %s Firewall change required by security admin: "
                                        "`gcloud compute firewall-rules create k8s*",
                                        rows[i].reason);
        if (!rig_had_event(r, glob)) {
            fail_msg("%s: no %s\n%s", rows[i].note, glob, rig_events_text(r));
        }
        rig_stop(r);
    }
}

static void firewall__W15_W16__shared_vpc__served_and_told_once(void **state)
{
    (void)state;
    struct rig *r = shared_vpc();
    rig_service(r, "web", "{}");
    ok(r);
    assert_string_equal(rule_member(r, "portRange"), "80-80");
    assert_true(rig_had_event(r, "Normal LoadBalancerManualChange Firewall change required by "
                                 "security admin: `gcloud compute firewall-rules create "
                                 "k8s-fw-* --network default --description *"));
    unsigned told = rig_events(r);
    assert_int_equal(told, 2); /* the traffic firewall and that of the health check */
    ok(r);
    assert_int_equal(rig_events(r), told);
    assert_int_equal(rig_calls(r, "compute.firewalls.list"), 1); /* refused: not tried again */
    assert_int_equal(rig_delete(r, "web")->code, TT_OK);
    assert_string_equal(rule_member(r, "portRange"), "");
    rig_stop(r);
}

static void firewall__E5__rate_limit_that_comes_as_403__no_event_and_tried_again(void **state)
{
    (void)state;
    const struct rig_options opt = {.config_more = "network-project-id = host-project"};
    struct rig *r = rig_start(&opt);
    rig_fault(r, "{\"match\":{\"op\":\"compute.firewalls.*\",\"method\":\"GET\"},\"count\":0,"
                 "\"do\":\"refuse\",\"status\":404}");
    rig_fault(r,
              "{\"match\":{\"op\":\"compute.firewalls.insert\"},\"count\":0,\"do\":\"refuse\","
              "\"status\":403,\"body\":{\"error\":{\"code\":403,\"message\":\"Rate Limit "
              "Exceeded\",\"errors\":[{\"reason\":\"rateLimitExceeded\",\"message\":\"Rate Limit "
              "Exceeded\"}]}}}");
    rig_service(r, "web", "{}");
    assert_int_equal(rig_ensure(r, "web")->code, TT_THROTTLED);
    assert_false(rig_had_event(r, "*LoadBalancerManualChange*"));
    rig_stop(r);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void errors__9_14__each_gives_an_error_and_no_address(void **state)
{
    (void)state;
    static const struct {
        const char *op;
        int status;
        int code;
    } rows[] = {
        {"compute.forwardingRules.get", 500, TT_TRANSIENT},
        {"compute.firewalls.get", 403, TT_FORBIDDEN},
        {"compute.firewalls.insert", 403, TT_FORBIDDEN},
        {"compute.targetPools.get", 500, TT_TRANSIENT},
        {"compute.httpHealthChecks.get", 500, TT_TRANSIENT},
        {"compute.targetPools.insert", 400, TT_INVALID},
        {"compute.forwardingRules.insert", 400, TT_INVALID},
        {"compute.addresses.insert", 403, TT_FORBIDDEN},
        {"compute.targetPools.insert", 429, TT_THROTTLED},
    };
    struct rig *r = rig_start(NULL);
    rig_service(r, "first", "{}");
    assert_int_equal(rig_ensure(r, "first")->code, TT_OK);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        rig_fault(r, arena_printf(rig_arena(r),
                                  "{\"match\":{\"op\":\"%s\"},\"count\":0,\"do\":\"refuse\","
                                  "\"status\":%d}",
                                  rows[i].op, rows[i].status));
        rig_service(r, "web", "{}");
        const struct tt_result *res = rig_ensure(r, "web");
        if (res->code != rows[i].code || *res->ip != '\0') {
            fail_msg("%s %d: %d %s", rows[i].op, rows[i].status, res->code, res->message);
        }
        rig_no_faults(r);
        ok(r);
        assert_int_equal(rig_delete(r, "web")->code, TT_OK);
        rig_service_gone(r, "web");
    }
    rig_stop(r);
}

static void errors__unauthorised__token_is_fetched_anew_once(void **state)
{
    (void)state;
    /* From the metadata server: an alternate source is asked every 20 s at most (test_auth.c). */
    struct rig *r = rig_start(&(struct rig_options){.config_less = "token-url"});
    rig_service(r, "web", "{}");
    rig_fault(r, "{\"match\":{\"op\":\"compute.targetPools.list\"},\"count\":1,\"do\":\"refuse\","
                 "\"status\":401}");
    ok(r);
    assert_int_equal(rig_calls(r, "compute.targetPools.list"), 2);
    rig_forget(r);
    rig_fault(r, "{\"match\":{\"api\":\"gce\"},\"count\":0,\"do\":\"refuse\",\"status\":401}");
    rig_edit(r, "web", "{\"spec\":{\"ports\":[{\"port\":81,\"protocol\":\"TCP\"}]}}");
    assert_int_equal(rig_ensure(r, "web")->code, TT_AUTH);
    /* Each request is repeated once with a new token, and no more. */
    static const char *const asked[] = {"forwardingRules", "targetPools", "httpHealthChecks"};
    for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
        const char *op = arena_printf(rig_arena(r), "compute.%s.get", asked[i]);
        assert_int_equal(rig_calls(r, op), 2);
    }
    assert_int_equal(rig_calls(r, "compute.firewalls.get"), 2 * 2); /* its own and the nodes' */
    rig_stop(r);
}

static void errors__html_502__is_transient_and_tried_again(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    rig_service(r, "web", "{}");
    rig_fault(r, "{\"match\":{\"path\":\"*/wait*\"},\"count\":2,\"do\":\"refuse\",\"status\":502,"
                 "\"body\":\"<html>Bad Gateway</html>\"}");
    ok(r);
    rig_stop(r);
}

/* 409 says that another operation is at it, not that it is there: an earlier delete may still be
 * in progress. */
static void errors__said_to_exist_but_absent__looked_at_again_and_made(void **state)
{
    (void)state;
    static const char *const kinds[] = {"firewalls", "httpHealthChecks", "targetPools",
                                        "forwardingRules"};
    struct rig *r = rig_start(NULL);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        rig_service(r, "web", "{}");
        rig_fault(r, arena_printf(rig_arena(r),
                                  "{\"match\":{\"op\":\"compute.%s.insert\"},\"do\":\"refuse\","
                                  "\"status\":409}",
                                  kinds[i]));
        ok(r);
        assert_non_null(firewall(r, "firewalls/k8s-fw-LB"));
        assert_non_null(firewall(r, "targetPools/LB"));
        assert_string_not_equal(rule_member(r, "IPAddress"), "");
        assert_false(has_address(r, rig_lb_name(r, "web")));
        rig_forget(r);
        ok(r);
        assert_int_equal(rig_mutations(r), 0);
        assert_int_equal(rig_delete(r, "web")->code, TT_OK);
        rig_service_gone(r, "web");
    }
    rig_stop(r);
}

static void errors__check_said_to_be_in_the_pool_but_absent__put_there(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    rig_service(r, "web", "{}");
    ok(r);
    rig_edit(r, "web",
             "{\"spec\":{\"externalTrafficPolicy\":\"Local\",\"healthCheckNodePort\":32101}}");
    rig_fault(r, "{\"match\":{\"op\":\"compute.targetPools.addHealthCheck\"},\"do\":\"refuse\","
                 "\"status\":409}");
    ok(r);
    assert_int_equal(json_len(json_member(firewall(r, "targetPools/LB"), "healthChecks")), 1);
    rig_stop(r);
}

UNIT_MAIN(cloud_rows)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(address__I5__reserved_in_the_right_tier__used_and_never_given_back),
        cmocka_unit_test(address__I6__the_rules_own__allowed_and_held),
        cmocka_unit_test(address__I7__neither_reserved_nor_its_own__refused_and_nothing_changed),
        cmocka_unit_test(address__I9__of_another_tier__refused),
        cmocka_unit_test(address__I4_I10_I12__tier_sequence),
        cmocka_unit_test(address__I11__held_one_of_the_wrong_tier__replaced),
        cmocka_unit_test(address__cleared_request__stays_and_is_not_taken_from_the_user),
        cmocka_unit_test(address__E1__rule_cannot_be_made_again__address_is_held_for_the_next_sync),
        cmocka_unit_test(address__E2__first_creation_fails__address_is_held_for_the_next_try),
        cmocka_unit_test(firewall__W17_to_W19__deny_on_and_off),
        cmocka_unit_test(firewall__W20__allow_cannot_be_lowered__deny_is_not_made),
        cmocka_unit_test(firewall__W23_W24__tags_come_from_the_instances),
        cmocka_unit_test(firewall__W25__no_tag_begins_the_name__refused_and_nothing_opened),
        cmocka_unit_test(firewall__W15__shared_vpc__each_kind_is_told),
        cmocka_unit_test(firewall__W15_W16__shared_vpc__served_and_told_once),
        cmocka_unit_test(firewall__E5__rate_limit_that_comes_as_403__no_event_and_tried_again),
        cmocka_unit_test(errors__9_14__each_gives_an_error_and_no_address),
        cmocka_unit_test(errors__unauthorised__token_is_fetched_anew_once),
        cmocka_unit_test(errors__html_502__is_transient_and_tried_again),
        cmocka_unit_test(errors__said_to_exist_but_absent__looked_at_again_and_made),
        cmocka_unit_test(errors__check_said_to_be_in_the_pool_but_absent__put_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
