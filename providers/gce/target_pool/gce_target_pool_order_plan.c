/* SPDX-License-Identifier: Apache-2.0 */
/* gce_target_pool_order_plan.c: which operation on a target pool's load balancer waits for which
 * others.
 *
 * The planners append operations in an order that reads well; here each gets the names of those
 * before it that it needs, so that an address comes after its longest chain and not after the
 * slowest of each wave.  One table for all three planners:
 *
 *     an address that is held           one of its name that cannot serve has gone
 *     a firewall that lets in           the deny firewall that goes, so that deny never wins over
 *                                       allow
 *     a pool, its members               what was done to the pool before; its check
 *     another check in a pool           the same, and the firewall that lets the check in: no pool
 *                                       may lose a node for want of it
 *     a forwarding rule                 its pool with all members
 *     the deny firewall                 all that lets in
 *     what is used no more              whatever used it: pool after rule, check after pool, its
 *                                       firewall after the check
 *
 * References (a firewall names the held address) and conditions are waited for without a row.  A
 * rule that is made again is critical, so it is a barrier: all before it stands, and all behind it
 * comes later.
 * Source: gce-cloud-provider.md §4.3–§4.10, §4.13.  Pure. */
#include "common/base/str.h"
#include "providers/gce/target_pool/gce_target_pool_emit_plan.h"

/* Kind of an operation in the table; bits. */
#define HOLD       0x001u
#define FREE       0x002u /* an address goes */
#define CHECK      0x004u
#define CHECK_WALL 0x008u /* the firewall that lets the health checks in */
#define TRAFFIC    0x010u
#define DENY       0x020u
#define ALLOW_GOES 0x040u /* a firewall is deleted: one that lets in */
#define DENY_GOES  0x080u
#define POOL       0x100u
#define POOL_GOES  0x200u
#define RULE       0x400u
#define RULE_GOES  0x800u
#define CHECK_GOES 0x1000u
#define WALL_GOES  0x2000u /* the firewall of a check */
#define SWAP       0x4000u /* a pool asks another check */

static unsigned firewall_role(const struct gce_tp_op *arg)
{
    const struct gce_tp_desired *d = arg->d;
    if (arg->firewall == &d->traffic) {
        return TRAFFIC;
    }
    return arg->firewall == &d->deny ? DENY : CHECK_WALL;
}

static unsigned wall_goes_role(const struct gce_names *names, const char *name)
{
    if (str_eq(name, names->deny_firewall)) {
        return DENY_GOES;
    }
    return str_eq(name, names->firewall) ? ALLOW_GOES : WALL_GOES;
}

static unsigned role_of(const struct gce_names *names, const struct gce_tp_op *arg)
{
    switch (arg->action) {
    case GCE_TP_HOLD_ADDRESS:
        return HOLD;
    case GCE_TP_DELETE_ADDRESS:
        return FREE;
    case GCE_TP_INSERT_CHECK:
    case GCE_TP_UPDATE_CHECK:
        return CHECK;
    case GCE_TP_INSERT_FIREWALL:
    case GCE_TP_PATCH_FIREWALL:
        return firewall_role(arg);
    case GCE_TP_INSERT_POOL:
    case GCE_TP_ADD_MEMBERS:
    case GCE_TP_REMOVE_MEMBERS:
        return POOL;
    case GCE_TP_SWAP_CHECK:
        return SWAP;
    case GCE_TP_DELETE_POOL:
        return POOL_GOES;
    case GCE_TP_INSERT_RULE:
        return RULE;
    case GCE_TP_DELETE_RULE:
        return RULE_GOES;
    case GCE_TP_DELETE_CHECK:
        return CHECK_GOES;
    case GCE_TP_DELETE_FIREWALL:
        return wall_goes_role(names, arg->name);
    default:
        return 0; /* an undo is no operation of a plan */
    }
}

/* The operations that one of the role waits for, among those before it. */
static unsigned waits_for(unsigned role)
{
    switch (role) {
    case HOLD:
        return FREE;
    case CHECK_WALL:
    case TRAFFIC:
        return DENY_GOES;
    case POOL:
        return CHECK | POOL | SWAP | POOL_GOES;
    case SWAP:
        return CHECK | CHECK_WALL | POOL;
    case POOL_GOES:
        return RULE_GOES | POOL | SWAP;
    case RULE:
        return POOL | SWAP | POOL_GOES | RULE_GOES | HOLD | FREE;
    case DENY:
        return TRAFFIC | CHECK_WALL;
    case FREE:
        return RULE_GOES;
    case CHECK_GOES:
        return POOL | SWAP | POOL_GOES | RULE;
    case WALL_GOES:
        return POOL | SWAP | POOL_GOES | RULE | CHECK_GOES;
    default:
        return 0;
    }
}

void tp_order(struct tp_emit *e, const struct gce_names *names, size_t from)
{
    struct lb_plan *p = e->p;
    for (size_t i = from; i < p->n_ops; i++) {
        const struct gce_tp_op *arg = p->ops[i].arg;
        if (p->ops[i].verb == LB_KEEP) {
            continue;
        }
        unsigned on = waits_for(role_of(names, arg));
        lb_plan_after(p, (int)i, arg->ip.text == NULL && arg->ip.output != NULL ? arg->ip.op : -1);
        for (size_t k = from; k < i; k++) {
            const struct lb_op *other = &p->ops[k];
            if (other->verb != LB_KEEP && (role_of(names, other->arg) & on) != 0) {
                lb_plan_after(p, (int)i, (int)k);
            }
        }
    }
}
