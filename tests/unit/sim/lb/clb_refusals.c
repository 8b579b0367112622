/* SPDX-License-Identifier: Apache-2.0 */
/* clb_refusals.c: what classic Elastic Load Balancing of the simulated AWS refuses, with which code
 * and status.
 *
 * One table: each row is a request that must change nothing, on the world of lb_make_clb().
 * Source: docs/spec/aws.md §3.3, §4, §10.4. */
#include "tests/support/unit.h"
#include "tests/unit/sim/lb/lb_fixture.h"

#define ON(action, name) "Action=" action "&LoadBalancerName=" name
#define LISTENER(n, protocol, port, to)                                                            \
    "&Listeners.member." n ".Protocol=" protocol "&Listeners.member." n ".LoadBalancerPort=" port  \
    "&Listeners.member." n ".InstancePort=" to
#define TCP80        LISTENER("1", "TCP", "80", "30080")
#define CREATE(name) ON("CreateLoadBalancer", name)
#define IN_A         "&Subnets.member.1={a}"
#define LISTEN       ON("CreateLoadBalancerListeners", "clb")
#define CHECK(target, interval, timeout)                                                           \
    ON("ConfigureHealthCheck", "clb")                                                              \
    "&HealthCheck.Target=" target "&HealthCheck.Interval=" interval                                \
    "&HealthCheck.Timeout=" timeout                                                                \
    "&HealthCheck.HealthyThreshold=2&HealthCheck.UnhealthyThreshold=2"
#define ATTRIBUTES                                                                                 \
    "Action=ModifyLoadBalancerAttributes&LoadBalancerName=clb&LoadBalancerAttributes."
#define POLICY(name, type, attribute, value)                                                       \
    ON("CreateLoadBalancerPolicy", "clb")                                                          \
    "&PolicyName=" name "&PolicyTypeName=" type                                                    \
    "&PolicyAttributes.member.1.AttributeName=" attribute                                          \
    "&PolicyAttributes.member.1.AttributeValue=" value
#define SSL_POLICY(name, value)                                                                    \
    POLICY(name, "SSLNegotiationPolicyType", "Reference-Security-Policy", value)
#define SET_LISTENER(port, name)                                                                   \
    ON("SetLoadBalancerPoliciesOfListener", "clb")                                                 \
    "&LoadBalancerPort=" port "&PolicyNames.member.1=" name
#define SET_BACKEND(port, name)                                                                    \
    ON("SetLoadBalancerPoliciesForBackendServer", "clb")                                           \
    "&InstancePort=" port "&PolicyNames.member.1=" name
#define CFG       "InvalidConfigurationRequest"
#define VALUE     "ValidationError"
#define ABSENT_LB "LoadBalancerNotFound"

