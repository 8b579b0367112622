/* SPDX-License-Identifier: Apache-2.0 */
/* gce_flow_way.c: what a Service has as another kind of load balancer, and is in the way of the new
 * one (gce_flow.h).
 *
 * Kinds that share names (forwarding rule a<uid>, backend service, firewalls) cannot stand side by
 * side.  What is in the way, the forwarding rule above all, goes in the plan of the new load
 * balancer, when everything that can stand beside it is there; its address is held.  So the former
 * one serves until then, and traffic stops for one deletion and one creation, or two of each where
 * the backend service has the same name, too.  The rest goes in the last stage (gce_flow_former.c).
 * A target pool and an internal balancer with NEGs share no name: nothing is in the way.
 *
 * The former one is looked at in the same stage, right before the new one.  What goes is then taken
 * for absent when the new one is planned.  Source: docs/adr/0060, 0071, 0080. */
#include "common/base/str.h"
#include "common/lb/mark_rules.h"
#include "common/lb/put_back.h"
#include "providers/gce/backend/gce_l4_address_rules.h"
#include "providers/gce/gce_flow.h"
#include "providers/gce/ops/gce_ops.h"

static bool has_bs_kinds(const struct gce_item *g)
{
    return (g->former & ~(1u << GCE_KIND_TARGET_POOL)) != 0;
}

bool gce_flow_gives_way(const struct lb_item *item)
{
    const struct gce_item *g = gce_item_of(item);
    return gce_flow_is_built(item) && g->former != 0 &&
           !gce_kinds_stand_together(g->decision.kind, g->former);
}

/* ---- what goes ------------------------------------------------------------------------------- */

/* The new load balancer cannot be made beside this. */
static void plan_way(struct lb_sync *s, struct lb_plan *plan, struct lb_item *item, bool held[2])
{
    const struct gce_item *g = gce_item_of(item);
    if (gce_flow_deletes_pool(item)) {
        held[0] =
            gce_tp_plan_way(plan, &gce_provider_of(s)->tp_facts, &g->tp.in, &g->tp.names, &g->tp.o);
    }
    if (has_bs_kinds(g)) {
        gce_bs_plan_way(plan, &g->was->facts, &g->was->in, &g->was->slots, held);
    }
}

/* Takes no lock of the shared check, which stays: the new one may hold it already, from a turn
 * before this one. */
static void look_at_former(struct lb_sync *s, struct lb_item *item, bool room)
{
    struct gce_item *g = gce_item_of(item);
    if (gce_flow_deletes_pool(item)) {
        g->tp.in.for_room = true;
        gce_tp_flow_observe(s, item);
        g->tp.in.for_room = room;
    }
    if (item->err.code == ERR_OK && has_bs_kinds(g)) {
        g->was->in.for_room = true;
        item->err.code = gce_bs_flow_observe(s, item, g->was, &item->err);
        g->was->in.for_room = room;
    }
}

/* ---- planning -------------------------------------------------------------------------------- */

/* The rule of the former kind, as it was observed; NULL: it was not. */
static const struct gce_rule *former_rule(const struct gce_item *g, const char *name)
{
    const struct gce_tp_observed *o = &g->tp.o;
    bool pools = o->has_rule == GCE_PRESENT && str_eq(o->rule.name, name);
    return pools ? &o->rule : gce_slots_rule(&gce_item_was(g)->slots, name);
}

/* The body of what goes, as it stands; NULL: a load balancer can do without, or it was not
 * observed. */
static struct json_object *body_of(const struct gce_item *g, const struct gce_op *arg)
{
    if (arg->c == GCE_RULES) {
        const struct gce_rule *r = former_rule(g, arg->name);
        return r == NULL ? NULL : gce_rule_body(r);
    }
    if (arg->c == GCE_BACKENDS) {
        const struct gce_bservice *b = gce_slots_bservice(&gce_item_was(g)->slots, arg->name);
        return b == NULL ? NULL : gce_bservice_body(b, NULL);
    }
    return NULL;
}

/* Does the published address lead to what goes? */
static bool is_published(struct arena *a, const struct lb_item *item)
{
    const struct gce_item *g = gce_item_of(item);
    const struct tt_service *svc = item->in->service;
    for (size_t i = 0; i < g->n_gone; i++) {
        const struct gce_rule *r =
            g->gone[i].c == GCE_RULES ? former_rule(g, g->gone[i].name) : NULL;
        for (uint32_t k = 0; r != NULL && k < svc->n_ingress; k++) {
            if (str_eq(gce_l4_ip_without_prefix(a, r->ip), svc->ingress[k].ip)) {
                return true;
            }
        }
    }
    return false;
}

/* The new balancer needs the same rights; if it is refused for something else, the former one comes
 * back, and needs them, too (docs/adr/0049, 0060): the cloud is asked first, and the controller
 * puts it back.  Not so a balancer that was half made for a wish that is refused, and goes for the
 * one that was there before. */
static void complete(struct lb_sync *s, struct lb_plan *way, const struct lb_item *item)
{
    bool half_made = lb_leads_back(item->in) && !is_published(way->a, item);
    for (size_t i = 0; i < way->n_ops; i++) {
        struct lb_op *op = &way->ops[i];
        const struct gce_op *arg = op->arg;
        if (op->verb != LB_DELETE || arg->c == GCE_ADDRESSES) {
            continue;
        }
        struct json_object *body = body_of(gce_item_of(item), arg);
        op->ask = body != NULL ? gce_flow_ask(s, arg->c, arg->name, body) : NULL;
        op->undo = half_made ? NULL : &lb_controller_puts_back;
    }
}

