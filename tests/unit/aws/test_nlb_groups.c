/* SPDX-License-Identifier: Apache-2.0 */
/* test_nlb_groups.c: what is done for target groups of an NLB: health checks, targets, and those that an interrupted run left.
 *
 * Each plan is carried out in a world that refuses what AWS refuses, and then nothing is to be done. */
#include "tests/support/unit.h"
#include "tests/unit/aws/plan_kit.h"

#include <string.h>

static const char *group_name(struct kit *k, size_t at)
{
    return kit_nlb_want(k).ports[at].group_name;
}

/* ---- health checks --------------------------------------------------------------------------------------------- */

static void update__health_protocol_and_interval__in_place(void **state)
{
    (void)state;
    struct kit *k = kit_settled("80:30080", "");
    k->lines = "healthcheck-protocol=HTTP\nhealthcheck-path=/ok\nhealthcheck-port=8080\n"
               "healthcheck-interval=15";
    kit_expect(k, "1 ModifyTargetGroup");
    assert_string_equal(kit_params(k, kit_op(k, "ModifyTargetGroup", 0), "TargetGroupArn"),
                        "HealthCheckProtocol=HTTP HealthCheckPort=8080 HealthCheckPath=/ok "
                        "HealthCheckIntervalSeconds=15");
    assert_string_equal(kit_fields(k, kit_op(k, "ModifyTargetGroup", 0)),
                        "healthCheck.protocol: TCP -> HTTP; healthCheck.port: traffic-port -> "
                        "8080; healthCheck.path: none -> /ok; healthCheck.interval: 30 -> 15");
    k->lines = "";
    kit_expect(k, "1 ModifyTargetGroup");
    assert_string_equal(kit_params(k, kit_op(k, "ModifyTargetGroup", 0), "TargetGroupArn"),
                        "HealthCheckProtocol=TCP HealthCheckPort=traffic-port "
                        "HealthCheckIntervalSeconds=30");
    kit_free(k);
}

static void update__cluster_to_local__health_check_of_the_nodes(void **state)
{
    (void)state;
    struct kit *k = kit_settled("80:30080 443:30443", "");
    k->spec = ",\"externalTrafficPolicy\":\"Local\",\"healthCheckNodePort\":32000";
    kit_expect(k, "1 ModifyTargetGroup, ModifyTargetGroup");
    assert_string_equal(kit_params(k, kit_op(k, "ModifyTargetGroup", 0), "TargetGroupArn"),
                        "HealthCheckProtocol=HTTP HealthCheckPort=32000 HealthCheckPath=/healthz "
                        "HealthCheckIntervalSeconds=10 HealthyThresholdCount=2 "
                        "UnhealthyThresholdCount=2");
    kit_free(k);
}

/* A group that keeps its name goes on to another node port under the name that upstream would use. */
static void update__node_port_after_a_health_check__finds_no_name_in_its_way(void **state)
{
    (void)state;
    struct kit *k = kit_settled("80:30080", "");
    k->lines = "healthcheck-interval=10";
    kit_settle_nlb(k);
    k->ports = "80:30081";
    kit_settle_nlb(k);
    k->lines = "";
    kit_settle_nlb(k);
    k->ports = "80:30080";
    kit_settle_nlb(k);
    assert_int_equal(k->world.n_target_groups, 1);
    kit_free(k);
}

static void update__shorter_interval_than_the_timeout__shortens_the_timeout(void **state)
{
    (void)state;
    struct kit *k = kit_settled("80:30080", "");
    k->lines = "healthcheck-interval=6";
    kit_expect(k, "1 ModifyTargetGroup");
    assert_string_equal(kit_params(k, kit_op(k, "ModifyTargetGroup", 0), "TargetGroupArn"),
                        "HealthCheckIntervalSeconds=6 HealthCheckTimeoutSeconds=6");
    kit_free(k);
}

/* Row 8 of section 13: upstream does not see these; what it may have left waits for an edit or --repair-adopted. */
static void repairs__what_upstream_leaves__waits(void **state)
{
    (void)state;
    struct kit *k = kit_settled("80:30080", "healthcheck-timeout=7");
    kit_group_of_port(k, 80)->group.health.unhealthy = 2;
    kit_group_of_port(k, 80)->group.health.timeout = 10;
    kit_expect(k, "");
    k->repairs = true;
    kit_expect(k, "1 ModifyTargetGroup");
    assert_string_equal(kit_params(k, kit_op(k, "ModifyTargetGroup", 0), "TargetGroupArn"),
                        "HealthCheckTimeoutSeconds=7 HealthyThresholdCount=3 "
                        "UnhealthyThresholdCount=3");
    assert_string_equal(kit_fields(k, kit_op(k, "ModifyTargetGroup", 0)),
                        "healthCheck.timeout: 10 -> 7; healthCheck.unhealthy: 2 -> 3");
    kit_free(k);
}

