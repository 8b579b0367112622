/* SPDX-License-Identifier: Apache-2.0 */
/* test_driver.c: whole syncs of a fake provider, each shown as one line of what happened.
 *
 * See driver_fixture.h for how to read the traces. */
#include "tests/unit/lb/driver_fixture.h"

#include "tests/support/clock_fake.h"
#include "tests/support/test_server.h"
#include "tests/support/unit.h"

static void reconcile__new_service__observed_planned_held_done(void **state)
{
    struct fixture *f = fixture_new(*state, "E");
    f->with_finalizers = true;
    assert_code(fixture_drive(f, false), TT_OK);
    assert_trace(f, "facts · observe main · plan main · hold a +f · report 1 · do main/a · "
                    "done main/a ok · status a");
    assert_string_equal(f->results[0].text, "settled");
    assert_string_equal(str_buf_text(&f->cloud), ";main/a;");
    fixture_done(f);
}

static void reconcile__nothing_to_do__no_write_and_no_finalizer_call(void **state)
{
    struct fixture *f = fixture_new(*state, "E");
    f->with_finalizers = true;
    f->snapshot = true; /* what is old may say that all is well */
    str_append(&f->cloud, ";main/a;");
    assert_code(fixture_drive(f, false), TT_OK);
    assert_trace(f, "facts · observe main · plan main · report 0 · status a");
    fixture_done(f);
}

