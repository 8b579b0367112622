/* SPDX-License-Identifier: Apache-2.0 */
/* gce_flow.c: the flow table by which common/lb's driver syncs any Service of Google's
 * (gce_flow.h).
 *
 * Which kind a Service gets is decided first, by what it says and carries, and where that does not
 * tell, by one look at what is there (gce_decide.h).  What it has as another kind goes before the
 * new one is made, or, where both can stand side by side, after (gce_flow_former.c). */
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

/* Does its target pool serve, beside what it has as another kind?  As far as is known without a
 * request: the rule leads to one, and its address is published or the only one that can be. */
static enum gce_known pool_serves(struct lb_sync *s, const struct lb_item *item)
{
    const struct gce_decision *d = &gce_item_of(item)->decision;
    const struct tt_service *svc = item->in->service;
    const char *name = svc_default_lb_name(s->a, str_nonnull(svc->uid));
    struct json_object *rule = NULL;
    enum gce_known known = gce_snapshot_get(gce_cloud_of(s)->snapshot, GCE_KEY(GCE_RULES, name),
                                            GCE_SNAPSHOT_ANY, s->a, &rule);
    if (known != GCE_PRESENT) {
        return known;
    }
    bool published = svc->n_ingress > 0 && str_eq(json_str(rule, "IPAddress"), svc->ingress[0].ip);
    bool pool = !str_is_empty(json_str(rule, "target"));
    return pool && (published || !gce_kinds_stand_together(d->kind, d->former)) ? GCE_PRESENT
                                                                                : GCE_ABSENT;
}

/* The kind whose finalizer it bears beside that of the one that it asks for, and does not have. */
static enum gce_kind marked_kind(const struct lb_item *item)
{
    const struct gce_decision *d = &gce_item_of(item)->decision;
    const char *asked = str_or(gce_kind_finalizer(d->mark), LB_CLEANUP_FINALIZER);
    for (int k = GCE_KIND_TARGET_POOL;
         !svc_has_finalizer(item->in->service, asked) && k < GCE_KIND_MAX; k++) {
        const char *mark = gce_kind_finalizer((enum gce_kind)k);
        if ((d->former & BIT(k)) != 0 && mark != NULL &&
            svc_has_finalizer(item->in->service, mark)) {
            return (enum gce_kind)k;
        }
    }
    return GCE_KIND_NONE;
}

/* Nodes follow what stands.  A Service that asks for another kind, in vain so far, may bear the
 * finalizers of both; of two kinds of which one is a target pool the forwarding rule tells which
 * serves.  The other kinds share their names, and so their members, but ports that the kind it asks
 * for refuses keep no node from the kind that it has. */
