/* SPDX-License-Identifier: Apache-2.0 */
/* refusals.c: what EC2 of the simulated AWS refuses, with which code.
 *
 * One table: each row is a request that must change nothing, on the world of ec2_fixture.h with a
 * group "used" whose rules are tcp 80 from 10.0.0.0/8 and everything from "nodes".
 * Source: docs/spec/aws.md §3.3, §3.4, §4.10, §4.15, §12; the EC2 API Reference. */
#include "tests/support/unit.h"
#include "tests/unit/sim/ec2/ec2_fixture.h"

#include <string.h>

#define AUTHORIZE  "Action=AuthorizeSecurityGroupIngress&GroupId={nodes}&IpPermissions.1."
#define TCP        AUTHORIZE "IpProtocol=tcp&IpPermissions.1.FromPort=80&IpPermissions.1.ToPort=80"
#define FROM(cidr) "&IpPermissions.1.IpRanges.1.CidrIp=" cidr
#define REVOKE                                                                                     \
    "Action=RevokeSecurityGroupIngress&GroupId={nodes}&IpPermissions.1.IpProtocol=tcp&"            \
    "IpPermissions.1.FromPort=80&IpPermissions.1.ToPort=80"
#define CREATE(name, description)                                                                  \
    "Action=CreateSecurityGroup&VpcId={vpc}&GroupName=" name "&GroupDescription=" description
#define SPEC "&TagSpecification.1.ResourceType="
#define RUN  "Action=RunInstances&MinCount=1&MaxCount=1&ImageId=ami-12c6146b&SubnetId={a}"
#define X64  "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define X256 X64 X64 X64 X64

struct row {
    const char *what, *request, *code, *text;
};

