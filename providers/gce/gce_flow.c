/* SPDX-License-Identifier: Apache-2.0 */
/* gce_flow.c: the flow table by which common/lb's driver syncs any Service of Google's
 * (gce_flow.h).
 *
 * Which kind a Service gets is decided first, by what it says and carries, and where that does not
 * tell, by one look at what is there (gce_decide.h).  What it has as another kind goes before the
 * new one is made: two kinds share names (forwarding rule a<uid>, backend service, firewall), so
 * they cannot stand side by side. */
#include "providers/gce/gce_flow.h"

#include "common/base/str.h"
#include "common/lb/service_rules.h"
#include "providers/gce/gce_findings.h"
#include "providers/gce/gce_l4_metrics.h"
#include "providers/gce/model/gce_name_rules.h"
#include "providers/gce/model/gce_service_rules.h"
#include "providers/gce/negs/gce_neg_observe.h"
#include "providers/gce/ops/gce_ops.h"

#define BIT(kind) (1u << (unsigned)(kind))

static bool has_bs_bits(unsigned bits)
{
    return (bits & ~BIT(GCE_KIND_TARGET_POOL)) != 0;
}
static enum gce_kind first_bs_kind(unsigned bits)
{
    for (int k = GCE_KIND_ILB_GROUPS; k <= GCE_KIND_NEGS_ONLY; k++) {
        if ((bits & BIT(k)) != 0) {
            return (enum gce_kind)k;
        }
    }
    return GCE_KIND_NONE;
}

/* Nodes follow what stands.  A Service that asks for another kind, in vain so far, bears the
 * finalizer of the kind that it has, and not that of the one that it asks for, which continues
 * before anything of it is made (it may be newer than the object that is seen here). Only where a
 * target pool is asked for: the other kinds share their names, and what is half made of one of them
 * must not be led back. */
static void follow_what_stands(struct lb_item *item)
{
    struct gce_decision *d = &gce_item_of(item)->decision;
    const char *asked = str_or(gce_kind_finalizer(d->mark), LB_CLEANUP_FINALIZER);
    if (item->in->verb != TT_VERB_UPDATE || d->kind != GCE_KIND_TARGET_POOL ||
        svc_has_finalizer(item->in->service, asked)) {
        return;
    }
    for (int k = GCE_KIND_TARGET_POOL; k < GCE_KIND_MAX; k++) {
        const char *mark = gce_kind_finalizer((enum gce_kind)k);
        bool stands =
            (d->former & BIT(k)) != 0 && mark != NULL && svc_has_finalizer(item->in->service, mark);
        if (stands && !d->teardown) {
            d->kind = d->mark = (enum gce_kind)k;
            return;
        }
    }
}

/* Resources to delete first; an update of only members skips this. */
static void find_formers(struct lb_item *item)
{
    struct gce_item *g = gce_item_of(item);
    g->former = g->decision.former;
    if (g->decision.teardown) {
        g->former |= BIT(g->decision.kind);
    }
    if (item->in->verb == TT_VERB_UPDATE) {
        g->former = 0;
    }
}

bool gce_flow_is_built(const struct lb_item *item)
{
    return lb_item_is_active(item) && item->in->verb != TT_VERB_DELETE &&
           !gce_item_of(item)->decision.teardown;
}

/* ---- facts ----------------------------------------------------------------------------------- */

static void elsewhere(struct lb_item *item, const char *because)
{
    (void)err_set(&item->err, ERR_IMPLEMENTED_ELSEWHERE, "%s", because);
    item->settled = true;
}

static int facts_of_former(struct lb_sync *s, struct lb_item *item, struct err *err)
{
    struct gce_item *g = gce_item_of(item);
    /* The finalizer of the old kind may still be on it after the new balancer was made: in an older
     * view, or where the patch failed.  What is of the new kind must then stay. */
    bool changes = item->in->verb != TT_VERB_DELETE;
    int rc = ERR_OK;
    if (g->was_ahead && (changes || g->former != BIT(g->was.in.kind))) {
        g->was_ahead = false; /* it is another kind than what was looked at */
        gce_bs_flow_release(&g->was);
    }
    if ((g->former & BIT(GCE_KIND_TARGET_POOL)) != 0) {
        g->tp.in.verb = TT_VERB_DELETE;
        rc = gce_tp_flow_facts(s, item, err);
        g->tp.in.changes_kind = changes;
    }
    if (rc == ERR_OK && has_bs_bits(g->former)) {
        enum gce_kind kind = first_bs_kind(g->former);
        g->was.in.verb = TT_VERB_DELETE;
        rc = g->was_ahead ? ERR_OK : gce_bs_flow_facts(s, item, &g->was, kind, err);
        g->was.in.only = changes ? g->former : 0;
    }
    return rc;
}

