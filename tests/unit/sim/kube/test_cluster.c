/* SPDX-License-Identifier: Apache-2.0 */
/* test_cluster.c: worlds, the nodes and Services that the simulator makes itself, EndpointSlices
 * for pods, roles. */
#include "tests/support/unit.h"
#include "tests/unit/sim/kube/kube_fixture.h"

#include <event2/event.h>

#include <stdlib.h>
#include <string.h>

static const char small_world[] =
    "{\"kubernetes\":{"
    "\"namespaces\":[{\"kind\":\"Namespace\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"kube-"
    "system\",\"uid\":\"u-1\","
    "\"resourceVersion\":\"4\"}}],"
    "\"services\":[{\"kind\":\"Service\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"old\","
    "\"namespace\":\"shop\","
    "\"uid\":\"u-2\",\"resourceVersion\":\"900\"},\"spec\":{\"type\":\"LoadBalancer\",\"odd\":true,"
    "\"ports\":[{\"port\":80,"
    "\"nodePort\":30100}],\"clusterIP\":\"10.0.0.40\",\"clusterIPs\":[\"10.0.0.40\"]}}],"
    "\"widgets\":[{\"metadata\":{\"name\":\"w\"}}]}}";

static struct json_object *kube_part(struct kf *f)
{
    return json_member(kf_do(f, "GET", "/sim/state", NULL)->json, "kubernetes");
}

static void world__loaded__is_kept_without_validation(void **state)
{
    (void)state;
    struct kf *f = kf_start(NULL);
    kf_expect(kf_do(f, "PUT", "/sim/state", small_world), 200, "load");
    struct kf_call *c = kf_do(f, "GET", "/api/v1/namespaces/shop/services/old", NULL);
    kf_expect(c, 200, "service");
    assert_string_equal(kf_text(c, "metadata.uid"), "u-2");
    assert_string_equal(kf_text(c, "metadata.resourceVersion"), "900");
    assert_string_equal(kf_text(c, "spec.odd"), "true");
    assert_string_equal(
        kf_text(kf_do(f, "GET", "/api/v1/namespaces/kube-system", NULL), "metadata.uid"), "u-1");
    kf_expect(kf_do(f, "GET", "/api/v1/namespaces/shop", NULL), 200, "a namespace in use is made");
    kf_expect(kf_do(f, "GET", "/api/v1/namespaces/default/services/kubernetes", NULL), 404,
              "services are listed");
    assert_int_equal(json_len(json_member(kube_part(f), "widgets")), 1);
    /* Its values count as used. */
    c = kf_do(f, "POST", SERVICES,
              "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"type\":\"NodePort\",\"ports\":[{\"port\":"
              "1,\"nodePort\":30100}]}}");
    kf_expect(c, 422, "port is taken");
    kf_stop(f);
}

static void world__dumped_and_loaded__is_the_same(void **state)
{
    (void)state;
    struct sim_config cfg = {.nodes = 3, .services = 2, .service_class = "example.com/x"};
    struct kf *f = kf_start(&cfg);
    kf_expect(kf_do(f, "PUT", "/sim/pods/default/service-0", "{\"node-0\":2}"), 200, "pods");
    struct kf_call *before = kf_do(f, "GET", "/sim/state", NULL);
    kf_expect(kf_do(f, "PUT", "/sim/state", before->body), 200, "load");
    struct kf_call *after = kf_do(f, "GET", "/sim/state", NULL);
    assert_string_equal(before->body, after->body);
    kf_expect(kf_do(f, "PUT", "/sim/state", "{\"kubernetes\":{\"services\":{}}}"), 400, "no list");
    kf_expect(kf_do(f, "PUT", "/sim/state", "{\"kubernetes\":{\"nodes\":[{}]}}"), 400, "no name");
    assert_string_equal(kf_do(f, "GET", "/sim/state", NULL)->body, before->body);
    kf_stop(f);
}

/* Recorded worlds show events without their metadata. */
static void world__events_without_names__are_kept(void **state)
{
    (void)state;
    struct kf *f = kf_start(NULL);
    kf_expect(kf_do(f, "PUT", "/sim/state",
                    "{\"kubernetes\":{\"events\":[{\"reason\":\"A\"},{\"reason\":\"B\"}]}}"),
              200, "load");
    struct json_object *events = json_member(kube_part(f), "events");
    assert_int_equal(json_len(events), 2);
    assert_string_equal(json_str(json_object_array_get_idx(events, 1), "reason"), "B");
    kf_stop(f);
}

