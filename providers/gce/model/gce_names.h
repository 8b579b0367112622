/* SPDX-License-Identifier: Apache-2.0 */
/* gce_names.h: what the pieces of one load balancer are called, and what their descriptions say.
 *
 * Names and descriptions are the identity of everything that we own: by them a restarted
 * process, and the upstream controller before and after us, finds its resources again.  They are
 * byte for byte upstream's, the blank after the comma in firewall descriptions included. Source:
 * gce-cloud-provider.md §4.2, vectors §9.1; upstream gce_loadbalancer_naming.go.  Pure. */
#ifndef TRIMTAB_GCE_NAMES_H
#define TRIMTAB_GCE_NAMES_H

#include "common/base/arena.h"

#include <trimtab/types.h>

/* Names of the external flavour (target pool). */
struct gce_names {
    const char *lb;             /* forwarding rule, target pool, held address, local check */
    const char *former_address; /* gce_former_address_name() */
    const char *description;    /* of rule, pool and held address */
    const char *firewall;       /* lets the traffic in */
    const char *deny_firewall;  /* §4.13 */
    const char *node_check;     /* shared by all Services with policy Cluster */
    const char *node_check_description;
    const char *node_check_firewall;
    const char *node_check_firewall_description;
    const char *local_check; /* of a Service with policy Local: = lb */
    const char *local_check_description;
    const char *local_check_firewall; /* its description is the traffic firewall's */
};
/* All strings live in `a`.  `cluster_id` is §13's. */
void gce_names_make(struct arena *a, const struct tt_service *s, const char *cluster_id,
                    struct gce_names *ret);
/* Description of the traffic, deny and local-check firewalls. */
char *gce_names_firewall_description(struct arena *a, const char *ns, const char *name,
                                     const char *ip);
/* {"kubernetes.io/service-name":"NAME"} as upstream prints it: plain substitution, no escaping. */
char *gce_names_service_description(struct arena *a, const char *name);

#endif
