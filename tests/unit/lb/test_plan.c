/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan.c: building, sealing and viewing plans. */
#include "tests/unit/lb/lb_test.h"

#include "common/lb/plan.h"
#include "tests/support/unit.h"

#include <string.h>

#define CREATE(...) LB_OP(.verb = LB_CREATE, .kind = "rule", .name = "r", .why = "new", __VA_ARGS__)
#define KEEP(...)   LB_OP(.verb = LB_KEEP, .kind = "rule", .name = "r", __VA_ARGS__)

/* Appends the operations for "demo/web" and seals. */
static int seal(struct arena *a, struct lb_plan *p, const struct lb_op *ops, size_t n,
                struct err *err)
{
    lb_plan_init(p, a);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(lb_plan_add(p, "demo/web", &ops[i]), (int)i);
    }
    return lb_plan_seal(p, err);
}

static void lb_plan_seal__parallel_and_keep__waves(void **state)
{
    const struct {
        struct lb_op op;
        int wave;
    } rows[] = {
        {KEEP(), 0},
        {CREATE(.parallel = true), 1}, /* there is nothing before it to be parallel with */
        {CREATE(.parallel = true), 1},
        {CREATE(), 2},
        {KEEP(), 0},
        {CREATE(.parallel = true), 2}, /* KEEP does not break a wave */
        {CREATE(), 3},
    };
    struct lb_op ops[ARRAY_LEN(rows)];
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        ops[i] = rows[i].op;
    }
    struct lb_plan p;
    assert_int_equal(seal(*state, &p, ops, ARRAY_LEN(rows), NULL), ERR_OK);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        print_message("# operation %zu\n", i);
        assert_int_equal(p.ops[i].wave, rows[i].wave);
    }
    assert_int_equal(p.waves, 3);
    assert_int_equal(lb_plan_changes(&p), 5);
}

/* Tails: deletions and releases that nothing else waits for, by name, by a value or by the order of
 * the plan. */
static void lb_plan_seal__tail__what_nothing_but_tidying_waits_for(void **state)
{
#define DROP(...) LB_OP(.verb = LB_DELETE, .kind = "rule", .name = "r", .why = "old", __VA_ARGS__)
    const struct {
        struct lb_op op;
        int after[1]; /* 1 + index; 0: none */
        bool tail;
    } rows[] = {
        {DROP(), {0}, false}, /* the rule that is made again waits for it */
        {CREATE(), {1}, false},
        {DROP(), {2}, true},
        {LB_OP(.verb = LB_CHANGE, .kind = "rule", .name = "r", .why = "held", .gives_back = true),
         {2},
         true},
        {DROP(), {3}, true}, /* behind another tail */
        {LB_OP(.verb = LB_CHANGE, .kind = "group", .name = "g", .why = "left", .tidies = true),
         {2},
         true},
        {DROP(), {0}, false},
        {KEEP(), {0}, false},
        {CREATE(.sent_after = 6), {0}, false},
        {DROP(), {0}, true},
    };
    struct lb_plan p;
    struct arena *a = *state;
    lb_plan_init(&p, a);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int at = lb_plan_add(&p, "demo/web", &rows[i].op);
        lb_plan_after(&p, at, rows[i].after[0] - 1);
    }
    assert_int_equal(lb_plan_seal(&p, NULL), ERR_OK);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        print_message("# operation %zu\n", i);
        assert_int_equal(p.ops[i].tail, rows[i].tail);
    }
    const struct lb_op steps[] = {DROP(), CREATE(), DROP(),
                                  DROP()}; /* each waits for those before */
    assert_int_equal(seal(a, &p, steps, ARRAY_LEN(steps), NULL), ERR_OK);
    assert_false(p.ops[0].tail);
    assert_true(p.ops[2].tail && p.ops[3].tail);
#undef DROP
}

static enum http_next no_step(struct lb_op_run *run, const struct http_response *resp)
{
    (void)run;
    (void)resp;
    return HTTP_DONE;
}

static const struct lb_op_type no_type = {.name = "none", .step = no_step};
static const struct lb_undo put_back = {.verb = LB_CREATE,
                                        .kind = "rule",
                                        .name = "r",
                                        .until_kind = "rule",
                                        .until_name = "r",
                                        .type = &no_type};
static const struct lb_undo no_way_back = {
    .verb = LB_CREATE, .kind = "rule", .name = "r", .until_kind = "rule", .until_name = "r"};
#define REMOVE(...) LB_OP(.verb = LB_DELETE, .kind = "rule", .name = "r", .why = "old", __VA_ARGS__)

