/* SPDX-License-Identifier: Apache-2.0 */
/* access.c: who may call the simulated AWS, how often, and what an injected fault looks like there.
 *
 * Source: docs/spec/aws.md §2.7, §2.8, §2.9, §3.3. */
#include "tests/unit/sim/aws/aws_fixture.h"

#include "sim/aws/aws.h"
#include "tests/support/clock_fake.h"
#include "tests/support/unit.h"

#include <string.h>

#define START_S 1700000000LL

/* --- signatures ------------------------------------------------------------------------------- */

struct signer_row {
    const char *what;
    struct amz_signer who;
    const char *service, *action;
    int status;
    const char *code;
};

static const struct signer_row signers[] = {
    {"as it should be", {0}, "ec2", "DescribeVpcs", 200, NULL},
    {"an unknown key, EC2", {.access_key = "AKIAOTHER"}, "ec2", "DescribeVpcs", 401, "AuthFailure"},
    {"an unknown key, ELB",
     {.access_key = "AKIAOTHER"},
     "elb",
     "DescribeLoadBalancers",
     403,
     "InvalidClientTokenId"},
    {"an unknown key, STS",
     {.access_key = "AKIAOTHER"},
     "sts",
     "GetCallerIdentity",
     403,
     "InvalidClientTokenId"},
    {"a wrong secret, EC2", {.secret = "guess"}, "ec2", "DescribeVpcs", 401, "AuthFailure"},
    {"a wrong secret, ELB",
     {.secret = "guess"},
     "elb",
     "DescribeLoadBalancers",
     403,
     "SignatureDoesNotMatch"},
    {"another host is signed, EC2",
     {.host = "ec2.us-east-1.amazonaws.com"},
     "ec2",
     "DescribeVpcs",
     401,
     "AuthFailure"},
    {"another host is signed, ELBv2",
     {.host = "ec2.us-east-1.amazonaws.com"},
     "elbv2",
     "DescribeLoadBalancers",
     403,
     "SignatureDoesNotMatch"},
    {"another region",
     {.region = "eu-west-1"},
     "ec2",
     "DescribeVpcs",
     403,
     "SignatureDoesNotMatch"},
    {"another service",
     {.scope = "elasticloadbalancing"},
     "ec2",
     "DescribeVpcs",
     403,
     "SignatureDoesNotMatch"},
    {"the API's name is not the service's",
     {.scope = "elb"},
     "elb",
     "DescribeLoadBalancers",
     403,
     "SignatureDoesNotMatch"},
    {"the scope is of another day",
     {.scope_date = "20231113"},
     "ec2",
     "DescribeVpcs",
     403,
     "SignatureDoesNotMatch"},
    {"the date is not signed",
     {.without_date = true},
     "ec2",
     "DescribeVpcs",
     403,
     "SignatureDoesNotMatch"},
    {"a date of another form",
     {.amz_date = "2023-11-14T22:13:20Z"},
     "ec2",
     "DescribeVpcs",
     400,
     "IncompleteSignature"},
    {"five minutes behind", {.ahead_s = -300}, "ec2", "DescribeVpcs", 200, NULL},
    {"five minutes ahead", {.ahead_s = 300}, "sts", "GetCallerIdentity", 200, NULL},
    {"more than that, EC2", {.ahead_s = -301}, "ec2", "DescribeVpcs", 400, "RequestExpired"},
    {"more than that, ELBv2",
     {.ahead_s = 301},
     "elbv2",
     "DescribeLoadBalancers",
     403,
     "RequestTimeTooSkewed"},
    {"a quarter of an hour",
     {.ahead_s = -900},
     "elbv2",
     "DescribeLoadBalancers",
     403,
     "RequestTimeTooSkewed"},
    {"more than a quarter",
     {.ahead_s = -901},
     "elbv2",
     "DescribeLoadBalancers",
     400,
     "RequestExpired"},
};

static void signature__each_row__is_taken_or_refused(void **state)
{
    (void)state;
    struct clock *clock = clock_fake_new(1000000, START_S * 1000000);
    struct sim_config cfg = {.nodes = 1, .clock = clock};
    struct fixture *f = amz_start("signatures", &cfg);
    for (size_t i = 0; i < ARRAY_LEN(signers); i++) {
        const struct signer_row *r = &signers[i];
        int status = amz_call_as(f, &r->who, r->service, r->action, NULL);
        amz_expect(f, r->what, status, r->status, r->code);
        assert_string_equal(fixture_header(f, "Date"), "Tue, 14 Nov 2023 22:13:20 GMT");
        assert_int_equal(strlen(fixture_header(f, "x-amzn-RequestId")), 36);
    }
    fixture_stop(f);
    clock_fake_free(clock);
}

