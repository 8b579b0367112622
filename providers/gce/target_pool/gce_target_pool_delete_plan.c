/* SPDX-License-Identifier: Apache-2.0 */
/* gce_target_pool_delete_plan.c: takes away everything of ours that is there (DELETE).
 *
 * Goes by names, not by the spec, which may be anything by now: both kinds of health check are
 * looked for, so nothing that an interrupted run or a changed annotation left is missed (§4.10,
 * §15 rows 16, 17).  The pool and the held address go after the rule (row 28), a check after the
 * pool, its firewall after the check (gce_target_pool_order_plan.c).  Pure. */
#include "common/base/str.h"
#include "providers/gce/target_pool/gce_target_pool_emit_plan.h"

static const char *why(const struct gce_tp_input *in)
{
    return in->changes_kind ? "the Service gets another kind of load balancer"
                            : "the Service is going away";
}

static void delete_checks(struct tp_emit *e, const struct gce_names *names)
{
    const struct gce_tp_observed *o = e->o;
    int node = -1;
    tp_next_wave(e);
    if (o->has_local_check == GCE_PRESENT) {
        (void)tp_delete(e, GCE_CHECKS, names->local_check, why(e->in));
    }
    bool drop_node = !e->in->others_want_node_check;
    if (drop_node && o->has_node_check == GCE_PRESENT) {
        node =
            tp_delete(e, GCE_CHECKS, names->node_check, "no Service with policy Cluster is left");
        tp_op(e, node)->tolerate |= LB_TOLERATE_IN_USE;
        tp_op(e, node)->shared = true;
    }
    tp_next_wave(e);
    if (o->has_local_firewall == GCE_PRESENT) {
        (void)tp_delete(e, GCE_FIREWALLS, names->local_check_firewall, why(e->in));
    }
    bool firewall_alone = o->has_node_check == GCE_ABSENT;
    if (drop_node && o->has_node_firewall == GCE_PRESENT && (node >= 0 || firewall_alone)) {
        struct lb_op *fw = tp_op(e, tp_delete(e, GCE_FIREWALLS, names->node_check_firewall,
                                              "no Service with policy Cluster is left"));
        fw->shared = true;
        if (node >= 0) { /* "in use" means that others need the firewall, too */
            fw->only_if_op = node;
            fw->only_if = LB_DONE;
        }
    }
}

int gce_tp_plan_delete(struct lb_plan *p, const struct gce_tp_facts *facts,
                       const struct gce_tp_input *in, const struct gce_names *names,
                       const struct gce_tp_observed *o, struct err *err)
{
    (void)err;
    struct tp_emit e;
    struct lb_plan_service *s = lb_plan_service(p, in->key);
    s->kind = arena_printf(p->a, "external, target pool, %s", facts->region);
    /* The internal kind of the same program calls rule, address and firewall alike, that with a
     * backend service rule and address. */
    bool replaced =
        in->changes_kind && o->has_rule == GCE_PRESENT && !str_is_empty(o->rule.backend_service);
    bool has_rule = o->has_rule == GCE_PRESENT && !replaced;
    s->address = has_rule ? o->rule.ip : NULL;
    tp_emit_init(&e, p, facts, in, o);
    if (has_rule) {
        (void)tp_delete(&e, GCE_RULES, names->lb, why(in));
    }
    bool has_theirs = replaced && str_eq(o->rule.scheme, "INTERNAL");
    if (o->has_traffic == GCE_PRESENT && !has_theirs && !in->keeps_traffic) {
        (void)tp_delete(&e, GCE_FIREWALLS, names->firewall, why(in));
    }
    if (o->has_deny == GCE_PRESENT) {
        (void)tp_delete(&e, GCE_FIREWALLS, names->deny_firewall, why(in));
    }
    tp_next_wave(&e);
    if (o->has_pool == GCE_PRESENT) {
        (void)tp_delete(&e, GCE_POOLS, names->lb, why(in));
    }
    if (o->has_address == GCE_PRESENT && !replaced) {
        (void)tp_delete(&e, GCE_ADDRESSES, names->lb, why(in));
    }
    if (!in->for_room && (o->has_former == GCE_PRESENT || in->held)) {
        (void)tp_delete(&e, GCE_ADDRESSES, names->former_address,
                        in->changes_kind ? "no former forwarding rule needs it any more" : why(in));
    }
    delete_checks(&e, names);
    tp_flush(&e, names);
    if (has_rule) {
        lb_plan_effect(p, in->key, "The address is given up.");
    }
    return ERR_OK;
}

bool gce_tp_plan_way(struct lb_plan *p, const struct gce_tp_facts *facts,
                     const struct gce_tp_input *in, const struct gce_names *names,
                     const struct gce_tp_observed *o)
{
    struct tp_emit e;
    struct lb_plan_service *s = lb_plan_service(p, in->key);
    bool has_rule = o->has_rule == GCE_PRESENT && str_is_empty(o->rule.backend_service);
    s->kind = arena_printf(p->a, "external, target pool, %s", facts->region);
    s->address = has_rule ? o->rule.ip : NULL;
    tp_emit_init(&e, p, facts, in, o);
    int hold = has_rule ? tp_hold_former(&e, names) : -1;
    if (hold >= 0) { /* while it is not there, nothing has gone */
        tp_op(&e, hold)->serves_without = true;
    }
    if (has_rule) {
        tp_next_wave(&e);
        (void)tp_delete(&e, GCE_RULES, names->lb, why(in));
    }
    tp_flush(&e, names);
    return hold >= 0;
}
