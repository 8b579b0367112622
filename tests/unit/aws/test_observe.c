/* SPDX-License-Identifier: Apache-2.0 */
/* test_observe.c: which questions a sync asks, in which situation, in how many calls, and how old
 * an answer may be.
 *
 * "7.3" is a section of docs/spec/aws.md, "13.3" a row of its section 13. */
#include "tests/support/clock_fake.h"
#include "tests/support/unit.h"
#include "tests/unit/aws/flow_kit.h"

/* One whose address is published: it is looked for before anything else. */
static const struct tt_service *stands(struct flow_kit *k, const char *annotations)
{
    static const struct tt_ingress told = {.hostname = "lb.example.com"};
    struct tt_service *s = ARENA_NEW(k->a, struct tt_service);
    *s = *aws_test_object(k->a, annotations, NULL);
    s->ingress = &told;
    s->n_ingress = 1;
    return s;
}

static const struct tt_service *nlb(struct flow_kit *k)
{
    return stands(k, "{\"type\":\"nlb\"}");
}

static const struct tt_service *classic(struct flow_kit *k)
{
    return stands(k, NULL);
}

#define ASKS_GROUPS                                                                                \
    "ec2 DescribeSecurityGroups Filter.1.Name=vpc-id&Filter.1.Value.1=vpc-1&Filter.2.Name=tag-key" \
    "&Filter.2.Value.1=kubernetes.io/cluster/c1&Filter.2.Value.2=KubernetesCluster"
/* Of a Service that goes, once it has no balancer: a group that has lost its tags is found
 * by its name. */
#define ASKS_LEFT_GROUPS                                                                           \
    "ec2 DescribeSecurityGroups Filter.1.Name=vpc-id&Filter.1.Value.1=vpc-1&Filter.2.Name="        \
    "group-name&Filter.2.Value.1=k8s-default-web-133a436e34&Filter.2.Value.2=k8s-elb-" NAME
#define ASKS_INSTANCES "ec2 DescribeInstances Filter.1.Name=instance-id&Filter.1.Value.1=i-n1"
#define ASKS_SUBNETS   "ec2 DescribeSubnets Filter.1.Name=vpc-id&Filter.1.Value.1=vpc-1"
#define ASKS_TABLES    "ec2 DescribeRouteTables Filter.1.Name=vpc-id&Filter.1.Value.1=vpc-1"

static void nothing(struct flow_kit *k, uint32_t verb, uint32_t reasons,
                    const struct tt_service *svc)
{
    if (flow_kit_sync(k, verb, reasons, svc) != TT_OK) {
        fail_msg("%s", k->r.message);
    }
    if (k->changes != 0) {
        fail_msg("%u changes: %s", k->changes, flow_kit_asked(k));
    }
}

/* ---- what is asked --------------------------------------------------------------------------- */

static void nlb__edited__is_read_by_name(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {FLOW_NLB_IS_FINE};
    k->rows = rows;
    nothing(k, TT_VERB_ENSURE, TT_REASON_SPEC, nlb(k));
    same_text("9", flow_kit_asked(k),
              ASKS_INSTANCES "\n" ASKS_GROUPS "\n" ASKS_SUBNETS "\n"
                             "elb DescribeLoadBalancers LoadBalancerNames.member.1=" NAME "\n"
                             "elbv2 DescribeListeners LoadBalancerArn=" FLOW_ARN "\n"
                             "elbv2 DescribeLoadBalancerAttributes LoadBalancerArn=" FLOW_ARN "\n"
                             "elbv2 DescribeLoadBalancers Names.member.1=" NAME "\n"
                             "elbv2 DescribeTargetGroups LoadBalancerArn=" FLOW_ARN "\n"
                             "elbv2 DescribeTargetHealth TargetGroupArn=arn:tg");
    same_text("status", k->r.ingress, "nlb.example");
    nothing(k, TT_VERB_ENSURE, TT_REASON_SPEC, nlb(k)); /* both APIs until it is known (4.2) */
    same_text("again", flow_kit_asked(k),
              ASKS_GROUPS "\n"
                          "elbv2 DescribeListeners LoadBalancerArn=" FLOW_ARN "\n"
                          "elbv2 DescribeLoadBalancerAttributes LoadBalancerArn=" FLOW_ARN "\n"
                          "elbv2 DescribeLoadBalancers Names.member.1=" NAME "\n"
                          "elbv2 DescribeTargetGroups LoadBalancerArn=" FLOW_ARN "\n"
                          "elbv2 DescribeTargetHealth TargetGroupArn=arn:tg");
}

