/* SPDX-License-Identifier: Apache-2.0 */
/* test_slices_pod.c: one pod behind a Service, and the Services that a change of a pod concerns. */
#include "tests/unit/services/slices_test.h"

#include "common/services/slices/pod.h"

static const struct ks_pod *one_pod(struct arena *a, const char *text)
{
    return pods_of(a, text).items[0];
}

static void pod_counts__phase_address_deletion(void **state)
{
    static const struct {
        const char *pod;
        bool counts, counts_terminating; /* without and with terminating ones */
    } rows[] = {
        {"p 10.0.0.1 n r", true, true},    {"p 10.0.0.1 n -", true, true},
        {"p 10.0.0.1 n rt", false, true},  {"p 10.0.0.1 n rs", false, false},
        {"p 10.0.0.1 n rf", false, false}, {"p - n r", false, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct ks_pod *pod = one_pod(*state, rows[i].pod);
        assert_int_equal(ks_pod_counts(pod, false), rows[i].counts);
        assert_int_equal(ks_pod_counts(pod, true), rows[i].counts_terminating);
    }
    struct ks_pod pod = *one_pod(*state, "p - n r");
    pod.pod_ip = "10.0.0.1"; /* podIP alone suffices */
    assert_true(ks_pod_counts(&pod, true));
}

static void pod_endpoint__conditions__of_pod_and_service(void **state)
{
    static const struct {
        const char *flags;
        bool publish;
        const char *want; /* ready, serving, terminating */
    } rows[] = {
        {"r", false, "yyn"}, {"-", false, "nnn"}, {"rt", false, "nyy"}, {"t", false, "nny"},
        {"r", true, "yyn"},  {"-", true, "ynn"},  {"rt", true, "yyy"},  {"t", true, "yny"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct ks_service *s =
            service_with(*state, "", rows[i].publish ? ", 'publishNotReadyAddresses': true" : "");
        const struct ks_pod *pod =
            one_pod(*state, arena_printf(*state, "p 10.0.0.1 n %s", rows[i].flags));
        const struct ks_slice_endpoint e = ks_pod_endpoint(*state, s, pod, NULL, KS_IPV4);
        const char got[] = {"?ny"[e.ready], "?ny"[e.serving], "?ny"[e.terminating], '\0'};
        assert_string_equal(got, rows[i].want);
    }
}

static void pod_endpoint__addresses__canonical_of_family(void **state)
{
    static const struct {
        const char *ips;
        const char *v4, *v6; /* "": no endpoint */
    } rows[] = {
        {"10.0.0.1", "10.0.0.1", ""},
        {"10.0.0.1,FD00:0::1", "10.0.0.1", "fd00::1"},
        {"::ffff:10.1.2.3", "10.1.2.3", ""},
        {"010.001.02.3", "10.1.2.3", ""},
        {"fd00::2,fd00::1", "", "fd00::2 fd00::1"},
        {"nonsense,10.0.0.1", "10.0.0.1", ""},
    };
    const struct ks_service *s = service_with(*state, "", "");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct ks_pod *pod = one_pod(*state, arena_printf(*state, "p %s n r", rows[i].ips));
        const struct ks_slice_endpoint v4 = ks_pod_endpoint(*state, s, pod, NULL, KS_IPV4);
        const struct ks_slice_endpoint v6 = ks_pod_endpoint(*state, s, pod, NULL, KS_IPV6);
        assert_string_equal(str_join(*state, v4.addresses, v4.n_addresses, " "), rows[i].v4);
        assert_string_equal(str_join(*state, v6.addresses, v6.n_addresses, " "), rows[i].v6);
    }
}

static void pod_endpoint__members__present_or_not(void **state)
{
    const struct ks_service *s = service_with(*state, "", "");
    const struct node_list nodes = nodes_of(*state, "n zone-a 1; m - 1");
    struct ks_pod pod = *one_pod(*state, "p 10.0.0.1 n r");
    struct ks_slice_endpoint e = ks_pod_endpoint(*state, s, &pod, nodes.items[0], KS_IPV4);
    assert_string_equal(e.node_name, "n");
    assert_string_equal(e.zone, "zone-a");
    assert_null(e.hostname);
    assert_string_equal(e.ref->kind, "Pod");
    assert_string_equal(e.ref->ns, "ns");
    assert_string_equal(e.ref->name, "p");
    assert_string_equal(e.ref->uid, "uid-p");
    assert_false(e.has_hints);
    assert_null(ks_pod_endpoint(*state, s, &pod, nodes.items[1], KS_IPV4).zone);
    assert_null(ks_pod_endpoint(*state, s, &pod, NULL, KS_IPV4).zone);
    pod.node_name = "";
    assert_null(ks_pod_endpoint(*state, s, &pod, NULL, KS_IPV4).node_name);
    const struct {
        const char *hostname, *subdomain, *ns, *want;
    } rows[] = {
        {"h", "svc", "ns", "h"},     {"h", "other", "ns", NULL}, {"", "svc", "ns", NULL},
        {"h", "svc", "other", NULL}, {"h", "", "ns", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        pod.hostname = rows[i].hostname;
        pod.subdomain = rows[i].subdomain;
        pod.meta.ns = rows[i].ns;
        const char *got = ks_pod_endpoint(*state, s, &pod, NULL, KS_IPV4).hostname;
        assert_true(str_eq(got, rows[i].want));
    }
}

static void pod_ports__target__number_or_name(void **state)
{
    static const struct {
        const char *ports; /* of the Service */
        const char *want;  /* name/protocol/number/appProtocol */
    } rows[] = {
        {"[{'port': 80}]", "/TCP/80/- "},
        {"[{'port': 80, 'targetPort': 8081}]", "/TCP/8081/- "},
        {"[{'port': 80, 'targetPort': 'web', 'name': 'x', 'appProtocol': 'h2c'}]",
         "x/TCP/8080/h2c "},
        {"[{'port': 53, 'targetPort': 'dns', 'protocol': 'UDP'}]", "/UDP/53/- "},
        /* The name exists, but for another protocol. */
        {"[{'port': 53, 'targetPort': 'dns'}]", ""},
        {"[{'port': 80, 'targetPort': 'nope', 'name': 'a'}, {'port': 81, 'name': 'b'}]",
         "b/TCP/81/- "},
        /* The first of a name counts; init containers that stay come last, others not at all. */
        {"[{'port': 80, 'targetPort': 'twice'}]", "/TCP/1/- "},
        {"[{'port': 80, 'targetPort': 'sidecar'}]", "/TCP/3/- "},
        {"[{'port': 80, 'targetPort': 'init'}]", ""},
        {"[]", ""},
    };
    const struct ks_pod *pod = NULL;
    struct err err = ERR_INIT;
    struct json_object *o = tree_of(
        *state, "{'metadata': {'name': 'p'}, 'spec': {"
                "'initContainers': [{'restartPolicy': 'Always', 'ports': ["
                "{'name': 'twice', 'containerPort': 2}, {'name': 'sidecar', 'containerPort': 3}]},"
                "{'ports': [{'name': 'init', 'containerPort': 4}]}],"
                "'containers': [{'ports': [{'name': 'web', 'containerPort': 8080},"
                "{'name': 'dns', 'containerPort': 53, 'protocol': 'UDP'},"
                "{'name': 'twice', 'containerPort': 1}]}]}}");
    assert_int_equal(ks_pod_decode(*state, o, "", &pod, &err), ERR_OK);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct ks_service *s =
            service_of(*state, arena_printf(*state, "{'spec': {'ports': %s}}", rows[i].ports));
        size_t n = 0;
        const struct ks_slice_port *ports = ks_pod_ports(*state, s, pod, &n);
        struct str_buf b = STR_BUF_INIT;
        for (size_t k = 0; k < n; k++) {
            assert_true(ports[k].has_port);
            str_appendf(&b, "%s/%s/%d/%s ", ports[k].name, ports[k].protocol, ports[k].port,
                        str_or(ports[k].app_protocol, "-"));
        }
        assert_string_equal(str_buf_text(&b), rows[i].want);
        str_buf_done(&b);
    }
}

static void service_selects__labels__all_of_selector(void **state)
{
    static const struct {
        const char *selector; /* "": absent */
        const char *labels;   /* of a pod, as JSON */
        bool want;
    } rows[] = {
        {"", "{}", false},
        {"'selector': {}", "{}", true},
        {"'selector': {}", "{'a': '1'}", true},
        {"'selector': {'a': '1'}", "{}", false},
        {"'selector': {'a': '1'}", "{'a': '1', 'b': '2'}", true},
        {"'selector': {'a': '1', 'b': '2'}", "{'a': '1'}", false},
        {"'selector': {'a': '1'}", "{'a': '2'}", false},
        {"'selector': {'a': ''}", "{}", false},
        {"'selector': {'a': ''}", "{'a': ''}", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct ks_service *s =
            service_of(*state, arena_printf(*state, "{'metadata': {'labels': %s}, 'spec': {%s}}",
                                            rows[i].labels, rows[i].selector));
        assert_int_equal(ks_service_selects(s, s->meta.labels, s->meta.n_labels), rows[i].want);
    }
}

UNIT_MAIN(slices_pod)
{
    const struct CMUnitTest tests[] = {
        slices_test(pod_counts__phase_address_deletion),
        slices_test(pod_endpoint__conditions__of_pod_and_service),
        slices_test(pod_endpoint__addresses__canonical_of_family),
        slices_test(pod_endpoint__members__present_or_not),
        slices_test(pod_ports__target__number_or_name),
        slices_test(service_selects__labels__all_of_selector),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
