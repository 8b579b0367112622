/* SPDX-License-Identifier: Apache-2.0 */
/* test_sync_caps.c: providers that report plans, hold finalizers, or take batches: a sync with
 * nothing to do writes nothing and says nothing; faults of a provider. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "common/base/arena.h"
#include "tests/support/unit.h"
#include "tests/unit/controller/service_count.h"
#include "tests/unit/controller/stand.h"

#define BUILT_IN (TT_CAP_REPORTS_PLANS | TT_CAP_HOLDS_FINALIZERS)

static int set_up(void **state)
{
    struct stand *r = stand_new(BUILT_IN);

    stand_node(r, "node-0", NULL, NULL);
    *state = r;
    return 0;
}

static int tear_down(void **state)
{
    stand_free(*state);
    return 0;
}

static void caps__empty_plan__no_write_no_event(void **state)
{
    struct stand *r = *state;

    r->provider->plan_operations = 0;
    stand_service(r, "web", STAND_LB, STAND_WITH_F, STAND_STATUS("203.0.113.10"));
    stand_run(r);
    assert_string_equal("ensure demo/web", stand_story(r));
    assert_int_equal(0, stand_patches(r));
    assert_string_equal("", stand_events(r));
}

static void caps__empty_plan__strict_events_are_upstreams(void **state)
{
    struct stand *r = *state;

    r->syncer.strict_events = true;
    r->provider->plan_operations = 0;
    stand_service(r, "web", STAND_LB, STAND_WITH_F, STAND_STATUS("203.0.113.10"));
    stand_run(r);
    assert_string_equal("Normal EnsuringLoadBalancer Ensuring load balancer\n"
                        "Normal EnsuredLoadBalancer Ensured load balancer\n",
                        stand_events(r));
}

static void caps__plan_with_work__finalizer_once_and_events(void **state)
{
    struct stand *r = *state;

    stand_service(r, "web", STAND_LB, NULL, NULL);
    stand_run(r);
    assert_int_equal(2, stand_patches(r));
    assert_string_equal("{\"metadata\":{\"uid\":\"uid-web\",\"finalizers\":[\"" STAND_F "\"],"
                        "\"annotations\":{" STAND_MARK("uid-web") "}}}",
                        stand_patch(r, 0));
    assert_string_equal("Normal EnsuringLoadBalancer Ensuring load balancer\n"
                        "Normal EnsuredLoadBalancer Ensured load balancer\n",
                        stand_events(r));
}

static void caps__own_finalizer__held_and_let_go_with_the_controllers(void **state)
{
    static const char *const finalizers[] = {"example.com/v1"};
    struct stand *r = *state;

    r->provider->desc.finalizers = finalizers;
    r->provider->desc.n_finalizers = 1;
    r->provider->hold = finalizers[0];
    stand_describe(r);
    stand_service(r, "web", STAND_LB, NULL, STAND_STATUS("203.0.113.10"));
    stand_run(r);
    assert_string_equal("{\"metadata\":{\"uid\":\"uid-web\",\"finalizers\":[\"" STAND_F
                        "\",\"example.com/v1\"]}}",
                        stand_patch(r, 0));
    stand_service(r, "web", STAND_LB,
                  "\"finalizers\":[\"" STAND_F "\",\"example.com/v1\"]," STAND_DELETING,
                  STAND_STATUS("203.0.113.10"));
    stand_run(r);
    assert_int_equal(2, stand_patches(r));
    assert_non_null(strstr(stand_patch(r, 1), "\"$deleteFromPrimitiveList/finalizers\":["));
    assert_non_null(strstr(stand_patch(r, 1), STAND_F));
    assert_non_null(strstr(stand_patch(r, 1), "example.com/v1"));
}

static void caps__finalizer_is_refused__nothing_is_made(void **state)
{
    struct stand *r = *state;

    stand_refuse(r, "PATCH", "/services/", 403, "Forbidden", "no permission");
    stand_refuse(r, "PATCH", "/services/", 403, "Forbidden", "no permission"); /* without mark */
    stand_service(r, "web", STAND_LB, NULL, NULL);
    stand_run(r);
    assert_non_null(strstr(stand_events(r),
                           "Warning SyncLoadBalancerFailed Error syncing load balancer: "
                           "failed to add load balancer cleanup finalizer: no "
                           "permission\n"));
}