static void nlb__nodes__only_what_hangs_on_them(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {FLOW_NLB_IS_FINE};
    k->rows = rows;
    nothing(k, TT_VERB_ENSURE, TT_REASON_SPEC, nlb(k));
    (void)flow_kit_asked(k);
    nothing(k, TT_VERB_UPDATE, TT_REASON_NODES, nlb(k));
    same_text("7.2", flow_kit_asked(k),
              ASKS_GROUPS "\n"
                          "elbv2 DescribeListeners LoadBalancerArn=" FLOW_ARN "\n"
                          "elbv2 DescribeLoadBalancers Names.member.1=" NAME "\n"
                          "elbv2 DescribeTargetGroups LoadBalancerArn=" FLOW_ARN "\n"
                          "elbv2 DescribeTargetHealth TargetGroupArn=arn:tg");
    same_text("no status", k->r.ingress, "");
}

static void classic__edited_and_nodes(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {FLOW_CLASSIC_IS_FINE};
    k->rows = rows;
    nothing(k, TT_VERB_ENSURE, TT_REASON_SPEC, classic(k));
    same_text("edited", flow_kit_asked(k),
              ASKS_INSTANCES "\n" ASKS_TABLES "\n" ASKS_GROUPS "\n" ASKS_SUBNETS "\n"
                             "elb DescribeLoadBalancerAttributes LoadBalancerName=" NAME "\n"
                             "elb DescribeLoadBalancers LoadBalancerNames.member.1=" NAME "\n"
                             "elbv2 DescribeLoadBalancers Names.member.1=" NAME);
    nothing(k, TT_VERB_UPDATE, TT_REASON_NODES, classic(k));
    same_text("nodes", flow_kit_asked(k),
              ASKS_GROUPS "\n"
                          "elb DescribeLoadBalancers LoadBalancerNames.member.1=" NAME);
}

static void resync__lists_are_shared_for_a_minute(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {FLOW_NLB_IS_FINE};
    k->rows = rows;
    nothing(k, TT_VERB_ENSURE, TT_REASON_RESYNC, nlb(k));
    assert_int_equal(flow_kit_count(k, "elbv2 DescribeLoadBalancers PageSize=400"), 1);
    assert_int_equal(flow_kit_count(k, "elb DescribeLoadBalancers PageSize="), 1);
    assert_int_equal(flow_kit_count(k, "elbv2 DescribeTargetGroups PageSize=400"), 1);
    (void)flow_kit_asked(k);
    clock_fake_advance(k->clock, 60000);
    nothing(k, TT_VERB_ENSURE, TT_REASON_RESYNC, nlb(k));
    same_text("a minute", flow_kit_asked(k), "");
    clock_fake_advance(k->clock, 1);
    nothing(k, TT_VERB_ENSURE, TT_REASON_RESYNC, nlb(k));
    same_text("more", flow_kit_asked(k),
              ASKS_GROUPS "\n"
                          "elbv2 DescribeListeners LoadBalancerArn=" FLOW_ARN "\n"
                          "elbv2 DescribeLoadBalancerAttributes LoadBalancerArn=" FLOW_ARN "\n"
                          "elbv2 DescribeLoadBalancers PageSize=400\n"
                          "elbv2 DescribeTargetGroups PageSize=400\n"
                          "elbv2 DescribeTargetHealth TargetGroupArn=arn:tg");
}

/* "Nothing to do" is not concluded from a list for a Service that was edited, however
 * that edit comes. */
static void resync__of_an_edited_service__is_read_by_name(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {FLOW_CLASSIC_IS_FINE};
    k->rows = rows;
    nothing(k, TT_VERB_ENSURE, TT_REASON_RESYNC, classic(k));
    (void)flow_kit_asked(k);
    nothing(k, TT_VERB_ENSURE, TT_REASON_RESYNC | TT_REASON_SPEC, classic(k));
    assert_int_equal(flow_kit_count(k, "elb DescribeLoadBalancers LoadBalancerNames"), 1);
    (void)flow_kit_asked(k);
    nothing(k, TT_VERB_ENSURE, TT_REASON_RESYNC | TT_REASON_NODES, classic(k));
    assert_int_equal(flow_kit_count(k, "elb DescribeLoadBalancers LoadBalancerNames"), 1);
}

