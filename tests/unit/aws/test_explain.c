/* SPDX-License-Identifier: Apache-2.0 */
/* test_explain.c: explain and validate, word for word (docs/ux.md). */
#include "tests/support/unit.h"
#include "tests/unit/aws/flow_kit.h"

static void explain__a_plain_service(void **state)
{
    struct flow_kit *k = *state;
    k->nodes = "n1 n2";
    same_text("classic", flow_kit_explain(k, aws_test_object(k->a, NULL, NULL)),
              "default/web is served by the internet-facing classic load balancer " NAME ".\n"
              "  aws-load-balancer-type       not set          → classic load balancer\n"
              "  aws-load-balancer-internal   not set          → internet-facing\n"
              "  externalTrafficPolicy        Cluster          → every node serves\n"
              "  security group               k8s-elb-" NAME " → rules are kept by the controller\n"
              "  rules in groups of nodes     kept by the controller\n"
              "  load balancer                " NAME " → named after the Service's UID\n"
              "  is there                     no\n"
              "\n"
              "Nodes: 2 of 2 take part\n");
}

static void explain__an_nlb_with_a_managed_group(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {FLOW_NLB_IS_FINE};
    k->rows = rows;
    k->config = "NLBSecurityGroupMode=Managed";
    const char *text = flow_kit_explain(
        k, aws_test_object(k->a, "{\"type\":\"nlb\",\"internal\":\"true\"}", NULL));
    same_text("nlb", text,
              "default/web is served by the internet-facing NLB " NAME ".\n"
              "  aws-load-balancer-type       nlb              → NLB\n"
              "  aws-load-balancer-internal   true             → internal\n"
              "  externalTrafficPolicy        Cluster          → every node serves\n"
              "  NLBSecurityGroupMode         Managed          → k8s-default-web-133a436e34\n"
              "  rules in groups of nodes     kept by the controller\n"
              "  load balancer                " NAME " → named after the Service's UID\n"
              "  is there                     a network load balancer → stays internet-facing: its "
              "scheme cannot be changed\n"
              "  DNS name                     nlb.example\n"
              "\n"
              "Nodes: 1 of 1 take part\n");
}

static void explain__another_type_is_there(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {FLOW_CLASSIC_IS_FINE};
    k->rows = rows;
    const char *text = flow_kit_explain(k, aws_test_object(k->a, "{\"type\":\"nlb\"}", NULL));
    assert_non_null(strstr(text,
                           "  is there                     a classic load balancer → its type "
                           "cannot be changed\n"));
    assert_true(strstr(text, "default/web asks for an internet-facing NLB, and is served by the "
                             "classic load balancer\n") == text);
    assert_non_null(strstr(text, "\n  " NAME ", whose type cannot be changed.\n"));
}

static void explain__groups_by_annotation(void **state)
{
    struct flow_kit *k = *state;
    const struct tt_service *svc =
        aws_test_object(k->a, "{\"type\":\"nlb\",\"security-groups\":\"sg-1,sg-2\"}", NULL);
    assert_null(strstr(flow_kit_explain(k, svc), "sg-1"));
    tt_aws_provider.close(k->p);
    k->p = NULL;
    k->config = "NLBSecurityGroupMode=Managed";
    assert_non_null(strstr(flow_kit_explain(k, svc), "sg-1, sg-2"));
}

static void explain__left_to_the_other_controller(void **state)
{
    struct flow_kit *k = *state;
    const char *text = flow_kit_explain(k, aws_test_object(k->a, "{\"type\":\"external\"}", NULL));
    assert_true(strstr(text, "default/web is left to aws-load-balancer-controller.\n") == text);
    assert_null(strstr(text, "Nodes:"));
}