static void update__healthy_threshold__takes_both(void **state)
{
    (void)state;
    struct kit *k = kit_settled("80:30080", "");
    kit_group_of_port(k, 80)->group.health.healthy = 5;
    kit_group_of_port(k, 80)->group.health.unhealthy = 5;
    kit_expect(k, "1 ModifyTargetGroup");
    assert_string_equal(kit_params(k, kit_op(k, "ModifyTargetGroup", 0), "TargetGroupArn"),
                        "HealthyThresholdCount=3 UnhealthyThresholdCount=3");
    kit_free(k);
}

/* Row 7 of section 13: upstream writes the path on every sync, so a path by hand does not last there either. */
static void update__path_by_hand__is_mended_and_an_equal_one_is_no_call(void **state)
{
    (void)state;
    struct kit *k = kit_settled("80:30080", "healthcheck-protocol=http\nhealthcheck-path=/a");
    kit_group_of_port(k, 80)->group.health.path = "/b";
    kit_expect(k, "1 ModifyTargetGroup");
    assert_string_equal(kit_params(k, kit_op(k, "ModifyTargetGroup", 0), "TargetGroupArn"),
                        "HealthCheckPath=/a");
    kit_free(k);
}

static void noop__no_timeout_annotated__is_not_compared(void **state)
{
    (void)state;
    struct kit *k = kit_settled("80:30080", "");
    k->repairs = true;
    kit_group_of_port(k, 80)->group.health.timeout = 25;
    kit_expect(k, "");
    kit_free(k);
}

/* ---- targets ------------------------------------------------------------------------------------------------------ */

static void update__node_added__is_registered_in_each_group(void **state)
{
    (void)state;
    struct kit *k = kit_settled("80:30080 443:30443", "");
    k->instances = kit_texts(k, "i-1 i-2 i-3 i-4");
    kit_expect(k, "1 RegisterTargets, RegisterTargets");
    assert_string_equal(kit_params(k, kit_op(k, "RegisterTargets", 1), "TargetGroupArn"),
                        "Targets.member.1.Id=i-4 Targets.member.1.Port=30443");
    kit_free(k);
}

static void update__node_replaced__comes_before_the_other_goes(void **state)
{
    (void)state;
    struct kit *k = kit_settled("80:30080", "");
    k->instances = kit_texts(k, "i-1 i-2 i-4");
    kit_expect(k, "1 RegisterTargets; 2 DeregisterTargets");
    k->instances = kit_texts(k, "i-1 i-2 i-3"); /* while i-3 drains */
    kit_expect(k, "1 RegisterTargets; 2 DeregisterTargets");
    kit_free(k);
}

/* An emulator knows a target by its instance alone (10.4 row 15). */
static void update__target_with_another_port__goes_first(void **state)
{
    (void)state;
    struct kit *k = kit_settled("80:30080", "");
    static const struct aws_target by_hand[] = {{"i-1", 30081, "healthy", ""},
                                                {"i-2", 30080, "healthy", ""},
                                                {"i-3", 30080, "healthy", ""}};
    kit_group_of_port(k, 80)->targets = (struct aws_targets){by_hand, 3};
    kit_expect(k, "1 DeregisterTargets; 2 RegisterTargets");
    kit_free(k);
}

static void update__group_at_its_quota__makes_room_first(void **state)
{
    (void)state;
    struct kit *k = kit_settled("80:30080", "");
    struct aws_target *many = ARENA_ARRAY(k->a, struct aws_target, 500);
    for (int i = 0; i < 500; i++) {
        many[i] = (struct aws_target){arena_printf(k->a, "i-g%03d", i), 30080, "healthy", ""};
    }
    kit_group_of_port(k, 80)->targets = (struct aws_targets){many, 499};
    kit_plan_nlb(k);
    assert_string_equal(kit_waves(k), "1 DeregisterTargets, DeregisterTargets, DeregisterTargets, "
                                      "DeregisterTargets, DeregisterTargets; 2 RegisterTargets");
    kit_group_of_port(k, 80)->targets = (struct aws_targets){many, 497};
    kit_plan_nlb(k);
    assert_string_equal(kit_waves(k), "1 RegisterTargets; 2 DeregisterTargets, DeregisterTargets, "
                                      "DeregisterTargets, DeregisterTargets, DeregisterTargets");
    kit_free(k);
}

/* ---- what an interrupted run left ----------------------------------------------------------------------------------- */

static void left__group_of_the_creation__is_used(void **state)
{
    (void)state;
    struct kit *k = kit_settled("80:30080", "");
    k->world.n_nlbs = 0;
    k->world.n_listeners = 0;
    kit_expect(k, "1 CreateLoadBalancer; 2 CreateListener");
    kit_free(k);
}

