/* SPDX-License-Identifier: Apache-2.0 */
/* nlb_refusals.c: what Elastic Load Balancing v2 of the simulated AWS refuses, with which code.
 *
 * One table: each row is a request that must change nothing, on the world of lb_make_nlb().
 * Source: docs/spec/aws.md §3.3, §5, §10.4. */
#include "tests/support/unit.h"
#include "tests/unit/sim/lb/lb_fixture.h"

#include <string.h>

#define NO_LB                                                                                      \
    "arn:aws:elasticloadbalancing:us-east-1:" AMZ_ACCOUNT ":loadbalancer/net/x/0000000000000000"
#define NO_TG                                                                                      \
    "arn:aws:elasticloadbalancing:us-east-1:" AMZ_ACCOUNT ":targetgroup/x/0000000000000000"
#define NO_L                                                                                       \
    "arn:aws:elasticloadbalancing:us-east-1:" AMZ_ACCOUNT                                          \
    ":listener/net/x/0000000000000000/0000000000000000"
#define CREATE(name)  "Action=CreateLoadBalancer&Type=network&Name=" name
#define IN_A          "&Subnets.member.1={a}"
#define MAP(n, id)    "&SubnetMappings.member." n ".SubnetId=" id
#define MORE(n, more) "&SubnetMappings.member." n "." more
#define LISTEN(port, protocol)                                                                     \
    "Action=CreateListener&LoadBalancerArn={nlb}&Port=" port "&Protocol=" protocol
#define TO(tg)   "&DefaultActions.member.1.Type=forward&DefaultActions.member.1.TargetGroupArn=" tg
#define MODIFY   "Action=ModifyListener&ListenerArn={l}"
#define HEALTH   "Action=ModifyTargetGroup&TargetGroupArn={tg}&"
#define REGISTER "Action=RegisterTargets&TargetGroupArn={tg}&Targets.member.1.Id="
#define LB_ATTRIBUTE(key, value)                                                                   \
    "Action=ModifyLoadBalancerAttributes&LoadBalancerArn={nlb}&Attributes.member.1.Key=" key       \
    "&Attributes.member.1.Value=" value
#define TG_ATTRIBUTE(tg, key, value)                                                               \
    "Action=ModifyTargetGroupAttributes&TargetGroupArn=" tg "&Attributes.member.1.Key=" key        \
    "&Attributes.member.1.Value=" value
#define TAG(arn) "Action=AddTags&ResourceArns.member.1=" arn "&Tags.member.1.Key="
#define CFG      "InvalidConfigurationRequest"
#define VALUE    "ValidationError"

