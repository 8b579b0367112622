/* SPDX-License-Identifier: Apache-2.0 */
/* gce_target_pool_emit_plan.h: what the three planners of target pools (ensure, members, delete)
 * share: appending operations, their order, and the words for them.  Private to
 * gce_target_pool_*plan.c.  Pure. */
#ifndef TRIMTAB_GCE_TARGET_POOL_EMIT_PLAN_H
#define TRIMTAB_GCE_TARGET_POOL_EMIT_PLAN_H

#include "common/lb/diff.h"
#include "providers/gce/model/gce_target_pool.h"

#define TP_KIND_ADDRESS  "address"
#define TP_KIND_RULE     "forwarding rule"
#define TP_KIND_POOL     "target pool"
#define TP_KIND_FIREWALL "firewall"
#define TP_KIND_CHECK    "health check"

/* A planner at work on one Service. */
struct tp_emit {
    struct arena *a;
    struct lb_plan *p;
    const struct gce_tp_facts *facts;
    const struct gce_tp_input *in;
    const struct gce_tp_desired *d; /* NULL in DELETE and UPDATE */
    const struct gce_tp_observed *o;
    bool wave_open; /* something is in the current wave */
};
/* The operations that follow wait for those before. */
void tp_next_wave(struct tp_emit *e);
/* Appends the operation with its argument to the current wave; returns its index. */
int tp_emit(struct tp_emit *e, struct lb_op op, struct gce_tp_op arg);
/* The undo of an operation on the kind and name: carries out `arg` unless the Service's forwarding
 * rule, or `until_pool` its target pool, is made after it. */
const struct lb_undo *tp_undo(struct tp_emit *e, const char *kind, const char *name,
                              struct gce_tp_op arg, bool until_pool);
/* Names, for each operation of the plan from index `from` on, those of the others that
 * it waits for. */
void tp_order(struct tp_emit *e, const struct gce_names *names, size_t from);
/* A resource that is as it should be. */
void tp_keep(struct tp_emit *e, const char *kind, const char *name);
/* Deletes a resource.  Firewalls of a Shared VPC may be forbidden: `told` says whether the owner
 * hears of it. */
int tp_delete(struct tp_emit *e, enum gce_tp_action action, const char *name, const char *why);
int tp_delete_firewall(struct tp_emit *e, const char *name, const char *why, bool told);
/* Tolerated outcomes of a firewall operation: lack of permission where the network is another
 * project's. */
unsigned tp_forbidden_is_fine(const struct tp_emit *e);
/* addInstance and removeInstance in chunks, each in a wave of its own; adds before removes. */
void tp_members(struct tp_emit *e, const char *pool, const struct str_set *now,
                const struct str_set *then, const char *why);
/* The pool's members as "/zones/Z/instances/N". */
struct str_set tp_pool_members(struct arena *a, const struct gce_pool *pool);

#endif