/* The list is older than what the failed sync did. */
static void resync__after_a_failure__is_read_by_name(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {{"elb DeregisterInstances", 403, "AccessDenied no", 0},
                              FLOW_CLASSIC_IS_FINE};
    k->rows = rows;
    nothing(k, TT_VERB_ENSURE, TT_REASON_RESYNC, classic(k));
    k->nodes = "n2";
    assert_int_equal(flow_kit_sync(k, TT_VERB_UPDATE, TT_REASON_NODES, classic(k)), TT_FORBIDDEN);
    (void)flow_kit_asked(k);
    k->nodes = "n1";
    nothing(k, TT_VERB_ENSURE, TT_REASON_RESYNC, classic(k));
    assert_int_equal(flow_kit_count(k, "elb DescribeLoadBalancers LoadBalancerNames"), 1);
    clock_fake_advance(k->clock, 11000); /* what was changed is shown by now */
    nothing(k, TT_VERB_ENSURE, TT_REASON_RESYNC, classic(k));
    (void)flow_kit_asked(k);
    nothing(k, TT_VERB_ENSURE, TT_REASON_RESYNC, classic(k));
    same_text("it went well: lists again", flow_kit_asked(k), "");
}

/* A deletion that failed comes again as a re-sync: a list from before the balancer was
 * made must not end it. */
/* Target groups that the refused ensure made hang on no balancer: an update between does not make
 * them known, and one that is there keeps the targets that it has. */
static void refused__nodes_follow_meanwhile__left_groups_are_looked_for(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {{"elbv2 ModifyLoadBalancerAttributes", 400, "ValidationError no", 0},
                              FLOW_NLB_IS_FINE};
    const char *lists = "elbv2 DescribeTargetGroups PageSize=400";
    k->rows = rows;
    nothing(k, TT_VERB_ENSURE, TT_REASON_SPEC, nlb(k));
    const struct tt_service *edited =
        stands(k, "{\"type\":\"nlb\",\"cross-zone-load-balancing-enabled\":\"true\"}");
    assert_int_not_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, edited), TT_OK);
    nothing(k, TT_VERB_UPDATE, TT_REASON_NODES, nlb(k));
    (void)flow_kit_asked(k);
    nothing(k, TT_VERB_ENSURE, TT_REASON_SPEC, nlb(k));
    assert_int_equal(flow_kit_count(k, lists), 1);
    (void)flow_kit_asked(k);
    nothing(k, TT_VERB_ENSURE, TT_REASON_SPEC, nlb(k));
    assert_int_equal(flow_kit_count(k, lists), 0);
}

static void deletion__again__is_not_answered_by_a_list(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {{"elbv2 DescribeLoadBalancers PageSize", 0, "", 0},
                              {"tag-key", 0, FLOW_GROUPS(FLOW_NODES_GROUP("")), 0},
                              {"elbv2 DeleteLoadBalancer", 403, "AccessDenied no", 1},
                              FLOW_NLB_IS_FINE};
    k->rows = rows;
    (void)flow_kit_plan(k, nlb(k)); /* the lists: nothing is there */
    (void)flow_kit_asked(k);
    assert_int_equal(flow_kit_sync(k, TT_VERB_DELETE, TT_REASON_CLEANUP, nlb(k)), TT_FORBIDDEN);
    (void)flow_kit_asked(k);
    assert_int_equal(flow_kit_sync(k, TT_VERB_DELETE, TT_REASON_CLEANUP | TT_REASON_RESYNC, nlb(k)),
                     TT_OK);
    assert_int_equal(flow_kit_count(k, "elbv2 DeleteLoadBalancer LoadBalancerArn=" FLOW_ARN), 1);
    (void)flow_kit_asked(k);
    assert_int_equal(flow_kit_sync(k, TT_VERB_DELETE, TT_REASON_RESYNC, nlb(k)), TT_OK);
    assert_int_equal(flow_kit_count(k, "elbv2 DeleteLoadBalancer LoadBalancerArn=" FLOW_ARN), 1);
}

static void stale_list__something_to_do__is_looked_at_again_by_name(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {{"elbv2 DescribeLoadBalancers PageSize", 0, "", 0}, FLOW_NLB_IS_FINE};
    k->rows = rows;
    (void)flow_kit_plan(k, nlb(k));
    clock_fake_advance(k->clock, 30000);
    nothing(k, TT_VERB_ENSURE, TT_REASON_RESYNC, nlb(k));
    assert_int_equal(flow_kit_count(k, "elbv2 DescribeLoadBalancers PageSize"), 1);
    assert_int_equal(flow_kit_count(k, "elbv2 DescribeLoadBalancers Names"), 1);
    assert_int_equal(flow_kit_count(k, "Create"), 0);
}

/* ---- balancers of both kinds ----------------------------------------------------------------- */

