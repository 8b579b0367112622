/* SPDX-License-Identifier: Apache-2.0 */
/* gce_provider.c: the Google provider's descriptor: open, close, and the ways into the flow.
 *
 * Everything that a call needs hangs on struct gce_provider; there is no other state.  open()
 * reads the configuration, asks the metadata server for what is missing, and turns project
 * numbers into ids; with a saved state in place of the cloud it makes no request at all. */
#include "providers/gce/gce_provider.h"

#include "common/base/str.h"
#include "common/data/json.h"
#include "common/lb/budget_report.h"
#include "common/lb/call_watch.h"
#include "common/lb/exposed.h"
#include "common/lb/request_count.h"
#include "providers/gce/api/gce_budget.h"
#include "providers/gce/cache/gce_kube_system.h"
#include "providers/gce/cache/gce_kube_texts.h"
#include "providers/gce/cache/gce_neg_mirror.h"
#include "providers/gce/cache/gce_subnetwork.h"
#include "providers/gce/cache/gce_svcneg.h"
#include "providers/gce/config/gce_config_check.h"
#include "providers/gce/gce_flow.h"
#include "providers/gce/groups/gce_node_cache.h"
#include "providers/gce/model/gce_links.h"
#include "providers/gce/model/gce_service_rules.h"

#include <stdlib.h>
#include <string.h>

/* ---- open and close -------------------------------------------------------------------------- */

static void count_token(void *arg, bool failed)
{
    const struct tt_host *host = arg;
    host->metric_add(host->ctx, failed ? "get_token_fail_count" : "get_token_count", NULL, 0, 1);
}

void gce_close(void *provider)
{
    struct gce_provider *p = provider;
    if (p == NULL) {
        return;
    }
    gce_gauges_free(p->gauges);
    gce_waits_free(p->waits);
    gce_told_free(p->cloud.told);
    gce_tags_free(p->tags);
    gce_cluster_id_free(p->cluster_id);
    gce_kube_texts_free(p->kube_texts);
    gce_svcneg_free(p->svcneg);
    gce_subnet_search_free(p->subnet_search);
    gce_kube_system_free(p->kube_system);
    gce_groups_free(p->groups);
    gce_neg_mirror_free(p->cloud.negs);
    gce_node_cache_free(p->node_cache);
    for (size_t i = 0; i < GCE_SHARED_CHECKS; i++) {
        hold_free(p->shared_checks[i]);
    }
    hold_free(p->node_check);
    gce_snapshot_free(p->cloud.snapshot);
    call_watch_free(p->cloud.watch);
    http_pool_free(p->cloud.http);
    gce_auth_free(p->cloud.auth);
    budgets_free(p->cloud.budgets);
    budgets_free(p->cloud.rated);
    cancel_free(p->cloud.cancel);
    arena_free(p->a);
    free(p);
}

static void fill_api(struct gce_provider *p)
{
    p->cloud.api = (struct gce_api){
        .base = p->cloud.facts.api_base,
        .project = p->cloud.facts.project,
        .network_project = p->cloud.facts.network_project,
        .region = p->cloud.facts.region,
        .auth = p->cloud.auth,
        .clock = p->cloud.clock,
        .rng = p->cloud.rng,
        .host = p->cloud.host,
        .budgets = p->cloud.budgets,
        .rates = &p->options.rates,
        .rated = p->cloud.rated,
        .l4 = p->options.switches.run_ilb || p->options.switches.run_netlb ||
              p->options.switches.standalone_negs || p->options.switches.standalone_status,
    };
}

struct gce_name_scope gce_provider_name_scope(const struct gce_provider *p)
{
    const struct gcfg_list *projects = &p->config.allowed_projects;
    return (struct gce_name_scope){
        .project = p->cloud.facts.project,
        .network_project = p->cloud.facts.network_project,
        .projects = {.items = projects->items, .n = projects->n, .has = projects->n > 0}};
}