static void lb_plan_seal__broken_plans__bug(void **state)
{
    struct lb_field forward = {.path = "address", .new_value = LB_VALUE_OF(1, "address")};
    struct lb_field back = {.path = "address", .new_value = LB_VALUE_OF(0, "address")};
    const struct {
        struct lb_op ops[2];
        const char *message; /* NULL: fine */
    } rows[] = {
        {{CREATE(), CREATE(.only_if_op = 0, .only_if = LB_DONE)}, NULL},
        {{CREATE(), CREATE(.fields = &back, .n_fields = 1)}, NULL},
        {{KEEP(), CREATE(.parallel = true, .fields = &back, .n_fields = 1)}, NULL},
        {{CREATE(), KEEP(.fields = &back, .n_fields = 1)}, NULL},
        {{CREATE(.only_if_op = 0), CREATE()},
         "operation 1 (rule r): only_if does not point backwards"},
        {{CREATE(.only_if_op = 1), CREATE()},
         "operation 1 (rule r): only_if does not point backwards"},
        {{CREATE(.only_if_op = -2), CREATE()},
         "operation 1 (rule r): only_if does not point backwards"},
        {{CREATE(), CREATE(.fields = &forward, .n_fields = 1)},
         "operation 2 (rule r): address does not point backwards"},
        {{CREATE(), CREATE(.parallel = true, .only_if_op = 0)},
         "operation 2 (rule r): only_if points into its own wave"},
        {{CREATE(), CREATE(.parallel = true, .fields = &back, .n_fields = 1)},
         "operation 2 (rule r): address points into its own wave"},
        {{CREATE(), CREATE(.parallel = true, .sent_after = 0)}, NULL},
        {{CREATE(), CREATE(.sent_after = 0)},
         "operation 2 (rule r): sent_after points into another wave"},
        {{KEEP(), CREATE(.sent_after = 0)},
         "operation 2 (rule r): sent_after points into another wave"},
        {{CREATE(), KEEP(.sent_after = 0)},
         "operation 2 (rule r): sent_after points into another wave"},
        {{KEEP(), KEEP(.sent_after = 0)},
         "operation 2 (rule r): sent_after points into another wave"},
        {{CREATE(), CREATE(.parallel = true, .sent_after = 1)},
         "operation 2 (rule r): sent_after does not point backwards"},
        {{CREATE(.sent_after = -2), CREATE()},
         "operation 1 (rule r): sent_after does not point backwards"},
        {{CREATE(.critical = true), CREATE(.critical = true)},
         "operation 2 (rule r) is a second critical one"},
        {{CREATE(.why = NULL), CREATE()}, "operation 1 (rule r) has no why"},
        {{CREATE(.kind = NULL), CREATE()}, "operation 1 ( r) has no kind"},
        {{CREATE(.name = ""), CREATE()}, "operation 1 (rule ) has no name"},
        {{CREATE(.verb = 0), CREATE()}, "operation 1 (rule r) has no verb"},
        {{CREATE(.verb = 5), CREATE()}, "operation 1 (rule r) has no verb"},
        {{REMOVE(.undo = &put_back), CREATE()}, NULL},
        {{REMOVE(.undo = &put_back), REMOVE()},
         "rule r is put back until rule r is there, which no operation makes"},
        {{CREATE(), REMOVE(.undo = &put_back)},
         "rule r is put back until rule r is there, which no operation makes"},
        {{REMOVE(.undo = &no_way_back), CREATE()}, "putting rule r back cannot be carried out"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct lb_plan p;
        struct err err = ERR_INIT;
        print_message("# row %zu\n", i);
        int rc = seal(*state, &p, rows[i].ops, 2, &err);
        assert_string_equal(err.message, rows[i].message != NULL ? rows[i].message : "");
        assert_int_equal(rc, rows[i].message != NULL ? ERR_BUG : ERR_OK);
        assert_int_equal(p.sealed, rows[i].message == NULL);
    }
}

static void lb_plan_seal__no_owner__bug(void **state)
{
    struct lb_plan p;
    struct err err = ERR_INIT;
    lb_plan_init(&p, *state);
    struct lb_op op = CREATE();
    (void)lb_plan_add(&p, NULL, &op);
    assert_int_equal(lb_plan_seal(&p, &err), ERR_BUG);
    assert_string_equal(err.message, "operation 1 (rule r) has no owner");
}

static void lb_plan_add__many__indexes_and_copies_stay(void **state)
{
    struct lb_plan p;
    lb_plan_init(&p, *state);
    for (int i = 0; i < 100; i++) {
        struct lb_op op = CREATE(.calls = (unsigned)i);
        assert_int_equal(lb_plan_add(&p, arena_printf(*state, "n/s%d", i % 7), &op), i);
        lb_plan_because(&p, "n/s0", "reason %d", i);
        lb_plan_effect(&p, "n/s1", "effect %d", i);
    }
    assert_int_equal(p.n_ops, 100);
    assert_int_equal(p.n_services, 7);
    assert_int_equal(p.ops[99].calls, 99);
    assert_string_equal(lb_plan_service(&p, "n/s0")->because[99], "reason 99");
    assert_string_equal(lb_plan_service(&p, "n/s1")->effects[63], "effect 63");
    assert_string_equal(p.ops[99].owners.items[0], "n/s1");
}

static void lb_plan_add__owners_given__each_has_an_entry(void **state)
{
    struct lb_plan p;
    lb_plan_init(&p, *state);
    const char *owners[] = {"n/b", "n/a"};
    struct lb_op op = CREATE(.owners = str_set_make(*state, owners, 2), .shared = true);
    (void)lb_plan_add(&p, NULL, &op);
    assert_int_equal(p.n_services, 2);
    assert_int_equal(lb_plan_seal(&p, NULL), ERR_OK);
}

static void lb_plan_view__sealed_plan__numbers_and_late_values(void **state)
{
    struct lb_plan p;
    lb_plan_init(&p, *state);
    struct lb_field fields[] = {
        {.path = "address", .new_value = LB_VALUE_OF(1, "address")},
        {.path = "tier", .old_text = "STANDARD", .new_value = LB_VALUE("PREMIUM")},
        {.path = "labels", .old_text = "x", .new_value = LB_VALUE(NULL)},
    };
    const char *both[] = {"n/b", "n/a"};
    const struct lb_op ops[] = {
        KEEP(.calls = 7),
        CREATE(.critical = true, .calls = 2, .finally = LB_FINALLY_OK),
        CREATE(.fields = fields, .n_fields = 3, .calls = 3, .shared = true, .note = "n",
               .owners = str_set_make(*state, both, 2), .summary = "s",
               .finally = LB_FINALLY_ALWAYS),
    };
    for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
        (void)lb_plan_add(&p, "n/b", &ops[i]);
    }
    struct lb_plan_service *s = lb_plan_service(&p, "n/a");
    struct err err = ERR_INIT;
    err_set(&err, ERR_INVALID, "no tier");
    s->err = &err;
    s->checked = 4;
    p.reads = 5;
    assert_int_equal(lb_plan_seal(&p, NULL), ERR_OK);
    const struct tt_plan *v = lb_plan_view(&p);
    assert_int_equal(v->n_operations, 3);
    assert_int_equal(v->waves, 2);
    assert_int_equal(v->calls, 5 + 2 + 3); /* what is kept costs nothing */
    assert_int_equal(v->operations[0]->wave, 0);
    assert_int_equal(v->operations[1]->n, 2);
    assert_int_equal(v->operations[1]->flags, TT_OP_CRITICAL);
    assert_int_equal(v->operations[2]->flags, TT_OP_SHARED | TT_OP_FINALLY);
    assert_int_equal(v->operations[2]->n_owners, 2);
    assert_string_equal(v->operations[2]->owners[0], "n/a");
    assert_string_equal(v->operations[2]->fields[0].new_text, "known after 2");
    assert_null(v->operations[2]->fields[0].old_text);
    assert_string_equal(v->operations[2]->fields[1].new_text, "PREMIUM");
    assert_null(v->operations[2]->fields[2].new_text);
    assert_int_equal(v->n_services, 2);
    assert_string_equal(v->services[0]->key, "n/a");
    assert_int_equal(v->services[0]->code, TT_INVALID);
    assert_string_equal(v->services[0]->message, "no tier");
    assert_int_equal(v->services[0]->checked, 4);
    assert_null(v->services[1]->message);
}

