/* SPDX-License-Identifier: Apache-2.0 */
/* watch.c: see watch.h. */
#include "controller/sync/watch.h"

#include "common/base/arena.h"
#include "common/base/log.h"
#include "common/base/str.h"
#include "common/lb/service_rules.h"
#include "controller/rules/report_rules.h"
#include "controller/sync/sync_internal.h"

#define CONDITION_AGAIN_MS 60000

/* Another controller's Service lost its type: the cleanup finalizer on it is that controller's. */
static void note_foreign(struct watch *w, const struct kube_object *old_obj,
                         const struct kube_object *cur)
{
    const struct sync_scope *scope = &w->syncer->scope;

    if (str_eq(old_obj->uid, cur->uid) && scope_is_foreign(scope, old_obj->service) &&
        !str_eq(cur->service->type, "LoadBalancer") &&
        svc_has_finalizer(cur->service, LB_CLEANUP_FINALIZER)) {
        service_cache_mark_foreign(w->syncer->cache, cur->key, cur->uid);
    }
}

static void service_gone(struct watch *w, const struct kube_object *old_obj)
{
    const struct syncer *s = w->syncer;
    char batch_key[SYNC_BATCH_KEY_MAX];

    /* A worker may have the key and not yet have said what it knows. */
    if (service_cache_has(s->cache, old_obj->key) || scope_wants(&s->scope, old_obj->service)) {
        syncer_batch_key(s, old_obj->service, batch_key, sizeof(batch_key));
        queue_add(s->queue, old_obj->key, batch_key, TT_REASON_CLEANUP);
    }
}

/* Those whose deletion was not seen.  A deletionTimestamp is an order; absence from a list
 * is not. */
static bool may_be_kept(const struct syncer *s, const struct tt_service *svc)
{
    return scope_wants(&s->scope, svc) && svc->deleted_us == 0;
}

struct keeping {
    const struct syncer *s;
    size_t n;
};

static void count_kept(void *arg, const struct kube_object *o)
{
    struct keeping *k = arg;

    k->n += may_be_kept(k->s, o->service);
}

static void services_lost(void *arg, struct kube_object *const *objects, size_t n)
{
    const struct watch *w = arg;
    const struct syncer *s = w->syncer;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct kube_object **wanted = ARENA_ARRAY(a, struct kube_object *, n);
    struct keeping known = {.s = s};
    size_t n_lost = 0;

    for (size_t i = 0; i < n; i++) {
        if (may_be_kept(s, objects[i]->service)) {
            wanted[n_lost++] = objects[i];
        }
    }
    kube_store_each(s->services, count_kept, &known);
    if (orphan_guard_lost(s->orphan_guard, wanted, n_lost, known.n)) {
        log_error("no deletion was observed",
                  "A list of Services lacks many at once: their "
                  "load balancers are kept (--orphan-guard)",
                  LOG_I("services", n_lost), LOG_I("known", known.n),
                  LOG_S("see", "trimtab orphans"));
    }
}

/* Something of it cannot be read, for another reason than before; or it can be read again. */
static bool reads_otherwise(const struct watch *w, const struct kube_object *old_obj,
                            const struct kube_object *cur)
{
    const struct sync_scope *scope = &w->syncer->scope;
    const char *before = old_obj == NULL ? NULL : old_obj->unreadable;
    bool concerns = scope_wants(scope, cur->service) || scope_holds(scope, cur->service) ||
                    (old_obj != NULL && scope_wants(scope, old_obj->service));

    return concerns && !(before == NULL && cur->unreadable == NULL) &&
           !str_eq(before, cur->unreadable);
}

static const struct tt_condition *condition_of(const struct kube_object *o)
{
    for (uint32_t i = 0; i < o->service->n_conditions; i++) {
        if (str_eq(o->service->conditions[i].type, REPORT_CONDITION)) {
            return &o->service->conditions[i];
        }
    }
    return NULL;
}

/* Another wrote over the condition of a Service that cannot be read, which no sync writes
 * again by itself. */
static bool loses_condition(const struct watch *w, const struct kube_object *old_obj,
                            const struct kube_object *cur)
{
    if (!w->syncer->conditions || old_obj == NULL || old_obj->unreadable == NULL ||
        cur->unreadable == NULL) {
        return false;
    }
    const struct tt_condition *was = condition_of(old_obj);
    const struct tt_condition *is = condition_of(cur);

    return was != NULL && (is == NULL || !str_eq(was->status, is->status) ||
                           !str_eq(was->reason, is->reason) || !str_eq(was->message, is->message));
}

/* Another program took a finalizer off: it comes back, or the load balancer would stay
 * when the Service goes. */
static bool loses_finalizer(const struct syncer *s, const struct kube_object *old_obj,
                            const struct kube_object *cur)
{
    uint32_t lost = scope_lost_finalizers(&s->scope, old_obj->service, cur->service);

    if (lost == 0 || service_cache_has_let_go(s->cache, cur->key, cur->uid)) {
        return false;
    }
    service_cache_note_lost(s->cache, cur->key, lost);
    return true;
}

/* Another program wrote over the addresses that the status was given.  They come back, or no client
 * finds the load balancer, and what reads the status takes the Service for a new one. */
