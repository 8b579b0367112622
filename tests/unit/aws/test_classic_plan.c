/* SPDX-License-Identifier: Apache-2.0 */
/* test_classic_plan.c: classic load balancers are made and brought to what their Services want
 * (docs/spec/aws.md 4.6 to 4.13), against an AWS in memory that refuses what AWS refuses and calls
 * that change nothing. */
#include "tests/support/unit.h"
#include "tests/unit/aws/service_kit.h"

#include <string.h>

#define LB "a5f3a7c9e0b1d4e2f8a6b1c2d3e4f5a6"

static struct aws_classic *balancer(struct service_kit *s)
{
    assert_int_equal(s->k->world.n_classics, 1);
    return &s->k->world.classics[0];
}

static const char *joined(struct service_kit *s, const struct aws_texts *t)
{
    return str_join(s->k->a, t->items, t->n, " ");
}

/* ---- a new one ------------------------------------------------------------------------------- */

static void create__own_group__is_six_calls_in_three_waves(void **state)
{
    (void)state;
    struct service_kit *s = service_kit_new();
    service_plan(s, true);
    assert_string_equal(service_waves(s),
                        "1 CreateSecurityGroup; "
                        "2 AuthorizeSecurityGroupIngress, CreateLoadBalancer, "
                        "AuthorizeSecurityGroupIngress; "
                        "3 ConfigureHealthCheck, RegisterInstancesWithLoadBalancer");
    assert_string_equal(
        service_params(s, "CreateLoadBalancer", 0, "Tags"),
        "LoadBalancerName=" LB " Listeners.member.1.Protocol=tcp "
        "Listeners.member.1.LoadBalancerPort=80 Listeners.member.1.InstanceProtocol=tcp "
        "Listeners.member.1.InstancePort=30080 Subnets.member.1=subnet-1 "
        "Subnets.member.2=subnet-2 SecurityGroups.member.1=<CreateSecurityGroup id>");
    assert_string_equal(service_params(s, "AuthorizeSecurityGroupIngress", 1, ""),
                        "GroupId=sg-nodes IpPermissions.1.IpProtocol=-1 "
                        "IpPermissions.1.Groups.1.GroupId=<CreateSecurityGroup id>");
    assert_string_equal(service_params(s, "ConfigureHealthCheck", 0, "LoadBalancerName"),
                        "HealthCheck.Target=TCP:30080 HealthCheck.Interval=10 "
                        "HealthCheck.Timeout=5 HealthCheck.UnhealthyThreshold=6 "
                        "HealthCheck.HealthyThreshold=2");
    service_settle(s, true);
    assert_string_equal(joined(s, &balancer(s)->instances), "i-1 i-2 i-3");
    assert_string_equal(balancer(s)->scheme, "internet-facing");
    const struct aws_group *own = service_named(s, "k8s-elb-" LB);
    assert_string_equal(own->description, "Security group for Kubernetes ELB " LB " (default/web)");
    assert_string_equal(service_rules(s, own->id), "icmp 3-4 0.0.0.0/0\ntcp 80 0.0.0.0/0");
    assert_string_equal(service_rules(s, "sg-nodes"), arena_printf(s->k->a, "-1 %s", own->id));
    service_kit_free(s);
}

static void create__named_groups__needs_no_wave_before_it(void **state)
{
    (void)state;
    struct service_kit *s = service_kit_new();
    (void)service_group(s, "sg-a", "a", NULL);
    (void)service_group(s, "sg-b", "b", NULL);
    s->k->lines = "security-groups=sg-a\nextra-security-groups=sg-b\ninternal=true";
    service_plan(s, true);
    assert_string_equal(service_waves(s),
                        "1 CreateLoadBalancer, AuthorizeSecurityGroupIngress; "
                        "2 ConfigureHealthCheck, RegisterInstancesWithLoadBalancer");
    service_settle(s, true);
    assert_string_equal(joined(s, &balancer(s)->groups), "sg-a sg-b");
    assert_string_equal(balancer(s)->scheme, "internal");
    assert_string_equal(service_rules(s, "sg-nodes"), "-1 sg-a");
    assert_string_equal(service_rules(s, "sg-a"), "");
    service_kit_free(s);
}

