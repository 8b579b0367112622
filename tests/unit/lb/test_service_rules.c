/* SPDX-License-Identifier: Apache-2.0 */
/* test_service_rules.c: predicates and values of a Service.
 *
 * The numbers in the rows are those of controller.md §6.2, 6.3, 6.6 and 6.8. */
#include "tests/unit/lb/lb_test.h"

#include "common/base/str.h"
#include "common/lb/service_rules.h"
#include "tests/support/unit.h"

#define F    LB_CLEANUP_FINALIZER
#define BASE .size = sizeof(struct tt_service), .affinity_timeout_s = -1
#define LB(...)                                                                                    \
    {                                                                                              \
        BASE, .type = "LoadBalancer", .uid = "u", __VA_ARGS__                                      \
    }
#define PORTS(...)                                                                                 \
    .ports = (const struct tt_port[]){__VA_ARGS__},                                                \
    .n_ports = sizeof((const struct tt_port[]){__VA_ARGS__}) / sizeof(struct tt_port)
#define NOTES(...)                                                                                 \
    .annotations = (const struct tt_kv[]){__VA_ARGS__},                                            \
    .n_annotations = sizeof((const struct tt_kv[]){__VA_ARGS__}) / sizeof(struct tt_kv),           \
    .has_annotations = 1
#define FAMILIES(...)   LIST(.ip_families, .n_ip_families, __VA_ARGS__)
#define FINALIZERS(...) LIST(.finalizers, .n_finalizers, __VA_ARGS__)
#define RANGES(...)     LIST(.source_ranges, .n_source_ranges, __VA_ARGS__), .has_source_ranges = 1
#define EXTERNAL(...)   LIST(.external_ips, .n_external_ips, __VA_ARGS__)

