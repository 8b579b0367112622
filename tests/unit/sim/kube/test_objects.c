/* SPDX-License-Identifier: Apache-2.0 */
/* test_objects.c: nodes, namespaces, events, secrets, custom resources, and what holds
 * for every kind. */
#include "tests/support/unit.h"
#include "tests/unit/sim/kube/kube_fixture.h"

#include <string.h>

#define CONFIG_MAPS "/api/v1/namespaces/default/configmaps"
#define ATTACHMENTS "/apis/networking.gke.io/v1/namespaces/default/serviceattachments"

static void names__generated_or_missing(void **state)
{
    (void)state;
    struct kf *f = kf_start(NULL);
    struct kf_call *c = kf_do(f, "POST", CONFIG_MAPS, "{\"metadata\":{\"generateName\":\"cm-\"}}");
    kf_expect(c, 201, "generated");
    assert_int_equal(strlen(kf_text(c, "metadata.name")), 8);
    c = kf_do(f, "POST", CONFIG_MAPS, "{\"metadata\":{}}");
    kf_expect(c, 422, "no name");
    c = kf_do(f, "POST", CONFIG_MAPS, "{\"metadata\":{\"name\":\"UP\"}}");
    kf_expect(c, 422, "bad name");
    kf_stop(f);
}

static void bodies__wrong_ones__are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        int status;
        const char *says;
    } rows[] = {
        {"", 400, "unexpected end of JSON input"},
        {"[]", 400, "cannot unmarshal array"},
        {"{\"kind\":\"Secret\",\"metadata\":{\"name\":\"a\"}}", 400,
         "cannot be handled as a ConfigMap"},
        {"{\"apiVersion\":\"v2\",\"metadata\":{\"name\":\"a\"}}", 400,
         "no kind \"ConfigMap\" is registered for version \"v2\""},
        {"{\"metadata\":{\"name\":1}}", 400,
         "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.name of type "
         "string"},
        {"{\"metadata\":{\"name\":\"a\",\"labels\":{\"x\":1}}}", 400,
         "ObjectMeta.metadata.labels of type string"},
        {"{\"data\":[]}", 400, "ConfigMap.data of type map[string]string"},
        {"{\"metadata\":{\"name\":\"a\",\"finalizers\":[\"plain\"]}}", 422,
         "nor is it fully qualified"},
        {"{\"metadata\":{\"name\":\"a\",\"annotations\":{\"a b\":\"\"}}}", 422,
         "name part must consist of"},
        {"nonsense", 400, "invalid character 'o' in literal null (expecting 'u')"},
    };
    struct kf *f = kf_start(NULL);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct kf_call *c =
            kf_send(f, "POST", CONFIG_MAPS, "Content-Type: application/json\r\n", rows[i].body);
        kf_wait(f, c);
        kf_expect(c, rows[i].status, rows[i].body);
        if (!strstr(kf_text(c, "message"), rows[i].says)) {
            fail_msg("%s: want \"%s\", got \"%s\"", rows[i].body, rows[i].says,
                     kf_text(c, "message"));
        }
    }
    kf_stop(f);
}

static void unknown_fields__in_a_patch__by_mode(void **state)
{
    (void)state;
    struct kf *f = kf_start(NULL);
    kf_expect(kf_do(f, "POST", SERVICES, kf_service(f, "a")), 201, "a");
    static const char patch[] = "{\"spec\":{\"foo\":1,\"ports\":[{\"port\":80,\"bar\":2}]}}";
    struct kf_call *c = kf_patch(f, SERVICES "/a?fieldValidation=Strict", MERGE, patch);
    kf_expect(c, 422, "strict");
    assert_non_null(strstr(kf_text(c, "message"),
                           "unknown field \"spec.ports[0].bar\", unknown field \"spec.foo\""));
    c = kf_patch(f, SERVICES "/a", MERGE, patch);
    kf_expect(c, 200, "warn");
    assert_non_null(strstr(c->headers, "Warning: 299 - \"unknown field \\\"spec.foo\\\"\""));
    c = kf_patch(f, SERVICES "/a?fieldValidation=Ignore", MERGE, patch);
    kf_expect(c, 200, "ignore");
    assert_null(strstr(c->headers, "Warning"));
    kf_stop(f);
}

