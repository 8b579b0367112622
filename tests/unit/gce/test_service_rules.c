/* SPDX-License-Identifier: Apache-2.0 */
/* test_service_rules.c: annotations, ports, rules that must be made again; rows P, A, F, M1, M5
 * and B6 of the GCE specification. */
#include "tests/unit/gce/pure.h"

#include "common/lb/service_rules.h"
#include "providers/gce/model/gce_service_rules.h"
#include "tests/support/unit.h"

static const struct tt_service *service(struct arena *a, const char *meta, const char *spec)
{
    const char *comma = *meta == '\0' ? "" : ",";
    return test_service_text(
        a, arena_printf(a, "{\"metadata\":{\"namespace\":\"d\"%s%s},\"spec\":{%s}}", comma, meta,
                        spec));
}

static const struct tt_service *with_ports(struct arena *a, const int32_t *ports, size_t n,
                                           const char *protocol)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < n; i++) {
        str_appendf(&b, "%s{\"name\":\"p%zu\",\"port\":%d,\"protocol\":\"%s\"}", i == 0 ? "" : ",",
                    i, ports[i], protocol);
    }
    return service(a, "", arena_printf(a, "\"ports\":[%s]", str_buf_text(&b)));
}

static void port_range__P1_to_P7(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row;
        int32_t ports[8];
        size_t n;
        const char *want;
    } rows[] = {
        {"P1", {1, 10, 100}, 3, "1-100"},
        {"P2", {10, 1, 50, 100, 90}, 5, "1-100"},
        {"P3", {10}, 1, "10-10"},
        {"P4", {100, 10}, 2, "10-100"},
        {"P5", {100, 50, 10}, 3, "10-100"},
        {"P6", {0}, 0, NULL},
        {"P7", {80, 81, 82, 83, 84}, 5, "80-84"},
        {"P7", {80, 81, 82, 83, 84, 8080}, 6, "80-8080"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct tt_service *s = with_ports(a, rows[i].ports, rows[i].n, "TCP");
        const char *protocol = NULL;
        const char *range = NULL;
        int rc = gce_svc_port_range(a, s, &protocol, &range, NULL);
        assert_int_equal(rc, rows[i].want == NULL ? ERR_INVALID : ERR_OK);
        same_text(rows[i].row, range, rows[i].want);
    }
}

static void port_ranges__P8_to_P17(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row;
        int32_t ports[16];
        size_t n;
        const char *want;
    } rows[] = {
        {"P8", {8, 66, 23, 13, 89}, 5, "8 13 23 66 89"},
        {"P9", {1, 7, 9, 16, 26}, 5, "1 7 9 16 26"},
        {"P10", {56, 78, 67, 79, 21, 80, 12}, 7, "12 21 56 67 78-80"},
        {"P11", {5, 7, 90, 1002, 1003, 1004, 1005, 2501}, 8, "5 7 90 1002-1005 2501"},
        {"P12", {15, 37, 900, 2002, 2003, 2003, 2004, 2004}, 8, "15 37 900 2002-2004"},
        {"P13", {10, 10, 10, 10, 10}, 5, "10"},
        {"P14",
         {18, 19, 20, 21, 22, 55, 56, 77, 78, 79, 3504, 3505, 3506},
         13,
         "18-22 55-56 77-79 3504-3506"},
        {"P15", {6000, 6001, 6002, 6003, 6004, 6005}, 6, "6000-6005"},
        {"P16", {12}, 1, "12"},
        {"P16", {0}, 0, ""},
        {"P17", {80, 81, 82, 84, 85, 86, 88}, 7, "80-82 84-86 88"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct gce_strs got = gce_port_ranges(a, rows[i].ports, rows[i].n);
        same_text(rows[i].row, str_join(a, got.items, got.n, " "), rows[i].want);
    }
}