static void svc_wants_lb__type_and_class__only_without_class(void **state)
{
    (void)state;
    static const char *const ours[] = {"networking.gke.io/l4-regional-external"};
    const struct {
        struct tt_service s;
        bool wants, wants_of_ours;
    } rows[] = {
        {LB(), true, true},
        {{BASE, .type = "ClusterIP"}, false, false},
        {{BASE, .type = ""}, false, false},
        {LB(.lb_class = "example.com/lb"), false, false},
        {LB(.lb_class = ""), false, false}, /* present but empty counts as set */
        {LB(.lb_class = "networking.gke.io/l4-regional-external"), false, true},
        {{BASE, .type = "NodePort", .lb_class = "networking.gke.io/l4-regional-external"},
         false,
         false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        print_message("# row %zu\n", i);
        assert_int_equal(svc_wants_lb(&rows[i].s), rows[i].wants);
        assert_int_equal(svc_wants_lb_of(&rows[i].s, ours, 1), rows[i].wants_of_ours);
    }
}

static void svc_needs_cleanup__finalizer_and_state__vectors(void **state)
{
    (void)state;
    const struct {
        int row;
        struct tt_service s;
        bool cleanup;
    } rows[] = {
        {31, {BASE, .type = "NodePort", .deleted_us = 1}, false},
        {32, {BASE, .type = "NodePort", FINALIZERS(F)}, true},
        {33, LB(FINALIZERS(F)), false},
        {34, {BASE, .type = "", .deleted_us = 1, FINALIZERS(F)}, true},
        {0, LB(FINALIZERS("x", F), .deleted_us = 1), true},
        {0, LB(FINALIZERS("x"), .deleted_us = 1), false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        print_message("# row %d (%zu)\n", rows[i].row, i);
        assert_int_equal(svc_needs_cleanup(&rows[i].s), rows[i].cleanup);
    }
}

static void svc_has_finalizer__row_35__exact_match(void **state)
{
    (void)state;
    struct tt_service none = LB();
    struct tt_service other = LB(FINALIZERS("unrelated", F "x"));
    struct tt_service alone = LB(FINALIZERS(F));
    struct tt_service both = LB(FINALIZERS(F, "unrelated"));
    assert_false(svc_has_finalizer(&none, F));
    assert_false(svc_has_finalizer(&other, F));
    assert_true(svc_has_finalizer(&alone, F));
    assert_true(svc_has_finalizer(&both, F));
}

#define P(n)                                                                                       \
    {                                                                                              \
        .name = "", .protocol = "TCP", .port = (n)                                                 \
    }

static void svc_needs_update_in__pairs__vectors(void **state)
{
    (void)state;
    const struct {
        int row;
        struct tt_service o, c;
        const char *what; /* NULL: no update */
    } rows[] = {
        {11, LB(), {BASE, .type = "ClusterIP", .uid = "u"}, "spec.type"},
        {12, LB(PORTS(P(8000), P(9000))), LB(PORTS(P(8001), P(9001))), "spec.ports"},
        {13, LB(EXTERNAL("o1")), LB(EXTERNAL("n1", "n2")), "spec.externalIPs"},
        {14, LB(EXTERNAL("o1", "o2")), LB(EXTERNAL("n1", "n2")), "spec.externalIPs"},
        {15, LB(), {BASE, .type = "LoadBalancer", .uid = "new"}, "metadata.uid"},
        {16, LB(), LB(.external_traffic_policy = "Local"), "spec.externalTrafficPolicy"},
        {17, LB(), LB(.health_check_node_port = 30123), "spec.healthCheckNodePort"},
        {18, LB(PORTS({.target_port = 20})), LB(PORTS({.target_port = 21})), "spec.ports"},
        {19, LB(PORTS({.target_port = 22})), LB(PORTS({.target_name = "dns"})), "spec.ports"},
        {20, LB(PORTS(P(80)), NOTES({"a", "b"})), LB(PORTS(P(80)), NOTES({"a", "b"})), NULL},
        {21, LB(FAMILIES("IPv4")), LB(FAMILIES("IPv4", "IPv6")), "spec.ipFamilies"},
        {22, LB(FAMILIES("IPv4", "IPv6")), LB(FAMILIES("IPv4")), "spec.ipFamilies"},
        {23, LB(FAMILIES("IPv4")), LB(FAMILIES("IPv4")), NULL},
        {24, LB(PORTS(P(80))), LB(PORTS({"", "TCP", "http", .port = 80})), "spec.ports"},
        {25, LB(PORTS({"", "TCP", "http", .port = 80})), LB(PORTS({"", "TCP", "tcp", .port = 80})),
         "spec.ports"},
        {26, LB(), LB(.labels = NULL, .resource_version = "9", .generation = 3), NULL},
        {27, {BASE, .type = "ClusterIP", .uid = "a"}, {BASE, .type = "ClusterIP"}, NULL},
        {28, LB(RANGES("a", "b")), LB(RANGES("b", "a")), "spec.loadBalancerSourceRanges"},
        {29, LB(), LB(NOTES({"a", "b"})), "metadata.annotations"},
        {30, LB(), LB(.lb_class = "x"), "spec.loadBalancerClass"},
        /* not numbered there: the rest of the table in §1.5 */
        {0, LB(.has_source_ranges = 1), LB(), "spec.loadBalancerSourceRanges"},
        {0, LB(.session_affinity = "None"), LB(), "spec.sessionAffinity"},
        {0, LB(), {.type = "LoadBalancer", .affinity_timeout_s = 60}, "spec.sessionAffinityConfig"},
        {0, LB(.lb_ip = ""), LB(.lb_ip = "192.0.2.1"), "spec.loadBalancerIP"},
        {0, LB(.lb_ip = ""), LB(.lb_ip = NULL), NULL}, /* Go has one empty string */
        {0, LB(PORTS(P(80))), LB(PORTS(P(80), P(81))), "spec.ports"},
        {0, LB(PORTS({"a", "TCP"})), LB(PORTS({"b", "TCP"})), "spec.ports"},
        {0, LB(PORTS({"a", "TCP"})), LB(PORTS({"a", "UDP"})), "spec.ports"},
        {0, LB(PORTS({.node_port = 30000})), LB(PORTS({.node_port = 30001})), "spec.ports"},
        {0, LB(PORTS({.app_protocol = ""})), LB(PORTS({.app_protocol = NULL})), "spec.ports"},
        {0, LB(NOTES({"a", "b"})), LB(NOTES({"a", "c"})), "metadata.annotations"},
        {0, LB(NOTES({"a", ""})), LB(NOTES({"b", ""})), "metadata.annotations"},
        {0, LB(.has_annotations = 1), LB(), NULL}, /* costs upstream a sync, us nothing */
        {0, LB(FAMILIES("IPv4", "IPv6")), LB(FAMILIES("IPv6", "IPv4")), NULL},
        {0, LB(.deleted_us = 1), LB(), NULL},
        {0, LB(.internal_traffic_policy = "Local"), LB(), NULL},
    };
    const struct svc_scope plain = {0};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *what = "untouched";
        bool update = svc_needs_update_in(&plain, &rows[i].o, &rows[i].c, &what);
        print_message("# row %d (%zu)\n", rows[i].row, i);
        assert_int_equal(update, rows[i].what != NULL);
        assert_string_equal(what != NULL ? what : "(none)",
                            rows[i].what != NULL ? rows[i].what : "(none)");
        assert_int_equal(svc_needs_update_in(&plain, &rows[i].o, &rows[i].c, NULL), update);
    }
}

static void svc_needs_update_in__classes_of_ours__compared_like_plain_ones(void **state)
{
    (void)state;
    static const char *const classes[] = {"class-a", "class-b"};
    const struct svc_scope ours = {.classes = classes, .n_classes = 2};
    const struct svc_scope none = {0};
    struct tt_service plain = LB();
    struct tt_service a = LB(.lb_class = "class-a");
    struct tt_service a80 = LB(.lb_class = "class-a", PORTS(P(80)));
    struct tt_service b = LB(.lb_class = "class-b");
    struct tt_service foreign = LB(.lb_class = "x");
    const char *what;
    assert_true(svc_needs_update_in(&ours, &a, &a80, &what));
    assert_string_equal(what, "spec.ports");
    assert_true(svc_needs_update_in(&ours, &a, &b, &what));
    assert_string_equal(what, "spec.loadBalancerClass");
    assert_true(svc_needs_update_in(&ours, &plain, &a, NULL));
    assert_true(svc_needs_update_in(&ours, &a, &foreign, NULL));
    assert_false(svc_needs_update_in(&ours, &a, &a, NULL));
    assert_false(svc_needs_update_in(&none, &a, &a80, NULL)); /* not ours: nothing concerns us */
}

/* gce-l4.md §11.16, and what a controller that ignores its own annotations must not miss. */
static void svc_needs_update_in__own_annotations__vectors(void **state)
{
    (void)state;
    static const char *const own[] = {"cloud.google.com/neg-status", "service.kubernetes.io*"};
    const struct svc_scope scope = {.own_annotations = own, .n_own_annotations = ARRAY_LEN(own)};
    const struct {
        int row;
        struct tt_service o, c;
        const char *what;
    } rows[] = {
        {191, LB(), LB(NOTES({"cloud.google.com/neg-status", "{}"})), NULL},
        {191, LB(NOTES({"a", "b"}, {"cloud.google.com/neg-status", "{}"})), LB(NOTES({"a", "b"})),
         NULL},
        {192, LB(NOTES({"service.kubernetes.io/tcp-forwarding-rule", "r"})),
         LB(NOTES({"service.kubernetes.io/udp-forwarding-rule", "r"})), NULL},
        {193, LB(NOTES({"RandomAnnotation", "1"})), LB(NOTES({"RandomAnnotation", "2"})),
         "metadata.annotations"},
        {194, LB(NOTES({"a", "b"})), LB(NOTES({"a", "b"})), NULL},
        {0, LB(NOTES({"cloud.google.com/neg", "1"})), LB(), "metadata.annotations"},
        {0, LB(NOTES({"cloud.google.com/neg-status2", "1"})), LB(), "metadata.annotations"},
        {0, LB(NOTES({"service.kubernetes.io/a", "1"})),
         LB(NOTES({"a", "1"}, {"service.kubernetes.io/b", "2"})), "metadata.annotations"},
        {0, LB(NOTES({"a", "1"}, {"service.kubernetes.io/b", "2"}, {"z", "1"})),
         LB(NOTES({"a", "1"}, {"z", "2"})), "metadata.annotations"},
        {0, LB(NOTES({"service.kubernetes.io/b", "2"})), LB(.health_check_node_port = 30123),
         "spec.healthCheckNodePort"},
        {0, LB(), LB(.traffic_distribution = "PreferClose"), NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *what = "untouched";
        print_message("# row %d (%zu)\n", rows[i].row, i);
        assert_int_equal(svc_needs_update_in(&scope, &rows[i].o, &rows[i].c, &what),
                         rows[i].what != NULL);
        assert_string_equal(str_or(what, "(none)"), str_or(rows[i].what, "(none)"));
        /* whatever the direction */
        assert_int_equal(svc_needs_update_in(&scope, &rows[i].c, &rows[i].o, NULL),
                         rows[i].what != NULL);
    }
}

static void svc_needs_update_in__traffic_distribution__when_followed(void **state)
{
    (void)state;
    const struct svc_scope scope = {.follows_distribution = true};
    struct tt_service none = LB();
    struct tt_service zone = LB(.traffic_distribution = "PreferSameZone");
    struct tt_service again = LB(.traffic_distribution = "PreferSameZone");
    const char *what;
    assert_true(svc_needs_update_in(&scope, &none, &zone, &what));
    assert_string_equal(what, "spec.trafficDistribution");
    assert_false(svc_needs_update_in(&scope, &zone, &again, NULL)); /* by value, not by pointer */
}

static void svc_traffic__types_and_policies__vectors(void **state)
{
    (void)state;
    const struct {
        int row;
        struct tt_service s;
        bool local, check;
        int32_t port;
    } rows[] = {
        {129, {BASE}, false, false, 0},
        {129, {BASE, .type = "ClusterIP"}, false, false, 0},
        {129, {BASE, .type = "NodePort"}, false, false, 0},
        {129, {BASE, .type = "NodePort", .external_traffic_policy = "Cluster"}, false, false, 0},
        {130, {BASE, .type = "NodePort", .external_traffic_policy = "Local"}, true, false, 0},
        {130, LB(.external_traffic_policy = "Cluster"), false, false, 0},
        {130, LB(.external_traffic_policy = "Local"), true, true, 0},
        {131, LB(.external_traffic_policy = "Local", .health_check_node_port = 30123), true, true,
         30123},
        {131, LB(.external_traffic_policy = "Cluster", .health_check_node_port = 30123), false,
         false, 0},
        {0, {BASE, .type = "ClusterIP", .external_traffic_policy = "Local"}, false, false, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int32_t port = -1;
        const char *path = svc_health_check(&rows[i].s, &port);
        print_message("# row %d (%zu)\n", rows[i].row, i);
        assert_int_equal(svc_only_local_traffic(&rows[i].s), rows[i].local);
        assert_int_equal(svc_needs_health_check(&rows[i].s), rows[i].check);
        assert_int_equal(port, rows[i].port);
        assert_string_equal(path != NULL ? path : "", rows[i].port != 0 ? "/healthz" : "");
    }
}

static void svc_default_lb_name__row_134__cut_at_32(void **state)
{
    static const char *const rows[][2] = {
        {"6fa8b6c4-3f1e-4c2a-9d57-0b1c2d3e4f50", "a6fa8b6c43f1e4c2a9d570b1c2d3e4f5"},
        {"11111111-2222-3333-4444-555555555555", "a1111111122223333444455555555555"},
        {"59c9c8c1-5b8a-4a5e-8a0c-123456789abc", "a59c9c8c15b8a4a5e8a0c123456789ab"},
        {"123", "a123"},
        {"", "a"},
        {"test-uid", "atestuid"},
        {"-----", "a"},
        {"ABC", "aABC"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_string_equal(svc_default_lb_name(*state, rows[i][0]), rows[i][1]);
    }
}

static void svc_split_key__row_94__at_most_one_slash(void **state)
{
    const struct {
        const char *key, *ns, *name, *error;
    } rows[] = {
        {"demo/web", "demo", "web", NULL},
        {"web", "", "web", NULL},
        {"", "", "", NULL},
        {"/", "", "", NULL},
        {"a/", "a", "", NULL},
        {"/a", "", "a", NULL},
        {"invalid/key/string", NULL, NULL, "unexpected key format: \"invalid/key/string\""},
        {"//", NULL, NULL, "unexpected key format: \"//\""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *ns = "untouched";
        const char *name = "untouched";
        struct err err = ERR_INIT;
        int rc = svc_split_key(*state, rows[i].key, &ns, &name, &err);
        assert_int_equal(rc, rows[i].error != NULL ? ERR_INVALID : ERR_OK);
        assert_string_equal(err.message, rows[i].error != NULL ? rows[i].error : "");
        assert_string_equal(ns, rows[i].error != NULL ? "untouched" : rows[i].ns);
        assert_string_equal(name, rows[i].error != NULL ? "untouched" : rows[i].name);
    }
}

static void svc_annotation__sorted_map__found_or_null(void **state)
{
    struct tt_service s = LB(NOTES({"a", "1"}, {"b", ""}, {"d", "3"}), .ns = "demo", .name = "web");
    struct tt_service none = LB();
    assert_string_equal(svc_annotation(&s, "a"), "1");
    assert_string_equal(svc_annotation(&s, "b"), "");
    assert_string_equal(svc_annotation(&s, "d"), "3");
    assert_null(svc_annotation(&s, "c"));
    assert_null(svc_annotation(&s, "e"));
    assert_null(svc_annotation(&none, "a"));
    assert_string_equal(svc_key(*state, &s), "demo/web");
}

UNIT_MAIN(service_rules)
{
    const struct CMUnitTest tests[] = {
        lb_test(svc_wants_lb__type_and_class__only_without_class),
        lb_test(svc_needs_cleanup__finalizer_and_state__vectors),
        lb_test(svc_has_finalizer__row_35__exact_match),
        lb_test(svc_needs_update_in__pairs__vectors),
        lb_test(svc_needs_update_in__classes_of_ours__compared_like_plain_ones),
        lb_test(svc_needs_update_in__own_annotations__vectors),
        lb_test(svc_needs_update_in__traffic_distribution__when_followed),
        lb_test(svc_traffic__types_and_policies__vectors),
        lb_test(svc_default_lb_name__row_134__cut_at_32),
        lb_test(svc_split_key__row_94__at_most_one_slash),
        lb_test(svc_annotation__sorted_map__found_or_null),
    };
    return cmocka_run_group_tests_name("service_rules", tests, NULL, NULL);
}
