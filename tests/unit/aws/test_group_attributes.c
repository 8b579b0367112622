/* SPDX-License-Identifier: Apache-2.0 */
/* test_group_attributes.c: attributes of target groups that an edit takes out of their
 * annotation. */
#include "common/base/str.h"
#include "tests/support/unit.h"
#include "tests/unit/aws/flow_kit.h"

#define HIDES                                                                                      \
    "<Attributes><member><Key>preserve_client_ip.enabled</Key><Value>false</Value></member>"       \
    "<member><Key>proxy_protocol_v2.enabled</Key><Value>true</Value></member></Attributes>"
#define TAKES(text) "{\"type\":\"nlb\",\"target-group-attributes\":\"" text "\"}"

/* E2: an attribute that the annotation no longer names is AWS' own again, or source ranges would
 * let all clients in.  A process that did not see the edit looks where source ranges need it. */
static void group_attributes__named_no_more__are_aws_own_again(void **state)
{
    struct flow_kit *k = *state;
    static const char both[] = TAKES("preserve_client_ip.enabled=false,proxy_protocol_v2.enabled="
                                     "true");
    static const char few[] = "\"ports\":[{\"port\":80,\"protocol\":\"TCP\",\"nodePort\":30080}],"
                              "\"loadBalancerSourceRanges\":[\"192.0.2.0/24\"]";
    static const struct {
        const char *before, *now, *spec;
        bool made;
        bool keeps, proxy; /* is the attribute written? */
        size_t looks;
    } cases[] = {
        {both, "{\"type\":\"nlb\"}", NULL, false, true, true, 1},
        {both, TAKES("proxy_protocol_v2.enabled=true"), NULL, false, true, false, 1},
        {TAKES("preserve_client_ip.enabled=false"), "{\"type\":\"nlb\"}", NULL, false, true, false,
         1},
        {"{\"type\":\"nlb\"}", "{\"type\":\"nlb\"}", few, true, false, false, 0},
        {NULL, "{\"type\":\"nlb\"}", few, true, true, false, 1},
        {NULL, "{\"type\":\"nlb\"}", few, false, false, false, 0}, /* only taken over */
        {NULL, "{\"type\":\"nlb\"}", NULL, true, false, false, 0},
        {NULL, TAKES("preserve_client_ip.enabled=false"), few, true, false, false, 1},
    };
    static struct flow_row rows[] = {{"DescribeTargetGroupAttributes", 0, HIDES, 0},
                                     FLOW_NLB_IS_FINE};
    k->rows = rows;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct tt_service *now = aws_test_object(k->a, cases[i].now, cases[i].spec);
        k->previous =
            cases[i].before != NULL ? aws_test_object(k->a, cases[i].before, cases[i].spec) : NULL;
        k->made = cases[i].made;
        assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, now), TT_OK);
        assert_int_equal(flow_kit_count(k, "DescribeTargetGroupAttributes"), cases[i].looks);
        const char *asked = flow_kit_asked(k);
        const char *set = strstr(asked, "ModifyTargetGroupAttributes");
        bool keeps = strstr(str_nonnull(set), "Key=preserve_client_ip.enabled") != NULL;
        bool proxy = strstr(str_nonnull(set), "Key=proxy_protocol_v2.enabled") != NULL;
        if (keeps != cases[i].keeps || proxy != cases[i].proxy) {
            fail_msg("%zu: %s", i, asked);
        }
        (void)flow_kit_events(k);
        tt_aws_provider.close(k->p);
        k->p = NULL;
    }
}

/* A target group that is made has AWS' own values: they cost no call. */
static void group_attributes__of_a_new_group__are_not_written(void **state)
{
    struct flow_kit *k = *state;
    static struct flow_row rows[] = {
        {"CreateTargetGroup", 0,
         "<TargetGroups><member><TargetGroupArn>arn:new</TargetGroupArn></member></TargetGroups>",
         0},
        {"CreateListener", 0,
         "<Listeners><member><ListenerArn>arn:l</ListenerArn></member></Listeners>", 0},
        {"elbv2 CreateLoadBalancer", 0, FLOW_NLB_STATE("active"), 0},
        {NULL, 0, NULL, 0}};
    k->rows = rows;
    k->made = true;
    const struct tt_service *svc =
        aws_test_object(k->a, "{\"type\":\"nlb\"}",
                        "\"ports\":[{\"port\":80,\"protocol\":\"TCP\",\"nodePort\":30080}],"
                        "\"loadBalancerSourceRanges\":[\"192.0.2.0/24\"]");
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, svc), TT_OK);
    assert_int_equal(flow_kit_count(k, "CreateTargetGroup"), 1);
    assert_int_equal(flow_kit_count(k, "ModifyTargetGroupAttributes"), 0);
}

UNIT_MAIN(group_attributes)
{
    const struct CMUnitTest tests[] = {
        FLOW_TEST(group_attributes__named_no_more__are_aws_own_again),
        FLOW_TEST(group_attributes__of_a_new_group__are_not_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
