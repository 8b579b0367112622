/* SPDX-License-Identifier: Apache-2.0 */
/* gce_gcloud.h: the gcloud command that does by hand what we may not do: firewalls of a Shared VPC.
 *
 * Source: gce-cloud-provider.md §4.12, vectors §9.10; upstream gce_util.go FirewallToGCloud…Cmd.
 * Pure. */
#ifndef TRIMTAB_GCE_GCLOUD_H
#define TRIMTAB_GCE_GCLOUD_H

#include "common/base/arena.h"
#include "providers/gce/model/gce_resources.h"

enum gce_gcloud_verb {
    GCE_GCLOUD_CREATE = 0,
    GCE_GCLOUD_UPDATE,
    GCE_GCLOUD_DELETE,
};

char *gce_gcloud_firewall(struct arena *a, enum gce_gcloud_verb verb, const struct gce_firewall *f,
                          const char *project);
/* The message of the LoadBalancerManualChange event around that command. */
char *gce_gcloud_event(struct arena *a, const char *command);

#endif
