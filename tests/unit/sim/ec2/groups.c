/* SPDX-License-Identifier: Apache-2.0 */
/* groups.c: security groups of the simulated EC2: what requests make of them, and what readers see.
 *
 * Source: docs/spec/aws.md §3.5, §4.10, §4.15, §7.4, §11.6 (rows 64-82 as far as they are
 * documents), §11.16. */
#include "tests/support/clock_fake.h"
#include "tests/support/unit.h"
#include "tests/unit/sim/ec2/ec2_fixture.h"

#include <string.h>

#define GROUP     "&GroupId={nodes}"
#define AUTHORIZE "Action=AuthorizeSecurityGroupIngress" GROUP
#define REVOKE    "Action=RevokeSecurityGroupIngress" GROUP
#define ANEW      "Action=UpdateSecurityGroupRuleDescriptionsIngress" GROUP
#define PORTS(n, protocol, from, to)                                                               \
    "&IpPermissions." n ".IpProtocol=" protocol "&IpPermissions." n ".FromPort=" from              \
    "&IpPermissions." n ".ToPort=" to
#define CIDR(n, m, cidr)       "&IpPermissions." n ".IpRanges." m ".CidrIp=" cidr
#define TEXT(n, m, text)       "&IpPermissions." n ".IpRanges." m ".Description=" text
#define PAIR(n, id)            "&IpPermissions." n ".Groups.1.GroupId=" id
#define DESCRIBE               "Action=DescribeSecurityGroups"
#define FILTER(n, name, value) "&Filter." n ".Name=" name "&Filter." n ".Value.1=" value

/* The permissions of "nodes" as they are answered. */
static const char *permissions(struct ec2_test *t)
{
    ec2_must(t, DESCRIBE "&GroupId.1={nodes}");
    return ec2_json(t, "SecurityGroups.0.IpPermissions");
}

static void create__new_group__is_tagged_and_open_to_the_outside_only(void **state)
{
    (void)state;
    struct ec2_test *t = ec2_test_start();
    ec2_must(t,
             "Action=CreateSecurityGroup&VpcId={vpc}&GroupName=k8s-elb-a1&"
             "GroupDescription=Security+group+for+Kubernetes+ELB+a1+(default/clb1)&"
             "TagSpecification.1.ResourceType=security-group&"
             "TagSpecification.1.Tag.1.Key=" CLUSTER_TAG "&TagSpecification.1.Tag.1.Value=owned");
    const char *id = ec2_text(t, "GroupId");
    assert_true(str_has_prefix(id, "sg-"));
    assert_int_equal(strlen(id), strlen("sg-") + 17);
    assert_string_equal(
        ec2_text(t, "SecurityGroupArn"),
        arena_printf(t->a, "arn:aws:ec2:%s:123456789012:security-group/%s", t->aws->region, id));
    assert_string_equal(ec2_json(t, "Tags"), "[{\"Key\":\"" CLUSTER_TAG "\",\"Value\":\"owned\"}]");
    ec2_must(t, arena_printf(t->a, DESCRIBE "&GroupId.1=%s", id));
    assert_string_equal(ec2_text(t, "SecurityGroups.0.Description"),
                        "Security group for Kubernetes ELB a1 (default/clb1)");
    assert_string_equal(ec2_text(t, "SecurityGroups.0.VpcId"), t->vpc);
    assert_string_equal(ec2_json(t, "SecurityGroups.0.IpPermissions"), "[]");
    assert_string_equal(ec2_json(t, "SecurityGroups.0.IpPermissionsEgress"),
                        "[{\"IpProtocol\":\"-1\",\"IpRanges\":[{\"CidrIp\":\"0.0.0.0/0\"}],"
                        "\"Ipv6Ranges\":[],\"PrefixListIds\":[],\"UserIdGroupPairs\":[]}]");
    ec2_test_stop(t);
}

static void create__same_name_in_another_vpc__is_made(void **state)
{
    (void)state;
    struct ec2_test *t = ec2_test_start();
    ec2_must(t, "Action=CreateSecurityGroup&GroupName=nodes&GroupDescription=d");
    ec2_must(t, arena_printf(t->a, DESCRIBE "&GroupId.1=%s", ec2_text(t, "GroupId")));
    assert_string_equal(ec2_text(t, "SecurityGroups.0.VpcId"), t->other_vpc);
    ec2_must(t, DESCRIBE "&GroupName.1=nodes"); /* by name: of the default VPC alone */
    assert_int_equal(ec2_len(t, "SecurityGroups"), 1);
    assert_string_equal(ec2_text(t, "SecurityGroups.0.VpcId"), t->other_vpc);
    ec2_test_stop(t);
}