static const struct lb_row creates[] = {
    {"name too long", CREATE("abcdefghijklmnopqrstuvwxyz1234567") IN_A TCP80, VALUE, "32"},
    {"bad name", CREATE("a_b") IN_A TCP80, VALUE, NULL},
    {"reserved name", CREATE("internal-a") IN_A TCP80, VALUE, NULL},
    {"no name", "Action=CreateLoadBalancer" IN_A TCP80, "flaw", NULL},
    {"no listeners", CREATE("x") IN_A, "flaw", NULL},
    {"empty list of listeners", CREATE("x") IN_A "&Listeners=", VALUE, "Listeners"},
    {"unknown scheme", CREATE("x") IN_A TCP80 "&Scheme=public", "InvalidScheme", "public"},
    {"no place", CREATE("x") TCP80, VALUE, "SubnetIds"},
    {"subnets and zones", CREATE("x") IN_A TCP80 "&AvailabilityZones.member.1=us-east-1a", VALUE,
     "Only one"},
    {"zones alone", CREATE("x") TCP80 "&AvailabilityZones.member.1=us-east-1a", CFG,
     "Default VPC not found"},
    {"unknown subnet", CREATE("x") TCP80 "&Subnets.member.1=" ABSENT("subnet-"), "SubnetNotFound",
     NULL},
    {"one zone twice", CREATE("x") TCP80 IN_A "&Subnets.member.2={a2}", CFG, NULL},
    {"two VPCs", CREATE("x") TCP80 IN_A "&Subnets.member.2={o}", CFG, "VPC"},
    {"no gateway", CREATE("x") TCP80 "&Subnets.member.1={o}", "InvalidSubnet", "gateway"},
    {"no room", CREATE("x") TCP80 "&Scheme=internal&Subnets.member.1={tiny}", "InvalidSubnet",
     "8 free"},
    {"unknown group", CREATE("x") IN_A TCP80 "&SecurityGroups.member.1=" ABSENT("sg-"),
     "InvalidSecurityGroup", NULL},
    {"group of another VPC", CREATE("x") IN_A TCP80 "&SecurityGroups.member.1={other}",
     "InvalidSecurityGroup", NULL},
    {"tag twice", CREATE("x") IN_A TCP80 "&Tags.member.1.Key=k&Tags.member.2.Key=k",
     "DuplicateTagKeys", NULL},
    {"same name, other listeners",
     CREATE("clb") IN_A TCP80 "&SecurityGroups.member.1={g}&Tags.member.1.Key=k&"
                              "Tags.member.1.Value=v",
     "DuplicateLoadBalancerName", "different parameters"},
    {"same name, other tags",
     CREATE("clb2") IN_A TCP80 "&Tags.member.1.Key=k&Tags.member.1.Value=v",
     "DuplicateLoadBalancerName", "different tags"},
    {"same name, other scheme", CREATE("clb2") IN_A TCP80 "&Scheme=internal",
     "DuplicateLoadBalancerName", NULL},
    {"same name, other subnets", CREATE("clb2") TCP80 "&Subnets.member.1={b}",
     "DuplicateLoadBalancerName", NULL},
    {"unknown name", "Action=DescribeLoadBalancers&LoadBalancerNames.member.1=x", ABSENT_LB,
     "There is no ACTIVE Load Balancer named 'x'"},
    {"one of two unknown",
     "Action=DescribeLoadBalancers&LoadBalancerNames.member.1=clb&LoadBalancerNames.member.2=x",
     ABSENT_LB, NULL},
    {"name of a network balancer", "Action=DescribeLoadBalancers&LoadBalancerNames.member.1=nlb",
     ABSENT_LB, NULL},
    {"page too large", "Action=DescribeLoadBalancers&PageSize=401", "flaw", NULL},
    {"unknown marker", "Action=DescribeLoadBalancers&Marker=x", VALUE, NULL},
};

