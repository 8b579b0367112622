/* SPDX-License-Identifier: Apache-2.0 */
/* aws_config_rules.c: what follows from the values of aws.conf: modes, the cluster, the region of a
 * zone.
 *
 * Pure; docs/spec/aws.md 1.2, 1.4, 2.4, 2.5. */
#include "providers/aws/model/aws_config.h"

#include "common/base/str.h"

#include <ctype.h>
#include <string.h>

enum aws_nlb_groups aws_config_nlb_groups(const struct aws_config *c)
{
    if (*c->nlb_security_group_mode == '\0') {
        return AWS_NLB_GROUPS_NONE;
    }
    return str_eq(c->nlb_security_group_mode, "Managed") ? AWS_NLB_GROUPS_MANAGED
                                                         : AWS_NLB_GROUPS_INVALID;
}

enum aws_probe_mode aws_config_probe_mode(const struct aws_config *c)
{
    if (*c->probe_mode == '\0' || str_eq(c->probe_mode, "ServiceNodePort")) {
        return AWS_PROBE_NODE_PORT;
    }
    return str_eq(c->probe_mode, "Shared") ? AWS_PROBE_SHARED : AWS_PROBE_INVALID;
}

int32_t aws_config_probe_port(const struct aws_config *c)
{
    return c->probe_port != 0 ? c->probe_port : AWS_PROBE_PORT;
}

const char *aws_config_probe_path(const struct aws_config *c)
{
    return str_or(c->probe_path, AWS_PROBE_PATH);
}

bool aws_config_is_off_instance(const struct aws_config *c)
{
    bool has_place = *c->subnet_id != '\0' || *c->role_arn != '\0';
    bool has_cluster = *c->cluster_tag != '\0' || *c->cluster_id != '\0';
    return *c->vpc != '\0' && has_place && has_cluster;
}

/* ---- the cluster (1.4) ----------------------------------------------------------------------- */

static int cluster_of(const char *legacy, const char *id, const char *none, struct aws_cluster *ret,
                      struct err *err)
{
    if (*legacy != '\0' && *id != '\0' && !str_eq(legacy, id)) {
        return err_set(err, ERR_INVALID,
                       "cluster \"%.200s\" and cluster \"%.200s\" contradict each other", legacy,
                       id);
    }
    if (*legacy == '\0' && *id == '\0') {
        return err_set(err, ERR_NOT_FOUND, "%s", none);
    }
    *ret = (struct aws_cluster){.id = *legacy != '\0' ? legacy : id, .legacy = *legacy != '\0'};
    return ERR_OK;
}

int aws_cluster_of_config(const struct aws_config *c, struct aws_cluster *ret, struct err *err)
{
    if (*c->cluster_tag != '\0' && *c->cluster_id != '\0' &&
        !str_eq(c->cluster_tag, c->cluster_id)) {
        return err_set(err, ERR_INVALID,
                       "KubernetesClusterTag \"%.200s\" and KubernetesClusterID \"%.200s\" name "
                       "different clusters",
                       c->cluster_tag, c->cluster_id);
    }
    return cluster_of(c->cluster_tag, c->cluster_id,
                      "neither KubernetesClusterTag nor KubernetesClusterID is set", ret, err);
}

int aws_cluster_of_tags(const struct aws_tag *tags, size_t n, struct aws_cluster *ret,
                        struct err *err)
{
    const char *id = "";
    const char *legacy = "";
    for (size_t i = 0; i < n; i++) {
        if (str_has_prefix(tags[i].key, AWS_TAG_CLUSTER)) {
            if (*id != '\0') {
                return err_set(err, ERR_INVALID,
                               "the instance has several tags " AWS_TAG_CLUSTER
                               "…: for \"%.200s\" and \"%.200s\"",
                               id, tags[i].key + strlen(AWS_TAG_CLUSTER));
            }
            id = tags[i].key + strlen(AWS_TAG_CLUSTER);
        } else if (str_eq(tags[i].key, AWS_TAG_CLUSTER_LEGACY)) {
            if (*legacy != '\0') {
                return err_set(err, ERR_INVALID,
                               "the instance has several tags " AWS_TAG_CLUSTER_LEGACY);
            }
            legacy = str_nonnull(tags[i].value);
        }
    }
    return cluster_of(legacy, id,
                      "the instance has no tag " AWS_TAG_CLUSTER
                      "<id>: add it, or set KubernetesClusterID in the cloud config",
                      ret, err);
}

/* ---- places ---------------------------------------------------------------------------------- */

int aws_region_of_zone(struct arena *a, const char *zone, const char **ret, struct err *err)
{
    size_t at = 0;
    size_t words = 0;
    for (;;) {
        size_t n = 0;
        while (isalpha((unsigned char)zone[at + n]) && (unsigned char)zone[at + n] < 0x80) {
            n++;
        }
        if (n == 0 || zone[at + n] != '-') {
            break;
        }
        at += n + 1;
        words++;
    }
    size_t digits = strspn(zone + at, "0123456789");
    if (words == 0 || digits == 0) {
        return err_set(err, ERR_INVALID, "\"%.200s\" is no zone; want one as us-east-1a", zone);
    }
    *ret = arena_strndup(a, zone, at + digits);
    return ERR_OK;
}

int aws_account_of_arn(struct arena *a, const char *arn, const char **ret, struct err *err)
{
    size_t n = 0;
    char **parts = str_split(a, arn, ':', &n);
    if (n < 6 || !str_eq(parts[0], "arn") || *parts[4] == '\0' ||
        parts[4][strspn(parts[4], "0123456789")] != '\0') {
        return err_set(err, ERR_INVALID,
                       "\"%.200s\" is no ARN; want one as arn:aws:iam::123456789012:role/name",
                       arn);
    }
    *ret = parts[4];
    return ERR_OK;
}
