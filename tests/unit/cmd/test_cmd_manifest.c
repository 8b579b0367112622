/* SPDX-License-Identifier: Apache-2.0 */
/* test_cmd_manifest.c: from a manifest to the Service that the API server would store. */
#include "controller/cmd/cmd_manifest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/file.h"
#include "tests/support/unit.h"

/* A file with that text, gone with the arena. */
static void remove_file(void *path)
{
    (void)unlink(path);
}

static const char *file_with(struct arena *a, const char *text)
{
    char *path = arena_strdup(a, "/tmp/trimtab-manifest-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(strlen(text), write(fd, text, strlen(text)));
    close(fd);
    arena_defer(a, remove_file, path);
    return path;
}

static struct json_object *tree(struct arena *a, const char *text)
{
    struct json_object *o = NULL;
    struct err err = ERR_INIT;
    if (text == NULL) {
        return NULL;
    }
    assert_int_equal(ERR_OK, json_parse_arena(a, text, strlen(text), NULL, &o, &err));
    return o;
}

static void cmd_manifest__several_documents_and_lists__services_only(void **state)
{
    (void)state;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const char *path =
        file_with(a, "apiVersion: v1\nkind: Service\nmetadata: {name: a, namespace: x}\n"
                     "---\nkind: ConfigMap\nmetadata: {name: no}\n"
                     "---\napiVersion: v1\nkind: List\nitems:\n"
                     "- {apiVersion: v1, kind: Service, metadata: {name: b}}\n"
                     "- {kind: Pod, metadata: {name: no}}\n"
                     "---\n"
                     "---\napiVersion: serving.knative.dev/v1\nkind: Service\n"
                     "metadata: {name: theirs}\n");
    struct cmd_manifests m = {.a = a};
    struct err err = ERR_INIT;
    assert_int_equal(ERR_OK, cmd_manifest_read(&m, path, false, &err));
    assert_int_equal(0, m.faults.n);
    assert_int_equal(2, m.n);
    assert_string_equal("a", m.items[0].name);
    assert_string_equal("x", m.items[0].ns);
    assert_string_equal("b", m.items[1].name);
    assert_null(m.items[1].ns);
}

/* As kubectl, which knows an object by both. */
static void cmd_manifest__version_or_kind_wrong__refused_with_what_is_meant(void **state)
{
    (void)state;
#define REST "metadata: {name: a}\n"
    static const struct {
        const char *text, *fault; /* NULL: it is taken */
    } rows[] = {
        {"kind: Service\n" REST, "1: apiVersion: Required value; add \"apiVersion: v1\""},
        {"kind: Service\napiVersion: ''\n" REST,
         "2: apiVersion: Required value; add \"apiVersion: v1\""},
        {"kind: Service\napiVersion: apps/v1\n" REST,
         "2: no matches for kind \"Service\" in version \"apps/v1\"; did you mean \"v1\"?"},
        {"kind: Service\napiVersion: V1\n" REST,
         "2: no matches for kind \"Service\" in version \"V1\"; did you mean \"v1\"?"},
        {"kind: SERVICE\napiVersion: v1\n" REST,
         "1: no matches for kind \"SERVICE\" in version \"v1\"; did you mean \"Service\"?"},
        {"apiVersion: v1\n" REST, "1: kind: Required value"},
        {"kind: List\nitems: [{kind: Service, apiVersion: v1, metadata: {name: a}}]\n",
         "1: apiVersion: Required value; add \"apiVersion: v1\""},
        {"kind: List\napiVersion: v2\nitems: [{kind: Service, apiVersion: v1, metadata: {name: "
         "a}}]\n",
         "2: no matches for kind \"List\" in version \"v2\"; did you mean \"v1\"?"},
        {"kind: list\napiVersion: v1\nitems: [{kind: Service, apiVersion: v1, metadata: {name: "
         "a}}]\n",
         "1: no matches for kind \"list\" in version \"v1\"; did you mean \"List\"?"},
        {"kind: List\napiVersion: v1\nitems:\n- {kind: Service, metadata: {name: a}}\n",
         "4: apiVersion: Required value; add \"apiVersion: v1\""},
        {"kind: List\napiVersion: v1\nitems:\n- {apiVersion: v1, metadata: {name: a}}\n",
         "4: kind: Required value"},
        {"items:\n- {kind: Service, apiVersion: v1, metadata: {name: a}}\n",
         "1: kind: Required value"},
        {"kind: ServiceList\nitems: [{metadata: {name: a}}]\n",
         "1: apiVersion: Required value; add \"apiVersion: v1\""},
        {"kind: ServiceList\napiVersion: v1\nitems: [{metadata: {name: a}}]\n", NULL},
        {"kubernetes: {services: [{metadata: {name: a}}]}\n", NULL},
        {"kind: Service\napiVersion: v1\n" REST, NULL},
    };
#undef REST
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(arena_freep) struct arena *a = arena_new();
        const char *path = file_with(a, rows[i].text);
        struct cmd_manifests m = {.a = a};
        struct err err = ERR_INIT;
        assert_int_equal(ERR_OK, cmd_manifest_read(&m, path, false, &err));
        print_message("# row %zu: %s\n", i, m.faults.n > 0 ? m.faults.items[0].text : "");
        assert_int_equal(m.faults.n, rows[i].fault != NULL);
        if (rows[i].fault != NULL) {
            assert_string_equal(arena_printf(a, "%s:%s", path, rows[i].fault),
                                m.faults.items[0].text);
            assert_true(m.faults.items[0].hard);
        }
    }
}