static void create__policies_and_attributes__are_set_when_it_stands(void **state)
{
    (void)state;
    struct service_kit *s = service_kit_new();
    s->k->ports = "80:30080 443:30443";
    s->k->lines = "proxy-protocol=*\nssl-cert=arn:cert\nssl-ports=443\n"
                  "ssl-negotiation-policy=ELBSecurityPolicy-TLS-1-2\nconnection-idle-timeout=90\n"
                  "connection-draining-enabled=true\nconnection-draining-timeout=20";
    service_plan(s, true);
    assert_string_equal(
        service_waves(s),
        "1 CreateSecurityGroup; "
        "2 AuthorizeSecurityGroupIngress, CreateLoadBalancer, AuthorizeSecurityGroupIngress; "
        "3 CreateLoadBalancerPolicy, CreateLoadBalancerPolicy, ModifyLoadBalancerAttributes, "
        "ConfigureHealthCheck, RegisterInstancesWithLoadBalancer; "
        "4 SetLoadBalancerPoliciesForBackendServer, SetLoadBalancerPoliciesForBackendServer, "
        "SetLoadBalancerPoliciesOfListener");
    assert_string_equal(service_params(s, "ModifyLoadBalancerAttributes", 0, "LoadBalancerName"),
                        "LoadBalancerAttributes.ConnectionDraining.Enabled=true "
                        "LoadBalancerAttributes.ConnectionDraining.Timeout=20 "
                        "LoadBalancerAttributes.ConnectionSettings.IdleTimeout=90");
    service_settle(s, true);
    assert_string_equal(joined(s, &balancer(s)->other_policies),
                        "k8s-SSLNegotiationPolicy-ELBSecurityPolicy-TLS-1-2 "
                        "k8s-proxyprotocol-enabled");
    service_kit_free(s);
}

static void create__no_subnet__says_why(void **state)
{
    (void)state;
    struct service_kit *s = service_kit_new();
    struct err err = ERR_INIT;
    s->k->world.n_subnets = 0;
    assert_int_equal(service_try(s, true, &err), ERR_INVALID);
    assert_non_null(strstr(err.message, "subnet"));
    assert_int_equal(s->k->plan.n_ops, 0);
    service_kit_free(s);
}

/* ---- subnets --------------------------------------------------------------------------------- */

/* subnet-1 to 3 in zones a to c; 4 to 6 in the same zones. */
static struct service_kit *in_subnets(const char *subnets)
{
    struct service_kit *s = service_kit_new();
    struct aws_world *w = &s->k->world;
    w->n_subnets = 3;
    for (int i = 0; i < 3; i++) {
        struct aws_subnet twin = w->subnets[i];
        twin.id = arena_printf(s->k->a, "subnet-%d", i + 4);
        w->subnets[w->n_subnets++] = twin;
    }
    s->k->lines = arena_printf(s->k->a, "subnets=%s", subnets);
    service_settle(s, true);
    return s;
}

/* On the heap. */
static char *moved(const char *from, const char *to)
{
    struct service_kit *s = in_subnets(from);
    s->k->lines = arena_printf(s->k->a, "subnets=%s", to);
    char *was = xstrdup(service_edited(s));
    assert_string_equal(joined(s, &balancer(s)->subnets), str_replace(s->k->a, to, ",", " "));
    service_kit_free(s);
    return was;
}

static void subnets__in_any_change__never_none_and_never_two_of_a_zone(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *waves;
    } rows[] = {
        {"subnet-1,subnet-2", "subnet-1,subnet-2,subnet-3", "1 AttachLoadBalancerToSubnets"},
        {"subnet-1,subnet-2", "subnet-1", "1 DetachLoadBalancerFromSubnets"},
        {"subnet-1", "subnet-2", "1 AttachLoadBalancerToSubnets; 2 DetachLoadBalancerFromSubnets"},
        {"subnet-1,subnet-2", "subnet-1,subnet-5",
         "1 DetachLoadBalancerFromSubnets; 2 AttachLoadBalancerToSubnets"},
        {"subnet-1,subnet-2", "subnet-4,subnet-5",
         "1 DetachLoadBalancerFromSubnets; 2 AttachLoadBalancerToSubnets; "
         "3 DetachLoadBalancerFromSubnets; 4 AttachLoadBalancerToSubnets"},
        {"subnet-1,subnet-2", "subnet-4",
         "1 DetachLoadBalancerFromSubnets; 2 AttachLoadBalancerToSubnets; "
         "3 DetachLoadBalancerFromSubnets"},
        {"subnet-1", "subnet-2,subnet-4",
         "1 AttachLoadBalancerToSubnets; 2 DetachLoadBalancerFromSubnets; "
         "3 AttachLoadBalancerToSubnets"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char *was = moved(rows[i].from, rows[i].to);
        assert_string_equal(was, rows[i].waves);
        free(was);
    }
}

