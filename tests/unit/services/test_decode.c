/* SPDX-License-Identifier: Apache-2.0 */
/* test_decode.c: objects from JSON: what absent, null, false and several mean, and
 * what is refused. */
#include "tests/unit/services/services_test.h"

/* Decodes, or fails with the message. */
#define DECODE(a, kind, text)                                                                      \
    __extension__({                                                                                \
        const struct ks_##kind *object = NULL;                                                     \
        struct err err = ERR_INIT;                                                                 \
        if (ks_##kind##_decode((a), json_of((a), (text)), "", &object, &err) != ERR_OK) {          \
            fail_msg("%s: %s", (text), err.message);                                               \
        }                                                                                          \
        object;                                                                                    \
    })

/* ---- absent members -------------------------------------------------------------------------- */

static void decode__empty_objects__have_defaults(void **state)
{
    struct arena *a = *state;
    const struct ks_service *s = DECODE(a, service, "{}");
    assert_string_equal(s->meta.ns, "");
    assert_string_equal(s->meta.name, "");
    assert_string_equal(s->type, "ClusterIP");
    assert_string_equal(s->cluster_ip, "");
    assert_string_equal(s->session_affinity, "None");
    assert_string_equal(s->external_policy, "");
    assert_string_equal(s->internal_policy, "");
    assert_null(s->distribution);
    assert_false(s->has_selector || s->publish_not_ready || s->meta.has_labels);
    assert_int_equal(s->n_ports + s->n_ingress + s->n_external_ips, 0);

    const struct ks_slice *slice = DECODE(a, slice, "{'endpoints': [{}], 'ports': [{}]}");
    assert_string_equal(slice->address_type, "");
    assert_true(slice->has_ports);
    assert_null(slice->ports[0].name);
    assert_null(slice->ports[0].protocol);
    assert_false(slice->ports[0].has_port);
    const struct ks_slice_endpoint *e = &slice->endpoints[0];
    assert_int_equal(e->n_addresses, 0);
    assert_int_equal(e->ready, KS_NIL);
    assert_null(e->hostname);
    assert_null(e->node_name);
    assert_null(e->zone);
    assert_null(e->ref);
    assert_false(e->has_hints);
    assert_false(DECODE(a, slice, "{}")->has_ports);
    assert_false(DECODE(a, slice, "{'ports': null}")->has_ports);

    const struct ks_pod *p = DECODE(a, pod, "{}");
    assert_string_equal(p->phase, "");
    assert_string_equal(p->pod_ip, "");
    assert_string_equal(p->node_name, "");
    assert_false(p->ready || p->host_network);
    const struct ks_node *n = DECODE(a, node, "{}");
    assert_string_equal(n->zone, "");
    assert_string_equal(n->cpu, "");
    assert_false(n->ready || n->control_plane || n->to_be_deleted);
}

/* ---- Services -------------------------------------------------------------------------------- */

static void decode_service__target_ports__are_number_name_or_the_port(void **state)
{
    const struct ks_service *s = DECODE(
        *state, service,
        "{'spec': {'ports': [{'port': 80}, {'port': 81, 'targetPort': 8081}, {'port': 82, "
        "'targetPort': 'http', 'protocol': 'UDP', 'name': 'x', 'nodePort': 30001, 'appProtocol': "
        "'h2c'}]}}");
    assert_int_equal(s->n_ports, 3);
    assert_int_equal(s->ports[0].target_port, 80);
    assert_null(s->ports[0].target_name);
    assert_string_equal(s->ports[0].name, "");
    assert_string_equal(s->ports[0].protocol, "TCP");
    assert_null(s->ports[0].app_protocol);
    assert_int_equal(s->ports[1].target_port, 8081);
    assert_int_equal(s->ports[2].target_port, 0);
    assert_string_equal(s->ports[2].target_name, "http");
    assert_string_equal(s->ports[2].protocol, "UDP");
    assert_string_equal(s->ports[2].app_protocol, "h2c");
    assert_int_equal(s->ports[2].node_port, 30001);
}