static const struct row rows[] = {
    /* ids */
    {"unknown group", "Action=DescribeSecurityGroups&GroupId.1=" ABSENT("sg-"),
     "InvalidGroup.NotFound", "The security group 'sg-00000000000000000' does not exist"},
    {"one of two groups unknown",
     "Action=DescribeSecurityGroups&GroupId.1={nodes}&GroupId.2=" ABSENT("sg-"),
     "InvalidGroup.NotFound", NULL},
    {"malformed group", "Action=DescribeSecurityGroups&GroupId.1=nodes", "InvalidGroupId.Malformed",
     "Invalid id: \"nodes\" (expecting \"sg-...\")"},
    {"group id too short", "Action=DescribeSecurityGroups&GroupId.1=sg-1",
     "InvalidGroupId.Malformed", NULL},
    {"group id in capitals", "Action=DescribeSecurityGroups&GroupId.1=sg-ABCDEF01",
     "InvalidGroupId.Malformed", NULL},
    {"unknown group name", "Action=DescribeSecurityGroups&GroupName.1=nodes",
     "InvalidGroup.NotFound", "default VPC"},
    {"unknown instance", "Action=DescribeInstances&InstanceId.1=" ABSENT("i-"),
     "InvalidInstanceID.NotFound", NULL},
    {"malformed instance", "Action=DescribeInstances&InstanceId.1=node-0",
     "InvalidInstanceID.Malformed", NULL},
    {"unknown subnet", "Action=DescribeSubnets&SubnetId.1=" ABSENT("subnet-"),
     "InvalidSubnetID.NotFound", NULL},
    {"malformed subnet", "Action=DescribeSubnets&SubnetId.1=subnet-x", "InvalidSubnetID.Malformed",
     NULL},
    {"unknown table", "Action=DescribeRouteTables&RouteTableId.1=" ABSENT("rtb-"),
     "InvalidRouteTableID.NotFound", NULL},
    {"malformed table", "Action=DescribeRouteTables&RouteTableId.1=x",
     "InvalidRouteTableId.Malformed", NULL},
    {"unknown VPC", "Action=DescribeVpcs&VpcId.1=" ABSENT("vpc-"), "InvalidVpcID.NotFound", NULL},
    {"malformed VPC", "Action=DescribeVpcs&VpcId.1=x", "InvalidVpcID.Malformed", NULL},
    {"unknown interface", "Action=DescribeNetworkInterfaces&NetworkInterfaceId.1=" ABSENT("eni-"),
     "InvalidNetworkInterfaceID.NotFound", NULL},
    {"malformed interface", "Action=DescribeNetworkInterfaces&NetworkInterfaceId.1=x",
     "InvalidNetworkInterfaceId.Malformed", NULL},
    {"unknown rule", "Action=DescribeSecurityGroupRules&SecurityGroupRuleId.1=" ABSENT("sgr-"),
     "InvalidSecurityGroupRuleId.NotFound", NULL},
    {"unknown zone", "Action=DescribeAvailabilityZones&ZoneName.1=us-east-1x",
     "InvalidParameterValue", "Invalid availability zone: [us-east-1x]"},
    {"unknown zone id", "Action=DescribeAvailabilityZones&ZoneId.1=x", "InvalidParameterValue",
     "Invalid availability zone-id: [x]"},
    /* filters */
    {"unknown filter", "Action=DescribeSecurityGroups&Filter.1.Name=vpcid&Filter.1.Value.1=x",
     "InvalidParameterValue", "The filter 'vpcid' is invalid"},
    {"filter of another kind", "Action=DescribeSubnets&Filter.1.Name=group-id&Filter.1.Value.1=x",
     "InvalidParameterValue", "The filter 'group-id' is invalid"},
    {"tag filter without tags",
     "Action=DescribeAvailabilityZones&Filter.1.Name=tag:x&Filter.1.Value.1=x",
     "InvalidParameterValue", NULL},
    {"filter without values", "Action=DescribeInstances&Filter.1.Name=vpc-id",
     "InvalidParameterValue", NULL},
    {"value too long", "Action=DescribeInstances&Filter.1.Name=vpc-id&Filter.1.Value.1=" X256,
     "FilterLimitExceeded", "255"},
    /* pages */
    {"ids and MaxResults", "Action=DescribeInstances&InstanceId.1={i0}&MaxResults=5",
     "InvalidParameterCombination",
     "The parameter instancesSet cannot be used with the parameter maxResults"},
    {"MaxResults too small", "Action=DescribeInstances&MaxResults=4", "InvalidParameterValue",
     "maxResults"},
    {"MaxResults too large", "Action=DescribeInstances&MaxResults=1001", "InvalidParameterValue",
     NULL},
    {"MaxResults of tags too small", "Action=DescribeTags&MaxResults=4", "InvalidParameterValue",
     NULL},
    {"token of nobody", "Action=DescribeSecurityGroups&NextToken=x", "InvalidNextToken", NULL},
    /* CreateSecurityGroup */
    {"name is taken", CREATE("nodes", "d"), "InvalidGroup.Duplicate",
     "The security group 'nodes' already exists for VPC"},
    {"name like an id", CREATE("sg-nodes", "d"), "InvalidParameterValue", "sg-*"},
    {"name reserved", CREATE("default", "d"), "InvalidGroup.Reserved", NULL},
    {"name with a character", CREATE("a|b", "d"), "InvalidParameterValue", "GroupName"},
    {"name not ASCII", CREATE("%C3%BC", "d"), "InvalidParameterValue", "GroupName"},
    {"name too long", CREATE(X256, "d"), "InvalidParameterValue", "GroupName"},
    {"no name", CREATE("", "d"), "MissingParameter", "GroupName"},
    {"description with a character", CREATE("a", "d%27s"), "InvalidParameterValue",
     "GroupDescription"},
    {"description too long", CREATE("a", X256), "InvalidParameterValue", "GroupDescription"},
    {"no description", CREATE("a", ""), "MissingParameter", "GroupDescription"},
    {"unknown VPC, create",
     "Action=CreateSecurityGroup&GroupName=a&GroupDescription=d&VpcId=" ABSENT("vpc-"),
     "InvalidVpcID.NotFound", NULL},
    {"tags of another type", CREATE("a", "d") SPEC "instance&TagSpecification.1.Tag.1.Key=k",
     "InvalidParameterValue", "'instance' is not a valid taggable resource type"},
    {"specification without tags", CREATE("a", "d") SPEC "security-group", "InvalidParameterValue",
     "at least one tag"},
    {"reserved tag", CREATE("a", "d") SPEC "security-group&TagSpecification.1.Tag.1.Key=aws:x",
     "InvalidParameterValue", "aws:"},
    {"tag twice",
     CREATE("a", "d") SPEC "security-group&TagSpecification.1.Tag.1.Key=k&"
                           "TagSpecification.1.Tag.2.Key=k",
     "InvalidParameterValue", "Duplicate tag key"},
    /* DeleteSecurityGroup */
    {"no group", "Action=DeleteSecurityGroup", "MissingParameter", NULL},
    {"group of instances", "Action=DeleteSecurityGroup&GroupId={nodes}", "DependencyViolation",
     "has a dependent object"},
    {"unknown group, delete", "Action=DeleteSecurityGroup&GroupId=" ABSENT("sg-"),
     "InvalidGroup.NotFound", NULL},
    {"malformed group, delete", "Action=DeleteSecurityGroup&GroupId=x", "InvalidGroupId.Malformed",
     NULL},
    {"default group by name", "Action=DeleteSecurityGroup&GroupName=default", "CannotDelete",
     "cannot be deleted by a user"},
    /* rules: protocols and ports */
    {"protocol tls", AUTHORIZE "IpProtocol=tls" FROM("0.0.0.0/0"), "InvalidParameterValue",
     "Invalid value 'tls' for IP protocol. Unknown protocol."},
    {"protocol in capitals", AUTHORIZE "IpProtocol=TCP" FROM("0.0.0.0/0"), "InvalidParameterValue",
     "Unknown protocol"},
    {"protocol all", AUTHORIZE "IpProtocol=all" FROM("0.0.0.0/0"), "InvalidParameterValue",
     "Unknown protocol"},
    {"protocol 256", AUTHORIZE "IpProtocol=256" FROM("0.0.0.0/0"), "InvalidParameterValue",
     "Unknown protocol"},
    {"no protocol", AUTHORIZE "FromPort=80" FROM("0.0.0.0/0"), "MissingParameter", "ipProtocol"},
    {"no ports", AUTHORIZE "IpProtocol=tcp" FROM("0.0.0.0/0"), "InvalidParameterValue",
     "Must specify both from and to ports"},
    {"one port", AUTHORIZE "IpProtocol=6&IpPermissions.1.FromPort=80" FROM("0.0.0.0/0"),
     "InvalidParameterValue", "Must specify both from and to ports"},
    {"ports backwards",
     AUTHORIZE
     "IpProtocol=udp&IpPermissions.1.FromPort=90&IpPermissions.1.ToPort=80" FROM("0.0.0.0/0"),
     "InvalidParameterValue", "Invalid TCP/UDP port range (90:80)"},
    {"port 65536",
     AUTHORIZE
     "IpProtocol=tcp&IpPermissions.1.FromPort=0&IpPermissions.1.ToPort=65536" FROM("0.0.0.0/0"),
     "InvalidParameterValue", "TCP/UDP port (65536) out of range"},
    {"port -1",
     AUTHORIZE
     "IpProtocol=tcp&IpPermissions.1.FromPort=-1&IpPermissions.1.ToPort=-1" FROM("0.0.0.0/0"),
     "InvalidParameterValue", "TCP/UDP port (-1) out of range"},
    {"ICMP without type", AUTHORIZE "IpProtocol=icmp" FROM("0.0.0.0/0"), "InvalidParameterValue",
     "ICMP"},
    {"ICMP type 256",
     AUTHORIZE
     "IpProtocol=icmp&IpPermissions.1.FromPort=256&IpPermissions.1.ToPort=0" FROM("0.0.0.0/0"),
     "InvalidParameterValue", "out of range"},
    {"ICMP code of all types",
     AUTHORIZE
     "IpProtocol=icmp&IpPermissions.1.FromPort=-1&IpPermissions.1.ToPort=4" FROM("0.0.0.0/0"),
     "InvalidParameterValue", "all ICMP types"},
    /* rules: sources */
    {"no source", TCP, "MissingParameter", NULL},
    {"no permission", "Action=AuthorizeSecurityGroupIngress&GroupId={nodes}", "MissingParameter",
     "ipPermissions"},
    {"no group, authorize", "Action=AuthorizeSecurityGroupIngress", "MissingParameter", "groupId"},
    {"address without length", TCP FROM("10.0.0.1"), "InvalidParameterValue",
     "CIDR block 10.0.0.1 is malformed"},
    {"length 33", TCP FROM("10.0.0.0/33"), "InvalidParameterValue", "malformed"},
    {"leading zeros", TCP FROM("010.0.0.0/8"), "InvalidParameterValue", "malformed"},
    {"leading zero of the length", TCP FROM("10.0.0.0/08"), "InvalidParameterValue", "malformed"},
    {"IPv6 in the wrong list", TCP FROM("fd00::/8"), "InvalidParameterValue", "malformed"},
    {"IPv4 in the wrong list", TCP "&IpPermissions.1.Ipv6Ranges.1.CidrIpv6=10.0.0.0/8",
     "InvalidParameterValue", "malformed"},
    {"mapped IPv4", TCP "&IpPermissions.1.Ipv6Ranges.1.CidrIpv6=::ffff:10.0.0.0/104",
     "InvalidParameterValue", "malformed"},
    {"blank in a CIDR", TCP FROM("%2010.0.0.0/8"), "InvalidParameterValue", "malformed"},
    {"range without CIDR", TCP "&IpPermissions.1.IpRanges.1.Description=x", "MissingParameter",
     "cidrIp"},
    {"description with a character",
     TCP FROM("10.0.0.0/8") "&IpPermissions.1.IpRanges.1."
                            "Description=a%7Cb",
     "InvalidParameterValue", "Invalid rule description"},
    {"description too long", TCP FROM("10.0.0.0/8") "&IpPermissions.1.IpRanges.1.Description=" X256,
     "InvalidParameterValue", "Invalid rule description"},
    {"unknown peer", TCP "&IpPermissions.1.Groups.1.GroupId=" ABSENT("sg-"),
     "InvalidGroup.NotFound", "sg-00000000000000000"},
    {"malformed peer", TCP "&IpPermissions.1.Groups.1.GroupId=x", "InvalidGroupId.Malformed", NULL},
    {"peer of another VPC", TCP "&IpPermissions.1.Groups.1.GroupId={other}",
     "InvalidGroup.NotFound", "different networks"},
    {"peer of another account",
     TCP "&IpPermissions.1.Groups.1.GroupId={nodes}&IpPermissions.1.Groups.1.UserId=210987654321",
     "InvalidGroup.NotFound", NULL},
    {"peer by name", TCP "&IpPermissions.1.Groups.1.GroupName=nodes", "InvalidParameterValue",
     "by name"},
    {"peer without id", TCP "&IpPermissions.1.Groups.1.Description=x", "MissingParameter",
     "groupId"},
    {"unknown prefix list", TCP "&IpPermissions.1.PrefixListIds.1.PrefixListId=" ABSENT("pl-"),
     "InvalidPrefixListID.NotFound", NULL},
    {"malformed prefix list", TCP "&IpPermissions.1.PrefixListIds.1.PrefixListId=x",
     "InvalidPrefixListId.Malformed", NULL},
    {"unknown group, authorize",
     "Action=AuthorizeSecurityGroupIngress&GroupId=" ABSENT(
         "sg-") "&IpPermissions.1.IpProtocol=-1" FROM("0.0.0.0/0"),
     "InvalidGroup.NotFound", NULL},
    {"both forms", TCP FROM("10.0.0.0/8") "&CidrIp=10.0.0.0/8", "InvalidParameterCombination",
     NULL},
    {"single form without CIDR",
     "Action=AuthorizeSecurityGroupIngress&GroupId={nodes}&IpProtocol=-1", "MissingParameter",
     "cidrIp"},
    {"single form in a permission of egress",
     "Action=AuthorizeSecurityGroupEgress&GroupId={nodes}&IpProtocol=-1&CidrIp=0.0.0.0/0",
     "UnsupportedOperation", NULL},
    /* rules: what is there */
    {"rule twice in a request",
     TCP FROM("10.1.0.0/16") "&IpPermissions.1.IpRanges.2.CidrIp=10.1.0.0/16",
     "InvalidParameterValue", "The same permission must not appear multiple times"},
    {"rule twice, host bits",
     TCP FROM("10.1.0.0/16") "&IpPermissions.1.IpRanges.2.CidrIp=10.1.2.3/16",
     "InvalidParameterValue", "multiple times"},
    {"rule is there", TCP FROM("10.0.0.0/8"), "InvalidPermission.Duplicate",
     "\"peer: 10.0.0.0/8, TCP, from port: 80, to port: 80, ALLOW\" already exists"},
    {"rule is there by number",
     AUTHORIZE
     "IpProtocol=6&IpPermissions.1.FromPort=80&IpPermissions.1.ToPort=80" FROM("10.0.0.0/8"),
     "InvalidPermission.Duplicate", NULL},
    {"rule is there, host bits", TCP FROM("10.1.2.3/8"), "InvalidPermission.Duplicate", NULL},
    {"rule is there with another description",
     TCP FROM("10.0.0.0/8") "&IpPermissions.1.IpRanges.1.Description=x",
     "InvalidPermission.Duplicate", NULL},
    {"all or nothing", TCP FROM("10.2.0.0/16") "&IpPermissions.1.IpRanges.2.CidrIp=10.0.0.0/8",
     "InvalidPermission.Duplicate", NULL},
    {"pair is there, ports are nothing to it",
     AUTHORIZE "IpProtocol=-1&IpPermissions.1.FromPort=1&IpPermissions.1.ToPort=2&"
               "IpPermissions.1.Groups.1.GroupId={nodes}",
     "InvalidPermission.Duplicate", "ALL"},
    {"revoke of another CIDR", REVOKE FROM("10.0.0.0/9"), "InvalidPermission.NotFound",
     "The specified rule does not exist in this security group."},
    {"revoke, one of two is not there",
     REVOKE FROM("10.0.0.0/8") "&IpPermissions.1.IpRanges.2.CidrIp=10.9.0.0/16",
     "InvalidPermission.NotFound", NULL},
    {"revoke of other ports",
     "Action=RevokeSecurityGroupIngress&GroupId={nodes}&IpPermissions.1.IpProtocol=tcp&"
     "IpPermissions.1.FromPort=80&IpPermissions.1.ToPort=81" FROM("10.0.0.0/8"),
     "InvalidPermission.NotFound", NULL},
    {"revoke of another protocol",
     "Action=RevokeSecurityGroupIngress&GroupId={nodes}&IpPermissions.1.IpProtocol=-1" FROM(
         "10.0.0.0/8"),
     "InvalidPermission.NotFound", NULL},
    {"revoke of a pair that never was", REVOKE "&IpPermissions.1.Groups.1.GroupId=" ABSENT("sg-"),
     "InvalidPermission.NotFound", NULL},
    {"revoke in the other direction",
     "Action=RevokeSecurityGroupEgress&GroupId={nodes}&IpPermissions.1.IpProtocol=tcp&"
     "IpPermissions.1.FromPort=80&IpPermissions.1.ToPort=80" FROM("10.0.0.0/8"),
     "InvalidPermission.NotFound", NULL},
    {"revoke in an unknown group",
     "Action=RevokeSecurityGroupIngress&GroupId=" ABSENT(
         "sg-") "&IpPermissions.1.IpProtocol=-1" FROM("0.0.0.0/0"),
     "InvalidGroup.NotFound", NULL},
    {"revoke by an unknown rule id",
     "Action=RevokeSecurityGroupIngress&GroupId={nodes}&SecurityGroupRuleId.1=" ABSENT("sgr-"),
     "InvalidSecurityGroupRuleId.NotFound", NULL},
    {"revoke by a malformed rule id",
     "Action=RevokeSecurityGroupIngress&GroupId={nodes}&SecurityGroupRuleId.1=x",
     "InvalidSecurityGroupRuleId.Malformed", NULL},
    {"revoke by rule id and rule", REVOKE FROM("10.0.0.0/8") "&SecurityGroupRuleId.1=x",
     "InvalidParameterCombination", NULL},
    {"tags of rules",
     TCP FROM("10.9.0.0/16") SPEC "security-group-rule&TagSpecification.1.Tag.1."
                                  "Key=k",
     "UnsupportedOperation", "TagSpecifications"},
    /* tags */
    {"tag of an unknown group", "Action=CreateTags&Tag.1.Key=k&ResourceId.1=" ABSENT("sg-"),
     "InvalidGroup.NotFound", NULL},
    {"one of two resources unknown",
     "Action=CreateTags&Tag.1.Key=k&ResourceId.1={nodes}&ResourceId.2=" ABSENT("subnet-"),
     "InvalidSubnetID.NotFound", NULL},
    {"tag of nothing known", "Action=CreateTags&Tag.1.Key=k&ResourceId.1=x-1", "InvalidID",
     "The ID 'x-1' is not valid"},
    {"tag key aws:", "Action=CreateTags&ResourceId.1={nodes}&Tag.1.Key=aws:x",
     "InvalidParameterValue", NULL},
    {"tag key empty", "Action=CreateTags&ResourceId.1={nodes}&Tag.1.Key=", "InvalidParameterValue",
     NULL},
    {"tag key too long", "Action=CreateTags&ResourceId.1={nodes}&Tag.1.Key=" X64 X64,
     "InvalidParameterValue", "127"},
    {"tag value too long",
     "Action=CreateTags&ResourceId.1={nodes}&Tag.1.Key=k&Tag.1.Value=" X256 "x",
     "InvalidParameterValue", "256"},
    {"tag key twice", "Action=CreateTags&ResourceId.1={nodes}&Tag.1.Key=k&Tag.2.Key=k",
     "InvalidParameterValue", "Duplicate"},
    {"untag an unknown group", "Action=DeleteTags&ResourceId.1=" ABSENT("sg-"),
     "InvalidGroup.NotFound", NULL},
    /* instances */
    {"no image", "Action=RunInstances&MinCount=1&MaxCount=1&SubnetId={a}", "MissingParameter",
     "ImageId"},
    {"malformed image", "Action=RunInstances&MinCount=1&MaxCount=1&ImageId=x&SubnetId={a}",
     "InvalidAMIID.Malformed", NULL},
    {"no instance", "Action=RunInstances&MinCount=0&MaxCount=1&ImageId=ami-12c6146b&SubnetId={a}",
     "InvalidParameterValue", "minCount"},
    {"counts backwards",
     "Action=RunInstances&MinCount=2&MaxCount=1&ImageId=ami-12c6146b&SubnetId={a}",
     "InvalidParameterValue", "maxCount"},
    {"unknown subnet, run",
     "Action=RunInstances&MinCount=1&MaxCount=1&ImageId=ami-12c6146b&SubnetId=" ABSENT("subnet-"),
     "InvalidSubnetID.NotFound", NULL},
    {"no subnet in the default VPC",
     "Action=RunInstances&MinCount=1&MaxCount=1&ImageId=ami-12c6146b", "MissingInput", NULL},
    {"group of another VPC", RUN "&SecurityGroupId.1={other}", "InvalidGroup.NotFound", NULL},
    {"address is taken", RUN "&PrivateIpAddress=10.0.0.4", "InvalidIPAddress.InUse", NULL},
    {"address is AWS' own", RUN "&PrivateIpAddress=10.0.0.1", "InvalidIPAddress.InUse", NULL},
    {"subnet is full",
     "Action=RunInstances&MinCount=12&MaxCount=12&ImageId=ami-12c6146b&SubnetId={b}",
     "InsufficientFreeAddressesInSubnet", NULL},
    {"not simulated", RUN "&KeyName=k", "UnsupportedOperation", "KeyName"},
    {"modify two attributes",
     "Action=ModifyInstanceAttribute&InstanceId={i0}&SourceDestCheck.Value=false&GroupId.1={nodes}",
     "InvalidParameterCombination", NULL},
    {"modify nothing", "Action=ModifyInstanceAttribute&InstanceId={i0}",
     "InvalidParameterCombination", NULL},
    {"groups of another VPC", "Action=ModifyInstanceAttribute&InstanceId={i0}&GroupId.1={other}",
     "InvalidGroup.NotFound", NULL},
    /* networks */
    {"VPC too large", "Action=CreateVpc&CidrBlock=10.0.0.0/15", "InvalidVpc.Range", NULL},
    {"VPC too small", "Action=CreateVpc&CidrBlock=10.0.0.0/29", "InvalidVpc.Range", NULL},
    {"VPC of no block", "Action=CreateVpc&CidrBlock=x", "InvalidParameterValue", "cidrBlock"},
    {"subnet outside", "Action=CreateSubnet&VpcId={vpc}&CidrBlock=10.1.0.0/24",
     "InvalidSubnet.Range", NULL},
    {"subnet overlaps", "Action=CreateSubnet&VpcId={vpc}&CidrBlock=10.0.0.128/25",
     "InvalidSubnet.Conflict", NULL},
    {"subnet around another", "Action=CreateSubnet&VpcId={vpc}&CidrBlock=10.0.0.0/20",
     "InvalidSubnet.Conflict", NULL},
    {"subnet in an unknown zone",
     "Action=CreateSubnet&VpcId={vpc}&CidrBlock=10.0.9.0/24&AvailabilityZone=x",
     "InvalidParameterValue", "availabilityZone"},
    {"gateway to a VPC that has one", NULL, "InvalidParameterValue", "already has"},
};