static void subnets__only_zone_gets_another__owner_is_told(void **state)
{
    (void)state;
    struct service_kit *s = in_subnets("subnet-1");
    s->k->lines = "subnets=subnet-4";
    service_plan(s, true);
    assert_int_equal(lb_plan_changes(&s->k->plan), 0);
    assert_non_null(strstr(service_finding(s), "stays in subnet subnet-1"));
    service_kit_free(s);
}

static void subnets__scheme_changed__stay_with_the_scheme(void **state)
{
    (void)state;
    struct service_kit *s = in_subnets("subnet-1,subnet-2");
    s->k->lines = "internal=true\nsubnets=subnet-4,subnet-5";
    service_plan(s, true);
    assert_int_equal(lb_plan_changes(&s->k->plan), 0);
    assert_non_null(strstr(service_finding(s), "stays internet-facing"));
    assert_non_null(strstr(service_effects(s), "The load balancer stays internet-facing."));
    service_kit_free(s);
}

/* Only nodes changed: the flow did not read the VPC. */
static void subnets__not_read__are_left(void **state)
{
    (void)state;
    struct service_kit *s = service_standing("80:30080", "");
    s->no_places = true;
    s->k->instances = kit_texts(s->k, "i-1 i-2 i-3 i-4");
    assert_string_equal(service_edited(s), "1 RegisterInstancesWithLoadBalancer");
    service_kit_free(s);
}

/* ---- policies -------------------------------------------------------------------------------- */

static void proxy__on_and_off__is_defined_once(void **state)
{
    (void)state;
    struct service_kit *s = service_standing("80:30080", "");
    s->k->lines = "proxy-protocol=*";
    assert_string_equal(service_edited(s),
                        "1 CreateLoadBalancerPolicy; 2 SetLoadBalancerPoliciesForBackendServer");
    s->k->lines = "";
    service_plan(s, true);
    assert_string_equal(
        service_params(s, "SetLoadBalancerPoliciesForBackendServer", 0, "LoadBalancerName"),
        "InstancePort=30080 PolicyNames=");
    service_settle(s, true);
    s->k->lines = "proxy-protocol=*";
    assert_string_equal(service_edited(s), "1 SetLoadBalancerPoliciesForBackendServer");
    service_kit_free(s);
}

static void proxy__back_end_of_a_port_that_goes__is_cleared(void **state)
{
    (void)state;
    struct service_kit *s = service_standing("80:30080 81:30081", "proxy-protocol=*");
    s->k->ports = "80:30080";
    service_plan(s, true);
    assert_string_equal(service_waves(s), "1 DeleteLoadBalancerListeners; "
                                          "2 RevokeSecurityGroupIngress, "
                                          "SetLoadBalancerPoliciesForBackendServer");
    service_settle(s, true);
    service_kit_free(s);
}

static void proxy__policies_of_others__stay_on_the_back_end(void **state)
{
    (void)state;
    static const char *const named[] = {"mine"};
    static const struct aws_classic_backend backend = {30080, {named, 1}};
    struct service_kit *s = service_standing("80:30080", "");
    balancer(s)->backends = &backend;
    balancer(s)->n_backends = 1;
    balancer(s)->other_policies = (struct aws_texts){named, 1};
    s->k->lines = "proxy-protocol=*";
    (void)service_edited(s);
    assert_string_equal(joined(s, &balancer(s)->backends[0].policies),
                        "mine k8s-proxyprotocol-enabled");
    s->k->lines = "";
    (void)service_edited(s);
    assert_string_equal(joined(s, &balancer(s)->backends[0].policies), "mine");
    service_kit_free(s);
}

