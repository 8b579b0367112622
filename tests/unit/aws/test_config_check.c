/* SPDX-License-Identifier: Apache-2.0 */
/* test_config_check.c: messages about aws.conf, at the start and by check-config
 * (docs/spec/aws.md 1; 13 row 35). */
#include "providers/aws/aws_config_check.h"
#include "tests/support/unit.h"
#include "tests/unit/gce/pure.h"

#include <stdio.h>
#include <stdlib.h>

/* The findings that the host received. */
struct tt_result {
    struct str_buf findings;
    char message[1024];
};

static void report_finding(struct tt_host_ctx *ctx, uint32_t severity, const char *where,
                           const char *message)
{
    struct tt_result *told = (struct tt_result *)(void *)ctx;
    str_appendf(&told->findings, "%s%s: %s\n", severity == TT_LOG_WARNING ? "" : "info ", where,
                message);
}

static void result_fail(struct tt_result *r, int32_t code, const char *message, int64_t after_ms)
{
    (void)code;
    (void)after_ms;
    (void)snprintf(r->message, sizeof(r->message), "%s", message);
}

struct world {
    struct arena *a;
    struct tt_result r;
    struct tt_host host;
    struct tt_open_args args;
};

static int setup(void **state)
{
    struct world *w = xcalloc(1, sizeof(*w));
    w->a = arena_new();
    w->host = (struct tt_host){.ctx = (struct tt_host_ctx *)(void *)&w->r,
                               .report_finding = report_finding,
                               .result_fail = result_fail};
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    str_buf_done(&w->r.findings);
    arena_free(w->a);
    free(w);
    return 0;
}

#define WORLD_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

static void give(struct world *w, const char *text)
{
    str_buf_reset(&w->r.findings);
    w->r.message[0] = '\0';
    w->args = (struct tt_open_args){.size = sizeof(w->args),
                                    .host = &w->host,
                                    .config_path = "aws.conf",
                                    .config_text = text,
                                    .config_len = text != NULL ? strlen(text) : 0};
}

