/* SPDX-License-Identifier: Apache-2.0 */
/* nlb_targets.c: targets of the simulated network load balancers: registering, draining, health.
 *
 * Source: docs/spec/aws.md §5.6, §10.4 rows 14–16. */
#include "tests/support/clock_fake.h"
#include "tests/support/unit.h"
#include "tests/unit/sim/lb/lb_fixture.h"

#define HEALTH     "Action=DescribeTargetHealth&TargetGroupArn={tg}"
#define REGISTER   "Action=RegisterTargets&TargetGroupArn={tg}&Targets.member.1.Id="
#define DEREGISTER "Action=DeregisterTargets&TargetGroupArn={tg}&Targets.member.1.Id="

static int setup(void **state)
{
    struct lb_test *t = lb_start();
    lb_make_nlb(t);
    *state = t;
    return 0;
}

static int teardown(void **state)
{
    lb_stop(*state);
    return 0;
}

/* State and reason of the target at this place of the last answer. */
static void check(struct lb_test *t, size_t i, const char *id, const char *port, const char *state,
                  const char *reason)
{
    struct arena *a = t->e->a;
    const char *at = arena_printf(a, "TargetHealthDescriptions.%zu.", i);
    assert_string_equal(lb_text(t, arena_printf(a, "%sTarget.Id", at)), lb_filled(t, id));
    assert_string_equal(lb_text(t, arena_printf(a, "%sTarget.Port", at)), port);
    assert_string_equal(lb_text(t, arena_printf(a, "%sTargetHealth.State", at)), state);
    assert_string_equal(lb_text(t, arena_printf(a, "%sTargetHealth.Reason", at)), reason);
}

static void register__twice_and_with_another_port__ports_count(void **state)
{
    struct lb_test *t = *state;
    v2(t, REGISTER "{i0}"); /* the group's own port */
    v2(t, REGISTER "{i0}&Targets.member.1.Port=30081&Targets.member.2.Id={i0}&"
                   "Targets.member.2.Port=30081");
    v2(t, HEALTH);
    assert_int_equal(lb_len(t, "TargetHealthDescriptions"), 2);
    check(t, 0, "{i0}", "30080", "healthy", "");
    assert_string_equal(lb_text(t, "TargetHealthDescriptions.0.HealthCheckPort"), "30080");
    check(t, 1, "{i0}", "30081", "healthy", "");
    v2(t, DEREGISTER "{i0}&Targets.member.1.Port=30081");
    v2(t, HEALTH);
    assert_int_equal(lb_len(t, "TargetHealthDescriptions"), 1);
    check(t, 0, "{i0}", "30080", "healthy", "");
}

static void modify_group__another_health_check_port__targets_are_asked_there(void **state)
{
    struct lb_test *t = *state;
    v2(t, REGISTER "{i0}");
    v2(t, "Action=ModifyTargetGroup&TargetGroupArn={tg}&HealthCheckPort=32001");
    v2(t, HEALTH);
    assert_string_equal(lb_text(t, "TargetHealthDescriptions.0.HealthCheckPort"), "32001");
    v2(t, "Action=ModifyTargetGroup&TargetGroupArn={tg}&HealthCheckPort=traffic-port");
    v2(t, HEALTH);
    assert_string_equal(lb_text(t, "TargetHealthDescriptions.0.HealthCheckPort"), "30080");
}

static void deregister__what_is_not_there__succeeds(void **state)
{
    struct lb_test *t = *state;
    const char *before = ec2_state(t->e);
    v2(t, DEREGISTER "{i1}");
    v2(t, DEREGISTER "{i0}&Targets.member.1.Port=1");
    v2(t, DEREGISTER ABSENT("i-"));
    assert_string_equal(ec2_state(t->e), before);
}

static void deregister__draining_ms__drains_and_goes(void **state)
{
    struct lb_test *t = *state;
    ec2_setting(t->e, "draining_ms", 2000);
    v2(t, DEREGISTER "{i0}");
    v2(t, HEALTH);
    check(t, 0, "{i0}", "30080", "draining", "Target.DeregistrationInProgress");
    clock_fake_advance(t->e->clock, 1999);
    v2(t, DEREGISTER "{i0}"); /* again: does not begin again */
    v2(t, HEALTH);
    assert_int_equal(lb_len(t, "TargetHealthDescriptions"), 1);
    clock_fake_advance(t->e->clock, 1);
    v2(t, HEALTH);
    assert_int_equal(lb_len(t, "TargetHealthDescriptions"), 0);
}

static void register__while_it_drains__stays(void **state)
{
    struct lb_test *t = *state;
    ec2_setting(t->e, "draining_ms", 2000);
    v2(t, DEREGISTER "{i0}");
    v2(t, REGISTER "{i0}");
    v2(t, HEALTH);
    check(t, 0, "{i0}", "30080", "healthy", "");
    clock_fake_advance(t->e->clock, 5000);
    v2(t, HEALTH);
    check(t, 0, "{i0}", "30080", "healthy", "");
}

static void health__healthy_after_ms__is_initial_so_long(void **state)
{
    struct lb_test *t = *state;
    ec2_setting(t->e, "healthy_after_ms", 3000);
    v2(t, REGISTER "{i1}");
    v2(t, HEALTH);
    check(t, 0, "{i0}", "30080", "healthy", "");
    check(t, 1, "{i1}", "30080", "initial", "Elb.RegistrationInProgress");
    clock_fake_advance(t->e->clock, 3000);
    v2(t, HEALTH);
    check(t, 1, "{i1}", "30080", "healthy", "");
}