static void follow_what_stands(struct lb_sync *s, struct lb_item *item)
{
    struct gce_decision *d = &gce_item_of(item)->decision;
    bool asks_pool = d->kind == GCE_KIND_TARGET_POOL;
    bool had_pool = (d->former & BIT(GCE_KIND_TARGET_POOL)) != 0;
    if (item->in->verb != TT_VERB_UPDATE || d->teardown || d->former == 0) {
        return;
    }
    bool pools = asks_pool || had_pool;
    enum gce_known serves = pools ? pool_serves(s, item) : GCE_UNKNOWN;
    enum gce_kind kind = asks_pool ? first_bs_kind(d->former) : d->kind;
    if (serves == GCE_PRESENT) {
        kind = GCE_KIND_TARGET_POOL;
    } else if (serves == GCE_UNKNOWN) {
        kind = marked_kind(item);
    }
    if (kind != GCE_KIND_NONE && kind != d->kind) {
        d->kind = d->mark = kind;
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

/* ---- what it has as another kind ------------------------------------------------------------- */

struct gce_bs_item *gce_item_make_was(const struct lb_sync *s, struct gce_item *g)
{
    if (g->was == NULL) {
        g->was = ARENA_NEW(s->a, struct gce_bs_item);
    }
    return g->was;
}

const struct gce_bs_item *gce_item_was(const struct gce_item *g)
{
    static const struct gce_bs_item none;
    return g->was != NULL ? g->was : &none;
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
    if (g->was_ahead && (changes || g->former != BIT(g->was->in.kind))) {
        g->was_ahead = false; /* it is another kind than what was looked at */
        gce_bs_flow_release(g->was);
    }
    if ((g->former & BIT(GCE_KIND_TARGET_POOL)) != 0) {
        g->tp.in.verb = TT_VERB_DELETE;
        rc = gce_tp_flow_facts(s, item, err);
        g->tp.in.changes_kind = changes;
        g->tp.in.keeps_traffic =
            changes && !g->decision.teardown && g->decision.kind == GCE_KIND_ILB_GROUPS;
    }
    if (rc == ERR_OK && has_bs_bits(g->former)) {
        enum gce_kind kind = first_bs_kind(g->former);
        struct gce_bs_item *was = gce_item_make_was(s, g);
        was->in.verb = TT_VERB_DELETE;
        rc = g->was_ahead ? ERR_OK : gce_bs_flow_facts(s, item, was, kind, err);
        was->in.only = changes ? g->former : 0;
        was->in.becomes = changes && !g->decision.teardown ? g->decision.kind : GCE_KIND_NONE;
        was->in.keeps_traffic =
            changes && !g->decision.teardown && g->decision.kind == GCE_KIND_TARGET_POOL;
    }
    return rc;
}

/* gce-l4.md §1.6.2: a target pool is never turned into a backend service; an event reports that,
 * and the annotation goes. */
static void guard(struct lb_sync *s, struct lb_item *item)
{
    const struct gce_decision *d = &gce_item_of(item)->decision;
    const char *reason = d->guard_race ? GCE_EVENT_RACE : GCE_EVENT_NO_MIGRATION;
    const char *says =
        d->guard_race
            ? "Target pool and backend service were both made for this Service; the backend "
              "service is taken away, and so is the annotation " GCE_ANN_RBS "."
            : "A load balancer with a target pool cannot become one with a backend service; "
              "the annotation " GCE_ANN_RBS " is taken away. Make the Service anew to change "
              "its kind.";
    if (!d->guard_migration && !d->guard_race) {
        return;
    }
    if (s->planning) {
        lb_finding(s, item, reason, GCE_ANN_RBS, "%s", says);
        return;
    }
    gce_flow_event_once(s, item, TT_EVENT_WARNING, reason, says);
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
    follow_what_stands(s, item);
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
        rc = gce_bs_flow_facts(s, item, &g->bs, g->decision.kind, err);
        g->bs.in.holds_former = g->former != 0;
        g->bs.in.hold_was_refused = gce_flow_hold_was_refused(s, item);
        return rc;
    }
    g->tp.in.verb = item->in->verb;
    rc = gce_tp_flow_facts(s, item, err);
    g->tp.in.holds_former = g->former != 0;
    g->tp.in.hold_was_refused = gce_flow_hold_was_refused(s, item);
    return rc;
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

/* ---- stage 4: the load balancer -------------------------------------------------------------- */

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
    for (size_t i = 0; i < s->n_items; i++) {
        if (gce_flow_is_built(&s->items[i])) {
            fresh = gce_flow_way_observe(s, &s->items[i]) && fresh;
        }
    }
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
        gce_item_of(item)->done = NULL; /* it is seen now */
        gce_flow_release_formers(item);
        gce_flow_room_observe(s, item);
        if (item->err.code != ERR_OK) {
            continue;
        }
        if (gce_item_is_bs(item)) {
            struct gce_bs_item *b = &gce_item_of(item)->bs;
            item->err.code = gce_bs_flow_observe(s, item, b, &item->err);
        } else {
            gce_tp_flow_observe(s, item);
        }
        /* A Service that could not be looked at leaves the batch: the others were. */
        fresh = fresh && (s->observed_fresh || item->err.code != ERR_OK);
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
        const struct gce_decision *d = &gce_item_of(item)->decision;
        gce_findings(s, item, d->kind, &gce_provider_of(s)->options);
        gce_idle_findings(s, item, d, &gce_provider_of(s)->options);
        if (gce_limits_refuse(item)) {
            continue;
        }
        size_t from = plan->n_ops;
        gce_flow_way_plan(s, plan, item);
        size_t end = plan->n_ops;
        if (item->err.code != ERR_OK) {
            continue;
        }
        if (gce_item_is_bs(item)) {
            plan_bs(plan, item);
        } else {
            gce_tp_flow_plan(s, plan, item);
        }
        gce_flow_way_first(plan, from, end);
        gce_flow_name_flip(s, plan, item);
        gce_findings_desired(s, item);
        gce_limits_find(s, item);
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

/* The finalizer of its kind, and those of the kinds that go for it: they may have been taken off
 * it, and what stands tells no more of them once the forwarding rule has gone (docs/adr/0096). */
static size_t finalizers(const struct lb_sync *s, const struct lb_item *item,
                         const char *const **ret_names)
{
    const struct gce_item *g = gce_item_of(item);
    bool built = gce_flow_is_built(item);
    const char **names = ARENA_ARRAY(s->life, const char *, GCE_KIND_MAX + 1);
    size_t n = 0;
    for (int k = GCE_KIND_NONE; k < GCE_KIND_MAX; k++) {
        bool goes = (g->former & BIT(k)) != 0;
        const char *name = gce_kind_finalizer((enum gce_kind)k);
        if (name != NULL && (goes || (built && k == (int)g->decision.mark))) {
            names[n++] = name;
        }
    }
    *ret_names = names;
    return n;
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
    gce_flow_note_hold(s, op, outcome);
    gce_stands_note(s, op, outcome, err);
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
        rc = gce_bs_flow_objects(s, item, g->was, err);
    }
    if (rc == ERR_OK && gce_flow_is_built(item) && gce_item_is_bs(item)) {
        rc = gce_bs_flow_objects(s, item, &g->bs, err);
    }
    return rc;
}

/* Kinds of cloud-provider-gcp went, and with them the generic controller's part, which serves no
 * Service with a class of ingress-gce's. */
static bool had_generic_part(const struct gce_item *g)
{
    return (g->former & (BIT(GCE_KIND_TARGET_POOL) | BIT(GCE_KIND_ILB_GROUPS))) != 0;
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
    if (gce_flow_is_built(item) && is_of_l4(g) && had_generic_part(g) &&
        item->in->service->lb_class != NULL) {
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
            gce_bs_flow_status(s, item, g->was);
        }
        if (gce_flow_deletes_pool(item)) {
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
        gce_bs_flow_failed(s, item, item->in->verb == TT_VERB_DELETE ? gce_item_was(g) : &g->bs);
    }
}

static const struct lb_stage stages[] = {
    {.name = "former load balancer",
     .needed = gce_flow_former_needed,
     .observe = gce_flow_former_observe,
     .plan = gce_flow_former_plan},
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
    {.name = "outlived load balancer",
     .needed = gce_flow_outlived_needed,
     .observe = gce_flow_outlived_observe,
     .plan = gce_flow_outlived_plan,
     .tidies = true},
};

const struct lb_flow gce_flow = {
    .name = GCE_PROVIDER,
    .facts = facts,
    .stages = stages,
    .n_stages = ARRAY_LEN(stages),
    .window = 128,
    .finalizers = finalizers,
    .own = own,
    .complete = objects,
    .serves = serves,
    .status = status,
    .failed = failed,
    .stands = gce_stands,
    .over = over,
    .wrote = wrote,
};
