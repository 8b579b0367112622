/* SPDX-License-Identifier: Apache-2.0 */
/* gce_flow_former.c: takes away what a Service has as another kind of load balancer, or all of it
 * (gce_flow.h).
 *
 * Kinds that share names (forwarding rule a<uid>, backend service, firewalls) cannot stand side by
 * side: in the first stage goes what is in the way of the new one, the forwarding rule above all,
 * and its address is held.  A target pool and an internal balancer with NEGs share none: the former
 * one serves until the new one is complete.  In both cases the rest goes in the last stage, when
 * the new one stands (docs/adr/0060, 0071).  What goes without a successor goes in the first. */
#include "common/base/str.h"
#include "common/lb/mark_rules.h"
#include "common/lb/put_back.h"
#include "providers/gce/backend/gce_l4_address_rules.h"
#include "providers/gce/gce_flow.h"
#include "providers/gce/model/gce_service_rules.h"
#include "providers/gce/ops/gce_ops.h"

#define BIT(kind) (1u << (unsigned)(kind))

static bool has_bs_bits(unsigned bits)
{
    return (bits & ~BIT(GCE_KIND_TARGET_POOL)) != 0;
}

/* A DELETE of a Service that nothing says anything about goes the way of target pools, which knows
 * what to wait for. */
bool gce_flow_deletes_pool(const struct lb_item *item)
{
    const struct gce_item *g = gce_item_of(item);
    return (g->former & BIT(GCE_KIND_TARGET_POOL)) != 0 ||
           (item->in->verb == TT_VERB_DELETE && g->former == 0);
}

/* Does all that it had go after the new load balancer is there? */
static bool stands_together(const struct lb_item *item)
{
    const struct gce_item *g = gce_item_of(item);
    return gce_flow_is_built(item) && gce_kinds_stand_together(g->decision.kind, g->former);
}

static bool takes_part(const struct lb_item *item, bool last)
{
    bool now = last ? gce_flow_is_built(item) : !stands_together(item);
    return lb_item_is_active(item) && now &&
           (gce_item_of(item)->former != 0 || gce_flow_deletes_pool(item));
}

/* The new load balancer comes between the two stages. */
static bool in_halves(const struct lb_item *item)
{
    return gce_flow_is_built(item) && !stands_together(item);
}

static bool some_take_part(const struct lb_sync *s, bool last)
{
    for (size_t i = 0; i < s->n_items; i++) {
        if (takes_part(&s->items[i], last)) {
            return true;
        }
    }
    return false;
}

bool gce_flow_former_needed(const struct lb_sync *s)
{
    return some_take_part(s, false);
}

bool gce_flow_outlived_needed(const struct lb_sync *s)
{
    return some_take_part(s, true);
}

/* Here, not by another program: that one may never have used the groups, and would not delete them.
 * What it does use the cloud keeps (LB_TOLERATE_IN_USE). */
static bool has_groups(const struct tt_service *other, const struct gce_decision *d,
                       const void *arg)
{
    (void)other;
    (void)arg;
    return gce_kind_has_groups(d->kind);
}

bool gce_flow_takes_groups(struct lb_sync *s, const struct lb_item *item)
{
    const struct gce_item *g = gce_item_of(item);
    return !(gce_flow_is_built(item) && gce_kind_has_groups(g->decision.kind)) &&
           gce_kind_has_groups(gce_item_was(g)->in.kind) && !gce_cloud_of(s)->offline &&
           !str_is_empty(g->was->facts.cluster_id) &&
           !gce_others_any(s, item->in->service, has_groups, NULL);
}

static void plan_groups_away(struct lb_sync *s, struct lb_plan *plan, const struct lb_item *item)
{
    if (gce_flow_takes_groups(s, item)) {
        const char *cluster = gce_item_of(item)->was->facts.cluster_id;
        size_t from = plan->n_ops;
        gce_groups_plan_delete(gce_provider_of(s)->groups, s, plan, item->key,
                               gce_l4_group_name(s->a, cluster));
        gce_bs_order_groups(plan, from);
    }
}

/* A deletion may have been looked at already, to find out what it is (gce_flow_decide.c). */
static int observe_was(struct lb_sync *s, struct lb_item *item, struct err *err)
{
    struct gce_item *g = gce_item_of(item);
    if (g->was_ahead) {
        g->was_ahead = false;
        s->observed_fresh = true;
        return ERR_OK;
    }
    return gce_bs_flow_observe(s, item, g->was, err);
}

