/* SPDX-License-Identifier: Apache-2.0 */
/* gce_bs_order_plan.c: which operation on a balancer with a backend service waits for which others.
 *
 * The phases of gce_bs_emit_plan.h are the order in which a plan is read; here each operation gets
 * the names of those before it that it needs, so that an address comes after its longest chain and
 * not after the slowest of each phase.  One table for ENSURE, UPDATE and DELETE of all kinds:
 *
 *     an address that is held            one of trimtab that cannot serve has gone
 *     all others                         a reservation that the last try was refused
 *     a firewall that lets in            the deny firewall that goes, so that deny never wins over
 *                                        allow
 *     members that join a NEG            the NEG; members that leave a full one
 *     members that leave, and none       the members that join
 *     stays
 *     a backend service that is made     its check and its NEGs, or the instance groups that stand
 *                                        before it in the plan; the one of its name, or its place,
 *                                        that goes
 *     one that changes                   the same, and the rules that must not refer to it
 *                                        meanwhile; where it gets another check, the firewall that
 *                                        lets it in, and of policy Local, which only nodes with
 *                                        pods pass, the members that join: no balancer may lose
 *                                        all nodes for want of them
 *     a forwarding rule that goes        all that its replacement needs to serve at once
 *     a forwarding rule that comes       its backend service, its address, the rule that it
 *                                        replaces
 *     a firewall of another address      the rule with that address
 *     one that the rule of another kind  that rule, which goes
 *     has, too
 *     a firewall without the former      the new rule, the deny firewall
 *     address
 *     the deny firewall                  all that lets in; where a rule is replaced, the new one
 *     what is used no more               whatever used it: backend service after rule, check and
 *                                        NEGs after backend service, a check's firewall after the
 *                                        check
 *
 * Nothing of a name is made before the one that goes has gone.  References (a firewall names the
 * rule's address) and conditions are waited for without a row.  A critical operation is a barrier,
 * and an address is given back at the very end.
 * Source: gce-l4.md §4.1, §5.1, §6.1, §9.5; gce-cloud-provider.md §5.3, §5.11.  Pure. */
#include "common/base/str.h"
#include "providers/gce/backend/gce_bs_emit_plan.h"

/* The part that an operation plays in the table; bits. */
#define HOLD         0x000001u
#define FREE         0x000002u /* an address goes */
#define CHECK        0x000004u
#define CHECK_WALL   0x000008u /* the firewall that lets health checks in */
#define TRAFFIC      0x000010u
#define DENY         0x000020u
#define WALL_FIRST   0x000040u /* a firewall goes before others come */
#define WALL_OFF     0x000080u /* a firewall for traffic goes */
#define WALL_GOES    0x000100u /* the firewall of a check */
#define NEG          0x000200u
#define NEG_FIRST    0x000400u /* a NEG, or members of one, go before others come */
#define NEG_GOES     0x000800u
#define JOIN         0x001000u
#define LEAVE        0x002000u
#define BACKEND      0x004000u /* a backend service is made */
#define TURN         0x008000u /* one that stands is changed */
#define BACKEND_GOES 0x010000u
#define RULE         0x020000u
#define RULE_GOES    0x040000u
#define CHECK_GOES   0x080000u
#define NARROW       0x100000u /* a firewall for traffic to the new address alone */

/* All that a new rule needs to serve, but for what cannot come before the old one has gone. */
#define READY (FREE | HOLD | CHECK | CHECK_WALL | TRAFFIC | NEG | JOIN | BACKEND | TURN)

static unsigned firewall_role(const struct gce_pending *one, bool goes)
{
    if (one->narrows) {
        return NARROW;
    }
    if (goes) {
        return one->draft.phase == BS_FIRST   ? WALL_FIRST
               : one->draft.phase == BS_AFTER ? WALL_GOES
                                              : WALL_OFF;
    }
    return one->of_check ? CHECK_WALL : one->draft.phase == BS_DENY ? DENY : TRAFFIC;
}

static unsigned neg_role(const struct gce_pending *one, enum gce_verb verb)
{
    if (one->draft.phase == BS_FIRST) {
        return NEG_FIRST;
    }
    switch (verb) {
    case GCE_INSERT:
        return NEG;
    case GCE_ATTACH:
        return JOIN;
    case GCE_DETACH:
        return LEAVE;
    default:
        return NEG_GOES;
    }
}

static unsigned role_of(const struct gce_pending *one)
{
    const struct gce_op *arg = one->draft.op.arg;
    if (one->draft.op.verb == LB_KEEP) {
        return 0;
    }
    bool goes = arg->verb == GCE_DELETE;
    switch (arg->c) {
    case GCE_ADDRESSES:
        return goes ? FREE : HOLD;
    case GCE_HCS:
    case GCE_REGION_HCS:
        return goes ? CHECK_GOES : CHECK;
    case GCE_FIREWALLS:
        return firewall_role(one, goes);
    case GCE_NEGS:
        return neg_role(one, arg->verb);
    case GCE_BACKENDS:
        return goes ? BACKEND_GOES : arg->verb == GCE_INSERT ? BACKEND : TURN;
    case GCE_RULES:
        return goes ? RULE_GOES : RULE;
    default:
        return 0;
    }
}

/* One that lets no wanted client in goes at once, and so does that of a balancer that goes; else
 * the rule goes before. */
static unsigned wall_off_waits_for(enum bs_phase phase)
{
    switch (phase) {
    case BS_PREPARE:
    case BS_UNRULE:
        return 0;
    case BS_DROP: /* of an older name */
        return TRAFFIC | RULE | RULE_GOES;
    default:
        return RULE_GOES;
    }
}

/* Those, among the ones before it, that the operation waits for; `replaces`: some rule goes
 * in this plan. */
