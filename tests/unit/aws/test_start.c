/* SPDX-License-Identifier: Apache-2.0 */
/* test_start.c: who and where we are: from the cloud config, from the metadata service, from the
 * own instance (docs/spec/aws.md 1.4, 2.5), and the key that helps when that is unknown. */
#include "tests/support/unit.h"
#include "tests/unit/aws/flow_kit.h"

#define DOCUMENT                                                                                   \
    {                                                                                              \
        "imds /latest/dynamic/instance-identity/document", 0, "{\"region\":\"us-east-1\"}", 0      \
    }
#define INSTANCE_ID                                                                                \
    {                                                                                              \
        "imds /latest/meta-data/instance-id", 0, "i-self1\n", 0                                    \
    }
#define SELF(vpc, tags)                                                                            \
    {                                                                                              \
        "ec2 DescribeInstances InstanceId.1=i-self1", 0,                                           \
            "<reservationSet><item><instancesSet><item><instanceId>i-self1</instanceId>" vpc       \
            "<subnetId>subnet-self</subnetId><tagSet>" tags                                        \
            "</tagSet></item></instancesSet></item></reservationSet>",                             \
            0                                                                                      \
    }
#define VPC "<vpcId>vpc-self</vpcId>"
#define ENDS                                                                                       \
    {                                                                                              \
        NULL, 0, NULL, 0                                                                           \
    }
#define ASKS_SELF                                                                                  \
    "ec2 DescribeInstances InstanceId.1=i-self1\n"                                                 \
    "imds /latest/api/token\n"                                                                     \
    "imds /latest/meta-data/instance-id"

/* `want`: the code, or the region, VPC, subnet and cluster id. */
static void check(struct flow_kit *k, const char *config, const char *want)
{
    k->whole = config;
    int32_t code = flow_kit_open(k);
    const char *got =
        code != TT_OK ? k->r.message
                      : arena_printf(k->a, "%s %s %s %s%s", k->p->naming.region, k->p->naming.vpc,
                                     str_or(k->p->own_subnet, "-"), k->p->naming.cluster_id,
                                     k->p->naming.legacy_tags ? " legacy" : "");
    same_text(config, got, want);
}

static void config__says_all__nothing_is_asked(void **state)
{
    struct flow_kit *k = *state;
    check(k, "Region=us-east-1\nVPC=vpc-1\nSubnetID=subnet-1\nKubernetesClusterID=c1",
          "us-east-1 vpc-1 subnet-1 c1");
    same_text("asked", flow_kit_asked(k), "");
}

static void config__with_a_role__needs_no_subnet(void **state)
{
    struct flow_kit *k = *state;
    check(k,
          "Region=us-east-1\nVPC=vpc-1\nRoleARN=arn:aws:iam::123456789012:role/r\n"
          "KubernetesClusterTag=c1",
          "us-east-1 vpc-1 - c1 legacy");
    same_text("asked", flow_kit_asked(k), "");
}

static void region__of_the_zone__goes_first(void **state)
{
    struct flow_kit *k = *state;
    check(k,
          "Zone=us-west-2-lax-1a\nRegion=us-east-1\nVPC=vpc-1\nSubnetID=subnet-1\n"
          "KubernetesClusterID=c1",
          "us-west-2 vpc-1 subnet-1 c1");
}

static void region__of_a_zone_that_is_none__is_refused(void **state)
{
    struct flow_kit *k = *state;
    k->whole = "Zone=nowhere\nVPC=vpc-1\nSubnetID=subnet-1\nKubernetesClusterID=c1";
    assert_int_equal(flow_kit_open(k), TT_INVALID);
    assert_non_null(strstr(k->r.message, "nowhere"));
}

static void region__of_the_metadata_service(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {DOCUMENT, ENDS};
    k->rows = rows;
    check(k, "VPC=vpc-1\nSubnetID=subnet-1\nKubernetesClusterID=c1", "us-east-1 vpc-1 subnet-1 c1");
}

static void region__nobody_tells_it__the_key_is_named(void **state)
{
    struct flow_kit *k = *state;
    k->whole = "VPC=vpc-1\nSubnetID=subnet-1\nKubernetesClusterID=c1";
    assert_int_equal(flow_kit_open(k), TT_NOT_FOUND);
    assert_true(strstr(k->r.message, "the region is not in the cloud config (Region), and the "
                                     "metadata service did not tell it: ") == k->r.message);
}

static void self__tells_vpc_subnet_and_cluster(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {INSTANCE_ID, SELF(VPC, FLOW_OURS), ENDS};
    k->rows = rows;
    check(k, "Region=us-east-1", "us-east-1 vpc-self subnet-self c1");
    same_text("once", flow_kit_asked(k), ASKS_SELF);
    same_text("no session token is worth a line", str_buf_text(&k->logged),
              "W The instance metadata service is asked without a session token (IMDSv1), since it "
              "knows none\n");
}

