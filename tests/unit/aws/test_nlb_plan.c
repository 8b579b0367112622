/* SPDX-License-Identifier: Apache-2.0 */
/* test_nlb_plan.c: what is done for an NLB and its listeners: creation, every update of
 * docs/spec/aws.md 9.1.
 *
 * Each plan is carried out in a world that refuses what AWS refuses, and then there is
 * nothing to do. */
#include "tests/support/unit.h"
#include "tests/unit/aws/plan_kit.h"

#include <string.h>

#define NAME "a5f3a7c9e0b1d4e2f8a6b1c2d3e4f5a6"

/* ---- creation -------------------------------------------------------------------------------- */

static void create__one_port__takes_two_waves_and_four_calls(void **state)
{
    (void)state;
    struct kit *k = kit_new();
    kit_expect(k, "1 CreateLoadBalancer, CreateTargetGroup; 2 RegisterTargets, CreateListener");
    assert_string_equal(kit_params(k, kit_op(k, "CreateLoadBalancer", 0), "Tags"),
                        "Name=" NAME " Type=network SubnetMappings.member.1.SubnetId=subnet-1 "
                        "SubnetMappings.member.2.SubnetId=subnet-2");
    assert_string_equal(
        kit_params(k, kit_op(k, "CreateTargetGroup", 0), "Tags,Name"),
        "VpcId=vpc-1 Port=30080 Protocol=TCP TargetType=instance HealthCheckProtocol=TCP "
        "HealthCheckPort=traffic-port HealthCheckIntervalSeconds=30 HealthyThresholdCount=3 "
        "UnhealthyThresholdCount=3");
    assert_string_equal(kit_params(k, kit_op(k, "RegisterTargets", 0), ""),
                        "TargetGroupArn=<CreateTargetGroup arn> Targets.member.1.Id=i-1 "
                        "Targets.member.1.Port=30080 Targets.member.2.Id=i-2 "
                        "Targets.member.2.Port=30080 Targets.member.3.Id=i-3 "
                        "Targets.member.3.Port=30080");
    assert_string_equal(kit_params(k, kit_op(k, "CreateListener", 0), "Tags"),
                        "LoadBalancerArn=<CreateLoadBalancer arn> Port=80 Protocol=TCP "
                        "DefaultActions.member.1.Type=forward "
                        "DefaultActions.member.1.TargetGroupArn=<CreateTargetGroup arn>");
    const struct aws_write *w = kit_op(k, "RegisterTargets", 0)->arg;
    assert_int_equal(w->isolate, AWS_ISOLATE_TARGETS);
    kit_free(k);
}

static void create__tags__are_on_balancer_group_and_listener(void **state)
{
    (void)state;
    struct kit *k = kit_settled("80:30080", "additional-resource-tags=team=a");
    static const char *const actions[] = {"CreateLoadBalancer", "CreateTargetGroup",
                                          "CreateListener"};
    struct kit *fresh = kit_new();
    fresh->lines = k->lines;
    kit_plan_nlb(fresh);
    for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
        const char *params = kit_params(fresh, kit_op(fresh, actions[i], 0), "");
        assert_non_null(strstr(params, "Tags.member.1.Key=kubernetes.io/cluster/c1 "
                                       "Tags.member.1.Value=owned "
                                       "Tags.member.2.Key=kubernetes.io/service-name "
                                       "Tags.member.2.Value=default/web "
                                       "Tags.member.3.Key=team Tags.member.3.Value=a"));
    }
    kit_free(fresh);
    kit_free(k);
}

static void create__further_ports__three_calls_each(void **state)
{
    (void)state;
    struct kit *k = kit_new();
    k->ports = "80:30080 443:30443 8080:30808";
    kit_expect(k, "1 CreateLoadBalancer, CreateTargetGroup, CreateTargetGroup, CreateTargetGroup; "
                  "2 RegisterTargets, RegisterTargets, RegisterTargets, CreateListener, "
                  "CreateListener, CreateListener");
    kit_free(k);
}