static unsigned waits_for(const struct gce_pending *one, bool replaces)
{
    enum bs_phase phase = (enum bs_phase)one->draft.phase;
    switch (role_of(one)) {
    case HOLD:
        return FREE;
    case FREE:
        return RULE_GOES;
    case CHECK_WALL:
        return WALL_FIRST | (one->after_former ? RULE_GOES : 0);
    case TRAFFIC:
        return WALL_FIRST | (phase == BS_ALLOW ? RULE : 0) | (one->after_former ? RULE_GOES : 0);
    case NARROW: /* behind deny, which names the former address until then */
        return TRAFFIC | DENY | RULE | RULE_GOES;
    case DENY:
        return WALL_FIRST | TRAFFIC | CHECK_WALL | (replaces ? RULE : 0);
    case NEG:
    case JOIN:
        return NEG_FIRST;
    case LEAVE:
        return ((const struct gce_op *)one->draft.op.arg)->swaps ? JOIN : 0;
    case BACKEND:
        return CHECK | NEG | RULE_GOES | BACKEND_GOES;
    case TURN:
        return CHECK | NEG | RULE_GOES | (one->turns ? CHECK_WALL : 0) |
               (one->needs_members ? JOIN : 0);
    case RULE_GOES:
        return READY;
    case RULE:
        return BACKEND | TURN | BACKEND_GOES | RULE_GOES | HOLD | FREE;
    case WALL_OFF:
        return wall_off_waits_for(phase);
    case BACKEND_GOES:
        return RULE | RULE_GOES | TURN | BACKEND;
    case CHECK_GOES:
    case NEG_GOES:
        return RULE | RULE_GOES | TURN | BACKEND | BACKEND_GOES;
    case WALL_GOES:
        return RULE | RULE_GOES | TURN | BACKEND | BACKEND_GOES | CHECK_GOES;
    default:
        return 0;
    }
}

/* One of them makes, or deletes, what the other one is about. */
static bool share_a_name(const struct lb_op *x, const struct lb_op *y)
{
    const struct gce_op *one = x->arg;
    const struct gce_op *other = y->arg;
    bool makes = x->verb != LB_CHANGE || y->verb != LB_CHANGE;
    return makes && one->c == other->c && str_eq(one->name, other->name) &&
           str_eq(str_nonnull(one->zone), str_nonnull(other->zone));
}

/* Operations that this one needs for its body, and those of the table.  `items` stand in the plan's
 * order. */
static void order_one(struct lb_plan *p, const struct gce_pending *const *items, size_t at,
                      bool replaces)
{
    const struct gce_pending *one = items[at];
    const struct gce_op *arg = one->draft.op.arg;
    unsigned on = waits_for(one, replaces);
    lb_plan_after(p, one->draft.at, -1);
    for (size_t i = 0; i < arg->n_late; i++) {
        const struct lb_value *v = &arg->late[i].value;
        lb_plan_after(p, one->draft.at, v->text == NULL ? v->op : -1);
    }
    for (size_t i = 0; i < at; i++) {
        const struct gce_pending *other = items[i];
        if (other->draft.op.verb != LB_KEEP && (other->first || (role_of(other) & on) != 0 ||
                                                share_a_name(&one->draft.op, &other->draft.op))) {
            lb_plan_after(p, one->draft.at, other->draft.at);
        }
    }
}

static bool is_of_groups(const struct lb_op *op)
{
    return str_eq(op->kind, gce_collection_word(GCE_GROUPS));
}

/* The operations of another planner for the same Service, which stand before these: all of them are
 * over when the first of these begins.  But for instance groups, whose order is known. */
static bool has_others(const struct lb_plan *p, size_t from)
{
    for (size_t i = 0; i < from; i++) {
        if (p->ops[i].verb != LB_KEEP && !is_of_groups(&p->ops[i]) &&
            lb_ops_share_owner(&p->ops[i], &p->ops[from])) {
            return true;
        }
    }
    return false;
}

/* An empty group has no network, and no backend service takes it (gce-l4.md §8.3). */
static void order_after_groups(struct lb_plan *p, size_t from, const struct gce_pending *one)
{
    for (size_t i = 0; i < from && (role_of(one) & (BACKEND | TURN | RULE_GOES)) != 0; i++) {
        if (is_of_groups(&p->ops[i]) && lb_ops_share_owner(&p->ops[i], &p->ops[one->draft.at])) {
            lb_plan_after(p, one->draft.at, (int)i);
        }
    }
}

void bs_order(struct lb_plan *p, const struct gce_pending *const *items, size_t n)
{
    bool replaces = false;
    bool barrier = n > 0 && has_others(p, (size_t)items[0]->draft.at);
    for (size_t i = 0; i < n; i++) {
        replaces = replaces || role_of(items[i]) == RULE_GOES;
    }
    for (size_t i = 0; i < n; i++) {
        const struct lb_op *op = &items[i]->draft.op;
        if (op->verb == LB_KEEP) {
            continue;
        }
        if (!barrier && op->finally == LB_FINALLY_NO) {
            order_one(p, items, i, replaces);
            order_after_groups(p, (size_t)items[0]->draft.at, items[i]);
        }
        barrier = false;
    }
}

void gce_bs_order_groups(struct lb_plan *p, size_t from)
{
    const char *backend = gce_collection_word(GCE_BACKENDS);
    for (size_t i = from; i < p->n_ops; i++) {
        lb_plan_after(p, (int)i, -1);
        for (size_t k = 0; k < from; k++) {
            const struct lb_op *op = &p->ops[k];
            lb_plan_after(p, (int)i,
                          op->verb == LB_DELETE && str_eq(op->kind, backend) ? (int)k : -1);
        }
    }
}
