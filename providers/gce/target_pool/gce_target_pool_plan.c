/* SPDX-License-Identifier: Apache-2.0 */
/* gce_target_pool_plan.c: what makes the observed load balancer into the desired one (ENSURE).
 *
 * Reads in the order of the flow: what must be decided first (is the rule to be made again? from
 * where does the address come?), then in this order; the table in gce_target_pool_order_plan.c says
 * which operation waits for which
 *     A  what must be gone first: a held address that cannot be used, a deny rule that goes
 *     B  the address is held ∥ health check ∥ firewalls whose address is known
 *     C  firewalls whose address was just reserved ∥ pool, its check, its members
 *     D  - rule (critical), - pool, + pool, where they must be made again
 *     E  + rule: from here on the load balancer is complete
 *     F  deny rule; the check that nothing uses any more, then its firewall
 *     finally  the held address is given back: the rule keeps it
 * Where the address changes, B holds that of the rule that goes, too, until the new one stands
 * (gce_former_address.h).
 * "Exists" (409) is no success: who says so may be another one's half-done work, or a resource
 * on its way out.  The driver looks and plans again, and keeps what is really there.
 * Source: gce-cloud-provider.md §4.3–§4.8, §4.13, §15.  Pure. */
#include "common/base/str.h"
#include "providers/gce/model/gce_former_address.h"
#include "providers/gce/model/gce_links.h"
#include "providers/gce/model/gce_shared_ip_rules.h"
#include "providers/gce/target_pool/gce_target_pool_ensure_plan.h"

static const struct gce_rule *rule_of(const struct gce_tp_observed *o)
{
    return o->has_rule == GCE_PRESENT ? &o->rule : NULL;
}

/* ---- decisions ------------------------------------------------------------------------------- */

static bool tier_differs(const char *wire, const char *wanted)
{
    const char *tier = gce_tier_from_wire(wire);
    return tier != NULL && !str_eq(tier, wanted); /* an unknown one is left alone (§4.5, ours) */
}

static bool pool_is_new(const struct gce_tp_desired *d, const struct gce_tp_observed *o)
{
    return o->has_pool != GCE_PRESENT || gce_pool_affinity_differs(&o->pool, d->pool.affinity);
}

static bool rule_has_wrong_tier(const struct gce_tp_desired *d, const struct gce_tp_observed *o)
{
    return d->tier_is_set && o->has_rule == GCE_PRESENT && tier_differs(o->rule.tier, d->tier);
}

bool gce_tp_needs_user_address(struct arena *a, const struct gce_tp_input *in,
                               const struct gce_tp_desired *d, const struct gce_tp_observed *o)
{
    struct gce_rule_need need;
    if (*d->user_ip == '\0') {
        return false;
    }
    if (o->has_rule != GCE_PRESENT || pool_is_new(d, o) || tier_differs(o->rule.tier, d->tier)) {
        return true;
    }
    return gce_rule_needs_update(a, in->service, &o->rule, &need, NULL) != ERR_OK ||
           need.needs_update;
}

static void decide_rule(struct tp_ensure *n)
{
    n->wrong_tier = rule_has_wrong_tier(n->d, n->o);
    n->new_pool = pool_is_new(n->d, n->o);
    n->new_rule = n->need.needs_update || n->wrong_tier || n->new_pool;
    if (!n->need.exists) {
        n->new_rule_because =
            n->o->has_pool == GCE_PRESENT ? "it is missing" : "the load balancer is new";
    } else if (n->wrong_tier) {
        n->new_rule_because = "the network tier changed, and with it the address";
    } else if (n->need.because != NULL) {
        n->new_rule_because = n->need.because;
    } else {
        n->new_rule_because = n->o->has_pool == GCE_PRESENT ? "spec.sessionAffinity changed"
                                                            : "its target pool is missing";
    }
}

