/* SPDX-License-Identifier: Apache-2.0 */
/* gce_config.c: see gce_config.h. */
#include "providers/gce/gce_config.h"

#include "common/base/ip.h"
#include "common/base/str.h"

#include <string.h>

/* From where Google's health checks and proxies come (§0). */
#define L4_SRC_CIDRS "130.211.0.0/22,35.191.0.0/16,209.85.152.0/22,209.85.204.0/22"
#define L7_SRC_CIDRS "130.211.0.0/22,35.191.0.0/16"

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

/* ---- flags --------------------------------------------------------------------------------------- */

const struct tt_option gce_option_table[GCE_OPTION_COUNT] = {
    {"enable-rbs-default-l4-netlb", TT_OPTION_BOOL, 0, "false",
     "new external Services without an owner belong to ingress-gce (regional backend services)"},
    {"enable-l4-lb-annotations", TT_OPTION_BOOL, 0, "false",
     "write the name of the target pool into an annotation of the Service"},
    {"enable-l4-deny-firewall", TT_OPTION_BOOL, 0, "false",
     "give each load balancer a firewall that denies what is not allowed; needs "
     "--enable-l4-deny-firewall-rollback-cleanup"},
    {"enable-l4-deny-firewall-rollback-cleanup", TT_OPTION_BOOL, 0, "false",
     "take deny firewalls away again where --enable-l4-deny-firewall is off"},
    {"enable-l4-ilb-fine-grained-lock", TT_OPTION_BOOL, 0, "false",
     "accepted for compatibility: locks are always per resource"},
    {"enable-multi-project", TT_OPTION_BOOL, 0, "false",
     "accepted for compatibility: it concerns instance look-ups, which are not made"},
    {"cloud-provider-gce-lb-src-cidrs", TT_OPTION_LIST, 0, L4_SRC_CIDRS,
     "ranges from which health checks of L4 load balancers come"},
    {"cloud-provider-gce-l7lb-src-cidrs", TT_OPTION_LIST, 0, L7_SRC_CIDRS,
     "accepted for compatibility: ranges of L7 load balancers, which are not built here"},
};

static const char *option(const struct tt_kv *options, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(options[i].key, name)) {
            return options[i].value;
        }
    }
    return NULL;
}

static bool option_is_on(const struct tt_kv *options, size_t n, const char *name)
{
    bool v = false;
    const char *text = option(options, n, name);
    return text != NULL && str_to_go_bool(text, &v) && v;
}

static int source_cidrs(struct arena *a, const char *text, struct gce_options *o, struct err *err)
{
    size_t n;
    char **items = str_split(a, text, ',', &n);
    for (size_t i = 0; i < n; i++) {
        struct ip_net net;
        items[i] = str_trim(a, items[i]);
        if (!ip_net_parse(items[i], &net)) {
            return err_set(err, ERR_INVALID,
                           "--cloud-provider-gce-lb-src-cidrs: invalid CIDR address: %s", items[i]);
        }
    }
    o->lb_src_cidrs = (const char *const *)items;
    o->n_lb_src_cidrs = n;
    return ERR_OK;
}

int gce_options_parse(struct arena *a, const struct tt_kv *options, size_t n,
                      struct gce_options *ret, struct err *err)
{
    struct gce_options o = {
        .rbs_default = option_is_on(options, n, "enable-rbs-default-l4-netlb"),
        .lb_annotations = option_is_on(options, n, "enable-l4-lb-annotations"),
        .deny_firewall = option_is_on(options, n, "enable-l4-deny-firewall"),
        .deny_cleanup = option_is_on(options, n, "enable-l4-deny-firewall-rollback-cleanup"),
        .repair_adopted = option_is_on(options, n, "repair-adopted"),
    };
    if (o.deny_firewall && !o.deny_cleanup) {
        return err_set(
            err, ERR_INVALID,
            "--enable-l4-deny-firewall needs --enable-l4-deny-firewall-rollback-cleanup");
    }
    const char *cidrs = option(options, n, "cloud-provider-gce-lb-src-cidrs");
    int rc = source_cidrs(a, str_or(cidrs, L4_SRC_CIDRS), &o, err);
    if (rc == ERR_OK) {
        *ret = o;
    }
    return rc;
}