static void fill_tp_facts(struct gce_provider *p)
{
    const struct gcfg_list *tags = &p->config.node_tags;
    p->tp_facts = (struct gce_tp_facts){
        .project = p->cloud.facts.project,
        .network_project = p->cloud.facts.network_project,
        .region = p->cloud.facts.region,
        .projects_base = p->cloud.facts.projects_base,
        .network = p->cloud.facts.network_url,
        .check_sources = p->options.lb_src_cidrs,
        .n_check_sources = p->options.n_lb_src_cidrs,
        .node_tags = str_set_make(p->a, tags->items, tags->n),
        .on_xpn = p->cloud.facts.on_xpn,
        .rbs_default = p->options.rbs_default,
        .deny_firewall = p->options.deny_firewall,
        .deny_cleanup = p->options.deny_cleanup,
        .repair_adopted = p->options.repair_adopted,
    };
}

/* Where health checks of IPv6 come from (gce-l4.md §0). */
static const char *const v6_ilb[] = {"2600:2d00:1:b029::/64"};
static const char *const v6_netlb[] = {"2600:1901:8001::/48"};

static void fill_bs_facts(struct gce_provider *p)
{
    const struct gce_options *o = &p->options;
    p->bs_facts = (struct gce_bs_facts){
        .project = p->cloud.facts.project,
        .network_project = p->cloud.facts.network_project,
        .region = p->cloud.facts.region,
        .projects_base = p->cloud.facts.projects_base,
        .network = p->cloud.facts.network_url,
        .subnetwork = p->cloud.facts.subnetwork_url,
        .kube_system_uid = "",
        .cluster_id = "",
        .check_sources = gce_strs_of(p->a, o->lb_src_cidrs, o->n_lb_src_cidrs),
        .check_sources_v6_ilb = gce_strs_of(p->a, v6_ilb, ARRAY_LEN(v6_ilb)),
        .check_sources_v6_netlb = gce_strs_of(p->a, v6_netlb, ARRAY_LEN(v6_netlb)),
        .on_xpn = p->cloud.facts.on_xpn,
        .repair_adopted = o->repair_adopted,
        .hold_first = p->config.hold_address_first,
        .max_group_size = o->max_ig_size,
        .flags = o->l4,
    };
}

static int find_facts(struct gce_provider *p, struct err *err)
{
    struct http *http = http_pool_get(p->cloud.http);
    const char *note = NULL;
    int rc = gce_facts_find(p->a, &p->config, gce_metadata_base(p->a, NULL),
                            p->cloud.offline ? NULL : http, &p->cloud.facts, err);
    if (rc == ERR_OK) {
        fill_api(p);
        if (!p->cloud.offline) {
            gce_facts_name_projects(p->a, &p->config, &p->cloud.api, http, &p->cloud.facts, &note);
        }
        fill_tp_facts(p);
        fill_bs_facts(p);
    }
    http_pool_put(p->cloud.http, http);
    if (note != NULL) {
        p->cloud.host->report_finding(p->cloud.host->ctx, TT_LOG_WARNING, "", note);
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
                       ? gce_fill_begin(p->cloud.snapshot, (enum gce_collection)c)
                       : NULL;
    }
    struct json_object *gce = json_member(world, "gce");
    p->state = gce;
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
        .clock = p->cloud.clock,
        .answers_once = TT_HAS(args, planning) && args->planning != 0,
        .observe = lb_request_count,
        .observe_arg = (void *)p->cloud.host,
    };
    p->cloud.http = http_pool_new(&http);
    p->cloud.cancel = cancel_new(NULL);
    p->cloud.watch = call_watch_new();
    p->cloud.budgets = budgets_new(gce_budget_limits, GCE_BUDGETS, p->cloud.clock, lb_budget_report,
                                   (void *)p->cloud.host);
    p->cloud.snapshot = gce_snapshot_new(p->cloud.clock);
    p->node_check = hold_new();
    for (size_t i = 0; i < GCE_SHARED_CHECKS; i++) {
        p->shared_checks[i] = hold_new();
    }
    p->node_cache = gce_node_cache_new();
    p->kube_system = gce_kube_system_new();
    p->subnet_search = gce_subnet_search_new();
    p->kube_texts = gce_kube_texts_new();
    p->cluster_id = gce_cluster_id_new();
    p->tags = gce_tags_new();
    p->cloud.told = gce_told_new();
    p->waits = gce_waits_new();
}