static void ssl_policy__changes_and_stays_without_annotation(void **state)
{
    (void)state;
    struct service_kit *s = service_standing(
        "443:30443 80:30080", "ssl-cert=arn:c\nssl-ports=443\nssl-negotiation-policy=one");
    s->k->lines = "ssl-cert=arn:c\nssl-ports=443\nssl-negotiation-policy=two";
    service_plan(s, true);
    assert_string_equal(service_waves(s),
                        "1 CreateLoadBalancerPolicy; 2 SetLoadBalancerPoliciesOfListener");
    assert_string_equal(service_params(s, "CreateLoadBalancerPolicy", 0, "LoadBalancerName"),
                        "PolicyName=k8s-SSLNegotiationPolicy-two "
                        "PolicyTypeName=SSLNegotiationPolicyType "
                        "PolicyAttributes.member.1.AttributeName=Reference-Security-Policy "
                        "PolicyAttributes.member.1.AttributeValue=two");
    service_settle(s, true);
    s->k->lines = "ssl-cert=arn:c\nssl-ports=443";
    assert_string_equal(service_edited(s), "");
    /* The policy is there: only set again for a listener that is recreated. */
    s->k->ports = "443:31443 80:30080";
    s->k->lines = "ssl-cert=arn:c\nssl-ports=443\nssl-negotiation-policy=two";
    assert_string_equal(service_edited(s),
                        "1 CreateLoadBalancerListeners; 2 DeleteLoadBalancerListeners; "
                        "3 CreateLoadBalancerListeners; 1 ConfigureHealthCheck; "
                        "4 SetLoadBalancerPoliciesOfListener");
    service_kit_free(s);
}

/* ---- settings -------------------------------------------------------------------------------- */

static void attributes__of_others_and_of_what_is_off__are_not_compared(void **state)
{
    (void)state;
    struct service_kit *s = service_standing("80:30080", "");
    s->k->world.classic_attributes[0].draining_timeout = 77;
    s->k->world.classic_attributes[0].bucket = "b";
    assert_string_equal(service_edited(s), "");
    s->k->world.classic_attributes[0].cross_zone = -1; /* not answered */
    assert_string_equal(service_edited(s), "");
    s->k->lines = "cross-zone-load-balancing-enabled=true\naccess-log-enabled=true\n"
                  "access-log-s3-bucket-name=logs\naccess-log-emit-interval=5";
    service_plan(s, true);
    assert_string_equal(service_params(s, "ModifyLoadBalancerAttributes", 0, "LoadBalancerName"),
                        "LoadBalancerAttributes.AccessLog.Enabled=true "
                        "LoadBalancerAttributes.AccessLog.EmitInterval=5 "
                        "LoadBalancerAttributes.AccessLog.S3BucketName=logs "
                        "LoadBalancerAttributes.CrossZoneLoadBalancing.Enabled=true");
    service_settle(s, true);
    s->k->lines = "";
    assert_string_equal(service_edited(s), "1 ModifyLoadBalancerAttributes");
    service_kit_free(s);
}

static void health__protocol_in_other_case__is_the_same(void **state)
{
    (void)state;
    struct service_kit *s = service_standing(
        "80:30080", "healthcheck-protocol=http\nhealthcheck-path=/Up\nhealthcheck-port=9");
    assert_string_equal(balancer(s)->health.target, "HTTP:9/Up");
    balancer(s)->health.target = "http:9/Up";
    assert_string_equal(service_edited(s), "");
    balancer(s)->health.target = "HTTP:9/up";
    assert_string_equal(service_edited(s), "1 ConfigureHealthCheck");
    balancer(s)->health = (struct aws_classic_health){0}; /* 10.4 row 22 */
    assert_string_equal(service_edited(s), "1 ConfigureHealthCheck");
    service_kit_free(s);
}

static void tags__missing_ones__are_added_and_none_is_removed(void **state)
{
    (void)state;
    struct service_kit *s = service_standing("80:30080", "additional-resource-tags=a=1,b=2");
    s->k->lines = "additional-resource-tags=a=1,c=3";
    service_plan(s, true);
    assert_string_equal(service_waves(s), "1 AddTags");
    assert_string_equal(service_params(s, "AddTags", 0, ""),
                        "LoadBalancerNames.member.1=" LB
                        " Tags.member.1.Key=c Tags.member.1.Value=3");
    service_settle(s, true);
    assert_string_equal(aws_tag(&s->k->world.classic_tags[0], "b"), "2");
    /* The controller's own keys are not the annotation's. */
    s->k->lines = "additional-resource-tags=a=1,kubernetes.io/service-name=other/one";
    assert_string_equal(service_edited(s), "");
    service_kit_free(s);
}

