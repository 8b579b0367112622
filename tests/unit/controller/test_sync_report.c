/* SPDX-License-Identifier: Apache-2.0 */
/* test_sync_report.c: condition and annotations on a Service: written with what is written anyway,
 * not at all when nothing changed, never a cause to sync, and gone with the load balancer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "common/base/arena.h"
#include "tests/support/unit.h"
#include "tests/unit/controller/stand.h"

#define READY(since, generation)                                                                   \
    "\"conditions\":[{\"type\":\"trimtab.io/LoadBalancerReady\",\"status\":\"True\",\"reason\":"   \
    "\"Ready\",\"message\":\"The load balancer is as the Service "                                 \
    "asks\",\"lastTransitionTime\":\"" since "\",\"observedGeneration\":" generation "}]"
#define SOME_TIME "2026-01-01T00:00:00Z"
#define HEALTHY   STAND_STATUS("203.0.113.10") "," READY(SOME_TIME, "3")
#define WITH_F_3  STAND_WITH_F ",\"generation\":3"
#define CAPS      (TT_CAP_HOLDS_FINALIZERS | TT_CAP_REPORTS_PLANS)

static struct stand *stand_with(bool conditions, bool annotations)
{
    struct stand *r = stand_new(CAPS);

    r->syncer.conditions = conditions;
    r->syncer.annotations = annotations;
    r->provider->ip = "203.0.113.10";
    r->provider->plan_operations = 0;
    stand_node(r, "node-0", NULL, NULL);
    return r;
}

/* The condition in a patch, or NULL. */
static struct json_object *condition_in(struct stand *r, size_t nth)
{
    struct json_object *o = NULL;
    const char *body = stand_patch(r, nth);

    assert_int_equal(ERR_OK, json_parse_arena(r->a, body, strlen(body), NULL, &o, NULL));
    struct json_object *list = json_path(o, "status.conditions");
    return json_len(list) == 1 ? json_object_array_get_idx(list, 0) : NULL;
}

static void ensure__new_service__condition_in_the_patch_of_the_status(void **state)
{
    struct stand *r = stand_with(true, true);
    (void)state;

    r->provider->plan_operations = 2;
    stand_service(r, "web", STAND_LB, "\"generation\":1", NULL);
    stand_add(r, "web", TT_REASON_SPEC);
    stand_run(r);

    assert_int_equal(2, stand_patches(r)); /* finalizer, status: as without the flags */
    struct json_object *c = condition_in(r, 1);
    assert_non_null(c);
    assert_string_equal("True", json_str(c, "status"));
    assert_string_equal("Ready", json_str(c, "reason"));
    assert_int_equal(1, json_int(c, "observedGeneration", 0));
    const char *body = stand_patch(r, 1);
    assert_non_null(strstr(body, "\"ingress\":[{"));
    assert_non_null(strstr(body, "\"trimtab.io/last-plan\":\"at "));
    assert_null(strstr(body, "last-error"));
    assert_non_null(strstr(stand_patch_request(r, 1)->path, "/web/status"));
    stand_free(r);
}

static void ensure__flags_off__nothing_of_it(void **state)
{
    struct stand *r = stand_with(false, false);
    (void)state;

    r->provider->plan_operations = 2;
    stand_service(r, "web", STAND_LB, NULL, NULL);
    stand_add(r, "web", TT_REASON_SPEC);
    stand_run(r);
    assert_int_equal(2, stand_patches(r));
    assert_null(strstr(stand_patch(r, 1), "trimtab.io/last"));
    assert_null(strstr(stand_patch(r, 1), "conditions"));
    stand_free(r);
}

static void ensure__healthy__writes_nothing(void **state)
{
    struct stand *r = stand_with(true, true);
    (void)state;

    stand_service(r, "web", STAND_LB, WITH_F_3, HEALTHY);
    stand_add(r, "web", TT_REASON_RESYNC);
    stand_run(r);
    assert_string_equal("ensure demo/web", stand_story(r));
    assert_int_equal(0, stand_patches(r));
    stand_free(r);
}

