/* SPDX-License-Identifier: Apache-2.0 */
/* driver_stage.c: one stage of a sync: observe, plan, look again if that is needed, execute, and
 * what to do with what failed.
 *
 * The loop ends, because each turn but the last either looks afresh for the first time, counts a
 * conflict (DRIVER_TRIES at most), learns of a limit for the first time, or takes at least one
 * Service out of the batch.  Part of driver.h; one thread. */
#include "common/base/cancel.h"
#include "common/base/str.h"
#include "common/lb/driver_internal.h"
#include "common/lb/findings.h"
#include "common/lb/former_rules.h"
#include "common/lb/mark_rules.h"
#include "common/lb/service_rules.h"

#include <string.h>

#define PAUSE_BASE_MS 100
#define PAUSE_MAX_MS  2000

/* Result of a turn of the loop. */
enum turn {
    TURN_DONE = 0,
    TURN_AGAIN,
};

/* ---- waiting between tries ------------------------------------------------------------------- */
/* Full jitter: writers that met each other once should not meet again. */
static void stage_pause(struct lb_sync *s)
{
    int64_t most_ms = (int64_t)PAUSE_BASE_MS << s->attempt;
    most_ms = most_ms < PAUSE_MAX_MS ? most_ms : PAUSE_MAX_MS;
    int64_t until_ms = clock_now_ms(s->clock) + (int64_t)(rng_unit(s->rng) * (double)most_ms);
    cancel_nap(s->cancel, s->clock, until_ms);
}

/* ---- observing and planning ------------------------------------------------------------------ */
/* Our observation was older than we thought: another program wrote, or the thing to be
 * made is there. */
static bool is_stale(int code)
{
    return code == ERR_CONFLICT || code == ERR_EXISTS;
}

/* Counts a conflict.  False: there were too many. */
static bool try_again(struct drive *d)
{
    if (d->s.attempt + 1 >= DRIVER_TRIES) {
        return false;
    }
    stage_pause(&d->s);
    d->s.attempt++;
    d->s.fresh = true;
    return true;
}

static int stage_look(struct drive *d, const struct lb_stage *stage, struct err *err)
{
    d->s.observed_fresh = false;
    return stage->observe(&d->s, err);
}

static int stage_write_down(struct drive *d, const struct lb_stage *stage, struct err *err)
{
    lb_plan_init(&d->plan, d->s.a);
    for (size_t i = 0; i < d->s.n_items; i++) {
        if (lb_item_is_active(&d->s.items[i])) {
            const struct lb_kinds *full = d->s.items[i].full;
            lb_plan_service(&d->plan, d->s.items[i].key)->full =
                full == NULL ? NULL : arena_memdup(d->s.a, full, sizeof *full);
        }
    }
    int rc = stage->plan(&d->s, &d->plan, err);
    lb_findings_put(&d->s, &d->plan);
    if (rc == ERR_OK) {
        rc = lb_plan_seal(&d->plan, err);
    }
    d->plan.reads = d->s.reads;
    return rc;
}

/* ---- finalizers ------------------------------------------------------------------------------ */
static struct lb_item *item_of(const struct drive *d, const char *key)
{
    return map_get(d->by_key, key);
}

/* Per item: does the plan change something for it? */
static bool *items_with_changes(struct drive *d)
{
    bool *changes = ARENA_ARRAY(d->s.a, bool, d->s.n_items);
    for (size_t i = 0; i < d->plan.n_ops; i++) {
        const struct lb_op *op = &d->plan.ops[i];
        const char *key;
        STR_SET_EACH (key, &op->owners) {
            const struct lb_item *item = op->verb != LB_KEEP ? item_of(d, key) : NULL;
            if (item != NULL) {
                changes[item - d->s.items] = true;
            }
        }
    }
    return changes;
}

static bool item_lacks(const struct lb_item *item, bool own, const char *const *names, size_t n)
{
    bool lacks = !own && !svc_has_finalizer(item->in->service, LB_CLEANUP_FINALIZER);
    for (size_t i = 0; !lacks && i < n; i++) {
        lacks = !svc_has_finalizer(item->in->service, names[i]);
    }
    return lacks;
}

/* The load balancer that trimtab made goes, and the Service stays: it has another controller's
 * class or another type by now.  If finalizers were taken off it, they come back until all has
 * gone: the Service may be deleted meanwhile, or the process end (docs/adr/0100). */