static void tags__not_read__are_added_when_the_service_was_edited(void **state)
{
    (void)state;
    struct service_kit *s = service_standing("80:30080", "additional-resource-tags=a=1");
    for (int edit = 0; edit < 2; edit++) {
        s->planning = kit_begin(s->k);
        struct aws_observed seen = *s->k->seen;
        seen.has_classic_tags = false;
        s->planning.seen = &seen;
        s->planning.edited = edit == 1;
        struct err err = ERR_INIT;
        struct aws_classic_want want;
        assert_int_equal(aws_classic_desired(s->k->a, &s->k->naming, s->k->service, s->k->subnets,
                                             s->k->instances, &want, &err),
                         ERR_OK);
        const char *own = service_named(s, "k8s-elb-" LB)->id;
        assert_int_equal(aws_plan_classic(&s->planning, &want, LB_VALUE(own), &err), ERR_OK);
        aws_draft_finish(&s->planning);
        assert_int_equal(lb_plan_seal(&s->k->plan, &err), ERR_OK);
        assert_string_equal(service_waves(s), edit == 1 ? "1 AddTags" : "");
    }
    service_kit_free(s);
}

/* ---- instances ------------------------------------------------------------------------------- */

static void instances__come_before_others_go(void **state)
{
    (void)state;
    struct service_kit *s = service_standing("80:30080", "");
    s->k->instances = kit_texts(s->k, "i-2 i-3 i-4");
    service_plan(s, true);
    assert_string_equal(service_waves(s), "1 RegisterInstancesWithLoadBalancer; "
                                          "2 DeregisterInstancesFromLoadBalancer");
    const struct aws_write *w = kit_op(s->k, "RegisterInstancesWithLoadBalancer", 0)->arg;
    assert_int_equal(w->isolate, AWS_ISOLATE_INSTANCES);
    service_settle(s, true);
    s->k->instances = kit_texts(s->k, "");
    assert_string_equal(service_edited(s),
                        "1 DeregisterInstancesFromLoadBalancer; 2 RevokeSecurityGroupIngress");
    service_kit_free(s);
}

static void instances__many__in_calls_of_500(void **state)
{
    (void)state;
    struct service_kit *s = service_kit_new();
    const char **ids = ARENA_ARRAY(s->k->a, const char *, 1201);
    for (int i = 0; i < 1201; i++) {
        ids[i] = arena_printf(s->k->a, "i-%05d", i);
    }
    s->planning = kit_begin(s->k);
    struct err err = ERR_INIT;
    struct aws_classic_want want;
    struct aws_texts many = {ids, 1201};
    assert_int_equal(aws_classic_desired(s->k->a, &s->k->naming, s->k->service, s->k->subnets, many,
                                         &want, &err),
                     ERR_OK);
    assert_int_equal(aws_plan_classic(&s->planning, &want, LB_VALUE("sg-1"), &err), ERR_OK);
    aws_draft_finish(&s->planning);
    static const size_t sizes[] = {500, 500, 201};
    for (size_t i = 0; i < 3; i++) {
        const struct lb_op *op = kit_op(s->k, "RegisterInstancesWithLoadBalancer", i);
        assert_int_equal(op->n_fields, sizes[i]);
    }
    service_kit_free(s);
}

/* ---- the kind -------------------------------------------------------------------------------- */

static void kind__other_than_what_is_there__is_refused(void **state)
{
    (void)state;
    struct service_kit *s = service_standing("80:30080", "");
    struct err err = ERR_INIT;
    s->k->kind = "nlb";
    assert_int_equal(service_try(s, true, &err), ERR_INVALID);
    assert_non_null(strstr(err.message, LB " is a classic load balancer"));
    assert_non_null(strstr(err.message, "cannot be changed"));
    assert_int_equal(s->k->plan.n_ops, 0);
    service_kit_free(s);

    s = service_kit_new();
    s->k->kind = "nlb";
    service_settle(s, true);
    s->k->kind = "";
    err = ERR_INIT;
    assert_int_equal(service_try(s, true, &err), ERR_INVALID);
    assert_non_null(strstr(err.message, LB " is an NLB"));
    service_kit_free(s);
}

