/* SPDX-License-Identifier: Apache-2.0 */
/* gce_descriptor.c: the descriptor of the Google provider: names, flags, metrics, objects
 * that it uses (provider.h).
 *
 * Tables only.  Classes, finalizers and reasons are those of both upstream programs whose parts are
 * played here; which of them are, flags decide when it is opened (gce_decide.h). */
#include "common/base/str.h"
#include "common/lb/findings.h"
#include "common/lb/list_limits.h"
#include "common/lb/service_rules.h"
#include "providers/gce/backend/gce_l4lb_config.h"
#include "providers/gce/cache/gce_network.h"
#include "providers/gce/config/gce_config_check.h"
#include "providers/gce/config/gce_options.h"
#include "providers/gce/gce_flow.h"
#include "providers/gce/gce_l4_metrics.h"
#include "providers/gce/gce_provider.h"
#include "providers/gce/model/gce_service_rules.h"

static const char *const classes[] = {GCE_CLASS_EXTERNAL_LEGACY, GCE_CLASS_INTERNAL_LEGACY,
                                      GCE_CLASS_INTERNAL, GCE_CLASS_EXTERNAL, GCE_CLASS_STANDALONE};
static const char *const finalizers[] = {
    GCE_FINALIZER_NETLB_V1, GCE_FINALIZER_ILB_V1, GCE_FINALIZER_ILB_V2, GCE_FINALIZER_NETLB_V2,
    GCE_FINALIZER_NETLB_V3,
    /* taken off what both Go programs served (docs/adr/0011) */
    LB_CLEANUP_FINALIZER};
static const char *const event_reasons[] = {GCE_EVENT_MANUAL,
                                            "XPN",
                                            GCE_EVENT_IGNORED,
                                            GCE_EVENT_CONFLICT,
                                            GCE_EVENT_MIXED,
                                            GCE_EVENT_FOREIGN,
                                            GCE_EVENT_RACE,
                                            GCE_EVENT_NO_MIGRATION,
                                            "SyncLoadBalancerSuccessful",
                                            "SyncLoadBalancerFailed",
                                            "SyncExternalLoadBalancerFailed",
                                            "DeleteLoadBalancerFailed",
                                            "DeletedLoadBalancer",
                                            LB_FINDING_LIMIT,
                                            "UnsupportedConfiguration",
                                            "ILBOptionsIgnored",
                                            "IPCollectionV6Error",
                                            "MixedStaticIP",
                                            "SourceRangesOfOneFamily",
                                            LB_FINDING_FAMILY,
                                            "Attach",
                                            "Detach",
                                            "Create",
                                            "Delete",
                                            "AttachFailed",
                                            "DetachFailed",
                                            "Sync",
                                            GCE_EVENT_FINALIZER,
                                            GCE_EVENT_NEGS_FAILED,
                                            GCE_EVENT_NO_CUSTOM_RULE,
                                            GCE_EVENT_CUSTOM_RULE};
/* Creation has no name that RBAC could compare, so it is a row of its own. */
static const struct tt_kube_kind kube_kinds[] = {
    {.api_version = "v1",
     .resource = "configmaps",
     .ns = "kube-system",
     .name = "ingress-uid",
     .verbs = "get"},
    {.api_version = "v1", .resource = "configmaps", .ns = "kube-system", .verbs = "create"},
    {.api_version = "v1", .resource = "namespaces", .name = "kube-system", .verbs = "get"},
    {.api_version = "networking.gke.io/v1beta1",
     .resource = "servicenetworkendpointgroups",
     .verbs = "get,list,create,patch,delete"},
    {.api_version = GCE_L4LB_CONFIG_VERSION, .resource = GCE_L4LB_CONFIG_RESOURCE, .verbs = "get"},
    {.api_version = GCE_NETWORK_VERSION, .resource = GCE_NETWORK_CRD, .verbs = "get"},
    {.api_version = GCE_NETWORK_VERSION, .resource = GCE_NETWORK_PARAMS_CRD, .verbs = "get"},
};

/* By which ingress-gce's replicas keep out of each other's way (gce-l4.md §7.5). */
#define L4_LEASE  "l4-lb-controller-gce-lock"
#define NEG_LEASE "ingress-gce-neg-lock"
static const struct tt_lease leases[] = {{"kube-system", L4_LEASE}, {"kube-system", NEG_LEASE}};

/* Annotations that the L4 parts write (gce-l4.md §4.11, §7.2). */
static const char *const own_annotations[] = {GCE_ANN_NEG_STATUS, "service.kubernetes.io*"};

/* By which a Service asks for something; GCE_ANN_TARGET_POOL and GCE_ANN_BACKEND only say
 * what it got. */