static void caps__deletion__one_call_and_events_only_for_work(void **state)
{
    (void)state;
    for (uint32_t ops = 0; ops <= 1; ops++) {
        struct stand *r = stand_new(BUILT_IN);
        r->provider->plan_operations = ops;
        stand_service(r, "web", STAND_LB, STAND_WITH_F "," STAND_DELETING, NULL);
        stand_run(r);
        assert_string_equal("delete demo/web", stand_story(r));
        assert_int_equal(1, stand_patches(r));
        assert_string_equal(ops == 0 ? ""
                                     : "Normal DeletingLoadBalancer Deleting load balancer\n"
                                       "Normal DeletedLoadBalancer Deleted load balancer\n",
                            stand_events(r));
        stand_free(r);
    }
}

static void caps__anothers_kind__finalizers_stay_as_they_are(void **state)
{
    struct stand *r = *state;

    for (int i = 0; i < 2; i++) {
        fake_provider_answer(
            r->provider, (struct fake_answer){i == 0 ? TT_VERB_ENSURE : TT_VERB_DELETE,
                                              TT_IMPLEMENTED_ELSEWHERE, "an RBS one", 0, false});
    }
    stand_service(r, "web", STAND_LB, NULL, NULL);
    stand_run(r);
    assert_int_equal(0, stand_patches(r));
    stand_service(r, "web", STAND_LB, STAND_WITH_F "," STAND_DELETING, NULL);
    stand_run(r);
    assert_string_equal("ensure demo/web, delete demo/web", stand_story(r));
    assert_int_equal(0, stand_patches(r));
    assert_int_equal(CLOCK_NEVER, queue_next_ms(r->syncer.queue));
}

static void take_back(void *arg, struct fake_provider *p, const struct tt_call *call,
                      const struct tt_item *item)
{
    (void)arg, (void)call;
    p->host->result_annotation(item->result, "example.com/a", NULL);
    p->host->result_drop_finalizer(item->result, "example.com/v2");
}

/* The view of the Service may be older than what the last sync wrote on it. */
static void caps__no_load_balancer_any_more__annotations_go_with_the_finalizers(void **state)
{
    static const char *const finalizers[] = {"example.com/v2"};
    struct stand *r = *state;

    r->provider->desc.finalizers = finalizers;
    r->provider->desc.n_finalizers = 1;
    r->provider->during = take_back;
    stand_describe(r);
    stand_service(r, "web", STAND_CLUSTER_IP, "\"finalizers\":[\"" STAND_F "\",\"example.com/v2\"]",
                  NULL);
    stand_run(r);
    assert_string_equal("delete demo/web", stand_story(r));
    assert_int_equal(1, stand_patches(r));
    assert_non_null(strstr(stand_patch(r, 0), "\"$deleteFromPrimitiveList/finalizers\":["));
    assert_non_null(strstr(stand_patch(r, 0), "\"example.com/a\":null"));
}