static struct lb_plan *way_of(struct lb_sync *s, struct lb_item *item)
{
    struct gce_item *g = gce_item_of(item);
    struct lb_plan *way = ARENA_NEW(s->a, struct lb_plan);
    bool held[2] = {false, false};
    if (has_bs_kinds(g)) {
        gce_bs_named_reserved(s, g->was);
    }
    lb_plan_init(way, s->a);
    lb_plan_service(way, item->key)->full =
        item->full == NULL ? NULL : arena_memdup(s->a, item->full, sizeof *item->full);
    plan_way(s, way, item, held);
    if (gce_flow_deletes_pool(item)) {
        g->tp.in.held = g->tp.in.held || held[0];
    } else {
        g->was->in.held[0] = g->was->in.held[0] || held[0];
        g->was->in.held[1] = g->was->in.held[1] || held[1];
    }
    gce_flow_note_gone(s, way, item);
    complete(s, way, item);
    return way;
}

bool gce_flow_way_observe(struct lb_sync *s, struct lb_item *item)
{
    struct gce_item *g = gce_item_of(item);
    g->gives_way = false;
    g->way = NULL;
    if (!gce_flow_gives_way(item)) {
        return true;
    }
    s->observed_fresh = false;
    look_at_former(s, item, false);
    if (item->err.code == ERR_OK) {
        g->way = way_of(s, item);
        g->gives_way = true;
    }
    return s->observed_fresh || item->err.code != ERR_OK;
}

/* ---- room ------------------------------------------------------------------------------------ */

/* The cloud has refused something of the new load balancer for a limit: the rest of the former one
 * goes before it, but for what others may use, and what is in the way before that. */
void gce_flow_room_observe(struct lb_sync *s, struct lb_item *item)
{
    struct gce_item *g = gce_item_of(item);
    if (!gce_flow_gives_way(item) || item->full == NULL || s->planning) {
        return;
    }
    g->looked_before = true;
    look_at_former(s, item, true);
}

static bool asks_for_room(struct lb_plan *plan, const char *key)
{
    static const enum gce_collection kinds[] = {GCE_FIREWALLS,  GCE_CHECKS,   GCE_HCS,
                                                GCE_REGION_HCS, GCE_BACKENDS, GCE_POOLS};
    bool room = false;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        room = lb_plan_makes_room(plan, key, gce_collection_word(kinds[i])) || room;
    }
    return room;
}

/* Each operation waits for all before it, as those without `after` do. */
static void go_first(struct lb_plan *plan, const char *key, const struct lb_plan *way)
{
    for (size_t i = 0; i < way->n_ops; i++) {
        struct lb_op op = way->ops[i];
        op.after = (struct lb_after){0};
        op.parallel = false;
        (void)lb_plan_add(plan, key, &op);
    }
}

static void plan_room(struct lb_sync *s, struct lb_plan *plan, struct lb_item *item)
{
    struct gce_item *g = gce_item_of(item);
    if (g->tp.in.for_room) {
        gce_tp_flow_plan(s, plan, item);
    }
    if (g->was != NULL && g->was->in.for_room && item->err.code == ERR_OK) {
        struct gce_bs_item *w = g->was;
        item->err.code =
            gce_bs_plan_delete(plan, &w->facts, &w->in, &w->slots, &w->negs, &item->err);
    }
}

static void put_after(struct lb_plan *plan, size_t from, size_t first, size_t end)
{
    for (size_t i = first; i < plan->n_ops; i++) {
        for (size_t k = from; plan->ops[i].verb != LB_KEEP && k < end; k++) {
            lb_plan_after(plan, (int)i, (int)k);
        }
    }
}

static void tell(struct lb_plan *plan, const struct lb_item *item)
{
    const struct gce_item *g = gce_item_of(item);
    lb_plan_because(plan, item->key, "%s → what it had as another kind gives way",
                    g->decision.says);
    for (size_t i = 0; i < g->n_gone; i++) {
        if (g->gone[i].c == GCE_RULES) {
            lb_plan_effect(
                plan, item->key,
                "Traffic stops while the forwarding rule is replaced, and comes to another address "
                "then: the kind of load balancer changes (%s).",
                gce_kind_text(g->decision.kind));
            return;
        }
    }
}

void gce_flow_way_plan(struct lb_sync *s, struct lb_plan *plan, struct lb_item *item)
{
    struct gce_item *g = gce_item_of(item);
    size_t from = plan->n_ops;
    g->bs.in.way = NULL;
    g->tp.in.way = NULL;
    if (g->way == NULL) {
        return;
    }
    lb_plan_room_like(plan, g->way, item->key);
    tell(plan, item);
    if (asks_for_room(plan, item->key)) {
        go_first(plan, item->key, g->way);
        size_t n_way = plan->n_ops;
        plan_room(s, plan, item);
        put_after(plan, from, n_way, n_way);
    } else if (g->way->n_ops > 0 && gce_item_is_bs(item)) {
        g->bs.in.way = g->way;
    } else if (g->way->n_ops > 0) {
        g->tp.in.way = g->way;
    }
    g->tp.in.for_room = false;
    if (g->was != NULL) {
        g->was->in.for_room = false;
    }
}

void gce_flow_way_first(struct lb_plan *plan, size_t from, size_t end)
{
    put_after(plan, from, end, end);
}