/* A port that never had a listener gets none, with a finding; one that is served is not taken away
 * without a word. */
static void ports__without_node_port__what_is_served_stays(void **state)
{
    static const char *const kinds[] = {"", "nlb"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct service_kit *s = service_kit_new();
        struct err err = ERR_INIT;
        s->k->kind = kinds[i];
        s->k->ports = "80:30080 443:30443";
        service_settle(s, true);
        s->k->ports = "80:30080 443:0";
        assert_int_equal(service_try(s, true, &err), ERR_INVALID);
        assert_non_null(strstr(err.message, "port 443: no node port is allocated"));
        assert_int_equal(s->k->plan.n_ops, 0);
        s->k->ports = "80:30080 443:30443 444:0";
        service_plan(s, true);
        assert_null(strstr(kit_waves(s->k), "Listener"));
        service_kit_free(s);
    }
}

/* 15 row 8: whatever a host name looks like, and whatever else has the name. */
static void kind__both_are_there__the_wanted_one_is_served(void **state)
{
    (void)state;
    struct service_kit *s = service_standing("80:30080", "");
    struct aws_classic classic = *balancer(s);
    s->k->world.n_classics = 0;
    s->k->kind = "nlb";
    service_settle(s, true);
    s->k->world.classics[0] = classic;
    s->k->world.n_classics = 1;
    assert_string_equal(service_edited(s), "");
    assert_int_equal(s->k->world.n_nlbs, 1);
    assert_int_equal(s->k->world.n_classics, 1);
    service_kit_free(s);
}

static void plan__unchanged__says_that_the_name_stays(void **state)
{
    (void)state;
    struct service_kit *s = service_standing("80:30080", "");
    const struct lb_plan_service *told = lb_plan_service(&s->k->plan, "default/web");
    assert_string_equal(told->kind, "internet-facing, classic load balancer");
    assert_string_equal(told->address, LB "-1.us-east-1.elb.amazonaws.com");
    assert_int_equal(told->checked, 3); /* the balancer, its group, the nodes' group */
    assert_string_equal(told->because[0], "aws-load-balancer-type is \"\" → classic load balancer");
    service_kit_free(s);
}

UNIT_MAIN(classic_plan)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(create__own_group__is_six_calls_in_three_waves),
        cmocka_unit_test(create__named_groups__needs_no_wave_before_it),
        cmocka_unit_test(create__policies_and_attributes__are_set_when_it_stands),
        cmocka_unit_test(create__no_subnet__says_why),
        cmocka_unit_test(subnets__in_any_change__never_none_and_never_two_of_a_zone),
        cmocka_unit_test(subnets__only_zone_gets_another__owner_is_told),
        cmocka_unit_test(subnets__scheme_changed__stay_with_the_scheme),
        cmocka_unit_test(subnets__not_read__are_left),
        cmocka_unit_test(proxy__on_and_off__is_defined_once),
        cmocka_unit_test(proxy__back_end_of_a_port_that_goes__is_cleared),
        cmocka_unit_test(proxy__policies_of_others__stay_on_the_back_end),
        cmocka_unit_test(ssl_policy__changes_and_stays_without_annotation),
        cmocka_unit_test(attributes__of_others_and_of_what_is_off__are_not_compared),
        cmocka_unit_test(health__protocol_in_other_case__is_the_same),
        cmocka_unit_test(tags__missing_ones__are_added_and_none_is_removed),
        cmocka_unit_test(tags__not_read__are_added_when_the_service_was_edited),
        cmocka_unit_test(instances__come_before_others_go),
        cmocka_unit_test(instances__many__in_calls_of_500),
        cmocka_unit_test(kind__other_than_what_is_there__is_refused),
        cmocka_unit_test(ports__without_node_port__what_is_served_stays),
        cmocka_unit_test(kind__both_are_there__the_wanted_one_is_served),
        cmocka_unit_test(plan__unchanged__says_that_the_name_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
