/* SPDX-License-Identifier: Apache-2.0 */
/* test_pod_slices.c: which slices follow from Pods, by the rules of
 * the EndpointSlice controller. */
#include "tests/support/unit.h"
#include "tests/unit/sim/kube/pods_fixture.h"

#include <stdio.h>
#include <string.h>

static const struct sim_config two_nodes = {.nodes = 2};

/* One pod `a` and one Service `web`. */
static void endpoint__of_a_pod(void **state)
{
    (void)state;
    static const struct {
        const char *what, *target, *service, *pod, *status, *slices;
    } rows[] = {
        {"ready", "8080", "", ",'nodeName':'node-0'", "",
         "IPv4 http:8080/TCP a@node-0=10.64.0.2(rs-)"},
        {"not ready", "8080", "", ",'nodeName':'node-0'",
         "{'podIP':'10.1.1.1','conditions':[{'type':'Ready','status':'False'}]}",
         "IPv4 http:8080/TCP a@node-0=10.1.1.1(---)"},
        {"published although not ready", "8080", ",'publishNotReadyAddresses':true",
         ",'nodeName':'node-0'",
         "{'podIP':'10.1.1.1','conditions':[{'type':'Ready','status':'False'}]}",
         "IPv4 http:8080/TCP a@node-0=10.1.1.1(r--)"},
        {"succeeded", "8080", "", ",'nodeName':'node-0'", "{'phase':'Succeeded'}", "IPv4"},
        {"failed", "8080", "", ",'nodeName':'node-0'", "{'phase':'Failed'}", "IPv4"},
        {"without address", "8080", "", ",'nodeName':'node-9'", "", "IPv4"},
        {"node unknown", "8080", "", ",'nodeName':'node-9'",
         "{'podIP':'10.1.1.1','conditions':[{'type':'Ready','status':'True'}]}", "IPv4"},
        {"node unknown, published", "8080", ",'publishNotReadyAddresses':true",
         ",'nodeName':'node-9'",
         "{'podIP':'10.1.1.1','conditions':[{'type':'Ready','status':'True'}]}",
         "IPv4 http:8080/TCP a@node-9=10.1.1.1(rs-)"},
        {"hostname in the Service's domain", "8080", "",
         ",'nodeName':'node-0','hostname':'h','subdomain':'web'", "",
         "IPv4 http:8080/TCP a/h@node-0=10.64.0.2(rs-)"},
        {"hostname in another domain", "8080", "",
         ",'nodeName':'node-0','hostname':'h','subdomain':'db'", "",
         "IPv4 http:8080/TCP a@node-0=10.64.0.2(rs-)"},
        {"port by name", "'http'", "", ",'nodeName':'node-0'", "",
         "IPv4 http:8080/TCP a@node-0=10.64.0.2(rs-)"},
        {"port by a name that the pod lacks", "'grpc'", "", ",'nodeName':'node-0'", "",
         "IPv4 a@node-0=10.64.0.2(rs-)"},
        {"port of a sidecar", "'grpc'", "",
         ",'nodeName':'node-0','initContainers':[{'name':'s','image':'i','restartPolicy':'Always',"
         "'ports':[{'name':'grpc','containerPort':9000}]}]",
         "", "IPv4 http:9000/TCP a@node-0=10.64.0.2(rs-)"},
        {"port of an init container", "'grpc'", "",
         ",'nodeName':'node-0','initContainers':[{'name':'s','image':'i',"
         "'ports':[{'name':'grpc','containerPort':9000}]}]",
         "", "IPv4 a@node-0=10.64.0.2(rs-)"},
        {"port of another protocol", "'dns'", "",
         ",'nodeName':'node-0','initContainers':[{'name':'s','image':'i','restartPolicy':'Always',"
         "'ports':[{'name':'dns','containerPort':53,'protocol':'UDP'}]}]",
         "", "IPv4 a@node-0=10.64.0.2(rs-)"},
        {"headless", "8080", ",'clusterIP':'None'", ",'nodeName':'node-0'", "",
         "IPv4 http:8080/TCP a@node-0=10.64.0.2(rs-)"},
        {"of the other family", "8080", "", ",'nodeName':'node-0'", "{'podIP':'fd00::9'}", "IPv4"},
        {"prefer the zone", "8080", ",'trafficDistribution':'PreferClose'", ",'nodeName':'node-1'",
         "", "IPv4 http:8080/TCP a@node-1=10.64.1.2(rs-)^us-central1-b"},
        {"prefer the same zone", "8080", ",'trafficDistribution':'PreferSameZone'",
         ",'nodeName':'node-1'", "", "IPv4 http:8080/TCP a@node-1=10.64.1.2(rs-)^us-central1-b"},
        {"prefer the node", "8080", ",'trafficDistribution':'PreferSameNode'",
         ",'nodeName':'node-1'", "",
         "IPv4 http:8080/TCP a@node-1=10.64.1.2(rs-)^us-central1-b~node-1"},
        {"prefer the zone, not ready", "8080", ",'trafficDistribution':'PreferClose'",
         ",'nodeName':'node-1'",
         "{'podIP':'10.1.1.1','conditions':[{'type':'Ready','status':'False'}]}",
         "IPv4 http:8080/TCP a@node-1=10.1.1.1(---)"},
    };
    struct kf *f = kf_start(&two_nodes);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        pf_service(f, rows[i].target, rows[i].service);
        pf_make(f, "a", rows[i].pod, rows[i].status);
        const char *slices = pf_slices(f, "web");
        if (!str_eq(slices, rows[i].slices)) {
            fail_msg("%s: want %s, got %s", rows[i].what, rows[i].slices, slices);
        }
        kf_expect(kf_do(f, "DELETE", PODS "/a?gracePeriodSeconds=0", NULL), 200, "pod");
        kf_expect(kf_do(f, "DELETE", SERVICES "/web", NULL), 200, "service");
        kf_settle(f);
        assert_string_equal(pf_slices(f, "web"), ""); /* they go with their owner */
    }
    kf_stop(f);
}

