/* SPDX-License-Identifier: Apache-2.0 */
/* test_half_built.c: a Service that can never work is refused before the first write, at each of
 * its retries.
 *
 * One that is found out by the cloud alone would make an address, a check or a backend service, and
 * give it back or leave it. */
#include "tests/support/unit.h"
#include "tests/unit/gce/rig.h"

#include <string.h>

#define TYPE              "\"networking.gke.io/load-balancer-type\":\"Internal\""
#define RBS               "\"cloud.google.com/l4-rbs\":\"enabled\""
#define NOTES(text, spec) "{\"metadata\":{\"annotations\":{" text "}},\"spec\":{" spec "}}"
#define NUMBER(ip)        "\"loadBalancerIP\":\"" ip "\""
#define V6                "\"ipFamilies\":[\"IPv6\"],\"ipFamilyPolicy\":\"SingleStack\""
#define DUAL              "\"ipFamilies\":[\"IPv4\",\"IPv6\"],\"ipFamilyPolicy\":\"RequireDualStack\""

static void service__impossible__no_write_in_ten_tries(void **state)
{
    static const struct {
        const char *service;
        int code;
        const char *message;
        bool negs; /* the kind with groups takes no notice of families, as upstream */
    } rows[] = {
        {NOTES("\"cloud.google.com/network-tier\":\"Gold\"", ""), TT_INVALID, "network tier"},
        {NOTES("", NUMBER("198.51.100.7")), TT_INVALID, "neither static nor assigned"},
        {NOTES("", NUMBER("2001:db8::1")), TT_INVALID, "neither static nor assigned"},
        {NOTES(TYPE ",\"networking.gke.io/internal-load-balancer-subnet\":\"nope\"", ""),
         TT_NOT_FOUND, "Subnetwork \"nope\" can't be found"},
        {NOTES(TYPE, NUMBER("198.51.100.7")), TT_INVALID, "outside the range 10.128.0.0/20"},
        {NOTES(TYPE, NUMBER("nope")), TT_INVALID, "want an IP address"},
        {NOTES(TYPE, V6), TT_INVALID, "no internal IPv6 range", true},
        {NOTES(TYPE, DUAL), TT_INVALID, "no internal IPv6 range", true},
        {NOTES(RBS, NUMBER("198.51.100.7")), TT_NOT_FOUND, "\"198.51.100.7\" is not reserved"},
        {NOTES(RBS, V6), TT_INVALID, "no external IPv6 range"},
        {NOTES(RBS, DUAL), TT_INVALID, "no external IPv6 range"},
    };
    static const char *const negs[] = {"false", "true"}; /* else instance groups */
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(negs) * ARRAY_LEN(rows); i++) {
        const struct tt_kv flags[] = {{"enable-l4-neg", negs[i % 2]},
                                      {"gce-nodes-need-pod-cidr", "false"},
                                      {"run-l4-controller", negs[i % 2]},
                                      {"run-l4-netlb-controller", "true"}};
        const struct rig_options opt = {.flags = flags, .n_flags = ARRAY_LEN(flags)};
        if (rows[i / 2].negs && i % 2 == 0) {
            continue;
        }
        struct rig *r = rig_start(&opt);
        rig_service(r, "web", rows[i / 2].service);
        rig_pods(r, "web", "node-0 node-1");
        for (int k = 0; k < 10; k++) {
            const struct tt_result *res = rig_ensure(r, "web");
            print_message("# row %zu, negs %zu: %s\n", i / 2, i % 2, res->message);
            assert_int_equal(res->code, rows[i / 2].code);
            assert_non_null(strstr(res->message, rows[i / 2].message));
        }
        assert_int_equal(rig_mutations(r), 0);
        assert_string_equal(rig_inventory(r), "");
        rig_stop(r);
    }
}

/* The missing resource appears: the next try succeeds. */
static void service__address_reserved_meanwhile__served(void **state)
{
    (void)state;
    static const struct tt_kv flags[] = {{"run-l4-netlb-controller", "true"}};
    const struct rig_options opt = {.flags = flags, .n_flags = ARRAY_LEN(flags)};
    struct rig *r = rig_start(&opt);
    rig_service(r, "web", NOTES(RBS, NUMBER("198.51.100.7")));
    assert_int_equal(rig_ensure(r, "web")->code, TT_NOT_FOUND);
    rig_cloud_call(r, "POST", "regions/us-central1/addresses",
                   "{\"name\":\"mine\",\"address\":\"198.51.100.7\"}");
    assert_int_equal(rig_ensure(r, "web")->code, TT_OK);
    rig_stop(r);
}

/* ---- refused for good (docs/adr/0074) -------------------------------------------------------- */

#define TRIES 10

static void refuse(struct rig *r, const char *op)
{
    rig_fault(r, arena_printf(rig_arena(r),
                              "{\"match\":{\"op\":\"compute.%s\"},\"count\":0,"
                              "\"do\":\"refuse\",\"status\":403}",
                              op));
}

