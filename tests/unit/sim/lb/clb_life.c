/* SPDX-License-Identifier: Apache-2.0 */
/* clb_life.c: classic balancers of the simulated AWS from their creation to their end: answers,
 * defaults, policies.
 *
 * Source: docs/spec/aws.md §4, §10.4. */
#include "tests/support/clock_fake.h"
#include "tests/support/unit.h"
#include "tests/unit/sim/lb/lb_fixture.h"

#include <string.h>

#define ON(action, name) "Action=" action "&LoadBalancerName=" name
#define DESCRIBE         "Action=DescribeLoadBalancers&LoadBalancerNames.member.1=clb"
#define AT               "LoadBalancerDescriptions.0."
#define PLAIN                                                                                      \
    "&Listeners.member.1.Protocol=TCP&Listeners.member.1.LoadBalancerPort=80&"                     \
    "Listeners.member.1.InstancePort=30080"

static int setup(void **state)
{
    struct lb_test *t = lb_start();
    lb_make_clb(t);
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

static void create__all_members__as_aws_describes(void **state)
{
    struct lb_test *t = *state;
    v1(t, DESCRIBE);
    const char *dns = lb_text(t, AT "DNSName");
    if (!str_glob("clb-??????????.us-east-1.elb.amazonaws.com", dns)) {
        fail_msg("%s", dns);
    }
    check(t, AT "CanonicalHostedZoneName", dns);
    check(t, AT "Scheme", "internet-facing");
    check(t, AT "VPCId", "{vpc}");
    check(t, AT "Subnets.0", "{a}");
    check(t, AT "AvailabilityZones.0", "us-east-1a");
    check(t, AT "SecurityGroups.0", "{g}");
    check(t, AT "SourceSecurityGroup.GroupName", "balancers");
    check(t, AT "SourceSecurityGroup.OwnerAlias", AMZ_ACCOUNT);
    check(t, AT "Instances.0.InstanceId", "{i0}");
    check(t, AT "HealthCheck.Target", "TCP:30080");
    check(t, AT "HealthCheck.Interval", "30");
    check(t, AT "HealthCheck.Timeout", "5");
    check(t, AT "HealthCheck.UnhealthyThreshold", "2");
    check(t, AT "HealthCheck.HealthyThreshold", "10");
    check(t, AT "ListenerDescriptions.0.Listener.Protocol", "TCP");
    check(t, AT "ListenerDescriptions.0.Listener.InstanceProtocol", "TCP");
    check(t, AT "ListenerDescriptions.1.Listener.Protocol", "SSL");
    check(t, AT "ListenerDescriptions.1.Listener.InstanceProtocol", "TCP");
    check(t, AT "ListenerDescriptions.1.Listener.SSLCertificateId", CERT);
    check(t, AT "ListenerDescriptions.1.PolicyNames.0", "ELBSecurityPolicy-2016-08");
    check(t, AT "Policies.OtherPolicies.0", "ELBSecurityPolicy-2016-08");
    assert_int_equal(lb_len(t, AT "ListenerDescriptions.0.PolicyNames"), 0);
    assert_int_equal(lb_len(t, AT "BackendServerDescriptions"), 0);
}

static void create__internal_without_groups__gets_the_default_group(void **state)
{
    struct lb_test *t = *state;
    v1(t, ON("CreateLoadBalancer", "in") "&Scheme=internal&Subnets.member.1={a}" PLAIN);
    assert_true(str_has_prefix(lb_text(t, "DNSName"), "internal-in-"));
    v1(t, "Action=DescribeLoadBalancers&LoadBalancerNames.member.1=in");
    check(t, AT "SourceSecurityGroup.GroupName", "default");
    check(t, AT "CanonicalHostedZoneName", "");
    assert_int_equal(lb_len(t, AT "SecurityGroups"), 1);
}

static void create__again__answers_the_same(void **state)
{
    struct lb_test *t = *state;
    v1(t, ON("CreateLoadBalancer", "x") "&Subnets.member.1={a}" PLAIN);
    lb_keep(t, "dns", "DNSName");
    const char *before = ec2_state(t->e);
    v1(t, ON("CreateLoadBalancer", "x") "&Subnets.member.1={a}" PLAIN);
    check(t, "DNSName", "{dns}");
    assert_string_equal(ec2_state(t->e), before);
}

static void delete__twice__nothing_stays(void **state)
{
    struct lb_test *t = *state;
    ec2_setting(t->e, "group_release_ms", 1000);
    v1(t, "Action=ModifyLoadBalancerAttributes&LoadBalancerName=clb&LoadBalancerAttributes."
          "ConnectionSettings.IdleTimeout=4000");
    v1(t, ON("DeleteLoadBalancer", "clb"));
    v1(t, ON("DeleteLoadBalancer", "clb"));
    static const enum amz_kind_id kinds[] = {AMZ_CLASSIC, AMZ_CLASSIC_ATTRIBUTES,
                                             AMZ_CLASSIC_POLICIES, AMZ_CLASSIC_TAGS};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        assert_int_equal(amz_count(t->e->aws, kinds[i]), 0);
    }
    assert_non_null(amz_group_user(t->e->aws, lb_filled(t, "{g}")));
    clock_fake_advance(t->e->clock, 1000);
    assert_null(amz_group_user(t->e->aws, lb_filled(t, "{g}")));
}

