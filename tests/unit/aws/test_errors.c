/* SPDX-License-Identifier: Apache-2.0 */
/* test_errors.c: AWS' refusals as codes that can be acted on (docs/spec/aws.md 2.8,
 * 2.9, 3.3, 11.16). */
#include "providers/aws/api/aws_errors.h"
#include "tests/support/unit.h"
#include "tests/unit/gce/pure.h"

static void code__of_each_word(void **state)
{
    static const struct {
        const char *action;
        int status;
        const char *word;
        int code;
    } rows[] = {
        {"DescribeLoadBalancers", 400, "LoadBalancerNotFound", ERR_NOT_FOUND},
        {"DeleteTargetGroup", 400, "TargetGroupNotFound", ERR_NOT_FOUND},
        {"DeleteListener", 400, "ListenerNotFound", ERR_NOT_FOUND},
        {"DescribeLoadBalancerPolicies", 400, "PolicyNotFound", ERR_NOT_FOUND},
        {"DeleteSecurityGroup", 400, "InvalidGroup.NotFound", ERR_NOT_FOUND},
        {"DescribeInstances", 400, "InvalidInstanceID.NotFound", ERR_NOT_FOUND},
        {"DeleteSecurityGroup", 400, "DependencyViolation", ERR_IN_USE},
        {"DeleteTargetGroup", 400, "ResourceInUse", ERR_IN_USE},
        {"CreateSecurityGroup", 400, "InvalidGroup.Duplicate", ERR_EXISTS},
        {"CreateLoadBalancer", 400, "DuplicateLoadBalancerName", ERR_EXISTS},
        {"CreateTargetGroup", 400, "DuplicateTargetGroupName", ERR_EXISTS},
        {"CreateListener", 400, "DuplicateListener", ERR_EXISTS},
        {"CreateLoadBalancerPolicy", 400, "DuplicatePolicyName", ERR_EXISTS},
        {"CreateLoadBalancer", 400, "DuplicateTagKeys", ERR_INVALID},
        {"AuthorizeSecurityGroupIngress", 400, "InvalidPermission.Duplicate", ERR_CONFLICT},
        {"RevokeSecurityGroupIngress", 400, "InvalidPermission.NotFound", ERR_CONFLICT},
        {"AuthorizeSecurityGroupIngress", 400, "RulesPerSecurityGroupLimitExceeded", ERR_QUOTA},
        {"CreateSecurityGroup", 400, "SecurityGroupLimitExceeded", ERR_QUOTA},
        {"CreateLoadBalancer", 400, "TooManyLoadBalancers", ERR_QUOTA},
        {"RegisterTargets", 400, "TooManyTargets", ERR_QUOTA},
        {"AddTags", 400, "TooManyTags", ERR_QUOTA},
        {"CreateListener", 400, "TargetGroupAssociationLimit", ERR_QUOTA},
        {"CreateLoadBalancer", 403, "UnauthorizedOperation", ERR_FORBIDDEN},
        {"CreateLoadBalancer", 403, "AccessDenied", ERR_FORBIDDEN},
        {"CreateLoadBalancer", 400, "AccessDeniedException", ERR_FORBIDDEN},
        {"DescribeSubnets", 401, "AuthFailure", ERR_AUTH},
        {"DescribeSubnets", 403, "SignatureDoesNotMatch", ERR_AUTH},
        {"DescribeSubnets", 403, "InvalidClientTokenId", ERR_AUTH},
        {"DescribeSubnets", 403, "ExpiredToken", ERR_AUTH},
        {"DescribeSubnets", 400, "RequestExpired", ERR_AUTH},
        {"DescribeSubnets", 503, "RequestLimitExceeded", ERR_THROTTLED},
        {"DescribeLoadBalancers", 400, "Throttling", ERR_THROTTLED},
        {"DescribeLoadBalancers", 400, "ThrottlingException", ERR_THROTTLED},
        {"ModifyListener", 400, "PriorRequestNotComplete", ERR_THROTTLED},
        {"ModifyListener", 400, "TooManyRequestsException", ERR_THROTTLED},
        {"ModifyListener", 400, "LimitExceededException", ERR_THROTTLED},
        {"CreateListener", 400, "CertificateNotFound", ERR_TRANSIENT},
        {"RegisterTargets", 400, "InvalidTarget", ERR_INVALID},
        {"RegisterInstancesWithLoadBalancer", 400, "InvalidInstance", ERR_INVALID},
        {"DeleteLoadBalancer", 400, "OperationNotPermitted", ERR_INVALID},
        {"CreateLoadBalancer", 400, "SubnetNotFound", ERR_TRANSIENT},
        {"CreateLoadBalancer", 400, "AllocationIdNotFound", ERR_TRANSIENT},
        {"CreateLoadBalancer", 400, "InvalidConfigurationRequest", ERR_INVALID},
        {"CreateLoadBalancer", 400, "ValidationError", ERR_INVALID},
        {"CreateLoadBalancer", 500, "InternalFailure", ERR_TRANSIENT},
        {"CreateLoadBalancer", 503, "ServiceUnavailable", ERR_TRANSIENT},
        {"CreateLoadBalancer", 500, "SomethingNew", ERR_TRANSIENT},
        {"CreateLoadBalancer", 403, "SomethingNew", ERR_FORBIDDEN},
        {"CreateLoadBalancer", 404, "SomethingNew", ERR_INVALID},
        /* said of something else than what the action is about */
        {"AddTags", 400, "LoadBalancerNotFound", ERR_CONFLICT}, /* 10.4 row 31 */
        {"CreateTags", 400, "InvalidGroup.NotFound", ERR_TRANSIENT},
        /* no code: the status alone */
        {"DescribeSubnets", 400, NULL, ERR_INVALID},
        {"DescribeSubnets", 401, "", ERR_AUTH},
        {"DescribeSubnets", 403, NULL, ERR_FORBIDDEN},
        {"DescribeSubnets", 404, NULL, ERR_TRANSIENT},
        {"DescribeSubnets", 413, NULL, ERR_INVALID},
        {"DescribeSubnets", 429, NULL, ERR_THROTTLED},
        {"DescribeSubnets", 500, NULL, ERR_TRANSIENT},
        {"DescribeSubnets", 302, NULL, ERR_TRANSIENT},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int got = aws_error_code(AWS_EC2, rows[i].action, rows[i].status, rows[i].word);
        if (got != rows[i].code) {
            fail_msg("%s %d %s: got %s, want %s", rows[i].action, rows[i].status,
                     str_nonnull(rows[i].word), err_code_name(got), err_code_name(rows[i].code));
        }
    }
}

