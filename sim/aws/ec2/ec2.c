/* SPDX-License-Identifier: Apache-2.0 */
/* ec2.c: the actions of EC2 that are simulated, as a table.
 *
 * The actions that a load balancer controller calls (docs/spec/aws.md §3.5), and those to build a
 * network, groups and instances by hand.  Everything else that the pack knows is refused as
 * InvalidAction. */
#include "sim/aws/ec2/ec2_parts.h"

const struct amz_action amz_ec2_actions[] = {
    {"AttachInternetGateway", ec2_attach_gateway, AMZ_WRITES},
    {"AuthorizeSecurityGroupEgress", ec2_authorize_egress, AMZ_HEAVY},
    {"AuthorizeSecurityGroupIngress", ec2_authorize_ingress, AMZ_HEAVY},
    {"CreateInternetGateway", ec2_create_gateway, AMZ_WRITES},
    {"CreateRoute", ec2_create_route, AMZ_WRITES},
    {"CreateSecurityGroup", ec2_create_group, AMZ_WRITES},
    {"CreateSubnet", ec2_create_subnet, AMZ_WRITES},
    {"CreateTags", ec2_create_tags, AMZ_WRITES},
    {"CreateVpc", ec2_create_vpc, AMZ_WRITES},
    {"DeleteRoute", ec2_delete_route, AMZ_WRITES},
    {"DeleteSecurityGroup", ec2_delete_group, AMZ_WRITES},
    {"DeleteTags", ec2_delete_tags, AMZ_WRITES},
    {"DescribeAddresses", ec2_describe_addresses, AMZ_READS},
    {"DescribeAvailabilityZones", ec2_describe_zones, AMZ_READS},
    {"DescribeInstanceTopology", ec2_describe_instance_topology, AMZ_READS},
    {"DescribeInstances", ec2_describe_instances, AMZ_READS},
    {"DescribeNetworkInterfaces", ec2_describe_interfaces, AMZ_READS},
    {"DescribeRouteTables", ec2_describe_route_tables, AMZ_READS},
    {"DescribeSecurityGroupRules", ec2_describe_rules, AMZ_READS},
    {"DescribeSecurityGroups", ec2_describe_groups, AMZ_READS},
    {"DescribeSubnets", ec2_describe_subnets, AMZ_READS},
    {"DescribeTags", ec2_describe_tags, AMZ_READS},
    {"DescribeVpcs", ec2_describe_vpcs, AMZ_READS},
    {"ModifyInstanceAttribute", ec2_modify_instance_attribute, AMZ_HEAVY},
    {"RevokeSecurityGroupEgress", ec2_revoke_egress, AMZ_HEAVY},
    {"RevokeSecurityGroupIngress", ec2_revoke_ingress, AMZ_HEAVY},
    {"RunInstances", ec2_run_instances, AMZ_HEAVY},
    {"UpdateSecurityGroupRuleDescriptionsIngress", ec2_describe_rules_anew, AMZ_HEAVY},
    {NULL, NULL, AMZ_READS},
};