static void listeners__equal_ones_again__succeed(void **state)
{
    struct lb_test *t = *state;
    v1(t, ON("CreateLoadBalancerListeners", "clb") PLAIN
       "&Listeners.member.2.Protocol=http&Listeners.member.2.LoadBalancerPort=8080&"
       "Listeners.member.2.InstancePort=30081&Listeners.member.2.SSLCertificateId=ignored");
    v1(t, DESCRIBE);
    assert_int_equal(lb_len(t, AT "ListenerDescriptions"), 3);
    check(t, AT "ListenerDescriptions.2.Listener.InstanceProtocol", "HTTP");
    check(t, AT "ListenerDescriptions.2.Listener.SSLCertificateId", "");
    v1(t, ON("DeleteLoadBalancerListeners", "clb") "&LoadBalancerPorts.member.1=80&"
                                                   "LoadBalancerPorts.member.2=8080&"
                                                   "LoadBalancerPorts.member.3=9");
    v1(t, DESCRIBE);
    assert_int_equal(lb_len(t, AT "ListenerDescriptions"), 1);
    check(t, AT "ListenerDescriptions.0.Listener.LoadBalancerPort", "443");
    v1(t, ON("SetLoadBalancerListenerSSLCertificate", "clb") "&LoadBalancerPort=443&"
                                                             "SSLCertificateId=" CERT "2");
    v1(t, DESCRIBE);
    check(t, AT "ListenerDescriptions.0.Listener.SSLCertificateId", CERT "2");
}

