/* SPDX-License-Identifier: Apache-2.0 */
/* gce_emit_plan.h: how Google's planners note their operations and put them in order, whatever the
 * kind of balancer.
 *
 * A planner notes each operation with the phase that it belongs to; gce_emit_flush() appends them
 * to the plan phase by phase (common/lb/draft.h), and then the kind's own table says which waits
 * for which.  Operations refer to each other by the handle that gce_emit() returns; flushing makes
 * indexes of them.  Pure; everything lives in the plan's arena. */
#ifndef TRIMTAB_GCE_EMIT_PLAN_H
#define TRIMTAB_GCE_EMIT_PLAN_H

#include "common/lb/draft.h"
#include "providers/gce/model/gce_resources.h"
#include "providers/gce/ops/gce_ops.h"

/* An operation that is noted. */
struct gce_pending {
    struct lb_draft draft; /* first: common/lb/draft.h */
    struct gce_op *arg;    /* NULL: kept, or another planner's */
    /* marks for the kind's table */
    bool of_check;      /* a firewall: it lets health checks in */
    bool turns;         /* a backend service: it gets another check, which must be let in before */
    bool narrows;       /* a firewall: the former address goes from it */
    bool needs_members; /* and which only those pass that join in the same plan */
    bool first;         /* a reservation: all operations behind it wait for it */
    bool after_former;  /* a firewall: the rule of another kind has its clients until it goes */
};
struct gce_emit {
    struct arena *a;
    struct lb_plan *p;
    const char *key;            /* of the Service */
    const struct tt_call *call; /* for reports */
    /* Shared VPC: the project whose firewalls another team may have to change; else NULL */
    const char *host_project;
    /* The last try was refused a reservation: nothing else is changed before it is there
     * (docs/adr/0074). */
    bool holds_first;
    struct lb_drafts drafts; /* of struct gce_pending */
};
void gce_emit_init(struct gce_emit *e, struct lb_plan *p, const char *key,
                   const struct tt_call *call, const char *host_project);
/* Notes an operation that `arg` carries out (kind, type and calls are filled in from it; the name,
 * too, unless op has one); returns its handle. */
int gce_emit(struct gce_emit *e, int phase, struct lb_op op, struct gce_op arg);
/* The resource is as it should be. */
void gce_emit_keep(struct gce_emit *e, int phase, enum gce_collection c, const char *name);
/* Deletes: what is gone already is fine.  A firewall on a Shared VPC may be the host
 * project's to delete. */
int gce_emit_delete(struct gce_emit *e, int phase, struct gce_op arg, const char *why);
/* Notes an operation as it is: another planner's. */
int gce_emit_foreign(struct gce_emit *e, int phase, struct lb_op op);
/* Notes the operations of a plan for another kind that act on one of the collections (a mask of
 * GCE_WAY_…), with `deletes` or `creates` as their phase: the table of the kind at hand says what
 * they wait for.  Returns their number. */
#define GCE_WAY_ADDRESSES 1u
#define GCE_WAY_OTHERS    2u /* forwarding rules, backend services */
size_t gce_emit_way(struct gce_emit *e, const struct lb_plan *way, unsigned which, int deletes,
                    int creates);
/* An operation that is noted, to be completed; valid until the next one is noted. */
struct gce_pending *gce_emit_at(const struct gce_emit *e, int handle);
/* Is a delete of it noted already? */
bool gce_emit_deletes(const struct gce_emit *e, enum gce_collection c, const char *name);
/* Is there anything noted that changes something? */
bool gce_emit_changes(const struct gce_emit *e);
/* How an operation is undone (plan.h, lb_undo): `arg` is carried out unless the resource
 * `until` is made after it. */
const struct lb_undo *gce_emit_undo(struct gce_emit *e, struct gce_op arg,
                                    enum gce_collection until, const char *until_name);
/* Names, for each of the operations just appended, those of the others that it waits for. */
typedef void gce_emit_order(struct lb_plan *p, const struct gce_pending *const *items, size_t n,
                            const void *arg);
/* How the right to delete one is shown while all stands (plan.h, `proof`): the name is that of
 * none, and begins as `name`, as a condition of a role may ask for. */
const struct lb_undo *gce_emit_proof(struct gce_emit *e, enum gce_collection c, const char *name);
/* How an insert is asked for while its name is taken (plan.h, `asked`). */
const struct lb_undo *gce_emit_asked(const struct gce_emit *e, struct gce_op arg);
/* Appends everything to the plan: phases 0 … n_phases - 1, then `order`. */
void gce_emit_flush(struct gce_emit *e, int n_phases, gce_emit_order *order, const void *arg);

/* A command by hand for a firewall on a Shared VPC (gce_op.command); nothing elsewhere.  `f` has
 * GCE_LATER where a value is known later. */
void gce_emit_by_hand(const struct gce_emit *e, struct gce_op *arg, const struct gce_firewall *f);
/* A text that tells a value which is known later: `text` has GCE_LATER in its place. */
struct gce_op_late gce_late_text(struct arena *a, const char *member, const char *text,
                                 struct lb_value v);
/* A tree that goes with the arena; NULL stays NULL. */
struct json_object *gce_own(struct arena *a, struct json_object *o);

#endif