static void annotations__A1_to_A8(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *annotations, *class_, *scheme, *tier;
    } rows[] = {
        {"A1 absent", "", NULL, "EXTERNAL", "Premium"},
        {"A1 Standard", "\"cloud.google.com/network-tier\":\"Standard\"", NULL, "EXTERNAL",
         "Standard"},
        {"A1 Premium", "\"cloud.google.com/network-tier\":\"Premium\"", NULL, "EXTERNAL",
         "Premium"},
        {"A1 unknown", "\"cloud.google.com/network-tier\":\"Unknown-tier\"", NULL, "EXTERNAL",
         NULL},
        {"A3", "\"cloud.google.com/network-tier\":\"standard\"", NULL, "EXTERNAL", NULL},
        {"empty tier", "\"cloud.google.com/network-tier\":\"\"", NULL, "EXTERNAL", NULL},
        {"A4", "\"networking.gke.io/load-balancer-type\":\"Internal\"", NULL, "INTERNAL",
         "Premium"},
        {"A4", "\"networking.gke.io/load-balancer-type\":\"internal\"", NULL, "INTERNAL",
         "Premium"},
        {"A4", "\"networking.gke.io/load-balancer-type\":\"INTERNAL\"", NULL, "EXTERNAL",
         "Premium"},
        {"A4", "\"networking.gke.io/load-balancer-type\":\"External\"", NULL, "EXTERNAL",
         "Premium"},
        {"A5",
         "\"networking.gke.io/load-balancer-type\":\"\",\"cloud.google.com/load-balancer-type\":"
         "\"Internal\"",
         NULL, "EXTERNAL", "Premium"},
        {"A6", "\"cloud.google.com/load-balancer-type\":\"Internal\"", NULL, "INTERNAL", "Premium"},
        {"A7", "\"networking.gke.io/load-balancer-type\":\"Internal\"", GCE_CLASS_EXTERNAL_LEGACY,
         "EXTERNAL", "Premium"},
        {"A8", "", GCE_CLASS_INTERNAL_LEGACY, "INTERNAL", "Premium"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *spec = rows[i].class_ == NULL
                               ? ""
                               : arena_printf(a, "\"loadBalancerClass\":\"%s\"", rows[i].class_);
        const struct tt_service *s =
            service(a, arena_printf(a, "\"annotations\":{%s}", rows[i].annotations), spec);
        const char *tier = NULL;
        int rc = gce_svc_tier(s, &tier, NULL);
        same_text(rows[i].row, gce_svc_scheme(s) == GCE_INTERNAL ? "INTERNAL" : "EXTERNAL",
                  rows[i].scheme);
        same_text(rows[i].row, tier, rows[i].tier);
        assert_int_equal(rc, rows[i].tier == NULL ? ERR_INVALID : ERR_OK);
    }
    struct err err = ERR_INIT;
    const char *tier = NULL;
    const struct tt_service *s =
        service(a, "\"annotations\":{\"cloud.google.com/network-tier\":\"SupremeLuxury\"}", "");
    assert_int_equal(gce_svc_tier(s, &tier, &err), ERR_INVALID);
    same_text("A2", err.message,
              "unsupported network tier: \"SupremeLuxury\"; allowed in annotation "
              "cloud.google.com/network-tier: Premium, Standard");
}

static void tiers__wire_values(void **state)
{
    (void)state;
    same_text("4.5", gce_tier_from_wire("STANDARD"), "Standard");
    same_text("4.5", gce_tier_from_wire("PREMIUM"), "Premium");
    same_text("4.5 ours", gce_tier_from_wire(""), "Premium");
    same_text("4.5 ours", gce_tier_from_wire("GOLD"), NULL);
    same_text("4.5", gce_tier_wire("Standard"), "STANDARD");
}

