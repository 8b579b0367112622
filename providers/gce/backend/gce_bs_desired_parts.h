/* SPDX-License-Identifier: Apache-2.0 */
/* gce_bs_desired_parts.h: what the files share that say what a balancer with a backend service
 * should be.
 *
 *     gce_bs_desired.c           which kind; an address put into rules and firewalls
 *     gce_l4_desired.c           the three kinds of ingress-gce: checks of the input, backend
 *                                service, health check
 *     gce_l4_rules_desired.c     their forwarding rules
 *     gce_l4_firewalls_desired.c their firewalls, and the status annotations
 *     gce_ilb_desired.c          the kind of cloud-provider-gcp
 * Private to these files.  Pure. */
#ifndef TRIMTAB_GCE_BS_DESIRED_PARTS_H
#define TRIMTAB_GCE_BS_DESIRED_PARTS_H

#include "providers/gce/backend/gce_bs.h"
#include "providers/gce/model/gce_firewall_diff.h"

#define GCE_NODE_CHECK_PORT 10256 /* kube-proxy's health server on every node */
#define GCE_NODE_CHECK_PATH "/healthz"
#define GCE_RULE_PORTS_MAX  5 /* discrete ports on a forwarding rule */

/* Everything about one Service of ingress-gce's kinds that the parts are made from. */
struct gce_l4_wish {
    struct arena *a;
    const struct gce_bs_facts *f;
    const struct gce_bs_input *in;
    const struct tt_service *s;
    struct gce_l4_names names;
    struct gce_l4_ports ports;
    struct gce_l4_ranges ranges;
    bool internal;
    bool negs;
    bool mixed_on; /* the flag of this kind */
    bool dual_on;
    bool want_v4;
    bool want_v6;
    bool strong;
    bool local;             /* externalTrafficPolicy Local */
    const char *tier;       /* external */
    const char *subnet;     /* URL; "" on a legacy network */
    const char *collection; /* ipCollection of external IPv6 rules, "" */
};

/* "https://…/projects/P/regions/R/COLLECTION/NAME"; `where` is "global",
 * "regions/R" or "zones/Z". */
char *gce_bs_link(struct arena *a, const struct gce_bs_facts *f, const char *where,
                  const char *collection, const char *name);
char *gce_bs_region(struct arena *a, const struct gce_bs_facts *f); /* "regions/R" */
/* The subnetwork of the Service: `found`, else what its annotation names, else the cluster's; "" on
 * a legacy network. */
const char *gce_bs_subnetwork(struct arena *a, const struct gce_bs_facts *f, const char *found,
                              const char *annotated);
/* Links of the groups or NEGs of that name in the zones, sorted. */
struct gce_strs gce_bs_groups(struct arena *a, const struct gce_bs_facts *f,
                              const struct gce_strs *zones, const char *collection,
                              const char *name);
struct gce_allows gce_bs_allow(struct arena *a, const char *protocol, struct gce_strs ports);
/* A Service with policy Local whose node port is not allocated cannot be asked for its health. */
int gce_bs_check_port(const struct tt_service *s, bool local, int32_t *ret,
                      struct err *err) _warn_unused_;

void gce_l4_desired_rules(const struct gce_l4_wish *w, struct gce_bs_desired *d);
void gce_l4_desired_firewalls(const struct gce_l4_wish *w, struct gce_bs_desired *d);
void gce_l4_desired_annotations(const struct gce_l4_wish *w, struct gce_bs_desired *d);

#endif
