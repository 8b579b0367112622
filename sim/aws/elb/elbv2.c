/* SPDX-License-Identifier: Apache-2.0 */
/* elbv2.c: the actions of ELBv2 that are simulated, as a table. */
#include "sim/aws/elb/nlb.h"

const struct amz_action amz_elbv2_actions[] = {
    {"AddTags", nlb_add_tags, AMZ_WRITES},
    {"CreateListener", nlb_create_listener, AMZ_HEAVY},
    {"CreateLoadBalancer", nlb_create_balancer, AMZ_CREATES},
    {"CreateTargetGroup", nlb_create_group, AMZ_WRITES},
    {"DeleteListener", nlb_delete_listener, AMZ_HEAVY},
    {"DeleteLoadBalancer", nlb_delete_balancer, AMZ_HEAVY},
    {"DeleteTargetGroup", nlb_delete_group, AMZ_WRITES},
    {"DeregisterTargets", nlb_deregister_targets, AMZ_WRITES},
    {"DescribeListenerAttributes", nlb_describe_listener_attributes, AMZ_READS},
    {"DescribeListeners", nlb_describe_listeners, AMZ_READS},
    {"DescribeLoadBalancerAttributes", nlb_describe_balancer_attributes, AMZ_READS},
    {"DescribeLoadBalancers", nlb_describe_balancers, AMZ_READS},
    {"DescribeTags", nlb_describe_tags, AMZ_READS},
    {"DescribeTargetGroupAttributes", nlb_describe_group_attributes, AMZ_READS},
    {"DescribeTargetGroups", nlb_describe_groups, AMZ_READS},
    {"DescribeTargetHealth", nlb_describe_health, AMZ_READS},
    {"ModifyListener", nlb_modify_listener, AMZ_HEAVY},
    {"ModifyListenerAttributes", nlb_modify_listener_attributes, AMZ_WRITES},
    {"ModifyLoadBalancerAttributes", nlb_modify_balancer_attributes, AMZ_WRITES},
    {"ModifyTargetGroup", nlb_modify_group, AMZ_WRITES},
    {"ModifyTargetGroupAttributes", nlb_modify_group_attributes, AMZ_WRITES},
    {"RegisterTargets", nlb_register_targets, AMZ_WRITES},
    {"RemoveTags", nlb_remove_tags, AMZ_WRITES},
    {"SetIpAddressType", nlb_set_address_type, AMZ_WRITES},
    {"SetSecurityGroups", nlb_set_groups, AMZ_WRITES},
    {"SetSubnets", nlb_set_subnets, AMZ_HEAVY},
    {NULL, NULL, AMZ_READS},
};