static void decode_service__selector__absent_and_empty_differ(void **state)
{
    assert_false(DECODE(*state, service, "{'spec': {}}")->has_selector);
    assert_false(DECODE(*state, service, "{'spec': {'selector': null}}")->has_selector);
    assert_true(DECODE(*state, service, "{'spec': {'selector': {}}}")->has_selector);
    const struct ks_service *s =
        DECODE(*state, service, "{'spec': {'selector': {'b': '2', 'a': '1'}}}");
    assert_int_equal(s->n_selector, 2);
    assert_string_equal(s->selector[0].key, "a");
    assert_string_equal(ks_kv(s->selector, s->n_selector, "b"), "2");
    assert_null(ks_kv(s->selector, s->n_selector, "c"));
}

static void decode_service__lists_and_status(void **state)
{
    const struct ks_service *s = DECODE(
        *state, service,
        "{'metadata': {'namespace': 'n', 'name': 's', 'labels': {}, 'annotations': {'k': 'v'}, "
        "'ownerReferences': [{'kind': 'K'}]}, 'spec': {'type': 'LoadBalancer', 'clusterIPs': "
        "['1.1.1.1', 'fd00::1'], 'ipFamilies': ['IPv4', 'IPv6'], 'externalIPs': ['2.2.2.2'], "
        "'loadBalancerSourceRanges': [' 10.0.0.0/8 '], 'sessionAffinityConfig': {'clientIP': "
        "{'timeoutSeconds': 30}}, 'trafficDistribution': 'PreferClose', "
        "'publishNotReadyAddresses': true, 'healthCheckNodePort': 32000}, 'status': "
        "{'loadBalancer': {'ingress': [{'ip': '3.3.3.3', 'ipMode': 'VIP'}, {'hostname': 'h'}]}}}");
    assert_true(s->meta.has_labels);
    assert_int_equal(s->meta.n_labels, 0);
    assert_string_equal(ks_kv(s->meta.annotations, s->meta.n_annotations, "k"), "v");
    assert_string_equal(s->meta.owners[0].kind, "K");
    assert_string_equal(s->meta.owners[0].uid, "");
    assert_string_equal(s->cluster_ips[1], "fd00::1");
    assert_string_equal(s->ip_families[1], "IPv6");
    assert_string_equal(s->external_ips[0], "2.2.2.2");
    assert_string_equal(s->source_ranges[0], " 10.0.0.0/8 "); /* as written */
    assert_int_equal(s->affinity_s, 30);
    assert_string_equal(s->distribution, "PreferClose");
    assert_true(s->publish_not_ready);
    assert_int_equal(s->health_check_node_port, 32000);
    assert_int_equal(s->n_ingress, 2);
    assert_string_equal(s->ingress[0].ip_mode, "VIP");
    assert_string_equal(s->ingress[1].ip, "");
    assert_string_equal(s->ingress[1].hostname, "h");
    assert_string_equal(s->ingress[1].ip_mode, "");
}

/* ---- slices ---------------------------------------------------------------------------------- */

static void decode_slice__conditions__absent_null_false_and_true(void **state)
{
    static const struct {
        const char *conditions;
        enum ks_tri ready, serving, terminating;
    } cases[] = {
        {"{}", KS_NIL, KS_NIL, KS_NIL},
        {"null", KS_NIL, KS_NIL, KS_NIL},
        {"{'ready': null}", KS_NIL, KS_NIL, KS_NIL},
        {"{'ready': false}", KS_FALSE, KS_NIL, KS_NIL},
        {"{'ready': true, 'serving': false, 'terminating': true}", KS_TRUE, KS_FALSE, KS_TRUE},
        {"{'serving': true, 'terminating': false}", KS_NIL, KS_TRUE, KS_FALSE},
    };
    struct arena *a = *state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct ks_slice *s = DECODE(
            a, slice, arena_printf(a, "{'endpoints': [{'conditions': %s}]}", cases[i].conditions));
        assert_int_equal(s->endpoints[0].ready, cases[i].ready);
        assert_int_equal(s->endpoints[0].serving, cases[i].serving);
        assert_int_equal(s->endpoints[0].terminating, cases[i].terminating);
    }
}

