/* SPDX-License-Identifier: Apache-2.0 */
/* azure_provider.c: the Azure provider's descriptor: open, close, and the ways into the flow.
 *
 * Everything that a call needs hangs on struct azure_provider; there is no other state.  open()
 * reads the configuration, finds the cloud's endpoints and the credentials; the first token is had
 * by the first call.  With a saved state in place of the cloud no request is made at all. */
#include "providers/azure/azure_provider.h"

#include "common/base/str.h"
#include "common/lb/budget_report.h"
#include "common/lb/call_watch.h"
#include "common/lb/exposed.h"
#include "common/lb/findings.h"
#include "common/lb/request_count.h"
#include "providers/azure/arm/azure_budget.h"
#include "providers/azure/arm/azure_metrics.h"
#include "providers/azure/azure_first.h"
#include "providers/azure/azure_state.h"
#include "providers/azure/lb/azure_local_rules.h"
#include "providers/azure/members/azure_members_rules.h"
#include "providers/azure/model/azure_service.h"

#include <stdlib.h>
#include <string.h>

/* ---- open and close -------------------------------------------------------------------------- */

static void close_provider(void *provider)
{
    struct azure_provider *p = provider;
    if (p == NULL) {
        return;
    }
    map_free(p->assigned);
    map_free(p->redirected);
    map_free(p->retreated);
    map_free(p->firsts);
    map_free(p->unlooked);
    map_free(p->forbidden);
    map_free(p->refused_tags);
    map_free(p->machines);
    map_free(p->unplaced);
    azure_snapshot_free(p->snapshot);
    azure_written_free(p->written);
    call_watch_free(p->watch);
    http_pool_free(p->http);
    if (p->arm.config != NULL) {
        azure_arm_done(&p->arm);
        budgets_free(p->arm.budgets);
    }
    azure_auth_free(p->auth);
    cancel_free(p->cancel);
    arena_free(p->a);
    free(p);
}

static void make_parts(struct azure_provider *p, const struct tt_open_args *args)
{
    const char *own = arena_printf(p->a, "trimtab/%s", str_or(args->version, "dev"));
    const struct http_config http = {
        .user_agent = str_or(p->config.user_agent, own),
        .clock = p->clock,
        .answers_once = TT_HAS(args, planning) && args->planning != 0,
        .observe = lb_request_count,
        .observe_arg = (void *)p->host,
    };
    p->http = http_pool_new(&http);
    p->cancel = cancel_new(NULL);
    p->watch = call_watch_new();
    p->snapshot = azure_snapshot_new(p->clock);
    p->written = azure_written_new(p->clock);
    p->assigned = map_new(free);
    p->redirected = map_new(free);
    p->retreated = map_new(free);
    p->firsts = map_new(azure_first_free);
    p->naming = (struct azure_naming){
        .config = &p->config,
        .cluster = arena_strdup(p->a, str_or(args->cluster_name, "kubernetes")),
    };
}

/* The cloud's endpoint, and the identity that asks. */
static int reach_cloud(struct azure_provider *p, struct err *err)
{
    const struct azure_cloud_reach reach = {
        .http = http_pool_get(p->http), .clock = p->clock, .cancel = p->cancel};
    int rc = azure_cloud_find(p->a, &p->config, &p->env, &reach, &p->cloud, err);
    http_pool_put(p->http, reach.http);
    if (rc == ERR_OK) {
        exposed_log(p->host, p->a, "resourceManagerEndpoint", p->cloud.arm);
        exposed_log(p->host, p->a, "the identity authority", p->cloud.authority);
    }
    const struct azure_auth_config auth = {
        .config = &p->config,
        .env = &p->env,
        .cloud = &p->cloud,
        .clock = p->clock,
    };
    return rc == ERR_OK ? azure_auth_new(&auth, &p->auth, err) : rc;
}

static int open_cloud(struct azure_provider *p, const struct tt_open_args *args, struct err *err)
{
    int rc = ERR_OK;
    make_parts(p, args);
    if (p->offline) {
        p->cloud = azure_cloud_by_name(p->a, p->config.cloud);
        rc = azure_state_load(p, args->state_json, args->state_len, err);
    } else {
        rc = reach_cloud(p, err);
    }
    if (rc == ERR_OK) {
        p->arm = (struct azure_arm){
            .base = p->cloud.arm,
            .config = &p->config,
            .auth = p->auth,
            .clock = p->clock,
            .rng = p->rng,
            .host = p->host,
            .budgets = budgets_new(azure_budget_limits, AZURE_BUDGETS, p->clock, lb_budget_report,
                                   (void *)p->host),
        };
        azure_arm_init(&p->arm);
    }
    return rc;
}

static bool option_is_on(const struct tt_open_args *args, const char *name)
{
    bool on = false;
    for (uint32_t i = 0; i < args->n_options; i++) {
        if (str_eq(args->options[i].key, name)) {
            return str_to_go_bool(str_nonnull(args->options[i].value), &on) && on;
        }
    }
    return false;
}

int32_t azure_provider_open(const struct tt_open_args *args, struct clock *clock, struct rng *rng,
                            void **ret_provider, struct tt_result *result)
{
    struct err err = ERR_INIT;
    struct azure_provider *p = xcalloc(1, sizeof(*p));
    p->a = arena_new();
    p->host = args->host;
    p->clock = clock != NULL ? clock : clock_real();
    p->rng = rng != NULL ? rng : rng_real();
    p->repair_adopted = option_is_on(args, "repair-adopted");
    p->offline = TT_HAS(args, state_json) && args->state_json != NULL;
    int rc = azure_config_load(p->a, args, &p->env, &p->config, &err);
    if (rc == ERR_OK && p->config.disabled && TT_HAS(args, reloads) && args->reloads != 0) {
        rc = err_set(&err, ERR_IMPLEMENTED_ELSEWHERE, "disableCloudProvider is true");
    }
    if (rc == ERR_OK) {
        rc = open_cloud(p, args, &err);
    }
    if (rc != ERR_OK) {
        args->host->result_fail(result, err.code, err.message, 0);
        close_provider(p);
        return rc;
    }
    *ret_provider = p;
    return TT_OK;
}

