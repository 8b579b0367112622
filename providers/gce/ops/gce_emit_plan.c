/* SPDX-License-Identifier: Apache-2.0 */
/* gce_emit_plan.c: see gce_emit_plan.h. */
#include "providers/gce/ops/gce_emit_plan.h"

#include "common/base/str.h"
#include "providers/gce/model/gce_gcloud.h"

#include <string.h>

void gce_emit_init(struct gce_emit *e, struct lb_plan *p, const char *key,
                   const struct tt_call *call, const char *host_project)
{
    *e = (struct gce_emit){
        .a = p->a, .p = p, .key = key, .call = call, .host_project = host_project};
    lb_drafts_init(&e->drafts, p->a, sizeof(struct gce_pending));
}

static int note(struct gce_emit *e, int phase, struct lb_op op, struct gce_op *arg)
{
    bool holds = arg != NULL && arg->c == GCE_ADDRESSES && arg->verb == GCE_INSERT;
    const struct gce_pending one = {
        .draft = LB_DRAFT(phase, op), .arg = arg, .first = holds && e->holds_first};
    return lb_drafts_add(&e->drafts, &one);
}

int gce_emit(struct gce_emit *e, int phase, struct lb_op op, struct gce_op arg)
{
    struct gce_op *kept = ARENA_NEW(e->a, struct gce_op);
    op.name = op.name != NULL ? op.name : arg.name;
    arg.name = op.name;
    arg.call = e->call;
    *kept = arg;
    op.kind = gce_op_kind(arg.c);
    op.api_kind = gce_op_api_kind(arg.c);
    op.type = gce_op_type_of(arg.verb);
    op.calls = gce_op_calls(kept);
    op.arg = kept;
    return note(e, phase, op, kept);
}

int gce_emit_foreign(struct gce_emit *e, int phase, struct lb_op op)
{
    return note(e, phase, op, NULL);
}

size_t gce_emit_way(struct gce_emit *e, const struct lb_plan *way, unsigned which, int deletes,
                    int creates)
{
    size_t n = 0;
    for (size_t i = 0; way != NULL && i < way->n_ops; i++) {
        struct lb_op op = way->ops[i];
        struct gce_op *arg = arena_memdup(e->a, op.arg, sizeof *arg);
        unsigned group = arg->c == GCE_ADDRESSES ? GCE_WAY_ADDRESSES : GCE_WAY_OTHERS;
        if ((group & which) != 0) {
            op.after = (struct lb_after){0};
            op.arg = arg;
            (void)note(e, op.verb == LB_DELETE ? deletes : creates, op, arg);
            n++;
        }
    }
    return n;
}

void gce_emit_keep(struct gce_emit *e, int phase, enum gce_collection c, const char *name)
{
    struct lb_op op = LB_OP(.verb = LB_KEEP, .kind = gce_op_kind(c), .api_kind = gce_op_api_kind(c),
                            .name = name);
    (void)note(e, phase, op, NULL);
    lb_plan_service(e->p, e->key)->checked++;
}

void gce_emit_by_hand(const struct gce_emit *e, struct gce_op *arg, const struct gce_firewall *f)
{
    if (e->host_project != NULL) {
        enum gce_gcloud_verb verb = arg->verb == GCE_INSERT   ? GCE_GCLOUD_CREATE
                                    : arg->verb == GCE_DELETE ? GCE_GCLOUD_DELETE
                                                              : GCE_GCLOUD_UPDATE;
        arg->command = gce_gcloud_firewall(e->a, verb, f, e->host_project);
        arg->ret_value = ARENA_NEW(e->a, const char *);
    }
}

int gce_emit_delete(struct gce_emit *e, int phase, struct gce_op arg, const char *why)
{
    struct lb_op op = LB_OP(.verb = LB_DELETE, .why = why, .tolerate = LB_TOLERATE_ABSENT);
    arg.verb = GCE_DELETE;
    if (arg.c == GCE_FIREWALLS) {
        const struct gce_firewall gone = {.name = arg.name};
        op.tolerate |= e->host_project != NULL ? LB_TOLERATE_FORBIDDEN : 0;
        gce_emit_by_hand(e, &arg, &gone);
    }
    return gce_emit(e, phase, op, arg);
}

struct gce_pending *gce_emit_at(const struct gce_emit *e, int handle)
{
    return lb_drafts_at(&e->drafts, handle);
}

bool gce_emit_deletes(const struct gce_emit *e, enum gce_collection c, const char *name)
{
    for (size_t i = 0; i < e->drafts.n; i++) {
        const struct gce_op *arg = gce_emit_at(e, (int)i)->arg;
        if (arg != NULL && arg->c == c && arg->verb == GCE_DELETE && str_eq(arg->name, name)) {
            return true;
        }
    }
    return false;
}