static void decode_slice__endpoints__with_all_members(void **state)
{
    const struct ks_slice *s = DECODE(
        *state, slice,
        "{'addressType': 'IPv4', 'endpoints': [{'addresses': ['10.0.0.1', '10.0.0.2'], 'hostname': "
        "'h', 'nodeName': 'n', 'zone': 'z', 'targetRef': {'kind': 'Pod', 'name': 'p'}, 'hints': "
        "{'forZones': [{'name': 'z2'}, {'name': 'z1'}], 'forNodes': [{'name': 'n1'}, {}]}}, "
        "{'hints': "
        "{}}], 'ports': [{'name': '', 'port': 0, 'protocol': 'SCTP'}]}");
    const struct ks_slice_endpoint *e = &s->endpoints[0];
    assert_int_equal(e->n_addresses, 2);
    assert_string_equal(e->addresses[1], "10.0.0.2");
    assert_string_equal(e->hostname, "h");
    assert_string_equal(e->node_name, "n");
    assert_string_equal(e->zone, "z");
    assert_string_equal(e->ref->kind, "Pod");
    assert_string_equal(e->ref->name, "p");
    assert_string_equal(e->ref->uid, "");
    assert_true(e->has_hints);
    assert_int_equal(e->n_zone_hints, 2);
    assert_string_equal(e->zone_hints[0], "z2"); /* as written */
    assert_int_equal(e->n_node_hints, 2);
    assert_string_equal(e->node_hints[1], "");
    assert_true(s->endpoints[1].has_hints);
    assert_int_equal(s->endpoints[1].n_zone_hints, 0);
    assert_string_equal(s->ports[0].name, "");
    assert_true(s->ports[0].has_port);
    assert_int_equal(s->ports[0].port, 0);
    assert_string_equal(s->ports[0].protocol, "SCTP");
}

/* ---- pods, nodes, Endpoints ------------------------------------------------------------------ */

static void decode_pod__ports__of_containers_then_of_sidecars(void **state)
{
    const struct ks_pod *p = DECODE(
        *state, pod,
        "{'spec': {'nodeName': 'n', 'hostNetwork': true, 'initContainers': [{'ports': "
        "[{'containerPort': 1}]}, {'restartPolicy': 'Always', 'ports': [{'name': 'side', "
        "'containerPort': 2}]}], 'containers': [{'ports': [{'containerPort': 3, 'protocol': "
        "'UDP'}]}, {}]}, 'status': {'phase': 'Running', 'podIP': '10.0.0.1', 'podIPs': [{'ip': "
        "'10.0.0.1'}, {}], 'conditions': [{'type': 'Initialized', 'status': 'False'}, {'type': "
        "'Ready', 'status': 'True'}, {'type': 'Ready', 'status': 'False'}]}}");
    assert_int_equal(p->n_ports, 2);
    assert_int_equal(p->ports[0].port, 3);
    assert_string_equal(p->ports[0].protocol, "UDP");
    assert_string_equal(p->ports[1].name, "side");
    assert_string_equal(p->ports[1].protocol, "TCP");
    assert_int_equal(p->n_pod_ips, 2);
    assert_string_equal(p->pod_ips[1], "");
    assert_true(p->ready && p->host_network);
}

