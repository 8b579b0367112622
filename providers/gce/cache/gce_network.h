/* SPDX-License-Identifier: Apache-2.0 */
/* gce_network.h: the network of a Service that names another than the cluster's own, as the API
 * server knows it (gce_network_rules.h).
 *
 * Both objects are read through what is remembered of them (gce_kube_texts.h); one that is missing
 * is asked for again by every sync, so that a Service whose Network comes later does not wait for a
 * memory to fade.  Thread-safe; blocks. */
#ifndef TRIMTAB_GCE_NETWORK_H
#define TRIMTAB_GCE_NETWORK_H

#include "providers/gce/cache/gce_kube_texts.h"
#include "providers/gce/model/gce_network_rules.h"

#include <trimtab/provider.h>

#define GCE_NETWORK_VERSION    "networking.gke.io/v1"
#define GCE_NETWORK_CRD        "networks"
#define GCE_NETWORK_PARAMS_CRD "gkenetworkparamsets"

/* Context of requests; all borrowed. */
struct gce_network_reads {
    struct gce_kube_texts *texts;
    const struct tt_host *host;
    const struct tt_call *call;
    struct arena *a; /* of the answer */
};
/* Where the load balancer of a Service of network `name` is to be.  ERR_INVALID: what is wrong with
 * the objects, in upstream's words; another code: they could not be read. */
int gce_network_find(const struct gce_network_reads *r, const struct gce_network_links *links,
                     const char *name, struct gce_network_place *ret,
                     struct err *err) _warn_unused_;

#endif