static const struct lb_row balancers[] = {
    {"name too long", CREATE("abcdefghijklmnopqrstuvwxyz1234567") IN_A, VALUE, "32"},
    {"name with a dot", CREATE("a.b") IN_A, VALUE, "alphanumeric"},
    {"name begins with a hyphen", CREATE("-a") IN_A, VALUE, "hyphen"},
    {"name ends with a hyphen", CREATE("a-") IN_A, VALUE, "hyphen"},
    {"reserved name", CREATE("internal-a") IN_A, VALUE, "internal-"},
    {"empty name", CREATE("") IN_A, VALUE, NULL},
    {"no name", "Action=CreateLoadBalancer&Type=network" IN_A, "flaw", NULL},
    {"unknown parameter", CREATE("x") IN_A "&Colour=red", "flaw", NULL},
    {"unknown scheme", CREATE("x") IN_A "&Scheme=public", "flaw", NULL},
    {"application balancer", "Action=CreateLoadBalancer&Name=x" IN_A, CFG, "application"},
    {"name of an application balancer", CREATE("alb") IN_A, "DuplicateLoadBalancerName", "alb"},
    {"same name, other scheme", CREATE("bare") IN_A, "DuplicateLoadBalancerName", "bare"},
    {"same name, other subnets", CREATE("bare") "&Scheme=internal&Subnets.member.1={b}",
     "DuplicateLoadBalancerName", NULL},
    {"same name, with groups",
     CREATE("bare") "&Scheme=internal" IN_A "&SecurityGroups.member.1={g}",
     "DuplicateLoadBalancerName", NULL},
    {"same name, other tags",
     CREATE("bare") "&Scheme=internal" IN_A "&Tags.member.1.Key=k&Tags.member.1.Value=v",
     "DuplicateLoadBalancerName", NULL},
    {"no subnets", CREATE("x"), VALUE, "subnet"},
    {"subnets and mappings", CREATE("x") IN_A MAP("1", "{b}"), VALUE, "either"},
    {"mapping without subnet", CREATE("x") MORE("1", "AllocationId={ip1}"), VALUE, NULL},
    {"unknown subnet", CREATE("x") "&Subnets.member.1=" ABSENT("subnet-"), "SubnetNotFound",
     "subnet-0"},
    {"one zone twice", CREATE("x") IN_A "&Subnets.member.2={a2}", CFG, "same Availability Zone"},
    {"one subnet twice", CREATE("x") IN_A "&Subnets.member.2={a}", CFG, NULL},
    {"two VPCs", CREATE("x") IN_A "&Subnets.member.2={o}", CFG, "same VPC"},
    {"no gateway", CREATE("x") "&Subnets.member.1={o}", "InvalidSubnet", "internet gateway"},
    {"no room", CREATE("x") "&Scheme=internal&Subnets.member.1={tiny}", "InvalidSubnet", "8 free"},
    {"no IPv6 there", CREATE("x") IN_A "&IpAddressType=dualstack", "InvalidSubnet", "IPv6"},
    {"address type of application balancers",
     CREATE("x") IN_A "&IpAddressType=dualstack-without-public-ipv4", CFG, NULL},
    {"pool of an outpost", CREATE("x") IN_A "&CustomerOwnedIpv4Pool=ipv4pool-coip-1", CFG, NULL},
    {"address pool", CREATE("x") IN_A "&IpamPools.Ipv4IpamPoolId=ipam-pool-1", CFG, NULL},
    {"source NAT", CREATE("x") IN_A "&EnablePrefixForIpv6SourceNat=on", CFG, NULL},
    {"unknown elastic IP", CREATE("x") MAP("1", "{a}") MORE("1", "AllocationId=eipalloc-0"),
     "AllocationIdNotFound", NULL},
    {"elastic IP of an internal balancer",
     CREATE("x") "&Scheme=internal" MAP("1", "{a}") MORE("1", "AllocationId={ip1}"), CFG,
     "internal"},
    {"elastic IP in use", CREATE("x") MAP("1", "{a}") MORE("1", "AllocationId={ip2}"),
     "ResourceInUse", NULL},
    {"one elastic IP twice",
     CREATE("x") MAP("1", "{a}") MORE("1", "AllocationId={ip1}") MAP("2", "{b}")
         MORE("2", "AllocationId={ip1}"),
     CFG, "more than once"},
    {"elastic IP for one of two",
     CREATE("x") MAP("1", "{a}") MORE("1", "AllocationId={ip1}") MAP("2", "{b}"), CFG, "every"},
    {"private address of an internet-facing balancer",
     CREATE("x") MAP("1", "{a}") MORE("1", "PrivateIPv4Address=10.0.0.77"), CFG, "internet-facing"},
    {"private address elsewhere",
     CREATE("x") "&Scheme=internal" MAP("1", "{a}") MORE("1", "PrivateIPv4Address=10.0.1.7"), CFG,
     "range"},
    {"private address that is none",
     CREATE("x") "&Scheme=internal" MAP("1", "{a}") MORE("1", "PrivateIPv4Address=10.0.0"), CFG,
     NULL},
    {"reserved private address",
     CREATE("x") "&Scheme=internal" MAP("1", "{a}") MORE("1", "PrivateIPv4Address=10.0.0.1"), CFG,
     "not available"},
    {"elastic and private address",
     CREATE("x") MAP("1", "{a}") MORE("1", "AllocationId={ip1}")
         MORE("1", "PrivateIPv4Address=10.0.0.77"),
     CFG, NULL},
    {"IPv6 address of an IPv4 balancer",
     CREATE("x") MAP("1", "{a}") MORE("1", "IPv6Address=fd00::1"), CFG, "fd00::1"},
    {"unknown group", CREATE("x") IN_A "&SecurityGroups.member.1=" ABSENT("sg-"),
     "InvalidSecurityGroup", "sg-0"},
    {"group of another VPC", CREATE("x") IN_A "&SecurityGroups.member.1={other}",
     "InvalidSecurityGroup", NULL},
    {"tag twice", CREATE("x") IN_A "&Tags.member.1.Key=k&Tags.member.2.Key=k", "DuplicateTagKeys",
     NULL},
    {"reserved tag", CREATE("x") IN_A "&Tags.member.1.Key=aws:x", VALUE, "aws:"},
    /* reading, deleting */
    {"unknown name", "Action=DescribeLoadBalancers&Names.member.1=x", "LoadBalancerNotFound",
     "[x]"},
    {"one of two names unknown", "Action=DescribeLoadBalancers&Names.member.1=nlb&Names.member.2=x",
     "LoadBalancerNotFound", NULL},
    {"unknown ARN", "Action=DescribeLoadBalancers&LoadBalancerArns.member.1=" NO_LB,
     "LoadBalancerNotFound", NULL},
    {"no ARN", "Action=DescribeLoadBalancers&LoadBalancerArns.member.1=nlb", VALUE, "valid"},
    {"names and ARNs",
     "Action=DescribeLoadBalancers&Names.member.1=nlb&LoadBalancerArns.member.1={nlb}", VALUE,
     NULL},
    {"page too large", "Action=DescribeLoadBalancers&PageSize=401", "flaw", NULL},
    {"unknown marker", "Action=DescribeLoadBalancers&Marker=x", VALUE, NULL},
    {"deleting what is no ARN", "Action=DeleteLoadBalancer&LoadBalancerArn=nlb", VALUE, NULL},
    {"deleting a target group", "Action=DeleteLoadBalancer&LoadBalancerArn={tg}", VALUE, NULL},
    {"deletion protection", "Action=DeleteLoadBalancer&LoadBalancerArn={safe}",
     "OperationNotPermitted", "deletion protection"},
    /* subnets, groups */
    {"groups of a balancer without",
     "Action=SetSecurityGroups&LoadBalancerArn={bare}&SecurityGroups.member.1={g}", CFG,
     "created without any security groups"},
    {"no groups", "Action=SetSecurityGroups&LoadBalancerArn={nlb}&SecurityGroups=", CFG, NULL},
    {"unknown new group",
     "Action=SetSecurityGroups&LoadBalancerArn={nlb}&SecurityGroups.member.1=" ABSENT("sg-"),
     "InvalidSecurityGroup", NULL},
    {"groups of nobody",
     "Action=SetSecurityGroups&LoadBalancerArn=" NO_LB "&SecurityGroups.member.1={g}",
     "LoadBalancerNotFound", NULL},
    {"groups of an application balancer",
     "Action=SetSecurityGroups&LoadBalancerArn={alb}&SecurityGroups.member.1={g}", CFG,
     "application"},
    {"other subnet of a zone",
     "Action=SetSubnets&LoadBalancerArn={nlb}&Subnets.member.1={a2}&Subnets.member.2={b}", CFG,
     "us-east-1a"},
    {"no subnets left", "Action=SetSubnets&LoadBalancerArn={nlb}", VALUE, NULL},
    {"subnet of another VPC", "Action=SetSubnets&LoadBalancerArn={nlb}&Subnets.member.1={o}", CFG,
     "VPC"},
    {"other address of a zone",
     "Action=SetSubnets&LoadBalancerArn={nlb}" MAP("1", "{a}") MORE("1", "AllocationId={ip1}"), CFG,
     NULL},
    {"dualstack without IPv6",
     "Action=SetIpAddressType&LoadBalancerArn={nlb}&IpAddressType=dualstack", "InvalidSubnet",
     NULL},
    {"address type of application balancers, later",
     "Action=SetIpAddressType&LoadBalancerArn={nlb}&IpAddressType=dualstack-without-public-ipv4",
     CFG, NULL},
    {"address type of nobody",
     "Action=SetIpAddressType&LoadBalancerArn=" NO_LB "&IpAddressType=ipv4", "LoadBalancerNotFound",
     NULL},
};

