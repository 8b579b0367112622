/* SPDX-License-Identifier: Apache-2.0 */
/* test_sync_again.c: Services that are checked again without a cause: after the re-sync period,
 * when the provider asks, or by another process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/unit.h"
#include "tests/unit/controller/stand.h"

static int set_up(void **state)
{
    struct stand *r = stand_new(TT_CAP_REPORTS_PLANS | TT_CAP_HOLDS_FINALIZERS);

    stand_node(r, "node-0", NULL, NULL);
    *state = r;
    return 0;
}

static int tear_down(void **state)
{
    stand_free(*state);
    return 0;
}

static void again__resync_period__ensured_again_later(void **state)
{
    struct stand *r = *state;

    r->syncer.resync_period_ms = 600000;
    r->provider->plan_operations = 0;
    stand_service(r, "web", STAND_LB, STAND_WITH_F, STAND_STATUS("203.0.113.10"));
    stand_run(r);
    int64_t due = queue_next_ms(r->syncer.queue) - clock_now_ms(r->clock);
    assert_in_range(due, 600000, 720000);
    assert_int_equal(1, stand_advance(r, due));
    assert_string_equal("ensure demo/web, ensure demo/web", stand_story(r));
    assert_int_equal(0, stand_patches(r));
}

/* Which of the two moments counts, and that what is said once does not count forever. */
static void again__result__ensured_again_then(void **state)
{
    static const struct {
        const char *name;
        int64_t resync_ms, again_ms;
        int64_t least_ms, most_ms;
    } rows[] = {
        {"the provider's alone", 0, 540000, 540000, 540000},
        {"earlier than the period", 600000, 60000, 60000, 60000},
        {"later than the period", 600000, 3600000, 600000, 720000},
        {"at once is not at once", 0, 1, 1000, 1000},
    };
    struct stand *r = *state;

    r->provider->plan_operations = 0;
    stand_service(r, "web", STAND_LB, STAND_WITH_F, STAND_STATUS("203.0.113.10"));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        r->syncer.resync_period_ms = rows[i].resync_ms;
        r->provider->again_ms = rows[i].again_ms;
        if (i == 0) {
            stand_run(r);
        } else { /* what was asked for with the row before brings it */
            stand_advance(r, queue_next_ms(r->syncer.queue) - clock_now_ms(r->clock));
        }
        assert_int_equal(i + 1, fake_provider_count(r->provider, TT_VERB_ENSURE));
        int64_t due = queue_next_ms(r->syncer.queue) - clock_now_ms(r->clock);
        if (due < rows[i].least_ms || due > rows[i].most_ms) {
            fail_msg("%s: due in %lld ms", rows[i].name, (long long)due);
        }
    }
    r->syncer.resync_period_ms = 0;
    r->provider->again_ms = 0;
    stand_advance(r, 1000);
    assert_int_equal(ARRAY_LEN(rows) + 1, fake_provider_count(r->provider, TT_VERB_ENSURE));
    assert_int_equal(CLOCK_NEVER, queue_next_ms(r->syncer.queue));
}

/* An update of backends that went well but left something for later: a target that the
 * cloud did not take. */
static void again__result_of_an_update__ensured_then(void **state)
{
    struct stand *r = *state;

    r->syncer.resync_period_ms = 600000;
    r->provider->plan_operations = 0;
    stand_service(r, "web", STAND_LB, STAND_WITH_F, STAND_STATUS("203.0.113.10"));
    stand_run(r);
    int64_t period = queue_next_ms(r->syncer.queue);
    stand_node(r, "node-1", NULL, NULL);
    stand_nodes_changed(r);
    assert_int_equal(1, fake_provider_count(r->provider, TT_VERB_UPDATE));
    assert_int_equal(period, queue_next_ms(r->syncer.queue)); /* it asked for nothing */
    r->provider->again_ms = 60000;
    stand_node(r, "node-2", NULL, NULL);
    stand_nodes_changed(r);
    assert_int_equal(2, fake_provider_count(r->provider, TT_VERB_UPDATE));
    assert_int_equal(60000, queue_next_ms(r->syncer.queue) - clock_now_ms(r->clock));
    r->provider->again_ms = 0;
    stand_advance(r, 60000);
    assert_string_equal("ensure demo/web, update demo/web, update demo/web, ensure demo/web",
                        stand_story(r));
}

/* After each restart addresses are announced again: thousands of Services had two events each. */
static void again__operations_of_each_process__no_event(void **state)
{
    struct stand *r = *state;

    r->provider->operation_flags = TT_OP_AGAIN;
    stand_service(r, "web", STAND_LB, STAND_WITH_F, STAND_STATUS("203.0.113.10"));
    stand_run(r);
    assert_string_equal("ensure demo/web", stand_story(r));
    assert_string_equal("", stand_events(r));
}

/* An address or a port that another one has had is free when that one was synced. */
static void again__in_use__ensured_when_a_sync_of_another_has_changed_something(void **state)
{
    struct stand *r = *state;
    const struct fake_answer in_use = {
        .verb = TT_VERB_ENSURE, .code = TT_IN_USE, .message = "is of Service demo/other"};

    r->provider->plan_operations = 0;
    fake_provider_answer(r->provider, in_use);
    fake_provider_answer(r->provider, in_use);
    stand_service(r, "web", STAND_LB, STAND_WITH_F, STAND_STATUS("203.0.113.10"));
    stand_run(r);
    stand_advance(r, 5000);
    assert_int_equal(10000, queue_next_ms(r->syncer.queue) - clock_now_ms(r->clock));
    stand_service(r, "idle", STAND_LB, STAND_WITH_F, STAND_STATUS("203.0.113.11"));
    stand_run(r);
    assert_int_equal(10000, queue_next_ms(r->syncer.queue) - clock_now_ms(r->clock));
    r->provider->plan_operations = 1;
    stand_service(r, "other", STAND_LB, STAND_WITH_F, STAND_STATUS("203.0.113.12"));
    stand_run(r);
    assert_int_equal(1000, queue_next_ms(r->syncer.queue) - clock_now_ms(r->clock));
    stand_advance(r, 1000);
    assert_string_equal("ensure demo/web, update demo/web, ensure demo/web, ensure demo/idle, "
                        "ensure demo/other, ensure demo/web",
                        stand_story(r));
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

UNIT_MAIN(sync_again)
{
    const struct CMUnitTest tests[] = {
        T(again__resync_period__ensured_again_later),
        T(again__result__ensured_again_then),
        T(again__result_of_an_update__ensured_then),
        T(again__in_use__ensured_when_a_sync_of_another_has_changed_something),
        T(again__operations_of_each_process__no_event),
    };
    return cmocka_run_group_tests_name("controller-sync-again", tests, NULL, NULL);
}
