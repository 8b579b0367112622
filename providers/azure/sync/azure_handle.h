/* SPDX-License-Identifier: Apache-2.0 */
/* azure_handle.h: the provider's handle: what open() builds and every call shares.
 *
 * Immutable after open() but for the members that lock themselves (auth, arm) and for what only one
 * call at a time touches (snapshot, assigned and the maps after it): the descriptor asks for a
 * single worker, because all Services share documents.  azure_provider.h has the entries of the
 * descriptor. */
#ifndef TRIMTAB_AZURE_HANDLE_H
#define TRIMTAB_AZURE_HANDLE_H

#include "common/base/arena.h"
#include "common/base/map.h"
#include "common/lb/driver.h"
#include "providers/azure/arm/azure_arm.h"
#include "providers/azure/arm/azure_auth.h"
#include "providers/azure/model/azure_names.h"
#include "providers/azure/snapshot/azure_snapshot.h"
#include "providers/azure/snapshot/azure_written.h"

#include <trimtab/provider.h>

struct azure_provider {
    struct arena *a; /* configuration */
    const struct tt_host *host;
    struct clock *clock;
    struct rng *rng;
    struct azure_config config;
    struct azure_env env;
    struct azure_cloud cloud;
    struct azure_naming naming;
    struct azure_auth *auth;
    struct azure_arm arm;
    struct http_pool *http;
    struct cancel *cancel; /* fired by close() */
    struct call_watch *watch;
    struct azure_snapshot *snapshot;
    struct azure_written *written; /* public IPs; NULL: nothing is asked, so no list lags */
    /* "ns/name" → char *: addresses that were given out, blank separated; a status
     * may lag behind */
    struct map *assigned;
    /* "ns/name" of Services whose traffic went elsewhere, and what they left is not closed yet →
     * where they were let in for it, blank separated */
    struct map *redirected;
    /* "ns/name" of Services that were shut again after a refusal (azure_retreat.h) → uint64_t: the
     * digest of what they asked for */
    struct map *retreated;
    /* "ns/name" → struct azure_first (azure_first.h): Services that have never been served */
    struct map *firsts;
    /* Load balancing rules that a network interface may carry, as Azure has said when it refused
     * one more; counts until that moment of the clock.  0: it never did. */
    size_t rules_per_nic;
    int64_t rules_per_nic_until_ms;
    /* Service tags that Azure has refused, lower case → int64_t: it counts until that moment of the
     * clock; NULL: none yet */
    struct map *refused_tags;
    /* Azure has refused the list of private link services of the whole subscription; it is not
     * asked for again before that moment of the clock.  0: it never did. */
    int64_t links_refused_until_ms;
    unsigned links_refused; /* how often */
    /* "ns/name" of Services that may have a link of another process in a group that no annotation
     * names, and that could not be looked for; NULL: there was none */
    struct map *unlooked;
    /* "ns/name" of Services whose move to another balancer was refused for a missing right → struct
     * azure_forbidden (azure_lb_moves.c); NULL: there was none */
    struct map *forbidden;
    /* IDs of machines that had a node, lower case: they leave the pools when it goes; NULL until
     * the first batch */
    struct map *machines;
    struct map *unplaced; /* nodes without a balancer, as reported; NULL: none yet */
    bool repair_adopted;  /* --repair-adopted */
    bool models_seen;     /* pools of addresses: no model of a scale set names one */
    bool offline;         /* plan --state: the snapshot is the cloud, nothing is asked */
};

#endif
