/* SPDX-License-Identifier: Apache-2.0 */
/* test_owned.c: what in the cloud is ours by name and tags, whose it is, and how it is taken away
 * (docs/adr/0020).
 *
 * Rules first, then the questions that are asked for them. */
#include "providers/aws/aws_owned_rules.h"
#include "tests/support/unit.h"
#include "tests/unit/aws/flow_kit.h"

#define OTHER "a9999999922223333444455555555555"

static struct aws_tags tags_of(struct arena *a, const char *key, const char *cluster)
{
    struct aws_tag *items = ARENA_ARRAY(a, struct aws_tag, 2);
    size_t n = 0;
    if (cluster != NULL) {
        items[n++] = (struct aws_tag){AWS_CLUSTER_TAG_PREFIX "c1", cluster};
    }
    if (key != NULL) {
        items[n++] = (struct aws_tag){AWS_SERVICE_TAG, key};
    }
    return (struct aws_tags){items, n};
}

/* "kind unit name key", a line each, settled. */
static const char *listed(struct aws_owned_list *l)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    aws_owned_settle(l);
    for (size_t i = 0; i < l->inv.n; i++) {
        const struct inventory_item *o = l->inv.items[i];
        str_appendf(&b, "%s|%s|%s|%s|%s%s%s\n", o->unit, aws_owned_words[o->kind].kind, o->name,
                    str_or(o->place, "-"), str_or(o->key, "-"), o->used ? " used" : "",
                    aws_owned_service(l, o) != NULL ? " removable" : "");
    }
    return str_buf_to_arena(&b, l->a);
}

static void names__of_balancers(void **state)
{
    (void)state;
    assert_true(aws_owned_is_balancer_name(NAME));
    assert_false(aws_owned_is_balancer_name(""));
    assert_false(aws_owned_is_balancer_name("a111"));
    assert_false(aws_owned_is_balancer_name(NAME "5"));
    assert_false(aws_owned_is_balancer_name("b1111111122223333444455555555555"));
    assert_false(aws_owned_is_balancer_name("a111111112222333344445555555555g"));
    assert_false(aws_owned_is_balancer_name("a1111111-2222-3333-4444-55555555"));
    assert_true(aws_owned_is_target_group_name("k8s-default-web-0123456789"));
    assert_false(aws_owned_is_target_group_name("my-k8s-group"));
}

static void balancers__by_tags(void **state)
{
    struct arena *a = *state;
    const struct aws_naming n = aws_test_naming();
    struct aws_owned_list l;
    aws_owned_init(&l, a, &n);
    aws_owned_count(&l, aws_test_object(a, NULL, NULL));
    const struct aws_tags ours = tags_of(a, "default/web", "owned");
    const struct aws_tags gone = tags_of(a, "default/gone", "owned");
    const struct aws_tags shared = tags_of(a, "default/gone", "shared");
    const struct aws_tags nobodys = tags_of(a, NULL, "owned");
    const struct aws_nlb nlb = {.arn = "arn:1", .name = OTHER, .type = "network"};
    aws_owned_classic(&l, NAME, &ours);
    aws_owned_classic(&l, "a8888888822223333444455555555555", &shared); /* not ours */
    aws_owned_classic(&l, "a7777777722223333444455555555555", &nobodys);
    aws_owned_classic(&l, "by-hand", &gone);
    aws_owned_nlb(&l, &nlb, &gone);
    same_text("balancers", listed(&l),
              NAME "|classic load balancer|" NAME "|-|default/web used\n"
                   "a7777777722223333444455555555555|classic load balancer|"
                   "a7777777722223333444455555555555|-|-\n" OTHER "|network load balancer|" OTHER
                   "|-|default/gone removable\n");
    aws_owned_done(&l);
}