static void reconcile__healthy_but_finalizer_lost__held_again(void **state)
{
    const struct {
        const char *verbs;
        uint32_t n_finalizers; /* of { cleanup, f } */
        const char *trace;
    } rows[] = {
        {"E", 0, "facts · observe main · plan main · hold a +f · report 0 · status a"},
        {"E", 1, "facts · observe main · plan main · hold a +f · report 0 · status a"},
        {"E", 2, "facts · observe main · plan main · report 0 · status a"},
        {"U", 0, "facts · observe main · plan main · report 0 · status a"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct fixture *f = fixture_new(*state, rows[i].verbs);
        f->with_finalizers = true;
        f->services[0].n_finalizers = rows[i].n_finalizers;
        str_append(&f->cloud, ";main/a;");
        assert_code(fixture_drive(f, false), TT_OK);
        assert_trace(f, rows[i].trace);
        fixture_done(f);
    }
}

static void reconcile__deletion__no_finalizer_is_added(void **state)
{
    struct fixture *f = fixture_new(*state, "D");
    f->services[0].n_finalizers = 0;
    str_append(&f->cloud, ";main/a;");
    assert_code(fixture_drive(f, false), TT_OK);
    assert_trace(f, "facts · observe main · plan main · report 1 · do main/a · done main/a ok · "
                    "status a");
    assert_string_equal(str_buf_text(&f->cloud), "");
    fixture_done(f);
}

static void reconcile__snapshot_says_change__observed_again_before_writing(void **state)
{
    struct fixture *f = fixture_new(*state, "U");
    f->snapshot = true;
    assert_code(fixture_drive(f, false), TT_OK);
    assert_trace(f, "facts · observe main · plan main · observe! main · plan main · hold a · "
                    "report 1 · do main/a · done main/a ok · status a");
    fixture_done(f);
}

static void reconcile__snapshot_says_refusal__observed_again_before_it_is_one(void **state)
{
    struct fixture *f = fixture_new(*state, "U");
    f->snapshot = f->only_from_memory = true;
    f->invalid = "a";
    assert_code(fixture_drive(f, false), TT_OK);
    assert_trace(f, "facts · observe main · plan main · observe! main · plan main · hold a · "
                    "report 1 · do main/a · done main/a ok · status a");
    fixture_done(f);
    f = fixture_new(*state, "U");
    f->snapshot = true;
    f->invalid = "a";
    assert_code(fixture_drive(f, false), TT_INVALID);
    assert_trace(f, "facts · observe main · plan main · observe! main · plan main");
    fixture_done(f);
}

static void reconcile__observe_never_fresh__bug_and_nothing_written(void **state)
{
    struct fixture *f = fixture_new(*state, "E");
    f->snapshot = f->stubborn = true;
    assert_code(fixture_drive(f, false), TT_BUG);
    assert_trace(f, "facts · observe main · plan main · observe! main · plan main");
    assert_string_equal(f->results[0].text,
                        "bug: flow fake observed from a snapshot although asked not to");
    fixture_done(f);
}

static void reconcile__two_stages__second_observes_for_itself(void **state)
{
    struct fixture *f = fixture_new(*state, "E");
    f->n_stages = 2;
    assert_code(fixture_drive(f, false), TT_OK);
    assert_trace(f, "facts · observe main · plan main · hold a · report 1 · do main/a · "
                    "done main/a ok · observe second · plan second · report 1 · do second/a · "
                    "done second/a ok · status a");
    fixture_done(f);
}

static void reconcile__stage_not_needed__passed_over(void **state)
{
    struct fixture *f = fixture_new(*state, "E");
    f->n_stages = 2;
    f->skips_main = true;
    assert_code(fixture_drive(f, false), TT_OK);
    assert_trace(f, "facts · observe second · plan second · hold a · report 1 · do second/a · "
                    "done second/a ok · status a");
    fixture_done(f);
}

static void reconcile__own_finalizers__cleanup_is_not_missed(void **state)
{
    static const char *const mine[] = {"f"};
    const struct {
        uint32_t own;
        bool old_host;
        const char *trace;
    } rows[] = {
        {TT_OWN_FINALIZERS, false, "facts · observe main · plan main · report 0 · status a"},
        {TT_OWN_EVENTS, false,
         "facts · observe main · plan main · hold a +f · report 0 · status a"},
        {TT_OWN_FINALIZERS, true,
         "facts · observe main · plan main · hold a +f · report 0 · status a"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct fixture *f = fixture_new(*state, "E");
        f->with_finalizers = true;
        f->own = rows[i].own;
        f->services[0].finalizers = mine;
        f->services[0].n_finalizers = 1;
        f->host.size = rows[i].old_host ? offsetof(struct tt_host, result_own) : f->host.size;
        str_append(&f->cloud, ";main/a;");
        assert_code(fixture_drive(f, false), TT_OK);
        assert_trace(f, rows[i].trace);
        assert_int_equal(f->results[0].own, rows[i].old_host ? 0 : rows[i].own);
        fixture_done(f);
    }
}

static void reconcile__own__said_of_those_that_fail_too(void **state)
{
    struct fixture *f = fixture_new(*state, "EE");
    f->own = TT_OWN_EVENTS;
    f->elsewhere = "a";
    f->invalid = "b";
    assert_code(fixture_drive(f, false), TT_IMPLEMENTED_ELSEWHERE);
    assert_int_equal(f->results[0].own, TT_OWN_EVENTS);
    assert_int_equal(f->results[1].own, TT_OWN_EVENTS);
    fixture_done(f);
}

static void reconcile__objects__of_those_that_went_well_and_before_their_status(void **state)
{
    struct fixture *f = fixture_new(*state, "EEEE");
    f->with_objects = true;
    f->elsewhere = "a";
    f->settled = "b";
    f->trouble[0] = (struct trouble){.where = "objects c", .code = ERR_TRANSIENT, .times = 1};
    assert_code(fixture_drive(f, false), TT_IMPLEMENTED_ELSEWHERE);
    const char *trace = str_buf_text(&f->trace);
    assert_true(str_has_suffix(trace, "objects c · objects d · status d"));
    assert_null(strstr(trace, "objects a"));
    assert_null(strstr(trace, "objects b"));
    assert_string_equal(f->results[2].text, "transient: the API server says no");
    assert_string_equal(f->results[3].text, "settled");
    fixture_done(f);
}

static void plan__objects__never(void **state)
{
    struct fixture *f = fixture_new(*state, "E");
    f->with_objects = true;
    assert_code(fixture_drive(f, true), TT_OK);
    assert_null(strstr(str_buf_text(&f->trace), "objects"));
    fixture_done(f);
}

/* Allocations of a turn are freed when the next one begins; a plan that is only printed keeps all
 * stages. */
static void reconcile__flow_forgets__each_turn_begins_with_nothing(void **state)
{
    struct fixture *f = fixture_new(*state, "E");
    f->n_stages = 2;
    f->forgets = true;
    f->snapshot = true;
    assert_code(fixture_drive(f, false), TT_OK);
    assert_trace(
        f,
        "facts · observe main · found 0 · takes 0 · first was main · plan main · observe! main · "
        "found 0 · takes 0 · first was main · plan main · hold a · report 1 · do main/a · "
        "done main/a ok · observe second · found 0 · takes 0 · first was main · plan second · "
        "observe! second · found 0 · takes 0 · first was main · plan second · report 1 · "
        "do second/a · done second/a ok · status a");
    fixture_done(f);
}

static void reconcile__first_stage_fails__second_not_begun(void **state)
{
    struct fixture *f = fixture_new(*state, "E");
    f->n_stages = 2;
    f->trouble[0] = (struct trouble){.where = "do main/a", .code = ERR_THROTTLED, .times = 1};
    assert_code(fixture_drive(f, false), TT_THROTTLED);
    assert_trace(f, "facts · observe main · plan main · hold a · report 1 · do main/a · "
                    "done main/a throttled");
    assert_string_equal(f->results[0].text, "throttled: thing main/a: the cloud says no");
    assert_string_equal(f->results[0].resource, "thing main/a");
    assert_int_equal(f->results[0].retry_after_ms, 7000);
    fixture_done(f);
}

/* ---- batches --------------------------------------------------------------------------------- */
static void reconcile__one_of_three_fails__others_planned_again(void **state)
{
    struct fixture *f = fixture_new(*state, "EDE");
    str_append(&f->cloud, ";main/b;");
    f->trouble[0] = (struct trouble){.where = "do main/c", .code = ERR_QUOTA, .times = 1};
    assert_code(fixture_drive(f, false), TT_QUOTA);
    assert_trace(f, "facts · observe main · plan main · hold a · hold c · report 3 · do main/a · "
                    "do main/b · do main/c · done main/a ok · done main/b ok · done main/c quota · "
                    "observe! main · plan main · report 0 · status a · status b");
    assert_string_equal(f->results[0].text, "settled");
    assert_string_equal(f->results[1].text, "settled");
    assert_string_equal(f->results[2].text, "quota: thing main/c: the cloud says no");
    fixture_done(f);
}

static void reconcile__shared_operation_fails_for_one__rest_done_without_it(void **state)
{
    struct fixture *f = fixture_new(*state, "EEE");
    f->shared = true;
    f->trouble[0] =
        (struct trouble){.where = "do main/abc", .code = ERR_INVALID, .times = 1, .culprit = "n/b"};
    assert_code(fixture_drive(f, false), TT_INVALID);
    assert_trace(f, "facts · observe main · plan main · hold a · hold b · hold c · report 1 · "
                    "do main/abc · done main/abc invalid · observe! main · plan main · report 1 · "
                    "do main/ac · done main/ac ok · status a · status c");
    assert_string_equal(f->results[1].text, "invalid: thing main/abc: the cloud says no");
    fixture_done(f);
}

static void reconcile__shared_operation_fails_for_strangers__everybody_stops(void **state)
{
    struct fixture *f = fixture_new(*state, "EE");
    f->shared = true;
    f->trouble[0] = (struct trouble){
        .where = "do main/ab", .code = ERR_FORBIDDEN, .times = 9, .culprit = "x/stranger"};
    assert_code(fixture_drive(f, false), TT_FORBIDDEN);
    assert_string_equal(f->results[0].text, "forbidden: thing main/ab: the cloud says no");
    assert_string_equal(f->results[1].text, "forbidden: thing main/ab: the cloud says no");
    fixture_done(f);
}

static void reconcile__nobody_knows_who_spoils_it__found_by_halves(void **state)
{
    struct fixture *f = fixture_new(*state, "EEEE");
    f->shared = true;
    f->poison = "c";
    assert_code(fixture_drive(f, false), TT_INVALID);
    assert_trace(f, "facts · observe main · plan main · hold a · hold b · hold c · hold d · "
                    "report 1 · do main/abcd · done main/abcd invalid · "
                    "observe! main · plan main · report 1 · do main/ab · done main/ab ok · "
                    "observe! main · plan main · report 1 · do main/cd · done main/cd invalid · "
                    "observe! main · plan main · report 1 · do main/c · done main/c invalid · "
                    "observe! main · plan main · report 0 · "
                    "observe! main · plan main · report 1 · do main/d · done main/d ok · "
                    "status a · status b · status d");
    assert_string_equal(f->results[0].text, "settled");
    assert_string_equal(f->results[2].text, "invalid: thing main/c: the cloud says no");
    assert_string_equal(f->results[3].text, "settled");
    fixture_done(f);
}

static void reconcile__items_that_leave_early__not_touched(void **state)
{
    struct fixture *f = fixture_new(*state, "EEEE");
    f->elsewhere = "a";
    f->invalid = "b";
    f->settled = "d";
    assert_code(fixture_drive(f, false), TT_IMPLEMENTED_ELSEWHERE);
    assert_trace(f, "facts · observe main · plan main · hold c · report 1 · do main/c · "
                    "done main/c ok · status c");
    assert_string_equal(f->results[0].text, "implemented-elsewhere: another controller's");
    assert_string_equal(f->results[1].text, "invalid: no such tier");
    assert_string_equal(f->results[2].text, "settled");
    assert_string_equal(f->results[3].text, "settled");
    fixture_done(f);
}

static void reconcile__finalizer_refused__nothing_changed_for_that_one(void **state)
{
    struct fixture *f = fixture_new(*state, "EE");
    f->hold_fails = "a";
    f->hold_code = TT_FORBIDDEN;
    assert_code(fixture_drive(f, false), TT_FORBIDDEN);
    assert_trace(f, "facts · observe main · plan main · hold a · hold b · observe! main · "
                    "plan main · report 1 · do main/b · done main/b ok · status b");
    assert_string_equal(f->results[0].text,
                        "forbidden: the finalizers could not be set, so nothing was changed");
    assert_string_equal(str_buf_text(&f->cloud), ";main/b;");
    fixture_done(f);
}

static void reconcile__permission_that_can_lack__event_for_the_owner(void **state)
{
    struct fixture *f = fixture_new(*state, "E");
    f->keeps_forbidden = true;
    f->trouble[0] = (struct trouble){.where = "do main/a", .code = ERR_FORBIDDEN, .times = 1};
    assert_code(fixture_drive(f, false), TT_OK);
    assert_trace(f, "facts · observe main · plan main · hold a · report 1 · do main/a · "
                    "event a Forbidden: do it by hand · done main/a forbidden · status a");
    fixture_done(f);
}

static void reconcile__reading_fails__nobody_is_served(void **state)
{
    const struct {
        const char *where;
        const char *text;
    } rows[] = {
        {"facts", "transient: facts say no"},
        {"observe main", "transient: the list of main"},
        {"plan main", "transient: the planner says no"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct fixture *f = fixture_new(*state, "EE");
        f->trouble[0] = (struct trouble){.where = rows[i].where, .code = ERR_TRANSIENT, .times = 1};
        assert_code(fixture_drive(f, false), TT_TRANSIENT);
        assert_string_equal(f->results[0].text, rows[i].text);
        assert_string_equal(f->results[1].text, rows[i].text);
        assert_string_equal(str_buf_text(&f->cloud), "");
        fixture_done(f);
    }
}

/* ---- conflicts ------------------------------------------------------------------------------- */
static void reconcile__conflicts__tried_five_times(void **state)
{
    const struct {
        int code, times;
        int32_t want;
        const char *result;
        int naps;
    } rows[] = {
        {ERR_CONFLICT, 1, TT_OK, "settled", 1},
        {ERR_EXISTS, 1, TT_OK, "settled", 1}, /* our own, whose answer was lost */
        {ERR_CONFLICT, 4, TT_OK, "settled", 4},
        {ERR_CONFLICT, 5, TT_CONFLICT, "conflict: thing main/a: the cloud says no", 4},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct fixture *f = fixture_new(*state, "E");
        f->trouble[0] =
            (struct trouble){.where = "do main/a", .code = rows[i].code, .times = rows[i].times};
        int naps;
        assert_code(drive_with_moving_clock(f, &naps), rows[i].want);
        assert_string_equal(f->results[0].text, rows[i].result);
        assert_int_equal(naps, rows[i].naps);
        assert_true(clock_now_ms(f->clock) < 1000 + 100 + 200 + 400 + 800); /* jitter, bounded */
        fixture_done(f);
    }
}

static void reconcile__conflict__observed_and_planned_again(void **state)
{
    struct fixture *f = fixture_new(*state, "EE");
    f->trouble[0] = (struct trouble){.where = "do main/a", .code = ERR_CONFLICT, .times = 1};
    int naps;
    assert_code(drive_with_moving_clock(f, &naps), TT_OK);
    assert_trace(f, "facts · observe main · plan main · hold a · hold b · report 2 · do main/a · "
                    "do main/b · done main/a conflict · done main/b ok · observe! main · "
                    "plan main · report 1 · do main/a · done main/a ok · status a · status b");
    fixture_done(f);
}

/* Waits until the driver backs off on the fake clock, which stands still, and then
 * ends the sync. */
struct ender {
    struct fixture *f;
    bool by_call; /* the call says that it is cancelled; else the provider is closed */
};

static void *ender_main(void *arg)
{
    const struct ender *e = arg;
    while (clock_fake_next_ms(e->f->clock) == CLOCK_NEVER) {
        (void)sched_yield();
    }
    if (e->by_call) {
        atomic_store(&e->f->call_cancelled, 1);
    } else {
        cancel_fire(e->f->cancel);
    }
    return NULL;
}

static void reconcile__cancelled_while_backing_off__ends_at_once(void **state)
{
    for (int by_call = 0; by_call < 2; by_call++) {
        struct fixture *f = fixture_new(*state, "E");
        f->trouble[0] = (struct trouble){.where = "do main/a", .code = ERR_CONFLICT, .times = 9};
        struct ender e = {f, by_call};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, ender_main, &e), 0);
        assert_code(fixture_drive(f, false), TT_CANCELLED);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_string_equal(f->results[0].text, "cancelled: stopped in stage main");
        assert_int_equal(clock_now_ms(f->clock), 1000);
        fixture_done(f);
    }
}

/* ---- ends from outside ----------------------------------------------------------------------- */
static void reconcile__over_before_it_began__nothing_asked_of_the_cloud(void **state)
{
    const struct {
        int32_t cancelled;
        int64_t deadline_ms, now_ms;
        int32_t code;
        const char *text;
    } rows[] = {
        {1, 0, 0, TT_CANCELLED, "cancelled: stopped in stage main"},
        {0, 20, 20, TT_TRANSIENT,
         "transient: the time for this sync is over: stopped in stage main"},
        {1, 20, 20, TT_CANCELLED, "cancelled: stopped in stage main"},
        {0, 20, 19, TT_OK, "settled"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct fixture *f = fixture_new(*state, "E");
        atomic_store(&f->call_cancelled, rows[i].cancelled);
        f->call.deadline_ms = rows[i].deadline_ms;
        f->now_ms = rows[i].now_ms;
        print_message("# row %zu\n", i);
        assert_code(fixture_drive(f, false), rows[i].code);
        assert_string_equal(f->results[0].text, rows[i].text);
        fixture_done(f);
    }
}

static void reconcile__fenced__mutation_not_sent(void **state)
{
    struct test_server *server = test_server_start(NULL);
    struct fixture *f = fixture_new(*state, "E");
    f->url = test_server_url(server, "/ok");
    f->fenced = true;
    assert_code(fixture_drive(f, false), TT_CANCELLED);
    assert_int_equal(test_server_requests(server), 0);
    fixture_done(f);
    f = fixture_new(*state, "E");
    f->url = test_server_url(server, "/ok");
    assert_code(fixture_drive(f, false), TT_OK);
    assert_int_equal(test_server_requests(server), 1);
    fixture_done(f);
    test_server_stop(server);
}

static void reconcile__empty_batch__ok(void **state)
{
    struct fixture *f = fixture_new(*state, "");
    assert_code(fixture_drive(f, false), TT_OK);
    assert_trace(f, "facts");
    fixture_done(f);
}

static void reconcile__provider_without_watch__has_one_for_the_call(void **state)
{
    struct fixture *f = fixture_new(*state, "E");
    call_watch_free(f->watch);
    f->watch = NULL;
    f->trouble[0] = (struct trouble){.where = "do main/a", .code = ERR_CONFLICT, .times = 9};
    struct ender e = {f, true};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, ender_main, &e), 0);
    assert_code(fixture_drive(f, false), TT_CANCELLED);
    assert_int_equal(pthread_join(thread, NULL), 0);
    fixture_done(f);
}

