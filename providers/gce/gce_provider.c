/* SPDX-License-Identifier: Apache-2.0 */
/* gce_provider.c: the Google provider's descriptor: open, close, and the ways into the flow.
 *
 * Everything that a call needs hangs on struct gce_provider; there is no other state.  open()
 * reads the configuration, asks the metadata server for what is missing, and turns project
 * numbers into ids; with a saved state in place of the cloud it makes no request at all. */
#include "providers/gce/gce_provider.h"

#include "common/base/json.h"
#include "common/base/str.h"
#include "common/lb/call_watch.h"
#include "providers/gce/gce_links.h"
#include "providers/gce/gce_service_rules.h"

#include <stdlib.h>
#include <string.h>

/* ---- open and close ------------------------------------------------------------------------------ */

#define MEMBERS_PERIOD_MS                                                                          \
    600000 /* members of groups and NEGs are compared with the cloud once within this */

static void count_token(void *arg, bool failed)
{
    const struct tt_host *host = arg;
    host->metric_add(host->ctx, failed ? "get_token_fail_count" : "get_token_count", NULL, 0, 1);
}

static void close_provider(void *provider)
{
    struct gce_provider *p = provider;
    if (p == NULL) {
        return;
    }
    gce_states_free(p->states);
    gce_told_free(p->told);
    gce_tags_free(p->tags);
    gce_cluster_id_free(p->cluster_id);
    gce_groups_free(p->groups);
    gce_neg_mirror_free(p->negs);
    gce_lock_free(p->node_check);
    gce_snapshot_free(p->snapshot);
    call_watch_free(p->watch);
    http_pool_free(p->http);
    gce_auth_free(p->auth);
    cancel_free(p->cancel);
    arena_free(p->a);
    free(p);
}

static void fill_api(struct gce_provider *p)
{
    p->api = (struct gce_api){
        .base = p->facts.api_base,
        .project = p->facts.project,
        .network_project = p->facts.network_project,
        .region = p->facts.region,
        .auth = p->auth,
        .clock = p->clock,
        .rng = p->rng,
        .host = p->host,
    };
}

static void fill_tp_facts(struct gce_provider *p)
{
    const struct gcfg_list *tags = &p->config.node_tags;
    p->tp_facts = (struct gce_tp_facts){
        .project = p->facts.project,
        .network_project = p->facts.network_project,
        .region = p->facts.region,
        .projects_base = p->facts.projects_base,
        .network = p->facts.network_url,
        .check_sources = p->options.lb_src_cidrs,
        .n_check_sources = p->options.n_lb_src_cidrs,
        .node_tags = str_set_make(p->a, tags->items, tags->n),
        .on_xpn = p->facts.on_xpn,
        .rbs_default = p->options.rbs_default,
        .deny_firewall = p->options.deny_firewall,
        .deny_cleanup = p->options.deny_cleanup,
        .repair_adopted = p->options.repair_adopted,
    };
}

static int find_facts(struct gce_provider *p, struct err *err)
{
    struct http *http = http_pool_get(p->http);
    const char *note = NULL;
    int rc = gce_facts_find(p->a, &p->config, gce_metadata_base(p->a, NULL),
                            p->offline ? NULL : http, &p->facts, err);
    if (rc == ERR_OK) {
        fill_api(p);
        if (!p->offline) {
            gce_facts_name_projects(p->a, &p->config, &p->api, http, &p->facts, &note);
        }
        fill_tp_facts(p);
    }
    http_pool_put(p->http, http);
    if (note != NULL) {
        p->host->report_finding(p->host->ctx, TT_LOG_WARNING, "", note);
    }
    return rc;
}