/* §4.4 step 1. */
static int decide_user_ip(struct tp_ensure *n, struct err *err)
{
    const struct gce_tp_desired *d = n->d;
    if (!gce_tp_needs_user_address(n->e.a, n->e.in, d, n->o)) {
        n->user_owned = *d->user_ip != '\0';
        return ERR_OK;
    }
    if (n->o->has_user_address == GCE_PRESENT) {
        const char *tier = gce_tier_from_wire(n->o->user_address.tier);
        if (!str_eq(tier, d->tier)) {
            return err_set(err, ERR_INVALID,
                           "requested IP \"%s\" belongs to the %s network tier; expected %s",
                           d->user_ip, tier == NULL ? n->o->user_address.tier : tier, d->tier);
        }
        n->user_owned = true;
        return gce_address_check_side(d->user_ip, n->o->user_address.type, false, err);
    }
    if (n->need.exists && !n->wrong_tier && str_eq(n->o->rule.ip, d->user_ip)) {
        return ERR_OK;
    }
    return err_set(err, ERR_INVALID, "requested ip \"%s\" is neither static nor assigned to the LB",
                   d->user_ip);
}

/* The former rule's address, if a sync stopped between two rules: it goes before the one that was
 * held for the new rule as long as clients know it. */
static bool former_comes_first(const struct tp_ensure *n)
{
    const struct gce_tp_observed *o = n->o;
    return !n->need.exists && o->has_former == GCE_PRESENT &&
           (o->has_address != GCE_PRESENT ||
            gce_former_address_is_known(n->e.a, n->e.in->service, o->former.ip));
}

/* The tier follows the annotation; without one it follows the address that is kept (ours:
 * upstream would ask for a Premium rule on a Standard address, which the cloud refuses). */
static void decide_tier(struct tp_ensure *n)
{
    const char *kept = NULL;
    n->tier = n->d->tier;
    if (n->d->tier_is_set || n->user_owned) {
        return;
    }
    if (n->need.exists) {
        kept = gce_tier_from_wire(n->o->rule.tier);
    } else if (former_comes_first(n)) {
        kept = gce_tier_from_wire(n->o->former.tier);
    } else if (n->o->has_address == GCE_PRESENT) {
        kept = gce_tier_from_wire(n->o->address.tier);
    }
    n->tier = kept != NULL ? kept : n->tier;
}

/* Can the rule have the address that an interrupted run holds?  `keeps`: it has one that stays. */
static bool is_usable(const struct tp_ensure *n, enum gce_known has, const struct gce_address *d,
                      bool keeps)
{
    return has == GCE_PRESENT && !str_is_empty(d->ip) && !str_eq(d->type, "INTERNAL") &&
           !tier_differs(d->tier, n->tier) && (!keeps || str_eq(d->ip, n->o->rule.ip));
}

static void decide_ip(struct tp_ensure *n)
{
    const struct gce_tp_observed *o = n->o;
    bool keeps = n->need.exists && !n->wrong_tier;
    bool former = is_usable(n, o->has_former, &o->former, keeps);
    n->hold = -1;
    n->keep = -1;
    n->held = is_usable(n, o->has_address, &o->address, keeps) ? &o->address : NULL;
    if (former && (n->held == NULL || former_comes_first(n))) {
        n->held = &o->former;
    }
    if (n->user_owned) {
        n->ip = LB_VALUE(n->d->user_ip);
    } else if (keeps) {
        n->ip = LB_VALUE(o->rule.ip);
    } else if (n->held != NULL) {
        n->ip = LB_VALUE(n->held->ip);
    } else {
        n->ip = LB_VALUE_OF(-1, "value"); /* known after the hold, which is planned next */
    }
}

static int decide(struct tp_ensure *n, struct err *err)
{
    int rc = gce_rule_needs_update(n->e.a, n->e.in->service, rule_of(n->o), &n->need, err);
    if (rc != ERR_OK) {
        return rc;
    }
    decide_rule(n);
    rc = decide_user_ip(n, err);
    if (rc != ERR_OK) {
        return rc;
    }
    decide_tier(n);
    decide_ip(n);
    return ERR_OK;
}

