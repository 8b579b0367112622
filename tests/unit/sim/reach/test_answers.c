/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of sim/reach/answers.c: which health checks a node of a cluster answers, and that each
 * cloud's judge asks. */
#include "tests/unit/sim/reach/reach_test.h"

#include <string.h>

#include "common/base/attr.h"
#include "common/base/str.h"

/* a and b are nodes, "going" is about to be removed.  The Service "web" is of policy Local, "all"
 * of policy Cluster. */
#define NODES                                                                                      \
    "'nodes': [{'metadata': {'name': 'a'}}, {'metadata': {'name': 'b'}},"                          \
    "{'metadata': {'name': 'going'}, 'spec': {'taints': ["                                         \
    "    {'key': 'ToBeDeletedByClusterAutoscaler', 'effect': 'NoSchedule'}]}},"                    \
    "{'metadata': {'name': 'deleted', 'deletionTimestamp': '2026-01-01T00:00:00Z'}}]"
#define SERVICE(name, ips, more)                                                                   \
    "{'metadata': {'namespace': 'demo', 'name': '" name "'}, 'spec': {'type': 'LoadBalancer',"     \
    "'clusterIP': '10.0.0.1', 'clusterIPs': [" ips "], " more "}}"
#define LOCAL                                                                                      \
    "'externalTrafficPolicy': 'Local', 'healthCheckNodePort': 31000,"                              \
    "'ports': [{'name': 'http', 'port': 80, 'protocol': 'TCP', 'nodePort': 30080},"                \
    "          {'name': 'dns', 'port': 53, 'protocol': 'UDP', 'nodePort': 30053}]"
#define CLUSTER "'externalTrafficPolicy': 'Cluster', 'ports': [{'port': 80, 'nodePort': 30081}]"
#define SERVICES                                                                                   \
    "'services': [" SERVICE("web", "'10.0.0.1', 'fd00::1'",                                        \
                            LOCAL) "," SERVICE("all", "'10.0.0.1'", CLUSTER) "]"
#define SLICE(service, family, name, endpoints)                                                    \
    "{'metadata': {'namespace': 'demo', 'labels': {'kubernetes.io/service-name': '" service        \
    "'}}, 'addressType': '" family "', 'ports': [{'name': '" name                                  \
    "', 'protocol': 'TCP', 'port': 8080}], 'endpoints': [" endpoints "]}"
#define ON(node, conditions)                                                                       \
    "{'addresses': ['10.64.0.2'], 'nodeName': '" node "', 'conditions': {" conditions "}}"
#define READY          "'ready': true"
#define UNREADY        "'ready': false, 'serving': false"
#define DRAINING       "'ready': false, 'serving': true, 'terminating': true"
#define ENDED          "'ready': false, 'serving': false, 'terminating': true"
#define WEB(endpoints) SLICE("web", "IPv4", "http", endpoints)

struct row {
    const char *name;
    const char *slices;
    struct reach_probe probe;
    bool want;
};

