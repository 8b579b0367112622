/* SPDX-License-Identifier: Apache-2.0 */
/* test_sync_matrix.c: the scenario matrix of the service controller (controller.md §1.16), row by
 * row.
 *
 * Rows 1, 2, 4, 5, 8, 10, 11, 13 and 14 are test_sync.c's: a new Service, a restart, deletion, a
 * failing delete, the same name again, retries, no nodes, deletion without finalizer; row 6 is
 * test_sync.c's and test_sync_races.c's.  Here are the others, from the event to what the provider
 * and the API server see of it. */
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

#define ANNOTATED "\"annotations\":{\"kubectl.kubernetes.io/last-applied-configuration\":\"{}\"}"
#define TAINT     "\"taints\":[{\"key\":\"ToBeDeletedByClusterAutoscaler\",\"effect\":\"NoSchedule\"}]"

/* Two nodes that were there from the start, and demo/web, which is ensured; the calls so
 * far are forgotten. */
static struct stand *web_is_fine(void)
{
    struct stand *r = stand_new(0);

    atomic_store(&r->watch.started, false);
    stand_node(r, "node1", NULL, NULL);
    stand_node(r, "node2", NULL, NULL);
    atomic_store(&r->watch.started, true);
    r->provider->exists = true;
    stand_service(r, "web", STAND_LB, STAND_WITH_F, STAND_STATUS("203.0.113.10"));
    stand_run(r);
    assert_string_equal("ensure demo/web", stand_story(r));
    assert_int_equal(0, stand_patches(r));
    fake_provider_forget(r->provider);
    return r;
}

static void matrix__row_3__every_other_type_is_cleaned_up(void **state)
{
    (void)state;
    static const char *const specs[] = {
        STAND_CLUSTER_IP,
        "\"type\":\"NodePort\",\"ports\":[{\"port\":80,\"protocol\":\"TCP\",\"nodePort\":30080}]",
        "\"type\":\"ExternalName\",\"externalName\":\"example.com\""};

    for (size_t i = 0; i < ARRAY_LEN(specs); i++) {
        struct stand *r = web_is_fine();
        stand_service(r, "web", specs[i], STAND_WITH_F, NULL);
        stand_run(r);
        assert_string_equal("get demo/web, delete demo/web", stand_story(r));
        assert_int_equal(1, stand_patches(r)); /* the server has emptied the status itself */
        assert_non_null(strstr(stand_patch(r, 0), "$deleteFromPrimitiveList/finalizers"));
        assert_int_equal(0, service_cache_count(r->syncer.cache));
        assert_string_equal("Normal EnsuringLoadBalancer Ensuring load balancer\n"
                            "Normal EnsuredLoadBalancer Ensured load balancer\n"
                            "Normal DeletingLoadBalancer Deleting load balancer\n"
                            "Normal DeletedLoadBalancer Deleted load balancer\n",
                            stand_events(r));
        stand_free(r);
    }
}

/* No controller was there to see it: what it had must be found by other means. */
static void matrix__row_7__gone_before_the_start__nothing_is_called(void **state)
{
    (void)state;
    struct stand *r = stand_new(0);

    stand_add(r, "web", TT_REASON_CLEANUP);
    stand_run(r);
    assert_string_equal("", stand_story(r));
    assert_int_equal(CLOCK_NEVER, queue_next_ms(r->syncer.queue));
    stand_free(r);
}

static void matrix__row_9__deleted_before_the_status_is_written__no_failure(void **state)
{
    (void)state;
    struct stand *r = stand_new(0);

    stand_refuse(r, "PATCH", "/status", 404, "NotFound", "services \"web\" not found");
    stand_service(r, "web", STAND_LB, STAND_WITH_F, NULL);
    stand_run(r);
    assert_string_equal("ensure demo/web", stand_story(r));
    assert_int_equal(0, queue_failures(r->syncer.queue, "demo/web"));
    assert_int_equal(1, service_cache_count(r->syncer.cache));
    stand_free(r);
}

/* A provider without TT_CAP_HOLDS_FINALIZERS: the controller put the finalizer there and
 * takes it back. */
static void matrix__row_12__implemented_elsewhere__its_deletion_lets_go_of_the_finalizer(
    void **state)
{
    (void)state;
    struct stand *r = stand_new(0);

    fake_provider_answer(r->provider, (struct fake_answer){TT_VERB_ENSURE, TT_IMPLEMENTED_ELSEWHERE,
                                                           "not mine", 0, false});
    fake_provider_answer(r->provider, (struct fake_answer){TT_VERB_DELETE, TT_IMPLEMENTED_ELSEWHERE,
                                                           "not mine", 0, false});
    stand_service(r, "web", STAND_LB, NULL, NULL);
    stand_run(r);
    assert_int_equal(1, stand_patches(r)); /* no status */
    r->provider->exists = true;
    stand_service(r, "web", STAND_LB, STAND_WITH_F "," STAND_DELETING, NULL);
    stand_run(r);
    assert_string_equal("ensure demo/web, get demo/web, delete demo/web", stand_story(r));
    assert_int_equal(2, stand_patches(r));
    assert_non_null(strstr(stand_patch(r, 1), "$deleteFromPrimitiveList/finalizers"));
    assert_int_equal(0, service_cache_count(r->syncer.cache));
    stand_free(r);
}

