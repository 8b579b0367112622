/* SPDX-License-Identifier: Apache-2.0 */
/* test_driver_serves.c: the host hears of addresses before a sync ends: where all that serves
 * stands and the rest only tidies, and where a stage takes away by what clients come in; and what
 * stays when the status cannot be written.
 *
 * See driver_fixture.h for how to read the traces. */
#include "tests/unit/lb/driver_fixture.h"

#include "tests/support/unit.h"

/* "main/a" comes, then "old/a" goes. */
static struct fixture *moving(struct arena *a, const char *verbs)
{
    struct fixture *f = fixture_new(a, verbs);
    f->with_serves = true;
    f->moves = true;
    str_append(&f->cloud, ";old/a;");
    return f;
}

static void serves__deletion_is_left__told_before_it(void **state)
{
    struct fixture *f = moving(*state, "E");
    assert_code(fixture_drive(f, false), TT_OK);
    assert_trace(f, "facts · observe main · plan main · hold a · report 2 · do main/a · serves a · "
                    "done main/a ok · do old/a · done old/a ok · status a");
    assert_int_equal(f->results[0].serves, 1);
    assert_string_equal(f->results[0].text, "settled");
    fixture_done(f);
}

/* Its failure is the sync's; the rest was reported to serve. */
static void serves__deletion_fails__told_all_the_same(void **state)
{
    struct fixture *f = moving(*state, "E");
    f->trouble[0] = (struct trouble){.where = "do old/a", .code = ERR_QUOTA, .times = 9};
    assert_code(fixture_drive(f, false), TT_QUOTA);
    assert_int_equal(f->results[0].serves, 1);
    assert_string_equal(f->results[0].text, "quota: thing old/a: the cloud says no");
    fixture_done(f);
}

static void serves__nothing_is_left_or_it_failed__not_told(void **state)
{
    struct fixture *f = fixture_new(*state, "E"); /* the end is as near */
    f->with_serves = true;
    assert_code(fixture_drive(f, false), TT_OK);
    assert_int_equal(f->results[0].serves, 0);
    fixture_done(f);
    f = moving(*state, "E");
    f->trouble[0] = (struct trouble){.where = "do main/a", .code = ERR_INVALID, .times = 1};
    assert_code(fixture_drive(f, false), TT_INVALID);
    assert_int_equal(f->results[0].serves, 0);
    fixture_done(f);
}

static void serves__update_or_first_of_two_stages_or_old_host__not_told(void **state)
{
    const struct {
        const char *verbs;
        bool old_host;
    } rows[] = {{"U", false}, {"E", true}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct fixture *f = moving(*state, rows[i].verbs);
        f->host.size = rows[i].old_host ? offsetof(struct tt_host, result_serves) : f->host.size;
        assert_code(fixture_drive(f, false), TT_OK);
        assert_int_equal(f->results[0].serves, 0);
        fixture_done(f);
    }
    struct fixture *f = moving(*state, "E");
    f->n_stages = 2; /* the second one finds nothing to do */
    assert_code(fixture_drive(f, false), TT_OK);
    assert_int_equal(f->results[0].serves, 0);
    fixture_done(f);
}

/* A stage that tidies, whatever the verbs of its operations; Services that are not concerned wait
 * for it just as long.  Once, however many such stages follow. */
static void serves__a_stage_tidies__all_of_the_batch_are_told_before_it(void **state)
{
    struct fixture *f = fixture_new(*state, "EE");
    f->with_serves = true;
    f->tidies = true;
    f->n_stages = 3;
    str_append(&f->cloud, ";main/a;main/b;second/b;");
    assert_code(fixture_drive(f, false), TT_OK);
    assert_trace(f, "facts · observe main · plan main · report 0 · observe second · plan second · "
                    "serves a · serves b · hold a · report 1 · do second/a · "
                    "done second/a ok · observe last · plan last · report 0 · status a · status b");
    assert_int_equal(f->results[0].serves, 1);
    assert_int_equal(f->results[1].serves, 1);
    fixture_done(f);
}