/* gce-l4.md §1.6.2: a target pool is never turned into a backend service; an event reports that,
 * and the annotation goes. */
static void guard(struct lb_sync *s, struct lb_item *item)
{
    const struct gce_decision *d = &gce_item_of(item)->decision;
    if (s->planning || (!d->guard_migration && !d->guard_race)) {
        return;
    }
    gce_flow_event_once(
        s, item, TT_EVENT_WARNING, d->guard_race ? GCE_EVENT_RACE : GCE_EVENT_NO_MIGRATION,
        d->guard_race
            ? "Target pool and backend service were both made for this Service; the backend "
              "service is "
              "taken away, and so is the annotation " GCE_ANN_RBS "."
            : "A load balancer with a target pool cannot become one with a backend service; "
              "the annotation " GCE_ANN_RBS " is taken away. Make the Service anew to change "
              "its kind.");
    s->host->result_annotation(item->in->result, GCE_ANN_RBS, NULL);
    s->host->metric_add(s->host->ctx, "l4_netlb_legacy_to_rbs_migration_prevented_count",
                        &(struct tt_kv){"type", d->guard_race ? "race" : "migration"}, 1, 1);
}

/* Of a Service that is built, before anything is read for it.  One that goes is cleaned up whatever
 * it says, and nodes follow whatever it says: what reads a name takes an impossible
 * one for absent. */
static int check_names(struct lb_sync *s, struct lb_item *item)
{
    const struct gce_provider *p = gce_provider_of(s);
    if (item->in->verb != TT_VERB_ENSURE || gce_item_of(item)->decision.kind == GCE_KIND_NONE) {
        return ERR_OK;
    }
    struct gce_name_scope scope = gce_provider_name_scope(p);
    scope.target_pool = gce_item_of(item)->decision.kind == GCE_KIND_TARGET_POOL;
    gce_item_of(item)->bs.in.kind = gce_item_of(item)->decision.kind; /* failed() asks for it */
    if (gce_svc_type_check(s->a, item->in->service, p->options.lenient_type, &item->err) !=
            ERR_OK ||
        gce_findings_type_key_check(s->a, item->in->service, p->options.lenient_type, &item->err) !=
            ERR_OK) {
        return item->err.code;
    }
    return gce_names_check(s->a, &scope, item->in->service, item->in->previous, &item->err);
}

static int facts_of_item(struct lb_sync *s, struct lb_item *item, struct err *err)
{
    struct gce_item *g = ARENA_NEW(s->a, struct gce_item);
    const struct gce_provider *p = gce_provider_of(s);
    item->data = g;
    gce_flow_decide(s, item);
    if (item->err.code != ERR_OK) {
        return ERR_OK;
    }
    if (check_names(s, item) != ERR_OK) {
        return ERR_OK; /* its error is its result */
    }
    guard(s, item);
    follow_what_stands(item);
    find_formers(item);
    bool deletes = item->in->verb == TT_VERB_DELETE;
    if (g->decision.kind == GCE_KIND_NONE &&
        (!deletes || !gce_legacy_is_on(&p->options.switches, item->in->service)) &&
        g->former == 0) {
        elsewhere(item, g->decision.says);
        return ERR_OK;
    }
    int rc = facts_of_former(s, item, err);
    bool only_former = g->former != 0 && (deletes || g->decision.teardown);
    if (rc != ERR_OK || item->err.code != ERR_OK || only_former) {
        return rc;
    }
    if (gce_item_is_bs(item)) {
        g->bs.in.verb = item->in->verb;
        return gce_bs_flow_facts(s, item, &g->bs, g->decision.kind, err);
    }
    g->tp.in.verb = item->in->verb;
    return gce_tp_flow_facts(s, item, err);
}

static int facts(struct lb_sync *s, struct err *err)
{
    struct gce_provider *p = gce_provider_of(s);
    bool active = false;
    for (size_t i = 0; i < s->n_items; i++) {
        struct err one = ERR_INIT;
        if (facts_of_item(s, &s->items[i], &one) != ERR_OK) {
            (void)err_copy(&s->items[i].err, &one);
        }
        active = active || s->items[i].err.code == ERR_OK;
    }
    if (!active || p->cloud.offline) {
        return ERR_OK;
    }
    return gce_auth_ready(p->cloud.auth, s->http, s->cancel, err);
}