static const struct lb_row listeners[] = {
    {"no balancer",
     "Action=CreateListener&LoadBalancerArn=" NO_LB "&Port=81&Protocol=TCP" TO("{tg}"),
     "LoadBalancerNotFound", NULL},
    {"listener of an application balancer",
     "Action=CreateListener&LoadBalancerArn={alb}&Port=81&Protocol=TCP" TO("{tg}"), CFG,
     "application"},
    {"no port", "Action=CreateListener&LoadBalancerArn={nlb}&Protocol=TCP" TO("{tg}"), VALUE,
     "port"},
    {"no protocol", "Action=CreateListener&LoadBalancerArn={nlb}&Port=81" TO("{tg}"), VALUE,
     "protocol"},
    {"port 0", LISTEN("0", "TCP") TO("{tg}"), "flaw", NULL},
    {"HTTP", LISTEN("81", "HTTP") TO("{tg}"), VALUE, "must be one of 'TLS, TCP, TCP_UDP, UDP'"},
    {"no action", "Action=CreateListener&LoadBalancerArn={nlb}&Port=81&Protocol=TCP", "flaw", NULL},
    {"empty list of actions", LISTEN("81", "TCP") "&DefaultActions=", VALUE, "action"},
    {"two actions",
     LISTEN("81", "TCP") TO("{tg}") "&DefaultActions.member.2.Type=forward"
                                    "&DefaultActions.member.2.TargetGroupArn={tg}",
     "TooManyActions", NULL},
    {"redirect", LISTEN("81", "TCP") "&DefaultActions.member.1.Type=redirect",
     "InvalidLoadBalancerAction", "redirect"},
    {"forward to nothing", LISTEN("81", "TCP") "&DefaultActions.member.1.Type=forward", VALUE,
     "target group"},
    {"two ways of one action",
     LISTEN("81", "TCP") TO("{tg}") "&DefaultActions.member.1.ForwardConfig.TargetGroups.member.1."
                                    "TargetGroupArn={free}",
     VALUE, NULL},
    {"weight",
     LISTEN("81", "TCP") "&DefaultActions.member.1.Type=forward"
                         "&DefaultActions.member.1.ForwardConfig.TargetGroups.member.1."
                         "TargetGroupArn={tg}"
                         "&DefaultActions.member.1.ForwardConfig.TargetGroups.member.1."
                         "Weight=1000",
     VALUE, "weight"},
    {"unknown target group", LISTEN("81", "TCP") TO(NO_TG), "TargetGroupNotFound", NULL},
    {"no target group ARN", LISTEN("81", "TCP") TO("tg"), VALUE, NULL},
    {"TCP to UDP", LISTEN("81", "TCP") TO("{udp}"), "IncompatibleProtocols", "incompatible"},
    {"UDP to TCP", LISTEN("81", "UDP") TO("{tg}"), "IncompatibleProtocols", NULL},
    {"TCP to TLS", LISTEN("81", "TCP") TO("{tls}"), "IncompatibleProtocols", NULL},
    {"both to TCP", LISTEN("81", "TCP_UDP") TO("{tg}"), "IncompatibleProtocols", NULL},
    {"TCP to HTTP", LISTEN("81", "TCP") TO("{http}"), "IncompatibleProtocols", NULL},
    {"other VPC", LISTEN("81", "TCP") TO("{far}"), CFG, "VPC"},
    {"group of another balancer",
     "Action=CreateListener&LoadBalancerArn={bare}&Port=81&Protocol=TCP" TO("{tg}"),
     "TargetGroupAssociationLimit", NULL},
    {"port taken, other group", LISTEN("80", "TCP") TO("{free}"), "DuplicateListener",
     "already exists on this port"},
    {"port taken, other protocol", LISTEN("80", "UDP") TO("{udp}"), "DuplicateListener", NULL},
    {"port taken, other tags", LISTEN("80", "TCP") TO("{tg}") "&Tags.member.1.Key=k",
     "DuplicateListener", NULL},
    {"tag twice", LISTEN("81", "TCP") TO("{free}") "&Tags.member.1.Key=k&Tags.member.2.Key=k",
     VALUE, "Duplicate tag key"},
    {"TLS without certificate", LISTEN("81", "TLS") TO("{tg}"), VALUE, "certificate"},
    {"two certificates",
     LISTEN("81", "TLS") TO("{tg}") "&Certificates.member.1.CertificateArn=" CERT
                                    "&Certificates.member.2.CertificateArn=" CERT,
     "TooManyCertificates", NULL},
    {"certificate with isDefault",
     LISTEN("81", "TLS") TO("{tg}") "&Certificates.member.1.CertificateArn=" CERT
                                    "&Certificates.member.1.IsDefault=true",
     VALUE, "isDefault"},
    {"certificate that is none",
     LISTEN("81", "TLS") TO("{tg}") "&Certificates.member.1.CertificateArn=one", VALUE, "one"},
    {"missing certificate",
     LISTEN("81", "TLS") TO("{tg}") "&Certificates.member.1.CertificateArn=" CERT "missing",
     "CertificateNotFound", NULL},
    {"certificate of another account",
     LISTEN("81", "TLS")
         TO("{tg}") "&Certificates.member.1.CertificateArn=arn:aws:acm:us-east-1:210987654321:"
                    "certificate/one",
     "CertificateNotFound", NULL},
    {"two certificates as one text",
     LISTEN("81", "TLS") TO("{tg}") "&Certificates.member.1.CertificateArn=" CERT ",missing",
     "CertificateNotFound", NULL},
    {"unknown policy",
     LISTEN("81", "TLS") TO("{tg}") "&Certificates.member.1.CertificateArn=" CERT
                                    "&SslPolicy=ELBSecurityPolicy-X",
     "SSLPolicyNotFound", "ELBSecurityPolicy-X"},
    {"unknown ALPN policy",
     LISTEN("81", "TLS") TO("{tg}") "&Certificates.member.1.CertificateArn=" CERT
                                    "&AlpnPolicy.member.1=HTTP3",
     "ALPNPolicyNotFound", "HTTP3"},
    {"policy of a TCP listener",
     LISTEN("81", "TCP") TO("{tg}") "&SslPolicy=ELBSecurityPolicy-2016-08", VALUE, "SslPolicy"},
    {"certificate of a TCP listener",
     LISTEN("81", "TCP") TO("{tg}") "&Certificates.member.1.CertificateArn=" CERT, VALUE,
     "Certificates"},
    {"mutual authentication", LISTEN("81", "TCP") TO("{tg}") "&MutualAuthentication.Mode=off", CFG,
     NULL},
    /* changing */
    {"changing nobody", "Action=ModifyListener&ListenerArn=" NO_L, "ListenerNotFound", NULL},
    {"changing what is no ARN", "Action=ModifyListener&ListenerArn=l", VALUE, NULL},
    {"to a port in use", MODIFY "&Port=53", VALUE, "'53' is already in use"},
    {"to an unfit group", MODIFY TO("{udp}"), "IncompatibleProtocols", NULL},
    {"to an unknown group", MODIFY TO(NO_TG), "TargetGroupNotFound", NULL},
    {"to TLS without certificate", MODIFY "&Protocol=TLS", VALUE, "certificate"},
    {"to HTTP", MODIFY "&Protocol=HTTP", VALUE, NULL},
    {"to UDP with its TCP group", MODIFY "&Protocol=UDP", "IncompatibleProtocols", NULL},
    {"to an absent certificate",
     MODIFY "&Protocol=TLS&Certificates.member.1.CertificateArn=" CERT "missing",
     "CertificateNotFound", NULL},
    {"deleting nobody", "Action=DeleteListener&ListenerArn=" NO_L, "ListenerNotFound", NULL},
    {"describing nobody", "Action=DescribeListeners&ListenerArns.member.1=" NO_L,
     "ListenerNotFound", NULL},
    {"describing all", "Action=DescribeListeners", VALUE, "either"},
    {"describing both ways",
     "Action=DescribeListeners&LoadBalancerArn={nlb}&ListenerArns.member.1={l}", VALUE, NULL},
    {"listeners of nobody", "Action=DescribeListeners&LoadBalancerArn=" NO_LB,
     "LoadBalancerNotFound", NULL},
};