static void caps__anothers_kind__what_was_ours_on_it_is_taken_back(void **state)
{
    static const char *const finalizers[] = {"example.com/v2"};
    struct stand *r = *state;

    r->provider->desc.finalizers = finalizers;
    r->provider->desc.n_finalizers = 1;
    r->provider->during = take_back;
    stand_describe(r);
    for (int i = 0; i < 2; i++) {
        fake_provider_answer(r->provider,
                             (struct fake_answer){TT_VERB_ENSURE, TT_IMPLEMENTED_ELSEWHERE,
                                                  "a target pool", 0, false});
    }
    stand_service(r, "web", STAND_LB,
                  "\"annotations\":{\"example.com/a\":\"1\"},\"finalizers\":[\"" STAND_F
                  "\",\"example.com/v2\"]",
                  NULL);
    stand_run(r);
    assert_int_equal(1, stand_patches(r));
    assert_non_null(strstr(stand_patch(r, 0), "\"$deleteFromPrimitiveList/finalizers\":[\""
                                              "example.com/v2\"]"));
    assert_non_null(strstr(stand_patch(r, 0), "\"example.com/a\":null"));
    stand_service(r, "web", STAND_LB, STAND_WITH_F, NULL); /* done: nothing more is written */
    stand_run(r);
    assert_int_equal(1, stand_patches(r));
    assert_string_equal("ensure demo/web, ensure demo/web", stand_story(r));
    assert_string_equal("", stand_events(r));
}

static void caps__anothers_kind_vanishes__nothing_is_kept_of_it(void **state)
{
    struct stand *r = *state;

    for (int i = 0; i < 2; i++) {
        fake_provider_answer(
            r->provider, (struct fake_answer){i == 0 ? TT_VERB_ENSURE : TT_VERB_DELETE,
                                              TT_IMPLEMENTED_ELSEWHERE, "an RBS one", 0, false});
    }
    stand_service(r, "web", STAND_LB, NULL, NULL);
    stand_run(r);
    stand_service_gone(r, "web");
    stand_run(r);
    assert_string_equal("ensure demo/web, delete demo/web", stand_story(r));
    assert_int_equal(0, service_cache_count(r->syncer.cache));
}

static void set_annotation(void *arg, struct fake_provider *p, const struct tt_call *call,
                           const struct tt_item *item)
{
    (void)arg, (void)call;
    p->host->result_annotation(item->result, "example.com/a", "1");
}

static void caps__all_that_an_ensure_says__one_request(void **state)
{
    struct stand *r = *state;

    r->provider->during = set_annotation;
    stand_service(r, "web", STAND_LB, STAND_WITH_F, NULL);
    stand_run(r);
    assert_int_equal(1, stand_patches(r));
    /* RBAC: patch on services/status is all that is asked for (gce-cloud-provider.md §6.5) */
    assert_string_equal("/api/v1/namespaces/demo/services/web/status",
                        stand_patch_request(r, 0)->path);
    assert_non_null(strstr(stand_patch(r, 0), "\"example.com/a\":\"1\""));
    assert_non_null(strstr(stand_patch(r, 0), "\"ingress\""));
}

/* A webhook, or the API server itself, may dislike a part of it. */
static void caps__annotation_is_refused__the_address_is_published_all_the_same(void **state)
{
    static const struct {
        int status;
        const char *reason;
    } rows[] = {{403, "Forbidden"}, {422, "Invalid"}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct stand *r = stand_new(BUILT_IN);
        r->provider->during = set_annotation;
        for (int k = 0; k < 2; k++) {
            stand_refuse(r, "PATCH", "/services/web", rows[i].status, rows[i].reason, "not this");
        }
        stand_service(r, "web", STAND_LB, STAND_WITH_F, NULL);
        stand_run(r);
        assert_int_equal(4, stand_patches(r)); /* the mark alone before the status */
        assert_non_null(strstr(stand_patch(r, 1), "example.com/a"));
        assert_null(strstr(stand_patch(r, 1), "\"ingress\""));
        assert_non_null(strstr(stand_patch(r, 3), "\"ingress\""));
        assert_int_equal(1, queue_failures(r->syncer.queue, "demo/web"));
        assert_non_null(strstr(stand_events(r), "Warning SyncLoadBalancerFailed Error syncing load "
                                                "balancer: failed to update annotations: not this"
                                                "\n"));
        stand_free(r);
    }
}

