/* SPDX-License-Identifier: Apache-2.0 */
/* test_locks.c: from when until when a sync has a stake in rules of shared groups, and the one
 * round of questions for a new balancer (aws_observe.c, aws_scope.c). */
#include "providers/aws/aws_sync.h"
#include "tests/support/unit.h"
#include "tests/unit/aws/flow_kit.h"

#include <pthread.h>
#include <sched.h>

/* One whose address is published. */
static const struct tt_service *classic(struct flow_kit *k)
{
    static const struct tt_ingress told = {.hostname = "lb.example.com"};
    struct tt_service *s = ARENA_NEW(k->a, struct tt_service);
    *s = *aws_test_object(k->a, NULL, NULL);
    s->ingress = &told;
    s->n_ingress = 1;
    return s;
}

static void nothing(struct flow_kit *k, uint32_t verb, uint32_t reasons,
                    const struct tt_service *svc)
{
    assert_int_equal(flow_kit_sync(k, verb, reasons, svc), TT_OK);
    assert_int_equal(k->changes, 0);
}

/* ---- rules that others share ----------------------------------------------------------------- */

/* The rule by which nodes let the classic balancer in. */
static bool takes_it_away(struct flow_kit *k, struct aws_stake *other)
{
    struct aws_staked rule = {.group = "sg-nodes",
                              .rule = {.protocol = "-1",
                                       .from = AWS_NO_PORT,
                                       .to = AWS_NO_PORT,
                                       .peer = AWS_PEER_GROUP,
                                       .source = "sg-own",
                                       .user = "",
                                       .description = ""}};
    aws_stake_look(k->p->stakes, other);
    return aws_stake_claims(other, &(struct aws_staked_list){0},
                            &(struct aws_staked_list){&rule, 1});
}

/* A stake that opposes all that a sync of the Service would do. */
static bool is_free(struct flow_kit *k)
{
    struct aws_stake other = {0};
    bool got = takes_it_away(k, &other);
    aws_stake_end(&other);
    return got;
}

static void stake__is_over_on_every_path(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {{"tag-key", 403, "UnauthorizedOperation no", 1},
                              {"elb DeregisterInstances", 403, "AccessDenied no", 1},
                              FLOW_CLASSIC_IS_FINE};
    k->rows = rows;
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, classic(k)), TT_FORBIDDEN);
    assert_true(is_free(k));
    k->nodes = "n2";
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, classic(k)), TT_FORBIDDEN);
    assert_true(is_free(k));
    assert_int_equal(flow_kit_sync(k, TT_VERB_DELETE, TT_REASON_CLEANUP, classic(k)), TT_OK);
    assert_true(is_free(k));
}

/* Reads do not wait, and neither do syncs that need other rules. */
static void stake__of_another__is_not_in_the_way(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {FLOW_CLASSIC_IS_FINE};
    struct aws_stake other = {0};
    struct aws_staked rule = {.group = "sg-nodes",
                              .rule = {.protocol = "tcp",
                                       .from = 31999,
                                       .to = 31999,
                                       .source = "0.0.0.0/0",
                                       .user = "",
                                       .description = ""}};
    k->rows = rows;
    assert_int_equal(flow_kit_open(k), TT_OK);
    assert_true(takes_it_away(k, &other));
    nothing(k, TT_VERB_ENSURE, TT_REASON_RESYNC, classic(k));
    assert_int_equal(flow_kit_plan(k, classic(k)), TT_OK);
    assert_int_equal(flow_kit_get(k, classic(k)), TT_OK);
    (void)flow_kit_explain(k, classic(k));
    aws_stake_look(k->p->stakes, &other);
    assert_true(aws_stake_claims(&other, &(struct aws_staked_list){0},
                                 &(struct aws_staked_list){&rule, 1}));
    nothing(k, TT_VERB_ENSURE, TT_REASON_SPEC, classic(k));
    aws_stake_end(&other);
}

struct ending {
    struct flow_kit *k;
    struct aws_stake *stake;
};

static void *end_when_it_has_looked(void *arg)
{
    struct ending *e = arg;
    while (flow_kit_count(e->k, "tag-key") == 0) {
        sched_yield();
    }
    aws_stake_end(e->stake);
    return NULL;
}

/* Another sync takes away what this one finds: it waits for it, looks again, and adds the rule if
 * it is gone. */
