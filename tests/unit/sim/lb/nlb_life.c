/* SPDX-License-Identifier: Apache-2.0 */
/* nlb_life.c: network load balancers of the simulated AWS from their creation to their end:
 * answers, defaults, what hangs on what.  Source: docs/spec/aws.md §5, §10.4. */
#include "tests/support/clock_fake.h"
#include "tests/support/unit.h"
#include "tests/unit/sim/lb/lb_fixture.h"

#include <string.h>

#define ARN "arn:aws:elasticloadbalancing:us-east-1:" AMZ_ACCOUNT ":"
#define CREATE_NLB                                                                                 \
    "Action=CreateLoadBalancer&Name=nlb&Type=network&SubnetMappings.member.1.SubnetId={a}&"        \
    "SubnetMappings.member.2.SubnetId={b}&SecurityGroups.member.1={g}&"                            \
    "Tags.member.1.Key=k&Tags.member.1.Value=v"
#define DESCRIBE_NLB "Action=DescribeLoadBalancers&Names.member.1=nlb"
#define FORWARD(tg)                                                                                \
    "&DefaultActions.member.1.Type=forward&DefaultActions.member.1.TargetGroupArn=" tg

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

static void check(struct lb_test *t, const char *path, const char *want)
{
    const char *got = lb_text(t, path);
    if (!str_eq(got, lb_filled(t, want))) {
        fail_msg("%s: got \"%s\", want \"%s\"", path, got, lb_filled(t, want));
    }
}

static void create_balancer__all_members__as_aws_answers(void **state)
{
    struct lb_test *t = *state;
    v2(t, "Action=CreateLoadBalancer&Name=two&Type=network&SubnetMappings.member.1.SubnetId={a}&"
          "SubnetMappings.member.1.AllocationId={ip1}&SecurityGroups.member.1={g}&"
          "SecurityGroups.member.2={g}");
    lb_keep(t, "two", "LoadBalancers.0.LoadBalancerArn");
    const char *hex = strrchr(lb_text(t, "LoadBalancers.0.LoadBalancerArn"), '/') + 1;
    lb_name(t, "hex", hex);
    assert_int_equal(strlen(hex), 16);
    check(t, "LoadBalancers.0.LoadBalancerArn", ARN "loadbalancer/net/two/{hex}");
    check(t, "LoadBalancers.0.DNSName", "two-{hex}.elb.us-east-1.amazonaws.com");
    check(t, "LoadBalancers.0.State.Code", "provisioning");
    check(t, "LoadBalancers.0.Scheme", "internet-facing");
    check(t, "LoadBalancers.0.Type", "network");
    check(t, "LoadBalancers.0.VpcId", "{vpc}");
    check(t, "LoadBalancers.0.IpAddressType", "ipv4");
    check(t, "LoadBalancers.0.CreatedTime", "2026-01-02T03:04:05Z");
    check(t, "LoadBalancers.0.AvailabilityZones.0.ZoneName", "us-east-1a");
    check(t, "LoadBalancers.0.AvailabilityZones.0.LoadBalancerAddresses.0.IpAddress",
          "198.51.100.1");
    assert_int_equal(lb_len(t, "LoadBalancers.0.SecurityGroups"), 1);
    v2(t, "Action=DescribeLoadBalancers&LoadBalancerArns.member.1={two}");
    check(t, "LoadBalancers.0.State.Code", "active");
    v2(t, "Action=DescribeLoadBalancers&LoadBalancerArns.member.1={bare}");
    check(t, "LoadBalancers.0.Scheme", "internal");
    check(t, "LoadBalancers.0.SecurityGroups", "");
}

static void create_balancer__again__answers_the_same(void **state)
{
    struct lb_test *t = *state;
    const char *before = ec2_state(t->e);
    v2(t, CREATE_NLB);
    check(t, "LoadBalancers.0.LoadBalancerArn", "{nlb}");
    assert_string_equal(ec2_state(t->e), before);
    v2(t, "Action=CreateLoadBalancer&Name=eip&Type=network&SubnetMappings.member.1.SubnetId={a}&"
          "SubnetMappings.member.1.AllocationId={ip1}");
    lb_keep(t, "eip", "LoadBalancers.0.LoadBalancerArn");
    v2(t, "Action=CreateLoadBalancer&Name=eip&Type=network&SubnetMappings.member.1.SubnetId={a}&"
          "SubnetMappings.member.1.AllocationId={ip1}");
    check(t, "LoadBalancers.0.LoadBalancerArn", "{eip}");
}