static bool loses_addresses(const struct syncer *s, const struct kube_object *old_obj,
                            const struct kube_object *cur)
{
    const struct tt_service *is = cur->service;
    return scope_changed_addresses(&s->scope, old_obj->service, is) &&
           service_cache_has_other_addresses(s->cache, cur->key,
                                             addresses_fingerprint(is->ingress, is->n_ingress));
}

/* Nothing but the addresses changed: the first ones, and this process wrote them.  What it
 * programmed is as they say.  Where others were before, something may go now that clients know. */
static bool is_own_status(const struct syncer *s, const struct kube_object *old_obj,
                          const struct kube_object *cur)
{
    const struct tt_service *is = cur->service;
    if (!s->scope.follows_ingress || old_obj == NULL || old_obj->service->n_ingress > 0) {
        return false;
    }
    struct sync_scope rest = s->scope;
    rest.follows_ingress = false;
    return scope_reasons(&rest, old_obj->service, is, true, NULL) == 0 &&
           service_cache_gave_addresses(s->cache, cur->key,
                                        addresses_fingerprint(is->ingress, is->n_ingress));
}

static void service_changed(void *arg, struct kube_object *old_obj, struct kube_object *cur)
{
    struct watch *w = arg;
    const struct syncer *s = w->syncer;
    char batch_key[SYNC_BATCH_KEY_MAX];
    const char *what = NULL;

    if (cur == NULL) {
        service_gone(w, old_obj);
        return;
    }
    orphan_guard_seen(s->orphan_guard, cur->uid);
    if (old_obj != NULL) {
        note_foreign(w, old_obj, cur);
    }
    uint32_t reasons = scope_reasons(&s->scope, old_obj == NULL ? NULL : old_obj->service,
                                     cur->service, atomic_load(&w->started), &what);
    reasons = is_own_status(s, old_obj, cur) ? 0 : reasons;
    reasons |= reads_otherwise(w, old_obj, cur) ? TT_REASON_SPEC : 0;
    bool lost =
        old_obj != NULL && (loses_finalizer(s, old_obj, cur) || loses_addresses(s, old_obj, cur));
    if (reasons == 0 && (lost || loses_condition(w, old_obj, cur))) {
        /* Later, so that two programs that write in turns do so once a minute. */
        syncer_batch_key(s, cur->service, batch_key, sizeof(batch_key));
        queue_add_after(s->queue, cur->key, batch_key, TT_REASON_RESYNC, CONDITION_AGAIN_MS);
    }
    if (reasons == 0) {
        return;
    }
    if (what != NULL) {
        log_info(2, "Service changed", LOG_S("service", cur->key), LOG_S("field", what));
    }
    syncer_batch_key(s, cur->service, batch_key, sizeof(batch_key));
    queue_add(s->queue, cur->key, batch_key, reasons);
}

static void node_changed(void *arg, struct kube_object *old_obj, struct kube_object *cur)
{
    struct watch *w = arg;

    if (!atomic_load(&w->started)) {
        return; /* the first syncs take the nodes as they are then */
    }
    const struct syncer *s = w->syncer;
    if (old_obj == NULL || cur == NULL ||
        node_sets_matters(s->desc, s->provider, old_obj->node, cur->node)) {
        node_fanout_touch(w->fanout);
    }
}

static void slice_touched(struct watch *w, const struct tt_slice *slice)
{
    const struct syncer *s = w->syncer;
    char batch_key[SYNC_BATCH_KEY_MAX];

    if (str_is_empty(slice->service)) {
        return;
    }
    _cleanup_(xfreep) char *key = xasprintf("%s/%s", slice->ns, slice->service);
    _cleanup_(kube_object_unrefp) struct kube_object *obj = kube_store_get(s->services, key);
    /* Also before its first sync: a worker may have read the old endpoints a moment ago. */
    if (obj == NULL || !scope_wants(&s->scope, obj->service)) {
        return;
    }
    int64_t delay_ms = syncer_endpoints_delay_ms(s, obj->service);
    if (delay_ms >= 0) {
        syncer_batch_key(s, obj->service, batch_key, sizeof(batch_key));
        queue_add_after(s->queue, key, batch_key, TT_REASON_ENDPOINTS, delay_ms);
    }
}

static void slice_changed(void *arg, struct kube_object *old_obj, struct kube_object *cur)
{
    struct watch *w = arg;

    if (!atomic_load(&w->started)) {
        return;
    }
    if (cur != NULL) {
        slice_touched(w, cur->slice);
    }
    if (old_obj != NULL && (cur == NULL || !str_eq(old_obj->slice->service, cur->slice->service))) {
        slice_touched(w, old_obj->slice);
    }
}

void watch_attach(struct watch *w)
{
    const struct syncer *s = w->syncer;

    kube_store_add_handler(
        s->services,
        &(struct kube_handler){.changed = service_changed, .lost = services_lost, .arg = w});
    kube_store_add_handler(s->nodes, &(struct kube_handler){.changed = node_changed, .arg = w});
    if (s->slices != NULL) {
        kube_store_add_handler(s->slices,
                               &(struct kube_handler){.changed = slice_changed, .arg = w});
    }
}