static void refusals__each_row__is_refused_and_nothing_changes(void **state)
{
    (void)state;
    struct ec2_test *t = ec2_test_start();
    ec2_must(t, TCP FROM("10.0.0.0/8"));
    ec2_must(t, AUTHORIZE "IpProtocol=-1&IpPermissions.1.Groups.1.GroupId={nodes}");
    ec2_must(t, "Action=CreateInternetGateway");
    const char *attach =
        arena_printf(t->a, "Action=AttachInternetGateway&VpcId={vpc}&InternetGatewayId=%s",
                     ec2_text(t, "InternetGateway.InternetGatewayId"));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct row *r = &rows[i];
        ec2_refused(t, r->what, r->request ? r->request : attach, r->code, r->text);
    }
    ec2_test_stop(t);
}

/* Makes "Filter.1.Value.1=x&…" with n values. */
static const char *many(struct ec2_test *t, const char *start, const char *each, int n)
{
    struct str_buf b = STR_BUF_INIT;
    str_append(&b, start);
    for (int i = 1; i <= n; i++) {
        str_append_c(&b, '&');
        str_append(&b, str_replace(t->a, each, "#", arena_printf(t->a, "%d", i)));
    }
    const char *text = str_buf_to_arena(&b, t->a);
    str_buf_done(&b);
    return text;
}