/* ---- planning only --------------------------------------------------------------------------- */
static void plan__two_stages__one_report_and_nothing_done(void **state)
{
    struct fixture *f = fixture_new(*state, "EDU");
    f->n_stages = 2;
    f->snapshot = true; /* a plan may rest on it */
    str_append(&f->cloud, ";main/b;");
    assert_code(fixture_drive(f, true), TT_OK);
    assert_trace(f, "facts · observe main · plan main · observe second · plan second · report 5");
    assert_string_equal(str_buf_text(&f->cloud), ";main/b;");
    fixture_done(f);
}

static void plan__some_cannot_be_planned__said_in_the_plan(void **state)
{
    struct fixture *f = fixture_new(*state, "EE");
    f->invalid = "b";
    assert_code(fixture_drive(f, true), TT_INVALID);
    assert_trace(f, "facts · observe main · plan main · report 1 · unplanned b");
    assert_string_equal(f->results[1].text, "invalid: no such tier");
    fixture_done(f);
}

static void plan__observing_fails__said_for_everybody(void **state)
{
    struct fixture *f = fixture_new(*state, "E");
    f->n_stages = 2;
    f->trouble[0] = (struct trouble){.where = "observe main", .code = ERR_AUTH, .times = 1};
    assert_code(fixture_drive(f, true), TT_AUTH);
    assert_trace(f, "facts · observe main · report 0 · unplanned a");
    fixture_done(f);
}

