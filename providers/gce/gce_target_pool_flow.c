/* SPDX-License-Identifier: Apache-2.0 */
/* gce_target_pool_flow.c: a Service with a target pool on its way through Google's flow
 * (gce_flow.h).
 *
 * facts     can it be served at all?
 * observe   gce_target_pool_observe.c     plan gce_target_pool_*plan.c     execute gce_ops.c
 * status    the address, the condition about ports, output annotations, the finalizer of a deleted
 *           Service
 *
 * A DELETE of a Service of which nothing says what kind it had comes here, too: it finds
 * out what to wait for. */
#include "common/base/str.h"
#include "common/lb/mark_rules.h"
#include "common/lb/service_rules.h"
#include "providers/gce/cache/gce_shared_ip.h"
#include "providers/gce/gce_flow.h"
#include "providers/gce/gce_target_pool_observe.h"
#include "providers/gce/gce_target_pool_others.h"
#include "providers/gce/groups/gce_node_cache.h"
#include "providers/gce/model/gce_links.h"
#include "providers/gce/model/gce_service_rules.h"
#include "providers/gce/ops/gce_ops.h"

/* A Service that another controller serves is checked again after this time. */
#define KEPT_RETRY_MS (5 * 60 * 1000)

/* ---- facts ----------------------------------------------------------------------------------- */

static void elsewhere(struct lb_item *item, const char *because)
{
    (void)err_set(&item->err, ERR_IMPLEMENTED_ELSEWHERE, "%s", because);
    item->settled = true;
}

/* §4.11.  On the update path the members are kept up to date all the same. */
static bool refuse_mixed(struct lb_sync *s, struct lb_item *item)
{
    const struct gce_tp_item *t = item->data;
    if (!gce_svc_protocols_are_mixed(item->in->service) || t->in.verb == TT_VERB_DELETE) {
        return false;
    }
    gce_flow_ports_are_mixed(s, item);
    if (item->in->verb == TT_VERB_ENSURE) {
        (void)err_set(&item->err, ERR_INVALID, "mixed protocol is not supported for LoadBalancer");
    }
    return item->err.code != ERR_OK;
}

/* §4.3 steps 5 and 6. */
static void check_members(struct lb_item *item, const struct gce_members *m)
{
    if (m->n_eligible == 0) {
        (void)err_set(&item->err, ERR_INVALID, "cannot EnsureLoadBalancer() with no hosts");
    } else if (m->n_ids == 0) {
        (void)err_set(&item->err, ERR_INVALID, "instance not found: node %s: %s",
                      m->left_out[0].node, m->left_out[0].because);
    }
}

/* Things that it has as another kind go first, so a Service whose address cannot be had
 * is refused before that. */
static int check_ahead(struct lb_sync *s, struct lb_item *item, struct err *err)
{
    const struct gce_provider *p = gce_provider_of(s);
    const struct gce_tp_item *t = item->data;
    const struct gce_tp_desired *d = &t->desired;
    struct gce_ip_uses uses;
    bool flips = t->in.verb == TT_VERB_ENSURE && gce_item_of(item)->former != 0;
    if (!flips || p->cloud.offline || item->err.code != ERR_OK || *d->user_ip == '\0') {
        return ERR_OK;
    }
    int rc = gce_ip_look(s, d->user_ip, &uses, err);
    if (rc != ERR_OK) {
        return rc;
    }
    if (!uses.reserved) {
        return err_set(err, ERR_INVALID,
                       "requested ip \"%s\" is neither static nor assigned to the LB", d->user_ip);
    }
    const char *tier = gce_tier_from_wire(uses.address.tier);
    return tier != NULL && !str_eq(tier, d->tier)
               ? err_set(err, ERR_INVALID,
                         "requested IP \"%s\" belongs to the %s network tier; expected %s",
                         d->user_ip, tier, d->tier)
               : gce_ip_check_rules(s->a, &uses, t->in.service, false, &d->rule, 1, err);
}

