/* SPDX-License-Identifier: Apache-2.0 */
/* driver.c: one sync of a batch, from the provider's facts to each Service's result.
 *
 * Owns the frame: arena, HTTP handle, cancelling, items and their results.  What happens inside a
 * stage stands in driver_stage.c.  Everything is done in the caller's thread; a sync keeps no state
 * behind (the cloud is the state), so whatever ends it early, the next one finds
 * out by observing. */
#include "common/lb/driver.h"
#include "common/base/str.h"
#include "common/lb/driver_internal.h"
#include "common/lb/findings.h"
#include "common/lb/service_rules.h"

#include <string.h>

/* ---- items ----------------------------------------------------------------------------------- */
bool lb_item_is_active(const struct lb_item *item)
{
    return item->err.code == ERR_OK && !item->settled && item->group == 0;
}

bool drive_has_active(const struct drive *d)
{
    for (size_t i = 0; i < d->s.n_items; i++) {
        if (lb_item_is_active(&d->s.items[i])) {
            return true;
        }
    }
    return false;
}

void drive_fail_item(struct lb_item *item, const struct err *err)
{
    if (lb_item_is_active(item)) {
        err_copy(&item->err, err);
    }
}

uint32_t drive_own(const struct drive *d, const struct lb_item *item)
{
    const struct lb_flow *flow = d->cfg->flow;
    const struct tt_host *host = d->s.host;
    if (flow->own == NULL || !TT_HAS(host, result_own)) {
        return 0;
    }
    uint32_t bits = flow->own(&d->s, item);
    host->result_own(item->in->result, bits);
    return bits;
}

bool drive_group_release(struct drive *d)
{
    for (size_t i = 0; d->n_groups > 0 && i < d->s.n_items; i++) {
        if (d->s.items[i].group == d->n_groups) {
            d->s.items[i].group = 0;
        }
    }
    return d->n_groups > 0 && d->n_groups-- > 0;
}

void drive_fail_active(struct drive *d, const struct err *err)
{
    for (size_t i = 0; i < d->s.n_items; i++) {
        drive_fail_item(&d->s.items[i], err);
    }
}

/* ---- frame ----------------------------------------------------------------------------------- */
/* Asked by the HTTP handle right before each mutating request (fencing: docs/architecture.md). */
static bool call_may_mutate(void *arg)
{
    const struct drive *d = arg;
    const struct tt_host *host = d->s.host;
    return !d->s.planning && !cancel_fired(d->s.cancel) &&
           host->may_mutate(host->ctx, d->s.call) != 0;
}

static void items_init(struct drive *d)
{
    struct lb_sync *s = &d->s;
    s->n_items = s->batch->n_items;
    s->items = ARENA_ARRAY(s->a, struct lb_item, s->n_items);
    d->held = ARENA_ARRAY(s->a, bool, s->n_items);
    d->told_serving = ARENA_ARRAY(s->a, bool, s->n_items);
    d->told_leaving = ARENA_ARRAY(s->a, bool, s->n_items);
    d->unwritten = ARENA_ARRAY(s->a, int32_t, s->n_items);
    d->withheld = ARENA_ARRAY(s->a, bool, s->n_items);
    d->by_key = map_new(NULL);
    for (size_t i = 0; i < s->n_items; i++) {
        s->items[i].in = s->batch->items[i];
        s->items[i].key = svc_key(s->a, s->batch->items[i]->service);
        map_set(d->by_key, s->items[i].key, &s->items[i]);
    }
}

static void drive_begin(struct drive *d, const struct lb_driver_config *cfg,
                        const struct tt_call *call, const struct tt_batch *batch, bool planning)
{
    *d = (struct drive){.cfg = cfg};
    d->s = (struct lb_sync){
        .a = arena_new(),
        .provider = cfg->provider,
        .host = cfg->host,
        .call = call,
        .batch = batch,
        .clock = cfg->clock,
        .rng = cfg->rng,
        .cancel = cancel_new(cfg->cancel),
        .planning = planning,
    };
    d->s.life = d->s.a;
    d->turn = cfg->flow->forgets && !planning ? arena_new() : NULL; /* a plan is of all stages */
    items_init(d);
    d->own_watch = cfg->watch == NULL ? call_watch_new() : NULL;
    d->entry = (struct call_watch_entry){.call = call, .host = cfg->host, .cancel = d->s.cancel};
    call_watch_add(cfg->watch != NULL ? cfg->watch : d->own_watch, &d->entry);
    d->s.http = http_pool_get(cfg->http);
    http_bind(d->s.http, d->s.cancel, call_may_mutate, d, (void *)call);
}

static void drive_end(struct drive *d)
{
    http_bind(d->s.http, NULL, NULL, NULL, NULL);
    http_pool_put(d->cfg->http, d->s.http);
    call_watch_remove(d->cfg->watch != NULL ? d->cfg->watch : d->own_watch, &d->entry);
    call_watch_free(d->own_watch);
    map_free(d->by_key);
    arena_free(d->turn);
    arena_free(d->s.life);
    cancel_free(d->s.cancel);
}

static void drive_facts(struct drive *d)
{
    struct err err = ERR_INIT;
    if (d->cfg->flow->facts != NULL && d->cfg->flow->facts(&d->s, &err) != ERR_OK) {
        drive_fail_active(d, &err);
    }
    for (size_t i = 0; i < d->s.n_items; i++) {
        (void)drive_own(d, &d->s.items[i]); /* known to the host, whatever comes */
    }
}

