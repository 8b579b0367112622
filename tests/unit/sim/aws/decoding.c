/* SPDX-License-Identifier: Apache-2.0 */
/* decoding.c: form bodies of the AWS APIs as JSON, and JSON as their XML.
 *
 * Source: docs/spec/aws.md §3.1, §3.2, §11.16. */
#include "sim/aws/schema.h"

#include "common/base/attr.h"
#include "tests/support/unit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define TWICE(x)    x x
#define KA_128      TWICE(TWICE(TWICE(TWICE(TWICE(TWICE(TWICE("%D0%BA")))))))
#define KA_TEXT_128 TWICE(TWICE(TWICE(TWICE(TWICE(TWICE(TWICE("к")))))))

struct row {
    const char *what;
    enum amz_service service;
    const char *action, *form;
    const char *want; /* JSON with sorted members, or part of the flaw's message */
    enum amz_flaw_kind flaw;
};

static const struct row rows[] = {
    {"nothing", AMZ_EC2, "DescribeVpcs", "", "{}", AMZ_FLAW_NONE},
    {"flat lists", AMZ_EC2, "DescribeInstances", "InstanceId.1=i-1&InstanceId.2=i-2",
     "{\"InstanceIds\":[\"i-1\",\"i-2\"]}", AMZ_FLAW_NONE},
    {"lists in lists", AMZ_EC2, "DescribeSubnets",
     "Filter.2.Value.1=b&Filter.1.Name=vpc-id&Filter.2.Name=x&Filter.1.Value.2=d&Filter.1.Value.1="
     "c",
     "{\"Filters\":[{\"Name\":\"vpc-id\",\"Values\":[\"c\",\"d\"]},{\"Name\":\"x\",\"Values\":["
     "\"b\"]}]}",
     AMZ_FLAW_NONE},
    {"numbers sort by value", AMZ_EC2, "DescribeInstances",
     "InstanceId.10=j&InstanceId.9=i&InstanceId.8=h&InstanceId.7=g&InstanceId.6=f&InstanceId.5=e&"
     "InstanceId.4=d&InstanceId.3=c&InstanceId.2=b&InstanceId.1=a",
     "{\"InstanceIds\":[\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\",\"h\",\"i\",\"j\"]}",
     AMZ_FLAW_NONE},
    {"names that differ on the wire", AMZ_EC2, "CreateSecurityGroup",
     "GroupName=g&GroupDescription=d&TagSpecification.1.ResourceType=security-group&"
     "TagSpecification.1.Tag.1.Key=k&TagSpecification.1.Tag.1.Value=v",
     "{\"Description\":\"d\",\"GroupName\":\"g\",\"TagSpecifications\":[{\"ResourceType\":"
     "\"security-group\",\"Tags\":[{\"Key\":\"k\",\"Value\":\"v\"}]}]}",
     AMZ_FLAW_NONE},
    {"permissions", AMZ_EC2, "AuthorizeSecurityGroupIngress",
     "GroupId=sg-1&IpPermissions.1.IpProtocol=tcp&IpPermissions.1.FromPort=80&"
     "IpPermissions.1.ToPort=80&IpPermissions.1.Groups.1.GroupId=sg-2&"
     "IpPermissions.1.IpRanges.1.CidrIp=0.0.0.0%2F0",
     "{\"GroupId\":\"sg-1\",\"IpPermissions\":[{\"FromPort\":80,\"IpProtocol\":\"tcp\","
     "\"IpRanges\":[{\"CidrIp\":\"0.0.0.0/0\"}],\"ToPort\":80,\"UserIdGroupPairs\":[{\"GroupId\":"
     "\"sg-2\"}]}]}",
     AMZ_FLAW_NONE},
    {"negative numbers", AMZ_EC2, "AuthorizeSecurityGroupIngress",
     "IpPermissions.1.IpProtocol=icmp&IpPermissions.1.FromPort=-1&IpPermissions.1.ToPort=-1",
     "{\"IpPermissions\":[{\"FromPort\":-1,\"IpProtocol\":\"icmp\",\"ToPort\":-1}]}",
     AMZ_FLAW_NONE},
    {"member lists", AMZ_ELB, "DescribeLoadBalancers", "LoadBalancerNames.member.1=a",
     "{\"LoadBalancerNames\":[\"a\"]}", AMZ_FLAW_NONE},
    {"structures", AMZ_ELB, "ModifyLoadBalancerAttributes",
     "LoadBalancerName=a&LoadBalancerAttributes.ConnectionSettings.IdleTimeout=60&"
     "LoadBalancerAttributes.CrossZoneLoadBalancing.Enabled=true",
     "{\"LoadBalancerAttributes\":{\"ConnectionSettings\":{\"IdleTimeout\":60},"
     "\"CrossZoneLoadBalancing\":{\"Enabled\":true}},\"LoadBalancerName\":\"a\"}",
     AMZ_FLAW_NONE},
    {"an empty list", AMZ_ELB, "SetLoadBalancerPoliciesForBackendServer",
     "LoadBalancerName=a&InstancePort=80&PolicyNames=",
     "{\"InstancePort\":80,\"LoadBalancerName\":\"a\",\"PolicyNames\":[]}", AMZ_FLAW_NONE},
    {"text of any language", AMZ_ELBV2, "AddTags",
     "ResourceArns.member.1=a&Tags.member.1.Key=k%C3%A9y%20x&Tags.member.1.Value=",
     "{\"ResourceArns\":[\"a\"],\"Tags\":[{\"Key\":\"kéy x\",\"Value\":\"\"}]}", AMZ_FLAW_NONE},

    {"a key of 128 characters, 256 bytes", AMZ_ELBV2, "AddTags",
     "ResourceArns.member.1=a&Tags.member.1.Key=" KA_128,
     "{\"ResourceArns\":[\"a\"],\"Tags\":[{\"Key\":\"" KA_TEXT_128 "\"}]}", AMZ_FLAW_NONE},

    {"a key of 129 characters", AMZ_ELBV2, "AddTags",
     "ResourceArns.member.1=a&Tags.member.1.Key=x" KA_128, "1 to 128", AMZ_FLAW_VALUE},
    {"a picture", AMZ_ELBV2, "AddTags",
     "ResourceArns.member.1=a&Tags.member.1.Key=k&Tags.member.1.Value=%F0%9F%98%80", "not allowed",
     AMZ_FLAW_VALUE},
    {"an unknown parameter", AMZ_EC2, "DescribeVpcs", "Colour=red", "Colour", AMZ_FLAW_UNKNOWN},
    {"an unknown member", AMZ_EC2, "DescribeVpcs", "Filter.1.Nam=x", "Filter.1.Nam",
     AMZ_FLAW_UNKNOWN},
    {"a list of the other family, EC2", AMZ_EC2, "DescribeVpcs", "VpcId.member.1=x", "VpcId.member",
     AMZ_FLAW_UNKNOWN},
    {"a list of the other family, ELB", AMZ_ELB, "DescribeLoadBalancers", "LoadBalancerNames.1=x",
     "LoadBalancerNames.1", AMZ_FLAW_UNKNOWN},
    {"the JSON name instead of the wire's", AMZ_EC2, "DescribeVpcs", "Filters.1.Name=x", "Filters",
     AMZ_FLAW_UNKNOWN},
    {"more below a value", AMZ_EC2, "CreateSecurityGroup", "GroupName.1=g&GroupDescription=d",
     "GroupName.1", AMZ_FLAW_UNKNOWN},
    {"zero", AMZ_EC2, "DescribeVpcs", "VpcId.0=x", "VpcId.0", AMZ_FLAW_UNKNOWN},
    {"a leading zero", AMZ_EC2, "DescribeVpcs", "VpcId.01=x", "VpcId.01", AMZ_FLAW_UNKNOWN},
    {"deeper than anything", AMZ_EC2, "DescribeVpcs", "a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q=x", "",
     AMZ_FLAW_UNKNOWN},
    {"a gap", AMZ_EC2, "DescribeVpcs", "VpcId.1=x&VpcId.3=y", "without gaps", AMZ_FLAW_VALUE},
    {"from two", AMZ_ELB, "DescribeLoadBalancers", "LoadBalancerNames.member.2=x", "without gaps",
     AMZ_FLAW_VALUE},
    {"twice", AMZ_EC2, "CreateSecurityGroup", "GroupName=a&GroupName=b&GroupDescription=d",
     "more than once", AMZ_FLAW_VALUE},
    {"a list as a value", AMZ_EC2, "DescribeVpcs", "VpcId=x", "is a list", AMZ_FLAW_VALUE},
    {"an empty list, EC2", AMZ_EC2, "DescribeVpcs", "VpcId=", "is a list", AMZ_FLAW_VALUE},
    {"a list of structures as values", AMZ_EC2, "DescribeVpcs", "Filter.1=x", "structure",
     AMZ_FLAW_VALUE},
    {"no number", AMZ_EC2, "DescribeInstances", "MaxResults=many", "whole number", AMZ_FLAW_VALUE},
    {"out of range", AMZ_ELBV2, "DescribeLoadBalancers", "PageSize=401", "from 1 to 400",
     AMZ_FLAW_VALUE},
    {"no boolean", AMZ_EC2, "DescribeVpcs", "DryRun=yes", "true or false", AMZ_FLAW_VALUE},
    {"outside the enumeration", AMZ_ELBV2, "CreateLoadBalancer", "Name=n&Type=magic",
     "not one of the values", AMZ_FLAW_VALUE},
    {"too long", AMZ_STS, "AssumeRole",
     "RoleArn=arn%3Aaws%3Aiam%3A%3A123456789012%3Arole%2Fx&RoleSessionName="
     "0123456789012345678901234567890123456789012345678901234567890123456789",
     "2 to 64", AMZ_FLAW_VALUE},
    {"too few", AMZ_ELB, "AddTags", "LoadBalancerNames.member.1=a&Tags=", "too few",
     AMZ_FLAW_VALUE},
    {"other characters", AMZ_ELBV2, "AddTags", "ResourceArns.member.1=a&Tags.member.1.Key=a%3Cb",
     "not allowed", AMZ_FLAW_VALUE},
    {"missing", AMZ_EC2, "CreateSecurityGroup", "GroupName=g", "GroupDescription",
     AMZ_FLAW_MISSING},
    {"missing in a list", AMZ_ELB, "CreateLoadBalancer",
     "LoadBalancerName=a&Listeners.member.1.Protocol=TCP&Listeners.member.1.LoadBalancerPort=80",
     "Listeners.member.1.InstancePort", AMZ_FLAW_MISSING},
};

