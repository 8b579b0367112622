/* SPDX-License-Identifier: Apache-2.0 */
/* golden_dump.c: prints a plan as people see it, and the hard rules that it carries.
 *
 * People do not need these, but a planner that forgets `critical` or `finally` loses an address one
 * day, so golden files hold them.  Pure. */
#include "tests/golden/golden_dump.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/lb/plan_print.h"

static void put_bits(struct str_buf *b, const char *title, unsigned bits, const char *const *words)
{
    if (bits == 0) {
        return;
    }
    str_appendf(b, ", %s", title);
    for (unsigned i = 0; words[i] != NULL; i++) {
        if ((bits & (1u << i)) != 0) {
            str_appendf(b, " %s", words[i]);
        }
    }
}

static void put_op(struct str_buf *b, const struct lb_op *op, size_t n)
{
    static const char *const verbs[] = {"?", "create", "change", "delete", "keep"};
    static const char *const finals[] = {"no", "always", "when ok", "in place"};
    static const char *const tolerated[] = {"absent", "exists", "in-use", "forbidden", NULL};
    static const char *const outcomes[] = {"done",   "tolerated", "skipped",
                                           "failed", "not-run",   NULL};
    str_appendf(b, "%4zu %s %s %s: %s", n, verbs[op->verb], op->kind, op->name,
                op->type != NULL ? op->type->name : "none");
    str_append(b, op->parallel ? ", parallel" : "");
    str_append(b, op->critical ? ", critical" : "");
    str_append(b, op->shared ? ", shared" : "");
    put_bits(b, "tolerates", op->tolerate, tolerated);
    str_append(b, op->gives_back ? ", gives back" : "");
    if (op->finally != LB_FINALLY_NO) {
        str_appendf(b, ", finally %s", finals[op->finally]);
    }
    if (op->only_if_op >= 0) {
        str_appendf(b, ", only if %d", op->only_if_op + 1);
        put_bits(b, "is", op->only_if, outcomes);
    }
    for (size_t i = 0; i < op->after.n; i++) {
        str_appendf(b, i == 0 ? ", after %d" : " %d", op->after.ops[i] + 1);
    }
    if (op->sent_after >= 0) {
        str_appendf(b, ", sent after %d", op->sent_after + 1);
    }
    str_appendf(b, ", %u calls", op->calls);
    for (size_t i = 0; op->owners.n > 1 && i < op->owners.n; i++) {
        str_appendf(b, "%s%s", i == 0 ? ", for " : " ", op->owners.items[i]);
    }
    str_append_c(b, '\n');
}

/* With TRIMTAB_GOLDEN_JSON, a file: the plan as a document in a line of its own, for
 * documents_test.py. */
static void put_document(const struct tt_plan *view)
{
    const char *path = getenv("TRIMTAB_GOLDEN_JSON");
    FILE *f = path == NULL ? NULL : fopen(path, "a");
    if (f == NULL) {
        return;
    }
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct json_object *doc = plan_print_json(view);
    fprintf(f, "%s\n", json_text(a, doc, JSON_COMPACT));
    json_object_put(doc);
    (void)fclose(f); /* a line that is not there is missed by the test that counts them */
}

void golden_show_plan(struct str_buf *b, const struct tt_plan *view, const struct lb_plan *plan)
{
    const struct plan_print how = {.verbose = true};
    plan_print_text(b, view, &how);
    put_document(view);
    str_append(b, "\nattributes\n");
    for (size_t i = 0; i < plan->n_ops; i++) {
        put_op(b, &plan->ops[i], i + 1);
    }
}

void golden_show_error(struct str_buf *b, const struct err *err)
{
    str_appendf(b, "error: %s: %s\n", err_code_name(err->code), err->message);
}