static const struct lb_row groups[] = {
    {"no protocol", "Action=CreateTargetGroup&Name=x&Port=80&VpcId={vpc}", VALUE, "protocol"},
    {"tag twice",
     "Action=CreateTargetGroup&Name=x&Protocol=TCP&Port=80&VpcId={vpc}&Tags.member.1.Key=k&"
     "Tags.member.2.Key=k",
     VALUE, "Duplicate tag key"},
    {"no port", "Action=CreateTargetGroup&Name=x&Protocol=TCP&VpcId={vpc}", VALUE, "port"},
    {"no VPC", "Action=CreateTargetGroup&Name=x&Protocol=TCP&Port=80", VALUE, "VPC"},
    {"unknown VPC", "Action=CreateTargetGroup&Name=x&Protocol=TCP&Port=80&VpcId=" ABSENT("vpc-"),
     VALUE, "vpc-0"},
    {"name too long", TG "&Name=abcdefghijklmnopqrstuvwxyz1234567", VALUE, "32"},
    {"bad name", TG "&Name=a_b", VALUE, NULL},
    {"port 0", "Action=CreateTargetGroup&Name=x&Protocol=TCP&Port=0&VpcId={vpc}", "flaw", NULL},
    {"unknown protocol", "Action=CreateTargetGroup&Name=x&Protocol=SCTP&Port=1&VpcId={vpc}", "flaw",
     NULL},
    {"gateway protocol", "Action=CreateTargetGroup&Name=x&Protocol=GENEVE&Port=6081&VpcId={vpc}",
     CFG, "GENEVE"},
    {"function", TG "&Name=x&TargetType=lambda", CFG, "lambda"},
    {"protocol version", TG "&Name=x&ProtocolVersion=HTTP2", VALUE, "protocol version"},
    {"control port", TG "&Name=x&TargetControlPort=1", VALUE, NULL},
    {"same name, other port",
     "Action=CreateTargetGroup&Name=tg&Protocol=TCP&Port=30081&VpcId={vpc}",
     "DuplicateTargetGroupName", "tg"},
    {"same name, other health check", TG "&Name=tg&HealthCheckIntervalSeconds=10",
     "DuplicateTargetGroupName", NULL},
    {"same name, other tags", TG "&Name=tg", "DuplicateTargetGroupName", NULL},
    {"interval too short", TG "&Name=x&HealthCheckIntervalSeconds=4", "flaw", NULL},
    {"threshold too high", TG "&Name=x&HealthyThresholdCount=11", "flaw", NULL},
    {"interval below the default timeout", TG "&Name=x&HealthCheckIntervalSeconds=5", VALUE,
     "timeout '10' must be smaller than or equal to the interval '5'"},
    {"timeout above the interval",
     TG "&Name=x&HealthCheckIntervalSeconds=10&HealthCheckTimeoutSeconds=11", VALUE, "'11'"},
    {"timeout of an HTTP group as long as the interval",
     "Action=CreateTargetGroup&Name=x&Protocol=HTTP&Port=80&VpcId={vpc}&"
     "HealthCheckIntervalSeconds=10&HealthCheckTimeoutSeconds=10",
     VALUE, "smaller than the interval"},
    {"health check over UDP", TG "&Name=x&HealthCheckProtocol=UDP", VALUE, "HTTP, HTTPS, TCP"},
    {"health check of an HTTP group over TCP",
     "Action=CreateTargetGroup&Name=x&Protocol=HTTP&Port=80&VpcId={vpc}&HealthCheckProtocol=TCP",
     VALUE, "HTTP, HTTPS"},
    {"path of a TCP check", TG "&Name=x&HealthCheckPath=/", CFG, "path"},
    {"codes of a TCP check", TG "&Name=x&Matcher.HttpCode=200", CFG, "matcher"},
    {"path without slash", TG "&Name=x&HealthCheckProtocol=HTTP&HealthCheckPath=healthz", VALUE,
     "'/'"},
    {"codes out of range", TG "&Name=x&HealthCheckProtocol=HTTP&Matcher.HttpCode=200-600", VALUE,
     "200-600"},
    {"codes that are none", TG "&Name=x&HealthCheckProtocol=HTTP&Matcher.HttpCode=ok", VALUE, NULL},
    {"gRPC codes", TG "&Name=x&HealthCheckProtocol=HTTP&Matcher.GrpcCode=0", CFG, "gRPC"},
    {"port of the check", TG "&Name=x&HealthCheckPort=http", VALUE, "traffic-port"},
    {"port of the check too high", TG "&Name=x&HealthCheckPort=65536", VALUE, NULL},
    {"no check", TG "&Name=x&HealthCheckEnabled=false", CFG, "enabled"},
    /* changing, deleting, reading */
    {"change: path of a TCP check", HEALTH "HealthCheckPath=/x", CFG, NULL},
    {"change: interval", HEALTH "HealthCheckIntervalSeconds=9", VALUE, "'10'"},
    {"change: port", HEALTH "HealthCheckPort=0", VALUE, NULL},
    {"change: nobody", "Action=ModifyTargetGroup&TargetGroupArn=" NO_TG, "TargetGroupNotFound",
     NULL},
    {"in use", "Action=DeleteTargetGroup&TargetGroupArn={tg}", "ResourceInUse", "in use"},
    {"deleting what is no ARN", "Action=DeleteTargetGroup&TargetGroupArn=tg", VALUE, NULL},
    {"unknown name", "Action=DescribeTargetGroups&Names.member.1=x", "TargetGroupNotFound", NULL},
    {"unknown ARN", "Action=DescribeTargetGroups&TargetGroupArns.member.1=" NO_TG,
     "TargetGroupNotFound", NULL},
    {"groups of nobody", "Action=DescribeTargetGroups&LoadBalancerArn=" NO_LB,
     "LoadBalancerNotFound", NULL},
    {"two ways", "Action=DescribeTargetGroups&LoadBalancerArn={nlb}&Names.member.1=tg", VALUE,
     NULL},
};