/* Each fault, in order, behind the file's name; '!' marks a hard one. */
static void cmd_manifest__faults__line_document_path_and_nearest_name(void **state)
{
    (void)state;
    static const struct {
        const char *text, *faults[4];
    } rows[] = {
        {"kind: Pod\nmetadata: {name: a}\n", {"!: no object of kind Service in it"}},
        {"", {"!: no object of kind Service in it"}},
        {"a: 1\n", {"!:1: kind: Required value"}},
        {"hello\n", {"!:1: want a map with a kind, got \"hello\""}},
        {"[{kind: Service}]\n",
         {"!:1: want a map with a kind, got a list (objects of a `kind: List` are its `items`)"}},
        {"kind: ConfigMapList\nitems: [{metadata: {name: a}, data: {x: y}}]\n",
         {"!: no object of kind Service in it"}},
        {"kind: List\nitems: {a: b}\napiVersion: v1\n", {"!:2: items: want a list"}},
        {"kind: Menu\nitems: [{metadata: {name: a}}]\n", {"!: no object of kind Service in it"}},
        {"apiVersion: serving.knative.dev/v1\nkind: ServiceList\nitems: [{metadata: {name: a}}]\n",
         {"!: no object of kind Service in it"}},
        {"items: {a: b}\n", {"!:1: kind: Required value", "!:1: items: want a list"}},
        {"kind: ServiceList\nitems:\n- null\n- 3\napiVersion: v1\n",
         {"!:3: Service: want a map, got null", "!:4: Service: want a map, got 3"}},
        {"kind: List\nitems:\n- kind: List\n  items:\n  - kind: Service\n    metadata: {name: a}\n"
         "    specs: 1\n    apiVersion: v1\n  apiVersion: v1\napiVersion: v1\n",
         {":7: Service a: unknown field \"specs\"; did you mean \"spec\"?"}},
        {"kind: Service\napiVersion: v1\n", {"!:1: Service: metadata.name: Required value"}},
        {"kind: service\nmetadata: {name: a}\n",
         {"!:1: no matches for kind \"service\" in version \"v1\"; did you mean \"Service\"?"}},
        {"apiVersion: v2\nkind: Service\n",
         {"!:1: no matches for kind \"Service\" in version \"v2\"; did you mean \"v1\"?"}},
        {"kind: Service\nmetadata: {name: a}\nspec: 5\napiVersion: v1\n",
         {"!:3: Service a: spec: want a map, got 5"}},
        {"kind: Service\nmetadata: {name: a, labels: []}\napiVersion: v1\n",
         {"!:2: Service a: metadata.labels: want a map, got a list"}},
        {"kind: Service\nmetadata:\n  name: a\n  annotations:\n    x: true\napiVersion: v1\n",
         {"!:5: Service a: metadata.annotations.x: want a text (in quotes), got true"}},
        {"kind: Service\nmetadata: {name: a}\nspec:\n  loadBalancerSourceRange: [10.0.0.0/8]\n"
         "apiVersion: v1\n",
         {":4: Service a: unknown field \"spec.loadBalancerSourceRange\"; did you mean "
          "\"loadBalancerSourceRanges\"?"}},
        {"kind: Service\nmetadata: {name: a}\nspec:\n  type: Loadbalancer\napiVersion: v1\n",
         {"!:4: Service a: spec.type: Unsupported value: \"Loadbalancer\": supported values: "
          "\"ClusterIP\", \"ExternalName\", \"LoadBalancer\", \"NodePort\"; did you mean "
          "\"LoadBalancer\"?"}},
        {"kind: Pod\n---\nkind: List\nitem: []\nitems:\n- kind: Service\n"
         "  metadata: {name: a, namespace: x}\n  spec:\n    ports:\n    - port: http\n"
         "      proto: TCP\n    - protocol: tcp\n  apiVersion: v1\napiVersion: v1\n",
         {":4: document 2: unknown field \"item\"; did you mean \"items\"?",
          "!:10: document 2, Service x/a: spec.ports[0].port: want a whole number, got \"http\"",
          ":11: document 2, Service x/a: unknown field \"spec.ports[0].proto\"",
          "!:12: document 2, Service x/a: spec.ports[1].protocol: Unsupported value: \"tcp\": "
          "supported values: \"SCTP\", \"TCP\", \"UDP\""}},
        {"kind: Service\nmetadata: {name: a}\nspec:\n  type: NodePort\n  type: LoadBalancer\n"
         "apiVersion: v1\n",
         {":5: key \"type\" is already set"}},
        {"{\"kind\": \"Service\",\n\"metadata\": {\"name\": \"a\"},\n\"specs\": {},\n"
         "\"apiVersion\": \"v1\"}",
         {":3: Service a: unknown field \"specs\"; did you mean \"spec\"?"}},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(arena_freep) struct arena *a = arena_new();
        const char *path = file_with(a, rows[i].text);
        struct cmd_manifests m = {.a = a};
        struct err err = ERR_INIT;
        size_t n = 0;
        assert_int_equal(ERR_OK, cmd_manifest_read(&m, path, false, &err));
        for (; n < 4 && rows[i].faults[n] != NULL; n++) {
            const char *want = rows[i].faults[n];
            bool hard = *want == '!';
            assert_true(n < m.faults.n);
            assert_string_equal(arena_printf(a, "%s%s", path, want + hard), m.faults.items[n].text);
            assert_int_equal(hard, m.faults.items[n].hard);
        }
        assert_int_equal(n, m.faults.n);
    }
}

