/* SPDX-License-Identifier: Apache-2.0 */
/* sync_after.c: what the provider's answer means: for the Service, its user, and the queue.
 *
 * Error texts are upstream's, word by word, because people search for them (controller.md
 * §1.9–1.11, 1.15). */
#include "common/base/log.h"
#include "common/base/str.h"
#include "controller/queue/queue_rules.h"
#include "controller/sync/sync_internal.h"

static bool did_something(const struct sync_item *item)
{
    return item->began || (item->result != NULL && item->result->news > 0);
}

/* The cloud is at work, and says when to ask again: no failure.  Upstream tells that as one. */
static bool sync_waits(const struct sync_item *item)
{
    return item->err.code == ERR_IN_PROGRESS && !item->s->strict_events;
}

/* Another controller's business: no failure. */
static void note_elsewhere(struct sync_item *item)
{
    log_info(4, "Load balancer is implemented elsewhere", LOG_S("service", item->key),
             LOG_S("reason", item->err.message));
    err_clear(&item->err);
    item->elsewhere = true;
}

/* ---- ensure ---------------------------------------------------------------------------------- */

static void after_failed_ensure(struct sync_item *item)
{
    item->extras_due = true; /* written once it is known when it is tried again */
    if (item->result != NULL && item->result->hold_failure != NULL) {
        const char *what =
            sync_owns(item, TT_OWN_FINALIZERS) ? "finalizers" : "load balancer cleanup finalizer";
        item->vanishes = sync_says_gone(item->err.code, item->result->hold_failure);
        (void)err_set(&item->err, item->err.code, "failed to add %s: %s", what,
                      item->result->hold_failure);
        return;
    }
    if (sync_is_unpublished(item)) {
        item->unwritten = true;
        service_cache_set_whole(item->s->cache, item->key, true);
        (void)err_set(&item->err, item->err.code,
                      "%s; what it names stays until it names the new address",
                      item->result->publish_failure);
        return;
    }
    if (!sync_waits(item)) {
        bool goes = sync_owns(item, TT_OWN_GOES);
        err_prefix(&item->err, "failed to %s load balancer", goes ? "delete" : "ensure");
    }
}

static void tell_done(const struct sync_item *item)
{
    if (sync_owns(item, TT_OWN_GOES)) {
        sync_event_normal(item, "DeletedLoadBalancer", "Deleted load balancer");
    } else if (item->todo == SYNC_ENSURE && !sync_owns(item, TT_OWN_STAYS)) {
        sync_event_normal(item, "EnsuredLoadBalancer", "Ensured load balancer");
    } else if (item->n_eligible == 0) {
        sync_event_no_nodes(item);
    } else {
        sync_event_normal(item, "UpdatedLoadBalancer", "Updated load balancer with new hosts");
    }
}

static void after_ensure(struct sync_item *item)
{
    if (item->err.code == ERR_IMPLEMENTED_ELSEWHERE) {
        note_elsewhere(item);
        (void)sync_write_extras(item, true, &item->err); /* what the provider takes back */
        return;
    }
    if (item->err.code != ERR_OK) {
        after_failed_ensure(item);
        return;
    }
    if (!item->result->has_ingress) {
        (void)err_set(&item->err, ERR_BUG, "service status returned by EnsureLoadBalancer is nil");
        return;
    }
    if (did_something(item)) {
        tell_done(item);
    }
    (void)sync_write_ensured(item, &item->err);
}

/* ---- update: only the backends --------------------------------------------------------------- */

static bool is_absent(struct sync_item *item)
{
    struct err err = ERR_INIT;
    bool exists = true;

    if (item->err.code == ERR_NOT_FOUND) {
        return true;
    }
    if (sync_reports_plans(item->s) || item->err.code == ERR_CANCELLED) {
        return false; /* it says NOT_FOUND when it means it */
    }
    if (sync_call_get(item, item->svc, &exists, &err) != ERR_OK) {
        log_error(err.message, "Failed to check if load balancer exists",
                  LOG_S("service", item->key));
        return false;
    }
    return !exists;
}