static bool outlives_its_balancer(const struct drive *d, const struct lb_item *item)
{
    const struct tt_service *svc = item->in->service;
    return svc->deleted_us == 0 && mark_is_by(svc, d->cfg->flow->name);
}

/* The finalizer continues before the first mutation: a Service deleted meanwhile must wait for us.
 * A healthy load balancer whose Service lost its finalizer gets it back, too; an UPDATE with
 * nothing to do does not care.  The host makes no request when all are there. */
static int item_hold(struct drive *d, size_t i, bool changes, struct err *err)
{
    const struct lb_sync *s = &d->s;
    struct lb_item *item = &d->s.items[i];
    uint32_t verb = item->in->verb;
    bool deletes = verb == TT_VERB_DELETE;
    if (d->held[i] || !lb_item_is_active(item) || (deletes && !outlives_its_balancer(d, item))) {
        return ERR_OK;
    }
    const char *const *names = NULL;
    size_t n = d->cfg->flow->finalizers != NULL ? d->cfg->flow->finalizers(s, item, &names) : 0;
    bool own = (drive_own(d, item) & TT_OWN_FINALIZERS) != 0;
    bool lacks = item_lacks(item, own, names, n);
    if (deletes ? !changes || !lacks : !changes && !(verb == TT_VERB_ENSURE && lacks)) {
        return ERR_OK;
    }
    int32_t code = s->host->hold_finalizers(s->host->ctx, s->call, item->in, names, (uint32_t)n);
    bool refused = code == TT_NOT_FOUND || code == TT_INVALID || code == TT_FORBIDDEN;
    if (code != TT_OK && !(deletes && refused)) {
        return err_set(err, code, "the finalizers could not be set, so nothing was changed");
    }
    d->held[i] = true;
    return ERR_OK;
}

/* False: an item has left the batch, the plan must be made again. */
static bool stage_hold(struct drive *d)
{
    bool all = true;
    const bool *changes = items_with_changes(d);
    for (size_t i = 0; i < d->s.n_items; i++) {
        struct err err = ERR_INIT;
        if (item_hold(d, i, changes[i], &err) != ERR_OK) {
            drive_fail_item(&d->s.items[i], &err);
            all = false;
        }
    }
    return all;
}

/* ---- executing ------------------------------------------------------------------------------- */
/* A permission that we can do without: an event gives its owners the steps by hand. */
static void tell_forbidden(struct drive *d, const struct lb_op *op)
{
    const char *key;
    STR_SET_EACH (key, &op->owners) {
        const struct lb_item *item = item_of(d, key);
        if (item != NULL && op->forbidden_event != NULL) {
            d->s.host->event(d->s.host->ctx, item->in->service, TT_EVENT_WARNING,
                             op->forbidden_reason, op->forbidden_event);
        }
    }
}

static void op_over(void *arg, const struct lb_op *op, unsigned outcome, const struct err *err)
{
    struct drive *d = arg;
    if (d->cfg->flow->over != NULL) {
        d->cfg->flow->over(&d->s, op, outcome, err);
    }
}

void drive_op_done(void *arg, const struct lb_op *op, int index, unsigned outcome,
                   const struct err *err, int64_t took_ms)
{
    struct drive *d = arg;
    const struct tt_host *host = d->s.host;
    if (d->cfg->flow->wrote != NULL) {
        d->cfg->flow->wrote(&d->s, op, outcome, err);
    }
    if (outcome == LB_TOLERATED && err->code == ERR_FORBIDDEN) {
        tell_forbidden(d, op);
    }
    if (outcome == LB_FAILED) {
        struct drive_failure *f = ARENA_NEW(d->s.a, struct drive_failure);
        *f = (struct drive_failure){.op = op, .err = *err};
        d->failures[d->n_failures++] = f;
    }
    struct tt_operation view = *d->view->operations[index];
    view.flags |= outcome == LB_TOLERATED ? TT_OP_TOLERATED : 0;
    host->report_operation(host->ctx, d->s.call, &view,
                           outcome == LB_DONE ? TT_OK : (int32_t)err->code, err->message, took_ms);
}

/* The cloud read the operation and did not like what is in it: a part of it may be fine.  A bad
 * request for an unknown reason is one, too, whatever its code. */
static bool is_refusal(const struct err *err)
{
    return err->code == ERR_INVALID || err->code == ERR_QUOTA || err->code == ERR_IN_USE ||
           err->code == ERR_NOT_FOUND || err->http_status == 400 || err->http_status == 422;
}

