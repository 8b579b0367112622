/* SPDX-License-Identifier: Apache-2.0 */
/* draft.h: operations before they have a place in a plan.
 *
 * The parts of a planner (addresses, rules, firewalls …) do not know each other's operations.  Each
 * notes its own as drafts: a draft names a phase, and refers to other drafts by their handles
 * (only_if_op, sent_after, and values "known after" another operation).  lb_drafts_place() appends
 * them phase by phase, those of one phase side by side and in the order in which they were noted,
 * and turns handles into indexes of the plan.  So the order of phases is written down once.
 *
 *     struct mine { struct lb_draft draft; … };          the draft is the first member
 *     lb_drafts_init(&d, a, sizeof(struct mine));
 *     int h = lb_drafts_add(&d, &(struct mine){.draft = LB_DRAFT(PHASE, op), …});
 *     lb_drafts_place(&d, &how);
 *
 * A reference leads to an earlier phase, or within a phase to an earlier draft; another one is a
 * planner's mistake and asserted.  Pure; one thread; everything is in the arena. */
#ifndef TRIMTAB_LB_DRAFT_H
#define TRIMTAB_LB_DRAFT_H

#include "common/lb/plan.h"

struct lb_draft {
    int phase;       /* 0 … n_phases - 1 */
    struct lb_op op; /* indexes in it are handles until it is placed */
    int at;          /* index in the plan; -1: it is not placed */
    bool aside;      /* it is never placed: another operation's undo */
};
#define LB_DRAFT(phase_, op_) ((struct lb_draft){.phase = (phase_), .op = (op_), .at = -1})

struct lb_drafts {
    struct arena *a;
    size_t size; /* of one item */
    void *items; /* n of them; moves when one is added */
    size_t n;
    size_t cap;
};
void lb_drafts_init(struct lb_drafts *d, struct arena *a, size_t size);
/* Appends a copy; returns its handle, 0…, which is good for these drafts until they are cleared. */
int lb_drafts_add(struct lb_drafts *d, const void *one);
/* The draft of a handle; valid until the next one is added. */
void *lb_drafts_at(const struct lb_drafts *d, int handle);
/* The index in the plan of a draft that is placed; a negative handle stays. */
int lb_drafts_index(const struct lb_drafts *d, int handle);
/* The value with the index in place of the handle. */
struct lb_value lb_drafts_value(const struct lb_drafts *d, struct lb_value v);

struct lb_drafts_how {
    struct lb_plan *plan;
    const char *key;
    int n_phases;
    size_t most; /* operations side by side in a wave of a phase; 0: no limit */
    /* Completes an operation whose indexes are resolved, just before it is added; may be NULL. */
    void (*complete)(void *arg, struct lb_draft *draft);
    /* It is in the plan; may be NULL. */
    void (*placed)(void *arg, struct lb_draft *draft);
    void *arg;
};
/* Appends all drafts to the plan; they stay until lb_drafts_clear(). */
void lb_drafts_place(struct lb_drafts *d, const struct lb_drafts_how *how);
void lb_drafts_clear(struct lb_drafts *d);

#endif
