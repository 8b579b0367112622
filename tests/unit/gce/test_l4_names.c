/* SPDX-License-Identifier: Apache-2.0 */
/* test_l4_names.c: names and descriptions of ingress-gce's balancers; rows N1–N32 of gce-l4.md §2.5
 * (but N22–N24, names that nothing makes) and V178. */
#include "tests/unit/gce/pure.h"

#include "providers/gce/model/gce_l4_names.h"
#include "tests/support/unit.h"

#define KS  "kubesystem-uid1"
#define L1  "012345678901234567890123456789012345678901234567890123456789abc"
#define L2  "012345678901234567890123456789012345678901234567890123456789pqr"
#define N25 "extremely-long-name-that-has-a-different-ending-that-gets-truncated"
#define N26 "extremely-long-name-that-has-a-different-ending-that-gets-shortened"

static void rule_names__N1_N2_N10_to_N12_N20_N21_N29_N30(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *uid, *ns, *name, *protocol;
        bool v6;
        const char *want;
    } rows[] = {
        {"N1", KS, "namespace", "name", "TCP", false, "k8s2-tcp-7kpbhpki-namespace-name-956p2p7x"},
        {"N2", KS, "namespace", "name", "TCP", true,
         "k8s2-tcp-7kpbhpki-namespace-name-956p2p7x-ipv6"},
        {"N10", KS, "namespace", "name", "L3_DEFAULT", false,
         "k8s2-l3-7kpbhpki-namespace-name-956p2p7x"},
        {"N10", KS, "namespace", "name", "L3_DEFAULT", true,
         "k8s2-l3-7kpbhpki-namespace-name-956p2p7x-ipv6"},
        {"N11", KS, L1, L2, "UDP", false,
         "k8s2-udp-7kpbhpki-012345678901234567-01234567890123456-hwm400mg"},
        {"N12", KS, L1, L2, "UDP", true,
         "k8s2-udp-7kpbhpki-012345678901234567-01234567890123456-hwm-ipv6"},
        {"N20", KS, L1, L2, "L3_DEFAULT", false,
         "k8s2-l3-7kpbhpki-012345678901234567-012345678901234567-hwm400mg"},
        {"N21", KS, L1, L2, "L3_DEFAULT", true,
         "k8s2-l3-7kpbhpki-012345678901234567-012345678901234567-hwm-ipv6"},
        {"N29", "ksuid123", "test-namespace", "test-name", "TCP", false,
         "k8s2-tcp-axyqjz2d-test-namespace-test-name-yuvhdy7i"},
        {"N30", "ksuid123", "test-ns", "test-svc", "TCP", false,
         "k8s2-tcp-axyqjz2d-test-ns-test-svc-pyn67fp6"},
        {"N30", "ksuid123", "test-ns", "test-svc", "UDP", false,
         "k8s2-udp-axyqjz2d-test-ns-test-svc-pyn67fp6"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct gce_l4_names n;
        gce_l4_names_make(a, rows[i].uid, rows[i].ns, rows[i].name, "", &n);
        const char *v4 = str_eq(rows[i].protocol, "TCP")   ? n.rule_tcp
                         : str_eq(rows[i].protocol, "UDP") ? n.rule_udp
                                                           : n.rule_l3;
        const char *v6 = str_eq(rows[i].protocol, "TCP")   ? n.rule_tcp_v6
                         : str_eq(rows[i].protocol, "UDP") ? n.rule_udp_v6
                                                           : n.rule_l3_v6;
        same_text(rows[i].row, rows[i].v6 ? v6 : v4, rows[i].want);
    }
}

static void names__of_one_service__N1_to_N31(void **state)
{
    struct arena *a = *state;
    struct gce_l4_names n;
    gce_l4_names_make(a, KS, "namespace", "name", "1234567890", &n);
    same_text("N1", n.rule_tcp, "k8s2-tcp-7kpbhpki-namespace-name-956p2p7x");
    same_text("N2", n.rule_tcp_v6, "k8s2-tcp-7kpbhpki-namespace-name-956p2p7x-ipv6");
    same_text("udp", n.rule_udp, "k8s2-udp-7kpbhpki-namespace-name-956p2p7x");
    same_text("udp", n.rule_udp_v6, "k8s2-udp-7kpbhpki-namespace-name-956p2p7x-ipv6");
    same_text("N10", n.rule_l3, "k8s2-l3-7kpbhpki-namespace-name-956p2p7x");
    same_text("N10", n.rule_l3_v6, "k8s2-l3-7kpbhpki-namespace-name-956p2p7x-ipv6");
    same_text("N3", n.backend, "k8s2-7kpbhpki-namespace-name-956p2p7x");
    same_text("N3", n.firewall, n.backend);
    same_text("N3", n.local_check, n.backend);
    same_text("N6", n.firewall_v6, "k8s2-7kpbhpki-namespace-name-956p2p7x-ipv6");
    same_text("N7", n.local_check_firewall, "k8s2-7kpbhpki-namespace-name-956p2p7x-fw");
    same_text("N7", n.local_check_firewall_v6, "k8s2-7kpbhpki-namespace-name-956p2p7x-fw-ipv6");
    same_text("N8", n.shared_check, "k8s2-7kpbhpki-l4-shared-hc");
    same_text("N8", n.shared_check_firewall, "k8s2-7kpbhpki-l4-shared-hc-fw");
    same_text("N8", n.shared_check_firewall_v6, "k8s2-7kpbhpki-l4-shared-hc-fw-ipv6");
    same_text("N9", n.deny, "k8s2-7kpbhpki-namespace-name-956p2p7x-deny");
    same_text("N9", n.deny_v6, "k8s2-7kpbhpki-namespace-name-956p2p7x-deny-ipv6");
    same_text("N31", n.legacy, "a1234567890");
    same_text("N31", n.legacy_v6, "a1234567890-ipv6");
    gce_l4_names_make(a, "ksuid123", "test-namespace", "test-name", "", &n);
    same_text("N29", n.backend, "k8s2-axyqjz2d-test-namespace-test-name-yuvhdy7i");
}

