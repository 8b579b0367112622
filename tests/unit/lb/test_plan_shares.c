/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_shares.c: the operations of each Service of a plan. */
#include "tests/unit/lb/lb_test.h"

#include "common/lb/plan_shares.h"
#include "tests/support/unit.h"

#define MANY 30000 /* a walk over all operations for each Service would not end within the test */

static void plan_share_of__shared_and_own__in_the_order_of_the_plan(void **state)
{
    static const char *const both[] = {"d/a", "d/b"};
    static const char *const twice[] = {"d/b", "d/b"};
    const struct tt_operation ops[] = {
        {.verb = TT_OP_KEEP, .owners = both, .n_owners = 2},
        {.verb = TT_OP_CHANGE, .owners = twice, .n_owners = 2},
        {.verb = TT_OP_KEEP, .owners = both, .n_owners = 1},
    };
    const struct tt_operation *all[] = {&ops[0], &ops[1], &ops[2]};
    const struct tt_plan plan = {.operations = all, .n_operations = 3};
    struct plan_shares *s = plan_shares_new(*state, &plan);
    const struct plan_share a = plan_share_of(s, "d/a");
    const struct plan_share b = plan_share_of(s, "d/b");

    assert_int_equal(a.n, 2);
    assert_ptr_equal(a.operations[0], &ops[0]);
    assert_ptr_equal(a.operations[1], &ops[2]);
    assert_int_equal(b.n, 2);
    assert_ptr_equal(b.operations[1], &ops[1]);
    assert_int_equal(plan_share_of(s, "d/c").n, 0);
    assert_false(plan_share_changes(s, "d/a"));
    assert_true(plan_share_changes(s, "d/b"));
    assert_false(plan_share_changes(s, "d/c"));
    plan_shares_done(s);
}

static void plan_shares__of_many_services__each_has_its_own(void **state)
{
    struct tt_operation *ops = ARENA_ARRAY(*state, struct tt_operation, MANY);
    const struct tt_operation **all = ARENA_ARRAY(*state, const struct tt_operation *, MANY);
    const char **keys = ARENA_ARRAY(*state, const char *, MANY);

    for (uint32_t i = 0; i < MANY; i++) {
        keys[i] = arena_printf(*state, "d/s%u", i);
        ops[i] = (struct tt_operation){.verb = TT_OP_CREATE, .owners = &keys[i], .n_owners = 1};
        all[i] = &ops[i];
    }
    ops[0].owners = keys; /* shared by all */
    ops[0].n_owners = MANY;
    const struct tt_plan plan = {.operations = all, .n_operations = MANY};
    struct plan_shares *s = plan_shares_new(*state, &plan);
    for (uint32_t i = 1; i < MANY; i++) {
        const struct plan_share x = plan_share_of(s, keys[i]);
        assert_int_equal(x.n, 2);
        assert_ptr_equal(x.operations[0], &ops[0]);
        assert_ptr_equal(x.operations[1], &ops[i]);
    }
    plan_shares_done(s);
}

UNIT_MAIN(plan_shares)
{
    const struct CMUnitTest tests[] = {
        lb_test(plan_share_of__shared_and_own__in_the_order_of_the_plan),
        lb_test(plan_shares__of_many_services__each_has_its_own),
    };
    return cmocka_run_group_tests_name("plan_shares", tests, NULL, NULL);
}