int gce_tp_flow_facts(struct lb_sync *s, struct lb_item *item, struct err *err)
{
    struct gce_provider *p = gce_provider_of(s);
    const struct tt_service *svc = item->in->service;
    struct gce_tp_item *t = item->data;
    t->outcome.call = s->call;
    t->in = (struct gce_tp_input){.puts_right = lb_puts_right(item->in),
                                  .leads_back = lb_leads_back(item->in),
                                  .service = svc,
                                  .key = item->key,
                                  .verb = t->in.verb,
                                  .outcome = &t->outcome};
    if (refuse_mixed(s, item)) {
        return ERR_OK;
    }
    t->in.members =
        *gce_node_cache_members(p->node_cache, s->life, s->batch->nodes, s->batch->n_nodes,
                                p->cloud.facts.project, p->cloud.facts.region);
    if (t->in.verb == TT_VERB_ENSURE) {
        check_members(item, &t->in.members);
    }
    if (item->err.code != ERR_OK) {
        return ERR_OK;
    }
    if (t->in.verb == TT_VERB_UPDATE) {
        t->names.lb = svc_default_lb_name(s->a, str_nonnull(svc->uid));
        return ERR_OK;
    }
    int rc =
        gce_cluster_id_get(p->cluster_id, p->cloud.host, s->call, s->a, &t->in.cluster_id, err);
    if (rc != ERR_OK) {
        return rc;
    }
    if (t->in.verb == TT_VERB_ENSURE) {
        item->err.code = gce_tp_desired_make(s->a, &p->tp_facts, &t->in, &t->desired, &item->err);
    }
    if (t->in.verb == TT_VERB_ENSURE && item->err.code == ERR_OK) {
        t->names = t->desired.names;
    } else {
        gce_names_make(s->a, svc, t->in.cluster_id, &t->names);
    }
    /* A Service that needs the check keeps it: no search of all Services. */
    t->in.others_want_node_check = (t->in.verb == TT_VERB_ENSURE && !t->desired.local) ||
                                   gce_tp_others_want_node_check(p, s->call, svc);
    return check_ahead(s, item, err);
}

/* ---- observing ------------------------------------------------------------------------------- */

/* Owner of the found resources.  A Service that another controller must finish keeps its
 * finalizers, and an event names that controller. */
static void keep_for_other(struct lb_sync *s, struct lb_item *item, const char *who)
{
    struct gce_tp_item *t = item->data;
    const char *message = arena_printf(
        s->a,
        "The load balancer is not one of trimtab's kinds; %s must delete it. Until then the "
        "Service keeps its finalizers.",
        who);
    t->kept_by_other = true;
    gce_flow_event_once(s, item, TT_EVENT_WARNING, GCE_EVENT_FOREIGN, message);
    (void)err_set(&item->err, ERR_IN_PROGRESS, "waiting for %s to delete the load balancer", who);
    item->err.retry_after_ms = KEPT_RETRY_MS;
}

/* The Go service controller sets its finalizer on every Service of type LoadBalancer, also on
 * those that others serve (controller.md §1.16), and takes it away itself. */
static void keep_leftover(struct lb_sync *s, struct lb_item *item, const char *who)
{
    struct gce_tp_item *t = item->data;
    const char *message = arena_printf(
        s->a,
        "Nothing of the load balancer is left, but trimtab did not set the finalizer %s; %s must "
        "remove it, or an administrator must.",
        LB_CLEANUP_FINALIZER, who);
    t->kept_by_other = true;
    gce_flow_event_once(s, item, TT_EVENT_WARNING, GCE_EVENT_FOREIGN, message);
    (void)err_set(&item->err, ERR_IN_PROGRESS, "waiting for %s to remove its finalizer", who);
    item->err.retry_after_ms = KEPT_RETRY_MS;
}

/* A kind of this finalizer that goes in the same sync is not waited for. */
static bool goes_too(const struct gce_item *g, const char *finalizer)
{
    for (int k = GCE_KIND_NONE; k < GCE_KIND_MAX; k++) {
        if ((g->former & 1u << (unsigned)k) != 0 &&
            str_eq(gce_kind_finalizer((enum gce_kind)k), finalizer)) {
            return true;
        }
    }
    return false;
}