static void retried__by_status_and_code(void **state)
{
    (void)state;
    for (int status = 500; status <= 504; status++) {
        assert_int_equal(aws_error_is_retried(status, NULL), status != 501);
    }
    assert_false(aws_error_is_retried(400, "ValidationError"));
    assert_false(aws_error_is_retried(429, NULL)); /* 2.9 knows it by its code only */
    assert_true(aws_error_is_retried(400, "RequestTimeout"));
    assert_true(aws_error_is_retried(400, "Throttling"));
    assert_true(aws_error_is_retried(400, "SlowDown"));
    assert_false(aws_error_is_retried(400, "throttling")); /* exactly */
    assert_true(aws_error_is_throttle("RequestLimitExceeded"));
    assert_true(aws_error_is_throttle("Throttling"));
    assert_false(aws_error_is_throttle("SlowDown"));
    assert_false(aws_error_is_throttle(""));
}

static struct err error_of(struct arena *a, int status, const char *body)
{
    const struct aws_node *root = NULL;
    struct err err = ERR_INIT;
    assert_int_equal(aws_xml_parse(a, body, strlen(body), &root, &err), ERR_OK);
    (void)aws_error_of_answer(AWS_ELB, "DescribeLoadBalancers", status, root, &err);
    return err;
}

static void answer__fixtures__say_code_text_and_request(void **state)
{
    struct err err = error_of(
        *state, 400,
        "<ErrorResponse xmlns=\"http://elasticloadbalancing.amazonaws.com/doc/2012-06-01/\"><Error>"
        "<Type>Sender</Type><Code>LoadBalancerNotFound</Code><Message>There is no ACTIVE Load "
        "Balancer named 'a1'</Message></Error><RequestId>r-1</RequestId></ErrorResponse>");
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_int_equal(err.http_status, 400);
    same_text("elb", err.reason, "LoadBalancerNotFound");
    same_text("elb", err.message,
              "LoadBalancerNotFound: There is no ACTIVE Load Balancer named 'a1' (request r-1)");
    err = error_of(*state, 400,
                   "<Response><Errors><Error><Code>InvalidGroup.NotFound</Code><Message>no &amp; "
                   "no</Message></Error></Errors><RequestID>r-2</RequestID></Response>");
    same_text("ec2", err.message, "InvalidGroup.NotFound: no & no (request r-2)");
    err = error_of(*state, 400,
                   "<Response><Errors><Error><Code>X</Code></Error></Errors></Response>");
    same_text("bare", err.message, "X");
    err = error_of(*state, 500, "<html><head><title>500</title></head></html>");
    assert_int_equal(err.code, ERR_TRANSIENT);
    same_text("HTML", err.message, "HTTP status 500");
    same_text("HTML", err.reason, "");
}

static void answer__endless_text__is_cut_and_keeps_the_request(void **state)
{
    struct arena *a = *state;
    char *text = arena_alloc(a, 5001);
    for (int i = 0; i < 5000; i += 2) {
        memcpy(text + i, "\xc3\xa4", 2);
    }
    struct err err = error_of(
        a, 400,
        arena_printf(a,
                     "<Response><Errors><Error><Code>%.300s</Code><Message>%s</Message></Error>"
                     "</Errors><RequestID>r-3</RequestID></Response>",
                     text, text));
    assert_true(str_is_utf8(err.message, strlen(err.message)));
    assert_true(str_is_utf8(err.reason, strlen(err.reason)));
    assert_non_null(strstr(err.message, "(request r-3)"));
}

UNIT_MAIN(errors)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(code__of_each_word),
        PURE_TEST(retried__by_status_and_code),
        PURE_TEST(answer__fixtures__say_code_text_and_request),
        PURE_TEST(answer__endless_text__is_cut_and_keeps_the_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
