/* SPDX-License-Identifier: Apache-2.0 */
/* test_board.c: what the board says of Services whose syncs go well, fail, and end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "common/base/keep.h"
#include "common/base/str.h"
#include "controller/sync/board.h"
#include "tests/support/unit.h"

struct at {
    struct arena *a;
    struct clock *clock;
    struct board *board;
    struct board_view view;
};

#define WALL_US ((int64_t)1000 * 1000000)

static int set_up(void **state)
{
    static struct at at;

    at = (struct at){.a = arena_new(), .clock = clock_fake_new(5000, WALL_US)};
    at.board = board_new(at.clock);
    *state = &at;
    return 0;
}

static int tear_down(void **state)
{
    struct at *at = *state;

    board_free(at->board);
    clock_fake_free(at->clock);
    arena_free(at->a);
    return 0;
}

static const struct board_row *look(struct at *at, const char *key)
{
    board_look(at->board, at->a, &at->view);
    for (size_t i = 0; i < at->view.n_rows; i++) {
        if (strcmp(at->view.rows[i].key, key) == 0) {
            return &at->view.rows[i];
        }
    }
    return NULL;
}

static void plan_of(struct at *at, const char *key, uint32_t verb, const char *why)
{
    const char *const owners[] = {key};
    const struct tt_operation op = {.size = sizeof(op),
                                    .verb = verb,
                                    .kind = "firewall",
                                    .name = "k8s-fw-a1",
                                    .why = why,
                                    .owners = owners,
                                    .n_owners = 1};
    const struct tt_operation *const ops[] = {&op};
    const struct tt_plan_service service = {
        .size = sizeof(service), .key = key, .kind = "external, target pool"};
    const struct tt_plan_service *const services[] = {&service};

    board_plan(at->board, &(struct tt_plan){.size = sizeof(struct tt_plan),
                                            .services = services,
                                            .n_services = 1,
                                            .operations = ops,
                                            .n_operations = 1});
}

static void board__sync_that_goes_well__is_ready_and_nothing_is_pending(void **state)
{
    struct at *at = *state;

    board_begin(at->board, "demo/web", "ensure");
    assert_int_equal(look(at, "demo/web")->state, BOARD_SYNCING);
    assert_int_equal(look(at, "demo/web")->began_us, WALL_US);
    plan_of(at, "demo/web", TT_OP_CREATE, "it is new");
    const struct board_row *r = look(at, "demo/web");
    assert_string_equal(r->plan, "+ firewall k8s-fw-a1  because it is new\n");
    assert_int_equal(r->create, 1);
    clock_fake_advance(at->clock, 1500);
    board_end(
        at->board, "demo/web",
        &(struct board_end){.state = BOARD_READY, .took_ms = 1500, .calls = 14, .delay_ms = -1});
    r = look(at, "demo/web");
    assert_int_equal(r->state, BOARD_READY);
    assert_string_equal(r->kind, "external, target pool");
    assert_string_equal(r->verb, "ensure");
    assert_string_equal(r->plan, "");
    assert_int_equal(r->create, 0);
    assert_int_equal(r->synced_us, WALL_US + 1500000);
    assert_int_equal(r->calls, 14);
    assert_int_equal(r->next_us, 0);
}

static void board__findings__are_those_of_the_last_plan(void **state)
{
    struct at *at = *state;
    static const struct tt_finding one = {
        .size = sizeof(one), .reason = "AnnotationIgnored", .message = "a is\nodd"};
    static const struct tt_finding two = {
        .size = sizeof(two), .reason = "AnnotationIgnored", .message = "b is odd"};
    static const struct tt_finding *const findings[] = {&one, &two};
    struct tt_plan_service service = {.size = sizeof(service),
                                      .key = "demo/web",
                                      .findings = findings,
                                      .n_findings = 2,
                                      .serves_nobody = "no node takes part"};
    const struct tt_plan_service *const services[] = {&service};
    const struct tt_plan plan = {.size = sizeof(plan), .services = services, .n_services = 1};

    board_plan(at->board, &plan);
    assert_string_equal(look(at, "demo/web")->findings, "a is\\nodd\nb is odd\n");
    assert_string_equal(look(at, "demo/web")->serves_nobody, "no node takes part");
    service.n_findings = 0;
    service.serves_nobody = NULL;
    board_plan(at->board, &plan);
    assert_string_equal(look(at, "demo/web")->findings, "");
    assert_string_equal(look(at, "demo/web")->serves_nobody, "");
    service.size = offsetof(struct tt_plan_service, findings); /* a plugin of ABI 1.5 */
    service.serves_nobody = "not to be read";
    board_plan(at->board, &plan);
    assert_string_equal(look(at, "demo/web")->serves_nobody, "");
}

