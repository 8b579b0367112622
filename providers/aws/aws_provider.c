/* SPDX-License-Identifier: Apache-2.0 */
/* aws_provider.c: the AWS provider's descriptor: open, close, and the ways into the flow.
 *
 * Everything that a call needs hangs on struct aws_provider; there is no other state.  open() reads
 * the configuration and finds out who and where we are (aws_start.c).  With a saved state in place
 * of the cloud no request is made at all. */
#include "providers/aws/aws_provider.h"

#include "common/base/str.h"
#include "common/lb/call_watch.h"
#include "common/lb/findings.h"
#include "common/lb/request_count.h"
#include "common/lb/service_rules.h"
#include "providers/aws/api/aws_metrics.h"
#include "providers/aws/aws_config_check.h"
#include "providers/aws/cloud/aws_memory.h"
#include "providers/aws/model/aws_rules.h"
#include "providers/aws/model/aws_service.h"

#include <stdlib.h>

static void close_provider(void *provider)
{
    struct aws_provider *p = provider;
    if (p == NULL) {
        return;
    }
    aws_memory_free(p->memory);
    aws_stakes_free(p->stakes);
    aws_written_free(p->written);
    if (p->cloud != NULL) {
        aws_cloud_free(p->cloud);
    }
    if (p->client != NULL) {
        aws_client_free(p->client);
    }
    budgets_free(p->budgets);
    aws_auth_free(p->auth);
    aws_imds_free(p->imds);
    call_watch_free(p->watch);
    http_pool_free(p->http);
    cancel_free(p->cancel);
    arena_free(p->a);
    free(p);
}

static void make_parts(struct aws_provider *p, const struct tt_open_args *args)
{
    const struct http_config http = {
        .user_agent = arena_printf(p->a, "trimtab/%s kubernetes", str_or(args->version, "dev")),
        .clock = p->clock,
        .answers_once = TT_HAS(args, planning) && args->planning != 0,
        .observe = lb_request_count,
        .observe_arg = (void *)p->host,
    };
    p->http = http_pool_new(&http);
    p->cancel = cancel_new(NULL);
    p->watch = call_watch_new();
    p->stakes = aws_stakes_new();
    p->written = aws_written_new();
    p->memory = aws_memory_new();
}

static int make_cloud(struct aws_provider *p, const struct tt_open_args *args, struct err *err)
{
    const struct aws_cloud_config cfg = {
        .client = p->client,
        .clock = p->clock,
        .rng = p->rng,
        .host = p->host,
        .naming = &p->naming,
    };
    p->cloud = aws_cloud_new(&cfg);
    return p->offline ? aws_cloud_load(p->cloud, args->state_json, args->state_len, err) : ERR_OK;
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

int32_t aws_provider_open(const struct tt_open_args *args, const struct aws_open_with *with,
                          void **ret_provider, struct tt_result *result)
{
    struct err err = ERR_INIT;
    struct aws_provider *p = xcalloc(1, sizeof(*p));
    p->a = arena_new();
    p->host = args->host;
    p->clock = with != NULL && with->clock != NULL ? with->clock : clock_real();
    p->rng = with != NULL && with->rng != NULL ? with->rng : rng_real();
    p->env = with != NULL && with->env != NULL ? *with->env : aws_env_process;
    p->repair_adopted = option_is_on(args, "repair-adopted");
    p->offline = TT_HAS(args, state_json) && args->state_json != NULL;
    make_parts(p, args);
    int rc = aws_config_load(p->a, args, &p->config, &err);
    rc = rc == ERR_OK ? aws_start(p, args, &err) : rc;
    rc = rc == ERR_OK ? make_cloud(p, args, &err) : rc;
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
    return aws_provider_open(args, NULL, ret_provider, result);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* Services with target-node-labels depend on the labels of nodes (own() of aws_flow.c). */
static uint64_t node_digest(void *provider, const struct tt_node *node)
{
    (void)provider;
    return aws_node_labels_digest(node);
}

static uint64_t nodes_digest(void *provider, const struct tt_service *service,
                             const struct tt_node *const *nodes, uint32_t n_nodes)
{
    (void)provider;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const struct aws_tags labels = aws_node_labels_of(a, service);
    return labels.n == 0 ? 0 : aws_nodes_digest(&labels, nodes, n_nodes);
}

/* ---- the descriptor -------------------------------------------------------------------------- */

/* Taken off a Service whose load balancer was handed over and has gone. */
static const char *const finalizers[] = {LB_CLEANUP_FINALIZER};
static const char *const event_reasons[] = {
    "AboveLimit",       "AnnotationIgnored", "IPFamilyIgnored",  "NoNodeHasLabels",
    "NotHandedOver",    "PortIgnored",       "SchemeNotChanged", "SourceRangeIgnored",
    "SubnetNotChanged", "SubnetsNotChanged", "SubnetsNotFound",  "TagsNotChanged",
    "TargetGroupKept",  "TargetRefused",     "UnknownType",
};

static const char *const wish_annotations[] = {AWS_ANNOTATION "*", LB_SOURCE_RANGES_ANNOTATION};

const struct tt_provider tt_aws_provider = {
    .abi_major = TRIMTAB_ABI_MAJOR,
    .abi_minor = TRIMTAB_ABI_MINOR,
    .size = sizeof(struct tt_provider),
    .name = AWS_PROVIDER,
    .version = TRIMTAB_VERSION,
    .capabilities =
        TT_CAP_HOLDS_FINALIZERS | TT_CAP_REPORTS_PLANS | TT_CAP_CHECKS_ITSELF | TT_CAP_ASKS_AGAIN,
    .finalizers = finalizers,
    .n_finalizers = ARRAY_LEN(finalizers),
    .event_reasons = event_reasons,
    .n_event_reasons = ARRAY_LEN(event_reasons),
    .event_component = "aws-cloud-provider",
    .wish_annotations = wish_annotations,
    .n_wish_annotations = ARRAY_LEN(wish_annotations),
    .metrics = aws_metrics,
    .n_metrics = AWS_METRICS,
    .open = open_provider,
    .close = close_provider,
    .get_load_balancer = aws_get_load_balancer,
    .ensure_load_balancer = aws_reconcile,
    .update_load_balancer = aws_reconcile,
    .ensure_load_balancer_deleted = aws_reconcile,
    .plan = aws_plan,
    .explain = aws_explain,
    .list_owned = aws_list_owned,
    .call_deadline_ms = (int64_t)30 * 60 * 1000,
    .validate = aws_validate,
    .check_config = aws_config_check,
    .node_digest = node_digest,
    .nodes_digest = nodes_digest,
};