static void after_good_update(struct sync_item *item)
{
    (void)sync_write_extras(item, false, &item->err);
    if (sync_reports_plans(item->s) && !did_something(item)) {
        return;
    }
    tell_done(item);
}

static void after_update(struct sync_batch *b, struct sync_item *item)
{
    if (item->err.code == ERR_IMPLEMENTED_ELSEWHERE) {
        note_elsewhere(item);
        return;
    }
    if (item->err.code == ERR_OK) {
        after_good_update(item);
        return;
    }
    if (is_absent(item)) {
        err_clear(&item->err);
        return;
    }
    if (sync_waits(item)) {
        return;
    }
    item->told = true;
    if (item->err.code != ERR_CANCELLED) {
        sync_event_update_failed(b, item);
        metrics_add(item->s->metrics, METRIC_NODESYNC_ERROR, NULL, 0, 1);
    }
}

/* ---- delete ---------------------------------------------------------------------------------- */

/* Another program's load balancer.  Upstream lets go of the finalizer all the same; a provider that
 * holds finalizers only for what it serves must not let go of another one's. */
static bool leave_to_others(struct sync_item *item)
{
    if (!sync_holds_finalizers(item->s)) {
        return false;
    }
    note_elsewhere(item);
    service_cache_drop(item->s->cache, item->key);
    return true;
}

static void after_vanished(struct sync_item *item)
{
    if (item->err.code == ERR_IMPLEMENTED_ELSEWHERE && leave_to_others(item)) {
        return;
    }
    if (sync_waits(item)) {
        return;
    }
    item->told = true;
    if (item->err.code == ERR_OK) {
        if (did_something(item)) {
            sync_event_normal(item, "DeletedLoadBalancer", "Deleted load balancer");
        }
        service_cache_drop(item->s->cache, item->key);
    } else if (item->err.code != ERR_CANCELLED) {
        sync_event_warning(item, "DeleteLoadBalancerFailed", "Error deleting load balancer",
                           item->err.message);
    }
}

/* Status of an existing Service whose load balancer is deleted. */
static int take_back(struct sync_item *item)
{
    return sync_object_is_gone(item) ? ERR_OK : sync_write_no_status(item, &item->err);
}

static int after_generic_delete(struct sync_item *item)
{
    int rc = sync_remove_finalizers(item, &item->err);

    if (rc == ERR_OK && (did_something(item) || item->s->strict_events)) {
        sync_event_normal(item, "DeletedLoadBalancer", "Deleted load balancer");
    }
    return rc == ERR_OK ? take_back(item) : rc;
}

static void after_delete(struct sync_item *item)
{
    if (item->err.code == ERR_IMPLEMENTED_ELSEWHERE) {
        if (leave_to_others(item)) {
            return;
        }
        note_elsewhere(item);
    }
    if (sync_waits(item)) {
        return;
    }
    if (item->err.code != ERR_OK) {
        err_prefix(&item->err, "failed to delete load balancer");
        return;
    }
    service_cache_note_gone(item->s->cache, item->key);
    bool own =
        sync_owns(item, TT_OWN_FINALIZERS); /* gce-l4.md §6.1: status first, finalizers last */
    int rc = own ? sync_write_deleted(item, &item->err) : after_generic_delete(item);
    if (rc == ERR_OK) {
        service_cache_drop(item->s->cache, item->key);
    }
}

/* Nothing of ours is there.  Whose the finalizer is stays known as long as the object is. */
static void forget(struct sync_item *item)
{
    struct err err = ERR_INIT;

    if (item->obj != NULL && !scope_is_foreign(&item->s->scope, item->svc) &&
        sync_write_no_report(item, &err) != ERR_OK) {
        log_warning("The Service's status and annotations of its load balancer remain",
                    LOG_S("service", item->key), LOG_S("err", err.message));
    }
    if (item->obj != NULL) {
        service_cache_drop_known(item->s->cache, item->key);
    } else {
        service_cache_drop(item->s->cache, item->key);
    }
}

