/* SPDX-License-Identifier: Apache-2.0 */
/* test_draft.c: drafts become operations: phase by phase, with indexes in place of handles. */
#include "common/lb/draft.h"

#include "common/base/str.h"
#include "tests/support/unit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define PHASES 3

struct mine {
    struct lb_draft draft;
    const char *note;
};

struct kit {
    struct arena *a;
    struct lb_plan plan;
    struct lb_drafts d;
    struct str_buf seen; /* calls of complete() and placed() */
};

static int setup(void **state)
{
    struct arena *a = arena_new();
    struct kit *k = ARENA_NEW(a, struct kit);
    *k = (struct kit){.a = a, .seen = STR_BUF_INIT};
    lb_plan_init(&k->plan, a);
    lb_drafts_init(&k->d, a, sizeof(struct mine));
    *state = k;
    return 0;
}

static int teardown(void **state)
{
    struct kit *k = *state;
    str_buf_done(&k->seen);
    arena_free(k->a);
    return 0;
}

static int draft(struct kit *k, int phase, enum lb_verb verb, const char *name)
{
    const struct lb_op op = LB_OP(.verb = verb, .kind = "thing", .name = name);
    return lb_drafts_add(&k->d, &(struct mine){.draft = LB_DRAFT(phase, op), .note = name});
}

static struct lb_op *op_of(struct kit *k, int handle)
{
    return &((struct mine *)lb_drafts_at(&k->d, handle))->draft.op;
}

static void complete(void *arg, struct lb_draft *d)
{
    struct kit *k = arg;
    str_appendf(&k->seen, "%s?", ((struct mine *)d)->note);
}

static void placed(void *arg, struct lb_draft *d)
{
    struct kit *k = arg;
    str_appendf(&k->seen, "%d ", d->at);
}

static void place(struct kit *k, size_t most)
{
    lb_drafts_place(&k->d, &(struct lb_drafts_how){.plan = &k->plan,
                                                   .key = "d/a",
                                                   .n_phases = PHASES,
                                                   .most = most,
                                                   .complete = complete,
                                                   .placed = placed,
                                                   .arg = k});
}

/* "a b|c": names in the order of the plan; a bar ends a wave. */
static const char *shown(struct kit *k)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < k->plan.n_ops; i++) {
        const struct lb_op *op = &k->plan.ops[i];
        str_appendf(&b, "%s%s", i == 0 ? "" : op->parallel ? " " : "|", op->name);
    }
    return str_buf_to_arena(&b, k->a);
}

static void place__several_phases__in_their_order_and_side_by_side(void **state)
{
    struct kit *k = *state;
    (void)draft(k, 2, LB_DELETE, "last");
    (void)draft(k, 0, LB_CREATE, "a");
    (void)draft(k, 1, LB_CHANGE, "mid");
    (void)draft(k, 0, LB_CREATE, "b");
    place(k, 0);
    assert_string_equal(shown(k), "a b|mid|last");
    assert_string_equal(str_buf_text(&k->seen), "a?0 b?1 mid?2 last?3 ");
}

static void place__more_than_a_wave_holds__begins_another_but_for_what_is_sent_after(void **state)
{
    struct kit *k = *state;
    (void)draft(k, 0, LB_CREATE, "a");
    int b = draft(k, 0, LB_CREATE, "b");
    int c = draft(k, 0, LB_CREATE, "c");
    (void)draft(k, 0, LB_CREATE, "d");
    op_of(k, c)->sent_after = b;
    place(k, 2);
    assert_string_equal(shown(k), "a b c|d");
    assert_int_equal(k->plan.ops[2].sent_after, 1);
}

static void place__references__become_indexes(void **state)
{
    struct kit *k = *state;
    int user = draft(k, 1, LB_CREATE, "user");
    int made = draft(k, 0, LB_CREATE, "made");
    struct lb_field fields[] = {{.path = "address", .new_value = LB_VALUE_OF(made, "address")},
                                {.path = "name", .new_value = LB_VALUE("x")}};
    op_of(k, user)->fields = fields;
    op_of(k, user)->n_fields = ARRAY_LEN(fields);
    op_of(k, user)->only_if_op = made;
    place(k, 0);
    assert_string_equal(shown(k), "made|user");
    assert_int_equal(k->plan.ops[1].only_if_op, 0);
    assert_int_equal(k->plan.ops[1].fields[0].new_value.op, 0);
    assert_string_equal(k->plan.ops[1].fields[1].new_value.text, "x");
    assert_int_equal(k->plan.ops[0].only_if_op, -1);
    assert_int_equal(lb_drafts_index(&k->d, user), 1);
    assert_int_equal(lb_drafts_index(&k->d, -1), -1);
}

static void place__kept_and_aside__open_no_wave(void **state)
{
    struct kit *k = *state;
    (void)draft(k, 0, LB_KEEP, "kept");
    int undo = draft(k, 0, LB_CREATE, "undo");
    (void)draft(k, 0, LB_CREATE, "a");
    (void)draft(k, 0, LB_KEEP, "too");
    (void)draft(k, 0, LB_CREATE, "b");
    ((struct mine *)lb_drafts_at(&k->d, undo))->draft.aside = true;
    place(k, 0);
    assert_string_equal(shown(k), "kept|a|too b");
}

static void clear__handles_begin_anew(void **state)
{
    struct kit *k = *state;
    for (int i = 0; i < 100; i++) { /* more than there is room for at first */
        assert_int_equal(draft(k, 0, LB_CREATE, "a"), i);
    }
    lb_drafts_clear(&k->d);
    assert_int_equal(draft(k, 0, LB_CREATE, "b"), 0);
    place(k, 0);
    assert_string_equal(shown(k), "b");
}

#define KIT_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

UNIT_MAIN(draft)
{
    const struct CMUnitTest tests[] = {
        KIT_TEST(place__several_phases__in_their_order_and_side_by_side),
        KIT_TEST(place__more_than_a_wave_holds__begins_another_but_for_what_is_sent_after),
        KIT_TEST(place__references__become_indexes),
        KIT_TEST(place__kept_and_aside__open_no_wave),
        KIT_TEST(clear__handles_begin_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
