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

static int note(struct bs_emit *e, const struct bs_pending *one)
{
    if (e->n == e->cap) {
        size_t cap = e->cap == 0 ? 16 : e->cap * 2;
        struct bs_pending *bigger = ARENA_ARRAY(e->a, struct bs_pending, cap);
        if (e->n > 0) {
            memcpy(bigger, e->items, e->n * sizeof(*bigger));
        }
        e->items = bigger;
        e->cap = cap;
    }
    e->items[e->n] = *one;
    return (int)e->n++;
}

struct lb_op *bs_op(struct bs_emit *e, int handle)
{
    return &e->items[handle].op;
}

struct bs_pending *bs_pending_of(struct bs_emit *e, int handle)
{
    return &e->items[handle];
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
    return note(e, &(struct bs_pending){.phase = phase, .op = op, .arg = kept});
}

void bs_keep(struct bs_emit *e, enum bs_phase phase, enum gce_collection c, const char *name)
{
    struct lb_op op = LB_OP(.verb = LB_KEEP, .kind = gce_collection_word(c), .name = name);
    (void)note(e, &(struct bs_pending){.phase = phase, .op = op});
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
        return e->items[op->sent_after + by].phase;
    }
    return is_made(from, op) ? where->changes : where->creates;
}

void bs_adopt(struct bs_emit *e, const struct lb_plan *from, struct bs_adoption where)
{
    int by = (int)e->n;
    for (size_t k = 0; k < from->n_services; k++) {
        for (size_t i = 0; i < from->services[k].n_because; i++) {
            lb_plan_because(e->p, e->in->key, "%s", from->services[k].because[i]);
        }
    }
    for (size_t i = 0; i < from->n_ops; i++) {
        struct bs_pending one = {.op = from->ops[i]};
        one.phase = (int)i < where.n_first ? where.deletes : phase_of(e, from, &one.op, by, &where);
        move_references(&one.op, by);
        if (one.op.verb == LB_KEEP) {
            lb_plan_service(e->p, e->in->key)->checked++;
        }
        (void)note(e, &one);
    }
}

bool bs_deletes(const struct bs_emit *e, enum gce_collection c, const char *name)
{
    for (size_t i = 0; i < e->n; i++) {
        const struct gce_op *arg = e->items[i].arg;
        if (arg != NULL && arg->c == c && arg->verb == GCE_DELETE && str_eq(arg->name, name)) {
            return true;
        }
    }
    return false;
}

bool bs_changes(const struct bs_emit *e)
{
    for (size_t i = 0; i < e->n; i++) {
        if (e->items[i].op.verb != LB_KEEP) {
            return true;
        }
    }
    return false;
}

static int index_of(const struct bs_emit *e, int handle)
{
    return handle >= 0 ? e->items[handle].at : handle;
}

static void resolve(const struct bs_emit *e, struct bs_pending *one)
{
    struct lb_op *op = &one->op;
    op->only_if_op = index_of(e, op->only_if_op);
    op->sent_after = index_of(e, op->sent_after);
    for (size_t i = 0; i < op->n_fields; i++) {
        struct lb_value *v = &op->fields[i].new_value;
        v->op = v->text == NULL ? index_of(e, v->op) : v->op;
    }
    for (size_t i = 0; one->arg != NULL && i < one->arg->n_late; i++) {
        struct lb_value *v = &one->arg->late[i].value;
        v->op = v->text == NULL ? index_of(e, v->op) : v->op;
    }
}

void bs_flush(struct bs_emit *e)
{
    const struct bs_pending **order = ARENA_ARRAY(e->a, const struct bs_pending *, e->n);
    size_t n = 0;
    for (int phase = 0; phase < BS_PHASES; phase++) {
        bool open = false;
        for (size_t i = 0; i < e->n; i++) {
            struct bs_pending *one = &e->items[i];
            if ((int)one->phase != phase) {
                continue;
            }
            resolve(e, one);
            one->op.parallel = open && one->op.verb != LB_KEEP;
            open = open || one->op.verb != LB_KEEP;
            one->at = lb_plan_add(e->p, e->in->key, &one->op);
            order[n++] = one;
        }
    }
    bs_order(e->p, order, n);
    e->n = 0;
}
