/* SPDX-License-Identifier: Apache-2.0 */
/* gce_ilb_names.h: what cloud-provider-gcp calls the pieces of an internal load balancer on
 * instance groups.
 *
 * Byte for byte upstream's.  Backend service and health check may be shared by Services: both
 * variants are here, because cleaning up goes by all names that a Service may have used.  Source:
 * gce-cloud-provider.md §5.1; vectors N6–N13.  Pure. */
#ifndef TRIMTAB_GCE_ILB_NAMES_H
#define TRIMTAB_GCE_ILB_NAMES_H

#include "common/base/arena.h"

#include <stdbool.h>
#include <trimtab/types.h>

struct gce_ilb_names {
    const char *lb;          /* forwarding rule, held address, own backend service, own check */
    const char *description; /* of the rule, and of what is not shared */
    bool backend_is_shared;
    const char *backend;             /* the one that it uses */
    const char *backend_description; /* "" when shared */
    const char *shared_backend;      /* what a shared one would be called */
    bool check_is_shared;
    const char *check;
    const char *check_description;
    const char *check_firewall;
    const char *shared_check;
    const char *shared_check_firewall;
    const char *local_check_firewall; /* the local check is `lb` */
    const char *firewall;
    const char *legacy_firewall; /* only looked for and deleted */
    const char *group;           /* in every zone */
};
void gce_ilb_names_make(struct arena *a, const struct tt_service *s, const char *cluster_id,
                        struct gce_ilb_names *ret);
/* Protocol of the first port; UDP without ports. */
const char *gce_ilb_protocol(const struct tt_service *s);

#endif