static void rule_needs_update__F1_to_F6(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *spec, *range, *protocol;
        bool update, error;
    } rows[] = {
        {"F1", "\"loadBalancerIP\":\"1.2.3.4\",\"ports\":[{\"port\":80,\"protocol\":\"TCP\"}]",
         "80-80", "TCP", true, false},
        {"F2", "\"ports\":[]", "80-80", "TCP", false, true},
        {"F3 port", "\"ports\":[{\"port\":81,\"protocol\":\"TCP\"}]", "80-80", "TCP", true, false},
        {"F3 protocol", "\"ports\":[{\"port\":80,\"protocol\":\"UDP\"}]", "80-80", "TCP", true,
         false},
        {"F4", "\"ports\":[{\"port\":80,\"protocol\":\"TCP\"}]", "80-80", "TCP", false, false},
        {"F5",
         "\"ports\":[{\"name\":\"a\",\"port\":80,\"protocol\":\"TCP\"},{\"name\":\"b\",\"port\":86,"
         "\"protocol\":\"TCP\"}]",
         "80-85", "TCP", true, false},
        {"F6",
         "\"ports\":[{\"name\":\"a\",\"port\":80,\"protocol\":\"TCP\"},{\"name\":\"b\",\"port\":85,"
         "\"protocol\":\"TCP\"}]",
         "80-85", "TCP", false, false},
        {"SCTP", "\"ports\":[{\"port\":80,\"protocol\":\"SCTP\"}]", "80-80", "TCP", false, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct gce_rule rule = {
            .ip = "9.9.9.9", .protocol = rows[i].protocol, .port_range = rows[i].range};
        struct gce_rule_need need = {0};
        int rc = gce_rule_needs_update(a, service(a, "", rows[i].spec), &rule, &need, NULL);
        if ((rc != ERR_OK) != rows[i].error || need.needs_update != rows[i].update) {
            fail_msg("%s: code %d, update %d", rows[i].row, rc, need.needs_update);
        }
    }
    struct gce_rule_need need;
    assert_int_equal(gce_rule_needs_update(a, service(a, "", "\"ports\":[]"), NULL, &need, NULL),
                     ERR_OK);
    assert_true(need.needs_update && !need.exists);
}

static void affinity__B5_B6(void **state)
{
    struct arena *a = *state;
    const struct tt_service *s = service(a, "", "\"sessionAffinity\":\"ClientIP\"");
    const struct gce_pool none = {.affinity = "NONE"};
    const struct gce_pool empty = {.affinity = ""};
    assert_true(gce_pool_affinity_differs(&none, gce_svc_affinity(s)));
    assert_false(gce_pool_affinity_differs(&empty, gce_svc_affinity(s)));
}

static void mixed__M1_M2_M5(void **state)
{
    struct arena *a = *state;
    static const int32_t two[] = {1, 2};
    assert_false(gce_svc_protocols_are_mixed(with_ports(a, two, 1, "TCP")));
    assert_false(gce_svc_protocols_are_mixed(with_ports(a, two, 2, "UDP")));
    assert_true(gce_svc_protocols_are_mixed(
        service(a, "",
                "\"ports\":[{\"name\":\"a\",\"port\":53,\"protocol\":\"UDP\"},"
                "{\"name\":\"b\",\"port\":53,\"protocol\":\"TCP\"}]")));
    static const struct {
        const char *type, *status;
        bool want;
    } rows[] = {
        {"LoadBalancerPortsError", "True", true},
        {"LoadBalancerPortsError", "False", false},
        {"Other", "True", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct tt_condition c = {.type = rows[i].type, .status = rows[i].status};
        const struct tt_service s = {.conditions = &c, .n_conditions = 1};
        assert_int_equal(gce_svc_has_ports_condition(&s), rows[i].want);
    }
    const struct tt_service none = {0};
    assert_false(gce_svc_has_ports_condition(&none));
}

static void source_ranges__W21_W22(void **state)
{
    struct arena *a = *state;
    struct str_set got;
    struct err err = ERR_INIT;
    const struct tt_service *s =
        service(a,
                "\"annotations\":{\"service.beta.kubernetes.io/load-balancer-source-ranges\":"
                "\" 10.0.0.0/8 , 192.168.1.1/16 \"}",
                "");
    assert_int_equal(svc_source_ranges(a, s, &got, &err), ERR_OK);
    same_text("W21", str_set_text(a, &got, " "), "10.0.0.0/8 192.168.0.0/16");
    s = service(a, "", "\"loadBalancerSourceRanges\":[\"BadSourceRange\"]");
    assert_int_equal(svc_source_ranges(a, s, &got, &err), ERR_INVALID);
    assert_true(str_has_prefix(err.message, "service.Spec.LoadBalancerSourceRanges: "
                                            "[BadSourceRange] is not valid. Expecting a list of IP "
                                            "ranges."));
}

UNIT_MAIN(service_rules)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(port_range__P1_to_P7),   PURE_TEST(port_ranges__P8_to_P17),
        PURE_TEST(annotations__A1_to_A8),  PURE_TEST(tiers__wire_values),
        PURE_TEST(affinity__B5_B6),        PURE_TEST(mixed__M1_M2_M5),
        PURE_TEST(source_ranges__W21_W22), PURE_TEST(rule_needs_update__F1_to_F6),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