/* ---- stage 1: what it had -------------------------------------------------------------------- */

/* A DELETE of a Service that nothing says anything about goes the way of target pools, which knows
 * what to wait for. */
static bool deletes_pool(const struct lb_item *item)
{
    const struct gce_item *g = gce_item_of(item);
    return (g->former & BIT(GCE_KIND_TARGET_POOL)) != 0 ||
           (item->in->verb == TT_VERB_DELETE && g->former == 0);
}

static bool former_needed(const struct lb_sync *s)
{
    for (size_t i = 0; i < s->n_items; i++) {
        const struct lb_item *item = &s->items[i];
        if (lb_item_is_active(item) && (gce_item_of(item)->former != 0 || deletes_pool(item))) {
            return true;
        }
    }
    return false;
}

static bool has_groups(const struct tt_service *other, const struct gce_decision *d,
                       const void *arg)
{
    (void)other;
    (void)arg;
    return gce_kind_has_groups(d->kind) || gce_kind_has_groups(d->is);
}

bool gce_flow_takes_groups(struct lb_sync *s, const struct lb_item *item)
{
    const struct gce_item *g = gce_item_of(item);
    return !(gce_flow_is_built(item) && gce_kind_has_groups(g->decision.kind)) &&
           gce_kind_has_groups(g->was.in.kind) && !gce_cloud_of(s)->offline &&
           !str_is_empty(g->was.facts.cluster_id) &&
           !gce_others_any(s, item->in->service, has_groups, NULL);
}

static void plan_groups_away(struct lb_sync *s, struct lb_plan *plan, const struct lb_item *item)
{
    if (gce_flow_takes_groups(s, item)) {
        const char *cluster = gce_item_of(item)->was.facts.cluster_id;
        size_t from = plan->n_ops;
        gce_groups_plan_delete(gce_provider_of(s)->groups, s, plan, item->key,
                               gce_l4_group_name(s->a, cluster));
        gce_bs_order_groups(plan, from);
    }
}

/* A deletion may have been looked at already, to find out what it is (gce_flow_decide.c). */
static int observe_was(struct lb_sync *s, struct lb_item *item, struct err *err)
{
    struct gce_item *g = gce_item_of(item);
    if (g->was_ahead) {
        g->was_ahead = false;
        s->observed_fresh = true;
        return ERR_OK;
    }
    return gce_bs_flow_observe(s, item, &g->was, err);
}

static int former_observe(struct lb_sync *s, struct err *err)
{
    (void)err;
    for (size_t i = 0; i < s->n_items; i++) {
        struct lb_item *item = &s->items[i];
        struct gce_item *g = gce_item_of(item);
        if (!lb_item_is_active(item)) {
            continue;
        }
        if (deletes_pool(item)) {
            gce_tp_flow_observe(s, item);
        }
        if (item->err.code == ERR_OK && has_bs_bits(g->former)) {
            g->was.lists_groups = gce_flow_takes_groups(s, item);
            item->err.code = observe_was(s, item, &item->err);
        }
        if (item->err.code == ERR_OK && gce_flow_takes_groups(s, item)) {
            item->err.code = gce_groups_list(s, &item->err);
        }
    }
    return ERR_OK;
}

static void because_of_former(const struct lb_sync *s, struct lb_plan *plan,
                              const struct lb_item *item)
{
    const struct gce_item *g = gce_item_of(item);
    (void)s;
    if (item->in->verb != TT_VERB_DELETE && g->former != 0) {
        lb_plan_because(plan, item->key, "%s → what it had as another kind goes first",
                        g->decision.says);
    }
}

static bool takes_rule(const struct gce_item *g)
{
    for (size_t i = 0; i < g->n_gone; i++) {
        if (g->gone[i].c == GCE_RULES) {
            return true;
        }
    }
    return false;
}

/* The rule of the former kind, as it was observed; NULL: it was not. */
static const struct gce_rule *former_rule(const struct gce_item *g, const char *name)
{
    const struct gce_tp_observed *o = &g->tp.o;
    bool pools = o->has_rule == GCE_PRESENT && str_eq(o->rule.name, name);
    return pools ? &o->rule : gce_slots_rule(&g->was.slots, name);
}

