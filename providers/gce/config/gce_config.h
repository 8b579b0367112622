/* SPDX-License-Identifier: Apache-2.0 */
/* gce_config.h: gce.conf, decoded.
 *
 * Reads text, nothing else: what is left empty is filled in later from the metadata server
 * (gce_facts.h).  Unknown keys are accepted, as upstream does, but collected so that a person
 * hears of them.
 * Source: gce-cloud-provider.md §1.1, §1.2; vectors §9.4.  Pure. */
#ifndef TRIMTAB_GCE_CONFIG_H
#define TRIMTAB_GCE_CONFIG_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/data/gcfg.h"

#include <stdbool.h>
#include <stddef.h>

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
    /* trimtab's own: projects that annotations may name besides the configured ones;
     * none given: any */
    struct gcfg_list allowed_projects;
    bool regional;
    bool multizone;
    /* trimtab's own, true when not given: a new balancer's address is reserved first, so that its
     * firewall need not wait for the rule */
    bool hold_address_first;
};
/* `text` may be NULL (no --cloud-config): everything empty.  ERR_INVALID with "line:col: …". */
int gce_config_parse(struct arena *a, const char *text, size_t n, struct gce_config *ret,
                     struct gcfg_unknown **ret_unknown, size_t *ret_n_unknown,
                     struct err *err) _warn_unused_;

#endif