/* Not off-instance mode (1.4 item 6): no subnet, no role. */
static void self__is_asked_when_only_the_vpc_is_known(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {INSTANCE_ID, SELF(VPC, ""), ENDS};
    k->rows = rows;
    check(k, "Region=us-east-1\nVPC=vpc-1\nKubernetesClusterID=c9",
          "us-east-1 vpc-self subnet-self c9");
}

static void self__legacy_tag(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {INSTANCE_ID, SELF(VPC, FLOW_TAG("KubernetesCluster", "old")), ENDS};
    k->rows = rows;
    check(k, "Region=us-east-1", "us-east-1 vpc-self subnet-self old legacy");
}

static void self__without_a_cluster_tag__the_key_is_named(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {INSTANCE_ID, SELF(VPC, FLOW_TAG("Name", "x")), ENDS};
    k->rows = rows;
    k->whole = "Region=us-east-1";
    assert_int_not_equal(flow_kit_open(k), TT_OK);
    assert_true(strstr(k->r.message, "KubernetesClusterID is not in the cloud config: ") ==
                k->r.message);
    assert_null(k->p);
}

static void self__without_a_vpc__the_key_is_named(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {INSTANCE_ID, SELF("", FLOW_OURS), ENDS};
    k->rows = rows;
    check(k, "Region=us-east-1", "the VPC is not known: set VPC in the cloud config");
}

static void self__is_not_known_to_ec2(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {INSTANCE_ID, {"ec2 DescribeInstances InstanceId", 0, "", 0}, ENDS};
    k->rows = rows;
    check(k, "Region=us-east-1",
          "finding the instance that we run on (not needed with VPC, SubnetID and "
          "KubernetesClusterID in the cloud config): EC2 does not know instance i-self1");
}

static void self__may_not_be_described(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {
        INSTANCE_ID, {"ec2 DescribeInstances", 403, "UnauthorizedOperation no", 0}, ENDS};
    k->rows = rows;
    k->whole = "Region=us-east-1";
    assert_int_equal(flow_kit_open(k), TT_FORBIDDEN);
    assert_non_null(strstr(k->r.message, "UnauthorizedOperation"));
}

static void metadata_service__is_absent(void **state)
{
    struct flow_kit *k = *state;
    k->whole = "Region=us-east-1";
    k->env = KIT_KEYS "AWS_EC2_METADATA_DISABLED=true\n";
    assert_int_equal(flow_kit_open(k), TT_INVALID);
    assert_true(strstr(k->r.message, "finding the instance that we run on (not needed with") ==
                k->r.message);
    same_text("asked", flow_kit_asked(k), "");
}

/* ---- plan --state ---------------------------------------------------------------------------- */

static void offline__asks_nobody(void **state)
{
    struct flow_kit *k = *state;
    k->state = "{\"aws\":{}}";
    k->env = "";
    check(k, "Region=us-east-1\nVPC=vpc-1\nKubernetesClusterID=c1", "us-east-1 vpc-1 - c1");
    assert_int_equal(flow_kit_plan(k, aws_test_object(k->a, "{\"type\":\"nlb\"}", NULL)),
                     TT_INVALID); /* a VPC without subnets */
    same_text("asked", flow_kit_asked(k), "");
}

static void offline__what_a_state_does_not_tell_must_be_configured(void **state)
{
    static const struct {
        const char *config, *want;
    } rows[] = {
        {"VPC=vpc-1\nKubernetesClusterID=c1",
         "Region is not in the cloud config; a saved state does not tell it"},
        {"Region=us-east-1\nKubernetesClusterID=c1",
         "a saved state does not tell which instance we are on: set VPC and KubernetesClusterID in "
         "the cloud config"},
        {"Region=us-east-1\nVPC=vpc-1",
         "KubernetesClusterID is not in the cloud config: a saved state does not tell which "
         "instance we are on: set VPC and KubernetesClusterID in the cloud config"},
    };
    struct flow_kit *k = *state;
    k->state = "{\"aws\":{}}";
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        check(k, rows[i].config, rows[i].want);
        assert_int_equal(k->r.code, TT_INVALID);
    }
}

UNIT_MAIN(start)
{
    const struct CMUnitTest tests[] = {
        FLOW_TEST(config__says_all__nothing_is_asked),
        FLOW_TEST(config__with_a_role__needs_no_subnet),
        FLOW_TEST(region__of_the_zone__goes_first),
        FLOW_TEST(region__of_a_zone_that_is_none__is_refused),
        FLOW_TEST(region__of_the_metadata_service),
        FLOW_TEST(region__nobody_tells_it__the_key_is_named),
        FLOW_TEST(self__tells_vpc_subnet_and_cluster),
        FLOW_TEST(self__is_asked_when_only_the_vpc_is_known),
        FLOW_TEST(self__legacy_tag),
        FLOW_TEST(self__without_a_cluster_tag__the_key_is_named),
        FLOW_TEST(self__without_a_vpc__the_key_is_named),
        FLOW_TEST(self__is_not_known_to_ec2),
        FLOW_TEST(self__may_not_be_described),
        FLOW_TEST(metadata_service__is_absent),
        FLOW_TEST(offline__asks_nobody),
        FLOW_TEST(offline__what_a_state_does_not_tell_must_be_configured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
