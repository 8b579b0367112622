/* SPDX-License-Identifier: Apache-2.0 */
/* gce_target_pool_order_plan.c: which operation on a target pool's load balancer waits for which
 * others.
 *
 * The planners append operations in an order that reads well; here each gets the names of those
 * before it that it needs, so that an address comes after its longest chain and not after the
 * slowest of each wave.  One table for all three planners:
 *
 *     an address that is held           one of its name that cannot serve has gone
 *     all others                        a reservation that the last try was refused
 *     a firewall that lets in           the deny firewall that goes, so that deny never wins over
 *                                       allow
 *     a pool, its members               what was done to the pool before; its check
 *     another check in a pool           the same, and the firewall that lets the check in: no pool
 *                                       may lose a node for want of it
 *     a forwarding rule that goes       its address that is held; of another kind, too: all that
 *                                       its replacement needs to serve at once
 *     a firewall that the rule of       that rule, which goes
 *     another kind has, too
 *     a forwarding rule                 its pool with all members
 *     a firewall without the former     the new rule, the deny firewall
 *     address
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
#define NARROW     0x8000u /* a firewall lets clients in to the new address alone */

static unsigned firewall_role(const struct gce_names *names, const struct gce_op *arg)
{
    bool goes = arg->verb == GCE_DELETE;
    if (str_eq(arg->name, names->firewall)) {
        return goes ? ALLOW_GOES : TRAFFIC;
    }
    if (str_eq(arg->name, names->deny_firewall)) {
        return goes ? DENY_GOES : DENY;
    }
    return goes ? WALL_GOES : CHECK_WALL;
}

static unsigned pool_role(enum gce_verb verb)
{
    switch (verb) {
    case GCE_DELETE:
        return POOL_GOES;
    case GCE_ADD_CHECK:
    case GCE_REMOVE_CHECK:
        return SWAP;
    default:
        return POOL;
    }
}

static unsigned role_of(const struct gce_names *names, const struct gce_pending *one)
{
    const struct gce_op *arg = one->arg;
    if (arg == NULL) {
        return 0; /* it stays as it is */
    }
    bool goes = arg->verb == GCE_DELETE;
    switch (arg->c) {
    case GCE_ADDRESSES:
        return goes ? FREE : HOLD;
    case GCE_CHECKS:
        return goes ? CHECK_GOES : CHECK;
    case GCE_FIREWALLS:
        return one->narrows ? NARROW : firewall_role(names, arg);
    case GCE_POOLS:
        return pool_role(arg->verb);
    default:
        return goes ? RULE_GOES : RULE;
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
    case RULE_GOES:
        return HOLD | CHECK | CHECK_WALL | TRAFFIC | POOL | SWAP;
    case RULE:
        return POOL | SWAP | POOL_GOES | RULE_GOES | HOLD | FREE;
    case NARROW:
        return TRAFFIC | CHECK_WALL | DENY | RULE | RULE_GOES;
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

void tp_order(struct lb_plan *p, const struct gce_pending *const *items, size_t n, const void *arg)
{
    const struct gce_names *names = arg;
    for (size_t i = 0; i < n; i++) {
        const struct gce_op *op = items[i]->arg;
        int at = items[i]->draft.at;
        bool barrier = items[i]->draft.op.critical; /* it waits for all before it in any case */
        unsigned on = barrier ? 0 : waits_for(role_of(names, items[i]));
        on |= items[i]->after_former ? RULE_GOES : 0;
        if (op == NULL) {
            continue;
        }
        lb_plan_after(p, at, op->n_late > 0 ? op->late[0].value.op : -1);
        for (size_t k = 0; k < i; k++) {
            if (items[k]->first || (role_of(names, items[k]) & on) != 0) {
                lb_plan_after(p, at, items[k]->draft.at);
            }
        }
    }
}