static void cmd_manifest__deprecated_and_served_fields__are_known(void **state)
{
    (void)state;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const char *path = file_with(
        a, "apiVersion: v1\nkind: Service\nmetadata:\n  name: a\n  selfLink: /x\n"
           "  creationTimestamp: null\n  managedFields:\n  - fieldsV1: {f: {any: thing}}\n"
           "spec:\n  type: ''\n  loadBalancerIP: 10.0.0.1\n  ports: [{port: 80, targetPort: web}]\n"
           "status: {loadBalancer: {ingress: [{ip: 10.0.0.1, ipMode: VIP}]}}\n");
    struct cmd_manifests m = {.a = a};
    struct err err = ERR_INIT;
    assert_int_equal(ERR_OK, cmd_manifest_read(&m, path, false, &err));
    assert_int_equal(0, m.faults.n);
    assert_int_equal(1, m.n);
}

static void cmd_manifest__in_a_folder__other_kinds_are_counted(void **state)
{
    (void)state;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const char *path = file_with(a, "kind: Deployment\napiVersion: apps/v1\n---\nkind: Pod\n");
    struct cmd_manifests m = {.a = a};
    struct err err = ERR_INIT;
    assert_int_equal(ERR_OK, cmd_manifest_read(&m, path, true, &err));
    assert_int_equal(0, m.faults.n);
    assert_int_equal(2, m.n_left_out);
    assert_string_equal("Deployment", m.left_out[0]);
}

