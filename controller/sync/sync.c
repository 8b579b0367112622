/* SPDX-License-Identifier: Apache-2.0 */
/* sync.c: the order of things for the Services of a batch; see sync.h.
 *
 * What is handed over is remembered *before* the call (object, node and endpoint fingerprints), as
 * upstream does:  whatever the call comes to, the next change is compared with what
 * it was given. */
#include "controller/sync/sync.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/str.h"
#include "common/lb/service_rules.h"
#include "controller/base/guard.h"
#include "controller/sync/sync_internal.h"

void syncer_batch_key(const struct syncer *s, const struct tt_service *svc, char *text, size_t n)
{
    static struct log_limit limit = {.interval_ms = 60000, .burst = 3};

    text[0] = '\0';
    if (s->desc->batch_key == NULL || s->desc->reconcile_batch == NULL) {
        return;
    }
    text[n - 1] = '\0';
    char key[GUARD_KEY_MAX];
    struct guard_mark mark = {.function = "batch_key", .key = guard_key(key, svc)};
    guard_enter(&mark);
    int32_t rc = s->desc->batch_key(s->provider, svc, text, n);
    guard_leave(&mark);
    if (rc == TT_OK && text[n - 1] == '\0' && host_text_ok(text, n - 1)) {
        return;
    }
    text[0] = '\0';
    if (log_limit_ok(&limit, clock_now_ms(s->clock))) {
        log_error("the batch key is too long, not UTF-8 or was refused",
                  "Fault of the provider: the Service is synced alone", LOG_S("namespace", svc->ns),
                  LOG_S("name", svc->name));
    }
}

int64_t syncer_endpoints_delay_ms(const struct syncer *s, const struct tt_service *svc)
{
    int64_t delay_ms = SYNC_ENDPOINTS_MS;

    if (s->slices == NULL) {
        return -1;
    }
    if (s->desc->endpoints_delay_ms != NULL) {
        char key[GUARD_KEY_MAX];
        struct guard_mark mark = {.function = "endpoints_delay_ms", .key = guard_key(key, svc)};
        guard_enter(&mark);
        delay_ms = s->desc->endpoints_delay_ms(s->provider, svc);
        guard_leave(&mark);
    }
    if (delay_ms < 0) {
        return -1;
    }
    delay_ms = delay_ms < SYNC_ENDPOINTS_MS ? SYNC_ENDPOINTS_MS : delay_ms;
    return delay_ms < SYNC_ENDPOINTS_MAX_MS ? delay_ms : SYNC_ENDPOINTS_MAX_MS;
}

/* ---- load and decide ------------------------------------------------------------------------- */

static uint64_t own_nodes_of(const struct sync_batch *b, const struct tt_service *svc)
{
    return node_sets_of_service(b->s->desc, b->s->provider, svc, b->nodes);
}

/* Something that the provider reads of nodes is another, but nothing that concerns this one. */
static bool has_own_nodes(const struct sync_batch *b, const struct sync_item *item)
{
    const struct service_known *k = &item->known;

    return k->nodes.eligible == b->nodes_digests.eligible && k->own_nodes != 0 &&
           k->own_nodes == own_nodes_of(b, sync_backends_service(item));
}

bool sync_backends_are_known(const struct sync_batch *b, const struct sync_item *item)
{
    const struct service_known *k = &item->known;

    if (!k->has_nodes ||
        (!service_known_has_nodes(k, &b->nodes_digests) && !has_own_nodes(b, item))) {
        return false;
    }
    if (item->slices == NULL) {
        return true;
    }
    uint64_t now =
        slices_fingerprint((const struct tt_slice *const *)item->slices->views, item->slices->n);
    return k->has_endpoints && k->endpoints == now;
}

/* Its backends are those of the nodes of now, or will be, by what `svc` asks for. */
static void remember_nodes(struct sync_batch *b, struct sync_item *item,
                           const struct tt_service *svc)
{
    const struct syncer *s = b->s;

    if (!service_cache_set_nodes(s->cache, item->key, &b->nodes_digests, own_nodes_of(b, svc))) {
        /* A pass may have missed it; when the nodes are the same after all, nothing comes of it. */
        queue_add(s->queue, item->key, b->batch_key, TT_REASON_NODES);
    }
}