static void decode_node__zone_cpu_addresses_taints(void **state)
{
    const struct ks_node *n = DECODE(
        *state, node,
        "{'metadata': {'name': 'n', 'labels': {'topology.kubernetes.io/zone': 'z', "
        "'node-role.kubernetes.io/master': ''}}, 'spec': {'podCIDRs': ['10.0.0.0/24'], 'taints': "
        "[{'key': 'ToBeDeletedByClusterAutoscaler'}]}, 'status': {'allocatable': {'cpu': 4}, "
        "'addresses': [{'type': 'Hostname', 'address': 'n'}, {'type': 'InternalIP', 'address': "
        "'10.1.0.1'}, {'type': 'ExternalIP', 'address': ''}, {'type': 'ExternalIP', 'address': "
        "'1.1.1.1'}], 'conditions': [{'type': 'Ready', 'status': 'Unknown'}]}}");
    assert_string_equal(n->zone, "z");
    assert_string_equal(n->cpu, "4");
    assert_string_equal(DECODE(*state, node, "{'status': {'allocatable': {'cpu': '3920m'}}}")->cpu,
                        "3920m");
    assert_int_equal(n->n_addresses, 2);
    assert_string_equal(n->addresses[0], "10.1.0.1");
    assert_string_equal(n->addresses[1], "1.1.1.1");
    assert_string_equal(n->pod_cidrs[0], "10.0.0.0/24");
    assert_true(n->control_plane && n->to_be_deleted);
    assert_false(n->ready);
}

/* ---- refusals -------------------------------------------------------------------------------- */

enum kind { SERVICE, SLICE, POD, NODE };

static int decode_any(struct arena *a, enum kind kind, struct json_object *o, bool *ret_set,
                      struct err *err)
{
    const struct ks_service *service = NULL;
    const struct ks_slice *slice = NULL;
    const struct ks_pod *pod = NULL;
    const struct ks_node *node = NULL;
    int rc = ERR_BUG;
    switch (kind) {
    case SERVICE:
        rc = ks_service_decode(a, o, "items[3]", &service, err);
        break;
    case SLICE:
        rc = ks_slice_decode(a, o, "items[3]", &slice, err);
        break;
    case POD:
        rc = ks_pod_decode(a, o, "items[3]", &pod, err);
        break;
    case NODE:
        rc = ks_node_decode(a, o, "items[3]", &node, err);
        break;
    }
    *ret_set = service != NULL || slice != NULL || pod != NULL || node != NULL;
    return rc;
}

static const struct {
    enum kind kind;
    const char *text;
    const char *where; /* how the message begins */
} refused[] = {
    {SERVICE, "[]", "items[3]"},
    {SERVICE, "'x'", "items[3]"},
    {SERVICE, "{'metadata': {'name': 7}}", "items[3].metadata.name"},
    {SERVICE, "{'metadata': {'labels': {'a': 1}}}", "items[3].metadata.labels"},
    {SERVICE, "{'spec': []}", "items[3].spec"},
    {SERVICE, "{'spec': {'ports': {}}}", "items[3].spec.ports"},
    {SERVICE, "{'spec': {'ports': [{'port': 70000}]}}", "items[3].spec.ports[0].port"},
    {SERVICE, "{'spec': {'ports': [{}, {'nodePort': -1}]}}", "items[3].spec.ports[1].nodePort"},
    {SERVICE, "{'spec': {'ports': [{'port': 80, 'targetPort': 65536}]}}",
     "items[3]: target port of port 80"},
    {SERVICE, "{'spec': {'ports': [{'port': 80, 'targetPort': 1.5}]}}",
     "items[3]: target port of port 80"},
    {SERVICE, "{'spec': {'ports': [{'port': 80, 'targetPort': true}]}}",
     "items[3]: target port of port 80"},
    {SERVICE, "{'spec': {'externalIPs': 'x'}}", "items[3].spec.externalIPs"},
    {SERVICE, "{'spec': {'externalIPs': [1]}}", "items[3].spec.externalIPs[0]"},
    {SERVICE, "{'status': {'loadBalancer': {'ingress': [{'ip': {}}]}}}",
     "items[3].status.loadBalancer.ingress[0].ip"},
    {SLICE, "{'addressType': true}", "items[3].addressType"},
    {SLICE, "{'endpoints': [{'addresses': '10.0.0.1'}]}", "items[3].endpoints[0].addresses"},
    {SLICE, "{'endpoints': [{}, {'conditions': {'ready': 'yes'}}]}",
     "items[3].endpoints[1].conditions.ready"},
    {SLICE, "{'endpoints': [{'hints': {'forZones': ['z']}}]}",
     "items[3].endpoints[0].hints.forZones[0]"},
    {SLICE, "{'ports': [{'port': '80'}]}", "items[3].ports[0].port"},
    {SLICE, "{'ports': [{'port': 65536}]}", "items[3].ports[0].port"},
    {POD, "{'spec': {'containers': [{'ports': [{'containerPort': 'http'}]}]}}",
     "items[3].spec.containers[0].ports[0].containerPort"},
    {POD, "{'status': {'podIPs': ['10.0.0.1']}}", "items[3].status.podIPs[0]"},
    {NODE, "{'spec': {'taints': 'x'}}", "items[3].spec.taints"},
    {NODE, "{'status': {'addresses': [[]]}}", "items[3].status.addresses[0]"},
};