/* The new balancer has a rule, too. */
static void ask_for_rules(struct lb_sync *s, struct lb_plan *plan, const struct lb_item *item)
{
    for (size_t i = 0; i < plan->n_ops; i++) {
        struct lb_op *op = &plan->ops[i];
        bool goes = op->verb == LB_DELETE && str_set_has(&op->owners, item->key) &&
                    str_eq(op->kind, gce_collection_word(GCE_RULES));
        const struct gce_rule *r = goes ? former_rule(gce_item_of(item), op->name) : NULL;
        op->ask = r != NULL ? gce_flow_ask_rule(s, r) : op->ask;
    }
}

/* Two kinds share names, so the new balancer cannot stand beside the old one. */
static void tell_flip(struct lb_sync *s, struct lb_plan *plan, struct lb_item *item)
{
    const struct gce_item *g = gce_item_of(item);
    gce_flow_note_gone(s, plan, item);
    if (gce_flow_is_built(item) && takes_rule(g)) {
        ask_for_rules(s, plan, item);
        lb_plan_effect(plan, item->key,
                       "Traffic stops until the new load balancer (%s) is complete, and comes to "
                       "another address then: the kind of load balancer changes.",
                       gce_kind_text(g->decision.kind));
    } else if (takes_rule(g) && item->in->verb != TT_VERB_DELETE) {
        lb_plan_effect(plan, item->key,
                       "Traffic stops: the Service asks for no load balancer of "
                       "trimtab's any more.");
    }
}

static int former_plan(struct lb_sync *s, struct lb_plan *plan, struct err *err)
{
    (void)err;
    for (size_t i = 0; i < s->n_items; i++) {
        struct lb_item *item = &s->items[i];
        if (!lb_item_is_active(item)) {
            continue;
        }
        struct gce_item *g = gce_item_of(item);
        because_of_former(s, plan, item);
        if (deletes_pool(item)) {
            gce_tp_flow_plan(s, plan, item);
        }
        if (item->err.code == ERR_OK && has_bs_bits(g->former)) {
            struct gce_bs_item *w = &g->was;
            item->err.code =
                gce_bs_plan_delete(plan, &w->facts, &w->in, &w->slots, &w->negs, &item->err);
            if (item->err.code == ERR_OK) {
                plan_groups_away(s, plan, item);
            }
        }
        if (item->err.code == ERR_OK) {
            tell_flip(s, plan, item);
        }
    }
    return ERR_OK;
}

/* ---- stage 3: the load balancer -------------------------------------------------------------- */

/* Two Services that change into each other's kind must not wait for each other's shared check. */
void gce_flow_release_formers(struct lb_item *item)
{
    struct gce_item *g = gce_item_of(item);
    gce_bs_flow_release(&g->was);
    if ((g->former & BIT(GCE_KIND_TARGET_POOL)) != 0) {
        gce_tp_flow_release(&g->tp);
    }
}

static bool balancer_needed(const struct lb_sync *s)
{
    for (size_t i = 0; i < s->n_items; i++) {
        if (gce_flow_is_built(&s->items[i])) {
            return true;
        }
    }
    return false;
}

static int balancer_observe(struct lb_sync *s, struct err *err)
{
    bool fresh = true;
    int rc = gce_flow_groups_are_put_off(s) ? gce_flow_groups_observe(s, err) : ERR_OK;
    if (rc != ERR_OK) {
        return rc;
    }
    gce_flow_read_ahead(s);
    for (size_t i = 0; i < s->n_items; i++) {
        struct lb_item *item = &s->items[i];
        if (!gce_flow_is_built(item)) {
            continue;
        }
        s->observed_fresh = false;
        gce_flow_release_formers(item);
        if (gce_item_is_bs(item)) {
            struct gce_bs_item *b = &gce_item_of(item)->bs;
            item->err.code = gce_bs_flow_observe(s, item, b, &item->err);
        } else {
            gce_tp_flow_observe(s, item);
        }
        fresh = fresh && s->observed_fresh;
    }
    s->observed_fresh = fresh;
    return ERR_OK;
}

static void plan_bs(struct lb_plan *plan, struct lb_item *item)
{
    struct gce_item *g = gce_item_of(item);
    struct gce_bs_item *b = &g->bs;
    const char *network = b->facts.network_name;
    lb_plan_because(plan, item->key, "%s → %s%s%s", g->decision.says,
                    gce_kind_text(g->decision.kind), network != NULL ? ", in network " : "",
                    str_nonnull(network));
    item->err.code =
        item->in->verb == TT_VERB_ENSURE
            ? gce_bs_plan_ensure(plan, &b->facts, &b->in, &b->d, &b->slots, &b->negs, &item->err)
            : gce_bs_plan_update(plan, &b->facts, &b->in, &b->slots, &b->negs, &item->err);
}