static void observe_all(struct lb_sync *s, bool last)
{
    for (size_t i = 0; i < s->n_items; i++) {
        struct lb_item *item = &s->items[i];
        struct gce_item *g = gce_item_of(item);
        if (!takes_part(item, last)) {
            continue;
        }
        g->looked_before = last && in_halves(item);
        if (gce_flow_deletes_pool(item)) {
            gce_tp_flow_observe(s, item);
        }
        if (item->err.code == ERR_OK && has_bs_bits(g->former)) {
            g->was->lists_groups = gce_flow_takes_groups(s, item);
            item->err.code = observe_was(s, item, &item->err);
        }
        if (item->err.code == ERR_OK && !last && in_halves(item) && has_bs_bits(g->former)) {
            gce_bs_named_reserved(s, g->was);
        }
        if (item->err.code == ERR_OK && gce_flow_takes_groups(s, item)) {
            item->err.code = gce_groups_list(s, &item->err);
        }
    }
}

static void release_own(struct lb_item *item)
{
    struct gce_item *g = gce_item_of(item);
    if (gce_item_is_bs(item)) {
        gce_bs_flow_release(&g->bs);
    } else {
        gce_tp_flow_release(&g->tp);
    }
}

int gce_flow_former_observe(struct lb_sync *s, struct err *err)
{
    (void)err;
    observe_all(s, false);
    return ERR_OK;
}

/* Its own shared check is there, and in use: no Service waits for it any more. */
int gce_flow_outlived_observe(struct lb_sync *s, struct err *err)
{
    (void)err;
    for (size_t i = 0; i < s->n_items; i++) {
        if (takes_part(&s->items[i], true)) {
            release_own(&s->items[i]);
        }
    }
    observe_all(s, true);
    return ERR_OK;
}

static void because_of_former(struct lb_plan *plan, const struct lb_item *item, bool last)
{
    const struct gce_item *g = gce_item_of(item);
    if (item->in->verb != TT_VERB_DELETE && g->former != 0) {
        lb_plan_because(plan, item->key,
                        last ? "%s → what it had as another kind goes when that is there"
                        : in_halves(item) ? "%s → what it had as another kind gives way"
                                          : "%s → what it had as another kind goes first",
                        g->decision.says);
    }
}

static bool takes_rule(const struct gce_item *g)
{
    for (size_t i = 0; i < g->n_gone; i++) {
        if (g->gone[i].c == GCE_RULES) {
            return true;
        }
    }
    return false;
}

/* The rule of the former kind, as it was observed; NULL: it was not. */
static const struct gce_rule *former_rule(const struct gce_item *g, const char *name)
{
    const struct gce_tp_observed *o = &g->tp.o;
    bool pools = o->has_rule == GCE_PRESENT && str_eq(o->rule.name, name);
    return pools ? &o->rule : gce_slots_rule(&gce_item_was(g)->slots, name);
}

/* The body of what goes, as it stands, of the kinds of resources that a load balancer cannot do
 * without; NULL: it is no such kind, or was not observed.  Firewalls are not among them: a missing
 * right to make one is tolerated (gce_flow_by_hand.c). */
static struct json_object *body_of(const struct gce_item *g, const struct lb_op *op,
                                   enum gce_collection *ret_c)
{
    const struct gce_tp_observed *o = &g->tp.o;
    if (str_eq(op->kind, gce_collection_word(GCE_RULES))) {
        const struct gce_rule *r = former_rule(g, op->name);
        *ret_c = GCE_RULES;
        return r == NULL ? NULL : gce_rule_body(r);
    }
    if (str_eq(op->kind, gce_collection_word(GCE_POOLS))) {
        *ret_c = GCE_POOLS;
        return o->has_pool == GCE_PRESENT ? gce_pool_body(&o->pool) : NULL;
    }
    if (str_eq(op->kind, gce_collection_word(GCE_BACKENDS))) {
        const struct gce_bservice *b = gce_slots_bservice(&gce_item_was(g)->slots, op->name);
        *ret_c = GCE_BACKENDS;
        return b == NULL ? NULL : gce_bservice_body(b, NULL);
    }
    return NULL;
}

static bool goes_for(const struct lb_op *op, const struct lb_item *item)
{
    return op->verb == LB_DELETE && str_set_has(&op->owners, item->key);
}