/* Drops all state of the Service, so that a new one of its name starts without it. */
static void keep(struct sync_item *item)
{
    size_t n_lost = 0;
    size_t n_known = 0;

    (void)orphan_guard_keeps(item->s->orphan_guard, item->known.state->uid, &n_lost, &n_known);
    const char *message = arena_printf(
        item->a,
        "The Service is gone and its load balancer is kept: one list of the API server lacked %zu "
        "of %zu Services at once, and no deletion was observed. To delete it: trimtab orphans "
        "--delete %s",
        n_lost, n_known, item->key);
    log_warning("The load balancer of a Service that vanished is kept", LOG_S("service", item->key),
                LOG_I("services", n_lost), LOG_I("known", n_known));
    service_cache_drop(item->s->cache, item->key);
    sync_event_kept(item, message);
    sync_board_kept(item, message);
}

void sync_after(struct sync_batch *b, struct sync_item *item)
{
    switch (item->todo) {
    case SYNC_ENSURE:
        after_ensure(item);
        break;
    case SYNC_UPDATE:
        after_update(b, item);
        break;
    case SYNC_DELETE:
    case SYNC_DELETE_IF_EXISTS:
        after_delete(item);
        break;
    case SYNC_DELETE_VANISHED:
        after_vanished(item);
        break;
    case SYNC_KEEP:
        keep(item);
        break;
    case SYNC_FORGET:
        forget(item);
        break;
    case SYNC_UNREADABLE:
    case SYNC_NOTHING:
    case SYNC_LOOK:
        break;
    }
}

/* ---- settling -------------------------------------------------------------------------------- */

static void log_synced(const struct sync_batch *b, const struct sync_item *item)
{
    bool changed =
        item->wrote || (item->result != NULL && (item->result->planned > 0 || item->result->held));
    int64_t took_ms = clock_now_ms(b->s->clock) - b->started_ms;
    const char *address = "";

    if (item->todo == SYNC_ENSURE && item->result != NULL && item->result->n_ingress > 0) {
        const struct tt_ingress *in = &item->result->ingress[0];
        address = str_or(in->ip, str_nonnull(in->hostname));
    }
    log_info(changed ? 0 : 2, "Synced", LOG_S("service", item->key),
             LOG_S("verb", sync_todo_word(item->todo)), LOG_S("address", address),
             LOG_I("calls", item->requests), LOG_MS("took", took_ms));
}

/* Thousands may wait for the same thing, and ask again every few seconds. */
static void log_not_ready(const struct sync_item *item, const char *resource, int64_t delay_ms)
{
    static struct log_limit limit = {.interval_ms = 1000, .burst = 100};

    if (log_limit_ok(&limit, clock_now_ms(item->s->clock))) {
        log_warning("Service is not ready, asking again later", LOG_S("service", item->key),
                    LOG_S("code", err_code_name(item->err.code)), LOG_S("resource", resource),
                    LOG_S("message", item->err.message), LOG_MS("retryIn", delay_ms));
    } else {
        log_info(2, "Service is not ready yet", LOG_S("service", item->key),
                 LOG_S("message", item->err.message), LOG_MS("retryIn", delay_ms));
    }
}

static void log_failed(const struct sync_item *item, const struct sync_outcome *o, int64_t delay_ms)
{
    const char *resource = "";

    if (item->result != NULL && item->result->resource_name != NULL) {
        resource = arena_printf(item->a, "%s %s", str_nonnull(item->result->resource_kind),
                                item->result->resource_name);
    }
    if (o->waits) {
        log_info(item->known.waits_ms == 0 ? 0 : 2, "Service waits for the cloud",
                 LOG_S("service", item->key), LOG_S("resource", resource),
                 LOG_S("message", item->err.message), LOG_MS("retryIn", delay_ms));
        return;
    }
    if (o->retry == RETRY_AFTER) {
        log_not_ready(item, resource, delay_ms);
        return;
    }
    if (!o->tell) {
        log_info(1, "The Service is gone before anything was made for it",
                 LOG_S("service", item->key), LOG_S("message", item->err.message));
        return;
    }
    log_error(item->err.message,
              o->bug ? "Fault of the provider while syncing service" : "Error syncing service",
              LOG_S("service", item->key), LOG_S("code", err_code_name(item->err.code)),
              LOG_S("resource", resource), LOG_MS("retryIn", delay_ms));
}

