/* SPDX-License-Identifier: Apache-2.0 */
/* test_write.c: one operation of a plan as calls, and what is done when AWS refuses a part of it
 * (docs/spec/aws.md 3.3, 7.4).
 *
 * Numbers are rows of the specification's sections: "12.19" is row 19 of section 12. */
#include "tests/support/clock_fake.h"
#include "tests/support/unit.h"
#include "tests/unit/aws/flow_kit.h"

static const struct tt_service *nlb(struct flow_kit *k)
{
    return aws_test_object(k->a, "{\"type\":\"nlb\"}", NULL);
}

static const struct tt_service *classic(struct flow_kit *k)
{
    return aws_test_object(k->a, NULL, NULL);
}

/* The resources of an NLB; rows of refusals come first. */
#define MAKES                                                                                      \
    {"CreateTargetGroup", 0,                                                                       \
     "<TargetGroups><member><TargetGroupArn>arn:tg</TargetGroupArn></member></TargetGroups>", 0},  \
        {"elbv2 CreateLoadBalancer", 0, FLOW_NLB, 0},                                              \
        {"CreateListener", 0,                                                                      \
         "<Listeners><member><ListenerArn>arn:l</ListenerArn></member></Listeners>", 0},           \
        {"CreateSecurityGroup", 0, "<groupId>sg-made</groupId>", 0},                               \
        {"elb CreateLoadBalancer", 0, "<DNSName>made.example</DNSName>", 0},                       \
    {                                                                                              \
        NULL, 0, NULL, 0                                                                           \
    }

/* The calls with this text in them, sorted. */
static const char *calls(struct flow_kit *k, const char *text)
{
    size_t n = 0;
    size_t kept = 0;
    char **lines = str_split(k->a, flow_kit_asked(k), '\n', &n);
    for (size_t i = 0; i < n; i++) {
        if (strstr(lines[i], text) != NULL) {
            lines[kept++] = lines[i];
        }
    }
    return str_join(k->a, (const char *const *)lines, kept, "\n");
}

static void targets__one_is_named__the_others_are_sent_with_new_numbers(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {
        {"RegisterTargets", 400, "InvalidTarget The following targets are not running: 'i-n2'", 1},
        MAKES};
    k->rows = rows;
    k->nodes = "n1 n2 n2a";
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, nlb(k)), TT_OK);
    same_text("12.19", calls(k, "RegisterTargets"),
              "elbv2 RegisterTargets TargetGroupArn=arn:tg&Targets.member.1.Id=i-n1"
              "&Targets.member.1.Port=30080&Targets.member.2.Id=i-n2&Targets.member.2.Port=30080"
              "&Targets.member.3.Id=i-n2a&Targets.member.3.Port=30080\n"
              "elbv2 RegisterTargets TargetGroupArn=arn:tg&Targets.member.1.Id=i-n1"
              "&Targets.member.1.Port=30080&Targets.member.2.Id=i-n2a&Targets.member.2.Port=30080");
    same_text("event", flow_kit_events(k),
              "TargetRefused: AWS did not take instance i-n2 (RegisterTargets: "
              "InvalidTarget: The following targets are not running: 'i-n2') as a target of load "
              "balancer " NAME "; the others were registered\n");
    assert_true(k->r.again_ms >= 60000 && k->r.again_ms <= 72000);
}

static void targets__none_is_named__each_is_sent_alone(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {{"Targets.member.2", 400, "InvalidTarget no", 0},
                              {"Targets.member.1.Id=i-n2", 400, "InvalidTarget no", 0},
                              MAKES};
    k->rows = rows;
    k->nodes = "n1 n2 n3";
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, nlb(k)), TT_OK);
    assert_int_equal(flow_kit_count(k, "elbv2 RegisterTargets"), 4);
    assert_int_equal(flow_kit_count(k, "Targets.member.1.Id=i-n3&Targets.member.1.Port=30080\n"),
                     1);
    const char *events = flow_kit_events(k);
    assert_non_null(strstr(events, "instance i-n2 ("));
    assert_null(strstr(events, "instance i-n1 ("));
    assert_null(strstr(events, "instance i-n3 ("));
}

static void targets__all_are_refused__the_sync_goes_on_without(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {{"RegisterTargets", 400, "InvalidTarget i-n1 and i-n2", 0}, MAKES};
    k->rows = rows;
    k->nodes = "n1 n2";
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, nlb(k)), TT_OK);
    assert_int_equal(flow_kit_count(k, "elbv2 RegisterTargets"), 1);
    assert_int_equal(flow_kit_count(k, "elbv2 CreateListener"), 1);
    same_text("status", k->r.ingress, "nlb.example");
}

static void targets__refused_for_another_reason__it_is_the_result(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {{"RegisterTargets", 400, "TooManyTargets i-n1", 0}, MAKES};
    k->rows = rows;
    flow_kit_lets_time_pass(k);
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, nlb(k)), TT_QUOTA);
    same_text("nobody is told of targets", flow_kit_events(k), "");
}

