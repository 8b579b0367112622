/* SPDX-License-Identifier: Apache-2.0 */
/* gce_bs_emit_plan.c: see gce_bs_emit_plan.h. */
#include "providers/gce/backend/gce_bs_emit_plan.h"

#include "common/base/str.h"

void bs_emit_init(struct bs_emit *e, struct lb_plan *p, const struct gce_bs_facts *f,
                  const struct gce_bs_input *in, const struct gce_slots *seen)
{
    *e = (struct bs_emit){.a = p->a, .p = p, .f = f, .in = in, .seen = seen};
    gce_emit_init(&e->out, p, in->key, in->call, f->on_xpn ? f->network_project : NULL);
    e->out.holds_first = in->hold_was_refused;
}

/* Shifts the indexes of `from` by the same distance: operations are stored in order. */
static void move_references(struct lb_op *op, int by)
{
    op->only_if_op += op->only_if_op >= 0 ? by : 0;
    op->sent_after += op->sent_after >= 0 ? by : 0;
    for (size_t i = 0; i < op->n_fields; i++) {
        struct lb_value *v = &op->fields[i].new_value;
        v->op += v->text == NULL && v->op >= 0 ? by : 0;
    }
}

/* Does the other plan make the resource that this operation is about? */
static bool is_made(const struct lb_plan *from, const struct lb_op *op)
{
    const struct gce_op *about = op->arg;
    for (size_t i = 0; i < from->n_ops; i++) {
        const struct gce_op *arg = from->ops[i].arg;
        if (from->ops[i].verb == LB_CREATE && about != NULL && str_eq(arg->zone, about->zone) &&
            str_eq(arg->name, about->name)) {
            return true;
        }
    }
    return false;
}

/* A change of an existing resource need not wait for creations, nor fail with them (gce-l4.md A25);
 * but an operation sent after another one stays in that one's wave. */
static enum bs_phase phase_of(const struct bs_emit *e, const struct lb_plan *from,
                              const struct lb_op *op, int by, const struct bs_adoption *where)
{
    if (op->verb == LB_DELETE) {
        return where->deletes;
    }
    if (op->verb == LB_CREATE) {
        return where->creates;
    }
    if (op->sent_after >= 0) {
        const struct gce_pending *first = gce_emit_at(&e->out, op->sent_after + by);
        return (enum bs_phase)first->draft.phase;
    }
    return is_made(from, op) ? where->changes : where->creates;
}

void bs_adopt(struct bs_emit *e, const struct lb_plan *from, struct bs_adoption where)
{
    int by = (int)e->out.drafts.n;
    for (size_t k = 0; k < from->n_services; k++) {
        for (size_t i = 0; i < from->services[k].n_because; i++) {
            lb_plan_because(e->p, e->in->key, "%s", from->services[k].because[i]);
        }
    }
    for (size_t i = 0; i < from->n_ops; i++) {
        struct lb_op op = from->ops[i];
        enum bs_phase phase =
            (int)i < where.n_first ? where.deletes : phase_of(e, from, &op, by, &where);
        move_references(&op, by);
        if (op.verb == LB_KEEP) {
            lb_plan_service(e->p, e->in->key)->checked++;
        }
        (void)gce_emit_foreign(&e->out, (int)phase, op);
    }
}

static void order(struct lb_plan *p, const struct gce_pending *const *items, size_t n,
                  const void *arg)
{
    (void)arg;
    bs_order(p, items, n);
}

void bs_flush(struct bs_emit *e)
{
    gce_emit_flush(&e->out, BS_PHASES, order, NULL);
}