static int balancer_plan(struct lb_sync *s, struct lb_plan *plan, struct err *err)
{
    (void)err;
    if (gce_flow_groups_are_put_off(s)) {
        gce_flow_groups_plan_beside(s, plan);
    }
    for (size_t i = 0; i < s->n_items; i++) {
        struct lb_item *item = &s->items[i];
        if (!gce_flow_is_built(item)) {
            continue;
        }
        gce_findings(s, item, gce_item_of(item)->decision.kind, &gce_provider_of(s)->options);
        if (gce_item_is_bs(item)) {
            plan_bs(plan, item);
        } else {
            gce_tp_flow_plan(s, plan, item);
        }
        gce_findings_desired(s, item);
        gce_findings_nobody(s, item);
    }
    return ERR_OK;
}

/* ---- results --------------------------------------------------------------------------------- */

/* Served here as ingress-gce serves it, or was until now. */
static bool is_of_l4(const struct gce_item *g)
{
    return g->decision.kind != GCE_KIND_NONE && gce_kind_part(g->decision.kind) == GCE_PART_L4;
}

static size_t finalizers(const struct lb_sync *s, const struct lb_item *item,
                         const char *const **ret_names)
{
    if (!gce_flow_is_built(item)) { /* it only loses what it has */
        *ret_names = NULL;
        return 0;
    }
    const char **names = ARENA_ARRAY(s->life, const char *, 1);
    names[0] = gce_kind_finalizer(gce_item_of(item)->decision.mark);
    *ret_names = names;
    return names[0] != NULL ? 1 : 0;
}

/* The owner of finalizers and events (gce-l4.md §7.7; gce-cloud-provider.md §6.3), and the nodes
 * that count. */
static uint32_t own(const struct lb_sync *s, const struct lb_item *item)
{
    const struct gce_item *g = gce_item_of(item);
    (void)s;
    uint32_t nodes = g != NULL && gce_item_is_bs(item) ? TT_OWN_NODES : 0;
    return g != NULL && is_of_l4(g) ? TT_OWN_FINALIZERS | TT_OWN_EVENTS | nodes : nodes;
}

/* Once, with the first thing that goes. */
static void tell_deleting(struct lb_sync *s, const struct lb_item *item)
{
    const struct gce_item *g = gce_item_of(item);
    if (!gce_flow_is_built(item) && is_of_l4(g) && gce_kind_has_service(g->decision.kind) &&
        !g->bs.changed) {
        s->host->event(s->host->ctx, item->in->service, TT_EVENT_NORMAL, "DeletingLoadBalancer",
                       "Deleting load balancer");
    }
}

/* A shared check that was just made is there for all who wait for it. */
static void over(struct lb_sync *s, const struct lb_op *op, unsigned outcome, const struct err *err)
{
    if (op->type == NULL || op->arg == NULL || outcome != LB_DONE) {
        return;
    }
    for (size_t i = 0; i < s->n_items; i++) {
        struct gce_item *g = gce_item_of(&s->items[i]);
        if (str_set_has(&op->owners, s->items[i].key)) {
            gce_tp_flow_share(s, &g->tp, op, err);
            gce_bs_flow_share(s, &g->bs, op, err);
        }
    }
}

static void wrote(struct lb_sync *s, const struct lb_op *op, unsigned outcome,
                  const struct err *err)
{
    struct gce_provider *p = gce_provider_of(s);
    for (size_t i = 0; i < s->n_items; i++) {
        struct gce_item *g = gce_item_of(&s->items[i]);
        if (outcome == LB_DONE && str_set_has(&op->owners, s->items[i].key)) {
            tell_deleting(s, &s->items[i]);
            g->bs.changed = true;
        }
    }
    if (op->type == NULL || op->arg == NULL) {
        return;
    }
    if (outcome == LB_TOLERATED && err->code == ERR_FORBIDDEN) {
        gce_flow_tell_by_hand(s, op);
    }
    const struct gce_op *arg = op->arg;
    for (size_t i = 0; i < s->n_items && !arg->plain; i++) {
        if (is_of_l4(gce_item_of(&s->items[i])) && str_set_has(&op->owners, s->items[i].key)) {
            gce_bs_flow_tell(s, &s->items[i], op, outcome, err);
        }
    }
    gce_op_wrote(&p->cloud, op, outcome, err);
    gce_neg_wrote(p->cloud.negs, op, outcome, err);
    gce_groups_wrote(p->groups, op, outcome, err);
    if (outcome == LB_FAILED) {
        gce_groups_tell(s, op, err);
    }
}

