/* SPDX-License-Identifier: Apache-2.0 */
/* azure_provider.h: the provider's handle: what open() builds and every call shares.
 *
 * Immutable after open() but for the members that lock themselves (auth, arm) and for what only one
 * call at a time touches (snapshot, assigned, redirected): the descriptor asks for a single worker,
 * because all Services share documents.  Private to providers/azure but for the descriptor. */
#ifndef TRIMTAB_AZURE_PROVIDER_H
#define TRIMTAB_AZURE_PROVIDER_H

#include "common/base/arena.h"
#include "common/base/map.h"
#include "common/lb/driver.h"
#include "providers/azure/arm/azure_arm.h"
#include "providers/azure/arm/azure_auth.h"
#include "providers/azure/model/azure_names.h"
#include "providers/azure/snapshot/azure_snapshot.h"

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
    /* "ns/name" → char *: addresses that were given out, blank separated; a status
     * may lag behind */
    struct map *assigned;
    /* "ns/name" of Services whose traffic went elsewhere, and what they left is not closed yet →
     * where they were let in for it, blank separated */
    struct map *redirected;
    /* Load balancing rules that a network interface may carry, as Azure has said when it refused
     * one more; counts until that moment of the clock.  0: it never did. */
    size_t rules_per_nic;
    int64_t rules_per_nic_until_ms;
    /* IDs of machines that had a node, lower case: they leave the pools when it goes; NULL until
     * the first batch */
    struct map *machines;
    struct map *unplaced; /* nodes of which was told that no balancer takes them; NULL: none yet */
    bool repair_adopted;  /* --repair-adopted */
    bool models_seen;     /* pools of addresses: no model of a scale set names one */
    bool offline;         /* plan --state: the snapshot is the cloud, nothing is asked */
};

/* The descriptor of the provider, for the table of built-in ones and for tests. */
extern const struct tt_provider tt_azure_provider;

/* open() with another clock and randomness, for tests; NULL: the real ones. */
int32_t azure_provider_open(const struct tt_open_args *args, struct clock *clock, struct rng *rng,
                            void **ret_provider, struct tt_result *result);
/* Reads the cloud config; unknown keys become findings.  ERR_INVALID names line and key.
 * (azure_config_check.c) */
int azure_config_load(struct arena *a, const struct tt_open_args *args, struct azure_env *ret_env,
                      struct azure_config *ret, struct err *err) _warn_unused_;
int32_t azure_config_check(const struct tt_open_args *args, struct tt_result *result);

/* The flow of shared documents (azure_flow.c). */
extern const struct lb_flow azure_flow;
/* Is there anything of this Service's? (azure_get.c) */
int32_t azure_get_load_balancer(void *provider, const struct tt_call *call,
                                const struct tt_item *item);
/* All that has a name or tag of ours (azure_owned.c). */
int32_t azure_list_owned(void *provider, const struct tt_call *call);
/* explain and validate (azure_explain.c). */
int32_t azure_explain(void *provider, const struct tt_call *call, const struct tt_batch *batch);
int32_t azure_validate(void *provider, const struct tt_item *item);

#endif
