/* SPDX-License-Identifier: Apache-2.0 */
/* test_locks.c: from when until when a sync holds the lock on groups of nodes, and the one round of
 * questions for a new balancer (aws_observe.c, aws_scope.c). */
#include "providers/aws/aws_sync.h"
#include "tests/support/unit.h"
#include "tests/unit/aws/flow_kit.h"

/* One that has been told its address. */
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

/* ---- the lock on groups of nodes ------------------------------------------------------------- */

static void hold__is_given_back_on_every_path(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {{"tag-key", 403, "UnauthorizedOperation no", 1},
                              {"elb DeregisterInstances", 403, "AccessDenied no", 1},
                              FLOW_CLASSIC_IS_FINE};
    k->rows = rows;
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, classic(k)), TT_FORBIDDEN);
    assert_true(hold_try_alone(k->p->node_groups));
    assert_true(hold_change(k->p->node_groups, HOLD_ALONE, HOLD_NOT, NULL));
    k->nodes = "n2";
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, classic(k)), TT_FORBIDDEN);
    assert_true(hold_try_alone(k->p->node_groups));
    assert_true(hold_change(k->p->node_groups, HOLD_ALONE, HOLD_NOT, NULL));
    assert_int_equal(flow_kit_sync(k, TT_VERB_DELETE, TT_REASON_CLEANUP, classic(k)), TT_OK);
    assert_true(hold_try_alone(k->p->node_groups));
    (void)hold_change(k->p->node_groups, HOLD_ALONE, HOLD_NOT, NULL);
}

/* Reads, and deletions that find nothing in the lists, do not wait. */
static void hold__is_not_needed_to_look(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {FLOW_CLASSIC_IS_FINE};
    k->rows = rows;
    assert_int_equal(flow_kit_open(k), TT_OK);
    assert_true(hold_try_alone(k->p->node_groups));
    nothing(k, TT_VERB_ENSURE, TT_REASON_RESYNC, classic(k));
    assert_int_equal(flow_kit_plan(k, classic(k)), TT_OK);
    assert_int_equal(flow_kit_get(k, classic(k)), TT_OK);
    (void)flow_kit_explain(k, classic(k));
    (void)hold_change(k->p->node_groups, HOLD_ALONE, HOLD_NOT, NULL);
}

static void hold__cancelled_while_waiting__ends(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {{"elb DescribeLoadBalancers", 0, FLOW_CLASSIC, 0},
                              {NULL, 0, NULL, 0}};
    k->rows = rows;
    assert_int_equal(flow_kit_open(k), TT_OK);
    assert_true(hold_try_alone(k->p->node_groups));
    k->cancels_after = "elb DescribeLoadBalancerAttributes";
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, classic(k)), TT_CANCELLED);
    (void)hold_change(k->p->node_groups, HOLD_ALONE, HOLD_NOT, NULL);
    assert_true(hold_try_alone(k->p->node_groups));
    (void)hold_change(k->p->node_groups, HOLD_ALONE, HOLD_NOT, NULL);
}

static bool is_free(struct flow_kit *k)
{
    bool got = hold_try_alone(k->p->node_groups);
    if (got) {
        (void)hold_change(k->p->node_groups, HOLD_ALONE, HOLD_NOT, NULL);
    }
    return got;
}

/* It guards the operations that change rules, and no others of the plan. */
static void hold__is_given_back_when_no_more_rules_change(void **state)
{
    struct flow_kit *k = *state;
    struct aws_scope x;
    struct aws_write revoke = {.action = "RevokeSecurityGroupIngress"};
    struct aws_write drop = {.action = "DeleteSecurityGroup"};
    struct lb_op ops[] = {
        LB_OP(.verb = LB_DELETE, .type = &aws_write_type, .arg = &revoke),
        LB_OP(.verb = LB_DELETE, .type = &aws_write_type, .arg = &revoke),
        LB_OP(.verb = LB_DELETE, .type = &aws_write_type, .arg = &drop),
    };
    struct lb_plan plan = {.ops = ops, .n_ops = 3};
    assert_int_equal(flow_kit_open(k), TT_OK);
    aws_scope_begin(&x, k->p, NULL);
    assert_true(hold_change(k->p->node_groups, HOLD_NOT, HOLD_ALONE, NULL));
    x.hold = HOLD_ALONE;
    aws_scope_plan(&x, &plan);
    aws_scope_ended(&x, &revoke);
    aws_scope_ended(&x, &drop);
    assert_false(is_free(k));
    aws_scope_ended(&x, &revoke);
    assert_true(is_free(k));
    assert_true(hold_change(k->p->node_groups, HOLD_NOT, HOLD_ALONE, NULL)); /* the next turn */
    x.hold = HOLD_ALONE;
    plan.n_ops = 0;
    aws_scope_plan(&x, &plan);
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
        FLOW_TEST(hold__is_given_back_on_every_path),
        FLOW_TEST(hold__is_not_needed_to_look),
        FLOW_TEST(hold__cancelled_while_waiting__ends),
        FLOW_TEST(hold__is_given_back_when_no_more_rules_change),
        FLOW_TEST(creation__all_in_one_round),
        FLOW_TEST(edit__the_balancer_is_asked_for_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