static void type__changed__is_refused_because_of_what_is_there(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {FLOW_CLASSIC_IS_FINE};
    k->rows = rows;
    nothing(k, TT_VERB_ENSURE, TT_REASON_SPEC, classic(k));
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, nlb(k)), TT_INVALID);
    assert_non_null(strstr(k->r.message, "the type of a load balancer cannot be changed"));
    assert_int_equal(flow_kit_count(k, "Create"), 0);
}

static void name__taken_by_an_alb__is_refused_for_an_nlb_only(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {{"elbv2 DescribeLoadBalancers", 0,
                               "<LoadBalancers><member><LoadBalancerArn>arn:alb</LoadBalancerArn>"
                               "<LoadBalancerName>" NAME "</LoadBalancerName>"
                               "<Type>application</Type></member></LoadBalancers>",
                               0},
                              FLOW_CLASSIC_IS_FINE};
    k->rows = rows;
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, nlb(k)), TT_INVALID);
    assert_non_null(strstr(k->r.message, "is taken by one of type application (arn:alb)"));
    nothing(k, TT_VERB_ENSURE, TT_REASON_SPEC, classic(k));
}

static void update__without_a_balancer__is_not_found(void **state)
{
    struct flow_kit *k = *state;
    assert_int_equal(flow_kit_sync(k, TT_VERB_UPDATE, TT_REASON_NODES, classic(k)), TT_NOT_FOUND);
    same_text("classic", k->r.message, "load balancer " NAME " not found");
    assert_int_equal(flow_kit_sync(k, TT_VERB_UPDATE, TT_REASON_NODES, nlb(k)), TT_NOT_FOUND);
    assert_int_equal(flow_kit_count(k, "ec2 "), 0);
}

/* ---- deletion -------------------------------------------------------------------------------- */

/* This process has never seen it (7.3): both kinds, target groups by name and tags, groups. */
static void deletion__of_one_never_seen__looks_for_all_pieces(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {
        {"DescribeTargetGroups", 0, FLOW_TARGET_GROUP(""), 0},
        {"elbv2 DescribeTags", 0,
         "<TagDescriptions><member><ResourceArn>arn:tg</ResourceArn><Tags><member>"
         "<Key>kubernetes.io/service-name</Key><Value>default/web</Value></member><member>"
         "<Key>kubernetes.io/cluster/c1</Key><Value>owned</Value></member></Tags></member>"
         "</TagDescriptions>",
         0},
        {NULL, 0, NULL, 0}};
    k->rows = rows;
    assert_int_equal(flow_kit_sync(k, TT_VERB_DELETE, TT_REASON_CLEANUP, classic(k)), TT_OK);
    same_text("13.1", flow_kit_asked(k),
              ASKS_LEFT_GROUPS "\n" ASKS_GROUPS "\n"
                               "elb DescribeLoadBalancers LoadBalancerNames.member.1=" NAME "\n"
                               "elbv2 DeleteTargetGroup TargetGroupArn=arn:tg\n"
                               "elbv2 DescribeLoadBalancers Names.member.1=" NAME "\n"
                               "elbv2 DescribeTags ResourceArns.member.1=arn:tg\n"
                               "elbv2 DescribeTargetGroups PageSize=400");
    assert_int_equal(aws_memory_get(k->p->memory, UID), 0);
}

static void deletion__left_target_group_of_another_service__stays(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {
        {"DescribeTargetGroups", 0, FLOW_TARGET_GROUP(""), 0},
        {"elbv2 DescribeTags", 0,
         "<TagDescriptions><member><ResourceArn>arn:tg</ResourceArn><Tags><member>"
         "<Key>kubernetes.io/service-name</Key><Value>default/web-2</Value></member><member>"
         "<Key>kubernetes.io/cluster/c1</Key><Value>owned</Value></member></Tags></member>"
         "</TagDescriptions>",
         0},
        {NULL, 0, NULL, 0}};
    k->rows = rows;
    assert_int_equal(flow_kit_sync(k, TT_VERB_DELETE, TT_REASON_CLEANUP, classic(k)), TT_OK);
    assert_int_equal(flow_kit_count(k, "Delete"), 0);
}

/* Its own group could not be deleted: who names it as a source is asked, for each of
 * both groups (7.4). */
