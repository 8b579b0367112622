/* SPDX-License-Identifier: Apache-2.0 */
/* azure_stage_balancers.c: the stages that write load balancers.
 *
 *     clean      a Standard cluster's Basic balancers go (5.8)
 *     leave      Services that trade places leave first: a ring of moves has no order
 *     balancers  all Services of the batch, one document and one write per balancer
 *     tidy       the balancer of the other kind, when a Service changed sides: after the new one is
 *                up
 *
 * Deletions first, then the others in the order of their creation.  A Service that cannot be put
 * into its document fails alone; the documents stay as they were for the next.  Source:
 * docs/spec/azure.md 4.2, 5.3, 5.8, 6, 12.6 (4). */
#include "providers/azure/azure_describe.h"
#include "providers/azure/azure_effects.h"
#include "providers/azure/azure_first.h"
#include "providers/azure/azure_join.h"
#include "providers/azure/azure_lb_edits.h"
#include "providers/azure/azure_sides.h"
#include "providers/azure/azure_stages.h"
#include "providers/azure/azure_targets.h"
#include "providers/azure/members/azure_members.h"
#include "providers/azure/model/azure_doc.h"
#include "providers/azure/model/azure_tags_rules.h"
#include "providers/azure/sync/azure_observe.h"

#include "common/base/str.h"

/* ---- clean ----------------------------------------------------------------------------------- */

int azure_plan_clean(struct lb_sync *s, struct lb_plan *plan, struct err *err)
{
    struct azure_sync *y = azure_sync_of(s);
    struct azure_owners owners = {0};
    int rc = ERR_OK;
    azure_effects_begin(y, plan);
    for (size_t i = 0; i < s->n_items; i++) {
        if (azure_item_takes_part(&y->items[i])) {
            azure_owners_add(s->a, &owners, s->items[i].key);
        }
    }
    for (size_t i = 0; owners.n > 0 && rc == ERR_OK && i < y->old.n; i++) {
        rc = azure_lb_emit_delete(y, plan, y->old.items[i], &owners,
                                  "it is a Basic one, and the cluster uses the Standard SKU", err);
    }
    return rc;
}

/* ---- leave, balancers ------------------------------------------------------------------------ */

/* Parts of a balancer beside those of Services. */
static bool needs_more(struct azure_sync *y, struct json_object *was)
{
    struct json_object *tags = azure_own(y->s->a, json_object_new_object());
    if (json_member(was, "tags") != NULL) {
        json_add(tags, "tags", json_copy(json_member(was, "tags")));
    }
    return azure_lb_is_failed(was) || azure_tags_apply_config(y->s->a, tags, &y->p->config);
}

/* Those who use a balancer as it is: it is kept for them, or written for its own sake. */
static void look_after(struct azure_lb_edits *b, struct azure_lb_edit *e)
{
    struct azure_sync *y = b->y;
    bool more = e->was != NULL && e->doc != NULL && needs_more(y, e->was);
    for (size_t i = 0; i < y->s->n_items; i++) {
        const struct azure_item *it = &y->items[i];
        bool uses = azure_item_takes_part(it) && it->want && it->target != NULL &&
                    azure_eq(it->target, e->name);
        if (uses && more) {
            azure_owners_add(y->s->a, &e->owners, it->item->key);
            e->changed = true;
        } else if (uses && e->was != NULL && !azure_owners_have(&e->owners, it->item->key)) {
            azure_emit_keep(y, b->plan, AZURE_LBS, azure_doc_id(e->was), it->item->key);
        }
    }
}

/* With one balancer of each kind there is nowhere to trade places. */
static bool has_one_pair(const struct azure_config *c)
{
    return c->standard_sku && !azure_config_is_multi_slb(c);
}

int azure_plan_leave(struct lb_sync *s, struct lb_plan *plan, struct err *err)
{
    struct azure_lb_edits b;
    if (has_one_pair(&azure_sync_of(s)->p->config)) {
        return ERR_OK;
    }
    azure_lb_edits_begin(&b, azure_sync_of(s), plan);
    azure_join_all(&b);
    return azure_lb_edits_break(&b) ? azure_lb_edits_emit(&b, err) : ERR_OK;
}

/* A balancer that a Service has left by a write that then failed, or whose pool its move has
 * changed: no other Service may come to it.  Of both kinds: nodes are spread over all balancers. */
static void mend_left(struct azure_lb_edits *b)
{
    struct azure_sync *y = b->y;
    for (size_t i = 0; !has_one_pair(&y->p->config) && i < y->s->n_items; i++) {
        struct azure_item *it = &y->items[i];
        if (azure_item_is_carried_out(it) && it->want && it->target != NULL) {
            azure_lb_edits_mend(b, it, it->service->internal);
            azure_lb_edits_mend(b, it, !it->service->internal);
        }
    }
}

int azure_plan_balancers(struct lb_sync *s, struct lb_plan *plan, struct err *err)
{
    struct azure_lb_edits b;
    azure_lb_edits_begin(&b, azure_sync_of(s), plan);
    azure_describe(b.y, plan);
    azure_join_all(&b);
    mend_left(&b);
    for (size_t i = 0; i < b.n; i++) {
        look_after(&b, &b.items[i]);
    }
    return azure_lb_edits_emit(&b, err);
}