/* Lets every second active owner wait in a group of its own.  False: there is only one. */
static bool halve(struct drive *d, const struct str_set *owners)
{
    size_t n = 0;
    const char *key;
    STR_SET_EACH (key, owners) {
        struct lb_item *item = item_of(d, key);
        n += item != NULL && lb_item_is_active(item);
    }
    if (n < 2) {
        return false;
    }
    d->n_groups++;
    size_t seen = 0;
    STR_SET_EACH (key, owners) {
        struct lb_item *item = item_of(d, key);
        if (item != NULL && lb_item_is_active(item) && seen++ >= n / 2) {
            item->group = d->n_groups;
        }
    }
    return true;
}

/* A write for Services that go and for others was refused: what comes may want what goes has not
 * let go of yet.  Those that stay wait until the others are through; no deletion hangs on
 * another Service's creation.  Once per stage. */
static bool take_apart(struct drive *d, const struct str_set *owners)
{
    size_t going = 0, staying = 0;
    const char *key;
    for (int round = 0; round < 2 && !d->apart; round++) {
        bool both = going > 0 && staying > 0;
        STR_SET_EACH (key, owners) {
            struct lb_item *item = item_of(d, key);
            bool counts = item != NULL && lb_item_is_active(item);
            bool goes = counts && item->in->verb == TT_VERB_DELETE;
            if (round == 0) {
                going += goes;
                staying += counts && !goes;
            } else if (both && counts && !goes) {
                item->group = d->n_groups + 1;
            }
        }
    }
    bool some = !d->apart && going > 0 && staying > 0;
    d->n_groups += some;
    d->apart = d->apart || some;
    return some;
}

/* Takes those out of the batch for whose sake the operation failed; at least one, so that
 * the loop ends. */
static void failure_settle(struct drive *d, const struct drive_failure *f)
{
    const struct lb_flow *flow = d->cfg->flow;
    if (is_refusal(&f->err) && take_apart(d, &f->op->owners)) {
        return;
    }
    struct str_set keys =
        flow->culprits != NULL ? flow->culprits(&d->s, f->op, &f->err) : f->op->owners;
    if (keys.n == 0 && is_refusal(&f->err) && halve(d, &f->op->owners)) {
        return;
    }
    size_t left = 0;
    for (int round = 0; round < 2 && left == 0; round++) {
        const char *key;
        STR_SET_EACH (key, &keys) {
            struct lb_item *item = item_of(d, key);
            if (item != NULL && lb_item_is_active(item)) {
                d->s.host->result_resource(item->in->result, f->op->kind, f->op->name);
                drive_fail_item(item, &f->err);
                left++;
            }
        }
        keys = f->op->owners; /* the flow named no owner of this batch: then all of them fail */
    }
}

/* Keeps in mind that there is no room for this; false: its planner has no other order for it, or
 * knows it already. */
static bool note_full(struct drive *d, struct lb_item *item, const char *what)
{
    const struct lb_plan_service *planned = lb_plan_service(&d->plan, item->key);
    if (!lb_kinds_have(planned->asks_room, what) || lb_kinds_have(planned->full, what)) {
        return false;
    }
    lb_kinds_add(d->s.life, &item->full, what);
    return lb_kinds_have(item->full, what);
}

/* At a limit the Services whose planner has another order for it are planned once more, with what
 * goes before what comes (lb_plan_makes_room()).  Returns whether the failure is settled by that:
 * an owner of it is.  Once per stage for each Service and what it asks about. */
static bool make_room(struct drive *d, const struct drive_failure *f)
{
    const char *list = arena_printf(d->s.life, "%s %s", f->op->kind, f->op->name);
    bool some = false;
    const char *key;
    STR_SET_EACH (key, &f->op->owners) {
        struct lb_item *item = f->err.code == ERR_QUOTA ? item_of(d, key) : NULL;
        if (item != NULL && lb_item_is_active(item)) {
            bool of_kind = note_full(d, item, f->op->kind);
            some = note_full(d, item, list) || of_kind || some;
        }
    }
    return some;
}

static size_t count_active(const struct drive *d)
{
    size_t n = 0;
    for (size_t i = 0; i < d->s.n_items; i++) {
        n += lb_item_is_active(&d->s.items[i]);
    }
    return n;
}

/* Settles the failures that are conflicts, or those that are not. */
static size_t failures_settle_kind(struct drive *d, bool stale)
{
    size_t n = 0;
    for (size_t i = 0; i < d->n_failures; i++) {
        if (is_stale(d->failures[i]->err.code) == stale) {
            failure_settle(d, d->failures[i]);
            n++;
        }
    }
    return n;
}