static void families__a_slice_each(void **state)
{
    (void)state;
    struct sim_config cfg = {.nodes = 1, .ipv4 = true, .ipv6 = true};
    struct kf *f = kf_start(&cfg);
    pf_service(f, "8080", ",'ipFamilyPolicy':'RequireDualStack'");
    pf_make(f, "a", ",'nodeName':'node-0'",
            "{'podIPs':[{'ip':'10.1.1.1'},{'ip':'fd00:0:0::0a'}],"
            "'conditions':[{'type':'Ready','status':'True'}]}");
    assert_string_equal(pf_slices(f, "web"), "IPv4 http:8080/TCP a@node-0=10.1.1.1(rs-) | "
                                             "IPv6 http:8080/TCP a@node-0=fd00::a(rs-)");
    kf_expect(kf_patch(f, SERVICES "/web", MERGE,
                       kf_quoted(f, "{'spec':{'ipFamilyPolicy':'SingleStack'}}")),
              200, "one family");
    kf_settle(f);
    assert_string_equal(pf_slices(f, "web"), "IPv4 http:8080/TCP a@node-0=10.1.1.1(rs-)");
    kf_stop(f);
}

static void groups__other_ports__slices_of_their_own(void **state)
{
    (void)state;
    struct kf *f = kf_start(&two_nodes);
    pf_service(f, "'http'", "");
    pf_make(f, "a", ",'nodeName':'node-0'", "");
    kf_expect(
        kf_do(f, "POST", PODS,
              kf_quoted(f, "{'metadata':{'name':'b','labels':{'app':'web'}},'spec':{'nodeName':"
                           "'node-1','containers':[{'name':'c','image':'i','ports':[{'name':"
                           "'http','containerPort':9090}]}]}}")),
        201, "b");
    kf_settle(f);
    assert_string_equal(pf_slices(f, "web"), "IPv4 http:8080/TCP a@node-0=10.64.0.2(rs-) | "
                                             "IPv4 http:9090/TCP b@node-1=10.64.1.2(rs-)");
    kf_expect(kf_do(f, "DELETE", PODS "/a?gracePeriodSeconds=0", NULL), 200, "a");
    kf_settle(f);
    assert_string_equal(pf_slices(f, "web"), "IPv4 http:9090/TCP b@node-1=10.64.1.2(rs-)");
    kf_stop(f);
}

