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
 * Operations refer to each other by the handle that bs_emit() returns.  Private to gce_bs_*plan.c.
 * Pure. */
#ifndef TRIMTAB_GCE_BS_EMIT_PLAN_H
#define TRIMTAB_GCE_BS_EMIT_PLAN_H

#include "common/lb/diff.h"
#include "providers/gce/backend/gce_bs.h"
#include "providers/gce/ops/gce_emit_plan.h"

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

struct bs_emit {
    struct arena *a;
    struct lb_plan *p;
    const struct gce_bs_facts *f;
    const struct gce_bs_input *in;
    const struct gce_slots *seen;
    struct gce_emit out; /* where they are noted; ops/gce_emit_plan.h */
};
void bs_emit_init(struct bs_emit *e, struct lb_plan *p, const struct gce_bs_facts *f,
                  const struct gce_bs_input *in, const struct gce_slots *seen);
/* gce_emit() and its like, by phase. */
static inline int bs_emit(struct bs_emit *e, enum bs_phase phase, struct lb_op op,
                          struct gce_op arg)
{
    return gce_emit(&e->out, (int)phase, op, arg);
}
static inline void bs_keep(struct bs_emit *e, enum bs_phase phase, enum gce_collection c,
                           const char *name)
{
    gce_emit_keep(&e->out, (int)phase, c, name);
}
static inline int bs_delete(struct bs_emit *e, enum bs_phase phase, enum gce_collection c,
                            const char *name, const char *why)
{
    return gce_emit_delete(&e->out, (int)phase, (struct gce_op){.c = c, .name = name}, why);
}
static inline struct gce_pending *bs_pending_of(struct bs_emit *e, int handle)
{
    return gce_emit_at(&e->out, handle);
}
static inline struct lb_op *bs_op(struct bs_emit *e, int handle)
{
    return &bs_pending_of(e, handle)->draft.op;
}
static inline bool bs_deletes(const struct bs_emit *e, enum gce_collection c, const char *name)
{
    return gce_emit_deletes(&e->out, c, name);
}
static inline bool bs_changes(const struct bs_emit *e)
{
    return gce_emit_changes(&e->out);
}
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
/* Appends everything to the plan, in order. */
void bs_flush(struct bs_emit *e);
/* gce_bs_order_plan.c: names, for each of the operations just appended, those of the others
 * that it waits for. */
void bs_order(struct lb_plan *p, const struct gce_pending *const *items, size_t n);

#endif