/* ---- address --------------------------------------------------------------------------------- */

static void plan_hold(struct tp_ensure *n)
{
    struct tp_emit *e = &n->e;
    if (!n->new_rule || n->user_owned || n->held != NULL) {
        return;
    }
    bool keeps = n->ip.text != NULL;
    const struct gce_address address = {.name = n->d->names.lb,
                                        .description = n->d->names.description,
                                        .ip = str_nonnull(n->ip.text),
                                        .tier = gce_tier_wire(n->tier)};
    struct lb_op op =
        LB_OP(.verb = LB_CREATE,
              .why = keeps ? "the forwarding rule must be made again without losing its address"
                           : "firewall and forwarding rule need an address",
              .summary = arena_printf(e->a, "regional, %s", gce_tier_wire(n->tier)),
              .note = "holds the address until the rule has it",
              /* 400: reserved already under another name, so it cannot be lost (§4.4 step 2). */
              .tolerate = keeps ? LB_TOLERATE_EXISTS : 0);
    n->hold = tp_emit(e, op,
                      (struct gce_op){.c = GCE_ADDRESSES,
                                      .verb = GCE_INSERT,
                                      .name = address.name,
                                      .body = gce_own(e->a, gce_address_body(&address)),
                                      .read_member = "address",
                                      .ret_value = &e->in->outcome->ip});
    if (!keeps) {
        n->ip = LB_VALUE_OF(n->hold, "value");
    }
}

static void plan_keep(struct tp_ensure *n)
{
    bool changes = n->ip.text == NULL || !str_eq(n->ip.text, n->o->rule.ip);
    if (n->new_rule && n->need.exists && changes) {
        n->keep = tp_hold_former(&n->e, &n->d->names);
    }
}

/* Only when all went well (docs/adr/0074): after a failure the next sync finds the address under
 * our name, and reserves none anew.  Upstream gives it back (§4.4 step 4). */
static struct lb_op *release(struct tp_ensure *n, const char *name, int hold, const char *why)
{
    struct lb_op *op = tp_op(&n->e, tp_delete(&n->e, GCE_ADDRESSES, name, why));
    op->gives_back = true;
    op->tolerate |= LB_TOLERATE_IN_USE;
    op->finally = LB_FINALLY_OK;
    if (hold >= 0) {
        op->only_if_op = hold;
        op->only_if = LB_DONE;
    }
    return op;
}

static void plan_release(struct tp_ensure *n)
{
    const struct gce_tp_observed *o = n->o;
    const char *left = "an interrupted run left it, and the rule has its address";
    bool own = o->has_address == GCE_PRESENT && (n->held == &o->address || !n->new_rule);
    tp_next_wave(&n->e);
    if (n->hold >= 0 || own) {
        (void)release(n, n->d->names.lb, n->hold, n->new_rule ? "the rule keeps it now" : left);
    }
    if (n->keep >= 0 || (o->has_former == GCE_PRESENT && !n->e.in->holds_former)) {
        struct lb_op *op =
            release(n, n->d->names.former_address, n->keep,
                    n->held == &o->former ? (n->new_rule ? "the rule keeps it now" : left)
                                          : "no former forwarding rule needs it any more");
        op->awaits_status = true; /* the cloud may give it to another project */
    }
}

/* ---- pool ------------------------------------------------------------------------------------ */

static size_t count_zones(struct arena *a, const struct gce_members *m)
{
    const char **zones = ARENA_ARRAY(a, const char *, m->n_ids);
    for (size_t i = 0; i < m->n_ids; i++) {
        zones[i] = m->ids[i].zone;
    }
    return str_set_make(a, zones, m->n_ids).n;
}