/* The failed update of backends becomes a full ensure right away, as upstream's does. */
static int64_t requeue_update(const struct sync_item *item, const struct sync_outcome *o)
{
    int64_t delay_ms = o->retry == RETRY_AFTER ? o->after_ms : 0;
    char batch_key[SYNC_BATCH_KEY_MAX];

    syncer_batch_key(item->s, item->svc, batch_key, sizeof(batch_key));
    queue_add_after(item->s->queue, item->key, batch_key, TT_REASON_RESYNC, delay_ms);
    return delay_ms;
}

static int64_t requeue(const struct sync_item *item, const struct sync_outcome *o)
{
    const struct syncer *s = item->s;
    bool cleanup = item->svc != NULL && scope_needs_cleanup(&s->scope, item->svc);
    uint32_t reasons = TT_REASON_RESYNC | (item->reasons & (TT_REASON_SPEC | TT_REASON_CLEANUP));
    int64_t delay_ms = o->after_ms;
    char batch_key[SYNC_BATCH_KEY_MAX] = "";

    if (o->retry == RETRY_SLOW && !cleanup) {
        (void)queue_fail(s->queue, item->key, QUEUE_RETRY_MAX_MS); /* counted; the delay is fixed */
        delay_ms = QUEUE_RETRY_MAX_MS;
    } else if (o->retry != RETRY_AFTER) {
        delay_ms =
            queue_fail(s->queue, item->key, cleanup ? SYNC_CLEANUP_RETRY_MS : QUEUE_RETRY_MAX_MS);
    }
    if (item->svc != NULL) {
        syncer_batch_key(s, item->svc, batch_key, sizeof(batch_key));
    }
    if (item->err.code == ERR_IN_USE) {
        reasons |= QUEUE_REASON_AWAITS; /* another Service has it, and may be edited next */
    }
    queue_add_after(s->queue, item->key, batch_key, reasons, delay_ms);
    return delay_ms;
}

/* When to look again though all is well; 0: never.  Of two wishes the earlier moment counts.  After
 * an update of backends only the provider has one: the period runs on. */
static int64_t look_again_ms(const struct sync_item *item)
{
    const struct syncer *s = item->s;
    int64_t again_ms = item->result != NULL ? item->result->again_ms : 0;
    int64_t resync_ms = 0;

    if (item->todo != SYNC_ENSURE && item->todo != SYNC_UPDATE) {
        return 0;
    }
    if (s->resync_period_ms > 0 && item->todo == SYNC_ENSURE) {
        int64_t jitter = (int64_t)(rng_unit(s->rng) * (double)s->resync_period_ms / 5);
        resync_ms = s->resync_period_ms + jitter;
    }
    if (again_ms <= 0) {
        return resync_ms;
    }
    again_ms = queue_retry_after_ms(again_ms);
    return resync_ms > 0 && resync_ms < again_ms ? resync_ms : again_ms;
}

void syncer_again(const struct syncer *s, const char *ns, const char *name, int64_t after_ms)
{
    char batch_key[SYNC_BATCH_KEY_MAX];
    _cleanup_(xfreep) char *key = xasprintf("%s/%s", ns, name);
    _cleanup_(kube_object_unrefp) struct kube_object *object = kube_store_get(s->services, key);

    if (object != NULL && scope_wants(&s->scope, object->service)) {
        syncer_batch_key(s, object->service, batch_key, sizeof(batch_key));
        queue_add_after(s->queue, key, batch_key, TT_REASON_RESYNC, after_ms);
    }
}