static void board__sync_that_fails__keeps_plan_reason_and_since_when(void **state)
{
    struct at *at = *state;
    const struct board_end failed = {.state = BOARD_RETRYING,
                                     .code = TT_QUOTA,
                                     .message = "quota FORWARDING_RULES is used up",
                                     .delay_ms = 40000};

    board_begin(at->board, "demo/web", "ensure");
    plan_of(at, "demo/web", TT_OP_CHANGE, NULL);
    board_end(at->board, "demo/web", &failed);
    clock_fake_advance(at->clock, 40000);
    board_begin(at->board, "demo/web", "ensure");
    board_end(at->board, "demo/web", &failed);
    const struct board_row *r = look(at, "demo/web");
    assert_int_equal(r->state, BOARD_RETRYING);
    assert_int_equal(r->failures, 2);
    assert_int_equal(r->failing_us, WALL_US);
    assert_int_equal(r->next_us, WALL_US + 80000000);
    assert_string_equal(r->message, "quota FORWARDING_RULES is used up");
    assert_string_equal(r->plan, "~ firewall k8s-fw-a1\n");
}

static void board__update_that_goes_well__does_not_hide_an_ensure_that_fails(void **state)
{
    struct at *at = *state;

    board_begin(at->board, "demo/web", "ensure");
    board_end(at->board, "demo/web",
              &(struct board_end){
                  .state = BOARD_FAILED, .code = TT_INVALID, .message = "no", .delay_ms = 300000});
    board_begin(at->board, "demo/web", "update");
    board_end(at->board, "demo/web",
              &(struct board_end){.state = BOARD_READY, .delay_ms = -1, .part = true});
    assert_int_equal(look(at, "demo/web")->state, BOARD_FAILED);
    assert_string_equal(look(at, "demo/web")->message, "no");
    board_end(at->board, "demo/web", &(struct board_end){.state = BOARD_READY, .delay_ms = -1});
    assert_int_equal(look(at, "demo/web")->state, BOARD_READY);
    assert_string_equal(look(at, "demo/web")->message, "");
}

static void plan_that_leaves(struct at *at, const char *key, const char *text)
{
    const struct tt_plan_service service = {
        .size = sizeof(service), .key = key, .left = &text, .n_left = text != NULL};
    const struct tt_plan_service *const services[] = {&service};

    board_plan(
        at->board,
        &(struct tt_plan){.size = sizeof(struct tt_plan), .services = services, .n_services = 1});
}

/* It stays until the next ensure: an update of nodes does not compare it, and a sync may make
 * several plans. */
static void board__value_left_as_taken_over__stands_until_the_next_ensure(void **state)
{
    struct at *at = *state;
    const struct board_end good = {.state = BOARD_READY, .delay_ms = -1};

    board_begin(at->board, "demo/web", "ensure");
    plan_that_leaves(at, "demo/web", "one");
    plan_that_leaves(at, "demo/web", NULL);
    plan_that_leaves(at, "demo/web", "two");
    plan_that_leaves(at, "demo/web", "one");
    board_end(at->board, "demo/web", &good);
    assert_string_equal("! one\n! two\n", look(at, "demo/web")->left);
    board_begin(at->board, "demo/web", "update");
    plan_that_leaves(at, "demo/web", NULL);
    board_end(at->board, "demo/web", &good);
    assert_string_equal("! one\n! two\n", look(at, "demo/web")->left);
    board_begin(at->board, "demo/web", "ensure");
    plan_that_leaves(at, "demo/web", NULL);
    board_end(at->board, "demo/web", &good);
    assert_string_equal("", look(at, "demo/web")->left);
}