static void state__active_after_ms__provisions_so_long(void **state)
{
    struct lb_test *t = *state;
    ec2_setting(t->e, "active_after_ms", 5000);
    v2(t, "Action=CreateLoadBalancer&Name=slow&Type=network&Subnets.member.1={a}");
    v2(t, "Action=DescribeLoadBalancers&Names.member.1=slow");
    check(t, "LoadBalancers.0.State.Code", "provisioning");
    clock_fake_advance(t->e->clock, 4999);
    v2(t, "Action=DescribeLoadBalancers&Names.member.1=slow");
    check(t, "LoadBalancers.0.State.Code", "provisioning");
    clock_fake_advance(t->e->clock, 1);
    v2(t, "Action=DescribeLoadBalancers&Names.member.1=slow");
    check(t, "LoadBalancers.0.State.Code", "active");
}

static void describe_balancers__pages__hold_all(void **state)
{
    struct lb_test *t = *state;
    v2(t, "Action=DescribeLoadBalancers&PageSize=2");
    assert_int_equal(lb_len(t, "LoadBalancers"), 2);
    check(t, "LoadBalancers.0.LoadBalancerName", "alb");
    check(t, "LoadBalancers.0.State.Code", "active_impaired");
    check(t, "LoadBalancers.1.LoadBalancerName", "bare");
    lb_keep(t, "marker", "NextMarker");
    v2(t, "Action=DescribeLoadBalancers&PageSize=2&Marker={marker}");
    assert_int_equal(lb_len(t, "LoadBalancers"), 1);
    check(t, "LoadBalancers.0.LoadBalancerName", "nlb");
    check(t, "NextMarker", "");
}

static void delete_balancer__listeners_go__groups_stay(void **state)
{
    struct lb_test *t = *state;
    ec2_setting(t->e, "group_release_ms", 3000);
    v2(t, "Action=DeleteLoadBalancer&LoadBalancerArn={nlb}");
    assert_false(lb_call(t, AMZ_ELBV2, DESCRIBE_NLB));
    assert_false(lb_call(t, AMZ_ELBV2, "Action=DescribeListeners&ListenerArns.member.1={l}"));
    assert_string_equal(t->e->refusal.code, "ListenerNotFound");
    v2(t, "Action=DescribeTargetGroups&Names.member.1=tg");
    assert_int_equal(lb_len(t, "TargetGroups.0.LoadBalancerArns"), 0);
    v2(t, "Action=DeleteTargetGroup&TargetGroupArn={tg}");
    v2(t, "Action=DeleteTargetGroup&TargetGroupArn={tg}");
    v2(t, "Action=DeleteLoadBalancer&LoadBalancerArn={nlb}");
    /* its interfaces hold the group for a while */
    assert_non_null(amz_group_user(t->e->aws, lb_filled(t, "{g}")));
    clock_fake_advance(t->e->clock, 3000);
    assert_null(amz_group_user(t->e->aws, lb_filled(t, "{g}")));
}

static void delete_group__of_a_listener_that_went__in_use_for_a_while(void **state)
{
    static const char delete[] = "Action=DeleteTargetGroup&TargetGroupArn={tg}";
    static const char *const lets_go[] = {
        "Action=DeleteListener&ListenerArn={l}",
        "Action=DeleteLoadBalancer&LoadBalancerArn={nlb}",
        ("Action=ModifyListener&ListenerArn={l}&DefaultActions.member.1.Type=forward&"
         "DefaultActions.member.1.TargetGroupArn={next}"),
    };
    struct lb_test *t = *state;
    for (size_t i = 0; i < ARRAY_LEN(lets_go); i++) {
        if (i > 0) {
            lb_stop(t);
            *state = t = lb_start();
            lb_make_nlb(t);
        }
        ec2_setting(t->e, "target_group_release_ms", 3000);
        v2(t, TG "&Name=next");
        lb_keep(t, "next", "TargetGroups.0.TargetGroupArn");
        v2(t, lets_go[i]);
        assert_false(lb_call(t, AMZ_ELBV2, delete));
        assert_string_equal(t->e->refusal.code, "ResourceInUse");
        v2(t, "Action=DescribeTargetGroups&Names.member.1=tg");
        assert_int_equal(lb_len(t, "TargetGroups.0.LoadBalancerArns"), 0);
        clock_fake_advance(t->e->clock, 3000);
        v2(t, delete);
    }
}

