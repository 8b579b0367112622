/* SPDX-License-Identifier: Apache-2.0 */
/* gce_provider.h: the provider's handle: what open() builds and every call shares.
 *
 * Immutable after open() but for the members that lock themselves (auth, snapshot, caches).  One
 * handle per open(); tests open several.  Private to providers/gce but for the descriptor. */
#ifndef TRIMTAB_GCE_PROVIDER_H
#define TRIMTAB_GCE_PROVIDER_H

#include "common/base/arena.h"
#include "common/base/attr.h"
#include "common/base/hold.h"
#include "providers/gce/backend/gce_bs.h"
#include "providers/gce/cache/gce_cloud.h"
#include "providers/gce/cache/gce_cluster_id.h"
#include "providers/gce/cache/gce_tags.h"
#include "providers/gce/cache/gce_waits.h"
#include "providers/gce/config/gce_config.h"
#include "providers/gce/config/gce_options.h"
#include "providers/gce/gce_gauges.h"
#include "providers/gce/groups/gce_groups.h"
#include "providers/gce/model/gce_name_rules.h"

#include <trimtab/provider.h>

#define GCE_EVENT_IGNORED  "AnnotationIgnored"
#define GCE_EVENT_MANUAL   "LoadBalancerManualChange"
#define GCE_EVENT_CONFLICT "ConflictingConfiguration"
#define GCE_EVENT_MIXED    "LoadBalancerMixedProtocolNotSupported"
#define GCE_EVENT_FOREIGN  "LoadBalancerServedElsewhere"
/* of the L4 controllers (gce-l4.md §7.7) */
#define GCE_EVENT_RACE         "TargetPoolRaceWithRBS"
#define GCE_EVENT_NO_MIGRATION "CanNotMigrateTargetPoolToRBS"
#define GCE_EVENT_FINALIZER    "UnexpectedlyRemovedFinalizer"
/* of NEGs alone (gce-l4.md §1.8, §3.7) */
#define GCE_EVENT_NEGS_FAILED    "SyncNetworkEndpointGroupFailed"
#define GCE_EVENT_NO_CUSTOM_RULE "NoForwardingRuleRef"
#define GCE_EVENT_CUSTOM_RULE    "ForwardingRuleUnusable"

/* The locks of shared health checks: cloud-provider-gcp's, ingress-gce's global one,
 * its regional one. */
#define GCE_SHARED_CHECKS 2

struct gce_provider {
    struct gce_cloud cloud;
    struct arena *a; /* configuration and facts */
    struct gce_config config;
    struct gce_options options;
    struct gce_tp_facts tp_facts;
    struct gce_bs_facts bs_facts;
    struct hold *node_check; /* the shared health check and its firewall */
    struct hold *shared_checks[GCE_SHARED_CHECKS];
    struct gce_groups *groups; /* instance groups: what is in them, whose turn it is */
    struct gce_node_cache *node_cache;
    struct gce_kube_system *kube_system;
    struct gce_subnet_search *subnet_search; /* where the cloud config names none */
    struct gce_svcneg *svcneg;
    struct gce_kube_texts *kube_texts; /* L4LBConfig, Network, GKENetworkParamSet */
    struct gce_cluster_id *cluster_id;
    struct gce_tags *tags;
    struct gce_gauges *gauges; /* how many load balancers there are, for metrics */
    struct gce_waits *waits;   /* for forwarding rules of owners */
    struct json_object *state; /* cloud.offline: its resources by path; owned by `a` */
};

/* The handle of a sync of Google's. */
static inline struct gce_provider *gce_provider_of(const struct lb_sync *s)
{
    return CONTAINER_OF(gce_cloud_of(s), struct gce_provider, cloud);
}

/* The descriptor of the provider, for the table of built-in ones and for tests. */
extern const struct tt_provider tt_gce_provider;

/* open() with another clock and randomness, for tests; NULL: the real ones. */
int32_t gce_provider_open(const struct tt_open_args *args, struct clock *clock, struct rng *rng,
                          void **ret_provider, struct tt_result *result);

/* Owners of resources that a Service may name, by the configuration and the cluster. */
struct gce_name_scope gce_provider_name_scope(const struct gce_provider *p);

/* Parts of the descriptor (gce_descriptor.c). */
int32_t gce_open(const struct tt_open_args *args, void **ret_provider, struct tt_result *result);
void gce_close(void *provider);
int32_t gce_reconcile(void *provider, const struct tt_call *call, const struct tt_batch *batch);
int32_t gce_plan(void *provider, const struct tt_call *call, const struct tt_batch *batch);
/* Is there anything of this Service's? (gce_get.c) */
int32_t gce_get_load_balancer(void *provider, const struct tt_call *call,
                              const struct tt_item *item);
/* explain and validate (gce_explain.c). */
int32_t gce_explain(void *provider, const struct tt_call *call, const struct tt_batch *batch);
int32_t gce_validate(void *provider, const struct tt_item *item);
/* All that has a name of ours (gce_owned.c). */
int32_t gce_list_owned(void *provider, const struct tt_call *call);
/* Services that went while no controller ran (gce_left.c). */
int32_t gce_list_left(void *provider, const struct tt_call *call);

#endif
