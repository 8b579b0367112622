/* SPDX-License-Identifier: Apache-2.0 */
/* test_driver_undo.c: what was taken away for a replacement that is refused is put back.
 *
 * "old/a" must go before "main/a" can come.  See driver_fixture.h for how to read the traces. */
#include "tests/unit/lb/driver_fixture.h"

#include "tests/support/unit.h"

#define GONE                                                                                       \
    "facts · observe main · plan main · hold a · report 2 · do old/a · done old/a ok · do main/a"

static struct fixture *old_stands(struct arena *a, const char *verbs)
{
    struct fixture *f = fixture_new(a, verbs);
    f->replaces = true;
    str_append(&f->cloud, ";old/a;");
    return f;
}

static void reconcile__replacement_comes__nothing_is_put_back(void **state)
{
    struct fixture *f = old_stands(*state, "E");
    assert_code(fixture_drive(f, false), TT_OK);
    assert_trace(f, GONE " · done main/a ok · status a");
    assert_string_equal(str_buf_text(&f->cloud), ";main/a;");
    fixture_done(f);
}

/* Also while the cloud does not answer: until the next sync the former one serves. */
static void reconcile__replacement_refused__former_put_back_and_told(void **state)
{
    const struct {
        int code;
        int64_t retry_after_ms;
        int status;
    } rows[] = {
        {ERR_INVALID, 300000},        {ERR_FORBIDDEN, 300000},
        {ERR_QUOTA, 300000},          {ERR_IN_USE, 300000},
        {ERR_NOT_FOUND, 300000},      {ERR_TRANSIENT, 0},
        {ERR_THROTTLED, 7000},        {ERR_TRANSIENT, 0, 503},
        {ERR_TRANSIENT, 300000, 400}, /* for an unknown reason */
        {ERR_THROTTLED, 7000, 400},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct fixture *f = old_stands(*state, "E");
        f->trouble[0] = (struct trouble){"do main/a", rows[i].code, 1, NULL};
        f->status = rows[i].status;
        assert_code(fixture_drive(f, false), rows[i].code);
        assert_trace(f, arena_printf(f->a,
                                     GONE " · done main/a %s · report 1 · do old/a · done old/a ok",
                                     err_code_name(rows[i].code)));
        assert_string_equal(str_buf_text(&f->cloud), ";old/a;");
        assert_string_equal(
            f->results[0].text,
            arena_printf(f->a, "%s: thing main/a: the cloud says no; the former thing was put back",
                         err_code_name(rows[i].code)));
        assert_int_equal(f->results[0].retry_after_ms, rows[i].retry_after_ms);
        fixture_done(f);
    }
}

/* Conflicts are tried again while the debt stays; the new plans know nothing of the former. */
static void reconcile__conflicts__put_back_after_the_last_try(void **state)
{
    struct fixture *f = old_stands(*state, "E");
    int naps = 0;
    f->trouble[0] = (struct trouble){"do main/a", ERR_CONFLICT, 4, NULL};
    assert_code(drive_with_moving_clock(f, &naps), TT_OK);
    assert_string_equal(str_buf_text(&f->cloud), ";main/a;");
    fixture_done(f);
    f = old_stands(*state, "E");
    f->trouble[0] = (struct trouble){"do main/a", ERR_CONFLICT, 5, NULL};
    assert_code(drive_with_moving_clock(f, &naps), TT_CONFLICT);
    assert_string_equal(str_buf_text(&f->cloud), ";old/a;");
    assert_non_null(strstr(f->results[0].text, "; the former thing was put back"));
    fixture_done(f);
}

/* Plan data of a flow that frees its turns is gone by the next turn. */
static void reconcile__flow_forgets__debt_stays_through_conflicts(void **state)
{
    struct fixture *f = old_stands(*state, "E");
    int naps = 0;
    f->forgets = true;
    f->trouble[0] = (struct trouble){"do main/a", ERR_CONFLICT, 5, NULL};
    assert_code(drive_with_moving_clock(f, &naps), TT_CONFLICT);
    assert_string_equal(str_buf_text(&f->cloud), ";old/a;");
    assert_non_null(strstr(f->results[0].text, "; the former thing was put back"));
    fixture_done(f);
}

static void reconcile__put_back_refused__both_causes_told_and_soon_tried_again(void **state)
{
    struct fixture *f = old_stands(*state, "E");
    f->trouble[0] = (struct trouble){"do main/a", ERR_QUOTA, 1, NULL};
    f->trouble[1] = (struct trouble){"do old/a", ERR_OK, 1, NULL};
    f->trouble[2] = (struct trouble){"do old/a", ERR_FORBIDDEN, 1, NULL};
    assert_code(fixture_drive(f, false), TT_QUOTA);
    assert_string_equal(str_buf_text(&f->cloud), "");
    assert_string_equal(f->results[0].text,
                        "quota: thing main/a: the cloud says no; the former thing could not be put "
                        "back: thing old/a: the cloud says no");
    assert_int_equal(f->results[0].retry_after_ms, 0);
    fixture_done(f);
}

