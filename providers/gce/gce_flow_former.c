/* SPDX-License-Identifier: Apache-2.0 */
/* gce_flow_former.c: takes away what a Service has as another kind of load balancer, or all of it
 * (gce_flow.h).
 *
 * What goes without a successor goes in the first stage.  Where another kind follows, what is in
 * its way goes in the middle of its own plan (gce_flow_way.c), and the rest, or all of one that
 * can stand beside it, in the last stage, when the new one stands (docs/adr/0060, 0071, 0080). */
#include "common/base/str.h"
#include "providers/gce/gce_flow.h"

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

static bool takes_part(const struct lb_item *item, bool last)
{
    return lb_item_is_active(item) && last == gce_flow_is_built(item) &&
           (gce_item_of(item)->former != 0 || gce_flow_deletes_pool(item));
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
        g->gives_way = false; /* what is in the way has gone by now */
        g->looked_before = last && gce_flow_gives_way(item);
        if (gce_flow_deletes_pool(item)) {
            gce_tp_flow_observe(s, item);
        }
        if (item->err.code == ERR_OK && has_bs_bits(g->former)) {
            g->was->lists_groups = gce_flow_takes_groups(s, item);
            item->err.code = observe_was(s, item, &item->err);
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

static void tell_flip(struct lb_sync *s, struct lb_plan *plan, struct lb_item *item, bool last)
{
    const struct gce_item *g = gce_item_of(item);
    if (last && gce_flow_gives_way(item)) {
        return; /* told with what was in the way */
    }
    gce_flow_note_gone(s, plan, item);
    if (last) {
        lb_plan_effect(plan, item->key,
                       "The Service gets another address: the kind of load balancer changes (%s). "
                       "The former one serves until then.",
                       gce_kind_text(g->decision.kind));
    } else if (takes_rule(g) && item->in->verb != TT_VERB_DELETE) {
        lb_plan_effect(plan, item->key,
                       "Traffic stops: the Service asks for no load balancer of "
                       "trimtab's any more.");
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

void gce_flow_name_flip(struct lb_sync *s, struct lb_plan *plan, const struct lb_item *item)
{
    const struct gce_item *g = gce_item_of(item);
    enum gce_kind was = GCE_KIND_NONE;
    for (int k = GCE_KIND_MAX - 1; k > GCE_KIND_NONE; k--) {
        was = (g->former & BIT(k)) != 0 ? (enum gce_kind)k : was;
    }
    if (gce_flow_is_built(item) && was != GCE_KIND_NONE) {
        lb_plan_service(plan, item->key)->kind =
            arena_printf(plan->a, "%s, %s (before: %s)", gce_kind_text(g->decision.kind),
                         gce_provider_of(s)->tp_facts.region, gce_kind_text(was));
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
        plan_rest(s, plan, item);
        if (item->err.code == ERR_OK) {
            tell_flip(s, plan, item, last);
            gce_flow_name_flip(s, plan, item);
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