/* plan --state: {"gce": {"projects/P/regions/R/targetPools/NAME": {…}}}. */
static int load_state(struct gce_provider *p, const struct tt_open_args *args, struct err *err)
{
    struct json_object *world;
    int rc = json_parse_arena(p->a, args->state_json, args->state_len, NULL, &world, err);
    if (rc != ERR_OK) {
        (void)err_prefix(err, "saved state");
        return rc;
    }
    struct gce_fill *fills[GCE_COLLECTION_MAX] = {NULL};
    for (int c = 0; c < GCE_COLLECTION_MAX; c++) {
        fills[c] = gce_snapshot_keeps((enum gce_collection)c)
                       ? gce_fill_begin(p->snapshot, (enum gce_collection)c)
                       : NULL;
    }
    struct json_object *gce = json_member(world, "gce");
    if (gce != NULL) {
        json_object_object_foreach(gce, path, resource)
        {
            struct gce_link link;
            enum gce_collection c;
            if (gce_link_parse(p->a, path, &link, NULL) == ERR_OK &&
                gce_api_collection_of(link.resource, *link.region != '\0', &c) &&
                fills[c] != NULL) {
                const char *text = json_text(p->a, resource, JSON_COMPACT);
                gce_fill_item(fills[c], text, strlen(text));
            }
        }
    }
    for (int c = 0; c < GCE_COLLECTION_MAX; c++) {
        if (fills[c] != NULL) {
            gce_fill_commit(fills[c]);
        }
    }
    return ERR_OK;
}

static void make_parts(struct gce_provider *p, const struct tt_open_args *args)
{
    const struct http_config http = {
        .user_agent = arena_printf(p->a, "trimtab/%s", str_or(args->version, "dev")),
        .clock = p->clock,
    };
    p->http = http_pool_new(&http);
    p->cancel = cancel_new(NULL);
    p->watch = call_watch_new();
    p->snapshot = gce_snapshot_new(p->clock);
    p->node_check = gce_lock_new();
    p->groups = gce_groups_new(p->clock, p->rng, MEMBERS_PERIOD_MS);
    p->negs = gce_neg_mirror_new(p->clock, p->rng, MEMBERS_PERIOD_MS);
    p->cluster_id = gce_cluster_id_new();
    p->tags = gce_tags_new();
    p->told = gce_told_new();
    p->states = gce_states_new();
}

int32_t gce_provider_open(const struct tt_open_args *args, struct clock *clock, struct rng *rng,
                          void **ret_provider, struct tt_result *result)
{
    struct err err = ERR_INIT;
    struct gce_provider *p = xcalloc(1, sizeof(*p));
    p->a = arena_new();
    p->host = args->host;
    p->clock = clock != NULL ? clock : clock_real();
    p->rng = rng != NULL ? rng : rng_real();
    p->offline = TT_HAS(args, state_json) && args->state_json != NULL;
    make_parts(p, args);
    int rc = gce_config_load(p->a, args, &p->config, &p->options, &err);
    const struct gce_auth_config auth = {
        .token_url = p->config.token_url,
        .token_body = p->config.token_body,
        .clock = p->clock,
        .counted = count_token,
        .counted_arg = (void *)(uintptr_t)p->host,
    };
    if (rc == ERR_OK) {
        rc = gce_auth_new(&auth, &p->auth, &err);
    }
    if (rc == ERR_OK) {
        rc = find_facts(p, &err);
    }
    if (rc == ERR_OK && p->offline) {
        rc = load_state(p, args, &err);
    }
    if (rc != ERR_OK) {
        args->host->result_fail(result, err.code, err.message, 0);
        close_provider(p);
        return err.code;
    }
    *ret_provider = p;
    return TT_OK;
}

static int32_t open_provider(const struct tt_open_args *args, void **ret_provider,
                             struct tt_result *result)
{
    return gce_provider_open(args, NULL, NULL, ret_provider, result);
}

/* ---- calls --------------------------------------------------------------------------------------- */

/* The gauge of load balancers by state: what upstream rebuilds every ten minutes follows each
 * sync here. */
static void note_state(struct gce_provider *p, const struct tt_batch *batch, int32_t code)
{
    for (uint32_t i = 0; i < batch->n_items; i++) {
        const struct tt_service *s = batch->items[i]->service;
        _cleanup_(arena_freep) struct arena *a = arena_new();
        const char *key = arena_printf(a, "%s/%s", s->ns, s->name);
        const char *deny = p->options.deny_cleanup ? "DISABLED" : "";
        if (batch->items[i]->verb == TT_VERB_DELETE && code == TT_OK) {
            gce_states_set(p->states, p->host, key, NULL, "");
        } else if (code == TT_OK) {
            gce_states_set(p->states, p->host, key, "Success",
                           p->options.deny_firewall ? "IPv4" : deny);
        } else if (code != TT_IMPLEMENTED_ELSEWHERE) {
            gce_states_set(p->states, p->host, key, "Error", p->options.deny_firewall ? "" : deny);
        }
    }
}