static void cmd_nodes__fields_are_checked__a_worlds_are_not(void **state)
{
    (void)state;
    static const struct {
        const char *text, *fault;
        size_t n;
    } nodes[] = {
        {"{\"kind\":\"NodeList\",\"apiVersion\":\"v1\",\"items\":[{\"kind\":\"Node\",\"metadata\":{"
         "\"name\":\"n\"},"
         "\"spec\":{\"unscheduleable\":true}}]}",
         "Node n: unknown field \"spec.unscheduleable\"; did you mean \"unschedulable\"?", 1},
        {"{\"kubernetes\":{\"nodes\":[{\"metadata\":{\"name\":\"n\"},\"spec\":{\"own\":1}}]}}",
         NULL, 1},
        {"kind: Pod\n", "no object of kind Node in it", 0},
        {"", "no object of kind Node in it", 0},
        {"kind: PodList\nitems: [{metadata: {name: n}}]\n", "no object of kind Node in it", 0},
        {"kind: List\napiVersion: v1\nitems: []\n", NULL, 0},
        {"kind: Node\nmetadata: {name: node}\n", "apiVersion: Required value; add", 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(nodes); i++) {
        _cleanup_(arena_freep) struct arena *a = arena_new();
        struct cmd_faults faults = {.a = a};
        struct json_object **items = NULL;
        struct err err = ERR_INIT;
        size_t n = 0;
        assert_int_equal(ERR_OK,
                         cmd_nodes_read(a, file_with(a, nodes[i].text), &faults, &items, &n, &err));
        assert_int_equal(nodes[i].n, n);
        assert_int_equal(nodes[i].fault != NULL, faults.n);
        if (nodes[i].fault != NULL) {
            assert_non_null(strstr(faults.items[0].text, nodes[i].fault));
        }
    }
}

static void cmd_manifest__not_yaml__line_is_named(void **state)
{
    (void)state;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const char *path = file_with(a, "kind: Service\nmetadata: {name: a\n");
    struct cmd_manifests m = {.a = a};
    struct err err = ERR_INIT;
    assert_int_equal(ERR_OK, cmd_manifest_read(&m, path, false, &err));
    assert_int_equal(1, m.faults.n);
    assert_true(m.faults.items[0].hard);
    assert_true(str_has_prefix(m.faults.items[0].text, path));
    assert_non_null(strstr(m.faults.items[0].text, ": line "));
}

/* The server's object for manifests and live objects; the note in the plan. */
struct row {
    const char *what;
    const char *manifest; /* a Service's JSON without kind */
    const char *live;     /* NULL: the cluster has none */
    const char *path;
    const char *value; /* NULL: it must be absent */
};

static const struct row rows[] = {
    {"defaults", "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"ports\":[{\"port\":80}]}}", NULL,
     "spec.type", "ClusterIP"},
    {"affinity", "{\"metadata\":{\"name\":\"a\"}}", NULL, "spec.sessionAffinity", "None"},
    {"no policy for ClusterIP", "{\"metadata\":{\"name\":\"a\"}}", NULL,
     "spec.externalTrafficPolicy", NULL},
    {"policy of LoadBalancer",
     "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"type\":\"LoadBalancer\"}}", NULL,
     "spec.externalTrafficPolicy", "Cluster"},
    {"identity is the server's",
     "{\"metadata\":{\"name\":\"a\",\"uid\":\"mine\",\"resourceVersion\":\"7\"}}",
     "{\"metadata\":{\"uid\":\"u1\",\"resourceVersion\":\"5\"}}", "metadata.uid", "u1"},
    {"status is the server's",
     "{\"metadata\":{\"name\":\"a\"},\"status\":{\"loadBalancer\":{\"x\":\"mine\"}}}",
     "{\"status\":{\"loadBalancer\":{\"x\":\"theirs\"}}}", "status.loadBalancer.x", "theirs"},
    {"what others added stays", "{\"metadata\":{\"name\":\"a\",\"annotations\":{\"mine\":\"1\"}}}",
     "{\"metadata\":{\"annotations\":{\"theirs\":\"2\"}}}", "metadata.annotations.theirs", "2"},
    {"what the manifest says wins", "{\"metadata\":{\"name\":\"a\",\"annotations\":{\"x\":\"1\"}}}",
     "{\"metadata\":{\"annotations\":{\"x\":\"2\"}}}", "metadata.annotations.x", "1"},
    {"what the last apply had and the manifest lacks goes", "{\"metadata\":{\"name\":\"a\"}}",
     "{\"metadata\":{\"annotations\":{\"x\":\"2\","
     "\"kubectl.kubernetes.io/last-applied-configuration\":"
     "\"{\\\"metadata\\\":{\\\"annotations\\\":{\\\"x\\\":\\\"2\\\"}}}\"}}}",
     "metadata.annotations.x", NULL},
    {"the same of the spec", "{\"metadata\":{\"name\":\"a\"}}",
     "{\"metadata\":{\"annotations\":{"
     "\"kubectl.kubernetes.io/last-applied-configuration\":"
     "\"{\\\"spec\\\":{\\\"loadBalancerIP\\\":\\\"1.2.3.4\\\"}}\"}},"
     "\"spec\":{\"loadBalancerIP\":\"1.2.3.4\"}}",
     "spec.loadBalancerIP", NULL},
    {"allocated ones stay", "{\"metadata\":{\"name\":\"a\"}}",
     "{\"spec\":{\"clusterIP\":\"10.0.0.7\"}}", "spec.clusterIP", "10.0.0.7"},
    {"the check's port stays with policy Local",
     "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"type\":\"LoadBalancer\","
     "\"externalTrafficPolicy\":\"Local\"}}",
     "{\"spec\":{\"healthCheckNodePort\":31000}}", "spec.healthCheckNodePort", "31000"},
    {"0 is no port of a check",
     "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"type\":\"LoadBalancer\","
     "\"externalTrafficPolicy\":\"Local\",\"healthCheckNodePort\":0}}",
     "{\"spec\":{\"type\":\"LoadBalancer\",\"externalTrafficPolicy\":\"Local\","
     "\"healthCheckNodePort\":31000}}",
     "spec.healthCheckNodePort", "31000"},
    {"maps are merged by key",
     "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"selector\":{\"x\":\"1\"}}}",
     "{\"spec\":{\"selector\":{\"y\":\"2\"}}}", "spec.selector.y", "2"},
    {"finalizers of a new object", "{\"metadata\":{\"name\":\"a\",\"finalizers\":[\"x/y\"]}}", NULL,
     "metadata.finalizers", "[ \"x\\/y\" ]"},
    {"no finalizers", "{\"metadata\":{\"name\":\"a\",\"finalizers\":[]}}", NULL,
     "metadata.finalizers", NULL},
    {"finalizers of both", "{\"metadata\":{\"name\":\"a\",\"finalizers\":[\"a\",\"b\"]}}",
     "{\"metadata\":{\"finalizers\":[\"c\",\"b\"]}}", "metadata.finalizers",
     "[ \"c\", \"b\", \"a\" ]"},
    {"a finalizer that the last apply had goes", "{\"metadata\":{\"name\":\"a\"}}",
     "{\"metadata\":{\"finalizers\":[\"c\",\"b\"],\"annotations\":{"
     "\"kubectl.kubernetes.io/last-applied-configuration\":"
     "\"{\\\"metadata\\\":{\\\"finalizers\\\":[\\\"c\\\"]}}\"}}}",
     "metadata.finalizers", "[ \"b\" ]"},
    {"and goes with it",
     "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"type\":\"LoadBalancer\","
     "\"externalTrafficPolicy\":\"Cluster\"}}",
     "{\"spec\":{\"healthCheckNodePort\":31000}}", "spec.healthCheckNodePort", NULL},
    {"no policy for ExternalName",
     "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"type\":\"ExternalName\"}}", NULL,
     "spec.externalTrafficPolicy", NULL},
    {"an empty type is none", "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"type\":\"\"}}", NULL,
     "spec.type", "ClusterIP"},
    {"the class goes with the type",
     "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"type\":\"NodePort\"}}",
     "{\"spec\":{\"type\":\"LoadBalancer\",\"loadBalancerClass\":\"x\"}}", "spec.loadBalancerClass",
     NULL},
    {"the policy goes with the type",
     "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"type\":\"ClusterIP\"}}",
     "{\"spec\":{\"type\":\"LoadBalancer\",\"externalTrafficPolicy\":\"Local\"}}",
     "spec.externalTrafficPolicy", NULL},
    {"what the manifest says against its type stays, to be refused",
     "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"healthCheckNodePort\":31001}}", NULL,
     "spec.healthCheckNodePort", "31001"},
    {"both families are required of a new one",
     "{\"spec\":{\"type\":\"LoadBalancer\",\"ipFamilyPolicy\":\"RequireDualStack\"}}", NULL,
     "spec.ipFamilies", "[ \"IPv4\", \"IPv6\" ]"},
    {"both families are required of one that has IPv6",
     "{\"spec\":{\"type\":\"LoadBalancer\",\"ipFamilyPolicy\":\"RequireDualStack\"}}",
     "{\"spec\":{\"type\":\"LoadBalancer\",\"ipFamilyPolicy\":\"SingleStack\","
     "\"ipFamilies\":[\"IPv6\"]}}",
     "spec.ipFamilies", "[ \"IPv6\", \"IPv4\" ]"},
    {"the second family goes with the policy",
     "{\"spec\":{\"type\":\"LoadBalancer\",\"ipFamilyPolicy\":\"SingleStack\"}}",
     "{\"spec\":{\"type\":\"LoadBalancer\",\"ipFamilyPolicy\":\"PreferDualStack\","
     "\"ipFamilies\":[\"IPv6\",\"IPv4\"],\"clusterIPs\":[\"fd00::1\",\"10.0.0.1\"]}}",
     "spec.ipFamilies", "[ \"IPv6\" ]"},
    {"and its cluster address",
     "{\"spec\":{\"type\":\"LoadBalancer\",\"ipFamilyPolicy\":\"SingleStack\"}}",
     "{\"spec\":{\"type\":\"LoadBalancer\",\"ipFamilyPolicy\":\"PreferDualStack\","
     "\"ipFamilies\":[\"IPv6\",\"IPv4\"],\"clusterIPs\":[\"fd00::1\",\"10.0.0.1\"]}}",
     "spec.clusterIPs", "[ \"fd00::1\" ]"},
    {"what is preferred depends on the cluster",
     "{\"spec\":{\"type\":\"LoadBalancer\",\"ipFamilyPolicy\":\"PreferDualStack\"}}", NULL,
     "spec.ipFamilies", NULL},
    {"two protocols of a new one's port share a node port",
     "{\"spec\":{\"type\":\"LoadBalancer\",\"ports\":[{\"name\":\"t\",\"port\":53},"
     "{\"name\":\"u\",\"port\":53,\"protocol\":\"UDP\"},{\"name\":\"h\",\"port\":80}]}}",
     NULL, "spec.ports",
     "[ { \"name\": \"t\", \"port\": 53, \"protocol\": \"TCP\", \"targetPort\": 53, "
     "\"nodePort\": 30001 }, { \"name\": \"u\", \"port\": 53, \"protocol\": \"UDP\", "
     "\"targetPort\": 53, \"nodePort\": 30001 }, { \"name\": \"h\", \"port\": 80, "
     "\"protocol\": \"TCP\", \"targetPort\": 80, \"nodePort\": 30002 } ]"},
};

static struct json_object *completed(struct arena *a, const char *manifest, const char *live,
                                     const char **ret_note)
{
    const struct cmd_manifest m = {
        .origin = {.file = "f"}, .ns = "demo", .name = "a", .object = tree(a, manifest)};
    struct json_object *o = cmd_manifest_complete(a, &m, tree(a, live), ret_note);
    return o;
}

static void cmd_manifest_complete__table__as_the_server_stores_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(arena_freep) struct arena *a = arena_new();
        const char *note;
        _cleanup_(json_putp) struct json_object *o =
            completed(a, rows[i].manifest, rows[i].live, &note);
        struct json_object *v = json_path(o, rows[i].path);
        const char *got = v == NULL ? NULL : json_object_get_string(v);
        if (!str_eq(got, rows[i].value)) {
            fail_msg("%s: %s is %s, want %s", rows[i].what, rows[i].path, str_or(got, "absent"),
                     str_or(rows[i].value, "absent"));
        }
    }
}