static void attributes__of_a_new_balancer__are_all_there(void **state)
{
    struct lb_test *t = *state;
    static const char *const want[][2] = {
        {"access_logs.s3.bucket", ""},
        {"access_logs.s3.enabled", "false"},
        {"access_logs.s3.prefix", ""},
        {"deletion_protection.enabled", "false"},
        {"dns_record.client_routing_policy", "any_availability_zone"},
        {"ipv6.deny_all_igw_traffic", "false"},
        {"load_balancing.cross_zone.enabled", "false"},
        {"secondary_ips.auto_assigned.per_subnet", "0"},
        {"zonal_shift.config.enabled", "false"},
    };
    v2(t, "Action=DescribeLoadBalancerAttributes&LoadBalancerArn={nlb}");
    assert_int_equal(lb_len(t, "Attributes"), ARRAY_LEN(want));
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        assert_string_equal(lb_value(t, "Attributes", want[i][0]), want[i][1]);
    }
    v2(t, "Action=ModifyLoadBalancerAttributes&LoadBalancerArn={nlb}&Attributes.member.1.Key="
          "access_logs.s3.enabled&Attributes.member.1.Value=true&Attributes.member.2.Key="
          "access_logs.s3.bucket&Attributes.member.2.Value=logs");
    assert_int_equal(lb_len(t, "Attributes"), ARRAY_LEN(want));
    v2(t, "Action=DescribeLoadBalancerAttributes&LoadBalancerArn={nlb}");
    assert_string_equal(lb_value(t, "Attributes", "access_logs.s3.enabled"), "true");
    v2(t, "Action=DescribeLoadBalancerAttributes&LoadBalancerArn={bare}");
    assert_string_equal(lb_value(t, "Attributes", "ipv6.deny_all_igw_traffic"), "true");
    v2(t, "Action=DescribeLoadBalancerAttributes&LoadBalancerArn={alb}");
    assert_int_equal(lb_len(t, "Attributes"), 0);
}

static void attributes__of_groups__depend_on_the_protocol(void **state)
{
    struct lb_test *t = *state;
    static const char termination[] = "deregistration_delay.connection_termination.enabled";
    static const char unhealthy[] = "target_health_state.unhealthy.connection_termination.enabled";
    v2(t, "Action=DescribeTargetGroupAttributes&TargetGroupArn={tg}");
    assert_int_equal(lb_len(t, "Attributes"), 13);
    assert_string_equal(lb_value(t, "Attributes", "preserve_client_ip.enabled"), "true");
    assert_string_equal(lb_value(t, "Attributes", "proxy_protocol_v2.enabled"), "false");
    assert_string_equal(lb_value(t, "Attributes", "deregistration_delay.timeout_seconds"), "300");
    assert_string_equal(lb_value(t, "Attributes", "stickiness.type"), "source_ip");
    assert_string_equal(lb_value(t, "Attributes", "load_balancing.cross_zone.enabled"),
                        "use_load_balancer_configuration");
    assert_string_equal(lb_value(t, "Attributes", termination), "false");
    assert_string_equal(lb_value(t, "Attributes", unhealthy), "true");
    v2(t, "Action=CreateTargetGroup&Name=udp&Protocol=UDP&Port=53&VpcId={vpc}");
    lb_keep(t, "udp", "TargetGroups.0.TargetGroupArn");
    v2(t, "Action=DescribeTargetGroupAttributes&TargetGroupArn={udp}");
    assert_string_equal(lb_value(t, "Attributes", termination), "true");
    assert_string_equal(lb_value(t, "Attributes", unhealthy), "(absent)");
    v2(t, TG "&Name=ips&TargetType=ip");
    lb_keep(t, "ips", "TargetGroups.0.TargetGroupArn");
    v2(t, "Action=DescribeTargetGroupAttributes&TargetGroupArn={ips}");
    assert_string_equal(lb_value(t, "Attributes", "preserve_client_ip.enabled"), "false");
    v2(t, "Action=ModifyTargetGroupAttributes&TargetGroupArn={tg}&Attributes.member.1.Key="
          "proxy_protocol_v2.enabled&Attributes.member.1.Value=true");
    v2(t, "Action=DescribeTargetGroupAttributes&TargetGroupArn={tg}");
    assert_string_equal(lb_value(t, "Attributes", "proxy_protocol_v2.enabled"), "true");
    v2(t, "Action=DescribeListenerAttributes&ListenerArn={l}");
    assert_string_equal(lb_value(t, "Attributes", "tcp.idle_timeout.seconds"), "350");
}

