/* SPDX-License-Identifier: Apache-2.0 */
/* sync_left.c: Services that went, or lost their type, while no process watched, and that no
 * finalizer held back.
 *
 * The provider knows of them by what it keeps beside them (list_left).  A Service that is gone is
 * put into the cache as the provider describes it, and its key into the queue: from then on it is
 * one that has vanished under our eyes.  Asking for them goes through the queue, too, under a key
 * that is no Service's, so that it backs off and is counted as others. */
#include "common/base/log.h"
#include "common/base/str.h"
#include "controller/queue/queue_rules.h"
#include "controller/sync/sync_internal.h"

#define LEFT_KEY      "*"
#define LEFT_AGAIN_MS 5000 /* while the provider does not know yet */

static void note_gone(const struct syncer *s, const char *key, const struct tt_service *svc)
{
    struct service_known known = service_cache_get(s->cache, key);
    _cleanup_(kube_object_unrefp) struct kube_object *object = kube_object_gone(svc);

    if (!known.cached && object != NULL) {
        log_info(2, "A Service was deleted while no controller ran", LOG_S("service", key));
        service_cache_set(s->cache, key, object, true);
    }
    service_known_done(&known);
}

void syncer_on_left(void *call_arg, const struct tt_service *service)
{
    const struct syncer *s = call_arg;
    char batch_key[SYNC_BATCH_KEY_MAX];
    _cleanup_(xfreep) char *key = xasprintf("%s/%s", service->ns, service->name);
    _cleanup_(kube_object_unrefp) struct kube_object *object = kube_store_get(s->services, key);

    if (object != NULL &&
        (scope_wants(&s->scope, object->service) || scope_is_foreign(&s->scope, object->service))) {
        return; /* it is checked anyway, or is another controller's by now */
    }
    if (object == NULL) {
        note_gone(s, key, service);
    }
    syncer_batch_key(s, object != NULL ? object->service : service, batch_key, sizeof(batch_key));
    queue_add(s->queue, key, batch_key, TT_REASON_CLEANUP);
}

void syncer_ask_left(const struct syncer *s)
{
    if (s->desc->list_left != NULL) {
        queue_add(s->queue, LEFT_KEY, "", TT_REASON_CLEANUP);
    }
}

static void ask(const struct syncer *s)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct err err = ERR_INIT;
    struct host_call *c =
        host_call_begin(s->host, a, 1, sync_call_timeout_ms(s), 0, (void *)(uintptr_t)s);
    host_call_enter(c, "list_left");
    int32_t rc = s->desc->list_left(s->provider, host_call_abi(c));

    int code = host_result_outcome(host_call_result(c, 0), rc, false, &err);
    host_call_end(c);
    if (code == ERR_OK) {
        queue_forget(s->queue, LEFT_KEY);
        return;
    }
    if (code == ERR_IN_PROGRESS) {
        queue_forget(s->queue, LEFT_KEY);
        queue_add_after(s->queue, LEFT_KEY, "", TT_REASON_CLEANUP, LEFT_AGAIN_MS);
        return;
    }
    int64_t delay_ms = queue_fail(s->queue, LEFT_KEY, QUEUE_RETRY_MAX_MS);
    if (code != ERR_CANCELLED) {
        log_warning(
            "Services that were deleted while no controller ran are not known yet, retrying later",
            LOG_S("code", err_code_name(code)), LOG_S("message", err.message),
            LOG_MS("retryIn", delay_ms));
    }
    queue_add_after(s->queue, LEFT_KEY, "", TT_REASON_CLEANUP, delay_ms);
}

bool sync_left(const struct syncer *s, const struct queue_batch *batch)
{
    if (batch->n != 1 || !str_eq(batch->items[0].key, LEFT_KEY)) {
        return false;
    }
    ask(s);
    return true;
}