static void targets__of_two_ports__an_instance_is_told_once(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {{"Id=i-n2", 400, "InvalidTarget i-n2", 0}, MAKES};
    k->rows = rows;
    k->nodes = "n1 n2";
    const struct tt_service *svc =
        aws_test_object(k->a, "{\"type\":\"nlb\"}",
                        "\"ports\":[{\"name\":\"a\",\"port\":80,\"nodePort\":30080,\"protocol\":"
                        "\"TCP\"},{\"name\":\"b\",\"port\":81,\"nodePort\":30081,\"protocol\":"
                        "\"TCP\"}]");
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, svc), TT_OK);
    assert_int_equal(flow_kit_count(k, "elbv2 RegisterTargets"), 4);
    const char *events = flow_kit_events(k);
    const char *first = strstr(events, "TargetRefused");
    assert_non_null(first);
    assert_null(strstr(first + 1, "TargetRefused"));
}

static void targets__many_are_refused__ten_are_told_by_name(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {{"RegisterTargets", 400, "InvalidTarget no", 0}, MAKES};
    k->rows = rows;
    k->nodes = "n1 n2 n3 n4 n5 n6 n7 n8 n9 n91 n92 n93";
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, nlb(k)), TT_OK);
    assert_int_equal(flow_kit_count(k, "elbv2 RegisterTargets"), 13);
    const char *events = flow_kit_events(k);
    assert_non_null(strstr(events, "did not take 2 more instances"));
    assert_null(strstr(events, "instance i-n93 ("));
}

/* ---- rules that are there -------------------------------------------------------------------- */

#define THERE "InvalidPermission.Duplicate the specified rule already exists"

/* All NLBs share one rule for ICMP.  Another Service was faster: the others are sent, and when
 * these were taken, it is the one that is there. */
static void rules__one_is_there__the_others_are_sent_alone(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {{"AuthorizeSecurityGroupIngress", 400, THERE, 1},
                              {"IpProtocol=icmp", 400, THERE, 0},
                              MAKES};
    k->rows = rows;
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, nlb(k)), TT_OK);
    assert_int_equal(flow_kit_count(k, "AuthorizeSecurityGroupIngress"), 2);
    assert_int_equal(flow_kit_count(k, "elbv2 CreateLoadBalancer"), 1);
    const char *sent = calls(k, "AuthorizeSecurityGroupIngress");
    assert_non_null(strstr(sent, "IpPermissions.1.IpProtocol=tcp&IpPermissions.1.FromPort=30080&"
                                 "IpPermissions.1.ToPort=30080&IpPermissions.1.IpRanges.1.CidrIp="
                                 "0.0.0.0/0"));
    same_text("events", flow_kit_events(k), "");
}

/* One of them is refused for another reason: that is the result. */
static void rules__one_is_there_and_one_is_refused__it_fails(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {{"AuthorizeSecurityGroupIngress", 400, THERE, 1},
                              {"IpProtocol=tcp", 400, "RulesPerSecurityGroupLimitExceeded full", 0},
                              MAKES};
    k->rows = rows;
    flow_kit_lets_time_pass(k);
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, nlb(k)), TT_QUOTA);
}

static void instances__gone_ones_are_taken_away__nobody_is_told(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {
        {"elb DescribeLoadBalancers", 0, FLOW_CLASSIC, 0},
        {"elb DescribeLoadBalancerAttributes", 0, FLOW_CLASSIC_ATTRIBUTES, 0},
        {"tag-key", 0, FLOW_CLASSIC_GROUPS, 0},
        {"DeregisterInstances", 400, "InvalidInstance Could not find EC2 instance i-n1", 0},
        {NULL, 0, NULL, 0}};
    k->rows = rows;
    k->nodes = "n2";
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, classic(k)), TT_OK);
    assert_int_equal(flow_kit_count(k, "elb RegisterInstances"), 1);
    assert_int_equal(flow_kit_count(k, "elb DeregisterInstances"), 1);
    same_text("no event", flow_kit_events(k), "");
    assert_int_equal(k->r.again_ms, 0);
}

static void instances__one_is_gone__the_others_are_registered(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {
        {"RegisterInstances", 400, "InvalidInstance Could not find EC2 instance i-n3.", 1}, MAKES};
    k->rows = rows;
    k->nodes = "n1 n3";
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, classic(k)), TT_OK);
    same_text("3.3", calls(k, "RegisterInstances"),
              "elb RegisterInstancesWithLoadBalancer LoadBalancerName=" NAME
              "&Instances.member.1.InstanceId=i-n1\n"
              "elb RegisterInstancesWithLoadBalancer LoadBalancerName=" NAME
              "&Instances.member.1.InstanceId=i-n1&Instances.member.2.InstanceId=i-n3");
    same_text("status", k->r.ingress, "made.example");
}

