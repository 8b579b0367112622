/* SPDX-License-Identifier: Apache-2.0 */
/* gce_bs_emit_plan.h: how the planners of balancers with a backend service put their operations in
 * order.
 *
 * Each part of the planner (address, health checks, rules, firewalls, backends) says for its
 * operations in which phase they belong; bs_flush() appends them phase by phase, and bs_order()
 * names for each those that it waits for.  So the order of gce-l4.md §9.5 is written down once, and
 * no part must know what the others do:
 *
 *     FIRST     what must be gone before anything: an address that cannot be used, a deny firewall
 *               that is switched off
 *     PREPARE   address held ∥ health check ∥ its firewalls ∥ NEGs made, members of the others ∥
 *               traffic firewalls whose address is known
 *     TURN      where rules go and come: the backend service, unless it can only be written while
 *               they are away
 *     UNRULE    forwarding rules that must be made again, or have another name now (critical)
 *     UNBACK    a backend service that cannot be changed into the wanted one
 *     BACKEND   backend service ∥ members of NEGs that were made
 *     RULE      forwarding rules: from here on there is traffic
 *     ALLOW     traffic firewalls whose address was not known before
 *     DENY      deny firewalls: never before the traffic is allowed
 *     DROP      what nothing uses any more; its firewalls follow in
 *     AFTER     the phase after it
 *     RELEASE   the held address is given back (finally)
 *
 * Operations refer to each other by the handle that bs_emit() returns; flushing makes indexes of
 * them.  Private to gce_bs_*plan.c.  Pure. */
#ifndef TRIMTAB_GCE_BS_EMIT_PLAN_H
#define TRIMTAB_GCE_BS_EMIT_PLAN_H

#include "common/lb/diff.h"
#include "common/lb/draft.h"
#include "providers/gce/backend/gce_bs.h"
#include "providers/gce/ops/gce_ops.h"

enum bs_phase {
    BS_FIRST = 0,
    BS_PREPARE,
    BS_TURN,
    BS_UNRULE,
    BS_UNBACK,
    BS_BACKEND,
    BS_RULE,
    BS_ALLOW,
    BS_DENY,
    BS_DROP,
    BS_AFTER,
    BS_RELEASE,
    BS_PHASES,
};

/* An operation that is noted. */
struct bs_pending {
    struct lb_draft draft; /* first: common/lb/draft.h */
    struct gce_op *arg;    /* NULL: kept, or another planner's */
    bool of_check;         /* a firewall: it lets health checks in */
    bool turns;         /* a backend service: it gets another check, which must be let in before */
    bool needs_members; /* and which only those pass that join in the same plan */
};
struct bs_emit {
    struct arena *a;
    struct lb_plan *p;
    const struct gce_bs_facts *f;
    const struct gce_bs_input *in;
    const struct gce_slots *seen;
    struct lb_drafts drafts; /* of struct bs_pending */
};
void bs_emit_init(struct bs_emit *e, struct lb_plan *p, const struct gce_bs_facts *f,
                  const struct gce_bs_input *in, const struct gce_slots *seen);
/* Notes an operation that `arg` carries out (kind, type and calls are filled in from it; the name,
 * too, unless op has one); returns its handle. */
int bs_emit(struct bs_emit *e, enum bs_phase phase, struct lb_op op, struct gce_op arg);
/* The resource is as it should be. */
void bs_keep(struct bs_emit *e, enum bs_phase phase, enum gce_collection c, const char *name);
/* An operation that is noted, to be completed; valid until the next one is noted. */
struct lb_op *bs_op(struct bs_emit *e, int handle);
struct bs_pending *bs_pending_of(struct bs_emit *e, int handle);
/* Deletes: what is gone already is fine.  A firewall on a Shared VPC may be the host
 * project's to delete. */
int bs_delete(struct bs_emit *e, enum bs_phase phase, enum gce_collection c, const char *name,
              const char *why);
/* Operations of another planner, from a plan of its own that is not sealed: each goes into the
 * phase that is named for its verb. */
struct bs_adoption {
    enum bs_phase deletes;
    enum bs_phase creates;
    enum bs_phase
        changes; /* of what is made in the same plan; other changes go with what is made */
    int n_first; /* so many of the first operations go with the deletes, whatever their verb */
};
void bs_adopt(struct bs_emit *e, const struct lb_plan *from, struct bs_adoption where);
/* Is a delete of it noted already? */
bool bs_deletes(const struct bs_emit *e, enum gce_collection c, const char *name);
/* Is there anything noted that changes something? */
bool bs_changes(const struct bs_emit *e);
/* Appends everything to the plan, in order. */
void bs_flush(struct bs_emit *e);
/* gce_bs_order_plan.c: names, for each of the operations just appended, those of the others
 * that it waits for. */
void bs_order(struct lb_plan *p, const struct bs_pending *const *items, size_t n);

/* A text that tells an address which is known later: `text` has BS_LATER in its place. */
#define BS_LATER "@later@"
struct gce_op_late bs_late_text(struct arena *a, const char *member, const char *text,
                                struct lb_value v);
/* A tree that goes with the arena; NULL stays NULL. */
struct json_object *bs_own(struct arena *a, struct json_object *o);

#endif