static void settle_fine(const struct sync_item *item)
{
    const struct syncer *s = item->s;
    char batch_key[SYNC_BATCH_KEY_MAX];
    bool partial = item->todo == SYNC_UPDATE || (item->todo == SYNC_NOTHING && item->known.cached);

    if (!partial) { /* else an ensure that failed before is still due, and counted */
        queue_forget(s->queue, item->key);
        (void)queue_undelay(s->queue, item->key,
                            TT_REASON_SPEC | TT_REASON_CLEANUP | TT_REASON_RESYNC);
    }
    int64_t again_ms = look_again_ms(item);
    if (again_ms > 0) {
        syncer_batch_key(s, item->svc, batch_key, sizeof(batch_key));
        queue_add_after(s->queue, item->key, batch_key, TT_REASON_RESYNC, again_ms);
    }
}

/* How long a user waited for it. */
static void note_change(const struct sync_item *item, const struct tt_kv *verb)
{
    const struct syncer *s = item->s;

    if (item->changed_ms == INT64_MAX || item->todo == SYNC_NOTHING || item->todo == SYNC_FORGET ||
        item->todo == SYNC_KEEP) {
        return;
    }
    metrics_observe(s->metrics, METRIC_CHANGE_DURATION, verb, 1,
                    (double)(clock_now_ms(s->clock) - item->changed_ms) / 1000);
}

static void observe_part(const struct syncer *s, const char *part, int64_t ms)
{
    const struct tt_kv label = {"part", part};

    metrics_observe(s->metrics, METRIC_TO_ADDRESS, &label, 1, (double)ms / 1000);
}

/* How long a user waited for an address, and where the time went. */
static void note_address(const struct sync_batch *b, const struct sync_item *item)
{
    if (item->addressed_ms == 0 || item->changed_ms == INT64_MAX) {
        return;
    }
    /* While the provider tidies up, the address is written before the call comes back. */
    int64_t answered_ms =
        item->answered_ms < item->addressed_ms ? item->answered_ms : item->addressed_ms;
    observe_part(b->s, "whole", item->addressed_ms - item->changed_ms);
    observe_part(b->s, "waiting", b->started_ms - item->changed_ms);
    observe_part(b->s, "provider", answered_ms - b->started_ms);
    observe_part(b->s, "status", item->addressed_ms - answered_ms);
}

/* The next view of it may be older than what was done to its finalizers. */
static void note_finalizers(const struct sync_item *item)
{
    struct service_cache *cache = item->s->cache;
    bool held = item->held || (item->result != NULL && item->result->held);

    if (item->let_go && item->obj != NULL && item->svc->deleted_us == 0) {
        service_cache_note_let_go(cache, item->key, item->svc->uid);
    } else if (held && item->view_lets_go) {
        service_cache_clear_let_go(cache, item->key);
    }
}

/* A failed update is an ensure in a moment, and what could not be written now will not be
 * so a second time. */
static void report_failure(struct sync_item *item, int64_t delay_ms)
{
    bool settled = item->todo == SYNC_UPDATE || item->todo == SYNC_NOTHING;
    bool report = item->obj != NULL && item->err.code != ERR_CANCELLED && !item->unwritten &&
                  !item->vanishes && !settled;

    if (report || item->extras_due) {
        sync_write_failed(item, report, delay_ms);
    }
}

/* A wait that does not end is reported as a failure, once. */
static void judge_wait(const struct sync_item *item, struct sync_outcome *o)
{
    const struct syncer *s = item->s;

    if (!o->waits || s->strict_events) {
        o->tell = o->tell || o->waits;
        o->waits = false;
        if (item->known.waits_ms != 0) {
            service_cache_end_wait(s->cache, item->key, false);
        }
        return;
    }
    int64_t now_ms = clock_now_ms(s->clock);
    int64_t since_ms = service_cache_note_wait(s->cache, item->key, now_ms);
    if (since_ms == 0 || now_ms - since_ms < SYNC_WAIT_MAX_MS) {
        return;
    }
    o->waits = false;
    o->tell = !item->known.wait_told;
    service_cache_end_wait(s->cache, item->key, true);
}