/* Which parts of upstream are played besides what flags say. */
static void choose_parts(struct gce_provider *p, const struct tt_open_args *args)
{
    p->options.switches.legacy_off =
        TT_HAS(args, service_controller_off) && args->service_controller_off != 0;
    p->options.switches.gke_classes = TT_HAS(args, more_controllers) &&
                                      str_eq(args->more_controllers, "gke-service-lb-controller");
}

int32_t gce_provider_open(const struct tt_open_args *args, struct clock *clock, struct rng *rng,
                          void **ret_provider, struct tt_result *result)
{
    struct err err = ERR_INIT;
    struct gce_provider *p = xcalloc(1, sizeof(*p));
    p->a = arena_new();
    p->cloud.host = args->host;
    p->cloud.clock = clock != NULL ? clock : clock_real();
    p->cloud.rng = rng != NULL ? rng : rng_real();
    p->cloud.offline = TT_HAS(args, state_json) && args->state_json != NULL;
    make_parts(p, args);
    int rc = gce_config_load(p->a, args, &p->config, &p->options, &err);
    const struct gce_auth_config auth = {
        .token_url = p->config.token_url,
        .token_body = p->config.token_body,
        .clock = p->cloud.clock,
        .counted = count_token,
        .counted_arg = (void *)(uintptr_t)p->cloud.host,
    };
    if (rc == ERR_OK) {
        const struct gce_rates *rates = &p->options.rates;
        p->cloud.rated = budgets_new(rates->limits, rates->n, p->cloud.clock, lb_budget_report,
                                     (void *)p->cloud.host);
        choose_parts(p, args);
        exposed_log(p->cloud.host, p->a, "api-endpoint", p->config.api_endpoint);
        exposed_log(p->cloud.host, p->a, "token-url", p->config.token_url);
        p->svcneg = gce_svcneg_new(p->options.l4.multi_subnet);
        p->gauges = gce_gauges_new(&p->options.l4, p->options.periods.provision_ms);
        p->cloud.negs =
            gce_neg_mirror_new(p->cloud.clock, p->cloud.rng, p->options.periods.sync_ms);
        p->groups = gce_groups_new(p->cloud.clock, p->cloud.rng, p->options.periods.sync_ms);
        rc = gce_auth_new(&auth, &p->cloud.auth, &err);
    }
    if (rc == ERR_OK) {
        rc = find_facts(p, &err);
    }
    if (rc == ERR_OK && p->cloud.offline) {
        rc = load_state(p, args, &err);
    }
    if (rc != ERR_OK) {
        args->host->result_fail(result, err.code, err.message, 0);
        gce_close(p);
        return err.code;
    }
    *ret_provider = p;
    return TT_OK;
}

int32_t gce_open(const struct tt_open_args *args, void **ret_provider, struct tt_result *result)
{
    return gce_provider_open(args, NULL, NULL, ret_provider, result);
}

/* ---- calls ----------------------------------------------------------------------------------- */

int32_t gce_reconcile(void *provider, const struct tt_call *call, const struct tt_batch *batch)
{
    struct gce_provider *p = provider;
    const struct lb_driver_config cfg = LB_DRIVER_CONFIG(&gce_flow, &p->cloud);
    return lb_driver_reconcile(&cfg, call, batch);
}

int32_t gce_plan(void *provider, const struct tt_call *call, const struct tt_batch *batch)
{
    struct gce_provider *p = provider;
    const struct lb_driver_config cfg = LB_DRIVER_CONFIG(&gce_flow, &p->cloud);
    return lb_driver_plan(&cfg, call, batch);
}