static int objects(struct lb_sync *s, struct lb_item *item, struct err *err)
{
    struct gce_item *g = gce_item_of(item);
    int rc = ERR_OK;
    if (has_bs_bits(g->former)) {
        rc = gce_bs_flow_objects(s, item, &g->was, err);
    }
    if (rc == ERR_OK && gce_flow_is_built(item) && gce_item_is_bs(item)) {
        rc = gce_bs_flow_objects(s, item, &g->bs, err);
    }
    return rc;
}

static void drop_formers(struct lb_sync *s, struct lb_item *item)
{
    const struct gce_item *g = gce_item_of(item);
    const struct gce_provider *p = gce_provider_of(s);
    /* Where the Go service controller ran before, it put its finalizer on these Services, too; who
     * has taken its place takes it off (docs/adr/0011). */
    if (item->in->verb == TT_VERB_DELETE && has_bs_bits(g->former) &&
        gce_legacy_is_on(&p->options.switches, item->in->service)) {
        s->host->result_drop_finalizer(item->in->result, LB_CLEANUP_FINALIZER);
    }
    unsigned gone = g->former | (gce_flow_is_built(item) ? 0 : BIT(g->decision.mark));
    for (int k = GCE_KIND_TARGET_POOL; k < GCE_KIND_MAX; k++) {
        const char *name = gce_kind_finalizer((enum gce_kind)k);
        if ((gone & BIT(k)) != 0 && name != NULL) {
            s->host->result_drop_finalizer(item->in->result, name);
        }
    }
}

static void serves(struct lb_sync *s, struct lb_item *item)
{
    struct gce_item *g = gce_item_of(item);
    if (!gce_flow_is_built(item)) {
        return;
    }
    if (!gce_item_is_bs(item)) {
        gce_tp_flow_serves(s, item);
    } else if (gce_kind_has_service(g->bs.in.kind)) {
        gce_bs_flow_serves(s, item, &g->bs);
    }
}

static void status(struct lb_sync *s, struct lb_item *item)
{
    struct gce_item *g = gce_item_of(item);
    drop_formers(s, item);
    if ((g->former & BIT(GCE_KIND_NEGS_ONLY)) != 0) {
        gce_negs_only_clear(s, item);
    }
    if (!gce_flow_is_built(item)) {
        if (item->in->verb == TT_VERB_ENSURE) {
            s->host->result_ingress(item->in->result, NULL, 0);
        }
        if (has_bs_bits(g->former)) {
            gce_bs_flow_status(s, item, &g->was);
        }
        if (deletes_pool(item)) {
            gce_tp_flow_status(s, item);
        }
    } else if (gce_item_is_bs(item)) {
        gce_bs_flow_status(s, item, &g->bs);
    } else {
        gce_tp_flow_status(s, item);
    }
    if (gce_flow_is_built(item) && has_bs_bits(g->former) && !is_of_l4(g)) {
        gce_bs_flow_clear_annotations(s, item);
    }
    gce_metrics_note(s, item);
}

static void failed(struct lb_sync *s, const struct lb_item *item)
{
    const struct gce_item *g = gce_item_of(item);
    if (g == NULL || s->planning) {
        return;
    }
    gce_metrics_note(s, item);
    if (is_of_l4(g)) {
        gce_bs_flow_failed(s, item, item->in->verb == TT_VERB_DELETE ? &g->was : &g->bs);
    }
}

static const struct lb_stage stages[] = {
    {.name = "former load balancer",
     .needed = former_needed,
     .observe = former_observe,
     .plan = former_plan},
    {.name = "way for another Service",
     .needed = gce_give_way_needed,
     .observe = gce_give_way_observe,
     .plan = gce_give_way_plan},
    {.name = "instance groups",
     .needed = gce_flow_groups_needed,
     .observe = gce_flow_groups_observe,
     .plan = gce_flow_groups_plan},
    {.name = "load balancer",
     .needed = balancer_needed,
     .observe = balancer_observe,
     .plan = balancer_plan},
};

const struct lb_flow gce_flow = {
    .name = "gce",
    .facts = facts,
    .stages = stages,
    .n_stages = ARRAY_LEN(stages),
    .window = 128,
    .finalizers = finalizers,
    .own = own,
    .objects = objects,
    .serves = serves,
    .status = status,
    .failed = failed,
    .over = over,
    .wrote = wrote,
};
