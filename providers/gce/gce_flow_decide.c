/* SPDX-License-Identifier: Apache-2.0 */
/* gce_flow_decide.c: which kind of balancer a Service of a sync gets: the decision (gce_decide.h)
 * with the looks that it asks for, and what the decisions about the cluster's
 * other Services say. */
#include "providers/gce/gce_flow.h"

#include "common/lb/mark_rules.h"
#include "common/lb/service_rules.h"
#include "providers/gce/cache/gce_kube_system.h"
#include "providers/gce/model/gce_service_rules.h"

/* A deletion of an external balancer of ingress-gce's, whose mark a target pool may bear, too: the
 * look that tells is the same that the deletion begins with. */
static bool is_same_look(const struct lb_sync *s, const struct lb_item *item, unsigned needs)
{
    enum gce_kind kind = gce_item_of(item)->decision.kind;
    return item->in->verb == TT_VERB_DELETE && needs == GCE_NEEDS_RULE && !s->planning &&
           !gce_cloud_of(s)->offline &&
           (kind == GCE_KIND_NETLB_GROUPS || kind == GCE_KIND_NETLB_NEGS);
}

static int look_ahead(struct lb_sync *s, struct lb_item *item, struct gce_case *c, struct err *err)
{
    struct gce_item *g = gce_item_of(item);
    const char *name = svc_default_lb_name(s->a, str_nonnull(item->in->service->uid));
    struct gce_bs_item *was = gce_item_make_was(s, g);
    was->in.verb = TT_VERB_DELETE;
    int rc = gce_bs_flow_facts(s, item, was, g->decision.kind, err);
    if (rc == ERR_OK) {
        was->lists_groups = gce_flow_takes_groups(s, item);
        rc = gce_bs_flow_observe(s, item, was, err);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    g->was_ahead = s->observed_fresh;
    const struct gce_rule *r = gce_slots_rule(&was->slots, name);
    c->rule_found = r == NULL ? GCE_FOUND_ABSENT : GCE_FOUND_PRESENT;
    c->rule = r != NULL ? *r : c->rule;
    c->has_l4_rule = gce_l4_rule_stands(&was->slots, was->facts.kube_system_uid, item->in->service);
    return ERR_OK;
}

/* The names that an internal load balancer with NEGs gives its IPv4 rules. */
#define N_L4_RULES 3
static void l4_rules(struct arena *a, const char *uid, const struct tt_service *svc,
                     const char *ret[N_L4_RULES])
{
    struct gce_l4_names names;
    gce_l4_names_make(a, uid, svc->ns, svc->name, str_nonnull(svc->uid), &names);
    ret[0] = names.rule_tcp;
    ret[1] = names.rule_udp;
    ret[2] = names.rule_l3;
}

bool gce_l4_rule_stands(const struct gce_slots *slots, const char *uid,
                        const struct tt_service *svc)
{
    const char *names[N_L4_RULES];
    bool stands = false;
    if (str_is_empty(uid)) {
        return false;
    }
    l4_rules(slots->a, uid, svc, names);
    for (size_t i = 0; i < N_L4_RULES; i++) {
        const struct gce_rule *r = gce_slots_rule(slots, names[i]);
        stands = stands || (r != NULL && str_eq(r->scheme, "INTERNAL"));
    }
    return stands;
}

void gce_l4_rule_slots(struct gce_slots *slots, const char *uid, const struct tt_service *svc)
{
    const char *names[N_L4_RULES];
    l4_rules(slots->a, uid, svc, names);
    for (size_t i = 0; i < N_L4_RULES; i++) {
        gce_slots_add_rare(slots, GCE_RULES, names[i]);
    }
}

/* Would an internal load balancer with NEGs go for what the Service asks?  Its rules are looked
 * for beside the other one, in the list of rules, which costs no request of its own. */
static bool asks_for_l4_rules(const struct lb_sync *s, const struct lb_item *item, unsigned needs)
{
    const struct gce_provider *p = gce_provider_of(s);
    const struct gce_decision *d = &gce_item_of(item)->decision;
    return (needs & GCE_NEEDS_RULE) != 0 && p->options.switches.run_ilb &&
           d->is != GCE_KIND_ILB_NEGS && (d->former & 1u << GCE_KIND_ILB_NEGS) == 0 &&
           !gce_snapshot_is_unlistable(p->cloud.snapshot, GCE_RULES);
}

/* Looks at what the decision asks for.  A look that fails is no answer: upstream leaves such a
 * Service alone without a word; here its sync fails, and comes again. */
static int look_for_case(struct lb_sync *s, const struct lb_item *item, unsigned needs,
                         struct gce_case *c, struct err *err)
{
    struct gce_provider *p = gce_provider_of(s);
    const struct tt_service *svc = item->in->service;
    const char *rule = svc_default_lb_name(s->a, str_nonnull(svc->uid));
    const char *uid = NULL;
    const char *backend = NULL;
    struct gce_slots slots;
    int rc = ERR_OK;
    gce_slots_init(&slots, s->a);
    if ((needs & GCE_NEEDS_RULE) != 0) {
        gce_slots_add(&slots, true, GCE_RULES, NULL, rule);
    }
    bool l4 = asks_for_l4_rules(s, item, needs);
    if ((needs & GCE_NEEDS_BACKEND) != 0 || l4) {
        rc = gce_kube_system_uid(p->kube_system, p->cloud.host, s->call, s->a, &uid, err);
    }
    if (uid != NULL && l4) {
        gce_l4_rule_slots(&slots, uid, svc);
    }
    if (uid != NULL && (needs & GCE_NEEDS_BACKEND) != 0) {
        struct gce_l4_names names;
        gce_l4_names_make(s->a, uid, svc->ns, svc->name, str_nonnull(svc->uid), &names);
        backend = names.backend;
        gce_slots_add(&slots, true, GCE_BACKENDS, NULL, backend);
    }
    if (rc == ERR_OK) {
        rc = gce_slots_look(&slots, s, err);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    if ((needs & GCE_NEEDS_RULE) != 0) {
        const struct gce_rule *r = gce_slots_rule(&slots, rule);
        c->rule_found = r == NULL ? GCE_FOUND_ABSENT : GCE_FOUND_PRESENT;
        c->rule = r != NULL ? *r : c->rule;
        c->has_l4_rule = l4 && gce_l4_rule_stands(&slots, uid, svc);
    }
    if ((needs & GCE_NEEDS_BACKEND) != 0) {
        const struct gce_bservice *b = gce_slots_bservice(&slots, str_nonnull(backend));
        c->backend_found = b == NULL ? GCE_FOUND_ABSENT : GCE_FOUND_PRESENT;
        c->backend_scheme = b != NULL ? b->scheme : "";
        c->backend_group = b != NULL && b->n_backends > 0 ? b->backends[0].group : "";
    }
    return ERR_OK;
}

static bool has_kinds_finalizer(const struct tt_service *svc)
{
    for (int k = GCE_KIND_TARGET_POOL; k < GCE_KIND_MAX; k++) {
        const char *name = gce_kind_finalizer((enum gce_kind)k);
        if (name != NULL && svc_has_finalizer(svc, name)) {
            return true;
        }
    }
    return false;
}

bool gce_flow_has_sign(const struct tt_service *svc)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    return has_kinds_finalizer(svc) || svc_has_finalizer(svc, LB_CLEANUP_FINALIZER) ||
           mark_is_by(svc, GCE_PROVIDER) || mark_of(a, svc, GCE_PROVIDER) != MARK_NONE;
}

#define YOUNG_US (60 * INT64_C(1000000))

/* Has a Service without an address, and without the mark of a kind, had a balancer all the same?
 * Its status may have been wiped, and its finalizers taken off: its address must stay, so its
 * kind is that of the rule that stands.  The snapshot tells without a request; before it has a
 * list, a Service that is not new counts as one that may have. */
static bool may_have_lost_its_marks(const struct lb_sync *s, const struct tt_service *svc)
{
    const struct gce_provider *p = gce_provider_of(s);
    const char *rule = svc_default_lb_name(s->a, str_nonnull(svc->uid));
    enum gce_known known =
        gce_snapshot_get(p->cloud.snapshot, GCE_KEY(GCE_RULES, rule), GCE_SNAPSHOT_ANY, s->a, NULL);
    int64_t age_us = p->cloud.host->wall_us(p->cloud.host->ctx) - svc->created_us;
    bool is_old = svc->created_us > 0 && age_us > YOUNG_US;
    return known == GCE_PRESENT || (known == GCE_UNKNOWN && (is_old || gce_flow_has_sign(svc)));
}

/* Does the rule of the legacy name stand, as far as is known without a request, beside a kind that
 * has none of that name?  An earlier load balancer of the Service may have left it. */
static bool stands_beside(const struct lb_sync *s, const struct tt_service *svc, enum gce_kind kind)
{
    const char *rule = svc_default_lb_name(s->a, str_nonnull(svc->uid));
    bool own_name =
        kind != GCE_KIND_NONE && kind != GCE_KIND_ILB_NEGS && kind != GCE_KIND_NEGS_ONLY;
    return !own_name && gce_snapshot_get(gce_cloud_of(s)->snapshot, GCE_KEY(GCE_RULES, rule),
                                         GCE_SNAPSHOT_ANY, s->a, NULL) == GCE_PRESENT;
}

/* A look ahead costs a wave of its own.  It is spared where it could tell nothing: a Service that
 * carries its kind's mark (but the external kinds of ingress-gce, whose mark may meet a target
 * pool), one that never had a balancer, and a target pool as long as no other part is run here,
 * which the look at the balancer itself finds out. */
static bool worth_a_look(const struct lb_sync *s, const struct lb_item *item)
{
    const struct gce_switches *f = &gce_provider_of(s)->options.switches;
    const struct tt_service *svc = item->in->service;
    enum gce_kind kind = gce_item_of(item)->decision.kind;
    const char *mark = gce_kind_finalizer(gce_item_of(item)->decision.mark);
    bool may_race = kind == GCE_KIND_NETLB_GROUPS || kind == GCE_KIND_NETLB_NEGS;
    bool moves = item->in->verb == TT_VERB_UPDATE; /* members alone: nothing of a race is done */
    if (!moves && stands_beside(s, svc, kind)) {
        return true;
    }
    if (mark != NULL && svc_has_finalizer(svc, mark) && (!may_race || moves)) {
        return false;
    }
    if (svc->lb_class != NULL && kind == GCE_KIND_NONE) {
        return gce_flow_has_sign(svc); /* else another controller made what it has */
    }
    if (svc->n_ingress == 0 && !has_kinds_finalizer(svc) && !may_have_lost_its_marks(s, svc)) {
        return false;
    }
    bool made = item->in->verb == TT_VERB_DELETE && mark_is_by(svc, GCE_PROVIDER); /* of any kind */
    return f->run_ilb || f->run_netlb || kind == GCE_KIND_ILB_GROUPS || svc->lb_class != NULL ||
           made;
}

/* Beside another program that has the legacy part, a new internal Service may be that one's. */
static void wait_for_sign(struct lb_sync *s, struct lb_item *item, const struct gce_case *c)
{
    const struct gce_provider *p = gce_provider_of(s);
    int64_t ms =
        gce_decide_wait_ms(&gce_item_of(item)->decision, c, p->options.periods.legacy_race_ms,
                           p->cloud.host->wall_us(p->cloud.host->ctx));
    if (ms > 0 && item->in->verb == TT_VERB_ENSURE && !s->planning) {
        (void)err_set(&item->err, ERR_IN_PROGRESS,
                      "waiting whether another program takes the new internal Service "
                      "(--prevent-legacy-race-l4-ilb)");
        item->err.retry_after_ms = ms;
    }
}

void gce_flow_decide(struct lb_sync *s, struct lb_item *item)
{
    struct gce_item *g = gce_item_of(item);
    struct gce_case c = {.service = item->in->service,
                         .previous = item->in->previous,
                         .flags = &gce_provider_of(s)->options.switches,
                         .gone = item->in->verb == TT_VERB_DELETE};
    unsigned seen = 0;
    gce_decide(&c, &g->decision);
    while ((g->decision.needs & ~seen) != 0 && worth_a_look(s, item)) {
        unsigned needs = g->decision.needs & ~seen;
        int rc = is_same_look(s, item, needs) ? look_ahead(s, item, &c, &item->err)
                                              : look_for_case(s, item, needs, &c, &item->err);
        if (rc != ERR_OK) {
            item->err.code = rc;
            return;
        }
        seen |= needs;
        gce_decide(&c, &g->decision);
    }
    wait_for_sign(s, item, &c);
}

bool gce_others_any(struct lb_sync *s, const struct tt_service *svc, gce_others_test *is,
                    const void *arg)
{
    const struct gce_provider *p = gce_provider_of(s);
    const struct tt_service *const *all = NULL;
    uint32_t n = 0;
    p->cloud.host->services(p->cloud.host->ctx, s->call, &all, &n);
    for (uint32_t i = 0; i < n; i++) {
        const struct gce_case c = {.service = all[i], .flags = &p->options.switches};
        struct gce_decision d;
        if (str_eq(all[i]->uid, svc->uid) || all[i]->deleted_us != 0) {
            continue;
        }
        if (svc_is_unreadable(all[i])) {
            return true; /* unknown what it uses */
        }
        gce_decide(&c, &d);
        if (is(all[i], &d, arg)) {
            return true;
        }
    }
    return false;
}