static int unsigned_call(struct fixture *f, const char *authorization, const char *body)
{
    const char *headers[] = {authorization, NULL};
    f->headers = headers;
    int status = fixture_call(f, "POST", "/", body);
    f->headers = NULL;
    return status;
}

static void signature__missing_or_cut__refused_in_the_form_of_the_service(void **state)
{
    static const char vpcs[] = "Action=DescribeVpcs&Version=2016-11-15";
    (void)state;
    struct fixture *f = amz_start("unsigned", NULL);
    assert_int_equal(unsigned_call(f, NULL, vpcs), 403);
    assert_non_null(strstr(f->text, "<Response><Errors><Error><Code>MissingAuthenticationToken<"));
    assert_int_equal(unsigned_call(f, NULL, "Action=DescribeLoadBalancers&Version=2012-06-01"),
                     403);
    assert_non_null(strstr(f->text, "<Type>Sender</Type><Code>MissingAuthenticationToken</Code>"));
    assert_int_equal(unsigned_call(f, "Authorization: Bearer x", vpcs), 400);
    assert_non_null(strstr(f->text, "<Code>IncompleteSignature</Code>"));
    assert_int_equal(
        unsigned_call(f, "Authorization: AWS4-HMAC-SHA256 Credential=a/20260102/r/s/aws4_request",
                      vpcs),
        400);
    assert_non_null(strstr(f->text, "requires 'SignedHeaders'"));
    amz_settings(f, "{\"verify_signatures\":false}");
    assert_int_equal(unsigned_call(f, NULL, "Action=GetCallerIdentity&Version=2011-06-15"), 200);
    fixture_stop(f);
}

/* --- what is no action ------------------------------------------------------------------------ */

static void action__unknown__refused(void **state)
{
    static const struct {
        const char *body, *code, *op;
    } rows[] = {
        {"Action=DescribeFleets&Version=2016-11-15", "InvalidAction", "unknown"},
        {"Action=DescribeVpcs&Version=2012-06-01", "InvalidAction", "unknown"},
        {"Action=DescribeVpcs&Version=2013-01-01", "InvalidAction", "unknown"},
        {"Action=DescribeVpcs", "InvalidAction", "unknown"},
        {"Version=2016-11-15", "MissingAction", "unknown"},
        {"Action=Describe%GG", "MalformedQueryString", "unknown"},
    };
    (void)state;
    struct fixture *f = amz_start(NULL, NULL);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(unsigned_call(f, NULL, rows[i].body), 400);
        if (!strstr(f->text, arena_printf(f->a, "<Code>%s</Code>", rows[i].code))) {
            fail_msg("%s: got %s, want %s", rows[i].body, f->text, rows[i].code);
        }
    }
    fixture_must(f, "GET", "/sim/calls", NULL);
    assert_int_equal(json_int(json_member(f->answer, "aws"), "unknown", 0), ARRAY_LEN(rows));
    fixture_stop(f);
}

static void unreadable__refused_in_the_form_of_the_service(void **state)
{
    static const struct {
        const char *scope, *body, *form;
    } rows[] = {
        {NULL, "Action=DescribeTags&Version=2015-12-01&ResourceArns.member.1=%00",
         "<ErrorResponse"},
        {NULL, "Action=DescribeTags&Version=2012-06-01&x=%", "<ErrorResponse"},
        {NULL, "Action=DescribeVpcs&Version=2016-11-15&x=%", "<Response>"},
        {NULL, "Action=DescribeTags&Version=2016-01-01", "<Response>"},
        {"elasticloadbalancing", "Action=DescribeTags&Version=2016-01-01", "<ErrorResponse"},
        {"sts", "Action=GetCallerIdentity", "<ErrorResponse"},
        {"ec2", "Action=DescribeVpcs", "<Response>"},
        {"ec2", "Action=DescribeTags&Version=2015-12-01&x=%", "<ErrorResponse"},
    };
    (void)state;
    struct fixture *f = amz_start(NULL, NULL);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *scope =
            rows[i].scope
                ? arena_printf(
                      f->a,
                      "Authorization: AWS4-HMAC-SHA256 Credential=a/20260102/r/%s/aws4_request",
                      rows[i].scope)
                : NULL;
        assert_int_equal(unsigned_call(f, scope, rows[i].body), 400);
        if (!strstr(f->text, rows[i].form)) {
            fail_msg("%s: got %s, want %s", rows[i].body, f->text, rows[i].form);
        }
    }
    fixture_stop(f);
}