static void decode__broken_objects__are_refused_with_the_path(void **state)
{
    struct arena *a = *state;
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        struct err err = ERR_INIT;
        bool set;
        int rc = decode_any(a, refused[i].kind, json_of(a, refused[i].text), &set, &err);
        assert_int_equal(rc, ERR_INVALID);
        assert_false(set);
        if (!str_has_prefix(err.message, refused[i].where)) {
            fail_msg("%s\n   got: %s\n  want: %s…", refused[i].text, err.message, refused[i].where);
        }
    }
}

/* An object with a list of n empty items at `path` (a member, or a member of spec). */
static struct json_object *with_list(struct arena *a, const char *before, size_t n,
                                     const char *after)
{
    struct str_buf b = STR_BUF_INIT;
    str_append(&b, before);
    for (size_t i = 0; i < n; i++) {
        str_append(&b, i > 0 ? ",{}" : "{}");
    }
    str_append(&b, after);
    struct json_object *o = json_of(a, str_buf_text(&b));
    str_buf_done(&b);
    return o;
}

static void decode__lists__up_to_their_cap(void **state)
{
    static const struct {
        enum kind kind;
        const char *before;
        const char *after;
        size_t cap;
    } cases[] = {
        {SLICE, "{'endpoints': [", "]}", 20000},
        {SLICE, "{'ports': [", "]}", 10000},
        {SERVICE, "{'spec': {'ports': [", "]}}", 10000},
    };
    struct arena *a = *state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = ERR_INIT;
        bool set;
        struct json_object *fits = with_list(a, cases[i].before, cases[i].cap, cases[i].after);
        assert_int_equal(decode_any(a, cases[i].kind, fits, &set, &err), ERR_OK);
        struct json_object *over = with_list(a, cases[i].before, cases[i].cap + 1, cases[i].after);
        assert_int_equal(decode_any(a, cases[i].kind, over, &set, &err), ERR_INVALID);
        assert_false(set);
    }
}

UNIT_MAIN(decode)
{
    const struct CMUnitTest tests[] = {
        services_test(decode__empty_objects__have_defaults),
        services_test(decode_service__target_ports__are_number_name_or_the_port),
        services_test(decode_service__selector__absent_and_empty_differ),
        services_test(decode_service__lists_and_status),
        services_test(decode_slice__conditions__absent_null_false_and_true),
        services_test(decode_slice__endpoints__with_all_members),
        services_test(decode_pod__ports__of_containers_then_of_sidecars),
        services_test(decode_node__zone_cpu_addresses_taints),
        services_test(decode__broken_objects__are_refused_with_the_path),
        services_test(decode__lists__up_to_their_cap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