static const struct lb_row listeners[] = {
    {"listener of nobody", ON("CreateLoadBalancerListeners", "x") TCP80, ABSENT_LB, NULL},
    {"UDP", LISTEN LISTENER("1", "UDP", "53", "30053"), "UnsupportedProtocol", "UDP"},
    {"instances over UDP",
     LISTEN LISTENER("1", "TCP", "81", "30081") "&Listeners.member.1.InstanceProtocol=UDP",
     "UnsupportedProtocol", "UDP"},
    {"two layers",
     LISTEN LISTENER("1", "TCP", "81", "30081") "&Listeners.member.1.InstanceProtocol=HTTP", CFG,
     "layer"},
    {"two layers, the other way",
     LISTEN LISTENER("1", "HTTP", "81", "30081") "&Listeners.member.1.InstanceProtocol=SSL", CFG,
     "layer"},
    {"port 0", LISTEN LISTENER("1", "TCP", "0", "30081"), VALUE, "1-65535"},
    {"port too high", LISTEN LISTENER("1", "TCP", "65536", "30081"), VALUE, NULL},
    {"instance port 0", LISTEN LISTENER("1", "TCP", "81", "0"), "flaw", NULL},
    {"one port twice",
     LISTEN LISTENER("1", "TCP", "81", "30081") LISTENER("2", "TCP", "81", "30082"), VALUE, "81"},
    {"port taken", LISTEN LISTENER("1", "TCP", "80", "30081"), "DuplicateListener",
     "A listener already exists for clb with LoadBalancerPort 80"},
    {"one new, one taken",
     LISTEN LISTENER("1", "TCP", "81", "30081") LISTENER("2", "HTTP", "80", "30080"),
     "DuplicateListener", NULL},
    {"SSL without certificate", LISTEN LISTENER("1", "SSL", "81", "30081"), VALUE,
     "SSLCertificateId"},
    {"HTTPS without certificate", LISTEN LISTENER("1", "HTTPS", "81", "30081"), VALUE,
     "SSLCertificateId"},
    {"certificate that is none",
     LISTEN LISTENER("1", "SSL", "81", "30081") "&Listeners.member.1.SSLCertificateId=one",
     "CertificateNotFound", "one"},
    {"missing certificate",
     LISTEN LISTENER("1", "SSL", "81", "30081") "&Listeners.member.1.SSLCertificateId=" CERT
                                                "missing",
     "CertificateNotFound", NULL},
    {"deleting of nobody", ON("DeleteLoadBalancerListeners", "x") "&LoadBalancerPorts.member.1=80",
     ABSENT_LB, NULL},
    {"deleting nothing", ON("DeleteLoadBalancerListeners", "clb") "&LoadBalancerPorts=", VALUE,
     NULL},
    {"certificate of no listener",
     ON("SetLoadBalancerListenerSSLCertificate",
        "clb") "&LoadBalancerPort=81&SSLCertificateId=" CERT,
     "ListenerNotFound", "81"},
    {"certificate of a TCP listener",
     ON("SetLoadBalancerListenerSSLCertificate",
        "clb") "&LoadBalancerPort=80&SSLCertificateId=" CERT,
     CFG, "secure"},
    {"certificate that is missing",
     ON("SetLoadBalancerListenerSSLCertificate",
        "clb") "&LoadBalancerPort=443&SSLCertificateId=" CERT "missing",
     "CertificateNotFound", NULL},
    {"certificate of nobody",
     ON("SetLoadBalancerListenerSSLCertificate",
        "x") "&LoadBalancerPort=443&SSLCertificateId=" CERT,
     ABSENT_LB, NULL},
};

static const struct lb_row network[] = {
    {"attach to nobody", ON("AttachLoadBalancerToSubnets", "x") "&Subnets.member.1={b}", ABSENT_LB,
     NULL},
    {"attach nothing", ON("AttachLoadBalancerToSubnets", "clb") "&Subnets=", VALUE, NULL},
    {"attach an unknown subnet",
     ON("AttachLoadBalancerToSubnets", "clb") "&Subnets.member.1=" ABSENT("subnet-"),
     "SubnetNotFound", NULL},
    {"attach a second of a zone", ON("AttachLoadBalancerToSubnets", "clb") "&Subnets.member.1={a2}",
     CFG, "same Availability Zone"},
    {"attach one of another VPC", ON("AttachLoadBalancerToSubnets", "clb") "&Subnets.member.1={o}",
     CFG, "VPC"},
    {"detach the last", ON("DetachLoadBalancerFromSubnets", "clb") "&Subnets.member.1={a}", CFG,
     "at least one subnet"},
    {"detach from nobody", ON("DetachLoadBalancerFromSubnets", "x") "&Subnets.member.1={a}",
     ABSENT_LB, NULL},
    {"groups of nobody",
     ON("ApplySecurityGroupsToLoadBalancer", "x") "&SecurityGroups.member.1={g}", ABSENT_LB, NULL},
    {"no groups", ON("ApplySecurityGroupsToLoadBalancer", "clb") "&SecurityGroups=", VALUE, NULL},
    {"unknown group",
     ON("ApplySecurityGroupsToLoadBalancer", "clb") "&SecurityGroups.member.1=" ABSENT("sg-"),
     "InvalidSecurityGroup", NULL},
    {"register with nobody",
     ON("RegisterInstancesWithLoadBalancer", "x") "&Instances.member.1.InstanceId={i0}", ABSENT_LB,
     NULL},
    {"register nothing", ON("RegisterInstancesWithLoadBalancer", "clb") "&Instances=", VALUE, NULL},
    {"unknown instance",
     ON("RegisterInstancesWithLoadBalancer", "clb") "&Instances.member.1.InstanceId=" ABSENT("i-"),
     "InvalidInstance", "Could not find EC2 instance"},
    {"one of two unknown",
     ON("RegisterInstancesWithLoadBalancer",
        "clb") "&Instances.member.1.InstanceId={stopped}&Instances.member.2.InstanceId=i-1",
     "InvalidInstance", "i-1"},
    {"ended instance",
     ON("RegisterInstancesWithLoadBalancer", "clb") "&Instances.member.1.InstanceId={i1}",
     "InvalidInstance", NULL},
    {"instance of another VPC",
     ON("RegisterInstancesWithLoadBalancer", "clb") "&Instances.member.1.InstanceId={stranger}",
     "InvalidInstance", "VPC"},
    {"deregister an unknown one",
     ON("DeregisterInstancesFromLoadBalancer",
        "clb") "&Instances.member.1.InstanceId=" ABSENT("i-"),
     "InvalidInstance", NULL},
    {"deregister from nobody",
     ON("DeregisterInstancesFromLoadBalancer", "x") "&Instances.member.1.InstanceId={i0}",
     ABSENT_LB, NULL},
    {"health of nobody", ON("DescribeInstanceHealth", "x"), ABSENT_LB, NULL},
    {"health of one that is not registered",
     ON("DescribeInstanceHealth", "clb") "&Instances.member.1.InstanceId={stopped}",
     "InvalidInstance", NULL},
    {"check of nobody",
     ON("ConfigureHealthCheck", "x") "&HealthCheck.Target=TCP:80&HealthCheck.Interval=10&"
                                     "HealthCheck.Timeout=5&HealthCheck.HealthyThreshold=2&"
                                     "HealthCheck.UnhealthyThreshold=2",
     ABSENT_LB, NULL},
    {"check without port", CHECK("TCP", "10", "5"), VALUE, "TCP"},
    {"check over UDP", CHECK("UDP:53", "10", "5"), VALUE, NULL},
    {"check on port 0", CHECK("TCP:0", "10", "5"), VALUE, NULL},
    {"path over TCP", CHECK("TCP:80/healthz", "10", "5"), VALUE, "path"},
    {"HTTP without path", CHECK("HTTP:80", "10", "5"), VALUE, "path"},
    {"timeout as long as the interval", CHECK("TCP:80", "10", "10"), VALUE, "timeout"},
    {"interval too short", CHECK("TCP:80", "4", "2"), "flaw", NULL},
    {"timeout too long", CHECK("TCP:80", "300", "61"), "flaw", NULL},
};

