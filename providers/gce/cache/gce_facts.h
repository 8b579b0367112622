/* SPDX-License-Identifier: Apache-2.0 */
/* gce_facts.h: where we are: project, zone, region, network, API.  Found once, when the provider
 * is opened.
 *
 * The configuration wins; what it leaves open comes from the metadata server; project numbers
 * become ids by one look-up each (best effort).  Source: gce-cloud-provider.md §1.3, §1.5.
 * Blocks; one thread. */
#ifndef TRIMTAB_GCE_FACTS_H
#define TRIMTAB_GCE_FACTS_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/net/http.h"
#include "providers/gce/api/gce_api.h"
#include "providers/gce/config/gce_config.h"

#include <stdbool.h>

struct gce_facts {
    const char *project; /* id, or the number when it could not be converted */
    const char *network_project;
    bool on_xpn;      /* they differ: Shared VPC */
    const char *zone; /* where the controller runs */
    const char *region;
    const char *api_base; /* with its slash */
    const char *projects_base;
    const char *network_url; /* "" when unknown */
    /* of the configuration; "" when it names none (gce_subnetwork.h then) */
    const char *subnetwork_url;
};
/* Facts without network, except for the metadata server; `http` NULL if there is none.
 * ERR_INVALID, TRANSIENT, AUTH. */
int gce_facts_find(struct arena *a, const struct gce_config *c, const char *metadata_base,
                   struct http *http, struct gce_facts *ret, struct err *err) _warn_unused_;
/* Turns project numbers into ids through the API and fills in what depends on them; what cannot
 * be converted stays a number, *ret_note then says so (else NULL). */
void gce_facts_name_projects(struct arena *a, const struct gce_config *c, struct gce_api *api,
                             struct http *http, struct gce_facts *f, const char **ret_note);

#endif
