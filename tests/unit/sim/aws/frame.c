/* SPDX-License-Identifier: Apache-2.0 */
/* frame.c: what the frame of the simulated AWS does for every action: pages, delays, late
 * visibility, counts, groups in use.
 *
 * Source: docs/spec/aws.md §3.4, §9.3; interfaces.md, "Counting". */
#include "tests/unit/sim/aws/aws_fixture.h"

#include "sim/aws/aws.h"
#include "tests/support/clock_fake.h"
#include "tests/support/clock_mover.h"
#include "tests/support/unit.h"

#include <string.h>

/* --- pages ------------------------------------------------------------------------------------ */

static bool is_text_of_page(struct fixture *f, const char *text)
{
    for (size_t i = 0; i < amz_len(f, "subnetSet"); i++) {
        if (strcmp(amz_text(f, arena_printf(f->a, "subnetSet.%zu.cidrBlock", i)), text) == 0) {
            return true;
        }
    }
    return false;
}

static void pages__small__hold_each_item_once(void **state)
{
    (void)state;
    struct fixture *f = amz_start("pages", NULL);
    amz_settings(f, "{\"page_size\":2}");
    amz_must(f, "ec2", "DescribeSubnets", NULL);
    assert_int_equal(amz_len(f, "subnetSet"), 2);
    static const char *const all[] = {"10.0.0.0/18", "10.0.64.0/18", "10.0.128.0/18"};
    bool given[ARRAY_LEN(all)];
    const char *token = arena_strdup(f->a, amz_text(f, "nextToken"));
    assert_string_not_equal(token, "");
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        given[i] = is_text_of_page(f, all[i]);
    }
    amz_must(f, "ec2", "DescribeSubnets", arena_printf(f->a, "NextToken=%s", token));
    assert_int_equal(amz_len(f, "subnetSet"), 1);
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        assert_true(given[i] != is_text_of_page(f, all[i]));
    }
    assert_false(amz_has(f, "nextToken"));
    amz_expect(f, "a made-up token", amz_call(f, "ec2", "DescribeSubnets", "NextToken=x"), 400,
               "InvalidNextToken");
    amz_settings(f, "{}");
    amz_must(f, "ec2", "DescribeSubnets", NULL);
    assert_int_equal(amz_len(f, "subnetSet"), 3);
    fixture_stop(f);
}

/* --- eventual consistency --------------------------------------------------------------------- */

static void consistency__late__readers_see_groups_and_tags_after_it(void **state)
{
    static const char ask[] = "Filter.1.Name=group-name&Filter.1.Value.1=late";
    (void)state;
    struct clock *clock = clock_fake_new(1000000, 1700000000000000LL);
    struct sim_config cfg = {.nodes = 1, .clock = clock};
    struct fixture *f = amz_start("consistency", &cfg);
    struct json_object *vpc = json_object_array_get_idx(amz_world(f, "ec2.Vpcs"), 0);
    const char *vpc_id = arena_strdup(f->a, json_str(vpc, "VpcId"));
    amz_settings(f, "{\"consistency_ms\":2000}");
    amz_must(f, "ec2", "CreateSecurityGroup",
             arena_printf(f->a, "GroupName=late&GroupDescription=d&VpcId=%s", vpc_id));
    const char *id = amz_text(f, "groupId");
    amz_must(f, "ec2", "DescribeSecurityGroups", ask);
    assert_int_equal(amz_len(f, "securityGroupInfo"), 0);
    clock_fake_advance(clock, 1999);
    amz_must(f, "ec2", "DescribeSecurityGroups", ask);
    assert_int_equal(amz_len(f, "securityGroupInfo"), 0);
    clock_fake_advance(clock, 1);
    amz_must(f, "ec2", "DescribeSecurityGroups", ask);
    assert_string_equal(amz_text(f, "securityGroupInfo.0.groupId"), id);

    amz_must(f, "ec2", "CreateTags",
             arena_printf(f->a, "ResourceId.1=%s&Tag.1.Key=k&Tag.1.Value=v", id));
    amz_must(f, "ec2", "DescribeSecurityGroups", ask);
    assert_int_equal(amz_len(f, "securityGroupInfo.0.tagSet"), 0);
    clock_fake_advance(clock, 2000);
    amz_must(f, "ec2", "DescribeSecurityGroups", ask);
    assert_string_equal(amz_text(f, "securityGroupInfo.0.tagSet.0.value"), "v");
    fixture_stop(f);
    clock_fake_free(clock);
}

