/* SPDX-License-Identifier: Apache-2.0 */
/* test_shared.c: two Services, "web" and "other".  "web" points at a thing of "other" and goes, or
 * is edited: "other" keeps its group and its way to nodes, byte for byte. */
#include "tests/support/clock_fake.h"
#include "tests/support/unit.h"
#include "tests/unit/aws/flow_kit.h"

#define OTHER_UID  "22222222-2222-3333-4444-555555555555"
#define OTHER_NAME "a2222222222223333444455555555555"
#define OTHERS_OWN "sg-other"

/* Nodes let in the group, which "other" has for itself. */
#define OTHERS_GROUPS                                                                              \
    FLOW_GROUPS(FLOW_NODES_GROUP(FLOW_PAIR("sg-own") FLOW_PAIR(OTHERS_OWN))                        \
                    FLOW_GROUP(OTHERS_OWN, "k8s-elb-" OTHER_NAME, FLOW_OURS, "")                   \
                        FLOW_GROUP("sg-own", "k8s-elb-" NAME, FLOW_OURS, ""))
/* The same, by a person's group; whether another uses it only its balancer says. */
#define PERSONS_GROUPS                                                                             \
    FLOW_GROUPS(FLOW_NODES_GROUP(FLOW_PAIR(OTHERS_OWN))                                            \
                    FLOW_GROUP(OTHERS_OWN, "of-a-person", FLOW_OURS, ""))

#define BALANCER(name, group)                                                                      \
    "<member><LoadBalancerName>" name "</LoadBalancerName><DNSName>d.example</DNSName>"            \
    "<Scheme>internet-facing</Scheme><VPCId>vpc-1</VPCId><Subnets><member>subnet-1</member>"       \
    "<member>subnet-2</member></Subnets><SecurityGroups><member>" group                            \
    "</member></SecurityGroups><Instances><member><InstanceId>i-n1</InstanceId></member>"          \
    "</Instances><ListenerDescriptions><member><Listener><Protocol>TCP</Protocol>"                 \
    "<InstanceProtocol>TCP</InstanceProtocol><LoadBalancerPort>80</LoadBalancerPort>"              \
    "<InstancePort>30080</InstancePort></Listener></member></ListenerDescriptions>"                \
    "<HealthCheck><Target>TCP:30080</Target><Interval>10</Interval><Timeout>5</Timeout>"           \
    "<UnhealthyThreshold>6</UnhealthyThreshold><HealthyThreshold>2</HealthyThreshold>"             \
    "</HealthCheck></member>"
#define BALANCERS(members) "<LoadBalancerDescriptions>" members "</LoadBalancerDescriptions>"

enum other {
    OTHER_PLAIN,      /* a classic balancer with a group of its own */
    OTHER_NLB,        /* was edited into another kind; its classic balancer still stands */
    OTHER_ELSEWHERE,  /* was handed to another controller */
    OTHER_GOES,       /* is being deleted, and is not yet gone */
    OTHER_UNREADABLE, /* nothing but its name and uid is known */
    OTHER_UNKNOWN,    /* is not in the list: another cluster's, or lost by the API server */
    OTHER_GONE,       /* has no balancer either */
};

static const struct tt_service *other_service(struct flow_kit *k, enum other how)
{
    static const char *const finalizers[] = {"service.kubernetes.io/load-balancer-cleanup"};
    static const char *const annotations[] = {[OTHER_NLB] = "{\"type\":\"nlb\"}",
                                              [OTHER_ELSEWHERE] = "{\"type\":\"external\"}",
                                              [OTHER_GONE] = NULL};
    struct tt_service *s =
        arena_memdup(k->a, aws_test_object(k->a, annotations[how], NULL), sizeof(*s));
    s->name = "other";
    s->uid = OTHER_UID;
    if (how == OTHER_GOES) {
        s->type = "ClusterIP";
        s->finalizers = finalizers;
        s->n_finalizers = 1;
    }
    s->flags |= how == OTHER_UNREADABLE ? TT_SERVICE_UNREADABLE : 0;
    return s;
}

static void sync_beside(struct flow_kit *k, enum other how, uint32_t verb, const char *annotations,
                        struct flow_row *rows)
{
    const struct tt_service *other = other_service(k, how);
    k->services = &other;
    k->n_services = how < OTHER_UNKNOWN;
    k->rows = rows;
    k->nodes = "n1";
    clock_fake_advance(k->clock, AWS_SETTLES_MS); /* EC2's lists are believed again */
    (void)flow_kit_asked(k);
    if (flow_kit_sync(k, verb, verb == TT_VERB_DELETE ? TT_REASON_CLEANUP : TT_REASON_SPEC,
                      aws_test_object(k->a, annotations, NULL)) != TT_OK) {
        fail_msg("%d: %s", (int)how, k->r.message);
    }
}