static void matrix__row_15__status_edited_by_hand__waits_for_the_next_cause(void **state)
{
    (void)state;
    struct stand *r = web_is_fine();

    r->provider->ip = "203.0.113.10";
    stand_service(r, "web", STAND_LB, STAND_WITH_F, NULL);
    assert_int_equal(0, stand_run(r));
    stand_service(r, "web", STAND_LB, STAND_WITH_F "," ANNOTATED, NULL);
    stand_run(r);
    assert_string_equal("ensure demo/web", stand_story(r));
    assert_non_null(strstr(stand_patch(r, 0), "203.0.113.10"));
    stand_free(r);
}

static void matrix__row_16__any_annotation__ensured(void **state)
{
    (void)state;
    struct stand *r = web_is_fine();

    stand_service(r, "web", STAND_LB, STAND_WITH_F "," ANNOTATED, STAND_STATUS("203.0.113.10"));
    stand_run(r);
    assert_string_equal("ensure demo/web", stand_story(r));
    assert_int_equal(0, stand_patches(r));
    stand_free(r);
}

static void matrix__row_17__node_not_ready__no_pass(void **state)
{
    (void)state;
    struct stand *r = web_is_fine();
    static const char *const words[] = {"False", "Unknown", "True"};

    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        stand_node_ready(r, "node2", words[i]);
        assert_true(node_fanout_is_idle(r->watch.fanout));
    }
    stand_nodes_changed(r); /* and if one came, nothing would be called: vectors 73 and 75 */
    assert_string_equal("", stand_story(r));
    stand_free(r);
}

/* Upstream: only by the next sync for another cause (docs/deviations.md, §1.15). */
static void matrix__row_18__autoscaler_taint__left_out_at_once(void **state)
{
    (void)state;
    struct stand *r = web_is_fine();

    stand_node(r, "node2", TAINT, NULL);
    assert_false(node_fanout_is_idle(r->watch.fanout));
    stand_nodes_changed(r);
    assert_string_equal("update demo/web", stand_story(r));
    assert_string_equal("node1", fake_provider_call(r->provider, TT_VERB_UPDATE, 0).nodes);
    stand_free(r);
}

static void matrix__a_node_comes_or_goes__a_pass_is_due(void **state)
{
    (void)state;
    struct stand *r = web_is_fine();
    struct stand *q = web_is_fine();

    stand_node(r, "node3", NULL, NULL);
    assert_false(node_fanout_is_idle(r->watch.fanout));
    stand_node_gone(q, "node2");
    assert_false(node_fanout_is_idle(q->watch.fanout));
    stand_free(r);
    stand_free(q);
}

/* Vectors 100 and 101, after one another. */
static void matrix__vectors_100_and_101__failures_are_counted_until_one_is_fine(void **state)
{
    (void)state;
    struct stand *r = stand_new(0);

    for (int i = 0; i < 2; i++) {
        fake_provider_answer(r->provider, (struct fake_answer){TT_VERB_ENSURE, TT_TRANSIENT,
                                                               "something went wrong", 0, false});
    }
    stand_service(r, "web", STAND_LB, STAND_WITH_F, NULL);
    stand_run(r);
    assert_int_equal(1, queue_failures(r->syncer.queue, "demo/web"));
    assert_int_equal(1, stand_advance(r, 5000));
    assert_int_equal(2, queue_failures(r->syncer.queue, "demo/web"));
    assert_int_equal(0, stand_advance(r, 9999));
    assert_int_equal(1, stand_advance(r, 1));
    assert_int_equal(0, queue_failures(r->syncer.queue, "demo/web"));
    assert_int_equal(CLOCK_NEVER, queue_next_ms(r->syncer.queue));
    stand_free(r);
}

UNIT_MAIN(sync_matrix)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrix__row_3__every_other_type_is_cleaned_up),
        cmocka_unit_test(matrix__row_7__gone_before_the_start__nothing_is_called),
        cmocka_unit_test(matrix__row_9__deleted_before_the_status_is_written__no_failure),
        cmocka_unit_test(
            matrix__row_12__implemented_elsewhere__its_deletion_lets_go_of_the_finalizer),
        cmocka_unit_test(matrix__row_15__status_edited_by_hand__waits_for_the_next_cause),
        cmocka_unit_test(matrix__row_16__any_annotation__ensured),
        cmocka_unit_test(matrix__row_17__node_not_ready__no_pass),
        cmocka_unit_test(matrix__row_18__autoscaler_taint__left_out_at_once),
        cmocka_unit_test(matrix__a_node_comes_or_goes__a_pass_is_due),
        cmocka_unit_test(matrix__vectors_100_and_101__failures_are_counted_until_one_is_fine),
    };
    return cmocka_run_group_tests_name("controller-sync-matrix", tests, NULL, NULL);
}
