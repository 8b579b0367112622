/* SPDX-License-Identifier: Apache-2.0 */
/* flow_kit.h: the whole provider, with AWS as a table on loopback and a host that records reports.
 *
 * The server answers by the first row whose text is in the request; a request reads "elbv2
 * DescribeLoadBalancers Names.member.1=web&…".  A row's body is what stands in the answer's result;
 * of a status other than 200 it is AWS' code and text ("InvalidTarget i-1 is not running").  What
 * no row says is answered with nothing, which lists as none.  Behind the test's rows there is a VPC
 * with a public subnet in each of two zones, the group "sg-nodes" and running instances in it.  The
 * clock stands still.  One kit per test (FLOW_TEST); it opens when it is first used, so that a test
 * may choose. */
#ifndef TRIMTAB_TESTS_AWS_FLOW_KIT_H
#define TRIMTAB_TESTS_AWS_FLOW_KIT_H

#include "providers/aws/aws_provider.h"
#include "providers/aws/cloud/aws_memory.h"
#include "tests/support/clock_mover.h"
#include "tests/unit/aws/aws_env_fake.h"
#include "tests/unit/aws/aws_test.h"

#include <stdatomic.h>

#define KIT_KEYS "AWS_ACCESS_KEY_ID=AKIDEXAMPLE\nAWS_SECRET_ACCESS_KEY=secret-of-the-tests\n"

struct flow_row {
    const char *asked; /* part of the request; NULL ends the table */
    int status;        /* 0: 200 */
    const char *body;
    int times; /* 0: always; else so often */
};
struct tt_result {
    int32_t code;
    int64_t retry_after_ms;
    int64_t again_ms;
    int32_t exists; /* -1: nothing was said */
    char message[1024];
    char ingress[256];  /* host name; "-" when it was taken away; "" when nothing was said */
    uint32_t own;       /* TT_OWN_… */
    unsigned serves;    /* how often that was said before the end, with `ingress` */
    char condition[64]; /* type of the last one */
    char dropped[64];   /* the last finalizer that was */
    char nobody[128];   /* "serves": clients are served; "" when nothing was said */
    char *text;         /* arena's */
};
struct flow_kit {
    struct arena *a;
    struct clock *clock;
    struct rng *rng;
    struct test_server *server;
    struct tt_host host;
    struct tt_call call;
    struct aws_provider *p;
    /* the test's choice, before the first sync */
    const char *config; /* lines of [Global] beside region, VPC, subnet and cluster */
    const char *whole;  /* the of [Global] instead */
    const char *env;
    const char *state; /* plan --state */
    bool repair_adopted;
    int32_t unwritten; /* the status cannot be written: this code */
    bool just_begun;   /* the provider's first call is the test's; else one came long ago */
    struct flow_row *rows;
    const struct tt_service *const *services; /* of the cluster */
    uint32_t n_services;
    const struct tt_service *previous; /* as last synced */
    bool puts_right;                   /* TT_ITEM_PUT_RIGHT */
    bool made;                         /* TT_ITEM_MADE */
    bool unproven;                     /* TT_ITEM_UNPROVEN */
    const char *nodes;                 /* names between blanks; node NAME is instance i-NAME */
    const char *cancels_after;         /* the call is cancelled when this was asked */
    atomic_bool cancelled;
    /* what came of it */
    struct tt_result r;
    struct mutex lock;
    struct str_buf asked;    /* a line per request */
    struct str_buf logged;   /* log lines, "W " before warnings */
    struct str_buf events;   /* "Reason: message", a line each */
    struct str_buf findings; /* of the plans, a line each */
    struct str_buf owned;
    char finding[1024];        /* report_finding */
    uint32_t changes;          /* of the last plan that was reported */
    unsigned held;             /* finalizers, how often */
    struct clock_mover *mover; /* NULL: the clock stands still */
};

int flow_kit_setup(void **state);
int flow_kit_teardown(void **state);
#define FLOW_TEST(fn) cmocka_unit_test_setup_teardown(fn, flow_kit_setup, flow_kit_teardown)

/* Opens the provider, if it is not open; its code. */
int32_t flow_kit_open(struct flow_kit *k);
/* From now on the clock continues when code waits for it. */
void flow_kit_lets_time_pass(struct flow_kit *k);
/* One call for one Service; the result is in k->r.  ENSURE and UPDATE of `svc`, or its DELETE. */
int32_t flow_kit_sync(struct flow_kit *k, uint32_t verb, uint32_t reasons,
                      const struct tt_service *svc);
int32_t flow_kit_plan(struct flow_kit *k, const struct tt_service *svc);
int32_t flow_kit_get(struct flow_kit *k, const struct tt_service *svc);
const char *flow_kit_explain(struct flow_kit *k, const struct tt_service *svc);
/* The requests since the last check, sorted, a line each. */
const char *flow_kit_asked(struct flow_kit *k);
/* How many of these requests have the text in them; does not forget them. */
size_t flow_kit_count(struct flow_kit *k, const char *text);
const char *flow_kit_events(struct flow_kit *k);
/* The findings of all plans since the last time, and why no client is served. */
const char *flow_kit_findings(struct flow_kit *k);