/* A deletion that may be undone takes down what works; of a change only the undo knows. */
static void lb_op_takes_down__by_its_undo(void **state)
{
    struct lb_undo changed = put_back;
    (void)state;
    changed.verb = LB_CHANGE;
    const struct lb_op change = REMOVE(.undo = &changed);
    assert_false(lb_op_takes_down(&change));
    changed.takes_down = true;
    assert_true(lb_op_takes_down(&change));
    const struct lb_op rows[] = {REMOVE(.undo = &put_back), REMOVE()};
    assert_true(lb_op_takes_down(&rows[0]));
    assert_false(lb_op_takes_down(&rows[1]));
}

static void lb_plan_view__undo__told_in_the_note(void **state)
{
    struct lb_plan p;
    const struct lb_op ops[] = {REMOVE(.undo = &put_back),
                                REMOVE(.undo = &put_back, .note = "made again below"), CREATE()};
    assert_int_equal(seal(*state, &p, ops, ARRAY_LEN(ops), NULL), ERR_OK);
    const struct tt_plan *v = lb_plan_view(&p);
    assert_string_equal(v->operations[0]->note, "put back if the replacement is refused");
    assert_string_equal(v->operations[1]->note,
                        "made again below; put back if the replacement is refused");
    assert_null(v->operations[2]->note);
}