static void decide(struct sync_batch *b, struct sync_item *item)
{
    const struct sync_scope *scope = &b->s->scope;
    const struct service_known *k = &item->known;
    struct sync_facts f = {
        .found = item->obj != NULL, .reasons = item->reasons, .strict = b->s->strict_events};

    if (item->obj != NULL) {
        f.wants = scope_wants(scope, item->svc);
        f.foreign = scope_is_foreign(scope, item->svc);
        f.cleanup = scope_needs_cleanup(scope, item->svc);
        f.holds = scope_holds(scope, item->svc);
        f.marked = scope_made(scope, item->svc);
        f.deleting = item->svc->deleted_us != 0;
        f.unreadable = item->obj->unreadable != NULL;
        f.cached = k->state != NULL && str_eq(k->state->uid, item->obj->uid);
        f.not_our_finalizer = k->foreign;
        f.same_backends = f.cached && sync_backends_are_known(b, item);
        if (f.same_backends && !service_known_has_nodes(k, &b->nodes_digests)) {
            remember_nodes(b, item, sync_backends_service(item)); /* no other pass asks */
        }
        f.stuck = f.cached && k->stuck;
    } else {
        f.cached = k->cached;
        f.kept =
            k->state != NULL && orphan_guard_keeps(b->s->orphan_guard, k->state->uid, NULL, NULL);
    }
    if (item->looks && item->reasons == 0) {
        bool may = !f.unreadable && sync_may_look(b, item, f.same_backends);
        item->todo = may ? SYNC_LOOK : SYNC_NOTHING;
        return;
    }
    f.was_ours = f.cached && k->ours && k->state != NULL;
    item->todo = sync_decide(&f);
}

/* Finalizers were taken off it, and this view still shows some of ours. */
static bool may_be_older(const struct syncer *s, const struct sync_item *item)
{
    if (!service_cache_has_let_go(s->cache, item->key, item->svc->uid)) {
        return false;
    }
    bool shows = svc_has_finalizer(item->svc, LB_CLEANUP_FINALIZER);
    for (uint32_t i = 0; i < s->desc->n_finalizers; i++) {
        shows = shows || svc_has_finalizer(item->svc, s->desc->finalizers[i]);
    }
    if (!shows) {
        service_cache_clear_let_go(s->cache, item->key);
    }
    return shows;
}

static void load(struct sync_batch *b, struct sync_item *item)
{
    const struct syncer *s = b->s;

    item->obj = kube_store_get(s->services, item->key);
    item->known = service_cache_get(s->cache, item->key);
    item->n_eligible = b->n_eligible;
    if (item->obj != NULL) {
        item->svc = item->obj->service;
        (void)snprintf(item->version, sizeof(item->version), "%s",
                       strlen(item->obj->resource_version) < sizeof(item->version)
                           ? item->obj->resource_version
                           : "");
        item->view_lets_go = may_be_older(s, item);
        sync_mark_load(item);
    } else if (item->known.state != NULL) {
        item->svc = item->known.state->service;
    }
    if (item->obj != NULL && syncer_endpoints_delay_ms(s, item->svc) >= 0) {
        item->slices = kube_store_slices_of(s->slices, item->svc->ns, item->svc->name);
    }
}

/* ---- before the call ------------------------------------------------------------------------- */

/* The name now stands for another object: what belonged to the old one goes first (§1.8), and what
 * was known of it says nothing about the new one. */
static void clean_up_replaced(struct sync_batch *b, struct sync_item *item)
{
    struct kube_object *old = item->known.state;

    if (item->obj == NULL || old == NULL || str_eq(old->uid, item->obj->uid) ||
        item->obj->uid[0] == '\0') { /* who can tell? */
        return;
    }
    if (!item->known.ours) {
        service_known_forget(&item->known);
        return;
    }
    if (orphan_guard_keeps(b->s->orphan_guard, old->uid, NULL, NULL)) {
        sync_event_kept(item, "The load balancer of the older Service of this name is kept: a list "
                              "of the API server lacked many Services at once, and no deletion was "
                              "observed. trimtab orphans lists it");
        service_cache_drop(b->s->cache, item->key);
        service_known_done(&item->known);
        item->known = (struct service_known){0};
        return;
    }
    struct sync_item for_old = *item;
    for_old.todo = SYNC_DELETE_VANISHED;
    for_old.svc = old->service;
    for_old.slices = NULL;
    if (!sync_reports_plans(b->s)) {
        sync_event_begin(&for_old);
    }
    sync_call_delete_old(b, &for_old);
    sync_after(b, &for_old);
    item->requests += for_old.requests;
    item->err = for_old.err;
    item->told = for_old.err.code != ERR_OK;
    service_known_forget(&item->known);
}