/* AWS' state, as bodies of answers. */
#define FLOW_ARN "arn:lb"
#define FLOW_NLB_STATE(state)                                                                      \
    "<LoadBalancers><member><LoadBalancerArn>" FLOW_ARN "</LoadBalancerArn>"                       \
    "<LoadBalancerName>" NAME "</LoadBalancerName><DNSName>nlb.example</DNSName>"                  \
    "<Type>network</Type><Scheme>internet-facing</Scheme><VpcId>vpc-1</VpcId>"                     \
    "<State><Code>" state "</Code></State><AvailabilityZones>"                                     \
    "<member><SubnetId>subnet-1</SubnetId><ZoneName>us-east-1a</ZoneName></member>"                \
    "<member><SubnetId>subnet-2</SubnetId><ZoneName>us-east-1b</ZoneName></member>"                \
    "</AvailabilityZones></member></LoadBalancers>"
#define FLOW_NLB FLOW_NLB_STATE("active")
/* Of one TCP port 80 to node port 30080, with instance i-n1. */
#define FLOW_CLASSIC                                                                               \
    "<LoadBalancerDescriptions><member><LoadBalancerName>" NAME "</LoadBalancerName>"              \
    "<DNSName>classic.example</DNSName><Scheme>internet-facing</Scheme><VPCId>vpc-1</VPCId>"       \
    "<Subnets><member>subnet-1</member><member>subnet-2</member></Subnets><AvailabilityZones>"     \
    "<member>us-east-1a</member><member>us-east-1b</member></AvailabilityZones>"                   \
    "<SecurityGroups><member>sg-own</member></SecurityGroups>"                                     \
    "<Instances><member><InstanceId>i-n1</InstanceId></member></Instances>"                        \
    "<ListenerDescriptions><member><Listener><Protocol>TCP</Protocol>"                             \
    "<InstanceProtocol>TCP</InstanceProtocol><LoadBalancerPort>80</LoadBalancerPort>"              \
    "<InstancePort>30080</InstancePort></Listener></member></ListenerDescriptions>"                \
    "<HealthCheck><Target>TCP:30080</Target><Interval>10</Interval><Timeout>5</Timeout>"           \
    "<UnhealthyThreshold>6</UnhealthyThreshold><HealthyThreshold>2</HealthyThreshold>"             \
    "</HealthCheck></member></LoadBalancerDescriptions>"
/* An instance of the cluster in a zone, of DescribeInstances. */
#define FLOW_INSTANCE(id, state, zone)                                                             \
    "<item><instanceId>" id "</instanceId><instanceState><name>" state                             \
    "</name></instanceState><vpcId>vpc-1</vpcId><placement><availabilityZone>us-east-1" zone       \
    "</availabilityZone></placement><tagSet>" FLOW_OURS "</tagSet>"                                \
    "<groupSet><item><groupId>sg-nodes</groupId><groupName>nodes</groupName></item></groupSet>"    \
    "</item>"
#define FLOW_INSTANCES(items)                                                                      \
    "<reservationSet><item><instancesSet>" items "</instancesSet></item></reservationSet>"
#define FLOW_CLASSIC_ATTRIBUTES                                                                    \
    "<LoadBalancerAttributes><AccessLog><Enabled>false</Enabled></AccessLog>"                      \
    "<ConnectionDraining><Enabled>false</Enabled></ConnectionDraining>"                            \
    "<ConnectionSettings><IdleTimeout>60</IdleTimeout></ConnectionSettings>"                       \
    "<CrossZoneLoadBalancing><Enabled>false</Enabled></CrossZoneLoadBalancing>"                    \
    "</LoadBalancerAttributes>"
#define FLOW_TAG(key, value) "<item><key>" key "</key><value>" value "</value></item>"
#define FLOW_OURS            FLOW_TAG("kubernetes.io/cluster/c1", "owned")
/* A security group; `rules` are items of ipPermissions. */
#define FLOW_GROUP(id, name, tags, rules)                                                          \
    "<item><groupId>" id "</groupId><groupName>" name "</groupName><vpcId>vpc-1</vpcId>"           \
    "<groupDescription>x</groupDescription><tagSet>" tags "</tagSet>"                              \
    "<ipPermissions>" rules "</ipPermissions></item>"
#define FLOW_GROUPS(items) "<securityGroupInfo>" items "</securityGroupInfo>"
#define FLOW_RULE(protocol, port, cidr, description)                                               \
    "<item><ipProtocol>" protocol "</ipProtocol><fromPort>" port "</fromPort><toPort>" port        \
    "</toPort><ipRanges><item><cidrIp>" cidr "</cidrIp><description>" description                  \
    "</description></item></ipRanges></item>"
