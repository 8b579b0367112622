/* SPDX-License-Identifier: Apache-2.0 */
/* driver_internal.h: what driver.c (a sync from begin to end), driver_stage.c (one stage of it),
 * driver_ask.c (may be made again what a stage takes down?) driver_undo.c (what it took away
 * and did not replace), driver_serves.c (what the status names) and driver_retreat.c (what was
 * added in vain) share.
 *
 * Private to common/lb.  A struct drive lives on the stack of one call; one thread. */
#ifndef TRIMTAB_LB_DRIVER_INTERNAL_H
#define TRIMTAB_LB_DRIVER_INTERNAL_H

#include "common/base/map.h"
#include "common/lb/driver.h"
#include "common/lb/exec.h"

#define DRIVER_TRIES 5 /* runs of one sync in all that may end in a conflict */

/* An operation that failed in the last execution. */
struct drive_failure {
    const struct lb_op *op;
    struct err err;
};

/* Something that was taken away, and whose replacement is not there yet
 * (plan.h, struct lb_undo). */
struct drive_debt {
    struct str_set owners;
    const struct lb_undo *undo;
};

struct drive {
    const struct lb_driver_config *cfg;
    struct lb_sync s;
    struct arena *turn;           /* s.a during a turn of a flow that forgets; else NULL */
    bool *held;                   /* per item: its finalizers are on */
    struct map *by_key;           /* the items */
    struct call_watch *own_watch; /* when the provider has none */
    struct call_watch_entry entry;
    /* the plan in progress */
    struct lb_plan plan;
    const struct tt_plan *view;
    bool *told_serving; /* per item: it was reported to serve, for this plan or an earlier one */
    bool last_stage;    /* nothing but tidying is needed behind the stage in progress */
    bool tidies;        /* the stage in progress does nothing else */
    bool *told_leaving; /* per item: the host has heard where it is served during this stage */
    int32_t *unwritten; /* per item: TT_OK, or why the host could not write where it serves */
    bool *withheld;     /* per item: an operation was not begun for that */
    /* of the last execution, in the plan's order; room for each operation */
    const struct drive_failure **failures;
    size_t n_failures;
    struct drive_debt *debts; /* of this sync, the oldest first */
    size_t n_debts;
    size_t cap_debts;
    bool apart;        /* the stage in progress has taken what goes from what comes */
    unsigned n_groups; /* that wait; the last one is tried next */
};

bool drive_has_active(const struct drive *d);
/* Takes one item out of the batch; a failure that it already has stays. */
void drive_fail_item(struct lb_item *item, const struct err *err);
void drive_fail_active(struct drive *d, const struct err *err);
/* Tells the host what of the Service is the provider's own affair; gives it back. */
uint32_t drive_own(const struct drive *d, const struct lb_item *item);
/* Lets the group that waited last take part again.  False: no group waits. */
bool drive_group_release(struct drive *d);
/* Observes, plans and executes one stage until it is done or no item is left. */
void drive_stage(struct drive *d, const struct lb_stage *stage);
/* The host and the flow hear of one operation of d->view; failures are noted. */
void drive_op_done(void *arg, const struct lb_op *op, int index, unsigned outcome,
                   const struct err *err, int64_t took_ms);
/* Before a plan is carried out: items of which it does more than to tidy do not serve yet. */
void drive_serving_begin(struct drive *d);
/* Tells the host of the items that serve already (struct lb_flow, serves); driver_serves.c. */
void drive_note_serving(void *arg, const unsigned *outcomes);
/* May the operation begin, or does it wait for the status (lb_op.awaits_status)? */
bool drive_may_begin(void *arg, const struct lb_op *op, const unsigned *outcomes);
/* After a plan was carried out: items for which it withheld an operation leave the batch. */
void drive_withhold(struct drive *d);
/* Before a plan is carried out: the host writes where its items are served, if that tidies or takes
 * away by what clients reach them (struct lb_stage, tidies and leaves).  True: an item has left the
 * batch, since its status could not be written, and the plan must be made again. */
bool drive_publish_first(struct drive *d, const struct lb_stage *stage);
/* The plan is made again from fresh observations: the host hears of its items again. */
void drive_publish_again(struct drive *d);
/* How this sync executes plans. */
struct lb_exec_config drive_exec_config(struct drive *d);
/* Asks whether what the plan takes down may be made again; nothing has been sent yet.  False: who
 * may not has left the batch, and the plan must be recreated. */
bool drive_ask_first(struct drive *d);
/* Its replacement was refused for a missing right: does the cloud say now, while all stands, that
 * what the plan takes down for the item may be deleted, and its replacement made?  False, too, when
 * that cannot be asked. */
bool drive_proves(struct drive *d, struct lb_item *item);
/* Books what the plan took away, and what it replaced, by the outcomes of its operations. */
void drive_debts_book(struct drive *d, const unsigned *outcomes);
/* Takes back what was added for the sake of items that have failed (lb_flow.retreats). */
void drive_retreat(struct drive *d);
/* Puts back what is owed to items that have failed; their errors say what came of it. */
void drive_put_back(struct drive *d);
/* Appends one stage to the plan of a sync that only plans. */
void drive_stage_plan(struct drive *d, const struct lb_stage *stage);

#endif