static void labels__of_a_pod__join_and_leave(void **state)
{
    (void)state;
    struct kf *f = kf_start(&two_nodes);
    pf_service(f, "8080", "");
    pf_make(f, "a", ",'nodeName':'node-0'", "");
    kf_expect(kf_patch(f, PODS "/a", MERGE, "{\"metadata\":{\"labels\":{\"app\":\"db\"}}}"), 200,
              "leave");
    kf_settle(f);
    assert_string_equal(pf_slices(f, "web"), "IPv4");
    kf_expect(kf_patch(f, SERVICES "/web", MERGE, "{\"spec\":{\"selector\":{\"app\":\"db\"}}}"),
              200, "follow");
    kf_settle(f);
    assert_string_equal(pf_slices(f, "web"), "IPv4 http:8080/TCP a@node-0=10.64.0.2(rs-)");
    kf_stop(f);
}

/* --- many ------------------------------------------------------------------------------------- */
/* A world with a Service `web` and `n` pods on node-0; the Service is touched, so that
 * its slices are written. */
static struct kf *start_with_pods(size_t n)
{
    struct kf *f = kf_start(&two_nodes);
    pf_service(f, "8080", "");
    struct kf_call *world = kf_do(f, "GET", "/sim/state", NULL);
    struct json_object *pods = json_object_new_array();
    for (size_t i = 0; i < n; i++) {
        const char *text = pf_pod(f, arena_printf(f->a, "p-%04zu", i), ",'nodeName':'node-0'",
                                  arena_printf(f->a,
                                               "{'phase':'Running','podIP':'10.1.%zu.%zu',"
                                               "'conditions':[{'type':'Ready','status':'True'}]}",
                                               i / 200, i % 200 + 1));
        json_object_array_add(pods, json_tokener_parse(text));
    }
    json_object_object_add(json_member(world->json, "kubernetes"), "pods", pods);
    kf_expect(kf_do(f, "PUT", "/sim/state", json_text(f->a, world->json, JSON_COMPACT)), 200,
              "world");
    return f;
}

static void touch(struct kf *f, const char *label)
{
    kf_expect(kf_patch(f, SERVICES "/web", MERGE,
                       arena_printf(f->a, "{\"metadata\":{\"labels\":{\"l\":\"%s\"}}}", label)),
              200, "touch");
    kf_settle(f);
}

static void remove_pod(struct kf *f, size_t i)
{
    kf_expect(kf_do(f, "DELETE", arena_printf(f->a, PODS "/p-%04zu?gracePeriodSeconds=0", i), NULL),
              200, "remove");
    kf_settle(f);
}

static void packing__a_hundred_each__never_merged(void **state)
{
    (void)state;
    struct kf *f = start_with_pods(250);
    assert_string_equal(pf_sizes(f, "web"), "");
    touch(f, "a");
    assert_string_equal(pf_sizes(f, "web"), "100 100 50");
    remove_pod(f, 0);
    remove_pod(f, 101);
    assert_string_equal(pf_sizes(f, "web"), "99 99 50");
    pf_make(f, "q-1", ",'nodeName':'node-1'", "");
    assert_string_equal(pf_sizes(f, "web"), "100 99 50"); /* where it just fits */
    pf_make(f, "q-2", ",'nodeName':'node-1'", "");
    pf_make(f, "q-3", ",'nodeName':'node-1'", "");
    assert_string_equal(pf_sizes(f, "web"), "100 100 51");
    for (size_t i = 200; i < 250; i++) {
        remove_pod(f, i);
    }
    assert_string_equal(pf_sizes(f, "web"), "100 100 1");
    kf_expect(kf_do(f, "DELETE", PODS "/q-3?gracePeriodSeconds=0", NULL), 200, "the last one");
    kf_settle(f);
    assert_string_equal(pf_sizes(f, "web"), "100 100");
    kf_stop(f);
}

/* --- the object ------------------------------------------------------------------------------- */
static struct json_object *only_slice(struct kf *f)
{
    struct kf_call *c = kf_do(f, "GET", SLICES, NULL);
    struct json_object *items = json_member(c->json, "items");
    assert_int_equal(json_len(items), 1);
    return json_object_array_get_idx(items, 0);
}

