/* SPDX-License-Identifier: Apache-2.0 */
/* sync_unreadable.c: a Service of which something cannot be read (controller/kube/store/object.h).
 *
 * "Cannot be read" is not "is not there": its load balancer stays as it is, it counts as another
 * user of shared resources, and an event says what is wrong.  Its deletion is carried out by name
 * and uid, like any other (sync_rules.c). */
#include <string.h>

#include "common/base/hash.h"
#include "common/base/log.h"
#include "common/base/str.h"
#include "controller/sync/sync_internal.h"

void sync_unreadable_before(struct sync_item *item)
{
    const struct syncer *s = item->s;
    const struct kube_object *state = item->known.state;

    /* So that it is cleaned up when it goes at once.  What was synced stays what the next sync
     * compares with. */
    if (state == NULL || !str_eq(state->uid, item->obj->uid)) {
        service_cache_set(s->cache, item->key, item->obj, scope_wants(&s->scope, item->svc));
    }
    (void)err_set(
        &item->err, ERR_INVALID,
        "part of the Service cannot be read: %s; its load balancer is left as it is until "
        "that is mended or the Service is deleted",
        item->obj->unreadable);
}

/* Another wrote over the condition.  A status that cannot be read does not tell. */
static bool lacks_condition(const struct sync_item *item)
{
    return item->s->conditions && !str_has_prefix(item->obj->unreadable, "status") &&
           sync_report_is_news(item);
}

void sync_unreadable_settle(const struct sync_batch *b, struct sync_item *item)
{
    const struct syncer *s = item->s;
    const char *why = item->err.message;
    const struct sync_outcome o = sync_outcome(item->err.code, 0);

    queue_forget(s->queue, item->key); /* only a change helps, and a change queues it */
    sync_board_end(b, item, &o, -1);
    bool news =
        service_cache_set_unreadable(s->cache, item->key, hash_bytes(1, why, strlen(why)) | 1);
    if (news) {
        log_error(why, "Error syncing service", LOG_S("service", item->key),
                  LOG_S("code", err_code_name(item->err.code)));
        sync_event_warning(item, "SyncLoadBalancerFailed", "Error syncing load balancer", why);
    }
    if (news ? s->conditions : lacks_condition(item)) {
        sync_write_failed(item, true, 0);
    }
}

bool sync_slices_are_known(struct sync_item *item)
{
    for (size_t i = 0; item->slices != NULL && i < item->slices->n; i++) {
        const struct kube_object *o = item->slices->objects[i];
        if (o->unreadable != NULL && o->base == NULL) {
            (void)err_set(
                &item->err, ERR_INVALID,
                "part of EndpointSlice %s cannot be read: %s; the load balancer is left as it "
                "is until that is mended",
                o->key, o->unreadable);
            return false;
        }
    }
    return true;
}