static void deletion__stuck__asks_who_refers_to_the_groups(void **state)
{
    struct flow_kit *k = *state;
    assert_int_equal(flow_kit_open(k), TT_OK);
    const char *nlb_group = aws_service_read(k->a, &k->p->naming, nlb(k))->nlb_group;
    struct flow_row rows[] = {
        {"tag-key", 0,
         arena_printf(
             k->a, FLOW_GROUPS(FLOW_NODES_GROUP("") "%s" FLOW_GROUP("sg-nlb", "%s", FLOW_OURS, "")),
             FLOW_GROUP("sg-own", "k8s-elb-" NAME, FLOW_OURS, ""), nlb_group),
         0},
        {"ip-permission.group-id&Filter.1.Value.1=sg-own", 0,
         FLOW_GROUPS(FLOW_GROUP("sg-other", "other", "", FLOW_PAIR("sg-own"))), 0},
        {NULL, 0, NULL, 0}};
    k->rows = rows;
    assert_int_equal(flow_kit_sync(k, TT_VERB_DELETE, TT_REASON_CLEANUP, classic(k)), TT_OK);
    assert_int_equal(flow_kit_count(k, "ip-permission.group-id&Filter.1.Value.1=sg-own"), 1);
    assert_int_equal(flow_kit_count(k, "ip-permission.group-id&Filter.1.Value.1=sg-nlb"), 1);
    assert_int_equal(flow_kit_count(k, "RevokeSecurityGroupIngress GroupId=sg-other"), 1);
    assert_int_equal(flow_kit_count(k, "DeleteSecurityGroup GroupId=sg-nlb"), 1);
}

/* A group that was made a moment ago and is not in EC2's list is asked for by id,
 * and waited for. */
static void deletion__group_made_a_moment_ago__is_asked_for_by_id(void **state)
{
    struct flow_kit *k = *state;
    assert_int_equal(flow_kit_open(k), TT_OK);
    aws_memory_group_made(k->p->memory, UID, "sg-new", clock_now_ms(k->clock));
    assert_int_equal(flow_kit_sync(k, TT_VERB_DELETE, TT_REASON_CLEANUP, classic(k)),
                     TT_IN_PROGRESS);
    assert_int_equal(k->r.retry_after_ms, 2000);
    assert_int_equal(flow_kit_count(k, "Filter.1.Name=group-id&Filter.1.Value.1=sg-new"), 1);
    clock_fake_advance(k->clock, 60001);
    assert_int_equal(flow_kit_sync(k, TT_VERB_DELETE, TT_REASON_CLEANUP, classic(k)), TT_OK);
}

static void deletion__of_a_classic_balancer__reads_no_places_and_no_instances(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {FLOW_CLASSIC_IS_FINE};
    k->rows = rows;
    assert_int_equal(flow_kit_sync(k, TT_VERB_DELETE, TT_REASON_CLEANUP, classic(k)), TT_OK);
    same_text("7.3", flow_kit_asked(k),
              "ec2 DeleteSecurityGroup GroupId=sg-own\n" ASKS_GROUPS "\n"
              "ec2 RevokeSecurityGroupIngress GroupId=sg-nodes&IpPermissions.1.IpProtocol=-1"
              "&IpPermissions.1.Groups.1.GroupId=sg-own\n"
              "elb DeleteLoadBalancer LoadBalancerName=" NAME "\n"
              "elb DescribeLoadBalancers LoadBalancerNames.member.1=" NAME "\n"
              "elbv2 DescribeLoadBalancers Names.member.1=" NAME "\n"
              "elbv2 DescribeTargetGroups PageSize=400");
}

/* ---- what is around -------------------------------------------------------------------------- */

/* A node whose groups are not the cluster's: they are asked for by id. */
static void nodes__in_an_untagged_group__it_is_asked_for(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {
        {"tag-key", 0, FLOW_GROUPS(""), 0},
        {"Filter.1.Name=group-id", 0, FLOW_GROUPS(FLOW_GROUP("sg-nodes", "nodes", "", "")), 0},
        {NULL, 0, NULL, 0}};
    k->rows = rows;
    (void)flow_kit_plan(k, nlb(k));
    assert_int_equal(flow_kit_count(k, "Filter.1.Name=group-id&Filter.1.Value.1=sg-nodes"), 1);
}

static void nodes__rules_are_not_kept__untagged_groups_are_not_asked_for(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {{"tag-key", 0, FLOW_GROUPS(""), 0}, {NULL, 0, NULL, 0}};
    k->rows = rows;
    k->config = "DisableSecurityGroupIngress=true";
    (void)flow_kit_plan(k, nlb(k));
    assert_int_equal(flow_kit_count(k, "Filter.1.Name=group-id"), 0);
}