/* How often nodes lose a rule that lets the group in, and how often the group itself is changed. */
static void assert_touched(struct flow_kit *k, enum other how, size_t revoked)
{
    const char *asked = flow_kit_asked(k);
    size_t n = 0;
    for (const char *at = asked; (at = strstr(at, "RevokeSecurityGroupIngress")) != NULL; at++) {
        const char *end = strchr(at, '\n');
        const char *hit = strstr(at, "GroupId=" OTHERS_OWN);
        n += hit != NULL && (end == NULL || hit < end);
    }
    if (n != revoked || strstr(asked, "DeleteSecurityGroup GroupId=" OTHERS_OWN) != NULL) {
        fail_msg("%d: %zu revoked\n%s", (int)how, n, asked);
    }
}

static void deletion__names_the_own_group_of_another__its_way_to_nodes_stays(void **state)
{
    struct flow_kit *k = *state;
    static struct flow_row stands[] = {
        {"elb DescribeLoadBalancers LoadBalancerNames", 0, BALANCERS(BALANCER(NAME, OTHERS_OWN)),
         0},
        {"elb DescribeLoadBalancers", 0,
         BALANCERS(BALANCER(NAME, OTHERS_OWN) BALANCER(OTHER_NAME, OTHERS_OWN)), 0},
        {"tag-key", 0, OTHERS_GROUPS, 0},
        {NULL, 0, NULL, 0}};
    for (enum other how = OTHER_PLAIN; how <= OTHER_UNKNOWN; how++) {
        sync_beside(k, how, TT_VERB_DELETE, "{\"security-groups\":\"" OTHERS_OWN "\"}", stands);
        assert_touched(k, how, 0);
    }
}

/* The balancer of "other" could not be made yet: its name alone tells. */
static void deletion__names_a_group_whose_balancer_is_still_to_come__it_stays(void **state)
{
    struct flow_kit *k = *state;
    static struct flow_row rows[] = {{"tag-key", 0, OTHERS_GROUPS, 0}, {NULL, 0, NULL, 0}};
    for (enum other how = OTHER_PLAIN; how <= OTHER_UNREADABLE; how++) {
        sync_beside(k, how, TT_VERB_DELETE, "{\"security-groups\":\"" OTHERS_OWN "\"}", rows);
        assert_touched(k, how, 0);
    }
}

static void edit__no_longer_names_the_own_group_of_another__its_way_to_nodes_stays(void **state)
{
    struct flow_kit *k = *state;
    static struct flow_row rows[] = {
        {"elb DescribeLoadBalancerAttributes", 0, FLOW_CLASSIC_ATTRIBUTES, 0},
        {"elb DescribeLoadBalancers LoadBalancerNames", 0, BALANCERS(BALANCER(NAME, OTHERS_OWN)),
         0},
        {"elb DescribeLoadBalancers", 0,
         BALANCERS(BALANCER(NAME, OTHERS_OWN) BALANCER(OTHER_NAME, OTHERS_OWN)), 0},
        {"tag-key", 0, OTHERS_GROUPS, 0},
        {NULL, 0, NULL, 0}};
    for (enum other how = OTHER_PLAIN; how <= OTHER_UNKNOWN; how++) {
        sync_beside(k, how, TT_VERB_ENSURE, "{}", rows);
        assert_true(flow_kit_count(k, "ApplySecurityGroups") > 0);
        assert_touched(k, how, 0);
    }
}

/* The annotation of "other" no longer names the group, and its balancer still has it. */
static void deletion__group_of_a_person_that_another_balancer_has__stays(void **state)
{
    struct flow_kit *k = *state;
    static struct flow_row stands[] = {
        {"elb DescribeLoadBalancers LoadBalancerNames", 0, BALANCERS(""), 0},
        {"elb DescribeLoadBalancers", 0, BALANCERS(BALANCER(OTHER_NAME, OTHERS_OWN)), 0},
        {"tag-key", 0, PERSONS_GROUPS, 0},
        {NULL, 0, NULL, 0}};
    static struct flow_row gone[] = {{"tag-key", 0, PERSONS_GROUPS, 0}, {NULL, 0, NULL, 0}};
    for (enum other how = OTHER_PLAIN; how <= OTHER_UNKNOWN; how++) {
        sync_beside(k, how, TT_VERB_DELETE, "{\"security-groups\":\"" OTHERS_OWN "\"}", stands);
        assert_touched(k, how, 0);
    }
    sync_beside(k, OTHER_GONE, TT_VERB_DELETE, "{\"security-groups\":\"" OTHERS_OWN "\"}", gone);
    assert_touched(k, OTHER_GONE, 1);
}

