/* SPDX-License-Identifier: Apache-2.0 */
/* test_call_budget.c: calls wait for their turn in the budget of their group, and what they are refused shrinks it. */
#include "tests/unit/aws/call_dialog.h"

#include "providers/aws/api/aws_budget.h"
#include "providers/aws/api/aws_client.h"
#include "tests/support/unit.h"

/* The last change that the budgets told of. */
static struct budget_view told;

static void note(void *arg, enum budget_event event, const struct budget_view *now)
{
    (void)arg;
    (void)event;
    told = *now;
}

static void open_with_budgets(struct call_kit *k)
{
    told = (struct budget_view){0};
    call_kit_open(k, KIT_KEYS, KIT_URL, NULL);
    k->client->request_budgets = budgets_new(aws_budget_limits, AWS_BUDGETS, k->clock, note, NULL);
}

static void close_budgets(struct call_kit *k)
{
    budgets_free(k->client->request_budgets);
    k->client->request_budgets = NULL;
}

/* One step of a fresh call; when it may be sent, counted from now. */
static int64_t waits(struct call_kit *k, enum aws_api api, const char *action, bool mutates,
                     bool background)
{
    struct dialog d;
    dialog_begin(&d, k, api, mutates);
    d.call.action = action;
    d.call.background = background;
    int64_t now = clock_now_ms(k->clock);
    d.next = aws_call_step(&d.call, &d.req, NULL, now, clock_wall_us(k->clock), UNIT, &d.err);
    assert_int_not_equal(d.next, HTTP_DONE);
    return d.next == HTTP_SEND ? 0 : d.req.not_before_ms - now;
}

static void budget_of__actions__by_the_buckets_of_aws(void **state)
{
    (void)state;
    static const struct {
        enum aws_api api;
        const char *action;
        bool mutates;
        const char *kind;
    } rows[] = {
        {AWS_EC2, "DescribeSecurityGroups", false, "ec2 reads"},
        {AWS_EC2, "AuthorizeSecurityGroupIngress", true, "ec2 authorizations"},
        {AWS_EC2, "RevokeSecurityGroupIngress", true, "ec2 revocations"},
        {AWS_EC2, "CreateSecurityGroup", true, "ec2 other writes"},
        {AWS_ELB, "CreateLoadBalancer", true, "elb balancers"},
        {AWS_ELB, "RegisterInstancesWithLoadBalancer", true, "elb registrations"},
        {AWS_ELB, "ConfigureHealthCheck", true, "elb other writes"},
        {AWS_ELBV2, "DescribeTargetHealth", false, "elbv2 reads"},
        {AWS_ELBV2, "DeregisterTargets", true, "elbv2 registrations"},
        {AWS_ELBV2, "DeleteLoadBalancer", true, "elbv2 balancers"},
        {AWS_ELBV2, "CreateTargetGroup", true, "elbv2 other writes"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        size_t n = aws_budget_of(rows[i].api, rows[i].action, rows[i].mutates);
        assert_in_range(n, 0, AWS_BUDGETS - 1);
        assert_string_equal(aws_budget_limits[n].kind, rows[i].kind);
    }
}

static void call__its_group_is_used_up__waits_and_others_go(void **state)
{
    struct call_kit *k = *state;
    open_with_budgets(k);
    for (int i = 0; i < 40; i++) {
        assert_int_equal(waits(k, AWS_ELBV2, "CreateLoadBalancer", true, false), 0);
    }
    assert_int_equal(waits(k, AWS_ELBV2, "CreateLoadBalancer", true, false), 100);
    assert_int_equal(waits(k, AWS_ELBV2, "CreateLoadBalancer", true, false), 200);
    assert_int_equal(waits(k, AWS_ELBV2, "RegisterTargets", true, false), 0);
    assert_int_equal(waits(k, AWS_ELB, "CreateLoadBalancer", true, false), 0);
    close_budgets(k);
}

static void call__nobody_waits_for_it__leaves_a_quarter_to_others(void **state)
{
    struct call_kit *k = *state;
    open_with_budgets(k);
    for (int i = 0; i < 30; i++) {
        assert_int_equal(waits(k, AWS_ELB, "DescribeLoadBalancers", false, true), 0);
    }
    assert_in_range(waits(k, AWS_ELB, "DescribeLoadBalancers", false, true), 1, 101);
    assert_int_equal(waits(k, AWS_ELB, "DescribeLoadBalancers", false, false), 0);
    close_budgets(k);
}

static void call__refused_as_too_many__is_sent_again_when_its_turn_comes(void **state)
{
    struct call_kit *k = *state;
    static const struct turn turns[] = {{.status = 503, .body = REFUSAL("RequestLimitExceeded")},
                                        {.waits_ms = 1000, .status = 200, .body = OK}};
    struct dialog d;
    open_with_budgets(k);
    dialog_begin(&d, k, AWS_EC2, false);
    dialog_step(&d, NULL);
    for (size_t i = 0; i < ARRAY_LEN(turns); i++) {
        dialog_check_sent(&d, "refused once", i, &turns[i]);
        dialog_answer(&d, &turns[i]);
    }
    assert_int_equal(d.next, HTTP_DONE);
    assert_int_equal(d.err.code, ERR_OK);
    assert_string_equal(told.kind, "ec2 reads");
    assert_int_equal(told.refused, 1);
    assert_true(told.per_second < 20.0);
    close_budgets(k);
}

UNIT_MAIN(call_budget)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(budget_of__actions__by_the_buckets_of_aws),
        CALL_TEST(call__its_group_is_used_up__waits_and_others_go),
        CALL_TEST(call__nobody_waits_for_it__leaves_a_quarter_to_others),
        CALL_TEST(call__refused_as_too_many__is_sent_again_when_its_turn_comes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