static const struct lb_row policies[] = {
    {"policy of nobody",
     ON("CreateLoadBalancerPolicy", "x") "&PolicyName=p&PolicyTypeName=ProxyProtocolPolicyType",
     ABSENT_LB, NULL},
    {"unknown type", POLICY("x", "Magic", "a", "b"), "PolicyTypeNotFound", "Magic"},
    {"bad name", POLICY("a_b", "ProxyProtocolPolicyType", "ProxyProtocol", "true"), VALUE, "a_b"},
    {"no attribute",
     ON("CreateLoadBalancerPolicy", "clb") "&PolicyName=x&PolicyTypeName=ProxyProtocolPolicyType",
     CFG, "attribute"},
    {"unknown attribute", POLICY("x", "ProxyProtocolPolicyType", "Proxy", "true"), CFG, "Proxy"},
    {"bad value", POLICY("x", "ProxyProtocolPolicyType", "ProxyProtocol", "on"), CFG, "on"},
    {"unknown reference", SSL_POLICY("x", "ELBSecurityPolicy-X"), CFG, "ELBSecurityPolicy-X"},
    {"cipher", POLICY("x", "SSLNegotiationPolicyType", "Protocol-TLSv1", "1"), CFG, NULL},
    {"cookie period", POLICY("x", "LBCookieStickinessPolicyType", "CookieExpirationPeriod", "-1"),
     CFG, NULL},
    {"same name, other content",
     POLICY("proxy", "ProxyProtocolPolicyType", "ProxyProtocol", "false"), "DuplicatePolicyName",
     "proxy"},
    {"same name, other type", SSL_POLICY("proxy", "ELBSecurityPolicy-2016-08"),
     "DuplicatePolicyName", NULL},
    {"describing an unknown one",
     ON("DescribeLoadBalancerPolicies", "clb") "&PolicyNames.member.1=x", "PolicyNotFound",
     "There is no policy with name x for load balancer clb"},
    {"describing one that AWS has not",
     "Action=DescribeLoadBalancerPolicies&PolicyNames.member.1=x", "PolicyNotFound", NULL},
    {"policies of nobody", ON("DescribeLoadBalancerPolicies", "x"), ABSENT_LB, NULL},
    {"of no listener", SET_LISTENER("81", "ssl"), "ListenerNotFound", "81"},
    {"of nobody's listener",
     ON("SetLoadBalancerPoliciesOfListener", "x") "&LoadBalancerPort=80&PolicyNames=", ABSENT_LB,
     NULL},
    {"unknown on a listener", SET_LISTENER("443", "x"), "PolicyNotFound", NULL},
    {"SSL policy on a TCP listener", SET_LISTENER("80", "ssl"), CFG, "ssl"},
    {"back-end policy on a listener", SET_LISTENER("443", "proxy"), CFG, "proxy"},
    {"two SSL policies",
     SET_LISTENER("443", "ssl") "&PolicyNames.member.2=ELBSecurityPolicy-2016-08", CFG, "one SSL"},
    {"cookies on a TCP listener", SET_LISTENER("80", "cookie"), CFG, NULL},
    {"of an instance port without listener", SET_BACKEND("30099", "proxy"), CFG, "30099"},
    {"unknown on an instance port", SET_BACKEND("30080", "x"), "PolicyNotFound", NULL},
    {"SSL policy on an instance port", SET_BACKEND("30080", "ssl"), CFG, NULL},
    {"of nobody's instance port",
     ON("SetLoadBalancerPoliciesForBackendServer", "x") "&InstancePort=80&PolicyNames=", ABSENT_LB,
     NULL},
    {"deleting one in use on a listener",
     ON("DeleteLoadBalancerPolicy", "clb") "&PolicyName=ELBSecurityPolicy-2016-08", CFG, "in use"},
    {"deleting one in use on an instance port",
     ON("DeleteLoadBalancerPolicy", "clb") "&PolicyName=proxy", CFG, "in use"},
    {"deleting of nobody", ON("DeleteLoadBalancerPolicy", "x") "&PolicyName=proxy", ABSENT_LB,
     NULL},
};

