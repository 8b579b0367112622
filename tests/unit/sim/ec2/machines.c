/* SPDX-License-Identifier: Apache-2.0 */
/* machines.c: instances, networks and interfaces of the simulated EC2.
 *
 * Source: docs/spec/aws.md §3.4, §3.5, §4.9, §6.3, §6.5, §10.3. */
#include "tests/support/clock_fake.h"
#include "tests/support/unit.h"
#include "tests/unit/sim/ec2/ec2_fixture.h"

#include <string.h>

#define DESCRIBE               "Action=DescribeInstances"
#define FILTER(n, name, value) "&Filter." n ".Name=" name "&Filter." n ".Value.1=" value
#define RUN                    "Action=RunInstances&ImageId=ami-12c6146b&SubnetId={a}"

static void describe_instances__filters__find_what_they_say(void **state)
{
    (void)state;
    struct ec2_test *t = ec2_test_start();
    assert_true(amz_ec2_set_instance_state(t->aws, t->instance[1], "stopped"));
    static const struct {
        const char *filters;
        size_t n;
    } rows[] = {
        {"", 2},
        {"&InstanceId.1={i1}", 1},
        {FILTER("1", "instance-id", "{i0}") "&Filter.1.Value.2=" ABSENT("i-"), 1},
        {FILTER("1", "vpc-id", "{vpc}"), 2},
        {FILTER("1", "vpc-id", "{other_vpc}"), 0},
        {FILTER("1", "tag:" CLUSTER_TAG, "owned"), 2},
        {FILTER("1", "tag-key", CLUSTER_TAG), 2},
        {FILTER("1", "tag-key", "kubernetes.io/cluster/*"), 2},
        {FILTER("1", "instance-state-name", "running"), 1},
        {FILTER("1", "instance-state-name", "running") "&Filter.1.Value.2=stopped", 2},
        {FILTER("1", "instance-state-code", "80"), 1},
        {FILTER("1", "private-dns-name", "ip-10-0-0-4.*"), 1},
        {FILTER("1", "private-ip-address", "10.0.0.5"), 1},
        {FILTER("1", "availability-zone", "us-east-1a"), 2},
        {FILTER("1", "instance.group-id", "{nodes}"), 2},
        {FILTER("1", "instance.group-name", "none"), 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        size_t n = 0;
        ec2_must(t, arena_printf(t->a, DESCRIBE "%s", rows[i].filters));
        for (size_t k = 0; k < ec2_len(t, "Reservations"); k++) {
            n += ec2_len(t, arena_printf(t->a, "Reservations.%zu.Instances", k));
        }
        if (n != rows[i].n) {
            fail_msg("%s: %zu, want %zu", rows[i].filters, n, rows[i].n);
        }
    }
    ec2_test_stop(t);
}

static void describe_instances__answer__has_what_a_controller_reads(void **state)
{
    (void)state;
    struct ec2_test *t = ec2_test_start();
    ec2_must(t, DESCRIBE "&InstanceId.1={i0}");
#define I "Reservations.0.Instances.0."
    static const char *const rows[][2] = {
        {I "Placement.AvailabilityZone", "us-east-1a"},
        {I "InstanceType", "m5.large"},
        {I "PrivateIpAddress", "10.0.0.4"},
        {I "PrivateDnsName", "ip-10-0-0-4.ec2.internal"},
        {I "State.Name", "running"},
        {I "State.Code", "16"},
        {I "SecurityGroups.0.GroupName", "nodes"},
        {I "Tags.0.Key", CLUSTER_TAG},
        {I "NetworkInterfaces.0.PrivateIpAddress", "10.0.0.4"},
        {I "NetworkInterfaces.0.Groups.0.GroupName", "nodes"},
        {I "LaunchTime", "2026-01-02T03:04:05Z"},
        {"Reservations.0.OwnerId", "123456789012"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_string_equal(ec2_text(t, rows[i][0]), rows[i][1]);
    }
    assert_string_equal(ec2_text(t, I "SecurityGroups.0.GroupId"), t->nodes);
    assert_string_equal(ec2_text(t, I "SubnetId"), t->subnet_a);
    assert_string_equal(ec2_text(t, I "VpcId"), t->vpc);
#undef I
    ec2_test_stop(t);
}

static void describe_instances__pages__count_instances(void **state)
{
    (void)state;
    struct ec2_test *t = ec2_test_start();
    const char *token = "";
    size_t pages = 0, n = 0;
    ec2_must(t, RUN "&MinCount=9&MaxCount=9");
    do {
        ec2_must(t, arena_printf(t->a, DESCRIBE "&MaxResults=5%s%s", *token ? "&NextToken=" : "",
                                 token));
        for (size_t k = 0; k < ec2_len(t, "Reservations"); k++) {
            assert_string_not_equal(
                ec2_text(t, arena_printf(t->a, "Reservations.%zu.ReservationId", k)), "");
            n += ec2_len(t, arena_printf(t->a, "Reservations.%zu.Instances", k));
        }
        token = ec2_text(t, "NextToken");
        pages++;
    } while (*token && pages < 10);
    assert_int_equal(pages, 3);
    assert_int_equal(n, 11);
    ec2_test_stop(t);
}

static void terminated__instance__is_seen_for_an_hour_without_its_network(void **state)
{
    (void)state;
    struct ec2_test *t = ec2_test_start();
    struct amz_ec2_subnet before, after;
    assert_true(amz_ec2_subnet(t->aws, t->subnet_a, &before));
    assert_true(amz_ec2_set_instance_state(t->aws, t->instance[0], "terminated"));
    assert_true(amz_ec2_subnet(t->aws, t->subnet_a, &after));
    assert_int_equal(after.free_addresses, before.free_addresses + 1);
    assert_string_equal(amz_ec2_instance_state(t->aws, t->instance[0]), "terminated");
    assert_null(amz_ec2_instance_vpc(t->aws, t->instance[0]));
    clock_fake_advance(t->clock, 3599 * 1000);
    ec2_must(t, DESCRIBE "&InstanceId.1={i0}");
#define I "Reservations.0.Instances.0."
    assert_string_equal(ec2_text(t, I "State.Name"), "terminated");
    assert_string_equal(ec2_text(t, I "StateTransitionReason"),
                        "User initiated (2026-01-02 03:04:05 GMT)");
    assert_string_equal(ec2_text(t, I "VpcId"), "");
    assert_string_equal(ec2_text(t, I "PrivateIpAddress"), "");
    assert_int_equal(ec2_len(t, I "NetworkInterfaces"), 0);
    assert_int_equal(ec2_len(t, I "SecurityGroups"), 0);
    assert_int_equal(ec2_len(t, I "Tags"), 1);
#undef I
    clock_fake_advance(t->clock, 1000);
    assert_null(amz_ec2_instance_state(t->aws, t->instance[0]));
    ec2_must(t, DESCRIBE);
    assert_int_equal(ec2_len(t, "Reservations"), 1);
    assert_false(ec2_call(t, DESCRIBE "&InstanceId.1={i0}"));
    assert_string_equal(t->refusal.code, "InvalidInstanceID.NotFound");
    assert_int_equal(amz_count(t->aws, AMZ_RESERVATION), 1);
    ec2_test_stop(t);
}

static void terminated__last_of_its_group__frees_the_group(void **state)
{
    (void)state;
    struct ec2_test *t = ec2_test_start();
    ec2_refused(t, "in use", "Action=DeleteSecurityGroup&GroupId={nodes}", "DependencyViolation",
                NULL);
    assert_true(amz_ec2_set_instance_state(t->aws, t->instance[0], "terminated"));
    assert_true(amz_ec2_set_instance_state(t->aws, t->instance[1], "stopped"));
    ec2_refused(t, "a stopped one holds it", "Action=DeleteSecurityGroup&GroupId={nodes}",
                "DependencyViolation", NULL);
    assert_true(amz_ec2_set_instance_state(t->aws, t->instance[1], "terminated"));
    ec2_must(t, "Action=DeleteSecurityGroup&GroupId={nodes}");
    ec2_test_stop(t);
}

static void run_instances__new_ones__run_and_answer_pending(void **state)
{
    (void)state;
    struct ec2_test *t = ec2_test_start();
    const char *request = RUN "&MinCount=1&MaxCount=2&InstanceType=c5.large&"
                              "SecurityGroupId.1={nodes}&ClientToken=once&"
                              "TagSpecification.1.ResourceType=instance&"
                              "TagSpecification.1.Tag.1.Key=k&TagSpecification.1.Tag.1.Value=v&"
                              "TagSpecification.2.ResourceType=volume&"
                              "TagSpecification.2.Tag.1.Key=other";
    ec2_must(t, request);
    assert_int_equal(ec2_len(t, "Instances"), 2);
    assert_string_equal(ec2_text(t, "Instances.0.State.Name"), "pending");
    assert_string_equal(ec2_text(t, "Instances.1.AmiLaunchIndex"), "1");
    assert_string_equal(ec2_text(t, "Instances.1.PrivateIpAddress"), "10.0.0.7");
    assert_string_equal(ec2_json(t, "Instances.0.Tags"), "[{\"Key\":\"k\",\"Value\":\"v\"}]");
    const char *reservation = ec2_text(t, "ReservationId"),
               *id = ec2_text(t, "Instances.0.InstanceId");
    assert_string_equal(amz_ec2_instance_state(t->aws, id), "running");
    assert_string_equal(amz_ec2_instance_zone(t->aws, id), "us-east-1a");
    ec2_must(t, request); /* the same token: what it made before */
    assert_string_equal(ec2_text(t, "ReservationId"), reservation);
    assert_string_equal(ec2_text(t, "Instances.0.State.Name"), "running");
    assert_int_equal(amz_count(t->aws, AMZ_INSTANCE), 4);
    ec2_must(t, RUN "&MinCount=1&MaxCount=1&PrivateIpAddress=10.0.0.99");
    assert_string_equal(ec2_text(t, "Instances.0.PrivateIpAddress"), "10.0.0.99");
    assert_string_equal(ec2_text(t, "Instances.0.SecurityGroups.0.GroupName"), "default");
    ec2_test_stop(t);
}

static void run_instances__more_than_fit__makes_as_many_as_fit(void **state)
{
    (void)state;
    struct ec2_test *t = ec2_test_start();
    ec2_must(t, "Action=RunInstances&ImageId=ami-12c6146b&SubnetId={b}&MinCount=1&MaxCount=50");
    assert_int_equal(ec2_len(t, "Instances"), 11); /* a /28 less five */
    ec2_must(t, "Action=DescribeSubnets&SubnetId.1={b}");
    assert_string_equal(ec2_text(t, "Subnets.0.AvailableIpAddressCount"), "0");
    assert_null(amz_ec2_pick_address(t->aws, t->a, t->subnet_b));
    ec2_test_stop(t);
}

static void modify_instance__groups_and_check__are_set(void **state)
{
    (void)state;
    struct ec2_test *t = ec2_test_start();
    const char *id = ec2_make_group(t, "more");
    ec2_must(t, arena_printf(t->a,
                             "Action=ModifyInstanceAttribute&InstanceId={i0}&"
                             "GroupId.1={nodes}&GroupId.2=%s",
                             id));
    ec2_must(t, "Action=ModifyInstanceAttribute&InstanceId={i0}&SourceDestCheck.Value=false");
    ec2_must(t, DESCRIBE "&InstanceId.1={i0}");
    assert_int_equal(ec2_len(t, "Reservations.0.Instances.0.SecurityGroups"), 2);
    assert_int_equal(ec2_len(t, "Reservations.0.Instances.0.NetworkInterfaces.0.Groups"), 2);
    assert_string_equal(ec2_text(t, "Reservations.0.Instances.0.SourceDestCheck"), "false");
    ec2_test_stop(t);
}

static void topology__instances_of_a_subnet__share_three_nodes(void **state)
{
    (void)state;
    struct ec2_test *t = ec2_test_start();
    ec2_must(t, "Action=DescribeInstanceTopology");
    assert_int_equal(ec2_len(t, "Instances"), 2);
    assert_int_equal(ec2_len(t, "Instances.0.NetworkNodes"), 3);
    assert_string_equal(ec2_json(t, "Instances.0.NetworkNodes"),
                        ec2_json(t, "Instances.1.NetworkNodes"));
    assert_string_equal(ec2_text(t, "Instances.0.ZoneId"), "use1-az1");
    ec2_test_stop(t);
}

/* --- networks --------------------------------------------------------------------------------- */

static void zones__not_opted_in__are_seen_on_demand(void **state)
{
    (void)state;
    struct ec2_test *t = ec2_test_start();
    ec2_must(t, "Action=DescribeAvailabilityZones");
    assert_int_equal(ec2_len(t, "AvailabilityZones"), 3);
    assert_string_equal(ec2_text(t, "AvailabilityZones.1.ZoneName"), "us-east-1b");
    assert_string_equal(ec2_text(t, "AvailabilityZones.1.ZoneType"), "availability-zone");
    ec2_must(t, "Action=DescribeAvailabilityZones&AllAvailabilityZones=true" FILTER(
                    "1", "zone-type", "local-zone"));
    assert_int_equal(ec2_len(t, "AvailabilityZones"), 1);
    ec2_must(t, "Action=DescribeAvailabilityZones&ZoneName.1=us-east-1c");
    assert_string_equal(ec2_text(t, "AvailabilityZones.0.ZoneId"), "use1-az3");
    ec2_must(t, "Action=DescribeAvailabilityZones&ZoneId.1=use1-az2");
    assert_string_equal(ec2_text(t, "AvailabilityZones.0.ZoneName"), "us-east-1b");
    ec2_test_stop(t);
}

/* The steps of docs/spec/aws.md §10.3. */
static void world__by_hand__has_public_subnets(void **state)
{
    (void)state;
    struct ec2_test *t = ec2_test_start();
    ec2_must(t, "Action=CreateVpc&CidrBlock=10.8.1.2/16");
    const char *vpc = ec2_text(t, "Vpc.VpcId");
    assert_string_equal(ec2_text(t, "Vpc.CidrBlock"), "10.8.0.0/16");
    assert_false(amz_ec2_vpc_has_gateway(t->aws, vpc));
    ec2_must(t, "Action=CreateInternetGateway");
    const char *igw = ec2_text(t, "InternetGateway.InternetGatewayId");
    ec2_must(t, arena_printf(t->a,
                             "Action=DescribeRouteTables" FILTER("1", "vpc-id", "%s")
                                 FILTER("2", "association.main", "true"),
                             vpc));
    assert_int_equal(ec2_len(t, "RouteTables"), 1);
    assert_string_equal(ec2_text(t, "RouteTables.0.Associations.0.Main"), "true");
    assert_string_equal(ec2_text(t, "RouteTables.0.Associations.0.SubnetId"), "");
    const char *table = ec2_text(t, "RouteTables.0.RouteTableId");
    const char *route = arena_printf(
        t->a, "&RouteTableId=%s&DestinationCidrBlock=0.0.0.0/0&GatewayId=%s", table, igw);
    const char *create = arena_printf(t->a, "Action=CreateRoute%s", route);
    ec2_refused(t, "not attached", create, "InvalidParameterValue", "different networks");
    ec2_must(t, arena_printf(t->a, "Action=AttachInternetGateway&InternetGatewayId=%s&VpcId=%s",
                             igw, vpc));
    ec2_refused(
        t, "attached",
        arena_printf(t->a, "Action=AttachInternetGateway&InternetGatewayId=%s&VpcId={vpc}", igw),
        "Resource.AlreadyAssociated", igw);
    ec2_must(t, create);
    ec2_refused(t, "route twice", create, "RouteAlreadyExists", "0.0.0.0/0");
    ec2_must(t, arena_printf(t->a, "Action=DescribeRouteTables&RouteTableId.1=%s", table));
    assert_string_equal(ec2_text(t, "RouteTables.0.Routes.0.GatewayId"), "local");
    assert_string_equal(ec2_text(t, "RouteTables.0.Routes.1.GatewayId"), igw);
    ec2_must(t, arena_printf(t->a,
                             "Action=CreateSubnet&VpcId=%s&CidrBlock=10.8.3.0/24&"
                             "AvailabilityZone=us-east-1b&"
                             "TagSpecification.1.ResourceType=subnet&"
                             "TagSpecification.1.Tag.1.Key=Name&"
                             "TagSpecification.1.Tag.1.Value=one",
                             vpc));
    assert_string_equal(ec2_text(t, "Subnet.AvailabilityZoneId"), "use1-az2");
    assert_string_equal(ec2_text(t, "Subnet.AvailableIpAddressCount"), "251");
    const char *subnet = ec2_text(t, "Subnet.SubnetId");
    ec2_must(t, arena_printf(t->a,
                             "Action=DescribeSubnets" FILTER("1", "tag:Name", "one")
                                 FILTER("2", "vpc-id", "%s"),
                             vpc));
    assert_string_equal(ec2_text(t, "Subnets.0.SubnetId"), subnet);
    ec2_must(t,
             arena_printf(t->a, "Action=DescribeSecurityGroups" FILTER("1", "vpc-id", "%s"), vpc));
    assert_string_equal(ec2_text(t, "SecurityGroups.0.GroupName"), "default");
    ec2_test_stop(t);
}

static void routes__delete__but_for_the_local_one(void **state)
{
    (void)state;
    struct ec2_test *t = ec2_test_start();
    ec2_must(t, "Action=DescribeRouteTables" FILTER("1", "vpc-id", "{vpc}"));
    const char *table = ec2_text(t, "RouteTables.0.RouteTableId");
    const char *delete =
        arena_printf(t->a, "Action=DeleteRoute&RouteTableId=%s&DestinationCidrBlock=", table);
    ec2_refused(t, "the local one", arena_printf(t->a, "%s10.0.0.0/16", delete),
                "InvalidParameterValue", "local route");
    ec2_refused(t, "none", arena_printf(t->a, "%s10.0.0.0/17", delete), "InvalidRoute.NotFound",
                NULL);
    ec2_must(t, arena_printf(t->a, "%s0.0.0.0/0", delete));
    ec2_must(t, arena_printf(t->a,
                             "Action=CreateRoute&RouteTableId=%s&"
                             "DestinationCidrBlock=100.64.0.0/24&InstanceId={i0}",
                             table));
    ec2_must(t, arena_printf(t->a, "Action=DescribeRouteTables&RouteTableId.1=%s", table));
    assert_int_equal(ec2_len(t, "RouteTables.0.Routes"), 2);
    assert_string_equal(ec2_text(t, "RouteTables.0.Routes.1.InstanceId"), t->instance[0]);
    const struct {
        const char *what, *request, *code;
    } rows[] = {
        {"no target", "&DestinationCidrBlock=100.65.0.0/24", "MissingParameter"},
        {"no destination", "&InstanceId={i0}", "MissingParameter"},
        {"two targets",
         "&DestinationCidrBlock=100.65.0.0/24&InstanceId={i0}&GatewayId=igw-12345678",
         "InvalidParameterCombination"},
        {"unknown gateway", "&DestinationCidrBlock=100.65.0.0/24&GatewayId=igw-12345678",
         "InvalidInternetGatewayID.NotFound"},
        {"malformed gateway", "&DestinationCidrBlock=100.65.0.0/24&GatewayId=x",
         "InvalidInternetGatewayId.Malformed"},
        {"no block", "&DestinationCidrBlock=x&InstanceId={i0}", "InvalidParameterValue"},
        {"not simulated", "&DestinationCidrBlock=100.65.0.0/24&NatGatewayId=nat-1",
         "UnsupportedOperation"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        ec2_refused(
            t, rows[i].what,
            arena_printf(t->a, "Action=CreateRoute&RouteTableId=%s%s", table, rows[i].request),
            rows[i].code, NULL);
    }
    ec2_test_stop(t);
}

/* --- interfaces ------------------------------------------------------------------------------- */

static void interfaces__of_instances_and_balancers__are_listed(void **state)
{
    (void)state;
    struct ec2_test *t = ec2_test_start();
    const char *arn = "arn:aws:elasticloadbalancing:us-east-1:123456789012:loadbalancer/net/web/"
                      "0123456789abcdef";
    struct json_object *lb = json_object_new_object(), *zone = json_object_new_object();
    json_add_str(zone, "SubnetId", t->subnet_b);
    json_add_str(lb, "LoadBalancerArn", arn);
    json_add_str(lb, "Type", "network");
    json_object_array_add(amz_list(lb, "AvailabilityZones"), zone);
    json_push_str(amz_list(lb, "SecurityGroups"), t->nodes);
    (void)amz_set(t->aws, AMZ_LOAD_BALANCER, arn, lb);
    ec2_must(t, "Action=DescribeNetworkInterfaces");
    assert_int_equal(ec2_len(t, "NetworkInterfaces"), 3);
    /* what the node API asks for Fargate */
    ec2_must(t, "Action=DescribeNetworkInterfaces" FILTER("1", "attachment.status", "attached")
                    FILTER("2", "vpc-id", "{vpc}") FILTER("3", "private-ip-address", "10.0.0.5"));
    assert_int_equal(ec2_len(t, "NetworkInterfaces"), 1);
    assert_string_equal(ec2_text(t, "NetworkInterfaces.0.Attachment.InstanceId"), t->instance[1]);
    ec2_must(t, "Action=DescribeNetworkInterfaces" FILTER("1", "requester-id", "amazon-elb"));
    assert_int_equal(ec2_len(t, "NetworkInterfaces"), 1);
    assert_string_equal(ec2_text(t, "NetworkInterfaces.0.Description"),
                        "ELB net/web/0123456789abcdef");
    assert_string_equal(ec2_text(t, "NetworkInterfaces.0.InterfaceType"), "network_load_balancer");
    assert_string_equal(ec2_text(t, "NetworkInterfaces.0.PrivateIpAddress"), "10.0.1.14");
    assert_string_equal(ec2_text(t, "NetworkInterfaces.0.Groups.0.GroupId"), t->nodes);
    const char *id = ec2_text(t, "NetworkInterfaces.0.NetworkInterfaceId");
    ec2_must(t, arena_printf(t->a, "Action=DescribeNetworkInterfaces&NetworkInterfaceId.1=%s", id));
    assert_int_equal(ec2_len(t, "NetworkInterfaces"), 1);
    ec2_test_stop(t);
}

static void addresses__kept_and_taken_ones__are_not_free(void **state)
{
    (void)state;
    struct ec2_test *t = ec2_test_start();
    static const struct {
        const char *address;
        bool is_free;
    } rows[] = {
        {"10.0.0.0", false},  {"10.0.0.3", false},   {"10.0.0.4", false}, {"10.0.0.6", true},
        {"10.0.0.254", true}, {"10.0.0.255", false}, {"10.0.1.6", false}, {"x", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(amz_ec2_address_is_free(t->aws, t->subnet_a, rows[i].address),
                         rows[i].is_free);
    }
    assert_string_equal(amz_ec2_pick_address(t->aws, t->a, t->subnet_a), "10.0.0.6");
    assert_string_equal(amz_ec2_group_vpc(t->aws, t->nodes), t->vpc);
    assert_null(amz_ec2_group_vpc(t->aws, ABSENT("sg-")));
    assert_true(amz_ec2_vpc_has_gateway(t->aws, t->vpc));
    assert_false(amz_ec2_vpc_has_gateway(t->aws, t->other_vpc));
    ec2_test_stop(t);
}

UNIT_MAIN(machines)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(describe_instances__filters__find_what_they_say),
        cmocka_unit_test(describe_instances__answer__has_what_a_controller_reads),
        cmocka_unit_test(describe_instances__pages__count_instances),
        cmocka_unit_test(terminated__instance__is_seen_for_an_hour_without_its_network),
        cmocka_unit_test(terminated__last_of_its_group__frees_the_group),
        cmocka_unit_test(run_instances__new_ones__run_and_answer_pending),
        cmocka_unit_test(run_instances__more_than_fit__makes_as_many_as_fit),
        cmocka_unit_test(modify_instance__groups_and_check__are_set),
        cmocka_unit_test(topology__instances_of_a_subnet__share_three_nodes),
        cmocka_unit_test(zones__not_opted_in__are_seen_on_demand),
        cmocka_unit_test(world__by_hand__has_public_subnets),
        cmocka_unit_test(routes__delete__but_for_the_local_one),
        cmocka_unit_test(interfaces__of_instances_and_balancers__are_listed),
        cmocka_unit_test(addresses__kept_and_taken_ones__are_not_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
