/* SPDX-License-Identifier: Apache-2.0 */
/* gce_negs_only.c: Services of class standalone-passthrough-lb-neg: NEGs are made for them, the
 * load balancer in front is their owner's own (gce_flow.h).
 *
 * The NEGs are made, filled and taken away as those of other kinds are (gce_bs_members.c,
 * gce_neg_plan.c).  What is of this kind alone is here: what the Service says of them, and, where
 * --run-l4-standalone-neg-controller is on, of the forwarding rules that its owner made
 * (gce_custom_fr_rules.h).  Nothing tells when he makes or changes them, so they are checked again:
 * soon as long as one cannot be used, else every --sync-period.  Without that flag the status is
 * another program's, and stays as it is.
 * Source: gce-l4.md §1.8, §3.9. */
#include "common/base/str.h"
#include "common/lb/service_rules.h"
#include "providers/gce/gce_custom_fr.h"
#include "providers/gce/gce_flow.h"
#include "providers/gce/model/gce_svcneg_rules.h"

static bool publishes(const struct lb_sync *s)
{
    const struct gce_provider *p = gce_provider_of(s);
    return p->options.switches.standalone_status;
}

void gce_negs_only_look(struct lb_sync *s, struct gce_bs_item *b)
{
    const struct gce_provider *p = gce_provider_of(s);
    const struct tt_service *svc = b->in.service;
    struct gce_l4_names names;
    struct gce_custom_refs refs;
    struct gce_custom_seen *seen = NULL;
    if (!publishes(s)) {
        return;
    }
    gce_l4_names_make(s->a, b->facts.kube_system_uid, svc->ns, svc->name, str_nonnull(svc->uid),
                      &names);
    gce_custom_refs_parse(s->life, svc_annotation(svc, GCE_ANN_CUSTOM_RULES),
                          p->cloud.facts.project, p->cloud.facts.region, &refs);
    gce_custom_fr_look(s, &refs, &seen);
    gce_custom_judge(s->life, svc, &refs, seen, names.backend, &b->custom);
}

/* ---- status ---------------------------------------------------------------------------------- */

static bool is_published(const struct tt_service *svc, const struct gce_strs *ips)
{
    bool same = svc->n_ingress == ips->n;
    for (size_t i = 0; same && i < ips->n; i++) {
        same = str_eq(svc->ingress[i].ip, ips->items[i]);
    }
    return same;
}

static void publish(struct lb_sync *s, struct lb_item *item, const struct gce_custom_verdict *v)
{
    struct tt_ingress *all = ARENA_ARRAY(s->a, struct tt_ingress, v->ips.n);
    for (size_t i = 0; i < v->ips.n; i++) {
        all[i] = (struct tt_ingress){.ip = v->ips.items[i], .ip_mode = "VIP"};
    }
    s->host->result_ingress(item->in->result, all, (uint32_t)v->ips.n);
    s->host->result_condition(item->in->result, &v->condition);
}

/* A fixed problem is reported again when it returns. */
static void tell(struct lb_sync *s, const struct lb_item *item, const struct gce_custom_verdict *v)
{
    static const char *const reasons[] = {GCE_EVENT_NO_CUSTOM_RULE, GCE_EVENT_CUSTOM_RULE};
    struct gce_provider *p = gce_provider_of(s);
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
        if (!str_eq(reasons[i], v->event_reason)) {
            gce_told_forget(p->cloud.told, arena_printf(s->a, "%s %s", item->key, reasons[i]));
        }
    }
    if (v->event_reason != NULL) {
        gce_flow_event_once(s, item, TT_EVENT_WARNING, v->event_reason, v->event);
    }
    if (v->is_fine && !is_published(item->in->service, &v->ips)) {
        s->host->event(s->host->ctx, item->in->service, TT_EVENT_NORMAL,
                       "SyncLoadBalancerSuccessful",
                       "Successfully programmed Standalone NEG LoadBalancer IP(s)");
    }
}

static int64_t wait_ms(struct lb_sync *s, const struct lb_item *item,
                       const struct gce_custom_verdict *v)
{
    const struct gce_provider *p = gce_provider_of(s);
    if (!v->asks || v->is_fine) {
        gce_waits_forget(p->waits, item->key);
        return 0;
    }
    return gce_waits_next(p->waits, item->key, str_nonnull(v->event), p->options.periods.sync_ms);
}

void gce_negs_only_clear(struct lb_sync *s, struct lb_item *item)
{
    static const struct tt_condition gone = {.type = GCE_CUSTOM_FR_CONDITION};
    const struct gce_provider *p = gce_provider_of(s);
    gce_bs_flow_annotate(s, item, GCE_ANN_NEG_STATUS, NULL);
    if (publishes(s)) {
        s->host->result_condition(item->in->result, &gone);
    }
    gce_waits_forget(p->waits, item->key);
}

void gce_negs_only_status(struct lb_sync *s, struct lb_item *item, struct gce_bs_item *b)
{
    const struct tt_service *svc = item->in->service;
    if (b->in.verb == TT_VERB_DELETE) {
        return; /* gce_negs_only_clear() */
    }
    if (gce_bs_has_negs(s, b)) {
        gce_bs_flow_annotate(s, item, GCE_ANN_NEG_STATUS,
                             gce_neg_status_text(s->a, b->neg_name, &b->members.zones));
    }
    if (b->in.verb != TT_VERB_ENSURE) {
        return;
    }
    if (!publishes(s)) {
        s->host->result_ingress(item->in->result, svc->ingress, svc->n_ingress);
        gce_bs_flow_look_again(s, item, 0);
        return;
    }
    publish(s, item, &b->custom);
    tell(s, item, &b->custom);
    gce_bs_flow_look_again(s, item, wait_ms(s, item, &b->custom));
}

/* ---- failures -------------------------------------------------------------------------------- */

void gce_negs_only_failed(struct lb_sync *s, const struct lb_item *item)
{
    bool goes = item->in->verb == TT_VERB_DELETE || gce_item_of(item)->decision.teardown;
    const char *more = item->err.code == ERR_IN_USE
                           ? ". Take it out of the load balancer of your own that has it; it is "
                             "tried again"
                           : "";
    s->host->event(s->host->ctx, item->in->service, TT_EVENT_WARNING, GCE_EVENT_NEGS_FAILED,
                   arena_printf(s->a, "Error %s NEGs: %s%s", goes ? "deleting" : "syncing",
                                item->err.message, more));
}