static void plan_new_pool(struct tp_ensure *n)
{
    struct tp_emit *e = &n->e;
    const struct gce_tp_desired *d = n->d;
    size_t members = d->pool.instances.n;
    size_t zones = count_zones(e->a, &e->in->members);
    const struct gce_pool first = gce_tp_pool_insert(d);
    struct lb_op op = LB_OP(.verb = LB_CREATE,
                            .why = n->o->has_pool == GCE_PRESENT
                                       ? "spec.sessionAffinity changed, and a pool cannot change it"
                                       : "the forwarding rule needs it",
                            .summary = arena_printf(e->a, "%zu %s in %zu %s", members,
                                                    members == 1 ? "instance" : "instances", zones,
                                                    zones == 1 ? "zone" : "zones"),
                            .note = arena_printf(e->a, "affinity %s", d->pool.affinity));
    (void)tp_emit(e, op,
                  (struct gce_op){.c = GCE_POOLS,
                                  .verb = GCE_INSERT,
                                  .name = d->names.lb,
                                  .body = gce_own(e->a, gce_pool_body(&first)),
                                  .members = true});
    if (members > GCE_POOL_CREATE_MAX) {
        struct str_set all = e->in->members.paths;
        struct str_set made = {.items = all.items, .n = GCE_POOL_CREATE_MAX};
        tp_members(e, d->names.lb, &made, &all, "a pool is made with 200 members at most");
    }
}

static bool is_our_check(const struct tp_ensure *n, const char *link)
{
    const char *name = gce_link_last(link);
    return str_eq(name, n->d->names.node_check) || str_eq(name, n->d->names.local_check);
}

/* Does the pool ask the wrong check?  Only ours are taken away: a check that a user put there
 * stays, unless repairs are asked for.  A pool without any was interrupted in between. */
static bool check_is_wrong(const struct tp_ensure *n)
{
    const struct gce_strs *checks = &n->o->pool.checks;
    bool foreign = false;
    for (size_t i = 0; i < checks->n; i++) {
        if (str_eq(gce_link_last(checks->items[i]), n->d->check.name)) {
            return false;
        }
        foreign = foreign || !is_our_check(n, checks->items[i]);
    }
    return !foreign || n->e.facts->repair_adopted;
}

static struct str_set last_parts(struct arena *a, const struct gce_strs *links)
{
    const char **out = ARENA_ARRAY(a, const char *, links->n);
    for (size_t i = 0; i < links->n; i++) {
        out[i] = gce_link_last(links->items[i]);
    }
    return str_set_make(a, out, links->n);
}

/* Takes away the old checks, one after the other, then adds the wanted one. */
static struct gce_op swap_op(const struct tp_ensure *n, const struct gce_strs *old)
{
    struct arena *a = n->e.a;
    struct gce_op op = {.c = GCE_POOLS,
                        .verb = GCE_ADD_CHECK,
                        .name = n->d->names.lb,
                        .body = gce_own(a, gce_pool_check_body(n->d->pool.checks.items[0])),
                        .plain = true};
    for (size_t i = old->n; i > 0; i--) {
        const struct gce_op *then = arena_memdup(a, &op, sizeof(op));
        op.verb = GCE_REMOVE_CHECK;
        op.body = gce_own(a, gce_pool_check_body(old->items[i - 1]));
        op.then = then;
    }
    return op;
}

/* §4.8 (ours): the pool stays, only its check is exchanged.  It holds one at most, so the old
 * one goes first; for that moment every instance counts as healthy. */
static void plan_swap(struct tp_ensure *n)
{
    struct tp_emit *e = &n->e;
    const struct gce_strs *checks = &n->o->pool.checks;
    if (!check_is_wrong(n)) {
        return;
    }
    struct lb_diff diff;
    struct str_set now = last_parts(e->a, checks);
    struct str_set then = last_parts(e->a, &n->d->pool.checks);
    lb_diff_init(&diff, e->a);
    (void)lb_diff_set(&diff, "healthChecks", &now, &then);
    struct lb_op op = LB_OP(.verb = LB_CHANGE,
                            .why = checks->n == 0 ? "it asks no health check"
                                                  : "spec.externalTrafficPolicy changed",
                            .fields = diff.fields, .n_fields = diff.n);
    tp_next_wave(e);
    (void)tp_emit(e, op, swap_op(n, checks));
    n->swapped = true;
}

