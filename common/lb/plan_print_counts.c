/* SPDX-License-Identifier: Apache-2.0 */
/* plan_print_counts.c: the numbers of a plan in words; a reservation that is given back is not
 * called a delete.
 *
 * A plan that makes a load balancer may reserve an address for as long as it runs, and give the
 * reservation back at its end:  that is a delete, but nothing goes away.  Such operations
 * (TT_OP_GIVES_BACK) get words of their own; the JSON summary counts them as deletes.  Part of
 * plan_print.h.  Pure. */
#include "common/lb/plan_print.h"

#include <string.h>

/* How many operations there are of each kind that the line names. */
struct counts {
    size_t create;
    size_t change;
    size_t delete;
    size_t ours; /* reservations of this plan that it gives back */
    size_t left; /* those of an earlier plan, which was interrupted */
};

static bool gives_back(const struct tt_operation *op)
{
    return op->verb == TT_OP_DELETE && (op->flags & TT_OP_GIVES_BACK) != 0;
}

static bool is_made_before(const struct tt_plan *plan, const struct tt_operation *op)
{
    for (uint32_t i = 0; i < plan->n_operations && plan->operations[i] != op; i++) {
        const struct tt_operation *o = plan->operations[i];
        if (o->verb == TT_OP_CREATE && strcmp(o->kind, op->kind) == 0 &&
            strcmp(o->name, op->name) == 0) {
            return true;
        }
    }
    return false;
}

static struct counts count(const struct tt_plan *plan)
{
    struct counts n = {0};
    for (uint32_t i = 0; i < plan->n_operations; i++) {
        const struct tt_operation *op = plan->operations[i];
        if (gives_back(op)) {
            bool ours = is_made_before(plan, op);
            n.ours += ours;
            n.left += !ours;
        } else {
            n.create += op->verb == TT_OP_CREATE;
            n.change += op->verb == TT_OP_CHANGE;
            n.delete += op->verb == TT_OP_DELETE;
        }
    }
    return n;
}

static void append_ours(struct str_buf *b, size_t n)
{
    if (n == 1) {
        str_append(b, "the reservation is given back at the end");
    } else if (n > 1) {
        str_appendf(b, "the %zu reservations are given back at the end", n);
    }
}

static void append_left(struct str_buf *b, size_t n)
{
    if (n == 1) {
        str_append(b, "the reservation of an interrupted run is given back");
    } else if (n > 1) {
        str_appendf(b, "%zu reservations of interrupted runs are given back", n);
    }
}

void plan_print_counts(struct str_buf *b, const struct tt_plan *plan)
{
    struct counts n = count(plan);
    const struct {
        size_t n;
        const char *words;
    } parts[] = {{n.create, "to create"}, {n.change, "to change"}, {n.delete, "to delete"}};
    bool all = n.ours + n.left == 0;
    bool any = false;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        if (all || parts[i].n > 0) {
            str_appendf(b, "%s%zu %s", any ? ", " : "", parts[i].n, parts[i].words);
            any = true;
        }
    }
    if (!all) {
        str_append(b, any ? " (" : "");
        append_ours(b, n.ours);
        str_append(b, n.ours > 0 && n.left > 0 ? ", " : "");
        append_left(b, n.left);
        str_append(b, any ? ")" : "");
    }
}
