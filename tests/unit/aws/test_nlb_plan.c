/* SPDX-License-Identifier: Apache-2.0 */
/* test_nlb_plan.c: what is done for an NLB: creation, every update of docs/spec/aws.md 9.1, what an interrupted run left.
 *
 * Each plan is carried out in a world that refuses what AWS refuses, and then nothing is to be done. */
#include "tests/unit/aws/plan_kit.h"

#include <string.h>

#define NAME "a5f3a7c9e0b1d4e2f8a6b1c2d3e4f5a6"

/* Plans, compares the waves, carries it out, and finds nothing to do. */
static void expect(struct kit *k, const char *waves)
{
    kit_plan_nlb(k);
    assert_string_equal(kit_waves(k), waves);
    kit_run(k);
    struct lb_plan plan = k->plan;
    kit_plan_nlb(k);
    assert_string_equal(kit_waves(k), "");
    k->plan = plan; /* the one that a test goes on to look at */
}

/* The one whose Service is as the kit says, and settled. */
static struct kit *settled(const char *ports, const char *lines)
{
    struct kit *k = kit_new();
    k->ports = ports;
    k->lines = lines;
    kit_settle_nlb(k);
    return k;
}

static const char *group_name(struct kit *k, size_t at)
{
    return kit_nlb_want(k).ports[at].group_name;
}

static struct aws_world_target_group *group_of_port(struct kit *k, int32_t port)
{
    for (size_t i = 0; i < k->world.n_listeners; i++) {
        for (size_t g = 0; g < k->world.n_target_groups; g++) {
            if (k->world.listeners[i].port == port &&
                str_eq(k->world.listeners[i].target_group, k->world.target_groups[g].group.arn)) {
                return &k->world.target_groups[g];
            }
        }
    }
    fail_msg("no target group of port %d", (int)port);
    return NULL;
}

/* ---- creation --------------------------------------------------------------------------------------------- */

static void create__one_port__takes_two_waves_and_four_calls(void **state)
{
    (void)state;
    struct kit *k = kit_new();
    expect(k, "1 CreateLoadBalancer, CreateTargetGroup; 2 RegisterTargets, CreateListener");
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
    struct kit *k = settled("80:30080", "additional-resource-tags=team=a");
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
    expect(k, "1 CreateLoadBalancer, CreateTargetGroup, CreateTargetGroup, CreateTargetGroup; "
              "2 RegisterTargets, RegisterTargets, RegisterTargets, CreateListener, "
              "CreateListener, CreateListener");
    kit_free(k);
}