static int32_t reconcile(void *provider, const struct tt_call *call, const struct tt_batch *batch)
{
    struct gce_provider *p = provider;
    const struct lb_driver_config cfg = LB_DRIVER_CONFIG(&gce_target_pool_flow, p);
    int32_t code = lb_driver_reconcile(&cfg, call, batch);
    note_state(p, batch, code);
    return code;
}

static int32_t plan(void *provider, const struct tt_call *call, const struct tt_batch *batch)
{
    struct gce_provider *p = provider;
    const struct lb_driver_config cfg = LB_DRIVER_CONFIG(&gce_target_pool_flow, p);
    return lb_driver_plan(&cfg, call, batch);
}

/* ---- the descriptor ------------------------------------------------------------------------------ */

static const char *const classes[] = {GCE_CLASS_EXTERNAL_LEGACY, GCE_CLASS_INTERNAL_LEGACY};
static const char *const finalizers[] = {GCE_FINALIZER_NETLB_V1};
static const char *const event_reasons[] = {GCE_EVENT_MANUAL, GCE_EVENT_CONFLICT, GCE_EVENT_MIXED,
                                            GCE_EVENT_FOREIGN};
static const char *const call_labels[] = {"request", "region", "zone", "version"};
static const char *const netlb_labels[] = {"status", "deny_firewall"};
static const double call_buckets[] = {.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10};
static const struct tt_metric metrics[] = {
    {.name = "cloudprovider_gce_api_request_duration_seconds",
     .help = "Latency of a GCE API call, waiting for its operation included",
     .type = TT_METRIC_HISTOGRAM,
     .labels = call_labels,
     .n_labels = ARRAY_LEN(call_labels),
     .buckets = call_buckets,
     .n_buckets = ARRAY_LEN(call_buckets)},
    {.name = "cloudprovider_gce_api_request_errors",
     .help = "Number of GCE API calls that ended in an error",
     .type = TT_METRIC_COUNTER,
     .labels = call_labels,
     .n_labels = ARRAY_LEN(call_labels)},
    {.name = "get_token_count",
     .help = "Tokens had from the alternate token source",
     .type = TT_METRIC_COUNTER},
    {.name = "get_token_fail_count",
     .help = "Failed tries at the alternate token source",
     .type = TT_METRIC_COUNTER},
    {.name = "number_of_l4_netlbs",
     .help = "External load balancers by state",
     .type = TT_METRIC_GAUGE,
     .labels = netlb_labels,
     .n_labels = ARRAY_LEN(netlb_labels)},
};
/* Creation has no name that RBAC could compare, so it is a row of its own. */
static const struct tt_kube_kind kube_kinds[] = {
    {.api_version = "v1",
     .resource = "configmaps",
     .ns = "kube-system",
     .name = "ingress-uid",
     .verbs = "get,list,watch"},
    {.api_version = "v1", .resource = "configmaps", .ns = "kube-system", .verbs = "create"},
};

const struct tt_provider tt_gce_provider = {
    .abi_major = TRIMTAB_ABI_MAJOR,
    .abi_minor = TRIMTAB_ABI_MINOR,
    .size = sizeof(struct tt_provider),
    .name = "gce",
    .version = TRIMTAB_VERSION,
    .capabilities = TT_CAP_HOLDS_FINALIZERS | TT_CAP_REPORTS_PLANS | TT_CAP_BULK,
    .options = gce_option_table,
    .n_options = GCE_OPTION_COUNT,
    .classes = classes,
    .n_classes = ARRAY_LEN(classes),
    .finalizers = finalizers,
    .n_finalizers = ARRAY_LEN(finalizers),
    .event_reasons = event_reasons,
    .n_event_reasons = ARRAY_LEN(event_reasons),
    .event_component = "g-cloudprovider",
    .metrics = metrics,
    .n_metrics = ARRAY_LEN(metrics),
    .kube_kinds = kube_kinds,
    .n_kube_kinds = ARRAY_LEN(kube_kinds),
    .open = open_provider,
    .close = close_provider,
    .get_load_balancer = gce_get_load_balancer,
    .ensure_load_balancer = reconcile,
    .update_load_balancer = reconcile,
    .ensure_load_balancer_deleted = reconcile,
    .plan = plan,
    .explain = gce_explain,
    .validate = gce_validate,
    .check_config = gce_config_check,
};

const struct tt_provider *tt_provider_gce_descriptor(void)
{
    return &tt_gce_provider;
}
