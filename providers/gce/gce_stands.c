/* SPDX-License-Identifier: Apache-2.0 */
/* gce_stands.c: does what stands now serve clients, whatever was planned (gce_flow.h)?
 *
 * Asked of a Service whose sync has failed, or is only planned.  What was seen of its rules,
 * backends and firewall, and what operations have done to them since, answers; nothing is read for
 * it.  A rule of any kind that the Service asks for or had counts.  As long as a resource was not
 * seen, nothing is said.  Whether members are healthy Google's health checks know.  Pure. */
#include "common/base/str.h"
#include "common/lb/exec.h"
#include "providers/gce/gce_flow.h"
#include "providers/gce/ops/gce_ops.h"

/* ---- what operations have done --------------------------------------------------------------- */

static bool counts(enum gce_collection c)
{
    return c == GCE_RULES || c == GCE_POOLS || c == GCE_BACKENDS || c == GCE_FIREWALLS;
}

/* Whether it is there after the operation; false: as before. */
static bool result_of(const struct gce_op *op, unsigned outcome, const struct err *err,
                      enum gce_known *ret)
{
    bool lost = outcome == LB_FAILED && (err->code == ERR_TRANSIENT || err->code == ERR_CANCELLED);
    bool gone = outcome == LB_DONE || (outcome == LB_TOLERATED && err->code == ERR_NOT_FOUND);
    bool there = outcome == LB_DONE || (outcome == LB_TOLERATED && err->code == ERR_EXISTS);
    *ret = lost ? GCE_UNKNOWN : op->verb == GCE_DELETE ? GCE_ABSENT : GCE_PRESENT;
    return lost || (op->verb == GCE_DELETE ? gone : there);
}

void gce_stands_note(struct lb_sync *s, const struct lb_op *op, unsigned outcome,
                     const struct err *err)
{
    const struct gce_op *arg = op->arg;
    enum gce_known now = GCE_UNKNOWN;
    if (!counts(arg->c) || !result_of(arg, outcome, err, &now)) {
        return;
    }
    for (size_t i = 0; i < s->n_items; i++) {
        struct gce_item *g = gce_item_of(&s->items[i]);
        if (g == NULL || !str_set_has(&op->owners, s->items[i].key)) {
            continue;
        }
        struct gce_done *one = ARENA_NEW(s->life, struct gce_done);
        *one = (struct gce_done){arg->c, arena_strdup(s->life, arg->name), now, g->done};
        g->done = one;
    }
}

static const struct gce_done *done_to(const struct gce_item *g, const struct gce_slot *slot)
{
    const struct gce_done *one = g->done;
    while (one != NULL && (one->c != slot->c || !str_eq(one->name, slot->name))) {
        one = one->before;
    }
    return one;
}

/* ---- what stands ----------------------------------------------------------------------------- */

/* A resource in the way of another kind was taken for absent while that was planned; it was there
 * then. */
static bool was_in_the_way(const struct gce_item *g, const struct gce_slot *slot)
{
    for (size_t i = 0; i < g->n_gone; i++) {
        if (g->gone[i].c == slot->c && str_eq(g->gone[i].name, slot->name)) {
            return true;
        }
    }
    return false;
}

static enum gce_known known_now(const struct gce_item *g, const struct gce_slot *slot)
{
    const struct gce_done *done = done_to(g, slot);
    if (done != NULL) {
        return done->now;
    }
    return slot->known == GCE_ABSENT && was_in_the_way(g, slot) ? GCE_PRESENT : slot->known;
}

/* As it was seen, if nothing was done to it since. */
static const void *as_seen(const struct gce_item *g, const struct gce_slots *slots,
                           enum gce_collection c, const char *name)
{
    const struct gce_slot *slot = str_is_empty(name) ? NULL : gce_slots_find(slots, c, NULL, name);
    bool seen = slot != NULL && slot->known == GCE_PRESENT && done_to(g, slot) == NULL;
    return seen ? slot->as : NULL;
}

/* The rules of one kind: adds up how many are there, are not, or are not known. */
struct tally {
    size_t n[GCE_PRESENT + 1];
    const char *missing;
};