static void authorize__same_ports__are_one_permission(void **state)
{
    (void)state;
    struct ec2_test *t = ec2_test_start();
    ec2_must(t, AUTHORIZE PORTS("1", "tcp", "30080", "30080") CIDR("1", "1", "10.1.0.0/16")
                    TEXT("1", "1", "kubernetes.io/rule/nlb/client=a1") PORTS("2", "icmp", "3", "4")
                        CIDR("2", "1", "0.0.0.0/0"));
    assert_int_equal(ec2_len(t, "SecurityGroupRules"), 2);
    assert_string_equal(ec2_text(t, "SecurityGroupRules.0.CidrIpv4"), "10.1.0.0/16");
    assert_string_equal(ec2_text(t, "SecurityGroupRules.0.Description"),
                        "kubernetes.io/rule/nlb/client=a1");
    assert_string_equal(ec2_text(t, "SecurityGroupRules.1.FromPort"), "3");
    ec2_must(t, AUTHORIZE PORTS("1", "6", "30080", "30080") CIDR("1", "1", "192.168.0.0/16")
                    PAIR("1", "{nodes}") "&IpPermissions.2.IpProtocol=-1" PAIR("2", "{nodes}"));
    assert_string_equal(
        permissions(t),
        arena_printf(
            t->a,
            "[{\"FromPort\":30080,\"IpProtocol\":\"tcp\",\"IpRanges\":[{\"CidrIp\":\"10.1.0.0/16\","
            "\"Description\":\"kubernetes.io/rule/nlb/client=a1\"},{\"CidrIp\":\"192.168.0.0/16\"}]"
            ",\"Ipv6Ranges\":[],\"PrefixListIds\":[],\"ToPort\":30080,\"UserIdGroupPairs\":[{"
            "\"GroupId\":\"%s\",\"UserId\":\"123456789012\"}]},"
            "{\"FromPort\":3,\"IpProtocol\":\"icmp\",\"IpRanges\":[{\"CidrIp\":\"0.0.0.0/0\"}],"
            "\"Ipv6Ranges\":[],\"PrefixListIds\":[],\"ToPort\":4,\"UserIdGroupPairs\":[]},"
            "{\"IpProtocol\":\"-1\",\"IpRanges\":[],\"Ipv6Ranges\":[],\"PrefixListIds\":[],"
            "\"UserIdGroupPairs\":[{\"GroupId\":\"%s\",\"UserId\":\"123456789012\"}]}]",
            t->nodes, t->nodes));
    ec2_test_stop(t);
}

static void authorize__protocols__are_written_as_ec2_does(void **state)
{
    (void)state;
    static const struct {
        const char *asked, *ports; /* "from to"; NULL: none is sent */
        const char *want;          /* protocol, from, to */
    } rows[] = {
        {"6", "80 81", "tcp 80 81"},     {"17", "0 65535", "udp 0 65535"},
        {"1", "-1 -1", "icmp -1 -1"},    {"58", NULL, "icmpv6 -1 -1"},
        {"icmpv6", "2 0", "icmpv6 2 0"}, {"50", "1 2", "50  "},
        {"-1", "0 65535", "-1  "},       {"0", NULL, "0  "},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct ec2_test *t = ec2_test_start();
        const char *ports =
            rows[i].ports ? arena_printf(t->a, "&IpPermissions.1.FromPort=%s", rows[i].ports) : "";
        ports = str_replace(t->a, ports, " ", "&IpPermissions.1.ToPort=");
        ec2_must(t, arena_printf(t->a,
                                 AUTHORIZE
                                 "&IpPermissions.1.IpProtocol=%s%s" CIDR("1", "1", "10.0.0.0/8"),
                                 rows[i].asked, ports));
        (void)permissions(t);
        assert_string_equal(arena_printf(t->a, "%s %s %s",
                                         ec2_text(t, "SecurityGroups.0.IpPermissions.0.IpProtocol"),
                                         ec2_text(t, "SecurityGroups.0.IpPermissions.0.FromPort"),
                                         ec2_text(t, "SecurityGroups.0.IpPermissions.0.ToPort")),
                            rows[i].want);
        ec2_test_stop(t);
    }
}