static void cmd_manifest_complete__ports__defaults_and_node_ports_by_name(void **state)
{
    (void)state;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const char *note;
    _cleanup_(json_putp) struct json_object *o = completed(
        a, "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"ports\":[{\"name\":\"x\",\"port\":81}]}}",
        "{\"metadata\":{\"annotations\":{\"kubectl.kubernetes.io/last-applied-configuration\":"
        "\"{\\\"spec\\\":{\\\"ports\\\":[{\\\"name\\\":\\\"x\\\",\\\"port\\\":80}]}}\"}},"
        "\"spec\":{\"ports\":[{\"name\":\"x\",\"port\":80,\"nodePort\":30123}]}}",
        &note);
    struct json_object *port = json_object_array_get_idx(json_path(o, "spec.ports"), 0);
    assert_string_equal("TCP", json_str(port, "protocol"));
    assert_int_equal(81, json_int(port, "targetPort", 0));
    assert_int_equal(30123, json_int(port, "nodePort", 0));
}

static void cmd_manifest_complete__node_ports__stand_ins_that_nobody_has(void **state)
{
    (void)state;
    static const char ports[] =
        "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"type\":\"LoadBalancer\",%s\"ports\":["
        "{\"name\":\"x\",\"port\":80},{\"name\":\"y\",\"port\":81,\"nodePort\":30001},"
        "{\"name\":\"z\",\"port\":82}]}}";
    static const struct {
        const char *more;
        int64_t want[3];
    } cases[] = {{"", {30002, 30001, 30003}},
                 {"\"allocateLoadBalancerNodePorts\":false,", {0, 30001, 0}}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_(arena_freep) struct arena *a = arena_new();
        const char *note;
        _cleanup_(json_putp) struct json_object *o =
            completed(a, arena_printf(a, ports, cases[i].more), NULL, &note);
        for (size_t k = 0; k < 3; k++) {
            struct json_object *port = json_object_array_get_idx(json_path(o, "spec.ports"), k);
            assert_int_equal(cases[i].want[k], json_int(port, "nodePort", 0));
        }
    }
}