/* --- delays ----------------------------------------------------------------------------------- */

static void latency__of_a_cloud__by_the_cost_of_the_action(void **state)
{
    static const struct {
        const char *action;
        int64_t least, most;
        bool creates;
    } rows[] = {
        {"DescribeVpcs", 50, 200, false},
        {"CreateSecurityGroup", 100, 400, true},
    };
    (void)state;
    struct clock *clock = clock_fake_new(1000000, 1700000000000000LL);
    struct sim_config cfg = {.nodes = 1, .clock = clock, .latency = SIM_LATENCY_CLOUD};
    struct fixture *f = amz_start("latency", &cfg);
    struct json_object *vpc = json_object_array_get_idx(amz_world(f, "ec2.Vpcs"), 0);
    const char *params =
        arena_printf(f->a, "GroupName=g&GroupDescription=d&VpcId=%s", json_str(vpc, "VpcId"));
    struct clock_mover *m =
        clock_mover_start(clock); /* every wait of the simulator comes to its end */
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t before = clock_now_ms(clock);
        amz_must(f, "ec2", rows[i].action, rows[i].creates ? params : NULL);
        int64_t took = clock_now_ms(clock) - before;
        if (took < rows[i].least || took > rows[i].most) {
            fail_msg("%s took %lld ms", rows[i].action, (long long)took);
        }
    }
    (void)clock_mover_stop(m);
    fixture_stop(f);
    clock_fake_free(clock);
}

/* --- counts ----------------------------------------------------------------------------------- */

static void calls__counted__by_service_and_action(void **state)
{
    (void)state;
    struct fixture *f = amz_start("counts", NULL);
    fixture_must(f, "DELETE", "/sim/calls", NULL);
    amz_must(f, "ec2", "DescribeVpcs", NULL);
    amz_must(f, "ec2", "DescribeVpcs", NULL);
    (void)amz_call(f, "elb", "AddTags", NULL);
    (void)amz_call(f, "elbv2", "AddTags", NULL);
    (void)fixture_call(f, "PUT", "/latest/api/token", NULL);
    fixture_must(f, "GET", "/sim/calls", NULL);
    assert_string_equal(json_text(f->a, json_member(f->answer, "aws"), JSON_SORTED),
                        "{\"ec2.DescribeVpcs\":2,\"elb.AddTags\":1,\"elbv2.AddTags\":1}");
    assert_string_equal(json_text(f->a, json_member(f->answer, "metadata"), JSON_SORTED),
                        "{\"api/token\":1}");
    fixture_stop(f);
}

/* --- groups ----------------------------------------------------------------------------------- */

/* Loads a world with two groups and one user of the first. */
static void load_user(struct fixture *f, const char *service, const char *member, const char *user)
{
    const char *groups =
        "\"SecurityGroups\":[{\"GroupId\":\"sg-used\",\"GroupName\":\"used\",\"VpcId\":\"vpc-1\","
        "\"IpPermissions\":[],\"IpPermissionsEgress\":[],\"Tags\":[]},{\"GroupId\":\"sg-free\","
        "\"GroupName\":\"free\",\"VpcId\":\"vpc-1\",\"IpPermissions\":[],"
        "\"IpPermissionsEgress\":[],\"Tags\":[]}]";
    bool ec2 = str_eq(service, "ec2");
    const char *world =
        ec2 ? arena_printf(f->a, "{\"aws\":{\"ec2\":{%s,\"%s\":[%s]}}}", groups, member, user)
            : arena_printf(f->a, "{\"aws\":{\"ec2\":{%s},\"%s\":{\"%s\":[%s]}}}", groups, service,
                           member, user);
    fixture_must(f, "PUT", "/sim/state", world);
}