static const struct lb_row targets[] = {
    {"no targets", "Action=RegisterTargets&TargetGroupArn={tg}&Targets=", VALUE, NULL},
    {"group of nobody", "Action=RegisterTargets&TargetGroupArn=" NO_TG "&Targets.member.1.Id={i0}",
     "TargetGroupNotFound", NULL},
    {"malformed instance", REGISTER "node-0", VALUE, "node-0"},
    {"unknown instance", REGISTER ABSENT("i-"), "InvalidTarget", "i-0"},
    {"stopped instance", REGISTER "{stopped}", "InvalidTarget", "running state"},
    {"one of two stopped", REGISTER "{i1}&Targets.member.2.Id={stopped}", "InvalidTarget",
     "{stopped}"},
    {"ended instance", REGISTER "{ended}", "InvalidTarget", NULL},
    {"instance of another VPC", REGISTER "{stranger}", "InvalidTarget", "VPC"},
    {"port 0", REGISTER "{i1}&Targets.member.1.Port=0", "flaw", NULL},
    {"zone of an instance", REGISTER "{i1}&Targets.member.1.AvailabilityZone=us-east-1a", VALUE,
     "Availability Zone"},
    {"QUIC", REGISTER "{i1}&Targets.member.1.QuicServerId=0x1", VALUE, "QUIC"},
    {"instance in a group of addresses",
     "Action=RegisterTargets&TargetGroupArn={ips}&Targets.member.1.Id={i0}", VALUE, "address"},
    {"address outside the VPC",
     "Action=RegisterTargets&TargetGroupArn={ips}&Targets.member.1.Id=192.168.0.1", VALUE, "all"},
    {"deregister nothing", "Action=DeregisterTargets&TargetGroupArn={tg}&Targets=", VALUE, NULL},
    {"deregister from nobody",
     "Action=DeregisterTargets&TargetGroupArn=" NO_TG "&Targets.member.1.Id={i0}",
     "TargetGroupNotFound", NULL},
    {"health of nobody", "Action=DescribeTargetHealth&TargetGroupArn=" NO_TG, "TargetGroupNotFound",
     NULL},
};