static void health__of_the_rest_of_the_cloud__is_worked_out(void **state)
{
    struct lb_test *t = *state;
    v2(t, REGISTER "{i1}");
    assert_true(amz_ec2_set_instance_state(t->e->aws, t->e->instance[1], "stopped"));
    v2(t, HEALTH "&Targets.member.1.Id={i1}&Targets.member.2.Id={i0}&Targets.member.2.Port=1");
    check(t, 0, "{i1}", "30080", "unused", "Target.InvalidState");
    check(t, 1, "{i0}", "1", "unused", "Target.NotRegistered");
    assert_int_equal(lb_len(t, "TargetHealthDescriptions"), 2);
    /* out of the zones of the balancer */
    v2(t, "Action=SetSubnets&LoadBalancerArn={nlb}&Subnets.member.1={b}");
    v2(t, HEALTH);
    check(t, 0, "{i0}", "30080", "unused", "Target.NotInUse");
    v2(t, "Action=SetSubnets&LoadBalancerArn={nlb}&Subnets.member.1={a}");
    v2(t, HEALTH);
    check(t, 0, "{i0}", "30080", "healthy", "");
    /* of no balancer */
    v2(t, "Action=DeleteListener&ListenerArn={l}");
    v2(t, HEALTH);
    check(t, 0, "{i0}", "30080", "unused", "Target.NotInUse");
}

static void instance__that_ends__leaves_by_itself(void **state)
{
    struct lb_test *t = *state;
    v2(t, REGISTER "{i1}");
    v2(t, REGISTER "{i1}&Targets.member.1.Port=30081");
    assert_true(amz_ec2_set_instance_state(t->e->aws, t->e->instance[1], "stopped"));
    v2(t, HEALTH);
    assert_int_equal(lb_len(t, "TargetHealthDescriptions"), 3);
    ec2_setting(t->e, "instance_release_ms", 2000);
    assert_true(amz_ec2_set_instance_state(t->e->aws, t->e->instance[1], "terminated"));
    clock_fake_advance(t->e->clock, 1999);
    amz_balancers_settle(t->e->aws);
    v2(t, HEALTH);
    assert_int_equal(lb_len(t, "TargetHealthDescriptions"), 3);
    check(t, 1, "{i1}", "30080", "unused", "Target.InvalidState");
    clock_fake_advance(t->e->clock, 1);
    amz_balancers_settle(t->e->aws);
    v2(t, HEALTH);
    assert_int_equal(lb_len(t, "TargetHealthDescriptions"), 1);
    check(t, 0, "{i0}", "30080", "healthy", "");
    v2(t, DEREGISTER "{i1}");
}

static void addresses__inside_and_all__are_registered(void **state)
{
    struct lb_test *t = *state;
    v2(t, TG "&Name=ips&TargetType=ip");
    lb_keep(t, "ips", "TargetGroups.0.TargetGroupArn");
    v2(t, "Action=RegisterTargets&TargetGroupArn={ips}&Targets.member.1.Id=10.0.0.9&"
          "Targets.member.2.Id=192.168.0.1&Targets.member.2.AvailabilityZone=all");
    v2(t, "Action=DescribeTargetHealth&TargetGroupArn={ips}");
    check(t, 0, "10.0.0.9", "30080", "unused", "Target.NotInUse");
    assert_string_equal(lb_text(t, "TargetHealthDescriptions.1.Target.AvailabilityZone"), "all");
}

static void world__draining_target_without_moment__drains_from_the_first_look(void **state)
{
    struct lb_test *t = *state;
    struct json_object *list = NULL;
    const char *text = "[{\"Target\":{\"Id\":\"i-1\",\"Port\":30080},\"TargetHealth\":{\"State\":"
                       "\"draining\",\"Reason\":\"Target.DeregistrationInProgress\"}}]";
    assert_int_equal(json_parse(text, strlen(text), NULL, &list, NULL), ERR_OK);
    (void)amz_set(t->e->aws, AMZ_TARGET_HEALTH, lb_filled(t, "{tg}"), list);
    ec2_setting(t->e, "draining_ms", 1000);
    v2(t, HEALTH);
    check(t, 0, "i-1", "30080", "draining", "Target.DeregistrationInProgress");
    clock_fake_advance(t->e->clock, 1000);
    v2(t, HEALTH);
    assert_int_equal(lb_len(t, "TargetHealthDescriptions"), 0);
}

UNIT_MAIN(nlb_targets)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(register__twice_and_with_another_port__ports_count),
        TEST(modify_group__another_health_check_port__targets_are_asked_there),
        TEST(deregister__what_is_not_there__succeeds),
        TEST(deregister__draining_ms__drains_and_goes),
        TEST(register__while_it_drains__stays),
        TEST(health__healthy_after_ms__is_initial_so_long),
        TEST(health__of_the_rest_of_the_cloud__is_worked_out),
        TEST(instance__that_ends__leaves_by_itself),
        TEST(addresses__inside_and_all__are_registered),
        TEST(world__draining_target_without_moment__drains_from_the_first_look),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