static void dry_run__changes_nothing(void **state)
{
    (void)state;
    struct kf *f = kf_start(NULL);
    kf_expect(kf_do(f, "POST", SERVICES, kf_service(f, "a")), 201, "a");
    struct kf_call *before = kf_do(f, "GET", "/sim/state", NULL);
    kf_expect(
        kf_patch(f, SERVICES "/a?dryRun=All", MERGE, "{\"metadata\":{\"labels\":{\"x\":\"y\"}}}"),
        200, "patch");
    kf_expect(kf_do(f, "DELETE", SERVICES "/a?dryRun=All", NULL), 200, "delete");
    kf_expect(kf_do(f, "DELETE", SERVICES "/a", "{\"dryRun\":[\"All\"]}"), 200, "delete by body");
    kf_expect(kf_do(f, "POST", SERVICES "?dryRun=All", kf_service(f, "b")), 201, "create");
    assert_string_equal(kf_do(f, "GET", "/sim/state", NULL)->body, before->body);
    kf_stop(f);
}

static void namespace__deleted__takes_its_objects_along(void **state)
{
    (void)state;
    struct kf *f = kf_start(NULL);
    kf_expect(kf_do(f, "POST", "/api/v1/namespaces", "{\"metadata\":{\"name\":\"x\"}}"), 201,
              "namespace");
    kf_expect(
        kf_do(f, "POST", "/api/v1/namespaces/x/configmaps", "{\"metadata\":{\"name\":\"a\"}}"), 201,
        "a");
    kf_expect(kf_do(f, "POST", "/api/v1/namespaces/x/configmaps",
                    "{\"metadata\":{\"name\":\"held\",\"finalizers\":[\"x/y\"]}}"),
              201, "held");
    struct kf_call *c = kf_do(f, "DELETE", "/api/v1/namespaces/x", NULL);
    kf_expect(c, 200, "delete");
    assert_string_equal(kf_text(c, "status.phase"), "Terminating");
    kf_expect(kf_do(f, "GET", "/api/v1/namespaces/x/configmaps/a", NULL), 404, "a is gone");
    kf_expect(kf_do(f, "GET", "/api/v1/namespaces/x", NULL), 200, "held back");
    c = kf_do(f, "POST", "/api/v1/namespaces/x/configmaps", "{\"metadata\":{\"name\":\"new\"}}");
    kf_expect(c, 403, "no new content");
    kf_expect(kf_patch(f, "/api/v1/namespaces/x/configmaps/held", MERGE,
                       "{\"metadata\":{\"finalizers\":null}}"),
              200, "release");
    kf_expect(kf_do(f, "GET", "/api/v1/namespaces/x", NULL), 404, "gone");
    kf_stop(f);
}

static void events__both_apis__are_one_store(void **state)
{
    (void)state;
    static const char body[] = "{\"metadata\":{\"name\":\"e\",\"namespace\":\"default\"},"
                               "\"involvedObject\":{\"kind\":\"Service\","
                               "\"namespace\":\"default\",\"name\":\"web\"},\"reason\":\"R\","
                               "\"message\":\"hello\",\"type\":\"Normal\","
                               "\"count\":3,\"source\":{\"component\":\"me\"}}";
    struct kf *f = kf_start(NULL);
    kf_expect(kf_do(f, "POST", "/api/v1/namespaces/default/events", body), 201, "core");
    struct kf_call *c = kf_do(f, "GET", "/apis/events.k8s.io/v1/namespaces/default/events/e", NULL);
    kf_expect(c, 200, "newer");
    assert_string_equal(kf_text(c, "note"), "hello");
    assert_string_equal(kf_text(c, "regarding.name"), "web");
    assert_string_equal(kf_text(c, "deprecatedCount"), "3");
    c = kf_patch(f, "/apis/events.k8s.io/v1/namespaces/default/events/e", MERGE,
                 "{\"note\":\"bye\"}");
    kf_expect(c, 422, "an event of the newer API is fixed");
    c = kf_patch(f, "/api/v1/namespaces/default/events/e", MERGE, "{\"message\":\"bye\"}");
    kf_expect(c, 200, "patch");
    c = kf_do(
        f, "GET",
        "/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Dweb,reason%3DR",
        NULL);
    struct json_object *first = json_object_array_get_idx(json_member(c->json, "items"), 0);
    assert_string_equal(json_str(first, "message"), "bye");
    kf_stop(f);
}