/* With trimtab's finalizer, and a status that names a load balancer. */
static const struct tt_service *handed(struct flow_kit *k, const char *over)
{
    const char *text = arena_printf(
        k->a,
        "{\"metadata\":{\"namespace\":\"default\",\"name\":\"web\",\"uid\":\"" UID
        "\",\"finalizers\":[\"service.kubernetes.io/load-balancer-cleanup\"],\"annotations\":{"
        "\"" AWS_ANNOTATION "type\":\"external\",\"" AWS_ANNOTATION
        "handed-over\":\"%s\"}},\"spec\":{\"type\":\"LoadBalancer\",\"ports\":[{\"port\":80,"
        "\"nodePort\":30080}]},\"status\":{\"loadBalancer\":{\"ingress\":[{\"hostname\":\"" NAME
        "-1.elb.example\"}]}}}",
        over);
    return test_service_text(k->a, text);
}

static void explain__to_be_left_to_the_other_controller(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {FLOW_NLB_IS_FINE};
    k->rows = rows;
    const char *text = flow_kit_explain(k, handed(k, "no"));
    assert_non_null(strstr(text, "is to be left to another controller"));
    assert_non_null(strstr(text, "is there                     a network load balancer\n"));
    assert_non_null(strstr(text, "Nodes: 1 of 1 take part"));
    assert_null(strstr(text, "rules are kept by the controller")); /* not of this Service */
    text = flow_kit_explain(k, handed(k, "true"));
    assert_true(strstr(text, "default/web is left to aws-load-balancer-controller; ") == text);
    assert_non_null(strstr(text, NAME "\n  of trimtab is deleted.\n"));
    assert_null(strstr(text, "Nodes:"));
}

static void explain__refused(void **state)
{
    struct flow_kit *k = *state;
    const char *text = flow_kit_explain(k, aws_test_object(k->a, NULL, "\"ports\":[]"));
    assert_true(strstr(text, "default/web is refused: ") == text);
}

static void explain__what_an_earlier_run_left(void **state)
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
    const char *text = flow_kit_explain(k, aws_test_object(k->a, NULL, NULL));
    assert_non_null(strstr(text, "left by an earlier run"));
    assert_non_null(strstr(text, "k8s-default-web-0123456789"));
    assert_int_equal(flow_kit_count(k, "Delete"), 0);
}

static int32_t validate(struct flow_kit *k, const struct tt_service *svc)
{
    const struct tt_item item = {
        .size = sizeof(item), .verb = TT_VERB_ENSURE, .service = svc, .result = &k->r};
    assert_int_equal(flow_kit_open(k), TT_OK);
    k->r = (struct tt_result){0};
    int32_t code = tt_aws_provider.validate(k->p, &item);
    assert_int_equal(code, k->r.code);
    return code;
}

static void validate__without_a_call(void **state)
{
    struct flow_kit *k = *state;
    assert_int_equal(validate(k, aws_test_object(k->a, NULL, NULL)), TT_OK);
    assert_int_equal(validate(k, aws_test_object(k->a, "{\"type\":\"external\"}", NULL)), TT_OK);
    assert_int_equal(validate(k, aws_test_object(k->a, NULL, "\"ports\":[]")), TT_INVALID);
    assert_int_equal(
        validate(k, aws_test_object(k->a, "{\"healthcheck-interval\":\"soon\"}", NULL)),
        TT_INVALID);
    same_text("asked", flow_kit_asked(k), "");
}

UNIT_MAIN(explain)
{
    const struct CMUnitTest tests[] = {
        FLOW_TEST(explain__a_plain_service),
        FLOW_TEST(explain__an_nlb_with_a_managed_group),
        FLOW_TEST(explain__another_type_is_there),
        FLOW_TEST(explain__groups_by_annotation),
        FLOW_TEST(explain__left_to_the_other_controller),
        FLOW_TEST(explain__to_be_left_to_the_other_controller),
        FLOW_TEST(explain__refused),
        FLOW_TEST(explain__what_an_earlier_run_left),
        FLOW_TEST(validate__without_a_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