/* After an earlier failure nothing is written ahead; neither is it before a stage without work. */
static void serves__a_stage_tidies__not_for_failed_ones_or_for_nothing(void **state)
{
    struct fixture *f = fixture_new(*state, "EE");
    f->with_serves = true;
    f->tidies = true;
    f->n_stages = 3;
    f->trouble[0] = (struct trouble){.where = "do main/a", .code = ERR_INVALID, .times = 1};
    str_append(&f->cloud, ";second/b;");
    assert_code(fixture_drive(f, false), TT_INVALID);
    assert_int_equal(f->results[0].serves, 0);
    assert_int_equal(f->results[1].serves, 0);
    fixture_done(f);
}

/* A stage takes away by what clients reach a Service: the host hears before it where else, once,
 * also when the stage is planned again; of those that it changes, and that are ensured. */
static void leaves__told_before_the_stage(void **state)
{
    struct fixture *f = fixture_new(*state, "EEE");
    f->with_serves = true;
    f->leaves = "ac";
    f->n_stages = 2;
    f->trouble[0] = (struct trouble){.where = "do second/a", .code = ERR_CONFLICT, .times = 1};
    str_append(&f->cloud, ";main/a;main/b;main/c;second/c;");
    int naps = 0;
    assert_code(drive_with_moving_clock(f, &naps), TT_OK);
    assert_int_equal(f->results[0].serves, 1);
    assert_int_equal(f->results[1].serves, 0);
    assert_int_equal(f->results[2].serves, 0);
    const char *trace = str_buf_text(&f->trace);
    const char *told = strstr(trace, "served elsewhere a · ");
    assert_non_null(told);
    assert_true(told < strstr(trace, "do second/"));
    fixture_done(f);
    f = fixture_new(*state, "U");
    f->leaves = "a";
    f->n_stages = 2;
    str_append(&f->cloud, ";main/a;");
    assert_code(fixture_drive(f, false), TT_OK);
    assert_int_equal(f->results[0].serves, 0);
    fixture_done(f);
}

/* ---- a status that cannot be written --------------------------------------------------------- */

/* Clients still come by what the stage would take away: the Service fails, in the host's code, and
 * nothing of it is changed, or put back.  The others of the batch are tidied up. */
static void unwritten__a_stage_tidies__it_leaves_the_batch_before(void **state)
{
    struct fixture *f = fixture_new(*state, "EE");
    f->with_serves = true;
    f->tidies = true;
    f->n_stages = 2;
    f->retreats = "ab";
    f->results[0].unwritten = TT_FORBIDDEN;
    str_append(&f->cloud, ";main/a;main/b;");
    assert_code(fixture_drive(f, false), TT_FORBIDDEN);
    assert_trace(f, "facts · observe main · plan main · report 0 · observe second · plan second · "
                    "serves a · serves b · observe second · plan second · hold b · report 1 · "
                    "do second/b · done second/b ok · status b");
    assert_string_equal(f->results[0].text,
                        "forbidden: the status could not be written, and what it names stays");
    assert_string_equal(f->results[1].text, "settled");
    fixture_done(f);
}

/* No closer look at the cloud is needed for it, at each try. */
static void unwritten__a_stage_tidies_on_a_snapshot__no_request(void **state)
{
    struct fixture *f = fixture_new(*state, "E");
    f->with_serves = true;
    f->tidies = true;
    f->snapshot = true;
    f->n_stages = 2;
    f->results[0].unwritten = TT_TRANSIENT;
    str_append(&f->cloud, ";main/a;");
    assert_code(fixture_drive(f, false), TT_TRANSIENT);
    assert_null(strstr(str_buf_text(&f->trace), "observe!"));
    str_buf_reset(&f->trace);
    f->results[0].unwritten = TT_OK;
    assert_code(fixture_drive(f, false), TT_OK);
    assert_non_null(strstr(str_buf_text(&f->trace), "observe! second"));
    assert_non_null(strstr(str_buf_text(&f->cloud), "second/a"));
    fixture_done(f);
}