static const struct lb_row attributes[] = {
    {"unknown key", LB_ATTRIBUTE("colour", "red"), VALUE, "colour"},
    {"key of application balancers", LB_ATTRIBUTE("idle_timeout.timeout_seconds", "60"), VALUE,
     NULL},
    {"no boolean", LB_ATTRIBUTE("load_balancing.cross_zone.enabled", "yes"), VALUE, "yes"},
    {"boolean in capitals", LB_ATTRIBUTE("deletion_protection.enabled", "True"), VALUE, NULL},
    {"unknown policy", LB_ATTRIBUTE("dns_record.client_routing_policy", "near"), VALUE, NULL},
    {"number too high", LB_ATTRIBUTE("secondary_ips.auto_assigned.per_subnet", "8"), VALUE, NULL},
    {"logs without bucket", LB_ATTRIBUTE("access_logs.s3.enabled", "true"), CFG, "bucket"},
    {"logs into an absent bucket",
     LB_ATTRIBUTE("access_logs.s3.enabled", "true") "&Attributes.member.2.Key="
                                                    "access_logs.s3.bucket"
                                                    "&Attributes.member.2.Value=missing",
     CFG, "missing"},
    {"logs into a closed bucket",
     LB_ATTRIBUTE("access_logs.s3.enabled", "true") "&Attributes.member.2.Key="
                                                    "access_logs.s3.bucket"
                                                    "&Attributes.member.2.Value=denied",
     CFG, "Access Denied"},
    {"key twice",
     LB_ATTRIBUTE("zonal_shift.config.enabled", "true") "&Attributes.member.2.Key="
                                                        "zonal_shift.config.enabled",
     VALUE, "more than once"},
    {"no key",
     "Action=ModifyLoadBalancerAttributes&LoadBalancerArn={nlb}&Attributes.member.1."
     "Value=true",
     VALUE, "key"},
    {"no attributes",
     "Action=ModifyLoadBalancerAttributes&LoadBalancerArn={nlb}&Attributes=", VALUE, NULL},
    {"attributes of nobody", "Action=DescribeLoadBalancerAttributes&LoadBalancerArn=" NO_LB,
     "LoadBalancerNotFound", NULL},
    {"attributes of an application balancer",
     "Action=ModifyLoadBalancerAttributes&LoadBalancerArn={alb}&Attributes.member.1.Key="
     "deletion_protection.enabled&Attributes.member.1.Value=true",
     CFG, "application"},
    {"unknown key of a group", TG_ATTRIBUTE("{tg}", "colour", "red"), VALUE, "colour"},
    {"key of HTTP groups", TG_ATTRIBUTE("{tg}", "slow_start.duration_seconds", "30"), CFG,
     "not supported"},
    {"stickiness type", TG_ATTRIBUTE("{tg}", "stickiness.type", "lb_cookie"), CFG,
     "Stickiness type 'lb_cookie'"},
    {"stickiness of TLS", TG_ATTRIBUTE("{tls}", "stickiness.enabled", "true"), CFG, "TLS"},
    {"delay too long", TG_ATTRIBUTE("{tg}", "deregistration_delay.timeout_seconds", "3601"), VALUE,
     NULL},
    {"client addresses of UDP", TG_ATTRIBUTE("{udp}", "preserve_client_ip.enabled", "false"), CFG,
     "UDP"},
    {"proxy protocol", TG_ATTRIBUTE("{tg}", "proxy_protocol_v2.enabled", "on"), VALUE, NULL},
    {"draining of unhealthy ones",
     TG_ATTRIBUTE("{tg}", "target_health_state.unhealthy.draining_interval_seconds", "10"), CFG,
     NULL},
    {"group of nobody", TG_ATTRIBUTE(NO_TG, "stickiness.enabled", "true"), "TargetGroupNotFound",
     NULL},
    {"idle timeout",
     "Action=ModifyListenerAttributes&ListenerArn={l}&Attributes.member.1.Key="
     "tcp.idle_timeout.seconds&Attributes.member.1.Value=59",
     VALUE, "59"},
    {"idle timeout of UDP",
     "Action=ModifyListenerAttributes&ListenerArn={l53}&Attributes.member.1.Key="
     "tcp.idle_timeout.seconds&Attributes.member.1.Value=60",
     CFG, "UDP"},
    {"listener of nobody", "Action=DescribeListenerAttributes&ListenerArn=" NO_L,
     "ListenerNotFound", NULL},
    /* tags */
    {"tags of nobody", TAG(NO_LB) "k", "LoadBalancerNotFound", NULL},
    {"tags of no group", TAG(NO_TG) "k", "TargetGroupNotFound", NULL},
    {"tags of no listener", TAG(NO_L) "k", "ListenerNotFound", NULL},
    {"tags of what is no ARN", TAG("nlb") "k", VALUE, NULL},
    {"reserved tag", TAG("{nlb}") "aws:k", VALUE, "aws:"},
    {"empty tag", TAG("{nlb}"), "flaw", NULL},
    {"tag twice", TAG("{nlb}") "a&Tags.member.2.Key=a", "DuplicateTagKeys", NULL},
    {"tags of two, one absent",
     "Action=AddTags&ResourceArns.member.1={nlb}&ResourceArns.member.2=" NO_LB
     "&Tags.member.1.Key=a",
     "LoadBalancerNotFound", NULL},
    {"describing tags of nothing", "Action=DescribeTags&ResourceArns=", VALUE, NULL},
    {"describing tags of nobody", "Action=DescribeTags&ResourceArns.member.1=" NO_TG,
     "TargetGroupNotFound", NULL},
    {"removing no tags", "Action=RemoveTags&ResourceArns.member.1={nlb}&TagKeys=", VALUE, NULL},
};

