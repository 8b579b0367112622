/* SPDX-License-Identifier: Apache-2.0 */
/* test_custom.c: GKE's custom resources of load balancing, their definitions, owners and the
 * garbage collector, and the worlds that hold them. */
#include "common/base/file.h"
#include "tests/support/unit.h"
#include "tests/unit/sim/kube/kube_fixture.h"

#include <stdlib.h>
#include <string.h>

#define CONFIG_MAPS "/api/v1/namespaces/default/configmaps"
#define GKE_BETA    "/apis/networking.gke.io/v1beta1"
#define SNEGS       GKE_BETA "/namespaces/default/servicenetworkendpointgroups"
#define CONFIGS     "/apis/networking.gke.io/v1/namespaces/default/l4lbconfigs"
#define CRDS        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define FINALIZER   "networking.gke.io/neg-finalizer"

/* A ServiceNetworkEndpointGroup as the NEG controller makes it. */
static const char *sneg(struct kf *f, const char *name, const char *owner_uid)
{
    return arena_printf(
        f->a,
        "{\"apiVersion\":\"networking.gke.io/v1beta1\",\"kind\":\"ServiceNetworkEndpointGroup\","
        "\"metadata\":{\"name\":\"%s\",\"finalizers\":[\"" FINALIZER "\"],\"labels\":{"
        "\"networking.gke.io/managed-by\":\"neg-controller\",\"networking.gke.io/service-name\":"
        "\"web\"},\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"name\":"
        "\"web\","
        "\"uid\":\"%s\",\"controller\":true,\"blockOwnerDeletion\":false}]},\"spec\":{},"
        "\"status\":{\"conditions\":[]}}",
        name, owner_uid);
}

static const char *make_owner(struct kf *f)
{
    struct kf_call *c = kf_do(f, "POST", SERVICES, kf_service(f, "web"));
    kf_expect(c, 201, "web");
    return kf_text(c, "metadata.uid");
}

static void sneg__status_is_part_of_the_object(void **state)
{
    (void)state;
    struct kf *f = kf_start(NULL);
    struct kf_call *c = kf_do(f, "POST", SNEGS, sneg(f, "neg", "u"));
    kf_expect(c, 201, "create");
    assert_string_equal(kf_text(c, "status.conditions"), "[ ]");
    assert_string_equal(kf_text(c, "metadata.generation"), "1");
    const char *made = kf_text(c, "metadata.resourceVersion");
    c = kf_patch(f, SNEGS "/neg", MERGE,
                 "{\"status\":{\"networkEndpointGroups\":[{\"id\":\"1\"}],\"conditions\":null}}");
    kf_expect(c, 200, "merge patch of the main resource");
    assert_string_equal(kf_text(c, "status"),
                        "{ \"networkEndpointGroups\": [ { \"id\": \"1\" } ] }");
    assert_string_equal(kf_text(c, "metadata.generation"), "2");
    kf_expect(kf_patch(f, SNEGS "/neg/status", MERGE, "{}"), 404, "no status subresource");
    kf_expect(kf_do(f, "GET", SNEGS "/neg/status", NULL), 404, "no status subresource");
    kf_expect(kf_patch(f, SNEGS "/neg", STRATEGIC, "{}"), 415, "no strategic merge");
    c = kf_do(
        f, "PUT", SNEGS "/neg",
        arena_printf(f->a, "{\"metadata\":{\"name\":\"neg\",\"resourceVersion\":\"%s\"}}", made));
    kf_expect(c, 409, "stale");
    assert_string_equal(kf_text(c, "reason"), "Conflict");
    c = kf_patch(f, SNEGS "/neg", MERGE,
                 arena_printf(f->a, "{\"metadata\":{\"resourceVersion\":\"%s\"}}", made));
    kf_expect(c, 409, "a stale patch");
    kf_stop(f);
}

static void sneg__finalizer__holds_it_until_taken_off(void **state)
{
    (void)state;
    struct kf *f = kf_start(NULL);
    kf_expect(kf_do(f, "POST", SNEGS, sneg(f, "neg", "u")), 201, "create");
    struct kf_call *watch = kf_send(
        f, "GET", GKE_BETA "/servicenetworkendpointgroups?watch=1&timeoutSeconds=5", NULL, NULL);
    kf_settle(f);
    struct kf_call *c = kf_do(f, "DELETE", SNEGS "/neg", NULL);
    kf_expect(c, 200, "delete");
    assert_int_not_equal(strlen(kf_text(c, "metadata.deletionTimestamp")), 0);
    kf_expect(kf_do(f, "GET", SNEGS "/neg", NULL), 200, "held");
    kf_expect(kf_patch(f, SNEGS "/neg", MERGE, "{\"metadata\":{\"finalizers\":null}}"), 200,
              "release");
    kf_expect(kf_do(f, "GET", SNEGS "/neg", NULL), 404, "gone");
    kf_wait(f, watch);
    assert_int_equal(json_len(watch->lines), 3);
    assert_true(strncmp(kf_line(f, watch, 0), "ADDED neg", 9) == 0);
    assert_true(strncmp(kf_line(f, watch, 1), "MODIFIED neg", 12) == 0);
    assert_true(strncmp(kf_line(f, watch, 2), "DELETED neg", 11) == 0);
    kf_stop(f);
}

