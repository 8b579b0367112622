/* SPDX-License-Identifier: Apache-2.0 */
/* test_driver_retreat.c: what was added for a Service that fails later in its sync goes again.
 *
 * "main/a" is made, "second/a" is refused, "main/a" goes in the stage "last".  See driver_fixture.h
 * for how to read the traces. */
#include "tests/unit/lb/driver_fixture.h"

#include "tests/support/unit.h"

static struct fixture *two_stages(struct arena *a, const char *verbs, const char *retreats)
{
    struct fixture *f = fixture_new(a, verbs);
    f->n_stages = 2;
    f->retreats = retreats;
    return f;
}

static void reconcile__failed__what_was_added_goes_and_the_result_stays(void **state)
{
    struct fixture *f = two_stages(*state, "E", "a");
    f->trouble[0] = (struct trouble){"do second/a", ERR_THROTTLED, 1, NULL};
    f->status = 429;
    assert_code(fixture_drive(f, false), TT_THROTTLED);
    assert_string_equal(str_buf_text(&f->cloud), "");
    assert_string_equal(f->results[0].text, "throttled: thing second/a: the cloud says no");
    assert_int_equal(f->results[0].retry_after_ms, 7000);
    assert_non_null(strstr(str_buf_text(&f->trace), "observe last · plan last"));
    assert_non_null(strstr(str_buf_text(&f->trace), "a ended well"));
    fixture_done(f);
}

static void reconcile__all_is_well__no_stage_more(void **state)
{
    struct fixture *f = two_stages(*state, "E", "a");
    assert_code(fixture_drive(f, false), TT_OK);
    assert_string_equal(str_buf_text(&f->cloud), ";main/a;;second/a;");
    assert_null(strstr(str_buf_text(&f->trace), "last"));
    fixture_done(f);
}

static void reconcile__nothing_was_added__no_stage_more(void **state)
{
    struct fixture *f = two_stages(*state, "E", "b");
    f->trouble[0] = (struct trouble){"do second/a", ERR_INVALID, 1, NULL};
    assert_code(fixture_drive(f, false), TT_INVALID);
    assert_string_equal(str_buf_text(&f->cloud), ";main/a;");
    assert_null(strstr(str_buf_text(&f->trace), "last"));
    fixture_done(f);
}

/* A retreat observes what it needs for those that failed: the status of the others is of what the
 * stages have seen. */
static void reconcile__failed__others_have_their_status_before(void **state)
{
    struct fixture *f = two_stages(*state, "EE", "a");
    f->trouble[0] = (struct trouble){"do second/a", ERR_INVALID, 1, NULL};
    assert_code(fixture_drive(f, false), TT_INVALID);
    const char *told = strstr(str_buf_text(&f->trace), "status b");
    assert_non_null(told);
    assert_non_null(strstr(told, "observe last"));
    assert_null(strstr(told + 1, "status"));
    fixture_done(f);
}

/* Those that went well take no part, and are not harmed by a retreat that fails. */
static void reconcile__retreat_fails__told_and_the_others_are_well(void **state)
{
    struct fixture *f = two_stages(*state, "EEE", "ac");
    f->trouble[0] = (struct trouble){"do second/a", ERR_INVALID, 1, NULL};
    f->trouble[1] = (struct trouble){"do second/c", ERR_QUOTA, 1, NULL};
    f->trouble[2] = (struct trouble){"observe! last", ERR_TRANSIENT, 1, NULL};
    f->trouble[3] = (struct trouble){"observe last", ERR_TRANSIENT, 1, NULL};
    assert_code(fixture_drive(f, false), TT_INVALID);
    assert_string_equal(f->results[0].text,
                        "invalid: thing second/a: the cloud says no; what was added for it could "
                        "not be taken back: the list of last");
    assert_string_equal(f->results[1].text, "settled");
    assert_string_equal(f->results[2].text,
                        "quota: thing second/c: the cloud says no; what was added for it could not "
                        "be taken back: the list of last");
    assert_non_null(strstr(str_buf_text(&f->trace), "a ended badly · c ended badly"));
    fixture_done(f);
}

static void reconcile__one_retreats__the_others_stay(void **state)
{
    struct fixture *f = two_stages(*state, "EEE", "abc");
    f->trouble[0] = (struct trouble){"do second/b", ERR_INVALID, 1, NULL};
    assert_code(fixture_drive(f, false), TT_INVALID);
    assert_string_equal(str_buf_text(&f->cloud), ";main/a;;main/c;;second/a;;second/c;");
    assert_string_equal(f->results[0].text, "settled");
    assert_string_equal(f->results[2].text, "settled");
    fixture_done(f);
}

/* Too many conflicts are a result like any other. */
static void reconcile__conflicts__retreats_once_in_the_end(void **state)
{
    struct fixture *f = two_stages(*state, "E", "a");
    int naps = 0;
    f->trouble[0] = (struct trouble){"do second/a", ERR_CONFLICT, 5, NULL};
    assert_code(drive_with_moving_clock(f, &naps), TT_CONFLICT);
    assert_string_equal(str_buf_text(&f->cloud), "");
    fixture_done(f);
}

static void reconcile__cancelled__nothing_more_is_sent(void **state)
{
    struct fixture *f = two_stages(*state, "E", "a");
    f->stops_at = "second/a";
    assert_code(fixture_drive(f, false), TT_CANCELLED);
    assert_string_equal(str_buf_text(&f->cloud), ";main/a;");
    assert_null(strstr(str_buf_text(&f->trace), "last"));
    fixture_done(f);
}

static void plan__failed_or_not__is_no_part_of_it(void **state)
{
    struct fixture *f = two_stages(*state, "E", "a");
    f->invalid = "a";
    (void)fixture_drive(f, true);
    assert_null(strstr(str_buf_text(&f->trace), "last"));
    fixture_done(f);
}

static int group_setup(void **state)
{
    (void)state;
    return http_global_init(NULL);
}

UNIT_MAIN(driver_retreat)
{
    const struct CMUnitTest tests[] = {
        lb_test(reconcile__failed__what_was_added_goes_and_the_result_stays),
        lb_test(reconcile__failed__others_have_their_status_before),
        lb_test(reconcile__all_is_well__no_stage_more),
        lb_test(reconcile__nothing_was_added__no_stage_more),
        lb_test(reconcile__retreat_fails__told_and_the_others_are_well),
        lb_test(reconcile__one_retreats__the_others_stay),
        lb_test(reconcile__conflicts__retreats_once_in_the_end),
        lb_test(reconcile__cancelled__nothing_more_is_sent),
        lb_test(plan__failed_or_not__is_no_part_of_it),
    };
    return cmocka_run_group_tests_name("driver-retreat", tests, group_setup, NULL);
}
