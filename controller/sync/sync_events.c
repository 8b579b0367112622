/* SPDX-License-Identifier: Apache-2.0 */
/* sync_events.c: the events of the service controller, in upstream's
 * words (controller.md §1.17). */
#include "common/base/log.h"
#include "common/lb/node_rules.h"
#include "controller/sync/sync_internal.h"

#define COMPONENT "service-controller"

/* A Service that a controller of the provider's own serves: it sends the events, of
 * its failures too. */
static bool is_silent(const struct sync_item *item)
{
    return sync_owns(item, TT_OWN_EVENTS);
}

static bool has_told_failure(const struct sync_item *item)
{
    const struct tt_result *r = item->result;
    return is_silent(item) && r->done && !r->broken && r->code != TT_OK;
}

static void emit(const struct sync_item *item, const char *type, const char *reason,
                 const char *message)
{
    if (item->svc != NULL && item->s->events != NULL) {
        kube_events_emit(item->s->events, item->svc, COMPONENT, type, reason, message);
    }
}

void sync_event_normal(const struct sync_item *item, const char *reason, const char *message)
{
    if (!is_silent(item)) {
        emit(item, "Normal", reason, message);
    }
}

void sync_event_warning(const struct sync_item *item, const char *reason, const char *prefix,
                        const char *text)
{
    if (!has_told_failure(item)) {
        emit(item, "Warning", reason, arena_printf(item->a, "%s: %s", prefix, text));
    }
}

void sync_event_no_nodes(const struct sync_item *item)
{
    if (!is_silent(item)) {
        emit(item, "Warning", "UnAvailableLoadBalancer",
             "There are no available nodes for LoadBalancer");
    }
}

void sync_event_finding(const struct sync_item *item, const char *reason, const char *message)
{
    if (item->svc != NULL && item->s->events != NULL) {
        kube_events_emit(item->s->events, item->svc,
                         str_or(item->s->desc->event_component, COMPONENT), "Warning", reason,
                         message);
    }
}

void sync_event_kept(const struct sync_item *item, const char *message)
{
    emit(item, "Warning", "LoadBalancerKept", message);
}

void sync_event_begin(struct sync_item *item)
{
    if (item->began) {
        return;
    }
    item->began = true;
    if (sync_goes_on(item)) {
        return;
    }
    if (sync_owns(item, TT_OWN_GOES)) {
        sync_event_normal(item, "DeletingLoadBalancer", "Deleting load balancer");
        return;
    }
    switch (item->todo) {
    case SYNC_ENSURE:
        if (sync_owns(item, TT_OWN_STAYS)) {
            break;
        }
        sync_event_normal(item, "EnsuringLoadBalancer", "Ensuring load balancer");
        if (item->n_eligible == 0) {
            sync_event_no_nodes(item);
        }
        break;
    case SYNC_DELETE:
    case SYNC_DELETE_IF_EXISTS:
    case SYNC_DELETE_VANISHED:
        sync_event_normal(item, "DeletingLoadBalancer", "Deleting load balancer");
        break;
    case SYNC_UPDATE:
    case SYNC_LOOK:
    case SYNC_KEEP:
    case SYNC_UNREADABLE:
    case SYNC_FORGET:
    case SYNC_NOTHING:
        break;
    }
}

void sync_event_update_failed(const struct sync_batch *b, const struct sync_item *item)
{
    size_t n = 0;
    const struct tt_node **hosts =
        nodes_eligible(item->a, (const struct tt_node *const *)b->nodes->views, b->nodes->n, &n);

    if (has_told_failure(item)) {
        return;
    }
    emit(item, "Warning", "UpdateLoadBalancerFailed",
         arena_printf(item->a,
                      "Error updating load balancer with new hosts %s [node names limited, total "
                      "number of nodes: %zu], error: %s",
                      nodes_loggable_text(item->a, hosts, n), n, item->err.message));
}