static void create_listener__tls__gets_the_default_policy(void **state)
{
    struct lb_test *t = *state;
    v2(t, "Action=CreateListener&LoadBalancerArn={nlb}&Port=443&Protocol=TLS" FORWARD(
              "{tg}") "&Certificates.member.1.CertificateArn=" CERT);
    lb_keep(t, "tls", "Listeners.0.ListenerArn");
    check(t, "Listeners.0.SslPolicy", "ELBSecurityPolicy-2016-08");
    check(t, "Listeners.0.Certificates.0.CertificateArn", CERT);
    v2(t, "Action=DescribeListeners&LoadBalancerArn={nlb}");
    assert_int_equal(lb_len(t, "Listeners"), 2);
    check(t, "Listeners.0.SslPolicy", "");
    check(t, "Listeners.0.LoadBalancerArn", "{nlb}");
    check(t, "Listeners.0.DefaultActions.0.TargetGroupArn", "{tg}");
    assert_true(str_has_prefix(
        lb_text(t, "Listeners.0.ListenerArn"),
        str_replace(t->e->a, lb_filled(t, "{nlb}"), ":loadbalancer/", ":listener/")));
    /* the certificate changes in place, and TLS goes with all that belongs to it */
    v2(t, "Action=ModifyListener&ListenerArn={tls}&Certificates.member.1.CertificateArn=" CERT "2");
    check(t, "Listeners.0.Certificates.0.CertificateArn", CERT "2");
    check(t, "Listeners.0.SslPolicy", "ELBSecurityPolicy-2016-08");
    v2(t, "Action=ModifyListener&ListenerArn={tls}&Protocol=TCP");
    check(t, "Listeners.0.Protocol", "TCP");
    check(t, "Listeners.0.SslPolicy", "");
    check(t, "Listeners.0.Certificates", "");
    v2(t, "Action=ModifyListener&ListenerArn={tls}&Protocol=TLS&SslPolicy=ELBSecurityPolicy-TLS13-"
          "1-2-2021-06&Certificates.member.1.CertificateArn=" CERT);
    check(t, "Listeners.0.SslPolicy", "ELBSecurityPolicy-TLS13-1-2-2021-06");
}

static void create_listener__again__answers_the_same(void **state)
{
    struct lb_test *t = *state;
    const char *before = ec2_state(t->e);
    v2(t, "Action=CreateListener&LoadBalancerArn={nlb}&Port=80&Protocol=TCP" FORWARD("{tg}"));
    check(t, "Listeners.0.ListenerArn", "{l}");
    assert_string_equal(ec2_state(t->e), before);
}

static void modify_listener__other_group__association_follows(void **state)
{
    struct lb_test *t = *state;
    v2(t, TG "&Name=next");
    lb_keep(t, "next", "TargetGroups.0.TargetGroupArn");
    v2(t, "Action=ModifyListener&ListenerArn={l}" FORWARD("{next}"));
    check(t, "Listeners.0.Port", "80");
    v2(t, "Action=DescribeTargetGroups&LoadBalancerArn={nlb}");
    assert_int_equal(lb_len(t, "TargetGroups"), 1);
    check(t, "TargetGroups.0.TargetGroupArn", "{next}");
    check(t, "TargetGroups.0.LoadBalancerArns.0", "{nlb}");
    v2(t, "Action=DeleteTargetGroup&TargetGroupArn={tg}");
    v2(t, "Action=ModifyListener&ListenerArn={l}&Port=8080");
    v2(t, "Action=DescribeListeners&ListenerArns.member.1={l}");
    check(t, "Listeners.0.Port", "8080");
    check(t, "Listeners.0.DefaultActions.0.TargetGroupArn", "{next}");
    v2(t, "Action=DeleteListener&ListenerArn={l}");
    v2(t, "Action=DescribeTargetGroups&LoadBalancerArn={nlb}");
    assert_int_equal(lb_len(t, "TargetGroups"), 0);
}