static void object__labels_owner_name__and_the_placeholder(void **state)
{
    (void)state;
    struct kf *f = kf_start(&two_nodes);
    pf_service(f, "8080", ",'clusterIP':'None'");
    pf_make(f, "a", ",'nodeName':'node-0'", "");
    touch(f, "one");
    struct json_object *o = only_slice(f);
    struct json_object *labels = json_path(o, "metadata.labels");
    struct json_object *owner =
        json_object_array_get_idx(json_path(o, "metadata.ownerReferences"), 0);
    const char *name = json_str(json_member(o, "metadata"), "name");
    assert_true(str_has_prefix(name, "web-") && strlen(name) == strlen("web-") + 5);
    assert_string_equal(json_str(json_member(o, "metadata"), "generateName"), "web-");
    assert_string_equal(
        json_text(f->a, labels, JSON_COMPACT),
        "{\"endpointslice.kubernetes.io/managed-by\":\"endpointslice-controller.k8s."
        "io\",\"kubernetes.io/service-name\":\"web\",\"l\":\"one\",\"service."
        "kubernetes.io/headless\":\"\"}");
    assert_string_equal(json_str(owner, "kind"), "Service");
    assert_string_equal(json_str(owner, "name"), "web");
    assert_true(json_bool(owner, "controller", false));
    kf_expect(kf_do(f, "DELETE", PODS "/a?gracePeriodSeconds=0", NULL), 200, "a");
    kf_settle(f);
    assert_string_equal(pf_slices(f, "web"), "IPv4");
    assert_string_equal(json_str(json_member(only_slice(f), "metadata"), "name"), name);
    touch(f, "two"); /* a placeholder with old labels is recreated, under its name */
    assert_string_equal(json_str(json_path(only_slice(f), "metadata.labels"), "l"), "two");
    kf_stop(f);
}

/* The second reconciliation of the same finds nothing to write. */
static void again__nothing_changed__no_write(void **state)
{
    (void)state;
    struct kf *f = kf_start(&two_nodes);
    pf_service(f, "8080", ",'trafficDistribution':'PreferSameNode'");
    pf_make(f, "a", "", "");
    pf_make(f, "b", "", "");
    const char *version = json_str(json_member(only_slice(f), "metadata"), "resourceVersion");
    kf_expect(kf_patch(f, SERVICES "/web", MERGE,
                       kf_quoted(f, "{'metadata':{'annotations':{'note':'x'}}}")),
              200, "touch");
    kf_expect(kf_patch(f, PODS "/a", MERGE, kf_quoted(f, "{'metadata':{'annotations':{'n':'x'}}}")),
              200, "touch a pod");
    kf_settle(f);
    assert_string_equal(json_str(json_member(only_slice(f), "metadata"), "resourceVersion"),
                        version);
    kf_stop(f);
}

static void foreign__change_is_put_right__other_managers_are_left(void **state)
{
    (void)state;
    struct kf *f = kf_start(&two_nodes);
    pf_service(f, "8080", "");
    pf_make(f, "a", ",'nodeName':'node-0'", "");
    const char *name = json_str(json_member(only_slice(f), "metadata"), "name");
    kf_expect(kf_patch(f, arena_printf(f->a, SLICES "/%s", name), MERGE, "{\"endpoints\":[]}"), 200,
              "emptied");
    kf_settle(f);
    assert_string_equal(pf_slices(f, "web"), "IPv4 http:8080/TCP a@node-0=10.64.0.2(rs-)");
    kf_expect(
        kf_do(f, "POST", SLICES,
              kf_quoted(f, "{'metadata':{'name':'mine','labels':{'kubernetes.io/service-name':"
                           "'web'}},'addressType':'IPv4','endpoints':[{'addresses':"
                           "['10.9.9.9']}]}")),
        201, "mine");
    pf_make(f, "b", ",'nodeName':'node-1'", "");
    assert_string_equal(pf_slices(f, "web"), "IPv4 @=10.9.9.9(---) | "
                                             "IPv4 http:8080/TCP a@node-0=10.64.0.2(rs-) "
                                             "b@node-1=10.64.1.2(rs-)");
    kf_stop(f);
}

/* --- topology hints --------------------------------------------------------------------------- */
/* A cluster with nodes of these CPUs ("" = none), one in each zone a, b, …, and pods on them
 * ("aab": two in a …). */