/* ---- results --------------------------------------------------------------------------------- */
/* A deadline stops work in the same way as a shutdown does, but means something else:
 * try again later. */
static void item_explain_deadline(const struct drive *d, struct lb_item *item)
{
    const struct tt_call *call = d->s.call;
    bool asked =
        (call->cancelled != NULL && call->cancelled(call) != 0) || cancel_fired(d->cfg->cancel);
    if (item->err.code == ERR_CANCELLED && !asked && call_is_over(call, d->s.host)) {
        item->err.code = ERR_TRANSIENT;
        err_prefix(&item->err, "the time for this sync is over");
    }
}

static void item_complete(struct drive *d, struct lb_item *item)
{
    struct err err = ERR_INIT;
    if (d->cfg->flow->complete != NULL && lb_item_is_active(item) && !d->s.planning &&
        d->cfg->flow->complete(&d->s, item, &err) != ERR_OK) {
        drive_fail_item(item, &err);
    }
}

/* NULL: not known, or not asked. */
static const char *stands(const struct drive *d, const struct lb_item *item)
{
    const struct lb_flow *flow = d->cfg->flow;
    bool asked = flow->stands != NULL && item->in->verb == TT_VERB_ENSURE && !item->settled &&
                 item->in->service->n_ingress > 0 && item->err.code != ERR_CANCELLED;
    return asked ? flow->stands(&d->s, item) : NULL;
}

/* A failed Service is served by what its sync, and those before it, have left. */
static void tell_stands(const struct drive *d, const struct lb_item *item)
{
    const struct tt_host *host = d->s.host;
    const char *why = !d->s.planning && TT_HAS(host, result_nobody) ? stands(d, item) : NULL;
    if (why != NULL) {
        host->result_nobody(item->in->result, why);
    }
}

/* A plan says what will be; beside it goes what is, as long as no client is served. */
static void find_stands(struct drive *d)
{
    for (size_t i = 0; i < d->s.n_items; i++) {
        struct lb_item *item = &d->s.items[i];
        const char *why = stands(d, item);
        if (!str_is_empty(why) && item->serves_nobody == NULL) {
            lb_finding(&d->s, item, "LoadBalancerServesNobody", NULL, "serves no client now: %s",
                       why);
        }
    }
}

/* Of items for which all went well, as the stages have left it: a retreat looks at what it needs
 * for the others alone. */
static void results_set(struct drive *d)
{
    for (size_t i = 0; i < d->s.n_items; i++) {
        struct lb_item *item = &d->s.items[i];
        item_complete(d, item);
        (void)drive_own(d, item);
        if (item->err.code == ERR_OK && !item->settled && !d->s.planning) {
            d->cfg->flow->status(&d->s, item);
        }
    }
}

static int32_t results_report(struct drive *d)
{
    const struct tt_host *host = d->s.host;
    int32_t first = TT_OK;
    for (size_t i = 0; i < d->s.n_items; i++) {
        struct lb_item *item = &d->s.items[i];
        (void)drive_own(d, item);
        if (item->err.code != ERR_OK) {
            item_explain_deadline(d, item);
            if (d->cfg->flow->failed != NULL) {
                d->cfg->flow->failed(&d->s, item);
            }
            tell_stands(d, item);
            host->result_fail(item->in->result, item->err.code, item->err.message,
                              item->err.retry_after_ms);
            first = first == TT_OK ? item->err.code : first;
            continue;
        }
        host->result_done(item->in->result);
    }
    return first;
}

/* ---- the two ways in ------------------------------------------------------------------------- */
int32_t lb_driver_reconcile(const struct lb_driver_config *cfg, const struct tt_call *call,
                            const struct tt_batch *batch)
{
    struct drive d;
    drive_begin(&d, cfg, call, batch, false);
    drive_facts(&d);
    for (size_t i = 0; i < cfg->flow->n_stages; i++) {
        const struct lb_stage *stage = &cfg->flow->stages[i];
        d.tidies = stage->tidies;
        d.last_stage = i + 1 == cfg->flow->n_stages || stage[1].tidies;
        drive_stage(&d, stage);
    }
    d.tidies = d.last_stage = false; /* of items that have failed: they do not serve as asked */
    results_set(&d);
    drive_retreat(&d);
    int32_t code = results_report(&d);
    drive_end(&d);
    return code;
}

int32_t lb_driver_plan(const struct lb_driver_config *cfg, const struct tt_call *call,
                       const struct tt_batch *batch)
{
    struct drive d;
    drive_begin(&d, cfg, call, batch, true);
    lb_plan_init(&d.plan, d.s.a);
    drive_facts(&d);
    for (size_t i = 0; i < cfg->flow->n_stages; i++) {
        drive_stage_plan(&d, &cfg->flow->stages[i]);
    }
    for (size_t i = 0; i < d.s.n_items; i++) {
        struct lb_item *item = &d.s.items[i];
        if (!item->settled && item->err.code != ERR_OK) {
            lb_plan_service(&d.plan, item->key)->err = &item->err;
        }
    }
    find_stands(&d);
    lb_findings_put(&d.s, &d.plan);
    d.plan.reads = d.s.reads;
    struct err err = ERR_INIT;
    if (lb_plan_seal(&d.plan, &err) == ERR_OK) {
        cfg->host->report_plan(cfg->host->ctx, call, lb_plan_view(&d.plan));
    } else {
        drive_fail_active(&d, &err);
    }
    int32_t code = results_report(&d);
    drive_end(&d);
    return code;
}