static void cmd_manifest_complete__what_the_server_would_choose__note(void **state)
{
    (void)state;
    static const char local[] = "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"type\":"
                                "\"LoadBalancer\",\"externalTrafficPolicy\":\"Local\"}}";
    static const char ports[] =
        "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"type\":\"LoadBalancer\","
        "\"ports\":[{\"name\":\"x\",\"port\":80},{\"name\":\"y\",\"port\":81}]}}";
    static const char both[] = "{\"metadata\":{\"uid\":\"u\"},\"spec\":{\"ports\":[{\"name\":\"x\","
                               "\"port\":80,\"nodePort\":30001},"
                               "{\"name\":\"y\",\"port\":81,\"nodePort\":30009}]}}";
    static const struct {
        const char *manifest, *live, *note;
    } notes[] = {
        {"{\"metadata\":{\"name\":\"a\"}}", NULL,
         "the cluster does not have it yet → its uid and the names made from it are stand-ins"},
        {local, NULL,
         "the cluster does not have it yet → its uid, the health check's port and names made from "
         "them are stand-ins"},
        {ports, NULL,
         "the cluster does not have it yet → its uid, node ports and names made from them are "
         "stand-ins"},
        {ports,
         "{\"metadata\":{\"uid\":\"u\"},\"spec\":{\"ports\":[{\"name\":\"x\",\"port\":80,"
         "\"nodePort\":30001}]}"
         "}",
         "the API server has not chosen node ports yet → 30001 and the following numbers are used "
         "instead"},
        {ports, both, NULL},
        {local, "{\"metadata\":{\"uid\":\"u\"}}",
         "the API server has not chosen the health check's port yet → 30000 stands for it"},
        {"{\"metadata\":{\"name\":\"a\"}}", "{\"metadata\":{\"uid\":\"u\"}}", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(notes); i++) {
        _cleanup_(arena_freep) struct arena *a = arena_new();
        const char *note;
        _cleanup_(json_putp) struct json_object *o =
            completed(a, notes[i].manifest, notes[i].live, &note);
        assert_non_null(o);
        assert_string_equal(str_or(notes[i].note, "none"), str_or(note, "none"));
    }
}

static void cmd_manifest_complete__new__same_uid_in_every_run(void **state)
{
    (void)state;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const char *note;
    const char *first = NULL;
    for (int i = 0; i < 2; i++) {
        _cleanup_(json_putp) struct json_object *o =
            completed(a, "{\"metadata\":{\"name\":\"a\"}}", NULL, &note);
        const char *uid = arena_strdup(a, json_str(json_member(o, "metadata"), "uid"));
        assert_int_equal(36, strlen(uid));
        assert_string_equal(str_or(first, uid), uid);
        first = uid;
    }
}

/* "80:a:30001 81:b:30002": numbers, names and node ports. */
static const char *ports_text(struct arena *a, struct json_object *o)
{
    struct json_object *ports = json_path(o, "spec.ports");
    const char *text = "";
    for (size_t i = 0; i < json_len(ports); i++) {
        struct json_object *p = json_object_array_get_idx(ports, i);
        text = arena_printf(a, "%s%s%lld:%s:%lld", text, i > 0 ? " " : "",
                            (long long)json_int(p, "port", 0), str_or(json_str(p, "name"), ""),
                            (long long)json_int(p, "nodePort", 0));
    }
    return text;
}

/* Rows say what kubectl apply with a strategic merge, and then the server's update of a Service,
 * make of ports. */
static void cmd_manifest_complete__ports__merged_by_number_then_node_ports_by_name(void **state)
{
    (void)state;
#define TWO "{'name':'a','port':80,'nodePort':30001},{'name':'b','port':81,'nodePort':30002}"
    static const struct {
        const char *manifest, *live, *last, *want;
    } cases[] = {
        /* 0 is absent */
        {"{'name':'a','port':80,'nodePort':0},{'name':'b','port':81}", TWO, "",
         "80:a:30001 81:b:30002"},
        /* a new name, the same number */
        {"{'name':'web','port':80},{'name':'b','port':81}", TWO, "", "80:web:30001 81:b:30002"},
        /* a new number, the same name */
        {"{'name':'a','port':82},{'name':'b','port':81}", TWO,
         "{'name':'a','port':80},{'name':'b','port':81}", "82:a:30001 81:b:30002"},
        /* a port that the last apply did not have stays, where it stood */
        {"{'name':'a','port':80}", TWO, "", "80:a:30001 81:b:30002"},
        {"{'name':'b','port':81}", TWO, "", "80:a:30001 81:b:30002"},
        {"{'name':'a','port':80}", TWO, "{'name':'a','port':80}", "80:a:30001 81:b:30002"},
        /* and one that it had goes */
        {"{'name':'a','port':80}", TWO, "{'name':'a','port':80},{'name':'b','port':81}",
         "80:a:30001"},
        /* a node port that another port has now */
        {"{'name':'a','port':80,'nodePort':0},{'name':'b','port':81,'nodePort':30001}", TWO, "",
         "80:a:30002 81:b:30001"},
        {"{'name':'a','port':90},{'name':'b','port':81,'nodePort':30001}", TWO,
         "{'name':'a','port':80}", "90:a:30002 81:b:30001"},
        /* one number, two protocols */
        {"{'name':'a','port':80,'protocol':'UDP'},{'name':'b','port':80}",
         "{'name':'a','port':80,'protocol':'TCP','nodePort':30001},"
         "{'name':'b','port':80,'protocol':'UDP','nodePort':30002}",
         "", "80:a:30002 80:b:30001"},
    };
#undef TWO
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_(arena_freep) struct arena *a = arena_new();
        const char *note;
        char *manifest =
            arena_printf(a, "{'metadata':{'name':'a'},'spec':{'type':'LoadBalancer','ports':[%s]}}",
                         cases[i].manifest);
        char *last = arena_printf(a, "{'spec':{'ports':[%s]}}", cases[i].last);
        const char *quoted = str_replace(a, last, "'", "\\\"");
        char *live = arena_printf(
            a,
            "{'metadata':{'annotations':{'kubectl.kubernetes.io/last-applied-configuration':'%s'}},"
            "'spec':{'type':'LoadBalancer','ports':[%s]}}",
            quoted, cases[i].live);
        _cleanup_(json_putp) struct json_object *o = completed(
            a, str_replace(a, manifest, "'", "\""), str_replace(a, live, "'", "\""), &note);
        assert_string_equal(cases[i].want, ports_text(a, o));
    }
}