static void backend_policies__cleared__the_port_stays_listed(void **state)
{
    struct lb_test *t = *state;
    static const char create[] =
        ON("CreateLoadBalancerPolicy", "clb") "&PolicyName=k8s-proxyprotocol-enabled&"
                                              "PolicyTypeName=ProxyProtocolPolicyType&"
                                              "PolicyAttributes.member.1.AttributeName="
                                              "ProxyProtocol&PolicyAttributes.member.1."
                                              "AttributeValue=true";
    v1(t, create);
    v1(t, create); /* the same content */
    v1(t, ON("SetLoadBalancerPoliciesForBackendServer", "clb") "&InstancePort=30080&PolicyNames."
                                                               "member.1=k8s-proxyprotocol-"
                                                               "enabled");
    v1(t, DESCRIBE);
    check(t, AT "BackendServerDescriptions.0.InstancePort", "30080");
    check(t, AT "BackendServerDescriptions.0.PolicyNames.0", "k8s-proxyprotocol-enabled");
    check(t, AT "Policies.OtherPolicies.1", "k8s-proxyprotocol-enabled");
    v1(t, ON("DeleteLoadBalancerListeners", "clb") "&LoadBalancerPorts.member.1=80");
    v1(t, ON("SetLoadBalancerPoliciesForBackendServer", "clb") "&InstancePort=30080&PolicyNames=");
    v1(t, DESCRIBE);
    assert_int_equal(lb_len(t, AT "BackendServerDescriptions"), 1);
    assert_int_equal(lb_len(t, AT "BackendServerDescriptions.0.PolicyNames"), 0);
    v1(t, ON("DeleteLoadBalancerPolicy", "clb") "&PolicyName=k8s-proxyprotocol-enabled");
    v1(t, ON("DeleteLoadBalancerPolicy", "clb") "&PolicyName=k8s-proxyprotocol-enabled");
    v1(t, DESCRIBE);
    assert_int_equal(lb_len(t, AT "Policies.OtherPolicies"), 1);
}

static void listener_policies__of_ssl__are_set_and_described(void **state)
{
    struct lb_test *t = *state;
    v1(t, ON("CreateLoadBalancerPolicy", "clb") "&PolicyName=own&PolicyTypeName="
                                                "SSLNegotiationPolicyType&PolicyAttributes.member."
                                                "1.AttributeName=Reference-Security-Policy&"
                                                "PolicyAttributes.member.1.AttributeValue="
                                                "ELBSecurityPolicy-TLS-1-2-2017-01");
    v1(t, ON("SetLoadBalancerPoliciesOfListener", "clb") "&LoadBalancerPort=443&PolicyNames.member."
                                                         "1=own");
    v1(t, DESCRIBE);
    check(t, AT "ListenerDescriptions.1.PolicyNames.0", "own");
    v1(t, ON("DescribeLoadBalancerPolicies", "clb") "&PolicyNames.member.1=own");
    assert_int_equal(lb_len(t, "PolicyDescriptions"), 1);
    check(t, "PolicyDescriptions.0.PolicyAttributeDescriptions.0.AttributeValue",
          "ELBSecurityPolicy-TLS-1-2-2017-01");
    v1(t, ON("DescribeLoadBalancerPolicies", "clb"));
    assert_int_equal(lb_len(t, "PolicyDescriptions"), 2);
    v1(t, "Action=DescribeLoadBalancerPolicies&PolicyNames.member.1=ELBSecurityPolicy-2016-08");
    check(t, "PolicyDescriptions.0.PolicyName", "ELBSecurityPolicy-2016-08");
}

static void attributes__defaults_and_changes__answer_what_was_named(void **state)
{
    struct lb_test *t = *state;
    v1(t, ON("DescribeLoadBalancerAttributes", "clb"));
    assert_string_equal(
        ec2_json(t->e, "LoadBalancerAttributes"),
        "{\"AccessLog\":{\"Enabled\":false},\"AdditionalAttributes\":[{\"Key\":"
        "\"elb.http.desyncmitigationmode\",\"Value\":\"defensive\"}],\"ConnectionDraining\":{"
        "\"Enabled\":false,\"Timeout\":300},\"ConnectionSettings\":{\"IdleTimeout\":60},"
        "\"CrossZoneLoadBalancing\":{\"Enabled\":false}}");
    v1(t, "Action=ModifyLoadBalancerAttributes&LoadBalancerName=clb&LoadBalancerAttributes."
          "AccessLog.Enabled=true&LoadBalancerAttributes.AccessLog.S3BucketName=logs&"
          "LoadBalancerAttributes.ConnectionDraining.Enabled=true");
    assert_string_equal(ec2_json(t->e, "LoadBalancerAttributes"),
                        "{\"AccessLog\":{\"EmitInterval\":60,\"Enabled\":true,\"S3BucketName\":"
                        "\"logs\"},\"ConnectionDraining\":{\"Enabled\":true,\"Timeout\":300}}");
    v1(t, "Action=ModifyLoadBalancerAttributes&LoadBalancerName=clb&LoadBalancerAttributes."
          "AdditionalAttributes.member.1.Key=elb.http.desyncmitigationmode&LoadBalancerAttributes."
          "AdditionalAttributes.member.1.Value=strictest");
    v1(t, ON("DescribeLoadBalancerAttributes", "clb"));
    assert_int_equal(lb_len(t, "LoadBalancerAttributes.AdditionalAttributes"), 1);
    check(t, "LoadBalancerAttributes.AdditionalAttributes.0.Value", "strictest");
    check(t, "LoadBalancerAttributes.AccessLog.S3BucketName", "logs");
}