static void limits__one_more_than_allowed__is_refused(void **state)
{
    (void)state;
    struct ec2_test *t = ec2_test_start();
    const char *values = "Action=DescribeInstances&Filter.1.Name=instance-id";
    ec2_must(t, many(t, values, "Filter.1.Value.#=i-#", 200));
    ec2_refused(t, "201 values", many(t, values, "Filter.1.Value.#=i-#", 201),
                "FilterLimitExceeded", "200");
    const char *filters = "Filter.#.Name=vpc-id&Filter.#.Value.1=x";
    ec2_must(t, many(t, "Action=DescribeSubnets", filters, 50));
    ec2_refused(t, "51 filters", many(t, "Action=DescribeSubnets", filters, 51),
                "FilterLimitExceeded", "50");
    const char *tags = "Action=CreateTags&ResourceId.1={b}";
    ec2_refused(t, "51 tags", many(t, tags, "Tag.#.Key=k#", 51), "TagLimitExceeded", NULL);
    ec2_must(t, many(t, tags, "Tag.#.Key=k#", 50));
    ec2_refused(t, "one tag more", "Action=CreateTags&ResourceId.1={b}&Tag.1.Key=x",
                "TagLimitExceeded", NULL);
    ec2_must(t, "Action=CreateTags&ResourceId.1={b}&Tag.1.Key=k7&Tag.1.Value=new");
    ec2_setting(t, "quotas.groups_per_vpc", 2); /* default and nodes */
    ec2_refused(t, "groups", CREATE("a", "d"), "SecurityGroupLimitExceeded", NULL);
    ec2_test_stop(t);
}