UNIT_MAIN(cmd_manifest)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cmd_manifest__several_documents_and_lists__services_only),
        cmocka_unit_test(cmd_manifest__version_or_kind_wrong__refused_with_what_is_meant),
        cmocka_unit_test(cmd_manifest__faults__line_document_path_and_nearest_name),
        cmocka_unit_test(cmd_manifest__deprecated_and_served_fields__are_known),
        cmocka_unit_test(cmd_manifest__in_a_folder__other_kinds_are_counted),
        cmocka_unit_test(cmd_nodes__fields_are_checked__a_worlds_are_not),
        cmocka_unit_test(cmd_manifest__not_yaml__line_is_named),
        cmocka_unit_test(cmd_manifest_complete__table__as_the_server_stores_it),
        cmocka_unit_test(cmd_manifest_complete__ports__merged_by_number_then_node_ports_by_name),
        cmocka_unit_test(cmd_manifest_complete__ports__defaults_and_node_ports_by_name),
        cmocka_unit_test(cmd_manifest_complete__node_ports__stand_ins_that_nobody_has),
        cmocka_unit_test(cmd_manifest_complete__what_the_server_would_choose__note),
        cmocka_unit_test(cmd_manifest_complete__new__same_uid_in_every_run),
    };
    return cmocka_run_group_tests_name("cmd-manifest", tests, NULL, NULL);
}