/* The new balancer needs the same rights; if it is refused for something else, the former one comes
 * back, and needs them, too (docs/adr/0049, 0060). */
static void ask_first(struct lb_sync *s, struct lb_plan *plan, const struct lb_item *item)
{
    for (size_t i = 0; i < plan->n_ops; i++) {
        struct lb_op *op = &plan->ops[i];
        enum gce_collection c = GCE_RULES;
        struct json_object *body = goes_for(op, item) ? body_of(gce_item_of(item), op, &c) : NULL;
        op->ask = body != NULL ? gce_flow_ask(s, c, op->name, body) : op->ask;
    }
}

/* Does the published address lead to what goes? */
static bool is_published(const struct lb_plan *plan, const struct lb_item *item)
{
    const struct gce_item *g = gce_item_of(item);
    const struct tt_service *svc = item->in->service;
    for (size_t i = 0; i < g->n_gone; i++) {
        const struct gce_rule *r =
            g->gone[i].c == GCE_RULES ? former_rule(g, g->gone[i].name) : NULL;
        for (uint32_t k = 0; r != NULL && k < svc->n_ingress; k++) {
            if (str_eq(gce_l4_ip_without_prefix(plan->a, r->ip), svc->ingress[k].ip)) {
                return true;
            }
        }
    }
    return false;
}

/* The former balancer goes for what comes: its rule before all else, so that nothing is taken from
 * one that may not go; and the controller puts all of it back.  Not so a balancer that was half
 * made for a wish that is refused, and goes for the one that was there before. */
static void give_way(struct lb_plan *plan, const struct lb_item *item)
{
    bool half_made = lb_leads_back(item->in) && !is_published(plan, item);
    for (size_t i = 0; i < plan->n_ops; i++) {
        struct lb_op *op = &plan->ops[i];
        bool rule = str_eq(op->kind, gce_collection_word(GCE_RULES));
        if (!goes_for(op, item)) {
            continue;
        }
        op->undo = half_made ? NULL : &lb_controller_puts_back;
        for (size_t k = 0; !rule && k < i; k++) {
            if (goes_for(&plan->ops[k], item) &&
                str_eq(plan->ops[k].kind, gce_collection_word(GCE_RULES))) {
                lb_plan_after(plan, (int)i, (int)k);
            }
        }
    }
}

/* But for those that share no name, the new balancer cannot stand beside the old one. */
static void tell_flip(struct lb_sync *s, struct lb_plan *plan, struct lb_item *item, bool last)
{
    const struct gce_item *g = gce_item_of(item);
    if (last && in_halves(item)) {
        return; /* told with the first half */
    }
    gce_flow_note_gone(s, plan, item);
    if (last) {
        lb_plan_effect(plan, item->key,
                       "The Service gets another address: the kind of load balancer changes (%s). "
                       "The former one serves until then.",
                       gce_kind_text(g->decision.kind));
    } else if (gce_flow_is_built(item)) {
        ask_first(s, plan, item);
        give_way(plan, item);
    }
    if (!last && gce_flow_is_built(item) && takes_rule(g)) {
        lb_plan_effect(plan, item->key,
                       "Traffic stops until the new load balancer (%s) is complete, and comes to "
                       "another address then: the kind of load balancer changes.",
                       gce_kind_text(g->decision.kind));
    } else if (!gce_flow_is_built(item) && takes_rule(g) && item->in->verb != TT_VERB_DELETE) {
        lb_plan_effect(plan, item->key,
                       "Traffic stops: the Service asks for no load balancer of "
                       "trimtab's any more.");
    }
}

/* The new load balancer cannot be made beside this. */
static void plan_way(struct lb_sync *s, struct lb_plan *plan, struct lb_item *item)
{
    struct gce_item *g = gce_item_of(item);
    if (gce_flow_deletes_pool(item)) {
        g->tp.in.held =
            gce_tp_plan_way(plan, &gce_provider_of(s)->tp_facts, &g->tp.in, &g->tp.names, &g->tp.o);
    }
    if (has_bs_bits(g->former)) {
        struct gce_bs_item *w = g->was;
        bool held[2] = {g->tp.in.held, false};
        gce_bs_plan_way(plan, &w->facts, &w->in, &w->slots, held);
        w->in.held[0] = held[0] && !g->tp.in.held;
        w->in.held[1] = held[1];
    }
}

