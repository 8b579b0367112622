/* SPDX-License-Identifier: Apache-2.0 */
/* plan_view.c: a sealed plan as the ABI's struct tt_plan, which the host logs, prints and counts.
 *
 * The view shares the plan's strings; it adds what only people need: numbers from 1, and "known
 * after N" for values that an operation will produce.  Services are sorted by key, so that two
 * plans of one state look the same.  Part of plan.h.  Pure; lives in the plan's arena. */
#include "common/base/str.h"
#include "common/lb/plan.h"
#include "common/lb/plan_print.h"

#include <assert.h>
#include <string.h>

static const char *value_text(struct arena *a, struct lb_value v)
{
    if (v.text != NULL || v.op == -1) {
        return v.text;
    }
    return arena_printf(a, PLAN_KNOWN_AFTER "%d", v.op + 1);
}

static const struct tt_field *fields_view(struct arena *a, const struct lb_op *op)
{
    struct tt_field *out = ARENA_ARRAY(a, struct tt_field, op->n_fields);
    for (size_t i = 0; i < op->n_fields; i++) {
        out[i] = (struct tt_field){
            .path = op->fields[i].path,
            .old_text = op->fields[i].old_text,
            .new_text = value_text(a, op->fields[i].new_value),
        };
    }
    return out;
}

static int cmp_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Behind a barrier: all of the part before it. */
static bool is_of_part_before(const struct lb_op *op, const struct lb_op *other)
{
    return other->verb != LB_KEEP && other->part_no == op->part_no - 1;
}

/* Every edge of an operation whose planner names some.  Kept ones are there already:
 * no operation waits for them. */
static const uint32_t *after_view(struct arena *a, const struct lb_plan *p, const struct lb_op *op,
                                  uint32_t *ret_n)
{
    uint32_t n = 0;
    if (!op->after.given) {
        *ret_n = 0;
        return NULL;
    }
    uint32_t *out = ARENA_ARRAY(a, uint32_t, op->after.n + p->n_ops);
    for (size_t i = 0; i < op->after.n; i++) {
        const struct lb_op *other = &p->ops[op->after.ops[i]];
        if (other->verb != LB_KEEP && !is_of_part_before(op, other)) {
            out[n++] = (uint32_t)op->after.ops[i] + 1;
        }
    }
    for (size_t i = 0; i < p->n_ops; i++) {
        if (is_of_part_before(op, &p->ops[i])) {
            out[n++] = (uint32_t)i + 1;
        }
    }
    qsort(out, n, sizeof *out, cmp_number);
    *ret_n = n;
    return out;
}

#define PUT_BACK "put back if the replacement is refused"

/* Adds that the operation may be undone: a plan announces all that may happen. */
static const char *note_text(struct arena *a, const struct lb_op *op)
{
    if (op->undo == NULL) {
        return op->note;
    }
    return str_is_empty(op->note) ? PUT_BACK : arena_printf(a, "%s; " PUT_BACK, op->note);
}

/* Does it take down what works, or change it because a later operation of the plan does?  Either
 * interrupts, and is undone when the replacement is refused. */
static bool is_put_back(const struct lb_plan *p, const struct lb_op *op)
{
    bool some = lb_op_takes_down(op);
    for (size_t i = 0; op->undo != NULL && !some && i < p->n_ops; i++) {
        some = lb_op_takes_down(&p->ops[i]) && lb_ops_share_owner(op, &p->ops[i]);
    }
    return some;
}