/* The removal itself is refused: nothing is owed. */
static void reconcile__removal_refused__nothing_to_put_back(void **state)
{
    struct fixture *f = old_stands(*state, "E");
    f->trouble[0] = (struct trouble){"do old/a", ERR_FORBIDDEN, 1, NULL};
    assert_code(fixture_drive(f, false), TT_FORBIDDEN);
    assert_trace(f, "facts · observe main · plan main · hold a · report 2 · do old/a · "
                    "done old/a forbidden");
    assert_string_equal(str_buf_text(&f->cloud), ";old/a;");
    fixture_done(f);
}

/* The deletion's answer was lost, and the next one says that nothing is there: it was ours. */
static void reconcile__removal_finds_nothing__owed_all_the_same(void **state)
{
    struct fixture *f = old_stands(*state, "E");
    f->trouble[0] = (struct trouble){"do old/a", ERR_NOT_FOUND, 1, NULL};
    f->trouble[1] = (struct trouble){"do main/a", ERR_QUOTA, 1, NULL};
    assert_code(fixture_drive(f, false), TT_QUOTA);
    assert_non_null(strstr(str_buf_text(&f->trace), "report 1 · do old/a · done old/a ok"));
    fixture_done(f);
}

static void reconcile__two_services__only_the_failed_one_gets_back(void **state)
{
    struct fixture *f = old_stands(*state, "EE");
    str_append(&f->cloud, ";old/b;");
    f->trouble[0] = (struct trouble){"do main/a", ERR_QUOTA, 1, NULL};
    assert_code(fixture_drive(f, false), TT_QUOTA);
    assert_string_equal(str_buf_text(&f->cloud), ";old/a;;main/b;");
    assert_string_equal(f->results[1].text, "settled");
    fixture_done(f);
}

/* Nothing may be sent any more; the next process finds what is held. */
static void reconcile__cancelled__nothing_is_put_back(void **state)
{
    struct fixture *f = old_stands(*state, "E");
    f->stops_at = "main/a";
    assert_code(fixture_drive(f, false), TT_CANCELLED);
    assert_trace(f, GONE " · done main/a cancelled");
    fixture_done(f);
}

/* A Service that is led back to what it asked for: what is missing is made, what stands is not
 * taken down for it. */
static void reconcile__led_back__nothing_that_stands_goes(void **state)
{
    struct fixture *f = old_stands(*state, "E");
    f->items[0].flags = TT_ITEM_FORMER;
    assert_code(fixture_drive(f, false), TT_IN_USE);
    assert_trace(f, "facts · observe main · plan main");
    assert_string_equal(str_buf_text(&f->cloud), ";old/a;");
    fixture_done(f);
    f = fixture_new(*state, "E");
    f->items[0].flags = TT_ITEM_FORMER;
    assert_code(fixture_drive(f, false), TT_OK);
    assert_string_equal(str_buf_text(&f->cloud), ";main/a;");
    fixture_done(f);
}

/* The replacement was refused a while ago: what works is not taken down for it, the rest is
 * done. */
static void reconcile__spared__nothing_that_works_goes(void **state)
{
    struct fixture *f = old_stands(*state, "E");
    f->items[0].flags = TT_ITEM_SPARE;
    assert_code(fixture_drive(f, false), TT_IN_USE);
    assert_trace(f, "facts · observe main · plan main");
    assert_string_equal(str_buf_text(&f->cloud), ";old/a;");
    assert_string_equal(f->results[0].text, "in-use: thing old/a stands, and is not taken down");
    fixture_done(f);
    f = fixture_new(*state, "E");
    f->items[0].flags = TT_ITEM_SPARE;
    assert_code(fixture_drive(f, false), TT_OK);
    assert_string_equal(str_buf_text(&f->cloud), ";main/a;");
    fixture_done(f);
}

static int group_setup(void **state)
{
    (void)state;
    return http_global_init(NULL);
}

UNIT_MAIN(driver_undo)
{
    const struct CMUnitTest tests[] = {
        lb_test(reconcile__replacement_comes__nothing_is_put_back),
        lb_test(reconcile__replacement_refused__former_put_back_and_told),
        lb_test(reconcile__conflicts__put_back_after_the_last_try),
        lb_test(reconcile__flow_forgets__debt_stays_through_conflicts),
        lb_test(reconcile__put_back_refused__both_causes_told_and_soon_tried_again),
        lb_test(reconcile__removal_refused__nothing_to_put_back),
        lb_test(reconcile__removal_finds_nothing__owed_all_the_same),
        lb_test(reconcile__two_services__only_the_failed_one_gets_back),
        lb_test(reconcile__cancelled__nothing_is_put_back),
        lb_test(reconcile__led_back__nothing_that_stands_goes),
        lb_test(reconcile__spared__nothing_that_works_goes),
    };
    return cmocka_run_group_tests_name("driver-undo", tests, group_setup, NULL);
}