static void plan_rest(struct lb_sync *s, struct lb_plan *plan, struct lb_item *item)
{
    struct gce_item *g = gce_item_of(item);
    if (gce_flow_deletes_pool(item)) {
        gce_tp_flow_plan(s, plan, item);
    }
    if (item->err.code == ERR_OK && has_bs_bits(g->former)) {
        struct gce_bs_item *w = g->was;
        item->err.code =
            gce_bs_plan_delete(plan, &w->facts, &w->in, &w->slots, &w->negs, &item->err);
        if (item->err.code == ERR_OK) {
            plan_groups_away(s, plan, item);
        }
    }
}

static void plan_all(struct lb_sync *s, struct lb_plan *plan, bool last)
{
    for (size_t i = 0; i < s->n_items; i++) {
        struct lb_item *item = &s->items[i];
        if (!takes_part(item, last)) {
            continue;
        }
        because_of_former(plan, item, last);
        (!last && in_halves(item) ? plan_way : plan_rest)(s, plan, item);
        if (item->err.code == ERR_OK) {
            tell_flip(s, plan, item, last);
        }
    }
}

int gce_flow_former_plan(struct lb_sync *s, struct lb_plan *plan, struct err *err)
{
    (void)err;
    plan_all(s, plan, false);
    return ERR_OK;
}

int gce_flow_outlived_plan(struct lb_sync *s, struct lb_plan *plan, struct err *err)
{
    (void)err;
    plan_all(s, plan, true);
    return ERR_OK;
}

/* ---- room ------------------------------------------------------------------------------------ */

/* The cloud has refused something of the new load balancer for a limit: the rest of the former one
 * goes before it, but for what others may use.  No lock is taken for that: the new one has its own.
 */
void gce_flow_room_observe(struct lb_sync *s, struct lb_item *item)
{
    struct gce_item *g = gce_item_of(item);
    if (g->former == 0 || !in_halves(item) || item->full == NULL || s->planning) {
        return;
    }
    g->looked_before = true;
    if (gce_flow_deletes_pool(item)) {
        g->tp.in.for_room = true;
        gce_tp_flow_observe(s, item);
    }
    if (item->err.code == ERR_OK && has_bs_bits(g->former)) {
        g->was->in.for_room = true;
        item->err.code = gce_bs_flow_observe(s, item, g->was, &item->err);
    }
}

size_t gce_flow_room_plan(struct lb_sync *s, struct lb_plan *plan, struct lb_item *item)
{
    static const enum gce_collection kinds[] = {GCE_FIREWALLS,  GCE_CHECKS,   GCE_HCS,
                                                GCE_REGION_HCS, GCE_BACKENDS, GCE_POOLS};
    struct gce_item *g = gce_item_of(item);
    bool room = false;
    for (size_t i = 0; g->former != 0 && in_halves(item) && i < ARRAY_LEN(kinds); i++) {
        room = lb_plan_makes_room(plan, item->key, gce_collection_word(kinds[i])) || room;
    }
    size_t from = plan->n_ops;
    bool bs = g->was != NULL && g->was->in.for_room;
    if (room && g->tp.in.for_room) {
        gce_tp_flow_plan(s, plan, item);
    }
    if (room && bs && item->err.code == ERR_OK) {
        struct gce_bs_item *w = g->was;
        item->err.code =
            gce_bs_plan_delete(plan, &w->facts, &w->in, &w->slots, &w->negs, &item->err);
    }
    g->tp.in.for_room = false;
    if (bs) {
        g->was->in.for_room = false;
    }
    return plan->n_ops - from;
}

void gce_flow_room_first(struct lb_plan *plan, size_t from, size_t n_room)
{
    for (size_t i = from + n_room; n_room > 0 && i < plan->n_ops; i++) {
        for (size_t k = from; plan->ops[i].verb != LB_KEEP && k < from + n_room; k++) {
            lb_plan_after(plan, (int)i, (int)k);
        }
    }
}

/* Two Services that change into each other's kind must not wait for each other's shared check. */
void gce_flow_release_formers(struct lb_item *item)
{
    struct gce_item *g = gce_item_of(item);
    if (g->was != NULL) {
        gce_bs_flow_release(g->was);
    }
    if ((g->former & BIT(GCE_KIND_TARGET_POOL)) != 0) {
        gce_tp_flow_release(&g->tp);
    }
}