static void quota__60_rules_of_each_family__pairs_count_for_both(void **state)
{
    (void)state;
    struct ec2_test *t = ec2_test_start();
    ec2_must(t, many(t, TCP, "IpPermissions.1.IpRanges.#.CidrIp=10.#.0.0/16", 59));
    ec2_must(t, many(t, TCP, "IpPermissions.1.Ipv6Ranges.#.CidrIpv6=fd00:#::/32", 59));
    ec2_must(t, TCP "&IpPermissions.1.Groups.1.GroupId={nodes}");
    ec2_refused(t, "61st of IPv4", TCP FROM("10.200.0.0/16"), "RulesPerSecurityGroupLimitExceeded",
                "The maximum number of rules per security group has been reached.");
    ec2_refused(t, "61st of IPv6", TCP "&IpPermissions.1.Ipv6Ranges.1.CidrIpv6=fd01::/32",
                "RulesPerSecurityGroupLimitExceeded", NULL);
    ec2_must(t, "Action=RevokeSecurityGroupIngress&GroupId={nodes}&IpPermissions.1.IpProtocol=tcp&"
                "IpPermissions.1.FromPort=80&IpPermissions.1.ToPort=80&"
                "IpPermissions.1.IpRanges.1.CidrIp=10.1.0.0/16");
    ec2_must(t, TCP FROM("10.200.0.0/16"));
    ec2_must(
        t, "Action=AuthorizeSecurityGroupEgress&GroupId={nodes}&IpPermissions.1.IpProtocol=50" FROM(
               "10.0.0.0/8"));
    ec2_setting(t, "quotas.rules_per_group", 61);
    ec2_must(t, TCP FROM("10.201.0.0/16"));
    ec2_test_stop(t);
}

UNIT_MAIN(refusals)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals__each_row__is_refused_and_nothing_changes),
        cmocka_unit_test(limits__one_more_than_allowed__is_refused),
        cmocka_unit_test(quota__60_rules_of_each_family__pairs_count_for_both),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