/* ---- tidy ------------------------------------------------------------------------------------ */

/* The Service as it would be on the other side.  One that stays keeps the addresses that it has
 * now: so what it names for the other side makes no other frontend its own (4.2 step 5). */
static const struct azure_service *other_side(struct azure_sync *y, const struct azure_item *it)
{
    struct arena *a = y->s->a;
    if (!it->want) {
        return it->flip;
    }
    struct azure_texts ips = azure_addresses_of(y, it->service);
    return azure_service_flip(a, &y->p->naming,
                              azure_service_pin(a, &y->p->naming, it->service, ips.items, ips.n));
}

/* Its status may tell the new address already: so a balancer that a write of this stage leaves in
 * the state Failed is found by what else says that the Service moves. */
int azure_plan_tidy(struct lb_sync *s, struct lb_plan *plan, struct err *err)
{
    struct azure_sync *y = azure_sync_of(s);
    struct azure_lb_edits b;
    size_t n;
    azure_lb_edits_begin(&b, y, plan);
    struct azure_item **items = azure_items_in_order(y, &n);
    for (size_t i = 0; i < n; i++) {
        if (azure_item_is_unproven(items[i])) {
            continue;
        }
        azure_lb_edits_leave(&b, items[i], other_side(y, items[i]), NULL);
        if (items[i]->want && azure_sides_moves(y, items[i])) {
            azure_lb_edits_mend(&b, items[i], !items[i]->service->internal);
        }
    }
    return azure_lb_edits_emit(&b, err);
}

/* ---- what must be known ---------------------------------------------------------------------- */

/* Will this Service's frontend leave the balancer? */
static bool is_leaving(struct azure_sync *y, const struct azure_item *it, struct json_object *lb,
                       struct json_object *frontend)
{
    const char *name = azure_doc_name(lb);
    if (!azure_item_is_carried_out(it) ||
        (it->want && it->target != NULL && azure_eq(it->target, name))) {
        return false;
    }
    const struct azure_service *s =
        azure_lb_is_internal(name) == it->service->internal ? it->service : it->flip;
    return azure_sync_owner(y, s, frontend).owns;
}

/* No frontend will be left: the balancer will go, so its members must be known. */
static bool is_left_by_all(struct azure_sync *y, struct json_object *lb)
{
    struct json_object *o;
    AZURE_EACH (o, azure_array(lb, "frontendIPConfigurations")) {
        bool goes = false;
        for (size_t i = 0; i < y->s->n_items && !goes; i++) {
            goes = is_leaving(y, &y->items[i], lb, o);
        }
        if (!goes) {
            return false;
        }
    }
    return true;
}

static int observe_going(struct azure_sync *y, struct err *err)
{
    struct json_object **going = ARENA_ARRAY(y->s->a, struct json_object *, y->lbs.n + 1);
    size_t n = 0;
    bool fresh = y->s->observed_fresh;
    for (size_t i = 0; i < y->lbs.n; i++) {
        if (is_left_by_all(y, y->lbs.items[i])) {
            going[n++] = y->lbs.items[i];
        }
    }
    int rc = n > 0 ? azure_observe_decouple(y, going, n, err) : ERR_OK;
    y->s->observed_fresh = y->s->observed_fresh && fresh;
    return rc;
}

/* A balancer that is to be made, but may only be missing in the list, is asked for by its name. */
static bool need_targets(struct azure_sync *y)
{
    bool some = false;
    for (size_t i = 0; !y->p->offline && i < y->s->n_items; i++) {
        const struct azure_item *it = &y->items[i];
        if (azure_item_is_carried_out(it) && it->want && it->target != NULL &&
            azure_sync_lb(y, it->target) == NULL) {
            azure_need_one(y, AZURE_LBS,
                           azure_arm_id(y->s->a, &y->p->arm, AZURE_LBS,
                                        y->p->config.lb_resource_group, it->target));
            some = true;
        }
    }
    return some;
}

int azure_observe_balancers(struct lb_sync *s, struct err *err)
{
    struct azure_sync *y = azure_sync_of(s);
    azure_need_nothing(y);
    azure_need_balancers(y);
    azure_need_vm_sets(y);
    int rc = azure_see(y, err);
    if (rc == ERR_OK) {
        azure_targets_select(y);
        rc = need_targets(y) ? azure_see(y, err) : ERR_OK;
    }
    if (rc == ERR_OK) {
        azure_first_note(y);
    }
    return rc == ERR_OK ? observe_going(y, err) : rc;
}

int azure_observe_leave(struct lb_sync *s, struct err *err)
{
    struct azure_sync *y = azure_sync_of(s);
    if (has_one_pair(&y->p->config)) {
        azure_need_nothing(y);
        y->s->observed_fresh = true;
        return ERR_OK;
    }
    return azure_observe_balancers(s, err);
}

int azure_observe_tidy(struct lb_sync *s, struct err *err)
{
    struct azure_sync *y = azure_sync_of(s);
    int rc = azure_observe_lists(y, err);
    return rc == ERR_OK ? observe_going(y, err) : rc;
}