bool gce_emit_changes(const struct gce_emit *e)
{
    for (size_t i = 0; i < e->drafts.n; i++) {
        if (gce_emit_at(e, (int)i)->draft.op.verb != LB_KEEP) {
            return true;
        }
    }
    return false;
}

const struct lb_undo *gce_emit_undo(struct gce_emit *e, struct gce_op arg,
                                    enum gce_collection until, const char *until_name)
{
    struct gce_op *kept = ARENA_NEW(e->a, struct gce_op);
    struct lb_undo *undo = ARENA_NEW(e->a, struct lb_undo);
    *kept = arg;
    kept->call = e->call;
    *undo = (struct lb_undo){
        .verb = arg.verb == GCE_INSERT ? LB_CREATE : LB_CHANGE,
        .kind = gce_op_kind(arg.c),
        .name = arg.name,
        .until_kind = gce_op_kind(until),
        .until_name = until_name,
        .type = gce_op_type_of(arg.verb),
        .arg = kept,
        .calls = gce_op_calls(kept),
    };
    return undo;
}

#define NO_NAME   "-asked"
#define NAMES_MAX 63 /* of a resource */

const struct lb_undo *gce_emit_proof(struct gce_emit *e, enum gce_collection c, const char *name)
{
    struct gce_op *arg = ARENA_NEW(e->a, struct gce_op);
    struct lb_undo *proof = ARENA_NEW(e->a, struct lb_undo);
    *arg = (struct gce_op){
        .c = c,
        .verb = GCE_DELETE,
        .name = arena_printf(e->a, "%.*s" NO_NAME, NAMES_MAX - (int)strlen(NO_NAME), name),
        .call = e->call,
    };
    *proof = (struct lb_undo){.verb = LB_DELETE,
                              .kind = gce_op_kind(c),
                              .name = arg->name,
                              .type = gce_op_type_of(GCE_DELETE),
                              .arg = arg,
                              .calls = 1};
    return proof;
}

const struct lb_undo *gce_emit_asked(const struct gce_emit *e, struct gce_op arg)
{
    struct lb_undo *asked = ARENA_NEW(e->a, struct lb_undo);
    arg.call = e->call;
    arg.ret_value = NULL;
    arg.read_member = NULL;
    *asked = (struct lb_undo){.verb = LB_CREATE,
                              .kind = gce_op_kind(arg.c),
                              .name = arg.name,
                              .type = gce_op_type_of(GCE_INSERT),
                              .arg = arena_memdup(e->a, &arg, sizeof arg),
                              .calls = 1};
    return asked;
}

/* ---- into the plan --------------------------------------------------------------------------- */

/* Drafts in the order of the plan. */
struct placing {
    const struct gce_emit *e;
    const struct gce_pending **order;
    size_t n;
};

static void complete(void *arg, struct lb_draft *draft)
{
    const struct placing *x = arg;
    const struct gce_pending *one = CONTAINER_OF(draft, struct gce_pending, draft);
    for (size_t i = 0; one->arg != NULL && i < one->arg->n_late; i++) {
        one->arg->late[i].value = lb_drafts_value(&x->e->drafts, one->arg->late[i].value);
    }
    bool whole = one->arg != NULL && one->arg->verb == GCE_INSERT && one->arg->n_late == 0;
    if (whole && draft->op.asked == NULL) {
        draft->op.asked = gce_emit_asked(x->e, *one->arg);
    }
}

static void placed(void *arg, struct lb_draft *draft)
{
    struct placing *x = arg;
    x->order[x->n++] = CONTAINER_OF(draft, struct gce_pending, draft);
}

void gce_emit_flush(struct gce_emit *e, int n_phases, gce_emit_order *order, const void *arg)
{
    struct placing x = {.e = e,
                        .order = ARENA_ARRAY(e->a, const struct gce_pending *, e->drafts.n + 1)};
    lb_drafts_place(&e->drafts, &(struct lb_drafts_how){
                                    .plan = e->p,
                                    .key = e->key,
                                    .n_phases = n_phases,
                                    .complete = complete,
                                    .placed = placed,
                                    .arg = &x,
                                });
    order(e->p, x.order, x.n, arg);
    lb_drafts_clear(&e->drafts);
}

/* ---- bodies ---------------------------------------------------------------------------------- */

static void put_tree(void *o)
{
    json_object_put(o);
}

struct json_object *gce_own(struct arena *a, struct json_object *o)
{
    if (o != NULL) {
        arena_defer(a, put_tree, o);
    }
    return o;
}

struct gce_op_late gce_late_text(struct arena *a, const char *member, const char *text,
                                 struct lb_value v)
{
    const char *at = strstr(text, GCE_LATER);
    return (struct gce_op_late){.member = member,
                                .value = v,
                                .prefix = arena_strndup(a, text, (size_t)(at - text)),
                                .suffix = at + strlen(GCE_LATER)};
}