static void create__internal_with_addresses__says_so(void **state)
{
    (void)state;
    struct kit *k = kit_new();
    k->lines = "internal=true\nprivate-ipv4-addresses=10.0.0.5, 10.0.1.5";
    kit_expect(k, "1 CreateLoadBalancer, CreateTargetGroup; 2 RegisterTargets, CreateListener");
    assert_string_equal(kit_params(k, kit_op(k, "CreateLoadBalancer", 0), "Tags,Name,Type"),
                        "Scheme=internal SubnetMappings.member.1.SubnetId=subnet-1 "
                        "SubnetMappings.member.1.PrivateIPv4Address=10.0.0.5 "
                        "SubnetMappings.member.2.SubnetId=subnet-2 "
                        "SubnetMappings.member.2.PrivateIPv4Address=10.0.1.5");
    kit_free(k);
}

static void create__elastic_addresses__pair_with_subnets(void **state)
{
    (void)state;
    struct kit *k = kit_new();
    k->lines = "eip-allocations=eipalloc-1,eipalloc-2";
    kit_plan_nlb(k);
    assert_string_equal(kit_params(k, kit_op(k, "CreateLoadBalancer", 0), "Tags,Name,Type"),
                        "SubnetMappings.member.1.SubnetId=subnet-1 "
                        "SubnetMappings.member.1.AllocationId=eipalloc-1 "
                        "SubnetMappings.member.2.SubnetId=subnet-2 "
                        "SubnetMappings.member.2.AllocationId=eipalloc-2");
    kit_free(k);
}

static void create__tls__has_certificate_and_policy_only_when_asked(void **state)
{
    (void)state;
    struct kit *k = kit_new();
    k->ports = "443:30443";
    k->lines = "ssl-cert=arn:cert";
    kit_expect(k, "1 CreateLoadBalancer, CreateTargetGroup; 2 RegisterTargets, CreateListener");
    assert_string_equal(
        kit_params(k, kit_op(k, "CreateListener", 0), "Tags,LoadBalancerArn,DefaultActions"),
        "Port=443 Protocol=TLS Certificates.member.1.CertificateArn=arn:cert");
    kit_free(k);
    k = kit_new();
    k->lines = "ssl-cert=arn:cert\nssl-negotiation-policy=P1\nbackend-protocol=ssl";
    kit_expect(k, "1 CreateLoadBalancer, CreateTargetGroup; 2 RegisterTargets, CreateListener");
    assert_string_equal(
        kit_params(k, kit_op(k, "CreateListener", 0), "Tags,LoadBalancerArn,DefaultActions"),
        "Port=80 Protocol=TLS Certificates.member.1.CertificateArn=arn:cert SslPolicy=P1");
    assert_non_null(strstr(kit_params(k, kit_op(k, "CreateTargetGroup", 0), ""), "Protocol=TLS"));
    kit_free(k);
}

static void create__attributes__only_those_that_a_new_one_has_not(void **state)
{
    (void)state;
    struct kit *k = kit_new();
    k->lines = "cross-zone-load-balancing-enabled=true\naccess-log-enabled=true\n"
               "access-log-s3-bucket-name=logs\ntarget-group-attributes="
               "preserve_client_ip.enabled=false";
    kit_expect(k, "1 CreateLoadBalancer, CreateTargetGroup; 2 RegisterTargets, "
                  "ModifyTargetGroupAttributes, CreateListener, ModifyLoadBalancerAttributes");
    assert_string_equal(
        kit_params(k, kit_op(k, "ModifyLoadBalancerAttributes", 0), "LoadBalancerArn"),
        "Attributes.member.1.Key=access_logs.s3.bucket Attributes.member.1.Value=logs "
        "Attributes.member.2.Key=access_logs.s3.enabled Attributes.member.2.Value=true "
        "Attributes.member.3.Key=load_balancing.cross_zone.enabled Attributes.member.3.Value=true");
    assert_string_equal(
        kit_params(k, kit_op(k, "ModifyTargetGroupAttributes", 0), ""),
        "TargetGroupArn=<CreateTargetGroup arn> "
        "Attributes.member.1.Key=preserve_client_ip.enabled Attributes.member.1.Value=false");
    kit_free(k);
}