static void parameters__wrong__refused_in_the_words_of_the_service(void **state)
{
    static const struct amz_row rows[] = {
        {"unknown, EC2", "ec2", "DescribeVpcs", "Colour=red", 400, "UnknownParameter", "Colour"},
        {"missing, EC2", "ec2", "CreateSecurityGroup", "GroupName=x", 400, "MissingParameter",
         "GroupDescription"},
        {"value, EC2", "ec2", "DescribeInstances", "MaxResults=x", 400, "InvalidParameterValue",
         "MaxResults"},
        {"a dry run", "ec2", "DescribeVpcs", "DryRun=true", 412, "DryRunOperation", NULL},
        {"unknown, ELB", "elb", "DescribeLoadBalancers", "Names.member.1=x", 400, "ValidationError",
         "Names"},
        {"missing, ELBv2", "elbv2", "DescribeLoadBalancerAttributes", NULL, 400, "ValidationError",
         "LoadBalancerArn"},
        {"value, ELBv2", "elbv2", "DescribeLoadBalancers", "PageSize=0", 400, "ValidationError",
         "from 1 to 400"},
    };
    (void)state;
    struct fixture *f = amz_start(NULL, NULL);
    amz_check_refusals(f, rows, ARRAY_LEN(rows));
    fixture_stop(f);
}

/* --- throttling ------------------------------------------------------------------------------- */

static void throttle__by_service_and_cost__until_tokens_come_back(void **state)
{
    (void)state;
    struct clock *clock = clock_fake_new(1000000, START_S * 1000000);
    struct sim_config cfg = {.nodes = 1, .clock = clock};
    struct fixture *f = amz_start("throttle", &cfg);
    amz_settings(f, "{\"throttle\":{\"ec2\":{\"unfiltered\":{\"bucket\":2,\"per_second\":1}},"
                    "\"sts\":{\"reads\":{\"bucket\":1,\"per_second\":10}}}}");
    amz_must(f, "ec2", "DescribeVpcs", NULL);
    amz_must(f, "ec2", "DescribeVpcs", NULL);
    amz_expect(f, "a third", amz_call(f, "ec2", "DescribeVpcs", NULL), 503, "RequestLimitExceeded");
    amz_must(f, "ec2", "DescribeVpcs", "Filter.1.Name=vpc-id&Filter.1.Value.1=vpc-1");
    clock_fake_advance(clock, 999);
    amz_expect(f, "too early", amz_call(f, "ec2", "DescribeVpcs", NULL), 503,
               "RequestLimitExceeded");
    clock_fake_advance(clock, 1);
    amz_must(f, "ec2", "DescribeVpcs", NULL);

    amz_must(f, "sts", "GetCallerIdentity", NULL);
    amz_expect(f, "STS", amz_call(f, "sts", "GetCallerIdentity", NULL), 400, "Throttling");
    amz_settings(f, "{}");
    amz_must(f, "ec2", "DescribeVpcs", NULL);
    amz_must(f, "ec2", "DescribeVpcs", NULL);
    fixture_stop(f);
    clock_fake_free(clock);
}

/* --- faults ----------------------------------------------------------------------------------- */

static void fault(struct fixture *f, const char *json)
{
    fixture_must(f, "POST", "/sim/faults", json);
}