static void authorize__host_bits__are_cleared(void **state)
{
    (void)state;
    struct ec2_test *t = ec2_test_start();
    ec2_must(t, AUTHORIZE PORTS("1", "tcp", "80", "80") CIDR(
                    "1", "1",
                    "100.68.0.18/18") "&IpPermissions.1.Ipv6Ranges.1.CidrIpv6=2001:DB8:0::1/64");
    assert_string_equal(ec2_text(t, "SecurityGroupRules.0.CidrIpv4"), "100.68.0.0/18");
    assert_string_equal(ec2_text(t, "SecurityGroupRules.1.CidrIpv6"), "2001:db8::/64");
    ec2_must(t, REVOKE PORTS("1", "tcp", "80", "80") CIDR("1", "1", "100.68.0.19/18"));
    ec2_must(t, DESCRIBE FILTER("1", "ip-permission.ipv6-cidr", "2001:db8::/64"));
    assert_int_equal(ec2_len(t, "SecurityGroups"), 1);
    assert_string_equal(ec2_json(t, "SecurityGroups.0.IpPermissions.0.IpRanges"), "[]");
    ec2_test_stop(t);
}

static void authorize__single_form__is_one_rule(void **state)
{
    (void)state;
    struct ec2_test *t = ec2_test_start();
    ec2_must(t, AUTHORIZE "&IpProtocol=tcp&FromPort=22&ToPort=22&CidrIp=10.0.0.0/8");
    assert_int_equal(ec2_len(t, "SecurityGroupRules"), 1);
    ec2_must(t, "Action=AuthorizeSecurityGroupIngress&GroupName=other&"
                "SourceSecurityGroupName=default");
    assert_string_equal(ec2_text(t, "SecurityGroupRules.0.IpProtocol"), "-1");
    assert_string_equal(ec2_text(t, "SecurityGroupRules.0.GroupId"), t->other_group);
    ec2_test_stop(t);
}

static void authorize__prefix_list_of_the_world__counts_with_its_size(void **state)
{
    (void)state;
    struct ec2_test *t = ec2_test_start();
    struct json_object *lists = NULL, *ec2 = json_object_new_object();
    static const char text[] = "[{\"PrefixListId\":\"pl-0123456789abcdef0\",\"MaxEntries\":59}]";
    assert_int_equal(json_parse(text, strlen(text), NULL, &lists, NULL), ERR_OK);
    json_add(ec2, "PrefixLists", lists);
    t->aws->rest = json_object_new_object();
    json_add(t->aws->rest, "ec2", ec2);
    ec2_must(t, AUTHORIZE PORTS(
                    "1", "tcp", "80",
                    "80") "&IpPermissions.1.PrefixListIds.1.PrefixListId=pl-0123456789abcdef0");
    ec2_must(t, AUTHORIZE PORTS("1", "tcp", "80", "80") CIDR("1", "1", "10.0.0.0/8"));
    ec2_refused(t, "the list fills it",
                AUTHORIZE PORTS("1", "tcp", "80", "80") CIDR("1", "1", "11.0.0.0/8"),
                "RulesPerSecurityGroupLimitExceeded", NULL);
    ec2_test_stop(t);
}

/* Nothing else of the rule changes, and others beside it stay. */
static void descriptions__change_in_place__of_rules_that_are_there(void **state)
{
    (void)state;
    struct ec2_test *t = ec2_test_start();
    ec2_must(t, AUTHORIZE PORTS("1", "tcp", "80", "80") CIDR("1", "1", "10.0.0.0/8")
                    TEXT("1", "1", "one") CIDR("1", "2", "11.0.0.0/8"));
    ec2_must(t, ANEW PORTS("1", "tcp", "80", "80") CIDR("1", "1", "10.0.0.0/8")
                    TEXT("1", "1", "another"));
    ec2_must(t, DESCRIBE FILTER("1", "ip-permission.cidr", "10.0.0.0/8"));
    assert_int_equal(ec2_len(t, "SecurityGroups.0.IpPermissions"), 1);
    assert_int_equal(ec2_len(t, "SecurityGroups.0.IpPermissions.0.IpRanges"), 2);
    assert_non_null(strstr(ec2_json(t, "SecurityGroups.0.IpPermissions"),
                           "\"CidrIp\":\"10.0.0.0/8\",\"Description\":\"another\""));
    ec2_refused(t, "no such rule", ANEW PORTS("1", "tcp", "81", "81") CIDR("1", "1", "10.0.0.0/8"),
                "InvalidPermission.NotFound", NULL);
    ec2_test_stop(t);
}