struct zones_row {
    const char *cpus[4];
    const char *pods;
    const char *hints; /* by pod: the zone's letter, or - */
    const char *event;
};

static void add_zone_node(struct kf *f, size_t i, const char *cpu)
{
    const char *body = arena_printf(
        f->a,
        "{'metadata':{'name':'n%zu','labels':{'topology.kubernetes.io/"
        "zone':'%c'}},'spec':{'podCIDRs':"
        "['10.70.%zu.0/24']},'status':{%s%s%s'conditions':[{'type':'Ready','status':'True'}]}}",
        i, (char)('a' + (char)i), i, *cpu ? "'allocatable':{'cpu':'" : "", cpu, *cpu ? "'}," : "");
    kf_expect(kf_do(f, "POST", "/api/v1/nodes", kf_quoted(f, body)), 201, "node");
}

static const char *hint_letters(struct kf *f)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    struct json_object *endpoints = json_member(only_slice(f), "endpoints");
    for (size_t i = 0; i < json_len(endpoints); i++) {
        struct json_object *zones =
            json_path(json_object_array_get_idx(endpoints, i), "hints.forZones");
        str_append(&b,
                   json_len(zones) ? json_str(json_object_array_get_idx(zones, 0), "name") : "-");
    }
    return str_buf_to_arena(&b, f->a);
}

static const char *last_event(struct kf *f)
{
    struct kf_call *c = kf_do(f, "GET", "/api/v1/namespaces/default/events", NULL);
    struct json_object *items = json_member(c->json, "items");
    size_t n = json_len(items);
    return n ? json_str(json_object_array_get_idx(items, n - 1), "message") : "";
}

/* The cluster of a row, its Service with topology hints on. */
static struct kf *start_zones(const struct zones_row *row)
{
    struct kf *f = kf_start(NULL);
    for (size_t i = 0; i < ARRAY_LEN(row->cpus) && row->cpus[i]; i++) {
        add_zone_node(f, i, row->cpus[i]);
    }
    struct json_object *pods = json_object_new_array();
    pf_service(f, "8080", "");
    for (size_t i = 0; row->pods[i]; i++) {
        json_object_array_add(
            pods, json_tokener_parse(
                      pf_pod(f, arena_printf(f->a, "p%02zu", i),
                             arena_printf(f->a, ",'nodeName':'n%d'", row->pods[i] - 'a'),
                             arena_printf(f->a,
                                          "{'phase':'Running','podIP':'10.1.1.%zu',"
                                          "'conditions':[{'type':'Ready','status':'True'}]}",
                                          i + 1))));
    }
    struct kf_call *world = kf_do(f, "GET", "/sim/state", NULL);
    json_object_object_add(json_member(world->json, "kubernetes"), "pods", pods);
    kf_expect(kf_do(f, "PUT", "/sim/state", json_text(f->a, world->json, JSON_COMPACT)), 200,
              "world");
    kf_expect(kf_patch(f, SERVICES "/web", MERGE,
                       kf_quoted(f, "{'metadata':{'annotations':{'service.kubernetes.io/"
                                    "topology-mode':'Auto'}}}")),
              200, "hints");
    kf_settle(f);
    return f;
}

static void play_zones(const struct zones_row *row)
{
    struct kf *f = start_zones(row);
    const char *letters = hint_letters(f);
    const char *event = last_event(f);
    if (!str_eq(letters, row->hints) || !str_eq(event, row->event)) {
        fail_msg("%s: want %s and \"%s\", got %s and \"%s\"", row->pods, row->hints, row->event,
                 letters, event);
    }
    kf_expect(
        kf_patch(f, SERVICES "/web", MERGE, kf_quoted(f, "{'metadata':{'annotations':null}}")), 200,
        "no hints");
    kf_settle(f);
    assert_null(strpbrk(hint_letters(f), "abcd"));
    kf_stop(f);
}