static void board__long_texts__are_cut_between_characters(void **state)
{
    struct at *at = *state;
    char text[BOARD_MESSAGE_MAX * 2];

    memset(text, 'a', sizeof(text));
    for (size_t i = 1; i + 1 < sizeof(text) - 1; i += 2) {
        memcpy(text + i, "é", 2);
    }
    text[sizeof(text) - 1] = '\0';
    board_end(at->board, "demo/web",
              &(struct board_end){.state = BOARD_FAILED, .code = TT_INVALID, .message = text});
    const char *kept = look(at, "demo/web")->message;
    assert_true(strlen(kept) <= BOARD_MESSAGE_MAX);
    assert_true(str_has_suffix(kept, "…"));
    assert_true(str_is_utf8(kept, strlen(kept)));
    for (int i = 0; i < 3; i++) {
        plan_of(at, "demo/web", TT_OP_DELETE, text);
    }
    assert_true(strlen(look(at, "demo/web")->plan) <= BOARD_PLAN_MAX);
}

static void board__service_that_is_gone__has_no_row(void **state)
{
    struct at *at = *state;

    board_begin(at->board, "demo/web", "delete");
    board_drop(at->board, "demo/web");
    board_drop(at->board, "demo/other");
    assert_null(look(at, "demo/web"));
    assert_int_equal(at->view.n_rows, 0);
}

static void board__batches__are_there_while_they_are_processed(void **state)
{
    struct at *at = *state;
    uint64_t first = board_batch_begin(at->board, "kubernetes", 12);

    clock_fake_advance(at->clock, 10);
    uint64_t second = board_batch_begin(at->board, "", 1);
    (void)look(at, "");
    assert_int_equal(at->view.n_batches, 2);
    assert_string_equal(at->view.batches[0].batch_key, "kubernetes");
    assert_int_equal(at->view.batches[0].n, 12);
    assert_int_equal(at->view.batches[0].began_us, WALL_US);
    board_batch_end(at->board, first);
    (void)look(at, "");
    assert_int_equal(at->view.n_batches, 1);
    assert_string_equal(at->view.batches[0].batch_key, "");
    board_batch_end(at->board, second);
    (void)look(at, "");
    assert_int_equal(at->view.n_batches, 0);
}

#define MANY 1000

/* One block for each Service that is well.  A sanitizer's malloc counts nothing here. */
static void board__many_that_are_well__few_bytes_each(void **state)
{
    struct at *at = *state;
    size_t before = mallinfo2().uordblks + keep_used();
    char key[32];

    for (unsigned i = 0; i < MANY; i++) {
        (void)snprintf(key, sizeof key, "default/s%05u", i);
        board_begin(at->board, key, "ensure");
        board_end(at->board, key,
                  &(struct board_end){.state = BOARD_READY, .took_ms = 5, .delay_ms = -1});
    }
    size_t bytes = (mallinfo2().uordblks + keep_used() - before) / MANY;
    assert_in_range(bytes, 0, 56 + 20); /* with its place in the table */
    print_message("# a row: %zu bytes\n", bytes);
}

UNIT_MAIN(board)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(board__sync_that_goes_well__is_ready_and_nothing_is_pending,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(board__findings__are_those_of_the_last_plan, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(board__sync_that_fails__keeps_plan_reason_and_since_when,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            board__update_that_goes_well__does_not_hide_an_ensure_that_fails, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            board__value_left_as_taken_over__stands_until_the_next_ensure, set_up, tear_down),
        cmocka_unit_test_setup_teardown(board__long_texts__are_cut_between_characters, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(board__service_that_is_gone__has_no_row, set_up, tear_down),
        cmocka_unit_test_setup_teardown(board__many_that_are_well__few_bytes_each, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(board__batches__are_there_while_they_are_processed, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
