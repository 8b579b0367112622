/* SPDX-License-Identifier: Apache-2.0 */
/* test_stakes.c: which syncs may change rules of shared security groups beside each other
 * (aws_stakes.h). */
#include "providers/aws/cloud/aws_stakes.h"
#include "tests/support/unit.h"
#include "tests/unit/aws/aws_test.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

/* A rule of the group "sg-nodes" for one port. */
static struct aws_staked port(int32_t n)
{
    return (struct aws_staked){.group = "sg-nodes",
                               .rule = {.protocol = "tcp",
                                        .from = n,
                                        .to = n,
                                        .peer = AWS_PEER_CIDR,
                                        .source = "0.0.0.0/0",
                                        .user = "",
                                        .description = "of another"}};
}

/* Claims the rules of two ports; 0: none. */
static bool claims(struct aws_stake *s, int32_t needs, int32_t leaves)
{
    struct aws_staked need = port(needs);
    struct aws_staked leave = port(leaves);
    return aws_stake_claims(s, &(struct aws_staked_list){&need, needs != 0},
                            &(struct aws_staked_list){&leave, leaves != 0});
}

static size_t leaving(const struct aws_stake *s, int32_t n)
{
    struct arena *a = arena_new();
    struct aws_staked want = port(n);
    struct aws_rules all = aws_stake_leaving(s, a, "sg-nodes");
    size_t found = aws_rules_have(&all, &want.rule);
    arena_free(a);
    return found;
}

/* Two edits, each of its own ports, with a rule that both need. */
static void claims__of_different_rules__do_not_meet(void **state)
{
    (void)state;
    struct aws_stakes *t = aws_stakes_new();
    struct aws_stake x = {0}, y = {0};
    aws_stake_look(t, &x);
    aws_stake_look(t, &y);
    assert_true(claims(&x, 3, 1));
    assert_true(claims(&y, 3, 2));
    aws_stake_end(&x);
    aws_stake_end(&y);
    aws_stakes_free(t);
}

/* One finds a rule there and adds it no more, the other takes it away: the second of them looks
 * again, also when the first is over, because what it has read is older than that. */
static void claims__of_one_rule__the_second_looks_again(void **state)
{
    (void)state;
    const struct {
        int32_t first_needs, first_leaves, second_needs, second_leaves;
        bool over;
    } rows[] = {{0, 1, 1, 0, false}, {1, 0, 0, 1, false}, {0, 1, 1, 0, true}, {1, 0, 0, 1, true}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct aws_stakes *t = aws_stakes_new();
        struct aws_stake x = {0}, y = {0};
        aws_stake_look(t, &x);
        aws_stake_look(t, &y);
        assert_true(claims(&x, rows[i].first_needs, rows[i].first_leaves));
        if (rows[i].over) {
            aws_stake_end(&x);
        }
        assert_false(claims(&y, rows[i].second_needs, rows[i].second_leaves));
        aws_stake_end(&x);
        assert_true(aws_stake_wait(&y, NULL)); /* at once: nothing is under way */
        aws_stake_look(t, &y);
        assert_true(claims(&y, rows[i].second_needs, rows[i].second_leaves));
        aws_stake_end(&y);
        aws_stakes_free(t);
    }
}

/* Rules that have come, and rules that have left, do not wait for each other. */
static void over__by_kind__opens_the_way(void **state)
{
    (void)state;
    struct aws_stakes *t = aws_stakes_new();
    struct aws_stake x = {0}, y = {0};
    aws_stake_look(t, &x);
    assert_true(claims(&x, 1, 2));
    aws_stake_come(&x);
    aws_stake_look(t, &y);
    assert_true(claims(&y, 0, 1)); /* read after it had come: others' needs are known */
    aws_stake_look(t, &y);
    assert_false(claims(&y, 2, 0));
    aws_stake_left(&x);
    aws_stake_look(t, &y);
    assert_true(claims(&y, 2, 0));
    aws_stake_come(&x); /* once more is nothing */
    aws_stake_end(&x);
    aws_stake_end(&y);
    aws_stake_end(&y);
    aws_stakes_free(t);
}

/* Of two that go at once, the second counts what the first takes away as gone. */
static void leaving__what_others_take_away__until_a_look_has_seen_it(void **state)
{
    (void)state;
    struct aws_stakes *t = aws_stakes_new();
    struct aws_stake x = {0}, y = {0};
    aws_stake_look(t, &x);
    aws_stake_look(t, &y);
    assert_true(claims(&x, 0, 1));
    assert_int_equal(leaving(&y, 1), 1);
    assert_int_equal(leaving(&y, 2), 0);
    aws_stake_end(&x);
    assert_int_equal(leaving(&y, 1), 1);
    aws_stake_look(t, &y);
    assert_int_equal(leaving(&y, 1), 0);
    aws_stake_end(&y);
    aws_stakes_free(t);
}

struct waiter {
    struct aws_stakes *t;
    struct aws_stake stake;
    struct cancel *cancel;
    atomic_int waits; /* 1: it is about to wait; 2: it has waited */
    bool got;
};

static void *wait_for_it(void *arg)
{
    struct waiter *w = arg;
    atomic_store(&w->waits, 1);
    w->got = aws_stake_wait(&w->stake, w->cancel);
    atomic_store(&w->waits, 2);
    return NULL;
}

/* Until the other one's rules have left, and no longer. */
static void wait__until_the_other_is_over(void **state)
{
    (void)state;
    struct waiter w = {.t = aws_stakes_new(), .cancel = cancel_new(NULL)};
    struct aws_stake x = {0};
    pthread_t thread;
    aws_stake_look(w.t, &x);
    aws_stake_look(w.t, &w.stake);
    assert_true(claims(&x, 0, 1));
    assert_false(claims(&w.stake, 1, 0));
    assert_int_equal(pthread_create(&thread, NULL, wait_for_it, &w), 0);
    while (atomic_load(&w.waits) == 0) {
        sched_yield();
    }
    aws_stake_come(&x); /* not what it waits for */
    assert_int_not_equal(atomic_load(&w.waits), 2);
    aws_stake_left(&x);
    pthread_join(thread, NULL);
    assert_true(w.got);
    aws_stake_end(&x);
    aws_stake_end(&w.stake);
    cancel_free(w.cancel);
    aws_stakes_free(w.t);
}

static void wait__cancelled__ends(void **state)
{
    (void)state;
    struct waiter w = {.t = aws_stakes_new(), .cancel = cancel_new(NULL)};
    struct aws_stake x = {0};
    pthread_t thread;
    aws_stake_look(w.t, &x);
    aws_stake_look(w.t, &w.stake);
    assert_true(claims(&x, 0, 1));
    assert_false(claims(&w.stake, 1, 0));
    assert_int_equal(pthread_create(&thread, NULL, wait_for_it, &w), 0);
    cancel_fire(w.cancel);
    pthread_join(thread, NULL);
    assert_false(w.got);
    aws_stake_end(&w.stake);
    aws_stake_end(&x);
    cancel_free(w.cancel);
    aws_stakes_free(w.t);
}

UNIT_MAIN(stakes)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claims__of_different_rules__do_not_meet),
        cmocka_unit_test(claims__of_one_rule__the_second_looks_again),
        cmocka_unit_test(over__by_kind__opens_the_way),
        cmocka_unit_test(leaving__what_others_take_away__until_a_look_has_seen_it),
        cmocka_unit_test(wait__until_the_other_is_over),
        cmocka_unit_test(wait__cancelled__ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