static void caps__writing_fails__tried_again_whole(void **state)
{
    struct stand *r = *state;

    r->provider->during = set_annotation;
    stand_refuse(r, "PATCH", "/services/web", 500, "InternalError", "etcd");
    stand_service(r, "web", STAND_LB, STAND_WITH_F, NULL);
    stand_run(r);
    assert_int_equal(1, stand_patches(r));
    assert_int_equal(1, stand_advance(r, 5000));
    assert_int_equal(2, stand_patches(r));
    assert_non_null(strstr(stand_patch(r, 1), "example.com/a"));
    assert_non_null(strstr(stand_patch(r, 1), "\"ingress\""));
}

/* ---- what a controller of the provider's own serves ------------------------------------------ */

#define OWN_F   "example.com/v2"
#define OWN_ALL (TT_OWN_FINALIZERS | TT_OWN_EVENTS)
#define CONDITION                                                                                  \
    "\"conditions\":[{\"type\":\"Logged\",\"status\":\"True\",\"reason\":\"r\",\"message\":\"m\"," \
    "\"lastTransitionTime\":\"2026-01-02T03:04:05Z\"}]"

static void serve_alone(struct stand *r)
{
    static const char *const finalizers[] = {OWN_F};

    r->provider->desc.finalizers = finalizers;
    r->provider->desc.n_finalizers = 1;
    r->provider->hold = finalizers[0];
    r->provider->own = OWN_ALL;
    stand_describe(r);
}

static void own__ensured__its_finalizer_and_no_event(void **state)
{
    struct stand *r = *state;

    serve_alone(r);
    stand_node_gone(r, "node-0"); /* nor one that there are no nodes */
    stand_service(r, "web", STAND_LB, NULL, NULL);
    stand_run(r);
    assert_int_equal(2, stand_patches(r));
    assert_string_equal("{\"metadata\":{\"uid\":\"uid-web\",\"finalizers\":[\"" OWN_F "\"],"
                        "\"annotations\":{" STAND_MARK("uid-web") "}}}",
                        stand_patch(r, 0));
    assert_non_null(strstr(stand_patch(r, 1), "\"ingress\""));
    stand_service(r, "web", STAND_LB, "\"finalizers\":[\"" OWN_F "\"]", STAND_STATUS("192.0.2.1"));
    stand_node(r, "node-1", NULL, NULL);
    stand_nodes_changed(r);
    assert_string_equal("ensure demo/web, update demo/web", stand_story(r));
    assert_string_equal("", stand_events(r));
}

/* Another process publishes: whatever the provider sets and however it ends, nothing is written. */
static void own__status__nothing_is_written(void **state)
{
    struct stand *r = *state;

    r->provider->desc.capabilities |= TT_CAP_FOLLOWS_INGRESS;
    r->provider->own = OWN_ALL | TT_OWN_STATUS;
    stand_describe(r);
    stand_service(r, "web", STAND_LB, NULL, NULL);
    stand_run(r);
    fake_provider_answer(r->provider,
                         (struct fake_answer){TT_VERB_ENSURE, TT_INVALID, "no", 0, false});
    stand_service(r, "web", STAND_LB, NULL, STAND_STATUS("192.0.2.7"));
    stand_run(r);
    fake_provider_answer(r->provider, (struct fake_answer){TT_VERB_ENSURE, TT_OK, "", 0, false});
    stand_service(r, "web", STAND_LB, NULL, STAND_STATUS("192.0.2.8"));
    stand_run(r);
    stand_service(r, "web", STAND_LB, STAND_DELETING ",\"finalizers\":[\"" STAND_F "\"]",
                  STAND_STATUS("192.0.2.8"));
    stand_run(r);
    assert_string_equal("ensure demo/web, ensure demo/web, ensure demo/web, delete demo/web",
                        stand_story(r));
    assert_int_equal(0, stand_patches(r));
    assert_string_equal("", stand_events(r));
}

