/* SPDX-License-Identifier: Apache-2.0 */
/* plan_print.h: a plan as text for people (ux.md) and as JSON for programs (interfaces.md).  Pure.
 *
 * Works on the ABI's struct tt_plan, so that a plugin's plan prints like a built-in's.  Text is
 * stable, sorted, fits the columns of its buffer (str.h); colour only when asked for. */
#ifndef TRIMTAB_LB_PLAN_PRINT_H
#define TRIMTAB_LB_PLAN_PRINT_H

#include "common/base/str.h"
#include "common/data/json.h"

#include <stdbool.h>
#include <trimtab/provider.h>

/* How a field's new value stands in a plan when an operation will tell it: with that one's number,
 * in whose place people read its kind and name. */
#define PLAN_KNOWN_AFTER "known after "

struct plan_print {
    bool color;
    bool verbose; /* '=' lines too */
};
/* The same plan with all texts as they may be shown (str_clean()); in `a`, or borrowed. */
const struct tt_plan *plan_clean(struct arena *a, const struct tt_plan *plan);
/* Prints plan_clean(plan).  The message of a Service whose code is TT_OK says why there
 * is nothing to do. */
void plan_print_text(struct str_buf *b, const struct tt_plan *plan, const struct plan_print *how);
/* "6 to create, 0 to change, 1 to delete"; where reservations are given back, in their place "6 to
 * create (the reservation is given back at the end)": they are not counted, and neither is
 * what is 0. */
void plan_print_counts(struct str_buf *b, const struct tt_plan *plan);
/* {"services": […], "summary": {…}}; new reference. */
struct json_object *plan_print_json(const struct tt_plan *plan);
/* Joins plans of several Services into one (services sorted by key; operations
 * renumbered, waves kept). */
const struct tt_plan *plan_join(struct arena *a, const struct tt_plan *const *plans, size_t n);

#endif