static void group__in_use__cannot_be_deleted(void **state)
{
    static const struct {
        const char *service, *member, *user;
    } rows[] = {
        {"ec2", "Reservations",
         "{\"ReservationId\":\"r-1\",\"Instances\":[{\"InstanceId\":\"i-1\",\"SecurityGroups\":[{"
         "\"GroupId\":\"sg-used\"}]}]}"},
        {"ec2", "NetworkInterfaces",
         "{\"NetworkInterfaceId\":\"eni-1\",\"Groups\":[{\"GroupId\":\"sg-used\"}]}"},
        {"elb", "LoadBalancerDescriptions",
         "{\"LoadBalancerName\":\"a\",\"SecurityGroups\":[\"sg-used\"]}"},
        {"elbv2", "LoadBalancers", "{\"LoadBalancerArn\":\"a\",\"SecurityGroups\":[\"sg-used\"]}"},
    };
    (void)state;
    struct fixture *f = amz_start("groups", NULL);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        load_user(f, rows[i].service, rows[i].member, rows[i].user);
        amz_expect(f, rows[i].member, amz_call(f, "ec2", "DeleteSecurityGroup", "GroupId=sg-used"),
                   400, "DependencyViolation");
        amz_must(f, "ec2", "DeleteSecurityGroup", "GroupId=sg-free");
    }
    fixture_stop(f);
}

static void group__of_a_deleted_balancer__is_held_for_a_while(void **state)
{
    (void)state;
    struct clock *clock = clock_fake_new(1000000, 1700000000000000LL);
    struct sim_config cfg = {.nodes = 1, .clock = clock};
    struct fixture *f = amz_start("release", &cfg);
    struct json_object *subnet = json_object_array_get_idx(amz_world(f, "ec2.Subnets"), 0);
    const char *subnet_id = arena_strdup(f->a, json_str(subnet, "SubnetId"));
    const char *vpc_id = arena_strdup(f->a, json_str(subnet, "VpcId"));
    amz_settings(f, "{\"group_release_ms\":5000}");
    amz_must(f, "ec2", "CreateSecurityGroup",
             arena_printf(f->a, "GroupName=g&GroupDescription=d&VpcId=%s", vpc_id));
    const char *group = arena_printf(f->a, "GroupId=%s", amz_text(f, "groupId"));
    amz_must(f, "elb", "CreateLoadBalancer",
             arena_printf(f->a,
                          "LoadBalancerName=b&Subnets.member.1=%s&SecurityGroups.member.1=%s&"
                          "Listeners.member.1.Protocol=TCP&Listeners.member.1.LoadBalancerPort=80&"
                          "Listeners.member.1.InstancePort=30080",
                          subnet_id, group + strlen("GroupId=")));
    amz_must(f, "elb", "DeleteLoadBalancer", "LoadBalancerName=b");
    clock_fake_advance(clock, 4999);
    amz_expect(f, "held", amz_call(f, "ec2", "DeleteSecurityGroup", group), 400,
               "DependencyViolation");
    clock_fake_advance(clock, 1);
    amz_must(f, "ec2", "DeleteSecurityGroup", group);
    fixture_stop(f);
    clock_fake_free(clock);
}

UNIT_MAIN(frame)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages__small__hold_each_item_once),
        cmocka_unit_test(consistency__late__readers_see_groups_and_tags_after_it),
        cmocka_unit_test(latency__of_a_cloud__by_the_cost_of_the_action),
        cmocka_unit_test(calls__counted__by_service_and_action),
        cmocka_unit_test(group__in_use__cannot_be_deleted),
        cmocka_unit_test(group__of_a_deleted_balancer__is_held_for_a_while),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