/* Values in the answer of a creation reach the operations that follow. */
static void outputs__reach_what_follows(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {MAKES};
    k->rows = rows;
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, classic(k)), TT_OK);
    assert_int_equal(flow_kit_count(k, "elb CreateLoadBalancer "), 1);
    assert_int_equal(flow_kit_count(k, "SecurityGroups.member.1=sg-made"), 1);
    const char *made = aws_memory_group(k->p->memory, k->a, UID, 0);
    same_text("remembered", made, "sg-made");
}

static void group__in_use_while_deleting__comes_back_in_five_seconds_for_ten_minutes(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {{"tag-key", 0, FLOW_CLASSIC_GROUPS, 0},
                              {"DeleteSecurityGroup", 400, "DependencyViolation in use", 0},
                              {NULL, 0, NULL, 0}};
    k->rows = rows;
    for (int minutes = 0; minutes <= 10; minutes += 5) {
        assert_int_equal(flow_kit_sync(k, TT_VERB_DELETE, TT_REASON_CLEANUP, classic(k)),
                         TT_IN_PROGRESS); /* ordinary: no failure is reported */
        assert_int_equal(k->r.retry_after_ms, 5000);
        clock_fake_advance(k->clock, INT64_C(5) * 60000);
    }
    assert_int_equal(flow_kit_sync(k, TT_VERB_DELETE, TT_REASON_CLEANUP, classic(k)), TT_IN_USE);
    assert_int_equal(k->r.retry_after_ms, 0); /* the queue's back-off */
}

/* A left group that another program uses is no reason to look every five seconds for ever. */
static void group__in_use_beside_a_balancer__is_looked_at_more_seldom(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {
        {"elb DescribeLoadBalancers", 0, FLOW_CLASSIC, 0},
        {"elb DescribeLoadBalancerAttributes", 0, FLOW_CLASSIC_ATTRIBUTES, 0},
        {"tag-key", 0, FLOW_CLASSIC_GROUPS, 0},
        {"DeleteSecurityGroup", 400, "DependencyViolation in use", 0},
        {"Name=group-id", 0, FLOW_GROUPS(FLOW_GROUP("sg-given", "given", "", "")), 0},
        {NULL, 0, NULL, 0}};
    k->rows = rows;
    const struct tt_service *svc =
        aws_test_object(k->a, "{\"security-groups\":\"sg-given\"}", NULL);
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, svc), TT_IN_PROGRESS);
    assert_int_equal(flow_kit_count(k, "DeleteSecurityGroup"), 1);
    assert_int_equal(k->r.retry_after_ms, 5000);
    clock_fake_advance(k->clock, INT64_C(11) * 60000);
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_RESYNC, svc), TT_IN_USE);
    assert_int_equal(k->r.retry_after_ms, 0);
    rows[3].status = 200; /* it went: another one has its own ten minutes */
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_RESYNC, svc), TT_OK);
    rows[3].status = 400;
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, svc), TT_IN_PROGRESS);
    assert_int_equal(k->r.retry_after_ms, 5000);
}

static void group__deleted__is_not_waited_for(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {{"tag-key", 0, FLOW_CLASSIC_GROUPS, 1}, {NULL, 0, NULL, 0}};
    k->rows = rows;
    assert_int_equal(flow_kit_open(k), TT_OK);
    aws_memory_group_made(k->p->memory, UID, "sg-own", clock_now_ms(k->clock));
    rows[0].times = 1;
    assert_int_equal(flow_kit_sync(k, TT_VERB_DELETE, TT_REASON_CLEANUP, classic(k)), TT_OK);
    assert_int_equal(flow_kit_count(k, "DeleteSecurityGroup GroupId=sg-own"), 1);
    assert_null(aws_memory_group(k->p->memory, k->a, UID, 0));
}

UNIT_MAIN(write)
{
    const struct CMUnitTest tests[] = {
        FLOW_TEST(targets__one_is_named__the_others_are_sent_with_new_numbers),
        FLOW_TEST(targets__none_is_named__each_is_sent_alone),
        FLOW_TEST(targets__all_are_refused__the_sync_goes_on_without),
        FLOW_TEST(targets__refused_for_another_reason__it_is_the_result),
        FLOW_TEST(targets__of_two_ports__an_instance_is_told_once),
        FLOW_TEST(targets__many_are_refused__ten_are_told_by_name),
        FLOW_TEST(rules__one_is_there__the_others_are_sent_alone),
        FLOW_TEST(rules__one_is_there_and_one_is_refused__it_fails),
        FLOW_TEST(instances__gone_ones_are_taken_away__nobody_is_told),
        FLOW_TEST(instances__one_is_gone__the_others_are_registered),
        FLOW_TEST(outputs__reach_what_follows),
        FLOW_TEST(group__in_use_while_deleting__comes_back_in_five_seconds_for_ten_minutes),
        FLOW_TEST(group__in_use_beside_a_balancer__is_looked_at_more_seldom),
        FLOW_TEST(group__deleted__is_not_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