static void names__longer_than_63_bytes__N13_to_N19(void **state)
{
    struct arena *a = *state;
    struct gce_l4_names n;
    gce_l4_names_make(a, KS, L1, L2, "", &n);
    same_text("N13", n.backend, "k8s2-7kpbhpki-01234567890123456789-0123456789012345678-hwm400mg");
    same_text("N15", n.firewall_v6,
              "k8s2-7kpbhpki-01234567890123456789-0123456789012345678-hwm-ipv6");
    same_text("N16", n.local_check_firewall,
              "k8s2-7kpbhpki-01234567890123456789-0123456789012345678-hwm40-fw");
    same_text("N17", n.local_check_firewall_v6,
              "k8s2-7kpbhpki-01234567890123456789-0123456789012345678--fw-ipv6");
    same_text("N18", n.deny, "k8s2-7kpbhpki-01234567890123456-01234567890123456-hwm400mg-deny");
    same_text("N19", n.deny_v6, "k8s2-7kpbhpki-012345678901234-01234567890123-hwm400mg-deny-ipv6");
}

static void names__two_services__N25_to_N28(void **state)
{
    struct arena *a = *state;
    struct gce_l4_names one;
    struct gce_l4_names other;
    gce_l4_names_make(a, KS, "default", N25, "", &one);
    gce_l4_names_make(a, KS, "default", N26, "", &other);
    same_text("N25", one.backend,
              "k8s2-7kpbhpki-defa-extremely-long-name-that-has-a-diff-rhlqlhck");
    same_text("N26", other.backend,
              "k8s2-7kpbhpki-defa-extremely-long-name-that-has-a-diff-eq7vnxfg");
    same_text("N27", one.local_check_firewall_v6,
              "k8s2-7kpbhpki-defa-extremely-long-name-that-has-a-diff--fw-ipv6");
    same_text("N27, the same of both", other.local_check_firewall_v6, one.local_check_firewall_v6);
    same_text("N28", one.deny, "k8s2-7kpbhpki-defa-extremely-long-name-that-has-a-rhlqlhck-deny");
    same_text("N28", one.deny_v6,
              "k8s2-7kpbhpki-def-extremely-long-name-that-h-rhlqlhck-deny-ipv6");
}

static void cluster_hash__N32(void **state)
{
    struct arena *a = *state;
    same_text("N32 empty", gce_l4_cluster_hash(a, ""), "bwgu80sk");
    same_text("N32", gce_l4_cluster_hash(a, "ks123"), "h0zmu0xg");
    same_text("N32", gce_l4_cluster_hash(a, "uid1"), "rrsi7zsy");
    same_text("N32", gce_l4_cluster_hash(a, "test"), "fqsls4ht");
}

/* No name is longer than the API allows, and what differs at the end differs in the name. */
static void names__every_length__at_most_63_bytes(void **state)
{
    struct arena *a = *state;
    for (int n_ns = 1; n_ns <= 63; n_ns += 3) {
        for (int n_name = 1; n_name <= 63; n_name++) {
            struct gce_l4_names n;
            const char *ns = arena_printf(a, "%.*s", n_ns, L1);
            const char *name = arena_printf(a, "%.*s", n_name, L2);
            gce_l4_names_make(a, KS, ns, name, "", &n);
            const char *const all[] = {
                n.backend,     n.rule_tcp, n.rule_l3, n.rule_udp_v6,
                n.firewall_v6, n.deny,     n.deny_v6, n.local_check_firewall};
            for (size_t i = 0; i < ARRAY_LEN(all); i++) {
                assert_in_range(strlen(all[i]), 1, 63);
            }
            assert_true(str_has_suffix(n.backend, strrchr(n.rule_l3, '-')));
        }
    }
}

