/* SPDX-License-Identifier: Apache-2.0 */
/* test_proto.c: bodies in protobuf, as kubectl's `create` commands and Go controllers send them.
 *
 * The first tests read bytes that Go wrote; those that go through the API build their bodies with
 * pb_* below, which knows as little of Kubernetes as the wire format does. */
#include "sim/kube/proto.h"
#include "tests/support/unit.h"
#include "tests/unit/sim/kube/kube_fixture.h"

#include <string.h>

static struct json_object *read_body(struct arena *a, const struct kube_type *type,
                                     const char *body, size_t n)
{
    struct json_object *o = NULL;
    return kube_proto_read(a, type, body, n, &o) ? NULL : o;
}

static void proto__service__becomes_the_same_tree(void **state)
{
    (void)state;
    static const char body[] = "\x6b\x38\x73\x00\x0a\x0d\x0a\x02\x76\x31\x12\x07\x53\x65\x72\x76"
                               "\x69\x63\x65\x12\x4c\x0a\x0f\x0a"
                               "\x03\x77\x65\x62\x42\x00\x5a\x06\x0a\x01\x61\x12\x01\x62\x12\x39"
                               "\x0a\x1a\x0a\x04\x68\x74\x74\x70"
                               "\x12\x03\x54\x43\x50\x18\x50\x22\x0b\x08\x01\x10\x00\x1a\x05\x77"
                               "\x65\x62\x70\x74\x12\x0a\x0a\x03"
                               "\x61\x70\x70\x12\x03\x77\x65\x62\x22\x0c\x4c\x6f\x61\x64\x42\x61"
                               "\x6c\x61\x6e\x63\x65\x72\xa0\x01"
                               "\x00";
    struct arena *a = arena_new();
    struct json_object *o = read_body(a, &kube_type_service, body, sizeof(body) - 1);
    assert_non_null(o);
    assert_string_equal(json_text(a, o, JSON_COMPACT),
                        "{\"apiVersion\":\"v1\",\"kind\":\"Service\","
                        "\"metadata\":{\"name\":\"web\",\"labels\":{\"a\":\"b\"}},\"spec\":{"
                        "\"ports\":[{\"name\":\"http\","
                        "\"protocol\":\"TCP\",\"port\":80,\"targetPort\":\"webpt\"}],\"selector\":{"
                        "\"app\":\"web\"},"
                        "\"type\":\"LoadBalancer\",\"allocateLoadBalancerNodePorts\":false}}");
    arena_free(a);
}

#define LEASE "\"apiVersion\":\"v1\",\"kind\":\"Lease\","

static void proto__times_numbers_and_bytes(void **state)
{
    (void)state;
    static const char timed[] = "\x6b\x38\x73\x00\x0a\x0b\x0a\x02\x76\x31\x12\x05\x4c\x65\x61\x73"
                                "\x65\x12\x0e\x12\x0c\x10\x0f\x22"
                                "\x08\x08\x80\x80\x80\x80\x06\x10\x00";
    static const char negative[] = "\x6b\x38\x73\x00\x0a\x0b\x0a\x02\x76\x31\x12\x05\x4c\x65\x61"
                                   "\x73\x65\x12\x0d\x12\x0b\x10\xff\xff"
                                   "\xff\xff\xff\xff\xff\xff\xff\x01";
    static const char secret[] = "\x6b\x38\x73\x00\x0a\x0c\x0a\x02\x76\x31\x12\x06\x53\x65\x63\x72"
                                 "\x65\x74\x12\x0a\x12\x08\x0a\x01"
                                 "\x6b\x12\x03\xff\x00\x01";
    struct arena *a = arena_new();
    struct json_object *o = read_body(a, &kube_type_lease, timed, sizeof(timed) - 1);
    assert_string_equal(json_text(a, o, JSON_COMPACT),
                        "{" LEASE "\"spec\":{\"leaseDurationSeconds\":15,"
                        "\"renewTime\":\"2021-01-14T08:25:36.000000Z\"}}");
    o = read_body(a, &kube_type_lease, negative, sizeof(negative) - 1);
    assert_string_equal(json_text(a, o, JSON_COMPACT),
                        "{" LEASE "\"spec\":{\"leaseDurationSeconds\":-1}}");
    o = read_body(a, &kube_type_secret, secret, sizeof(secret) - 1);
    assert_string_equal(json_text(a, o, JSON_COMPACT),
                        "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"data\":{\"k\":\"/wAB\"}}");
    arena_free(a);
}