static void create__internal_with_addresses__says_so(void **state)
{
    (void)state;
    struct kit *k = kit_new();
    k->lines = "internal=true\nprivate-ipv4-addresses=10.0.0.5, 10.0.1.5";
    expect(k, "1 CreateLoadBalancer, CreateTargetGroup; 2 RegisterTargets, CreateListener");
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
    expect(k, "1 CreateLoadBalancer, CreateTargetGroup; 2 RegisterTargets, CreateListener");
    assert_string_equal(
        kit_params(k, kit_op(k, "CreateListener", 0), "Tags,LoadBalancerArn,DefaultActions"),
        "Port=443 Protocol=TLS Certificates.member.1.CertificateArn=arn:cert");
    kit_free(k);
    k = kit_new();
    k->lines = "ssl-cert=arn:cert\nssl-negotiation-policy=P1\nbackend-protocol=ssl";
    expect(k, "1 CreateLoadBalancer, CreateTargetGroup; 2 RegisterTargets, CreateListener");
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
    expect(k, "1 CreateLoadBalancer, CreateTargetGroup; 2 RegisterTargets, "
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
    expect(k, "1 CreateSecurityGroup, CreateTargetGroup; 2 CreateLoadBalancer; "
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
    expect(k, "1 CreateLoadBalancer, CreateTargetGroup; 2 RegisterTargets, CreateListener");
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
    expect(k, "1 CreateLoadBalancer, CreateTargetGroup; 2 CreateListener");
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
    expect(k, "1 CreateLoadBalancer, CreateTargetGroup; 2 RegisterTargets, RegisterTargets, "
              "RegisterTargets, CreateListener");
    assert_string_equal(kit_op(k, "RegisterTargets", 1)->summary,
                        "i-n100, i-n101, i-n102 and 97 more");
    assert_string_equal(kit_op(k, "RegisterTargets", 2)->summary,
                        "i-n200, i-n201, i-n202 and 27 more");
    kit_free(k);
}

/* ---- ports ---------------------------------------------------------------------------------------------------- */

static void update__port_added__is_made_beside_the_others(void **state)
{
    (void)state;
    struct kit *k = settled("80:30080", "");
    k->ports = "80:30080 443:30443";
    expect(k, "1 CreateTargetGroup; 2 RegisterTargets, CreateListener");
    kit_free(k);
}

static void update__port_dropped__listener_then_target_group(void **state)
{
    (void)state;
    struct kit *k = settled("80:30080 443:30443", "");
    k->ports = "443:30443";
    expect(k, "1 DeleteListener; 2 DeleteTargetGroup");
    assert_string_equal(kit_op(k, "DeleteListener", 0)->name, "TCP:80");
    assert_string_equal(kit_op(k, "DeleteListener", 0)->why, "the Service has no port 80 any more");
    assert_int_equal(kit_op(k, "DeleteListener", 0)->tolerate, LB_TOLERATE_ABSENT);
    assert_int_equal(kit_op(k, "DeleteTargetGroup", 0)->tolerate, LB_TOLERATE_ABSENT);
    kit_free(k);
}

static void update__node_port__new_group_is_filled_before_the_switch(void **state)
{
    (void)state;
    struct kit *k = settled("80:30080", "");
    k->ports = "80:30099";
    expect(k, "1 CreateTargetGroup; 2 RegisterTargets; 3 ModifyListener; 4 DeleteTargetGroup");
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
    struct kit *k = settled("80:30080 443:30443", "");
    k->ports = "80:30443 443:30080";
    expect(k, "1 CreateTargetGroup, CreateTargetGroup; 2 RegisterTargets, RegisterTargets; "
              "3 ModifyListener, ModifyListener; 4 DeleteTargetGroup, DeleteTargetGroup");
    kit_free(k);
}

static void update__tcp_to_tls__in_place(void **state)
{
    (void)state;
    struct kit *k = settled("443:30443", "");
    k->lines = "ssl-cert=arn:cert";
    expect(k, "1 ModifyListener");
    assert_string_equal(kit_params(k, kit_op(k, "ModifyListener", 0), "ListenerArn"),
                        "Protocol=TLS Certificates.member.1.CertificateArn=arn:cert "
                        "SslPolicy=ELBSecurityPolicy-2016-08");
    assert_string_equal(kit_op(k, "ModifyListener", 0)->why, "port 443 is TLS now, not TCP");
    k->lines = "";
    expect(k, "1 ModifyListener");
    assert_string_equal(kit_params(k, kit_op(k, "ModifyListener", 0), "ListenerArn"),
                        "Protocol=TCP");
    kit_free(k);
}

static void update__tls_behind_it_too__with_the_switch_of_the_group(void **state)
{
    (void)state;
    struct kit *k = settled("443:30443", "");
    k->lines = "ssl-cert=arn:cert\nssl-negotiation-policy=P1\nbackend-protocol=ssl";
    expect(k, "1 CreateTargetGroup; 2 RegisterTargets; 3 ModifyListener; 4 DeleteTargetGroup");
    assert_string_equal(kit_params(k, kit_op(k, "ModifyListener", 0), "ListenerArn"),
                        "Protocol=TLS Certificates.member.1.CertificateArn=arn:cert SslPolicy=P1 "
                        "DefaultActions.member.1.Type=forward "
                        "DefaultActions.member.1.TargetGroupArn=<CreateTargetGroup arn>");
    assert_string_equal(kit_op(k, "CreateTargetGroup", 0)->why,
                        "port 443 speaks TLS to the nodes now, not TCP");
    kit_free(k);
}

static void update__tcp_to_udp__old_listener_first(void **state)
{
    (void)state;
    struct kit *k = settled("53:30053", "");
    k->ports = "53:30053/UDP";
    expect(k, "1 DeleteListener; 2 CreateTargetGroup; 3 RegisterTargets, CreateListener; "
              "4 DeleteTargetGroup");
    assert_string_equal(lb_plan_service(&k->plan, k->service->key)->effects[0],
                        "Port 53 answers nobody until its new listener is there.");
    k->ports = "53:30053";
    expect(k, "1 DeleteListener; 2 CreateTargetGroup; 3 RegisterTargets, CreateListener; "
              "4 DeleteTargetGroup");
    kit_free(k);
}

static void update__certificate_and_policy__only_what_changes(void **state)
{
    (void)state;
    struct kit *k = settled("443:30443", "ssl-cert=arn:cert\nssl-negotiation-policy=P1");
    k->lines = "ssl-cert=arn:other\nssl-negotiation-policy=P1";
    expect(k, "1 ModifyListener");
    assert_string_equal(kit_params(k, kit_op(k, "ModifyListener", 0), "ListenerArn"),
                        "Certificates.member.1.CertificateArn=arn:other");
    assert_string_equal(kit_fields(k, kit_op(k, "ModifyListener", 0)),
                        "certificate: arn:cert -> arn:other");
    k->lines = "ssl-cert=arn:other\nssl-negotiation-policy=P2";
    expect(k, "1 ModifyListener");
    assert_string_equal(kit_params(k, kit_op(k, "ModifyListener", 0), "ListenerArn"),
                        "SslPolicy=P2");
    k->lines = "ssl-cert=arn:other"; /* 13 row 42: what was set last stays */
    expect(k, "");
    kit_free(k);
}

static void noop__policy_that_moto_answers_without_tls__is_not_compared(void **state)
{
    (void)state;
    struct kit *k = settled("80:30080 53:30053", "");
    k->world.listeners[0].ssl_policy = "ELBSecurityPolicy-2016-08";
    k->world.listeners[1].ssl_policy = "ELBSecurityPolicy-2016-08";
    expect(k, "");
    kit_free(k);
}

static void noop__several_listeners_on_a_port__keep_the_right_one(void **state)
{
    (void)state;
    struct kit *k = settled("80:30080", "ssl-cert=arn:cert");
    struct aws_listener *more = &k->world.listeners[k->world.n_listeners++];
    *more = k->world.listeners[0];
    k->world.listeners[0].arn = "arn:listener/first";
    k->world.listeners[0].protocol = "TCP";
    expect(k, "1 DeleteListener");
    assert_string_equal(kit_params(k, kit_op(k, "DeleteListener", 0), ""),
                        "ListenerArn=arn:listener/first");
    kit_free(k);
}

/* ---- health checks --------------------------------------------------------------------------------------------- */

static void update__health_protocol_and_interval__in_place(void **state)
{
    (void)state;
    struct kit *k = settled("80:30080", "");
    k->lines = "healthcheck-protocol=HTTP\nhealthcheck-path=/ok\nhealthcheck-port=8080\n"
               "healthcheck-interval=15";
    expect(k, "1 ModifyTargetGroup");
    assert_string_equal(kit_params(k, kit_op(k, "ModifyTargetGroup", 0), "TargetGroupArn"),
                        "HealthCheckProtocol=HTTP HealthCheckPort=8080 HealthCheckPath=/ok "
                        "HealthCheckIntervalSeconds=15");
    assert_string_equal(kit_fields(k, kit_op(k, "ModifyTargetGroup", 0)),
                        "healthCheck.protocol: TCP -> HTTP; healthCheck.port: traffic-port -> "
                        "8080; healthCheck.path: none -> /ok; healthCheck.interval: 30 -> 15");
    k->lines = "";
    expect(k, "1 ModifyTargetGroup");
    assert_string_equal(kit_params(k, kit_op(k, "ModifyTargetGroup", 0), "TargetGroupArn"),
                        "HealthCheckProtocol=TCP HealthCheckPort=traffic-port "
                        "HealthCheckIntervalSeconds=30");
    kit_free(k);
}

static void update__cluster_to_local__health_check_of_the_nodes(void **state)
{
    (void)state;
    struct kit *k = settled("80:30080 443:30443", "");
    k->spec = ",\"externalTrafficPolicy\":\"Local\",\"healthCheckNodePort\":32000";
    expect(k, "1 ModifyTargetGroup, ModifyTargetGroup");
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
    struct kit *k = settled("80:30080", "");
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
    struct kit *k = settled("80:30080", "");
    k->lines = "healthcheck-interval=6";
    expect(k, "1 ModifyTargetGroup");
    assert_string_equal(kit_params(k, kit_op(k, "ModifyTargetGroup", 0), "TargetGroupArn"),
                        "HealthCheckIntervalSeconds=6 HealthCheckTimeoutSeconds=6");
    kit_free(k);
}

/* Row 8 of section 13: upstream does not see these; what it may have left waits for an edit or --repair-adopted. */
static void repairs__what_upstream_leaves__waits(void **state)
{
    (void)state;
    struct kit *k = settled("80:30080", "healthcheck-timeout=7");
    group_of_port(k, 80)->group.health.unhealthy = 2;
    group_of_port(k, 80)->group.health.timeout = 10;
    expect(k, "");
    k->repairs = true;
    expect(k, "1 ModifyTargetGroup");
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
    struct kit *k = settled("80:30080", "");
    group_of_port(k, 80)->group.health.healthy = 5;
    group_of_port(k, 80)->group.health.unhealthy = 5;
    expect(k, "1 ModifyTargetGroup");
    assert_string_equal(kit_params(k, kit_op(k, "ModifyTargetGroup", 0), "TargetGroupArn"),
                        "HealthyThresholdCount=3 UnhealthyThresholdCount=3");
    kit_free(k);
}

/* Row 7 of section 13: upstream writes the path on every sync, so a path by hand does not last there either. */
static void update__path_by_hand__is_mended_and_an_equal_one_is_no_call(void **state)
{
    (void)state;
    struct kit *k = settled("80:30080", "healthcheck-protocol=http\nhealthcheck-path=/a");
    group_of_port(k, 80)->group.health.path = "/b";
    expect(k, "1 ModifyTargetGroup");
    assert_string_equal(kit_params(k, kit_op(k, "ModifyTargetGroup", 0), "TargetGroupArn"),
                        "HealthCheckPath=/a");
    kit_free(k);
}

static void noop__no_timeout_annotated__is_not_compared(void **state)
{
    (void)state;
    struct kit *k = settled("80:30080", "");
    k->repairs = true;
    group_of_port(k, 80)->group.health.timeout = 25;
    expect(k, "");
    kit_free(k);
}

/* ---- targets ------------------------------------------------------------------------------------------------------ */

static void update__node_added__is_registered_in_each_group(void **state)
{
    (void)state;
    struct kit *k = settled("80:30080 443:30443", "");
    k->instances = kit_texts(k, "i-1 i-2 i-3 i-4");
    expect(k, "1 RegisterTargets, RegisterTargets");
    assert_string_equal(kit_params(k, kit_op(k, "RegisterTargets", 1), "TargetGroupArn"),
                        "Targets.member.1.Id=i-4 Targets.member.1.Port=30443");
    kit_free(k);
}

static void update__node_replaced__comes_before_the_other_goes(void **state)
{
    (void)state;
    struct kit *k = settled("80:30080", "");
    k->instances = kit_texts(k, "i-1 i-2 i-4");
    expect(k, "1 RegisterTargets; 2 DeregisterTargets");
    k->instances = kit_texts(k, "i-1 i-2 i-3"); /* while i-3 drains */
    expect(k, "1 RegisterTargets; 2 DeregisterTargets");
    kit_free(k);
}

/* An emulator knows a target by its instance alone (10.4 row 15). */
static void update__target_with_another_port__goes_first(void **state)
{
    (void)state;
    struct kit *k = settled("80:30080", "");
    static const struct aws_target by_hand[] = {{"i-1", 30081, "healthy", ""},
                                                {"i-2", 30080, "healthy", ""},
                                                {"i-3", 30080, "healthy", ""}};
    group_of_port(k, 80)->targets = (struct aws_targets){by_hand, 3};
    expect(k, "1 DeregisterTargets; 2 RegisterTargets");
    kit_free(k);
}

static void update__group_at_its_quota__makes_room_first(void **state)
{
    (void)state;
    struct kit *k = settled("80:30080", "");
    struct aws_target *many = ARENA_ARRAY(k->a, struct aws_target, 500);
    for (int i = 0; i < 500; i++) {
        many[i] = (struct aws_target){arena_printf(k->a, "i-g%03d", i), 30080, "healthy", ""};
    }
    group_of_port(k, 80)->targets = (struct aws_targets){many, 499};
    kit_plan_nlb(k);
    assert_string_equal(kit_waves(k), "1 DeregisterTargets, DeregisterTargets, DeregisterTargets, "
                                      "DeregisterTargets, DeregisterTargets; 2 RegisterTargets");
    group_of_port(k, 80)->targets = (struct aws_targets){many, 497};
    kit_plan_nlb(k);
    assert_string_equal(kit_waves(k), "1 RegisterTargets; 2 DeregisterTargets, DeregisterTargets, "
                                      "DeregisterTargets, DeregisterTargets, DeregisterTargets");
    kit_free(k);
}

/* ---- attributes, security groups, what cannot change ------------------------------------------------------------- */

static void update__attributes__what_differs(void **state)
{
    (void)state;
    struct kit *k = settled("80:30080 443:30443", "");
    k->lines = "cross-zone-load-balancing-enabled=true\n"
               "target-group-attributes=proxy_protocol_v2.enabled=true";
    expect(k, "1 ModifyTargetGroupAttributes, ModifyTargetGroupAttributes, "
              "ModifyLoadBalancerAttributes");
    assert_string_equal(kit_fields(k, kit_op(k, "ModifyLoadBalancerAttributes", 0)),
                        "load_balancing.cross_zone.enabled: false -> true");
    k->lines = "cross-zone-load-balancing-enabled=true"; /* what was set last stays */
    expect(k, "");
    kit_free(k);
}

static void update__group_without_the_attribute__is_sent_it(void **state)
{
    (void)state;
    struct kit *k = settled("80:30080", "");
    group_of_port(k, 80)->attributes = (struct aws_tags){0};
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
    expect(k, "1 SetSecurityGroups");
    assert_string_equal(kit_params(k, kit_op(k, "SetSecurityGroups", 0), "LoadBalancerArn"),
                        "SecurityGroups.member.1=sg-nodes");
    k->world
        .n_groups--; /* the managed one is gone: it is made again, and attached when it is filled */
    k->lines = "";
    expect(k, "1 CreateSecurityGroup; 2 SetSecurityGroups");
    kit_free(k);
}

static void noop__balancer_without_groups__gets_none(void **state)
{
    (void)state;
    struct kit *k = settled("80:30080", "");
    k->naming.nlb_group_mode = "Managed";
    expect(k, "");
    kit_plan_nlb(k);
    assert_non_null(strstr(kit_because(k), "AWS lets it have none"));
    kit_free(k);
}

static void noop__scheme_and_subnets__stay(void **state)
{
    (void)state;
    struct kit *k = settled("80:30080", "");
    k->lines = "internal=true";
    k->subnets = kit_texts(k, "subnet-1 subnet-2 subnet-3");
    expect(k, "");
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
    struct kit *k = settled("80:30080 443:30443", "");
    kit_plan_nlb(k);
    assert_int_equal(lb_plan_changes(&k->plan), 0);
    assert_int_equal(lb_plan_service(&k->plan, k->service->key)->checked, 5);
    kit_free(k);
}

/* ---- what an interrupted run left ----------------------------------------------------------------------------------- */

static void left__group_of_the_creation__is_used(void **state)
{
    (void)state;
    struct kit *k = settled("80:30080", "");
    k->world.n_nlbs = 0;
    k->world.n_listeners = 0;
    expect(k, "1 CreateLoadBalancer; 2 CreateListener");
    kit_free(k);
}

static void left__group_of_a_switch__is_used_and_mended(void **state)
{
    (void)state;
    struct kit *k = settled("80:30080", "");
    k->ports = "80:30099";
    kit_plan_nlb(k);
    struct err err = ERR_INIT;
    k->run.stop_after = 1; /* the new group is made and not filled */
    assert_int_equal(aws_world_run(&k->world, &k->plan, &k->run, &err), ERR_OK);
    k->lines = "healthcheck-port=8080";
    expect(k, "1 ModifyTargetGroup, RegisterTargets; 2 ModifyListener; 3 DeleteTargetGroup");
    kit_free(k);
}

static void left__group_that_no_port_needs__goes(void **state)
{
    (void)state;
    struct kit *k = settled("80:30080", "");
    k->ports = "80:30099";
    kit_plan_nlb(k);
    struct err err = ERR_INIT;
    k->run.stop_after = 1;
    assert_int_equal(aws_world_run(&k->world, &k->plan, &k->run, &err), ERR_OK);
    k->ports = "80:30080"; /* back again */
    expect(k, "1 DeleteTargetGroup");
    assert_string_equal(kit_op(k, "DeleteTargetGroup", 0)->why,
                        "an interrupted change left it, and no port needs it");
    kit_free(k);
}

/* The name is taken by one that cannot be used: it goes first. */
static void left__group_of_the_name_that_fits_not__makes_room(void **state)
{
    (void)state;
    struct kit *k = settled("80:30080", "");
    k->world.n_nlbs = 0;
    k->world.n_listeners = 0;
    k->world.target_groups[0].group.port = 1;
    expect(k, "1 DeleteTargetGroup; 2 CreateLoadBalancer, CreateTargetGroup; "
              "3 RegisterTargets, CreateListener");
    kit_free(k);
}

static void left__listener_without_its_group__gets_one(void **state)
{
    (void)state;
    struct kit *k = settled("80:30080", "");
    k->world.listeners[0].target_group = "arn:gone";
    k->world.n_target_groups = 0;
    expect(k, "1 CreateTargetGroup; 2 RegisterTargets; 3 ModifyListener");
    assert_string_equal(kit_op(k, "CreateTargetGroup", 0)->why,
                        "the listener of port 80 forwards to no target group that is there");
    kit_free(k);
}

static void left__listener_that_is_gone__is_made_for_the_group(void **state)
{
    (void)state;
    struct kit *k = settled("80:30080", "");
    k->world.n_listeners = 0;
    expect(k, "1 CreateListener");
    kit_free(k);
}

static void foreign__group_behind_a_listener_that_goes__stays(void **state)
{
    (void)state;
    struct kit *k = settled("80:30080 443:30443", "");
    group_of_port(k, 443)->group.name = "made-by-hand";
    k->ports = "80:30080";
    expect(k, "1 DeleteListener");
    assert_int_equal(k->world.n_target_groups, 2);
    kit_free(k);
}

static void names__of_groups__are_upstreams(void **state)
{
    (void)state;
    struct kit *k = settled("80:30080 443:30443", "");
    assert_string_equal(group_of_port(k, 80)->group.name, group_name(k, 0));
    assert_string_equal(group_of_port(k, 443)->group.name, group_name(k, 1));
    kit_free(k);
}

int main(void)
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
        cmocka_unit_test(update__tcp_to_udp__old_listener_first),
        cmocka_unit_test(update__certificate_and_policy__only_what_changes),
        cmocka_unit_test(noop__policy_that_moto_answers_without_tls__is_not_compared),
        cmocka_unit_test(noop__several_listeners_on_a_port__keep_the_right_one),
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
        cmocka_unit_test(update__attributes__what_differs),
        cmocka_unit_test(update__group_without_the_attribute__is_sent_it),
        cmocka_unit_test(update__security_groups__are_replaced_as_a_set),
        cmocka_unit_test(noop__balancer_without_groups__gets_none),
        cmocka_unit_test(noop__scheme_and_subnets__stay),
        cmocka_unit_test(noop__everything_is_kept_and_counted),
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