static void stake__of_another_in_the_same_rule__looked_at_again(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {FLOW_CLASSIC_IS_FINE};
    struct aws_stake other = {0};
    struct ending e = {k, &other};
    pthread_t thread;
    k->rows = rows;
    assert_int_equal(flow_kit_open(k), TT_OK);
    assert_true(takes_it_away(k, &other));
    assert_int_equal(pthread_create(&thread, NULL, end_when_it_has_looked, &e), 0);
    flow_kit_lets_time_pass(k);
    nothing(k, TT_VERB_ENSURE, TT_REASON_SPEC, classic(k));
    pthread_join(thread, NULL);
    assert_int_equal(flow_kit_count(k, "tag-key"), 2);
}

/* It lasts as long as the operations that change rules, each kind by itself. */
static void stake__is_over_when_no_more_rules_change(void **state)
{
    struct flow_kit *k = *state;
    struct aws_scope x;
    const struct aws_rule nodes = {.protocol = "-1",
                                   .from = AWS_NO_PORT,
                                   .to = AWS_NO_PORT,
                                   .peer = AWS_PEER_GROUP,
                                   .source = "sg-own",
                                   .user = "",
                                   .description = ""};
    struct aws_staked needed = {.group = "sg-nodes", .rule = nodes};
    const struct aws_staked_list needs = {&needed, 1};
    struct aws_write let_in = {.action = "AuthorizeSecurityGroupIngress"};
    struct aws_write drop = {.action = "DeleteSecurityGroup"};
    struct lb_op ops[] = {
        LB_OP(.verb = LB_CHANGE, .type = &aws_write_type, .arg = &let_in),
        LB_OP(.verb = LB_CHANGE, .type = &aws_write_type, .arg = &let_in),
        LB_OP(.verb = LB_DELETE, .type = &aws_write_type, .arg = &drop),
    };
    struct lb_plan plan = {.ops = ops, .n_ops = 3};
    assert_int_equal(flow_kit_open(k), TT_OK);
    aws_scope_begin(&x, k->p, NULL);
    assert_int_equal(aws_scope_look(&x, NULL, NULL), ERR_OK);
    assert_int_equal(aws_scope_claim(&x, &plan, &needs, NULL), ERR_OK);
    aws_scope_ended(&x, &let_in);
    aws_scope_ended(&x, &drop);
    assert_false(is_free(k));
    aws_scope_ended(&x, &let_in);
    assert_true(is_free(k));
    assert_int_equal(aws_scope_look(&x, NULL, NULL), ERR_OK); /* the next turn */
    plan.n_ops = 0;
    assert_int_equal(aws_scope_claim(&x, &plan, &needs, NULL), ERR_OK);
    assert_true(is_free(k));
    aws_scope_end(&x);
    assert_true(is_free(k));
}

/* ---- rounds ---------------------------------------------------------------------------------- */

/* All that a new balancer needs is asked for together with the question for it: when the answer to
 * that one is an error, the others were sent, too. */
static void creation__all_in_one_round(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {{"elb DescribeLoadBalancers", 403, "AccessDenied no", 0},
                              {NULL, 0, NULL, 0}};
    k->rows = rows;
    const struct tt_service *svc = aws_test_object(k->a, NULL, NULL);
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, svc), TT_FORBIDDEN);
    assert_int_equal(flow_kit_count(k, "tag-key"), 1);
    assert_int_equal(flow_kit_count(k, "ec2 DescribeSubnets"), 1);
    assert_int_equal(flow_kit_count(k, "ec2 DescribeRouteTables"), 1);
}

/* One that has an address is not new: nothing is asked ahead. */
static void edit__the_balancer_is_asked_for_first(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {{"elb DescribeLoadBalancers", 403, "AccessDenied no", 0},
                              {NULL, 0, NULL, 0}};
    k->rows = rows;
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, classic(k)), TT_FORBIDDEN);
    assert_int_equal(flow_kit_count(k, "tag-key"), 0);
}

UNIT_MAIN(locks)
{
    const struct CMUnitTest tests[] = {
        FLOW_TEST(stake__is_over_on_every_path),
        FLOW_TEST(stake__of_another__is_not_in_the_way),
        FLOW_TEST(stake__of_another_in_the_same_rule__looked_at_again),
        FLOW_TEST(stake__is_over_when_no_more_rules_change),
        FLOW_TEST(creation__all_in_one_round),
        FLOW_TEST(edit__the_balancer_is_asked_for_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
