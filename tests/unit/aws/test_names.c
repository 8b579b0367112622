/* SPDX-License-Identifier: Apache-2.0 */
/* test_names.c: names of load balancers, target groups and security groups; rows 1 to 30. */
#include "tests/support/unit.h"
#include "tests/unit/aws/aws_test.h"

static void target_groups__1_to_14(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *cluster, *ns, *name;
        int32_t port, node_port;
        const char *protocol, *health;
        int32_t interval;
        const char *want;
    } rows[] = {
        {"1", "cluster-a", "default", "service-a", 80, 8080, "TCP", "", 0,
         "k8s-default-servicea-7fa2e07508"},
        {"2", "cluster-b", "default", "service-a", 80, 8080, "TCP", "", 0,
         "k8s-default-servicea-719ee635da"},
        {"3", "cluster-a", "another", "service-a", 80, 8080, "TCP", "", 0,
         "k8s-another-servicea-f66e09847d"},
        {"4", "cluster-a", "default", "service-b", 80, 8080, "TCP", "", 0,
         "k8s-default-serviceb-196c19c881"},
        {"5", "cluster-a", "default", "service-a", 9090, 8080, "TCP", "", 0,
         "k8s-default-servicea-06876706cb"},
        {"6", "cluster-a", "default", "service-a", 80, 9090, "TCP", "", 0,
         "k8s-default-servicea-119f844ec0"},
        {"7", "cluster-a", "default", "service-a", 80, 8080, "UDP", "", 0,
         "k8s-default-servicea-3868761686"},
        /* 8 and 9 are of target type ip, which is not made here. */
        {"10", "c1", "default", "web", 80, 30080, "TCP", "TCP", 30, "k8s-default-web-2e7f1b24e2"},
        {"11", "c1", "default", "web", 80, 30080, "TCP", "HTTP", 10, "k8s-default-web-9f05bc89be"},
        {"12", "c1", "default", "dns", 53, 30053, "UDP", "TCP", 30, "k8s-default-dns-7da1eeeaf2"},
        {"13", "my-cluster", "ingress-nginx", "ingress-nginx-controller", 443, 31443, "TLS", "TCP",
         30, "k8s-ingressn-ingressn-9b3afe50cd"},
        {"14", "my-cluster", "ingress-nginx", "ingress-nginx-controller", 443, 31443, "TCP", "HTTP",
         10, "k8s-ingressn-ingressn-d786dd9744"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct aws_group_name_input in = {.cluster_id = rows[i].cluster,
                                          .namespace_ = rows[i].ns,
                                          .name = rows[i].name,
                                          .port = rows[i].port,
                                          .node_port = rows[i].node_port,
                                          .traffic_protocol = rows[i].protocol,
                                          .health_protocol = rows[i].health,
                                          .interval = rows[i].interval};
        const char *got = aws_target_group_name(a, &in);
        same_text(rows[i].row, got, rows[i].want);
        assert_true(strlen(got) <= 32);
        assert_true(str_has_prefix(got, aws_target_group_prefix(a, rows[i].ns, rows[i].name)));
    }
}

static void security_groups_of_nlbs__15_to_26(void **state)
{
    static const struct {
        const char *row, *cluster, *name, *ns, *uid, *want;
    } rows[] = {
        {"15", "test-cluster", "my-service", "default", "12345678-1234-1234-1234-123456789abc",
         "k8s-default-myservic-b7cb8b02f0"},
        {"16", "test-cluster", "my-service-123", "kube-system",
         "87654321-4321-4321-4321-cba987654321", "k8s-kubesyst-myservic-5aa269aeaf"},
        {"17", "test-cluster", "very-long-service-name-that-exceeds-limits",
         "very-long-namespace-name-that-also-exceeds", "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee",
         "k8s-verylong-verylong-24c7f2d8ee"},
        {"18", "", "test-service", "default", "test-uid-123", "k8s-default-testserv-4ff26f905f"},
        {"19", "prod-cluster-01", "api-v2.service", "prod-ns_01", "special-chars-uid-456",
         "k8s-prodns01-apiv2ser-9d72cd8df0"},
        {"20", "c", "a", "b", "x", "k8s-b-a-7a83d4e37a"},
        {"21", "test", "---***---", "___@@@___", "special-uid", "k8s---a9ace1b206"},
        {"22", "test-cluster-123", "app1-web@2023", "team-alpha_beta", "mixed-uid-789",
         "k8s-teamalph-app1web2-8cf12707a7"},
        {"23", "consistent-cluster", "hash-test", "hash-ns", "deterministic-uid",
         "k8s-hashns-hashtest-4f98483bd9"},
        {"24", "consistent-cluster", "hash-test", "hash-ns", "different-uid",
         "k8s-hashns-hashtest-7e5f9fc305"},
        {"25", "clusterid.test", "test-service", "test-namespace", "",
         "k8s-testname-testserv-45cd872285"},
        {"26", "kubernetes", "web", "default", UID, "k8s-default-web-133a436e34"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct tt_service s = {
            .size = sizeof(s), .ns = rows[i].ns, .name = rows[i].name, .uid = rows[i].uid};
        same_text(rows[i].row, aws_nlb_group_name(*state, rows[i].cluster, &s), rows[i].want);
    }
}

static void balancers_and_their_groups__27_to_30(void **state)
{
    static const struct {
        const char *row, *uid, *want;
    } rows[] = {
        {"27", UID, NAME},
        {"28", "5f2c9d7e-0b7a-4a37-9c7d-3f5e8c1b2a90", "a5f2c9d7e0b7a4a379c7d3f5e8c1b2a9"},
        {"29", "id", "aid"},
        {"30", "", "a"},
    };
    struct arena *a = *state;
    const struct aws_naming n = aws_test_naming();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct aws_service *s = aws_service_read(
            a, &n,
            test_service_text(
                a,
                arena_printf(
                    a, "{\"metadata\":{\"namespace\":\"default\",\"name\":\"web\",\"uid\":\"%s\"}}",
                    rows[i].uid)));
        same_text(rows[i].row, s->lb_name, rows[i].want);
        same_text(rows[i].row, s->classic_group, arena_printf(a, "k8s-elb-%s", rows[i].want));
    }
}

UNIT_MAIN(names)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(target_groups__1_to_14),
        PURE_TEST(security_groups_of_nlbs__15_to_26),
        PURE_TEST(balancers_and_their_groups__27_to_30),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