/* Resources for the rows beyond lb_make_nlb(): groups of all kinds, a UDP listener, a protected
 * balancer with {ip2}. */
static void make_more(struct lb_test *t)
{
    static const struct {
        const char *name, *request;
    } more[] = {
        {"free", TG "&Name=free"},
        {"udp", "Action=CreateTargetGroup&Name=udp&Protocol=UDP&Port=53&VpcId={vpc}"},
        {"tls", "Action=CreateTargetGroup&Name=tls&Protocol=TLS&Port=443&VpcId={vpc}"},
        {"http", "Action=CreateTargetGroup&Name=http&Protocol=HTTP&Port=80&VpcId={vpc}"},
        {"far", "Action=CreateTargetGroup&Name=far&Protocol=TCP&Port=80&VpcId={other_vpc}"},
        {"ips", TG "&Name=ips&TargetType=ip"},
    };
    for (size_t i = 0; i < ARRAY_LEN(more); i++) {
        v2(t, more[i].request);
        lb_keep(t, more[i].name, "TargetGroups.0.TargetGroupArn");
    }
    v2(t, LISTEN("53", "UDP") TO("{udp}"));
    lb_keep(t, "l53", "Listeners.0.ListenerArn");
    v2(t, CREATE("safe") MAP("1", "{a}") MORE("1", "AllocationId={ip2}"));
    lb_keep(t, "safe", "LoadBalancers.0.LoadBalancerArn");
    v2(t, "Action=ModifyLoadBalancerAttributes&LoadBalancerArn={safe}&Attributes.member.1.Key="
          "deletion_protection.enabled&Attributes.member.1.Value=true");
    lb_name(t, "ended", t->e->instance[1]);
    lb_name(t, "i1", t->e->instance[0]);
    assert_true(amz_ec2_set_instance_state(t->e->aws, t->e->instance[1], "terminated"));
}

