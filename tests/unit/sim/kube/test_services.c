/* SPDX-License-Identifier: Apache-2.0 */
/* test_services.c: rules of Services beyond the recorded ones: allocation, types, families, deletion. */
#include "tests/support/unit.h"
#include "tests/unit/sim/kube/kube_fixture.h"

#include <string.h>

#define REQUIRE "\"ipFamilyPolicy\":\"RequireDualStack\","
#define PORTS   "\"ports\":[{\"port\":80}]"

static struct kf_call *post(struct kf *f, const char *name, const char *spec)
{
    return kf_do(f, "POST", SERVICES,
                 arena_printf(f->a, "{\"metadata\":{\"name\":\"%s\"},\"spec\":{%s}}", name, spec));
}

/* The first cause's field and message. */
static const char *cause(struct kf *f, struct kf_call *c)
{
    struct json_object *o = json_object_array_get_idx(json_path(c->json, "details.causes"), 0);
    return arena_printf(f->a, "%s: %s", str_nonnull(json_str(o, "field")),
                        str_nonnull(json_str(o, "message")));
}

static void create__wrong_specs__are_refused_by_field(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *field;
    } rows[] = {
        {"\"type\":\"Nope\"," PORTS, "spec.type"},
        {"\"type\":\"LoadBalancer\",\"clusterIP\":\"None\"," PORTS, "spec.clusterIPs[0]"},
        {"\"type\":\"ExternalName\"", "spec.externalName"},
        {"\"type\":\"ExternalName\",\"externalName\":\"UP\"", "spec.externalName"},
        {"\"type\":\"ClusterIP\",\"loadBalancerClass\":\"a/b\"," PORTS, "spec.loadBalancerClass"},
        {"\"type\":\"ClusterIP\",\"allocateLoadBalancerNodePorts\":true," PORTS,
         "spec.allocateLoadBalancerNodePorts"},
        {"\"type\":\"ClusterIP\",\"externalTrafficPolicy\":\"Local\"," PORTS,
         "spec.externalTrafficPolicy"},
        {"\"type\":\"ClusterIP\",\"ports\":[{\"port\":80,\"nodePort\":30000}]",
         "spec.ports[0].nodePort"},
        {"\"sessionAffinity\":\"Nope\"," PORTS, "spec.sessionAffinity"},
        {"\"externalIPs\":[\"x\"]," PORTS, "spec.externalIPs[0]"},
        {"\"selector\":{\"a b\":\"c\"}," PORTS, "spec.selector"},
        {"\"ports\":[{\"port\":80,\"targetPort\":\"UPPER\"}]", "spec.ports[0].targetPort"},
        {"\"ports\":[{\"port\":80,\"name\":\"a_b\"}]", "spec.ports[0].name"},
        {"\"ports\":[{\"port\":80,\"name\":\"a\"},{\"port\":81,\"name\":\"a\"}]",
         "spec.ports[1].name"},
        {"\"ports\":[{\"port\":80,\"appProtocol\":\"a b\"}]", "spec.ports[0].appProtocol"},
        {"\"type\":\"LoadBalancer\",\"loadBalancerSourceRanges\":[\"10.1.2.3/8\"]," PORTS,
         "spec.LoadBalancerSourceRanges[0]"},
        {"\"clusterIP\":\"10.9.0.1\"," PORTS, "spec.clusterIPs"},
        {"\"clusterIP\":\"10.0.0.1\"," PORTS, "spec.clusterIPs"},
        {"\"clusterIPs\":[\"10.0.0.9\"]," PORTS, "spec.clusterIPs"},
        {"\"ipFamilies\":[\"IPv6\"]," PORTS, "spec.ipFamilies[0]"},
        {"\"ipFamilies\":[\"IPv5\"]," PORTS, "spec.ipFamilies[0]"},
        {"\"internalTrafficPolicy\":\"Nope\"," PORTS, "spec.internalTrafficPolicy"},
        {"\"trafficDistribution\":\"Nope\"," PORTS, "spec.trafficDistribution"},
    };
    struct kf *f = kf_start(NULL);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct kf_call *c = post(f, "x", rows[i].spec);
        kf_expect(c, 422, rows[i].spec);
        const char *got = cause(f, c);
        if (!str_has_prefix(got, arena_printf(f->a, "%s: ", rows[i].field))) {
            fail_msg("%s: want a cause at %s, got %s", rows[i].spec, rows[i].field, got);
        }
    }
    kf_stop(f);
}