static enum turn failures_settle(struct drive *d)
{
    size_t left = 0;
    for (size_t i = 0; i < d->n_failures; i++) {
        if (!make_room(d, d->failures[i])) {
            d->failures[left++] = d->failures[i];
        }
    }
    d->n_failures = left;
    if (left == 0) {
        d->s.fresh = true;
        return TURN_AGAIN;
    }
    size_t before = count_active(d);
    size_t settled = failures_settle_kind(d, false);
    if (settled < d->n_failures && drive_has_active(d) && try_again(d)) {
        return TURN_AGAIN;
    }
    (void)failures_settle_kind(d, true); /* too many conflicts are a result like any other */
    if (count_active(d) == before) {     /* no owner in this batch: all stop */
        drive_fail_active(d, &d->failures[0]->err);
    }
    d->s.fresh = true;
    return drive_has_active(d) ? TURN_AGAIN : TURN_DONE;
}

struct lb_exec_config drive_exec_config(struct drive *d)
{
    const struct lb_sync *s = &d->s;
    return (struct lb_exec_config){
        .a = s->a,
        .wants_answers = d->cfg->flow->forgets,
        .window = s->n_items > 1 ? d->cfg->flow->window : 0,
        .http = s->http,
        .clock = s->clock,
        .rng = s->rng,
        .cancel = s->cancel,
        .provider = s->provider,
        .on_over = op_over,
        .on_done = drive_op_done,
        .arg = d,
    };
}

/* Is one of those that continue to be planned once more?  At most as often as after conflicts. */
static bool plan_again(struct drive *d)
{
    bool some = false;
    for (size_t i = 0; i < d->s.n_items; i++) {
        const struct lb_item *item = &d->s.items[i];
        some = some || (lb_item_is_active(item) && lb_plan_service(&d->plan, item->key)->again);
    }
    return some && try_again(d);
}

/* The plan was cancelled: a Service of a batch whose own operations have all ended well has not
 * failed for that. */
static void fail_unfinished(struct drive *d, const unsigned *outcomes, const struct err *err)
{
    for (size_t i = 0; i < d->plan.n_ops; i++) {
        const struct lb_op *op = &d->plan.ops[i];
        const char *key;
        if ((outcomes[i] & (LB_FAILED | LB_NOT_RUN)) == 0) {
            continue;
        }
        STR_SET_EACH (key, &op->owners) {
            struct lb_item *item = item_of(d, key);
            if (item != NULL) {
                drive_fail_item(item, err);
            }
        }
    }
}

static enum turn stage_execute(struct drive *d)
{
    d->failures = ARENA_ARRAY(d->s.a, const struct drive_failure *, d->plan.n_ops);
    d->n_failures = 0;
    drive_serving_begin(d);
    struct lb_exec_config cfg = drive_exec_config(d);
    struct lb_exec_result result;
    struct err err = ERR_INIT;
    cfg.on_round = drive_note_serving;
    cfg.may_begin = drive_may_begin;
    int rc = lb_exec_run(&d->plan, &cfg, &result, &err);
    drive_debts_book(d, result.outcomes);
    drive_withhold(d);
    if (rc == ERR_OK) {
        return plan_again(d) ? TURN_AGAIN : TURN_DONE;
    }
    if (rc == ERR_CANCELLED) {
        fail_unfinished(d, result.outcomes, &err);
        return TURN_DONE;
    }
    if (d->n_failures == 0) {
        drive_fail_active(d, &err);
        return TURN_DONE;
    }
    enum turn turn = failures_settle(d);
    drive_put_back(d); /* at once: those of this batch who did not fail continue after it */
    return turn;
}

/* A Service that is led back to what it asked for keeps what stands, and so does one whose
 * replacement was refused a while ago: it leaves the batch if its plan takes something down. */
static bool spare_what_stands(struct drive *d)
{
    bool some = false;
    for (size_t i = 0; i < d->plan.n_ops; i++) {
        const struct lb_op *op = &d->plan.ops[i];
        const char *key;
        STR_SET_EACH (key, &op->owners) {
            struct lb_item *item = lb_op_takes_down(op) ? item_of(d, key) : NULL;
            if (item != NULL && lb_item_is_active(item) &&
                (lb_leads_back(item->in) || (lb_spares(item->in) && !drive_proves(d, item)))) {
                struct err err = ERR_INIT;
                (void)lb_spare(&err, op->kind, op->name);
                drive_fail_item(item, &err);
                some = true;
            }
        }
    }
    return some;
}