static void check_row(const struct row *r)
{
    struct arena *a = arena_new();
    struct url_param *params = NULL;
    size_t n = 0;
    struct json_object *o = NULL;
    struct amz_flaw flaw;
    const struct amz_op *op = amz_op_find(r->service, r->action);
    assert_non_null(op);
    assert_int_equal(url_query_parse(a, *r->form ? r->form : NULL, &params, &n, NULL), ERR_OK);
    bool ok = amz_params_decode(a, op, params, n, &o, &flaw);
    const char *got = ok ? json_text(a, o, JSON_SORTED) : flaw.message;
    bool same = ok ? str_eq(got, r->want) : strstr(got, r->want) != NULL;
    if (!same || flaw.kind != r->flaw || ok != (r->flaw == AMZ_FLAW_NONE)) {
        fail_msg("%s: got %d %s, want %d %s", r->what, (int)flaw.kind, got, (int)r->flaw, r->want);
    }
    json_object_put(o);
    arena_free(a);
}

static void request__each_row__is_decoded_or_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        check_row(&rows[i]);
    }
}

/* --- answers ---------------------------------------------------------------------------------- */

struct answer_row {
    const char *what;
    enum amz_service service;
    const char *action, *json;
    const char *want;
};

static const struct answer_row answers[] = {
    {"empty sets and absent members", AMZ_EC2, "DescribeSecurityGroups",
     "{\"SecurityGroups\":[{\"GroupId\":\"sg-1\",\"IpPermissions\":[],\"Tags\":[],"
     "\"IpPermissionsEgress\":[{\"IpProtocol\":\"-1\",\"IpRanges\":[{\"CidrIp\":\"0.0.0.0/0\"}]}]}]"
     "}",
     "<DescribeSecurityGroupsResponse xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\">"
     "<securityGroupInfo><item><groupId>sg-1</groupId><ipPermissions/><tagSet/>"
     "<ipPermissionsEgress><item><ipProtocol>-1</ipProtocol><ipRanges><item><cidrIp>0.0.0.0/0"
     "</cidrIp></item></ipRanges></item></ipPermissionsEgress></item></securityGroupInfo>"
     "<requestId>R</requestId></DescribeSecurityGroupsResponse>"},
    {"a main association", AMZ_EC2, "DescribeRouteTables",
     "{\"RouteTables\":[{\"Associations\":[{\"Main\":true}]}]}",
     "<DescribeRouteTablesResponse xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\">"
     "<routeTableSet><item><associationSet><item><main>true</main></item></associationSet></item>"
     "</routeTableSet><requestId>R</requestId></DescribeRouteTablesResponse>"},
    {"a writing action", AMZ_EC2, "CreateSecurityGroup", "{\"GroupId\":\"sg-1\"}",
     "<CreateSecurityGroupResponse xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\">"
     "<groupId>sg-1</groupId><return>true</return><requestId>R</requestId>"
     "</CreateSecurityGroupResponse>"},
    {"its own return", AMZ_EC2, "DeleteSecurityGroup", "{\"Return\":true,\"GroupId\":\"sg-1\"}",
     "<DeleteSecurityGroupResponse xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\">"
     "<return>true</return><groupId>sg-1</groupId><requestId>R</requestId>"
     "</DeleteSecurityGroupResponse>"},
    {"nothing to say", AMZ_ELB, "DeleteLoadBalancer", NULL,
     "<DeleteLoadBalancerResponse xmlns=\"http://elasticloadbalancing.amazonaws.com/doc/2012-06-01"
     "/\"><DeleteLoadBalancerResult></DeleteLoadBalancerResult><ResponseMetadata><RequestId>R"
     "</RequestId></ResponseMetadata></DeleteLoadBalancerResponse>"},
    {"an attribute with an empty value", AMZ_ELBV2, "DescribeLoadBalancerAttributes",
     "{\"Attributes\":[{\"Key\":\"access_logs.s3.bucket\",\"Value\":\"\"}]}",
     "<DescribeLoadBalancerAttributesResponse xmlns=\"http://elasticloadbalancing.amazonaws.com/doc"
     "/2015-12-01/\"><DescribeLoadBalancerAttributesResult><Attributes><member><Key>"
     "access_logs.s3.bucket</Key><Value/></member></Attributes>"
     "</DescribeLoadBalancerAttributesResult><ResponseMetadata><RequestId>R</RequestId>"
     "</ResponseMetadata></DescribeLoadBalancerAttributesResponse>"},
    {"what the pack does not know, and other types", AMZ_EC2, "DescribeVpcs",
     "{\"Vpcs\":[{\"VpcId\":\"v\",\"Colour\":\"red\",\"IsDefault\":\"no\",\"CidrBlock\":7,"
     "\"State\":null,\"Tags\":{}},7],\"More\":[]}",
     "<DescribeVpcsResponse xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\"><vpcSet><item>"
     "<vpcId>v</vpcId></item></vpcSet><requestId>R</requestId></DescribeVpcsResponse>"},
    {"a value in another spelling", AMZ_EC2, "DescribeVpcs",
     "{\"Vpcs\":[{\"State\":\"AVAILABLE\",\"InstanceTenancy\":\"else\"}]}",
     "<DescribeVpcsResponse xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\"><vpcSet><item>"
     "<state>available</state><instanceTenancy>else</instanceTenancy></item></vpcSet><requestId>R"
     "</requestId></DescribeVpcsResponse>"},
    {"escaped text", AMZ_EC2, "DescribeVpcs", "{\"Vpcs\":[{\"VpcId\":\"<&>\\\"'\\n\\u0007é\"}]}",
     "<DescribeVpcsResponse xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\"><vpcSet><item>"
     "<vpcId>&lt;&amp;&gt;&quot;'&#xA;?é</vpcId></item></vpcSet><requestId>R</requestId>"
     "</DescribeVpcsResponse>"},
};