/* A world whose slices are these; everything else as above. */
static struct json_object *world_of(struct arena *a, const char *slices)
{
    struct json_object *o = NULL;
    struct err err = ERR_INIT;
    const char *text =
        str_replace(a,
                    arena_printf(a, "{'kubernetes': {%s, %s, 'endpointslices': [%s]}}", NODES,
                                 SERVICES, slices),
                    "'", "\"");
    if (json_parse_arena(a, text, strlen(text), NULL, &o, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
    return o;
}

static void check(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct arena *a = arena_new();
        struct reach_answers *x = reach_answers_read(a, world_of(a, rows[i].slices));
        if (reach_probe_succeeds(x, &rows[i].probe) != rows[i].want) {
            fail_msg("%s: want %s", rows[i].name, rows[i].want ? "success" : "none");
        }
        arena_free(a);
    }
}

#define HTTP(node, port)                                                                           \
    {                                                                                              \
        node, port, REACH_PROBE_HTTP, NULL, false                                                  \
    }
#define TCP(node, port)                                                                            \
    {                                                                                              \
        node, port, REACH_PROBE_TCP, NULL, false                                                   \
    }

static void health_check_node_port(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"a ready pod", WEB(ON("a", READY)), HTTP("a", 31000), true},
        {"on another node", WEB(ON("a", READY)), HTTP("b", 31000), false},
        {"the machine's name in capitals", WEB(ON("a", READY)), HTTP("A", 31000), true},
        {"on any path", WEB(ON("a", READY)), {"a", 31000, REACH_PROBE_HTTP, "/x", false}, true},
        {"ready is absent", WEB(ON("a", "")), HTTP("a", 31000), true},
        {"not ready", WEB(ON("a", UNREADY)), HTTP("a", 31000), false},
        {"terminates and serves", WEB(ON("a", DRAINING)), HTTP("a", 31000), false},
        {"no pods", WEB(""), HTTP("a", 31000), false},
        {"pods are not known", "", HTTP("a", 31000), true},
        {"a connection is enough", WEB(""), TCP("a", 31000), true},
        {"TLS is not spoken",
         WEB(ON("a", READY)),
         {"a", 31000, REACH_PROBE_TLS, NULL, false},
         false},
        {"each family by itself",
         WEB(ON("a", READY)) "," SLICE("web", "IPv6", "http", ON("b", READY)),
         {"a", 31000, REACH_PROBE_HTTP, NULL, true},
         false},
        {"the other family",
         WEB(ON("a", READY)) "," SLICE("web", "IPv6", "http", ON("b", READY)),
         {"b", 31000, REACH_PROBE_HTTP, NULL, true},
         true},
        {"any port of the slices counts", SLICE("web", "IPv4", "more", ON("a", READY)),
         HTTP("a", 31000), true},
        {"a machine without a Node", WEB(ON("x", READY)), HTTP("x", 31000), false},
        {"another Service's pods", SLICE("all", "IPv4", "", ON("a", READY)) "," WEB(""),
         HTTP("a", 31000), false},
    };
    check(rows, ARRAY_LEN(rows));
}

static void proxy_port(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"healthz", "", {"a", 10256, REACH_PROBE_HTTP, "/healthz", false}, true},
        {"livez", "", {"going", 10256, REACH_PROBE_HTTP, "/livez", false}, true},
        {"another path", "", {"a", 10256, REACH_PROBE_HTTP, "/", false}, false},
        {"tainted", "", {"going", 10256, REACH_PROBE_HTTP, "/healthz", false}, false},
        {"being deleted", "", {"deleted", 10256, REACH_PROBE_HTTP, "/healthz", false}, false},
        {"a connection", "", TCP("going", 10256), true},
        {"no Node", "", {"x", 10256, REACH_PROBE_HTTP, "/healthz", false}, false},
        {"a port of something else", "", HTTP("x", 8080), true},
    };
    check(rows, ARRAY_LEN(rows));
}

static void node_ports(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"Local, here", WEB(ON("a", READY)), TCP("a", 30080), true},
        {"Local, elsewhere", WEB(ON("a", READY)), TCP("b", 30080), false},
        {"Local, the last one terminates", WEB(ON("a", DRAINING)), TCP("a", 30080), true},
        {"Local, and serves no longer", WEB(ON("a", ENDED)), TCP("a", 30080), false},
        {"Cluster, elsewhere", SLICE("all", "IPv4", "", ON("a", READY)), TCP("b", 30081), true},
        {"Cluster, all terminate", SLICE("all", "IPv4", "", ON("a", DRAINING)), TCP("b", 30081),
         true},
        {"Cluster, none", SLICE("all", "IPv4", "", ""), TCP("b", 30081), false},
        {"Cluster, not a family of the Service",
         SLICE("all", "IPv6", "", ON("a", READY)),
         {"b", 30081, REACH_PROBE_TCP, NULL, true},
         false},
        {"a slice without the port", SLICE("all", "IPv4", "other", ON("a", READY)), TCP("b", 30081),
         false},
        {"UDP is not probed there", WEB(""), TCP("a", 30053), true},
        {"pods are not known", "", TCP("a", 30080), true},
    };
    check(rows, ARRAY_LEN(rows));
}

static void no_cluster__everything_is_answered(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    struct json_object *empty = json_object_new_object();
    const struct reach_probe probe = {"a", 10256, REACH_PROBE_HTTP, "/", false};
    assert_null(reach_answers_read(a, empty));
    assert_true(reach_probe_succeeds(NULL, &probe));
    json_object_put(empty);
    arena_free(a);
}

UNIT_MAIN(answers)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(health_check_node_port),
        cmocka_unit_test(proxy_port),
        cmocka_unit_test(node_ports),
        cmocka_unit_test(no_cluster__everything_is_answered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