static void world__attribute_several_times__is_answered_once(void **state)
{
    struct lb_test *t = *state;
    static const char text[] =
        "{\"AdditionalAttributes\":[{\"Key\":\"elb.http.desyncmitigationmode\",\"Value\":"
        "\"defensive\"},{\"Key\":\"elb.http.desyncmitigationmode\",\"Value\":\"monitor\"}]}";
    struct json_object *stored = NULL;
    assert_int_equal(json_parse(text, strlen(text), NULL, &stored, NULL), ERR_OK);
    (void)amz_set(t->e->aws, AMZ_CLASSIC_ATTRIBUTES, "clb", stored);
    v1(t, ON("DescribeLoadBalancerAttributes", "clb"));
    assert_int_equal(lb_len(t, "LoadBalancerAttributes.AdditionalAttributes"), 1);
    check(t, "LoadBalancerAttributes.AdditionalAttributes.0.Value", "monitor");
}

static void health_check__any_case__is_spelled_in_capitals(void **state)
{
    struct lb_test *t = *state;
    v1(t, ON("ConfigureHealthCheck", "clb") "&HealthCheck.Target=http:32000/healthz&"
                                            "HealthCheck.Interval=10&HealthCheck.Timeout=5&"
                                            "HealthCheck.HealthyThreshold=2&"
                                            "HealthCheck.UnhealthyThreshold=6");
    check(t, "HealthCheck.Target", "HTTP:32000/healthz");
    v1(t, DESCRIBE);
    check(t, AT "HealthCheck.Target", "HTTP:32000/healthz");
    check(t, AT "HealthCheck.UnhealthyThreshold", "6");
}

static void subnets_and_groups__changed__are_answered_whole(void **state)
{
    struct lb_test *t = *state;
    v1(t, ON("AttachLoadBalancerToSubnets", "clb") "&Subnets.member.1={b}&Subnets.member.2={a}");
    assert_int_equal(lb_len(t, "Subnets"), 2);
    v1(t, ON("DetachLoadBalancerFromSubnets", "clb") "&Subnets.member.1={a}&Subnets.member.2={c}");
    check(t, "Subnets.0", "{b}");
    v1(t, DESCRIBE);
    check(t, AT "AvailabilityZones.0", "us-east-1b");
    assert_int_equal(lb_len(t, AT "AvailabilityZones"), 1);
    v1(t, ON("ApplySecurityGroupsToLoadBalancer", "clb") "&SecurityGroups.member.1={nodes}");
    check(t, "SecurityGroups.0", "{nodes}");
    v1(t, DESCRIBE);
    check(t, AT "SourceSecurityGroup.GroupName", "nodes");
}