static void zones__that_are_not_plain__are_asked_for(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {
        {"DescribeSubnets", 0,
         "<subnetSet><item><subnetId>subnet-9</subnetId><vpcId>vpc-1</vpcId><availabilityZone>"
         "us-east-1-bos-1a</availabilityZone><cidrBlock>10.0.9.0/24</cidrBlock></item></subnetSet>",
         0},
        {NULL, 0, NULL, 0}};
    k->rows = rows;
    (void)flow_kit_plan(k, classic(k));
    assert_int_equal(flow_kit_count(k, "ec2 DescribeAvailabilityZones"), 1);
}

static void subnets__by_annotation__no_route_tables(void **state)
{
    struct flow_kit *k = *state;
    (void)flow_kit_plan(k, aws_test_object(k->a, "{\"subnets\":\"subnet-1\"}", NULL));
    assert_int_equal(flow_kit_count(k, "DescribeSubnets"), 1);
    assert_int_equal(flow_kit_count(k, "DescribeRouteTables"), 0);
}

/* Health checks that all NLBs share: their rules are looked up for the others, and the classic
 * balancer keeps its subnets. */
static void nodes__of_a_classic_balancer_beside_shared_checks__are_updated(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {{"elb DescribeLoadBalancerAttributes", 0, FLOW_CLASSIC_ATTRIBUTES, 0},
                              {"elb DescribeLoadBalancers", 0, FLOW_CLASSIC, 0},
                              {"tag-key", 0, FLOW_CLASSIC_GROUPS, 0},
                              {NULL, 0, NULL, 0}};
    k->rows = rows;
    k->config = "ClusterServiceLoadBalancerHealthProbeMode=Shared";
    k->nodes = "n1 n2";
    if (flow_kit_sync(k, TT_VERB_UPDATE, TT_REASON_NODES, classic(k)) != TT_OK) {
        fail_msg("%s", k->r.message);
    }
    assert_int_equal(flow_kit_count(k, "elb RegisterInstances"), 1);
    assert_int_equal(flow_kit_count(k, "Subnets "), 1);
    assert_int_equal(flow_kit_count(k, "DescribeSubnets"), 1);
}

/* A classic balancer reaches nodes by its group, a network balancer of the same group does not. */
static void deletion__group_that_another_service_names__nodes_let_classic_ones_in(void **state)
{
    struct flow_kit *k = *state;
    static struct flow_row rows[] = {
        {"tag-key", 0, FLOW_GROUPS(FLOW_NODES_GROUP(FLOW_PAIR("sg-users"))), 0},
        {NULL, 0, NULL, 0}};
    k->rows = rows;
    const struct {
        const char *annotations;
        const char *name; /* NULL: it came back with the name of the one that goes */
        int revoked;
    } others[] = {{"{\"security-groups\":\"sg-users\"}", "other", 0},
                  {"{\"security-groups\":\"sg-users\"}", NULL, 0},
                  {"{\"security-groups\":\"sg-users\",\"type\":\"nlb\"}", "other", 1}};
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        struct tt_service other = *aws_test_object(k->a, others[i].annotations, NULL);
        other.name = str_or(others[i].name, other.name);
        other.uid = "another-uid";
        const struct tt_service *all = &other;
        k->services = &all;
        k->n_services = 1;
        (void)flow_kit_asked(k);
        if (flow_kit_sync(k, TT_VERB_DELETE, TT_REASON_CLEANUP,
                          aws_test_object(k->a, others[0].annotations, NULL)) != TT_OK) {
            fail_msg("%s", k->r.message);
        }
        assert_int_equal(flow_kit_count(k, "RevokeSecurityGroupIngress GroupId=sg-nodes"),
                         others[i].revoked);
    }
}

/* Of two classic balancers that go at once, each would leave the rule of their group
 * to the other. */
static void deletion__group_of_a_balancer_that_goes_too__nodes_shut_it_out(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {
        {"tag-key", 0, FLOW_GROUPS(FLOW_NODES_GROUP(FLOW_PAIR("sg-users"))), 0},
        {"elb DescribeLoadBalancers PageSize", 0,
         "<LoadBalancerDescriptions><member><LoadBalancerName>aanotheruid</LoadBalancerName>"
         "<SecurityGroups><member>sg-users</member></SecurityGroups></member>"
         "</LoadBalancerDescriptions>",
         0},
        {NULL, 0, NULL, 0}};
    k->rows = rows;
    const struct tt_service *service =
        aws_test_object(k->a, "{\"security-groups\":\"sg-users\"}", NULL);
    struct tt_service other = *service;
    other.name = "other";
    other.uid = "another-uid";
    const struct tt_service *all = &other;
    k->services = &all;
    k->n_services = 1;
    for (int goes = 0; goes < 2; goes++) {
        other.deleted_us = goes;
        (void)flow_kit_asked(k);
        if (flow_kit_sync(k, TT_VERB_DELETE, TT_REASON_CLEANUP, service) != TT_OK) {
            fail_msg("%s", k->r.message);
        }
        assert_int_equal(flow_kit_count(k, "RevokeSecurityGroupIngress GroupId=sg-nodes"), goes);
        assert_int_equal(flow_kit_count(k, "elb DescribeLoadBalancers PageSize"), goes);
    }
}