/* Nodes of one group let those of another in: a Service that names the nodes' group takes
 * no such rule along. */
static void deletion__names_a_group_of_nodes__nodes_reach_each_other(void **state)
{
    struct flow_kit *k = *state;
    static struct flow_row rows[] = {
        {"tag-key", 0,
         FLOW_GROUPS(FLOW_NODES_GROUP("")
                         FLOW_GROUP("sg-masters", "masters", FLOW_OURS, FLOW_PAIR("sg-nodes"))),
         0},
        {NULL, 0, NULL, 0}};
    sync_beside(k, OTHER_GONE, TT_VERB_DELETE, "{\"security-groups\":\"sg-nodes\"}", rows);
    assert_int_equal(flow_kit_count(k, "Revoke"), 0);
}

/* The balancer of "other" has the group that was made for "web": "other" was edited away from it
 * and is not synced yet, or cannot be read. */
static void deletion__own_group_that_anothers_balancer_has__stays(void **state)
{
    struct flow_kit *k = *state;
    static struct flow_row on_it[] = {
        {"elb DescribeLoadBalancers LoadBalancerNames", 0, BALANCERS(BALANCER(NAME, "sg-own")), 0},
        {"elb DescribeLoadBalancers", 0,
         BALANCERS(BALANCER(NAME, "sg-own") BALANCER(OTHER_NAME, "sg-own")), 0},
        {"tag-key", 0, OTHERS_GROUPS, 0},
        {NULL, 0, NULL, 0}};
    static struct flow_row left_it[] = {
        {"elb DescribeLoadBalancers LoadBalancerNames", 0, BALANCERS(BALANCER(NAME, "sg-own")), 0},
        {"elb DescribeLoadBalancers", 0,
         BALANCERS(BALANCER(NAME, "sg-own") BALANCER(OTHER_NAME, OTHERS_OWN)), 0},
        {"tag-key", 0, OTHERS_GROUPS, 0},
        {NULL, 0, NULL, 0}};
    for (enum other how = OTHER_PLAIN; how <= OTHER_UNREADABLE; how++) {
        sync_beside(k, how, TT_VERB_DELETE, "{}", on_it);
        assert_int_equal(flow_kit_count(k, "elb DeleteLoadBalancer"), 1);
        assert_int_equal(flow_kit_count(k, "Revoke"), 0);
        assert_int_equal(flow_kit_count(k, "DeleteSecurityGroup"), 0);
    }
    sync_beside(k, OTHER_PLAIN, TT_VERB_DELETE, "{}", left_it);
    assert_int_equal(flow_kit_count(k, "DeleteSecurityGroup GroupId=sg-own"), 1);
}

/* A rule for probes bears the name of the Service that came first; the second relies on it. */
static void deletion__probes_that_another_may_need__stay(void **state)
{
    struct flow_kit *k = *state;
    static struct flow_row rows[] = {
        {"tag-key", 0,
         FLOW_GROUPS(FLOW_NODES_GROUP(
             FLOW_RULE("tcp", "10256", "10.0.1.0/24", "kubernetes.io/rule/nlb/health=" NAME))),
         0},
        {NULL, 0, NULL, 0}};
    static const struct {
        enum other how;
        size_t revoked;
    } cases[] = {{OTHER_UNREADABLE, 0}, {OTHER_PLAIN, 1}, {OTHER_GONE, 1}};
    k->config = "ClusterServiceLoadBalancerHealthProbeMode=Shared";
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        sync_beside(k, cases[i].how, TT_VERB_DELETE, "{\"type\":\"nlb\"}", rows);
        assert_int_equal(flow_kit_count(k, "Revoke"), cases[i].revoked);
    }
}

/* "web" gave up a node port, and "other" has it now: EC2 has the rule once, under the
 * name of "web". */