static void l4lb_config__is_kept_as_it_comes(void **state)
{
    (void)state;
    struct kf *f = kf_start(NULL);
    struct kf_call *c =
        kf_do(f, "POST", CONFIGS,
              "{\"metadata\":{\"name\":\"logs\"},\"spec\":{\"logging\":{\"enabled\":true,"
              "\"sampleRate\":500000,\"optionalMode\":\"CUSTOM\",\"optionalFields\":[\"a\"]}}}");
    kf_expect(c, 201, "create");
    c = kf_patch(f, CONFIGS "/logs", MERGE, "{\"spec\":{\"logging\":{\"sampleRate\":1000000}}}");
    kf_expect(c, 200, "patch");
    assert_string_equal(kf_text(c, "spec.logging.sampleRate"), "1000000");
    assert_string_equal(kf_text(c, "spec.logging.optionalMode"), "CUSTOM");
    assert_string_equal(kf_text(c, "metadata.generation"), "2");
    c = kf_do(f, "GET", "/apis/networking.gke.io/v1/l4lbconfigs", NULL);
    assert_string_equal(kf_text(c, "kind"), "L4LBConfigList");
    assert_int_equal(json_len(json_member(c->json, "items")), 1);
    c = kf_do(
        f, "PUT", CONFIGS "/logs",
        arena_printf(f->a, "{\"metadata\":{\"name\":\"logs\",\"resourceVersion\":\"%s\"}}",
                     kf_text(kf_do(f, "GET", CONFIGS "/logs", NULL), "metadata.resourceVersion")));
    kf_expect(c, 200, "update");
    kf_expect(kf_do(f, "DELETE", CONFIGS "/logs", NULL), 200, "delete");
    kf_expect(kf_do(f, "GET", CONFIGS "/logs", NULL), 404, "gone");
    kf_stop(f);
}

/* The entry of a resource in what discovery says of a version, or NULL. */
static struct json_object *discovered(struct kf *f, const char *path, const char *name)
{
    struct json_object *list = json_member(kf_do(f, "GET", path, NULL)->json, "resources");
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *o = json_object_array_get_idx(list, i);
        if (str_eq(json_str(o, "name"), name)) {
            return o;
        }
    }
    return NULL;
}

static void custom_resources__can_be_discovered(void **state)
{
    (void)state;
    struct kf *f = kf_start(NULL);
    struct json_object *o = discovered(f, GKE_BETA, "servicenetworkendpointgroups");
    assert_non_null(o);
    assert_string_equal(json_str(o, "kind"), "ServiceNetworkEndpointGroup");
    assert_string_equal(json_text(f->a, json_member(o, "shortNames"), JSON_COMPACT),
                        "[\"svcneg\"]");
    assert_true(json_bool(o, "namespaced", false));
    assert_null(discovered(f, GKE_BETA, "servicenetworkendpointgroups/status"));
    o = discovered(f, "/apis/networking.gke.io/v1", "l4lbconfigs");
    assert_non_null(o);
    assert_string_equal(json_str(o, "kind"), "L4LBConfig");
    assert_null(discovered(f, "/apis/networking.gke.io/v1", "l4lbconfigs/status"));
    assert_non_null(discovered(f, "/apis/networking.gke.io/v1", "serviceattachments/status"));
    kf_stop(f);
}

/* Controllers make the definition of their kind and wait for it. */
static void definition__made__is_established_if_it_is_served(void **state)
{
    (void)state;
    static const char form[] =
        "{\"metadata\":{\"name\":\"%s.%s\"},\"spec\":{\"group\":\"%s\",\"scope\":\"Namespaced\","
        "\"names\":{\"plural\":\"%s\",\"kind\":\"K\"},\"versions\":[{\"name\":\"v1beta1\","
        "\"served\":true,\"storage\":true}]}}";
    static const struct {
        const char *group, *plural, *established;
    } rows[] = {
        {"networking.gke.io", "servicenetworkendpointgroups", "True"},
        {"networking.gke.io", "l4lbconfigs", "True"},
        {"example.com", "l4lbconfigs", "False"},
        {"networking.gke.io", "widgets", "False"},
    };
    struct kf *f = kf_start(NULL);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *g = rows[i].group;
        const char *p = rows[i].plural;
        struct kf_call *c = kf_do(f, "POST", CRDS, arena_printf(f->a, form, p, g, g, p));
        kf_expect(c, 201, p);
        struct json_object *conditions = json_path(c->json, "status.conditions");
        struct json_object *second = json_object_array_get_idx(conditions, 1);
        assert_string_equal(json_str(second, "type"), "Established");
        assert_string_equal(json_str(second, "status"), rows[i].established);
        assert_string_equal(kf_text(c, "status.storedVersions"), "[ \"v1beta1\" ]");
    }
    kf_expect(kf_do(f, "POST", CRDS,
                    arena_printf(f->a, form, "l4lbconfigs", "networking.gke.io",
                                 "networking.gke.io", "l4lbconfigs")),
              409, "twice");
    kf_stop(f);
}