static void world__no_change_to_a_loaded_object__is_no_write(void **state)
{
    (void)state;
    struct kf *f = kf_start(NULL);
    struct kf_call *made = kf_do(f, "POST", SERVICES, kf_service(f, "a"));
    struct kf_call *world = kf_do(f, "GET", "/sim/state", NULL);
    kf_expect(kf_do(f, "PUT", "/sim/state", world->body), 200, "load");
    struct kf_call *c = kf_patch(f, SERVICES "/a", MERGE, "{\"spec\":{\"type\":\"LoadBalancer\"}}");
    kf_expect(c, 200, "patch");
    assert_string_equal(kf_text(c, "metadata.resourceVersion"),
                        kf_text(made, "metadata.resourceVersion"));
    kf_stop(f);
}

static void nodes__made_by_the_simulator__look_real(void **state)
{
    (void)state;
    struct sim_config cfg = {.nodes = 2, .node_images = 40};
    struct kf *f = kf_start(&cfg);
    struct kf_call *c = kf_do(f, "GET", "/api/v1/nodes/node-1", NULL);
    kf_expect(c, 200, "node");
    assert_in_range(c->body_len, 15000, 30000);
    struct json_object *labels = json_path(c->json, "metadata.labels");
    assert_string_equal(json_str(labels, "topology.kubernetes.io/zone"), "us-central1-b");
    assert_string_equal(json_str(labels, "topology.kubernetes.io/region"), "us-central1");
    assert_string_equal(kf_text(c, "spec.podCIDR"), "10.64.1.0/24");
    assert_string_equal(kf_text(c, "spec.taints"), "");
    assert_int_equal(json_len(json_path(c->json, "status.images")), 40);
    kf_expect(kf_do(f, "DELETE", "/sim/nodes/node-1", NULL), 200, "remove");
    kf_expect(kf_do(f, "GET", "/api/v1/nodes/node-1", NULL), 404, "gone");
    kf_stop(f);
}

/* "node-0:10.64.0.2 …" of all slices of service-0. */
static const char *endpoints(struct kf *f)
{
    struct kf_call *c =
        kf_do(f, "GET",
              "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?labelSelector="
              "kubernetes.io/service-name%3Dservice-0",
              NULL);
    struct str_buf b = STR_BUF_INIT;
    struct json_object *items = json_member(c->json, "items");
    for (size_t i = 0; i < json_len(items); i++) {
        struct json_object *list = json_member(json_object_array_get_idx(items, i), "endpoints");
        for (size_t k = 0; k < json_len(list); k++) {
            struct json_object *e = json_object_array_get_idx(list, k);
            struct json_object *address = json_object_array_get_idx(json_member(e, "addresses"), 0);
            str_appendf(&b, "%s%s:%s", b.len ? " " : "", json_str(e, "nodeName"),
                        json_object_get_string(address));
        }
    }
    char *out = str_buf_to_arena(&b, f->a);
    str_buf_done(&b);
    return out;
}

static void pods__slices__follow_nodes(void **state)
{
    (void)state;
    struct sim_config cfg = {.nodes = 2, .services = 1};
    struct kf *f = kf_start(&cfg);
    kf_expect(
        kf_do(f, "PUT", "/sim/pods/default/service-0", "{\"node-0\":2,\"node-1\":1,\"node-2\":1}"),
        200, "pods");
    assert_string_equal(endpoints(f), "node-0:10.64.0.2 node-0:10.64.0.3 node-1:10.64.1.2");
    kf_expect(kf_do(f, "DELETE", "/sim/nodes/node-0", NULL), 200, "remove");
    kf_settle(f);
    assert_string_equal(endpoints(f), "node-1:10.64.1.2");
    kf_expect(kf_do(f, "POST", "/sim/nodes", "{\"count\":1}"), 200, "add node-2");
    kf_settle(f);
    assert_string_equal(endpoints(f), "node-1:10.64.1.2 node-2:10.64.2.2");
    kf_expect(kf_do(f, "DELETE", SERVICES "/service-0", NULL), 200, "delete");
    kf_settle(f);
    assert_string_equal(endpoints(f), "");
    kf_expect(kf_do(f, "PUT", "/sim/pods/default/nope", "{}"), 404, "no such service");
    kf_stop(f);
}

