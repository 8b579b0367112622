/* SPDX-License-Identifier: Apache-2.0 */
/* gce_bs_names.h: every name that a balancer with a backend service may have left, in one table per
 * naming scheme.
 *
 * There are two schemes: cloud-provider-gcp's (GCE_KIND_ILB_GROUPS) and that of ingress-gce (the
 * other kinds, which share all names but some rules').  Looking (gce_bs_slots.c) and cleaning up
 * (gce_bs_delete_plan.c) go by these tables and never by the Service's spec, which may be anything
 * by now (gce-cloud-provider.md §15 row 16).  Pure. */
#ifndef TRIMTAB_GCE_BS_NAMES_H
#define TRIMTAB_GCE_BS_NAMES_H

#include "providers/gce/backend/gce_bs.h"

#define GCE_BS_NAMES_MAX 4
struct gce_bs_names {
    bool legacy; /* cloud-provider-gcp's */
    /* By family, [0] IPv4, [1] IPv6; NULL ends a list.  Held addresses have the names of rules. */
    const char *rules[2][GCE_BS_NAMES_MAX + 1];
    const char *former_address[2];                  /* gce_former_address.h */
    const char *firewalls[2][GCE_BS_NAMES_MAX + 1]; /* let clients in */
    const char *deny[2];
    const char *local_check_firewall[2];
    const char *shared_check_firewall[2];
    const char *backends[GCE_BS_NAMES_MAX +
                         1]; /* [0] is the one that the Service has, as its spec is now */
    const char *local_check;
    const char *shared_check;
};
/* Of the scheme that `kind` has; false when the ids that the names are made of are not known. */
bool gce_bs_names_make(struct arena *a, const struct gce_bs_facts *f, const struct gce_bs_input *in,
                       enum gce_kind kind, struct gce_bs_names *ret);
/* Is a backend service of this name one that a Service of the scheme may have, alone
 * or with others? */
bool gce_bs_names_backend(struct arena *a, const struct gce_bs_facts *f,
                          const struct gce_bs_names *n, const char *name);

#endif