/* A provider that follows the status' addresses hears of a change of them; another one does not. */
static void follows_ingress__status_changed__synced(void **state)
{
    struct stand *r = *state;

    stand_service(r, "web", STAND_LB, NULL, STAND_STATUS("192.0.2.1"));
    stand_run(r);
    stand_service(r, "web", STAND_LB, NULL, STAND_STATUS("192.0.2.2"));
    stand_run(r);
    assert_string_equal("ensure demo/web", stand_story(r));
    r->provider->desc.capabilities |= TT_CAP_FOLLOWS_INGRESS;
    stand_describe(r);
    stand_service(r, "web", STAND_LB, NULL, STAND_STATUS("192.0.2.3"));
    stand_run(r);
    stand_service(r, "web", STAND_LB, "\"labels\":{\"a\":\"b\"}", STAND_STATUS("192.0.2.3"));
    stand_run(r);
    assert_string_equal("ensure demo/web, ensure demo/web", stand_story(r));
}

static void own__failure__told_by_the_provider_alone(void **state)
{
    struct stand *r = *state;

    serve_alone(r);
    for (uint32_t verb = TT_VERB_ENSURE; verb <= TT_VERB_DELETE; verb++) {
        fake_provider_answer(r->provider, (struct fake_answer){verb, TT_QUOTA, "full", 0, false});
    }
    stand_service(r, "web", STAND_LB, NULL, NULL);
    stand_run(r);
    assert_int_equal(1, queue_failures(r->syncer.queue, "demo/web"));
    stand_node(r, "node-1", NULL, NULL);
    stand_nodes_changed(r);
    stand_service(r, "web", STAND_LB, "\"finalizers\":[\"" OWN_F "\"]," STAND_DELETING, NULL);
    stand_run(r);
    assert_string_equal("ensure demo/web, update demo/web, ensure demo/web, delete demo/web",
                        stand_story(r));
    assert_string_equal("", stand_events(r));
}

static void own__vanished_and_not_deleted__told_by_the_provider_alone(void **state)
{
    struct stand *r = *state;

    serve_alone(r);
    stand_service(r, "web", STAND_LB, NULL, NULL);
    stand_run(r);
    fake_provider_answer(r->provider,
                         (struct fake_answer){TT_VERB_DELETE, TT_QUOTA, "full", 0, false});
    stand_service_gone(r, "web");
    stand_run(r);
    assert_string_equal("", stand_events(r));
}

/* It cannot know of these. */
static void own__the_controllers_failure__told_by_the_controller(void **state)
{
    struct stand *r = *state;

    serve_alone(r);
    for (int i = 0; i < 3; i++) { /* with the mark, the mark, the status */
        stand_refuse(r, "PATCH", "/services/web/status", 403, "Forbidden", "no permission");
    }
    stand_service(r, "web", STAND_LB, "\"finalizers\":[\"" OWN_F "\"]", NULL);
    stand_run(r);
    assert_string_equal("Warning SyncLoadBalancerFailed Error syncing load balancer: failed to "
                        "update load balancer status: no permission\n",
                        stand_events(r));
}

static void own__deleted__its_finalizer_goes_the_cleanup_finalizer_stays(void **state)
{
    struct stand *r = *state;

    serve_alone(r);
    stand_service(r, "web", STAND_LB, "\"finalizers\":[\"" OWN_F "\"]," STAND_DELETING,
                  STAND_STATUS("192.0.2.1"));
    stand_run(r);
    assert_int_equal(1, stand_patches(r)); /* the object goes with it: no status is written */
    assert_non_null(
        strstr(stand_patch(r, 0), "\"$deleteFromPrimitiveList/finalizers\":[\"" OWN_F "\"]"));
    stand_service(r, "two", STAND_LB,
                  "\"finalizers\":[\"" STAND_F "\",\"" OWN_F "\"]," STAND_DELETING,
                  STAND_STATUS("192.0.2.1"));
    stand_run(r);
    assert_int_equal(2, stand_patches(r));
    assert_non_null(strstr(stand_patch(r, 1), "\"loadBalancer\":{\"ingress\":null}"));
    assert_non_null(
        strstr(stand_patch(r, 1), "\"$deleteFromPrimitiveList/finalizers\":[\"" OWN_F "\"]"));
    assert_string_equal("", stand_events(r));
}