static void pods__slices_of_others__are_left_alone(void **state)
{
    (void)state;
    struct sim_config cfg = {.nodes = 1, .services = 1};
    struct kf *f = kf_start(&cfg);
    kf_expect(kf_do(f, "POST", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
                    "{\"metadata\":{\"name\":\"mine\",\"labels\":{\"kubernetes.io/"
                    "service-name\":\"service-0\"}},"
                    "\"addressType\":\"IPv4\",\"endpoints\":[{\"addresses\":[\"10.64.9.9\"],"
                    "\"nodeName\":\"x\"}]}"),
              201, "slice");
    kf_expect(kf_do(f, "PUT", "/sim/pods/default/service-0", "{\"node-0\":2}"), 200, "pods");
    assert_string_equal(endpoints(f), "x:10.64.9.9");
    kf_stop(f);
}

static int as_user(struct kf *f, const char *token, const char *method, const char *target)
{
    struct kf_call *c =
        kf_send(f, method, target, arena_printf(f->a, "Authorization: Bearer %s\r\n", token), NULL);
    kf_wait(f, c);
    return c->status;
}

static void roles__of_the_manifest__are_enforced(void **state)
{
    (void)state;
    static const char leases[] = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
    char *rbac = xasprintf("%s/sim/rbac.yaml", getenv("TRIMTAB_TEST_DATA"));
    struct sim_config cfg = {.rbac = rbac, .services = 1};
    struct kf *f = kf_start(&cfg);
    const char *lease = arena_printf(f->a, "%s/cloud-controller-manager", leases);
    const char *one_lease = arena_printf(
        f->a, "%s?limit=5&fieldSelector=metadata.name%%3Dcloud-controller-manager", leases);
    const char *other_lease = arena_printf(f->a, "%s?fieldSelector=metadata.name%%3Dother", leases);
    const struct {
        const char *token, *method, *target;
        int status;
    } rows[] = {
        {"sa:kube-system:controller", "GET", "/api/v1/services", 200},
        {"sa:kube-system:controller", "GET", SERVICES "/service-0", 200},
        {"sa:kube-system:controller", "DELETE", SERVICES "/service-0", 403},
        {"sa:kube-system:controller", "PATCH", SERVICES "/service-0", 403},
        {"sa:kube-system:controller", "PATCH", SERVICES "/service-0/status", 415},
        {"sa:kube-system:controller", "GET", lease, 404},
        {"sa:kube-system:controller", "GET", leases, 403},
        {"sa:kube-system:controller", "GET", one_lease, 200},
        {"sa:kube-system:controller", "GET", other_lease, 403},
        {"sa:kube-system:controller", "GET", "/api/v1/namespaces/kube-system/secrets", 403},
        {"sa:kube-system:controller", "GET", "/apis", 200},
        {"sa:default:other", "GET", "/api/v1/services", 403},
        {"sa:default:other", "GET", "/healthz", 200},
        {"sim-admin", "GET", "/api/v1/namespaces/kube-system/secrets", 200},
        {"nope", "GET", "/api/v1/services", 401},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int status = as_user(f, rows[i].token, rows[i].method, rows[i].target);
        if (status != rows[i].status) {
            fail_msg("%s %s %s: got %d, want %d", rows[i].token, rows[i].method, rows[i].target,
                     status, rows[i].status);
        }
    }
    kf_stop(f);
    free(rbac);
}

static void roles__a_manifest_that_cannot_be_read__stops_the_start(void **state)
{
    (void)state;
    struct event_base *base = event_base_new();
    struct sim_config cfg = {.rbac = "/nonexistent"};
    struct sim *sim = NULL;
    struct err err = ERR_INIT;
    assert_int_not_equal(sim_new(base, &cfg, &sim, &err), ERR_OK);
    assert_non_null(strstr(err.message, "/nonexistent"));
    event_base_free(base);
}

UNIT_MAIN(cluster)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(world__loaded__is_kept_without_validation),
        cmocka_unit_test(world__dumped_and_loaded__is_the_same),
        cmocka_unit_test(world__events_without_names__are_kept),
        cmocka_unit_test(world__no_change_to_a_loaded_object__is_no_write),
        cmocka_unit_test(nodes__made_by_the_simulator__look_real),
        cmocka_unit_test(pods__slices__follow_nodes),
        cmocka_unit_test(pods__slices_of_others__are_left_alone),
        cmocka_unit_test(roles__of_the_manifest__are_enforced),
        cmocka_unit_test(roles__a_manifest_that_cannot_be_read__stops_the_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