static void ensure__new_generation__keeps_the_moment_of_transition(void **state)
{
    struct stand *r = stand_with(true, false);
    (void)state;

    stand_service(r, "web", STAND_LB, STAND_WITH_F ",\"generation\":4", HEALTHY);
    stand_add(r, "web", TT_REASON_SPEC);
    stand_run(r);
    assert_int_equal(1, stand_patches(r));
    struct json_object *c = condition_in(r, 0);
    assert_non_null(c);
    assert_int_equal(4, json_int(c, "observedGeneration", 0));
    assert_string_equal(SOME_TIME, json_str(c, "lastTransitionTime"));
    stand_free(r);
}

static void ensure__fails_again__one_write_until_the_message_changes(void **state)
{
    struct stand *r = stand_with(true, false);
    (void)state;

    fake_provider_answer(r->provider, (struct fake_answer){.verb = TT_VERB_ENSURE,
                                                           .code = TT_QUOTA,
                                                           .message = "no more addresses"});
    stand_service(r, "web", STAND_LB, WITH_F_3, HEALTHY);
    stand_add(r, "web", TT_REASON_RESYNC);
    stand_run(r);
    assert_int_equal(1, stand_patches(r));
    struct json_object *c = condition_in(r, 0);
    assert_non_null(c);
    assert_string_equal("False", json_str(c, "status"));
    assert_string_equal("QuotaExceeded", json_str(c, "reason"));
    assert_string_equal(
        "Error syncing load balancer: failed to ensure load balancer: no more addresses",
        json_str(c, "message"));
    assert_string_not_equal(SOME_TIME, json_str(c, "lastTransitionTime"));

    /* the server's answer comes back, and the next try fails alike */
    const char *said = json_text(r->a, c, JSON_COMPACT);
    stand_service(r, "web", STAND_LB, WITH_F_3,
                  arena_printf(r->a, STAND_STATUS("203.0.113.10") ",\"conditions\":[%s]", said));
    fake_provider_answer(r->provider, (struct fake_answer){.verb = TT_VERB_ENSURE,
                                                           .code = TT_QUOTA,
                                                           .message = "no more addresses"});
    stand_advance(r, 5000);
    assert_int_equal(2, fake_provider_count(r->provider, TT_VERB_ENSURE));
    assert_int_equal(1, stand_patches(r));

    stand_advance(r, 10000); /* and then it goes well */
    assert_int_equal(3, fake_provider_count(r->provider, TT_VERB_ENSURE));
    assert_int_equal(2, stand_patches(r));
    assert_string_equal("True", json_str(condition_in(r, 1), "status"));
    stand_free(r);
}

/* The next try begins before the watch has shown what the failure wrote. */
static void ensure__good_before_its_failure_is_seen__written_all_the_same(void **state)
{
    struct stand *r = stand_with(true, true);
    (void)state;

    fake_provider_answer(r->provider, (struct fake_answer){.verb = TT_VERB_ENSURE,
                                                           .code = TT_QUOTA,
                                                           .message = "no more addresses"});
    stand_service(r, "web", STAND_LB, WITH_F_3, HEALTHY);
    stand_add(r, "web", TT_REASON_RESYNC);
    stand_run(r);
    assert_int_equal(1, stand_patches(r));
    assert_string_equal("False", json_str(condition_in(r, 0), "status"));

    stand_advance(r, 5000);
    assert_int_equal(2, stand_patches(r));
    assert_string_equal("True", json_str(condition_in(r, 1), "status"));
    assert_non_null(strstr(stand_patch(r, 1), "\"trimtab.io/last-error\":null"));

    stand_add(r, "web", TT_REASON_RESYNC);
    stand_run(r);
    assert_int_equal(2, stand_patches(r)); /* once is enough */
    stand_free(r);
}

static void ensure__fails__annotation_names_the_next_try(void **state)
{
    struct stand *r = stand_with(false, true);
    (void)state;

    fake_provider_answer(
        r->provider,
        (struct fake_answer){.verb = TT_VERB_ENSURE, .code = TT_FORBIDDEN, .message = "may not"});
    stand_service(r, "web", STAND_LB, WITH_F_3, NULL);
    stand_add(r, "web", TT_REASON_RESYNC);
    stand_run(r);
    assert_int_equal(1, stand_patches(r));
    const char *body = stand_patch(r, 0);
    assert_non_null(strstr(body, "\"trimtab.io/last-error\":\"since "));
    assert_non_null(strstr(body, ", next try "));
    assert_non_null(strstr(body, "may not"));

    stand_service(r, "web", STAND_LB,
                  WITH_F_3 ",\"annotations\":{\"trimtab.io/last-error\":\"since x\"}", NULL);
    assert_false(queue_counts(r->syncer.queue).waiting >
                 0); /* our own writing is no cause to sync */
    stand_advance(r, 5000);
    assert_int_equal(2, stand_patches(r));
    assert_non_null(strstr(stand_patch(r, 1), "\"trimtab.io/last-error\":null"));
    stand_free(r);
}