static void plan_pool_in_place(struct tp_ensure *n)
{
    size_t before = n->e.out.drafts.n;
    plan_swap(n);
    struct str_set now = tp_pool_members(n->e.a, &n->o->pool);
    tp_members(&n->e, n->d->names.lb, &now, &n->e.in->members.paths, "the nodes changed");
    if (n->e.out.drafts.n == before) {
        tp_keep(&n->e, GCE_POOLS, n->d->names.lb);
    }
}

/* ---- rule ------------------------------------------------------------------------------------ */

static void plan_remove_rule(struct tp_ensure *n)
{
    struct tp_emit *e = &n->e;
    const struct gce_op back = {.c = GCE_RULES,
                                .verb = GCE_INSERT,
                                .name = n->d->names.lb,
                                .body = gce_own(e->a, gce_rule_body(&n->o->rule))};
    tp_next_wave(e);
    struct lb_op *op = tp_op(e, tp_delete(e, GCE_RULES, n->d->names.lb, n->new_rule_because));
    op->note = "made again below";
    op->critical = true;
    op->undo = tp_undo(e, back, GCE_RULES);
    op->ask = op->undo;
    op->proof = gce_emit_proof(&e->out, GCE_RULES, n->d->names.lb);
}

static void plan_remove_pool(struct tp_ensure *n)
{
    struct tp_emit *e = &n->e;
    tp_next_wave(e);
    struct lb_op *op =
        tp_op(e, tp_delete(e, GCE_POOLS, n->d->names.lb,
                           "spec.sessionAffinity changed, and a pool cannot change it"));
    if (n->need.exists || !n->e.in->leads_back) { /* else no rule leads to it */
        op->undo = tp_undo(e, tp_pool_again(e->a, &n->o->pool), GCE_POOLS);
        op->ask = op->undo;
        op->proof = gce_emit_proof(&e->out, GCE_POOLS, n->d->names.lb);
    }
    tp_next_wave(e);
}

static struct gce_op rule_op(const struct tp_ensure *n)
{
    struct gce_rule rule = n->d->rule;
    rule.ip = n->ip.text != NULL ? n->ip.text : GCE_LATER;
    rule.tier = gce_tier_wire(n->tier);
    return (struct gce_op){.c = GCE_RULES,
                           .verb = GCE_INSERT,
                           .name = rule.name,
                           .body = gce_own(n->e.a, gce_rule_body(&rule)),
                           .late = {{.member = "IPAddress", .value = n->ip}},
                           .n_late = n->ip.text == NULL};
}

static void plan_rule(struct tp_ensure *n)
{
    struct tp_emit *e = &n->e;
    const struct gce_rule *want = &n->d->rule;
    if (!n->new_rule) {
        tp_keep(e, GCE_RULES, n->d->names.lb);
        return;
    }
    struct lb_diff diff;
    lb_diff_init(&diff, e->a);
    if (n->need.exists) {
        const struct gce_rule *found = &n->o->rule;
        (void)lb_diff_value(&diff, "IPAddress", found->ip, n->ip);
        (void)lb_diff_text(&diff, "IPProtocol", found->protocol, want->protocol);
        (void)lb_diff_text(&diff, "portRange", found->port_range, want->port_range);
        (void)lb_diff_text(&diff, "networkTier", found->tier, gce_tier_wire(n->tier));
    } else {
        (void)lb_diff_value(&diff, "IPAddress", NULL, n->ip);
    }
    struct lb_op op =
        LB_OP(.verb = LB_CREATE, .why = n->new_rule_because,
              .summary = arena_printf(e->a, "%s %s → pool", want->protocol, want->port_range),
              .note = n->ip.text != NULL ? n->ip.text : "address known after address",
              .fields = diff.fields, .n_fields = diff.n);
    tp_next_wave(e);
    (void)tp_emit(e, op, rule_op(n));
}