static const struct tt_operation *operation_view(const struct lb_plan *p, size_t i)
{
    struct arena *a = p->a;
    const struct lb_op *op = &p->ops[i];
    struct tt_operation *out = ARENA_NEW(a, struct tt_operation);
    bool finally = op->finally == LB_FINALLY_ALWAYS || op->finally == LB_FINALLY_IN_PLACE;
    *out = (struct tt_operation){
        .size = sizeof *out,
        .n = (uint32_t)i + 1,
        .verb = (uint32_t)op->verb,
        .wave = (uint32_t)op->wave,
        .flags = (op->critical ? TT_OP_CRITICAL : 0) | (op->shared ? TT_OP_SHARED : 0) |
                 (finally ? TT_OP_FINALLY : 0) | (op->gives_back ? TT_OP_GIVES_BACK : 0) |
                 (is_put_back(p, op) ? TT_OP_PUT_BACK : 0) |
                 (op->serves_without ? TT_OP_SERVES_WITHOUT : 0) |
                 (op->restores ? TT_OP_RESTORES : 0) |
                 (op->type != NULL && op->type->again ? TT_OP_AGAIN : 0),
        .kind = op->kind,
        .name = op->name,
        .api_kind = op->api_kind,
        .why = op->why,
        .summary = op->summary,
        .note = note_text(a, op),
        .owners = op->owners.items,
        .fields = fields_view(a, op),
        .n_owners = (uint32_t)op->owners.n,
        .n_fields = (uint32_t)op->n_fields,
        .calls = op->calls,
        .sent_after = (uint32_t)(op->sent_after + 1),
    };
    out->after = after_view(a, p, op, &out->n_after);
    return out;
}

static const struct tt_finding *const *findings_view(struct arena *a,
                                                     const struct lb_plan_service *s)
{
    const struct tt_finding **out = ARENA_ARRAY(a, const struct tt_finding *, s->n_findings);
    for (size_t i = 0; i < s->n_findings; i++) {
        out[i] = &s->findings[i];
    }
    return out;
}

static const struct tt_plan_service *service_view(struct arena *a, const struct lb_plan_service *s)
{
    struct tt_plan_service *out = ARENA_NEW(a, struct tt_plan_service);
    *out = (struct tt_plan_service){
        .size = sizeof *out,
        .key = s->key,
        .kind = s->kind,
        .address = s->address,
        .because = s->because,
        .effects = s->effects,
        .n_because = (uint32_t)s->n_because,
        .n_effects = (uint32_t)s->n_effects,
        .checked = s->checked,
        .code = s->err != NULL ? s->err->code : ERR_OK,
        .message = s->err != NULL ? s->err->message : NULL,
        .findings = findings_view(a, s),
        .n_findings = (uint32_t)s->n_findings,
        .serves_nobody = s->serves_nobody,
        .left = s->left,
        .n_left = (uint32_t)s->n_left,
    };
    return out;
}

static int cmp_key(const void *a, const void *b)
{
    const struct tt_plan_service *x = *(const struct tt_plan_service *const *)a;
    const struct tt_plan_service *y = *(const struct tt_plan_service *const *)b;
    return strcmp(x->key, y->key);
}

const struct tt_plan *lb_plan_view(const struct lb_plan *p)
{
    assert(p->sealed);
    const struct tt_operation **ops = ARENA_ARRAY(p->a, const struct tt_operation *, p->n_ops);
    uint32_t calls = p->reads;
    for (size_t i = 0; i < p->n_ops; i++) {
        ops[i] = operation_view(p, i);
        calls += p->ops[i].verb != LB_KEEP ? p->ops[i].calls : 0;
    }
    const struct tt_plan_service **services =
        ARENA_ARRAY(p->a, const struct tt_plan_service *, p->n_services);
    for (size_t i = 0; i < p->n_services; i++) {
        services[i] = service_view(p->a, &p->services[i]);
    }
    qsort(services, p->n_services, sizeof *services, cmp_key);
    struct tt_plan *view = ARENA_NEW(p->a, struct tt_plan);
    *view = (struct tt_plan){
        .size = sizeof *view,
        .services = services,
        .operations = ops,
        .n_services = (uint32_t)p->n_services,
        .n_operations = (uint32_t)p->n_ops,
        .waves = (uint32_t)p->waves,
        .calls = calls,
    };
    return view;
}
