/* SPDX-License-Identifier: Apache-2.0 */
/* plan_clean.c: a plan whose texts may be shown: what annotations, names in the cloud and plugins
 * put there is escaped.
 *
 * Part of plan_print.h.  JSON has the texts as they are.  Pure. */
#include "common/lb/plan_print.h"

static const struct tt_field *clean_fields(struct arena *a, const struct tt_operation *op)
{
    struct tt_field *out = ARENA_ARRAY(a, struct tt_field, op->n_fields);
    for (uint32_t i = 0; i < op->n_fields; i++) {
        out[i] = (struct tt_field){.path = str_clean(a, op->fields[i].path),
                                   .old_text = str_clean(a, op->fields[i].old_text),
                                   .new_text = str_clean(a, op->fields[i].new_text)};
    }
    return out;
}

static const struct tt_operation *clean_operation(struct arena *a, const struct tt_operation *in)
{
    struct tt_operation *op = ARENA_NEW(a, struct tt_operation);
    *op = *in;
    op->kind = str_clean(a, in->kind);
    op->name = str_clean(a, in->name);
    op->api_kind = str_clean(a, in->api_kind);
    op->why = str_clean(a, in->why);
    op->summary = str_clean(a, in->summary);
    op->note = str_clean(a, in->note);
    op->owners = str_clean_all(a, in->owners, in->n_owners);
    op->fields = clean_fields(a, in);
    return op;
}

static const struct tt_finding *const *clean_findings(struct arena *a,
                                                      const struct tt_plan_service *in)
{
    const struct tt_finding **out = ARENA_ARRAY(a, const struct tt_finding *, in->n_findings);
    for (uint32_t i = 0; i < in->n_findings; i++) {
        struct tt_finding *f = ARENA_NEW(a, struct tt_finding);
        *f = (struct tt_finding){.size = sizeof *f,
                                 .reason = str_clean(a, in->findings[i]->reason),
                                 .field = str_clean(a, in->findings[i]->field),
                                 .message = str_clean(a, in->findings[i]->message)};
        out[i] = f;
    }
    return out;
}

static const struct tt_plan_service *clean_service(struct arena *a,
                                                   const struct tt_plan_service *in)
{
    struct tt_plan_service *s = ARENA_NEW(a, struct tt_plan_service);
    *s = *in;
    s->key = str_clean(a, in->key);
    s->kind = str_clean(a, in->kind);
    s->address = str_clean(a, in->address);
    s->message = str_clean(a, in->message);
    s->because = str_clean_all(a, in->because, in->n_because);
    s->effects = str_clean_all(a, in->effects, in->n_effects);
    s->findings = clean_findings(a, in);
    s->serves_nobody = str_clean(a, in->serves_nobody);
    s->left = str_clean_all(a, in->left, in->n_left);
    return s;
}

const struct tt_plan *plan_clean(struct arena *a, const struct tt_plan *plan)
{
    struct tt_plan *out = ARENA_NEW(a, struct tt_plan);
    const struct tt_plan_service **services =
        ARENA_ARRAY(a, const struct tt_plan_service *, plan->n_services);
    const struct tt_operation **operations =
        ARENA_ARRAY(a, const struct tt_operation *, plan->n_operations);
    for (uint32_t i = 0; i < plan->n_services; i++) {
        services[i] = clean_service(a, plan->services[i]);
    }
    for (uint32_t i = 0; i < plan->n_operations; i++) {
        operations[i] = clean_operation(a, plan->operations[i]);
    }
    *out = *plan;
    out->services = services;
    out->operations = operations;
    return out;
}