static void node_ports__taken_ones__are_refused_and_come_back_after_deletion(void **state)
{
    (void)state;
    static const char spec[] = "\"type\":\"NodePort\",\"ports\":[{\"port\":80,\"nodePort\":30123}]";
    struct kf *f = kf_start(NULL);
    kf_expect(post(f, "a", spec), 201, "first");
    struct kf_call *c = post(f, "b", spec);
    kf_expect(c, 422, "taken");
    assert_string_equal(
        cause(f, c),
        "spec.ports[0].nodePort: Invalid value: 30123: provided port is already allocated");
    kf_expect(kf_do(f, "DELETE", SERVICES "/a", NULL), 200, "delete");
    kf_expect(post(f, "b", spec), 201, "free again");
    kf_stop(f);
}

/* The node port of the i-th entry. */
static int64_t node_port(struct kf_call *c, size_t i)
{
    return json_int(json_object_array_get_idx(json_path(c->json, "spec.ports"), i), "nodePort", 0);
}

#define DNS_TCP "{\"name\":\"tcp\",\"port\":53}"
#define DNS_UDP "{\"name\":\"udp\",\"port\":53,\"protocol\":\"UDP\"}"

static void node_ports__both_protocols_of_a_port__share_when_made_and_not_when_added(void **state)
{
    (void)state;
    struct kf *f = kf_start(NULL);
    struct kf_call *c = post(f, "a", "\"type\":\"NodePort\",\"ports\":[" DNS_TCP "," DNS_UDP "]");
    kf_expect(c, 201, "made with both");
    assert_int_equal(node_port(c, 0), node_port(c, 1));
    kf_expect(post(f, "b", "\"type\":\"NodePort\",\"ports\":[" DNS_TCP "]"), 201, "made with one");
    c = kf_patch(f, SERVICES "/b", MERGE, "{\"spec\":{\"ports\":[" DNS_TCP "," DNS_UDP "]}}");
    kf_expect(c, 200, "the other added");
    assert_true(node_port(c, 1) >= 30000);
    assert_true(node_port(c, 0) != node_port(c, 1));
    kf_stop(f);
}

static void node_ports__update_asks_for_one__as_the_allocator_of_updates_says(void **state)
{
    (void)state;
    static const struct {
        const char *ports;
        int code;
        const char *message; /* NULL: any */
    } rows[] = {
        {"{\"name\":\"b\",\"port\":81,\"nodePort\":30080}", 200,
         NULL}, /* its sibling's, which goes */
        {"{\"name\":\"a\",\"port\":80,\"nodePort\":30080},"
         "{\"name\":\"b\",\"port\":81,\"nodePort\":30080}",
         500, "duplicate nodePort: {TCP 30080}"},
        {"{\"name\":\"a\",\"port\":80,\"nodePort\":30080},"
         "{\"name\":\"b\",\"port\":81,\"protocol\":\"UDP\",\"nodePort\":30080}",
         200, NULL},
        {"{\"name\":\"a\",\"port\":80,\"nodePort\":30099}", 422, NULL}, /* another Service's */
        {"{\"name\":\"a\",\"port\":80,\"nodePort\":30070}", 422, NULL}, /* its health check's */
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct kf *f = kf_start(NULL);
        kf_expect(
            post(f, "other", "\"type\":\"NodePort\",\"ports\":[{\"port\":80,\"nodePort\":30099}]"),
            201, "other");
        kf_expect(post(f, "a",
                       "\"type\":\"LoadBalancer\",\"externalTrafficPolicy\":\"Local\","
                       "\"healthCheckNodePort\":30070,\"ports\":["
                       "{\"name\":\"a\",\"port\":80,\"nodePort\":30080},"
                       "{\"name\":\"b\",\"port\":81,\"nodePort\":30081}]"),
                  201, "a");
        struct kf_call *c =
            kf_patch(f, SERVICES "/a", MERGE,
                     arena_printf(f->a, "{\"spec\":{\"ports\":[%s]}}", rows[i].ports));
        kf_expect(c, rows[i].code, rows[i].ports);
        if (rows[i].message != NULL) {
            assert_string_equal(kf_text(c, "message"), rows[i].message);
        }
        kf_stop(f);
    }
}