static void edit__node_port_that_another_has_now__clients_of_it_stay_let_in(void **state)
{
    struct flow_kit *k = *state;
    static struct flow_row rows[] = {
        {"tag-key", 0,
         FLOW_GROUPS(FLOW_NODES_GROUP(
             FLOW_RULE("tcp", "30081", "0.0.0.0/0", "kubernetes.io/rule/nlb/client=" NAME)
                 FLOW_RULE("tcp", "30080", "0.0.0.0/0", "kubernetes.io/rule/nlb/client=" NAME))),
         0},
        FLOW_NLB_IS_FINE};
    static const struct {
        int node_port;
        size_t revoked;
    } cases[] = {{30081, 0}, {30082, 1}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct tt_port port = {
            .name = "", .port = 80, .node_port = cases[i].node_port, .protocol = "TCP"};
        struct tt_service other = *aws_test_object(k->a, "{\"type\":\"nlb\"}", NULL);
        const struct tt_service *all = &other;
        other.name = "other";
        other.uid = OTHER_UID;
        other.ports = &port;
        other.n_ports = 1;
        k->services = &all;
        k->n_services = 1;
        k->rows = rows;
        k->nodes = "n1";
        assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC,
                                       aws_test_object(k->a, "{\"type\":\"nlb\"}", NULL)),
                         TT_OK);
        assert_int_equal(flow_kit_count(k, "Revoke"), cases[i].revoked);
        assert_int_equal(k->r.serves, cases[i].revoked); /* the rule's end is not waited for */
    }
}

/* The last edit made an NLB's settings invalid, but it exists and is probed. */
static void deletion__probes_beside_a_service_that_is_wrong__stay(void **state)
{
    struct flow_kit *k = *state;
    static struct flow_row rows[] = {
        {"tag-key", 0,
         FLOW_GROUPS(FLOW_NODES_GROUP(
             FLOW_RULE("tcp", "9000", "10.0.1.0/24", "kubernetes.io/rule/nlb/health=" NAME))),
         0},
        {NULL, 0, NULL, 0}};
    struct tt_service other =
        *aws_test_object(k->a, "{\"type\":\"nlb\",\"healthcheck-interval\":\"often\"}", NULL);
    const struct tt_service *all = &other;
    other.name = "other";
    other.uid = OTHER_UID;
    k->services = &all;
    k->n_services = 1;
    k->rows = rows;
    k->nodes = "n1";
    assert_int_equal(flow_kit_sync(k, TT_VERB_DELETE, TT_REASON_CLEANUP,
                                   aws_test_object(k->a, "{\"type\":\"nlb\"}", NULL)),
                     TT_OK);
    assert_int_equal(flow_kit_count(k, "Revoke"), 0);
}

#define GONE_NAME "a9999999999993333444455555555555"

/* A process ended before EC2 showed the rule, and the Service's deletion found none: the next look
 * at the group that may change rules takes it away, unless the group is another cluster's, too. */
static void edit__rule_of_a_balancer_that_no_service_has__goes(void **state)
{
    struct flow_kit *k = *state;
    static const struct {
        const char *name, *tags;
        size_t revoked;
    } cases[] = {{GONE_NAME, FLOW_OURS, 1},
                 {OTHER_NAME, FLOW_OURS, 0},
                 {"of-another-program", FLOW_OURS, 0},
                 {GONE_NAME, FLOW_TAG("kubernetes.io/cluster/c1", "shared"), 0}};
    k->puts_right = true;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *of = arena_printf(k->a, "kubernetes.io/rule/nlb/client=%s", cases[i].name);
        const char *group = arena_printf(
            k->a,
            "<securityGroupInfo><item><groupId>sg-nodes</groupId><groupName>nodes</groupName>"
            "<vpcId>vpc-1</vpcId><groupDescription>x</groupDescription><tagSet>%s</tagSet>"
            "<ipPermissions>" FLOW_RULE("tcp", "32001", "0.0.0.0/0", "%s")
                FLOW_RULE("tcp", "30080", "0.0.0.0/0", "kubernetes.io/rule/nlb/client=" NAME)
                    FLOW_RULE("icmp", "3", "0.0.0.0/0", "") "</ipPermissions></item>"
                                                            "</securityGroupInfo>",
            cases[i].tags, of);
        struct flow_row rows[] = {{"tag-key", 0, group, 0}, FLOW_NLB_IS_FINE};
        sync_beside(k, OTHER_NLB, TT_VERB_ENSURE, "{\"type\":\"nlb\"}", rows);
        if (flow_kit_count(k, "FromPort=32001") != cases[i].revoked) {
            fail_msg("%s: %s", cases[i].name, flow_kit_asked(k));
        }
    }
}

