/* SPDX-License-Identifier: Apache-2.0 */
/* test_driver_ask.c: nothing is taken down for a replacement that may not be made.
 *
 * "old/a" must go before "main/a" can come; the first "do old/a" is the question.  See
 * driver_fixture.h for how to read the traces. */
#include "tests/unit/lb/driver_fixture.h"

#include "tests/support/unit.h"

#define ASKED "facts · observe main · plan main · hold a · do old/a"

static struct fixture *old_stands(struct arena *a, const char *verbs)
{
    struct fixture *f = fixture_new(a, verbs);
    f->replaces = true;
    f->asks = true;
    str_append(&f->cloud, ";old/a;");
    return f;
}

static void reconcile__it_exists__taken_down_and_replaced(void **state)
{
    struct fixture *f = old_stands(*state, "E");
    assert_code(fixture_drive(f, false), TT_OK);
    assert_trace(f, ASKED " · report 2 · do old/a · done old/a ok · do main/a · done main/a ok · "
                          "status a");
    assert_string_equal(str_buf_text(&f->cloud), ";main/a;");
    fixture_done(f);
}

/* No plan is reported: none is carried out. */
static void reconcile__no_permission_or_no_answer__all_stands(void **state)
{
    const struct {
        int code;
        int64_t retry_after_ms;
        int status;
    } rows[] = {
        {ERR_FORBIDDEN, 0, 403}, {ERR_AUTH, 0, 403},    {ERR_AUTH, 0, 401},
        {ERR_TRANSIENT, 0, 503}, {ERR_TRANSIENT, 0, 0}, {ERR_THROTTLED, 7000, 429},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct fixture *f = old_stands(*state, "E");
        f->trouble[0] = (struct trouble){"do old/a", rows[i].code, 1, NULL};
        f->status = rows[i].status;
        assert_code(fixture_drive(f, false), rows[i].code);
        assert_trace(f, ASKED);
        assert_string_equal(str_buf_text(&f->cloud), ";old/a;");
        assert_string_equal(
            f->results[0].text,
            arena_printf(f->a, "%s: thing old/a: the cloud says no; the former thing stays",
                         err_code_name(rows[i].code)));
        assert_string_equal(f->results[0].resource, "thing old/a");
        assert_int_equal(f->results[0].retry_after_ms, rows[i].retry_after_ms);
        fixture_done(f);
    }
}

/* The cloud's objection to the contents of the former one says nothing about the new one. */
static void reconcile__other_refusals__no_reason_to_stop(void **state)
{
    static const struct {
        int code;
        int status;
    } rows[] = {{ERR_INVALID, 400},  {ERR_QUOTA, 403},     {ERR_IN_USE, 400},
                {ERR_CONFLICT, 409}, {ERR_NOT_FOUND, 404}, {ERR_TRANSIENT, 400}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct fixture *f = old_stands(*state, "E");
        f->trouble[0] = (struct trouble){"do old/a", rows[i].code, 1, NULL};
        f->status = rows[i].status;
        assert_code(fixture_drive(f, false), TT_OK);
        assert_string_equal(str_buf_text(&f->cloud), ";main/a;");
        fixture_done(f);
    }
}

/* The plan after a conflict takes nothing down any more; what was taken down is still owed. */
static void reconcile__conflict_after_it_went__not_asked_again(void **state)
{
    struct fixture *f = old_stands(*state, "E");
    int naps = 0;
    f->trouble[0] = (struct trouble){"do main/a", ERR_CONFLICT, 2, NULL};
    assert_code(drive_with_moving_clock(f, &naps), TT_OK);
    assert_string_equal(str_buf_text(&f->cloud), ";main/a;");
    const char *first = strstr(str_buf_text(&f->trace), "do old/a · report");
    assert_non_null(first);
    assert_null(strstr(first + 1, "do old/a · report"));
    fixture_done(f);
}

static void reconcile__two_services__only_who_may_not_waits(void **state)
{
    struct fixture *f = old_stands(*state, "EE");
    str_append(&f->cloud, ";old/b;");
    f->trouble[0] = (struct trouble){"do old/a", ERR_FORBIDDEN, 1, NULL};
    assert_code(fixture_drive(f, false), TT_FORBIDDEN);
    assert_string_equal(str_buf_text(&f->cloud), ";old/a;;main/b;");
    assert_string_equal(f->results[1].text, "settled");
    fixture_done(f);
}

static void reconcile__cancelled_while_asking__nothing_else_is_sent(void **state)
{
    struct fixture *f = old_stands(*state, "E");
    f->stops_at = "old/a";
    assert_code(fixture_drive(f, false), TT_CANCELLED);
    assert_trace(f, ASKED);
    assert_string_equal(str_buf_text(&f->cloud), ";old/a;");
    fixture_done(f);
}

/* After a missing right the very requests are sent while all stands; only the answers that the name
 * is free, and taken, let the plan be carried out. */
static void reconcile__spared_for_a_right__carried_out_once_it_is_back(void **state)
{
    static const struct {
        const char *where;
        int code;
        bool proven;
    } rows[] = {{"", ERR_OK, true},
                {"do none/a", ERR_FORBIDDEN, false},
                {"do old/a", ERR_FORBIDDEN, false},
                {"do old/a", ERR_QUOTA, false},
                {"do none/a", ERR_TRANSIENT, false}};
    for (size_t i = 0; i < 2 * ARRAY_LEN(rows); i++) {
        size_t row = i / 2;
        struct fixture *f = old_stands(*state, "E");
        f->proves = (int)(1 + i % 2);
        f->items[0].flags = TT_ITEM_SPARE | TT_ITEM_ASKS;
        f->trouble[0] = (struct trouble){rows[row].where, rows[row].code, 1, NULL};
        assert_code(fixture_drive(f, false), rows[row].proven ? TT_OK : TT_IN_USE);
        assert_string_equal(str_buf_text(&f->cloud), rows[row].proven ? ";main/a;" : ";old/a;");
        fixture_done(f);
    }
    struct fixture *f = old_stands(*state, "E"); /* a planner that cannot ask */
    f->items[0].flags = TT_ITEM_SPARE | TT_ITEM_ASKS;
    assert_code(fixture_drive(f, false), TT_IN_USE);
    assert_string_equal(str_buf_text(&f->cloud), ";old/a;");
    fixture_done(f);
}

static int group_setup(void **state)
{
    (void)state;
    return http_global_init(NULL);
}

UNIT_MAIN(driver_ask)
{
    const struct CMUnitTest tests[] = {
        lb_test(reconcile__it_exists__taken_down_and_replaced),
        lb_test(reconcile__no_permission_or_no_answer__all_stands),
        lb_test(reconcile__other_refusals__no_reason_to_stop),
        lb_test(reconcile__conflict_after_it_went__not_asked_again),
        lb_test(reconcile__two_services__only_who_may_not_waits),
        lb_test(reconcile__cancelled_while_asking__nothing_else_is_sent),
        lb_test(reconcile__spared_for_a_right__carried_out_once_it_is_back),
    };
    return cmocka_run_group_tests_name("driver-ask", tests, group_setup, NULL);
}