static void create_group__defaults__by_protocol(void **state)
{
    struct lb_test *t = *state;
    v2(t, "Action=DescribeTargetGroups&TargetGroupArns.member.1={tg}");
    check(t, "TargetGroups.0.HealthCheckProtocol", "TCP");
    check(t, "TargetGroups.0.HealthCheckPort", "traffic-port");
    check(t, "TargetGroups.0.HealthCheckIntervalSeconds", "30");
    check(t, "TargetGroups.0.HealthCheckTimeoutSeconds", "10");
    check(t, "TargetGroups.0.HealthyThresholdCount", "5");
    check(t, "TargetGroups.0.UnhealthyThresholdCount", "2");
    check(t, "TargetGroups.0.HealthCheckPath", "");
    check(t, "TargetGroups.0.TargetType", "instance");
    v2(t, TG "&Name=tg&Tags.member.1.Key=k&Tags.member.1.Value=v");
    check(t, "TargetGroups.0.TargetGroupArn", "{tg}");
    v2(t, TG "&Name=local&HealthCheckProtocol=HTTP&HealthCheckPort=32000&"
             "HealthCheckIntervalSeconds=10");
    check(t, "TargetGroups.0.HealthCheckPath", "/");
    check(t, "TargetGroups.0.HealthCheckTimeoutSeconds", "6");
    check(t, "TargetGroups.0.Matcher.HttpCode", "200-399");
    /* the check of a group changes in place; path and codes come and go with HTTP */
    v2(t, "Action=ModifyTargetGroup&TargetGroupArn={tg}&HealthCheckProtocol=HTTP&"
          "HealthCheckPath=/healthz&HealthCheckPort=32001");
    check(t, "TargetGroups.0.HealthCheckPath", "/healthz");
    v2(t, "Action=ModifyTargetGroup&TargetGroupArn={tg}&HealthCheckProtocol=TCP");
    check(t, "TargetGroups.0.HealthCheckPath", "");
    check(t, "TargetGroups.0.HealthCheckPort", "32001");
}

static void set_subnets__zone_more_and_less__addresses_stay(void **state)
{
    struct lb_test *t = *state;
    v2(t, "Action=SetSubnets&LoadBalancerArn={nlb}&Subnets.member.1={a}&Subnets.member.2={c}");
    assert_int_equal(lb_len(t, "AvailabilityZones"), 2);
    v2(t, DESCRIBE_NLB);
    check(t, "LoadBalancers.0.AvailabilityZones.1.SubnetId", "{c}");
    v2(t, "Action=SetSecurityGroups&LoadBalancerArn={nlb}&SecurityGroups.member.1={nodes}");
    check(t, "SecurityGroupIds.0", "{nodes}");
    v2(t, DESCRIBE_NLB);
    check(t, "LoadBalancers.0.SecurityGroups.0", "{nodes}");
}

static void tags__added_and_removed__are_listed_by_resource(void **state)
{
    struct lb_test *t = *state;
    v2(t, "Action=AddTags&ResourceArns.member.1={nlb}&ResourceArns.member.2={l}&"
          "Tags.member.1.Key=k&Tags.member.1.Value=w&Tags.member.2.Key=x");
    v2(t, "Action=RemoveTags&ResourceArns.member.1={nlb}&TagKeys.member.1=x&TagKeys.member.2=y");
    v2(t, "Action=DescribeTags&ResourceArns.member.1={l}&ResourceArns.member.2={nlb}&"
          "ResourceArns.member.3={bare}");
    check(t, "TagDescriptions.0.ResourceArn", "{l}");
    assert_string_equal(lb_value(t, "TagDescriptions.0.Tags", "x"), "");
    assert_string_equal(lb_value(t, "TagDescriptions.1.Tags", "k"), "w");
    assert_string_equal(lb_value(t, "TagDescriptions.1.Tags", "x"), "(absent)");
    assert_int_equal(lb_len(t, "TagDescriptions.2.Tags"), 0);
}

static void consistency__new_balancer__is_seen_later(void **state)
{
    struct lb_test *t = *state;
    ec2_setting(t->e, "consistency_ms", 1000);
    v2(t, "Action=CreateLoadBalancer&Name=late&Type=network&Subnets.member.1={a}");
    assert_false(lb_call(t, AMZ_ELBV2, "Action=DescribeLoadBalancers&Names.member.1=late"));
    v2(t, "Action=CreateLoadBalancer&Name=late&Type=network&Subnets.member.1={a}");
    clock_fake_advance(t->e->clock, 1000);
    v2(t, "Action=DescribeLoadBalancers&Names.member.1=late");
}

UNIT_MAIN(nlb_life)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(create_balancer__all_members__as_aws_answers),
        TEST(create_balancer__again__answers_the_same),
        TEST(state__active_after_ms__provisions_so_long),
        TEST(describe_balancers__pages__hold_all),
        TEST(delete_balancer__listeners_go__groups_stay),
        TEST(delete_group__of_a_listener_that_went__in_use_for_a_while),
        TEST(attributes__of_a_new_balancer__are_all_there),
        TEST(attributes__of_groups__depend_on_the_protocol),
        TEST(create_listener__tls__gets_the_default_policy),
        TEST(create_listener__again__answers_the_same),
        TEST(modify_listener__other_group__association_follows),
        TEST(create_group__defaults__by_protocol),
        TEST(set_subnets__zone_more_and_less__addresses_stay),
        TEST(tags__added_and_removed__are_listed_by_resource),
        TEST(consistency__new_balancer__is_seen_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