static void type__to_cluster_ip_and_back__drops_and_gains(void **state)
{
    (void)state;
    struct kf *f = kf_start(NULL);
    kf_expect(post(f, "a", "\"type\":\"LoadBalancer\",\"externalTrafficPolicy\":\"Local\"," PORTS),
              201, "a");
    struct kf_call *c = kf_patch(f, SERVICES "/a", MERGE, "{\"spec\":{\"type\":\"ClusterIP\"}}");
    kf_expect(c, 200, "down");
    assert_string_equal(kf_text(c, "spec.externalTrafficPolicy"), "");
    assert_string_equal(kf_text(c, "spec.healthCheckNodePort"), "");
    assert_string_equal(kf_text(c, "spec.allocateLoadBalancerNodePorts"), "");
    c = kf_patch(f, SERVICES "/a", MERGE, "{\"spec\":{\"type\":\"LoadBalancer\"}}");
    kf_expect(c, 200, "up");
    assert_string_equal(kf_text(c, "spec.externalTrafficPolicy"), "Cluster");
    struct json_object *port = json_object_array_get_idx(json_path(c->json, "spec.ports"), 0);
    assert_true(json_int(port, "nodePort", 0) >= 30000);
    c = kf_patch(f, SERVICES "/a", MERGE,
                 "{\"spec\":{\"type\":\"ExternalName\",\"externalName\":\"x.example.com\"}}");
    kf_expect(c, 200, "external name");
    assert_string_equal(kf_text(c, "spec.clusterIP"), "");
    kf_stop(f);
}

static void headless__gets_no_address(void **state)
{
    (void)state;
    struct kf *f = kf_start(NULL);
    struct kf_call *c = post(f, "a", "\"clusterIP\":\"None\"");
    kf_expect(c, 201, "headless");
    assert_string_equal(kf_text(c, "spec.clusterIP"), "None");
    assert_string_equal(kf_text(c, "spec.ipFamilies"),
                        "[ \"IPv4\", \"IPv6\" ]"); /* without a selector */
    c = kf_patch(f, SERVICES "/a", MERGE, "{\"spec\":{\"clusterIP\":\"10.0.0.77\"}}");
    kf_expect(c, 422, "may not change");
    kf_stop(f);
}

static void update__put_without_chosen_values__keeps_them(void **state)
{
    (void)state;
    struct kf *f = kf_start(NULL);
    struct kf_call *made = kf_do(f, "POST", SERVICES, kf_service(f, "a"));
    struct kf_call *put = kf_do(f, "PUT", SERVICES "/a", kf_service(f, "a"));
    kf_expect(put, 200, "put");
    assert_true(json_equal(json_member(made->json, "spec"), json_member(put->json, "spec")));
    assert_string_equal(kf_text(put, "metadata.uid"), kf_text(made, "metadata.uid"));
    assert_string_equal(kf_text(put, "metadata.resourceVersion"),
                        kf_text(made, "metadata.resourceVersion"));
    kf_stop(f);
}

static void update__other_uid__conflicts(void **state)
{
    (void)state;
    struct kf *f = kf_start(NULL);
    kf_expect(kf_do(f, "POST", SERVICES, kf_service(f, "a")), 201, "a");
    struct kf_call *c =
        kf_do(f, "PUT", SERVICES "/a",
              "{\"metadata\":{\"name\":\"a\",\"uid\":\"nope\"},\"spec\":{" PORTS "}}");
    kf_expect(c, 409, "uid");
    kf_expect(kf_do(f, "PUT", SERVICES "/a", kf_service(f, "b")), 400, "another name");
    kf_stop(f);
}