static void create__ten_at_once__one_is_first(void **state)
{
    (void)state;
    struct kf *f = kf_start(NULL);
    struct kf_call *calls[10];
    int made = 0;
    int refused = 0;
    for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
        calls[i] = kf_send(f, "POST", "/api/v1/namespaces/kube-system/configmaps",
                           "Content-Type: application/json\r\n",
                           "{\"metadata\":{\"name\":\"ingress-uid\"}}");
    }
    for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
        kf_wait(f, calls[i]);
        made += calls[i]->status == 201;
        refused += calls[i]->status == 409;
    }
    assert_int_equal(made, 1);
    assert_int_equal(refused, 9);
    kf_stop(f);
}

static void delete__in_the_foreground__is_marked_then_gone(void **state)
{
    (void)state;
    struct kf *f = kf_start(NULL);
    kf_expect(kf_do(f, "POST", SERVICES, kf_service(f, "a")), 201, "a");
    kf_expect(kf_do(f, "DELETE", SERVICES "/a/status", NULL), 405, "a part cannot be deleted");
    struct kf_call *c = kf_do(f, "DELETE", SERVICES "/a", "{\"propagationPolicy\":\"Foreground\"}");
    kf_expect(c, 200, "delete");
    assert_string_equal(kf_text(c, "metadata.finalizers"), "[ \"foregroundDeletion\" ]");
    kf_expect(kf_do(f, "GET", SERVICES "/a", NULL), 404, "collected");
    kf_stop(f);
}

static void secret__string_data__is_encoded(void **state)
{
    (void)state;
    struct kf *f = kf_start(NULL);
    struct kf_call *c = kf_do(f, "POST", "/api/v1/namespaces/default/secrets",
                              "{\"metadata\":{\"name\":\"s\"},\"stringData\":{\"k\":\"v\"}}");
    kf_expect(c, 201, "secret");
    assert_string_equal(kf_text(c, "data.k"), "dg==");
    assert_string_equal(kf_text(c, "type"), "Opaque");
    kf_stop(f);
}

static void custom_resource__is_kept_as_it_comes(void **state)
{
    (void)state;
    struct kf *f = kf_start(NULL);
    struct kf_call *c =
        kf_do(f, "POST", ATTACHMENTS,
              "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"anything\":[1,{\"b\":true}]},"
              "\"status\":{\"dropped\":1}}");
    kf_expect(c, 201, "create");
    assert_string_equal(kf_text(c, "metadata.generation"), "1");
    assert_string_equal(kf_text(c, "status"), "");
    c = kf_patch(f, ATTACHMENTS "/n/status", MERGE, "{\"status\":{\"ok\":true},\"spec\":null}");
    kf_expect(c, 200, "status");
    assert_string_equal(kf_text(c, "metadata.generation"), "1");
    assert_string_equal(kf_text(c, "spec.anything"), "[ 1, { \"b\": true } ]");
    c = kf_patch(f, ATTACHMENTS "/n", MERGE, "{\"spec\":{\"more\":1}}");
    assert_string_equal(kf_text(c, "metadata.generation"), "2");
    kf_expect(kf_patch(f, ATTACHMENTS "/n", STRATEGIC, "{}"), 415, "no strategic merge");
    kf_expect(kf_do(f, "PUT", ATTACHMENTS "/n", "{\"metadata\":{\"name\":\"n\"}}"), 422,
              "needs its version");
    kf_stop(f);
}