static void proto__malformed__is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name, *body;
        size_t n;
    } rows[] = {
        {"empty", "", 0},
        {"no magic", "abcd\x12\x00", 6},
        {"no object", "k8s\0", 4},
        {"length past the end", "k8s\0\x12\x7f", 6},
        {"endless varint", "k8s\0\x12\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 17},
        {"group", "k8s\0\x12\x01\x0b", 7},
        {"cut in the object", "k8s\0\x12\x03\x0a\x05x", 9},
    };
    struct arena *a = arena_new();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (read_body(a, &kube_type_service, rows[i].body, rows[i].n)) {
            fail_msg("%s is accepted", rows[i].name);
        }
    }
    assert_false(kube_proto_knows(&kube_type_free));
    assert_false(kube_proto_knows(&kube_type_node));
    assert_true(kube_proto_knows(&kube_type_lease));
    arena_free(a);
}

/* --- through the API -------------------------------------------------------------------------- */
static void pb_varint(struct str_buf *b, uint64_t v)
{
    for (; v > 0x7f; v >>= 7) {
        str_append_c(b, (char)(0x80 | (v & 0x7f)));
    }
    str_append_c(b, (char)v);
}

static void pb_int(struct str_buf *b, unsigned field, int64_t v)
{
    pb_varint(b, (uint64_t)field << 3);
    pb_varint(b, (uint64_t)v);
}

static void pb_bytes(struct str_buf *b, unsigned field, const char *p, size_t n)
{
    pb_varint(b, (uint64_t)field << 3 | 2);
    pb_varint(b, n);
    str_append_n(b, p, n);
}

static void pb_text(struct str_buf *b, unsigned field, const char *text)
{
    pb_bytes(b, field, text, strlen(text));
}

/* Moves a finished message into the one around it. */
static void pb_message(struct str_buf *b, unsigned field, struct str_buf *inner)
{
    pb_bytes(b, field, str_buf_text(inner), inner->len);
    str_buf_done(inner);
    *inner = (struct str_buf)STR_BUF_INIT;
}

/* Seconds and nanoseconds of a Time or MicroTime. */
static void pb_time(struct str_buf *b, unsigned field, int64_t seconds, int64_t nanos)
{
    struct str_buf t = STR_BUF_INIT;
    pb_int(&t, 1, seconds);
    pb_int(&t, 2, nanos);
    pb_message(b, field, &t);
}

/* ObjectMeta as Go writes it: texts that are not set are there, too. */
static void pb_meta(struct str_buf *b, const char *name, const char *ns, const char *version)
{
    struct str_buf m = STR_BUF_INIT;
    struct str_buf none = STR_BUF_INIT;
    pb_text(&m, 1, name);
    pb_text(&m, 2, "");
    pb_text(&m, 3, ns);
    pb_text(&m, 4, "");
    pb_text(&m, 5, "");
    pb_text(&m, 6, version);
    pb_int(&m, 7, 0);
    pb_message(&m, 8, &none);
    pb_message(b, 1, &m);
}

static struct kf_call *pb_send(struct kf *f, const char *method, const char *path,
                               const char *const kind[2], struct str_buf *object)
{
    struct str_buf names = STR_BUF_INIT;
    struct str_buf unknown = STR_BUF_INIT;
    struct str_buf body = STR_BUF_INIT;
    pb_text(&names, 1, kind[0]);
    pb_text(&names, 2, kind[1]);
    pb_message(&unknown, 1, &names);
    pb_message(&unknown, 2, object);
    pb_text(&unknown, 3, "");
    pb_text(&unknown, 4, "");
    str_append_n(&body, "k8s", 4);
    str_append_n(&body, str_buf_text(&unknown), unknown.len);
    struct kf_call *c = kf_send_bytes(f, method, path,
                                      "Content-Type: application/vnd.kubernetes.protobuf\r\n"
                                      "Accept: application/vnd.kubernetes.protobuf, */*\r\n",
                                      str_buf_text(&body), body.len);
    kf_wait(f, c);
    str_buf_done(&unknown);
    str_buf_done(&body);
    return c;
}

