/* SPDX-License-Identifier: Apache-2.0 */
/* elb.c: the actions of classic ELB that are simulated, as a table. */
#include "sim/aws/elb/clb.h"

const struct amz_action amz_elb_actions[] = {
    {"AddTags", clb_add_tags, AMZ_WRITES},
    {"ApplySecurityGroupsToLoadBalancer", clb_apply_groups, AMZ_WRITES},
    {"AttachLoadBalancerToSubnets", clb_attach_subnets, AMZ_WRITES},
    {"ConfigureHealthCheck", clb_configure_health, AMZ_WRITES},
    {"CreateLoadBalancer", clb_create, AMZ_CREATES},
    {"CreateLoadBalancerListeners", clb_create_listeners, AMZ_HEAVY},
    {"CreateLoadBalancerPolicy", clb_create_policy, AMZ_WRITES},
    {"DeleteLoadBalancer", clb_delete, AMZ_HEAVY},
    {"DeleteLoadBalancerListeners", clb_delete_listeners, AMZ_HEAVY},
    {"DeleteLoadBalancerPolicy", clb_delete_policy, AMZ_WRITES},
    {"DeregisterInstancesFromLoadBalancer", clb_deregister, AMZ_WRITES},
    {"DescribeInstanceHealth", clb_describe_health, AMZ_READS},
    {"DescribeLoadBalancerAttributes", clb_describe_attributes, AMZ_READS},
    {"DescribeLoadBalancerPolicies", clb_describe_policies, AMZ_READS},
    {"DescribeLoadBalancers", clb_describe, AMZ_READS},
    {"DescribeTags", clb_describe_tags, AMZ_READS},
    {"DetachLoadBalancerFromSubnets", clb_detach_subnets, AMZ_WRITES},
    {"ModifyLoadBalancerAttributes", clb_modify_attributes, AMZ_WRITES},
    {"RegisterInstancesWithLoadBalancer", clb_register, AMZ_WRITES},
    {"RemoveTags", clb_remove_tags, AMZ_WRITES},
    {"SetLoadBalancerListenerSSLCertificate", clb_set_certificate, AMZ_WRITES},
    {"SetLoadBalancerPoliciesForBackendServer", clb_set_backend_policies, AMZ_WRITES},
    {"SetLoadBalancerPoliciesOfListener", clb_set_listener_policies, AMZ_WRITES},
    {NULL, NULL, AMZ_READS},
};
