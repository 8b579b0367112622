/* SPDX-License-Identifier: Apache-2.0 */
/* gce_target_pool_emit_plan.h: what the three planners of target pools (ensure, members, delete)
 * share: noting operations in waves, their order, and the words for them.  Private to
 * gce_target_pool_*plan.c.  Pure. */
#ifndef TRIMTAB_GCE_TARGET_POOL_EMIT_PLAN_H
#define TRIMTAB_GCE_TARGET_POOL_EMIT_PLAN_H

#include "common/lb/diff.h"
#include "providers/gce/model/gce_target_pool.h"
#include "providers/gce/ops/gce_emit_plan.h"

/* A planner at work on one Service. */
struct tp_emit {
    struct arena *a;
    struct lb_plan *p;
    const struct gce_tp_facts *facts;
    const struct gce_tp_input *in;
    const struct gce_tp_desired *d; /* NULL in DELETE and UPDATE */
    const struct gce_tp_observed *o;
    struct gce_emit out; /* where operations are noted; their phases are waves, in order */
    int wave;            /* the current one */
    bool wave_open;      /* something is in it */
};
void tp_emit_init(struct tp_emit *e, struct lb_plan *p, const struct gce_tp_facts *facts,
                  const struct gce_tp_input *in, const struct gce_tp_observed *o);
/* The operations that follow are printed as a step of their own. */
void tp_next_wave(struct tp_emit *e);
/* Notes the operation in the current wave; returns its handle. */
int tp_emit(struct tp_emit *e, struct lb_op op, struct gce_op arg);
/* An operation that is noted, to be completed; valid until the next one is noted. */
struct lb_op *tp_op(const struct tp_emit *e, int handle);
/* The undo of an operation: carries out `arg` unless the Service's forwarding rule, or with
 * `until` GCE_POOLS its target pool, is made after it. */
const struct lb_undo *tp_undo(struct tp_emit *e, struct gce_op arg, enum gce_collection until);
/* Appends everything to the plan; each operation gets the names of those that it waits for
 * (gce_target_pool_order_plan.c). */
void tp_flush(struct tp_emit *e, const struct gce_names *names);
/* That order; `arg`: the names. */
void tp_order(struct lb_plan *p, const struct gce_pending *const *items, size_t n, const void *arg);
/* A resource that is as it should be. */
void tp_keep(struct tp_emit *e, enum gce_collection c, const char *name);
int tp_delete(struct tp_emit *e, enum gce_collection c, const char *name, const char *why);
/* addInstance and removeInstance in chunks, each in a wave of its own; adds before removes. */
void tp_members(struct tp_emit *e, const char *pool, const struct str_set *now,
                const struct str_set *then, const char *why);
/* The pool's members as "/zones/Z/instances/N". */
struct str_set tp_pool_members(struct arena *a, const struct gce_pool *pool);
/* Holds the address of the rule that goes, unless another reservation has it or the cloud has no
 * room for one more: then it is given up with the rule, as the plan says of it in any case.
 * Returns the operation's handle, -1 where there is none. */
int tp_hold_former(struct tp_emit *e, const struct gce_names *names);
/* The pool as it stands, made again: an insert, and what it has no room for. */
struct gce_op tp_pool_again(struct arena *a, const struct gce_pool *pool);

#endif
