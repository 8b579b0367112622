/* SPDX-License-Identifier: Apache-2.0 */
/* test_slices_explain.c: which pods are behind a Service, and why the others are not, in words. */
#include "tests/unit/services/slices_scene.h"

#include "common/services/slices/explain.h"

static const char *const role_words[KS_POD_MAX] = {
    [KS_POD_OTHER] = "other",
    [KS_POD_FINISHED] = "finished",
    [KS_POD_NO_ADDRESS] = "no-address",
    [KS_POD_OTHER_FAMILY] = "other-family",
    [KS_POD_NODE_UNKNOWN] = "node-unknown",
    [KS_POD_NO_PORT] = "no-port",
    [KS_POD_NOT_READY] = "not-ready",
    [KS_POD_GONE] = "terminating",
    [KS_POD_DRAINING] = "draining",
    [KS_POD_SERVING] = "serving",
};

static void pods_explain__each_pod__one_role(void **state)
{
    static const struct {
        const char *spec, *pod, *role;
        const char *sentence;
    } rows[] = {
        {"", "p 10.0.0.1 n1 r", "serving", "1 pod gets traffic"},
        {"", "p 10.0.0.1 n1 rf", "finished", "1 pod has finished (p)"},
        {"", "p 10.0.0.1 n1 s", "finished", "1 pod has finished (p)"},
        {"", "p - n1 -", "no-address", "1 pod has no address yet (p)"},
        {"", "p fd00::1 n1 r", "other-family", "1 pod has no address of this family (p)"},
        {"", "p 10.0.0.1 gone r", "node-unknown", "1 pod is on an unknown node (p)"},
        {"", "p 10.0.0.1 n1 r none", "no-port",
         "1 pod has no port of the name that the Service asks for (p)"},
        {"", "p 10.0.0.1 n1 -", "not-ready", "1 pod is not ready (p)"},
        {"", "p 10.0.0.1 n1 t", "terminating", "1 pod is being deleted and no longer serves (p)"},
        {"", "p 10.0.0.1 n1 rt", "draining", "1 pod is being deleted and still serves (p)"},
        {", 'publishNotReadyAddresses': true", "p 10.0.0.1 gone t", "serving",
         "1 pod gets traffic"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct node_list nodes = nodes_of(*state, "n2 zone-b 1; n1 zone-a 1");
        const struct pod_list pods = pods_of(*state, rows[i].pod);
        const struct ks_service *s = service_with(*state, "", rows[i].spec);
        const struct ks_pods_report r =
            ks_pods_explain(*state, s, KS_IPV4, pods.items, pods.n, nodes.items, nodes.n);
        assert_string_equal(r.sentence, rows[i].sentence);
        for (int role = 0; role < KS_POD_MAX; role++) {
            bool want = str_eq(role_words[role], rows[i].role);
            assert_int_equal(r.counts[role], want ? 1 : 0);
            assert_true(str_eq(r.first[role], want ? "p" : NULL));
        }
        /* A pass does what the report says. */
        struct scene scene = {.a = *state, .service = s, .nodes = nodes, .pods = pods};
        const struct ks_slice_pass p = scene_pass(&scene);
        size_t endpoints = p.create[0].n_endpoints;
        assert_int_equal(endpoints, r.counts[KS_POD_SERVING] + r.counts[KS_POD_DRAINING] +
                                        r.counts[KS_POD_GONE] + r.counts[KS_POD_NOT_READY] +
                                        r.counts[KS_POD_NO_PORT]);
        assert_int_equal(p.node_unknown, r.counts[KS_POD_NODE_UNKNOWN] > 0);
    }
}

static void pods_explain__many__one_line(void **state)
{
    const struct node_list nodes = nodes_of(*state, "n1 zone-a 1");
    const struct pod_list pods =
        pods_of(*state, "web-3 10.0.0.3 n1 -; web-1 10.0.0.1 n1 r; web-2 10.0.0.2 n1 -; web-4 "
                        "10.0.0.4 n1 rt; web-5 10.0.0.5 n1 r");
    struct ks_pods_report r = ks_pods_explain(*state, service_with(*state, "", ""), KS_IPV4,
                                              pods.items, pods.n, nodes.items, nodes.n);
    assert_string_equal(r.sentence,
                        "2 pods get traffic; 1 pod is being deleted and still serves (web-4); "
                        "2 pods are not ready (web-2, …)");
    ((struct ks_pod *)pods.items[0])->meta.ns = "other";
    r = ks_pods_explain(*state, service_with(*state, "", ""), KS_IPV4, pods.items, 1, NULL, 0);
    assert_string_equal(r.sentence, "the selector matches no pod");
    assert_int_equal(r.counts[KS_POD_OTHER], 1);
    const struct ks_service *none = service_of(*state, "{'metadata': {'namespace': 'ns'}}");
    r = ks_pods_explain(*state, none, KS_IPV4, pods.items, pods.n, nodes.items, nodes.n);
    assert_string_equal(r.sentence,
                        "the Service has no selector, so no pod is behind it by itself");
}

UNIT_MAIN(slices_explain)
{
    const struct CMUnitTest tests[] = {
        slices_test(pods_explain__each_pod__one_role),
        slices_test(pods_explain__many__one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
