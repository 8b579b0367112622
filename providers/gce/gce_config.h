/* SPDX-License-Identifier: Apache-2.0 */
/* gce_config.h: gce.conf and the provider's flags, decoded.
 *
 * Reads text, nothing else: what is left empty is filled in later from the metadata server
 * (gce_facts.h).  Unknown keys are accepted, as upstream does, but collected so that a person
 * hears of them.
 * Source: gce-cloud-provider.md §1.1, §1.2, §14.2; vectors §9.4.  Pure. */
#ifndef TRIMTAB_GCE_CONFIG_H
#define TRIMTAB_GCE_CONFIG_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/base/gcfg.h"

#include <stdbool.h>
#include <stddef.h>
#include <trimtab/provider.h>

/* The keys of [global]; "" = not given. */
struct gce_config {
    const char *token_url; /* "nil": Application Default Credentials; else alternate source */
    const char *token_body;
    const char *project_id;         /* id or number */
    const char *network_project_id; /* Shared VPC host project */
    const char *network_name;       /* a name, or a URL when it has a '/' */
    const char *subnetwork_name;    /* likewise */
    const char *stack_type;         /* IPV4, IPV6, IPV4_IPV6; not validated */
    const char *secondary_range_name;
    const char *node_instance_prefix;
    const char *api_endpoint; /* base URL of the Compute API */
    const char *container_api_endpoint;
    const char *local_zone;
    struct gcfg_list node_tags; /* targetTags of firewalls */
    struct gcfg_list alpha_features;
    bool regional;
    bool multizone;
};
/* `text` may be NULL (no --cloud-config): everything empty.  ERR_INVALID with "line:col: …". */
int gce_config_parse(struct arena *a, const char *text, size_t n, struct gce_config *ret,
                     struct gcfg_unknown **ret_unknown, size_t *ret_n_unknown,
                     struct err *err) _warn_unused_;

/* The flags of §14.2, and the program's own --repair-adopted, which comes with them. */
struct gce_options {
    bool rbs_default;    /* --enable-rbs-default-l4-netlb */
    bool lb_annotations; /* --enable-l4-lb-annotations */
    bool deny_firewall;  /* --enable-l4-deny-firewall */
    bool deny_cleanup;   /* --enable-l4-deny-firewall-rollback-cleanup */
    bool repair_adopted; /* --repair-adopted */
    const char *const
        *lb_src_cidrs; /* --cloud-provider-gce-lb-src-cidrs; sources of health checks */
    size_t n_lb_src_cidrs;
};
#define GCE_OPTION_COUNT 8u
extern const struct tt_option gce_option_table[GCE_OPTION_COUNT];
/* ERR_INVALID: the deny firewall without its clean-up flag; a source range that is no CIDR. */
int gce_options_parse(struct arena *a, const struct tt_kv *options, size_t n,
                      struct gce_options *ret, struct err *err) _warn_unused_;

#endif
