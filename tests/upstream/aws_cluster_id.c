/* SPDX-License-Identifier: Apache-2.0 */
/* aws_cluster_id.c: the cluster's id from tags (aws_cluster_id.h). */
#include "tests/upstream/aws_cluster_id.h"

#include "common/base/str.h"

#include <string.h>

int aws_tags_cluster_id(struct arena *a, const struct aws_tags *tags, const char **ret_id,
                        bool *ret_legacy, struct err *err)
{
    const char *legacy = str_nonnull(aws_tag(tags, AWS_LEGACY_CLUSTER_TAG));
    const char *id = "";
    for (size_t i = 0; i < tags->n; i++) {
        if (!str_has_prefix(tags->items[i].key, AWS_CLUSTER_TAG_PREFIX)) {
            continue;
        }
        if (id[0] != '\0') {
            return err_set(err, ERR_INVALID,
                           "the own instance has several tags " AWS_CLUSTER_TAG_PREFIX
                           "…; set KubernetesClusterID in the cloud-config");
        }
        id = tags->items[i].key + strlen(AWS_CLUSTER_TAG_PREFIX);
    }
    if (id[0] != '\0' && legacy[0] != '\0' && !str_eq(id, legacy)) {
        return err_set(err, ERR_INVALID,
                       "tags of the own instance contradict each other: " AWS_LEGACY_CLUSTER_TAG
                       " is \"%s\", and there is " AWS_CLUSTER_TAG_PREFIX
                       "%s; set KubernetesClusterID in the cloud-config",
                       legacy, id);
    }
    if (id[0] == '\0' && legacy[0] == '\0') {
        return err_set(err, ERR_INVALID,
                       "the own instance has no tag " AWS_CLUSTER_TAG_PREFIX
                       "ID; set KubernetesClusterID in the cloud-config");
    }
    *ret_legacy = legacy[0] != '\0';
    *ret_id = arena_strdup(a, *ret_legacy ? legacy : id);
    return ERR_OK;
}