static void create__managed_group__comes_before_the_balancer(void **state)
{
    (void)state;
    struct kit *k = kit_new();
    k->naming.nlb_group_mode = "Managed";
    kit_expect(k, "1 CreateSecurityGroup, CreateTargetGroup; 2 CreateLoadBalancer; "
                  "3 RegisterTargets, CreateListener");
    assert_string_equal(
        kit_params(k, kit_op(k, "CreateLoadBalancer", 0), "Tags,Name,Type,SubnetMappings"),
        "SecurityGroups.member.1=<CreateSecurityGroup id>");
    kit_free(k);
}

static void create__named_groups__are_given(void **state)
{
    (void)state;
    struct kit *k = kit_new();
    k->naming.nlb_group_mode = "Managed";
    k->lines = "security-groups=sg-nodes";
    kit_expect(k, "1 CreateLoadBalancer, CreateTargetGroup; 2 RegisterTargets, CreateListener");
    assert_string_equal(
        kit_params(k, kit_op(k, "CreateLoadBalancer", 0), "Tags,Name,Type,SubnetMappings"),
        "SecurityGroups.member.1=sg-nodes");
    kit_free(k);
}

static void create__no_nodes__registers_nothing(void **state)
{
    (void)state;
    struct kit *k = kit_new();
    k->instances = kit_texts(k, "");
    kit_expect(k, "1 CreateLoadBalancer, CreateTargetGroup; 2 CreateListener");
    kit_free(k);
}

static void create__many_nodes__go_by_hundreds(void **state)
{
    (void)state;
    struct kit *k = kit_new();
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    for (int i = 0; i < 230; i++) {
        const char *id = arena_printf(k->a, "i-n%03d", i);
        k->world.instances[k->world.n_instances++] =
            (struct aws_instance){.id = id, .state = "running"};
        str_appendf(&b, "%s%s", i > 0 ? " " : "", id);
    }
    k->instances = kit_texts(k, str_buf_text(&b));
    kit_expect(k, "1 CreateLoadBalancer, CreateTargetGroup; 2 RegisterTargets, RegisterTargets, "
                  "RegisterTargets, CreateListener");
    assert_string_equal(kit_op(k, "RegisterTargets", 1)->summary,
                        "i-n100, i-n101, i-n102 and 97 more");
    assert_string_equal(kit_op(k, "RegisterTargets", 2)->summary,
                        "i-n200, i-n201, i-n202 and 27 more");
    kit_free(k);
}

/* ---- ports ----------------------------------------------------------------------------------- */

static void update__port_added__is_made_beside_the_others(void **state)
{
    (void)state;
    struct kit *k = kit_settled("80:30080", "");
    k->ports = "80:30080 443:30443";
    kit_expect(k, "1 CreateTargetGroup; 2 RegisterTargets, CreateListener");
    kit_free(k);
}

static void update__port_dropped__listener_then_target_group(void **state)
{
    (void)state;
    struct kit *k = kit_settled("80:30080 443:30443", "");
    k->ports = "443:30443";
    kit_expect(k, "1 DeleteListener; 2 DeleteTargetGroup");
    assert_string_equal(kit_op(k, "DeleteListener", 0)->name, "TCP:80");
    assert_string_equal(kit_op(k, "DeleteListener", 0)->why, "the Service has no port 80 any more");
    assert_int_equal(kit_op(k, "DeleteListener", 0)->tolerate, LB_TOLERATE_ABSENT);
    assert_int_equal(kit_op(k, "DeleteTargetGroup", 0)->tolerate, LB_TOLERATE_ABSENT);
    kit_free(k);
}