static void revoke__last_source__takes_the_permission_along(void **state)
{
    (void)state;
    struct ec2_test *t = ec2_test_start();
    ec2_must(t, AUTHORIZE PORTS("1", "tcp", "80", "80") CIDR("1", "1", "10.0.0.0/8")
                    TEXT("1", "1", "one") CIDR("1", "2", "11.0.0.0/8"));
    ec2_must(t, REVOKE PORTS("1", "tcp", "80", "80") CIDR("1", "1", "10.0.0.0/8")
                    TEXT("1", "1", "another")); /* descriptions are no part of a rule */
    assert_string_equal(ec2_text(t, "RevokedSecurityGroupRules.0.CidrIpv4"), "10.0.0.0/8");
    assert_string_equal(ec2_text(t, "RevokedSecurityGroupRules.0.Description"), "one");
    assert_non_null(strstr(permissions(t), "11.0.0.0/8"));
    ec2_must(t, REVOKE PORTS("1", "tcp", "80", "80") CIDR("1", "1", "11.0.0.0/8"));
    assert_string_equal(permissions(t), "[]");
    ec2_test_stop(t);
}

static void revoke__by_rule_id__removes_that_rule(void **state)
{
    (void)state;
    struct ec2_test *t = ec2_test_start();
    ec2_must(t, AUTHORIZE PORTS("1", "tcp", "80", "80") CIDR("1", "1", "10.0.0.0/8")
                    CIDR("1", "2", "11.0.0.0/8"));
    const char *id = ec2_text(t, "SecurityGroupRules.1.SecurityGroupRuleId");
    ec2_must(t,
             arena_printf(t->a, "Action=DescribeSecurityGroupRules&SecurityGroupRuleId.1=%s", id));
    assert_int_equal(ec2_len(t, "SecurityGroupRules"), 1);
    assert_string_equal(ec2_text(t, "SecurityGroupRules.0.CidrIpv4"), "11.0.0.0/8");
    ec2_must(t, arena_printf(t->a, REVOKE "&SecurityGroupRuleId.1=%s", id));
    ec2_must(t, "Action=DescribeSecurityGroupRules" FILTER("1", "group-id", "{nodes}"));
    assert_int_equal(ec2_len(t, "SecurityGroupRules"), 2); /* one of each direction */
    assert_string_equal(ec2_text(t, "SecurityGroupRules.0.CidrIpv4"), "10.0.0.0/8");
    assert_string_equal(ec2_text(t, "SecurityGroupRules.1.IsEgress"), "true");
    ec2_test_stop(t);
}

static void revoke__missing_rule_in_a_default_vpc__is_only_reported(void **state)
{
    (void)state;
    struct ec2_test *t = ec2_test_start();
    ec2_must(t, "Action=RevokeSecurityGroupIngress&GroupId={other}" PORTS("1", "tcp", "80", "80")
                    CIDR("1", "1", "10.0.0.0/8"));
    assert_int_equal(ec2_len(t, "RevokedSecurityGroupRules"), 0);
    assert_int_equal(ec2_len(t, "UnknownIpPermissions"), 1);
    assert_string_equal(ec2_text(t, "UnknownIpPermissions.0.IpRanges.0.CidrIp"), "10.0.0.0/8");
    ec2_test_stop(t);
}

static void revoke__egress__closes_the_group(void **state)
{
    (void)state;
    struct ec2_test *t = ec2_test_start();
    ec2_must(t, "Action=RevokeSecurityGroupEgress" GROUP
                "&IpPermissions.1.IpProtocol=-1" CIDR("1", "1", "0.0.0.0/0"));
    ec2_must(t, DESCRIBE "&GroupId.1={nodes}");
    assert_string_equal(ec2_json(t, "SecurityGroups.0.IpPermissionsEgress"), "[]");
    ec2_test_stop(t);
}

