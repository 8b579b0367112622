/* SPDX-License-Identifier: Apache-2.0 */
/* aws_config_keys.c: see aws_config_keys.h. */
#include "providers/aws/model/aws_config_keys.h"

#define GLOBAL(name_, member, type_)                                                               \
    {                                                                                              \
        .section = AWS_SECTION_GLOBAL, .key = (name_), .type = (type_),                            \
        .offset = offsetof(struct aws_global, member)                                              \
    }
#define OPTION(name_, member, type_)                                                               \
    {                                                                                              \
        .section = AWS_SECTION_OPTIONS, .key = (name_), .type = (type_),                           \
        .offset = offsetof(struct aws_global, c.options.member)                                    \
    }
#define OVERRIDE(name_, member)                                                                    \
    {                                                                                              \
        .section = AWS_SECTION_OVERRIDE, .key = (name_), .type = GCFG_STR,                         \
        .offset = offsetof(struct aws_override, member)                                            \
    }

const struct gcfg_key aws_config_keys[] = {
    GLOBAL("Zone", c.zone, GCFG_STR),
    GLOBAL("Region", c.region, GCFG_STR),
    GLOBAL("VPC", c.vpc, GCFG_STR),
    GLOBAL("SubnetID", c.subnet_id, GCFG_STR),
    GLOBAL("RouteTableID", c.route_table_id, GCFG_STR),
    GLOBAL("RoleARN", c.role_arn, GCFG_STR),
    GLOBAL("SourceARN", c.source_arn, GCFG_STR),
    GLOBAL("KubernetesClusterTag", c.cluster_tag, GCFG_STR),
    GLOBAL("KubernetesClusterID", c.cluster_id, GCFG_STR),
    GLOBAL("DisableSecurityGroupIngress", c.disable_security_group_ingress, GCFG_BOOL),
    GLOBAL("ElbSecurityGroup", c.elb_security_group, GCFG_STR),
    GLOBAL("NodeIPFamilies", c.node_ip_families, GCFG_STRS),
    GLOBAL("ClusterServiceLoadBalancerHealthProbeMode", c.probe_mode, GCFG_STR),
    GLOBAL("ClusterServiceSharedLoadBalancerHealthProbePort", probe_port, GCFG_INT),
    GLOBAL("ClusterServiceSharedLoadBalancerHealthProbePath", c.probe_path, GCFG_STR),
    GLOBAL("SupportedTopologyInstanceTypePattern", c.topology_pattern, GCFG_STR),
    GLOBAL("NLBSecurityGroupMode", c.nlb_security_group_mode, GCFG_STR),
    OPTION("NLBTags", nlb_tags, GCFG_BOOL),
    OPTION("NLBSubnets", nlb_subnets, GCFG_BOOL),
    OPTION("MixedProtocols", mixed_protocols, GCFG_BOOL),
    OPTION("ReplaceOnSchemeChange", replaces_scheme, GCFG_BOOL),
    OPTION("LenientScheme", lenient_scheme, GCFG_BOOL),
    OPTION("AllowedSecurityGroups", allowed_groups, GCFG_STRS),
    OPTION("AllowedBuckets", allowed_buckets, GCFG_STRS),
    {0},
};

const struct gcfg_key aws_override_keys[] = {
    OVERRIDE("Service", service),
    OVERRIDE("Region", region),
    OVERRIDE("URL", url),
    OVERRIDE("SigningRegion", signing_region),
    OVERRIDE("SigningMethod", signing_method),
    OVERRIDE("SigningName", signing_name),
    {0},
};