static void before_ensure(struct sync_batch *b, struct sync_item *item)
{
    log_info(2, "Ensuring load balancer for service", LOG_S("service", item->key));
    if (sync_validates(b->s) && sync_call_validate(item) != ERR_OK) {
        return;
    }
    if (!sync_reports_plans(b->s)) {
        if (!sync_goes_on(item)) {
            sync_event_normal(item, "EnsuringLoadBalancer", "Ensuring load balancer");
        }
        item->began = true;
    }
    if (!sync_holds_finalizers(b->s) && sync_add_finalizer(item, &item->err) != ERR_OK) {
        return;
    }
    if (!sync_reports_plans(b->s) && b->n_eligible == 0) {
        sync_event_no_nodes(item);
    }
    item->joins = true;
}

static void before_delete(struct sync_batch *b, struct sync_item *item)
{
    bool exists = true;
    bool ask = !sync_reports_plans(b->s) || item->todo == SYNC_DELETE_IF_EXISTS;
    struct err err = ERR_INIT;

    if (ask && sync_call_get(item, item->svc, &exists, &err) != ERR_OK) {
        if (err.code == ERR_IMPLEMENTED_ELSEWHERE && sync_holds_finalizers(b->s)) {
            exists = true; /* its delete says what to do with the finalizers */
        } else {
            item->err = err;
            err_prefix(&item->err, "failed to check if load balancer exists before cleanup");
            return;
        }
    }
    if (!exists) {
        if (item->todo == SYNC_DELETE_IF_EXISTS) {
            item->todo = SYNC_FORGET;
        }
        return;
    }
    log_info(2, "Deleting existing load balancer for service", LOG_S("service", item->key));
    if (!sync_reports_plans(b->s)) {
        sync_event_begin(item);
    }
    item->joins = true;
}

static void remember(struct sync_batch *b, struct sync_item *item)
{
    const struct syncer *s = b->s;

    service_cache_set(s->cache, item->key, item->obj, scope_wants(&s->scope, item->svc));
    if (item->todo != SYNC_ENSURE && item->todo != SYNC_UPDATE) {
        return;
    }
    bool updates = item->todo == SYNC_UPDATE;
    remember_nodes(b, item, updates ? sync_backends_service(item) : item->svc);
    if (item->slices != NULL) {
        service_cache_set_endpoints(
            s->cache, item->key,
            slices_fingerprint((const struct tt_slice *const *)item->slices->views,
                               item->slices->n));
    }
}

static void before(struct sync_batch *b, struct sync_item *item)
{
    bool has_backends = item->todo == SYNC_ENSURE || item->todo == SYNC_UPDATE;

    if (has_backends && !sync_slices_are_known(item)) {
        return;
    }
    switch (item->todo) {
    case SYNC_ENSURE:
        remember(b, item);
        before_ensure(b, item);
        break;
    case SYNC_UPDATE:
        remember(b, item);
        metrics_add(b->s->metrics, METRIC_LB_SYNC, NULL, 0, 1);
        log_info(2, "Updating backends for load balancer", LOG_S("service", item->key),
                 LOG_I("nodes", b->n_eligible));
        item->joins = true;
        break;
    case SYNC_DELETE:
    case SYNC_DELETE_IF_EXISTS:
        remember(b, item);
        before_delete(b, item);
        break;
    case SYNC_DELETE_VANISHED:
        if (!sync_reports_plans(b->s)) {
            sync_event_begin(item);
        }
        item->joins = true;
        break;
    case SYNC_UNREADABLE:
        sync_unreadable_before(item);
        break;
    case SYNC_KEEP:
    case SYNC_FORGET:
    case SYNC_NOTHING:
    case SYNC_LOOK:
        break;
    }
}

/* ---- the batch ------------------------------------------------------------------------------- */

/* A Service for which the provider ended the process again and again: true, and
 * item->err says so. */
static bool hold_back(struct sync_item *item)
{
    const struct syncer *s = item->s;
    bool calls = item->todo != SYNC_NOTHING && item->todo != SYNC_FORGET &&
                 item->todo != SYNC_KEEP && item->todo != SYNC_UNREADABLE;
    bool deletes = item->todo == SYNC_DELETE || item->todo == SYNC_DELETE_IF_EXISTS ||
                   item->todo == SYNC_DELETE_VANISHED;

    if (s->quarantine == NULL || s->quarantine->n == 0 || !calls) {
        return false;
    }
    const struct quarantine_entry *e = quarantine_find(
        s->quarantine, s->desc, item->key, quarantine_digest(item->svc, s->desc, deletes));
    if (e == NULL) {
        return false;
    }
    item->quarantined = true;
    (void)err_set(
        &item->err, ERR_BUG,
        "quarantined: provider %s ended the process %d times in %s for this Service as it "
        "is; it is called again when the Service is edited, with another version of the "
        "provider, or with --provider-quarantine=false",
        s->desc->name, e->deaths, e->call);
    return true;
}