static void leave_nothing(void *arg, struct fake_provider *p, const struct tt_call *call,
                          const struct tt_item *item)
{
    const struct tt_condition gone = {.type = "Logged"};
    const struct tt_condition absent = {.type = "Other"};

    (void)arg, (void)call;
    p->host->result_annotation(item->result, "example.com/a", NULL);
    p->host->result_condition(item->result, &gone);
    p->host->result_condition(item->result, &absent);
}

static void change_type(struct stand *r)
{
    serve_alone(r);
    r->provider->during = leave_nothing;
    stand_service(r, "web", STAND_CLUSTER_IP,
                  "\"annotations\":{\"example.com/a\":\"1\",\"b\":\"2\"},\"finalizers\":[\"" OWN_F
                  "\"]",
                  STAND_STATUS("192.0.2.1") "," CONDITION);
    stand_run(r);
}

/* gce-l4.md §6.1 */
static void own__type_changed__nothing_speaks_of_it_when_the_finalizer_goes(void **state)
{
    struct stand *r = *state;

    change_type(r);
    assert_int_equal(1, stand_patches(r));
    const char *body = stand_patch(r, 0);
    assert_non_null(strstr(body, "\"loadBalancer\":{\"ingress\":null}"));
    assert_non_null(strstr(body, "{\"$patch\":\"delete\",\"type\":\"Logged\"}"));
    assert_null(strstr(body, "Other")); /* was not there */
    assert_non_null(strstr(body, "\"annotations\":{\"example.com/a\":null}"));
    assert_non_null(strstr(body, "\"$deleteFromPrimitiveList/finalizers\":[\"" OWN_F "\"]"));
}

/* Refused as a whole: piece by piece, and the finalizer goes last, or not at all. */
static void own__type_changed_and_a_part_is_refused__the_finalizer_stays(void **state)
{
    struct stand *r = *state;

    for (int i = 0; i < 2; i++) {
        stand_refuse(r, "PATCH", "/services/web", 403, "Forbidden", "no");
    }
    change_type(r);
    assert_int_equal(2, stand_patches(r));
    assert_non_null(strstr(stand_patch(r, 1), "\"loadBalancer\""));
    stand_refuse(r, "PATCH", "/services/web", 422, "Invalid", "no");
    stand_advance(r, SYNC_CLEANUP_RETRY_MS);
    assert_int_equal(2 + 5, stand_patches(r));
    assert_non_null(strstr(stand_patch(r, 3), "\"loadBalancer\""));
    assert_non_null(strstr(stand_patch(r, 4), "\"conditions\""));
    assert_non_null(strstr(stand_patch(r, 5), "\"annotations\""));
    assert_string_equal(
        "{\"metadata\":{\"uid\":\"uid-web\",\"$deleteFromPrimitiveList/finalizers\":"
        "[\"" OWN_F "\"]}}",
        stand_patch(r, 6));
}

/* The old address stays the word of the object until the next try: the finalizer holds it. */
static void own__status_is_refused__the_finalizer_stays(void **state)
{
    struct stand *r = *state;

    serve_alone(r);
    stand_refuse(r, "PATCH", "/services/web/status", 500, "InternalError", "etcd");
    stand_service(r, "web", STAND_CLUSTER_IP, "\"finalizers\":[\"" OWN_F "\"]",
                  STAND_STATUS("192.0.2.1"));
    stand_run(r);
    assert_int_equal(1, stand_patches(r));
    assert_int_equal(1, queue_failures(r->syncer.queue, "demo/web"));
    assert_int_equal(1, stand_advance(r, SYNC_CLEANUP_RETRY_MS));
    assert_int_equal(2, stand_patches(r));
    assert_non_null(strstr(stand_patch(r, 1), OWN_F));
}

