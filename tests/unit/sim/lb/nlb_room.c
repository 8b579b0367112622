/* SPDX-License-Identifier: Apache-2.0 */
/* nlb_room.c: what runs out or is elsewhere: targets of a zone, addresses of a subnet,
 * certificates, buckets.
 *
 * On the world of lb_fixture.h.  Source: docs/spec/aws.md §3.3; the quotas of the Network Load
 * Balancers user guide. */
#include "tests/support/clock_fake.h"
#include "tests/support/unit.h"
#include "tests/unit/sim/lb/lb_fixture.h"

#define CREATE(name) "Action=CreateLoadBalancer&Type=network&Name=" name
#define IN_A         "&Subnets.member.1={a}"
#define LISTEN(port, protocol)                                                                     \
    "Action=CreateListener&LoadBalancerArn={nlb}&Port=" port "&Protocol=" protocol
#define TO(tg)   "&DefaultActions.member.1.Type=forward&DefaultActions.member.1.TargetGroupArn=" tg
#define REGISTER "Action=RegisterTargets&TargetGroupArn={tg}&Targets.member.1.Id="
#define LB_ATTRIBUTE(key, value)                                                                   \
    "Action=ModifyLoadBalancerAttributes&LoadBalancerArn={nlb}&Attributes.member.1.Key=" key       \
    "&Attributes.member.1.Value=" value
#define CFG "InvalidConfigurationRequest"

static void targets__of_a_zone__are_counted_for_each_group_and_across_zones(void **state)
{
    (void)state;
    struct lb_test *t = lb_start();
    lb_make_nlb(t); /* {i0} stands in zone a */
    struct amz_ec2_new_instance spec = {
        .subnet = t->e->subnet_b, .groups = &t->e->nodes, .n_groups = 1};
    lb_name(t, "b0", amz_ec2_add_instance(t->e->aws, t->e->a, &spec));
    v2(t, TG "&Name=second");
    lb_keep(t, "second", "TargetGroups.0.TargetGroupArn");
    v2(t, "Action=RegisterTargets&TargetGroupArn={second}&Targets.member.1.Id={i1}");
    static const struct lb_row rows[] = {
        {"a second one in the zone", REGISTER "{i1}", "TooManyTargets", "Availability Zone"},
        {"another port of the same one", REGISTER "{i0}&Targets.member.1.Port=1", "TooManyTargets",
         "Availability Zone"},
        {"one more in another group", LISTEN("81", "TCP") TO("{second}"), "TooManyTargets",
         "Availability Zone"},
    };
    ec2_setting(t->e, "quotas.targets_per_zone", 1);
    lb_refused(t, AMZ_ELBV2, rows, ARRAY_LEN(rows));
    v2(t, REGISTER "{i0}"); /* is there */
    static const struct lb_row across[] = {
        {"a zone's quota across zones", REGISTER "{b0}", "TooManyTargets", "Availability Zone"}};
    v2(t, LB_ATTRIBUTE("load_balancing.cross_zone.enabled", "true"));
    lb_refused(t, AMZ_ELBV2, across, ARRAY_LEN(across));
    v2(t, LB_ATTRIBUTE("load_balancing.cross_zone.enabled", "false"));
    v2(t, across[0].request);
    v2(t, "Action=DeregisterTargets&TargetGroupArn={tg}&Targets.member.1.Id={i0}");
    v2(t, rows[0].request);
    lb_stop(t);
}

static int64_t free_in(struct lb_test *t, const char *subnet)
{
    int64_t n;
    ec2_must(t->e,
             arena_printf(t->e->a, "Action=DescribeSubnets&SubnetId.1=%s", lb_filled(t, subnet)));
    assert_true(str_to_i64(ec2_text(t->e, "Subnets.0.AvailableIpAddressCount"), &n));
    return n;
}