/* --- owners ----------------------------------------------------------------------------------- */
static void owner__deleted__takes_dependents_along(void **state)
{
    (void)state;
    struct kf *f = kf_start(NULL);
    const char *uid = make_owner(f);
    kf_expect(kf_do(f, "POST", SNEGS, sneg(f, "held", uid)), 201, "held");
    kf_expect(kf_do(f, "POST", SNEGS, sneg(f, "free", uid)), 201, "free");
    kf_expect(kf_do(f, "POST", SNEGS, sneg(f, "other", "another-uid")), 201, "other");
    kf_expect(kf_patch(f, SNEGS "/free", MERGE, "{\"metadata\":{\"finalizers\":null}}"), 200,
              "free");
    kf_expect(kf_do(f, "DELETE", SERVICES "/web", NULL), 200, "owner");
    kf_settle(f);
    struct kf_call *c = kf_do(f, "GET", SNEGS "/held", NULL);
    kf_expect(c, 200, "its finalizer holds it");
    assert_int_not_equal(strlen(kf_text(c, "metadata.deletionTimestamp")), 0);
    kf_expect(kf_do(f, "GET", SNEGS "/free", NULL), 404, "nothing holds it");
    c = kf_do(f, "GET", SNEGS "/other", NULL);
    kf_expect(c, 200, "somebody else's");
    assert_string_equal(kf_text(c, "metadata.deletionTimestamp"), "");
    kf_stop(f);
}

static void owner__held_by_a_finalizer__takes_nothing_yet(void **state)
{
    (void)state;
    struct kf *f = kf_start(NULL);
    const char *uid = make_owner(f);
    kf_expect(kf_patch(f, SERVICES "/web", MERGE, "{\"metadata\":{\"finalizers\":[\"a/b\"]}}"), 200,
              "hold");
    kf_expect(kf_do(f, "POST", SNEGS, sneg(f, "neg", uid)), 201, "neg");
    kf_expect(kf_do(f, "DELETE", SERVICES "/web", NULL), 200, "owner");
    kf_settle(f);
    assert_string_equal(kf_text(kf_do(f, "GET", SNEGS "/neg", NULL), "metadata.deletionTimestamp"),
                        "");
    kf_expect(kf_patch(f, SERVICES "/web", MERGE, "{\"metadata\":{\"finalizers\":null}}"), 200,
              "release");
    kf_settle(f);
    assert_int_not_equal(
        strlen(kf_text(kf_do(f, "GET", SNEGS "/neg", NULL), "metadata.deletionTimestamp")), 0);
    kf_stop(f);
}

static void owner__orphan_or_second_owner__dependents_stay(void **state)
{
    (void)state;
    static const char owned[] =
        "{\"metadata\":{\"name\":\"%s\",\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":"
        "\"Service\",\"name\":\"web\",\"uid\":\"%s\"}%s]}}";
    struct kf *f = kf_start(NULL);
    const char *uid = make_owner(f);
    kf_expect(kf_do(f, "POST", CONFIG_MAPS, arena_printf(f->a, owned, "let-go", uid, "")), 201,
              "a");
    kf_expect(kf_do(f, "DELETE", SERVICES "/web", "{\"propagationPolicy\":\"Orphan\"}"), 200,
              "orphan");
    kf_settle(f);
    struct kf_call *c = kf_do(f, "GET", CONFIG_MAPS "/let-go", NULL);
    kf_expect(c, 200, "stays");
    assert_string_equal(kf_text(c, "metadata.ownerReferences"), "");

    uid = make_owner(f);
    const char *second = arena_printf(
        f->a, ",{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"let-go\",\"uid\":\"%s\"}",
        kf_text(c, "metadata.uid"));
    kf_expect(kf_do(f, "POST", CONFIG_MAPS, arena_printf(f->a, owned, "shared", uid, second)), 201,
              "b");
    kf_expect(kf_do(f, "DELETE", SERVICES "/web", NULL), 200, "first owner");
    kf_settle(f);
    c = kf_do(f, "GET", CONFIG_MAPS "/shared", NULL);
    kf_expect(c, 200, "has another owner");
    assert_int_equal(json_len(json_path(c->json, "metadata.ownerReferences")), 1);
    kf_expect(kf_do(f, "DELETE", CONFIG_MAPS "/let-go", NULL), 200, "second owner");
    kf_settle(f);
    kf_expect(kf_do(f, "GET", CONFIG_MAPS "/shared", NULL), 404, "has none");
    kf_stop(f);
}

