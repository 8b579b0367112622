/* SPDX-License-Identifier: Apache-2.0 */
/* test_config.c: aws.conf and what follows from it (docs/spec/aws.md 1; rows 123 to 129 and
 * 274 to 287 of 11). */
#include "providers/aws/model/aws_config.h"
#include "providers/aws/model/aws_config_keys.h"
#include "tests/support/unit.h"
#include "tests/unit/gce/pure.h"

#include <stdio.h>

struct parsed {
    struct aws_config c;
    struct gcfg_unknown *unknown;
    size_t n_unknown;
    struct err err;
};

static int parse(struct arena *a, const char *text, struct parsed *p)
{
    *p = (struct parsed){0};
    return aws_config_parse(a, text, text != NULL ? strlen(text) : 0, &p->c, &p->unknown,
                            &p->n_unknown, &p->err);
}

static struct parsed good(struct arena *a, const char *text)
{
    struct parsed p;
    if (parse(a, text, &p) != ERR_OK) {
        fail_msg("%s: %s", str_or(text, "(no file)"), p.err.message);
    }
    return p;
}

#define HEAD(n) "[ServiceOverride \"" n "\"]\n"
#define S3      "Service = s3\n"
#define REGION  "Region = sregion\n"
#define URL     "URL = https://s3.foo.bar\n"
#define SIGNING "SigningRegion = sregion\n"
#define METHOD  "SigningMethod = v4\n"

