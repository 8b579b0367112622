/* SPDX-License-Identifier: Apache-2.0 */
/* gce_cloud.h: the part of the provider's handle that the rooms use: requests to Google, and the
 * memory of its answers.
 *
 * struct gce_provider embeds it (gce_provider.h).  A sync and an operation carry it as their
 * `provider`: rooms call gce_cloud_of(), the flow gce_provider_of().  Immutable after open() but
 * for the members that lock themselves (auth, budgets, snapshot, negs, told). */
#ifndef TRIMTAB_GCE_CLOUD_H
#define TRIMTAB_GCE_CLOUD_H

#include "common/base/clock.h"
#include "common/lb/driver.h"
#include "common/net/http.h"
#include "providers/gce/api/gce_api.h"
#include "providers/gce/cache/gce_facts.h"
#include "providers/gce/cache/gce_neg_mirror.h"
#include "providers/gce/cache/gce_snapshot.h"
#include "providers/gce/cache/gce_told.h"

#include <trimtab/provider.h>

struct gce_cloud {
    const struct tt_host *host; /* borrowed from open() */
    struct clock *clock;
    struct rng *rng;
    struct gce_facts facts;  /* project, region, network …; in the provider's arena */
    struct budgets *budgets; /* of requests to Compute */
    struct budgets *rated;   /* of --gce-ratelimit */
    struct gce_api api;      /* borrows facts, auth, clock, rng, host and budgets */
    struct gce_auth *auth;
    struct http_pool *http;
    struct cancel *cancel; /* fired by close() */
    struct call_watch *watch;
    struct gce_snapshot *snapshot;
    struct gce_neg_mirror *negs; /* members of NEGs, as far as is known */
    struct gce_told *told;       /* events that owners of Services have had */
    bool offline;                /* plan --state: the snapshot is the cloud, nothing is asked */
};

/* The handle of a sync of Google's. */
static inline struct gce_cloud *gce_cloud_of(const struct lb_sync *s)
{
    return s->provider;
}

#endif
