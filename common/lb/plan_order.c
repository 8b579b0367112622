/* SPDX-License-Identifier: Apache-2.0 */
/* plan_order.c: see plan_order.h.
 *
 * An operation whose planner names no others is a step of the plan: it waits for all that stand
 * before it, but for its neighbours marked `parallel`.  So does a critical one, and all behind that
 * wait for it, but for its neighbours marked so.  Such a place ends a part of the plan.
 * Within a part an operation that names others waits for these alone.  Its wave is one more than
 * the highest among them, so it says how long the chain before it is.  One that is to be run after
 * a failure, too, waits for all ordinary ones, unless it is run in place.
 *
 * docs/planner.md has the rules for planners, docs/adr/0002 the reasons. */
#include "common/lb/plan_order.h"

#include <string.h>

static void add_edge(struct lb_plan *p, struct lb_op *op, int on)
{
    for (size_t i = 0; i < op->after.n; i++) {
        if (op->after.ops[i] == on) {
            return;
        }
    }
    int *ops = ARENA_ARRAY(p->a, int, op->after.n + 1);
    if (op->after.n > 0) {
        memcpy(ops, op->after.ops, op->after.n * sizeof *ops);
    }
    ops[op->after.n] = on;
    op->after.ops = ops;
    op->after.n++;
}

void lb_plan_after(struct lb_plan *p, int op, int on)
{
    struct lb_op *o = &p->ops[op];
    o->after.given = true;
    p->sealed = false;
    if (on >= 0) {
        add_edge(p, o, on);
    }
}

bool lb_plan_waits_for(const struct lb_plan *p, int op, int on)
{
    const struct lb_op *o = &p->ops[op];
    const struct lb_op *other = &p->ops[on];
    if (other->part_no < o->part_no || other->verb == LB_KEEP) {
        return true;
    }
    if (!o->after.given || other->part_no > o->part_no) {
        return false;
    }
    for (size_t i = 0; i < o->after.n; i++) {
        if (o->after.ops[i] == on || lb_plan_waits_for(p, o->after.ops[i], on)) {
            return true;
        }
    }
    return false;
}

/* Its references are edges, whether the planner names them or not. */
static void add_references(struct lb_plan *p, struct lb_op *op)
{
    int at = (int)(op - p->ops);
    if (!op->after.given) {
        return;
    }
    if (op->only_if_op >= 0 && op->only_if_op < at) {
        add_edge(p, op, op->only_if_op);
    }
    for (size_t f = 0; f < op->n_fields; f++) {
        const struct lb_value *v = &op->fields[f].new_value;
        if (v->text == NULL && v->op >= 0 && v->op < at) {
            add_edge(p, op, v->op);
        }
    }
}

static bool is_ordinary(const struct lb_op *op)
{
    return op->verb != LB_KEEP &&
           (op->finally == LB_FINALLY_NO || op->finally == LB_FINALLY_IN_PLACE || !op->after.given);
}

/* The walk over a plan. */
struct order {
    struct lb_plan *p;
    int part;         /* the one in progress; 0 before the first operation */
    int least;        /* wave of the last barrier: all behind it are beyond */
    int highest;      /* wave so far */
    int step_wave;    /* of the neighbours that name no operation; 0: there are none in this part */
    bool is_critical; /* a critical operation is in this part */
};

/* All later operations wait for all earlier ones. */
static void barrier(struct order *o)
{
    o->part++;
    o->least = o->highest;
    o->step_wave = 0;
    o->is_critical = false;
}

static int wave_after(const struct order *o, const struct lb_op *op)
{
    int wave = o->least + 1;
    int at = (int)(op - o->p->ops);
    for (size_t i = 0; i < op->after.n; i++) {
        int on = op->after.ops[i];
        if (on >= 0 && on < at && o->p->ops[on].wave >= wave) {
            wave = o->p->ops[on].wave + 1;
        }
    }
    if (op->sent_after >= 0 && op->sent_after < at && o->p->ops[op->sent_after].wave > wave) {
        wave = o->p->ops[op->sent_after].wave;
    }
    return wave;
}

static void place(struct order *o, struct lb_op *op)
{
    bool given = op->after.given;
    bool step = !given && o->step_wave == 0;
    bool opens = step || (!op->parallel && (!given || op->critical || o->is_critical));
    if (opens || o->part == 0) {
        barrier(o);
    }
    if (given) {
        op->wave = wave_after(o, op);
    } else {
        o->step_wave = o->least + 1;
        op->wave = o->step_wave;
    }
    op->part_no = o->part;
    o->is_critical = o->is_critical || op->critical;
    o->highest = op->wave > o->highest ? op->wave : o->highest;
}

static bool tidies(const struct lb_op *op)
{
    return op->verb == LB_DELETE || op->gives_back || op->tidies;
}

static void is_awaited(struct lb_plan *p, int on)
{
    if (on >= 0) {
        p->ops[on].tail = false;
    }
}

/* From the last operation on: each stands behind all that it waits for. */
static void find_tails(struct lb_plan *p)
{
    int part = 0; /* the last one with an operation that does more than to tidy: it waits for all
                   * of the parts before */
    for (size_t i = 0; i < p->n_ops; i++) {
        p->ops[i].tail = p->ops[i].verb != LB_KEEP && tidies(&p->ops[i]);
        bool more = p->ops[i].verb != LB_KEEP && !p->ops[i].tail;
        part = more && p->ops[i].part_no > part ? p->ops[i].part_no : part;
    }
    for (size_t i = p->n_ops; i-- > 0;) {
        struct lb_op *op = &p->ops[i];
        op->tail = op->tail && op->part_no >= part;
        for (size_t k = 0; op->verb != LB_KEEP && !op->tail && k < op->after.n; k++) {
            is_awaited(p, op->after.ops[k]);
        }
        if (op->verb != LB_KEEP && !op->tail) {
            is_awaited(p, op->sent_after);
        }
    }
}

void lb_plan_order(struct lb_plan *p)
{
    struct order o = {.p = p};
    bool last = false;
    for (size_t i = 0; i < p->n_ops; i++) {
        struct lb_op *op = &p->ops[i];
        op->wave = 0;
        op->part_no = 0;
        add_references(p, op);
        if (is_ordinary(op)) {
            place(&o, op);
        }
        last = last || (op->verb != LB_KEEP && !is_ordinary(op));
    }
    if (last) {
        barrier(&o);
    }
    for (size_t i = 0; last && i < p->n_ops; i++) {
        struct lb_op *op = &p->ops[i];
        if (op->verb != LB_KEEP && !is_ordinary(op)) {
            place(&o, op);
        }
    }
    p->waves = o.highest;
    p->parts = o.part;
    find_tails(p);
}