static void prepare(struct sync_batch *b, struct sync_item *item)
{
    const char *ns = NULL;
    const char *name = NULL;

    if (svc_split_key(b->a, item->key, &ns, &name, &item->err) != ERR_OK) {
        return;
    }
    load(b, item);
    clean_up_replaced(b, item);
    if (item->err.code != ERR_OK) {
        return;
    }
    decide(b, item);
    if (b->follows_nodes && item->todo != SYNC_UPDATE && item->todo != SYNC_NOTHING) {
        /* An ensure or a deletion takes longer than the others of the batch should wait. */
        item->goes_alone = true;
        queue_add(b->s->queue, item->key, b->batch_key, item->reasons | TT_REASON_RESYNC);
        return;
    }
    sync_board_begin(item);
    if (!hold_back(item)) {
        before(b, item);
    }
}

static void release(struct sync_item *item)
{
    kube_object_unref(item->obj);
    service_known_done(&item->known);
    kube_snapshot_unref(item->slices);
}

/* Whether the provider's digests of nodes concern it is known once it was called; who fails may not
 * have come so far as to say so again. */
static void note_nodes(const struct sync_batch *b, const struct sync_item *item)
{
    const struct syncer *s = b->s;
    bool by_own = sync_owns(item, TT_OWN_NODES);
    bool called = item->joins && item->result != NULL &&
                  (item->todo == SYNC_ENSURE || item->todo == SYNC_UPDATE);

    if (called && (by_own || item->err.code == ERR_OK) &&
        !service_cache_set_by_own(s->cache, item->key, by_own)) {
        queue_add(s->queue, item->key, b->batch_key, TT_REASON_NODES); /* a pass missed it */
    }
}

static void batch_run(struct sync_batch *b)
{
    for (size_t i = 0; i < b->n; i++) {
        prepare(b, &b->items[i]);
    }
    int64_t called_ms = clock_now_ms(b->s->clock);
    sync_call_joined(b);
    sync_lead_back(b);
    for (size_t i = 0; i < b->n; i++) {
        sync_spare_note(&b->items[i]);
    }
    sync_upkeep(b);
    sync_look(b);
    double took_s = (double)(clock_now_ms(b->s->clock) - called_ms) / 1000;
    for (size_t i = 0; i < b->n; i++) {
        struct sync_item *item = &b->items[i];
        if (item->goes_alone) {
            continue;
        }
        if (item->looks && item->reasons == 0) {
            if (item->todo != SYNC_LOOK) {
                sync_drift_schedule(item, true); /* it was not the time to look */
            }
            continue;
        }
        if (item->todo == SYNC_UPDATE) {
            metrics_observe(b->s->metrics, METRIC_UPDATE_LATENCY, NULL, 0, took_s);
        }
        note_nodes(b, item);
        sync_findings_tell(item);
        /* An item that failed on the way to the call has its error; one that needs no
         * call has none. */
        if (item->joins || item->refused || item->err.code == ERR_OK) {
            sync_after(b, item);
        }
        sync_settle(b, item);
        log_info(4, "Finished syncing service", LOG_S("service", item->key));
    }
}

void syncer_process(const struct syncer *s, const struct queue_batch *batch)
{
    if (sync_left(s, batch)) {
        return;
    }
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct sync_batch b = {.s = s,
                           .a = a,
                           .batch_key = batch->batch_key,
                           .follows_nodes = batch->nodes,
                           .n = batch->n,
                           .nodes = kube_store_snapshot(s->nodes),
                           .started_ms = clock_now_ms(s->clock)};
    struct node_set set = node_sets_of(s->node_sets, s->desc, s->provider, b.nodes);

    b.nodes_digests = set.digests;
    b.n_eligible = set.n_eligible;
    b.items = ARENA_ARRAY(a, struct sync_item, b.n);
    for (size_t i = 0; i < b.n; i++) {
        b.items[i] = (struct sync_item){.s = s,
                                        .a = a,
                                        .key = batch->items[i].key,
                                        .reasons = batch->items[i].reasons & ~QUEUE_REASON_LOOK,
                                        .looks = (batch->items[i].reasons & QUEUE_REASON_LOOK) != 0,
                                        .changed_ms = batch->items[i].changed_ms};
    }
    uint64_t number =
        s->board == NULL ? 0 : board_batch_begin(s->board, str_nonnull(batch->batch_key), b.n);
    batch_run(&b);
    if (s->board != NULL) {
        board_batch_end(s->board, number);
    }
    for (size_t i = 0; i < b.n; i++) {
        release(&b.items[i]);
    }
    kube_snapshot_unref(b.nodes);
}