/* Group and rules of a balancer have no name of the Service: the balancer's is theirs. */
static void unit__has_one_owner(void **state)
{
    struct arena *a = *state;
    const struct aws_naming n = aws_test_naming();
    struct aws_owned_list l;
    aws_owned_init(&l, a, &n);
    const struct aws_tags gone = tags_of(a, "default/gone", "owned");
    const struct aws_tags owned = tags_of(a, NULL, "owned");
    const struct aws_group own = {
        .id = "sg-1", .name = "k8s-elb-" OTHER, .description = "", .vpc = "vpc-1", .tags = owned};
    const struct aws_group nodes = {
        .id = "sg-nodes",
        .name = "nodes",
        .description = "",
        .vpc = "vpc-1",
        .tags = owned,
        .rules = aws_test_rules(a, "tcp 30080 0.0.0.0/0 kubernetes.io/rule/nlb/client=" OTHER
                                   "; tcp 30080 10.0.0.0/24 kubernetes.io/rule/nlb/health=" OTHER
                                   "; tcp 22 0.0.0.0/0 ssh; icmp 3-4 0.0.0.0/0 "
                                   "kubernetes.io/rule/nlb/mtu; tcp 1 0.0.0.0/0 "
                                   "kubernetes.io/rule/nlb/client=by-hand")};
    aws_owned_classic(&l, OTHER, &gone);
    aws_owned_group(&l, &own);
    aws_owned_group(&l, &nodes);
    aws_owned_settle(&l);
    assert_int_equal(l.inv.n, 4);
    for (size_t i = 0; i < l.inv.n; i++) {
        same_text(l.inv.items[i]->name, l.inv.items[i]->key, "default/gone");
        same_text(l.inv.items[i]->name, l.inv.items[i]->unit, OTHER);
        assert_false(l.inv.items[i]->used);
    }
    same_text("place", l.inv.items[2]->place, "sg-nodes");
    assert_non_null(
        strstr(aws_owned_command(a, l.inv.items[2]), "aws ec2 revoke-security-group-ingress"));
    same_text("classic", aws_owned_command(a, l.inv.items[0]),
              "aws elb delete-load-balancer --load-balancer-name " OTHER);
    same_text("group", aws_owned_command(a, l.inv.items[1]),
              "aws ec2 delete-security-group --group-id sg-1");
    aws_owned_done(&l);
}

/* Rules of a balancer that is not among ours may be the other cluster's. */
static void rules__in_a_group_of_two_clusters__are_unsure(void **state)
{
    struct arena *a = *state;
    const struct aws_naming n = aws_test_naming();
    static const char *const others[] = {"kubernetes.io/cluster/other", "KubernetesCluster"};
    for (size_t i = 0; i < 2 * ARRAY_LEN(others); i++) {
        const struct aws_tags gone = tags_of(a, "default/gone", "owned");
        const struct aws_tags owned = tags_of(a, NULL, "owned");
        struct aws_tag tags[] = {owned.items[0], {others[i / 2], "other"}};
        bool ours = i % 2 == 1;
        struct aws_owned_list l;
        aws_owned_init(&l, a, &n);
        const struct aws_group nodes = {
            .id = "sg-nodes",
            .name = "nodes",
            .description = "",
            .vpc = "vpc-1",
            .tags = {.items = tags, .n = ARRAY_LEN(tags)},
            .rules = aws_test_rules(a, "tcp 30080 0.0.0.0/0 kubernetes.io/rule/nlb/client=" OTHER)};
        if (ours) {
            aws_owned_classic(&l, OTHER, &gone);
        }
        aws_owned_group(&l, &nodes);
        aws_owned_settle(&l);
        assert_int_equal(l.inv.items[l.inv.n - 1]->kind, AWS_OWNED_RULE);
        assert_int_equal(l.inv.items[l.inv.n - 1]->unsure, !ours);
        aws_owned_done(&l);
    }
}

static void target_groups__by_the_tag_of_the_service(void **state)
{
    struct arena *a = *state;
    const struct aws_naming n = aws_test_naming();
    struct aws_owned_list l;
    aws_owned_init(&l, a, &n);
    aws_owned_count(&l, aws_test_object(a, NULL, NULL));
    const struct aws_tags web = tags_of(a, "default/web", "owned");
    const struct aws_tags gone = tags_of(a, "default/gone", "owned");
    const struct aws_tags no_key = tags_of(a, NULL, "owned");
    const struct aws_tags other_cluster = tags_of(a, "default/gone", NULL);
    const struct aws_target_group g = {.arn = "arn:tg", .name = "k8s-x-y-0123456789"};
    const struct aws_target_group hand = {.arn = "arn:hand", .name = "by-hand"};
    aws_owned_target_group(&l, &g, &web);
    aws_owned_target_group(&l, &g, &gone);
    aws_owned_target_group(&l, &g, &no_key);
    aws_owned_target_group(&l, &g, &other_cluster);
    aws_owned_target_group(&l, &hand, &gone);
    same_text("target groups", listed(&l),
              "default/gone|target group|k8s-x-y-0123456789|-|default/gone removable\n"
              "default/web|target group|k8s-x-y-0123456789|-|default/web used\n");
    same_text("command", aws_owned_command(a, l.inv.items[0]),
              "aws elbv2 delete-target-group --target-group-arn arn:tg");
    aws_owned_done(&l);
}