/* A change for the sake of a deletion is undone with it, and interrupts like it. */
static void lb_plan_view__undo__flag_also_of_what_is_changed_with_what_goes(void **state)
{
    static const char *const others[] = {"n/b"};
    static const struct lb_undo as_it_was = {.verb = LB_CHANGE,
                                             .kind = "wall",
                                             .name = "w",
                                             .until_kind = "rule",
                                             .until_name = "r",
                                             .type = &no_type};
    struct lb_op wall = CREATE(.undo = &as_it_was);
    wall.verb = LB_CHANGE;
    struct lb_op of_another = wall;
    of_another.owners = (struct str_set){.items = others, .n = 1};
    const struct lb_op with[] = {wall, of_another, REMOVE(.undo = &put_back), CREATE()};
    const struct lb_op without[] = {wall, CREATE()};
    struct lb_plan p;
    assert_int_equal(seal(*state, &p, with, ARRAY_LEN(with), NULL), ERR_OK);
    const struct tt_plan *v = lb_plan_view(&p);
    assert_int_equal(v->operations[0]->flags & TT_OP_PUT_BACK, TT_OP_PUT_BACK);
    assert_int_equal(v->operations[1]->flags & TT_OP_PUT_BACK, 0);
    assert_int_equal(v->operations[2]->flags & TT_OP_PUT_BACK, TT_OP_PUT_BACK);
    assert_int_equal(seal(*state, &p, without, ARRAY_LEN(without), NULL), ERR_OK);
    assert_int_equal(lb_plan_view(&p)->operations[0]->flags & TT_OP_PUT_BACK, 0);
}

static void lb_plan_view__after__every_edge_also_of_barriers(void **state)
{
    struct lb_plan p;
    struct err err = ERR_INIT;
    lb_plan_init(&p, *state);
    const struct lb_op op = CREATE();
    const struct lb_op kept = KEEP();
    const struct lb_op critical = CREATE(.critical = true);
    const struct lb_op last = CREATE(.finally = LB_FINALLY_ALWAYS);
    const struct lb_op *const ops[] = {&op, &kept, &op, &critical, &op, &op, &op, &last};
    for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
        (void)lb_plan_add(&p, "n/a", ops[i]);
    }
    static const struct {
        int op;
        int on;
    } edges[] = {{0, -1}, {2, 0}, {2, 1}, {3, 0}, {4, 2}, {5, 3}, {5, 4}, {7, -1}};
    for (size_t i = 0; i < ARRAY_LEN(edges); i++) {
        lb_plan_after(&p, edges[i].op, edges[i].on);
    }
    assert_int_equal(lb_plan_seal(&p, &err), ERR_OK);
    /* Number 7 names no operation, so a reader takes it for one that waits for all waves before. */
    static const char *const want[] = {"", "", "1 ", "1 3 ", "3 4 ", "4 5 ", "", "7 "};
    const struct tt_plan *v = lb_plan_view(&p);
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        const char *got = "";
        for (uint32_t k = 0; k < v->operations[i]->n_after; k++) {
            got = arena_printf(*state, "%s%u ", got, v->operations[i]->after[k]);
        }
        assert_string_equal(got, want[i]);
    }
}

UNIT_MAIN(plan)
{
    const struct CMUnitTest tests[] = {
        lb_test(lb_plan_seal__parallel_and_keep__waves),
        lb_test(lb_plan_seal__broken_plans__bug),
        lb_test(lb_plan_seal__no_owner__bug),
        lb_test(lb_plan_add__many__indexes_and_copies_stay),
        lb_test(lb_plan_add__owners_given__each_has_an_entry),
        lb_test(lb_plan_view__sealed_plan__numbers_and_late_values),
        lb_test(lb_op_takes_down__by_its_undo),
        lb_test(lb_plan_view__undo__told_in_the_note),
        lb_test(lb_plan_view__undo__flag_also_of_what_is_changed_with_what_goes),
        lb_test(lb_plan_seal__tail__what_nothing_but_tidying_waits_for),
        lb_test(lb_plan_view__after__every_edge_also_of_barriers),
    };
    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