/* The kind of the rule, internal or with a backend service, goes in the same sync. */
static bool rule_goes_too(const struct gce_item *g, const struct gce_rule *rule)
{
    return str_eq(rule->scheme, "INTERNAL")
               ? goes_too(g, GCE_FINALIZER_ILB_V1)
               : goes_too(g, GCE_FINALIZER_NETLB_V2) || goes_too(g, GCE_FINALIZER_NETLB_V3);
}

/* §15 row 16: what is there decides, then the finalizers, then the annotations. */
static void judge_delete(struct lb_sync *s, struct lb_item *item)
{
    struct gce_tp_item *t = item->data;
    const struct gce_item *g = gce_item_of(item);
    const struct tt_service *svc = item->in->service;
    const struct gce_rule *rule = t->o.has_rule == GCE_PRESENT ? &t->o.rule : NULL;
    const char *foreign = gce_svc_foreign_finalizer(svc);
    const char *ingress = "ingress-gce";
    const char *ccm = "the cloud-controller-manager of cloud-provider-gcp";
    bool v1 = svc_has_finalizer(svc, GCE_FINALIZER_NETLB_V1);
    foreign = foreign != NULL && goes_too(g, foreign) ? NULL : foreign;
    rule = rule != NULL && rule_goes_too(g, rule) ? NULL : rule;
    if (rule != NULL && str_eq(rule->scheme, "INTERNAL")) {
        keep_for_other(s, item, str_eq(foreign, GCE_FINALIZER_ILB_V2) ? ingress : ccm);
    } else if (rule != NULL && !str_is_empty(rule->backend_service) && !v1) {
        keep_for_other(s, item, ingress);
    } else if (foreign != NULL && !v1) {
        keep_for_other(s, item, str_eq(foreign, GCE_FINALIZER_ILB_V1) ? ccm : ingress);
    } else if (t->o.has_rule != GCE_PRESENT && !v1 && t->o.has_pool != GCE_PRESENT &&
               (g->former & ~(1u << GCE_KIND_TARGET_POOL)) == 0 &&
               (gce_svc_scheme(svc) == GCE_INTERNAL ||
                !gce_svc_target_pool_is_ours(svc, NULL, gce_provider_of(s)->options.rbs_default))) {
        if (svc_has_finalizer(svc, LB_CLEANUP_FINALIZER)) {
            keep_leftover(s, item, ccm);
        } else {
            elsewhere(item, "nothing of a target pool load balancer is left");
        }
    }
}

/* §8.1 with the rule; a rule of the other scheme is another kind's, which is not built here. */
static void judge_ensure(struct lb_sync *s, struct lb_item *item)
{
    struct gce_tp_item *t = item->data;
    const struct gce_rule *rule = t->o.has_rule == GCE_PRESENT ? &t->o.rule : NULL;
    if (rule == NULL) {
        return;
    }
    if (str_eq(rule->scheme, "INTERNAL")) {
        elsewhere(item, "its forwarding rule is an internal one, which this version does not "
                        "replace");
    } else if (!gce_svc_target_pool_is_ours(item->in->service, rule,
                                            gce_provider_of(s)->options.rbs_default)) {
        elsewhere(item, "its forwarding rule has a backend service: ingress-gce serves it");
    }
}

void gce_tp_flow_observe(struct lb_sync *s, struct lb_item *item)
{
    const struct gce_tp_item *t = item->data;
    if (gce_tp_observe(s, item, &item->err) != ERR_OK) {
        return;
    }
    if (t->in.verb == TT_VERB_DELETE && item->in->verb == TT_VERB_DELETE) {
        judge_delete(s, item);
    } else if (t->in.verb == TT_VERB_ENSURE) {
        judge_ensure(s, item);
    }
}

/* ---- planning -------------------------------------------------------------------------------- */

static void say_why_this_kind(const struct lb_sync *s, struct lb_plan *plan,
                              const struct lb_item *item)
{
    const struct tt_service *svc = item->in->service;
    bool kept = svc_has_finalizer(svc, GCE_FINALIZER_NETLB_V1);
    (void)s;
    if (svc->lb_class != NULL) {
        lb_plan_because(plan, item->key, "loadBalancerClass %s → external, target pool",
                        svc->lb_class);
        return;
    }
    lb_plan_because(plan, item->key, "no load-balancer-type annotation says Internal → external");
    lb_plan_because(plan, item->key,
                    kept ? "finalizer " GCE_FINALIZER_NETLB_V1 " → stays a target pool"
                         : "no l4-rbs annotation and no finalizer of it → target pool");
}