static const char *const wish_annotations[] = {
    GCE_ANN_TYPE,          GCE_ANN_TYPE_OLD,      GCE_ANN_SHARE,        GCE_ANN_SHARE_OLD,
    GCE_ANN_GLOBAL_ACCESS, GCE_ANN_SUBNET,        GCE_ANN_SUBNET_NEW,   GCE_ANN_TIER,
    GCE_ANN_RBS,           GCE_ANN_IP_ADDRESSES,  GCE_ANN_WEIGHTED,     GCE_ANN_STRONG_AFFINITY,
    GCE_ANN_L4LB_CONFIG,   GCE_ANN_IP_COLLECTION, GCE_ANN_CUSTOM_RULES, LB_SOURCE_RANGES_ANNOTATION,
};

/* Local Services follow their pods at once; others only need to know that there are
 * endpoints, or how many. */
#define ENDPOINTS_LOCAL_MS   100
#define ENDPOINTS_CLUSTER_MS 2000

static int64_t endpoints_delay_ms(void *provider, const struct tt_service *service)
{
    const struct gce_provider *p = provider;
    const struct gce_switches *f = &p->options.switches;
    if (service == NULL) {
        return f->run_ilb || f->run_netlb || f->standalone_negs ? ENDPOINTS_LOCAL_MS : -1;
    }
    const struct gce_case c = {.service = service, .flags = f};
    struct gce_decision d;
    gce_decide(&c, &d);
    if (!gce_kind_has_negs(d.kind) || (d.kind == GCE_KIND_NEGS_ONLY && !f->standalone_negs)) {
        return -1;
    }
    return svc_only_local_traffic(service) ? ENDPOINTS_LOCAL_MS : ENDPOINTS_CLUSTER_MS;
}

static uint64_t node_digest(void *provider, const struct tt_node *node)
{
    (void)provider;
    return gce_node_digest(node);
}

/* Each guards what it guards there: load balancers, and NEGs. */
static uint32_t needs_lease(void *provider, const struct tt_lease *lease)
{
    const struct gce_provider *p = provider;
    const struct gce_switches *f = &p->options.switches;
    bool l4 = f->run_ilb || f->run_netlb || f->standalone_status;
    bool negs =
        f->run_ilb || (f->run_netlb && (f->neg_netlb || f->multi_network)) || f->standalone_negs;

    return str_eq(lease->name, L4_LEASE) ? p->options.gate_l4 && l4 : p->options.gate_neg && negs;
}

const struct tt_provider tt_gce_provider = {
    .abi_major = TRIMTAB_ABI_MAJOR,
    .abi_minor = TRIMTAB_ABI_MINOR,
    .size = sizeof(struct tt_provider),
    .name = GCE_PROVIDER,
    .version = TRIMTAB_VERSION,
    .capabilities = TT_CAP_HOLDS_FINALIZERS | TT_CAP_REPORTS_PLANS | TT_CAP_BULK |
                    TT_CAP_WANTS_ENDPOINTS | TT_CAP_MORE_PARTS | TT_CAP_CHECKS_ITSELF |
                    TT_CAP_NODES_TOGETHER | TT_CAP_ASKS_AGAIN,
    .options = gce_option_table,
    .n_options = GCE_OPTION_COUNT,
    .classes = classes,
    .n_classes = ARRAY_LEN(classes),
    .finalizers = finalizers,
    .n_finalizers = ARRAY_LEN(finalizers),
    .event_reasons = event_reasons,
    .n_event_reasons = ARRAY_LEN(event_reasons),
    .event_component = "g-cloudprovider",
    .metrics = gce_metrics,
    .n_metrics = GCE_METRICS_COUNT,
    .kube_kinds = kube_kinds,
    .n_kube_kinds = ARRAY_LEN(kube_kinds),
    .own_annotations = own_annotations,
    .n_own_annotations = ARRAY_LEN(own_annotations),
    .wish_annotations = wish_annotations,
    .n_wish_annotations = ARRAY_LEN(wish_annotations),
    .leases = leases,
    .n_leases = ARRAY_LEN(leases),
    .open = gce_open,
    .close = gce_close,
    .get_load_balancer = gce_get_load_balancer,
    .ensure_load_balancer = gce_reconcile,
    .update_load_balancer = gce_reconcile,
    .ensure_load_balancer_deleted = gce_reconcile,
    .plan = gce_plan,
    .explain = gce_explain,
    .list_owned = gce_list_owned,
    .call_deadline_ms = (int64_t)30 * 60 * 1000,
    .validate = gce_validate,
    .check_config = gce_config_check,
    .endpoints_delay_ms = endpoints_delay_ms,
    .node_digest = node_digest,
    .needs_lease = needs_lease,
    .list_left = gce_list_left,
};