static void answer__each_row__is_written_in_the_form_of_its_service(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
        const struct answer_row *r = &answers[i];
        struct str_buf b = STR_BUF_INIT;
        struct json_object *o = NULL;
        if (r->json) {
            assert_int_equal(json_parse(r->json, strlen(r->json), NULL, &o, NULL), ERR_OK);
        }
        amz_answer_xml(&b, amz_op_find(r->service, r->action), o, "R");
        if (!str_eq(str_buf_text(&b), r->want)) {
            fail_msg("%s: got %s, want %s", r->what, str_buf_text(&b), r->want);
        }
        json_object_put(o);
        str_buf_done(&b);
    }
}

static void error__of_each_family__has_its_form(void **state)
{
    static const char ec2[] =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Response><Errors><Error><Code>"
        "InvalidGroup.NotFound</Code><Message>a &amp; b</Message></Error></Errors><RequestID>R"
        "</RequestID></Response>";
    static const char elb[] =
        "<ErrorResponse xmlns=\"http://elasticloadbalancing.amazonaws.com/doc/2012-06-01/\"><Error>"
        "<Type>Sender</Type><Code>LoadBalancerNotFound</Code><Message>m</Message></Error>"
        "<RequestId>R</RequestId></ErrorResponse>";
    (void)state;
    struct str_buf b = STR_BUF_INIT;
    amz_error_xml(&b, AMZ_EC2, 400, "InvalidGroup.NotFound", "a & b", "R");
    assert_string_equal(str_buf_text(&b), ec2);
    str_buf_reset(&b);
    amz_error_xml(&b, AMZ_ELB, 400, "LoadBalancerNotFound", "m", "R");
    assert_string_equal(str_buf_text(&b), elb);
    str_buf_reset(&b);
    amz_error_xml(&b, AMZ_ELBV2, 500, "InternalFailure", "m", "R");
    assert_non_null(strstr(str_buf_text(&b), "<Type>Receiver</Type>"));
    str_buf_done(&b);
}

UNIT_MAIN(decoding)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(request__each_row__is_decoded_or_refused),
        cmocka_unit_test(answer__each_row__is_written_in_the_form_of_its_service),
        cmocka_unit_test(error__of_each_family__has_its_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