/* ---- the loop -------------------------------------------------------------------------------- */
static enum turn stage_fail(struct drive *d, const struct err *err)
{
    if (is_stale(err->code) && try_again(d)) {
        return TURN_AGAIN;
    }
    drive_fail_active(d, err);
    return TURN_DONE;
}

/* Nothing is changed on the word of a snapshot: what is touched has been read in this very sync. */
static enum turn stage_look_closer(struct drive *d)
{
    if (d->s.fresh) {
        struct err err = ERR_INIT;
        err_set(&err, ERR_BUG, "flow %s observed from a snapshot although asked not to",
                d->cfg->flow->name);
        drive_fail_active(d, &err);
        return TURN_DONE;
    }
    d->s.fresh = true;
    drive_publish_again(d);
    return TURN_AGAIN;
}

static void forget_last_turn(struct drive *d)
{
    if (d->turn != NULL) {
        arena_reset(d->turn);
        d->s.a = d->turn;
    }
}

static void note_active(struct drive *d)
{
    for (size_t i = 0; i < d->s.n_items; i++) {
        d->s.items[i].began = lb_item_is_active(&d->s.items[i]);
    }
}

/* A Service is not refused on the word of a snapshot: what it lacks may have come, what is in its
 * way may have gone.  True: some were, and all are checked once more. */
static bool take_back_refusals(struct drive *d)
{
    bool some = false;
    for (size_t i = 0; !d->s.fresh && !d->s.observed_fresh && i < d->s.n_items; i++) {
        struct lb_item *item = &d->s.items[i];
        if (item->began && is_refusal(&item->err)) {
            err_clear(&item->err);
            some = true;
        }
    }
    d->s.fresh = d->s.fresh || some;
    return some;
}

static enum turn stage_turn(struct drive *d, const struct lb_stage *stage)
{
    struct err err = ERR_INIT;
    forget_last_turn(d);
    note_active(d);
    lb_findings_turn_begin(&d->s);
    if (cancel_fired(d->s.cancel)) {
        err_set(&err, ERR_CANCELLED, "stopped in stage %s", stage->name);
        drive_fail_active(d, &err);
        return TURN_DONE;
    }
    if (stage_look(d, stage, &err) != ERR_OK || stage_write_down(d, stage, &err) != ERR_OK) {
        return stage_fail(d, &err);
    }
    if (take_back_refusals(d)) {
        return TURN_AGAIN;
    }
    bool changes = lb_plan_changes(&d->plan) > 0;
    if (changes && drive_publish_first(d, stage)) {
        return TURN_AGAIN; /* before it looks closer: what stays needs no request */
    }
    if (changes && !d->s.observed_fresh) {
        return stage_look_closer(d);
    }
    if (!drive_has_active(d)) {
        return TURN_DONE;
    }
    if (spare_what_stands(d)) {
        return TURN_AGAIN;
    }
    if (!stage_hold(d) || !drive_ask_first(d)) {
        d->s.fresh = true;
        return TURN_AGAIN;
    }
    d->view = lb_plan_view(&d->plan);
    d->s.host->report_plan(d->s.host->ctx, d->s.call, d->view);
    return changes ? stage_execute(d) : TURN_DONE;
}

static bool is_needed(const struct drive *d, const struct lb_stage *stage)
{
    return drive_has_active(d) && (stage->needed == NULL || stage->needed(&d->s));
}

void drive_stage(struct drive *d, const struct lb_stage *stage)
{
    d->s.fresh = false;
    d->apart = false;
    for (size_t i = 0; i < d->s.n_items; i++) {
        d->s.items[i].full = NULL;
        d->told_leaving[i] = false;
    }
    lb_findings_stage_begin(&d->s);
    if (!is_needed(d, stage)) {
        return;
    }
    do {
        enum turn turn = TURN_AGAIN;
        while (turn == TURN_AGAIN && drive_has_active(d)) {
            turn = stage_turn(d, stage);
        }
    } while (drive_group_release(d));
    drive_put_back(d); /* what failed before anything was carried out again, after a conflict */
}

void drive_stage_plan(struct drive *d, const struct lb_stage *stage)
{
    if (!is_needed(d, stage)) {
        return;
    }
    struct err err = ERR_INIT;
    if (stage_look(d, stage, &err) != ERR_OK ||
        (drive_has_active(d) && stage->plan(&d->s, &d->plan, &err) != ERR_OK)) {
        drive_fail_active(d, &err);
    }
}