static void left__group_of_a_switch__is_used_and_mended(void **state)
{
    (void)state;
    struct kit *k = kit_settled("80:30080", "");
    k->ports = "80:30099";
    kit_plan_nlb(k);
    struct err err = ERR_INIT;
    k->run.stop_after = 1; /* the new group is made and not filled */
    assert_int_equal(aws_world_run(&k->world, &k->plan, &k->run, &err), ERR_OK);
    k->lines = "healthcheck-port=8080";
    kit_expect(k, "1 ModifyTargetGroup, RegisterTargets; 2 ModifyListener; 3 DeleteTargetGroup");
    kit_free(k);
}

static void left__group_that_no_port_needs__goes(void **state)
{
    (void)state;
    struct kit *k = kit_settled("80:30080", "");
    k->ports = "80:30099";
    kit_plan_nlb(k);
    struct err err = ERR_INIT;
    k->run.stop_after = 1;
    assert_int_equal(aws_world_run(&k->world, &k->plan, &k->run, &err), ERR_OK);
    k->ports = "80:30080"; /* back again */
    kit_expect(k, "1 DeleteTargetGroup");
    assert_string_equal(kit_op(k, "DeleteTargetGroup", 0)->why,
                        "an interrupted change left it, and no port needs it");
    kit_free(k);
}

/* The name is taken by one that cannot be used: it goes first. */
static void left__group_of_the_name_that_fits_not__makes_room(void **state)
{
    (void)state;
    struct kit *k = kit_settled("80:30080", "");
    k->world.n_nlbs = 0;
    k->world.n_listeners = 0;
    k->world.target_groups[0].group.port = 1;
    kit_expect(k, "1 DeleteTargetGroup, CreateLoadBalancer; 2 CreateTargetGroup; "
                  "3 RegisterTargets, CreateListener");
    kit_free(k);
}

static void left__listener_without_its_group__gets_one(void **state)
{
    (void)state;
    struct kit *k = kit_settled("80:30080", "");
    k->world.listeners[0].target_group = "arn:gone";
    k->world.n_target_groups = 0;
    kit_expect(k, "1 CreateTargetGroup; 2 RegisterTargets; 3 ModifyListener");
    assert_string_equal(kit_op(k, "CreateTargetGroup", 0)->why,
                        "the listener of port 80 forwards to no target group that is there");
    kit_free(k);
}

static void left__listener_that_is_gone__is_made_for_the_group(void **state)
{
    (void)state;
    struct kit *k = kit_settled("80:30080", "");
    k->world.n_listeners = 0;
    kit_expect(k, "1 CreateListener");
    kit_free(k);
}

static void foreign__group_behind_a_listener_that_goes__stays(void **state)
{
    (void)state;
    struct kit *k = kit_settled("80:30080 443:30443", "");
    kit_group_of_port(k, 443)->group.name = "made-by-hand";
    k->ports = "80:30080";
    kit_expect(k, "1 DeleteListener");
    assert_int_equal(k->world.n_target_groups, 2);
    kit_free(k);
}

static void names__of_groups__are_upstreams(void **state)
{
    (void)state;
    struct kit *k = kit_settled("80:30080 443:30443", "");
    assert_string_equal(kit_group_of_port(k, 80)->group.name, group_name(k, 0));
    assert_string_equal(kit_group_of_port(k, 443)->group.name, group_name(k, 1));
    kit_free(k);
}

UNIT_MAIN(nlb_groups)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(update__health_protocol_and_interval__in_place),
        cmocka_unit_test(update__cluster_to_local__health_check_of_the_nodes),
        cmocka_unit_test(update__node_port_after_a_health_check__finds_no_name_in_its_way),
        cmocka_unit_test(update__shorter_interval_than_the_timeout__shortens_the_timeout),
        cmocka_unit_test(repairs__what_upstream_leaves__waits),
        cmocka_unit_test(update__healthy_threshold__takes_both),
        cmocka_unit_test(update__path_by_hand__is_mended_and_an_equal_one_is_no_call),
        cmocka_unit_test(noop__no_timeout_annotated__is_not_compared),
        cmocka_unit_test(update__node_added__is_registered_in_each_group),
        cmocka_unit_test(update__node_replaced__comes_before_the_other_goes),
        cmocka_unit_test(update__target_with_another_port__goes_first),
        cmocka_unit_test(update__group_at_its_quota__makes_room_first),
        cmocka_unit_test(left__group_of_the_creation__is_used),
        cmocka_unit_test(left__group_of_a_switch__is_used_and_mended),
        cmocka_unit_test(left__group_that_no_port_needs__goes),
        cmocka_unit_test(left__group_of_the_name_that_fits_not__makes_room),
        cmocka_unit_test(left__listener_without_its_group__gets_one),
        cmocka_unit_test(left__listener_that_is_gone__is_made_for_the_group),
        cmocka_unit_test(foreign__group_behind_a_listener_that_goes__stays),
        cmocka_unit_test(names__of_groups__are_upstreams),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