static void fault__of_each_kind__in_the_form_of_the_service(void **state)
{
    static const struct {
        const char *fault, *service, *action;
        int status;
        const char *code;
    } rows[] = {
        {"{\"match\":{\"api\":\"aws\",\"op\":\"ec2.DescribeVpcs\"},\"do\":\"throttle\"}", "ec2",
         "DescribeVpcs", 503, "RequestLimitExceeded"},
        {"{\"match\":{\"op\":\"elb.*\"},\"do\":\"throttle\"}", "elb", "DescribeLoadBalancers", 400,
         "Throttling"},
        {"{\"match\":{\"op\":\"elbv2.*\"},\"do\":\"refuse\"}", "elbv2", "DescribeLoadBalancers",
         503, "ServiceUnavailable"},
        {"{\"match\":{\"op\":\"ec2.*\"},\"do\":\"refuse\",\"status\":500}", "ec2", "DescribeVpcs",
         500, "InternalError"},
        {"{\"match\":{\"op\":\"ec2.*\"},\"do\":\"refuse\",\"status\":403}", "ec2", "DescribeVpcs",
         403, "UnauthorizedOperation"},
        {"{\"match\":{\"op\":\"elbv2.*\"},\"do\":\"refuse\",\"status\":403}", "elbv2",
         "DescribeLoadBalancers", 403, "AccessDenied"},
        {"{\"match\":{\"op\":\"elb.*\"},\"do\":\"refuse\",\"status\":400,\"body\":{\"Code\":"
         "\"LoadBalancerNotFound\",\"Message\":\"<gone>\"}}",
         "elb", "DescribeLoadBalancers", 400, "LoadBalancerNotFound"},
        {"{\"match\":{\"api\":\"metadata\",\"op\":\"sts.*\"},\"do\":\"refuse\",\"status\":400,"
         "\"body\":{\"Code\":\"IDPCommunicationError\"}}",
         "sts", "GetCallerIdentity", 400, "IDPCommunicationError"},
    };
    (void)state;
    struct fixture *f = amz_start("faults", NULL);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        fault(f, rows[i].fault);
        amz_expect(f, rows[i].fault, amz_call(f, rows[i].service, rows[i].action, NULL),
                   rows[i].status, rows[i].code);
    }
    fixture_stop(f);
}

static void fault__text_and_lost_answers__as_for_other_clouds(void **state)
{
    (void)state;
    struct fixture *f = amz_start(NULL, NULL);
    fault(f, "{\"match\":{\"api\":\"aws\"},\"do\":\"refuse\",\"status\":502,\"body\":\"<html>\"}");
    amz_expect(f, "a proxy", fixture_call(f, "POST", "/", "Action=DescribeVpcs&Version=2016-11-15"),
               502, NULL);
    assert_string_equal(f->text, "<html>");
    fault(f, "{\"match\":{\"api\":\"aws\"},\"do\":\"lose\"}");
    assert_int_equal(amz_call(f, "ec2", "DescribeVpcs", NULL), 0);
    fault(f, "{\"match\":{\"path\":\"/latest/api/token\"},\"do\":\"refuse\",\"status\":403}");
    assert_int_equal(fixture_call(f, "PUT", "/latest/api/token", NULL), 403);
    fixture_stop(f);
}

/* --- settings --------------------------------------------------------------------------------- */

static void settings__unknown_or_of_another_type__refused(void **state)
{
    static const char *const rows[] = {
        "{\"colour\":1}",
        "{\"page_size\":\"x\"}",
        "{\"imds_tokens\":\"maybe\"}",
        "{\"throttle\":[]}",
        "{\"throttle\":{\"ec3\":{}}}",
        "{\"throttle\":{\"ec2\":{\"read\":{\"bucket\":1}}}}",
        "{\"throttle\":{\"ec2\":{\"reads\":{\"bucket\":\"x\"}}}}",
        "{\"quotas\":{\"listener\":1}}",
        "{\"quotas\":{\"listeners\":-1}}",
        "{\"buckets\":[1]}",
    };
    (void)state;
    struct fixture *f = amz_start(NULL, NULL);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(fixture_call(f, "PUT", "/sim/settings/aws", rows[i]), 400);
    }
    amz_settings(f, "{\"page_size\":2}");
    fixture_stop(f);
}

UNIT_MAIN(access)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signature__each_row__is_taken_or_refused),
        cmocka_unit_test(signature__missing_or_cut__refused_in_the_form_of_the_service),
        cmocka_unit_test(action__unknown__refused),
        cmocka_unit_test(unreadable__refused_in_the_form_of_the_service),
        cmocka_unit_test(parameters__wrong__refused_in_the_words_of_the_service),
        cmocka_unit_test(throttle__by_service_and_cost__until_tokens_come_back),
        cmocka_unit_test(fault__of_each_kind__in_the_form_of_the_service),
        cmocka_unit_test(fault__text_and_lost_answers__as_for_other_clouds),
        cmocka_unit_test(settings__unknown_or_of_another_type__refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