void gce_tp_flow_plan(struct lb_sync *s, struct lb_plan *plan, struct lb_item *item)
{
    const struct gce_tp_facts *f = &gce_provider_of(s)->tp_facts;
    struct gce_tp_item *t = item->data;
    if (item->err.code != ERR_OK) {
        return;
    }
    if (t->in.verb == item->in->verb) { /* not what the Service had before */
        say_why_this_kind(s, plan, item);
    }
    if (t->in.verb == TT_VERB_ENSURE) {
        item->err.code = gce_tp_plan_ensure(plan, f, &t->in, &t->desired, &t->o, &item->err);
    } else if (t->in.verb == TT_VERB_UPDATE) {
        item->err.code = gce_tp_plan_update(plan, f, &t->in, &t->o, &item->err);
    } else {
        item->err.code = gce_tp_plan_delete(plan, f, &t->in, &t->names, &t->o, &item->err);
    }
}

/* ---- results --------------------------------------------------------------------------------- */

/* §6.4, only with --enable-l4-lb-annotations. */
static void output_annotations(struct lb_sync *s, struct lb_item *item)
{
    const struct gce_provider *p = gce_provider_of(s);
    const struct gce_tp_item *t = item->data;
    const struct tt_service *svc = item->in->service;
    if (!p->options.lb_annotations) {
        return;
    }
    if (!str_eq(svc_annotation(svc, GCE_ANN_TARGET_POOL), t->names.lb)) {
        p->cloud.host->result_annotation(item->in->result, GCE_ANN_TARGET_POOL, t->names.lb);
    }
    if (svc_annotation(svc, GCE_ANN_BACKEND) != NULL) {
        p->cloud.host->result_annotation(item->in->result, GCE_ANN_BACKEND, NULL);
    }
}

void gce_tp_flow_serves(struct lb_sync *s, struct lb_item *item)
{
    const struct gce_tp_item *t = item->data;
    const struct tt_ingress ingress = {.ip = t->outcome.ip};
    s->host->result_ingress(item->in->result, &ingress, 1);
    output_annotations(s, item);
}

void gce_tp_flow_status(struct lb_sync *s, struct lb_item *item)
{
    const struct gce_provider *p = gce_provider_of(s);
    const struct gce_tp_item *t = item->data;
    if (t->in.verb == TT_VERB_DELETE) {
        p->cloud.host->result_drop_finalizer(item->in->result, GCE_FINALIZER_NETLB_V1);
        return;
    }
    if (!gce_svc_protocols_are_mixed(item->in->service)) {
        gce_flow_ports_are_fine(s, item);
    }
    if (t->in.verb != TT_VERB_ENSURE) {
        return;
    }
    gce_tp_flow_serves(s, item);
    if (gce_svc_class_conflicts(item->in->service)) {
        gce_flow_event_once(
            s, item, TT_EVENT_WARNING, GCE_EVENT_CONFLICT,
            "loadBalancerClass conflicts with networking.gke.io/load-balancer-type: "
            "Internal annotation. External LoadBalancer Service provisioned.");
    }
}

void gce_tp_flow_release(struct gce_tp_item *t)
{
    if (t->lock_deferred) {
        (void)hold_change(t->lock, t->hold, HOLD_NOT, NULL);
        t->hold = HOLD_NOT;
    }
}

void gce_tp_flow_share(const struct lb_sync *s, struct gce_tp_item *t, const struct lb_op *op,
                       const struct err *err)
{
    const struct gce_names *n = &t->names;
    if (!t->lock_deferred || t->hold != HOLD_ALONE || t->in.verb != TT_VERB_ENSURE) {
        return;
    }
    if (!str_eq(op->name, n->node_check) && !str_eq(op->name, n->node_check_firewall)) {
        return;
    }
    gce_op_wrote(gce_cloud_of(s), op, LB_DONE, err);
    if (gce_tp_check_stands(gce_cloud_of(s), s->a, n)) {
        hold_share(t->lock);
        t->hold = HOLD_TOGETHER;
    }
}