static void delete__answers_and_collections(void **state)
{
    (void)state;
    struct kf *f = kf_start(NULL);
    static const char *const names[] = {"a", "b", "c"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        kf_expect(
            kf_do(f, "POST", CONFIG_MAPS,
                  arena_printf(f->a, "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"n\":\"%zu\"}}}",
                               names[i], i / 2)),
            201, names[i]);
    }
    struct kf_call *c = kf_do(f, "DELETE", CONFIG_MAPS "/c", NULL);
    kf_expect(c, 200, "one");
    assert_string_equal(kf_text(c, "status"), "Success");
    assert_string_equal(kf_text(c, "details.kind"), "configmaps");
    c = kf_do(f, "DELETE", CONFIG_MAPS "?labelSelector=n%3D0", NULL);
    kf_expect(c, 200, "collection");
    assert_int_equal(json_len(json_member(c->json, "items")), 2);
    kf_expect(kf_do(f, "GET", CONFIG_MAPS "/a", NULL), 404, "gone");
    kf_stop(f);
}

static void put__missing_name__creates_some_kinds_only(void **state)
{
    (void)state;
    struct kf *f = kf_start(NULL);
    kf_expect(kf_do(f, "PUT", SERVICES "/a", kf_service(f, "a")), 201, "service");
    kf_expect(kf_do(f, "PUT", CONFIG_MAPS "/a", "{\"metadata\":{\"name\":\"a\"}}"), 404,
              "configmap");
    kf_stop(f);
}

static void apply__makes_and_changes(void **state)
{
    (void)state;
    static const char config[] =
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: v\n";
    struct kf *f = kf_start(NULL);
    kf_expect(kf_patch(f, CONFIG_MAPS "/a", "application/apply-patch+yaml", config), 422,
              "no manager");
    kf_expect(kf_patch(f, CONFIG_MAPS "/a?fieldManager=me", "application/apply-patch+yaml", config),
              201, "made");
    struct kf_call *c =
        kf_patch(f, CONFIG_MAPS "/a?fieldManager=me", "application/apply-patch+yaml",
                 "apiVersion: v1\nkind: ConfigMap\ndata: {l: w}\n");
    kf_expect(c, 200, "changed");
    assert_string_equal(kf_text(c, "data"), "{ \"k\": \"v\", \"l\": \"w\" }");
    kf_stop(f);
}

static void paths__odd_ones__are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *method, *path;
        int status;
    } rows[] = {
        {"GET", "/api/v2", 404},
        {"GET", "/api/v1/nopes", 404},
        {"GET", "/apis/batch/v1", 404},
        {"GET", SERVICES "/kubernetes/scale", 404},
        {"GET", "/api/v1/nodes/n/x/y", 404},
        {"PATCH", SERVICES, 405},
        {"PUT", SERVICES, 405},
        {"POST", SERVICES "/kubernetes", 405},
        {"POST", "/api/v1/services", 405},
        {"GET", "/api/v1/namespaces/default", 200},
        {"GET", "/api/v1/namespaces/default/", 200},
        {"GET", "/readyz?verbose", 200},
        {"GET", "/apis", 200},
        {"GET", "/apis/networking.gke.io", 200},
        {"GET", "/apis/networking.gke.io/v1beta1", 200},
        {"GET", "/openapi/v3/apis/discovery.k8s.io/v1", 200},
        {"GET", "/openapi/v2", 200}, /* kubectl wants it for a list of mixed kinds */
        {"GET", "/openapi/v4", 404},
    };
    struct kf *f = kf_start(NULL);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        kf_expect(kf_do(f, rows[i].method, rows[i].path, NULL), rows[i].status, rows[i].path);
    }
    kf_stop(f);
}

UNIT_MAIN(objects)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names__generated_or_missing),
        cmocka_unit_test(bodies__wrong_ones__are_refused),
        cmocka_unit_test(unknown_fields__in_a_patch__by_mode),
        cmocka_unit_test(dry_run__changes_nothing),
        cmocka_unit_test(namespace__deleted__takes_its_objects_along),
        cmocka_unit_test(events__both_apis__are_one_store),
        cmocka_unit_test(create__ten_at_once__one_is_first),
        cmocka_unit_test(delete__in_the_foreground__is_marked_then_gone),
        cmocka_unit_test(secret__string_data__is_encoded),
        cmocka_unit_test(custom_resource__is_kept_as_it_comes),
        cmocka_unit_test(delete__answers_and_collections),
        cmocka_unit_test(put__missing_name__creates_some_kinds_only),
        cmocka_unit_test(apply__makes_and_changes),
        cmocka_unit_test(paths__odd_ones__are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