static int32_t open_provider(const struct tt_open_args *args, void **ret_provider,
                             struct tt_result *result)
{
    return azure_provider_open(args, NULL, NULL, ret_provider, result);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static int32_t reconcile(void *provider, const struct tt_call *call, const struct tt_batch *batch)
{
    struct azure_provider *p = provider;
    const struct lb_driver_config cfg = LB_DRIVER_CONFIG(&azure_flow, p);
    int64_t begun = clock_now_ms(p->clock);
    int32_t code = lb_driver_reconcile(&cfg, call, batch);
    azure_metrics_batch(p->host, &p->config, batch, clock_now_ms(p->clock) - begun);
    return code;
}

static int32_t plan(void *provider, const struct tt_call *call, const struct tt_batch *batch)
{
    struct azure_provider *p = provider;
    const struct lb_driver_config cfg = LB_DRIVER_CONFIG(&azure_flow, p);
    return lb_driver_plan(&cfg, call, batch);
}

/* All Services share the same few documents, so all that wait are one batch (12.6). */
static int32_t batch_key(void *provider, const struct tt_service *service, char *text, size_t n)
{
    static const char key[] = "azure";
    (void)provider;
    (void)service;
    if (n < sizeof(key)) {
        return TT_INVALID;
    }
    memcpy(text, key, sizeof(key));
    return TT_OK;
}

/* Only pools of Local Services under several balancers follow endpoints, all of them at the same
 * moments (7.7). */
static int64_t endpoints_delay_ms(void *provider, const struct tt_service *service)
{
    const struct azure_provider *p = provider;
    const struct azure_config *c = &p->config;
    bool concerns = service != NULL ? azure_local_counts(c, service) : azure_config_is_multi_slb(c);
    return concerns ? azure_local_delay_ms(1000 * (int64_t)c->pool_update_interval_s,
                                           clock_now_ms(p->clock))
                    : -1;
}

/* The same for all Services: their pools have the same candidates. */
static uint64_t node_digest(void *provider, const struct tt_node *node)
{
    const struct azure_provider *p = provider;
    return azure_node_digest(&p->config, node);
}

/* ---- the descriptor -------------------------------------------------------------------------- */

static const char *const event_reasons[] = {
    LB_FINDING_IGNORED,
    "ConflictConfiguration",
    "CreateOrUpdateInterface",
    "CreateOrUpdatePublicIPAddress",
    "DeleteLoadBalancer",
    "DeletePublicIPAddress",
    "DeletingFrontendIPConfiguration",
    "FailedToFindLoadBalancerForNode",
    "InvalidAllowedIPRanges",
    "InvalidAnnotation",
    "InvalidLoadBalancerIP",
    "InvalidPort",
    "InvalidSourceRanges",
    "ListLoadBalancers",
    "LoadBalancerBackendPoolUpdateFailed",
    "LoadBalancerBackendPoolUpdated",
};
/* Labels of namespaces decide between several balancers (1.3). */
static const struct tt_kube_kind kube_kinds[] = {
    {.api_version = "v1", .resource = "namespaces", .verbs = "get"},
};

/* service.beta.kubernetes.io/azure-…, port_…, load-balancer-source-ranges */
static const char *const wish_annotations[] = {AZURE_ANNOTATION_PREFIX "*"};

const struct tt_provider tt_azure_provider = {
    .abi_major = TRIMTAB_ABI_MAJOR,
    .abi_minor = TRIMTAB_ABI_MINOR,
    .size = sizeof(struct tt_provider),
    .name = AZURE_PROVIDER,
    .version = TRIMTAB_VERSION,
    .capabilities = TT_CAP_HOLDS_FINALIZERS | TT_CAP_REPORTS_PLANS | TT_CAP_WANTS_ENDPOINTS |
                    TT_CAP_BULK | TT_CAP_READS_SECRET | TT_CAP_CHECKS_ITSELF | TT_CAP_ASKS_AGAIN,
    .max_parallel = 1,
    .debounce_idle_ms = 300, /* kubectl deletes five Services a second: they are to be one batch */
    .debounce_max_ms = 4000, /* about what one write of a balancer takes */
    .wish_annotations = wish_annotations,
    .n_wish_annotations = ARRAY_LEN(wish_annotations),
    .event_reasons = event_reasons,
    .n_event_reasons = ARRAY_LEN(event_reasons),
    .event_component = "azure-cloud-provider",
    .metrics = azure_metrics,
    .n_metrics = AZURE_METRICS,
    .kube_kinds = kube_kinds,
    .n_kube_kinds = ARRAY_LEN(kube_kinds),
    .open = open_provider,
    .close = close_provider,
    .get_load_balancer = azure_get_load_balancer,
    .ensure_load_balancer = reconcile,
    .update_load_balancer = reconcile,
    .ensure_load_balancer_deleted = reconcile,
    .batch_key = batch_key,
    .reconcile_batch = reconcile,
    .plan = plan,
    .explain = azure_explain,
    .list_owned = azure_list_owned,
    .call_deadline_ms = (int64_t)30 * 60 * 1000,
    .validate = azure_validate,
    .check_config = azure_config_check,
    .endpoints_delay_ms = endpoints_delay_ms,
    .node_digest = node_digest,
};
