/* SPDX-License-Identifier: Apache-2.0 */
/* gce_bs_emit_plan.c: see gce_bs_emit_plan.h. */
#include "providers/gce/backend/gce_bs_emit_plan.h"

#include "common/base/str.h"
#include "providers/gce/model/gce_gcloud.h"

#include <string.h>

void bs_emit_init(struct bs_emit *e, struct lb_plan *p, const struct gce_bs_facts *f,
                  const struct gce_bs_input *in, const struct gce_slots *seen)
{
    *e = (struct bs_emit){.a = p->a, .p = p, .f = f, .in = in, .seen = seen};
    lb_drafts_init(&e->drafts, p->a, sizeof(struct bs_pending));
}

static void put_tree(void *o)
{
    json_object_put(o);
}

struct json_object *bs_own(struct arena *a, struct json_object *o)
{
    if (o != NULL) {
        arena_defer(a, put_tree, o);
    }
    return o;
}

struct gce_op_late bs_late_text(struct arena *a, const char *member, const char *text,
                                struct lb_value v)
{
    const char *at = strstr(text, BS_LATER);
    return (struct gce_op_late){.member = member,
                                .value = v,
                                .prefix = arena_strndup(a, text, (size_t)(at - text)),
                                .suffix = at + strlen(BS_LATER)};
}

static int note(struct bs_emit *e, enum bs_phase phase, struct lb_op op, struct gce_op *arg)
{
    const struct bs_pending one = {.draft = LB_DRAFT((int)phase, op), .arg = arg};
    return lb_drafts_add(&e->drafts, &one);
}

struct lb_op *bs_op(struct bs_emit *e, int handle)
{
    return &bs_pending_of(e, handle)->draft.op;
}

struct bs_pending *bs_pending_of(struct bs_emit *e, int handle)
{
    return lb_drafts_at(&e->drafts, handle);
}

int bs_emit(struct bs_emit *e, enum bs_phase phase, struct lb_op op, struct gce_op arg)
{
    struct gce_op *kept = ARENA_NEW(e->a, struct gce_op);
    op.name = op.name != NULL ? op.name : arg.name;
    arg.name = op.name;
    arg.call = e->in->call;
    *kept = arg;
    op.kind = gce_collection_word(arg.c);
    op.type = gce_op_type_of(arg.verb);
    op.calls = gce_op_calls(kept);
    op.arg = kept;
    return note(e, phase, op, kept);
}

void bs_keep(struct bs_emit *e, enum bs_phase phase, enum gce_collection c, const char *name)
{
    struct lb_op op = LB_OP(.verb = LB_KEEP, .kind = gce_collection_word(c), .name = name);
    (void)note(e, phase, op, NULL);
    lb_plan_service(e->p, e->in->key)->checked++;
}

int bs_delete(struct bs_emit *e, enum bs_phase phase, enum gce_collection c, const char *name,
              const char *why)
{
    struct lb_op op =
        LB_OP(.verb = LB_DELETE, .name = name, .why = why, .tolerate = LB_TOLERATE_ABSENT);
    struct gce_op arg = {.c = c, .verb = GCE_DELETE};
    if (c == GCE_FIREWALLS && e->f->on_xpn) {
        const struct gce_firewall gone = {.name = name};
        op.tolerate |= LB_TOLERATE_FORBIDDEN;
        arg.command = gce_gcloud_firewall(e->a, GCE_GCLOUD_DELETE, &gone, e->f->network_project);
        arg.ret_value = ARENA_NEW(e->a, const char *);
    }
    return bs_emit(e, phase, op, arg);
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
        const struct bs_pending *first = lb_drafts_at(&e->drafts, op->sent_after + by);
        return (enum bs_phase)first->draft.phase;
    }
    return is_made(from, op) ? where->changes : where->creates;
}

void bs_adopt(struct bs_emit *e, const struct lb_plan *from, struct bs_adoption where)
{
    int by = (int)e->drafts.n;
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
        (void)note(e, phase, op, NULL);
    }
}

bool bs_deletes(const struct bs_emit *e, enum gce_collection c, const char *name)
{
    for (size_t i = 0; i < e->drafts.n; i++) {
        const struct bs_pending *one = lb_drafts_at(&e->drafts, (int)i);
        const struct gce_op *arg = one->arg;
        if (arg != NULL && arg->c == c && arg->verb == GCE_DELETE && str_eq(arg->name, name)) {
            return true;
        }
    }
    return false;
}

bool bs_changes(const struct bs_emit *e)
{
    for (size_t i = 0; i < e->drafts.n; i++) {
        const struct bs_pending *one = lb_drafts_at(&e->drafts, (int)i);
        if (one->draft.op.verb != LB_KEEP) {
            return true;
        }
    }
    return false;
}

/* Drafts in the order of the plan. */
struct placing {
    const struct bs_emit *e;
    const struct bs_pending **order;
    size_t n;
};

static void complete(void *arg, struct lb_draft *draft)
{
    const struct placing *x = arg;
    const struct bs_pending *one = CONTAINER_OF(draft, struct bs_pending, draft);
    for (size_t i = 0; one->arg != NULL && i < one->arg->n_late; i++) {
        one->arg->late[i].value = lb_drafts_value(&x->e->drafts, one->arg->late[i].value);
    }
}

static void placed(void *arg, struct lb_draft *draft)
{
    struct placing *x = arg;
    x->order[x->n++] = CONTAINER_OF(draft, struct bs_pending, draft);
}

void bs_flush(struct bs_emit *e)
{
    struct placing x = {.e = e,
                        .order = ARENA_ARRAY(e->a, const struct bs_pending *, e->drafts.n + 1)};
    lb_drafts_place(&e->drafts, &(struct lb_drafts_how){
                                    .plan = e->p,
                                    .key = e->in->key,
                                    .n_phases = BS_PHASES,
                                    .complete = complete,
                                    .placed = placed,
                                    .arg = &x,
                                });
    bs_order(e->p, x.order, x.n);
    lb_drafts_clear(&e->drafts);
}