/* A creation that met its own name: what has lost its tags is looked for by name. */
static void creation__meets_its_own_group__it_is_looked_for_by_name(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {{"CreateSecurityGroup", 400, "InvalidGroup.Duplicate exists", 1},
                              {"Filter.2.Name=group-name", 0,
                               FLOW_GROUPS(FLOW_GROUP("sg-own", "k8s-elb-" NAME, "", "")), 0},
                              {"elb CreateLoadBalancer", 0, "<DNSName>made.example</DNSName>", 0},
                              {NULL, 0, NULL, 0}};
    k->rows = rows;
    flow_kit_lets_time_pass(k);
    if (flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, classic(k)) != TT_OK) {
        fail_msg("%s", k->r.message);
    }
    assert_int_equal(flow_kit_count(k, "Filter.2.Name=group-name&Filter.2.Value.1=k8s-elb-" NAME),
                     1);
    assert_int_equal(flow_kit_count(k, "ec2 CreateTags ResourceId.1=sg-own"), 1);
    assert_int_equal(flow_kit_count(k, "SecurityGroups.member.1=sg-own"), 1);
}

#define OWN_GROUP(description, tags)                                                               \
    "<securityGroupInfo><item><groupId>sg-own</groupId><groupName>k8s-elb-" NAME                   \
    "</groupName><vpcId>vpc-1</vpcId><groupDescription>" description                               \
    "</groupDescription><tagSet>" tags "</tagSet><ipPermissions></ipPermissions></item>"           \
    "</securityGroupInfo>"
#define OWN_TEXT "Security group for Kubernetes ELB " NAME " (default/web)"

/* The tags of the balancer's group were taken off: it is found by the balancer, and
 * gets them back. */
static void edit__own_group_without_tags__gets_them_back(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {
        {"Name=group-id", 0, OWN_GROUP(OWN_TEXT, ""), 0},
        {"DescribeSecurityGroups", 0, FLOW_GROUPS(FLOW_NODES_GROUP(FLOW_PAIR("sg-own"))), 0},
        FLOW_CLASSIC_IS_FINE};
    k->rows = rows;
    if (flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, classic(k)) != TT_OK) {
        fail_msg("%s", k->r.message);
    }
    assert_int_equal(flow_kit_count(k, "CreateSecurityGroup"), 0);
    assert_int_equal(flow_kit_count(k, "ec2 CreateTags ResourceId.1=sg-own"), 1);
}

/* After the balancer has gone, its names find the group; what is not certainly ours stays. */
static void deletion__group_without_tags__goes_if_it_was_made_here(void **state)
{
    struct flow_kit *k = *state;
    const struct {
        const char *name, *groups;
        size_t deleted;
    } cases[] = {
        {"ours", OWN_GROUP(OWN_TEXT, ""), 1},
        {"another tag", OWN_GROUP(OWN_TEXT, FLOW_TAG("team", "shop")), 1},
        {"a person's", OWN_GROUP("web traffic", ""), 0},
        {"another cluster's", OWN_GROUP(OWN_TEXT, FLOW_TAG("kubernetes.io/cluster/c2", "owned")),
         0},
        {"shared", OWN_GROUP(OWN_TEXT, FLOW_TAG("kubernetes.io/cluster/c1", "shared")), 0},
        {"legacy, another's", OWN_GROUP(OWN_TEXT, FLOW_TAG("KubernetesCluster", "c2")), 0},
    };
    struct flow_row rows[] = {{"Name=group-name", 0, NULL, 0}, {NULL, 0, NULL, 0}};
    k->rows = rows;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        rows[0].body = cases[i].groups;
        if (flow_kit_sync(k, TT_VERB_DELETE, TT_REASON_CLEANUP, classic(k)) != TT_OK) {
            fail_msg("%s: %s", cases[i].name, k->r.message);
        }
        size_t got = flow_kit_count(k, "DeleteSecurityGroup GroupId=sg-own");
        if (got != cases[i].deleted) {
            fail_msg("%s: deleted %zu times", cases[i].name, got);
        }
        (void)flow_kit_asked(k);
    }
    k->rows = NULL;
}