/* ---- what is used no more -------------------------------------------------------------------- */

/* From Cluster to Local: the shared check goes when no other Service wants it (§4.7; refused "in
 * use" is fine). */
static void plan_drop_node_check(struct tp_ensure *n)
{
    struct tp_emit *e = &n->e;
    const struct gce_tp_observed *o = n->o;
    const struct gce_names *names = &n->d->names;
    const char *why = "no Service with policy Cluster is left";
    bool left_it = n->swapped || (n->new_pool && o->has_pool == GCE_PRESENT);
    bool orphan = e->in->node_check_is_orphan && !e->in->leads_back;
    if (e->in->others_want_node_check || (!left_it && !orphan)) {
        return;
    }
    if (o->has_node_check == GCE_PRESENT) {
        tp_next_wave(e);
        int check = tp_delete(e, GCE_CHECKS, names->node_check, why);
        tp_op(e, check)->tolerate |= LB_TOLERATE_IN_USE;
        tp_op(e, check)->shared = true;
        if (o->has_node_firewall == GCE_PRESENT) {
            tp_next_wave(e);
            struct lb_op *fw =
                tp_op(e, tp_delete(e, GCE_FIREWALLS, names->node_check_firewall, why));
            fw->only_if_op = check;
            fw->only_if = LB_DONE;
            fw->shared = true;
        }
    } else if (o->has_node_check == GCE_ABSENT && o->has_node_firewall == GCE_PRESENT) {
        tp_next_wave(e);
        tp_op(e, tp_delete(e, GCE_FIREWALLS, names->node_check_firewall, why))->shared = true;
    }
}

/* From Local to Cluster: the check of this Service alone, and its firewall.  Leading back leaves
 * the check that a refused edit has prepared: its next try needs it. */