static void ensure__waiting_for_the_cloud__is_no_error(void **state)
{
    struct stand *r = stand_with(true, true);
    (void)state;

    fake_provider_answer(r->provider, (struct fake_answer){.verb = TT_VERB_ENSURE,
                                                           .code = TT_IN_PROGRESS,
                                                           .message = "still being made",
                                                           .retry_after_ms = 9000});
    stand_service(r, "web", STAND_LB, WITH_F_3, NULL);
    stand_add(r, "web", TT_REASON_RESYNC);
    stand_run(r);
    assert_int_equal(1, stand_patches(r));
    assert_string_equal("Unknown", json_str(condition_in(r, 0), "status"));
    assert_string_equal("Provisioning", json_str(condition_in(r, 0), "reason"));
    assert_null(strstr(stand_patch(r, 0), "last-error"));
    stand_free(r);
}

static void ensure__unwritable_status__is_not_written_a_second_time(void **state)
{
    struct stand *r = stand_with(true, true);
    (void)state;

    stand_refuse(r, "PATCH", "/web/status", 500, "InternalError", "no");
    stand_service(r, "web", STAND_LB, WITH_F_3, NULL);
    stand_add(r, "web", TT_REASON_RESYNC);
    stand_run(r);
    assert_int_equal(1, stand_patches(r));
    stand_free(r);
}

static void type_changed__reports_go_with_the_finalizer(void **state)
{
    struct stand *r = stand_with(false, false); /* even then */
    (void)state;

    r->provider->exists = true;
    stand_service(r, "web", STAND_CLUSTER_IP,
                  WITH_F_3 ",\"annotations\":{\"trimtab.io/last-plan\":\"x\",\"other\":\"y\"}",
                  HEALTHY);
    stand_add(r, "web", TT_REASON_CLEANUP);
    stand_run(r);
    assert_int_equal(2, stand_patches(r));
    const char *body = stand_patch(r, 0);
    assert_non_null(strstr(body, "$deleteFromPrimitiveList/finalizers"));
    assert_non_null(
        strstr(body, "{\"$patch\":\"delete\",\"type\":\"trimtab.io/LoadBalancerReady\"}"));
    assert_non_null(strstr(body, "\"trimtab.io/last-plan\":null"));
    assert_null(strstr(body, "last-error"));
    assert_null(strstr(body, "other"));
    stand_free(r);
}

static void nodes_changed__nothing_done__writes_nothing(void **state)
{
    struct stand *r = stand_with(true, true);
    (void)state;

    stand_service(r, "web", STAND_LB, WITH_F_3, HEALTHY);
    stand_add(r, "web", TT_REASON_RESYNC);
    stand_run(r);
    stand_node(r, "node-1", NULL, NULL);
    stand_nodes_changed(r);
    assert_int_equal(1, fake_provider_count(r->provider, TT_VERB_UPDATE));
    assert_int_equal(0, stand_patches(r));
    stand_free(r);
}

UNIT_MAIN(sync_report)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ensure__new_service__condition_in_the_patch_of_the_status),
        cmocka_unit_test(ensure__flags_off__nothing_of_it),
        cmocka_unit_test(ensure__healthy__writes_nothing),
        cmocka_unit_test(ensure__new_generation__keeps_the_moment_of_transition),
        cmocka_unit_test(ensure__fails_again__one_write_until_the_message_changes),
        cmocka_unit_test(ensure__good_before_its_failure_is_seen__written_all_the_same),
        cmocka_unit_test(ensure__fails__annotation_names_the_next_try),
        cmocka_unit_test(ensure__waiting_for_the_cloud__is_no_error),
        cmocka_unit_test(ensure__unwritable_status__is_not_written_a_second_time),
        cmocka_unit_test(type_changed__reports_go_with_the_finalizer),
        cmocka_unit_test(nodes_changed__nothing_done__writes_nothing),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
