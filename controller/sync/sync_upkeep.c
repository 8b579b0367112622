/* SPDX-License-Identifier: Apache-2.0 */
/* sync_upkeep.c: nodes join and leave a load balancer that stands, whatever is wrong with its
 * Service.
 *
 * An ensure that failed is followed by an update of the backends, because the nodes of an existing
 * load balancer change whether or not its Service can be carried out.  The update follows the
 * Service that was accepted last, if the ensure carried out nothing.  Otherwise, or if this process
 * has seen no accepted Service, it follows the resources in the cloud:  the provider gets the
 * Service with the mark "unproven".  Where the new load balancer serves and only what is used no
 * more could not be deleted, the ensure has brought the nodes of now.  The queue and the owner hear
 * of the ensure's failure alone. */
#include "common/base/log.h"
#include "common/base/str.h"
#include "common/lb/mark_rules.h"
#include "controller/sync/sync_internal.h"

/* The provider's answer to the ensure says that it is not to be called for it. */
static bool hands_off(const struct sync_item *item)
{
    return item->err.code == ERR_OK || item->err.code == ERR_CANCELLED ||
           item->err.code == ERR_IN_PROGRESS || item->err.code == ERR_IMPLEMENTED_ELSEWHERE ||
           item->quarantined;
}

static bool has_accepted(const struct sync_item *item)
{
    const struct kube_object *o = item->known.accepted;
    return o != NULL && str_eq(o->service->uid, item->svc->uid);
}

bool sync_stands(const struct sync_item *item)
{
    return item->svc->n_ingress > 0 || item->known.addresses != 0 || has_accepted(item) ||
           mark_has_addresses(item->svc, item->s->desc->name);
}

bool sync_has_touched(const struct sync_batch *b, const struct sync_item *item)
{
    return hands_off(item) || !sync_reports_plans(b->s) || item->result == NULL ||
           item->result->operations_done > 0;
}

bool sync_has_done(const struct sync_batch *b, const struct sync_item *item)
{
    return sync_reports_plans(b->s) &&
           (item->known.half || (item->result != NULL && item->result->operations_done > 0));
}

/* A refusal before the first write left what was accepted before, as did whatever failed before
 * anything was carried out: an address that cannot be had, a right or a quota that is missing.
 * Otherwise half of the new one may stand, perhaps of another kind, which must not be led back. */
static bool keeps_old(const struct sync_batch *b, const struct sync_item *item)
{
    bool same = (item->err.code == ERR_INVALID && !sync_has_done(b, item)) ||
                item->todo == SYNC_UNREADABLE || (!item->known.half && !sync_has_touched(b, item));
    return has_accepted(item) && same;
}

const struct tt_service *sync_backends_service(const struct sync_item *item)
{
    return item->known.refused && has_accepted(item) ? item->known.accepted->service : item->svc;
}

bool sync_is_unproven(const struct sync_item *item, const struct tt_service *svc)
{
    bool accepted = has_accepted(item) && item->known.accepted->service == svc;
    return !accepted && (item->unproven || item->known.refused || item->known.half);
}

static bool is_due(const struct sync_batch *b, const struct sync_item *item)
{
    if (item->obj == NULL || item->svc->deleted_us != 0 || hands_off(item) ||
        sync_owns(item, TT_OWN_GOES)) {
        return false;
    }
    bool of_kind =
        item->todo == SYNC_ENSURE || (item->todo == SYNC_UNREADABLE && has_accepted(item));
    bool followed = (sync_backends_are_known(b, item) && !item->known.behind) ||
                    (item->serves && sync_is_replaced(item));
    return sync_stands(item) && of_kind && !followed && !item->led_back;
}

static void settle(struct sync_batch *b, struct sync_item *item, struct sync_item *up)
{
    bool did = up->result != NULL && up->result->planned > 0;

    item->requests += up->requests;
    service_cache_set_behind(b->s->cache, item->key, up->err.code != ERR_OK);
    if (up->err.code != ERR_OK) {
        log_warning("Nodes of a Service that is refused could not be brought up to date",
                    LOG_S("service", item->key), LOG_S("code", err_code_name(up->err.code)),
                    LOG_S("message", up->err.message));
        return;
    }
    if (did || !sync_reports_plans(b->s)) {
        log_info(0, "The load balancer has the nodes of now, although its Service is refused",
                 LOG_S("service", item->key), LOG_I("nodes", b->n_eligible));
    }
    if (did) {
        sync_event_normal(up, "UpdatedLoadBalancer", "Updated load balancer with new hosts");
    }
}

void sync_upkeep(struct sync_batch *b)
{
    struct sync_item *ups = NULL; /* made for the first that is due */
    struct sync_item **of = NULL;
    struct sync_batch rest = *b;
    size_t n = 0;

    for (size_t i = 0; i < b->n; i++) {
        if (!is_due(b, &b->items[i])) {
            continue;
        }
        if (ups == NULL) {
            ups = ARENA_ARRAY(b->a, struct sync_item, b->n - i);
            of = ARENA_ARRAY(b->a, struct sync_item *, b->n - i);
        }
        of[n] = &b->items[i];
        ups[n] = b->items[i];
        ups[n].todo = SYNC_UPDATE;
        ups[n].joins = true;
        ups[n].reasons = TT_REASON_NODES | TT_REASON_ENDPOINTS;
        ups[n].err = ERR_INIT;
        ups[n].result = NULL;
        ups[n].requests = 0;
        ups[n].svc = keeps_old(b, of[n]) ? of[n]->known.accepted->service : of[n]->svc;
        ups[n].unproven = true;
        n++;
    }
    if (n == 0) {
        return;
    }
    rest.items = ups;
    rest.n = n;
    sync_call_joined(&rest);
    for (size_t i = 0; i < n; i++) {
        settle(b, of[i], &ups[i]);
    }
}