static void plan_drop_local_check(struct tp_ensure *n)
{
    struct tp_emit *e = &n->e;
    const char *why = "spec.externalTrafficPolicy is not Local";
    if (e->in->leads_back) {
        return;
    }
    if (n->o->has_local_check == GCE_PRESENT) {
        tp_next_wave(e);
        (void)tp_delete(e, GCE_CHECKS, n->d->names.local_check, why);
    }
    if (n->o->has_local_firewall == GCE_PRESENT) {
        tp_next_wave(e);
        (void)tp_delete(e, GCE_FIREWALLS, n->d->names.local_check_firewall, why);
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void plan_first(struct tp_ensure *n)
{
    struct tp_emit *e = &n->e;
    const struct gce_tp_observed *o = n->o;
    if (o->has_address == GCE_PRESENT && n->new_rule && n->held != &o->address) {
        (void)tp_delete(e, GCE_ADDRESSES, n->d->names.lb,
                        "an interrupted run left it, and it cannot serve the rule");
    }
    /* Deny goes before allow rises to its priority: never may deny win over allow (§4.13). */
    if (!n->d->want_deny && e->facts->deny_cleanup && o->has_deny == GCE_PRESENT) {
        int deny = tp_delete(e, GCE_FIREWALLS, n->d->names.deny_firewall,
                             "the deny firewall is switched off");
        gce_emit_at(&e->out, deny)->arg->command = NULL; /* it shuts no client out */
    }
    e->wave_open = gce_emit_way(&e->out, e->in->way, GCE_WAY_ADDRESSES, e->wave, e->wave + 1) > 0 ||
                   e->wave_open;
    tp_next_wave(e);
}

static int plan_prepare(struct tp_ensure *n, struct err *err)
{
    plan_hold(n);
    plan_keep(n);
    tp_plan_check(n);
    bool late = n->ip.text == NULL;
    int rc = ERR_OK;
    if (!late || !n->d->local) {
        rc = tp_plan_check_firewall(n, err);
    }
    if (rc == ERR_OK && !late && !tp_traffic_waits(n)) {
        rc = tp_plan_traffic(n, err);
    }
    tp_next_wave(&n->e);
    if (rc == ERR_OK && late && !tp_traffic_waits(n)) {
        rc = tp_plan_traffic(n, err);
    }
    if (rc == ERR_OK && late && n->d->local) {
        rc = tp_plan_check_firewall(n, err);
    }
    return rc;
}

/* Takes in the operations on another kind that is in the way of the rule; then the firewall goes
 * over from that one. */
static int plan_way(struct tp_ensure *n, struct err *err)
{
    struct tp_emit *e = &n->e;
    tp_next_wave(e);
    e->wave_open = gce_emit_way(&e->out, e->in->way, GCE_WAY_OTHERS, e->wave, e->wave) > 0;
    tp_next_wave(e);
    if (!tp_traffic_waits(n)) {
        return ERR_OK;
    }
    int rc = tp_plan_traffic(n, err);
    if (rc == ERR_OK && n->traffic >= 0) {
        gce_emit_at(&e->out, n->traffic)->after_former = true;
    }
    return rc;
}

static int plan_pool_and_rule(struct tp_ensure *n, struct err *err)
{
    struct tp_emit *e = &n->e;
    bool remove_rule = n->need.exists && n->new_rule;
    if (!n->new_pool) {
        plan_pool_in_place(n);
    }
    if (remove_rule) {
        plan_remove_rule(n);
    }
    if (n->new_pool && n->o->has_pool == GCE_PRESENT) {
        plan_remove_pool(n);
    }
    if (n->new_pool) {
        if (remove_rule) {
            tp_next_wave(e);
        }
        plan_new_pool(n);
    }
    int rc = plan_way(n, err);
    plan_rule(n);
    return rc;
}

static void tell_effects(struct tp_ensure *n)
{
    struct lb_plan *p = n->e.p;
    const char *key = n->e.in->key;
    if (!n->need.exists || lb_plan_changes(p) == 0) {
        return;
    }
    bool stays = n->ip.text != NULL && str_eq(n->ip.text, n->o->rule.ip);
    lb_plan_effect(p, key, "%s", stays ? "The address stays." : "The address changes.");
    if (n->ranges_changed) {
        size_t ranges = n->d->traffic.sources.n;
        lb_plan_effect(p, key, "Traffic from outside the %zu %s will be refused.", ranges,
                       ranges == 1 ? "range" : "ranges");
    }
    if (n->new_rule) {
        lb_plan_effect(p, key,
                       "Connections are interrupted for some seconds while the forwarding rule is "
                       "made again.");
    }
}

int gce_tp_plan_ensure(struct lb_plan *p, const struct gce_tp_facts *facts,
                       const struct gce_tp_input *in, const struct gce_tp_desired *d,
                       const struct gce_tp_observed *o, struct err *err)
{
    struct tp_ensure n = {.d = d, .o = o, .traffic = -1};
    struct lb_plan_service *s = lb_plan_service(p, in->key);
    s->kind = arena_printf(p->a, "external, target pool, %s", facts->region);
    s->address = o->has_rule == GCE_PRESENT ? o->rule.ip : NULL;
    tp_emit_init(&n.e, p, facts, in, o);
    n.e.d = d;
    int rc = decide(&n, err);
    if (rc != ERR_OK) {
        return rc;
    }
    in->outcome->ip = n.ip.text;
    plan_first(&n);
    rc = plan_prepare(&n, err);
    if (rc != ERR_OK) {
        return rc;
    }
    rc = plan_pool_and_rule(&n, err);
    rc = rc == ERR_OK ? tp_plan_deny(&n, err) : rc;
    if (rc != ERR_OK) {
        return rc;
    }
    tp_plan_narrow(&n);
    if (d->local) {
        plan_drop_node_check(&n);
    } else {
        plan_drop_local_check(&n);
    }
    plan_release(&n);
    tp_flush(&n.e, &d->names);
    tell_effects(&n);
    return ERR_OK;
}