static void describe__filters__find_what_they_say(void **state)
{
    (void)state;
    struct ec2_test *t = ec2_test_start();
    const char *elb = ec2_make_group(t, "k8s-elb-a1");
    ec2_must(t,
             arena_printf(t->a, AUTHORIZE "&IpPermissions.1.IpProtocol=-1" PAIR("1", "%s"), elb));
    const struct {
        const char *filters;
        size_t n;
        const char *first; /* name */
    } rows[] = {
        {"", 5, NULL},
        {FILTER("1", "vpc-id", "{vpc}"), 3, "default"},
        {FILTER("1", "group-name", "k8s-elb-a1") FILTER("2", "vpc-id", "{vpc}"), 1, "k8s-elb-a1"},
        {FILTER("1", "group-name", "k8s-elb-a1") FILTER("2", "vpc-id", "{other_vpc}"), 0, NULL},
        {FILTER("1", "group-name", "k8s-*"), 1, "k8s-elb-a1"},
        {FILTER("1", "group-name", "k8s-?lb-a1"), 1, "k8s-elb-a1"},
        {FILTER("1", "group-name", "k8s-%5C*"), 0, NULL},
        {FILTER("1", "group-name", "K8S-elb-a1"), 0, NULL},
        {FILTER("1", "group-id", "{nodes}") "&Filter.1.Value.2=" ABSENT("sg-"), 1, "nodes"},
        {FILTER("1", "ip-permission.group-id", "{elb}"), 1, "nodes"},
        {FILTER("1", "ip-permission.group-id", ABSENT("sg-")), 0, NULL},
        {FILTER("1", "ip-permission.protocol", "-1"), 3, "default"},
        {FILTER("1", "ip-permission.cidr", "10.0.0.0/8"), 0, NULL},
        {FILTER("1", "egress.ip-permission.cidr", "0.0.0.0/0"), 5, NULL},
        {FILTER("1", "tag-key", CLUSTER_TAG), 1, "nodes"},
        {FILTER("1", "tag:" CLUSTER_TAG, "owned"), 1, "nodes"},
        {FILTER("1", "tag:" CLUSTER_TAG, "shared"), 0, NULL},
        {FILTER("1", "tag:" CLUSTER_TAG, "shared") "&Filter.1.Value.2=owned", 1, "nodes"},
        {FILTER("1", "description", "*nodes"), 1, "nodes"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *request = arena_printf(t->a, DESCRIBE "%s", rows[i].filters);
        ec2_must(t, str_replace(t->a, request, "{elb}", elb));
        if (ec2_len(t, "SecurityGroups") != rows[i].n ||
            (rows[i].first && !str_eq(ec2_text(t, "SecurityGroups.0.GroupName"), rows[i].first))) {
            fail_msg("%s: %s", rows[i].filters, ec2_json(t, ""));
        }
    }
    ec2_test_stop(t);
}

static void describe__page_size__gives_every_group_once(void **state)
{
    (void)state;
    struct ec2_test *t = ec2_test_start();
    const char *token = "";
    size_t n = 0, pages = 0;
    ec2_setting(t, "page_size", 2);
    do {
        ec2_must(t, arena_printf(t->a, DESCRIBE "%s%s", *token ? "&NextToken=" : "", token));
        n += ec2_len(t, "SecurityGroups");
        token = ec2_text(t, "NextToken");
        pages++;
    } while (*token && pages < 10);
    assert_int_equal(n, 4);
    assert_int_equal(pages, 2);
    ec2_test_stop(t);
}

/* Groups of a page are deleted before the next page is asked for: none is left out. */
static void describe__deletions_between_pages__gives_every_group_once(void **state)
{
    (void)state;
    struct ec2_test *t = ec2_test_start();
    const char *token = "";
    size_t n = 0, pages = 0, made = 0;
    for (size_t i = 0; i < 5; i++) {
        (void)ec2_make_group(t, arena_printf(t->a, "k8s-elb-a%zu", i));
    }
    ec2_setting(t, "page_size", 2);
    do {
        const char *ids[2] = {0};
        ec2_must(t, arena_printf(t->a, DESCRIBE "%s%s", *token ? "&NextToken=" : "", token));
        size_t some = ec2_len(t, "SecurityGroups");
        for (size_t i = 0; i < some; i++) {
            const char *name = ec2_text(t, arena_printf(t->a, "SecurityGroups.%zu.GroupName", i));
            const char *id = ec2_text(t, arena_printf(t->a, "SecurityGroups.%zu.GroupId", i));
            ids[i] = str_has_prefix(name, "k8s-elb-a") ? arena_strdup(t->a, id) : NULL;
        }
        token = arena_strdup(t->a, ec2_text(t, "NextToken"));
        n += some;
        for (size_t i = 0; i < some; i++) {
            if (ids[i] != NULL) {
                ec2_must(t, arena_printf(t->a, "Action=DeleteSecurityGroup&GroupId=%s", ids[i]));
                made++;
            }
        }
        pages++;
    } while (*token && pages < 10);
    assert_int_equal(n, 9);
    assert_int_equal(made, 5);
    ec2_test_stop(t);
}

static void delete__used_group__goes_when_it_is_free(void **state)
{
    (void)state;
    struct ec2_test *t = ec2_test_start();
    const char *elb = ec2_make_group(t, "k8s-elb-a1");
    const char *request = arena_printf(t->a, "Action=DeleteSecurityGroup&GroupId=%s", elb);
    const char *pair =
        arena_printf(t->a, GROUP "&IpPermissions.1.IpProtocol=-1" PAIR("1", "%s"), elb);
    ec2_must(t, arena_printf(t->a, "Action=AuthorizeSecurityGroupIngress%s", pair));
    ec2_refused(t, "a rule refers to it", request, "DependencyViolation", elb);
    ec2_must(t, arena_printf(t->a, "Action=RevokeSecurityGroupIngress%s", pair));

    struct json_object *groups = json_object_new_array();
    json_push_str(groups, elb);
    ec2_setting(t, "group_release_ms", 60000);
    amz_groups_hold(t->aws, groups);
    json_object_put(groups);
    ec2_refused(t, "interfaces are not released", request, "DependencyViolation", NULL);
    clock_fake_advance(t->clock, 59999);
    ec2_refused(t, "not yet released", request, "DependencyViolation", NULL);
    clock_fake_advance(t->clock, 1);
    ec2_must(t, request);
    assert_string_equal(ec2_text(t, "GroupId"), elb);
    ec2_refused(t, "it is gone", request, "InvalidGroup.NotFound", elb);
    ec2_test_stop(t);
}

static void delete__group_that_names_itself__goes(void **state)
{
    (void)state;
    struct ec2_test *t = ec2_test_start();
    const char *id = ec2_make_group(t, "self");
    ec2_must(t, arena_printf(t->a,
                             "Action=AuthorizeSecurityGroupIngress&GroupId=%s&"
                             "IpPermissions.1.IpProtocol=-1" PAIR("1", "%s"),
                             id, id));
    ec2_must(t, arena_printf(t->a, "Action=DeleteSecurityGroup&GroupId=%s", id));
    ec2_test_stop(t);
}

static void consistency__new_group_and_tag__are_seen_later(void **state)
{
    (void)state;
    struct ec2_test *t = ec2_test_start();
    ec2_setting(t, "consistency_ms", 2000);
    const char *id = ec2_make_group(t, "late");
    const char *tag = arena_printf(t->a, "Action=CreateTags&ResourceId.1=%s&Tag.1.Key=k", id);
    ec2_refused(t, "by id", arena_printf(t->a, DESCRIBE "&GroupId.1=%s", id),
                "InvalidGroup.NotFound", id);
    ec2_refused(t, "tags", tag, "InvalidGroup.NotFound", id);
    ec2_must(t, DESCRIBE FILTER("1", "group-name", "late"));
    assert_int_equal(ec2_len(t, "SecurityGroups"), 0);
    ec2_refused(t, "the name is taken all the same",
                "Action=CreateSecurityGroup&GroupName=late&GroupDescription=d&VpcId={vpc}",
                "InvalidGroup.Duplicate", NULL);
    clock_fake_advance(t->clock, 2000);
    ec2_must(t, tag);
    ec2_must(t, DESCRIBE FILTER("1", "tag-key", "k"));
    assert_int_equal(ec2_len(t, "SecurityGroups"), 0);
    ec2_must(t, DESCRIBE FILTER("1", "group-name", "late"));
    assert_string_equal(ec2_json(t, "SecurityGroups.0.Tags"), "[]");
    clock_fake_advance(t->clock, 2000);
    ec2_must(t, DESCRIBE FILTER("1", "tag-key", "k"));
    assert_int_equal(ec2_len(t, "SecurityGroups"), 1);
    ec2_test_stop(t);
}

static void consistency__rules__are_seen_later_and_judged_at_once(void **state)
{
    (void)state;
    struct ec2_test *t = ec2_test_start();
    const char *describe = DESCRIBE FILTER("1", "group-name", "late");
    const char *id = ec2_make_group(t, "late");
    const char *rule =
        arena_printf(t->a, "GroupId=%s&IpProtocol=tcp&FromPort=80&ToPort=80&CidrIp=10.0.0.0/8", id);
    const char *allow = arena_printf(t->a, "Action=AuthorizeSecurityGroupIngress&%s", rule);
    const char *revoke = arena_printf(t->a, "Action=RevokeSecurityGroupIngress&%s", rule);
    ec2_setting(t, "consistency_ms", 2000);
    ec2_must(t, allow);
    ec2_refused(t, "a second time", allow, "InvalidPermission.Duplicate", NULL);
    ec2_must(t, describe);
    assert_string_equal(ec2_json(t, "SecurityGroups.0.IpPermissions"), "[]");
    clock_fake_advance(t->clock, 2000);
    ec2_must(t, describe);
    assert_int_equal(ec2_len(t, "SecurityGroups.0.IpPermissions"), 1);
    ec2_must(t, revoke);
    ec2_must(t, describe);
    assert_int_equal(ec2_len(t, "SecurityGroups.0.IpPermissions"), 1);
    clock_fake_advance(t->clock, 2000);
    ec2_must(t, describe);
    assert_string_equal(ec2_json(t, "SecurityGroups.0.IpPermissions"), "[]");
    ec2_test_stop(t);
}

static void tags__delete__by_key_by_value_and_all(void **state)
{
    (void)state;
    struct ec2_test *t = ec2_test_start();
    const char *describe = "Action=DescribeTags" FILTER("1", "resource-id", "{b}");
    ec2_must(t, "Action=CreateTags&ResourceId.1={b}&Tag.1.Key=a&Tag.1.Value=1&Tag.2.Key=b&"
                "Tag.2.Value=2&Tag.3.Key=c");
    ec2_must(t, "Action=DeleteTags&ResourceId.1={b}&Tag.1.Key=a&Tag.2.Key=b&Tag.2.Value=other&"
                "Tag.3.Key=none");
    ec2_must(t, describe);
    assert_string_equal(
        ec2_json(t, "Tags"),
        arena_printf(t->a,
                     "[{\"Key\":\"b\",\"ResourceId\":\"%s\",\"ResourceType\":\"subnet\","
                     "\"Value\":\"2\"},{\"Key\":\"c\",\"ResourceId\":\"%s\",\"ResourceType\":"
                     "\"subnet\",\"Value\":\"\"}]",
                     t->subnet_b, t->subnet_b));
    ec2_must(t, "Action=DescribeTags" FILTER("1", "tag:b", "2")
                    FILTER("2", "resource-type", "subnet"));
    assert_int_equal(ec2_len(t, "Tags"), 1);
    ec2_must(t, "Action=DeleteTags&ResourceId.1={b}");
    ec2_must(t, describe);
    assert_int_equal(ec2_len(t, "Tags"), 0);
    ec2_test_stop(t);
}

UNIT_MAIN(groups)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(create__new_group__is_tagged_and_open_to_the_outside_only),
        cmocka_unit_test(create__same_name_in_another_vpc__is_made),
        cmocka_unit_test(authorize__same_ports__are_one_permission),
        cmocka_unit_test(authorize__protocols__are_written_as_ec2_does),
        cmocka_unit_test(authorize__host_bits__are_cleared),
        cmocka_unit_test(authorize__single_form__is_one_rule),
        cmocka_unit_test(authorize__prefix_list_of_the_world__counts_with_its_size),
        cmocka_unit_test(descriptions__change_in_place__of_rules_that_are_there),
        cmocka_unit_test(revoke__last_source__takes_the_permission_along),
        cmocka_unit_test(revoke__by_rule_id__removes_that_rule),
        cmocka_unit_test(revoke__missing_rule_in_a_default_vpc__is_only_reported),
        cmocka_unit_test(revoke__egress__closes_the_group),
        cmocka_unit_test(describe__filters__find_what_they_say),
        cmocka_unit_test(describe__page_size__gives_every_group_once),
        cmocka_unit_test(describe__deletions_between_pages__gives_every_group_once),
        cmocka_unit_test(delete__used_group__goes_when_it_is_free),
        cmocka_unit_test(delete__group_that_names_itself__goes),
        cmocka_unit_test(consistency__new_group_and_tag__are_seen_later),
        cmocka_unit_test(consistency__rules__are_seen_later_and_judged_at_once),
        cmocka_unit_test(tags__delete__by_key_by_value_and_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