static void status__of_a_service_that_is_no_load_balancer__is_refused(void **state)
{
    (void)state;
    struct kf *f = kf_start(NULL);
    kf_expect(post(f, "a", PORTS), 201, "a");
    struct kf_call *c =
        kf_patch(f, SERVICES "/a/status", MERGE,
                 "{\"status\":{\"loadBalancer\":{\"ingress\":[{\"ip\":\"192.0.2.1\"}]}}}");
    kf_expect(c, 422, "status");
    assert_string_equal(
        cause(f, c), "status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is "
                     "'LoadBalancer'");
    kf_stop(f);
}

static void finalizers__through_status__hold_and_release(void **state)
{
    (void)state;
    struct kf *f = kf_start(NULL);
    kf_expect(kf_do(f, "POST", SERVICES, kf_service(f, "a")), 201, "a");
    kf_expect(
        kf_patch(f, SERVICES "/a/status", STRATEGIC, "{\"metadata\":{\"finalizers\":[\"x/y\"]}}"),
        200, "add");
    struct kf_call *c = kf_do(f, "DELETE", SERVICES "/a", NULL);
    kf_expect(c, 200, "delete");
    assert_string_not_equal(kf_text(c, "metadata.deletionTimestamp"), "");
    kf_expect(kf_patch(f, SERVICES "/a/status", STRATEGIC, "{\"metadata\":{\"finalizers\":null}}"),
              200, "drop");
    kf_expect(kf_patch(f, SERVICES "/a/status", STRATEGIC,
                       "{\"status\":{\"loadBalancer\":{\"ingress\":null}}}"),
              404, "gone");
    kf_stop(f);
}

static void dual_stack__families_of_the_cluster__decide(void **state)
{
    (void)state;
    static const struct {
        bool v4, v6, v6_first;
        const char *spec, *want;
    } rows[] = {
        {true, false, false, PORTS, "[ \"IPv4\" ]"},
        {false, true, false, PORTS, "[ \"IPv6\" ]"},
        {true, true, true, PORTS, "[ \"IPv6\" ]"},
        {true, true, true, "\"ipFamilyPolicy\":\"PreferDualStack\"," PORTS,
         "[ \"IPv6\", \"IPv4\" ]"},
        {true, true, false, REQUIRE "\"ipFamilies\":[\"IPv6\",\"IPv4\"]," PORTS,
         "[ \"IPv6\", \"IPv4\" ]"},
        {true, true, false,
         REQUIRE "\"clusterIPs\":[\"10.0.9.9\",\"fd00:1::9\"],\"clusterIP\":\"10.0.9.9\"," PORTS,
         "[ \"IPv4\", \"IPv6\" ]"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct sim_config cfg = {
            .ipv4 = rows[i].v4, .ipv6 = rows[i].v6, .ipv6_first = rows[i].v6_first};
        struct kf *f = kf_start(&cfg);
        struct kf_call *c = post(f, "a", rows[i].spec);
        kf_expect(c, 201, rows[i].spec);
        assert_string_equal(kf_text(c, "spec.ipFamilies"), rows[i].want);
        assert_int_equal(json_len(json_path(c->json, "spec.clusterIPs")),
                         json_len(json_path(c->json, "spec.ipFamilies")));
        kf_stop(f);
    }
}

UNIT_MAIN(services)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(create__wrong_specs__are_refused_by_field),
        cmocka_unit_test(node_ports__taken_ones__are_refused_and_come_back_after_deletion),
        cmocka_unit_test(node_ports__both_protocols_of_a_port__share_when_made_and_not_when_added),
        cmocka_unit_test(node_ports__update_asks_for_one__as_the_allocator_of_updates_says),
        cmocka_unit_test(type__to_cluster_ip_and_back__drops_and_gains),
        cmocka_unit_test(headless__gets_no_address),
        cmocka_unit_test(update__put_without_chosen_values__keeps_them),
        cmocka_unit_test(update__other_uid__conflicts),
        cmocka_unit_test(status__of_a_service_that_is_no_load_balancer__is_refused),
        cmocka_unit_test(finalizers__through_status__hold_and_release),
        cmocka_unit_test(dual_stack__families_of_the_cluster__decide),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