/* The reservation for the first rule stays, and goes when the rule is there. */
static void refused__firewall_of_a_new_balancer__address_reserved_once(void **state)
{
    static const char *const services[] = {"{}", NOTES(TYPE, ""), NOTES(RBS, "")};
    static const struct tt_kv flags[] = {{"run-l4-netlb-controller", "true"}};
    const struct rig_options opt = {.flags = flags, .n_flags = ARRAY_LEN(flags)};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(services); i++) {
        struct rig *r = rig_start(&opt);
        print_message("# row %zu\n", i);
        rig_service(r, "web", services[i]);
        refuse(r, "firewalls.insert");
        for (int k = 0; k < TRIES; k++) {
            assert_int_equal(rig_ensure(r, "web")->code, TT_FORBIDDEN);
        }
        assert_true(rig_calls(r, "compute.addresses.insert") <= 1);
        assert_int_equal(rig_calls(r, "compute.addresses.delete"), 0);
        rig_no_faults(r);
        assert_int_equal(rig_ensure(r, "web")->code, TT_OK);
        assert_null(strstr(rig_inventory(r), "addresses/"));
        rig_stop(r);
    }
}

/* The firewall is changed beside the reservation, and put back when that is refused: once. */
static void refused__reservation_of_an_edit__firewall_changed_once(void **state)
{
    static const char *const services[] = {"{}", NOTES(TYPE, ""), NOTES(RBS, "")};
    static const struct tt_kv flags[] = {{"run-l4-netlb-controller", "true"}};
    const struct rig_options opt = {.flags = flags, .n_flags = ARRAY_LEN(flags)};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(services); i++) {
        struct rig *r = rig_start(&opt);
        print_message("# row %zu\n", i);
        rig_service(r, "web", services[i]);
        assert_int_equal(rig_ensure(r, "web")->code, TT_OK);
        rig_edit(r, "web", "{\"spec\":{\"ports\":[{\"port\":8443,\"nodePort\":32443}]}}");
        refuse(r, "addresses.insert");
        for (int k = 0; k < TRIES; k++) {
            assert_int_equal(rig_ensure(r, "web")->code, TT_FORBIDDEN);
            if (k == 0) {
                rig_forget(r);
            }
        }
        assert_int_equal(rig_calls(r, "compute.firewalls.patch"), 0);
        assert_int_equal(rig_calls(r, "compute.firewalls.update"), 0);
        rig_no_faults(r);
        assert_int_equal(rig_ensure(r, "web")->code, TT_OK);
        assert_null(strstr(rig_inventory(r), "addresses/"));
        rig_stop(r);
    }
}

#define TO_LOCAL                                                                                   \
    "{\"spec\":{\"ports\":[{\"port\":8443,\"nodePort\":32443}],\"externalTrafficPolicy\":"         \
    "\"Local\","                                                                                   \
    "\"healthCheckNodePort\":32101}}"
#define TO_CLUSTER                                                                                 \
    "{\"spec\":{\"ports\":[{\"port\":80,\"nodePort\":30080}],\"externalTrafficPolicy\":"           \
    "\"Cluster\","                                                                                 \
    "\"healthCheckNodePort\":null}}"

/* A check of its own is made for the edit, whose firewall is refused.  Leading back to the former
 * settings leaves it for the next try; it goes when the edit is taken back. */
static void refused__edit_led_back__check_is_made_once(void **state)
{
    static const char *const services[] = {"{}", NOTES(TYPE, ""), NOTES(RBS, "")};
    static const struct tt_kv flags[] = {{"run-l4-netlb-controller", "true"}};
    const struct rig_options opt = {.flags = flags, .n_flags = ARRAY_LEN(flags)};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(services); i++) {
        struct rig *r = rig_start(&opt);
        print_message("# row %zu\n", i);
        rig_service(r, "web", services[i]);
        rig_edit(r, "web", TO_CLUSTER);
        assert_int_equal(rig_ensure(r, "web")->code, TT_OK);
        const char *before = rig_inventory(r);
        refuse(r, "firewalls.patch");
        for (int k = 0; k < TRIES; k++) {
            rig_edit(r, "web", TO_LOCAL);
            assert_int_equal(rig_ensure(r, "web")->code, TT_FORBIDDEN);
            rig_edit(r, "web", TO_CLUSTER);
            assert_int_equal(rig_lead_back(r, "web")->code, TT_OK);
            if (k == 0) {
                assert_string_not_equal(rig_inventory(r), before);
                rig_forget(r);
            }
        }
        assert_int_equal(rig_calls(r, "compute.*ealthChecks.insert"), 0);
        assert_int_equal(rig_calls(r, "compute.*ealthChecks.delete"), 0);
        rig_no_faults(r);
        assert_int_equal(rig_ensure(r, "web")->code, TT_OK);
        assert_string_equal(rig_inventory(r), before);
        rig_stop(r);
    }
}

UNIT_MAIN(half_built)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(service__impossible__no_write_in_ten_tries),
        cmocka_unit_test(service__address_reserved_meanwhile__served),
        cmocka_unit_test(refused__firewall_of_a_new_balancer__address_reserved_once),
        cmocka_unit_test(refused__reservation_of_an_edit__firewall_changed_once),
        cmocka_unit_test(refused__edit_led_back__check_is_made_once),
    };
    return cmocka_run_group_tests_name("half_built", tests, NULL, NULL);
}