/* Hashed names name no Service: the group of an NLB is known by the Services that are there. */
static void group_of_an_nlb__by_its_description(void **state)
{
    struct arena *a = *state;
    const struct aws_naming n = aws_test_naming();
    const struct tt_service *svc = aws_test_object(a, "{\"type\":\"nlb\"}", NULL);
    const char *used = aws_service_read(a, &n, svc)->nlb_group;
    const struct aws_tags owned = tags_of(a, NULL, "owned");
    struct aws_owned_list l;
    aws_owned_init(&l, a, &n);
    aws_owned_count(&l, svc);
    struct aws_group g = {.id = "sg-1",
                          .name = used,
                          .description = "[k8s] Managed SecurityGroup for LoadBalancer",
                          .vpc = "vpc-1",
                          .tags = owned};
    aws_owned_group(&l, &g);
    g.name = "k8s-default-gone-0123456789";
    aws_owned_group(&l, &g);
    g.description = "[k8s] by aws-load-balancer-controller"; /* not ours */
    aws_owned_group(&l, &g);
    same_text("groups", listed(&l),
              arena_printf(a,
                           "k8s-default-gone-0123456789|security group|k8s-default-gone-0123456789"
                           "|-|-\n%s|security group|%s|-|- used\n",
                           used, used));
    aws_owned_done(&l);
}

/* The Service by which a unit is deleted has a UID from which the same names follow. */
static void remove_as__has_the_names_of_the_unit(void **state)
{
    struct arena *a = *state;
    const struct aws_naming n = aws_test_naming();
    struct aws_owned_list l;
    aws_owned_init(&l, a, &n);
    const struct aws_tags gone = tags_of(a, "prod/gone", "owned");
    aws_owned_classic(&l, OTHER, &gone);
    const struct tt_service *svc = aws_owned_service(&l, l.inv.items[0]);
    assert_non_null(svc);
    same_text("ns", svc->ns, "prod");
    same_text("name", svc->name, "gone");
    const struct aws_service *s = aws_service_read(a, &n, svc);
    same_text("balancer", s->lb_name, OTHER);
    same_text("group", s->classic_group, "k8s-elb-" OTHER);
    aws_owned_done(&l);
}

static void remove_as__not_for_one_that_is_there_again(void **state)
{
    struct arena *a = *state;
    const struct aws_naming n = aws_test_naming();
    static const char *const keys[] = {"default/web", "/x", "x/", "x"};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        struct aws_owned_list l;
        aws_owned_init(&l, a, &n);
        aws_owned_count(&l, aws_test_object(a, NULL, NULL));
        const struct aws_tags tags = tags_of(a, keys[i], "owned");
        aws_owned_classic(&l, OTHER, &tags);
        assert_int_equal(l.inv.n, 1);
        assert_null(aws_owned_service(&l, l.inv.items[0]));
        aws_owned_done(&l);
    }
}

/* ---- what is asked --------------------------------------------------------------------------- */

#define TAGGED(what, id, key)                                                                      \
    "<member><" what ">" id "</" what "><Tags><member><Key>kubernetes.io/cluster/c1</Key>"         \
    "<Value>owned</Value></member><member><Key>kubernetes.io/service-name</Key><Value>" key        \
    "</Value></member></Tags></member>"

static void list__of_everything(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {
        {"elb DescribeLoadBalancers", 0, FLOW_CLASSIC, 0},
        {"elbv2 DescribeLoadBalancers", 0, FLOW_NLB, 0},
        {"elb DescribeTags", 0,
         "<TagDescriptions>" TAGGED("LoadBalancerName", NAME, "default/web") "</TagDescriptions>",
         0},
        {"elbv2 DescribeTags ResourceArns.member.1=" FLOW_ARN, 0,
         "<TagDescriptions>" TAGGED("ResourceArn", FLOW_ARN, "default/web") "</TagDescriptions>",
         0},
        {"elbv2 DescribeTags ResourceArns.member.1=arn:tg", 0,
         "<TagDescriptions>" TAGGED("ResourceArn", "arn:tg", "default/web") "</TagDescriptions>",
         0},
        {"DescribeTargetGroups", 0, FLOW_TARGET_GROUP(""), 0},
        {"tag-key", 0, FLOW_CLASSIC_GROUPS, 0},
        {NULL, 0, NULL, 0}};
    k->rows = rows;
    assert_int_equal(flow_kit_open(k), TT_OK);
    assert_int_equal(tt_aws_provider.list_owned(k->p, &k->call), TT_OK);
    same_text("nobody is there", str_buf_text(&k->owned),
              "classic load balancer " NAME " - default/web removable\n"
              "network load balancer " NAME " - default/web removable\n"
              "security group k8s-elb-" NAME " - default/web removable\n"
              "security group rule all traffic from sg-own sg-nodes default/web removable\n"
              "target group k8s-default-web-0123456789 - default/web removable\n");
    assert_int_equal(flow_kit_count(k, "\n"), 7);
    str_buf_reset(&k->owned);
    const struct tt_service *svc = aws_test_object(k->a, NULL, NULL);
    k->services = &svc;
    k->n_services = 1;
    assert_int_equal(tt_aws_provider.list_owned(k->p, &k->call), TT_OK);
    same_text("it is there", str_buf_text(&k->owned),
              "classic load balancer " NAME " - default/web used\n"
              "network load balancer " NAME " - default/web used\n"
              "security group k8s-elb-" NAME " - default/web used\n"
              "security group rule all traffic from sg-own sg-nodes default/web used\n"
              "target group k8s-default-web-0123456789 - default/web used\n");
}

