/* SPDX-License-Identifier: Apache-2.0 */
/* gce_l4lb_config.h: reading L4LBConfig objects, through what is remembered of them
 * (gce_kube_texts.h).
 *
 * Thread-safe; blocks. */
#ifndef TRIMTAB_GCE_L4LB_CONFIG_H
#define TRIMTAB_GCE_L4LB_CONFIG_H

#include "providers/gce/backend/gce_l4lb_config_rules.h"
#include "providers/gce/cache/gce_kube_texts.h"

#include <trimtab/provider.h>

#define GCE_L4LB_CONFIG_VERSION  "networking.gke.io/v1"
#define GCE_L4LB_CONFIG_RESOURCE "l4lbconfigs"

/* Reads the Service's config; never fails, and makes no request without the annotation.  For
 * --manage-l4lb-logging:  without the flag the verdict is all zero. */
void gce_l4lb_config_get(struct gce_kube_texts *t, const struct tt_host *host,
                         const struct tt_call *call, struct arena *a, const struct tt_service *s,
                         struct gce_log_verdict *ret);

#endif