static struct sync_outcome outcome_of(const struct sync_item *item)
{
    struct sync_outcome o = sync_outcome(item->err.code, item->err.retry_after_ms);

    if (item->quarantined || (o.bug && item->result != NULL && item->result->broken)) {
        o.retry =
            RETRY_SLOW; /* the same answer comes again: only another Service or plugin helps */
    }
    judge_wait(item, &o);
    /* The watch is about to say so.  If it does not, the next try fails likewise. */
    o.tell = o.tell && !(item->vanishes && queue_failures(item->s->queue, item->key) == 0);
    return o;
}

/* Another Service may wait for what this one has changed: an address, a port, a name. */
static void note_freed(const struct sync_item *item)
{
    bool wrote = item->result != NULL && item->result->operations_done > 0;

    if (wrote && item->todo != SYNC_UPDATE) { /* that is of nodes alone */
        queue_freed(item->s->queue, item->key);
    }
}

void sync_settle(struct sync_batch *b, struct sync_item *item)
{
    const struct syncer *s = b->s;

    if (item->todo == SYNC_UNREADABLE) {
        sync_unreadable_settle(b, item);
        return;
    }
    struct sync_outcome o = outcome_of(item);
    const struct tt_kv labels[] = {{"verb", sync_todo_word(item->todo)},
                                   {"result", err_code_name(item->err.code)}};

    if (item->todo != SYNC_NOTHING && item->todo != SYNC_FORGET && item->todo != SYNC_KEEP) {
        double took_s = (double)(clock_now_ms(s->clock) - b->started_ms) / 1000;
        metrics_add(s->metrics, METRIC_SYNCS, labels, 2, 1);
        metrics_observe(s->metrics, METRIC_SYNC_DURATION, labels, 1, took_s);
    }
    note_finalizers(item);
    if (item->todo == SYNC_ENSURE) {
        (void)service_cache_set_drift(s->cache, item->key, 0);
        /* A load balancer that stands gets other nodes, whatever is wrong with the Service; where
         * nothing stands, they may be what it waits for.  One that validate() refused does
         * not wait for them. */
        bool refused = o.retry == RETRY_SLOW;
        bool stuck = refused && !sync_stands(item) && !item->refused && !item->quarantined;
        const struct ensure_end end = {.good = item->err.code == ERR_OK,
                                       .refused = refused && !sync_has_done(b, item),
                                       .stuck = stuck,
                                       .touched = sync_has_touched(b, item)};
        service_cache_end_ensure(s->cache, item->key, &end);
    } else if (item->todo == SYNC_UPDATE) {
        service_cache_set_behind(s->cache, item->key, item->err.code != ERR_OK);
    }
    if (item->err.code == ERR_OK) {
        note_change(item, &labels[0]);
        note_address(b, item);
        if (item->looks || item->todo == SYNC_ENSURE) {
            sync_drift_schedule(item, false);
        }
        settle_fine(item);
        note_freed(item);
        sync_board_end(b, item, &o, -1);
        if (item->todo != SYNC_NOTHING) {
            log_synced(b, item);
        }
        return;
    }
    if (o.tell && !item->told) {
        sync_event_warning(item, "SyncLoadBalancerFailed", "Error syncing load balancer",
                           item->err.message);
    }
    int64_t delay_ms = item->todo == SYNC_UPDATE ? requeue_update(item, &o) : requeue(item, &o);
    note_freed(item);
    sync_board_end(b, item, &o, delay_ms);
    report_failure(item, delay_ms);
    if (item->err.code != ERR_CANCELLED) {
        log_failed(item, &o, delay_ms);
    }
}