/* NEGs in a zone more: the annotation that names them follows. */
static void caps__node_change__what_the_provider_says_is_written(void **state)
{
    struct stand *r = *state;

    r->provider->plan_operations = 0;
    stand_service(r, "web", STAND_LB, STAND_WITH_F, STAND_STATUS("203.0.113.10"));
    stand_run(r);
    r->provider->during = set_annotation;
    stand_node(r, "node-1", NULL, NULL);
    stand_nodes_changed(r);
    assert_string_equal("ensure demo/web, update demo/web", stand_story(r));
    assert_int_equal(1, stand_patches(r));
    assert_non_null(strstr(stand_patch(r, 0), "example.com/a"));
    stand_refuse(r, "PATCH", "/services/web", 500, "InternalError", "etcd");
    stand_node(r, "node-2", NULL, NULL);
    stand_nodes_changed(r); /* and what fails becomes an ensure */
    assert_string_equal("ensure demo/web, update demo/web, update demo/web, ensure demo/web",
                        stand_story(r));
    assert_int_equal(3, stand_patches(r));
}

static void caps__node_change__no_event_without_work(void **state)
{
    struct stand *r = *state;

    r->provider->plan_operations = 0;
    stand_service(r, "web", STAND_LB, STAND_WITH_F, STAND_STATUS("203.0.113.10"));
    stand_run(r);
    stand_node(r, "node-1", NULL, NULL);
    stand_nodes_changed(r);
    assert_string_equal("ensure demo/web, update demo/web", stand_story(r));
    assert_string_equal("", stand_events(r));
}

/* ---- batches --------------------------------------------------------------------------------- */

static void batch__keys_of_one_object__one_call(void **state)
{
    struct stand *r = *state;

    fake_provider_batches(r->provider);
    stand_describe(r);
    stand_service(r, "a", STAND_LB, NULL, NULL);
    stand_service(r, "b", STAND_LB, NULL, NULL);
    stand_service(r, "c", STAND_CLUSTER_IP, STAND_WITH_F, NULL);
    assert_int_equal(0, stand_run(r));
    assert_int_equal(1, stand_advance(r, 100));
    assert_string_equal("ensure demo/a, ensure demo/b, delete demo/c", stand_story(r));
    assert_int_equal(3, fake_provider_call(r->provider, TT_VERB_DELETE, 0).n_items);
    assert_string_equal("demo", fake_provider_call(r->provider, TT_VERB_ENSURE, 1).batch_key);
}

static void batch__one_fails__the_others_are_settled(void **state)
{
    struct stand *r = *state;

    fake_provider_batches(r->provider);
    stand_describe(r);
    fake_provider_answer(r->provider,
                         (struct fake_answer){TT_VERB_ENSURE, TT_INVALID, "bad one", 0, false});
    stand_service(r, "a", STAND_LB, STAND_WITH_F, NULL);
    stand_service(r, "b", STAND_LB, STAND_WITH_F, NULL);
    stand_advance(r, 100);
    assert_int_equal(1, stand_patches(r)); /* b's status */
    assert_int_equal(1, queue_failures(r->syncer.queue, "demo/a"));
    assert_int_equal(0, queue_failures(r->syncer.queue, "demo/b"));
    assert_non_null(strstr(stand_events(r), "failed to ensure load balancer: bad one\n"));
}

static void batch__unsettled_item__fault_of_the_provider(void **state)
{
    struct stand *r = *state;

    fake_provider_batches(r->provider);
    stand_describe(r);
    r->provider->leave_unsettled = true;
    stand_service(r, "a", STAND_LB, STAND_WITH_F, NULL);
    stand_advance(r, 100);
    assert_int_equal(1, queue_failures(r->syncer.queue, "demo/a"));
    assert_non_null(strstr(stand_events(r), "the provider did not say how it went\n"));
}