static void overrides__rows_274_to_283(void **state)
{
    static const struct {
        int row;
        const char *text;
        const char *says; /* NULL: valid */
        size_t n;
    } rows[] = {
        {274, "[global]\n", NULL, 0},
        {275, "[global]\n" HEAD("1") REGION URL SIGNING METHOD,
         "line 2: ServiceOverride \"1\": Service is missing", 0},
        {276, "[global]\n" HEAD("1") S3 URL SIGNING METHOD,
         "line 2: ServiceOverride \"1\": Region is missing", 0},
        {277, "[global]\n" HEAD("1") S3 REGION SIGNING METHOD,
         "line 2: ServiceOverride \"1\": URL is missing", 0},
        {278, "[global]\n" HEAD("1") S3 REGION URL METHOD,
         "line 2: ServiceOverride \"1\": SigningRegion is missing", 0},
        {279, "[global]\n" HEAD("1") "Service = \"s3      \"\n" REGION URL SIGNING, NULL, 1},
        {280,
         "[global]\nvpc = vpc-abc1234567\n" HEAD("1") S3 "Region=sregion1\n" URL SIGNING METHOD
             HEAD("2") "Service=ec2\nRegion=sregion2\n" URL SIGNING METHOD,
         NULL, 2},
        {281, "[global]\n" HEAD("1") S3 REGION URL SIGNING HEAD("2") S3 REGION URL SIGNING,
         "line 7: ServiceOverride \"2\": the service s3 in sregion has one already, \"1\" in line "
         "2",
         0},
        {282,
         "[global]\n" HEAD("1") S3 "Region=sregion1\n" URL SIGNING "SigningName=sname\n" HEAD("2")
             S3 "Region=sregion2\n" URL SIGNING,
         NULL, 2},
        {283, "[global]\n" HEAD("1") S3 REGION URL SIGNING, NULL, 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct parsed p;
        char row[16];
        (void)snprintf(row, sizeof row, "row %d", rows[i].row);
        int rc = parse(*state, rows[i].text, &p);
        same_text(row, rc == ERR_OK ? NULL : p.err.message, rows[i].says);
        assert_int_equal(rc, rows[i].says != NULL ? ERR_INVALID : ERR_OK);
        assert_int_equal(p.c.n_overrides, rows[i].n);
    }
    same_text("row 279", good(*state, rows[5].text).c.overrides[0].service, "s3");
    same_text("row 280", good(*state, rows[6].text).c.vpc, "vpc-abc1234567");
    same_text("row 282", good(*state, rows[8].text).c.overrides[0].signing_name, "sname");
}

static void overrides__of_one_label_are_one__in_file_order(void **state)
{
    struct parsed p = good(*state, HEAD("b") S3 REGION URL SIGNING
                           "[Global]\nRegion = r\n"
                           "[serviceoverride]\nservice = EC2\n" REGION
                           "URL = \" http://x \"\n" SIGNING HEAD("b") "Service = KMS\n" HEAD("B")
                               S3 REGION URL SIGNING);
    assert_int_equal(p.c.n_overrides, 3);
    same_text("first", p.c.overrides[0].label, "b");
    same_text("merged", p.c.overrides[0].service, "KMS");
    same_text("without a label", p.c.overrides[1].label, "");
    same_text("blanks stay", p.c.overrides[1].url, " http://x ");
    assert_int_equal(p.c.overrides[1].line, 8);
    same_text("labels have case", p.c.overrides[2].label, "B");
    same_text("global", p.c.region, "r");
}

static void override__with_nothing_in_it__is_refused(void **state)
{
    struct parsed p;
    assert_int_equal(parse(*state, HEAD("1"), &p), ERR_INVALID);
    same_text("says", p.err.message, "line 1: ServiceOverride \"1\": Service is missing");
    assert_int_equal(parse(*state, HEAD("1") "Service = \" \"\n" REGION URL SIGNING, &p),
                     ERR_INVALID);
}

static void families__rows_284_and_285(void **state)
{
    struct parsed p = good(*state, "[global]\nNodeIPFamilies = ipv6\n");
    assert_int_equal(p.c.node_ip_families.n, 1);
    same_text("row 284", p.c.node_ip_families.items[0], "ipv6");
    p = good(*state, "[Global]\nNodeIPFamilies = ipv6\nNodeIPFamilies = ipv4\n");
    assert_int_equal(p.c.node_ip_families.n, 2);
    same_text("row 285", p.c.node_ip_families.items[0], "ipv6");
    same_text("row 285", p.c.node_ip_families.items[1], "ipv4");
}

static void unknown__row_286__is_told_with_its_line(void **state)
{
    struct parsed p =
        good(*state, "[Global]\nDisableStrictZoneCheck = true\n" HEAD("1") S3 REGION URL SIGNING
             "Urll = x\n[Other]\na = b\n[Global \"sub\"]\n");
    assert_int_equal(p.n_unknown, 4);
    same_text("row 286", p.unknown[0].key, "DisableStrictZoneCheck");
    assert_int_equal(p.unknown[0].line, 2);
    same_text("in an override", p.unknown[1].section, "ServiceOverride \"1\"");
    same_text("its key", p.unknown[1].key, "Urll");
    assert_int_equal(p.unknown[1].line, 8);
    same_text("section", p.unknown[2].section, "Other");
    same_text("sub-section", p.unknown[3].section, "Global \"sub\"");
    assert_int_equal(p.c.n_overrides, 1);
}

static void bad_values__row_287__name_line_and_key(void **state)
{
#define PORT "ClusterServiceSharedLoadBalancerHealthProbePort"
    static const struct {
        const char *text;
        const char *says;
    } rows[] = {
        {"[Global]\n" PORT " = abc\n",
         "2:1: failed to parse int \"abc\" at section \"Global\", variable \"" PORT "\""},
        {"[Global]\n" PORT " = 2147483648\n",
         "2:1: 2147483648 is not a number of 32 bits at section \"Global\", variable \"" PORT "\""},
        {"[Global]\n" PORT " = -2147483649\n",
         "2:1: -2147483649 is not a number of 32 bits at section \"Global\", variable \"" PORT
         "\""},
        {"[Global]\n" PORT "\n",
         "2:1: blank value not supported for type at section \"Global\", variable \"" PORT "\""},
        {"[Global]\n  DisableSecurityGroupIngress = maybe\n",
         "2:3: failed to parse bool \"maybe\" at section \"Global\", variable "
         "\"DisableSecurityGroupIngress\""},
        {HEAD("1") "Service\n",
         "2:1: blank value not supported for type at section \"ServiceOverride\", variable "
         "\"Service\""},
        {"Region = r\n", "1:1: expected section header"},
        {"[Global]\nRegion = \\r\n",
         "2:10: unquoted '\\' must be followed by new line or double quote"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct parsed p;
        assert_int_equal(parse(*state, rows[i].text, &p), ERR_INVALID);
        same_text(rows[i].text, p.err.message, rows[i].says);
    }
}

/* Each key of the table, in odd case; what it goes to is a member of its own. */
static void keys__of_the_tables__all_are_read(void **state)
{
    struct arena *a = *state;
    for (const struct gcfg_key *k = aws_config_keys; k->section != NULL; k++) {
        bool text = k->type == GCFG_STR;
        const char *value = k->type == GCFG_INT ? "0x10" : k->type == GCFG_BOOL ? "YES" : "v";
        struct parsed p = good(a, arena_printf(a, "[%s]\n%s = %s\n", str_upper(a, k->section),
                                               str_upper(a, k->key), value));
        assert_int_equal(p.n_unknown, 0);
        size_t set = 0;
        size_t on = 0;
        size_t lists = 0;
        for (const struct gcfg_key *other = aws_config_keys; other->section != NULL; other++) {
            const void *at = (const char *)&p.c + other->offset;
            if (other->type == GCFG_STR) {
                set += str_eq(*(const char *const *)at, "v");
            } else if (other->type == GCFG_BOOL) {
                on += *(const bool *)at;
            } else if (other->type == GCFG_STRS) {
                lists += ((const struct gcfg_list *)at)->n;
            }
        }
        assert_int_equal(set, text ? 1 : 0);
        assert_int_equal(p.c.probe_port, k->type == GCFG_INT ? 16 : 0);
        assert_int_equal(on, k->type == GCFG_BOOL ? 1 : 0);
        assert_int_equal(lists, k->type == GCFG_STRS ? 1 : 0);
    }
}

static void keys__of_the_right_members(void **state)
{
    struct parsed p =
        good(*state, "[Global]\nZone=z\nRegion=r\nVPC=v\nSubnetID=s\nRouteTableID=rt\n"
                     "RoleARN=ro\nSourceARN=so\nKubernetesClusterTag=t\n"
                     "KubernetesClusterID=i\nElbSecurityGroup=g\n"
                     "ClusterServiceLoadBalancerHealthProbeMode=m\n"
                     "ClusterServiceSharedLoadBalancerHealthProbePath=/p\n"
                     "SupportedTopologyInstanceTypePattern=x\n"
                     "NLBSecurityGroupMode=n\nDisableSecurityGroupIngress\n");
    const struct {
        const char *got;
        const char *want;
    } rows[] = {
        {p.c.zone, "z"},
        {p.c.region, "r"},
        {p.c.vpc, "v"},
        {p.c.subnet_id, "s"},
        {p.c.route_table_id, "rt"},
        {p.c.role_arn, "ro"},
        {p.c.source_arn, "so"},
        {p.c.cluster_tag, "t"},
        {p.c.cluster_id, "i"},
        {p.c.probe_mode, "m"},
        {p.c.elb_security_group, "g"},
        {p.c.probe_path, "/p"},
        {p.c.topology_pattern, "x"},
        {p.c.nlb_security_group_mode, "n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        same_text("key", rows[i].got, rows[i].want);
    }
    assert_true(p.c.disable_security_group_ingress); /* no "=" means true */
}

static void no_file__is_an_empty_configuration(void **state)
{
    struct parsed p = good(*state, NULL);
    for (const struct gcfg_key *k = aws_config_keys; k->section != NULL; k++) {
        if (k->type == GCFG_STR) {
            same_text(k->key, *(const char *const *)((const char *)&p.c + k->offset), "");
        }
    }
    assert_int_equal(p.n_unknown, 0);
    assert_int_equal(aws_config_probe_port(&p.c), 10256);
    same_text("path", aws_config_probe_path(&p.c), "/healthz");
    assert_false(aws_config_is_off_instance(&p.c));
}

static void modes__exact_words(void **state)
{
    static const struct {
        const char *value;
        enum aws_nlb_groups groups;
        enum aws_probe_mode probe;
    } rows[] = {
        {"", AWS_NLB_GROUPS_NONE, AWS_PROBE_NODE_PORT},
        {"Managed", AWS_NLB_GROUPS_MANAGED, AWS_PROBE_INVALID},
        {"managed", AWS_NLB_GROUPS_INVALID, AWS_PROBE_INVALID},
        {"\" Managed\"", AWS_NLB_GROUPS_INVALID, AWS_PROBE_INVALID},
        {"Shared", AWS_NLB_GROUPS_INVALID, AWS_PROBE_SHARED},
        {"shared", AWS_NLB_GROUPS_INVALID, AWS_PROBE_INVALID},
        {"ServiceNodePort", AWS_NLB_GROUPS_INVALID, AWS_PROBE_NODE_PORT},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct parsed p =
            good(*state, arena_printf(*state,
                                      "[Global]\nNLBSecurityGroupMode = %s\n"
                                      "ClusterServiceLoadBalancerHealthProbeMode = %s\n",
                                      rows[i].value, rows[i].value));
        assert_int_equal(aws_config_nlb_groups(&p.c), rows[i].groups);
        assert_int_equal(aws_config_probe_mode(&p.c), rows[i].probe);
    }
}

static void off_instance__needs_vpc_a_place_and_a_cluster(void **state)
{
    static const struct {
        const char *keys;
        bool want;
    } rows[] = {
        {"VPC=v\nSubnetID=s\nKubernetesClusterID=c\n", true},
        {"VPC=v\nSubnetID=s\nKubernetesClusterTag=c\n", true},
        {"VPC=v\nRoleARN=r\nKubernetesClusterID=c\n", true},
        {"VPC=v\nKubernetesClusterID=c\n", false},
        {"VPC=v\nSubnetID=s\n", false},
        {"SubnetID=s\nRoleARN=r\nKubernetesClusterID=c\n", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct parsed p = good(*state, arena_printf(*state, "[Global]\n%s", rows[i].keys));
        if (aws_config_is_off_instance(&p.c) != rows[i].want) {
            fail_msg("%s: want %d", rows[i].keys, rows[i].want);
        }
    }
}

static void cluster__of_the_configuration(void **state)
{
    struct aws_cluster cluster = {0};
    struct parsed p = good(*state, "[Global]\nKubernetesClusterID=a\n");
    assert_int_equal(aws_cluster_of_config(&p.c, &cluster, NULL), ERR_OK);
    same_text("id", cluster.id, "a");
    assert_false(cluster.legacy);
    p = good(*state, "[Global]\nKubernetesClusterTag=a\nKubernetesClusterID=a\n");
    assert_int_equal(aws_cluster_of_config(&p.c, &cluster, NULL), ERR_OK);
    assert_true(cluster.legacy);
    p = good(*state, "[Global]\nKubernetesClusterTag=a\nKubernetesClusterID=b\n");
    assert_int_equal(aws_cluster_of_config(&p.c, &cluster, NULL), ERR_INVALID);
    p = good(*state, "[Global]\n");
    assert_int_equal(aws_cluster_of_config(&p.c, &cluster, NULL), ERR_NOT_FOUND);
}

static void cluster__of_tags(void **state)
{
    static const struct {
        struct aws_tag tags[3];
        size_t n;
        int rc;
        const char *id;
        bool legacy;
    } rows[] = {
        {{{"kubernetes.io/cluster/c1", "owned"}}, 1, ERR_OK, "c1", false},
        {{{"kubernetes.io/cluster/c1", ""}, {"Name", "x"}}, 2, ERR_OK, "c1", false},
        {{{"KubernetesCluster", "c1"}}, 1, ERR_OK, "c1", true},
        {{{"KubernetesCluster", "c1"}, {"kubernetes.io/cluster/c1", "shared"}},
         2,
         ERR_OK,
         "c1",
         true},
        {{{"KubernetesCluster", "c1"}, {"kubernetes.io/cluster/c2", "shared"}},
         2,
         ERR_INVALID,
         "",
         false},
        {{{"kubernetes.io/cluster/c1", ""}, {"kubernetes.io/cluster/c2", ""}},
         2,
         ERR_INVALID,
         "",
         false},
        {{{"kubernetes.io/cluster/c1", ""}, {"kubernetes.io/cluster/c1", ""}},
         2,
         ERR_INVALID,
         "",
         false},
        {{{"KubernetesCluster", "a"}, {"KubernetesCluster", "a"}}, 2, ERR_INVALID, "", false},
        {{{"kubernetes.io/cluster/", "x"}, {"kubernetes.io/cluster/c2", ""}},
         2,
         ERR_OK,
         "c2",
         false},
        {{{"Name", "x"}}, 1, ERR_NOT_FOUND, "", false},
        {{{"KubernetesCluster", ""}}, 1, ERR_NOT_FOUND, "", false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct aws_cluster cluster = {.id = ""};
        struct err err = ERR_INIT;
        int rc = aws_cluster_of_tags(rows[i].tags, rows[i].n, &cluster, &err);
        if (rc != rows[i].rc || !str_eq(cluster.id, rows[i].id) ||
            cluster.legacy != rows[i].legacy) {
            fail_msg("row %zu: %d %s %d: %s", i, rc, cluster.id, cluster.legacy, err.message);
        }
    }
}

static void zones__rows_123_to_129(void **state)
{
    static const struct {
        int row;
        const char *zone;
        const char *region; /* NULL: refused */
    } rows[] = {
        {123, "us-west-2a", "us-west-2"},
        {124, "us-west-2-lax-1a", "us-west-2"},
        {125, "ap-northeast-2a", "ap-northeast-2"},
        {126, "us-gov-east-1a", "us-gov-east-1"},
        {127, "us-iso-east-1a", "us-iso-east-1"},
        {128, "us-isob-east-1a", "us-isob-east-1"},
        {129, "some-fake-zone", NULL},
        {0, "", NULL},
        {0, "1a", NULL},
        {0, "us", NULL},
        {0, "-1", NULL},
        {0, "us--1", NULL},
        {0, "x-12", "x-12"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *region = NULL;
        int rc = aws_region_of_zone(*state, rows[i].zone, &region, NULL);
        same_text(rows[i].zone, region, rows[i].region);
        assert_int_equal(rc, rows[i].region != NULL ? ERR_OK : ERR_INVALID);
    }
}

static void arn__its_account(void **state)
{
    static const char *const bad[] = {"",
                                      "role",
                                      "arn:aws:iam::1",
                                      "arn:aws:iam:::role/x",
                                      "urn:aws:iam::1:role/x",
                                      "arn:aws:iam::1\n2:role/x"};
    const char *account = NULL;
    assert_int_equal(
        aws_account_of_arn(*state, "arn:aws-cn:iam::123456789012:role/a:b", &account, NULL),
        ERR_OK);
    same_text("account", account, "123456789012");
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_int_equal(aws_account_of_arn(*state, bad[i], &account, NULL), ERR_INVALID);
    }
}

UNIT_MAIN(config)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(overrides__rows_274_to_283),
        PURE_TEST(overrides__of_one_label_are_one__in_file_order),
        PURE_TEST(override__with_nothing_in_it__is_refused),
        PURE_TEST(families__rows_284_and_285),
        PURE_TEST(unknown__row_286__is_told_with_its_line),
        PURE_TEST(bad_values__row_287__name_line_and_key),
        PURE_TEST(keys__of_the_tables__all_are_read),
        PURE_TEST(keys__of_the_right_members),
        PURE_TEST(no_file__is_an_empty_configuration),
        PURE_TEST(modes__exact_words),
        PURE_TEST(off_instance__needs_vpc_a_place_and_a_cluster),
        PURE_TEST(cluster__of_the_configuration),
        PURE_TEST(cluster__of_tags),
        PURE_TEST(zones__rows_123_to_129),
        PURE_TEST(arn__its_account),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