static void group_name__long_ids__are_cut(void **state)
{
    struct arena *a = *state;
    same_text("8.1", gce_l4_group_name(a, ""), "k8s-ig");
    same_text("8.1", gce_l4_group_name(a, "0123456789abcdef"), "k8s-ig--0123456789abcdef");
    assert_int_equal(
        strlen(gce_l4_group_name(a, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                                    "aaa")),
        62);
    same_text("8.1",
              gce_l4_group_name(a, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
              "k8s-ig--aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa0");
}

static void describe__every_object__bytes_of_upstream(void **state)
{
    struct arena *a = *state;
    same_text("rule, IPv4",
              gce_l4_describe(a, &(struct gce_l4_description){.service = "ns/name",
                                                              .version = "ga",
                                                              .ip = "10.0.0.1"}),
              "{\"networking.gke.io/service-name\":\"ns/name\",\"networking.gke.io/api-version\":"
              "\"ga\",\"networking.gke.io/service-ip\":\"10.0.0.1\"}");
    same_text("rule, IPv6", gce_l4_describe(a, &(struct gce_l4_description){.service = "ns/name"}),
              "{\"networking.gke.io/service-name\":\"ns/name\"}");
    same_text(
        "shared check",
        gce_l4_describe(a, &(struct gce_l4_description){.service = "",
                                                        .version = "ga",
                                                        .text = gce_l4_shared_text(a, "ILB")}),
        "{\"networking.gke.io/service-name\":\"\",\"networking.gke.io/api-version\":\"ga\","
        "\"networking.gke.io/resource-description\":\"This resource is shared by all L4 ILB "
        "Services using ExternalTrafficPolicy: Cluster.\"}");
    same_text("shared firewall: two blanks", gce_l4_shared_text(a, ""),
              "This resource is shared by all L4  Services using ExternalTrafficPolicy: Cluster.");
    same_text("address", gce_l4_address_description(a, "ns/name"),
              "{\"kubernetes.io/service-name\":\"ns/name\"}");
}

static void description_parse__what_was_described__comes_back(void **state)
{
    struct arena *a = *state;
    struct gce_l4_description d = {.service = "x"};
    const char *text = gce_l4_describe(
        a, &(struct gce_l4_description){
               .service = "ns/name", .version = "beta", .ip = "1.2.3.4", .text = "shared"});
    assert_true(gce_l4_description_parse(a, text, &d));
    assert_string_equal(d.service, "ns/name");
    assert_string_equal(d.version, "beta");
    assert_string_equal(d.ip, "1.2.3.4");
    assert_string_equal(d.text, "shared");
    assert_true(gce_l4_description_parse(a, "null", &d));
    assert_string_equal(d.service, "");
    static const char *const none[] = {
        "", "made by hand", "[]", "{}x", "7", "{\"networking.gke.io/service-name\":7}"};
    for (size_t i = 0; i < ARRAY_LEN(none); i++) {
        if (gce_l4_description_parse(a, none[i], &d)) {
            fail_msg("%s is no description", none[i]);
        }
    }
}

static void description_same__2_6__a_newer_api_version_stays(void **state)
{
    struct arena *a = *state;
#define D(service, version)                                                                        \
    "{\"networking.gke.io/service-name\":\"" service                                               \
    "\",\"networking.gke.io/api-version\":\"" version "\"}"
    static const struct {
        const char *is, *want;
        bool same;
    } rows[] = {
        {D("d/s", "ga"), D("d/s", "ga"), true},
        {D("d/s", "beta"), D("d/s", "ga"), true},
        {D("d/s", "alpha"), D("d/s", "ga"), true},
        {D("d/s", "ga"), D("d/s", "beta"), false},
        {D("d/t", "beta"), D("d/s", "ga"), false},
        {D("d/s", "x"), D("d/s", "ga"), false},
        {"by hand", D("d/s", "ga"), false},
        {"", D("d/s", "ga"), false},
        {"", "", true},
        {"{\"kubernetes.io/service-name\":\"d/t\"}", "{\"kubernetes.io/service-name\":\"d/s\"}",
         false},
    };
#undef D
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (gce_l4_description_same(a, rows[i].is, rows[i].want) != rows[i].same) {
            fail_msg("%s beside %s: want %d", rows[i].is, rows[i].want, rows[i].same);
        }
    }
}

UNIT_MAIN(l4_names)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(rule_names__N1_N2_N10_to_N12_N20_N21_N29_N30),
        PURE_TEST(names__of_one_service__N1_to_N31),
        PURE_TEST(names__longer_than_63_bytes__N13_to_N19),
        PURE_TEST(names__two_services__N25_to_N28),
        PURE_TEST(cluster_hash__N32),
        PURE_TEST(names__every_length__at_most_63_bytes),
        PURE_TEST(group_name__long_ids__are_cut),
        PURE_TEST(describe__every_object__bytes_of_upstream),
        PURE_TEST(description_parse__what_was_described__comes_back),
        PURE_TEST(description_same__2_6__a_newer_api_version_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