#define LEASES  "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
#define EVENTS  "/api/v1/namespaces/default/events"
#define EVENTS2 "/apis/events.k8s.io/v1/namespaces/default/events"
#define MAPS    "/api/v1/namespaces/kube-system/configmaps"
static const char *const lease_kind[] = {"coordination.k8s.io/v1", "Lease"};
static const char *const event_kind[] = {"v1", "Event"};
static const char *const events_kind[] = {"events.k8s.io/v1", "Event"};
static const char *const map_kind[] = {"v1", "ConfigMap"};

static void lease_body(struct str_buf *b, const char *holder, const char *version, int64_t seconds)
{
    struct str_buf spec = STR_BUF_INIT;
    pb_meta(b, "ingress-gce-lock", "kube-system", version);
    pb_text(&spec, 1, holder);
    pb_int(&spec, 2, 15);
    pb_time(&spec, 3, 1795392000, 123456000);
    pb_time(&spec, 4, seconds, 123456000);
    pb_int(&spec, 5, 0);
    pb_message(b, 2, &spec);
}

static void proto__lease__created_renewed_and_conflicts(void **state)
{
    (void)state;
    struct kf *f = kf_start(NULL);
    struct str_buf b = STR_BUF_INIT;
    lease_body(&b, "a_1", "", 1795392000);
    struct kf_call *c = pb_send(f, "POST", LEASES, lease_kind, &b);
    kf_expect(c, 201, "create");
    assert_string_equal(kf_text(c, "spec.holderIdentity"), "a_1");
    assert_string_equal(kf_text(c, "spec.renewTime"), "2026-11-23T00:00:00.123456Z");
    const char *version = kf_text(c, "metadata.resourceVersion");
    lease_body(&b, "a_1", version, 1795392002);
    c = pb_send(f, "PUT", LEASES "/ingress-gce-lock", lease_kind, &b);
    kf_expect(c, 200, "renew");
    assert_string_equal(kf_text(c, "spec.renewTime"), "2026-11-23T00:00:02.123456Z");
    assert_string_equal(kf_text(c, "spec.acquireTime"), "2026-11-23T00:00:00.123456Z");
    lease_body(&b, "b_1", version, 1795392003);
    c = pb_send(f, "PUT", LEASES "/ingress-gce-lock", lease_kind, &b);
    kf_expect(c, 409, "stale");
    assert_string_equal(kf_text(c, "reason"), "Conflict");
    kf_stop(f);
}

static void proto__event__both_apis_and_series(void **state)
{
    (void)state;
    struct kf *f = kf_start(NULL);
    struct str_buf b = STR_BUF_INIT;
    struct str_buf part = STR_BUF_INIT;
    pb_meta(&b, "web.1", "default", "");
    pb_text(&part, 1, "Service");
    pb_text(&part, 2, "default");
    pb_text(&part, 3, "web");
    pb_message(&b, 2, &part);
    pb_text(&b, 3, "Attach");
    pb_text(&b, 4, "Attach 3 network endpoint(s)");
    pb_text(&part, 1, "neg-controller");
    pb_message(&b, 5, &part);
    pb_time(&b, 6, 1795392000, 0);
    pb_int(&b, 8, 2);
    pb_text(&b, 9, "Normal");
    struct kf_call *c = pb_send(f, "POST", EVENTS, event_kind, &b);
    kf_expect(c, 201, "core");
    assert_string_equal(kf_text(c, "involvedObject.name"), "web");
    assert_string_equal(kf_text(c, "firstTimestamp"), "2026-11-23T00:00:00Z");
    assert_string_equal(kf_text(c, "source.component"), "neg-controller");
    assert_string_equal(kf_text(c, "count"), "2");

    pb_meta(&b, "web.2", "default", "");
    pb_time(&b, 2, 1795392000, 5000);
    pb_int(&part, 1, 3);
    pb_time(&part, 2, 1795392001, 6000);
    pb_message(&b, 3, &part);
    pb_text(&b, 4, "l4-controller");
    pb_text(&b, 5, "me");
    pb_text(&b, 6, "Sync");
    pb_text(&b, 7, "Done");
    pb_text(&part, 1, "Service");
    pb_text(&part, 2, "default");
    pb_text(&part, 3, "web");
    pb_message(&b, 8, &part);
    pb_text(&b, 10, "note");
    pb_text(&b, 11, "Normal");
    c = pb_send(f, "POST", EVENTS2, events_kind, &b);
    kf_expect(c, 201, "newer");
    assert_string_equal(kf_text(c, "eventTime"), "2026-11-23T00:00:00.000005Z");
    assert_string_equal(kf_text(c, "series.lastObservedTime"), "2026-11-23T00:00:01.000006Z");
    assert_string_equal(kf_text(c, "regarding.name"), "web");
    kf_stop(f);
}

