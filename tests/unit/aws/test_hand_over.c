/* SPDX-License-Identifier: Apache-2.0 */
/* test_hand_over.c: a Service of another controller whose status names no load balancer any more:
 * what is there decides, not the annotation of the moment (docs/providers/aws.md). */
#include "tests/support/unit.h"
#include "tests/unit/aws/flow_kit.h"

#include "common/lb/mark_rules.h"
#include "common/lb/service_rules.h"

/* With trimtab's finalizer and an empty status; `mark` NULL: none. */
static const struct tt_service *unnamed(struct flow_kit *k, const char *over, const char *mark)
{
    const char *marked =
        mark == NULL ? "" : arena_printf(k->a, ",\"" LB_MARK_ANNOTATION "\":\"%s\"", mark);
    return test_service_text(
        k->a,
        arena_printf(k->a,
                     "{\"metadata\":{\"namespace\":\"default\",\"name\":\"web\",\"uid\":\"" UID
                     "\",\"finalizers\":[\"service.kubernetes.io/load-balancer-cleanup\"],"
                     "\"annotations\":{\"" AWS_ANNOTATION "type\":\"external\",\"" AWS_ANNOTATION
                     "handed-over\":\"%s\"%s}},\"spec\":{\"type\":\"LoadBalancer\","
                     "\"sessionAffinity\":\"None\",\"ports\":[{\"port\":80,\"protocol\":\"TCP\","
                     "\"nodePort\":30080}]}}",
                     over, marked));
}

static int32_t ensure(struct flow_kit *k, const struct tt_service *svc)
{
    k->r = (struct tt_result){0};
    return flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, svc);
}

static void unnamed__is_there__stays_and_is_named_again(void **state)
{
    static const char *const marks[] = {NULL, UID " " NAME "-1.elb.example"};
    struct flow_kit *k = *state;
    for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
        struct flow_row rows[] = {FLOW_CLASSIC_IS_FINE};
        k->rows = rows;
        assert_int_equal(ensure(k, unnamed(k, "", marks[i])), TT_OK);
        assert_int_equal(flow_kit_count(k, "Delete"), 0);
        same_text("status", k->r.ingress, "classic.example");
        assert_int_equal(k->r.own, TT_OWN_STAYS);
        assert_non_null(strstr(flow_kit_findings(k), "load balancer, and ours is there, which"));
        (void)flow_kit_asked(k);
    }
}

static void unnamed__was_never_complete__goes(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {FLOW_CLASSIC_IS_FINE};
    k->rows = rows;
    assert_int_equal(ensure(k, unnamed(k, "", UID)), TT_OK);
    assert_int_equal(flow_kit_count(k, "DeleteLoadBalancer "), 1);
    assert_int_equal(k->r.own, TT_OWN_GOES);
}

static void unnamed__handed_over__goes(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {FLOW_NLB_IS_FINE};
    k->rows = rows;
    assert_int_equal(ensure(k, unnamed(k, "true", NULL)), TT_OK);
    assert_int_equal(flow_kit_count(k, "DeleteLoadBalancer "), 1);
}

static void unnamed__is_not_there__let_go(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row none[] = {{NULL, 0, NULL, 0}};
    k->rows = none;
    assert_int_equal(ensure(k, unnamed(k, "", UID " " NAME "-1.elb.example")),
                     TT_IMPLEMENTED_ELSEWHERE);
    same_text("finalizer", k->r.dropped, "service.kubernetes.io/load-balancer-cleanup");
}

static void handed_over__a_value_that_is_neither__told(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {FLOW_CLASSIC_IS_FINE};
    k->rows = rows;
    assert_int_equal(ensure(k, unnamed(k, "TRUE", NULL)), TT_OK);
    assert_int_equal(flow_kit_count(k, "Delete"), 0);
    assert_non_null(
        strstr(flow_kit_findings(k), "handed-over: \"TRUE\" counts as false; want true or false"));
}

UNIT_MAIN(hand_over)
{
    const struct CMUnitTest tests[] = {
        FLOW_TEST(unnamed__is_there__stays_and_is_named_again),
        FLOW_TEST(unnamed__was_never_complete__goes),
        FLOW_TEST(unnamed__handed_over__goes),
        FLOW_TEST(unnamed__is_not_there__let_go),
        FLOW_TEST(handed_over__a_value_that_is_neither__told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