/* A group with tags of ours and a rule that lets all clients in to a port. */
static const char *open_group(struct flow_kit *k, const char *id, const char *name,
                              const char *port, const char *description)
{
    return arena_printf(
        k->a,
        "<item><groupId>%s</groupId><groupName>%s</groupName><vpcId>vpc-1</vpcId>"
        "<groupDescription>x</groupDescription><tagSet>" FLOW_OURS "</tagSet><ipPermissions>"
        "<item><ipProtocol>tcp</ipProtocol><fromPort>%s</fromPort><toPort>%s</toPort><ipRanges>"
        "<item><cidrIp>0.0.0.0/0</cidrIp><description>%s</description></item></ipRanges></item>"
        "</ipPermissions></item>",
        id, name, port, port, description);
}

/* A managed NLB gets narrower ranges, and one of its two groups has no room for them: the other one
 * shuts out the clients that are not let in any more. */
static void edit__one_group_is_full__the_other_one_is_narrowed(void **state)
{
    struct flow_kit *k = *state;
    static const struct {
        const char *full, *other;
    } cases[] = {{"sg-nodes", "sg-mine"}, {"sg-mine", "sg-nodes"}};
    const struct tt_service *svc =
        aws_test_object(k->a, "{\"type\":\"nlb\"}",
                        "\"ports\":[{\"port\":80,\"nodePort\":30080,\"protocol\":\"TCP\"}],"
                        "\"loadBalancerSourceRanges\":[\"192.0.2.0/24\"]");
    k->config = "NLBSecurityGroupMode=Managed";
    k->nodes = "n1";
    assert_int_equal(flow_kit_open(k), TT_OK);
    const char *own = aws_service_read(k->a, &k->p->naming, svc)->nlb_group;
    const char *nodes = "kubernetes.io/rule/nlb/client=" NAME;
    const char *groups =
        arena_printf(k->a, FLOW_GROUPS("%s%s"), open_group(k, "sg-mine", own, "80", ""),
                     open_group(k, "sg-nodes", "nodes", "30080", nodes));
    const char *at = strstr(FLOW_NLB, "</member></LoadBalancers>");
    const char *nlb = arena_printf(k->a,
                                   "%.*s<SecurityGroups><member>sg-mine</member>"
                                   "</SecurityGroups>%s",
                                   (int)(strlen(FLOW_NLB) - strlen(at)), FLOW_NLB, at);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct flow_row rows[] = {
            {arena_printf(k->a, "AuthorizeSecurityGroupIngress GroupId=%s", cases[i].full), 400,
             "RulesPerSecurityGroupLimitExceeded full", 0},
            {"elbv2 DescribeLoadBalancers", 0, nlb, 0},
            {"tag-key", 0, groups, 0},
            FLOW_NLB_IS_FINE};
        k->rows = rows;
        clock_fake_advance(k->clock, AWS_SETTLES_MS);
        (void)flow_kit_asked(k);
        if (flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, svc) != TT_QUOTA) {
            fail_msg("%d %s", (int)k->r.code, k->r.message);
        }
        size_t closed = flow_kit_count(
            k, arena_printf(k->a, "RevokeSecurityGroupIngress GroupId=%s", cases[i].other));
        if (closed == 0) {
            fail_msg("%s is full: %s", cases[i].full, flow_kit_asked(k));
        }
        assert_int_equal(flow_kit_count(k, arena_printf(k->a,
                                                        "RevokeSecurityGroupIngress "
                                                        "GroupId=%s",
                                                        cases[i].full)),
                         0);
    }
}

UNIT_MAIN(shared)
{
    const struct CMUnitTest tests[] = {
        FLOW_TEST(deletion__names_the_own_group_of_another__its_way_to_nodes_stays),
        FLOW_TEST(deletion__names_a_group_whose_balancer_is_still_to_come__it_stays),
        FLOW_TEST(edit__no_longer_names_the_own_group_of_another__its_way_to_nodes_stays),
        FLOW_TEST(deletion__group_of_a_person_that_another_balancer_has__stays),
        FLOW_TEST(deletion__names_a_group_of_nodes__nodes_reach_each_other),
        FLOW_TEST(deletion__own_group_that_anothers_balancer_has__stays),
        FLOW_TEST(deletion__probes_that_another_may_need__stay),
        FLOW_TEST(edit__node_port_that_another_has_now__clients_of_it_stay_let_in),
        FLOW_TEST(deletion__probes_beside_a_service_that_is_wrong__stay),
        FLOW_TEST(edit__rule_of_a_balancer_that_no_service_has__goes),
        FLOW_TEST(edit__one_group_is_full__the_other_one_is_narrowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
