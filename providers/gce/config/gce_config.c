/* SPDX-License-Identifier: Apache-2.0 */
/* gce_config.c: see gce_config.h. */
#include "providers/gce/config/gce_config.h"

#include "common/base/str.h"

#include <string.h>

#define KEY(name_, member, type_)                                                                  \
    {                                                                                              \
        .section = "global", .key = (name_), .type = (type_),                                      \
        .offset = offsetof(struct gce_config, member)                                              \
    }

static const struct gcfg_key keys[] = {
    KEY("token-url", token_url, GCFG_STR),
    KEY("token-body", token_body, GCFG_STR),
    KEY("project-id", project_id, GCFG_STR),
    KEY("network-project-id", network_project_id, GCFG_STR),
    KEY("network-name", network_name, GCFG_STR),
    KEY("subnetwork-name", subnetwork_name, GCFG_STR),
    KEY("stack-type", stack_type, GCFG_STR),
    KEY("secondary-range-name", secondary_range_name, GCFG_STR),
    KEY("node-tags", node_tags, GCFG_STRS),
    KEY("node-instance-prefix", node_instance_prefix, GCFG_STR),
    KEY("regional", regional, GCFG_BOOL),
    KEY("multizone", multizone, GCFG_BOOL),
    KEY("api-endpoint", api_endpoint, GCFG_STR),
    KEY("container-api-endpoint", container_api_endpoint, GCFG_STR),
    KEY("local-zone", local_zone, GCFG_STR),
    KEY("alpha-features", alpha_features, GCFG_STRS),
    KEY("allowed-projects", allowed_projects, GCFG_STRS),
    KEY("hold-address-first", hold_address_first, GCFG_BOOL),
    {0},
};

int gce_config_parse(struct arena *a, const char *text, size_t n, struct gce_config *ret,
                     struct gcfg_unknown **ret_unknown, size_t *ret_n_unknown, struct err *err)
{
    struct gce_config c = {
        .token_url = "",
        .token_body = "",
        .project_id = "",
        .network_project_id = "",
        .network_name = "",
        .subnetwork_name = "",
        .stack_type = "",
        .secondary_range_name = "",
        .node_instance_prefix = "",
        .api_endpoint = "",
        .container_api_endpoint = "",
        .local_zone = "",
        .hold_address_first = true,
    };
    *ret_unknown = NULL;
    *ret_n_unknown = 0;
    if (text != NULL) {
        int rc = gcfg_decode(a, text, n, keys, &c, ret_unknown, ret_n_unknown, err);
        if (rc != ERR_OK) {
            return rc;
        }
    }
    *ret = c;
    return ERR_OK;
}