/* Several Services: who is through has not failed because another one's time is over. */
static void reconcile__stopped_while_one_is_through__that_one_is_done(void **state)
{
    struct fixture *f = fixture_new(*state, "UU");
    f->stops_at = "main/b";
    assert_code(fixture_drive(f, false), TT_CANCELLED);
    assert_string_equal(f->results[0].text, "settled");
    assert_non_null(strstr(f->results[1].text, "cancelled: "));
    fixture_done(f);
}

static int group_setup(void **state)
{
    (void)state;
    return http_global_init(NULL);
}

UNIT_MAIN(driver)
{
    const struct CMUnitTest tests[] = {
        lb_test(reconcile__new_service__observed_planned_held_done),
        lb_test(reconcile__nothing_to_do__no_write_and_no_finalizer_call),
        lb_test(reconcile__healthy_but_finalizer_lost__held_again),
        lb_test(reconcile__deletion__no_finalizer_is_added),
        lb_test(reconcile__snapshot_says_change__observed_again_before_writing),
        lb_test(reconcile__snapshot_says_refusal__observed_again_before_it_is_one),
        lb_test(reconcile__observe_never_fresh__bug_and_nothing_written),
        lb_test(reconcile__two_stages__second_observes_for_itself),
        lb_test(reconcile__own_finalizers__cleanup_is_not_missed),
        lb_test(reconcile__own__said_of_those_that_fail_too),
        lb_test(reconcile__objects__of_those_that_went_well_and_before_their_status),
        lb_test(plan__objects__never),
        lb_test(reconcile__stage_not_needed__passed_over),
        lb_test(reconcile__flow_forgets__each_turn_begins_with_nothing),
        lb_test(reconcile__first_stage_fails__second_not_begun),
        lb_test(reconcile__one_of_three_fails__others_planned_again),
        lb_test(reconcile__shared_operation_fails_for_one__rest_done_without_it),
        lb_test(reconcile__shared_operation_fails_for_strangers__everybody_stops),
        lb_test(reconcile__nobody_knows_who_spoils_it__found_by_halves),
        lb_test(reconcile__items_that_leave_early__not_touched),
        lb_test(reconcile__finalizer_refused__nothing_changed_for_that_one),
        lb_test(reconcile__permission_that_can_lack__event_for_the_owner),
        lb_test(reconcile__reading_fails__nobody_is_served),
        lb_test(reconcile__conflicts__tried_five_times),
        lb_test(reconcile__conflict__observed_and_planned_again),
        lb_test(reconcile__cancelled_while_backing_off__ends_at_once),
        lb_test(reconcile__over_before_it_began__nothing_asked_of_the_cloud),
        lb_test(reconcile__fenced__mutation_not_sent),
        lb_test(reconcile__empty_batch__ok),
        lb_test(reconcile__provider_without_watch__has_one_for_the_call),
        lb_test(plan__two_stages__one_report_and_nothing_done),
        lb_test(plan__some_cannot_be_planned__said_in_the_plan),
        lb_test(plan__observing_fails__said_for_everybody),
        lb_test(reconcile__stopped_while_one_is_through__that_one_is_done),
    };
    return cmocka_run_group_tests_name("driver", tests, group_setup, NULL);
}