static void refusals__each_row__is_refused_and_nothing_changes(void **state)
{
    (void)state;
    struct lb_test *t = lb_start();
    lb_make_nlb(t);
    make_more(t);
    lb_refused(t, AMZ_ELBV2, balancers, ARRAY_LEN(balancers));
    lb_refused(t, AMZ_ELBV2, listeners, ARRAY_LEN(listeners));
    lb_refused(t, AMZ_ELBV2, groups, ARRAY_LEN(groups));
    lb_refused(t, AMZ_ELBV2, targets, ARRAY_LEN(targets));
    lb_refused(t, AMZ_ELBV2, attributes, ARRAY_LEN(attributes));
    lb_stop(t);
}

/* "PREFIX1SUFFIX&PREFIX2SUFFIX…" */
static const char *many(struct lb_test *t, const char *request, const char *pattern, int n)
{
    for (int i = 1; i <= n; i++) {
        const char *number = arena_printf(t->e->a, "%d", i);
        request =
            arena_printf(t->e->a, "%s&%s", request, str_replace(t->e->a, pattern, "#", number));
    }
    return request;
}

static void limits__one_more_than_allowed__is_refused(void **state)
{
    (void)state;
    struct lb_test *t = lb_start();
    lb_make_nlb(t);
    static const struct lb_row rows[] = {
        {"balancers", CREATE("x") IN_A, "TooManyLoadBalancers", NULL},
        {"groups", TG "&Name=x", "TooManyTargetGroups", NULL},
        {"listeners", LISTEN("81", "TCP") TO("{tg}"), "TooManyListeners", NULL},
        {"targets of a group", REGISTER "{i1}", "TooManyTargets", "target group"},
        {"security groups",
         "Action=SetSecurityGroups&LoadBalancerArn={nlb}&SecurityGroups.member.1={g}&"
         "SecurityGroups.member.2={nodes}",
         CFG, "'1'"},
    };
    ec2_setting(t->e, "quotas.load_balancers", 3);
    ec2_setting(t->e, "quotas.target_groups", 1);
    ec2_setting(t->e, "quotas.listeners", 1);
    ec2_setting(t->e, "quotas.targets_per_group", 1);
    ec2_setting(t->e, "quotas.groups_per_balancer", 1);
    lb_refused(t, AMZ_ELBV2, rows, ARRAY_LEN(rows));
    v2(t, REGISTER "{i0}&Targets.member.1.Port=30080"); /* not one more */

    static const struct lb_row nlb[] = {
        {"targets of a balancer", REGISTER "{i1}", "TooManyTargets", "per load balancer"}};
    ec2_setting(t->e, "quotas.targets_per_group", 10);
    ec2_setting(t->e, "quotas.targets_per_nlb", 1);
    lb_refused(t, AMZ_ELBV2, nlb, ARRAY_LEN(nlb));

    struct lb_row named[] = {
        {"names", many(t, "Action=DescribeLoadBalancers", "Names.member.#=nlb", 21), VALUE, "20"},
        {"tags", many(t, "Action=AddTags&ResourceArns.member.1={nlb}", "Tags.member.#.Key=k#", 50),
         "TooManyTags", NULL},
    };
    lb_refused(t, AMZ_ELBV2, named, ARRAY_LEN(named));
    v2(t, many(t, "Action=AddTags&ResourceArns.member.1={nlb}", "Tags.member.#.Key=k#", 49));
    lb_stop(t);
}

UNIT_MAIN(nlb_refusals)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals__each_row__is_refused_and_nothing_changes),
        cmocka_unit_test(limits__one_more_than_allowed__is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