static void count_rules(const struct gce_item *g, const struct gce_slots *slots, struct tally *t)
{
    for (size_t i = 0; i < slots->n; i++) {
        const struct gce_slot *slot = &slots->items[i];
        if (slot->c == GCE_RULES) {
            enum gce_known known = known_now(g, slot);
            t->n[known]++;
            t->missing =
                t->missing == NULL && known == GCE_ABSENT && slot->main ? slot->name : t->missing;
        }
    }
}

static bool is_missing(const struct gce_item *g, const struct gce_slots *slots, const char *name)
{
    const struct gce_slot *slot =
        str_is_empty(name) ? NULL : gce_slots_find(slots, GCE_FIREWALLS, NULL, name);
    return slot != NULL && known_now(g, slot) == GCE_ABSENT;
}

/* The firewall by which clients come in; without the right to change it, it is the owner's of the
 * network to make. */
static const char *of_firewall(const struct lb_sync *s, const struct lb_item *item)
{
    const struct gce_provider *p = gce_provider_of(s);
    const struct gce_item *g = gce_item_of(item);
    const struct gce_bs_desired *d = &g->bs.d;
    const char *name = NULL;
    if (p->cloud.facts.on_xpn) {
        return NULL;
    }
    if (!gce_item_is_bs(item)) {
        name = g->tp.desired.traffic.name;
        return is_missing(g, &g->tp.slots, name) ? name : NULL;
    }
    bool v4 = d->v4.wanted && d->v4.want_firewall;
    bool v6 = d->v6.wanted && d->v6.want_firewall;
    if (p->options.l4.disable_firewall || !g->bs.has_desired || (!v4 && !v6) ||
        (v4 && !is_missing(g, &g->bs.slots, d->v4.firewall.name)) ||
        (v6 && !is_missing(g, &g->bs.slots, d->v6.firewall.name))) {
        return NULL;
    }
    return v4 ? d->v4.firewall.name : d->v6.firewall.name;
}

/* Its backends, where the kind that it asks for is the one that stands. */
static const char *of_backends(const struct lb_sync *s, const struct lb_item *item)
{
    const struct gce_item *g = gce_item_of(item);
    const char *name = gce_item_is_bs(item) ? g->bs.d.service.name : g->tp.desired.pool.name;
    if (gce_item_is_bs(item)) {
        const struct gce_bservice *b = as_seen(g, &g->bs.slots, GCE_BACKENDS, name);
        return b != NULL && b->n_backends == 0
                   ? arena_printf(s->a, "backend service %s has no backends", name)
                   : NULL;
    }
    const struct gce_pool *pool = as_seen(g, &g->tp.slots, GCE_POOLS, name);
    return pool != NULL && pool->instances.n == 0
               ? arena_printf(s->a, "target pool %s has no instances", name)
               : NULL;
}

/* One that can stand beside the new one is not looked at before the last stage. */
static bool saw_former(const struct gce_item *g)
{
    bool pool = g->former == 1u << GCE_KIND_TARGET_POOL;
    return pool ? g->tp.slots.n > 0 : gce_item_was(g)->slots.n > 0;
}

const char *gce_stands(const struct lb_sync *s, const struct lb_item *item)
{
    const struct gce_item *g = gce_item_of(item);
    struct tally t = {0};
    if (g == NULL || g->decision.kind == GCE_KIND_NEGS_ONLY) {
        return NULL; /* its rules are its owner's */
    }
    count_rules(g, &g->tp.slots, &t);
    count_rules(g, &g->bs.slots, &t);
    count_rules(g, &gce_item_was(g)->slots, &t);
    t.n[GCE_UNKNOWN] += g->former != 0 && !saw_former(g);
    if (t.n[GCE_PRESENT] == 0) {
        bool none = t.n[GCE_UNKNOWN] == 0 && t.missing != NULL;
        return none ? arena_printf(s->a, "forwarding rule %s is missing", t.missing) : NULL;
    }
    if (g->former != 0) {
        return ""; /* the rule may be that of the former kind, which has backends of its own */
    }
    const char *why = of_backends(s, item);
    const char *firewall = why == NULL ? of_firewall(s, item) : NULL;
    if (firewall != NULL) {
        why = arena_printf(s->a, "firewall %s is missing", firewall);
    }
    return str_nonnull(why);
}