/* A group that a Service names and that is not there: nothing is opened for it,
 * and nothing changed. */
static void edit__names_a_group_that_is_not_there__refused_before_the_first_write(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {FLOW_CLASSIC_IS_FINE};
    k->rows = rows;
    const struct tt_service *svc =
        aws_test_object(k->a, "{\"security-groups\":\"sg-absent\"}", NULL);
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, svc), TT_TRANSIENT);
    assert_non_null(strstr(k->r.message, "security group sg-absent, which the Service names, does "
                                         "not exist"));
    assert_int_equal(flow_kit_count(k, "Filter.1.Value.1=sg-absent"), 1);
    assert_int_equal(flow_kit_count(k, "AuthorizeSecurityGroupIngress"), 0);
    assert_int_equal(flow_kit_count(k, "ApplySecurityGroupsToLoadBalancer"), 0);
    k->nodes = "n1 n2"; /* which nodes take part does not hang on it */
    assert_int_equal(flow_kit_sync(k, TT_VERB_UPDATE, TT_REASON_NODES, svc), TT_OK);
    assert_int_equal(flow_kit_count(k, "elb RegisterInstances"), 1);
}

/* The annotation has no effect on such an NLB: whatever it names, the rest is carried out. */
static void edit__names_an_absent_group_for_an_nlb_without_any__is_not_refused(void **state)
{
    static const char *const modes[] = {"", "NLBSecurityGroupMode=Managed"};
    struct flow_kit *k = *state;
    struct flow_row rows[] = {FLOW_NLB_IS_FINE};
    for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
        k->rows = rows;
        k->config = modes[i];
        nothing(k, TT_VERB_ENSURE, TT_REASON_SPEC,
                stands(k, "{\"type\":\"nlb\",\"security-groups\":\"sg-absent\"}"));
        assert_int_equal(flow_kit_count(k, "sg-absent"), 0);
        (void)flow_kit_asked(k);
        tt_aws_provider.close(k->p);
        k->p = NULL;
    }
}

UNIT_MAIN(observe)
{
    const struct CMUnitTest tests[] = {
        FLOW_TEST(nlb__edited__is_read_by_name),
        FLOW_TEST(nlb__nodes__only_what_hangs_on_them),
        FLOW_TEST(classic__edited_and_nodes),
        FLOW_TEST(resync__lists_are_shared_for_a_minute),
        FLOW_TEST(resync__of_an_edited_service__is_read_by_name),
        FLOW_TEST(resync__after_a_failure__is_read_by_name),
        FLOW_TEST(refused__nodes_follow_meanwhile__left_groups_are_looked_for),
        FLOW_TEST(deletion__again__is_not_answered_by_a_list),
        FLOW_TEST(stale_list__something_to_do__is_looked_at_again_by_name),
        FLOW_TEST(type__changed__is_refused_because_of_what_is_there),
        FLOW_TEST(name__taken_by_an_alb__is_refused_for_an_nlb_only),
        FLOW_TEST(update__without_a_balancer__is_not_found),
        FLOW_TEST(deletion__of_one_never_seen__looks_for_all_pieces),
        FLOW_TEST(deletion__left_target_group_of_another_service__stays),
        FLOW_TEST(deletion__stuck__asks_who_refers_to_the_groups),
        FLOW_TEST(deletion__group_made_a_moment_ago__is_asked_for_by_id),
        FLOW_TEST(deletion__of_a_classic_balancer__reads_no_places_and_no_instances),
        FLOW_TEST(nodes__in_an_untagged_group__it_is_asked_for),
        FLOW_TEST(nodes__rules_are_not_kept__untagged_groups_are_not_asked_for),
        FLOW_TEST(zones__that_are_not_plain__are_asked_for),
        FLOW_TEST(subnets__by_annotation__no_route_tables),
        FLOW_TEST(nodes__of_a_classic_balancer_beside_shared_checks__are_updated),
        FLOW_TEST(deletion__group_that_another_service_names__nodes_let_classic_ones_in),
        FLOW_TEST(deletion__group_of_a_balancer_that_goes_too__nodes_shut_it_out),
        FLOW_TEST(creation__meets_its_own_group__it_is_looked_for_by_name),
        FLOW_TEST(edit__own_group_without_tags__gets_them_back),
        FLOW_TEST(deletion__group_without_tags__goes_if_it_was_made_here),
        FLOW_TEST(edit__names_a_group_that_is_not_there__refused_before_the_first_write),
        FLOW_TEST(edit__names_an_absent_group_for_an_nlb_without_any__is_not_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