static void update__node_port__new_group_is_filled_before_the_switch(void **state)
{
    (void)state;
    struct kit *k = kit_settled("80:30080", "");
    k->ports = "80:30099";
    kit_expect(k, "1 CreateTargetGroup; 2 RegisterTargets; 3 ModifyListener; 4 DeleteTargetGroup");
    assert_string_equal(kit_params(k, kit_op(k, "ModifyListener", 0), "ListenerArn"),
                        "DefaultActions.member.1.Type=forward "
                        "DefaultActions.member.1.TargetGroupArn=<CreateTargetGroup arn>");
    assert_string_equal(kit_op(k, "CreateTargetGroup", 0)->why,
                        "port 80 goes to node port 30099 now, not 30080");
    assert_string_equal(kit_fields(k, kit_op(k, "ModifyListener", 0)),
                        arena_printf(k->a, "targetGroup: %s -> %s",
                                     kit_op(k, "DeleteTargetGroup", 0)->name,
                                     kit_op(k, "CreateTargetGroup", 0)->name));
    kit_free(k);
}

static void update__node_ports_are_swapped__each_port_gets_its_own(void **state)
{
    (void)state;
    struct kit *k = kit_settled("80:30080 443:30443", "");
    k->ports = "80:30443 443:30080";
    kit_expect(k, "1 CreateTargetGroup, CreateTargetGroup; 2 RegisterTargets, RegisterTargets; "
                  "3 ModifyListener, ModifyListener; 4 DeleteTargetGroup, DeleteTargetGroup");
    kit_free(k);
}

static void update__tcp_to_tls__in_place(void **state)
{
    (void)state;
    struct kit *k = kit_settled("443:30443", "");
    k->lines = "ssl-cert=arn:cert";
    kit_expect(k, "1 ModifyListener");
    assert_string_equal(kit_params(k, kit_op(k, "ModifyListener", 0), "ListenerArn"),
                        "Protocol=TLS Certificates.member.1.CertificateArn=arn:cert "
                        "SslPolicy=ELBSecurityPolicy-2016-08");
    assert_string_equal(kit_op(k, "ModifyListener", 0)->why, "port 443 is TLS now, not TCP");
    k->lines = "";
    kit_expect(k, "1 ModifyListener");
    assert_string_equal(kit_params(k, kit_op(k, "ModifyListener", 0), "ListenerArn"),
                        "Protocol=TCP");
    kit_free(k);
}

static void update__tls_behind_it_too__with_the_switch_of_the_group(void **state)
{
    (void)state;
    struct kit *k = kit_settled("443:30443", "");
    k->lines = "ssl-cert=arn:cert\nssl-negotiation-policy=P1\nbackend-protocol=ssl";
    kit_expect(k, "1 CreateTargetGroup; 2 RegisterTargets; 3 ModifyListener; 4 DeleteTargetGroup");
    assert_string_equal(kit_params(k, kit_op(k, "ModifyListener", 0), "ListenerArn"),
                        "Protocol=TLS Certificates.member.1.CertificateArn=arn:cert SslPolicy=P1 "
                        "DefaultActions.member.1.Type=forward "
                        "DefaultActions.member.1.TargetGroupArn=<CreateTargetGroup arn>");
    assert_string_equal(kit_op(k, "CreateTargetGroup", 0)->why,
                        "port 443 speaks TLS to the nodes now, not TCP");
    kit_free(k);
}

static void update__tcp_to_udp__old_listener_goes_before_the_new_one(void **state)
{
    (void)state;
    struct kit *k = kit_settled("53:30053", "");
    k->ports = "53:30053/UDP";
    kit_expect(k, "1 CreateTargetGroup; 2 DeleteListener, RegisterTargets; 3 CreateListener; "
                  "4 DeleteTargetGroup");
    assert_string_equal(lb_plan_service(&k->plan, k->service->key)->effects[0],
                        "Port 53 does not answer until its new listener exists.");
    assert_null(kit_op(k, "DeleteListener", 0)->proof); /* the new group is to ask with */
    k->ports = "53:30053";
    kit_expect(k, "1 CreateTargetGroup; 2 DeleteListener, RegisterTargets; 3 CreateListener; "
                  "4 DeleteTargetGroup");
    kit_free(k);
}

