/* SPDX-License-Identifier: Apache-2.0 */
/* sync_drift.c: looks whether another program changed a load balancer (--drift): plans it, and
 * reports what differs.
 *
 * A look is a reason of its own in the queue (QUEUE_REASON_LOOK), behind all work.  Only what was
 * fine is checked: synced by this process, as it is now, with the nodes and endpoints that are
 * there now, so that whatever the plan holds was not done here.  Reads only: the host refuses
 * writes while a plan is made.  With "repair" the Service is synced afterwards, as at any re-sync;
 * nothing is changed here.  Source: docs/adr/0020. */
#include "common/base/log.h"
#include "common/base/str.h"
#include "controller/rules/drift_rules.h"
#include "controller/sync/sync_internal.h"

#define EVENT_REASON  "LoadBalancerDrift"
#define LOOK_AGAIN_MS 60000 /* it was not fine, or could not be planned */

/* The argument of the host's hook: which Service a plan is made for. */
struct looking {
    const struct sync_batch *b;
    struct sync_item **items;
    size_t n;
};

bool sync_may_look(const struct sync_batch *b, const struct sync_item *item, bool same_backends)
{
    const struct service_known *k = &item->known;
    const struct sync_scope *scope = &b->s->scope;

    if (item->obj == NULL || k->state == NULL || !k->ours || k->stuck || !same_backends ||
        !str_eq(k->state->uid, item->obj->uid) || !scope_wants(scope, item->svc) ||
        scope_needs_cleanup(scope, item->svc) || queue_failures(b->s->queue, item->key) > 0) {
        return false;
    }
    return scope_reasons(scope, k->state->service, item->svc, true, NULL) == 0;
}

void sync_drift_schedule(const struct sync_item *item, bool soon)
{
    const struct syncer *s = item->s;
    char batch_key[SYNC_BATCH_KEY_MAX];

    if (s->drift == SYNC_DRIFT_OFF || item->obj == NULL || !scope_wants(&s->scope, item->svc)) {
        return;
    }
    int64_t delay_ms = soon ? LOOK_AGAIN_MS
                            : drift_delay_ms(item->key, clock_now_ms(s->clock), s->drift_period_ms,
                                             s->drift_offset_ms, service_cache_size(s->cache));
    syncer_batch_key(s, item->svc, batch_key, sizeof(batch_key));
    queue_add_after(s->queue, item->key, batch_key, QUEUE_REASON_LOOK, delay_ms);
}

/* ---- what was found -------------------------------------------------------------------------- */

static void count_found(const struct sync_item *item, const struct tt_plan *plan)
{
    for (uint32_t i = 0; i < plan->n_operations; i++) {
        const struct tt_operation *op = plan->operations[i];
        if (drift_is_about(op, item->key)) {
            const struct tt_kv kind[] = {{"kind", str_nonnull(op->kind)}};
            metrics_add(item->s->metrics, METRIC_DRIFT, kind, 1, 1);
        }
    }
}

static void tell(const struct sync_item *item, const struct drift *d, const struct tt_plan *plan)
{
    const struct syncer *s = item->s;
    bool repairs = s->drift == SYNC_DRIFT_REPAIR;

    log_warning("Another program or person changed a load balancer", LOG_S("service", item->key),
                LOG_I("differences", d->n), LOG_S("what", d->text),
                LOG_S("then", repairs ? "it is put right" : "nothing is changed"));
    count_found(item, plan);
    if (s->events != NULL) {
        kube_events_emit(
            s->events, item->svc, "service-controller", "Warning", EVENT_REASON,
            arena_printf(item->a, "The load balancer is not as the Service asks: %s. %s", d->text,
                         repairs ? "It is put right now (--drift=repair)"
                                 : "Nothing is changed (--drift=report); any edit of the Service, "
                                   "or --drift=repair, repairs it"));
    }
}

/* One Service of a plan that went well for it. */
static void judge(struct sync_item *item, const struct tt_plan *plan)
{
    const struct syncer *s = item->s;
    struct drift d = drift_of(item->a, plan, item->key);

    item->drifted = d.n > 0;
    if (service_cache_set_drift(s->cache, item->key, d.digest) && d.n > 0) {
        tell(item, &d, plan);
    }
}

void syncer_on_planned(void *call_arg, const struct tt_plan *plan)
{
    const struct looking *l = call_arg;

    for (size_t i = 0; l != NULL && i < l->n; i++) {
        judge(l->items[i], plan);
    }
}

/* ---- looking --------------------------------------------------------------------------------- */

static void look_at(struct sync_batch *b, struct sync_item **items, uint32_t n)
{
    const struct syncer *s = b->s;
    struct looking looking = {.b = b, .items = items, .n = n};
    const struct tt_item **ins = ARENA_ARRAY(b->a, const struct tt_item *, n);
    struct host_call *c = host_call_begin(s->host, b->a, n, sync_call_timeout_ms(s),
                                          sync_waiting(s, true) + n - 1, &looking);

    host_call_set_planning(c);
    for (uint32_t i = 0; i < n; i++) {
        items[i]->in = sync_item_in(items[i], items[i]->svc, TT_VERB_ENSURE);
        items[i]->in.reasons = TT_REASON_RESYNC;
        host_call_item(c, i, &items[i]->in);
        items[i]->result = items[i]->in.result;
        ins[i] = &items[i]->in;
    }
    const struct tt_batch batch = sync_batch_in(b, ins, n);
    host_call_enter(c, "plan");
    int32_t rc = s->desc->plan(s->provider, host_call_abi(c), &batch);
    for (uint32_t i = 0; i < n; i++) {
        (void)host_result_outcome(items[i]->result, rc, false, &items[i]->err);
        items[i]->requests += host_call_requests(c);
    }
    host_call_end(c);
}

static void settle(struct sync_batch *b, struct sync_item *item)
{
    bool failed = item->err.code != ERR_OK && item->err.code != ERR_IMPLEMENTED_ELSEWHERE;

    log_info(failed ? 1 : 4, "Looked at a load balancer", LOG_S("service", item->key),
             LOG_S("code", err_code_name(item->err.code)), LOG_S("message", item->err.message),
             LOG_I("calls", item->requests));
    if (item->drifted && b->s->drift == SYNC_DRIFT_REPAIR && !failed) {
        queue_add(b->s->queue, item->key, b->batch_key, TT_REASON_RESYNC);
    }
    sync_drift_schedule(item, false);
}

void sync_look(struct sync_batch *b)
{
    struct sync_item **members = ARENA_ARRAY(b->a, struct sync_item *, b->n);
    bool whole =
        b->batch_key[0] != '\0' && b->s->desc->reconcile_batch != NULL && !sync_calls_alone(b->s);
    uint32_t n = 0;

    for (size_t i = 0; i < b->n; i++) {
        struct sync_item *item = &b->items[i];
        if (item->todo != SYNC_LOOK || item->quarantined || cancel_fired(b->s->cancel)) {
            continue;
        }
        members[n++] = item;
        if (!whole) {
            look_at(b, &members[n - 1], 1);
        }
    }
    if (whole && n > 0) {
        look_at(b, members, n);
    }
    for (uint32_t i = 0; i < n; i++) {
        settle(b, members[i]);
    }
}