static void load__warnings_of_the_start(void **state)
{
    struct world *w = *state;
    static const struct {
        const char *text;
        const char *want;
    } rows[] = {
        {NULL, ""},
        {"[Global]\nRegion=us-east-1\n", ""},
        {"[Global]\nNLBSecurityGroupMode=Managed\nClusterServiceLoadBalancerHealthProbeMode="
         "Shared\n",
         ""},
        {"[Global]\nNLBSecurityGroupMode=managed\n", "aws.conf:2: NLBSecurityGroupMode \"managed\" "
                                                     "is unknown: every network load balancer will "
                                                     "be refused; want Managed, or nothing\n"},
        {"[Global]\nClusterServiceLoadBalancerHealthProbeMode=shared\n",
         "aws.conf:2: ClusterServiceLoadBalancerHealthProbeMode \"shared\" is unknown: every "
         "network "
         "load balancer will be refused, and classic ones probe the node port; want "
         "ServiceNodePort "
         "or Shared\n"},
        {"[Global]\nDisableStrictZoneCheck = true\n",
         "aws.conf:2: unknown key \"DisableStrictZoneCheck\" in [Global] is ignored\n"},
        {"[Global]\nKubernetesClusterI = c\n",
         "aws.conf:2: unknown key \"KubernetesClusterI\" in [Global] is ignored; did you mean "
         "\"KubernetesClusterID\"?\n"},
        {"[Globl]\na=b\n", "aws.conf:1: unknown section [Globl] is ignored; [Global], "
                           "[ServiceOverride \"label\"] and [Trimtab] are read\n"},
        {"[Trimtab]\nNLBTags\nMixedProtocols = yes\n", ""},
        {"[Trimtab]\nAllowedSecurityGroups = sg-1\nAllowedSecurityGroups = sg-2\n"
         "AllowedBuckets = logs\n",
         ""},
        {"[Global]\nAllowedBuckets = logs\n",
         "aws.conf:2: unknown key \"AllowedBuckets\" in [Global] is ignored; it belongs in "
         "[Trimtab]\n"},
        {"[Trimtab]\nAllowedBucket = logs\n",
         "aws.conf:2: unknown key \"AllowedBucket\" in [Trimtab] is ignored; did you mean "
         "\"AllowedBuckets\"?\n"},
        {"[Trimtab]\nNLBTag = true\n", "aws.conf:2: unknown key \"NLBTag\" in [Trimtab] is "
                                       "ignored; did you mean \"NLBTags\"?\n"},
        {"[Global]\nNLBTags = true\n",
         "aws.conf:2: unknown key \"NLBTags\" in [Global] is ignored; it belongs in [Trimtab]\n"},
        {"[ServiceOverride \"1\"]\nService=EC2\nRegion=r\nURL=u\nSigningRegion=r\nSigningNam=x\n",
         "aws.conf:6: unknown key \"SigningNam\" in [ServiceOverride \"1\"] is ignored; did you "
         "mean "
         "\"SigningName\"?\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct aws_config c;
        struct err err = ERR_INIT;
        give(w, rows[i].text);
        if (aws_config_load(w->a, &w->args, &c, &err) != ERR_OK) {
            fail_msg("%s: %s", rows[i].text, err.message);
        }
        same_text(str_or(rows[i].text, "-"), str_buf_text(&w->r.findings), rows[i].want);
    }
}

static void load__refusals_name_the_place(void **state)
{
    struct world *w = *state;
    static const struct {
        const char *text;
        const char *want;
    } rows[] = {
        {"Region=r\n", "aws.conf:1:1: expected section header"},
        {"[ServiceOverride \"1\"]\n", "aws.conf:1: ServiceOverride \"1\": Service is missing"},
        {"[Global]\nZone = some-fake-zone\n",
         "aws.conf:2: Zone: \"some-fake-zone\" is no zone; want one as us-east-1a"},
        {"[Global]\n\nRoleARN = x\n",
         "aws.conf:3: RoleARN: \"x\" is no ARN; want one as arn:aws:iam::123456789012:role/name"},
        {"[Global]\nKubernetesClusterTag=a\nKubernetesClusterID=b\n",
         "aws.conf:3: KubernetesClusterTag \"a\" and KubernetesClusterID \"b\" name different "
         "clusters"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct aws_config c;
        struct err err = ERR_INIT;
        give(w, rows[i].text);
        assert_int_equal(aws_config_load(w->a, &w->args, &c, &err), ERR_INVALID);
        same_text(rows[i].text, err.message, rows[i].want);
        assert_int_equal(aws_config_check(&w->args, &w->r), TT_INVALID);
        same_text(rows[i].text, w->r.message, rows[i].want);
    }
}

#define GOOD "[Global]\nRegion=us-east-1\nVPC=v\nSubnetID=s\nKubernetesClusterID=c\n"
#define SELF                                                                                       \
    "info : VPC and cluster come from the configuration: the controller need not run on an EC2 "   \
    "instance\n"
#define OVERRIDE(service, region, url)                                                             \
    "[ServiceOverride \"1\"]\nService=" service "\nRegion=" region "\nURL=" url                    \
    "\nSigningRegion=r\n"

static void check__findings(void **state)
{
    struct world *w = *state;
    static const struct {
        const char *text; /* after GOOD, whose lines are 5 */
        const char *want; /* before or after SELF */
        bool after;
    } rows[] = {
        {"", "", false},
        {"Region=eu-west-1\n", "aws.conf:6: Region is set again: line 2 no longer counts\n", false},
        {"NodeIPFamilies=ipv4\nNodeIPFamilies=ipv6\n", "", false},
        {"[Trimtab]\nAllowedBuckets=logs\nAllowedBuckets=more\nAllowedSecurityGroups=\n", "",
         false},
        {"[Trimtab]\nAllowedSecurityGroups=sg-1,sg-2\n",
         "aws.conf:7: AllowedSecurityGroups \"sg-1,sg-2\" is not the id of a security group: it "
         "allows nothing; repeat the key for more\n",
         false},
        {"NodeIPFamilies=dual\n",
         "aws.conf:6: NodeIPFamilies \"dual\" is skipped; want ipv4 or ipv6\n", false},
        {"ElbSecurityGroup=\n", "aws.conf:6: ElbSecurityGroup is empty, which counts as not set\n",
         false},
        {"SourceARN=arn:x\n", "aws.conf:6: SourceARN has no effect without RoleARN\n", true},
        {OVERRIDE("ec2", "us-east-1", "https://h"), "", false},
        {OVERRIDE("ec2", "us-east-1", "http://127.0.0.1:1"), "", false},
        {OVERRIDE("ec2", "us-east-1", "http://h"),
         "aws.conf: ServiceOverride \"1\" is http://h: the controller's "
         "credentials and the cloud's answers cross the network unprotected; use https://\n",
         true},
        {OVERRIDE("elbv3", "us-east-1", "https://h"),
         "aws.conf:6: ServiceOverride \"1\": service \"elbv3\" is not used; did you mean "
         "\"elbv2\"?\n",
         false},
        {OVERRIDE("EC2", "eu-west-1", "https://h"),
         "aws.conf:6: ServiceOverride \"1\" is for region eu-west-1 and has no effect in "
         "us-east-1\n",
         false},
        {OVERRIDE("EC2", "us-east-1", "h"),
         "aws.conf: with this environment the controller would not start: ServiceOverride \"1\": "
         "URL "
         "has no scheme such as https://\n",
         true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        give(w, arena_printf(w->a, "%s%s", GOOD, rows[i].text));
        assert_int_equal(aws_config_check(&w->args, &w->r), TT_OK);
        same_text(rows[i].text, str_buf_text(&w->r.findings),
                  arena_printf(w->a, "%s%s%s", rows[i].after ? "" : rows[i].want, SELF,
                               rows[i].after ? rows[i].want : ""));
    }
}

static void check__who_we_are(void **state)
{
    struct world *w = *state;
    give(w, NULL);
    assert_int_equal(aws_config_check(&w->args, &w->r), TT_OK);
    same_text(
        "no file", str_buf_text(&w->r.findings),
        "info : VPC and cluster are read from the EC2 instance that the controller runs on\n");
    give(w, "[Global]\nVPC=v\nSubnetID=s\n");
    assert_int_equal(aws_config_check(&w->args, &w->r), TT_OK);
    assert_non_null(strstr(str_buf_text(&w->r.findings), "aws.conf:2: VPC counts only together"));
}

static void check__credentials_of_the_environment(void **state)
{
    struct world *w = *state;
    assert_int_equal(setenv("AWS_EC2_METADATA_DISABLED", "true", 1), 0);
    give(w, GOOD);
    assert_int_equal(aws_config_check(&w->args, &w->r), TT_OK);
    assert_non_null(
        strstr(str_buf_text(&w->r.findings), "would not start: credentials: there are none"));
    assert_int_equal(unsetenv("AWS_EC2_METADATA_DISABLED"), 0);
}

UNIT_MAIN(config_check)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(load__warnings_of_the_start),
        WORLD_TEST(load__refusals_name_the_place),
        WORLD_TEST(check__findings),
        WORLD_TEST(check__who_we_are),
        WORLD_TEST(check__credentials_of_the_environment),
    };
    static const char *const variables[] = {
        "AWS_PROFILE",
        "AWS_DEFAULT_PROFILE",
        "AWS_ACCESS_KEY_ID",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_CONFIG_FILE",
        "AWS_SHARED_CREDENTIALS_FILE",
        "AWS_ENDPOINT_URL",
        "HOME",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_EC2_METADATA_SERVICE_ENDPOINT",
        "AWS_EC2_METADATA_DISABLED",
    };
    for (size_t i = 0; i < ARRAY_LEN(variables); i++) {
        (void)unsetenv(variables[i]); /* check-config reads the process' own */
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
