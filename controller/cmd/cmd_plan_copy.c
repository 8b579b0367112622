/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_plan_copy.c: deep copies of plans; see the header.
 *
 * The structs are size-versioned: of each only the bytes that its maker had are read. */
#include "controller/cmd/cmd_plan_copy.h"

#include <string.h>

#include "common/base/str.h"

static const char *const *copy_texts(struct arena *a, const char *const *items, uint32_t n)
{
    const char **out = ARENA_ARRAY(a, const char *, n);
    for (uint32_t i = 0; i < n; i++) {
        out[i] = arena_strdup(a, items[i]);
    }
    return out;
}

static const struct tt_field *copy_fields(struct arena *a, const struct tt_field *fields,
                                          uint32_t n)
{
    struct tt_field *out = ARENA_ARRAY(a, struct tt_field, n);
    for (uint32_t i = 0; i < n; i++) {
        out[i].path = arena_strdup(a, fields[i].path);
        out[i].old_text = arena_strdup(a, fields[i].old_text);
        out[i].new_text = arena_strdup(a, fields[i].new_text);
    }
    return out;
}

/* The maker's struct in one of our size. */
static void copy_struct(void *out, size_t n, const void *in, size_t n_in)
{
    memset(out, 0, n);
    memcpy(out, in, n_in < n ? n_in : n);
    memcpy(out, &n, sizeof n); /* `size` is the first member */
}

static const struct tt_operation *copy_operation(struct arena *a, const struct tt_operation *in)
{
    struct tt_operation *op = ARENA_NEW(a, struct tt_operation);
    copy_struct(op, sizeof *op, in, in->size);
    op->kind = arena_strdup(a, op->kind);
    op->name = arena_strdup(a, op->name);
    op->api_kind = arena_strdup(a, op->api_kind);
    op->why = arena_strdup(a, op->why);
    op->summary = arena_strdup(a, op->summary);
    op->note = arena_strdup(a, op->note);
    op->owners = copy_texts(a, op->owners, op->n_owners);
    op->fields = copy_fields(a, op->fields, op->n_fields);
    if (op->n_after > 0) {
        op->after = arena_memdup(a, op->after, op->n_after * sizeof *op->after);
    }
    return op;
}

static void copy_because(struct arena *a, struct tt_plan_service *s, const struct cmd_note *notes,
                         size_t n_notes)
{
    const char **out = ARENA_ARRAY(a, const char *, s->n_because + n_notes);
    uint32_t n = 0;
    for (; n < s->n_because; n++) {
        out[n] = arena_strdup(a, s->because[n]);
    }
    for (size_t i = 0; i < n_notes; i++) {
        if (str_eq(notes[i].key, s->key)) {
            out[n++] = notes[i].text;
            s->message = notes[i].is_answer && s->code == TT_OK ? notes[i].text : s->message;
        }
    }
    s->because = out;
    s->n_because = n;
}

static const struct tt_finding *const *copy_findings(struct arena *a,
                                                     const struct tt_plan_service *s)
{
    const struct tt_finding **out = ARENA_ARRAY(a, const struct tt_finding *, s->n_findings);
    for (uint32_t i = 0; i < s->n_findings; i++) {
        struct tt_finding *f = ARENA_NEW(a, struct tt_finding);
        copy_struct(f, sizeof *f, s->findings[i], s->findings[i]->size);
        f->reason = arena_strdup(a, f->reason);
        f->field = arena_strdup(a, f->field);
        f->message = arena_strdup(a, f->message);
        out[i] = f;
    }
    return out;
}

static struct tt_plan_service *copy_service(struct arena *a, const struct tt_plan_service *in)
{
    struct tt_plan_service *s = ARENA_NEW(a, struct tt_plan_service);
    copy_struct(s, sizeof *s, in, in->size);
    s->key = arena_strdup(a, s->key);
    s->kind = arena_strdup(a, s->kind);
    s->address = arena_strdup(a, s->address);
    s->message = arena_strdup(a, s->message);
    s->effects = copy_texts(a, s->effects, s->n_effects);
    s->findings = copy_findings(a, s);
    s->serves_nobody = arena_strdup(a, s->serves_nobody);
    s->left = copy_texts(a, s->left, s->n_left);
    return s;
}

const struct tt_plan *cmd_plan_copy(struct arena *a, const struct tt_plan *plan,
                                    const struct cmd_note *notes, size_t n_notes)
{
    struct tt_plan *out = ARENA_NEW(a, struct tt_plan);
    copy_struct(out, sizeof *out, plan, plan->size);
    const struct tt_plan_service **services =
        ARENA_ARRAY(a, const struct tt_plan_service *, out->n_services);
    const struct tt_operation **operations =
        ARENA_ARRAY(a, const struct tt_operation *, out->n_operations);
    for (uint32_t i = 0; i < out->n_services; i++) {
        struct tt_plan_service *svc = copy_service(a, plan->services[i]);
        copy_because(a, svc, notes, n_notes);
        services[i] = svc;
    }
    for (uint32_t i = 0; i < out->n_operations; i++) {
        operations[i] = copy_operation(a, plan->operations[i]);
    }
    out->services = services;
    out->operations = operations;
    return out;
}