static void update__certificate_and_policy__only_what_changes(void **state)
{
    (void)state;
    struct kit *k = kit_settled("443:30443", "ssl-cert=arn:cert\nssl-negotiation-policy=P1");
    k->lines = "ssl-cert=arn:other\nssl-negotiation-policy=P1";
    kit_expect(k, "1 ModifyListener");
    assert_string_equal(kit_params(k, kit_op(k, "ModifyListener", 0), "ListenerArn"),
                        "Certificates.member.1.CertificateArn=arn:other");
    assert_string_equal(kit_fields(k, kit_op(k, "ModifyListener", 0)),
                        "certificate: arn:cert -> arn:other");
    k->lines = "ssl-cert=arn:other\nssl-negotiation-policy=P2";
    kit_expect(k, "1 ModifyListener");
    assert_string_equal(kit_params(k, kit_op(k, "ModifyListener", 0), "ListenerArn"),
                        "SslPolicy=P2");
    k->lines = "ssl-cert=arn:other"; /* 13 row 42: what was set last stays */
    kit_expect(k, "");
    kit_free(k);
}

static void noop__policy_that_moto_answers_without_tls__is_not_compared(void **state)
{
    (void)state;
    struct kit *k = kit_settled("80:30080 53:30053", "");
    k->world.listeners[0].ssl_policy = "ELBSecurityPolicy-2016-08";
    k->world.listeners[1].ssl_policy = "ELBSecurityPolicy-2016-08";
    kit_expect(k, "");
    kit_free(k);
}

static void noop__several_listeners_on_a_port__keep_the_right_one(void **state)
{
    (void)state;
    struct kit *k = kit_settled("80:30080", "ssl-cert=arn:cert");
    struct aws_listener *more = &k->world.listeners[k->world.n_listeners++];
    *more = k->world.listeners[0];
    k->world.listeners[0].arn = "arn:listener/first";
    k->world.listeners[0].protocol = "TCP";
    kit_expect(k, "1 DeleteListener");
    assert_string_equal(kit_params(k, kit_op(k, "DeleteListener", 0), ""),
                        "ListenerArn=arn:listener/first");
    kit_free(k);
}

/* ---- attributes, security groups, what cannot change ----------------------------------------- */

static void update__attributes__what_differs(void **state)
{
    (void)state;
    struct kit *k = kit_settled("80:30080 443:30443", "");
    k->lines = "cross-zone-load-balancing-enabled=true\n"
               "target-group-attributes=proxy_protocol_v2.enabled=true";
    kit_expect(k, "1 ModifyTargetGroupAttributes, ModifyTargetGroupAttributes, "
                  "ModifyLoadBalancerAttributes");
    assert_string_equal(kit_fields(k, kit_op(k, "ModifyLoadBalancerAttributes", 0)),
                        "load_balancing.cross_zone.enabled: false -> true");
    k->lines = "cross-zone-load-balancing-enabled=true"; /* what was set last stays */
    kit_expect(k, "");
    kit_free(k);
}

static void update__group_without_the_attribute__is_sent_it(void **state)
{
    (void)state;
    struct kit *k = kit_settled("80:30080", "");
    kit_group_of_port(k, 80)->attributes = (struct aws_tags){0};
    k->lines = "target-group-attributes=preserve_client_ip.enabled=true";
    kit_plan_nlb(k);
    assert_string_equal(kit_waves(k), "1 ModifyTargetGroupAttributes");
    kit_free(k);
}

