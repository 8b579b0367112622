/* SPDX-License-Identifier: Apache-2.0 */
/* gce_members_read.h: who is in NEGs and instance groups, asked from the cloud: one wave for all of
 * them.
 *
 * Both are POSTs that read, in pages (networkEndpointGroups.listNetworkEndpoints,
 * instanceGroups.listInstances).  Items are cut as bytes arrive, so a group of a thousand is never
 * one tree.  Source: gce-l4.md §9.1, §9.2.  Blocks; any thread. */
#ifndef TRIMTAB_GCE_MEMBERS_READ_H
#define TRIMTAB_GCE_MEMBERS_READ_H

#include "common/lb/driver.h"
#include "providers/gce/api/gce_api.h"
#include "providers/gce/model/gce_l4_resources.h"

/* One NEG or group. */
struct gce_members_list {
    /* given */
    enum gce_collection c; /* GCE_NEGS, GCE_GROUPS */
    const char *zone;
    const char *name;
    /* found; in the arena of the sync */
    bool absent;                /* there is no such NEG or group */
    struct gce_endpoint *items; /* sorted, unique; of a group: `instance` alone */
    size_t n;
    struct err err; /* its members could not be read: nothing of the above may be believed */
};
/* Reads all of them; what went wrong is in each one's `err` (that there is none is no
 * error).  Adds to s->reads. */
void gce_members_read(struct lb_sync *s, struct gce_members_list *lists, size_t n);

#endif