static const struct lb_row attributes[] = {
    {"attributes of nobody", ON("DescribeLoadBalancerAttributes", "x"), ABSENT_LB, NULL},
    {"changes of nobody",
     ON("ModifyLoadBalancerAttributes",
        "x") "&LoadBalancerAttributes.ConnectionSettings.IdleTimeout=60",
     ABSENT_LB, NULL},
    {"no idle timeout", ATTRIBUTES "ConnectionSettings.IdleTimeout=0", "flaw", NULL},
    {"idle timeout", ATTRIBUTES "ConnectionSettings.IdleTimeout=4001", "flaw", NULL},
    {"draining timeout",
     ATTRIBUTES "ConnectionDraining.Enabled=true&LoadBalancerAttributes.ConnectionDraining."
                "Timeout=3601",
     VALUE, "1-3600"},
    {"no boolean", ATTRIBUTES "CrossZoneLoadBalancing.Enabled=yes", "flaw", NULL},
    {"logs without bucket", ATTRIBUTES "AccessLog.Enabled=true", CFG, "bucket"},
    {"logs into an absent bucket",
     ATTRIBUTES "AccessLog.Enabled=true&LoadBalancerAttributes.AccessLog.S3BucketName=missing", CFG,
     "missing"},
    {"emit interval",
     ATTRIBUTES "AccessLog.Enabled=false&LoadBalancerAttributes.AccessLog.EmitInterval=10", VALUE,
     "5 or 60"},
    {"unknown attribute",
     ATTRIBUTES "AdditionalAttributes.member.1.Key=elb.colour&LoadBalancerAttributes."
                "AdditionalAttributes.member.1.Value=red",
     "LoadBalancerAttributeNotFound", "elb.colour"},
    {"unknown mode",
     ATTRIBUTES "AdditionalAttributes.member.1.Key=elb.http.desyncmitigationmode&"
                "LoadBalancerAttributes.AdditionalAttributes.member.1.Value=loose",
     VALUE, "loose"},
    {"tags of nobody", "Action=AddTags&LoadBalancerNames.member.1=x&Tags.member.1.Key=k", ABSENT_LB,
     NULL},
    {"reserved tag", "Action=AddTags&LoadBalancerNames.member.1=clb&Tags.member.1.Key=aws:k", VALUE,
     "aws:"},
    {"tag twice",
     "Action=AddTags&LoadBalancerNames.member.1=clb&Tags.member.1.Key=x&Tags.member.2.Key=x",
     "DuplicateTagKeys", NULL},
    {"eleven tags",
     "Action=AddTags&LoadBalancerNames.member.1=clb&Tags.member.1.Key=1&Tags.member.2.Key=2&"
     "Tags.member.3.Key=3&Tags.member.4.Key=4&Tags.member.5.Key=5&Tags.member.6.Key=6&"
     "Tags.member.7.Key=7&Tags.member.8.Key=8&Tags.member.9.Key=9&Tags.member.10.Key=10",
     "TooManyTags", NULL},
    {"removing tags of nobody",
     "Action=RemoveTags&LoadBalancerNames.member.1=x&Tags.member.1.Key=k", ABSENT_LB, NULL},
    {"describing tags of nobody", "Action=DescribeTags&LoadBalancerNames.member.1=x", ABSENT_LB,
     NULL},
    {"describing tags of nothing", "Action=DescribeTags&LoadBalancerNames=", "flaw", NULL},
};