/* Within a plan only that waits which the status may name. */
static void unwritten__a_tail_that_awaits_it__is_not_run(void **state)
{
    struct fixture *f = moving(*state, "E");
    f->awaits = true;
    f->results[0].unwritten = TT_TRANSIENT;
    assert_code(fixture_drive(f, false), TT_TRANSIENT);
    assert_non_null(strstr(str_buf_text(&f->cloud), "main/a"));
    assert_non_null(strstr(str_buf_text(&f->cloud), "old/a"));
    assert_null(strstr(str_buf_text(&f->trace), "status a"));
    f->results[0].unwritten = TT_OK;
    assert_code(fixture_drive(f, false), TT_OK);
    assert_null(strstr(str_buf_text(&f->cloud), "old/a"));
    fixture_done(f);
    f = moving(*state, "E"); /* and one that does not goes; the end writes the status again */
    f->results[0].unwritten = TT_TRANSIENT;
    assert_code(fixture_drive(f, false), TT_OK);
    assert_null(strstr(str_buf_text(&f->cloud), "old/a"));
    fixture_done(f);
}

static void awaits__written__told_before_it(void **state)
{
    struct fixture *f = moving(*state, "E");
    f->awaits = true;
    assert_code(fixture_drive(f, false), TT_OK);
    assert_trace(f, "facts · observe main · plan main · hold a · report 2 · do main/a · serves a · "
                    "done main/a ok · do old/a · done old/a ok · status a");
    assert_int_equal(f->results[0].serves, 1);
    fixture_done(f);
}

static void unwritten__leaves__it_leaves_the_batch_before(void **state)
{
    struct fixture *f = fixture_new(*state, "EE");
    f->with_serves = true;
    f->leaves = "a";
    f->n_stages = 2;
    f->results[0].unwritten = TT_TRANSIENT;
    str_append(&f->cloud, ";main/a;main/b;");
    assert_code(fixture_drive(f, false), TT_TRANSIENT);
    assert_null(strstr(str_buf_text(&f->cloud), "second/a"));
    assert_non_null(strstr(str_buf_text(&f->cloud), "second/b"));
    fixture_done(f);
}

/* An update writes no status: what it names goes with the next ensure.  Its nodes are done. */
static void unwritten__update_in_a_stage_that_tidies__done_without_it(void **state)
{
    struct fixture *f = fixture_new(*state, "U");
    f->with_serves = true;
    f->tidies = true;
    f->n_stages = 2;
    f->results[0].unwritten = TT_IN_USE;
    assert_code(fixture_drive(f, false), TT_OK);
    assert_non_null(strstr(str_buf_text(&f->cloud), "main/a"));
    assert_null(strstr(str_buf_text(&f->cloud), "second/a"));
    assert_string_equal(f->results[0].text, "settled");
    fixture_done(f);
}

static int group_setup(void **state)
{
    (void)state;
    return http_global_init(NULL);
}

UNIT_MAIN(driver_serves)
{
    const struct CMUnitTest tests[] = {
        lb_test(serves__deletion_is_left__told_before_it),
        lb_test(serves__deletion_fails__told_all_the_same),
        lb_test(serves__nothing_is_left_or_it_failed__not_told),
        lb_test(serves__update_or_first_of_two_stages_or_old_host__not_told),
        lb_test(serves__a_stage_tidies__all_of_the_batch_are_told_before_it),
        lb_test(serves__a_stage_tidies__not_for_failed_ones_or_for_nothing),
        lb_test(leaves__told_before_the_stage),
        lb_test(unwritten__a_stage_tidies__it_leaves_the_batch_before),
        lb_test(unwritten__a_stage_tidies_on_a_snapshot__no_request),
        lb_test(unwritten__a_tail_that_awaits_it__is_not_run),
        lb_test(awaits__written__told_before_it),
        lb_test(unwritten__leaves__it_leaves_the_batch_before),
        lb_test(unwritten__update_in_a_stage_that_tidies__done_without_it),
    };
    return cmocka_run_group_tests_name("driver-serves", tests, group_setup, NULL);
}