static void proto__config_map__text_and_bytes(void **state)
{
    (void)state;
    struct kf *f = kf_start(NULL);
    struct str_buf b = STR_BUF_INIT;
    struct str_buf entry = STR_BUF_INIT;
    pb_meta(&b, "ingress-uid", "kube-system", "");
    pb_text(&entry, 1, "uid");
    pb_text(&entry, 2, "7kpbhpki");
    pb_message(&b, 2, &entry);
    pb_text(&entry, 1, "raw");
    pb_bytes(&entry, 2, "\xff\0\x01", 3);
    pb_message(&b, 3, &entry);
    struct kf_call *c = pb_send(f, "POST", MAPS, map_kind, &b);
    kf_expect(c, 201, "create");
    assert_string_equal(kf_text(c, "data.uid"), "7kpbhpki");
    assert_string_equal(kf_text(c, "binaryData.raw"), "/wAB");
    kf_stop(f);
}

/* Go controllers that make their own kinds send them so, and wait until they are established. */
static void proto__definition__is_established(void **state)
{
    (void)state;
    static const char *const kind[] = {"apiextensions.k8s.io/v1", "CustomResourceDefinition"};
    struct kf *f = kf_start(NULL);
    struct str_buf b = STR_BUF_INIT, names = STR_BUF_INIT, version = STR_BUF_INIT,
                   spec = STR_BUF_INIT;
    pb_meta(&b, "frontendconfigs.networking.gke.io", "", "");
    pb_text(&names, 1, "frontendconfigs");
    pb_text(&names, 4, "FrontendConfig");
    pb_text(&version, 1, "v1beta1");
    pb_int(&version, 2, 1);
    pb_int(&version, 3, 1);
    pb_text(&version, 4, "\x0a\x00"); /* a schema, which is passed over */
    pb_text(&spec, 1, "networking.gke.io");
    pb_message(&spec, 3, &names);
    pb_text(&spec, 4, "Namespaced");
    pb_message(&spec, 7, &version);
    pb_message(&b, 2, &spec);
    struct kf_call *c =
        pb_send(f, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", kind, &b);
    kf_expect(c, 201, "definition");
    assert_string_equal(kf_text(c, "spec.names.plural"), "frontendconfigs");
    struct json_object *conditions = json_path(c->json, "status.conditions");
    struct json_object *established = json_object_array_get_idx(conditions, 1);
    assert_string_equal(json_str(established, "type"), "Established");
    assert_string_equal(json_str(established, "status"), "True");
    assert_string_equal(json_text(f->a, json_path(c->json, "status.storedVersions"), JSON_COMPACT),
                        "[\"v1beta1\"]");
    kf_stop(f);
}

#define DEPLOYMENTS "/apis/apps/v1/namespaces/default/deployments"

/* {matchLabels: {app: web}}, or the labels of metadata. */
static void pb_label(struct str_buf *b, unsigned field)
{
    struct str_buf entry = STR_BUF_INIT;
    pb_text(&entry, 1, "app");
    pb_text(&entry, 2, "web");
    pb_message(b, field, &entry);
}

/* As `kubectl create deployment web --image=i --port=8080 --replicas=2` writes it. */
static void proto__deployment__is_made(void **state)
{
    (void)state;
    static const char *const kind[] = {"apps/v1", "Deployment"};
    struct str_buf b = STR_BUF_INIT, spec = STR_BUF_INIT, selector = STR_BUF_INIT;
    struct str_buf template = STR_BUF_INIT, meta = STR_BUF_INIT, pod = STR_BUF_INIT;
    struct str_buf container = STR_BUF_INIT, port = STR_BUF_INIT, strategy = STR_BUF_INIT;
    pb_meta(&b, "web", "default", "");
    pb_int(&spec, 1, 2);
    pb_label(&selector, 1);
    pb_message(&spec, 2, &selector);
    pb_label(&meta, 11);
    pb_message(&template, 1, &meta);
    pb_text(&container, 1, "web");
    pb_text(&container, 2, "i");
    pb_int(&port, 3, 8080);
    pb_message(&container, 6, &port);
    pb_text(&container, 13, "");
    pb_message(&pod, 2, &container);
    pb_text(&pod, 3, "");
    pb_message(&template, 2, &pod);
    pb_message(&spec, 3, &template);
    pb_text(&strategy, 1, "");
    pb_message(&spec, 4, &strategy);
    pb_message(&b, 2, &spec);
    struct kf *f = kf_start(NULL);
    struct kf_call *c = pb_send(f, "POST", DEPLOYMENTS, kind, &b);
    kf_expect(c, 201, "deployment");
    struct json_object *made = json_path(c->json, "spec.template.spec.containers");
    struct json_object *one = json_object_array_get_idx(made, 0);
    struct json_object *first = json_object_array_get_idx(json_member(one, "ports"), 0);
    assert_int_equal(json_int(json_member(c->json, "spec"), "replicas", 0), 2);
    assert_string_equal(kf_text(c, "spec.selector.matchLabels.app"), "web");
    assert_string_equal(kf_text(c, "spec.template.metadata.labels.app"), "web");
    assert_string_equal(kf_text(c, "spec.strategy.rollingUpdate.maxSurge"), "25%");
    assert_string_equal(json_str(one, "image"), "i");
    assert_int_equal(json_int(first, "containerPort", 0), 8080);
    assert_string_equal(json_str(first, "protocol"), "TCP");
    kf_stop(f);
}

/* An unreadable body is refused as any unknown form is (recorded 044); a malformed one is a bad
 * request. */
static void proto__others__are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *path, *api, *kind;
        int status;
        const char *says;
    } rows[] = {
        {"/api/v1/nodes", "v1", "Node", 415, "the body of the request was in an unknown format - "},
        {"/api/v1/namespaces/default/pods", "v1", "Pod", 415, "accepted media types include: "},
        {"/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", "discovery.k8s.io/v1",
         "EndpointSlice", 415, "unknown format"},
        {"/apis/networking.gke.io/v1beta1/namespaces/default/servicenetworkendpointgroups",
         "networking.gke.io/v1beta1", "ServiceNetworkEndpointGroup", 415, "unknown format"},
        {"/apis/networking.k8s.io/v1/namespaces/default/ingresses", "networking.k8s.io/v1",
         "Ingress", 415, "unknown format"},
        {MAPS, "v1", "Secret", 400,
         "Secret in version \"v1\" cannot be handled as a ConfigMap: converting"},
        {EVENTS, "events.k8s.io/v1", "Event", 400, "cannot be handled as a Event"},
    };
    struct kf *f = kf_start(NULL);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *const kind[] = {rows[i].api, rows[i].kind};
        struct str_buf b = STR_BUF_INIT;
        pb_meta(&b, "x", "", "");
        struct kf_call *c = pb_send(f, "POST", rows[i].path, kind, &b);
        kf_expect(c, rows[i].status, rows[i].path);
        if (!strstr(kf_text(c, "message"), rows[i].says)) {
            fail_msg("%s: want \"%s\", got \"%s\"", rows[i].path, rows[i].says,
                     kf_text(c, "message"));
        }
    }
    static const char header[] = "Content-Type: application/vnd.kubernetes.protobuf\r\n";
    struct kf_call *c = kf_send_bytes(f, "POST", MAPS, header, "{}", 2);
    kf_wait(f, c);
    kf_expect(c, 400, "no magic");
    assert_string_equal(kf_text(c, "message"),
                        "the object provided is unrecognized (must be of type ConfigMap): provided "
                        "data does not appear to be a protobuf message, expected prefix "
                        "[107 56 115 0] ({})");
    c = kf_send_bytes(f, "POST", MAPS, header, "k8s\0\x12\x7f", 6);
    kf_wait(f, c);
    kf_expect(c, 400, "cut");
    assert_string_equal(kf_text(c, "message"), "ConfigMap in version \"v1\" cannot be handled as a "
                                               "ConfigMap: unexpected EOF");
    kf_stop(f);
}

UNIT_MAIN(proto)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(proto__service__becomes_the_same_tree),
        cmocka_unit_test(proto__times_numbers_and_bytes),
        cmocka_unit_test(proto__malformed__is_refused),
        cmocka_unit_test(proto__lease__created_renewed_and_conflicts),
        cmocka_unit_test(proto__event__both_apis_and_series),
        cmocka_unit_test(proto__config_map__text_and_bytes),
        cmocka_unit_test(proto__definition__is_established),
        cmocka_unit_test(proto__deployment__is_made),
        cmocka_unit_test(proto__others__are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