static void instances__registered_and_taken_out__health_follows(void **state)
{
    struct lb_test *t = *state;
    v1(t, ON("RegisterInstancesWithLoadBalancer", "clb") "&Instances.member.1.InstanceId={stopped}&"
                                                         "Instances.member.2.InstanceId={i0}&"
                                                         "Instances.member.3.InstanceId={i1}");
    assert_int_equal(lb_len(t, "Instances"), 3);
    v1(t, ON("DescribeInstanceHealth", "clb"));
    check(t, "InstanceStates.0.State", "InService");
    check(t, "InstanceStates.1.State", "OutOfService");
    check(t, "InstanceStates.1.Description", "Instance is in stopped state.");
    /* one that ends leaves by itself, and then it cannot be taken out */
    assert_true(amz_ec2_set_instance_state(t->e->aws, t->e->instance[1], "terminated"));
    v1(t, ON("DescribeInstanceHealth", "clb"));
    check(t, "InstanceStates.2.ReasonCode", "Instance");
    clock_fake_advance(t->e->clock, 10000);
    amz_balancers_settle(t->e->aws);
    v1(t, ON("DescribeInstanceHealth", "clb"));
    assert_int_equal(lb_len(t, "InstanceStates"), 2);
    static const struct lb_row gone[] = {
        {"one that ended",
         ON("DeregisterInstancesFromLoadBalancer", "clb") "&Instances.member.1.InstanceId={i1}&"
                                                          "Instances.member.2.InstanceId={i0}",
         "InvalidInstance", "{i1}"}};
    lb_refused(t, AMZ_ELB, gone, ARRAY_LEN(gone));
    /* one that is not registered can be taken out */
    v1(t, ON("DeregisterInstancesFromLoadBalancer", "clb") "&Instances.member.1.InstanceId={i0}");
    v1(t, ON("DeregisterInstancesFromLoadBalancer", "clb") "&Instances.member.1.InstanceId={i0}");
    assert_int_equal(lb_len(t, "Instances"), 1);
    check(t, "Instances.0.InstanceId", "{stopped}");
}

static void tags__added_and_removed__are_listed(void **state)
{
    struct lb_test *t = *state;
    v1(t, "Action=AddTags&LoadBalancerNames.member.1=clb&Tags.member.1.Key=k&Tags.member.1.Value=w&"
          "Tags.member.2.Key=x");
    v1(t, "Action=RemoveTags&LoadBalancerNames.member.1=clb&Tags.member.1.Key=x");
    v1(t, "Action=DescribeTags&LoadBalancerNames.member.1=clb");
    check(t, "TagDescriptions.0.LoadBalancerName", "clb");
    assert_int_equal(lb_len(t, "TagDescriptions.0.Tags"), 1);
    assert_string_equal(lb_value(t, "TagDescriptions.0.Tags", "k"), "w");
}

static void describe__pages__hold_all(void **state)
{
    struct lb_test *t = *state;
    v1(t, ON("CreateLoadBalancer", "x") "&Subnets.member.1={a}" PLAIN);
    v1(t, "Action=DescribeLoadBalancers&PageSize=1");
    check(t, AT "LoadBalancerName", "clb");
    lb_keep(t, "marker", "NextMarker");
    v1(t, "Action=DescribeLoadBalancers&PageSize=1&Marker={marker}");
    check(t, AT "LoadBalancerName", "x");
    check(t, "NextMarker", "");
}

UNIT_MAIN(clb_life)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(create__all_members__as_aws_describes),
        TEST(create__internal_without_groups__gets_the_default_group),
        TEST(create__again__answers_the_same),
        TEST(delete__twice__nothing_stays),
        TEST(listeners__equal_ones_again__succeed),
        TEST(backend_policies__cleared__the_port_stays_listed),
        TEST(listener_policies__of_ssl__are_set_and_described),
        TEST(attributes__defaults_and_changes__answer_what_was_named),
        TEST(world__attribute_several_times__is_answered_once),
        TEST(health_check__any_case__is_spelled_in_capitals),
        TEST(subnets_and_groups__changed__are_answered_whole),
        TEST(instances__registered_and_taken_out__health_follows),
        TEST(tags__added_and_removed__are_listed),
        TEST(describe__pages__hold_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
