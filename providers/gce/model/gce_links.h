/* SPDX-License-Identifier: Apache-2.0 */
/* gce_links.h: links to Compute resources: taking them apart, comparing them, building them.
 *
 * Google answers with another host than the one that was asked, projects appear by id or number,
 * and versions differ: links are never compared as text but by (project, location, collection,
 * name).
 * Source: gce-cloud-provider.md §1.3, §3.1, §7.3, vectors §9.3.  Pure. */
#ifndef TRIMTAB_GCE_LINKS_H
#define TRIMTAB_GCE_LINKS_H

#include "common/base/arena.h"
#include "common/base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct gce_link {
    const char *project;  /* "" when the link has none */
    const char *resource; /* collection: "targetPools" */
    const char *name;
    const char *zone;   /* "" unless zonal */
    const char *region; /* "" unless regional */
};
/* Upstream's ParseResourceURL; ERR_INVALID when it is no such link. */
int gce_link_parse(struct arena *a, const char *url, struct gce_link *ret,
                   struct err *err) _warn_unused_;
/* Same resource?  Two links that do not parse are equal only as text. */
bool gce_link_same(const char *a, const char *b);
/* The text after the last '/'. */
const char *gce_link_last(const char *url);
/* From "/zones/" on: "/zones/Z/instances/N" is how upstream writes pool members; "" when there
 * is none. */
const char *gce_link_zonal_tail(const char *url);

/* gce://PROJECT/ZONE/INSTANCE; a part may hold anything but '/'. */
struct gce_instance_id {
    const char *project;
    const char *zone;
    const char *name;
};
int gce_instance_from_provider_id(struct arena *a, const char *provider_id,
                                  struct gce_instance_id *ret, struct err *err) _warn_unused_;
/* "us-central1-b" → "us-central1". */
int gce_region_of_zone(struct arena *a, const char *zone, const char **ret,
                       struct err *err) _warn_unused_;
/* The API base with "projects/" at its end. */
char *gce_projects_base(struct arena *a, const char *base);
/* First part of a host name: "n1.c.p.internal" → "n1". */
char *gce_canonical_name(struct arena *a, const char *name);
/* Names of those subnetworks that lie inside 10.128.0.0/9 (auto-mode networks), in order (§1.4). */
int gce_subnets_in_auto_range(struct arena *a, const char *const *names, const char *const *cidrs,
                              size_t n, const char ***ret, size_t *ret_n,
                              struct err *err) _warn_unused_;

#endif
