/* SPDX-License-Identifier: Apache-2.0 */
/* test_sync_faults.c: answers of a provider that are no answers, waits that do not end, and what
 * validate() refuses: what they come to for the Service, its owner and the queue. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "common/base/arena.h"
#include "controller/queue/queue_rules.h"
#include "controller/sync/board.h"
#include "tests/support/unit.h"
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

/* No failure, no matter how often it is asked; told when it takes too long, and once. */
static void sync__in_progress__no_warning_but_for_a_long_wait(void **state)
{
    struct stand *r = *state;
    struct board_view v;

    r->syncer.board = board_new(r->clock);
    for (int i = 0; i < 63; i++) {
        fake_provider_answer(r->provider, (struct fake_answer){TT_VERB_ENSURE, TT_IN_PROGRESS,
                                                               "being made", 10000, false});
    }
    stand_service(r, "web", STAND_LB, STAND_WITH_F, NULL);
    stand_run(r);
    for (int i = 0; i < 59; i++) {
        stand_advance(r, 10000);
    }
    board_look(r->syncer.board, r->a, &v);
    assert_int_equal(BOARD_SYNCING, v.rows[0].state);
    assert_int_equal(0, v.rows[0].failures);
    assert_string_equal("being made", v.rows[0].message);
    for (int i = 0; i < 3; i++) {
        stand_advance(r, 10000);
    }
    board_look(r->syncer.board, r->a, &v);
    assert_int_equal(BOARD_RETRYING, v.rows[0].state);
    assert_int_equal(63, fake_provider_count(r->provider, TT_VERB_ENSURE));
    stand_advance(r, 10000);
    board_look(r->syncer.board, r->a, &v);
    assert_int_equal(BOARD_READY, v.rows[0].state);
    assert_string_equal("Normal EnsuringLoadBalancer Ensuring load balancer\n"
                        "Warning SyncLoadBalancerFailed Error syncing load balancer: being made\n"
                        "Normal EnsuredLoadBalancer Ensured load balancer\n",
                        stand_events(r));
    board_free(STEAL(r->syncer.board));
}

/* An answer that the API server would refuse, again and again, is a final error of the Service. */
static void sync__address_that_is_none__told_and_not_tried_fast(void **state)
{
    struct stand *r = *state;

    r->provider->ip = "999.1.1.1";
    stand_service(r, "web", STAND_LB, STAND_WITH_F, STAND_STATUS("192.0.2.7"));
    stand_run(r);
    assert_int_equal(clock_now_ms(r->clock) + QUEUE_RETRY_MAX_MS, queue_next_ms(r->syncer.queue));
    assert_int_equal(0, stand_patches(r)); /* what stood there stays */
    assert_non_null(strstr(stand_events(r), "the provider handed over an ingress ip that is not an "
                                            "IP address: \"999.1.1.1\"\n"));
}

static void refuse_spec(void *arg, struct fake_provider *p, const struct tt_call *call,
                        const struct tt_item *item)
{
    (void)arg;
    (void)p;
    (void)call;
    (void)item;
    fail_msg("a Service that validate() refuses was handed over");
}

static const struct tt_host *validating; /* of the stand */
static int32_t validate_code;

static int32_t validate(void *provider, const struct tt_item *item)
{
    (void)provider;
    if (validate_code != TT_OK) {
        validating->result_fail(item->result, validate_code, "no port of that kind", 0);
    }
    return validate_code;
}

/* Neither made, nor taken down when it stands. */
static void sync__validate_refuses__nothing_is_made_or_taken_down(void **state)
{
    struct stand *r = *state;

    r->provider->desc.validate = validate;
    stand_describe(r);
    validating = host_table(r->host);
    validate_code = TT_OK;
    stand_service(r, "stands", STAND_LB, STAND_WITH_F, NULL);
    stand_run(r);
    assert_string_equal("ensure demo/stands", stand_story(r));
    validate_code = TT_INVALID;
    r->provider->during = refuse_spec;
    stand_service(r, "web", STAND_LB, NULL, NULL);
    stand_service(r, "stands", STAND_LB ",\"loadBalancerIP\":\"192.0.2.3\"", STAND_WITH_F, NULL);
    size_t patches = stand_patches(r);
    stand_run(r);
    assert_int_equal(patches, stand_patches(r)); /* no finalizer either */
    r->provider->during = NULL;
    fake_provider_forget(r->provider);
    stand_node(r, "new", NULL, NULL); /* what stands follows its nodes */
    (void)stand_nodes_changed(r);
    assert_non_null(strstr(stand_story(r), "update demo/stands"));
    validate_code = TT_IMPLEMENTED_ELSEWHERE;
    stand_service(r, "other", STAND_LB, NULL, NULL);
    stand_run(r);
    assert_null(strstr(stand_story(r), "ensure"));
    const char *events = stand_events(r);
    assert_non_null(strstr(events, "Warning SyncLoadBalancerFailed Error syncing load balancer: "
                                   "failed to ensure load balancer: no port of that kind\n"));
    assert_null(strstr(events, "Deleting"));
}

static void sync__retry_never__is_cut_to_an_hour(void **state)
{
    struct stand *r = *state;

    fake_provider_answer(
        r->provider, (struct fake_answer){TT_VERB_ENSURE, TT_THROTTLED, "later", INT64_MAX, false});
    stand_service(r, "web", STAND_LB, STAND_WITH_F, NULL);
    stand_run(r);
    assert_int_equal(clock_now_ms(r->clock) + QUEUE_RETRY_ASKED_MAX_MS,
                     queue_next_ms(r->syncer.queue));
    r->provider->again_ms = INT64_MAX;
    (void)stand_advance(r, QUEUE_RETRY_ASKED_MAX_MS);
    assert_int_equal(clock_now_ms(r->clock) + QUEUE_AGAIN_MAX_MS, queue_next_ms(r->syncer.queue));
}

UNIT_MAIN(sync_faults)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(sync__in_progress__no_warning_but_for_a_long_wait),
        T(sync__address_that_is_none__told_and_not_tried_fast),
        T(sync__validate_refuses__nothing_is_made_or_taken_down),
        T(sync__retry_never__is_cut_to_an_hour),
    };
    return cmocka_run_group_tests_name("controller-sync-faults", tests, NULL, NULL);
}