static void update__security_groups__are_replaced_as_a_set(void **state)
{
    (void)state;
    struct kit *k = kit_new();
    k->naming.nlb_group_mode = "Managed";
    kit_settle_nlb(k);
    k->lines = "security-groups=sg-nodes";
    kit_expect(k, "1 SetSecurityGroups");
    assert_string_equal(kit_params(k, kit_op(k, "SetSecurityGroups", 0), "LoadBalancerArn"),
                        "SecurityGroups.member.1=sg-nodes");
    k->world
        .n_groups--; /* the managed one is gone: it is made again, and attached when it is filled */
    k->lines = "";
    kit_expect(k, "1 CreateSecurityGroup; 2 SetSecurityGroups");
    kit_free(k);
}

static void noop__balancer_without_groups__gets_none(void **state)
{
    (void)state;
    struct kit *k = kit_settled("80:30080", "");
    k->naming.nlb_group_mode = "Managed";
    kit_expect(k, "");
    kit_plan_nlb(k);
    assert_non_null(strstr(kit_because(k), "AWS lets it have none"));
    kit_free(k);
}

static void noop__scheme_and_subnets__stay(void **state)
{
    (void)state;
    struct kit *k = kit_settled("80:30080", "");
    k->lines = "internal=true";
    k->subnets = kit_texts(k, "subnet-1 subnet-2 subnet-3");
    kit_expect(k, "");
    kit_plan_nlb(k);
    assert_string_equal(
        kit_because(k),
        "the NLB is in subnet-1, subnet-2, and the Service asks for subnet-1, subnet-2, subnet-3 "
        "→ stays in its subnets");
    kit_free(k);
}

static void noop__everything_is_kept_and_counted(void **state)
{
    (void)state;
    struct kit *k = kit_settled("80:30080 443:30443", "");
    kit_plan_nlb(k);
    assert_int_equal(lb_plan_changes(&k->plan), 0);
    assert_int_equal(lb_plan_service(&k->plan, k->service->key)->checked, 5);
    kit_free(k);
}

UNIT_MAIN(nlb_plan)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(create__one_port__takes_two_waves_and_four_calls),
        cmocka_unit_test(create__tags__are_on_balancer_group_and_listener),
        cmocka_unit_test(create__further_ports__three_calls_each),
        cmocka_unit_test(create__internal_with_addresses__says_so),
        cmocka_unit_test(create__elastic_addresses__pair_with_subnets),
        cmocka_unit_test(create__tls__has_certificate_and_policy_only_when_asked),
        cmocka_unit_test(create__attributes__only_those_that_a_new_one_has_not),
        cmocka_unit_test(create__managed_group__comes_before_the_balancer),
        cmocka_unit_test(create__named_groups__are_given),
        cmocka_unit_test(create__no_nodes__registers_nothing),
        cmocka_unit_test(create__many_nodes__go_by_hundreds),
        cmocka_unit_test(update__port_added__is_made_beside_the_others),
        cmocka_unit_test(update__port_dropped__listener_then_target_group),
        cmocka_unit_test(update__node_port__new_group_is_filled_before_the_switch),
        cmocka_unit_test(update__node_ports_are_swapped__each_port_gets_its_own),
        cmocka_unit_test(update__tcp_to_tls__in_place),
        cmocka_unit_test(update__tls_behind_it_too__with_the_switch_of_the_group),
        cmocka_unit_test(update__tcp_to_udp__old_listener_goes_before_the_new_one),
        cmocka_unit_test(update__certificate_and_policy__only_what_changes),
        cmocka_unit_test(noop__policy_that_moto_answers_without_tls__is_not_compared),
        cmocka_unit_test(noop__several_listeners_on_a_port__keep_the_right_one),
        cmocka_unit_test(update__attributes__what_differs),
        cmocka_unit_test(update__group_without_the_attribute__is_sent_it),
        cmocka_unit_test(update__security_groups__are_replaced_as_a_set),
        cmocka_unit_test(noop__balancer_without_groups__gets_none),
        cmocka_unit_test(noop__scheme_and_subnets__stay),
        cmocka_unit_test(noop__everything_is_kept_and_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