/* ---- faults ---------------------------------------------------------------------------------- */

static void fault__code_without_reason__still_a_sentence(void **state)
{
    struct stand *r = *state;

    fake_provider_answer(r->provider,
                         (struct fake_answer){TT_VERB_ENSURE, TT_QUOTA, NULL, 0, true});
    stand_service(r, "web", STAND_LB, STAND_WITH_F, NULL);
    stand_run(r);
    assert_non_null(strstr(stand_events(r), "the provider said quota without a reason\n"));
}

static void fault__no_code__is_a_bug(void **state)
{
    struct stand *r = *state;

    fake_provider_answer(r->provider, (struct fake_answer){TT_VERB_ENSURE, 4711, NULL, 0, true});
    stand_service(r, "web", STAND_LB, STAND_WITH_F, NULL);
    stand_run(r);
    assert_int_equal(1, queue_failures(r->syncer.queue, "demo/web"));
    assert_non_null(
        strstr(stand_events(r), "the provider returned 4711, which is no code it may use\n"));
}

static void fault__closed_fence__nothing_is_written(void **state)
{
    struct stand *r = *state;

    fence_close(&r->fence);
    stand_service(r, "web", STAND_LB, NULL, NULL);
    stand_run(r);
    assert_int_equal(0, stand_patches(r));
    assert_int_equal(0, stand_requests(r, NULL));
}

static void fault__stopping__no_call_is_made(void **state)
{
    struct stand *r = *state;

    cancel_fire(r->cancel);
    stand_service(r, "web", STAND_LB, STAND_WITH_F, NULL);
    stand_run(r);
    assert_string_equal("", stand_story(r));
    assert_string_equal("", stand_events(r));
}

UNIT_MAIN(sync_caps)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(caps__empty_plan__no_write_no_event),
        T(caps__empty_plan__strict_events_are_upstreams),
        T(caps__plan_with_work__finalizer_once_and_events),
        T(caps__own_finalizer__held_and_let_go_with_the_controllers),
        T(caps__finalizer_is_refused__nothing_is_made),
        T(caps__deletion__one_call_and_events_only_for_work),
        T(caps__anothers_kind__finalizers_stay_as_they_are),
        T(caps__no_load_balancer_any_more__annotations_go_with_the_finalizers),
        T(caps__anothers_kind__what_was_ours_on_it_is_taken_back),
        T(caps__anothers_kind_vanishes__nothing_is_kept_of_it),
        T(caps__all_that_an_ensure_says__one_request),
        T(caps__annotation_is_refused__the_address_is_published_all_the_same),
        T(caps__writing_fails__tried_again_whole),
        T(own__ensured__its_finalizer_and_no_event),
        T(own__status__nothing_is_written),
        T(follows_ingress__status_changed__synced),
        T(own__failure__told_by_the_provider_alone),
        T(own__vanished_and_not_deleted__told_by_the_provider_alone),
        T(own__the_controllers_failure__told_by_the_controller),
        T(own__deleted__its_finalizer_goes_the_cleanup_finalizer_stays),
        T(own__type_changed__nothing_speaks_of_it_when_the_finalizer_goes),
        T(own__type_changed_and_a_part_is_refused__the_finalizer_stays),
        T(own__status_is_refused__the_finalizer_stays),
        T(caps__node_change__what_the_provider_says_is_written),
        T(caps__node_change__no_event_without_work),
        T(batch__keys_of_one_object__one_call),
        T(batch__one_fails__the_others_are_settled),
        T(batch__unsettled_item__fault_of_the_provider),
        T(fault__code_without_reason__still_a_sentence),
        T(fault__no_code__is_a_bug),
        T(fault__closed_fence__nothing_is_written),
        T(fault__stopping__no_call_is_made),
    };
    return cmocka_run_group_tests_name("controller-sync-caps", tests, NULL, NULL);
}
