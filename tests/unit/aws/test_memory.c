/* SPDX-License-Identifier: Apache-2.0 */
/* test_memory.c: what is remembered of Services: bits, since when a group waits, what was made
 * and changed last. */
#include "providers/aws/cloud/aws_memory.h"
#include "tests/support/unit.h"
#include "tests/unit/aws/aws_test.h"

static void group__made__known_until_it_is_old(void **state)
{
    struct arena *a = *state;
    struct aws_memory *m = aws_memory_new();
    assert_null(aws_memory_group(m, a, "u", 0));
    aws_memory_group_made(m, "u", "sg-1", 1000);
    assert_string_equal(aws_memory_group(m, a, "u", 1000), "sg-1");
    assert_null(aws_memory_group(m, a, "u", 1001));
    assert_null(aws_memory_group(m, a, "v", 0));
    aws_memory_free(m);
}

static void group__deleted__is_forgotten_alone(void **state)
{
    struct arena *a = *state;
    struct aws_memory *m = aws_memory_new();
    aws_memory_group_gone(m, "u", "sg-1"); /* nothing is known: no matter */
    aws_memory_set(m, "u", AWS_KNOWS_NO_NLB, AWS_KNOWS_NO_NLB);
    aws_memory_group_made(m, "u", "sg-2", 1000);
    aws_memory_group_gone(m, "u", "sg-1");
    assert_string_equal(aws_memory_group(m, a, "u", 0), "sg-2");
    aws_memory_group_gone(m, "u", "sg-2");
    assert_null(aws_memory_group(m, a, "u", 0));
    assert_int_equal(aws_memory_get(m, "u"), AWS_KNOWS_NO_NLB);
    aws_memory_free(m);
}

static void service__dropped__all_is_forgotten(void **state)
{
    struct arena *a = *state;
    struct aws_memory *m = aws_memory_new();
    assert_int_equal(aws_memory_waits_since(m, "u", 7), 7);
    assert_int_equal(aws_memory_waits_since(m, "u", 9), 7);
    aws_memory_set(m, "u", AWS_KNOWS_NO_CLASSIC, AWS_KNOWS_NO_CLASSIC);
    aws_memory_group_made(m, "u", "sg-1", 1000);
    aws_memory_drop(m, "u");
    assert_int_equal(aws_memory_get(m, "u"), 0);
    assert_null(aws_memory_group(m, a, "u", 0));
    assert_int_equal(aws_memory_waits_since(m, "u", 9), 9);
    aws_memory_free(m);
}

static const char *unshown(struct aws_memory *m, struct arena *a, const char *shown)
{
    struct str_set set = str_set_make(a, &shown, shown != NULL ? 1 : 0);
    return aws_memory_unshown_group(m, a, "u", 1000, &set);
}

static void target_groups__made__are_unshown_until_seen_old_or_gone(void **state)
{
    struct arena *a = *state;
    struct aws_memory *m = aws_memory_new();
    aws_memory_target_group_gone(m, "u", "tg-1"); /* nothing is known: no matter */
    assert_null(unshown(m, a, NULL));
    aws_memory_target_group_made(m, "u", "tg-1", 999);
    assert_null(unshown(m, a, NULL)); /* too old */
    aws_memory_target_group_made(m, "u", "tg-1", 1000);
    aws_memory_target_group_made(m, "u", "tg-2", 1000);
    assert_string_equal(unshown(m, a, "tg-1"), "tg-2");
    assert_string_equal(unshown(m, a, "tg-2"), "tg-1");
    aws_memory_target_group_gone(m, "u", "tg-1");
    assert_null(unshown(m, a, "tg-2"));
    assert_string_equal(unshown(m, a, NULL), "tg-2");
    aws_memory_drop(m, "u");
    assert_null(unshown(m, a, NULL));
    aws_memory_free(m);
}

/* An answer that did not name what was made: no list will ever show "", and no sync may
 * wait for it. */
static void made__without_a_name__is_not_waited_for(void **state)
{
    struct arena *a = *state;
    struct aws_memory *m = aws_memory_new();
    aws_memory_group_made(m, "u", "", 1000);
    aws_memory_target_group_made(m, "u", "", 1000);
    assert_null(aws_memory_group(m, a, "u", 0));
    assert_null(aws_memory_unshown_group(m, a, "u", 0, &(struct str_set){0}));
    aws_memory_free(m);
}

static void balancer__made__known_until_it_goes(void **state)
{
    struct aws_memory *m = aws_memory_new();
    (void)state;
    assert_int_equal(aws_memory_balancer_made_ms(m, "u"), 0);
    aws_memory_balancer_made(m, "u", 1000);
    assert_int_equal(aws_memory_balancer_made_ms(m, "u"), 1000);
    assert_int_equal(aws_memory_balancer_made_ms(m, "v"), 0);
    aws_memory_balancer_gone(m, "u");
    assert_int_equal(aws_memory_balancer_made_ms(m, "u"), 0);
    aws_memory_balancer_made(m, "u", 2000);
    aws_memory_drop(m, "u");
    assert_int_equal(aws_memory_balancer_made_ms(m, "u"), 0);
    aws_memory_free(m);
}

static void change__noted__the_last_one_counts(void **state)
{
    struct aws_memory *m = aws_memory_new();
    (void)state;
    assert_int_equal(aws_memory_wrote_ms(m, "u"), 0);
    aws_memory_wrote(m, "u", 1000);
    aws_memory_wrote(m, "u", 3000);
    assert_int_equal(aws_memory_wrote_ms(m, "u"), 3000);
    assert_int_equal(aws_memory_wrote_ms(m, "v"), 0);
    aws_memory_drop(m, "u");
    assert_int_equal(aws_memory_wrote_ms(m, "u"), 0);
    aws_memory_free(m);
}

static void beginning__is_the_first_call(void **state)
{
    struct aws_memory *m = aws_memory_new();
    (void)state;
    assert_int_equal(aws_memory_began_ms(m, 0), 0);
    assert_int_equal(aws_memory_began_ms(m, 5000), 0);
    aws_memory_free(m);
}

UNIT_MAIN(memory)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(group__made__known_until_it_is_old),
        PURE_TEST(group__deleted__is_forgotten_alone),
        PURE_TEST(service__dropped__all_is_forgotten),
        PURE_TEST(target_groups__made__are_unshown_until_seen_old_or_gone),
        PURE_TEST(made__without_a_name__is_not_waited_for),
        PURE_TEST(balancer__made__known_until_it_goes),
        PURE_TEST(change__noted__the_last_one_counts),
        PURE_TEST(beginning__is_the_first_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