/* "clb2", and policies of all kinds on "clb". */
static void make_more(struct lb_test *t)
{
    v1(t, CREATE("clb2") IN_A TCP80);
    v1(t, POLICY("proxy", "ProxyProtocolPolicyType", "ProxyProtocol", "true"));
    v1(t, SSL_POLICY("ssl", "ELBSecurityPolicy-TLS-1-2-2017-01"));
    v1(t, POLICY("cookie", "AppCookieStickinessPolicyType", "CookieName", "session"));
    v1(t, SET_BACKEND("30080", "proxy"));
    assert_true(amz_ec2_set_instance_state(t->e->aws, t->e->instance[1], "terminated"));
}

static void refusals__each_row__is_refused_and_nothing_changes(void **state)
{
    (void)state;
    struct lb_test *t = lb_start();
    lb_make_clb(t);
    make_more(t);
    lb_refused(t, AMZ_ELB, creates, ARRAY_LEN(creates));
    lb_refused(t, AMZ_ELB, listeners, ARRAY_LEN(listeners));
    lb_refused(t, AMZ_ELB, network, ARRAY_LEN(network));
    lb_refused(t, AMZ_ELB, policies, ARRAY_LEN(policies));
    lb_refused(t, AMZ_ELB, attributes, ARRAY_LEN(attributes));
    lb_stop(t);
}

static void limits__one_more_than_allowed__is_refused(void **state)
{
    (void)state;
    struct lb_test *t = lb_start();
    lb_make_clb(t);
    static const struct lb_row rows[] = {
        {"balancers", CREATE("x") IN_A TCP80, "TooManyLoadBalancers", NULL},
        {"listeners", LISTEN LISTENER("1", "TCP", "81", "30081"), CFG, "2 listeners"},
        {"policies", POLICY("p", "ProxyProtocolPolicyType", "ProxyProtocol", "true"),
         "TooManyPolicies", NULL},
        {"groups",
         ON("ApplySecurityGroupsToLoadBalancer", "clb") "&SecurityGroups.member.1={g}&"
                                                        "SecurityGroups.member.2={nodes}",
         CFG, "'1'"},
    };
    ec2_setting(t->e, "quotas.classic_load_balancers", 1);
    ec2_setting(t->e, "quotas.classic_listeners", 2);
    ec2_setting(t->e, "quotas.classic_policies", 1);
    ec2_setting(t->e, "quotas.groups_per_balancer", 1);
    lb_refused(t, AMZ_ELB, rows, ARRAY_LEN(rows));
    v1(t, LISTEN TCP80); /* not one more */
    lb_stop(t);
}

UNIT_MAIN(clb_refusals)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals__each_row__is_refused_and_nothing_changes),
        cmocka_unit_test(limits__one_more_than_allowed__is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
