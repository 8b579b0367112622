/* SPDX-License-Identifier: Apache-2.0 */
/* test_driver_room.c: where the cloud has no room for old and new together, what goes goes first.
 *
 * "main/a" comes and "old/a" goes.  See driver_fixture.h for how to read the traces. */
#include "tests/unit/lb/driver_fixture.h"

#include "tests/support/unit.h"

static struct fixture *moving(struct arena *a, const char *verbs, size_t limit)
{
    struct fixture *f = fixture_new(a, verbs);
    f->moves = true;
    f->limit = limit;
    for (size_t i = 0; i < strlen(verbs); i++) {
        str_appendf(&f->cloud, ";old/%c;", (char)('a' + i));
    }
    return f;
}

static void reconcile__room_for_both__new_one_first(void **state)
{
    struct fixture *f = moving(*state, "E", 2);
    assert_code(fixture_drive(f, false), TT_OK);
    assert_trace(f, "facts · observe main · plan main · hold a · report 2 · do main/a · "
                    "done main/a ok · do old/a · done old/a ok · status a");
    fixture_done(f);
}

static void reconcile__full__old_one_makes_room(void **state)
{
    struct fixture *f = moving(*state, "E", 1);
    assert_code(fixture_drive(f, false), TT_OK);
    assert_trace(f, "facts · observe main · plan main · hold a · report 2 · do main/a · "
                    "done main/a quota · observe! main · plan main · report 2 · do old/a · "
                    "done old/a ok · do main/a · done main/a ok · status a");
    assert_string_equal(str_buf_text(&f->cloud), ";main/a;");
    fixture_done(f);
}

/* Both are refused in the same wave, or one after the other: each makes room. */
static void reconcile__full_for_two__both_make_room(void **state)
{
    struct fixture *f = moving(*state, "EE", 2);
    assert_code(fixture_drive(f, false), TT_OK);
    assert_null(strstr(str_buf_text(&f->cloud), "old"));
    assert_non_null(strstr(str_buf_text(&f->cloud), ";main/a;"));
    assert_non_null(strstr(str_buf_text(&f->cloud), ";main/b;"));
    fixture_done(f);
}

/* The old one has gone, and there is no room still: it is a refusal like any other. */
static void reconcile__full_all_the_same__fails_once(void **state)
{
    struct fixture *f = moving(*state, "E", 1);
    f->trouble[0] = (struct trouble){"do main/a", ERR_QUOTA, 9, NULL};
    assert_code(fixture_drive(f, false), TT_QUOTA);
    assert_int_equal(f->trouble[0].times, 7);
    fixture_done(f);
}

/* A limit that was met holds for the plans that follow a conflict. */
static void reconcile__full_then_a_conflict__still_makes_room(void **state)
{
    struct fixture *f = moving(*state, "E", 1);
    int naps = 0;
    f->trouble[0] = (struct trouble){"do old/a", ERR_CONFLICT, 1, NULL};
    assert_code(drive_with_moving_clock(f, &naps), TT_OK);
    assert_string_equal(str_buf_text(&f->cloud), ";main/a;");
    assert_non_null(
        strstr(str_buf_text(&f->trace),
               "done main/a quota · observe! main · plan main · report 2 · do old/a · "
               "done old/a conflict · observe! main · plan main · report 2 · do old/a"));
    fixture_done(f);
}

/* A planner that has no other order is not asked again. */
static void reconcile__nothing_makes_room__one_try(void **state)
{
    struct fixture *f = fixture_new(*state, "E");
    f->trouble[0] = (struct trouble){"do main/a", ERR_QUOTA, 9, NULL};
    assert_code(fixture_drive(f, false), TT_QUOTA);
    assert_int_equal(f->trouble[0].times, 8);
    fixture_done(f);
}

/* Only what has no room is planned otherwise. */
static void plan__another_kind_is_full__order_stays(void **state)
{
    struct lb_kinds *full = NULL;
    struct lb_plan p;
    lb_kinds_add(*state, &full, "rule");
    lb_plan_init(&p, *state);
    lb_plan_service(&p, "ns/a")->full = full;
    assert_false(lb_plan_makes_room(&p, "ns/a", "thing"));
    assert_int_equal(lb_plan_service(&p, "ns/a")->n_effects, 0);
    assert_true(lb_plan_makes_room(&p, "ns/a", "rule"));
    assert_true(lb_plan_makes_room(&p, "ns/a", "rule"));
    assert_int_equal(lb_plan_service(&p, "ns/a")->n_effects, 1);
    assert_string_equal(lb_plan_service(&p, "ns/a")->effects[0],
                        "The cloud has no room for both: the old resources are deleted before the "
                        "new ones are created.");
    assert_true(lb_kinds_have(lb_plan_service(&p, "ns/a")->asks_room, "thing"));
}

static int group_setup(void **state)
{
    (void)state;
    return http_global_init(NULL);
}

UNIT_MAIN(driver_room)
{
    const struct CMUnitTest tests[] = {
        lb_test(reconcile__room_for_both__new_one_first),
        lb_test(reconcile__full__old_one_makes_room),
        lb_test(reconcile__full_for_two__both_make_room),
        lb_test(reconcile__full_all_the_same__fails_once),
        lb_test(reconcile__full_then_a_conflict__still_makes_room),
        lb_test(reconcile__nothing_makes_room__one_try),
        lb_test(plan__another_kind_is_full__order_stays),
    };
    return cmocka_run_group_tests_name("driver-room", tests, group_setup, NULL);
}