static void topology__shares_of_zones__decide(void **state)
{
    (void)state;
    static const char on[] = "Topology Aware Hints has been enabled, addressType: IPv4";
    static const struct zones_row rows[] = {
        {{"4", "4"}, "ab", "ab", on},
        {{"4", "4"}, "aaabbb", "aaabbb", on},
        /* Three in a, one in b, two each wanted: the first of a moves. */
        {{"4", "4"}, "aaab", "baab", on},
        {{"4", "4", "4"}, "aaabbbccc", "aaabbbccc", on},
        {{"2", "1"}, "aab", "aab", on},
        /* Minima 2 and 1 of two endpoints. */
        {{"2", "1"},
         "ab",
         "--",
         "Unable to allocate minimum required endpoints to each zone without exceeding overload "
         "threshold (2 endpoints, 2 zones), addressType: IPv4"},
        {{"4", "4", "4"},
         "ab",
         "--",
         "Insufficient number of endpoints (2 endpoints, 3 zones), addressType: IPv4"},
        {{"4"},
         "aaa",
         "---",
         "Insufficient Node information: allocatable CPU or zone not specified on one or more "
         "nodes, addressType: IPv4"},
        {{"4", ""},
         "aab",
         "---",
         "Insufficient Node information: allocatable CPU or zone not specified on one or more "
         "nodes, addressType: IPv4"},
        {{"3920m", "1.96"}, "aab", "aab", on},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        play_zones(&rows[i]);
    }
}

/* Hints the first `n` endpoints of the only slice for zone a, the rest for b, as
 * another client would. */
static void hint_by_hand(struct kf *f, size_t n)
{
    struct json_object *o = only_slice(f);
    struct json_object *endpoints = json_member(o, "endpoints");
    const char *name = json_str(json_member(o, "metadata"), "name");
    for (size_t i = 0; i < json_len(endpoints); i++) {
        struct json_object *e = json_object_array_get_idx(endpoints, i);
        json_object_object_add(
            e, "hints",
            json_tokener_parse(kf_quoted(f, i < n ? "{'forZones':[{'name':'a'}]}"
                                                  : "{'forZones':[{'name':'b'}]}")));
    }
    kf_expect(
        kf_do(f, "PUT", arena_printf(f->a, SLICES "/%s", name), json_text(f->a, o, JSON_COMPACT)),
        200, "hints by hand");
    kf_settle(f);
}

/* Twelve endpoints, two zones: 5 to 7 in each are well enough; what is beyond is
 * shared out again. */
static void topology__between_minimum_and_maximum__stays(void **state)
{
    (void)state;
    static const struct zones_row row = {{"4", "4"}, "aaaaaabbbbbb", "", ""};
    struct kf *f = start_zones(&row);
    assert_string_equal(hint_letters(f), "aaaaaabbbbbb");
    hint_by_hand(f, 7);
    assert_string_equal(hint_letters(f), "aaaaaaabbbbb");
    hint_by_hand(f, 8);
    assert_string_equal(hint_letters(f), "aaaaaabbbbbb");
    kf_stop(f);
}

/* A new zone without a hint overloads the Service: it is checked, although nothing
 * of it changed. */
static void topology__another_zone__is_noticed(void **state)
{
    (void)state;
    static const struct zones_row row = {{"4", "4"}, "aaaabbbb", "", ""};
    struct kf *f = start_zones(&row);
    assert_string_equal(hint_letters(f), "aaaabbbb");
    add_zone_node(f, 2, "4");
    kf_settle(f);
    assert_string_equal(hint_letters(f), "--------");
    kf_expect(kf_do(f, "DELETE", "/api/v1/nodes/n2", NULL), 200, "gone again");
    kf_settle(f);
    assert_string_equal(hint_letters(f), "--------"); /* without hints nothing is overloaded */
    touch(f, "x");
    assert_string_equal(hint_letters(f), "aaaabbbb");
    kf_stop(f);
}

UNIT_MAIN(pod_slices)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(endpoint__of_a_pod),
        cmocka_unit_test(families__a_slice_each),
        cmocka_unit_test(groups__other_ports__slices_of_their_own),
        cmocka_unit_test(labels__of_a_pod__join_and_leave),
        cmocka_unit_test(packing__a_hundred_each__never_merged),
        cmocka_unit_test(object__labels_owner_name__and_the_placeholder),
        cmocka_unit_test(again__nothing_changed__no_write),
        cmocka_unit_test(foreign__change_is_put_right__other_managers_are_left),
        cmocka_unit_test(topology__shares_of_zones__decide),
        cmocka_unit_test(topology__between_minimum_and_maximum__stays),
        cmocka_unit_test(topology__another_zone__is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
