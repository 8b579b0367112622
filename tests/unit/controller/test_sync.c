/* SPDX-License-Identifier: Apache-2.0 */
/* test_sync.c: one Service through the service controller: vectors 1–10, 36–38, 94–102 of the
 * controller's spec and the scenario matrix of §1.16, with a provider that has no capabilities (so
 * that events and calls are upstream's). */
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

static int set_up(void **state)
{
    struct stand *r = stand_new(0);

    stand_node(r, "node-0", NULL, NULL);
    *state = r;
    return 0;
}

static int tear_down(void **state)
{
    stand_free(*state);
    return 0;
}

/* ---- 6.1 ------------------------------------------------------------------------------------- */

static void sync__vectors_1_to_10__calls_and_patches(void **state)
{
    (void)state;
    static const struct {
        int row;
        const char *spec, *meta, *status;
        bool exists;
        const char *story;
        size_t patches;
    } rows[] = {
        {1, STAND_CLUSTER_IP, NULL, NULL, false, "get demo/web", 0},
        {2, "\"type\":\"LoadBalancer\",\"ports\":[{\"port\":80,\"protocol\":\"UDP\"}]", NULL, NULL,
         false, "ensure demo/web", 2},
        {3, STAND_LB, NULL, NULL, false, "ensure demo/web", 2},
        {4, "\"type\":\"LoadBalancer\",\"ports\":[{\"port\":80,\"protocol\":\"SCTP\"}]", NULL, NULL,
         false, "ensure demo/web", 2},
        /* ours: another one's class is not even asked about (deviation 1) */
        {5, STAND_LB ",\"loadBalancerClass\":\"custom-loadbalancer\"", NULL, NULL, false, "", 0},
        {6, STAND_CLUSTER_IP, STAND_WITH_F, STAND_STATUS("8.8.8.8"), true,
         "get demo/web, delete demo/web", 2},
        /* ours: with the last finalizer the object is gone, so no status is written (§9 row 4) */
        {7, STAND_LB, STAND_WITH_F "," STAND_DELETING, STAND_STATUS("8.8.8.8"), true,
         "get demo/web, delete demo/web", 1},
        {8, STAND_LB, STAND_WITH_F, NULL, false, "ensure demo/web", 1},
        /* ours: the finalizer is the other controller's as long as nothing of ours exists */
        {9, STAND_LB ",\"loadBalancerClass\":\"x\"", STAND_WITH_F "," STAND_DELETING, NULL, false,
         "get demo/web", 0},
        /* ours: no finalizer can be added any more, so nothing is made (deviation 2) */
        {10, STAND_LB, STAND_DELETING, NULL, false, "get demo/web", 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct stand *r = stand_new(0);
        r->provider->exists = rows[i].exists;
        stand_node(r, "node-0", NULL, NULL);
        stand_service(r, "web", rows[i].spec, rows[i].meta, rows[i].status);
        stand_add(r, "web", TT_REASON_SPEC);
        stand_run(r);
        if (strcmp(rows[i].story, stand_story(r)) != 0 || rows[i].patches != stand_patches(r)) {
            fail_msg("row %d: \"%s\" and %zu patches, want \"%s\" and %zu", rows[i].row,
                     stand_story(r), stand_patches(r), rows[i].story, rows[i].patches);
        }
        stand_free(r);
    }
}

static void sync__new_service__finalizer_then_ensure_then_status(void **state)
{
    struct stand *r = *state;

    stand_service(r, "web", STAND_LB, NULL, NULL);
    assert_int_equal(1, stand_run(r));
    assert_string_equal("ensure demo/web", stand_story(r));
    assert_string_equal("{\"metadata\":{\"uid\":\"uid-web\",\"finalizers\":[\"" STAND_F "\"],"
                        "\"annotations\":{" STAND_MARK("uid-web") "}}}",
                        stand_patch(r, 0));
    assert_string_equal(
        "{\"metadata\":{\"uid\":\"uid-web\",\"annotations\":"
        "{" STAND_MARK("uid-web 203.0.113.10") "}},"
                                               "\"status\":{\"loadBalancer\":{\"ingress\":[{\"ip\":"
                                               "\"203.0.113.10\","
                                               "\"ipMode\":\"VIP\"}]}}}",
        stand_patch(r, 1));
    for (size_t i = 0; i < 2; i++) {
        const struct stand_request *q = stand_patch_request(r, i);
        assert_string_equal("/api/v1/namespaces/demo/services/web/status", q->path);
        assert_string_equal("application/strategic-merge-patch+json", q->content_type);
    }
    assert_string_equal("Normal EnsuringLoadBalancer Ensuring load balancer\n"
                        "Normal EnsuredLoadBalancer Ensured load balancer\n",
                        stand_events(r));
}

static void sync__healthy_service_after_restart__no_patch(void **state)
{
    struct stand *r = *state;

    stand_service(r, "web", STAND_LB, STAND_WITH_F, STAND_STATUS("203.0.113.10"));
    stand_run(r);
    assert_string_equal("ensure demo/web", stand_story(r));
    assert_int_equal(0, stand_patches(r)); /* vectors 36 and 38: nothing is new */
    assert_string_equal("Normal EnsuringLoadBalancer Ensuring load balancer\n"
                        "Normal EnsuredLoadBalancer Ensured load balancer\n",
                        stand_events(r));
}

static void sync__deleted_service__load_balancer_then_finalizer(void **state)
{
    struct stand *r = *state;

    r->provider->exists = true;
    stand_service(r, "web", STAND_LB, STAND_WITH_F "," STAND_DELETING,
                  STAND_STATUS("203.0.113.10"));
    stand_run(r);
    assert_string_equal("get demo/web, delete demo/web", stand_story(r));
    assert_int_equal(1, stand_patches(r));
    assert_string_equal(
        "{\"metadata\":{\"uid\":\"uid-web\",\"$deleteFromPrimitiveList/finalizers\":[\"" STAND_F
        "\"]}}",
        stand_patch(r, 0));
    assert_string_equal("Normal DeletingLoadBalancer Deleting load balancer\n"
                        "Normal DeletedLoadBalancer Deleted load balancer\n",
                        stand_events(r));
    assert_int_equal(0, service_cache_count(r->syncer.cache));
}

static void sync__deleted_while_others_hold_it__status_is_cleared_too(void **state)
{
    struct stand *r = *state;

    r->provider->exists = true;
    stand_service(r, "web", STAND_LB, "\"finalizers\":[\"" STAND_F "\",\"foo\"]," STAND_DELETING,
                  STAND_STATUS("203.0.113.10"));
    stand_run(r);
    assert_int_equal(2, stand_patches(r));
    assert_string_equal("{\"metadata\":{\"uid\":\"uid-web\"},"
                        "\"status\":{\"loadBalancer\":{\"ingress\":null}}}",
                        stand_patch(r, 1));
}

static void sync__nothing_existed__no_deleted_event_unless_strict(void **state)
{
    (void)state;
    for (int strict = 0; strict <= 1; strict++) {
        struct stand *r = stand_new(0);
        r->syncer.strict_events = strict;
        stand_service(r, "web", STAND_CLUSTER_IP, STAND_WITH_F, NULL);
        stand_run(r);
        assert_string_equal("get demo/web", stand_story(r));
        assert_string_equal(strict ? "Normal DeletedLoadBalancer Deleted load balancer\n" : "",
                            stand_events(r));
        stand_free(r);
    }
}

static void sync__type_change__cleaned_up(void **state)
{
    struct stand *r = *state;

    r->provider->exists = true;
    stand_service(r, "web", STAND_LB, NULL, NULL);
    stand_run(r);
    fake_provider_forget(r->provider);
    stand_service(r, "web", STAND_CLUSTER_IP, STAND_WITH_F, NULL);
    stand_run(r);
    assert_string_equal("get demo/web, delete demo/web", stand_story(r));
    assert_int_equal(3, stand_patches(r)); /* finalizer on, status, finalizer off */
    assert_int_equal(0, service_cache_count(r->syncer.cache));
}

static void sync__no_nodes__warned_and_ensured_all_the_same(void **state)
{
    (void)state;
    struct stand *r = stand_new(0);

    stand_service(r, "web", STAND_LB, STAND_WITH_F, NULL);
    stand_run(r);
    assert_string_equal("ensure demo/web", stand_story(r));
    assert_string_equal("Normal EnsuringLoadBalancer Ensuring load balancer\n"
                        "Warning UnAvailableLoadBalancer There are no available nodes for "
                        "LoadBalancer\n"
                        "Normal EnsuredLoadBalancer Ensured load balancer\n",
                        stand_events(r));
    stand_free(r);
}

static void sync__ingress_without_mode__equals_the_stored_one(void **state)
{
    struct stand *r = *state;

    stand_service(r, "web", STAND_LB, STAND_WITH_F, STAND_STATUS("203.0.113.10"));
    stand_run(r);
    assert_int_equal(0, stand_patches(r)); /* the fake sets no ipMode (deviation 4) */
}

/* ---- failures -------------------------------------------------------------------------------- */

static void sync__ensure_fails__event_and_back_off(void **state)
{
    struct stand *r = *state;

    fake_provider_answer(r->provider, (struct fake_answer){TT_VERB_ENSURE, TT_TRANSIENT,
                                                           "something went wrong", 0, false});
    stand_service(r, "web", STAND_LB, STAND_WITH_F, NULL);
    stand_run(r);
    assert_int_equal(1, queue_failures(r->syncer.queue, "demo/web")); /* vector 101 */
    assert_int_equal(clock_now_ms(r->clock) + 5000, queue_next_ms(r->syncer.queue));
    assert_int_equal(1, stand_advance(r, 5000));
    assert_int_equal(0, queue_failures(r->syncer.queue, "demo/web")); /* vector 100 */
    assert_string_equal("ensure demo/web, ensure demo/web", stand_story(r));
    assert_string_equal("Normal EnsuringLoadBalancer Ensuring load balancer\n"
                        "Warning SyncLoadBalancerFailed Error syncing load balancer: failed to "
                        "ensure load balancer: "
                        "something went wrong\n"
                        "(again)\n"
                        "Normal EnsuredLoadBalancer Ensured load balancer\n",
                        stand_events(r));
}

static void sync__vector_102__retry_after__count_unchanged(void **state)
{
    struct stand *r = *state;

    r->syncer.strict_events = true; /* what upstream makes of it */
    fake_provider_answer(r->provider, (struct fake_answer){TT_VERB_ENSURE, TT_IN_PROGRESS,
                                                           "LB create in progress", 42000, false});
    stand_service(r, "web", STAND_LB, STAND_WITH_F, NULL);
    stand_run(r);
    assert_int_equal(0, queue_failures(r->syncer.queue, "demo/web"));
    assert_int_equal(clock_now_ms(r->clock) + 42000, queue_next_ms(r->syncer.queue));
    assert_non_null(strstr(stand_events(r),
                           "Warning SyncLoadBalancerFailed Error syncing load "
                           "balancer: failed to ensure load balancer: LB create in "
                           "progress\n"));
}

static void sync__retry_at_once__has_a_floor_of_a_second(void **state)
{
    struct stand *r = *state;

    fake_provider_answer(r->provider,
                         (struct fake_answer){TT_VERB_ENSURE, TT_IN_PROGRESS, "soon", 1, false});
    stand_service(r, "web", STAND_LB, STAND_WITH_F, NULL);
    stand_run(r);
    assert_int_equal(clock_now_ms(r->clock) + 1000, queue_next_ms(r->syncer.queue));
}

static void sync__invalid__told_once_and_not_tried_fast(void **state)
{
    struct stand *r = *state;

    fake_provider_answer(
        r->provider, (struct fake_answer){TT_VERB_ENSURE, TT_INVALID, "mixed protocols", 0, false});
    stand_service(r, "web", STAND_LB, STAND_WITH_F, NULL);
    stand_run(r);
    assert_int_equal(clock_now_ms(r->clock) + 300000, queue_next_ms(r->syncer.queue));
    /* a change is checked right away, and the wait is over when it helped */
    stand_service(r, "web", STAND_LB ",\"loadBalancerIP\":\"192.0.2.1\"", STAND_WITH_F, NULL);
    assert_int_equal(1, stand_run(r));
    assert_int_equal(CLOCK_NEVER, queue_next_ms(r->syncer.queue));
}

static void sync__implemented_elsewhere__quiet(void **state)
{
    struct stand *r = *state;

    fake_provider_answer(r->provider, (struct fake_answer){TT_VERB_ENSURE, TT_IMPLEMENTED_ELSEWHERE,
                                                           "not mine", 0, false});
    stand_service(r, "web", STAND_LB, NULL, NULL);
    stand_run(r);
    assert_int_equal(1, stand_patches(r)); /* the finalizer was added before, and stays */
    assert_int_equal(CLOCK_NEVER, queue_next_ms(r->syncer.queue));
    assert_string_equal("Normal EnsuringLoadBalancer Ensuring load balancer\n", stand_events(r));
}

static void sync__cancelled__no_event(void **state)
{
    struct stand *r = *state;

    fake_provider_answer(r->provider,
                         (struct fake_answer){TT_VERB_ENSURE, TT_CANCELLED, "stopping", 0, false});
    stand_service(r, "web", STAND_LB, STAND_WITH_F, NULL);
    stand_run(r);
    assert_string_equal("Normal EnsuringLoadBalancer Ensuring load balancer\n", stand_events(r));
}

static void sync__no_status_from_the_provider__is_its_fault(void **state)
{
    struct stand *r = *state;

    r->provider->ip = NULL;
    stand_service(r, "web", STAND_LB, STAND_WITH_F, NULL);
    stand_run(r);
    assert_non_null(strstr(stand_events(r),
                           "Error syncing load balancer: service status returned by "
                           "EnsureLoadBalancer is nil\n"));
}

static void sync__finalizer_is_refused__nothing_is_made(void **state)
{
    struct stand *r = *state;

    stand_refuse(r, "PATCH", "/services/", 422, "Invalid", "no new finalizers");
    stand_service(r, "web", STAND_LB, NULL, NULL);
    stand_run(r);
    assert_string_equal("", stand_story(r));
    assert_int_equal(clock_now_ms(r->clock) + 5000, queue_next_ms(r->syncer.queue));
    assert_non_null(strstr(stand_events(r),
                           "Warning SyncLoadBalancerFailed Error syncing load "
                           "balancer: failed to add load balancer cleanup finalizer: "));
}

static const char *web_is_version_90(const char *target)
{
    (void)target;
    return "{\"items\":[{\"metadata\":{\"uid\":\"uid-web\",\"resourceVersion\":\"90\"}}]}";
}

static void sync__vector_98__status_conflict_is_a_failure(void **state)
{
    struct stand *r = *state;

    r->get = web_is_version_90;
    for (int i = 0; i < 5; i++) {
        stand_refuse(r, "PATCH", "/services/", 409, "Conflict", "the object has been modified");
    }
    stand_service(r, "web", STAND_LB, STAND_WITH_F, NULL);
    stand_run(r);
    assert_int_equal(1, queue_failures(r->syncer.queue, "demo/web"));
    assert_non_null(strstr(stand_events(r),
                           "Warning SyncLoadBalancerFailed Error syncing load balancer: failed to "
                           "update load balancer status: the object has been modified\n"));
}

static void sync__vector_99__status_of_a_gone_service_is_fine(void **state)
{
    struct stand *r = *state;

    stand_refuse(r, "PATCH", "/services/", 404, "NotFound", "services web not found");
    stand_service(r, "web", STAND_LB, STAND_WITH_F, NULL);
    stand_run(r);
    assert_int_equal(0, queue_failures(r->syncer.queue, "demo/web"));
    assert_null(strstr(stand_events(r), "Warning"));
}

/* Between the look and the write it was deleted and recreated: the new one is not written to. */
static void sync__another_of_that_name_came__its_status_stays(void **state)
{
    struct stand *r = *state;

    stand_service(r, "web", STAND_LB, STAND_WITH_F, NULL);
    stand_refuse(
        r, "PATCH", "/services/", 422, "Invalid",
        "Service \\\"web\\\" is invalid: metadata.uid: Invalid value: \\\"uid-web\\\": field is "
        "immutable");
    stand_run(r);
    assert_int_equal(1, stand_patches(r));
    assert_int_equal(0, queue_counts(r->syncer.queue).waiting);
    assert_null(strstr(stand_events(r), "SyncLoadBalancerFailed"));
}

static void sync__delete_fails__event_and_at_most_30_s(void **state)
{
    struct stand *r = *state;

    r->provider->exists = true;
    for (int i = 0; i < 5; i++) {
        fake_provider_answer(r->provider, (struct fake_answer){TT_VERB_DELETE, TT_TRANSIENT,
                                                               "cloud says no", 0, false});
    }
    stand_service(r, "web", STAND_LB, STAND_WITH_F "," STAND_DELETING, NULL);
    stand_run(r);
    static const int64_t waits[] = {5000, 10000, 20000, 30000, 30000};
    for (size_t i = 0; i < ARRAY_LEN(waits); i++) {
        assert_int_equal(clock_now_ms(r->clock) + waits[i], queue_next_ms(r->syncer.queue));
        assert_int_equal(1, stand_advance(r, waits[i]));
    }
    assert_int_equal(6, fake_provider_count(r->provider, TT_VERB_DELETE));
    assert_non_null(strstr(stand_events(r),
                           "Warning SyncLoadBalancerFailed Error syncing load "
                           "balancer: failed to delete load balancer: cloud says no\n"));
}

static void sync__delete_in_progress__asked_again_when_it_said(void **state)
{
    struct stand *r = *state;

    r->provider->exists = true;
    fake_provider_answer(
        r->provider, (struct fake_answer){TT_VERB_DELETE, TT_IN_PROGRESS, "going", 7000, false});
    stand_service(r, "web", STAND_LB, STAND_WITH_F "," STAND_DELETING, NULL);
    stand_run(r);
    assert_int_equal(clock_now_ms(r->clock) + 7000, queue_next_ms(r->syncer.queue));
    assert_int_equal(0, queue_failures(r->syncer.queue, "demo/web"));
}

static void sync__get_fails__nothing_is_deleted(void **state)
{
    struct stand *r = *state;

    fake_provider_answer(r->provider,
                         (struct fake_answer){FAKE_GET, TT_TRANSIENT, "no answer", 0, false});
    stand_service(r, "web", STAND_LB, STAND_WITH_F "," STAND_DELETING, NULL);
    stand_run(r);
    assert_string_equal("get demo/web", stand_story(r));
    assert_int_equal(0, stand_patches(r));
    assert_non_null(strstr(stand_events(r),
                           "failed to check if load balancer exists before cleanup: no answer\n"));
}

static void sync__finalizer_removal_fails__tried_again(void **state)
{
    struct stand *r = *state;

    stand_refuse(r, "PATCH", "/services/", 500, "InternalError", "etcd");
    stand_service(r, "web", STAND_CLUSTER_IP, STAND_WITH_F, NULL);
    stand_run(r);
    assert_int_equal(1, queue_failures(r->syncer.queue, "demo/web"));
    assert_int_equal(1, stand_advance(r, 5000));
    assert_int_equal(2, stand_patches(r));
    assert_non_null(
        strstr(stand_events(r), "failed to remove load balancer cleanup finalizer: etcd\n"));
}

/* ---- keys, vanished and replaced objects ----------------------------------------------------- */

static void sync__vector_94__a_key_of_three_parts_is_no_key(void **state)
{
    struct stand *r = *state;

    queue_add(r->syncer.queue, "invalid/key/string", NULL, TT_REASON_SPEC);
    stand_run(r);
    assert_string_equal("", stand_story(r));
    assert_int_equal(1, queue_failures(r->syncer.queue, "invalid/key/string"));
}

static void sync__vector_95__an_unknown_service_is_nothing(void **state)
{
    struct stand *r = *state;

    stand_add(r, "unknown", TT_REASON_SPEC);
    stand_run(r);
    assert_string_equal("", stand_story(r));
    assert_int_equal(0, stand_patches(r));
    assert_int_equal(CLOCK_NEVER, queue_next_ms(r->syncer.queue));
}

static void sync__vectors_96_and_97__a_vanished_service_is_cleaned_up(void **state)
{
    struct stand *r = *state;

    stand_service(r, "web", STAND_LB, STAND_WITH_F, NULL);
    stand_run(r);
    fake_provider_forget(r->provider);
    fake_provider_answer(r->provider,
                         (struct fake_answer){TT_VERB_DELETE, TT_TRANSIENT,
                                              "error Deleting the Loadbalancer", 0, false});
    stand_service_gone(r, "web"); /* the finalizer was taken away */
    stand_run(r);
    assert_string_equal("delete demo/web", stand_story(r));
    assert_int_equal(1, service_cache_count(r->syncer.cache)); /* 96 */
    assert_int_equal(1, stand_advance(r, 5000));
    assert_int_equal(0, service_cache_count(r->syncer.cache)); /* 97 */
    const char *events = stand_events(r);
    assert_non_null(strstr(events, "Normal DeletingLoadBalancer Deleting load balancer\n"));
    assert_non_null(strstr(events, "Warning DeleteLoadBalancerFailed Error deleting load balancer: "
                                   "error Deleting the Loadbalancer\n"));
    assert_non_null(strstr(events, "Normal DeletedLoadBalancer Deleted load balancer\n"));
    assert_null(strstr(events, "SyncLoadBalancerFailed"));
}

static void sync__replaced_service__the_old_ones_goes_first(void **state)
{
    struct stand *r = *state;

    stand_service(r, "web", STAND_LB, "\"uid\":\"old\"," STAND_WITH_F, NULL);
    stand_run(r);
    fake_provider_forget(r->provider);
    stand_service(r, "web", STAND_LB, "\"uid\":\"new\"," STAND_WITH_F, NULL);
    stand_run(r);
    assert_string_equal("delete demo/web, ensure demo/web", stand_story(r));
    assert_string_equal("old", fake_provider_call(r->provider, TT_VERB_DELETE, 0).uid);
    assert_string_equal("new", fake_provider_call(r->provider, TT_VERB_ENSURE, 0).uid);
}

static void sync__replaced_service__failing_delete_holds_the_new_one(void **state)
{
    struct stand *r = *state;

    stand_service(r, "web", STAND_LB, "\"uid\":\"old\"," STAND_WITH_F, NULL);
    stand_run(r);
    fake_provider_forget(r->provider);
    fake_provider_answer(r->provider,
                         (struct fake_answer){TT_VERB_DELETE, TT_TRANSIENT, "no", 0, false});
    stand_service(r, "web", STAND_LB, "\"uid\":\"new\"," STAND_WITH_F, NULL);
    stand_run(r);
    assert_string_equal("delete demo/web", stand_story(r));
    stand_advance(r, 5000);
    assert_string_equal("delete demo/web, delete demo/web, ensure demo/web", stand_story(r));
    assert_null(strstr(stand_events(r), "SyncLoadBalancerFailed"));
}

/* ---- classes --------------------------------------------------------------------------------- */

static void sync__class_of_another__left_alone_unless_ours_exists(void **state)
{
    (void)state;
    for (int exists = 0; exists <= 1; exists++) {
        struct stand *r = stand_new(0);
        r->provider->exists = exists;
        stand_service(r, "web", STAND_LB ",\"loadBalancerClass\":\"x\"",
                      STAND_WITH_F "," STAND_DELETING, NULL);
        stand_run(r);
        assert_string_equal(exists ? "get demo/web, delete demo/web" : "get demo/web",
                            stand_story(r));
        assert_int_equal(exists ? 1 : 0, stand_patches(r));
        stand_free(r);
    }
}

static void sync__class_of_another__strict_is_as_upstream(void **state)
{
    struct stand *r = *state;

    r->syncer.strict_events = true;
    stand_service(r, "web", STAND_LB ",\"loadBalancerClass\":\"x\"",
                  STAND_WITH_F "," STAND_DELETING, NULL);
    stand_run(r);
    assert_int_equal(1, stand_patches(r)); /* vector 9 */
}

static void sync__class_appears_on_a_service_of_ours__cleaned_up(void **state)
{
    struct stand *r = *state;

    r->provider->exists = true;
    stand_service(r, "web", STAND_LB, STAND_WITH_F, NULL);
    stand_run(r);
    fake_provider_forget(r->provider);
    stand_service(r, "web", STAND_LB ",\"loadBalancerClass\":\"x\"", STAND_WITH_F, NULL);
    stand_run(r);
    assert_string_equal("get demo/web, delete demo/web", stand_story(r));
}

static void sync__anothers_service_loses_its_type__its_finalizer_stays(void **state)
{
    struct stand *r = *state;

    stand_service(r, "web", STAND_LB ",\"loadBalancerClass\":\"x\"", STAND_WITH_F, NULL);
    stand_run(r);
    stand_service(r, "web", STAND_CLUSTER_IP, STAND_WITH_F, NULL);
    stand_run(r);
    assert_string_equal("get demo/web", stand_story(r));
    assert_int_equal(0, stand_patches(r));
}

static void sync__class_of_the_provider__is_ours(void **state)
{
    static const char *const classes[] = {"example.com/fast"};
    struct stand *r = *state;

    r->provider->desc.classes = classes;
    r->provider->desc.n_classes = 1;
    stand_describe(r);
    stand_service(r, "web", STAND_LB ",\"loadBalancerClass\":\"example.com/fast\"", NULL, NULL);
    stand_service(r, "other", STAND_LB ",\"loadBalancerClass\":\"example.com/slow\"", NULL, NULL);
    stand_run(r);
    assert_string_equal("ensure demo/web", stand_story(r));
}

UNIT_MAIN(sync)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(sync__vectors_1_to_10__calls_and_patches),
        T(sync__new_service__finalizer_then_ensure_then_status),
        T(sync__healthy_service_after_restart__no_patch),
        T(sync__deleted_service__load_balancer_then_finalizer),
        T(sync__deleted_while_others_hold_it__status_is_cleared_too),
        T(sync__nothing_existed__no_deleted_event_unless_strict),
        T(sync__type_change__cleaned_up),
        T(sync__no_nodes__warned_and_ensured_all_the_same),
        T(sync__ingress_without_mode__equals_the_stored_one),
        T(sync__ensure_fails__event_and_back_off),
        T(sync__vector_102__retry_after__count_unchanged),
        T(sync__retry_at_once__has_a_floor_of_a_second),
        T(sync__invalid__told_once_and_not_tried_fast),
        T(sync__implemented_elsewhere__quiet),
        T(sync__cancelled__no_event),
        T(sync__no_status_from_the_provider__is_its_fault),
        T(sync__finalizer_is_refused__nothing_is_made),
        T(sync__vector_98__status_conflict_is_a_failure),
        T(sync__vector_99__status_of_a_gone_service_is_fine),
        T(sync__another_of_that_name_came__its_status_stays),
        T(sync__delete_fails__event_and_at_most_30_s),
        T(sync__delete_in_progress__asked_again_when_it_said),
        T(sync__get_fails__nothing_is_deleted),
        T(sync__finalizer_removal_fails__tried_again),
        T(sync__vector_94__a_key_of_three_parts_is_no_key),
        T(sync__vector_95__an_unknown_service_is_nothing),
        T(sync__vectors_96_and_97__a_vanished_service_is_cleaned_up),
        T(sync__replaced_service__the_old_ones_goes_first),
        T(sync__replaced_service__failing_delete_holds_the_new_one),
        T(sync__class_of_another__left_alone_unless_ours_exists),
        T(sync__class_of_another__strict_is_as_upstream),
        T(sync__class_appears_on_a_service_of_ours__cleaned_up),
        T(sync__anothers_service_loses_its_type__its_finalizer_stays),
        T(sync__class_of_the_provider__is_ours),
    };
    return cmocka_run_group_tests_name("controller-sync", tests, NULL, NULL);
}