/* A balancer has an address in each of its subnets, and eight must be free for a new one. */
static void subnets__with_balancers__fill(void **state)
{
    (void)state;
    struct lb_test *t = lb_start();
    static const struct lb_row full[] = {
        {"a full subnet", CREATE("late") "&Subnets.member.1={s}", "InvalidSubnet", "IP space"}};
    static const struct lb_row classic[] = {
        {"a full subnet, classic",
         "Action=CreateLoadBalancer&LoadBalancerName=late&Subnets.member.1={s}&Listeners.member.1."
         "Protocol=TCP&Listeners.member.1.LoadBalancerPort=80&Listeners.member.1.InstancePort=80",
         "InvalidSubnet", "IP space"}};
    lb_name(t, "s",
            amz_ec2_add_subnet(t->e->aws, t->e->a, t->e->vpc, "us-east-1d", "10.0.9.0/28", NULL));
    int64_t a = free_in(t, "{a}");
    assert_int_equal(free_in(t, "{s}"), 11);
    v2(t, CREATE("one") "&Subnets.member.1={s}");
    lb_keep(t, "one", "LoadBalancers.0.LoadBalancerArn");
    v2(t, CREATE("one") "&Subnets.member.1={s}"); /* is there */
    v2(t, CREATE("two") IN_A);
    lb_keep(t, "two", "LoadBalancers.0.LoadBalancerArn");
    v2(t, "Action=SetSubnets&LoadBalancerArn={two}&Subnets.member.1={a}&Subnets.member.2={s}");
    v1(t, "Action=CreateLoadBalancer&LoadBalancerName=three&Subnets.member.1={a}&Listeners.member."
          "1.Protocol=TCP&Listeners.member.1.LoadBalancerPort=80&Listeners.member.1.InstancePort="
          "80");
    v1(t, "Action=AttachLoadBalancerToSubnets&LoadBalancerName=three&Subnets.member.1={s}");
    assert_int_equal(free_in(t, "{s}"), 8);
    v2(t, CREATE("four") "&Subnets.member.1={s}");
    lb_keep(t, "four", "LoadBalancers.0.LoadBalancerArn");
    assert_int_equal(free_in(t, "{s}"), 7);
    assert_int_equal(free_in(t, "{a}"), a - 2);
    lb_refused(t, AMZ_ELBV2, full, ARRAY_LEN(full));
    lb_refused(t, AMZ_ELB, classic, ARRAY_LEN(classic));
    /* those who stand there stay */
    v2(t, "Action=SetSubnets&LoadBalancerArn={two}&Subnets.member.1={s}&Subnets.member.2={b}");
    assert_int_equal(free_in(t, "{a}"), a - 1);
    v1(t, "Action=DetachLoadBalancerFromSubnets&LoadBalancerName=three&Subnets.member.1={a}");
    assert_int_equal(free_in(t, "{a}"), a);
    v1(t, "Action=DeleteLoadBalancer&LoadBalancerName=three");
    assert_int_equal(free_in(t, "{s}"), 8);
    v2(t, full[0].request);
    v2(t, "Action=DeleteLoadBalancer&LoadBalancerArn={one}");
    v2(t, "Action=DeleteLoadBalancer&LoadBalancerArn={two}");
    v2(t, "Action=DeleteLoadBalancer&LoadBalancerArn={four}");
    assert_int_equal(free_in(t, "{s}"), 10);
    lb_stop(t);
}

/* {ip1} and {ip2} are there; a balancer takes {ip1}. */
static void addresses__described__say_which_balancer_has_them(void **state)
{
    (void)state;
    struct lb_test *t = lb_start();
    static const struct lb_row rows[] = {
        {"malformed", "Action=DescribeAddresses&AllocationId.1=eipalloc-x",
         "InvalidAllocationID.Malformed", NULL},
        {"unknown", "Action=DescribeAddresses&AllocationId.1=" ABSENT("eipalloc-"),
         "InvalidAllocationID.NotFound", NULL},
        {"unknown address", "Action=DescribeAddresses&PublicIp.1=198.51.100.9",
         "InvalidAddress.NotFound", "198.51.100.9"},
        {"unknown filter", "Action=DescribeAddresses&Filter.1.Name=colour&Filter.1.Value.1=red",
         "InvalidParameterValue", NULL},
    };
    v2(t, CREATE("fixed") "&SubnetMappings.member.1.SubnetId={a}&SubnetMappings.member.1."
                          "AllocationId={ip1}");
    ec2_must(t->e, "Action=DescribeAddresses");
    assert_int_equal(ec2_len(t->e, "Addresses"), 2);
    assert_string_equal(ec2_text(t->e, "Addresses.0.PublicIp"), "198.51.100.1");
    assert_string_not_equal(ec2_text(t->e, "Addresses.0.AssociationId"), "");
    assert_string_equal(ec2_text(t->e, "Addresses.1.AssociationId"), "");
    lb_name(t, "eni", ec2_text(t->e, "Addresses.0.NetworkInterfaceId"));
    ec2_must(t->e, "Action=DescribeAddresses&PublicIp.1=198.51.100.2");
    assert_string_equal(ec2_text(t->e, "Addresses.0.AllocationId"), lb_filled(t, "{ip2}"));
    ec2_must(t->e, lb_filled(t, "Action=DescribeAddresses&Filter.1.Name=network-interface-id&"
                                "Filter.1.Value.1={eni}"));
    assert_string_equal(ec2_text(t->e, "Addresses.0.AllocationId"), lb_filled(t, "{ip1}"));
    assert_int_equal(ec2_len(t->e, "Addresses"), 1);
    ec2_must(t->e, lb_filled(t, "Action=DescribeNetworkInterfaces&NetworkInterfaceId.1={eni}"));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        ec2_refused(t->e, rows[i].what, rows[i].request, rows[i].code, rows[i].text);
    }
    lb_stop(t);
}