/* --- worlds ----------------------------------------------------------------------------------- */
static const char *const worlds[] = {"world-legacy",           "world-l4",
                                     "world-l4-netlb-neg",     "world-both",
                                     "world-l4-dual-internal", "world-l4-dual-external"};

static struct json_object *load_world(struct kf *f, const char *name)
{
    const char *path = arena_printf(f->a, "%s/gce/%s.json", getenv("TRIMTAB_TEST_DATA"), name);
    struct err err = ERR_INIT;
    char *text = NULL;
    size_t n = 0;
    struct json_object *world = NULL;
    if (file_read(f->a, path, 64 << 20, &text, &n, &err) != ERR_OK ||
        json_parse_arena(f->a, text, n, NULL, &world, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
    kf_expect(kf_do(f, "PUT", "/sim/state", text), 200, name);
    return json_member(world, "kubernetes");
}

/* Each object of a recorded cluster is served as it was recorded, and its owner still counts. */
static void worlds__recorded__custom_resources_are_served(void **state)
{
    (void)state;
    size_t seen = 0;
    for (size_t i = 0; i < ARRAY_LEN(worlds); i++) {
        struct kf *f = kf_start(NULL);
        struct json_object *list =
            json_member(load_world(f, worlds[i]), "servicenetworkendpointgroups");
        struct kf_call *all = kf_do(f, "GET", GKE_BETA "/servicenetworkendpointgroups", NULL);
        assert_int_equal(json_len(json_member(all->json, "items")), json_len(list));
        for (size_t k = 0; k < json_len(list); k++, seen++) {
            struct json_object *o = json_object_array_get_idx(list, k);
            const char *path =
                arena_printf(f->a, GKE_BETA "/namespaces/%s/servicenetworkendpointgroups/%s",
                             kf_text(&(struct kf_call){.json = o}, "metadata.namespace"),
                             kf_text(&(struct kf_call){.json = o}, "metadata.name"));
            struct kf_call *c = kf_do(f, "GET", path, NULL);
            kf_expect(c, 200, path);
            assert_string_equal(json_text(f->a, c->json, JSON_SORTED),
                                json_text(f->a, o, JSON_SORTED));
        }
        kf_stop(f);
    }
    assert_int_equal(seen, 35);
}

static void world__loaded__owners_are_known(void **state)
{
    (void)state;
    struct kf *f = kf_start(NULL);
    struct json_object *list =
        json_member(load_world(f, "world-l4"), "servicenetworkendpointgroups");
    struct json_object *meta = json_member(json_object_array_get_idx(list, 0), "metadata");
    const char *ns = json_str(meta, "namespace");
    struct json_object *ref = json_object_array_get_idx(json_member(meta, "ownerReferences"), 0);
    const char *service =
        arena_printf(f->a, "/api/v1/namespaces/%s/services/%s", ns, json_str(ref, "name"));
    kf_expect(kf_patch(f, service, MERGE, "{\"metadata\":{\"finalizers\":null}}"), 200, "let go");
    kf_expect(kf_do(f, "DELETE", service, NULL), 200, "delete");
    kf_settle(f);
    struct kf_call *c =
        kf_do(f, "GET",
              arena_printf(f->a, GKE_BETA "/namespaces/%s/servicenetworkendpointgroups/%s", ns,
                           json_str(meta, "name")),
              NULL);
    kf_expect(c, 200, "held by its finalizer");
    assert_int_not_equal(strlen(kf_text(c, "metadata.deletionTimestamp")), 0);
    kf_stop(f);
}

UNIT_MAIN(custom)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sneg__status_is_part_of_the_object),
        cmocka_unit_test(sneg__finalizer__holds_it_until_taken_off),
        cmocka_unit_test(l4lb_config__is_kept_as_it_comes),
        cmocka_unit_test(custom_resources__can_be_discovered),
        cmocka_unit_test(definition__made__is_established_if_it_is_served),
        cmocka_unit_test(owner__deleted__takes_dependents_along),
        cmocka_unit_test(owner__held_by_a_finalizer__takes_nothing_yet),
        cmocka_unit_test(owner__orphan_or_second_owner__dependents_stay),
        cmocka_unit_test(worlds__recorded__custom_resources_are_served),
        cmocka_unit_test(world__loaded__owners_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