/* A unit that list_owned says can be removed is removed by its Service, pieces and all. */
static void list__what_is_removable__is_removed(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {{"elb DescribeLoadBalancers", 0, FLOW_CLASSIC, 0},
                              {"tag-key", 0, FLOW_CLASSIC_GROUPS, 0},
                              {NULL, 0, NULL, 0}};
    k->rows = rows;
    assert_int_equal(flow_kit_open(k), TT_OK);
    struct aws_owned_list l;
    aws_owned_init(&l, k->a, &k->p->naming);
    const struct aws_tags tags = tags_of(k->a, "default/web", "owned");
    aws_owned_classic(&l, NAME, &tags);
    assert_int_equal(
        flow_kit_sync(k, TT_VERB_DELETE, TT_REASON_CLEANUP, aws_owned_service(&l, l.inv.items[0])),
        TT_OK);
    assert_int_equal(flow_kit_count(k, "elb DeleteLoadBalancer LoadBalancerName=" NAME), 1);
    assert_int_equal(flow_kit_count(k, "DeleteSecurityGroup GroupId=sg-own"), 1);
    assert_int_equal(flow_kit_count(k, "RevokeSecurityGroupIngress GroupId=sg-nodes"), 1);
    aws_owned_done(&l);
}

/* Tags are asked for twenty at a time, and only of what could be ours. */
static void list__tags__twenty_at_a_time(void **state)
{
    struct flow_kit *k = *state;
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    str_append(&b, "<LoadBalancerDescriptions>");
    for (int i = 0; i < 41; i++) {
        str_appendf(&b,
                    "<member><LoadBalancerName>a%031x</LoadBalancerName></member><member>"
                    "<LoadBalancerName>by-hand-%d</LoadBalancerName></member>",
                    (unsigned)i, i);
    }
    str_append(&b, "</LoadBalancerDescriptions>");
    struct flow_row rows[] = {{"elb DescribeLoadBalancers", 0, str_buf_text(&b), 0},
                              {NULL, 0, NULL, 0}};
    k->rows = rows;
    assert_int_equal(flow_kit_open(k), TT_OK);
    assert_int_equal(tt_aws_provider.list_owned(k->p, &k->call), TT_OK);
    assert_int_equal(flow_kit_count(k, "elb DescribeTags"), 3);
    assert_int_equal(flow_kit_count(k, "by-hand"), 0);
}

static void list__a_failure_is_a_finding(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {{"DescribeTargetGroups", 403, "AccessDenied no", 0},
                              {NULL, 0, NULL, 0}};
    k->rows = rows;
    assert_int_equal(flow_kit_open(k), TT_OK);
    assert_int_equal(tt_aws_provider.list_owned(k->p, &k->call), TT_FORBIDDEN);
    same_text("finding", k->finding,
              "DescribeTargetGroups: AccessDenied: the controller lacks the "
              "permission elasticloadbalancing:DescribeTargetGroups: no");
    same_text("nothing is listed", str_nonnull(str_buf_text(&k->owned)), "");
}

UNIT_MAIN(owned)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(names__of_balancers),
        PURE_TEST(balancers__by_tags),
        PURE_TEST(unit__has_one_owner),
        PURE_TEST(rules__in_a_group_of_two_clusters__are_unsure),
        PURE_TEST(target_groups__by_the_tag_of_the_service),
        PURE_TEST(group_of_an_nlb__by_its_description),
        PURE_TEST(remove_as__has_the_names_of_the_unit),
        PURE_TEST(remove_as__not_for_one_that_is_there_again),
        FLOW_TEST(list__of_everything),
        FLOW_TEST(list__what_is_removable__is_removed),
        FLOW_TEST(list__tags__twenty_at_a_time),
        FLOW_TEST(list__a_failure_is_a_finding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
