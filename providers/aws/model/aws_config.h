/* SPDX-License-Identifier: Apache-2.0 */
/* aws_config.h: aws.conf (--cloud-config), decoded and checked as upstream does at its start.
 *
 * Reads text, nothing else.  Without a file everything is empty, which is no error.  Unknown
 * sections and keys are accepted but collected, so that a person hears of them.  Texts are never
 * NULL: "" = not given.  Everything lives in the arena and is const once parsed.  Source:
 * docs/spec/aws.md 1; vectors 11.15.  Pure. */
#ifndef TRIMTAB_AWS_CONFIG_H
#define TRIMTAB_AWS_CONFIG_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/data/gcfg.h"
#include "providers/aws/model/aws_model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AWS_PROVIDER   "aws" /* its name, in marks, too (common/lb/mark_rules.h) */
#define AWS_PROBE_PORT 10256
#define AWS_PROBE_PATH "/healthz"

/* One [ServiceOverride "label"] (1.3). */
struct aws_override {
    const char *label;   /* "" for a section without one */
    const char *service; /* blanks trimmed, as region; the others as written */
    const char *region;
    const char *url;
    const char *signing_region;
    const char *signing_method; /* upstream parses it and never looks */
    const char *signing_name;
    int line; /* of its header, 1… */
};
/* [Trimtab]: what upstream never does.  All off: the same file then means the same to both.
 * Upstream passes over the section.  Source: docs/spec/aws.md 13 rows 31 and 33. */
struct aws_options {
    bool nlb_tags;        /* NLBTags: additional-resource-tags reach NLBs that are there */
    bool nlb_subnets;     /* NLBSubnets: an NLB that is there follows the choice of subnets */
    bool mixed_protocols; /* MixedProtocols: TCP and UDP ports in one Service, on an NLB */
    bool replaces_scheme; /* ReplaceOnSchemeChange: another balancer when `internal` changes */
    bool lenient_scheme;  /* LenientScheme: a Service that asks for `scheme: internal` is public */
    /* Names allowed in annotations; none: any, as upstream. */
    struct gcfg_list allowed_groups;  /* AllowedSecurityGroups */
    struct gcfg_list allowed_buckets; /* AllowedBuckets */
};
struct aws_config {
    const char *zone;
    const char *region;
    const char *vpc;
    const char *subnet_id;
    const char *route_table_id;
    const char *role_arn;
    const char *source_arn;
    const char *cluster_tag; /* KubernetesClusterTag */
    const char *cluster_id;  /* KubernetesClusterID */
    const char *elb_security_group;
    const char *probe_mode; /* ClusterServiceLoadBalancerHealthProbeMode, as written */
    const char *probe_path; /* "" = AWS_PROBE_PATH */
    const char *topology_pattern;
    const char *nlb_security_group_mode; /* as written */
    int32_t probe_port;                  /* 0 = AWS_PROBE_PORT */
    bool disable_security_group_ingress;
    struct aws_options options;
    struct gcfg_list node_ip_families;    /* as written; empty = ipv4 */
    const struct aws_override *overrides; /* in the order of their first lines */
    size_t n_overrides;
};

/* `text` may be NULL (no --cloud-config).  Decodes, then validates the overrides in file order
 * (1.3).  ERR_INVALID: "LINE:COL: …" for what does not parse, "line LINE: ServiceOverride "label":
 * …" for an override. */
int aws_config_parse(struct arena *a, const char *text, size_t n, struct aws_config *ret,
                     struct gcfg_unknown **ret_unknown, size_t *ret_n_unknown,
                     struct err *err) _warn_unused_;

/* NLBSecurityGroupMode (1.2). */
enum aws_nlb_groups {
    AWS_NLB_GROUPS_NONE = 0, /* "": NLBs get no security group */
    AWS_NLB_GROUPS_MANAGED,
    AWS_NLB_GROUPS_INVALID, /* every NLB is refused at its sync (13 row 35) */
};
enum aws_nlb_groups aws_config_nlb_groups(const struct aws_config *c);
/* ClusterServiceLoadBalancerHealthProbeMode (1.2). */
enum aws_probe_mode {
    AWS_PROBE_NODE_PORT = 0, /* "" or "ServiceNodePort" */
    AWS_PROBE_SHARED,
    AWS_PROBE_INVALID, /* every NLB is refused at its sync; for classic ones as NODE_PORT */
};
enum aws_probe_mode aws_config_probe_mode(const struct aws_config *c);
int32_t aws_config_probe_port(const struct aws_config *c);
const char *aws_config_probe_path(const struct aws_config *c);

/* No EC2 or IMDS call is needed to know who we are (1.4 row 6). */
bool aws_config_is_off_instance(const struct aws_config *c);

/* The cluster that owns resources (1.4). */
struct aws_cluster {
    const char *id; /* never "" */
    bool legacy;    /* the tag KubernetesCluster is written, too */
};
/* From KubernetesClusterTag and -ID.  ERR_NOT_FOUND: neither is given (ask the instance's tags);
 * ERR_INVALID: they differ. */
int aws_cluster_of_config(const struct aws_config *c, struct aws_cluster *ret,
                          struct err *err) _warn_unused_;
/* and the cluster's id: "owned" or "shared" */
#define AWS_TAG_CLUSTER        "kubernetes.io/cluster/"
#define AWS_TAG_CLUSTER_LEGACY "KubernetesCluster" /* = the cluster's id */
/* From the tags of the own instance.  ERR_INVALID: two cluster tags, or they differ from
 * KubernetesCluster; ERR_NOT_FOUND: there is none. */
int aws_cluster_of_tags(const struct aws_tag *tags, size_t n, struct aws_cluster *ret,
                        struct err *err) _warn_unused_;

/* "us-west-2-lax-1a" is in "us-west-2" (2.5).  ERR_INVALID. */
int aws_region_of_zone(struct arena *a, const char *zone, const char **ret,
                       struct err *err) _warn_unused_;
/* The fifth part of "arn:PARTITION:SERVICE:REGION:ACCOUNT:RESOURCE" (2.4).  ERR_INVALID:
 * not of that form. */
int aws_account_of_arn(struct arena *a, const char *arn, const char **ret,
                       struct err *err) _warn_unused_;

#endif
