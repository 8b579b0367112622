/* SPDX-License-Identifier: Apache-2.0 */
/* gce_name_rules.h: names of Google's things that a Service's owner writes, against Google's
 * published patterns and against what gce.conf allows.
 *
 * Source: cloud.google.com, "Naming resources" of Compute Engine, and the patterns of the Compute
 * API's discovery document (names, projects, regions).  Pure. */
#ifndef TRIMTAB_GCE_NAME_RULES_H
#define TRIMTAB_GCE_NAME_RULES_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/lb/name_rules.h"

#include <stdbool.h>
#include <trimtab/types.h>

/* Of addresses, subnetworks and the like. */
extern const struct name_rule gce_resource_name_rule;
/* Does the text follow the API's pattern of a project: an id, a number, or "DOMAIN:ID"? */
bool gce_project_holds(struct arena *a, const char *text);

/* Owners of resources that a Service may name. */
struct gce_name_scope {
    const char *project;         /* the cluster's own: always allowed */
    const char *network_project; /* of a Shared VPC; likewise */
    struct name_list projects;   /* allowed-projects; absent: any, as upstream */
    bool target_pool; /* the kind of load balancer that reads neither subnet nor addresses */
};
/* Checks every annotation of `s` that names something.  `previous`: as it was synced before, or
 * NULL (name_rules.h).  ERR_INVALID with the field and the pattern, or with the key of gce.conf
 * that does not allow it. */
int gce_names_check(struct arena *a, const struct gce_name_scope *scope, const struct tt_service *s,
                    const struct tt_service *previous, struct err *err) _warn_unused_;

#endif