static void certificates__listed_in_the_settings__no_other_exists(void **state)
{
    (void)state;
    struct lb_test *t = lb_start();
    lb_make_nlb(t);
    static const struct lb_row row[] = {
        {"not listed", LISTEN("81", "TLS") TO("{tg}") "&Certificates.member.1.CertificateArn=" CERT,
         "CertificateNotFound", NULL}};
    t->e->aws->settings = json_object_new_object();
    struct json_object *list = amz_list(t->e->aws->settings, "certificates");
    lb_refused(t, AMZ_ELBV2, row, ARRAY_LEN(row));
    json_push_str(list, CERT);
    v2(t, row[0].request);
    lb_stop(t);
}

static void certificate__after_ms__is_found_so_long_after_its_first_use(void **state)
{
    (void)state;
    struct lb_test *t = lb_start();
    lb_make_nlb(t);
    static const struct lb_row row[] = {
        {"too early", LISTEN("81", "TLS") TO("{tg}") "&Certificates.member.1.CertificateArn=" CERT,
         "CertificateNotFound", NULL}};
    ec2_setting(t->e, "certificate_after_ms", 3000);
    lb_refused(t, AMZ_ELBV2, row, ARRAY_LEN(row));
    clock_fake_advance(t->e->clock, 2999);
    lb_refused(t, AMZ_ELBV2, row, ARRAY_LEN(row));
    clock_fake_advance(t->e->clock, 1);
    v2(t, row[0].request);
    lb_stop(t);
}

static void buckets__listed_in_the_settings__no_other_exists(void **state)
{
    (void)state;
    struct lb_test *t = lb_start();
    lb_make_nlb(t);
    lb_make_clb(t);
    static const struct lb_row row[] = {
        {"not listed",
         LB_ATTRIBUTE("access_logs.s3.enabled",
                      "true") "&Attributes.member.2.Key=access_logs.s3.bucket&"
                              "Attributes.member.2.Value=logs",
         CFG, "logs"},
        {"a prefix of AWS",
         LB_ATTRIBUTE("access_logs.s3.enabled",
                      "true") "&Attributes.member.2.Key=access_logs.s3.bucket&"
                              "Attributes.member.2.Value=logs&"
                              "Attributes.member.3.Key=access_logs.s3.prefix&"
                              "Attributes.member.3.Value=a/AWSLogs",
         CFG, "AWSLogs"}};
    static const struct lb_row classic[] = {
        {"not listed, classic",
         "Action=ModifyLoadBalancerAttributes&LoadBalancerName=clb&LoadBalancerAttributes."
         "AccessLog.Enabled=true&LoadBalancerAttributes.AccessLog.S3BucketName=logs",
         CFG, "logs"}};
    t->e->aws->settings = json_object_new_object();
    struct json_object *list = amz_list(t->e->aws->settings, "buckets");
    lb_refused(t, AMZ_ELBV2, row, ARRAY_LEN(row));
    lb_refused(t, AMZ_ELB, classic, ARRAY_LEN(classic));
    json_push_str(list, "logs");
    v2(t, row[0].request);
    v1(t, classic[0].request);
    lb_stop(t);
}

UNIT_MAIN(nlb_room)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(targets__of_a_zone__are_counted_for_each_group_and_across_zones),
        cmocka_unit_test(subnets__with_balancers__fill),
        cmocka_unit_test(addresses__described__say_which_balancer_has_them),
        cmocka_unit_test(certificates__listed_in_the_settings__no_other_exists),
        cmocka_unit_test(certificate__after_ms__is_found_so_long_after_its_first_use),
        cmocka_unit_test(buckets__listed_in_the_settings__no_other_exists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