#define FLOW_PAIR(group)                                                                           \
    "<item><ipProtocol>-1</ipProtocol><groups><item><groupId>" group                               \
    "</groupId></item></groups></item>"
#define FLOW_NODES_GROUP(rules) FLOW_GROUP("sg-nodes", "nodes", FLOW_OURS, rules)
/* The balancer's own group of the classic Service, and nodes that let it in. */
#define FLOW_CLASSIC_GROUPS                                                                        \
    FLOW_GROUPS(FLOW_NODES_GROUP(FLOW_PAIR("sg-own")) FLOW_GROUP(                                  \
        "sg-own", "k8s-elb-" NAME, FLOW_OURS,                                                      \
        FLOW_RULE("tcp", "80", "0.0.0.0/0",                                                        \
                  "") "<item><ipProtocol>icmp</ipProtocol><fromPort>3</fromPort>"                  \
                      "<toPort>4</toPort><ipRanges><item><cidrIp>0.0.0.0/0</cidrIp>"               \
                      "</item></ipRanges></item>"))

/* Everything as it should be: rows that end the table. */
#define FLOW_TARGET_GROUP(balancer)                                                                \
    "<TargetGroups><member><TargetGroupArn>arn:tg</TargetGroupArn>"                                \
    "<TargetGroupName>k8s-default-web-0123456789</TargetGroupName><Protocol>TCP</Protocol>"        \
    "<Port>30080</Port><VpcId>vpc-1</VpcId><HealthCheckProtocol>TCP</HealthCheckProtocol>"         \
    "<HealthCheckPort>traffic-port</HealthCheckPort>"                                              \
    "<HealthCheckIntervalSeconds>30</HealthCheckIntervalSeconds>"                                  \
    "<HealthyThresholdCount>3</HealthyThresholdCount>"                                             \
    "<UnhealthyThresholdCount>3</UnhealthyThresholdCount>"                                         \
    "<LoadBalancerArns>" balancer "</LoadBalancerArns></member></TargetGroups>"
#define FLOW_NODE_RULES                                                                            \
    FLOW_GROUPS(FLOW_NODES_GROUP(                                                                  \
        FLOW_RULE("tcp", "30080", "0.0.0.0/0",                                                     \
                  "kubernetes.io/rule/nlb/client=" NAME) "<item><ipProtocol>icmp</"                \
                                                         "ipProtocol><fromPort>3</fromPort>"       \
                                                         "<toPort>4</toPort><ipRanges><item>"      \
                                                         "<cidrIp>0.0.0.0/0</cidrIp>"              \
                                                         "<description>kubernetes.io/rule/nlb/"    \
                                                         "mtu</description>"                       \
                                                         "</item></ipRanges></item>"))
#define FLOW_NLB_IS_FINE                                                                           \
    {"elbv2 DescribeLoadBalancers", 0, FLOW_NLB, 0},                                               \
        {"DescribeTargetGroups", 0, FLOW_TARGET_GROUP("<member>" FLOW_ARN "</member>"), 0},        \
        {"DescribeListeners", 0,                                                                   \
         "<Listeners><member><ListenerArn>arn:l</ListenerArn><LoadBalancerArn>" FLOW_ARN           \
         "</LoadBalancerArn><Port>80</Port><Protocol>TCP</Protocol><DefaultActions><member>"       \
         "<Type>forward</Type><TargetGroupArn>arn:tg</TargetGroupArn></member></DefaultActions>"   \
         "</member></Listeners>",                                                                  \
         0},                                                                                       \
        {"elbv2 DescribeLoadBalancerAttributes", 0,                                                \
         "<Attributes><member><Key>load_balancing.cross_zone.enabled</Key><Value>false</Value>"    \
         "</member><member><Key>access_logs.s3.enabled</Key><Value>false</Value></member>"         \
         "</Attributes>",                                                                          \
         0},                                                                                       \
        {"DescribeTargetHealth", 0,                                                                \
         "<TargetHealthDescriptions><member><Target><Id>i-n1</Id><Port>30080</Port></Target>"      \
         "<TargetHealth><State>healthy</State></TargetHealth></member></"                          \
         "TargetHealthDescriptions>",                                                              \
         0},                                                                                       \
        {"tag-key", 0, FLOW_NODE_RULES, 0},                                                        \
    {                                                                                              \
        NULL, 0, NULL, 0                                                                           \
    }
#define FLOW_CLASSIC_IS_FINE                                                                       \
    {"elb DescribeLoadBalancers", 0, FLOW_CLASSIC, 0},                                             \
        {"elb DescribeLoadBalancerAttributes", 0, FLOW_CLASSIC_ATTRIBUTES, 0},                     \
        {"tag-key", 0, FLOW_CLASSIC_GROUPS, 0},                                                    \
    {                                                                                              \
        NULL, 0, NULL, 0                                                                           \
    }

#endif
